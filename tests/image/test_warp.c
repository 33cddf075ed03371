/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Warped images beside a reference in double: maps, matrices, filters, borders, layouts. */
#include "image/pictures.h"

#include "support/one_device.h"

#include <stdio.h>

/* ---- reference ----------------------------------------------------------------------------- */

/* Walks from pixel to pixel, and turns at the edge. */
static int beyond(acu_border border, int i, int n)
{
    if (border == ACU_BORDER_CONSTANT)
        return i < 0 || i >= n ? -1 : i;
    if (border == ACU_BORDER_REPLICATE)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    while (border == ACU_BORDER_WRAP && (i < 0 || i >= n))
        i += i < 0 ? n : -n;
    while (i < 0 || i >= n) {
        if (border == ACU_BORDER_REFLECT_101 && n == 1)
            return 0;
        int edge = border == ACU_BORDER_REFLECT ? 1 : 0;
        i = i < 0 ? -i - edge : 2 * n - 2 + edge - i;
    }
    return i;
}

static double sinc(double t)
{
    return t == 0 ? 1 : sin(3.14159265358979323846 * t) / (3.14159265358979323846 * t);
}

static double weight(acu_filter filter, double t)
{
    const double a = -0.75;
    double lobes = filter == ACU_LANCZOS ? 3 : 4;
    t = fabs(t);
    if (filter == ACU_LINEAR)
        return t < 1 ? 1 - t : 0;
    if (filter == ACU_CUBIC)
        return t < 1 ? (a + 2) * t * t * t - (a + 3) * t * t + 1
               : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
    return t < lobes ? sinc(t) * sinc(t / lobes) : 0;
}

static double sample(const picture *p, const acu_image_options *o, int n, double u, double v, int c)
{
    int reach = o->filter == ACU_LINEAR ? 1 : o->filter == ACU_CUBIC ? 2
                : o->filter == ACU_LANCZOS ? 3 : 4;
    double sum = 0, total = 0;
    if (o->filter == ACU_NEAREST)
        u = floor(u + 0.5), v = floor(v + 0.5), reach = 1;
    for (int y = (int)floor(v) - reach + 1; y <= (int)floor(v) + reach; y++)
        for (int x = (int)floor(u) - reach + 1; x <= (int)floor(u) + reach; x++) {
            double w = weight(o->filter, x - u) * weight(o->filter, y - v);
            if (o->filter == ACU_NEAREST)
                w = x == u && y == v;
            int i = beyond(o->border, x, p->w), j = beyond(o->border, y, p->h);
            sum += w * (i < 0 || j < 0 ? (double)o->pad[c] : *pixel(p, n, j, i, c));
            total += w;
        }
    return sum / total;
}

/* ---- maps ---------------------------------------------------------------------------------- */

static const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_F16, ACU_BF16, ACU_F32};
static const acu_filter filters[] = {ACU_LINEAR, ACU_NEAREST, ACU_CUBIC, ACU_LANCZOS, ACU_LANCZOS4};

static acu_tensor *map_upload(const float *numbers_of, acu_shape shape, int gaps)
{
    acu_tensor *t = window_of(device, ACU_F32, shape, gaps);
    assert_works(acu_write_sync(t, numbers_of, acu_tensor_bytes(t)));
    return t;
}

