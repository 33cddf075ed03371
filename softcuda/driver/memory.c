/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Device memory: ranges, tables of valid bytes, allocation, and what an address belongs to. */
#include "driver/memory.h"

#include "driver/pool.h"
#include "driver/virtual.h"

#include <string.h>
#include <sys/mman.h>

/* Freed blocks at least this large give their pages back at once. */
#define DISCARD_BYTES ((uint64_t)256 << 10)

/* Only the two ends of large memory are spoilt, so that its pages come as they are used. */
#define SPOILT_WHOLE ((uint64_t)1 << 20)
#define SPOILT_EXACT ((uint64_t)64 << 20) /* instead, with SOFTCUDA_EXACT */
#define SPOILT_END ((uint64_t)64 << 10)

void sd_memory_spoil(char *host, uint64_t bytes)
{
    uint64_t first = bytes <= (sd.exact ? SPOILT_EXACT : SPOILT_WHOLE) ? bytes : SPOILT_END;
    memset(host, SX_UNWRITTEN, first);
    if (first < bytes)
        memset(host + bytes - SPOILT_END, SX_UNWRITTEN, SPOILT_END);
}

/* ---- ranges ---- */

bool sd_range_map(sd_range *range, uint64_t bytes, bool hidden)
{
    size_t table = (size_t)(bytes >> SX_GRANULE_SHIFT) * sizeof(uint16_t);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *host = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    /* The addresses that the program sees: it can neither read nor write there. */
    void *base = hidden ? mmap(NULL, bytes, PROT_NONE, flags, -1, 0) : host;
    void *valid = mmap(NULL, table, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (host == MAP_FAILED || base == MAP_FAILED || valid == MAP_FAILED) {
        if (host != MAP_FAILED)
            munmap(host, bytes);
        if (base != MAP_FAILED && base != host)
            munmap(base, bytes);
        if (valid != MAP_FAILED)
            munmap(valid, table);
        return false;
    }
    *range = (sd_range){(uint64_t)(uintptr_t)base, bytes, host, valid, NULL};
    if (hidden && sd.exact) { /* without it, less is found */
        void *unwritten = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
        range->unwritten = unwritten == MAP_FAILED ? NULL : unwritten;
    }
    return true;
}

void sd_table_set(uint16_t *valid, uint64_t base, uint64_t address, uint64_t bytes)
{
    uint16_t *entry = valid + ((address - base) >> SX_GRANULE_SHIFT);
    for (; bytes >= SX_GRANULE; bytes -= SX_GRANULE)
        *entry++ = (uint16_t)SX_GRANULE;
    if (bytes)
        *entry = (uint16_t)bytes;
}

void sd_table_clear(uint16_t *valid, uint64_t base, uint64_t address, uint64_t bytes)
{
    memset(valid + ((address - base) >> SX_GRANULE_SHIFT), 0,
           (size_t)((bytes + SX_GRANULE - 1) >> SX_GRANULE_SHIFT) * sizeof *valid);
}

/* ---- where an address lies ---- */

static bool in_range(const sd_range *range, uint64_t address)
{
    return address - range->base < range->bytes;
}

sd_device *sd_device_of(uint64_t address)
{
    for (int i = 0; i < sd.device_count; i++) {
        sd_device *device = &sd.devices[i];
        if (atomic_load_explicit(&device->mapped, memory_order_acquire) &&
            in_range(&device->range, address))
            return device;
    }
    return NULL;
}

char *sd_device_pointer(const sd_device *device, uint64_t address)
{
    return device->range.host + (address - device->range.base);
}

char *sd_host_pointer(uint64_t address)
{
    const sd_device *device = sd_device_of(address);
    return device ? sd_device_pointer(device, address) : (char *)(uintptr_t)address;
}

bool sd_valid(uint64_t address, uint64_t bytes)
{
    const sd_device *device = sd_device_of(address);
    const sd_range *range = device ? &device->range : NULL;
    if (!range && atomic_load_explicit(&sd_host.mapped, memory_order_acquire) &&
        in_range(&sd_host.range, address))
        range = &sd_host.range;
    if (!range)
        return true;
    sx_region region = {range->base, range->bytes, range->host, range->valid, NULL};
    return sx_space_at(&(sx_space){&region, 1}, address, bytes) != NULL;
}

static bool inside(const sd_block *block, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - block->address;
    return !block->freed_on && offset < block->size && bytes <= block->size - offset;
}

static void *handle_of_context(const sd_context *context)
{
    return context ? context->object.handle : NULL;
}

/* Reserved addresses: finds what is mapped there, in one piece or in several without a gap. */
static void locate_mapped(const sd_block *block, uint64_t address, uint64_t bytes,
                          sd_location *found)
{
    const sd_mapping *m = sd_mapping_at(block, address);
    if (!m)
        return;
    for (const sd_mapping *last = m; bytes > last->address + last->bytes - address;)
        if (!(last = sd_mapping_at(block, last->address + last->bytes)))
            return;
    found->place = SD_PLACE_DEVICE;
    found->base = m->address;
    found->size = m->bytes;
    found->id = m->id;
    found->context = handle_of_context(block->context);
}

static sd_location locate_on(sd_device *device, uint64_t address, uint64_t bytes)
{
    sd_location found = {.place = SD_PLACE_NOWHERE, .device = device};
    pthread_mutex_lock(&device->lock);
    const sd_block *block = sd_heap_find(&device->heap, address);
    if (block && block->reservation) {
        locate_mapped(block, address, bytes, &found);
    } else if (block && inside(block, address, bytes)) {
        found.place = SD_PLACE_DEVICE;
        found.base = block->address;
        found.size = block->size;
        found.id = block->id;
        found.context = handle_of_context(block->context);
        found.pool = block->pool ? sd_pool_handle(block->pool) : NULL;
    }
    pthread_mutex_unlock(&device->lock);
    return found;
}

sd_location sd_locate(uint64_t address, uint64_t bytes)
{
    sd_device *device = sd_device_of(address);
    if (device)
        return locate_on(device, address, bytes);
    sd_location found = {.place = SD_PLACE_PAGEABLE};
    sd_host_locate(address, bytes, &found);
    return found;
}

/* ---- what was written (SOFTCUDA_EXACT) ---- */

/* Marks as much of newly allocated memory as is spoilt; 0: takes the marks away. */
static void mark_unwritten(const sd_device *device, uint64_t address, uint64_t bytes, int mark)
{
    if (!device->range.unwritten)
        return;
    unsigned char *at = device->range.unwritten + (address - device->range.base);
    memset(at, mark, bytes <= SPOILT_EXACT ? bytes : SPOILT_END);
    if (bytes > SPOILT_EXACT)
        memset(at + bytes - SPOILT_END, mark, SPOILT_END);
}

static unsigned char *unwritten_at(uint64_t address)
{
    const sd_device *device = sd_device_of(address);
    return device && device->range.unwritten
               ? device->range.unwritten + (address - device->range.base)
               : NULL;
}

void sd_memory_written(uint64_t address, uint64_t from, uint64_t bytes)
{
    if (!sd.exact)
        return;
    unsigned char *to = unwritten_at(address);
    const unsigned char *like = from ? unwritten_at(from) : NULL;
    if (to && like)
        memmove(to, like, bytes);
    else if (to)
        memset(to, 0, bytes);
}

/* ---- allocation ---- */

bool sd_memory_commit(sd_device *device, uint64_t bytes)
{
    if (bytes > device->memory)
        return false;
    if (device->committed + bytes > device->memory)
        sd_pools_shrink(device);
    if (device->committed + bytes > device->memory)
        return false;
    device->committed += bytes;
    return true;
}

void sd_memory_publish(sd_device *device, uint64_t address, uint64_t bytes, const sd_pool *pool)
{
    sd_memory_spoil(sd_device_pointer(device, address), bytes);
    mark_unwritten(device, address, bytes, SX_IS_UNWRITTEN);
    sd_table_set(device->range.valid, device->range.base, address, bytes);
    sd_access_publish(device, address, bytes, pool);
}

void sd_memory_withdraw(sd_device *device, uint64_t address, uint64_t bytes)
{
    sd_table_clear(device->range.valid, device->range.base, address, bytes);
    mark_unwritten(device, address, bytes, 0);
    sd_access_withdraw(device, address, bytes);
}

/* Gives pages of unused memory back to the system. */
static void discard(sd_device *device, uint64_t address, uint64_t bytes)
{
    if (bytes < DISCARD_BYTES)
        return;
    uint64_t from = (address + 4095) & ~UINT64_C(4095);
    uint64_t to = (address + bytes) & ~UINT64_C(4095);
    madvise(sd_device_pointer(device, from), to - from, MADV_DONTNEED);
}

static sd_block *try_alloc(sd_context *context, uint64_t bytes)
{
    sd_device *device = context->device;
    if (!sd_memory_commit(device, bytes))
        return NULL;
    sd_block *block = sd_heap_alloc(&device->heap, bytes);
    if (!block) {
        device->committed -= bytes;
        return NULL;
    }
    block->context = context;
    block->pool = NULL;
    block->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
    sd_memory_publish(device, block->address, bytes, NULL);
    return block;
}

unsigned sd_memory_alloc(sd_context *context, uint64_t bytes, uint64_t *address)
{
    sd_device *device = context->device;
    pthread_mutex_lock(&device->lock);
    sd_block *block = try_alloc(context, bytes);
    while (!block && sd_pools_wait(device, bytes))
        block = try_alloc(context, bytes);
    if (block)
        *address = block->address;
    pthread_mutex_unlock(&device->lock);
    return block ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

/* Returns the free block that the block is part of now. With device->lock. */
static sd_block *free_block(sd_device *device, sd_block *block)
{
    if (block->reservation)
        return sd_unreserve(device, block);
    uint64_t address = block->address, size = block->size;
    sd_memory_withdraw(device, address, size);
    if (block->pool)
        sd_pool_returned(block);
    else
        device->committed -= size;
    discard(device, address, size);
    return sd_heap_free(&device->heap, block);
}

bool sd_memory_free(sd_device *device, uint64_t address)
{
    pthread_mutex_lock(&device->lock);
    sd_block *block = sd_heap_find(&device->heap, address);
    bool live = block && block->address == address && !block->freed_on;
    if (block && block->reservation) {
        const sd_mapping *m = sd_mapping_at(block, address);
        live = block->reservation->external && m && m->address == address;
    }
    if (live)
        free_block(device, block);
    pthread_mutex_unlock(&device->lock);
    return live;
}

void sd_memory_free_all(sd_context *context)
{
    /* Memory from a pool is the device's, and stays; but after a fault nobody could give it back. A
     * pool of one device serves streams of others: look everywhere. */
    const bool lost = sd_context_state(context) != ACU_CUDA_SUCCESS;
    for (int i = 0; i < sd.device_count; i++) {
        sd_device *device = &sd.devices[i];
        pthread_mutex_lock(&device->lock);
        for (sd_block *block = device->heap.lowest; block; block = block->above)
            if (block->used && block->context == context && (lost || !block->pool))
                block = free_block(device, block);
            else if (block->context == context)
                block->context = NULL;
        pthread_mutex_unlock(&device->lock);
    }
    sd_host_free_all(context);
}
