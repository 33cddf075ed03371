/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Decoding as an operation. By TurboJPEG: a host operation that ends later writes pinned memory,
 * which is copied to the device. By nvJPEG: such an operation for the half on the host, and a
 * foreign call for the other, ordered by a small tensor that the one writes and the other reads.
 * What they do: picture.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "image/image.h"
#include "jpeg/jpeg.h"
#include "memory/memory.h"
#include "memory/pool.h"

#include <string.h>

const char acui_jpeg_name[] = "jpeg_decode";
#define NAME acui_jpeg_name

/* ---- planning -------------------------------------------------------------------------------- */

typedef struct request {
    acui_jpeg_wish wish;
    acui_jpeg_copy *copy; /* the op's user data, too */
} request;

typedef struct planned {
    acu_planning *p;
    request r;
    acui_jpeg_picture *picture;
    bool by_nvjpeg;
} planned;

static acu_op *no_memory(acu_site site)
{
    acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", NAME);
    return acu_op_fail(ACU_ERR_NO_MEMORY, NAME, site, NULL);
}

/* As where channels are side by side, or in that layout. */
static acu_shape shape_of(const acui_jpeg_wish *w, acu_layout layout)
{
    if (w->pixels == ACU_PIXELS_GRAY)
        return ACU_SHAPE(w->height, w->width);
    return layout == ACU_HWC ? ACU_SHAPE(w->height, w->width, 3)
                             : ACU_SHAPE(3, w->height, w->width);
}

static acu_op *check(const planned *x)
{
    acu_planning *p = x->p;
    acu_op *failed = NULL;
    if (!x->r.copy) {
        const acu_tensor *t = acui_tensor_operand(p, NAME, 0, &failed);
        char words[ACUI_OPS_WORDS];
        if (!t)
            return failed;
        bool bytes = acu_tensor_dtype(t) == ACU_U8;
        if (!bytes || acu_tensor_shape(t).rank != 1)
            return acu_op_fail(bytes ? ACU_ERR_SHAPE : ACU_ERR_DTYPE, NAME, p->site,
                               "%s: the file is a tensor of bytes, u8 [bytes], and not %s", NAME,
                               acui_value_words(&p->values[0], words));
    }
    const char *refusal = acui_library_refusal(&acui_library_TURBOJPEG, p->device);
    if (refusal && !x->by_nvjpeg)
        return acu_op_fail(ACU_ERR_NOT_FOUND, NAME, p->site, "%s: %s", NAME, refusal);
    return NULL;
}

/* The op of the half on the host, which yields `memory`, pinned, and the file. */
static acu_op *host_half(const planned *x, acu_shape memory)
{
    acu_site site = x->p->site;
    acu_pool *pool = acui_pool_of(x->p->device, ACU_MEMORY_PINNED, false);
    acu_buffer *buffer;
    acu_tensor *tensor = NULL;
    acu_status st = pool ? acui_buffer_soon(pool, (size_t)acu_shape_elements(memory), &buffer)
                         : ACU_ERR_NO_MEMORY;
    if (st == ACU_OK) {
        st = acu_tensor_create(buffer, 0, ACU_U8, memory, &tensor);
        acu_buffer_release(buffer);
    }
    if (st != ACU_OK)
        return acu_op_fail(st, NAME, site, NULL);
    acu_arg args[2] = {acu_arg_op(acu_op_value(tensor, site), ACU_WRITE)};
    size_t count = 1;
    acu_tensor_release(tensor);
    if (!x->r.copy) {
        const acu_tensor *t = x->p->values[0].tensor;
        bool on_host = t->buffer->host || t->buffer->kind == ACU_MEMORY_MANAGED;
        bool dense = t->dense;
        acu_op *file = acu_op_take(&x->p->values[0], site);
        args[count++] = acu_arg_op(on_host && dense ? file : acu_op_to_host(file, site), ACU_READ);
    }
    return acui_jpeg_host_half(x->picture, args, count, site);
}

/* From a tensor with channels side by side to where the result goes. */
static acu_op *laid_out(const planned *x, acu_op *out, acu_op *from)
{
    static const int planes[] = {2, 0, 1};
    acu_site site = x->p->site;
    const acui_jpeg_wish *w = &x->r.wish;
    if (w->layout == ACU_CHW && w->pixels != ACU_PIXELS_GRAY) {
        acu_op *pixels = acu_op_empty(ACU_U8, shape_of(w, ACU_HWC), site);
        from = acu_op_nth(acu_op_copy(pixels, from, site), 0, site);
        from = acu_op_permute(from, planes, 3, site);
    }
    return acu_op_nth(acu_op_copy(out, from, site), 0, site);
}

