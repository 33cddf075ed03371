/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products by cuBLAS, compared with double: on a GPU by the real library, if there is one; on the
 * software device by one that poses as it (fake_cublas.c) and can be told to fail.
 */
#include "ops/elements.h"

#include <acuda/debug.h>
#include <acuda/graph_cache.h>

#include "fake_cublas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#if ACUDA_WITH_SOFTCUDA
#include "support/fake_host.h"
#endif

static test_random numbers = {.state = 41};
static fake_cublas *fake; /* NULL on a GPU */

/* ---- which cuBLAS ---------------------------------------------------------------------------- */

static void fake_path(char path[PATH_MAX])
{
    char self[PATH_MAX - 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, PATH_MAX, "%s/libfake_cublas.so", self);
}

#if ACUDA_WITH_SOFTCUDA
static unsigned launch(void *stream, void (*fn)(void *), void *user)
{
    return acu_driver()->LaunchHostFunc(stream, fn, user);
}

static bool captured(void *stream)
{
    unsigned status = 0;
    return acu_driver()->StreamIsCapturing(stream, &status) == 0 && status != 0;
}

static void use_fake(void)
{
    char path[PATH_MAX];
    fake_path(path);
    acu_vendor_settings settings = {.size = sizeof settings, .path = path};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "fake_cublas_of");
    fake_cublas *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    fake = get();
    fake->launch = launch;
    fake->host = test_fake_host;
    fake->valid = sd_valid;
    fake->captured = captured;
    atomic_store(&fake->fail_create, 0);
    atomic_store(&fake->fail_gemm, 0);
    atomic_store(&fake->slow, false);
}
#else
static void use_fake(void)
{
    skip();
}
#endif

static acu_device *open_unloaded(void)
{
    if (!test_on_gpu())
        use_fake();
    return test_open();
}

/* A device with cuBLAS; the test is skipped where there is none. */
static acu_device *open_loaded(void)
{
    acu_device *device = open_unloaded();
    if (acu_vendor_load(device, ACU_VENDOR_CUBLAS) == ACU_OK)
        return device;
    print_message("skipped: %s\n", acu_last_error()->message);
    assert_true(test_on_gpu());
    test_close(device);
    skip();
    return NULL;
}

static void open_fake(acu_device **device)
{
    test_software_only();
    *device = open_loaded();
}

enum { WARM_UPS = 2 }; /* products that a load makes itself */

static int library_calls(void)
{
    return fake ? atomic_load(&fake->calls) + atomic_load(&fake->batched_calls) : 0;
}

