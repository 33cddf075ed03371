/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The two formats of 8 bits for kernels that clang compiles without a toolkit: e4m3 (no infinities,
 * largest 448) and e5m2 (largest 57344), alone, in pairs and in fours. CUDA's names and meanings:
 * conversions round to the nearest, ties to even, and once; too large a number becomes the largest one
 * with __NV_SATFINITE, as by the types' constructors, else infinite (e4m3: NaN). Device code only.
 */
#ifndef ACUDA_KERNELS_CUDA_FP8_H
#define ACUDA_KERNELS_CUDA_FP8_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

/* clang-format off: what is one fact a line stays one line */

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

/* A float, exact or rounded to odd, as 8 bits with FRACTION bits and exponents biased by BIAS */
template <int FRACTION, int BIAS, unsigned MOST, unsigned BEYOND>
ACUI_DEVICE __nv_fp8_storage_t acui_to_fp8(float value, __nv_saturation_t saturate)
{
    const unsigned SHIFT = 23 - FRACTION, UNIT = (unsigned)(151 - BIAS - FRACTION) << 23;
    unsigned bits = __float_as_uint(value), size = bits & 0x7fffffffu;
    unsigned normal = (size + (1u << (SHIFT - 1)) - 1u + (size >> SHIFT & 1u)) >> SHIFT;
    /* added to a number whose last bit is the smallest value */
    unsigned small = __float_as_uint(__fadd_rn(__uint_as_float(size), __uint_as_float(UNIT))) - UNIT;
    unsigned result = size >= (unsigned)(128 - BIAS) << 23 ? normal - ((unsigned)(127 - BIAS) << FRACTION) : small;
    if (size > 0x7f800000u)
        result = 0x7f;
    else if (result > MOST)
        result = saturate == __NV_SATFINITE ? MOST : BEYOND;
    return (__nv_fp8_storage_t)(result | (bits >> 31) << 7);
}
ACUI_DEVICE float acui_of_e4m3(unsigned b)
{
    unsigned size = b & 0x7f;
    float value = size >= 8 ? __uint_as_float((size << 20) + (120u << 23)) : (float)size * 0.001953125f;
    value = size == 0x7f ? __uint_as_float(0x7fffffffu) : value;
    return b & 0x80 ? -value : value;
}
ACUI_DEVICE float acui_of_fp8(unsigned b, __nv_fp8_interpretation_t kind)
{
    return kind == __NV_E4M3 ? acui_of_e4m3(b) : acui_of_half((unsigned short)((b & 0xff) << 8));
}

ACUI_DEVICE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return kind == __NV_E4M3 ? acui_to_fp8<3, 7, 0x7e, 0x7f>(v, s) : acui_to_fp8<2, 15, 0x7b, 0x7c>(v, s);
}
ACUI_DEVICE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8(acui_float_odd(v), s, kind);
}
ACUI_DEVICE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8((float)__half(v), s, kind);
}
ACUI_DEVICE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float_to_fp8((float)__nv_bfloat16(v), s, kind);
}
ACUI_DEVICE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return (__nv_fp8x2_storage_t)(__nv_cvt_float_to_fp8(v.x, s, kind) | __nv_cvt_float_to_fp8(v.y, s, kind) << 8);
}
ACUI_DEVICE __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp8x2(make_float2(acui_float_odd(v.x), acui_float_odd(v.y)), s, kind);
}
ACUI_DEVICE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp8x2(make_float2(acui_of_half(v.x), acui_of_half(v.y)), s, kind);
}
ACUI_DEVICE __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw v, __nv_saturation_t s, __nv_fp8_interpretation_t kind)
{
    return __nv_cvt_float2_to_fp8x2(make_float2(acui_of_brain(v.x), acui_of_brain(v.y)), s, kind);
}
ACUI_DEVICE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t v, __nv_fp8_interpretation_t kind)
{
    return __half(acui_of_fp8(v, kind));
}
ACUI_DEVICE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind)
{
    return {__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)v, kind).x,
            __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(v >> 8), kind).x};
}

