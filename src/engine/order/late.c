/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Failures of what the device has already: a library whose call was enqueued says later that it
 * came to nothing. Nothing behind it has begun on the device, but may have been issued; so whatever
 * reads the result fails then, and not only what is still to be issued.
 */
#include "base/error.h"
#include "engine/order/order.h"

/* Whether there ever was one: else nobody needs to look. Relaxed: changed and read under order
 * locks that both sides hold, where it matters. */
static _Atomic(bool) any;

void acui_fail_late(acui_task *task, acui_fault *fault)
{
    atomic_store_explicit(&any, true, memory_order_relaxed);
    acui_task_note(task, fault);
    if (!task->point->fault)
        task->point->fault = acui_fault_retain(fault);
}

static void fail_with(acui_task *task, const acui_dependency *bad)
{
    bool was = acui_error_aside();
    acui_fault *fault = acui_dependency_fault(task, bad->point->fault);
    acui_error_back(was);
    acui_fail_late(task, fault);
    acui_fault_release(fault);
}

bool acui_note_late(acui_task *task)
{
    if (task->order.fault || !atomic_load_explicit(&any, memory_order_relaxed))
        return false;
    const acui_dependency *bad = acui_behind_failure(task);
    if (bad)
        fail_with(task, bad);
    return bad;
}
