/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Formats of pixels, both ways, and everything at once, beside a reference in double. */
#include "image/pictures.h"

#include "support/one_device.h"

#include <stdio.h>

/* ---- reference ----------------------------------------------------------------------------- */

static const double red_of[] = {0.299, 0.2126, 0.2627}, blue_of[] = {0.114, 0.0722, 0.0593};

static int chroma_x(acu_pixels p) { return p == ACU_PIXELS_YUV444 ? 0 : 1; }
static int chroma_y(acu_pixels p)
{
    return p == ACU_PIXELS_NV12 || p == ACU_PIXELS_NV21 || p == ACU_PIXELS_P010 ||
           p == ACU_PIXELS_YUV420;
}

/* Y, U, V of an image in planes, as they are stored; one image. */
typedef struct planes {
    int h, w, ch, cw;
    double *y, *u, *v;
} planes;

static planes planes_new(acu_pixels pixels, int h, int w)
{
    planes p = {h, w, (h + (1 << chroma_y(pixels)) - 1) >> chroma_y(pixels),
                (w + (1 << chroma_x(pixels)) - 1) >> chroma_x(pixels), NULL, NULL, NULL};
    p.y = calloc((size_t)(h * w), sizeof(double));
    p.u = calloc((size_t)(p.ch * p.cw), sizeof(double));
    p.v = calloc((size_t)(p.ch * p.cw), sizeof(double));
    return p;
}

static planes planes_noise(acu_pixels pixels, int h, int w)
{
    planes p = planes_new(pixels, h, w);
    double unit = pixels == ACU_PIXELS_P010 ? 64 : 1;
    uint64_t codes = pixels == ACU_PIXELS_P010 ? 1024 : 256;
    for (int i = 0; i < h * w; i++)
        p.y[i] = unit * (double)test_below(&numbers, codes);
    for (int i = 0; i < p.ch * p.cw; i++) {
        p.u[i] = unit * (double)test_below(&numbers, codes);
        p.v[i] = unit * (double)test_below(&numbers, codes);
    }
    return p;
}

static void planes_free(planes *p)
{
    free(p->y);
    free(p->u);
    free(p->v);
}

/* Black, white and chroma's reach of stored numbers, and its middle. */
static void levels(acu_pixels pixels, acu_range range, double at[4])
{
    double scale = pixels == ACU_PIXELS_P010 ? 256 : 1; /* 4 codes for each of 8 bits, times 64 */
    bool full = range == ACU_FULL;
    double top = pixels == ACU_PIXELS_P010 ? 1023 * 64 : 255;
    at[0] = full ? 0 : 16 * scale;
    at[1] = full ? top : 219 * scale;
    at[2] = full ? top : 224 * scale;
    at[3] = 128 * scale;
}

