/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images warped: by maps, by matrices, turned; and with borders, which is the simplest warp. */
#include "image/image.h"

#include <string.h>

_Static_assert((int)ACUI_BORDER_CONSTANT == (int)ACU_BORDER_CONSTANT - 1 &&
                   (int)ACUI_BORDER_REPLICATE == (int)ACU_BORDER_REPLICATE - 1 &&
                   (int)ACUI_BORDER_REFLECT == (int)ACU_BORDER_REFLECT - 1 &&
                   (int)ACUI_BORDER_REFLECT_101 == (int)ACU_BORDER_REFLECT_101 - 1 &&
                   (int)ACUI_BORDER_WRAP == (int)ACU_BORDER_WRAP - 1,
               "kernels know borders by these numbers");

typedef struct warping {
    char name[20];
    acu_image_options o;
    int kind;
    double matrix[9];      /* from the result to the source */
    int64_t height, width; /* of the result; 0: as the source */
    int64_t more_height, more_width; /* than the source, for borders */
    double degrees;
    bool turn;
} warping;

/* ---- planning ------------------------------------------------------------------------------ */

static acu_op *read_map(acu_planning *p, const warping *w, int which, acui_warp *to)
{
    char words[ACUI_OPS_WORDS];
    const acu_val *value = &p->values[1 + which];
    acu_shape s = {0};
    if (value->kind == ACU_TENSOR)
        s = acu_tensor_shape(value->tensor);
    if (value->kind != ACU_TENSOR || acu_tensor_dtype(value->tensor) != ACU_F32 ||
        (s.rank != 2 && s.rank != 3))
        return acu_op_fail(value->kind == ACU_TENSOR && s.rank >= 2 && s.rank <= 3 ? ACU_ERR_DTYPE
                                                                                 : ACU_ERR_SHAPE,
                           w->name, p->site, "%s takes maps of f32 [height, width], or with images "
                           "in front, not %s", w->name, acui_value_words(value, words));
    const int64_t *strides = acu_tensor_strides(value->tensor);
    int64_t height = s.dim[s.rank - 2], width = s.dim[s.rank - 1];
    if (which == 1 && (height != to->at.out_height || width != to->at.out_width))
        return acu_op_fail(ACU_ERR_SHAPE, w->name, p->site, "%s: map_y is %s, and map_x of %d x "
                           "%d", w->name, acui_value_words(value, words), to->at.out_height,
                           to->at.out_width);
    if (s.rank == 3 && s.dim[0] != to->at.images)
        return acu_op_fail(ACU_ERR_SHAPE, w->name, p->site, "%s: %s is for %lld images, and there "
                           "are %d", w->name, acui_value_words(value, words), (long long)s.dim[0],
                           to->at.images);
    if (height > ACUI_IMAGE_SIDE || width > ACUI_IMAGE_SIDE)
        return acu_op_fail(ACU_ERR_LIMIT, w->name, p->site, "%s takes maps of at most %d pixels "
                           "along a side", w->name, ACUI_IMAGE_SIDE);
    to->at.out_height = (int)height;
    to->at.out_width = (int)width;
    to->map_image[which] = s.rank == 3 ? strides[0] : 0;
    to->map_row[which] = strides[s.rank - 2];
    to->map_column[which] = strides[s.rank - 1];
    return NULL;
}

/* sin and cos of degrees, exact by quarters; by their series, as the library does without libm. */
void acui_turn_of(double degrees, double *sine, double *cosine)
{
    double quarters = degrees / 90;
    int64_t whole = (int64_t)(quarters + (quarters < 0 ? -0.5 : 0.5));
    double x = (quarters - (double)whole) * 1.57079632679489661923, s = 0, c = 0, term = 1;
    for (int k = 1; k < 26; k++) { /* |x| < 0.79 */
        if (k % 2)
            c += k % 4 == 1 ? term : -term;
        else
            s += k % 4 == 2 ? term : -term;
        term *= x / k;
    }
    switch ((whole % 4 + 4) % 4) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s; break;
    }
}

