/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * __half, __nv_bfloat16 and the types of 8 bits in kernels: arithmetic gives the nearest number,
 * and conversions too, as the host computes them.
 */
#include "ulps.h"

#include <acuda/small_floats.h>

extern const char test_halves_ptx[];

enum { N = 6000 };
static uint16_t bits[3][N];

static uint64_t next_random(void)
{
    static uint64_t state = 0x853c49e6748fea9bull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

typedef struct kind {
    const char *kernel;
    float (*value)(uint16_t);
    uint16_t (*bits)(float);
} kind;
static const kind half = {"half_arithmetic", acu_float_from_f16, acu_f16_from_float};
static const kind brain = {"bfloat16_arithmetic", acu_float_from_bf16, acu_bf16_from_float};

/* A number with more bits than float has, as bits: first rounded to odd. */
static uint16_t nearest(const kind *k, long double value)
{
    float f = (float)value;
    if (isfinite(f) && (long double)f != value) {
        if (fabsl((long double)f) > fabsl(value))
            f = nextafterf(f, 0);
        f = float_of((uint32_t)(acui_bits_of_float(f) | 1));
    }
    return k->bits(f);
}

/* x y + z: the product is exact; what the sum loses still decides between neighbours. */
static long double fused(long double x, long double y, long double z)
{
    long double p = x * y, sum = p + z, b = sum - p, lost = (p - (sum - b)) + (z - b);
    return !isfinite(sum) || lost == 0 ? sum : nextafterl(sum, lost > 0 ? INFINITY : -INFINITY);
}

static void make_bits(const kind *k)
{
    static const float special[] = {0,     -0.0f,    1,         INFINITY, -INFINITY,
                                    65504, 0x1p-24f, 0x1p-133f, 3};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t r = next_random();
            float near = (float)((double)(r >> 40) * 0x1p-22 - 2);
            bits[j][i] = r & 1 ? (uint16_t)(r >> 8) : k->bits(near);
            if (i < 9 * 9 * 9)
                bits[j][i] = k->bits(special[(j == 0 ? i : j == 1 ? i / 9 : i / 81) % 9]);
        }
    bits[0][N - 1] = 0x7fff; /* NaN */
}

static void expect(const kind *k, int i, int what, uint16_t got, uint16_t want)
{
    bool same = got == want || (isnan(k->value(got)) && isnan(k->value(want)));
    if (!same)
        fail_msg("%s: result %d of %#x, %#x, %#x is %#x, not %#x", k->kernel, what, bits[0][i],
                 bits[1][i], bits[2][i], got, want);
}

static void check_triple(const kind *k, int i, const uint16_t *o)
{
    float a = k->value(bits[0][i]), b = k->value(bits[1][i]), c = k->value(bits[2][i]);
    long double x = a, y = b, z = c;
    bool less = a < b, equal = a == b, unordered = isnan(a) || isnan(b);
    const long double want[] = {x + y, x - y, x * y, x / y, fused(x, y, z)};
    for (int n = 0; n < 5; n++)
        expect(k, i, n, o[n], nearest(k, want[n]));
    expect(k, i, 5, o[5], (uint16_t)(bits[0][i] ^ 0x8000));
    if (a != 0 || b != 0) { /* of zeros either may be the larger */
        expect(k, i, 6, o[6], k->bits(isnan(a) || a < b ? b : a)); /* NaN only if both are */
        expect(k, i, 7, o[7], k->bits(isnan(a) || a > b ? b : a));
    }
    int tests = less | (less || equal) << 1 | equal << 2 | !equal << 3 | (a >= b) << 4 |
                (less || unordered) << 5 | (equal || unordered) << 6 | (isnan(a) ? 1 : 0) << 7;
    assert_int_equal(o[8], tests);
    expect(k, i, 9, o[9], nearest(k, sqrtl(x)));
    expect(k, i, 10, o[10], nearest(k, y + z));
    expect(k, i, 11, o[11], nearest(k, x * z));
    expect(k, i, 12, o[12], nearest(k, y * z));
    expect(k, i, 13, o[13], nearest(k, fused(z, y, x)));
    assert_int_equal(o[14], equal ? 0xffff : 0);
    expect(k, i, 15, o[15], nearest(k, (double)a * 1.0009765625 + (double)b));
}

static void arithmetic_of(const kind *k)
{
    static uint16_t out[16 * N];
    int n = N;
    make_bits(k);
    CUdeviceptr in = to_device(bits, sizeof bits), to = to_device(NULL, sizeof out);
    launch(k->kernel, 1, 256, 0, (void *[]){&to, &in, &n});
    from_device(out, to, sizeof out);
    from_device(NULL, in, 0);
    for (int i = 0; i < N; i++)
        check_triple(k, i, out + 16 * i);
}
static void arithmetic(void **state)
{
    (void)state;
    arithmetic_of(&half);
    arithmetic_of(&brain);
}

