/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * or_else and finally: what runs because something failed, or whatever became of it.
 *
 * Both are planned, and have their place in the order, together with what they stand behind.
 * Whether an alternative runs is decided when all that was tried is over.
 */
#include "base/callback.h"
#include "base/error.h"
#include "op/after.h"
#include "op/await.h"
#include "op/child.h"
#include "op/rescue.h"

#include <string.h>

/* ---- the alternative's values in place of the first's ---- */

static bool is_same(const acu_tensor *a, const acu_tensor *b)
{
    return a->buffer == b->buffer && a->offset == b->offset &&
           memcmp(a->strides, b->strides, (size_t)a->shape.rank * sizeof *a->strides) == 0;
}

static acu_status check_tensors(const acu_val *first, const acu_val *other, size_t index)
{
    char a[96], b[96];
    acui_tensor_words(first->tensor, a);
    acui_tensor_words(other->tensor, b);
    if (first->tensor->dtype != other->tensor->dtype)
        return acui_fail(ACU_ERR_DTYPE,
                         "value %zu of the alternative is %s where the first op "
                         "yields %s",
                         index, b, a);
    if (!acu_shape_equal(first->tensor->shape, other->tensor->shape))
        return acui_fail(ACU_ERR_SHAPE,
                         "value %zu of the alternative is %s where the first op "
                         "yields %s",
                         index, b, a);
    if (first->kind == ACU_PARTITION && !acu_shape_equal(first->tile, other->tile))
        return acui_fail(ACU_ERR_SHAPE,
                         "value %zu of the alternative has other tiles than that of "
                         "the first op",
                         index);
    return ACU_OK;
}

static acu_status check_value(const acu_val *first, const acu_val *other, size_t index)
{
    if (first->kind != other->kind)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "value %zu of the alternative is of another kind "
                         "(tensor, partition or scalar) than that of the first op",
                         index);
    if (first->tensor)
        return check_tensors(first, other, index);
    if (first->kind == ACU_SCALAR &&
        (first->dtype != other->dtype || first->bits != other->bits))
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "value %zu of the alternative is another scalar than "
                         "that of the first op: scalars are known before either runs",
                         index);
    return ACU_OK;
}

/* Plans the memory of the first op's result, in case that was not even allocated. */
static acu_status plan_memory(acui_plan *plan, const acu_op *op, const acu_tensor *tensor)
{
    acu_buffer *buffer = tensor->buffer;
    if (buffer->host || atomic_load_explicit(&buffer->address, memory_order_acquire))
        return ACU_OK;
    acui_node *node = acui_plan_node(plan, ACUI_NODE_ALLOC, op, buffer->device, 1);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.alloc.buffer = buffer;
    node->u.alloc.bytes = buffer->bytes;
    return acui_node_add_bytes(plan, node, buffer, acui_extent_range(0, buffer->bytes), ACU_WRITE);
}

static acu_status replace(acui_plan *plan, acu_op *op, acu_device *fallback, const acu_val *first,
                          const acu_val *other)
{
    if (!first->tensor || is_same(first->tensor, other->tensor))
        return ACU_OK;
    ACUI_TRY(plan_memory(plan, op, first->tensor));
    acu_op *copy = acu_op_copy(acu_op_value(first->tensor, op->site),
                               acu_op_value(other->tensor, op->site), op->site);
    size_t base = plan->scratch.count;
    acu_status status =
        acui_plan_op(plan, acui_op_take(copy, op->class, op->site), fallback, &plan->scratch);
    acui_values_cut(&plan->scratch, base);
    return status;
}

acu_status acui_rescue_check(const acui_values *first, const acui_values *other)
{
    if (first->count != other->count)
        return acui_fail(ACU_ERR_ARGUMENTS, "the alternative yields %zu values where the first op "
                         "yields %zu", other->count, first->count);
    for (size_t i = 0; i < first->count; i++)
        ACUI_TRY(check_value(&first->list[i], &other->list[i], i));
    return ACU_OK;
}

static acu_status replace_all(acui_plan *plan, acu_op *op, acu_device *fallback,
                              const acui_values *first, const acui_values *other)
{
    ACUI_TRY(acui_rescue_check(first, other));
    for (size_t i = 0; i < first->count; i++)
        ACUI_TRY(replace(plan, op, fallback, &first->list[i], &other->list[i]));
    return ACU_OK;
}

/* ---- or_else ---- */

bool acui_rescue_wanted(const acu_op *op, const acui_fault *fault)
{
    if (!op->u.rescue.fn)
        return true;
    acui_callback_enter();
    bool wanted = op->u.rescue.fn(op->user.data, &fault->error);
    return acui_callback_leave_failed("acu_or_else_if") == ACU_OK && wanted;
}

