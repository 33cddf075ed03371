/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products with epilogues by cuBLASLt, compared with double on the host; on the software device by
 * a library that poses as it (fake_cublaslt.c). */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/compile.h>
#include <acuda/product.h>

enum { M = 24, N = 16, K = 32, BATCHES = 3, MOST = BATCHES * 4096 };

static test_random numbers = {.state = 5};

static acu_device *open_lt(void)
{
    return with_library(ACU_VENDOR_CUBLASLT, "blas/libfake_cublaslt.so");
}

static acu_product_options with(acu_epilogue epilogue)
{
    return (acu_product_options){.size = sizeof(acu_product_options), .epilogue = epilogue};
}

/* ---- operands: halves, so that they are exact in every dtype ---- */

typedef struct matrix {
    int batches, rows, columns;
    bool by_columns;
    double at[MOST];
    acu_tensor *tensor; /* as it lies in memory */
} matrix;

static double element(const matrix *x, int batch, int row, int column)
{
    int b = x->batches == 1 ? 0 : batch;
    return x->at[b * x->rows * x->columns +
                 (x->by_columns ? column * x->rows + row : row * x->columns + column)];
}

static acu_tensor *tensor_of(acu_device *device, acu_dtype dtype, acu_shape shape, const double *at)
{
    acu_tensor *wide = with_numbers(device, ACU_F32, shape, at), *made;
    if (dtype == ACU_I8) {
        int8_t small[MOST];
        for (int64_t i = 0; i < acu_shape_elements(shape); i++)
            small[i] = (int8_t)at[i];
        assert_works(acu_sync(device, acu_const(dtype, shape, small), &made));
    } else if (dtype == ACU_TF32) {
        assert_works(acu_sync(device, acu_dup(acu_reinterpret(wide, ACU_TF32)), &made));
    } else {
        assert_works(acu_sync(device, acu_convert(wide, dtype), &made));
    }
    acu_tensor_release(wide);
    return made;
}

static void fill(matrix *x, acu_device *device, acu_dtype dtype, int batches, int rows, int columns,
                 bool by_columns)
{
    *x = (matrix){.batches = batches, .rows = rows, .columns = columns, .by_columns = by_columns};
    with_random(&numbers, x->at, (size_t)(batches * rows * columns));
    for (int i = 0; i < batches * rows * columns; i++)
        x->at[i] = dtype == ACU_I8 ? nearbyint(x->at[i] * 100) : nearbyint(x->at[i] * 2) / 2;
    int64_t first = by_columns ? columns : rows, second = by_columns ? rows : columns;
    x->tensor = tensor_of(device, dtype, batches > 1 ? ACU_SHAPE(batches, first, second)
                                                     : ACU_SHAPE(first, second), x->at);
}

static acu_op *view(const matrix *x)
{
    int last = x->batches > 1 ? 2 : 1;
    return x->by_columns ? acu_transpose(x->tensor, last - 1, last) : acu_value(x->tensor);
}

static void read_any(acu_device *device, acu_tensor *x, double *numbers_at)
{
    acu_tensor *wide;
    if (acu_tensor_dtype(x) == ACU_F64) {
        with_read(x, numbers_at);
        return;
    }
    acu_op *as = acu_tensor_dtype(x) == ACU_TF32 ? acu_dup(acu_reinterpret(x, ACU_F32))
                                                 : acu_convert(x, ACU_F32);
    assert_works(acu_sync(device, as, &wide));
    with_read(wide, numbers_at);
    acu_tensor_release(wide);
}

static double tolerance(acu_dtype result)
{
    return result == ACU_F64    ? 1e-12
           : result == ACU_BF16 ? 8e-3
           : result == ACU_F16  ? 2e-3
                                : 1e-5;
}

static void expect(acu_device *device, acu_tensor *x, const double *want, size_t n,
                   const char *what)
{
    double have[MOST];
    assert_int_equal(acu_shape_elements(acu_tensor_shape(x)), n);
    read_any(device, x, have);
    with_near(have, want, n, tolerance(acu_tensor_dtype(x)), what);
}

static void multiply(const matrix *a, const matrix *b, double *sums)
{
    int batches = a->batches > b->batches ? a->batches : b->batches;
    for (int batch = 0; batch < batches; batch++)
        for (int i = 0; i < a->rows; i++)
            for (int j = 0; j < b->columns; j++) {
                double *sum = &sums[(batch * a->rows + i) * b->columns + j];
                *sum = 0;
                for (int k = 0; k < a->columns; k++)
                    *sum += element(a, batch, i, k) * element(b, batch, k, j);
            }
}

