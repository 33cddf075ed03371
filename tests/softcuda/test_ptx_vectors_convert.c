/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cvt in all directions: widths, signs, saturation, rounding, out-of-range values and NaNs. */
#include "softcuda/ptx_vectors.h"
#include "softcuda/vector_floats.h"

__extension__ typedef __int128 s128;

static const uint64_t integers[] = {
    0,
    1,
    2,
    3,
    0x7F,
    0x80,
    0x81,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x12345678,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFF80,
    0xFFFFFFFF,
    0x1000001,
    0x1000003,
    0xFFF0,
    0x100000000,
    0x123456789ABCDEF0,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    0x8000000000000401,
    0x20000000000001,
    0xFFFFFFFF80000000,
    0xFFFFFFFFFFFFFF7F,
    0xFFFFFFFFFFFFFFFF,
};

static const uint64_t floats[] = {
    0x00000000, 0x80000000, 0x3F000000, 0xBF000000, 0x3F7FFFFF, 0x3FC00000, 0xBFC00000, 0x40200000,
    0xC0200000, 0x42FE0000, 0x42FF0000, 0x43000000, 0xC3008000, 0xC3018000, 0x437F0000, 0x437F8000,
    0x43800000, 0x46FFFF00, 0x47000000, 0x477FFF80, 0x47800000, 0x4EFFFFFF, 0x4F000000, 0xCF000000,
    0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x5F000000, 0xDF000000, 0x5F7FFFFF, 0x5F800000, 0x00000001,
    0x807FFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x477FE000, 0x33000001, 0x387FE000,
};

static const uint64_t doubles[] = {
    0x0000000000000000, 0x8000000000000000, 0x3FE0000000000000, 0xBFE0000000000000,
    0x3FEFFFFFFFFFFFFF, 0x3FF8000000000000, 0xC004000000000000, 0x405FE00000000000,
    0xC060100000000000, 0x406FF00000000000, 0x40DFFFE000000000, 0x40EFFFF000000000,
    0x41DFFFFFFFC00000, 0x41DFFFFFFFE00000, 0x41E0000000000000, 0xC1E0000000000000,
    0xC1E0000000200000, 0x41EFFFFFFFE00000, 0x41EFFFFFFFF00000, 0x41F0000000000000,
    0x43DFFFFFFFFFFFFF, 0x43E0000000000000, 0xC3E0000000000000, 0x43EFFFFFFFFFFFFF,
    0x43F0000000000000, 0x0000000000000001, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
    0xFFF0000000000000, 0x7FF8000000000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000,
    0x380FFFFFE0000000, 0x3690000000000001, 0x36A0000000000000, 0x40EFFE0000000000,
    0x3E70000000000001, 0x3FF0020000000000, 0x3FF0020000000001, 0xBFF0000010000000,
};

static const uint64_t halves[] = {
    0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x3800, 0xB800, 0x3E00, 0xC100,
    0x3C00, 0x57F8, 0x5BF8, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x4248,
};

/* ---- types ---------------------------------------------------------------------------------- */

typedef struct integer_type {
    const char *name;
    unsigned bits;
    bool sign;
    const char *in, *out; /* registers */
    char kind;            /* of the output register */
} integer_type;

static const integer_type types[] = {
    {"u8", 8, false, "%hx", "%w", 'w'},    {"s8", 8, true, "%hx", "%w", 'w'},
    {"u16", 16, false, "%hx", "%hw", 'h'}, {"s16", 16, true, "%hx", "%hw", 'h'},
    {"u32", 32, false, "%x", "%w", 'w'},   {"s32", 32, true, "%x", "%w", 'w'},
    {"u64", 64, false, "%a", "%d", 'd'},   {"s64", 64, true, "%a", "%d", 'd'},
};

typedef struct rounding {
    const char *to_float, *to_integer;
    int mode;
} rounding;

static const rounding roundings[] = {
    {"rn", "rni", FE_TONEAREST},
    {"rz", "rzi", FE_TOWARDZERO},
    {"rm", "rmi", FE_DOWNWARD},
    {"rp", "rpi", FE_UPWARD},
};

static s128 least(const integer_type *type)
{
    return type->sign ? -((s128)1 << (type->bits - 1)) : 0;
}

static s128 most(const integer_type *type)
{
    return ((s128)1 << (type->bits - type->sign)) - 1;
}

/* The number that the low bits of `bits` are in the type. */
static s128 number_of(uint64_t bits, const integer_type *type)
{
    const s128 low = (s128)bits & (((s128)1 << type->bits) - 1);
    return type->sign && low > most(type) ? low - ((s128)1 << type->bits) : low;
}

