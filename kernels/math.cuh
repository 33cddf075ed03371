/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The math functions that clang expects from a CUDA toolkit's libdevice, which acuda does without.
 *
 * They consist of correctly rounded operations only (add, multiply, fma, divide, square root,
 * conversions), so that a GPU and the software device give the same bits. To that end each fma is
 * written out, and no product goes into a sum, because a compiler would be free to make an fma of
 * them or not. Subnormal numbers are kept; infinities, NaN and signed zeros follow C's Annex F.
 *
 * Largest errors in units in the last place, against a reference in higher precision (float: over
 * every seventh of all values; powf: over 4 10^7 pairs; double: over 10^7 random arguments):
 *
 *     exactly rounded   sqrtf fmaf, fminf fmaxf, the roundings to an integer; their double forms
 *     below 0.6         powf
 *     below 1           exp2f logf; double: exp log, sin cos (math_f64.cuh)
 *     below 1.3         expf erff
 *     below 1.6         log2f log10f log1pf expm1f tanhf sinf cosf sincosf
 *     below 3.5         tanf; double: tanh, and below 2 pow erf
 *
 * The rest of CUDA's functions is in math_more.cuh. prelude.cuh has functions that are less exact
 * and faster: __expf, __logf, __sinf and the like.
 * Polynomials are minimax fits over the intervals that are named with them.
 */
#ifndef ACUDA_KERNELS_MATH_CUH
#define ACUDA_KERNELS_MATH_CUH

/* clang-format off: what is one fact a line stays one line */

#define ACUI_INF __builtin_inff()

/* ---- operations of the hardware ------------------------------------------------------------- */

ACUI_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
ACUI_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ACUI_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
ACUI_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
ACUI_DEVICE float sqrtf(float x) { return __builtin_sqrtf(x); }
ACUI_DEVICE float floorf(float x) { return __builtin_floorf(x); }
ACUI_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
ACUI_DEVICE float truncf(float x) { return __builtin_truncf(x); }
ACUI_DEVICE float rintf(float x) { return __builtin_rintf(x); }
ACUI_DEVICE float nearbyintf(float x) { return __builtin_rintf(x); }
ACUI_DEVICE float copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
ACUI_DEVICE double fabs(double x) { return __builtin_fabs(x); }
ACUI_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
ACUI_DEVICE double fmin(double a, double b) { return __builtin_fmin(a, b); }
ACUI_DEVICE double fmax(double a, double b) { return __builtin_fmax(a, b); }
ACUI_DEVICE double sqrt(double x) { return __builtin_sqrt(x); }
ACUI_DEVICE double floor(double x) { return __builtin_floor(x); }
ACUI_DEVICE double ceil(double x) { return __builtin_ceil(x); }
ACUI_DEVICE double trunc(double x) { return __builtin_trunc(x); }
ACUI_DEVICE double rint(double x) { return __builtin_rint(x); }
ACUI_DEVICE double copysign(double x, double sign) { return __builtin_copysign(x, sign); }

/* To the nearest integer, halves away from zero. */
ACUI_DEVICE float roundf(float x)
{
    float whole = truncf(x);
    return fabsf(x - whole) >= 0.5f ? whole + copysignf(1.0f, x) : whole;
}
ACUI_DEVICE double round(double x)
{
    double whole = trunc(x);
    return fabs(x - whole) >= 0.5 ? whole + copysign(1.0, x) : whole;
}

#define ACUI_CLASSIFY(type, inf)                                                                   \
    ACUI_DEVICE bool isnan(type x) { return x != x; }                                              \
    ACUI_DEVICE bool isinf(type x) { return x == inf || x == -inf; }                               \
    ACUI_DEVICE bool isfinite(type x) { return x > -inf && x < inf; }
ACUI_CLASSIFY(float, __builtin_inff())
ACUI_CLASSIFY(double, __builtin_inf())
#undef ACUI_CLASSIFY

/* ---- exponentials --------------------------------------------------------------------------- */

/* 2^n for a normal result */
ACUI_DEVICE float acui_pow2f(int n) { return __int_as_float((n + 127) << 23); }
ACUI_DEVICE double acui_pow2(int n) { return __longlong_as_double((long long)(n + 1023) << 52); }

/* value * 2^n, n from -252 to 254: in two steps, as 2^n itself may be out of range. */
ACUI_DEVICE float acui_scalef(float value, int n)
{
    int half = n >> 1;
    return value * acui_pow2f(half) * acui_pow2f(n - half);
}
ACUI_DEVICE double acui_scale(double value, int n)
{
    int half = n >> 1;
    return value * acui_pow2(half) * acui_pow2(n - half);
}

