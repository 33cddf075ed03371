/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Giving a submission up before it is over: its future completes at once. What is not issued yet
 * never will be; what is on the device is left to finish, and keeps what it uses until then.
 *
 * Whoever resolves the future first has won: cancelling one that completes meanwhile changes
 * nothing, and nobody is told how a submission ends that was given up. A thread that gives
 * something up counts as `beside` until it is done, since acu_close and acu_device_wait must not
 * return before.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/completion/complete.h"
#include "base/done.h"
#include "engine/flight/flight.h"
#include "engine/order/order.h"
#include "memory/access.h"

#include <stdio.h>
#include <string.h>

/* ---- giving up ---- */

/* Release, to acui_gave_up: whoever sees the fault may read it. */
void acui_give_up(acui_submission *s, acui_fault *fault)
{
    atomic_store_explicit(&s->given_up, acui_fault_retain(fault), memory_order_release);
    acui_children_unwanted(&s->plan);
}

/* Whether the task is neither on the device nor begun on the host. Order lock held. */
static bool is_held_up(const acui_task *task)
{
    return task->point->state == ACUI_POINT_PENDING && task->order.course == ACUI_COURSE_OPEN;
}

/* Where in the program it was made: the first operation that is held up, else the first of all. */
static void add_place(acu_error *error, acui_submission *s)
{
    snprintf(error->op, sizeof error->op, "%s", s->asked.name);
    if (!acui_submission_hold(s))
        return; /* complete */
    acui_homes homes = acui_order_lock_all_of(&s->plan.homes);
    const acui_task *first = homes ? s->first_task : NULL, *task = first;
    while (task && !is_held_up(task))
        task = task->next;
    task = task ? task : first;
    acui_order_unlock(homes);
    if (task) {
        const acui_node *node = acui_task_subject(task);
        error->device = node->device->info.ordinal;
        error->file = node->site.file;
        error->line = node->site.line;
        acui_add_context(error, node);
        if (!error->op[0])
            snprintf(error->op, sizeof error->op, "%s", node->name);
    }
    acui_submission_let_go(s);
}

/* ---- what is known before it is planned ---- */

/* The words of the contexts around what the op does. NULL: none, or no memory for them. */
static char *context_of(const acu_op *op, const acu_op *doer)
{
    char *all = NULL;
    acui_text text = acui_text_start(NULL, 0);
    for (; op != doer; op = op->inputs[op->class->passes - 1]) {
        if (op->class != &acui_class_CONTEXT)
            continue;
        if (!all && !(all = acui_alloc_raw(ACU_ERROR_CONTEXT)))
            break;
        if (!text.buffer)
            text = acui_text_start(all, ACU_ERROR_CONTEXT);
        acui_text_add(&text, "%s%s", text.length ? ": " : "", op->u.text);
    }
    return all;
}

void acui_future_note(acu_future *future, acu_op *op, const char *name)
{
    acu_op *doer = acui_op_doer(op);
    const char *label = name && name[0] ? name : acui_op_label(doer);
    acui_origin *origin = &future->origin;
    origin->site = doer->site;
    origin->kind = doer->class->name;
    if (label != origin->kind) {
        size_t length = strnlen(label, ACUI_OP_NAME - 1);
        memcpy(origin->name, label, length); /* the rest is zeroed */
    }
    if (op != doer)
        future->context = context_of(op, doer);
    future->origin_is = ACUI_ORIGIN_KNOWN;
}

void acui_future_sign(const acu_future *future, acu_error *error)
{
    const acui_origin *origin = &future->origin;
    if (error->file || future->origin_is != ACUI_ORIGIN_KNOWN)
        return;
    error->file = origin->site.file;
    error->line = origin->site.line;
    snprintf(error->op, sizeof error->op, "%s", origin->name[0] ? origin->name : origin->kind);
    snprintf(error->context, sizeof error->context, "%s", future->context ? future->context : "");
}

