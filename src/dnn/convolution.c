/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Convolution and its gradients as operations: shapes, checked before cuDNN is asked for a plan; by
 * acuda's own kernels (own.c) where there is no cuDNN. */
#include "dnn/layer.h"
#include "dnn/own.h"

#include "base/error.h"
#include "base/options.h"

#include <acuda/dnn.h>

#include <limits.h>
#include <string.h>

static const char *const names[] = {"dnn_conv", "dnn_conv_data_gradient",
                                    "dnn_conv_weight_gradient"};

typedef struct request {
    acui_dnn_kind kind;
    acu_shape shape; /* of a gradient */
    int64_t stride[3], padding[3], dilation[3], groups;
    acu_dnn_activation activation;
    bool bias, deterministic, measure;
    size_t most_bytes;
} request;

typedef struct planned {
    acui_layer layer;
    const request *r;
    acu_shape at[3]; /* of x, weight, y */
} planned;

/* ---- shapes ---------------------------------------------------------------------------------- */

static acu_op *refuse(const planned *x, acu_status status, const char *why)
{
    acu_planning *p = x->layer.p;
    char first[ACUI_OPS_WORDS], second[ACUI_OPS_WORDS];
    return acu_op_fail(status, x->layer.name, p->site, "%s of %s and %s: %s", x->layer.name,
                       acui_value_words(&p->values[0], first),
                       acui_value_words(&p->values[1], second), why);
}

/* Places along a dimension; below 1: the window does not fit. */
static int64_t places(const planned *x, int d)
{
    const request *r = x->r;
    int i = d - 2;
    int64_t wide = r->dilation[i] * (x->at[ACUI_DNN_W].dim[d] - 1) + 1;
    int64_t room = x->at[ACUI_DNN_X].dim[d] + 2 * r->padding[i] - wide;
    return room < 0 ? 0 : room / r->stride[i] + 1;
}

/* Which of x, weight and y the operands are; the third is the result. */
static const int8_t roles[][3] = {[ACUI_DNN_CONV] = {ACUI_DNN_X, ACUI_DNN_W, ACUI_DNN_Y},
                                  [ACUI_DNN_CONV_DATA] = {ACUI_DNN_Y, ACUI_DNN_W, ACUI_DNN_X},
                                  [ACUI_DNN_CONV_WEIGHT] = {ACUI_DNN_X, ACUI_DNN_Y, ACUI_DNN_W}};

/* A window that is as long as this, or moves so far, is never meant. */
static bool is_in_range(const request *r)
{
    for (int i = 0; i < 3; i++)
        if (r->stride[i] > INT_MAX || r->padding[i] > INT_MAX || r->dilation[i] > INT_MAX)
            return false;
    return true;
}

static acu_op *find_shapes(planned *x)
{
    const request *r = x->r;
    const int8_t *role = roles[r->kind];
    acu_shape first = acu_tensor_shape(x->layer.p->values[0].tensor);
    acu_shape second = acu_tensor_shape(x->layer.p->values[1].tensor);
    if (first.rank < 3 || first.rank > 5)
        return refuse(x, ACU_ERR_SHAPE, "tensors must have one to three dimensions besides batch "
                      "and channels");
    if (second.rank != first.rank || (r->kind != ACUI_DNN_CONV && r->shape.rank != first.rank))
        return refuse(x, ACU_ERR_SHAPE, "tensors and weight must have as many dimensions");
    x->at[role[0]] = first;
    x->at[role[1]] = second;
    x->at[role[2]] = r->shape;
    if (r->kind != ACUI_DNN_CONV)
        return NULL;
    x->at[ACUI_DNN_Y] = first;
    x->at[ACUI_DNN_Y].dim[1] = second.dim[0];
    for (int d = 2; d < first.rank; d++)
        x->at[ACUI_DNN_Y].dim[d] = places(x, d);
    return NULL;
}