/* From a place in the turned image back: about the middle. */
static void set_turn(acui_warp *p, double degrees)
{
    double s, c, x = (p->at.width - 1) / 2.0, y = (p->at.height - 1) / 2.0;
    acui_turn_of(degrees, &s, &c);
    const double back[9] = {c, -s, x - c * x + s * y, s, c, y - s * x - c * y, 0, 0, 1};
    memcpy(p->matrix, back, sizeof back);
}

static void set_filter(acui_warp *p, const acu_image_options *o)
{
    p->filter = o->filter == ACU_NEAREST ? ACUI_FILTER_NEAREST
                : o->filter == ACU_LINEAR ? ACUI_FILTER_LINEAR
                : o->filter == ACU_CUBIC ? ACUI_FILTER_CUBIC : ACUI_FILTER_LANCZOS;
    p->reach = o->filter == ACU_CUBIC ? 2 : o->filter == ACU_LANCZOS ? 3 : 4;
    p->lobes = (float)p->reach;
    p->cubic = o->cubic != 0 ? o->cubic : -0.75f;
}

acu_op *acui_pair_of(acu_planning *p, const char *name, const acu_image_options *o, acui_view *v,
                     acui_image_pair *at)
{
    acu_op *failed = acui_view_of(p, name, &p->values[0], o->layout, v);
    if (failed)
        return failed;
    *at = (acui_image_pair){.image = v->image, .row = v->row, .column = v->column,
                            .channel = v->channel, .width = (int)v->width,
                            .height = (int)v->height, .images = (int)v->images,
                            .channels = (int)v->channels, .dtype = (int)v->dtype,
                            .out_width = (int)v->width, .out_height = (int)v->height,
                            .border = o->border ? (int)o->border - 1 : ACUI_BORDER_CONSTANT,
                            .pad = {o->pad[0], o->pad[1], o->pad[2], o->pad[3]}};
    return NULL;
}

acu_op *acui_pair_result_at(acu_planning *p, const char *name, const acu_image_options *o,
                            const acui_view *v, acu_dtype dtype, acui_image_pair *at)
{
    acui_view out;
    acu_shape shape = acui_view_shape(o->layout, v->rank, v->images, at->out_height, at->out_width,
                                      v->channels);
    acu_op *op = acui_view_result(p, name, dtype, o->layout, shape, &out);
    if (acu_op_status(op, NULL) != ACU_OK)
        return op;
    at->out_image = out.image;
    at->out_row = out.row;
    at->out_column = out.column;
    at->out_channel = out.channel;
    at->out_dtype = (int)dtype;
    return op;
}

acu_op *acui_pair_result(acu_planning *p, const char *name, const acu_image_options *o,
                         const acui_view *v, acu_dtype dtype, acui_image_pair *at)
{
    const acu_tensor *given = p->out.tensor;
    for (size_t i = 0; given && i < p->count; i++)
        if (acu_tensor_buffer(given) == acu_tensor_buffer(p->values[i].tensor) &&
            acui_same_place(given, p->values[i].tensor))
            return acu_op_fail(ACU_ERR_SHARED, name, p->site, "%s can not overwrite its operand "
                               "%zu, of which a pixel is read for several others", name, i);
    return acui_pair_result_at(p, name, o, v, dtype, at);
}

/* Whether warp_rgb makes it: bytes side by side, places that fit into 31 bits before the point. */
static bool is_simple(acui_warp *p)
{
    const acui_image_pair *at = &p->at;
    const double *m = p->matrix, most = 1 << 30;
    bool simple = p->kind == ACUI_WARP_MATRIX && p->filter == ACUI_FILTER_LINEAR &&
                  at->dtype == ACU_U8 && at->out_dtype == ACU_U8 && at->channels == 3 &&
                  at->channel == 1 && at->column == 3 && at->out_channel == 1 &&
                  at->out_column == 3 && at->row >= 0 && at->row * at->height < 0x7fffffff;
    for (int corner = 0; simple && corner < 4; corner++) {
        double x = corner & 1 ? at->out_width + ACUI_IMAGE_COLUMNS : 0;
        double y = corner & 2 ? at->out_height + ACUI_WARP_ROWS : 0;
        double u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
        simple = u > -most && u < most && v > -most && v < most;
    }
    for (int i = 0; simple && i < 2; i++) {
        double step = m[3 * i + 1] * 4294967296.0;
        p->step[i] = (int64_t)(step < 0 ? step - 0.5 : step + 0.5);
    }
    return simple;
}

