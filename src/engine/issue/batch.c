/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which tasks may be queued and batched. */
#include "engine/issue/batch.h"
#include "engine/issue/issue.h"

#include "engine/report/record.h"

/* Whether the submission asked for nothing that could not be kept this way. */
static bool is_plain(const acui_submission *s)
{
    return !s->asked.stream && !s->asked.policy && !s->asked.priority && !s->asked.warm &&
           !acui_record_asked(s) && !s->planning.serial && !s->planning.outer &&
           !s->planning.shares && s->planning.stage == ACUI_PLANNED && !s->planning.entered;
}

static bool allocates_only(const acui_task *task)
{
    for (size_t i = 0; i < task->count; i++)
        if (task->nodes[i]->kind == ACUI_NODE_UPLOAD)
            return false;
    return true;
}

/* Whether it calls neither the program nor a library, which might depend on the thread. */
static bool is_of_graphs(const acui_task *task)
{
    const acui_run *run = task->runs;
    while (run && run->graph && !run->calls)
        run = run->next;
    return !run && task->runs;
}

bool acui_batch_may_be_queued(const acui_task *task)
{
    const acu_device *device = task->device;
    return !task->next && is_of_graphs(task) && acui_child_is_plain(task->child) && !task->binds &&
           device->policy->count > 1 && !device->one_by_one && is_plain(task->submission) &&
           (task->body_count == task->count || allocates_only(task));
}

bool acui_batch_may_be_batched(acui_task *task)
{
    if (task->runs->next || task->runs->count > ACUI_BATCH_NODES)
        return false;
    if (!task->signature) /* from now on its length is learned */
        task->signature = acui_task_signature(task);
    return acui_batch_most(task->device, task->signature) > 1;
}
