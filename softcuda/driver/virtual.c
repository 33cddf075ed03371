/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reserved ranges, and files mapped into them (virtual.h). Mapping a file makes it reachable for
 * the driver; kernels and copies may touch it only once it is opened, by cuMemSetAccess or, for
 * other APIs' memory, at once.
 */
#include "driver/virtual.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)

/* ---- ranges ---- */

sd_block *sd_reserve(sd_device *device, uint64_t bytes, uint64_t alignment, sd_context *context)
{
    struct sd_reservation *range = calloc(1, sizeof *range);
    sd_block *block = range ? sd_heap_alloc(&device->heap, bytes + alignment) : NULL;
    if (!block) {
        free(range);
        return NULL;
    }
    range->address = (block->address + alignment - 1) & ~(alignment - 1);
    range->bytes = bytes;
    block->reservation = range;
    block->context = context;
    block->pool = NULL;
    return block;
}

/* The table counts the valid bytes of a granule from its start: so the bytes before the mapping, in
 * its first granule, become valid too. */
void sd_mapping_open(sd_device *device, const sd_mapping *m, bool open)
{
    uint64_t from = m->address & ~(uint64_t)(SX_GRANULE - 1);
    (open ? sd_table_set : sd_table_clear)(device->range.valid, device->range.base, from,
                                           m->address + m->bytes - from);
}

/* Puts the device's own memory back where a file was mapped. */
static void take_back(sd_device *device, const sd_mapping *m)
{
    sd_mapping_open(device, m, false);
    /* Fails only if the system has no room for another mapping: then the file's pages stay, and
     * nothing can reach them before they are mapped over. */
    mmap(sd_device_pointer(device, m->pages), m->span, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static void end_mapping(sd_device *device, sd_mapping *m)
{
    take_back(device, m);
    free(m);
}

sd_block *sd_unreserve(sd_device *device, sd_block *block)
{
    struct sd_reservation *range = block->reservation;
    while (range->mappings) {
        sd_mapping *m = range->mappings;
        range->mappings = m->next;
        end_mapping(device, m);
    }
    block->reservation = NULL;
    free(range);
    return sd_heap_free(&device->heap, block);
}

/* The reservation that contains all of [address, address + bytes). */
static struct sd_reservation *find_range(sd_device *device, uint64_t address, uint64_t bytes)
{
    const sd_block *block = sd_heap_find(&device->heap, address);
    struct sd_reservation *range = block ? block->reservation : NULL;
    if (!range || range->external || address - range->address >= range->bytes ||
        bytes > range->bytes - (address - range->address))
        return NULL;
    return range;
}

/* ---- what is mapped there ---- */

const sd_mapping *sd_mapping_at(const sd_block *block, uint64_t address)
{
    for (const sd_mapping *m = block->reservation->mappings; m; m = m->next)
        if (address - m->address < m->bytes)
            return m;
    return NULL;
}

static bool is_taken(const struct sd_reservation *range, uint64_t address, uint64_t bytes)
{
    for (const sd_mapping *m = range->mappings; m; m = m->next)
        if (address < m->address + m->bytes && m->address < address + bytes)
            return true;
    return false;
}

unsigned sd_map(sd_device *device, struct sd_reservation *range, uint64_t address, uint64_t bytes,
                int fd, uint64_t offset, sd_mapping **made)
{
    sd_mapping *m = is_taken(range, address, bytes) ? NULL : malloc(sizeof *m);
    if (!m)
        return is_taken(range, address, bytes) ? ACU_CUDA_ERROR_INVALID_VALUE
                                               : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t pages = address & ~(PAGE - 1);
    uint64_t span = (address + bytes - pages + PAGE - 1) & ~(PAGE - 1);
    if (mmap(sd_device_pointer(device, pages), span, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, fd, (off_t)offset) == MAP_FAILED) {
        free(m);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *m = (sd_mapping){.next = range->mappings, .address = address, .bytes = bytes, .pages = pages,
                      .span = span};
    m->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
    range->mappings = *made = m;
    return ACU_CUDA_SUCCESS;
}

/* Takes out the mappings that make up exactly [address, address + bytes); NULL if none do. */
static sd_mapping *take_mappings(struct sd_reservation *range, uint64_t address, uint64_t bytes)
{
    uint64_t covered = 0;
    for (const sd_mapping *m = range->mappings; m; m = m->next)
        if (m->address - address < bytes)
            covered += m->bytes;
        else if (m->address < address && address - m->address < m->bytes)
            return NULL;
    if (covered != bytes)
        return NULL;
    sd_mapping *taken = NULL;
    for (sd_mapping **at = &range->mappings; *at;) {
        sd_mapping *m = *at;
        if (m->address - address >= bytes) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        m->next = taken;
        taken = m;
    }
    return taken;
}

/* ---- entry points ---- */

/* Declare the device that these addresses belong to, locked until the function returns. */
static void unlock(sd_device **device)
{
    if (*device)
        pthread_mutex_unlock(&(*device)->lock);
}

#define SD_LOCKED(name, address) \
    __attribute__((cleanup(unlock))) sd_device *name = sd_device_of(address); \
    if (!name) \
        return ACU_CUDA_ERROR_INVALID_VALUE; \
    pthread_mutex_lock(&name->lock)

/* Reserved addresses are a device's: the current context's, or the first one's. */
static unsigned device_for_addresses(sd_device **device)
{
    sd_context *context = NULL;
    if (sd_enter_current(&context) == ACU_CUDA_SUCCESS) {
        *device = context->device;
        sd_context_leave(&context);
    } else {
        *device = sd_device_at(0);
    }
    return sd_device_open(*device);
}

unsigned sd_cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment,
                                CUdeviceptr wanted, unsigned long long flags)
{
    SD_ENTER();
    (void)wanted; /* a hint */
    if (!address || !bytes || bytes % SD_GRANULARITY || flags || alignment & (alignment - 1) ||
        bytes > SIZE_MAX / 2 || alignment > SIZE_MAX / 2)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_device *device;
    unsigned result = device_for_addresses(&device);
    if (result)
        return result;
    pthread_mutex_lock(&device->lock);
    const sd_block *block =
        sd_reserve(device, bytes, alignment < SD_GRANULARITY ? SD_GRANULARITY : alignment, NULL);
    if (block)
        *address = block->reservation->address;
    pthread_mutex_unlock(&device->lock);
    return block ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

unsigned sd_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    SD_ENTER();
    SD_LOCKED(device, address);
    const struct sd_reservation *range = find_range(device, address, bytes);
    if (!range || range->address != address || range->bytes != bytes || range->mappings)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_unreserve(device, sd_heap_find(&device->heap, address));
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                     CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    SD_ENTER();
    sd_allocation *memory = sd_object_get(SD_KIND_ALLOCATION, (void *)(uintptr_t)handle);
    if (!memory)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_device *device = memory->device;
    unsigned result = ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&device->lock);
    struct sd_reservation *range =
        sd_device_of(address) == device ? find_range(device, address, bytes) : NULL;
    sd_mapping *made = NULL;
    if (range && bytes && bytes <= memory->bytes && !offset && !flags &&
        address % SD_GRANULARITY == 0 && bytes % SD_GRANULARITY == 0)
        result = sd_map(device, range, address, bytes, memory->fd, 0, &made);
    if (made)
        made->allocation = memory;
    pthread_mutex_unlock(&device->lock);
    if (result)
        sd_object_put(&memory->object); /* on success the mapping has the reference */
    return result;
}

unsigned sd_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    SD_ENTER();
    sd_mapping *taken = NULL;
    {
        SD_LOCKED(device, address);
        struct sd_reservation *range = bytes ? find_range(device, address, bytes) : NULL;
        taken = range ? take_mappings(range, address, bytes) : NULL;
        for (sd_mapping *m = taken; m; m = m->next)
            take_back(device, m);
    }
    if (!taken)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    while (taken) { /* without the lock: this may free an allocation */
        sd_mapping *m = taken;
        taken = m->next;
        sd_object_put(&m->allocation->object);
        free(m);
    }
    return ACU_CUDA_SUCCESS;
}

