/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which bytes of a buffer an access touches: a range, or windows of equal width at equal distances
 * within a range, like the rows of a block in a matrix. An extent contains at least what is
 * touched; where describing that exactly would take more than an extent, it contains more.
 */
#ifndef ACUI_MEMORY_EXTENT_H
#define ACUI_MEMORY_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes [begin, end). If `pitch` is not 0, only the bytes [begin + k pitch, begin + k pitch +
 * width) of these, for all k, and `end` is the end of the last window. width < pitch. */
typedef struct acui_extent {
    uint64_t begin, end;
    uint32_t pitch, width;
} acui_extent;

static inline acui_extent acui_extent_range(uint64_t begin, uint64_t end)
{
    return (acui_extent){.begin = begin, .end = end};
}

/* For two ranges that overlap, at least one of them with windows. False: they certainly share no
 * byte; true: they may. */
bool acui_extents_meet(const acui_extent *a, const acui_extent *b);
/* Whether each byte of `b`, which lies in the range of `a`, is in a window of `a`. True: certainly;
 * false: perhaps not. */
bool acui_extent_windows_cover(const acui_extent *a, const acui_extent *b);

/* False: they share no byte. */
static inline bool acui_extents_overlap(const acui_extent *a, const acui_extent *b)
{
    return a->begin < b->end && b->begin < a->end &&
           ((!a->pitch && !b->pitch) || acui_extents_meet(a, b));
}

/* The bytes in both extents, which overlap; with windows, perhaps more. */
static inline acui_extent acui_extent_common(const acui_extent *a, const acui_extent *b)
{
    const acui_extent *narrow = a->pitch ? a : b; /* windows count from the begin of their own
                                                   * extent */
    if (a->pitch || b->pitch)
        return *narrow;
    return acui_extent_range(a->begin > b->begin ? a->begin : b->begin,
                             a->end < b->end ? a->end : b->end);
}

/* True: `a` contains every byte of `b`. */
static inline bool acui_extent_covers(const acui_extent *a, const acui_extent *b)
{
    return a->begin <= b->begin && b->end <= a->end &&
           (!a->pitch || acui_extent_windows_cover(a, b));
}

#endif
