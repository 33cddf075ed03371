/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Boxes: overlap, non-maximum suppression, drawing. */
#include "image/image.h"

#include <acuda/boxes.h>

static const char family[] = "acuda.boxes";

/* An operand [images ...] of that dtype: `rank` dimensions for one image, of which the last has
 * `last` elements (0: any number). */
typedef struct wanted {
    const char *what;
    acu_dtype dtype;
    int rank;
    int64_t last;
} wanted;

static const wanted box_list = {"boxes of f32 [n, 4]", ACU_F32, 2, 4};
static const wanted score_list = {"scores of f32 [n]", ACU_F32, 1, 0};
static const wanted class_list = {"classes of i64 [n]", ACU_I64, 1, 0};
static const wanted index_list = {"indices of i64 [k]", ACU_I64, 1, 0};

/* *images: 0 if there is no such dimension. */
static acu_op *read_list(acu_planning *p, const char *name, size_t i, const wanted *w,
                         int64_t *images, int64_t *count, acui_strides *to)
{
    char words[ACUI_OPS_WORDS];
    const acu_val *value = &p->values[i];
    acu_shape s = {0};
    if (value->kind == ACU_TENSOR)
        s = acu_tensor_shape(value->tensor);
    bool fits = (s.rank == w->rank || s.rank == w->rank + 1) &&
                (!w->last || s.dim[s.rank - 1] == w->last);
    if (!fits || acu_tensor_dtype(value->tensor) != w->dtype)
        return acu_op_fail(fits ? ACU_ERR_DTYPE : value->kind == ACU_TENSOR ? ACU_ERR_SHAPE
                                                                          : ACU_ERR_INVALID,
                           name, p->site, "%s takes %s, or with images in front, not %s", name,
                           w->what, acui_value_words(value, words));
    const int64_t *strides = acu_tensor_strides(value->tensor);
    int d = s.rank - w->rank;
    if (d && s.dim[0] == 0)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "%s takes lists of one image or more, not "
                           "%s", name, acui_value_words(value, words));
    *images = d ? s.dim[0] : 0;
    *count = s.dim[d];
    *to = (acui_strides){.image = d ? strides[0] : 0, .row = strides[d],
                         .column = w->rank == 2 ? strides[d + 1] : strides[d]};
    return NULL;
}

/* ---- overlap ------------------------------------------------------------------------------- */

static acu_op *plan_iou(acu_planning *p)
{
    const char *name = "box_iou";
    acui_boxes params = {0};
    int64_t images = 0, more = 0;
    acu_op *failed = read_list(p, name, 0, &box_list, &images, (int64_t *)&params.count,
                               &params.boxes);
    if (!failed)
        failed = read_list(p, name, 1, &box_list, &more, (int64_t *)&params.others, &params.more);
    if (failed)
        return failed;
    if (images || more)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "box_iou takes two lists of boxes [n, 4]");
    const acu_tensor *given = p->out.tensor;
    acu_op *out = acui_result_apart(p, name, ACU_F32,
                                    ACU_SHAPE(params.count, params.others));
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    params.out.row = given ? acu_tensor_strides(given)[0] : params.others;
    params.out.column = given ? acu_tensor_strides(given)[1] : 1;
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_READ),
                            acu_arg_op(acu_op_take(&p->values[1], p->site), ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_run(p, name, family, "iou", acui_blocks(params.count * params.others, ACUI_BLOCK),
                    args, 4);
}

acu_op *acu_op_box_iou(acu_op *a, acu_op *b, acu_site site)
{
    acu_custom custom = {.name = "box_iou", .fn = plan_iou};
    return acu_op_custom(custom, (acu_op *const[]){a, b}, 2, site);
}

/* ---- suppression --------------------------------------------------------------------------- */

typedef struct suppression {
    double overlap, least;
    int64_t most;
} suppression;

