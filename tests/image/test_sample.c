/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Resized, cut out and letterboxed images beside a reference in double: filters, samplings, dtypes,
 * layouts, views, lists; where results go; graphs; refusals. */
#include "image/pictures.h"

#include "support/one_device.h"

#include <stdio.h>

/* ---- reference ----------------------------------------------------------------------------- */

typedef struct axis {
    double from, length; /* of the source, that goes to count pixels */
    int size, count;
} axis;

static double reach_of(acu_filter filter)
{
    return filter == ACU_CUBIC ? 2 : filter == ACU_LANCZOS ? 3 : filter == ACU_LANCZOS4 ? 4 : 1;
}

static double sinc(double t)
{
    return t == 0 ? 1 : sin(3.14159265358979323846 * t) / (3.14159265358979323846 * t);
}

/* The weight of source pixel i, whose centre is `t` from the place. */
static double weight(const acu_image_options *o, double t, double step)
{
    double a = o->cubic != 0 ? (double)o->cubic : o->antialias ? -0.5 : -0.75, lobes;
    if (o->filter == ACU_AREA) {
        double low = fmax(-step / 2, t - 0.5), high = fmin(step / 2, t + 0.5);
        return fmax(high - low, 0);
    }
    t = fabs(t) / (o->antialias && step > 1 ? step : 1);
    switch (o->filter) {
    case ACU_CUBIC:
        return t < 1 ? (a + 2) * t * t * t - (a + 3) * t * t + 1
               : t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
    case ACU_LANCZOS:
    case ACU_LANCZOS4:
        lobes = reach_of(o->filter);
        return t < lobes ? sinc(t) * sinc(t / lobes) : 0;
    default:
        return t < 1 ? 1 - t : 0;
    }
}

/* weights[i] of each source pixel for result pixel d. */
static void weigh(const acu_image_options *o, const axis *a, int d, double *weights)
{
    double step = a->length / a->count, place = a->from + (d + 0.5) * step, sum = 0;
    int first = (int)floor(a->from), last = (int)ceil(a->from + a->length) - 1;
    memset(weights, 0, (size_t)a->size * sizeof *weights);
    if (o->sampling == ACU_TOP_LEFT)
        place = a->from + d * step + (o->filter == ACU_NEAREST ? 0 : 0.5);
    if (o->sampling == ACU_ALIGN_CORNERS)
        place = a->from + 0.5 + (a->count > 1 ? d * (a->length - 1) / (a->count - 1) : 0);
    if (o->filter == ACU_NEAREST) {
        int i = (int)floor(place + 1e-10);
        weights[i < first ? first : i > last ? last : i] = 1;
        return;
    }
    double wide = o->antialias || o->filter == ACU_AREA ? fmax(step, 1) : 1;
    double reach = reach_of(o->filter) * wide + 1;
    for (int i = (int)floor(place - reach); i <= (int)ceil(place + reach); i++) {
        bool outside = i < first || i > last;
        double w = weight(o, i + 0.5 - place, step);
        if (outside && (o->antialias || o->filter == ACU_AREA))
            continue;
        weights[i < first ? first : i > last ? last : i] += w;
        sum += w;
    }
    for (int i = 0; i < a->size; i++)
        weights[i] /= sum;
}

/* Fills `part` of image n of `to` with a region of image m of the source. */
static void reference(const acu_image_options *o, const picture *source, int m, acu_region region,
                      const picture *to, int n, acu_region part)
{
    double *across = calloc((size_t)source->w, sizeof *across);
    double *down = calloc((size_t)source->h, sizeof *down);
    axis x = {region.x, region.width, source->w, (int)part.width};
    axis y = {region.y, region.height, source->h, (int)part.height};
    for (int i = 0; i < y.count; i++) {
        weigh(o, &y, i, down);
        for (int j = 0; j < x.count; j++) {
            weigh(o, &x, j, across);
            for (int c = 0; c < source->c; c++) {
                double sum = 0;
                for (int row = 0; row < source->h; row++)
                    for (int k = 0; down[row] != 0 && k < source->w; k++)
                        sum += down[row] * across[k] * *pixel(source, m, row, k, c);
                *pixel(to, n, (int)part.y + i, (int)part.x + j, c) = sum;
            }
        }
    }
    free(across);
    free(down);
}

