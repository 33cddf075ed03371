/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Elementwise operations on c64 and c128, and those that take them apart and put them together. */
#include "complex.cuh"
#include "elementwise.cuh"
#include "more.cuh"
#include "math_more.cuh"

typedef acui_complex C;

/* ---- functions ----------------------------------------------------------------------------------- */

/* a b, where 0 times anything is 0. */
ACUI_DEVICE double times(double a, double b)
{
    return a == 0 ? copysign(a, signbit(a) != signbit(b) ? -1.0 : 1.0) : a * b;
}
/* exp(x) = power[0] power[1], neither of which overflows if the product does not. */
ACUI_DEVICE void exp_in_two(double x, double (&power)[2])
{
    const bool large = x > 709.0 && x < 1500.0;
    power[0] = exp(large ? x - 709.0 : x);
    power[1] = large ? 8.2184074615549724e307 : 1.0; /* exp(709) */
}

ACUI_DEVICE C exp_of(C z)
{
    double power[2], s, c;
    if (z.y == 0)
        return {exp(z.x), z.y};
    if (!isfinite(z.y) && !isfinite(z.x) && z.x == z.x)
        return z.x < 0 ? C{0.0, copysign(0.0, z.y)} : C{z.x, __builtin_nan("")};
    exp_in_two(z.x, power);
    sincos(z.y, &s, &c);
    return {times(c, power[0]) * power[1], times(s, power[0]) * power[1]};
}

/* |z|^2 - 1 is found without loss near 1. */
ACUI_DEVICE C log_of(C z)
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
        return {__builtin_inf(), angle};
    return {log(hypot(z.x * by, z.y * by)) + ln, angle};
}

ACUI_DEVICE C sqrt_of(C z)
{
    const double a = fabs(z.x), b = fabs(z.y), high = a > b ? a : b;
    if (acui_is_zero(z))
        return {0.0, z.y};
    if (isinf(z.y))
        return {__builtin_inf(), z.y};
    if (isinf(z.x)) /* a NaN beside it stays */
        return z.x > 0 ? C{z.x, copysign(z.y - z.y, z.y)} : C{fabs(z.y - z.y), copysign(z.x, z.y)};
    const double by = high > 0x1p1000 ? 0x1p-100 : high < 0x1p-900 ? 0x1p200 : 1.0;
    const double back = high > 0x1p1000 ? 0x1p50 : high < 0x1p-900 ? 0x1p-100 : 1.0;
    const double x = a * by, y = b * by, root = sqrt(0.5 * (x + hypot(x, y))), other = y / (2.0 * root);
    return z.x < 0 ? C{other * back, copysign(root * back, z.y)} : C{root * back, copysign(other * back, z.y)};
}

/* exp(|y|) / 2 and the like, in two factors: beyond 22, cosh and |sinh| are that. */
ACUI_DEVICE C by_hyperbolic(double of_cosh, double of_sinh, double y)
{
    double power[2];
    if (fabs(y) < 22)
        return {times(of_cosh, cosh(y)), times(of_sinh, sinh(y))};
    exp_in_two(fabs(y), power);
    return {times(of_cosh, 0.5 * power[0]) * power[1],
            copysign(1.0, y) * (times(of_sinh, 0.5 * power[0]) * power[1])};
}
ACUI_DEVICE C sin_of(C z)
{
    double s, c;
    if (z.y == 0)
        return {sin(z.x), z.y * (isfinite(z.x) ? cos(z.x) : 1.0)};
    if (isinf(z.y) && !isfinite(z.x))
        return {__builtin_nan(""), z.y};
    sincos(z.x, &s, &c);
    return by_hyperbolic(s, c, z.y);
}
ACUI_DEVICE C cos_of(C z)
{
    double s, c;
    if (z.y == 0)
        return {cos(z.x), -(z.y * (isfinite(z.x) ? sin(z.x) : 1.0))};
    if (isinf(z.y) && !isfinite(z.x))
        return {__builtin_inf(), __builtin_nan("")};
    sincos(z.x, &s, &c);
    return by_hyperbolic(c, -s, z.y);
}
ACUI_DEVICE C tanh_of(C z)
{
    double s, c;
    if (isinf(z.x))
        return {copysign(1.0, z.x), copysign(0.0, isfinite(z.y) ? sin(2.0 * z.y) : z.y)};
    if (z.y == 0)
        return {tanh(z.x), z.y};
    if (z.x == 0 && !isfinite(z.y))
        return {z.x, __builtin_nan("")};
    sincos(z.y, &s, &c);
    if (fabs(z.x) > 22)
        return {copysign(1.0, z.x), 4.0 * s * c * exp(-2.0 * fabs(z.x))};
    const double h = sinh(z.x), by = 1.0 / fma(h, h, c * c); /* sinh^2 x + cos^2 y */
    return {h * cosh(z.x) * by, s * c * by};
}

