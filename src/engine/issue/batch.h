/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Batches: small tasks of one form that are in a device's queue together (dispatch.h) are issued as
 * one executable graph under one mark. On an H100, sixteen kernels launched this way take the
 * driver 1.9 us each; one by one, 4.8 us.
 *
 * Each stays a submission of its own, with its own outcome; but all of a batch are seen to be over
 * only when the last of them is. So tasks are batched only if they are known to be short, if they
 * wait for nothing on the device (a task that comes behind anything that is not over goes alone),
 * and if their submissions left the choice of a stream to acuda.
 */
#ifndef ACUI_ENGINE_BATCH_H
#define ACUI_ENGINE_BATCH_H

#include "engine/engine.h"

enum {
    ACUI_BATCH_MOST = 32, /* tasks at most. A power of two, as is how many are issued at once: so a
                           * form has few graphs. With 16, four threads reached 0.70 instead of 0.77
                           * of the rate at which they launch by hand (H100) */
    ACUI_BATCH_NODES = 8, /* in each task: larger ones gain little */
};
#define ACUI_BATCH_TIME ACU_US(100) /* how long all tasks of a batch may take on the device */
#define ACUI_BATCH_DELAY ACU_US(20) /* how long one of them may wait for others */

/* Of a task that is laid out: whether it may be queued, since its submission is just this task, and
 * asked for nothing that could not be kept then; and if so, whether it is small, and known to be
 * short enough for a batch. */
bool acui_batch_may_be_queued(const acui_task *task);
bool acui_batch_may_be_batched(acui_task *task);
/* How many of the form may be batched; 1: it is not known to be short. */
unsigned acui_batch_most(const acu_device *device, uint64_t form);
/* The tasks from `first` on, before `end`, were found over at `now`; the first was not over at
 * `looked`. Flight lock held. */
void acui_batch_learn(const acui_task *first, const acui_task *end, uint64_t looked, uint64_t now);
/* For tests: nothing is learned, nothing depends on how long things take, and every device counts
 * as busy (acui_dispatch_is_busy). */
extern _Atomic(bool) acui_batch_timeless;
static inline bool acui_batch_is_timeless(void)
{
    return atomic_load_explicit(&acui_batch_timeless, memory_order_relaxed);
}

#endif
