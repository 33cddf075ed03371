/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A request for sampled images, once its operands are known: how each source lies in memory, what
 * part of the result comes from what part of it, and one launch (kernels/image_sample.cu).
 */
#include "image/image.h"

#include "base/alloc.h"

#include <string.h>

/* A frame whose tensors are known. */
typedef struct source {
    acui_view view;      /* of the picture; strides only if it is no format of planes */
    acui_plane plane[3];
    int64_t batch[3];
    int pointer[3];
    int64_t first, count; /* of its images */
} source;

typedef struct plan {
    acu_planning *p;
    const acui_request *r;
    source *sources; /* [frames] */
    acui_sample params;
    const acu_tensor *given; /* where the result goes, or NULL */
    acui_view out;
    acu_pixels from;
    bool uniform; /* one frame, whole: images at even distances */
} plan;

/* ---- sources ------------------------------------------------------------------------------- */

static acu_op *refuse_plane(plan *m, const acui_frame *f, int k, const char *what)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(ACU_ERR_SHAPE, m->r->name, m->p->site, "%s: plane %d of %s can not be %s: "
                       "%s", m->r->name, k, acu_pixels_name(f->pixels),
                       acui_value_words(&m->p->values[f->operand + (size_t)k], words), what);
}

/* Chroma in tensors of its own. */
static acu_op *read_chroma(plan *m, const acui_frame *f, source *s)
{
    acui_chroma c = acui_chroma_of(f->pixels);
    int64_t height = (s->view.height + (1 << c.y) - 1) >> c.y;
    int64_t width = (s->view.width + (1 << c.x) - 1) >> c.x;
    for (int k = 1; k < f->planes; k++) {
        acui_view v;
        acu_layout layout = ACU_HWC;
        acu_op *failed = acui_view_of(m->p, m->r->name, &m->p->values[f->operand + (size_t)k],
                                      layout, &v);
        if (failed)
            return failed;
        const acu_tensor *t = m->p->values[f->operand + (size_t)k].tensor;
        int rank = acu_tensor_shape(t).rank, own = c.interleaved ? 3 : 2;
        if (!c.interleaved && rank == 3) { /* [images, rows, columns] */
            const int64_t *strides = acu_tensor_strides(t);
            acu_shape shape = acu_tensor_shape(t);
            v = (acui_view){.dtype = v.dtype, .images = shape.dim[0], .height = shape.dim[1],
                            .width = shape.dim[2], .channels = 1, .image = strides[0],
                            .row = strides[1], .column = strides[2]};
        }
        if (v.height != height || v.width != width || v.images != s->view.images ||
            (rank != own && rank != own + 1) || v.channels != (c.interleaved ? 2 : 1))
            return refuse_plane(m, f, k, "chroma must have as many rows and columns as its luma, "
                                "or half (rounded up), as the format says");
        if (v.dtype != acui_dtype_of(f->pixels))
            return refuse_plane(m, f, k, "it has another dtype");
        int at = c.interleaved && c.swapped ? 2 : k;
        s->plane[at] = (acui_plane){0, v.row, v.column};
        s->batch[at] = v.image;
        s->pointer[at] = (int)f->operand + k;
        if (c.interleaved) {
            s->plane[3 - at] = (acui_plane){v.channel, v.row, v.column};
            s->batch[3 - at] = v.image;
            s->pointer[3 - at] = (int)f->operand + k;
        }
    }
    return NULL;
}

/* Luma in a tensor of its own: [height, width], or with images in front. */
static acu_op *read_luma(plan *m, const acui_frame *f, source *s)
{
    acu_op *failed = acui_view_of(m->p, m->r->name, &m->p->values[f->operand], ACU_CHW, &s->view);
    if (failed)
        return failed;
    if (s->view.rank > 3 || s->view.dtype != acui_dtype_of(f->pixels))
        return refuse_plane(m, f, 0, "luma is [height, width], of the format's dtype, with the "
                            "number of images in front if there are several");
    if (s->view.rank == 3) {
        s->view.images = s->view.channels;
        s->view.image = s->view.channel;
    }
    s->view.channels = 3;
    s->plane[0] = (acui_plane){0, s->view.row, s->view.column};
    s->batch[0] = s->view.image;
    return read_chroma(m, f, s);
}

