/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images warped by a matrix or by maps: a thread takes a pixel of the result, with all its channels, from
 * the place in the source that belongs to it. `_b`: of u8; else the dtype is looked up with each number. */
#include "image.cuh"

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