/* The node that decides, when all that was tried is over. */
static acu_status plan_decision(acui_plan *plan, acu_op *op)
{
    acui_node *node = acui_plan_node(plan, ACUI_NODE_DECIDE, op, plan->last->device, 0);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    if (!(node->u.call.op = acui_op_for_node(op)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
    return ACU_OK;
}

static acu_status plan_other(acui_plan *plan, acu_op *op, acu_device *fallback, bool decide,
                             const acui_values *values)
{
    acui_values others = {0};
    acui_front front = acui_front_start(plan);
    acu_status status = decide ? plan_decision(plan, op) : ACU_OK;
    acu_status done = acui_front_done(plan, &front);
    if (status == ACU_OK)
        status = done;
    if (status == ACU_OK)
        status = acui_plan_op(plan, acui_op_take_input(op, 1), fallback, &others);
    if (status == ACU_OK) /* it fails with what it shares with others, if no data tells that */
        status = acui_plan_await(plan, op, fallback, NULL);
    if (status == ACU_OK)
        status = replace_all(plan, op, fallback, values, &others);
    acui_front_restore(plan, &front);
    acui_values_clear(&others);
    return status;
}

/* `decide`: what was tried has nodes, which may fail. */
static acu_status plan_alternative(acui_plan *plan, acu_op *op, acu_device *fallback, bool decide,
                                   const acui_child *tried, const acui_values *values)
{
    acui_child *child = acui_child_begin(plan, op, ACUI_CHILD_ELSE);
    if (!child)
        return ACU_ERR_NO_MEMORY;
    child->tried = tried;
    acu_status status = plan_other(plan, op, fallback, decide, values);
    acui_child_end(plan, child);
    return status;
}

/* Keeps the thread's record, because what is tried may change it though the call is to succeed. Not
 * on the stack: these nest. NULL: no memory for it. */
static const acu_error *keep_record(acui_plan *plan)
{
    static const acu_error none = {.device = -1};
    if (acui_error()->status == ACU_OK)
        return &none;
    acu_error *kept = ACUI_ARENA_NEW(&plan->arena, acu_error);
    if (kept)
        *kept = *acui_error();
    return kept;
}

/* Planning the first op failed: then the alternative is all there is. `before` is the thread's
 * record from before that was tried. */
static acu_status plan_instead(acui_plan *plan, acu_op *op, acu_device *fallback, acui_child *tried,
                               const acu_error *before, acui_values *values)
{
    if (!acui_rescue_wanted(op, tried->fault))
        return acui_error_restore(&tried->fault->error);
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 1), fallback, values);
    if (status == ACU_OK && before)
        acui_error_restore(before);
    return status;
}

/* Plans what is tried, whose values these are, and the alternative, which puts its values in their
 * place. */
static acu_status plan_both(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    const acu_error *before = keep_record(plan);
    acui_child *tried = acui_child_begin(plan, op, ACUI_CHILD_TRY);
    if (!tried)
        return ACU_ERR_NO_MEMORY;
    acui_front front = acui_front_start(plan);
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values);
    if (status == ACU_OK)
        status = acui_plan_await(plan, op, fallback, values);
    acui_child_end(plan, tried);
    bool refused = status != ACU_OK;
    if (refused)
        acui_child_refuse(plan, tried);
    acu_status done = acui_front_done(plan, &front);
    if (done == ACU_OK && !refused) {
        status = plan_alternative(plan, op, fallback, plan->count > front.first, tried, values);
    } else if (done != ACU_OK) {
        status = done;
    }
    acui_front_restore(plan, &front);
    if (done != ACU_OK || !refused)
        return status;
    acui_values_cut(values, 0);
    return plan_instead(plan, op, fallback, tried, before, values);
}

static acu_status plan_or_else(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    acui_values mine = {0}; /* all of them, wanted or not */
    acu_status status = plan_both(plan, op, fallback, &mine);
    for (size_t i = 0; i < mine.count && status == ACU_OK; i++) {
        status = acui_values_push(values, mine.list[i]);
        mine.list[i] = (acu_val){.kind = ACU_NONE};
    }
    acui_values_clear(&mine);
    return status;
}

const acui_op_class acui_class_OR_ELSE = {.name = "or_else", .plan = plan_or_else};

acu_op *acu_op_or_else(acu_op *x, acu_op *other, acu_or_else_fn fn, acu_user user, acu_site site)
{
    acu_op *op = acui_op_binary(&acui_class_OR_ELSE, x, other, site);
    if (!acui_op_is_oom(op)) {
        op->u.rescue.fn = fn;
        acui_op_set_user(op, user);
    } else {
        acui_user_release(user);
    }
    return op;
}

/* ---- finally ---- */

/* Plans the last op, in a child of its own, behind what is in front. */
static acu_status plan_last(acui_plan *plan, acu_op *op, acu_device *fallback)
{
    acui_child *child = acui_child_begin(plan, op, ACUI_CHILD_FINALLY);
    if (!child)
        return ACU_ERR_NO_MEMORY;
    acui_values unused = {.unwanted = true};
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 1), fallback, &unused);
    if (status == ACU_OK) /* it fails with what others planned, if no data tells that */
        status = acui_plan_await(plan, op, fallback, NULL);
    acui_child_end(plan, child);
    acui_values_clear(&unused);
    return status;
}

static acu_status plan_finally(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    acui_front front = acui_front_start(plan);
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values);
    acu_status done = acui_front_done(plan, &front);
    if (status == ACU_OK)
        status = done;
    if (status == ACU_OK)
        status = plan_last(plan, op, fallback);
    acui_front_restore(plan, &front);
    return status;
}

const acui_op_class acui_class_FINALLY = {
    .name = "finally", .plan = plan_finally, .passes = 1};

acu_op *acu_op_finally(acu_op *x, acu_op *last, acu_site site)
{
    return acui_op_binary(&acui_class_FINALLY, x, last, site);
}