/* The values of the op, which yields `count`. */
static void get(acu_device *device, acu_op *op, acu_tensor **values, size_t count)
{
    acu_future *future;
    assert_works(acu_submit(device, op, NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(acu_future_values(future), count);
    for (size_t i = 0; i < count; i++)
        assert_works(acu_future_take(future, i, &values[i]));
    acu_future_release(future);
}

/* ---- dtypes and layouts ---- */

typedef struct kind {
    acu_dtype a, b, result;
} kind;

/* how: layouts and batches of both */
static void product(acu_device *device, kind k, int how)
{
    bool small = k.a == ACU_I8 || k.a == ACU_F8E4M3FN || k.a == ACU_F8E5M2;
    matrix a, b, c;
    double want[MOST];
    acu_tensor *y = NULL;
    acu_product_options o = with(ACU_EPILOGUE_NONE);
    int more = how & 4 ? BATCHES : 1, batches = how & 12 ? BATCHES : 1;
    fill(&a, device, k.a, more, M, K, how & 1 && !small);
    fill(&b, device, k.b, how & 8 ? BATCHES : 1, K, N, how & 2 || small);
    fill(&c, device, k.result == ACU_I32 ? ACU_F32 : k.result, batches, M, N, false);
    o.dtype = k.result;
    o.alpha = small ? 1 : 0.5;
    multiply(&a, &b, want);
    if (k.result != ACU_I32) {
        o.beta = 2;
        o.c = acu_value(c.tensor);
    }
    for (int i = 0; i < batches * M * N; i++)
        want[i] = o.alpha * want[i] + o.beta * c.at[i];
    assert_works(acu_sync(device, acu_product(view(&a), view(&b), &o), &y));
    assert_int_equal(acu_tensor_dtype(y), k.result);
    assert_int_equal(acu_tensor_shape(y).rank, batches > 1 ? 3 : 2);
    expect(device, y, want, (size_t)(batches * M * N), acu_dtype_name(k.a));
    acu_tensor_release(y);
    acu_tensor_release(a.tensor);
    acu_tensor_release(b.tensor);
    acu_tensor_release(c.tensor);
}

static void products(void **state)
{
    (void)state;
    static const kind kinds[] = {
        {ACU_F32, ACU_F32, ACU_F32},    {ACU_F64, ACU_F64, ACU_F64},
        {ACU_F16, ACU_F16, ACU_F16},    {ACU_BF16, ACU_BF16, ACU_BF16},
        {ACU_F16, ACU_F16, ACU_F32},    {ACU_TF32, ACU_TF32, ACU_TF32},
        {ACU_I8, ACU_I8, ACU_I32},      {ACU_F8E4M3FN, ACU_F8E4M3FN, ACU_BF16},
        {ACU_F8E5M2, ACU_F8E4M3FN, ACU_F32}};
    acu_device *device = open_lt();
    const acu_device_info *info = acu_device_info_of(device);
    bool has_f8 = !test_on_gpu() || info->compute_major * 10 + info->compute_minor >= 89;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int how = 0; how < 16 && (i < 7 || has_f8); how += i < 2 ? 1 : 5)
            product(device, kinds[i], how);
    with_end(device);
}

/* ---- f8 with scales ---- */

static void scaled(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    const acu_device_info *info = acu_device_info_of(device);
    matrix a, b;
    double want[MOST], factors[] = {4, 0.5};
    acu_tensor *y = NULL;
    if (test_on_gpu() && info->compute_major * 10 + info->compute_minor < 89) {
        with_end(device);
        skip();
    }
    fill(&a, device, ACU_F8E4M3FN, 1, M, K, false);
    fill(&b, device, ACU_F8E5M2, 1, K, N, true);
    acu_product_options o = with(ACU_EPILOGUE_RELU);
    o.scale_a = acu_full(ACU_SHAPE(1), acu_f32((float)factors[0]));
    o.scale_b = acu_full(ACU_SHAPE(1), acu_f32((float)factors[1]));
    o.bias = acu_full(ACU_SHAPE(N), acu_f32(1));
    o.bias = acu_convert(o.bias, ACU_F16);
    o.dtype = ACU_F16;
    assert_works(acu_sync(device, acu_product(view(&a), view(&b), &o), &y));
    multiply(&a, &b, want);
    for (int i = 0; i < M * N; i++)
        want[i] = fmax(factors[0] * factors[1] * want[i] + 1, 0);
    expect(device, y, want, M * N, "scaled");
    acu_tensor_release(y);
    acu_tensor_release(a.tensor);
    acu_tensor_release(b.tensor);
    with_end(device);
}

/* A result of f8: what is added is bf16, and it is scaled last. */
static void small_results(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    const acu_device_info *info = acu_device_info_of(device);
    matrix a, b;
    double want[MOST];
    acu_tensor *y = NULL, *wide = NULL;
    if (test_on_gpu() && info->compute_major * 10 + info->compute_minor < 89) {
        with_end(device);
        skip();
    }
    fill(&a, device, ACU_F8E4M3FN, 1, M, K, false);
    fill(&b, device, ACU_F8E4M3FN, 1, K, N, true);
    for (int i = 0; i < 2; i++) {
        acu_product_options o = with(ACU_EPILOGUE_RELU);
        o.scale_a = acu_full(ACU_SHAPE(1), acu_f32(4));
        o.scale_result = acu_full(ACU_SHAPE(1), acu_f32(0.25f));
        o.bias = acu_convert(acu_full(ACU_SHAPE(N), acu_f32(1)), ACU_BF16);
        o.dtype = ACU_F8E4M3FN;
        if (i) {
            o.c = acu_convert(acu_full(ACU_SHAPE(M, N), acu_f32(2)), ACU_BF16);
            o.beta = 0.5;
        }
        acu_status st = acu_sync(device, acu_product(view(&a), view(&b), &o), &y);
        if (test_on_gpu() && st == ACU_ERR_NOT_SUPPORTED) {
            print_message("skipped: %s\n", acu_last_error()->message);
            continue;
        }
        assert_works(st);
        assert_int_equal(acu_tensor_dtype(y), ACU_F8E4M3FN);
        assert_works(acu_sync(device, acu_convert(y, ACU_F64), &wide));
        multiply(&a, &b, want);
        double have[MOST];
        with_read(wide, have);
        for (int k = 0; k < M * N; k++) {
            double value = fmax(4 * want[k] + 1 + i, 0) / 4;
            if (!(fabs(have[k] - value) <= value / 16 + 0x1p-10)) /* half a unit */
                fail_msg("element %d is %g, not %g", k, have[k], value);
        }
        acu_tensor_release(y);
        acu_tensor_release(wide);
    }
    acu_tensor_release(a.tensor);
    acu_tensor_release(b.tensor);
    with_end(device);
}

/* ---- epilogues ---- */

static double gelu(double s)
{
    return s / 2 * (1 + tanh(0.7978845608028654 * (s + 0.044715 * s * s * s)));
}

static double gelu_slope(double s) /* by differences */
{
    return (gelu(s + 1e-6) - gelu(s - 1e-6)) / 2e-6;
}

/* A layer: y = f(x w + bias), and from its gradient that of what went into f, and of the bias. */
static void layer(acu_device *device, acu_dtype dtype, bool relu, int batches)
{
    matrix x, w, bias, next, dy;
    double sums[MOST], want[MOST], want_bias[N] = {0};
    acu_tensor *y[2] = {NULL}, *d[2] = {NULL};
    fill(&x, device, dtype, batches, M, K, false);
    fill(&w, device, dtype, 1, K, N, true);
    fill(&bias, device, dtype, 1, 1, N, false);
    acu_tensor_release(bias.tensor);
    for (int i = 0; i < N; i++) /* so that no sum is 0, where relu has no gradient */
        bias.at[i] += 0x1p-5;
    bias.tensor = tensor_of(device, dtype, ACU_SHAPE(N), bias.at);
    acu_product_options o = with(relu ? ACU_EPILOGUE_RELU : ACU_EPILOGUE_GELU);
    o.alpha = 0.25;
    o.bias = acu_value(bias.tensor);
    o.keep = true;
    get(device, acu_product(view(&x), view(&w), &o), y, 2);
    multiply(&x, &w, sums);
    for (int i = 0; i < batches * M * N; i++) {
        sums[i] = 0.25 * sums[i] + bias.at[i % N];
        want[i] = relu ? fmax(sums[i], 0) : gelu(sums[i]);
    }
    expect(device, y[0], want, (size_t)(batches * M * N), "forward");
    fill(&dy, device, dtype, batches, M, K, false);
    fill(&next, device, dtype, 1, K, N, false);
    acu_product_options g = with(relu ? ACU_EPILOGUE_RELU_GRADIENT : ACU_EPILOGUE_GELU_GRADIENT);
    g.kept = acu_value(y[1]);
    g.sums = batches == 1;
    size_t values = g.sums ? 2 : 1;
    get(device, acu_product(view(&dy), view(&next), &g), d, values);
    multiply(&dy, &next, want);
    for (int i = 0; i < batches * M * N; i++) {
        want[i] *= relu ? sums[i] > 0 : gelu_slope(sums[i]);
        want_bias[i % N] += want[i];
    }
    double wide[MOST];
    read_any(device, d[0], wide);
    with_near(wide, want, (size_t)(batches * M * N), 4 * tolerance(dtype), "gradient");
    if (d[1]) {
        read_any(device, d[1], wide);
        with_near(wide, want_bias, N, 16 * tolerance(dtype), "gradient of the bias");
    }
    acu_tensor *all[] = {y[0], y[1], d[0], d[1], x.tensor, w.tensor, bias.tensor, dy.tensor,
                         next.tensor};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        acu_tensor_release(all[i]);
}

static void layers(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    for (int i = 0; i < 4; i++)
        layer(device, i & 1 ? ACU_F16 : ACU_BF16, i & 2, 1);
    layer(device, ACU_F16, true, BATCHES);
    layer(device, ACU_F16, false, BATCHES);
    with_end(device);
}

/* The gradient of weights, and of the bias: x' dy, and the sums of dy's rows. */
static void weights(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    matrix x, dy;
    double want[MOST], sums[N] = {0};
    acu_tensor *d[2] = {NULL};
    fill(&x, device, ACU_F16, 1, M, K, true);
    fill(&dy, device, ACU_F16, 1, K, N, false);
    acu_product_options o = with(ACU_EPILOGUE_NONE);
    o.sums = true;
    get(device, acu_product(view(&x), view(&dy), &o), d, 2);
    multiply(&x, &dy, want);
    for (int i = 0; i < K * N; i++)
        sums[i % N] += dy.at[i];
    expect(device, d[0], want, M * N, "gradient of weights");
    expect(device, d[1], sums, N, "sums");
    acu_tensor_release(d[0]);
    acu_tensor_release(d[1]);
    acu_tensor_release(x.tensor);
    acu_tensor_release(dy.tensor);
    with_end(device);
}

/* ---- the same bits ---- */

enum { LONG = 640, WIDE = 64 };

/* The first row of x w, for the first `rows` rows of x. */
static void first_row(acu_device *device, acu_tensor *x, acu_tensor *w, int rows, bool invariant,
                      float *row)
{
    acu_product_options o = with(ACU_EPILOGUE_NONE);
    acu_tensor *y;
    float all[300 * WIDE];
    o.deterministic = true;
    o.batch_invariant = invariant;
    acu_op *part = acu_slice(x, ACU_SHAPE(0, 0), ACU_SHAPE(rows, LONG));
    assert_works(acu_sync(device, acu_product(part, w, &o), &y));
    assert_works(acu_read_sync(y, all, (size_t)rows * WIDE * sizeof *all));
    memcpy(row, all, WIDE * sizeof *row);
    acu_tensor_release(y);
}

/* A second value can be written by what comes next. */
static void sole(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    acu_tensor *kept;
    acu_op *parts[2];
    double have[MOST];
    acu_product_options o = with(ACU_EPILOGUE_GELU);
    o.keep = true;
    acu_op *a = acu_ones(ACU_F16, ACU_SHAPE(M, K)), *b = acu_ones(ACU_F16, ACU_SHAPE(K, N));
    acu_unzip(acu_product(a, b, &o), parts, 2);
    acu_op_release(parts[0]);
    assert_works(acu_sync(device, acu_fill(parts[1], acu_f16_bits(0)), &kept));
    read_any(device, kept, have);
    assert_true(have[0] == 0 && have[M * N - 1] == 0);
    acu_tensor_release(kept);
    with_end(device);
}

static void same_bits(void **state)
{
    (void)state;
    static const int rows[] = {1, 2, 7, 16, 33, 128, 300};
    acu_device *device = open_lt();
    acu_tensor *x, *w;
    float first[WIDE], again[WIDE];
    assert_works(acu_sync(device, acu_randn(ACU_F32, ACU_SHAPE(300, LONG), 1, 0), &x));
    assert_works(acu_sync(device, acu_randn(ACU_F32, ACU_SHAPE(LONG, WIDE), 2, 0), &w));
    first_row(device, x, w, 1, true, first);
    for (size_t i = 1; i < sizeof rows / sizeof *rows; i++) {
        first_row(device, x, w, rows[i], true, again);
        assert_memory_equal(first, again, sizeof first);
    }
    bool differs = false; /* what is not promised: on the software device it does not hold */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        first_row(device, x, w, rows[i], false, again);
        differs |= memcmp(first, again, sizeof first) != 0;
        float same[WIDE];
        first_row(device, x, w, rows[i], false, same);
        assert_memory_equal(again, same, sizeof same);
    }
    assert_true(differs || test_on_gpu());
    acu_tensor_release(x);
    acu_tensor_release(w);
    with_end(device);
}

