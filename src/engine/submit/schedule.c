/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Futures that are scheduled: they have an op and a stream, and are submitted when somebody first
 * asks for them. If such an op comes after other scheduled futures (acu_after_future), these are
 * started first. Planning the op would start them too, but from within: a chain of them is found
 * here and started from its first one on, and so needs no stack.
 */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "engine/completion/complete.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"
#include "engine/submit/submit.h"

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
    acui_future_note(f, taken, NULL);
    f->scheduled.op = taken;
    f->scheduled.stream = acu_stream_retain(stream);
    f->scheduled.serial = policy->count == 1;
    f->how.early = f->how.given = true;
    atomic_store_explicit(&f->state, ACUI_FUTURE_SCHEDULED, memory_order_release);
    *future = f;
    return ACU_OK;
}

/* To start is to submit; where that is refused, the future stays as it is. */
acu_status acui_future_may_begin(const acu_future *future)
{
    if (acui_future_state_of(future) != ACUI_FUTURE_SCHEDULED ||
        !(acui_issuing() || acui_policy_asking()))
        return ACU_OK;
    return acui_fail(ACU_ERR_IN_CALLBACK,
                     "a future that was only scheduled can not be started in a foreign call or a "
                     "policy's function, which may not submit");
}

/* Whether this thread is the one to start it; then its op is this thread's. */
static bool claim(acu_future *future)
{
    int scheduled = ACUI_FUTURE_SCHEDULED;
    return acui_future_state_of(future) == ACUI_FUTURE_SCHEDULED &&
           atomic_compare_exchange_strong_explicit(&future->state, &scheduled, ACUI_FUTURE_STARTING,
                                                   memory_order_acq_rel, memory_order_acquire);
}

static void submit_claimed(acu_future *future)
{
    acu_submit_options options = {.size = sizeof options};
    acu_op *op = future->scheduled.op;
    future->scheduled.op = NULL;
    acu_stream *stream = future->scheduled.stream;
    acu_status status = acui_submit(stream->device, op, &options, stream, future);
    if (status == ACU_ERR_FULL)
        acui_op_put(op);
    if (status != ACU_OK) {
        acui_future_sign(future, acui_error()); /* it may have been refused before it was planned */
        acui_fault *fault = acui_fault_new(acui_error());
        acui_resolve(future, status, fault);
        acui_fault_release(fault);
    }
}

/* ---- what is to be started first ---- */

/* A claimed future, and the scheduled ones that its op comes after. */
typedef struct waiting {
    struct waiting *outer; /* whose future comes after this one */
    acu_future *future;    /* held by `outer`, or by the caller */
    size_t count, next;
    acu_future *before[]; /* retained */
} waiting;

/* The AFTER_FUTURE ops in it whose futures are scheduled, linked by next_dead, in order. Ops that
 * others hold too are not looked into: whatever they come after is started when they are planned.
 * Share lock held: nobody else plans `op`, or links the ops in it, meanwhile. */
static acu_op *find_scheduled(acu_op *op, size_t *count)
{
    acu_op *found = NULL, **end = &found, *list = op;
    for (op->next_dead = NULL; list;) {
        acu_op *at = list;
        list = at->next_dead;
        for (size_t i = at->input_count; i-- > 0;) {
            acu_op *input = at->inputs[i];
            if (!input || acui_op_is_oom(input) || !acui_op_is_sole(input))
                continue;
            input->next_dead = list;
            list = input;
        }
        if (at->class != &acui_class_AFTER_FUTURE ||
            acui_future_state_of(at->u.future) != ACUI_FUTURE_SCHEDULED)
            continue;
        *end = at;
        end = &at->next_dead;
        ++*count;
    }
    *end = NULL;
    return found;
}

/* NULL: it can be submitted at once. Without memory, too: then planning it starts the others. */
static waiting *wait_for(acu_future *future, waiting *outer)
{
    acu_op *op = future->scheduled.op;
    size_t count = 0;
    acui_share_lock();
    acu_op *found = !acui_op_is_oom(op) && op->state == ACUI_OP_FRESH ? find_scheduled(op, &count)
                                                                      : NULL;
    waiting *w = found ? acui_alloc(sizeof *w + count * sizeof *w->before) : NULL;
    for (; w && found; found = found->next_dead)
        w->before[w->count++] = acui_future_keep(found->u.future);
    acui_share_unlock();
    if (w) {
        w->outer = outer;
        w->future = future;
    }
    return w;
}

/* Claims the next one that is still to be started; NULL: there is none left. */
static acu_future *claim_next(waiting *w)
{
    while (w->next < w->count) {
        acu_future *future = w->before[w->next++];
        if (claim(future))
            return future;
    }
    return NULL;
}

/* Submits its future; returns the one outside of it. */
static waiting *leave(waiting *w)
{
    waiting *outer = w->outer;
    submit_claimed(w->future);
    for (size_t i = 0; i < w->count; i++)
        acui_future_put(w->before[i]);
    acui_free(w);
    return outer;
}

acu_status acui_future_begin(acu_future *future)
{
    ACUI_TRY(acui_future_may_begin(future));
    acu_future *next = claim(future) ? future : NULL;
    for (waiting *top = NULL; next;) {
        waiting *w = wait_for(next, top);
        if (w)
            top = w;
        else
            submit_claimed(next);
        for (next = NULL; top && !(next = claim_next(top));)
            top = leave(top);
    }
    return ACU_OK;
}

acu_status acu_future_start(acu_future *future)
{
    ACUI_CHECK(future, FUTURE);
    return acui_future_begin(future);
}
