/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pixels of three bytes side by side, in words: most of the time of a kernel that reads or writes them byte by
 * byte goes into the instructions that do so.
 */
#ifndef ACUDA_KERNELS_IMAGE_BYTES_CUH
#define ACUDA_KERNELS_IMAGE_BYTES_CUH

#include "image.cuh"

#define ACUI_WARP 0xffffffffu

/* ---- reading -------------------------------------------------------------------------------- */

/* Two pixels: six bytes, from the lowest of `low` on. */
struct acui_two {
    unsigned low, high;
};

/* The pixel of three bytes at byte `at` of a row, and the next one. Reads the aligned words of eight bytes in
 * which they are: the row must have bytes at - 7 to at + 12. */
ACUI_DEVICE acui_two acui_read_two(acui_from row, int at)
{
    unsigned long long address = (unsigned long long)(row + at);
    unsigned skip = (unsigned)address & 7u;
    const ACUI_GLOBAL unsigned long long *words = (const ACUI_GLOBAL unsigned long long *)(address - skip);
    unsigned long long one = words[0], more = 0;
    if (skip > 2)
        more = words[1];
    unsigned a = (unsigned)(skip & 4 ? one >> 32 : one), b = (unsigned)(skip & 4 ? more : one >> 32);
    unsigned c = (unsigned)(skip & 4 ? more >> 32 : more);
    acui_two two = {__funnelshift_r(a, b, skip * 8), __funnelshift_r(b, c, skip * 8)};
    return two;
}

/* Pixels that are anywhere in a row. */
ACUI_DEVICE acui_two acui_read_apart(acui_from row, int at, int other)
{
    const ACUI_GLOBAL unsigned char *a = (const ACUI_GLOBAL unsigned char *)row + at;
    const ACUI_GLOBAL unsigned char *b = (const ACUI_GLOBAL unsigned char *)row + other;
    acui_two two = {a[0] | (unsigned)a[1] << 8 | (unsigned)a[2] << 16 | (unsigned)b[0] << 24,
                    b[1] | (unsigned)b[2] << 8};
    return two;
}

/* Byte k of a word as the float 2^23 + byte: an instruction, where a conversion would wait for a slower unit.
 * Differences of such floats are exact. */
#define ACUI_BIAS 8388608.0f
ACUI_DEVICE float acui_biased(unsigned word, unsigned k)
{
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u | k));
}

/* Between the two pixels, `weight` on the second. */
ACUI_DEVICE void acui_between(const acui_two &two, float weight, float (&v)[3])
{
#pragma unroll
    for (unsigned c = 0; c < 3; c++) {
        float left = acui_biased(two.low, c);
        float right = c == 0 ? acui_biased(two.low, 3) : acui_biased(two.high, c - 1);
        v[c] = fmaf(weight, right - left, left - ACUI_BIAS);
    }
}

/* ---- four pixels by their distances, in integers -------------------------------------------- */

/* Weights of 16 bits, two in a word: of the upper two pixels, and of the lower two. All four are 65535. */
struct acui_four {
    unsigned upper, lower;
};

/* At places x and y between them, of which 65536 are from one pixel to the next. */
ACUI_DEVICE acui_four acui_weigh(unsigned x, unsigned y)
{
    unsigned both = (x * y + x) >> 16;
    acui_four w = {(65535u - x - y + both) | (x - both) << 16, (y - both) | both << 16};
    return w;
}

/* The sum of the first two bytes of a word, times weights of 16 bits each. */
ACUI_DEVICE unsigned acui_add_two(unsigned weights, unsigned bytes, unsigned sum)
{
    __asm__("dp2a.lo.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(weights), "r"(bytes));
    return sum;
}

/* Three channels, each in the third byte of v: within 0.02 of what is exact, before it is rounded. */
ACUI_DEVICE void acui_mix_four(const acui_two &upper, const acui_two &lower, const acui_four &w, unsigned (&v)[3])
{
#pragma unroll
    for (unsigned c = 0; c < 3; c++) {
        unsigned pick = c | (c + 3) << 4;
        unsigned sum = acui_add_two(w.upper, __byte_perm(upper.low, upper.high, pick), 32768u);
        v[c] = acui_add_two(w.lower, __byte_perm(lower.low, lower.high, pick), sum);
    }
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The nearest byte, ties to even: the lowest of the result, whose others are not 0. */
ACUI_DEVICE unsigned acui_byte_of(float value)
{
    return __float_as_uint(__fadd_rn(fminf(fmaxf(value, 0.0f), 255.0f), ACUI_BIAS));
}
/* Four of them, in memory's order. */
ACUI_DEVICE unsigned acui_word_of(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040u), __byte_perm(c, d, 0x0040u), 0x5410u);
}

/* The 32 pixels of a warp, three bytes each, to `row`, which is aligned to 4: lanes trade bytes for words. All
 * lanes call it. */
ACUI_DEVICE void acui_put_row(acui_to row, unsigned pixel)
{
    int lane = (int)threadIdx.x % 32, first = lane * 4 / 3;
    unsigned a = __shfl_sync(ACUI_WARP, pixel, first), b = __shfl_sync(ACUI_WARP, pixel, first + 1);
    unsigned skip = (unsigned)(lane * 4 - first * 3) * 8; /* bits */
    if (lane < 24)
        ((ACUI_GLOBAL unsigned *)row)[lane] = a >> skip | b << (24 - skip);
}

/* The warp's pixels, each in the first bytes of a word, from `column` of the row's `columns` on. */
ACUI_DEVICE void acui_put_pixels(acui_to row, int column, int columns, unsigned pixel)
{
    row += (long long)column * 3;
    int lane = (int)threadIdx.x % 32;
    if (((unsigned)(unsigned long long)row & 3u) == 0 && columns - column >= 32) {
        acui_put_row(row, pixel);
    } else if (column + lane < columns) {
        ACUI_GLOBAL unsigned char *to = (ACUI_GLOBAL unsigned char *)row + 3 * lane;
        to[0] = (unsigned char)pixel;
        to[1] = (unsigned char)(pixel >> 8);
        to[2] = (unsigned char)(pixel >> 16);
    }
}

ACUI_DEVICE void acui_put_bytes(acui_to row, int column, int columns, const float (&v)[3])
{
    acui_put_pixels(row, column, columns,
                    acui_word_of(acui_byte_of(v[0]), acui_byte_of(v[1]), acui_byte_of(v[2]), 0));
}

#endif