static acu_region whole_of(const picture *p)
{
    return (acu_region){0, 0, p->w, p->h};
}

static void resize_reference(const acu_image_options *o, const picture *source, const picture *to)
{
    for (int n = 0; n < source->n; n++)
        reference(o, source, n, whole_of(source), to, n, whole_of(to));
}

/* ---- resizing ------------------------------------------------------------------------------ */

static const acu_dtype dtypes[] = {ACU_U8, ACU_U16, ACU_F16, ACU_BF16, ACU_F32};
#define EVERY 1e-4 /* of full: what float arithmetic adds */

static void one_resize(const acu_image_options *o, acu_dtype dtype, int rank)
{
    int side = 1 + (int)test_below(&numbers, 20), other = 1 + (int)test_below(&numbers, 24);
    picture source = picture_noise(rank == 4 ? 2 : 1, side, other,
                                   rank == 2 ? 1 : 1 + (int)test_below(&numbers, 4), dtype);
    picture to = picture_new(source.n, 1 + (int)test_below(&numbers, 24),
                             1 + (int)test_below(&numbers, 40), source.c);
    acu_tensor *x = picture_upload(device, &source, dtype, o->layout, rank, 1), *y = NULL;
    assert_works(acu_sync(device, acu_resize(x, to.h, to.w, o), &y));
    resize_reference(o, &source, &to);
    char what[128];
    snprintf(what, sizeof what, "filter %d, sampling %d, antialias %d, %s, rank %d: %d x %d to "
             "%d x %d", (int)o->filter, (int)o->sampling, o->antialias, acu_dtype_name(dtype), rank,
             source.h, source.w, to.h, to.w);
    assert_int_equal(acu_tensor_dtype(y), dtype);
    assert_picture(y, &to, o->layout, EVERY, what);
    acu_tensor_release(x);
    acu_tensor_release(y);
    free(source.at);
    free(to.at);
}

static void resizes(void **state)
{
    (void)state;
    int turn = 0;
    for (int filter = 0; filter <= ACU_LANCZOS4; filter++)
        for (int sampling = 0; sampling <= ACU_TOP_LEFT; sampling++)
            for (int antialias = 0; antialias < 2; antialias++) {
                acu_image_options o = {.size = sizeof o, .filter = (acu_filter)filter,
                                       .sampling = (acu_sampling)sampling, .antialias = antialias};
                bool wide = antialias || filter == ACU_AREA;
                if (wide && (sampling != ACU_HALF_PIXEL || filter == ACU_NEAREST))
                    continue;
                for (int k = 0; k < 4; k++, turn++) {
                    o.layout = turn % 2 ? ACU_CHW : ACU_HWC;
                    o.cubic = turn % 3 ? 0 : -0.6f;
                    one_resize(&o, dtypes[turn % 5], 2 + turn % 3);
                }
            }
}

/* More pixels along an axis than a block keeps the weights of. */
static void resizes_very_small(void **state)
{
    (void)state;
    const acu_image_options o = {.size = sizeof o, .filter = ACU_LANCZOS, .antialias = true};
    picture source = picture_noise(1, 3, 131, 3, ACU_U8), to = picture_new(1, 2, 3, 3);
    acu_tensor *x = picture_upload(device, &source, ACU_U8, ACU_HWC, 3, 0), *y = NULL;
    assert_works(acu_sync(device, acu_resize(x, 2, 3, &o), &y));
    resize_reference(&o, &source, &to);
    assert_picture(y, &to, ACU_HWC, EVERY, "very small");
    acu_tensor_release(x);
    acu_tensor_release(y);
    free(source.at);
    free(to.at);
}

/* ---- letterboxes, crops, lists ------------------------------------------------------------- */