/* Only the device that has the memory can reach it; read-only access is not distinguished. */
static unsigned check_access(const sd_device *device, const acu_CUmemAccessDesc *desc, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (desc[i].flags != ACU_CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            desc[i].flags != ACU_CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return ACU_CUDA_ERROR_INVALID_VALUE;
        if (desc[i].location.type != ACU_CU_MEM_LOCATION_TYPE_DEVICE)
            return ACU_CUDA_ERROR_NOT_SUPPORTED;
        if (!sd_device_at(desc[i].location.id))
            return ACU_CUDA_ERROR_INVALID_DEVICE;
        if (desc[i].location.id != device->ordinal)
            return ACU_CUDA_ERROR_NOT_SUPPORTED;
    }
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemSetAccess(CUdeviceptr address, size_t bytes, const acu_CUmemAccessDesc *desc,
                           size_t count)
{
    SD_ENTER();
    if (!desc || !count || !bytes)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_LOCKED(device, address);
    unsigned result = check_access(device, desc, count);
    if (result)
        return result;
    struct sd_reservation *range = find_range(device, address, bytes);
    sd_mapping *taken = range ? take_mappings(range, address, bytes) : NULL;
    if (!taken)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    bool open = desc[count - 1].flags != ACU_CU_MEM_ACCESS_FLAGS_PROT_NONE;
    while (taken) { /* put them back */
        sd_mapping *m = taken;
        taken = m->next;
        m->next = range->mappings;
        range->mappings = m;
        sd_mapping_open(device, m, open);
    }
    return ACU_CUDA_SUCCESS;
}