/* What a wider register holds: the number, sign- or zero-extended. */
static uint64_t extended(s128 number, const integer_type *type)
{
    return (uint64_t)number_of((uint64_t)number, type);
}

static s128 clamp(s128 number, const integer_type *type)
{
    return number < least(type) ? least(type) : number > most(type) ? most(type) : number;
}

/* The conversion that the functions below answer for; one runs at a time. */
static struct {
    const integer_type *to, *from;
    int mode;
    bool saturate;
    unsigned wrong; /* cases of the test that differed */
} now;

static int reset(void **state)
{
    (void)state;
    now.wrong = 0;
    return 0;
}

static void check(const char *body, char kind, uint64_t (*expect)(uint64_t, uint64_t, uint64_t),
                  bool (*defined)(uint64_t, uint64_t, uint64_t), const uint64_t *values,
                  size_t count)
{
    const vec_case it = {
        .name = body, .body = body, .kind = kind, .expect = expect, .defined = defined};
    now.wrong += vec_wrong(&it, 1, values, count);
}

/* ---- integers to integers ------------------------------------------------------------------- */

static uint64_t expect_integer(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    const s128 number = number_of(a, now.from);
    return extended(now.saturate ? clamp(number, now.to) : number, now.to);
}

static void test_integer_to_integer(void **state)
{
    (void)state;
    char body[80];
    for (size_t i = 0; i < VEC_COUNT(types); i++) {
        for (size_t j = 0; j < VEC_COUNT(types); j++) {
            now.to = &types[i];
            now.from = &types[j];
            /* PTX allows .sat only where something can be out of range. */
            const bool can_saturate =
                least(now.from) < least(now.to) || most(now.from) > most(now.to);
            for (int sat = 0; sat <= can_saturate; sat++) {
                now.saturate = sat;
                snprintf(body, sizeof body, "cvt.%s%s.%s %s, %s;", sat ? "sat." : "", now.to->name,
                         now.from->name, now.to->out, now.from->in);
                check(body, now.to->kind, expect_integer, NULL, integers, VEC_COUNT(integers));
            }
        }
    }
    assert_int_equal(now.wrong, 0);
}

/* ---- integers to floats --------------------------------------------------------------------- */

/* `number` rounded to `precision` bits, exactly. */
static double round_integer(s128 number, int mode, int precision)
{
    const bool negative = number < 0;
    const uint64_t magnitude = (uint64_t)(negative ? -number : number);
    int length = 0;
    while (length < 64 && magnitude >> length)
        length++;
    const int drop = length > precision ? length - precision : 0;
    /* Both parts are exact in a double: at most 53 bits each, as drop is at most 53. */
    const double kept = (double)(drop ? magnitude >> drop : magnitude);
    const uint64_t rest = drop ? magnitude & (((uint64_t)1 << drop) - 1) : 0;
    const uint64_t half = drop ? (uint64_t)1 << (drop - 1) : 1;
    const double tail = rest == 0 ? 0 : rest == half ? 0.5 : rest < half ? 0.25 : 0.75;
    const double rounded = rint_in(mode, negative ? -(kept + tail) : kept + tail);
    return ldexp(rounded, drop);
}

static uint64_t expect_f32(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f32((float)round_integer(number_of(a, now.from), now.mode, 24));
}

static uint64_t expect_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    const s128 number = number_of(a, now.from);
    const s128 magnitude = number < 0 ? -number : number;
    if (magnitude >> 53 == 0)
        return bits_of_f64((double)(int64_t)number);
    /* The hardware's own conversion in the mode; of the magnitude, so the mode is mirrored. */
    volatile uint64_t whole = (uint64_t)magnitude;
    volatile double result;
    const int mode = number < 0 && now.mode == FE_DOWNWARD ? FE_UPWARD
                     : number < 0 && now.mode == FE_UPWARD ? FE_DOWNWARD
                                                           : now.mode;
    fesetround(mode);
    result = (double)whole;
    fesetround(FE_TONEAREST);
    return bits_of_f64(number < 0 ? -result : result);
}

static uint64_t expect_f16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_small(now.mode, (double)(int64_t)number_of(a, now.from), F16);
}

static void test_integer_to_float(void **state)
{
    (void)state;
    char body[80];
    for (size_t i = 0; i < VEC_COUNT(types); i++) {
        for (size_t j = 0; j < VEC_COUNT(roundings); j++) {
            now.from = &types[i];
            now.mode = roundings[j].mode;
            snprintf(body, sizeof body, "cvt.%s.f32.%s %%fw, %s;", roundings[j].to_float,
                     now.from->name, now.from->in);
            check(body, 'f', expect_f32, NULL, integers, VEC_COUNT(integers));
            snprintf(body, sizeof body, "cvt.%s.f64.%s %%gw, %s;", roundings[j].to_float,
                     now.from->name, now.from->in);
            check(body, 'g', expect_f64, NULL, integers, VEC_COUNT(integers));
            if (now.from->bits > 32) /* keeps the expected value exact in a double */
                continue;
            snprintf(body, sizeof body, "cvt.%s.f16.%s %%hw, %s;", roundings[j].to_float,
                     now.from->name, now.from->in);
            check(body, 'h', expect_f16, NULL, integers, VEC_COUNT(integers));
        }
    }
    assert_int_equal(now.wrong, 0);
}

