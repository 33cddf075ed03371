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

/*
 * C channels. A thread goes down a column of words and keeps the last five rows, filtered across. The words
 * at whose sides the row ends are made by the first blocks of each row of blocks, one by a thread at a time.
 */
template <int C> struct acui_words {
    static const int SIDE = (2 * C + 3) / 4; /* words on each side that are read */
    static const int ALL = 4 * (2 * SIDE + 1);

    ACUI_DEVICE void fetch(acui_from row, int at, unsigned (&words)[ALL / 4])
    {
#pragma unroll
        for (int w = 0; w < ALL / 4; w++)
            words[w] = *(const ACUI_GLOBAL unsigned *)(row + at + 4 * (w - SIDE));
    }
    /* The four sums of a row of numbers. */
    ACUI_DEVICE void across(const acui_separable &p, const float (&v)[ALL], float (&sum)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sum[k] = 0.0f;
#pragma unroll
            for (int t = 0; t < 5; t++)
                sum[k] = fmaf(p.across[t], v[4 * SIDE + k + (t - 2) * C], sum[k]);
        }
    }
    ACUI_DEVICE void pad(const acui_separable &p, int at, float (&v)[ALL])
    {
#pragma unroll
        for (int k = 0; k < ALL; k++)
            v[k] = p.at.pad[(at + k + 4 * C - 4 * SIDE) % C];
    }

    ACUI_DEVICE void column(const acui_separable &p, acui_to out, acui_from image, int at, int top)
    {
        const int end = min(top + ACUI_WORDS_ROWS, p.at.out_height);
        float ring[5][4], v[ALL];
        unsigned ahead[ALL / 4] = {}; /* the words of the next row */
        int from = acui_beyond(p.at.border, top - 2, p.at.height);
        if (from >= 0)
            fetch(image + (long long)from * p.at.row, at, ahead);
        out += (long long)top * p.at.out_row + at;
#pragma unroll 1
        for (int y = top - 2; y < end + 2; y++) {
            if (from < 0) /* a row of padding */
                pad(p, at, v);
            else
#pragma unroll
                for (int k = 0; k < ALL; k++)
                    v[k] = acui_biased(ahead[k / 4], (unsigned)k % 4) - ACUI_BIAS;
            from = acui_beyond(p.at.border, y + 1, p.at.height);
            if (from >= 0)
                fetch(image + (long long)from * p.at.row, at, ahead);
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    ring[j][k] = ring[j + 1][k];
            across(p, v, ring[4]);
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
            *(ACUI_GLOBAL unsigned *)out = acui_word_of(bytes[0], bytes[1], bytes[2], bytes[3]);
            out += p.at.out_row;
        }
    }

    /* A word of row y, byte by byte. */
    ACUI_DEVICE void edge(const acui_separable &p, acui_to out, acui_from image, int at, int y)
    {
        float sum[4] = {0, 0, 0, 0};
#pragma unroll 1
        for (int j = 0; j < 5; j++) {
            float line[4] = {0, 0, 0, 0};
            int from = acui_beyond(p.at.border, y + j - 2, p.at.height);
            acui_from row = image + (long long)max(from, 0) * p.at.row;
#pragma unroll 1
            for (int t = 0; t < 5; t++)
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    int there = acui_byte_at(p.at.border, p.at.width, C, at + k + (t - 2) * C);
                    float v = there < 0 || from < 0 ? p.at.pad[there & 3] : acui_bytes_only::read(0, row, there >> 2);
                    line[k] = fmaf(p.across[t], v, line[k]);
                }
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum[k] = fmaf(p.down[j], line[k], sum[k]);
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (at + k < p.at.width * C)
                out[(long long)y * p.at.out_row + at + k] = (char)acui_byte_of(sum[k]);
    }

    /* Rows from `top` on, of the image whose words from `SIDE` to `inner` have all their sides. */
    ACUI_DEVICE void rows(const acui_separable &p, acui_to out, acui_from image, int top, int inner)
    {
        const int all = (p.at.width * C + 3) / 4, edges = all - (inner - SIDE);
        const int block = (int)blockIdx.x - ACUI_WORDS_EDGE, thread = (int)threadIdx.x;
        if (block >= 0) {
            int word = SIDE + block * 32 + thread % 32, first = top + thread / 32 * ACUI_WORDS_ROWS;
            if (word < inner && first < p.at.out_height)
                column(p, out, image, 4 * word, first);
            return;
        }
        const int count = min(ACUI_BLOCK / 32 * ACUI_WORDS_ROWS, p.at.out_height - top) * edges;
        for (int i = (int)blockIdx.x * ACUI_BLOCK + thread; i < count; i += ACUI_WORDS_EDGE * ACUI_BLOCK) {
            int word = i % edges;
            edge(p, out, image, 4 * (word < SIDE ? word : word - SIDE + inner), top + i / edges);
        }
    }

    ACUI_DEVICE void run(const acui_separable &p, acui_to out, acui_from from)
    {
        const int step = ACUI_BLOCK / 32 * ACUI_WORDS_ROWS;
        const bool aligned = (((unsigned long long)from | (unsigned long long)out) & 3) == 0;
        const int inner = aligned ? max(SIDE, p.at.width * C / 4 - SIDE) : SIDE;
        for (int n = (int)blockIdx.z; n < p.at.images; n += (int)gridDim.z)
            for (int top = (int)blockIdx.y * step; top < p.at.out_height; top += (int)gridDim.y * step)
                rows(p, out + n * p.at.out_image, from + n * p.at.image, top, inner);
    }
};

#define ACUI_SEPARABLE_WORDS(channels)                                                             \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK, 3)                                    \
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
