/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Levels of images beside a reference: thresholds, histograms, tables, colours, composites. */
#include "image/pictures.h"

#include <acuda/image_filters.h>

#include "support/one_device.h"

static const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_F16, ACU_BF16, ACU_F32};

static double thresholded(acu_threshold_kind kind, double v, double limit, double value)
{
    switch (kind) {
    case ACU_THRESHOLD_BINARY: return v > limit ? value : 0;
    case ACU_THRESHOLD_BINARY_INVERSE: return v > limit ? 0 : value;
    case ACU_THRESHOLD_TRUNCATE: return v > limit ? limit : v;
    case ACU_THRESHOLD_TO_ZERO: return v > limit ? v : 0;
    default: return v > limit ? 0 : v;
    }
}

static void thresholds(void **state)
{
    (void)state;
    for (int turn = 0; turn < 10; turn++) {
        acu_dtype dtype = dtypes[turn % 5];
        acu_threshold_kind kind = (acu_threshold_kind)((turn + turn / 5) % 5);
        const acu_image_options o = {.size = sizeof o, .layout = turn % 2 ? ACU_CHW : ACU_HWC};
        picture p = picture_noise(1, 5, 33, 3, dtype), want = picture_new(1, 5, 33, 3);
        double limit = floor(0.5 * full_of(dtype) * 64) / 64, value = full_of(dtype);
        EACH_PIXEL(&p)
            *pixel(&want, n, y, x, c) = thresholded(kind, *pixel(&p, n, y, x, c), limit, value);
        acu_tensor *image = picture_upload(device, &p, dtype, o.layout, 3, 1);
        assert_works(acu_sync(device, acu_into(image, acu_threshold(image, kind, limit, value, &o)),
                              NULL));
        assert_picture(image, &want, o.layout, 0, "threshold, in place");
        acu_tensor_release(image);
        free(p.at);
        free(want.at);
    }
}

static void gammas(void **state)
{
    (void)state;
    for (int turn = 0; turn < 5; turn++) {
        picture p = picture_noise(2, 3, 7, 4, dtypes[turn]), want = picture_new(2, 3, 7, 4);
        double full = full_of(dtypes[turn]);
        EACH_PIXEL(&p)
            *pixel(&want, n, y, x, c) = full * pow(*pixel(&p, n, y, x, c) / full, 0.45);
        acu_tensor *image = picture_upload(device, &p, dtypes[turn], ACU_HWC, 4, 0), *made = NULL;
        assert_works(acu_sync(device, acu_gamma(image, 0.45, NULL), &made));
        assert_picture(made, &want, ACU_HWC, 1e-5, "gamma");
        acu_tensor_release(image);
        acu_tensor_release(made);
        free(p.at);
        free(want.at);
    }
}

/* ---- histograms ---------------------------------------------------------------------------- */

/* Two hills, so that there is a threshold; some numbers do not occur. */
static picture hills(int n, int h, int w, int c)
{
    picture p = picture_new(n, h, w, c);
    for (size_t i = 0; i < picture_size(&p); i++) {
        double hill = (double)(test_below(&numbers, 40) + test_below(&numbers, 40));
        p.at[i] = test_below(&numbers, 3) ? 30 + hill : 140 + hill;
    }
    return p;
}

static void count(const picture *p, int n, int c, uint32_t counts[256])
{
    memset(counts, 0, 256 * sizeof *counts);
    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < p->w; x++)
            counts[(int)*pixel(p, n, y, x, c)]++;
}

