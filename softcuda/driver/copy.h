/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies of boxes (rows of slices), from any kind of memory to any. */
#ifndef SOFTCUDA_DRIVER_COPY_H
#define SOFTCUDA_DRIVER_COPY_H

#include "driver/memory.h"
#include "driver/stream.h"

/* Where a box starts, and the bytes from one row and one slice to the next. */
typedef struct sd_side {
    uint64_t address;
    uint64_t pitch, slice;
} sd_side;

/* `width` bytes of `height` rows of `depth` slices. */
typedef struct sd_box {
    sd_side dst, src;
    uint64_t width, height, depth;
} sd_box;

/* What the caller says about a side, in which the driver must believe it. */
typedef enum sd_claim {
    SD_CLAIM_HOST,   /* a host pointer */
    SD_CLAIM_DEVICE, /* a device pointer: must be one */
    SD_CLAIM_ANY,    /* a unified address */
} sd_claim;

/*
 * Check and issue a copy. `waits`: the call returns when the copy is done, where host memory takes
 * part. Otherwise only pageable memory makes it wait, and small pageable sources do not.
 */
unsigned sd_copy(sd_stream *stream, const sd_box *box, sd_claim dst, sd_claim src, bool waits);

/* A copy as a work that is issued later; its memory, pageable too, is used only then. */
unsigned sd_copy_make(const sd_box *box, sd_claim dst, sd_claim src, sd_work **work);

/* The box that a struct of the API describes. A CUresult. */
unsigned sd_copy_read_3d(const acu_CUDA_MEMCPY3D *copy, sd_box *box, sd_claim *dst, sd_claim *src);

#endif
