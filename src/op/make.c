/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Making and filling tensors: empty, meta, zeros, ones, full, const, fill. A tensor that planning
 * makes exists at once; an ALLOC node gives it memory before anything touches it.
 */
#include "op/make.h"

#include "base/alloc.h"
#include "base/error.h"
#include "op/arg.h"
#include "op/copy.h"

#include <string.h>

acu_status acui_plan_tensor(acui_plan *plan, const acu_op *op, acu_device *device, acu_dtype dtype,
                            acu_shape shape, acu_tensor **tensor)
{
    acu_tensor *made;
    ACUI_TRY(acui_tensor_planned(device, dtype, shape, &made));
    acu_status pooled = acui_plan_pool(plan->pool, device, made->buffer);
    acui_node *node = pooled == ACU_OK ? acui_plan_node(plan, ACUI_NODE_ALLOC, op, device, 1)
                                       : NULL;
    if (!node) {
        acu_tensor_release(made);
        return pooled == ACU_OK ? ACU_ERR_NO_MEMORY : pooled;
    }
    node->u.alloc.buffer = made->buffer;
    node->u.alloc.bytes = made->buffer->bytes;
    acu_status status = acui_node_add_access(plan, node, made, ACU_WRITE);
    if (status == ACU_OK)
        *tensor = made;
    else
        acu_tensor_release(made);
    return status;
}

static acu_status push_owned(acui_values *values, acu_tensor *tensor)
{
    return acui_values_push(
        values, (acu_val){.kind = ACU_TENSOR, .form = ACU_OWNED, .tensor = tensor});
}

/* ---- empty ---- */

static acu_status plan_empty(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_device *device = acui_plan_device(fallback);
    if (!device)
        return ACU_ERR_INVALID;
    acu_tensor *tensor;
    ACUI_TRY(acui_plan_tensor(plan, op, device, op->u.make.dtype, op->u.make.shape, &tensor));
    return push_owned(values, tensor);
}

static acu_op *make_op(const acui_op_class *class, acu_dtype dtype, acu_shape shape, acu_site site)
{
    if (acui_shape_check(shape, dtype, NULL) != ACU_OK)
        return acui_op_failed(class, site);
    acu_op *op = acui_op_new(class, 0, site);
    if (!acui_op_is_oom(op)) {
        op->u.make.dtype = dtype;
        op->u.make.shape = shape;
    }
    return op;
}

const acui_op_class acui_class_EMPTY = {.name = "empty", .plan = plan_empty};

acu_op *acu_op_empty(acu_dtype dtype, acu_shape shape, acu_site site)
{
    return make_op(&acui_class_EMPTY, dtype, shape, site);
}

/* ---- meta ---- */

static acu_status plan_meta(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    char words[96];
    (void)plan, (void)fallback, (void)values;
    return acui_fail(ACU_ERR_INVALID, "a meta tensor (%s %s) has no memory: it can be described "
                                      "(acu_op_describe), and not run",
                     acu_dtype_name(op->u.make.dtype), acui_shape_words(op->u.make.shape, words));
}

const acui_op_class acui_class_META = {.name = "meta", .plan = plan_meta};

acu_op *acu_op_meta(acu_dtype dtype, acu_shape shape, acu_site site)
{
    return make_op(&acui_class_META, dtype, shape, site);
}

/* ---- fill, and what is made of it ---- */

acu_status acui_check_fill(const acu_val *value, acu_dtype dtype)
{
    char words[96];
    if (value->kind != ACU_TENSOR)
        return acui_fail(ACU_ERR_INVALID, "only a tensor can be filled");
    const acu_tensor *t = value->tensor;
    if (value->form == ACU_SHARED)
        return acui_fail(ACU_ERR_SHARED, "%s is shared, for reading only, and can not be filled",
                         acui_tensor_words(t, words));
    ACUI_TRY(acui_tensor_check_write(t));
    if (dtype != t->dtype)
        return acui_fail(ACU_ERR_DTYPE, "%s can not be filled with a scalar of %s",
                         acui_tensor_words(t, words), acu_dtype_name(dtype));
    if (t->buffer->kind != ACU_MEMORY_DEVICE && t->buffer->kind != ACU_MEMORY_FOREIGN &&
        t->buffer->kind != ACU_MEMORY_MANAGED)
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "%s is in host memory, and acu_fill works on the device: write to "
                         "it directly, or copy a filled tensor there",
                         acui_tensor_words(t, words));
    return ACU_OK;
}

static acu_status plan_fill(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_val value;
    ACUI_TRY(acui_plan_input(plan, op, fallback, &value));
    acu_status status = acui_check_fill(&value, op->u.fill.dtype);
    if (status == ACU_OK)
        status = acui_plan_fill(plan, op, value.tensor, op->u.fill.scalar);
    if (status != ACU_OK) {
        acui_val_drop(&value);
        return status;
    }
    return acui_values_push(values, value);
}

const acui_op_class acui_class_FILL = {.name = "fill", .plan = plan_fill};

/* "acu_fill", without what all begin with. */
static const char *name_of(const char *function)
{
    return function + sizeof "acu_" - 1;
}

/* `function`: what the program called. */
static acu_op *fill(acu_op *x, acu_arg scalar, const char *function, acu_site site)
{
    if (acui_arg_check_scalar(&scalar, function) != ACU_OK) {
        acu_op_release(x);
        return acui_op_failed(&(acui_op_class){.name = name_of(function)}, site);
    }
    acu_op *op = acui_op_unary(&acui_class_FILL, x, site);
    if (!acui_op_is_oom(op)) {
        op->u.fill.dtype = acui_arg_dtype_of(&scalar);
        op->u.fill.scalar = acui_arg_scalar_of(&scalar);
    }
    return op;
}

