/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Descriptors of cuDNN's backend API, and the operations that they describe. */
#include "dnn/plan.h"

#include "base/alloc.h"
#include "base/error.h"

#include <acuda/dnn.h>

#include <string.h>

/* ---- descriptors ----------------------------------------------------------------------------- */

static bool has_room(acui_dnn_set *set)
{
    if (set->count < set->room)
        return true;
    size_t room = set->room ? 2 * set->room : 32;
    acui_cudnn_desc *all = acui_alloc(room * sizeof(acui_cudnn_desc));
    if (!all) {
        set->status = acui_fail(ACU_ERR_NO_MEMORY, "no memory for a plan of cuDNN");
        return false;
    }
    for (size_t i = 0; i < set->count; i++)
        all[i] = set->all[i];
    acui_free(set->all);
    set->all = all;
    set->room = room;
    return true;
}

acui_cudnn_desc acui_dnn_new(acui_dnn_set *set, int type)
{
    acui_cudnn_desc d = NULL;
    if (set->status != ACU_OK || !has_room(set))
        return NULL;
    set->status = acui_cudnn_said("cudnnBackendCreateDescriptor", acui_cudnn.new_desc(type, &d));
    if (set->status != ACU_OK)
        return NULL;
    set->all[set->count++] = d;
    return d;
}

void acui_dnn_put(acui_dnn_set *set, acui_cudnn_desc d, int name, int type, int64_t count,
                  const void *values)
{
    if (set->status == ACU_OK)
        set->status = acui_cudnn_said("cudnnBackendSetAttribute",
                                      acui_cudnn.set(d, name, type, count, values));
}

void acui_dnn_finish(acui_dnn_set *set, acui_cudnn_desc d)
{
    if (set->status == ACU_OK)
        set->status = acui_cudnn_said("cudnnBackendFinalize", acui_cudnn.finalize(d));
}

/* Each before those that it was made of. */
void acui_dnn_end_set(acui_dnn_set *set)
{
    while (set->count > 0)
        acui_cudnn.end_desc(set->all[--set->count]);
    acui_free(set->all);
    memset(set, 0, sizeof *set);
}

static void put_int(acui_dnn_set *set, acui_cudnn_desc d, int name, int64_t value)
{
    acui_dnn_put(set, d, name, ACUI_CUDNN_INT64, 1, &value);
}

static void put_type(acui_dnn_set *set, acui_cudnn_desc d, int name, int type)
{
    acui_dnn_put(set, d, name, ACUI_CUDNN_DATA_TYPE, 1, &type);
}

static void put_desc(acui_dnn_set *set, acui_cudnn_desc d, int name, acui_cudnn_desc value)
{
    acui_dnn_put(set, d, name, ACUI_CUDNN_DESCRIPTOR, 1, &value);
}

/* ---- tensors --------------------------------------------------------------------------------- */

enum { TENSOR = 17, ALIGN = 900, TYPE, DIMS, STRIDES, ID = 906, VIRTUAL };

/* A tensor in memory of which engines get the address by its number, `place` + 1. */
static acui_cudnn_desc tensor(acui_dnn_set *set, const acui_dnn_key *key, int place, int type,
                              bool is_virtual)
{
    const acui_dnn_tensor *t = &key->at[place < ACUI_DNN_PLACES ? place : ACUI_DNN_Y];
    acui_cudnn_desc d = acui_dnn_new(set, TENSOR);
    put_type(set, d, TYPE, type);
    acui_dnn_put(set, d, DIMS, ACUI_CUDNN_INT64, key->rank, t->dim);
    acui_dnn_put(set, d, STRIDES, ACUI_CUDNN_INT64, key->rank, t->stride);
    put_int(set, d, ID, place + 1);
    put_int(set, d, ALIGN, key->align);
    if (is_virtual)
        acui_dnn_put(set, d, VIRTUAL, ACUI_CUDNN_BOOLEAN, 1, &is_virtual);
    acui_dnn_finish(set, d);
    return d;
}

/* ---- convolution ----------------------------------------------------------------------------- */

enum { CONVOLUTION = 1, COMPUTE = 100, MODE, DILATIONS, STEPS, AFTER, BEFORE, WINDOW_RANK };
enum { FORWARD = 10, WEIGHT_GRADIENT, DATA_GRADIENT };

