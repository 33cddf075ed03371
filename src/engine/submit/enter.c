/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entering: what is planned of a submission becomes tasks, which are entered in the order of
 * everything (order/order.c) in one step; those that are ready run. */
#include "base/error.h"
#include "engine/flight/flight.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/submit/runtime.h"
#include "engine/submit/submit.h"

static acui_submission *submission_of(acui_plan *plan)
{
    return (acui_submission *)plan; /* its first member */
}

/* Whether some host task has to wait until something is over. */
static bool waits_on_host(const acui_task *tasks)
{
    for (; tasks; tasks = tasks->next)
        if (!tasks->stream && acui_task_pending(tasks) > 0)
            return true;
    return false;
}

acu_status acui_enter_nodes(acui_plan *plan)
{
    acui_submission *s = submission_of(plan);
    acui_task *tasks = NULL;
    bool last = s->planning.stage == ACUI_PLANNED;
    acui_children_look(plan, s->planning.entered ? s->planning.entered->index + 1 : 0);
    ACUI_TRY(acui_make_tasks(s, &tasks));
    if (s->planning.shares && !acui_prepare_shared(tasks)) {
        acui_drop_shared(tasks);
        acui_drop_tasks(tasks);
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to order the work of a submission");
    }
    acui_task *ready = NULL;
    if (tasks) {
        acui_homes homes = acui_lock_to_enter(s, tasks);
        s->order.sealed = last;
        ready = acui_enter_tasks(s, tasks);
        acui_record_waits(tasks);
        bool waits = waits_on_host(tasks);
        acui_order_unlock(homes);
        if (waits)
            acui_flight_want_all();
        s->planning.entered = plan->last;
    }
    acui_plan_publish(plan, NULL);
    if (last)
        acui_import_entered(plan);
    if (last && !s->planning.outer)
        acui_runtime_entered();
    acui_run_tasks(ready);
    return ACU_OK;
}

/* ---- a task that is entered only if it is ready, or whose work is on its stream ---- */

typedef struct looking {
    const acui_node_access *access;
    bool waits;
    acui_fault *cause; /* retained: why something that it reads was not computed */
    bool bad;
} looking;

static void look_at(void *context, acui_point *point, const acui_extent *extent, bool data)
{
    looking *l = context;
    l->waits |= point->state == ACUI_POINT_PENDING;
    (void)extent;
    if (!data || l->bad || !acui_point_spoils(point, l->access->use->buffer, &l->access->extent))
        return;
    l->bad = true;
    l->cause = acui_fault_retain(point->fault);
}

static looking look_before(const acui_node *node)
{
    looking found = {.waits = false};
    for (uint32_t i = 0; i < node->access_count; i++) {
        const acui_node_access *access = found.access = &node->accesses[i];
        acui_accesses_look(&access->use->buffer->accesses, access->extent, access->mode, look_at,
                           &found);
    }
    return found;
}

/* Order locks held. */
static void enter_whole(acui_submission *s, acui_task *task)
{
    s->order.sealed = true;
    acui_enter_tasks(s, task);
    s->planning.entered = s->plan.last;
}

static acu_status check_entered(acui_task *task, bool memory)
{
    if (memory)
        return ACU_OK;
    acui_fail(ACU_ERR_NO_MEMORY, "no memory to order the work of a submission");
    acui_task_fail(task, NULL);
    acui_run_tasks(acui_retire(task));
    return acui_fail(ACU_ERR_NO_MEMORY, "no memory to order the work of a submission");
}

acu_status acui_enter_on_stream(acui_submission *s, acui_task **out)
{
    acui_task *task = NULL;
    ACUI_TRY(acui_make_tasks(s, &task));
    s->planning.stage = ACUI_PLANNED;
    task->on_stream = true;
    acui_homes homes = acui_lock_to_enter(s, task);
    enter_whole(s, task);
    bool memory = !task->order.fault;
    acui_order_unlock(homes);
    *out = task;
    return check_entered(task, memory);
}

acu_status acui_enter_ready(acui_submission *s, acui_task **out)
{
    acui_task *task = NULL;
    ACUI_TRY(acui_make_tasks(s, &task));
    s->planning.stage = ACUI_PLANNED;
    acui_homes homes = acui_lock_to_enter(s, task);
    looking found = look_before(task->first);
    if (!found.waits && !found.bad)
        enter_whole(s, task);
    bool memory = !task->order.fault;
    acui_order_unlock(homes);
    acui_fault *fault = found.bad && !found.waits ? acui_dependency_fault(task, found.cause) : NULL;
    acui_fault_release(fault); /* its record is the thread's */
    acui_fault_release(found.cause);
    if (found.waits || found.bad) {
        acui_drop_tasks(task);
        return found.waits ? ACU_NOT_READY : ACU_ERR_DEPENDENCY;
    }
    *out = task;
    return check_entered(task, memory);
}
