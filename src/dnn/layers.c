/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pooling, softmax and batch normalization by cuDNN as operations: shapes, checked before cuDNN is
 * called; forward by acuda's own kernels where there is no cuDNN. */
#include "dnn/layer.h"

#include "base/error.h"
#include "ops/windows/windows.h"

#include <acuda/dnn.h>
#include <acuda/layers.h>

#include <limits.h>
#include <string.h>

typedef struct request {
    acui_dnn_kind kind;
    const char *name;
    int pooling, dimension;
    acu_shape window;
    acu_window_options o;
    double epsilon, factor;
    bool log;
} request;

typedef struct planned {
    acui_layer layer;
    const request *r;
    acu_shape x;
} planned;

static acu_shape shape_of(const planned *x, size_t i)
{
    return acu_tensor_shape(x->layer.p->values[i].tensor);
}

static acu_op *refuse(const planned *x, size_t operand, const char *why)
{
    return acui_layer_refuse(&x->layer, ACU_ERR_SHAPE, operand, why);
}

/* Operand `of` has the shape of x. */
static acu_op *check_like_x(const planned *x, size_t of)
{
    return acu_shape_equal(shape_of(x, of), x->x) ? NULL
                                                  : refuse(x, of, "it must have the shape of x");
}

static acu_op *check_rank(const planned *x, size_t operand)
{
    return x->x.rank >= 3 && x->x.rank <= 5
               ? NULL
               : refuse(x, operand, "it must have one to three dimensions besides batch and "
                                    "channels");
}

/* The first `operands` are layers' tensors, and operand `of_x` has the shape of x. */
static acu_op *begin(planned *x, acu_planning *p, size_t operands, size_t of_x)
{
    const request *r = p->data;
    memset(x, 0, sizeof *x);
    x->r = r;
    x->layer.p = p;
    x->layer.name = r->name;
    acu_op *failed = acui_layer_check(&x->layer, operands);
    if (failed)
        return failed;
    x->layer.dnn.key.kind = (int)r->kind;
    x->layer.dnn.epsilon = r->epsilon;
    x->layer.dnn.factor = r->factor;
    x->x = shape_of(x, of_x);
    return NULL;
}

/* ---- pooling --------------------------------------------------------------------------------- */

/* Describes the window, and the result y of x. */
static acu_op *find_places(planned *x, size_t operand, acu_shape *y)
{
    const request *r = x->r;
    acui_dnn_key *k = &x->layer.dnn.key;
    int rank = x->x.rank - 2, shift = rank == 1;
    if (x->x.rank != 3 && x->x.rank != 4)
        return refuse(x, operand, "it must be [batch, channels, length] or [batch, channels, "
                                  "height, width]");
    if (r->window.rank != rank)
        return refuse(x, operand, "the window needs as many dimensions as lie behind the channels");
    *y = x->x;
    k->window[0] = k->stride[0] = 1;
    for (int i = 0; i < rank; i++) {
        int64_t window = r->window.dim[i], step = r->o.stride[i] ? r->o.stride[i] : window;
        int64_t room = x->x.dim[2 + i] + 2 * r->o.padding[i] - window;
        if (window < 1 || room < 0)
            return refuse(x, operand, "the window does not fit into a padded dimension");
        if (2 * r->o.padding[i] > window)
            return refuse(x, operand, "the padding is more than half of the window");
        y->dim[2 + i] = room / step + 1;
        k->window[i + shift] = window;
        k->stride[i + shift] = step;
        k->padding[i + shift] = r->o.padding[i];
    }
    k->mode = r->pooling;
    return NULL;
}

static acu_op *plan_pool(acu_planning *p)
{
    planned x;
    acu_shape y;
    const request *r = p->data;
    acu_op *failed = begin(&x, p, 1, 0);
    if (failed)
        return failed;
    failed = find_places(&x, 0, &y);
    if (failed)
        return failed;
    if (!acui_layer_by_cudnn(p->device)) {
        acu_op *pooled = acu_op_pool((acu_pooling)r->pooling, acu_op_take(&p->values[0], p->site),
                                     r->window, &r->o, p->site);
        if (x.layer.last && p->out.kind == ACU_NONE)
            return acu_op_into(acui_layer_empty(&x.layer, x.layer.dtype, y), pooled, p->site);
        return acui_into(p, pooled);
    }
    acui_layer_describe(&x.layer, ACUI_DNN_X, x.x);
    acui_layer_describe(&x.layer, ACUI_DNN_Y, y);
    failed = acui_layer_write(&x.layer, ACUI_DNN_Y, x.layer.dtype, y, true);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_X, 0);
    return acui_layer_call(&x.layer, 1);
}

