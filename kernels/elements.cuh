/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Elements of tensors in registers: reading and writing them in all the dtypes that a class of
 * arithmetic covers. The dtype is an argument of the kernel, the same for all threads, so one
 * kernel serves many dtypes, and the switch is outside of the loop over vectors.
 *
 *   acui_f   float, for f32, f16, bf16          acui_d   double, for f64
 *   acui_i   int, for bool and integers of up to 32 bits (u32 as its bits)
 *   acui_l   long long, for i64 and u64 (as its bits)
 */
#ifndef ACUDA_KERNELS_ELEMENTS_CUH
#define ACUDA_KERNELS_ELEMENTS_CUH

#include "../src/ops/params.h"
#include <acuda/dtype.h>
#include <acuda/op_kinds.h>

/* For lambdas that get a format: inlined, since their captures would otherwise live in memory. */
#define ACUI_INLINE __attribute__((always_inline))

ACUI_DEVICE float acui_from_f16(unsigned short bits)
{
    float value;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
ACUI_DEVICE void acui_from_f16_pair(unsigned bits, float *x)
{
    __asm__("{ .reg .b16 low, high; mov.b32 {low, high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
            : "=f"(x[0]), "=f"(x[1])
            : "r"(bits));
}
/* Rounds to the nearest, ties to even; too large a value becomes infinite. */
ACUI_DEVICE unsigned short acui_to_f16(float value)
{
    unsigned short bits;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
ACUI_DEVICE float acui_from_bf16(unsigned short bits)
{
    return __uint_as_float((unsigned)bits << 16);
}
ACUI_DEVICE void acui_from_bf16_pair(unsigned bits, float *x)
{
    x[0] = __uint_as_float(bits << 16);
    x[1] = __uint_as_float(bits & 0xffff0000u);
}
ACUI_DEVICE unsigned short acui_to_bf16(float value)
{
    unsigned bits = __float_as_uint(value);
    unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (unsigned short)(value != value ? 0x7fffu : rounded);
}

/* ---- how each dtype reads and writes V elements at `at`, which is aligned to that -------------- */

template <typename C, typename Vector> struct acui_plain { /* a vector type with .x .y (.z .w) */
    static const int BYTES = (int)sizeof(Vector) / C::V;
    typedef Vector raw; /* V elements as they are in memory */
    template <typename T> ACUI_DEVICE void take(const raw &v, T *x)
    {
        x[0] = (T)v.x;
        x[1] = (T)v.y;
        if constexpr (C::V == 4) {
            x[2] = (T)v.z;
            x[3] = (T)v.w;
        }
    }
    template <typename T> ACUI_DEVICE void read(const char *at, T *x) { take(*(const raw *)at, x); }
    template <typename T> ACUI_DEVICE void write(char *at, const T *x)
    {
        Vector v;
        typedef decltype(v.x) E;
        v.x = (E)x[0];
        v.y = (E)x[1];
        if constexpr (C::V == 4) {
            v.z = (E)x[2];
            v.w = (E)x[3];
        }
        *(Vector *)at = v;
    }
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        typedef decltype(Vector().x) E;
        return (T) * (const E *)at;
    }
    template <typename T> ACUI_DEVICE void write_one(char *at, T x)
    {
        typedef decltype(Vector().x) E;
        *(E *)at = (E)x;
    }
};

/* bool: 1 for every byte but 0. Such bytes come from other libraries, from kernels, and by
 * reinterpreting; what is written is 0 or 1 because the operations yield these. */
template <typename C, typename Vector> struct acui_truth : acui_plain<C, Vector> {
    typedef acui_plain<C, Vector> bytes;
    template <typename T> ACUI_DEVICE void read(const char *at, T *x)
    {
        bytes::read(at, x);
#pragma unroll
        for (int k = 0; k < C::V; k++)
            x[k] = x[k] != 0;
    }
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        return bytes::template read_one<T>(at) != 0;
    }
};

struct acui_f;
struct acui_half { /* elements of two bytes that become floats */
    static const int BYTES = 2;
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        return acui_from_f16(*(const unsigned short *)at);
    }
    template <typename T> ACUI_DEVICE void write_one(char *at, T x)
    {
        *(unsigned short *)at = acui_to_f16(x);
    }
    typedef uint2 raw;
    ACUI_DEVICE void read(const char *at, float *x) { take(*(const raw *)at, x); }
    ACUI_DEVICE void take(const raw &v, float *x)
    {
        acui_from_f16_pair(v.x, x);
        acui_from_f16_pair(v.y, x + 2);
    }
    ACUI_DEVICE void write(char *at, const float *x)
    {
        *(ushort4 *)at = make_ushort4(acui_to_f16(x[0]), acui_to_f16(x[1]), acui_to_f16(x[2]),
                                      acui_to_f16(x[3]));
    }
};
struct acui_brain {
    static const int BYTES = 2;
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        return acui_from_bf16(*(const unsigned short *)at);
    }
    template <typename T> ACUI_DEVICE void write_one(char *at, T x)
    {
        *(unsigned short *)at = acui_to_bf16(x);
    }
    typedef uint2 raw;
    ACUI_DEVICE void read(const char *at, float *x) { take(*(const raw *)at, x); }
    ACUI_DEVICE void take(const raw &v, float *x)
    {
        acui_from_bf16_pair(v.x, x);
        acui_from_bf16_pair(v.y, x + 2);
    }
    ACUI_DEVICE void write(char *at, const float *x)
    {
        *(ushort4 *)at = make_ushort4(acui_to_bf16(x[0]), acui_to_bf16(x[1]), acui_to_bf16(x[2]),
                                      acui_to_bf16(x[3]));
    }
};

