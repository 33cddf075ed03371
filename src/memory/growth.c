/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Page-locked memory for submissions. Address space is taken at once, which costs a system call.
 * The rest is left to a thread of the loader, as it takes milliseconds for many MiB; so is giving
 * back the memory that makes room for it, as that may wait for the device.
 *
 * Meanwhile more buffers may get blocks of the slab. The growth's point is in each buffer's list of
 * accesses, and stays there if the growth fails, so no work ever uses such memory.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "memory/pool.h"

typedef struct acui_growth {
    acui_job job;   /* must be the first member */
    acu_pool *pool; /* retained */
    struct acui_growth *next; /* in pool->growing; this and the rest: pool->lock */
    acui_slab *slab;
    acui_point *point;
    acui_slab *excess; /* slabs to give back, */
    bool before;       /* ... before there is room, rather than afterwards */
    uint32_t used;     /* blocks that were handed out, */
    acu_buffer *buffers[]; /* ... to these; retained */
} acui_growth;

/* ---- who gets the memory ---- */

/* pool->lock. */
static void give(acui_growth *g, acu_buffer *buffer)
{
    acui_block *block = &g->slab->blocks[g->used];
    buffer->block = block;
    buffer->host = (char *)g->slab->host + g->used * block->bytes;
    g->buffers[g->used++] = acu_buffer_retain(buffer);
}

/* Nothing else has touched the buffer before. */
static void enter(acu_buffer *buffer, acui_point *point)
{
    acui_order_lock(point->home);
    /* The list is empty, so this needs no memory. */
    acui_accesses_enter(&buffer->accesses, buffer->bytes, point,
                        acui_extent_range(0, buffer->bytes), ACU_WRITE, NULL, NULL);
    acui_order_unlock(point->home);
}

/* Hands out a block of a slab that is already growing. */
static bool join(acu_pool *pool, acu_buffer *buffer)
{
    size_t size = acui_block_size(buffer->bytes);
    acui_point *point = NULL;
    acui_lock_take(&pool->lock);
    acui_growth *g = pool->growing;
    while (g && (g->used == g->slab->count || g->slab->blocks[0].bytes != size))
        g = g->next;
    if (g) {
        give(g, buffer);
        acui_pool_count_out(pool, buffer->block);
        pool->hits++;
        point = acui_point_retain(g->point);
    }
    acui_lock_give(&pool->lock);
    if (point)
        enter(buffer, point);
    acui_point_release(point);
    return point != NULL;
}

/* ---- the end, on a thread of the loader's ---- */

static void growth_free(acui_growth *g)
{
    acu_device *device = g->job.device;
    acui_point_release(g->point);
    acu_pool_release(g->pool);
    acui_free(g);
    acu_device_release(device);
}

static void free_excess(acui_growth *g)
{
    acui_entered entered;
    acui_enter_to_free(g->job.device, &entered);
    acui_slabs_free(g->pool, g->excess);
    acui_leave(&entered);
    g->excess = NULL;
}

/* From here on the slab is like any other, or dead, and nobody joins it any more. Those that wait
 * go on waiting until `tell`, because the addresses or the failure are yet to come. */
static void settle(acui_growth *g, bool works)
{
    acu_pool *pool = g->pool;
    acui_slab *slab = g->slab;
    acui_lock_take(&pool->lock);
    acui_growth **link = &pool->growing;
    while (*link != g)
        link = &(*link)->next;
    *link = g->next;
    if (works) {
        acui_slab_cut(pool, slab, g->used);
        acui_pool_note_held(pool);
    } else {
        pool->held -= slab->bytes;
        slab->dead = true;
        slab->count = g->used;
    }
    acui_lock_give(&pool->lock);
}

/* The outcome is known. */
static void tell(acui_growth *g)
{
    acui_lock_take(&g->pool->lock);
    g->slab->growth = NULL;
    acui_lock_give(&g->pool->lock);
}

static acu_status fail_short(acu_pool *pool, size_t bytes)
{
    acui_pool_count_failed(pool);
    return acui_pool_say_short(pool, bytes);
}

/* A failure is the one in the thread's record. */
static void end(acui_growth *g, acu_status status)
{
    acui_fault *fault = NULL;
    if (status == ACU_ERR_DEVICE_MEMORY)
        status = fail_short(g->pool, g->buffers[0]->bytes);
    if (status != ACU_OK)
        fault = acui_fault_new(acui_error());
    settle(g, status == ACU_OK);
    for (uint32_t i = 0; i < g->used && status == ACU_OK; i++)
        /* Release: a thread that reads the address may use the memory. */
        atomic_store_explicit(&g->buffers[i]->address, g->buffers[i]->block->address,
                              memory_order_release);
    acui_order_lock(g->point->home);
    g->point->fault = fault;
    acui_order_unlock(g->point->home);
    tell(g);
    acui_load_over(g->point);
    for (uint32_t i = 0; i < g->used; i++)
        acu_buffer_release(g->buffers[i]);
}

static void run(acui_job *job)
{
    acui_growth *g = (acui_growth *)job; /* its first member */
    if (g->before)
        free_excess(g);
    acui_entered entered;
    acu_status status = acui_enter(job->device, &entered);
    if (status == ACU_OK) {
        status = acui_slab_register(g->pool, g->slab);
        acui_leave(&entered);
    }
    end(g, status);
    free_excess(g);
    growth_free(g);
}

