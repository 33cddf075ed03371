/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layers that are made of other operations: batch norm with known statistics, rotary embedding. */
#include "ops/ops.h"

#include <acuda/arrange.h>
#include <acuda/layers.h>

static acu_op *two(acu_elementwise kind, acu_op *a, acu_op *b, acu_site site)
{
    return acu_op_elementwise(kind, (acu_op *const[]){a, b}, 2, site);
}

static acu_op *three(acu_elementwise kind, acu_op *a, acu_op *b, acu_op *c, acu_site site)
{
    return acu_op_elementwise(kind, (acu_op *const[]){a, b, c}, 3, site);
}

static acu_op *refuse(acu_planning *p, const char *name, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s of %s: %s", name,
                       acui_value_words(&p->values[0], words), why);
}

/* ---- batch norm ------------------------------------------------------------------------------ */

static acu_op *plan_batch_norm(acu_planning *p)
{
    const char *name = "batch_norm";
    acu_op *failed = NULL, *of[4];
    const acu_tensor *x = acui_number_operand(p, name, 0, &failed);
    if (!x)
        return failed;
    acu_shape shape = acu_tensor_shape(x), one = shape;
    if (shape.rank < 2)
        return refuse(p, name, "it takes [batch, channels, ...]");
    for (int d = 0; d < shape.rank; d++)
        one.dim[d] = d == 1 ? shape.dim[1] : 1;
    for (size_t i = 1; i < 5; i++) {
        const acu_tensor *t = acui_number_operand(p, name, i, &failed);
        if (!t)
            return failed;
        if (acu_tensor_shape(t).rank != 1 || acu_tensor_shape(t).dim[0] != shape.dim[1])
            return refuse(p, name,
                          "mean, variance, weight and bias have one element for each channel");
    }
    for (size_t i = 0; i < 4; i++)
        of[i] = acu_op_take(&p->values[1 + i], p->site);
    acu_op *all =
        two(ACU_OP_ADD, of[1], acu_op_number_f64(*(const double *)p->data, p->site), p->site);
    acu_op *inverse = acu_op_elementwise(ACU_OP_RSQRT, &all, 1, p->site);
    acu_op *scale = acu_op_retain(two(ACU_OP_MUL, of[2], inverse, p->site));
    acu_op *less = acu_op_elementwise(ACU_OP_NEG, &of[0], 1, p->site);
    acu_op *shift = three(ACU_OP_FMA, less, scale, of[3], p->site);
    scale = acu_op_reshape(scale, one, p->site);
    shift = acu_op_reshape(shift, one, p->site);
    return acui_into(p,
                     three(ACU_OP_FMA, acu_op_take(&p->values[0], p->site), scale, shift, p->site));
}

acu_op *acu_op_batch_norm(acu_op *x, acu_op *mean, acu_op *variance, acu_op *weight, acu_op *bias,
                          double epsilon, acu_site site)
{
    acu_custom custom = {
        .name = "batch_norm", .fn = plan_batch_norm, .data = &epsilon, .bytes = sizeof epsilon};
    return acu_op_custom(custom, (acu_op *const[]){x, mean, variance, weight, bias}, 5, site);
}

/* ---- rotary embedding ------------------------------------------------------------------------ */

static acu_op *half(acu_op *x, acu_shape shape, int which, acu_site site)
{
    acu_shape start = {.rank = shape.rank}, end = shape;
    int last = shape.rank - 1;
    start.dim[last] = which * (shape.dim[last] / 2);
    end.dim[last] = (1 + which) * (shape.dim[last] / 2);
    return acu_op_slice(x, start, end, ACU_NO_STEP, site);
}

static acu_op *plan_rotary(acu_planning *p)
{
    acu_op *failed = NULL;
    const acu_tensor *x = acui_number_operand(p, "rotary", 0, &failed);
    if (!x)
        return failed;
    acu_shape shape = acu_tensor_shape(x);
    if (shape.rank == 0 || shape.dim[shape.rank - 1] % 2)
        return refuse(p, "rotary", "the last dimension is even");
    acu_op *all = acu_op_take(&p->values[0], p->site);
    acu_op *a = acu_op_retain(half(acu_op_retain(all), shape, 0, p->site));
    acu_op *b = acu_op_retain(half(all, shape, 1, p->site));
    acu_op *cosines = acu_op_retain(acu_op_take(&p->values[1], p->site));
    acu_op *sines = acu_op_retain(acu_op_take(&p->values[2], p->site));
    acu_op *less = two(ACU_OP_MUL, b, sines, p->site), *more = two(ACU_OP_MUL, a, sines, p->site);
    acu_op *parts[] = {
        three(ACU_OP_FMA, a, cosines, acu_op_elementwise(ACU_OP_NEG, &less, 1, p->site), p->site),
        three(ACU_OP_FMA, b, cosines, more, p->site)};
    return acui_into(p, acu_op_concat(-1, parts, 2, p->site));
}

acu_op *acu_op_rotary(acu_op *x, acu_op *cosines, acu_op *sines, acu_site site)
{
    acu_custom custom = {.name = "rotary", .fn = plan_rotary};
    return acu_op_custom(custom, (acu_op *const[]){x, cosines, sines}, 3, site);
}
