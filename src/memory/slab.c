/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small blocks of page-locked memory, which the driver gives by pages and slowly: many of one size
 * are cut from one allocation. A slab goes when all of its blocks are free. */
#include "memory/pool.h"

#include "base/alloc.h"
#include "base/error.h"
#include "memory/memory.h"

#define LARGEST ((size_t)64 << 10) /* block of a slab */
#define BYTES ((size_t)512 << 10)  /* of a slab, */
#define MOST 128                   /* or so many blocks */

bool acui_slab_is_for(const acu_pool *pool, size_t size)
{
    return pool->kind == ACU_MEMORY_PINNED && size <= LARGEST;
}

/* The first block is the caller's, the others are free. */
static acui_block *cut(acu_pool *pool, acui_slab *slab, size_t size)
{
    pthread_mutex_lock(&pool->lock);
    for (uint32_t i = slab->count; i-- > 0;) {
        acui_block *b = &slab->blocks[i];
        *b = (acui_block){.bytes = size,
                          .slab = slab,
                          .host = (char *)slab->host + i * size,
                          .address = slab->address + i * size};
        if (i > 0)
            acui_pool_link(pool, b);
    }
    pthread_mutex_unlock(&pool->lock);
    return &slab->blocks[0];
}

static acu_status new_slab(acu_pool *pool, size_t size, uint32_t count, acui_slab **slab)
{
    acui_slab *s = acui_alloc(sizeof *s + count * sizeof(acui_block));
    if (!s)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a list of blocks");
    s->count = count;
    s->bytes = count * size;
    acu_status st = acui_pinned_get(pool, s->bytes, &s->host, &s->address);
    if (st == ACU_OK)
        *slab = s;
    else
        acui_free(s);
    return st;
}

acu_status acui_slab_get(acu_pool *pool, size_t size, acui_block **block)
{
    uint32_t count = (uint32_t)(BYTES / size < MOST ? BYTES / size : MOST);
    /* Near the limit: as many as fit. */
    while (!acui_source_reserve(pool, count * size))
        if ((count /= 2) == 0)
            return acui_fail(ACU_ERR_DEVICE_MEMORY, "the pool's limit is reached");
    acui_slab *slab = NULL;
    acu_status st = new_slab(pool, size, count, &slab);
    if (st == ACU_OK)
        *block = cut(pool, slab, size);
    else
        acui_source_unreserve(pool, count * size);
    return st;
}

void acui_slab_free(acu_pool *pool, acui_slab *slab)
{
    acui_memory_returns();
    if (!acui_device_lost(pool->device))
        pool->device->cu->MemFreeHost(slab->host);
    for (uint32_t i = 0; i < slab->count; i++)
        acui_fences_clear(&slab->blocks[i].fences, pool->device);
    acui_source_freed(pool, slab->bytes);
    acui_free(slab);
}
