/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How a helper (staging.c) moves its chunks of a staged copy. From host memory to host memory, it
 * copies them itself. Else they go through the helper's own ring of pinned memory (ring.h), as many
 * at a time as that has slots. No other thread uses that ring, or its stream.
 */
#include "base/error.h"
#include "engine/host/ring.h"
#include "engine/host/staging.h"

enum { BULK = 8 << 20 }; /* copies of more bytes would leave nothing else in any cache */

static CUdeviceptr device_address(const acu_buffer *buffer, size_t offset)
{
    return atomic_load_explicit(&buffer->address, memory_order_acquire) + offset;
}

/* Make the ring's stream wait for the making of the memory; all other predecessors are over. */
static acu_status wait_for_memory(const acui_stage *stage, acui_ring *ring)
{
    acui_task *task = stage->task;
    acu_status status = ACU_OK;
    for (size_t i = 0; i < task->dependency_count && status == ACU_OK; i++) {
        acui_order_lock(task->homes);
        const acui_point *point = task->dependencies[i].point;
        bool open = point->state == ACUI_POINT_ISSUED;
        acu_stream *stream = open ? acu_stream_retain(point->stream) : NULL;
        uint64_t number = point->number;
        acui_order_unlock(task->homes);
        if (!stream)
            continue;
        acui_lock_take(&ring->stream->issue);
        status = acui_stream_after(ring->stream, stream, number);
        acui_lock_give(&ring->stream->issue);
        acu_stream_release(stream);
    }
    return status;
}

static acu_status put_signal(acui_ring *ring, acui_slot *slot)
{
    acui_lock_take(&ring->stream->issue);
    acu_status status = acui_stream_signal(ring->stream, ACUI_REPORT_NEVER, &slot->number, NULL);
    acui_lock_give(&ring->stream->issue);
    slot->stream = ring->stream;
    return status;
}

static acu_status upload_slot(acui_stage *stage, acui_ring *ring, acui_slot *slot)
{
    acu_device *device = ring->stream->device;
    const char *from = (const char *)stage->src->host + stage->src_offset;
    acui_layout_copy(&stage->layout, slot->host - slot->begin, from, slot->begin, slot->end,
                     false); /* not past the cache: the device reads it from there */
    acu_status status = ACUI_DEV(device, MemcpyHtoDAsync,
                                 device_address(stage->dst, stage->dst_offset) + slot->begin,
                                 slot->host, slot->end - slot->begin, ring->stream->raw);
    return status == ACU_OK ? put_signal(ring, slot) : status;
}

static acu_status fetch(const acui_stage *stage, acui_ring *ring, acui_slot *slot)
{
    acu_device *device = ring->stream->device;
    ACUI_TRY(ACUI_DEV(device, MemcpyDtoHAsync, slot->host,
                      device_address(stage->src, stage->src_offset) + slot->begin,
                      slot->end - slot->begin, ring->stream->raw));
    return put_signal(ring, slot);
}

static acu_status send_slot(const acui_stage *stage, acui_ring *ring, const acui_ring *behind,
                            acui_slot *slot)
{
    acui_lock_take(&ring->stream->issue);
    acu_status status = acui_stream_after(ring->stream, behind->stream, slot->number);
    acui_lock_give(&ring->stream->issue);
    if (status == ACU_OK)
        status = ACUI_DEV(ring->stream->device, MemcpyHtoDAsync,
                          device_address(stage->dst, stage->dst_offset) + slot->begin, slot->host,
                          slot->end - slot->begin, ring->stream->raw);
    return status == ACU_OK ? put_signal(ring, slot) : status;
}

/* From the memory of the ring's device to that of another one, whose stream waits for the first by
 * itself. */
static acu_status relay_slot(acui_stage *stage, acui_ring *ring, acui_ring *onward, acui_slot *slot)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(ring->stream->device, &entered));
    acu_status status = fetch(stage, ring, slot);
    acui_leave(&entered);
    if (status == ACU_OK && (status = acui_enter(onward->stream->device, &entered)) == ACU_OK) {
        status = send_slot(stage, onward, ring, slot);
        acui_leave(&entered);
    }
    return status;
}

/* A free slot; waits for the oldest if there is none. */
static acu_status get_slot(acui_ring *ring, acui_slot **slot)
{
    *slot = NULL;
    if (!acui_ring_is_full(ring))
        ACUI_TRY(acui_ring_take(ring, slot));
    if (*slot)
        return ACU_OK;
    ACUI_TRY(acui_slot_wait(acui_ring_oldest(ring)));
    acui_ring_free_oldest(ring);
    return acui_ring_take(ring, slot);
}

