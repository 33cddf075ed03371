/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Page-locked memory, which the driver gives out in pages, and slowly. Many small blocks of one
 * size are cut from one allocation, a slab; a large block is a slab of its own. A slab is freed
 * when all of its blocks are free.
 *
 * In calls that may block, the driver allocates the memory. For submissions, address space is taken
 * here and registered later (growth.c), because they need the address at once; such memory is never
 * write-combined.
 */
#include "memory/pool.h"

#include "base/alloc.h"
#include "base/error.h"

#include <sys/mman.h>
#include <unistd.h>

#define LARGEST ((size_t)64 << 10) /* the largest block that is one of several */
#define BYTES ((size_t)512 << 10)  /* of a slab of several, */
#define MOST 128                   /* ... or at most so many blocks */

/* ---- cutting ---- */

uint32_t acui_slab_count(size_t size)
{
    if (size > LARGEST)
        return 1;
    return (uint32_t)(BYTES / size < MOST ? BYTES / size : MOST);
}

acui_slab *acui_slab_new(size_t size, uint32_t count)
{
    acui_slab *slab = acui_alloc(sizeof *slab + count * sizeof(acui_block));
    if (!slab) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a list of blocks");
        return NULL;
    }
    slab->count = count;
    slab->bytes = count * size;
    for (uint32_t i = 0; i < count; i++) {
        slab->blocks[i].bytes = size;
        slab->blocks[i].bin = acui_block_bin(size);
        slab->blocks[i].slab = slab;
    }
    return slab;
}

void acui_slab_cut(acu_pool *pool, acui_slab *slab, uint32_t used)
{
    for (uint32_t i = slab->count; i-- > 0;) {
        acui_block *b = &slab->blocks[i];
        b->host = (char *)slab->host + i * b->bytes;
        b->address = slab->address + i * b->bytes;
        if (i >= used)
            acui_pool_link(pool, b);
    }
}

/* ---- made by the driver ---- */

static acu_status make(acu_pool *pool, acui_slab *slab)
{
    acu_device *device = pool->device;
    unsigned flags = ACU_CU_MEMHOSTALLOC_PORTABLE | ACU_CU_MEMHOSTALLOC_DEVICEMAP;
    if (pool->write_combined)
        flags |= ACU_CU_MEMHOSTALLOC_WRITECOMBINED;
    ACUI_TRY(ACUI_DEV(device, MemHostAlloc, &slab->host, slab->bytes, flags));
    acu_status st = ACUI_DEV(device, MemHostGetDevicePointer, &slab->address, slab->host, 0);
    if (st != ACU_OK && !acui_device_lost(device))
        device->cu->MemFreeHost(slab->host);
    return st;
}

acu_status acui_slab_get(acu_pool *pool, size_t size, acui_block **block)
{
    uint32_t count = acui_slab_count(size);
    /* Near the limit: as many blocks as fit. */
    while (!acui_source_reserve(pool, count * size))
        if ((count /= 2) == 0)
            return acui_fail(ACU_ERR_DEVICE_MEMORY, "the pool's limit is reached");
    acui_slab *slab = acui_slab_new(size, count);
    acu_status st = slab ? make(pool, slab) : ACU_ERR_NO_MEMORY;
    if (st != ACU_OK) {
        acui_free(slab);
        acui_source_unreserve(pool, count * size);
        return st;
    }
    acui_lock_take(&pool->lock);
    acui_slab_cut(pool, slab, 1);
    acui_lock_give(&pool->lock);
    *block = &slab->blocks[0];
    return ACU_OK;
}

/* ---- mapped here, and registered ---- */

static size_t mapped_bytes(const acui_slab *slab)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (slab->bytes + page - 1) / page * page;
}

acu_status acui_slab_map(acui_slab *slab)
{
    /* Near SIZE_MAX the sum wraps. */
    size_t bytes = mapped_bytes(slab);
    void *memory = bytes < slab->bytes ? MAP_FAILED
                                       : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return acui_fail(ACU_ERR_DEVICE_MEMORY, "the system has no addresses for it");
    slab->host = memory;
    slab->registered = true;
    return ACU_OK;
}

acu_status acui_slab_register(acu_pool *pool, acui_slab *slab)
{
    acu_device *device = pool->device;
    size_t bytes = mapped_bytes(slab);
    /* After a fork, the device would otherwise go on with pages that belong to only one of the two
     * processes. */
    madvise(slab->host, bytes, MADV_DONTFORK);
#ifdef MADV_POPULATE_WRITE
    /* Otherwise the driver does this, and keeps all threads from changing the address space
     * meanwhile. */
    madvise(slab->host, bytes, MADV_POPULATE_WRITE);
#endif
    ACUI_TRY(ACUI_DEV(device, MemHostRegister, slab->host, bytes,
                      ACU_CU_MEMHOSTREGISTER_PORTABLE | ACU_CU_MEMHOSTREGISTER_DEVICEMAP));
    acu_status st = ACUI_DEV(device, MemHostGetDevicePointer, &slab->address, slab->host, 0);
    if (st != ACU_OK && !acui_device_lost(device))
        device->cu->MemHostUnregister(slab->host);
    return st;
}

void acui_slab_unmap(acui_slab *slab)
{
    munmap(slab->host, mapped_bytes(slab));
    acui_free(slab);
}

/* ---- either ---- */

static void slab_free(acu_pool *pool, acui_slab *slab)
{
    const acu_device *device = pool->device;
    bool lost = acui_device_lost(device);
    acui_memory_returns();
    for (uint32_t i = 0; i < slab->count; i++)
        acui_fences_clear(&slab->blocks[i].fences, device);
    if (!slab->registered) {
        if (!lost)
            device->cu->MemFreeHost(slab->host);
        acui_free(slab);
    } else if (!lost && device->cu->MemHostUnregister(slab->host) == ACU_CUDA_SUCCESS) {
        acui_slab_unmap(slab);
    } else {
        /* The driver still considers these addresses registered: nobody else may get them. */
        madvise(slab->host, mapped_bytes(slab), MADV_DONTNEED);
        acui_free(slab);
    }
}

size_t acui_slabs_free(acu_pool *pool, acui_slab *slabs)
{
    size_t freed = 0;
    while (slabs) {
        acui_slab *slab = slabs;
        slabs = slab->next;
        freed += slab->bytes;
        slab_free(pool, slab);
    }
    return freed;
}