/* ---- floats to integers --------------------------------------------------------------------- */

static uint64_t from_real(double x, bool is_f64)
{
    if (isnan(x)) {
        const bool zero = !is_f64 && now.to->bits != 64;
        return zero ? 0 : extended((s128)1 << (now.to->bits - 1), now.to);
    }
    const double whole = rint_in(now.mode, x);
    if (whole >= 0x1p64)
        return extended(most(now.to), now.to);
    if (whole <= -0x1p63)
        return extended(least(now.to), now.to);
    return extended(clamp((s128)whole, now.to), now.to);
}

static uint64_t expect_from_f32(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return from_real((double)f32_of(a), false);
}

static uint64_t expect_from_ftz(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return from_real((double)ftz(f32_of(a)), false);
}

static uint64_t expect_from_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return from_real(f64_of(a), true);
}

/* PTX does not tell how a NaN of 64 bits looks in an integer of 8 or 16. */
static bool defined_from_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return !isnan(f64_of(a)) || now.to->bits >= 32;
}

static uint64_t expect_from_f16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return from_real(small_of(a & 0xFFFF, F16), false);
}

static void test_float_to_integer(void **state)
{
    (void)state;
    char body[80];
    for (size_t i = 0; i < VEC_COUNT(types); i++) {
        for (size_t j = 0; j < VEC_COUNT(roundings); j++) {
            const char *round = roundings[j].to_integer;
            now.to = &types[i];
            now.mode = roundings[j].mode;
            const char kind = now.to->kind;
            snprintf(body, sizeof body, "cvt.%s.%s.f32 %s, %%fx;", round, now.to->name,
                     now.to->out);
            check(body, kind, expect_from_f32, NULL, floats, VEC_COUNT(floats));
            snprintf(body, sizeof body, "cvt.%s.ftz.%s.f32 %s, %%fx;", round, now.to->name,
                     now.to->out);
            check(body, kind, expect_from_ftz, NULL, floats, VEC_COUNT(floats));
            snprintf(body, sizeof body, "cvt.%s.%s.f64 %s, %%gx;", round, now.to->name,
                     now.to->out);
            check(body, kind, expect_from_f64, defined_from_f64, doubles, VEC_COUNT(doubles));
            snprintf(body, sizeof body, "cvt.%s.%s.f16 %s, %%hx;", round, now.to->name,
                     now.to->out);
            check(body, kind, expect_from_f16, NULL, halves, VEC_COUNT(halves));
        }
    }
    assert_int_equal(now.wrong, 0);
}

/* ---- floats to floats ----------------------------------------------------------------------- */

static uint64_t expect_f32_of_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f32(to_f32_in(now.mode, f64_of(a)));
}

static uint64_t expect_f16_of_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_small(now.mode, f64_of(a), F16);
}

static uint64_t expect_f16_of_f32(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_small(now.mode, (double)f32_of(a), F16);
}

static uint64_t expect_rounded_f32(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f32((float)rint_in(now.mode, (double)f32_of(a)));
}

static uint64_t expect_rounded_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f64(rint_in(now.mode, f64_of(a)));
}

/* The payload of a NaN of 16 bits is not compared. */
static bool number_f32(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return !isnan(f32_of(a));
}

static bool number_f64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return !isnan(f64_of(a));
}

static void test_float_to_narrower_float(void **state)
{
    (void)state;
    char body[80];
    for (size_t j = 0; j < VEC_COUNT(roundings); j++) {
        const rounding *r = &roundings[j];
        now.mode = r->mode;
        snprintf(body, sizeof body, "cvt.%s.f32.f64 %%fw, %%gx;", r->to_float);
        check(body, 'f', expect_f32_of_f64, NULL, doubles, VEC_COUNT(doubles));
        snprintf(body, sizeof body, "cvt.%s.f16.f32 %%hw, %%fx;", r->to_float);
        check(body, 'h', expect_f16_of_f32, number_f32, floats, VEC_COUNT(floats));
        snprintf(body, sizeof body, "cvt.%s.f16.f64 %%hw, %%gx;", r->to_float);
        check(body, 'h', expect_f16_of_f64, number_f64, doubles, VEC_COUNT(doubles));
        snprintf(body, sizeof body, "cvt.%s.f32.f32 %%fw, %%fx;", r->to_integer);
        check(body, 'f', expect_rounded_f32, NULL, floats, VEC_COUNT(floats));
        snprintf(body, sizeof body, "cvt.%s.f64.f64 %%gw, %%gx;", r->to_integer);
        check(body, 'g', expect_rounded_f64, NULL, doubles, VEC_COUNT(doubles));
    }
    assert_int_equal(now.wrong, 0);
}