/* e^r - 1 for |r| <= ln(2)/2 */
ACUI_DEVICE float acui_expm1_core(float r)
{
    float q = fmaf(0.00139516930f, r, 0.00836959761f);
    q = fmaf(q, r, 0.0416661873f);
    q = fmaf(q, r, 0.166665122f);
    q = fmaf(q, r, 0.5f);
    return fmaf(r * r, q, r);
}

/* x - n ln(2), for the n nearest to x / ln(2) */
ACUI_DEVICE float acui_exp_reduce(float x, int *n)
{
    float k = rintf(x * 1.44269504f);
    *n = (int)k;
    return fmaf(k, 1.90465421e-9f, fmaf(k, -0.693147182f, x));
}

ACUI_DEVICE float expf(float x)
{
    if (x != x)
        return x;
    int n;
    float r = acui_exp_reduce(fminf(fmaxf(x, -104.0f), 89.0f), &n);
    return acui_scalef(1.0f + acui_expm1_core(r), n);
}

ACUI_DEVICE float expm1f(float x)
{
    if (!(x > -17.5f)) /* also NaN */
        return x != x ? x : -1.0f;
    if (x > 88.7f)
        return expf(x);
    int n;
    float r = acui_exp_reduce(x, &n);
    float p = acui_expm1_core(r);
    if (n == 0)
        return x == 0.0f ? x : p;
    /* (1 + p) 2^n - 1; for n = 128, which does not fit, from half of it */
    float scale = acui_pow2f(n - 1);
    return 2.0f * fmaf(p, scale, scale - 0.5f);
}

ACUI_DEVICE float exp2f(float x)
{
    if (x != x)
        return x;
    x = fminf(fmaxf(x, -151.0f), 129.0f);
    float n = rintf(x), r = x - n;
    float q = fmaf(0.000154778463f, r, 0.00134016119f);
    q = fmaf(q, r, 0.00961799826f);
    q = fmaf(q, r, 0.0555032454f);
    q = fmaf(q, r, 0.240226507f);
    q = fmaf(q, r, 0.693147182f);
    return acui_scalef(fmaf(q, r, 1.0f), (int)n);
}

/* Without branches: both paths are short, and neighbouring threads seldom take the same one. */
ACUI_DEVICE float tanhf(float x)
{
    float a = fabsf(x), u = x * x;
    float q = fmaf(-0.00623159949f, u, 0.0210436899f);
    q = fmaf(q, u, -0.0538460948f);
    q = fmaf(q, u, 0.133325338f);
    q = fmaf(q, u, -0.333333164f);
    float small = fmaf(x * u, q, x);
    int n; /* e^(2a) = 2^n (1 + ...); from a = 10 on the result is 1 */
    float r = acui_exp_reduce(2.0f * (a > 10.0f ? 10.0f : a), &n);
    float t = (1.0f + acui_expm1_core(r)) * acui_pow2f(n);
    float large = fmaf(-2.0f, 1.0f / (t + 1.0f), 1.0f); /* 1 / x takes fewer instructions than 2
                                                         * / x */
    return copysignf(a < 0.55f ? small : large, x); /* keeps -0 */
}

ACUI_DEVICE double exp(double x)
{
    if (x != x)
        return x;
    x = fmin(fmax(x, -746.0), 710.0);
    double k = rint(x * 1.4426950408889634);
    double r = fma(k, -0x1.abc9e3b39803fp-56, fma(k, -0x1.62e42fefa39efp-1, x));
    double q = fma(2.0927829904858207e-09, r, 2.5113438646099489e-08);
    q = fma(q, r, 2.7557230323765009e-07);
    q = fma(q, r, 2.7557230815166167e-06);
    q = fma(q, r, 2.480158737756118e-05);
    q = fma(q, r, 0.00019841269900461918);
    q = fma(q, r, 0.0013888888888856311);
    q = fma(q, r, 0.0083333333333153754);
    q = fma(q, r, 0.041666666666666727);
    q = fma(q, r, 0.16666666666666685);
    q = fma(q, r, 0.5);
    return acui_scale(1.0 + fma(r * r, q, r), (int)k);
}

/* ---- logarithms ----------------------------------------------------------------------------- */

