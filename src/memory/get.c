/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Gets a block for a request: from the cache, else from the driver, and if that has none, by
 * whatever can be done without blocking anybody.
 */
#include "memory/pool.h"

#include "base/error.h"

#include <stdio.h>

/* ---- failing, in words ---- */

static void count(acu_pool *pool, uint64_t *what)
{
    acui_lock_take(&pool->lock);
    ++*what;
    acui_lock_give(&pool->lock);
}

/* A lack of page-locked host memory is not a lack of device memory. */
static acu_status say_how_much_pinned(acu_pool *pool, size_t bytes, acu_error *error)
{
    error->status = ACU_ERR_NO_MEMORY;
    snprintf(
        error->message, sizeof error->message,
        "asked for %zu bytes of page-locked host memory; its pool has %zu in use and %zu cached%s",
        bytes, pool->in_use, pool->cached,
        pool->held > pool->limit || acui_block_size(bytes) > pool->limit - pool->held
            ? ", and its limit is reached"
            : "");
    return acui_error_restore(error);
}

/* The driver's call and result code stay in the record. */
acu_status acui_pool_say_short(acu_pool *pool, size_t bytes)
{
    acu_error error = *acui_error();
    const acu_device *device = pool->device;
    char limit[64] = "", left_words[64] = "";
    size_t left = 0, total = 0;
    bool known = pool->kind != ACU_MEMORY_PINNED &&
                 acu_device_memory(pool->device, &left, &total) == ACU_OK;
    if (known)
        snprintf(left_words, sizeof left_words, "; of its %zu bytes %zu are free", total, left);
    acui_lock_take(&pool->lock);
    if (pool->kind == ACU_MEMORY_PINNED) {
        acu_status st = say_how_much_pinned(pool, bytes, &error);
        acui_lock_give(&pool->lock);
        return st;
    }
    if (pool->limit != SIZE_MAX)
        snprintf(limit, sizeof limit, ", of at most %zu", pool->limit);
    snprintf(error.message, sizeof error.message,
             "asked for %zu bytes on device %d (%s); its pool has %zu in use and %zu cached%s%s",
             bytes, device->info.ordinal, device->info.name, pool->in_use, pool->cached, limit,
             left_words);
    acui_lock_give(&pool->lock);
    return acui_error_restore(&error);
}

bool acui_pool_never(acu_pool *pool, size_t bytes)
{
    acui_lock_take(&pool->lock);
    bool never = acui_pool_block_size(pool, bytes) > pool->limit;
    acui_lock_give(&pool->lock);
    return never || (pool->kind != ACU_MEMORY_PINNED && bytes > pool->device->info.memory_bytes);
}

/* ---- knowing more ---- */

enum { STREAMS = 4 }; /* asked on behalf of one request */

static bool is_listed(acu_stream *const *streams, size_t n, const acu_stream *stream)
{
    for (size_t i = 0; i < n; i++)
        if (streams[i] == stream)
            return true;
    return false;
}

/* Collects streams, other than `own`, whose signals blocks of the bin wait for; the first `n` are
 * there already. Retained. */
static size_t streams_of(acu_pool *pool, size_t bin, const acu_stream *own, acu_stream **streams,
                         size_t n, size_t most)
{
    for (acui_block *b = pool->bins[bin]; b && n < most; b = b->next)
        for (uint32_t i = 0; i < b->fences.count && n < most; i++) {
            const acui_fence *fence = &acui_fences_list(&b->fences)[i];
            if (fence->stream == own || is_listed(streams, n, fence->stream) ||
                acui_stream_passed(fence->stream, fence->number))
                continue;
            streams[n] = acui_fence_stream(fence, pool->device);
            n += streams[n] != NULL;
        }
    return n;
}

static void harvest(acu_stream *const *streams, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        acui_stream_harvest(streams[i], NULL);
        acu_stream_release(streams[i]);
    }
}

acui_block *acui_pool_take_complete(acu_pool *pool, size_t bytes, acu_stream *stream)
{
    acu_stream *streams[STREAMS];
    acui_lock_take(&pool->lock);
    size_t bin = acui_block_bin(acui_pool_block_size(pool, bytes));
    size_t n = streams_of(pool, bin, stream, streams, 0, STREAMS);
    acui_lock_give(&pool->lock);
    harvest(streams, n);
    return n ? acui_pool_take(pool, bytes, stream) : NULL;
}

