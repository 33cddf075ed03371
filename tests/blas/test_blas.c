/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* BLAS by cuBLAS, compared with numbers from the host; on the software device by a library that
 * poses as it (ops/fake_blas.c). */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/blas.h>

#include <complex.h>

static test_random numbers = {.state = 7};

enum { MOST = 40 * 40 };

typedef double complex number; /* of any dtype */

static acu_device *open_blas(void)
{
    return with_library(ACU_VENDOR_CUBLAS, "ops/libfake_cublas.so");
}

static bool is_whole(acu_dtype dtype)
{
    return dtype == ACU_C64 || dtype == ACU_C128;
}

static double tolerance_of(acu_dtype dtype)
{
    return dtype == ACU_F64 || dtype == ACU_C128 ? 1e-12 : 2e-5;
}

static const acu_dtype types[] = {ACU_F32, ACU_F64, ACU_C64, ACU_C128};
enum { TYPES = 4 };

/* ---- matrices, by rows or by columns ---- */

typedef struct matrix {
    int rows, columns;
    bool by_columns;
    acu_dtype dtype;
    number at[MOST];
    acu_tensor *tensor; /* as it is in memory */
} matrix;

static number *element(matrix *x, int row, int column)
{
    return &x->at[x->by_columns ? column * x->rows + row : row * x->columns + column];
}

/* Numbers are read and written as reals, or as pairs of them. */
static acu_tensor *upload(acu_device *device, const matrix *x)
{
    static double parts[2 * MOST];
    int n = x->rows * x->columns;
    acu_shape shape = x->by_columns ? ACU_SHAPE(x->columns, x->rows)
                                    : ACU_SHAPE(x->rows, x->columns);
    for (int i = 0; i < n; i++) {
        parts[is_whole(x->dtype) ? 2 * i : i] = creal(x->at[i]);
        if (is_whole(x->dtype))
            parts[2 * i + 1] = cimag(x->at[i]);
    }
    return with_numbers(device, x->dtype, shape, parts);
}

static void download(acu_tensor *tensor, number *to)
{
    static double parts[2 * MOST];
    bool whole = is_whole(acu_tensor_dtype(tensor));
    int64_t n = acu_shape_elements(acu_tensor_shape(tensor));
    with_read(tensor, parts);
    for (int64_t i = 0; i < n; i++)
        to[i] = whole ? parts[2 * i] + I * parts[2 * i + 1] : parts[i];
}

static void fill(matrix *x, acu_device *device, acu_dtype dtype, int rows, int columns,
                 bool by_columns)
{
    double parts[2 * MOST];
    *x = (matrix){.rows = rows, .columns = columns, .by_columns = by_columns, .dtype = dtype};
    with_random(&numbers, parts, (size_t)(2 * rows * columns));
    for (int i = 0; i < rows * columns; i++) { /* exactly in every dtype */
        x->at[i] = nearbyint(parts[i] * 16) / 16;
        if (is_whole(dtype))
            x->at[i] += I * (nearbyint(parts[rows * columns + i] * 16) / 16);
    }
    for (int i = 0; i < rows && rows == columns; i++) /* so that it can be solved with */
        *element(x, i, i) += 4;
    x->tensor = upload(device, x);
}

static acu_op *view(const matrix *x)
{
    return x->by_columns ? acu_transpose(x->tensor, 0, 1) : acu_value(x->tensor);
}

static acu_op *vector(const matrix *x)
{
    return acu_reshape(acu_value(x->tensor), ACU_SHAPE(x->rows * x->columns));
}

static void near_to(const number *have, const number *want, int n, acu_dtype dtype,
                    const char *what)
{
    for (int i = 0; i < n; i++)
        if (!(cabs(have[i] - want[i]) <= tolerance_of(dtype) * (1 + cabs(want[i]))))
            fail_msg("%s of %s: element %d is %.17g%+.17gi, not %.17g%+.17gi", what,
                     acu_dtype_name(dtype), i, creal(have[i]), cimag(have[i]), creal(want[i]),
                     cimag(want[i]));
}

static void expect(matrix *x, const number *want, const char *what)
{
    number have[MOST];
    download(x->tensor, have);
    near_to(have, want, x->rows * x->columns, x->dtype, what);
}

