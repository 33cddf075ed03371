/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Constant expressions, evaluated by PTX's rules: in 64 bits, unsigned if either side is. */
#include "ptx/parser.h"

#include <string.h>

/* Bounds recursion in nested parentheses and unary operators. */
enum { DEPTH_MAX = 64 };

static ptx_constant parse_ternary(ptx_parser *p, unsigned depth);
static ptx_constant parse_unary(ptx_parser *p, unsigned depth);

static ptx_constant from_integer(uint64_t value, bool is_unsigned)
{
    return (ptx_constant){.value = value, .is_unsigned = is_unsigned};
}

static ptx_constant from_float(double number)
{
    ptx_constant c = {.is_float = true, .float_bits = 64, .number = number};
    memcpy(&c.value, &number, sizeof c.value);
    return c;
}

/* Flips the sign of a float in its own width, so that 0f constants stay exact (NaNs too). */
static ptx_constant negate_float(ptx_constant c)
{
    c.value ^= (uint64_t)1 << (c.float_bits - 1);
    c.number = -c.number;
    return c;
}

static bool token_is(const ptx_token *token, const char *text)
{
    return token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}

/* A cast or parentheses; the '(' was consumed. */
static ptx_constant parse_parenthesis(ptx_parser *p, unsigned depth)
{
    const bool to_s64 = ptx_is_directive(p, "s64"), to_u64 = ptx_is_directive(p, "u64");
    if (to_s64 || to_u64) {
        ptx_next(p);
        ptx_expect(p, ')', "a cast");
        ptx_constant c = parse_unary(p, depth + 1);
        c.is_unsigned = to_u64;
        return c;
    }
    const ptx_constant c = parse_ternary(p, depth + 1);
    ptx_expect(p, ')', "a constant expression");
    return c;
}

static ptx_constant parse_primary(ptx_parser *p, unsigned depth)
{
    const ptx_token token = *ptx_token_now(p);
    switch (token.kind) {
    case PTX_TOKEN_INTEGER:
        ptx_next(p);
        return from_integer(token.value, token.is_unsigned);
    case PTX_TOKEN_FLOAT:
        ptx_next(p);
        return (ptx_constant){.is_float = true,
                              .float_bits = token.float_bits,
                              .value = token.value,
                              .number = token.number};
    case PTX_TOKEN_WORD:
        if (token_is(&token, "WARP_SZ")) {
            ptx_next(p);
            return from_integer(PTX_WARP_SIZE, false);
        }
        break;
    case PTX_TOKEN_PUNCT:
        if (ptx_accept(p, '('))
            return parse_parenthesis(p, depth);
        break;
    default:
        break;
    }
    ptx_fail_token(p, "a constant");
}

static ptx_constant parse_unary(ptx_parser *p, unsigned depth)
{
    const uint32_t line = ptx_token_now(p)->line;
    if (depth > DEPTH_MAX)
        ptx_fail(p, line, "constant expression is nested too deeply");
    const int op = ptx_token_now(p)->kind == PTX_TOKEN_PUNCT ? ptx_token_now(p)->punct : 0;
    if (op != '-' && op != '+' && op != '!' && op != '~')
        return parse_primary(p, depth);

    ptx_next(p);
    ptx_constant c = parse_unary(p, depth + 1);
    if (op == '+')
        return c;
    if (c.is_float) {
        if (op != '-')
            ptx_fail(p, line, "operator '%c' does not take a floating-point constant", op);
        return negate_float(c);
    }
    if (op == '-')
        c.value = 0 - c.value;
    else if (op == '~')
        c.value = ~c.value;
    else
        c = from_integer(!c.value, false);
    return c;
}

/* The binding strength of a binary operator; 0: the token is none. */
static unsigned strength(const ptx_parser *p)
{
    const ptx_token *token = ptx_token_now(p);
    if (token->kind != PTX_TOKEN_PUNCT)
        return 0;
    switch (token->punct) {
    case PTX_PUNCT_OR:
        return 1;
    case PTX_PUNCT_AND:
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case PTX_PUNCT_EQ:
    case PTX_PUNCT_NE:
        return 6;
    case '<':
    case '>':
    case PTX_PUNCT_LE:
    case PTX_PUNCT_GE:
        return 7;
    case PTX_PUNCT_SHL:
    case PTX_PUNCT_SHR:
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return 10;
    default:
        return 0;
    }
}

static ptx_constant divide(ptx_parser *p, uint32_t line, bool want_rest, ptx_constant a,
                           ptx_constant b, bool is_unsigned)
{
    if (b.value == 0)
        ptx_fail(p, line, "division by zero in a constant expression");
    if (is_unsigned)
        return from_integer(want_rest ? a.value % b.value : a.value / b.value, true);
    if (b.value == UINT64_MAX) /* by -1: the one case that can overflow */
        return from_integer(want_rest ? 0 : 0 - a.value, false);
    const int64_t x = (int64_t)a.value, y = (int64_t)b.value;
    return from_integer((uint64_t)(want_rest ? x % y : x / y), false);
}

