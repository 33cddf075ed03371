/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Further functions of double, and C++ names for the float forms in math.cuh, which includes this
 * file. The same rules hold: correctly rounded operations only, each fma written out, and no
 * product goes into a sum except by its rounded value (__dmul_rn). Errors are a few units in the
 * last place.
 */
#ifndef ACUDA_KERNELS_MATH_F64_CUH
#define ACUDA_KERNELS_MATH_F64_CUH

/* e^x - 1 where |x| < 0.35: Taylor's series */
ACUI_DEVICE double acui_expm1_small(double x)
{
    double q = 1.0 / 1307674368000.0;
    q = fma(q, x, 1.0 / 87178291200.0);
    q = fma(q, x, 1.0 / 6227020800.0);
    q = fma(q, x, 1.0 / 479001600.0);
    q = fma(q, x, 1.0 / 39916800.0);
    q = fma(q, x, 1.0 / 3628800.0);
    q = fma(q, x, 1.0 / 362880.0);
    q = fma(q, x, 1.0 / 40320.0);
    q = fma(q, x, 1.0 / 5040.0);
    q = fma(q, x, 1.0 / 720.0);
    q = fma(q, x, 1.0 / 120.0);
    q = fma(q, x, 1.0 / 24.0);
    q = fma(q, x, 1.0 / 6.0);
    q = fma(q, x, 0.5);
    return fma(x * x, q, x);
}

/* (a + a_low) (b + b_low) */
ACUI_DEVICE double acui_long_product(double a, double a_low, double b, double b_low, double *low)
{
    double p = __dmul_rn(a, b);
    *low = fma(a, b, -p) + fma(a, b_low, __dmul_rn(a_low, b));
    return p;
}
/* e^(x + low) = (1 + the result) 2^n, for |x| up to 800 */
ACUI_DEVICE double acui_expm1_parts(double x, double low, int *n)
{
    double k = rint(x * 1.4426950408889634);
    double r = fma(k, -0x1.62e42fefa39efp-1, x);
    double r_low = fma(k, -0x1.abc9e3b39803fp-56, low);
    double t = r + r_low;
    r_low = r_low - (t - r);
    double q = fma(2.0927829904858207e-09, t, 2.5113438646099489e-08);
    q = fma(q, t, 2.7557230323765009e-07);
    q = fma(q, t, 2.7557230815166167e-06);
    q = fma(q, t, 2.480158737756118e-05);
    q = fma(q, t, 0.00019841269900461918);
    q = fma(q, t, 0.0013888888888856311);
    q = fma(q, t, 0.0083333333333153754);
    q = fma(q, t, 0.041666666666666727);
    q = fma(q, t, 0.16666666666666685);
    q = fma(q, t, 0.5);
    *n = (int)k;
    return t + fma(__dmul_rn(t, t), q, fma(r_low, t, r_low));
}
ACUI_DEVICE double acui_exp_parts(double x, double low, int *n)
{
    return 1.0 + acui_expm1_parts(x, low, n);
}

ACUI_DEVICE float tanh(float x) { return tanhf(x); }
ACUI_DEVICE double tanh(double x)
{
    double a = fmin(fabs(x), 22.0); /* from 22 on the result rounds to 1 */
    int n;
    double p = acui_expm1_parts(2.0 * a, 0.0, &n), scale = acui_pow2(n);
    double t = a < 0.17 ? acui_expm1_small(2.0 * a) : fma(p, scale, scale - 1.0);
    return x != x ? x : copysign(a < 0.55 ? t / (t + 2.0) : 1.0 - 2.0 / (t + 2.0), x);
}