static acu_op *read_frame(plan *m, const acui_frame *f, source *s)
{
    acu_op *failed;
    const acu_val *value = &m->p->values[f->operand];
    s->pointer[0] = s->pointer[1] = s->pointer[2] = (int)f->operand;
    if (acui_is_yuv(f->pixels) && f->planes > 1)
        return read_luma(m, f, s);
    if (acui_is_yuv(f->pixels) && f->pixels != ACU_PIXELS_YUV444)
        return acui_planes_of(m->p, m->r->name, value, f->pixels, s->plane, s->batch, &s->view);
    failed = acui_view_of(m->p, m->r->name, value, f->layout, &s->view);
    if (failed)
        return failed;
    int channels = acui_channels_of(f->pixels);
    char words[ACUI_OPS_WORDS];
    if (channels && channels != s->view.channels)
        return acu_op_fail(ACU_ERR_SHAPE, m->r->name, m->p->site, "%s: %s has %lld channels in %s; "
                           "%s has %d", m->r->name, acui_value_words(value, words),
                           (long long)s->view.channels, f->layout == ACU_CHW ? "CHW" : "HWC",
                           acu_pixels_name(f->pixels), channels);
    for (int k = 0; k < 3; k++) {
        s->plane[k] = (acui_plane){k * s->view.channel, s->view.row, s->view.column};
        s->batch[k] = s->view.image;
    }
    if (f->pixels == ACU_PIXELS_YUV444 && s->view.dtype != ACU_U8)
        return acu_op_fail(ACU_ERR_DTYPE, m->r->name, m->p->site, "%s: YUV444 is of u8, not %s",
                           m->r->name, acui_value_words(value, words));
    return NULL;
}

static acu_op *check_region(plan *m, const acui_frame *f, const source *s)
{
    const acu_region *g = &f->region;
    double w = (double)s->view.width, h = (double)s->view.height;
    if (f->image >= s->view.images)
        return acu_op_fail(ACU_ERR_INVALID, m->r->name, m->p->site, "%s: image %lld of %lld", m->r->
                           name, (long long)f->image, (long long)s->view.images);
    bool whole = g->x == 0 && g->y == 0 && g->width == 0 && g->height == 0;
    if (whole || (g->x >= 0 && g->y >= 0 && g->width > 0 && g->height > 0 && g->x + g->width <= w &&
                  g->y + g->height <= h))
        return NULL;
    return acu_op_fail(ACU_ERR_INVALID, m->r->name, m->p->site, "%s: the region at (%g, %g) of %g "
                       "x %g pixels is empty, or not in the image of %g x %g", m->r->name, g->x,
                       g->y, g->width, g->height, w, h);
}

static acu_op *read_frames(plan *m)
{
    int64_t images = 0;
    for (size_t i = 0; i < m->r->frames; i++) {
        const acui_frame *f = &m->r->frame[i];
        source *s = &m->sources[i];
        acu_op *failed = read_frame(m, f, s);
        if (!failed)
            failed = check_region(m, f, s);
        if (failed)
            return failed;
        if (s->view.dtype != m->sources->view.dtype)
            return acu_op_fail(ACU_ERR_DTYPE, m->r->name, m->p->site, "%s: image %zu is of %s, "
                               "and the first of %s", m->r->name, i, acu_dtype_name(s->view.dtype),
                               acu_dtype_name(m->sources->view.dtype));
        if (s->view.channels != m->sources->view.channels)
            return acu_op_fail(ACU_ERR_SHAPE, m->r->name, m->p->site, "%s: image %zu has %lld "
                               "channels, and the first %lld", m->r->name, i,
                               (long long)s->view.channels,
                               (long long)m->sources->view.channels);
        s->first = f->image < 0 ? 0 : f->image;
        s->count = f->image < 0 ? s->view.images : 1;
        images += s->count;
    }
    m->params.images = images > ACUI_IMAGE_SIDE ? ACUI_IMAGE_SIDE + 1 : (int)images;
    m->uniform = m->r->frames == 1 && m->r->frame[0].image < 0;
    if (!m->uniform && images > ACU_IMAGES_MAX)
        return acu_op_fail(ACU_ERR_LIMIT, m->r->name, m->p->site, "%s takes at most %d images of "
                           "their own in a call, not %lld", m->r->name, ACU_IMAGES_MAX,
                           (long long)images);
    return NULL;
}

