/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Plans that are kept instead of run. */
#include "engine/submit/alone.h"

#include "base/error.h"

static acu_status refuse_flush(acui_plan *plan)
{
    (void)plan;
    return acui_fail(ACU_ERR_NOT_SUPPORTED,
                     "an op that another thread is submitting is part of what "
                     "is only planned; wait until it is submitted");
}

acu_status acui_alone_plan(acu_device *device, acu_op *op, const acu_submit_options *options,
                           acui_submission **submission, acui_values *values)
{
    acui_submission *s = acui_submission_new(options, NULL, NULL);
    if (!s) {
        acui_op_put(op);
        return ACU_ERR_NO_MEMORY;
    }
    s->plan.flush = refuse_flush;
    s->plan.kept = true;
    acu_device *place = acui_submit_place(device, options, NULL);
    acu_status status = acui_plan_op(&s->plan, op, place, values);
    acui_fault *fault = status == ACU_OK ? NULL : acui_fault_new(acui_error());
    acui_plan_settle(&s->plan, fault);
    acui_fault_release(fault);
    *submission = s;
    return status;
}

acu_status acui_alone_lay_out(acui_submission *submission, acui_task **task)
{
    acui_task *tasks = NULL;
    ACUI_TRY(acui_make_tasks(submission, &tasks));
    submission->first_task = submission->last_task = tasks; /* which is freed with it */
    *task = tasks;
    return ACU_OK;
}
