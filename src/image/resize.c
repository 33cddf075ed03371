/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Resizing: images, lists of them, parts of them; and options, checked first of all. */
#include "base/options.h"
#include "image/image.h"

static acu_op *refuse(const char *name, acu_site site, const char *what, double number)
{
    return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: options.%s is %g, which is none", name,
                       what, number);
}

acu_op *acui_options_read_image(const char *name, const acu_image_options *given,
                                acu_image_options *o, acu_site site)
{
    acu_status status = acui_options_read(o, sizeof *o, given, name);
    if (status != ACU_OK)
        return acu_op_fail(status, name, site, NULL);
    if ((unsigned)o->layout > ACU_CHW)
        return refuse(name, site, "layout", (double)o->layout);
    if ((unsigned)o->filter > ACU_LANCZOS4)
        return refuse(name, site, "filter", (double)o->filter);
    if ((unsigned)o->sampling > ACU_TOP_LEFT)
        return refuse(name, site, "sampling", (double)o->sampling);
    if ((unsigned)o->fit > ACU_COVER)
        return refuse(name, site, "fit", (double)o->fit);
    if ((unsigned)o->matrix > ACU_BT2020)
        return refuse(name, site, "matrix", (double)o->matrix);
    if ((unsigned)o->range > ACU_FULL)
        return refuse(name, site, "range", (double)o->range);
    if ((unsigned)o->border > ACU_BORDER_WRAP)
        return refuse(name, site, "border", (double)o->border);
    if (!acui_pixels_known(o->pixels))
        return refuse(name, site, "pixels", (double)o->pixels);
    if (!(o->cubic >= -4 && o->cubic <= 0))
        return refuse(name, site, "cubic", (double)o->cubic);
    if (o->dtype && !acui_is_pixel_dtype(o->dtype))
        return acu_op_fail(ACU_ERR_DTYPE, name, site, "%s: options.dtype must be one of u8, u16, "
                           "f16, bf16 and f32, not %s", name, acu_dtype_name(o->dtype));
    if (o->antialias && o->filter == ACU_NEAREST)
        return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: the nearest pixel has no antialiasing;"
                           " ACU_AREA takes the mean", name);
    if ((o->antialias || o->filter == ACU_AREA) && o->sampling != ACU_HALF_PIXEL)
        return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: antialiasing and ACU_AREA sample by "
                           "half pixels only", name);
    return NULL;
}

static acu_op *check_size(const char *name, int64_t height, int64_t width, acu_site site)
{
    if (height >= 1 && width >= 1 && height <= ACUI_IMAGE_SIDE && width <= ACUI_IMAGE_SIDE)
        return NULL;
    return acu_op_fail(ACU_ERR_SHAPE, name, site, "%s to %lld rows of %lld pixels: there must be 1 "
                       "to %d of each", name, (long long)height, (long long)width,
                       ACUI_IMAGE_SIDE);
}

/* Options and size, of those that only resize. */
static acu_op *check(const char *name, int64_t height, int64_t width,
                     const acu_image_options *given, acu_image_options *o, acu_site site)
{
    acu_op *failed = acui_options_read_image(name, given, o, site);
    if (!failed)
        failed = check_size(name, height, width, site);
    *o = (acu_image_options){.layout = o->layout, .filter = o->filter, .sampling = o->sampling,
                             .antialias = o->antialias, .cubic = o->cubic, .fit = o->fit,
                             .pad = {o->pad[0], o->pad[1], o->pad[2], o->pad[3]}};
    return failed;
}

acu_op *acu_op_resize(acu_op *x, int64_t height, int64_t width, const acu_image_options *options,
                      acu_site site)
{
    acu_image_options o;
    acu_op *failed = check("resize", height, width, options, &o, site);
    if (failed)
        return acui_refused(failed, &x, 1);
    acui_request *r = acui_request_new("resize", &o, 1);
    if (r) {
        r->height = height;
        r->width = width;
    }
    return acui_request_op(r, &x, 1, site);
}

static acu_op *check_count(const char *name, size_t count, acu_site site)
{
    if (count >= 1 && count <= ACU_IMAGES_MAX)
        return NULL;
    return acu_op_fail(count ? ACU_ERR_LIMIT : ACU_ERR_ARGUMENTS, name, site, "%s takes 1 to %d "
                       "images in a call, not %zu", name, ACU_IMAGES_MAX, count);
}

acu_op *acu_op_resize_batch(acu_op *const *xs, size_t count, int64_t height, int64_t width,
                            const acu_image_options *options, acu_site site)
{
    const char *name = "resize_batch";
    acu_image_options o;
    acu_op *failed = check(name, height, width, options, &o, site);
    if (!failed)
        failed = check_count(name, count, site);
    if (!failed && !xs)
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "acu_resize_batch got NULL where a list "
                             "of images should be");
    if (failed)
        return acui_refused(failed, xs, xs ? count : 0);
    acui_request *r = acui_request_new(name, &o, count);
    if (r) {
        r->height = height;
        r->width = width;
        r->rank = 4;
        for (size_t i = 0; i < count; i++)
            r->frame[i].operand = i;
    }
    return acui_request_op(r, xs, count, site);
}

acu_op *acu_op_crop_resize(acu_op *x, const acu_crop *crops, size_t count, int64_t height,
                           int64_t width, const acu_image_options *options, acu_site site)
{
    const char *name = "crop_resize";
    acu_image_options o;
    acu_op *failed = check(name, height, width, options, &o, site);
    if (!failed)
        failed = check_count(name, count, site);
    if (!failed && !crops)
        failed = acu_op_fail(ACU_ERR_INVALID, name, site, "acu_crop_resize got NULL where a list "
                             "of crops should be");
    for (size_t i = 0; !failed && i < count; i++)
        if (crops[i].image < 0)
            failed = acu_op_fail(ACU_ERR_INVALID, name, site, "%s: crop %zu is of image %lld", name,
                                 i, (long long)crops[i].image);
    if (failed)
        return acui_refused(failed, &x, 1);
    acui_request *r = acui_request_new(name, &o, count);
    if (r) {
        r->height = height;
        r->width = width;
        r->rank = 4;
        for (size_t i = 0; i < count; i++) {
            r->frame[i].image = crops[i].image;
            r->frame[i].region = crops[i].region;
        }
    }
    return acui_request_op(r, &x, 1, site);
}