/* ---- in place, in graphs ---- */

static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    matrix a, b;
    acu_tensor *c;
    acu_graph *graph;
    double want[MOST];
    fill(&a, device, ACU_F32, 1, M, K, false);
    fill(&b, device, ACU_F32, 1, K, N, false);
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(M, N)), &c));
    acu_product_options o = with(ACU_EPILOGUE_NONE);
    o.beta = 1;
    o.c = acu_value(c);
    acu_op *op = acu_into(c, acu_product(view(&a), view(&b), &o));
    assert_works(acu_graph_load(device, op, NULL, &graph));
    for (int turn = 0; turn < 3; turn++)
        assert_works(acu_sync(device, acu_replay(graph), NULL));
    multiply(&a, &b, want);
    for (int i = 0; i < M * N; i++)
        want[i] *= 3;
    expect(device, c, want, M * N, "added three times");
    acu_graph_release(graph);
    acu_tensor_release(a.tensor);
    acu_tensor_release(b.tensor);
    acu_tensor_release(c);
    with_end(device);
}

/* ---- refusals and failures ---- */

static acu_op *ones(acu_dtype dtype, int rows, int columns)
{
    return acu_ones(dtype, ACU_SHAPE(rows, columns));
}

static void refuses(acu_device *device, acu_dtype dtype, acu_product_options o, acu_status status,
                    const char *words)
{
    acu_op *b = dtype == ACU_I8 || dtype == ACU_F8E4M3FN
                    ? acu_transpose(ones(dtype, N, K), 0, 1)
                    : ones(dtype, K, N);
    assert_fails(acu_sync(device, acu_product(ones(dtype, M, K), b, &o), NULL), status, words);
}

