/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kernels/prelude.cuh gives to kernels: math to its stated accuracy, integers, warps, blocks,
 * atomics, types. The same on the software device and on a GPU. */
#include <math.h>

#include "math_functions.h"
#include "on_device.h"
#include "ulps.h"

extern const char test_prelude_ptx[];

/* ---- math ----------------------------------------------------------------------------------- */

/* Arguments: all signs, exponents and special values, and many in the ranges that matter. */
#define ARGUMENTS 40000u
static float arguments[ARGUMENTS];
static double double_arguments[ARGUMENTS];

static uint64_t next_random(void)
{
    static uint64_t state = 0x2545f4914f6cdd1dull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static float random_in(float low, float high)
{
    return low + (high - low) * (float)((double)(next_random() >> 40) * 0x1p-24);
}

static void make_arguments(void)
{
    static const float special[] = {0.0f,
                                    -0.0f,
                                    1.0f,
                                    -1.0f,
                                    0.5f,
                                    -0.5f,
                                    1.5f,
                                    2.5f,
                                    -2.5f,
                                    INFINITY,
                                    -INFINITY,
                                    NAN,
                                    0x1p-149f,
                                    -0x1p-149f,
                                    0x1p-126f,
                                    0x1.fffffep127f,
                                    -0x1.fffffep127f,
                                    88.72284f,
                                    -87.33655f,
                                    -103.9720840f,
                                    128.0f,
                                    -150.0f,
                                    48000.0f,
                                    48000.004f,
                                    8388607.5f};
    static const float ranges[][2] = {{-1, 1}, {-90, 90}, {0.6f, 1.4f}, {-10, 10}, {-1e5f, 1e5f}};
    const unsigned specials = sizeof special / sizeof special[0];
    for (unsigned i = 0; i < ARGUMENTS; i++) {
        const float *range = ranges[i % 5];
        if (i < specials)
            arguments[i] = special[i];
        else if (i % 4 == 0)
            arguments[i] = float_of((uint32_t)(next_random() >> 32));
        else
            arguments[i] = random_in(range[0], range[1]);
        double_arguments[i] = i < specials ? (double)special[i]
                              : i % 4 == 0 ? double_of(next_random())
                                           : (double)arguments[i] * (1.0 + 0x1p-30 * (i % 1000));
    }
}

static double float_ulps(float got, double want)
{
    return ulps(got, want, 24, -125, 0x1.fffffep127L);
}

static void check_function(const char *kernel, double (*reference)(double), double bound,
                           uint32_t expected)
{
    static float out[ARGUMENTS];
    unsigned n = ARGUMENTS;
    CUdeviceptr in = to_device(arguments, sizeof arguments), result = to_device(NULL, sizeof out);
    launch(kernel, (n + 255) / 256, 256, 0, (void *[]){&result, &in, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, in, sizeof arguments);
    uint32_t hash = 2166136261u;
    for (unsigned i = 0; i < n; i++) {
        double want = reference((double)arguments[i]);
        if (!(float_ulps(out[i], want) <= bound))
            fail_msg("%s(%a): %a, should be %a: %.3f ulp", kernel, (double)arguments[i],
                     (double)out[i], want, float_ulps(out[i], want));
        hash = add_to_hash(hash, &out[i], sizeof out[i], isnan(out[i]));
    }
    check_hash(kernel, hash, expected);
}

static void check_double(const char *kernel, long double (*reference)(long double), double bound,
                         uint32_t expected)
{
    static double out[ARGUMENTS];
    unsigned n = ARGUMENTS;
    CUdeviceptr in = to_device(double_arguments, sizeof double_arguments);
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch(kernel, (n + 255) / 256, 256, 0, (void *[]){&result, &in, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, in, sizeof double_arguments);
    uint32_t hash = 2166136261u;
    for (unsigned i = 0; i < n; i++) {
        long double want = reference((long double)double_arguments[i]);
        double distance = ulps(out[i], want, 53, -1021, 0x1.fffffffffffffp1023L);
        if (!(distance <= bound))
            fail_msg("%s(%a): %a, should be %La: %.3f ulp", kernel, double_arguments[i], out[i],
                     want, distance);
        hash = add_to_hash(hash, &out[i], sizeof out[i], isnan(out[i]));
    }
    check_hash(kernel, hash, expected);
}

#define FLOAT_TEST(name, reference, bound, hash) \
    static void test_##name(void **state) \
    { \
        (void)state; \
        check_function("run_" #name, reference, bound, hash##u); \
    }
MATH_FLOAT_FUNCTIONS(FLOAT_TEST)

#define DOUBLE_TEST(name, reference, bound, hash) \
    static void test_double_##name(void **state) \
    { \
        (void)state; \
        check_double("run_double_" #name, reference, bound, hash##u); \
    }
MATH_DOUBLE_FUNCTIONS(DOUBLE_TEST)

static void test_powf(void **state)
{
    static const float special[] = {
        0.0f,   -0.0f,  1.0f,    -1.0f,       2.0f,         -2.0f,       3.0f,
        -3.0f,  0.5f,   -0.5f,   INFINITY,    -INFINITY,    NAN,         1e38f,
        -1e38f, 1e-40f, -1e-40f, 16777215.0f, -16777215.0f, 16777216.0f, 4e9f};
    enum { SPECIALS = sizeof special / sizeof special[0], N = 20000 };
    static float x[N], y[N], out[N];
    unsigned n = N;
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        x[i] =
            i < SPECIALS * SPECIALS ? special[i / SPECIALS] : random_in(0.0f, i % 2 ? 4.0f : 1e6f);
        if (i % 3 == 0 && i >= SPECIALS * SPECIALS)
            x[i] = -x[i];
        y[i] = i < SPECIALS * SPECIALS ? special[i % SPECIALS] : random_in(-20.0f, 20.0f);
        if (i % 3 == 0)
            y[i] = rintf(y[i]);
    }
    CUdeviceptr dx = to_device(x, sizeof x), dy = to_device(y, sizeof y);
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch("run_powf", (N + 255) / 256, 256, 0, (void *[]){&result, &dx, &dy, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, dx, 0);
    from_device(NULL, dy, 0);
    for (unsigned i = 0; i < N; i++) {
        double want = pow((double)x[i], (double)y[i]);
        if (!(float_ulps(out[i], want) <= 0.6))
            fail_msg("powf(%a, %a): %a, should be %a", (double)x[i], (double)y[i], (double)out[i],
                     want);
    }
}

/* Results up to the largest and down to the smallest, where the power of a number near one is what
 * shows an error of its logarithm. */
static void test_pow(void **state)
{
    enum { N = 20000 };
    static double x[N], y[N], out[N];
    unsigned n = N;
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        double size = ldexp((double)(next_random() >> 11), -53);
        x[i] = i % 4 == 0   ? 1 - ldexp(size, -(int)(i % 40))
               : i % 4 == 1 ? 1 + ldexp(size, -(int)(i % 40))
               : i % 4 == 2 ? 0.5 + 2 * size
                            : ldexp(1 + size, (int)(i % 2000) - 1000);
        y[i] = (double)random_in(-740.0f, 709.0f) / log(x[i] == 1 ? 2 : x[i]);
    }
    CUdeviceptr dx = to_device(x, sizeof x), dy = to_device(y, sizeof y);
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch("run_pow", (N + 255) / 256, 256, 0, (void *[]){&result, &dx, &dy, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, dx, 0);
    from_device(NULL, dy, 0);
    for (unsigned i = 0; i < N; i++) {
        long double want = powl((long double)x[i], (long double)y[i]);
        double distance = ulps(out[i], want, 53, -1021, 0x1.fffffffffffffp1023L);
        if (!(distance <= 2.0))
            fail_msg("pow(%a, %a): %a, should be %La: %.3f ulp", x[i], y[i], out[i], want,
                     distance);
    }
}

/* Angles that are nearly multiples of a quarter turn, and such as are larger than 2^20. */
static void test_hard_angles(void **state)
{
    static const double angles[] = {0x1.39c6fd67805a7p+18,
                                    0x1.39c6fd67805a7p+19,
                                    0x1.a9adcc7f96cf0p+19,
                                    0x1.93c05c9ed3cbcp+18,
                                    0x1.edb9bbd6273d1p+19,
                                    0x1.23d98d86bd573p+19,
                                    0x1.bf9b3c6059d24p+17,
                                    0x1.fffffffffffffp+19,
                                    0x1.0000000000000p+20,
                                    0x1.921fb54442d18p+0,
                                    0x1.6ac5b262ca1ffp+849,
                                    0x1.0p+70,
                                    0x1.0p+100,
                                    0x1.93c05c9ed3cbcp+60,
                                    0x1.fffffffffffffp+1023,
                                    0x1.0p+1023,
                                    0x1.5p+317,
                                    0x1.ab1ceec0aac72p+317};
    enum { N = 2 * sizeof angles / sizeof *angles };
    double in[N], out[2][N];
    unsigned n = N;
    (void)state;
    for (unsigned i = 0; i < N; i++)
        in[i] = i % 2 ? -angles[i / 2] : angles[i / 2];
    CUdeviceptr x = to_device(in, sizeof in), sines = to_device(NULL, sizeof in);
    CUdeviceptr cosines = to_device(NULL, sizeof in);
    launch("run_double_sin", 1, 256, 0, (void *[]){&sines, &x, &n});
    launch("run_double_cos", 1, 256, 0, (void *[]){&cosines, &x, &n});
    from_device(out[0], sines, sizeof in);
    from_device(out[1], cosines, sizeof in);
    from_device(NULL, x, 0);
    for (unsigned i = 0; i < N; i++)
        for (int k = 0; k < 2; k++) {
            long double want = k ? cosl((long double)in[i]) : sinl((long double)in[i]);
            double distance = ulps(out[k][i], want, 53, -1021, 2);
            if (!(distance <= 1.0))
                fail_msg("%s(%a): %a, should be %La: %.3f ulp", k ? "cos" : "sin", in[i], out[k][i],
                         want, distance);
        }
}

static void test_pairs(void **state)
{
    enum { N = 1000 };
    float x[N], y[N], out[8 * N];
    unsigned n = N;
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        x[i] = arguments[i];
        y[i] = arguments[ARGUMENTS - 1 - i];
    }
    CUdeviceptr dx = to_device(x, sizeof x), dy = to_device(y, sizeof y);
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch("run_pairs", (N + 127) / 128, 128, 0, (void *[]){&result, &dx, &dy, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, dx, 0);
    from_device(NULL, dy, 0);
    for (unsigned i = 0; i < N; i++) {
        const float *o = out + 8 * i;
        assert_true(float_ulps(o[0], (double)fminf(x[i], y[i])) < 1e9);
        assert_true(isnan(x[i]) || isnan(y[i]) || o[0] == fminf(x[i], y[i]));
        assert_true(isnan(x[i]) || isnan(y[i]) || o[1] == fmaxf(x[i], y[i]));
        assert_true(float_ulps(o[2], (double)copysignf(x[i], y[i])) == 0.0);
        assert_true(float_ulps(o[3], (double)fmaf(x[i], y[i], 0.1f)) == 0.0);
        assert_true(float_ulps(o[4], sin((double)x[i])) <= 1.6);
        assert_true(float_ulps(o[5], cos((double)x[i])) <= 1.6);
        assert_true(o[6] == (isnan(x[i]) ? 1.0f : isinf(x[i]) ? 2.0f : 4.0f));
        assert_true(float_ulps(o[7], (double)(x[i] / y[i])) == 0.0);
    }
}

static void assert_near(float got, double want, double absolute, double relative)
{
    if (!(fabs((double)got - want) <= absolute + relative * fabs(want)))
        fail_msg("%a, should be near %a", (double)got, want);
}

/* Loose bounds: CUDA's own for its fast functions, over the range for which it gives them. */
static void test_approximations(void **state)
{
    enum { N = 500 };
    float in[N], out[8 * N];
    unsigned n = N;
    (void)state;
    for (unsigned i = 0; i < N; i++)
        in[i] = 0.01f + (float)i * (3.1f / N);
    CUdeviceptr x = to_device(in, sizeof in), result = to_device(NULL, sizeof out);
    launch("run_approximations", (N + 127) / 128, 128, 0, (void *[]){&result, &x, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, x, 0);
    for (unsigned i = 0; i < N; i++) {
        const float *o = out + 8 * i;
        double v = (double)in[i];
        assert_near(o[0], exp(v), 0.0, 0x1p-20);
        assert_near(o[1], log(v), 0x1p-20, 0x1p-21);
        assert_near(o[2], sin(v), 0x1p-20, 0.0);
        assert_near(o[3], cos(v), 0x1p-20, 0.0);
        assert_near(o[4], 1.0 / v, 0.0, 0x1p-22);
        assert_near(o[5], 1.0 / sqrt(v), 0.0, 0x1p-22);
        assert_near(o[6], pow(v, 1.5), 0.0, 0x1p-19);
        assert_near(o[7], v > 1.0 ? 1.0 : v, 0.0, 0.0);
    }
}

static void test_roundings(void **state)
{
    static const float in[8] = {1.0f,         0x1p-30f, 3.0f,       2.0f,
                                0x1.00001p0f, -2.5f,    0x1.001p0f, 0x1.002p0f};
    static const float want[26] = {
        1.0f,          0x1.555556p-2f, 0x1.6a09e6p0f, 0x1.00002p0f,  -2.0f, /* rn */
        1.0f,          0x1.555554p-2f, 0x1.6a09e6p0f, 0x1.00002p0f,  -2.0f, /* rz */
        0x1.000002p0f, 0x1.555556p-2f, 0x1.6a09e8p0f, 0x1.000022p0f, -2.0f, /* ru */
        1.0f,          0x1.555554p-2f, 0x1.6a09e6p0f, 0x1.00002p0f,  -3.0f, /* rd */
        0.0f,          0.0f,           0.0f,          0.0f,          0.0f,  0.0f};
    float out[26];
    (void)state;
    CUdeviceptr x = to_device(in, sizeof in), result = to_device(NULL, sizeof out);
    launch("run_roundings", 1, 1, 0, (void *[]){&result, &x});
    from_device(out, result, sizeof out);
    from_device(NULL, x, 0);
    for (int i = 0; i < 26; i++)
        assert_near(out[i], (double)want[i], 0.0, 0.0);
}

/* ---- integers ------------------------------------------------------------------------------- */

static uint64_t high_of_product(uint64_t a, uint64_t b)
{
    uint64_t a1 = a >> 32, a0 = a & 0xffffffffu, b1 = b >> 32, b0 = b & 0xffffffffu;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

static unsigned reversed(unsigned v)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        r |= (v >> i & 1u) << (31 - i);
    return r;
}

static unsigned dot_of_bytes(unsigned x, unsigned y)
{
    unsigned sum = 0;
    for (int i = 0; i < 32; i += 8)
        sum += (x >> i & 255u) * (y >> i & 255u);
    return sum;
}

static void check_integers(const unsigned *o, unsigned x, unsigned y)
{
    uint64_t wide = (uint64_t)x << 32 | y, swapped = (uint64_t)y << 32 | x;
    unsigned larger = (int)x > (int)y ? x : y;
    assert_int_equal(o[0], x ? __builtin_clz(x) : 32);
    assert_int_equal(o[1], wide ? __builtin_clzll(wide) : 64);
    assert_int_equal(o[2], __builtin_popcount(x));
    assert_int_equal(o[3], __builtin_popcountll(wide));
    assert_int_equal(o[4], reversed(x));
    assert_int_equal(o[5], __builtin_ffs((int)x));
    assert_int_equal(o[6], __builtin_ffsll((long long)wide));
    assert_int_equal(o[7],
                     (x & 255u) | (x >> 8 & 0xff00u) | (y & 255u) << 16 | (y >> 16 & 255u) << 24);
    assert_int_equal(o[8], (unsigned)(swapped << 9 >> 32));
    assert_int_equal(o[9], (unsigned)(swapped >> 9));
    assert_int_equal(o[10], (unsigned)((uint64_t)x * y >> 32));
    assert_int_equal(o[11], (unsigned)((uint64_t)((int64_t)(int)x * (int)y) >> 32));
    assert_int_equal(o[12], (unsigned)high_of_product(wide, wide));
    assert_int_equal(o[13], (x > y ? x - y : y - x) + 5u);
    assert_int_equal(o[14], (x < y ? x : y) ^ larger);
    assert_int_equal(o[15], dot_of_bytes(x, y) + 7u);
}

static void test_integers(void **state)
{
    enum { N = 512 };
    static const unsigned special[4] = {0u, 1u, 0x80000000u, 0xffffffffu};
    unsigned a[N], b[N], out[16 * N], n = N;
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        a[i] = i < 16 ? special[i / 4] : (unsigned)(next_random() >> (32 + i % 30));
        b[i] = i < 16 ? special[i % 4] : (unsigned)(next_random() >> 32);
    }
    CUdeviceptr x = to_device(a, sizeof a), y = to_device(b, sizeof b);
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch("run_integers", N / 64, 64, 0, (void *[]){&result, &x, &y, &n});
    from_device(out, result, sizeof out);
    from_device(NULL, x, 0);
    from_device(NULL, y, 0);
    for (unsigned i = 0; i < N; i++)
        check_integers(out + 16 * i, a[i], b[i]);
}

/* ---- warps, blocks, atomics, types ---------------------------------------------------------- */

static void check_lane(const unsigned out[][32], unsigned lane)
{
    unsigned third = 0;
    for (unsigned i = 0; i < 32; i += 3)
        third |= 1u << i;
    assert_int_equal(out[0][lane], 15);
    assert_int_equal(out[1][lane], lane < 2 ? lane : lane - 2);
    assert_int_equal(out[2][lane], lane % 8 + 3 < 8 ? lane + 3 : lane);
    assert_int_equal(out[3][lane], lane ^ 16u);
    assert_int_equal(out[4][lane], 4 * (lane ^ 1u) + 1);
    assert_int_equal(out[5][lane], third);
    assert_int_equal(out[6][lane], 1 + 4);
    assert_int_equal(out[7][lane], 0xffu << lane / 8 * 8);
    assert_int_equal(out[8][lane], 0xffffffffu);
    assert_int_equal(out[9][lane], 1);
    assert_int_equal(out[10][lane], lane % 2 ? 0xaaaau : 0u);
    assert_int_equal(out[11][lane], 0);
}

static void test_warp(void **state)
{
    unsigned out[12][32];
    (void)state;
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch("run_warp", 1, 32, 0, (void *[]){&result});
    from_device(out, result, sizeof out);
    for (unsigned lane = 0; lane < 32; lane++)
        check_lane((const unsigned(*)[32])out, lane);
}

static void test_block(void **state)
{
    enum { N = 200 };
    unsigned out[2 * N];
    (void)state;
    CUdeviceptr result = to_device(NULL, sizeof out);
    launch("run_block", 1, N, N * sizeof(unsigned), (void *[]){&result});
    from_device(out, result, sizeof out);
    for (unsigned t = 0; t < N; t++) {
        assert_int_equal(out[2 * t], (N - 1 - t) * (N - 1 - t) + (t + 1) % N);
        assert_int_equal(out[2 * t + 1], N / 4 * 8 + 4 + 2);
    }
}

static void test_atomics(void **state)
{
    enum { BLOCKS = 6, THREADS = 160, N = BLOCKS * THREADS };
    unsigned integers[16] = {[4] = 0xffffffffu, [8] = 9};
    uint64_t wide[8] = {0}, parity = 0;
    float real[2] = {0};
    double doubles[1] = {0};
    (void)state;
    CUdeviceptr di = to_device(integers, sizeof integers), dw = to_device(wide, sizeof wide);
    CUdeviceptr dr = to_device(real, sizeof real), dd = to_device(doubles, sizeof doubles);
    launch("run_atomics", BLOCKS, THREADS, 0, (void *[]){&di, &dw, &dr, &dd});
    from_device(integers, di, sizeof integers);
    from_device(wide, dw, sizeof wide);
    from_device(real, dr, sizeof real);
    from_device(doubles, dd, sizeof doubles);
    for (unsigned i = 0; i < N; i++)
        parity ^= i;
    const unsigned want[16] = {
        N,      0u - N,     5u - (N - 1), N - 1, 0, 0xffffffffu, (unsigned)parity,
        N % 10, 9 - N % 10, 0u - 2 * N,   1,     1, 3 * N,       0,
        0,      0};
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(integers[i], want[i]);
    assert_true(wide[0] == (uint64_t)N << 32 && wide[1] == (uint64_t)(N - 1) << 33);
    assert_true((int64_t)wide[2] == -(N - 1) && wide[3] == parity << 32);
    assert_true(real[0] == 0.5f * N && real[1] == 2.5f && doubles[0] == 0.25 * N);
}

static void test_types(void **state)
{
    float in[4 * 12], out[4 * 12];
    unsigned places[4];
    (void)state;
    for (int i = 0; i < 48; i++)
        in[i] = (float)i;
    CUdeviceptr x = to_device(in, sizeof in), result = to_device(NULL, sizeof out);
    CUdeviceptr where = to_device(NULL, sizeof places);
    launch("run_types", 3, 4, 0, (void *[]){&result, &x, &where});
    from_device(out, result, sizeof out);
    from_device(places, where, sizeof places);
    from_device(NULL, x, 0);
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 4; k++)
            assert_true(out[4 * i + k] == in[4 * i + 3 - k] * (float)(k + 1));
    }
    assert_int_equal(places[0], 311);
    assert_int_equal(places[1], 411);
    assert_int_equal(places[2], 32);
    assert_int_equal(places[3], 41);
}

static void test_memory(void **state)
{
    unsigned char from[300], to[640];
    size_t bytes = 300;
    (void)state;
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7);
    CUdeviceptr source = to_device(from, sizeof from), result = to_device(NULL, sizeof to);
    launch("run_memory", 1, 32, 0, (void *[]){&result, &source, &bytes});
    from_device(to, result, sizeof to);
    from_device(NULL, source, 0);
    assert_memory_equal(to, from, sizeof from);
    for (unsigned i = 300; i < sizeof to; i++)
        assert_int_equal(to[i], i < 600 ? 7 : 0);
}

static int setup(void **state)
{
    (void)state;
    make_arguments();
    return on_device_setup(test_prelude_ptx);
}

int main(void)
{
#define TEST_LINE(name, ...) cmocka_unit_test(test_##name),
#define DOUBLE_TEST_LINE(name, ...) cmocka_unit_test(test_double_##name),
    const struct CMUnitTest tests[] = {
        MATH_FLOAT_FUNCTIONS(TEST_LINE) MATH_DOUBLE_FUNCTIONS(DOUBLE_TEST_LINE)
            cmocka_unit_test(test_powf),
        cmocka_unit_test(test_pow),
        cmocka_unit_test(test_hard_angles),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_approximations),
        cmocka_unit_test(test_roundings),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_warp),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("kernels.prelude", tests, setup, on_device_teardown);
}
