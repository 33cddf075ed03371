/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images by NPP as operations: what NPP takes, checked before it is called (calls.c). */
#include "npp/calls.h"

#include "base/error.h"
#include "image/image.h"

#include <acuda/npp.h>

#include <string.h>

enum { RESIZE, BATCH, REMAP, BORDER };

static const char *const names[] = {"npp_resize", "npp_resize_batch", "npp_remap", "npp_border"};

typedef struct request {
    int kind, filter;
    uint32_t count;
    acu_region from, to;
    int64_t top, left;
    double color[4];
} request;

_Static_assert(ACUI_NPP_BATCH == ACU_IMAGES_MAX, "room for all images of a call");

static acu_op *refuse(const acu_planning *p, const request *r, acu_status status, size_t i,
                      const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, names[r->kind], p->site, "%s of %s (operand %zu): %s",
                       names[r->kind], acui_value_words(&p->values[i], words), i, why);
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool rows_are_dense(const acui_view *v)
{
    int64_t bytes = (int64_t)acu_dtype_bytes(v->dtype);
    return (v->channels == 1 || v->channel == 1) && (v->width == 1 || v->column == v->channels) &&
           (v->height == 1 || (v->row >= v->width * v->channels && v->row < INT_MAX / bytes));
}

/* Bytes from one row to the next; one row has its own length. */
static int step_of(const acui_view *v)
{
    int64_t row = v->height == 1 ? v->width * v->channels : v->row;
    return (int)(row * (int64_t)acu_dtype_bytes(v->dtype));
}

static acu_op *check_image(acu_planning *p, const request *r, size_t i, acui_view *v)
{
    acu_op *failed = acui_view_of(p, names[r->kind], &p->values[i], ACU_HWC, v);
    if (failed)
        return failed;
    if (v->rank > 3)
        return refuse(p, r, ACU_ERR_SHAPE, i, "it takes one image, of 2 or 3 dimensions");
    if (v->channels == 2)
        return refuse(p, r, ACU_ERR_SHAPE, i, "NPP has 1, 3 or 4 channels here");
    if (v->dtype != ACU_U8 && v->dtype != ACU_F32 && !(v->dtype == ACU_U16 && r->kind != BATCH))
        return refuse(p, r, ACU_ERR_DTYPE, i, r->kind == BATCH ? "NPP has u8 and f32 here"
                                                               : "NPP has u8, u16 and f32 here");
    if (!rows_are_dense(v) ||
        v->width * v->channels * (int64_t)acu_dtype_bytes(v->dtype) > INT_MAX)
        return refuse(p, r, ACU_ERR_INVALID, i, "the pixels of a row must be dense, and rows less "
                      "than 2 GiB apart (acu_dup makes a dense copy)");
    return NULL;
}

static bool same_kind(const acui_view *a, const acui_view *b)
{
    return a->dtype == b->dtype && a->channels == b->channels;
}

/* Image i, which must be like the first of its side. */
static acu_op *check_like(acu_planning *p, const request *r, size_t i, const acui_view *first,
                          acui_npp *n)
{
    acui_view v;
    acu_op *failed = check_image(p, r, i, &v);
    if (failed)
        return failed;
    if (!same_kind(&v, first))
        return refuse(p, r, ACU_ERR_DTYPE, i, "all images must have one dtype and as many "
                      "channels");
    if (v.height != first->height || v.width != first->width)
        return refuse(p, r, ACU_ERR_SHAPE, i, "all images that are read must have one size, and "
                      "all that are written too");
    n->steps[i] = step_of(&v);
    return NULL;
}

/* NULL: it is in the image; all zeros become the whole image. */
static const char *region_in(const acu_region *given, const acui_view *v, acui_npp_rect *part)
{
    const acu_region g = *given;
    *part = (acui_npp_rect){0, 0, (int)v->width, (int)v->height};
    if (g.x == 0 && g.y == 0 && g.width == 0 && g.height == 0)
        return NULL;
    const double most = ACUI_IMAGE_SIDE;
    if (!(g.x >= 0 && g.y >= 0 && g.width >= 1 && g.height >= 1 && g.x <= most && g.y <= most &&
          g.x + g.width <= (double)v->width && g.y + g.height <= (double)v->height))
        return "its region is empty, or not in the image";
    *part = (acui_npp_rect){(int)g.x, (int)g.y, (int)g.width, (int)g.height};
    if (part->x != g.x || part->y != g.y || part->width != g.width || part->height != g.height)
        return "its region must be in whole pixels";
    return NULL;
}

static acui_npp_image image_of(const acui_view *v)
{
    return (acui_npp_image){.size = {(int)v->width, (int)v->height}, .step = step_of(v)};
}

