/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Futures: a submission's outcome and values, and what is done with them. */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"
#include "engine/completion/flight.h"
#include "engine/submit/runtime.h"
#include "engine/completion/done.h"
#include "engine/completion/group.h"
#include "engine/completion/queue.h"

static acui_future_state state_of(const acu_future *future)
{
    return (acui_future_state)atomic_load_explicit(&future->state, memory_order_acquire);
}

acu_status acui_future_new(acu_future **future)
{
    acu_future *f = acui_object_new(ACU_OBJECT_FUTURE, sizeof *f);
    if (!f)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a future");
    atomic_store_explicit(&f->handles, 1, memory_order_relaxed);
    atomic_store_explicit(&f->state, ACUI_FUTURE_STARTING, memory_order_relaxed);
    f->deadline = ACU_FOREVER;
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
    acui_op_put(future->op);
    acu_stream_release(future->stream);
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

/* Nobody can ask for them any more. What is in flight keeps the memory by itself, and another
 * handle here would keep the program from owning a tensor alone until it is over. */
static void drop_results(acu_future *future)
{
    if (future->early)
        acui_lock_take(&future->lock);
    acui_results results = future->results;
    acu_module *module = future->module;
    future->results.count = 0;
    future->module = NULL;
    future->dropped = true;
    if (future->early)
        acui_lock_give(&future->lock);
    acui_results_clear(&results);
    acu_module_release(module);
}

void acu_future_release(acu_future *future)
{
    if (!acui_object_is(future, ACU_OBJECT_FUTURE))
        return;
    /* A group gives handles and has none: not acui_refs_drop. */
    if (future->waited || atomic_fetch_sub_explicit(&future->handles, 1, memory_order_acq_rel) == 1)
        drop_results(future);
    acui_future_put(future);
}

acu_status acui_results_make(acui_values *values, acui_results *results)
{
    size_t count = values->count;
    if (count > ACUI_FEW_RESULTS) {
        acui_result *list = acui_alloc_raw(count * (sizeof *list + 1));
        if (!list)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the values of a submission");
        results->u.more.list = list;
        results->u.more.kinds = (uint8_t *)(list + count);
    }
    results->count = count;
    acui_result *list = acui_results_list(results);
    uint8_t *kinds = acui_results_kinds(results);
    for (size_t i = 0; i < count; i++) {
        const acu_val *value = &values->list[i];
        if (value->kind == ACU_SCALAR) {
            kinds[i] = (uint8_t)(ACUI_RESULT_SCALAR + (unsigned)value->dtype);
            list[i].bits = value->bits;
        } else {
            kinds[i] = value->tensor ? ACUI_RESULT_TENSOR : ACUI_RESULT_NONE;
            list[i].tensor = value->tensor; /* the reference moves on */
        }
    }
    values->count = 0;
    return ACU_OK;
}

void acui_results_clear(acui_results *results)
{
    acui_result *list = acui_results_list(results);
    const uint8_t *kinds = acui_results_kinds(results);
    for (size_t i = 0; i < results->count; i++)
        if (kinds[i] == ACUI_RESULT_TENSOR)
            acu_tensor_release(list[i].tensor);
    if (results->count > ACUI_FEW_RESULTS)
        acui_free(list);
    results->count = 0;
}

void acui_future_give_results(acu_future *future, acui_results *results)
{
    if (future->early)
        acui_lock_take(&future->lock);
    bool dropped = future->dropped;
    if (!dropped)
        future->results = *results;
    if (future->early)
        acui_lock_give(&future->lock);
    if (dropped)
        acui_results_clear(results);
    acui_submission_started(future->submission, future);
}

void acui_future_give_module(acu_future *future, acu_module *module)
{
    acui_lock_take(&future->lock);
    bool dropped = future->dropped;
    if (!dropped)
        future->module = module;
    acui_lock_give(&future->lock);
    if (dropped)
        acu_module_release(module);
}

/* The future is complete: each notice where it belongs. */
static void deliver(acui_notice *notices)
{
    acui_notice *here = NULL, **end = &here;
    while (notices) {
        acui_notice *notice = notices;
        notices = notice->next;
        if (notice->group) {
            acui_group_done(notice);
            continue;
        }
        if (notice->queue) {
            acui_queue_push(notice);
            continue;
        }
        *end = notice;
        end = &notice->next;
    }
    *end = NULL;
    acui_reactor_notify(here);
}

/* DONE; who starts the future meanwhile finds out by its own exchange. Before anybody can see that
 * it is done, what is not issued is given up, if that is why. Lock held. */
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

static ACUI_LOCAL const acu_future *awaited; /* that this thread waits for at once */

void acui_future_await(const acu_future *future)
{
    awaited = future;
}

/* Nobody gives it up, nor adds notices to it; its thread may free it at once, and is the only one
 * that could sleep until then. */
static void resolve_waited(acu_future *future, acu_status status, acui_fault *fault)
{
    future->status = status;
    future->fault = acui_fault_retain(fault);
    bool own = future == awaited;
    atomic_store_explicit(&future->state, ACUI_FUTURE_DONE, memory_order_release);
    if (!own)
        acui_done_announce();
}

static acui_future_state resolve(acu_future *future, acu_status status, acui_fault *fault,
                                 bool given_up)
{
    acui_lock_take(&future->lock);
    if (state_of(future) == ACUI_FUTURE_DONE) { /* it was given up */
        acui_lock_give(&future->lock);
        return ACUI_FUTURE_DONE;
    }
    future->status = status;
    future->fault = acui_fault_retain(fault);
    acui_notice *notices = future->notices;
    future->notices = NULL;
    acui_future_state was = set_done(future, fault, given_up);
    acui_lock_give(&future->lock);
    acui_deadline_drop(future);
    deliver(notices);
    acui_done_announce();
    return was;
}

acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault)
{
    if (!future->waited)
        return resolve(future, status, fault, false);
    resolve_waited(future, status, fault);
    return ACUI_FUTURE_RUNNING;
}

