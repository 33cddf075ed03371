/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stream-ordered allocation: blocks, accounts, and the works that make bytes valid or invalid in
 * stream order. */
#include "driver/pool.h"

#include "driver/capture.h"
#include "driver/schedule.h"
#include "driver/trace.h"

#include <stdio.h>
#include <stdlib.h>

/* Pools take memory in steps, as real ones do. */
#define STEP ((uint64_t)32 << 20)

void *sd_pool_handle(const sd_pool *pool)
{
    return pool->object.handle;
}

/* ---- life ---- */

/* Frees a pool that has nothing left. With device->lock. */
static void dispose(sd_pool *pool)
{
    sd_pool **at = &pool->device->pools;
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
    pool->device->committed -= pool->reserved;
    free(pool);
}

/* The last reference is gone, so nobody allocates here any more; allocations may still exist. */
static void destroy(sd_object *object)
{
    sd_pool *pool = (sd_pool *)object;
    sd_device *device = pool->device;
    pthread_mutex_lock(&device->lock);
    pool->orphan = true;
    if (!pool->blocks)
        dispose(pool);
    pthread_mutex_unlock(&device->lock);
}

unsigned sd_pool_create(sd_device *device, sd_pool **made)
{
    sd_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    pool->device = device;
    pool->reuse[0] = pool->reuse[1] = pool->reuse[2] = 1;
    if (!sd_object_publish(&pool->object, SD_KIND_POOL, destroy)) {
        free(pool);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&device->lock);
    pool->next = device->pools;
    device->pools = pool;
    pthread_mutex_unlock(&device->lock);
    *made = pool;
    return ACU_CUDA_SUCCESS;
}

bool sd_pool_create_default(sd_device *device)
{
    if (sd_pool_create(device, &device->default_pool))
        return false;
    device->current_pool = device->default_pool;
    return true;
}

/* ---- accounts; with device->lock ---- */

void sd_pool_shrink(sd_pool *pool, uint64_t keep)
{
    if (keep < pool->busy)
        keep = pool->busy;
    if (pool->reserved <= keep)
        return;
    pool->device->committed -= pool->reserved - keep;
    pool->reserved = keep;
}

void sd_pools_shrink(sd_device *device)
{
    for (sd_pool *pool = device->pools; pool; pool = pool->next)
        sd_pool_shrink(pool, 0);
}

static bool grow(sd_pool *pool, uint64_t bytes)
{
    uint64_t wanted = pool->busy + bytes;
    if (pool->limit && wanted > pool->limit)
        return false;
    if (wanted <= pool->reserved)
        return true;
    uint64_t least = wanted - pool->reserved;
    uint64_t step = (wanted + STEP - 1) / STEP * STEP - pool->reserved;
    if (pool->device->committed + step > pool->device->memory) {
        step = least;
        /* The bytes count as busy meanwhile, so that this pool's own memory is not given back to
         * make room. */
        pool->busy += bytes;
        bool taken = sd_memory_commit(pool->device, least);
        pool->busy -= bytes;
        if (!taken)
            return false;
    } else {
        pool->device->committed += step;
    }
    pool->reserved += step;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    return true;
}

static void count_use(sd_pool *pool, uint64_t bytes)
{
    pool->used += bytes;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
}

static void unlink_pending(sd_pool *pool, sd_block *block)
{
    if (block->next_pending)
        block->next_pending->previous_pending = block->previous_pending;
    if (block->previous_pending)
        block->previous_pending->next_pending = block->next_pending;
    else
        pool->pending = block->next_pending;
    block->next_pending = block->previous_pending = NULL;
    pool->device->pending_bytes -= block->size;
}

void sd_pool_returned(sd_block *block)
{
    sd_pool *pool = block->pool;
    if (block->freed_on)
        unlink_pending(pool, block);
    else
        pool->used -= block->size;
    pool->busy -= block->size;
    pool->blocks--;
    block->pool = NULL;
    if (pool->orphan && !pool->blocks)
        dispose(pool);
}

/* What an allocation finds once all frees have run: nobody uses it, or pools keep it unused. */
static uint64_t room_of(const sd_device *device)
{
    uint64_t room = device->memory - device->committed;
    for (const sd_pool *pool = device->pools; pool; pool = pool->next)
        room += pool->reserved - pool->busy;
    return room;
}