static void drop(matrix *x)
{
    acu_tensor_release(x->tensor);
}

/* ---- level 1 ---- */

/* What makes a new tensor, of one element. */
static void makes(acu_device *device, acu_op *op, acu_dtype dtype, number want, const char *what)
{
    acu_tensor *made;
    number have;
    assert_works(acu_sync(device, op, &made));
    assert_int_equal(acu_tensor_shape(made).rank, 1);
    assert_int_equal(acu_tensor_dtype(made), dtype);
    download(made, &have);
    near_to(&have, &want, 1, dtype, what);
    acu_tensor_release(made);
}

static void vectors(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    for (int w = 0; w < TYPES; w++) {
        matrix x, y;
        acu_dtype dtype = types[w];
        acu_dtype part = dtype == ACU_C64 ? ACU_F32 : dtype == ACU_C128 ? ACU_F64 : dtype;
        number want[MOST];
        fill(&x, device, dtype, 1, 37, false);
        fill(&y, device, dtype, 1, 37, false);
        number product = 0, other = 0;
        double square = 0, sizes = 0;
        for (int i = 0; i < 37; i++) {
            want[i] = 3 * (y.at[i] - 0.5 * x.at[i]);
            product += x.at[i] * want[i];
            other += conj(x.at[i]) * want[i];
            square += creal(x.at[i] * conj(x.at[i]));
            sizes += fabs(creal(x.at[i])) + fabs(cimag(x.at[i]));
        }
        acu_op *sum = acu_blas_scal(3, acu_blas_axpy(-0.5, vector(&x), vector(&y)));
        makes(device, acu_blas_dot(vector(&x), sum), dtype, product, "dot");
        expect(&y, want, "axpy, scal");
        makes(device, acu_blas_dotc(vector(&x), vector(&y)), dtype, other, "dotc");
        makes(device, acu_blas_nrm2(vector(&x)), part, sqrt(square), "nrm2");
        makes(device, acu_blas_asum(vector(&x)), part, sizes, "asum");
        drop(&x);
        drop(&y);
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

/* The element of the symmetric matrix of which `a` has a half that counts. */
static number symmetric(matrix *a, acu_uplo uplo, int i, int j)
{
    bool there = uplo == ACU_UPPER ? i <= j : i >= j;
    return there ? *element(a, i, j) : *element(a, j, i);
}

/* The element of the triangular matrix that `a` stands for. */
static number triangular(matrix *a, acu_uplo uplo, bool unit, int i, int j)
{
    if (i == j)
        return unit ? 1 : *element(a, i, j);
    return (uplo == ACU_UPPER) == (i < j) ? *element(a, i, j) : 0;
}

/* Triangular, and small beside a diagonal of ones. */
static void fill_triangular(matrix *a, acu_device *device, acu_dtype dtype, int order, bool columns)
{
    fill(a, device, dtype, order, order, columns);
    for (int i = 0; i < order; i++)
        for (int j = 0; j < order; j++)
            if (i != j)
                *element(a, i, j) /= 8;
    drop(a);
    a->tensor = upload(device, a);
}

static void gemv_and_ger(acu_device *device, acu_dtype dtype, bool columns)
{
    matrix a, x, y;
    number want[MOST];
    fill(&a, device, dtype, 13, 22, columns);
    fill(&x, device, dtype, 1, 22, false);
    fill(&y, device, dtype, 1, 13, false);
    for (int i = 0; i < 13; i++) {
        want[i] = 0.5 * y.at[i];
        for (int k = 0; k < 22; k++)
            want[i] += 2 * *element(&a, i, k) * x.at[k];
    }
    assert_works(acu_sync(device, acu_blas_gemv(2, view(&a), vector(&x), 0.5, vector(&y)), NULL));
    expect(&y, want, "gemv");
    assert_works(acu_sync(device, acu_blas_ger(-1, vector(&y), vector(&x), view(&a)), NULL));
    for (int i = 0; i < 13; i++)
        for (int k = 0; k < 22; k++)
            *element(&a, i, k) -= want[i] * x.at[k];
    expect(&a, a.at, "ger");
    drop(&a);
    drop(&x);
    drop(&y);
}

/* how: 1 the upper half, 2 by columns */
static void symv_and_syr(acu_device *device, acu_dtype dtype, int how)
{
    enum { N = 9 };
    matrix a, x, y;
    number want[N];
    acu_uplo uplo = how & 1 ? ACU_UPPER : ACU_LOWER;
    fill(&a, device, dtype, N, N, how & 2);
    fill(&x, device, dtype, 1, N, false);
    fill(&y, device, dtype, 1, N, false);
    for (int i = 0; i < N; i++) {
        want[i] = -y.at[i];
        for (int k = 0; k < N; k++)
            want[i] += 2 * symmetric(&a, uplo, i, k) * x.at[k];
    }
    acu_op *product = acu_blas_symv(uplo, 2, view(&a), vector(&x), -1, vector(&y));
    assert_works(acu_sync(device, product, NULL));
    expect(&y, want, "symv");
    assert_works(acu_sync(device, acu_blas_syr(uplo, 0.5, vector(&x), view(&a)), NULL));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (uplo == ACU_UPPER ? i <= j : i >= j)
                *element(&a, i, j) += 0.5 * x.at[i] * x.at[j];
    expect(&a, a.at, "syr");
    drop(&a);
    drop(&x);
    drop(&y);
}

/* how: 4 a unit diagonal, too. What is solved, multiplied, is what it was. */
static void trmv_and_trsv(acu_device *device, acu_dtype dtype, int how)
{
    enum { N = 9 };
    matrix a, x;
    number want[N];
    acu_uplo uplo = how & 1 ? ACU_UPPER : ACU_LOWER;
    bool unit = how & 4;
    fill_triangular(&a, device, dtype, N, how & 2);
    fill(&x, device, dtype, 1, N, false);
    for (int i = 0; i < N; i++) {
        want[i] = 0;
        for (int k = 0; k < N; k++)
            want[i] += triangular(&a, uplo, unit, i, k) * x.at[k];
    }
    assert_works(acu_sync(device, acu_blas_trmv(uplo, unit, view(&a), vector(&x)), NULL));
    expect(&x, want, "trmv");
    assert_works(acu_sync(device, acu_blas_trsv(uplo, unit, view(&a), vector(&x)), NULL));
    expect(&x, x.at, "trsv");
    drop(&a);
    drop(&x);
}

static void matrices_and_vectors(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    for (int w = 0; w < TYPES; w++)
        for (int how = 0; how < 8; how++) {
            if (how < 2)
                gemv_and_ger(device, types[w], how & 1);
            if (how < 4)
                symv_and_syr(device, types[w], how);
            trmv_and_trsv(device, types[w], how);
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
            number *at = element(&c, i, j);
            *at *= beta;
            for (int k = 0; k < 12; k++)
                *at += 2 * *element(&a, i, k) * *element(&b, k, j);
        }
    expect(&c, c.at, "gemm");
    drop(&a);
    drop(&b);
    drop(&c);
}

/* how: 1 the upper half, 2 a by columns, 4 c by columns */
static void syrk(acu_device *device, acu_dtype dtype, int how, bool conjugated)
{
    enum { N = 9, K = 5 };
    matrix a, c;
    acu_uplo uplo = how & 1 ? ACU_UPPER : ACU_LOWER;
    fill(&a, device, dtype, N, K, how & 2);
    fill(&c, device, dtype, N, N, how & 4);
    for (int i = 0; i < N && conjugated; i++) /* which a hermitian one has */
        *element(&c, i, i) = creal(*element(&c, i, i));
    drop(&c);
    c.tensor = upload(device, &c);
    assert_works(acu_sync(device, conjugated ? acu_blas_herk(uplo, 2, view(&a), 1, view(&c))
                                             : acu_blas_syrk(uplo, 2, view(&a), 1, view(&c)),
                          NULL));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < K && (uplo == ACU_UPPER ? i <= j : i >= j); k++) {
                number other = *element(&a, j, k);
                *element(&c, i, j) += 2 * *element(&a, i, k) * (conjugated ? conj(other) : other);
            }
    expect(&c, c.at, conjugated ? "herk" : "syrk");
    drop(&a);
    drop(&c);
}

static void syr2k(acu_device *device, acu_dtype dtype, int how)
{
    enum { N = 8, K = 5 };
    matrix a, b, c;
    acu_uplo uplo = how & 1 ? ACU_UPPER : ACU_LOWER;
    fill(&a, device, dtype, N, K, how & 2);
    fill(&b, device, dtype, N, K, how & 2);
    fill(&c, device, dtype, N, N, how & 4);
    acu_op *op = acu_blas_syr2k(uplo, 0.5, view(&a), view(&b), -1, view(&c));
    assert_works(acu_sync(device, op, NULL));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            number *at = element(&c, i, j), sum = 0;
            for (int k = 0; k < K; k++)
                sum += *element(&a, i, k) * *element(&b, j, k) +
                       *element(&b, i, k) * *element(&a, j, k);
            if (uplo == ACU_UPPER ? i <= j : i >= j)
                *at = 0.5 * sum - *at;
        }
    expect(&c, c.at, "syr2k");
    drop(&a);
    drop(&b);
    drop(&c);
}

