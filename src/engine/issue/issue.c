/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Issue: a task goes to its stream, behind the signals of its predecessors on other streams, and
 * ends in a signal of its own. Called when all predecessors are on the device, by ready.c
 * (acui_issue) and dispatch.c (acui_issue_all). The stream's issue lock is held from the first wait
 * to the signal, so that a signal covers whole tasks; no other lock is held so long.
 */
#include "engine/issue/issue.h"
#include "base/error.h"
#include "base/local.h"
#include "engine/flight/flight.h"
#include "engine/future.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/graphs.h"
#include "engine/issue/memory.h"
#include "engine/order/order.h"
#include "engine/report/record.h"
#include "engine/report/report.h"

static ACUI_LOCAL const acui_task *issued_now;

const acui_task *acui_task_issuing(void)
{
    return issued_now;
}

enum { AT_ONCE = 16 }; /* predecessors that are read under one holding of the order lock */

typedef struct predecessor {
    const acui_point *point;
    acu_stream *stream; /* retained */
    uint64_t number;
} predecessor;

/* Read where predecessors from `*from` on stand, if they are on other streams and not over. Returns
 * how many those are. */
static size_t read_predecessors(const acui_task *task, size_t *from, predecessor *list)
{
    size_t n = 0;
    acui_order_lock(task->homes);
    for (; *from < task->dependency_count && n < AT_ONCE; ++*from) {
        const acui_point *point = task->dependencies[*from].point;
        bool same = point->stream == task->stream;
        if (point->state != ACUI_POINT_ISSUED || same) {
            if (!point->load)
                acui_record_wait(task, point, 0, same ? ACUI_HOW_STREAM : ACUI_HOW_OVER);
            continue;
        }
        list[n++] = (predecessor){
            .point = point, .stream = acu_stream_retain(point->stream), .number = point->number};
    }
    acui_order_unlock(task->homes);
    return n;
}

static acu_status wait_for(const acui_task *task, const predecessor *p)
{
    acui_how how = ACUI_HOW_EVENT;
    if (task->record && acui_stream_passed(p->stream, p->number))
        how = ACUI_HOW_OVER;
    else if (task->record && acui_stream_implied(task->stream, p->stream, p->number))
        how = ACUI_HOW_IMPLIED;
    acui_record_wait(task, p->point, p->stream->id, how);
    return acui_stream_after(task->stream, p->stream, p->number);
}

static acu_status wait_before(acui_task *task)
{
    acu_status status = ACU_OK;
    for (size_t from = 0; from < task->dependency_count;) {
        predecessor list[AT_ONCE];
        size_t n = read_predecessors(task, &from, list);
        for (size_t i = 0; i < n; i++) {
            if (status == ACU_OK)
                status = wait_for(task, &list[i]);
            acu_stream_release(list[i].stream);
        }
    }
    return status;
}

/* ---- the ways to the device; each returns the node that failed, or NULL ---- */

static acu_status enqueue_node(acui_node *node, acu_stream *stream)
{
    return stream->device->one_by_one ? acui_enqueue_serially(node, stream)
                                      : acui_enqueue(node, stream);
}

static acui_node *enqueue_in_turn(acui_node *const *nodes, uint32_t count, acu_stream *stream)
{
    for (uint32_t i = 0; i < count; i++)
        if (enqueue_node(nodes[i], stream) != ACU_OK)
            return nodes[i];
    return NULL;
}

/* As an executable graph. False: there is none, or the driver refused it. */
static bool launch_graph(const acui_task *task, acui_run *run, acui_run_record *how)
{
    acu_stream *stream = task->stream;
    acui_exec *exec = run->graph ? acui_graphs_claim(run, stream, &how->why) : NULL;
    if (!exec && run->graph && task->submission->asked.warm)
        acui_graphs_make(run, task->device);
    if (!exec)
        return false;
    uint32_t set = 0;
    acu_status status = acui_exec_launch(exec, run, stream, &set);
    bool launched = status == ACU_OK;
    acui_graphs_unclaim(exec, launched, set);
    how->hit = launched;
    how->set = set;
    if (!launched)
        how->why = status == ACU_NOT_READY ? "a library's call takes less time than its graph"
                                           : "the driver refused the graph's launch";
    if (launched)
        run->exec = exec;
    return launched;
}

