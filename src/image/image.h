/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the operations on images share: tensors read as images, formats of pixels, sampling along an
 * axis, requests that become launches.
 */
#ifndef ACUI_IMAGE_IMAGE_H
#define ACUI_IMAGE_IMAGE_H

#include "image/params.h"
#include "ops/ops.h"

#include <acuda/image.h>

/* ---- tensors as images (view.c) ------------------------------------------------------------ */

#define ACUI_IMAGE_SIDE (1 << 28) /* pixels along a side, and images in a batch */

/* Strides are in elements. */
typedef struct acui_view {
    acu_dtype dtype;
    int rank;
    int64_t images, height, width, channels;
    int64_t image, row, column, channel; /* from one to the next */
} acui_view;

/* Refuses in the name of the operation what is not an image in that layout; NULL: it is one. */
acu_op *acui_view_of(acu_planning *p, const char *name, const acu_val *value, acu_layout layout,
                     acui_view *view);
/* The same for a tensor that exists. */
void acui_view_read(const acu_tensor *tensor, acu_layout layout, acui_view *view);
/* The shape of images in that layout; `rank` 2 only with one channel, below 4 only one image. */
acu_shape acui_view_shape(acu_layout layout, int rank, int64_t images, int64_t height,
                          int64_t width, int64_t channels);
/* The result that goes to such a tensor, and how it lies in memory. */
acu_op *acui_view_result(acu_planning *p, const char *name, acu_dtype dtype, acu_layout layout,
                         acu_shape shape, acui_view *view);
/* The largest number of the dtype, or 1. */
double acui_full_of(acu_dtype dtype);
/* Whether images can have it. */
bool acui_is_pixel_dtype(acu_dtype dtype);

/* ---- formats of pixels (formats.c) --------------------------------------------------------- */

/* How chroma lies; `x`, `y`: has >> as many columns and rows. */
typedef struct acui_chroma {
    int x, y;
    bool swapped;     /* V comes before U */
    bool interleaved; /* in one plane of their own */
    bool packed;      /* among luma */
    bool luma_second; /* UYVY */
} acui_chroma;

bool acui_is_yuv(acu_pixels pixels);
acui_chroma acui_chroma_of(acu_pixels pixels);
int acui_channels_of(acu_pixels pixels);
acu_dtype acui_dtype_of(acu_pixels pixels); /* of a format of planes */
bool acui_pixels_known(acu_pixels pixels);
/* From Y, U, V as stored (and 1) to R, G, B from 0 to 1. */
void acui_decode_of(acu_pixels pixels, acu_matrix matrix, acu_range range, float decode[3][4]);
/* From R, G, B from 0 to 1 to Y, U, V as stored; `add` comes on top. */
void acui_encode_of(acu_pixels pixels, acu_matrix matrix, acu_range range, double mix[3][3],
                    double add[3]);
void acui_luma_of(acu_matrix matrix, double weight[3]); /* of red, green and blue */
/* The same for a matrix of red, green and blue (and 1), in the order of the pixels' channels. */
void acui_mix_in_order(double m[3][4], acu_pixels pixels, double mix[4][5]);
/* From the channels of `from` (and 1), from 0 to 1, to those of `to`. */
void acui_channels_mix(acu_pixels from, acu_pixels to, int channels, acu_matrix matrix,
                       double mix[4][5]);
/* Where Y, U and V are in one tensor with all of them; *rows and *columns: of the picture. Refuses
 * a tensor that does not fit. */
acu_op *acui_planes_of(acu_planning *p, const char *name, const acu_val *value, acu_pixels pixels,
                       acui_plane plane[3], int64_t batch[3], acui_view *view);
acu_shape acui_planes_shape(acu_pixels pixels, int64_t images, bool batch, int64_t height,
                            int64_t width);
void acui_planes_lay_out(const acu_tensor *tensor, acu_shape shape, acu_pixels pixels,
                         int64_t height, acui_plane plane[3], int64_t batch[3]);

