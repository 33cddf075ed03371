/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Solutions and factorizations by cuSOLVER, by what defines them; on the software device by a
 * library that poses as it (fake_cusolver.c). */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/solver.h>

enum { N = 11, MOST = 4 * 20 * 20 };

static test_random numbers = {.state = 3};

static fake_driver *fake_of_blas;

static acu_device *open_solver(void)
{
    if (!test_on_gpu()) {
        with_fake(ACU_VENDOR_CUBLAS, "ops/libfake_cublas.so");
        fake_of_blas = fake;
    }
    return with_library(ACU_VENDOR_CUSOLVER, "solver/libfake_cusolver.so");
}

static double near_enough(acu_dtype dtype)
{
    return dtype == ACU_F64 ? 1e-11 : 2e-4;
}

static acu_tensor *random_tensor(acu_device *device, acu_dtype dtype, acu_shape shape, double *at)
{
    size_t n = (size_t)acu_shape_elements(shape);
    with_random(&numbers, at, n);
    for (size_t i = 0; i < n; i++) /* exactly in f32 */
        at[i] = (double)(float)at[i];
    return with_numbers(device, dtype, shape, at);
}

/* Symmetric and positive definite, in batches of n by n. */
static acu_tensor *definite(acu_device *device, acu_dtype dtype, int batches, int n, double *at)
{
    with_random(&numbers, at, (size_t)(batches * n * n));
    for (int b = 0; b < batches; b++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                double *x = &at[(b * n + i) * n + j];
                *x = (double)(float)(*x + (i == j ? n : 0));
                at[(b * n + j) * n + i] = *x;
            }
    return with_numbers(device, dtype,
                        batches > 1 ? ACU_SHAPE(batches, n, n) : ACU_SHAPE(n, n), at);
}

/* Values of the op, in double, dense; `values` may hold NULL. */
static void get(acu_device *device, acu_op *op, double *const *values, size_t count)
{
    acu_future *future;
    acu_tensor *tensor;
    assert_works(acu_submit(device, op, NULL, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_int_equal(acu_future_values(future), count);
    for (size_t i = 0; i < count; i++) {
        assert_works(acu_future_take(future, i, &tensor));
        with_read(tensor, values[i]);
        acu_tensor_release(tensor);
    }
    acu_future_release(future);
}

/* x = a b, of [m, k] and [k, n]; which are read transposed: 1 a, 2 b. */
static void multiply(const double *a, const double *b, double *x, int m, int k, int n, int turned)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            x[i * n + j] = 0;
            for (int l = 0; l < k; l++)
                x[i * n + j] += (turned & 1 ? a[l * m + i] : a[i * k + l]) *
                                (turned & 2 ? b[j * k + l] : b[l * n + j]);
        }
}

static void is_identity(const double *x, int n, double tolerance, const char *what)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (fabs(x[i * n + j] - (i == j)) > tolerance)
                fail_msg("%s: element %d, %d is %g", what, i, j, x[i * n + j]);
}

/* ---- Cholesky ---- */

static void cholesky(void **state)
{
    (void)state;
    acu_device *device = open_solver();
    for (int how = 0; how < 8; how++) {
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
        acu_uplo uplo = how & 2 ? ACU_UPPER : ACU_LOWER;
        int batches = how & 4 ? 3 : 1;
        double a[MOST], l[MOST], back[MOST];
        acu_tensor *x = definite(device, dtype, batches, N, a);
        acu_op *read = uplo == ACU_LOWER ? acu_tril(x, 0) : acu_triu(x, 0);
        double *const values[] = {l};
        get(device, acu_cholesky(read, uplo), values, 1);
        for (int b = 0; b < batches; b++) {
            const double *factor = &l[b * N * N];
            multiply(factor, factor, back, N, N, N, uplo == ACU_LOWER ? 2 : 1);
            with_near(back, &a[b * N * N], N * N, near_enough(dtype), "cholesky");
            for (int i = 0; i < N; i++)
                for (int j = i + 1; j < N; j++)
                    assert_true(factor[uplo == ACU_LOWER ? i * N + j : j * N + i] == 0);
        }
        acu_tensor_release(x);
    }
    with_end(device);
}

