/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images by NPP; on the software device by a library that poses as it (fake_npp.c). Results are
 * such that do not depend on where a filter looks exactly: images of blocks of one colour, places
 * on whole pixels. */
#include "vendor/with_library.h"

#include <acuda/acuda.h>
#include <acuda/npp.h>

enum { MOST = 4096, UNTOUCHED = 7 };

static acu_device *open_npp(void)
{
    if (!test_on_gpu())
        with_fake(ACU_VENDOR_NPPIDEI, "npp/libfake_npp.so");
    acu_device *device = with_library(ACU_VENDOR_NPPIG, "npp/libfake_npp.so");
    assert_works(acu_vendor_load(device, ACU_VENDOR_NPPIDEI));
    return device;
}

static acu_shape shape_of(int height, int width, int channels)
{
    return channels == 0 ? ACU_SHAPE(height, width) : ACU_SHAPE(height, width, channels);
}

static double color_at(int x, int y, int c)
{
    return (x * 5 + y * 9 + c * 40) % 200 + 20;
}

/* An image of 2 x 2 blocks, whose colour says where they are. */
static acu_tensor *blocks(acu_device *device, acu_dtype dtype, int height, int width, int channels)
{
    double numbers[MOST];
    int each = channels ? channels : 1;
    acu_tensor *wide, *image;
    for (int i = 0; i < height * width * each; i++)
        numbers[i] = color_at(i / each % width / 2, i / each / width / 2, i % each);
    wide = with_numbers(device, ACU_F32, shape_of(height, width, channels), numbers);
    assert_works(acu_sync(device, acu_convert(wide, dtype), &image));
    acu_tensor_release(wide);
    return image;
}

static acu_tensor *blank(acu_device *device, acu_dtype dtype, int height, int width, int channels)
{
    acu_tensor *image;
    acu_shape shape = shape_of(height, width, channels);
    assert_works(acu_sync(device, acu_convert(acu_full(shape, acu_f32(UNTOUCHED)), dtype), &image));
    return image;
}

static void numbers_of(acu_device *device, acu_tensor *image, double *numbers)
{
    acu_tensor *wide;
    assert_works(acu_sync(device, acu_convert(image, ACU_F32), &wide));
    with_read(wide, numbers);
    acu_tensor_release(wide);
}

/* ---- resize ---- */

/* `to` has one pixel for each block of `from`; the rest of the image is as it was. */
static void check_halved(acu_device *device, acu_tensor *out, int width, int height, int channels,
                         const acu_region *from, const acu_region *to)
{
    double have[MOST];
    int each = channels ? channels : 1;
    numbers_of(device, out, have);
    for (int i = 0; i < height * width * each; i++) {
        int x = i / each % width - (int)to->x, y = i / each / width - (int)to->y;
        bool in = x >= 0 && y >= 0 && x < to->width && y < to->height;
        double want = in ? color_at(x + (int)from->x / 2, y + (int)from->y / 2, i % each)
                         : UNTOUCHED;
        if (fabs(have[i] - want) > 1e-3)
            fail_msg("number %d is %g, not %g", i, have[i], want);
    }
}

static const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_F32};
static const int layouts[] = {0, 1, 3, 4};

static void regions(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    const acu_region from = {4, 2, 12, 8}, to = {3, 1, 6, 4};
    const acu_filter filters[] = {ACU_NEAREST, ACU_LINEAR, ACU_AREA};
    for (int t = 0; t < 3; t++)
        for (int l = 0; l < 4; l++)
            for (int f = 0; f < 3; f++) {
                acu_tensor *in = blocks(device, dtypes[t], 16, 20, layouts[l]);
                acu_tensor *out = blank(device, dtypes[t], 9, 13, layouts[l]);
                assert_works(acu_sync(device, acu_npp_resize(in, &from, out, &to, filters[f]),
                                      NULL));
                check_halved(device, out, 13, 9, layouts[l], &from, &to);
                acu_tensor_release(in);
                acu_tensor_release(out);
            }
    with_end(device);
}