/* erf(x)/x of z = x^2 up to 1, e^(x^2) erfc(x) (1 + 2 x) of t = (x - 3) / (x + 3) from x = 1/2 on. */
ACUI_DEVICE double acui_erf_core(double z)
{
    double q = 0x1.05ffd737fb32ep-34;
    q = fma(q, z, -0x1.389d4f2641625p-30);
    q = fma(q, z, 0x1.f7b4bf3b13964p-27);
    q = fma(q, z, -0x1.5f1ecb6f0764cp-23);
    q = fma(q, z, 0x1.b9df224ca4b97p-20);
    q = fma(q, z, -0x1.f4d1e3183f7aep-17);
    q = fma(q, z, 0x1.f9a321d5b8e1ep-14);
    q = fma(q, z, -0x1.c02db3dac435fp-11);
    q = fma(q, z, 0x1.565bcd0dbaa38p-8);
    q = fma(q, z, -0x1.b82ce31284e00p-6);
    q = fma(q, z, 0x1.ce2f21a042b30p-4);
    q = fma(q, z, -0x1.812746b0379e6p-2);
    q = fma(q, z, 0x1.20dd750429b6dp+0);
    return q;
}
ACUI_DEVICE double acui_erfcx_core(double t)
{
    double q = 0x1.d43a188a2618ap-29;
    q = fma(q, t, -0x1.0ac3e15df84d4p-27);
    q = fma(q, t, -0x1.5cc93ecfe61d2p-26);
    q = fma(q, t, 0x1.7a5e87961c44dp-25);
    q = fma(q, t, 0x1.db5de85d51025p-24);
    q = fma(q, t, -0x1.3a6fd835a7a7cp-23);
    q = fma(q, t, -0x1.4e821f2d9aafep-21);
    q = fma(q, t, 0x1.83be0ef7d161ep-22);
    q = fma(q, t, 0x1.d276424a67576p-19);
    q = fma(q, t, -0x1.89e51836121c5p-21);
    q = fma(q, t, -0x1.513f528f1490ap-16);
    q = fma(q, t, 0x1.4c33558ea55b0p-18);
    q = fma(q, t, 0x1.065a4fd15385cp-13);
    q = fma(q, t, -0x1.b9129f3dfe00cp-14);
    q = fma(q, t, -0x1.98db51d93e4f4p-11);
    q = fma(q, t, 0x1.ef1bdd94c480ap-10);
    q = fma(q, t, 0x1.4b884e47ffa84p-9);
    q = fma(q, t, -0x1.8574c40c1dc7bp-6);
    q = fma(q, t, 0x1.17ca2877efa6ap-4);
    q = fma(q, t, -0x1.e88b803a48910p-4);
    q = fma(q, t, 0x1.098366a5b46fdp-3);
    q = fma(q, t, -0x1.85a15c58aa60bp-5);
    q = fma(q, t, -0x1.15c084bb9e8f3p-3);
    q = fma(q, t, 0x1.40c522d7e4987p+0);
    return q;
}

ACUI_DEVICE double acui_erfcx(double x) /* for x >= 1/2 */
{
    double d = x + 3.0, t = isfinite(x) ? (x - 3.0) / d : 1.0;
    return 0.5 * acui_erfcx_core(t) / (x + 0.5); /* 2 x may be out of range */
}
/* e^(-x^2) erfcx(x) for x >= 1/2 */
ACUI_DEVICE double acui_erfc(double x)
{
    double square = __dmul_rn(x, x), lost = fma(x, x, -square);
    if (!(x < 28.0))
        return 0.0;
    int n;
    double m = acui_exp_parts(-square, -lost, &n);
    return acui_scale(m * acui_erfcx(x), n);
}
ACUI_DEVICE float erf(float x) { return erff(x); }
ACUI_DEVICE double erf(double x)
{
    double a = fabs(x);
    if (!(a >= 0.75))
        return x * acui_erf_core(x * x);
    return copysign(a < 6.0 ? 1.0 - acui_erfc(a) : 1.0, x);
}
/*
 * For large x (finite, |x| >= 2^-10): multiplies the 53 bits of x by the 192 bits of 2/pi that
 * decide the result. The bits above these give multiples of four quarter turns; those below are too
 * small to matter.
 */
