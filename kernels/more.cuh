/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Further functions of CUDA's that kernels need now and then: integers and bits, small vectors in a
 * word, loads and stores with cache hints, atomics of a block or of the whole system, new and delete.
 * prelude.cuh includes this file unless ACUDA_PRELUDE_CORE is defined.
 */
#ifndef ACUDA_KERNELS_MORE_CUH
#define ACUDA_KERNELS_MORE_CUH

/* clang-format off: what is one fact a line stays one line */

/* ---- numbers of two types ------------------------------------------------------------------- */

#define ACUI_MIXED(a, b, to)                                                                       \
    ACUI_DEVICE to min(a x, b y) { return min((to)x, (to)y); }                                     \
    ACUI_DEVICE to min(b x, a y) { return min((to)x, (to)y); }                                     \
    ACUI_DEVICE to max(a x, b y) { return max((to)x, (to)y); }                                     \
    ACUI_DEVICE to max(b x, a y) { return max((to)x, (to)y); }
ACUI_MIXED(int, unsigned, unsigned)
ACUI_MIXED(long, unsigned long, unsigned long)
ACUI_MIXED(long long, unsigned long long, unsigned long long)
ACUI_MIXED(float, double, double)
#undef ACUI_MIXED
ACUI_DEVICE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
ACUI_DEVICE unsigned umax(unsigned a, unsigned b) { return max(a, b); }
ACUI_DEVICE long long llmin(long long a, long long b) { return min(a, b); }
ACUI_DEVICE long long llmax(long long a, long long b) { return max(a, b); }
ACUI_DEVICE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
ACUI_DEVICE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
ACUI_DEVICE long labs(long v) { return abs(v); }

/* ---- bits and integers ---------------------------------------------------------------------- */

ACUI_DEVICE int __double2hiint(double v) { return (int)(__double_as_longlong(v) >> 32); }
ACUI_DEVICE int __double2loint(double v) { return (int)__double_as_longlong(v); }
ACUI_DEVICE double __hiloint2double(int high, int low)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned)high << 32 | (unsigned)low));
}
ACUI_DEVICE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
ACUI_DEVICE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift)
{
    return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}
ACUI_DEVICE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
ACUI_DEVICE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
ACUI_DEVICE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
ACUI_DEVICE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
/* The place of the offset-th set bit from bit `base` on, counted upwards from 1, or downwards from
 * -1; 0: bit `base`, if it is set. All ones: there is none. */
