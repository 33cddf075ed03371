/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images sampled at other places: resized, cut out, letterboxed; from planes of luma and chroma; to
 * other channels, ranges, dtypes and layouts. A block makes 32 x 8 pixels of the result at a time,
 * a thread one pixel with all its channels:
 *
 *   sample   the nearest pixel, or four of them
 *   filter   as many as a filter wants; their weights are computed once for each row and column of
 *            the block, if there is room
 *
 * With `_b` the source is u8; else its dtype is looked up with each number. With `_list` there are
 * several source tensors, or several parts of one, which a table tells apart.
 */
#include "image_source.cuh"

/* ---- the nearest pixel, or four ------------------------------------------------------------ */

template <typename Read> struct acui_sampler {
    ACUI_DEVICE void pixel(const acui_sample &p, const acui_image_source &s, const acui_planes &planes,
                           int x, int y, float (&v)[4])
    {
        double at_x = acui_place(s.x, x), at_y = acui_place(s.y, y);
        int left = (int)floor(at_x), top = (int)floor(at_y);
        int x0 = acui_within(s.x, left), y0 = acui_within(s.y, top);
        acui_fetch<Read>(p, s, planes, x0, y0, v);
        if (p.filter == ACUI_FILTER_NEAREST)
            return;
        float right = (float)(at_x - left), below = (float)(at_y - top), sum[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            sum[k] = v[k] * (1.0f - right) * (1.0f - below);
#pragma unroll Read::UNROLL
        for (int tap = 1; tap < 4; tap++) {
            float weight = (tap & 1 ? right : 1.0f - right) * (tap & 2 ? below : 1.0f - below);
            acui_fetch<Read>(p, s, planes, acui_within(s.x, left + (tap & 1)),
                             acui_within(s.y, top + (tap >> 1)), v);
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[k] = fmaf(weight, v[k], sum[k]);
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = sum[k];
    }
};

/* ---- filters ------------------------------------------------------------------------------- */

/* The weight of a pixel at this distance. Out of line: it is used in several places. */
ACUI_DEVICE_OUTLINE float acui_weight(int filter, float t, float shrink, float reach, float cubic, float lobes)
{
    t = fabsf(t) * shrink;
    switch (filter) {
    case ACUI_FILTER_LINEAR: return fmaxf(1.0f - t, 0.0f);
    case ACUI_FILTER_CUBIC: return acui_cubic(t, cubic);
    case ACUI_FILTER_AREA: /* what of the pixel lies in the window, which is 2 reach - 1 wide */
        return fmaxf(fminf(fminf(1.0f, 2.0f * reach - 1.0f), reach - t), 0.0f);
    default: return acui_lanczos(t, lobes);
    }
}

/* The pixels that a filter reads along an axis. */
struct acui_span {
    double place;
    int first, count;
};

ACUI_DEVICE acui_span acui_span_of(const acui_axis &a, int d, bool drop)
{
    acui_span span;
    span.place = acui_place(a, d);
    span.first = (int)floor(span.place - a.reach) + 1;
    int end = (int)floor(span.place + a.reach) + 1;
    if (drop) {
        span.first = span.first < a.first ? a.first : span.first;
        end = end > a.last + 1 ? a.last + 1 : end;
    }
    span.count = end - span.first;
    return span;
}
ACUI_DEVICE float acui_weight_of(const acui_sample &p, const acui_axis &a, const acui_span &span, int k)
{
    return acui_weight(p.filter, (float)(span.first + k - span.place), a.shrink, a.reach, p.cubic, p.lobes);
}

struct acui_weights {
    float x[ACUI_IMAGE_TAPS][ACUI_IMAGE_COLUMNS], y[ACUI_IMAGE_TAPS][ACUI_IMAGE_ROWS];
};

template <typename Read> struct acui_filterer {
    ACUI_DEVICE void pixel(const acui_sample &p, const acui_image_source &s, const acui_planes &planes,
                           int x, int y, float (&v)[4])
    {
        __shared__ acui_weights kept;
        int lane = (int)threadIdx.x % ACUI_IMAGE_COLUMNS, row = (int)threadIdx.x / ACUI_IMAGE_COLUMNS;
        acui_span across = acui_span_of(s.x, x, p.drop), down = acui_span_of(s.y, y, p.drop);
        if (p.weights) {
            for (int k = row; k < across.count; k += ACUI_IMAGE_ROWS)
                kept.x[k][lane] = acui_weight_of(p, s.x, across, k);
            for (int k = lane; k < down.count; k += ACUI_IMAGE_COLUMNS)
                kept.y[k][row] = acui_weight_of(p, s.y, down, k);
            __syncthreads();
        }
        float sum[4] = {0, 0, 0, 0}, total = 0;
#pragma unroll 1
        for (int j = 0; j < down.count; j++) {
            float weight = p.weights ? kept.y[j][row] : acui_weight_of(p, s.y, down, j);
            int at_y = acui_within(s.y, down.first + j);
            float line[4] = {0, 0, 0, 0}, in_line = 0;
#pragma unroll 1
            for (int i = 0; i < across.count; i++) {
                float w = p.weights ? kept.x[i][lane] : acui_weight_of(p, s.x, across, i), pixel[4];
                acui_fetch<Read>(p, s, planes, acui_within(s.x, across.first + i), at_y, pixel);
                in_line += w;
#pragma unroll
                for (int c = 0; c < 4; c++)
                    line[c] = fmaf(w, pixel[c], line[c]);
            }
            total = fmaf(weight, in_line, total);
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[c] = fmaf(weight, line[c], sum[c]);
        }
#pragma unroll
        for (int c = 0; c < 4; c++)
            v[c] = sum[c] / total;
        if (p.weights)
            __syncthreads(); /* before the next pixels' weights */
    }
};

/* ---- all pixels ---------------------------------------------------------------------------- */

/* Threads beyond the last row or column, or in the padding, do what others do, for the barriers. */
template <typename Pixel> struct acui_each {
    ACUI_DEVICE void image(const acui_sample &p, acui_to out, const acui_image_source &s,
                           const acui_planes &planes, int n)
    {
        const int lane = (int)threadIdx.x % ACUI_IMAGE_COLUMNS, row = (int)threadIdx.x / ACUI_IMAGE_COLUMNS;
        int x = (int)blockIdx.x * ACUI_IMAGE_COLUMNS + lane;
        for (int top = (int)blockIdx.y * ACUI_IMAGE_ROWS; top < p.height; top += (int)gridDim.y * ACUI_IMAGE_ROWS) {
            int y = top + row;
            int in_x = x < s.x.begin ? s.x.begin : x >= s.x.end ? s.x.end - 1 : x;
            int in_y = y < s.y.begin ? s.y.begin : y >= s.y.end ? s.y.end - 1 : y;
            float v[4];
            Pixel::pixel(p, s, planes, in_x, in_y, v);
            if (x < p.width && y < p.height)
                acui_store(p, out, n, x, y, v, in_x == x && in_y == y);
        }
    }
};

ACUI_SAMPLE(sample_b, acui_each<acui_sampler<acui_bytes_only>>)
ACUI_SAMPLE(sample, acui_each<acui_sampler<acui_any_pixel>>)
ACUI_SAMPLE(filter, acui_each<acui_filterer<acui_any_pixel>>)

/* ---- from pixels to planes ----------------------------------------------------------------- */

/* The source's channels of one pixel, added to `sum`; writes its luma. */
ACUI_DEVICE void acui_luma(const acui_encode &p, acui_to out, acui_from from, int n, int x, int y, float (&sum)[4])
{
    long long at = n * p.image + y * p.row + x * p.column;
    float luma = p.add[0];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        float value = c < p.channels ? acui_any_pixel::read(p.dtype, from, at + c * p.channel) : 0.0f;
        sum[c] += value;
        luma = fmaf(p.mix[0][c], value, luma);
    }
    acui_put(p.out_dtype, out, p.plane[0].offset + n * p.batch[0] + y * p.plane[0].row + x * p.plane[0].column, luma);
}

ACUI_DEVICE void acui_chroma(const acui_encode &p, acui_to out, int n, int x, int y, const float (&mean)[4])
{
#pragma unroll
    for (int k = 1; k < 3; k++) {
        float value = p.add[k];
#pragma unroll
        for (int c = 0; c < 4; c++)
            value = fmaf(p.mix[k][c], mean[c], value);
        acui_put(p.out_dtype, out, p.plane[k].offset + n * p.batch[k] + y * p.plane[k].row + x * p.plane[k].column, value);
    }
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    encode(char *out, const char *from, acui_encode p)
{
    int x = (int)blockIdx.x * ACUI_IMAGE_COLUMNS + (int)threadIdx.x % ACUI_IMAGE_COLUMNS;
    int left = x << p.chroma_x, row = (int)threadIdx.x / ACUI_IMAGE_COLUMNS;
    if (left >= p.width)
        return;
    for (int n = (int)blockIdx.z; n < p.images; n += (int)gridDim.z)
        for (int y = (int)blockIdx.y * ACUI_IMAGE_ROWS + row; y << p.chroma_y < p.height;
             y += (int)gridDim.y * ACUI_IMAGE_ROWS) {
            float sum[4] = {0, 0, 0, 0};
            int top = y << p.chroma_y, count = 0;
            for (int j = top; j < top + (1 << p.chroma_y) && j < p.height; j++)
                for (int i = left; i < left + (1 << p.chroma_x) && i < p.width; i++, count++)
                    acui_luma(p, (acui_to)out, (acui_from)from, n, i, j, sum);
#pragma unroll
            for (int c = 0; c < 4; c++)
                sum[c] /= (float)count;
            acui_chroma(p, (acui_to)out, n, x, y, sum);
        }
}
