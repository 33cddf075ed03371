/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Page-locking wrapped host memory. */
#include "memory/pages.h"

#include "base/alloc.h"
#include "base/error.h"
#include "memory/memory.h"

#define LOCK_FLAGS (ACU_CU_MEMHOSTREGISTER_PORTABLE | ACU_CU_MEMHOSTREGISTER_DEVICEMAP)

struct acui_pages {
    acu_device *device; /* for which it was locked, retained; all devices may use the memory */
    void *memory;
    size_t bytes;
    size_t count;
    struct acui_pages *next;
};

/* Held across registering, so that two threads that wrap the same range agree; wrapping is slow
 * anyway. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static acui_pages *all;

static bool overlap(const acui_pages *pages, const void *memory, size_t bytes)
{
    uintptr_t a = (uintptr_t)pages->memory, b = (uintptr_t)memory;
    return a < b + bytes && b < a + pages->bytes;
}

/* The range was locked for a device that was reset, which undid that. */
static acu_status lock_anew(acu_device *device, acui_pages *p)
{
    ACUI_TRY(ACUI_DEV(device, MemHostRegister, p->memory, p->bytes, LOCK_FLAGS));
    acu_device *old = p->device;
    p->device = acu_device_retain(device);
    acu_device_release(old);
    return ACU_OK;
}

/* Wraps a range once more that is locked already; *pages remains NULL if it is a new range. */
static acu_status lock_again(acu_device *device, void *memory, size_t bytes, acui_pages **pages)
{
    for (acui_pages *p = all; p; p = p->next) {
        if (!overlap(p, memory, bytes))
            continue;
        if (p->memory != memory || p->bytes != bytes)
            return acui_fail(ACU_ERR_BUSY,
                             "the %zu bytes at %p overlap %zu bytes at %p that are wrapped: wrap "
                             "the whole once, and take slices of it",
                             bytes, memory, p->bytes, p->memory);
        if (atomic_load_explicit(&p->device->stale, memory_order_acquire))
            ACUI_TRY(lock_anew(device, p));
        p->count++;
        *pages = p;
        return ACU_OK;
    }
    return ACU_OK;
}

/* The driver refuses a range if any byte of it is locked already, be it all of the range or a part.
 * Devices can use the range if the locked range with its first byte contains all of it. Several
 * adjacent ones will not do, because a copy must not cross from one to the next. (The driver takes
 * ranges that merely share a page.) */
static acu_status check_locked(acu_device *device, void *memory, size_t bytes)
{
    const acu_driver_table *cu = device->cu;
    CUdeviceptr at = 0, start = 0;
    size_t size = 0;
    const char *call = "MemHostGetDevicePointer";
    unsigned result = cu->MemHostGetDevicePointer(&at, memory, 0);
    if (result == ACU_CUDA_SUCCESS) {
        call = "PointerGetAttribute";
        result = cu->PointerGetAttribute(&start, ACU_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at);
    }
    if (result == ACU_CUDA_SUCCESS)
        result = cu->PointerGetAttribute(&size, ACU_CU_POINTER_ATTRIBUTE_RANGE_SIZE, at);
    if (result == ACU_CUDA_SUCCESS && at - start <= size && bytes <= size - (at - start))
        return ACU_OK;
    if (result != ACU_CUDA_SUCCESS && result != ACU_CUDA_ERROR_INVALID_VALUE)
        return acui_device_result(device, call, result);
    return acui_fail(ACU_ERR_BUSY,
                     "of the %zu bytes at %p only a part is page-locked already, by somebody else: "
                     "lock all of it at once, or wrap it as pageable memory",
                     bytes, memory);
}

static acu_status lock_new(acu_device *device, void *memory, size_t bytes, acui_pages **pages)
{
    acui_pages *p = ACUI_NEW(acui_pages);
    if (!p)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to wrap host memory");
    unsigned result = device->cu->MemHostRegister(memory, bytes, LOCK_FLAGS);
    if (result != ACU_CUDA_SUCCESS) {
        acui_free(p);
        if (result == ACU_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
            return check_locked(device, memory, bytes); /* locked by the program, which also unlocks
                                                         * it */
        return acui_device_result(device, "MemHostRegister", result);
    }
    *p = (acui_pages){.device = acu_device_retain(device),
                      .memory = memory,
                      .bytes = bytes,
                      .count = 1,
                      .next = all};
    all = p;
    *pages = p;
    return ACU_OK;
}

acu_status acui_pages_lock(acu_device *device, void *memory, size_t bytes, acui_pages **pages)
{
    *pages = NULL;
    pthread_mutex_lock(&lock);
    acu_status st = lock_again(device, memory, bytes, pages);
    if (st == ACU_OK && !*pages)
        st = lock_new(device, memory, bytes, pages);
    pthread_mutex_unlock(&lock);
    return st;
}

void acui_pages_unlock(acui_pages *pages)
{
    if (!pages)
        return;
    acu_device *device = NULL;
    pthread_mutex_lock(&lock);
    if (--pages->count == 0) {
        device = pages->device;
        acui_pages **link = &all;
        while (*link != pages)
            link = &(*link)->next;
        *link = pages->next;
        /* Still under the lock: the range may be wrapped again right away. */
        acui_entered entered;
        acui_memory_returns();
        if (acui_enter_to_free(device, &entered))
            device->cu->MemHostUnregister(pages->memory);
        acui_leave(&entered);
        acui_free(pages);
    }
    pthread_mutex_unlock(&lock);
    acu_device_release(device);
}
