/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* BLAS by cuBLAS, compared with double on the host; on the software device by a library that poses
 * as it (ops/fake_blas.c). */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/blas.h>

static test_random numbers = {.state = 7};

enum { MOST = 40 * 40 };

static acu_device *open_blas(void)
{
    return with_library(ACU_VENDOR_CUBLAS, "ops/libfake_cublas.so");
}

/* ---- matrices, by rows or by columns ---- */

typedef struct matrix {
    int rows, columns;
    bool by_columns;
    double at[MOST];
    acu_tensor *tensor; /* as it is in memory */
} matrix;

static double *element(matrix *x, int row, int column)
{
    return &x->at[x->by_columns ? column * x->rows + row : row * x->columns + column];
}

static void fill(matrix *x, acu_device *device, acu_dtype dtype, int rows, int columns,
                 bool by_columns)
{
    *x = (matrix){.rows = rows, .columns = columns, .by_columns = by_columns};
    with_random(&numbers, x->at, (size_t)(rows * columns));
    for (int i = 0; i < rows * columns; i++) /* exactly in every dtype */
        x->at[i] = nearbyint(x->at[i] * 16) / 16;
    for (int i = 0; i < rows && rows == columns; i++) /* so that it can be solved with */
        *element(x, i, i) += 4;
    acu_shape shape = by_columns ? ACU_SHAPE(columns, rows) : ACU_SHAPE(rows, columns);
    x->tensor = with_numbers(device, dtype, shape, x->at);
}

static acu_op *view(const matrix *x)
{
    return x->by_columns ? acu_transpose(x->tensor, 0, 1) : acu_value(x->tensor);
}

static acu_op *vector(const matrix *x)
{
    return acu_reshape(acu_value(x->tensor), ACU_SHAPE(x->rows * x->columns));
}

static void expect(matrix *x, const double *want, acu_dtype dtype, const char *what)
{
    double have[MOST];
    with_read(x->tensor, have);
    with_near(have, want, (size_t)(x->rows * x->columns), dtype == ACU_F64 ? 1e-12 : 2e-5, what);
}

static const acu_dtype widths[] = {ACU_F32, ACU_F64};

/* ---- level 1 ---- */

static void vectors(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    for (int w = 0; w < 2; w++) {
        matrix x, y;
        double want[MOST], got;
        acu_tensor *dot = NULL, *norm = NULL;
        fill(&x, device, widths[w], 1, 37, false);
        fill(&y, device, widths[w], 1, 37, false);
        double product = 0, square = 0;
        for (int i = 0; i < 37; i++) {
            want[i] = 3 * (y.at[i] - 0.5 * x.at[i]);
            product += x.at[i] * want[i];
            square += x.at[i] * x.at[i];
        }
        acu_op *sum = acu_blas_scal(3, acu_blas_axpy(-0.5, vector(&x), vector(&y)));
        assert_works(acu_sync(device, acu_blas_dot(vector(&x), sum), &dot));
        assert_works(acu_sync(device, acu_blas_nrm2(vector(&x)), &norm));
        expect(&y, want, widths[w], "axpy, scal");
        assert_int_equal(acu_tensor_shape(dot).rank, 1);
        with_read(dot, &got);
        with_near(&got, &product, 1, 1e-5, "dot");
        with_read(norm, &got);
        square = sqrt(square);
        with_near(&got, &square, 1, 1e-5, "nrm2");
        acu_tensor_release(dot);
        acu_tensor_release(norm);
        acu_tensor_release(x.tensor);
        acu_tensor_release(y.tensor);
    }
    with_end(device);
}

