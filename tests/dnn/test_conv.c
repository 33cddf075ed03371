/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Convolutions by cuDNN against sums in double; on the software device by a library that poses as
 * it (fake_cudnn.c). */
#include "dnn/layers.h"

typedef struct conv {
    int rank; /* of the window */
    int64_t batch, channels, filters, groups;
    int64_t n[3], window[3], stride[3], padding[3], dilation[3];
} conv;

static const conv plain = {2, 2, 8, 16, 1, {7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
static const conv odd = {2, 3, 6, 4, 2, {9, 8}, {3, 2}, {2, 1}, {1, 0}, {1, 2}};
static const conv steps = {2, 2, 3, 5, 1, {9, 10}, {3, 2}, {3, 2}, {1, 0}, {1, 3}};
static const conv line = {1, 2, 4, 8, 1, {11}, {4}, {2}, {1}, {1}};
static const conv deep = {3, 1, 4, 8, 1, {4, 5, 3}, {2, 3, 2}, {1, 2, 1}, {0, 1, 1}, {1, 1, 1}};

typedef struct numbers {
    acu_shape x, w, y;
    double *at_x, *at_w, *at_y, *bias;
} numbers;

static acu_dnn_conv_options options_of(const conv *c)
{
    acu_dnn_conv_options o = {.size = sizeof o, .groups = c->groups};
    for (int i = 0; i < c->rank; i++) {
        o.stride[i] = c->stride[i];
        o.padding[i] = c->padding[i];
        o.dilation[i] = c->dilation[i];
    }
    return o;
}

static numbers numbers_of(const conv *c)
{
    numbers n = {.x = {.rank = c->rank + 2, .dim = {c->batch, c->channels}},
                 .w = {.rank = c->rank + 2, .dim = {c->filters, c->channels / c->groups}},
                 .y = {.rank = c->rank + 2, .dim = {c->batch, c->filters}}};
    for (int i = 0; i < c->rank; i++) {
        n.x.dim[i + 2] = c->n[i];
        n.w.dim[i + 2] = c->window[i];
        n.y.dim[i + 2] = (c->n[i] + 2 * c->padding[i] - c->dilation[i] * (c->window[i] - 1) - 1) /
                             c->stride[i] + 1;
    }
    n.at_x = layer_numbers(n.x);
    n.at_w = layer_numbers(n.w);
    n.at_y = layer_numbers(n.y);
    n.bias = layer_numbers(ACU_SHAPE(c->filters));
    return n;
}

static void numbers_end(numbers *n)
{
    free(n->at_x);
    free(n->at_w);
    free(n->at_y);
    free(n->bias);
}

/* ---- what is right ---- */

/* Calls back for each product of the sums: where its factors are, and where it goes. */
static void each_product(const conv *c, const numbers *n,
                         void (*fn)(const numbers *, size_t x, size_t w, size_t y, double *sums),
                         double *sums)
{
    int64_t y[5] = {0}, w[5], x[5];
    do {
        int64_t per_group = c->filters / c->groups;
        memset(w, 0, sizeof w);
        do {
            bool inside = w[0] == y[1];
            x[0] = y[0];
            x[1] = w[1] + y[1] / per_group * n->w.dim[1];
            for (int i = 0; i < c->rank; i++) {
                x[i + 2] = y[i + 2] * c->stride[i] + w[i + 2] * c->dilation[i] - c->padding[i];
                inside = inside && x[i + 2] >= 0 && x[i + 2] < c->n[i];
            }
            if (inside)
                fn(n, layer_at(n->x, x), layer_at(n->w, w), layer_at(n->y, y), sums);
        } while (layer_next(n->w, w));
    } while (layer_next(n->y, y));
}

static void into_y(const numbers *n, size_t x, size_t w, size_t y, double *sums)
{
    sums[y] += n->at_x[x] * n->at_w[w];
}

static void into_x(const numbers *n, size_t x, size_t w, size_t y, double *sums)
{
    sums[x] += n->at_y[y] * n->at_w[w];
}

static void into_w(const numbers *n, size_t x, size_t w, size_t y, double *sums)
{
    sums[w] += n->at_x[x] * n->at_y[y];
}

static double activated(acu_dnn_activation how, double v)
{
    switch (how) {
    case ACU_DNN_RELU:
        return v > 0 ? v : 0;
    case ACU_DNN_SIGMOID:
        return 1 / (1 + exp(-v));
    case ACU_DNN_TANH:
        return tanh(v);
    case ACU_DNN_SILU:
        return v / (1 + exp(-v));
    default:
        return v;
    }
}

/* ---- forward ---- */

/* bits: 1 channels last, 2 bias, 4 slices, which have gaps */
static void forward(acu_device *device, const conv *c, acu_dtype dtype, int how,
                    acu_dnn_activation activation)
{
    numbers n = numbers_of(c);
    size_t count = (size_t)acu_shape_elements(n.y);
    double *want = calloc(count, sizeof *want);
    acu_dnn_conv_options o = options_of(c);
    acu_tensor *bias = layer_tensor(device, dtype, ACU_SHAPE(c->filters), n.bias, 0);
    acu_tensor *x = layer_tensor(device, dtype, n.x, n.at_x, how & 5);
    acu_tensor *w = layer_tensor(device, dtype, n.w, n.at_w, how & 1);
    each_product(c, &n, into_y, want);
    size_t filters = (size_t)c->filters, each = count / ((size_t)c->batch * filters);
    for (size_t i = 0; i < count; i++)
        want[i] = activated(activation, want[i] + (how & 2 ? n.bias[i / each % filters] : 0));
    o.bias = how & 2 ? acu_value(bias) : NULL;
    o.activation = activation;
    layer_is(device, acu_dnn_conv(x, w, &o), n.y, want, (how & 5) == 1, "conv");
    acu_tensor_release(x);
    acu_tensor_release(w);
    acu_tensor_release(bias);
    free(want);
    numbers_end(&n);
}

static void forwards(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F16, ACU_BF16};
    for (int i = 0; i < 3; i++)
        for (int how = 0; how < 8; how++)
            forward(device, &plain, dtypes[i], how, how & 2 ? ACU_DNN_RELU : ACU_DNN_NONE);
    for (int how = 0; how < 2; how++) {
        forward(device, &odd, ACU_F32, how, ACU_DNN_NONE);
        forward(device, &line, ACU_F32, how, ACU_DNN_NONE);
        forward(device, &deep, ACU_F32, how, ACU_DNN_NONE);
    }
    forward(device, &line, ACU_F16, 2, ACU_DNN_TANH);
    for (int how = ACU_DNN_NONE; how <= ACU_DNN_SILU; how++) {
        forward(device, &plain, ACU_F32, 2, (acu_dnn_activation)how);
        forward(device, &plain, ACU_F16, 3, (acu_dnn_activation)how);
    }
    with_end(device);
}

/* ---- gradients ---- */

static void gradients_of(acu_device *device, const conv *c, acu_dtype dtype, int how)
{
    numbers n = numbers_of(c);
    double *dx = calloc((size_t)acu_shape_elements(n.x), sizeof *dx);
    double *dw = calloc((size_t)acu_shape_elements(n.w), sizeof *dw);
    acu_dnn_conv_options o = options_of(c);
    o.deterministic = how & 2;
    acu_tensor *x = layer_tensor(device, dtype, n.x, n.at_x, how & 1);
    acu_tensor *w = layer_tensor(device, dtype, n.w, n.at_w, how & 1);
    acu_tensor *dy = layer_tensor(device, dtype, n.y, n.at_y, how & 1);
    each_product(c, &n, into_x, dx);
    each_product(c, &n, into_w, dw);
    layer_is(device, acu_dnn_conv_data_gradient(dy, w, n.x, &o), n.x, dx, how & 1, "dx");
    layer_is(device, acu_dnn_conv_weight_gradient(x, dy, n.w, &o), n.w, dw, how & 1, "dw");
    acu_tensor_release(x);
    acu_tensor_release(w);
    acu_tensor_release(dy);
    free(dx);
    free(dw);
    numbers_end(&n);
}

static void gradients(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F16, ACU_BF16};
    for (int i = 0; i < 3; i++)
        for (int how = 0; how < 4; how++)
            gradients_of(device, &plain, dtypes[i], how);
    gradients_of(device, &odd, ACU_F32, 0);
    gradients_of(device, &steps, ACU_F32, 0);
    gradients_of(device, &line, ACU_F32, 0);
    gradients_of(device, &deep, ACU_F32, 0);
    with_end(device);
}