/* log(1 + f) - f + sum, for f in [-1/3, 1/3] */
ACUI_DEVICE float acui_log1p_tail(float f, float sum)
{
    float q = fmaf(0.120091051f, f, -0.12846382f);
    q = fmaf(q, f, 0.107537828f);
    q = fmaf(q, f, -0.121955127f);
    q = fmaf(q, f, 0.143044904f);
    q = fmaf(q, f, -0.166795939f);
    q = fmaf(q, f, 0.199995965f);
    q = fmaf(q, f, -0.249998197f);
    q = fmaf(q, f, 0.333333343f);
    q = fmaf(q, f, -0.5f);
    return fmaf(f * f, q, sum);
}

/* x = 2^exponent (1 + f) with 1 + f in [2/3, 4/3), for finite x > 0 */
ACUI_DEVICE float acui_log_reduce(float x, float *exponent)
{
    int shift = 0;
    if (x < 1.17549435e-38f) { /* subnormal */
        x *= 8388608.0f;
        shift = -23;
    }
    int bits = __float_as_int(x);
    int e = (bits - 0x3f2aaaab) >> 23;
    *exponent = (float)(e + shift);
    return __int_as_float(bits - (e << 23)) - 1.0f;
}

/* The logarithm, in any base, of anything but a finite number above zero */
ACUI_DEVICE float acui_log_special(float x)
{
    return x == 0.0f ? -ACUI_INF : x < 0.0f ? x - x + __builtin_nanf("") : x;
}

ACUI_DEVICE float logf(float x)
{
    if (!(x > 0.0f && x < ACUI_INF))
        return acui_log_special(x);
    float e, f = acui_log_reduce(x, &e);
    return fmaf(e, 0.693147182f, acui_log1p_tail(f, f));
}

ACUI_DEVICE float log2f(float x)
{
    if (!(x > 0.0f && x < ACUI_INF))
        return acui_log_special(x);
    float e, f = acui_log_reduce(x, &e);
    float tail = fmaf(acui_log1p_tail(f, 0.0f), 1.44269502f, f * 1.92596303e-8f);
    return e + fmaf(f, 1.44269502f, tail);
}

ACUI_DEVICE float log10f(float x)
{
    if (!(x > 0.0f && x < ACUI_INF))
        return acui_log_special(x);
    float e, f = acui_log_reduce(x, &e);
    float tail = fmaf(acui_log1p_tail(f, 0.0f), 0.434294492f, f * -1.010305e-8f);
    tail = fmaf(f, 0.434294492f, tail);
    return fmaf(e, 0.301030010f, fmaf(e, -1.43209888e-8f, tail));
}

ACUI_DEVICE float log1pf(float x)
{
    if (x > -0.33f && x < 0.33f)
        return x == 0.0f ? x : acui_log1p_tail(x, x);
    if (!(x > -1.0f && x < ACUI_INF))
        return x == -1.0f ? -ACUI_INF : acui_log_special(x);
    float u = 1.0f + x;
    /* what the sum lost in rounding */
    float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    float e, f = acui_log_reduce(u, &e);
    return fmaf(e, 0.693147182f, acui_log1p_tail(f, f + lost / u));
}

/* x = 2^exponent m with m in [sqrt(1/2), sqrt(2)), for finite x > 0 */
ACUI_DEVICE double acui_log_reduce(double x, double *exponent)
{
    int shift = 0;
    if (x < 2.2250738585072014e-308) {
        x *= 4503599627370496.0;
        shift = -52;
    }
    long long bits = __double_as_longlong(x);
    int e = (int)((bits - 0x3fe6a09e667f3bcdll) >> 52);
    *exponent = e + shift;
    return __longlong_as_double(bits - ((long long)e << 52));
}

/* With s = f / (2 + f): log(1 + f) = f - s (f - z R(z)) = f - (f^2/2 - s (f^2/2 + z R(z))), z = s^2 */
ACUI_DEVICE double log(double x)
{
    if (!(x > 0.0 && x < __builtin_inf()))
        return x == 0.0 ? -__builtin_inf() : x < 0.0 ? __builtin_nan("") : x;
    double e, f = acui_log_reduce(x, &e) - 1.0;
    double s = f / (2.0 + f), z = s * s;
    double r = fma(0.14811538415948297, z, 0.15312570052448293);
    r = fma(r, z, 0.18183618981734911);
    r = fma(r, z, 0.22222197587466902);
    r = fma(r, z, 0.28571428751301625);
    r = fma(r, z, 0.39999999999377989);
    r = fma(r, z, 0.66666666666667396);
    double half = 0.5 * f;
    double low = fma(s, fma(r, z, half * f), e * 0x1.abc9e3b39803fp-56);
    return fma(e, 0x1.62e42fefa39efp-1, f - fma(half, f, -low));
}

