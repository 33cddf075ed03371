/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images filtered, and their levels: more operations like those of image.h, whose rules hold here,
 * as do its options. All use layout. Filters use border and pad too: ACU_BORDER_DEFAULT is
 * ACU_BORDER_REFLECT_101 here, as in OpenCV. Results have the shape of x, and its dtype where
 * nothing else is said. Channels do not mix, but in acu_bilateral, acu_adjust and acu_composite.
 * A window has odd sides, and the pixel in its middle.
 *
 * Source of the kernels: kernels/image_filter.cu, kernels/image_levels.cu.
 */
#ifndef ACUDA_IMAGE_FILTERS_H
#define ACUDA_IMAGE_FILTERS_H

#include <acuda/image.h>

ACU_BEGIN

/* ---- filters ------------------------------------------------------------------------------- */

#define ACU_FILTER_MAX 63 /* pixels of a window, along a side */
#define ACU_MEDIAN_MAX 7

/* The sum of the pixels around each, times across[i] * down[j]; the first of these go with the
 * pixel that is farthest to the left, and the topmost. (A correlation, as OpenCV's sepFilter2D.)
 * options->dtype: of the result; 0: the source's, which for integers has no negative numbers. The
 * weights are copied now. */
#define acu_filter_separable(x, across, across_taps, down, down_taps, options)                     \
    acu_op_filter_separable(ACU_OPERAND(x), (across), (across_taps), (down), (down_taps),          \
                            (options), ACU_SITE)
ACU_API acu_op *acu_op_filter_separable(acu_op *x, const float *across, int across_taps,
                                        const float *down, int down_taps,
                                        const acu_image_options *options, acu_site site);

