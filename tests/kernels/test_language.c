/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kernels/more.cuh brings: small numbers in a word, integers, cache hints, atomics of a block
 * and of the system, new and delete. */
#include "on_device.h"
#include "simd.h"

#include <math.h>

extern const char test_language_ptx[];

enum { N = 500 };
static uint32_t numbers[N];

static void make_numbers(void)
{
    static const uint32_t special[] = {0,          0x80008000, 0x7fff7fff, 0x80808080, 0x7f7f7f7f,
                                       0xffffffff, 0x00010001, 0x01010101, 0x80000000};
    uint64_t state = 0xda3e39cb94b95bdbull;
    for (int i = 0; i < N; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        numbers[i] = i < 81 ? special[i % 2 ? i / 9 : i % 9] : (uint32_t)(state >> 32);
    }
}

/* ---- numbers in a word ----------------------------------------------------------------------- */

static int bits, is_signed; /* of the numbers that are computed with */

static int clip(int v)
{
    int low = is_signed ? -(1 << (bits - 1)) : 0, high = (1 << (bits - is_signed)) - 1;
    return v < low ? low : v > high ? high : v;
}
/* Half of it, rounded: halves away from zero, but negative ones down to it */
static int half(int v)
{
    return v >= 0 ? (v + 1) / 2 : -((1 - v) / 2);
}

typedef int function(int a, int b);
#define FUNCTION(name, sign, expression) \
    static int of_##name(int a, int b) \
    { \
        (void)a, (void)b; \
        return (expression); \
    }
SIMD_2(FUNCTION)
SIMD_1(FUNCTION)
#define ENTRY(name, sign, expression) {#name, sign, of_##name},
static const struct {
    const char *name;
    int is_signed;
    function *of;
} functions[] = {SIMD_2(ENTRY) SIMD_1(ENTRY)};
enum { FUNCTIONS = sizeof functions / sizeof *functions, WORDS = 2 * FUNCTIONS + 4 };

static int field(uint32_t word, int at)
{
    int v = (int)(word >> at & ((1u << bits) - 1));
    return is_signed && v >> (bits - 1) ? v - (1 << bits) : v;
}

static uint32_t computed(function *of, uint32_t a, uint32_t b)
{
    uint32_t result = 0;
    for (int i = 0; i < 32; i += bits)
        result |= ((uint32_t)of(field(a, i), field(b, i)) & ((1u << bits) - 1)) << i;
    return result;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (int i = 0; i < 32; i += bits)
        sum += (uint32_t)abs(field(a, i) - field(b, i));
    return sum;
}