static acui_node *enqueue_by_way(const acui_task *task, acui_run *run, acui_run_record *how)
{
    acu_stream *stream = task->stream;
    acui_node *failed = NULL;
    for (uint32_t i = 0; i < run->count; i++)
        if (acui_resolve_addresses(run->nodes[i]) != ACU_OK)
            return run->nodes[i];
    if (stream->device->one_by_one)
        return enqueue_in_turn(run->nodes, run->count, stream);
    if (launch_graph(task, run, how) || acui_device_lost(stream->device))
        return NULL; /* a lost device fails everything that is on it */
    /* Streams for branches have no priority. */
    if (run->wide && stream->priority == 0 && acui_issue_lanes(run, stream, &how->streams, &failed))
        return failed;
    return enqueue_in_turn(run->nodes, run->count, stream);
}

static bool asks_library(const acui_run *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        if (run->nodes[i]->kind == ACUI_NODE_LAUNCH && acui_launch_instead(run->nodes[i]))
            return true;
    return false;
}

static acui_node *enqueue_run(const acui_task *task, acui_run *run)
{
    acui_run_record how = {.hit = false};
    if (!run->graph && asks_library(run))
        how.why = "a library is called in a way that cached graphs do not hold";
    if (task->device->one_by_one)
        how.why = "the device issues one by one";
    acui_node *failed = enqueue_by_way(task, run, &how);
    acui_record_run(task, run, &how);
    return failed;
}

/* Put the nodes on the stream. Returns the one that fails; those behind it stay off. */
static acui_node *enqueue_nodes(acui_task *task)
{
    acui_node *failed = NULL;
    for (size_t i = 0; i < task->count && task->body_count < task->count && !failed; i++)
        if (task->nodes[i]->kind == ACUI_NODE_UPLOAD)
            failed = enqueue_in_turn(&task->nodes[i], 1, task->stream);
    for (acui_run *run = task->runs; run && !failed; run = run->next)
        failed = enqueue_run(task, run);
    return failed;
}

/* The task's signal is on its stream: followers for devices may go. Order lock held. */
static acui_task *publish_one(acui_task *task, acui_use **returned)
{
    acui_point *point = task->point;
    acui_memory_going(task);
    acui_note_late(task);
    point->stream = task->stream; /* its submission holds that until the task is over */
    point->number = task->number;
    if (!point->fault)
        point->fault = acui_fault_retain(task->order.fault);
    point->state = ACUI_POINT_ISSUED;
    acui_backlog_drop(task);
    acui_task *freed = acui_free_followers(point, false);
    task->order.awaited = point->followers != NULL; /* these wait until it is over */
    *returned = acui_memory_issued(task);
    return freed;
}

static acui_task *publish(acui_task *const *tasks, size_t count)
{
    acui_use *returned[ACUI_BATCH_MOST];
    acui_task *freed = NULL;
    acui_homes homes = 0;
    for (size_t i = 0; i < count; i++)
        homes |= tasks[i]->homes;
    acui_order_lock(homes);
    for (size_t i = 0; i < count; i++)
        freed = acui_join_tasks(publish_one(tasks[i], &returned[i]), freed);
    acui_order_unlock(homes);
    for (size_t i = 0; i < count; i++)
        acui_memory_return(returned[i]);
    return freed;
}

/* Nothing of the task reached the device, because this node failed. */
static acui_task *give_up_at(acui_task *task, const acui_node *node)
{
    acui_task_fail(task, acui_fault_of_node(node));
    acui_task *next = acui_join_tasks(acui_memory_fail(task), acui_memory_next(task));
    return acui_join_tasks(acui_retire(task), next);
}

static acui_task *give_up(acui_task *task)
{
    return give_up_at(task, task->first);
}

/* The node got no memory: the task waits for some, or fails. */
static acui_task *lacks_memory(acui_task *task, const acui_node *node)
{
    if (!acui_memory_may_wait(task, node))
        return give_up_at(task, node);
    acui_task *others = acui_join_tasks(acui_step_out(task), acui_memory_quit(task));
    return acui_join_tasks(others, acui_memory_wait(task, node));
}

/* Whether the device is about to be reset: what it has is waited for, and nothing more gets
 * there. */
