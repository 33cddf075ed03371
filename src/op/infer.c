/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What each kind of op would yield. The checks are those of planning, and so are their messages, so
 * that describing an op fails the way submitting it would.
 */
#include "base/error.h"
#include "memory/pool.h"
#include "op/arg.h"
#include "op/copy.h"
#include "op/describe.h"
#include "op/grid.h"
#include "op/launch.h"
#include "op/make.h"
#include "op/rescue.h"

#include <stdio.h>

/* ---- as it is, or nearly --------------------------------------------------------------------- */

static acu_status infer_failed(acui_infer *infer, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    (void)infer, (void)fallback, (void)values;
    return acui_error_restore(&op->u.fault->error);
}

static acu_status infer_value(acui_infer *infer, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    (void)fallback;
    return acui_infer_stand_in(infer, &op->u.value, values);
}

static acu_status infer_input(acui_infer *infer, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    return acui_infer_op(infer, op->inputs[0], fallback, values);
}

static acu_status infer_on(acui_infer *infer, acu_op *op, acu_device *fallback, acui_values *values)
{
    (void)fallback;
    return acui_infer_op(infer, op->inputs[0], op->u.device, values);
}

static acu_status infer_zip(acui_infer *infer, acu_op *op, acu_device *fallback,
                            acui_values *values)
{
    for (size_t i = 0; i < op->input_count; i++)
        ACUI_TRY(acui_infer_op(infer, op->inputs[i], fallback, values));
    return ACU_OK;
}

/* Keeps one of the values from `base` on, and drops the rest. */
static acu_status pick(acui_values *values, size_t base, size_t index)
{
    acu_val value = values->list[base + index];
    values->list[base + index] = (acu_val){.kind = ACU_NONE};
    acui_values_cut(values, base);
    return acui_values_push(values, value);
}

static acu_status infer_part(acui_infer *infer, acu_op *op, acu_device *fallback,
                             acui_values *values)
{
    return acui_infer_part(infer, op, fallback, values);
}

static acu_status infer_nth(acui_infer *infer, acu_op *op, acu_device *fallback,
                            acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(infer_input(infer, op, fallback, values));
    size_t count = values->count - base;
    size_t index = op->u.index == ACU_LAST ? count - 1 : op->u.index;
    if (count == 0 || index >= count)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "there is no value %zu: the op yields %zu, counted from 0",
                         op->u.index == ACU_LAST ? 0 : index, count);
    return pick(values, base, index);
}

static acu_status infer_share(acui_infer *infer, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    size_t i = values->count;
    ACUI_TRY(infer_input(infer, op, fallback, values));
    for (; i < values->count; i++)
        values->list[i].form = ACU_SHARED;
    return ACU_OK;
}

static acu_status infer_own(acui_infer *infer, acu_op *op, acu_device *fallback,
                            acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(infer_input(infer, op, fallback, values));
    return acui_own_values(values->list + base, values->count - base);
}

/* ---- partitions and views -------------------------------------------------------------------- */

static acu_status infer_partition(acui_infer *infer, acu_op *op, acu_device *fallback,
                                  acui_values *values)
{
    acu_val value = op->u.value;
    if (op->input_count)
        ACUI_TRY(acui_infer_one(infer, op->inputs[0], fallback, "the operand", &value));
    else
        ACUI_TRY(acui_infer_tensor(infer, &value));
    acu_status status = acui_partition_value(op, &value);
    if (status == ACU_OK)
        return acui_values_push(values, value);
    acui_val_drop(&value);
    return status;
}

static acu_status infer_unpartition(acui_infer *infer, acu_op *op, acu_device *fallback,
                                    acui_values *values)
{
    size_t i = values->count;
    ACUI_TRY(infer_input(infer, op, fallback, values));
    for (; i < values->count; i++)
        if (values->list[i].kind == ACU_PARTITION)
            values->list[i].kind = ACU_TENSOR;
    return ACU_OK;
}