/* ---- classes: call f<format>() with the one of the dtype ---------------------------------------- */

struct acui_f {
    typedef float value;
    static const int V = 4;
    ACUI_DEVICE float scalar(const acui_operand &o)
    {
        return __uint_as_float((unsigned)o.scalar);
    }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        switch (dtype) {
        case ACU_F16: f(acui_half()); break;
        case ACU_BF16: f(acui_brain()); break;
        case ACU_BOOL: f(acui_plain<acui_f, uchar4>()); break; /* results of comparisons */
        default: f(acui_plain<acui_f, float4>()); break;
        }
    }
};
struct acui_d {
    typedef double value;
    static const int V = 2;
    ACUI_DEVICE double scalar(const acui_operand &o)
    {
        return __longlong_as_double((long long)o.scalar);
    }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        if (dtype == ACU_BOOL)
            f(acui_plain<acui_d, uchar2>());
        else
            f(acui_plain<acui_d, double2>());
    }
};
struct acui_i {
    typedef int value;
    static const int V = 4;
    ACUI_DEVICE int scalar(const acui_operand &o) { return (int)o.scalar; }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        switch (dtype) {
        case ACU_BOOL: f(acui_truth<acui_i, uchar4>()); break;
        case ACU_U8: f(acui_plain<acui_i, uchar4>()); break;
        case ACU_I8: f(acui_plain<acui_i, char4>()); break;
        case ACU_U16: f(acui_plain<acui_i, ushort4>()); break;
        case ACU_I16: f(acui_plain<acui_i, short4>()); break;
        default: f(acui_plain<acui_i, int4>()); break;
        }
    }
};
struct acui_l {
    typedef long long value;
    static const int V = 2;
    ACUI_DEVICE long long scalar(const acui_operand &o) { return (long long)o.scalar; }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        if (dtype == ACU_BOOL)
            f(acui_plain<acui_l, uchar2>());
        else
            f(acui_plain<acui_l, longlong2>());
    }
};

/* acui_f for operations on floating point only. */
struct acui_real_f {
    typedef float value;
    static const int V = 4, SHORTEST = 2; /* SHORTEST: of an element, in bytes */
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        switch (dtype) {
        case ACU_F16: f(acui_half()); break;
        case ACU_BF16: f(acui_brain()); break;
        default: f(acui_plain<acui_f, float4>()); break;
        }
    }
};
struct acui_real_h { /* those of two bytes alone: a vector of them takes half the registers */
    typedef float value;
    static const int V = 4, SHORTEST = 2;
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        if (dtype == ACU_F16)
            f(acui_half());
        else
            f(acui_brain());
    }
};
struct acui_real_s { /* f32 alone */
    typedef float value;
    static const int V = 4, SHORTEST = 4;
    template <typename F> ACUI_DEVICE void with(int, F f) { f(acui_plain<acui_f, float4>()); }
};
struct acui_real_d {
    typedef double value;
    static const int V = 2, SHORTEST = 8;
    template <typename F> ACUI_DEVICE void with(int, F f) { f(acui_plain<acui_d, double2>()); }
};

/* ---- places ---------------------------------------------------------------------------------- */

/* n divided by dimension d, for n below 2^31. */
ACUI_DEVICE unsigned acui_divide(const acui_index &index, int d, unsigned n)
{
    return (__umulhi(n, index.magic[d]) + n) >> index.shift[d];
}

/* The offsets, in elements, of element number `i` in COUNT operands, which begin at `at`. */
template <int COUNT>
ACUI_DEVICE void acui_offsets(const acui_index &index, const acui_operand *at, long long i,
                              long long *offset)
{
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        offset[k] = 0;
    for (int d = index.rank - 1; d >= 0; d--) {
        long long q = 0, r = i;
        if (d > 0) {
            q = index.wide ? i / index.dim[d] : (long long)acui_divide(index, d, (unsigned)i);
            r = i - q * index.dim[d];
        }
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            offset[k] += r * at[k].stride[d];
        i = q;
    }
}

#endif