ACUI_DEVICE unsigned __fns(unsigned mask, unsigned base, int offset)
{
    if (offset == 0)
        return base < 32 && (mask >> base & 1) ? base : 0xffffffffu;
    int step = offset > 0 ? 1 : -1;
    for (int i = (int)base; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) && (offset -= step) == 0)
            return (unsigned)i;
    return 0xffffffffu;
}
#if __CUDA_ARCH__ >= 610
#define ACUI_DP2A(name, half, sign, type, pairs, bytes)                                            \
    ACUI_DEVICE type name(type a, type b, type c)                                                  \
    {                                                                                              \
        type sum;                                                                                  \
        __asm__("dp2a." half sign sign " %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));   \
        return sum;                                                                                \
    }                                                                                              \
    ACUI_DEVICE type name(pairs a, bytes b, type c)                                                \
    {                                                                                              \
        type x, y;                                                                                 \
        __builtin_memcpy(&x, &a, sizeof x);                                                        \
        __builtin_memcpy(&y, &b, sizeof y);                                                        \
        return name(x, y, c);                                                                      \
    }
ACUI_DP2A(__dp2a_lo, "lo", ".s32", int, short2, char4)
ACUI_DP2A(__dp2a_hi, "hi", ".s32", int, short2, char4)
ACUI_DP2A(__dp2a_lo, "lo", ".u32", unsigned, ushort2, uchar4)
ACUI_DP2A(__dp2a_hi, "hi", ".u32", unsigned, ushort2, uchar4)
#undef ACUI_DP2A
ACUI_DEVICE int __dp4a(char4 a, char4 b, int c)
{
    int x, y;
    __builtin_memcpy(&x, &a, sizeof x);
    __builtin_memcpy(&y, &b, sizeof y);
    return __dp4a(x, y, c);
}
ACUI_DEVICE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c)
{
    unsigned x, y;
    __builtin_memcpy(&x, &a, sizeof x);
    __builtin_memcpy(&y, &b, sizeof y);
    return __dp4a(x, y, c);
}
#endif

/* ---- two numbers of 16 bits, or four of 8, in a word ----------------------------------------- */

/* Calls f for each field, sign-extended or not, and puts the results together. */
template <int BITS, bool SIGN> ACUI_DEVICE int acui_field(unsigned word, int at)
{
    int moved = (int)(word << (32 - BITS - at));
    return SIGN ? moved >> (32 - BITS) : (int)((unsigned)moved >> (32 - BITS));
}
#define ACUI_FIELDS(name, count, bits, sign, expression)                                           \
    ACUI_DEVICE unsigned __v##name##count(unsigned x, unsigned y)                                  \
    {                                                                                              \
        unsigned result = 0;                                                                       \
        const int low = sign ? -(1 << (bits - 1)) : 0, high = (1 << (sign ? bits - 1 : bits)) - 1; \
        _Pragma("unroll") for (int i = 0; i < 32; i += bits)                                       \
        {                                                                                          \
            int a = acui_field<bits, sign>(x, i), b = acui_field<bits, sign>(y, i);                \
            result |= ((unsigned)(expression) & ((1u << bits) - 1)) << i;                          \
        }                                                                                          \
        (void)low, (void)high;                                                                     \
        return result;                                                                             \
    }
#define ACUI_FIELDS_2(name, sign, expression)                                                      \
    ACUI_FIELDS(name, 2, 16, sign, expression) ACUI_FIELDS(name, 4, 8, sign, expression)
#define ACUI_FIELDS_TEST(name, sign, test)                                                         \
    ACUI_FIELDS_2(cmp##name, sign, (test) ? -1 : 0) ACUI_FIELDS_2(set##name, sign, (test) ? 1 : 0)
#define ACUI_CLIP(v) ((v) < low ? low : (v) > high ? high : (v))
ACUI_FIELDS_2(add, true, a + b)
ACUI_FIELDS_2(addss, true, ACUI_CLIP(a + b))
ACUI_FIELDS_2(addus, false, ACUI_CLIP(a + b))
ACUI_FIELDS_2(sub, true, a - b)
ACUI_FIELDS_2(subss, true, ACUI_CLIP(a - b))
ACUI_FIELDS_2(subus, false, ACUI_CLIP(a - b))
ACUI_FIELDS_2(absdiffs, true, a > b ? a - b : b - a)
ACUI_FIELDS_2(absdiffu, false, a > b ? a - b : b - a)
ACUI_FIELDS_2(avgs, true, (a + b + (a + b >= 0)) >> 1)
ACUI_FIELDS_2(avgu, false, (a + b + 1) >> 1)
ACUI_FIELDS_2(haddu, false, (a + b) >> 1)
ACUI_FIELDS_2(maxs, true, a > b ? a : b)
ACUI_FIELDS_2(maxu, false, a > b ? a : b)
ACUI_FIELDS_2(mins, true, a < b ? a : b)
ACUI_FIELDS_2(minu, false, a < b ? a : b)
#define ACUI_FIELDS_1(name, expression)                                                            \
    ACUI_FIELDS_2(name##_of, true, ((void)b, (expression)))                                        \
    ACUI_DEVICE unsigned __v##name##2(unsigned x) { return __v##name##_of2(x, 0); }                \
    ACUI_DEVICE unsigned __v##name##4(unsigned x) { return __v##name##_of4(x, 0); }
ACUI_FIELDS_1(abs, a < 0 ? -a : a)
ACUI_FIELDS_1(absss, ACUI_CLIP(a < 0 ? -a : a))
ACUI_FIELDS_1(neg, -a)
ACUI_FIELDS_1(negss, ACUI_CLIP(-a))
ACUI_FIELDS_TEST(eq, true, a == b)
ACUI_FIELDS_TEST(ne, true, a != b)
ACUI_FIELDS_TEST(ges, true, a >= b)
ACUI_FIELDS_TEST(geu, false, a >= b)
ACUI_FIELDS_TEST(gts, true, a > b)
ACUI_FIELDS_TEST(gtu, false, a > b)
ACUI_FIELDS_TEST(les, true, a <= b)
ACUI_FIELDS_TEST(leu, false, a <= b)
ACUI_FIELDS_TEST(lts, true, a < b)
ACUI_FIELDS_TEST(ltu, false, a < b)
#undef ACUI_CLIP
#undef ACUI_FIELDS_TEST
#undef ACUI_FIELDS_1
#undef ACUI_FIELDS_2
#undef ACUI_FIELDS
#define ACUI_SAD(name, bits, sign)                                                                 \
    ACUI_DEVICE unsigned name(unsigned x, unsigned y)                                              \
    {                                                                                              \
        unsigned sum = 0;                                                                          \
        _Pragma("unroll") for (int i = 0; i < 32; i += bits)                                       \
        {                                                                                          \
            int a = acui_field<bits, sign>(x, i), b = acui_field<bits, sign>(y, i);                \
            sum += (unsigned)(a > b ? a - b : b - a);                                              \
        }                                                                                          \
        return sum;                                                                                \
    }
ACUI_SAD(__vsads2, 16, true)
ACUI_SAD(__vsads4, 8, true)
ACUI_SAD(__vsadu2, 16, false)
ACUI_SAD(__vsadu4, 8, false)
#undef ACUI_SAD

/* ---- kinds of memory ------------------------------------------------------------------------- */

#define ACUI_SPACE(name, ptx, space)                                                               \
    ACUI_DEVICE unsigned __is##name(const void *pointer)                                           \
    {                                                                                              \
        unsigned yes;                                                                              \
        __asm__("{\n\t.reg .pred %%is;\n\tisspacep." space " %%is, %1;\n\t"                        \
                "selp.u32 %0, 1, 0, %%is;\n\t}" : "=r"(yes) : "l"(pointer));                       \
        return yes;                                                                                \
    }                                                                                              \
    ACUI_DEVICE size_t __cvta_generic_to_##ptx(const void *pointer)                                \
    {                                                                                              \
        size_t address;                                                                            \
        __asm__("cvta.to." space ".u64 %0, %1;" : "=l"(address) : "l"(pointer));                   \
        return address;                                                                            \
    }                                                                                              \
    ACUI_DEVICE void *__cvta_##ptx##_to_generic(size_t address)                                    \
    {                                                                                              \
        void *pointer;                                                                             \
        __asm__("cvta." space ".u64 %0, %1;" : "=l"(pointer) : "l"(address));                      \
        return pointer;                                                                            \
    }
ACUI_SPACE(Global, global, "global")
ACUI_SPACE(Shared, shared, "shared")
ACUI_SPACE(Constant, constant, "const")
ACUI_SPACE(Local, local, "local")
#undef ACUI_SPACE

/* ---- loads and stores with cache hints --------------------------------------------------------- */

/* Of any type of 1, 2, 4, 8 or 16 bytes, in global memory. */
#define ACUI_LOAD(name, hint)                                                                      \
    template <typename T> ACUI_DEVICE T name(const T *address)                                     \
    {                                                                                              \
        static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "1 to 16 bytes");     \
        T value;                                                                                   \
        if constexpr (sizeof(T) <= 2) {                                                            \
            unsigned short bits;                                                                   \
            if constexpr (sizeof(T) == 1)                                                          \
                __asm__ volatile("ld.global." hint ".u8 %0, [%1];" : "=h"(bits) : "l"(address) : "memory"); \
            else                                                                                   \
                __asm__ volatile("ld.global." hint ".u16 %0, [%1];" : "=h"(bits) : "l"(address) : "memory"); \
            __builtin_memcpy(&value, &bits, sizeof value);                                         \
        } else if constexpr (sizeof(T) == 4) {                                                     \
            unsigned bits;                                                                         \
            __asm__ volatile("ld.global." hint ".u32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory"); \
            __builtin_memcpy(&value, &bits, sizeof value);                                         \
        } else if constexpr (sizeof(T) == 8) {                                                     \
            unsigned long long bits;                                                               \
            __asm__ volatile("ld.global." hint ".u64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory"); \
            __builtin_memcpy(&value, &bits, sizeof value);                                         \
        } else {                                                                                   \
            unsigned b[4];                                                                         \
            __asm__ volatile("ld.global." hint ".v4.u32 {%0, %1, %2, %3}, [%4];"                   \
                             : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "l"(address) : "memory"); \
            __builtin_memcpy(&value, b, sizeof value);                                             \
        }                                                                                          \
        return value;                                                                              \
    }
ACUI_LOAD(__ldcg, "cg")
ACUI_LOAD(__ldca, "ca")
ACUI_LOAD(__ldcs, "cs")
ACUI_LOAD(__ldlu, "lu")
ACUI_LOAD(__ldcv, "cv")
#undef ACUI_LOAD
#define ACUI_STORE(name, hint)                                                                     \
    template <typename T> ACUI_DEVICE void name(T *address, T value)                               \
    {                                                                                              \
        static_assert(sizeof(T) <= 16 && (sizeof(T) & (sizeof(T) - 1)) == 0, "1 to 16 bytes");     \
        if constexpr (sizeof(T) <= 2) {                                                            \
            unsigned short bits = 0;                                                               \
            __builtin_memcpy(&bits, &value, sizeof value);                                         \
            if constexpr (sizeof(T) == 1)                                                          \
                __asm__ volatile("st.global." hint ".u8 [%0], %1;" : : "l"(address), "h"(bits) : "memory"); \
            else                                                                                   \
                __asm__ volatile("st.global." hint ".u16 [%0], %1;" : : "l"(address), "h"(bits) : "memory"); \
        } else if constexpr (sizeof(T) == 4) {                                                     \
            unsigned bits;                                                                         \
            __builtin_memcpy(&bits, &value, sizeof value);                                         \
            __asm__ volatile("st.global." hint ".u32 [%0], %1;" : : "l"(address), "r"(bits) : "memory"); \
        } else if constexpr (sizeof(T) == 8) {                                                     \
            unsigned long long bits;                                                               \
            __builtin_memcpy(&bits, &value, sizeof value);                                         \
            __asm__ volatile("st.global." hint ".u64 [%0], %1;" : : "l"(address), "l"(bits) : "memory"); \
        } else {                                                                                   \
            unsigned b[4];                                                                         \
            __builtin_memcpy(b, &value, sizeof value);                                             \
            __asm__ volatile("st.global." hint ".v4.u32 [%0], {%1, %2, %3, %4};"                   \
                             : : "l"(address), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]) : "memory"); \
        }                                                                                          \
    }
