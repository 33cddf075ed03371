/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting for everything that is there now, while more keeps coming, with two counts and no list.
 * What comes is counted in one of two epochs, and uncounted in that epoch when it has gone. The
 * epochs change when the other one is empty; so an epoch that gets nothing new becomes empty in the
 * end. Two changes after any moment, everything that was there then has gone.
 */
#ifndef ACUI_BASE_EPOCHS_H
#define ACUI_BASE_EPOCHS_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at first. Its owner's lock guards it, and what is added to the counts. */
typedef struct acui_epochs {
    unsigned now;     /* the epoch that gets what comes: 0 or 1 */
    uint64_t changes; /* how often that changed */
} acui_epochs;

/* What `changes` will be when everything that is there now has gone. */
static inline uint64_t acui_epochs_target(const acui_epochs *epochs)
{
    return epochs->changes + 2;
}

/* Change epochs while that is due. Whether the target is reached. */
static inline bool acui_epochs_reach(acui_epochs *epochs, uint64_t target,
                                     bool (*is_empty)(const void *of, unsigned epoch),
                                     const void *of)
{
    while (epochs->changes < target && is_empty(of, !epochs->now)) {
        epochs->now = !epochs->now;
        epochs->changes++;
    }
    return epochs->changes >= target;
}

#endif