static void close_all(acu_device *device)
{
    test_close(device);
    if (fake) {
        assert_int_equal(atomic_load(&fake->overlaps), 0);
        assert_int_equal(atomic_load(&fake->trampled), 0);
        assert_int_equal(atomic_load(&fake->refused), 0);
        assert_int_equal(atomic_load(&fake->created), atomic_load(&fake->destroyed));
    }
    test_leaks_none();
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef enum layout {
    ROWS,         /* dense, row after row */
    COLUMNS,      /* dense, column after column: a transposed view */
    WIDE,         /* a part of wider rows */
    WIDE_COLUMNS, /* a part of longer columns */
    STEPPED,      /* every second element: cuBLAS can not express it */
    SHARED        /* one for the whole batch */
} layout;

typedef struct matrix {
    layout layout;
    acu_dtype dtype;
    int64_t batch, rows, columns;
    acu_shape base;      /* of what is in memory */
    acu_tensor *tensor;
    void *memory;
} matrix;

static matrix matrix_of(layout how, acu_dtype dtype, int64_t batch, int64_t rows, int64_t columns)
{
    matrix x = {.layout = how, .dtype = dtype, .batch = how == SHARED ? 1 : batch, .rows = rows,
                .columns = columns};
    x.base = how == COLUMNS        ? ACU_SHAPE(x.batch, columns, rows)
             : how == WIDE         ? ACU_SHAPE(x.batch, rows, columns + 3)
             : how == WIDE_COLUMNS ? ACU_SHAPE(x.batch, columns, rows + 2)
             : how == STEPPED      ? ACU_SHAPE(x.batch, rows, 2 * columns)
                                   : ACU_SHAPE(x.batch, rows, columns);
    size_t count = (size_t)acu_shape_elements(x.base);
    x.memory = calloc(count, acu_dtype_bytes(dtype));
    return x;
}

static void fill(matrix *x, acu_device *device)
{
    size_t count = (size_t)acu_shape_elements(x->base);
    for (size_t i = 0; i < count; i++) {
        double number = ((double)(test_next(&numbers) >> 11) * 0x1p-53 - 0.5) * 2;
        if (is_real(x->dtype))
            put_real(x->dtype, x->memory, i, number);
        else
            put_whole(x->dtype, x->memory, i, (int64_t)(number * 100));
    }
    x->tensor = tensor_with(device, x->dtype, x->base, x->memory);
}

static acu_op *view(const matrix *x)
{
    acu_shape end = ACU_SHAPE(x->batch, x->base.dim[1], x->base.dim[2]);
    switch (x->layout) {
    case COLUMNS:
        return acu_transpose(x->tensor, 1, 2);
    case WIDE:
        end.dim[2] = x->columns + 1;
        return acu_slice(x->tensor, ACU_SHAPE(0, 0, 1), end);
    case WIDE_COLUMNS:
        end.dim[2] = x->rows;
        return acu_transpose(acu_slice(x->tensor, ACU_SHAPE(0, 0, 0), end), 1, 2);
    case STEPPED:
        return acu_slice_step(x->tensor, ACU_SHAPE(0, 0, 0), end, ACU_SHAPE(1, 1, 2));
    default:
        return acu_value(x->tensor);
    }
}

static size_t index_of(const matrix *x, int64_t batch, int64_t row, int64_t column)
{
    int64_t first = x->layout == SHARED ? 0 : batch, a = row, b = column;
    if (x->layout == COLUMNS || x->layout == WIDE_COLUMNS) {
        a = column;
        b = row;
    }
    b = x->layout == WIDE ? b + 1 : x->layout == STEPPED ? 2 * b : b;
    return (size_t)((first * x->base.dim[1] + a) * x->base.dim[2] + b);
}

static void drop(matrix *x)
{
    acu_tensor_release(x->tensor);
    free(x->memory);
}

/* ---- one product ----------------------------------------------------------------------------- */

/* The error that a sum of this size may have. */
static double tolerance(acu_dtype dtype, double size, double want)
{
    if (dtype == ACU_F64)
        return size * 1e-13;
    if (dtype == ACU_TF32)
        return size * 0x1p-9; /* tensor cores may cut operands off, each after ten bits */
    double near = size * 2e-6;
    return dtype == ACU_F32 ? near : near + 0.51 * unit_at(dtype, want);
}

static void check(const matrix *a, const matrix *b, const matrix *c, int64_t batch)
{
    for (int64_t i = 0; i < batch; i++)
        for (int64_t row = 0; row < c->rows; row++)
            for (int64_t column = 0; column < c->columns; column++) {
                double want = 0, size = 0;
                for (int64_t k = 0; k < a->columns; k++) {
                    double term = real_at(a->dtype, a->memory, index_of(a, i, row, k)) *
                                  real_at(a->dtype, b->memory, index_of(b, i, k, column));
                    want += term;
                    size += fabs(term);
                }
                double got = real_at(a->dtype, c->memory, index_of(c, i, row, column));
                if (!(fabs(got - want) <= tolerance(a->dtype, size, want)))
                    fail_msg(
                        "%s %lldx%lldx%lld, layouts %d %d %d: (%lld, %lld, %lld) is %.17g, not "
                        "%.17g",
                        acu_dtype_name(a->dtype), (long long)c->rows, (long long)a->columns,
                        (long long)c->columns, (int)a->layout, (int)b->layout, (int)c->layout,
                        (long long)i, (long long)row, (long long)column, got, want);
            }
}

typedef struct products {
    int64_t batch, m, k, n;
    layout a, b, out;
    bool library; /* cuBLAS can do it */
} products;

static void one_product(acu_device *device, acu_dtype dtype, const products *p)
{
    matrix a = matrix_of(p->a, dtype, p->batch, p->m, p->k);
    matrix b = matrix_of(p->b, dtype, p->batch, p->k, p->n);
    matrix c = matrix_of(p->out, dtype, p->batch, p->m, p->n);
    fill(&a, device);
    fill(&b, device);
    fill(&c, device);
    int before = library_calls();
    assert_works(acu_sync(device, acu_into(view(&c), acu_matmul(view(&a), view(&b))), NULL));
    if (fake)
        assert_int_equal(library_calls() - before, p->library);
    size_t bytes = acu_tensor_bytes(c.tensor);
    void *filled = malloc(bytes);
    memcpy(filled, c.memory, bytes);
    assert_works(acu_read_sync(c.tensor, c.memory, bytes));
    check(&a, &b, &c, p->batch);
    /* The bytes between the rows of the result are unchanged. */
    size_t size = acu_dtype_bytes(dtype);
    for (int64_t i = 0; p->out == WIDE && i < p->m; i++)
        assert_memory_equal((char *)c.memory + (size_t)(i * (p->n + 3)) * size,
                            (char *)filled + (size_t)(i * (p->n + 3)) * size, size);
    free(filled);
    drop(&a);
    drop(&b);
    drop(&c);
}

static const products cases[] = {
    {1, 1, 1, 1, ROWS, ROWS, ROWS, true},
    {1, 5, 7, 3, ROWS, ROWS, ROWS, true},
    {1, 33, 17, 31, COLUMNS, ROWS, ROWS, true},
    {1, 20, 40, 25, ROWS, COLUMNS, ROWS, true},
    {1, 12, 9, 14, COLUMNS, COLUMNS, COLUMNS, true},
    {1, 12, 9, 14, ROWS, ROWS, COLUMNS, true},
    {1, 12, 9, 14, WIDE, WIDE_COLUMNS, WIDE, true},
    {1, 12, 9, 14, WIDE_COLUMNS, WIDE, WIDE_COLUMNS, true},
    {3, 8, 16, 24, ROWS, ROWS, ROWS, true},
    {3, 8, 6, 10, COLUMNS, WIDE, ROWS, true},
    {4, 6, 11, 9, ROWS, SHARED, ROWS, true},  /* one product of more rows */
    {4, 6, 11, 9, SHARED, ROWS, ROWS, true},
    {5, 1, 11, 9, ROWS, SHARED, ROWS, true},
    {1, 1, 40, 30, ROWS, ROWS, ROWS, true},   /* a vector */
    {1, 30, 40, 1, ROWS, COLUMNS, ROWS, true},
    {1, 9, 1, 8, ROWS, ROWS, ROWS, true},
    {1, 9, 1, 8, COLUMNS, COLUMNS, ROWS, true},
    {1, 7, 8, 9, STEPPED, ROWS, ROWS, false},
    {2, 7, 8, 9, ROWS, STEPPED, ROWS, false},
    {1, 7, 8, 9, ROWS, ROWS, STEPPED, false},
};

static void products_of_all_layouts(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F64, ACU_F16, ACU_BF16, ACU_TF32};
    acu_device *device = open_loaded();
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            one_product(device, dtypes[d], &cases[i]);
    if (!fake) {
        one_product(device, ACU_F32, &(products){1, 200, 300, 150, ROWS, ROWS, ROWS, true});
        one_product(device, ACU_F16, &(products){2, 130, 300, 70, ROWS, COLUMNS, ROWS, true});
    }
    close_all(device);
}

