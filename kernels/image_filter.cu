/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Filters that read the pixels around each: separable ones, in tiles of 32 x 32 pixels whose rows are
 * filtered into shared memory first; small ones of bytes side by side by words, in registers; and those that
 * look at a whole window, a thread for each pixel.
 */
#include "image_bytes.cuh"

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

/* ---- separable, at most 5 x 5, of bytes side by side ----------------------------------------- */

/* Byte b of a row of pixels, or the one that stands for it, or -1; and its channel, in the last two bits. */
ACUI_DEVICE int acui_byte_at(int border, int width, int channels, int b)
{
    int x = b < 0 ? -((channels - 1 - b) / channels) : b / channels, c = b - x * channels;
    int there = acui_beyond(border, x, width);
    return (there < 0 ? -1 : there * channels + c) * 4 + c;
}

/* A thread goes down a column of words, C channels, and keeps the last five rows, filtered across. */
template <int C> struct acui_words {
    static const int SIDE = (2 * C + 3) / 4; /* words on each side that are read */
    static const int ALL = 4 * (2 * SIDE + 1);

    /* The same bytes of a row near the edge, whose places are known. */
    ACUI_DEVICE void read_bytes(const acui_image_pair &p, acui_from row, const int (&places)[ALL], float (&v)[ALL])
    {
#pragma unroll
        for (int k = 0; k < ALL; k++)
            v[k] = places[k] < 0 ? p.pad[places[k] & 3] : acui_bytes_only::read(0, row, places[k] >> 2);
    }
    /* The four numbers of the row at the word that begins at byte `at`. */
    ACUI_DEVICE void across(const acui_separable &p, acui_from image, int y, int at, bool words,
                            const int (&places)[ALL], float (&sum)[4])
    {
        float v[ALL];
        y = acui_beyond(p.at.border, y, p.at.height);
        acui_from row = image + (long long)max(y, 0) * p.at.row;
        if (y < 0) { /* a row of padding */
#pragma unroll
            for (int k = 0; k < ALL; k++)
                v[k] = p.at.pad[(at + k + 4 * C - 4 * SIDE) % C];
        } else if (words) {
#pragma unroll
            for (int w = 0; w < ALL / 4; w++) {
                unsigned word = *(const ACUI_GLOBAL unsigned *)(row + at + 4 * (w - SIDE));
#pragma unroll
                for (unsigned k = 0; k < 4; k++)
                    v[4 * w + (int)k] = acui_biased(word, k) - ACUI_BIAS;
            }
        } else {
            read_bytes(p.at, row, places, v);
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sum[k] = 0.0f;
#pragma unroll
            for (int t = 0; t < 5; t++)
                sum[k] = fmaf(p.across[t], v[4 * SIDE + k + (t - 2) * C], sum[k]);
        }
    }
    ACUI_DEVICE void put(acui_to row, int at, int count, bool words, const unsigned (&bytes)[4])
    {
        if (words)
            *(ACUI_GLOBAL unsigned *)(row + at) = acui_word_of(bytes[0], bytes[1], bytes[2], bytes[3]);
        else
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (at + k < count)
                    row[at + k] = (char)bytes[k];
    }
    ACUI_DEVICE void column(const acui_separable &p, acui_to out, acui_from image, int at, int top)
    {
        const int count = p.at.width * C, end = min(top + ACUI_WORDS_ROWS, p.at.out_height);
        const bool aligned = (((unsigned long long)image | (unsigned long long)out) & 3) == 0;
        const bool words = aligned && at >= 4 * SIDE && at + 4 * SIDE + 4 <= count;
        float ring[5][4];
        int places[ALL];
        if (!words)
#pragma unroll 1
            for (int k = 0; k < ALL; k++)
                places[k] = acui_byte_at(p.at.border, p.at.width, C, at - 4 * SIDE + k);
        out += (long long)top * p.at.out_row;
#pragma unroll 1
        for (int y = top - 2; y < end + 2; y++) {
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    ring[j][k] = ring[j + 1][k];
            across(p, image, y, at, words, places, ring[4]);
            if (y < top + 2)
                continue;
            unsigned bytes[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float sum = 0.0f;
#pragma unroll
                for (int t = 0; t < 5; t++)
                    sum = fmaf(p.down[t], ring[t][k], sum);
                bytes[k] = acui_byte_of(sum);
            }
            put(out, at, count, aligned && at + 4 <= count, bytes);
            out += p.at.out_row;
        }
    }
    ACUI_DEVICE void run(const acui_separable &p, acui_to out, acui_from from)
    {
        int at = ((int)blockIdx.x * 32 + (int)threadIdx.x % 32) * 4, warp = (int)threadIdx.x / 32;
        if (at >= p.at.width * C)
            return;
        for (int n = (int)blockIdx.z; n < p.at.images; n += (int)gridDim.z)
            for (int top = ((int)blockIdx.y * (ACUI_BLOCK / 32) + warp) * ACUI_WORDS_ROWS; top < p.at.out_height;
                 top += (int)gridDim.y * (ACUI_BLOCK / 32) * ACUI_WORDS_ROWS)
                column(p, out + n * p.at.out_image, from + n * p.at.image, at, top);
    }
};

#define ACUI_SEPARABLE_WORDS(channels)                                                             \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        separable_words_##channels(char *out, const char *from, acui_separable p)                  \
    {                                                                                              \
        acui_words<channels>::run(p, (acui_to)out, (acui_from)from);                               \
    }
ACUI_SEPARABLE_WORDS(1)
ACUI_SEPARABLE_WORDS(3)
ACUI_SEPARABLE_WORDS(4)

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
