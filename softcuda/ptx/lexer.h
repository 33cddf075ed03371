/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From characters to tokens. One token is current; the cursor is right behind it. */
#ifndef SOFTCUDA_PTX_LEXER_H
#define SOFTCUDA_PTX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_WORD,      /* identifier or register name, with its leading % */
    PTX_TOKEN_DIRECTIVE, /* .word; text is without the dot */
    PTX_TOKEN_INTEGER,   /* value, is_unsigned */
    PTX_TOKEN_FLOAT,     /* value: the bits; float_bits; number */
    PTX_TOKEN_STRING,    /* text, without the quotes */
    PTX_TOKEN_PUNCT,     /* punct: one character, or one of the PTX_PUNCT_ pairs */
    PTX_TOKEN_BAD,       /* problem says what is wrong */
} ptx_token_kind;

/* Two-character operators, with values that no single character has. */
enum {
    PTX_PUNCT_SHL = 256,
    PTX_PUNCT_SHR,
    PTX_PUNCT_LE,
    PTX_PUNCT_GE,
    PTX_PUNCT_EQ,
    PTX_PUNCT_NE,
    PTX_PUNCT_AND,
    PTX_PUNCT_OR
};

typedef struct ptx_token {
    ptx_token_kind kind;
    const char *text;
    size_t length;
    uint32_t line;
    int punct;
    uint64_t value;
    double number;
    uint8_t float_bits;
    bool is_unsigned;
    const char *problem;
} ptx_token;

typedef struct ptx_lexer {
    const char *cursor, *end;
    uint32_t line;
    ptx_token token; /* the current one */
} ptx_lexer;

void ptx_lexer_init(ptx_lexer *lexer, const char *text, size_t length);
void ptx_lexer_next(ptx_lexer *lexer);

/* The current token is a word: extend it over the modifiers that follow without a gap, as in
 * ld.global.L1::no_allocate.u32. */
void ptx_lexer_take_modifiers(ptx_lexer *lexer);

/* The current token is a word: extend it over one ".suffix" that follows without a gap. */
void ptx_lexer_take_suffix(ptx_lexer *lexer);

/* Whether the next character, blanks and comments skipped, is a single ':'. */
bool ptx_lexer_at_colon(const ptx_lexer *lexer);

#endif