static void fits(void **state)
{
    (void)state;
    for (int turn = 0; turn < 8; turn++) {
        acu_image_options o = {.size = sizeof o, .fit = turn % 2 ? ACU_COVER : ACU_LETTERBOX,
                               .pad = {10, 20, 30, 40}, .antialias = turn & 4};
        picture source = picture_noise(1, 1 + (int)test_below(&numbers, 30),
                                       1 + (int)test_below(&numbers, 30), 3, ACU_U8);
        picture to = picture_new(1, 16, 18, 3);
        acu_region from, part;
        assert_works(acu_image_fit(o.fit, source.h, source.w, to.h, to.w, &from, &part));
        EACH_PIXEL(&to)
            *pixel(&to, n, y, x, c) = 10 * (c + 1);
        reference(&o, &source, 0, from, &to, 0, part);
        assert_true(o.fit == ACU_COVER || part.width == 18 || part.height == 16);
        acu_tensor *x = picture_upload(device, &source, ACU_U8, ACU_HWC, 3, 0), *y = NULL;
        assert_works(acu_sync(device, acu_resize(x, to.h, to.w, &o), &y));
        assert_picture(y, &to, ACU_HWC, EVERY, "fit");
        acu_tensor_release(x);
        acu_tensor_release(y);
        free(source.at);
        free(to.at);
    }
}

static void fit_is_computed(void **state)
{
    (void)state;
    acu_region from, to;
    assert_works(acu_image_fit(ACU_LETTERBOX, 1080, 1920, 640, 640, &from, &to));
    assert_true(from.width == 1920 && from.height == 1080 && from.x == 0 && from.y == 0);
    assert_true(to.x == 0 && to.y == 140 && to.width == 640 && to.height == 360);
    assert_works(acu_image_fit(ACU_COVER, 1080, 1920, 224, 224, &from, &to));
    assert_true(from.width == 1080 && from.height == 1080 && from.x == 420 && from.y == 0);
    assert_true(to.width == 224 && to.height == 224 && to.x == 0 && to.y == 0);
    assert_works(acu_image_fit(ACU_LETTERBOX, 1, 10000, 4, 8, &from, &to));
    assert_true(to.height == 1 && to.width == 8 && to.y == 1);
    assert_fails(acu_image_fit(ACU_LETTERBOX, 0, 1, 8, 8, &from, &to), ACU_ERR_INVALID,
                 "acu_image_fit|0 x 1");
    assert_fails(acu_image_fit((acu_fit)9, 1, 1, 8, 8, &from, &to), ACU_ERR_INVALID, "no fit 9");
    assert_fails(acu_image_fit(ACU_COVER, 1, 1, 8, 8, NULL, &to), ACU_ERR_INVALID, "NULL");
}

static void crops(void **state)
{
    (void)state;
    const acu_image_options o = {.size = sizeof o, .layout = ACU_CHW};
    picture source = picture_noise(3, 20, 25, 2, ACU_F32), to = picture_new(5, 9, 7, 2);
    const acu_crop list[] = {{0, {0, 0, 0, 0}}, {2, {1, 2, 20, 5}}, {1, {0.25, 3.5, 10.5, 16.5}},
                             {2, {24, 19, 1, 1}}, {0, {3, 3, 0.5, 0.25}}};
    for (int i = 0; i < 5; i++)
        reference(&o, &source, (int)list[i].image,
                  list[i].region.width > 0 ? list[i].region : whole_of(&source), &to, i,
                  whole_of(&to));
    acu_tensor *x = picture_upload(device, &source, ACU_F32, ACU_CHW, 4, 1), *y = NULL;
    assert_works(acu_sync(device, acu_crop_resize(x, list, 5, 9, 7, &o), &y));
    assert_picture(y, &to, ACU_CHW, EVERY, "crops");
    acu_tensor_release(x);
    acu_tensor_release(y);
    free(source.at);
    free(to.at);
}

/* Images of different sizes, one of them a batch, and with more than one filter. */
static void lists(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        const acu_image_options o = {.size = sizeof o, .filter = turn ? ACU_CUBIC : ACU_LINEAR};
        acu_dtype dtype = turn == 1 ? ACU_F16 : ACU_U8;
        picture source[3] = {picture_noise(1, 5, 9, 3, dtype), picture_noise(2, 12, 4, 3, dtype),
                             picture_noise(1, 1, 1, 3, dtype)}, to = picture_new(4, 10, 37, 3);
        acu_op *xs[3];
        int n = 0;
        for (int i = 0; i < 3; i++) {
            xs[i] = acu_give(picture_upload(device, &source[i], dtype, ACU_HWC, i == 1 ? 4 : 3, i));
            for (int k = 0; k < source[i].n; k++)
                reference(&o, &source[i], k, whole_of(&source[i]), &to, n++, whole_of(&to));
        }
        acu_tensor *y = NULL;
        assert_works(acu_sync(device, acu_resize_batch(xs, 3, 10, 37, &o), &y));
        assert_picture(y, &to, ACU_HWC, turn == 1 ? 1e-3 : EVERY, "list");
        acu_tensor_release(y);
        for (int i = 0; i < 3; i++)
            free(source[i].at);
        free(to.at);
    }
}

