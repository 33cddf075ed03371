/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pools: creating and ending them, the device's own pools, and facts about pools. */
#include "memory/pool.h"

#include <acuda/debug.h>
#include <acuda/managed.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "memory/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- those of a device ---- */

static void add_to_device(acu_pool *pool)
{
    acu_device *device = pool->device;
    acui_object_list(pool);
    pthread_mutex_lock(&device->lock);
    pool->next = device->memory.pools;
    device->memory.pools = pool;
    pthread_mutex_unlock(&device->lock);
}

static void take_off_device(acu_pool *pool)
{
    acu_device *device = pool->device;
    pthread_mutex_lock(&device->lock);
    acu_pool **link = &device->memory.pools;
    while (*link && *link != pool)
        link = &(*link)->next;
    if (*link)
        *link = pool->next;
    pthread_mutex_unlock(&device->lock);
}

acu_pool *acui_pool_next(acu_device *device, acu_pool *pool)
{
    pthread_mutex_lock(&device->lock);
    acu_pool *next = pool ? pool->next : device->memory.pools;
    while (next && !next->own && !acui_object_try_retain(next))
        next = next->next; /* being destroyed */
    if (next && next->own)
        acu_device_retain(device);
    pthread_mutex_unlock(&device->lock);
    acu_pool_release(pool);
    return next;
}

/* ---- making ---- */

static acu_pool *pool_new(acu_device *device, const acu_pool_options *options, bool own)
{
    acu_pool *pool = acui_object_new(ACU_OBJECT_POOL, sizeof *pool);
    if (!pool) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a pool");
        return NULL;
    }
    pool->device = device;
    pool->own = own;
    pool->kind = options->kind;
    pool->write_combined = options->write_combined;
    pool->slow = options->kind != ACU_MEMORY_DEVICE || !device->pool;
    pool->limit = options->limit ? options->limit : SIZE_MAX;
    acui_pool_set_keep(pool, options->keep);
    return pool;
}

/* Whether the user wants faults found that room behind buffers and cached memory would hide. */
static bool wants_exact(const acu_pool *pool)
{
    const char *asked = secure_getenv("SOFTCUDA_EXACT");
    return asked && strcmp(asked, "1") == 0 && pool->kind != ACU_MEMORY_PINNED &&
           pool->device->info.software;
}

void acui_pool_set_keep(acu_pool *pool, size_t keep)
{
    if (!keep && wants_exact(pool))
        keep = ACU_KEEP_NONE;
    pool->keep = keep ? keep : pool->slow ? ACUI_PINNED_KEEP : SIZE_MAX;
    pool->bounded = !pool->slow && keep != ACU_KEEP_ALL;
    bool exact = keep == ACU_KEEP_NONE && pool->kind != ACU_MEMORY_PINNED &&
                 pool->device->info.software;
    atomic_store_explicit(&pool->exact, exact, memory_order_relaxed);
}

static void pool_free(acu_pool *pool)
{
    acui_object_free(pool);
}

/* The device is entered, or lost, and none of its work is in flight. */
static void drop_pools(acu_device *device)
{
    while (device->memory.pools) {
        acu_pool *pool = device->memory.pools;
        device->memory.pools = pool->next;
        acui_pool_drain(pool, NULL);
        pool_free(pool);
    }
}

static acu_status grant_pools(acu_device *device, acu_device *peer)
{
    acu_status st = ACU_OK;
    for (acu_pool *pool = NULL; (pool = acui_pool_next(device, pool));)
        if (pool->raw && !pool->own && st == ACU_OK)
            st = acui_grant_pool(peer, device, pool->raw);
    return st;
}

/* Nothing is in flight: pools that are to keep little now give the rest back. */
static void idle(acu_device *device)
{
    acui_entered entered;
    bool works = acui_enter_to_free(device, &entered);
    for (acu_pool *pool = NULL; works && (pool = acui_pool_next(device, pool));)
        if (!pool->slow)
            acui_pool_trim_excess(pool);
    acui_leave(&entered);
}

