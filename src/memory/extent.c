/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Comparing extents with windows. */
#include "memory/extent.h"

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether a window of `windows` has a byte in the range. */
static bool range_meets(const acui_extent *windows, const acui_extent *range)
{
    if (range->begin <= windows->begin)
        return true;
    uint64_t into = (range->begin - windows->begin) % windows->pitch;
    return into < windows->width || range->begin + (windows->pitch - into) < range->end;
}

/* Modulo a number that divides both pitches, each side is a single window, and these two may be
 * disjoint. */
static bool windows_meet(const acui_extent *a, const acui_extent *b)
{
    if (b->begin < a->begin) {
        const acui_extent *first = b;
        b = a;
        a = first;
    }
    uint64_t modulus = a->pitch == b->pitch ? a->pitch : common_divisor(a->pitch, b->pitch);
    uint64_t apart = (b->begin - a->begin) % modulus;
    return apart < a->width || apart + b->width > modulus;
}

bool acui_extents_meet(const acui_extent *a, const acui_extent *b)
{
    if (!a->pitch)
        return range_meets(b, a);
    return b->pitch ? windows_meet(a, b) : range_meets(a, b);
}

bool acui_extent_windows_cover(const acui_extent *a, const acui_extent *b)
{
    uint64_t into = (b->begin - a->begin) % a->pitch;
    if (!b->pitch)
        return into + (b->end - b->begin) <= a->width;
    return b->pitch % a->pitch == 0 && into + b->width <= a->width;
}