ACUI_STORE(__stwb, "wb")
ACUI_STORE(__stcg, "cg")
ACUI_STORE(__stcs, "cs")
ACUI_STORE(__stwt, "wt")
#undef ACUI_STORE

/* ---- atomics among the threads of a block, or with the host and other devices ------------------- */

#if __CUDA_ARCH__ >= 600
#define ACUI_SCOPED(name, scope, op, type, t)                                                      \
    ACUI_DEVICE type name(type *address, type value)                                               \
    {                                                                                              \
        type before;                                                                               \
        __asm__ volatile("atom." scope "." op " %0, [%1], %2;" : "=" t(before)                     \
                         : "l"(address), t(value) : "memory");                                     \
        return before;                                                                             \
    }
#define ACUI_SCOPED_CAS(name, scope, bits, type, t)                                                \
    ACUI_DEVICE type name(type *address, type expected, type desired)                              \
    {                                                                                              \
        type before;                                                                               \
        __asm__ volatile("atom." scope ".cas." bits " %0, [%1], %2, %3;" : "=" t(before)           \
                         : "l"(address), t(expected), t(desired) : "memory");                      \
        return before;                                                                             \
    }
#define ACUI_SCOPED_BITS(name, scope, op)                                                          \
    ACUI_SCOPED(name, scope, op ".b32", int, "r") ACUI_SCOPED(name, scope, op ".b32", unsigned, "r") \
    ACUI_SCOPED(name, scope, op ".b64", unsigned long long, "l")
