/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What cuda_fp16.h and cuda_bf16.h have in common, as macros over the type: T, of pairs T2, its name
 * in the names of conversions. Arithmetic gives the correctly rounded result (to the nearest, ties to
 * even), the same on every device; what PTX lacks for the architecture is computed in float or double
 * and rounded once. CUDA's names and meanings.
 */
#ifndef ACUDA_KERNELS_HALVES_H
#define ACUDA_KERNELS_HALVES_H

/* clang-format off: what is one fact a line stays one line */

/* A double rounded to odd: its last bit says that there was more, so that rounding once more, to
 * fewer bits, is correct. */
ACUI_DEVICE float acui_float_odd(double value)
{
    float near = __double2float_rz(value);
    if (value == value && (double)near != value)
        near = __uint_as_float(__float_as_uint(near) | 1u);
    return near;
}
ACUI_DEVICE float acui_float_odd(float value) { return value; }
ACUI_DEVICE double acui_double_odd(long long value)
{
    double near = __ll2double_rz(value);
    if (__double2ll_rz(near) != value)
        near = __longlong_as_double(__double_as_longlong(near) | 1);
    return near;
}
ACUI_DEVICE double acui_double_odd(unsigned long long value)
{
    double near = __ull2double_rz(value);
    if (__double2ull_rz(near) != value)
        near = __longlong_as_double(__double_as_longlong(near) | 1);
    return near;
}
/* a b + c as a double rounded to odd */
ACUI_DEVICE double acui_fma_odd(double a, double b, double c)
{
    double down = __fma_rd(a, b, c), up = __fma_ru(a, b, c);
    if (down == up || !isfinite(down) || !isfinite(up))
        return __fma_rn(a, b, c);
    return __longlong_as_double(__double_as_longlong(__fma_rz(a, b, c)) | 1);
}

/* The type: its bits, and conversions to and from numbers. FROM(float odd or exact) gives the bits. */
#define ACUI_HALF_TYPE(T, T2, RAW, FROM, TO)                                                       \
    struct RAW { unsigned short x; };                                                              \
    struct __align__(4) RAW##2_ { unsigned short x, y; };                                          \
    struct __align__(2) T {                                                                        \
        unsigned short acui_bits;                                                                  \
        T() = default;                                                                             \
        __device__ T(const RAW &raw) : acui_bits(raw.x) {}                                         \
        __device__ T(float v) : acui_bits(FROM(v)) {}                                              \
        __device__ T(double v) : acui_bits(FROM(acui_float_odd(v))) {}                             \
        __device__ T(short v) : acui_bits(FROM((float)v)) {}                                       \
        __device__ T(unsigned short v) : acui_bits(FROM((float)v)) {}                              \
        __device__ T(int v) : acui_bits(FROM(acui_float_odd((double)v))) {}                        \
        __device__ T(unsigned v) : acui_bits(FROM(acui_float_odd((double)v))) {}                   \
        __device__ T(long v) : T((long long)v) {}                                                  \
        __device__ T(unsigned long v) : T((unsigned long long)v) {}                                \
        __device__ T(long long v) : acui_bits(FROM(acui_float_odd(acui_double_odd(v)))) {}         \
        __device__ T(unsigned long long v) : acui_bits(FROM(acui_float_odd(acui_double_odd(v)))) {}\
        __device__ operator RAW() const { return {acui_bits}; }                                    \
        __device__ operator float() const { return TO(acui_bits); }                                \
        __device__ operator bool() const { return (acui_bits & 0x7fff) != 0; }                     \
        __device__ operator short() const { return acui_clip<short>(*this, -32768, 32767); }       \
        __device__ operator unsigned short() const { return acui_clip<unsigned short>(*this, 0, 65535); } \
        __device__ operator signed char() const { return acui_clip<signed char>(*this, -128, 127); } \
        __device__ operator unsigned char() const { return acui_clip<unsigned char>(*this, 0, 255); } \
        __device__ operator int() const { return __float2int_rz((float)*this); }                   \
        __device__ operator unsigned() const { return __float2uint_rz((float)*this); }             \
        __device__ operator long long() const { return __float2ll_rz((float)*this); }              \
        __device__ operator unsigned long long() const { return __float2ull_rz((float)*this); }    \
        template <typename I> static __device__ I acui_clip(T v, int low, int high)                \
        {                                                                                          \
            int whole = __float2int_rz((float)v);                                                  \
            return (I)(whole < low ? low : whole > high ? high : whole);                           \
        }                                                                                          \
    };                                                                                             \
    struct __align__(4) T2 {                                                                       \
        T x, y;                                                                                    \
        T2() = default;                                                                            \
        __device__ T2(T a, T b) : x(a), y(b) {}                                                    \
    };                                                                                             \
    ACUI_DEVICE unsigned acui_word(T2 v) { return (unsigned)v.y.acui_bits << 16 | v.x.acui_bits; } \
    ACUI_DEVICE void acui_set_bits(T &v, unsigned bits) { v.acui_bits = (unsigned short)bits; }    \
    ACUI_DEVICE void acui_set_word(T2 &v, unsigned bits)                                           \
    {                                                                                              \
        v.x.acui_bits = (unsigned short)bits;                                                      \
        v.y.acui_bits = (unsigned short)(bits >> 16);                                              \
    }

