/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Images: from a camera's or decoder's frame to a network's tensor and back, as operations like
 * those of ops.h: lazy, with shapes known before anything runs, refused in words on the host, in
 * explicit graphs too, on a GPU and on the software device alike. acu_into puts a result into a
 * tensor of any strides.
 *
 * An image is a tensor. Its layout says where the channels are:
 *
 *   rank   ACU_HWC                        ACU_CHW
 *   2      [height, width], one channel   the same
 *   3      [height, width, channels]      [channels, height, width]
 *   4      [images, height, width, channels]   [images, channels, height, width]
 *
 * It has 1 to 4 channels of u8, u16, f16, bf16 or f32. Strides are free: pitched memory
 * (acu_tensor_alloc_pitched), windows, permuted and other views are read and written in place.
 * Pixels of integers go from 0 to the largest number of the type; pixels of floating point
 * usually, and where this page says so, from 0 to 1. Results are computed in float, rounded to the
 * nearest (ties to even), and limited to what the type holds.
 *
 * Where pixels are. A pixel is a square; pixel i of a row lies from i to i + 1, and its centre is
 * at i + 0.5. An enlargement of 4 pixels to 8:
 *
 *   source   |   0   |   1   |   2   |   3   |
 *   result   | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |
 *
 * So the centre of result pixel d is in the source at (d + 0.5) * 4 / 8, in the half-pixel sampling
 * that is the default (as in OpenCV, Pillow, NPP's resize, and PyTorch without align_corners).
 * ACU_ALIGN_CORNERS puts the centres of the first and of the last pixels on each other: the centre
 * of d is at d * (4 - 1) / (8 - 1) + 0.5. ACU_TOP_LEFT puts the upper left corners on each other,
 * as if pixels were points there: d * 4 / 8 + 0.5, or, for ACU_NEAREST, pixel floor(d * 4 / 8), as
 * in OpenCV's INTER_NEAREST and PyTorch's "nearest".
 *
 * Without antialiasing a filter reads the pixels around that place, however much smaller the
 * result is; at the edge of the image the pixels of the edge repeat. With antialiasing the filter
 * is as wide as a result pixel is in the source, and what it would read outside does not count.
 *
 * Errors, on the future or of submit: DTYPE, SHAPE, INVALID, LIMIT, SHARED (the result would
 * overwrite its source), and those of launches. Source of the kernels: kernels/image_sample.cu,
 * where nothing else is said.
 */
#ifndef ACUDA_IMAGE_H
#define ACUDA_IMAGE_H

#include <acuda/op.h>

ACU_BEGIN

typedef enum acu_layout { ACU_HWC, ACU_CHW } acu_layout;

/*
 * What the numbers of a pixel mean. X(identifier, name, channels, planes). Those with planes come
 * from cameras and decoders: luma (Y) for each pixel, chroma (U = Cb, V = Cr) for each pixel or for
 * two or four of them, side by side and one above the other. Each can be one tensor:
 *
 *   NV12, NV21, P010   [height * 3 / 2, width]: Y, then rows of U and V (NV21: V and U) in turn.
 *                      P010 is u16, with ten bits at the top of each; all others are u8
 *   YUV420             [height * 3 / 2, width], dense: Y, then all of U, then all of V (I420)
 *   YUV422             [height * 2, width], dense: Y, U, V, the latter two half as wide
 *   YUYV, UYVY         [height, width, 2], in HWC
 *   YUV444             [height, width, 3] or [3, height, width]: an image with three channels
 *
 * with the number of images in front, if there are several. Widths are even there, and so are the
 * heights of NV12, NV21, P010, YUV420 and YUV422. Or they come as planes (acu_frame), wherever
 * these are, and then sizes may be odd: Y [height, width]; NV12, NV21, P010 then [(height + 1) / 2,
 * (width + 1) / 2, 2]; the others U and V, each with as many rows and columns as it has.
 */
#define ACU_PIXEL_FORMATS(X)                                                                       \
    X(ANY, "any", 0, 1) /* any channels, which stay what they are */                               \
    X(GRAY, "gray", 1, 1) X(RGB, "RGB", 3, 1) X(BGR, "BGR", 3, 1)                                  \
    X(RGBA, "RGBA", 4, 1) X(BGRA, "BGRA", 4, 1)                                                    \
    X(NV12, "NV12", 3, 2) X(NV21, "NV21", 3, 2) X(P010, "P010", 3, 2)                              \
    X(YUV420, "YUV420", 3, 3) X(YUV422, "YUV422", 3, 3) X(YUV444, "YUV444", 3, 3)                  \
    X(YUYV, "YUYV", 3, 1) X(UYVY, "UYVY", 3, 1)

typedef enum acu_pixels {
#define ACU_X(id, name, channels, planes) ACU_PIXELS_##id,
    ACU_PIXEL_FORMATS(ACU_X)
#undef ACU_X
    ACU_PIXELS_COUNT
} acu_pixels;
ACU_API const char *acu_pixels_name(acu_pixels pixels); /* "NV12"; "?" for an unknown one */

typedef enum acu_filter {
    ACU_LINEAR,  /* two pixels in each direction */
    ACU_NEAREST, /* the pixel in which the place lies */
    ACU_CUBIC,   /* four; see acu_image_options.cubic */
    ACU_AREA,    /* the mean of what a result pixel covers, whether smaller or larger */
    ACU_LANCZOS, /* six, in three lobes, as Pillow's */
    ACU_LANCZOS4 /* eight, in four lobes, as OpenCV's */
} acu_filter;

typedef enum acu_sampling { ACU_HALF_PIXEL, ACU_ALIGN_CORNERS, ACU_TOP_LEFT } acu_sampling;

/* How a source of other proportions is brought to the size of the result. */
typedef enum acu_fit {
    ACU_STRETCH,   /* all of it, to all of the result */
    ACU_LETTERBOX, /* all of it, as large as it fits, in the middle; padding around it */
    ACU_COVER      /* as much of its middle as fills the result */
} acu_fit;

typedef enum acu_matrix { ACU_BT601, ACU_BT709, ACU_BT2020 } acu_matrix; /* of Y, U and V */
/* LIMITED: Y from 16 to 235, U and V from 16 to 240, of 255 (or four times that of 1023).
 * FULL: all from 0 to the top. */
typedef enum acu_range { ACU_LIMITED, ACU_FULL } acu_range;

/* What is beyond the edge of an image, shown for a row of abcd:
 *
 *   ACU_BORDER_CONSTANT     ppp|abcd|ppp, options.pad      ACU_BORDER_REPLICATE  aaa|abcd|ddd
 *   ACU_BORDER_REFLECT      cba|abcd|dcb                   ACU_BORDER_WRAP       bcd|abcd|abc
 *   ACU_BORDER_REFLECT_101  dcb|abcd|cba
 */
typedef enum acu_border {
    ACU_BORDER_DEFAULT, /* constant; of filters (image_filters.h) another */
    ACU_BORDER_CONSTANT,
    ACU_BORDER_REPLICATE,
    ACU_BORDER_REFLECT,
    ACU_BORDER_REFLECT_101,
    ACU_BORDER_WRAP
} acu_border;

/* Options of all functions here; each says which it uses. NULL, and zeros: the defaults. */
typedef struct acu_image_options {
    size_t size;           /* sizeof(acu_image_options) */
    acu_layout layout;     /* of the operand (but in acu_frame) and of the result */
    acu_filter filter;
    acu_sampling sampling; /* ACU_AREA and antialiasing know half pixels only */
    bool antialias;        /* not for ACU_NEAREST; ACU_AREA is always as if */
    float cubic;           /* slope of ACU_CUBIC, from -4 to 0; 0: -0.75 (OpenCV, PyTorch), with
                            * antialiasing -0.5 (Pillow, PyTorch) */
    acu_fit fit;
    float pad[4];          /* colour around a letterbox: the result's channels, in the numbers of
                            * the source's dtype (114 of 255, say); scaled as pixels are */
    acu_matrix matrix;
    acu_range range;
    acu_dtype dtype;       /* of the result; 0: the source's */
    acu_pixels pixels;     /* of the result; 0: RGB of formats of planes, else the source's (BGR
                            * stays BGR) */
    float mean[4];         /* for each channel of the result, of pixels from 0 to 1; 0: none */
    float deviation[4];    /* pixels are divided by these; 0: 1 */
    acu_border border;
    bool inverse;          /* of a matrix: it leads from the result to the source */
} acu_image_options;

/* A rectangle in pixels, not necessarily whole ones; all zeros: the whole image. It must lie in the
 * image. Filters read only pixels that it touches. */
typedef struct acu_region {
    double x, y, width, height;
} acu_region;

/*
 * What acu_fit does with a region of this size in a result of that size: the part of it that is
 * shown (relative to it) and the part of the result that it fills, in whole pixels. A box found in
 * the result is in the source at from.x + (x - to.x) * from.width / to.width. Errors: INVALID.
 */
ACU_API acu_status acu_image_fit(acu_fit fit, double source_height, double source_width,
                                 int64_t height, int64_t width, acu_region *from, acu_region *to);

/*
 * Resize an image, or all images of a batch: uses layout, filter, sampling, antialias, cubic, fit,
 * pad. The result has the rank, dtype and channels of x.
 */
#define acu_resize(x, height, width, options)                                                      \
    acu_op_resize(ACU_OPERAND(x), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_resize(acu_op *x, int64_t height, int64_t width,
                              const acu_image_options *options, acu_site site);

/* At most this many images or crops in one call of the functions below. */
#define ACU_IMAGES_MAX 256

/*
 * Images of different sizes, but of the same dtype and channels, as one batch. Options as for
 * acu_resize. Each of xs is one image, or a batch; consumed. The result has rank 4.
 */
ACU_API acu_op *acu_op_resize_batch(acu_op *const *xs, size_t count, int64_t height, int64_t width,
                                    const acu_image_options *options, acu_site site);
#define acu_resize_batch(xs, count, height, width, options)                                        \
    acu_op_resize_batch((xs), (count), (height), (width), (options), ACU_SITE)

/* Parts of images, each brought to the same size: [crops, height, width, channels] or, in ACU_CHW,
 * [crops, channels, height, width]. Options as for acu_resize. The crops are copied now. */
typedef struct acu_crop {
    int64_t image; /* of a batch; else 0 */
    acu_region region;
} acu_crop;
#define acu_crop_resize(x, crops, count, height, width, options)                                   \
    acu_op_crop_resize(ACU_OPERAND(x), (crops), (count), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_crop_resize(acu_op *x, const acu_crop *crops, size_t count, int64_t height,
                                   int64_t width, const acu_image_options *options, acu_site site);

/*
 * The same picture in another format of pixels. Uses layout, matrix, range. Gray is the luma of the
 * matrix. A new alpha is opaque; one that is dropped is not looked at. Chroma of fewer pixels is
 * that of each pixel it is for (read), and their mean (written). From and to gray and RGB with any
 * dtype; formats of planes have the dtype of the format. Between two formats of planes: in two
 * steps. From u8 to P010 and back, and generally where dtypes differ, pixels are scaled: full stays
 * full. Swapping channels may be in place: acu_into(x, acu_color(x, ACU_PIXELS_RGB,
 * ACU_PIXELS_BGR, NULL)).
 */
#define acu_color(x, from, to, options)                                                            \
    acu_op_color(ACU_OPERAND(x), (from), (to), (options), ACU_SITE)
ACU_API acu_op *acu_op_color(acu_op *x, acu_pixels from, acu_pixels to,
                             const acu_image_options *options, acu_site site);

/* x * scale + bias for each number, in another dtype (0: the same): the numbers as they are, so u8
 * to f32 with 1 / 255.0 and 0 gives 0 to 1. For a tensor that is an image in ACU_HWC; permute
 * another. */
#define acu_convert_scale(x, dtype, scale, bias)                                                   \
    acu_op_convert_scale(ACU_OPERAND(x), (dtype), (scale), (bias), ACU_SITE)
ACU_API acu_op *acu_op_convert_scale(acu_op *x, acu_dtype dtype, double scale, double bias,
                                     acu_site site);

/* (pixel - mean) / deviation, where the pixel goes from 0 to 1, and back to the range of the
 * dtype if that is one of integers. Uses layout, dtype, mean, deviation. */
#define acu_normalize(x, options) acu_op_normalize(ACU_OPERAND(x), (options), ACU_SITE)
ACU_API acu_op *acu_op_normalize(acu_op *x, const acu_image_options *options, acu_site site);

/* One picture, or a batch of pictures of one size, in one or several tensors. */
typedef struct acu_frame {
    acu_pixels pixels;
    acu_layout layout;
    acu_op *plane[3];  /* consumed; acu_value(tensor) for a tensor. Only the first: all is there */
    acu_region region; /* of each picture */
} acu_frame;

/*
 * Everything between a decoder and a network in one kernel: formats of planes to RGB, crop, resize,
 * padding, normalisation, layout and dtype, for a whole batch of frames of different sizes in one
 * launch. All options are used. Frames have the same format of pixels and dtype. The result is
 * [images, height, width, channels] or [images, channels, height, width]; height and width 0: those
 * of the region. The same as acu_color, acu_resize and acu_normalize, except that nothing is
 * rounded in between. If options->dtype is one of floating point, pixels go from 0 to 1 before
 * mean and deviation.
 */
#define acu_image_to_tensor(frames, count, height, width, options)                                 \
    acu_op_image_to_tensor((frames), (count), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_image_to_tensor(const acu_frame *frames, size_t count, int64_t height,
                                       int64_t width, const acu_image_options *options,
                                       acu_site site);

/* ---- geometry ------------------------------------------------------------------------------ */

/*
 * Each pixel of the result is taken from a place in the source. Places here are those of pixels'
 * centres, counted from 0, as OpenCV's and NPP's: (0, 0) is the centre of the first pixel, and
 * (1.5, 0) lies midway between the second and the third. Beyond the edge, filters read what
 * options.border says: ACU_NEAREST, ACU_LINEAR, ACU_CUBIC and ACU_LANCZOS4. Uses layout, filter,
 * cubic, border, pad (in the numbers of the dtype). The result has the rank, dtype and channels of
 * x. Source of the kernels: kernels/image_warp.cu.
 *
 * A batch is warped by one matrix, or by maps of its own. A place that is not a number lies beyond
 * the edge, at the upper left. Affine warps of u8 with three channels side by side are within 0.02
 * of what is exact before they are rounded, and 1.5 may become 1 or 2.
 */

/* The place of each pixel: map_x and map_y are f32 [height, width], which is the size of the
 * result, or [images, height, width]. */
#define acu_remap(x, map_x, map_y, options)                                                        \
    acu_op_remap(ACU_OPERAND(x), ACU_OPERAND(map_x), ACU_OPERAND(map_y), (options), ACU_SITE)
ACU_API acu_op *acu_op_remap(acu_op *x, acu_op *map_x, acu_op *map_y,
                             const acu_image_options *options, acu_site site);

/*
 * The matrix, by rows, leads from a place in the source to its place in the result, and is
 * inverted; with options.inverse, it leads back. Affine: x' = m[0] x + m[1] y + m[2], y' = m[3] x +
 * m[4] y + m[5]. Perspective: these, divided by m[6] x + m[7] y + m[8]. Copied now. Further errors:
 * INVALID (no inverse).
 */
#define acu_warp_affine(x, matrix, height, width, options)                                         \
    acu_op_warp_affine(ACU_OPERAND(x), (matrix), (height), (width), (options), ACU_SITE)
#define acu_warp_perspective(x, matrix, height, width, options)                                    \
    acu_op_warp_perspective(ACU_OPERAND(x), (matrix), (height), (width), (options), ACU_SITE)
ACU_API acu_op *acu_op_warp_affine(acu_op *x, const double matrix[6], int64_t height,
                                   int64_t width, const acu_image_options *options, acu_site site);
ACU_API acu_op *acu_op_warp_perspective(acu_op *x, const double matrix[9], int64_t height,
                                        int64_t width, const acu_image_options *options,
                                        acu_site site);

/* Turn an image about its middle, counterclockwise as one looks at it, by degrees; the result has
 * its size. (By quarters, without a filter: acu_transpose and acu_flip of arrange.h.) */
#define acu_rotate(x, degrees, options)                                                            \
    acu_op_rotate(ACU_OPERAND(x), (degrees), (options), ACU_SITE)
ACU_API acu_op *acu_op_rotate(acu_op *x, double degrees, const acu_image_options *options,
                              acu_site site);

/* An image with rows and columns around it, as options.border says. */
#define acu_make_border(x, top, bottom, left, right, options)                                      \
    acu_op_make_border(ACU_OPERAND(x), (top), (bottom), (left), (right), (options), ACU_SITE)
ACU_API acu_op *acu_op_make_border(acu_op *x, int64_t top, int64_t bottom, int64_t left,
                                   int64_t right, const acu_image_options *options,
                                   acu_site site);

ACU_END
#endif
