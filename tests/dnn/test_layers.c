/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pooling, softmax and batch normalization by cuDNN, forward and backward, against sums in double;
 * on the software device by a library that poses as it (fake_cudnn.c). */
#include "dnn/layers.h"

enum { MOST = 2 * 4 * 7 * 9 };

/* Different from each other in a window, so that there is one greatest. */
static void spread(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(i * 37 % 101) / 64 - 0.75;
}

/* ---- pooling ---- */

typedef struct pooling {
    acu_shape x, window;
    acu_window_options o;
} pooling;

static const pooling plane = {{.rank = 4, .dim = {2, 4, 7, 9}}, {.rank = 2, .dim = {3, 2}},
                              {.size = sizeof(acu_window_options), .stride = {2, 1},
                               .padding = {1, 0}}};
static const pooling line = {{.rank = 3, .dim = {2, 3, 11}}, {.rank = 1, .dim = {3}},
                             {.size = sizeof(acu_window_options), .padding = {1}}};

/* As planes of rows and columns. */
typedef struct places {
    int64_t planes, n[2], out[2], window[2], stride[2], padding[2];
} places;

static places places_of(const pooling *p)
{
    int rank = p->window.rank;
    places s = {.planes = p->x.dim[0] * p->x.dim[1], .n = {1, 1}, .out = {1, 1}, .window = {1, 1},
                .stride = {1, 1}};
    for (int i = 0, at = 2 - rank; i < rank; i++, at++) {
        s.n[at] = p->x.dim[2 + i];
        s.window[at] = p->window.dim[i];
        s.stride[at] = p->o.stride[i] ? p->o.stride[i] : p->window.dim[i];
        s.padding[at] = p->o.padding[i];
        s.out[at] = (s.n[at] + 2 * s.padding[at] - s.window[at]) / s.stride[at] + 1;
    }
    return s;
}

/* y, if dx is NULL; else dx of dy. */
static void pool_one(const places *s, acu_pooling kind, const double *x, const double *dy,
                     int64_t row, int64_t column, double *y, double *dx)
{
    int64_t r0 = row * s->stride[0] - s->padding[0], c0 = column * s->stride[1] - s->padding[1];
    int64_t greatest = -1, inside = 0, at = row * s->out[1] + column;
    double sum = 0;
    for (int64_t r = r0; r < r0 + s->window[0]; r++)
        for (int64_t c = c0; c < c0 + s->window[1]; c++) {
            if (r < 0 || c < 0 || r >= s->n[0] || c >= s->n[1])
                continue;
            int64_t i = r * s->n[1] + c;
            greatest = greatest < 0 || x[i] > x[greatest] ? i : greatest;
            sum += x[i];
            inside++;
        }
    double by = kind == ACU_POOL_MEAN ? (double)(s->window[0] * s->window[1]) : (double)inside;
    if (!dx)
        y[at] = kind == ACU_POOL_MAX ? x[greatest] : sum / by;
    else if (kind == ACU_POOL_MAX)
        dx[greatest] += dy[at];
    else
        for (int64_t r = r0; r < r0 + s->window[0]; r++)
            for (int64_t c = c0; c < c0 + s->window[1]; c++)
                if (r >= 0 && c >= 0 && r < s->n[0] && c < s->n[1])
                    dx[r * s->n[1] + c] += dy[at] / by;
}

static void pool_all(const places *s, acu_pooling kind, const double *x, const double *dy,
                     double *y, double *dx)
{
    int64_t in = s->n[0] * s->n[1], out = s->out[0] * s->out[1];
    for (int64_t p = 0; p < s->planes; p++)
        for (int64_t i = 0; i < out; i++)
            pool_one(s, kind, x + p * in, dy ? dy + p * out : NULL, i / s->out[1], i % s->out[1],
                     y ? y + p * out : NULL, dx ? dx + p * in : NULL);
}

