/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submission without the driver: devices opened with `runtime_thread` have a thread that plans and
 * issues what is handed over to it.
 *
 * Order. A submission's place is its place in a ring. Where several rings are in use, it also
 * notes how far the others were when it was handed over, and its thread waits for these to have
 * come so far before it plans it: what was submitted earlier, by whom and to which device ever, is
 * in the order of things earlier. Waits go to places that were taken earlier, so they end.
 * Submissions that would go the direct way are handed over too while a ring holds any that has not
 * been entered. What a `then` submits is a part of the submission that is being planned, and goes
 * no other way than that one.
 */
#ifndef ACUI_ENGINE_RUNTIME_H
#define ACUI_ENGINE_RUNTIME_H

#include "engine/engine.h"
#include "engine/submit/handover.h"

typedef struct acui_runtime acui_runtime;

/* Whether the submission is one to be handed over; then that was done or failed, with *status, and
 * the op is consumed. Never enters the driver. */
bool acui_runtime_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                         acu_stream *stream, acu_future *future, acu_status *status);
/* All that this thread's submission touches has been entered: others may enter what comes behind.
 * Does nothing on other threads. */
void acui_runtime_entered(void);

/* Until the future's submission is planned: at once where it was not handed over. Fails with
 * WOULD_WAIT in a callback. */
acu_status acui_runtime_planned(acu_future *future);
/* Whether something that was handed over has not been entered yet, but for what this thread itself
 * is about to plan. Never waits. */
bool acui_runtime_any_behind(void);
/* Whether the submission was handed over, planned and entered (or refused). Never waits. */
bool acui_runtime_has_entered(acu_future *future);

/* Until all that was handed over so far has been planned and issued. Blocks. */
acu_status acui_runtime_settle(uint64_t timeout);
bool acui_runtime_busy(void); /* a thread runs, or has something to do */
void acui_runtime_stop(void); /* finishes what there is; blocks until the threads are gone */

#endif