/* ---- as other operations ------------------------------------------------------------------- */

static void results_go_elsewhere(void **state)
{
    (void)state;
    picture source = picture_noise(1, 8, 8, 3, ACU_U8), to = picture_new(1, 5, 6, 3);
    acu_tensor *x = picture_upload(device, &source, ACU_U8, ACU_HWC, 3, 0);
    acu_tensor *y = window_of(device, ACU_U8, ACU_SHAPE(5, 6, 3), 2);
    resize_reference(&(acu_image_options){.filter = ACU_LINEAR}, &source, &to);
    assert_works(acu_sync(device, acu_into(y, acu_resize(x, 5, 6, NULL)), NULL));
    assert_picture(y, &to, ACU_HWC, EVERY, "into a window");
    acu_tensor *planar = window_of(device, ACU_U8, ACU_SHAPE(3, 5, 6), 1), *turned = NULL;
    assert_works(acu_tensor_permute(planar, (const int[]){1, 2, 0}, &turned));
    assert_works(acu_sync(device, acu_into(turned, acu_resize(x, 5, 6, NULL)), NULL));
    assert_picture(planar, &to, ACU_CHW, EVERY, "into a turned view");
    assert_fails(acu_sync(device, acu_into(x, acu_resize(x, 8, 8, NULL)), NULL), ACU_ERR_SHARED,
                 "resize|overwrite its operand 0");
    assert_fails(acu_sync(device, acu_into(y, acu_resize(x, 5, 7, NULL)), NULL), ACU_ERR_SHAPE,
                 "the result of resize is u8 [5, 7, 3]");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(planar);
    acu_tensor_release(turned);
    free(source.at);
    free(to.at);
}

/* The channels of each image in ACU_CHW are as far apart as that image is large. */
static void planar_images_of_several_sizes(void **state)
{
    (void)state;
    const acu_image_options o = {.size = sizeof o, .layout = ACU_CHW};
    picture to = picture_new(3, 6, 5, 3);
    acu_op *xs[3];
    for (int i = 0; i < 3; i++) {
        picture p = picture_noise(1, 4 + 3 * i, 9 - 2 * i, 3, ACU_U8);
        xs[i] = acu_give(picture_upload(device, &p, ACU_U8, ACU_CHW, 3, i));
        reference(&o, &p, 0, whole_of(&p), &to, i, whole_of(&to));
        free(p.at);
    }
    acu_tensor *made = NULL;
    assert_works(acu_sync(device, acu_resize_batch(xs, 3, 6, 5, &o), &made));
    assert_picture(made, &to, ACU_CHW, EVERY, "planar images of several sizes");
    acu_tensor_release(made);
    free(to.at);
}

static void in_graphs_and_described(void **state)
{
    (void)state;
    picture source = picture_noise(1, 8, 9, 3, ACU_U8), to = picture_new(2, 4, 4, 3);
    const acu_image_options o = {.size = sizeof o};
    const acu_crop list[] = {{0, {0, 0, 4, 4}}, {0, {2, 1, 7, 6}}};
    acu_tensor *x = picture_upload(device, &source, ACU_U8, ACU_HWC, 3, 0);
    acu_graph *graph = NULL;
    for (int i = 0; i < 2; i++)
        reference(&o, &source, 0, list[i].region, &to, i, whole_of(&to));
    assert_works(acu_graph_load(device, acu_crop_resize(x, list, 2, 4, 4, &o), NULL, &graph));
    for (int i = 0; i < 2; i++)
        assert_works(acu_sync(device, acu_replay(graph), NULL));
    assert_picture(acu_graph_tensor(graph, 0), &to, ACU_HWC, EVERY, "graph");
    acu_graph_release(graph);
    acu_value_info info;
    size_t count;
    acu_op *op = acu_resize(acu_meta(ACU_BF16, ACU_SHAPE(2, 30, 40, 4)), 10, 20, NULL);
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    assert_true(count == 1 && info.dtype == ACU_BF16 &&
                acu_shape_equal(info.shape, ACU_SHAPE(2, 10, 20, 4)));
    acu_op_release(op);
    op = acu_crop_resize(acu_meta(ACU_U8, ACU_SHAPE(30, 40, 4)), list, 2, 10, 20, NULL);
    assert_works(acu_op_describe(device, op, &info, 1, &count));
    assert_true(acu_shape_equal(info.shape, ACU_SHAPE(2, 10, 20, 4)));
    acu_op_release(op);
    acu_tensor_release(x);
    free(source.at);
    free(to.at);
}