static acu_op *launch(acu_planning *p, const warping *w, acui_warp *params, acu_op *out)
{
    bool maps = w->kind == ACUI_WARP_MAPS, simple = is_simple(params);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_tensor(p->values[maps ? 1 : 0].tensor, ACU_READ),
                            acu_arg_tensor(p->values[maps ? 2 : 0].tensor, ACU_READ),
                            acu_arg_struct(params, sizeof *params)};
    const char *kernel = simple ? "warp_rgb" : params->at.dtype == ACU_U8 ? "warp_b" : "warp";
    return acui_image_launch(p, w->name, "acuda.image_warp", kernel, params->at.out_width,
                             acui_parts(params->at.out_height, simple ? ACUI_WARP_ROWS : 1),
                             params->at.images, args, 5);
}

static acu_op *plan_warp(acu_planning *p)
{
    const warping *w = p->data;
    acui_warp params = {.kind = w->kind};
    acui_view v;
    acu_op *failed = acui_pair_of(p, w->name, &w->o, &v, &params.at);
    for (int k = 0; !failed && w->kind == ACUI_WARP_MAPS && k < 2; k++)
        failed = read_map(p, w, k, &params);
    if (failed)
        return failed;
    if (w->height) {
        params.at.out_height = (int)w->height;
        params.at.out_width = (int)w->width;
    }
    if (v.height + w->more_height > ACUI_IMAGE_SIDE || v.width + w->more_width > ACUI_IMAGE_SIDE)
        return acu_op_fail(ACU_ERR_LIMIT, w->name, p->site, "%s makes at most %d pixels along a "
                           "side", w->name, ACUI_IMAGE_SIDE);
    params.at.out_height += (int)w->more_height;
    params.at.out_width += (int)w->more_width;
    memcpy(params.matrix, w->matrix, sizeof params.matrix);
    if (w->turn)
        set_turn(&params, w->degrees);
    set_filter(&params, &w->o);
    acu_op *out = acui_pair_result(p, w->name, &w->o, &v, v.dtype, &params.at);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    return launch(p, w, &params, out);
}

/* ---- requests ------------------------------------------------------------------------------ */

static acu_op *check(warping *w, const char *name, const acu_image_options *options, acu_site site)
{
    acu_image_options all;
    strcpy(w->name, name);
    acu_op *failed = acui_options_read_image(name, options, &all, site);
    if (!failed && (all.filter == ACU_AREA || all.antialias))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "%s: ACU_AREA and antialiasing are for "
                             "resizing", name);
    w->o = (acu_image_options){.layout = all.layout, .filter = all.filter, .cubic = all.cubic,
                               .border = all.border, .inverse = all.inverse,
                               .pad = {all.pad[0], all.pad[1], all.pad[2], all.pad[3]}};
    return failed;
}

static acu_op *make(const warping *w, acu_op *const *operands, size_t count, acu_site site)
{
    acu_custom custom = {.name = w->name, .fn = plan_warp, .data = w, .bytes = sizeof *w};
    return acu_op_custom(custom, operands, count, site);
}

acu_op *acu_op_remap(acu_op *x, acu_op *map_x, acu_op *map_y, const acu_image_options *options,
                     acu_site site)
{
    warping w = {.kind = ACUI_WARP_MAPS};
    acu_op *const operands[] = {x, map_x, map_y};
    acu_op *failed = check(&w, "remap", options, site);
    return failed ? acui_refused(failed, operands, 3) : make(&w, operands, 3, site);
}

