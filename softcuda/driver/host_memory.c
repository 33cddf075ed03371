/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pinned and registered host memory. Pinned memory has the same address on host and device. */
#include "driver/capture.h"
#include "driver/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PINNED_BYTES ((uint64_t)64 << 30) /* of addresses; less where the system has no room */
#define PAGE UINT64_C(4096)

sd_host_memory sd_host = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock. */
static bool map_pinned(void)
{
    if (atomic_load_explicit(&sd_host.mapped, memory_order_relaxed))
        return true;
    uint64_t bytes = PINNED_BYTES;
    while (!sd_range_map(&sd_host.range, bytes, false))
        if ((bytes /= 2) < (uint64_t)64 << 20)
            return false;
    if (!sd_heap_init(&sd_host.heap, sd_host.range.base, bytes))
        return false;
    atomic_store_explicit(&sd_host.mapped, true, memory_order_release);
    atomic_fetch_add_explicit(&sd.space_version, 1, memory_order_release);
    return true;
}

/* ---- looking up ---- */

static bool locate_pinned(uint64_t address, uint64_t bytes, sd_location *location)
{
    if (!atomic_load_explicit(&sd_host.mapped, memory_order_relaxed) ||
        address - sd_host.range.base >= sd_host.range.bytes)
        return false;
    const sd_block *block = sd_heap_find(&sd_host.heap, address);
    uint64_t offset = block ? address - block->address : 0;
    location->place = SD_PLACE_NOWHERE;
    if (!block || offset >= block->size || bytes > block->size - offset)
        return true;
    location->place = SD_PLACE_PINNED;
    location->base = block->address;
    location->size = block->size;
    location->id = block->id;
    location->flags = block->flags;
    location->context = block->context ? block->context->object.handle : NULL;
    return true;
}

/* The registration that `address` lies in. */
static sd_registration *find_registration(uint64_t address)
{
    for (sd_registration *r = sd_host.registrations; r; r = r->next)
        if (address - r->base < r->bytes)
            return r;
    return NULL;
}

bool sd_host_locate(uint64_t address, uint64_t bytes, sd_location *location)
{
    pthread_mutex_lock(&sd_host.lock);
    bool found = locate_pinned(address, bytes, location);
    const sd_registration *r = found ? NULL : find_registration(address);
    /* A range that is only partly registered counts as pageable memory. */
    if (r && bytes <= r->bytes - (address - r->base)) {
        location->place = SD_PLACE_REGISTERED;
        location->base = r->base;
        location->size = r->bytes;
        location->id = r->id;
        location->flags = r->flags;
        location->context = r->context->object.handle;
        found = true;
    }
    pthread_mutex_unlock(&sd_host.lock);
    return found;
}

/* ---- pinned memory ---- */

static unsigned alloc_pinned(sd_context *context, uint64_t bytes, unsigned flags, void **pointer)
{
    unsigned result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&sd_host.lock);
    sd_block *block = map_pinned() ? sd_heap_alloc(&sd_host.heap, bytes) : NULL;
    if (block) {
        block->context = context;
        block->flags = flags;
        block->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
        sd_memory_spoil((char *)(uintptr_t)block->address, bytes);
        sd_table_set(sd_host.range.valid, sd_host.range.base, block->address, bytes);
        *pointer = (void *)(uintptr_t)block->address;
        result = ACU_CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&sd_host.lock);
    return result;
}

/* Returns the free block that the block is part of now. With the lock. */
static sd_block *free_pinned(sd_block *block)
{
    uint64_t from = (block->address + PAGE - 1) & ~(PAGE - 1);
    uint64_t to = (block->address + block->span) & ~(PAGE - 1);
    sd_table_clear(sd_host.range.valid, sd_host.range.base, block->address, block->size);
    if (to > from && to - from >= 16 * PAGE)
        madvise((void *)(uintptr_t)from, to - from, MADV_DONTNEED);
    return sd_heap_free(&sd_host.heap, block);
}

unsigned sd_cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    SD_CURRENT(context);
    SD_SAFE();
    unsigned known = ACU_CU_MEMHOSTALLOC_PORTABLE | ACU_CU_MEMHOSTALLOC_DEVICEMAP |
                     ACU_CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!pointer || flags & ~known)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *pointer = NULL;
    return bytes ? alloc_pinned(context, bytes, flags, pointer) : ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemAllocHost_v2(void **pointer, size_t bytes)
{
    return sd_cuMemHostAlloc(pointer, bytes, 0);
}

unsigned sd_cuMemFreeHost(void *pointer)
{
    SD_ANYWHERE(context);
    SD_SAFE();
    if (!pointer)
        return ACU_CUDA_SUCCESS;
    return sd_host_free(context, (uint64_t)(uintptr_t)pointer, false);
}

unsigned sd_host_alloc_managed(sd_context *context, uint64_t bytes, uint64_t *address)
{
    void *pointer;
    unsigned result = alloc_pinned(context, bytes, SD_MANAGED, &pointer);
    if (!result)
        *address = (uint64_t)(uintptr_t)pointer;
    return result;
}

