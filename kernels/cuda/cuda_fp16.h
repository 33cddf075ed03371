/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * __half and __half2 for kernels that clang compiles without a toolkit: CUDA's names and meanings.
 * Arithmetic by the hardware's instructions; every result is the correctly rounded one, and the same
 * bits on every device. hexp, hsin and the like are those of float, rounded. Device code only.
 */
#ifndef ACUDA_KERNELS_CUDA_FP16_H
#define ACUDA_KERNELS_CUDA_FP16_H

#include "acuda_halves.h"

ACUI_DEVICE unsigned short acui_half_of(float v)
{
    unsigned short bits;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}
ACUI_DEVICE float acui_of_half(unsigned short bits)
{
    float v;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}

ACUI_HALF_TYPE(__half, __half2, __half_raw, acui_half_of, acui_of_half)
typedef __half half;
typedef __half2 half2;
typedef __half_raw2_ __half2_raw;

ACUI_HALF_CONVERSIONS(__half, __half2, half, half2, acui_half_of)
#define ACUI_HALF_DIRECTED(mode, ptx)                                                              \
    ACUI_DEVICE __half __float2half_##mode(float v)                                                \
    {                                                                                              \
        unsigned short bits;                                                                       \
        __asm__("cvt." ptx ".f16.f32 %0, %1;" : "=h"(bits) : "f"(v));                              \
        return __ushort_as_half(bits);                                                             \
    }
ACUI_HALF_DIRECTED(rz, "rz")
ACUI_HALF_DIRECTED(ru, "rp")
ACUI_HALF_DIRECTED(rd, "rm")
#undef ACUI_HALF_DIRECTED
ACUI_DEVICE float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }

ACUI_HALF_ASM_2(__half, __half2, __hadd, "add.rn.", "f16")
ACUI_HALF_ASM_2(__half, __half2, __hsub, "sub.rn.", "f16")
ACUI_HALF_ASM_2(__half, __half2, __hmul, "mul.rn.", "f16")
ACUI_HALF_ASM_FMA(__half, __half2, "f16")
ACUI_HALF_ARITHMETIC(__half, __half2)
ACUI_HALF_OPERATORS(__half, __half2)
ACUI_HALF_FUNCTIONS(__half, __half2)
ACUI_HALF_MEMORY(__half, __half2)
#if __CUDA_ARCH__ >= 700
ACUI_HALF_ATOMIC_ASM(__half, "f16")
#else
ACUI_HALF_ATOMIC_BY_CAS(__half)
#endif
ACUI_HALF_ATOMIC_PAIR_ASM(__half2, "f16")

#endif
