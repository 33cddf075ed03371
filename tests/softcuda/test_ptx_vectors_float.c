/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Floating-point instructions with known answers: exact ones, and approximate ones within the error
   that PTX documents. */
#include "softcuda/ptx_vectors.h"
#include "softcuda/vector_floats.h"

static const uint64_t values32[] = {
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, /* 0 -0 1 -1 */
    0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, /* subnormals, smallest normals */
    0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, /* largest, infinity */
    0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, /* NaNs */
    0x3DCCCCCD, 0xC06CCCCD, 0x40000000, 0x3F000000, /* 0.1 -3.7 2 0.5 */
    0x40200000, 0x40490FDB, 0x4B800000, 0x4F000000, /* 2.5 pi 2^24 2^31 */
    0x33800000, 0x3F800001, 0x3F7FFFFE, 0xBE124925, /* 2^-24, next to 1, -1/7 */
    0x501502F9, 0x2EDBE6FF, 0xC2C80000, 0x42AE999A, /* 1e10 1e-10 -100 87.3 */
};

static const uint64_t values64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
    0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x8010000000000000,
    0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
    0x7FF8000000000000, 0xFFF8000000012345, 0x7FF0000000000001, 0x3FB999999999999A,
    0xC00D99999999999A, 0x4000000000000000, 0x400921FB54442D18, 0x3FF0000000000001,
    0x3FEFFFFFFFFFFFFF, 0x4340000000000000, 0x41E0000000000000, 0xBFC2492492492492,
    0x4202A05F20000000, 0x3CA0000000000000,
};

/* Pairs of f16 (and, read otherwise, of bf16) in the low 32 bits. */
static const uint64_t values16[] = {
    0x00000000, 0x80008000, 0x3C003C00, 0xBC00BC01, 0x00010001, 0x800183FF, 0x03FF0400, 0x7BFF3555,
    0xFBFF7BFF, 0x7C00FC00, 0x7E003C00, 0x3C007E01, 0x2E663800, 0xC2664000, 0x64003C01, 0x68003BFF,
    0x04010401, 0x3F804000, 0x7F7F3F81, 0x00800080, 0x3F803F80, 0x7F800001, 0xC2484248, 0x5BFF1400,
};

/* ---- the same in C -------------------------------------------------------------------------- */

