/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies between tensors as ops: copy, dup, to_host, to_device. Forms, dtypes, shapes and overlap
 * are checked here; which way each copy goes is decided in copy_plan.c.
 */
#include "base/error.h"
#include "op/copy.h"
#include "op/make.h"

static acu_status plan_operand(acui_plan *plan, acu_op *op, size_t input, acu_device *fallback,
                               const char *what, acu_val *value)
{
    ACUI_TRY(acui_plan_one(plan, acui_op_take_input(op, input), fallback, what, value));
    if (value->kind == ACU_TENSOR)
        return ACU_OK;
    acui_val_drop(value);
    return acui_fail(ACU_ERR_INVALID, "%s of %s must be a tensor", what, acui_op_name(op));
}

/* ---- copy ---- */

bool acui_copy_is_idle(const acu_tensor *dst, const acu_tensor *src)
{
    if (dst->buffer != src->buffer || dst->offset != src->offset)
        return false;
    acui_layout layout = acui_layout_of(dst, src);
    bool same = true;
    for (int d = 0; d < layout.rank; d++)
        same = same && layout.dst[d] == layout.src[d];
    return same;
}

static acu_status check_overlap(const acu_tensor *dst, const acu_tensor *src)
{
    ACUI_TRY(acui_tensor_check_write(dst));
    acui_extent to = acui_tensor_extent(dst), from = acui_tensor_extent(src);
    if (dst->buffer != src->buffer || !acui_extents_overlap(&to, &from) ||
        acui_copy_is_idle(dst, src))
        return ACU_OK;
    acui_layout layout = acui_layout_of(dst, src);
    if (!acui_layout_overlaps(&layout, to.begin, from.begin))
        return ACU_OK;
    char a[96], b[96];
    return acui_fail(
        ACU_ERR_INVALID,
        "source (%s, bytes %llu to %llu of its buffer) and "
        "destination (%s, bytes %llu to %llu) share bytes: copy through another tensor",
        acui_tensor_words(src, b), (unsigned long long)from.begin, (unsigned long long)from.end,
        acui_tensor_words(dst, a), (unsigned long long)to.begin, (unsigned long long)to.end);
}

static acu_status refuse(acu_status status, const acu_val *dst, const acu_val *src, const char *why)
{
    char a[96], b[96];
    return acui_fail(status, "copy from %s to %s: %s", acui_tensor_words(src->tensor, b),
                     acui_tensor_words(dst->tensor, a), why);
}

acu_status acui_check_copy(const acu_val *dst, const acu_val *src)
{
    if (dst->form == ACU_SHARED)
        return refuse(ACU_ERR_SHARED, dst, src, "the destination is shared, for reading only");
    if (dst->tensor->dtype != src->tensor->dtype)
        return refuse(ACU_ERR_DTYPE, dst, src, "element types differ");
    if (!acu_shape_equal(dst->tensor->shape, src->tensor->shape))
        return refuse(ACU_ERR_SHAPE, dst, src, "shapes differ");
    return check_overlap(dst->tensor, src->tensor);
}

static acu_status plan_copy(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_val dst = {.kind = ACU_NONE}, src = {.kind = ACU_NONE};
    acu_status status = plan_operand(plan, op, 0, fallback, "the destination", &dst);
    if (status == ACU_OK)
        status = plan_operand(plan, op, 1, fallback, "the source", &src);
    if (status == ACU_OK)
        status = acui_check_copy(&dst, &src);
    if (status == ACU_OK)
        status = acui_plan_copy(plan, op, dst.tensor, src.tensor);
    if (status == ACU_OK)
        status = acui_values_push(values, dst);
    else
        acui_val_drop(&dst);
    if (status == ACU_OK)
        status = acui_values_push(values, src);
    else
        acui_val_drop(&src);
    return status;
}

const acui_op_class acui_class_COPY = {.name = "copy", .plan = plan_copy};

acu_op *acu_op_copy(acu_op *dst, acu_op *src, acu_site site)
{
    return acui_op_binary(&acui_class_COPY, dst, src, site);
}

/* ---- dup, to_device, to_host: a new tensor, and a copy into it ---- */

/* Plans a copy of the value into `made`, a new tensor; both references are consumed. */
static acu_status copy_into(acui_plan *plan, acu_op *op, acu_val *from, acu_tensor *made,
                            acui_values *values)
{
    acu_status status = acui_plan_copy(plan, op, made, from->tensor);
    acui_val_drop(from);
    acu_val value = {.kind = ACU_TENSOR, .form = ACU_OWNED, .tensor = made};
    if (status == ACU_OK)
        return acui_values_push(values, value);
    acui_val_drop(&value);
    return status;
}

/* Plans a dense copy of the operand on `target`; NULL: on the operand's own device. */
static acu_status plan_on_device(acui_plan *plan, acu_op *op, acu_device *fallback,
                                 acu_device *target, acui_values *values)
{
    acu_val from;
    ACUI_TRY(plan_operand(plan, op, 0, fallback, "the operand", &from));
    acu_device *device = target ? target : from.tensor->buffer->device;
    acu_tensor *made = NULL;
    acu_status status = acui_plan_tensor(plan, op, device, from.tensor->dtype, from.tensor->shape,
                                         &made);
    if (status == ACU_OK)
        return copy_into(plan, op, &from, made, values);
    acui_val_drop(&from);
    return status;
}

static acu_status plan_dup(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    return plan_on_device(plan, op, fallback, NULL, values);
}

const acui_op_class acui_class_DUP = {.name = "dup", .plan = plan_dup};

acu_op *acu_op_dup(acu_op *x, acu_site site)
{
    return acui_op_unary(&acui_class_DUP, x, site);
}

static acu_status plan_to_device(acui_plan *plan, acu_op *op, acu_device *fallback,
                                 acui_values *values)
{
    (void)fallback;
    return plan_on_device(plan, op, op->u.device, op->u.device, values);
}

static void destroy_to_device(acu_op *op)
{
    acu_device_release(op->u.device);
}

const acui_op_class acui_class_TO_DEVICE = {
    .name = "to_device", .plan = plan_to_device, .destroy = destroy_to_device};

acu_op *acu_op_to_device(acu_device *device, acu_op *x, acu_site site)
{
    if (acui_object_check(device, ACU_OBJECT_DEVICE, "acu_to_device") != ACU_OK) {
        acu_op_release(x);
        return acui_op_failed(&acui_class_TO_DEVICE, site);
    }
    acu_op *op = acui_op_unary(&acui_class_TO_DEVICE, x, site);
    if (!acui_op_is_oom(op))
        op->u.device = acu_device_retain(device);
    return op;
}

static acu_status plan_to_host(acui_plan *plan, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    acu_val from;
    ACUI_TRY(plan_operand(plan, op, 0, fallback, "the operand", &from));
    acu_status status = ACU_OK;
    if (!acui_on_device(from.tensor))
        status = acui_fail(ACU_ERR_NOT_SUPPORTED, "the operand is in host memory already");
    acu_device *device = from.tensor->buffer->device;
    acu_tensor *made = NULL;
    if (status == ACU_OK)
        status = acui_plan_host_tensor(plan, device, from.tensor->dtype, from.tensor->shape,
                                       &made);
    if (status == ACU_OK)
        return copy_into(plan, op, &from, made, values);
    acui_val_drop(&from);
    return status;
}

const acui_op_class acui_class_TO_HOST = {.name = "to_host", .plan = plan_to_host};

acu_op *acu_op_to_host(acu_op *x, acu_site site)
{
    return acui_op_unary(&acui_class_TO_HOST, x, site);
}
