/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attention: what fits what, and one launch of a kernel with or without tensor cores. */
#include "ops/ops.h"

#include "base/options.h"
#include "ops/attention/params.h"

#include <acuda/attention.h>
#include <math.h>
#include <stdio.h>

static const char name[] = "attention";

typedef struct request {
    double scale;
    bool causal;
} request;

static acu_op *refuse(acu_planning *p, acu_status status, const char *why)
{
    char q[ACUI_OPS_WORDS], k[ACUI_OPS_WORDS], v[ACUI_OPS_WORDS];
    return acu_op_fail(status, name, p->site, "attention of %s, %s and %s: %s",
                       acui_value_words(&p->values[0], q), acui_value_words(&p->values[1], k),
                       acui_value_words(&p->values[2], v), why);
}

static acu_op *check(acu_planning *p)
{
    acu_op *failed = NULL;
    acu_shape of[3];
    for (size_t i = 0; i < 3; i++) {
        const acu_tensor *x = acui_tensor_operand(p, name, i, &failed);
        if (!x)
            return failed;
        of[i] = acu_tensor_shape(x);
        acu_dtype dtype = acu_tensor_dtype(x);
        if ((dtype != ACU_F16 && dtype != ACU_BF16 && dtype != ACU_F32) ||
            dtype != acu_tensor_dtype(p->values[0].tensor))
            return refuse(p, ACU_ERR_DTYPE, "all must be f16, bf16 or f32, and alike");
        if (of[i].rank != 4)
            return refuse(p, ACU_ERR_SHAPE, "each is [batch, heads, places, width]");
    }
    if (!acu_shape_equal(of[1], of[2]))
        return refuse(p, ACU_ERR_SHAPE, "keys and values must have the same shape");
    if (of[0].dim[0] != of[1].dim[0])
        return refuse(p, ACU_ERR_SHAPE, "queries and keys must have the same batch");
    if (of[1].dim[1] == 0 || of[0].dim[1] % of[1].dim[1])
        return refuse(p, ACU_ERR_SHAPE, "heads of queries must be a multiple of those of keys");
    if (of[0].dim[3] != of[1].dim[3] || of[0].dim[3] < 1 || of[0].dim[3] > ACUI_ATTENTION_WIDTH)
        return refuse(p, ACU_ERR_SHAPE, "both must have the same width, of 1 to 256");
    return NULL;
}

static void strides(long long stride[4], const acu_tensor *tensor, acu_shape shape, int *even)
{
    int64_t dense = 1;
    for (int d = 3; d >= 0; d--) {
        stride[d] = tensor ? acu_tensor_strides(tensor)[d] : dense;
        dense *= shape.dim[d];
        if (shape.dim[d] > 1 && (d == 3 ? stride[d] != 1 : stride[d] % 8 != 0))
            *even = 0;
    }
}

static void lay_out(acu_planning *p, acui_attention *a)
{
    const request *r = p->data;
    acu_shape q = acu_tensor_shape(p->values[0].tensor), k = acu_tensor_shape(p->values[1].tensor);
    int any = 1;
    a->even = 1;
    strides(a->q, p->values[0].tensor, q, &any);
    strides(a->k, p->values[1].tensor, k, &a->even);
    strides(a->v, p->values[2].tensor, k, &a->even);
    strides(a->out, p->out.tensor, q, &a->even);
    a->batches = q.dim[0];
    a->heads = q.dim[1];
    a->share = q.dim[1] / k.dim[1];
    a->queries = q.dim[2];
    a->keys = k.dim[2];
    a->width = (int)q.dim[3];
    a->causal = r->causal;
    a->dtype = (int)acu_tensor_dtype(p->values[0].tensor);
    a->scale = (float)(r->scale > 0 ? r->scale : 1 / sqrt((double)q.dim[3]));
}

static acu_op *launch(acu_planning *p, const acui_attention *a, acu_op *out)
{
    char kernel[32] = "attention_f";
    bool mma = a->dtype != ACU_F32 && a->width <= 128 &&
               acu_device_info_of(p->device)->compute_major >= 8;
    if (mma)
        snprintf(kernel, sizeof kernel, "attention_%s_%d", acu_dtype_name((acu_dtype)a->dtype),
                 a->width <= 64 ? 64 : 128);
    int64_t rows = mma ? ACUI_ATTENTION_MMA_ROWS : ACUI_ATTENTION_ROWS;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[2], p->site), ACU_READ),
                            acu_arg_struct(a, sizeof *a)};
    int64_t blocks = acui_blocks(a->batches * a->heads * acui_parts(a->queries, rows), 1);
    acu_op *op = acui_launch_of(p, name, mma ? "acuda.attention_mma" : "acuda.attention", kernel,
                                blocks, mma ? ACUI_ATTENTION_MMA_BLOCK : ACUI_BLOCK, args, 5);
    return acu_op_nth(op, 0, p->site);
}

static acu_op *plan_attention(acu_planning *p)
{
    acui_attention a = {0};
    acu_op *failed = check(p);
    if (failed)
        return failed;
    lay_out(p, &a);
    acu_op *out = acui_result_apart(p, name, (acu_dtype)a.dtype,
                                    acu_tensor_shape(p->values[0].tensor));
    return acu_op_status(out, NULL) != ACU_OK ? out : launch(p, &a, out);
}

acu_op *acu_op_attention(acu_op *q, acu_op *k, acu_op *v, const acu_attention_options *options,
                         acu_site site)
{
    acu_attention_options o;
    acu_op *const operands[] = {q, k, v};
    acu_op *failed = NULL;
    acu_status status = acui_options_read(&o, sizeof o, options, name);
    if (status != ACU_OK)
        failed = acu_op_fail(status, name, site, NULL);
    else if (!(o.scale >= 0 && isfinite(o.scale)))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "attention with options.scale %g",
                             o.scale);
    for (int i = 0; failed && i < 3; i++)
        acu_op_release(operands[i]);
    if (failed)
        return failed;
    request r = {o.scale, o.causal};
    acu_custom custom = {.name = name, .fn = plan_attention, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, 3, site);
}