/* f32 and partial sums in full precision, workspaces of the right size. */
static void says_what_it_means(void **state)
{
    (void)state;
    acu_device *device;
    open_fake(&device);
    static const struct {
        acu_dtype dtype;
        int type, compute;
    } kinds[] = {{ACU_F32, 0, 68},
                 {ACU_TF32, 0, 77},
                 {ACU_F64, 1, 70},
                 {ACU_F16, 2, 68},
                 {ACU_BF16, 14, 68}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        one_product(device, kinds[i].dtype, &cases[1]);
        assert_int_equal(atomic_load(&fake->type), kinds[i].type);
        assert_int_equal(atomic_load(&fake->compute), kinds[i].compute);
        assert_int_equal(atomic_load(&fake->math), 16);
        assert_true(atomic_load(&fake->workspace_bytes) == 65536);
    }
    assert_int_equal(acu_vendor_version(ACU_VENDOR_CUBLAS), 120304);
    assert_non_null(strstr(acu_vendor_path(ACU_VENDOR_CUBLAS), "libfake_cublas.so"));
    one_product(device, ACU_F32, &(products){4, 6, 11, 9, ROWS, SHARED, ROWS, true});
    assert_int_equal(atomic_load(&fake->batches), 1);
    one_product(device, ACU_F32, &(products){4, 6, 11, 9, SHARED, ROWS, ROWS, true});
    assert_int_equal(atomic_load(&fake->batches), 4);
    close_all(device);
}