/* Operands: dy, y, x. */
static acu_op *plan_pool_gradient(acu_planning *p)
{
    planned x;
    acu_shape y;
    acu_op *failed = begin(&x, p, 3, 2);
    if (failed)
        return failed;
    failed = find_places(&x, 2, &y);
    for (size_t i = 0; i < 2 && !failed; i++)
        if (!acu_shape_equal(shape_of(&x, i), y))
            failed = refuse(&x, i, "it must have the shape of what pooling x gives");
    if (failed)
        return failed;
    acui_layer_describe(&x.layer, ACUI_DNN_X, x.x);
    acui_layer_describe(&x.layer, ACUI_DNN_Y, y);
    failed = acui_layer_write(&x.layer, ACUI_DNN_DX, x.layer.dtype, x.x, true);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_DY, 0);
    acui_layer_read(&x.layer, ACUI_DNN_Y, 1);
    acui_layer_read(&x.layer, ACUI_DNN_X, 2);
    return acui_layer_call(&x.layer, 1);
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* As cuDNN sees it: channels along the dimension. */
static acu_op *describe_lines(planned *x)
{
    enum { ACCURATE = 1, LOGARITHM = 2 };
    int along = acui_dimension(x->r->dimension, x->x.rank);
    acu_shape shape = ACU_SHAPE(1, 1, 1, 1);
    if (along < 0)
        return acui_no_dimension(x->layer.p, x->r->name, x->r->dimension);
    for (int i = 0; i < x->x.rank; i++)
        shape.dim[i < along ? 0 : i == along ? 1 : 2] *= x->x.dim[i];
    x->layer.last = false;
    x->layer.dnn.key.mode = x->r->log ? LOGARITHM : ACCURATE;
    acui_layer_describe(&x->layer, ACUI_DNN_X, shape);
    acui_layer_describe(&x->layer, ACUI_DNN_Y, shape);
    return NULL;
}

static acu_op *plan_softmax(acu_planning *p)
{
    planned x;
    const request *r = p->data;
    acu_op *failed = begin(&x, p, 1, 0);
    if (failed)
        return failed;
    failed = describe_lines(&x);
    if (failed)
        return failed;
    if (!acui_layer_by_cudnn(p->device))
        return acui_into(p, acu_op_softmax(acu_op_take(&p->values[0], p->site), r->dimension,
                                           r->log, p->site));
    failed = acui_layer_write(&x.layer, ACUI_DNN_Y, x.layer.dtype, x.x, true);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_X, 0);
    return acui_layer_call(&x.layer, 1);
}

/* Operands: dy, y. */
static acu_op *plan_softmax_gradient(acu_planning *p)
{
    planned x;
    acu_op *failed = begin(&x, p, 2, 0);
    if (failed)
        return failed;
    failed = acu_shape_equal(shape_of(&x, 1), x.x)
                 ? describe_lines(&x)
                 : refuse(&x, 1, "it must have the shape of dy");
    if (failed)
        return failed;
    failed = acui_layer_write(&x.layer, ACUI_DNN_DX, x.layer.dtype, x.x, true);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_DY, 0);
    acui_layer_read(&x.layer, ACUI_DNN_Y, 1);
    return acui_layer_call(&x.layer, 1);
}

/* ---- batch normalization --------------------------------------------------------------------- */

/* Operands from `first` on are vectors, one element for each channel. */
static acu_op *check_norm(planned *x, size_t first)
{
    acu_op *failed = check_rank(x, 0);
    for (size_t i = first; i < x->layer.p->count && !failed; i++)
        failed = acui_layer_vector(&x->layer, i, x->x.dim[1]);
    return failed;
}

static void describe_norm(planned *x)
{
    acu_shape sums = x->x;
    for (int i = 0; i < sums.rank; i++)
        sums.dim[i] = i == 1 ? sums.dim[1] : 1;
    acui_layer_describe(&x->layer, ACUI_DNN_X, x->x);
    acui_layer_describe(&x->layer, ACUI_DNN_Y, x->x);
    acui_layer_describe(&x->layer, ACUI_DNN_W, sums);
}

static acu_op *write_sums(planned *x, int first, int second)
{
    acu_shape channels = ACU_SHAPE(x->x.dim[1]);
    bool last = x->layer.last;
    x->layer.last = false; /* of a vector */
    acu_op *failed = acui_layer_write(&x->layer, first, ACU_F32, channels, false);
    if (!failed)
        failed = acui_layer_write(&x->layer, second, ACU_F32, channels, false);
    x->layer.last = last;
    return failed;
}

