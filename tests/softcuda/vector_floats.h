/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Floating-point arithmetic as IEEE 754 and PTX define it, in C, for the expected results. */
#ifndef TESTS_SOFTCUDA_VECTOR_FLOATS_H
#define TESTS_SOFTCUDA_VECTOR_FLOATS_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float f32_of(uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static inline uint64_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double f64_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits_of_f64(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- PTX's modifiers ------------------------------------------------------------------------ */

static inline float ftz(float x)
{
    return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static inline float sat(float x)
{
    return isnan(x) || x <= 0 ? 0 : x >= 1 ? 1 : x;
}

/* ---- arithmetic in a rounding mode ---------------------------------------------------------- */

typedef enum vec_operation { ADD, SUB, MUL, DIV, SQRT, FMA } vec_operation;

/* Volatile keeps the operation between the two changes of the mode, and out of the compiler. */
static inline float f32_in(int mode, vec_operation op, float a, float b, float c)
{
    volatile float x = a, y = b, z = c, r = 0;
    fesetround(mode);
    switch (op) {
    case ADD:
        r = x + y;
        break;
    case SUB:
        r = x - y;
        break;
    case MUL:
        r = x * y;
        break;
    case DIV:
        r = x / y;
        break;
    case SQRT:
        r = sqrtf(x);
        break;
    case FMA:
        r = fmaf(x, y, z);
        break;
    }
    fesetround(FE_TONEAREST);
    return r;
}

static inline double f64_in(int mode, vec_operation op, double a, double b, double c)
{
    volatile double x = a, y = b, z = c, r = 0;
    fesetround(mode);
    switch (op) {
    case ADD:
        r = x + y;
        break;
    case SUB:
        r = x - y;
        break;
    case MUL:
        r = x * y;
        break;
    case DIV:
        r = x / y;
        break;
    case SQRT:
        r = sqrt(x);
        break;
    case FMA:
        r = fma(x, y, z);
        break;
    }
    fesetround(FE_TONEAREST);
    return r;
}

/* x as an integer, rounded in a mode. */
static inline double rint_in(int mode, double x)
{
    volatile double in = x, r;
    double (*volatile library)(double) = rint; /* compilers inline it for nearest only */
    fesetround(mode);
    r = library(in);
    fesetround(FE_TONEAREST);
    return r;
}

static inline float to_f32_in(int mode, double x)
{
    volatile double in = x;
    volatile float r;
    fesetround(mode);
    r = (float)in;
    fesetround(FE_TONEAREST);
    return r;
}

/* ---- 16-bit floats -------------------------------------------------------------------------- */

/* A format of `fraction` fraction bits: 10 is f16, 7 is bf16. */
enum { F16 = 10, BF16 = 7 };

static inline double small_of(uint64_t bits, int fraction)
{
    const int exponent_bits = 15 - fraction, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> fraction) & ((1 << exponent_bits) - 1);
    const double mantissa = (double)(bits & ((1u << fraction) - 1));
    double value;
    if (exponent == (1 << exponent_bits) - 1)
        value = mantissa != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - fraction);
    else
        value = ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
    return bits & 0x8000 ? -value : value;
}

static inline uint64_t small_overflow(int mode, bool negative, uint64_t infinity)
{
    const bool away = mode == FE_TONEAREST || (mode == FE_UPWARD && !negative) ||
                      (mode == FE_DOWNWARD && negative);
    return away ? infinity : infinity - 1;
}

/* Rounds to the format; NaNs become the format's canonical one. */
static inline uint64_t bits_of_small(int mode, double x, int fraction)
{
    const int exponent_bits = 15 - fraction, bias = (1 << (exponent_bits - 1)) - 1;
    const uint64_t sign = signbit(x) ? 0x8000 : 0;
    const uint64_t infinity = (uint64_t)((1 << exponent_bits) - 1) << fraction;
    if (isnan(x))
        return 0x7FFF;
    if (isinf(x))
        return sign | infinity;
    if (x == 0)
        return sign;
    int exponent = ilogb(x);
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    const double units = fabs(rint_in(mode, ldexp(x, fraction - exponent)));
    const uint64_t bits = ((uint64_t)(exponent + bias - 1) << fraction) + (uint64_t)units;
    return sign | (bits >= infinity ? small_overflow(mode, sign != 0, infinity) : bits);
}

/* a * b + c in a double that rounds to any narrower format as the exact value would: cut off, with
   the last bit set where something was lost. */
static inline double fma_to_odd(double a, double b, double c)
{
    feclearexcept(FE_ALL_EXCEPT);
    const double r = f64_in(FE_TOWARDZERO, FMA, a, b, c);
    if (!fetestexcept(FE_INEXACT) || isinf(r) || isnan(r))
        return r;
    return f64_of(bits_of_f64(r) | 1);
}

#endif
