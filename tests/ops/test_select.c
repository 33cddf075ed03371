/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Selections, counts and elements put by index: beside loops, in every way, and waiting for a
 * length that the data decides. tests/ops/numpy compares all dtypes and layouts. */
#include "ops/every_way.h"
#include "support/one_device.h"

enum { MANY = 3000 };

static int32_t numbers[MANY];

static acu_tensor *some(acu_shape shape)
{
    for (int i = 0; i < MANY; i++)
        numbers[i] = i * 7919 % 101 - 50;
    return tensor_with(device, ACU_I32, shape, numbers);
}

static void exact_lengths(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(30, 100)), *found = NULL;
    int64_t count = 0, want = 0;
    assert_works(acu_counted_wait(device, acu_masked_select(x, acu_gt(x, 20)), &found, &count));
    int32_t *have = result_of(device, acu_identity(found), ACU_I32, ACU_SHAPE(count));
    for (int i = 0; i < MANY; i++)
        if (numbers[i] > 20)
            assert_true(want < count && have[want++] == numbers[i]);
    assert_int_equal(want, count);
    free(have);
    acu_tensor_release(found);
    assert_works(acu_counted_wait(device, acu_nonzero(acu_gt(x, 49)), &found, NULL));
    acu_shape shape = acu_tensor_shape(found);
    assert_true(shape.rank == 2 && shape.dim[1] == 2);
    acu_tensor_release(found);
    assert_works(acu_counted_wait(device, acu_nonzero(acu_gt(x, 50)), &found, &count)); /* none */
    assert_true(acu_shape_equal(acu_tensor_shape(found), ACU_SHAPE(0, 2)) && count == 0);
    acu_tensor_release(found);
    assert_works(acu_counted_wait(device, acu_unique(x), NULL, &count));
    assert_int_equal(count, 101);
    assert_fails(acu_counted_wait(device, acu_neg(x), &found, &count), ACU_ERR_ARGUMENTS,
                 "a tensor and a count");
    assert_fails(acu_counted_wait(device, acu_masked_select(x, x), &found, &count), ACU_ERR_DTYPE,
                 "mask is bool");
    acu_tensor_release(x);
}

/* Both values can go on at once. */
static void used_at_once(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(MANY));
    acu_op *found[2];
    acu_unzip(acu_masked_select(x, acu_gt(x, 0)), found, 2);
    int64_t *have =
        result_of(device, acu_div(acu_sum(found[0], ACU_ALL), found[1]), ACU_I64, ACU_SHAPE(1));
    int64_t sum = 0, count = 0;
    for (int i = 0; i < MANY; i++)
        if (numbers[i] > 0) {
            sum += numbers[i];
            count++;
        }
    assert_int_equal(have[0], sum / count);
    free(have);
    acu_tensor_release(x);
}

static void put(void **state)
{
    (void)state;
    acu_tensor *x = some(ACU_SHAPE(MANY));
    acu_op *index = acu_convert(acu_mod(x, 3), ACU_I64);
    int32_t *have = result_of(
        device, acu_scatter(ACU_SCATTER_ADD, acu_zeros(ACU_I32, ACU_SHAPE(3)), 0, index, x),
        ACU_I32, ACU_SHAPE(3));
    int32_t want[3] = {0};
    for (int i = 0; i < MANY; i++)
        want[((numbers[i] % 3) + 3) % 3] += numbers[i];
    assert_memory_equal(have, want, sizeof want);
    free(have);
    acu_tensor *out = tensor_with(device, ACU_I32, ACU_SHAPE(4), numbers);
    const int32_t last[] = {1, 2, 3, 4}, places[] = {0, -1, 0, 9};
    acu_op *at = acu_const(ACU_I32, ACU_SHAPE(4), places);
    acu_op *into = acu_const(ACU_I32, ACU_SHAPE(4), last);
    assert_works(
        acu_sync(device, acu_into(out, acu_scatter(ACU_SCATTER_SET, out, 0, at, into)), NULL));
    have = result_of(device, acu_identity(out), ACU_I32, ACU_SHAPE(4));
    assert_true(have[0] == 3 && have[1] == numbers[1] && have[2] == numbers[2] && have[3] == 2);
    free(have);
    at = acu_const(ACU_I32, ACU_SHAPE(4), places);
    assert_fails(acu_sync(device,
                          acu_into(out, acu_scatter(ACU_SCATTER_SET,
                                                    acu_zeros(ACU_I32, ACU_SHAPE(4)), 0, at, out)),
                          NULL),
                 ACU_ERR_SHARED, "over the first operand only");
    acu_tensor_release(out);
    acu_tensor_release(x);
}

static acu_op *way_masked(acu_tensor *const *x)
{
    return acu_masked_select(x[0], acu_gt(x[0], 0));
}
static acu_op *way_nonzero(acu_tensor *const *x)
{
    return acu_nonzero(x[0]);
}
static acu_op *way_unique(acu_tensor *const *x)
{
    return acu_unique(x[0]);
}
static acu_op *way_bincount(acu_tensor *const *x)
{
    return acu_bincount(x[0], 40);
}
static acu_op *way_histogram(acu_tensor *const *x)
{
    return acu_histogram_even(acu_convert(x[0], ACU_F32), 10, -50, 50);
}
static acu_op *way_scatter(acu_tensor *const *x)
{
    acu_op *index = acu_mod(x[0], 7);
    return acu_scatter(ACU_SCATTER_MAX, acu_zeros(ACU_I32, ACU_SHAPE(7)), 0, index, x[0]);
}

static void ways(void **state)
{
    (void)state;
    static const way_fn all[] = {way_masked,   way_nonzero,   way_unique,
                                 way_bincount, way_histogram, way_scatter};
    acu_tensor *x = some(ACU_SHAPE(MANY));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        every_way(device, all[i], &x);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(exact_lengths), DEVICE_TEST(used_at_once),
                                       DEVICE_TEST(put), DEVICE_TEST(ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
