/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * PTX's floating-point operations for one lane: flushing, minimum and maximum, conversions to
 * integers, half precision, and the approximate functions. What PTX calls exact is bit-exact here
 * (except for the payload of NaNs); approximate functions are within 2 ULP of the true value.
 */
#ifndef SOFTCUDA_EXEC_SCALAR_FLOAT_H
#define SOFTCUDA_EXEC_SCALAR_FLOAT_H

#include <math.h>

#include "exec/lanes.h"

SX_INLINE uint32_t sx_bits32(float v)
{
    union {
        float f;
        uint32_t u;
    } c = {.f = v};
    return c.u;
}

SX_INLINE float sx_float32(uint32_t v)
{
    union {
        uint32_t u;
        float f;
    } c = {.u = v};
    return c.f;
}

SX_INLINE uint64_t sx_bits64(double v)
{
    union {
        double f;
        uint64_t u;
    } c = {.f = v};
    return c.u;
}

SX_INLINE double sx_float64(uint64_t v)
{
    union {
        uint64_t u;
        double f;
    } c = {.u = v};
    return c.f;
}

#define SX_NAN32 sx_float32(0x7fffffff)
#define SX_NAN64 sx_float64(UINT64_C(0x7fffffffffffffff))

/* Subnormals become zeros of the same sign. */
SX_INLINE float sx_ftz32(float v)
{
    uint32_t u = sx_bits32(v);
    return sx_float32((u & 0x7f800000) == 0 ? u & 0x80000000 : u);
}

SX_INLINE float sx_sat32(float v)
{
    return v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f; /* NaN becomes 0 */
}

SX_INLINE double sx_sat64(double v)
{
    return v > 0.0 ? (v < 1.0 ? v : 1.0) : 0.0;
}

SX_INLINE float sx_relu32(float v)
{
    return v != v ? SX_NAN32 : v > 0.0f ? v : 0.0f;
}

/* Minimum and maximum: a number wins over NaN, and -0 is less than +0. */
SX_INLINE float sx_min32(float a, float b)
{
    float r = a < b ? a : b;
    r = a == b ? sx_float32(sx_bits32(a) | sx_bits32(b)) : r;
    r = b != b ? a : r;
    return a != a ? (b != b ? SX_NAN32 : b) : r;
}

SX_INLINE float sx_max32(float a, float b)
{
    float r = a > b ? a : b;
    r = a == b ? sx_float32(sx_bits32(a) & sx_bits32(b)) : r;
    r = b != b ? a : r;
    return a != a ? (b != b ? SX_NAN32 : b) : r;
}

SX_INLINE double sx_min64(double a, double b)
{
    double r = a < b ? a : b;
    r = a == b ? sx_float64(sx_bits64(a) | sx_bits64(b)) : r;
    r = b != b ? a : r;
    return a != a ? (b != b ? SX_NAN64 : b) : r;
}

SX_INLINE double sx_max64(double a, double b)
{
    double r = a > b ? a : b;
    r = a == b ? sx_float64(sx_bits64(a) & sx_bits64(b)) : r;
    r = b != b ? a : r;
    return a != a ? (b != b ? SX_NAN64 : b) : r;
}

/* .NaN: NaN wins. */
SX_INLINE float sx_min_nan32(float a, float b)
{
    float r = sx_min32(a, b);
    return a != a || b != b ? SX_NAN32 : r;
}

SX_INLINE float sx_max_nan32(float a, float b)
{
    float r = sx_max32(a, b);
    return a != a || b != b ? SX_NAN32 : r;
}

SX_INLINE float sx_copysign32(float sign, float v)
{
    return sx_float32((sx_bits32(v) & 0x7fffffff) | (sx_bits32(sign) & 0x80000000));
}

SX_INLINE double sx_copysign64(double sign, double v)
{
    uint64_t top = UINT64_C(1) << 63;
    return sx_float64((sx_bits64(v) & ~top) | (sx_bits64(sign) & top));
}

/* ---- to integers: truncate, saturate --------------------------------------------------------- */