static void histograms(void **state)
{
    (void)state;
    picture p = hills(2, 150, 40, 3);
    acu_tensor *image = picture_upload(device, &p, ACU_U8, ACU_CHW, 4, 1);
    acu_tensor *turned = window_of(device, ACU_U32, ACU_SHAPE(2, 3, 256), 1);
    const acu_image_options o = {.size = sizeof o, .layout = ACU_CHW};
    uint32_t want[256];
    uint32_t *have = result_of(device, acu_histogram(image, &o), ACU_U32, ACU_SHAPE(2, 3, 256));
    for (int i = 0; i < 6; i++) {
        count(&p, i / 3, i % 3, want);
        assert_memory_equal(have + 256 * i, want, sizeof want);
    }
    free(have);
    have = result_of(device, acu_into(turned, acu_histogram(image, &o)), ACU_U32,
                     ACU_SHAPE(2, 3, 256));
    assert_memory_equal(have + 256 * 5, want, sizeof want);
    free(have);
    acu_tensor_release(turned);
    acu_tensor_release(image);
    free(p.at);
}

static int otsu_of(const uint32_t counts[256])
{
    double most = -1;
    int best = 0;
    for (int t = 0; t < 256; t++) {
        double below = 0, above = 0, low = 0, high = 0;
        for (int i = 0; i < 256; i++) {
            below += i <= t ? counts[i] : 0;
            low += i <= t ? (double)i * counts[i] : 0;
            above += i > t ? counts[i] : 0;
            high += i > t ? (double)i * counts[i] : 0;
        }
        if (below == 0 || above == 0)
            continue;
        double apart = low / below - high / above, between = below * above * apart * apart;
        if (between > most * (1 + 1e-9)) {
            most = between;
            best = t;
        }
    }
    return best;
}

static void otsus(void **state)
{
    (void)state;
    picture p = hills(2, 20, 30, 1), want = picture_new(2, 20, 30, 1);
    acu_tensor *image = picture_upload(device, &p, ACU_U8, ACU_HWC, 4, 1), *made = NULL;
    uint32_t counts[256];
    float *limits = result_of(device, acu_otsu(image, NULL), ACU_F32, ACU_SHAPE(2));
    for (int n = 0; n < 2; n++) {
        count(&p, n, 0, counts);
        assert_int_equal((int)limits[n], otsu_of(counts));
    }
    EACH_PIXEL(&p)
        *pixel(&want, n, y, x, c) = *pixel(&p, n, y, x, c) > (double)limits[n] ? 200 : 0;
    assert_works(acu_sync(device, acu_threshold_otsu(image, ACU_THRESHOLD_BINARY, 200, NULL),
                          &made));
    assert_picture(made, &want, ACU_HWC, 0, "otsu");
    acu_tensor_release(image);
    acu_tensor_release(made);
    free(limits);
    free(p.at);
    free(want.at);
}

static void equalized(void **state)
{
    (void)state;
    picture p = hills(2, 21, 30, 2), want = picture_new(2, 21, 30, 2);
    for (int i = 0; i < 20 * 30; i++)
        p.at[i] = 77; /* most of one image: one number */
    for (int n = 0; n < 2; n++)
        for (int c = 0; c < 2; c++) {
            uint32_t counts[256];
            count(&p, n, c, counts);
            int first = 0;
            while (!counts[first])
                first++;
            for (int y = 0; y < p.h; y++)
                for (int x = 0; x < p.w; x++) {
                    double sum = 0;
                    for (int i = first + 1; i <= (int)*pixel(&p, n, y, x, c); i++)
                        sum += counts[i];
                    *pixel(&want, n, y, x, c) = 255 * sum / ((double)p.h * p.w - counts[first]);
                }
        }
    acu_tensor *image = picture_upload(device, &p, ACU_U8, ACU_HWC, 4, 0), *made = NULL;
    assert_works(acu_sync(device, acu_equalize(image, NULL), &made));
    assert_picture(made, &want, ACU_HWC, 1e-6, "equalize");
    acu_tensor_release(made);
    assert_works(acu_sync(device, acu_into(image, acu_equalize(image, NULL)), NULL));
    assert_picture(image, &want, ACU_HWC, 1e-6, "equalize, in place");
    acu_tensor_release(image);
    free(p.at);
    free(want.at);
}