static double limit(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

/* R, G, B from 0 to 1 of a pixel. */
static void decode(const planes *p, acu_pixels pixels, const acu_image_options *o, int y, int x,
                   double rgb[3])
{
    double at[4], kr = red_of[o->matrix], kb = blue_of[o->matrix], kg = 1 - kr - kb;
    levels(pixels, o->range, at);
    int c = (y >> chroma_y(pixels)) * p->cw + (x >> chroma_x(pixels));
    double luma = (p->y[y * p->w + x] - at[0]) / at[1];
    double u = (p->u[c] - at[3]) / at[2], v = (p->v[c] - at[3]) / at[2];
    double r = luma + 2 * (1 - kr) * v, b = luma + 2 * (1 - kb) * u;
    rgb[0] = limit(r);
    rgb[2] = limit(b);
    rgb[1] = limit((luma - kr * r - kb * b) / kg);
}

/* Where in one tensor with all planes each number is; `k`: 0 Y, 1 U, 2 V. */
static size_t place(const planes *p, acu_pixels pixels, int k, int y, int x)
{
    size_t w = (size_t)p->w, h = (size_t)p->h, row = (size_t)y, column = (size_t)x;
    size_t chroma = (size_t)(p->ch * p->cw);
    switch (pixels) {
    case ACU_PIXELS_NV12:
    case ACU_PIXELS_P010:
        return k == 0 ? row * w + column : h * w + row * w + 2 * column + (size_t)(k - 1);
    case ACU_PIXELS_NV21:
        return k == 0 ? row * w + column : h * w + row * w + 2 * column + (size_t)(2 - k);
    case ACU_PIXELS_YUYV:
        return k == 0 ? (row * w + column) * 2 : (row * w + 2 * column) * 2 + (k == 1 ? 1 : 3);
    case ACU_PIXELS_UYVY:
        return k == 0 ? (row * w + column) * 2 + 1 : (row * w + 2 * column) * 2 + (k == 1 ? 0 : 2);
    case ACU_PIXELS_YUV444:
        return (row * w + column) * 3 + (size_t)k;
    default:
        return k == 0 ? row * w + column
                      : h * w + (size_t)(k - 1) * chroma + row * (size_t)p->cw + column;
    }
}

static acu_shape shape_of(const planes *p, acu_pixels pixels)
{
    if (pixels == ACU_PIXELS_YUV444)
        return ACU_SHAPE(p->h, p->w, 3);
    if (pixels == ACU_PIXELS_YUYV || pixels == ACU_PIXELS_UYVY)
        return ACU_SHAPE(p->h, p->w, 2);
    return ACU_SHAPE(pixels == ACU_PIXELS_YUV422 ? 2 * p->h : p->h * 3 / 2, p->w);
}

#define EACH_NUMBER(p)                                                                             \
    for (int k = 0; k < 3; k++)                                                                    \
        for (int y = 0; y < (k ? (p)->ch : (p)->h); y++)                                           \
            for (int x = 0; x < (k ? (p)->cw : (p)->w); x++)

static double *number_of(const planes *p, int k, int y, int x)
{
    return k == 0 ? &p->y[y * p->w + x] : &(k == 1 ? p->u : p->v)[y * p->cw + x];
}

static acu_tensor *planes_upload(const planes *p, acu_pixels pixels, int gaps)
{
    acu_dtype dtype = pixels == ACU_PIXELS_P010 ? ACU_U16 : ACU_U8;
    acu_tensor *t = window_of(device, dtype, shape_of(p, pixels), gaps);
    void *memory = calloc(1, acu_tensor_bytes(t));
    EACH_NUMBER(p)
        put_whole(dtype, memory, place(p, pixels, k, y, x), (int64_t)*number_of(p, k, y, x));
    assert_works(acu_write_sync(t, memory, acu_tensor_bytes(t)));
    free(memory);
    return t;
}

/* ---- from planes --------------------------------------------------------------------------- */

static const acu_pixels of_planes[] = {ACU_PIXELS_NV12, ACU_PIXELS_NV21, ACU_PIXELS_P010,
                                       ACU_PIXELS_YUV420, ACU_PIXELS_YUV422, ACU_PIXELS_YUV444,
                                       ACU_PIXELS_YUYV, ACU_PIXELS_UYVY};

static void from_planes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++)
        for (int turn = 0; turn < 6; turn++) {
            acu_image_options o = {.size = sizeof o, .matrix = (acu_matrix)(turn % 3),
                                   .range = turn % 2 ? ACU_FULL : ACU_LIMITED};
            acu_pixels pixels = of_planes[i];
            bool reversed = turn == 4, gray = turn == 5;
            bool dense = pixels == ACU_PIXELS_YUV420 || pixels == ACU_PIXELS_YUV422;
            planes p = planes_noise(pixels, 2 + 2 * (turn % 3), 6);
            acu_tensor *x = planes_upload(&p, pixels, dense ? 0 : 1), *y = NULL;
            picture want = picture_new(1, p.h, p.w, gray ? 1 : reversed ? 4 : 3);
            double full = pixels == ACU_PIXELS_P010 ? 65535 : 255, rgb[3];
            for (int row = 0; row < p.h; row++)
                for (int column = 0; column < p.w; column++) {
                    decode(&p, pixels, &o, row, column, rgb);
                    double luma = red_of[o.matrix] * rgb[0] + blue_of[o.matrix] * rgb[2] +
                                  (1 - red_of[o.matrix] - blue_of[o.matrix]) * rgb[1];
                    for (int c = 0; c < want.c; c++)
                        *pixel(&want, 0, row, column, c) =
                            full * (gray ? luma : c == 3 ? 1 : rgb[reversed ? 2 - c : c]);
                }
            assert_works(acu_sync(device, acu_color(x, pixels, gray ? ACU_PIXELS_GRAY
                                                               : reversed ? ACU_PIXELS_BGRA
                                                                          : ACU_PIXELS_RGB, &o),
                                  &y));
            assert_picture(y, &want, ACU_HWC, 1e-4, acu_pixels_name(pixels));
            acu_tensor_release(x);
            acu_tensor_release(y);
            planes_free(&p);
            free(want.at);
        }
}

