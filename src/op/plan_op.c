/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The walk over an op, which yields its values and appends its nodes to the plan.
 *
 * Ops that somebody else may be using at the same time go through the share lock. One
 * thread plans such an op; the others get its values, but only once the nodes that compute them
 * have been entered into the order (flushed), because otherwise work on the values could be ordered
 * before them. A thread that has to wait for another one flushes its own plan first. Then two
 * threads can not wait for each other, since whatever one of them is in the middle of planning can
 * wait only for what lies below it. The exception are callbacks, which may submit any op: a thread
 * that would wait for itself, through whichever other threads, is refused.
 */
#include "base/error.h"
#include "base/local.h"
#include "base/rare.h"
#include "base/stack.h"
#include "op/after.h"
#include "op/await.h"
#include "op/plan.h"

#include <pthread.h>

static pthread_mutex_t share_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t share_changed = PTHREAD_COND_INITIALIZER;

void acui_share_lock(void)
{
    pthread_mutex_lock(&share_lock);
}

void acui_share_unlock(void)
{
    pthread_mutex_unlock(&share_lock);
}

/* Looks (acui_look_begin) that have not ended; under the share lock. Meanwhile no thread begins to
 * plan an op that others hold, except a thread that is looking itself and would otherwise wait for
 * its own end. */
static uint32_t looks;
static ACUI_LOCAL uint32_t own_looks;

void acui_look_begin(void)
{
    pthread_mutex_lock(&share_lock);
    looks++;
    own_looks++;
    pthread_mutex_unlock(&share_lock);
}

void acui_look_end(void)
{
    pthread_mutex_lock(&share_lock);
    own_looks--;
    if (--looks == 0)
        pthread_cond_broadcast(&share_changed);
    pthread_mutex_unlock(&share_lock);
}

acu_device *acui_plan_device(acu_device *fallback)
{
    acu_device *device = fallback ? fallback : acu_device_default();
    if (!device)
        acui_fail(ACU_ERR_INVALID, "no device is open for an op that names none; acu_open one, or "
                                   "pass a device to submit");
    return device;
}

/* ---- ops with several users ----------------------------------------------------------------- */

/* Appends copies of what a published op yields. What the op owned, its users share from now on. */
static acu_status deliver(const acu_op *op, acui_values *values)
{
    if (op->rest->fault)
        return acui_op_sign(op, acui_error_restore(&op->rest->fault->error));
    for (size_t i = 0; values && i < op->rest->values.count; i++) {
        acu_val value = op->rest->values.list[i];
        acui_object_retain(value.tensor);
        if (value.form == ACU_OWNED)
            value.form = ACU_SHARED;
        ACUI_TRY(acui_values_push(values, value));
    }
    return ACU_OK;
}

/* A thread that waits until an op is published. Under the share lock. */
typedef struct waiter {
    struct waiter *next;
    pthread_t thread;
    const acu_op *op;
} waiter;
static waiter *waiters;

static const waiter *find_waiter(pthread_t thread)
{
    const waiter *w = waiters;
    while (w && !pthread_equal(w->thread, thread))
        w = w->next;
    return w;
}

/* Whether the op, which some plan is planning or has not entered yet, waits for what this thread is
 * planning. Share lock held. */
static bool waits_for(const acu_op *op, pthread_t thread)
{
    const acui_plan *planner;
    while (op && (planner = op->rest->planner)) {
        if (pthread_equal(planner->thread, thread))
            return true;
        const waiter *next = find_waiter(planner->thread);
        op = next ? next->op : NULL;
    }
    return false;
}

static void wait_for(const acui_plan *plan, const acu_op *op)
{
    waiter w = {.next = waiters, .thread = plan->thread, .op = op};
    waiters = &w;
    pthread_cond_wait(&share_changed, &share_lock);
    waiter **link = &waiters;
    while (*link != &w)
        link = &(*link)->next;
    *link = w.next;
}

