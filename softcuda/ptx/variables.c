/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Declarations of variables and parameters, and their places in frames and parameter blocks. */
#include "ptx/parser.h"

#include <string.h>

enum { DIMS_MAX = 8, ALIGN_MAX = 1 << 20 };

/* No GPU has more memory than this; keeps sums of sizes from overflowing. */
static const uint64_t var_bytes_max = (uint64_t)1 << 40;

/* What comes before the names in a declaration. */
typedef struct declaration {
    ptx_space space;
    ptx_type type;
    unsigned vector;
    uint32_t align; /* 0: natural */
    ptx_linkage linkage;
    bool managed, is_pointer;
    ptx_space pointer_space;
    uint32_t pointer_align;
} declaration;

ptx_space ptx_declared_space(const ptx_parser *p)
{
    const ptx_token *token = ptx_token_now(p);
    if (token->kind != PTX_TOKEN_DIRECTIVE)
        return PTX_SPACE_NONE;
    const ptx_word word = ptx_words_find(&p->words, token->text, token->length);
    switch (word.space) {
    case PTX_SPACE_CONST:
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_PARAM:
    case PTX_SPACE_SHARED:
    case PTX_SPACE_REG:
    case PTX_SPACE_TEX:
        return (ptx_space)word.space;
    default:
        return PTX_SPACE_NONE;
    }
}

static uint32_t parse_align(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    const uint32_t align = ptx_expect_u32(p, "an alignment");
    if (align == 0 || align > ALIGN_MAX || (align & (align - 1)) != 0)
        ptx_fail(p, line, "alignment %u is not a power of two up to %d", align, ALIGN_MAX);
    return align;
}

/* .attribute(.managed), .attribute(.unified(a, b)): only .managed matters. */
static void parse_attribute(ptx_parser *p, declaration *d)
{
    ptx_expect(p, '(', ".attribute");
    size_t depth = 1;
    while (depth > 0) {
        if (ptx_token_now(p)->kind == PTX_TOKEN_END)
            ptx_fail_token(p, "')' after .attribute");
        d->managed |= ptx_is_directive(p, "managed");
        depth += ptx_is_punct(p, '(');
        depth -= ptx_is_punct(p, ')');
        ptx_next(p);
    }
}

/* .ptr, .ptr.global, .ptr.global.align 8 */
static void parse_pointer(ptx_parser *p, declaration *d)
{
    d->is_pointer = true;
    const ptx_space space = ptx_declared_space(p);
    if (space != PTX_SPACE_NONE) {
        d->pointer_space = space;
        ptx_next(p);
    }
    if (ptx_accept_directive(p, "align"))
        d->pointer_align = parse_align(p);
}

static void parse_type(ptx_parser *p, declaration *d)
{
    const ptx_token *token = ptx_token_now(p);
    const ptx_word word = ptx_words_find(&p->words, token->text, token->length);
    if (d->type != PTX_TYPE_NONE) /* nothing comes behind the type: .v2 stands before it */
        ptx_fail_token(p, "the name of a variable");
    if (word.mod == PTX_MOD_V2)
        d->vector = 2;
    else if (word.mod == PTX_MOD_V4)
        d->vector = 4;
    else if (word.mod == PTX_MOD_V8)
        d->vector = 8;
    else if (word.type)
        d->type = (ptx_type)word.type;
    else
        ptx_fail_token(p, "the type of a variable");
    ptx_next(p);
}

/* From the state space up to the first name. */
static declaration parse_declaration(ptx_parser *p, ptx_linkage linkage)
{
    declaration d = {.space = ptx_declared_space(p), .vector = 1, .linkage = linkage};
    ptx_next(p);
    if (d.space == PTX_SPACE_CONST && ptx_accept(p, '[')) { /* .const[bank], long deprecated */
        ptx_expect_u32(p, "the number of a constant bank");
        ptx_expect(p, ']', "the number of a constant bank");
    }
    while (ptx_token_now(p)->kind == PTX_TOKEN_DIRECTIVE) {
        if (ptx_accept_directive(p, "align"))
            d.align = parse_align(p);
        else if (ptx_accept_directive(p, "attribute"))
            parse_attribute(p, &d);
        else if (ptx_accept_directive(p, "ptr"))
            parse_pointer(p, &d);
        else
            parse_type(p, &d);
    }
    if (d.type == PTX_TYPE_NONE)
        ptx_fail_token(p, "the type of a variable");
    if (d.space == PTX_SPACE_PARAM && d.vector != 1)
        ptx_fail(p, ptx_token_now(p)->line, "a parameter in memory cannot be a vector");
    return d;
}

