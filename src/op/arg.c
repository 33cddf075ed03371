/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arguments of launches, foreign calls and host calls: how they are made, taken by an op, and
 * planned to values. Taking consumes op arguments in any case, and copies or retains whatever else
 * the caller may free; planning checks that an argument that is written is neither shared nor
 * written twice.
 */
#include "op/arg.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rare.h"
#include "op/inside.h"

#include <stdio.h>
#include <string.h>

acu_arg acu_arg_op(acu_op *op, acu_access access)
{
    return acui_arg_op(op, access);
}

acu_arg acu_arg_tensor(acu_tensor *tensor, acu_access access)
{
    return acui_arg_tensor(tensor, access);
}

acu_arg acu_arg_scalar(acu_dtype dtype, uint64_t bits)
{
    return acui_arg_scalar(dtype, bits);
}

acu_arg acu_arg_struct(const void *memory, size_t bytes)
{
    return (acu_arg){.kind = ACU_ARG_STRUCT,
                     .bytes = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes,
                     .u.memory = memory};
}

acu_arg acu_arg_list(acu_tensor *const *tensors, size_t count, acu_access access)
{
    return (acu_arg){.kind = ACU_ARG_LIST,
                     .access = acui_arg_access(access),
                     .bytes = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count,
                     .u.memory = tensors};
}

acu_arg acu_arg_fields(const acu_struct *with)
{
    return (acu_arg){.kind = ACU_ARG_FIELDS, .u.memory = with};
}

acu_status acui_arg_refuse_access(const acu_arg *arg, size_t index)
{
    return acui_fail(ACU_ERR_INVALID,
                     "argument %zu: %d is no access (ACU_READ, ACU_WRITE or ACU_UPDATE)", index,
                     (int)arg->access);
}

acu_status acui_arg_check_scalar(const acu_arg *arg, const char *function)
{
    if (arg->kind == ACU_ARG_OP)
        acu_op_release(arg->u.op);
    if (arg->kind != ACU_ARG_SCALAR)
        return acui_fail(ACU_ERR_INVALID, "%s wants a scalar, such as acu_f32(2)", function);
    if (!acu_dtype_bytes(acui_arg_dtype_of(arg)))
        return acui_fail(ACU_ERR_DTYPE, "%s: %d is no element type", function, (int)arg->dtype);
    if (acui_arg_dtype_of(arg) == ACU_C128 && !arg->u.memory)
        return acui_fail(ACU_ERR_INVALID, "%s: acu_c128 got no memory to copy from", function);
    return ACU_OK;
}

acui_scalar acui_arg_scalar_of(const acu_arg *scalar)
{
    acui_scalar of = {.bits = scalar->u.bits};
    if (acui_arg_dtype_of(scalar) == ACU_C128)
        memcpy(&of, scalar->u.memory, sizeof of);
    return of;
}

/* Copies the memory of a struct argument, so that the caller may free its own. */
static acu_status keep_struct(acu_arg *arg, size_t index)
{
    if (!arg->u.memory || arg->bytes == 0 || arg->bytes > ACUI_STRUCT_MAX) {
        uint32_t bytes = arg->bytes;
        arg->kind = ACU_ARG_NONE; /* no memory of ours to free */
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "argument %zu: a struct must have 1 to %d bytes, not %u, and an address",
                         index, ACUI_STRUCT_MAX, bytes);
    }
    void *copy = acui_alloc(arg->bytes);
    if (copy)
        memcpy(copy, arg->u.memory, arg->bytes);
    arg->u.memory = copy;
    return copy ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory for argument %zu", index);
}

ACUI_RARE static acu_status refuse_tensor(const acu_op *op, acu_arg *arg, size_t index)
{
    char what[64];
    arg->kind = ACU_ARG_NONE; /* no reference of ours to release */
    snprintf(what, sizeof what, "argument %zu of %s", index, op->class->name);
    return acui_object_refuse(arg->u.tensor, ACU_OBJECT_TENSOR, what);
}

static inline acu_status keep_tensor(const acu_op *op, acu_arg *arg, size_t index)
{
    if (!acui_object_is(arg->u.tensor, ACU_OBJECT_TENSOR))
        return refuse_tensor(op, arg, index);
    acui_object_retain(arg->u.tensor);
    return acui_arg_has_access(arg) ? ACU_OK : acui_arg_refuse_access(arg, index);
}

static inline acu_status keep_op(acu_op *op, const acu_arg *arg, size_t index)
{
    op->inputs[op->input_count++] = acui_op_take(arg->u.op, op->class, op->site);
    return acui_arg_has_access(arg) ? ACU_OK : acui_arg_refuse_access(arg, index);
}

static inline acu_status keep_scalar(acu_arg *arg, size_t index)
{
    if (arg->dtype == ACU_C128) { /* the kernel gets a struct of two doubles */
        *arg = acu_arg_struct(arg->u.memory, 2 * sizeof(double));
        return keep_struct(arg, index);
    }
    return acu_dtype_bytes(acui_arg_dtype_of(arg))
               ? ACU_OK
               : acui_fail(ACU_ERR_DTYPE, "argument %zu: %d is no element type", index,
                           (int)arg->dtype);
}

/* The rare kinds: neither a tensor, nor an op, nor a scalar. */
static ACUI_APART acu_status keep_rare(const acu_op *op, acu_arg *arg, size_t index)
{
    if (arg->kind == ACU_ARG_STRUCT)
        return keep_struct(arg, index);
    if (arg->kind == ACU_ARG_LIST || arg->kind == ACU_ARG_FIELDS)
        return acui_inside_keep(op, arg, index);
    return acui_fail(ACU_ERR_ARGUMENTS,
                     "argument %zu was not made by acu_in, acu_out, acu_inout or a scalar", index);
}