/* Wait until the op is this plan's to plan, or published. Share lock held. */
static acu_status await_published(acui_plan *plan, acu_op *op)
{
    bool flushed = false;
    while (op->state == ACUI_OP_FRESH && looks && !own_looks) /* a thread that looks must not
                                                               * wait */
        pthread_cond_wait(&share_changed, &share_lock);
    while (op->state != ACUI_OP_FRESH && op->rest->planner && op->rest->planner != plan) {
        if (flushed) { /* until then another thread may wait for what this one has planned */
            if (waits_for(op, plan->thread))
                return acui_fail(ACU_ERR_INVALID,
                                 "the op is used within itself, by a callback of its own");
            wait_for(plan, op);
            continue;
        }
        flushed = true;
        pthread_mutex_unlock(&share_lock);
        acu_status status = plan->flush(plan);
        pthread_mutex_lock(&share_lock);
        ACUI_TRY(status);
    }
    if (op->state == ACUI_OP_PLANNING)
        return acui_fail(ACU_ERR_INVALID, "the op is used within itself, by a callback of its own");
    return ACU_OK;
}

/* What is left to plan of a deep composition, on another stack. */
typedef struct deeper {
    acui_plan *plan;
    acu_op *op;
    acu_device *fallback;
    acui_values *values;
    acu_status status;
} deeper;

static void plan_deeper(void *context)
{
    deeper *d = context;
    d->status = d->op->class->plan(d->plan, d->op, d->fallback, d->values);
}

static ACUI_APART acu_status plan_on_more_stack(acui_plan *plan, acu_op *op, acu_device *fallback,
                                                acui_values *values)
{
    deeper d = {.plan = plan, .op = op, .fallback = fallback, .values = values};
    return acui_stack_more(plan_deeper, &d) ? d.status : acui_fail(ACU_ERR_LIMIT, ACUI_NO_STACK);
}

static inline acu_status plan_fresh(acui_plan *plan, acu_op *op, acu_device *fallback,
                                    acui_values *values)
{
    acu_status status = ++plan->depth % 4 == 0 && acui_stack_is_short()
                            ? plan_on_more_stack(plan, op, fallback, values)
                            : op->class->plan(plan, op, fallback, values);
    plan->depth--;
    for (size_t i = 0; i < op->input_count; i++) { /* inputs that are left after a failure */
        if (op->inputs[i])
            acui_op_put(op->inputs[i]);
        op->inputs[i] = NULL;
    }
    return status == ACU_OK ? ACU_OK : acui_op_sign(op, status);
}

/* Keep what the op yields, or how it failed, for its other users. Share lock held. */
static void keep_result(acui_plan *plan, acu_op *op, acu_status status, acui_values *values)
{
    op->state = ACUI_OP_DONE;
    if (status == ACU_OK) {
        op->rest->values = *values;
        *values = (acui_values){0};
        op->rest->next_unpublished = plan->unpublished;
        plan->unpublished = acui_object_retain(op);
        return;
    }
    op->rest->planner = NULL;
    op->rest->fault = acui_fault_new(acui_error());
    pthread_cond_broadcast(&share_changed);
}

/* Plans an op that others may use: what becomes of the parts around it does not matter to them. */
static acu_status plan_shared(acui_plan *plan, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    ACUI_TRY(acui_child_begin_shared(plan, op));
    acui_child *child = op->rest->child;
    acu_status status = plan_fresh(plan, op, fallback, values);
    if (status == ACU_OK && plan->here) /* so that it is over, or fails, with all that it uses */
        status = acui_plan_await(plan, op, fallback, NULL);
    acui_child_end(plan, child);
    if (status != ACU_OK && child->domain) /* else all of the submission is refused */
        acui_child_refuse(plan, child);
    return status;
}

/* Share lock held. */
static void begin_shared(acui_plan *plan, acu_op *op)
{
    acui_op_rest *rest = op->rest;
    op->state = ACUI_OP_PLANNING;
    rest->planner = plan;
    rest->next_unpublished = NULL;
    rest->values = (acui_values){0};
    rest->child = NULL;
    rest->fault = NULL;
}