/* Windows of larger images, whose rows are further apart; whole regions; the order of the data. */
static void windows(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    acu_tensor *in = blocks(device, ACU_U8, 16, 20, 3), *out = blank(device, ACU_U8, 9, 13, 3);
    acu_tensor *x, *y;
    assert_works(acu_tensor_slice(in, (int64_t[]){2, 4, 0}, (int64_t[]){10, 16, 3}, &x));
    assert_works(acu_tensor_slice(out, (int64_t[]){1, 3, 0}, (int64_t[]){5, 9, 3}, &y));
    for (int turn = 0; turn < 3; turn++) {
        acu_op *cleared = acu_fill(y, acu_u8(0));
        assert_works(acu_sync(device, acu_npp_resize(x, NULL, cleared, NULL, ACU_NEAREST), NULL));
        check_halved(device, out, 13, 9, 3, &(acu_region){4, 2, 12, 8}, &(acu_region){3, 1, 6, 4});
    }
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(in);
    acu_tensor_release(out);
    with_end(device);
}

static void batch_of(acu_device *device, acu_dtype dtype, int channels, size_t count)
{
    acu_tensor *in[3], *out[3];
    acu_op *xs[3] = {0}, *outs[3] = {0};
    const acu_region from = {4, 2, 12, 8}, to = {3, 1, 6, 4};
    for (size_t i = 0; i < count; i++) {
        in[i] = blocks(device, dtype, 16, 20, channels);
        out[i] = blank(device, dtype, 9, 13, channels);
        xs[i] = acu_value(in[i]);
        outs[i] = acu_value(out[i]);
    }
    assert_works(acu_sync(device, acu_npp_resize_batch(xs, &from, outs, &to, count, ACU_NEAREST),
                          NULL));
    for (size_t i = 0; i < count; i++) {
        check_halved(device, out[i], 13, 9, channels, &from, &to);
        acu_tensor_release(in[i]);
        acu_tensor_release(out[i]);
    }
}

static void batches(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    for (size_t count = 1; count <= 3; count++)
        for (int l = 1; l < 4; l++) {
            batch_of(device, ACU_U8, layouts[l], count);
            batch_of(device, ACU_F32, layouts[l], count);
        }
    with_end(device);
}

/* ---- maps and borders ---- */

/* Mirrored along x; the last column is nowhere. */
static void maps(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    enum { W = 6, H = 4 };
    double mx[H * W], my[H * W], have[MOST];
    for (int i = 0; i < H * W; i++) {
        mx[i] = i % W == W - 1 ? -50 : W - 1 - i % W;
        my[i] = i / W;
    }
    acu_tensor *map_x = with_numbers(device, ACU_F32, ACU_SHAPE(H, W), mx);
    acu_tensor *map_y = with_numbers(device, ACU_F32, ACU_SHAPE(H, W), my);
    for (int t = 0; t < 3; t++)
        for (int l = 0; l < 4; l++) {
            int each = layouts[l] ? layouts[l] : 1;
            acu_tensor *in = blocks(device, dtypes[t], H, W, layouts[l]);
            acu_tensor *out = blank(device, dtypes[t], H, W, layouts[l]);
            acu_op *op = acu_npp_remap(in, map_x, map_y, out, ACU_NEAREST);
            assert_works(acu_sync(device, op, NULL));
            numbers_of(device, out, have);
            for (int i = 0; i < H * W * each; i++) {
                int x = i / each % W, y = i / each / W;
                double want = x == W - 1 ? UNTOUCHED : color_at((W - 1 - x) / 2, y / 2, i % each);
                assert_true(fabs(have[i] - want) < 1e-3);
            }
            acu_tensor_release(in);
            acu_tensor_release(out);
        }
    acu_tensor_release(map_x);
    acu_tensor_release(map_y);
    with_end(device);
}

