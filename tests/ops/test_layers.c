/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics, layers and distributions in every way, a number read in one call, and what is
 * refused. tests/ops/numpy compares what they compute. */
#include "ops/every_way.h"
#include "support/one_device.h"

enum { ROWS = 12, WIDE = 64 };

static acu_tensor *some(void)
{
    static float numbers[ROWS * WIDE];
    for (int i = 0; i < ROWS * WIDE; i++)
        numbers[i] = (float)(i * 7919 % 101) / 8 - 5;
    return tensor_with(device, ACU_F32, ACU_SHAPE(ROWS, WIDE), numbers);
}

static void numbers_for_the_host(void **state)
{
    (void)state;
    double mean = 0;
    int64_t count = 0;
    acu_tensor *x = some();
    assert_works(acu_read_f64_wait(
        device, acu_mean(acu_full(ACU_SHAPE(3, 5), acu_f32(2.5f)), ACU_ALL), &mean));
    assert_true(mean == 2.5);
    assert_works(acu_read_i64_wait(device, acu_sum(acu_gt(x, 100), ACU_ALL), &count));
    assert_int_equal(count, 0);
    acu_tensor *one;
    assert_works(acu_sync(device, acu_full(ACU_SHAPE(1), acu_i32(-7)), &one));
    assert_works(acu_read_f64_wait(device, one, &mean));
    assert_true(mean == -7);
    acu_tensor_release(one);
    assert_fails(acu_read_f64_wait(device, x, &mean), ACU_ERR_SHAPE, "f32 [12, 64]|one element");
    assert_fails(acu_read_f64_wait(device, (acu_op *)NULL, &mean), ACU_ERR_INVALID, "NULL");
    acu_tensor_release(x);
}

/* A result may go over its operand. */
static void over_operands(void **state)
{
    (void)state;
    acu_tensor *x = some();
    float *want = result_of(device, acu_layer_norm(x, 2, 1, 1e-5), ACU_F32, ACU_SHAPE(ROWS, WIDE));
    assert_works(acu_sync(device, acu_into(x, acu_layer_norm(x, 2, 1, 1e-5)), NULL));
    float *have = result_of(device, acu_identity(x), ACU_F32, ACU_SHAPE(ROWS, WIDE));
    assert_memory_equal(have, want, ROWS * WIDE * sizeof *want);
    free(have);
    free(want);
    acu_tensor_release(x);
}

static acu_op *way_var(acu_tensor *const *x)
{
    return acu_var(x[0], ACU_DIMS(1), 1);
}
static acu_op *way_sum_exp(acu_tensor *const *x)
{
    return acu_logsumexp(x[0], ACU_KEEP(0));
}
static acu_op *way_norm(acu_tensor *const *x)
{
    return acu_layer_norm(x[0], 2, 0.5, 1e-5);
}
static acu_op *way_rms(acu_tensor *const *x)
{
    return acu_rms_norm(x[0], acu_ones(ACU_F32, ACU_SHAPE(WIDE)), 1e-5);
}
static acu_op *way_loss(acu_tensor *const *x)
{
    return acu_cross_entropy(x[0], acu_randint(ACU_I32, ACU_SHAPE(ROWS), 0, WIDE, 1, 0));
}
static acu_op *way_rotary(acu_tensor *const *x)
{
    return acu_rotary(x[0], acu_ones(ACU_F32, ACU_SHAPE(ROWS, WIDE / 2)),
                      acu_zeros(ACU_F32, ACU_SHAPE(ROWS, WIDE / 2)));
}
static acu_op *way_poisson(acu_tensor *const *x)
{
    (void)x;
    return acu_poisson(ACU_SHAPE(100), 3.5, 1, 0);
}
static acu_op *way_multinomial(acu_tensor *const *x)
{
    return acu_multinomial(acu_abs(acu_select(x[0], 0, 1)), 100, 2, 0);
}

static acu_op *way_einsum(acu_tensor *const *x)
{
    return acu_einsum("ij,kj->ki", x[0], x[0]);
}
static acu_op *way_outer(acu_tensor *const *x)
{
    return acu_outer(acu_select(x[0], 0, 1), acu_select(x[0], 1, 1));
}

static acu_op *way_by_key(acu_tensor *const *x)
{
    acu_op *keys = acu_randint(ACU_I32, ACU_SHAPE(ROWS, WIDE), 0, 3, 1, 0);
    return acu_reduce_by_key(ACU_SCATTER_ADD, x[0], keys, 3);
}
static acu_op *way_segments(acu_tensor *const *x)
{
    return acu_reduce_segments(ACU_SCATTER_MAX, acu_select(x[0], 0, 1),
                               acu_arange(ACU_I32, 0, WIDE, 3));
}
static acu_op *way_mean(acu_tensor *const *x)
{
    return acu_mean(acu_convert(x[0], ACU_I32), ACU_DIMS(1));
}

static void ways(void **state)
{
    (void)state;
    static const way_fn all[] = {way_var,    way_sum_exp, way_norm,        way_rms,    way_loss,
                                 way_rotary, way_poisson, way_multinomial, way_einsum, way_outer,
                                 way_by_key, way_segments, way_mean};
    acu_tensor *x = some();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        every_way(device, all[i], &x);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(numbers_for_the_host),
                                       DEVICE_TEST(over_operands), DEVICE_TEST(ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