/* ---- solutions ---- */

/* how: 1 f64, 2 a vector, 4 by Cholesky, 8 a transposed view of the right side */
static void solution(acu_device *device, int how, int batches)
{
    acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
    int k = how & 2 ? 1 : 4;
    double a[MOST], b[MOST], x[MOST], back[MOST];
    bool by_cholesky = how & 4;
    acu_shape square = batches > 1 ? ACU_SHAPE(batches, N, N) : ACU_SHAPE(N, N);
    acu_shape side = how & 2      ? ACU_SHAPE(N)
                     : batches > 1 ? ACU_SHAPE(batches, N, k)
                                   : ACU_SHAPE(N, k);
    acu_tensor *left = by_cholesky ? definite(device, dtype, batches, N, a)
                                   : random_tensor(device, dtype, square, a);
    acu_tensor *right = random_tensor(device, dtype, side, b), *other = NULL;
    acu_op *of = acu_value(right);
    if (how & 8) {
        assert_works(acu_sync(device, acu_dup(acu_transpose(right, 0, 1)), &other));
        acu_op_release(of);
        of = acu_transpose(other, 0, 1);
    }
    double *const values[] = {x};
    get(device, by_cholesky ? acu_cholesky_solve(left, ACU_UPPER, of) : acu_solve(left, of), values,
        1);
    for (int i = 0; i < batches; i++) {
        multiply(&a[i * N * N], &x[i * N * k], back, N, N, k, 0);
        with_near(back, &b[i * N * k], (size_t)(N * k), 20 * near_enough(dtype), "solve");
    }
    acu_tensor_release(left);
    acu_tensor_release(right);
    acu_tensor_release(other);
}

static void solutions(void **state)
{
    (void)state;
    acu_device *device = open_solver();
    for (int how = 0; how < 8; how++)
        solution(device, how, 1);
    solution(device, 8, 1);
    solution(device, 0, 3);
    solution(device, 1, 3);
    with_end(device);
}

/* Put into the right side itself. */
static void in_place(void **state)
{
    (void)state;
    acu_device *device = open_solver();
    double a[MOST], b[MOST], x[MOST], back[MOST];
    acu_tensor *left = definite(device, ACU_F64, 1, N, a);
    acu_tensor *right = random_tensor(device, ACU_F64, ACU_SHAPE(N), b);
    assert_works(acu_sync(device, acu_into(right, acu_solve(left, right)), NULL));
    with_read(right, x);
    multiply(a, x, back, N, N, 1, 0);
    with_near(back, b, N, 1e-11, "in place");
    double *const values[] = {x};
    get(device, acu_fill(acu_solve(left, right), acu_f64(7)), values, 1); /* a result is sole */
    assert_true(x[0] == 7 && x[N - 1] == 7);
    acu_tensor_release(left);
    acu_tensor_release(right);
    with_end(device);
}

/* ---- LU ---- */

static void check_lu(const double *a, const double *lu, const double *pivots, int m, int n,
                     double tolerance)
{
    int least = m < n ? m : n;
    double l[MOST] = {0}, u[MOST] = {0}, back[MOST];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            if (j < i && j < least)
                l[i * least + j] = lu[i * n + j];
            if (i <= j && i < least)
                u[i * n + j] = lu[i * n + j];
        }
    for (int i = 0; i < least; i++)
        l[i * least + i] = 1;
    multiply(l, u, back, m, least, n, 0);
    for (int i = least - 1; i >= 0; i--) /* undo the exchanges */
        for (int j = 0; j < n; j++) {
            int other = (int)pivots[i] - 1;
            double kept = back[i * n + j];
            assert_true(other >= i && other < m);
            back[i * n + j] = back[other * n + j];
            back[other * n + j] = kept;
        }
    with_near(back, a, (size_t)(m * n), tolerance, "lu");
}