static inline acu_status keep(acu_op *op, acu_arg *arg, size_t index)
{
    if (arg->kind == ACU_ARG_TENSOR)
        return keep_tensor(op, arg, index);
    if (arg->kind == ACU_ARG_SCALAR)
        return keep_scalar(arg, index);
    return arg->kind == ACU_ARG_OP ? keep_op(op, arg, index) : keep_rare(op, arg, index);
}

/* Consumes the op arguments that no op will hold. */
static void drop_args(const acu_arg *args, size_t from, size_t count)
{
    for (size_t i = from; i < count; i++)
        if (args[i].kind == ACU_ARG_OP)
            acu_op_release(args[i].u.op);
}

acu_op *acui_op_with_args(const acui_op_class *class, const acu_arg *args, size_t count,
                          acu_site site)
{
    if (count && !args) {
        acui_fail(ACU_ERR_INVALID, "%s got NULL where a list of %zu arguments should be",
                  class->name, count);
        return acui_op_failed(class, site);
    }
    acu_op *op = acui_op_new_call(class, count, site);
    if (acui_op_is_oom(op)) {
        drop_args(args, 0, count);
        return op;
    }
    acu_status status = ACU_OK;
    acu_arg *kept = op->u.call.args;
    size_t i = 0;
    for (; i < count && status == ACU_OK; i++) {
        kept[i] = args[i];
        status = keep(op, &kept[i], i);
    }
    op->u.call.arg_count = i;
    if (status == ACU_OK)
        return op;
    drop_args(args, i, count);
    acu_op *failed = acui_op_failed(class, site);
    acui_op_put(op);
    return failed;
}

void acui_args_release(acu_op *op)
{
    size_t count = op->u.call.arg_count;
    op->u.call.arg_count = 0;
    for (size_t i = 0; i < count; i++) {
        const acu_arg *arg = &op->u.call.args[i];
        if (arg->kind == ACU_ARG_TENSOR && arg->u.tensor)
            acu_tensor_release(arg->u.tensor);
        else if (arg->kind == ACU_ARG_STRUCT)
            acui_free((void *)(uintptr_t)arg->u.memory);
        else
            acui_inside_release(arg);
    }
}

static ACUI_APART acu_status walk_operand(acui_plan *plan, acu_op *x, size_t index,
                                          acu_device *device, acui_values *values)
{
    static const char *const names[] = {"argument 0", "argument 1", "argument 2", "argument 3",
                                        "argument 4", "argument 5", "argument 6", "argument 7"};
    const char *what = index < 8 ? names[index] : "an argument behind the eighth";
    acu_val planned;
    ACUI_TRY(acui_plan_one(plan, x, device, what, &planned));
    return acui_values_push(values, planned);
}

/* Takes the op out of `*input`. The list has room for its value at the end; the list may have moved
 * afterwards. */
static inline acu_status plan_operand(acui_plan *plan, acu_op **input, size_t index,
                                      acu_device *device, acui_values *values)
{
    acu_op *x = *input;
    *input = NULL;
    acu_val *value = &values->list[values->count];
    if (!acui_partition_take(x, value) && !acui_value_take(x, value))
        return walk_operand(plan, x, index, device, values);
    values->count++;
    return ACU_OK;
}

/* The value of an argument that is no op. The op's reference moves to the value: an op is planned
 * once. */
static inline void take_arg(acu_arg *arg, acu_val *value)
{
    if (arg->kind == ACU_ARG_TENSOR) {
        value->kind = ACU_TENSOR;
        value->form = ACU_BORROWED;
        value->tensor = arg->u.tensor;
        arg->u.tensor = NULL;
        return;
    }
    value->kind = arg->kind == ACU_ARG_SCALAR ? ACU_SCALAR : ACU_NONE;
    value->tensor = NULL;
    value->dtype = acui_arg_dtype_of(arg);
    value->bits = arg->u.bits;
}

acu_status acui_plan_args(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values,
                          acui_args_count *counts)
{
    size_t base = values->count, count = op->u.call.arg_count, writes = 0;
    acu_op **input = op->inputs;
    *counts = (acui_args_count){{0}};
    while (values->room - base < count)
        if (!acui_values_grow(values))
            return ACU_ERR_NO_MEMORY;
    acu_val *value = values->list + base;
    acu_arg *arg = op->u.call.args;
    for (size_t i = 0; i < count; i++, arg++, value++) {
        if (arg->kind == ACU_ARG_OP) {
            ACUI_TRY(plan_operand(plan, input++, i, fallback, values));
            value = values->list + base + i; /* the list may have moved */
        } else {
            take_arg(arg, value);
            values->count++;
        }
        /* Most arguments are only read, and a written one is mostly the only one. */
        if (arg->access & ACU_WRITE &&
            (writes++ > 0 || !value->tensor || value->form == ACU_SHARED))
            ACUI_TRY(acui_check_writes(op, values->list + base, i));
        counts->of[value->kind]++;
    }
    return ACU_OK;
}

acu_status acui_add_accesses(acui_plan *plan, acui_node *node, const acu_op *op,
                             const acu_val *values)
{
    for (size_t i = 0; i < op->u.call.arg_count; i++) {
        const acu_arg *arg = &op->u.call.args[i];
        if (values[i].tensor)
            ACUI_TRY(acui_node_add_access(plan, node, values[i].tensor,
                                          acui_access_of(&values[i], arg)));
    }
    return ACU_OK;
}