/* The images: those written come first. */
static acu_op *check_images(acu_planning *p, const request *r, acui_npp *n)
{
    acui_view to, from;
    size_t first = r->count; /* that is read */
    acu_op *failed = check_image(p, r, 0, &to);
    if (!failed)
        failed = check_image(p, r, first, &from);
    if (failed)
        return failed;
    if (!same_kind(&from, &to))
        return refuse(p, r, ACU_ERR_DTYPE, first, "what is written must have its dtype and as many "
                      "channels");
    for (size_t i = 0; i < 2 * first && r->kind == BATCH && !failed; i++)
        failed = check_like(p, r, i, i < first ? &to : &from, n);
    if (failed)
        return failed;
    n->type = from.dtype == ACU_U8 ? ACUI_NPP_8U : from.dtype == ACU_U16 ? ACUI_NPP_16U
                                                                         : ACUI_NPP_32F;
    n->layout = from.channels == 1 ? 0 : (int)from.channels - 2;
    n->from = image_of(&from);
    n->to = image_of(&to);
    const char *why = region_in(&r->from, &from, &n->from.part);
    if (why)
        return refuse(p, r, ACU_ERR_INVALID, first, why);
    why = region_in(&r->to, &to, &n->to.part);
    return why ? refuse(p, r, ACU_ERR_INVALID, 0, why) : NULL;
}

/* Nothing that is written may be read, or written twice. */
static acu_op *check_overlap(acu_planning *p, const request *r)
{
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = i + 1; k < p->count; k++) {
            const acu_tensor *out = p->values[i].tensor, *other = p->values[k].tensor;
            if (acu_tensor_buffer(out) == acu_tensor_buffer(other) &&
                (acui_overlaps(out, other) || acui_same_place(out, other)))
                return refuse(p, r, ACU_ERR_INVALID, k, "an image that is written overlaps it");
        }
    return NULL;
}

/* ---- what each of them takes besides -------------------------------------------------------- */

static acu_op *check_filter(acu_planning *p, const request *r, acui_npp *n)
{
    static const int filters[] = {[ACU_LINEAR] = ACUI_NPP_LINEAR, [ACU_NEAREST] = ACUI_NPP_NEAREST,
                                  [ACU_CUBIC] = ACUI_NPP_CUBIC, [ACU_AREA] = ACUI_NPP_SUPER,
                                  [ACU_LANCZOS] = ACUI_NPP_LANCZOS};
    bool known = r->filter >= 0 && r->filter < (int)(sizeof filters / sizeof *filters);
    if (!known || (r->filter == ACU_AREA && r->kind == REMAP))
        return acu_op_fail(ACU_ERR_INVALID, names[r->kind], p->site, "%s: NPP does not have filter "
                           "%d here", names[r->kind], r->filter);
    n->filter = filters[r->filter];
    const acui_npp_rect *from = &n->from.part, *to = &n->to.part;
    if (r->filter == ACU_AREA && (to->width > from->width || to->height > from->height))
        return refuse(p, r, ACU_ERR_INVALID, r->count, "ACU_AREA of NPP only makes images "
                      "smaller");
    return NULL;
}

static acu_op *check_maps(acu_planning *p, const request *r, acui_npp *n)
{
    for (size_t i = 2; i < 4; i++) {
        const acu_tensor *t = p->values[i].kind == ACU_TENSOR ? p->values[i].tensor : NULL;
        acui_view v;
        if (!t || acu_tensor_dtype(t) != ACU_F32)
            return refuse(p, r, ACU_ERR_DTYPE, i, "a map must be f32");
        if (acu_tensor_shape(t).rank != 2)
            return refuse(p, r, ACU_ERR_SHAPE, i, "a map must be [height, width]");
        acui_view_read(t, ACU_HWC, &v);
        if (v.height != n->to.size.height || v.width != n->to.size.width)
            return refuse(p, r, ACU_ERR_SHAPE, i, "a map must have the height and width of the "
                          "image that is written");
        if (!rows_are_dense(&v))
            return refuse(p, r, ACU_ERR_INVALID, i, "the rows of a map must be dense, and less "
                          "than 2 GiB apart");
        n->map_steps[i - 2] = step_of(&v);
    }
    return check_filter(p, r, n);
}

static acu_op *check_border(acu_planning *p, const request *r, acui_npp *n)
{
    const acui_npp_size *x = &n->from.size, *out = &n->to.size;
    double most = n->type == ACUI_NPP_8U ? 255 : n->type == ACUI_NPP_16U ? 65535 : 0;
    for (int i = 0; i < 4 && most > 0; i++)
        if (!(r->color[i] >= 0 && r->color[i] <= most && r->color[i] == (int)r->color[i]))
            return refuse(p, r, ACU_ERR_INVALID, 0, "the colour must be of whole numbers that its "
                          "dtype has");
    if (r->top < 0 || r->left < 0 || r->top > out->height - x->height ||
        r->left > out->width - x->width)
        return refuse(p, r, ACU_ERR_SHAPE, 1, "at this row and column it does not lie in the image "
                      "that is written");
    n->top = (int)r->top;
    n->left = (int)r->left;
    memcpy(n->color, r->color, sizeof n->color);
    return NULL;
}