/* ---- sampling along an axis (axis.c) ------------------------------------------------------- */

/* Sets the axis of a source that is `size` pixels long, of which `from` on `length` go to result
 * pixels begin .. end - 1. */
void acui_axis_set(acui_axis *axis, const acu_image_options *o, double from, double length,
                   int64_t size, int64_t begin, int64_t end);
/* Pixels that the filter may read along the axis. */
double acui_axis_taps(const acui_axis *axis);

/* ---- sampled images (sample.c) ------------------------------------------------------------- */

typedef struct acui_frame {
    acu_pixels pixels;
    acu_layout layout;
    size_t operand; /* of its first plane */
    int planes;
    int64_t image;  /* the only one of its batch; -1: all */
    acu_region region;
} acui_frame;

/* What becomes of the numbers of pixels. */
enum acui_scaling {
    ACUI_SCALE_UNIT, /* mean and deviation, of pixels from 0 to 1 */
    ACUI_SCALE_RAW   /* scale and bias, of the numbers as they are */
};

typedef struct acui_request {
    const char *name;
    acu_image_options o; /* pixels, dtype: 0 as the source's */
    int64_t height, width; /* 0: of the region */
    enum acui_scaling scaling;
    double scale, bias;
    bool own_mix;       /* of pixels from 0 to 1, instead of what follows from the formats */
    double mix[4][5];
    int rank; /* of the result; 0: as the source's */
    size_t frames;
    acui_frame frame[];
} acui_request;

/* A request for `frames` frames, all zero; NULL: no memory. */
acui_request *acui_request_new(const char *name, const acu_image_options *o, size_t frames);
void acui_request_free(acui_request *r); /* one that no op took */
/* The op that does it; consumes operands and request (which may be NULL). */
acu_op *acui_request_op(acui_request *r, acu_op *const *operands, size_t count, acu_site site);
/* What is known before anything is planned; a failed op, or NULL. */
acu_op *acui_options_read_image(const char *name, const acu_image_options *given,
                                acu_image_options *o, acu_site site);
/* Consumes the operands, and passes the failed op on. */
acu_op *acui_refused(acu_op *failed, acu_op *const *operands, size_t count);

/* ---- samples for which there are faster kernels (fast.c) ------------------------------------- */

typedef struct acui_fast {
    const char *kernel, *list_kernel; /* of image_rows.cu; NULL: none */
    int columns, rows;                /* that a thread makes */
} acui_fast;

/* 1 or -1 if each channel of the result is made of one of three, in their order or the other. */
int acui_own_channels(const acui_sample *p);
/* For images from the sources of that table. */
acui_fast acui_fast_sample(const acui_sample *p, const acui_image_source *table, int count);
/* Whether planes of that size become pixels as they lie, by planes_rgb. */
bool acui_fast_planes(const acui_sample *p, int64_t width, int64_t height);

/* ---- one image to another of the same channels (warp.c) ------------------------------------ */

/* Reads the first operand as images, and sets `at` for a result of the same size. */
acu_op *acui_pair_of(acu_planning *p, const char *name, const acu_image_options *o, acui_view *v,
                     acui_image_pair *at);
/* The result, of the size that is in `at` now; it may not be where an operand is. */
acu_op *acui_pair_result(acu_planning *p, const char *name, const acu_image_options *o,
                         const acui_view *v, acu_dtype dtype, acui_image_pair *at);
/* The same, for operations that read only the pixel that they write. */
acu_op *acui_pair_result_at(acu_planning *p, const char *name, const acu_image_options *o,
                            const acui_view *v, acu_dtype dtype, acui_image_pair *at);
void acui_turn_of(double degrees, double *sine, double *cosine);

/* Launch a kernel of a family with a block for each 32 x 8 pixels of each image. */
acu_op *acui_image_launch(acu_planning *p, const char *name, const char *family,
                          const char *kernel, int64_t width, int64_t height, int64_t images,
                          const acu_arg *args, size_t count);

#endif
