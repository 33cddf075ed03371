/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images on the host, as doubles, and tensors made of them, for tests. */
#ifndef ACUDA_TESTS_IMAGE_PICTURES_H
#define ACUDA_TESTS_IMAGE_PICTURES_H

#include "ops/elements.h"

#include <acuda/image.h>

static test_random numbers = {.state = 26};

/* Pixels by image, row, column and channel. */
typedef struct picture {
    int n, h, w, c;
    double *at;
} picture;

static inline picture picture_new(int n, int h, int w, int c)
{
    picture p = {n, h, w, c, calloc((size_t)n * (size_t)h * (size_t)w * (size_t)c, sizeof(double))};
    assert_non_null(p.at);
    return p;
}

static inline double *pixel(const picture *p, int n, int y, int x, int c)
{
    return &p->at[(((size_t)n * (size_t)p->h + (size_t)y) * (size_t)p->w + (size_t)x) *
                      (size_t)p->c + (size_t)c];
}

static inline size_t picture_size(const picture *p)
{
    return (size_t)p->n * (size_t)p->h * (size_t)p->w * (size_t)p->c;
}

static inline double full_of(acu_dtype dtype)
{
    return dtype == ACU_U8 ? 255 : dtype == ACU_U16 ? 65535 : 1;
}

static inline double number_at(acu_dtype dtype, const void *memory, size_t i)
{
    return is_real(dtype) ? real_at(dtype, memory, i) : (double)whole_at(dtype, memory, i);
}

static inline void put_number(acu_dtype dtype, void *memory, size_t i, double value)
{
    if (is_real(dtype))
        put_real(dtype, memory, i, value);
    else
        put_whole(dtype, memory, i, (int64_t)value);
}

/* Numbers that the dtype holds, from 0 to its full. */
static inline picture picture_noise(int n, int h, int w, int c, acu_dtype dtype)
{
    picture p = picture_new(n, h, w, c);
    for (size_t i = 0; i < picture_size(&p); i++) {
        char bits[8];
        double value = (double)test_below(&numbers, 65536) / 65535 * full_of(dtype);
        put_number(dtype, bits, 0, value);
        p.at[i] = number_at(dtype, bits, 0);
    }
    return p;
}

/* What an image takes in a tensor of that rank (2 to 4) and layout. */
static inline acu_shape picture_shape(const picture *p, acu_layout layout, int rank)
{
    if (rank == 2)
        return ACU_SHAPE(p->h, p->w);
    if (rank == 3)
        return layout == ACU_CHW ? ACU_SHAPE(p->c, p->h, p->w) : ACU_SHAPE(p->h, p->w, p->c);
    return layout == ACU_CHW ? ACU_SHAPE(p->n, p->c, p->h, p->w)
                             : ACU_SHAPE(p->n, p->h, p->w, p->c);
}

static inline size_t picture_place(const picture *p, acu_layout layout, int n, int y, int x, int c)
{
    size_t h = (size_t)p->h, w = (size_t)p->w, channels = (size_t)p->c;
    return layout == ACU_CHW
               ? (((size_t)n * channels + (size_t)c) * h + (size_t)y) * w + (size_t)x
               : (((size_t)n * h + (size_t)y) * w + (size_t)x) * channels + (size_t)c;
}

#define EACH_PIXEL(p)                                                                              \
    for (int n = 0; n < (p)->n; n++)                                                               \
        for (int y = 0; y < (p)->h; y++)                                                           \
            for (int x = 0; x < (p)->w; x++)                                                       \
                for (int c = 0; c < (p)->c; c++)

/* A window of that shape in a larger tensor: `gaps` elements more at both ends of each
 * dimension. */
static inline acu_tensor *window_of(acu_device *device, acu_dtype dtype, acu_shape shape, int gaps)
{
    acu_shape whole = shape;
    int64_t start[ACU_MAX_RANK], end[ACU_MAX_RANK];
    for (int d = 0; d < shape.rank; d++) {
        start[d] = gaps;
        end[d] = gaps + shape.dim[d];
        whole.dim[d] = shape.dim[d] + 2 * gaps;
    }
    acu_tensor *all = NULL, *window = NULL;
    assert_works(acu_tensor_alloc(device, dtype, whole, &all));
    size_t bytes = acu_tensor_bytes(all);
    void *memory = malloc(bytes);
    memset(memory, 0x55, bytes);
    assert_works(acu_write_sync(all, memory, bytes));
    free(memory);
    assert_works(acu_tensor_slice(all, start, end, &window));
    acu_tensor_release(all);
    return window;
}

static inline acu_tensor *picture_upload(acu_device *device, const picture *p, acu_dtype dtype,
                                         acu_layout layout, int rank, int gaps)
{
    acu_tensor *t = window_of(device, dtype, picture_shape(p, layout, rank), gaps);
    void *memory = malloc(acu_tensor_bytes(t));
    EACH_PIXEL(p)
        put_number(dtype, memory, picture_place(p, layout, n, y, x, c), *pixel(p, n, y, x, c));
    assert_works(acu_write_sync(t, memory, acu_tensor_bytes(t)));
    free(memory);
    return t;
}

/* The tensor holds the picture, each number within `most` of full, or as near as the dtype gets. */
static inline void assert_picture(const acu_tensor *t, const picture *want, acu_layout layout,
                                  double most, const char *what)
{
    acu_dtype dtype = acu_tensor_dtype(t);
    assert_true(acu_shape_equal(acu_tensor_shape(t),
                                picture_shape(want, layout, acu_tensor_shape(t).rank)));
    void *memory = malloc(acu_tensor_bytes(t));
    acu_tensor *mutable = acu_tensor_retain((acu_tensor *)(uintptr_t)t);
    assert_works(acu_read_sync(mutable, memory, acu_tensor_bytes(t)));
    acu_tensor_release(mutable);
    EACH_PIXEL(want) {
        double value = *pixel(want, n, y, x, c), full = full_of(dtype);
        double have = number_at(dtype, memory, picture_place(want, layout, n, y, x, c));
        if (!is_real(dtype))
            value = value < 0 ? 0 : value > full ? full : value;
        double room = most * full + (is_real(dtype) ? 0.51 * unit_at(dtype, value) : 0.501);
        if (!(fabs(have - value) <= room))
            fail_msg("%s: image %d, row %d, column %d, channel %d is %g, not %g", what, n, y, x, c,
                     have, value);
    }
    free(memory);
}

#endif
