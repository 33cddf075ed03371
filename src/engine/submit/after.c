/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* acu_after_future: an op behind all of another submission, whether they share data or not. When
 * it is planned, it puts the points of that submission's tasks in front of what is planned
 * inside it. */
#include "base/error.h"
#include "engine/completion/complete.h"
#include "engine/order/order.h"
#include "engine/submit/runtime.h"
#include "op/after.h"
#include "op/await.h"

/* Retain the points of its first `room` tasks, and return how many those are; NULL: only count
 * them. */
static size_t points_of(const acui_submission *s, acui_point **points, size_t room)
{
    size_t n = 0;
    acui_homes homes = acui_order_lock_all_of(&s->plan.homes);
    const acui_task *task = homes ? s->first_task : NULL;
    for (; task && n < room; task = task->next, n++)
        if (points)
            points[n] = acui_point_retain(task->point);
    acui_order_unlock(homes);
    return n;
}

/* The submission is planned: it gets no more tasks. */
static acu_status put_in_front(acui_plan *plan, acui_submission *s)
{
    if (!acui_submission_hold(s))
        return ACU_OK; /* all of it is over */
    size_t count = points_of(s, NULL, SIZE_MAX);
    acui_point **points = count ? acui_front_points(plan, count) : NULL;
    if (points)
        points_of(s, points, count);
    acui_submission_let_go(s);
    return points || !count ? ACU_OK : ACU_ERR_NO_MEMORY;
}

static acu_status find_points(acui_plan *plan, acu_future *future)
{
    ACUI_TRY(acui_future_begin(future));
    /* Acquire, both, from the thread that planned it: the submission and its tasks are there. */
    if (atomic_load_explicit(&future->planned, memory_order_acquire) ||
        acui_runtime_has_entered(future))
        return future->submission ? put_in_front(plan, future->submission) : ACU_OK;
    if (acui_future_state_of(future) == ACUI_FUTURE_DONE)
        return ACU_OK; /* refused, given up before it was planned, or not a submission */
    return acui_fail(ACU_ERR_BUSY,
                     "acu_after_future: what it is to come after is no submission, or "
                     "is being planned at this moment; wait until acu_future_planned says so");
}

static acu_status plan_after_future(acui_plan *plan, acu_op *op, acu_device *fallback,
                                    acui_values *values)
{
    const acui_after *before = plan->now.after;
    acu_status status = find_points(plan, op->u.future);
    if (status == ACU_OK) {
        uint32_t count = plan->count;
        status = acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values);
        if (status == ACU_OK && plan->count == count && plan->now.after != before) {
            plan->passes_on = true;
            status = acui_plan_await_front(plan, op, fallback);
        }
    }
    plan->now.after = before;
    return status;
}

static void destroy_after_future(acu_op *op)
{
    acu_future_release(op->u.future);
}

const acui_op_class acui_class_AFTER_FUTURE = {
    .name = "after_future",
    .plan = plan_after_future,
    .destroy = destroy_after_future,
    .passes = 1};

acu_op *acu_op_after_future(acu_op *x, acu_future *future, acu_site site)
{
    if (acui_object_check(future, ACU_OBJECT_FUTURE, "acu_after_future") != ACU_OK) {
        acu_op_release(x);
        return acui_op_failed(&acui_class_AFTER_FUTURE, site);
    }
    acu_op *op = acui_op_unary(&acui_class_AFTER_FUTURE, x, site);
    if (!acui_op_is_oom(op))
        op->u.future = acu_future_retain(future);
    return op;
}