static bool refuses(acu_device *device)
{
    if (!atomic_load_explicit(&device->refusing, memory_order_relaxed))
        return false;
    if (acui_device_check(device) == ACU_OK)
        acui_fail_at(ACU_ERR_STALE, (acu_site){0}, "", device->info.ordinal,
                     "device %d was being reset before this could be issued", device->info.ordinal);
    return true;
}

static acui_report report_of(const acui_task *task)
{
    if (task->prompt)
        return ACUI_REPORT_ALWAYS;
    /* Questions to the driver disturb threads that submit; so the device tells the reactor. */
    return acui_flight_is_told(task) ? ACUI_REPORT_IF_FIRST : ACUI_REPORT_NEVER;
}

/* The signal of the tasks is on the stream. */
static acui_task *finish(acu_stream *stream, acui_task *const *tasks, size_t count, uint64_t armed)
{
    acui_task *next = NULL;
    for (size_t i = 0; i < count; i++) {
        acui_record_issued(tasks[i], count);
        next = acui_join_tasks(acui_memory_next(tasks[i]), next);
    }
    next = acui_join_tasks(next, publish(tasks, count));
    acui_flight_add(stream, tasks, count, armed);
    return next;
}

static acui_task *issue_on(acu_stream *stream, acui_task *task)
{
    acui_entered entered;
    if (refuses(task->device) || acui_enter(task->device, &entered) != ACU_OK)
        return give_up(task);
    acui_record_issue(task);
    acui_lock_take(&stream->issue);
    acui_task *freed = NULL;
    acui_node *lacking = NULL;
    uint64_t armed = 0;
    bool begun = acui_stream_not_capturing(stream) == ACU_OK &&
                 !(lacking = acui_memory_get(task, entered.holder)) &&
                 wait_before(task) == ACU_OK;
    if (begun) {
        issued_now = task;
        acui_timing_begin(task);
        acui_node *failed = enqueue_nodes(task);
        if (failed)
            acui_task_fail(task, acui_fault_of_node(failed));
        acui_timing_end(task);
        acui_charge(task);
        /* Fails only if the device is lost: then nothing of the task runs any more. */
        begun = acui_stream_signal(stream, report_of(task), &task->number, &armed) == ACU_OK;
        issued_now = NULL;
    }
    if (begun) {
        acui_count_operations(task, false);
        freed = finish(stream, &task, 1, armed);
        if (stream->device->one_by_one)
            acui_finish_serially(stream);
    } else {
        acui_stream_make_owed(stream); /* what the task had allocated comes free behind it, too */
    }
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    if (lacking)
        return lacks_memory(task, lacking);
    return begun ? freed : give_up(task);
}

static ACUI_LOCAL acui_task *later; /* what became ready while this thread was in a foreign call */

void acui_issue_later(acui_task *ready)
{
    later = acui_join_tasks(later, ready);
}

static acui_task *issue_one(acui_task *task)
{
    /* Once the task is on its stream, other threads may see its end, and release everything that it
     * held, the stream and the device included; but a submission that this thread is planning stays
     * open. */
    acu_stream *stream = task->stream;
    bool kept = acui_is_planning(task->submission);
    if (!kept)
        acu_stream_retain(stream);
    acui_task *freed = issue_on(stream, task);
    if (!kept)
        acu_stream_release(stream);
    if (later) {
        freed = acui_join_tasks(freed, later);
        later = NULL;
    }
    return freed;
}

/* ---- several at once ---- */

/* The nodes of all tasks as one run, in `nodes`. Each task has one run; its nodes stay in order. */
static acui_run join_runs(acui_task *const *tasks, size_t count, acui_node **nodes)
{
    acui_run all = {.nodes = nodes, .graph = true, .wide = true};
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < tasks[i]->runs->count; k++) {
            nodes[all.count] = tasks[i]->runs->nodes[k];
            nodes[all.count]->position = all.count;
            all.count++;
        }
    return all;
}