/* ---- the beginning ---- */

/* Returns for how many blocks of the size the pool has room, at least one, and counts them as held;
 * 0: for none. Takes out the slabs that must go for that, or that are too much anyway. */
static uint32_t reserve(acui_growth *g, size_t size)
{
    acu_pool *pool = g->pool;
    uint32_t count = acui_slab_count(size);
    acui_lock_take(&pool->lock);
    size_t keep = acui_pool_keeps(pool);
    acui_lock_give(&pool->lock);
    acui_slab *excess = acui_pool_take_slabs(pool, keep);
    bool room = acui_source_reserve(pool, count * size);
    if (!room) {
        acui_lock_take(&pool->lock);
        pool->retries++;
        acui_lock_give(&pool->lock);
        acui_pool_put_slabs(pool, excess);
        excess = acui_pool_take_slabs(pool, 0);
        g->before = true;
        room = acui_source_reserve(pool, count * size);
    }
    while (!room && (count /= 2) > 0)
        room = acui_source_reserve(pool, count * size);
    if (room)
        g->excess = excess;
    else
        acui_pool_put_slabs(pool, excess);
    return count;
}

static acu_status make_slab(acui_growth *g, size_t size)
{
    uint32_t count = reserve(g, size);
    if (count == 0)
        return acui_fail(ACU_ERR_DEVICE_MEMORY, "the pool's limit is reached");
    g->slab = acui_slab_new(size, count);
    acu_status st = g->slab ? acui_slab_map(g->slab) : ACU_ERR_NO_MEMORY;
    if (st == ACU_OK) {
        g->slab->growth = g;
        return ACU_OK;
    }
    acui_free(g->slab);
    acui_source_unreserve(g->pool, count * size);
    acui_pool_put_slabs(g->pool, g->excess);
    return st;
}

static acu_status growth_new(acu_pool *pool, size_t size, acui_growth **growth)
{
    acui_growth *g = acui_alloc(sizeof *g + acui_slab_count(size) * sizeof(acu_buffer *));
    if (!g)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a list of buffers");
    g->job = (acui_job){.device = acu_device_retain(pool->device), .run = run};
    g->pool = acu_pool_retain(pool);
    g->point = acui_point_new(pool->device);
    acu_status st = g->point ? make_slab(g, size)
                             : acui_fail(ACU_ERR_NO_MEMORY, "no memory for a list of buffers");
    if (st != ACU_OK) {
        growth_free(g);
        return st;
    }
    g->point->load = g->point->growth = true;
    *growth = g;
    return ACU_OK;
}

acu_status acui_growth_begin(acu_pool *pool, acu_buffer *buffer)
{
    ACUI_TRY(acui_device_check(pool->device));
    if (join(pool, buffer))
        return ACU_OK;
    acui_growth *g = NULL;
    acu_status st = growth_new(pool, acui_block_size(buffer->bytes), &g);
    if (st != ACU_OK)
        return st == ACU_ERR_DEVICE_MEMORY ? fail_short(pool, buffer->bytes) : st;
    acui_lock_take(&pool->lock);
    give(g, buffer);
    g->next = pool->growing;
    pool->growing = g;
    acui_lock_give(&pool->lock);
    acui_source_count_new(pool, buffer->block);
    enter(buffer, g->point);
    st = acui_loader_give(&g->job); /* the loader owns the job from here on */
    if (st == ACU_OK)
        return ACU_OK;
    acu_error record = *acui_error();
    acui_pool_put_slabs(pool, g->excess);
    end(g, st);
    growth_free(g);
    return acui_error_restore(&record);
}

/* ---- after it ---- */

static bool is_over(void *context)
{
    acu_buffer *buffer = context;
    acu_pool *pool = acui_buffer_pool(buffer);
    acui_lock_take(&pool->lock);
    bool over = buffer->block->slab->growth == NULL;
    acui_lock_give(&pool->lock);
    return over;
}

static acu_status failure_of(const acu_buffer *buffer)
{
    acu_status st = acui_fail(ACU_ERR_NO_MEMORY, "out of host memory, also for saying more");
    acui_homes homes = acui_accesses_lock(&buffer->accesses);
    for (size_t i = 0; i < buffer->accesses.count; i++) {
        const acui_point *point = buffer->accesses.list[i].point;
        if (point->growth && point->fault)
            st = acui_error_restore(&point->fault->error);
    }
    acui_order_unlock(homes);
    return st;
}

acu_status acui_growth_await(acu_buffer *buffer)
{
    if (!buffer->block || !buffer->block->slab)
        return ACU_OK;
    acui_loader_wait_until(is_over, buffer, ACU_FOREVER);
    return atomic_load_explicit(&buffer->address, memory_order_acquire) ? ACU_OK
                                                                        : failure_of(buffer);
}

void acui_growth_drop_block(acu_pool *pool, acui_block *block)
{
    acui_slab *slab = block->slab;
    acui_lock_take(&pool->lock);
    acui_pool_count_in(pool, block);
    bool last = ++slab->cached == slab->count;
    acui_lock_give(&pool->lock);
    if (last)
        acui_slab_unmap(slab);
}
