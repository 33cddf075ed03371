/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two tensors of equal shape, seen as one walk over memory: runs of bytes that are contiguous on
 * both sides, with as few dimensions over them as possible.
 */
#ifndef ACUI_MEMORY_LAYOUT_H
#define ACUI_MEMORY_LAYOUT_H

#include "memory/memory.h"

typedef struct acui_layout {
    uint64_t bytes; /* of all elements; 0: there are none */
    uint64_t run;   /* contiguous bytes, a multiple of the element's size */
    uint32_t element;
    int rank;       /* dimensions over runs, slowest first; 0: there is only one run */
    uint64_t dim[ACU_MAX_RANK];
    int64_t dst[ACU_MAX_RANK], src[ACU_MAX_RANK]; /* bytes from one index to the next */
} acui_layout;

/* For two tensors of equal dtype and shape, in the order of their elements. */
acui_layout acui_layout_of(const acu_tensor *dst, const acu_tensor *src);
/* For a tensor on one side, and its elements without gaps on the other. */
acui_layout acui_layout_to_dense(const acu_tensor *src);
acui_layout acui_layout_from_dense(const acu_tensor *dst);
/* Reorder the walk to suit memory best: in the destination's order. */
void acui_layout_sort(acui_layout *layout);

/* Whether the destination and the source have a byte in common, or may have one, if finding out
 * takes too long. Both are in one buffer, at these offsets. */
bool acui_layout_overlaps(const acui_layout *layout, uint64_t dst, uint64_t src);

/* Copy bytes [begin, end) of the walk between host memory; the addresses are those of the first
 * element. `past_cache`: the destination is not read again soon. */
void acui_layout_copy(const acui_layout *layout, char *dst, const char *src, uint64_t begin,
                      uint64_t end, bool past_cache);

#endif
