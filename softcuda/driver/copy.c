/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies. They are checked twice: when they are issued, against the live allocations, where a bad
 * pointer is the call's error; and when they run, against the valid bytes, where it is the
 * context's fault.
 */
#include "driver/copy.h"

#include "driver/capture.h"
#include "driver/errors.h"
#include "driver/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pageable sources of up to this size are copied aside at once; larger ones make the call wait. */
#define STAGED_BYTES ((uint64_t)64 << 10)

typedef struct copy_work {
    sd_work work;
    sd_box box;
    char staged[]; /* the source, packed, if box.src.address points here */
} copy_work;

static bool contiguous(const sd_side *side, const sd_box *box)
{
    return (box->height == 1 || side->pitch == box->width) &&
           (box->depth == 1 || side->slice == box->width * box->height);
}

/* Bytes from the start of the side to its last byte. */
static uint64_t extent(const sd_side *side, const sd_box *box)
{
    return (box->depth - 1) * side->slice + (box->height - 1) * side->pitch + box->width;
}

#define LARGEST (UINT64_C(1) << 46) /* more than all memory: no product of such sizes is wanted */

/* Whether the extent can be computed at all. */
static bool sane(const sd_side *side, const sd_box *box)
{
    uint64_t rows = 0, slices = 0;
    return box->width <= LARGEST && side->pitch <= LARGEST && side->slice <= LARGEST &&
           !__builtin_mul_overflow(box->height - 1, side->pitch, &rows) && rows <= LARGEST &&
           !__builtin_mul_overflow(box->depth - 1, side->slice, &slices) && slices <= LARGEST;
}

static bool side_valid(const sd_side *side, const sd_box *box)
{
    if (contiguous(side, box))
        return sd_valid(side->address, extent(side, box));
    for (uint64_t z = 0; z < box->depth; z++)
        for (uint64_t y = 0; y < box->height; y++)
            if (!sd_valid(side->address + z * side->slice + y * side->pitch, box->width))
                return false;
    return true;
}

static void copy_row(uint64_t to, uint64_t from, uint64_t bytes)
{
    memmove(sd_host_pointer(to), sd_host_pointer(from), bytes);
    sd_memory_written(to, from, bytes);
}

static void copy_box(const sd_box *box)
{
    const sd_side *to = &box->dst, *from = &box->src;
    if (contiguous(to, box) && contiguous(from, box)) {
        copy_row(to->address, from->address, box->width * box->height * box->depth);
        return;
    }
    for (uint64_t z = 0; z < box->depth; z++)
        for (uint64_t y = 0; y < box->height; y++)
            copy_row(to->address + z * to->slice + y * to->pitch,
                     from->address + z * from->slice + y * from->pitch, box->width);
}

