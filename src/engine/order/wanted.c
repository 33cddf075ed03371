/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether others want what a task of a submission that failed, or was given up, computes. */
#include "engine/order/order.h"
#include "memory/order.h"

static bool is_inside(const acui_part *part, const acui_part *outer)
{
    return outer && acui_part_around(part, outer) == outer;
}

bool acui_task_decides(const acui_task *reader, const acui_task *task)
{
    if (reader->first->kind == ACUI_NODE_DECIDE && is_inside(task->part, reader->part->tried))
        return true;
    return task->first->kind == ACUI_NODE_DECIDE && is_inside(reader->part, task->part);
}

/* Whether the follower needs what this task does, or needs to know whether it failed. */
static bool depends(const acui_before *before, const acui_task *task)
{
    bool own = before->task->submission == task->submission;
    return before->data || before->of_op ||
           (own && before->wished && acui_task_decides(before->task, task));
}

/* Whether the reader is in what a `finally` runs whatever becomes of the rest, and the task is
 * not. */
static bool is_in_last(const acui_task *reader, const acui_task *task)
{
    const acui_part *part = reader->order.failed ? NULL : acui_part_finally(reader->part);
    while (part && (is_inside(task->part, part) || acui_part_is_undecided(part)))
        part = acui_part_finally(part->parent);
    return part;
}

acui_homes acui_task_lock_to_stop(const acui_task *task)
{
    const _Atomic(bool) *shared = &task->submission->order.shared;
    acui_homes homes = task->homes;
    acui_order_lock(homes);
    if (!atomic_load_explicit(shared, memory_order_relaxed))
        return homes;
    acui_order_unlock(homes);
    acui_order_lock(ACUI_ALL_HOMES);
    return ACUI_ALL_HOMES;
}

/*
 * Search from the task along followers that read its results or stand in for it, as far as these
 * are part of ops with several users: for an op that somebody holds, for a submission that was not
 * given up, or for the last op of a `finally`. No reader is missed: a reader is linked to every
 * predecessor that is not on the device yet, and the tasks met here are not.
 */
bool acui_task_wanted(acui_task *task)
{
    if (!atomic_load_explicit(&task->submission->order.shared, memory_order_relaxed))
        return false;
    uint64_t turn = acui_order_turn(ACUI_ALL_HOMES);
    acui_task *list = task;
    task->order.next_look = NULL;
    task->order.looked = turn;
    while (list) {
        acui_task *at = list;
        list = at->order.next_look;
        if (acui_sharing_held(at->sharing))
            return true;
        for (const acui_before *f = at->point->followers; f; f = f->next) {
            acui_task *reader = f->task;
            bool own = reader->submission == at->submission;
            if (!depends(f, at) || (!own && !at->sharing) || reader->order.looked == turn)
                continue;
            if ((!own && !acui_gave_up(reader->submission)) || is_in_last(reader, at))
                return true;
            reader->order.looked = turn;
            reader->order.next_look = list;
            list = reader;
        }
    }
    return false;
}
