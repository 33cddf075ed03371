/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Convolution: what fits what, and one launch. */
#include "ops/windows/windows.h"

static const char name[] = "conv";

static acu_op *refuse(acu_planning *p, acu_status status, size_t operand, const char *why)
{
    char x[ACUI_OPS_WORDS], other[ACUI_OPS_WORDS];
    return acu_op_fail(status, name, p->site, "conv of %s by %s: %s",
                       acui_value_words(&p->values[0], x),
                       acui_value_words(&p->values[operand], other), why);
}

static acu_op *check_weight(acu_planning *p, const acu_tensor *x, const acu_window_options *o)
{
    acu_op *failed = NULL;
    const acu_tensor *weight = acui_tensor_operand(p, name, 1, &failed);
    if (!weight)
        return failed;
    acu_shape shape = acu_tensor_shape(weight), of = acu_tensor_shape(x);
    if (acu_tensor_dtype(weight) != acu_tensor_dtype(x))
        return refuse(p, ACU_ERR_DTYPE, 1, "both must have the same dtype");
    if (shape.rank != of.rank)
        return refuse(p, ACU_ERR_SHAPE, 1, "both must have as many dimensions");
    if (of.dim[1] % o->groups || shape.dim[0] % o->groups)
        return refuse(p, ACU_ERR_SHAPE, 1, "channels and filters must be multiples of the groups");
    if (shape.dim[1] != of.dim[1] / o->groups)
        return refuse(p, ACU_ERR_SHAPE, 1,
                      "the weight's second dimension must be the channels of a group");
    return NULL;
}

/* Checks the bias; sets what the kernel needs of it. */
static acu_op *check_bias(acu_planning *p, const acu_tensor *x, acui_conv *c, int64_t filters)
{
    char words[ACUI_OPS_WORDS];
    const acu_val *value = &p->values[2];
    uint64_t bits = 0;
    if (value->kind == ACU_SCALAR) {
        if (!acui_scalar_bits(value, acu_tensor_dtype(x), &bits, words))
            return acu_op_fail(ACU_ERR_DTYPE, name, p->site, "conv: %s", words);
        c->bias_bits = bits;
        return NULL;
    }
    if (value->kind != ACU_TENSOR || acu_tensor_dtype(value->tensor) != acu_tensor_dtype(x) ||
        acu_tensor_shape(value->tensor).rank != 1 ||
        acu_tensor_shape(value->tensor).dim[0] != filters)
        return refuse(p, ACU_ERR_SHAPE, 2,
                      "the bias is a number, or of the same dtype, with one element a filter");
    c->bias = acu_tensor_strides(value->tensor)[0];
    return NULL;
}

static void lay_out(acu_planning *p, acui_conv *c, acu_shape shape, int64_t groups)
{
    const acu_tensor *x = p->values[0].tensor, *w = p->values[1].tensor;
    acui_window_strides(c->x, x, acu_tensor_shape(x));
    acui_window_strides(c->w, w, acu_tensor_shape(w));
    acui_window_strides(c->out, p->out.tensor, shape);
    c->groups = groups;
    c->filters = shape.dim[1] / groups;
    c->channels = acu_tensor_shape(w).dim[1];
    c->depth = c->channels * c->at.window[0] * c->at.window[1];
    c->places = shape.dim[0] * c->at.out[0] * c->at.out[1];
    acui_index_make(&c->place, 3, (const int64_t[]){shape.dim[0], c->at.out[0], c->at.out[1]});
    acui_index_make(&c->tap, 3, (const int64_t[]){c->channels, c->at.window[0], c->at.window[1]});
    acui_window_index(&c->all, shape);
}

/* Few filters in a group would leave most of a tile empty: a thread for each element instead. */
static acu_op *launch(acu_planning *p, const acui_conv *c, acu_op *out)
{
    acu_op *bias = p->values[2].kind == ACU_TENSOR ? acu_op_take(&p->values[2], p->site) : NULL;
    const acu_arg args[] = {
        acu_arg_op(out, ACU_WRITE), acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
        acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
        bias ? acu_arg_op(bias, ACU_READ) : acu_u64(0), acu_arg_struct(c, sizeof *c)};
    bool wide = c->dtype == ACU_F64, each = c->filters < 8;
    const int64_t tile = ACUI_CONV_TILE, rows = acui_parts(c->filters, tile);
    int64_t blocks = each ? acui_blocks(c->places * c->filters * c->groups, ACUI_BLOCK)
                          : acui_blocks(rows * c->groups * acui_parts(c->places, tile), 1);
    const char *kernels[] = {"conv_f", "conv_d", "conv_each_f", "conv_each_d"};
    return acui_run(p, name, "acuda.conv", kernels[2 * each + wide], blocks, args, 5);
}

static acu_op *plan_conv(acu_planning *p)
{
    const acu_window_options *o = p->data;
    acu_op *failed = NULL;
    const acu_tensor *x = acui_window_operand(p, name, &failed);
    if (x)
        failed = check_weight(p, x, o);
    if (failed)
        return failed;
    acui_conv c = {.dtype = (int)acu_tensor_dtype(x)};
    acu_shape shape, weight = acu_tensor_shape(p->values[1].tensor);
    failed = acui_window_over(p, name, &c.at, o, &weight.dim[2], &shape);
    if (!failed)
        failed = check_bias(p, x, &c, weight.dim[0]);
    if (failed)
        return failed;
    shape.dim[1] = weight.dim[0];
    bool too_many = acu_shape_elements(shape) < 0; /* which the result says */
    if (!too_many)
        lay_out(p, &c, shape, o->groups);
    acu_op *out = acui_result_apart(p, name, acu_tensor_dtype(x), shape);
    return too_many || acu_op_status(out, NULL) != ACU_OK ? out : launch(p, &c, out);
}

acu_op *acu_op_conv(acu_op *x, acu_op *weight, acu_op *bias, const acu_window_options *options,
                    acu_site site)
{
    acu_window_options o;
    acu_op *const operands[] = {x, weight, bias};
    acu_op *failed = acui_window_options(name, options, &o, site);
    if (failed) {
        for (int i = 0; i < 3; i++)
            acu_op_release(operands[i]);
        return failed;
    }
    acu_custom custom = {.name = name, .fn = plan_conv, .data = &o, .bytes = sizeof o};
    return acu_op_custom(custom, operands, 3, site);
}
