/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conversion between all dtypes, against rounding by search in long double; arange, linspace, eye. */
#include "ops/elements.h"

enum { N = 4999 };

/* ---- reference --------------------------------------------------------------------------------- */

/* Non-negative values of a narrow format by their bits; the largest finite one's are `most`. */
static long double narrow_value(acu_dtype dtype, unsigned bits)
{
    int e, m;
    switch (dtype) {
    case ACU_F8E4M3FN:
        e = (int)bits >> 3, m = (int)bits & 7;
        return e ? ldexpl(8 + m, e - 10) : ldexpl(m, -9);
    case ACU_F8E5M2:
        e = (int)bits >> 2, m = (int)bits & 3;
        return e ? ldexpl(4 + m, e - 17) : ldexpl(m, -16);
    case ACU_F8E8M0FNU:
        return ldexpl(1, (int)bits - 127);
    default:
        return (long double)small_value(dtype, (uint16_t)bits);
    }
}

static unsigned most_of(acu_dtype dtype)
{
    switch (dtype) {
    case ACU_F8E4M3FN: return 0x7e;
    case ACU_F8E5M2: return 0x7b;
    case ACU_F8E8M0FNU: return 0xfe;
    case ACU_F16: return 0x7bff;
    default: return 0x7f7f;
    }
}

static bool is_narrow(acu_dtype dtype)
{
    return is_real(dtype) && acu_dtype_bytes(dtype) <= 2;
}

/* The value, NaN told apart. */
static long double value_at(acu_dtype dtype, const void *memory, size_t i)
{
    unsigned bits = 0;
    if (!is_real(dtype))
        return dtype == ACU_U64 ? (long double)((const uint64_t *)memory)[i]
                                : (long double)whole_at(dtype, memory, i);
    if (!is_narrow(dtype) || acu_dtype_bytes(dtype) == 2)
        return (long double)real_at(dtype, memory, i);
    bits = ((const uint8_t *)memory)[i];
    if (dtype == ACU_F8E8M0FNU)
        return bits == 255 ? (long double)NAN : narrow_value(dtype, bits);
    unsigned size = bits & 0x7f;
    long double value = size <= most_of(dtype)                 ? narrow_value(dtype, size)
                        : dtype == ACU_F8E5M2 && size == 0x7c ? (long double)INFINITY
                                                               : (long double)NAN;
    return bits & 0x80 ? -value : value;
}