/* A chain: what one operation makes, the next one reads. */
static void chained(void **state)
{
    (void)state;
    picture source = picture_noise(1, 9, 12, 1, ACU_F32), middle = picture_new(1, 20, 5, 1);
    picture to = picture_new(1, 6, 6, 1);
    const acu_image_options o = {.size = sizeof o};
    resize_reference(&o, &source, &middle);
    resize_reference(&o, &middle, &to);
    acu_tensor *x = picture_upload(device, &source, ACU_F32, ACU_HWC, 2, 0), *y = NULL;
    assert_works(acu_sync(device, acu_resize(acu_resize(x, 20, 5, &o), 6, 6, NULL), &y));
    assert_picture(y, &to, ACU_HWC, EVERY, "chain");
    acu_tensor_release(x);
    acu_tensor_release(y);
    free(source.at);
    free(middle.at);
    free(to.at);
}

static void refuses(acu_op *op, acu_status status, const char *words)
{
    assert_fails(acu_sync(device, op, NULL), status, words);
}

static void refusals(void **state)
{
    (void)state;
    acu_tensor *x = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(8, 9, 3), &x));
    acu_op *f64 = acu_zeros(ACU_F64, ACU_SHAPE(4, 4));
    acu_op *five = acu_zeros(ACU_U8, ACU_SHAPE(4, 4, 5));
    const acu_image_options bad[] = {{.size = sizeof *bad, .filter = (acu_filter)17},
                                     {.size = sizeof *bad, .layout = (acu_layout)2},
                                     {.size = sizeof *bad, .cubic = 1},
                                     {.size = sizeof *bad, .filter = ACU_NEAREST,
                                      .antialias = true},
                                     {.size = sizeof *bad, .filter = ACU_AREA,
                                      .sampling = ACU_TOP_LEFT},
                                     {.size = 0, .cubic = -1}};
    refuses(acu_resize(f64, 2, 2, NULL), ACU_ERR_DTYPE, "resize|u8, u16|f64 [4, 4]");
    refuses(acu_resize(five, 2, 2, NULL), ACU_ERR_SHAPE,
            "1 to 4 channels|has 5 in HWC, the layout that was given");
    refuses(acu_resize(acu_zeros(ACU_U8, ACU_SHAPE(4)), 2, 2, NULL), ACU_ERR_SHAPE, "2, 3 or 4");
    refuses(acu_resize(acu_scalar(acu_f32(1)), 2, 2, NULL), ACU_ERR_INVALID, "not a scalar");
    refuses(acu_resize(x, 0, 2, NULL), ACU_ERR_SHAPE, "0 rows of 2 pixels");
    refuses(acu_resize(x, 2, (int64_t)1 << 40, NULL), ACU_ERR_SHAPE, "1099511627776 pixels");
    refuses(acu_resize(x, 2, 2, &bad[0]), ACU_ERR_INVALID, "options.filter is 17");
    refuses(acu_resize(x, 2, 2, &bad[1]), ACU_ERR_INVALID, "options.layout is 2");
    refuses(acu_resize(x, 2, 2, &bad[2]), ACU_ERR_INVALID, "options.cubic is 1");
    refuses(acu_resize(x, 2, 2, &bad[3]), ACU_ERR_INVALID, "no antialiasing");
    refuses(acu_resize(x, 2, 2, &bad[4]), ACU_ERR_INVALID, "half pixels only");
    refuses(acu_resize(x, 2, 2, &bad[5]), ACU_ERR_INVALID, "size");
    const acu_crop outside = {0, {2, 2, 8, 2}}, empty = {0, {2, 2, 0, 2}}, none = {1, {0, 0, 0, 0}};
    const acu_crop negative = {-1, {0, 0, 0, 0}};
    refuses(acu_crop_resize(x, &outside, 1, 2, 2, NULL), ACU_ERR_INVALID, "(2, 2) of 8 x 2|9 x 8");
    refuses(acu_crop_resize(x, &empty, 1, 2, 2, NULL), ACU_ERR_INVALID, "of 0 x 2");
    refuses(acu_crop_resize(x, &none, 1, 2, 2, NULL), ACU_ERR_INVALID, "image 1 of 1");
    refuses(acu_crop_resize(x, &negative, 1, 2, 2, NULL), ACU_ERR_INVALID, "crop 0|image -1");
    refuses(acu_crop_resize(x, NULL, 1, 2, 2, NULL), ACU_ERR_INVALID, "acu_crop_resize|NULL");
    refuses(acu_crop_resize(x, &none, 0, 2, 2, NULL), ACU_ERR_ARGUMENTS, "1 to 256");
    refuses(acu_crop_resize(x, &none, 257, 2, 2, NULL), ACU_ERR_LIMIT, "not 257");
    refuses(acu_resize_batch(NULL, 2, 2, 2, NULL), ACU_ERR_INVALID, "acu_resize_batch|NULL");
    acu_op *mixed[] = {acu_value(x), acu_zeros(ACU_F32, ACU_SHAPE(2, 2, 3))};
    refuses(acu_resize_batch(mixed, 2, 2, 2, NULL), ACU_ERR_DTYPE, "image 1 is of f32");
    acu_op *gray[] = {acu_value(x), acu_zeros(ACU_U8, ACU_SHAPE(2, 2, 1))};
    refuses(acu_resize_batch(gray, 2, 2, 2, NULL), ACU_ERR_SHAPE, "image 1 has 1 channels");
    acu_op *many[2] = {acu_value(x), acu_zeros(ACU_U8, ACU_SHAPE(300, 1, 1, 3))};
    refuses(acu_resize_batch(many, 2, 2, 2, NULL), ACU_ERR_LIMIT, "at most 256|not 301");
    acu_tensor_release(x);
}

