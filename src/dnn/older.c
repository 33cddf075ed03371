/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Layers by cuDNN's older calls, one for each, which need no engine and no temporary memory; and
 * bias and activation by themselves, where no engine has them. */
#include "dnn/plan.h"

#include <acuda/convolution.h>
#include <acuda/dnn.h>

static const float one = 1, zero;

enum { NAN_STAYS = 1, BY_CHANNEL = 1 };

/* ---- descriptors ----------------------------------------------------------------------------- */

static acu_status tensor(acui_dnn_plan *p, const acui_dnn_key *key, int place, int type)
{
    int dims[ACUI_DNN_RANK], strides[ACUI_DNN_RANK];
    acui_cudnn_desc *made = &p->tensor[place];
    for (int i = 0; i < key->rank; i++) {
        dims[i] = (int)key->at[place].dim[i];
        strides[i] = (int)key->at[place].stride[i];
    }
    ACUI_TRY(acui_cudnn_said("cudnnCreateTensorDescriptor", acui_cudnn.new_tensor(made)));
    return acui_cudnn_said("cudnnSetTensorNdDescriptor",
                           acui_cudnn.set_tensor(*made, type, key->rank, dims, strides));
}

acu_status acui_dnn_old_rest(acui_dnn_plan *p, const acui_dnn_key *key)
{
    static const int modes[] = {[ACU_DNN_SIGMOID] = 0, [ACU_DNN_RELU] = 1, [ACU_DNN_TANH] = 2,
                                [ACU_DNN_SILU] = 6};
    ACUI_TRY(tensor(p, key, ACUI_DNN_Y, key->type));
    if (key->bias)
        ACUI_TRY(tensor(p, key, ACUI_DNN_BIAS, key->type));
    if (key->activation == ACU_DNN_NONE)
        return ACU_OK;
    ACUI_TRY(acui_cudnn_said("cudnnCreateActivationDescriptor",
                             acui_cudnn.new_activation(&p->activation)));
    return acui_cudnn_said("cudnnSetActivationDescriptor",
                           acui_cudnn.set_activation(p->activation, modes[key->activation],
                                                     NAN_STAYS, 0));
}

static acu_status pooling(acui_dnn_plan *p, const acui_dnn_key *key)
{
    enum { MAX_IN_ORDER = 3, MEAN = 1, MEAN_INSIDE = 2 };
    static const int modes[] = {[ACU_POOL_MAX] = MAX_IN_ORDER,
                                [ACU_POOL_MEAN] = MEAN,
                                [ACU_POOL_MEAN_INSIDE] = MEAN_INSIDE};
    int window[ACUI_DNN_WINDOW], padding[ACUI_DNN_WINDOW], stride[ACUI_DNN_WINDOW];
    for (int i = 0; i < key->rank - 2; i++) {
        window[i] = (int)key->window[i];
        padding[i] = (int)key->padding[i];
        stride[i] = (int)key->stride[i];
    }
    ACUI_TRY(acui_cudnn_said("cudnnCreatePoolingDescriptor", acui_cudnn.new_pooling(&p->pooling)));
    return acui_cudnn_said("cudnnSetPoolingNdDescriptor",
                           acui_cudnn.set_pooling(p->pooling, modes[key->mode], NAN_STAYS,
                                                  key->rank - 2, window, padding, stride));
}

acu_status acui_dnn_old_make(acui_dnn_plan *p, const acui_dnn_key *key)
{
    bool pools = key->kind == ACUI_DNN_POOL || key->kind == ACUI_DNN_POOL_BACK;
    ACUI_TRY(tensor(p, key, ACUI_DNN_X, key->type));
    ACUI_TRY(tensor(p, key, ACUI_DNN_Y, key->type));
    if (key->kind >= ACUI_DNN_NORM)
        ACUI_TRY(tensor(p, key, ACUI_DNN_W, ACUI_CUDNN_F32));
    return pools ? pooling(p, key) : ACU_OK;
}

void acui_dnn_old_end(acui_dnn_plan *p)
{
    if (p->activation)
        acui_cudnn.end_activation(p->activation);
    if (p->pooling)
        acui_cudnn.end_pooling(p->pooling);
    for (int i = 0; i < ACUI_DNN_TENSORS; i++)
        if (p->tensor[i])
            acui_cudnn.end_tensor(p->tensor[i]);
}

/* ---- behind an engine ------------------------------------------------------------------------ */

acu_status acui_dnn_old_run_rest(const acui_dnn_plan *p, void *const *at)
{
    acui_cudnn_desc of = p->tensor[ACUI_DNN_Y], bias = p->tensor[ACUI_DNN_BIAS];
    void *y = at[ACUI_DNN_Y];
    if (bias)
        ACUI_TRY(acui_cudnn_said("cudnnAddTensor", acui_cudnn.add(p->handle, &one, bias,
                                                                  at[ACUI_DNN_BIAS], &one, of, y)));
    if (!p->activation)
        return ACU_OK;
    return acui_cudnn_said("cudnnActivationForward",
                           acui_cudnn.activate(p->handle, p->activation, &one, of, y, &zero, of,
                                               y));
}