#define ACUI_SCOPED_ORDER(name, scope, op)                                                         \
    ACUI_SCOPED(name, scope, op ".s32", int, "r") ACUI_SCOPED(name, scope, op ".u32", unsigned, "r") \
    ACUI_SCOPED(name, scope, op ".s64", long long, "l")                                            \
    ACUI_SCOPED(name, scope, op ".u64", unsigned long long, "l")
#define ACUI_SCOPED_ALL(end, scope)                                                                \
    ACUI_SCOPED(atomicAdd##end, scope, "add.s32", int, "r")                                        \
    ACUI_SCOPED(atomicAdd##end, scope, "add.u32", unsigned, "r")                                   \
    ACUI_SCOPED(atomicAdd##end, scope, "add.u64", unsigned long long, "l")                         \
    ACUI_SCOPED(atomicAdd##end, scope, "add.f32", float, "f")                                      \
    ACUI_SCOPED(atomicAdd##end, scope, "add.f64", double, "d")                                     \
    ACUI_DEVICE int atomicSub##end(int *at, int v) { return atomicAdd##end(at, (int)(0u - (unsigned)v)); } \
    ACUI_DEVICE unsigned atomicSub##end(unsigned *at, unsigned v) { return atomicAdd##end(at, 0u - v); } \
    ACUI_SCOPED_ORDER(atomicMin##end, scope, "min")                                                \
    ACUI_SCOPED_ORDER(atomicMax##end, scope, "max")                                                \
    ACUI_SCOPED_BITS(atomicAnd##end, scope, "and")                                                 \
    ACUI_SCOPED_BITS(atomicOr##end, scope, "or")                                                   \
    ACUI_SCOPED_BITS(atomicXor##end, scope, "xor")                                                 \
    ACUI_SCOPED_BITS(atomicExch##end, scope, "exch")                                               \
    ACUI_DEVICE float atomicExch##end(float *at, float v)                                          \
    {                                                                                              \
        return __int_as_float(atomicExch##end((int *)at, __float_as_int(v)));                      \
    }                                                                                              \
    ACUI_SCOPED(atomicInc##end, scope, "inc.u32", unsigned, "r")                                   \
    ACUI_SCOPED(atomicDec##end, scope, "dec.u32", unsigned, "r")                                   \
    ACUI_SCOPED_CAS(atomicCAS##end, scope, "b32", int, "r")                                        \
    ACUI_SCOPED_CAS(atomicCAS##end, scope, "b32", unsigned, "r")                                   \
    ACUI_SCOPED_CAS(atomicCAS##end, scope, "b64", unsigned long long, "l")
ACUI_SCOPED_ALL(_block, "cta")
ACUI_SCOPED_ALL(_system, "sys")
#if __CUDA_ARCH__ >= 700
ACUI_SCOPED_CAS(atomicCAS, "gpu", "b16", unsigned short, "h")
#endif
#undef ACUI_SCOPED_ALL
#undef ACUI_SCOPED_ORDER
#undef ACUI_SCOPED_BITS
#undef ACUI_SCOPED_CAS
#undef ACUI_SCOPED
#endif

/* ---- new and delete: on the device's heap, as malloc and free ---------------------------------- */

/* clang brings them with <new>, if there is a C++ library for it to stand on. */
#if __has_include(<typeinfo>)
#include <new>
#else
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete" /* here there is no other file */
__device__ inline void *operator new(size_t bytes) { return malloc(bytes); }
__device__ inline void *operator new[](size_t bytes) { return malloc(bytes); }
__device__ inline void operator delete(void *memory) noexcept { free(memory); }
__device__ inline void operator delete[](void *memory) noexcept { free(memory); }
__device__ inline void operator delete(void *memory, size_t) noexcept { free(memory); }
__device__ inline void operator delete[](void *memory, size_t) noexcept { free(memory); }
__device__ inline void *operator new(size_t, void *place) noexcept { return place; }
__device__ inline void *operator new[](size_t, void *place) noexcept { return place; }
__device__ inline void operator delete(void *, void *) noexcept {}
__device__ inline void operator delete[](void *, void *) noexcept {}
#pragma clang diagnostic pop
#endif

#endif