/* Each allocation fails in turn; nothing is lost, and what works is right. */
static void without_memory(void **state)
{
    (void)state;
    picture source = picture_noise(1, 4, 4, 1, ACU_U8), to = picture_new(2, 3, 3, 1);
    const acu_image_options o = {.size = sizeof o};
    acu_tensor *x = picture_upload(device, &source, ACU_U8, ACU_HWC, 3, 0);
    for (int i = 0; i < 2; i++)
        reference(&o, &source, 0, whole_of(&source), &to, i, whole_of(&to));
    for (uint64_t n = 1;; n += test_thin()) {
        acu_tensor *y = NULL;
        acu_debug_fail_alloc(n, false);
        acu_op *xs[] = {acu_value(x), acu_value(x)};
        acu_status status = acu_sync(device, acu_resize_batch(xs, 2, 3, 3, &o), &y);
        bool through = acu_debug_alloc_count() < n;
        acu_debug_fail_alloc(0, false);
        if (status == ACU_OK)
            assert_picture(y, &to, ACU_HWC, EVERY, "with little memory");
        else
            assert_int_equal(status, ACU_ERR_NO_MEMORY);
        acu_tensor_release(y);
        if (through)
            break;
    }
    acu_tensor_release(x);
    free(source.at);
    free(to.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(resizes),        DEVICE_TEST(resizes_very_small),
        DEVICE_TEST(fits),           cmocka_unit_test(fit_is_computed),
        DEVICE_TEST(crops),          DEVICE_TEST(lists),
        DEVICE_TEST(results_go_elsewhere), DEVICE_TEST(planar_images_of_several_sizes),
        DEVICE_TEST(in_graphs_and_described),
        DEVICE_TEST(chained),        DEVICE_TEST(refusals),
        DEVICE_TEST(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
