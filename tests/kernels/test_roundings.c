/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arithmetic and conversions with a named rounding, of numbers in memory and of constants, against
 * the host's arithmetic under the same rounding.
 */
#include "on_device.h"
#include "roundings.h"

#include <fenv.h>
#include <math.h>

extern const char test_roundings_ptx[];

typedef struct value {
    float f;
    double d;
    int32_t i;
    uint32_t u;
    int64_t l;
    uint64_t w;
} value;

static const double numbers[] = {ROUNDED_NUMBERS};
static const uint64_t bits[] = {ROUNDED_BITS};
static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
static const char *const mode_names[] = {"rn", "rz", "ru", "rd"};

static const char *const names[] = {
#define NAME(name, arguments, t, result) "__" #name,
    ROUNDED(NAME)
#undef NAME
};
enum { FUNCTIONS = sizeof names / sizeof *names };

/* ---- the same on the host: operands go through memory that is volatile, so that they are computed
 * with where the code says, under the rounding in force ---- */

#define ARITHMETIC(t, type) \
    static volatile type x_##t, y_##t; \
    static type add_##t(type a, type b) \
    { \
        return x_##t = a, y_##t = b, x_##t + y_##t; \
    } \
    static type sub_##t(type a, type b) \
    { \
        return x_##t = a, y_##t = b, x_##t - y_##t; \
    } \
    static type mul_##t(type a, type b) \
    { \
        return x_##t = a, y_##t = b, x_##t * y_##t; \
    } \
    static type div_##t(type a, type b) \
    { \
        return x_##t = a, y_##t = b, x_##t / y_##t; \
    }
ARITHMETIC(f, float)
ARITHMETIC(d, double)

/* The C library's: gcc's own supposes rounding to the nearest. */
static double (*volatile const round_it)(double) = rint;

/* A number as an integer of so many bits: rounded, then the nearest that fits. A NaN is 0, but with
 * 64 bits on either side the top bit alone, as PTX defines it. */
static uint64_t whole(double number, int size, bool sign, bool from_double)
{
    double r = round_it(number), low = sign ? -ldexp(1, size - 1) : 0, high = ldexp(1, size - sign);
    uint64_t mask = size == 64 ? UINT64_MAX : UINT32_MAX;
    if (isnan(number))
        return from_double || size == 64 ? (uint64_t)1 << (size - 1) : 0;
    if (r >= high)
        return sign ? mask >> 1 : mask;
    if (r <= low)
        return sign ? (uint64_t)1 << (size - 1) : 0;
    return (sign ? (uint64_t)(int64_t)r : (uint64_t)r) & mask;
}

static uint64_t bits_of_f(float v)
{
    uint32_t word;
    memcpy(&word, &v, sizeof word);
    return word;
}
static uint64_t bits_of_d(double v)
{
    uint64_t word;
    memcpy(&word, &v, sizeof word);
    return word;
}

static volatile int64_t x_l;
static volatile uint64_t x_w;
static float float_of_d(double v)
{
    return x_d = v, (float)x_d;
}
static float float_of_l(int64_t v)
{
    return x_l = v, (float)x_l;
}
static float float_of_w(uint64_t v)
{
    return x_w = v, (float)x_w;
}
static double double_of_l(int64_t v)
{
    return x_l = v, (double)x_l;
}
static double double_of_w(uint64_t v)
{
    return x_w = v, v == 0 ? 0.0 : (double)x_w; /* clang makes -0 of 0 when rounding down */
}

