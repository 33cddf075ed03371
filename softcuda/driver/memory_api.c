/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The entry points for device memory, and for asking what a pointer is. */
#include "driver/capture.h"
#include "driver/memory.h"
#include "driver/pool.h"

#include <string.h>

#define PITCH 512 /* bytes: rows start on multiples */

unsigned sd_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    SD_CURRENT(context);
    SD_SAFE();
    if (!address || !bytes)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    uint64_t made;
    unsigned result = sd_memory_alloc(context, bytes, &made);
    if (!result)
        *address = made;
    return result;
}

unsigned sd_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                               unsigned element)
{
    SD_ENTER();
    size_t bytes;
    if (!address || !pitch || !width || !height ||
        (element != 4 && element != 8 && element != 16) || width > SIZE_MAX - PITCH ||
        __builtin_mul_overflow((width + PITCH - 1) / PITCH * PITCH, height, &bytes))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = sd_cuMemAlloc_v2(address, bytes);
    if (!result)
        *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return result;
}

unsigned sd_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    SD_CURRENT(context);
    SD_SAFE();
    if (!address || !bytes ||
        (flags != ACU_CU_MEM_ATTACH_GLOBAL && flags != ACU_CU_MEM_ATTACH_HOST))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    uint64_t made;
    unsigned result = sd_host_alloc_managed(context, bytes, &made);
    if (!result)
        *address = made;
    return result;
}

/* Wait for everything that may still use memory of the device. */
static void drain(sd_device *device)
{
    for (uint64_t above = 0;;) {
        sd_context *next = NULL;
        pthread_mutex_lock(&sd.contexts_lock);
        for (sd_context *c = device->contexts; c; c = c->device_next)
            if (c->id > above && (!next || c->id < next->id))
                next = c;
        if (next && !sd_object_try_hold(&next->object))
            next = NULL;
        pthread_mutex_unlock(&sd.contexts_lock);
        if (!next)
            return;
        above = next->id;
        sd_context_drain(next);
        sd_object_put(&next->object);
    }
}

static bool is_managed(const sd_location *at)
{
    return at->place == SD_PLACE_PINNED && at->flags & SD_MANAGED;
}

unsigned sd_cuMemFree_v2(CUdeviceptr address)
{
    SD_ANYWHERE(context);
    SD_SAFE();
    if (!address)
        return ACU_CUDA_SUCCESS;
    sd_location at = sd_locate(address, 0);
    if (is_managed(&at))
        return sd_host_free(context, address, true);
    if (at.place != SD_PLACE_DEVICE || at.base != address)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    drain(at.device);
    if (!sd_memory_free(at.device, address))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return context ? sd_context_state(context) : sd_device_state(at.device);
}

unsigned sd_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    SD_CURRENT(context);
    if (!free_bytes || !total)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_device *device = context->device;
    pthread_mutex_lock(&device->lock);
    *free_bytes = device->memory - device->committed;
    pthread_mutex_unlock(&device->lock);
    *total = device->memory;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    SD_CURRENT(context);
    sd_location at = sd_locate(address, 0);
    if (at.place == SD_PLACE_PAGEABLE || at.place == SD_PLACE_NOWHERE)
        return ACU_CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = at.base;
    if (bytes)
        *bytes = at.size;
    return ACU_CUDA_SUCCESS;
}

/* Pages stay where they are: hints about them are checked, and have no effect. */
static unsigned check_hint(CUdeviceptr address, size_t count, CUdevice device)
{
    sd_location at = sd_locate(address, count);
    if (!count || !is_managed(&at))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return device == ACU_CU_DEVICE_CPU || sd_device_at(device) ? ACU_CUDA_SUCCESS
                                                               : ACU_CUDA_ERROR_INVALID_DEVICE;
}

unsigned sd_cuMemAdvise(CUdeviceptr address, size_t count, unsigned advice, CUdevice device)
{
    SD_CURRENT(context);
    (void)context;
    if (advice < ACU_CU_MEM_ADVISE_SET_READ_MOSTLY || advice > ACU_CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return check_hint(address, count, device);
}

unsigned sd_cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice to, CUstream handle)
{
    SD_STREAM_FOR(SD_STREAM_FREE, stream, handle);
    return check_hint(address, count, to);
}