/* To a device: from the host, or, with `onward`, from the ring's device. */
static acu_status upload(acui_stage *stage, acui_ring *ring, acui_ring *onward)
{
    uint64_t begin, end;
    for (int n = 0; acui_stage_take(stage, n, &begin, &end); n++) {
        acui_slot *slot;
        ACUI_TRY(get_slot(ring, &slot));
        slot->begin = begin;
        slot->end = end;
        ACUI_TRY(onward ? relay_slot(stage, ring, onward, slot) : upload_slot(stage, ring, slot));
    }
    return ACU_OK;
}

static acu_status empty_oldest(acui_stage *stage, acui_ring *ring)
{
    const acui_slot *slot = acui_ring_oldest(ring);
    acu_status status = acui_slot_wait(slot);
    char *to = (char *)stage->dst->host + stage->dst_offset;
    if (status == ACU_OK && acui_stage_goes_on(stage))
        acui_layout_copy(&stage->layout, to, slot->host - slot->begin, slot->begin, slot->end,
                         stage->layout.bytes >= BULK);
    acui_ring_free_oldest(ring);
    return status;
}

static acu_status download(acui_stage *stage, acui_ring *ring)
{
    uint64_t begin, end;
    for (int n = 0; acui_stage_take(stage, n, &begin, &end); n++) {
        acui_slot *slot = NULL;
        if (!acui_ring_is_full(ring))
            ACUI_TRY(acui_ring_take(ring, &slot));
        if (!slot) {
            ACUI_TRY(empty_oldest(stage, ring));
            ACUI_TRY(acui_ring_take(ring, &slot));
        }
        slot->begin = begin;
        slot->end = end;
        ACUI_TRY(fetch(stage, ring, slot));
    }
    while (ring->used)
        ACUI_TRY(empty_oldest(stage, ring));
    return ACU_OK;
}

/* After an error, something may be on the stream that has no signal. Nothing of it may be left,
 * even where the context can not be made current. On a lost device nothing runs any more; else a
 * signal can be had, and waited for. */
static void clean_up(acui_ring *ring)
{
    acu_error record = *acui_error();
    acui_entered entered;
    acui_slot none;
    if (acui_enter_to_free(ring->stream->device, &entered) && put_signal(ring, &none) == ACU_OK)
        acui_slot_wait(&none);
    acui_leave(&entered);
    while (ring->used)
        acui_ring_free_oldest(ring);
    acui_error_restore(&record);
}

static acu_status get_ring(const acui_stage *stage, acu_device *device, unsigned helper,
                           acui_ring **ring)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status status = acui_ring_get(device, helper, stage->slot_bytes, stage->slots, ring);
    if (status == ACU_OK)
        status = wait_for_memory(stage, *ring);
    acui_leave(&entered);
    return status;
}

static acu_status work_on_device(acui_stage *stage, unsigned helper)
{
    bool down = acui_stage_on_host(stage->dst), relay = !down && !acui_stage_on_host(stage->src);
    acui_ring *ring, *onward = NULL;
    acui_entered entered;
    acu_device *device = down || relay ? stage->src->device : stage->dst->device;
    ACUI_TRY(get_ring(stage, device, helper, &ring));
    if (relay)
        ACUI_TRY(get_ring(stage, stage->dst->device, helper, &onward));
    ACUI_TRY(acui_enter(device, &entered));
    acu_status status = down ? download(stage, ring) : upload(stage, ring, onward);
    if (status == ACU_OK)
        status = acui_ring_drain(ring);
    acui_leave(&entered);
    if (status != ACU_OK && onward)
        clean_up(onward);
    if (status != ACU_OK)
        clean_up(ring);
    return status;
}

static void work_on_host(acui_stage *stage)
{
    uint64_t begin, end;
    for (int n = 0; acui_stage_take(stage, n, &begin, &end); n++)
        acui_layout_copy(&stage->layout, (char *)stage->dst->host + stage->dst_offset,
                         (const char *)stage->src->host + stage->src_offset, begin, end,
                         stage->layout.bytes >= BULK);
}

acu_status acui_stage_move(acui_stage *stage, unsigned helper)
{
    if (!acui_stage_on_host(stage->dst) || !acui_stage_on_host(stage->src))
        return work_on_device(stage, helper);
    work_on_host(stage);
    return ACU_OK;
}
