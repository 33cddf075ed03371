/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Softmax and its logarithm of rows with masked elements, as attention has them: large negative
 * numbers, infinities and NaN, against double; in every dtype, on every way through the
 * kernels.
 */
#include "ops/elements.h"

#include <float.h>

enum { PATTERNS = 12 };

static double most_of(acu_dtype dtype)
{
    return dtype == ACU_F16 ? 65504 : dtype == ACU_BF16 ? 0x1.fep127 : dtype == ACU_F64 ? DBL_MAX
                                                                     : (double)FLT_MAX;
}

/* Element i of n in a row of the pattern. */
static double masked(int pattern, int64_t i, int64_t n, acu_dtype dtype)
{
    double plain = (double)(i * 7 % 13) - 6, least = -most_of(dtype);
    switch (pattern) {
    case 0: /* all are masked, by a number below the logarithm of the smallest double */
        return -10000;
    case 1:
        return i < n / 2 ? -10000 : plain;
    case 2:
        return i < n / 2 ? plain : -10000;
    case 3: /* all but one, which is the last one */
        return i < n - 1 ? least : plain;
    case 4:
        return i < n / 2 ? -INFINITY : i % 3 ? least : plain;
    case 5: /* the largest grows all the time */
        return -1e4 + (double)(i * 10000 / n);
    case 6:
        return least;
    case 7:
        return i % 2 ? least : -least;
    case 8:
        return -INFINITY;
    case 9:
        return i == n / 3 ? (double)NAN : -10000;
    case 10:
        return i == n / 3 ? (double)INFINITY : -10000;
    default:
        return i < n / 2 ? -710 : i == n / 2 ? (double)NAN : -INFINITY;
    }
}

/* As the dtype holds it. */
static double rounded(acu_dtype dtype, double value)
{
    char memory[8];
    put_real(dtype, memory, 0, value);
    return real_at(dtype, memory, 0);
}

typedef struct row {
    acu_dtype dtype;
    int pattern;
    int64_t n;
    size_t first, step; /* where its elements are */
} row;

static void check_row(const row *r, const void *x, const void *have, bool log)
{
    double most = -INFINITY, sum;
    long double powers = 0;
    for (int64_t i = 0; i < r->n; i++)
        most = fmax(most, real_at(r->dtype, x, r->first + (size_t)i * r->step));
    for (int64_t i = 0; i < r->n; i++)
        powers += exp(real_at(r->dtype, x, r->first + (size_t)i * r->step) - most);
    sum = (double)powers;
    for (int64_t i = 0; i < r->n; i++) {
        size_t at = r->first + (size_t)i * r->step;
        double less = real_at(r->dtype, x, at) - most, got = real_at(r->dtype, have, at);
        double want = rounded(r->dtype, log ? less - log1p(sum - 1) : exp(less) / sum);
        double near = r->dtype == ACU_F64 ? 2e-14 : 4e-7 + fmin(fabs(less), 1e5) * 0x1p-24;
        near = near * fmax(fabs(want), log ? 1 : 0) + 1.01 * unit_at(r->dtype, want);
        bool same = isfinite(want) ? fabs(got - want) <= near : isnan(want) ? isnan(got)
                                                                            : got == want;
        if (!same)
            fail_msg("%s, %s, pattern %d: element %lld of %lld is %.17g, not %.17g",
                     log ? "log_softmax" : "softmax", acu_dtype_name(r->dtype), r->pattern,
                     (long long)i, (long long)r->n, got, want);
    }
}

/* Rows of n elements, one of each pattern from `first` on: along the last dimension, or, with a
 * step, along the one before it. `skip` elements in front take the rows away from whole vectors. */
static void one(acu_device *device, acu_dtype dtype, int64_t n, int64_t step, int64_t skip)
{
    const int64_t count = PATTERNS * n * step;
    char *x = calloc((size_t)(skip + count), acu_dtype_bytes(dtype));
    for (int64_t i = 0; i < count; i++)
        put_real(dtype, x, (size_t)(skip + i),
                 masked((int)(i / (n * step)), i / step % n, n, dtype));
    acu_tensor *all = tensor_with(device, dtype, ACU_SHAPE(skip + count), x), *part = NULL;
    acu_tensor *rows = NULL;
    assert_works(acu_tensor_slice(all, (const int64_t[]){skip}, (const int64_t[]){skip + count},
                                  &part));
    assert_works(acu_tensor_reshape(part, ACU_SHAPE(PATTERNS, n, step), &rows));
    for (int log = 0; log < 2; log++) {
        char *have = result_of(device, acu_op_softmax(acu_value(rows), 1, log, ACU_SITE), dtype,
                               ACU_SHAPE(PATTERNS, n, step));
        for (int64_t k = 0; k < PATTERNS * step; k++) {
            row r = {dtype, (int)(k / step), n, (size_t)(k / step * n * step + k % step),
                     (size_t)step};
            check_row(&r, x + (size_t)skip * acu_dtype_bytes(dtype), have, log);
        }
        free(have);
    }
    free(x);
    acu_tensor_release(rows);
    acu_tensor_release(part);
    acu_tensor_release(all);
}

static void rows_with_masks(void **state)
{
    static const acu_dtype dtypes[] = {ACU_F32, ACU_F64, ACU_F16, ACU_BF16};
    (void)state;
    acu_device *device = test_open();
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        one(device, dtypes[d], 64, 1, 0);   /* in registers, by part of a warp */
        one(device, dtypes[d], 1024, 1, 0); /* in registers, by several warps */
        one(device, dtypes[d], 64, 1, 1);   /* not at whole vectors */
        one(device, dtypes[d], 3, 1, 0);    /* by one thread */
        one(device, dtypes[d], 77, 1, 0);   /* by a warp */
        one(device, dtypes[d], 1001, 1, 0); /* by a block */
        one(device, dtypes[d], 64, 3, 0);   /* columns */
        one(device, dtypes[d], 5, 700, 0);  /* many columns: a thread for each */
    }
    one(device, ACU_F32, 16388, 1, 0); /* by several blocks */
    one(device, ACU_F64, 16388, 1, 0);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_with_masks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