static uint64_t narrow_bits(acu_dtype dtype, long double value)
{
    unsigned low = 0, high = most_of(dtype);
    long double size = fabsl(value);
    unsigned sign = signbit(value) ? (acu_dtype_bytes(dtype) == 1 ? 0x80u : 0x8000u) : 0;
    if (dtype == ACU_F8E8M0FNU) { /* up */
        while (low < high && narrow_value(dtype, low) < size)
            low++;
        return low;
    }
    if (size >= narrow_value(dtype, high)) {
        bool infinite = acu_dtype_bytes(dtype) == 2 &&
                        size >= narrow_value(dtype, high) +
                                    (narrow_value(dtype, high) - narrow_value(dtype, high - 1)) / 2;
        return sign | (infinite ? high + 1 : high);
    }
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (narrow_value(dtype, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    long double below = size - narrow_value(dtype, low), above = narrow_value(dtype, high) - size;
    return sign | (below < above || (below == above && !(low & 1)) ? low : high);
}

static uint64_t saturated(acu_dtype dtype, long double value)
{
    int bits = 8 * (int)acu_dtype_bytes(dtype);
    bool sign = acu_dtype_kind_of(dtype) == ACU_KIND_SIGNED;
    long double low = sign ? -ldexpl(1, bits - 1) : 0;
    long double high = ldexpl(1, sign ? bits - 1 : bits) - 1;
    if (value != value)
        return 0;
    value = truncl(value < low ? low : value > high ? high : value);
    return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* Whether the bits are those of NaN. */
static bool is_nan(acu_dtype dtype, const void *memory)
{
    long double value = value_at(dtype, memory, 0);
    return value != value;
}

static void reference(acu_dtype from, acu_dtype to, const void *memory, size_t i, void *result)
{
    long double value = value_at(from, memory, i);
    uint64_t bits;
    float f = (float)value;
    double d = (double)value;
    if (to == ACU_BOOL)
        bits = value != 0;
    else if (!is_real(to) && !is_real(from))
        bits = (uint64_t)whole_at(from, memory, i);
    else if (!is_real(to))
        bits = saturated(to, value);
    else if (is_narrow(to))
        bits = value != value ? (acu_dtype_bytes(to) == 2 ? 0x7fff : to == ACU_F8E8M0FNU ? 0xff : 0x7f)
                              : narrow_bits(to, value);
    else
        memcpy(&bits, to == ACU_F64 ? (void *)&d : (void *)&f, acu_dtype_bytes(to));
    memcpy(result, &bits, acu_dtype_bytes(to));
}

/* ---- conversions ------------------------------------------------------------------------------- */

static test_random numbers = {.state = 99};

/* Half of them any bits, half of them values of a moderate size. */
static void *elements_of(acu_dtype dtype)
{
    size_t size = acu_dtype_bytes(dtype);
    char *memory = malloc(N * size);
    for (size_t i = 0; i < N; i++) {
        uint64_t bits = test_next(&numbers);
        double moderate = ldexp((double)(int64_t)test_next(&numbers), -(int)(bits % 75));
        if (dtype == ACU_BOOL)
            bits &= 1;
        memcpy(memory + i * size, &bits, size);
        if (i % 2 && is_real(dtype) && size > 1)
            put_real(dtype, memory, i, moderate);
        else if (i % 2 && size > 1)
            put_whole(dtype, memory, i, (int64_t)moderate);
    }
    return memory;
}

static void one_pair(acu_device *device, acu_dtype from, acu_tensor *tensor, const void *memory,
                     acu_dtype to)
{
    size_t size = acu_dtype_bytes(to);
    char *have = result_of(device, acu_convert(tensor, to), to, ACU_SHAPE(N));
    for (size_t i = 0; i < N; i++) {
        uint64_t want = 0, got = 0;
        if (from == to)
            memcpy(&want, (const char *)memory + i * size, size);
        else
            reference(from, to, memory, i, &want);
        memcpy(&got, have + i * size, size);
        if (got != want && !(is_real(to) && is_nan(to, &got) && is_nan(to, &want)))
            fail_msg("%Lg of %s as %s is %llx, not %llx", value_at(from, memory, i),
                     acu_dtype_name(from), acu_dtype_name(to), (unsigned long long)got,
                     (unsigned long long)want);
    }
    free(have);
}

static void every_pair(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int from = ACU_BOOL; from < ACU_F4E2M1FNX2; from++) {
        void *memory = elements_of((acu_dtype)from);
        acu_tensor *tensor = tensor_with(device, (acu_dtype)from, ACU_SHAPE(N), memory);
        for (int to = ACU_BOOL; to < ACU_F4E2M1FNX2; to++)
            one_pair(device, (acu_dtype)from, tensor, memory, (acu_dtype)to);
        acu_tensor_release(tensor);
        free(memory);
    }
    test_close(device);
    test_leaks_none();
}

static void strided_and_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float x[6] = {1, 2, 3, 4, 5, 6};
    acu_tensor *tensor = tensor_with(device, ACU_F32, ACU_SHAPE(2, 3), x);
    int32_t *turned = result_of(device, acu_convert(acu_transpose(tensor, 0, 1), ACU_I32), ACU_I32,
                                ACU_SHAPE(3, 2));
    for (int i = 0; i < 6; i++)
        assert_int_equal(turned[i], 1 + i / 2 + 3 * (i % 2));
    free(turned);
    assert_fails(acu_sync(device, acu_convert(tensor, ACU_F4E2M1FNX2), NULL), ACU_ERR_DTYPE,
                 "f32 [2, 3]|f4e2m1fnx2|pairs");
    assert_fails(acu_sync(device, acu_convert(tensor, (acu_dtype)77), NULL), ACU_ERR_DTYPE, "77");
    acu_tensor_release(tensor);
    test_close(device);
    test_leaks_none();
}

/* ---- made -------------------------------------------------------------------------------------- */

static void arange(void **state)
{
    (void)state;
    acu_device *device = test_open();
    for (int dtype = ACU_U16; dtype < ACU_F8E4M3FN; dtype++) {
        const double start = dtype == ACU_U16 || dtype == ACU_U32 || dtype == ACU_U64 ? 5 : -5;
        if (dtype == ACU_I8)
            continue;
        acu_shape shape = ACU_SHAPE(1001);
        void *have = result_of(device, acu_arange((acu_dtype)dtype, start, start + 3002, 3),
                               (acu_dtype)dtype, shape);
        for (size_t i = 0; i < 1001; i++) {
            double value = start + 3 * (double)i;
            uint64_t want = 0;
            reference(ACU_F64, (acu_dtype)dtype, &value, 0, &want);
            assert_memory_equal((char *)have + i * acu_dtype_bytes((acu_dtype)dtype), &want,
                                acu_dtype_bytes((acu_dtype)dtype));
        }
        free(have);
    }
    assert_fails(acu_sync(device, acu_arange(ACU_I32, 0, 1, 0.5), NULL), ACU_ERR_DTYPE, "i32|integers");
    assert_fails(acu_sync(device, acu_arange(ACU_F32, 0, -1, 1), NULL), ACU_ERR_SHAPE, "from 0 to -1");
    test_close(device);
    test_leaks_none();
}

static void linspace(void **state)
{
    (void)state;
    acu_device *device = test_open();
    double *have = result_of(device, acu_linspace(ACU_F64, 0.1, 0.7, 1000), ACU_F64, ACU_SHAPE(1000));
    for (int i = 0; i < 1000; i++)
        assert_true(fabs(have[i] - (0.1 + 0.6 * i / 999)) < 1e-15);
    assert_true(have[0] == 0.1 && have[999] == 0.7);
    free(have);
    float *one = result_of(device, acu_linspace(ACU_F32, 3, 4, 1), ACU_F32, ACU_SHAPE(1));
    assert_true(one[0] == 3);
    free(one);
    test_close(device);
    test_leaks_none();
}

static void eye(void **state)
{
    (void)state;
    acu_device *device = test_open();
    const acu_dtype dtypes[] = {ACU_F32, ACU_F16, ACU_F64, ACU_I8, ACU_I64, ACU_BOOL, ACU_F8E4M3FN};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
        for (int64_t diagonal = -1; diagonal <= 2; diagonal++) {
            void *have = result_of(device, acu_eye_rect(dtypes[k], 7, 10, diagonal), dtypes[k],
                                   ACU_SHAPE(7, 10));
            for (int64_t i = 0; i < 70; i++)
                assert_true(value_at(dtypes[k], have, (size_t)i) ==
                            (i % 10 - i / 10 == diagonal ? 1 : 0));
            free(have);
        }
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair), cmocka_unit_test(strided_and_refused), cmocka_unit_test(arange),
        cmocka_unit_test(linspace), cmocka_unit_test(eye),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
