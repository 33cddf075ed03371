/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From frames to a tensor: everything at once. */
#include "image/image.h"

static const char name[] = "image_to_tensor";

/* What can be told of the frame alone; counts its planes. */
static acu_op *check_frame(const acu_frame *f, size_t i, const acu_frame *first, int *planes,
                           acu_site site)
{
    static const int most[] = {
#define ACU_X(id, name, channels, planes) planes,
        ACU_PIXEL_FORMATS(ACU_X)
#undef ACU_X
    };
    *planes = 0;
    for (int k = 0; k < 3; k++)
        if (f->plane[k])
            *planes = k + 1;
    if (!acui_pixels_known(f->pixels) || (unsigned)f->layout > ACU_CHW)
        return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: frame %zu is of pixels %d in layout "
                           "%d, which is none", name, i, (int)f->pixels, (int)f->layout);
    if (f->pixels != first->pixels)
        return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: frame %zu is %s, and the first %s",
                           name, i, acu_pixels_name(f->pixels), acu_pixels_name(first->pixels));
    bool gap = false;
    for (int k = 0; k < *planes; k++)
        gap = gap || !f->plane[k];
    if (!*planes || gap || (*planes != 1 && *planes != most[f->pixels]))
        return acu_op_fail(ACU_ERR_ARGUMENTS, name, site, "%s: frame %zu has %d planes%s; %s is in "
                           "one tensor%s%s", name, i, *planes, gap ? ", one of them NULL" : "",
                           acu_pixels_name(f->pixels), most[f->pixels] > 1 ? " or in " : "",
                           most[f->pixels] == 2 ? "two" : most[f->pixels] == 3 ? "three" : "");
    return NULL;
}

static acu_op *check(const acu_frame *frames, size_t count, int64_t height, int64_t width,
                     const acu_image_options *o, acu_site site)
{
    if (!frames || count < 1 || count > ACU_IMAGES_MAX)
        return acu_op_fail(!frames ? ACU_ERR_INVALID : count ? ACU_ERR_LIMIT : ACU_ERR_ARGUMENTS,
                           name, site, "acu_image_to_tensor takes 1 to %d frames in a call, not "
                           "%zu%s", ACU_IMAGES_MAX, count, frames ? "" : " from NULL");
    if (height < 0 || width < 0 || height > ACUI_IMAGE_SIDE || width > ACUI_IMAGE_SIDE)
        return acu_op_fail(ACU_ERR_SHAPE, name, site, "%s to %lld rows of %lld pixels: there must "
                           "be 1 to %d of each", name, (long long)height, (long long)width,
                           ACUI_IMAGE_SIDE);
    if (acui_is_yuv(o->pixels))
        return acu_op_fail(ACU_ERR_NOT_SUPPORTED, name, site, "%s does not make %s; acu_color does",
                           name, acu_pixels_name(o->pixels));
    if (frames->pixels == ACU_PIXELS_ANY && o->pixels != ACU_PIXELS_ANY)
        return acu_op_fail(ACU_ERR_INVALID, name, site, "%s: frames of any pixels can not become "
                           "%s; say what they are", name, acu_pixels_name(o->pixels));
    return NULL;
}

static void release(const acu_frame *frames, size_t count)
{
    for (size_t i = 0; frames && i < count; i++)
        for (int k = 0; k < 3; k++)
            acu_op_release(frames[i].plane[k]);
}

acu_op *acu_op_image_to_tensor(const acu_frame *frames, size_t count, int64_t height,
                               int64_t width, const acu_image_options *options, acu_site site)
{
    acu_image_options o;
    acu_op *planes[3 * ACU_IMAGES_MAX];
    size_t operands = 0;
    acu_op *failed = acui_options_read_image(name, options, &o, site);
    if (!failed)
        failed = check(frames, count, height, width, &o, site);
    acui_request *r = failed ? NULL : acui_request_new(name, &o, count);
    for (size_t i = 0; r && !failed && i < count; i++) {
        acui_frame *f = &r->frame[i];
        failed = check_frame(&frames[i], i, frames, &f->planes, site);
        f->pixels = frames[i].pixels;
        f->layout = frames[i].layout;
        f->region = frames[i].region;
        f->operand = operands;
        for (int k = 0; !failed && k < f->planes; k++)
            planes[operands++] = frames[i].plane[k];
    }
    if (!failed && operands > ACUI_IMAGE_POINTERS)
        failed = acu_op_fail(ACU_ERR_LIMIT, name, site, "%s takes at most %d planes in a call, not "
                             "%zu", name, ACUI_IMAGE_POINTERS, operands);
    if (failed) {
        acui_request_free(r);
        release(frames, count);
        return failed;
    }
    if (r) {
        r->height = height;
        r->width = width;
        r->rank = 4;
        if (acui_is_yuv(frames->pixels) && !o.pixels)
            r->o.pixels = ACU_PIXELS_RGB;
        return acui_request_op(r, planes, operands, site);
    }
    release(frames, count);
    return acui_request_op(NULL, NULL, 0, site);
}