static void borders(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    enum { W = 6, H = 4, TOP = 2, LEFT = 1, OUT_W = 9, OUT_H = 8 };
    const double color[4] = {200, 150, 100, 50};
    double have[MOST];
    for (int t = 0; t < 3; t++)
        for (int l = 0; l < 4; l++) {
            int each = layouts[l] ? layouts[l] : 1;
            acu_tensor *in = blocks(device, dtypes[t], H, W, layouts[l]);
            acu_tensor *out = blank(device, dtypes[t], OUT_H, OUT_W, layouts[l]);
            assert_works(acu_sync(device, acu_npp_border(in, out, TOP, LEFT, color), NULL));
            numbers_of(device, out, have);
            for (int i = 0; i < OUT_H * OUT_W * each; i++) {
                int x = i / each % OUT_W - LEFT, y = i / each / OUT_W - TOP;
                bool in_it = x >= 0 && y >= 0 && x < W && y < H;
                double want = in_it ? color_at(x / 2, y / 2, i % each) : color[i % each];
                assert_true(fabs(have[i] - want) < 1e-3);
            }
            acu_tensor_release(in);
            acu_tensor_release(out);
        }
    with_end(device);
}

typedef struct pictures {
    acu_tensor *in[2], *out[2];
} pictures;

static acu_op *one_resized(void *user)
{
    pictures *p = user;
    return acu_npp_resize(p->in[0], NULL, p->out[0], NULL, ACU_LINEAR);
}

static acu_op *all_resized(void *user)
{
    pictures *p = user;
    acu_op *xs[2], *outs[2];
    for (int i = 0; i < 2; i++) {
        xs[i] = acu_value(p->in[i]);
        outs[i] = acu_value(p->out[i]);
    }
    return acu_npp_resize_batch(xs, NULL, outs, NULL, 2, ACU_LINEAR);
}

/* Cached graphs have the calls: that of a batch, whose list is the graph's, for its images only. */
static void repeated(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    pictures p;
    double have[MOST];
    for (int i = 0; i < 2; i++) {
        p.in[i] = blank(device, ACU_U8, 4, 6, 3);
        p.out[i] = blank(device, ACU_U8, 2, 3, 3);
        assert_works(acu_sync(device, acu_fill(p.in[i], acu_u8((uint8_t)(10 + i))), NULL));
    }
    with_repeated(device, one_resized, &p);
    with_repeated(device, all_resized, &p);
    acu_tensor *other = p.in[0];
    p.in[0] = p.in[1];
    p.in[1] = other;
    with_repeated(device, all_resized, &p);
    for (int i = 0; i < 2; i++) {
        numbers_of(device, p.out[i], have);
        for (int k = 0; k < 2 * 3 * 3; k++)
            assert_int_equal((int)have[k], 11 - i);
        acu_tensor_release(p.in[i]);
        acu_tensor_release(p.out[i]);
    }
    with_end(device);
}

/* Replayed, with other pixels each time; a batch keeps its list as long as the graph. */
static void in_a_graph(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    acu_tensor *in[2], *out[2];
    acu_op *xs[2] = {0}, *outs[2] = {0};
    acu_graph *graph;
    double have[MOST];
    for (int i = 0; i < 2; i++) {
        in[i] = blank(device, ACU_U8, 4, 6, 3);
        out[i] = blank(device, ACU_U8, 2, 3, 3);
        xs[i] = acu_value(in[i]);
        outs[i] = acu_value(out[i]);
    }
    acu_op *op = acu_npp_resize_batch(xs, NULL, outs, NULL, 2, ACU_LINEAR);
    assert_works(acu_graph_load(device, op, NULL, &graph));
    for (int turn = 1; turn < 4; turn++) {
        for (int i = 0; i < 2; i++)
            assert_works(acu_sync(device, acu_fill(in[i], acu_u8((uint8_t)(10 * turn + i))), NULL));
        assert_works(acu_sync(device, acu_replay(graph), NULL));
        for (int i = 0; i < 2; i++) {
            numbers_of(device, out[i], have);
            for (int k = 0; k < 2 * 3 * 3; k++)
                assert_int_equal((int)have[k], 10 * turn + i);
        }
    }
    acu_graph_release(graph);
    for (int i = 0; i < 2; i++) {
        acu_tensor_release(in[i]);
        acu_tensor_release(out[i]);
    }
    with_end(device);
}