/* Every second element, and the small dtypes. */
static void steps_and_small_numbers(void **state)
{
    (void)state;
    static const acu_dtype small[] = {ACU_F16, ACU_BF16, ACU_F32, ACU_F64};
    acu_device *device = open_blas();
    for (int d = 0; d < 4; d++) {
        acu_tensor *x, *y;
        acu_op *ones = acu_ones(small[d], ACU_SHAPE(10));
        assert_works(acu_sync(device, ones, &x));
        assert_works(acu_sync(device, acu_zeros(small[d], ACU_SHAPE(5)), &y));
        acu_op *half = acu_slice_step(x, ACU_SHAPE(0), ACU_SHAPE(10), ACU_SHAPE(2));
        acu_op *scaled = acu_blas_scal(2, half);
        assert_works(acu_sync(device, acu_blas_axpy(1.5, scaled, y), NULL));
        acu_tensor *wide, *all;
        double have[10], want_y[5] = {3, 3, 3, 3, 3};
        double want_x[10] = {2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
        assert_works(acu_sync(device, acu_convert(y, ACU_F64), &wide));
        assert_works(acu_sync(device, acu_convert(x, ACU_F64), &all));
        with_read(wide, have);
        with_near(have, want_y, 5, 0, "axpy of every second element");
        with_read(all, have);
        with_near(have, want_x, 10, 0, "scal of every second element");
        acu_tensor_release(wide);
        acu_tensor_release(all);
        acu_tensor_release(x);
        acu_tensor_release(y);
    }
    with_end(device);
}

/* ---- level 2 ---- */

static void matrices_and_vectors(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    for (int w = 0; w < 4; w++) {
        acu_dtype dtype = widths[w & 1];
        matrix a, x, y;
        double want[MOST];
        fill(&a, device, dtype, 13, 22, w >> 1);
        fill(&x, device, dtype, 1, 22, false);
        fill(&y, device, dtype, 1, 13, false);
        for (int i = 0; i < 13; i++) {
            want[i] = 0.5 * y.at[i];
            for (int k = 0; k < 22; k++)
                want[i] += 2 * *element(&a, i, k) * x.at[k];
        }
        assert_works(acu_sync(device, acu_blas_gemv(2, view(&a), vector(&x), 0.5, vector(&y)),
                              NULL));
        expect(&y, want, dtype, "gemv");
        assert_works(acu_sync(device, acu_blas_ger(-1, vector(&y), vector(&x), view(&a)), NULL));
        for (int i = 0; i < 13; i++)
            for (int k = 0; k < 22; k++)
                *element(&a, i, k) -= want[i] * x.at[k];
        expect(&a, a.at, dtype, "ger");
        acu_tensor_release(a.tensor);
        acu_tensor_release(x.tensor);
        acu_tensor_release(y.tensor);
    }
    with_end(device);
}

/* ---- level 3 ---- */

static void gemm(acu_device *device, acu_dtype dtype, int how)
{
    matrix a, b, c;
    fill(&a, device, dtype, 9, 12, how & 1);
    fill(&b, device, dtype, 12, 7, how & 2);
    fill(&c, device, dtype, 9, 7, how & 4);
    double beta = how & 1 ? 0 : -0.5;
    acu_op *product = acu_blas_gemm(2, view(&a), view(&b), beta, view(&c));
    assert_works(acu_sync(device, product, NULL));
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 7; j++) {
            double *at = element(&c, i, j);
            *at *= beta;
            for (int k = 0; k < 12; k++)
                *at += 2 * *element(&a, i, k) * *element(&b, k, j);
        }
    expect(&c, c.at, dtype, "gemm");
    acu_tensor_release(a.tensor);
    acu_tensor_release(b.tensor);
    acu_tensor_release(c.tensor);
}

static void syrk(acu_device *device, acu_dtype dtype, int how)
{
    matrix a, c;
    acu_uplo uplo = how & 1 ? ACU_UPPER : ACU_LOWER;
    fill(&a, device, dtype, 9, 5, how & 2);
    fill(&c, device, dtype, 9, 9, how & 4);
    assert_works(acu_sync(device, acu_blas_syrk(uplo, 2, view(&a), 1, view(&c)), NULL));
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            for (int k = 0; k < 5 && (uplo == ACU_UPPER ? i <= j : i >= j); k++)
                *element(&c, i, j) += 2 * *element(&a, i, k) * *element(&a, j, k);
    expect(&c, c.at, dtype, "syrk");
    acu_tensor_release(a.tensor);
    acu_tensor_release(c.tensor);
}

/* The element of the triangular matrix that `a` stands for. */
static double triangular(matrix *a, acu_uplo uplo, bool unit, int i, int j)
{
    if (i == j)
        return unit ? 1 : *element(a, i, j);
    return (uplo == ACU_UPPER) == (i < j) ? *element(a, i, j) : 0;
}