/* ---- layers ---------------------------------------------------------------------------------- */

static acu_status pool(const acui_dnn_plan *p, void *const *at)
{
    return acui_cudnn_said("cudnnPoolingForward",
                           acui_cudnn.pool(p->handle, p->pooling, &one, p->tensor[ACUI_DNN_X],
                                           at[ACUI_DNN_X], &zero, p->tensor[ACUI_DNN_Y],
                                           at[ACUI_DNN_Y]));
}

static acu_status pool_back(const acui_dnn_plan *p, void *const *at)
{
    acui_cudnn_desc x = p->tensor[ACUI_DNN_X], y = p->tensor[ACUI_DNN_Y];
    return acui_cudnn_said("cudnnPoolingBackward",
                           acui_cudnn.pool_back(p->handle, p->pooling, &one, y, at[ACUI_DNN_Y], y,
                                                at[ACUI_DNN_DY], x, at[ACUI_DNN_X], &zero, x,
                                                at[ACUI_DNN_DX]));
}

static acu_status softmax(const acui_dnn_plan *p, int algorithm, void *const *at)
{
    acui_cudnn_desc of = p->tensor[ACUI_DNN_X];
    return acui_cudnn_said("cudnnSoftmaxForward",
                           acui_cudnn.softmax(p->handle, algorithm, BY_CHANNEL, &one, of,
                                              at[ACUI_DNN_X], &zero, of, at[ACUI_DNN_Y]));
}

static acu_status softmax_back(const acui_dnn_plan *p, int algorithm, void *const *at)
{
    acui_cudnn_desc of = p->tensor[ACUI_DNN_X];
    return acui_cudnn_said("cudnnSoftmaxBackward",
                           acui_cudnn.softmax_back(p->handle, algorithm, BY_CHANNEL, &one, of,
                                                   at[ACUI_DNN_Y], of, at[ACUI_DNN_DY], &zero, of,
                                                   at[ACUI_DNN_DX]));
}

static acu_status norm(const acui_dnn_plan *p, const acui_dnn *op, void *const *at)
{
    acui_cudnn_desc of = p->tensor[ACUI_DNN_X], sums = p->tensor[ACUI_DNN_W];
    return acui_cudnn_said(
        "cudnnBatchNormalizationForwardInference",
        acui_cudnn.norm(p->handle, BY_CHANNEL, &one, &zero, of, at[ACUI_DNN_X], of, at[ACUI_DNN_Y],
                        sums, at[ACUI_DNN_W], at[ACUI_DNN_BIAS], at[ACUI_DNN_MEAN],
                        at[ACUI_DNN_VARIANCE], op->epsilon));
}

static acu_status norm_training(const acui_dnn_plan *p, const acui_dnn *op, void *const *at)
{
    acui_cudnn_desc of = p->tensor[ACUI_DNN_X], sums = p->tensor[ACUI_DNN_W];
    return acui_cudnn_said(
        "cudnnBatchNormalizationForwardTraining",
        acui_cudnn.norm_training(p->handle, BY_CHANNEL, &one, &zero, of, at[ACUI_DNN_X], of,
                                 at[ACUI_DNN_Y], sums, at[ACUI_DNN_W], at[ACUI_DNN_BIAS],
                                 op->factor, at[ACUI_DNN_MEAN], at[ACUI_DNN_VARIANCE], op->epsilon,
                                 at[ACUI_DNN_SAVED_MEAN], at[ACUI_DNN_SAVED_INVERSE]));
}

static acu_status norm_back(const acui_dnn_plan *p, const acui_dnn *op, void *const *at)
{
    acui_cudnn_desc of = p->tensor[ACUI_DNN_X], sums = p->tensor[ACUI_DNN_W];
    return acui_cudnn_said(
        "cudnnBatchNormalizationBackward",
        acui_cudnn.norm_back(p->handle, BY_CHANNEL, &one, &zero, &one, &zero, of, at[ACUI_DNN_X],
                             of, at[ACUI_DNN_DY], of, at[ACUI_DNN_DX], sums, at[ACUI_DNN_W],
                             at[ACUI_DNN_DW], at[ACUI_DNN_DBIAS], op->epsilon,
                             at[ACUI_DNN_SAVED_MEAN], at[ACUI_DNN_SAVED_INVERSE]));
}

acu_status acui_dnn_old_run(const acui_dnn_plan *p, const acui_dnn *op, void *const *at)
{
    switch (op->key.kind) {
    case ACUI_DNN_POOL:
        return pool(p, at);
    case ACUI_DNN_POOL_BACK:
        return pool_back(p, at);
    case ACUI_DNN_SOFTMAX:
        return softmax(p, op->key.mode, at);
    case ACUI_DNN_SOFTMAX_BACK:
        return softmax_back(p, op->key.mode, at);
    case ACUI_DNN_NORM:
        return norm(p, op, at);
    case ACUI_DNN_NORM_TRAINING:
        return norm_training(p, op, at);
    default:
        return norm_back(p, op, at);
    }
}