/* Reads boxes, scores and classes; they must be as many. */
static acu_op *read_lists(acu_planning *p, acui_boxes *to, int64_t *images)
{
    int64_t batch[3] = {0}, count[3] = {0};
    acu_op *failed = read_list(p, "nms", 0, &box_list, &batch[0], &count[0], &to->boxes);
    if (!failed)
        failed = read_list(p, "nms", 1, &score_list, &batch[1], &count[1], &to->more);
    if (!failed && p->count > 2)
        failed = read_list(p, "nms", 2, &class_list, &batch[2], &count[2], &to->classes);
    if (failed)
        return failed;
    for (size_t i = 1; i < p->count; i++)
        if (batch[i] != batch[0] || count[i] != count[0]) {
            char a[ACUI_OPS_WORDS], b[ACUI_OPS_WORDS];
            return acu_op_fail(ACU_ERR_SHAPE, "nms", p->site, "nms: %s go with boxes %s, and must "
                               "be as many", acui_value_words(&p->values[i], a),
                               acui_value_words(&p->values[0], b));
        }
    to->count = count[0];
    to->has_classes = p->count > 2;
    *images = batch[0];
    return NULL;
}

static acu_op *plan_nms(acu_planning *p)
{
    const suppression *r = p->data;
    acui_boxes params = {.overlap = (float)r->overlap, .least = (float)r->least, .most = r->most};
    int64_t images = 0;
    acu_op *failed = read_lists(p, &params, &images);
    if (failed)
        return failed;
    if (images > 1 << 20)
        return acu_op_fail(ACU_ERR_LIMIT, "nms", p->site, "nms of %lld images at once: at most "
                           "%d", (long long)images, 1 << 20);
    const acu_tensor *given = p->out.tensor;
    acu_op *out = acui_result(p, "nms", ACU_I64, images ? ACU_SHAPE(images, r->most)
                                                        : ACU_SHAPE(r->most));
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    const int64_t *strides = given ? acu_tensor_strides(given) : NULL;
    params.out.image = !images ? 0 : strides ? strides[0] : r->most;
    params.out.column = strides ? strides[images ? 1 : 0] : 1;
    images = images ? images : 1;
    acu_op *left = acu_op_empty(ACU_F32, ACU_SHAPE(images * params.count), p->site);
    const acu_arg args[] = {acu_arg_op(out, ACU_WRITE),
                            acu_arg_tensor(p->values[0].tensor, ACU_READ),
                            acu_arg_tensor(p->values[1].tensor, ACU_READ),
                            acu_arg_tensor(p->values[p->count > 2 ? 2 : 1].tensor, ACU_READ),
                            acu_arg_op(left, ACU_WRITE), acu_arg_struct(&params, sizeof params)};
    return acui_run(p, "nms", family, "nms", images, args, 6);
}

static acu_op *suppress(acu_op *const *operands, size_t count, double overlap, double least,
                        int64_t most, acu_site site)
{
    suppression r = {.overlap = overlap, .least = least, .most = most};
    if (!(overlap >= 0) || least != least || most < 1 || most > ACUI_IMAGE_SIDE) {
        acu_op *failed = acu_op_fail(ACU_ERR_INVALID, "nms", site, "nms with overlap %g, scores "
                                     "above %g, at most %lld boxes: overlap must not be negative, "
                                     "and at least one box be kept", overlap, least,
                                     (long long)most);
        return acui_refused(failed, operands, count);
    }
    acu_custom custom = {.name = "nms", .fn = plan_nms, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, count, site);
}

acu_op *acu_op_nms(acu_op *boxes, acu_op *scores, double overlap, double least, int64_t most,
                   acu_site site)
{
    return suppress((acu_op *const[]){boxes, scores}, 2, overlap, least, most, site);
}

acu_op *acu_op_nms_by_class(acu_op *boxes, acu_op *scores, acu_op *classes, double overlap,
                            double least, int64_t most, acu_site site)
{
    return suppress((acu_op *const[]){boxes, scores, classes}, 3, overlap, least, most, site);
}

/* ---- drawing ------------------------------------------------------------------------------- */

typedef struct drawing {
    acu_image_options o;
    float color[4];
    double thickness;
} drawing;