#define ACUI_FP8(name, kind)                                                                       \
    struct name {                                                                                  \
        __nv_fp8_storage_t __x;                                                                    \
        name() = default;                                                                          \
        __device__ explicit name(float v) : __x(__nv_cvt_float_to_fp8(v, __NV_SATFINITE, kind)) {} \
        __device__ explicit name(double v) : __x(__nv_cvt_double_to_fp8(v, __NV_SATFINITE, kind)) {} \
        __device__ explicit name(__half v) : name((float)v) {}                                     \
        __device__ explicit name(__nv_bfloat16 v) : name((float)v) {}                              \
        __device__ explicit name(int v) : name((double)v) {}                                       \
        __device__ explicit name(unsigned v) : name((double)v) {}                                  \
        __device__ explicit name(short v) : name((float)v) {}                                      \
        __device__ explicit name(unsigned short v) : name((float)v) {}                             \
        __device__ explicit name(long long v) : name(acui_double_odd(v)) {}                        \
        __device__ explicit name(unsigned long long v) : name(acui_double_odd(v)) {}               \
        __device__ explicit operator float() const { return acui_of_fp8(__x, kind); }              \
        __device__ explicit operator double() const { return acui_of_fp8(__x, kind); }             \
        __device__ explicit operator __half() const { return __half((float)*this); }               \
        __device__ explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); } \
        __device__ explicit operator bool() const { return (__x & 0x7f) != 0; }                    \
        __device__ explicit operator int() const { return __float2int_rz((float)*this); }          \
        __device__ explicit operator unsigned() const { return __float2uint_rz((float)*this); }    \
        __device__ explicit operator long long() const { return __float2ll_rz((float)*this); }     \
    };
ACUI_FP8(__nv_fp8_e4m3, __NV_E4M3)
ACUI_FP8(__nv_fp8_e5m2, __NV_E5M2)
#define ACUI_FP8_VECTORS(two, four, kind)                                                          \
    struct two {                                                                                   \
        __nv_fp8x2_storage_t __x;                                                                  \
        two() = default;                                                                           \
        __device__ explicit two(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind)) {} \
        __device__ explicit two(double2 v) : __x(__nv_cvt_double2_to_fp8x2(v, __NV_SATFINITE, kind)) {} \
        __device__ explicit two(__half2 v) : two(make_float2((float)v.x, (float)v.y)) {}           \
        __device__ explicit two(__nv_bfloat162 v) : two(make_float2((float)v.x, (float)v.y)) {}    \
        __device__ explicit operator float2() const                                                \
        {                                                                                          \
            return make_float2(acui_of_fp8(__x & 0xffu, kind), acui_of_fp8(__x >> 8, kind));       \
        }                                                                                          \
        __device__ explicit operator __half2() const                                               \
        {                                                                                          \
            return __float22half2_rn((float2)*this);                                               \
        }                                                                                          \
    };                                                                                             \
    struct four {                                                                                  \
        __nv_fp8x4_storage_t __x;                                                                  \
        four() = default;                                                                          \
        __device__ explicit four(float4 v)                                                         \
            : __x(two(make_float2(v.x, v.y)).__x | (unsigned)two(make_float2(v.z, v.w)).__x << 16) {} \
        __device__ explicit four(double4 v)                                                        \
            : __x(two(make_double2(v.x, v.y)).__x | (unsigned)two(make_double2(v.z, v.w)).__x << 16) {} \
        __device__ four(__half2 a, __half2 b) : __x(two(a).__x | (unsigned)two(b).__x << 16) {}    \
        __device__ explicit operator float4() const                                                \
        {                                                                                          \
            return make_float4(acui_of_fp8(__x & 0xffu, kind), acui_of_fp8(__x >> 8 & 0xffu, kind), \
                               acui_of_fp8(__x >> 16 & 0xffu, kind), acui_of_fp8(__x >> 24, kind)); \
        }                                                                                          \
    };
ACUI_FP8_VECTORS(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
ACUI_FP8_VECTORS(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
#undef ACUI_FP8
#undef ACUI_FP8_VECTORS

#endif