/* ---- to planes ----------------------------------------------------------------------------- */

/* The stored numbers of a picture in RGB, full being `full`. */
static void encode(const picture *rgb, double full, acu_pixels pixels, const acu_image_options *o,
                   planes *p)
{
    double at[4], kr = red_of[o->matrix], kb = blue_of[o->matrix];
    levels(pixels, o->range, at);
    double *count = calloc((size_t)(p->ch * p->cw), sizeof *count);
    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < p->w; x++) {
            double r = *pixel(rgb, 0, y, x, 0) / full, g = *pixel(rgb, 0, y, x, 1) / full;
            double b = *pixel(rgb, 0, y, x, 2) / full, luma = kr * r + (1 - kr - kb) * g + kb * b;
            int c = (y >> chroma_y(pixels)) * p->cw + (x >> chroma_x(pixels));
            p->y[y * p->w + x] = at[0] + at[1] * luma;
            p->u[c] += at[2] * (b - luma) / (2 * (1 - kb));
            p->v[c] += at[2] * (r - luma) / (2 * (1 - kr));
            count[c]++;
        }
    for (int c = 0; c < p->ch * p->cw; c++) {
        p->u[c] = at[3] + p->u[c] / count[c];
        p->v[c] = at[3] + p->v[c] / count[c];
    }
    free(count);
}

static void to_planes(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++)
        for (int turn = 0; turn < 3; turn++) {
            acu_image_options o = {.size = sizeof o, .matrix = (acu_matrix)turn,
                                   .range = turn % 2 ? ACU_FULL : ACU_LIMITED};
            acu_pixels pixels = of_planes[i];
            acu_dtype dtype = turn == 2 ? ACU_F32 : ACU_U8;
            picture rgb = picture_noise(1, 4, 6, 3, dtype);
            planes p = planes_new(pixels, 4, 6);
            encode(&rgb, full_of(dtype), pixels, &o, &p);
            acu_tensor *source = picture_upload(device, &rgb, dtype, ACU_HWC, 3, 1), *made = NULL;
            assert_works(acu_sync(device, acu_color(source, ACU_PIXELS_RGB, pixels, &o), &made));
            acu_dtype to = acu_tensor_dtype(made);
            assert_int_equal(to, pixels == ACU_PIXELS_P010 ? ACU_U16 : ACU_U8);
            assert_true(acu_shape_equal(acu_tensor_shape(made), shape_of(&p, pixels)));
            void *memory = malloc(acu_tensor_bytes(made));
            assert_works(acu_read_sync(made, memory, acu_tensor_bytes(made)));
            EACH_NUMBER(&p) {
                double have = number_at(to, memory, place(&p, pixels, k, y, x));
                double want = fmin(fmax(*number_of(&p, k, y, x), 0), full_of(to));
                if (fabs(have - want) > 0.501 + 1e-6 * full_of(to))
                    fail_msg("%s, plane %d, row %d, column %d: %g, not %g",
                             acu_pixels_name(pixels), k, y, x, have, want);
            }
            free(memory);
            acu_tensor_release(source);
            acu_tensor_release(made);
            planes_free(&p);
            free(rgb.at);
        }
}