/* The number of the format next to v on the side that is asked for. */
static uint16_t directed(const kind *k, float v, bool up)
{
    uint16_t near = k->bits(v);
    float f = k->value(near);
    bool wrong = up ? f < v : f > v;
    if (!wrong)
        return near;
    if ((near & 0x7fff) == 0)
        return up ? 1 : 0x8001;
    return (uint16_t)(near + ((near >> 15) == up ? -1 : 1));
}

static void check_conversions(float v, const uint32_t *o)
{
    const kind *kinds[] = {&half, &brain};
    for (int j = 0; j < 2; j++) {
        const kind *k = kinds[j];
        uint16_t word[4];
        for (int n = 0; n < 4; n++)
            word[n] = (uint16_t)(o[n] >> 16 * j);
        assert_int_equal(word[0], k->bits(v));
        assert_int_equal(word[1], directed(k, v, v < 0));
        assert_int_equal(word[2], directed(k, v, true));
        assert_int_equal(word[3], directed(k, v, false));
        int32_t whole = (int32_t)acui_bits_of_float(v);
        assert_int_equal((uint16_t)(o[5] >> 16 * j), nearest(k, whole));
    }
    float size = fabsf(v);
    uint32_t sign = signbit(v) ? 0x80 : 0, e4m3 = acu_f8e4m3fn_from_float(v);
    uint32_t e5m2 = acu_f8e5m2_from_float(v);
    assert_int_equal(o[4] & 0xffff, e4m3 | e5m2 << 8);
    assert_int_equal(o[4] >> 16 & 0xff, size > 464 ? sign | 0x7f : e4m3);
    assert_int_equal(o[4] >> 24, size >= 61440 ? sign | 0x7c : e5m2);
    float h = acu_float_from_f16(acu_f16_from_float(v));
    assert_int_equal((int32_t)o[6], isinf(h) ? h > 0 ? INT32_MAX : INT32_MIN : (int32_t)rintf(h));
    assert_int_equal(o[7], e4m3 | (uint32_t)acu_f8e4m3fn_from_float(-v) << 8 |
                               (uint32_t)acu_f8e4m3fn_from_float(2 * v) << 16 |
                               (uint32_t)acu_f8e4m3fn_from_float(0.5f * v) << 24);
}

static void conversions(void **state)
{
    static float x[N], values[4 * 65536];
    static uint32_t out[8 * N];
    int n = N;
    (void)state;
    for (int i = 0; i < N; i++) {
        x[i] = float_of((uint32_t)(next_random() >> 32));
        if (i % 2 || isnan(x[i])) /* halfway, or nearly */
            x[i] =
                acu_float_from_f16((uint16_t)(i * 5)) * (i % 4 == 1 ? 1.00048828125f : 1.0004882f);
        if (isnan(x[i]))
            x[i] = 464;
    }
    CUdeviceptr in = to_device(x, sizeof x), to = to_device(NULL, sizeof out);
    launch("conversions", 1, 256, 0, (void *[]){&to, &in, &n});
    from_device(out, to, sizeof out);
    from_device(NULL, in, 0);
    for (int i = 0; i < N; i++)
        check_conversions(x[i], out + 8 * i);
    to = to_device(NULL, sizeof values);
    launch("to_float", 1, 256, 0, (void *[]){&to});
    from_device(values, to, sizeof values);
    for (int i = 0; i < 65536; i++) {
        const float want[] = {acu_float_from_f16((uint16_t)i), acu_float_from_bf16((uint16_t)i),
                              acu_float_from_f8e4m3fn((uint8_t)i),
                              acu_float_from_f8e5m2((uint8_t)i)};
        for (int k = 0; k < 4; k++)
            if (!(isnan(want[k]) ? isnan(values[4 * i + k]) : values[4 * i + k] == want[k]))
                fail_msg("bits %d of format %d: %a, not %a", i, k, (double)values[4 * i + k],
                         (double)want[k]);
    }
}

static void additions(void **state)
{
    uint16_t out[4 + 4 + 6 + 6];
    (void)state;
    CUdeviceptr at = to_device(NULL, sizeof out), b = at + 8, h2 = at + 16, b2 = at + 28;
    launch("additions", 1, 96, 0, (void *[]){&at, &b, &h2, &b2});
    from_device(out, at, sizeof out);
    for (int i = 0; i < 3; i++) {
        assert_true(acu_float_from_f16(out[i]) == 32 && acu_float_from_bf16(out[4 + i]) == 32);
        assert_true(acu_float_from_f16(out[8 + 2 * i]) == 32);
        assert_true(acu_float_from_f16(out[9 + 2 * i]) == 64);
        assert_true(acu_float_from_bf16(out[14 + 2 * i]) == 32);
        assert_true(acu_float_from_bf16(out[15 + 2 * i]) == 64);
    }
    assert_true(acu_float_from_f16(out[3]) == 7);
    assert_int_equal(out[7], 0);
}

static int setup(void **state)
{
    (void)state;
    return on_device_setup(test_halves_ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(conversions),
        cmocka_unit_test(additions),
    };
    return cmocka_run_group_tests_name("kernels.halves", tests, setup, on_device_teardown);
}
