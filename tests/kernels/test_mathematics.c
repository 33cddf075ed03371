/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions of kernels/math_more.cuh to their stated accuracy, against long double; the same
 * bits on the software device and on a GPU. */
#include "mathematics.h"
#include "ulps.h"

extern const char test_mathematics_ptx[];

enum { COUNT = 12000 };
static double arguments[2][COUNT];
static float singles[2][COUNT];

static uint64_t next_random(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Special values, all bits, and many in the ranges that matter. */
static double next_argument(int i, bool single)
{
    static const double special[] = {0,
                                     1,
                                     0.5,
                                     1.5,
                                     2,
                                     2.5,
                                     3,
                                     4,
                                     8,
                                     INFINITY,
                                     0x1p-149,
                                     0x1p-1074,
                                     0x1.fffffep127,
                                     0x1.fffffffffffffp1023,
                                     0x1p-126,
                                     88,
                                     710,
                                     28};
    static const double ranges[][2] = {{-1, 1}, {0, 2}, {-10, 10}, {-1000, 1000}, {0, 30}};
    const int specials = sizeof special / sizeof *special;
    double part = (double)(next_random() >> 11) * 0x1p-53;
    const double *range = ranges[i % 5];
    if (i == 0)
        return NAN;
    if (i <= 2 * specials)
        return special[(i - 1) / 2] * (i % 2 ? 1 : -1);
    if (i % 6 == 0 && single)
        return (double)float_of((uint32_t)(next_random() >> 32));
    if (i % 6 == 0)
        return double_of(next_random());
    return range[0] + (range[1] - range[0]) * part;
}

static void make_arguments(void)
{
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < COUNT; i++) {
            int number = k ? i * 7 % COUNT : i; /* so that special values meet others */
            arguments[k][i] = next_argument(number, false);
            singles[k][i] = (float)next_argument(number, true);
        }
    for (int i = 0; i < 1600; i++) { /* all pairs of special values */
        arguments[0][i] = next_argument(i % 40, false);
        arguments[1][i] = next_argument(i / 40, false);
        singles[0][i] = (float)arguments[0][i];
        singles[1][i] = (float)arguments[1][i];
    }
}

/* ---- references that the C library lacks ----------------------------------------------------- */

#define PI 3.14159265358979323846264338327950288L

static long double exp10_reference(long double x)
{
    return powl(10, x);
}
static long double sinpi_reference(long double x)
{
    long double r = remainderl(x, 2);
    if (r == 0 || fabsl(r) == 1)
        return copysignl(0, x);
    r = fabsl(r) > 0.5L ? copysignl(1, r) - r : r;
    return sinl(PI * r);
}
static long double cospi_reference(long double x)
{
    long double r = fabsl(remainderl(x, 2));
    return r == 0.5L ? 0 : r > 0.25L && r < 0.75L ? sinl(PI * (0.5L - r)) : cosl(PI * r);
}
static long double rcbrt_reference(long double x)
{
    return 1 / cbrtl(x);
}
static long double rhypot_reference(long double x, long double y)
{
    return 1 / hypotl(x, y);
}
static long double erfcx_reference(long double x)
{
    long double t = x;
    if (x < 4)
        return expl(x * x) * erfcl(x);
    for (int n = 100; n > 0; n--) /* the continued fraction */
        t = x + 0.5L * n / t;
    return 1 / (t * sqrtl(PI));
}
/* The x >= 0 for which erfc(x) is q and erf(x) is y, by Newton's method on erf, or on the logarithm
 * of erfc. */
static long double inverse_of(long double q, long double y)
{
    long double x = q < 0.5L ? sqrtl(-logl(q)) : y * 0.886L;
    for (int i = 0; i < 12; i++)
        x += q < 0.5L ? logl(erfcl(x) / q) * erfcl(x) * expl(x * x) * sqrtl(PI) / 2
                      : (y - erfl(x)) * expl(x * x) * sqrtl(PI) / 2;
    return x;
}
static long double erfinv_reference(long double y)
{
    long double a = fabsl(y);
    if (!(a < 1))
        return a == 1 ? copysignl((long double)INFINITY, y) : (long double)NAN;
    return copysignl(a < 1e-10L ? a * sqrtl(PI) / 2 : inverse_of(1 - a, a), y);
}
static long double erfcinv_reference(long double q)
{
    if (!(q > 0 && q < 2))
        return q == 0 ? (long double)INFINITY : q == 2 ? -(long double)INFINITY : (long double)NAN;
    return q > 0.5L ? erfinv_reference(1 - q) : inverse_of(q, 1 - q);
}
static long double normcdf_reference(long double x)
{
    return erfcl(-x / sqrtl(2)) / 2;
}
static long double normcdfinv_reference(long double p)
{
    return -sqrtl(2) * erfcinv_reference(2 * p);
}
/* The series, whose terms are all positive. */
static long double modified(long double x, int order)
{
    long double term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 4000 && sum < 1e320L && fabsl(term) > 1e-25L * fabsl(sum); k++) {
        term *= x / 2 * (x / 2) / ((long double)k * (k + order));
        sum += term;
    }
    return isinf(x) ? (order ? x : fabsl(x)) : sum;
}
static long double i0_reference(long double x)
{
    return modified(x, 0);
}
static long double i1_reference(long double x)
{
    return modified(x, 1);
}

