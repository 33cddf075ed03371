/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a failure means for the children of a submission (op/child.h): for which of them it is a
 * failure too, and which tasks it keeps from starting. */
#include "engine/order/order.h"

void acui_children_note(acui_submission *s, acui_child *child, acui_fault *fault)
{
    s->plan.fails |= child != NULL;
    if (!acui_child_fail(child, fault) || s->order.fault)
        return;
    s->order.fault = acui_fault_retain(fault);
    acui_children_unwanted(&s->plan);
}

void acui_turn_comes(const acui_task *task)
{
    acui_order_lock(task->homes);
    atomic_store_explicit(&task->child->turn, ACUI_TURN_COME, memory_order_relaxed);
    acui_order_unlock(task->homes);
}

/* Whether a finally runs it whatever fails outside. What is in an op with other users, inside of
 * that finally, runs as it is wanted. */
static bool is_for_last(const acui_child *child)
{
    const acui_child *last = child ? child->last : NULL;
    return last && (!child->shared || child->shared->depth < last->depth);
}

/* Why nothing more of it is to start; NULL: nothing has failed outside of children, and nobody gave
 * it up. */
static acui_fault *end_of(const acui_submission *s)
{
    return s->order.fault ? s->order.fault : acui_gave_up(s);
}

static bool is_stopped(const acui_task *task, acui_fault **why)
{
    const acui_submission *s = task->submission;
    bool wanted = acui_child_is_wanted(task->child);
    *why = NULL;
    const acui_child *child = s->plan.fails ? task->child : NULL; /* they may nest deeply */
    for (; child; child = child->kind == ACUI_CHILD_FINALLY ? NULL : child->outer)
        if (child->fault && !(wanted && child->kind == ACUI_CHILD_SHARED)) {
            *why = child->fault;
            return true;
        }
    if (!end_of(s) || wanted || is_for_last(task->child))
        return false;
    *why = end_of(s);
    return true;
}

/* The innermost `try` around it was stopped, before anything in it failed. */
static void note_stopped(acui_child *child)
{
    while (child && !child->fault && child->kind != ACUI_CHILD_TRY)
        child = child->parent;
    if (child && !child->fault)
        child->stopped = true;
}

bool acui_task_is_stopped(acui_task *task, acui_fault **why)
{
    const acui_child *tried = task->first->kind == ACUI_NODE_DECIDE ? task->child->tried : NULL;
    bool stopped = is_stopped(task, why);
    if (!stopped && tried && tried->stopped) {
        stopped = true; /* others want what the alternative writes; it does not run: that stays */
        while (tried && !tried->fault)
            tried = tried->parent;
        *why = tried ? tried->fault : end_of(task->submission);
    }
    if (stopped)
        note_stopped(task->child);
    return stopped;
}