/* From float and integers, and back; `name` is half or bfloat16, `pair` half2 or bfloat162. */
#define ACUI_HALF_CONVERSIONS(T, T2, name, pair, FROM)                                             \
    ACUI_DEVICE T __float2##name(float v) { return T(v); }                                         \
    ACUI_DEVICE T __float2##name##_rn(float v) { return T(v); }                                    \
    ACUI_DEVICE T __double2##name(double v) { return T(v); }                                       \
    ACUI_DEVICE float __##name##2float(T v) { return (float)v; }                                   \
    ACUI_DEVICE T __##name##_of_bits(unsigned short bits) { T v; v.acui_bits = bits; return v; }   \
    ACUI_DEVICE T __ushort_as_##name(unsigned short bits) { return __##name##_of_bits(bits); }     \
    ACUI_DEVICE T __short_as_##name(short bits) { return __##name##_of_bits((unsigned short)bits); } \
    ACUI_DEVICE unsigned short __##name##_as_ushort(T v) { return v.acui_bits; }                   \
    ACUI_DEVICE short __##name##_as_short(T v) { return (short)v.acui_bits; }                      \
    ACUI_HALF_WHOLE(T, name, rn)                                                                   \
    ACUI_HALF_WHOLE(T, name, rz)                                                                   \
    ACUI_HALF_WHOLE(T, name, ru)                                                                   \
    ACUI_HALF_WHOLE(T, name, rd)                                                                   \
    ACUI_DEVICE signed char __##name##2char_rz(T v) { return (signed char)v; }                     \
    ACUI_DEVICE unsigned char __##name##2uchar_rz(T v) { return (unsigned char)v; }                \
    ACUI_DEVICE T __int2##name##_rn(int v) { return T(v); }                                        \
    ACUI_DEVICE T __uint2##name##_rn(unsigned v) { return T(v); }                                  \
    ACUI_DEVICE T __short2##name##_rn(short v) { return T(v); }                                    \
    ACUI_DEVICE T __ushort2##name##_rn(unsigned short v) { return T(v); }                          \
    ACUI_DEVICE T __ll2##name##_rn(long long v) { return T(v); }                                   \
    ACUI_DEVICE T __ull2##name##_rn(unsigned long long v) { return T(v); }                         \
    ACUI_DEVICE T2 make_##pair(T x, T y) { return T2(x, y); }                                      \
    ACUI_DEVICE T2 __halves2##pair(T x, T y) { return T2(x, y); }                                  \
    ACUI_DEVICE T2 __##name##2##pair(T v) { return T2(v, v); }                                     \
    ACUI_DEVICE T2 __float2##pair##_rn(float v) { return T2(T(v), T(v)); }                         \
    ACUI_DEVICE T2 __floats2##pair##_rn(float x, float y) { return T2(T(x), T(y)); }               \
    ACUI_DEVICE T2 __float22##pair##_rn(float2 v) { return T2(T(v.x), T(v.y)); }                   \
    ACUI_DEVICE T __low2##name(T2 v) { return v.x; }                                               \
    ACUI_DEVICE T __high2##name(T2 v) { return v.y; }                                              \
    ACUI_DEVICE T2 __low2##pair(T2 v) { return T2(v.x, v.x); }                                     \
    ACUI_DEVICE T2 __high2##pair(T2 v) { return T2(v.y, v.y); }                                    \
    ACUI_DEVICE T2 __lows2##pair(T2 a, T2 b) { return T2(a.x, b.x); }                              \
    ACUI_DEVICE T2 __highs2##pair(T2 a, T2 b) { return T2(a.y, b.y); }                             \
    ACUI_DEVICE T2 __lowhigh2highlow(T2 v) { return T2(v.y, v.x); }                                \
    ACUI_DEVICE float __low2float(T2 v) { return (float)v.x; }                                     \
    ACUI_DEVICE float __high2float(T2 v) { return (float)v.y; }
