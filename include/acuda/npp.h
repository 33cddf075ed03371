/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images by NPP, as operations among others: what async-cuda has of it. The operations of image.h
 * are acuda's own, take any dtype, strides and layout, and run without NPP: prefer these. NPP is
 * for programs that need its very pixels, or its way to write a part of an image:
 *
 *   acu_region from = {100, 50, 640, 480}, to = {0, 0, 320, 240};
 *   acu_npp_resize(photo, &from, canvas, &to, ACU_LINEAR)     the rest of the canvas stays
 *
 * An image is a tensor of u8, u16 or f32: [height, width], or [height, width, channels] with 1, 3
 * or 4 channels. Pixels of a row are dense; rows may be any distance below 2 GiB apart (pitched
 * memory, windows by acu_slice). `out` is an image too, with x's dtype and channels. It is written
 * in place, and yielded; it may not overlap what is read. Regions are in whole pixels, must lie in
 * their image, and are copied now; NULL, or all zeros: the whole image.
 *
 * Filters, as NPP has them: ACU_NEAREST, ACU_LINEAR, ACU_CUBIC, ACU_LANCZOS, and ACU_AREA, which is
 * its NPPI_INTER_SUPER and only makes images smaller. How they round, and what they read at edges,
 * is NPP's affair, and differs between its versions.
 *
 * libnppig (resizing, maps) and libnppidei (borders) must be found (vendor.h): else NOT_FOUND. In
 * graphs, cached and explicit, the calls are captured.
 *
 * Errors: SHAPE, DTYPE, INVALID (a region that is not in its image, pixels that are not dense, a
 * filter that NPP does not have, an overlap), LIMIT, DEVICE, NOT_FOUND; of the future: DRIVER,
 * INVALID, NOT_SUPPORTED, DEVICE_MEMORY, with NPP's name for the status. (Its numbers changed with
 * 13.2; acuda knows both.) A warning is an error too, since it may mean that nothing was written,
 * but for 1, 35 and 10000. None of the functions blocks. Driver: cuDeviceGetAttribute,
 * cuStreamGetFlags, and what NPP calls.
 */
#ifndef ACUDA_NPP_H
#define ACUDA_NPP_H

#include <acuda/image.h>
#include <acuda/vendor.h>

ACU_BEGIN

/* Scale a region of x to a region of out. Yields out. NPP: nppiResize. */
#define acu_npp_resize(x, from, out, to, filter)                                                   \
    acu_op_npp_resize(ACU_OPERAND(x), (from), ACU_OPERAND(out), (to), (filter), ACU_SITE)
ACU_API acu_op *acu_op_npp_resize(acu_op *x, const acu_region *from, acu_op *out,
                                  const acu_region *to, acu_filter filter, acu_site site);

/*
 * The same for `count` images (1 to ACU_IMAGES_MAX) in one launch: all xs have one size, all outs
 * have one size. u8 and f32. xs and outs are consumed. Yields the outs in their order, and then the
 * xs. NPP: nppiResizeBatch; for a single image, nppiResize.
 */
ACU_API acu_op *acu_op_npp_resize_batch(acu_op *const *xs, const acu_region *from,
                                        acu_op *const *outs, const acu_region *to, size_t count,
                                        acu_filter filter, acu_site site);
#define acu_npp_resize_batch(xs, from, outs, to, count, filter)                                    \
    acu_op_npp_resize_batch((xs), (from), (outs), (to), (count), (filter), ACU_SITE)

/*
 * Pixel (i, j) of out is x at (map_x[j][i], map_y[j][i]), where (0, 0) is the centre of the first
 * pixel. Where that is not in x, out stays as it is. The maps are f32 of out's height and width,
 * with dense rows. Any filter but ACU_AREA. Yields out. NPP: nppiRemap.
 */
#define acu_npp_remap(x, map_x, map_y, out, filter)                                                \
    acu_op_npp_remap(ACU_OPERAND(x), ACU_OPERAND(map_x), ACU_OPERAND(map_y), ACU_OPERAND(out),     \
                     (filter), ACU_SITE)
ACU_API acu_op *acu_op_npp_remap(acu_op *x, acu_op *map_x, acu_op *map_y, acu_op *out,
                                 acu_filter filter, acu_site site);

/*
 * x, with its first pixel at row `top` and column `left` of out, and `color` (a number for each
 * channel, within the dtype, whole unless it is f32; NULL: 0) wherever x is not. x must lie in out.
 * Yields out. NPP: nppiCopyConstBorder.
 */
#define acu_npp_border(x, out, top, left, color)                                                   \
    acu_op_npp_border(ACU_OPERAND(x), ACU_OPERAND(out), (top), (left), (color), ACU_SITE)
ACU_API acu_op *acu_op_npp_border(acu_op *x, acu_op *out, int64_t top, int64_t left,
                                  const double *color, acu_site site);

ACU_END
#endif
