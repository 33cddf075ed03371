/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The entry points for contexts: primary and created ones, and what can be asked of them and
 * set. */
#include "driver/context.h"

#include "driver/capture.h"
#include "driver/memory.h"
#include "driver/pool.h"

#define KNOWN_FLAGS ACU_CU_CTX_FLAGS_MASK

/* ---- primary contexts ---- */

static bool flags_are_known(unsigned flags)
{
    unsigned schedule = flags & ACU_CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)KNOWN_FLAGS) && (schedule & (schedule - 1)) == 0;
}

unsigned sd_cuDevicePrimaryCtxRetain(CUcontext *handle, CUdevice ordinal)
{
    SD_ENTER();
    sd_device *device = sd_device_at(ordinal);
    if (!handle || !device)
        return handle ? ACU_CUDA_ERROR_INVALID_DEVICE : ACU_CUDA_ERROR_INVALID_VALUE;
    for (;;) {
        pthread_mutex_lock(&sd.contexts_lock);
        if (device->primary) {
            device->primary_users++;
            *handle = device->primary->object.handle;
            pthread_mutex_unlock(&sd.contexts_lock);
            return ACU_CUDA_SUCCESS;
        }
        unsigned flags = device->primary_flags;
        pthread_mutex_unlock(&sd.contexts_lock);
        /* Creation takes other locks, so it runs without this one; of two threads one discards its
         * context. */
        sd_context *made;
        unsigned result = sd_context_create(device, flags, true, &made);
        if (result)
            return result;
        pthread_mutex_lock(&sd.contexts_lock);
        bool mine = !device->primary;
        if (mine)
            device->primary = made;
        pthread_mutex_unlock(&sd.contexts_lock);
        if (!mine)
            sd_context_destroy(made);
    }
}

unsigned sd_cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
    SD_ENTER();
    sd_device *device = sd_device_at(ordinal);
    if (!device)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    sd_context *last = NULL;
    pthread_mutex_lock(&sd.contexts_lock);
    bool retained = device->primary_users > 0;
    if (retained && --device->primary_users == 0) {
        last = device->primary;
        device->primary = NULL;
    }
    pthread_mutex_unlock(&sd.contexts_lock);
    if (last)
        sd_context_destroy(last);
    return retained ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_CONTEXT;
}

/* The context ends, whoever has retained it. Those who have may retain it anew, and still owe each
 * release. */
unsigned sd_cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
    SD_ENTER();
    sd_device *device = sd_device_at(ordinal);
    if (!device)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&sd.contexts_lock);
    sd_context *context = device->primary;
    device->primary = NULL;
    pthread_mutex_unlock(&sd.contexts_lock);
    if (context)
        sd_context_destroy(context);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags)
{
    SD_ENTER();
    sd_device *device = sd_device_at(ordinal);
    if (!device)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    if (!flags_are_known(flags))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&sd.contexts_lock);
    device->primary_flags = flags;
    if (device->primary)
        atomic_store_explicit(&device->primary->flags, flags, memory_order_relaxed);
    pthread_mutex_unlock(&sd.contexts_lock);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active)
{
    SD_ENTER();
    sd_device *device = sd_device_at(ordinal);
    if (!device || !flags || !active)
        return device ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&sd.contexts_lock);
    *flags = device->primary_flags;
    *active = device->primary != NULL;
    pthread_mutex_unlock(&sd.contexts_lock);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
    return sd_cuDevicePrimaryCtxRelease_v2(ordinal);
}