static acu_op *check(acu_planning *p, const request *r, acui_npp *n)
{
    acu_op *failed = check_images(p, r, n);
    if (!failed)
        failed = r->kind == REMAP    ? check_maps(p, r, n)
                 : r->kind == BORDER ? check_border(p, r, n)
                                     : check_filter(p, r, n);
    return failed ? failed : check_overlap(p, r);
}

/* ---- the op ---------------------------------------------------------------------------------- */

static acu_op *plan(acu_planning *p)
{
    static const acui_vendor_fn calls[] = {acui_npp_resize, acui_npp_resize_batch, acui_npp_remap,
                                           acui_npp_border};
    union {
        acui_npp npp;
        char room[sizeof(acui_npp) + 2 * ACUI_NPP_BATCH * sizeof(int)];
    } data;
    acu_arg args[2 * ACUI_NPP_BATCH];
    request r;
    memset(&data, 0, sizeof data);
    memcpy(&r, p->data, sizeof r);
    data.npp.count = r.count;
    acu_op *failed = acui_refuse_empty(p, names[r.kind]);
    if (!failed)
        failed = check(p, &r, &data.npp);
    if (failed)
        return failed;
    for (size_t i = 0; i < p->count; i++)
        args[i] = acu_arg_op(acu_op_take(&p->values[i], p->site),
                             i < r.count ? ACU_UPDATE : ACU_READ);
    acui_vendor_call call = {.library = r.kind == BORDER ? &acui_library_NPPIDEI
                                                         : &acui_library_NPPIG,
                             .name = names[r.kind],
                             .fn = calls[r.kind],
                             .repeats = r.kind == BATCH ? ACUI_REPEATED_THERE : ACUI_REPEATED,
                             .data = &data,
                             .bytes = sizeof data.npp};
    if (r.kind == BATCH)
        call.bytes += p->count * sizeof(int);
    if (r.kind == BATCH && r.count == 1) /* NPP's own takes at least two */
        call.fn = acui_npp_resize;
    acu_op *op = acui_vendor_op(&call, args, p->count, p->site);
    return r.kind == BATCH ? op : acu_op_nth(op, 0, p->site);
}

static acu_op *make(const request *r, acu_op *const *operands, size_t count, acu_site site)
{
    return acu_op_custom((acu_custom){.name = names[r->kind], .fn = plan, .data = r,
                                      .bytes = sizeof *r}, operands, count, site);
}

/* Zeroed also where there is padding: it is compared. */
static request request_of(int kind, uint32_t count, acu_filter filter)
{
    request r;
    memset(&r, 0, sizeof r);
    r.kind = kind;
    r.count = count;
    r.filter = (int)filter;
    return r;
}

acu_op *acu_op_npp_resize(acu_op *x, const acu_region *from, acu_op *out, const acu_region *to,
                          acu_filter filter, acu_site site)
{
    request r = request_of(RESIZE, 1, filter);
    r.from = from ? *from : r.from;
    r.to = to ? *to : r.to;
    return make(&r, (acu_op *const[]){out, x}, 2, site);
}

static void drop(acu_op *const *ops, size_t count)
{
    for (size_t i = 0; i < count && ops; i++)
        acu_op_release(ops[i]);
}

acu_op *acu_op_npp_resize_batch(acu_op *const *xs, const acu_region *from, acu_op *const *outs,
                                const acu_region *to, size_t count, acu_filter filter,
                                acu_site site)
{
    acu_op *operands[2 * ACUI_NPP_BATCH];
    if (!xs || !outs || count < 1 || count > ACUI_NPP_BATCH) {
        drop(xs, count);
        drop(outs, count);
        return acu_op_fail(xs && outs ? ACU_ERR_LIMIT : ACU_ERR_INVALID, names[BATCH], site,
                           xs && outs ? "%s takes 1 to %d images, not %zu"
                                      : "%s needs lists of the 1 to %d images that it reads and "
                                        "writes, of which one is NULL (for %zu)",
                           names[BATCH], ACUI_NPP_BATCH, count);
    }
    request r = request_of(BATCH, (uint32_t)count, filter);
    r.from = from ? *from : r.from;
    r.to = to ? *to : r.to;
    memcpy(operands, outs, count * sizeof *outs);
    memcpy(operands + count, xs, count * sizeof *xs);
    return make(&r, operands, 2 * count, site);
}

acu_op *acu_op_npp_remap(acu_op *x, acu_op *map_x, acu_op *map_y, acu_op *out, acu_filter filter,
                         acu_site site)
{
    request r = request_of(REMAP, 1, filter);
    return make(&r, (acu_op *const[]){out, x, map_x, map_y}, 4, site);
}

acu_op *acu_op_npp_border(acu_op *x, acu_op *out, int64_t top, int64_t left, const double *color,
                          acu_site site)
{
    request r = request_of(BORDER, 1, ACU_LINEAR);
    r.top = top;
    r.left = left;
    if (color)
        memcpy(r.color, color, sizeof r.color);
    return make(&r, (acu_op *const[]){out, x}, 2, site);
}