static void tables(void **state)
{
    (void)state;
    picture p = picture_noise(1, 6, 10, 3, ACU_U8), want = picture_new(1, 6, 10, 3);
    uint16_t one[256], three[3 * 256];
    for (int i = 0; i < 3 * 256; i++) {
        three[i] = (uint16_t)test_below(&numbers, 65536);
        one[i % 256] = (uint16_t)(i * 91);
    }
    acu_tensor *image = picture_upload(device, &p, ACU_U8, ACU_HWC, 3, 1), *made = NULL;
    acu_tensor *table = tensor_with(device, ACU_U16, ACU_SHAPE(256), one);
    acu_tensor *each = tensor_with(device, ACU_U16, ACU_SHAPE(3, 256), three);
    EACH_PIXEL(&p)
        *pixel(&want, n, y, x, c) = one[(int)*pixel(&p, n, y, x, c)];
    assert_works(acu_sync(device, acu_lut(image, table, NULL), &made));
    assert_int_equal(acu_tensor_dtype(made), ACU_U16);
    assert_picture(made, &want, ACU_HWC, 0, "one table");
    acu_tensor_release(made);
    EACH_PIXEL(&p)
        *pixel(&want, n, y, x, c) = three[256 * c + (int)*pixel(&p, n, y, x, c)];
    assert_works(acu_sync(device, acu_lut(image, each, NULL), &made));
    assert_picture(made, &want, ACU_HWC, 0, "a table for each channel");
    acu_tensor_release(made);
    acu_tensor_release(image);
    acu_tensor_release(table);
    acu_tensor_release(each);
    free(p.at);
    free(want.at);
}

/* ---- colours ------------------------------------------------------------------------------- */

static void adjusted(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        bool reversed = turn == 1, alpha = turn == 2;
        const acu_image_options o = {.size = sizeof o, .pixels = reversed ? ACU_PIXELS_BGR
                                                               : alpha ? ACU_PIXELS_RGBA
                                                                       : ACU_PIXELS_ANY};
        const double b = 1.1, k = 0.8, s = 1.5, hue = turn ? 120 : 0;
        picture p = picture_noise(1, 4, 9, alpha ? 4 : 3, ACU_F32);
        picture want = picture_new(1, 4, 9, p.c);
        EACH_PIXEL(&p) {
            double rgb[3], luma;
            for (int i = 0; i < 3; i++)
                rgb[i] = (*pixel(&p, n, y, x, reversed ? 2 - i : i) * b - 0.5) * k + 0.5;
            luma = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
            for (int i = 0; i < 3; i++)
                rgb[i] = luma + s * (rgb[i] - luma);
            int colour = reversed ? 2 - c : c; /* turned by a third: red goes to green */
            *pixel(&want, n, y, x, c) = c == 3 ? *pixel(&p, n, y, x, 3)
                                               : rgb[hue > 0 ? (colour + 2) % 3 : colour];
        }
        acu_tensor *image = picture_upload(device, &p, ACU_F32, ACU_HWC, 3, 0), *made = NULL;
        assert_works(acu_sync(device, acu_adjust(image, b, k, s, hue, &o), &made));
        assert_picture(made, &want, ACU_HWC, 1e-5, "adjusted");
        acu_tensor_release(image);
        acu_tensor_release(made);
        free(p.at);
        free(want.at);
    }
}

