/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Boxes, as left, top, right and bottom in f32: how much they overlap, which to keep, and how they look. */
#include "../src/image/params.h"
#include "image.cuh"

struct acui_box {
    float left, top, right, bottom;
};

ACUI_DEVICE acui_box acui_box_at(const float *boxes, const acui_strides &s, long long i)
{
    acui_box b;
    b.left = boxes[i * s.row];
    b.top = boxes[i * s.row + s.column];
    b.right = boxes[i * s.row + 2 * s.column];
    b.bottom = boxes[i * s.row + 3 * s.column];
    return b;
}
ACUI_DEVICE float acui_area_of(const acui_box &b)
{
    return fmaxf(b.right - b.left, 0.0f) * fmaxf(b.bottom - b.top, 0.0f);
}
/* What they share, over what they cover together; 0 where they cover nothing. */
ACUI_DEVICE float acui_iou(const acui_box &a, const acui_box &b)
{
    float across = fmaxf(fminf(a.right, b.right) - fmaxf(a.left, b.left), 0.0f);
    float down = fmaxf(fminf(a.bottom, b.bottom) - fmaxf(a.top, b.top), 0.0f);
    float both = across * down, all = acui_area_of(a) + acui_area_of(b) - both;
    return all > 0.0f ? both / all : 0.0f;
}

extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    iou(float *out, const float *a, const float *b, acui_boxes p)
{
    for (long long i = (long long)blockIdx.x * ACUI_BLOCK + threadIdx.x; i < p.count * p.others;
         i += (long long)gridDim.x * ACUI_BLOCK) {
        long long row = i / p.others, column = i % p.others;
        out[row * p.out.row + column * p.out.column] =
            acui_iou(acui_box_at(a, p.boxes, row), acui_box_at(b, p.more, column));
    }
}

/* The best of the block's scores, for all threads: the first of equals. */
ACUI_DEVICE long long acui_best(const float *left, long long count, float least)
{
    __shared__ float scores[ACUI_BLOCK];
    __shared__ long long places[ACUI_BLOCK];
    const int lane = (int)threadIdx.x;
    float score = least;
    long long place = -1;
    for (long long i = lane; i < count; i += ACUI_BLOCK)
        if (left[i] > score) {
            score = left[i];
            place = i;
        }
    scores[lane] = score;
    places[lane] = place;
    __syncthreads();
    for (int half = ACUI_BLOCK / 2; half > 0; half /= 2) {
        if (lane < half) {
            float other = scores[lane + half];
            long long there = places[lane + half];
            bool better = there >= 0 && (places[lane] < 0 || other > scores[lane] ||
                                         (other == scores[lane] && there < places[lane]));
            scores[lane] = better ? other : scores[lane];
            places[lane] = better ? there : places[lane];
        }
        __syncthreads();
    }
    place = places[0];
    __syncthreads();
    return place;
}

/*
 * Non-maximum suppression, a block for each image: the best box is kept, and those that overlap it too
 * much are struck out, until none is left. `left` is memory for the scores.
 */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    nms(long long *out, const float *boxes, const float *scores, const long long *classes, float *left, acui_boxes p)
{
    const long long n = blockIdx.x;
    boxes += n * p.boxes.image;
    scores += n * p.more.image;
    classes += n * p.classes.image;
    left += n * p.count;
    out += n * p.out.image;
    const float nothing = -__builtin_inff();
    for (long long i = threadIdx.x; i < p.count; i += ACUI_BLOCK) {
        float score = scores[i * p.more.row];
        left[i] = score > p.least ? score : nothing;
    }
    __syncthreads();
    long long kept = 0;
    for (; kept < p.most; kept++) {
        long long best = acui_best(left, p.count, nothing);
        if (best < 0)
            break;
        acui_box box = acui_box_at(boxes, p.boxes, best);
        long long kind = p.has_classes ? classes[best * p.classes.row] : 0;
        for (long long i = threadIdx.x; i < p.count; i += ACUI_BLOCK) {
            bool same = !p.has_classes || classes[i * p.classes.row] == kind;
            if (i == best || (left[i] > nothing && same &&
                              acui_iou(box, acui_box_at(boxes, p.boxes, i)) > p.overlap))
                left[i] = nothing;
        }
        if (threadIdx.x == 0)
            out[kept * p.out.column] = best;
        __syncthreads();
    }
    for (long long i = kept + threadIdx.x; i < p.most; i += ACUI_BLOCK)
        out[i * p.out.column] = -1;
}

/* Draws into the image. The pixels whose centres are within half the thickness of a box's edge. */
extern "C" __global__ void __launch_bounds__(ACUI_BLOCK)
    draw(char *image, const float *boxes, const long long *which, acui_draw p)
{
    acui_each_pixel(p.at, [&](int n, int x, int y) ACUI_INLINE {
        bool on = false;
        for (long long k = 0; k < p.count && !on; k++) {
            long long i = p.has_which ? which[n * p.which.image + k * p.which.column] : k;
            if (i < 0 || i >= p.boxes_count)
                continue;
            acui_box b = acui_box_at(boxes + n * p.boxes.image, p.boxes, i);
            float cx = (float)x + 0.5f, cy = (float)y + 0.5f, h = p.half;
            bool outer = cx > b.left - h && cx < b.right + h && cy > b.top - h && cy < b.bottom + h;
            bool inner = cx > b.left + h && cx < b.right - h && cy > b.top + h && cy < b.bottom - h;
            on = outer && !inner && b.right > b.left && b.bottom > b.top;
        }
        if (on)
            acui_store_at(p.at, (acui_to)image, n, x, y, p.at.pad);
    });
}
