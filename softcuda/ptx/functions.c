/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels and functions: headers, parameters, tuning directives, declarations and definitions. */
#include "ptx/parser.h"

#include <string.h>

/* The most that any GPU takes; older ones take 4352 bytes. */
enum { PARAM_BLOCK_MAX = 32764 };

bool ptx_parse_linkage(ptx_parser *p, ptx_linkage *linkage)
{
    static const struct {
        const char *name;
        ptx_linkage linkage;
    } words[] = {{"visible", PTX_LINKAGE_VISIBLE},
                 {"extern", PTX_LINKAGE_EXTERN},
                 {"weak", PTX_LINKAGE_WEAK},
                 {"common", PTX_LINKAGE_COMMON}};
    *linkage = PTX_LINKAGE_STATIC;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (ptx_accept_directive(p, words[i].name)) {
            *linkage = words[i].linkage;
            return true;
        }
    }
    return false;
}

/* ---- parameters ----------------------------------------------------------------------------- */

static const ptx_var *const *parse_params(ptx_parser *p, bool of_kernel, uint32_t *count)
{
    ptx_vec params = {0};
    ptx_expect(p, '(', "a function");
    while (!ptx_is_punct(p, ')')) {
        *(ptx_var **)ptx_push(p, &params, sizeof(ptx_var *)) = ptx_parse_param(p, of_kernel);
        if (!ptx_accept(p, ','))
            break;
    }
    ptx_expect(p, ')', "parameters");
    *count = (uint32_t)params.count;
    return ptx_freeze(p, &params, sizeof(ptx_var *));
}

static void place_params(ptx_parser *p, ptx_function *out)
{
    uint64_t *end = out->is_kernel ? &out->param_block : &out->param_frame;
    for (uint32_t i = 0; i < out->return_count; i++) {
        if (out->returns[i]->space == PTX_SPACE_PARAM)
            ptx_place(p, (ptx_var *)out->returns[i], end, NULL);
    }
    for (uint32_t i = 0; i < out->param_count; i++) {
        if (out->params[i]->space == PTX_SPACE_PARAM)
            ptx_place(p, (ptx_var *)out->params[i], end, NULL);
    }
    if (out->is_kernel && out->param_block > PARAM_BLOCK_MAX)
        ptx_fail(p, out->line, "kernel %s takes %llu bytes of parameters, more than %d", out->name,
                 (unsigned long long)out->param_block, PARAM_BLOCK_MAX);
}

/* ---- directives between parameters and body ------------------------------------------------- */

/* x {, y {, z}}; sizes that are left out are 1. */
static void parse_sizes(ptx_parser *p, uint32_t sizes[3])
{
    const uint32_t line = ptx_token_now(p)->line;
    for (int i = 0; i < 3; i++) {
        sizes[i] = 1;
        if (i == 0 || ptx_accept(p, ','))
            sizes[i] = ptx_expect_u32(p, "a number of threads or blocks");
        if (sizes[i] == 0)
            ptx_fail(p, line, "a number of threads or blocks is 0");
    }
}

static void skip_parenthesis(ptx_parser *p)
{
    while (!ptx_is_punct(p, ')') && ptx_token_now(p)->kind != PTX_TOKEN_END)
        ptx_next(p);
    ptx_expect(p, ')', "an attribute");
}

/* One directive that describes the function; false: it is none. */
static bool parse_directive(ptx_parser *p, ptx_function *out)
{
    if (ptx_accept_directive(p, "maxntid"))
        parse_sizes(p, out->maxntid);
    else if (ptx_accept_directive(p, "reqntid"))
        parse_sizes(p, out->reqntid);
    else if (ptx_accept_directive(p, "reqnctapercluster"))
        parse_sizes(p, out->reqnctapercluster);
    else if (ptx_accept_directive(p, "minnctapersm"))
        out->minnctapersm = ptx_expect_u32(p, "a number of blocks");
    else if (ptx_accept_directive(p, "maxnreg"))
        out->maxnreg = ptx_expect_u32(p, "a number of registers");
    else if (ptx_accept_directive(p, "maxnctapersm") || ptx_accept_directive(p, "maxclusterrank") ||
             ptx_accept_directive(p, "abi_preserve") ||
             ptx_accept_directive(p, "abi_preserve_control"))
        ptx_expect_u32(p, "a number");
    else if (ptx_accept_directive(p, "noreturn"))
        out->noreturn = true;
    else if (ptx_accept_directive(p, "pragma"))
        ptx_skip_pragma(p);
    else if (ptx_accept_directive(p, "attribute"))
        skip_parenthesis(p);
    else if (!ptx_accept_directive(p, "explicitcluster") &&
             !ptx_accept_directive(p, "blocksareclusters"))
        return false;
    return true;
}