/* ---- powers --------------------------------------------------------------------------------- */

/* The logarithm to base 2 of x >= 0, correct to some 45 bits: enough for powf over its whole
 * range. */
ACUI_DEVICE double acui_pow_log2(float x)
{
    if (x == 0.0f || x == ACUI_INF)
        return x == 0.0f ? -__builtin_inf() : __builtin_inf();
    double e, m = acui_log_reduce((double)x, &e);
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double q = fma(0.28312468498270726, z, 0.31989067879060173);
    q = fma(q, z, 0.41220960004064494);
    q = fma(q, z, 0.57707793912569449);
    q = fma(q, z, 0.96179669412371582);
    q = fma(q, z, 2.8853900817778446);
    return fma(s, q, e);
}

/* 2^t as a float */
ACUI_DEVICE float acui_pow_exp2(double t)
{
    t = fmin(fmax(t, -200.0), 200.0);
    double n = rint(t), r = t - n;
    double q = fma(1.5316708124369106e-05, r, 0.00015469997430965138);
    q = fma(q, r, 0.0013333421604667327);
    q = fma(q, r, 0.0096180247725276349);
    q = fma(q, r, 0.055504109773627297);
    q = fma(q, r, 0.24022651219822558);
    q = fma(q, r, 0.69314718053464419);
    q = fma(q, r, 0.99999999995890043);
    return (float)(q * acui_pow2((int)n));
}

/* Computed in double, which makes it short and accurate; slow on GPUs with few double units. */
ACUI_DEVICE float powf(float x, float y)
{
    if (x == 1.0f || y == 0.0f)
        return 1.0f;
    if (x != x || y != y)
        return x + y;
    float size = fabsf(x);
    float result = size == 1.0f ? 1.0f : acui_pow_exp2((double)y * acui_pow_log2(size));
    if (__float_as_int(x) >= 0) /* +0 too */
        return result;
    bool whole = truncf(y) == y;
    if (whole && fabsf(y) < 16777216.0f && ((int)y & 1)) /* larger floats are even */
        return -result;
    return whole || x == 0.0f || x == -ACUI_INF ? result : __builtin_nanf("");
}

/* ---- sine, cosine, tangent ------------------------------------------------------------------ */

/*
 * For large x (finite, |x| >= 2^-6): multiplies the 24 bits of x by the 96 bits of 2/pi that decide
 * the result. The bits above these give multiples of four quarter turns; those below are too small
 * to matter.
 */
ACUI_DEVICE_OUTLINE float acui_trig_reduce_large(float x, int *quadrant)
{
    /* 32 zeros, then the bits of 2/pi after the point */
    const unsigned table[8] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                               0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    unsigned bits = (unsigned)__float_as_int(fabsf(x));
    unsigned mantissa = (bits & 0x7fffffu) | 0x800000u;
    unsigned first = (bits >> 23) - 120; /* the first bit of the table that is used: exponent - 150
                                          * + 32 - 2 */
    unsigned word = first >> 5, shift = first & 31;
    unsigned window[3];
    for (unsigned i = 0; i < 3; i++) {
        unsigned long long pair = (unsigned long long)table[word + i] << 32 | table[word + i + 1];
        window[i] = (unsigned)((pair << shift) >> 32);
    }
    /* the product modulo 2^96: its two top bits count quarter turns, the rest is the fraction of
     * one */
    unsigned long long low = (unsigned long long)window[2] * mantissa;
    unsigned long long high = (((unsigned long long)window[0] * mantissa) << 32) +
                              (unsigned long long)window[1] * mantissa + (low >> 32);
    int quarter = (int)(high >> 62);
    long long fraction = (long long)(high << 2 | (unsigned)low >> 30);
    quarter += fraction < 0; /* above one half: take the next quarter, and a negative rest */
    double rest = (double)fraction * 0x1.921fb54442d18p-64; /* pi/2 * 2^-64 */
    *quadrant = x < 0.0f ? -quarter : quarter;
    return (float)(x < 0.0f ? -rest : rest);
}

/* x minus the nearest multiple of pi/2; *quadrant is that multiple modulo 4; NaN for infinities */
ACUI_DEVICE float acui_trig_reduce(float x, int *quadrant)
{
    *quadrant = 0;
    if (fabsf(x) < 0.785f) /* nothing to do; keeps -0 */
        return x;
    if (!(fabsf(x) < ACUI_INF))
        return x - x;
    if (fabsf(x) > 48000.0f)
        return acui_trig_reduce_large(x, quadrant);
    float k = rintf(x * 0.636619747f);
    *quadrant = (int)k;
    float r = fmaf(k, -0x1.921fb6p+0f, x);
    r = fmaf(k, 0x1.777a5cp-25f, r);
    return fmaf(k, 0x1.ee59dap-50f, r);
}