static acu_status infer_view(acui_infer *infer, acu_op *op, acu_device *fallback,
                             acui_values *values)
{
    acu_val value;
    ACUI_TRY(acui_infer_one(infer, op->inputs[0], fallback, "the operand", &value));
    acu_status status = acui_view_value(op, &value);
    if (status == ACU_OK)
        return acui_values_push(values, value);
    acui_val_drop(&value);
    return status;
}

/* ---- new tensors, fills and copies ----------------------------------------------------------- */

static acu_status push_new(acui_infer *infer, acu_device *device, acu_memory_kind kind,
                           acu_dtype dtype, acu_shape shape, acui_values *values)
{
    acu_tensor *made = NULL;
    if (!device)
        return ACU_ERR_INVALID;
    ACUI_TRY(acui_plan_pool(*acui_infer_pool(infer, kind), device, NULL));
    ACUI_TRY(acui_tensor_planned(device, dtype, shape, &made));
    static char nowhere; /* a stand-in address, for checks that ask whether there is one */
    made->buffer->kind = kind;
    made->buffer->host = kind == ACU_MEMORY_PINNED ? &nowhere : NULL;
    return acui_values_push(values,
                            (acu_val){.kind = ACU_TENSOR, .form = ACU_OWNED, .tensor = made});
}

static acu_status infer_new(acui_infer *infer, acu_op *op, acu_device *fallback,
                            acui_values *values)
{
    return push_new(infer, acui_plan_device(fallback), ACU_MEMORY_DEVICE, op->u.make.dtype,
                    op->u.make.shape, values);
}

static acu_status infer_fill(acui_infer *infer, acu_op *op, acu_device *fallback,
                             acui_values *values)
{
    acu_val value;
    ACUI_TRY(acui_infer_one(infer, op->inputs[0], fallback, "the operand", &value));
    acu_status status = acui_check_fill(&value, op->u.fill.dtype);
    if (status == ACU_OK)
        return acui_values_push(values, value);
    acui_val_drop(&value);
    return status;
}

static acu_status infer_operand(acui_infer *infer, acu_op *op, size_t input, acu_device *fallback,
                                const char *what, acui_values *values)
{
    acu_val value;
    ACUI_TRY(acui_infer_one(infer, op->inputs[input], fallback, what, &value));
    bool tensor = value.kind == ACU_TENSOR;
    ACUI_TRY(acui_values_push(values, value));
    return tensor ? ACU_OK : acui_fail(ACU_ERR_INVALID, "%s of %s must be a tensor", what,
                                       acui_op_name(op));
}

static acu_status infer_copy(acui_infer *infer, acu_op *op, acu_device *fallback,
                             acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(infer_operand(infer, op, 0, fallback, "the destination", values));
    ACUI_TRY(infer_operand(infer, op, 1, fallback, "the source", values));
    return acui_check_copy(&values->list[base], &values->list[base + 1]);
}

static acu_status infer_dup(acui_infer *infer, acu_op *op, acu_device *fallback,
                            acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(infer_operand(infer, op, 0, fallback, "the operand", values));
    const acu_tensor *t = values->list[base].tensor;
    bool to_host = op->class == &acui_class_TO_HOST;
    if (to_host && !acui_on_device(t))
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "the operand is in host memory already");
    acu_device *device = op->class == &acui_class_TO_DEVICE ? op->u.device : t->buffer->device;
    ACUI_TRY(push_new(infer, device, to_host ? ACU_MEMORY_PINNED : ACU_MEMORY_DEVICE, t->dtype,
                      t->shape, values));
    return pick(values, base, 1);
}

/* ---- launches and calls ---------------------------------------------------------------------- */