/* ---- refusals and failures ---- */

static acu_status resize_part(acu_device *device, acu_tensor *in, acu_region from, acu_tensor *out,
                              acu_region to)
{
    return acu_sync(device, acu_npp_resize(in, &from, out, &to, ACU_LINEAR), NULL);
}

static void refused_regions(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    acu_tensor *in = blocks(device, ACU_U8, 8, 8, 3), *out = blank(device, ACU_U8, 8, 8, 3);
    const acu_region all = {0, 0, 8, 8}, outside = {4, 0, 5, 8}, empty = {1, 1, 0, 4};
    const acu_region half = {0, 0.5, 4, 4}, none = {0, 0, NAN, 4}, before = {-1, 0, 4, 4};
    assert_fails(resize_part(device, in, outside, out, all), ACU_ERR_INVALID, "operand 1): its");
    assert_fails(resize_part(device, in, all, out, outside), ACU_ERR_INVALID, "operand 0): its");
    assert_fails(resize_part(device, in, empty, out, all), ACU_ERR_INVALID, "empty");
    assert_fails(resize_part(device, in, none, out, all), ACU_ERR_INVALID, "empty");
    assert_fails(resize_part(device, in, before, out, all), ACU_ERR_INVALID, "not in the image");
    assert_fails(resize_part(device, in, half, out, all), ACU_ERR_INVALID, "whole pixels");
    assert_fails(acu_sync(device, acu_npp_border(in, out, 1, 0, NULL), NULL), ACU_ERR_SHAPE,
                 "does not lie");
    assert_fails(acu_sync(device, acu_npp_border(in, out, 0, -1, NULL), NULL), ACU_ERR_SHAPE,
                 "does not lie");
    const double color[4] = {256, 0, 0, 0};
    assert_fails(acu_sync(device, acu_npp_border(in, out, 0, 0, color), NULL), ACU_ERR_INVALID,
                 "colour");
    acu_tensor_release(in);
    acu_tensor_release(out);
    with_end(device);
}

static acu_status resize(acu_device *device, acu_op *x, acu_op *out, int filter)
{
    return acu_sync(device, acu_npp_resize(x, NULL, out, NULL, (acu_filter)filter), NULL);
}

static acu_op *image(acu_dtype dtype, int channels)
{
    return acu_zeros(dtype, ACU_SHAPE(8, 8, channels));
}