static void one_remap(const acu_image_options *o, acu_dtype dtype, int rank, bool own_maps)
{
    enum { H = 5, W = 37 };
    picture source = picture_noise(rank == 4 ? 2 : 1, 1 + (int)test_below(&numbers, 12),
                                   1 + (int)test_below(&numbers, 12),
                                   rank == 2 ? 1 : 1 + (int)test_below(&numbers, 4), dtype);
    picture to = picture_new(source.n, H, W, source.c);
    int maps = own_maps ? source.n : 1;
    float map_x[2 * H * W], map_y[2 * H * W];
    for (int i = 0; i < maps * H * W; i++) {
        map_x[i] = (float)test_below(&numbers, 4096) / 4096 * (float)(source.w + 20) - 10;
        map_y[i] = (float)test_below(&numbers, 4096) / 4096 * (float)(source.h + 20) - 10;
    }
    EACH_PIXEL(&to) {
        int at = (own_maps ? n : 0) * H * W + y * W + x;
        *pixel(&to, n, y, x, c) = sample(&source, o, n, (double)map_x[at], (double)map_y[at], c);
    }
    acu_shape shape = own_maps ? ACU_SHAPE(source.n, H, W) : ACU_SHAPE(H, W);
    acu_tensor *image = picture_upload(device, &source, dtype, o->layout, rank, 1), *made = NULL;
    acu_tensor *mx = map_upload(map_x, shape, 1), *my = map_upload(map_y, shape, 0);
    assert_works(acu_sync(device, acu_remap(image, mx, my, o), &made));
    char what[128];
    snprintf(what, sizeof what, "filter %d, border %d, %s of %d x %d", (int)o->filter,
             (int)o->border, acu_dtype_name(dtype), source.h, source.w);
    assert_picture(made, &to, o->layout, 1e-4, what);
    acu_tensor_release(image);
    acu_tensor_release(made);
    acu_tensor_release(mx);
    acu_tensor_release(my);
    free(source.at);
    free(to.at);
}

static void remaps(void **state)
{
    (void)state;
    int turn = 0;
    for (int filter = 0; filter < 5; filter++)
        for (int border = ACU_BORDER_CONSTANT; border <= ACU_BORDER_WRAP; border++, turn++) {
            acu_image_options o = {.size = sizeof o, .filter = filters[filter],
                                   .border = (acu_border)border, .pad = {0.5f, 1, 0.25f, 0},
                                   .layout = turn % 2 ? ACU_CHW : ACU_HWC};
            one_remap(&o, dtypes[turn % 5], 2 + turn % 3, turn % 2);
        }
}

/* Places that no image has: the border says what is there, and nothing is read out of bounds. */
static void remaps_from_nowhere(void **state)
{
    (void)state;
    float map[5] = {INFINITY, -INFINITY, NAN, 3e38f, -1e20f}, zero[5] = {0};
    const uint8_t pixels[4] = {10, 20, 30, 40}, constant[5] = {7, 7, 7, 7, 7};
    const uint8_t replicate[5] = {40, 10, 10, 40, 10};
    acu_tensor *image = tensor_with(device, ACU_U8, ACU_SHAPE(1, 4), pixels);
    acu_tensor *mx = map_upload(map, ACU_SHAPE(1, 5), 0);
    acu_tensor *my = map_upload(zero, ACU_SHAPE(1, 5), 0);
    for (int turn = 0; turn < 15; turn++) {
        int border = ACU_BORDER_CONSTANT + turn % 5;
        const acu_image_options o = {.size = sizeof o, .border = (acu_border)border, .pad = {7},
                                     .filter = filters[turn / 5]};
        uint8_t *have = result_of(device, acu_remap(image, mx, my, &o), ACU_U8, ACU_SHAPE(1, 5));
        if (border < ACU_BORDER_REFLECT)
            assert_memory_equal(have, border == ACU_BORDER_REPLICATE ? replicate : constant, 5);
        for (int i = 0; border >= ACU_BORDER_REFLECT && i < 5; i++)
            assert_true(have[i] >= 10 && have[i] <= 40 && have[i] % 10 == 0); /* a whole pixel */
        free(have);
    }
    acu_tensor_release(image);
    acu_tensor_release(mx);
    acu_tensor_release(my);
}

/* ---- matrices ------------------------------------------------------------------------------ */