#define REFUSES(dtype, status, words, ...)                                                         \
    refuses(device, dtype, (acu_product_options){.size = sizeof(acu_product_options), __VA_ARGS__},\
            status, words)

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    REFUSES(ACU_F32, ACU_ERR_INVALID, "beta needs c", .beta = 1);
    REFUSES(ACU_F32, ACU_ERR_SHAPE, "shape of the result", .beta = 1, .c = ones(ACU_F32, M, M));
    REFUSES(ACU_F16, ACU_ERR_DTYPE, "dtype of the result", .beta = 1, .c = ones(ACU_F32, M, N));
    REFUSES(ACU_F32, ACU_ERR_DTYPE, "has no result of f16", .dtype = ACU_F16);
    REFUSES(ACU_F32, ACU_ERR_SHAPE, "one element for each column",
            .bias = acu_ones(ACU_F32, ACU_SHAPE(M)));
    REFUSES(ACU_F16, ACU_ERR_DTYPE, "dtype of the result",
            .bias = acu_ones(ACU_F32, ACU_SHAPE(N)));
    REFUSES(ACU_F32, ACU_ERR_INVALID, "is for relu and gelu", .keep = true);
    REFUSES(ACU_F16, ACU_ERR_INVALID, "needs `kept`", .epilogue = ACU_EPILOGUE_RELU_GRADIENT);
    REFUSES(ACU_F16, ACU_ERR_SHAPE, "what `keep` gave", .epilogue = ACU_EPILOGUE_RELU_GRADIENT,
            .kept = ones(ACU_F16, M, N));
    REFUSES(ACU_F16, ACU_ERR_INVALID, "only for gradients", .epilogue = ACU_EPILOGUE_RELU,
            .kept = ones(ACU_F16, M, N));
    REFUSES(ACU_F16, ACU_ERR_INVALID, "is for gradients", .epilogue = ACU_EPILOGUE_RELU,
            .sums = true);
    REFUSES(ACU_F64, ACU_ERR_DTYPE, "no epilogue and no bias", .epilogue = ACU_EPILOGUE_RELU);
    REFUSES(ACU_I8, ACU_ERR_INVALID, "alpha is 1", .alpha = 2);
    REFUSES(ACU_F32, ACU_ERR_DTYPE, "only for f8", .scale_a = acu_ones(ACU_F32, ACU_SHAPE(1)));
    REFUSES(ACU_F32, ACU_ERR_INVALID, "is no acu_epilogue", .epilogue = (acu_epilogue)17);
    acu_op *wrong = ones(ACU_F32, M, N);
    assert_fails(acu_sync(device, acu_product(ones(ACU_F32, M, K), wrong, NULL), NULL),
                 ACU_ERR_SHAPE, "as many rows as a has columns");
    assert_fails(acu_sync(device, acu_product(ones(ACU_F32, 0, K), ones(ACU_F32, K, N), NULL),
                          NULL), ACU_ERR_SHAPE, "operand 0, f32 [0, 32], has no elements");
    acu_op *rows = ones(ACU_I8, K, N);
    assert_fails(acu_sync(device, acu_product(ones(ACU_I8, M, K), rows, NULL), NULL),
                 ACU_ERR_INVALID, "dense along its columns");
    acu_op *odd = acu_transpose(ones(ACU_F8E4M3FN, 24, K), 0, 1);
    assert_fails(acu_sync(device, acu_product(ones(ACU_F8E4M3FN, M, K), odd, NULL), NULL),
                 ACU_ERR_SHAPE, "multiples of 16");
    acu_op *two = acu_product(ones(ACU_F8E5M2, M, K),
                              acu_transpose(ones(ACU_F8E5M2, N, K), 0, 1), NULL);
    assert_fails(acu_sync(device, two, NULL), ACU_ERR_DTYPE, "both be f8e5m2");
    acu_product_options none = {.bias = acu_ones(ACU_F32, ACU_SHAPE(N))};
    acu_op *sizeless = acu_product(ones(ACU_F32, M, K), ones(ACU_F32, K, N), &none);
    assert_fails(acu_sync(device, sizeless, NULL), ACU_ERR_INVALID, "size");
    acu_op_release(none.bias); /* was not looked at */
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_lt();
    acu_op *square = acu_product(ones(ACU_F32, 13, K), ones(ACU_F32, K, 13), NULL);
    assert_fails(acu_sync(device, square, NULL), ACU_ERR_NOT_SUPPORTED, "no algorithm for this");
    atomic_store(&fake->fail_call, 3);
    acu_op *other = acu_product(ones(ACU_F32, 5, K), ones(ACU_F32, K, 5), NULL);
    assert_fails(acu_sync(device, other, NULL), ACU_ERR_DEVICE_MEMORY,
                 "cublasLtMatmulAlgoGetHeuristic answered CUBLAS_STATUS_ALLOC_FAILED");
    atomic_store(&fake->fail_call, 0);
    other = acu_product(ones(ACU_F32, 5, K), ones(ACU_F32, K, 5), NULL);
    assert_works(acu_sync(device, other, NULL)); /* chosen now */
    atomic_store(&fake->fail_call, 15);
    other = acu_product(ones(ACU_F32, 5, K), ones(ACU_F32, K, 5), NULL);
    assert_fails(acu_sync(device, other, NULL), ACU_ERR_NOT_SUPPORTED,
                 "cublasLtMatmul answered CUBLAS_STATUS_NOT_SUPPORTED");
    atomic_store(&fake->fail_call, 0);
    atomic_store(&fake->fail_create, 1);
    other = acu_product(ones(ACU_F32, 6, K), ones(ACU_F32, K, 5), NULL);
    assert_fails(acu_sync(device, other, NULL), ACU_ERR_DRIVER, "cublasLtCreate answered");
    atomic_store(&fake->fail_create, 0);
    with_end(device);
}

