/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The entry points for pools: creation, attributes, and who may use them. */
#include "driver/capture.h"
#include "driver/pool.h"

#include <string.h>

static void leave(sd_pool **pool)
{
    if (*pool)
        sd_object_put(&(*pool)->object);
}

/* Declare `name`, the pool of `handle`. */
#define SD_POOL(name, handle) \
    SD_ENTER(); \
    SD_SAFE(); \
    __attribute__((cleanup(leave))) sd_pool *name = sd_object_get(SD_KIND_POOL, handle); \
    if (!name) \
    return ACU_CUDA_ERROR_INVALID_VALUE

/* The device, with its memory mapped and so with its default pool. */
static unsigned open_device(CUdevice ordinal, sd_device **device)
{
    *device = sd_device_at(ordinal);
    return *device ? sd_device_open(*device) : ACU_CUDA_ERROR_INVALID_DEVICE;
}

unsigned sd_cuMemPoolCreate(CUmemoryPool *handle, const acu_CUmemPoolProps *props)
{
    SD_ENTER();
    SD_SAFE();
    if (!handle || !props || props->allocType != ACU_CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type == ACU_CU_MEM_LOCATION_TYPE_INVALID ||
        props->location.type > ACU_CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != ACU_CU_MEM_HANDLE_TYPE_NONE ||
        props->location.type != ACU_CU_MEM_LOCATION_TYPE_DEVICE)
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    sd_device *device;
    sd_pool *pool;
    unsigned result = open_device(props->location.id, &device);
    if (result == ACU_CUDA_ERROR_INVALID_DEVICE)
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    if (!result)
        result = sd_pool_create(device, &pool);
    if (result)
        return result;
    pool->limit = props->maxSize;
    *handle = pool->object.handle;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemPoolDestroy(CUmemoryPool handle)
{
    SD_POOL(pool, handle);
    sd_device *device = pool->device;
    if (pool == device->default_pool)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&device->lock);
    /* A device whose current pool goes away returns to its default pool. */
    if (device->current_pool == pool)
        device->current_pool = device->default_pool;
    pthread_mutex_unlock(&device->lock);
    if (!sd_object_retire(&pool->object))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_object_put(&pool->object);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    SD_POOL(pool, handle);
    pthread_mutex_lock(&pool->device->lock);
    sd_pool_shrink(pool, keep);
    pthread_mutex_unlock(&pool->device->lock);
    return ACU_CUDA_SUCCESS;
}

/* ---- attributes ---- */

/* Sets an attribute. High-water marks can only be reset, by 0, to the present value. With
 * device->lock. */
static unsigned set_attribute(sd_pool *pool, unsigned attribute, const void *value)
{
    int flag;
    uint64_t bytes;
    switch (attribute) {
    case ACU_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(&flag, value, sizeof flag);
        pool->reuse[attribute - ACU_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = flag != 0;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        memcpy(&pool->threshold, value, sizeof pool->threshold);
        return ACU_CUDA_SUCCESS;
    case ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case ACU_CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        memcpy(&bytes, value, sizeof bytes);
        if (bytes)
            return ACU_CUDA_ERROR_INVALID_VALUE;
        if (attribute == ACU_CU_MEMPOOL_ATTR_USED_MEM_HIGH)
            pool->used_high = pool->used;
        else
            pool->reserved_high = pool->reserved;
        return ACU_CUDA_SUCCESS;
    default:
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
}

/* With device->lock. */
static unsigned get_attribute(const sd_pool *pool, unsigned attribute, void *value)
{
    uint64_t bytes;
    switch (attribute) {
    case ACU_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        memcpy(value, &pool->reuse[attribute - ACU_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES],
               sizeof(int));
        return ACU_CUDA_SUCCESS;
    case ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        bytes = pool->threshold;
        break;
    case ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        bytes = pool->reserved;
        break;
    case ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        bytes = pool->reserved_high;
        break;
    case ACU_CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        bytes = pool->used;
        break;
    case ACU_CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        bytes = pool->used_high;
        break;
    default:
        return ACU_CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(value, &bytes, sizeof bytes);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemPoolSetAttribute(CUmemoryPool handle, unsigned attribute, void *value)
{
    SD_POOL(pool, handle);
    if (!value)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&pool->device->lock);
    unsigned result = set_attribute(pool, attribute, value);
    pthread_mutex_unlock(&pool->device->lock);
    return result;
}

unsigned sd_cuMemPoolGetAttribute(CUmemoryPool handle, unsigned attribute, void *value)
{
    SD_POOL(pool, handle);
    if (!value)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&pool->device->lock);
    unsigned result = get_attribute(pool, attribute, value);
    pthread_mutex_unlock(&pool->device->lock);
    return result;
}

/* ---- access ---- */

static unsigned check_access(const sd_pool *pool, const acu_CUmemAccessDesc *entry)
{
    if (entry->location.type != ACU_CU_MEM_LOCATION_TYPE_DEVICE ||
        (entry->flags != ACU_CU_MEM_ACCESS_FLAGS_PROT_NONE &&
         entry->flags != ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_device *viewer = sd_device_at(entry->location.id);
    if (!viewer)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    /* The pool's own device has access, which can not be taken away. */
    if (viewer == pool->device && entry->flags == ACU_CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuMemPoolSetAccess(CUmemoryPool handle, const acu_CUmemAccessDesc *map, size_t count)
{
    SD_POOL(pool, handle);
    if (!map || !count)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = ACU_CUDA_SUCCESS;
    for (size_t i = 0; i < count && !result; i++)
        result = check_access(pool, &map[i]);
    for (size_t i = 0; i < count && !result; i++) {
        pthread_mutex_lock(&pool->device->lock);
        pool->access[map[i].location.id] = (unsigned char)map[i].flags;
        pthread_mutex_unlock(&pool->device->lock);
        result = sd_access_refresh_all(sd_device_at(map[i].location.id), pool->device);
    }
    return result;
}

unsigned sd_cuMemPoolGetAccess(unsigned *flags, CUmemoryPool handle, acu_CUmemLocation *location)
{
    SD_POOL(pool, handle);
    if (!flags || !location || location->type != ACU_CU_MEM_LOCATION_TYPE_DEVICE)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_device *viewer = sd_device_at(location->id);
    if (!viewer)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&pool->device->lock);
    *flags = viewer == pool->device ? ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                    : pool->access[viewer->ordinal];
    pthread_mutex_unlock(&pool->device->lock);
    return ACU_CUDA_SUCCESS;
}

/* ---- the pools of devices ---- */

unsigned sd_cuDeviceGetDefaultMemPool(CUmemoryPool *handle, CUdevice ordinal)
{
    SD_ENTER();
    sd_device *device;
    unsigned result = handle ? open_device(ordinal, &device) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *handle = device->default_pool->object.handle;
    return result;
}

unsigned sd_cuDeviceGetMemPool(CUmemoryPool *handle, CUdevice ordinal)
{
    SD_ENTER();
    sd_device *device;
    unsigned result = handle ? open_device(ordinal, &device) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    pthread_mutex_lock(&device->lock);
    *handle = device->current_pool->object.handle;
    pthread_mutex_unlock(&device->lock);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle)
{
    SD_POOL(pool, handle);
    sd_device *device = sd_device_at(ordinal);
    if (!device)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    if (pool->device != device)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&device->lock);
    device->current_pool = pool;
    pthread_mutex_unlock(&device->lock);
    return ACU_CUDA_SUCCESS;
}
