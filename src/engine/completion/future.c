/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Futures: a submission's outcome, who holds it, who is told of it, and how it is started.
 *
 * The outcome is decided once, by whoever makes the state DONE under the lock (or, of a waited
 * future, by the end of its submission). Notices that are there by then are delivered by that
 * thread; later ones at once, by the thread that adds them. */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/local.h"
#include "engine/completion/complete.h"
#include "base/done.h"
#include "engine/flight/flight.h"
#include "engine/completion/group.h"
#include "engine/completion/queue.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

acu_status acui_future_new(acu_future **future)
{
    acu_future *f = acui_object_new(ACU_OBJECT_FUTURE, sizeof *f);
    if (!f)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a future");
    atomic_store_explicit(&f->handles, 1, memory_order_relaxed);
    atomic_store_explicit(&f->state, ACUI_FUTURE_STARTING, memory_order_relaxed);
    f->deadline.at = ACU_FOREVER;
    *future = f;
    return ACU_OK;
}

acu_future *acui_future_keep(acu_future *future)
{
    return acui_object_retain(future);
}

void acui_future_put(acu_future *future)
{
    if (!future || !acui_object_drop(future))
        return;
    acui_fault_release(future->fault);
    acui_op_put(future->scheduled.op);
    acui_free(future->context);
    acu_stream_release(future->scheduled.stream);
    if (future->submission)
        acui_submission_put(future->submission);
    acui_object_free(future);
}

acu_future *acu_future_retain(acu_future *future)
{
    if (!acui_object_is(future, ACU_OBJECT_FUTURE))
        return future;
    atomic_fetch_add_explicit(&future->handles, 1, memory_order_relaxed);
    return acui_future_keep(future);
}

/* Nobody can ask for the results any more. What is in flight keeps its memory by itself; with
 * another handle here, the program could not own a tensor alone until that is over. */
static void drop_results(acu_future *future)
{
    if (future->how.early)
        acui_lock_take(&future->lock);
    acui_results results = future->results;
    acu_module *module = future->module;
    future->results.count = 0;
    future->module = NULL;
    future->dropped = true;
    if (future->how.early)
        acui_lock_give(&future->lock);
    acui_results_clear(&results);
    acu_module_release(module);
}

void acu_future_release(acu_future *future)
{
    if (!acui_object_is(future, ACU_OBJECT_FUTURE))
        return;
    /* Not acui_refs_drop: a group gives out handles of a future of which it has none itself. */
    if (future->how.waited ||
        atomic_fetch_sub_explicit(&future->handles, 1, memory_order_acq_rel) == 1)
        drop_results(future);
    acui_future_put(future);
}

/* What this thread is delivering. A future that it completes meanwhile, as the last member of a
 * group completes the group's, adds its notices at the end: so a chain of groups needs no stack. */
typedef struct delivery {
    acui_notice *first, **end;
    bool more; /* others have added some, and may have returned before these are delivered */
} delivery;
static ACUI_LOCAL delivery *delivering; /* NULL: nothing */

static void add_notices(delivery *to, acui_notice *notices)
{
    *to->end = notices;
    while (*to->end)
        to->end = &(*to->end)->next;
}

static acui_notice *next_notice(delivery *from)
{
    acui_notice *notice = from->first;
    if (notice && !(from->first = notice->next))
        from->end = &from->first;
    return notice;
}

static void deliver_all(delivery *own)
{
    acui_notice *here = NULL, **end = &here;
    for (acui_notice *notice; (notice = next_notice(own));) {
        if (notice->group) {
            acui_group_done(notice);
        } else if (notice->queue) {
            acui_queue_push(notice);
        } else {
            *end = notice;
            end = &notice->next;
        }
    }
    *end = NULL;
    acui_reactor_notify(here);
}

/* The future is complete: take each notice where it belongs. */
static void deliver(acui_notice *notices)
{
    delivery *outer = delivering, own = {.first = NULL};
    if (!notices)
        return;
    if (outer && !outer->more) {
        outer->more = true;
        acui_completing_begin();
    }
    if (outer) {
        add_notices(outer, notices);
        return;
    }
    own.end = &own.first;
    add_notices(&own, notices);
    delivering = &own;
    deliver_all(&own);
    delivering = NULL;
    if (own.more)
        acui_completing_end();
}

/* Make it DONE; a thread that starts the future meanwhile finds out by its own exchange. If it is
 * given up, its submission learns of that before anybody can see that it is done. Lock held. */