/* ---- again and again ------------------------------------------------------------------------- */

enum { INPUTS = 3, TURNS = 24 };

/* Kernels around a product, on one of a few inputs: elements are 2 * K * (input + 1) + 1. */
static acu_status one_turn(acu_device *device, acu_tensor *const *x, int turn, double *wrong)
{
    acu_tensor *y = NULL;
    double have[M * N], want = 2 * K * (double)(turn % INPUTS + 1) + 1;
    acu_op *product = acu_product(acu_mul(x[turn % INPUTS], 2.0), ones(ACU_F32, K, N), NULL);
    acu_status status = acu_sync(device, acu_add(product, 1.0), &y);
    if (status != ACU_OK)
        return status;
    with_read(y, have);
    for (int i = 0; i < M * N; i++)
        *wrong += have[i] != want;
    acu_tensor_release(y);
    return ACU_OK;
}

static void make_inputs(acu_device *device, acu_tensor **x)
{
    for (int i = 0; i < INPUTS; i++)
        assert_works(acu_sync(device, acu_full(ACU_SHAPE(M, K), acu_f32((float)(i + 1))), &x[i]));
}

static void drop_inputs(acu_tensor **x)
{
    for (int i = 0; i < INPUTS; i++)
        acu_tensor_release(x[i]);
}