/* Small whole numbers, so that both ways give the same bits; one operand is transposed. */
static void complex_products(void **state)
{
    (void)state;
    static const struct {
        acu_dtype part, whole;
        int type, compute;
    } kinds[] = {{ACU_F32, ACU_C64, 4, 68}, {ACU_F64, ACU_C128, 5, 70}};
    acu_device *device = open_loaded();
    for (size_t i = 0; i < 2; i++) {
        acu_tensor *x, *have, *want;
        acu_op *re = acu_floor(acu_mul(acu_rand(kinds[i].part, ACU_SHAPE(2, 7, 9), 1, 0), 9));
        acu_op *im = acu_floor(acu_mul(acu_rand(kinds[i].part, ACU_SHAPE(2, 7, 9), 2, 0), 9));
        assert_works(acu_sync(device, acu_complex(re, im), &x));
        int before = library_calls();
        assert_works(acu_sync(device, acu_matmul(acu_transpose(x, 1, 2), x), &have));
        if (fake) {
            assert_int_equal(library_calls() - before, 1);
            assert_int_equal(atomic_load(&fake->type), kinds[i].type);
            assert_int_equal(atomic_load(&fake->compute), kinds[i].compute);
        }
        acu_op *left = acu_unsqueeze(acu_transpose(x, 1, 2), 3);           /* [2, 9, 7, 1] */
        acu_op *terms = acu_mul(left, acu_unsqueeze(acu_value(x), 1));     /* [2, 9, 7, 9] */
        assert_works(acu_sync(device, acu_sum(terms, ACU_DIMS(2)), &want));
        uint8_t *same = result_of(device, acu_all(acu_eq(have, want), ACU_ALL), ACU_BOOL,
                                  ACU_SHAPE(1));
        assert_int_equal(*same, 1);
        free(same);
        acu_tensor_release(x);
        acu_tensor_release(have);
        acu_tensor_release(want);
    }
    close_all(device);
}

static void integers_by_the_kernel(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_I8,  ACU_U8,  ACU_I16, ACU_U16,
                                       ACU_I32, ACU_U32, ACU_I64, ACU_U64};
    acu_device *device = open_unloaded();
    int before = library_calls();
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int64_t n = 5; n < 90; n += 75) {
            matrix a = matrix_of(COLUMNS, dtypes[d], 1, n, 7),
                   b = matrix_of(ROWS, dtypes[d], 1, 7, n + 1);
            fill(&a, device);
            fill(&b, device);
            int64_t *have = result_of(device, acu_matmul(view(&a), view(&b)), dtypes[d],
                                      ACU_SHAPE(1, n, n + 1));
            for (int64_t i = 0; i < n * (n + 1); i++) {
                uint64_t sum = 0, want = 0;
                for (int64_t k = 0; k < 7; k++)
                    sum += (uint64_t)whole_at(dtypes[d], a.memory,
                                              index_of(&a, 0, i / (n + 1), k)) *
                           (uint64_t)whole_at(dtypes[d], b.memory, index_of(&b, 0, k, i % (n + 1)));
                put_whole(dtypes[d], &want, 0, (int64_t)sum);
                assert_true(whole_at(dtypes[d], have, (size_t)i) == whole_at(dtypes[d], &want, 0));
            }
            free(have);
            drop(&a);
            drop(&b);
        }
    assert_int_equal(library_calls(), before);
    close_all(device);
}

/* ---- in order, together, in graphs ----------------------------------------------------------- */

/* Each element of the product of n x n matrices of these numbers is n x y. */
static void assert_all(acu_tensor *tensor, float want)
{
    float have[64 * 64];
    size_t bytes = acu_tensor_bytes(tensor);
    assert_true(bytes <= sizeof have);
    assert_works(acu_read_sync(tensor, have, bytes));
    for (size_t i = 0; i < bytes / 4; i++)
        if (have[i] != want)
            fail_msg("element %zu is %g, not %g", i, (double)have[i], (double)want);
}

static acu_op *square(float value)
{
    return acu_full(ACU_SHAPE(16, 16), acu_f32(value));
}