/* ---- declarations and definitions ----------------------------------------------------------- */

static void check_same(ptx_parser *p, const ptx_function *old, const ptx_function *now)
{
    if (old->is_kernel != now->is_kernel)
        ptx_fail(p, now->line, "%s was declared as a %s on line %u", now->name,
                 old->is_kernel ? "kernel" : "function", old->line);
    if (old->param_count != now->param_count || old->return_count != now->return_count)
        ptx_fail(p, now->line, "%s was declared with other parameters on line %u", now->name,
                 old->line);
}

/* The function object of this name, created at the first declaration and then always the same. */
static ptx_fn *function_named(ptx_parser *p, const ptx_function *header)
{
    const ptx_symbol *known = ptx_lookup_module(p->store, header->name, strlen(header->name));
    if (known && known->kind != PTX_SYMBOL_FUNCTION)
        ptx_fail(p, header->line, "%s is declared twice", header->name);
    if (known) {
        check_same(p, &known->fn->out, header);
        return known->fn;
    }
    ptx_fn *fn = ptx_alloc(p, 1, sizeof *fn);
    fn->out = *header;
    fn->out.index = (uint32_t)p->fns.count;
    ptx_declare(p, PTX_SYMBOL_FUNCTION, header->name, header->line)->fn = fn;
    *(ptx_fn **)ptx_push(p, &p->fns, sizeof fn) = fn;
    return fn;
}

static void define(ptx_parser *p, ptx_fn *fn, const ptx_function *header)
{
    if (fn->out.is_defined)
        ptx_fail(p, header->line, "function %s is defined twice", header->name);
    const uint32_t index = fn->out.index;
    const ptx_linkage declared = fn->out.linkage;
    fn->out = *header;
    fn->out.index = index;
    fn->out.is_defined = true;
    if (header->linkage == PTX_LINKAGE_STATIC && declared != PTX_LINKAGE_EXTERN)
        fn->out.linkage = declared;
    ptx_parse_body(p, fn);
}

/* "(returns) name (parameters) directives", as in functions and prototypes. */
static void parse_signature(ptx_parser *p, ptx_function *header, const char *name)
{
    while (parse_directive(p, header))
        continue;
    if (ptx_is_punct(p, '(')) {
        if (header->is_kernel)
            ptx_fail(p, ptx_token_now(p)->line, "a kernel returns nothing");
        header->returns = parse_params(p, false, &header->return_count);
    }
    header->line = ptx_token_now(p)->line;
    header->name = ptx_expect_name(p, "the name of a function");
    if (name)
        header->name = name;
    if (ptx_is_punct(p, '('))
        header->params = parse_params(p, header->is_kernel, &header->param_count);
    while (parse_directive(p, header))
        continue;
    place_params(p, header);
}

void ptx_parse_function(ptx_parser *p, ptx_linkage linkage)
{
    ptx_function header = {.linkage = linkage, .is_kernel = ptx_is_directive(p, "entry")};
    ptx_next(p);
    parse_signature(p, &header, NULL);
    ptx_fn *fn = function_named(p, &header);
    if (ptx_is_punct(p, '{'))
        define(p, fn, &header);
    else
        ptx_expect(p, ';', "the declaration of a function");
}

ptx_function *ptx_parse_prototype(ptx_parser *p, const char *name)
{
    ptx_function *prototype = ptx_alloc(p, 1, sizeof *prototype);
    prototype->index = PTX_NO_INDEX;
    parse_signature(p, prototype, name);
    ptx_expect(p, ';', ".callprototype");
    return prototype;
}
