/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The lexer. It reads only within [cursor, end), and always moves on, whatever the bytes are. */
#include "ptx/lexer.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static char at(const ptx_lexer *lexer, size_t ahead)
{
    return (size_t)(lexer->end - lexer->cursor) > ahead ? lexer->cursor[ahead] : '\0';
}

void ptx_lexer_init(ptx_lexer *lexer, const char *text, size_t length)
{
    *lexer = (ptx_lexer){.cursor = text, .end = text + length, .line = 1};
}

static void skip_line(ptx_lexer *lexer)
{
    while (lexer->cursor < lexer->end && *lexer->cursor != '\n')
        lexer->cursor++;
}

/* False: the comment never ends. */
static bool skip_block_comment(ptx_lexer *lexer)
{
    lexer->cursor += 2;
    while (lexer->cursor < lexer->end) {
        if (*lexer->cursor == '*' && at(lexer, 1) == '/') {
            lexer->cursor += 2;
            return true;
        }
        if (*lexer->cursor++ == '\n')
            lexer->line++;
    }
    return false;
}

/* False: an unterminated comment. */
static bool skip_blanks(ptx_lexer *lexer)
{
    while (lexer->cursor < lexer->end) {
        const char c = *lexer->cursor;
        if (c == '\n') {
            lexer->line++;
            lexer->cursor++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lexer->cursor++;
        } else if ((c == '/' && at(lexer, 1) == '/') || c == '#') {
            skip_line(lexer); /* # begins a line that a preprocessor left */
        } else if (c == '/' && at(lexer, 1) == '*') {
            if (!skip_block_comment(lexer))
                return false;
        } else {
            break;
        }
    }
    return true;
}

static void bad(ptx_token *token, const char *problem)
{
    token->kind = PTX_TOKEN_BAD;
    token->problem = problem;
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* 0f and 0d constants: the bits of a float in exactly `digits` hexadecimal digits. */
static void lex_float_bits(ptx_lexer *lexer, unsigned digits)
{
    ptx_token *token = &lexer->token;
    lexer->cursor += 2;
    uint64_t bits = 0;
    for (unsigned i = 0; i < digits; i++) {
        const int digit = hex_digit(at(lexer, 0));
        if (digit < 0) {
            bad(token, "floating-point constant with too few hexadecimal digits");
            return;
        }
        bits = bits << 4 | (unsigned)digit;
        lexer->cursor++;
    }
    token->kind = PTX_TOKEN_FLOAT;
    token->value = bits;
    token->float_bits = (uint8_t)(digits * 4);
    if (digits == 8) {
        const uint32_t narrow = (uint32_t)bits;
        float number;
        memcpy(&number, &narrow, sizeof number);
        token->number = (double)number;
    } else {
        memcpy(&token->number, &bits, sizeof token->number);
    }
}

/* strtod in the C locale, whatever locale the program has set. */
static bool parse_decimal(const char *text, double *number)
{
    locale_t locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    char *rest;
    *number = strtod_l(text, &rest, locale);
    freelocale(locale);
    return *rest == '\0';
}

static void lex_decimal_float(ptx_lexer *lexer)
{
    ptx_token *token = &lexer->token;
    char copy[64];
    size_t length = 0;
    char previous = '\0';
    for (;;) {
        const char c = at(lexer, 0);
        const bool sign = (c == '+' || c == '-') && (previous == 'e' || previous == 'E');
        if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign)
            break;
        if (length == sizeof copy - 1) {
            bad(token, "number is too long");
            return;
        }
        copy[length++] = previous = c;
        lexer->cursor++;
    }
    copy[length] = '\0';
    token->kind = PTX_TOKEN_FLOAT;
    token->float_bits = 64;
    if (!parse_decimal(copy, &token->number))
        bad(token, "malformed floating-point constant");
    memcpy(&token->value, &token->number, sizeof token->value);
}

/* Whether the digits at the cursor continue as a decimal floating-point constant. */
static bool is_decimal_float(const ptx_lexer *lexer)
{
    size_t i = 0;
    while (is_digit(at(lexer, i)))
        i++;
    if (at(lexer, i) == '.')
        return is_digit(at(lexer, i + 1)) || !is_name(at(lexer, i + 1));
    if (at(lexer, i) != 'e' && at(lexer, i) != 'E')
        return false;
    i++;
    if (at(lexer, i) == '+' || at(lexer, i) == '-')
        i++;
    return is_digit(at(lexer, i));
}

static void lex_integer(ptx_lexer *lexer)
{
    ptx_token *token = &lexer->token;
    unsigned base = 10;
    const char second = at(lexer, 1);
    if (at(lexer, 0) == '0' && (second == 'x' || second == 'X')) {
        base = 16;
        lexer->cursor += 2;
    } else if (at(lexer, 0) == '0' && (second == 'b' || second == 'B')) {
        base = 2;
        lexer->cursor += 2;
    } else if (at(lexer, 0) == '0') {
        base = 8;
    }
    token->kind = PTX_TOKEN_INTEGER;
    uint64_t value = 0;
    size_t digits = 0;
    for (int d = hex_digit(at(lexer, 0)); d >= 0 && (unsigned)d < base;
         d = hex_digit(at(lexer, 0))) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (unsigned)d, &value)) {
            bad(token, "integer constant needs more than 64 bits");
            return;
        }
        digits++;
        lexer->cursor++;
    }
    if (at(lexer, 0) == 'U') {
        token->is_unsigned = true;
        lexer->cursor++;
    }
    token->value = value;
    token->is_unsigned |= value > INT64_MAX;
    if (digits == 0 || is_name(at(lexer, 0)))
        bad(token, "malformed number");
}

