/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Convolutions and their gradients by acuda's own kernels, where there is no cuDNN. A gradient is a
 * convolution itself: of the weight, x by dy over the batch, where the strides are dilations and
 * the other way round; of x, dy by the weight, turned, where zeros stand between the elements of dy
 * that the stride keeps apart.
 */
#include "dnn/own.h"

#include <acuda/arrange.h>
#include <acuda/convolution.h>
#include <acuda/dnn.h>

static int rank_of(const acui_conv_own *c)
{
    return c->at[ACUI_DNN_X].rank - 2;
}

/* What the kernel of acu_conv needs to be padded with, for dx; below 0: dx is cut instead. */
static int64_t padding_of_dx(const acui_conv_own *c, int i)
{
    return c->dilation[i] * (c->at[ACUI_DNN_W].dim[i + 2] - 1) - c->padding[i];
}

bool acui_conv_has_own(const acui_conv_own *c, acui_dnn_kind kind, acu_dtype dtype)
{
    if (rank_of(c) > 2 || dtype == ACU_TF32)
        return false;
    for (int i = 0; i < rank_of(c) && kind == ACUI_DNN_CONV_DATA; i++)
        if (padding_of_dx(c, i) < 0)
            return false;
    return kind == ACUI_DNN_CONV || c->groups == 1;
}

static acu_op *convolve(acu_op *x, acu_op *w, acu_op *bias, const acu_window_options *o,
                        acu_site site)
{
    return acu_op_conv(x, w, bias ? bias : acu_op_number_f64(0, site), o, site);
}

acu_op *acui_conv_own_forward(const acui_conv_own *c, acu_op *x, acu_op *w, acu_op *bias,
                              int activation, acu_site site)
{
    static const acu_elementwise as[] = {[ACU_DNN_RELU] = ACU_OP_RELU,
                                         [ACU_DNN_SIGMOID] = ACU_OP_SIGMOID,
                                         [ACU_DNN_TANH] = ACU_OP_TANH,
                                         [ACU_DNN_SILU] = ACU_OP_SILU};
    acu_window_options o = {.size = sizeof o, .groups = c->groups};
    for (int i = 0; i < rank_of(c); i++) {
        o.stride[i] = c->stride[i];
        o.padding[i] = c->padding[i];
        o.dilation[i] = c->dilation[i];
    }
    acu_op *y = convolve(x, w, bias, &o, site);
    return activation == ACU_DNN_NONE ? y : acu_op_elementwise(as[activation], &y, 1, site);
}

/* The first elements along each dimension. */
static acu_op *cut(acu_op *x, acu_shape to, acu_site site)
{
    acu_shape from = {.rank = to.rank};
    return acu_op_slice(x, from, to, ACU_NO_STEP, site);
}

acu_op *acui_conv_own_weight(const acui_conv_own *c, acu_op *x, acu_op *dy, acu_site site)
{
    acu_window_options o = {.size = sizeof o};
    acu_shape turned = c->at[ACUI_DNN_W];
    turned.dim[0] = c->at[ACUI_DNN_W].dim[1];
    turned.dim[1] = c->at[ACUI_DNN_W].dim[0];
    for (int i = 0; i < rank_of(c); i++) {
        o.stride[i] = c->dilation[i];
        o.dilation[i] = c->stride[i];
        o.padding[i] = c->padding[i];
    }
    acu_op *by_channel = convolve(acu_op_transpose(x, 0, 1, site), acu_op_transpose(dy, 0, 1, site),
                                  NULL, &o, site);
    return acu_op_transpose(cut(by_channel, turned, site), 0, 1, site);
}

/* Zeros behind each element, along the dimensions of the window. */
static acu_op *stretch(const acui_conv_own *c, acu_op *dy, acu_site site)
{
    acu_shape apart = c->at[ACUI_DNN_Y], before = {0}, after = {0}, joined = apart;
    bool stretched = false;
    for (int i = 0; i < rank_of(c); i++) {
        apart.dim[2 + 2 * i] = c->at[ACUI_DNN_Y].dim[2 + i];
        apart.dim[3 + 2 * i] = 1;
        after.dim[3 + 2 * i] = c->stride[i] - 1;
        joined.dim[2 + i] *= c->stride[i];
        stretched = stretched || c->stride[i] > 1;
    }
    apart.rank = before.rank = after.rank = 2 + 2 * rank_of(c);
    if (!stretched)
        return dy;
    dy = acu_op_reshape(acu_op_dup(dy, site), apart, site);
    return acu_op_reshape(acu_op_pad(dy, before, after, acu_op_number_f64(0, site), site), joined,
                          site);
}

acu_op *acui_conv_own_data(const acui_conv_own *c, acu_op *dy, acu_op *w, acu_site site)
{
    acu_window_options o = {.size = sizeof o};
    acu_dims window = {0};
    for (int i = 0; i < rank_of(c); i++) {
        o.dilation[i] = c->dilation[i];
        o.padding[i] = padding_of_dx(c, i);
    }
    window = rank_of(c) == 1 ? ACU_DIMS(2) : ACU_DIMS(2, 3);
    acu_op *turned = acu_op_flip(acu_op_transpose(w, 0, 1, site), window, site);
    return cut(convolve(stretch(c, dy, site), turned, NULL, &o, site), c->at[ACUI_DNN_X], site);
}
