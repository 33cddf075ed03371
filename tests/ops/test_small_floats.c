/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * <acuda/small_floats.h>: every number of every format to float and back; from float, the nearest,
 * found by looking at the neighbours; and the same as acu_convert gives on the device.
 */
#include "support/support.h"

#include <acuda/small_floats.h>
#include <math.h>

typedef struct format {
    acu_dtype dtype;
    uint32_t count, sign, infinite; /* of bits; the bit of the sign; what is too large */
    float (*value)(uint32_t bits);
    uint32_t (*bits)(float value);
} format;

#define FORMAT(name, type) \
    static float name##_value(uint32_t bits) \
    { \
        return acu_float_from_##name((type)bits); \
    } \
    static uint32_t name##_bits(float value) \
    { \
        return acu_##name##_from_float(value); \
    }
FORMAT(f16, uint16_t)
FORMAT(bf16, uint16_t)
FORMAT(f8e4m3fn, uint8_t)
FORMAT(f8e5m2, uint8_t)
FORMAT(f8e8m0fnu, uint8_t)

static const format formats[] = {
    {ACU_F16, 65536, 0x8000, 0x7c00, f16_value, f16_bits},
    {ACU_BF16, 65536, 0x8000, 0x7f80, bf16_value, bf16_bits},
    {ACU_F8E4M3FN, 256, 0x80, 0, f8e4m3fn_value, f8e4m3fn_bits},
    {ACU_F8E5M2, 256, 0x80, 0, f8e5m2_value, f8e5m2_bits},
};

static void there_and_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (uint32_t bits = 0; bits < formats[k].count; bits++) {
            float value = formats[k].value(bits);
            if (isnan(value))
                assert_true(isnan(formats[k].value(formats[k].bits(value))));
            else if (isfinite(value) || formats[k].infinite)
                assert_int_equal(formats[k].bits(value), bits);
        }
    for (uint32_t bits = 0; bits < 256; bits++)
        assert_int_equal(f8e8m0fnu_bits(f8e8m0fnu_value(bits)), bits);
    assert_true(acu_float_from_f16(0x3c01) == 1.0009765625f && acu_float_from_f16(1) == 0x1p-24f);
    assert_true(acu_float_from_bf16(0xbf81) == -1.0078125f);
    assert_true(acu_float_from_f8e4m3fn(0x7e) == 448 && acu_float_from_f8e4m3fn(1) == 0x1p-9f);
    assert_true(acu_float_from_f8e5m2(0x7b) == 57344 && acu_float_from_f8e5m2(0x81) == -0x1p-16f);
    assert_true(acu_float_from_f8e8m0fnu(0) == 0x1p-127f && acu_float_from_f8e8m0fnu(128) == 2);
}

/* Halfway between neighbours, and one float to either side. */
static void to_the_nearest(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (uint32_t bits = 0; isfinite(formats[k].value(bits + 1)); bits++) {
            const format *f = &formats[k];
            double low = (double)f->value(bits), high = (double)f->value(bits + 1);
            float middle = (float)((low + high) / 2);
            if ((double)middle != (low + high) / 2) /* of the smallest bf16: no float */
                continue;
            assert_int_equal(f->bits(middle), bits & 1 ? bits + 1 : bits);
            assert_int_equal(f->bits(nextafterf(middle, 0)), bits);
            assert_int_equal(f->bits(nextafterf(middle, INFINITY)), bits + 1);
            assert_int_equal(f->bits(-nextafterf(middle, INFINITY)), (bits + 1) | f->sign);
        }
    assert_int_equal(acu_f16_from_float(65519.996f), 0x7bff);
    assert_int_equal(acu_f16_from_float(65520), 0x7c00);
    assert_int_equal(acu_bf16_from_float(0x1.fffffep127f), 0x7f80);
    assert_int_equal(acu_f8e4m3fn_from_float(-INFINITY), 0xfe);
    assert_int_equal(acu_f8e5m2_from_float(1e30f), 0x7b);
    assert_int_equal(acu_f8e8m0fnu_from_float(-3), 129);
}

static void as_on_the_device(void **state)
{
    enum { N = 20000 };
    static float x[N];
    static uint16_t got[N];
    static test_random numbers = {.state = 5};
    (void)state;
    acu_device *device = test_open();
    for (int i = 0; i < N; i++) {
        uint32_t word = (uint32_t)(test_next(&numbers) >> 32);
        memcpy(&x[i], &word, sizeof word);
        if (i % 2 && isfinite(x[i])) /* near the numbers of 8 bits */
            x[i] = ldexpf(frexpf(x[i], &(int){0}), (int)(word % 40) - 24);
    }
    acu_tensor *t = NULL, *as = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(N), &t));
    assert_works(acu_write_sync(t, x, sizeof x));
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        size_t size = acu_dtype_bytes(formats[k].dtype);
        assert_works(acu_sync(device, acu_convert(t, formats[k].dtype), &as));
        assert_works(acu_read_sync(as, got, N * size));
        for (int i = 0; i < N; i++) {
            uint32_t bits = size == 2 ? got[i] : ((uint8_t *)got)[i];
            if (!isnan(x[i]))
                assert_int_equal(formats[k].bits(x[i]), bits);
            else
                assert_true(isnan(formats[k].value(bits)));
        }
        acu_tensor_release(as);
    }
    acu_tensor_release(t);
    test_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(to_the_nearest),
        cmocka_unit_test(as_on_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
