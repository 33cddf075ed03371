/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layer norm and RMS norm: one launch over the rows. */
#include "ops/ops.h"

#include "ops/layers/params.h"

#include <acuda/layers.h>

typedef struct request {
    double epsilon;
    bool rms;
} request;

static const char *name_of(const request *r)
{
    return r->rms ? "rms_norm" : "layer_norm";
}

/* Weight or bias, operand `i`, as an op that yields a tensor; a number becomes as many. Sets its
 * stride. */
static acu_op *parameter(acu_planning *p, const char *name, size_t i, const acu_tensor *x,
                         long long *stride)
{
    char words[ACUI_OPS_WORDS], of[ACUI_OPS_WORDS];
    const acu_val *value = &p->values[i];
    acu_shape shape = acu_tensor_shape(x);
    uint64_t bits[2];
    *stride = 0;
    if (value->kind == ACU_SCALAR) {
        if (!acui_stored_bits(value, acu_tensor_dtype(x), bits, words))
            return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "%s: %s", name, words);
        *stride = 1; /* so kernels read all weights alike, several at once */
        return acu_op_full(ACU_SHAPE(shape.dim[shape.rank - 1]),
                           acu_arg_scalar(acu_tensor_dtype(x), bits[0]), p->site);
    }
    if (value->kind != ACU_TENSOR || acu_tensor_dtype(value->tensor) != acu_tensor_dtype(x) ||
        acu_tensor_shape(value->tensor).rank != 1 ||
        acu_tensor_shape(value->tensor).dim[0] != shape.dim[shape.rank - 1])
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site,
                           "%s of %s by %s: weight and bias are numbers, or "
                           "of the same dtype and as long as the last dimension",
                           name, acui_value_words(&p->values[0], of),
                           acui_value_words(value, words));
    *stride = acu_tensor_strides(value->tensor)[0];
    return acu_op_take(&p->values[i], p->site);
}

/* Whether the strides let each thread keep whole vectors of a row; sets the threads of a row. */
static void set_group(acui_norm *p, bool wide)
{
    const int64_t vector = wide ? 2 : 4;
    const acui_lines *rows = &p->rows;
    p->group = rows->count <= 32 * vector * ACUI_NORM_HELD ? 32 : ACUI_BLOCK;
    p->even = rows->stride[0] == 1 && rows->stride[1] == 1 && rows->count % vector == 0 &&
              rows->count <= p->group * vector * ACUI_NORM_HELD;
    for (int d = 0; d < rows->kept.rank; d++)
        if (rows->kept.dim[d] > 1 &&
            (rows->at[0].stride[d] % vector || rows->at[1].stride[d] % vector))
            p->even = 0;
    if (p->weight != 1 || (!p->rms && p->bias != 1))
        p->even = 0;
}

static acu_op *launch(acu_planning *p, const char *name, acui_norm *params, acu_op *out,
                      acu_op *weight, acu_op *bias)
{
    const size_t bytes = acu_dtype_bytes((acu_dtype)params->dtype);
    const char *kernel = bytes == 8 ? "norm_d" : bytes == 4 ? "norm_s" : "norm_h";
    set_group(params, params->dtype == ACU_F64);
    const acu_arg args[] = {
        acu_arg_op(out, ACU_WRITE), acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
        acu_arg_op(weight, ACU_READ), bias ? acu_arg_op(bias, ACU_READ) : acu_u64(0),
        acu_arg_struct(params, sizeof *params)};
    return acui_run(p, name, "acuda.norm", kernel,
                    acui_blocks(params->rows.rows, ACUI_BLOCK / params->group), args, 5);
}

static acu_op *plan_norm(acu_planning *p)
{
    const request *r = p->data;
    char words[ACUI_OPS_WORDS];
    acu_op *failed = NULL, *bias = NULL;
    const acu_tensor *x = acui_number_operand(p, name_of(r), 0, &failed);
    if (!x)
        return failed;
    acu_dtype dtype = acu_tensor_dtype(x);
    acu_shape shape = acu_tensor_shape(x);
    if (acu_dtype_kind_of(dtype) != ACU_KIND_FLOAT)
        return acu_op_fail(ACU_ERR_DTYPE, name_of(r), p->site, "%s takes floating point, not %s",
                           name_of(r), acui_value_words(&p->values[0], words));
    if (shape.rank == 0)
        return acui_no_dimension(p, name_of(r), -1);
    acui_norm params = {.dtype = (int)dtype, .epsilon = r->epsilon, .rms = r->rms};
    acui_lines_init(&params.rows, shape, shape.rank - 1, (const acu_tensor *[]){p->out.tensor, x},
                    2);
    params.inverse = 1 / (double)params.rows.count;
    acu_op *out = acui_result(p, name_of(r), dtype, shape); /* before its operands are taken */
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    acu_op *weight = parameter(p, name_of(r), 1, x, &params.weight);
    if (!r->rms)
        bias = parameter(p, name_of(r), 2, x, &params.bias);
    if (acu_op_status(weight, NULL) != ACU_OK)
        failed = acu_op_retain(weight);
    else if (bias && acu_op_status(bias, NULL) != ACU_OK)
        failed = acu_op_retain(bias);
    if (!failed)
        return launch(p, name_of(r), &params, out, weight, bias);
    acu_op_release(out);
    acu_op_release(weight);
    acu_op_release(bias);
    return failed;
}

static acu_op *make(const request *r, acu_op *const *operands, size_t count, acu_site site)
{
    acu_custom custom = {.name = name_of(r), .fn = plan_norm, .data = r, .bytes = sizeof *r};
    if (!(r->epsilon >= 0)) {
        for (size_t i = 0; i < count; i++)
            acu_op_release(operands[i]);
        return acu_op_fail(ACU_ERR_INVALID, name_of(r), site, "%s with epsilon %g: 0 or more",
                           name_of(r), r->epsilon);
    }
    return acu_op_custom(custom, operands, count, site);
}

acu_op *acu_op_layer_norm(acu_op *x, acu_op *weight, acu_op *bias, double epsilon, acu_site site)
{
    return make(&(request){epsilon, false}, (acu_op *const[]){x, weight, bias}, 3, site);
}

acu_op *acu_op_rms_norm(acu_op *x, acu_op *weight, double epsilon, acu_site site)
{
    return make(&(request){epsilon, true}, (acu_op *const[]){x, weight}, 2, site);
}
