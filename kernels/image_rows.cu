/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The commonest samples, made faster than by image_sample.cu: three channels of bytes, four neighbouring
 * pixels by their distances; what becomes a channel is one of the source's. A warp makes 32 pixels of four rows: what a column and a row need is worked out once.
 *
 *   rows_rgb   from three channels side by side
 *   rows_yuv   from luma and interleaved chroma
 *
 * and pixels of NV12 and its like as they lie, to RGB:
 *
 *   planes_rgb   a thread makes 4 x 2 pixels, which share chroma, with words
 */
#include "image_bytes.cuh"
#include "image_source.cuh"

#define ACUI_ROWS 4 /* that a warp makes */

/* Where a result pixel lies along an axis: two pixels of the source, and the weight of the second. */
struct acui_spot {
    int first, second, inside;
    float weight;
};

ACUI_DEVICE acui_spot acui_spot_on(const acui_axis &a, int d)
{
    int in = d < a.begin ? a.begin : d >= a.end ? a.end - 1 : d;
    double at = acui_place(a, in);
    int i = (int)floor(at);
    acui_spot s = {acui_within(a, i), acui_within(a, i + 1), in == d, (float)(at - i)};
    return s;
}

ACUI_DEVICE acui_spot acui_spot_from(const acui_spot &s, int lane)
{
    acui_spot other = {__shfl_sync(ACUI_WARP, s.first, lane), __shfl_sync(ACUI_WARP, s.second, lane),
                       __shfl_sync(ACUI_WARP, s.inside, lane), __shfl_sync(ACUI_WARP, s.weight, lane)};
    return other;
}

/* ---- sources -------------------------------------------------------------------------------- */

/* Offsets are of 32 bits, from an image's first number. */
struct acui_rgb_source {
    static const int AT_ONCE = 4; /* rows whose pixels are read before any is written, so that less time is spent
                                   * waiting for memory */
    acui_from at;
    int row, first, second;
    bool words;
    float weight;

    __device__ __forceinline__ acui_rgb_source(const acui_sample &, const acui_image_source &s,
                                               const acui_planes &planes, const acui_spot &across)
        : at(planes.at[0] + s.plane[0].offset), row((int)s.plane[0].row), first(3 * across.first),
          second(3 * across.second), weight(across.weight)
    {
        words = second == first + 3 && first - 7 >= 3 * s.x.first && first + 12 < 3 * (s.x.last + 1);
    }
    template <bool WORDS> __device__ __forceinline__ void line(int y, float (&v)[3]) const
    {
        if (WORDS)
            acui_between(acui_read_two(at, y * row + first), weight, v);
        else
            acui_between(acui_read_apart(at, y * row + first, y * row + second), weight, v);
    }
    template <bool WORDS> __device__ __forceinline__ void pixel(const acui_spot &down, float (&v)[3]) const
    {
        float top[3], below[3];
        line<WORDS>(down.first, top);
        line<WORDS>(down.second, below);
#pragma unroll
        for (int c = 0; c < 3; c++)
            v[c] = fmaf(down.weight, below[c] - top[c], top[c]);
    }
    __device__ __forceinline__ void pixels(const acui_sample &, const acui_spot (&down)[AT_ONCE],
                                           float (&v)[AT_ONCE][3]) const
    {
        if (words) {
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                pixel<true>(down[k], v[k]);
        } else {
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                pixel<false>(down[k], v[k]);
        }
    }
};

/* From Y, U and V to red, green and blue; red has no U in it, blue no V. */
ACUI_DEVICE void acui_decode(const acui_sample &p, float y, float u, float w, float (&v)[3])
{
    const float (*d)[4] = p.decode;
    v[0] = __saturatef(fmaf(d[0][0], y, fmaf(d[0][2], w, d[0][3])));
    v[1] = __saturatef(fmaf(d[1][0], y, fmaf(d[1][1], u, fmaf(d[1][2], w, d[1][3]))));
    v[2] = __saturatef(fmaf(d[2][0], y, fmaf(d[2][1], u, d[2][3])));
}

struct acui_yuv_source {
    static const int AT_ONCE = 2;
    acui_from luma, chroma;
    int row, chroma_row, first, second, chroma_first, chroma_second;
    float weight;

