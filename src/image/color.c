/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pixels in other formats, ranges and dtypes. What reads planes is a request; what writes them
 * has a kernel of its own. */
#include "image/image.h"

/* ---- as requests: no pixel moves ----------------------------------------------------------- */

static acui_request *in_place(const char *name, const acu_image_options *o)
{
    acui_request *r = acui_request_new(name, o, 1);
    if (r)
        r->o.filter = ACU_NEAREST;
    return r;
}

acu_op *acu_op_convert_scale(acu_op *x, acu_dtype dtype, double scale, double bias, acu_site site)
{
    const char *name = "convert_scale";
    acu_image_options o = {.dtype = dtype};
    if (dtype && !acui_is_pixel_dtype(dtype))
        return acui_refused(acu_op_fail(ACU_ERR_DTYPE, name, site, "%s makes u8, u16, f16, bf16 or "
                                        "f32, not %s", name, acu_dtype_name(dtype)), &x, 1);
    acui_request *r = in_place(name, &o);
    if (r) {
        r->scaling = ACUI_SCALE_RAW;
        r->scale = scale;
        r->bias = bias;
    }
    return acui_request_op(r, &x, 1, site);
}

acu_op *acu_op_normalize(acu_op *x, const acu_image_options *options, acu_site site)
{
    acu_image_options all, o = {0};
    acu_op *failed = acui_options_read_image("normalize", options, &all, site);
    if (failed)
        return acui_refused(failed, &x, 1);
    o.layout = all.layout;
    o.dtype = all.dtype;
    for (int k = 0; k < 4; k++) {
        o.mean[k] = all.mean[k];
        o.deviation[k] = all.deviation[k];
    }
    return acui_request_op(in_place("normalize", &o), &x, 1, site);
}

/* ---- to planes ----------------------------------------------------------------------------- */

typedef struct encoding {
    acu_pixels from, to;
    acu_image_options o;
} encoding;

/* From the channels of the source, in numbers of its dtype. */
static void set_mix(acui_encode *e, const encoding *r, acu_dtype dtype)
{
    double rgb[4][5], mix[3][3], add[3];
    acui_channels_mix(r->from, ACU_PIXELS_RGB, e->channels, r->o.matrix, rgb);
    acui_encode_of(r->to, r->o.matrix, r->o.range, mix, add);
    for (int k = 0; k < 3; k++) {
        e->add[k] = (float)add[k];
        for (int c = 0; c < 4; c++) {
            double sum = 0;
            for (int colour = 0; colour < 3; colour++)
                sum += mix[k][colour] * rgb[colour][c];
            e->mix[k][c] = (float)(sum / acui_full_of(dtype));
        }
    }
}

/* The shape of the result; its planes are in e->plane. */
static acu_op *lay_out(acu_planning *p, const encoding *r, const acui_view *v, acui_encode *e)
{
    int64_t batch[3] = {0};
    acui_plane plane[3];
    acu_op *out;
    if (r->to == ACU_PIXELS_YUV444) {
        acui_view to;
        acu_shape shape = acui_view_shape(r->o.layout, v->rank == 4 ? 4 : 3, v->images, v->height,
                                          v->width, 3);
        out = acui_view_result(p, "color", ACU_U8, r->o.layout, shape, &to);
        if (acu_op_status(out, NULL) != ACU_OK)
            return out;
        for (int k = 0; k < 3; k++) {
            plane[k] = (acui_plane){k * to.channel, to.row, to.column};
            batch[k] = to.image;
        }
    } else {
        acu_shape shape = acui_planes_shape(r->to, v->images, v->rank == 4, v->height, v->width);
        const acu_tensor *given = p->out.tensor; /* which acui_result takes, if it fits */
        out = acui_result(p, "color", acui_dtype_of(r->to), shape);
        if (acu_op_status(out, NULL) != ACU_OK)
            return out;
        acui_planes_lay_out(given, shape, r->to, v->height, plane, batch);
    }
    for (int k = 0; k < 3; k++) {
        e->plane[k] = plane[k];
        e->batch[k] = batch[k];
    }
    return out;
}