unsigned sd_cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags)
{
    return sd_cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

unsigned sd_cuDevicePrimaryCtxReset(CUdevice ordinal)
{
    return sd_cuDevicePrimaryCtxReset_v2(ordinal);
}

/* ---- created contexts ---- */

unsigned sd_cuCtxCreate_v2(CUcontext *handle, unsigned flags, CUdevice ordinal)
{
    SD_ENTER();
    sd_device *device = sd_device_at(ordinal);
    if (!handle || !flags_are_known(flags))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    sd_context *context;
    unsigned result = sd_context_create(device, flags, false, &context);
    if (!result) {
        result = sd_thread_push(context->object.handle);
        if (result)
            sd_context_destroy(context);
        else
            *handle = context->object.handle;
    }
    return result;
}

unsigned sd_cuCtxCreate_v3(CUcontext *handle, void *affinity, int affinities, unsigned flags,
                           CUdevice ordinal)
{
    SD_ENTER();
    if (affinity || affinities)
        return ACU_CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return sd_cuCtxCreate_v2(handle, flags, ordinal);
}

unsigned sd_cuCtxCreate_v4(CUcontext *handle, sd_context_params *params, unsigned flags,
                           CUdevice ordinal)
{
    SD_ENTER();
    if (params && params->cig_params)
        return ACU_CUDA_ERROR_NOT_SUPPORTED;
    return params ? sd_cuCtxCreate_v3(handle, params->exec_affinity_params,
                                      params->exec_affinity_count, flags, ordinal)
                  : sd_cuCtxCreate_v2(handle, flags, ordinal);
}

unsigned sd_cuCtxDestroy_v2(CUcontext handle)
{
    SD_ENTER();
    sd_context *context = sd_object_get(SD_KIND_CONTEXT, handle);
    if (!context)
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    bool own = !context->primary;
    if (own) {
        sd_thread_forget(handle);
        sd_context_destroy(context);
    }
    sd_object_put(&context->object);
    return own ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- asking and telling ---- */

/* The context of a handle, or the current one for NULL; with a reference. */
static unsigned find(CUcontext handle, sd_context **context)
{
    if (!handle)
        return sd_enter_current(context);
    unsigned result = sd_enter();
    if (result)
        return result;
    *context = sd_object_get(SD_KIND_CONTEXT, handle);
    return *context ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_CONTEXT;
}

unsigned sd_cuCtxGetApiVersion(CUcontext handle, unsigned *version)
{
    __attribute__((cleanup(sd_context_leave))) sd_context *context = NULL;
    unsigned result = find(handle, &context);
    if (!result && !version)
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *version = context->api_version;
    return result;
}

unsigned sd_cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    __attribute__((cleanup(sd_context_leave))) sd_context *context = NULL;
    unsigned result = find(handle, &context);
    if (!result && !id)
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *id = context->id;
    return result;
}

unsigned sd_cuCtxGetDevice_v2(CUdevice *ordinal, CUcontext handle)
{
    __attribute__((cleanup(sd_context_leave))) sd_context *context = NULL;
    unsigned result = find(handle, &context);
    if (!result && !ordinal)
        result = ACU_CUDA_ERROR_INVALID_VALUE;
    if (!result)
        *ordinal = context->device->ordinal;
    return result;
}

unsigned sd_cuCtxSynchronize_v2(CUcontext handle)
{
    __attribute__((cleanup(sd_context_leave))) sd_context *context = NULL;
    unsigned result = find(handle, &context);
    if (!result)
        result = sd_context_state(context);
    if (!result)
        result = sd_capture_all(context);
    if (!result)
        result = sd_capture_unsafe();
    if (result)
        return result;
    sd_context_drain(context);
    sd_pools_settle(context->device);
    return sd_context_state(context);
}

unsigned sd_cuCtxSynchronize(void)
{
    return sd_cuCtxSynchronize_v2(NULL);
}

unsigned sd_cuCtxGetFlags(unsigned *flags)
{
    SD_CURRENT(context);
    if (!flags)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *flags = atomic_load_explicit(&context->flags, memory_order_relaxed) | ACU_CU_CTX_MAP_HOST;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxSetFlags(unsigned flags)
{
    SD_CURRENT(context);
    if (!flags_are_known(flags))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    atomic_store_explicit(&context->flags, flags, memory_order_relaxed);
    return ACU_CUDA_SUCCESS;
}

static bool limit_is_known(unsigned limit)
{
    return limit <= ACU_CU_LIMIT_MALLOC_HEAP_SIZE ||
           limit == ACU_CU_LIMIT_MAX_L2_FETCH_GRANULARITY ||
           limit == ACU_CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
}

unsigned sd_cuCtxSetLimit(unsigned limit, size_t value)
{
    SD_CURRENT(context);
    SD_SAFE();
    if (!limit_is_known(limit))
        return limit < 16 ? ACU_CUDA_ERROR_UNSUPPORTED_LIMIT : ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    context->limits[limit] = value;
    pthread_mutex_unlock(&context->lock);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxGetLimit(size_t *value, unsigned limit)
{
    SD_CURRENT(context);
    if (!value)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!limit_is_known(limit))
        return limit < 16 ? ACU_CUDA_ERROR_UNSUPPORTED_LIMIT : ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    *value = context->limits[limit];
    pthread_mutex_unlock(&context->lock);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxGetCacheConfig(unsigned *config)
{
    SD_CURRENT(context);
    if (!config)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    *config = context->cache_config;
    pthread_mutex_unlock(&context->lock);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxSetCacheConfig(unsigned config)
{
    SD_CURRENT(context);
    if (config > ACU_CU_FUNC_CACHE_PREFER_EQUAL)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&context->lock);
    context->cache_config = config;
    pthread_mutex_unlock(&context->lock);
    return ACU_CUDA_SUCCESS;
}

/* Shared memory banks of four bytes; settings are accepted and have no effect. */
unsigned sd_cuCtxGetSharedMemConfig(unsigned *config)
{
    SD_CURRENT(context);
    if (!config)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *config = 1;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxSetSharedMemConfig(unsigned config)
{
    SD_CURRENT(context);
    return config <= 2 ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuCtxResetPersistingL2Cache(void)
{
    SD_CURRENT(context);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    SD_CURRENT(context);
    if (least)
        *least = 0;
    if (greatest)
        *greatest = 1 - SD_PRIORITIES;
    return ACU_CUDA_SUCCESS;
}

/* ---- peers ---- */

unsigned sd_cuDeviceCanAccessPeer(int *can, CUdevice ordinal, CUdevice peer)
{
    SD_ENTER();
    if (!can)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!sd_device_at(ordinal) || !sd_device_at(peer))
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    *can = ordinal != peer;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuDeviceGetP2PAttribute(int *value, unsigned attribute, CUdevice from, CUdevice to)
{
    SD_ENTER();
    if (!value || attribute < ACU_CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attribute > ACU_CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!sd_device_at(from) || !sd_device_at(to) || from == to)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == ACU_CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
             attribute == ACU_CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
    return ACU_CUDA_SUCCESS;
}

static unsigned switch_peer(sd_context *context, CUcontext handle, bool on)
{
    sd_context *peer = sd_object_get(SD_KIND_CONTEXT, handle);
    if (!peer)
        return ACU_CUDA_ERROR_INVALID_CONTEXT;
    sd_device *device = peer->device;
    unsigned result;
    if (on && peer == context)
        result = ACU_CUDA_ERROR_INVALID_CONTEXT;
    else if (device == context->device) /* a device is not its own peer */
        result =
            on ? ACU_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : ACU_CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    else if (!sd_access_set_peer(context, device, on))
        result = on ? ACU_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                    : ACU_CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    else
        result = sd_access_refresh(context, device);
    sd_object_put(&peer->object);
    return result;
}

unsigned sd_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    SD_CURRENT(context);
    return flags ? ACU_CUDA_ERROR_INVALID_VALUE : switch_peer(context, peer, true);
}

unsigned sd_cuCtxDisablePeerAccess(CUcontext peer)
{
    SD_CURRENT(context);
    return switch_peer(context, peer, false);
}