/* Into a pitched tensor, and a batch. */
static void planes_go_elsewhere(void **state)
{
    (void)state;
    picture rgb = picture_noise(2, 2, 4, 3, ACU_U8);
    acu_tensor *x = picture_upload(device, &rgb, ACU_U8, ACU_CHW, 4, 0), *back = NULL;
    acu_tensor *y = window_of(device, ACU_U8, ACU_SHAPE(2, 3, 4), 1), *dense = NULL;
    const acu_image_options o = {.size = sizeof o, .layout = ACU_CHW};
    assert_works(acu_sync(device, acu_into(y, acu_color(x, ACU_PIXELS_RGB, ACU_PIXELS_NV12, &o)),
                          NULL));
    assert_works(acu_sync(device, acu_color(x, ACU_PIXELS_RGB, ACU_PIXELS_NV12, &o), &dense));
    uint8_t a[24], b[24];
    assert_works(acu_read_sync(y, a, 24));
    assert_works(acu_read_sync(dense, b, 24));
    assert_memory_equal(a, b, 24);
    assert_works(acu_sync(device, acu_color(y, ACU_PIXELS_NV12, ACU_PIXELS_RGBA, &o), &back));
    assert_true(acu_shape_equal(acu_tensor_shape(back), ACU_SHAPE(2, 4, 2, 4)));
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(dense);
    acu_tensor_release(back);
    free(rgb.at);
}

/* ---- channels, scales ---------------------------------------------------------------------- */

static void swaps_in_place(void **state)
{
    (void)state;
    picture p = picture_noise(1, 3, 40, 3, ACU_U16), want = picture_new(1, 3, 40, 3);
    EACH_PIXEL(&p)
        *pixel(&want, n, y, x, 2 - c) = *pixel(&p, n, y, x, c);
    acu_tensor *t = picture_upload(device, &p, ACU_U16, ACU_HWC, 3, 1);
    assert_works(acu_sync(device, acu_into(t, acu_color(t, ACU_PIXELS_RGB, ACU_PIXELS_BGR, NULL)),
                          NULL));
    assert_picture(t, &want, ACU_HWC, 0, "swapped");
    acu_tensor_release(t);
    free(p.at);
    free(want.at);
}

static void scales(void **state)
{
    (void)state;
    picture p = picture_noise(2, 3, 5, 4, ACU_U8), want = picture_new(2, 3, 5, 4);
    acu_tensor *t = picture_upload(device, &p, ACU_U8, ACU_CHW, 4, 0), *made = NULL;
    EACH_PIXEL(&p)
        *pixel(&want, n, y, x, c) = *pixel(&p, n, y, x, c) / 127.5 - 1;
    assert_works(acu_sync(device, acu_convert_scale(acu_permute(t, 0, 2, 3, 1), ACU_F16, 1 / 127.5,
                                                    -1), &made));
    assert_picture(made, &want, ACU_HWC, 1e-6, "scaled");
    acu_tensor_release(made);
    const acu_image_options o = {.size = sizeof o, .layout = ACU_CHW, .dtype = ACU_F32,
                                 .mean = {0.1f, 0.2f, 0.3f, 0}, .deviation = {0.5f, 0.25f, 2, 0}};
    EACH_PIXEL(&p) {
        double deviation = c == 3 ? 1 : (double)o.deviation[c];
        *pixel(&want, n, y, x, c) = (*pixel(&p, n, y, x, c) / 255 - (double)o.mean[c]) / deviation;
    }
    assert_works(acu_sync(device, acu_normalize(t, &o), &made));
    assert_picture(made, &want, ACU_CHW, 1e-6, "normalized");
    acu_tensor_release(t);
    acu_tensor_release(made);
    free(p.at);
    free(want.at);
}