/* Operands: x, mean, variance, scale, bias. */
static acu_op *plan_norm(acu_planning *p)
{
    static const int8_t places[] = {-1, ACUI_DNN_MEAN, ACUI_DNN_VARIANCE, ACUI_DNN_W,
                                    ACUI_DNN_BIAS};
    planned x;
    acu_op *failed = begin(&x, p, 1, 0);
    if (failed)
        return failed;
    failed = check_norm(&x, 1);
    if (failed)
        return failed;
    describe_norm(&x);
    failed = acui_layer_write(&x.layer, ACUI_DNN_Y, x.layer.dtype, x.x, true);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_X, 0);
    for (size_t i = 1; i < p->count; i++)
        acui_layer_use_vector(&x.layer, places[i], i, ACU_READ);
    return acui_layer_call(&x.layer, 1);
}

/* Operands: x, scale, bias, and, if they are kept, the running mean and variance. */
static acu_op *plan_norm_training(acu_planning *p)
{
    static const int8_t places[] = {-1, ACUI_DNN_W, ACUI_DNN_BIAS, ACUI_DNN_MEAN,
                                    ACUI_DNN_VARIANCE};
    enum { RUNNING = 3 };
    planned x;
    acu_op *failed = begin(&x, p, 1, 0);
    if (failed)
        return failed;
    failed = check_norm(&x, 1);
    for (size_t i = RUNNING; i < p->count && !failed; i++)
        if (!acu_tensor_writable(p->values[i].tensor))
            failed = acui_layer_refuse(&x.layer, ACU_ERR_SHARED, i, "it is for reading only");
    if (failed)
        return failed;
    describe_norm(&x);
    failed = acui_layer_write(&x.layer, ACUI_DNN_Y, x.layer.dtype, x.x, false);
    if (!failed)
        failed = write_sums(&x, ACUI_DNN_SAVED_MEAN, ACUI_DNN_SAVED_INVERSE);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_X, 0);
    for (size_t i = 1; i < p->count; i++)
        acui_layer_use_vector(&x.layer, places[i], i, i < RUNNING ? ACU_READ : ACU_UPDATE);
    return acui_layer_call(&x.layer, 3);
}

/* Operands: dy, x, scale, saved mean, saved inverse. */
static acu_op *plan_norm_gradient(acu_planning *p)
{
    planned x;
    acu_op *failed = begin(&x, p, 2, 0);
    if (failed)
        return failed;
    failed = check_like_x(&x, 1);
    if (!failed)
        failed = check_norm(&x, 2);
    if (failed)
        return failed;
    describe_norm(&x);
    failed = acui_layer_write(&x.layer, ACUI_DNN_DX, x.layer.dtype, x.x, false);
    if (!failed)
        failed = write_sums(&x, ACUI_DNN_DW, ACUI_DNN_DBIAS);
    if (failed)
        return failed;
    acui_layer_read(&x.layer, ACUI_DNN_DY, 0);
    acui_layer_read(&x.layer, ACUI_DNN_X, 1);
    acui_layer_use_vector(&x.layer, ACUI_DNN_W, 2, ACU_READ);
    acui_layer_use_vector(&x.layer, ACUI_DNN_SAVED_MEAN, 3, ACU_READ);
    acui_layer_use_vector(&x.layer, ACUI_DNN_SAVED_INVERSE, 4, ACU_READ);
    return acui_layer_call(&x.layer, 3);
}

/* ---- constructing ---------------------------------------------------------------------------- */

static acu_op *drop_all(acu_op *const *ops, size_t count, acu_op *failed)
{
    for (size_t i = 0; i < count; i++)
        acu_op_release(ops[i]);
    return failed;
}

static acu_op *make(const request *r, acu_custom_fn fn, acu_op *const *ops, size_t count,
                    acu_site site)
{
    return acu_op_custom((acu_custom){.name = r->name, .fn = fn, .data = r, .bytes = sizeof *r},
                         ops, count, site);
}

static acu_op *make_pool(request *r, acu_pooling kind, acu_shape window,
                         const acu_window_options *options, acu_custom_fn fn, acu_op *const *ops,
                         size_t count, acu_site site)
{
    acu_op *failed = acui_window_options(r->name, options, &r->o, site);
    if (!failed && (unsigned)kind > ACU_POOL_MEAN_INSIDE)
        failed = acu_op_fail(ACU_ERR_INVALID, r->name, site, "%s of kind %d", r->name, (int)kind);
    for (int i = 0; i < 2 && !failed; i++)
        if (r->o.dilation[i] > 1 || r->o.groups != 1)
            failed = acu_op_fail(ACU_ERR_INVALID, r->name, site, "%s has no dilation and no groups",
                                 r->name);
    if (failed)
        return drop_all(ops, count, failed);
    r->o.size = sizeof r->o; /* NULL has none, and own kernels read them again */
    r->pooling = (int)kind;
    r->window = window;
    return make(r, fn, ops, count, site);
}

