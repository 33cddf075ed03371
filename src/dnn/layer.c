/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operands and results of layers: what cuDNN's engines want is a dense tensor, or one whose
 * channels come last, that begins at a multiple of 16 bytes. */
#include "dnn/layer.h"

#include "base/error.h"
#include "memory/memory.h"

#include <limits.h>

enum { ALIGN = 16 };

acu_op *acui_layer_refuse(const acui_layer *l, acu_status status, size_t operand, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, l->name, l->p->site, "%s of %s (operand %zu): %s", l->name,
                       acui_value_words(&l->p->values[operand], words), operand, why);
}

/* ---- operands -------------------------------------------------------------------------------- */

static int type_of(acu_dtype dtype)
{
    switch (dtype) {
    case ACU_F16:
        return ACUI_CUDNN_F16;
    case ACU_BF16:
        return ACUI_CUDNN_BF16;
    case ACU_F32:
    case ACU_TF32:
        return ACUI_CUDNN_F32;
    default:
        return -1;
    }
}

/* Dense strides of the shape; `last`: with the channels last in memory. */
static void strides_of(acu_shape shape, bool last, int64_t *stride)
{
    int64_t step = last ? shape.dim[1] : 1;
    for (int i = shape.rank - 1; i >= 0; i--) {
        stride[i] = last && i == 1 ? 1 : step;
        if (last && i == 1)
            continue;
        step *= shape.dim[i];
    }
}

static bool lies_so(const acu_tensor *t, bool last)
{
    acu_shape shape = acu_tensor_shape(t);
    int64_t stride[ACU_MAX_RANK];
    strides_of(shape, last, stride);
    for (int i = 0; i < shape.rank; i++)
        if (shape.dim[i] != 1 && acu_tensor_strides(t)[i] != stride[i])
            return false;
    return true;
}

/* It can be used as it is. */
static bool is_ready(const acu_tensor *t, bool last)
{
    CUdeviceptr at = acu_buffer_address(t->buffer) + t->offset;
    return lies_so(t, last) && at % ALIGN == 0;
}

static acu_op *check_operand(acui_layer *l, size_t i)
{
    const acu_tensor *t = l->p->values[i].kind == ACU_TENSOR ? l->p->values[i].tensor : NULL;
    if (!t)
        return acui_layer_refuse(l, ACU_ERR_INVALID, i, "it must be a tensor");
    acu_shape shape = acu_tensor_shape(t);
    int64_t elements = acu_shape_elements(shape);
    if (type_of(acu_tensor_dtype(t)) < 0)
        return acui_layer_refuse(l, ACU_ERR_DTYPE, i, "it must be f32, tf32, f16 or bf16");
    if (acu_tensor_dtype(t) != l->dtype)
        return acui_layer_refuse(l, ACU_ERR_DTYPE, i, "it must have the dtype of operand 0");
    if (elements < 1)
        return acui_layer_refuse(l, ACU_ERR_SHAPE, i, "it has no elements");
    if (elements > INT_MAX)
        return acui_layer_refuse(l, ACU_ERR_LIMIT, i, "it has 2^31 elements or more");
    return NULL;
}

acu_op *acui_layer_check(acui_layer *l, size_t count)
{
    const acu_tensor *first = l->p->values[0].kind == ACU_TENSOR ? l->p->values[0].tensor : NULL;
    l->dtype = first ? acu_tensor_dtype(first) : ACU_NO_DTYPE;
    acu_op *failed = acui_refuse_empty(l->p, l->name);
    for (size_t i = 0; i < count && !failed; i++)
        failed = check_operand(l, i);
    if (failed)
        return failed;
    l->last = acu_tensor_shape(first).rank > 2 && !lies_so(first, false) && lies_so(first, true);
    l->dnn.key.type = type_of(l->dtype);
    l->dnn.key.rounded = l->dtype == ACU_TF32;
    l->dnn.key.align = ALIGN;
    for (int i = 0; i < ACUI_DNN_PLACES; i++)
        l->dnn.place[i] = -1;
    return NULL;
}

acu_op *acui_layer_vector(acui_layer *l, size_t i, int64_t channels)
{
    const acu_tensor *t = l->p->values[i].kind == ACU_TENSOR ? l->p->values[i].tensor : NULL;
    if (!t)
        return acui_layer_refuse(l, ACU_ERR_INVALID, i, "it must be a tensor");
    if (acu_tensor_dtype(t) != ACU_F32)
        return acui_layer_refuse(l, ACU_ERR_DTYPE, i, "it must be f32");
    if (acu_tensor_shape(t).rank != 1 || acu_tensor_shape(t).dim[0] != channels)
        return acui_layer_refuse(l, ACU_ERR_SHAPE, i, "it must have one element for each channel");
    return t->dense ? NULL : acui_layer_refuse(l, ACU_ERR_INVALID, i, "it must be dense");
}

