/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Buffers: handles on storage. */
#include <acuda/debug.h>
#include <acuda/managed.h>

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/rare.h"
#include "memory/memory.h"
#include "memory/pages.h"
#include "memory/pool.h"

/* ---- making ---------------------------------------------------------------------------------- */

ACUI_RARE static acu_status refuse_request(acu_device *device, size_t bytes, acu_buffer **buffer,
                                           const char *function)
{
    acu_status st = acui_object_check(device, ACU_OBJECT_DEVICE, function);
    if (st != ACU_OK)
        return st;
    if (!buffer)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the buffer", function);
    if (bytes == 0)
        return acui_fail(ACU_ERR_INVALID, "%s: a buffer of 0 bytes", function);
    return acui_device_check(device);
}

static inline acu_status check_request(acu_device *device, size_t bytes, acu_buffer **buffer,
                                       const char *function)
{
    if (acui_object_is(device, ACU_OBJECT_DEVICE) && buffer && bytes && !acui_device_lost(device))
        return ACU_OK;
    return refuse_request(device, bytes, buffer, function);
}

static acu_status buffer_new(acu_device *device, size_t bytes, acu_memory_kind kind,
                             acu_buffer **buffer)
{
    /* Zeroes all but the room for accesses, which most short-lived buffers never use. */
    acu_buffer *b = acui_object_new_part(ACU_OBJECT_BUFFER, sizeof *b,
                                         offsetof(acu_buffer, accesses.few));
    if (!b)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a buffer");
    b->device = acui_object_retain(device);
    b->bytes = bytes;
    b->kind = kind;
    b->accesses.home = acui_home_of(device);
    atomic_store_explicit(&b->accesses.homes, b->accesses.home, memory_order_relaxed);
    *buffer = b;
    return ACU_OK;
}

acu_status acui_buffer_planned(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    return buffer_new(device, bytes, ACU_MEMORY_DEVICE, buffer);
}

void acui_buffer_set_pool(acu_buffer *buffer, acu_pool *pool)
{
    buffer->pool = acu_pool_retain(pool);
}

/* Gives out the buffer, if there was memory for it. */
static acu_status finish(acu_buffer *b, acu_status st, acu_buffer **buffer)
{
    if (st == ACU_OK)
        *buffer = b;
    else
        acu_buffer_release(b);
    return st;
}

static acu_status create(acu_device *device, acu_pool *pool, acu_memory_kind kind, size_t bytes,
                         acu_buffer **buffer)
{
    acu_buffer *b = NULL;
    ACUI_TRY(buffer_new(device, bytes, kind, &b));
    if (pool)
        b->pool = acu_pool_retain(pool);
    return finish(b, acui_buffer_allocate_now(b, bytes), buffer);
}

acu_status acui_buffer_soon(acu_pool *pool, size_t bytes, acu_buffer **buffer)
{
    acu_buffer *b = NULL;
    ACUI_TRY(buffer_new(pool->device, bytes, pool->kind, &b));
    b->pool = acu_pool_retain(pool);
    return finish(b, acui_buffer_allocate_soon(b), buffer);
}

acu_status acu_buffer_create(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_request(device, bytes, buffer, __func__));
    return create(device, NULL, ACU_MEMORY_DEVICE, bytes, buffer);
}

acu_status acu_buffer_create_pinned(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_request(device, bytes, buffer, __func__));
    return create(device, NULL, ACU_MEMORY_PINNED, bytes, buffer);
}

acu_status acu_buffer_create_managed(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_request(device, bytes, buffer, __func__));
    ACUI_TRY(acui_check_managed(device));
    return create(device, NULL, ACU_MEMORY_MANAGED, bytes, buffer);
}

acu_status acu_buffer_create_from(acu_pool *pool, size_t bytes, acu_buffer **buffer)
{
    ACUI_CHECK(pool, POOL);
    ACUI_TRY(check_request(pool->device, bytes, buffer, __func__));
    return create(pool->device, pool, pool->kind, bytes, buffer);
}

/* ---- wrapping -------------------------------------------------------------------------------- */

/* Page-lock the memory, and find the device's view of it. */
static acu_status lock_memory(acu_buffer *b, void *memory)
{
    acu_device *device = b->device;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    CUdeviceptr address = 0;
    acu_status st = acui_pages_lock(device, memory, b->bytes, &b->pages);
    if (st == ACU_OK)
        st = ACUI_DEV(device, MemHostGetDevicePointer, &address, memory, 0);
    acui_leave(&entered);
    if (st != ACU_OK)
        return st;
    b->host = memory;
    atomic_store_explicit(&b->address, address, memory_order_release);
    return ACU_OK;
}