static acui_cudnn_desc window(acui_dnn_set *set, const acui_dnn_key *key)
{
    enum { CROSS_CORRELATION = 1 };
    acui_cudnn_desc d = acui_dnn_new(set, CONVOLUTION);
    int mode = CROSS_CORRELATION;
    int64_t rank = key->rank - 2;
    put_type(set, d, COMPUTE, ACUI_CUDNN_F32);
    acui_dnn_put(set, d, MODE, ACUI_CUDNN_CONVOLUTION_MODE, 1, &mode);
    acui_dnn_put(set, d, DILATIONS, ACUI_CUDNN_INT64, rank, key->dilation);
    acui_dnn_put(set, d, STEPS, ACUI_CUDNN_INT64, rank, key->stride);
    acui_dnn_put(set, d, AFTER, ACUI_CUDNN_INT64, rank, key->padding);
    acui_dnn_put(set, d, BEFORE, ACUI_CUDNN_INT64, rank, key->padding);
    put_int(set, d, WINDOW_RANK, rank);
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
    put_desc(set, d, names_of[key->kind].window, by);
    for (int i = 0; i < 3; i++)
        put_desc(set, d, names_of[key->kind].at[i], at[i]);
    acui_dnn_put(set, d, names_of[key->kind].alpha, ACUI_CUDNN_FLOAT, 1, &one);
    acui_dnn_put(set, d, names_of[key->kind].beta, ACUI_CUDNN_FLOAT, 1, &zero);
    acui_dnn_finish(set, d);
    return d;
}

/* ---- bias and activation --------------------------------------------------------------------- */

enum { POINTWISE = 0, POINTWISE_OP = 13, POINTWISE_MODE = 0, POINTWISE_PRECISION };
enum { WITH = 750, OF, AND, TO };
enum { ADD = 0 };

static const int modes[] = {[ACU_DNN_RELU] = 100,
                            [ACU_DNN_TANH] = 101,
                            [ACU_DNN_SIGMOID] = 102,
                            [ACU_DNN_SILU] = 106};

/* to = of + and, or to = mode(of). */
static acui_cudnn_desc pointwise(acui_dnn_set *set, int mode, acui_cudnn_desc of,
                                 acui_cudnn_desc and, acui_cudnn_desc to)
{
    acui_cudnn_desc how = acui_dnn_new(set, POINTWISE);
    acui_dnn_put(set, how, POINTWISE_MODE, ACUI_CUDNN_POINTWISE_MODE, 1, &mode);
    put_type(set, how, POINTWISE_PRECISION, ACUI_CUDNN_F32);
    acui_dnn_finish(set, how);
    acui_cudnn_desc d = acui_dnn_new(set, POINTWISE_OP);
    put_desc(set, d, WITH, how);
    put_desc(set, d, OF, of);
    if (and)
        put_desc(set, d, AND, and);
    put_desc(set, d, TO, to);
    acui_dnn_finish(set, d);
    return d;
}

/* ---- the graph ------------------------------------------------------------------------------- */

acui_cudnn_desc acui_dnn_graph(acui_dnn_set *set, acui_cudnn_handle handle,
                               const acui_dnn_key *key)
{
    enum { GRAPH = 15, GRAPH_HANDLE = 800, GRAPH_OPS };
    bool bias = key->bias, activation = key->activation != ACU_DNN_NONE;
    acui_cudnn_desc ops[3], at[3], y;
    int64_t count = 0;
    at[ACUI_DNN_X] = tensor(set, key, ACUI_DNN_X, key->type, false);
    at[ACUI_DNN_W] = tensor(set, key, ACUI_DNN_W, key->type, false);
    y = tensor(set, key, ACUI_DNN_Y, key->type, false);
    /* Sums are not rounded before the bias is added. */
    at[ACUI_DNN_Y] = bias || activation
                         ? tensor(set, key, ACUI_DNN_PLACES, ACUI_CUDNN_F32, true)
                         : y;
    ops[count++] = convolution(set, key, at);
    if (bias) {
        acui_cudnn_desc b = tensor(set, key, ACUI_DNN_BIAS, key->type, false);
        acui_cudnn_desc sum = activation
                                  ? tensor(set, key, ACUI_DNN_PLACES + 1, ACUI_CUDNN_F32, true)
                                  : y;
        ops[count++] = pointwise(set, ADD, at[ACUI_DNN_Y], b, sum);
        at[ACUI_DNN_Y] = sum;
    }
    if (activation)
        ops[count++] = pointwise(set, modes[key->activation], at[ACUI_DNN_Y], NULL, y);
    acui_cudnn_desc graph = acui_dnn_new(set, GRAPH);
    acui_dnn_put(set, graph, GRAPH_HANDLE, ACUI_CUDNN_HANDLE, 1, &handle);
    acui_dnn_put(set, graph, GRAPH_OPS, ACUI_CUDNN_DESCRIPTOR, count, ops);
    acui_dnn_finish(set, graph);
    return set->status == ACU_OK ? graph : NULL;
}
