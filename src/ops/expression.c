/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parser: recursive descent over a small part of C's expressions, which writes CUDA C++ as it
 * reads. */
#include "ops/expression.h"

#include "base/error.h"
#include "base/object.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64

/* Of complex numbers: ALIKE yields one, PART does not, and REAL takes none. WHOLE makes one. */
typedef enum domain { ALIKE, PART, REAL, WHOLE } domain;
static const struct {
    const char *name;
    int arguments;
    domain of;
    bool integers; /* it takes them */
} functions[] = {
    {"abs", 1, PART, true},          {"sign", 1, ALIKE, true},        {"square", 1, ALIKE, true},
    {"sqrt", 1, ALIKE, false},       {"rsqrt", 1, ALIKE, false},      {"exp", 1, ALIKE, false},
    {"reciprocal", 1, ALIKE, false}, {"log", 1, ALIKE, false},        {"sin", 1, ALIKE, false},
    {"cos", 1, ALIKE, false},        {"tanh", 1, ALIKE, false},       {"sigmoid", 1, REAL, false},
    {"gelu", 1, REAL, false},        {"silu", 1, REAL, false},        {"relu", 1, REAL, true},
    {"erf", 1, REAL, false},         {"floor", 1, REAL, false},       {"ceil", 1, REAL, false},
    {"trunc", 1, REAL, false},       {"round", 1, REAL, false},       {"min", 2, REAL, true},
    {"max", 2, REAL, true},          {"pow", 2, ALIKE, true},         {"fma", 3, REAL, false},
    {"where", 3, ALIKE, true},       {"clamp", 3, REAL, true},        {"conj", 1, ALIKE, false},
    {"real", 1, PART, false},        {"imag", 1, PART, false},        {"angle", 1, PART, false},
    {"complex", 2, WHOLE, false},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

typedef struct parser {
    const char *text, *at;
    acui_parsed *out;
    size_t length; /* of the code so far */
    int depth;
    acui_operand_types types;
    bool complex; /* what was read last is a complex number */
} parser;

static acu_status parse_choice(parser *p);

static acu_status fail_as(const parser *p, acu_status status, const char *at, const char *what)
{
    return acui_fail(status, "expression \"%.200s\", column %d: %s", p->text,
                     (int)(at - p->text) + 1, what);
}

static acu_status fail(const parser *p, const char *at, const char *what)
{
    return fail_as(p, ACU_ERR_INVALID, at, what);
}

static acu_status emit(parser *p, const char *text, size_t bytes)
{
    if (p->length + bytes + 1 > sizeof p->out->code)
        return fail(p, p->at, "it is too long");
    memcpy(p->out->code + p->length, text, bytes);
    p->length += bytes;
    p->out->code[p->length] = '\0';
    return ACU_OK;
}

static acu_status emit_text(parser *p, const char *text)
{
    return emit(p, text, strlen(text));
}

/* Puts the text before what was written since `start`. */
static acu_status emit_before(parser *p, size_t start, const char *text)
{
    size_t bytes = strlen(text);
    char *at = p->out->code + start;
    ACUI_TRY(emit(p, text, bytes));
    memmove(at + bytes, at, p->length - start - bytes);
    memcpy(at, text, bytes);
    return ACU_OK;
}

static void skip_space(parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool accept(parser *p, const char *token)
{
    skip_space(p);
    if (strncmp(p->at, token, strlen(token)) != 0)
        return false;
    p->at += strlen(token);
    return true;
}

static acu_status expect(parser *p, const char *token)
{
    char what[64];
    if (accept(p, token))
        return ACU_OK;
    if (*p->at)
        snprintf(what, sizeof what, "'%s' is expected, not '%c'", token, *p->at);
    else
        snprintf(what, sizeof what, "'%s' is expected, but it ends", token);
    return fail(p, p->at, what);
}

/* ---- numbers, names, calls ---- */

/* Among integers, a number is one that their computation holds. */
static acu_status check_integer(parser *p, const char *at, size_t length, bool whole)
{
    char digits[48];
    snprintf(digits, sizeof digits, "%.*s", (int)length, at);
    if (p->types.largest == 0)
        return ACU_OK;
    errno = 0;
    if (whole && strtoull(digits, NULL, 10) <= p->types.largest && !errno)
        return ACU_OK;
    return fail_as(p, ACU_ERR_DTYPE, at, whole ? "the number is too large for the tensors' dtype"
                                               : "integers take no number with a fraction");
}

static acu_status parse_number(parser *p)
{
    const char *start = p->at;
    char number[64];
    while (isdigit((unsigned char)*p->at) || *p->at == '.')
        p->at++;
    if (*p->at == 'e' || *p->at == 'E') {
        p->at++;
        if (*p->at == '+' || *p->at == '-')
            p->at++;
        if (!isdigit((unsigned char)*p->at))
            return fail(p, p->at, "an exponent is expected");
        while (isdigit((unsigned char)*p->at))
            p->at++;
    }
    size_t length = (size_t)(p->at - start);
    const char *point = memchr(start, '.', length);
    if (point && memchr(point + 1, '.', (size_t)(start + length - point - 1)))
        return fail(p, start, "a number with two points");
    if (length == 1 && point)
        return fail(p, start, "a number without digits");
    if (length > 40 || isalpha((unsigned char)*p->at) || *p->at == '_')
        return fail(p, start, length > 40 ? "the number is too long" : "a number runs into a name");
    p->complex = false;
    bool whole = !point && !memchr(start, 'e', length) && !memchr(start, 'E', length);
    for (; whole && length > 1 && *start == '0'; length--)
        start++; /* else an integer of base 8, to a compiler */
    ACUI_TRY(check_integer(p, start, length, whole));
    snprintf(number, sizeof number, whole ? "L(%.*s)" : "(T)%.*s", (int)length, start);
    return emit_text(p, number);
}

/* One more argument of the function was read. `any`: whether one before it is complex. */
static acu_status check_argument(const parser *p, int function, int argument, const char *at,
                                 bool *any)
{
    char what[128];
    const domain of = functions[function].of;
    bool condition = strcmp(functions[function].name, "where") == 0 && argument == 1;
    *any = *any || (p->complex && !condition);
    if (!p->complex || of == ALIKE || of == PART)
        return ACU_OK;
    snprintf(what, sizeof what, "%s takes real numbers, and argument %d is complex",
             functions[function].name, argument);
    return fail_as(p, ACU_ERR_DTYPE, at, what);
}

static acu_status parse_arguments(parser *p, const char *name, size_t length, const char *start)
{
    char what[128];
    int known = 0, count = 0;
    bool any = false;
    while (known < FUNCTIONS && (strlen(functions[known].name) != length ||
                                 strncmp(functions[known].name, name, length) != 0))
        known++;
    if (known == FUNCTIONS) {
        snprintf(what, sizeof what, "there is no function %.*s", (int)length, name);
        return fail(p, start, what);
    }
    if (p->types.largest && !functions[known].integers) {
        snprintf(what, sizeof what, "%.*s takes no integers", (int)length, name);
        return fail_as(p, ACU_ERR_DTYPE, start, what);
    }
    ACUI_TRY(emit_text(p, "fn_"));
    ACUI_TRY(emit(p, name, length));
    ACUI_TRY(emit_text(p, "("));
    do {
        if (count++ > 0)
            ACUI_TRY(emit_text(p, ", "));
        ACUI_TRY(parse_choice(p));
        ACUI_TRY(check_argument(p, known, count, start, &any));
    } while (accept(p, ","));
    ACUI_TRY(expect(p, ")"));
    if (count != functions[known].arguments) {
        snprintf(what, sizeof what, "%.*s takes %d argument%s, and got %d", (int)length, name,
                 functions[known].arguments, functions[known].arguments == 1 ? "" : "s", count);
        return fail(p, start, what);
    }
    p->complex = functions[known].of == WHOLE || (functions[known].of == ALIKE && any);
    p->out->makes_complex = p->out->makes_complex || functions[known].of == WHOLE;
    return emit_text(p, ")");
}

static acu_status parse_name(parser *p)
{
    const char *start = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_')
        p->at++;
    size_t length = (size_t)(p->at - start), i = 0;
    if (accept(p, "("))
        return parse_arguments(p, start, length, start);
    if (length >= ACUI_EXPRESSION_NAME)
        return fail(p, start, "the name is too long");
    acui_parsed *out = p->out;
    while (i < out->operands &&
           (strlen(out->names[i]) != length || strncmp(out->names[i], start, length) != 0))
        i++;
    if (i == ACUI_FUSED_OPERANDS)
        return fail(p, start, "it has more than 8 operands");
    if (i == out->operands) {
        memcpy(out->names[i], start, length);
        out->names[i][length] = '\0';
        out->operands++;
    }
    char name[8];
    p->complex = p->types.complex >> i & 1;
    snprintf(name, sizeof name, "v%zu", i);
    return emit_text(p, name);
}

static acu_status parse_primary(parser *p)
{
    skip_space(p);
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return parse_number(p);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return parse_name(p);
    if (!accept(p, "("))
        return fail(p, p->at, *p->at ? "a name, a number or '(' is expected"
                                     : "a name, a number or '(' is expected, but it ends");
    ACUI_TRY(emit_text(p, "("));
    ACUI_TRY(parse_choice(p));
    ACUI_TRY(expect(p, ")"));
    return emit_text(p, ")");
}

/* ---- operators ---- */

static acu_status parse_signed(parser *p)
{
    skip_space(p);
    const char *sign = *p->at == '-' ? "-" : *p->at == '!' ? "!" : *p->at == '+' ? "+" : NULL;
    if (!sign)
        return parse_primary(p);
    if (++p->depth > DEEPEST)
        return fail(p, p->at, "it is nested too deeply");
    p->at++;
    ACUI_TRY(emit_text(p, sign[0] == '!' ? "(T)!(" : sign[0] == '-' ? " -(" : " +("));
    ACUI_TRY(parse_signed(p));
    p->complex = p->complex && *sign != '!';
    p->depth--;
    return emit_text(p, ")");
}

/* From the weakest to the strongest binding; of two operators that begin alike, the longer one
 * first. */
static const char *const levels[][5] = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/"}};
enum { LEVELS = sizeof levels / sizeof *levels, ORDER = 3, OF_NUMBERS = 4 }; /* whose results are
                                                                             * of type T */

static const char *operator_at(parser *p, int level)
{
    for (int i = 0; levels[level][i]; i++)
        if (accept(p, levels[level][i]))
            return levels[level][i];
    return NULL;
}

static acu_status parse_level(parser *p, int level)
{
    if (level == LEVELS)
        return parse_signed(p);
    size_t start = p->length;
    ACUI_TRY(parse_level(p, level + 1));
    const char *sign = operator_at(p, level);
    bool answers = sign && level < OF_NUMBERS; /* is it true or not? */
    if (answers)
        ACUI_TRY(emit_before(p, start, "(T)("));
    for (; sign; sign = operator_at(p, level)) {
        const char *at = p->at - strlen(sign);
        bool complex = p->complex;
        ACUI_TRY(emit_text(p, sign));
        ACUI_TRY(parse_level(p, level + 1));
        if (level == ORDER && (complex || p->complex))
            return fail_as(p, ACU_ERR_DTYPE, at, "complex numbers have no order");
        p->complex = !answers && (complex || p->complex);
    }
    return answers ? emit_text(p, ")") : ACU_OK;
}

static acu_status parse_choice(parser *p)
{
    if (++p->depth > DEEPEST)
        return fail(p, p->at, "it is nested too deeply");
    ACUI_TRY(parse_level(p, 0));
    if (accept(p, "?")) {
        ACUI_TRY(emit_text(p, " != 0 ? "));
        ACUI_TRY(parse_choice(p));
        bool complex = p->complex;
        ACUI_TRY(expect(p, ":"));
        ACUI_TRY(emit_text(p, " : "));
        ACUI_TRY(parse_choice(p));
        p->complex = p->complex || complex;
    }
    p->depth--;
    return ACU_OK;
}

acu_status acui_expression_parse(const char *text, const acui_operand_types *types,
                                 acui_parsed *parsed)
{
    parser p = {.text = text, .at = text, .out = parsed, .types = *types};
    if (strlen(text) > ACUI_EXPRESSION_TEXT)
        return acui_fail(ACU_ERR_INVALID, "an expression of %zu bytes; at most %d are read",
                         strlen(text), ACUI_EXPRESSION_TEXT);
    parsed->operands = 0;
    parsed->makes_complex = false;
    ACUI_TRY(parse_choice(&p));
    parsed->complex = p.complex;
    skip_space(&p);
    if (*p.at)
        return fail(&p, p.at, "an operator is expected");
    if (parsed->operands == 0)
        return fail(&p, text, "it has no operands");
    return ACU_OK;
}