/* ---- where results go ---- */

/* bits: 1 a target with the channels last, 2 one with gaps */
static void goes_to(acu_device *device, int how)
{
    numbers n = numbers_of(&plain);
    size_t count = (size_t)acu_shape_elements(n.y);
    double *want = calloc(count, sizeof *want), *have = calloc(count, sizeof *have);
    acu_dnn_conv_options o = options_of(&plain);
    acu_tensor *x = layer_tensor(device, ACU_F32, n.x, n.at_x, 0), *dense;
    acu_tensor *w = layer_tensor(device, ACU_F32, n.w, n.at_w, 0);
    acu_tensor *y = layer_tensor(device, ACU_F32, n.y, n.at_y, (how & 1) | (how & 2 ? 4 : 0));
    each_product(&plain, &n, into_y, want);
    assert_works(acu_sync(device, acu_into(y, acu_dnn_conv(x, w, &o)), NULL));
    assert_works(acu_sync(device, acu_dup(y), &dense));
    with_read(dense, have);
    with_near(have, want, count, 1e-5, "into");
    acu_tensor_release(x);
    acu_tensor_release(w);
    acu_tensor_release(y);
    acu_tensor_release(dense);
    free(want);
    free(have);
    numbers_end(&n);
}

static void into(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    for (int how = 0; how < 3; how++)
        goes_to(device, how);
    acu_tensor *x;
    acu_dnn_conv_options o = {.size = sizeof o};
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(1, 4, 4, 4)), &x));
    acu_op *w = acu_ones(ACU_F32, ACU_SHAPE(4, 4, 1, 1));
    assert_fails(acu_sync(device, acu_into(x, acu_dnn_conv(x, w, &o)), NULL), ACU_ERR_SHARED,
                 "can not overwrite its operand 0");
    w = acu_ones(ACU_F32, ACU_SHAPE(5, 4, 1, 1));
    acu_op *other = acu_dnn_conv(acu_ones(ACU_F32, ACU_SHAPE(1, 4, 4, 4)), w, &o);
    assert_fails(acu_sync(device, acu_into(x, other), NULL), ACU_ERR_SHAPE, "can not go to");
    acu_tensor_release(x);
    with_end(device);
}

