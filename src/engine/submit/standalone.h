/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Planning an op that is not submitted: the plan of a submission that is never entered. */
#ifndef ACUI_ENGINE_STANDALONE_H
#define ACUI_ENGINE_STANDALONE_H

#include "engine/engine.h"

/* Plan a taken op. If *submission is set, on failure too, it is the caller's, to be ended by
 * acui_submission_close. A `then` that waits for what another thread plans is refused: nothing here
 * is ever entered. */
acu_status acui_standalone_plan(acu_device *device, acu_op *op, const acu_submit_options *options,
                                acui_submission **submission, acui_values *values);
/* Make its nodes one task, with edges and runs: all on one device, without host work. */
acu_status acui_standalone_lay_out(acui_submission *submission, acui_task **task);

#endif
