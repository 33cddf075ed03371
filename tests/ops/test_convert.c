/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conversion between all dtypes, against rounding by search in long
 * double; arange, linspace, eye. */
#include "ops/elements.h"

enum { N = 4999 };

/* ---- reference ------------------------------------------------------------------------------- */

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
    case ACU_F4E2M1FNX2: /* one of the two */
        e = (int)bits >> 1, m = (int)bits & 1;
        return e ? ldexpl(2 + m, e - 2) : ldexpl(m, -1);
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
    case ACU_F4E2M1FNX2: return 7;
    case ACU_F16: return 0x7bff;
    default: return 0x7f7f;
    }
}

static bool is_narrow(acu_dtype dtype)
{
    return is_real(dtype) && acu_dtype_bytes(dtype) <= 2;
}

/* The value of an element; NaN is distinguished. */
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
        bits = value != value ? (acu_dtype_bytes(to) == 2 ? 0x7fff
                                 : to == ACU_F8E8M0FNU    ? 0xff
                                                          : 0x7f)
                              : narrow_bits(to, value);
    else
        memcpy(&bits, to == ACU_F64 ? (void *)&d : (void *)&f, acu_dtype_bytes(to));
    memcpy(result, &bits, acu_dtype_bytes(to));
}

/* ---- conversions ----------------------------------------------------------------------------- */

static test_random numbers = {.state = 99};

/* Half of the elements have random bits, the others values of a moderate size. */
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
    assert_fails(acu_sync(device, acu_convert(tensor, ACU_F4E2M1FNX2), NULL), ACU_ERR_SHAPE,
                 "f32 [2, 3]|f4e2m1fnx2|pairs|even");
    assert_fails(acu_sync(device, acu_convert(tensor, (acu_dtype)77), NULL), ACU_ERR_DTYPE, "77");
    acu_tensor_release(tensor);
    test_close(device);
    test_leaks_none();
}

/* ---- pairs of four bits ---------------------------------------------------------------------- */

/* As CUDA's __nv_fp4_e2m1 does: it saturates, and NaN becomes the largest number. */
static unsigned four_bits_of(long double value)
{
    if (value != value)
        return 7;
    return (unsigned)narrow_bits(ACU_F4E2M1FNX2, fabsl(value)) | (signbit(value) ? 8u : 0u);
}

static long double value_of_four_bits(unsigned bits)
{
    long double size = narrow_value(ACU_F4E2M1FNX2, bits & 7);
    return bits & 8 ? -size : size;
}

static void to_pairs(acu_device *device, acu_dtype from, const void *memory, int64_t count)
{
    acu_tensor *tensor = tensor_with(device, from, ACU_SHAPE(count), memory);
    uint8_t *have = result_of(device, acu_convert(tensor, ACU_F4E2M1FNX2), ACU_F4E2M1FNX2,
                              ACU_SHAPE(count / 2));
    for (int64_t i = 0; i < count; i++) {
        long double value = value_at(from, memory, (size_t)i);
        unsigned got = (unsigned)have[i / 2] >> (i % 2 ? 4 : 0) & 15u, want = four_bits_of(value);
        if (got != want)
            fail_msg("%Lg of %s is %x, not %x", value, acu_dtype_name(from), got, want);
    }
    free(have);
    acu_tensor_release(tensor);
}

/* Every value to every dtype. */
static void from_pairs(void **state)
{
    (void)state;
    acu_device *device = test_open();
    uint8_t all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    acu_tensor *tensor = tensor_with(device, ACU_F4E2M1FNX2, ACU_SHAPE(256), all);
    for (int to = ACU_BOOL; to < ACU_F4E2M1FNX2; to++) {
        size_t size = acu_dtype_bytes((acu_dtype)to);
        char *have = result_of(device, acu_convert(tensor, (acu_dtype)to), (acu_dtype)to,
                               ACU_SHAPE(512));
        for (size_t i = 0; i < 512; i++) {
            double value = (double)value_of_four_bits(i % 2 ? all[i / 2] >> 4 : all[i / 2] & 15u);
            uint64_t want = 0, got = 0;
            reference(ACU_F64, (acu_dtype)to, &value, 0, &want);
            memcpy(&got, have + i * size, size);
            if (got != want)
                fail_msg("%g as %s is %llx, not %llx", value, acu_dtype_name((acu_dtype)to),
                         (unsigned long long)got, (unsigned long long)want);
        }
        to_pairs(device, (acu_dtype)to, have, 512);
        free(have);
    }
    uint8_t *same = result_of(device, acu_convert(tensor, ACU_F4E2M1FNX2), ACU_F4E2M1FNX2,
                              ACU_SHAPE(256));
    assert_memory_equal(same, all, sizeof all);
    free(same);
    acu_tensor_release(tensor);
    test_close(device);
    test_leaks_none();
}