static acu_op *check_shapes(const planned *x)
{
    const acu_shape *in = &x->at[ACUI_DNN_X], *w = &x->at[ACUI_DNN_W], *out = &x->at[ACUI_DNN_Y];
    int64_t groups = x->r->groups, limit = INT_MAX;
    for (int i = 0; i < in->rank; i++) {
        if (in->dim[i] < 1 || w->dim[i] < 1 || in->dim[i] > limit || w->dim[i] > limit)
            return refuse(x, ACU_ERR_SHAPE, "extents must be from 1 to 2^31 - 1");
        if (i >= 2 && places(x, i) < 1)
            return refuse(x, ACU_ERR_SHAPE, "the window does not fit into a padded dimension");
        if (i >= 2 && out->dim[i] != places(x, i))
            return refuse(x, ACU_ERR_SHAPE, "the gradient of a result must have the places that "
                          "these options give for the shape");
    }
    if (in->dim[1] % groups != 0 || w->dim[0] % groups != 0)
        return refuse(x, ACU_ERR_SHAPE, "channels and filters must be multiples of the groups");
    if (w->dim[1] != in->dim[1] / groups)
        return refuse(x, ACU_ERR_SHAPE, "a filter must have the channels of its group");
    if (out->dim[0] != in->dim[0] || out->dim[1] != w->dim[0])
        return refuse(x, ACU_ERR_SHAPE, "the gradient of a result must be [batch, filters, ...]");
    for (int i = 0; i < 3; i++)
        if (acu_shape_elements(x->at[i]) < 0 || acu_shape_elements(x->at[i]) > INT_MAX)
            return refuse(x, ACU_ERR_LIMIT, "a tensor has 2^31 elements or more");
    return NULL;
}

static acu_op *check_bias(const planned *x)
{
    if (!x->r->bias)
        return NULL;
    acu_shape shape = acu_tensor_shape(x->layer.p->values[2].tensor);
    if (shape.rank == 1 && shape.dim[0] == x->at[ACUI_DNN_W].dim[0])
        return NULL;
    return acui_layer_refuse(&x->layer, ACU_ERR_SHAPE, 2, "the bias must have one element for each "
                             "filter");
}

static acu_op *check(planned *x)
{
    acui_layer *l = &x->layer;
    acu_op *failed = acui_layer_check(l, x->r->bias ? 3 : 2);
    if (!failed)
        failed = find_shapes(x);
    if (!failed)
        failed = check_shapes(x);
    return failed ? failed : check_bias(x);
}

/* ---- by acuda's own kernels ------------------------------------------------------------------ */

static acu_op *by_own(planned *x, const acui_conv_own *own)
{
    acui_layer *l = &x->layer;
    acu_planning *p = l->p;
    const request *r = x->r;
    acu_op *first = acu_op_take(&p->values[0], p->site);
    acu_op *second = acu_op_take(&p->values[1], p->site);
    acu_op *bias = r->bias ? acu_op_take(&p->values[2], p->site) : NULL;
    acu_op *result = r->kind == ACUI_DNN_CONV
                         ? acui_conv_own_forward(own, first, second, bias, (int)r->activation,
                                                 p->site)
                     : r->kind == ACUI_DNN_CONV_DATA
                         ? acui_conv_own_data(own, first, second, p->site)
                         : acui_conv_own_weight(own, first, second, p->site);
    acu_shape shape = x->at[roles[r->kind][2]];
    if (p->out.kind == ACU_NONE && (l->last || r->kind != ACUI_DNN_CONV)) {
        acu_op *out = acui_layer_empty(l, l->dtype, shape);
        return acu_op_nth(acu_op_copy(out, result, p->site), 0, p->site);
    }
    if (r->kind == ACUI_DNN_CONV)
        return acui_into(p, result);
    acu_op *out = acui_result_apart(p, l->name, l->dtype, shape);
    if (acu_op_status(out, NULL) == ACU_OK)
        return acu_op_nth(acu_op_copy(out, result, p->site), 0, p->site);
    acu_op_release(result);
    return out;
}

static acui_conv_own own_of(const planned *x)
{
    acui_conv_own own = {.groups = x->r->groups};
    memcpy(own.at, x->at, sizeof own.at);
    memcpy(own.stride, x->r->stride, sizeof own.stride);
    memcpy(own.padding, x->r->padding, sizeof own.padding);
    memcpy(own.dilation, x->r->dilation, sizeof own.dilation);
    return own;
}

/* ---- the op ---------------------------------------------------------------------------------- */

static void describe(planned *x)
{
    enum { MOST = 256 << 20 };
    const request *r = x->r;
    acui_dnn_key *k = &x->layer.dnn.key;
    int shift = x->at[ACUI_DNN_X].rank == 3; /* a length is the second of two */
    for (int i = 0; i < 3; i++)
        acui_layer_describe(&x->layer, i, x->at[i]);
    for (int i = 0; i < k->rank - 2; i++) {
        bool here = i >= shift;
        k->stride[i] = here ? r->stride[i - shift] : 1;
        k->padding[i] = here ? r->padding[i - shift] : 0;
        k->dilation[i] = here ? r->dilation[i - shift] : 1;
    }
    if (r->bias) {
        acu_shape ones = x->at[ACUI_DNN_Y];
        for (int i = 0; i < ones.rank; i++)
            ones.dim[i] = i == 1 ? ones.dim[1] : 1;
        acui_layer_describe(&x->layer, ACUI_DNN_BIAS, ones);
    }
    k->kind = (int)r->kind;
    k->activation = (int)r->activation;
    k->bias = r->bias;
    k->deterministic = r->deterministic;
    k->measured = r->measure;
    k->most_bytes = r->most_bytes ? r->most_bytes : MOST;
}

