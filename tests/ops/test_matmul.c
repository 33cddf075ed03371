/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products of matrices and softmax, against double. */
#include "ops/elements.h"

static test_random numbers = {.state = 8};
static const acu_dtype dtypes[] = {ACU_F32, ACU_F64, ACU_F16, ACU_BF16};

static void *random_reals(acu_dtype dtype, size_t count, double scale)
{
    void *memory = calloc(count, acu_dtype_bytes(dtype));
    for (size_t i = 0; i < count; i++) {
        double x = ((double)(test_next(&numbers) >> 11) * 0x1p-53 - 0.5) * scale;
        if (dtype == ACU_TF32) /* which has these digits: whether others are cut off is open */
            x = rint(x * 0x1p10) * 0x1p-10;
        put_real(dtype, memory, i, x);
    }
    return memory;
}

/* ---- matmul ---------------------------------------------------------------------------------- */

typedef struct matrices {
    int64_t batch, a_batch, m, k, n; /* a_batch: 1 or batch */
    bool a_turned, b_turned;         /* they are stored transposed */
} matrices;

static void one_product(acu_device *device, acu_dtype dtype, const matrices *x)
{
    size_t a_size = (size_t)(x->m * x->k), b_size = (size_t)(x->k * x->n);
    void *a = random_reals(dtype, (size_t)x->a_batch * a_size, 2);
    void *b = random_reals(dtype, (size_t)x->batch * b_size, 2);
    acu_shape a_shape = x->a_turned ? ACU_SHAPE(x->a_batch, x->k, x->m)
                                    : ACU_SHAPE(x->a_batch, x->m, x->k);
    acu_shape b_shape = x->b_turned ? ACU_SHAPE(x->batch, x->n, x->k)
                                    : ACU_SHAPE(x->batch, x->k, x->n);
    acu_tensor *ta = tensor_with(device, dtype, a_shape, a),
               *tb = tensor_with(device, dtype, b_shape, b);
    acu_op *left = x->a_turned ? acu_transpose(ta, 1, 2) : acu_value(ta);
    acu_op *right = x->b_turned ? acu_transpose(tb, 1, 2) : acu_value(tb);
    acu_shape shape = ACU_SHAPE(x->batch, x->m, x->n);
    void *have = result_of(device, acu_matmul(left, right), dtype, shape);
    for (int64_t i = 0; i < x->batch; i++)
        for (int64_t r = 0; r < x->m; r++)
            for (int64_t c = 0; c < x->n; c++) {
                double want = 0, size = 0;
                for (int64_t k = 0; k < x->k; k++) {
                    size_t ai = (size_t)(x->a_batch > 1 ? i : 0) * a_size +
                                (size_t)(x->a_turned ? k * x->m + r : r * x->k + k);
                    size_t bi = (size_t)i * b_size +
                                (size_t)(x->b_turned ? c * x->k + k : k * x->n + c);
                    double term = real_at(dtype, a, ai) * real_at(dtype, b, bi);
                    want += term;
                    size += fabs(term);
                }
                double got = real_at(dtype, have, (size_t)((i * x->m + r) * x->n + c));
                double near = dtype == ACU_F64 ? size * 1e-14 : size * 1e-6;
                if (dtype == ACU_F16 || dtype == ACU_BF16)
                    near += 0.51 * unit_at(dtype, want);
                if (!(fabs(got - want) <= near))
                    fail_msg("%s %lldx%lldx%lld: (%lld, %lld, %lld) is %.17g, not %.17g",
                             acu_dtype_name(dtype), (long long)x->m, (long long)x->k,
                             (long long)x->n, (long long)i, (long long)r, (long long)c, got, want);
            }
    free(have);
    free(a);
    free(b);
    acu_tensor_release(ta);
    acu_tensor_release(tb);
}