static void lu(void **state)
{
    (void)state;
    static const int sizes[][2] = {{N, N}, {7, 12}, {12, 7}};
    acu_device *device = open_solver();
    for (int how = 0; how < 8; how++) {
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
        int m = sizes[how / 2 % 3][0], n = sizes[how / 2 % 3][1], batches = how >= 6 ? 3 : 1;
        int least = m < n ? m : n;
        double a[MOST], made[MOST], pivots[64];
        acu_shape shape = batches > 1 ? ACU_SHAPE(batches, m, n) : ACU_SHAPE(m, n);
        acu_tensor *x = random_tensor(device, dtype, shape, a);
        acu_op *op = acu_lu(x);
        acu_op *both[] = {acu_nth(acu_op_retain(op), 0), acu_convert(acu_nth(op, 1), ACU_F32)};
        double *const values[] = {made, pivots};
        get(device, acu_op_zip(both, 2, ACU_SITE), values, 2);
        for (int i = 0; i < batches; i++)
            check_lu(&a[i * m * n], &made[i * m * n], &pivots[i * least], m, n, near_enough(dtype));
        acu_tensor_release(x);
    }
    with_end(device);
}

/* ---- QR, singular values, eigenvalues ---- */

static void qr(void **state)
{
    (void)state;
    static const int sizes[][2] = {{N, N}, {7, 12}, {12, 7}};
    acu_device *device = open_solver();
    for (int how = 0; how < 6; how++) {
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
        int m = sizes[how / 2][0], n = sizes[how / 2][1], k = m < n ? m : n;
        double a[MOST], q[MOST], r[MOST], back[MOST];
        acu_tensor *x = random_tensor(device, dtype, ACU_SHAPE(m, n), a);
        double *const values[] = {q, r};
        get(device, acu_qr(x), values, 2);
        multiply(q, r, back, m, k, n, 0);
        with_near(back, a, (size_t)(m * n), near_enough(dtype), "q r");
        multiply(q, q, back, k, m, k, 1);
        is_identity(back, k, near_enough(dtype), "q' q");
        for (int i = 0; i < k; i++)
            for (int j = 0; j < i; j++)
                assert_true(r[i * n + j] == 0);
        acu_tensor_release(x);
    }
    with_end(device);
}

static void svd(void **state)
{
    (void)state;
    static const int sizes[][2] = {{N, N}, {7, 12}, {12, 7}};
    acu_device *device = open_solver();
    for (int how = 0; how < 6; how++) {
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
        int m = sizes[how / 2][0], n = sizes[how / 2][1], k = m < n ? m : n;
        double a[MOST], u[MOST], s[20], v[MOST], back[MOST];
        acu_tensor *x = random_tensor(device, dtype, ACU_SHAPE(m, n), a);
        double *const values[] = {u, s, v};
        get(device, acu_svd(x), values, 3);
        multiply(u, u, back, k, m, k, 1);
        is_identity(back, k, near_enough(dtype), "u' u");
        multiply(v, v, back, k, n, k, 2);
        is_identity(back, k, near_enough(dtype), "v' v");
        for (int i = 0; i + 1 < k; i++)
            assert_true(s[i] >= s[i + 1] && s[i + 1] >= 0);
        for (int i = 0; i < m * k; i++)
            u[i] *= s[i % k];
        multiply(u, v, back, m, k, n, 0);
        with_near(back, a, (size_t)(m * n), near_enough(dtype), "u s v'");
        acu_tensor_release(x);
    }
    with_end(device);
}