static void one_warp(const double back[9], const double given[9], bool perspective,
                     const acu_image_options *o, acu_dtype dtype)
{
    picture source = picture_noise(1, 13, 17, 3, dtype), to = picture_new(1, 11, 21, 3);
    EACH_PIXEL(&to) {
        double w = perspective ? back[6] * x + back[7] * y + back[8] : 1;
        double u = (back[0] * x + back[1] * y + back[2]) / w;
        *pixel(&to, n, y, x, c) = sample(&source, o, n, u,
                                         (back[3] * x + back[4] * y + back[5]) / w, c);
    }
    acu_tensor *image = picture_upload(device, &source, dtype, ACU_HWC, 3, 0), *made = NULL;
    acu_op *op = perspective ? acu_warp_perspective(image, given, 11, 21, o)
                             : acu_warp_affine(image, given, 11, 21, o);
    assert_works(acu_sync(device, op, &made));
    assert_picture(made, &to, ACU_HWC, 1e-3, perspective ? "perspective" : "affine");
    acu_tensor_release(image);
    acu_tensor_release(made);
    free(source.at);
    free(to.at);
}

static void warps(void **state)
{
    (void)state;
    /* Matrices, and their inverses: (a b; c d)^-1 = (d -b; -c a) / (ad - bc) by hand. */
    const double to[9] = {0.5, 0.25, 3, -0.25, 0.5, 2, 0, 0, 1};
    const double back[9] = {1.6, -0.8, -3.2, 0.8, 1.6, -5.6, 0, 0, 1};
    const double tilt[9] = {1, 0, 0, 0, 1, 0, 0.01, 0.02, 1};
    const double untilt[9] = {1, 0, 0, 0, 1, 0, -0.01, -0.02, 1};
    for (int border = ACU_BORDER_CONSTANT; border <= ACU_BORDER_WRAP; border++)
        for (int inverse = 0; inverse < 2; inverse++) {
            const acu_image_options o = {.size = sizeof o, .border = (acu_border)border,
                                         .inverse = inverse, .pad = {0.5f, 0.25f, 0.125f}};
            one_warp(back, inverse ? back : to, false, &o, dtypes[(border + inverse) % 5]);
            one_warp(untilt, inverse ? untilt : tilt, true, &o, ACU_F32);
        }
}

static void rotates(void **state)
{
    (void)state;
    static const int quarters[] = {0, 90, 180, 270, -90, 450};
    picture source = picture_noise(1, 6, 6, 3, ACU_U8), to = picture_new(1, 6, 6, 3);
    acu_tensor *image = picture_upload(device, &source, ACU_U8, ACU_HWC, 3, 0), *made = NULL;
    for (int i = 0; i < 6; i++) {
        int turns = (quarters[i] / 90 % 4 + 4) % 4;
        EACH_PIXEL(&to) {
            int u = x, v = y;
            for (int k = 0; k < turns; k++) { /* a quarter turn back: (u, v) lies at (v, 5 - u) */
                int old = u;
                u = 5 - v;
                v = old;
            }
            *pixel(&to, n, y, x, c) = *pixel(&source, n, v, u, c);
        }
        assert_works(acu_sync(device, acu_rotate(image, quarters[i], NULL), &made));
        assert_picture(made, &to, ACU_HWC, 1e-6, "quarters");
        acu_tensor_release(made);
    }
    const acu_image_options o = {.size = sizeof o, .border = ACU_BORDER_REFLECT};
    const double angle = 33.5, radians = angle * 0.017453292519943295, s = sin(radians);
    const double c0 = cos(radians);
    EACH_PIXEL(&to)
        *pixel(&to, n, y, x, c) = sample(&source, &o, 0, 2.5 + c0 * (x - 2.5) - s * (y - 2.5),
                                         2.5 + s * (x - 2.5) + c0 * (y - 2.5), c);
    assert_works(acu_sync(device, acu_rotate(image, angle, &o), &made));
    assert_picture(made, &to, ACU_HWC, 1e-4, "an angle");
    acu_tensor_release(made);
    acu_tensor_release(image);
    free(source.at);
    free(to.at);
}