void acui_resolve_given_up(acu_future *future, acu_status status, acui_fault *fault)
{
    resolve(future, status, fault, true);
}

/* ---- scheduling ---- */

acu_status acu_schedule(acu_policy *policy, acu_op *op, acu_future **future)
{
    static const acui_op_class taker = {.name = "acu_schedule"};
    acu_op *taken = acui_op_take(op, &taker, (acu_site){0});
    acu_status status = acui_object_check(policy, ACU_OBJECT_POLICY, __func__);
    if (status == ACU_OK && !future)
        status = acui_fail(ACU_ERR_INVALID,
                           "acu_schedule: nothing could start it without a future");
    acu_stream *stream = status == ACU_OK ? acui_policy_pick(policy) : NULL;
    if (status == ACU_OK && !stream)
        status = acui_error()->status;
    acu_future *f = NULL;
    if (status == ACU_OK)
        status = acui_future_new(&f);
    if (status != ACU_OK) {
        acui_op_put(taken);
        return status;
    }
    f->op = taken;
    f->stream = acu_stream_retain(stream);
    f->serial = policy->count == 1;
    f->early = f->given = true;
    atomic_store_explicit(&f->state, ACUI_FUTURE_SCHEDULED, memory_order_release);
    *future = f;
    return ACU_OK;
}

/* Starting is submitting; where that is refused the future stays as it is. */
acu_status acui_future_may_begin(const acu_future *future)
{
    if (state_of(future) != ACUI_FUTURE_SCHEDULED || !(acui_issuing() || acui_policy_asking()))
        return ACU_OK;
    return acui_fail(ACU_ERR_WOULD_WAIT, "a future that was only scheduled can not be started in a "
                     "foreign call or a policy's function, which may not submit");
}

