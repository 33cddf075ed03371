/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operands of instructions: registers, constants, names, addresses, vectors. What does not fit the
 * opcode is found afterwards (check.c).
 */
#include "ptx/parser.h"

#include <string.h>

static ptx_operand operand_of(ptx_operand_kind kind)
{
    return (ptx_operand){.kind = kind, .reg = PTX_NO_INDEX, .target = PTX_NO_INDEX};
}

/* ---- lists ---------------------------------------------------------------------------------- */

static void push(ptx_parser *p, ptx_operand operand)
{
    *(ptx_operand *)ptx_push(p, &p->scratch, sizeof operand) = operand;
}

const ptx_operand *ptx_take_scratch(ptx_parser *p, size_t mark, uint32_t *count)
{
    const size_t n = p->scratch.count - mark;
    *count = (uint32_t)n;
    p->scratch.count = mark;
    if (n == 0) /* there may be no array yet */
        return NULL;
    const ptx_operand *from = (const ptx_operand *)p->scratch.items + mark;
    ptx_operand *list = ptx_alloc(p, n, sizeof *list);
    memcpy(list, from, n * sizeof *list);
    return list;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* %envreg3, %pm0, %pm0_64: names with a number. */
static bool parse_numbered_special(const char *text, size_t length, ptx_operand *operand)
{
    static const struct {
        const char *prefix;
        unsigned count;
        ptx_special special;
    } families[] = {{"%envreg", 32, PTX_SPECIAL_ENVREG}, {"%pm", 8, PTX_SPECIAL_PM}};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        const size_t n = strlen(families[i].prefix);
        if (length <= n || memcmp(text, families[i].prefix, n) != 0)
            continue;
        unsigned number = 0;
        size_t at = n;
        while (at < length && at < n + 2 && text[at] >= '0' && text[at] <= '9')
            number = number * 10 + (unsigned)(text[at++] - '0');
        const bool wide = length - at == 3 && memcmp(text + at, "_64", 3) == 0;
        if (at == n || number >= families[i].count || (at != length && !wide))
            continue;
        *operand = operand_of(PTX_OPERAND_SPECIAL);
        operand->special = families[i].special;
        operand->value = number;
        return true;
    }
    return false;
}

static bool parse_special(const ptx_parser *p, const char *text, size_t length,
                          ptx_operand *operand)
{
    const ptx_word word = ptx_words_find(&p->words, text, length);
    if (!word.special)
        return parse_numbered_special(text, length, operand);
    *operand = operand_of(PTX_OPERAND_SPECIAL);
    operand->special = (ptx_special)word.special;
    return true;
}

/* A .v2 or .v4 register by its own name: all its lanes. */
static ptx_operand vector_register(ptx_parser *p, uint32_t reg, uint32_t lanes)
{
    ptx_operand *items = ptx_alloc(p, lanes, sizeof *items);
    for (uint32_t i = 0; i < lanes; i++) {
        items[i] = operand_of(PTX_OPERAND_REG);
        items[i].reg = reg + i;
    }
    ptx_operand operand = operand_of(PTX_OPERAND_VECTOR);
    operand.items = items;
    operand.count = lanes;
    return operand;
}

/* %v.x, or %r.b1 of a video instruction. */
static bool apply_suffix(const ptx_parser *p, const char *suffix, size_t length, uint32_t lanes,
                         ptx_operand *operand)
{
    if (lanes > 1) {
        static const char letters[] = "xyzwrgba";
        const char *letter = length == 1 ? strchr(letters, *suffix) : NULL;
        if (!letter || (uint32_t)(letter - letters) % 4 >= lanes)
            return false;
        operand->reg += (uint32_t)(letter - letters) % 4;
        return true;
    }
    const ptx_mod mod = (ptx_mod)ptx_words_find(&p->words, suffix, length).mod;
    if (mod < PTX_MOD_BYTE0 || mod > PTX_MOD_HALF1)
        return false;
    operand->selector = mod;
    return true;
}

