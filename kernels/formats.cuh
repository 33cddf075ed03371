/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every dtype, read into and written from three classes of arithmetic. Conversion happens in the
 * writing:
 *
 *   acui_any_f   float: from everything it holds exactly, to floating point and integers of up to 32 bits
 *   acui_any_d   double: from everything, with 64-bit integers rounded to odd, so that the next rounding is
 *                the only one
 *   acui_any_l   long long: integers to integers, which wrap, and 64-bit integers to f64
 *
 * f4e2m1fnx2, two numbers in an element, is read and written by pairs.cuh.
 *
 * To floating point: rounds to the nearest, ties to even; the f8 kinds saturate and keep NaN;
 * f8e8m0fnu takes the magnitude, rounded up to a power of two. To integers: rounds towards zero and
 * saturates; NaN becomes 0. To bool: whether it is not 0.
 */
#ifndef ACUDA_KERNELS_FORMATS_CUH
#define ACUDA_KERNELS_FORMATS_CUH

#include "elements.cuh"

/* ---- narrow floating point, as float ------------------------------------------------------------- */

/* Converts to a format with FRACTION bits and exponents biased by BIAS, saturating at MOST. Without
 * branches: most warps have some values that are too small for a normal exponent. */
template <int FRACTION, int BIAS, unsigned MOST> ACUI_DEVICE unsigned acui_narrow(float value)
{
    const unsigned SHIFT = 23 - FRACTION, UNIT = (unsigned)(151 - BIAS - FRACTION) << 23;
    unsigned bits = __float_as_uint(value), size = bits & 0x7fffffffu;
    unsigned normal = (size + (1u << (SHIFT - 1)) - 1u + (size >> SHIFT & 1u)) >> SHIFT;
    /* added to a number whose last bit is the smallest value */
    unsigned small = __float_as_uint(__fadd_rn(__uint_as_float(size), __uint_as_float(UNIT))) - UNIT;
    unsigned result = size >= (unsigned)(128 - BIAS) << 23 ? normal - ((unsigned)(127 - BIAS) << FRACTION) : small;
    result = result < MOST ? result : MOST;
    result = size > 0x7f800000u ? 0x7f : result;
    return result | (bits >> 31) << 7;
}
ACUI_DEVICE float acui_from_e4m3(unsigned b)
{
    unsigned size = b & 0x7f;
    float value = size >= 8 ? __uint_as_float((size << 20) + (120u << 23)) : (float)size * 0.001953125f;
    value = size == 0x7f ? __uint_as_float(0x7fffffffu) : value;
    return b & 0x80 ? -value : value;
}
ACUI_DEVICE float acui_from_e8m0(unsigned b)
{
    return __uint_as_float(b == 255 ? 0x7fffffffu : b ? b << 23 : 0x00400000u);
}
ACUI_DEVICE_OUTLINE unsigned acui_to_e8m0(float value)
{
    unsigned size = __float_as_uint(value) & 0x7fffffffu, e = size >> 23, rest = size & 0x7fffffu;
    unsigned up = e ? e + (rest != 0) : rest > 0x400000u;
    return size > 0x7f800000u ? 255 : up < 254 ? up : 254;
}

/* Four bits: a sign, and 0, 0.5, 1, 1.5, 2, 3, 4 or 6. NaN, which it lacks, becomes 6. */
ACUI_DEVICE float acui_from_e2m1(unsigned b)
{
    unsigned size = b & 7;
    float value = size >= 2 ? __uint_as_float((size << 22) + (126u << 23)) : (float)size * 0.5f;
    return b & 8 ? -value : value;
}
ACUI_DEVICE unsigned acui_to_e2m1(float value)
{
    unsigned result = acui_narrow<1, 1, 7>(value);
    return value != value ? 7u : (result & 7u) | (result >> 4 & 8u);
}

/* A double rounded to odd: the float's last bit says that there was more, so that rounding once
 * more is correct. */
ACUI_DEVICE float acui_odd(double value)
{
    float near = __double2float_rz(value);
    if (value == value && (double)near != value)
        near = __uint_as_float(__float_as_uint(near) | 1u);
    return near;
}
ACUI_DEVICE float acui_odd(float value) { return value; }

/* ---- one dtype: how it is stored, and from and to T ------------------------------------------------ */

#define ACUI_CODEC(name, storage, decode, encode)                                                  \
    struct name {                                                                                  \
        typedef storage type;                                                                      \
        template <typename T> ACUI_DEVICE T from(storage v) { return (T)(decode); }                \
        template <typename T> ACUI_DEVICE storage to(T v) { return (storage)(encode); }            \
    }