static void refused_images(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    acu_tensor *t = blocks(device, ACU_U8, 8, 8, 3);
    assert_fails(resize(device, image(ACU_F16, 3), image(ACU_F16, 3), ACU_LINEAR), ACU_ERR_DTYPE,
                 "u8, u16 and f32");
    assert_fails(resize(device, image(ACU_U8, 2), image(ACU_U8, 2), ACU_LINEAR), ACU_ERR_SHAPE,
                 "1, 3 or 4");
    assert_fails(resize(device, image(ACU_U8, 3), image(ACU_U8, 4), ACU_LINEAR), ACU_ERR_DTYPE,
                 "as many channels");
    assert_fails(resize(device, image(ACU_U8, 3), image(ACU_U8, 3), ACU_LANCZOS4), ACU_ERR_INVALID,
                 "does not have filter");
    assert_fails(resize(device, image(ACU_U8, 3), image(ACU_U8, 3), -1), ACU_ERR_INVALID,
                 "does not have filter");
    assert_fails(resize(device, acu_zeros(ACU_U8, ACU_SHAPE(2, 8, 8, 3)), image(ACU_U8, 3), 0),
                 ACU_ERR_SHAPE, "one image");
    assert_fails(resize(device, acu_zeros(ACU_U8, ACU_SHAPE(4, 4, 3)), image(ACU_U8, 3), ACU_AREA),
                 ACU_ERR_INVALID, "smaller");
    assert_fails(resize(device, acu_value(t), acu_value(t), ACU_LINEAR), ACU_ERR_INVALID,
                 "overlaps");
    assert_fails(resize(device, acu_permute(t, 1, 0, 2), image(ACU_U8, 3), ACU_LINEAR),
                 ACU_ERR_INVALID, "dense");
    acu_tensor *map = blocks(device, ACU_F32, 8, 8, 0);
    acu_op *narrow = acu_zeros(ACU_F32, ACU_SHAPE(8, 7));
    acu_op *wide = acu_zeros(ACU_F64, ACU_SHAPE(8, 8));
    assert_fails(acu_sync(device, acu_npp_remap(t, narrow, map, image(ACU_U8, 3), ACU_LINEAR),
                          NULL), ACU_ERR_SHAPE, "a map must");
    assert_fails(acu_sync(device, acu_npp_remap(t, map, wide, image(ACU_U8, 3), ACU_LINEAR), NULL),
                 ACU_ERR_DTYPE, "a map must");
    assert_fails(acu_sync(device, acu_npp_remap(t, map, map, image(ACU_U8, 3), ACU_AREA), NULL),
                 ACU_ERR_INVALID, "does not have filter");
    acu_tensor_release(map);
    acu_tensor_release(t);
    with_end(device);
}

static void refused_batches(void **state)
{
    (void)state;
    acu_device *device = open_npp();
    acu_op *none = NULL;
    assert_fails(acu_sync(device, acu_npp_resize_batch(&none, NULL, &none, NULL, 0, ACU_LINEAR),
                          NULL), ACU_ERR_LIMIT, "1 to 256");
    acu_op *one = image(ACU_U8, 3);
    acu_op *op = acu_npp_resize_batch(&one, NULL, NULL, NULL, 1, ACU_LINEAR);
    assert_fails(acu_sync(device, op, NULL), ACU_ERR_INVALID, "one is NULL");
    acu_op *xs[2] = {image(ACU_U8, 3), acu_zeros(ACU_U8, ACU_SHAPE(8, 9, 3))};
    acu_op *outs[2] = {image(ACU_U8, 3), image(ACU_U8, 3)};
    assert_fails(acu_sync(device, acu_npp_resize_batch(xs, NULL, outs, NULL, 2, ACU_LINEAR), NULL),
                 ACU_ERR_SHAPE, "one size");
    acu_op *x = image(ACU_U16, 3), *out = image(ACU_U16, 3);
    assert_fails(acu_sync(device, acu_npp_resize_batch(&x, NULL, &out, NULL, 1, ACU_LINEAR), NULL),
                 ACU_ERR_DTYPE, "u8 and f32");
    with_end(device);
}

static acu_status answered(acu_device *device, int status)
{
    atomic_store(&fake->fail_call, status);
    acu_status st = resize(device, image(ACU_U8, 3), image(ACU_U8, 3), ACU_LINEAR);
    atomic_store(&fake->fail_call, 0);
    return st;
}

/* Those of before 13.2: -16 is another error from then on. */
static void answers(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_npp();
    assert_fails(answered(device, -8), ACU_ERR_DRIVER,
                 "nppiResize_8u_C3R_Ctx answered NPP_NULL_POINTER_ERROR");
    assert_fails(answered(device, -14), ACU_ERR_INVALID, "NPP_STEP_ERROR (-14)");
    assert_fails(answered(device, -16), ACU_ERR_INVALID, "NPP_FFT_FLAG_ERROR");
    assert_fails(answered(device, -22), ACU_ERR_NOT_SUPPORTED, "NPP_INTERPOLATION_ERROR");
    assert_fails(answered(device, 29), ACU_ERR_INVALID, "NPP_WRONG_INTERSECTION_ROI_WARNING");
    assert_fails(answered(device, -777), ACU_ERR_DRIVER, "-777");
    assert_works(answered(device, 10000)); /* slow, but done */
    assert_works(answered(device, 0));
    with_end(device);
}

