/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Plans that are kept instead of run, for acu_graph_load (graph/graph.c). Nothing of such a plan is
 * ever entered, so nobody else may wait for any of it. */
#include "engine/submit/submit.h"

#include "base/error.h"
#include "op/child.h"

#include <stdio.h>

static acu_status refuse_flush(acui_plan *plan)
{
    (void)plan;
    return acui_fail(ACU_ERR_NOT_SUPPORTED,
                     "an op that another thread is submitting is part of what "
                     "is only planned; wait until it is submitted");
}

/* What other users get of an op that is planned here: nobody runs it for them. */
static acui_fault *refuse_others(void)
{
    acu_error error = {.status = ACU_ERR_INVALID, .device = -1};
    snprintf(error.message, sizeof error.message,
             "the op is a part of a graph (acu_graph_load), which only its replays run; make "
             "another one for other uses");
    return acui_fault_new(&error);
}

/* From here on, ops with several users belong to this plan alone. */
static void close_shared(acui_plan *plan, acu_status status)
{
    acui_fault *fault = NULL;
    acui_children_close(plan);
    if (status != ACU_OK)
        fault = acui_fault_new(acui_error());
    else if (plan->unpublished)
        fault = refuse_others();
    acui_plan_publish(plan, fault);
    acui_fault_release(fault);
}

acu_status acui_standalone_plan(acu_device *device, acu_op *op, const acu_submit_options *options,
                                acui_submission **submission, acui_values *values)
{
    acui_submission *s = acui_submission_new(options, NULL, NULL);
    if (!s) {
        acui_op_put(op);
        return ACU_ERR_NO_MEMORY;
    }
    s->plan.flush = refuse_flush;
    s->plan.for_replay = true;
    acu_device *fallback = acui_submit_device(device, options, NULL);
    acu_status status = acui_plan_op(&s->plan, op, fallback, values);
    *submission = s;
    close_shared(&s->plan, status);
    return status;
}

acu_status acui_standalone_lay_out(acui_submission *submission, acui_task **task)
{
    acui_task *tasks = NULL;
    ACUI_TRY(acui_make_tasks(submission, &tasks));
    submission->first_task = submission->last_task = tasks; /* frees them with itself */
    *task = tasks;
    return ACU_OK;
}