#define ACUI_HALF_WHOLE(T, name, mode)                                                             \
    ACUI_DEVICE int __##name##2int_##mode(T v) { return __float2int_##mode((float)v); }            \
    ACUI_DEVICE unsigned __##name##2uint_##mode(T v) { return __float2uint_##mode((float)v); }     \
    ACUI_DEVICE long long __##name##2ll_##mode(T v) { return __float2ll_##mode((float)v); }        \
    ACUI_DEVICE unsigned long long __##name##2ull_##mode(T v) { return __float2ull_##mode((float)v); } \
    ACUI_DEVICE short __##name##2short_##mode(T v)                                                 \
    {                                                                                              \
        return (short)min(max(__float2int_##mode((float)v), -32768), 32767);                       \
    }                                                                                              \
    ACUI_DEVICE unsigned short __##name##2ushort_##mode(T v)                                       \
    {                                                                                              \
        return (unsigned short)min(max(__float2int_##mode((float)v), 0), 65535);                   \
    }

/* Rounded to the nearest from float in double's stead: sums and products of two are exact enough. */
#define ACUI_HALF_BY_FLOAT(T, T2)                                                                  \
    ACUI_DEVICE T __hadd(T a, T b) { return T(__fadd_rn((float)a, (float)b)); }                    \
    ACUI_DEVICE T __hsub(T a, T b) { return T(__fsub_rn((float)a, (float)b)); }                    \
    ACUI_DEVICE T __hmul(T a, T b) { return T(__fmul_rn((float)a, (float)b)); }                    \
    ACUI_DEVICE T __hfma(T a, T b, T c) { return T(acui_fma_odd((float)a, (float)b, (float)c)); }  \
    ACUI_DEVICE T2 __hadd2(T2 a, T2 b) { return T2(__hadd(a.x, b.x), __hadd(a.y, b.y)); }          \
    ACUI_DEVICE T2 __hsub2(T2 a, T2 b) { return T2(__hsub(a.x, b.x), __hsub(a.y, b.y)); }          \
    ACUI_DEVICE T2 __hmul2(T2 a, T2 b) { return T2(__hmul(a.x, b.x), __hmul(a.y, b.y)); }          \
    ACUI_DEVICE T2 __hfma2(T2 a, T2 b, T2 c)                                                       \
    {                                                                                              \
        return T2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));                                   \
    }
/* By PTX's own instructions, of `kind` f16 or bf16 */
#define ACUI_HALF_ASM_2(T, T2, name, ptx, kind)                                                    \
    ACUI_DEVICE T name(T a, T b)                                                                   \
    {                                                                                              \
        __asm__(ptx kind " %0, %1, %2;" : "=h"(a.acui_bits) : "h"(a.acui_bits), "h"(b.acui_bits)); \
        return a;                                                                                  \
    }                                                                                              \
    ACUI_DEVICE T2 name##2(T2 a, T2 b)                                                             \
    {                                                                                              \
        unsigned word;                                                                             \
        __asm__(ptx kind "x2 %0, %1, %2;" : "=r"(word) : "r"(acui_word(a)), "r"(acui_word(b)));    \
        acui_set_word(a, word);                                                                    \
        return a;                                                                                  \
    }
#define ACUI_HALF_ASM_FMA(T, T2, kind)                                                             \
    ACUI_DEVICE T __hfma(T a, T b, T c)                                                            \
    {                                                                                              \
        __asm__("fma.rn." kind " %0, %1, %2, %3;" : "=h"(a.acui_bits)                              \
                : "h"(a.acui_bits), "h"(b.acui_bits), "h"(c.acui_bits));                           \
        return a;                                                                                  \
    }                                                                                              \
    ACUI_DEVICE T2 __hfma2(T2 a, T2 b, T2 c)                                                       \
    {                                                                                              \
        unsigned word;                                                                             \
        __asm__("fma.rn." kind "x2 %0, %1, %2, %3;" : "=r"(word)                                   \
                : "r"(acui_word(a)), "r"(acui_word(b)), "r"(acui_word(c)));                        \
        acui_set_word(a, word);                                                                    \
        return a;                                                                                  \
    }

/* name(a, b) of pairs, element by element */
#define ACUI_HALF_PAIRED_1(T2, name, one) ACUI_DEVICE T2 name(T2 a) { return T2(one(a.x), one(a.y)); }
#define ACUI_HALF_PAIRED_2(T2, name, one)                                                          \
    ACUI_DEVICE T2 name(T2 a, T2 b) { return T2(one(a.x, b.x), one(a.y, b.y)); }

#define ACUI_HALF_ARITHMETIC(T, T2)                                                                \
    ACUI_DEVICE T __hdiv(T a, T b) { return T(__fdiv_rn((float)a, (float)b)); }                    \
    ACUI_DEVICE T __hneg(T a) { a.acui_bits ^= 0x8000; return a; }                                 \
    ACUI_DEVICE T __habs(T a) { a.acui_bits &= 0x7fff; return a; }                                 \
    ACUI_DEVICE T acui_saturated(T a) { return T(__saturatef((float)a)); }                         \
    ACUI_DEVICE T __hadd_rn(T a, T b) { return __hadd(a, b); }                                     \
    ACUI_DEVICE T __hsub_rn(T a, T b) { return __hsub(a, b); }                                     \
    ACUI_DEVICE T __hmul_rn(T a, T b) { return __hmul(a, b); }                                     \
    ACUI_DEVICE T2 __hadd2_rn(T2 a, T2 b) { return __hadd2(a, b); }                                \
    ACUI_DEVICE T2 __hsub2_rn(T2 a, T2 b) { return __hsub2(a, b); }                                \
    ACUI_DEVICE T2 __hmul2_rn(T2 a, T2 b) { return __hmul2(a, b); }                                \
    ACUI_DEVICE T __hadd_sat(T a, T b) { return acui_saturated(__hadd(a, b)); }                    \
    ACUI_DEVICE T __hsub_sat(T a, T b) { return acui_saturated(__hsub(a, b)); }                    \
    ACUI_DEVICE T __hmul_sat(T a, T b) { return acui_saturated(__hmul(a, b)); }                    \
    ACUI_DEVICE T __hfma_sat(T a, T b, T c) { return acui_saturated(__hfma(a, b, c)); }            \
    ACUI_DEVICE T __hmax(T a, T b) { return T(fmaxf((float)a, (float)b)); }                        \
    ACUI_DEVICE T __hmin(T a, T b) { return T(fminf((float)a, (float)b)); }                        \
    ACUI_DEVICE bool __hisnan(T a) { return (float)a != (float)a; }                                \
    ACUI_DEVICE int __hisinf(T a)                                                                  \
    {                                                                                              \
        float v = (float)a;                                                                        \
        return isinf(v) ? v > 0 ? 1 : -1 : 0;                                                      \
    }                                                                                              \
    ACUI_DEVICE T __hmax_nan(T a, T b)                                                             \
    {                                                                                              \
        return __hisnan(a) || __hisnan(b) ? T(__builtin_nanf("")) : __hmax(a, b);                  \
    }                                                                                              \
    ACUI_DEVICE T __hmin_nan(T a, T b)                                                             \
    {                                                                                              \
        return __hisnan(a) || __hisnan(b) ? T(__builtin_nanf("")) : __hmin(a, b);                  \
    }                                                                                              \
    ACUI_DEVICE T __hfma_relu(T a, T b, T c) { return __hmax_nan(__hfma(a, b, c), T(0.0f)); }      \
    ACUI_HALF_PAIRED_2(T2, __h2div, __hdiv)                                                        \
    ACUI_HALF_PAIRED_1(T2, __hneg2, __hneg)                                                        \
    ACUI_HALF_PAIRED_1(T2, __habs2, __habs)                                                        \
    ACUI_HALF_PAIRED_2(T2, __hadd2_sat, __hadd_sat)                                                \
    ACUI_HALF_PAIRED_2(T2, __hsub2_sat, __hsub_sat)                                                \
    ACUI_HALF_PAIRED_2(T2, __hmul2_sat, __hmul_sat)                                                \
    ACUI_DEVICE T2 __hfma2_sat(T2 a, T2 b, T2 c)                                                   \
    {                                                                                              \
        return T2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));                           \
    }                                                                                              \
    ACUI_DEVICE T2 __hfma2_relu(T2 a, T2 b, T2 c)                                                  \
    {                                                                                              \
        return T2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));                         \
    }                                                                                              \
    /* a b + c of complex numbers (real in x) */                                                   \
    ACUI_DEVICE T2 __hcmadd(T2 a, T2 b, T2 c)                                                      \
    {                                                                                              \
        T x = __hfma(a.x, b.x, c.x), y = __hfma(a.x, b.y, c.y);                                    \
        return T2(__hfma(__hneg(a.y), b.y, x), __hfma(a.y, b.x, y));                               \
    }                                                                                              \
    ACUI_HALF_PAIRED_2(T2, __hmax2, __hmax)                                                        \
    ACUI_HALF_PAIRED_2(T2, __hmin2, __hmin)                                                        \
    ACUI_HALF_PAIRED_2(T2, __hmax2_nan, __hmax_nan)                                                \
    ACUI_HALF_PAIRED_2(T2, __hmin2_nan, __hmin_nan)                                                \
    ACUI_DEVICE T2 __hisnan2(T2 a)                                                                 \
    {                                                                                              \
        return T2(T((float)__hisnan(a.x)), T((float)__hisnan(a.y)));                               \
    }                                                                                              \
    ACUI_HALF_COMPARISON(T, T2, eq, a == b)                                                        \
    ACUI_HALF_COMPARISON(T, T2, ne, a < b || a > b)                                                \
    ACUI_HALF_COMPARISON(T, T2, lt, a < b)                                                         \
    ACUI_HALF_COMPARISON(T, T2, le, a <= b)                                                        \
    ACUI_HALF_COMPARISON(T, T2, gt, a > b)                                                         \
    ACUI_HALF_COMPARISON(T, T2, ge, a >= b)                                                        \
    ACUI_HALF_COMPARISON(T, T2, equ, !(a < b || a > b))                                            \
    ACUI_HALF_COMPARISON(T, T2, neu, a != b)                                                       \
    ACUI_HALF_COMPARISON(T, T2, ltu, !(a >= b))                                                    \
    ACUI_HALF_COMPARISON(T, T2, leu, !(a > b))                                                     \
    ACUI_HALF_COMPARISON(T, T2, gtu, !(a <= b))                                                    \
    ACUI_HALF_COMPARISON(T, T2, geu, !(a < b))
