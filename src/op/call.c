/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls of the program's own functions inside a plan: `foreign`, which enqueues work on a stream,
 * and `host`, which does work on the host. The function gets tensors that are lent for the call, so
 * that they do not count against sole ownership.
 */
#include "base/callback.h"
#include "base/error.h"
#include "op/arg.h"
#include "op/call.h"

/* Where the call runs: the device of its first tensor, else the one that the plan says. */
static acu_device *call_device(const acu_val *values, size_t count, acu_device *fallback)
{
    for (size_t i = 0; i < count; i++)
        if (values[i].tensor)
            return values[i].tensor->buffer->device;
    return acui_plan_device(fallback);
}

/* Lend the values to the node's call. */
static acu_status lend_values(acui_plan *plan, acui_node *node, const acu_val *values, size_t count)
{
    node->u.call.values = ACUI_ARENA_ARRAY(&plan->arena, acu_val, count);
    if (!node->u.call.values)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the values of %s",
                         acui_op_name(node->u.call.op));
    for (size_t i = 0; i < count; i++) {
        ACUI_TRY(acui_lend(&values[i], &node->u.call.values[i]));
        node->u.call.count = i + 1;
    }
    return ACU_OK;
}

static acu_status add_call(acui_plan *plan, acu_op *op, acui_node_kind kind, acu_device *device,
                           const acu_val *values)
{
    size_t count = op->u.call.arg_count;
    acui_node *node = acui_plan_node(plan, kind, op, device, count);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    if (!(node->u.call.op = acui_op_for_node(op)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
    ACUI_TRY(acui_add_accesses(plan, node, op, values));
    return lend_values(plan, node, values, count);
}

/* ---- foreign ---- */

acu_status acui_plan_foreign(acui_plan *plan, acu_op *op, acu_device *device,
                             const acu_val *values)
{
    ACUI_TRY(add_call(plan, op, ACUI_NODE_FOREIGN, device, values));
    const acui_own_call *own = op->u.call.own;
    if (!own || !own->begin)
        return ACU_OK;
    return own->begin(op->user.data, device, &plan->last->u.call.behind);
}

static acu_status plan_foreign(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    size_t base = values->count;
    acui_args_count counts;
    ACUI_TRY(acui_plan_args(plan, op, fallback, values, &counts));
    acu_device *device = call_device(values->list + base, op->u.call.arg_count, fallback);
    if (!device)
        return ACU_ERR_INVALID;
    return acui_plan_foreign(plan, op, device, values->list + base);
}

const acui_op_class acui_class_FOREIGN = {
    .name = "foreign", .plan = plan_foreign, .destroy = acui_args_release};

/* ---- host ---- */

acu_status acui_check_host_values(const acu_val *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const acu_tensor *t = values[i].tensor;
        char words[96];
        if (t && !t->buffer->host && t->buffer->kind != ACU_MEMORY_MANAGED)
            return acui_fail(ACU_ERR_INVALID, "argument %zu of host work (%s) is in device memory; "
                             "bring it to the host with acu_to_host first", i,
                             acui_tensor_words(t, words));
    }
    return ACU_OK;
}

static acu_status plan_host(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    size_t base = values->count, count = op->u.call.arg_count;
    acui_args_count counts;
    ACUI_TRY(acui_plan_args(plan, op, fallback, values, &counts));
    ACUI_TRY(acui_check_host_values(values->list + base, count));
    acu_device *device = call_device(values->list + base, count, fallback);
    if (!device)
        return ACU_ERR_INVALID;
    return add_call(plan, op, ACUI_NODE_HOST, device, values->list + base);
}

acu_status acui_plan_look(acui_plan *plan, const acui_node *look)
{
    acu_op *op = look->u.call.op;
    size_t count = look->u.call.count;
    const acu_val *values = look->u.call.values;
    acui_node *node = acui_plan_node(plan, ACUI_NODE_HOST, op, look->device, count);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.call.op = acui_object_retain(op);
    for (size_t i = 0; i < count; i++)
        ACUI_TRY(acui_node_add_access(plan, node, values[i].tensor, ACU_READ));
    return lend_values(plan, node, values, count);
}

const acui_op_class acui_class_HOST = {
    .name = "host", .plan = plan_host, .destroy = acui_args_release};

/* ---- constructors ---- */

/* An op with its arguments and user data. If there is no such op the user data is released. */
static acu_op *call_op(const acui_op_class *class, bool has_function, acu_user user,
                       const acu_arg *args, size_t count, acu_site site)
{
    acu_op *op = acui_op_with_args(class, args, count, site);
    if (op->class == class && has_function) {
        acui_op_set_user(op, user);
        return op;
    }
    if (op->class == class) {
        acui_fail(ACU_ERR_INVALID, "%s got NULL where a function should be", class->name);
        acui_op_put(op);
        op = acui_op_failed(class, site);
    }
    acui_user_release(user);
    return op;
}

acu_op *acu_op_foreign(acu_foreign_fn fn, acu_user user, const acu_arg *args, size_t count,
                       acu_site site)
{
    acu_op *op = call_op(&acui_class_FOREIGN, fn != NULL, user, args, count, site);
    if (op->class == &acui_class_FOREIGN)
        op->u.call.foreign = fn;
    return op;
}

acu_op *acui_op_own_call(acu_op *op, const acui_own_call *own)
{
    if (op->class == &acui_class_FOREIGN && !acui_op_is_oom(op)) {
        op->u.call.own = own;
        op->u.call.capturable = true;
    }
    return op;
}

void acui_op_not_captured(acu_op *op)
{
    if (op->class == &acui_class_FOREIGN && !acui_op_is_oom(op))
        op->u.call.capturable = false;
}

acu_op *acui_op_own_host(acu_op *op)
{
    static const acui_own_call own;
    if (op->class == &acui_class_HOST && !acui_op_is_oom(op))
        op->u.call.own = &own;
    return op;
}

acu_op *acui_op_looks(acu_op *op)
{
    static const acui_own_call own = {.looks = true};
    if (op->class == &acui_class_HOST && !acui_op_is_oom(op))
        op->u.call.own = &own;
    return op;
}

bool acui_is_look(const acui_node *node)
{
    return node->kind == ACUI_NODE_HOST && node->u.call.op->u.call.own &&
           node->u.call.op->u.call.own->looks;
}

acu_stream *acui_own_stream(const acui_node *node)
{
    const acu_op *op = node->kind == ACUI_NODE_FOREIGN ? node->u.call.op : NULL;
    if (!op || op->class != &acui_class_FOREIGN || !op->u.call.own || !op->u.call.own->stream)
        return NULL;
    return op->u.call.own->stream(op->user.data);
}

acu_op *acu_op_capturable(acu_op *x, acu_site site)
{
    if (!acui_object_is(x, ACU_OBJECT_OP) || x->class == &acui_class_FAILED || acui_op_is_oom(x))
        return x; /* whoever takes it says what it is */
    if (x->class == &acui_class_FOREIGN) {
        x->u.call.capturable = true;
        return x;
    }
    acui_fail(ACU_ERR_INVALID, "acu_capturable is for an op of acu_foreign, not for %s",
              acui_op_name(x));
    acu_op_release(x);
    return acui_op_failed(&acui_class_FOREIGN, site);
}

acu_op *acu_op_host(acu_host_fn fn, acu_user user, const acu_arg *args, size_t count,
                    acu_site site)
{
    acu_op *op = call_op(&acui_class_HOST, fn != NULL, user, args, count, site);
    if (op->class == &acui_class_HOST) {
        op->u.call.host = fn;
        op->u.call.host_async = NULL;
    }
    return op;
}

acu_op *acu_op_host_async(acu_host_async_fn fn, acu_user user, const acu_arg *args, size_t count,
                          acu_site site)
{
    acu_op *op = call_op(&acui_class_HOST, fn != NULL, user, args, count, site);
    if (op->class == &acui_class_HOST) {
        op->u.call.host = NULL;
        op->u.call.host_async = fn;
    }
    return op;
}