/* how: 1 right, 2 the upper half, 4 a by columns, 8 b and c by columns, 16 with beta */
static void symm(acu_device *device, acu_dtype dtype, int how)
{
    enum { M = 6, N = 8 };
    matrix a, b, c;
    acu_side side = how & 1 ? ACU_RIGHT : ACU_LEFT;
    acu_uplo uplo = how & 2 ? ACU_UPPER : ACU_LOWER;
    int order = side == ACU_LEFT ? M : N;
    double beta = how & 16 ? 0.5 : 0;
    fill(&a, device, dtype, order, order, how & 4);
    fill(&b, device, dtype, M, N, how & 8);
    fill(&c, device, dtype, M, N, how & 8);
    acu_op *op = acu_blas_symm(side, uplo, 2, view(&a), view(&b), beta, view(&c));
    assert_works(acu_sync(device, op, NULL));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            number *at = element(&c, i, j);
            *at *= beta;
            for (int k = 0; k < order; k++)
                *at += side == ACU_LEFT ? 2 * symmetric(&a, uplo, i, k) * *element(&b, k, j)
                                        : 2 * *element(&b, i, k) * symmetric(&a, uplo, k, j);
        }
    expect(&c, c.at, "symm");
    drop(&a);
    drop(&b);
    drop(&c);
}

