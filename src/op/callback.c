/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Host callbacks that run while an op is planned: then, make, map, inspect. They run on the thread
 * that plans, with no lock held. The function of `map` or `inspect` sees the values themselves; the
 * one of `then` sees them too, and returns the op that is planned behind what yields them.
 */
#include "base/callback.h"
#include "base/error.h"
#include "op/after.h"
#include "op/arg.h"
#include "op/await.h"

/* An op with one input and a function of the program's. It takes over the user data, which is
 * released if there is no such op. */
static acu_op *callback_op(const acui_op_class *class, acu_op *x, bool has_function, acu_user user,
                           acu_site site)
{
    if (!has_function) {
        acui_fail(ACU_ERR_INVALID, "%s got NULL where a function should be", class->name);
        acu_op_release(x);
        acui_user_release(user);
        return acui_op_failed(class, site);
    }
    acu_op *op = acui_op_unary(class, x, site);
    if (!acui_op_is_oom(op))
        acui_op_set_user(op, user);
    else
        acui_user_release(user);
    return op;
}

static acu_status plan_input(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    return acui_plan_looked_at(plan, acui_op_take_input(op, 0), fallback, values);
}

acu_status acui_callback_returned(const acu_op *op, acu_op *returned, const char *function,
                                  acu_op **next)
{
    acu_status status = acui_callback_leave_failed(function);
    if (status == ACU_OK && !returned)
        return acui_fail(ACU_ERR_CALLBACK, "the function given to %s returned no op", function);
    if (status == ACU_OK)
        *next = acui_op_take(returned, op->class, op->site);
    else
        acu_op_release(returned);
    return status;
}

/* ---- then ---- */

/* The op that the program's function returns for these values, taken. */
static acu_status call_then(acu_op *op, acui_values *in, acu_op **next)
{
    acui_callback_enter();
    acu_op *returned = op->u.then.fn(op->user.data, in->list, in->count);
    return acui_callback_returned(op, returned, "acu_then", next);
}

/* Plans what is in front of the next op, and gets that op. */
static acu_status plan_first(acui_plan *plan, acu_op *op, acu_device *fallback, acui_front *front,
                             acu_op **next)
{
    acui_values in = {0};
    *front = acui_front_start(plan);
    acu_status status = plan_input(plan, op, fallback, &in);
    if (status == ACU_OK)
        status = call_then(op, &in, next);
    acui_values_clear(&in);
    acu_status done = acui_front_done(plan, front);
    return status == ACU_OK ? done : status;
}

static acu_status plan_then(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acui_front front;
    acu_op *next = NULL;
    acu_status status = plan_first(plan, op, fallback, &front, &next);
    uint32_t count = plan->count;
    if (status == ACU_OK)
        status = acui_plan_op(plan, next, fallback, values);
    else
        acui_op_put(next);
    if (status == ACU_OK && plan->count == count && acui_front_is_elsewhere(plan))
        status = acui_plan_await_front(plan, op, fallback);
    acui_front_restore(plan, &front);
    return status;
}

const acui_op_class acui_class_THEN = {.name = "then", .plan = plan_then};

acu_op *acu_op_then(acu_op *x, acu_then_fn fn, acu_user user, acu_site site)
{
    acu_op *op = callback_op(&acui_class_THEN, x, fn != NULL, user, site);
    if (op->class == &acui_class_THEN)
        op->u.then.fn = fn;
    return op;
}

/* ---- make ---- */

static acu_status plan_make(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_device *device = acui_plan_device(fallback);
    if (!device)
        return ACU_ERR_INVALID;
    acui_callback_enter();
    acu_op *next = NULL, *returned = op->u.made.fn(op->user.data, device);
    ACUI_TRY(acui_callback_returned(op, returned, "acu_make", &next));
    return acui_plan_op(plan, next, fallback, values);
}

const acui_op_class acui_class_MAKE = {.name = "make", .plan = plan_make};

acu_op *acu_op_make(acu_make_fn fn, acu_user user, acu_site site)
{
    if (!fn)
        acui_fail(ACU_ERR_INVALID, "make got NULL where a function should be");
    acu_op *op = fn ? acui_op_new(&acui_class_MAKE, 0, site)
                    : acui_op_failed(&acui_class_MAKE, site);
    if (op->class == &acui_class_MAKE) {
        op->u.made.fn = fn;
        acui_op_set_user(op, user);
    } else {
        acui_user_release(user);
    }
    return op;
}

/* ---- map ---- */

static acu_status plan_map(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(plan_input(plan, op, fallback, values));
    plan->passes_on = true;
    acu_status was = acui_callback_enter_asked();
    acu_status status = op->u.map.fn(op->user.data, values->list + base, values->count - base);
    return acui_callback_leave_asked(was, status, "acu_map");
}

const acui_op_class acui_class_MAP = {.name = "map", .plan = plan_map};

acu_op *acu_op_map(acu_op *x, acu_map_fn fn, acu_user user, acu_site site)
{
    acu_op *op = callback_op(&acui_class_MAP, x, fn != NULL, user, site);
    if (op->class == &acui_class_MAP)
        op->u.map.fn = fn;
    return op;
}

/* ---- inspect ---- */

static acu_status plan_inspect(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(plan_input(plan, op, fallback, values));
    acui_callback_enter();
    op->u.inspect.fn(op->user.data, values->list + base, values->count - base);
    return acui_callback_leave_failed("acu_inspect");
}

const acui_op_class acui_class_INSPECT = {
    .name = "inspect", .plan = plan_inspect, .passes = 1};

acu_op *acu_op_inspect(acu_op *x, acu_inspect_fn fn, acu_user user, acu_site site)
{
    acu_op *op = callback_op(&acui_class_INSPECT, x, fn != NULL, user, site);
    if (op->class == &acui_class_INSPECT)
        op->u.inspect.fn = fn;
    return op;
}