/* False: there is no inverse. */
static bool invert(const double m[9], double to[9])
{
    const double cofactor[9] = {
        m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
        m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
        m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};
    double determinant = m[0] * cofactor[0] + m[1] * cofactor[3] + m[2] * cofactor[6];
    bool finite = determinant - determinant == 0 && determinant != 0;
    for (int i = 0; finite && i < 9; i++) {
        to[i] = cofactor[i] / determinant;
        finite = to[i] - to[i] == 0;
    }
    return finite;
}

static acu_op *warp(const char *name, acu_op *x, const double *matrix, int kind, int64_t height,
                    int64_t width, const acu_image_options *options, acu_site site)
{
    warping w = {.kind = kind, .height = height, .width = width};
    acu_op *failed = check(&w, name, options, site);
    if (!failed && (height < 1 || width < 1 || height > ACUI_IMAGE_SIDE || width > ACUI_IMAGE_SIDE))
        failed = acu_op_fail(ACU_ERR_SHAPE, name, site, "%s to %lld rows of %lld pixels: there "
                             "must be 1 to %d of each", name, (long long)height, (long long)width,
                             ACUI_IMAGE_SIDE);
    if (!failed && !matrix)
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "acu_%s got NULL where a matrix should "
                             "be", name);
    if (!failed && w.o.inverse)
        memcpy(w.matrix, matrix, sizeof w.matrix);
    else if (!failed && !invert(matrix, w.matrix))
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "%s: the matrix has no inverse", name);
    return failed ? acui_refused(failed, &x, 1) : make(&w, &x, 1, site);
}

acu_op *acu_op_warp_affine(acu_op *x, const double matrix[6], int64_t height, int64_t width,
                           const acu_image_options *options, acu_site site)
{
    double all[9] = {0, 0, 0, 0, 0, 0, 0, 0, 1};
    if (matrix)
        memcpy(all, matrix, 6 * sizeof *all);
    return warp("warp_affine", x, matrix ? all : NULL, ACUI_WARP_MATRIX, height, width, options,
                site);
}

acu_op *acu_op_warp_perspective(acu_op *x, const double matrix[9], int64_t height, int64_t width,
                                const acu_image_options *options, acu_site site)
{
    return warp("warp_perspective", x, matrix, ACUI_WARP_PERSPECTIVE, height, width, options, site);
}

acu_op *acu_op_rotate(acu_op *x, double degrees, const acu_image_options *options, acu_site site)
{
    warping w = {.kind = ACUI_WARP_MATRIX, .degrees = degrees, .turn = true};
    acu_op *failed = check(&w, "rotate", options, site);
    if (!failed && !(degrees > -1e9 && degrees < 1e9))
        failed = acu_op_fail(ACU_ERR_INVALID, "rotate", site, "rotate by %g degrees", degrees);
    return failed ? acui_refused(failed, &x, 1) : make(&w, &x, 1, site);
}

acu_op *acu_op_make_border(acu_op *x, int64_t top, int64_t bottom, int64_t left, int64_t right,
                           const acu_image_options *options, acu_site site)
{
    const int64_t most = ACUI_IMAGE_SIDE;
    warping w = {.kind = ACUI_WARP_MATRIX,
                 .matrix = {1, 0, -(double)left, 0, 1, -(double)top, 0, 0, 1}};
    acu_op *failed = check(&w, "make_border", options, site);
    if (!failed && (top < 0 || bottom < 0 || left < 0 || right < 0 || top > most ||
                    bottom > most || left > most || right > most))
        failed = acu_op_fail(ACU_ERR_SHAPE, w.name, site, "make_border of %lld, %lld, %lld and "
                             "%lld pixels: there must be 0 to %lld", (long long)top,
                             (long long)bottom, (long long)left, (long long)right,
                             (long long)most);
    w.o.filter = ACU_NEAREST;
    w.more_height = failed ? 0 : top + bottom;
    w.more_width = failed ? 0 : left + right;
    return failed ? acui_refused(failed, &x, 1) : make(&w, &x, 1, site);
}