/* ---- what of a source goes where ----------------------------------------------------------- */

/* The layout of image `n` of the source, and the axes along which it is sampled. */
static void place(const plan *m, const acui_frame *f, const source *s, int64_t n,
                  acui_image_source *to)
{
    acu_region whole = f->region, from, part;
    if (whole.width == 0)
        whole = (acu_region){0, 0, (double)s->view.width, (double)s->view.height};
    acu_image_fit(m->r->o.fit, whole.height, whole.width, m->params.height, m->params.width, &from,
                  &part);
    acui_axis_set(&to->x, &m->r->o, whole.x + from.x, from.width, s->view.width, (int64_t)part.x,
                  (int64_t)(part.x + part.width));
    acui_axis_set(&to->y, &m->r->o, whole.y + from.y, from.height, s->view.height, (int64_t)part.y,
                  (int64_t)(part.y + part.height));
    to->channel = s->view.channel;
    for (int k = 0; k < 3; k++) {
        to->plane[k] = s->plane[k];
        to->plane[k].offset += n * s->batch[k];
        to->pointer[k] = s->pointer[k];
    }
}

static void look_at_taps(plan *m, const acui_image_source *s)
{
    if (acui_axis_taps(&s->x) > ACUI_IMAGE_TAPS || acui_axis_taps(&s->y) > ACUI_IMAGE_TAPS)
        m->params.weights = 0;
}

