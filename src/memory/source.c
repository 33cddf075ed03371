/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where blocks come from and go to: the driver. */
#include "memory/pool.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/trace.h"

/* ---- what graphs are to know ---- */

static _Atomic(uint64_t) returned;

void acui_memory_returns(void)
{
    /* Release and acquire: a thread that gets the same address afterwards sees another count. */
    atomic_fetch_add_explicit(&returned, 1, memory_order_acq_rel);
}

uint64_t acui_memory_returned(void)
{
    return atomic_load_explicit(&returned, memory_order_acquire);
}

/* ---- what the pool holds ---- */

bool acui_source_reserve(acu_pool *pool, size_t size)
{
    acui_lock_take(&pool->lock);
    bool room = pool->held <= pool->limit && size <= pool->limit - pool->held;
    if (room)
        pool->held += size;
    acui_lock_give(&pool->lock);
    return room;
}

void acui_source_unreserve(acu_pool *pool, size_t size)
{
    acui_lock_take(&pool->lock);
    pool->held -= size;
    acui_lock_give(&pool->lock);
}

void acui_source_count_new(acu_pool *pool, const acui_block *block)
{
    acui_lock_take(&pool->lock);
    pool->misses++;
    acui_pool_count_out(pool, block);
    acui_pool_note_held(pool);
    bool exceeds = acui_pool_exceeds(pool);
    acui_lock_give(&pool->lock);
    if (exceeds)
        acui_pool_trim_soon(pool);
}

/* It is no longer held. */
static void count_freed(acu_pool *pool, size_t size)
{
    acui_lock_take(&pool->lock);
    pool->held -= size;
    pool->trimmed += size;
    acui_lock_give(&pool->lock);
}

/* ---- device memory ---- */

static acu_status device_get(acu_pool *pool, acui_block *block, acu_stream *stream)
{
    acu_device *device = pool->device;
    if (!pool->raw)
        return ACUI_DEV(device, MemAlloc, &block->address, block->bytes);
    ACUI_TRY(ACUI_DEV(device, MemAllocFromPoolAsync, &block->address, block->bytes, pool->raw,
                      stream->raw));
    /* The memory exists for work that comes behind this on the stream; other work has to come
     * behind the next signal. */
    acui_fences_add(&block->fences, device, stream, acui_stream_owe(stream)); /* the first fence
                                                                               * needs no memory */
    return ACU_OK;
}

/* More managed memory than is free would migrate back and forth. */
static acu_status managed_get(acu_pool *pool, acui_block *block)
{
    size_t left = 0, total = 0;
    ACUI_TRY(acu_device_memory(pool->device, &left, &total));
    if (block->bytes > left)
        return acui_fail(ACU_ERR_DEVICE_MEMORY, "it is more than the device has free");
    return ACUI_DEV(pool->device, MemAllocManaged, &block->address, block->bytes,
                    ACU_CU_MEM_ATTACH_GLOBAL);
}

/* ---- either ---- */

static acu_status new_block(acu_pool *pool, size_t size, acu_stream *stream, acui_block **block)
{
    if (pool->kind == ACU_MEMORY_PINNED)
        return acui_slab_get(pool, size, block);
    if (!acui_source_reserve(pool, size))
        return acui_fail(ACU_ERR_DEVICE_MEMORY, "the pool's limit is reached");
    acui_block *b = ACUI_NEW(acui_block);
    acu_status st = ACU_ERR_NO_MEMORY;
    if (b) {
        b->bytes = size;
        b->bin = acui_block_bin(size);
        if (pool->kind == ACU_MEMORY_DEVICE)
            st = device_get(pool, b, stream);
        else
            st = managed_get(pool, b);
    } else {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a block");
    }
    if (st == ACU_OK) {
        *block = b;
        return ACU_OK;
    }
    acui_free(b);
    acui_source_unreserve(pool, size);
    return st;
}

acu_status acui_source_get(acu_pool *pool, size_t size, acu_stream *stream, acui_block **block)
{
    static const char *const kinds[] = {[ACU_MEMORY_DEVICE] = "device",
                                        [ACU_MEMORY_PINNED] = "page-locked",
                                        [ACU_MEMORY_MANAGED] = "managed"};
    uint64_t from = acui_trace_from();
    acu_status st = new_block(pool, size, stream, block);
    acui_trace_slice(from, "get", "%s memory, %zu bytes", kinds[pool->kind], size);
    if (st == ACU_OK)
        acui_source_count_new(pool, *block);
    return st;
}

void acui_source_free(acu_pool *pool, acui_block *block, acu_stream *stream)
{
    const acu_device *device = pool->device;
    acui_memory_returns();
    if (!acui_device_lost(device)) {
        if (pool->raw) /* cuMemFree would work too, but may wait */
            device->cu->MemFreeAsync(block->address, stream->raw);
        else
            device->cu->MemFree(block->address);
    }
    count_freed(pool, block->bytes);
    acui_fences_clear(&block->fences, device);
    acui_free(block);
}

acu_status acui_source_free_after(acu_pool *pool, acui_block *block, acu_stream *stream)
{
    acu_device *device = pool->device;
    ACUI_TRY(acui_fences_wait(&block->fences, device, stream));
    acui_memory_returns();
    ACUI_TRY(ACUI_DEV(device, MemFreeAsync, block->address, stream->raw));
    count_freed(pool, block->bytes);
    acui_fences_clear(&block->fences, device);
    acui_free(block);
    return ACU_OK;
}

void acui_source_leaked(acu_pool *pool, acui_block *block)
{
    acui_lock_take(&pool->lock);
    pool->in_use -= block->bytes;
    pool->blocks_in_use--;
    pool->held -= block->bytes;
    acui_lock_give(&pool->lock);
    acui_fences_clear(&block->fences, pool->device);
    acui_free(block);
}