static void between_kernels(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    acu_tensor *x = NULL;
    int before = fake ? atomic_load(&fake->done) : 0;
    for (int turn = 0; turn < 5; turn++) {
        /* 96, then 16 * 96 * 8 - 1 */
        acu_op *product = acu_matmul(acu_add(square(1), 1.0), acu_mul(square(1), 3.0));
        acu_op *sum = acu_add(acu_matmul(product, acu_matmul(square(1), square(0.5f))), -1.0);
        assert_works(acu_sync(device, sum, &x));
        assert_all(x, 12287);
        /* Independent products of one submission. */
        acu_future *both = NULL;
        assert_works(acu_submit(device,
                                acu_zip(acu_matmul(x, square(1)), acu_matmul(square(2), square(2))),
                                NULL, &both));
        assert_works(acu_future_wait(both, ACU_FOREVER));
        assert_all(acu_future_tensor(both, 0), 196592);
        assert_all(acu_future_tensor(both, 1), 64);
        acu_future_release(both);
        acu_tensor_release(x);
    }
    if (fake)
        assert_int_equal(atomic_load(&fake->done) - before, 25); /* by itself or in a graph */
    close_all(device);
}

static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    acu_tensor *a = NULL, *out = NULL;
    acu_graph *graph = NULL;
    assert_works(acu_sync(device, square(1), &a));
    assert_works(acu_sync(device, square(0), &out));
    int before = library_calls();
    acu_op *sum = acu_add(acu_matmul(acu_matmul(a, a), a), 1.0); /* 256 a^3 + 1 */
    assert_works(acu_graph_load(device, acu_into(out, sum), NULL, &graph));
    int loaded = library_calls(), done = fake ? atomic_load(&fake->done) : 0;
    if (fake)
        assert_int_equal(loaded - before, 2);
    for (int turn = 1; turn < 4; turn++) {
        assert_works(acu_sync(device, acu_fill(a, acu_f32((float)turn)), NULL));
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        assert_all(out, 256.0f * (float)(turn * turn * turn) + 1);
        if (fake)
            assert_int_equal(atomic_load(&fake->done) - done, 2 * turn);
    }
    assert_int_equal(library_calls(), loaded);
    acu_graph_release(graph);
    acu_tensor_release(a);
    acu_tensor_release(out);
    close_all(device);
}

/* acu_graph_load waits for the library, and what the library declines is launched. */
static void graph_that_loads_it(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_unloaded();
    acu_tensor *out = NULL;
    acu_graph *graph = NULL;
    assert_works(acu_sync(device, square(0), &out));
    atomic_store(&fake->fail_gemm, 15);
    for (int i = 0; i < 2; i++) {
        int done = atomic_load(&fake->done);
        acu_op *product = acu_matmul(square(1), square(2));
        assert_works(acu_graph_load(device, acu_into(out, product), NULL, &graph));
        done = i ? done : atomic_load(&fake->done);
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        assert_all(out, 32);
        assert_int_equal(atomic_load(&fake->done) - done, i);
        acu_graph_release(graph);
        atomic_store(&fake->fail_gemm, 0);
    }
    atomic_store(&fake->fail_gemm, 13);
    assert_fails(acu_graph_load(device, acu_into(out, acu_matmul(square(1), square(2))), NULL,
                                &graph),
                 ACU_ERR_DRIVER, "EXECUTION_FAILED");
    acu_tensor_release(out);
    close_all(device);
}

static void described(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    acu_value_info info;
    size_t count = 0;
    acu_op *op = acu_matmul(acu_meta(ACU_F16, ACU_SHAPE(3, 8, 4)),
                            acu_meta(ACU_F16, ACU_SHAPE(4, 5)));
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    acu_op_release(op);
    assert_int_equal(count, 1);
    assert_true(acu_shape_equal(info.shape, ACU_SHAPE(3, 8, 5)));
    close_all(device);
}

enum { THREADS = 4, EACH = 12 };

typedef struct worker {
    pthread_t thread;
    acu_device *device;
    int failed;
    float value;
} worker;

static void *work(void *user)
{
    worker *w = user;
    for (int i = 0; i < EACH; i++) {
        acu_tensor *x = NULL;
        float have[256];
        acu_op *op = acu_matmul(acu_matmul(square(w->value), square(1)), square(0.25f));
        w->failed += acu_sync(w->device, op, &x) != ACU_OK;
        w->failed += x &&
                     (acu_read_sync(x, have, sizeof have) != ACU_OK || have[i] != 64 * w->value);
        acu_tensor_release(x);
    }
    return NULL;
}