/* ---- everything at once -------------------------------------------------------------------- */

static acu_tensor *plane_tensor(const planes *p, int k, acu_dtype dtype, int gaps)
{
    int h = k ? p->ch : p->h, w = k ? p->cw : p->w;
    acu_tensor *t = window_of(device, dtype, k == 3 ? ACU_SHAPE(h, w, 2) : ACU_SHAPE(h, w), gaps);
    void *memory = malloc(acu_tensor_bytes(t));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            size_t at = (size_t)(y * w + x);
            if (k < 3)
                put_whole(dtype, memory, at, (int64_t)*number_of(p, k, y, x));
            for (int c = 0; k == 3 && c < 2; c++)
                put_whole(dtype, memory, at * 2 + (size_t)c, (int64_t)*number_of(p, 1 + c, y, x));
        }
    assert_works(acu_write_sync(t, memory, acu_tensor_bytes(t)));
    free(memory);
    return t;
}

/* Pixel of a frame, enlarged or not: the reference samples four decoded pixels. */
static void sample(const planes *p, acu_pixels pixels, const acu_image_options *o, acu_region g,
                   double sx, double sy, double rgb[3])
{
    int last_x = (int)ceil(g.x + g.width) - 1, last_y = (int)ceil(g.y + g.height) - 1;
    int left = (int)floor(sx - 0.5), top = (int)floor(sy - 0.5);
    double fx = sx - 0.5 - left, fy = sy - 0.5 - top;
    memset(rgb, 0, 3 * sizeof *rgb);
    for (int tap = 0; tap < 4; tap++) {
        int x = left + (tap & 1), y = top + (tap >> 1);
        double part[3], w = (tap & 1 ? fx : 1 - fx) * (tap & 2 ? fy : 1 - fy);
        x = x < (int)floor(g.x) ? (int)floor(g.x) : x > last_x ? last_x : x;
        y = y < (int)floor(g.y) ? (int)floor(g.y) : y > last_y ? last_y : y;
        decode(p, pixels, o, y, x, part);
        for (int c = 0; c < 3; c++)
            rgb[c] += w * part[c];
    }
}

static acu_frame frame_of(const planes *p, acu_pixels pixels, acu_region region)
{
    acu_dtype dtype = pixels == ACU_PIXELS_P010 ? ACU_U16 : ACU_U8;
    bool both = pixels == ACU_PIXELS_NV12 || pixels == ACU_PIXELS_P010;
    acu_frame f = {.pixels = pixels, .region = region};
    f.plane[0] = acu_give(plane_tensor(p, 0, dtype, 1));
    f.plane[1] = acu_give(plane_tensor(p, both ? 3 : 1, dtype, 2));
    if (!both)
        f.plane[2] = acu_give(plane_tensor(p, 2, dtype, 0));
    return f;
}

