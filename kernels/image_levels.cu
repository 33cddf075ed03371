/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What depends on the numbers of pixels alone: thresholds, tables, gamma, histograms and what follows from
 * them; and one image over another. */
#include "image.cuh"

/* `extra`: a threshold for each image, as f32, or a table for each channel. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    point(char *out, const char *from, const char *extra, acui_image_point p)
{
    acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
        float v[4], limit = p.kind == ACUI_POINT_TABLE || !p.given ? p.limit : ((const float *)extra)[n];
        acui_fetch_at<acui_any_pixel>(p.at, (acui_from)from, n, x, y, v);
#pragma unroll
        for (int c = 0; c < 4; c++) {
            bool above = v[c] > limit;
            float value = v[c];
            switch (p.kind) {
            case ACUI_POINT_GAMMA: value = p.full * powf(fmaxf(value / p.full, 0.0f), p.value); break;
            case ACUI_POINT_BINARY: value = above ? p.value : 0.0f; break;
            case ACUI_POINT_BINARY_INVERSE: value = above ? 0.0f : p.value; break;
            case ACUI_POINT_TRUNCATE: value = above ? limit : value; break;
            case ACUI_POINT_TO_ZERO: value = above ? value : 0.0f; break;
            case ACUI_POINT_TO_ZERO_INVERSE: value = above ? 0.0f : value; break;
            default:
                if (c < p.at.channels)
                    value = acui_any_pixel::read(p.at.out_dtype, (acui_from)extra,
                                                 n * p.table_image + c * p.table_channel + (int)value * p.table_entry);
            }
            v[c] = value;
        }
        acui_store_at(p.at, (acui_to)out, n, x, y, v);
    });
}

/* Counts of each number of each channel, for u8: out is u32 [images, channels, 256], of zeros. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    histogram(unsigned *out, const char *from, acui_image_pair p)
{
    __shared__ unsigned counts[4 * 256];
    int x = (int)blockIdx.x * ACUI_IMAGE_COLUMNS + (int)threadIdx.x % ACUI_IMAGE_COLUMNS;
    for (int n = (int)blockIdx.z; n < p.images; n += (int)gridDim.z) {
        for (int i = (int)threadIdx.x; i < 4 * 256; i += ACUI_BLOCK)
            counts[i] = 0;
        __syncthreads();
        for (int y = (int)blockIdx.y * ACUI_IMAGE_ROWS + (int)threadIdx.x / ACUI_IMAGE_COLUMNS;
             y < p.height && x < p.width; y += (int)gridDim.y * ACUI_IMAGE_ROWS)
            for (int c = 0; c < p.channels; c++)
                atomicAdd(&counts[c * 256 + ((const unsigned char *)from)[n * p.image + (long long)y * p.row +
                                                                         (long long)x * p.column + c * p.channel]],
                          1u);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < p.channels * 256; i += ACUI_BLOCK)
            if (counts[i])
                atomicAdd(&out[n * p.out_image + (i / 256) * p.out_row + (i % 256) * p.out_column], counts[i]);
        __syncthreads();
    }
}

/* Otsu's threshold of each image: it parts the numbers so that the two means are as far apart as can be. */
extern "C" __global__ void otsu(float *out, const unsigned *counts, long long images, long long step)
{
    long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= images)
        return;
    counts += n * 256;
    double all = 0, sum = 0, below = 0, sum_below = 0, most = 0;
    int best = 0;
    for (int i = 0; i < 256; i++) {
        all += counts[i];
        sum += (double)i * counts[i];
    }
    for (int i = 0; i < 256; i++) {
        below += counts[i];
        sum_below += (double)i * counts[i];
        if (below == 0 || below == all)
            continue;
        double apart = sum_below / below - (sum - sum_below) / (all - below);
        double between = below * (all - below) * apart * apart;
        if (between > most * (1 + 1e-12)) {
            most = between;
            best = i;
        }
    }
    out[n * step] = (float)best;
}

/* The tables that make all numbers about equally frequent: u8 [images * channels, 256]. */
extern "C" __global__ void equalizer(unsigned char *out, const unsigned *counts, long long tables, long long)
{
    long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= tables)
        return;
    counts += n * 256;
    out += n * 256;
    unsigned all = 0, sum = 0;
    for (int i = 0; i < 256; i++)
        all += counts[i];
    int first = 0;
    while (first < 255 && counts[first] == 0)
        first++;
    for (int i = 0; i < 256; i++) {
        sum += i > first ? counts[i] : 0;
        unsigned rest = all - counts[first];
        out[i] = rest ? (unsigned char)(int)rintf(255.0f * (float)sum / (float)rest) : (unsigned char)i;
    }
}

/* One image over another, by the alpha of the first, which has its own strides. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    composite(char *out, const char *under, const char *over, acui_composite p)
{
    acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
        float v[4], w[4];
        acui_fetch_at<acui_any_pixel>(p.at, (acui_from)under, n, x, y, v);
        long long at = n * p.image + (long long)y * p.row + (long long)x * p.column;
#pragma unroll
        for (int c = 0; c < 4; c++)
            w[c] = acui_any_pixel::read(p.at.dtype, (acui_from)over, at + c * p.channel);
        float alpha = w[3] / p.full, own = p.at.channels == 4 ? v[3] / p.full : 1.0f;
        float whole = alpha + own * (1.0f - alpha);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            float upper = p.premultiplied ? w[c] : w[c] * alpha;
            float lower = p.premultiplied ? v[c] : v[c] * own;
            float sum = fmaf(lower, 1.0f - alpha, upper);
            v[c] = p.premultiplied ? sum : whole > 0.0f ? sum / whole : 0.0f;
        }
        v[3] = whole * p.full;
        acui_store_at(p.at, (acui_to)out, n, x, y, v);
    });
}
