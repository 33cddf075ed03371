/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pool's statistics and limits, and trimming by the program. */
#include "memory/pool.h"

#include "base/error.h"
#include "base/options.h"

#include <string.h>

/* Of cached memory: how much work in flight still uses, and the largest block. pool->lock. */
static void look_at_cache(acu_pool *pool, acu_pool_statistics *stats)
{
    for (size_t bin = 0; bin < ACUI_BINS; bin++)
        for (acui_block *b = pool->bins[bin]; b; b = b->next) {
            if (!acui_fences_allow(&b->fences, pool->device, NULL))
                stats->in_flight += b->bytes;
            if (b->bytes > stats->largest)
                stats->largest = b->bytes;
        }
    if (pool->cached)
        stats->fragmentation = 1.0 - (double)stats->largest / (double)pool->cached;
}

static acu_pool_statistics read_stats(acu_pool *pool)
{
    acui_lock_take(&pool->lock);
    acui_pool_note_high(pool);
    acu_pool_statistics stats = {.limit = pool->limit,
                                 .keep = pool->keep,
                                 .in_use = pool->in_use,
                                 .cached = pool->cached,
                                 .held = acui_pool_holds(pool),
                                 .in_use_high = pool->in_use_high,
                                 .held_high = pool->held_high,
                                 .blocks_in_use = pool->blocks_in_use,
                                 .blocks_cached = pool->blocks_cached,
                                 .hits = pool->hits,
                                 .misses = pool->misses,
                                 .waits = pool->waits,
                                 .retries = pool->retries,
                                 .put_off = pool->put_off,
                                 .failures = pool->failures,
                                 .trimmed = pool->trimmed,
                                 .bound = acui_pool_bound(pool)};
    look_at_cache(pool, &stats);
    acui_lock_give(&pool->lock);
    return stats;
}

static size_t attribute(acu_pool *pool, unsigned which)
{
    uint64_t value = 0;
    if (pool->device->cu->MemPoolGetAttribute(pool->raw, which, &value) != ACU_CUDA_SUCCESS)
        return 0;
    return (size_t)value;
}

acu_status acu_pool_stats(acu_pool *pool, acu_pool_statistics *stats)
{
    ACUI_CHECK(pool, POOL);
    if (!stats || stats->size < sizeof stats->size) /* before anything is looked at */
        return acui_struct_write(stats, NULL, 0, __func__);
    acui_pool_look(pool);
    acu_pool_statistics s = read_stats(pool);
    acui_entered entered;
    if (pool->raw && acui_enter_to_free(pool->device, &entered)) {
        s.reserved = attribute(pool, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        s.reserved_high = attribute(pool, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
        acui_leave(&entered);
    }
    return acui_struct_write(stats, &s, sizeof s, __func__);
}

acu_status acu_pool_reset_high(acu_pool *pool)
{
    ACUI_CHECK(pool, POOL);
    acui_lock_take(&pool->lock);
    pool->before = pool->lately > pool->before ? pool->lately : pool->before;
    pool->in_use_high = pool->lately = pool->in_use;
    pool->held_high = acui_pool_holds(pool);
    acui_lock_give(&pool->lock);
    acui_entered entered;
    if (pool->raw && acui_enter_to_free(pool->device, &entered)) {
        uint64_t now = 0;
        pool->device->cu->MemPoolSetAttribute(pool->raw, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                              &now);
        acui_leave(&entered);
    }
    return ACU_OK;
}

acu_status acu_pool_set_limits(acu_pool *pool, size_t limit, size_t keep)
{
    ACUI_CHECK(pool, POOL);
    acui_lock_take(&pool->lock);
    pool->limit = limit ? limit : SIZE_MAX;
    acui_pool_set_keep(pool, keep);
    acui_lock_give(&pool->lock);
    acui_pool_note_keep(pool);
    return ACU_OK;
}

acu_status acu_pool_trim(acu_pool *pool, size_t keep, size_t *freed)
{
    ACUI_CHECK(pool, POOL);
    acui_entered entered;
    ACUI_TRY(acui_enter(pool->device, &entered));
    size_t bytes = acui_pool_trim(pool, keep, NULL);
    if (pool->raw && bytes == 0) /* what was freed earlier, in stream order */
        pool->device->cu->MemPoolTrimTo(pool->raw, keep);
    acui_leave(&entered);
    if (freed)
        *freed = bytes;
    return ACU_OK;
}
