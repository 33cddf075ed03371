/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting for everything that is there now, while more keeps coming, with two counts and no list.
 * What comes is counted on one of two sides, and uncounted on that side when it has gone. The sides
 * change when the other one is empty; so a side that gets nothing new becomes empty in the end. Two
 * changes after any moment, everything that was there then has gone.
 */
#ifndef ACUI_BASE_SIDES_H
#define ACUI_BASE_SIDES_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. Its owner's lock guards it, and what is added to the counts. */
typedef struct acui_sides {
    unsigned now;     /* the side that gets what comes: 0 or 1 */
    uint64_t changes; /* how often that changed */
} acui_sides;

/* What `changes` will be when everything that is there now has gone. */
static inline uint64_t acui_sides_target(const acui_sides *sides)
{
    return sides->changes + 2;
}

/* Change sides while that is due. Whether the target is reached. */
static inline bool acui_sides_reach(acui_sides *sides, uint64_t target,
                                    bool (*is_empty)(const void *of, unsigned side), const void *of)
{
    while (sides->changes < target && is_empty(of, !sides->now)) {
        sides->now = !sides->now;
        sides->changes++;
    }
    return sides->changes >= target;
}

#endif