static acu_op *read_drawn(acu_planning *p, acui_draw *to, const acui_view *v)
{
    const char *name = "draw_boxes";
    char words[ACUI_OPS_WORDS], of_boxes[ACUI_OPS_WORDS];
    int64_t images = 0, count = 0;
    acu_op *failed = read_list(p, name, 1, &box_list, &images, &count, &to->boxes);
    if (failed)
        return failed;
    to->boxes_count = to->count = count;
    int64_t want = v->rank == 4 ? v->images : 0, chosen = want;
    if (p->count > 2)
        failed = read_list(p, name, 2, &index_list, &chosen, &count, &to->which);
    if (failed)
        return failed;
    to->count = count;
    to->has_which = p->count > 2;
    if (images != want || chosen != want)
        return acu_op_fail(ACU_ERR_SHAPE, name, p->site, "draw_boxes into %s of boxes %s: boxes, "
                           "and indices, have the number of images in front where the image has "
                           "it",
                           acui_value_words(&p->values[0], words),
                           acui_value_words(&p->values[1], of_boxes));
    return NULL;
}

static acu_op *plan_draw(acu_planning *p)
{
    const drawing *r = p->data;
    char words[ACUI_OPS_WORDS];
    acui_draw params = {.half = (float)(r->thickness / 2)};
    acui_view v;
    acu_op *failed = acui_pair_of(p, "draw_boxes", &r->o, &v, &params.at);
    if (!failed)
        failed = read_drawn(p, &params, &v);
    if (failed)
        return failed;
    if (!acu_tensor_writable(p->values[0].tensor))
        return acu_op_fail(ACU_ERR_SHARED, "draw_boxes", p->site, "draw_boxes: %s has elements "
                           "that share memory, or is for reading only",
                           acui_value_words(&p->values[0], words));
    params.at.out_image = v.image;
    params.at.out_row = v.row;
    params.at.out_column = v.column;
    params.at.out_channel = v.channel;
    params.at.out_dtype = (int)v.dtype;
    for (int c = 0; c < 4; c++)
        params.at.pad[c] = r->color[c];
    const acu_arg args[] = {acu_arg_op(acu_op_take(&p->values[0], p->site), ACU_UPDATE),
                            acu_arg_tensor(p->values[1].tensor, ACU_READ),
                            acu_arg_tensor(p->values[p->count > 2 ? 2 : 1].tensor, ACU_READ),
                            acu_arg_struct(&params, sizeof params)};
    return acui_image_launch(p, "draw_boxes", family, "draw", v.width, v.height, v.images, args, 4);
}

static acu_op *draw(acu_op *const *operands, size_t count, const float *color, double thickness,
                    const acu_image_options *options, acu_site site)
{
    drawing r = {.thickness = thickness};
    acu_image_options all;
    acu_op *failed = acui_options_read_image("draw_boxes", options, &all, site);
    if (!failed && (!color || !(thickness > 0 && thickness < 1e6)))
        failed = acu_op_fail(ACU_ERR_INVALID, "draw_boxes", site, "draw_boxes with lines of %g "
                             "pixels%s", thickness, color ? "" : ", and NULL where a colour "
                             "should be");
    if (failed)
        return acui_refused(failed, operands, count);
    r.o.layout = all.layout;
    for (int c = 0; c < 4; c++)
        r.color[c] = color[c];
    acu_custom custom = {.name = "draw_boxes", .fn = plan_draw, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, count, site);
}

acu_op *acu_op_draw_boxes(acu_op *x, acu_op *boxes, const float color[4], double thickness,
                          const acu_image_options *options, acu_site site)
{
    return draw((acu_op *const[]){x, boxes}, 2, color, thickness, options, site);
}

acu_op *acu_op_draw_some_boxes(acu_op *x, acu_op *boxes, acu_op *which, const float color[4],
                               double thickness, const acu_image_options *options, acu_site site)
{
    return draw((acu_op *const[]){x, boxes, which}, 3, color, thickness, options, site);
}