static acu_status infer_arg(acui_infer *infer, acu_op *op, size_t index, size_t *input,
                            acu_device *device, acui_values *values)
{
    const acu_arg *arg = &op->u.call.args[index];
    acu_val value = {.kind = ACU_NONE};
    char what[32];
    switch ((acu_arg_kind)arg->kind) {
    case ACU_ARG_OP:
        snprintf(what, sizeof what, "argument %zu", index);
        ACUI_TRY(acui_infer_one(infer, op->inputs[(*input)++], device, what, &value));
        return acui_values_push(values, value);
    case ACU_ARG_TENSOR:
        value = (acu_val){.kind = ACU_TENSOR, .form = ACU_BORROWED, .tensor = arg->u.tensor};
        return acui_infer_stand_in(infer, &value, values);
    case ACU_ARG_SCALAR:
        value = (acu_val){.kind = ACU_SCALAR, .dtype = acui_arg_dtype_of(arg), .bits = arg->u.bits};
        break;
    default:
        break;
    }
    return acui_values_push(values, value);
}

static acu_status infer_args(acui_infer *infer, acu_op *op, acu_device *fallback,
                             acui_values *values)
{
    size_t base = values->count, input = 0;
    for (size_t i = 0; i < op->u.call.arg_count; i++) {
        ACUI_TRY(infer_arg(infer, op, i, &input, fallback, values));
        const acu_tensor *t = values->list[base + i].tensor;
        ACUI_TRY(acui_check_writes(op, values->list + base, i));
        if (t && (op->u.call.args[i].access & ACU_WRITE))
            ACUI_TRY(acui_tensor_check_write(t));
    }
    return ACU_OK;
}

static acu_status infer_launch(acui_infer *infer, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    (void)fallback;
    acu_kernel *kernel = op->u.call.kernel;
    acu_config config = op->u.call.config;
    size_t base = values->count;
    ACUI_TRY(infer_args(infer, op, kernel->module->device, values));
    const acu_val *list = values->list + base;
    bool early;
    ACUI_TRY(acui_launch_check(op, list, &config, &early));
    if (acui_launches_nothing(&config))
        return ACU_OK;
    return early ? acui_kernel_config_early(kernel, &config)
                 : acui_kernel_config_check(kernel, &config);
}

static acu_status infer_host(acui_infer *infer, acu_op *op, acu_device *fallback,
                             acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(infer_args(infer, op, fallback, values));
    return acui_check_host_values(values->list + base, op->u.call.arg_count);
}

/* ---- custom ---------------------------------------------------------------------------------- */

static acu_status infer_custom(acui_infer *infer, acu_op *op, acu_device *fallback,
                               acui_values *values)
{
    acui_values operands = {0};
    acu_val out = {.kind = ACU_NONE};
    acu_op *next = NULL;
    acu_status status = ACU_OK;
    for (size_t i = 0; i < op->input_count && status == ACU_OK; i++) {
        char what[32];
        acu_val value = {.kind = ACU_NONE};
        snprintf(what, sizeof what, "operand %zu", i);
        status = acui_infer_one(infer, op->inputs[i], fallback, what, &value);
        if (status == ACU_OK)
            status = acui_values_push(&operands, value);
    }
    if (status == ACU_OK)
        status = acui_call_custom(op, operands.list, &out, &fallback, &next);
    acui_values_clear(&operands);
    if (status != ACU_OK)
        return status;
    status = acui_infer_op(infer, next, fallback, values);
    acui_op_put(next);
    return status;
}

/* ---- pools, order, alternatives ------------------------------------------------------------ */

static acu_status infer_with_pool(acui_infer *infer, acu_op *op, acu_device *fallback,
                                  acui_values *values)
{
    acu_pool **now = acui_infer_pool(infer, op->u.pool->kind), *outer = *now;
    *now = op->u.pool;
    acu_status status = infer_input(infer, op, fallback, values);
    *now = outer;
    return status;
}

/* Infers an op only for its errors. */
static acu_status infer_unused(acui_infer *infer, acu_op *x, acu_device *fallback)
{
    acui_values unused = {0};
    acu_status status = acui_infer_op(infer, x, fallback, &unused);
    acui_values_clear(&unused);
    return status;
}

static acu_status infer_after(acui_infer *infer, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    ACUI_TRY(infer_unused(infer, op->inputs[1], fallback));
    return infer_input(infer, op, fallback, values);
}