static void by_many_threads(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    worker workers[THREADS];
    if (fake)
        atomic_store(&fake->slow, true);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.device = device, .value = (float)(i + 1)};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failed, 0);
    }
    close_all(device);
}

/* The same bits, however often and wherever. */
static void same_bits(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    enum { N = 64 };
    matrix a = matrix_of(ROWS, ACU_F32, 1, N, N), b = matrix_of(ROWS, ACU_F32, 1, N, N);
    fill(&a, device);
    fill(&b, device);
    void *first = result_of(device, acu_matmul(a.tensor, b.tensor), ACU_F32, ACU_SHAPE(1, N, N));
    acu_future *futures[6];
    float have[N * N];
    for (int i = 0; i < 6; i++)
        assert_works(acu_submit(device, acu_matmul(a.tensor, b.tensor), NULL, &futures[i]));
    for (int i = 0; i < 6; i++) {
        assert_works(acu_future_wait(futures[i], ACU_FOREVER));
        assert_works(acu_read_sync(acu_future_tensor(futures[i], 0), have, sizeof have));
        assert_memory_equal(have, first, sizeof have);
        acu_future_release(futures[i]);
    }
    free(first);
    drop(&a);
    drop(&b);
    close_all(device);
}

static void explained(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    acu_submit_options options = {.size = sizeof options, .explain = true};
    acu_future *future = NULL;
    char text[2048];
    assert_works(acu_submit(device, acu_matmul(square(1), square(2)), &options, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    assert_non_null(strstr(text, "launch matmul"));
    assert_non_null(strstr(text, "directly; its signature was not seen before"));
    acu_future_release(future);
    close_all(device);
}

/* ---- loading and failing --------------------------------------------------------------------- */

static void waits_for_the_load(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_unloaded();
    acu_future *first = NULL, *second = NULL;
    acu_tensor *x = NULL;
    int before = library_calls();
    pthread_mutex_lock(&fake->gate);
    assert_works(acu_submit(device, acu_matmul(square(1), square(2)), NULL, &first));
    x = acu_future_tensor(first, 0);
    assert_works(acu_submit(device, acu_matmul(x, square(1)), NULL, &second));
    assert_works(acu_sync(device, square(3), NULL)); /* others do not wait */
    assert_int_equal(acu_future_poll(first), ACU_NOT_READY);
    assert_int_equal(acu_future_poll(second), ACU_NOT_READY);
    assert_int_equal(library_calls(), before);
    pthread_mutex_unlock(&fake->gate);
    assert_works(acu_future_wait(second, ACU_FOREVER));
    assert_all(x, 32);
    assert_all(acu_future_tensor(second, 0), 512);
    assert_int_equal(library_calls() - before, WARM_UPS + 2);
    acu_future_release(first);
    acu_future_release(second);
    /* A future is dropped while its submission waits: nobody waits for it. */
    close_all(device);
    device = open_unloaded();
    pthread_mutex_lock(&fake->gate);
    assert_works(acu_submit(device, acu_matmul(square(1), square(2)), NULL, NULL));
    pthread_mutex_unlock(&fake->gate);
    close_all(device);
}

static void failures_in_words(void **state)
{
    (void)state;
    acu_device *device;
    open_fake(&device);
    acu_future *future = NULL;
    atomic_store(&fake->fail_gemm, 13);
    assert_fails(acu_sync(device, acu_matmul(square(1), square(1)), NULL), ACU_ERR_DRIVER,
                 "cublasGemmEx|CUBLAS_STATUS_EXECUTION_FAILED");
    assert_string_equal(acu_last_error()->op, "matmul");
    acu_op *batched = acu_matmul(acu_full(ACU_SHAPE(2, 4, 4), acu_f32(1)),
                                 acu_full(ACU_SHAPE(2, 4, 4), acu_f32(1)));
    assert_works(acu_submit(device, batched, NULL, &future));
    acu_tensor *lost = acu_future_tensor(future, 0);
    assert_fails(acu_sync(device, acu_neg(lost), NULL), ACU_ERR_DEPENDENCY,
                 "cublasGemmStridedBatchedEx");
    acu_future_release(future);
    atomic_store(&fake->fail_gemm, 3);
    assert_fails(acu_sync(device, acu_matmul(square(1), square(1)), NULL), ACU_ERR_DEVICE_MEMORY,
                 "CUBLAS_STATUS_ALLOC_FAILED");
    atomic_store(&fake->fail_gemm, 77);
    assert_fails(acu_sync(device, acu_matmul(square(1), square(1)), NULL), ACU_ERR_DRIVER, "77");
    /* The kernel does whatever cuBLAS does not support. */
    int done = atomic_load(&fake->done);
    acu_tensor *x = NULL;
    atomic_store(&fake->fail_gemm, 15);
    assert_works(acu_sync(device, acu_matmul(square(1), square(2)), &x));
    assert_all(x, 32);
    assert_int_equal(atomic_load(&fake->done), done);
    acu_tensor_release(x);
    close_all(device);
}

static void without_a_handle(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_unloaded();
    int before = library_calls();
    acu_tensor *x = NULL;
    atomic_store(&fake->fail_create, 1);
    for (int i = 0; i < 3; i++) {
        assert_works(acu_sync(device, acu_matmul(square(1), square(2)), &x));
        assert_all(x, 32);
        acu_tensor_release(x);
    }
    assert_fails(acu_vendor_load(device, ACU_VENDOR_CUBLAS), ACU_ERR_DRIVER,
                 "cublasCreate|CUBLAS_STATUS_NOT_INITIALIZED");
    assert_int_equal(library_calls(), before);
    atomic_store(&fake->fail_create, 0);
    close_all(device);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    for (uint64_t n = 1;; n += test_thin()) {
        acu_device *device = open_unloaded();
        acu_tensor *x = NULL;
        acu_debug_fail_alloc(n, false);
        acu_status status = acu_sync(device, acu_matmul(square(1), square(2)), &x);
        acu_vendor_load(device, ACU_VENDOR_CUBLAS);
        bool through = acu_debug_alloc_count() < n;
        acu_debug_fail_alloc(0, false);
        if (status == ACU_OK)
            assert_all(x, 32);
        else
            assert_true(status == ACU_ERR_NO_MEMORY || status == ACU_ERR_DEPENDENCY);
        acu_tensor_release(x);
        close_all(device);
        if (through)
            break;
    }
}

/* ---- settings -------------------------------------------------------------------------------- */

static void product_works(acu_device *device)
{
    acu_tensor *x = NULL;
    assert_works(acu_sync(device, acu_matmul(square(1), square(2)), &x));
    assert_all(x, 32);
    acu_tensor_release(x);
}

/* The device that a reset makes does without cuBLAS; the old device goes, and its handle is
 * leaked. */
static void case_reset(void **state)
{
    (void)state;
    acu_device *device = open_loaded(), *fresh = NULL;
    product_works(device);
    acu_reset_options promised = {.size = sizeof promised,
                                  .nothing_else_in_this_process_uses_the_device = true};
    assert_works(acu_device_reset(device, &promised, &fresh));
    int before = library_calls();
    product_works(fresh);
    assert_int_equal(library_calls(), before);
    assert_fails(acu_vendor_load(fresh, ACU_VENDOR_CUBLAS), ACU_ERR_NOT_FOUND, "reset");
    test_close(device);
    test_close(fresh);
    if (fake)
        assert_int_equal(atomic_load(&fake->destroyed), 0);
}

static void after_a_reset(void **state)
{
    (void)state;
    test_software_only(); /* on a GPU, nobody else may use the device */
    test_in_process("reset");
}

static void on_two_devices(void **state)
{
    (void)state;
    test_software_only();
    acu_device *devices[2];
    use_fake();
    test_open_n(devices, 2);
    int made = atomic_load(&fake->created);
    for (int i = 0; i < 2; i++)
        product_works(devices[i]);
    assert_int_equal(atomic_load(&fake->created) - made, 2);
    test_close(devices[0]);
    close_all(devices[1]);
}

static void switched_off(void **state)
{
    (void)state;
    acu_device *device = open_loaded();
    char path[PATH_MAX];
    fake_path(path);
    acu_vendor_settings settings = {.size = sizeof settings, .off = true};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    int before = library_calls();
    product_works(device);
    assert_int_equal(library_calls(), before);
    assert_fails(acu_vendor_load(device, ACU_VENDOR_CUBLAS), ACU_ERR_NOT_FOUND,
                 "acu_vendor_configure");
    settings = (acu_vendor_settings){.size = sizeof settings, .path = "/nowhere/libcublas.so"};
    assert_fails(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings),
                 ACU_ERR_BUSY, "cuBLAS is open as");
    settings = (acu_vendor_settings){.size = sizeof settings, .path = fake ? path : NULL};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    product_works(device);
    assert_int_equal(library_calls(), before + (fake != NULL));
    close_all(device);
}

static void case_off(void **state)
{
    (void)state;
    setenv("ACUDA_CUBLAS", "off", 1);
    acu_device *device = test_open();
    product_works(device);
    assert_fails(acu_vendor_load(device, ACU_VENDOR_CUBLAS), ACU_ERR_NOT_FOUND, "ACUDA_CUBLAS=off");
    test_close(device);
    test_leaks_none();
}

static void case_missing(void **state)
{
    (void)state;
    setenv("ACUDA_CUBLAS", "/nowhere/libcublas.so", 1);
    acu_vendor_settings settings = {.size = sizeof settings};
    if (!test_on_gpu()) {
        acu_device *plain = test_open(); /* nobody named one for it */
        product_works(plain);
        assert_fails(acu_vendor_load(plain, ACU_VENDOR_CUBLAS),
                     ACU_ERR_NOT_FOUND, "software device");
        test_close(plain);
        settings.path = "/nowhere/libcublas.so";
    }
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    acu_device *device = test_open();
    product_works(device);
    assert_fails(acu_vendor_load(device, ACU_VENDOR_CUBLAS),
                 ACU_ERR_NOT_FOUND, "/nowhere/libcublas.so");
    assert_int_equal(acu_vendor_version(ACU_VENDOR_CUBLAS), 0);
    assert_null(acu_vendor_path(ACU_VENDOR_CUBLAS));
    test_close(device);
    test_leaks_none();
}

/* Each driver call fails once, while cuBLAS is loaded and used. */
static void case_calls(void **state)
{
    (void)state;
    for (uint64_t n = 1;; n += test_thin()) {
        acu_device *device = open_unloaded();
        acu_tensor *x = NULL;
        acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ANY, .nth = n};
        assert_works(acu_driver_fail(&fault));
        acu_status status = acu_sync(device,
                                     acu_matmul(acu_matmul(square(1), square(2)), square(1)), &x);
        acu_vendor_load(device, ACU_VENDOR_CUBLAS);
        bool through = acu_driver_fault_hits() == 0;
        acu_driver_fail_clear();
        if (status == ACU_OK)
            assert_all(x, 512);
        else if (acu_status_scope(status) != ACU_SCOPE_OPERATION && status != ACU_ERR_NOT_FOUND)
            fail_msg("call %llu: %s: %s", (unsigned long long)n, acu_status_name(status),
                     acu_last_error()->message);
        acu_tensor_release(x);
        test_close(device);
        /* Objects whose destruction was made to fail are left over, and nothing else. */
        for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++)
            assert_true(acu_driver_live((acu_driver_kind)kind) <=
                        acu_driver_spared((acu_driver_kind)kind));
        if (through)
            break;
    }
}

static void without_a_call(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("calls");
}

static void off_by_the_user(void **state)
{
    (void)state;
    test_in_process("off");
}

static void missing(void **state)
{
    (void)state;
    test_in_process("missing");
}

int main(int argc, char **argv)
{
    static const test_case in_process[] = {
        {"off", case_off}, {"missing", case_missing}, {"calls", case_calls}, {"reset", case_reset}};
    if (argc > 1)
        return test_run_case(in_process, sizeof in_process / sizeof *in_process, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_all_layouts),
        cmocka_unit_test(says_what_it_means),
        cmocka_unit_test(complex_products),
        cmocka_unit_test(integers_by_the_kernel),
        cmocka_unit_test(between_kernels),
        cmocka_unit_test(in_a_graph),
        cmocka_unit_test(graph_that_loads_it),
        cmocka_unit_test(described),
        cmocka_unit_test(explained),
        cmocka_unit_test(by_many_threads),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(waits_for_the_load),
        cmocka_unit_test(failures_in_words),
        cmocka_unit_test(without_a_handle),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(without_a_call),
        cmocka_unit_test(after_a_reset),
        cmocka_unit_test(on_two_devices),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(off_by_the_user),
        cmocka_unit_test(missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