/* A step of training in one submission: the gradient is subtracted from the weight, which the next
 * step reads; in a graph, which is replayed. */
static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    numbers n = numbers_of(&plain);
    size_t count = (size_t)acu_shape_elements(n.w);
    double *dw = calloc(count, sizeof *dw);
    acu_dnn_conv_options o = options_of(&plain);
    acu_tensor *x = layer_tensor(device, ACU_F32, n.x, n.at_x, 1);
    acu_tensor *w = layer_tensor(device, ACU_F32, n.w, n.at_w, 0);
    acu_tensor *dy = layer_tensor(device, ACU_F32, n.y, n.at_y, 1);
    acu_graph *graph;
    each_product(&plain, &n, into_w, dw);
    acu_op *gradient = acu_dnn_conv_weight_gradient(x, dy, n.w, &o);
    assert_works(acu_graph_load(device, acu_into(w, acu_sub(w, gradient)), NULL, &graph));
    for (int turn = 0; turn < 3; turn++)
        assert_works(acu_sync(device, acu_replay(graph), NULL));
    for (size_t i = 0; i < count; i++)
        dw[i] = n.at_w[i] - 3 * dw[i];
    layer_is(device, acu_dup(w), n.w, dw, false, "three steps");
    acu_graph_release(graph);
    acu_tensor_release(x);
    acu_tensor_release(w);
    acu_tensor_release(dy);
    free(dw);
    numbers_end(&n);
    with_end(device);
}

typedef struct step {
    acu_tensor *x, *w, *y;
} step;

static acu_op *convolved(void *user)
{
    step *s = user;
    acu_dnn_conv_options o = {.size = sizeof o};
    return acu_into(s->y, acu_dnn_conv(s->x, s->w, &o));
}

/* Cached graphs have the call. */
static void repeated(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    step s;
    double have[9 * 8];
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(1, 8, 5, 5)), &s.x));
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(8, 8, 3, 3)), &s.w));
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(1, 8, 3, 3)), &s.y));
    with_repeated(device, convolved, &s);
    with_read(s.y, have);
    for (int i = 0; i < 9 * 8; i++)
        assert_true(have[i] == 72);
    acu_tensor_release(s.x);
    acu_tensor_release(s.w);
    acu_tensor_release(s.y);
    with_end(device);
}

