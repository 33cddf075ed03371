/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Arithmetic and functions of complex numbers, in double: for acuda's own kernels (complex.cuh), and for those
 * that are compiled from expressions at run time (src/ops/fused_source.c), by clang or by NVRTC.
 *
 * Infinities and NaN: as in C's Annex G for functions; products and quotients as in NumPy, part by part
 * (infinity times i may have NaN as one part).
 */
#ifndef ACUDA_KERNELS_COMPLEX_MATH_CUH
#define ACUDA_KERNELS_COMPLEX_MATH_CUH

#ifndef ACUI_DEVICE /* prelude.cuh has them where clang compiles */
#define ACUI_DEVICE static __device__ __forceinline__
#define ACUI_DEVICE_OUTLINE static __device__ __noinline__
#endif

struct acui_complex {
    double x, y;
};

ACUI_DEVICE bool acui_is_zero(acui_complex z) { return z.x == 0 && z.y == 0; }
ACUI_DEVICE bool operator==(acui_complex a, acui_complex b) { return a.x == b.x && a.y == b.y; }
ACUI_DEVICE acui_complex operator-(acui_complex a) { return {-a.x, -a.y}; }
ACUI_DEVICE acui_complex operator+(acui_complex a, acui_complex b)
{
    return {a.x + b.x, a.y + b.y};
}
ACUI_DEVICE acui_complex operator-(acui_complex a, acui_complex b)
{
    return {a.x - b.x, a.y - b.y};
}
ACUI_DEVICE acui_complex operator*(acui_complex a, acui_complex b)
{
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
ACUI_DEVICE acui_complex acui_add_product(acui_complex a, acui_complex b, acui_complex c)
{
    return {fma(a.x, b.x, fma(-a.y, b.y, c.x)), fma(a.x, b.y, fma(a.y, b.x, c.y))};
}
/* What a number is multiplied by so that sums and products of its parts neither overflow nor lose
 * bits at the lower end. */
ACUI_DEVICE double acui_scale_of(acui_complex z)
{
    const double a = fabs(z.x), b = fabs(z.y), high = a > b ? a : b;
    return high > 0x1p900 ? 0x1p-200 : high < 0x1p-700 ? 0x1p200 : 1.0;
}
/* By the larger part of b first. */
ACUI_DEVICE_OUTLINE acui_complex operator/(acui_complex a, acui_complex b)
{
    if (acui_is_zero(b))
        return {a.x / fabs(b.x), a.y / fabs(b.x)};
    const double of_a = acui_scale_of(a), of_b = acui_scale_of(b), back = of_b / of_a;
    const bool first = fabs(b.x) >= fabs(b.y);
    const double high = (first ? b.x : b.y) * of_b, low = (first ? b.y : b.x) * of_b;
    const double x = a.x * of_a, y = a.y * of_a;
    const double ratio = low / high, by = 1.0 / (high + low * ratio);
    if (first)
        return {(x + y * ratio) * by * back, (y - x * ratio) * by * back};
    return {(x * ratio + y) * by * back, (y * ratio - x) * by * back};
}

/* ---- functions ----------------------------------------------------------------------------------- */

ACUI_DEVICE double acui_nan() { return __longlong_as_double(0x7ff8000000000000ll); }
ACUI_DEVICE double acui_infinity() { return __longlong_as_double(0x7ff0000000000000ll); }

/* a b, where 0 times anything is 0. */
ACUI_DEVICE double acui_times(double a, double b)
{
    return a == 0 ? copysign(a, signbit(a) != signbit(b) ? -1.0 : 1.0) : a * b;
}
/* exp(x) = power[0] power[1], neither of which overflows if the product does not. */
ACUI_DEVICE void acui_exp_in_two(double x, double (&power)[2])
{
    const bool large = x > 709.0 && x < 1500.0;
    power[0] = exp(large ? x - 709.0 : x);
    power[1] = large ? 8.2184074615549724e307 : 1.0; /* exp(709) */
}

ACUI_DEVICE acui_complex acui_exp_of(acui_complex z)
{
    double power[2], s, c;
    if (z.y == 0)
        return {exp(z.x), z.y};
    if (!isfinite(z.y) && !isfinite(z.x) && z.x == z.x)
        return z.x < 0 ? acui_complex{0.0, copysign(0.0, z.y)} : acui_complex{z.x, acui_nan()};
    acui_exp_in_two(z.x, power);
    sincos(z.y, &s, &c);
    return {acui_times(c, power[0]) * power[1], acui_times(s, power[0]) * power[1]};
}

/* |z|^2 - 1 is found without loss near 1. */
ACUI_DEVICE acui_complex acui_log_of(acui_complex z)
{
    const double a = fabs(z.x), b = fabs(z.y), high = a > b ? a : b, low = a > b ? b : a;
    const double angle = atan2(z.y, z.x);
    if (high > 0.5 && high < 2.0) {
        const double h = high * high, l = low * low;
        const double rest = fma(high, high, -h) + fma(low, low, -l);
        return {0.5 * log1p(h - 1.0 + l + rest), angle};
    }
    const double by = high > 0x1p1000 ? 0x1p-100 : high < 0x1p-900 ? 0x1p100 : 1.0;
    const double ln = by > 1 ? -69.314718055994531 : by < 1 ? 69.314718055994531 : 0.0; /* 100 ln 2 */
    if (isinf(a) || isinf(b))
        return {acui_infinity(), angle};
    return {log(hypot(z.x * by, z.y * by)) + ln, angle};
}

ACUI_DEVICE acui_complex acui_sqrt_of(acui_complex z)
{
    const double a = fabs(z.x), b = fabs(z.y), high = a > b ? a : b;
    if (acui_is_zero(z))
        return {0.0, z.y};
    if (isinf(z.y))
        return {acui_infinity(), z.y};
    if (isinf(z.x)) /* a NaN beside it stays */
        return z.x > 0 ? acui_complex{z.x, copysign(z.y - z.y, z.y)}
                       : acui_complex{fabs(z.y - z.y), copysign(z.x, z.y)};
    const double by = high > 0x1p1000 ? 0x1p-100 : high < 0x1p-900 ? 0x1p200 : 1.0;
    const double back = high > 0x1p1000 ? 0x1p50 : high < 0x1p-900 ? 0x1p-100 : 1.0;
    const double x = a * by, y = b * by, root = sqrt(0.5 * (x + hypot(x, y))), other = y / (2.0 * root);
    return z.x < 0 ? acui_complex{other * back, copysign(root * back, z.y)}
                   : acui_complex{root * back, copysign(other * back, z.y)};
}

/* exp(|y|) / 2 and the like, in two factors: beyond 22, cosh and |sinh| are that. */
ACUI_DEVICE acui_complex acui_by_hyperbolic(double of_cosh, double of_sinh, double y)
{
    double power[2];
    if (fabs(y) < 22)
        return {acui_times(of_cosh, cosh(y)), acui_times(of_sinh, sinh(y))};
    acui_exp_in_two(fabs(y), power);
    return {acui_times(of_cosh, 0.5 * power[0]) * power[1],
            copysign(1.0, y) * (acui_times(of_sinh, 0.5 * power[0]) * power[1])};
}
ACUI_DEVICE acui_complex acui_sin_of(acui_complex z)
{
    double s, c;
    if (z.y == 0)
        return {sin(z.x), z.y * (isfinite(z.x) ? cos(z.x) : 1.0)};
    if (isinf(z.y) && !isfinite(z.x))
        return {acui_nan(), z.y};
    sincos(z.x, &s, &c);
    return acui_by_hyperbolic(s, c, z.y);
}
ACUI_DEVICE acui_complex acui_cos_of(acui_complex z)
{
    double s, c;
    if (z.y == 0)
        return {cos(z.x), -(z.y * (isfinite(z.x) ? sin(z.x) : 1.0))};
    if (isinf(z.y) && !isfinite(z.x))
        return {acui_infinity(), acui_nan()};
    sincos(z.x, &s, &c);
    return acui_by_hyperbolic(c, -s, z.y);
}
ACUI_DEVICE acui_complex acui_tanh_of(acui_complex z)
{
    double s, c;
    if (isinf(z.x))
        return {copysign(1.0, z.x), copysign(0.0, isfinite(z.y) ? sin(2.0 * z.y) : z.y)};
    if (z.y == 0)
        return {tanh(z.x), z.y};
    if (z.x == 0 && !isfinite(z.y))
        return {z.x, acui_nan()};
    sincos(z.y, &s, &c);
    if (fabs(z.x) > 22)
        return {copysign(1.0, z.x), 4.0 * s * c * exp(-2.0 * fabs(z.x))};
    const double h = sinh(z.x), by = 1.0 / fma(h, h, c * c); /* sinh^2 x + cos^2 y */
    return {h * cosh(z.x) * by, s * c * by};
}

/* b times itself, n times. */
ACUI_DEVICE acui_complex acui_power_of(acui_complex a, int n)
{
    acui_complex result = {1.0, 0.0};
    for (unsigned k = (unsigned)(n < 0 ? -n : n); k; k >>= 1) {
        if (k & 1)
            result = result * a;
        a = k > 1 ? a * a : a;
    }
    return n < 0 ? acui_complex{1.0, 0.0} / result : result;
}
ACUI_DEVICE_OUTLINE acui_complex acui_pow_of(acui_complex a, acui_complex b)
{
    if (b.y == 0 && fabs(b.x) <= 100 && b.x == trunc(b.x))
        return acui_power_of(a, (int)b.x);
    if (acui_is_zero(a))
        return b.x > 0 ? acui_complex{0.0, 0.0} : acui_complex{acui_nan(), acui_nan()};
    return acui_exp_of(b * acui_log_of(a));
}

ACUI_DEVICE acui_complex acui_sign_of(acui_complex z)
{
    if (acui_is_zero(z))
        return z;
    const double size = hypot(z.x, z.y);
    if (isinf(size))
        return {isinf(z.x) ? isinf(z.y) ? acui_nan() : copysign(1.0, z.x) : 0.0 * z.x,
                isinf(z.y) ? isinf(z.x) ? acui_nan() : copysign(1.0, z.y) : 0.0 * z.y};
    return {z.x / size, z.y / size};
}

#endif