/* t x, or x t, of the triangular matrix. */
static void times(matrix *a, acu_side side, acu_uplo uplo, bool unit, matrix *x, number *to)
{
    int order = side == ACU_LEFT ? x->rows : x->columns;
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->columns; j++) {
            number sum = 0;
            for (int k = 0; k < order; k++)
                sum += side == ACU_LEFT
                           ? triangular(a, uplo, unit, i, k) * *element(x, k, j)
                           : *element(x, i, k) * triangular(a, uplo, unit, k, j);
            to[x->by_columns ? j * x->rows + i : i * x->columns + j] = sum;
        }
}

/* how: 1 right, 2 the upper half, 4 a unit diagonal, 8 a by columns, 16 b by columns. The solution
 * is multiplied with the matrix again. */
static void trmm_and_trsm(acu_device *device, acu_dtype dtype, int how)
{
    enum { M = 6, N = 8 };
    matrix a, b, x;
    number want[MOST];
    acu_side side = how & 1 ? ACU_RIGHT : ACU_LEFT;
    acu_uplo uplo = how & 2 ? ACU_UPPER : ACU_LOWER;
    bool unit = how & 4;
    fill_triangular(&a, device, dtype, side == ACU_LEFT ? M : N, how & 8);
    fill(&b, device, dtype, M, N, how & 16);
    x = b;
    assert_works(acu_sync(device, acu_blas_trsm(side, uplo, unit, 2, view(&a), view(&b)), NULL));
    download(b.tensor, x.at);
    times(&a, side, uplo, unit, &x, want);
    for (int i = 0; i < M * N; i++)
        b.at[i] *= 2;
    near_to(want, b.at, M * N, dtype, "trsm");
    assert_works(acu_sync(device, acu_blas_trmm(side, uplo, unit, 0.5, view(&a), view(&b)), NULL));
    for (int i = 0; i < M * N; i++)
        want[i] *= 0.5;
    expect(&b, want, "trmm");
    drop(&a);
    drop(&b);
}