/* NaN becomes 0; but where either side has 64 bits it becomes the lowest s64 (and the same bits as
 * u64). */
#define SX_TO_INT(name, F, T, low, high, nan) \
    SX_INLINE T name(F v) \
    { \
        F inside = v > (F)(low) && v < (F)(high) ? v : (F)0; \
        T r = (T)inside; \
        r = v >= (F)(high) ? SX_MAX_OF(T) : r; \
        r = v <= (F)(low) ? SX_MIN_OF(T) : r; \
        return v != v ? (T)(nan) : r; \
    }
#define SX_MIN_OF(T) ((T)(((T)-1 < (T)1) ? (T)((uint64_t)1 << (8 * sizeof(T) - 1)) : (T)0))
#define SX_MAX_OF(T) ((T) ~(uint64_t)SX_MIN_OF(T))

SX_TO_INT(sx_f32_s32, float, int32_t, -2147483648.0, 2147483648.0, 0)
SX_TO_INT(sx_f32_u32, float, uint32_t, 0.0, 4294967296.0, 0)
SX_TO_INT(sx_f32_s64, float, int64_t, -9223372036854775808.0, 9223372036854775808.0, INT64_MIN)
SX_TO_INT(sx_f32_u64, float, uint64_t, 0.0, 18446744073709551616.0, UINT64_C(1) << 63)
SX_TO_INT(sx_f64_s32, double, int32_t, -2147483648.0, 2147483648.0, INT32_MIN)
SX_TO_INT(sx_f64_u32, double, uint32_t, 0.0, 4294967296.0, UINT32_C(1) << 31)
SX_TO_INT(sx_f64_s64, double, int64_t, -9223372036854775808.0, 9223372036854775808.0, INT64_MIN)
SX_TO_INT(sx_f64_u64, double, uint64_t, 0.0, 18446744073709551616.0, UINT64_C(1) << 63)

SX_INLINE int32_t sx_clamp(int32_t v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : v;
}

SX_INLINE int64_t sx_clamp64(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- half precision -------------------------------------------------------------------------- */

SX_INLINE float sx_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t rest = (uint32_t)(h & 0x7fff) << 13;
    uint32_t exponent = rest & 0x0f800000;
    uint32_t normal = rest + ((127 - 15) << 23);
    normal = exponent == 0x0f800000 ? normal + ((128 - 16) << 23) : normal;
    float tiny = sx_float32(rest + (113 << 23)) - sx_float32(113 << 23);
    return sx_float32(sign | (exponent ? normal : sx_bits32(tiny)));
}

/* To nearest, ties to even; NaN becomes 0x7fff. */
SX_INLINE uint16_t sx_f32_to_f16(float v)
{
    uint32_t u = sx_bits32(v);
    uint32_t sign = u & 0x80000000;
    u ^= sign;
    uint32_t normal = (u + ((uint32_t)(15 - 127) << 23) + 0xfff + ((u >> 13) & 1)) >> 13;
    uint32_t tiny = sx_bits32(sx_float32(u) + 0.5f) - 0x3f000000;
    uint32_t r = u < (113u << 23) ? tiny : normal;
    r = u >= 0x47800000 ? 0x7c00 : r;
    r = u > 0x7f800000 ? 0x7fff : r | sign >> 16;
    return (uint16_t)r;
}

SX_INLINE float sx_bf16_to_f32(uint16_t h)
{
    return sx_float32((uint32_t)h << 16);
}

SX_INLINE uint16_t sx_f32_to_bf16(float v)
{
    uint32_t u = sx_bits32(v);
    uint32_t r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? 0x7fff : r);
}

enum sx_round { SX_RN, SX_RZ, SX_RM, SX_RP, SX_RNA };

/*
 * One rounding from double to a format of `precision` bits (with the leading one) and exponents
 * from 1 - bias: the encoded value, without sign bit in front.
 */
