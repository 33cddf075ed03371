/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations with a window: convolution, pooling, interpolation; in one dimension, of
 * tensors [batch, channels, length], or in two, [batch, channels, height, width].
 *
 *   acu_window_options by = {.size = sizeof by, .stride = {2, 2}, .padding = {1, 1}};
 *   acu_op *y = acu_relu(acu_conv(x, weight, bias, &by));   [8, 3, 64, 64] by [16, 3, 3, 3]
 *                                                           gives [8, 16, 32, 32]
 *   y = acu_pool(ACU_POOL_MAX, y, ACU_SHAPE(2, 2), NULL);   [8, 16, 16, 16]
 *   y = acu_mean(y, ACU_DIMS(2, 3));                        [8, 16]: pooled to one (adaptive)
 *
 * They follow the rules of ops.h; for f16, bf16, f32 and f64, of any strides (so also for channels
 * that come last in memory: acu_permute). The result is dense, unless acu_into says where it goes,
 * which can not be an operand. The batch may be empty, and conv's channels; other dimensions have
 * elements. Errors, of the submit: DTYPE, SHAPE, INVALID (an option), SHARED,
 * NOT_SUPPORTED (options of a newer version), and those of launches.
 */
#ifndef ACUDA_CONVOLUTION_H
#define ACUDA_CONVOLUTION_H

#include <acuda/ops.h>

ACU_BEGIN

/* For each dimension of the window: [0] is of length or height, [1] of width (0 where there is
 * none). All in elements, below 2^31. */
typedef struct acu_window_options {
    size_t size;         /* sizeof(acu_window_options) */
    int64_t stride[2];   /* from one window to the next; 0: 1, and for pooling the window's size */
    int64_t padding[2];  /* elements in front of the first and behind the last; 0: none */
    int64_t dilation[2]; /* from one element of the window to the next; 0: 1 */
    int64_t groups;      /* of channels, for convolution; 0: 1 */
} acu_window_options;

/*
 * Convolution as networks have it (cross-correlation: the window is not turned). Of x [batch,
 * channels, ...] and weight [filters, channels / groups, ...], whose last dimensions are the
 * window: each filter is multiplied with the channels of its group at each place of the window, and
 * the products are added to its bias. The bias is a tensor [filters] of x's dtype, or a number; 0
 * for none. Padding counts as zeros. The result is [batch, filters, ...], with
 *
 *   (n + 2 padding - dilation (window - 1) - 1) / stride + 1
 *
 * places along a dimension of n, rounded down. Added in float (f64: double) by fused multiply-adds,
 * in the order of the weight's elements, and rounded once: the same bits on every device.
 *
 * One launch, without temporary memory, which does not use tensor cores. For large networks in half
 * precision on a GPU use cuDNN: through PyTorch, 3 x 3 of 64 channels took a twelfth of the time in
 * f16 and less than half in f32, on an H200. This is for small networks, for f64, for any strides,
 * for bits that stay, and for devices without cuDNN.
 */
#define acu_conv(x, weight, bias, options)                                                         \
    acu_op_conv(ACU_OPERAND(x), ACU_OPERAND(weight), ACU_TERM(bias), (options), ACU_SITE)
ACU_API acu_op *acu_op_conv(acu_op *x, acu_op *weight, acu_op *bias,
                            const acu_window_options *options, acu_site site);

/*
 * The greatest, or the mean, of the elements in a window of that shape, ACU_SHAPE(length) or
 * ACU_SHAPE(height, width). Padding, at most half of the window, never is the greatest; it counts
 * as zeros in ACU_POOL_MEAN, and not at all in ACU_POOL_MEAN_INSIDE. NaN goes through. The number
 * of places is that of acu_conv. Sums are formed in double. Pooling all to one element, or over a
 * dimension, is acu_max_of and acu_mean (ACU_DIMS, ACU_KEEP).
 */
typedef enum acu_pooling { ACU_POOL_MAX, ACU_POOL_MEAN, ACU_POOL_MEAN_INSIDE } acu_pooling;
#define acu_pool(kind, x, window, options)                                                         \
    acu_op_pool((kind), ACU_OPERAND(x), (window), (options), ACU_SITE)
ACU_API acu_op *acu_op_pool(acu_pooling kind, acu_op *x, acu_shape window,
                            const acu_window_options *options, acu_site site);

/*
 * x with its last dimensions, of n elements, made `to` long: ACU_SHAPE(length) or ACU_SHAPE(height,
 * width). Element i of m comes from element i n / m, rounded down (ACU_INTERPOLATE_NEAREST), or
 * from place (i + 1/2) n / m - 1/2, between the two elements next to it, the outermost of which
 * continue (ACU_INTERPOLATE_LINEAR). Places are exact. For images, with more filters: image.h.
 */
typedef enum acu_interpolation {
    ACU_INTERPOLATE_NEAREST,
    ACU_INTERPOLATE_LINEAR
} acu_interpolation;
#define acu_interpolate(kind, x, to)                                                               \
    acu_op_interpolate((kind), ACU_OPERAND(x), (to), ACU_SITE)
ACU_API acu_op *acu_op_interpolate(acu_interpolation kind, acu_op *x, acu_shape to, acu_site site);

ACU_END
#endif