ACUI_CODEC(acui_code_f32, float, v, (float)v);
ACUI_CODEC(acui_code_f64, double, v, (double)v);
ACUI_CODEC(acui_code_bf16, unsigned short, acui_from_bf16(v), acui_to_bf16(acui_odd(v)));
ACUI_CODEC(acui_code_e4m3, unsigned char, acui_from_e4m3(v), (acui_narrow<3, 7, 0x7e>(acui_odd(v))));
ACUI_CODEC(acui_code_e5m2, unsigned char, acui_from_f16((unsigned short)(v << 8)),
           (acui_narrow<2, 15, 0x7b>(acui_odd(v))));
ACUI_CODEC(acui_code_e8m0, unsigned char, acui_from_e8m0(v), acui_to_e8m0(acui_odd(v)));
ACUI_CODEC(acui_code_bool, unsigned char, v != 0, v != 0);
struct acui_code_f16 {
    typedef unsigned short type;
    template <typename T> ACUI_DEVICE T from(type v) { return (T)acui_from_f16(v); }
    ACUI_DEVICE type to(float v) { return acui_to_f16(v); }
    ACUI_DEVICE type to(double v)
    {
        type bits;
        __asm__("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(v));
        return bits;
    }
};

/* Integers of up to 32 bits: the hardware's conversion saturates, and turns a float NaN into 0. */
ACUI_DEVICE int acui_to_int(float v) { return __float2int_rz(v); }
ACUI_DEVICE int acui_to_int(double v) { return v != v ? 0 : __double2int_rz(v); }
ACUI_DEVICE unsigned acui_to_uint(float v) { return __float2uint_rz(v); }
ACUI_DEVICE unsigned acui_to_uint(double v) { return v != v ? 0 : (unsigned)__nvvm_d2ui_rz(v); }
template <typename S, int LOW, int HIGH> struct acui_code_saturated {
    typedef S type;
    template <typename T> ACUI_DEVICE T from(S v) { return (T)v; }
    template <typename T> ACUI_DEVICE S to(T v) { return (S)min(max(acui_to_int(v), LOW), HIGH); }
};
ACUI_CODEC(acui_code_i32, int, v, acui_to_int(v));
ACUI_CODEC(acui_code_u32, unsigned, v, acui_to_uint(v));
/* Conversion of 64 bits and double; reading rounds to odd. */
struct acui_code_i64 {
    typedef long long type;
    template <typename T> ACUI_DEVICE T from(long long v)
    {
        double near; /* in assembly: clang 14 treats its builtin as rounding to the nearest */
        __asm__("cvt.rz.f64.s64 %0, %1;" : "=d"(near) : "l"(v));
        if (__double2ll_rz(near) != v)
            near = __longlong_as_double(__double_as_longlong(near) | 1);
        return near;
    }
    template <typename T> ACUI_DEVICE long long to(T v) { return v != v ? 0 : __double2ll_rz(v); }
};
struct acui_code_u64 {
    typedef unsigned long long type;
    template <typename T> ACUI_DEVICE T from(unsigned long long v)
    {
        double near;
        __asm__("cvt.rz.f64.u64 %0, %1;" : "=d"(near) : "l"(v));
        if (__nvvm_d2ull_rz(near) != v)
            near = __longlong_as_double(__double_as_longlong(near) | 1);
        return near;
    }
    template <typename T> ACUI_DEVICE unsigned long long to(T v)
    {
        return v > 0 ? __nvvm_d2ull_rz(v) : 0; /* false for NaN */
    }
};
/* Integers as they are; writing wraps. */
template <typename S> struct acui_code_wrapped {
    typedef S type;
    template <typename T> ACUI_DEVICE T from(S v) { return (T)v; }
    template <typename T> ACUI_DEVICE S to(T v) { return (S)v; }
};
ACUI_CODEC(acui_code_real_of_u64, double, v, (double)(unsigned long long)v);

template <typename C, typename Code> struct acui_coded {
    typedef typename Code::type S;
    static const int BYTES = (int)sizeof(S);
    struct __align__(sizeof(S) * C::V) pack {
        S e[C::V];
    };
    template <typename T> ACUI_DEVICE void read(const char *at, T *x)
    {
        pack p = *(const pack *)at;
#pragma unroll
        for (int i = 0; i < C::V; i++)
            x[i] = Code::template from<T>(p.e[i]);
    }
    template <typename T> ACUI_DEVICE void write(char *at, const T *x)
    {
        pack p;
#pragma unroll
        for (int i = 0; i < C::V; i++)
            p.e[i] = Code::to(x[i]);
        *(pack *)at = p;
    }
    template <typename T> ACUI_DEVICE T read_one(const char *at)
    {
        return Code::template from<T>(*(const S *)at);
    }
    template <typename T> ACUI_DEVICE void write_one(char *at, T x) { *(S *)at = Code::to(x); }
};

/* ---- classes ----------------------------------------------------------------------------------- */

#define ACUI_CASE(dtype, code) case dtype: f(acui_coded<C, code>()); break
template <typename C, typename F> ACUI_DEVICE void acui_with_real(int dtype, F f)
{
    switch (dtype) {
        ACUI_CASE(ACU_BOOL, acui_code_bool);
        typedef acui_code_saturated<unsigned char, 0, 255> u8;
        ACUI_CASE(ACU_U8, u8);
        typedef acui_code_saturated<signed char, -128, 127> i8;
        ACUI_CASE(ACU_I8, i8);
        typedef acui_code_saturated<unsigned short, 0, 65535> u16;
        ACUI_CASE(ACU_U16, u16);
        typedef acui_code_saturated<short, -32768, 32767> i16;
        ACUI_CASE(ACU_I16, i16);
        ACUI_CASE(ACU_U32, acui_code_u32);
        ACUI_CASE(ACU_I32, acui_code_i32);
        ACUI_CASE(ACU_F16, acui_code_f16);
        ACUI_CASE(ACU_BF16, acui_code_bf16);
        ACUI_CASE(ACU_F8E4M3FN, acui_code_e4m3);
        ACUI_CASE(ACU_F8E5M2, acui_code_e5m2);
        ACUI_CASE(ACU_F8E8M0FNU, acui_code_e8m0);
        ACUI_CASE(ACU_F32, acui_code_f32);
        ACUI_CASE(ACU_TF32, acui_code_f32);
    default:
        if constexpr (sizeof(typename C::value) == 8) {
            if (dtype == ACU_I64)
                f(acui_coded<C, acui_code_i64>());
            else if (dtype == ACU_U64)
                f(acui_coded<C, acui_code_u64>());
            else
                f(acui_coded<C, acui_code_f64>());
        }
    }
}

struct acui_any_f {
    typedef float value;
    static const int V = 4;
    ACUI_DEVICE float scalar(const acui_operand &o) { return __uint_as_float((unsigned)o.scalar); }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        acui_with_real<acui_any_f>(dtype, f);
    }
};
struct acui_any_d {
    typedef double value;
    static const int V = 2;
    ACUI_DEVICE double scalar(const acui_operand &o)
    {
        return __longlong_as_double((long long)o.scalar);
    }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        acui_with_real<acui_any_d>(dtype, f);
    }
};
struct acui_any_l {
    typedef long long value;
    static const int V = 2;
    ACUI_DEVICE long long scalar(const acui_operand &o) { return (long long)o.scalar; }
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        typedef acui_any_l C;
        switch (dtype) {
            ACUI_CASE(ACU_BOOL, acui_code_bool);
            ACUI_CASE(ACU_U8, acui_code_wrapped<unsigned char>);
            ACUI_CASE(ACU_I8, acui_code_wrapped<signed char>);
            ACUI_CASE(ACU_U16, acui_code_wrapped<unsigned short>);
            ACUI_CASE(ACU_I16, acui_code_wrapped<short>);
            ACUI_CASE(ACU_U32, acui_code_wrapped<unsigned>);
            ACUI_CASE(ACU_I32, acui_code_wrapped<int>);
            ACUI_CASE(ACU_F64, acui_code_f64);
            ACUI_CASE(ACUI_F64_OF_U64, acui_code_real_of_u64);
        default: f(acui_coded<C, acui_code_wrapped<long long>>());
        }
    }
};

/* Floating point that is computed with, all of it in double. */
struct acui_all_d {
    typedef double value;
    static const int V = 2;
    template <typename F> ACUI_DEVICE void with(int dtype, F f)
    {
        typedef acui_all_d C;
        switch (dtype) {
        case ACU_F16: f(acui_coded<C, acui_code_f16>()); break;
        case ACU_BF16: f(acui_coded<C, acui_code_bf16>()); break;
        case ACU_F64: f(acui_coded<C, acui_code_f64>()); break;
        default: f(acui_coded<C, acui_code_f32>()); break;
        }
    }
};

#endif
