/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a spelling to what it can mean: "add" is an opcode and a modifier, "b1" a type and one. */
#ifndef SOFTCUDA_PTX_WORDS_H
#define SOFTCUDA_PTX_WORDS_H

#include "ptx/ptx.h"
#include "ptx/table.h"

/* A field of 0: the word is none of that kind. */
typedef struct ptx_word {
    uint8_t type, space, op, mod, special;
} ptx_word;

typedef struct ptx_words {
    ptx_arena *arena;
    ptx_table table;
} ptx_words;

_Static_assert(PTX_MOD_COUNT < 256 && PTX_OP_COUNT < 256 && PTX_SPECIAL_COUNT < 256,
               "words are kept in bytes");

bool ptx_words_init(ptx_words *words, ptx_arena *arena); /* false: out of memory */
ptx_word ptx_words_find(const ptx_words *words, const char *text, size_t length);

#endif
