/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every operation on images in every way that does not depend on what it computes: described,
 * submitted, in a graph, with each allocation and each launch failing in turn (ops/every_way.h);
 * and with its result in a window of a larger tensor.
 */
#include "ops/every_way.h"

#include "image/pictures.h"
#include "support/one_device.h"

#include <acuda/boxes.h>
#include <acuda/image_filters.h>

enum { RGB, GRAY, RGBA, MAP, NV, TABLE, BOXES, SCORES, CLASSES, PICKED, INPUTS };
enum { H = 6, W = 8, N = 5 };

#define WAY(name, op)                                                                              \
    static acu_op *name(acu_tensor *const *x)                                                      \
    {                                                                                              \
        return op;                                                                                 \
    }

static const double matrix[9] = {0.9, 0.1, 1, -0.1, 0.8, 0.5, 0.001, 0, 1};
static const float weights[3] = {0.25f, 0.5f, 0.25f}, red[4] = {255, 0, 0, 0};
static const acu_crop crops[2] = {{0, {1, 1, 4, 3}}, {0, {0, 0, W, H}}};
static const acu_image_options area = {.size = sizeof area, .filter = ACU_AREA};
static const acu_image_options network = {.size = sizeof network, .layout = ACU_CHW,
                                          .dtype = ACU_F16, .fit = ACU_LETTERBOX,
                                          .mean = {0.5f, 0.5f, 0.5f}};

WAY(resize, acu_resize(x[RGB], 5, 7, NULL))
WAY(resize_area, acu_resize(x[RGB], 3, 5, &area))
WAY(crop_resize, acu_crop_resize(x[RGB], crops, 2, 4, 4, NULL))
WAY(to_planes, acu_color(x[RGB], ACU_PIXELS_RGB, ACU_PIXELS_NV12, NULL))
WAY(from_planes, acu_color(x[NV], ACU_PIXELS_NV12, ACU_PIXELS_RGB, NULL))
WAY(swapped, acu_color(x[RGB], ACU_PIXELS_RGB, ACU_PIXELS_BGR, NULL))
WAY(convert_scale, acu_convert_scale(x[RGB], ACU_F32, 0.5, 1))
WAY(normalize, acu_normalize(x[RGB], NULL))
WAY(remap, acu_remap(x[RGB], x[MAP], x[MAP], NULL))
WAY(warp_affine, acu_warp_affine(x[RGB], matrix, H, W, NULL))
WAY(warp_perspective, acu_warp_perspective(x[RGB], matrix, H, W, NULL))
WAY(rotate, acu_rotate(x[RGB], 30, NULL))
WAY(make_border, acu_make_border(x[RGB], 1, 2, 3, 4, NULL))
WAY(filter_separable, acu_filter_separable(x[RGB], weights, 3, weights, 3, NULL))
WAY(box_blur, acu_box_blur(x[RGB], 3, 7, NULL))
WAY(gaussian_blur, acu_gaussian_blur(x[RGB], 5, 5, 1, NULL))
WAY(sobel, acu_sobel(x[RGB], 1, 0, 3, NULL))
WAY(median_blur, acu_median_blur(x[RGB], 3, NULL))
WAY(bilateral, acu_bilateral(x[RGB], 3, 20, 2, NULL))
WAY(open, acu_morphology(x[RGB], ACU_OPEN, ACU_MORPH_CROSS, 3, 3, NULL))
WAY(threshold, acu_threshold(x[RGB], ACU_THRESHOLD_BINARY, 99, 255, NULL))
WAY(otsu, acu_otsu(x[GRAY], NULL))
WAY(threshold_otsu, acu_threshold_otsu(x[GRAY], ACU_THRESHOLD_BINARY, 255, NULL))
WAY(histogram, acu_histogram(x[RGB], NULL))
WAY(equalize, acu_equalize(x[RGB], NULL))
WAY(lut, acu_lut(x[RGB], x[TABLE], NULL))
WAY(gamma_of, acu_gamma(x[RGB], 2.2, NULL))
WAY(adjust, acu_adjust(x[RGB], 1.1, 0.9, 1.2, 15, NULL))
WAY(composite, acu_composite(x[RGB], x[RGBA], false, NULL))
WAY(box_iou, acu_box_iou(x[BOXES], x[BOXES]))
WAY(nms, acu_nms(x[BOXES], x[SCORES], 0.4, 0, N))
WAY(nms_by_class, acu_nms_by_class(x[BOXES], x[SCORES], x[CLASSES], 0.4, 0, N))
WAY(draw, acu_draw_boxes(acu_dup(x[RGB]), x[BOXES], red, 1, NULL))
WAY(draw_some, acu_draw_some_boxes(acu_dup(x[RGB]), x[BOXES], x[PICKED], red, 1, NULL))

