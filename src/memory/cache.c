/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Taking blocks from a pool's cache and putting them back: list operations under a short lock. */
#include "memory/pool.h"

/* Blocks of a bin that are looked at. It is rare that more are in flight, and then the driver is
 * asked instead. */
#define LOOK 256

/* ---- bins; pool->lock ---- */

void acui_pool_link(acu_pool *pool, acui_block *block)
{
    acui_block **bin = &pool->bins[block->bin], *newest = *bin;
    block->previous = newest ? newest->previous : block;
    block->next = newest;
    if (newest)
        newest->previous = block;
    *bin = block;
    block->put_at = pool->hits + pool->misses;
    pool->cached += block->bytes;
    pool->blocks_cached++;
    if (block->slab)
        block->slab->cached++;
}

void acui_pool_unlink(acu_pool *pool, acui_block *block)
{
    acui_block **bin = &pool->bins[block->bin], *next = block->next;
    if (*bin == block)
        *bin = next;
    else
        block->previous->next = next;
    if (*bin) /* the newest block's `previous` is the oldest */
        (next ? next : *bin)->previous = block->previous;
    pool->cached -= block->bytes;
    pool->blocks_cached--;
    if (block->slab)
        block->slab->cached--;
}

void acui_pool_count_out(acu_pool *pool, const acui_block *block)
{
    pool->in_use += block->bytes;
    pool->blocks_in_use++;
    if (pool->in_use > pool->lately)
        pool->lately = pool->in_use;
}

void acui_pool_count_in(acu_pool *pool, const acui_block *block)
{
    pool->in_use -= block->bytes;
    pool->blocks_in_use--;
}

static bool fits(const acu_pool *pool, const acui_block *block, size_t size)
{
    return acui_block_fits(block->bytes, size) &&
           (block->bytes == size || !acui_pool_is_exact(pool));
}

static bool suits(acu_pool *pool, acui_block *block, size_t size, acu_stream *stream)
{
    return fits(pool, block, size) &&
           acui_fences_allow(&block->fences, pool->device, stream);
}

/* The newest block that may be used: what was used last is most likely to be in caches, and from
 * the same stream. Of busy blocks the oldest, which will be free first. */
static acui_block *find(acu_pool *pool, size_t bin, size_t size, acu_stream *stream, bool busy)
{
    acui_block *found = NULL;
    int looked = 0;
    for (acui_block *b = pool->bins[bin]; b && looked < LOOK && (busy || !found);
         b = b->next, looked++)
        if (fits(pool, b, size) &&
            acui_fences_allow(&b->fences, pool->device, stream) != busy)
            found = b;
    return found;
}

static acui_block *find_any(acu_pool *pool, size_t size, acu_stream *stream, bool busy)
{
    size_t bin = acui_block_bin(size);
    acui_block *block = find(pool, bin, size, stream, busy);
    if (!block && size > ACUI_EXACT && bin + 1 < ACUI_BINS)
        block = find(pool, bin + 1, size, stream, busy);
    return block;
}

/* ---- taking and putting ---- */

static void take_out(acu_pool *pool, acui_block *block)
{
    acui_pool_unlink(pool, block);
    acui_pool_count_out(pool, block);
}

acui_block *acui_pool_take(acu_pool *pool, size_t bytes, acu_stream *stream)
{
    size_t size = acui_pool_block_size(pool, bytes);
    acui_lock_take(&pool->lock);
    acui_block *block = pool->bins[acui_block_bin(size)];
    if (!block || !suits(pool, block, size, stream)) /* usually the first one suits */
        block = find_any(pool, size, stream, false);
    if (block) {
        take_out(pool, block);
        pool->hits++;
    }
    acui_lock_give(&pool->lock);
    return block;
}

acui_block *acui_pool_take_busy(acu_pool *pool, size_t bytes)
{
    size_t size = acui_pool_block_size(pool, bytes);
    acui_lock_take(&pool->lock);
    acui_block *block = find_any(pool, size, NULL, true);
    if (block)
        take_out(pool, block);
    acui_lock_give(&pool->lock);
    return block;
}

void acui_pool_put(acu_pool *pool, acui_block *block)
{
    acui_lock_take(&pool->lock);
    acui_pool_count_in(pool, block);
    acui_pool_link(pool, block);
    acui_lock_give(&pool->lock);
}

void acui_pool_put_stuck(acu_pool *pool, acui_block *block)
{
    acui_lock_take(&pool->lock);
    block->next = pool->stuck;
    pool->stuck = block;
    acui_lock_give(&pool->lock);
}

void acui_pool_count_put_off(acu_pool *pool)
{
    acui_lock_take(&pool->lock);
    pool->put_off++;
    acui_lock_give(&pool->lock);
}

void acui_pool_count_failed(acu_pool *pool)
{
    if (!pool) /* there was no memory for the pool itself */
        return;
    acui_lock_take(&pool->lock);
    pool->failures++;
    acui_lock_give(&pool->lock);
}
