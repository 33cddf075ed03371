/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images warped by a matrix or by maps: a thread takes a pixel of the result, with all its channels, from the
 * place in the source that belongs to it. `_b`: of u8; else the dtype is looked up with each number. `_rgb`: of
 * three bytes side by side, by an affine matrix, from four neighbours; a warp makes 32 pixels of eight rows.
 */
#include "image_bytes.cuh"

/* Where filters start to read; with the place relative to that pixel. */
struct acui_spot {
    int left, top;
    float x, y;
};

/* What is not a number, or far outside, becomes a place that is just as far outside. */
ACUI_DEVICE double acui_bounded(double at)
{
    const double most = 500000000.0;
    return at >= -most ? (at <= most ? at : most) : -most;
}

ACUI_DEVICE acui_spot acui_spot_of(const acui_warp &p, acui_from map_x, acui_from map_y, int n, int x, int y)
{
    double u, v;
    if (p.kind == ACUI_WARP_MAPS) {
        u = (double)((const ACUI_GLOBAL float *)map_x)[n * p.map_image[0] + y * p.map_row[0] + x * p.map_column[0]];
        v = (double)((const ACUI_GLOBAL float *)map_y)[n * p.map_image[1] + y * p.map_row[1] + x * p.map_column[1]];
    } else {
        const double *m = p.matrix;
        u = fma(m[0], (double)x, fma(m[1], (double)y, m[2]));
        v = fma(m[3], (double)x, fma(m[4], (double)y, m[5]));
        if (p.kind == ACUI_WARP_PERSPECTIVE) {
            double w = fma(m[6], (double)x, fma(m[7], (double)y, m[8]));
            u /= w;
            v /= w;
        }
    }
    u = acui_bounded(p.filter == ACUI_FILTER_NEAREST ? u + 0.5 : u);
    v = acui_bounded(p.filter == ACUI_FILTER_NEAREST ? v + 0.5 : v);
    acui_spot s;
    s.left = (int)floor(u);
    s.top = (int)floor(v);
    s.x = (float)(u - s.left);
    s.y = (float)(v - s.top);
    return s;
}

