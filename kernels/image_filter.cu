/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Filters that read the pixels around each: separable ones, in tiles of 32 x 32 pixels whose rows are
 * filtered into shared memory first; and those that look at a whole window, a thread for each pixel.
 */
#include "image.cuh"

/* ---- separable ----------------------------------------------------------------------------- */

#define ACUI_LINES (ACUI_FILTER_TILE + ACUI_FILTER_TAPS - 1)

template <typename Read> struct acui_separator {
    /* Filters the rows that the tile needs, those around it included. */
    ACUI_DEVICE void rows(const acui_separable &p, acui_from from, int n, int x, int top, int c,
                          float (*lines)[ACUI_IMAGE_COLUMNS])
    {
        const int lane = (int)threadIdx.x % ACUI_IMAGE_COLUMNS, above = p.down_taps / 2;
        int last = min(ACUI_FILTER_TILE, p.at.out_height - top) + p.down_taps - 1;
        for (int j = (int)threadIdx.x / ACUI_IMAGE_COLUMNS; j < last; j += ACUI_IMAGE_ROWS) {
            int y = acui_beyond(p.at.border, top - above + j, p.at.height), left = x - p.across_taps / 2;
            long long at = n * p.at.image + (long long)y * p.at.row + c * p.at.channel;
            float sum = 0.0f;
            for (int i = 0; i < p.across_taps; i++) {
                int from_x = acui_beyond(p.at.border, left + i, p.at.width);
                float v = from_x < 0 || y < 0 ? p.at.pad[c]
                                              : Read::read(p.at.dtype, from, at + from_x * p.at.column);
                sum = fmaf(p.across[i], v, sum);
            }
            lines[j][lane] = sum;
        }
    }

    ACUI_DEVICE void run(const acui_separable &p, acui_to out, acui_from from)
    {
        __shared__ float lines[ACUI_LINES][ACUI_IMAGE_COLUMNS];
        const int lane = (int)threadIdx.x % ACUI_IMAGE_COLUMNS;
        int x = (int)blockIdx.x * ACUI_IMAGE_COLUMNS + lane;
        for (int n = (int)blockIdx.z; n < p.at.images; n += (int)gridDim.z)
            for (int top = (int)blockIdx.y * ACUI_FILTER_TILE; top < p.at.out_height;
                 top += (int)gridDim.y * ACUI_FILTER_TILE)
                for (int c = 0; c < p.at.channels; c++) {
                    __syncthreads();
                    rows(p, from, n, x, top, c, lines);
                    __syncthreads();
                    int end = min(ACUI_FILTER_TILE, p.at.out_height - top);
                    for (int k = (int)threadIdx.x / ACUI_IMAGE_COLUMNS; k < end && x < p.at.out_width;
                         k += ACUI_IMAGE_ROWS) {
                        float sum = 0.0f;
                        for (int j = 0; j < p.down_taps; j++)
                            sum = fmaf(p.down[j], lines[k + j][lane], sum);
                        acui_put(p.at.out_dtype, out, n * p.at.out_image + (long long)(top + k) * p.at.out_row +
                                                          (long long)x * p.at.out_column + c * p.at.out_channel,
                                 sum);
                    }
                }
    }
};

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    separable_b(char *out, const char *from, acui_separable p)
{
    acui_separator<acui_bytes_only>::run(p, (acui_to)out, (acui_from)from);
}
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    separable(char *out, const char *from, acui_separable p)
{
    acui_separator<acui_any_pixel>::run(p, (acui_to)out, (acui_from)from);
}

/* ---- windows ------------------------------------------------------------------------------- */

/* One number of a pixel of image n; beyond the edge as the border says. */
ACUI_DEVICE float acui_number_at(const acui_image_pair &p, acui_from from, int n, int x, int y, int c)
{
    x = acui_beyond(p.border, x, p.width);
    y = acui_beyond(p.border, y, p.height);
    return x < 0 || y < 0 ? p.pad[c]
                          : acui_any_pixel::read(p.dtype, from, n * p.image + (long long)y * p.row +
                                                                    (long long)x * p.column + c * p.channel);
}

ACUI_DEVICE void acui_number_to(const acui_image_pair &p, acui_to out, int n, int x, int y, int c, float value)
{
    acui_put(p.out_dtype, out, n * p.out_image + (long long)y * p.out_row + (long long)x * p.out_column +
                                   c * p.out_channel, value);
}

/* The number of which as many are smaller as are larger. */
ACUI_DEVICE float acui_middle(const float *values, int count)
{
    float middle = values[0];
    for (int i = 0; i < count; i++) {
        int less = 0, equal = 0;
        for (int j = 0; j < count; j++) {
            less += values[j] < values[i];
            equal += values[j] == values[i];
        }
        if (less <= count / 2 && count / 2 < less + equal)
            middle = values[i];
    }
    return middle;
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    median(char *out, const char *from, acui_window p)
{
    acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
        float values[ACUI_MEDIAN_SIDE * ACUI_MEDIAN_SIDE];
        for (int c = 0; c < p.at.channels; c++) {
            int count = 0;
            for (int j = 0; j < p.height; j++)
                for (int i = 0; i < p.width; i++)
                    values[count++] = acui_number_at(p.at, (acui_from)from, n, x + i - p.width / 2,
                                                     y + j - p.height / 2, c);
            acui_number_to(p.at, (acui_to)out, n, x, y, c, acui_middle(values, count));
        }
    });
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    bilateral(char *out, const char *from, acui_window p)
{
    acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
        const int reach = p.width / 2;
        float own[4], v[4], sum[4] = {0, 0, 0, 0}, total = 0.0f;
        acui_fetch_at<acui_any_pixel>(p.at, (acui_from)from, n, x, y, own);
#pragma unroll 1
        for (int j = -reach; j <= reach; j++)
#pragma unroll 1
            for (int i = -reach; i <= reach; i++) {
                if (i * i + j * j > reach * reach)
                    continue;
                acui_fetch_at<acui_any_pixel>(p.at, (acui_from)from, n, x + i, y + j, v);
                float apart = 0.0f;
#pragma unroll
                for (int c = 0; c < 4; c++)
                    apart += fabsf(v[c] - own[c]);
                float weight = expf((float)(i * i + j * j) * p.space + apart * apart * p.color);
                total += weight;
#pragma unroll
                for (int c = 0; c < 4; c++)
                    sum[c] = fmaf(weight, v[c], sum[c]);
            }
#pragma unroll
        for (int c = 0; c < 4; c++)
            sum[c] /= total;
        acui_store_at(p.at, (acui_to)out, n, x, y, sum);
    });
}

/* The smallest or largest of the pixels that the mask names; those outside the image do not count. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    morph(char *out, const char *from, acui_window p)
{
    acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
        for (int c = 0; c < p.at.channels; c++) {
            float most = 0.0f;
            bool any = false;
            for (int j = 0; j < p.height; j++)
                for (int i = 0; i < p.width; i++) {
                    int at_x = x + i - p.width / 2, at_y = y + j - p.height / 2;
                    if (!(p.mask[j] >> i & 1) || at_x < 0 || at_y < 0 || at_x >= p.at.width || at_y >= p.at.height)
                        continue;
                    float v = acui_number_at(p.at, (acui_from)from, n, at_x, at_y, c);
                    most = !any || (p.dilate ? v > most : v < most) ? v : most;
                    any = true;
                }
            acui_number_to(p.at, (acui_to)out, n, x, y, c, most);
        }
    });
}