acu_op *acu_op_dnn_pool(acu_pooling kind, acu_op *x, acu_shape window,
                        const acu_window_options *options, acu_site site)
{
    request r = {.kind = ACUI_DNN_POOL, .name = "dnn_pool"};
    return make_pool(&r, kind, window, options, plan_pool, &x, 1, site);
}

acu_op *acu_op_dnn_pool_gradient(acu_pooling kind, acu_op *dy, acu_op *y, acu_op *x,
                                 acu_shape window, const acu_window_options *options,
                                 acu_site site)
{
    request r = {.kind = ACUI_DNN_POOL_BACK, .name = "dnn_pool_gradient"};
    acu_op *const ops[] = {dy, y, x};
    return make_pool(&r, kind, window, options, plan_pool_gradient, ops, 3, site);
}

acu_op *acu_op_dnn_softmax(acu_op *x, int dimension, bool log, acu_site site)
{
    request r = {.kind = ACUI_DNN_SOFTMAX, .name = "dnn_softmax", .dimension = dimension,
                 .log = log};
    return make(&r, plan_softmax, &x, 1, site);
}

acu_op *acu_op_dnn_softmax_gradient(acu_op *dy, acu_op *y, int dimension, bool log, acu_site site)
{
    request r = {.kind = ACUI_DNN_SOFTMAX_BACK, .name = "dnn_softmax_gradient",
                 .dimension = dimension, .log = log};
    acu_op *const ops[] = {dy, y};
    return make(&r, plan_softmax_gradient, ops, 2, site);
}

/* The refusal of numbers that make no sense; NULL: they do. */
static acu_op *check_numbers(const request *r, acu_site site)
{
    if (!(r->epsilon >= 0 && r->epsilon < 1e30))
        return acu_op_fail(ACU_ERR_INVALID, r->name, site, "%s: epsilon is %g, and must be 0 or "
                           "more", r->name, r->epsilon);
    if (!(r->factor >= 0 && r->factor <= 1))
        return acu_op_fail(ACU_ERR_INVALID, r->name, site, "%s: the factor is %g, and must be from "
                           "0 to 1", r->name, r->factor);
    return NULL;
}

static acu_op *make_norm(const request *r, acu_custom_fn fn, acu_op *const *ops, size_t count,
                         acu_site site)
{
    acu_op *failed = check_numbers(r, site);
    return failed ? drop_all(ops, count, failed) : make(r, fn, ops, count, site);
}

acu_op *acu_op_dnn_batch_norm(acu_op *x, acu_op *mean, acu_op *variance, acu_op *scale,
                              acu_op *bias, double epsilon, acu_site site)
{
    request r = {.kind = ACUI_DNN_NORM, .name = "dnn_batch_norm", .epsilon = epsilon};
    acu_op *const ops[] = {x, mean, variance, scale, bias};
    return make_norm(&r, plan_norm, ops, 5, site);
}

acu_op *acu_op_dnn_batch_norm_training(acu_op *x, acu_op *scale, acu_op *bias, acu_op *mean,
                                       acu_op *variance, double factor, double epsilon,
                                       acu_site site)
{
    request r = {.kind = ACUI_DNN_NORM_TRAINING, .name = "dnn_batch_norm_training",
                 .epsilon = epsilon, .factor = factor};
    acu_op *const ops[] = {x, scale, bias, mean ? mean : variance, variance};
    size_t count = 3 + (size_t)(mean != NULL) + (size_t)(variance != NULL);
    if (count == 4)
        return drop_all(ops, count, acu_op_fail(ACU_ERR_INVALID, r.name, site, "%s: the running "
                                                "mean and variance go together", r.name));
    return make_norm(&r, plan_norm_training, ops, count, site);
}

acu_op *acu_op_dnn_batch_norm_gradient(acu_op *dy, acu_op *x, acu_op *scale, acu_op *saved_mean,
                                       acu_op *saved_inverse, double epsilon, acu_site site)
{
    request r = {.kind = ACUI_DNN_NORM_BACK, .name = "dnn_batch_norm_gradient",
                 .epsilon = epsilon};
    acu_op *const ops[] = {dy, x, scale, saved_mean, saved_inverse};
    return make_norm(&r, plan_norm_gradient, ops, 5, site);
}