static void composites(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        bool premultiplied = turn % 2;
        int channels = turn < 2 ? 3 : 4;
        picture under = picture_noise(1, 4, 9, channels, ACU_U16);
        picture over = picture_noise(1, 4, 9, 4, ACU_U16), want = picture_new(1, 4, 9, channels);
        *pixel(&over, 0, 0, 0, 3) = 0;
        if (channels == 4)
            *pixel(&under, 0, 0, 0, 3) = 0; /* nothing over nothing */
        EACH_PIXEL(&want) {
            double a = *pixel(&over, n, y, x, 3) / 65535;
            double own = channels == 4 ? *pixel(&under, n, y, x, 3) / 65535 : 1;
            double whole = a + own * (1 - a), high = *pixel(&over, n, y, x, c);
            double low = *pixel(&under, n, y, x, c);
            *pixel(&want, n, y, x, c) = c == 3 ? 65535 * whole
                                        : premultiplied ? high + low * (1 - a)
                                        : whole > 0 ? (high * a + low * own * (1 - a)) / whole : 0;
        }
        acu_tensor *lower = picture_upload(device, &under, ACU_U16, ACU_HWC, 3, 1);
        acu_tensor *upper = picture_upload(device, &over, ACU_U16, ACU_HWC, 3, 0);
        assert_works(acu_sync(device, acu_into(lower, acu_composite(lower, upper, premultiplied,
                                                                    NULL)), NULL));
        assert_picture(lower, &want, ACU_HWC, 1e-5, "composite, in place");
        acu_tensor_release(lower);
        acu_tensor_release(upper);
        free(under.at);
        free(over.at);
        free(want.at);
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
    acu_tensor *x = NULL, *real = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(8, 9, 3), &x));
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(8, 9, 3), &real));
    const acu_image_options gray = {.size = sizeof gray, .pixels = ACU_PIXELS_GRAY};
    refuses(acu_threshold(x, (acu_threshold_kind)5, 1, 2, NULL), ACU_ERR_INVALID, "of kind 5");
    refuses(acu_threshold_otsu(x, (acu_threshold_kind)-1, 2, NULL), ACU_ERR_INVALID, "kind -1");
    refuses(acu_threshold_otsu(x, ACU_THRESHOLD_BINARY, 2, NULL), ACU_ERR_SHAPE, "one channel");
    refuses(acu_otsu(real, NULL), ACU_ERR_DTYPE, "otsu takes an image of u8");
    refuses(acu_histogram(real, NULL), ACU_ERR_DTYPE, "histogram|f32 [8, 9, 3]");
    refuses(acu_equalize(real, NULL), ACU_ERR_DTYPE, "equalize");
    refuses(acu_gamma(x, 0, NULL), ACU_ERR_INVALID, "gamma of 0");
    refuses(acu_lut(real, acu_zeros(ACU_U8, ACU_SHAPE(256)), NULL), ACU_ERR_DTYPE, "lut|f32");
    refuses(acu_lut(x, acu_zeros(ACU_U8, ACU_SHAPE(255)), NULL), ACU_ERR_SHAPE, "u8 [255]");
    refuses(acu_lut(x, acu_zeros(ACU_U8, ACU_SHAPE(2, 256)), NULL), ACU_ERR_SHAPE, "[3, 256]");
    refuses(acu_lut(x, acu_zeros(ACU_I32, ACU_SHAPE(256)), NULL), ACU_ERR_DTYPE, "i32");
    refuses(acu_adjust(x, -1, 1, 1, 0, NULL), ACU_ERR_INVALID, "adjust by -1");
    refuses(acu_adjust(x, 1, 1, 1, 0, &gray), ACU_ERR_INVALID, "not gray");
    refuses(acu_composite(x, x, false, NULL), ACU_ERR_SHAPE, "4 channels");
    refuses(acu_composite(x, acu_zeros(ACU_F32, ACU_SHAPE(8, 9, 4)), false, NULL), ACU_ERR_DTYPE,
            "under f32");
    acu_tensor_release(x);
    acu_tensor_release(real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(thresholds), DEVICE_TEST(gammas),     DEVICE_TEST(histograms),
        DEVICE_TEST(otsus),      DEVICE_TEST(equalized),  DEVICE_TEST(tables),
        DEVICE_TEST(adjusted),   DEVICE_TEST(composites), DEVICE_TEST(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