static void eigh(void **state)
{
    (void)state;
    acu_device *device = open_solver();
    for (int how = 0; how < 4; how++) {
        acu_dtype dtype = how & 1 ? ACU_F64 : ACU_F32;
        acu_uplo uplo = how & 2 ? ACU_UPPER : ACU_LOWER;
        double a[MOST], w[N], v[MOST], left[MOST], right[MOST];
        acu_tensor *x = definite(device, dtype, 1, N, a);
        acu_op *read = uplo == ACU_LOWER ? acu_tril(x, 0) : acu_triu(x, 0);
        double *const values[] = {w, v};
        get(device, acu_eigh(read, uplo), values, 2);
        multiply(a, v, left, N, N, N, 0);
        for (int i = 0; i < N * N; i++)
            right[i] = v[i] * w[i % N];
        with_near(left, right, N * N, 2 * near_enough(dtype), "a v");
        multiply(v, v, left, N, N, N, 1);
        is_identity(left, N, near_enough(dtype), "v' v");
        for (int i = 0; i + 1 < N; i++)
            assert_true(w[i] <= w[i + 1]);
        acu_tensor_release(x);
    }
    with_end(device);
}

/* ---- no result ---- */

static void fails_with(acu_device *device, acu_op *op, int info, const char *words)
{
    acu_future *future;
    acu_error error;
    assert_works(acu_submit(device, op, NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_NUMERIC);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_NUMERIC);
    if (!strstr(error.message, words))
        fail_msg("\"%s\" does not say \"%s\"", error.message, words);
    assert_int_equal((int)error.cause, info);
    acu_future_release(future);
}

static void no_result(void **state)
{
    (void)state;
    acu_device *device = open_solver();
    double a[9] = {4, 0, 0, 0, -1, 0, 0, 0, 3}, zero[3 * 4] = {1, 0, 0, 1, 1, 0, 0, 0, 2, 0, 0, 2};
    acu_tensor *x = with_numbers(device, ACU_F64, ACU_SHAPE(3, 3), a);
    acu_tensor *batch = with_numbers(device, ACU_F32, ACU_SHAPE(3, 2, 2), zero);
    fails_with(device, acu_cholesky(x, ACU_LOWER), 2, "leading minor of order 2");
    fails_with(device, acu_cholesky_solve(x, ACU_LOWER, acu_ones(ACU_F64, ACU_SHAPE(3))), 2,
               "cholesky_solve: the leading minor");
    acu_op *singular = acu_zeros(ACU_F32, ACU_SHAPE(4, 4));
    fails_with(device, acu_solve(singular, acu_ones(ACU_F32, ACU_SHAPE(4, 2))), 1,
               "the matrix is singular: element 1");
    fails_with(device, acu_lu(acu_zeros(ACU_F64, ACU_SHAPE(3, 3))), 1, "lu: the matrix is singular");
    fails_with(device, acu_lu(batch), 2, "matrix 1: the matrix is singular: element 2");
    fails_with(device, acu_cholesky(batch, ACU_UPPER), 2, "matrix 1: the leading minor of order 2");
    fails_with(device, acu_solve(batch, acu_ones(ACU_F32, ACU_SHAPE(3, 2, 1))), 2, "solve: matrix 1");
    acu_tensor_release(x);
    acu_tensor_release(batch);
    with_end(device);
}

/* ---- in graphs ---- */

enum { BATCHES = 3 };

typedef struct again {
    acu_tensor *a, *b, *x;
    double at_a[MOST], at_b[MOST];
} again;

static acu_op *once_more(void *user)
{
    again *s = user;
    return acu_into(s->x, acu_solve(s->a, s->b));
}

static void begin_again(again *s, acu_device *device)
{
    s->a = definite(device, ACU_F64, BATCHES, N, s->at_a);
    s->b = random_tensor(device, ACU_F64, ACU_SHAPE(BATCHES, N, 2), s->at_b);
    assert_works(acu_sync(device, acu_zeros(ACU_F64, ACU_SHAPE(BATCHES, N, 2)), &s->x));
}

static void is_solved(const again *s)
{
    double x[MOST], back[MOST];
    with_read(s->x, x);
    for (int i = 0; i < BATCHES; i++) {
        multiply(&s->at_a[i * N * N], &x[i * N * 2], back, N, N, 2, 0);
        with_near(back, &s->at_b[i * N * 2], 2 * N, 1e-11, "solved again");
    }
}