static void words(void **state)
{
    static uint32_t out[WORDS * N];
    int n = N, results = WORDS;
    (void)state;
    CUdeviceptr x = to_device(numbers, sizeof numbers), to = to_device(NULL, sizeof out);
    launch("words", 1, 128, 0, (void *[]){&to, &x, &n, &results});
    from_device(out, to, sizeof out);
    from_device(NULL, x, 0);
    for (int i = 0; i < N - 1; i++) {
        uint32_t a = numbers[i], b = numbers[i + 1], *o = out + WORDS * i;
        for (int k = 0; k < 2 * FUNCTIONS; k++) {
            bits = k % 2 ? 8 : 16;
            is_signed = functions[k / 2].is_signed;
            uint32_t want = computed(functions[k / 2].of, a, b);
            if (o[k] != want)
                fail_msg("__v%s%d(%#x, %#x) is %#x, not %#x", functions[k / 2].name, 32 / bits, a,
                         b, o[k], want);
        }
        for (int k = 0; k < 4; k++) {
            bits = k % 2 ? 8 : 16;
            is_signed = k < 2;
            assert_int_equal(o[2 * FUNCTIONS + k], distance(a, b));
        }
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint32_t nth_set(uint32_t mask, uint32_t base, int offset)
{
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    for (int i = (int)base; i >= 0 && i<32; i += offset> 0 ? 1 : -1) {
        offset -= mask >> i & 1 ? (offset > 0 ? 1 : -1) : 0;
        if (offset == 0)
            return (uint32_t)i;
    }
    return UINT32_MAX;
}

static void check_integers(int i, const uint32_t *o)
{
    uint32_t a = numbers[i], b = numbers[i + 1], s = (uint32_t)(i % 40 > 32 ? 32 : i % 40);
    int64_t sum = (int64_t)(int32_t)a + (int32_t)b;
    uint64_t whole = (uint64_t)a + b, pair = (uint64_t)b << 32 | a;
    int32_t dot = 3, low = (int8_t)a - (int8_t)b + 6 - 8;
    uint32_t udot = 3;
    for (int k = 0; k < 2; k++) {
        dot += (int16_t)(a >> 16 * k) * (int8_t)(b >> 8 * k);
        udot += (uint16_t)(a >> 16 * k) * (uint32_t)(uint8_t)(b >> (16 + 8 * k));
    }
    const uint32_t want[20] = {(uint32_t)(sum >> 1),
                               (uint32_t)((sum + 1) >> 1),
                               (uint32_t)(whole >> 1),
                               (uint32_t)((whole + 1) >> 1),
                               (uint32_t)(s == 32 ? a : pair << s >> 32),
                               (uint32_t)(s == 32 ? b : pair >> s),
                               nth_set(a, b % 32, (int)(b >> 5 & 15) - 7),
                               a,
                               b,
                               a,
                               a > 5 ? a : 5,
                               (uint32_t)dot,
                               udot,
                               (uint32_t)low,
                               6,
                               a > b ? a : b,
                               (uint32_t)((int32_t)a < 7 ? (int32_t)a : 7),
                               a > 7 ? a : 7,
                               5,
                               a};
    for (int k = 0; k < 20; k++)
        if (o[k] != want[k])
            fail_msg("result %d of %#x, %#x is %#x, not %#x", k, a, b, o[k], want[k]);
}

static void integers(void **state)
{
    static uint32_t out[20 * N];
    int n = N;
    (void)state;
    CUdeviceptr x = to_device(numbers, sizeof numbers), to = to_device(NULL, sizeof out);
    launch("integers", 1, 128, 0, (void *[]){&to, &x, &n});
    from_device(out, to, sizeof out);
    from_device(NULL, x, 0);
    for (int i = 0; i < N - 1; i++)
        check_integers(i, out + 20 * i);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void hints(void **state)
{
    static const size_t at[] = {0, 16, 32, 64, 128, 192}, size[] = {1, 2, 4, 8, 8, 16};
    uint8_t out[288];
    (void)state;
    CUdeviceptr from = to_device(numbers + 81, sizeof out), to = to_device(NULL, sizeof out);
    launch("hints", 1, 1, 0, (void *[]){&to, &from});
    from_device(out, to, sizeof out);
    from_device(NULL, from, 0);
    for (int k = 0; k < 6; k++)
        assert_memory_equal(out + at[k], (uint8_t *)(numbers + 81) + at[k], 5 * size[k]);
}

/* What n threads of index 0 to 31 left, each index `times` times */
static void check_scope(const uint32_t *w, const uint64_t *l, float f, uint32_t times)
{
    const uint32_t n = 32 * times;
    double quarter;
    memcpy(&quarter, &l[2], sizeof quarter);
    assert_int_equal(w[0], n);
    assert_int_equal(w[1], 0u - 2 * n);
    assert_int_equal((int32_t)w[2], -31);
    assert_int_equal(w[3], 31);
    assert_int_equal(w[4], 0);
    assert_int_equal(w[5], UINT32_MAX);
    assert_int_equal(w[6], times % 2 ? UINT32_MAX : 0);
    assert_int_equal(w[7], n % 10);
    assert_int_equal(w[8], (10 - n % 10) % 10);
    assert_int_equal(w[9], 7);
    assert_int_equal(w[10], 101);
    assert_int_equal(w[11], 3);
    assert_true(w[12] >> 16 >= 1 && w[12] >> 16 <= 32 && (w[12] & 0xffff) == 0);
    assert_true(l[0] == (uint64_t)n << 33 && l[1] == (uint64_t)31 << 34);
    assert_true(f == 0.5f * (float)n && quarter == 0.25 * n);
}

static void scopes(void **state)
{
    uint32_t w[3][16] = {{0}};
    uint64_t l[3][4] = {{0}};
    float f[3] = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        w[i][4] = UINT32_MAX;
    CUdeviceptr a = to_device(w, sizeof w), b = to_device(l, sizeof l), c = to_device(f, sizeof f);
    launch("scopes", 2, 32, 0, (void *[]){&a, &b, &c});
    from_device(w, a, sizeof w);
    from_device(l, b, sizeof l);
    from_device(f, c, sizeof f);
    for (int i = 0; i < 3; i++)
        check_scope(w[i], l[i], f[i], i < 2 ? 1 : 2);
}

static void objects(void **state)
{
    int out[2];
    (void)state;
    CUdeviceptr count = to_device(NULL, sizeof out), sum = count + 4;
    launch("objects", 1, 1, 0, (void *[]){&count, &sum});
    from_device(out, count, sizeof out);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 5 + 9 + 7);
}

static int setup(void **state)
{
    (void)state;
    make_numbers();
    return on_device_setup(test_language_ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),  cmocka_unit_test(integers), cmocka_unit_test(hints),
        cmocka_unit_test(scopes), cmocka_unit_test(objects),
    };
    return cmocka_run_group_tests_name("kernels.language", tests, setup, on_device_teardown);
}
