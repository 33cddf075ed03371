/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Giving cached memory back. Blocks are taken out under the lock, and the driver is called without
 * it. */
#include "memory/pool.h"

/* What was taken out: blocks with allocations of their own, and whole slabs; linked by `next`. */
typedef struct taken {
    acui_block *blocks;
    acui_slab *slabs;
} taken;

/* What is to be taken. */
typedef struct wanted {
    size_t keep;        /* until at most so much is cached */
    acu_stream *stream; /* on which allocations of their own are freed; NULL: on none */
    bool all;           /* whether idle or not */
} wanted;

/* ---- taking out; pool->lock ---- */

static bool is_idle(acu_pool *pool, acui_block *block)
{
    return acui_fences_allow(&block->fences, pool->device, NULL);
}

/* Freeing comes behind everything on its stream: in particular behind the allocation, about whose
 * completion nobody may ever ask. */
static bool can_free(acu_pool *pool, acui_block *block, const wanted *w)
{
    return w->all || acui_fences_only(&block->fences, pool->device, w->stream);
}

static void take_block(acu_pool *pool, acui_block *block, taken *out)
{
    acui_pool_unlink(pool, block);
    block->next = out->blocks;
    out->blocks = block;
}

/* Deals with all blocks of the slab at once, which may be many, and anywhere in the bin. */
static void take_slab(acu_pool *pool, acui_slab *slab, bool all, taken *out)
{
    bool idle = slab->cached == slab->count && slab->looked_at != pool->trims;
    slab->looked_at = pool->trims;
    for (uint32_t i = 0; i < slab->count && idle; i++)
        idle = all || is_idle(pool, &slab->blocks[i]);
    if (!idle)
        return;
    for (uint32_t i = 0; i < slab->count; i++)
        acui_pool_unlink(pool, &slab->blocks[i]);
    pool->held -= slab->bytes;
    pool->trimmed += slab->bytes;
    slab->next = out->slabs;
    out->slabs = slab;
}

static void take_bin(acu_pool *pool, size_t bin, const wanted *w, taken *out)
{
    acui_block *next;
    for (acui_block *b = pool->bins[bin]; b && pool->cached > w->keep; b = next) {
        next = b->next;
        if (b->slab) {
            while (next && next->slab == b->slab) /* the slab may go */
                next = next->next;
            take_slab(pool, b->slab, w->all, out);
        } else if (can_free(pool, b, w)) {
            take_block(pool, b, out);
        }
    }
}

/* Large blocks first: they give back the most per call. */
static taken take_out(acu_pool *pool, wanted w)
{
    taken out = {NULL, NULL};
    acui_lock_take(&pool->lock);
    pool->trims++;
    for (size_t bin = ACUI_BINS; bin-- > 0 && pool->cached > w.keep;)
        take_bin(pool, bin, &w, &out);
    acui_lock_give(&pool->lock);
    return out;
}

/* ---- giving back ---- */

static acu_stream *stream_for(const acu_pool *pool, acu_stream *stream)
{
    return stream ? stream : pool->device->alloc;
}

/* What can be freed on the stream, as acui_source_free does it; NULL: that for allocations. */
static taken take_free(acu_pool *pool, size_t keep, acu_stream *stream)
{
    return take_out(pool, (wanted){.keep = keep,
                                   .stream = pool->raw ? stream_for(pool, stream) : NULL});
}

static size_t free_taken(acu_pool *pool, taken out, acu_stream *stream)
{
    stream = stream_for(pool, stream);
    size_t freed = 0;
    while (out.blocks) {
        acui_block *block = out.blocks;
        out.blocks = block->next;
        freed += block->bytes;
        acui_source_free(pool, block, stream);
    }
    return freed + acui_slabs_free(pool, out.slabs);
}

acui_slab *acui_pool_take_slabs(acu_pool *pool, size_t keep)
{
    return take_out(pool, (wanted){.keep = keep}).slabs;
}

void acui_pool_put_slabs(acu_pool *pool, acui_slab *slabs)
{
    acui_lock_take(&pool->lock);
    while (slabs) {
        acui_slab *slab = slabs;
        slabs = slab->next;
        pool->held += slab->bytes;
        pool->trimmed -= slab->bytes;
        for (uint32_t i = 0; i < slab->count; i++)
            acui_pool_link(pool, &slab->blocks[i]);
    }
    acui_lock_give(&pool->lock);
}