SX_INLINE uint32_t sx_narrow(double v, unsigned precision, int bias, unsigned mode)
{
    uint64_t u = sx_bits64(v);
    bool negative = u >> 63;
    u &= ~(UINT64_C(1) << 63);
    uint32_t infinity = (uint32_t)(2 * bias + 1) << (precision - 1);
    if (u > UINT64_C(0x7ff) << 52)
        return infinity | ((UINT32_C(1) << (precision - 1)) - 1);
    if (u == UINT64_C(0x7ff) << 52)
        return infinity;
    if (u == 0)
        return 0;
    int exponent = (int)(u >> 52) - 1023;
    uint64_t mantissa = u & ((UINT64_C(1) << 52) - 1);
    if (exponent == -1023)
        exponent++; /* subnormal: far below any narrow format's reach */
    else
        mantissa |= UINT64_C(1) << 52;
    int drop = 53 - (int)precision;
    if (exponent < 1 - bias)
        drop += 1 - bias - exponent;
    uint64_t kept = drop < 64 ? mantissa >> drop : 0;
    uint64_t rest = drop < 64 ? mantissa & ((UINT64_C(1) << drop) - 1) : mantissa;
    uint64_t half = drop < 64 ? UINT64_C(1) << (drop - 1) : UINT64_MAX;
    bool up = mode == SX_RN    ? rest > half || (rest == half && (kept & 1))
              : mode == SX_RNA ? rest >= half
              : mode == SX_RZ  ? false
              : mode == SX_RM  ? rest && negative
                               : rest && !negative;
    kept += up;
    uint64_t field = exponent < 1 - bias ? 0 : (uint64_t)(exponent + bias - 1);
    uint64_t r = (field << (precision - 1)) + kept;
    if (r < infinity)
        return (uint32_t)r;
    bool to_infinity = mode == SX_RN || mode == SX_RNA || (mode == SX_RM && negative) ||
                       (mode == SX_RP && !negative);
    return to_infinity ? infinity : infinity - 1;
}

SX_INLINE uint16_t sx_f64_to_f16_mode(double v, unsigned mode)
{
    uint32_t r = sx_narrow(v, 11, 15, mode);
    return (uint16_t)(v != v ? 0x7fff : r | (uint32_t)(sx_bits64(v) >> 63) << 15);
}

SX_INLINE uint16_t sx_f64_to_bf16_mode(double v, unsigned mode)
{
    uint32_t r = sx_narrow(v, 8, 127, mode);
    return (uint16_t)(v != v ? 0x7fff : r | (uint32_t)(sx_bits64(v) >> 63) << 15);
}

SX_INLINE uint32_t sx_f64_to_tf32(double v, unsigned mode)
{
    uint32_t r = sx_narrow(v, 11, 127, mode);
    return v != v ? 0x7fffffff : (r << 13) | (uint32_t)(sx_bits64(v) >> 63) << 31;
}

/* To the formats of eight bits, always rounded to nearest. What is too large becomes the largest
 * finite number (.satfinite, which PTX demands). */
SX_INLINE uint16_t sx_f64_to_e5m2(double v)
{
    const uint32_t r = sx_narrow(v, 3, 15, SX_RN), sign = (uint32_t)(sx_bits64(v) >> 63) << 7;
    return (uint16_t)(v != v ? 0x7f : (r < 0x7b ? r : 0x7b) | sign);
}

/* The highest exponent is one of numbers, up to 448: large ones are narrowed as their halves. */
SX_INLINE uint16_t sx_f64_to_e4m3(double v)
{
    const bool large = __builtin_fabs(v) >= 128.0;
    const uint32_t r = sx_narrow(large ? v / 2 : v, 4, 7, SX_RN) + (large ? 8 : 0);
    const uint32_t sign = (uint32_t)(sx_bits64(v) >> 63) << 7;
    return (uint16_t)(v != v ? 0x7f : (r < 0x7e ? r : 0x7e) | sign);
}

/* Every number of eight bits is one of f16. */
SX_INLINE uint16_t sx_e5m2_to_f16(uint32_t x)
{
    return (uint16_t)((x & 0x7f) > 0x7c ? 0x7fff : x << 8);
}

