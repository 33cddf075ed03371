/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sorting, scans and elements by index: beside loops, in every way, and what is refused.
 * tests/ops/numpy compares all dtypes and layouts. */
#include "ops/every_way.h"
#include "support/one_device.h"

enum { MANY = 5000 };

static float numbers[MANY];

/* Each value several times. */
static acu_tensor *some(acu_shape shape)
{
    for (int i = 0; i < MANY; i++)
        numbers[i] = (float)(i * 7919 % 1013) - 300;
    return tensor_with(device, ACU_F32, shape, numbers);
}

static void sorted_and_stable(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(MANY));
    float *have = result_of(device, acu_sort(x, 0, ACU_ASCENDING), ACU_F32, ACU_SHAPE(MANY));
    int64_t *at = result_of(device, acu_argsort(x, 0, ACU_DESCENDING), ACU_I64, ACU_SHAPE(MANY));
    for (int i = 1; i < MANY; i++) {
        assert_true(have[i - 1] <= have[i]);
        float a = numbers[at[i - 1]], b = numbers[at[i]];
        assert_true(a > b || (a == b && at[i - 1] < at[i]));
    }
    free(at);
    at = result_of(device, acu_searchsorted(acu_sort(x, 0, ACU_ASCENDING), x, false), ACU_I64,
                   ACU_SHAPE(MANY));
    for (int i = 0; i < MANY; i++)
        assert_true(have[at[i]] == numbers[i] && (at[i] == 0 || have[at[i] - 1] < numbers[i]));
    free(at);
    free(have);
    acu_op *both[2];
    acu_unzip(acu_topk(x, 3, -1, ACU_DESCENDING), both, 2);
    acu_op_release(both[0]);
    at = result_of(device, both[1], ACU_I64, ACU_SHAPE(3));
    for (int i = 0; i < MANY; i++)
        assert_true(numbers[i] <= numbers[at[0]]);
    free(at);
    acu_tensor_release(x);
}

/* Rows of several tiles, or parts of one; many elements or digits are equal, or none. */
static void long_rows(void **state)
{
    (void)state;
    enum { ROWS = 3, LONGEST = 3 * 8192 };
    static uint32_t of[ROWS * LONGEST];
    static const int64_t lengths[] = {2049, 5631, 5632, 5633, 8191, 8192, 8193, LONGEST - 1,
                                      LONGEST};
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
        for (int few = 0; few < 3; few++) {
            const int64_t length = lengths[n];
            for (int64_t i = 0; i < ROWS * length; i++)
                of[i] = few ? (uint32_t)i * 2654435761u >> (few == 1 ? 0 : 31) : 5;
            const acu_shape shape = ACU_SHAPE(ROWS, length);
            acu_tensor *x = tensor_with(device, ACU_U32, shape, of);
            uint32_t *have = result_of(device, acu_sort(x, 1, ACU_ASCENDING), ACU_U32, shape);
            int64_t *at = result_of(device, acu_argsort(x, 1, ACU_DESCENDING), ACU_I64, shape);
            for (int64_t i = 0; i < ROWS * length; i++) {
                const int64_t row = i / length * length;
                assert_true(at[i] >= 0 && at[i] < length);
                assert_int_equal(of[row + at[i]], have[row + length - 1 - (i - row)]);
                const uint32_t last = i > row ? of[row + at[i - 1]] : UINT32_MAX;
                assert_true(of[row + at[i]] <= last);
                if (i > row && of[row + at[i]] == last)
                    assert_true(at[i - 1] < at[i]); /* so no place comes twice */
            }
            free(have);
            free(at);
            acu_tensor_release(x);
        }
}

static void scanned(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(MANY));
    float *have = result_of(device, acu_cumsum(x, 0), ACU_F32, ACU_SHAPE(MANY));
    double sum = 0;
    for (int i = 0; i < MANY; i++) {
        sum += (double)numbers[i];
        assert_true(have[i] == (float)sum);
    }
    free(have);
    assert_works(acu_sync(device, acu_into(x, acu_cummax(x, -1)), NULL)); /* over its operand */
    have = result_of(device, acu_identity(x), ACU_F32, ACU_SHAPE(MANY));
    float most = numbers[0];
    for (int i = 0; i < MANY; i++) {
        most = numbers[i] > most ? numbers[i] : most;
        assert_true(have[i] == most);
    }
    free(have);
    acu_tensor_release(x);
}

/* More tiles than a group of groups has. */
static void scanned_far(void **state)
{
    (void)state;
    const int64_t n = 1100 * 4096 + 5;
    unsigned char *of = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++)
        of[i] = (unsigned char)(i * 7919 % 251);
    acu_tensor *x = tensor_with(device, ACU_U8, ACU_SHAPE(n), of);
    uint64_t *have = result_of(device, acu_cumsum(x, 0), ACU_U64, ACU_SHAPE(n)), sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += of[i];
        assert_int_equal(have[i], sum);
    }
    free(have);
    free(of);
    acu_tensor_release(x);
}

static void refused(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(5, 10));
    assert_fails(acu_sync(device, acu_into(x, acu_sort(x, 0, ACU_ASCENDING)), NULL), ACU_ERR_SHARED,
                 "sort can not overwrite its operand 0");
    assert_fails(acu_sync(device, acu_into(x, acu_cumsum(x, 2)), NULL), ACU_ERR_SHAPE,
                 "cumsum along dimension 2|there is none");
    assert_fails(acu_sync(device, acu_topk((acu_op *)NULL, 1, 0, ACU_ASCENDING), NULL),
                 ACU_ERR_INVALID, "NULL");
    acu_op *many = acu_broadcast_to(acu_zeros(ACU_U8, ACU_SHAPE(1)), ACU_SHAPE((int64_t)1 << 31));
    assert_fails(acu_sync(device, acu_sort(many, 0, ACU_ASCENDING), NULL), ACU_ERR_LIMIT,
                 "u8 [2147483648]|at most 2^31 - 1");
    acu_tensor_release(x);
}

static acu_op *way_sort(acu_tensor *const *x)
{
    return acu_sort(x[0], 0, ACU_ASCENDING);
}
static acu_op *way_sort_short(acu_tensor *const *x)
{
    return acu_sort(acu_reshape(x[0], ACU_SHAPE(MANY / 50, 50)), 1, ACU_DESCENDING);
}
static acu_op *way_topk(acu_tensor *const *x)
{
    return acu_topk(x[0], 7, 0, ACU_DESCENDING);
}
static acu_op *way_median(acu_tensor *const *x)
{
    return acu_median(acu_reshape(x[0], ACU_SHAPE(MANY / 50, 50)), 0);
}
static acu_op *way_scan(acu_tensor *const *x)
{
    return acu_cumsum(acu_concat(0, x[0], x[0], x[0], x[0]), 0); /* in chunks */
}
static acu_op *way_rows(acu_tensor *const *x)
{
    acu_op *index = acu_argsort(acu_slice(x[0], ACU_SHAPE(0), ACU_SHAPE(50)), 0, ACU_ASCENDING);
    return acu_index_select(acu_reshape(x[0], ACU_SHAPE(50, MANY / 50)), 0, index);
}

static void ways(void **state)
{
    (void)state;
    static const way_fn all[] = {way_sort,   way_sort_short, way_topk,
                                 way_median, way_scan,       way_rows};
    acu_tensor *x = some(ACU_SHAPE(MANY));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        every_way(device, all[i], &x);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(sorted_and_stable), DEVICE_TEST(long_rows),
                                       DEVICE_TEST(scanned),           DEVICE_TEST(scanned_far),
                                       DEVICE_TEST(refused),           DEVICE_TEST(ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