/* b times itself, n times. */
ACUI_DEVICE C power_of(C a, int n)
{
    C result = {1.0, 0.0};
    for (unsigned k = (unsigned)(n < 0 ? -n : n); k; k >>= 1) {
        if (k & 1)
            result = result * a;
        a = k > 1 ? a * a : a;
    }
    return n < 0 ? C{1.0, 0.0} / result : result;
}
ACUI_DEVICE_OUTLINE C pow_of(C a, C b)
{
    if (b.y == 0 && fabs(b.x) <= 100 && b.x == trunc(b.x))
        return power_of(a, (int)b.x);
    if (acui_is_zero(a))
        return b.x > 0 ? C{0.0, 0.0} : C{__builtin_nan(""), __builtin_nan("")};
    return exp_of(b * log_of(a));
}

ACUI_DEVICE C sign_of(C z)
{
    if (acui_is_zero(z))
        return z;
    const double size = hypot(z.x, z.y);
    if (isinf(size))
        return {isinf(z.x) ? isinf(z.y) ? __builtin_nan("") : copysign(1.0, z.x) : 0.0 * z.x,
                isinf(z.y) ? isinf(z.x) ? __builtin_nan("") : copysign(1.0, z.y) : 0.0 * z.y};
    return {z.x / size, z.y / size};
}

/* ---- kernels ------------------------------------------------------------------------------------- */

ACUI_DEVICE C truth(bool is) { return {is ? 1.0 : 0.0, 0.0}; }

ACUI_DEVICE C simple(int op, C z)
{
    switch (op) {
    case ACU_OP_NEG: return -z;
    case ACU_OP_SQUARE: return z * z;
    case ACU_OP_NOT: return truth(acui_is_zero(z));
    case ACU_OP_IS_NAN: return truth(z.x != z.x || z.y != z.y);
    case ACU_OP_IS_FINITE: return truth(isfinite(z.x) && isfinite(z.y));
    case ACU_OP_CONJ: return {z.x, -z.y};
    case ACU_OP_IMAG: return {z.y, 0.0};
    default: return z; /* also the real part: the result holds no other */
    }
}
ACUI_DEVICE_OUTLINE C function(int op, C z)
{
    switch (op) {
    case ACU_OP_ABS: return {hypot(z.x, z.y), 0.0};
    case ACU_OP_ANGLE: return {atan2(z.y, z.x), 0.0};
    case ACU_OP_SIGN: return sign_of(z);
    case ACU_OP_SQRT: return sqrt_of(z);
    case ACU_OP_RSQRT: return C{1.0, 0.0} / sqrt_of(z);
    case ACU_OP_RECIPROCAL: return C{1.0, 0.0} / z;
    case ACU_OP_EXP: return exp_of(z);
    case ACU_OP_LOG: return log_of(z);
    case ACU_OP_SIN: return sin_of(z);
    case ACU_OP_COS: return cos_of(z);
    default: return tanh_of(z);
    }
}
ACUI_DEVICE C of_two(int op, C a, C b)
{
    switch (op) {
    case ACU_OP_ADD: return a + b;
    case ACU_OP_SUB: return a - b;
    case ACU_OP_MUL: return a * b;
    case ACU_OP_DIV: return a / b;
    case ACU_OP_POW: return pow_of(a, b);
    case ACU_OP_EQ: return truth(a == b);
    case ACU_OP_NE: return truth(!(a == b));
    case ACU_OP_AND: return truth(!acui_is_zero(a) && !acui_is_zero(b));
    case ACU_OP_OR: return truth(!acui_is_zero(a) || !acui_is_zero(b));
    case ACU_OP_XOR: return truth(acui_is_zero(a) != acui_is_zero(b));
    default: return {a.x, b.x}; /* ACU_OP_COMPLEX */
    }
}

struct of_complex {
    template <typename K, int N, int COUNT>
    ACUI_DEVICE void apply(int op, const C (&x)[N][COUNT], C (&y)[COUNT], bool)
    {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            if constexpr (N == 1)
                y[k] = simple(op, x[0][k]);
            else if constexpr (N == 2)
                y[k] = of_two(op, x[0][k], x[1][k]);
            else /* where */
                y[k] = acui_is_zero(x[0][k]) ? x[2][k] : x[1][k];
        }
    }
};
struct functions {
    template <typename K, int N, int COUNT>
    ACUI_DEVICE void apply(int op, const C (&x)[N][COUNT], C (&y)[COUNT], bool)
    {
#pragma unroll 1
        for (int k = 0; k < COUNT; k++)
            y[k] = function(op, x[0][k]);
    }
};

#define ACUI_Z extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
ACUI_Z unary_z(char *out, const char *a, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 1, of_complex>::run(p, out, a, a, a);
}
ACUI_Z function_z(char *out, const char *a, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 1, functions, ACUI_FUNCTION_UNROLL>::run(p, out, a, a, a);
}
ACUI_Z binary_z(char *out, const char *a, const char *b, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 2, of_complex>::run(p, out, a, b, b);
}
ACUI_Z ternary_z(char *out, const char *a, const char *b, const char *c, acui_elementwise p)
{
    acui_elementwise_loop<acui_z, 3, of_complex>::run(p, out, a, b, c);
}
