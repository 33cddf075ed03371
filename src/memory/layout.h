/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two tensors of equal shape, seen as one walk over memory: runs of bytes that lie together on both
 * sides, in as few dimensions as that takes.
 */
#ifndef ACUI_MEMORY_LAYOUT_H
#define ACUI_MEMORY_LAYOUT_H

#include "memory/memory.h"

typedef struct acui_layout {
    uint64_t bytes; /* of all elements; 0: there are none */
    uint64_t run;   /* bytes that lie together, a multiple of the element's size */
    uint32_t element;
    int rank;       /* dimensions over runs, the slowest first; 0: one run is all */
    uint64_t dim[ACU_MAX_RANK];
    int64_t dst[ACU_MAX_RANK], src[ACU_MAX_RANK]; /* bytes from one to the next */
} acui_layout;

/* Of two tensors of equal dtype and shape, in the order of their elements. */
acui_layout acui_layout_of(const acu_tensor *dst, const acu_tensor *src);
/* Of a tensor and its elements one after the other, without gaps, on the other side. */
acui_layout acui_layout_to_dense(const acu_tensor *src);
acui_layout acui_layout_from_dense(const acu_tensor *dst);
/* In an order of elements that suits memory best: the destination's. */
void acui_layout_sort(acui_layout *layout);

/* Whether a byte of the destination is one of the source's, or may be, where that takes too long to
 * find out. Both in one buffer, starting at these bytes of it. */
bool acui_layout_overlaps(const acui_layout *layout, uint64_t dst, uint64_t src);

/* Copy bytes [begin, end) of the walk between host memory; the addresses are those of the first
 * element. `past_cache`: what is written is not read again soon. */
void acui_layout_copy(const acui_layout *layout, char *dst, const char *src, uint64_t begin,
                      uint64_t end, bool past_cache);

#endif
