/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hashes of words, for tables; valid in this process only. */
#ifndef ACUI_BASE_HASH_H
#define ACUI_BASE_HASH_H

#include <stdint.h>

/* The hash of what came before, extended by one word. */
static inline uint64_t acui_hash_with(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
    return hash ^ (hash >> 32);
}

#endif
