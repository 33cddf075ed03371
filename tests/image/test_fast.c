/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images of bytes side by side, for which there are faster kernels (src/image/fast.c), beside the
 * same operations on the same numbers as f32 or in other planes, which have the general ones: over
 * random sizes, places in memory, regions, paddings and borders, with edges of one pixel.
 */
#include "image/pictures.h"

#include "support/one_device.h"

#include <acuda/image_filters.h>
#include <stdio.h>

static int upto(int n)
{
    return 1 + (int)test_below(&numbers, (unsigned)n);
}

/* The picture in bytes, in a window of a larger image: some columns and rows from its edge, so that
 * rows begin at any byte. */
static acu_tensor *bytes_of(const picture *p, int left, int right)
{
    acu_tensor *all = NULL, *window = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(p->n, p->h, p->w + left + right, p->c),
                                  &all));
    assert_works(acu_tensor_slice(all, (const int64_t[]){0, 0, left, 0},
                                  (const int64_t[]){p->n, p->h, left + p->w, p->c}, &window));
    uint8_t *memory = malloc(picture_size(p));
    for (size_t i = 0; i < picture_size(p); i++)
        memory[i] = (uint8_t)p->at[i];
    assert_works(acu_write_sync(window, memory, picture_size(p)));
    free(memory);
    acu_tensor_release(all);
    return window;
}

static float *floats_of(acu_op *op, size_t *count)
{
    acu_tensor *t = NULL;
    assert_works(acu_sync(device, acu_convert(op, ACU_F32), &t));
    *count = (size_t)acu_tensor_elements(t);
    float *numbers_of = malloc(*count * sizeof *numbers_of);
    assert_works(acu_read_sync(t, numbers_of, *count * sizeof *numbers_of));
    acu_tensor_release(t);
    return numbers_of;
}

/* The first is the second times `scale`, within `most`; and, if that is 0, rounded to a byte. */
static void assert_same(acu_op *have_op, acu_op *want_op, float scale, float most, const char *what)
{
    size_t count, wanted;
    float *have = floats_of(have_op, &count), *want = floats_of(want_op, &wanted);
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        float value = want[i] * scale;
        if (most == 0)
            value = fminf(fmaxf(value, 0), 255);
        if (!(fabsf(have[i] - value) <= (most > 0 ? most : 0.52f)))
            fail_msg("%s: number %zu of %zu is %g, not %g", what, i, count, (double)have[i],
                     (double)value);
    }
    free(have);
    free(want);
}

static picture random_picture(int n, int c)
{
    return picture_noise(n, test_below(&numbers, 4) ? upto(60) : 1,
                         test_below(&numbers, 4) ? upto(70) : upto(4), c, ACU_U8);
}

static void resizes(void **state)
{
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        picture p = random_picture(upto(2), 3);
        int left = upto(4) - 1, h = upto(50), w = upto(90);
        acu_tensor *x = bytes_of(&p, left, upto(3) - 1);
        acu_tensor *f = picture_upload(device, &p, ACU_F32, ACU_HWC, 4, 0);
        const acu_image_options o = {.size = sizeof o, .sampling = (acu_sampling)(trial % 3),
                                     .fit = (acu_fit)(trial / 3 % 3), .pad = {7, 200, 99}};
        char what[128];
        snprintf(what, sizeof what, "trial %d: %d x %d (%d) to %d x %d", trial, p.h, p.w, left, h,
                 w);
        acu_tensor *to = NULL;
        assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(p.n, h, w + 1, 3), &to));
        assert_works(acu_sync(device, acu_fill(to, acu_u8(77)), NULL));
        acu_op *window = acu_slice(to, ACU_SHAPE(0, 0, 0, 0), ACU_SHAPE(p.n, h, w, 3));
        assert_works(acu_sync(device, acu_into(window, acu_resize(x, h, w, &o)), NULL));
        assert_same(acu_slice(to, ACU_SHAPE(0, 0, 0, 0), ACU_SHAPE(p.n, h, w, 3)),
                    acu_resize(f, h, w, &o), 1, 0, what);
        assert_same(acu_slice(to, ACU_SHAPE(0, 0, w, 0), ACU_SHAPE(p.n, h, w + 1, 3)),
                    acu_add(acu_zeros(ACU_F32, ACU_SHAPE(p.n, h, 1, 3)), acu_f32(77)), 1, 0, what);
        assert_same(acu_resize(x, h, w, &o), acu_resize(f, h, w, &o), 1, 0, what);
        acu_tensor_release(to);
        acu_tensor_release(x);
        acu_tensor_release(f);
        free(p.at);
    }
}

