/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What async-cuda's four functions on images do (docs/images.md), on pitched RGB: from a region to
 * a region, batches, maps, constant borders; and what is wrong with regions and sizes.
 */
#include "image/pictures.h"

#include "support/one_device.h"

static acu_tensor *pitched(const picture *p)
{
    acu_tensor *t = NULL;
    assert_works(acu_tensor_alloc_pitched(device, ACU_U8, ACU_SHAPE(p->h, p->w, 3), &t));
    uint8_t *memory = malloc(picture_size(p));
    for (size_t i = 0; i < picture_size(p); i++)
        memory[i] = (uint8_t)p->at[i];
    assert_works(acu_write_sync(t, memory, picture_size(p)));
    free(memory);
    return t;
}

/* The op that fills a window of `out` with a region of `in`. */
static acu_op *resize_region(acu_tensor *in, acu_region from, acu_tensor *out, int64_t x, int64_t y,
                             int64_t width, int64_t height)
{
    const acu_crop crop = {0, from};
    acu_op *window = acu_slice(out, ACU_SHAPE(y, x, 0), ACU_SHAPE(y + height, x + width, 3));
    return acu_into(acu_unsqueeze(window, 0), acu_crop_resize(in, &crop, 1, height, width, NULL));
}

/* Four pixels, and beyond the region its edge again. */
static double linear(const picture *p, acu_region g, double x, double y, int c)
{
    double sum = 0;
    int left = (int)floor(x - 0.5), top = (int)floor(y - 0.5);
    for (int tap = 0; tap < 4; tap++) {
        int u = left + (tap & 1), v = top + (tap >> 1);
        double w = (tap & 1 ? x - 0.5 - left : 1 - (x - 0.5 - left)) *
                   (tap & 2 ? y - 0.5 - top : 1 - (y - 0.5 - top));
        u = (int)fmin(fmax(u, g.x), g.x + g.width - 1);
        v = (int)fmin(fmax(v, g.y), g.y + g.height - 1);
        sum += w * *pixel(p, 0, v, u, c);
    }
    return sum;
}

static void from_region_to_region(void **state)
{
    (void)state;
    picture p = picture_noise(1, 30, 41, 3, ACU_U8), to = picture_noise(1, 25, 37, 3, ACU_U8);
    acu_tensor *in = pitched(&p), *out = pitched(&to);
    assert_true(acu_tensor_pitch(in) > 41 * 3);
    const acu_region from = {5, 3, 20, 11};
    EACH_PIXEL(&to)
        if (x >= 7 && x < 7 + 16 && y >= 2 && y < 2 + 19)
            *pixel(&to, n, y, x, c) = linear(&p, from, 5 + (x - 7 + 0.5) * 20 / 16,
                                             3 + (y - 2 + 0.5) * 11 / 19, c);
    assert_works(acu_sync(device, resize_region(in, from, out, 7, 2, 16, 19), NULL));
    assert_picture(out, &to, ACU_HWC, 1e-4, "from region to region; the rest stays");
    const acu_region beyond = {30, 3, 20, 11}, empty = {3, 3, 0, 5};
    assert_fails(acu_sync(device, resize_region(in, beyond, out, 7, 2, 16, 19), NULL),
                 ACU_ERR_INVALID, "the region at (30, 3) of 20 x 11 pixels|in the image of 41 x 30");
    assert_fails(acu_sync(device, resize_region(in, empty, out, 7, 2, 16, 19), NULL),
                 ACU_ERR_INVALID, "of 0 x 5 pixels is empty");
    assert_fails(acu_sync(device, resize_region(in, from, out, 30, 2, 16, 19), NULL), ACU_ERR_SHAPE,
                 "slice");
    acu_tensor_release(in);
    acu_tensor_release(out);
    free(p.at);
    free(to.at);
}

static void batches(void **state)
{
    (void)state;
    const acu_region from = {2, 1, 9, 8};
    picture to = picture_new(3, 5, 6, 3), p[3];
    acu_frame frames[3] = {0};
    for (int i = 0; i < 3; i++) {
        p[i] = picture_noise(1, 12 + i, 15 + i, 3, ACU_U8);
        frames[i].pixels = ACU_PIXELS_RGB;
        frames[i].plane[0] = acu_give(pitched(&p[i]));
        frames[i].region = from;
        EACH_PIXEL(&to)
            if (n == i)
                *pixel(&to, n, y, x, c) = linear(&p[i], from, 2 + (x + 0.5) * 9 / 6,
                                                 1 + (y + 0.5) * 8 / 5, c);
        free(p[i].at);
    }
    acu_tensor *made = NULL;
    assert_works(acu_sync(device, acu_image_to_tensor(frames, 3, 5, 6, NULL), &made));
    assert_picture(made, &to, ACU_HWC, 1e-4, "a region of each");
    acu_tensor_release(made);
    free(to.at);
}

static void maps_and_borders(void **state)
{
    (void)state;
    picture p = picture_noise(1, 9, 12, 3, ACU_U8), to = picture_new(1, 9 + 7, 12 + 6, 3);
    acu_tensor *in = pitched(&p), *out = NULL, *made = NULL;
    const acu_image_options red = {.size = sizeof red, .pad = {255, 0, 0}};
    float map_x[9 * 12], map_y[9 * 12];
    for (int i = 0; i < 9 * 12; i++) {
        map_x[i] = (float)(11 - i % 12); /* mirrored */
        map_y[i] = (float)(i / 12);
    }
    acu_tensor *mx = tensor_with(device, ACU_F32, ACU_SHAPE(9, 12), map_x);
    acu_tensor *my = tensor_with(device, ACU_F32, ACU_SHAPE(9, 12), map_y);
    picture mirrored = picture_new(1, 9, 12, 3);
    EACH_PIXEL(&p)
        *pixel(&mirrored, n, y, x, c) = *pixel(&p, n, y, 11 - x, c);
    assert_works(acu_sync(device, acu_remap(in, mx, my, NULL), &made));
    assert_picture(made, &mirrored, ACU_HWC, 0, "mirrored");
    EACH_PIXEL(&to)
        *pixel(&to, n, y, x, c) = y >= 3 && y < 12 && x >= 5 && x < 17
                                      ? *pixel(&p, n, y - 3, x - 5, c) : c == 0 ? 255 : 0;
    out = pitched(&to);
    assert_works(acu_sync(device, acu_fill(out, acu_u8(9)), NULL));
    assert_works(acu_sync(device, acu_into(out, acu_make_border(in, 3, 4, 5, 1, &red)), NULL));
    assert_picture(out, &to, ACU_HWC, 0, "a red border");
    assert_fails(acu_sync(device, acu_into(out, acu_make_border(in, 3, 3, 5, 1, &red)), NULL),
                 ACU_ERR_SHAPE, "the result of make_border is u8 [15, 18, 3]|u8 [16, 18, 3]");
    assert_fails(acu_sync(device, acu_into(out, acu_remap(in, mx, my, NULL)), NULL), ACU_ERR_SHAPE,
                 "the result of remap is u8 [9, 12, 3]");
    acu_tensor_release(in);
    acu_tensor_release(out);
    acu_tensor_release(made);
    acu_tensor_release(mx);
    acu_tensor_release(my);
    free(p.at);
    free(to.at);
    free(mirrored.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(from_region_to_region), DEVICE_TEST(batches), DEVICE_TEST(maps_and_borders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
