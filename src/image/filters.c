/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters: separable ones, and those of windows. What is checked before anything is planned. */
#include "image/image.h"

#include <acuda/image_filters.h>

#include <string.h>

_Static_assert((int)ACU_FILTER_MAX == (int)ACUI_FILTER_TAPS &&
                   (int)ACU_FILTER_MAX == (int)ACUI_MORPH_SIDE &&
                   (int)ACU_MEDIAN_MAX == (int)ACUI_MEDIAN_SIDE,
               "the header and the kernels know the same limits");

/* The options that filters use; their default border. */
static acu_op *read_options(const char *name, const acu_image_options *given, acu_border border,
                            acu_image_options *o, acu_site site)
{
    acu_image_options all;
    acu_op *failed = acui_options_read_image(name, given, &all, site);
    *o = (acu_image_options){.layout = all.layout, .dtype = all.dtype,
                             .border = all.border ? all.border : border,
                             .pad = {all.pad[0], all.pad[1], all.pad[2], all.pad[3]}};
    return failed;
}

static acu_op *check_window(const char *name, int height, int width, int most, acu_site site)
{
    if (height >= 1 && width >= 1 && height <= most && width <= most && height % 2 && width % 2)
        return NULL;
    return acu_op_fail(ACU_ERR_INVALID, name, site, "%s of %d x %d pixels: a window has odd sides "
                       "of 1 to %d", name, height, width, most);
}

/* ---- separable ----------------------------------------------------------------------------- */

typedef struct separable {
    char name[20];
    acu_image_options o;
    int across_taps, down_taps;
    float across[ACUI_FILTER_TAPS], down[ACUI_FILTER_TAPS];
} separable;

/* Small filters of bytes side by side have a faster kernel, of five weights along each axis. */
static const char *words_kernel(acui_separable *f)
{
    const acui_image_pair *at = &f->at;
    static const char *const names[] = {"separable_words_1", NULL, "separable_words_3",
                                        "separable_words_4"};
    bool fits = f->across_taps <= ACUI_WORDS_TAPS && f->down_taps <= ACUI_WORDS_TAPS &&
                at->dtype == ACU_U8 && at->out_dtype == ACU_U8 && at->column == at->channels &&
                at->out_column == at->channels && at->row >= 0 && at->row % 4 == 0 &&
                at->out_row % 4 == 0 && (at->channels == 1 ||
                                         (at->channel == 1 && at->out_channel == 1)) &&
                (at->images == 1 || (at->image % 4 == 0 && at->out_image % 4 == 0)) &&
                (int64_t)at->width * at->channels < 1 << 30;
    for (int c = 0; c < 4; c++)
        fits = fits && at->pad[c] - at->pad[c] == 0; /* also where the weight is 0 */
    if (!fits || !names[at->channels - 1])
        return NULL;
    memmove(&f->across[(ACUI_WORDS_TAPS - f->across_taps) / 2], f->across,
            (size_t)f->across_taps * sizeof *f->across);
    memmove(&f->down[(ACUI_WORDS_TAPS - f->down_taps) / 2], f->down,
            (size_t)f->down_taps * sizeof *f->down);
    for (int i = 0; i < ACUI_WORDS_TAPS; i++) {
        int across = (ACUI_WORDS_TAPS - f->across_taps) / 2;
        int down = (ACUI_WORDS_TAPS - f->down_taps) / 2;
        if (i < across || i >= across + f->across_taps)
            f->across[i] = 0;
        if (i < down || i >= down + f->down_taps)
            f->down[i] = 0;
    }
    return names[at->channels - 1];
}

static acu_op *launch_separable(acu_planning *p, const char *name, acui_separable *params,
                                acu_op *out)
{
    const char *words = words_kernel(params);
    const acui_image_pair *at = &params->at;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    if (words)
        return acui_image_launch(p, name, "acuda.image_filter", words,
                                 acui_parts((int64_t)at->width * at->channels, 4) +
                                     ACUI_WORDS_EDGE * ACUI_IMAGE_COLUMNS,
                                 acui_parts(at->height, ACUI_WORDS_ROWS), at->images, args, 3);
    int64_t tiles = acui_parts(at->height, ACUI_FILTER_TILE);
    return acui_image_launch(p, name, "acuda.image_filter",
                             at->dtype == ACU_U8 ? "separable_b" : "separable", at->width,
                             tiles * ACUI_IMAGE_ROWS, at->images, args, 3);
}

static acu_op *plan_separable(acu_planning *p)
{
    const separable *f = p->data;
    acui_separable params = {.across_taps = f->across_taps, .down_taps = f->down_taps};
    acui_view v;
    acu_op *failed = acui_pair_of(p, f->name, &f->o, &v, &params.at);
    if (failed)
        return failed;
    memcpy(params.across, f->across, sizeof params.across);
    memcpy(params.down, f->down, sizeof params.down);
    acu_op *out = acui_pair_result(p, f->name, &f->o, &v, f->o.dtype ? f->o.dtype : v.dtype,
                                   &params.at);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return launch_separable(p, f->name, &params, out);
}