bool sd_pools_wait(sd_device *device, uint64_t bytes)
{
    uint64_t room = room_of(device);
    if (!device->pending_bytes || room + device->pending_bytes < bytes)
        return false;
    if (sd_seeded()) {
        pthread_mutex_unlock(&device->lock);
        sd_schedule_pass();
        pthread_mutex_lock(&device->lock);
        return true;
    }
    pthread_cond_wait(&device->freed, &device->lock);
    return true;
}

void sd_pools_settle(sd_device *device)
{
    pthread_mutex_lock(&device->lock);
    for (sd_pool *pool = device->pools; pool; pool = pool->next)
        sd_pool_shrink(pool, pool->threshold);
    pthread_mutex_unlock(&device->lock);
}

/* ---- the works ---- */

typedef struct order_work {
    sd_work work;
    sd_device *device;
    uint64_t address, size;
    uint64_t token; /* which free this is */
    sd_pool *pool;  /* for an allocation: stays at least until its block is given back */
} order_work;

static unsigned run_alloc(sd_stream *stream, sd_work *work)
{
    (void)stream;
    order_work *order = (order_work *)work;
    pthread_mutex_lock(&order->device->lock);
    /* A later allocation may have the block already; its bytes become valid in their turn. */
    sd_memory_publish(order->device, order->address, order->size, order->pool);
    pthread_mutex_unlock(&order->device->lock);
    return ACU_CUDA_SUCCESS;
}

static unsigned run_free(sd_stream *stream, sd_work *work)
{
    (void)stream;
    order_work *order = (order_work *)work;
    sd_device *device = order->device;
    sd_stream *freed_on = NULL;
    pthread_mutex_lock(&device->lock);
    sd_memory_withdraw(device, order->address, order->size);
    sd_block *block = sd_heap_find(&device->heap, order->address);
    /* A later allocation may have taken the block over: then it is not ours to give back. */
    if (block && block->free_token == order->token) {
        freed_on = block->freed_on;
        sd_pool_returned(block);
        block->freed_on = NULL;
        block->free_token = 0;
        sd_heap_free(&device->heap, block);
    }
    pthread_cond_broadcast(&device->freed);
    pthread_mutex_unlock(&device->lock);
    if (freed_on)
        sd_object_put(&freed_on->object);
    return ACU_CUDA_SUCCESS;
}

static void tell_order(const sd_work *work, char *text, size_t bytes)
{
    const order_work *order = (const order_work *)work;
    snprintf(text, bytes, "%llu bytes at %s", (unsigned long long)order->size,
             sd_spot_of(order->address).text);
}

static const sd_work_kind alloc_kind = {
    .name = "allocation", .run = run_alloc, .tell = tell_order, .always = true};
static const sd_work_kind free_kind = {
    .name = "free", .run = run_free, .tell = tell_order, .always = true};

static order_work *make_work(const sd_work_kind *kind, sd_device *device)
{
    order_work *order = calloc(1, sizeof *order);
    if (order) {
        order->work.kind = kind;
        order->device = device;
    }
    return order;
}

/* ---- allocating; with device->lock ---- */

/* A pending block that fits and is at most half wasted: freed on this stream, or on any (NULL). */
static sd_block *find_pending(const sd_pool *pool, const sd_stream *stream, uint64_t bytes)
{
    for (sd_block *b = pool->pending; b; b = b->next_pending)
        if (sd_heap_fits(b, bytes) && b->size / 2 <= bytes &&
            (!stream || b->freed_on == stream))
            return b;
    return NULL;
}

/* Takes over a pending block. *after is the place of its free, with the reference. */
static void take_pending(sd_pool *pool, sd_block *block, uint64_t bytes, sd_mark *after)
{
    unlink_pending(pool, block);
    *after = (sd_mark){block->freed_on, block->freed_at};
    block->freed_on = NULL;
    block->free_token = 0;
    pool->busy -= block->size;
    pool->busy += bytes;
    block->size = bytes;
}

static sd_block *find_block(sd_pool *pool, sd_stream *stream, uint64_t bytes, sd_mark *after)
{
    sd_device *device = pool->device;
    do {
        sd_block *block = find_pending(pool, stream, bytes);
        if (!block && grow(pool, bytes)) {
            block = sd_heap_alloc(&device->heap, bytes);
            if (block) {
                pool->busy += bytes;
                pool->blocks++;
                return block;
            }
        }
        if (!block)
            block = find_pending(pool, NULL, bytes);
        if (block && grow(pool, bytes > block->size ? bytes - block->size : 0)) {
            take_pending(pool, block, bytes, after);
            return block;
        }
    } while (sd_pools_wait(device, bytes));
    return NULL;
}