static bool compare(int op, ptx_constant a, ptx_constant b, bool is_unsigned)
{
    const int64_t x = (int64_t)a.value, y = (int64_t)b.value;
    const bool less = is_unsigned ? a.value < b.value : x < y;
    const bool same = a.value == b.value;
    switch (op) {
    case '<':
        return less;
    case '>':
        return !less && !same;
    case PTX_PUNCT_LE:
        return less || same;
    case PTX_PUNCT_GE:
        return !less;
    case PTX_PUNCT_EQ:
        return same;
    default:
        return !same;
    }
}

static ptx_constant shift(int op, ptx_constant a, ptx_constant b)
{
    const unsigned by = (unsigned)(b.value & 63);
    if (op == PTX_PUNCT_SHL)
        return from_integer(a.value << by, a.is_unsigned);
    uint64_t value = a.value >> by;
    if (!a.is_unsigned && a.value > INT64_MAX && by > 0)
        value |= UINT64_MAX << (64 - by);
    return from_integer(value, a.is_unsigned);
}

static ptx_constant combine_float(ptx_parser *p, uint32_t line, int op, ptx_constant a,
                                  ptx_constant b)
{
    if (!a.is_float || !b.is_float)
        ptx_fail(p, line, "constant expression mixes integers and floating-point numbers");
    switch (op) {
    case '+':
        return from_float(a.number + b.number);
    case '-':
        return from_float(a.number - b.number);
    case '*':
        return from_float(a.number * b.number);
    case '/':
        return from_float(a.number / b.number);
    default:
        ptx_fail(p, line, "operator does not take floating-point constants");
    }
}

static ptx_constant combine(ptx_parser *p, uint32_t line, int op, ptx_constant a, ptx_constant b)
{
    if (a.is_float || b.is_float)
        return combine_float(p, line, op, a, b);
    const bool u = a.is_unsigned || b.is_unsigned;
    switch (op) {
    case PTX_PUNCT_OR:
        return from_integer(a.value || b.value, false);
    case PTX_PUNCT_AND:
        return from_integer(a.value && b.value, false);
    case '|':
        return from_integer(a.value | b.value, u);
    case '^':
        return from_integer(a.value ^ b.value, u);
    case '&':
        return from_integer(a.value & b.value, u);
    case PTX_PUNCT_SHL:
    case PTX_PUNCT_SHR:
        return shift(op, a, b);
    case '+':
        return from_integer(a.value + b.value, u);
    case '-':
        return from_integer(a.value - b.value, u);
    case '*':
        return from_integer(a.value * b.value, u);
    case '/':
    case '%':
        return divide(p, line, op == '%', a, b, u);
    default:
        return from_integer(compare(op, a, b, u), false);
    }
}

/* Parses operators that bind at least as strongly as `least`. Recursion only goes up in
 * strength. */
static ptx_constant parse_binary(ptx_parser *p, unsigned least, unsigned depth)
{
    ptx_constant left = parse_unary(p, depth);
    for (unsigned s = strength(p); s >= least && s > 0; s = strength(p)) {
        const uint32_t line = ptx_token_now(p)->line;
        const int op = ptx_token_now(p)->punct;
        ptx_next(p);
        const ptx_constant right = parse_binary(p, s + 1, depth);
        left = combine(p, line, op, left, right);
    }
    return left;
}

static ptx_constant parse_ternary(ptx_parser *p, unsigned depth)
{
    const uint32_t line = ptx_token_now(p)->line;
    if (depth > DEPTH_MAX)
        ptx_fail(p, line, "constant expression is nested too deeply");
    const ptx_constant condition = parse_binary(p, 1, depth);
    if (!ptx_accept(p, '?'))
        return condition;
    const ptx_constant yes = parse_ternary(p, depth + 1);
    ptx_expect(p, ':', "the first choice of a conditional constant");
    const ptx_constant no = parse_ternary(p, depth + 1);
    return condition.value ? yes : no;
}

ptx_constant ptx_parse_constant(ptx_parser *p)
{
    return parse_ternary(p, 0);
}

int64_t ptx_parse_offset(ptx_parser *p)
{
    uint64_t offset = 0;
    while (ptx_is_punct(p, '+') || ptx_is_punct(p, '-')) {
        const uint32_t line = ptx_token_now(p)->line;
        const bool minus = ptx_is_punct(p, '-');
        ptx_next(p);
        const ptx_constant c = parse_binary(p, 10, 0);
        if (c.is_float)
            ptx_fail(p, line, "an address offset cannot be a floating-point constant");
        offset = minus ? offset - c.value : offset + c.value;
    }
    return (int64_t)offset;
}

ptx_operand ptx_constant_operand(const ptx_constant *c)
{
    return (ptx_operand){
        .kind = c->is_float ? PTX_OPERAND_FLOAT : PTX_OPERAND_INTEGER,
        .is_unsigned = c->is_unsigned,
        .float_bits = c->float_bits,
        .value = c->value,
        .number = c->number,
        .reg = PTX_NO_INDEX,
        .target = PTX_NO_INDEX,
    };
}