/* for |r| <= pi/4 */
ACUI_DEVICE float acui_sin_core(float r)
{
    float u = r * r;
    float q = fmaf(2.71756426e-06f, u, -0.000198392561f);
    q = fmaf(q, u, 0.00833332911f);
    q = fmaf(q, u, -0.166666672f);
    return r == 0.0f ? r : fmaf(r * u, q, r); /* keeps -0 */
}
ACUI_DEVICE float acui_cos_core(float r)
{
    float u = r * r;
    float q = fmaf(2.4431205e-05f, u, -0.0013887306f);
    q = fmaf(q, u, 0.0416666456f);
    q = fmaf(q, u, -0.5f);
    return fmaf(q, u, 1.0f);
}

ACUI_DEVICE float acui_sin_quadrant(float r, int quadrant)
{
    float value = quadrant & 1 ? acui_cos_core(r) : acui_sin_core(r);
    return quadrant & 2 ? -value : value;
}

ACUI_DEVICE float sinf(float x)
{
    int quadrant;
    float r = acui_trig_reduce(x, &quadrant);
    return acui_sin_quadrant(r, quadrant);
}

ACUI_DEVICE float cosf(float x)
{
    int quadrant;
    float r = acui_trig_reduce(x, &quadrant);
    return acui_sin_quadrant(r, quadrant + 1);
}

ACUI_DEVICE void sincosf(float x, float *sine, float *cosine)
{
    int quadrant;
    float r = acui_trig_reduce(x, &quadrant);
    *sine = acui_sin_quadrant(r, quadrant);
    *cosine = acui_sin_quadrant(r, quadrant + 1);
}

ACUI_DEVICE float tanf(float x)
{
    int quadrant;
    float r = acui_trig_reduce(x, &quadrant);
    float sine = acui_sin_core(r), cosine = acui_cos_core(r);
    return quadrant & 1 ? -cosine / sine : sine / cosine;
}

/* ---- error function ------------------------------------------------------------------------- */

ACUI_DEVICE float erff(float x)
{
    float a = fabsf(x);
    if (a < 1.0f) {
        float u = x * x;
        float q = fmaf(7.8891193e-05f, u, -0.000802084163f);
        q = fmaf(q, u, 0.00518953521f);
        q = fmaf(q, u, -0.0268544443f);
        q = fmaf(q, u, 0.112836003f);
        q = fmaf(q, u, -0.37612626f);
        q = fmaf(q, u, 0.128379166f);
        return fmaf(q, x, x);
    }
    if (x != x)
        return x;
    a = fminf(a, 4.0f); /* from 4 on the result rounds to 1 */
    float q = fmaf(-2.16975604e-05f, a, 0.000441472017f); /* log(erfc(a)) on [1, 4] */
    q = fmaf(q, a, -0.00420528185f);
    q = fmaf(q, a, 0.0252103321f);
    q = fmaf(q, a, -0.108422086f);
    q = fmaf(q, a, -0.633216381f);
    q = fmaf(q, a, -1.12958026f);
    q = fmaf(q, a, 0.000188466714f);
    return copysignf(1.0f - expf(q), x);
}

/* ---- C++ names for float, where there is a double form to choose from ------------------------ */

ACUI_DEVICE float fabs(float x) { return fabsf(x); }
ACUI_DEVICE float abs(float x) { return fabsf(x); }
ACUI_DEVICE double abs(double x) { return fabs(x); }
ACUI_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }
ACUI_DEVICE float fmin(float a, float b) { return fminf(a, b); }
ACUI_DEVICE float fmax(float a, float b) { return fmaxf(a, b); }
ACUI_DEVICE float sqrt(float x) { return sqrtf(x); }
ACUI_DEVICE float floor(float x) { return floorf(x); }
ACUI_DEVICE float ceil(float x) { return ceilf(x); }
ACUI_DEVICE float trunc(float x) { return truncf(x); }
ACUI_DEVICE float rint(float x) { return rintf(x); }
ACUI_DEVICE float round(float x) { return roundf(x); }
ACUI_DEVICE float copysign(float x, float sign) { return copysignf(x, sign); }
ACUI_DEVICE float exp(float x) { return expf(x); }
ACUI_DEVICE float log(float x) { return logf(x); }

#include "math_f64.cuh"

#undef ACUI_INF
#endif
