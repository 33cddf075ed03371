/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Levels of images: thresholds, histograms and what follows from them, tables, gamma, colours; and
 * one image over another. */
#include "image/image.h"

#include <acuda/image_filters.h>

static const char family[] = "acuda.image_levels";

static acu_op *read_layout(const char *name, const acu_image_options *given, acu_image_options *o,
                           acu_site site)
{
    acu_image_options all;
    acu_op *failed = acui_options_read_image(name, given, &all, site);
    *o = (acu_image_options){.layout = all.layout};
    return failed;
}

/* ---- number by number ---------------------------------------------------------------------- */

_Static_assert((int)ACUI_POINT_BINARY == (int)ACU_THRESHOLD_BINARY &&
                   (int)ACUI_POINT_TO_ZERO_INVERSE == (int)ACU_THRESHOLD_TO_ZERO_INVERSE,
               "kernels know kinds of thresholds by the same numbers");

typedef struct point {
    const char *name;
    acu_image_options o;
    int kind;
    double limit, value;
} point;

/* The second operand, if there is one: a limit for each image, or tables. */
static acu_op *read_extra(acu_planning *p, const point *r, const acui_view *v, acui_image_point *to,
                          acu_dtype *dtype)
{
    char words[ACUI_OPS_WORDS];
    const acu_val *value = &p->values[1];
    if (value->kind != ACU_TENSOR)
        return acu_op_fail(ACU_ERR_INVALID, r->name, p->site, "%s takes a tensor, not %s", r->name,
                           acui_value_words(value, words));
    acu_shape s = acu_tensor_shape(value->tensor);
    const int64_t *strides = acu_tensor_strides(value->tensor);
    if (r->kind != ACUI_POINT_TABLE) {
        to->given = 1;
        return NULL;
    }
    if (v->dtype != ACU_U8 || !acui_is_pixel_dtype(acu_tensor_dtype(value->tensor)))
        return acu_op_fail(ACU_ERR_DTYPE, r->name, p->site, "%s takes an image of u8 and a table "
                           "of u8, u16, f16, bf16 or f32, not %s and %s", r->name,
                           acu_dtype_name(v->dtype), acui_value_words(value, words));
    bool all = s.rank == 3 && s.dim[0] == v->images;
    if (s.rank < 1 || s.dim[s.rank - 1] != 256 || (s.rank == 3 && !all) || s.rank > 3 ||
        (s.rank > 1 && s.dim[s.rank - 2] != v->channels))
        return acu_op_fail(ACU_ERR_SHAPE, r->name, p->site, "%s takes a table [256] or [%lld, 256] "
                           "for an image of %lld channels, not %s", r->name,
                           (long long)v->channels, (long long)v->channels,
                           acui_value_words(value, words));
    to->table_entry = strides[s.rank - 1];
    to->table_channel = s.rank > 1 ? strides[s.rank - 2] : 0;
    to->table_image = s.rank > 2 ? strides[0] : 0;
    *dtype = acu_tensor_dtype(value->tensor);
    return NULL;
}