static void matrices(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    for (int w = 0; w < TYPES; w++) {
        for (int how = 0; how < 8; how++) {
            gemm(device, types[w], how);
            syrk(device, types[w], how, false);
            if (!is_whole(types[w]) || !(how & 2) == !(how & 4))
                syrk(device, types[w], how, true);
            syr2k(device, types[w], how);
        }
        for (int how = 0; how < 32; how++) {
            symm(device, types[w], how);
            trmm_and_trsm(device, types[w], how);
        }
    }
    with_end(device);
}

/* ---- products of different shapes ---- */

enum { GROUP = 8 };

typedef struct products {
    matrix a[GROUP], b[GROUP], c[GROUP];
} products;

static acu_op *grouped(void *user)
{
    products *p = user;
    acu_op *a[GROUP], *b[GROUP], *c[GROUP];
    for (int i = 0; i < GROUP; i++) {
        a[i] = view(&p->a[i]);
        b[i] = view(&p->b[i]);
        c[i] = view(&p->c[i]);
    }
    return acu_blas_gemm_group(2, a, b, 0, c, GROUP);
}

static void fill_group(products *p, acu_device *device, acu_dtype dtype)
{
    for (int i = 0; i < GROUP; i++) {
        fill(&p->a[i], device, dtype, 3 + i, 9 - i, i & 1);
        fill(&p->b[i], device, dtype, 9 - i, 2 + 2 * i, i & 2);
        fill(&p->c[i], device, dtype, 3 + i, 2 + 2 * i, i & 4);
    }
}

static void expect_group(products *p)
{
    for (int i = 0; i < GROUP; i++) {
        matrix *c = &p->c[i];
        for (int row = 0; row < c->rows; row++)
            for (int column = 0; column < c->columns; column++) {
                number sum = 0;
                for (int k = 0; k < p->a[i].columns; k++)
                    sum += 2 * *element(&p->a[i], row, k) * *element(&p->b[i], k, column);
                *element(c, row, column) = sum;
            }
        expect(c, c->at, "grouped");
    }
}

/* With the call for all, and without it. */
static void groups(void **state)
{
    (void)state;
    static products p;
    acu_device *device = open_blas();
    for (int how = 0; how < 4; how++) {
        fill_group(&p, device, how & 1 ? ACU_F64 : ACU_F32);
        if (fake)
            atomic_store(&fake->less, how & 2);
        for (int turn = 0; turn < 4; turn++) /* its lists are made anew each time */
            assert_works(acu_sync(device, grouped(&p), NULL));
        expect_group(&p);
        for (int i = 0; i < GROUP; i++) {
            drop(&p.a[i]);
            drop(&p.b[i]);
            drop(&p.c[i]);
        }
    }
    if (fake)
        atomic_store(&fake->less, false);
    with_end(device);
}

/* Numbers of 2 bytes that begin at any place go one by one. */
static void groups_of_any_alignment(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    acu_tensor *all, *c[2], *wide;
    double have[9];
    assert_works(acu_sync(device, acu_ones(ACU_F16, ACU_SHAPE(4, 4)), &all));
    acu_op *as[2], *bs[2], *cs[2];
    for (int i = 0; i < 2; i++) {
        assert_works(acu_sync(device, acu_zeros(ACU_F16, ACU_SHAPE(3, 3)), &c[i]));
        as[i] = acu_slice(all, ACU_SHAPE(1, 1), ACU_SHAPE(4, 4));
        bs[i] = acu_slice(all, ACU_SHAPE(0, 1), ACU_SHAPE(3, 4));
        cs[i] = acu_value(c[i]);
    }
    assert_works(acu_sync(device, acu_blas_gemm_group(1, as, bs, 0, cs, 2), NULL));
    for (int i = 0; i < 2; i++) {
        assert_works(acu_sync(device, acu_convert(c[i], ACU_F64), &wide));
        with_read(wide, have);
        for (int k = 0; k < 9; k++)
            assert_true(have[k] == 3);
        acu_tensor_release(wide);
        acu_tensor_release(c[i]);
    }
    acu_tensor_release(all);
    with_end(device);
}

static acu_op *group_of(acu_tensor *a, acu_tensor *b, acu_tensor *c)
{
    acu_op *as[] = {acu_value(a), acu_value(a)}, *bs[] = {acu_value(b), acu_value(b)};
    acu_op *cs[] = {acu_value(c), acu_ones(ACU_F32, ACU_SHAPE(4, 4))};
    return acu_blas_gemm_group(1, as, bs, 1, cs, 2);
}