/* PTX's minimum: a number beats a NaN, and -0 is less than +0. */
static double minimum(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double maximum(double a, double b)
{
    return -minimum(-a, -b);
}

/* The answer of setp.<op> for floats; u: true where either is NaN. */
static bool compare(const char *op, double a, double b)
{
    const bool unordered = isnan(a) || isnan(b);
    if (strcmp(op, "num") == 0)
        return !unordered;
    if (strcmp(op, "nan") == 0)
        return unordered;
    if (unordered)
        return op[2] == 'u';
    switch (op[0] << 8 | op[1]) {
    case 'e' << 8 | 'q':
        return a == b;
    case 'n' << 8 | 'e':
        return a != b;
    case 'l' << 8 | 't':
        return a < b;
    case 'l' << 8 | 'e':
        return a <= b;
    case 'g' << 8 | 't':
        return a > b;
    default:
        return a >= b;
    }
}

static bool testp(const char *what, double x, bool subnormal)
{
    if (strcmp(what, "finite") == 0)
        return !isnan(x) && !isinf(x);
    if (strcmp(what, "infinite") == 0)
        return isinf(x);
    if (strcmp(what, "number") == 0)
        return !isnan(x);
    if (strcmp(what, "notanumber") == 0)
        return isnan(x);
    if (strcmp(what, "normal") == 0)
        return !isnan(x) && !isinf(x) && !subnormal;
    return subnormal;
}

/* One lane of a 16-bit operation: a * b + c. */
static uint64_t small_fma(uint64_t a, uint64_t b, uint64_t c, int fraction)
{
    return bits_of_small(
        FE_TONEAREST,
        fma_to_odd(small_of(a, fraction), small_of(b, fraction), small_of(c, fraction)), fraction);
}

static uint64_t small_add(uint64_t a, uint64_t b, int fraction)
{
    return bits_of_small(FE_TONEAREST, small_of(a, fraction) + small_of(b, fraction), fraction);
}

static uint64_t small_mul(uint64_t a, uint64_t b, int fraction)
{
    return bits_of_small(FE_TONEAREST, small_of(a, fraction) * small_of(b, fraction), fraction);
}

static bool small_is_nan(uint64_t bits, int fraction)
{
    return isnan(small_of(bits & 0xFFFF, fraction));
}

/* ---- cases ---------------------------------------------------------------------------------- */

/*
 * X(name, kind, target, PTX, inputs with a stated result, result). f, g, h: f32 inputs; d, e, k:
 * f64 inputs; x, y, z: 32 bits.
 */
/* clang-format off */
#define ROUNDED32(X, mode, fe) \
    X(add_##mode##_f32, 'f', 0, "add." #mode ".f32 %fw, %fx, %fy;", 1, bits_of_f32(f32_in(fe, ADD, f, g, 0))) \
    X(sub_##mode##_f32, 'f', 0, "sub." #mode ".f32 %fw, %fx, %fy;", 1, bits_of_f32(f32_in(fe, SUB, f, g, 0))) \
    X(mul_##mode##_f32, 'f', 0, "mul." #mode ".f32 %fw, %fx, %fy;", 1, bits_of_f32(f32_in(fe, MUL, f, g, 0))) \
    X(div_##mode##_f32, 'f', 0, "div." #mode ".f32 %fw, %fx, %fy;", 1, bits_of_f32(f32_in(fe, DIV, f, g, 0))) \
    X(fma_##mode##_f32, 'f', 0, "fma." #mode ".f32 %fw, %fx, %fy, %fz;", 1, bits_of_f32(f32_in(fe, FMA, f, g, h))) \
    X(rcp_##mode##_f32, 'f', 0, "rcp." #mode ".f32 %fw, %fx;", 1, bits_of_f32(f32_in(fe, DIV, 1, f, 0))) \
    X(sqrt_##mode##_f32, 'f', 0, "sqrt." #mode ".f32 %fw, %fx;", 1, bits_of_f32(f32_in(fe, SQRT, f, 0, 0)))

#define ROUNDED64(X, mode, fe) \
    X(add_##mode##_f64, 'g', 0, "add." #mode ".f64 %gw, %gx, %gy;", 1, bits_of_f64(f64_in(fe, ADD, d, e, 0))) \
    X(sub_##mode##_f64, 'g', 0, "sub." #mode ".f64 %gw, %gx, %gy;", 1, bits_of_f64(f64_in(fe, SUB, d, e, 0))) \
    X(mul_##mode##_f64, 'g', 0, "mul." #mode ".f64 %gw, %gx, %gy;", 1, bits_of_f64(f64_in(fe, MUL, d, e, 0))) \
    X(div_##mode##_f64, 'g', 0, "div." #mode ".f64 %gw, %gx, %gy;", 1, bits_of_f64(f64_in(fe, DIV, d, e, 0))) \
    X(fma_##mode##_f64, 'g', 0, "fma." #mode ".f64 %gw, %gx, %gy, %gz;", 1, bits_of_f64(f64_in(fe, FMA, d, e, k))) \
    X(rcp_##mode##_f64, 'g', 0, "rcp." #mode ".f64 %gw, %gx;", 1, bits_of_f64(f64_in(fe, DIV, 1, d, 0))) \
    X(sqrt_##mode##_f64, 'g', 0, "sqrt." #mode ".f64 %gw, %gx;", 1, bits_of_f64(f64_in(fe, SQRT, d, 0, 0)))

/* The sign of a zero that .sat makes is not stated. */
#define POSITIVE_OR_ONE(value) (!((value) == 0 && signbit(value)))

#define ARITHMETIC32(X) \
    ROUNDED32(X, rn, FE_TONEAREST) ROUNDED32(X, rz, FE_TOWARDZERO) \
    ROUNDED32(X, rm, FE_DOWNWARD) ROUNDED32(X, rp, FE_UPWARD) \
    X(add_f32, 'f', 0, "add.f32 %fw, %fx, %fy;", 1, bits_of_f32(f + g)) \
    X(mul_immediate_f32, 'f', 0, "mul.f32 %fw, %fx, 0f40490FDB;", 1, bits_of_f32(f * f32_of(0x40490FDB))) \
    X(add_decimal_f32, 'f', 0, "add.f32 %fw, %fx, 2.5;", 1, bits_of_f32(f + 2.5f)) \
    X(add_ftz_f32, 'f', 0, "add.rn.ftz.f32 %fw, %fx, %fy;", 1, bits_of_f32(ftz(ftz(f) + ftz(g)))) \
    X(sub_ftz_f32, 'f', 0, "sub.rn.ftz.f32 %fw, %fx, %fy;", 1, bits_of_f32(ftz(ftz(f) - ftz(g)))) \
    X(mul_ftz_f32, 'f', 0, "mul.rn.ftz.f32 %fw, %fx, %fy;", 1, bits_of_f32(ftz(ftz(f) * ftz(g)))) \
    X(fma_ftz_f32, 'f', 0, "fma.rn.ftz.f32 %fw, %fx, %fy, %fz;", 1, bits_of_f32(ftz(fmaf(ftz(f), ftz(g), ftz(h))))) \
    X(div_ftz_f32, 'f', 0, "div.rn.ftz.f32 %fw, %fx, %fy;", 1, bits_of_f32(ftz(ftz(f) / ftz(g)))) \
    X(rcp_ftz_f32, 'f', 0, "rcp.rn.ftz.f32 %fw, %fx;", 1, bits_of_f32(ftz(1 / ftz(f)))) \
    X(sqrt_ftz_f32, 'f', 0, "sqrt.rn.ftz.f32 %fw, %fx;", 1, bits_of_f32(sqrtf(ftz(f)))) \
    X(add_sat_f32, 'f', 0, "add.rn.sat.f32 %fw, %fx, %fy;", POSITIVE_OR_ONE(f + g), bits_of_f32(sat(f + g))) \
    X(mul_sat_f32, 'f', 0, "mul.rn.sat.f32 %fw, %fx, %fy;", POSITIVE_OR_ONE(f * g), bits_of_f32(sat(f * g))) \
    X(fma_sat_f32, 'f', 0, "fma.rn.sat.f32 %fw, %fx, %fy, %fz;", POSITIVE_OR_ONE(fmaf(f, g, h)), \
      bits_of_f32(sat(fmaf(f, g, h)))) \
    X(abs_f32, 'f', 0, "abs.f32 %fw, %fx;", 1, bits_of_f32(fabsf(f))) \
    X(abs_ftz_f32, 'f', 0, "abs.ftz.f32 %fw, %fx;", 1, bits_of_f32(fabsf(ftz(f)))) \
    X(neg_f32, 'f', 0, "neg.f32 %fw, %fx;", 1, bits_of_f32(-f)) \
    X(neg_ftz_f32, 'f', 0, "neg.ftz.f32 %fw, %fx;", 1, bits_of_f32(-ftz(f))) \
    X(min_f32, 'f', 0, "min.f32 %fw, %fx, %fy;", 1, bits_of_f32((float)minimum((double)f, (double)g))) \
    X(max_f32, 'f', 0, "max.f32 %fw, %fx, %fy;", 1, bits_of_f32((float)maximum((double)f, (double)g))) \
    X(min_ftz_f32, 'f', 0, "min.ftz.f32 %fw, %fx, %fy;", 1, \
      bits_of_f32((float)minimum((double)ftz(f), (double)ftz(g)))) \
    X(min_nan_f32, 'f', 80, "min.NaN.f32 %fw, %fx, %fy;", 1, \
      isnan(f) || isnan(g) ? 0x7FFFFFFF : bits_of_f32((float)minimum((double)f, (double)g))) \
    X(max_nan_f32, 'f', 80, "max.NaN.f32 %fw, %fx, %fy;", 1, \
      isnan(f) || isnan(g) ? 0x7FFFFFFF : bits_of_f32((float)maximum((double)f, (double)g))) \
    X(copysign_f32, 'f', 0, "copysign.f32 %fw, %fx, %fy;", 1, (x & 0x80000000) | (y & 0x7FFFFFFF))

#define ARITHMETIC64(X) \
    ROUNDED64(X, rn, FE_TONEAREST) ROUNDED64(X, rz, FE_TOWARDZERO) \
    ROUNDED64(X, rm, FE_DOWNWARD) ROUNDED64(X, rp, FE_UPWARD) \
    X(add_f64, 'g', 0, "add.f64 %gw, %gx, %gy;", 1, bits_of_f64(d + e)) \
    X(mul_immediate_f64, 'g', 0, "mul.f64 %gw, %gx, 0d400921FB54442D18;", 1, bits_of_f64(d * f64_of(0x400921FB54442D18))) \
    X(abs_f64, 'g', 0, "abs.f64 %gw, %gx;", 1, bits_of_f64(fabs(d))) \
    X(neg_f64, 'g', 0, "neg.f64 %gw, %gx;", 1, bits_of_f64(-d)) \
    X(min_f64, 'g', 0, "min.f64 %gw, %gx, %gy;", 1, bits_of_f64(minimum(d, e))) \
    X(max_f64, 'g', 0, "max.f64 %gw, %gx, %gy;", 1, bits_of_f64(maximum(d, e))) \
    X(copysign_f64, 'g', 0, "copysign.f64 %gw, %gx, %gy;", 1, (a & ~(uint64_t)INT64_MAX) | (b & INT64_MAX)) \
    X(selp_f64, 'g', 0, "setp.lt.f64 %q, %gx, %gy; selp.f64 %gw, %gx, %gz, %q;", 1, d < e ? a : c)

#define COMPARE(X, op) \
    X(setp_##op##_f32, 'p', 0, "setp." #op ".f32 %p, %fx, %fy;", 1, compare(#op, (double)f, (double)g)) \
    X(setp_##op##_ftz_f32, 'p', 0, "setp." #op ".ftz.f32 %p, %fx, %fy;", 1, \
      compare(#op, (double)ftz(f), (double)ftz(g)))
#define COMPARE64(X, op) \
    X(setp_##op##_f64, 'p', 0, "setp." #op ".f64 %p, %gx, %gy;", 1, compare(#op, d, e))
#define TESTP(X, what) \
    X(testp_##what##_f32, 'p', 0, "testp." #what ".f32 %p, %fx;", 1, \
      testp(#what, (double)f, fpclassify(f) == FP_SUBNORMAL))
#define TESTP64(X, what) \
    X(testp_##what##_f64, 'p', 0, "testp." #what ".f64 %p, %gx;", 1, testp(#what, d, fpclassify(d) == FP_SUBNORMAL))

#define COMPARISONS32(X) \
    COMPARE(X, eq) COMPARE(X, ne) COMPARE(X, lt) COMPARE(X, le) COMPARE(X, gt) COMPARE(X, ge) \
    COMPARE(X, equ) COMPARE(X, neu) COMPARE(X, ltu) COMPARE(X, leu) \
    COMPARE(X, gtu) COMPARE(X, geu) COMPARE(X, num) COMPARE(X, nan) \
    TESTP(X, finite) TESTP(X, infinite) TESTP(X, number) TESTP(X, notanumber) \
    TESTP(X, normal) TESTP(X, subnormal) \
    X(set_u32_f32, 'w', 0, "set.gtu.u32.f32 %w, %fx, %fy;", 1, \
      compare("gtu", (double)f, (double)g) ? UINT32_MAX : 0) \
    X(set_f32_f32, 'f', 0, "set.le.f32.f32 %fw, %fx, %fy;", 1, f <= g ? 0x3F800000 : 0) \
    X(setp_pair_f32, 'w', 0, "setp.lt.f32 %p|%q, %fx, %fy; selp.u32 %t1, 1, 0, %p; selp.u32 %t2, 2, 0, %q; " \
      "or.b32 %w, %t1, %t2;", 1, f < g ? 1 : 2) \
    X(setp_own_guard, 'w', 0, "setp.lt.u32 %p, %x, %y; setp.ne.u32 %q, %x, %x; @%p setp.lt.u32 %p|%q, %y, %x; " \
      "selp.u32 %t1, 1, 0, %p; selp.u32 %t2, 2, 0, %q; or.b32 %w, %t1, %t2;", 1, x < y ? 2 : 0) \
    X(setp_own_third, 'w', 0, "setp.lt.u32 %p, %x, %y; setp.lt.xor.u32 %p|%q, %z, %y, %p; " \
      "selp.u32 %t1, 1, 0, %p; selp.u32 %t2, 2, 0, %q; or.b32 %w, %t1, %t2;", 1, (x < y) != (z < y) ? 1 : 2) \
    X(slct_f32, 'w', 0, "slct.u32.f32 %w, %x, %y, %fz;", !isnan(h), h >= 0 ? x : y) \
    X(selp_f32, 'f', 0, "setp.geu.f32 %q, %fx, %fy; selp.f32 %fw, %fx, %fz, %q;", 1, \
      compare("geu", (double)f, (double)g) ? x : z)

#define COMPARISONS64(X) \
    COMPARE64(X, eq) COMPARE64(X, ne) COMPARE64(X, lt) COMPARE64(X, le) \
    COMPARE64(X, gt) COMPARE64(X, ge) \
    COMPARE64(X, equ) COMPARE64(X, neu) COMPARE64(X, ltu) COMPARE64(X, leu) \
    COMPARE64(X, gtu) COMPARE64(X, geu) COMPARE64(X, num) COMPARE64(X, nan) \
    TESTP64(X, finite) TESTP64(X, infinite) TESTP64(X, number) TESTP64(X, notanumber) \
    TESTP64(X, normal) TESTP64(X, subnormal)

/* Of a pair: both lanes of a 16-bit result, where neither is NaN. */
#define PAIR(function, format) \
    (function((uint16_t)a, (uint16_t)b, format) | \
     function((uint16_t)(a >> 16), (uint16_t)(b >> 16), format) << 16)
#define NUMBERS(bits, format) (!small_is_nan((bits), format) && !small_is_nan((bits) >> 16, format))
#define FMA_PAIR(format) \
    (small_fma((uint16_t)a, (uint16_t)b, (uint16_t)c, format) | \
     small_fma((uint16_t)(a >> 16), (uint16_t)(b >> 16), (uint16_t)(c >> 16), format) << 16)

#define HALVES(X) \
    X(add_f16, 'h', 0, "add.rn.f16 %hw, %hx, %hy;", !small_is_nan(small_add((uint16_t)a, (uint16_t)b, F16), F16), \
      small_add((uint16_t)a, (uint16_t)b, F16)) \
    X(mul_f16, 'h', 0, "mul.rn.f16 %hw, %hx, %hy;", !small_is_nan(small_mul((uint16_t)a, (uint16_t)b, F16), F16), \
      small_mul((uint16_t)a, (uint16_t)b, F16)) \
    X(sub_f16, 'h', 0, "sub.rn.f16 %hw, %hx, %hy;", \
      !small_is_nan(small_add((uint16_t)a, (uint16_t)(b ^ 0x8000), F16), F16), \
      small_add((uint16_t)a, (uint16_t)(b ^ 0x8000), F16)) \
    X(fma_f16, 'h', 0, "fma.rn.f16 %hw, %hx, %hy, %hz;", \
      !small_is_nan(small_fma((uint16_t)a, (uint16_t)b, (uint16_t)c, F16), F16), \
      small_fma((uint16_t)a, (uint16_t)b, (uint16_t)c, F16)) \
    X(add_f16x2, 'w', 0, "add.rn.f16x2 %w, %x, %y;", NUMBERS(PAIR(small_add, F16), F16), PAIR(small_add, F16)) \
    X(mul_f16x2, 'w', 0, "mul.rn.f16x2 %w, %x, %y;", NUMBERS(PAIR(small_mul, F16), F16), PAIR(small_mul, F16)) \
    X(fma_f16x2, 'w', 0, "fma.rn.f16x2 %w, %x, %y, %z;", NUMBERS(FMA_PAIR(F16), F16), FMA_PAIR(F16)) \
    X(neg_f16, 'h', 0, "neg.f16 %hw, %hx;", !small_is_nan(a, F16), a ^ 0x8000) \
    X(abs_f16x2, 'w', 0, "abs.f16x2 %w, %x;", NUMBERS(a, F16), a & 0x7FFF7FFF) \
    X(setp_lt_f16, 'p', 0, "setp.lt.f16 %p, %hx, %hy;", 1, small_of(a & 0xFFFF, F16) < small_of(b & 0xFFFF, F16)) \
    X(setp_geu_f16, 'p', 0, "setp.geu.f16 %p, %hx, %hy;", 1, \
      !(small_of(a & 0xFFFF, F16) < small_of(b & 0xFFFF, F16))) \
    X(setp_own_third_f16x2, 'w', 0, "setp.lt.u32 %p, %z, %y; " \
      "setp.lt.xor.f16x2 %p|%q, %x, %y, !%p; " \
      "selp.u32 %t1, 1, 0, %p; selp.u32 %t2, 2, 0, %q; or.b32 %w, %t1, %t2;", 1, \
      ((small_of(x & 0xFFFF, F16) < small_of(y & 0xFFFF, F16)) == (z < y) ? 1 : 0) | \
          ((small_of(x >> 16, F16) < small_of(y >> 16, F16)) == (z < y) ? 2 : 0)) \
    X(fma_bf16, 'h', 80, "fma.rn.bf16 %hw, %hx, %hy, %hz;", \
      !small_is_nan(small_fma((uint16_t)a, (uint16_t)b, (uint16_t)c, BF16), BF16), \
      small_fma((uint16_t)a, (uint16_t)b, (uint16_t)c, BF16)) \
    X(fma_bf16x2, 'w', 80, "fma.rn.bf16x2 %w, %x, %y, %z;", NUMBERS(FMA_PAIR(BF16), BF16), FMA_PAIR(BF16))
/* clang-format on */

#define INPUTS \
    const float f = f32_of(a), g = f32_of(b), h = f32_of(c); \
    const double d = f64_of(a), e = f64_of(b), k = f64_of(c); \
    const uint32_t x = (uint32_t)a, y = (uint32_t)b, z = (uint32_t)c; \
    (void)f, (void)g, (void)h, (void)d, (void)e, (void)k, (void)x, (void)y, (void)z, (void)a, \
        (void)b, (void)c;

#define DEFINE(name, kind, target, body, when, result) \
    static uint64_t expect_##name(uint64_t a, uint64_t b, uint64_t c) \
    { \
        INPUTS return (uint64_t)(result); \
    } \
    static bool defined_##name(uint64_t a, uint64_t b, uint64_t c) \
    { \
        INPUTS return when; \
    }
ARITHMETIC32(DEFINE)
ARITHMETIC64(DEFINE)
COMPARISONS32(DEFINE)
COMPARISONS64(DEFINE)
HALVES(DEFINE)

#define ROW(name, kind, target, body, when, result) \
    {#name, body, kind, target, 0, expect_##name, defined_##name},

#define GROUP(test, list, inputs) \
    static void test(void **state) \
    { \
        (void)state; \
        static const vec_case cases[] = {list(ROW)}; \
        vec_check(cases, VEC_COUNT(cases), inputs, VEC_COUNT(inputs)); \
    }
GROUP(test_arithmetic_f32, ARITHMETIC32, values32)
GROUP(test_arithmetic_f64, ARITHMETIC64, values64)
GROUP(test_comparisons_f32, COMPARISONS32, values32)
GROUP(test_comparisons_f64, COMPARISONS64, values64)
GROUP(test_halves, HALVES, values16)

/* ---- approximate instructions --------------------------------------------------------------- */

typedef struct approximate {
    const char *body;
    double (*exact)(double x, double y);
    double low, high;          /* of inputs */
    double relative, absolute; /* error allowed: the larger of the two */
} approximate;

static double reciprocal(double x, double y)
{
    (void)y;
    return 1 / x;
}

static double root(double x, double y)
{
    (void)y;
    return sqrt(x);
}

static double inverse_root(double x, double y)
{
    (void)y;
    return 1 / sqrt(x);
}

static double power_of_2(double x, double y)
{
    (void)y;
    return exp2(x);
}

static double logarithm(double x, double y)
{
    (void)y;
    return log2(x);
}

static double sine(double x, double y)
{
    (void)y;
    return sin(x);
}

static double cosine(double x, double y)
{
    (void)y;
    return cos(x);
}

static double hyperbolic(double x, double y)
{
    (void)y;
    return tanh(x);
}

static double quotient(double x, double y)
{
    return x / y;
}

/* Errors: PTX's tables, in the widest of the versions that have them. */
static const approximate approximates[] = {
    {"rcp.approx.f32 %fw, %fx;", reciprocal, -1e6, 1e6, 0x1p-22, 0},
    {"rcp.approx.ftz.f32 %fw, %fx;", reciprocal, 1e-20, 1e20, 0x1p-22, 0},
    {"sqrt.approx.f32 %fw, %fx;", root, 0, 1e6, 0x1p-22, 0},
    {"rsqrt.approx.f32 %fw, %fx;", inverse_root, 1e-6, 1e6, 0x1p-22, 0},
    {"ex2.approx.f32 %fw, %fx;", power_of_2, -100, 100, 0x1p-21, 0},
    {"lg2.approx.f32 %fw, %fx;", logarithm, 1e-3, 1e6, 0x1p-20, 0x1p-21},
    {"sin.approx.f32 %fw, %fx;", sine, -3.14, 3.14, 0, 0x1p-20},
    {"cos.approx.f32 %fw, %fx;", cosine, -3.14, 3.14, 0, 0x1p-20},
    {"tanh.approx.f32 %fw, %fx;", hyperbolic, -4, 4, 0x1p-10, 0},
    {"div.approx.f32 %fw, %fx, %fy;", quotient, -1000, 1000, 0x1p-21, 0},
    {"div.full.f32 %fw, %fx, %fy;", quotient, -1000, 1000, 0x1p-21, 0},
};

static void check_approximate(const approximate *it)
{
    enum { N = 500 };
    static uint64_t in[N][3], out[N];
    const vec_case kernel = {.name = it->body, .body = it->body, .kind = 'f'};
    for (int i = 0; i < N; i++) {
        in[i][0] = bits_of_f32((float)(it->low + (it->high - it->low) * (i + 0.5) / N));
        in[i][1] = bits_of_f32(3.3f + (float)i);
    }
    vec_run_body(&kernel, (const uint64_t(*)[3])in, out, N);
    for (int i = 0; i < N; i++) {
        const double x = (double)f32_of(in[i][0]), y = (double)f32_of(in[i][1]);
        const double got = (double)f32_of(out[i]), exact = it->exact(x, y);
        const double relative = it->relative * fabs(exact);
        const double allowed = relative > it->absolute ? relative : it->absolute;
        if (!(fabs(got - exact) <= allowed))
            fail_msg("%s of %.9g, %.9g: %.9g, expected %.9g within %g", it->body, x, y, got, exact,
                     allowed);
    }
}

static void test_approximate(void **state)
{
    (void)state;
    for (size_t i = 0; i < VEC_COUNT(approximates); i++)
        check_approximate(&approximates[i]);
}

/* What the tables of approximate instructions say of zeros, infinities and NaNs. */
static void test_approximate_special_values(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        uint32_t in, out;
    } cases[] = {
        {"rcp.approx.f32 %fw, %fx;", 0x00000000, 0x7F800000},
        {"rcp.approx.f32 %fw, %fx;", 0x80000000, 0xFF800000},
        {"rcp.approx.f32 %fw, %fx;", 0x7F800000, 0x00000000},
        {"rcp.approx.f32 %fw, %fx;", 0xFF800000, 0x80000000},
        {"rcp.approx.f32 %fw, %fx;", 0x7FC00000, 0x7FFFFFFF},
        {"rcp.approx.ftz.f32 %fw, %fx;", 0x00000001, 0x7F800000},
        {"sqrt.approx.f32 %fw, %fx;", 0x00000000, 0x00000000},
        {"sqrt.approx.f32 %fw, %fx;", 0x80000000, 0x80000000},
        {"sqrt.approx.f32 %fw, %fx;", 0x7F800000, 0x7F800000},
        {"sqrt.approx.f32 %fw, %fx;", 0xBF800000, 0x7FFFFFFF},
        {"rsqrt.approx.f32 %fw, %fx;", 0x00000000, 0x7F800000},
        {"rsqrt.approx.f32 %fw, %fx;", 0x80000000, 0xFF800000},
        {"rsqrt.approx.f32 %fw, %fx;", 0x7F800000, 0x00000000},
        {"rsqrt.approx.f32 %fw, %fx;", 0xBF800000, 0x7FFFFFFF},
        {"ex2.approx.f32 %fw, %fx;", 0x00000000, 0x3F800000},
        {"ex2.approx.f32 %fw, %fx;", 0x80000000, 0x3F800000},
        {"ex2.approx.f32 %fw, %fx;", 0x7F800000, 0x7F800000},
        {"ex2.approx.f32 %fw, %fx;", 0xFF800000, 0x00000000},
        {"lg2.approx.f32 %fw, %fx;", 0x00000000, 0xFF800000},
        {"lg2.approx.f32 %fw, %fx;", 0x80000000, 0xFF800000},
        {"lg2.approx.f32 %fw, %fx;", 0x7F800000, 0x7F800000},
        {"lg2.approx.f32 %fw, %fx;", 0xBF800000, 0x7FFFFFFF},
        {"sin.approx.f32 %fw, %fx;", 0x00000000, 0x00000000},
        {"sin.approx.f32 %fw, %fx;", 0x80000000, 0x80000000},
        {"sin.approx.f32 %fw, %fx;", 0x7F800000, 0x7FFFFFFF},
        {"cos.approx.f32 %fw, %fx;", 0x00000000, 0x3F800000},
        {"cos.approx.f32 %fw, %fx;", 0xFF800000, 0x7FFFFFFF},
        {"tanh.approx.f32 %fw, %fx;", 0x7F800000, 0x3F800000},
        {"tanh.approx.f32 %fw, %fx;", 0xFF800000, 0xBF800000},
    };
    for (size_t i = 0; i < VEC_COUNT(cases); i++) {
        const vec_case kernel = {.name = cases[i].body, .body = cases[i].body, .kind = 'f'};
        const uint64_t in[1][3] = {{cases[i].in, 0, 0}};
        uint64_t out[1];
        vec_run_body(&kernel, in, out, 1);
        if (!vec_same('f', out[0], cases[i].out))
            fail_msg("%s of %#x: %#llx, expected %#x", cases[i].body, cases[i].in,
                     (unsigned long long)out[0], cases[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic_f32),
        cmocka_unit_test(test_arithmetic_f64),
        cmocka_unit_test(test_comparisons_f32),
        cmocka_unit_test(test_comparisons_f64),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_approximate),
        cmocka_unit_test(test_approximate_special_values),
    };
    return cmocka_run_group_tests_name("ptx_vectors_float", tests, vec_setup, vec_teardown);
}