template <typename Read> struct acui_warper {
    ACUI_DEVICE void four(const acui_warp &p, acui_from from, int n, const acui_spot &s, float (&sum)[4])
    {
#pragma unroll
        for (int c = 0; c < 4; c++)
            sum[c] = 0.0f;
#pragma unroll Read::UNROLL
        for (int tap = 0; tap < 4; tap++) {
            float v[4], weight = (tap & 1 ? s.x : 1.0f - s.x) * (tap & 2 ? s.y : 1.0f - s.y);
            acui_fetch_at<Read>(p.at, from, n, s.left + (tap & 1), s.top + (tap >> 1), v);
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[c] = fmaf(weight, v[c], sum[c]);
        }
    }

    ACUI_DEVICE float weight(const acui_warp &p, float t)
    {
        return p.filter == ACUI_FILTER_CUBIC ? acui_cubic(fabsf(t), p.cubic) : acui_lanczos(fabsf(t), p.lobes);
    }

    ACUI_DEVICE void many(const acui_warp &p, acui_from from, int n, const acui_spot &s, float (&sum)[4])
    {
        float across[8], total_x = 0.0f, total = 0.0f; /* reach is at most 4 */
        const int taps = 2 * p.reach, first = 1 - p.reach;
        for (int i = 0; i < taps; i++)
            total_x += across[i] = weight(p, (float)(first + i) - s.x);
#pragma unroll
        for (int c = 0; c < 4; c++)
            sum[c] = 0.0f;
#pragma unroll 1
        for (int j = 0; j < taps; j++) {
            float down = weight(p, (float)(first + j) - s.y), line[4] = {0, 0, 0, 0}, v[4];
            total += down;
#pragma unroll 1
            for (int i = 0; i < taps; i++) {
                acui_fetch_at<Read>(p.at, from, n, s.left + first + i, s.top + first + j, v);
#pragma unroll
                for (int c = 0; c < 4; c++)
                    line[c] = fmaf(across[i], v[c], line[c]);
            }
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[c] = fmaf(down, line[c], sum[c]);
        }
#pragma unroll
        for (int c = 0; c < 4; c++)
            sum[c] /= total * total_x;
    }

    ACUI_DEVICE void run(const acui_warp &p, acui_to out, acui_from from, acui_from map_x, acui_from map_y)
    {
        acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
            acui_spot s = acui_spot_of(p, map_x, map_y, n, x, y);
            float v[4];
            if (p.filter == ACUI_FILTER_NEAREST)
                acui_fetch_at<Read>(p.at, from, n, s.left, s.top, v);
            else if (p.filter == ACUI_FILTER_LINEAR)
                four(p, from, n, s, v);
            else
                many(p, from, n, s, v);
            acui_store_at(p.at, out, n, x, y, v);
        });
    }
};

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    warp_b(char *out, const char *from, const char *map_x, const char *map_y, acui_warp p)
{
    acui_warper<acui_bytes_only>::run(p, (acui_to)out, (acui_from)from, (acui_from)map_x, (acui_from)map_y);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    warp(char *out, const char *from, const char *map_x, const char *map_y, acui_warp p)
{
    acui_warper<acui_any_pixel>::run(p, (acui_to)out, (acui_from)from, (acui_from)map_x, (acui_from)map_y);
}

/* ---- three bytes side by side ---------------------------------------------------------------- */

/* A place as a number with 32 binary digits after the point; the host sees to it that it fits. */
ACUI_DEVICE long long acui_fixed(double at) { return __double2ll_rn(at * 4294967296.0); }
ACUI_DEVICE float acui_after_point(long long at)
{
    return __uint_as_float(0x3f800000u | (unsigned)at >> 9) - 1.0f;
}

/* Two pixels of a row of which one is at least beyond the constant edge. */
ACUI_DEVICE void acui_between_padded(const acui_warp &p, acui_from row, int x0, int x1, bool in, float weight,
                                     float (&v)[3])
{
#pragma unroll
    for (int c = 0; c < 3; c++) {
        float left = in && x0 >= 0 ? acui_bytes_only::read(0, row, 3 * x0 + c) : p.at.pad[c];
        float right = in && x1 >= 0 ? acui_bytes_only::read(0, row, 3 * x1 + c) : p.at.pad[c];
        v[c] = fmaf(weight, right - left, left);
    }
}

/* Near the edge, or beyond it. */
ACUI_DEVICE void acui_warp_edge(const acui_warp &p, acui_from image, const acui_spot &s, float (&v)[3])
{
    const int x0 = acui_beyond(p.at.border, s.left, p.at.width), x1 = acui_beyond(p.at.border, s.left + 1, p.at.width);
    v[0] = v[1] = v[2] = 0.0f;
#pragma unroll 1
    for (int j = 0; j < 2; j++) {
        float line[3], weight = j ? s.y : 1.0f - s.y;
        int y = acui_beyond(p.at.border, s.top + j, p.at.height);
        acui_from row = image + max(y, 0) * (int)p.at.row;
        if ((x0 | x1 | y) >= 0)
            acui_between(acui_read_apart(row, 3 * x0, 3 * x1), s.x, line);
        else
            acui_between_padded(p, row, x0, x1, y >= 0, s.x, line);
#pragma unroll
        for (int c = 0; c < 3; c++)
            v[c] = fmaf(weight, line[c], v[c]);
    }
}

ACUI_DEVICE bool acui_is_inside(const acui_warp &p, long long u, long long v)
{
    const int left = (int)(u >> 32), top = (int)(v >> 32);
    return left >= 3 && left < p.at.width - 4 && top >= 0 && top < p.at.height - 1;
}

/* A pixel inside, as three bytes of a word. */
ACUI_DEVICE unsigned acui_warp_inside(const acui_warp &p, acui_from image, long long u, long long v)
{
    const int row = (int)p.at.row, at = (int)(v >> 32) * row + 3 * (int)(u >> 32);
    const acui_four weights = acui_weigh((unsigned)u >> 16, (unsigned)v >> 16);
    unsigned sum[3];
    acui_mix_four(acui_read_two(image, at), acui_read_two(image, at + row), weights, sum);
    return __byte_perm(__byte_perm(sum[0], sum[1], 0x0062u), sum[2], 0x7610u);
}

ACUI_DEVICE unsigned acui_warp_outside(const acui_warp &p, acui_from image, long long u, long long v)
{
    const acui_spot s = {(int)(u >> 32), (int)(v >> 32), acui_after_point(u), acui_after_point(v)};
    float pixel[3];
    acui_warp_edge(p, image, s, pixel);
    return acui_word_of(acui_byte_of(pixel[0]), acui_byte_of(pixel[1]), acui_byte_of(pixel[2]), 0);
}

/* Two rows at once: less time is spent waiting for memory. */
ACUI_DEVICE void acui_warp_rows(const acui_warp &p, acui_to row, acui_from image, int column, int count, long long u,
                                long long v)
{
#pragma unroll 1
    for (int k = 0; k < count; k += 2) {
        const long long u2 = u + p.step[0], v2 = v + p.step[1];
        unsigned one, two;
        if (acui_is_inside(p, u, v) && acui_is_inside(p, u2, v2)) {
            one = acui_warp_inside(p, image, u, v);
            two = acui_warp_inside(p, image, u2, v2);
        } else {
            one = acui_warp_outside(p, image, u, v);
            two = acui_warp_outside(p, image, u2, v2);
        }
        acui_put_pixels(row, column, p.at.out_width, one);
        if (k + 1 < count)
            acui_put_pixels(row + p.at.out_row, column, p.at.out_width, two);
        row += 2 * p.at.out_row;
        u = u2 + p.step[0];
        v = v2 + p.step[1];
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    warp_rgb(char *out, const char *from, const char *, const char *, acui_warp p)
{
    const int warp = (int)threadIdx.x / 32, column = (int)blockIdx.x * 32, x = column + (int)threadIdx.x % 32;
    const double *m = p.matrix;
    for (int n = (int)blockIdx.z; n < p.at.images; n += (int)gridDim.z)
        for (int top = ((int)blockIdx.y * (ACUI_BLOCK / 32) + warp) * ACUI_WARP_ROWS; top < p.at.out_height;
             top += (int)gridDim.y * (ACUI_BLOCK / 32) * ACUI_WARP_ROWS) {
            long long u = acui_fixed(fma(m[0], (double)x, fma(m[1], (double)top, m[2])));
            long long v = acui_fixed(fma(m[3], (double)x, fma(m[4], (double)top, m[5])));
            acui_to row = (acui_to)out + n * p.at.out_image + top * p.at.out_row;
            acui_warp_rows(p, row, (acui_from)from + n * p.at.image, column,
                           min(ACUI_WARP_ROWS, p.at.out_height - top), u, v);
        }
}