/* Operands of tensor cores that begin at no multiple of 16 bytes, and a result with gaps. */
static void products_of_parts(void **state)
{
    (void)state;
    acu_device *device = test_open();
    enum { M = 80, K = 56, N = 104 };
    const acu_shape from = ACU_SHAPE(0, 3), wide = ACU_SHAPE(M, 2 * N);
    acu_tensor *a, *b, *c;
    acu_op *whole[] = {acu_randint(ACU_I32, ACU_SHAPE(M, 64), -3, 4, 1, 0),
                       acu_randint(ACU_I32, ACU_SHAPE(K, 112), -3, 4, 2, 0)}; /* exact sums */
    assert_works(acu_sync(device, acu_convert(whole[0], ACU_F16), &a));
    assert_works(acu_sync(device, acu_convert(whole[1], ACU_F16), &b));
    assert_works(acu_sync(device, acu_zeros(ACU_F16, wide), &c));
    acu_op *parts[4];
    for (int i = 0; i < 4; i += 2) {
        parts[i] = acu_slice(a, from, ACU_SHAPE(M, 3 + K));
        parts[i + 1] = acu_slice(b, from, ACU_SHAPE(K, 3 + N));
    }
    uint16_t *want = result_of(device, acu_matmul(acu_dup(parts[0]), acu_dup(parts[1])), ACU_F16,
                               ACU_SHAPE(M, N));
    acu_op *gaps = acu_slice_step(c, ACU_SHAPE(0, 1), wide, ACU_SHAPE(1, 2));
    assert_works(acu_sync(device, acu_into(gaps, acu_matmul(parts[2], parts[3])), NULL));
    uint16_t *have = result_of(device, acu_identity(c), ACU_F16, wide);
    for (int i = 0; i < M * N; i++)
        if (have[2 * i] != 0 || have[2 * i + 1] != want[i])
            fail_msg("element %d", i);
    free(have);
    free(want);
    acu_tensor_release(a);
    acu_tensor_release(b);
    acu_tensor_release(c);
    test_close(device);
}

