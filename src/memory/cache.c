/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Taking blocks from a pool's cache and putting them back: list work under a short lock. */
#include "memory/pool.h"

/* Blocks of one bin that are looked at. More than so many in flight are rare, and the driver is
 * asked instead. */
#define LOOK 256

/* ---- bins; pool->lock ---- */

void acui_pool_link(acu_pool *pool, acui_block *block)
{
    acui_block **bin = &pool->bins[acui_block_bin(block->bytes)];
    block->previous = NULL;
    block->next = *bin;
    if (*bin)
        (*bin)->previous = block;
    *bin = block;
    pool->cached += block->bytes;
    pool->blocks_cached++;
    if (block->slab)
        block->slab->cached++;
}

void acui_pool_unlink(acu_pool *pool, acui_block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        pool->bins[acui_block_bin(block->bytes)] = block->next;
    if (block->next)
        block->next->previous = block->previous;
    block->next = block->previous = NULL;
    pool->cached -= block->bytes;
    pool->blocks_cached--;
    if (block->slab)
        block->slab->cached--;
}

void acui_pool_count_out(acu_pool *pool, const acui_block *block)
{
    pool->in_use += block->bytes;
    pool->blocks_in_use++;
    if (pool->in_use > pool->in_use_high)
        pool->in_use_high = pool->in_use;
}

void acui_pool_count_in(acu_pool *pool, const acui_block *block)
{
    pool->in_use -= block->bytes;
    pool->blocks_in_use--;
}

/* The newest that is allowed: what was used last is likeliest to be in caches, and of the stream.
 * Of busy ones the oldest, which will be free first. */
static acui_block *find(acu_pool *pool, size_t bin, size_t size, acu_stream *stream, bool busy)
{
    acui_block *found = NULL;
    int looked = 0;
    for (acui_block *b = pool->bins[bin]; b && looked < LOOK && (busy || !found);
         b = b->next, looked++)
        if (acui_block_fits(b, size) && acui_fences_allow(&b->fences, pool->device, stream) != busy)
            found = b;
    return found;
}

static acui_block *find_any(acu_pool *pool, size_t size, acu_stream *stream, bool busy)
{
    size_t bin = acui_block_bin(size);
    acui_block *block = find(pool, bin, size, stream, busy);
    if (!block && size > ACUI_EXACT && bin + 1 < ACUI_BINS)
        block = find(pool, bin + 1, size, stream, busy);
    if (block) {
        acui_pool_unlink(pool, block);
        acui_pool_count_out(pool, block);
    }
    return block;
}

/* ---- taking and putting ---- */

acui_block *acui_pool_take(acu_pool *pool, size_t bytes, acu_stream *stream)
{
    size_t size = acui_block_size(bytes);
    pthread_mutex_lock(&pool->lock);
    acui_block *block = find_any(pool, size, stream, false);
    if (block)
        pool->hits++;
    pthread_mutex_unlock(&pool->lock);
    return block;
}

acui_block *acui_pool_take_busy(acu_pool *pool, size_t bytes)
{
    size_t size = acui_block_size(bytes);
    pthread_mutex_lock(&pool->lock);
    acui_block *block = find_any(pool, size, NULL, true);
    pthread_mutex_unlock(&pool->lock);
    return block;
}

void acui_pool_put(acu_pool *pool, acui_block *block)
{
    pthread_mutex_lock(&pool->lock);
    acui_pool_count_in(pool, block);
    acui_pool_link(pool, block);
    pthread_mutex_unlock(&pool->lock);
}

void acui_pool_put_stuck(acu_pool *pool, acui_block *block)
{
    pthread_mutex_lock(&pool->lock);
    block->next = pool->stuck;
    pool->stuck = block;
    pthread_mutex_unlock(&pool->lock);
}

void acui_pool_count_put_off(acu_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->put_off++;
    pthread_mutex_unlock(&pool->lock);
}