/* ---- what is chosen ---- */

static acu_op *some(acu_dtype dtype, int filters, acu_dnn_conv_options o)
{
    return acu_dnn_conv(acu_ones(dtype, ACU_SHAPE(1, 8, 5, 5)),
                        acu_ones(dtype, ACU_SHAPE(filters, 8, 3, 3)), &o);
}

static void is_72(acu_device *device, acu_op *op, int filters)
{
    double want[9 * 64];
    for (int i = 0; i < 9 * filters; i++)
        want[i] = 72;
    layer_is(device, op, ACU_SHAPE(1, filters, 3, 3), want, false, "72");
}

static void choices(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    acu_dnn_conv_options o = {.size = sizeof o};
    is_72(device, some(ACU_F16, 8, o), 8);
    o.measure = true;
    is_72(device, some(ACU_F16, 16, o), 16);
    is_72(device, some(ACU_TF32, 16, o), 16);
    o = (acu_dnn_conv_options){.size = sizeof o, .most_bytes = 1};
    is_72(device, some(ACU_F16, 16, o), 16);
    with_end(device);
}

/* Without rounding to tf32, which is most of what cuDNN proposes for f32, engines are measured that
 * it does not propose; they have other numbers than those that it does. */
static void numbered(void **state)
{
    enum { IN_NO_LIST = 1 << 4 };
    (void)state;
    acu_device *device = open_dnn();
    acu_dnn_conv_options o = {.size = sizeof o};
    for (int turn = 0; turn < 4; turn++) {
        acu_dtype dtype = turn & 2 ? ACU_F16 : ACU_F32;
        o.measure = turn & 1;
        if (fake)
            atomic_store(&fake->ways, 0);
        is_72(device, some(dtype, 16, o), 16);
        if (fake)
            assert_int_equal(atomic_load(&fake->ways) & IN_NO_LIST,
                             o.measure && dtype == ACU_F32 ? IN_NO_LIST : 0);
    }
    with_end(device);
}

/* Whether several runs gave the same bits. */
static bool same_bits(acu_device *device, bool deterministic)
{
    enum { RUNS = 4, N = 16 * 8 * 3 * 3 };
    static float first[N], other[N];
    acu_dnn_conv_options o = {.size = sizeof o, .deterministic = deterministic};
    acu_tensor *x, *dy, *dw;
    bool same = true;
    assert_works(acu_sync(device, acu_randn(ACU_F32, ACU_SHAPE(4, 8, 9, 9), 1, 0), &x));
    assert_works(acu_sync(device, acu_randn(ACU_F32, ACU_SHAPE(4, 16, 7, 7), 2, 0), &dy));
    for (int i = 0; i < RUNS; i++) {
        acu_op *op = acu_dnn_conv_weight_gradient(x, dy, ACU_SHAPE(16, 8, 3, 3), &o);
        assert_works(acu_sync(device, op, &dw));
        assert_works(acu_read_sync(dw, i ? other : first, sizeof first));
        same = same && (i == 0 || memcmp(first, other, sizeof first) == 0);
        acu_tensor_release(dw);
    }
    acu_tensor_release(x);
    acu_tensor_release(dy);
    return same;
}

/* One handle serves all plans, and one plan all threads; each thread that calls has a handle. A GPU
 * takes long for each plan. */
static void *some_plans(void *device)
{
    acu_dnn_conv_options o = {.size = sizeof o};
    for (int i = 1; i <= (test_on_gpu() ? 2 : 5); i++)
        is_72(device, some(ACU_F32, i, o), i);
    return NULL;
}

static void handles(void **state)
{
    enum { THREADS = 4 };
    (void)state;
    acu_device *device = open_dnn();
    int before = fake ? atomic_load(&fake->handles) : 0;
    pthread_t threads[THREADS];
    some_plans(device);
    if (fake)
        assert_int_equal(atomic_load(&fake->handles) - before, 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, some_plans, device), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (fake)
        assert_true(atomic_load(&fake->handles) - before <= THREADS);
    with_end(device);
}