/* Once its results are given, the submission is there, if there is one: under the lock, this thread
 * sees it. */
static acui_submission *sign_unplanned(acu_future *future, acu_error *error)
{
    acui_submission *planned = NULL;
    acui_lock_take(&future->lock);
    acui_future_sign(future, error);
    if (future->origin_is == ACUI_ORIGIN_OVER)
        planned = future->submission;
    acui_lock_give(&future->lock);
    return planned;
}

static acui_fault *fault_of(acu_future *future, acu_status status, const char *message)
{
    acu_error error = {.status = status, .device = -1};
    snprintf(error.message, sizeof error.message, "%s", message);
    acui_submission *s = acui_future_state_of(future) == ACUI_FUTURE_RUNNING
                             ? future->submission
                             : sign_unplanned(future, &error);
    if (s)
        add_place(&error, s);
    return acui_fault_new(&error);
}

/* ---- ending it ---- */

void acui_future_end(acu_future *future, acu_status status, const char *message)
{
    int state = ACUI_FUTURE_SCHEDULED;
    acu_op *op = NULL;
    if (atomic_compare_exchange_strong_explicit(&future->state, &state, ACUI_FUTURE_STARTING,
                                                memory_order_acq_rel, memory_order_acquire)) {
        op = future->scheduled.op;
        future->scheduled.op = NULL;
    }
    acui_fault *fault = fault_of(future, status, message);
    acui_completing_begin();
    acui_resolve_given_up(future, status, fault);
    acui_completing_end();
    acui_fault_release(fault);
    acui_op_put(op);
}

bool acui_submission_hold(acui_submission *s)
{
    acui_completing_begin();
    bool held = acui_refs_try_retain(&s->open);
    if (!held)
        acui_completing_end();
    return held;
}

void acui_submission_let_go(acui_submission *s)
{
    acui_submission_close(s);
    acui_completing_end();
}

bool acui_future_is_held_up(acu_future *future)
{
    acui_future_state state = acui_future_state_of(future);
    if (state != ACUI_FUTURE_RUNNING)
        return state != ACUI_FUTURE_DONE;
    acui_submission *s = future->submission;
    bool held_up = false;
    if (!acui_submission_hold(s))
        return false;
    acui_homes homes = acui_order_lock_all_of(&s->plan.homes);
    for (const acui_task *task = homes ? s->first_task : NULL; task && !held_up; task = task->next)
        held_up = is_held_up(task);
    acui_order_unlock(homes);
    acui_submission_let_go(s);
    return held_up;
}

acu_status acu_future_cancel(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    if (acui_future_state_of(future) != ACUI_FUTURE_DONE)
        acui_future_end(future, ACU_ERR_CANCELLED, "the program cancelled the submission");
    return ACU_OK;
}

void acui_submission_started(acui_submission *s, acu_future *future)
{
    int starting = ACUI_FUTURE_STARTING;
    atomic_store_explicit(&future->planned, true, memory_order_release);
    if (acui_future_is_private(future)) { /* so nobody could have given it up */
        atomic_store_explicit(&future->state, ACUI_FUTURE_RUNNING, memory_order_release);
        return;
    }
    /* Release: whoever sees RUNNING sees the submission's lanes. seq_cst: acui_flight_want_future
     * stores `told` and then loads the state; this thread stores the state and then loads `told`.
     * One of the two sees the other. */
    if (!atomic_compare_exchange_strong_explicit(&future->state, &starting, ACUI_FUTURE_RUNNING,
                                                 memory_order_seq_cst, memory_order_acquire)) {
        if (!acui_gave_up(s)) /* else it was known before it was planned */
            acui_give_up(s, future->fault);
    } else if (future->how.early && atomic_load(&future->told)) {
        acui_flight_want_future(future); /* whoever added a notice saw only STARTING */
    }
    if (atomic_load(&future->called)) /* and so did whoever waits; the same order */
        acui_done_announce();
}
