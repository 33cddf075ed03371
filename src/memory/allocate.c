/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of buffers: from pools, and back to them. */
#include "memory/allocate.h"

#include "base/error.h"
#include "base/rare.h"
#include "memory/pool.h"

/* ---- getting ---- */

acu_status acui_buffer_reserve(acu_buffer *buffer, acu_stream *stream)
{
    acu_pool *pool = acui_buffer_pool(buffer);
    return pool ? acui_pool_get(pool, buffer->bytes, stream, &buffer->block) : ACU_ERR_NO_MEMORY;
}

void acui_buffer_unreserve(acu_buffer *buffer)
{
    acui_pool_put(acui_buffer_pool(buffer), buffer->block);
    buffer->block = NULL;
}

void acui_buffer_commit(acu_buffer *buffer)
{
    if (buffer->block->host) /* of device memory others may ask already whether it has some */
        buffer->host = buffer->block->host;
    /* Release: who reads the address may use the rest of the buffer. */
    atomic_store_explicit(&buffer->address, buffer->block->address, memory_order_release);
}

acu_status acui_buffer_allocate(acu_buffer *buffer, acu_stream *stream)
{
    ACUI_TRY(acui_buffer_reserve(buffer, stream));
    acui_buffer_commit(buffer);
    return ACU_OK;
}

/* The allocation is work on the stream like any other: what uses the memory comes behind it. */
static acu_status enter_allocation(acu_buffer *buffer, acu_stream *stream)
{
    acui_point *point = acui_point_new();
    if (!point)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a buffer");
    acu_status st = acui_stream_mark(stream, ACUI_TELL_NOBODY, &point->number, NULL);
    if (st == ACU_OK) {
        acui_order_lock();
        point->stream = acu_stream_retain(stream);
        point->state = ACUI_POINT_ISSUED;
        point->allocation = true;
        /* It is empty: that fits without memory. */
        acui_accesses_enter(&buffer->accesses, buffer->bytes, point,
                            acui_extent_range(0, buffer->bytes), ACU_WRITE, NULL, NULL);
        acui_order_unlock();
    }
    acui_point_release(point);
    return st;
}

/* Not from the cache. What the stream for allocations is behind, whoever uses
 * the memory comes behind. */
ACUI_RARE static acu_status allocate_slowly(acu_buffer *buffer)
{
    acu_device *device = buffer->device;
    acu_stream *stream = buffer->kind == ACU_MEMORY_DEVICE ? device->alloc : NULL;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    if (stream)
        acui_lock_take(&stream->issue);
    acu_status st = acui_buffer_allocate(buffer, stream);
    if (st == ACU_ERR_DEVICE_MEMORY || st == ACU_ERR_NO_MEMORY)
        acui_pool_count_failed(acui_buffer_pool(buffer));
    if (st == ACU_OK && buffer->block->fences.count)
        st = enter_allocation(buffer, stream);
    if (stream) {
        acui_stream_make_owed(stream); /* if that could not be: the block goes to the cache */
        acui_lock_give(&stream->issue);
    }
    acui_leave(&entered);
    return st;
}

/* Whether the cache has some. */
static inline bool allocate_cached(acu_buffer *buffer, acu_pool *pool)
{
    buffer->block = acui_pool_take(pool, buffer->bytes, NULL);
    if (!buffer->block)
        buffer->block = acui_pool_take_complete(pool, buffer->bytes, NULL);
    if (!buffer->block)
        return false;
    acui_buffer_commit(buffer);
    return true;
}

acu_status acui_buffer_allocate_now(acu_buffer *buffer)
{
    acu_pool *pool = acui_buffer_pool(buffer);
    if (!pool)
        return ACU_ERR_NO_MEMORY;
    return allocate_cached(buffer, pool) ? ACU_OK : allocate_slowly(buffer);
}

acu_status acui_buffer_allocate_soon(acu_buffer *buffer)
{
    acu_pool *pool = acui_buffer_pool(buffer);
    if (!pool)
        return ACU_ERR_NO_MEMORY;
    return allocate_cached(buffer, pool) ? ACU_OK : acui_growth_begin(pool, buffer);
}

/* ---- giving back ---- */

/* What is in flight and uses the memory: the marks behind which it is free. False if that can not
 * be told. The accesses are nobody else's any more, but the points are: order lock. */
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

/* Nobody has looked whether the device is idle since; a program that releases its last buffer. */
ACUI_RARE static void trim_idle(acu_device *device)
{
    if (acui_in_flight(device) == 0)
        device->idle(device);
}

void acui_buffer_free_memory(acu_buffer *buffer)
{
    bool known = true;
    if (buffer->accesses.list) { /* else nothing ever used it */
        acui_order_lock();
        if (buffer->block)
            known = fence(buffer);
        acui_accesses_clear(&buffer->accesses);
        acui_order_unlock();
    }
    if (!buffer->block)
        return;
    acu_pool *pool = acui_buffer_pool(buffer);
    if (atomic_load_explicit(&buffer->address, memory_order_relaxed) == 0) /* nothing ever could */
        acui_growth_drop_block(pool, buffer->block);
    else if (known)
        acui_pool_put(pool, buffer->block);
    else
        acui_pool_put_stuck(pool, buffer->block);
    if (atomic_load_explicit(&buffer->device->trims, memory_order_acquire))
        trim_idle(buffer->device);
}