/* Every value of the formats of 8 and 16 bits, random ones of the others, and numbers at and beside
 * the middle of two values. */
static void into_pairs(void **state)
{
    (void)state;
    enum { ALL = 65536, MIDDLES = 7 * 3 * 2 };
    static uint16_t words[ALL];
    static uint8_t bytes[256];
    float f[MIDDLES];
    double d[MIDDLES];
    acu_device *device = test_open();
    for (int i = 0; i < ALL; i++)
        words[i] = (uint16_t)i;
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    for (int i = 0; i < MIDDLES; i++) {
        unsigned below = (unsigned)i / 6;
        double at = (double)(narrow_value(ACU_F4E2M1FNX2, below) +
                             narrow_value(ACU_F4E2M1FNX2, below + 1)) /
                    2;
        if (below == 6)
            at = 6;
        d[i] = i % 3 == 1 ? nextafter(at, 9) : i % 3 == 2 ? nextafter(at, 0) : at;
        f[i] = i % 3 == 1   ? nextafterf((float)at, 9)
               : i % 3 == 2 ? nextafterf((float)at, 0)
                            : (float)at;
        if (i % 6 > 2) {
            d[i] = -d[i];
            f[i] = -f[i];
        }
    }
    to_pairs(device, ACU_F16, words, ALL);
    to_pairs(device, ACU_BF16, words, ALL);
    to_pairs(device, ACU_F8E4M3FN, bytes, 256);
    to_pairs(device, ACU_F8E5M2, bytes, 256);
    to_pairs(device, ACU_F8E8M0FNU, bytes, 256);
    to_pairs(device, ACU_F32, f, MIDDLES);
    to_pairs(device, ACU_F64, d, MIDDLES);
    for (int from = ACU_BOOL; from < ACU_F4E2M1FNX2; from++) {
        void *memory = elements_of((acu_dtype)from);
        to_pairs(device, (acu_dtype)from, memory, N - 1);
        free(memory);
    }
    test_close(device);
    test_leaks_none();
}

static void pairs_of_any_strides(void **state)
{
    (void)state;
    acu_device *device = test_open();
    float x[3][8];
    uint8_t packed[4][3];
    for (int i = 0; i < 24; i++)
        x[i / 8][i % 8] = (float)value_of_four_bits((unsigned)(i * 7) % 16);
    acu_tensor *tensor = tensor_with(device, ACU_F32, ACU_SHAPE(3, 4, 2), x), *into = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_F4E2M1FNX2, ACU_SHAPE(4, 3)), &into));
    /* Packed from one permuted tensor into another: [4, 3, 1] pairs. */
    acu_op *out = acu_transpose(acu_reshape(into, ACU_SHAPE(1, 4, 3)), 0, 2);
    assert_works(acu_sync(device,
                          acu_into(acu_transpose(out, 0, 1),
                                   acu_convert(acu_transpose(tensor, 0, 1), ACU_F4E2M1FNX2)),
                          NULL));
    assert_works(acu_read_sync(into, packed, sizeof packed));
    for (int i = 0; i < 12; i++)
        assert_int_equal(packed[i / 3][i % 3],
                         four_bits_of((long double)x[i % 3][i / 3 * 2]) |
                             four_bits_of((long double)x[i % 3][i / 3 * 2 + 1]) << 4);
    /* And back: [4, 3] bytes are [4, 6] numbers, the columns of a transposed tensor. */
    acu_tensor *back = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(6, 4)), &back));
    assert_works(acu_sync(device, acu_into(acu_transpose(back, 0, 1), acu_convert(into, ACU_F32)),
                          NULL));
    float turned[6][4];
    assert_works(acu_read_sync(back, turned, sizeof turned));
    for (int i = 0; i < 24; i++)
        assert_true(turned[i % 6][i / 6] == x[i % 6 / 2][i / 6 * 2 + i % 2]);
    acu_tensor_release(back);
    acu_tensor_release(into);
    acu_tensor_release(tensor);
    test_close(device);
    test_leaks_none();
}