void acui_pool_give_begin(acu_pool *pool)
{
    if (!pool->slow)
        pthread_mutex_lock(&pool->device->memory.giving);
}

void acui_pool_give_end(acu_pool *pool, size_t freed)
{
    if (pool->slow)
        return;
    if (freed)
        atomic_fetch_add_explicit(&pool->device->memory.given, 1, memory_order_release);
    pthread_mutex_unlock(&pool->device->memory.giving);
}

static size_t shrink(acu_pool *pool, size_t keep, acu_stream *stream, bool down_to_the_system)
{
    acui_pool_look(pool);
    acui_pool_give_begin(pool);
    size_t freed = free_taken(pool, take_free(pool, keep, stream), stream);
    if (freed && down_to_the_system && pool->raw && !acui_device_lost(pool->device))
        pool->device->cu->MemPoolTrimTo(pool->raw, 0);
    acui_pool_give_end(pool, freed);
    return freed;
}

size_t acui_pool_shrink(acu_pool *pool, size_t keep, acu_stream *stream)
{
    return shrink(pool, keep, stream, false);
}

size_t acui_pool_trim(acu_pool *pool, size_t keep, acu_stream *stream)
{
    return shrink(pool, keep, stream, true);
}

void acui_pool_trim_excess(acu_pool *pool)
{
    acui_lock_take(&pool->lock);
    size_t keep = acui_pool_keeps(pool);
    bool excess = pool->cached > keep;
    acui_lock_give(&pool->lock);
    if (excess)
        acui_pool_trim(pool, keep, NULL);
}

size_t acui_pools_trim(acu_device *device, acu_stream *stream)
{
    size_t freed = 0;
    for (acu_pool *pool = NULL; (pool = acui_pool_next(device, pool));)
        if (pool->kind == ACU_MEMORY_DEVICE)
            freed += acui_pool_trim(pool, 0, stream);
    return freed;
}

size_t acui_pool_trim_after(acu_pool *pool, acu_stream *stream)
{
    if (!pool->raw)
        return 0;
    size_t freed = 0;
    acui_pool_give_begin(pool);
    taken out = take_out(pool, (wanted){.all = true});
    while (out.blocks) {
        acui_block *block = out.blocks;
        out.blocks = block->next;
        size_t bytes = block->bytes;
        if (acui_source_free_after(pool, block, stream) == ACU_OK) {
            freed += bytes;
            continue;
        }
        acui_lock_take(&pool->lock);
        acui_pool_link(pool, block);
        acui_lock_give(&pool->lock);
    }
    acui_pool_give_end(pool, freed);
    return freed;
}

/* ---- the end of a pool; nobody else has it ---- */

/* The heir counts its own passes through the bins, and none of them has looked at the slab. */
static void change_hands(acu_pool *heir, acui_block *block)
{
    heir->held += block->bytes;
    if (block->slab)
        block->slab->looked_at = 0;
}

/* Everything that is left, including slabs of which a part is stuck. */
static void give_all(acu_pool *pool, acui_block *stuck, acu_pool *heir)
{
    acui_lock_take(&heir->lock);
    for (size_t bin = 0; bin < ACUI_BINS; bin++)
        while (pool->bins[bin]) {
            acui_block *block = pool->bins[bin];
            acui_pool_unlink(pool, block);
            change_hands(heir, block);
            acui_pool_link(heir, block);
        }
    while (stuck) {
        acui_block *block = stuck;
        stuck = block->next;
        change_hands(heir, block);
        acui_pool_count_out(heir, block);
        block->next = heir->stuck;
        heir->stuck = block;
    }
    acui_pool_note_held(heir);
    acui_lock_give(&heir->lock);
}

void acui_pool_drain(acu_pool *pool, acu_pool *heir)
{
    /* If no work is in flight, stuck blocks are known to be free; otherwise they too go to the
     * heir. */
    acui_lock_take(&pool->lock);
    acui_block *stuck = pool->stuck;
    pool->stuck = NULL;
    while (stuck && !heir) {
        acui_block *block = stuck;
        stuck = block->next;
        acui_pool_link(pool, block);
    }
    acui_lock_give(&pool->lock);
    if (!heir || !pool->slow) /* otherwise freeing might wait for the device */
        free_taken(pool, heir ? take_free(pool, 0, NULL) : take_out(pool, (wanted){.all = true}),
                   NULL);
    if (heir)
        give_all(pool, stuck, heir);
}