static void pool(acu_device *device, const pooling *p, acu_pooling kind, acu_dtype dtype, int how,
                 bool backward)
{
    double x[MOST], y[MOST], dx[MOST] = {0};
    places s = places_of(p);
    acu_shape shape = p->x;
    for (int i = 2; i < shape.rank; i++)
        shape.dim[i] = s.out[4 - shape.rank + i - 2];
    double *dy = layer_numbers(shape);
    spread(x, (size_t)acu_shape_elements(p->x));
    pool_all(&s, kind, x, NULL, y, NULL);
    acu_tensor *from = layer_tensor(device, dtype, p->x, x, how), *result;
    layer_is(device, acu_dnn_pool(kind, from, p->window, &p->o), shape, y, how & 1, "pool");
    if (backward) {
        acu_tensor *back = layer_tensor(device, dtype, shape, dy, how);
        pool_all(&s, kind, x, dy, NULL, dx);
        assert_works(acu_sync(device, acu_dnn_pool(kind, from, p->window, &p->o), &result));
        layer_is(device, acu_dnn_pool_gradient(kind, back, result, from, p->window, &p->o), p->x,
                 dx, how & 1, "dx of pool");
        acu_tensor_release(back);
        acu_tensor_release(result);
    }
    acu_tensor_release(from);
    free(dy);
}

static void pools(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F16, ACU_BF16};
    acu_device *device = open_dnn();
    for (int kind = ACU_POOL_MAX; kind <= ACU_POOL_MEAN_INSIDE; kind++)
        for (int how = 0; how < 2; how++) {
            for (int i = 0; i < 3; i++)
                pool(device, &plane, (acu_pooling)kind, dtypes[i], how, true);
            pool(device, &line, (acu_pooling)kind, ACU_F32, how, true);
        }
    with_end(device);
}

/* ---- softmax ---- */

static void softmax(acu_device *device, acu_dtype dtype, acu_shape shape, int along, bool log_of,
                    bool backward)
{
    size_t n = (size_t)acu_shape_elements(shape), inner = 1;
    double *x = layer_numbers(shape), *dy = layer_numbers(shape), y[MOST], dx[MOST];
    int64_t len = shape.dim[along];
    for (int i = along + 1; i < shape.rank; i++)
        inner *= (size_t)shape.dim[i];
    for (size_t i = 0; i < n; i++) {
        size_t first = i / inner / (size_t)len * (size_t)len * inner + i % inner;
        double sum = 0;
        for (int64_t c = 0; c < len; c++)
            sum += exp(x[first + (size_t)c * inner]);
        y[i] = log_of ? x[i] - log(sum) : exp(x[i]) / sum;
    }
    for (size_t i = 0; i < n; i++) {
        size_t first = i / inner / (size_t)len * (size_t)len * inner + i % inner;
        double sum = 0;
        for (int64_t c = 0; c < len; c++)
            sum += dy[first + (size_t)c * inner] * (log_of ? 1 : y[first + (size_t)c * inner]);
        dx[i] = log_of ? dy[i] - exp(y[i]) * sum : y[i] * (dy[i] - sum);
    }
    acu_tensor *from = layer_tensor(device, dtype, shape, x, 0);
    acu_tensor *back = layer_tensor(device, dtype, shape, dy, 0), *result;
    acu_op *op = acu_op_dnn_softmax(acu_value(from), along - shape.rank, log_of, ACU_SITE);
    layer_is(device, acu_op_retain(op), shape, y, false, "softmax");
    assert_works(acu_sync(device, op, &result));
    if (backward)
        layer_is(device, acu_op_dnn_softmax_gradient(acu_value(back), acu_value(result), along,
                                                     log_of, ACU_SITE),
                 shape, dx, false, "dx of softmax");
    acu_tensor_release(from);
    acu_tensor_release(back);
    acu_tensor_release(result);
    free(x);
    free(dy);
}

static void softmaxes(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    for (int along = 0; along < 3; along++)
        for (int log_of = 0; log_of < 2; log_of++)
            softmax(device, ACU_F32, ACU_SHAPE(3, 5, 7), along, log_of, true);
    softmax(device, ACU_F16, ACU_SHAPE(4, 33), 1, false, true);
    softmax(device, ACU_F32, ACU_SHAPE(17), 0, false, true);
    with_end(device);
}