/* ---- made ------------------------------------------------------------------------------------ */

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
    static const struct {
        double start, end, step;
        size_t count;
    } edges[] = {{-1, 0x1p53, 0x1p50, 9}, {1, -0x1p53, -0x1p50, 9}, {0, 0x1p53, 0x1p50, 8},
                 {-0x1p53, 0x1p53, 0x1p53, 2}, {1 - 0x1p53, 0x1p53, 0x1p53 - 1, 3}};
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        int64_t *have = result_of(device,
                                  acu_arange(ACU_I64, edges[k].start, edges[k].end, edges[k].step),
                                  ACU_I64, ACU_SHAPE((int64_t)edges[k].count));
        const int64_t start = (int64_t)edges[k].start, step = (int64_t)edges[k].step;
        for (size_t i = 0; i < edges[k].count; i++)
            assert_int_equal(have[i], start + (int64_t)i * step);
        free(have);
    }
    assert_fails(acu_sync(device, acu_arange(ACU_I32, 0, 1, 0.5), NULL), ACU_ERR_DTYPE,
                 "i32|integers");
    assert_fails(acu_sync(device, acu_arange(ACU_F32, 0, -1, 0), NULL), ACU_ERR_SHAPE,
                 "from 0 to -1");
    assert_fails(acu_sync(device, acu_arange(ACU_I64, 0x1p60, 0x1p60 + 4096, 1024), NULL),
                 ACU_ERR_DTYPE, "i64|integers of at most 2^53");
    test_close(device);
    test_leaks_none();
}

static void linspace(void **state)
{
    (void)state;
    acu_device *device = test_open();
    double *have = result_of(device, acu_linspace(ACU_F64, 0.1, 0.7, 1000), ACU_F64,
                             ACU_SHAPE(1000));
    for (int i = 0; i < 1000; i++)
        assert_true(fabs(have[i] - (0.1 + 0.6 * i / 999)) < 1e-15);
    assert_true(have[0] == 0.1 && have[999] == 0.7);
    free(have);
    float *one = result_of(device, acu_linspace(ACU_F32, 3, 4, 1), ACU_F32, ACU_SHAPE(1));
    assert_true(one[0] == 3);
    free(one);
    /* The distance of these ends is larger than any number of the format. */
    const double end = 1.7e308;
    for (int64_t count = 2; count <= 5; count++) {
        have = result_of(device, acu_linspace(ACU_F64, -end, end, count), ACU_F64,
                         ACU_SHAPE(count));
        assert_true(have[0] == -end && have[count - 1] == end);
        for (int64_t i = 1; i < count - 1; i++)
            assert_true(fabs(have[i] / end - (2 * (double)i / (double)(count - 1) - 1)) < 1e-15);
        free(have);
    }
    /* There are no values between these ends. */
    assert_fails(acu_sync(device, acu_linspace(ACU_F32, 0, (double)INFINITY, 3), NULL),
                 ACU_ERR_INVALID, "from 0 to inf|finite");
    assert_fails(acu_sync(device, acu_linspace(ACU_F32, (double)NAN, 1, 3), NULL), ACU_ERR_INVALID,
                 "finite");
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
        cmocka_unit_test(every_pair),
        cmocka_unit_test(strided_and_refused),
        cmocka_unit_test(from_pairs),
        cmocka_unit_test(into_pairs),
        cmocka_unit_test(pairs_of_any_strides),
        cmocka_unit_test(arange),
        cmocka_unit_test(linspace),
        cmocka_unit_test(eye),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