static acu_op *plan_point(acu_planning *p)
{
    const point *r = p->data;
    acui_image_point params = {.kind = r->kind, .limit = (float)r->limit, .value = (float)r->value};
    acui_view v;
    acu_op *failed = acui_pair_of(p, r->name, &r->o, &v, &params.at);
    acu_dtype dtype = v.dtype;
    if (!failed && p->count > 1)
        failed = read_extra(p, r, &v, &params, &dtype);
    if (failed)
        return failed;
    params.full = (float)acui_full_of(v.dtype);
    acu_op *out = acui_pair_result_at(p, r->name, &r->o, &v, dtype, &params.at);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_tensor(p->values[p->count > 1 ? 1 : 0].tensor, ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_image_launch(p, r->name, family, "point", v.width, v.height, v.images, args, 4);
}

static acu_op *make_point(const point *r, acu_op *const *operands, size_t count, acu_site site)
{
    acu_custom custom = {.name = r->name, .fn = plan_point, .data = r, .bytes = sizeof *r};
    return acu_op_custom(custom, operands, count, site);
}

static acu_op *check_kind(const char *name, acu_threshold_kind kind, acu_site site)
{
    if ((unsigned)kind <= ACU_THRESHOLD_TO_ZERO_INVERSE)
        return NULL;
    return acu_op_fail(ACU_ERR_INVALID, name, site, "%s of kind %d: there is none", name,
                       (int)kind);
}

acu_op *acu_op_threshold(acu_op *x, acu_threshold_kind kind, double limit, double value,
                         const acu_image_options *options, acu_site site)
{
    point r = {.name = "threshold", .kind = (int)kind, .limit = limit, .value = value};
    acu_op *failed = read_layout(r.name, options, &r.o, site);
    if (!failed)
        failed = check_kind(r.name, kind, site);
    return failed ? acui_refused(failed, &x, 1) : make_point(&r, &x, 1, site);
}

acu_op *acu_op_gamma(acu_op *x, double gamma, const acu_image_options *options, acu_site site)
{
    point r = {.name = "gamma", .kind = ACUI_POINT_GAMMA, .value = gamma};
    acu_op *failed = read_layout(r.name, options, &r.o, site);
    if (!failed && !(gamma > 0 && gamma <= 1e6))
        failed = acu_op_fail(ACU_ERR_INVALID, r.name, site, "gamma of %g: it must be positive",
                             gamma);
    return failed ? acui_refused(failed, &x, 1) : make_point(&r, &x, 1, site);
}

acu_op *acu_op_lut(acu_op *x, acu_op *table, const acu_image_options *options, acu_site site)
{
    point r = {.name = "lut", .kind = ACUI_POINT_TABLE};
    acu_op *const operands[] = {x, table};
    acu_op *failed = read_layout(r.name, options, &r.o, site);
    return failed ? acui_refused(failed, operands, 2) : make_point(&r, operands, 2, site);
}

/* ---- histograms ---------------------------------------------------------------------------- */

typedef struct counting {
    const char *name;
    acu_image_options o;
    bool one_channel, whole; /* whole: [images, channels, 256] whatever the rank */
} counting;

static acu_op *plan_histogram(acu_planning *p)
{
    const counting *r = p->data;
    char words[ACUI_OPS_WORDS];
    acui_image_pair at;
    acui_view v;
    acu_op *failed = acui_pair_of(p, r->name, &r->o, &v, &at);
    if (failed)
        return failed;
    if (v.dtype != ACU_U8 || (r->one_channel && v.channels != 1))
        return acu_op_fail(v.dtype != ACU_U8 ? ACU_ERR_DTYPE : ACU_ERR_SHAPE, r->name, p->site,
                           "%s takes an image of u8%s, not %s", r->name,
                           r->one_channel ? " with one channel" : "",
                           acui_value_words(&p->values[0], words));
    const acu_tensor *given = p->out.tensor;
    bool batch = v.rank == 4 || r->whole;
    acu_shape s = batch ? ACU_SHAPE(v.images, v.channels, 256) : ACU_SHAPE(v.channels, 256);
    acu_op *out = acui_result(p, r->name, ACU_U32, s);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const int64_t *strides = given ? acu_tensor_strides(given) : NULL;
    at.out_column = strides ? strides[s.rank - 1] : 1;
    at.out_row = strides ? strides[s.rank - 2] : 256;
    at.out_image = !strides ? v.channels * 256 : batch ? strides[0] : 0;
    out = acu_op_fill(out, acu_u32(0), p->site);
    const acu_arg args[] = {acu_arg_op(out, ACU_UPDATE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_struct(&at, sizeof at)};
    const int64_t most = 16 * ACUI_IMAGE_ROWS; /* blocks take several turns beyond */
    int64_t rows = v.height < most ? v.height : most;
    return acui_image_launch(p, r->name, family, "histogram", v.width, rows, v.images, args, 3);
}

static acu_op *count_levels(const counting *r, acu_op *x, acu_site site)
{
    acu_custom custom = {.name = r->name, .fn = plan_histogram, .data = r, .bytes = sizeof *r};
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_histogram(acu_op *x, const acu_image_options *options, acu_site site)
{
    counting r = {.name = "histogram"};
    acu_op *failed = read_layout(r.name, options, &r.o, site);
    return failed ? acui_refused(failed, &x, 1) : count_levels(&r, x, site);
}

/* From counts [images, channels, 256]: a limit for each image, or a table for each channel. */
typedef struct evaluation {
    const char *name, *kernel;
    bool tables;
} evaluation;

static acu_op *plan_evaluation(acu_planning *p)
{
    const evaluation *r = p->data;
    acu_shape s = acu_tensor_shape(p->values[0].tensor);
    int64_t count = r->tables ? s.dim[0] * s.dim[1] : s.dim[0];
    const acu_tensor *given = r->tables ? NULL : p->out.tensor;
    acu_op *out = acui_result(p, r->name, r->tables ? ACU_U8 : ACU_F32,
                              r->tables ? s : ACU_SHAPE(count));
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_scalar(ACU_I64, (uint64_t)count),
                            acu_arg_scalar(ACU_I64, given ? (uint64_t)*acu_tensor_strides(given)
                                                          : 1)};
    return acui_run(p, r->name, family, r->kernel, acui_blocks(count, ACUI_BLOCK), args, 4);
}

static acu_op *evaluate(const evaluation *r, const acu_image_options *o, acu_op *x, acu_site site)
{
    counting c = {.name = r->name, .o = *o, .one_channel = !r->tables, .whole = true};
    acu_op *counts = count_levels(&c, x, site);
    acu_custom custom = {.name = r->name, .fn = plan_evaluation, .data = r, .bytes = sizeof *r};
    return acu_op_custom(custom, &counts, 1, site);
}

acu_op *acu_op_otsu(acu_op *x, const acu_image_options *options, acu_site site)
{
    acu_image_options o;
    evaluation r = {.name = "otsu", .kernel = "otsu"};
    acu_op *failed = read_layout(r.name, options, &o, site);
    return failed ? acui_refused(failed, &x, 1) : evaluate(&r, &o, x, site);
}

acu_op *acu_op_threshold_otsu(acu_op *x, acu_threshold_kind kind, double value,
                              const acu_image_options *options, acu_site site)
{
    point r = {.name = "threshold_otsu", .kind = (int)kind, .value = value};
    acu_op *failed = read_layout(r.name, options, &r.o, site);
    if (!failed)
        failed = check_kind(r.name, kind, site);
    if (failed)
        return acui_refused(failed, &x, 1);
    evaluation e = {.name = r.name, .kernel = "otsu"};
    acu_op *limit = evaluate(&e, &r.o, acu_op_retain(x), site);
    acu_op *const operands[] = {x, limit};
    return make_point(&r, operands, 2, site);
}

acu_op *acu_op_equalize(acu_op *x, const acu_image_options *options, acu_site site)
{
    point r = {.name = "equalize", .kind = ACUI_POINT_TABLE};
    acu_op *failed = read_layout(r.name, options, &r.o, site);
    if (failed)
        return acui_refused(failed, &x, 1);
    evaluation e = {.name = r.name, .kernel = "equalizer", .tables = true};
    acu_op *tables = evaluate(&e, &r.o, acu_op_retain(x), site);
    acu_op *const operands[] = {x, tables};
    return make_point(&r, operands, 2, site);
}

/* ---- colours ------------------------------------------------------------------------------- */

/* m becomes `with` after m; rows are channels, the last column is added. */
static void follow(double m[3][4], double with[3][4])
{
    double made[3][4];
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++) {
            made[k][c] = c == 3 ? with[k][3] : 0;
            for (int i = 0; i < 3; i++)
                made[k][c] += with[k][i] * m[i][c];
        }
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++)
            m[k][c] = made[k][c];
}