ACUI_DEVICE_OUTLINE double acui_quarter_turns_large(double x, int *quadrant, double *low)
{
    /* 64 zeros, then the bits of 2/pi after the point */
    const unsigned long long table[20] = {
        0, 0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
        0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
        0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
        0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
        0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};
    unsigned long long bits = (unsigned long long)__double_as_longlong(fabs(x)), window[3];
    unsigned long long mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
    unsigned first = (unsigned)(bits >> 52) - 1013; /* the first bit of the table that is used:
                                                     * exponent - 1075 + 64 - 2 */
    unsigned word = first >> 6, shift = first & 63;
    for (unsigned i = 0; i < 3; i++) /* avoids a shift by 64 */
        window[i] = table[word + i] << shift | table[word + i + 1] >> 1 >> (63 - shift);
    /* the product modulo 2^192: its two top bits count quarter turns, the rest is the fraction of
     * one */
    unsigned long long p0 = window[2] * mantissa, carry = __umul64hi(window[2], mantissa);
    unsigned long long p1 = window[1] * mantissa + carry;
    unsigned long long p2 = window[0] * mantissa + __umul64hi(window[1], mantissa) + (p1 < carry);
    unsigned long long high = p2 << 2 | p1 >> 62, next = p1 << 2 | p0 >> 62;
    bool above = high >> 63; /* above one half: take the next quarter, and a negative rest */
    int quarter = (int)(p2 >> 62) + above;
    high = above ? ~high : high; /* nonzero: no double is nearer to a quarter turn */
    next = above ? ~next : next;
    int zeros = __clzll((long long)high);
    high = high << zeros | next >> 1 >> (63 - zeros);
    next <<= zeros;
    double scale = acui_pow2(-53 - zeros), f = (double)(high >> 11) * scale;
    double f_low = (double)((high & 2047) << 52 | next >> 12) * (scale * 0x1p-63);
    double y = __dmul_rn(f, 1.5707963267948966);
    double tail = fma(f_low, 1.5707963267948966, fma(f, 6.123233995736766e-17, fma(f, 1.5707963267948966, -y)));
    double r = y + tail, rest = (y - r) + tail;
    *quadrant = x < 0.0 ? -quarter : quarter;
    *low = (x < 0.0) != above ? -rest : rest;
    return (x < 0.0) != above ? -r : r;
}
/* x - n pi/2 in two parts, for the nearest n; pi/2 in three parts, because x may be nearly a
 * multiple of it */
ACUI_DEVICE double acui_quarter_turns(double x, int *quadrant, double *low)
{
    if (fabs(x) >= 1048576.0)
        return acui_quarter_turns_large(x, quadrant, low);
    double n = rint(x * 0.63661977236758134);
    double r = fma(-n, 1.5707963267948966, x), tail = __dmul_rn(n, 6.123233995736766e-17);
    double lost = fma(n, -1.4973849048591698e-33, fma(n, 6.123233995736766e-17, -tail));
    *quadrant = (int)n;
    double y = r - tail;
    *low = ((r - y) - tail) - lost;
    return y;
}
ACUI_DEVICE double acui_sine_core(double r, double low)
{
    double z = r * r;
    double q = -1.0 / 121645100408832000.0;
    q = fma(q, z, 1.0 / 355687428096000.0);
    q = fma(q, z, -1.0 / 1307674368000.0);
    q = fma(q, z, 1.0 / 6227020800.0);
    q = fma(q, z, -1.0 / 39916800.0);
    q = fma(q, z, 1.0 / 362880.0);
    q = fma(q, z, -1.0 / 5040.0);
    q = fma(q, z, 1.0 / 120.0);
    q = fma(q, z, -1.0 / 6.0);
    return r + fma(r * z, q, low * fma(-0.5, z, 1.0));
}
ACUI_DEVICE double acui_cosine_core(double r, double low)
{
    double z = r * r;
    double q = 1.0 / 2432902008176640000.0;
    q = fma(q, z, -1.0 / 6402373705728000.0);
    q = fma(q, z, 1.0 / 20922789888000.0);
    q = fma(q, z, -1.0 / 87178291200.0);
    q = fma(q, z, 1.0 / 479001600.0);
    q = fma(q, z, -1.0 / 3628800.0);
    q = fma(q, z, 1.0 / 40320.0);
    q = fma(q, z, -1.0 / 720.0);
    q = fma(q, z, 1.0 / 24.0);
    double half = 0.5 * z, one = 1.0 - half;
    return one + (((1.0 - one) - half) + fma(z * z, q, -r * low));
}
ACUI_DEVICE double acui_turned(double x, int ahead)
{
    if (!isfinite(x))
        return x - x;
    int quadrant;
    double low, r = acui_quarter_turns(x, &quadrant, &low);
    quadrant += ahead;
    double value = quadrant & 1 ? acui_cosine_core(r, low) : acui_sine_core(r, low);
    return quadrant & 2 ? -value : value;
}
ACUI_DEVICE float sin(float x) { return sinf(x); }
ACUI_DEVICE float cos(float x) { return cosf(x); }
ACUI_DEVICE double sin(double x) { return x == 0.0 ? x : acui_turned(x, 0); }
ACUI_DEVICE double cos(double x) { return acui_turned(x, 1); }