static void products(void **state)
{
    (void)state;
    acu_device *device = test_open();
    static const matrices cases[] = {
        {1, 1, 1, 1, 1, false, false},     {1, 1, 5, 7, 3, false, false},
        {3, 3, 33, 17, 31, false, true},   {2, 1, 20, 40, 65, true, false},
        {1, 1, 130, 70, 129, false, false}, {1, 1, 129, 33, 140, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            one_product(device, dtypes[d], &cases[i]);
    test_close(device);
    test_leaks_none();
}

/* Operands in all four orders, of one strip and of more than are on their way, in one tile and in
 * several, of which the last ones are cut off on both sides. */
static void products_by_tensor_cores(void **state)
{
    (void)state;
    acu_device *device = test_open();
    static const acu_dtype wide_and_small[] = {ACU_F16, ACU_BF16, ACU_TF32};
    static const matrices cases[] = {
        {1, 1, 137, 40, 72, false, false}, {2, 1, 64, 136, 136, false, true},
        {1, 1, 72, 33, 136, true, false},  {1, 1, 136, 104, 65, true, true},
        {1, 1, 136, 168, 264, false, true}, {1, 1, 144, 100, 64, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t d = 0; d < sizeof wide_and_small / sizeof *wide_and_small; d++)
            one_product(device, wide_and_small[d], &cases[i]);
    test_close(device);
    test_leaks_none();
}

/* A product with vectors has the elements of the product of matrices of one row or column: to the
 * last bit, since these numbers are small and whole, whichever library computes it. */
static void one_with_vectors(acu_device *d, acu_tensor *const x[2], acu_shape a, acu_shape b,
                             acu_shape result)
{
    acu_op *product = acu_matmul(acu_reshape(x[0], a), acu_reshape(x[1], b));
    acu_tensor *into = NULL, *every = NULL;
    size_t bytes = (size_t)acu_shape_elements(result) * 8;
    double *want = result_of(d, acu_reshape(product, result), ACU_F64, result);
    double *have = result_of(d, acu_matmul(x[0], x[1]), ACU_F64, result), memory[64];
    assert_memory_equal(have, want, bytes);
    acu_shape twice = result; /* into a tensor with gaps */
    twice.dim[twice.rank++] = 2;
    assert_works(acu_tensor_alloc(d, ACU_F64, twice, &every));
    acu_shape from = {.rank = twice.rank}, to = twice;
    to.dim[result.rank] = 1;
    acu_op *gaps = acu_reshape(acu_slice(every, from, to), result);
    assert_works(acu_sync(d, gaps, &into));
    assert_works(acu_sync(d, acu_into(into, acu_matmul(x[0], x[1])), NULL));
    assert_works(acu_read_sync(into, memory, bytes));
    assert_memory_equal(memory, want, bytes);
    acu_tensor_release(into);
    acu_tensor_release(every);
    free(want);
    free(have);
}

static void products_with_vectors(void **state)
{
    (void)state;
    acu_device *d = test_open();
    double *numbers_a = random_reals(ACU_F64, 2 * 3 * 4, 2);
    for (int i = 0; i < 2 * 3 * 4; i++)
        numbers_a[i] = rint(8 * numbers_a[i]);
    acu_tensor *batch = tensor_with(d, ACU_F64, ACU_SHAPE(2, 3, 4), numbers_a);
    acu_tensor *turned = tensor_with(d, ACU_F64, ACU_SHAPE(2, 4, 3), numbers_a);
    acu_tensor *v = tensor_with(d, ACU_F64, ACU_SHAPE(4), numbers_a + 7), *m = NULL, *n = NULL;
    assert_works(acu_sync(d, acu_reshape(batch, ACU_SHAPE(6, 4)), &m));
    assert_works(acu_sync(d, acu_reshape(turned, ACU_SHAPE(4, 6)), &n));
    one_with_vectors(d, (acu_tensor *[]){v, v}, ACU_SHAPE(1, 4), ACU_SHAPE(4, 1), ACU_SHAPE(1));
    one_with_vectors(d, (acu_tensor *[]){m, v}, ACU_SHAPE(6, 4), ACU_SHAPE(4, 1), ACU_SHAPE(6));
    one_with_vectors(d, (acu_tensor *[]){v, n}, ACU_SHAPE(1, 4), ACU_SHAPE(4, 6), ACU_SHAPE(6));
    one_with_vectors(d, (acu_tensor *[]){batch, v}, ACU_SHAPE(2, 3, 4), ACU_SHAPE(4, 1),
                     ACU_SHAPE(2, 3));
    one_with_vectors(d, (acu_tensor *[]){v, turned}, ACU_SHAPE(1, 4), ACU_SHAPE(2, 4, 3),
                     ACU_SHAPE(2, 3));
    double *dot = result_of(d, acu_matmul(v, v), ACU_F64, ACU_SHAPE(1)), want = 0;
    for (int i = 7; i < 11; i++)
        want += numbers_a[i] * numbers_a[i];
    assert_true(fabs(*dot - want) < 1e-15 * 8);
    assert_fails(acu_sync(d, acu_matmul(n, v), NULL), ACU_ERR_SHAPE,
                 "f64 [4, 6]|f64 [4]|the last dimensions must be equal");
    assert_fails(acu_sync(d, acu_into(n, acu_matmul(m, v)), NULL), ACU_ERR_SHAPE, "[6]");
    free(dot);
    free(numbers_a);
    acu_tensor_release(batch);
    acu_tensor_release(turned);
    acu_tensor_release(v);
    acu_tensor_release(m);
    acu_tensor_release(n);
    test_close(d);
    test_leaks_none();
}

static void products_refused(void **state)
{
    (void)state;
    acu_device *d = test_open();
    float zeros[12] = {0};
    acu_tensor *a = tensor_with(d, ACU_F32, ACU_SHAPE(3, 4), zeros),
               *b = tensor_with(d, ACU_F32, ACU_SHAPE(4, 3), zeros);
    acu_tensor *c = tensor_with(d, ACU_I32, ACU_SHAPE(4, 3), zeros),
               *s = tensor_with(d, ACU_F32, ACU_SHAPE(3, 3), zeros);
    assert_fails(acu_sync(d, acu_matmul(a, a), NULL), ACU_ERR_SHAPE, "matmul|f32 [3, 4]");
    assert_fails(acu_sync(d, acu_matmul(a, c), NULL), ACU_ERR_DTYPE, "f32 [3, 4]|i32 [4, 3]");
    assert_fails(acu_sync(d, acu_into(s, acu_matmul(s, s)), NULL), ACU_ERR_SHARED, "operand 0");
    assert_fails(acu_sync(d, acu_matmul(acu_value(a), acu_scalar(acu_f32(1))), NULL),
                 ACU_ERR_INVALID, "scalar");
    assert_works(acu_sync(d, acu_into(s, acu_matmul(a, b)), NULL));
    acu_tensor_release(a);
    acu_tensor_release(b);
    acu_tensor_release(c);
    acu_tensor_release(s);
    test_close(d);
    test_leaks_none();
}

/* ---- softmax --------------------------------------------------------------------------------- */

static void one_softmax(acu_device *device, acu_dtype dtype, acu_shape shape, int dimension,
                        bool log)
{
    size_t count = (size_t)acu_shape_elements(shape);
    void *x = random_reals(dtype, count, 60);
    acu_tensor *t = tensor_with(device, dtype, shape, x);
    void *have = result_of(device, acu_op_softmax(acu_value(t), dimension, log, ACU_SITE), dtype,
                           shape);
    int d = dimension < 0 ? dimension + shape.rank : dimension;
    size_t inner = 1, n = (size_t)shape.dim[d];
    for (int i = d + 1; i < shape.rank; i++)
        inner *= (size_t)shape.dim[i];
    for (size_t o = 0; o < count / n; o++) {
        size_t first = o / inner * inner * n + o % inner;
        double most = -INFINITY, sum = 0;
        for (size_t i = 0; i < n; i++)
            most = fmax(most, real_at(dtype, x, first + i * inner));
        for (size_t i = 0; i < n; i++)
            sum += exp(real_at(dtype, x, first + i * inner) - most);
        for (size_t i = 0; i < n; i++) {
            double v = real_at(dtype, x, first + i * inner) - most,
                   want = log ? v - log1p(sum - 1) : exp(v) / sum;
            double got = real_at(dtype, have, first + i * inner);
            double near = dtype == ACU_F64 ? 1e-14
                                           : 4e-7 + fabs(v) * 0x1p-24; /* x - max is rounded */
            near = near * fmax(fabs(want), log ? 1 : 0) + 0.51 * unit_at(dtype, want);
            if (!(fabs(got - want) <= near))
                fail_msg("softmax of %s: %.17g, not %.17g", acu_dtype_name(dtype), got, want);
        }
    }
    free(have);
    free(x);
    acu_tensor_release(t);
}

/* Four rows of n numbers: with -inf, with NaN, with inf, all -inf. They are every `step`-th element
 * of the memory, from `first` on. */
static void special_softmax(acu_device *device, int n, int first, int step)
{
    const int ten = 10, twenty = n - 20; /* where the values are */
    const int64_t count = (int64_t)4 * n * step;
    float *x = malloc(((size_t)count + 1) * sizeof *x);
    for (int64_t i = 0; i <= count; i++)
        x[i] = -INFINITY;
    for (int row = 0; row < 3; row++) {
        x[first + (row * n + ten) * step] = 3;
        x[first + (row * n + twenty) * step] = row == 0 ? -INFINITY : row == 1 ? NAN : INFINITY;
    }
    acu_tensor *t = tensor_with(device, ACU_F32, ACU_SHAPE(count + 1), x), *part = NULL,
               *rows = NULL;
    assert_works(acu_tensor_slice(t, (const int64_t[]){first}, (const int64_t[]){first + count},
                                  &part));
    assert_works(acu_tensor_reshape(part, ACU_SHAPE(4, n, step), &rows));
    float *y = result_of(device, acu_softmax(rows, 1), ACU_F32, ACU_SHAPE(4, n, step));
    for (int i = 0; i < n; i++)
        assert_true(y[i * step] == (i == ten ? 1 : 0));
    for (int i = n; i < 4 * n; i++)
        assert_true(isnan(y[i * step]));
    assert_works(acu_sync(device, acu_into(rows, acu_softmax(rows, 1)), NULL)); /* in place */
    assert_works(acu_read_sync(part, x, (size_t)count * sizeof *x));
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
    free(x);
    free(y);
    acu_tensor_release(rows);
    acu_tensor_release(part);
    acu_tensor_release(t);
}

static void softmaxes(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int log = 0; log < 2; log++) {
            one_softmax(device, dtypes[d], ACU_SHAPE(5, 1000), -1, log);
            one_softmax(device, dtypes[d], ACU_SHAPE(5, 1001), -1, log); /* not in vectors */
            one_softmax(device, dtypes[d], ACU_SHAPE(2, 4096), -1, log);
            one_softmax(device, dtypes[d], ACU_SHAPE(9), 0, log);
            one_softmax(device, dtypes[d], ACU_SHAPE(7, 6, 30), 1, log);
            one_softmax(device, dtypes[d], ACU_SHAPE(3, 4, 4200), 0, log);
        }
    one_softmax(device, ACU_F16, ACU_SHAPE(1, 16384), -1, false); /* the longest in registers */
    one_softmax(device, ACU_F32, ACU_SHAPE(1, 16388), -1, false); /* by two groups */
    one_softmax(device, ACU_F64, ACU_SHAPE(2, 33001), -1, true);
    one_softmax(device, ACU_BF16, ACU_SHAPE(30000, 2), 0, false);
    one_softmax(device, ACU_F32, ACU_SHAPE(3, 7, 8), -1, false);
    for (int i = 0; i < 8; i++) /* read in vectors or not, strided or not, by one group or
                                 * several */
        special_softmax(device, i & 4 ? 17000 : 64, i & 1, i & 2 ? 2 : 1);
    float x[6] = {0};
    acu_tensor *t = tensor_with(device, ACU_F32, ACU_SHAPE(2, 3), x);
    assert_works(acu_sync(device, acu_into(t, acu_softmax(t, 1)), NULL)); /* in place */
    assert_works(acu_read_sync(t, x, sizeof x));
    assert_true(x[0] == 1.0f / 3);
    assert_fails(acu_sync(device, acu_softmax(t, 2), NULL), ACU_ERR_SHAPE,
                 "dimension 2|f32 [2, 3]");
    acu_tensor_release(t);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products), cmocka_unit_test(products_by_tensor_cores),
        cmocka_unit_test(products_of_parts),
        cmocka_unit_test(products_with_vectors),
        cmocka_unit_test(products_refused),
        cmocka_unit_test(softmaxes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