acu_op *acu_op_fill(acu_op *x, acu_arg scalar, acu_site site)
{
    return fill(x, scalar, "acu_fill", site);
}

/* The bits of a scalar that is no larger than 64 bits, or, of c128, has no imaginary part. */
static acu_arg of_bits(acu_dtype dtype, const uint64_t (*bits)[2])
{
    return dtype == ACU_C128 ? acu_c128(bits) : acu_arg_scalar(dtype, (*bits)[0]);
}

/* An empty tensor, filled with the scalar; in messages both ops have the name of what the program
 * called. */
static acu_op *new_filled(acu_dtype dtype, acu_shape shape, acu_arg scalar, const char *function,
                          acu_site site)
{
    const char *name = name_of(function);
    acu_op *x = acu_op_named(acu_op_empty(dtype, shape, site), name);
    return acu_op_named(fill(x, scalar, function, site), name);
}

acu_op *acu_op_full(acu_shape shape, acu_arg scalar, acu_site site)
{
    return new_filled(acui_arg_dtype_of(&scalar), shape, scalar, "acu_full", site);
}

acu_op *acu_op_zeros(acu_dtype dtype, acu_shape shape, acu_site site)
{
    if (dtype == ACU_F8E8M0FNU) {
        acui_fail(ACU_ERR_DTYPE, "f8e8m0fnu has no zero: the bits 0 are 2 to the -127; say what is "
                                 "wanted with acu_full");
        return acui_op_failed(&(acui_op_class){.name = "zeros"}, site);
    }
    static const uint64_t zero[2] = {0, 0};
    return new_filled(dtype, shape, of_bits(dtype, &zero), "acu_zeros", site);
}

/* The bits of 1 in each dtype that is not an integer. */
static uint64_t one_bits(acu_dtype dtype)
{
    switch (dtype) {
    case ACU_F16:
        return 0x3C00u;
    case ACU_BF16:
        return 0x3F80u;
    case ACU_F32:
    case ACU_TF32:
    case ACU_C64: /* the real part comes first */
        return 0x3F800000u;
    case ACU_F64:
    case ACU_C128:
        return 0x3FF0000000000000u;
    case ACU_F8E4M3FN:
        return 0x38u;
    case ACU_F8E5M2:
        return 0x3Cu;
    case ACU_F8E8M0FNU:
        return 0x7Fu;
    case ACU_F4E2M1FNX2:
        return 0x22u;
    default:
        return 1;
    }
}

acu_op *acu_op_ones(acu_dtype dtype, acu_shape shape, acu_site site)
{
    const uint64_t one[2] = {one_bits(dtype), 0};
    return new_filled(dtype, shape, of_bits(dtype, &one), "acu_ones", site);
}

/* ---- const ---- */

static acu_status plan_const(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_device *device = acui_plan_device(fallback);
    if (!device)
        return ACU_ERR_INVALID;
    acu_tensor *tensor;
    ACUI_TRY(acui_plan_tensor(plan, op, device, op->u.make.dtype, op->u.make.shape, &tensor));
    if (tensor->empty)
        return push_owned(values, tensor);
    acui_node *node = acui_plan_node(plan, ACUI_NODE_UPLOAD, op, device, 1);
    if (!node || acui_node_add_access(plan, node, tensor, ACU_WRITE) != ACU_OK) {
        acu_tensor_release(tensor);
        return ACU_ERR_NO_MEMORY;
    }
    node->u.upload.buffer = tensor->buffer;
    node->u.upload.offset = tensor->offset;
    node->u.upload.bytes = acu_tensor_bytes(tensor);
    node->u.upload.data = op->u.make.data; /* the node frees the data */
    op->u.make.data = NULL;
    return push_owned(values, tensor);
}

static void destroy_const(acu_op *op)
{
    acui_free(op->u.make.data);
}

const acui_op_class acui_class_CONST = {
    .name = "const", .plan = plan_const, .destroy = destroy_const};

static acu_status check_const(acu_dtype dtype, acu_shape shape, const void *memory, size_t *bytes)
{
    ACUI_TRY(acui_shape_check(shape, dtype, bytes));
    if (!memory && *bytes)
        return acui_fail(ACU_ERR_INVALID, "acu_const got no memory to copy from");
    if (*bytes > ACU_CONST_MAX)
        return acui_fail(ACU_ERR_LIMIT, "acu_const copies at most %d bytes, not %zu; copy more "
                         "from a pinned or wrapped buffer", ACU_CONST_MAX, *bytes);
    return ACU_OK;
}

acu_op *acu_op_const(acu_dtype dtype, acu_shape shape, const void *memory, acu_site site)
{
    size_t bytes;
    if (check_const(dtype, shape, memory, &bytes) != ACU_OK)
        return acui_op_failed(&acui_class_CONST, site);
    acu_op *op = acui_op_new(&acui_class_CONST, 0, site);
    if (acui_op_is_oom(op))
        return op;
    op->u.make.dtype = dtype;
    op->u.make.shape = shape;
    if (bytes == 0)
        return op;
    op->u.make.data = acui_alloc(bytes);
    if (!op->u.make.data)
        return acui_op_abandon(op);
    memcpy(op->u.make.data, memory, bytes);
    return op;
}