#define REFERENCES(X) \
    X(fadd, bits_of_f(add_f(a.f, b.f))) \
    X(fsub, bits_of_f(sub_f(a.f, b.f))) X(fmul, bits_of_f(mul_f(a.f, b.f))) X( \
        fdiv, bits_of_f(div_f(a.f, b.f))) X(fmaf, bits_of_f((x_f = a.f, fmaf(x_f, b.f, c.f)))) \
        X(frcp, bits_of_f(div_f(1, a.f))) X(fsqrt, bits_of_f((x_f = a.f, sqrtf(x_f)))) X( \
            dadd, bits_of_d(add_d(a.d, b.d))) X(dsub, bits_of_d(sub_d(a.d, b.d))) \
            X(dmul, bits_of_d(mul_d(a.d, b.d))) X(ddiv, bits_of_d(div_d(a.d, b.d))) X( \
                fma, bits_of_d((x_d = a.d, fma(x_d, b.d, c.d)))) X(drcp, bits_of_d(div_d(1, a.d))) \
                X(dsqrt, bits_of_d((x_d = a.d, sqrt(x_d)))) X(float2int, \
                                                              whole((double)a.f, 32, true, false)) \
                    X(float2uint, whole((double)a.f, 32, false, false)) \
                        X(float2ll, whole((double)a.f, 64, true, false)) X( \
                            float2ull, whole((double)a.f, 64, false, false)) \
                            X(double2int, whole(a.d, 32, true, true)) \
                                X(double2uint, whole(a.d, 32, false, true)) X( \
                                    double2ll, whole(a.d, 64, true, true)) \
                                    X(double2ull, whole(a.d, 64, false, true)) \
                                        X(double2float, bits_of_f(float_of_d(a.d))) X( \
                                            int2float, bits_of_f(float_of_l(a.i))) \
                                            X(uint2float, bits_of_f(float_of_l(a.u))) \
                                                X(ll2float, bits_of_f(float_of_l(a.l))) \
                                                    X(ull2float, bits_of_f(float_of_w(a.w))) X( \
                                                        ll2double, bits_of_d(double_of_l(a.l))) \
                                                        X(ull2double, bits_of_d(double_of_w(a.w)))

static uint64_t reference(const char *name, value a, value b, value c)
{
#define X(function, expression) \
    if (strcmp(name, "__" #function) == 0) \
        return (expression);
    REFERENCES(X)
#undef X
    fail_msg("no reference for %s", name);
    return 0;
}

static value value_at(int i)
{
    double number = numbers[i % ROUNDED_COUNT];
    uint64_t word = bits[i % ROUNDED_COUNT];
    volatile float nearest = (float)number; /* here, whatever mode the caller sets next */
    return (value){nearest, number, (int32_t)word, (uint32_t)word, (int64_t)word, word};
}

static bool is_nan(const char *name, uint64_t word)
{
    float f;
    double d;
    uint32_t low = (uint32_t)word;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &word, sizeof d);
    bool to_double = name[2] == 'd' ? strncmp(name, "__double2", 9) != 0
                                    : strcmp(name, "__fma") == 0 || strstr(name, "2double");
    return to_double ? isnan(d) : (!strchr(name, '2') || strstr(name, "2float")) && isnan(f);
}

static void check(const uint64_t *have, const char *what)
{
    for (int i = 0; i < ROUNDED_COUNT; i++)
        for (int k = 0; k < FUNCTIONS; k++)
            for (int mode = 0; mode < 4; mode++) {
                value a = value_at(i), b = value_at(i + 1), c = value_at(i + 2);
                fesetround(modes[mode]);
                volatile uint64_t want = reference(names[k], a, b, c); /* before what follows */
                fesetround(FE_TONEAREST);
                uint64_t got = *have++;
                bool same = got == want || (is_nan(names[k], got) && is_nan(names[k], want));
                if (!same)
                    fail_msg("%s_%s of %s %a (%#llx), %a, %a is %#llx, not %#llx", names[k],
                             mode_names[mode], what, a.d, (unsigned long long)a.w, b.d, c.d,
                             (unsigned long long)got, (unsigned long long)want);
            }
}

enum { RESULTS = ROUNDED_COUNT * FUNCTIONS * 4 };

static void of_memory(void **state)
{
    static uint64_t out[RESULTS];
    int count = ROUNDED_COUNT;
    (void)state;
    CUdeviceptr a = to_device(numbers, sizeof numbers), b = to_device(bits, sizeof bits);
    CUdeviceptr to = to_device(NULL, sizeof out);
    launch("roundings_of_memory", 1, 1, 0, (void *[]){&to, &a, &b, &count});
    from_device(out, to, sizeof out);
    from_device(NULL, a, 0);
    from_device(NULL, b, 0);
    check(out, "numbers");
}

static void of_constants(void **state)
{
    static uint64_t out[RESULTS];
    (void)state;
    CUdeviceptr to = to_device(NULL, sizeof out);
    launch("roundings_of_constants", 1, 1, 0, (void *[]){&to});
    from_device(out, to, sizeof out);
    check(out, "constants");
}

static int setup(void **state)
{
    (void)state;
    return on_device_setup(test_roundings_ptx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_memory), cmocka_unit_test(of_constants)};
    return cmocka_run_group_tests_name("kernels.roundings", tests, setup, on_device_teardown);
}