/* ---- batch normalization ---- */

enum { CHANNELS = 4 };

typedef struct norms {
    double x[MOST], dy[MOST], y[MOST], dx[MOST], scale[CHANNELS], bias[CHANNELS];
    double mean[CHANNELS], inverse[CHANNELS], variance[CHANNELS], dscale[CHANNELS],
        dbias[CHANNELS];
} norms;

static size_t channel_of(size_t i, size_t inner)
{
    return i / inner % CHANNELS;
}

static void compute(norms *s, size_t n, size_t inner, double epsilon)
{
    double count = (double)(n / CHANNELS);
    for (size_t i = 0; i < n; i++)
        s->mean[channel_of(i, inner)] += s->x[i] / count;
    for (size_t i = 0; i < n; i++)
        s->variance[channel_of(i, inner)] += pow(s->x[i] - s->mean[channel_of(i, inner)], 2);
    for (int c = 0; c < CHANNELS; c++) {
        s->inverse[c] = 1 / sqrt(s->variance[c] / count + epsilon);
        s->variance[c] /= count - 1;
    }
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(i, inner);
        double normal = (s->x[i] - s->mean[c]) * s->inverse[c];
        s->y[i] = normal * s->scale[c] + s->bias[c];
        s->dbias[c] += s->dy[i];
        s->dscale[c] += s->dy[i] * normal;
    }
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(i, inner);
        double normal = (s->x[i] - s->mean[c]) * s->inverse[c];
        s->dx[i] = s->scale[c] * s->inverse[c] *
                   (s->dy[i] - s->dbias[c] / count - normal * s->dscale[c] / count);
    }
}

