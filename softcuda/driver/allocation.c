/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Allocations without an address (cuMemCreate): files in memory, created, exported and imported.
 * The file lives as long as its handle, or a mapping of it, does.
 */
#include "driver/virtual.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "softcuda-allocation" /* by which they are known again */

static void destroy(sd_object *object)
{
    sd_allocation *memory = (sd_allocation *)object;
    if (memory->committed) {
        pthread_mutex_lock(&memory->device->lock);
        memory->device->committed -= memory->bytes;
        pthread_mutex_unlock(&memory->device->lock);
    }
    close(memory->fd);
    free(memory);
}

/* Gives the allocation a handle. Takes the descriptor, but only on success. */
static unsigned publish(sd_allocation known, CUmemGenericAllocationHandle *handle)
{
    sd_allocation *memory = malloc(sizeof *memory);
    if (!memory)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    *memory = known;
    if (!sd_object_publish(&memory->object, SD_KIND_ALLOCATION, destroy)) {
        free(memory);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (uintptr_t)memory->object.handle;
    return ACU_CUDA_SUCCESS;
}

/* ---- making ---- */

static unsigned check_prop(const acu_CUmemAllocationProp *prop, sd_device **device)
{
    if (!prop || prop->type != ACU_CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != ACU_CU_MEM_LOCATION_TYPE_DEVICE ||
        prop->requestedHandleTypes & ~(unsigned)ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    *device = sd_device_at(prop->location.id);
    return *device ? sd_device_open(*device) : ACU_CUDA_ERROR_INVALID_DEVICE;
}

unsigned sd_cuMemGetAllocationGranularity(size_t *granularity, const acu_CUmemAllocationProp *prop,
                                          unsigned option)
{
    SD_ENTER();
    sd_device *device;
    if (!granularity || option > ACU_CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = check_prop(prop, &device);
    if (!result)
        *granularity = SD_GRANULARITY;
    return result;
}

static int make_file(uint64_t bytes)
{
    int fd = memfd_create(FILE_NAME, MFD_CLOEXEC);
    if (fd >= 0 && fd <= 2) { /* the program closed its standard streams, and may still print */
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        close(fd);
        fd = higher;
    }
    if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    close(fd);
    return -1;
}

unsigned sd_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                        const acu_CUmemAllocationProp *prop, unsigned long long flags)
{
    SD_ENTER();
    sd_device *device;
    if (!handle || !bytes || bytes % SD_GRANULARITY || flags)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = check_prop(prop, &device);
    if (result)
        return result;
    pthread_mutex_lock(&device->lock);
    bool room = sd_memory_commit(device, bytes);
    pthread_mutex_unlock(&device->lock);
    if (!room)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    sd_allocation memory = {.device = device, .fd = make_file(bytes), .bytes = bytes,
                            .shareable = prop->requestedHandleTypes != 0, .committed = true};
    result = memory.fd < 0 ? ACU_CUDA_ERROR_OUT_OF_MEMORY : publish(memory, handle);
    if (result) {
        pthread_mutex_lock(&device->lock);
        device->committed -= bytes;
        pthread_mutex_unlock(&device->lock);
        if (memory.fd >= 0)
            close(memory.fd);
    }
    return result;
}

unsigned sd_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    SD_ENTER();
    sd_allocation *memory = sd_object_get(SD_KIND_ALLOCATION, (void *)(uintptr_t)handle);
    if (!memory)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    bool released = sd_object_retire(&memory->object);
    if (released)
        sd_object_put(&memory->object); /* mappings keep it alive */
    sd_object_put(&memory->object);
    return released ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

/* ---- handing over ---- */

unsigned sd_cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                         unsigned type, unsigned long long flags)
{
    SD_ENTER();
    if (!shareable || flags || type != ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_allocation *memory = sd_object_get(SD_KIND_ALLOCATION, (void *)(uintptr_t)handle);
    if (!memory)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    int fd = memory->shareable ? fcntl(memory->fd, F_DUPFD_CLOEXEC, 0) : -1;
    unsigned result = memory->shareable ? ACU_CUDA_ERROR_OPERATING_SYSTEM
                                        : ACU_CUDA_ERROR_INVALID_VALUE;
    sd_object_put(&memory->object);
    if (fd < 0)
        return result;
    memcpy(shareable, &fd, sizeof fd);
    return ACU_CUDA_SUCCESS;
}

/* The size of a file that this driver made, in this or another process; 0 for anything else. */
static uint64_t size_of_ours(int fd)
{
    char link[48], name[64] = "";
    struct stat facts;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, name, sizeof name - 1) < 0 ||
        strncmp(name, "/memfd:" FILE_NAME, strlen("/memfd:" FILE_NAME)) != 0 ||
        fstat(fd, &facts) != 0)
        return 0;
    return (uint64_t)facts.st_size;
}

unsigned sd_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                           unsigned type)
{
    SD_CURRENT(context);
    if (!handle || type != ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    int given = (int)(intptr_t)shareable;
    /* Not shareable: drivers export what they created, not what they imported. */
    sd_allocation memory = {.device = context->device, .bytes = size_of_ours(given)};
    if (!memory.bytes)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    memory.fd = fcntl(given, F_DUPFD_CLOEXEC, 0); /* the program keeps its descriptor */
    if (memory.fd < 0)
        return ACU_CUDA_ERROR_OPERATING_SYSTEM;
    unsigned result = publish(memory, handle);
    if (result)
        close(memory.fd);
    return result;
}