static long double nextafter_reference(long double x, long double y)
{
    return (long double)nextafter((double)x, (double)y);
}
static long double nextafterf_reference(long double x, long double y)
{
    return (long double)nextafterf((float)x, (float)y);
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct form {
    const char *name;
    bool single;
    int operands;
    long double (*one)(long double);
    long double (*two)(long double, long double);
    double from, to, bound;
    uint32_t hash;
} form;

static double argument(const form *f, int which, int i)
{
    return f->single ? (double)singles[which][i] : arguments[which][i];
}

static double distance(const form *f, double got, long double want)
{
    return f->single ? ulps(got, want, 24, -125, 0x1.fffffep127L)
                     : ulps(got, want, 53, -1021, 0x1.fffffffffffffp1023L);
}

static void compare(const form *f, int i, double got)
{
    double x = argument(f, 0, i), y = argument(f, 1, i);
    if (x < f->from || x > f->to)
        return;
    long double want = f->operands == 1 ? f->one(x) : f->two(x, y);
    if (want == 0 && got == 0 && f->operands == 1) /* of a zero's sign CUDA promises little */
        return;
    if (!(distance(f, got, want) <= f->bound))
        fail_msg("%s(%a, %a): %a, should be %La: %.3f ulp", f->name, x, y, got, want,
                 distance(f, got, want));
}

static void check(form f)
{
    static char out[COUNT * 8];
    unsigned n = COUNT;
    uint32_t hash = 2166136261u;
    size_t size = f.single ? 4 : 8;
    const void *from[2] = {arguments[0], arguments[1]};
    if (f.single)
        from[0] = singles[0], from[1] = singles[1];
    CUdeviceptr x = to_device(from[0], COUNT * size), y = to_device(from[1], COUNT * size);
    CUdeviceptr to = to_device(NULL, COUNT * size);
    launch(f.name, (n + 255) / 256, 256, 0,
           f.operands == 1 ? (void *[]){&to, &x, &n} : (void *[]){&to, &x, &y, &n});
    from_device(out, to, COUNT * size);
    from_device(NULL, x, 0);
    from_device(NULL, y, 0);
    for (int i = 0; i < COUNT; i++) {
        float single;
        double number;
        memcpy(&single, out + size * (size_t)i, sizeof single);
        memcpy(&number, out + size * (size_t)i * (f.single ? 0 : 1), sizeof number);
        number = f.single ? (double)single : number;
        compare(&f, i, number);
        hash = add_to_hash(hash, out + size * (size_t)i, size, isnan(number));
    }
    check_hash(f.name, hash, f.hash);
}

static void of_one_argument(void **state)
{
    (void)state;
#define CHECK_1(name, reference, from, to, bound, bound_f, hash, hash_f) \
    check((form){"run_" #name, false, 1, reference, NULL, from, to, bound, hash}); \
    check((form){"run_" #name "f", true, 1, reference, NULL, from, to, bound_f, hash_f});
#define CHECK_RANGE(name, reference, range, ...) CHECK_1(name, reference, range, __VA_ARGS__)
    MATHEMATICS_1(CHECK_RANGE)
}

static void of_two_arguments(void **state)
{
    (void)state;
#define CHECK_2(name, reference, bound, bound_f, hash, hash_f) \
    check((form){"run_" #name, false, 2, NULL, reference, ALL, bound, hash}); \
    check((form){"run_" #name "f", true, 2, NULL, \
                 reference == nextafter_reference ? nextafterf_reference : reference, ALL, \
                 bound_f, hash_f});
    MATHEMATICS_2(CHECK_2)
}

static void parts(void **state)
{
    enum { N = 3000, EACH = 12 };
    static double out[N * EACH];
    unsigned n = N;
    (void)state;
    CUdeviceptr x = to_device(arguments[0] + 1600, N * sizeof(double));
    CUdeviceptr to = to_device(NULL, sizeof out);
    launch("parts_of_numbers", 1, 64, 0, (void *[]){&to, &x, &n});
    from_device(out, to, sizeof out);
    from_device(NULL, x, 0);
    for (int i = 0; i < N; i++) {
        double v = arguments[0][1600 + i], *o = out + EACH * i, whole, want[EACH];
        float f = (float)v, part;
        int exponent, quotient;
        if (!(fabs(v) < 1e15) || fabs(v) < 1e-35)
            continue;
        want[0] = frexp(v, &exponent);
        want[1] = exponent;
        want[2] = modf(v, &whole);
        want[3] = whole;
        want[4] = ldexp(v, i % 2200 - 1100);
        want[5] = (double)ldexpf(f, i % 300 - 150);
        want[6] = remquo(v, 3.0, &quotient);
        want[7] = quotient & 7;
        want[8] = ilogb(v);
        want[9] = (double)frexpf(f, &exponent);
        want[9] += exponent;
        want[10] = (double)modff(f, &part);
        want[10] += 2 * (double)part;
        want[11] = (double)llrint(v) + 3 * (double)lround(v) + 5 * (signbit(v) != 0);
        for (int k = 0; k < EACH; k++)
            if (o[k] != want[k])
                fail_msg("part %d of %a is %a, not %a", k, v, o[k], want[k]);
    }
}

static void lengths(void **state)
{
    static const double x[] = {3e-200, -4e-200, 12e-200, 84e-200, 3,       4,
                               -12,    84,      3e200,   4e200,   -12e200, 84e200};
    double out[12];
    (void)state;
    for (int i = 0; i < 3; i++) {
        const double *v = x + 4 * i, three = 13 * fabs(v[0] / 3), four = 85 * fabs(v[0] / 3);
        const double want[12] = {three, four, 1 / three, 1 / four, four, 1 / four};
        CUdeviceptr in = to_device(v, 4 * sizeof *v), to = to_device(NULL, sizeof out);
        launch("lengths", 1, 1, 0, (void *[]){&to, &in});
        from_device(out, to, sizeof out);
        from_device(NULL, in, 0);
        for (int k = 0; k < (i == 1 ? 12 : 6); k++) {
            double w = k < 6 ? want[k] : (double)(float)want[k - 6];
            if (!(fabs(out[k] - w) <= 3e-16 * w))
                fail_msg("length %d of row %d is %.17g, not %.17g", k, i, out[k], w);
        }
    }
}

/* jn and yn by forward and backward recurrences; their errors are relative to the wave's height. */
static void orders(void **state)
{
    static const int n[] = {0, 1, 2, 3, 7, 20, 60};
    static const double x[] = {0.3, 1, 2.5, 7.9, 8.1, 19.5, 60, 61, 300, -4.25, 1e-9};
    enum { N = sizeof n / sizeof *n, X = sizeof x / sizeof *x };
    double out[N * X * 4];
    unsigned orders = N, count = X;
    CUdeviceptr of_n = to_device(n, sizeof n), of_x = to_device(x, sizeof x);
    CUdeviceptr to = to_device(NULL, sizeof out);
    (void)state;
    launch("orders", 1, 1, 0, (void *[]){&to, &of_n, &of_x, &orders, &count});
    from_device(out, to, sizeof out);
    from_device(NULL, of_n, 0);
    from_device(NULL, of_x, 0);
    for (int i = 0; i < N * X; i++) {
        const double v = x[i % X], *o = out + 4 * i;
        const long double j = jnl(n[i / X], v), y = v > 0 ? ynl(n[i / X], v) : 0;
        const double height = 5e-15 / sqrt(fabs(v) < 1 ? 1 : fabs(v));
        if (!(fabs(o[0] - (double)j) <= height) || o[2] != (double)(float)o[0])
            fail_msg("jn(%d, %g) is %.17g, not %.17Lg", n[i / X], v, o[0], j);
        if (!(v > 0 ? isinf((double)y) ? o[1] == (double)y
                                       : fabs(o[1] - (double)y) <= height + 3e-14 * fabs((double)y)
                    : o[1] != o[1]))
            fail_msg("yn(%d, %g) is %.17g, not %.17Lg", n[i / X], v, o[1], y);
    }
    assert_true(out[3] == (double)(float)out[1]);
}

static void short_forms(void **state)
{
    static const float x[] = {0, 1e-30f, -0.0199f, 0.0201f, 0.3f, -1, 5, -9, 44, -300, 1e30f};
    enum { N = sizeof x / sizeof *x };
    float out[2 * N];
    unsigned n = N;
    CUdeviceptr in = to_device(x, sizeof x), to = to_device(NULL, sizeof out);
    (void)state;
    launch("short_forms", 1, 1, 0, (void *[]){&to, &in, &n});
    from_device(out, to, sizeof out);
    from_device(NULL, in, 0);
    for (int i = 0; i < N; i++) {
        const double want = tanh((double)x[i]);
        if (!(fabs((double)out[2 * i] - want) <= 0x1p-12 * fabs(want)) || out[2 * i + 1] != 1)
            fail_msg("__tanhf(%g) is %g, not %g", (double)x[i], (double)out[2 * i], want);
    }
}

static int setup(void **state)
{
    (void)state;
    make_arguments();
    return on_device_setup(test_mathematics_ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_argument),
        cmocka_unit_test(of_two_arguments),
        cmocka_unit_test(parts),
        cmocka_unit_test(lengths),
        cmocka_unit_test(orders),
        cmocka_unit_test(short_forms),
    };
    return cmocka_run_group_tests_name("kernels.mathematics", tests, setup, on_device_teardown);
}