/* Factors about a level: `own` of the channel itself, the rest of a mean with these weights. */
static void scale_colors(double m[3][4], double own, const double mean[3], double level)
{
    double with[3][4];
    for (int k = 0; k < 3; k++) {
        for (int c = 0; c < 3; c++)
            with[k][c] = (k == c ? own : 0) + (1 - own) * mean[c];
        with[k][3] = (1 - own) * level;
    }
    follow(m, with);
}

/* Turns colours about the gray axis. */
static void turn_colors(double m[3][4], double degrees)
{
    double s, c, with[3][4] = {{0}};
    acui_turn_of(degrees, &s, &c);
    s *= 0.57735026918962576451; /* sqrt(1/3) */
    for (int k = 0; k < 3; k++) {
        with[k][k] = c + (1 - c) / 3;
        with[k][(k + 1) % 3] = (1 - c) / 3 - s;
        with[k][(k + 2) % 3] = (1 - c) / 3 + s;
    }
    follow(m, with);
}

acu_op *acu_op_adjust(acu_op *x, double brightness, double contrast, double saturation, double hue,
                      const acu_image_options *options, acu_site site)
{
    const char *name = "adjust";
    acu_image_options all, o = {0};
    const double none[3] = {0};
    double m[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, luma[3];
    acu_op *failed = acui_options_read_image(name, options, &all, site);
    acu_pixels pixels = all.pixels ? all.pixels : ACU_PIXELS_RGB;
    if (!failed && (acui_is_yuv(pixels) || pixels == ACU_PIXELS_GRAY))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "adjust takes colours, not %s",
                             acu_pixels_name(pixels));
    if (!failed && !(brightness >= 0 && contrast >= 0 && saturation >= 0 && brightness < 1e6 &&
                     contrast < 1e6 && saturation < 1e6 && hue > -1e9 && hue < 1e9))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "adjust by %g, %g, %g and %g: factors "
                             "must not be negative, and all finite", brightness, contrast,
                             saturation, hue);
    if (failed)
        return acui_refused(failed, &x, 1);
    acui_luma_of(all.matrix, luma);
    scale_colors(m, brightness, none, 0);
    scale_colors(m, contrast, none, 0.5);
    scale_colors(m, saturation, luma, 0);
    turn_colors(m, hue);
    o.layout = all.layout;
    o.dtype = all.dtype;
    o.filter = ACU_NEAREST;
    o.pixels = pixels;
    acui_request *r = acui_request_new(name, &o, 1);
    if (r) {
        r->frame[0].pixels = pixels;
        r->own_mix = true;
        acui_mix_in_order(m, pixels, r->mix);
    }
    return acui_request_op(r, &x, 1, site);
}