static void set_filter(plan *m)
{
    const acu_image_options *o = &m->r->o;
    acui_sample *p = &m->params;
    static const int kinds[] = {ACUI_FILTER_LINEAR, ACUI_FILTER_NEAREST, ACUI_FILTER_CUBIC,
                                ACUI_FILTER_AREA, ACUI_FILTER_LANCZOS, ACUI_FILTER_LANCZOS};
    p->filter = kinds[o->filter];
    p->drop = o->antialias || o->filter == ACU_AREA;
    p->weights = 1;
    p->lobes = o->filter == ACU_LANCZOS4 ? 4 : 3;
    p->cubic = o->cubic != 0 ? o->cubic : o->antialias ? -0.5f : -0.75f;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* Result channel k is the sum of mix[k][c] times source channel c, plus mix[k][4]. */
static void set_numbers(plan *m)
{
    const acui_request *r = m->r;
    acui_sample *p = &m->params;
    acu_dtype dtype = m->sources->view.dtype;
    double mix[4][5], full_in = acui_full_of(dtype), full_out = acui_full_of(m->out.dtype);
    double full = p->yuv ? 1 : full_in; /* what the kernel's numbers have */
    acui_channels_mix(m->from, r->o.pixels, p->channels, r->o.matrix, mix);
    if (r->own_mix)
        memcpy(mix, r->mix, sizeof mix);
    for (int k = 0; k < 4; k++) {
        double deviation = r->o.deviation[k] != 0 ? (double)r->o.deviation[k] : 1;
        double scale = full_out / deviation, mean = (double)r->o.mean[k];
        for (int c = 0; c < 4; c++)
            p->mix[k][c] = (float)(r->scaling == ACUI_SCALE_RAW ? mix[k][c] * r->scale
                                                                : mix[k][c] * scale / full);
        p->mix[k][4] = (float)(r->scaling == ACUI_SCALE_RAW ? r->bias
                                                            : (mix[k][4] - mean) * scale);
        p->pad[k] = (float)(((double)r->o.pad[k] / full_in - mean) * scale);
    }
    p->own = acui_own_channels(p);
    p->swapped = p->one.plane[2].offset < p->one.plane[1].offset;
}

static acu_op *set_result(plan *m)
{
    const acui_request *r = m->r;
    acui_sample *p = &m->params;
    const acui_view *v = &m->sources->view;
    m->from = r->frame[0].pixels;
    p->yuv = acui_is_yuv(m->from);
    p->chroma_x = acui_chroma_of(m->from).x;
    p->chroma_y = acui_chroma_of(m->from).y;
    p->channels = (int)v->channels;
    p->dtype = (int)v->dtype;
    p->out_channels = r->o.pixels ? acui_channels_of(r->o.pixels) : p->channels;
    const acu_region *g = &r->frame[0].region;
    double height = r->height ? (double)r->height : g->height > 0 ? g->height : (double)v->height;
    double width = r->width ? (double)r->width : g->width > 0 ? g->width : (double)v->width;
    p->height = (int)height > 0 ? (int)height : 1;
    p->width = (int)width > 0 ? (int)width : 1;
    int rank = r->rank ? r->rank : v->rank;
    if (rank == 2 && p->out_channels > 1)
        rank = 3;
    acu_shape shape = acui_view_shape(r->o.layout, rank, p->images, p->height, p->width,
                                      p->out_channels);
    acu_op *out = acui_view_result(m->p, r->name, r->o.dtype ? r->o.dtype : v->dtype, r->o.layout,
                                   shape, &m->out);
    p->out_dtype = (int)m->out.dtype;
    p->out_image = m->out.image;
    p->out_row = m->out.row;
    p->out_column = m->out.column;
    p->out_channel = m->out.channel;
    acui_decode_of(m->from, r->o.matrix, r->o.range, p->decode);
    return out;
}

/* Writing where a source is, is possible only where each thread reads its own pixel alone. */
static acu_op *check_place(plan *m)
{
    const acu_tensor *out = m->given;
    const acui_sample *p = &m->params;
    const acui_axis *x = &p->one.x, *y = &p->one.y;
    const source *s = m->sources;
    bool own = m->uniform && p->filter == ACUI_FILTER_NEAREST && !p->yuv && x->step == 1 &&
               y->step == 1 && x->start < 0.5 && y->start < 0.5 && x->begin == 0 && y->begin == 0 &&
               m->r->o.layout == m->r->frame[0].layout && s->view.images == p->images;
    for (size_t i = 0; out && !own && i < m->p->count; i++)
        if (acu_tensor_buffer(out) == acu_tensor_buffer(m->p->values[i].tensor) &&
            acui_same_place(out, m->p->values[i].tensor))
            return acu_op_fail(ACU_ERR_SHARED, m->r->name, m->p->site, "%s can not overwrite its "
                               "operand %zu, of which a pixel is read for several others",
                               m->r->name, i);
    return NULL;
}

/* ---- launching ----------------------------------------------------------------------------- */

static const char *kernel_of(const plan *m, bool list)
{
    bool few = !m->params.drop && (m->params.filter == ACUI_FILTER_NEAREST ||
                                   m->params.filter == ACUI_FILTER_LINEAR);
    if (!few)
        return list ? "filter_list" : "filter";
    if (m->params.dtype == ACU_U8)
        return list ? "sample_b_list" : "sample_b";
    return list ? "sample_list" : "sample";
}

/* The kernel that makes the images of that table; *args start with the result. */
static acu_op *launch(plan *m, const acui_image_source *table, int count, const acu_arg *args,
                      size_t args_count)
{
    const acui_sample *s = &m->params;
    bool list = table != &s->one;
    acui_fast fast = acui_fast_sample(s, table, count);
    if (!list && acui_fast_planes(s, m->sources->view.width, m->sources->view.height))
        fast = (acui_fast){"planes_rgb", "planes_rgb", 4, 2};
    if (fast.kernel)
        return acui_image_launch(m->p, m->r->name, "acuda.image_rows",
                                 list ? fast.list_kernel : fast.kernel,
                                 acui_parts(s->width, fast.columns),
                                 acui_parts(s->height, fast.rows), s->images, args, args_count);
    return acui_image_launch(m->p, m->r->name, "acuda.image_sample", kernel_of(m, list), s->width,
                             s->height, s->images, args, args_count);
}

static acu_op *launch_one(plan *m, acu_op *out)
{
    acu_planning *p = m->p;
    const acui_image_source *s = &m->params.one;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[s->pointer[0]].tensor, ACU_READ),
                            acu_arg_tensor(p->values[s->pointer[1]].tensor, ACU_READ),
                            acu_arg_tensor(p->values[s->pointer[2]].tensor, ACU_READ),
                            acu_arg_struct(&m->params, sizeof m->params)};
    return launch(m, s, 1, args, 5);
}

