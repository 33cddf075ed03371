/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Boxes, as detectors yield them: operations like those of ops.h. A box is left, top, right,
 * bottom, in f32, where right and bottom are where it ends: it is right - left wide. Tensors may
 * have any strides. Errors: DTYPE, SHAPE, INVALID, LIMIT, SHARED, and those of launches. Source of
 * the kernels: kernels/boxes.cu.
 */
#ifndef ACUDA_BOXES_H
#define ACUDA_BOXES_H

#include <acuda/image.h>

ACU_BEGIN

/* For each box of a, [n, 4], and each of b, [m, 4]: the area that both cover over the area that
 * any of the two covers; f32 [n, m]. 0 for boxes without area. */
#define acu_box_iou(a, b) acu_op_box_iou(ACU_OPERAND(a), ACU_OPERAND(b), ACU_SITE)
ACU_API acu_op *acu_op_box_iou(acu_op *a, acu_op *b, acu_site site);

/*
 * Non-maximum suppression: of the boxes [n, 4] with scores [n], f32, above `least`, the best is
 * kept, and all are dropped that overlap it by more than `overlap` (as acu_box_iou has it); then
 * the best of the rest, and so on, at most `most` times. Of equal scores the first box is taken.
 * Yields their indices, best first, as i64 [most]; -1 after the last. With classes, i64 [n], boxes
 * drop only those of their class. For a batch all have the number of images in front, and so has
 * the result. One block of threads works on an image.
 */
#define acu_nms(boxes, scores, overlap, least, most)                                               \
    acu_op_nms(ACU_OPERAND(boxes), ACU_OPERAND(scores), (overlap), (least), (most), ACU_SITE)
#define acu_nms_by_class(boxes, scores, classes, overlap, least, most)                             \
    acu_op_nms_by_class(ACU_OPERAND(boxes), ACU_OPERAND(scores), ACU_OPERAND(classes), (overlap),  \
                        (least), (most), ACU_SITE)
ACU_API acu_op *acu_op_nms(acu_op *boxes, acu_op *scores, double overlap, double least,
                           int64_t most, acu_site site);
ACU_API acu_op *acu_op_nms_by_class(acu_op *boxes, acu_op *scores, acu_op *classes, double overlap,
                                    double least, int64_t most, acu_site site);

/*
 * Draw the edges of boxes [n, 4] into an image, which is changed in place and yielded (for one that
 * other operations read too: acu_draw_boxes(acu_dup(x), ...)): lines of this thickness, in pixels,
 * along the middle of which the box ends. (Of a box with whole numbers, a line of thickness 1 takes
 * the outermost pixels that are inside.) `color` is four numbers, of which as many count as the
 * image has channels, in the numbers of its dtype. With `which`, i64 [k] as acu_nms yields it, only
 * these boxes. For a batch of images, boxes and `which` have their number in front: [images, n, 4].
 * Uses options.layout.
 */
#define acu_draw_boxes(x, boxes, color, thickness, options)                                        \
    acu_op_draw_boxes(ACU_OPERAND(x), ACU_OPERAND(boxes), (color), (thickness), (options), ACU_SITE)
#define acu_draw_some_boxes(x, boxes, which, color, thickness, options)                            \
    acu_op_draw_some_boxes(ACU_OPERAND(x), ACU_OPERAND(boxes), ACU_OPERAND(which), (color),        \
                           (thickness), (options), ACU_SITE)
ACU_API acu_op *acu_op_draw_boxes(acu_op *x, acu_op *boxes, const float color[4],
                                  double thickness, const acu_image_options *options,
                                  acu_site site);
ACU_API acu_op *acu_op_draw_some_boxes(acu_op *x, acu_op *boxes, acu_op *which,
                                       const float color[4], double thickness,
                                       const acu_image_options *options, acu_site site);

ACU_END
#endif