/* ---- one over another ---------------------------------------------------------------------- */

typedef struct over {
    acu_image_options o;
    bool premultiplied;
} over;

static acu_op *plan_composite(acu_planning *p)
{
    const over *r = p->data;
    acui_composite params = {.premultiplied = r->premultiplied};
    acui_view v, upper;
    char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
    acu_op *failed = acui_pair_of(p, "composite", &r->o, &v, &params.at);
    if (!failed)
        failed = acui_view_of(p, "composite", &p->values[1], r->o.layout, &upper);
    if (failed)
        return failed;
    if (upper.dtype != v.dtype)
        return acu_op_fail(ACU_ERR_DTYPE, "composite", p->site, "composite of %s under %s",
                           acui_value_words(&p->values[0], a), acui_value_words(&p->values[1], b));
    if (upper.channels != 4 || v.channels < 3 || upper.height != v.height ||
        upper.width != v.width || upper.images != v.images)
        return acu_op_fail(ACU_ERR_SHAPE, "composite", p->site, "composite of %s under %s: the "
                           "upper image has 4 channels, the lower 3 or 4, and both one size",
                           acui_value_words(&p->values[0], a), acui_value_words(&p->values[1], b));
    params.image = upper.image;
    params.row = upper.row;
    params.column = upper.column;
    params.channel = upper.channel;
    params.full = (float)acui_full_of(v.dtype);
    acu_op *out = acui_pair_result_at(p, "composite", &r->o, &v, v.dtype, &params.at);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_tensor(p->values[1].tensor, ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_image_launch(p, "composite", family, "composite", v.width, v.height, v.images,
                             args, 4);
}

acu_op *acu_op_composite(acu_op *under, acu_op *above, bool premultiplied,
                         const acu_image_options *options, acu_site site)
{
    over r = {.premultiplied = premultiplied};
    acu_op *const operands[] = {under, above};
    acu_op *failed = read_layout("composite", options, &r.o, site);
    if (failed)
        return acui_refused(failed, operands, 2);
    acu_custom custom = {.name = "composite", .fn = plan_composite, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, 2, site);
}