static acui_future_state set_done(acu_future *future, acui_fault *fault, bool give_up)
{
    int was = atomic_load_explicit(&future->state, memory_order_acquire);
    do {
        if (was == ACUI_FUTURE_RUNNING && give_up) {
            acui_give_up(future->submission, fault);
            give_up = false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&future->state, &was, ACUI_FUTURE_DONE,
                                                    memory_order_acq_rel, memory_order_acquire));
    return (acui_future_state)was;
}

static ACUI_LOCAL const acu_future *awaited; /* the one that this thread waits for at once */

void acui_future_await(const acu_future *future)
{
    awaited = future;
}

/* Nobody gives it up or adds notices to it. Its thread may free it as soon as it is DONE, and is
 * the only one that could sleep until then. */
static void resolve_waited(acu_future *future, acu_status status, acui_fault *fault)
{
    future->status = status;
    future->fault = acui_fault_retain(fault);
    bool own = future == awaited;
    atomic_store_explicit(&future->state, ACUI_FUTURE_DONE, memory_order_release);
    if (!own)
        acui_done_announce();
}

/* All notices, in the order in which they were added. Lock held. */
static acui_notice *take_notices(acu_future *future)
{
    acui_notice *last = future->notices, *first = last ? last->next : NULL;
    if (last)
        last->next = NULL;
    future->notices = NULL;
    return first;
}

static acui_future_state resolve(acu_future *future, acu_status status, acui_fault *fault,
                                 bool given_up)
{
    acui_lock_take(&future->lock);
    if (acui_future_state_of(future) == ACUI_FUTURE_DONE) { /* it was given up */
        acui_lock_give(&future->lock);
        return ACUI_FUTURE_DONE;
    }
    acui_notice *notices = take_notices(future);
    acui_fault *own = status == ACU_ERR_DEPENDENCY
                          ? acui_group_outcome(notices, &status, fault)
                          : acui_fault_retain(fault);
    future->status = status;
    future->fault = own;
    acui_future_state was = set_done(future, fault, given_up);
    acui_lock_give(&future->lock);
    acui_deadline_drop(future);
    deliver(notices);
    acui_done_announce();
    return was;
}

acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault)
{
    if (!future->how.waited)
        return resolve(future, status, fault, false);
    resolve_waited(future, status, fault);
    return ACUI_FUTURE_RUNNING;
}

void acui_resolve_given_up(acu_future *future, acu_status status, acui_fault *fault)
{
    resolve(future, status, fault, true);
}

/* ---- looking ---- */

/* Why it failed. */
static acu_error why_failed(const acu_future *future)
{
    acu_error error = future->fault->error;
    error.status = future->status; /* that may be another one, if there was no memory for its own */
    return error;
}

acu_status acui_future_outcome(acu_future *future)
{
    if (acui_future_state_of(future) != ACUI_FUTURE_DONE)
        acui_deadline_check(future);
    if (acui_future_state_of(future) != ACUI_FUTURE_DONE)
        return ACU_NOT_READY;
    if (future->status == ACU_OK)
        return ACU_OK;
    acu_error error = why_failed(future);
    return acui_error_restore(&error);
}

acu_status acui_future_look(acu_future *future, uint64_t now)
{
    ACUI_TRY(acui_future_begin(future));
    if (acui_future_state_of(future) == ACUI_FUTURE_RUNNING)
        for (size_t i = 0; i < future->submission->lane_count; i++)
            acui_harvest(future->submission->lanes[i].stream, now);
    return acui_future_outcome(future);
}

acu_status acu_future_poll(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    acu_status status = acui_future_look(future, 0);
    if (status == ACU_NOT_READY)
        acui_streak_end();
    return status;
}

acu_status acu_future_error(acu_future *future, acu_error *error)
{
    ACUI_CHECK(future, FUTURE);
    if (acui_future_state_of(future) != ACUI_FUTURE_DONE)
        return ACU_NOT_READY;
    if (future->status == ACU_OK)
        return ACU_OK;
    if (error)
        *error = why_failed(future);
    return future->status;
}

void acui_future_add(acu_future *future, acui_notice *notice)
{
    acui_future_begin(future);
    acui_lock_take(&future->lock);
    bool done = acui_future_state_of(future) == ACUI_FUTURE_DONE;
    if (!done)
        acui_future_append(future, notice);
    acui_lock_give(&future->lock);
    if (!done) {
        acui_flight_want_future(future);
        return;
    }
    deliver(notice);
    acui_done_announce(); /* a thread that waits for a group may be waiting for this */
}
