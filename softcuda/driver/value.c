/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory operations of streams: writing a value in stream order, or waiting until one is there. */
#include "driver/memory.h"
#include "driver/stream.h"

#include "driver/errors.h"
#include "driver/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct value_work {
    sd_work work;
    uint64_t address, value;
    bool wide; /* 8 bytes, else 4 */
    unsigned condition;
} value_work;

/* Atomic, because kernels and the program access such places at the same time. */
static uint64_t load(const value_work *w)
{
    const char *at = sd_host_pointer(w->address);
    if (w->wide)
        return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)at, memory_order_acquire);
    return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)at, memory_order_acquire);
}

static unsigned run_write(sd_stream *stream, sd_work *work)
{
    value_work *w = (value_work *)work;
    if (!sd_valid(w->address, w->wide ? 8 : 4)) {
        sd_error_say("a stream on device %d wrote a value to 0x%llx, which is freed",
                     stream->object.context->device->ordinal, (unsigned long long)w->address);
        return ACU_CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    char *at = sd_host_pointer(w->address);
    sd_memory_written(w->address, 0, w->wide ? 8 : 4);
    /* Release: whoever sees the value sees what the stream did before. */
    if (w->wide)
        atomic_store_explicit((_Atomic uint64_t *)(uintptr_t)at, w->value, memory_order_release);
    else
        atomic_store_explicit((_Atomic uint32_t *)(uintptr_t)at, (uint32_t)w->value,
                              memory_order_release);
    return ACU_CUDA_SUCCESS;
}

/* A place that was freed never becomes ready, as on a GPU; run then says so. */
static bool wait_is_over(const sd_work *work)
{
    const value_work *w = (const value_work *)work;
    if (!sd_valid(w->address, w->wide ? 8 : 4))
        return true;
    uint64_t is = load(w);
    uint64_t ahead = is - w->value;
    switch (w->condition) {
    case ACU_CU_STREAM_WAIT_VALUE_GEQ: /* cyclic: at most half the numbers ahead */
        return w->wide ? (int64_t)ahead >= 0 : (int32_t)(uint32_t)ahead >= 0;
    case ACU_CU_STREAM_WAIT_VALUE_EQ:
        return is == w->value;
    case ACU_CU_STREAM_WAIT_VALUE_AND:
        return (is & w->value) != 0;
    default: /* NOR */
        return w->wide ? ~(is | w->value) != 0 : (uint32_t) ~(is | w->value) != 0;
    }
}

static unsigned run_wait(sd_stream *stream, sd_work *work)
{
    const value_work *w = (const value_work *)work;
    if (sd_valid(w->address, w->wide ? 8 : 4))
        return ACU_CUDA_SUCCESS;
    sd_error_say("a stream on device %d waited for a value at 0x%llx, which is freed",
                 stream->object.context->device->ordinal, (unsigned long long)w->address);
    return ACU_CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void tell(const sd_work *work, char *text, size_t bytes)
{
    const value_work *w = (const value_work *)work;
    snprintf(text, bytes, "%llu at %s", (unsigned long long)w->value, sd_spot_of(w->address).text);
}

static sd_work *clone_value(const sd_work *work)
{
    value_work *clone = malloc(sizeof *clone);
    if (!clone)
        return NULL;
    memcpy(clone, work, sizeof *clone);
    return &clone->work;
}

static const sd_work_kind write_kind = {.name = "value write",
                                        .run = run_write,
                                        .tell = tell,
                                        .clone = clone_value,
                                        .node_type = ACU_CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
static const sd_work_kind wait_kind = {.name = "value wait",
                                       .run = run_wait,
                                       .ready = wait_is_over,
                                       .tell = tell,
                                       .clone = clone_value,
                                       .node_type = ACU_CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};

static unsigned issue(CUstream on, value_work what)
{
    SD_STREAM(stream, on);
    uint64_t bytes = what.wide ? 8 : 4;
    sd_place place = sd_locate(what.address, bytes).place;
    if (what.address % bytes || place == SD_PLACE_PAGEABLE || place == SD_PLACE_NOWHERE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    value_work *work = malloc(sizeof *work);
    if (!work)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    *work = what;
    return sd_stream_push(stream, &work->work);
}

static unsigned write_value(CUstream on, CUdeviceptr address, uint64_t value, unsigned flags,
                            bool wide)
{
    if (flags) /* CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER was the first version's */
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return issue(
        on,
        (value_work){.work.kind = &write_kind, .address = address, .value = value, .wide = wide});
}

static unsigned wait_value(CUstream on, CUdeviceptr address, uint64_t value, unsigned flags,
                           bool wide)
{
    unsigned condition = flags & ~(unsigned)ACU_CU_STREAM_WAIT_VALUE_FLUSH;
    if (condition > ACU_CU_STREAM_WAIT_VALUE_NOR)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    /* There are no remote writes that could be flushed, and the attribute says so. */
    if (flags & ACU_CU_STREAM_WAIT_VALUE_FLUSH)
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    return issue(on, (value_work){.work.kind = &wait_kind,
                                  .address = address,
                                  .value = value,
                                  .wide = wide,
                                  .condition = condition});
}

unsigned sd_cuStreamWriteValue32_v2(CUstream on, CUdeviceptr address, uint32_t value,
                                    unsigned flags)
{
    return write_value(on, address, value, flags, false);
}

unsigned sd_cuStreamWriteValue64_v2(CUstream on, CUdeviceptr address, uint64_t value,
                                    unsigned flags)
{
    return write_value(on, address, value, flags, true);
}

unsigned sd_cuStreamWaitValue32_v2(CUstream on, CUdeviceptr address, uint32_t value, unsigned flags)
{
    return wait_value(on, address, value, flags, false);
}

unsigned sd_cuStreamWaitValue64_v2(CUstream on, CUdeviceptr address, uint64_t value, unsigned flags)
{
    return wait_value(on, address, value, flags, true);
}
