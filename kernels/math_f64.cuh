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

ACUI_DEVICE float tanh(float x) { return tanhf(x); }
ACUI_DEVICE double tanh(double x)
{
    double a = fmin(fabs(x), 22.0); /* from 22 on the result rounds to 1 */
    double t = a < 0.17 ? acui_expm1_small(-2.0 * a) : exp(-2.0 * a) - 1.0;
    return x != x ? x : copysign(-t / (t + 2.0), x);
}

/* Sum of x^(2n+1) 2^n / (1 3 5 ... (2n+1)), times 2/sqrt(pi) e^(-x^2): all terms have one sign. */
ACUI_DEVICE float erf(float x) { return erff(x); }
ACUI_DEVICE double erf(double x)
{
    if (!(fabs(x) < 6.0))
        return x != x ? x : copysign(1.0, x);
    double square = __dmul_rn(x, x), term = x, sum = x;
    if (fabs(x) > 2.0) { /* 1 minus the continued fraction of the rest */
        double a = fabs(x), t = a;
        for (int n = 60; n > 0; n--)
            t = a + 0.5 * (double)n / t;
        return copysign(1.0 - exp(-square) / (1.7724538509055160 * t), x);
    }
    for (int n = 1; fabs(term) > 1e-18 * fabs(sum); n++) {
        term = __dmul_rn(term, 2.0 * square / (double)(2 * n + 1));
        sum += term;
    }
    double low = fma(x, x, -square); /* what the square lost */
    return 1.1283791670955126 * sum * exp(-square) * (1.0 - low);
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
