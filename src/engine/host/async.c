/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Host work that ends later than its function returns. The worker calls the function, with a
 * promise that stands for the task; then the task is with whoever has the promise. It is over once
 * the function has returned and the promise is ended, in either order: whoever is second
 * ends it, and runs what waited for it.
 */
#include "base/error.h"
#include "base/callback.h"
#include "engine/host/host.h"
#include "engine/order/order.h"

#include <stdarg.h>
#include <stdio.h>

struct acu_promise {
    acui_object object;
    acui_task *task;
    _Atomic(int) awaited; /* of two: the function's return, and the end */
    _Atomic(bool) ended;
};

/* One of the two has happened. The second: what waited for the task. */
static acui_task *happened(acu_promise *done)
{
    if (atomic_fetch_sub_explicit(&done->awaited, 1, memory_order_acq_rel) > 1)
        return NULL;
    acui_task *task = done->task;
    acui_object_free(done);
    return acui_host_over(task);
}

static acu_status call(const acui_node *node, acu_promise *done)
{
    const acu_op *op = node->u.call.op;
    acu_status was = acui_callback_enter_asked();
    acu_status status =
        op->u.call.host_async(op->user.data, done, node->u.call.values, node->u.call.count);
    return acui_callback_leave_asked(was, status, "acu_host_async");
}

acui_task *acui_async_run(acui_task *task)
{
    const acui_node *node = task->first;
    acu_promise *done = acui_object_new(ACU_OBJECT_PROMISE, sizeof *done);
    if (!done) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a promise");
        acui_task_fail(task, acui_fault_of_node(node));
        return acui_host_over(task);
    }
    done->task = task;
    atomic_store_explicit(&done->awaited, 2, memory_order_relaxed);
    if (call(node, done) == ACU_OK)
        return happened(done);
    acui_task_fail(task, acui_fault_of_node(node));
    if (atomic_exchange_explicit(&done->ended, true, memory_order_acq_rel))
        return happened(done); /* it was ended as well */
    acui_object_free(done);
    return acui_host_over(task);
}

/* ---- for whoever has the promise ---- */

static acu_status begin_end(acu_promise *done, const char *function)
{
    ACUI_TRY(acui_object_check(done, ACU_OBJECT_PROMISE, function));
    if (atomic_exchange_explicit(&done->ended, true, memory_order_acq_rel))
        return acui_fail(ACU_ERR_INVALID, "%s: the promise was ended before", function);
    return ACU_OK;
}

/* The failure, if there is one, is noted. */
static void finish(acu_promise *done)
{
    acui_completing_begin(); /* acu_close returns no sooner */
    acui_task *ready = happened(done);
    if (ready)
        acui_run_tasks(ready);
    acui_completing_end();
}

static void note_failure(acu_promise *done, acu_status outcome, const char *text)
{
    char words[ACUI_OUTCOME];
    acui_fail(ACU_ERR_CALLBACK, "the work that acu_host_async began ended with %s%s%s",
              acui_outcome_words(outcome, words), text[0] ? ": " : "", text);
    acui_error()->cause = outcome;
    acui_task_fail(done->task, acui_fault_of_node(done->task->first));
}

acu_status acu_promise_end(acu_promise *done, acu_status outcome, const char *format, ...)
{
    ACUI_TRY(begin_end(done, __func__));
    bool was = acui_error_aside();
    if (outcome != ACU_OK) {
        char text[ACU_ERROR_MESSAGE] = "";
        va_list args;
        va_start(args, format);
        if (format)
            vsnprintf(text, sizeof text, format, args);
        va_end(args);
        note_failure(done, outcome, text);
    }
    finish(done);
    acui_error_back(was);
    return ACU_OK;
}

void acui_promise_end(acu_promise *done, acu_status status)
{
    if (begin_end(done, __func__) != ACU_OK)
        return;
    if (status != ACU_OK)
        acui_task_fail(done->task, acui_fault_of_node(done->task->first));
    bool was = acui_error_aside();
    finish(done);
    acui_error_back(was);
}

bool acu_promise_given_up(acu_promise *done)
{
    acui_fault *fault;
    if (acui_object_check(done, ACU_OBJECT_PROMISE, __func__) != ACU_OK ||
        !acui_host_is_stopped(done->task, &fault))
        return false;
    acui_fault_release(fault);
    return true;
}