static void end_again(again *s)
{
    acu_tensor_release(s->a);
    acu_tensor_release(s->b);
    acu_tensor_release(s->x);
}

/* Cached graphs have cuBLAS's calls; `info` is looked at each time. */
static void repeated(void **state)
{
    (void)state;
    static again s;
    acu_device *device = open_solver();
    fake_driver *solver = fake;
    begin_again(&s, device);
    fake = fake ? fake_of_blas : NULL; /* whose calls are counted */
    with_repeated(device, once_more, &s);
    fake = solver;
    is_solved(&s);
    assert_works(acu_sync(device, acu_fill(s.a, acu_f64(0)), NULL));
    for (int turn = 0; turn < 3; turn++)
        fails_with(device, once_more(&s), 1, "matrix 0: the matrix is singular: element 1");
    end_again(&s);
    with_end(device);
}

/* In an explicit graph, `info` is looked at behind each replay: what can not be solved fails that
 * replay, and not the next one. */
static void in_a_graph(void **state)
{
    (void)state;
    static again s;
    acu_device *device = open_solver();
    acu_graph *graph, *none = NULL;
    acu_tensor *kept;
    begin_again(&s, device);
    assert_works(acu_sync(device, acu_dup(s.a), &kept));
    assert_works(acu_graph_load(device, once_more(&s), NULL, &graph));
    for (int turn = 0; turn < 6; turn++) {
        bool singular = turn % 3 == 1;
        acu_op *matrix = singular ? acu_fill(s.a, acu_f64(0)) : acu_copy(s.a, kept);
        assert_works(acu_sync(device, matrix, NULL));
        if (singular) {
            fails_with(device, acu_replay(graph), 1, "matrix 0: the matrix is singular");
            continue;
        }
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        is_solved(&s);
    }
    acu_graph_release(graph);
    assert_fails(acu_graph_load(device, acu_cholesky(kept, ACU_LOWER), NULL, &none),
                 ACU_ERR_NOT_SUPPORTED, "wait");
    acu_tensor_release(kept);
    end_again(&s);
    with_end(device);
}

/* Of several that fail in one replay, the first is named. */
static void two_in_a_graph(void **state)
{
    (void)state;
    double one[4] = {1}, zeros[4] = {0}; /* singular at elements 2 and 1 */
    acu_device *device = open_solver();
    acu_tensor *a = with_numbers(device, ACU_F64, ACU_SHAPE(1, 2, 2), one);
    acu_tensor *b = with_numbers(device, ACU_F64, ACU_SHAPE(1, 2, 2), zeros);
    acu_graph *graph;
    acu_op *both = acu_zip(acu_solve(a, acu_ones(ACU_F64, ACU_SHAPE(1, 2, 1))),
                           acu_solve(b, acu_ones(ACU_F64, ACU_SHAPE(1, 2, 1))));
    assert_works(acu_graph_load(device, both, NULL, &graph));
    fails_with(device, acu_replay(graph), 2, "element 2");
    acu_graph_release(graph);
    acu_tensor_release(a);
    acu_tensor_release(b);
    with_end(device);
}

/* ---- refusals and failures ---- */