static unsigned alloc_from(sd_pool *pool, sd_stream *stream, uint64_t bytes, CUdeviceptr *address)
{
    sd_device *device = pool->device;
    order_work *order = make_work(&alloc_kind, device);
    if (!order)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    sd_mark after = {0};
    pthread_mutex_lock(&device->lock);
    sd_block *block = find_block(pool, stream, bytes, &after);
    if (block) {
        block->pool = pool;
        block->context = stream->object.context;
        block->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
        order->address = block->address;
        order->size = bytes;
        order->pool = pool;
        count_use(pool, bytes);
    }
    pthread_mutex_unlock(&device->lock);
    if (!block) {
        free(order);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (after.stream == stream)
        sd_mark_drop(&after); /* the stream's own order suffices */
    order->work.after = after;
    *address = order->address;
    return sd_stream_push(stream, &order->work);
}

/* ---- freeing ---- */

/* Turns a live allocation into a pending one and fills in the work. With device->lock. */
static bool begin_free(sd_device *device, uint64_t address, sd_stream *stream, order_work *order)
{
    sd_block *block = sd_heap_find(&device->heap, address);
    if (!block || block->address != address || block->freed_on || !block->pool)
        return false;
    sd_pool *pool = block->pool;
    order->address = address;
    order->size = block->size;
    order->token = block->id;
    sd_object_hold(&stream->object);
    block->freed_on = stream;
    block->free_token = block->id;
    pool->used -= block->size;
    device->pending_bytes += block->size;
    block->previous_pending = NULL;
    block->next_pending = pool->pending;
    if (block->next_pending)
        block->next_pending->previous_pending = block;
    pool->pending = block;
    return true;
}

/* Undoes that: the free could not be issued. With device->lock. */
static void undo_free(sd_device *device, uint64_t address, sd_mark *held)
{
    sd_block *block = sd_heap_find(&device->heap, address);
    unlink_pending(block->pool, block);
    block->pool->used += block->size;
    *held = (sd_mark){block->freed_on, 0};
    block->freed_on = NULL;
    block->free_token = 0;
}

/* Issues the free. With device->lock, so that the block's state and the free's place change
 * together. */
static unsigned issue_free(sd_device *device, uint64_t address, sd_stream *stream, sd_mark *mark)
{
    order_work *order = make_work(&free_kind, device);
    if (!order)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    if (!begin_free(device, address, stream, order)) {
        free(order);
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    unsigned result = sd_stream_push_at(stream, &order->work, mark);
    if (result)
        undo_free(device, address, mark);
    else
        sd_heap_find(&device->heap, address)->freed_at = mark->at;
    return result;
}

unsigned sd_cuMemFreeAsync(CUdeviceptr address, CUstream on)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, on);
    SD_SAFE();
    if (!address)
        return ACU_CUDA_SUCCESS;
    sd_device *device = sd_device_of(address);
    if (!device)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_mark mark = {0};
    pthread_mutex_lock(&device->lock);
    unsigned result = issue_free(device, address, stream, &mark);
    pthread_mutex_unlock(&device->lock);
    sd_mark_drop(&mark);
    return result;
}

/* Allocates; takes over the pool's reference. */
static unsigned alloc_async(sd_pool *pool, sd_stream *stream, size_t bytes, CUdeviceptr *address)
{
    unsigned result = ACU_CUDA_ERROR_INVALID_VALUE;
    if (address && !bytes) {
        *address = 0;
        result = ACU_CUDA_SUCCESS;
    } else if (address) {
        result = alloc_from(pool, stream, bytes, address);
    }
    sd_object_put(&pool->object);
    return result;
}

unsigned sd_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream on)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, on);
    SD_SAFE();
    sd_device *device = stream->object.context->device;
    pthread_mutex_lock(&device->lock);
    sd_pool *pool = device->current_pool;
    sd_object_hold(&pool->object);
    pthread_mutex_unlock(&device->lock);
    return alloc_async(pool, stream, bytes, address);
}

unsigned sd_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool handle,
                                    CUstream on)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, on);
    SD_SAFE();
    sd_pool *pool = sd_object_get(SD_KIND_POOL, handle);
    return pool ? alloc_async(pool, stream, bytes, address) : ACU_CUDA_ERROR_INVALID_VALUE;
}