/* A driver lets nobody load a module, which making a handle does, while a stream is captured: so
 * whoever captures must not wait for a handle. (On an H200 one waited so for longer than ten
 * seconds, while the loader waited for a lock of the driver's.) */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool calls, goes_on;
    _Atomic(int) made, captured; /* handles; of these while a stream was captured */
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void first_call_waits(void)
{
    atomic_store(&fake->calling, NULL);
    pthread_mutex_lock(&meeting.lock);
    meeting.calls = true;
    pthread_cond_broadcast(&meeting.changed);
    while (!meeting.goes_on)
        pthread_cond_wait(&meeting.changed, &meeting.lock);
    pthread_mutex_unlock(&meeting.lock);
}

static void look_for_captures(void)
{
    atomic_fetch_add(&meeting.made, 1);
    if (acu_driver_calls(ACU_CALL_StreamBeginCapture) !=
        acu_driver_calls(ACU_CALL_StreamEndCapture))
        atomic_fetch_add(&meeting.captured, 1);
}

static void *calls_once(void *device)
{
    acu_dnn_conv_options o = {.size = sizeof o};
    is_72(device, some(ACU_F32, 8, o), 8);
    return NULL;
}

static void captures_wait_for_nothing(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_dnn();
    acu_dnn_conv_options o = {.size = sizeof o};
    acu_graph *graph;
    pthread_t thread;
    is_72(device, some(ACU_F32, 8, o), 8); /* the plan is there, and one handle */
    assert_works(acu_graph_cache_limit(device, 0));
    acu_driver_count_calls(true);
    atomic_store(&fake->calling, first_call_waits);
    atomic_store(&fake->creating, look_for_captures);
    assert_int_equal(pthread_create(&thread, NULL, calls_once, device), 0);
    pthread_mutex_lock(&meeting.lock);
    while (!meeting.calls) /* and has the handle */
        pthread_cond_wait(&meeting.changed, &meeting.lock);
    pthread_mutex_unlock(&meeting.lock);
    assert_works(acu_graph_load(device, some(ACU_F32, 8, o), NULL, &graph));
    pthread_mutex_lock(&meeting.lock);
    meeting.goes_on = true;
    pthread_cond_broadcast(&meeting.changed);
    pthread_mutex_unlock(&meeting.lock);
    pthread_join(thread, NULL);
    atomic_store(&fake->creating, NULL);
    acu_driver_count_calls(false);
    assert_int_equal(atomic_load(&meeting.made), 1);
    assert_int_equal(atomic_load(&meeting.captured), 0);
    acu_graph_release(graph);
    with_end(device);
}

static void deterministic(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    assert_true(same_bits(device, true));
    if (!test_on_gpu()) /* a GPU may happen to give the same */
        assert_false(same_bits(device, false));
    with_end(device);
}

/* There is no memory for the first engine's, and so the other one is used. */
static void with_less_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_dnn();
    assert_works(acu_graph_cache_limit(device, 0)); /* graphs have their memory before */
    acu_dnn_conv_options o = {.size = sizeof o};
    acu_tensor *x, *w, *y;
    assert_works(acu_sync(device, acu_ones(ACU_F16, ACU_SHAPE(1, 8, 5, 5)), &x));
    assert_works(acu_sync(device, acu_ones(ACU_F16, ACU_SHAPE(8, 8, 3, 3)), &w));
    assert_works(acu_sync(device, acu_dnn_conv(x, w, &o), &y)); /* the plan is made */
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_MemAllocFromPoolAsync,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    assert_works(acu_sync(device, acu_into(y, acu_dnn_conv(x, w, &o)), NULL));
    assert_int_equal(acu_driver_fault_hits(), 1);
    fault.from_then_on = true;
    assert_works(acu_driver_fail(&fault));
    acu_op *again = acu_into(y, acu_dnn_conv(x, w, &o));
    assert_fails(acu_sync(device, again, NULL), ACU_ERR_DEVICE_MEMORY, "cuMemAllocFromPoolAsync");
    acu_driver_fail_clear();
    acu_tensor_release(x);
    acu_tensor_release(w);
    acu_tensor_release(y);
    with_end(device);
}

