/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NPP's calls for checked images: which function, and what it is given (calls.c); its libraries and
 * statuses are in libraries.c. */
#ifndef ACUI_NPP_CALLS_H
#define ACUI_NPP_CALLS_H

#include "vendor/call.h"

typedef struct acui_npp_size { int width, height; } acui_npp_size;
typedef struct acui_npp_rect { int x, y, width, height; } acui_npp_rect;

/* NPP's NppStreamContext, passed by value to each call. */
typedef struct acui_npp_context {
    CUstream stream;
    int device, processors, processor_threads, block_threads;
    size_t block_shared;
    int major, minor;
    unsigned stream_flags;
    int reserved;
} acui_npp_context;
_Static_assert(sizeof(acui_npp_context) == 48, "NPP's struct");

/* NPP's numbers for filters. */
enum { ACUI_NPP_NEAREST = 1, ACUI_NPP_LINEAR = 2, ACUI_NPP_CUBIC = 4, ACUI_NPP_SUPER = 8,
       ACUI_NPP_LANCZOS = 16 };

typedef enum acui_npp_type {
    ACUI_NPP_8U,
    ACUI_NPP_16U,
    ACUI_NPP_32F,
    ACUI_NPP_TYPES
} acui_npp_type;
enum { ACUI_NPP_LAYOUTS = 3 /* of 1, 3 and 4 channels */, ACUI_NPP_BATCH = 256 };

typedef struct acui_npp_image {
    acui_npp_size size;
    int step;           /* bytes from one row to the next */
    acui_npp_rect part; /* its region */
} acui_npp_image;

/* What a call is made with. The values are: the images that are written, those that are read, and
 * the two maps. */
typedef struct acui_npp {
    acui_npp_type type;
    int layout;
    int filter;
    uint32_t count;
    acui_npp_image from, to;
    int map_steps[2];
    int top, left;
    double color[4];
    int steps[]; /* of a batch: of each image that is written, and of each that is read */
} acui_npp;

acu_status acui_npp_resize(acui_vendor_work *work);
acu_status acui_npp_resize_batch(acui_vendor_work *work);
acu_status acui_npp_remap(acui_vendor_work *work);
acu_status acui_npp_border(acui_vendor_work *work);

/* ---- libraries.c ---- */

typedef int acui_npp_resize_fn(const void *from, int from_step, acui_npp_size from_size,
                               acui_npp_rect from_part, void *to, int to_step,
                               acui_npp_size to_size, acui_npp_rect to_part, int filter,
                               acui_npp_context context);
typedef int acui_npp_batch_fn(acui_npp_size from_size, acui_npp_rect from_part,
                              acui_npp_size to_size, acui_npp_rect to_part, int filter, void *list,
                              unsigned count, acui_npp_context context);
typedef int acui_npp_remap_fn(const void *from, acui_npp_size from_size, int from_step,
                              acui_npp_rect from_part, const float *x, int x_step, const float *y,
                              int y_step, void *to, int to_step, acui_npp_size to_size, int filter,
                              acui_npp_context context);
/* The colour is a number where there is one channel, in the image's type. */
#define ACUI_NPP_BORDER(name, color)                                                               \
    typedef int name(const void *from, int from_step, acui_npp_size from_size, void *to,           \
                     int to_step, acui_npp_size to_size, int top, int left, color,                 \
                     acui_npp_context context)
ACUI_NPP_BORDER(acui_npp_border_fn, const void *colors);
ACUI_NPP_BORDER(acui_npp_border_8u_fn, uint8_t number);
ACUI_NPP_BORDER(acui_npp_border_16u_fn, uint16_t number);
ACUI_NPP_BORDER(acui_npp_border_32f_fn, float number);

/* By type and layout. */
extern acui_npp_resize_fn *acui_npp_resizes[ACUI_NPP_TYPES][ACUI_NPP_LAYOUTS];
extern acui_npp_remap_fn *acui_npp_remaps[ACUI_NPP_TYPES][ACUI_NPP_LAYOUTS];
extern acui_npp_batch_fn *acui_npp_batches[ACUI_NPP_TYPES][ACUI_NPP_LAYOUTS]; /* not of 16u */
extern struct acui_npp_borders {
    acui_npp_border_8u_fn *one_8u;
    acui_npp_border_16u_fn *one_16u;
    acui_npp_border_32f_fn *one_32f;
    acui_npp_border_fn *more[ACUI_NPP_TYPES][2]; /* of 3 and 4 channels */
} acui_npp_borders;

/* Record what the library's call answered; its warnings too, where they say that nothing was
 * done. */
acu_status acui_npp_said(const acui_library *library, const char *call, int status);

#endif