/* Of regions, to other dtypes, orders of channels and layouts, with mean and deviation. */
static void makes_tensors(void **state)
{
    (void)state;
    static const acu_dtype dtypes[] = {ACU_U8, ACU_F16, ACU_BF16, ACU_F32};
    for (int trial = 0; trial < 24; trial++) {
        picture p = picture_noise(1, 9 + upto(40), 9 + upto(50), 3, ACU_U8);
        acu_tensor *x = bytes_of(&p, upto(4) - 1, 0);
        acu_tensor *f = picture_upload(device, &p, ACU_F32, ACU_HWC, 4, 0);
        const acu_dtype dtype = dtypes[trial % 4];
        acu_image_options o = {.size = sizeof o, .layout = (acu_layout)(trial / 4 % 2),
                               .fit = trial % 3 ? ACU_LETTERBOX : ACU_STRETCH, .pad = {9, 8, 7},
                               .dtype = dtype,
                               .pixels = trial & 1 ? ACU_PIXELS_BGR : ACU_PIXELS_RGB,
                               .mean = {0.1f, 0.2f, 0.3f}, .deviation = {0.5f, 2, 1}};
        const acu_region part = {2, 1.5, 5 + upto(p.w - 9), 3 + upto(p.h - 8)};
        acu_frame bytes[2] = {{.pixels = ACU_PIXELS_RGB, .region = part},
                              {.pixels = ACU_PIXELS_RGB}};
        bytes[0].plane[0] = acu_value(x);
        bytes[1].plane[0] = acu_value(x);
        acu_frame other[2] = {bytes[0], bytes[1]};
        for (int i = 0; i < 2; i++)
            other[i].plane[0] = acu_mul(f, acu_f32(1.0f / 255));
        size_t count = trial % 2 ? 2 : 1;
        if (count == 1) /* not used */
            acu_op_release(bytes[1].plane[0]), acu_op_release(other[1].plane[0]);
        acu_op *have = acu_image_to_tensor(bytes, count, 24, 40, &o);
        o.dtype = ACU_F32;
        for (int i = 0; i < 4; i++)
            o.pad[i] /= 255;
        acu_op *want = acu_image_to_tensor(other, count, 24, 40, &o);
        static const float most[] = {0, 2e-3f, 2e-2f, 1e-5f};
        assert_same(have, want, dtype == ACU_U8 ? 255 : 1, most[trial % 4], acu_dtype_name(dtype));
        acu_tensor_release(x);
        acu_tensor_release(f);
        free(p.at);
    }
}

/* Luma and chroma of noise: NV12 and NV21, and the same as planes, which are read otherwise. */
typedef struct planes {
    acu_tensor *luma, *u, *v, *mixed;
    int h, w;
} planes;

static acu_tensor *bytes_at(const uint8_t *memory, acu_shape shape, int left)
{
    acu_tensor *all = NULL, *window = NULL;
    acu_shape wide = shape;
    int64_t start[3] = {0}, end[3] = {shape.dim[0], shape.dim[1] + left, shape.dim[2]};
    wide.dim[1] += left;
    start[1] = left;
    assert_works(acu_tensor_alloc(device, ACU_U8, wide, &all));
    assert_works(acu_tensor_slice(all, start, end, &window));
    assert_works(acu_write_sync(window, memory, acu_tensor_bytes(window)));
    acu_tensor_release(all);
    return window;
}

static planes random_planes(int h, int w, bool swapped, int left)
{
    int ch = (h + 1) / 2, cw = (w + 1) / 2;
    planes p = {.h = h, .w = w};
    uint8_t *bytes[4];
    for (int i = 0; i < 4; i++) {
        bytes[i] = malloc((size_t)(2 * (h + 1) * (w + 1)));
        for (int k = 0; k < 2 * (h + 1) * (w + 1); k++)
            bytes[i][k] = (uint8_t)test_below(&numbers, 256);
    }
    for (int k = 0; k < ch * cw; k++) {
        bytes[3][2 * k] = bytes[swapped ? 2 : 1][k];
        bytes[3][2 * k + 1] = bytes[swapped ? 1 : 2][k];
    }
    p.luma = bytes_at(bytes[0], ACU_SHAPE(h, w), left);
    p.u = bytes_at(bytes[1], ACU_SHAPE(ch, cw), 0);
    p.v = bytes_at(bytes[2], ACU_SHAPE(ch, cw), 0);
    p.mixed = bytes_at(bytes[3], ACU_SHAPE(ch, cw, 2), left);
    for (int i = 0; i < 4; i++)
        free(bytes[i]);
    return p;
}

static void planes_release(planes *p)
{
    acu_tensor_release(p->luma);
    acu_tensor_release(p->u);
    acu_tensor_release(p->v);
    acu_tensor_release(p->mixed);
}

static acu_op *from_planes(const planes *p, acu_pixels pixels, int h, int w,
                           const acu_image_options *o)
{
    acu_frame f = {.pixels = pixels, .plane = {acu_value(p->luma)}};
    f.plane[1] = acu_value(pixels == ACU_PIXELS_YUV420 ? p->u : p->mixed);
    f.plane[2] = pixels == ACU_PIXELS_YUV420 ? acu_value(p->v) : NULL;
    return acu_image_to_tensor(&f, 1, h, w, o);
}