acu_status acui_future_begin(acu_future *future)
{
    int scheduled = ACUI_FUTURE_SCHEDULED;
    ACUI_TRY(acui_future_may_begin(future));
    if (state_of(future) != ACUI_FUTURE_SCHEDULED ||
        !atomic_compare_exchange_strong_explicit(&future->state, &scheduled, ACUI_FUTURE_STARTING,
                                                 memory_order_acq_rel, memory_order_acquire))
        return ACU_OK;
    acu_submit_options options = {.size = sizeof options};
    acu_op *op = future->op;
    future->op = NULL;
    acu_status status = acui_submit(future->stream->device, op, &options, future->stream, future);
    if (status != ACU_OK) {
        acui_fault *fault = acui_fault_new(acui_error());
        acui_resolve(future, status, fault);
        acui_fault_release(fault);
    }
    return ACU_OK;
}

acu_status acu_future_start(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    return acui_future_begin(future);
}

/* ---- looking ---- */

/* The record of a failed one's failure; in `room` where there was no memory for it. */
static const acu_error *why_failed(const acu_future *future, acu_error *room)
{
    if (future->fault)
        return &future->fault->error;
    *room = (acu_error){.status = future->status,
                        .device = -1,
                        .message = "out of host memory, also for saying more"};
    return room;
}

acu_status acui_future_outcome(acu_future *future)
{
    if (state_of(future) != ACUI_FUTURE_DONE)
        acui_deadline_check(future);
    if (state_of(future) != ACUI_FUTURE_DONE)
        return ACU_NOT_READY;
    acu_error error;
    return future->status == ACU_OK ? ACU_OK : acui_error_restore(why_failed(future, &error));
}

acu_status acui_future_look(acu_future *future, uint64_t now)
{
    ACUI_TRY(acui_future_begin(future));
    if (state_of(future) == ACUI_FUTURE_RUNNING)
        for (size_t i = 0; i < future->submission->lane_count; i++)
            acui_harvest(future->submission->lanes[i].stream, now);
    return acui_future_outcome(future);
}

acu_status acu_future_poll(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    return acui_future_look(future, 0);
}

acu_status acu_future_error(acu_future *future, acu_error *error)
{
    ACUI_CHECK(future, FUTURE);
    if (state_of(future) != ACUI_FUTURE_DONE)
        return ACU_NOT_READY;
    if (future->status == ACU_OK)
        return ACU_OK;
    acu_error room;
    const acu_error *why = why_failed(future, &room);
    if (error)
        *error = *why;
    return future->status;
}

acu_status acu_future_on_complete(acu_future *future, acu_future_fn fn, acu_user user)
{
    acu_status status = acui_object_check(future, ACU_OBJECT_FUTURE, __func__);
    if (status == ACU_OK && !fn)
        status = acui_fail(ACU_ERR_INVALID, "acu_future_on_complete got no function");
    acui_notice *notice = NULL;
    if (status == ACU_OK)
        status = acui_future_may_begin(future);
    if (status == ACU_OK) {
        status = acui_reactor_start();
        notice = status == ACU_OK ? ACUI_NEW(acui_notice) : NULL;
        if (status == ACU_OK && !notice)
            status = acui_fail(ACU_ERR_NO_MEMORY, "no memory for a completion callback");
    }
    if (status != ACU_OK) {
        acui_user_release(user);
        return status;
    }
    *notice = (acui_notice){.fn = fn, .user = user, .future = acu_future_retain(future)};
    acui_future_add(future, notice);
    return ACU_OK;
}

void acui_future_add(acu_future *future, acui_notice *notice)
{
    acui_future_begin(future);
    acui_lock_take(&future->lock);
    bool done = state_of(future) == ACUI_FUTURE_DONE;
    if (!done) {
        acui_notice **end = &future->notices; /* in the order in which they were added */
        while (*end)
            end = &(*end)->next;
        *end = notice;
    }
    acui_lock_give(&future->lock);
    if (done)
        deliver(notice);
    else
        acui_flight_want_future(future);
}

/* ---- values ---- */

/* Another thread starts one that was scheduled, and is planning it. */
static acu_status await_start(const acu_future *future)
{
    acui_nap nap = acui_nap_start(ACU_FOREVER);
    while (future->stream && state_of(future) == ACUI_FUTURE_STARTING) {
        ACUI_TRY(
            acui_refuse_wait("Asking for a value of a submission that another thread is starting"));
        acui_nap_again(&nap);
    }
    return ACU_OK;
}