static bool parse_register(ptx_parser *p, const char *text, size_t length, ptx_operand *operand)
{
    const char *dot = memchr(text, '.', length);
    const size_t base = dot ? (size_t)(dot - text) : length;
    uint32_t reg, lanes;
    if (!ptx_lookup_reg(p, text, base, &reg, &lanes))
        return false;
    if (!dot && lanes > 1) {
        *operand = vector_register(p, reg, lanes);
        return true;
    }
    *operand = operand_of(PTX_OPERAND_REG);
    operand->reg = reg;
    return !dot || apply_suffix(p, dot + 1, length - base - 1, lanes, operand);
}

static _Noreturn void fail_name(ptx_parser *p, const char *text, size_t length, uint32_t line)
{
    const int shown = length > 100 ? 100 : (int)length;
    ptx_fail(p, line, "unknown %s %.*s", *text == '%' ? "register" : "symbol", shown, text);
}

void ptx_note_function(ptx_parser *p, ptx_fn *fn, bool called)
{
    fn->address_taken |= !called;
    *(ptx_fn **)ptx_push(p, &p->body->fn->callees, sizeof fn) = fn;
}

/* The body names var: from this follows the shared memory of a kernel. */
static void note_shared(ptx_parser *p, ptx_var *var)
{
    if (var->space == PTX_SPACE_SHARED)
        *(ptx_var **)ptx_push(p, &p->body->fn->shared, sizeof var) = var;
}

static bool parse_symbol(ptx_parser *p, const char *text, size_t length, ptx_operand *operand)
{
    const ptx_symbol *symbol = ptx_lookup(p, text, length);
    if (!symbol)
        return false;
    switch (symbol->kind) {
    case PTX_SYMBOL_VAR:
        *operand = operand_of(PTX_OPERAND_VAR);
        operand->var = symbol->var;
        note_shared(p, symbol->var);
        operand->offset = ptx_parse_offset(p);
        return true;
    case PTX_SYMBOL_FUNCTION:
        *operand = operand_of(PTX_OPERAND_FUNCTION);
        operand->function = &symbol->fn->out;
        ptx_note_function(p, symbol->fn, false);
        return true;
    case PTX_SYMBOL_TARGETS:
        *operand = operand_of(PTX_OPERAND_TARGETS);
        operand->targets = symbol->targets;
        return true;
    default:
        return false;
    }
}

static ptx_operand parse_word(ptx_parser *p)
{
    ptx_lexer_take_suffix(&p->lexer);
    const ptx_token token = *ptx_token_now(p);
    ptx_operand operand = operand_of(PTX_OPERAND_SINK);
    if (token.length == 7 && memcmp(token.text, "WARP_SZ", 7) == 0) {
        const ptx_constant c = ptx_parse_constant(p);
        return ptx_constant_operand(&c);
    }
    ptx_next(p);
    if (token.length == 1 && *token.text == '_')
        return operand;
    if (!parse_register(p, token.text, token.length, &operand) &&
        !parse_special(p, token.text, token.length, &operand) &&
        !parse_symbol(p, token.text, token.length, &operand))
        fail_name(p, token.text, token.length, token.line);
    return operand;
}

/* ---- kinds of operands ---------------------------------------------------------------------- */

/* "-" directly before a register, as in video instructions. */
static bool at_negated_register(const ptx_parser *p)
{
    const ptx_lexer *lexer = &p->lexer;
    return ptx_is_punct(p, '-') && lexer->cursor < lexer->end && *lexer->cursor == '%';
}

ptx_operand ptx_parse_simple(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    if (ptx_is_punct(p, '!') || at_negated_register(p)) {
        ptx_next(p);
        if (ptx_token_now(p)->kind != PTX_TOKEN_WORD)
            ptx_fail_token(p, "a register");
        ptx_operand operand = parse_word(p);
        if (operand.kind != PTX_OPERAND_REG)
            ptx_fail(p, line, "only a register can be negated");
        operand.negated = true;
        return operand;
    }
    if (ptx_token_now(p)->kind == PTX_TOKEN_WORD)
        return parse_word(p);
    if (ptx_token_now(p)->kind == PTX_TOKEN_INTEGER || ptx_token_now(p)->kind == PTX_TOKEN_FLOAT ||
        ptx_is_punct(p, '-') || ptx_is_punct(p, '+') || ptx_is_punct(p, '~') ||
        ptx_is_punct(p, '(')) {
        const ptx_constant c = ptx_parse_constant(p);
        return ptx_constant_operand(&c);
    }
    ptx_fail_token(p, "an operand");
}