SX_INLINE uint16_t sx_e4m3_to_f16(uint32_t x)
{
    const uint32_t magnitude = x & 0x7f, sign = (x & 0x80) << 8;
    /* f16 with an exponent that is 8 too low, or a subnormal: 256 times as small */
    const uint16_t h = sx_f32_to_f16(sx_f16_to_f32((uint16_t)(magnitude << 7)) * 256.0f);
    return (uint16_t)(magnitude == 0x7f ? 0x7fff : h | sign);
}

/* a * b + c with one rounding to odd, so that a later rounding to few bits is exact. */
SX_INLINE double sx_fma_odd(double a, double b, double c)
{
    double p = a * b; /* exact: the operands have at most 11 bits */
    double s = p + c;
    double t = s - p;
    double error = (p - (s - t)) + (c - t);
    uint64_t u = sx_bits64(s);
    if (error != 0.0 && !(u & 1) && s - s == 0.0)
        u += (error > 0.0) == (s > 0.0) ? 1 : UINT64_MAX;
    return sx_float64(u);
}

/* ---- approximate functions ------------------------------------------------------------------- */

/* 2^x: the whole part goes to the exponent, the rest through a polynomial. */
SX_INLINE float sx_ex2(float x)
{
    float in = x < -160.0f ? -160.0f : x > 160.0f ? 160.0f : x;
    in = x != x ? 0.0f : in;
    float whole = rintf(in);
    float f = in - whole;
    float p = 1.5252734e-5f;
    p = p * f + 1.5403530e-4f;
    p = p * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    int32_t n = (int32_t)whole;
    int32_t first = n / 2; /* two steps, so that subnormal results round once, at the end */
    float r = p * sx_float32((uint32_t)(first + 127) << 23);
    r = r * sx_float32((uint32_t)(n - first + 127) << 23);
    return x != x ? SX_NAN32 : r;
}

/* log2: the exponent, plus an odd series in (m - 1) / (m + 1) for a mantissa around 1. */
SX_INLINE float sx_lg2(float x)
{
    uint32_t u = sx_bits32(x);
    bool tiny = u < 0x00800000;
    uint32_t v = sx_bits32(x * (tiny ? 8388608.0f : 1.0f));
    uint32_t shifted = v - 0x3f3504f3;
    int32_t e = (int32_t)shifted >> 23;
    float m = sx_float32((shifted & 0x007fffff) + 0x3f3504f3);
    float s = (m - 1.0f) / (m + 1.0f);
    float q = s * s;
    float p = 0.26230222f;
    p = p * q + 0.32059893f;
    p = p * q + 0.41219856f;
    p = p * q + 0.57707804f;
    p = p * q + 0.96179670f;
    float r = s * q * p + s * 2.8853900f + ((float)e - (tiny ? 23.0f : 0.0f));
    r = x == 0.0f ? -INFINITY : r;
    r = u == 0x7f800000 ? INFINITY : r;
    return x < 0.0f || x != x ? SX_NAN32 : r;
}

SX_INLINE float sx_rsqrt32(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}

SX_INLINE float sx_tanh32(float x)
{
    return tanhf(x);
}

/* ---- tests ----------------------------------------------------------------------------------- */

enum sx_testp {
    SX_TEST_FINITE,
    SX_TEST_INFINITE,
    SX_TEST_NUMBER,
    SX_TEST_NAN,
    SX_TEST_NORMAL,
    SX_TEST_SUBNORMAL,
};

SX_INLINE bool sx_testp64(uint64_t magnitude, uint64_t smallest_normal, uint64_t infinity,
                          unsigned what)
{
    switch (what) {
    case SX_TEST_FINITE:
        return magnitude < infinity;
    case SX_TEST_INFINITE:
        return magnitude == infinity;
    case SX_TEST_NUMBER:
        return magnitude <= infinity;
    case SX_TEST_NAN:
        return magnitude > infinity;
    case SX_TEST_NORMAL: /* zeros count */
        return magnitude == 0 || (magnitude >= smallest_normal && magnitude < infinity);
    default:
        return magnitude > 0 && magnitude < smallest_normal;
    }
}

#endif