/* [4][], ..: fills dims and returns their number. */
static unsigned parse_dims(ptx_parser *p, const char *name, uint64_t *dims)
{
    unsigned count = 0;
    const uint32_t line = ptx_token_now(p)->line;
    while (ptx_accept(p, '[')) {
        if (count == DIMS_MAX)
            ptx_fail(p, line, "%s has more than %d dimensions", name, DIMS_MAX);
        if (!ptx_is_punct(p, ']')) {
            const ptx_constant c = ptx_parse_constant(p);
            if (c.is_float || c.value == 0 || c.value > var_bytes_max)
                ptx_fail(p, line, "%s has a bad array size", name);
            dims[count] = c.value;
        } else if (count > 0) {
            ptx_fail(p, line, "only the first dimension of %s can be left open", name);
        } else {
            dims[count] = 0;
        }
        count++;
        ptx_expect(p, ']', "an array size");
    }
    return count;
}

static uint64_t size_of(ptx_parser *p, const declaration *d, const char *name, const uint64_t *dims,
                        unsigned dim_count, uint32_t line)
{
    uint64_t bytes = (uint64_t)ptx_type_bytes(d->type) * d->vector;
    if (bytes == 0)
        ptx_fail(p, line, "%s: a variable in memory cannot have type .%s", name,
                 ptx_type_name(d->type));
    const bool open = dim_count > 0 && dims[0] == 0;
    for (unsigned i = open; i < dim_count; i++) {
        if (__builtin_mul_overflow(bytes, dims[i], &bytes) || bytes > var_bytes_max)
            ptx_fail(p, line, "%s is too large", name);
    }
    return open ? 0 : bytes;
}

static ptx_var *new_var(ptx_parser *p, const declaration *d, const char *name, uint32_t line)
{
    ptx_var *var = ptx_alloc(p, 1, sizeof *var);
    *var = (ptx_var){.name = name,
                     .space = d->space,
                     .type = d->type,
                     .vector = (uint8_t)d->vector,
                     .linkage = d->linkage,
                     .managed = d->managed,
                     .align = d->align,
                     .line = line,
                     .reg = PTX_NO_INDEX,
                     .index = PTX_NO_INDEX,
                     .is_pointer = d->is_pointer,
                     .pointer_space = d->pointer_space,
                     .pointer_align = d->pointer_align};
    return var;
}

void ptx_place(ptx_parser *p, ptx_var *var, uint64_t *end, uint32_t *align)
{
    const uint64_t mask = var->align - 1;
    if (*end > var_bytes_max)
        ptx_fail(p, var->line, "variables before %s take too much memory", var->name);
    var->offset = (*end + mask) & ~mask;
    *end = var->offset + var->bytes;
    if (align && *align < var->align)
        *align = var->align;
}

/* ---- module and body variables -------------------------------------------------------------- */

/* A name may be declared again if one of the two declarations is .extern. Returns the variable that
 * stays, with the contents of the defining declaration. */
static ptx_var *redeclare(ptx_parser *p, const ptx_symbol *symbol, ptx_var *var)
{
    if (symbol->kind != PTX_SYMBOL_VAR)
        ptx_fail(p, var->line, "%s is declared twice", var->name);
    ptx_var *old = symbol->var;
    const bool old_extern = old->linkage == PTX_LINKAGE_EXTERN;
    if (!old_extern && var->linkage != PTX_LINKAGE_EXTERN && var->linkage != PTX_LINKAGE_COMMON)
        ptx_fail(p, var->line, "%s is declared twice", var->name);
    if (old->space != var->space || old->type != var->type || old->vector != var->vector)
        ptx_fail(p, var->line, "%s was declared with another type on line %u", var->name,
                 old->line);
    if (old_extern) {
        var->index = old->index;
        *old = *var;
    }
    return old;
}

