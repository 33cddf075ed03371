/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Convolution, pooling and interpolation in every way, and the same bits by both kernels of
 * convolution. tests/ops/numpy compares what they compute. */
#include "ops/every_way.h"
#include "support/one_device.h"

static acu_tensor *numbers(acu_shape shape)
{
    acu_tensor *x;
    assert_works(acu_sync(device, acu_randn(ACU_F32, shape, 3, 0), &x));
    return x;
}

/* 16 filters go by tiles, groups of one filter by a thread for each element. */
static void the_same_bits(void **state)
{
    (void)state;
    acu_tensor *x = numbers(ACU_SHAPE(2, 5, 9, 9)), *w = numbers(ACU_SHAPE(16, 5, 3, 3));
    acu_window_options by = {.size = sizeof by, .padding = {1, 1}, .stride = {2, 2}};
    const acu_shape shape = ACU_SHAPE(2, 16, 5, 5);
    acu_op *times[16];
    for (int i = 0; i < 16; i++)
        times[i] = acu_op_value(x, ACU_SITE);
    float *want = result_of(device, acu_conv(x, w, 0.25, &by), ACU_F32, shape);
    by.groups = 16;
    float *have = result_of(device, acu_conv(acu_op_concat(1, times, 16, ACU_SITE), w, 0.25, &by),
                            ACU_F32, shape);
    assert_memory_equal(have, want, 2 * 16 * 5 * 5 * sizeof *want);
    free(have);
    free(want);
    acu_tensor_release(x);
    acu_tensor_release(w);
}

static acu_op *as(acu_dtype dtype, acu_tensor *x)
{
    return acu_convert(x, dtype);
}
static acu_op *back(acu_dtype dtype, acu_tensor *x)
{
    return acu_convert(acu_convert(x, dtype), ACU_F32);
}

/* Half precision is computed in float and rounded once. */
static void rounded_once(void **state)
{
    (void)state;
    acu_tensor *x = numbers(ACU_SHAPE(2, 3, 5, 6)), *w = numbers(ACU_SHAPE(8, 3, 2, 2));
    for (int i = 0; i < 2; i++) {
        acu_dtype d = i ? ACU_BF16 : ACU_F16;
        acu_shape two = ACU_SHAPE(2, 2), to = ACU_SHAPE(7, 7);
        acu_op *ops[][2] = {
            {acu_conv(as(d, x), as(d, w), 0.5, NULL), acu_conv(back(d, x), back(d, w), 0.5, NULL)},
            {acu_pool(ACU_POOL_MEAN, as(d, x), two, NULL),
             acu_pool(ACU_POOL_MEAN, back(d, x), two, NULL)},
            {acu_interpolate(ACU_INTERPOLATE_LINEAR, as(d, x), to),
             acu_interpolate(ACU_INTERPOLATE_LINEAR, back(d, x), to)}};
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
            double different;
            acu_op *unlike = acu_ne(ops[k][0], acu_convert(ops[k][1], d));
            assert_works(acu_read_f64_wait(device, acu_sum(unlike, ACU_ALL), &different));
            assert_true(different == 0);
        }
    }
    acu_tensor_release(x);
    acu_tensor_release(w);
}

static void results_apart(void **state)
{
    (void)state;
    acu_tensor *x = numbers(ACU_SHAPE(1, 1, 8)), *w = numbers(ACU_SHAPE(1, 1, 1));
    assert_fails(acu_submit(device, acu_into(x, acu_conv(x, w, 0, NULL)), NULL, NULL),
                 ACU_ERR_SHARED, "conv can not overwrite its operand 0");
    acu_tensor_release(x);
    acu_tensor_release(w);
}

static acu_op *way_conv(acu_tensor *const *x)
{
    const acu_window_options by = {.size = sizeof by, .padding = {1, 1}};
    return acu_conv(x[0], x[1], 1, &by);
}
static acu_op *way_pool(acu_tensor *const *x)
{
    return acu_pool(ACU_POOL_MEAN, x[0], ACU_SHAPE(2, 2), NULL);
}
static acu_op *way_interpolate(acu_tensor *const *x)
{
    return acu_interpolate(ACU_INTERPOLATE_LINEAR, x[0], ACU_SHAPE(5, 11));
}

static void ways(void **state)
{
    (void)state;
    acu_tensor *x[] = {numbers(ACU_SHAPE(2, 3, 6, 7)), numbers(ACU_SHAPE(9, 3, 3, 3))};
    every_way(device, way_conv, x);
    every_way(device, way_pool, x);
    every_way(device, way_interpolate, x);
    acu_tensor_release(x[0]);
    acu_tensor_release(x[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(the_same_bits), DEVICE_TEST(rounded_once),
                                       DEVICE_TEST(results_apart), DEVICE_TEST(ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