static void makes_borders(void **state)
{
    (void)state;
    for (int border = ACU_BORDER_CONSTANT; border <= ACU_BORDER_WRAP; border++) {
        const acu_image_options o = {.size = sizeof o, .border = (acu_border)border,
                                     .pad = {1, 2, 3}, .layout = border % 2 ? ACU_CHW : ACU_HWC};
        picture source = picture_noise(2, 3, 2, 3, ACU_U16), to = picture_new(2, 3 + 9, 2 + 8, 3);
        EACH_PIXEL(&to) {
            int i = beyond(o.border, x - 7, 2), j = beyond(o.border, y - 4, 3);
            *pixel(&to, n, y, x, c) = i < 0 || j < 0 ? c + 1 : *pixel(&source, n, j, i, c);
        }
        acu_tensor *image = picture_upload(device, &source, ACU_U16, o.layout, 4, 1), *made = NULL;
        assert_works(acu_sync(device, acu_make_border(image, 4, 5, 7, 1, &o), &made));
        assert_picture(made, &to, o.layout, 0, "border");
        acu_tensor_release(image);
        acu_tensor_release(made);
        free(source.at);
        free(to.at);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refuses(acu_op *op, acu_status status, const char *words)
{
    assert_fails(acu_sync(device, op, NULL), status, words);
}

static void refusals(void **state)
{
    (void)state;
    acu_tensor *x = NULL, *map = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(8, 9, 3), &x));
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(8, 9), &map));
    const acu_image_options area = {.size = sizeof area, .filter = ACU_AREA};
    const acu_image_options border = {.size = sizeof border, .border = (acu_border)6};
    const double flat[9] = {1, 2, 0, 2, 4, 0, 0, 0, 1}, nan[6] = {NAN, 0, 0, 0, 1, 0};
    refuses(acu_remap(x, map, acu_zeros(ACU_F32, ACU_SHAPE(8, 8)), NULL), ACU_ERR_SHAPE,
            "map_y is f32 [8, 8]|8 x 9");
    refuses(acu_remap(x, acu_zeros(ACU_F64, ACU_SHAPE(8, 8)), map, NULL), ACU_ERR_DTYPE, "f64");
    refuses(acu_remap(x, acu_zeros(ACU_F32, ACU_SHAPE(8)), map, NULL), ACU_ERR_SHAPE, "f32 [8]");
    refuses(acu_remap(x, acu_zeros(ACU_F32, ACU_SHAPE(2, 8, 9)), map, NULL), ACU_ERR_SHAPE,
            "for 2 images, and there are 1");
    refuses(acu_remap(x, map, map, &area), ACU_ERR_INVALID, "remap|for resizing");
    refuses(acu_remap(x, map, map, &border), ACU_ERR_INVALID, "options.border is 6");
    refuses(acu_warp_affine(x, flat, 8, 9, NULL), ACU_ERR_INVALID, "no inverse");
    refuses(acu_warp_affine(x, nan, 8, 9, NULL), ACU_ERR_INVALID, "no inverse");
    refuses(acu_warp_affine(x, NULL, 8, 9, NULL), ACU_ERR_INVALID, "acu_warp_affine|NULL");
    refuses(acu_warp_perspective(x, flat, 8, 0, NULL), ACU_ERR_SHAPE, "8 rows of 0 pixels");
    refuses(acu_rotate(x, INFINITY, NULL), ACU_ERR_INVALID, "by inf degrees");
    refuses(acu_make_border(x, -1, 0, 0, 0, NULL), ACU_ERR_SHAPE, "of -1, 0, 0 and 0");
    refuses(acu_make_border(x, 0, INT64_MAX, 1, 0, NULL), ACU_ERR_SHAPE, "9223372036854775807");
    refuses(acu_into(x, acu_rotate(x, 3, NULL)), ACU_ERR_SHARED, "rotate can not overwrite");
    acu_tensor_release(x);
    acu_tensor_release(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(remaps),  DEVICE_TEST(remaps_from_nowhere), DEVICE_TEST(warps),
        DEVICE_TEST(rotates), DEVICE_TEST(makes_borders),       DEVICE_TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