/* The solution, multiplied, is alpha b again. */
static void trsm(acu_device *device, acu_dtype dtype, int how)
{
    matrix a, b, x;
    acu_side side = how & 1 ? ACU_RIGHT : ACU_LEFT;
    acu_uplo uplo = how & 2 ? ACU_UPPER : ACU_LOWER;
    bool unit = how & 4;
    int rows = 6, columns = 8, order = side == ACU_LEFT ? rows : columns;
    fill(&a, device, dtype, order, order, how & 8);
    fill(&b, device, dtype, rows, columns, how & 16);
    for (int i = 0; i < order; i++) /* small beside a diagonal of ones */
        for (int j = 0; j < order; j++)
            if (i != j)
                *element(&a, i, j) /= 8;
    acu_tensor_release(a.tensor);
    a.tensor = with_numbers(device, dtype, ACU_SHAPE(order, order), a.at);
    x = b;
    assert_works(acu_sync(device, acu_blas_trsm(side, uplo, unit, 2, view(&a), view(&b)), NULL));
    with_read(b.tensor, x.at);
    double want[MOST], have[MOST];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int k = 0; k < order; k++)
                sum += side == ACU_LEFT
                           ? triangular(&a, uplo, unit, i, k) * *element(&x, k, j)
                           : *element(&x, i, k) * triangular(&a, uplo, unit, k, j);
            have[i * columns + j] = sum;
            want[i * columns + j] = 2 * *element(&b, i, j);
        }
    with_near(have, want, (size_t)(rows * columns), dtype == ACU_F64 ? 1e-12 : 2e-5, "trsm");
    acu_tensor_release(a.tensor);
    acu_tensor_release(b.tensor);
}

static void matrices(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    for (int w = 0; w < 2; w++) {
        for (int how = 0; how < 8; how++) {
            gemm(device, widths[w], how);
            syrk(device, widths[w], how);
        }
        for (int how = 0; how < 32; how++)
            trsm(device, widths[w], how);
    }
    with_end(device);
}

/* ---- in order, in graphs ---- */

static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    acu_tensor *x, *y;
    acu_graph *graph;
    double have[16];
    assert_works(acu_sync(device, acu_ones(ACU_F64, ACU_SHAPE(16)), &x));
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(16)), &y));
    acu_op *op = acu_blas_axpy(2, acu_blas_scal(3, x), y); /* x = 3 x; y += 2 x */
    assert_works(acu_graph_load(device, op, NULL, &graph));
    int calls = fake ? atomic_load(&fake->calls) : 0;
    for (int turn = 0; turn < 3; turn++)
        assert_works(acu_sync(device, acu_replay(graph), NULL));
    if (fake)
        assert_int_equal(atomic_load(&fake->calls), calls);
    with_read(y, have);
    for (int i = 0; i < 16; i++)
        assert_true(have[i] == 6 + 18 + 54);
    acu_graph_release(graph);
    acu_tensor_release(x);
    acu_tensor_release(y);
    with_end(device);
}

static acu_op *add_twice(void *xy)
{
    acu_tensor **t = xy;
    return acu_blas_axpy(2, t[0], t[1]);
}

/* Cached graphs have the call; with other numbers, it is another one. */
static void repeated(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    acu_tensor *t[2];
    double have[16];
    assert_works(acu_sync(device, acu_ones(ACU_F64, ACU_SHAPE(16)), &t[0]));
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(16)), &t[1]));
    with_repeated(device, add_twice, t);
    assert_works(acu_sync(device, acu_blas_axpy(0.5, t[0], t[1]), NULL));
    with_read(t[1], have);
    for (int i = 0; i < 16; i++)
        assert_true(have[i] == 2 * (WITH_FIRST + WITH_TURNS) + 0.5);
    acu_tensor_release(t[0]);
    acu_tensor_release(t[1]);
    with_end(device);
}

/* Dropped at once, and submitted from work that has not run yet. */
static void dropped(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    acu_tensor *y;
    double have[8];
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(8)), &y));
    for (int i = 0; i < 20; i++) {
        acu_op *x = acu_full(ACU_SHAPE(8), acu_f64(1.0));
        assert_works(acu_submit(device, acu_blas_axpy(0.5, x, y), NULL, NULL));
    }
    with_read(y, have);
    assert_true(have[0] == 10 && have[7] == 10);
    acu_op_release(acu_blas_axpy(1, acu_ones(ACU_F64, ACU_SHAPE(8)), y));
    acu_tensor_release(y);
    with_end(device);
}