static acu_op *check_encoding(acu_planning *p, const encoding *r, acui_view *v)
{
    char words[ACUI_OPS_WORDS];
    acu_op *failed = acui_view_of(p, "color", &p->values[0], r->o.layout, v);
    if (failed)
        return failed;
    if (v->channels != acui_channels_of(r->from))
        return acu_op_fail(ACU_ERR_SHAPE, "color", p->site, "color: %s has %lld channels in %s; %s "
                           "has %d", acui_value_words(&p->values[0], words),
                           (long long)v->channels, r->o.layout == ACU_CHW ? "CHW" : "HWC",
                           acu_pixels_name(r->from), acui_channels_of(r->from));
    acui_chroma c = acui_chroma_of(r->to);
    if ((c.x && v->width % 2) || (c.x && !c.packed && v->height % 2))
        return acu_op_fail(ACU_ERR_SHAPE, "color", p->site, "color: %s can not become %s: its width"
                           "%s must be even", acui_value_words(&p->values[0], words),
                           acu_pixels_name(r->to), c.packed ? "" : " and height");
    const acu_tensor *out = p->out.tensor;
    if (out && !c.packed && c.x && !c.interleaved) {
        int rank = acu_tensor_shape(out).rank;
        if (rank >= 2 && (acu_tensor_strides(out)[rank - 1] != 1 ||
                          acu_tensor_strides(out)[rank - 2] != v->width))
            return acu_op_fail(ACU_ERR_SHAPE, "color", p->site, "color: %s can only go to a tensor "
                               "with dense rows, as U and V have shorter ones",
                               acu_pixels_name(r->to));
    }
    if (out && acu_tensor_buffer(out) == acu_tensor_buffer(p->values[0].tensor) &&
        acui_same_place(out, p->values[0].tensor) && r->to != ACU_PIXELS_YUV444)
        return acu_op_fail(ACU_ERR_SHARED, "color", p->site, "color can not overwrite its operand "
                           "with planes");
    return NULL;
}

static acu_op *plan_encoding(acu_planning *p)
{
    const encoding *r = p->data;
    acui_view v;
    acui_encode e = {0};
    acu_op *failed = check_encoding(p, r, &v);
    if (failed)
        return failed;
    acu_op *out = lay_out(p, r, &v, &e);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    acui_chroma c = acui_chroma_of(r->to);
    e.image = v.image;
    e.row = v.row;
    e.column = v.column;
    e.channel = v.channel;
    e.width = (int)v.width;
    e.height = (int)v.height;
    e.images = (int)v.images;
    e.channels = (int)v.channels;
    e.dtype = (int)v.dtype;
    e.out_dtype = (int)acui_dtype_of(r->to);
    e.chroma_x = c.x;
    e.chroma_y = c.y;
    set_mix(&e, r, v.dtype);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_struct(&e, sizeof e)};
    return acui_image_launch(p, "color", "acuda.image_sample", "encode",
                             (v.width + c.x) >> c.x, (v.height + c.y) >> c.y, v.images, args, 3);
}

/* ---- both ---------------------------------------------------------------------------------- */

static acu_op *check(acu_pixels from, acu_pixels to, acu_site site)
{
    if (!acui_pixels_known(from) || !acui_pixels_known(to) || !from || !to)
        return acu_op_fail(ACU_ERR_INVALID, "color", site, "color from %s to %s: say which formats",
                           acu_pixels_name(from), acu_pixels_name(to));
    if (acui_is_yuv(from) && acui_is_yuv(to))
        return acu_op_fail(ACU_ERR_NOT_SUPPORTED, "color", site, "color from %s to %s: in two "
                           "steps, by way of RGB", acu_pixels_name(from), acu_pixels_name(to));
    return NULL;
}

acu_op *acu_op_color(acu_op *x, acu_pixels from, acu_pixels to, const acu_image_options *options,
                     acu_site site)
{
    acu_image_options all;
    acu_op *failed = acui_options_read_image("color", options, &all, site);
    if (!failed)
        failed = check(from, to, site);
    if (failed)
        return acui_refused(failed, &x, 1);
    acu_image_options o = {.layout = all.layout, .matrix = all.matrix, .range = all.range,
                           .pixels = to};
    if (acui_is_yuv(to)) {
        encoding r = {.from = from, .to = to, .o = o};
        acu_custom custom = {.name = "color", .fn = plan_encoding, .data = &r, .bytes = sizeof r};
        return acu_op_custom(custom, &x, 1, site);
    }
    acui_request *r = in_place("color", &o);
    if (r)
        r->frame[0].pixels = from;
    return acui_request_op(r, &x, 1, site);
}
