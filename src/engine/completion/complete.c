/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Completion: tasks that the device, or a thread of the host, is done with, or that never run.
 * Followers start; when all tasks of a submission are over, what it held is released, and then its
 * future resolves. Called by whoever looks (acui_harvest), and by whoever ends a task of the host
 * (acui_task_over).
 */
#include "engine/completion/complete.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/flight/flight.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/graphs.h"
#include "engine/issue/issue.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/report/report.h"

#include <stdio.h>

/* The task ran: so the memory that it came behind is made. Nobody else looks at the stream where
 * that happened, and whatever uses the memory would come behind it for good. */
static void note_memory(const acui_task *task)
{
    for (size_t i = 0; i < task->dependency_count; i++) {
        const acui_point *point = task->dependencies[i].point;
        if (point->allocation)
            acui_stream_passes(point->stream, point->number);
    }
}

/* The task is over. The caller holds the device. */
static acui_task *over(acui_task *task)
{
    const acui_homes homes = task->homes;
    acui_order_lock(homes);
    acui_point *point = task->point;
    acui_note_late(task);
    if (task->stream && point->state == ACUI_POINT_PENDING)
        task->submission->order.to_issue--;
    acui_backlog_drop(task);
    point->stream = NULL;
    if (!point->fault)
        point->fault = acui_fault_retain(task->order.fault);
    point->state = ACUI_POINT_OVER;
    acui_task *freed = acui_free_followers(point, true);
    bool ran = task->number && !task->order.fault;
    acui_order_unlock(homes);

    freed = acui_join_tasks(acui_leave_gates(task), freed);
    acui_submission *s = task->submission;
    acu_device *device = task->device;
    bool going = task->memory.state == ACUI_MEMORY_GOING;
    unsigned epoch = task->gates.epoch;
    struct acui_holder *getting = task->memory.holder;
    if (ran)
        note_memory(task);
    acui_record_task_over(task);
    if (task->memory.short_of) /* it may have failed before it was tried again */
        freed = acui_join_tasks(freed, acui_memory_next(task));
    for (size_t i = 0; i < task->dependency_count; i++)
        acui_point_release(task->dependencies[i].point);
    for (acui_run *run = task->runs; run; run = run->next)
        if (run->exec)
            acui_graphs_over(run->exec);
    acui_fault_release(task->order.fault);
    acui_submission_close(s);
    /* Once everything is released: whoever sees the count sees that too. */
    atomic_fetch_add_explicit(&device->work.ended[epoch],
                              going ? ACUI_ENTERED + ACUI_GOING : ACUI_ENTERED,
                              memory_order_seq_cst);
    /* Acquire: for `idle`, which was set before. A pool that is told to keep less just now may be
     * missed: being told gives nothing back by itself (acu_pool_set_limits), and the next task to
     * be over does. */
    if (atomic_load_explicit(&device->memory.trims, memory_order_acquire) &&
        acui_in_flight(device) == 0)
        device->memory.idle(device);
    if (getting)
        return acui_join_tasks(freed, acui_memory_over(getting));
    return going ? acui_join_tasks(freed, acui_memory_freed()) : freed;
}

acui_task *acui_task_over(acui_task *task)
{
    acu_device *device = acu_device_retain(task->device);
    acui_task *freed = over(task);
    acu_device_release(device);
    return freed;
}

void acui_submission_close(acui_submission *s)
{
    if (!acui_refs_drop(&s->open))
        return;
    /* Until now, later tasks of the submission could be put behind these points. */
    for (acui_task *task = s->first_task; task; task = task->next)
        acui_point_release(task->point);
    acui_record_children(s);
    acui_user_code_begin(); /* user data is released */
    acui_plan_clear(&s->plan);
    acui_user_code_end();
    acu_future *future = s->future;
    bool submitted = s->planning.stage == ACUI_SUBMITTED; /* else that failed */
    bool waited = future && future->how.waited && submitted;
    s->future = NULL;
    if (submitted)
        acui_count_done(s->order.fault || acui_gave_up(s));
    if (submitted)
        acui_record_over(s);
    if (future && submitted)
        acui_resolve(future, acui_fault_status(s->order.fault), s->order.fault);
    if (waited)
        return; /* the waiting thread frees both, and may have done so already */
    acui_future_put(future);
    acui_submission_put(s);
}

/* ---- what streams have finished ---- */

/* The device is lost, and every task on the stream with it. The device's record names what is to
 * blame; if there is none, this task is named. */
static void fail_lost(acui_task *task)
{
    acui_device_check(task->device); /* into the thread's record */
    acui_task_fail(task, acui_fault_of_node(acui_blamed_node(task)));
}

void acui_harvest(acu_stream *stream, uint64_t now)
{
    uint64_t first = acui_flight_news(stream, now);
    if (!first)
        return; /* most looks end here, without a lock */
    bool was = acui_error_aside();
    bool lost = !acui_stream_catch_up(stream, first) &&
                acui_stream_harvest(stream, NULL) != ACU_OK;
    if (lost)
        acui_device_blame(stream->device); /* now that these tasks are listed */
    acui_task *task = acui_flight_passed(stream, lost, now ? now : acui_now());
    while (task) {
        acui_task *next = task->next_listed;
        if (lost && !acui_stream_passed(stream, task->number))
            fail_lost(task);
        acui_count_operations(task, true);
        acui_run_tasks(over(task)); /* the stream holds the device, and the caller the stream */
        task = next;
    }
    acui_error_back(was);
}