static void get_three(acu_device *device, acu_op *op, acu_tensor **values)
{
    acu_future *future;
    assert_works(acu_submit(device, op, NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(acu_future_values(future), 3);
    for (size_t i = 0; i < 3; i++)
        assert_works(acu_future_take(future, i, &values[i]));
    acu_future_release(future);
}

static acu_tensor *vector(acu_device *device, const double *numbers)
{
    return with_numbers(device, ACU_F32, ACU_SHAPE(CHANNELS), numbers);
}

static void vector_is(acu_device *device, acu_tensor *have, const double *want, const char *what)
{
    layer_is(device, acu_dup(have), ACU_SHAPE(CHANNELS), want, false, what);
}

static void norm(acu_device *device, acu_dtype dtype, acu_shape shape, int how)
{
    const double epsilon = 1e-3, factor = 0.25;
    size_t n = (size_t)acu_shape_elements(shape), inner = n / (size_t)(shape.dim[0] * CHANNELS);
    norms *s = calloc(1, sizeof *s);
    spread(s->x, n);
    for (size_t i = 0; i < n; i++)
        s->dy[i] = (double)(i * 29 % 41) / 32 - 0.5;
    for (int c = 0; c < CHANNELS; c++) {
        s->scale[c] = 0.5 + 0.25 * c;
        s->bias[c] = 0.125 * c;
    }
    compute(s, n, inner, epsilon);
    const double zeros[CHANNELS] = {0}, ones[CHANNELS] = {1, 1, 1, 1};
    double kept_mean[CHANNELS], kept_variance[CHANNELS], plain[MOST];
    for (int c = 0; c < CHANNELS; c++) {
        kept_mean[c] = factor * s->mean[c];
        kept_variance[c] = 1 - factor + factor * s->variance[c];
    }
    acu_tensor *x = layer_tensor(device, dtype, shape, s->x, how);
    acu_tensor *dy = layer_tensor(device, dtype, shape, s->dy, how), *made[3], *back[3];
    acu_tensor *scale = vector(device, s->scale), *bias = vector(device, s->bias);
    acu_tensor *mean = vector(device, zeros), *variance = vector(device, ones);
    for (size_t i = 0; i < n; i++) {
        size_t c = channel_of(i, inner);
        plain[i] = s->x[i] / sqrt(1 + epsilon) * s->scale[c] + s->bias[c];
    }
    layer_is(device, acu_dnn_batch_norm(x, mean, variance, scale, bias, epsilon), shape, plain,
             how & 1, "norm");
    get_three(device, acu_dnn_batch_norm_training(x, scale, bias, acu_value(mean),
                                                  acu_value(variance), factor, epsilon), made);
    layer_is(device, acu_value(made[0]), shape, s->y, how & 1, "norm of training");
    vector_is(device, made[1], s->mean, "the saved mean");
    vector_is(device, made[2], s->inverse, "the saved inverse");
    vector_is(device, mean, kept_mean, "the running mean");
    vector_is(device, variance, kept_variance, "the running variance");
    get_three(device, acu_dnn_batch_norm_gradient(dy, x, scale, made[1], made[2], epsilon), back);
    layer_is(device, acu_value(back[0]), shape, s->dx, how & 1, "dx of norm");
    vector_is(device, back[1], s->dscale, "dscale");
    vector_is(device, back[2], s->dbias, "dbias");
    for (int i = 0; i < 3; i++) {
        acu_tensor_release(made[i]);
        acu_tensor_release(back[i]);
    }
    acu_tensor *const all[] = {x, dy, scale, bias, mean, variance};
    for (int i = 0; i < 6; i++)
        acu_tensor_release(all[i]);
    free(s);
}

static void batch_norms(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    for (int how = 0; how < 2; how++) {
        norm(device, ACU_F32, ACU_SHAPE(2, CHANNELS, 7, 9), how);
        norm(device, ACU_F16, ACU_SHAPE(2, CHANNELS, 7, 9), how);
    }
    norm(device, ACU_F32, ACU_SHAPE(3, CHANNELS, 5), 0);
    norm(device, ACU_BF16, ACU_SHAPE(2, CHANNELS, 2, 3, 4), 0);
    double ones[CHANNELS] = {1, 1, 1, 1};
    acu_tensor *values[3], *one = vector(device, ones);
    acu_op *alone = acu_dnn_batch_norm_training(acu_ones(ACU_F32, ACU_SHAPE(2, CHANNELS, 3)), one,
                                                one, NULL, NULL, 0, 1e-5);
    get_three(device, alone, values); /* nothing is kept */
    vector_is(device, values[1], ones, "the mean of ones");
    for (int i = 0; i < 3; i++)
        acu_tensor_release(values[i]);
    acu_tensor_release(one);
    with_end(device);
}

/* ---- without cuDNN, refusals, failures ---- */

static void without_cudnn(void **state)
{
    (void)state;
    acu_device *device = open_without_dnn();
    for (int how = 0; how < 2; how++)
        pool(device, &plane, ACU_POOL_MEAN, ACU_F32, how, false);
    double ones[] = {1, 1};
    layer_is(device, acu_dnn_pool(ACU_POOL_MAX, acu_ones(ACU_F32, ACU_SHAPE(1, 1, 2, 4)),
                                  ACU_SHAPE(2, 2), NULL),
             ACU_SHAPE(1, 1, 1, 2), ones, false, "pool without options");
    softmax(device, ACU_F32, ACU_SHAPE(3, 5, 7), 1, true, false);
    acu_op *y = acu_ones(ACU_F32, ACU_SHAPE(3, 5));
    assert_fails(acu_sync(device, acu_dnn_softmax_gradient(acu_op_retain(y), y, 0), NULL),
                 ACU_ERR_NOT_FOUND, "cuDNN is switched off");
    end_without_dnn(device);
}

static acu_op *ones(acu_shape shape)
{
    return acu_ones(ACU_F32, shape);
}

static acu_op *c(void)
{
    return ones(ACU_SHAPE(3));
}

static void refusals_of_pools(acu_device *device)
{
    acu_shape x = ACU_SHAPE(1, 2, 6, 6), w = ACU_SHAPE(2, 2);
    acu_window_options o = {.size = sizeof o, .dilation = {2}};
    assert_fails(acu_sync(device, acu_dnn_pool(ACU_POOL_MAX, ones(x), w, &o), NULL),
                 ACU_ERR_INVALID, "no dilation and no groups");
    assert_fails(acu_sync(device, acu_dnn_pool((acu_pooling)7, ones(x), w, NULL), NULL),
                 ACU_ERR_INVALID, "of kind 7");
    assert_fails(acu_sync(device, acu_dnn_pool(ACU_POOL_MAX, ones(x), ACU_SHAPE(7, 2), NULL), NULL),
                 ACU_ERR_SHAPE, "does not fit");
    assert_fails(acu_sync(device, acu_dnn_pool(ACU_POOL_MAX, ones(x), ACU_SHAPE(2), NULL), NULL),
                 ACU_ERR_SHAPE, "as many dimensions as");
    acu_op *dx = acu_dnn_pool_gradient(ACU_POOL_MAX, ones(x), ones(ACU_SHAPE(1, 2, 3, 3)), ones(x),
                                       w, NULL);
    assert_fails(acu_sync(device, dx, NULL), ACU_ERR_SHAPE, "the shape of what pooling x gives");
}

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    acu_shape x = ACU_SHAPE(2, 3, 4);
    refusals_of_pools(device);
    assert_fails(acu_sync(device, acu_dnn_softmax(ones(x), 3), NULL), ACU_ERR_SHAPE,
                 "there is none");
    acu_op *dx = acu_dnn_softmax_gradient(ones(x), ones(ACU_SHAPE(2, 3, 5)), 0);
    assert_fails(acu_sync(device, dx, NULL), ACU_ERR_SHAPE, "the shape of dy");
    acu_op *op = acu_dnn_batch_norm(ones(x), ones(ACU_SHAPE(2)), c(), c(), c(), 1e-5);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE, "one element for each channel");
    op = acu_dnn_batch_norm(ones(x), c(), c(), c(), c(), -1);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID, "epsilon is -1");
    op = acu_dnn_batch_norm_training(ones(x), c(), c(), c(), NULL, 0.5, 1e-5);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID, "go together");
    op = acu_dnn_batch_norm_training(ones(x), c(), c(), NULL, NULL, 2, 1e-5);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID, "from 0 to 1");
    op = acu_dnn_batch_norm(ones(ACU_SHAPE(2, 3)), c(), c(), c(), c(), 1e-5);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE, "one to three dimensions besides");
    with_end(device);
}

