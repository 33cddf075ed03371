/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sizes of blocks: eight in each doubling up to 16 MiB, so that released blocks fit later requests;
 * beyond that, multiples of 2 MiB, the driver's own step. Bins: eight in each doubling.
 */
#ifndef ACUI_MEMORY_SIZE_H
#define ACUI_MEMORY_SIZE_H

#include <stdbool.h>
#include <stddef.h>

#define ACUI_LEAST_BLOCK ((size_t)512)
#define ACUI_EXACT ((size_t)16 << 20) /* up to here, blocks have one of a few sizes */
#define ACUI_BINS 312                 /* eight for each doubling from the smallest block to 2^48 */

/* The exponent of the largest power of two that is not larger. */
static inline unsigned acui_floor_log2(size_t n)
{
    return (unsigned)(8 * sizeof(unsigned long) - 1) - (unsigned)__builtin_clzl(n);
}

/* The size of a block for `bytes`: at most an eighth larger, or the smallest size; near SIZE_MAX,
 * `bytes`. */
static inline size_t acui_block_size(size_t bytes)
{
    if (bytes <= ACUI_LEAST_BLOCK)
        return ACUI_LEAST_BLOCK;
    size_t step = (size_t)1 << acui_floor_log2(bytes) >> 3; /* a power of two, like its bounds */
    if (step < ACUI_LEAST_BLOCK)
        step = ACUI_LEAST_BLOCK;
    if (step > ACUI_EXACT / 8)
        step = ACUI_EXACT / 8;
    size_t size = (bytes + step - 1) & ~(step - 1);
    return size < bytes ? bytes : size; /* near SIZE_MAX the sum wraps */
}

static inline size_t acui_block_bin(size_t size)
{
    if (size < ACUI_LEAST_BLOCK) /* of a pool whose blocks are exact */
        size = ACUI_LEAST_BLOCK;
    unsigned doubling = acui_floor_log2(size);
    size_t eighth = (size >> (doubling - 3)) & 7;
    size_t bin = (doubling - acui_floor_log2(ACUI_LEAST_BLOCK)) * (size_t)8 + eighth;
    return bin < ACUI_BINS ? bin : ACUI_BINS - 1;
}

/* Whether a block of this many bytes suits the size, and wastes little. */
static inline bool acui_block_fits(size_t bytes, size_t size)
{
    return bytes == size || (size > ACUI_EXACT && bytes > size && bytes - size <= size / 8);
}

#endif
