/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers of images in registers, as float: reading and writing them in five dtypes. */
#ifndef ACUDA_KERNELS_IMAGE_CUH
#define ACUDA_KERNELS_IMAGE_CUH

#include "../src/image/params.h"
#include "elements.cuh"

#define ACUI_GLOBAL __attribute__((address_space(1)))
typedef const ACUI_GLOBAL char *acui_from;
typedef ACUI_GLOBAL char *acui_to;

/* Element `at`. UNROLL: how many pixels are read at once; there is less code where each number is
 * looked up. */
struct acui_bytes_only {
    static const int UNROLL = 4;
    ACUI_DEVICE float read(int, acui_from from, long long at)
    {
        return (float)((const ACUI_GLOBAL unsigned char *)from)[at];
    }
};
struct acui_any_pixel {
    static const int UNROLL = 1;
    ACUI_DEVICE float read(int dtype, acui_from from, long long at)
    {
        switch (dtype) {
        case ACU_U8: return (float)((const ACUI_GLOBAL unsigned char *)from)[at];
        case ACU_U16: return (float)((const ACUI_GLOBAL unsigned short *)from)[at];
        case ACU_F16: return acui_from_f16(((const ACUI_GLOBAL unsigned short *)from)[at]);
        case ACU_BF16: return acui_from_bf16(((const ACUI_GLOBAL unsigned short *)from)[at]);
        default: return ((const ACUI_GLOBAL float *)from)[at];
        }
    }
};

/* Integers: the nearest that exists; NaN becomes 0. */
ACUI_DEVICE void acui_put(int dtype, acui_to to, long long at, float value)
{
    switch (dtype) {
    case ACU_U8:
        ((ACUI_GLOBAL unsigned char *)to)[at] =
            (unsigned char)(int)rintf(fminf(fmaxf(value, 0.0f), 255.0f));
        break;
    case ACU_U16:
        ((ACUI_GLOBAL unsigned short *)to)[at] =
            (unsigned short)(int)rintf(fminf(fmaxf(value, 0.0f), 65535.0f));
        break;
    case ACU_F16: ((ACUI_GLOBAL unsigned short *)to)[at] = acui_to_f16(value); break;
    case ACU_BF16: ((ACUI_GLOBAL unsigned short *)to)[at] = acui_to_bf16(value); break;
    default: ((ACUI_GLOBAL float *)to)[at] = value; break;
    }
}

/* The first `channels` numbers of v, `step` apart: what the dtype decides is decided once. */
ACUI_DEVICE void acui_put_pixel(int dtype, acui_to to, long long at, long long step, int channels,
                                const float (&v)[4])
{
    if (dtype == ACU_U8) {
#pragma unroll
        for (int c = 0; c < 4; c++)
            if (c < channels)
                acui_put(ACU_U8, to, at + c * step, v[c]);
    } else if (dtype == ACU_F32) {
#pragma unroll
        for (int c = 0; c < 4; c++)
            if (c < channels)
                acui_put(ACU_F32, to, at + c * step, v[c]);
    } else {
#pragma unroll 1
        for (int c = 0; c < channels; c++)
            acui_put(dtype, to, at + c * step, c == 0 ? v[0] : c == 1 ? v[1] : c == 2 ? v[2] : v[3]);
    }
}

/* ---- weights ------------------------------------------------------------------------------- */

/* sin(pi t) / (pi t); t is not large. */
ACUI_DEVICE float acui_sinc(float t)
{
    float x = t * 3.14159265f;
    return x == 0.0f ? 1.0f : sinf(x) / x;
}
ACUI_DEVICE float acui_cubic(float t, float slope)
{
    return t < 1.0f   ? ((slope + 2.0f) * t - (slope + 3.0f)) * t * t + 1.0f
           : t < 2.0f ? ((slope * t - 5.0f * slope) * t + 8.0f * slope) * t - 4.0f * slope
                      : 0.0f;
}
ACUI_DEVICE float acui_lanczos(float t, float lobes)
{
    return t < lobes ? acui_sinc(t) * acui_sinc(t / lobes) : 0.0f;
}

/* ---- beyond the edge ----------------------------------------------------------------------- */

/* The pixel of `n` that stands for pixel i; -1: none does. */
ACUI_DEVICE int acui_beyond(int border, int i, int n)
{
    if (i >= 0 && i < n)
        return i;
    switch (border) {
    case ACUI_BORDER_CONSTANT: return -1;
    case ACUI_BORDER_REPLICATE: return i < 0 ? 0 : n - 1;
    case ACUI_BORDER_WRAP: return i % n + (i % n < 0 ? n : 0);
    default: {
        int own = border == ACUI_BORDER_REFLECT ? 1 : 0; /* the edge is repeated */
        int turn = n == 1 && !own ? 1 : 2 * n - 2 + 2 * own;
        i = i % turn + (i % turn < 0 ? turn : 0);
        return i < n ? i : 2 * n - 2 + own - i;
    }
    }
}

/* A pixel of image n, which may lie beyond the edge; missing channels are 0. */
template <typename Read>
ACUI_DEVICE void acui_fetch_at(const acui_image_pair &p, acui_from from, int n, int x, int y, float (&v)[4])
{
    x = acui_beyond(p.border, x, p.width);
    y = acui_beyond(p.border, y, p.height);
    long long at = n * p.image + (long long)y * p.row + (long long)x * p.column;
#pragma unroll
    for (int c = 0; c < 4; c++)
        v[c] = c >= p.channels ? 0.0f : x < 0 || y < 0 ? p.pad[c] : Read::read(p.dtype, from, at + c * p.channel);
}

ACUI_DEVICE void acui_store_at(const acui_image_pair &p, acui_to out, int n, int x, int y, const float (&v)[4])
{
    long long at = n * p.out_image + (long long)y * p.out_row + (long long)x * p.out_column;
    acui_put_pixel(p.out_dtype, out, at, p.out_channel, p.channels, v);
}

/* Calls f(n, x, y) for each pixel of the result. */
template <typename F> ACUI_DEVICE void acui_each_pixel(const acui_image_pair &p, F f)
{
    int x = (int)blockIdx.x * ACUI_IMAGE_COLUMNS + (int)threadIdx.x % ACUI_IMAGE_COLUMNS;
    int row = (int)threadIdx.x / ACUI_IMAGE_COLUMNS;
    if (x < p.out_width)
        for (int n = (int)blockIdx.z; n < p.images; n += (int)gridDim.z)
            for (int y = (int)blockIdx.y * ACUI_IMAGE_ROWS + row; y < p.out_height;
                 y += (int)gridDim.y * ACUI_IMAGE_ROWS)
                f(n, x, y);
}

#endif