/* The mean of a window. */
#define acu_box_blur(x, height, width, options)                                                    \
    acu_op_box_blur(ACU_OPERAND(x), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_box_blur(acu_op *x, int height, int width, const acu_image_options *options,
                                acu_site site);

/* Weights exp(-d^2 / (2 sigma^2)) at distance d, in sum 1. There is no default for sigma: OpenCV's,
 * where it is 0, is 0.15 size + 0.35. */
#define acu_gaussian_blur(x, height, width, sigma, options)                                        \
    acu_op_gaussian_blur(ACU_OPERAND(x), (height), (width), (sigma), (options), ACU_SITE)
ACU_API acu_op *acu_op_gaussian_blur(acu_op *x, int height, int width, double sigma,
                                     const acu_image_options *options, acu_site site);

/* Derivatives, dx times along x and dy times along y (0 to 2, one of them at least 1), smoothed; of
 * size 3, 5 or 7. They may be negative: see options->dtype above. */
#define acu_sobel(x, dx, dy, size, options)                                                        \
    acu_op_sobel(ACU_OPERAND(x), (dx), (dy), (size), (options), ACU_SITE)
ACU_API acu_op *acu_op_sobel(acu_op *x, int dx, int dy, int size, const acu_image_options *options,
                             acu_site site);

/* The median of a square window of side 3, 5 or 7 (or 1). ACU_BORDER_DEFAULT is
 * ACU_BORDER_REPLICATE here. */
#define acu_median_blur(x, size, options)                                                          \
    acu_op_median_blur(ACU_OPERAND(x), (size), (options), ACU_SITE)
ACU_API acu_op *acu_op_median_blur(acu_op *x, int size, const acu_image_options *options,
                                   acu_site site);

/* The mean of a round window, weighted by exp(-d^2 / (2 space^2)) for the distance and exp(-c^2 /
 * (2 color^2)) for the difference of colours, which is the sum of those of the channels, in the
 * numbers of the dtype. */
#define acu_bilateral(x, size, color, space, options)                                              \
    acu_op_bilateral(ACU_OPERAND(x), (size), (color), (space), (options), ACU_SITE)
ACU_API acu_op *acu_op_bilateral(acu_op *x, int size, double color, double space,
                                 const acu_image_options *options, acu_site site);

/*
 * The smallest (ERODE) or largest (DILATE) pixel under a shape; OPEN erodes and then dilates, CLOSE
 * the other way round. What is outside of the image does not count. (A morphological gradient is
 * acu_sub of a dilated and an eroded image.)
 */
typedef enum acu_morph { ACU_ERODE, ACU_DILATE, ACU_OPEN, ACU_CLOSE } acu_morph;
typedef enum acu_morph_shape {
    ACU_MORPH_RECT,
    ACU_MORPH_CROSS,
    ACU_MORPH_ELLIPSE
} acu_morph_shape;
#define acu_morphology(x, morph, shape, height, width, options)                                    \
    acu_op_morphology(ACU_OPERAND(x), (morph), (shape), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_morphology(acu_op *x, acu_morph morph, acu_morph_shape shape, int height,
                                  int width, const acu_image_options *options, acu_site site);

/* ---- levels -------------------------------------------------------------------------------- */

/* What becomes of a number v beside the limit: */
typedef enum acu_threshold_kind {
    ACU_THRESHOLD_BINARY,         /* v > limit ? value : 0 */
    ACU_THRESHOLD_BINARY_INVERSE, /* v > limit ? 0 : value */
    ACU_THRESHOLD_TRUNCATE,       /* v > limit ? limit : v */
    ACU_THRESHOLD_TO_ZERO,        /* v > limit ? v : 0 */
    ACU_THRESHOLD_TO_ZERO_INVERSE /* v > limit ? 0 : v */
} acu_threshold_kind;
#define acu_threshold(x, kind, limit, value, options)                                              \
    acu_op_threshold(ACU_OPERAND(x), (kind), (limit), (value), (options), ACU_SITE)
ACU_API acu_op *acu_op_threshold(acu_op *x, acu_threshold_kind kind, double limit, double value,
                                 const acu_image_options *options, acu_site site);

/* The limit that parts the numbers of each image, u8 with one channel, best: Otsu's, f32 [images].
 * And the image by that limit, in one op. */
#define acu_otsu(x, options) acu_op_otsu(ACU_OPERAND(x), (options), ACU_SITE)
#define acu_threshold_otsu(x, kind, value, options)                                                \
    acu_op_threshold_otsu(ACU_OPERAND(x), (kind), (value), (options), ACU_SITE)
ACU_API acu_op *acu_op_otsu(acu_op *x, const acu_image_options *options, acu_site site);
ACU_API acu_op *acu_op_threshold_otsu(acu_op *x, acu_threshold_kind kind, double value,
                                      const acu_image_options *options, acu_site site);

/* How often each number occurs in each channel of a u8 image: u32 [channels, 256], or [images,
 * channels, 256] for a batch. */
#define acu_histogram(x, options) acu_op_histogram(ACU_OPERAND(x), (options), ACU_SITE)
ACU_API acu_op *acu_op_histogram(acu_op *x, const acu_image_options *options, acu_site site);

/* A u8 image, each channel for itself, with its levels spread so that all are about as frequent. */
#define acu_equalize(x, options) acu_op_equalize(ACU_OPERAND(x), (options), ACU_SITE)
ACU_API acu_op *acu_op_equalize(acu_op *x, const acu_image_options *options, acu_site site);

/* table[v] for each number v of a u8 image. The table is [256], or [channels, 256], and gives its
 * dtype, one that images have, to the result. */
#define acu_lut(x, table, options)                                                                 \
    acu_op_lut(ACU_OPERAND(x), ACU_OPERAND(table), (options), ACU_SITE)
ACU_API acu_op *acu_op_lut(acu_op *x, acu_op *table, const acu_image_options *options,
                           acu_site site);

/* v to the power of gamma, v from 0 to 1; negative numbers become 0. */
#define acu_gamma(x, gamma, options) acu_op_gamma(ACU_OPERAND(x), (gamma), (options), ACU_SITE)
ACU_API acu_op *acu_op_gamma(acu_op *x, double gamma, const acu_image_options *options,
                             acu_site site);

/*
 * Brightness (factor), contrast (factor, about the middle level), saturation (factor, about the
 * luma; 0: gray) and hue (degrees, by which colours turn about the gray axis, red to green), one
 * after the other, in one pass. 1, 1, 1, 0: as it is. Uses pixels (RGB if ACU_PIXELS_ANY; or BGR,
 * RGBA, BGRA, whose alpha stays), matrix, dtype.
 */
#define acu_adjust(x, brightness, contrast, saturation, hue, options)                              \
    acu_op_adjust(ACU_OPERAND(x), (brightness), (contrast), (saturation), (hue), (options),        \
                  ACU_SITE)
ACU_API acu_op *acu_op_adjust(acu_op *x, double brightness, double contrast, double saturation,
                              double hue, const acu_image_options *options, acu_site site);

/*
 * An image with alpha (4 channels) over another of the same size and dtype, with 3 or 4 channels in
 * the same order, which the result has too. Colours are as they are, or, if `premultiplied`, were
 * multiplied by alpha before. To place a smaller image, use a window of the lower one with
 * acu_into.
 */
#define acu_composite(under, over, premultiplied, options)                                         \
    acu_op_composite(ACU_OPERAND(under), ACU_OPERAND(over), (premultiplied), (options), ACU_SITE)
ACU_API acu_op *acu_op_composite(acu_op *under, acu_op *over, bool premultiplied,
                                 const acu_image_options *options, acu_site site);

ACU_END
#endif
