/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stepping through tokens, and the messages for tokens that are not allowed where they are. */
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

void ptx_next(ptx_parser *p)
{
    ptx_lexer_next(&p->lexer);
    const ptx_token *token = &p->lexer.token;
    if (token->kind == PTX_TOKEN_BAD) {
        if (strcmp(token->problem, "unexpected character") == 0)
            ptx_fail(p, token->line, "unexpected character 0x%02X", (unsigned)token->punct);
        ptx_fail(p, token->line, "%s", token->problem);
    }
}

bool ptx_is_punct(const ptx_parser *p, int punct)
{
    const ptx_token *token = &p->lexer.token;
    return token->kind == PTX_TOKEN_PUNCT && token->punct == punct;
}

bool ptx_is_directive(const ptx_parser *p, const char *text)
{
    const ptx_token *token = &p->lexer.token;
    return token->kind == PTX_TOKEN_DIRECTIVE && strlen(text) == token->length &&
           memcmp(text, token->text, token->length) == 0;
}

bool ptx_accept(ptx_parser *p, int punct)
{
    if (!ptx_is_punct(p, punct))
        return false;
    ptx_next(p);
    return true;
}

bool ptx_accept_directive(ptx_parser *p, const char *text)
{
    if (!ptx_is_directive(p, text))
        return false;
    ptx_next(p);
    return true;
}

_Noreturn void ptx_fail_token(ptx_parser *p, const char *expected)
{
    const ptx_token *token = &p->lexer.token;
    const int shown = token->length > 60 ? 60 : (int)token->length;
    if (token->kind == PTX_TOKEN_END)
        ptx_fail(p, token->line, "expected %s, but the text ends", expected);
    ptx_fail(p, token->line, "expected %s, found \"%s%.*s\"", expected,
             token->kind == PTX_TOKEN_DIRECTIVE ? "." : "", shown, token->text);
}

void ptx_expect(ptx_parser *p, int punct, const char *after)
{
    if (ptx_accept(p, punct))
        return;
    char expected[80];
    snprintf(expected, sizeof expected, "'%c' after %s", punct, after);
    ptx_fail_token(p, expected);
}

const char *ptx_expect_name(ptx_parser *p, const char *what)
{
    const ptx_token *token = &p->lexer.token;
    if (token->kind != PTX_TOKEN_WORD)
        ptx_fail_token(p, what);
    const char *name = ptx_intern(p, token->text, token->length);
    ptx_next(p);
    return name;
}

uint64_t ptx_expect_integer(ptx_parser *p, const char *what)
{
    if (p->lexer.token.kind != PTX_TOKEN_INTEGER)
        ptx_fail_token(p, what);
    const uint64_t value = p->lexer.token.value;
    ptx_next(p);
    return value;
}

uint32_t ptx_expect_u32(ptx_parser *p, const char *what)
{
    const uint32_t line = p->lexer.token.line;
    const uint64_t value = ptx_expect_integer(p, what);
    if (value > UINT32_MAX)
        ptx_fail(p, line, "%s is too large", what);
    return (uint32_t)value;
}
