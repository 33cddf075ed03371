/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sizes of blocks: eight in each doubling up to 16 MiB, so that what was released fits later
 * requests; multiples of 2 MiB, the driver's own step, beyond. Bins: eight in each doubling.
 */
#include "memory/pool.h"

#define MOST_STEP (ACUI_EXACT / 8)

/* The greatest power of two that is not greater. */
static unsigned floor_log2(size_t n)
{
    return (unsigned)(8 * sizeof(unsigned long) - 1) - (unsigned)__builtin_clzl(n);
}

size_t acui_block_size(size_t bytes)
{
    if (bytes <= ACUI_LEAST_BLOCK)
        return ACUI_LEAST_BLOCK;
    size_t step = (size_t)1 << floor_log2(bytes) >> 3;
    step = step < ACUI_LEAST_BLOCK ? ACUI_LEAST_BLOCK : step > MOST_STEP ? MOST_STEP : step;
    size_t size = (bytes + step - 1) / step * step;
    return size < bytes ? bytes : size; /* near SIZE_MAX the sum wraps */
}

size_t acui_block_bin(size_t size)
{
    unsigned doubling = floor_log2(size);
    size_t eighth = (size - ((size_t)1 << doubling)) >> (doubling - 3);
    size_t bin = (doubling - floor_log2(ACUI_LEAST_BLOCK)) * (size_t)8 + eighth;
    return bin < ACUI_BINS ? bin : ACUI_BINS - 1;
}

bool acui_block_fits(const acui_block *block, size_t size)
{
    return block->bytes == size ||
           (size > ACUI_EXACT && block->bytes > size && block->bytes - size <= size / 8);
}