static acu_op *make_separable(separable *f, const char *name, acu_op *x, acu_site site)
{
    strcpy(f->name, name);
    acu_custom custom = {.name = f->name, .fn = plan_separable, .data = f, .bytes = sizeof *f};
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_filter_separable(acu_op *x, const float *across, int across_taps, const float *down,
                                int down_taps, const acu_image_options *options, acu_site site)
{
    const char *name = "filter_separable";
    separable f = {.across_taps = across_taps, .down_taps = down_taps};
    acu_op *failed = read_options(name, options, ACU_BORDER_REFLECT_101, &f.o, site);
    if (!failed)
        failed = check_window(name, down_taps, across_taps, ACU_FILTER_MAX, site);
    if (!failed && (!across || !down))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "acu_filter_separable got NULL where "
                             "weights should be");
    if (failed)
        return acui_refused(failed, &x, 1);
    memcpy(f.across, across, (size_t)across_taps * sizeof *across);
    memcpy(f.down, down, (size_t)down_taps * sizeof *down);
    return make_separable(&f, name, x, site);
}

acu_op *acu_op_box_blur(acu_op *x, int height, int width, const acu_image_options *options,
                        acu_site site)
{
    separable f = {.across_taps = width, .down_taps = height};
    acu_op *failed = read_options("box_blur", options, ACU_BORDER_REFLECT_101, &f.o, site);
    if (!failed)
        failed = check_window("box_blur", height, width, ACU_FILTER_MAX, site);
    if (failed)
        return acui_refused(failed, &x, 1);
    for (int i = 0; i < width; i++)
        f.across[i] = 1.0f / (float)width;
    for (int i = 0; i < height; i++)
        f.down[i] = 1.0f / (float)height;
    return make_separable(&f, "box_blur", x, site);
}

/* e^-x for x >= 0, by its series (the library does without libm). */
static double exp_minus(double x)
{
    if (x > 700)
        return 0;
    double small = x / 1024, term = 1, sum = 0; /* at most 0.7 */
    for (int k = 1; k < 20; k++) {
        sum += term;
        term *= -small / k;
    }
    for (int k = 0; k < 10; k++)
        sum *= sum;
    return sum;
}

static void set_gaussian(float *weights, int taps, double sigma)
{
    double sum = 0, all[ACUI_FILTER_TAPS];
    for (int i = 0; i < taps; i++) {
        double distance = (double)(i - taps / 2) / sigma;
        sum += all[i] = exp_minus(distance * distance / 2);
    }
    for (int i = 0; i < taps; i++)
        weights[i] = (float)(all[i] / sum);
}

acu_op *acu_op_gaussian_blur(acu_op *x, int height, int width, double sigma,
                             const acu_image_options *options, acu_site site)
{
    const char *name = "gaussian_blur";
    separable f = {.across_taps = width, .down_taps = height};
    acu_op *failed = read_options(name, options, ACU_BORDER_REFLECT_101, &f.o, site);
    if (!failed)
        failed = check_window(name, height, width, ACU_FILTER_MAX, site);
    if (!failed && !(sigma >= 1e-3 && sigma <= 1e6))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "%s: sigma is %g; it must be from 0.001 "
                             "to 1000000", name, sigma);
    if (failed)
        return acui_refused(failed, &x, 1);
    set_gaussian(f.across, width, sigma);
    set_gaussian(f.down, height, sigma);
    return make_separable(&f, name, x, site);
}

/* `size` weights: binomial ones, and `order` differences. */
static void set_derivative(float *weights, int size, int order)
{
    double all[8] = {1};
    for (int step = 1; step < size; step++) {
        double sign = step > size - 1 - order ? -1 : 1; /* the last ones take differences */
        for (int i = step; i > 0; i--)
            all[i] = sign < 0 ? all[i - 1] - all[i] : all[i] + all[i - 1];
        if (sign < 0)
            all[0] = -all[0];
    }
    for (int i = 0; i < size; i++)
        weights[i] = (float)all[i];
}

acu_op *acu_op_sobel(acu_op *x, int dx, int dy, int size, const acu_image_options *options,
                     acu_site site)
{
    separable f = {.across_taps = size, .down_taps = size};
    acu_op *failed = read_options("sobel", options, ACU_BORDER_REFLECT_101, &f.o, site);
    if (!failed && ((size != 3 && size != 5 && size != 7) || dx < 0 || dy < 0 || dx > 2 || dy > 2 ||
                    dx + dy < 1))
        failed = acu_op_fail(ACU_ERR_INVALID, "sobel", site, "sobel of size %d, %d times along x "
                             "and %d times along y: there are sizes 3, 5 and 7, and 0 to 2 "
                             "derivatives, at least one", size, dx, dy);
    if (failed)
        return acui_refused(failed, &x, 1);
    set_derivative(f.across, size, dx);
    set_derivative(f.down, size, dy);
    return make_separable(&f, "sobel", x, site);
}

