/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Complex numbers in kernels: c64 and c128 are both computed in double, so that what is of c64 is
 * rounded once and nothing in it overflows on the way. Built-in kernels are compiled without
 * contraction, so that z times its conjugate has no imaginary part.
 */
#ifndef ACUDA_KERNELS_COMPLEX_CUH
#define ACUDA_KERNELS_COMPLEX_CUH

#include "elements.cuh"
#include "math_more.cuh"
#include "more.cuh"
#include "complex_math.cuh"

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