/* Yields `to`, once it is written. */
static acu_op *device_half(const planned *x, acu_op *to)
{
    acu_site site = x->p->site;
    acu_op *host = host_half(x, ACU_SHAPE(16)), *both[2] = {host, NULL};
    size_t count = x->r.copy ? 1 : 2;
    if (count == 2) /* nvJPEG may read the file until the end */
        acu_op_unzip(host, both, 2, site);
    const acu_arg args[] = {acu_arg_op(to, ACU_WRITE), acu_arg_op(both[0], ACU_READ),
                            acu_arg_op(both[1], ACU_READ)};
    return acu_op_nth(acui_jpeg_device_half(x->picture, args, 1 + count, site), 0, site);
}

/* Whether nvJPEG can write there: pixels of a row one behind the other. */
static bool is_in_rows(const acui_view *v, acu_layout layout)
{
    bool together = layout == ACU_HWC || v->channels == 1;
    return together ? v->channel == 1 && v->column == v->channels &&
                          v->row >= v->width * v->channels
                    : v->column == 1 && v->row >= v->width && v->channel > 0;
}

static acu_op *plan_picture(const planned *x)
{
    const acui_jpeg_wish *w = &x->r.wish;
    acu_site site = x->p->site;
    acui_view at;
    acu_op *out = acui_view_result(x->p, NAME, ACU_U8, w->layout, shape_of(w, w->layout), &at);
    if (acu_op_status(out, NULL) != ACU_OK)
        return out;
    if (!x->by_nvjpeg)
        return laid_out(x, out, acu_op_nth(host_half(x, shape_of(w, ACU_HWC)), 0, site));
    if (is_in_rows(&at, w->layout))
        return device_half(x, out);
    acu_op *dense = acu_op_empty(ACU_U8, shape_of(w, w->layout), site);
    return acu_op_nth(acu_op_copy(out, device_half(x, dense), site), 0, site);
}

static acu_op *plan(acu_planning *p)
{
    planned x = {.p = p};
    memcpy(&x.r, p->data, sizeof x.r);
    x.by_nvjpeg = acui_library_preferred(&acui_library_NVJPEG, p->device);
    acu_op *op = check(&x);
    if (op)
        return op;
    x.picture = acui_jpeg_picture_new(p->device, &x.r.wish, x.r.copy, x.by_nvjpeg);
    if (!x.picture)
        return no_memory(p->site);
    op = plan_picture(&x);
    acui_jpeg_picture_drop(x.picture);
    return op;
}

/* ---- constructing ---------------------------------------------------------------------------- */

static acu_op *read_options(const acu_image_options *options, acui_jpeg_wish *wish, acu_site site)
{
    acu_image_options o;
    acu_op *failed = acui_options_read_image(NAME, options, &o, site);
    if (failed)
        return failed;
    wish->layout = o.layout;
    wish->pixels = o.pixels ? o.pixels : ACU_PIXELS_RGB;
    if (wish->pixels != ACU_PIXELS_RGB && wish->pixels != ACU_PIXELS_BGR &&
        wish->pixels != ACU_PIXELS_GRAY)
        return acu_op_fail(ACU_ERR_NOT_SUPPORTED, NAME, site, "%s: pixels become RGB, BGR or gray, "
                           "and not %s; acu_color makes other formats", NAME,
                           acu_pixels_name(wish->pixels));
    return NULL;
}

static acu_op *make(request r, acu_op *x, acu_site site)
{
    return acu_op_custom((acu_custom){.name = NAME,
                                      .fn = plan,
                                      .data = &r,
                                      .bytes = sizeof r,
                                      .user = {r.copy, r.copy ? acui_jpeg_copy_drop : NULL}},
                         &x, x != NULL, site);
}

acu_op *acu_op_jpeg_decode(const void *data, size_t bytes, const acu_image_options *options,
                           acu_site site)
{
    request r;
    acu_jpeg_info info = {0};
    memset(&r, 0, sizeof r);
    acu_op *failed = read_options(options, &r.wish, site);
    if (failed)
        return failed;
    if (!data)
        return acu_op_fail(ACU_ERR_INVALID, NAME, site, "%s: the data is NULL", NAME);
    acu_status st = acui_jpeg_check((acui_jpeg_file){data, bytes}, &info);
    if (st != ACU_OK)
        return acu_op_fail(st, NAME, site, NULL);
    r.wish.height = info.height;
    r.wish.width = info.width;
    r.copy = acui_jpeg_copy_new(data, bytes);
    return r.copy ? make(r, NULL, site) : no_memory(site);
}

acu_op *acu_op_jpeg_decode_from(acu_op *x, int64_t height, int64_t width,
                                const acu_image_options *options, acu_site site)
{
    request r;
    memset(&r, 0, sizeof r);
    acu_op *failed = read_options(options, &r.wish, site);
    if (!failed && (height < 1 || width < 1 || height > 65535 || width > 65535))
        failed = acu_op_fail(ACU_ERR_SHAPE, NAME, site, "%s: a JPEG file has 1 to 65535 rows and "
                             "columns, and not %lld rows of %lld", NAME, (long long)height,
                             (long long)width);
    if (failed)
        return acui_refused(failed, &x, 1);
    r.wish.height = height;
    r.wish.width = width;
    return make(r, x, site);
}
