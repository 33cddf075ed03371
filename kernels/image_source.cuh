/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kernels that sample images share: the planes of a source, one pixel of it, where a result pixel lies in
 * it, and what becomes of the numbers. */
#ifndef ACUDA_KERNELS_IMAGE_SOURCE_CUH
#define ACUDA_KERNELS_IMAGE_SOURCE_CUH

#include "image.cuh"
#include <acuda/device.cuh>

typedef acu_list<const char, ACUI_IMAGE_POINTERS> acui_image_list;

/* The planes of one source image. */
struct acui_planes {
    acui_from at[3];
};

/* ---- one pixel of the source, as floats ---------------------------------------------------- */

template <typename Read>
ACUI_DEVICE void acui_fetch(const acui_sample &p, const acui_image_source &s,
                            const acui_planes &planes, int x, int y, float (&v)[4])
{
    long long at = s.plane[0].offset + y * s.plane[0].row + x * s.plane[0].column;
    v[0] = Read::read(p.dtype, planes.at[0], at);
    if (p.yuv) {
        int cx = x >> p.chroma_x, cy = y >> p.chroma_y;
        float luma = v[0];
        float u = Read::read(p.dtype, planes.at[1],
                             s.plane[1].offset + cy * s.plane[1].row + cx * s.plane[1].column);
        float w = Read::read(p.dtype, planes.at[2],
                             s.plane[2].offset + cy * s.plane[2].row + cx * s.plane[2].column);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            float value = fmaf(p.decode[c][2], w, fmaf(p.decode[c][1], u, fmaf(p.decode[c][0], luma, p.decode[c][3])));
            v[c] = fminf(fmaxf(value, 0.0f), 1.0f);
        }
        v[3] = 0.0f;
        return;
    }
#pragma unroll
    for (int c = 1; c < 4; c++)
        v[c] = c < p.channels ? Read::read(p.dtype, planes.at[0], at + c * s.channel) : 0.0f;
}

/* Writes the pixel that was made of the source's channels to element `at`. */
ACUI_DEVICE void acui_mix_and_put(const acui_sample &p, acui_to out, long long at, const float (&v)[4], bool inside)
{
    float mixed[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float value = p.mix[k][4];
#pragma unroll
        for (int c = 0; c < 4; c++)
            value = fmaf(p.mix[k][c], c < p.channels ? v[c] : 0.0f, value);
        mixed[k] = inside ? value : p.pad[k];
    }
    acui_put_pixel(p.out_dtype, out, at, p.out_channel, p.out_channels, mixed);
}
ACUI_DEVICE void acui_store(const acui_sample &p, acui_to out, int n, int x, int y, const float (&v)[4],
                            bool inside)
{
    acui_mix_and_put(p, out, n * p.out_image + y * p.out_row + x * p.out_column, v, inside);
}

ACUI_DEVICE int acui_within(const acui_axis &a, int i)
{
    return i < a.first ? a.first : i > a.last ? a.last : i;
}
ACUI_DEVICE double acui_place(const acui_axis &a, int d)
{
    return a.start + (d - a.begin + a.shift) * a.step;
}

/* ---- all images: one tensor with all, or a table ------------------------------------------- */

/* How::image makes image n, which is in those planes. */
template <typename How>
ACUI_DEVICE void acui_images(acui_to out, acui_from a, acui_from b, acui_from c, const acui_sample &p)
{
    int bytes = p.dtype == ACU_U8 ? 1 : p.dtype == ACU_F32 ? 4 : 2;
    for (int n = (int)blockIdx.z; n < p.images; n += (int)gridDim.z) {
        acui_planes planes = {{a + n * p.batch[0] * bytes, b + n * p.batch[1] * bytes,
                               c + n * p.batch[2] * bytes}};
        How::image(p, out, p.one, planes, n);
    }
}

template <typename How>
ACUI_DEVICE void acui_list_of_images(acui_to out, const acui_image_list &list,
                                     const acui_image_source *table, const acui_sample &p)
{
    __shared__ acui_image_source s;
    const int words = (int)sizeof s / 4;
    for (int n = (int)blockIdx.z; n < p.images; n += (int)gridDim.z) {
        __syncthreads();
        if ((int)threadIdx.x < words)
            ((int *)&s)[threadIdx.x] = ((const int *)(table + n))[threadIdx.x];
        __syncthreads();
        acui_planes planes;
#pragma unroll
        for (int k = 0; k < 3; k++)
            planes.at[k] = (acui_from)list.item[s.pointer[k]];
        How::image(p, out, s, planes, n);
    }
}

#define ACUI_SAMPLE(name, how)                                                                     \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        name(char *out, const char *a, const char *b, const char *c, acui_sample p)                \
    {                                                                                              \
        acui_images<how>((acui_to)out, (acui_from)a, (acui_from)b, (acui_from)c, p);               \
    }                                                                                              \
    extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)                                       \
        name##_list(char *out, const acui_image_list list, const acui_image_source *table, acui_sample p) \
    {                                                                                              \
        acui_list_of_images<how>((acui_to)out, list, table, p);                                    \
    }

#endif
