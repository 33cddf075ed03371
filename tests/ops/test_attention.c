/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Attention in every way, and bf16, which NumPy lacks, beside f32. */
#include "ops/every_way.h"
#include "support/one_device.h"

static acu_tensor *numbers(acu_dtype dtype, acu_shape shape, uint64_t seed)
{
    acu_tensor *x;
    assert_works(acu_sync(device, acu_convert(acu_randn(ACU_F32, shape, seed, 0), dtype), &x));
    return x;
}

/* With tensor cores, or without (a width above 128): the largest difference from f32's result. */
static double difference(int64_t width)
{
    const acu_shape shape = ACU_SHAPE(1, 2, 70, width);
    acu_tensor *x[] = {numbers(ACU_BF16, shape, 1), numbers(ACU_BF16, shape, 2),
                       numbers(ACU_BF16, shape, 3)};
    acu_attention_options causal = {.size = sizeof causal, .causal = true};
    acu_op *have = acu_convert(acu_attention(x[0], x[1], x[2], &causal), ACU_F32);
    acu_op *want = acu_attention(acu_convert(x[0], ACU_F32), acu_convert(x[1], ACU_F32),
                                 acu_convert(x[2], ACU_F32), &causal);
    double most;
    acu_op *by = acu_max_of(acu_abs(acu_sub(have, want)), ACU_ALL);
    assert_works(acu_read_f64_wait(device, by, &most));
    for (int i = 0; i < 3; i++)
        acu_tensor_release(x[i]);
    return most;
}

static void half_precision(void **state)
{
    (void)state;
    const int64_t widths[] = {8, 64, 128, 160};
    for (size_t i = 0; i < 4; i++) {
        double by = difference(widths[i]);
        assert_true(by > 0 && by < 0.02);
    }
}

static acu_op *way_plain(acu_tensor *const *x)
{
    return acu_attention(x[0], x[0], x[0], NULL);
}
static acu_op *way_half(acu_tensor *const *x)
{
    acu_attention_options causal = {.size = sizeof causal, .causal = true};
    return acu_attention(x[1], acu_slice(x[1], ACU_SHAPE(0, 0, 0, 0), ACU_SHAPE(1, 1, 9, 24)),
                         acu_slice(x[1], ACU_SHAPE(0, 1, 0, 0), ACU_SHAPE(1, 2, 9, 24)), &causal);
}

static void ways(void **state)
{
    (void)state;
    acu_tensor *x[] = {numbers(ACU_F32, ACU_SHAPE(1, 2, 9, 24), 4),
                       numbers(ACU_F16, ACU_SHAPE(1, 2, 9, 24), 5)};
    every_way(device, way_plain, x);
    every_way(device, way_half, x);
    assert_fails(acu_submit(device, acu_into(x[0], way_plain(x)), NULL, NULL), ACU_ERR_SHARED,
                 "attention can not overwrite its operand 0");
    acu_tensor_release(x[0]);
    acu_tensor_release(x[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(half_precision), DEVICE_TEST(ways)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