/* Where there is no cuDNN, acuda's own kernel takes what it can. */
static void without_cudnn(void **state)
{
    (void)state;
    acu_device *device = open_without_dnn();
    for (int how = 0; how < 4; how++)
        forward(device, &plain, ACU_F32, how, (acu_dnn_activation)how);
    forward(device, &line, ACU_F16, 2, ACU_DNN_SILU);
    forward(device, &odd, ACU_F32, 0, ACU_DNN_NONE);
    for (int how = 0; how < 2; how++)
        gradients_of(device, &plain, ACU_F32, how);
    gradients_of(device, &line, ACU_F32, 0);
    gradients_of(device, &steps, ACU_F32, 1);
    acu_dnn_conv_options o = {.size = sizeof o, .groups = 2};
    acu_op *dy = acu_ones(ACU_F32, ACU_SHAPE(1, 4, 4, 4));
    acu_op *dx = acu_dnn_conv_data_gradient(dy, acu_ones(ACU_F32, ACU_SHAPE(4, 1, 1, 1)),
                                            ACU_SHAPE(1, 2, 4, 4), &o);
    assert_fails(acu_sync(device, dx, NULL), ACU_ERR_NOT_FOUND,
                 "cuDNN is switched off by acu_vendor_configure");
    end_without_dnn(device);
}

#if ACUDA_WITH_SOFTCUDA
/* A library that is too old is refused as such, whatever it lacks. */
static void too_old(void **state)
{
    (void)state;
    char path[PATH_MAX];
    test_software_only();
    with_path(ACU_VENDOR_CUDNN, "dnn/libold_cudnn.so", path);
    acu_device *device = test_open();
    assert_fails(acu_vendor_load(device, ACU_VENDOR_CUDNN), ACU_ERR_NOT_FOUND,
                 "is of version 8, and too old: 9 is needed");
    test_close(device);
    test_leaks_none();
}
#else
static void too_old(void **state)
{
    (void)state;
    skip();
}
#endif

/* ---- many plans, many threads ---- */

/* More shapes than a device keeps plans for. */
static void many_shapes(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    acu_dnn_conv_options o = {.size = sizeof o};
    for (int filters = 1; filters <= (test_on_gpu() ? 2 : 72); filters++)
        assert_works(acu_sync(device, some(ACU_F32, filters, o), NULL));
    is_72(device, some(ACU_F32, 1, o), 1); /* which went first, and is made again */
    with_end(device);
}

enum { THREADS = 4, TURNS = 12 };

static void *several(void *device)
{
    acu_dnn_conv_options o = {.size = sizeof o};
    for (int i = 0; i < TURNS; i++)
        if (acu_sync(device, some(i & 1 ? ACU_F16 : ACU_F32, 8, o), NULL) != ACU_OK)
            return device;
    return NULL;
}

/* The same plans at the same time: each is used by one thread only (with_end). */
static void threads(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, several, device), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        assert_null(failed);
    }
    with_end(device);
}

/* ---- refusals and failures ---- */

static void refuses(acu_device *device, acu_shape x, acu_shape w, acu_dnn_conv_options o,
                    acu_status status, const char *words)
{
    acu_op *op = acu_dnn_conv(acu_ones(ACU_F32, x), acu_ones(ACU_F32, w), &o);
    assert_fails(acu_sync(device, op, NULL), status, words);
}