/* ---- windows ------------------------------------------------------------------------------- */

typedef struct window {
    char name[20];
    const char *kernel;
    acu_image_options o;
    int width, height;
    bool dilate;
    double color, space;
    uint64_t mask[ACUI_MORPH_SIDE];
} window;

static acu_op *plan_window(acu_planning *p)
{
    const window *w = p->data;
    acui_window params = {.width = w->width, .height = w->height, .dilate = w->dilate};
    acui_view v;
    acu_op *failed = acui_pair_of(p, w->name, &w->o, &v, &params.at);
    if (failed)
        return failed;
    params.color = (float)(-1 / (2 * w->color * w->color));
    params.space = (float)(-1 / (2 * w->space * w->space));
    for (int j = 0; j < w->height; j++)
        params.mask[j] = w->mask[j];
    acu_op *out = acui_pair_result(p, w->name, &w->o, &v, v.dtype, &params.at);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_image_launch(p, w->name, "acuda.image_filter", w->kernel, v.width, v.height,
                             v.images, args, 3);
}

static acu_op *make_window(window *w, const char *name, const char *kernel, acu_op *x,
                           acu_site site)
{
    strcpy(w->name, name);
    w->kernel = kernel;
    acu_custom custom = {.name = w->name, .fn = plan_window, .data = w, .bytes = sizeof *w};
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_median_blur(acu_op *x, int size, const acu_image_options *options, acu_site site)
{
    window w = {.width = size, .height = size, .color = 1, .space = 1};
    acu_op *failed = read_options("median_blur", options, ACU_BORDER_REPLICATE, &w.o, site);
    if (!failed)
        failed = check_window("median_blur", size, size, ACU_MEDIAN_MAX, site);
    return failed ? acui_refused(failed, &x, 1)
                  : make_window(&w, "median_blur", "median", x, site);
}

acu_op *acu_op_bilateral(acu_op *x, int size, double color, double space,
                         const acu_image_options *options, acu_site site)
{
    window w = {.width = size, .height = size, .color = color, .space = space};
    acu_op *failed = read_options("bilateral", options, ACU_BORDER_REFLECT_101, &w.o, site);
    if (!failed)
        failed = check_window("bilateral", size, size, ACU_FILTER_MAX, site);
    if (!failed && !(color >= 1e-6 && space >= 1e-3 && color <= 1e9 && space <= 1e9))
        failed = acu_op_fail(ACU_ERR_INVALID, "bilateral", site, "bilateral with deviations of %g "
                             "(colour) and %g (space): both must be positive", color, space);
    return failed ? acui_refused(failed, &x, 1)
                  : make_window(&w, "bilateral", "bilateral", x, site);
}

/* The square root, rounded to the nearest integer. */
static int root_of(double x)
{
    int root = 0;
    while ((root + 0.5) * (root + 0.5) < x)
        root++;
    return root;
}

/* Row j of a shape. */
static uint64_t mask_row(acu_morph_shape shape, int j, int height, int width)
{
    int across = width / 2, down = height / 2, reach = across;
    if (shape == ACU_MORPH_CROSS)
        reach = j == down ? across : 0;
    if (shape == ACU_MORPH_ELLIPSE && down > 0) {
        double y = (double)(j - down) / down;
        reach = root_of(across * across * (1 - y * y));
    }
    uint64_t row = 0;
    for (int i = across - reach; i <= across + reach; i++)
        row |= (uint64_t)1 << i;
    return row;
}

static acu_op *morph(const acu_image_options *o, bool dilate, acu_morph_shape shape, int height,
                     int width, acu_op *x, acu_site site)
{
    window w = {.o = *o, .width = width, .height = height, .dilate = dilate, .color = 1,
                .space = 1};
    for (int j = 0; j < height; j++)
        w.mask[j] = mask_row(shape, j, height, width);
    return make_window(&w, "morphology", "morph", x, site);
}

acu_op *acu_op_morphology(acu_op *x, acu_morph kind, acu_morph_shape shape, int height, int width,
                          const acu_image_options *options, acu_site site)
{
    acu_image_options o;
    const char *name = "morphology";
    acu_op *failed = read_options(name, options, ACU_BORDER_CONSTANT, &o, site);
    if (!failed)
        failed = check_window(name, height, width, ACU_FILTER_MAX, site);
    if (!failed && ((unsigned)kind > ACU_CLOSE || (unsigned)shape > ACU_MORPH_ELLIPSE))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "morphology %d with shape %d: there is "
                             "none", (int)kind, (int)shape);
    if (failed)
        return acui_refused(failed, &x, 1);
    bool second = kind == ACU_OPEN;
    if (kind == ACU_OPEN || kind == ACU_CLOSE)
        x = morph(&o, !second, shape, height, width, x, site);
    return morph(&o, kind == ACU_DILATE || second, shape, height, width, x, site);
}
