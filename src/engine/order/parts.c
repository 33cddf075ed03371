/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a failure means for the parts of a submission (op/part.h): for which of them it is a failure
 * too, and which tasks it keeps from starting. */
#include "engine/order/order.h"

static void note(bool *failed, acui_fault **kept, acui_fault *fault)
{
    if (*failed)
        return;
    *failed = true;
    *kept = acui_fault_retain(fault);
}

void acui_parts_note(acui_submission *s, acui_part *part, acui_fault *fault)
{
    acui_part_walk walk = {.shared = false};
    for (; part; part = part->parent) {
        bool shared = acui_part_walk_to(&walk, part);
        note(&part->failed, &part->fault, fault);
        if (part->kind == ACUI_PART_TRY)
            return; /* the failure ends here: it is the alternative's turn */
        /* What others use runs even if the alternative does not: so its failure is not the
         * alternative's. */
        if (part->kind == ACUI_PART_ELSE && shared)
            return;
    }
    if (s->order.failed)
        return;
    s->order.status = fault ? fault->error.status : ACU_ERR_NO_MEMORY;
    note(&s->order.failed, &s->order.fault, fault);
}

void acui_parts_begin(const acui_task *task)
{
    acui_order_lock(task->homes);
    task->part->begun = true;
    acui_order_unlock(task->homes);
}

static bool is_stopped(const acui_task *task, acui_fault **why)
{
    const acui_submission *s = task->submission;
    acui_part_walk walk = {.shared = false};
    bool gave_up;
    *why = NULL;
    for (const acui_part *part = task->part; part; part = part->parent) {
        if (!acui_part_walk_to(&walk, part) && part->failed) {
            *why = part->fault;
            return true;
        }
        if (part->kind == ACUI_PART_FINALLY)
            return false;
    }
    gave_up = acui_gave_up(s);
    *why = s->order.failed ? s->order.fault : gave_up ? s->given_up_fault : NULL;
    return s->order.failed || gave_up;
}

/* The innermost `try` around it was stopped, before anything in it failed. */
static void note_stopped(acui_part *part)
{
    while (part && !part->failed && part->kind != ACUI_PART_TRY)
        part = part->parent;
    if (part && !part->failed)
        part->stopped = true;
}

bool acui_parts_stop(acui_task *task, acui_fault **why)
{
    const acui_part *tried = task->first->kind == ACUI_NODE_DECIDE ? task->part->tried : NULL;
    bool stopped = is_stopped(task, why) && !acui_task_wanted(task);
    if (!stopped && tried && tried->stopped) {
        stopped = true; /* others want what the alternative writes; it does not run: that stays */
        *why = tried->fault;
    }
    if (stopped)
        note_stopped(task->part);
    return stopped;
}