static acu_status check_host(acu_device *device, const void *memory, size_t bytes,
                             acu_buffer **buffer, const char *function)
{
    ACUI_TRY(check_request(device, bytes, buffer, function));
    if (!memory)
        return acui_fail(ACU_ERR_INVALID, "%s: the memory is NULL", function);
    if ((uintptr_t)memory > UINTPTR_MAX - bytes)
        return acui_fail(ACU_ERR_INVALID, "%s: there are no %zu bytes at %p", function, bytes,
                         memory);
    return ACU_OK;
}

/* Hands the program's user data to the buffer, or releases it after a failure. */
static acu_status hand_user(acu_status st, acu_user user, acu_buffer *const *buffer)
{
    if (st == ACU_OK)
        (*buffer)->user = user;
    else
        acui_user_release(user);
    return st;
}

static acu_status wrap_host(acu_device *device, void *memory, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_host(device, memory, bytes, buffer, "acu_buffer_wrap_host"));
    acu_buffer *b = NULL;
    ACUI_TRY(buffer_new(device, bytes, ACU_MEMORY_HOST, &b));
    return finish(b, lock_memory(b, memory), buffer);
}

static acu_status wrap_pageable(acu_device *device, void *memory, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_host(device, memory, bytes, buffer, "acu_buffer_wrap_pageable"));
    acu_buffer *b = NULL;
    ACUI_TRY(buffer_new(device, bytes, ACU_MEMORY_PAGEABLE, &b));
    b->host = memory;
    *buffer = b;
    return ACU_OK;
}

acu_status acu_buffer_wrap_pageable(acu_device *device, void *memory, size_t bytes, acu_user user,
                                    acu_buffer **buffer)
{
    return hand_user(wrap_pageable(device, memory, bytes, buffer), user, buffer);
}

acu_status acu_buffer_wrap_host(acu_device *device, void *memory, size_t bytes, acu_user user,
                                acu_buffer **buffer)
{
    return hand_user(wrap_host(device, memory, bytes, buffer), user, buffer);
}

static acu_status wrap_device(acu_device *device, CUdeviceptr memory, size_t bytes,
                              acu_buffer **buffer)
{
    ACUI_TRY(check_request(device, bytes, buffer, "acu_buffer_wrap_device"));
    if (!memory)
        return acui_fail(ACU_ERR_INVALID, "acu_buffer_wrap_device: the memory is NULL");
    if (memory > UINT64_MAX - bytes)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_buffer_wrap_device: there are no %zu bytes at 0x%llx", bytes,
                         (unsigned long long)memory);
    acu_buffer *b = NULL;
    ACUI_TRY(buffer_new(device, bytes, ACU_MEMORY_FOREIGN, &b));
    atomic_store_explicit(&b->address, memory, memory_order_release);
    *buffer = b;
    return ACU_OK;
}

acu_status acu_buffer_wrap_device(acu_device *device, CUdeviceptr memory, size_t bytes,
                                  acu_user user, acu_buffer **buffer)
{
    return hand_user(wrap_device(device, memory, bytes, buffer), user, buffer);
}

/* ---- facts ----------------------------------------------------------------------------------- */

size_t acu_buffer_bytes(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->bytes : 0;
}

acu_memory_kind acu_buffer_kind(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->kind : ACU_MEMORY_DEVICE;
}

acu_device *acu_buffer_device(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->device : NULL;
}

/* A reset context takes its memory along, but not the program's own. */
static bool is_there(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) &&
           (buffer->kind == ACU_MEMORY_HOST || buffer->kind == ACU_MEMORY_PAGEABLE ||
            !atomic_load_explicit(&buffer->device->stale, memory_order_acquire));
}

void *acu_buffer_host(const acu_buffer *buffer)
{
    if (!is_there(buffer))
        return NULL;
    if (buffer->kind == ACU_MEMORY_MANAGED)
        return (void *)(uintptr_t)acu_buffer_address(buffer);
    return buffer->host;
}

CUdeviceptr acu_buffer_address(const acu_buffer *buffer)
{
    if (!is_there(buffer))
        return 0;
    return atomic_load_explicit(&buffer->address, memory_order_acquire);
}

acu_buffer *acu_buffer_retain(acu_buffer *buffer)
{
    if (acui_object_is(buffer, ACU_OBJECT_BUFFER))
        acui_object_retain(buffer);
    return buffer;
}

void acu_buffer_release(acu_buffer *buffer)
{
    if (!acui_object_is(buffer, ACU_OBJECT_BUFFER) || !acui_object_drop(buffer))
        return;
    acu_device *device = buffer->device;
    acu_user user = buffer->user;
    acu_pool *pool = buffer->pool;
    if (buffer->kind == ACU_MEMORY_FOREIGN)
        acui_memory_returns(); /* to be freed by its owner */
    acui_buffer_free_memory(buffer);
    if (buffer->pages)
        acui_pages_unlock(buffer->pages);
    acui_object_end(buffer);
    if (pool)
        acu_pool_release(pool);
    acui_user_release(user);
    acui_free_late(buffer); /* not earlier: lists that its owner keeps may still have it */
    acu_device_release(device);
}