/* Started, and planned: what it yields is known. */
static acu_status know_values(acu_future *future)
{
    ACUI_TRY(acui_future_begin(future));
    return atomic_load_explicit(&future->runtime, memory_order_acquire)
               ? acui_runtime_planned(future)
               : await_start(future);
}

acu_status acu_future_planned(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    ACUI_TRY(acui_future_begin(future));
    return state_of(future) >= ACUI_FUTURE_RUNNING ? ACU_OK : ACU_NOT_READY;
}

size_t acu_future_values(acu_future *future)
{
    if (!acui_object_is(future, ACU_OBJECT_FUTURE))
        return 0;
    if (know_values(future) != ACU_OK)
        return 0;
    acui_lock_take(&future->lock);
    size_t n = future->results.count;
    acui_lock_give(&future->lock);
    return n;
}

/* The kind of the value, with future->lock held; NULL (record set) where there is none. */
static uint8_t *kind_at(acu_future *future, size_t index)
{
    size_t count = future->results.count;
    uint8_t *kinds = acui_results_kinds(&future->results);
    if (index < count && kinds[index] != ACUI_RESULT_NONE)
        return &kinds[index];
    if (index < count)
        acui_fail(ACU_ERR_NOT_FOUND, "value %zu was taken before", index);
    else if (count == 0 && state_of(future) == ACUI_FUTURE_DONE && future->fault)
        acui_error_restore(&future->fault->error); /* perhaps it could not be planned */
    else
        acui_fail(ACU_ERR_NOT_FOUND, "value %zu of a submission that yields %zu", index, count);
    return NULL;
}

acu_tensor *acu_future_tensor(acu_future *future, size_t index)
{
    if (acui_object_check(future, ACU_OBJECT_FUTURE, __func__) != ACU_OK ||
        know_values(future) != ACU_OK)
        return NULL;
    acui_lock_take(&future->lock);
    const uint8_t *kind = kind_at(future, index);
    acu_tensor *tensor = kind && *kind == ACUI_RESULT_TENSOR
                             ? acui_results_list(&future->results)[index].tensor
                             : NULL;
    acui_lock_give(&future->lock);
    return tensor;
}

acu_status acu_future_take(acu_future *future, size_t index, acu_tensor **tensor)
{
    ACUI_CHECK(future, FUTURE);
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_future_take: nowhere to put the tensor");
    ACUI_TRY(know_values(future));
    acu_status status = ACU_OK;
    acui_lock_take(&future->lock);
    uint8_t *kind = kind_at(future, index);
    if (!kind) {
        status = acui_error()->status;
    } else if (*kind != ACUI_RESULT_TENSOR) {
        status = acui_fail(ACU_ERR_INVALID, "value %zu is a scalar, not a tensor", index);
    } else {
        *tensor = acui_results_list(&future->results)[index].tensor;
        *kind = ACUI_RESULT_NONE;
    }
    acui_lock_give(&future->lock);
    return status;
}

acu_status acu_future_scalar(acu_future *future, size_t index, acu_dtype *dtype, uint64_t *bits)
{
    ACUI_CHECK(future, FUTURE);
    if (!dtype || !bits)
        return acui_fail(ACU_ERR_INVALID, "acu_future_scalar: nowhere to put the scalar");
    ACUI_TRY(know_values(future));
    acu_status status = ACU_OK;
    acui_lock_take(&future->lock);
    const uint8_t *kind = kind_at(future, index);
    if (!kind) {
        status = acui_error()->status;
    } else if (*kind < ACUI_RESULT_SCALAR) {
        status = acui_fail(ACU_ERR_INVALID, "value %zu is a tensor, not a scalar", index);
    } else {
        *dtype = (acu_dtype)(*kind - ACUI_RESULT_SCALAR);
        *bits = acui_results_list(&future->results)[index].bits;
    }
    acui_lock_give(&future->lock);
    return status;
}
