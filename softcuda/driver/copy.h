/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies of boxes (slices of rows), from any kind of memory to any other. A copy is checked twice:
 * against the live allocations when it is issued, and against the valid bytes when it runs
 * (copy.c).
 */
#ifndef SOFTCUDA_DRIVER_COPY_H
#define SOFTCUDA_DRIVER_COPY_H

#include "driver/memory.h"
#include "driver/stream.h"

/* Where a box starts, and the distances of rows and slices in bytes. */
typedef struct sd_side {
    uint64_t address;
    uint64_t pitch, slice;
} sd_side;

/* `width` bytes of `height` rows of `depth` slices. */
typedef struct sd_box {
    sd_side dst, src;
    uint64_t width, height, depth;
} sd_box;

/* What the caller claims about a side; the driver must take its word for it. */
typedef enum sd_claim {
    SD_CLAIM_HOST,   /* a host pointer */
    SD_CLAIM_DEVICE, /* a device pointer, and must be one */
    SD_CLAIM_ANY,    /* a unified address */
} sd_claim;

/*
 * Check and issue a copy. With `waits` the call returns when the copy is done, if host memory takes
 * part. Otherwise only pageable memory makes it wait, and small pageable sources do not.
 */
unsigned sd_copy(sd_stream *stream, const sd_box *box, sd_claim dst, sd_claim src, bool waits);

/* Make a copy that is issued later; its memory, even if pageable, is read or written only then. */
unsigned sd_copy_make(const sd_box *box, sd_claim dst, sd_claim src, sd_work **work);

/* Read the box that a struct of the API describes. A CUresult. */
unsigned sd_copy_read_3d(const acu_CUDA_MEMCPY3D *copy, sd_box *box, sd_claim *dst, sd_claim *src);

#endif