/* ---- what the plan is made for --------------------------------------------------------------- */

/* cuDNN has no tensors of less than four dimensions: a length is a width, of height 1. */
static acu_shape widen(acu_shape shape)
{
    if (shape.rank != 3)
        return shape;
    return ACU_SHAPE(shape.dim[0], shape.dim[1], 1, shape.dim[2]);
}

void acui_layer_describe(acui_layer *l, int place, acu_shape shape)
{
    acui_dnn_tensor *t = &l->dnn.key.at[place];
    shape = widen(shape);
    l->dnn.key.rank = shape.rank;
    for (int i = 0; i < shape.rank; i++)
        t->dim[i] = shape.dim[i];
    strides_of(shape, l->last, t->stride);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void add(acui_layer *l, int place, acu_op *op, acu_access access)
{
    l->dnn.place[place] = (int8_t)l->count;
    l->args[l->count++] = acu_arg_op(op, access);
}

void acui_layer_use_vector(acui_layer *l, int place, size_t operand, acu_access access)
{
    add(l, place, acu_op_take(&l->p->values[operand], l->p->site), access);
}

/* [n, c, ...] as it is from [n, ..., c], or the other way round. */
static acu_op *move_channels(acu_op *x, int rank, bool to_last, acu_site site)
{
    int order[ACU_MAX_RANK];
    order[0] = 0;
    for (int i = 1; i < rank; i++)
        order[i] = to_last ? (i < rank - 1 ? i + 1 : 1) : (i > 1 ? i - 1 : rank - 1);
    return acu_op_permute(x, order, (size_t)rank, site);
}

void acui_layer_read(acui_layer *l, int place, size_t operand)
{
    acu_site site = l->p->site;
    const acu_tensor *t = l->p->values[operand].tensor;
    int rank = acu_tensor_shape(t).rank;
    bool ready = is_ready(t, l->last);
    acu_op *x = acu_op_take(&l->p->values[operand], site);
    if (!ready && l->last)
        x = move_channels(acu_op_dup(move_channels(x, rank, true, site), site), rank, false, site);
    else if (!ready)
        x = acu_op_dup(x, site);
    add(l, place, x, ACU_READ);
}

acu_op *acui_layer_empty(const acui_layer *l, acu_dtype dtype, acu_shape shape)
{
    acu_shape lies = shape;
    if (!l->last)
        return acu_op_named(acu_op_empty(dtype, shape, l->p->site), l->name);
    for (int i = 1; i < shape.rank; i++)
        lies.dim[i] = i < shape.rank - 1 ? shape.dim[i + 1] : shape.dim[1];
    acu_op *made = acu_op_named(acu_op_empty(dtype, lies, l->p->site), l->name);
    return move_channels(made, shape.rank, false, l->p->site);
}

acu_op *acui_layer_write(acui_layer *l, int place, acu_dtype dtype, acu_shape shape, bool first)
{
    acu_planning *p = l->p;
    if (!first || p->out.kind == ACU_NONE) {
        add(l, place, acui_layer_empty(l, dtype, shape), ACU_WRITE);
        return NULL;
    }
    bool ready = is_ready(p->out.tensor, l->last);
    acu_op *out = acui_result_apart(p, l->name, dtype, shape);
    if (acu_op_status(out, NULL) != ACU_OK)
        return acui_layer_drop(l, out);
    if (!ready)
        l->out = out;
    add(l, place, ready ? out : acui_layer_empty(l, dtype, shape), ACU_WRITE);
    return NULL;
}

acu_op *acui_layer_drop(acui_layer *l, acu_op *failed)
{
    for (size_t i = 0; i < l->count; i++)
        acu_op_release(l->args[i].u.op);
    l->count = 0;
    return failed;
}

/* ---- the call -------------------------------------------------------------------------------- */

bool acui_layer_by_cudnn(const acu_device *device)
{
    return acui_library_preferred(&acui_library_CUDNN, device);
}

acu_op *acui_layer_call(acui_layer *l, size_t results)
{
    acu_site site = l->p->site;
    acu_op *values[ACUI_DNN_PLACES];
    acui_vendor_call call = {.library = &acui_library_CUDNN,
                             .name = l->name,
                             .fn = acui_dnn_run,
                             .repeats = ACUI_REPEATED,
                             .data = &l->dnn,
                             .bytes = sizeof l->dnn,
                             .key_bytes = sizeof l->dnn.key};
    acu_op_unzip(acui_vendor_op(&call, l->args, l->count, site), values, l->count, site);
    for (size_t i = results; i < l->count; i++)
        acu_op_release(values[i]);
    if (l->out)
        values[0] = acu_op_nth(acu_op_copy(l->out, values[0], site), 0, site);
    return results == 1 ? values[0] : acu_op_zip(values, results, site);
}