static acu_graph_cache_statistics cached(acu_device *device)
{
    acu_graph_cache_statistics s = {.size = sizeof s};
    assert_works(acu_graph_cache_wait(device));
    assert_works(acu_graph_cache_stats(device, &s));
    return s;
}

/* From the third time on, one graph has the kernels and the product, set to other addresses. */
static void repeated(void **state)
{
    (void)state;
    acu_device *device = open_lt();
    acu_tensor *x[INPUTS];
    double wrong = 0;
    make_inputs(device, x);
    for (int turn = 0; turn < INPUTS; turn++)
        assert_works(one_turn(device, x, turn, &wrong));
    acu_graph_cache_statistics before = cached(device);
    for (int turn = 0; turn < TURNS; turn++)
        assert_works(one_turn(device, x, turn, &wrong));
    acu_graph_cache_statistics after = cached(device);
    assert_true(wrong == 0);
    if (after.limit > 0) {
        assert_true(after.hits - before.hits >= TURNS);
        assert_true(after.set > before.set);
    }
    drop_inputs(x);
    with_end(device);
}

/* With addresses that it had before, the library is not called. */
static void same_addresses(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_lt();
    acu_tensor *x[INPUTS], *w, *y;
    make_inputs(device, x);
    assert_works(acu_sync(device, ones(ACU_F32, K, N), &w));
    assert_works(acu_sync(device, ones(ACU_F32, M, N), &y));
    int calls = 0, done = 0;
    for (int turn = 0; turn < 4 + TURNS; turn++) {
        if (turn == 4) {
            cached(device);
            calls = atomic_load(&fake->calls);
            done = atomic_load(&fake->done);
        }
        acu_op *product = acu_product(acu_value(x[0]), acu_value(w), NULL);
        assert_works(acu_sync(device, acu_into(y, product), NULL));
        cached(device);
    }
    assert_int_equal(atomic_load(&fake->calls) - calls, 0);
    assert_int_equal(atomic_load(&fake->done) - done, TURNS);
    /* Others are called once, then captured, then as good. */
    for (int turn = 0; turn < TURNS; turn++)
        assert_works(acu_sync(device, acu_into(y, acu_product(acu_value(x[1]), acu_value(w), NULL)),
                              NULL));
    assert_int_equal(atomic_load(&fake->calls) - calls, 2);
    assert_int_equal(atomic_load(&fake->done) - done, 2 * TURNS);
    acu_tensor_release(w);
    acu_tensor_release(y);
    drop_inputs(x);
    with_end(device);
}