static unsigned run_copy(sd_stream *stream, sd_work *work)
{
    const sd_box *box = &((copy_work *)work)->box;
    bool from = side_valid(&box->src, box);
    if (!from || !side_valid(&box->dst, box)) {
        const sd_side *side = from ? &box->dst : &box->src;
        sd_error_say("a copy of %llu bytes %s 0x%llx on device %d touched memory that is freed, "
                     "or not yet allocated, at that point of its stream",
                     (unsigned long long)(box->width * box->height * box->depth),
                     from ? "to" : "from", (unsigned long long)side->address,
                     stream->object.context->device->ordinal);
        return ACU_CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    copy_box(box);
    return ACU_CUDA_SUCCESS;
}

static void tell_copy(const sd_work *work, char *text, size_t bytes)
{
    const sd_box *box = &((const copy_work *)work)->box;
    snprintf(text, bytes, "%llu bytes to %s from %s",
             (unsigned long long)(box->width * box->height * box->depth),
             sd_spot_of(box->dst.address).text, sd_spot_of(box->src.address).text);
}

/* Only works without a staged source are cloned: those in graphs. */
static sd_work *clone_copy(const sd_work *work)
{
    copy_work *clone = malloc(sizeof *clone);
    if (!clone)
        return NULL;
    memcpy(clone, work, sizeof *clone);
    return &clone->work;
}

/* CUDA's rule: both copies have one row, and each side stays in the memory of its device. */
static bool replaceable_copy(const sd_work *work, const sd_work *with)
{
    const sd_box *a = &((const copy_work *)work)->box, *b = &((const copy_work *)with)->box;
    return a->height == 1 && a->depth == 1 && b->height == 1 && b->depth == 1 &&
           sd_device_of(a->dst.address) == sd_device_of(b->dst.address) &&
           sd_device_of(a->src.address) == sd_device_of(b->src.address);
}

static bool same_copy(const sd_work *work, const sd_work *with)
{
    return memcmp(&((const copy_work *)work)->box, &((const copy_work *)with)->box,
                  sizeof(sd_box)) == 0;
}

static const sd_work_kind copy_kind = {.name = "copy",
                                       .run = run_copy,
                                       .tell = tell_copy,
                                       .clone = clone_copy,
                                       .replaceable = replaceable_copy,
                                       .same = same_copy,
                                       .node_type = ACU_CU_GRAPH_NODE_TYPE_MEMCPY};

/* ---- issuing ---- */

/* What kind of memory a side is in, if the claim about it holds; else SD_PLACE_NOWHERE. */
static sd_place place_of(const sd_side *side, const sd_box *box, sd_claim claim)
{
    if (!sane(side, box))
        return SD_PLACE_NOWHERE;
    sd_place place = sd_locate(side->address, extent(side, box)).place;
    if (claim == SD_CLAIM_DEVICE && place == SD_PLACE_PAGEABLE)
        return SD_PLACE_NOWHERE;
    return place;
}

static copy_work *make_work(const sd_box *box, uint64_t staged)
{
    copy_work *copy = calloc(1, sizeof *copy + staged);
    if (!copy)
        return NULL;
    copy->work.kind = &copy_kind;
    copy->box = *box;
    if (staged) {
        copy->box.src =
            (sd_side){(uint64_t)(uintptr_t)copy->staged, box->width, box->width * box->height};
        sd_box aside = copy->box;
        aside.dst = copy->box.src;
        aside.src = box->src;
        copy_box(&aside);
    }
    return copy;
}

unsigned sd_copy(sd_stream *stream, const sd_box *box, sd_claim dst, sd_claim src, bool waits)
{
    if (!box->width || !box->height || !box->depth)
        return ACU_CUDA_SUCCESS;
    sd_place to = place_of(&box->dst, box, dst);
    sd_place from = place_of(&box->src, box, src);
    if (to == SD_PLACE_NOWHERE || from == SD_PLACE_NOWHERE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (sd_capturing(stream) && waits)
        return sd_capture_refuse(stream, ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (sd_capturing(stream)) { /* a pageable source is read when the graph runs */
        copy_work *node = make_work(box, 0);
        return node ? sd_stream_push(stream, &node->work) : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    uint64_t bytes = box->width * box->height * box->depth;
    bool host = to != SD_PLACE_DEVICE || from != SD_PLACE_DEVICE;
    bool stage = from == SD_PLACE_PAGEABLE && to != SD_PLACE_PAGEABLE && bytes <= STAGED_BYTES;
    waits = (waits && host) || to == SD_PLACE_PAGEABLE || (from == SD_PLACE_PAGEABLE && !stage);
    copy_work *copy = make_work(box, stage && !waits ? bytes : 0);
    if (!copy)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (!waits)
        return sd_stream_push(stream, &copy->work);
    sd_mark mark;
    unsigned result = sd_stream_push_at(stream, &copy->work, &mark);
    if (result)
        return result;
    sd_mark_wait(&mark);
    sd_mark_drop(&mark);
    return sd_context_state(stream->object.context);
}

unsigned sd_copy_make(const sd_box *box, sd_claim dst, sd_claim src, sd_work **work)
{
    if (!box->width || !box->height || !box->depth ||
        place_of(&box->dst, box, dst) == SD_PLACE_NOWHERE ||
        place_of(&box->src, box, src) == SD_PLACE_NOWHERE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    copy_work *copy = make_work(box, 0);
    if (!copy)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    *work = &copy->work;
    return ACU_CUDA_SUCCESS;
}