static void groups_are_checked(void **state)
{
    (void)state;
    acu_device *device = open_blas();
    acu_tensor *a, *b, *wide, *half;
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(4, 4)), &a));
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(4, 4)), &b));
    assert_works(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(4, 5)), &wide));
    assert_works(acu_sync(device, acu_ones(ACU_F16, ACU_SHAPE(4, 4)), &half));
    assert_fails(acu_sync(device, group_of(a, b, wide), NULL), ACU_ERR_SHAPE, "c[0]");
    assert_fails(acu_sync(device, group_of(a, half, b), NULL), ACU_ERR_DTYPE, "b[0]");
    assert_fails(acu_sync(device, group_of(a, b, b), NULL), ACU_ERR_INVALID, "overlaps");
    acu_op *none[1] = {acu_value(a)};
    assert_fails(acu_sync(device, acu_blas_gemm_group(1, none, NULL, 0, NULL, 1), NULL),
                 ACU_ERR_INVALID, "lists");
    assert_fails(acu_sync(device, acu_blas_gemm_group(1, none, none, 0, none, 0), NULL),
                 ACU_ERR_LIMIT, "1 to 256");
    acu_op_release(none[0]);
    acu_tensor_release(a);
    acu_tensor_release(b);
    acu_tensor_release(wide);
    acu_tensor_release(half);
    with_end(device);
}

/* The library chooses among its algorithms by how much temporary memory it has. */
static void memory_for_large_matrices(void **state)
{
    (void)state;
    const int side[] = {8, 724, 1500}, of_the_newer[] = {4, 16, 32};
    acu_device *device = open_blas();
    bool newer = acu_device_info_of(device)->compute_major >= 9;
    for (int i = 0; i < 3; i++) {
        acu_tensor *y;
        assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(side[i])), &y));
        acu_op *a = acu_eye(ACU_F32, side[i]), *x = acu_arange(ACU_F32, 0, side[i], 1);
        assert_works(acu_sync(device, acu_blas_gemv(2, a, x, 0, y), NULL));
        if (fake)
            assert_int_equal(atomic_load(&fake->workspace), (newer ? of_the_newer[i] : 4) << 20);
        double have[1500];
        with_read(y, have);
        for (int k = 0; k < side[i]; k++)
            assert_true(have[k] == 2 * k);
        acu_tensor_release(y);
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
    acu_driver_count_calls(true);
    uint64_t before = acu_driver_calls(ACU_CALL_MemAllocFromPoolAsync);
    assert_works(acu_graph_load(device, op, NULL, &graph));
    /* One after the other, the calls share their temporary memory. */
    assert_int_equal(acu_driver_calls(ACU_CALL_MemAllocFromPoolAsync) - before, 1);
    acu_driver_count_calls(false);
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
    acu_op *op = acu_blas_symm(ACU_LEFT, ACU_LOWER, 1, m, acu_transpose(m, 0, 1), 0,
                               acu_ones(ACU_F32, ACU_SHAPE(6, 6)));
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_SHAPE, "both along their columns");
    assert_fails(acu_sync(device, acu_blas_trmv(ACU_LOWER, false, m,
                                                acu_ones(ACU_F32, ACU_SHAPE(5))), NULL),
                 ACU_ERR_SHAPE, "for [n, n] the vector must be [n]");
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
    acu_op *zeros = acu_zeros(ACU_C128, ACU_SHAPE(6));
    assert_works(acu_submit(device, acu_blas_nrm2(zeros), NULL, &future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DRIVER);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DRIVER);
    assert_non_null(strstr(error.message, "cublasDznrm2 answered"));
    acu_future_release(future);
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

TEST_EACH_CALL(use_fake, scaled)

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
    setenv("SOFTCUDA_SM", "90", 0); /* to which memory_for_large_matrices gives more */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(steps_and_small_numbers),
        cmocka_unit_test(matrices_and_vectors),
        cmocka_unit_test(matrices),
        cmocka_unit_test(groups),
        cmocka_unit_test(groups_of_any_alignment),
        cmocka_unit_test(groups_are_checked),
        cmocka_unit_test(memory_for_large_matrices),
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