/* From 13.2 on. */
static void later_answers(void **state)
{
    (void)state;
    test_software_only();
    setenv("FAKE_NPP_LATER", "1", 1);
    acu_device *device = open_npp();
    assert_int_equal(acu_vendor_version(ACU_VENDOR_NPPIG), 130200);
    assert_fails(answered(device, -16), ACU_ERR_INVALID, "NPP_STEP_ERROR (-16)");
    assert_fails(answered(device, -14), ACU_ERR_NOT_SUPPORTED, "NPP_NOT_SUPPORTED_MODE_ERROR");
    assert_fails(answered(device, -22), ACU_ERR_INVALID, "NPP_MIRROR_FLIP_ERROR");
    assert_fails(answered(device, -8), ACU_ERR_DRIVER, "NPP_NULL_POINTER_ERROR");
    with_end(device);
}

static void answers_of_later_versions(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("later_answers");
}

static acu_status failing_batch(acu_device *device)
{
    acu_op *xs[2] = {image(ACU_U8, 3), image(ACU_U8, 3)};
    acu_op *outs[2] = {image(ACU_U8, 3), image(ACU_U8, 3)};
    return acu_sync(device, acu_npp_resize_batch(xs, NULL, outs, NULL, 2, ACU_LINEAR), NULL);
}

static void without_memory(void **state)
{
    (void)state;
    test_software_only();
    acu_device *device = open_npp();
    for (uint64_t n = 1;; n++) {
        acu_debug_fail_alloc(n, false);
        acu_status status = failing_batch(device);
        bool reached = acu_debug_alloc_count() >= n;
        acu_debug_fail_alloc(0, false);
        if (status != ACU_OK)
            assert_int_equal(status, ACU_ERR_NO_MEMORY);
        if (!reached)
            break;
    }
    with_end(device);
}

/* Each call that a batch makes of the driver, failing once: an error with the driver's word, and
 * nothing left; the next one works. */
static void without_the_driver(void **state)
{
    (void)state;
    test_software_only();
    static const acu_driver_call calls[] = {
        ACU_CALL_DeviceGetAttribute, ACU_CALL_StreamGetFlags, ACU_CALL_MemAllocFromPoolAsync,
        ACU_CALL_MemcpyHtoDAsync,    ACU_CALL_StreamCreate};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (uint64_t nth = 1; nth < 8; nth++) {
            acu_device *device = test_open();
            const acu_driver_fault fault = {.size = sizeof fault, .call = calls[i], .nth = nth};
            with_fake(ACU_VENDOR_NPPIG, "npp/libfake_npp.so");
            assert_works(acu_driver_fail(&fault));
            acu_status status = failing_batch(device);
            bool hit = acu_driver_fault_hits() > 0;
            acu_driver_fail_clear();
            assert_true(hit || status == ACU_OK);
            status = failing_batch(device);
            if (status != ACU_OK) /* it was the library that could not be made ready */
                assert_int_equal(calls[i], ACU_CALL_DeviceGetAttribute);
            with_end(device);
            if (!hit)
                break;
        }
}

int main(int count, char **words)
{
    static const test_case cases[] = {{"later_answers", later_answers}};
    if (count > 1)
        return test_run_case(cases, sizeof cases / sizeof *cases, words[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions),         cmocka_unit_test(windows),
        cmocka_unit_test(batches),         cmocka_unit_test(maps),
        cmocka_unit_test(borders),         cmocka_unit_test(in_a_graph), cmocka_unit_test(repeated),
        cmocka_unit_test(refused_regions), cmocka_unit_test(refused_images),
        cmocka_unit_test(refused_batches), cmocka_unit_test(answers),
        cmocka_unit_test(without_memory),  cmocka_unit_test(without_the_driver),
        cmocka_unit_test(answers_of_later_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
