/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * __nv_bfloat16 and __nv_bfloat162 for kernels that clang compiles without a toolkit: CUDA's names
 * and meanings. Every result of arithmetic is the correctly rounded one, and the same bits on every
 * device: by the hardware's instructions where the architecture has them (9.0; fma 8.0), else by
 * float or double. Device code only.
 */
#ifndef ACUDA_KERNELS_CUDA_BF16_H
#define ACUDA_KERNELS_CUDA_BF16_H

#include "acuda_halves.h"

ACUI_DEVICE unsigned short acui_brain_of(float v)
{
    unsigned bits = __float_as_uint(v), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (unsigned short)(v != v ? 0x7fffu : rounded);
}
ACUI_DEVICE float acui_of_brain(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

ACUI_HALF_TYPE(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, acui_brain_of, acui_of_brain)
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __nv_bfloat16_raw2_ __nv_bfloat162_raw;

ACUI_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, acui_brain_of)
ACUI_DEVICE __nv_bfloat162 __bfloat162bfloat162_(__nv_bfloat16 v) { return __nv_bfloat162(v, v); }
ACUI_DEVICE __nv_bfloat16 __float2bfloat16_rz(float v)
{
    return __ushort_as_bfloat16(v != v ? 0x7fff : (unsigned short)(__float_as_uint(v) >> 16));
}
/* Away from zero if something was cut off, and the direction is that one. */
ACUI_DEVICE __nv_bfloat16 acui_brain_towards(float v, bool away)
{
    unsigned bits = __float_as_uint(v), cut = bits >> 16;
    if (v != v)
        return __ushort_as_bfloat16(0x7fff);
    return __ushort_as_bfloat16((unsigned short)(cut + (away && (bits & 0xffffu))));
}
ACUI_DEVICE __nv_bfloat16 __float2bfloat16_ru(float v) { return acui_brain_towards(v, v > 0.0f); }
ACUI_DEVICE __nv_bfloat16 __float2bfloat16_rd(float v) { return acui_brain_towards(v, v < 0.0f); }
ACUI_DEVICE float2 __bfloat1622float2(__nv_bfloat162 v) { return make_float2((float)v.x, (float)v.y); }

#if __CUDA_ARCH__ >= 900 && !defined(ACUDA_BF16_BY_FLOAT)
ACUI_HALF_ASM_2(__nv_bfloat16, __nv_bfloat162, __hadd, "add.rn.", "bf16")
ACUI_HALF_ASM_2(__nv_bfloat16, __nv_bfloat162, __hsub, "sub.rn.", "bf16")
ACUI_HALF_ASM_2(__nv_bfloat16, __nv_bfloat162, __hmul, "mul.rn.", "bf16")
ACUI_HALF_ASM_FMA(__nv_bfloat16, __nv_bfloat162, "bf16")
#else
ACUI_HALF_BY_FLOAT(__nv_bfloat16, __nv_bfloat162)
#endif
ACUI_HALF_ARITHMETIC(__nv_bfloat16, __nv_bfloat162)
ACUI_HALF_OPERATORS(__nv_bfloat16, __nv_bfloat162)
ACUI_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
ACUI_HALF_MEMORY(__nv_bfloat16, __nv_bfloat162)
#if __CUDA_ARCH__ >= 900
ACUI_HALF_ATOMIC_ASM(__nv_bfloat16, "bf16")
ACUI_HALF_ATOMIC_PAIR_ASM(__nv_bfloat162, "bf16")
#else
ACUI_HALF_ATOMIC_BY_CAS(__nv_bfloat16)
ACUI_HALF_ATOMIC_PAIR_BY_CAS(__nv_bfloat162)
#endif

#endif