acu_pool *acui_pool_make_own(acu_device *device, acu_memory_kind kind, bool write_combined)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    _Atomic(acu_pool *) *place = &device->memory.own[acui_pool_index(kind, write_combined)];
    pthread_mutex_lock(&making);
    acu_pool *pool = atomic_load_explicit(place, memory_order_relaxed);
    if (!pool) {
        acu_pool_options options = {.kind = kind, .write_combined = write_combined};
        pool = pool_new(device, &options, true);
        if (pool) {
            if (kind == ACU_MEMORY_DEVICE)
                pool->raw = device->pool;
            device->drop[ACUI_DROP_POOLS] = drop_pools;
            device->memory.grant_pools = grant_pools;
            if (!device->memory.idle) /* under `making`, before `trims`, which announces it */
                device->memory.idle = idle;
            add_to_device(pool);
            atomic_store_explicit(place, pool, memory_order_release);
        }
    }
    pthread_mutex_unlock(&making);
    return pool;
}

acu_pool *acu_device_pool(acu_device *device)
{
    return acui_object_check(device, ACU_OBJECT_DEVICE, __func__) == ACU_OK
               ? acui_pool_of(device, ACU_MEMORY_DEVICE, false)
               : NULL;
}

acu_pool *acu_device_pinned_pool(acu_device *device, bool write_combined)
{
    return acui_object_check(device, ACU_OBJECT_DEVICE, __func__) == ACU_OK
               ? acui_pool_of(device, ACU_MEMORY_PINNED, write_combined)
               : NULL;
}

acu_status acui_check_managed(const acu_device *device)
{
    if (device->info.managed_memory)
        return ACU_OK;
    return acui_fail(ACU_ERR_NOT_SUPPORTED,
                     "device %d (%s) has no managed memory that the host may touch while it works",
                     device->info.ordinal, device->info.name);
}

acu_pool *acu_device_managed_pool(acu_device *device)
{
    if (acui_object_check(device, ACU_OBJECT_DEVICE, __func__) != ACU_OK ||
        acui_check_managed(device) != ACU_OK)
        return NULL;
    return acui_pool_of(device, ACU_MEMORY_MANAGED, false);
}

/* ---- those of the program ---- */

static acu_status make_raw(acu_pool *pool)
{
    acu_device *device = pool->device;
    if (pool->kind != ACU_MEMORY_DEVICE || !device->pool)
        return ACU_OK;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = acui_driver_pool(device, &pool->raw);
    acui_leave(&entered);
    return st;
}

static acu_status grant_to(acu_pool *pool, acu_device *peer)
{
    acu_device *device = pool->device;
    uint64_t granted = atomic_load_explicit(&peer->granted, memory_order_relaxed);
    if (peer == device || acui_device_lost(peer) || !(granted >> device->info.ordinal & 1u))
        return ACU_OK;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_status st = acui_grant_pool(peer, device, pool->raw);
    acui_leave(&entered);
    return st;
}

/* Devices that were granted access to this device's memory may use the pool's as well, even if they
 * are not open at the moment. The pool is in the list already, so a device that is granted access
 * later finds it there. */
static acu_status grant_peers(acu_pool *pool)
{
    acu_status st = ACU_OK;
    for (int i = 0; pool->raw && st == ACU_OK && i < ACUI_MAX_DEVICES; i++) {
        acu_device *peer = acui_device_find(i);
        if (peer)
            st = grant_to(pool, peer);
        acu_device_release(peer);
    }
    return st;
}

void acui_pool_note_keep(acu_pool *pool)
{
    acui_lock_take(&pool->lock);
    uint64_t keep = pool->keep == SIZE_MAX ? UINT64_MAX : pool->keep;
    acui_lock_give(&pool->lock);
    if (pool->slow)
        return;
    if (keep != UINT64_MAX)
        atomic_store_explicit(&pool->device->memory.trims, true, memory_order_release);
    acui_entered entered;
    if (acui_enter_to_free(pool->device, &entered)) {
        pool->device->cu->MemPoolSetAttribute(pool->raw, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                              &keep);
        acui_leave(&entered);
    }
}