unsigned sd_host_free(sd_context *context, uint64_t address, bool managed)
{
    sd_location location = {0};
    sd_host_locate(address, 0, &location);
    if (location.place != SD_PLACE_PINNED || location.base != address ||
        managed != ((location.flags & SD_MANAGED) != 0))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    __attribute__((cleanup(sd_context_leave))) sd_context *own =
        sd_object_get(SD_KIND_CONTEXT, location.context);
    if (context || own) /* kernels and copies may still use it */
        sd_context_drain(context ? context : own);
    unsigned result = ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&sd_host.lock);
    sd_block *block = sd_heap_find(&sd_host.heap, address);
    if (block && block->address == address) {
        free_pinned(block);
        result = ACU_CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&sd_host.lock);
    return result || !context ? result : sd_context_state(context);
}

/* ---- registered memory ---- */

/* Whether every page of it is memory of the process. */
static bool is_mapped(uint64_t base, uint64_t bytes)
{
    uint64_t from = base & ~(PAGE - 1), to = (base + bytes + PAGE - 1) & ~(PAGE - 1);
    int kept = errno;
    bool mapped = to > from && msync((void *)(uintptr_t)from, to - from, MS_ASYNC) == 0;
    errno = kept;
    return mapped;
}

unsigned sd_cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags)
{
    SD_CURRENT(context);
    SD_SAFE();
    unsigned known = ACU_CU_MEMHOSTREGISTER_PORTABLE | ACU_CU_MEMHOSTREGISTER_DEVICEMAP |
                     ACU_CU_MEMHOSTREGISTER_READ_ONLY;
    uint64_t base = (uint64_t)(uintptr_t)pointer;
    if (!pointer || !bytes || base + bytes < base || flags & ~known || sd_device_of(base) ||
        !is_mapped(base, bytes))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_location location = {0};
    sd_registration *made = malloc(sizeof *made);
    if (!made)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
    bool taken = false;
    pthread_mutex_lock(&sd_host.lock);
    taken = locate_pinned(base, 0, &location);
    for (sd_registration *r = sd_host.registrations; r && !taken; r = r->next)
        taken = base < r->base + r->bytes && r->base < base + bytes;
    if (!taken) {
        *made = (sd_registration){sd_host.registrations, base, bytes, id, flags, context};
        sd_host.registrations = made;
        atomic_fetch_add_explicit(&sd.space_version, 1, memory_order_release);
    }
    pthread_mutex_unlock(&sd_host.lock);
    if (taken)
        free(made);
    return taken ? ACU_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : ACU_CUDA_SUCCESS;
}

/* Take the registration at `*at` out of the list; with the lock. */
static void forget(sd_registration **at)
{
    sd_registration *gone = *at;
    *at = gone->next;
    free(gone);
    atomic_fetch_add_explicit(&sd.space_version, 1, memory_order_release);
}

unsigned sd_cuMemHostUnregister(void *pointer)
{
    SD_CURRENT(context);
    SD_SAFE();
    uint64_t base = (uint64_t)(uintptr_t)pointer;
    unsigned result = ACU_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    sd_context_drain(context); /* kernels and copies may still use it */
    pthread_mutex_lock(&sd_host.lock);
    for (sd_registration **at = &sd_host.registrations; *at; at = &(*at)->next)
        if ((*at)->base == base) {
            forget(at);
            result = ACU_CUDA_SUCCESS;
            break;
        }
    /* Inside of a registration, or memory that is page-locked in another way. */
    sd_location location = {0};
    if (result && (find_registration(base) || locate_pinned(base, 0, &location)))
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&sd_host.lock);
    return result ? result : sd_context_state(context);
}

void sd_host_free_all(const sd_context *context)
{
    pthread_mutex_lock(&sd_host.lock);
    for (sd_block *block = sd_host.heap.lowest; block; block = block->above)
        if (block->used && block->context == context)
            block = free_pinned(block);
    for (sd_registration **at = &sd_host.registrations; *at;)
        if ((*at)->context == context)
            forget(at);
        else
            at = &(*at)->next;
    pthread_mutex_unlock(&sd_host.lock);
}

/* ---- what the device calls it ---- */

unsigned sd_cuMemHostGetDevicePointer_v2(CUdeviceptr *device_pointer, void *pointer, unsigned flags)
{
    SD_CURRENT(context);
    if (!device_pointer || flags)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_location location = {0};
    if (!sd_host_locate((uint64_t)(uintptr_t)pointer, 0, &location) ||
        location.place == SD_PLACE_NOWHERE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *device_pointer = (uint64_t)(uintptr_t)pointer;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemHostGetFlags(unsigned *flags, void *pointer)
{
    SD_CURRENT(context);
    sd_location location = {0};
    if (!flags || !sd_host_locate((uint64_t)(uintptr_t)pointer, 0, &location) ||
        location.place != SD_PLACE_PINNED || location.flags & SD_MANAGED)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    /* With unified addressing all pinned memory is mapped and portable. */
    *flags = location.flags | ACU_CU_MEMHOSTALLOC_DEVICEMAP;
    return ACU_CUDA_SUCCESS;
}
