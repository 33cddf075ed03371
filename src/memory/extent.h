/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which bytes of a buffer something touches: a range, or of that range windows of one width at one
 * distance, as the rows of a block in a matrix are. Extents say at least what is touched; where one
 * would take more than that to say it exactly, it says more.
 */
#ifndef ACUI_MEMORY_EXTENT_H
#define ACUI_MEMORY_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes [begin, end); where `pitch` is not 0, of these only [begin + k pitch, begin + k pitch +
 * width) for all k, and `end` is the end of the last window. width < pitch. */
typedef struct acui_extent {
    uint64_t begin, end;
    uint32_t pitch, width;
} acui_extent;

static inline acui_extent acui_extent_range(uint64_t begin, uint64_t end)
{
    return (acui_extent){.begin = begin, .end = end};
}

/* Of two ranges that overlap, at least one with windows: no for certain, or perhaps. */
bool acui_extents_meet(const acui_extent *a, const acui_extent *b);
/* Each byte of `b`, which lies in the range of `a`, is in a window of `a`: for
 * certain, or perhaps not. */
bool acui_extent_windows_cover(const acui_extent *a, const acui_extent *b);

/* False: they share no byte. */
static inline bool acui_extents_overlap(const acui_extent *a, const acui_extent *b)
{
    return a->begin < b->end && b->begin < a->end &&
           ((!a->pitch && !b->pitch) || acui_extents_meet(a, b));
}

/* The bytes that are in both, which overlap; with windows, perhaps more. */
static inline acui_extent acui_extent_common(const acui_extent *a, const acui_extent *b)
{
    const acui_extent *narrow = a->pitch ? a : b; /* its windows count from its begin */
    if (a->pitch || b->pitch)
        return *narrow;
    return acui_extent_range(a->begin > b->begin ? a->begin : b->begin,
                             a->end < b->end ? a->end : b->end);
}

/* True: `a` has every byte of `b`. */
static inline bool acui_extent_covers(const acui_extent *a, const acui_extent *b)
{
    return a->begin <= b->begin && b->end <= a->end &&
           (!a->pitch || acui_extent_windows_cover(a, b));
}

#endif