static uint64_t expect_f64_of_f32(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f64((double)f32_of(a));
}

static uint64_t expect_f64_of_ftz(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f64((double)ftz(f32_of(a)));
}

static uint64_t expect_f32_of_f16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f32((float)small_of(a & 0xFFFF, F16));
}

static uint64_t expect_f64_of_f16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f64(small_of(a & 0xFFFF, F16));
}

static void test_float_to_wider_float(void **state)
{
    (void)state;
    check("cvt.f64.f32 %gw, %fx;", 'g', expect_f64_of_f32, NULL, floats, VEC_COUNT(floats));
    check("cvt.ftz.f64.f32 %gw, %fx;", 'g', expect_f64_of_ftz, NULL, floats, VEC_COUNT(floats));
    check("cvt.f32.f16 %fw, %hx;", 'f', expect_f32_of_f16, NULL, halves, VEC_COUNT(halves));
    check("cvt.f64.f16 %gw, %hx;", 'g', expect_f64_of_f16, NULL, halves, VEC_COUNT(halves));
    assert_int_equal(now.wrong, 0);
}

static uint64_t expect_saturated(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_f32(sat(f32_of(a)));
}

/* The sign of the zero that saturation makes of -0 is not stated. */
static bool defined_saturated(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return a != 0x80000000;
}

static void test_saturated_float(void **state)
{
    (void)state;
    check("cvt.sat.f32.f32 %fw, %fx;", 'f', expect_saturated, defined_saturated, floats,
          VEC_COUNT(floats));
    assert_int_equal(now.wrong, 0);
}

/* ---- pairs and bfloat16 --------------------------------------------------------------------- */

static uint64_t expect_bf16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return bits_of_small(now.mode, (double)f32_of(a), BF16);
}

static uint64_t expect_f16x2(uint64_t a, uint64_t b, uint64_t c)
{
    return expect_f16_of_f32(a, b, c) << 16 | expect_f16_of_f32(b, a, c);
}

static uint64_t expect_bf16x2(uint64_t a, uint64_t b, uint64_t c)
{
    return expect_bf16(a, b, c) << 16 | expect_bf16(b, a, c);
}

static bool numbers_f32(uint64_t a, uint64_t b, uint64_t c)
{
    return number_f32(a, b, c) && number_f32(b, a, c);
}

static void test_pairs_and_bfloat16(void **state)
{
    (void)state;
    if (vec.capability < 80)
        skip();
    const vec_case cases[] = {
        {"bf16", "cvt.rn.bf16.f32 %hw, %fx;", 'h', 80, 0, expect_bf16, number_f32},
        {"f16x2", "cvt.rn.f16x2.f32 %w, %fx, %fy;", 'w', 80, 0, expect_f16x2, numbers_f32},
        {"bf16x2", "cvt.rn.bf16x2.f32 %w, %fx, %fy;", 'w', 80, 0, expect_bf16x2, numbers_f32},
    };
    const vec_case toward_zero[] = {
        {"bf16.rz", "cvt.rz.bf16.f32 %hw, %fx;", 'h', 80, 0, expect_bf16, number_f32},
        {"f16x2.rz", "cvt.rz.f16x2.f32 %w, %fx, %fy;", 'w', 80, 0, expect_f16x2, numbers_f32},
    };
    now.mode = FE_TONEAREST;
    vec_check(cases, VEC_COUNT(cases), floats, VEC_COUNT(floats));
    now.mode = FE_TOWARDZERO;
    vec_check(toward_zero, VEC_COUNT(toward_zero), floats, VEC_COUNT(floats));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_integer_to_integer, reset),
        cmocka_unit_test_setup(test_integer_to_float, reset),
        cmocka_unit_test_setup(test_float_to_integer, reset),
        cmocka_unit_test_setup(test_float_to_narrower_float, reset),
        cmocka_unit_test_setup(test_float_to_wider_float, reset),
        cmocka_unit_test_setup(test_saturated_float, reset),
        cmocka_unit_test_setup(test_pairs_and_bfloat16, reset),
    };
    return cmocka_run_group_tests_name("ptx_vectors_convert", tests, vec_setup, vec_teardown);
}
