/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of buffers: taking it from pools, and giving it back. */
#include "memory/memory.h"

#include "base/error.h"
#include "base/rare.h"
#include "memory/pool.h"

/* ---- getting ---- */

acu_status acui_buffer_reserve(acu_buffer *buffer, size_t bytes, acu_stream *stream)
{
    acu_pool *pool = acui_buffer_pool(buffer);
    return pool ? acui_pool_get(pool, bytes, stream, &buffer->block) : ACU_ERR_NO_MEMORY;
}

void acui_buffer_unreserve(acu_buffer *buffer)
{
    acui_pool_put(acui_buffer_pool(buffer), buffer->block);
    buffer->block = NULL;
}

void acui_buffer_commit(acu_buffer *buffer)
{
    if (buffer->block->host) /* not for device memory: other threads may already be reading this */
        buffer->host = buffer->block->host;
    /* Release: a thread that reads the address may use the rest of the buffer. */
    atomic_store_explicit(&buffer->address, buffer->block->address, memory_order_release);
}

static acu_status allocate(acu_buffer *buffer, size_t bytes, acu_stream *stream)
{
    ACUI_TRY(acui_buffer_reserve(buffer, bytes, stream));
    acui_buffer_commit(buffer);
    return ACU_OK;
}

acu_status acui_buffer_allocate(acu_buffer *buffer, acu_stream *stream)
{
    return allocate(buffer, buffer->bytes, stream);
}

void acui_buffer_commit_before(acu_buffer *earlier, const acu_buffer *buffer)
{
    CUdeviceptr address = atomic_load_explicit(&buffer->address, memory_order_relaxed);
    earlier->passed_on = true;
    atomic_store_explicit(&earlier->address, address, memory_order_release);
}

/* The allocation is work on the stream like any other: whatever uses the memory is ordered behind
 * it. */
static acu_status enter_allocation(acu_buffer *buffer, acu_stream *stream)
{
    acui_point *point = acui_point_new(buffer->device);
    if (!point)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a buffer");
    acu_status st = acui_stream_signal(stream, ACUI_REPORT_NEVER, &point->number, NULL);
    if (st == ACU_OK) {
        acui_order_lock(point->home);
        point->stream = acu_stream_retain(stream);
        point->state = ACUI_POINT_ISSUED;
        point->allocation = true;
        /* The list is empty, so this needs no memory. */
        acui_accesses_enter(&buffer->accesses, buffer->bytes, point,
                            acui_extent_range(0, buffer->bytes), ACU_WRITE, NULL, NULL);
        acui_order_unlock(point->home);
    }
    acui_point_release(point);
    return st;
}

/* Allocates on the stream for allocations, not from the cache. Whatever uses the memory is ordered
 * behind everything that this stream is behind. */
ACUI_RARE static acu_status allocate_slowly(acu_buffer *buffer, size_t bytes)
{
    acu_device *device = buffer->device;
    acu_stream *stream = buffer->kind == ACU_MEMORY_DEVICE ? device->alloc : NULL;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    if (stream)
        acui_lock_take(&stream->issue);
    acu_status st = allocate(buffer, bytes, stream);
    if (st == ACU_ERR_DEVICE_MEMORY || st == ACU_ERR_NO_MEMORY)
        acui_pool_count_failed(acui_buffer_pool(buffer));
    if (st == ACU_OK && buffer->block->fences.count)
        st = enter_allocation(buffer, stream);
    if (stream) {
        acui_stream_make_owed(stream); /* on failure: the block goes to the cache, fenced with that
                                        * signal */
        acui_lock_give(&stream->issue);
    }
    acui_leave(&entered);
    return st;
}

/* Allocates from the cache, if that has a block. */
static inline bool allocate_cached(acu_buffer *buffer, size_t bytes, acu_pool *pool)
{
    buffer->block = acui_pool_take(pool, bytes, NULL);
    if (!buffer->block)
        buffer->block = acui_pool_take_complete(pool, bytes, NULL);
    if (!buffer->block)
        return false;
    acui_buffer_commit(buffer);
    return true;
}

acu_status acui_buffer_allocate_now(acu_buffer *buffer, size_t bytes)
{
    acu_pool *pool = acui_buffer_pool(buffer);
    if (!pool)
        return ACU_ERR_NO_MEMORY;
    return allocate_cached(buffer, bytes, pool) ? ACU_OK : allocate_slowly(buffer, bytes);
}

acu_status acui_buffer_allocate_soon(acu_buffer *buffer)
{
    acu_pool *pool = acui_buffer_pool(buffer);
    if (!pool)
        return ACU_ERR_NO_MEMORY;
    return allocate_cached(buffer, buffer->bytes, pool) ? ACU_OK
                                                        : acui_growth_begin(pool, buffer);
}

/* ---- giving back ---- */

/* Turns the work in flight that uses the memory into fences, behind which it is free. False: that
 * is not possible. Nobody else has the accesses any more, but they have the points: order lock. */
static bool fence(acu_buffer *buffer)
{
    const acui_accesses *accesses = &buffer->accesses;
    acui_fences *fences = &buffer->block->fences;
    for (size_t i = 0; i < accesses->count; i++) {
        acui_point *point = accesses->list[i].point;
        if (point->state == ACUI_POINT_PENDING)
            return false;
        if (point->state == ACUI_POINT_ISSUED &&
            !acui_stream_passed(point->stream, point->number) &&
            !acui_fences_add(fences, buffer->device, point->stream, point->number))
            return false;
    }
    return true;
}

/* For a program that releases its last buffer: nobody has looked since whether the device is
 * idle. */
ACUI_RARE static void trim_idle(acu_device *device)
{
    if (acui_in_flight(device) == 0)
        device->memory.idle(device);
}

void acui_buffer_free_memory(acu_buffer *buffer)
{
    bool known = true;
    if (buffer->accesses.list) { /* otherwise nothing ever used the buffer */
        acui_homes homes = acui_accesses_lock(&buffer->accesses);
        if (buffer->block)
            known = fence(buffer);
        acui_accesses_clear(&buffer->accesses);
        acui_order_unlock(homes);
    }
    if (!buffer->block)
        return;
    acu_pool *pool = acui_buffer_pool(buffer);
    if (atomic_load_explicit(&buffer->address, memory_order_relaxed) == 0) /* never usable */
        acui_growth_drop_block(pool, buffer->block);
    else if (known)
        acui_pool_put(pool, buffer->block);
    else
        acui_pool_put_stuck(pool, buffer->block);
    if (atomic_load_explicit(&buffer->device->memory.trims, memory_order_acquire))
        trim_idle(buffer->device);
}