/* The logarithm of finite x > 0 as high + low. */
ACUI_DEVICE double acui_log_parts(double x, double *low)
{
    double e, m = acui_log_reduce(x, &e);
    /* log m = 2 atanh s; s in two parts */
    double f = m - 1.0, d = m + 1.0;
    double s = f / d, b_d = d - m, d_low = (m - (d - b_d)) + (1.0 - b_d);
    double s_low = (fma(-s, d, f) - __dmul_rn(s, d_low)) / d;
    /* the sum of 2 s^n / n; the cubic term in two parts as well, because y times the logarithm may
     * be large */
    double z = s * s, q = 2.0 / 23.0;
    for (int n = 21; n >= 5; n -= 2)
        q = fma(q, z, 2.0 / (double)n);
    double third = s * z, third_low = fma(s, z, -third) + __dmul_rn(s, fma(s, s, -z));
    double cube = __dmul_rn(third, 2.0 / 3.0), cube_low = fma(third, 2.0 / 3.0, -cube);
    cube_low = fma(third, fma(q, z, 0x1.5555555555555p-55), fma(third_low, 2.0 / 3.0, cube_low));
    double high = __dmul_rn(e, 0x1.62e42fefa3800p-1); /* exact: the constant has 42 bits */
    double a = high + 2.0 * s, b = a - high;
    double lost = (high - (a - b)) + (2.0 * s - b);
    double sum = a + cube, small = ((a - sum) + cube) + cube_low;
    small += lost + fma(e, 0x1.ef35793c76730p-45, 2.0 * fma(s_low, z, s_low));
    double whole = sum + small;
    *low = (sum - whole) + small;
    return whole;
}
ACUI_DEVICE float pow(float x, float y) { return powf(x, y); }
ACUI_DEVICE double pow(double x, double y)
{
    if (x == 1.0 || y == 0.0)
        return 1.0;
    if (x != x || y != y)
        return x + y;
    double size = fabs(x), result;
    if (size == 1.0)
        result = 1.0;
    else if (size == 0.0 || !isfinite(size) || !isfinite(y))
        result = (size > 1.0) == (y > 0.0) ? __builtin_inf() : 0.0;
    else {
        double low, high = acui_log_parts(size, &low);
        double p = __dmul_rn(y, high), p_low = fma(y, high, -p) + __dmul_rn(y, low);
        double base = exp(p);
        result = isfinite(p) && isfinite(base) ? fma(base, p_low, base) : base;
    }
    if (__double_as_longlong(x) >= 0)
        return result;
    bool whole = trunc(y) == y;
    if (whole && fabs(y) < 9007199254740992.0 && ((long long)y & 1))
        return -result;
    return whole || !isfinite(x) || x == 0.0 ? result : __builtin_nan("");
}

#endif