    __device__ __forceinline__ acui_yuv_source(const acui_sample &p, const acui_image_source &s,
                                               const acui_planes &planes, const acui_spot &across)
        : luma(planes.at[0] + s.plane[0].offset),
          chroma(p.swapped ? planes.at[2] + s.plane[2].offset : planes.at[1] + s.plane[1].offset),
          row((int)s.plane[0].row), chroma_row((int)s.plane[1].row), first(across.first),
          second(across.second), chroma_first(across.first >> p.chroma_x << 1),
          chroma_second(across.second >> p.chroma_x << 1), weight(across.weight)
    {
    }
    __device__ __forceinline__ void add(const acui_sample &p, int at, int chroma_at, float w, float (&v)[3]) const
    {
        const ACUI_GLOBAL unsigned char *y = (const ACUI_GLOBAL unsigned char *)luma + at;
        const ACUI_GLOBAL unsigned char *c = (const ACUI_GLOBAL unsigned char *)chroma + chroma_at;
        float one = (float)c[0], two = (float)c[1], rgb[3];
        acui_decode(p, (float)*y, p.swapped ? two : one, p.swapped ? one : two, rgb);
#pragma unroll
        for (int k = 0; k < 3; k++)
            v[k] = fmaf(w, rgb[k], v[k]);
    }
    __device__ __forceinline__ void pixel(const acui_sample &p, const acui_spot &down, float (&v)[3]) const
    {
        v[0] = v[1] = v[2] = 0.0f;
#pragma unroll
        for (int j = 0; j < 2; j++) {
            int y = j ? down.second : down.first, at = y * row, chroma_at = (y >> p.chroma_y) * chroma_row;
            float w = j ? down.weight : 1.0f - down.weight;
            add(p, at + first, chroma_at + chroma_first, w * (1.0f - weight), v);
            add(p, at + second, chroma_at + chroma_second, w * weight, v);
        }
    }
    __device__ __forceinline__ void pixels(const acui_sample &p, const acui_spot (&down)[AT_ONCE],
                                           float (&v)[AT_ONCE][3]) const
    {
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            pixel(p, down[k], v[k]);
    }
};

/* ---- results -------------------------------------------------------------------------------- */

/* The numbers of the result: a channel is made of one of the source's, in their order or the other one. */
ACUI_DEVICE void acui_mix_own(const acui_sample &p, float (&v)[3], bool inside)
{
    float blue = v[2];
    v[2] = p.own < 0 ? v[0] : v[2];
    v[0] = p.own < 0 ? blue : v[0];
#pragma unroll
    for (int k = 0; k < 3; k++)
        v[k] = inside ? fmaf(p.own < 0 ? p.mix[k][2 - k] : p.mix[k][k], v[k], p.mix[k][4]) : p.pad[k];
}

template <typename T, typename Code>
ACUI_DEVICE void acui_put_three(acui_to out, long long step, const float (&v)[3], Code code)
{
#pragma unroll
    for (int c = 0; c < 3; c++)
        ((ACUI_GLOBAL T *)out)[c * step] = (T)code(v[c]);
}

/* A pixel of a row. All lanes of a warp call it, those beyond the edge too. */
ACUI_DEVICE void acui_put_result(const acui_sample &p, acui_to row, int column, int x, float (&v)[3])
{
    const long long step = p.out_channel, at = x * p.out_column;
    if (p.out_dtype == ACU_U8 && step == 1 && p.out_column == 3)
        acui_put_bytes(row, column, p.width, v);
    else if (x >= p.width)
        return;
    else if (p.out_dtype == ACU_F16)
        acui_put_three<unsigned short>(row + 2 * at, step, v, [](float n) ACUI_INLINE { return acui_to_f16(n); });
    else if (p.out_dtype == ACU_BF16)
        acui_put_three<unsigned short>(row + 2 * at, step, v, [](float n) ACUI_INLINE { return acui_to_bf16(n); });
    else if (p.out_dtype == ACU_F32)
        acui_put_three<float>(row + 4 * at, step, v, [](float n) ACUI_INLINE { return n; });
    else
        acui_put_three<unsigned char>(row + at, step, v, [](float n) ACUI_INLINE { return acui_byte_of(n); });
}

/* ---- all pixels ----------------------------------------------------------------------------- */

template <typename Source> struct acui_by_rows {
    ACUI_DEVICE void image(const acui_sample &p, acui_to out, const acui_image_source &s,
                           const acui_planes &planes, int n)
    {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        const int column = (int)blockIdx.x * 32, x = column + lane;
        const long long bytes = p.out_dtype == ACU_U8 ? 1 : p.out_dtype == ACU_F32 ? 4 : 2;
        acui_spot across = acui_spot_on(s.x, x);
        Source source(p, s, planes, across);
        for (int top = ((int)blockIdx.y * (ACUI_BLOCK / 32) + warp) * ACUI_ROWS; top < p.height;
             top += (int)gridDim.y * (ACUI_BLOCK / 32) * ACUI_ROWS) {
            acui_spot downs = acui_spot_on(s.y, top + lane % ACUI_ROWS);
            acui_to row = out + (n * p.out_image + top * p.out_row) * bytes;
#pragma unroll 1
            for (int first = 0; first < ACUI_ROWS; first += Source::AT_ONCE) {
                acui_spot down[Source::AT_ONCE]; /* those beyond the last row are where others are */
                float v[Source::AT_ONCE][3];
#pragma unroll
                for (int k = 0; k < Source::AT_ONCE; k++)
                    down[k] = acui_spot_from(downs, first + k);
                source.pixels(p, down, v);
#pragma unroll
                for (int k = 0; k < Source::AT_ONCE; k++, row += p.out_row * bytes)
                    if (top + first + k < p.height) {
                        acui_mix_own(p, v[k], across.inside && down[k].inside);
                        acui_put_result(p, row, column, x, v[k]);
                    }
            }
        }
    }
};