/* What can not be captured, or set, is called. */
static void repeated_without(acu_driver_call call)
{
    acu_device *device = open_lt();
    acu_tensor *x[INPUTS];
    double wrong = 0;
    const acu_driver_fault fault = {.size = sizeof fault, .call = call, .nth = 1};
    make_inputs(device, x);
    assert_works(acu_driver_fail(&fault));
    for (int turn = 0; turn < TURNS; turn++) {
        assert_works(one_turn(device, x, turn, &wrong));
        assert_works(acu_graph_cache_wait(device));
    }
    assert_true(wrong == 0);
    if (acu_driver_has(ACU_CALL_GraphExecChildGraphNodeSetParams))
        assert_true(acu_driver_fault_hits() > 0);
    acu_driver_fail_clear();
    drop_inputs(x);
    with_end(device);
}

static void repeated_with_failures(void **state)
{
    (void)state;
    test_software_only();
    static const acu_driver_call calls[] = {
        ACU_CALL_StreamBeginCapture, ACU_CALL_StreamEndCapture, ACU_CALL_GraphAddChildGraphNode,
        ACU_CALL_GraphExecChildGraphNodeSetParams};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        repeated_without(calls[i]);
}

/* ---- memory, and choices on disk ---- */

/* There is no temporary memory: the way that needs none is used, unless bits were promised. */
static void with_less_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_lt();
    assert_works(acu_graph_cache_limit(device, 0)); /* graphs have their memory before */
    acu_tensor *a, *b, *y;
    assert_works(acu_sync(device, ones(ACU_F16, M, K), &a));
    assert_works(acu_sync(device, ones(ACU_F16, K, N), &b));
    acu_product_options exact = {.size = sizeof exact, .deterministic = true};
    assert_works(acu_sync(device, acu_product(a, b, NULL), &y));
    assert_works(acu_sync(device, acu_into(y, acu_product(a, b, &exact)), NULL));
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_MemAllocFromPoolAsync,
                              .from_then_on = true,
                              .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    assert_works(acu_driver_fail(&fault));
    assert_works(acu_sync(device, acu_into(y, acu_product(a, b, NULL)), NULL));
    assert_int_equal(acu_driver_fault_hits(), 1);
    assert_fails(acu_sync(device, acu_into(y, acu_product(a, b, &exact)), NULL),
                 ACU_ERR_DEVICE_MEMORY, "cuMemAllocFromPoolAsync");
    acu_driver_fail_clear();
    acu_tensor_release(a);
    acu_tensor_release(b);
    acu_tensor_release(y);
    with_end(device);
}