/* With u: also if one of them is NaN. Of pairs: 1 or 0 each, whether both, a mask. */
#define ACUI_HALF_COMPARISON(T, T2, name, expression)                                              \
    ACUI_DEVICE bool __h##name(T x, T y)                                                           \
    {                                                                                              \
        float a = (float)x, b = (float)y;                                                          \
        return expression;                                                                         \
    }                                                                                              \
    ACUI_DEVICE T2 __h##name##2(T2 a, T2 b)                                                        \
    {                                                                                              \
        return T2(T((float)__h##name(a.x, b.x)), T((float)__h##name(a.y, b.y)));                   \
    }                                                                                              \
    ACUI_DEVICE bool __hb##name##2(T2 a, T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
    ACUI_DEVICE unsigned __h##name##2_mask(T2 a, T2 b)                                             \
    {                                                                                              \
        return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);    \
    }

#define ACUI_HALF_OPERATORS(T, T2)                                                                 \
    ACUI_DEVICE T operator+(const T &a, const T &b) { return __hadd(a, b); }                       \
    ACUI_DEVICE T operator-(const T &a, const T &b) { return __hsub(a, b); }                       \
    ACUI_DEVICE T operator*(const T &a, const T &b) { return __hmul(a, b); }                       \
    ACUI_DEVICE T operator/(const T &a, const T &b) { return __hdiv(a, b); }                       \
    ACUI_DEVICE T2 operator/(const T2 &a, const T2 &b) { return __h2div(a, b); }                   \
    ACUI_DEVICE T2 operator+(const T2 &a, const T2 &b) { return __hadd2(a, b); }                   \
    ACUI_DEVICE T2 operator-(const T2 &a, const T2 &b) { return __hsub2(a, b); }                   \
    ACUI_DEVICE T2 operator*(const T2 &a, const T2 &b) { return __hmul2(a, b); }                   \
    ACUI_DEVICE T operator-(const T &a) { return __hneg(a); }                                      \
    ACUI_DEVICE T2 operator-(const T2 &a) { return __hneg2(a); }                                   \
    ACUI_DEVICE T operator+(const T &a) { return a; }                                              \
    ACUI_DEVICE T &operator+=(T &a, const T &b) { return a = a + b; }                              \
    ACUI_DEVICE T &operator-=(T &a, const T &b) { return a = a - b; }                              \
    ACUI_DEVICE T &operator*=(T &a, const T &b) { return a = a * b; }                              \
    ACUI_DEVICE T &operator/=(T &a, const T &b) { return a = a / b; }                              \
    ACUI_DEVICE T2 &operator+=(T2 &a, const T2 &b) { return a = a + b; }                           \
    ACUI_DEVICE T2 &operator-=(T2 &a, const T2 &b) { return a = a - b; }                           \
    ACUI_DEVICE T2 &operator*=(T2 &a, const T2 &b) { return a = a * b; }                           \
    ACUI_DEVICE T2 &operator/=(T2 &a, const T2 &b) { return a = a / b; }                           \
    ACUI_DEVICE T &operator++(T &a) { return a = a + T(1.0f); }                                    \
    ACUI_DEVICE T &operator--(T &a) { return a = a - T(1.0f); }                                    \
    ACUI_DEVICE bool operator==(const T &a, const T &b) { return __heq(a, b); }                    \
    ACUI_DEVICE bool operator!=(const T &a, const T &b) { return __hneu(a, b); }                   \
    ACUI_DEVICE bool operator<(const T &a, const T &b) { return __hlt(a, b); }                     \
    ACUI_DEVICE bool operator<=(const T &a, const T &b) { return __hle(a, b); }                    \
    ACUI_DEVICE bool operator>(const T &a, const T &b) { return __hgt(a, b); }                     \
    ACUI_DEVICE bool operator>=(const T &a, const T &b) { return __hge(a, b); }                    \
    ACUI_DEVICE bool operator==(const T2 &a, const T2 &b) { return __hbeq2(a, b); }                \
    ACUI_DEVICE bool operator!=(const T2 &a, const T2 &b) { return __hbneu2(a, b); }

/* By the functions of float, rounded: within half a unit and a little. */
#define ACUI_HALF_FUNCTION(T, T2, name, expression)                                                \
    ACUI_DEVICE T h##name(T a)                                                                     \
    {                                                                                              \
        float x = (float)a;                                                                        \
        return T(expression);                                                                      \
    }                                                                                              \
    ACUI_DEVICE T2 h2##name(T2 a) { return T2(h##name(a.x), h##name(a.y)); }
#define ACUI_HALF_FUNCTIONS(T, T2)                                                                 \
    ACUI_HALF_FUNCTION(T, T2, sqrt, sqrtf(x)) ACUI_HALF_FUNCTION(T, T2, rcp, __frcp_rn(x))         \
    ACUI_HALF_FUNCTION(T, T2, rsqrt, __frsqrt_rn(x)) ACUI_HALF_FUNCTION(T, T2, exp, expf(x))       \
    ACUI_HALF_FUNCTION(T, T2, exp2, exp2f(x)) ACUI_HALF_FUNCTION(T, T2, exp10, exp10f(x))          \
    ACUI_HALF_FUNCTION(T, T2, log, logf(x)) ACUI_HALF_FUNCTION(T, T2, log2, log2f(x))              \
    ACUI_HALF_FUNCTION(T, T2, log10, log10f(x)) ACUI_HALF_FUNCTION(T, T2, sin, sinf(x))            \
    ACUI_HALF_FUNCTION(T, T2, cos, cosf(x)) ACUI_HALF_FUNCTION(T, T2, tanh, tanhf(x))              \
    ACUI_HALF_FUNCTION(T, T2, floor, floorf(x)) ACUI_HALF_FUNCTION(T, T2, ceil, ceilf(x))          \
    ACUI_HALF_FUNCTION(T, T2, trunc, truncf(x)) ACUI_HALF_FUNCTION(T, T2, rint, rintf(x))

/* One element in a word: shuffles, and additions where PTX has none. */
#define ACUI_HALF_SHUFFLE(T, name, lane_type)                                                      \
    ACUI_DEVICE T name(unsigned mask, T value, lane_type lane, int width = 32)                     \
    {                                                                                              \
        acui_set_bits(value, name(mask, (unsigned)value.acui_bits, lane, width));                  \
        return value;                                                                              \
    }
#define ACUI_HALF_MEMORY(T, T2)                                                                    \
    ACUI_HALF_SHUFFLE(T, __shfl_sync, int) ACUI_HALF_SHUFFLE(T, __shfl_up_sync, unsigned)          \
    ACUI_HALF_SHUFFLE(T, __shfl_down_sync, unsigned) ACUI_HALF_SHUFFLE(T, __shfl_xor_sync, int)
/* In the word that holds the element: the old element. */
#define ACUI_HALF_ATOMIC_BY_CAS(T)                                                                 \
    ACUI_DEVICE T atomicAdd(T *address, T value)                                                   \
    {                                                                                              \
        unsigned long long at = (unsigned long long)address;                                       \
        unsigned *word = (unsigned *)(at & ~3ull), shift = (unsigned)(at & 2) * 8;                 \
        unsigned seen = *(volatile unsigned *)word, before;                                        \
        T old;                                                                                     \
        do {                                                                                       \
            before = seen;                                                                         \
            acui_set_bits(old, before >> shift);                                                   \
            unsigned sum = __hadd(old, value).acui_bits;                                           \
            seen = atomicCAS(word, before, (before & ~(0xffffu << shift)) | sum << shift);         \
        } while (seen != before);                                                                  \
        return old;                                                                                \
    }
#define ACUI_HALF_ATOMIC_PAIR_BY_CAS(T2)                                                           \
    ACUI_DEVICE T2 atomicAdd(T2 *address, T2 value)                                                \
    {                                                                                              \
        unsigned seen = *(volatile unsigned *)address, before;                                     \
        T2 old;                                                                                    \
        do {                                                                                       \
            before = seen;                                                                         \
            acui_set_word(old, before);                                                            \
            seen = atomicCAS((unsigned *)address, before, acui_word(__hadd2(old, value)));         \
        } while (seen != before);                                                                  \
        return old;                                                                                \
    }
#define ACUI_HALF_ATOMIC_ASM(T, kind)                                                              \
    ACUI_DEVICE T atomicAdd(T *address, T value)                                                   \
    {                                                                                              \
        T old;                                                                                     \
        __asm__ volatile("atom.add.noftz." kind " %0, [%1], %2;" : "=h"(old.acui_bits)             \
                         : "l"(address), "h"(value.acui_bits) : "memory");                         \
        return old;                                                                                \
    }
#define ACUI_HALF_ATOMIC_PAIR_ASM(T2, kind)                                                        \
    ACUI_DEVICE T2 atomicAdd(T2 *address, T2 value)                                                \
    {                                                                                              \
        T2 old;                                                                                    \
        unsigned word;                                                                             \
        __asm__ volatile("atom.add.noftz." kind "x2 %0, [%1], %2;" : "=r"(word)                    \
                         : "l"(address), "r"(acui_word(value)) : "memory");                        \
        acui_set_word(old, word);                                                                  \
        return old;                                                                                \
    }

#endif