ACUI_SAMPLE(rows_rgb, acui_by_rows<acui_rgb_source>)
ACUI_SAMPLE(rows_yuv, acui_by_rows<acui_yuv_source>)

/* ---- planes to RGB, pixel by pixel ---------------------------------------------------------- */

/* 4 x 2 pixels: two of luma, one above the other; U V U V, or V U V U. */
struct acui_patch {
    unsigned luma[2], chroma;
};

ACUI_DEVICE void acui_patch_words(const acui_sample &p, const acui_patch &in, int row, unsigned (&words)[3])
{
    unsigned bytes[12];
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        float first = acui_biased(in.chroma, i & 2u) - ACUI_BIAS, v[3];
        float second = acui_biased(in.chroma, (i & 2u) + 1) - ACUI_BIAS;
        float luma = acui_biased(in.luma[row], i) - ACUI_BIAS;
        acui_decode(p, luma, p.swapped ? second : first, p.swapped ? first : second, v);
        const float in_order[3] = {p.own < 0 ? v[2] : v[0], v[1], p.own < 0 ? v[0] : v[2]};
#pragma unroll
        for (int c = 0; c < 3; c++) /* from 0 to 1: the nearest byte, as acui_byte_of has it */
            bytes[3 * i + c] = __float_as_uint(fmaf(in_order[c], 255.0f, ACUI_BIAS));
    }
#pragma unroll
    for (int i = 0; i < 3; i++)
        words[i] = acui_word_of(bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]);
}

/* What a warp's lanes have of a row, three words each, side by side. */
ACUI_DEVICE void acui_put_words(acui_to row, int count, const unsigned (&words)[3], unsigned *kept)
{
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 3; i++)
        kept[3 * lane + i] = words[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 3; i++)
        if (lane + 32 * i < count)
            ((ACUI_GLOBAL unsigned *)row)[lane + 32 * i] = kept[lane + 32 * i];
    __syncwarp();
}

ACUI_DEVICE void acui_planes_image(const acui_sample &p, acui_to out, acui_from luma, acui_from chroma)
{
    __shared__ unsigned kept[ACUI_BLOCK / 32][96];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int column = (int)blockIdx.x * 128, x = column + 4 * lane;
    const int row = (int)p.one.plane[0].row, chroma_row = (int)p.one.plane[1].row, rows = 1 << p.chroma_y;
    for (int y = 2 * ((int)blockIdx.y * (ACUI_BLOCK / 32) + warp); y < p.height;
         y += 2 * (int)gridDim.y * (ACUI_BLOCK / 32)) {
        acui_patch in = {{0, 0}, 0};
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (x >= p.width || y + k >= p.height)
                continue;
            in.luma[k] = *(const ACUI_GLOBAL unsigned *)(luma + (long long)(y + k) * row + x);
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            unsigned words[3];
            if (x < p.width && y + k < p.height && (k == 0 || rows == 1))
                in.chroma = *(const ACUI_GLOBAL unsigned *)(chroma + (long long)((y + k) >> p.chroma_y) * chroma_row + x);
            acui_patch_words(p, in, k, words);
            if (y + k < p.height)
                acui_put_words(out + (y + k) * p.out_row + 3ll * column, (p.width - column) * 3 / 4, words, kept[warp]);
        }
    }
}

/* The same, byte by byte. */
ACUI_DEVICE void acui_planes_slowly(const acui_sample &p, acui_to out, const acui_planes &planes, int n)
{
    int x = ((int)blockIdx.x * 32 + (int)threadIdx.x % 32) * 4, warp = (int)threadIdx.x / 32;
    for (int y = 2 * ((int)blockIdx.y * (ACUI_BLOCK / 32) + warp); y < p.height;
         y += 2 * (int)gridDim.y * (ACUI_BLOCK / 32))
#pragma unroll 1
        for (int k = 0; k < 8; k++)
            if (x + k % 4 < p.width && y + k / 4 < p.height) {
                float v[4];
                acui_fetch<acui_bytes_only>(p, p.one, planes, x + k % 4, y + k / 4, v);
                acui_store(p, out, n, x + k % 4, y + k / 4, v, true);
            }
}

/* Widths and the distances of rows are multiples of 4; addresses usually, too. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    planes_rgb(char *out, const char *a, const char *b, const char *c, acui_sample p)
{
    for (int n = (int)blockIdx.z; n < p.images; n += (int)gridDim.z) {
        const acui_planes at = {{(acui_from)a + n * p.batch[0], (acui_from)b + n * p.batch[1],
                                 (acui_from)c + n * p.batch[2]}};
        acui_to to = (acui_to)out + n * p.out_image;
        acui_from luma = at.at[0] + p.one.plane[0].offset;
        acui_from chroma = p.swapped ? at.at[2] + p.one.plane[2].offset : at.at[1] + p.one.plane[1].offset;
        if ((((unsigned long long)to | (unsigned long long)luma | (unsigned long long)chroma) & 3) == 0)
            acui_planes_image(p, to, luma, chroma);
        else
            acui_planes_slowly(p, (acui_to)out, at, n);
    }
}