static acu_op *plan(acu_planning *p)
{
    planned x;
    request r;
    memset(&x, 0, sizeof x);
    memcpy(&r, p->data, sizeof r);
    x.r = &r;
    x.layer.p = p;
    x.layer.name = names[r.kind];
    acu_op *failed = check(&x);
    if (failed)
        return failed;
    const acui_conv_own own = own_of(&x);
    if (acui_conv_has_own(&own, r.kind, x.layer.dtype) && !acui_layer_by_cudnn(p->device))
        return by_own(&x, &own);
    const int8_t *role = roles[r.kind];
    describe(&x);
    failed = acui_layer_write(&x.layer, role[2], x.layer.dtype, x.at[role[2]], true);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, role[0], 0);
    acui_layer_read(&x.layer, role[1], 1);
    if (r.bias)
        acui_layer_read(&x.layer, ACUI_DNN_BIAS, 2);
    return acui_layer_call(&x.layer, 1);
}

/* ---- constructing ---------------------------------------------------------------------------- */

static const char *wrong_with(const request *r)
{
    for (int i = 0; i < 3; i++)
        if (r->stride[i] < 1 || r->dilation[i] < 1 || r->padding[i] < 0)
            return "strides and dilations are at least 1, paddings at least 0";
    if (!is_in_range(r))
        return "strides, paddings and dilations are below 2^31";
    if (r->groups < 1)
        return "there is at least one group";
    if ((unsigned)r->activation > ACU_DNN_SILU)
        return "this is no acu_dnn_activation";
    if (r->kind != ACUI_DNN_CONV && (r->bias || r->activation != ACU_DNN_NONE))
        return "gradients have no bias and no activation";
    if (r->deterministic && r->measure)
        return "what is measured may be chosen differently in another run: `deterministic` and "
               "`measure` do not go together";
    return NULL;
}

static void read_options(request *r, const acu_dnn_conv_options *o)
{
    for (int i = 0; i < 3; i++) {
        r->stride[i] = o->stride[i] ? o->stride[i] : 1;
        r->dilation[i] = o->dilation[i] ? o->dilation[i] : 1;
        r->padding[i] = o->padding[i];
    }
    r->groups = o->groups ? o->groups : 1;
    r->activation = o->activation;
    r->bias = o->bias != NULL;
    r->deterministic = o->deterministic;
    r->measure = o->measure;
    r->most_bytes = o->most_bytes;
}

static acu_op *make(acui_dnn_kind kind, acu_op *a, acu_op *b, acu_shape shape,
                    const acu_dnn_conv_options *options, acu_site site)
{
    acu_dnn_conv_options o = {.size = sizeof o};
    request r;
    memset(&r, 0, sizeof r);
    acu_status st = options ? acui_options_read(&o, sizeof o, options, names[kind]) : ACU_OK;
    acu_op *const ops[] = {a, b, o.bias};
    size_t count = o.bias ? 3 : 2;
    r.kind = kind;
    r.shape = shape;
    read_options(&r, &o);
    const char *wrong = st == ACU_OK ? wrong_with(&r) : NULL;
    if (st == ACU_OK && !wrong)
        return acu_op_custom((acu_custom){.name = names[kind], .fn = plan, .data = &r,
                                          .bytes = sizeof r}, ops, count, site);
    for (size_t i = 0; i < count; i++)
        acu_op_release(ops[i]);
    return wrong ? acu_op_fail(ACU_ERR_INVALID, names[kind], site, "%s: %s", names[kind], wrong)
                 : acu_op_fail(st, names[kind], site, NULL);
}

acu_op *acu_op_dnn_conv(acu_op *x, acu_op *weight, const acu_dnn_conv_options *options,
                        acu_site site)
{
    return make(ACUI_DNN_CONV, x, weight, (acu_shape){0}, options, site);
}

acu_op *acu_op_dnn_conv_data_gradient(acu_op *dy, acu_op *weight, acu_shape shape,
                                      const acu_dnn_conv_options *options, acu_site site)
{
    return make(ACUI_DNN_CONV_DATA, dy, weight, shape, options, site);
}

acu_op *acu_op_dnn_conv_weight_gradient(acu_op *x, acu_op *dy, acu_shape shape,
                                        const acu_dnn_conv_options *options, acu_site site)
{
    return make(ACUI_DNN_CONV_WEIGHT, x, dy, shape, options, site);
}
