/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ready: a task whose turn has come runs, fails because of what it reads or because its submission
 * failed, or is passed over. Whatever becomes ready by this runs too, one task after the other, on
 * the thread that made it so (acui_run_tasks). No lock is held.
 */
#include "base/error.h"
#include "engine/host/host.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

/* The task's kernels are loaded, or never will be: check what could not be checked before. */
static bool bind(acui_task *task)
{
    for (size_t i = 0; i < task->count; i++) {
        if (!acui_launch_is_late(task->nodes[i]) || acui_launch_bind(task->nodes[i]) == ACU_OK)
            continue;
        acui_task_fail(task, acui_fault_of_node(task->nodes[i]));
        return false;
    }
    task->binds = false;
    return true;
}

static acui_task *run_task(acui_task *task)
{
    if (task->order.course == ACUI_COURSE_RETIRED || acui_task_is_spared(task))
        return acui_task_over(task);
    if (acui_task_fails_already(task))
        return acui_retire(task);
    if (task->first->kind == ACUI_NODE_DECIDE && !task->first->u.call.op->u.rescue.fn) {
        acui_turn_comes(task);
        return acui_task_over(task);
    }
    if (task->first->kind == ACUI_NODE_AWAIT)
        return acui_task_over(task);
    if (task->first->kind == ACUI_NODE_STAGE)
        return acui_stage_run(task);
    if (!task->stream)
        return acui_host_run(task);
    if (task->binds && !bind(task))
        return acui_retire(task);
    acui_task *others;
    return acui_admit(task, &others) ? acui_issue(task) : others;
}

/* Whether running the task calls no function of the program's: it goes to the device, as far as is
 * known. Says so in `sound`. */
static bool find_sound(acui_task *task)
{
    if (task->way == ACUI_WAY_DIRECT)
        return false;
    acui_order_lock(task->homes);
    task->sound = task->order.course == ACUI_COURSE_OPEN && !task->order.fault &&
                  !acui_gave_up(task->submission) && !acui_behind_failure(task);
    acui_order_unlock(task->homes);
    return task->sound;
}

acui_task *acui_run_plain(acui_task **ready, uint32_t most)
{
    acui_task *rest = NULL, **end = &rest;
    for (; *ready && most > 0; most--) {
        acui_task *task = *ready, *others;
        *ready = task->next_listed;
        task->next_listed = NULL;
        if (find_sound(task)) {
            if (acui_admit(task, &others))
                others = acui_dispatch_follow(task) ? NULL : acui_issue_all(&task, 1);
            *ready = acui_join_tasks(*ready, others);
        } else {
            *end = task;
            end = &task->next_listed;
        }
    }
    return rest;
}

void acui_run_tasks(acui_task *ready)
{
    if (acui_issuing()) { /* a foreign call looked at something: its stream is taken until it
                           * returns */
        acui_issue_later(ready);
        return;
    }
    bool was = acui_error_aside();
    while (ready) {
        acui_task *task = ready;
        ready = task->next_listed;
        task->next_listed = NULL;
        acui_task *freed = run_task(task);
        if (!freed)
            continue;
        acui_task *last = freed;
        while (last->next_listed)
            last = last->next_listed;
        last->next_listed = ready;
        ready = freed;
    }
    acui_error_back(was);
}
