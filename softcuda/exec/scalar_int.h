/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * PTX's integer operations for one lane, with the hardware's behaviour at the edges: division by
 * zero gives all ones, shifts clamp, nothing traps.
 */
#ifndef SOFTCUDA_EXEC_SCALAR_INT_H
#define SOFTCUDA_EXEC_SCALAR_INT_H

#include "exec/lanes.h"

__extension__ typedef __int128 sx_s128;
__extension__ typedef unsigned __int128 sx_u128;

SX_INLINE uint64_t sx_mulhi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)(((sx_u128)a * b) >> 64);
}

SX_INLINE uint64_t sx_mulhi_s64(int64_t a, int64_t b)
{
    return (uint64_t)(((sx_s128)a * b) >> 64);
}

SX_INLINE uint32_t sx_mulhi_s32(int32_t a, int32_t b)
{
    return (uint32_t)(((int64_t)a * b) >> 32);
}

SX_INLINE uint32_t sx_mulhi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a * b) >> 32);
}

SX_INLINE int32_t sx_sat_s32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

SX_INLINE uint64_t sx_div_u(uint64_t a, uint64_t b)
{
    return b ? a / b : UINT64_MAX;
}

SX_INLINE uint64_t sx_rem_u(uint64_t a, uint64_t b)
{
    return b ? a % b : a;
}

SX_INLINE uint32_t sx_div_u32(uint32_t a, uint32_t b)
{
    return b ? a / b : UINT32_MAX;
}

SX_INLINE uint32_t sx_rem_u32(uint32_t a, uint32_t b)
{
    return b ? a % b : a;
}

