/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A convolution or one of its gradients as an operation graph, with bias and activation. */
#include "dnn/plan.h"

#include <acuda/dnn.h>

/* The tensor at a place of the key; its id is the place + 1. */
static acui_cudnn_desc tensor(acui_dnn_set *set, const acui_dnn_key *key, int place)
{
    return acui_dnn_tensor_of(set, &key->at[place], key->rank, key->type, key->align, place + 1,
                              ACUI_DNN_REAL);
}

/* What has not become y yet, which is not rounded. */
static acui_cudnn_desc between(acui_dnn_set *set, const acui_dnn_key *key, int64_t id)
{
    return acui_dnn_tensor_of(set, &key->at[ACUI_DNN_Y], key->rank, ACUI_CUDNN_F32, key->align, id,
                              ACUI_DNN_VIRTUAL);
}

enum { CONVOLUTION = 1, COMPUTE = 100, MODE, DILATIONS, STEPS, AFTER, BEFORE, WINDOW_RANK };
enum { FORWARD = 10, WEIGHT_GRADIENT, DATA_GRADIENT };

static acui_cudnn_desc window(acui_dnn_set *set, const acui_dnn_key *key)
{
    enum { CROSS_CORRELATION = 1 };
    acui_cudnn_desc d = acui_dnn_new(set, CONVOLUTION);
    int mode = CROSS_CORRELATION;
    int64_t rank = key->rank - 2;
    acui_dnn_put_type(set, d, COMPUTE, ACUI_CUDNN_F32);
    acui_dnn_put(set, d, MODE, ACUI_CUDNN_CONVOLUTION_MODE, 1, &mode);
    acui_dnn_put(set, d, DILATIONS, ACUI_CUDNN_INT64, rank, key->dilation);
    acui_dnn_put(set, d, STEPS, ACUI_CUDNN_INT64, rank, key->stride);
    acui_dnn_put(set, d, AFTER, ACUI_CUDNN_INT64, rank, key->padding);
    acui_dnn_put(set, d, BEFORE, ACUI_CUDNN_INT64, rank, key->padding);
    acui_dnn_put_int(set, d, WINDOW_RANK, rank);
    acui_dnn_finish(set, d);
    return d;
}

/* How the three kinds name their attributes. */
static const struct {
    int type, alpha, beta, window, at[3]; /* x, weight, y */
} names_of[] = {
    [ACUI_DNN_CONV] = {FORWARD, 700, 701, 702, {704, 703, 705}},
    [ACUI_DNN_CONV_DATA] = {DATA_GRADIENT, 706, 707, 708, {710, 709, 711}},
    [ACUI_DNN_CONV_WEIGHT] = {WEIGHT_GRADIENT, 712, 713, 714, {716, 715, 717}},
};

static acui_cudnn_desc convolution(acui_dnn_set *set, const acui_dnn_key *key,
                                   const acui_cudnn_desc *at)
{
    static const float one = 1, zero;
    acui_cudnn_desc by = window(set, key), d = acui_dnn_new(set, names_of[key->kind].type);
    acui_dnn_put_desc(set, d, names_of[key->kind].window, by);
    for (int i = 0; i < 3; i++)
        acui_dnn_put_desc(set, d, names_of[key->kind].at[i], at[i]);
    acui_dnn_put(set, d, names_of[key->kind].alpha, ACUI_CUDNN_FLOAT, 1, &one);
    acui_dnn_put(set, d, names_of[key->kind].beta, ACUI_CUDNN_FLOAT, 1, &zero);
    acui_dnn_finish(set, d);
    return d;
}

static const int modes[] = {[ACU_DNN_RELU] = 100,
                            [ACU_DNN_TANH] = 101,
                            [ACU_DNN_SIGMOID] = 102,
                            [ACU_DNN_SILU] = 106};

acui_cudnn_desc acui_dnn_graph(acui_dnn_plan *plan, const acui_dnn_key *key)
{
    enum { ADD = 0, SUMS = 50, BIASED };
    acui_dnn_set *set = &plan->set;
    bool bias = key->bias, activation = key->activation != ACU_DNN_NONE;
    acui_cudnn_desc ops[3], at[3], y = tensor(set, key, ACUI_DNN_Y);
    int64_t count = 0;
    at[ACUI_DNN_X] = tensor(set, key, ACUI_DNN_X);
    at[ACUI_DNN_W] = tensor(set, key, ACUI_DNN_W);
    at[ACUI_DNN_Y] = bias || activation ? between(set, key, SUMS) : y;
    ops[count++] = convolution(set, key, at);
    if (bias) {
        acui_cudnn_desc sum = activation ? between(set, key, BIASED) : y;
        ops[count++] = acui_dnn_pointwise(set, ADD, ACUI_CUDNN_F32, at[ACUI_DNN_Y],
                                          tensor(set, key, ACUI_DNN_BIAS), NULL, sum, -1);
        at[ACUI_DNN_Y] = sum;
    }
    if (activation)
        ops[count++] = acui_dnn_pointwise(set, modes[key->activation], ACUI_CUDNN_F32,
                                          at[ACUI_DNN_Y], NULL, NULL, y, -1);
    return acui_dnn_graph_of(set, plan->handle, ops, count);
}