/* With `values` NULL they stay in the op. */
static ACUI_APART acu_status plan_used_twice(acui_plan *plan, acu_op *op, acu_device *fallback,
                                             acui_values *values)
{
    acui_values own = {0};
    pthread_mutex_lock(&share_lock);
    acu_status status = await_published(plan, op);
    if (status == ACU_OK && op->state != ACUI_OP_DONE) {
        begin_shared(plan, op);
        pthread_mutex_unlock(&share_lock);
        status = plan_shared(plan, op, fallback, &own);
        pthread_mutex_lock(&share_lock);
        keep_result(plan, op, status, &own);
    }
    if (status == ACU_OK && !op->rest->fault) { /* after a failure nothing of it stays in this
                                                 * plan */
        status = acui_import(plan, op, !values);
        if (status == ACU_OK)
            status = acui_front_note(plan, op->rest->child);
    }
    if (status == ACU_OK)
        status = deliver(op, values);
    pthread_mutex_unlock(&share_lock);
    acui_values_clear(&own);
    return status;
}

void acui_plan_publish(acui_plan *plan, acui_fault *fault)
{
    if (!plan->unpublished)
        return;
    pthread_mutex_lock(&share_lock);
    acu_op *list = plan->unpublished;
    plan->unpublished = NULL;
    for (acu_op *op = list; op; op = op->rest->next_unpublished) {
        op->rest->planner = NULL;
        op->rest->fault = acui_fault_retain(fault);
    }
    pthread_cond_broadcast(&share_changed);
    pthread_mutex_unlock(&share_lock);
    while (list) {
        acu_op *op = list;
        list = op->rest->next_unpublished;
        acui_op_put(op);
    }
}

void acui_plan_release_unreachable(acui_plan *plan)
{
    acui_plan_release_discarded(plan);
    for (acu_op *op = plan->unpublished; op; op = op->rest->next_unpublished)
        if (acui_object_refs(op) == 1) /* the list's */
            acui_values_clear(&op->rest->values);
}

/* A launch that is planned, and is nobody else's: it is freed only after the device has its
 * work. */
static inline bool is_spent(const acu_op *op)
{
    return op->class == &acui_class_LAUNCH && !op->u.call.kernel && acui_op_is_sole(op);
}

acu_status acui_plan_op(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_status status;
    if (acui_op_is_oom(op))
        status = acui_error_restore(&op->u.fault->error);
    else if (acui_op_is_sole(op))
        status = plan_fresh(plan, op, fallback, values);
    else
        status = plan_used_twice(plan, op, fallback, values);
    if (is_spent(op)) {
        op->next_dead = plan->spent;
        plan->spent = op;
    } else {
        acui_op_put(op);
    }
    return status;
}

acu_status acui_plan_looked_at(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    bool unwanted = values->unwanted;
    values->unwanted = false;
    acu_status status = acui_plan_op(plan, op, fallback, values);
    values->unwanted = unwanted;
    return status;
}

/* The values of an op whose parts are used one by one stay in the op: see PART (compose.c). */
acu_status acui_plan_into_op(acui_plan *plan, acu_op *op, acu_device *fallback)
{
    if (acui_op_is_oom(op))
        return acui_error_restore(&op->u.fault->error);
    return plan_used_twice(plan, op, fallback, NULL);
}

acu_status acui_plan_one(acui_plan *plan, acu_op *op, acu_device *fallback, const char *what,
                         acu_val *value)
{
    acui_values *stack = &plan->scratch;
    size_t base = stack->count;
    const char *name = op->class->name; /* static, so it outlives the op */
    acu_status status = acui_plan_op(plan, op, fallback, stack);
    size_t count = stack->count - base;
    if (status == ACU_OK && count != 1)
        status = acui_fail(ACU_ERR_ARGUMENTS,
                           "%s must be one value, but its op (%s) yields %zu; pick one with "
                           "acu_first, acu_last or acu_nth",
                           what, name, count);
    if (status == ACU_OK) {
        *value = stack->list[base];
        stack->list[base] = (acu_val){.kind = ACU_NONE};
    }
    acui_values_cut(stack, base);
    return status;
}

acu_status acui_plan_input(acui_plan *plan, acu_op *op, acu_device *fallback, acu_val *value)
{
    return acui_plan_one(plan, acui_op_take_input(op, 0), fallback, "the operand", value);
}