/* Questions that the library was asked for a product on a new device. */
static int questions(void)
{
    acu_device *device = open_lt();
    int before = atomic_load(&fake->handles);
    acu_op *product = acu_product(ones(ACU_F16, M, K), ones(ACU_F16, K, N), NULL);
    assert_works(acu_sync(device, product, NULL));
    with_end(device);
    return atomic_load(&fake->handles) - before;
}

/* Damages what is in the folder's only file. */
static void damage(const char *folder)
{
    char command[PATH_MAX + 80];
    snprintf(command, sizeof command, "f=$(ls -d %s/*) && printf x >> \"$f\"", folder);
    assert_int_equal(system(command), 0);
}

static void choices_are_kept(void **state)
{
    (void)state;
    test_software_only();
    char folder[] = "/tmp/acuda-choices-XXXXXX", command[64];
    with_end(open_lt()); /* ends the test if there is no device, before there is a folder */
    assert_non_null(mkdtemp(folder));
    acu_compile_settings settings = {.size = sizeof settings, .cache_dir = folder};
    assert_works(acu_compile_configure(&settings));
    int asked = questions();
    assert_true(asked > 0);
    assert_int_equal(questions(), 0); /* as another process would find them */
    damage(folder);
    assert_int_equal(questions(), asked);
    assert_int_equal(questions(), 0);
    settings = (acu_compile_settings){.size = sizeof settings, .no_disk = true};
    assert_works(acu_compile_configure(&settings));
    assert_int_equal(questions(), asked);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static acu_op *kept_layer(void)
{
    acu_product_options o = with(ACU_EPILOGUE_GELU);
    o.bias = acu_ones(ACU_F16, ACU_SHAPE(N));
    o.keep = true;
    return acu_product(ones(ACU_F16, M, K), ones(ACU_F16, K, N), &o);
}

/* Calls are lent their tensors, and may have the same memory in turn all the same. */
static void a_chain_takes_two(void **state)
{
    (void)state;
    enum { SIDE = 64, LENGTH = 8 };
    static double one[SIDE * SIDE], x_at[SIDE * SIDE], have[SIDE * SIDE];
    acu_device *device = open_lt();
    for (int i = 0; i < SIDE; i++)
        one[i * SIDE + (i + 1) % SIDE] = 1; /* moves each column to the right */
    for (int i = 0; i < SIDE * SIDE; i++)
        x_at[i] = i % 7;
    acu_tensor *move = with_numbers(device, ACU_F32, ACU_SHAPE(SIDE, SIDE), one);
    acu_tensor *x = with_numbers(device, ACU_F32, ACU_SHAPE(SIDE, SIDE), x_at), *y;
    acu_pool_options made = {.size = sizeof made, .keep = ACU_KEEP_ALL};
    acu_pool_statistics stats = {.size = sizeof stats};
    acu_pool *pool;
    assert_works(acu_pool_create(device, &made, &pool));
    acu_product_options o = with(ACU_EPILOGUE_NONE);
    acu_op *op = acu_value(x);
    for (int i = 0; i < LENGTH; i++)
        op = acu_product(op, move, &o);
    assert_works(acu_sync(device, acu_with_pool(pool, op), &y));
    assert_works(acu_pool_stats(pool, &stats));
    assert_int_equal(stats.in_use_high, 2 * sizeof(float) * SIDE * SIDE);
    with_read(y, have);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            assert_true(have[i * SIDE + (j + LENGTH) % SIDE] == x_at[i * SIDE + j]);
    acu_tensor_release(move);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_pool_release(pool);
    with_end(device);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_lt();
    test_fail_each_alloc(device, kept_layer);
    with_end(device);
}

static void use_fake(void)
{
    with_fake(ACU_VENDOR_CUBLASLT, "blas/libfake_cublaslt.so");
}

TEST_EACH_CALL(use_fake, kept_layer)

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products), cmocka_unit_test(scaled), cmocka_unit_test(small_results),
        cmocka_unit_test(with_less_memory), cmocka_unit_test(choices_are_kept),
        cmocka_unit_test(layers),
        cmocka_unit_test(weights), cmocka_unit_test(sole),
        cmocka_unit_test(same_bits), cmocka_unit_test(in_a_graph),
        cmocka_unit_test(repeated), cmocka_unit_test(same_addresses),
        cmocka_unit_test(repeated_with_failures),
        cmocka_unit_test(refusals), cmocka_unit_test(failures), cmocka_unit_test(without_memory),
        cmocka_unit_test(a_chain_takes_two),
        cmocka_unit_test(without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