static void register_var(ptx_parser *p, ptx_var *var)
{
    const ptx_fn *fn = p->fn;
    if (var->space == PTX_SPACE_SHARED) {
        *(ptx_var **)ptx_push(p, &p->shared, sizeof(ptx_var *)) = var;
    } else if (var->space == PTX_SPACE_GLOBAL || var->space == PTX_SPACE_CONST ||
               var->space == PTX_SPACE_TEX) {
        var->index = (uint32_t)p->vars.count;
        *(ptx_var **)ptx_push(p, &p->vars, sizeof(ptx_var *)) = var;
    } else if (p->body) {
        ptx_function *out = &p->body->fn->out;
        if (var->space == PTX_SPACE_LOCAL)
            ptx_place(p, var, &out->local_bytes, &out->local_align);
        else
            ptx_place(p, var, &out->param_frame, NULL);
    }
    if (fn)
        *(ptx_var **)ptx_push(p, &p->body->vars, sizeof(ptx_var *)) = var;
}

static void declare_var(ptx_parser *p, ptx_var *var)
{
    ptx_symbol *known = p->body ? NULL : ptx_lookup_module(p->store, var->name, strlen(var->name));
    if (known) {
        redeclare(p, known, var);
        return;
    }
    ptx_declare(p, PTX_SYMBOL_VAR, var->name, var->line)->var = var;
    register_var(p, var);
}

static void check_placeable(ptx_parser *p, const declaration *d)
{
    const uint32_t line = ptx_token_now(p)->line;
    if (p->body)
        return;
    if (d->space == PTX_SPACE_LOCAL || d->space == PTX_SPACE_PARAM || d->space == PTX_SPACE_REG)
        ptx_fail(p, line, ".%s cannot be declared outside a function", ptx_space_name(d->space));
}

static void parse_variable(ptx_parser *p, const declaration *d)
{
    const uint32_t line = ptx_token_now(p)->line;
    const char *name = ptx_expect_name(p, "the name of a variable");
    ptx_var *var = new_var(p, d, name, line);
    uint64_t dims[DIMS_MAX + 1] = {0};
    const unsigned dim_count = parse_dims(p, name, dims);
    var->is_array = dim_count > 0;
    if (var->align == 0)
        var->align = ptx_type_bytes(d->type) * d->vector;

    var->bytes = size_of(p, d, name, dims, dim_count, line);
    if (ptx_accept(p, '=')) {
        if (d->space != PTX_SPACE_GLOBAL && d->space != PTX_SPACE_CONST)
            ptx_fail(p, line, "%s: only .global and .const variables have initial values", name);
        ptx_parse_initializer(p, var, dims, dim_count);
    } else if (var->bytes == 0 && d->linkage != PTX_LINKAGE_EXTERN) {
        ptx_fail(p, line, "%s has neither a size nor an initial value", name);
    }
    var->dynamic = d->space == PTX_SPACE_SHARED && d->linkage == PTX_LINKAGE_EXTERN;
    declare_var(p, var);
}

void ptx_parse_variables(ptx_parser *p, ptx_linkage linkage)
{
    const declaration d = parse_declaration(p, linkage);
    check_placeable(p, &d);
    do
        parse_variable(p, &d);
    while (ptx_accept(p, ','));
    ptx_expect(p, ';', "variables");
}

/* ---- parameters ----------------------------------------------------------------------------- */

ptx_var *ptx_parse_param(ptx_parser *p, bool of_kernel)
{
    const uint32_t line = ptx_token_now(p)->line;
    const ptx_space space = ptx_declared_space(p);
    if (space != PTX_SPACE_PARAM && (space != PTX_SPACE_REG || of_kernel))
        ptx_fail_token(p, "a parameter");
    const declaration d = parse_declaration(p, PTX_LINKAGE_STATIC);
    const char *name = ptx_expect_name(p, "the name of a parameter");
    ptx_var *var = new_var(p, &d, name, line);
    if (space == PTX_SPACE_REG) {
        if (d.vector != 1)
            ptx_fail(p, line, "parameter %s: a register parameter cannot be a vector", name);
        var->bytes = ptx_type_bytes(d.type);
        return var;
    }
    uint64_t dims[DIMS_MAX + 1] = {0};
    const unsigned dim_count = parse_dims(p, name, dims);
    var->is_array = dim_count > 0;
    if (var->align == 0)
        var->align = ptx_type_bytes(d.type) * d.vector;
    var->bytes = size_of(p, &d, name, dims, dim_count, line);
    if (of_kernel && var->bytes == 0)
        ptx_fail(p, line, "parameter %s has no size", name);
    return var;
}