static void refusals(void **state)
{
    (void)state;
    acu_device *device = open_solver();
    acu_tensor *m;
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(3, 4)), &m));
    assert_fails(acu_sync(device, acu_cholesky(m, ACU_LOWER), NULL), ACU_ERR_SHAPE, "square");
    assert_fails(acu_sync(device, acu_qr(acu_ones(ACU_F32, ACU_SHAPE(0, 3))), NULL), ACU_ERR_SHAPE,
                 "[0, 3], has no elements");
    assert_fails(acu_sync(device, acu_eigh(m, ACU_LOWER), NULL), ACU_ERR_SHAPE, "square");
    assert_fails(acu_sync(device, acu_svd(acu_ones(ACU_F32, ACU_SHAPE(2, 3, 3))), NULL),
                 ACU_ERR_SHAPE, "must be a matrix");
    assert_fails(acu_sync(device, acu_lu(acu_ones(ACU_F32, ACU_SHAPE(2, 3, 4))), NULL),
                 ACU_ERR_SHAPE, "square");
    assert_fails(acu_sync(device, acu_qr(acu_ones(ACU_F16, ACU_SHAPE(3, 3))), NULL), ACU_ERR_DTYPE,
                 "f32 or f64");
    acu_op *square = acu_ones(ACU_F32, ACU_SHAPE(3, 3));
    assert_fails(acu_sync(device, acu_solve(square, acu_ones(ACU_F32, ACU_SHAPE(4))), NULL),
                 ACU_ERR_SHAPE, "[n] or [n, k]");
    square = acu_ones(ACU_F32, ACU_SHAPE(2, 3, 3));
    assert_fails(acu_sync(device, acu_solve(square, acu_ones(ACU_F32, ACU_SHAPE(3, 1))), NULL),
                 ACU_ERR_SHAPE, "[batches, n, k]");
    square = acu_ones(ACU_F32, ACU_SHAPE(3, 3));
    assert_fails(acu_sync(device, acu_solve(square, acu_ones(ACU_F64, ACU_SHAPE(3))), NULL),
                 ACU_ERR_DTYPE, "dtype of the matrix");
    assert_fails(acu_sync(device, acu_cholesky(m, (acu_uplo)5), NULL), ACU_ERR_INVALID,
                 "is no acu_uplo");
    acu_tensor_release(m);
    with_end(device);
}

static void failures(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_solver();
    atomic_store(&fake->fail_call, 6);
    assert_fails(acu_sync(device, acu_eigh(acu_eye(ACU_F32, 3), ACU_LOWER), NULL), ACU_ERR_DRIVER,
                 "cusolverDnXsyevd answered CUSOLVER_STATUS_EXECUTION_FAILED");
    assert_fails(acu_sync(device, acu_qr(acu_eye(ACU_F32, 3)), NULL), ACU_ERR_DRIVER,
                 "cusolverDnXgeqrf answered");
    atomic_store(&fake->fail_call, 0);
    with_end(device);
}

static acu_op *everything(void)
{
    acu_op *a = acu_eye(ACU_F32, 3);
    acu_op *all[] = {acu_solve(acu_op_retain(a), acu_ones(ACU_F32, ACU_SHAPE(3, 2))),
                     acu_nth(acu_qr(acu_op_retain(a)), 0), acu_nth(acu_svd(a), 1),
                     acu_cholesky(acu_reshape(acu_eye(ACU_F64, 1), ACU_SHAPE(1, 1, 1)), ACU_LOWER)};
    return acu_op_zip(all, 4, ACU_SITE);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_solver();
    test_fail_each_alloc(device, everything);
    with_end(device);
}

static void use_fake(void)
{
    with_fake(ACU_VENDOR_CUSOLVER, "solver/libfake_cusolver.so");
}

static acu_op *solved(void)
{
    return acu_solve(acu_eye(ACU_F32, 3), acu_ones(ACU_F32, ACU_SHAPE(3)));
}

TEST_EACH_CALL(use_fake, solved)

int main(int argc, char **argv)
{
    static const test_case in_process[] = {{"calls", case_calls}};
    if (argc > 1)
        return test_run_case(in_process, 1, argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky), cmocka_unit_test(solutions), cmocka_unit_test(in_place),
        cmocka_unit_test(lu), cmocka_unit_test(qr), cmocka_unit_test(svd), cmocka_unit_test(eigh),
        cmocka_unit_test(no_result), cmocka_unit_test(repeated), cmocka_unit_test(in_a_graph),
        cmocka_unit_test(two_in_a_graph), cmocka_unit_test(refusals),
        cmocka_unit_test(failures), cmocka_unit_test(without_memory),
        cmocka_unit_test(without_a_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