static acu_op *resize_batch(acu_tensor *const *x)
{
    acu_op *two[] = {acu_value(x[RGB]),
                     acu_slice(x[RGB], ACU_SHAPE(1, 1, 0), ACU_SHAPE(4, 6, 3))};
    return acu_resize_batch(two, 2, 4, 4, NULL);
}

static acu_op *to_tensor(acu_tensor *const *x)
{
    acu_frame frames[2] = {{.pixels = ACU_PIXELS_NV12, .plane = {acu_value(x[NV])}},
                           {.pixels = ACU_PIXELS_NV12, .plane = {acu_value(x[NV])},
                            .region = {1, 1, 5, 4}}};
    return acu_image_to_tensor(frames, 2, 5, 9, &network);
}

static const way_fn in_place[] = {draw, draw_some};
static const way_fn apart[] = {
    resize,     resize_area,   crop_resize,      resize_batch,  to_tensor,
    to_planes,  from_planes,   swapped,          convert_scale, normalize,
    remap,      warp_affine,   warp_perspective, rotate,        make_border,
    box_blur,   gaussian_blur, filter_separable, sobel,         median_blur,
    bilateral,  open,          threshold,        otsu,          threshold_otsu,
    histogram,  equalize,      lut,              gamma_of,      adjust,
    composite,  box_iou,       nms,              nms_by_class,
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- inputs -------------------------------------------------------------------------------- */

static acu_tensor *noise(acu_shape shape)
{
    uint8_t bytes[H * W * 4];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)test_below(&numbers, 256);
    return tensor_with(device, ACU_U8, shape, bytes);
}

static void make_inputs(acu_tensor **x)
{
    float map[H * W];
    uint8_t table[256];
    for (int i = 0; i < H * W; i++)
        map[i] = (float)test_below(&numbers, 80) / 10;
    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)(255 - i);
    const float boxes[N][4] = {
        {0, 0, 3, 3}, {0, 0, 3, 4}, {4, 1, 7, 5}, {1, 1, 2, 2}, {4, 1, 7, 4}};
    const float scores[N] = {0.5f, 0.7f, 0.9f, 0.2f, 0.4f};
    const int64_t classes[N] = {1, 2, 1, 1, 1}, picked[N] = {2, 0, -1, -1, -1};
    x[RGB] = noise(ACU_SHAPE(H, W, 3));
    x[GRAY] = noise(ACU_SHAPE(H, W));
    x[RGBA] = noise(ACU_SHAPE(H, W, 4));
    x[NV] = noise(ACU_SHAPE(H * 3 / 2, W));
    x[MAP] = tensor_with(device, ACU_F32, ACU_SHAPE(H, W), map);
    x[TABLE] = tensor_with(device, ACU_U8, ACU_SHAPE(256), table);
    x[BOXES] = tensor_with(device, ACU_F32, ACU_SHAPE(N, 4), boxes);
    x[SCORES] = tensor_with(device, ACU_F32, ACU_SHAPE(N), scores);
    x[CLASSES] = tensor_with(device, ACU_I64, ACU_SHAPE(N), classes);
    x[PICKED] = tensor_with(device, ACU_I64, ACU_SHAPE(N), picked);
}

static void release_inputs(acu_tensor **x)
{
    for (int i = 0; i < INPUTS; i++)
        acu_tensor_release(x[i]);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void every_operation(void **state)
{
    (void)state;
    acu_tensor *x[INPUTS];
    make_inputs(x);
    for (size_t i = 0; i < COUNT(apart); i++)
        every_way(device, apart[i], x);
    for (size_t i = 0; i < COUNT(in_place); i++)
        every_way(device, in_place[i], x);
    release_inputs(x);
}

/* The window gets the same bits. */
static void into_windows(void **state)
{
    (void)state;
    acu_tensor *x[INPUTS];
    make_inputs(x);
    for (size_t i = 0; i < COUNT(apart); i++) {
        acu_tensor *alone = NULL, *same = NULL;
        size_t bytes, again;
        assert_works(acu_sync(device, apart[i](x), &alone));
        acu_tensor *window = window_of(device, acu_tensor_dtype(alone), acu_tensor_shape(alone), 1);
        assert_works(acu_sync(device, acu_into(window, apart[i](x)), NULL));
        assert_works(acu_sync(device, acu_dup(window), &same));
        void *want = way_read(alone, &bytes), *have = way_read(same, &again);
        assert_int_equal(bytes, again);
        if (memcmp(want, have, bytes) != 0)
            fail_msg("operation %zu of the list differs in a window", i);
        free(want);
        free(have);
        acu_tensor_release(alone);
        acu_tensor_release(same);
        acu_tensor_release(window);
    }
    release_inputs(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {DEVICE_TEST(every_operation), DEVICE_TEST(into_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