static void lex_number(ptx_lexer *lexer)
{
    const char second = at(lexer, 1);
    if (at(lexer, 0) == '0' && (second == 'f' || second == 'F'))
        lex_float_bits(lexer, 8);
    else if (at(lexer, 0) == '0' && (second == 'd' || second == 'D'))
        lex_float_bits(lexer, 16);
    else if (is_decimal_float(lexer))
        lex_decimal_float(lexer);
    else
        lex_integer(lexer);
}

static void lex_string(ptx_lexer *lexer)
{
    ptx_token *token = &lexer->token;
    const char *start = ++lexer->cursor;
    while (lexer->cursor < lexer->end && *lexer->cursor != '"' && *lexer->cursor != '\n') {
        if (*lexer->cursor == '\\' && at(lexer, 1) != '\n' && lexer->cursor + 1 < lexer->end)
            lexer->cursor++;
        lexer->cursor++;
    }
    if (at(lexer, 0) != '"') {
        bad(token, "string without an end");
        return;
    }
    token->kind = PTX_TOKEN_STRING;
    token->text = start;
    token->length = (size_t)(lexer->cursor - start);
    lexer->cursor++;
}

static void lex_punct(ptx_lexer *lexer)
{
    static const struct {
        char first, second;
        int punct;
    } pairs[] = {
        {'<', '<', PTX_PUNCT_SHL}, {'>', '>', PTX_PUNCT_SHR}, {'<', '=', PTX_PUNCT_LE},
        {'>', '=', PTX_PUNCT_GE},  {'=', '=', PTX_PUNCT_EQ},  {'!', '=', PTX_PUNCT_NE},
        {'&', '&', PTX_PUNCT_AND}, {'|', '|', PTX_PUNCT_OR},
    };
    ptx_token *token = &lexer->token;
    const char c = *lexer->cursor;
    token->kind = PTX_TOKEN_PUNCT;
    token->punct = (unsigned char)c;
    if (!strchr("{}()[]<>,;:@!|+-*/%&^~=?", c)) {
        bad(token, "unexpected character");
    } else {
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            if (pairs[i].first == c && pairs[i].second == at(lexer, 1)) {
                token->punct = pairs[i].punct;
                lexer->cursor++;
                break;
            }
        }
    }
    lexer->cursor++;
}

/* Moves over name characters and "::" that joins two names. */
static void skip_name(ptx_lexer *lexer)
{
    for (;;) {
        if (is_name(at(lexer, 0)))
            lexer->cursor++;
        else if (at(lexer, 0) == ':' && at(lexer, 1) == ':' && is_name(at(lexer, 2)))
            lexer->cursor += 2;
        else
            return;
    }
}

void ptx_lexer_next(ptx_lexer *lexer)
{
    const bool closed = skip_blanks(lexer);
    ptx_token *token = &lexer->token;
    *token = (ptx_token){.kind = PTX_TOKEN_END, .text = lexer->cursor, .line = lexer->line};
    if (!closed) {
        bad(token, "comment without an end");
        return;
    }
    if (lexer->cursor >= lexer->end)
        return;

    const char c = *lexer->cursor;
    if (is_digit(c)) {
        lex_number(lexer);
    } else if (is_name(c) || (c == '%' && is_name(at(lexer, 1)) && !is_digit(at(lexer, 1)))) {
        token->kind = PTX_TOKEN_WORD;
        lexer->cursor++;
        while (is_name(at(lexer, 0)))
            lexer->cursor++;
    } else if (c == '.' && is_name(at(lexer, 1))) {
        token->kind = PTX_TOKEN_DIRECTIVE;
        token->text++;
        lexer->cursor++;
        skip_name(lexer);
    } else if (c == '"') {
        lex_string(lexer);
        return;
    } else {
        lex_punct(lexer);
    }
    token->length = (size_t)(lexer->cursor - token->text);
}

void ptx_lexer_take_modifiers(ptx_lexer *lexer)
{
    for (;;) {
        skip_name(lexer);
        if (at(lexer, 0) != '.' || !is_name(at(lexer, 1)))
            break;
        lexer->cursor++;
    }
    lexer->token.length = (size_t)(lexer->cursor - lexer->token.text);
}

void ptx_lexer_take_suffix(ptx_lexer *lexer)
{
    if (at(lexer, 0) != '.' || !is_name(at(lexer, 1)))
        return;
    lexer->cursor++;
    while (is_name(at(lexer, 0)))
        lexer->cursor++;
    lexer->token.length = (size_t)(lexer->cursor - lexer->token.text);
}

bool ptx_lexer_at_colon(const ptx_lexer *lexer)
{
    ptx_lexer ahead = {.cursor = lexer->cursor, .end = lexer->end};
    return skip_blanks(&ahead) && at(&ahead, 0) == ':' && at(&ahead, 1) != ':';
}