/* As one executable graph. False: there is none, and nothing was done. */
static bool launch_all(acu_stream *stream, acui_task *const *tasks, size_t count)
{
    acui_node *nodes[ACUI_BATCH_MOST * ACUI_BATCH_NODES];
    acui_run all = join_runs(tasks, count, nodes);
    for (uint32_t i = 0; i < all.count; i++)
        if (acui_resolve_addresses(nodes[i]) != ACU_OK)
            return false;
    const char *why;
    acui_exec *exec = acui_graphs_claim(&all, stream, &why);
    if (!exec)
        return false;
    uint32_t set = 0;
    bool launched = acui_exec_launch(exec, &all, stream, &set) == ACU_OK;
    acui_graphs_unclaim(exec, launched ? (uint32_t)count : 0, set);
    for (size_t i = 0; i < count && launched; i++)
        tasks[i]->runs->exec = exec;
    return launched;
}

/* False: each of them is to be issued alone, which also finds out why. */
static bool issue_as_one(acu_stream *stream, acui_task *const *tasks, size_t count,
                         acui_task **freed)
{
    acui_entered entered;
    if (refuses(stream->device) || acui_enter(stream->device, &entered) != ACU_OK)
        return false;
    acui_lock_take(&stream->issue);
    bool begun = acui_stream_not_capturing(stream) == ACU_OK;
    for (size_t i = 0; i < count && begun; i++)
        begun = !acui_memory_get(tasks[i], entered.holder);
    issued_now = tasks[0];
    for (size_t i = 0; i < count; i++)
        acui_record_issue(tasks[i]);
    for (size_t i = 0; i < count && begun; i++)
        begun = wait_before(tasks[i]) == ACU_OK;
    if (begun)
        acui_timing_begin(tasks[0]); /* it stands for all of them */
    begun = begun && launch_all(stream, tasks, count);
    acui_timing_end(tasks[0]);
    bool signaled = false;
    uint64_t number = 0, armed = 0;
    if (begun) {
        for (size_t i = 0; i < count; i++)
            acui_charge(tasks[i]);
        signaled = acui_stream_signal(stream, ACUI_REPORT_ALWAYS, &number, &armed) == ACU_OK;
    }
    issued_now = NULL;
    for (size_t i = 0; i < count; i++) {
        tasks[i]->number = number;
        if (signaled)
            acui_count_operations(tasks[i], false);
    }
    if (signaled)
        *freed = finish(stream, tasks, count, armed);
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    for (size_t i = 0; i < count && begun && !signaled; i++)
        *freed = acui_join_tasks(*freed, give_up(tasks[i]));
    return begun;
}

acui_task *acui_issue_all(acui_task *const *tasks, size_t count)
{
    acui_task *freed = NULL;
    /* As in issue_one: their end may release the stream. */
    acu_stream *stream = count > 1 ? acu_stream_retain(tasks[0]->stream) : NULL;
    if (count == 1 || !issue_as_one(stream, tasks, count, &freed))
        for (size_t i = 0; i < count; i++)
            freed = acui_join_tasks(freed, issue_one(tasks[i]));
    acu_stream_release(stream);
    return freed;
}

acui_task *acui_issue(acui_task *task)
{
    return acui_dispatch_add(task) ? NULL : issue_one(task);
}

/* ---- work that the program puts on the stream itself ---- */

acu_status acui_issue_waits(acui_task *task)
{
    acui_entered entered;
    if (refuses(task->device))
        return acui_error()->status;
    ACUI_TRY(acui_enter(task->device, &entered));
    acui_lock_take(&task->stream->issue);
    acu_status status = acui_stream_not_capturing(task->stream);
    if (status == ACU_OK)
        status = wait_before(task);
    acui_lock_give(&task->stream->issue);
    acui_leave(&entered);
    return status;
}

acui_task *acui_issue_end(acui_task *task)
{
    acu_stream *stream = task->stream;
    acui_entered entered;
    /* Its work is on the stream: whatever fails, it is to have a signal, unless the device is
     * lost. */
    if (!acui_enter_to_free(task->device, &entered)) {
        acui_device_check(task->device); /* into the thread's record */
        return give_up(task);
    }
    acui_task *freed = NULL;
    acui_lock_take(&stream->issue);
    uint64_t armed;
    bool signaled = acui_stream_signal(stream, report_of(task), &task->number, &armed) == ACU_OK;
    if (signaled && stream->of_thread)
        acui_stream_own_end(stream, task->number);
    if (signaled)
        freed = finish(stream, &task, 1, armed);
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    return signaled ? freed : give_up(task);
}