/* ---- refusals and failures ---- */

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    acu_tensor *x, *m;
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(6)), &x));
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(6, 6)), &m));
    acu_op *five = acu_ones(ACU_F32, ACU_SHAPE(5)), *none = acu_ones(ACU_F32, ACU_SHAPE(0));
    assert_fails(acu_sync(device, acu_blas_axpy(1, none, x), NULL), ACU_ERR_SHAPE,
                 "operand 0, f32 [0], has no elements");
    assert_fails(acu_sync(device, acu_blas_axpy(1, five, x), NULL), ACU_ERR_SHAPE, "one length");
    assert_fails(acu_sync(device, acu_blas_axpy(1, m, x), NULL), ACU_ERR_SHAPE, "vector");
    assert_fails(acu_sync(device, acu_blas_axpy(1, acu_ones(ACU_F64, ACU_SHAPE(6)), x), NULL),
                 ACU_ERR_DTYPE, "one dtype");
    assert_fails(acu_sync(device, acu_blas_scal(1, acu_ones(ACU_I32, ACU_SHAPE(6))), NULL),
                 ACU_ERR_DTYPE, "i32");
    assert_fails(acu_sync(device, acu_blas_axpy(1, x, x), NULL), ACU_ERR_INVALID, "overlaps");
    acu_op *stepped = acu_slice_step(m, ACU_SHAPE(0, 0), ACU_SHAPE(6, 6), ACU_SHAPE(2, 2));
    acu_op *three = acu_ones(ACU_F32, ACU_SHAPE(3));
    assert_fails(acu_sync(device, acu_blas_gemv(1, stepped, three, 0,
                                                acu_ones(ACU_F32, ACU_SHAPE(3))), NULL),
                 ACU_ERR_INVALID, "dense");
    assert_fails(acu_sync(device, acu_blas_trsm((acu_side)7, ACU_LOWER, false, 1, m,
                                                acu_ones(ACU_F32, ACU_SHAPE(6, 6))), NULL),
                 ACU_ERR_INVALID, "acu_side");
    assert_fails(acu_sync(device, acu_blas_syrk((acu_uplo)9, 1, m, 1, m), NULL), ACU_ERR_INVALID,
                 "acu_uplo");
    acu_tensor_release(x);
    acu_tensor_release(m);
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_blas();
    acu_tensor *x;
    acu_future *future = NULL;
    acu_error error = {0};
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(6)), &x));
    atomic_store(&fake->fail_call, 13);
    assert_works(acu_submit(device, acu_blas_scal(2, x), NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DRIVER);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DRIVER);
    assert_non_null(strstr(error.message, "cublasScalEx answered CUBLAS_STATUS_EXECUTION_FAILED"));
    assert_string_equal(error.op, "blas_scal");
    acu_future_release(future);
    acu_tensor_release(x); /* its contents are not valid */
    atomic_store(&fake->fail_call, 0);
    with_end(device);
}

/* Nobody named a library: each op says what is missing. */
static void case_missing(void **state)
{
    (void)state;
    setenv("ACUDA_CUBLAS", "off", 1);
    acu_device *device = test_open();
    acu_tensor *x;
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(6)), &x));
    assert_fails(acu_sync(device, acu_blas_scal(2, x), NULL), ACU_ERR_NOT_FOUND, "ACUDA_CUBLAS");
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static void missing(void **state)
{
    (void)state;
    test_in_process("missing");
}

/* The library is named, and is none: that is known only when it was looked for. */
static void case_not_there(void **state)
{
    (void)state;
    acu_vendor_settings settings = {.size = sizeof settings, .path = "/nowhere/libcublas.so"};
    assert_works(acu_vendor_configure(ACU_VENDOR_CUBLAS, &settings));
    acu_device *device = test_open();
    for (int i = 0; i < 2; i++)
        assert_fails(acu_sync(device, acu_blas_scal(2, acu_ones(ACU_F32, ACU_SHAPE(6))), NULL),
                     ACU_ERR_NOT_FOUND, "/nowhere/libcublas.so");
    test_close(device);
    test_leaks_none();
}

static void not_there(void **state)
{
    (void)state;
    test_in_process("not_there");
}

static void use_fake(void)
{
    with_fake(ACU_VENDOR_CUBLAS, "ops/libfake_cublas.so");
}

static acu_op *scaled(void)
{
    return acu_blas_scal(2, acu_ones(ACU_F32, ACU_SHAPE(6)));
}

/* Each driver call fails once, while the library is loaded and used; then each allocation. */
static void case_calls(void **state)
{
    (void)state;
    test_fail_each_call(use_fake, scaled);
}

static void without_a_call(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("calls");
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_blas();
    test_fail_each_alloc(device, scaled);
    with_end(device);
}

int main(int argc, char **argv)
{
    static const test_case in_process[] = {
        {"missing", case_missing}, {"not_there", case_not_there}, {"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, sizeof in_process / sizeof *in_process, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(steps_and_small_numbers),
        cmocka_unit_test(matrices_and_vectors),
        cmocka_unit_test(matrices),
        cmocka_unit_test(in_a_graph),
        cmocka_unit_test(repeated),
        cmocka_unit_test(dropped),
        cmocka_unit_test(refusals),
        cmocka_unit_test(failures),
        cmocka_unit_test(missing),
        cmocka_unit_test(not_there),
        cmocka_unit_test(without_a_call),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
