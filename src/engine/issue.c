/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Issue: a task goes to its stream, behind the marks of its predecessors on other streams, and
 * ends in a mark of its own. The stream's issue lock is held from first to last, so that a mark
 * covers whole tasks; no other lock is.
 */
#include "base/error.h"
#include "engine/engine.h"

/* Where a predecessor stands, read at once: points change under the order lock. */
static bool issued_at(const acui_point *point, acu_stream **stream, uint64_t *number)
{
    acui_order_lock();
    bool issued = point->state == ACUI_POINT_ISSUED;
    if (issued) {
        *stream = acu_stream_retain(point->stream);
        *number = point->number;
    }
    acui_order_unlock();
    return issued;
}

static acu_status wait_before(acui_task *task)
{
    for (size_t i = 0; i < task->before_count; i++) {
        acu_stream *other;
        uint64_t number;
        if (!issued_at(task->before[i].point, &other, &number))
            continue; /* over: nothing to wait for */
        acu_status status = ACU_OK;
        if (other != task->stream)
            status = acui_stream_after(task->stream, other, number);
        acu_stream_release(other);
        ACUI_TRY(status);
    }
    return ACU_OK;
}

/* Put the nodes on the stream; the fault of the first that fails, where the rest stays off. */
static bool enqueue_nodes(acui_task *task, acui_fault **fault)
{
    acui_node *node = task->first;
    for (size_t i = 0; i < task->count; node = acui_task_next(task, i++, node))
        if (acui_enqueue(node, task->stream) != ACU_OK) {
            *fault = acui_fault_of_node(node);
            return false;
        }
    return true;
}

/* The mark is on the stream: followers on the device may go. */
static acui_task *publish(acui_task *task)
{
    acui_order_lock();
    acui_point *point = task->point;
    point->stream = acu_stream_retain(task->stream);
    point->number = task->number;
    point->failed = task->failed;
    point->fault = acui_fault_retain(task->fault);
    point->state = ACUI_POINT_ISSUED;
    acui_task *freed = acui_free_followers(point, false);
    acui_order_unlock();
    return freed;
}

/* Nothing of the task reached the device. */
static acui_task *give_up(acui_task *task)
{
    acui_task_fail(task, acui_fault_of_node(task->first));
    return acui_retire(task);
}

acui_task *acui_issue(acui_task *task)
{
    acu_stream *stream = task->stream;
    acui_entered entered;
    if (acui_enter(task->device, &entered) != ACU_OK)
        return give_up(task);
    pthread_mutex_lock(&stream->issue);
    acui_task *freed = NULL;
    bool begun = acui_stream_not_capturing(stream) == ACU_OK && wait_before(task) == ACU_OK;
    if (begun) {
        acui_fault *fault = NULL;
        if (!enqueue_nodes(task, &fault))
            acui_task_fail(task, fault);
        acui_count_operations(task, false);
        /* Fails only if the device is lost: then nothing of the task runs any more. */
        begun = acui_stream_mark(stream, &task->number) == ACU_OK;
    }
    if (begun) {
        freed = publish(task);
        acui_reactor_watch(stream, task);
    }
    pthread_mutex_unlock(&stream->issue);
    acui_leave(&entered);
    return begun ? freed : give_up(task);
}
