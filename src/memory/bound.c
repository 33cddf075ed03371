/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The most that a pool holds while its device works, so that a program with ever new sizes does not
 * collect a block of each. Only a request that had to ask the driver can make the pool exceed the
 * bound: it has a thread of the loader give back what was not used for longest. Requests that the
 * cache serves never check.
 */
#include "memory/pool.h"

#define SPARE ((size_t)256 << 20)
#define WINDOW 4096 /* in requests */
#define BATCH 4     /* blocks that are looked for under one holding of the lock, in all bins */

size_t acui_pool_bound(const acu_pool *pool)
{
    size_t most = pool->lately > pool->before ? pool->lately : pool->before;
    return pool->bounded && most < SIZE_MAX / 4 ? 2 * most + SPARE : SIZE_MAX;
}

/* A peak counts for at least one window and at most two, and for as long as the cache serves
 * everything. */
static void next_window(acu_pool *pool)
{
    uint64_t now = pool->hits + pool->misses;
    if (now - pool->window < WINDOW)
        return;
    pool->window = now;
    acui_pool_note_high(pool);
    pool->before = pool->lately;
    pool->lately = pool->in_use;
}

void acui_pool_note_high(acu_pool *pool)
{
    if (pool->lately > pool->in_use_high)
        pool->in_use_high = pool->lately;
}

/* ---- giving back, on a thread of the loader's ---- */

/* The block that was put back before all others, among those that can be freed on the stream for
 * allocations, whose issue lock is held. Of each bin only the oldest is looked at. */
static acui_block *oldest(acu_pool *pool)
{
    acui_block *found = NULL;
    for (size_t bin = 0; bin < ACUI_BINS; bin++) {
        acui_block *block = pool->bins[bin] ? pool->bins[bin]->previous : NULL;
        if (block && (!found || block->put_at < found->put_at) &&
            acui_fences_allow(&block->fences, pool->device, pool->device->alloc))
            found = block;
    }
    return found;
}

/* The goal is somewhat below the bound, so that not every request that asks the driver gets
 * here. */
static acui_block *take_oldest(acu_pool *pool)
{
    acui_block *list = NULL, *block;
    acui_lock_take(&pool->lock);
    size_t goal = acui_pool_bound(pool) / 8 * 7, left = pool->held;
    for (int i = 0; i < BATCH && left > goal && (block = oldest(pool)); i++) {
        acui_pool_unlink(pool, block);
        left -= block->bytes;
        block->next = list;
        list = block;
    }
    pool->trimming = list != NULL;
    acui_lock_give(&pool->lock);
    return list;
}

static bool free_some(acu_pool *pool, acu_stream *stream)
{
    size_t freed = 0;
    acui_lock_take(&stream->issue);
    acui_pool_give_begin(pool);
    acui_block *list = take_oldest(pool);
    while (list) {
        acui_block *block = list;
        list = block->next;
        freed += block->bytes;
        acui_source_free(pool, block, stream);
    }
    acui_pool_give_end(pool, freed);
    acui_lock_give(&stream->issue);
    return freed > 0;
}

static void run(acui_job *job)
{
    acu_pool *pool = (acu_pool *)((char *)job - offsetof(acu_pool, trim));
    acu_device *device = job->device;
    acui_entered entered;
    if (acui_enter_to_free(device, &entered)) /* the memory of a lost device is gone with it */
        acui_stream_harvest(device->alloc, NULL);
    while (free_some(pool, device->alloc)) {
    }
    acui_leave(&entered);
    acu_pool_release(pool);
    acu_device_release(device);
}

bool acui_pool_exceeds(acu_pool *pool)
{
    next_window(pool);
    if (pool->trimming || pool->held <= acui_pool_bound(pool))
        return false;
    pool->trimming = true;
    return true;
}

void acui_pool_trim_soon(acu_pool *pool)
{
    acu_pool_retain(pool);
    pool->trim = (acui_job){.device = acu_device_retain(pool->device), .run = run};
    if (acui_loader_give(&pool->trim) == ACU_OK)
        return;
    acui_lock_take(&pool->lock);
    pool->trimming = false;
    acui_lock_give(&pool->lock);
    acu_device_release(pool->device);
    acu_pool_release(pool);
}