static acu_status infer_finally(acui_infer *infer, acu_op *op, acu_device *fallback,
                                acui_values *values)
{
    ACUI_TRY(infer_input(infer, op, fallback, values));
    return infer_unused(infer, op->inputs[1], fallback);
}

/* What is refused yields nothing: then the alternative is all there is, unless the program's
 * function is to be asked first. */
static acu_status infer_instead(acui_infer *infer, acu_op *op, acu_device *fallback,
                                acui_values *values)
{
    if (acui_infer_is_unknown(infer))
        return acui_error()->status;
    if (op->u.rescue.fn)
        return acui_fail(ACU_ERR_NOT_SUPPORTED, "whether the alternative of %s takes the place of "
                         "what is refused is known once it is submitted", acui_op_name(op));
    return acui_infer_op(infer, op->inputs[1], fallback, values);
}

static acu_status infer_or_else(acui_infer *infer, acu_op *op, acu_device *fallback,
                                acui_values *values)
{
    acui_values first = {0}, other = {0};
    acu_status status = acui_infer_op(infer, op->inputs[0], fallback, &first);
    if (status != ACU_OK) {
        acui_values_clear(&first);
        return infer_instead(infer, op, fallback, values);
    }
    status = acui_infer_op(infer, op->inputs[1], fallback, &other);
    if (status == ACU_OK)
        status = acui_rescue_check(&first, &other);
    for (size_t i = 0; i < first.count && status == ACU_OK; i++) {
        status = acui_values_push(values, first.list[i]);
        first.list[i] = (acu_val){.kind = ACU_NONE};
    }
    acui_values_clear(&first);
    acui_values_clear(&other);
    return status;
}

/* ---- by kind --------------------------------------------------------------------------------- */

/* Not here: then, map and make, where functions of the program's decide; replay, after_future,
 * copies, into, prefetch and advise. What these yield is known once they are submitted. */
static const struct {
    const acui_op_class *class;
    acui_infer_fn fn;
} kinds[] = {
    {&acui_class_FAILED, infer_failed},       {&acui_class_VALUE, infer_value},
    {&acui_class_ZIP, infer_zip},             {&acui_class_PART, infer_part},
    {&acui_class_NTH, infer_nth},             {&acui_class_INSPECT, infer_input},
    {&acui_class_SHARE, infer_share},         {&acui_class_OWN, infer_own},
    {&acui_class_ON, infer_on},               {&acui_class_PARTITION, infer_partition},
    {&acui_class_UNPARTITION, infer_unpartition}, {&acui_class_RESHAPE, infer_view},
    {&acui_class_SLICE, infer_view},          {&acui_class_SELECT, infer_view},
    {&acui_class_SQUEEZE, infer_view},        {&acui_class_UNSQUEEZE, infer_view},
    {&acui_class_PERMUTE, infer_view},        {&acui_class_TRANSPOSE, infer_view},
    {&acui_class_BROADCAST, infer_view},      {&acui_class_FLATTEN, infer_view},
    {&acui_class_REINTERPRET, infer_view},    {&acui_class_EMPTY, infer_new},
    {&acui_class_CONST, infer_new},           {&acui_class_META, infer_new},
    {&acui_class_FILL, infer_fill},           {&acui_class_COPY, infer_copy},
    {&acui_class_DUP, infer_dup},             {&acui_class_TO_HOST, infer_dup},
    {&acui_class_TO_DEVICE, infer_dup},       {&acui_class_LAUNCH, infer_launch},
    {&acui_class_FOREIGN, infer_args},        {&acui_class_HOST, infer_host},
    {&acui_class_CONTEXT, infer_input},       {&acui_class_OR_ELSE, infer_or_else},
    {&acui_class_FINALLY, infer_finally},     {&acui_class_AFTER, infer_after},
    {&acui_class_WITH_POOL, infer_with_pool}, {&acui_class_CUSTOM, infer_custom},
};

acui_infer_fn acui_infer_of(const acui_op_class *class)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].class == class)
            return kinds[i].fn;
    return NULL;
}
