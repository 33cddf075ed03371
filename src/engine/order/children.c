/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a failure means for the children of a submission (op/child.h): for which of them it is a
 * failure too, and which tasks it keeps from starting. */
#include "engine/order/order.h"

void acui_children_note(acui_submission *s, acui_child *child, acui_fault *fault)
{
    if (!acui_child_fail(child, fault) || s->order.failed)
        return;
    s->order.failed = true;
    s->order.status = fault ? fault->error.status : ACU_ERR_NO_MEMORY;
    s->order.fault = acui_fault_retain(fault);
    acui_children_unwanted(&s->plan);
}

void acui_turn_comes(const acui_task *task)
{
    acui_order_lock(task->homes);
    atomic_store_explicit(&task->child->turn, ACUI_TURN_COME, memory_order_relaxed);
    acui_order_unlock(task->homes);
}

static bool is_stopped(const acui_task *task, acui_fault **why)
{
    const acui_submission *s = task->submission;
    bool wanted = acui_child_is_wanted(task->child);
    *why = NULL;
    for (const acui_child *child = task->child; child; child = child->outer) {
        if (child->failed && !(wanted && child->kind == ACUI_CHILD_SHARED)) {
            *why = child->fault;
            return true;
        }
        if (child->kind == ACUI_CHILD_FINALLY)
            return false;
    }
    bool gave_up = acui_gave_up(s);
    *why = s->order.failed ? s->order.fault : gave_up ? s->given_up_fault : NULL;
    return (s->order.failed || gave_up) && !wanted;
}

/* The innermost `try` around it was stopped, before anything in it failed. */
static void note_stopped(acui_child *child)
{
    while (child && !child->failed && child->kind != ACUI_CHILD_TRY)
        child = child->parent;
    if (child && !child->failed)
        child->stopped = true;
}

bool acui_task_is_stopped(acui_task *task, acui_fault **why)
{
    const acui_child *tried = task->first->kind == ACUI_NODE_DECIDE ? task->child->tried : NULL;
    bool stopped = is_stopped(task, why);
    if (!stopped && tried && tried->stopped) {
        stopped = true; /* others want what the alternative writes; it does not run: that stays */
        *why = tried->fault;
    }
    if (stopped)
        note_stopped(task->child);
    return stopped;
}
