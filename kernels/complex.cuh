/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Complex numbers in kernels: c64 and c128 are both computed in double, so that what is of c64 is
 * rounded once and nothing in it overflows on the way. Built-in kernels are compiled without
 * contraction, so that z times its conjugate has no imaginary part.
 *
 * Infinities and NaN: as in C's Annex G for functions; products and quotients as in NumPy, part by
 * part (infinity times i may have NaN as one part).
 */
#ifndef ACUDA_KERNELS_COMPLEX_CUH
#define ACUDA_KERNELS_COMPLEX_CUH

#include "elements.cuh"

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

/* ---- how they are stored: parts alone, and truth values, are complex numbers without the rest -- */

template <typename Pair> struct acui_parts_of {
    static const int BYTES = (int)sizeof(Pair);
    ACUI_DEVICE void read(const char *at, acui_complex *z) { *z = read_one<acui_complex>(at); }
    ACUI_DEVICE void write(char *at, const acui_complex *z) { write_one(at, *z); }
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        const Pair p = *(const Pair *)at;
        return {(double)p.x, (double)p.y};
    }
    template <typename T> ACUI_DEVICE void write_one(char *at, T z)
    {
        Pair p;
        p.x = (decltype(p.x))z.x;
        p.y = (decltype(p.y))z.y;
        *(Pair *)at = p;
    }
};
template <typename S> struct acui_part_alone {
    static const int BYTES = (int)sizeof(S);
    ACUI_DEVICE void read(const char *at, acui_complex *z) { *z = read_one<acui_complex>(at); }
    ACUI_DEVICE void write(char *at, const acui_complex *z) { write_one(at, *z); }
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        return {(double)*(const S *)at, 0.0};
    }
    template <typename T> ACUI_DEVICE void write_one(char *at, T z) { *(S *)at = (S)z.x; }
};

struct acui_z {
    typedef acui_complex value;
    static const int V = 1;
    ACUI_DEVICE acui_complex scalar(const acui_operand &o)
    {
        return {__longlong_as_double((long long)o.scalar),
                __longlong_as_double((long long)o.imaginary)};
    }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        switch (dtype) {
        case ACU_BOOL: f(acui_part_alone<unsigned char>()); break;
        case ACU_F32: f(acui_part_alone<float>()); break;
        case ACU_F64: f(acui_part_alone<double>()); break;
        case ACU_C64: f(acui_parts_of<float2>()); break;
        default: f(acui_parts_of<double2>()); break;
        }
    }
};

#endif
