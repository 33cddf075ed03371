/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fills: rows of elements of 1, 2 or 4 bytes. A call without a stream is over when it returns if
 * the host can see the memory (pinned, registered or managed); for device memory it does not wait.
 */
#include "driver/graph.h"
#include "driver/memory.h"

#include "driver/errors.h"
#include "driver/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fill {
    uint64_t address, pitch; /* bytes */
    uint32_t value;
    unsigned element;     /* bytes: 1, 2 or 4 */
    size_t width, height; /* elements, rows */
} fill;

typedef struct fill_work {
    sd_work work;
    fill fill;
} fill_work;

static void fill_row(char *at, const fill *f)
{
    if (f->element == 1) {
        memset(at, (int)(f->value & 0xff), f->width);
        return;
    }
    uint16_t half = (uint16_t)f->value;
    for (size_t i = 0; i < f->width; i++)
        if (f->element == 2)
            memcpy(at + 2 * i, &half, 2);
        else
            memcpy(at + 4 * i, &f->value, 4);
}

static unsigned run_fill(sd_stream *stream, sd_work *work)
{
    const fill *f = &((fill_work *)work)->fill;
    for (size_t row = 0; row < f->height; row++) {
        uint64_t address = f->address + row * f->pitch;
        if (!sd_valid(address, (uint64_t)f->width * f->element)) {
            sd_error_say("a fill of %zu x %zu elements at 0x%llx on device %d touched memory that "
                         "is freed, or not yet allocated, at that point of its stream",
                         f->width, f->height, (unsigned long long)f->address,
                         stream->object.context->device->ordinal);
            return ACU_CUDA_ERROR_ILLEGAL_ADDRESS;
        }
        fill_row(sd_host_pointer(address), f);
        sd_memory_written(address, 0, (uint64_t)f->width * f->element);
    }
    return ACU_CUDA_SUCCESS;
}

static void tell_fill(const sd_work *work, char *text, size_t bytes)
{
    const fill *f = &((const fill_work *)work)->fill;
    snprintf(text, bytes, "%zu x %zu x %u bytes to %s", f->height, f->width, f->element,
             sd_spot_of(f->address).text);
}

static sd_work *clone_fill(const sd_work *work)
{
    fill_work *clone = malloc(sizeof *clone);
    if (!clone)
        return NULL;
    memcpy(clone, work, sizeof *clone);
    return &clone->work;
}

/* CUDA's rule: both fills have one row, or the same number of equal rows, in the memory of one
 * device. */
static bool replaceable_fill(const sd_work *work, const sd_work *with)
{
    const fill *a = &((const fill_work *)work)->fill, *b = &((const fill_work *)with)->fill;
    bool same_rows = a->pitch == b->pitch && a->element == b->element && a->width == b->width &&
                     a->height == b->height;
    return (same_rows || (a->height == 1 && b->height == 1)) &&
           sd_device_of(a->address) == sd_device_of(b->address);
}

static const sd_work_kind fill_kind = {.name = "fill",
                                       .run = run_fill,
                                       .tell = tell_fill,
                                       .clone = clone_fill,
                                       .replaceable = replaceable_fill,
                                       .node_type = ACU_CU_GRAPH_NODE_TYPE_MEMSET};

static unsigned check(const fill *f)
{
    uint64_t row = (uint64_t)f->width * f->element;
    uint64_t rows = 0;
    if (f->address % f->element || (f->height > 1 && (f->pitch < row || f->pitch % f->element)))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (f->width > UINT64_C(1) << 44 || f->pitch > UINT64_C(1) << 46 ||
        __builtin_mul_overflow(f->height - 1, f->pitch, &rows) || rows > UINT64_C(1) << 46)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_place place = sd_locate(f->address, rows + row).place;
    return place == SD_PLACE_PAGEABLE || place == SD_PLACE_NOWHERE ? ACU_CUDA_ERROR_INVALID_VALUE
                                                                   : ACU_CUDA_SUCCESS;
}

static unsigned make(const fill *f, sd_work **work)
{
    unsigned result = check(f);
    if (result)
        return result;
    fill_work *made = calloc(1, sizeof *made);
    if (!made)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    made->work.kind = &fill_kind;
    made->fill = *f;
    *work = &made->work;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_fill_make(const acu_CUDA_MEMSET_NODE_PARAMS *p, sd_work **work)
{
    if ((p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) || !p->width ||
        !p->height)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    fill f = {p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
    return make(&f, work);
}

static unsigned issue(fill f, CUstream on)
{
    SD_STREAM(stream, on);
    sd_work *work = NULL;
    if (!f.width || !f.height)
        return ACU_CUDA_SUCCESS;
    unsigned result = make(&f, &work);
    return result ? result : sd_stream_push(stream, work);
}

static unsigned issue_and_wait(fill f)
{
    SD_STREAM(stream, NULL);
    sd_work *work = NULL;
    sd_mark mark;
    if (!f.width || !f.height)
        return ACU_CUDA_SUCCESS;
    unsigned result = make(&f, &work);
    if (result)
        return result;
    if (sd_device_of(f.address))
        return sd_stream_push(stream, work);
    result = sd_stream_push_at(stream, work, &mark);
    if (result)
        return result;
    sd_mark_wait(&mark);
    sd_mark_drop(&mark);
    return sd_context_state(stream->object.context);
}

/* The four forms of each of the three element types. */
#define SD_FILLS(bits, bytes, type) \
    unsigned sd_cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count, CUstream on) \
    { \
        return issue((fill){dst, 0, value, bytes, count, 1}, on); \
    } \
    unsigned sd_cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t count) \
    { \
        return issue_and_wait((fill){dst, 0, value, bytes, count, 1}); \
    } \
    unsigned sd_cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t width, \
                                         size_t height, CUstream on) \
    { \
        return issue((fill){dst, pitch, value, bytes, width, height}, on); \
    } \
    unsigned sd_cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t width, \
                                       size_t height) \
    { \
        return issue_and_wait((fill){dst, pitch, value, bytes, width, height}); \
    }

SD_FILLS(8, 1, unsigned char)
SD_FILLS(16, 2, unsigned short)
SD_FILLS(32, 4, unsigned)