/* The newer forms name a location, where the older ones have a device. */
static unsigned device_of_location(const acu_CUmemLocation *location, CUdevice *device)
{
    *device = location->type == ACU_CU_MEM_LOCATION_TYPE_DEVICE ? location->id
                                                                : ACU_CU_DEVICE_CPU;
    return location->type >= ACU_CU_MEM_LOCATION_TYPE_DEVICE &&
                   location->type <= ACU_CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
               ? ACU_CUDA_SUCCESS
               : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuMemAdvise_v2(CUdeviceptr address, size_t count, unsigned advice,
                           acu_CUmemLocation location)
{
    CUdevice device;
    const bool needs_none = advice == ACU_CU_MEM_ADVISE_SET_READ_MOSTLY ||
                            advice == ACU_CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                            advice == ACU_CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    unsigned result = device_of_location(&location, &device);
    if (needs_none) /* the location does not matter, and may be none */
        device = ACU_CU_DEVICE_CPU;
    return result && !needs_none ? result : sd_cuMemAdvise(address, count, advice, device);
}

unsigned sd_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, acu_CUmemLocation location,
                                  unsigned flags, CUstream handle)
{
    CUdevice device;
    unsigned result = device_of_location(&location, &device);
    if (flags)
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    return result ? result : sd_cuMemPrefetchAsync(address, count, device, handle);
}

/* ---- what a pointer is ---- */

/* The value of an attribute, and its size: a pointer, a number of 8 bytes, of 4, or one byte. */
typedef struct answer {
    uint64_t value;
    size_t bytes;
} answer;

/* The device for which the memory was allocated or registered; for host memory, its context's. */
static uint64_t ordinal_of(const sd_location *at)
{
    int ordinal = at->device ? at->device->ordinal : 0;
    sd_context *context = at->place == SD_PLACE_DEVICE
                              ? NULL
                              : (sd_context *)sd_object_get(SD_KIND_CONTEXT, at->context);
    if (context) {
        ordinal = context->device->ordinal;
        sd_object_put(&context->object);
    }
    return (uint64_t)(unsigned)ordinal;
}

static unsigned ask(const sd_location *at, uint64_t address, unsigned attribute, answer *a)
{
    bool device = at->place == SD_PLACE_DEVICE, managed = is_managed(at);
    switch (attribute) {
    case ACU_CU_POINTER_ATTRIBUTE_CONTEXT:
        *a = (answer){(uint64_t)(uintptr_t)at->context, sizeof(void *)};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *a = (answer){device || managed ? ACU_CU_MEMORYTYPE_DEVICE : ACU_CU_MEMORYTYPE_HOST, 4};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *a = (answer){address, 8};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *a = (answer){address, sizeof(void *)};
        return device ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case ACU_CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *a = (answer){at->id, 8};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *a = (answer){ordinal_of(at), 4};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case ACU_CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *a = (answer){at->base, 8};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case ACU_CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *a = (answer){at->size, 8};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_MAPPED:
        *a = (answer){1, 1};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *a = (answer){managed, 1};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case ACU_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case ACU_CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case ACU_CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *a = (answer){0, 1};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *a = (answer){0, 8};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *a = (answer){ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 4};
        return ACU_CUDA_SUCCESS;
    case ACU_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *a = (answer){(uint64_t)(uintptr_t)at->pool, sizeof(void *)};
        return ACU_CUDA_SUCCESS;
    default:
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
}

static bool known(const sd_location *at)
{
    return at->place != SD_PLACE_PAGEABLE && at->place != SD_PLACE_NOWHERE;
}

/* Little-endian: the low bytes of the number come first. */
static void store(void *data, const answer *a)
{
    memcpy(data, &a->value, a->bytes);
}

unsigned sd_cuPointerGetAttribute(void *data, unsigned attribute, CUdeviceptr address)
{
    SD_ANYWHERE(context);
    sd_location at = sd_locate(address, 0);
    answer a = {0};
    if (!data || !known(&at))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = ask(&at, address, attribute, &a);
    if (!result)
        store(data, &a);
    return result;
}

/* For a pointer that is not CUDA's the answers are 0, and the ordinal says that there is no
 * device. */
unsigned sd_cuPointerGetAttributes(unsigned count, unsigned *attributes, void **data,
                                   CUdeviceptr address)
{
    SD_ANYWHERE(context);
    if (!count || !attributes || !data)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_location at = sd_locate(address, 0);
    for (unsigned i = 0; i < count; i++) {
        answer a = {0};
        unsigned result = ask(&at, address, attributes[i], &a);
        if (result && a.bytes == 0)
            return result;
        if (result || !known(&at))
            a.value = attributes[i] == ACU_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
                          ? (uint64_t)(uint32_t)ACU_CU_DEVICE_INVALID
                          : 0;
        if (data[i])
            store(data[i], &a);
    }
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuPointerSetAttribute(const void *value, unsigned attribute, CUdeviceptr address)
{
    SD_CURRENT(context);
    sd_location at = sd_locate(address, 0);
    if (!value || !known(&at) || attribute != ACU_CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    return ACU_CUDA_SUCCESS; /* synchronous copies wait anyway */
}
