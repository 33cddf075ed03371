/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fourier transforms by acuda's own kernels in every way. tests/ops/numpy compares numbers. */
#include "ops/every_way.h"
#include "support/one_device.h"

#include <complex.h>

static int without_cufft(void **state)
{
    (void)state;
    acu_vendor_settings off = {.size = sizeof off, .off = true};
    return acu_vendor_configure(ACU_VENDOR_CUFFT, &off) == ACU_OK ? 0 : -1;
}

static acu_op *randoms(acu_dtype part, acu_shape shape)
{
    return acu_complex(acu_randn(part, shape, 1, 0), acu_randn(part, shape, 2, 0));
}

static acu_op *way_short(acu_tensor *const *x)
{
    return acu_fft(x[0], 2, ACU_INVERSE);
}
static acu_op *way_long(acu_tensor *const *x)
{
    return acu_fft(x[1], 1, ACU_FORWARD);
}
static acu_op *way_prime(acu_tensor *const *x)
{
    return acu_rfft(acu_slice(acu_flatten(acu_reinterpret(x[0], ACU_F32)), ACU_SHAPE(0),
                              ACU_SHAPE(37)), 1);
}
static acu_op *way_back(acu_tensor *const *x)
{
    return acu_irfft(x[0], 2, 22);
}

static void ways(void **state)
{
    (void)state;
    acu_tensor *x[2];
    assert_works(acu_sync(device, randoms(ACU_F32, ACU_SHAPE(3, 12)), &x[0]));
    assert_works(acu_sync(device, randoms(ACU_F64, ACU_SHAPE(4096)), &x[1]));
    every_way(device, way_short, x);
    every_way(device, way_long, x);
    every_way(device, way_prime, x);
    every_way(device, way_back, x);
    acu_tensor_release(x[0]);
    acu_tensor_release(x[1]);
}

/* An operand is not overwritten unless the result goes there. */
static void in_place(void **state)
{
    (void)state;
    const acu_shape shape = ACU_SHAPE(2, 8200);
    acu_tensor *x;
    assert_works(acu_sync(device, randoms(ACU_F32, shape), &x));
    float complex *before = result_of(device, acu_identity(x), ACU_C64, shape);
    float complex *want = result_of(device, acu_fft(x, 1, ACU_FORWARD), ACU_C64, shape);
    float complex *after = result_of(device, acu_identity(x), ACU_C64, shape);
    assert_memory_equal(after, before, 2 * 8200 * sizeof *after);
    assert_works(acu_sync(device, acu_into(x, acu_fft(x, 1, ACU_FORWARD)), NULL));
    float complex *have = result_of(device, acu_identity(x), ACU_C64, shape);
    assert_memory_equal(have, want, 2 * 8200 * sizeof *have);
    free(before);
    free(want);
    free(after);
    free(have);
    acu_tensor_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(ways), DEVICE_TEST(in_place)};
    return cmocka_run_group_tests(tests, without_cufft, NULL);
}