static void everything(void **state)
{
    (void)state;
    static const acu_pixels kinds[] = {ACU_PIXELS_NV12, ACU_PIXELS_P010, ACU_PIXELS_YUV420,
                                       ACU_PIXELS_YUV444};
    for (int turn = 0; turn < 4; turn++) {
        acu_image_options o = {.size = sizeof o, .layout = ACU_CHW, .fit = ACU_LETTERBOX,
                               .pad = {114, 57, 0, 0}, .dtype = turn == 1 ? ACU_F16 : ACU_F32,
                               .mean = {0.4f, 0.5f, 0.6f, 0}, .deviation = {0.2f, 0.25f, 0.3f, 0}};
        const int sizes[3][2] = {{7, 12}, {9, 5}, {1, 1}}; /* odd: chroma is rounded up */
        const acu_region regions[3] = {{0, 0, 0, 0}, {1, 2, 3.5, 6}, {0, 0, 0, 0}};
        acu_frame frames[3];
        picture want = picture_new(3, 8, 10, 3);
        double full = turn == 1 ? 65535 : 255;
        for (int i = 0; i < 3; i++) {
            planes p = planes_noise(kinds[turn], sizes[i][0], sizes[i][1]);
            acu_region g = regions[i], from, to;
            frames[i] = frame_of(&p, kinds[turn], g);
            if (g.width == 0)
                g = (acu_region){0, 0, p.w, p.h};
            assert_works(acu_image_fit(o.fit, g.height, g.width, 8, 10, &from, &to));
            EACH_PIXEL(&want) {
                double rgb[3] = {o.pad[0] / full, o.pad[1] / full, o.pad[2] / full};
                if (n != i)
                    continue;
                if (x >= to.x && x < to.x + to.width && y >= to.y && y < to.y + to.height)
                    sample(&p, kinds[turn], &o, g, g.x + (x - to.x + 0.5) * g.width / to.width,
                           g.y + (y - to.y + 0.5) * g.height / to.height, rgb);
                *pixel(&want, n, y, x, c) = (rgb[c] - (double)o.mean[c]) / (double)o.deviation[c];
            }
            planes_free(&p);
        }
        acu_tensor *y = NULL;
        assert_works(acu_sync(device, acu_image_to_tensor(frames, 3, 8, 10, &o), &y));
        assert_int_equal(acu_tensor_dtype(y), o.dtype);
        assert_picture(y, &want, ACU_CHW, 1e-4, acu_pixels_name(kinds[turn]));
        acu_tensor_release(y);
        free(want.at);
    }
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void refuses(acu_op *op, acu_status status, const char *words)
{
    assert_fails(acu_sync(device, op, NULL), status, words);
}

static acu_op *zeros(acu_dtype dtype, int64_t h, int64_t w)
{
    return acu_zeros(dtype, ACU_SHAPE(h, w));
}

static void refusals_of_colors(void **state)
{
    (void)state;
    const acu_image_options bad = {.size = sizeof bad, .matrix = (acu_matrix)3};
    refuses(acu_color(zeros(ACU_U8, 4, 4), ACU_PIXELS_NV12, ACU_PIXELS_RGB, NULL), ACU_ERR_SHAPE,
            "u8 [4, 4] can not be NV12|multiple of 3");
    refuses(acu_color(zeros(ACU_U8, 6, 5), ACU_PIXELS_NV12, ACU_PIXELS_RGB, NULL), ACU_ERR_SHAPE,
            "width must be even");
    refuses(acu_color(zeros(ACU_U8, 6, 4), ACU_PIXELS_P010, ACU_PIXELS_RGB, NULL), ACU_ERR_DTYPE,
            "P010 is of u16");
    refuses(acu_color(zeros(ACU_U8, 6, 4), ACU_PIXELS_NV12, ACU_PIXELS_YUV420, NULL),
            ACU_ERR_NOT_SUPPORTED, "NV12 to YUV420|RGB");
    refuses(acu_color(zeros(ACU_U8, 6, 4), ACU_PIXELS_ANY, ACU_PIXELS_RGB, NULL), ACU_ERR_INVALID,
            "say which");
    refuses(acu_color(zeros(ACU_U8, 6, 4), (acu_pixels)99, ACU_PIXELS_RGB, NULL), ACU_ERR_INVALID,
            "from ?");
    refuses(acu_color(zeros(ACU_U8, 6, 4), ACU_PIXELS_RGB, ACU_PIXELS_BGR, NULL), ACU_ERR_SHAPE,
            "has 1 channels in HWC; RGB has 3");
    refuses(acu_color(zeros(ACU_U8, 5, 4), ACU_PIXELS_GRAY, ACU_PIXELS_NV12, NULL), ACU_ERR_SHAPE,
            "height must be even");
    refuses(acu_color(zeros(ACU_U8, 6, 4), ACU_PIXELS_NV12, ACU_PIXELS_RGB, &bad), ACU_ERR_INVALID,
            "options.matrix is 3");
    refuses(acu_color(acu_slice(zeros(ACU_U8, 6, 8), ACU_SHAPE(0, 0), ACU_SHAPE(6, 4)),
                      ACU_PIXELS_YUV420, ACU_PIXELS_RGB, NULL), ACU_ERR_SHAPE, "must be dense");
    refuses(acu_convert_scale(zeros(ACU_U8, 6, 4), ACU_I32, 1, 0), ACU_ERR_DTYPE, "not i32");
}

static void refusals_of_frames(void **state)
{
    (void)state;
    refuses(acu_image_to_tensor(NULL, 1, 4, 4, NULL), ACU_ERR_INVALID, "acu_image_to_tensor|NULL");
    acu_frame f = {.pixels = ACU_PIXELS_NV12};
    refuses(acu_image_to_tensor(&f, 1, 4, 4, NULL), ACU_ERR_ARGUMENTS, "has 0 planes|or in two");
    f.plane[1] = zeros(ACU_U8, 2, 2);
    refuses(acu_image_to_tensor(&f, 1, 4, 4, NULL), ACU_ERR_ARGUMENTS, "one of them NULL");
    f.plane[0] = zeros(ACU_U8, 4, 4);
    f.plane[1] = zeros(ACU_U8, 2, 2);
    refuses(acu_image_to_tensor(&f, 1, 4, 4, NULL), ACU_ERR_SHAPE,
            "plane 1 of NV12 can not be u8 [2, 2]");
    f.plane[0] = zeros(ACU_U8, 4, 4);
    f.plane[1] = acu_zeros(ACU_U8, ACU_SHAPE(3, 2, 2));
    refuses(acu_image_to_tensor(&f, 1, 4, 4, NULL), ACU_ERR_SHAPE, "plane 1 of NV12");
    acu_frame two[2] = {{.pixels = ACU_PIXELS_RGB}, {.pixels = ACU_PIXELS_BGR}};
    two[0].plane[0] = acu_zeros(ACU_U8, ACU_SHAPE(3, 2, 3));
    two[1].plane[0] = acu_zeros(ACU_U8, ACU_SHAPE(3, 2, 3));
    refuses(acu_image_to_tensor(two, 2, 4, 4, NULL), ACU_ERR_INVALID,
            "frame 1 is BGR, and the first RGB");
    const acu_image_options to = {.size = sizeof to, .pixels = ACU_PIXELS_NV12};
    f = (acu_frame){.pixels = ACU_PIXELS_RGB, .plane = {acu_zeros(ACU_U8, ACU_SHAPE(3, 2, 3))}};
    refuses(acu_image_to_tensor(&f, 1, 4, 4, &to), ACU_ERR_NOT_SUPPORTED, "NV12|acu_color");
    const acu_image_options gray = {.size = sizeof gray, .pixels = ACU_PIXELS_GRAY};
    f = (acu_frame){.plane = {acu_zeros(ACU_U8, ACU_SHAPE(3, 2, 3))}};
    refuses(acu_image_to_tensor(&f, 1, 4, 4, &gray), ACU_ERR_INVALID, "say what they are");
    f = (acu_frame){.plane = {acu_zeros(ACU_U8, ACU_SHAPE(3, 2, 3))}};
    refuses(acu_image_to_tensor(&f, 1, -1, 4, NULL), ACU_ERR_SHAPE, "-1 rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(from_planes),        DEVICE_TEST(to_planes),
        DEVICE_TEST(planes_go_elsewhere), DEVICE_TEST(swaps_in_place),
        DEVICE_TEST(scales),             DEVICE_TEST(everything),
        DEVICE_TEST(refusals_of_colors), DEVICE_TEST(refusals_of_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
