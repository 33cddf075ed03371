/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Submission without the driver: a device opened with `runtime_thread` has a thread that plans and
 * issues what is handed over to it.
 *
 * Order. A submission's place is its place in a ring. Where several rings are in use, it also notes
 * how far the others were when it was handed over, and its thread plans it only once they have come
 * that far. So what was submitted earlier, by whichever thread to whichever device, is entered
 * earlier. All such waits are for places that were claimed earlier, so they end. While a ring holds
 * something that is not entered yet, submissions that would go the direct way are handed over too.
 * What a `then` submits is part of the submission that is being planned, and always goes the same
 * way.
 */
#ifndef ACUI_ENGINE_RUNTIME_H
#define ACUI_ENGINE_RUNTIME_H

#include "engine/engine.h"
#include "base/handover.h"

typedef struct acui_runtime acui_runtime;

/* Hand the submission over, if it is one to be handed over: then true, with the outcome in *status,
 * and the op is consumed. Never enters the driver. */
bool acui_runtime_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                         acu_stream *stream, acu_future *future, acu_status *status);
/* Everything that this thread's submission touches has been entered: others may enter what comes
 * behind. Does nothing on other threads. */
void acui_runtime_entered(void);

/* Whether something that was handed over has not been entered yet; this thread's own ring does not
 * count. Never waits. */
bool acui_runtime_any_behind(void);
/* Whether the submission was handed over, and was planned and entered (or refused). Never waits. */
bool acui_runtime_has_entered(acu_future *future);


#endif