#define REFUSES(x, w, status, words, ...)                                                          \
    refuses(device, x, w, (acu_dnn_conv_options){.size = sizeof(acu_dnn_conv_options),             \
                                                 __VA_ARGS__}, status, words)

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_dnn();
    acu_shape x = ACU_SHAPE(1, 4, 6, 6), w = ACU_SHAPE(4, 4, 3, 3);
    REFUSES(x, w, ACU_ERR_INVALID, "strides and dilations are at least 1", .stride = {-1});
    REFUSES(x, w, ACU_ERR_INVALID, "paddings at least 0", .padding = {0, -1});
    REFUSES(x, w, ACU_ERR_INVALID, "below 2^31", .padding = {(int64_t)1 << 31});
    REFUSES(x, w, ACU_ERR_INVALID, "at least one group", .groups = -2);
    REFUSES(x, w, ACU_ERR_INVALID, "no acu_dnn_activation", .activation = (acu_dnn_activation)9);
    REFUSES(x, w, ACU_ERR_INVALID, "do not go together", .measure = true, .deterministic = true);
    REFUSES(x, ACU_SHAPE(0, 4, 3, 3), ACU_ERR_SHAPE, "has no elements", .groups = 1);
    REFUSES(x, w, ACU_ERR_SHAPE, "multiples of the groups", .groups = 3);
    REFUSES(x, w, ACU_ERR_SHAPE, "the channels of its group", .groups = 2);
    REFUSES(x, w, ACU_ERR_SHAPE, "does not fit into", .dilation = {3});
    REFUSES(x, ACU_SHAPE(4, 4, 3), ACU_ERR_SHAPE, "as many dimensions", .groups = 1);
    REFUSES(ACU_SHAPE(4, 4), ACU_SHAPE(4, 4), ACU_ERR_SHAPE, "one to three dimensions", .groups = 1);
    REFUSES(x, w, ACU_ERR_SHAPE, "one element for each filter",
            .bias = acu_ones(ACU_F32, ACU_SHAPE(5)));
    REFUSES(x, w, ACU_ERR_DTYPE, "dtype of operand 0", .bias = acu_ones(ACU_F16, ACU_SHAPE(4)));
    acu_op *op = acu_dnn_conv(acu_ones(ACU_F64, x), acu_ones(ACU_F64, w), NULL);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_DTYPE, "f32, tf32, f16 or bf16");
    op = acu_dnn_conv(acu_zeros(ACU_F32, ACU_SHAPE(0, 4, 6, 6)), acu_ones(ACU_F32, w), NULL);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE, "no elements");
    op = acu_dnn_conv_data_gradient(acu_ones(ACU_F32, ACU_SHAPE(1, 4, 3, 4)), acu_ones(ACU_F32, w),
                                    x, NULL);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE, "the places that");
    op = acu_dnn_conv_weight_gradient(acu_ones(ACU_F32, x), acu_ones(ACU_F32, x), w, NULL);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE, "the places that");
    acu_dnn_conv_options relu = {.size = sizeof relu, .activation = ACU_DNN_RELU};
    op = acu_dnn_conv_weight_gradient(acu_ones(ACU_F32, x), acu_ones(ACU_F32, x), w, &relu);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID, "no bias and no activation");
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_dnn();
    acu_dnn_conv_options o = {.size = sizeof o};
    atomic_store(&fake->fail_create, 1001);
    assert_fails(acu_sync(device, some(ACU_F32, 4, o), NULL), ACU_ERR_DRIVER,
                 "cudnnCreate answered CUDNN_STATUS_NOT_INITIALIZED: Reason: told to");
    atomic_store(&fake->fail_create, 0);
    atomic_store(&fake->fail_call, 5001);
    assert_fails(acu_sync(device, some(ACU_F32, 4, o), NULL), ACU_ERR_DRIVER,
                 "cudnnBackendExecute answered CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER: Reason: "
                 "told to");
    atomic_store(&fake->fail_call, 0);
    is_72(device, some(ACU_F32, 4, o), 4);
    with_end(device);
}

static acu_op *layer(void)
{
    acu_dnn_conv_options o = {.size = sizeof o, .activation = ACU_DNN_RELU};
    o.bias = acu_ones(ACU_F32, ACU_SHAPE(4));
    return some(ACU_F32, 4, o); /* by an engine, and then the rest */
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_dnn();
    test_fail_each_alloc(device, layer);
    with_end(device);
}

static acu_op *measured(void)
{
    acu_dnn_conv_options o = {.size = sizeof o, .measure = true};
    return some(ACU_F16, 4, o);
}

TEST_EACH_CALL(use_fake, measured)

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_old), cmocka_unit_test(without_cudnn), cmocka_unit_test(forwards),
        cmocka_unit_test(many_shapes), cmocka_unit_test(threads), cmocka_unit_test(gradients),
        cmocka_unit_test(into), cmocka_unit_test(in_a_graph), cmocka_unit_test(repeated),
        cmocka_unit_test(choices), cmocka_unit_test(numbered), cmocka_unit_test(handles),
        cmocka_unit_test(captures_wait_for_nothing),
        cmocka_unit_test(deterministic), cmocka_unit_test(with_less_memory),
        cmocka_unit_test(refusals), cmocka_unit_test(failures), cmocka_unit_test(without_memory),
        cmocka_unit_test(without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