acu_status acu_pool_create(acu_device *device, const acu_pool_options *options, acu_pool **pool)
{
    ACUI_CHECK(device, DEVICE);
    acu_pool_options known;
    ACUI_TRY(acui_options_read(&known, sizeof known, options, __func__));
    if (!pool)
        return acui_fail(ACU_ERR_INVALID, "acu_pool_create: nowhere to put the pool");
    if (known.kind != ACU_MEMORY_DEVICE && known.kind != ACU_MEMORY_PINNED)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_pool_create: a pool is of device memory or of pinned "
                         "memory, not of kind %d",
                         (int)known.kind);
    if (known.write_combined && known.kind != ACU_MEMORY_PINNED)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_pool_create: only pinned memory can be write-combined");
    ACUI_TRY(acui_device_check(device));
    /* The heir is created first, so that there is one. */
    acu_pool *heir = acui_pool_of(device, known.kind, known.write_combined);
    acu_pool *made = heir ? pool_new(device, &known, false) : NULL;
    if (!made)
        return ACU_ERR_NO_MEMORY;
    acu_status st = make_raw(made);
    if (st != ACU_OK) {
        pool_free(made);
        return st;
    }
    acu_device_retain(device);
    add_to_device(made);
    st = grant_peers(made);
    if (st != ACU_OK) {
        acu_error record = *acui_error();
        acu_pool_release(made);
        return acui_error_restore(&record);
    }
    if (made->keep != SIZE_MAX)
        acui_pool_note_keep(made);
    *pool = made;
    return ACU_OK;
}

acu_pool *acu_pool_retain(acu_pool *pool)
{
    if (acui_object_is(pool, ACU_OBJECT_POOL))
        acui_object_retain(pool->own ? (void *)pool->device : pool);
    return pool;
}

static void destroy(acu_pool *pool)
{
    acu_device *device = pool->device;
    take_off_device(pool);
    acui_entered entered;
    bool works = acui_enter_to_free(device, &entered);
    acui_pool_give_begin(pool);
    acui_pool_drain(pool, works ? acui_pool_of(device, pool->kind, pool->write_combined) : NULL);
    if (works && pool->raw)
        device->cu->MemPoolDestroy(pool->raw);
    acui_pool_give_end(pool, pool->held);
    acui_leave(&entered);
    pool_free(pool);
}

void acu_pool_release(acu_pool *pool)
{
    if (!acui_object_is(pool, ACU_OBJECT_POOL))
        return;
    acu_device *device = pool->device;
    if (!pool->own) {
        if (!acui_object_drop(pool))
            return;
        destroy(pool);
    }
    acu_device_release(device);
}

/* ---- facts ---- */

acu_device *acu_pool_device(const acu_pool *pool)
{
    return acui_object_is(pool, ACU_OBJECT_POOL) ? pool->device : NULL;
}

acu_memory_kind acu_pool_kind(const acu_pool *pool)
{
    return acui_object_is(pool, ACU_OBJECT_POOL) ? pool->kind : ACU_MEMORY_DEVICE;
}

/* ---- tensors ---- */

static acu_status alloc_from(acu_pool *pool, acu_dtype dtype, acu_shape shape, acu_tensor **tensor,
                             const char *function)
{
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the tensor", function);
    size_t bytes = 0;
    acu_buffer *buffer = NULL;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    ACUI_TRY(acu_buffer_create_from(pool, bytes, &buffer));
    acu_status st = acu_tensor_create(buffer, 0, dtype, shape, tensor);
    acu_buffer_release(buffer);
    return st;
}

acu_status acu_tensor_alloc_managed(acu_device *device, acu_dtype dtype, acu_shape shape,
                                    acu_tensor **tensor)
{
    ACUI_CHECK(device, DEVICE);
    acu_pool *pool = acu_device_managed_pool(device);
    return pool ? alloc_from(pool, dtype, shape, tensor, __func__) : acui_error()->status;
}

acu_status acu_tensor_alloc_from(acu_pool *pool, acu_dtype dtype, acu_shape shape,
                                 acu_tensor **tensor)
{
    ACUI_CHECK(pool, POOL);
    return alloc_from(pool, dtype, shape, tensor, __func__);
}
