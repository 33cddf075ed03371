/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The way in and out: errors, memory, the module level of a text, and questions about a module. */
#include "ptx/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_PTX = 218, UNSUPPORTED_VERSION = 222, OUT_OF_MEMORY = 2 };

/* ---- errors --------------------------------------------------------------------------------- */

static void fail_va(ptx_parser *p, unsigned code, uint32_t line, const char *format, va_list args)
{
    ptx_error *error = p->error;
    error->code = code;
    error->line = line;
    char *text = error->text;
    const size_t size = sizeof error->text;
    size_t used = 0;
    if (line > 0)
        used = (size_t)snprintf(text, size, "line %u: ", line);
    const int added = vsnprintf(text + used, size - used, format, args);
    used += added > 0 ? (size_t)added : 0;
    if (p->fn && used < size)
        snprintf(text + used, size - used, " in function %s", p->fn->out.name);
}

_Noreturn void ptx_fail_code(ptx_parser *p, unsigned code, uint32_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_va(p, code, line, format, args);
    va_end(args);
    longjmp(p->fail, 1);
}

_Noreturn void ptx_fail(ptx_parser *p, uint32_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_va(p, INVALID_PTX, line, format, args);
    va_end(args);
    longjmp(p->fail, 1);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void *must(ptx_parser *p, void *memory)
{
    if (!memory)
        ptx_fail_code(p, OUT_OF_MEMORY, p->lexer.token.line, "out of memory for the parsed PTX");
    return memory;
}

void *ptx_alloc(ptx_parser *p, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return must(p, NULL);
    return must(p, ptx_arena_alloc(p->arena, bytes));
}

void *ptx_push_many(ptx_parser *p, ptx_vec *vec, size_t more, size_t size)
{
    if (more > vec->capacity - vec->count) {
        size_t capacity = vec->capacity ? vec->capacity * 2 : 16;
        if (capacity < vec->count + more)
            capacity = vec->count + more;
        size_t bytes;
        if (__builtin_mul_overflow(capacity, size, &bytes))
            must(p, NULL);
        void *items = must(p, ptx_arena_alloc(&p->temp, bytes));
        if (vec->count > 0)
            memcpy(items, vec->items, vec->count * size);
        vec->items = items;
        vec->capacity = capacity;
    }
    if (more == 0)
        return vec->items; /* perhaps NULL, to which nothing may be added */
    unsigned char *place = (unsigned char *)vec->items + vec->count * size;
    memset(place, 0, more * size); /* a vector that shrank has old contents */
    vec->count += more;
    return place;
}

void *ptx_push(ptx_parser *p, ptx_vec *vec, size_t size)
{
    return ptx_push_many(p, vec, 1, size);
}

void *ptx_freeze(ptx_parser *p, const ptx_vec *vec, size_t size)
{
    if (vec->count == 0)
        return NULL;
    void *copy = ptx_alloc(p, vec->count, size);
    memcpy(copy, vec->items, vec->count * size);
    return copy;
}

ptx_entry *ptx_insert(ptx_parser *p, ptx_arena *arena, ptx_table *table, const void *key,
                      size_t length)
{
    return must(p, ptx_table_insert(table, arena, key, length));
}

const char *ptx_intern(ptx_parser *p, const char *text, size_t length)
{
    const ptx_entry *found = ptx_table_find(&p->names, text, length);
    if (found)
        return found->value;
    char *copy = ptx_alloc(p, length + 1, 1);
    memcpy(copy, text, length);
    ptx_insert(p, &p->temp, &p->names, copy, length)->value = copy;
    return copy;
}

/* ---- module level --------------------------------------------------------------------------- */

static void parse_version(ptx_parser *p)
{
    const ptx_token token = *ptx_token_now(p);
    unsigned major = 0, minor = 0;
    char copy[16] = "";
    if (token.kind == PTX_TOKEN_FLOAT && token.length < sizeof copy)
        memcpy(copy, token.text, token.length);
    if (sscanf(copy, "%3u.%1u", &major, &minor) != 2)
        ptx_fail_token(p, "a version such as 7.5");
    p->store->out.version = major * 10 + minor;
    if (p->store->out.version > PTX_VERSION_MAX)
        ptx_fail_code(p, UNSUPPORTED_VERSION, token.line,
                      "PTX version %u.%u is newer than %d.%d, the newest that is understood", major,
                      minor, PTX_VERSION_MAX / 10, PTX_VERSION_MAX % 10);
    p->has_version = true;
    ptx_next(p);
}

/* "sm_90a": 90 and 'a'. False: the word names no architecture. */
static bool parse_architecture(const ptx_token *token, unsigned *number, char *suffix)
{
    if (token->length < 5 || token->length > 7 || memcmp(token->text, "sm_", 3) != 0)
        return false;
    *number = 0;
    *suffix = '\0';
    for (size_t i = 3; i < token->length; i++) {
        const char c = token->text[i];
        if (c >= '0' && c <= '9')
            *number = *number * 10 + (unsigned)(c - '0');
        else if (i == token->length - 1 && (c == 'a' || c == 'f'))
            *suffix = c;
        else
            return false;
    }
    return true;
}

static void parse_target(ptx_parser *p)
{
    ptx_module *module = &p->store->out;
    do {
        const ptx_token token = *ptx_token_now(p);
        if (token.kind != PTX_TOKEN_WORD)
            ptx_fail_token(p, "a target such as sm_75");
        if (parse_architecture(&token, &module->target, &module->target_suffix))
            p->has_target = true;
        ptx_next(p); /* texmode_unified, debug and the like change nothing here */
    } while (ptx_accept(p, ','));
    if (!p->has_target)
        ptx_fail_token(p, "a target such as sm_75");
}

static void parse_address_size(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    const uint32_t bits = ptx_expect_u32(p, "the address size");
    if (bits != 32 && bits != 64)
        ptx_fail(p, line, "address size %u is neither 32 nor 64", bits);
    p->store->out.address_size = bits;
}

/* Debug information: everything up to the brace that closes the section. */
static void skip_section(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    while (!ptx_is_punct(p, '{')) {
        if (ptx_token_now(p)->kind == PTX_TOKEN_END)
            ptx_fail_token(p, "'{' after .section");
        ptx_next(p);
    }
    size_t depth = 0;
    do {
        if (ptx_token_now(p)->kind == PTX_TOKEN_END)
            ptx_fail(p, line, ".section has no end");
        depth += ptx_is_punct(p, '{');
        depth -= ptx_is_punct(p, '}');
        ptx_next(p);
    } while (depth > 0);
}

static ptx_fn *expect_function(ptx_parser *p)
{
    const ptx_token token = *ptx_token_now(p);
    const char *name = ptx_expect_name(p, "the name of a function");
    const ptx_symbol *symbol = ptx_lookup_module(p->store, name, strlen(name));
    if (!symbol || symbol->kind != PTX_SYMBOL_FUNCTION)
        ptx_fail(p, token.line, "unknown function %s", name);
    return symbol->fn;
}

/* .alias a, b: the declared function a has b's body. */
static void parse_alias(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    ptx_fn *alias = expect_function(p);
    ptx_expect(p, ',', "the alias");
    const ptx_fn *target = expect_function(p);
    ptx_expect(p, ';', ".alias");
    if (alias->out.is_defined || !target->out.is_defined)
        ptx_fail(p, line, ".alias needs a function without a body and one with a body");
    ptx_fn copy = *target;
    copy.out.name = alias->out.name;
    copy.out.index = alias->out.index;
    copy.address_taken = alias->address_taken || target->address_taken;
    *alias = copy;
}

static void parse_header_directive(ptx_parser *p, void (*parse)(ptx_parser *p))
{
    ptx_next(p);
    parse(p);
}

static void parse_definition(ptx_parser *p)
{
    ptx_linkage linkage;
    if (!p->has_version || !p->has_target)
        ptx_fail(p, ptx_token_now(p)->line, "the text starts without .%s",
                 p->has_version ? "target" : "version");
    ptx_parse_linkage(p, &linkage);
    if (ptx_is_directive(p, "entry") || ptx_is_directive(p, "func"))
        ptx_parse_function(p, linkage);
    else if (ptx_declared_space(p) != PTX_SPACE_NONE)
        ptx_parse_variables(p, linkage);
    else
        ptx_fail_token(p, "a directive of the module");
}

static void parse_module(ptx_parser *p)
{
    static const struct {
        const char *name;
        void (*parse)(ptx_parser *p);
    } directives[] = {
        {"version", parse_version},
        {"target", parse_target},
        {"address_size", parse_address_size},
        {"section", skip_section},
        {"file", ptx_parse_file},
        {"loc", ptx_parse_loc},
        {"alias", parse_alias},
        {"pragma", ptx_skip_pragma},
    };
    ptx_next(p);
    while (ptx_token_now(p)->kind != PTX_TOKEN_END) {
        if (ptx_accept(p, ';'))
            continue;
        size_t i = 0;
        while (i < sizeof directives / sizeof directives[0] &&
               !ptx_is_directive(p, directives[i].name))
            i++;
        if (i < sizeof directives / sizeof directives[0])
            parse_header_directive(p, directives[i].parse);
        else
            parse_definition(p);
    }
    if (!p->has_version)
        ptx_fail(p, 0, "the text has no .version: this is not PTX");
    if (!p->has_target)
        ptx_fail(p, 0, "the text has no .target");
}

/* ---- finish --------------------------------------------------------------------------------- */

/* Files may be named after they are used, so source positions get their files last. */
static void resolve_files(ptx_parser *p)
{
    ptx_loc *locs = p->locs.items;
    uint32_t *files = p->loc_files.items;
    for (size_t i = 0; i < p->locs.count; i++) {
        const ptx_entry *entry = ptx_table_find(&p->files, &files[i], sizeof files[i]);
        locs[i].file = entry ? entry->value : NULL;
    }
}

static void finish(ptx_parser *p)
{
    ptx_module *module = &p->store->out;
    resolve_files(p);
    ptx_layout_shared(p);
    module->vars = ptx_freeze(p, &p->vars, sizeof(ptx_var *));
    module->var_count = (uint32_t)p->vars.count;
    module->functions = ptx_freeze(p, &p->fns, sizeof(ptx_fn *));
    module->function_count = (uint32_t)p->fns.count;
    module->locs = ptx_freeze(p, &p->locs, sizeof(ptx_loc));
    module->loc_count = (uint32_t)p->locs.count;
}

static bool run(ptx_parser *p, const char *text, size_t length)
{
    if (setjmp(p->fail) != 0)
        return false;
    if (!ptx_words_init(&p->words, &p->temp))
        must(p, NULL);
    ptx_lexer_init(&p->lexer, text, strnlen(text, length));
    parse_module(p);
    finish(p);
    return true;
}

static ptx_module *parse_new(ptx_parser *p, const char *text, size_t length)
{
    p->store = calloc(1, sizeof *p->store);
    if (!p->store) {
        *p->error = (ptx_error){.code = OUT_OF_MEMORY, .text = "out of memory for the parsed PTX"};
        return NULL;
    }
    p->arena = &p->store->arena;
    p->store->out.address_size = 32; /* PTX's default if .address_size is absent */
    const bool good = run(p, text, length);
    ptx_arena_free(&p->temp);
    if (good)
        return &p->store->out;
    ptx_free(&p->store->out);
    return NULL;
}

ptx_module *ptx_parse(const char *text, size_t length, ptx_error *error)
{
    *error = (ptx_error){0};
    ptx_parser *p = calloc(1, sizeof *p);
    if (!p) {
        *error = (ptx_error){.code = OUT_OF_MEMORY, .text = "out of memory for the parsed PTX"};
        return NULL;
    }
    p->error = error;
    ptx_module *module = parse_new(p, text, length);
    free(p);
    return module;
}

void ptx_free(ptx_module *module)
{
    if (!module)
        return;
    ptx_module_store *store = (ptx_module_store *)module;
    ptx_arena_free(&store->arena);
    free(store);
}

/* ---- questions ------------------------------------------------------------------------------ */

const ptx_function *ptx_find_function(const ptx_module *module, const char *name)
{
    const ptx_symbol *symbol =
        ptx_lookup_module((const ptx_module_store *)module, name, strlen(name));
    return symbol && symbol->kind == PTX_SYMBOL_FUNCTION ? &symbol->fn->out : NULL;
}

const ptx_var *ptx_find_var(const ptx_module *module, const char *name)
{
    const ptx_symbol *symbol =
        ptx_lookup_module((const ptx_module_store *)module, name, strlen(name));
    return symbol && symbol->kind == PTX_SYMBOL_VAR ? symbol->var : NULL;
}

char *ptx_reg_name(const ptx_function *function, uint32_t reg, char *buffer, size_t size)
{
    uint32_t low = 0, high = function->reg_range_count;
    while (high - low > 1) { /* the last range that starts at or before reg */
        const uint32_t middle = low + (high - low) / 2;
        if (function->reg_ranges[middle].first <= reg)
            low = middle;
        else
            high = middle;
    }
    if (high == 0) {
        snprintf(buffer, size, "register %u", reg);
        return buffer;
    }
    const ptx_reg_range *range = &function->reg_ranges[low];
    if (range->numbered)
        snprintf(buffer, size, "%s%u", range->name, reg - range->first);
    else
        snprintf(buffer, size, "%s", range->name);
    return buffer;
}