static ptx_operand parse_vector(ptx_parser *p)
{
    ptx_expect(p, '{', "an operand");
    const size_t mark = p->scratch.count;
    do
        push(p, ptx_parse_simple(p));
    while (ptx_accept(p, ','));
    ptx_expect(p, '}', "the parts of a vector");
    ptx_operand operand = operand_of(PTX_OPERAND_VECTOR);
    operand.items = ptx_take_scratch(p, mark, &operand.count);
    return operand;
}

/* What comes first in brackets, with its offset. */
static ptx_operand parse_base(ptx_parser *p)
{
    const uint32_t line = ptx_token_now(p)->line;
    ptx_operand operand = ptx_parse_simple(p);
    operand.base = operand.kind;
    switch (operand.kind) {
    case PTX_OPERAND_REG:
        operand.offset = ptx_parse_offset(p);
        break;
    case PTX_OPERAND_VAR:
        break;
    case PTX_OPERAND_INTEGER:
        operand.offset = (int64_t)operand.value;
        break;
    default:
        ptx_fail(p, line, "an address must start with a register, a variable or a number");
    }
    if (operand.negated || operand.selector)
        ptx_fail(p, line, "an address cannot start with a negated or partial register");
    operand.kind = PTX_OPERAND_MEMORY;
    return operand;
}

static ptx_operand parse_memory(ptx_parser *p)
{
    ptx_expect(p, '[', "an operand");
    ptx_operand operand = parse_base(p);
    const size_t mark = p->scratch.count;
    while (ptx_accept(p, ','))
        push(p, ptx_is_punct(p, '{') ? parse_vector(p) : ptx_parse_simple(p));
    ptx_expect(p, ']', "an address");
    operand.items = ptx_take_scratch(p, mark, &operand.count);
    return operand;
}

/* array[3]: the element's address, in bytes. */
static ptx_operand parse_element(ptx_parser *p, ptx_operand operand)
{
    const uint32_t line = ptx_token_now(p)->line;
    ptx_expect(p, '[', "a variable");
    const ptx_constant c = ptx_parse_constant(p);
    ptx_expect(p, ']', "an index");
    if (c.is_float)
        ptx_fail(p, line, "an index cannot be a floating-point constant");
    const uint64_t size = (uint64_t)ptx_type_bytes(operand.var->type) * operand.var->vector;
    operand.kind = PTX_OPERAND_MEMORY;
    operand.base = PTX_OPERAND_VAR;
    operand.offset = (int64_t)((uint64_t)operand.offset + c.value * size);
    return operand;
}

static ptx_operand parse_pair(ptx_parser *p, ptx_operand first)
{
    ptx_operand *items = ptx_alloc(p, 2, sizeof *items);
    ptx_expect(p, '|', "an operand");
    items[0] = first;
    items[1] = ptx_parse_simple(p);
    ptx_operand operand = operand_of(PTX_OPERAND_PAIR);
    operand.items = items;
    operand.count = 2;
    return operand;
}

void ptx_parse_operand(ptx_parser *p)
{
    if (ptx_is_punct(p, '{')) {
        push(p, parse_vector(p));
        return;
    }
    if (ptx_is_punct(p, '[')) {
        push(p, parse_memory(p));
        return;
    }
    ptx_operand operand = ptx_parse_simple(p);
    if (operand.kind == PTX_OPERAND_VAR && ptx_is_punct(p, '['))
        operand = parse_element(p, operand);
    else if (ptx_is_punct(p, '|'))
        operand = parse_pair(p, operand);
    push(p, operand);
}