static void planes_to_tensors(void **state)
{
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        bool swapped = trial & 1, nearest = trial & 2;
        acu_pixels pixels = swapped ? ACU_PIXELS_NV21 : ACU_PIXELS_NV12;
        int h = upto(40), w = trial & 4 ? 4 * upto(60) : upto(80);
        planes p = random_planes(h, w, swapped, trial & 8 ? 0 : 2 * upto(3));
        acu_image_options o = {.size = sizeof o, .matrix = (acu_matrix)(trial % 3),
                               .range = (acu_range)(trial / 8 % 2),
                               .filter = nearest ? ACU_NEAREST : ACU_LINEAR,
                               .pixels = trial & 16 ? ACU_PIXELS_BGR : ACU_PIXELS_RGB};
        int to_h = nearest ? h : upto(50), to_w = nearest ? w : upto(70);
        acu_op *have = from_planes(&p, pixels, to_h, to_w, &o);
        o.dtype = ACU_F32;
        assert_same(have, from_planes(&p, ACU_PIXELS_YUV420, to_h, to_w, &o), 255, 0, "to bytes");
        assert_same(from_planes(&p, pixels, to_h, to_w, &o),
                    from_planes(&p, ACU_PIXELS_YUV420, to_h, to_w, &o), 1, 1e-5f, "to f32");
        planes_release(&p);
    }
}

/* ---- warps and filters --------------------------------------------------------------------- */

static void warps(void **state)
{
    (void)state;
    for (int trial = 0; trial < 40; trial++) {
        picture p = random_picture(upto(2), 3);
        acu_tensor *x = bytes_of(&p, upto(4) - 1, upto(3) - 1);
        acu_tensor *f = picture_upload(device, &p, ACU_F32, ACU_HWC, 4, 0);
        const acu_image_options o = {.size = sizeof o, .border = (acu_border)(trial % 6),
                                     .inverse = true, .pad = {250, -3, 99.5f}};
        double m[6];
        for (int i = 0; i < 6; i++)
            m[i] = (double)test_below(&numbers, 2000) / 1000 - 1;
        m[2] = m[2] * p.w + p.w / 2.0;
        m[5] = m[5] * p.h + p.h / 2.0;
        if (trial == 39)
            m[2] = 3e9; /* too far for the faster kernel */
        int h = upto(40), w = upto(90);
        char what[64];
        snprintf(what, sizeof what, "trial %d: %d x %d to %d x %d", trial, p.h, p.w, h, w);
        assert_same(acu_warp_affine(x, m, h, w, &o), acu_warp_affine(f, m, h, w, &o), 1, 0, what);
        acu_tensor_release(x);
        acu_tensor_release(f);
        free(p.at);
    }
}

static void filters(void **state)
{
    (void)state;
    static const int sizes[] = {1, 3, 5};
    for (int trial = 0; trial < 54; trial++) {
        int channels = trial % 3 == 1 ? 1 : trial % 3 == 2 ? 3 : 4;
        picture p = random_picture(upto(2), channels);
        int more = (4 - p.w % 4) % 4; /* rows begin at multiples of 4 bytes */
        acu_tensor *x = bytes_of(&p, trial & 1 ? 4 : 0, more);
        acu_tensor *f = picture_upload(device, &p, ACU_F32, ACU_HWC, 4, 0);
        const acu_image_options o = {.size = sizeof o, .border = (acu_border)(trial / 3 % 6),
                                     .pad = {250, -3, 99.5f, 12}};
        float across[5], down[5];
        for (int i = 0; i < 5; i++) {
            across[i] = (float)test_below(&numbers, 100) / 200 - 0.1f;
            down[i] = (float)test_below(&numbers, 100) / 200 - 0.1f;
        }
        int i = sizes[trial % 3], j = sizes[trial / 3 % 3];
        char what[64];
        snprintf(what, sizeof what, "trial %d: %d x %d x %d", trial, p.h, p.w, channels);
        /* into a tensor with rows at multiples of 4 bytes too */
        acu_tensor *to = bytes_of(&p, 4, more);
        assert_works(acu_sync(device, acu_into(to, acu_filter_separable(x, across, i, down, j, &o)),
                              NULL));
        assert_same(acu_value(to), acu_filter_separable(f, across, i, down, j, &o), 1, 0, what);
        acu_tensor_release(to);
        acu_tensor_release(x);
        acu_tensor_release(f);
        free(p.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(resizes), DEVICE_TEST(makes_tensors), DEVICE_TEST(planes_to_tensors),
        DEVICE_TEST(warps),   DEVICE_TEST(filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