/* A table of the images goes along, as a small upload. */
static acu_op *launch_list(plan *m, acu_op *out)
{
    acu_planning *p = m->p;
    acu_tensor *tensors[ACUI_IMAGE_POINTERS];
    acui_image_source *table = acui_alloc((size_t)m->params.images * sizeof *table);
    if (!table) {
        acu_op_release(out);
        return acu_op_fail(ACU_ERR_NO_MEMORY, m->r->name, p->site,
                           "no memory for a list of images");
    }
    int n = 0;
    for (size_t i = 0; i < m->r->frames; i++)
        for (int64_t k = 0; k < m->sources[i].count; k++, n++) {
            memset(&table[n], 0, sizeof table[n]);
            place(m, &m->r->frame[i], &m->sources[i], m->sources[i].first + k, &table[n]);
            look_at_taps(m, &table[n]);
        }
    for (size_t i = 0; i < p->count; i++)
        tensors[i] = p->values[i].tensor;
    acu_op *upload = acu_op_const(ACU_U8, ACU_SHAPE(n * (int64_t)sizeof *table), table, p->site);
    m->params.table = 1;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE), acu_arg_list(tensors, p->count, ACU_READ),
                            acu_arg_op(upload, ACU_READ),
                            acu_arg_struct(&m->params, sizeof m->params)};
    acu_op *op = launch(m, table, n, args, 4);
    acui_free(table);
    return op;
}

static acu_op *sample(plan *m)
{
    acu_op *failed = read_frames(m);
    if (failed)
        return failed;
    acu_op *out = set_result(m);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    set_filter(m);
    place(m, &m->r->frame[0], m->sources, m->sources->first, &m->params.one);
    set_numbers(m);
    if (m->uniform) {
        look_at_taps(m, &m->params.one);
        for (int k = 0; k < 3; k++)
            m->params.batch[k] = m->sources->batch[k];
    }
    failed = check_place(m);
    if (failed) {
        acu_op_release(out);
        return failed;
    }
    return m->uniform ? launch_one(m, out) : launch_list(m, out);
}

static acu_op *plan_request(acu_planning *p)
{
    plan m = {.p = p, .r = p->user, .given = p->out.tensor};
    m.sources = acui_alloc(m.r->frames * sizeof *m.sources);
    if (!m.sources)
        return acu_op_fail(ACU_ERR_NO_MEMORY, m.r->name, p->site, "no memory for a list of images");
    acu_op *op = sample(&m);
    acui_free(m.sources);
    return op;
}

/* ---- requests ------------------------------------------------------------------------------ */

acui_request *acui_request_new(const char *name, const acu_image_options *o, size_t frames)
{
    acui_request *r = acui_alloc(sizeof *r + frames * sizeof *r->frame);
    if (!r)
        return NULL;
    r->name = name;
    r->o = *o;
    r->frames = frames;
    for (size_t i = 0; i < frames; i++) {
        r->frame[i].image = -1;
        r->frame[i].planes = 1;
        r->frame[i].layout = o->layout;
    }
    return r;
}

acu_op *acui_request_op(acui_request *r, acu_op *const *operands, size_t count, acu_site site)
{
    if (!r)
        return acui_refused(acu_op_fail(ACU_ERR_NO_MEMORY, "image", site,
                                        "no memory for a list of images"), operands, count);
    acu_custom custom = {.name = r->name, .fn = plan_request,
                         .user = {.data = r, .release = acui_free}};
    return acu_op_custom(custom, operands, count, site);
}

void acui_request_free(acui_request *r)
{
    acui_free(r);
}

acu_op *acui_refused(acu_op *failed, acu_op *const *operands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        acu_op_release(operands[i]);
    return failed;
}