/* The one quotient that does not fit wraps; the remainder is then 0. */
SX_INLINE int64_t sx_div_s(int64_t a, int64_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

SX_INLINE int64_t sx_rem_s(int64_t a, int64_t b)
{
    if (b == 0)
        return a;
    return b == -1 ? 0 : a % b;
}

SX_INLINE int32_t sx_div_s32(int32_t a, int32_t b)
{
    if (b == 0)
        return -1;
    return b == -1 ? (int32_t)(0 - (uint32_t)a) : a / b;
}

SX_INLINE int32_t sx_rem_s32(int32_t a, int32_t b)
{
    if (b == 0)
        return a;
    return b == -1 ? 0 : a % b;
}

SX_INLINE uint32_t sx_absdiff_u32(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

SX_INLINE uint32_t sx_absdiff_s32(int32_t a, int32_t b)
{
    return a > b ? (uint32_t)a - (uint32_t)b : (uint32_t)b - (uint32_t)a;
}

SX_INLINE uint64_t sx_absdiff_u64(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

SX_INLINE uint64_t sx_absdiff_s64(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* 24-bit multiplication: operands are the low 24 bits; "hi" is bits 16 to 47 of the product. */
SX_INLINE int64_t sx_mul24_s(int32_t a, int32_t b)
{
    int32_t x = (int32_t)((uint32_t)a << 8) >> 8;
    int32_t y = (int32_t)((uint32_t)b << 8) >> 8;
    return (int64_t)x * y;
}

SX_INLINE uint64_t sx_mul24_u(uint32_t a, uint32_t b)
{
    return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}

SX_INLINE uint32_t sx_brev32(uint32_t v)
{
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1);
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2);
    v = ((v >> 4) & 0x0f0f0f0f) | ((v & 0x0f0f0f0f) << 4);
    return __builtin_bswap32(v);
}

SX_INLINE uint64_t sx_brev64(uint64_t v)
{
    return (uint64_t)sx_brev32((uint32_t)v) << 32 | sx_brev32((uint32_t)(v >> 32));
}

SX_INLINE uint32_t sx_clz32(uint32_t v)
{
    return v ? (uint32_t)__builtin_clz(v) : 32;
}

SX_INLINE uint32_t sx_clz64(uint64_t v)
{
    return v ? (uint32_t)__builtin_clzll(v) : 64;
}

/* Position of the highest bit that differs from the sign; all ones where there is none. */
SX_INLINE uint32_t sx_bfind32(uint32_t v, bool shift)
{
    if (!v)
        return UINT32_MAX;
    uint32_t at = 31 - (uint32_t)__builtin_clz(v);
    return shift ? 31 - at : at;
}

SX_INLINE uint32_t sx_bfind64(uint64_t v, bool shift)
{
    if (!v)
        return UINT32_MAX;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(v);
    return shift ? 63 - at : at;
}

/* Bit fields: what lies past the end is zero or sign. PTX wants position and length below 256; of
 * larger ones an H100 takes the low 8 bits for fields of 32, and all bits for fields of 64. */
SX_INLINE uint32_t sx_field_number(uint32_t n, unsigned bits)
{
    return bits == 32 ? n & 0xff : n < 0xff ? n : 0xff;
}

SX_INLINE uint64_t sx_bfe(uint64_t v, uint32_t pos, uint32_t len, unsigned bits, bool is_signed)
{
    pos = sx_field_number(pos, bits);
    len = sx_field_number(len, bits);
    unsigned msb = bits - 1;
    uint64_t sign = 0;
    if (is_signed && len) {
        unsigned at = pos + len - 1 < msb ? pos + len - 1 : msb;
        sign = (v >> at) & 1;
    }
    uint64_t field = pos <= msb ? v >> pos : 0;
    unsigned valid = pos <= msb ? bits - pos : 0;
    if (len < valid)
        valid = len;
    uint64_t mask = valid >= 64 ? UINT64_MAX : (UINT64_C(1) << valid) - 1;
    return (field & mask) | (sign ? ~mask : 0);
}

SX_INLINE uint64_t sx_bfi(uint64_t field, uint64_t into, uint32_t pos, uint32_t len, unsigned bits)
{
    pos = sx_field_number(pos, bits);
    len = sx_field_number(len, bits);
    if (!len || pos >= bits)
        return into;
    uint64_t mask = len >= 64 ? UINT64_MAX : (UINT64_C(1) << len) - 1;
    mask <<= pos;
    return (into & ~mask) | ((field << pos) & mask);
}

SX_INLINE uint32_t sx_bmsk(uint32_t pos, uint32_t len, bool wrap)
{
    if (wrap) {
        pos &= 31;
        len &= 31;
    } else {
        pos = pos > 32 ? 32 : pos;
        len = len > 32 ? 32 : len;
    }
    uint64_t mask = ((UINT64_C(1) << len) - 1) << pos;
    return (uint32_t)mask;
}

SX_INLINE uint32_t sx_szext(uint32_t v, uint32_t n, bool wrap, bool is_signed)
{
    if (wrap)
        n &= 31;
    if (n >= 32)
        return v;
    if (n == 0)
        return 0;
    uint32_t mask = (UINT32_C(1) << n) - 1;
    bool sign = is_signed && ((v >> (n - 1)) & 1);
    return sign ? v | ~mask : v & mask;
}

/* Any eight bytes of b:a, each replaced by its sign where bit 3 of the selector says so. */
SX_INLINE uint32_t sx_prmt(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (unsigned n = 0; n < 4; n++) {
        uint32_t s = selector >> (4 * n);
        uint32_t byte = (uint32_t)(bytes >> (8 * (s & 7))) & 0xff;
        uint32_t sign = (0 - (byte >> 7)) & 0xff;
        r |= (s & 8 ? sign : byte) << (8 * n);
    }
    return r;
}

/* The selector that a named mode of prmt stands for. */
SX_INLINE uint32_t sx_prmt_mode(unsigned mode, uint32_t c)
{
    static const uint16_t table[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
        {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
        {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
        {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
        {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
        {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
    };
    return table[mode][c & 3];
}

SX_INLINE uint32_t sx_shf_l(uint32_t a, uint32_t b, uint32_t n)
{
    uint64_t v = (uint64_t)b << 32 | a;
    return (uint32_t)((v << n) >> 32);
}

SX_INLINE uint32_t sx_shf_r(uint32_t a, uint32_t b, uint32_t n)
{
    return (uint32_t)(((uint64_t)b << 32 | a) >> n);
}

SX_INLINE int32_t sx_byte(uint32_t v, unsigned n, bool is_signed)
{
    uint32_t byte = (v >> (8 * n)) & 0xff;
    return is_signed ? (int32_t)(int8_t)byte : (int32_t)byte;
}

SX_INLINE int32_t sx_half_word(uint32_t v, unsigned n, bool is_signed)
{
    uint32_t half = (v >> (16 * n)) & 0xffff;
    return is_signed ? (int32_t)(int16_t)half : (int32_t)half;
}

SX_INLINE uint32_t sx_dp4a(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb)
{
    int64_t sum = 0;
    for (unsigned n = 0; n < 4; n++)
        sum += (int64_t)sx_byte(a, n, sa) * sx_byte(b, n, sb);
    return c + (uint32_t)sum;
}

SX_INLINE uint32_t sx_dp2a(uint32_t a, uint32_t b, uint32_t c, bool sa, bool sb, bool hi)
{
    int64_t sum = 0;
    for (unsigned n = 0; n < 2; n++)
        sum += (int64_t)sx_half_word(a, n, sa) * sx_byte(b, n + (hi ? 2 : 0), sb);
    return c + (uint32_t)sum;
}

/* The n-th set bit from a base, upwards or downwards; all ones where there is none. */
SX_INLINE uint32_t sx_fns(uint32_t mask, uint32_t base, int32_t n)
{
    base &= 31;
    if (n == 0)
        return (mask >> base) & 1 ? base : UINT32_MAX;
    int step = n > 0 ? 1 : -1;
    int64_t left = n > 0 ? (int64_t)n : -(int64_t)n;
    for (int at = (int)base; at >= 0 && at < 32; at += step)
        if (((mask >> at) & 1) && --left == 0)
            return (uint32_t)at;
    return UINT32_MAX;
}

#define SX_LOP_TERM(bit, p, q, r) ((0 - ((lut >> (bit)) & 1)) & (p) & (q) & (r))
SX_INLINE uint32_t sx_lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t lut)
{
    return SX_LOP_TERM(0, ~a, ~b, ~c) | SX_LOP_TERM(1, ~a, ~b, c) | SX_LOP_TERM(2, ~a, b, ~c) |
           SX_LOP_TERM(3, ~a, b, c) | SX_LOP_TERM(4, a, ~b, ~c) | SX_LOP_TERM(5, a, ~b, c) |
           SX_LOP_TERM(6, a, b, ~c) | SX_LOP_TERM(7, a, b, c);
}

/* Two 16-bit halves at once. */
#define SX_PAIR(lo, hi) ((uint32_t)(uint16_t)(lo) | (uint32_t)(uint16_t)(hi) << 16)
#define SX_LO(v) ((uint16_t)(v))
#define SX_HI(v) ((uint16_t)((v) >> 16))

#endif