void acui_pool_look(acu_pool *pool)
{
    acu_stream *streams[ACUI_MAX_STREAMS]; /* with more, the rest is found idle another time */
    size_t n = 0;
    acui_lock_take(&pool->lock);
    for (size_t bin = 0; bin < ACUI_BINS && n < ACUI_MAX_STREAMS; bin++)
        n = streams_of(pool, bin, NULL, streams, n, ACUI_MAX_STREAMS);
    acui_lock_give(&pool->lock);
    harvest(streams, n);
}

/* ---- where there is none ---- */

/* Cached memory that other streams still use: this stream waits for them, on the device. */
static acui_block *take_behind(acu_pool *pool, size_t bytes, acu_stream *stream)
{
    acui_block *block = stream ? acui_pool_take_busy(pool, bytes) : NULL;
    if (!block)
        return NULL;
    if (acui_fences_wait(&block->fences, pool->device, stream) == ACU_OK) {
        count(pool, &pool->waits);
        return block;
    }
    acui_pool_put(pool, block);
    return NULL;
}

/* Let the driver's pool wait, on the device, for memory that other streams have yet to free. */
static void allow_waiting(acu_pool *pool, int allow)
{
    if (pool->raw)
        pool->device->cu->MemPoolSetAttribute(
            pool->raw, ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &allow);
}

static acu_status get_waiting(acu_pool *pool, size_t size, acu_stream *stream, acui_block **block)
{
    allow_waiting(pool, 1);
    acu_status st = acui_source_get(pool, size, stream, block);
    allow_waiting(pool, 0);
    return st;
}

/* Give back idle cached memory of other sizes: the pool's own, if its limit is reached; otherwise
 * that of all pools of the device, down to the system. */
static size_t make_room(acu_pool *pool, size_t size, acu_stream *stream)
{
    acui_lock_take(&pool->lock);
    bool limited = pool->held > pool->limit || size > pool->limit - pool->held;
    acui_lock_give(&pool->lock);
    if (limited || pool->kind != ACU_MEMORY_DEVICE)
        return acui_pool_shrink(pool, 0, stream);
    return acui_pools_trim(pool->device, stream);
}

/* The missing memory may be in the cache, in other sizes or in flight, or another thread may be
 * giving it back right now. `given` is the count from before the driver was asked. */
static acu_status get_short(acu_pool *pool, size_t bytes, acu_stream *stream, uint64_t given,
                            acui_block **block)
{
    size_t size = acui_pool_block_size(pool, bytes);
    count(pool, &pool->retries);
    for (;;) {
        bool room = make_room(pool, size, stream) > 0;
        uint64_t now = acui_pool_given(pool);
        if (!room && now == given)
            break;
        given = now;
        acu_status st = acui_source_get(pool, size, stream, block);
        if (st != ACU_ERR_DEVICE_MEMORY)
            return st;
    }
    *block = take_behind(pool, bytes, stream);
    if (*block)
        return ACU_OK;
    if (stream)
        acui_pool_trim_after(pool, stream);
    return get_waiting(pool, size, stream, block);
}

/* The driver is not asked for more than there is: it would take all of the device's memory before
 * it refuses, and until then (330 ms on an H200) other processes get none. */
static acu_status get_new(acu_pool *pool, size_t bytes, acu_stream *stream, acui_block **block)
{
    if (acui_pool_never(pool, bytes))
        return acui_fail(ACU_ERR_DEVICE_MEMORY, "it is more than there is");
    uint64_t given = acui_pool_given(pool);
    size_t size = acui_pool_block_size(pool, bytes);
    acu_status st = acui_source_get(pool, size, stream, block);
    return st == ACU_ERR_DEVICE_MEMORY ? get_short(pool, bytes, stream, given, block) : st;
}

acu_status acui_pool_get(acu_pool *pool, size_t bytes, acu_stream *stream, acui_block **block)
{
    ACUI_TRY(acui_device_check(pool->device));
    *block = acui_pool_take(pool, bytes, stream);
    if (!*block)
        *block = acui_pool_take_complete(pool, bytes, stream);
    if (*block)
        return ACU_OK;
    if (pool->slow) /* and so is this request anyway */
        acui_pool_trim_excess(pool);
    acu_status st = get_new(pool, bytes, stream, block);
    return st == ACU_ERR_DEVICE_MEMORY ? acui_pool_say_short(pool, bytes) : st;
}