static acu_op *everything(void)
{
    acu_op *x = ones(ACU_SHAPE(1, 2, 4, 4)), *c = ones(ACU_SHAPE(2));
    acu_op *q = acu_ones(ACU_F16, ACU_SHAPE(1, 1, 2, 8));
    acu_op *all[] = {
        acu_dnn_attention(acu_op_retain(q), acu_op_retain(q), q, NULL),
        acu_dnn_pool(ACU_POOL_MAX, acu_op_retain(x), ACU_SHAPE(2, 2), NULL),
        acu_dnn_softmax(acu_op_retain(x), 1),
        acu_nth(acu_dnn_batch_norm_training(x, acu_op_retain(c), c, NULL, NULL, 0, 1e-5), 0)};
    return acu_op_zip(all, 4, ACU_SITE);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_dnn();
    test_fail_each_alloc(device, everything);
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_dnn();
    atomic_store(&fake->fail_call, 5001);
    acu_op *op = acu_dnn_softmax(ones(ACU_SHAPE(3, 4)), 1);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_DRIVER,
                 "cudnnSoftmaxForward answered CUDNN_STATUS_EXECUTION_FAILED");
    atomic_store(&fake->fail_call, 0);
    with_end(device);
}

TEST_EACH_CALL(use_fake, everything)

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_cudnn), cmocka_unit_test(pools), cmocka_unit_test(softmaxes),
        cmocka_unit_test(batch_norms), cmocka_unit_test(refusals), cmocka_unit_test(failures),
        cmocka_unit_test(without_memory), cmocka_unit_test(without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
