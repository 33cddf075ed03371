/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The driver's entry points that acuda knows, in one list. The table, its wrappers, the loader, the
 * counts of live objects, fault injection and the test against cuda.h are generated from it, so
 * another call takes one more line here, in ACU_DRIVER_CALLS_ADDED (and its place in the software
 * device: CONTRIBUTING.md).
 *
 *     X(name, symbol, since, effect, kind, (parameters), (arguments))
 *
 * name        field of acu_driver_table: CUDA's name without "cu", and without the suffix if only
 *             one version of the call is listed. No macro of cuda.h can rename it.
 * symbol      the exported symbol. Suffixes matter: cuMemAlloc is not cuMemAlloc_v2.
 * since       the CUDA version that introduced this symbol, as 1000 * major + 10 * minor
 * effect      CREATE: success creates an object of `kind`; DESTROY: success destroys one; NONE
 * kind        one of ACU_DRIVER_KINDS, or NONE
 *
 * Each call returns a CUresult, as an unsigned.
 */
#ifndef ACUDA_DRIVER_CALLS_H
#define ACUDA_DRIVER_CALLS_H

#include <acuda/driver_abi.h>

/* Kinds of driver objects that are counted: X(NAME, name in reports). */
#define ACU_DRIVER_KINDS(X) \
    X(PRIMARY_CONTEXT, "retained primary context") \
    X(CONTEXT, "context") \
    X(STREAM, "stream") \
    X(EVENT, "event") \
    X(MEMORY, "device allocation") \
    X(PINNED, "pinned host allocation") \
    X(REGISTRATION, "registered host range") \
    X(POOL, "memory pool") \
    X(ALLOCATION, "allocation without an address") \
    X(ADDRESSES, "reserved range of addresses") \
    X(MAPPING, "mapped range of addresses") \
    X(EXTERNAL, "memory of another API") \
    X(MODULE, "module") \
    X(LIBRARY, "library") \
    X(LINK, "link in progress") \
    X(GRAPH, "graph") \
    X(EXEC, "executable graph")

/* Start, versions, errors, profiler. */
#define ACU_DRIVER_CALLS_BASE(X) \
    X(Init, cuInit, 2000, NONE, NONE, \
      (unsigned flags), (flags)) \
    X(DriverGetVersion, cuDriverGetVersion, 2020, NONE, NONE, \
      (int *version), (version)) \
    X(GetErrorName, cuGetErrorName, 6000, NONE, NONE, \
      (unsigned result, const char **text), (result, text)) \
    X(GetErrorString, cuGetErrorString, 6000, NONE, NONE, \
      (unsigned result, const char **text), (result, text)) \
    X(GetProcAddress, cuGetProcAddress, 11030, NONE, NONE, \
      (const char *symbol, void **pfn, int version, uint64_t flags), \
      (symbol, pfn, version, flags)) \
    X(GetProcAddress_v2, cuGetProcAddress_v2, 12000, NONE, NONE, \
      (const char *symbol, void **pfn, int version, uint64_t flags, unsigned *symbol_status), \
      (symbol, pfn, version, flags, symbol_status)) \
    X(ProfilerStart, cuProfilerStart, 4000, NONE, NONE, \
      (void), ()) \
    X(ProfilerStop, cuProfilerStop, 4000, NONE, NONE, \
      (void), ())

/* Devices. */
#define ACU_DRIVER_CALLS_DEVICE(X) \
    X(DeviceGet, cuDeviceGet, 2000, NONE, NONE, \
      (CUdevice *device, int ordinal), (device, ordinal)) \
    X(DeviceGetCount, cuDeviceGetCount, 2000, NONE, NONE, \
      (int *count), (count)) \
    X(DeviceGetName, cuDeviceGetName, 2000, NONE, NONE, \
      (char *name, int len, CUdevice device), (name, len, device)) \
    X(DeviceGetUuid, cuDeviceGetUuid_v2, 11040, NONE, NONE, \
      (acu_CUuuid *uuid, CUdevice device), (uuid, device)) \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, 3020, NONE, NONE, \
      (size_t *bytes, CUdevice device), (bytes, device)) \
    X(DeviceGetAttribute, cuDeviceGetAttribute, 2000, NONE, NONE, \
      (int *value, unsigned attribute, CUdevice device), (value, attribute, device)) \
    X(DeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, NONE, NONE, \
      (char *pci_bus_id, int len, CUdevice device), (pci_bus_id, len, device)) \
    X(DeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010, NONE, NONE, \
      (CUdevice *device, const char *pci_bus_id), (device, pci_bus_id)) \
    X(DeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, NONE, NONE, \
      (int *can_access_peer, CUdevice device, CUdevice peer), (can_access_peer, device, peer)) \
    X(DeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000, NONE, NONE, \
      (int *value, unsigned attribute, CUdevice src, CUdevice dst), \
      (value, attribute, src, dst)) \
    X(DeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, NONE, NONE, \
      (CUmemoryPool *pool, CUdevice device), (pool, device)) \
    X(DeviceGetMemPool, cuDeviceGetMemPool, 11020, NONE, NONE, \
      (CUmemoryPool *pool, CUdevice device), (pool, device)) \
    X(DeviceSetMemPool, cuDeviceSetMemPool, 11020, NONE, NONE, \
      (CUdevice device, CUmemoryPool pool), (device, pool))

/* Contexts. */
#define ACU_DRIVER_CALLS_CONTEXT(X) \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, CREATE, PRIMARY_CONTEXT, \
      (CUcontext *ctx, CUdevice device), (ctx, device)) \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, DESTROY, PRIMARY_CONTEXT, \
      (CUdevice device), (device)) \
    X(DevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, 11000, NONE, NONE, \
      (CUdevice device, unsigned flags), (device, flags)) \
    X(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, NONE, NONE, \
      (CUdevice device, unsigned *flags, int *active), (device, flags, active)) \
    X(DevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, NONE, NONE, \
      (CUdevice device), (device)) \
    X(CtxCreate, cuCtxCreate_v2, 3020, CREATE, CONTEXT, \
      (CUcontext *ctx, unsigned flags, CUdevice device), (ctx, flags, device)) \
    X(CtxDestroy, cuCtxDestroy_v2, 4000, DESTROY, CONTEXT, \
      (CUcontext ctx), (ctx)) \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, 4000, NONE, NONE, \
      (CUcontext ctx), (ctx)) \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, 4000, NONE, NONE, \
      (CUcontext *ctx), (ctx)) \
    X(CtxSetCurrent, cuCtxSetCurrent, 4000, NONE, NONE, \
      (CUcontext ctx), (ctx)) \
    X(CtxGetCurrent, cuCtxGetCurrent, 4000, NONE, NONE, \
      (CUcontext *ctx), (ctx)) \
    X(CtxGetDevice, cuCtxGetDevice, 2000, NONE, NONE, \
      (CUdevice *device), (device)) \
    X(CtxGetFlags, cuCtxGetFlags, 7000, NONE, NONE, \
      (unsigned *flags), (flags)) \
    X(CtxGetApiVersion, cuCtxGetApiVersion, 3020, NONE, NONE, \
      (CUcontext ctx, unsigned *version), (ctx, version)) \
    X(CtxSynchronize, cuCtxSynchronize, 2000, NONE, NONE, \
      (void), ()) \
    X(CtxSetLimit, cuCtxSetLimit, 3010, NONE, NONE, \
      (unsigned limit, size_t value), (limit, value)) \
    X(CtxGetLimit, cuCtxGetLimit, 3010, NONE, NONE, \
      (size_t *value, unsigned limit), (value, limit)) \
    X(CtxGetCacheConfig, cuCtxGetCacheConfig, 3020, NONE, NONE, \
      (unsigned *config), (config)) \
    X(CtxSetCacheConfig, cuCtxSetCacheConfig, 3020, NONE, NONE, \
      (unsigned config), (config)) \
    X(CtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, NONE, NONE, \
      (int *least_priority, int *greatest_priority), (least_priority, greatest_priority)) \
    X(CtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, NONE, NONE, \
      (CUcontext peer, unsigned flags), (peer, flags)) \
    X(CtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000, NONE, NONE, \
      (CUcontext peer), (peer))

/* Streams, host functions, memory operations of streams. */
#define ACU_DRIVER_CALLS_STREAM(X) \
    X(StreamCreate, cuStreamCreate, 2000, CREATE, STREAM, \
      (CUstream *stream, unsigned flags), (stream, flags)) \
    X(StreamCreateWithPriority, cuStreamCreateWithPriority, 5050, CREATE, STREAM, \
      (CUstream *stream, unsigned flags, int priority), (stream, flags, priority)) \
    X(StreamDestroy, cuStreamDestroy_v2, 4000, DESTROY, STREAM, \
      (CUstream stream), (stream)) \
    X(StreamGetPriority, cuStreamGetPriority, 5050, NONE, NONE, \
      (CUstream stream, int *priority), (stream, priority)) \
    X(StreamGetFlags, cuStreamGetFlags, 5050, NONE, NONE, \
      (CUstream stream, unsigned *flags), (stream, flags)) \
    X(StreamGetCtx, cuStreamGetCtx, 9020, NONE, NONE, \
      (CUstream stream, CUcontext *ctx), (stream, ctx)) \
    X(StreamWaitEvent, cuStreamWaitEvent, 3020, NONE, NONE, \
      (CUstream stream, CUevent event, unsigned flags), (stream, event, flags)) \
    X(StreamQuery, cuStreamQuery, 2000, NONE, NONE, \
      (CUstream stream), (stream)) \
    X(StreamSynchronize, cuStreamSynchronize, 2000, NONE, NONE, \
      (CUstream stream), (stream)) \
    X(StreamAttachMemAsync, cuStreamAttachMemAsync, 6000, NONE, NONE, \
      (CUstream stream, CUdeviceptr ptr, size_t length, unsigned flags), \
      (stream, ptr, length, flags)) \
    X(LaunchHostFunc, cuLaunchHostFunc, 10000, NONE, NONE, \
      (CUstream stream, CUhostFn fn, void *user_data), (stream, fn, user_data)) \
    X(StreamWaitValue32, cuStreamWaitValue32_v2, 11070, NONE, NONE, \
      (CUstream stream, CUdeviceptr addr, uint32_t value, unsigned flags), \
      (stream, addr, value, flags)) \
    X(StreamWaitValue64, cuStreamWaitValue64_v2, 11070, NONE, NONE, \
      (CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags), \
      (stream, addr, value, flags)) \
    X(StreamWriteValue32, cuStreamWriteValue32_v2, 11070, NONE, NONE, \
      (CUstream stream, CUdeviceptr addr, uint32_t value, unsigned flags), \
      (stream, addr, value, flags)) \
    X(StreamWriteValue64, cuStreamWriteValue64_v2, 11070, NONE, NONE, \
      (CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags), \
      (stream, addr, value, flags))

/* Stream capture. */
#define ACU_DRIVER_CALLS_CAPTURE(X) \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, 10010, NONE, NONE, \
      (CUstream stream, unsigned mode), (stream, mode)) \
    X(StreamEndCapture, cuStreamEndCapture, 10000, CREATE, GRAPH, \
      (CUstream stream, CUgraph *graph), (stream, graph)) \
    X(StreamIsCapturing, cuStreamIsCapturing, 10000, NONE, NONE, \
      (CUstream stream, unsigned *status), (stream, status)) \
    X(StreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030, NONE, NONE, \
      (CUstream stream, unsigned *status, uint64_t *id, CUgraph *graph, \
       const CUgraphNode **dependencies, size_t *num_dependencies), \
      (stream, status, id, graph, dependencies, num_dependencies)) \
    X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, NONE, NONE, \
      (unsigned *mode), (mode))

/* Events. */
#define ACU_DRIVER_CALLS_EVENT(X) \
    X(EventCreate, cuEventCreate, 2000, CREATE, EVENT, \
      (CUevent *event, unsigned flags), (event, flags)) \
    X(EventDestroy, cuEventDestroy_v2, 4000, DESTROY, EVENT, \
      (CUevent event), (event)) \
    X(EventRecord, cuEventRecord, 2000, NONE, NONE, \
      (CUevent event, CUstream stream), (event, stream)) \
    X(EventRecordWithFlags, cuEventRecordWithFlags, 11010, NONE, NONE, \
      (CUevent event, CUstream stream, unsigned flags), (event, stream, flags)) \
    X(EventQuery, cuEventQuery, 2000, NONE, NONE, \
      (CUevent event), (event)) \
    X(EventSynchronize, cuEventSynchronize, 2000, NONE, NONE, \
      (CUevent event), (event)) \
    X(EventElapsedTime, cuEventElapsedTime, 2000, NONE, NONE, \
      (float *milliseconds, CUevent start, CUevent end), (milliseconds, start, end))

/* Device, managed, pinned and registered memory. */
#define ACU_DRIVER_CALLS_MEMORY(X) \
    X(MemAlloc, cuMemAlloc_v2, 3020, CREATE, MEMORY, \
      (CUdeviceptr *ptr, size_t bytes), (ptr, bytes)) \
    X(MemAllocPitch, cuMemAllocPitch_v2, 3020, CREATE, MEMORY, \
      (CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned element_bytes), \
      (ptr, pitch, width, height, element_bytes)) \
    X(MemAllocManaged, cuMemAllocManaged, 6000, CREATE, MEMORY, \
      (CUdeviceptr *ptr, size_t bytes, unsigned flags), (ptr, bytes, flags)) \
    X(MemFree, cuMemFree_v2, 3020, DESTROY, MEMORY, \
      (CUdeviceptr ptr), (ptr)) \
    X(MemAllocAsync, cuMemAllocAsync, 11020, CREATE, MEMORY, \
      (CUdeviceptr *ptr, size_t bytes, CUstream stream), (ptr, bytes, stream)) \
    X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, CREATE, MEMORY, \
      (CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream), \
      (ptr, bytes, pool, stream)) \
    X(MemFreeAsync, cuMemFreeAsync, 11020, DESTROY, MEMORY, \
      (CUdeviceptr ptr, CUstream stream), (ptr, stream)) \
    X(MemGetInfo, cuMemGetInfo_v2, 3020, NONE, NONE, \
      (size_t *free, size_t *total), (free, total)) \
    X(MemGetAddressRange, cuMemGetAddressRange_v2, 3020, NONE, NONE, \
      (CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr), (base, bytes, ptr)) \
    X(MemAllocHost, cuMemAllocHost_v2, 3020, CREATE, PINNED, \
      (void **ptr, size_t bytes), (ptr, bytes)) \
    X(MemHostAlloc, cuMemHostAlloc, 2020, CREATE, PINNED, \
      (void **ptr, size_t bytes, unsigned flags), (ptr, bytes, flags)) \
    X(MemFreeHost, cuMemFreeHost, 2000, DESTROY, PINNED, \
      (void *ptr), (ptr)) \
    X(MemHostRegister, cuMemHostRegister_v2, 6050, CREATE, REGISTRATION, \
      (void *ptr, size_t bytes, unsigned flags), (ptr, bytes, flags)) \
    X(MemHostUnregister, cuMemHostUnregister, 4000, DESTROY, REGISTRATION, \
      (void *ptr), (ptr)) \
    X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, 3020, NONE, NONE, \
      (CUdeviceptr *device_ptr, void *ptr, unsigned flags), (device_ptr, ptr, flags)) \
    X(MemHostGetFlags, cuMemHostGetFlags, 2030, NONE, NONE, \
      (unsigned *flags, void *ptr), (flags, ptr)) \
    X(PointerGetAttribute, cuPointerGetAttribute, 4000, NONE, NONE, \
      (void *data, unsigned attribute, CUdeviceptr ptr), (data, attribute, ptr)) \
    X(PointerGetAttributes, cuPointerGetAttributes, 7000, NONE, NONE, \
      (unsigned num_attributes, unsigned *attributes, void **data, CUdeviceptr ptr), \
      (num_attributes, attributes, data, ptr)) \
    X(MemAdvise, cuMemAdvise, 8000, NONE, NONE, \
      (CUdeviceptr ptr, size_t count, unsigned advice, CUdevice device), \
      (ptr, count, advice, device)) \
    X(MemPrefetchAsync, cuMemPrefetchAsync, 8000, NONE, NONE, \
      (CUdeviceptr ptr, size_t count, CUdevice dst, CUstream stream), (ptr, count, dst, stream))

/* Memory pools. */
#define ACU_DRIVER_CALLS_POOL(X) \
    X(MemPoolCreate, cuMemPoolCreate, 11020, CREATE, POOL, \
      (CUmemoryPool *pool, const acu_CUmemPoolProps *props), (pool, props)) \
    X(MemPoolDestroy, cuMemPoolDestroy, 11020, DESTROY, POOL, \
      (CUmemoryPool pool), (pool)) \
    X(MemPoolTrimTo, cuMemPoolTrimTo, 11020, NONE, NONE, \
      (CUmemoryPool pool, size_t keep_bytes), (pool, keep_bytes)) \
    X(MemPoolSetAttribute, cuMemPoolSetAttribute, 11020, NONE, NONE, \
      (CUmemoryPool pool, unsigned attr, void *value), (pool, attr, value)) \
    X(MemPoolGetAttribute, cuMemPoolGetAttribute, 11020, NONE, NONE, \
      (CUmemoryPool pool, unsigned attr, void *value), (pool, attr, value)) \
    X(MemPoolSetAccess, cuMemPoolSetAccess, 11020, NONE, NONE, \
      (CUmemoryPool pool, const acu_CUmemAccessDesc *map, size_t count), (pool, map, count)) \
    X(MemPoolGetAccess, cuMemPoolGetAccess, 11020, NONE, NONE, \
      (unsigned *flags, CUmemoryPool pool, acu_CUmemLocation *location), \
      (flags, pool, location))

/* Memory and addresses apart; memory of other processes. */
#define ACU_DRIVER_CALLS_VIRTUAL(X) \
    X(MemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020, NONE, NONE, \
      (size_t *granularity, const acu_CUmemAllocationProp *prop, unsigned option), \
      (granularity, prop, option)) \
    X(MemCreate, cuMemCreate, 10020, CREATE, ALLOCATION, \
      (CUmemGenericAllocationHandle *handle, size_t bytes, const acu_CUmemAllocationProp *prop, \
       unsigned long long flags), \
      (handle, bytes, prop, flags)) \
    X(MemRelease, cuMemRelease, 10020, DESTROY, ALLOCATION, \
      (CUmemGenericAllocationHandle handle), (handle)) \
    X(MemAddressReserve, cuMemAddressReserve, 10020, CREATE, ADDRESSES, \
      (CUdeviceptr *ptr, size_t bytes, size_t alignment, CUdeviceptr wanted, \
       unsigned long long flags), \
      (ptr, bytes, alignment, wanted, flags)) \
    X(MemAddressFree, cuMemAddressFree, 10020, DESTROY, ADDRESSES, \
      (CUdeviceptr ptr, size_t bytes), (ptr, bytes)) \
    X(MemMap, cuMemMap, 10020, CREATE, MAPPING, \
      (CUdeviceptr ptr, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, \
       unsigned long long flags), \
      (ptr, bytes, offset, handle, flags)) \
    X(MemUnmap, cuMemUnmap, 10020, DESTROY, MAPPING, \
      (CUdeviceptr ptr, size_t bytes), (ptr, bytes)) \
    X(MemSetAccess, cuMemSetAccess, 10020, NONE, NONE, \
      (CUdeviceptr ptr, size_t bytes, const acu_CUmemAccessDesc *desc, size_t count), \
      (ptr, bytes, desc, count)) \
    X(MemExportToShareableHandle, cuMemExportToShareableHandle, 10020, NONE, NONE, \
      (void *shareable, CUmemGenericAllocationHandle handle, unsigned type, \
       unsigned long long flags), \
      (shareable, handle, type, flags)) \
    X(MemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, CREATE, ALLOCATION, \
      (CUmemGenericAllocationHandle *handle, void *shareable, unsigned type), \
      (handle, shareable, type))

/* Memory of other APIs. */
#define ACU_DRIVER_CALLS_EXTERNAL(X) \
    X(ImportExternalMemory, cuImportExternalMemory, 10000, CREATE, EXTERNAL, \
      (CUexternalMemory *memory, const acu_CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc), \
      (memory, desc)) \
    X(ExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000, CREATE, MEMORY, \
      (CUdeviceptr *ptr, CUexternalMemory memory, \
       const acu_CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc), \
      (ptr, memory, desc)) \
    X(DestroyExternalMemory, cuDestroyExternalMemory, 10000, DESTROY, EXTERNAL, \
      (CUexternalMemory memory), (memory))

/* Copies. */
#define ACU_DRIVER_CALLS_COPY(X) \
    X(Memcpy, cuMemcpy, 4000, NONE, NONE, \
      (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) \
    X(MemcpyHtoD, cuMemcpyHtoD_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, const void *src, size_t bytes), (dst, src, bytes)) \
    X(MemcpyDtoH, cuMemcpyDtoH_v2, 3020, NONE, NONE, \
      (void *dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) \
    X(MemcpyDtoD, cuMemcpyDtoD_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, CUdeviceptr src, size_t bytes), (dst, src, bytes)) \
    X(MemcpyPeer, cuMemcpyPeer, 4000, NONE, NONE, \
      (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t bytes), \
      (dst, dst_ctx, src, src_ctx, bytes)) \
    X(Memcpy2D, cuMemcpy2D_v2, 3020, NONE, NONE, \
      (const acu_CUDA_MEMCPY2D *copy), (copy)) \
    X(Memcpy3D, cuMemcpy3D_v2, 3020, NONE, NONE, \
      (const acu_CUDA_MEMCPY3D *copy), (copy)) \
    X(MemcpyAsync, cuMemcpyAsync, 4000, NONE, NONE, \
      (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), \
      (dst, src, bytes, stream)) \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, const void *src, size_t bytes, CUstream stream), \
      (dst, src, bytes, stream)) \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, NONE, NONE, \
      (void *dst, CUdeviceptr src, size_t bytes, CUstream stream), (dst, src, bytes, stream)) \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), \
      (dst, src, bytes, stream)) \
    X(MemcpyPeerAsync, cuMemcpyPeerAsync, 4000, NONE, NONE, \
      (CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t bytes, \
       CUstream stream), \
      (dst, dst_ctx, src, src_ctx, bytes, stream)) \
    X(Memcpy2DAsync, cuMemcpy2DAsync_v2, 3020, NONE, NONE, \
      (const acu_CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream)) \
    X(Memcpy3DAsync, cuMemcpy3DAsync_v2, 3020, NONE, NONE, \
      (const acu_CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream)) \
    X(Memcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, NONE, NONE, \
      (const acu_CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream)) \
    X(MemcpyBatchAsync, cuMemcpyBatchAsync, 12080, NONE, NONE, \
      (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, \
       acu_CUmemcpyAttributes_v1 *attributes, size_t *first, size_t attribute_count, \
       size_t *failed, CUstream stream), \
      (dsts, srcs, sizes, count, attributes, first, attribute_count, failed, stream))

/* Fills. */
#define ACU_DRIVER_CALLS_SET(X) \
    X(MemsetD8, cuMemsetD8_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, unsigned char value, size_t count), (dst, value, count)) \
    X(MemsetD16, cuMemsetD16_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, unsigned short value, size_t count), (dst, value, count)) \
    X(MemsetD32, cuMemsetD32_v2, 3020, NONE, NONE, \
      (CUdeviceptr dst, unsigned value, size_t count), (dst, value, count)) \
    X(MemsetD8Async, cuMemsetD8Async, 3020, NONE, NONE, \
      (CUdeviceptr dst, unsigned char value, size_t count, CUstream stream), \
      (dst, value, count, stream)) \
    X(MemsetD16Async, cuMemsetD16Async, 3020, NONE, NONE, \
      (CUdeviceptr dst, unsigned short value, size_t count, CUstream stream), \
      (dst, value, count, stream)) \
    X(MemsetD32Async, cuMemsetD32Async, 3020, NONE, NONE, \
      (CUdeviceptr dst, unsigned value, size_t count, CUstream stream), \
      (dst, value, count, stream)) \
    X(MemsetD2D8Async, cuMemsetD2D8Async, 3020, NONE, NONE, \
      (CUdeviceptr dst, size_t dst_pitch, unsigned char value, size_t width, size_t height, \
       CUstream stream), \
      (dst, dst_pitch, value, width, height, stream)) \
    X(MemsetD2D16Async, cuMemsetD2D16Async, 3020, NONE, NONE, \
      (CUdeviceptr dst, size_t dst_pitch, unsigned short value, size_t width, size_t height, \
       CUstream stream), \
      (dst, dst_pitch, value, width, height, stream)) \
    X(MemsetD2D32Async, cuMemsetD2D32Async, 3020, NONE, NONE, \
      (CUdeviceptr dst, size_t dst_pitch, unsigned value, size_t width, size_t height, \
       CUstream stream), \
      (dst, dst_pitch, value, width, height, stream))

/* Modules, the linker, libraries. */
#define ACU_DRIVER_CALLS_MODULE(X) \
    X(ModuleLoad, cuModuleLoad, 2000, CREATE, MODULE, \
      (CUmodule *module, const char *fname), (module, fname)) \
    X(ModuleLoadData, cuModuleLoadData, 2000, CREATE, MODULE, \
      (CUmodule *module, const void *image), (module, image)) \
    X(ModuleLoadDataEx, cuModuleLoadDataEx, 2010, CREATE, MODULE, \
      (CUmodule *module, const void *image, unsigned num_options, unsigned *options, \
       void **option_values), \
      (module, image, num_options, options, option_values)) \
    X(ModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, CREATE, MODULE, \
      (CUmodule *module, const void *fat_cubin), (module, fat_cubin)) \
    X(ModuleUnload, cuModuleUnload, 2000, DESTROY, MODULE, \
      (CUmodule module), (module)) \
    X(ModuleGetFunction, cuModuleGetFunction, 2000, NONE, NONE, \
      (CUfunction *fn, CUmodule module, const char *name), (fn, module, name)) \
    X(ModuleGetGlobal, cuModuleGetGlobal_v2, 3020, NONE, NONE, \
      (CUdeviceptr *ptr, size_t *bytes, CUmodule module, const char *name), \
      (ptr, bytes, module, name)) \
    X(ModuleGetLoadingMode, cuModuleGetLoadingMode, 11070, NONE, NONE, \
      (unsigned *mode), (mode)) \
    X(ModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, NONE, NONE, \
      (unsigned *count, CUmodule module), (count, module)) \
    X(ModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040, NONE, NONE, \
      (CUfunction *functions, unsigned num_functions, CUmodule module), \
      (functions, num_functions, module)) \
    X(LinkCreate, cuLinkCreate_v2, 6050, CREATE, LINK, \
      (unsigned num_options, unsigned *options, void **option_values, CUlinkState *state), \
      (num_options, options, option_values, state)) \
    X(LinkAddData, cuLinkAddData_v2, 6050, NONE, NONE, \
      (CUlinkState state, unsigned type, void *data, size_t size, const char *name, \
       unsigned num_options, unsigned *options, void **option_values), \
      (state, type, data, size, name, num_options, options, option_values)) \
    X(LinkAddFile, cuLinkAddFile_v2, 6050, NONE, NONE, \
      (CUlinkState state, unsigned type, const char *path, unsigned num_options, \
       unsigned *options, void **option_values), \
      (state, type, path, num_options, options, option_values)) \
    X(LinkComplete, cuLinkComplete, 5050, NONE, NONE, \
      (CUlinkState state, void **cubin, size_t *size), (state, cubin, size)) \
    X(LinkDestroy, cuLinkDestroy, 5050, DESTROY, LINK, \
      (CUlinkState state), (state)) \
    X(LibraryLoadData, cuLibraryLoadData, 12000, CREATE, LIBRARY, \
      (CUlibrary *library, const void *code, unsigned *jit_options, void **jit_values, \
       unsigned num_jit, unsigned *options, void **option_values, unsigned num_options), \
      (library, code, jit_options, jit_values, num_jit, options, option_values, num_options)) \
    X(LibraryLoadFromFile, cuLibraryLoadFromFile, 12000, CREATE, LIBRARY, \
      (CUlibrary *library, const char *file_name, unsigned *jit_options, void **jit_values, \
       unsigned num_jit, unsigned *options, void **option_values, unsigned num_options), \
      (library, file_name, jit_options, jit_values, num_jit, options, option_values, \
       num_options)) \
    X(LibraryUnload, cuLibraryUnload, 12000, DESTROY, LIBRARY, \
      (CUlibrary library), (library)) \
    X(LibraryGetKernel, cuLibraryGetKernel, 12000, NONE, NONE, \
      (CUkernel *kernel, CUlibrary library, const char *name), (kernel, library, name)) \
    X(LibraryGetModule, cuLibraryGetModule, 12000, NONE, NONE, \
      (CUmodule *module, CUlibrary library), (module, library)) \
    X(LibraryGetGlobal, cuLibraryGetGlobal, 12000, NONE, NONE, \
      (CUdeviceptr *ptr, size_t *bytes, CUlibrary library, const char *name), \
      (ptr, bytes, library, name)) \
    X(KernelGetFunction, cuKernelGetFunction, 12000, NONE, NONE, \
      (CUfunction *fn, CUkernel kernel), (fn, kernel)) \
    X(KernelGetParamInfo, cuKernelGetParamInfo, 12040, NONE, NONE, \
      (CUkernel kernel, size_t param_index, size_t *param_offset, size_t *param_size), \
      (kernel, param_index, param_offset, param_size))

/* Functions, occupancy, launches. */
#define ACU_DRIVER_CALLS_FUNCTION(X) \
    X(FuncGetModule, cuFuncGetModule, 11000, NONE, NONE, \
      (CUmodule *module, CUfunction fn), (module, fn)) \
    X(FuncGetAttribute, cuFuncGetAttribute, 2020, NONE, NONE, \
      (int *value, unsigned attribute, CUfunction fn), (value, attribute, fn)) \
    X(FuncSetAttribute, cuFuncSetAttribute, 9000, NONE, NONE, \
      (CUfunction fn, unsigned attribute, int value), (fn, attribute, value)) \
    X(FuncSetCacheConfig, cuFuncSetCacheConfig, 3000, NONE, NONE, \
      (CUfunction fn, unsigned config), (fn, config)) \
    X(FuncGetName, cuFuncGetName, 12030, NONE, NONE, \
      (const char **name, CUfunction fn), (name, fn)) \
    X(FuncGetParamInfo, cuFuncGetParamInfo, 12040, NONE, NONE, \
      (CUfunction fn, size_t param_index, size_t *param_offset, size_t *param_size), \
      (fn, param_index, param_offset, param_size)) \
    X(FuncLoad, cuFuncLoad, 12040, NONE, NONE, \
      (CUfunction fn), (fn)) \
    X(FuncIsLoaded, cuFuncIsLoaded, 12040, NONE, NONE, \
      (unsigned *state, CUfunction fn), (state, fn)) \
    X(OccupancyMaxActiveBlocksPerMultiprocessor, \
      cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, NONE, NONE, \
      (int *num_blocks, CUfunction fn, int block_size, size_t dynamic_shared), \
      (num_blocks, fn, block_size, dynamic_shared)) \
    X(OccupancyMaxActiveBlocksPerMultiprocessorWithFlags, \
      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, NONE, NONE, \
      (int *num_blocks, CUfunction fn, int block_size, size_t dynamic_shared, unsigned flags), \
      (num_blocks, fn, block_size, dynamic_shared, flags)) \
    X(OccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, 6050, NONE, NONE, \
      (int *min_grid_size, int *block_size, CUfunction fn, CUoccupancyB2DSize shared_of_block, \
       size_t dynamic_shared, int block_size_limit), \
      (min_grid_size, block_size, fn, shared_of_block, dynamic_shared, block_size_limit)) \
    X(OccupancyMaxPotentialBlockSizeWithFlags, \
      cuOccupancyMaxPotentialBlockSizeWithFlags, 7000, NONE, NONE, \
      (int *min_grid_size, int *block_size, CUfunction fn, CUoccupancyB2DSize shared_of_block, \
       size_t dynamic_shared, int block_size_limit, unsigned flags), \
      (min_grid_size, block_size, fn, shared_of_block, dynamic_shared, block_size_limit, flags)) \
    X(OccupancyAvailableDynamicSMemPerBlock, \
      cuOccupancyAvailableDynamicSMemPerBlock, 10020, NONE, NONE, \
      (size_t *dynamic_shared, CUfunction fn, int num_blocks, int block_size), \
      (dynamic_shared, fn, num_blocks, block_size)) \
    X(OccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, 11070, NONE, NONE, \
      (int *cluster_size, CUfunction fn, const acu_CUlaunchConfig *config), \
      (cluster_size, fn, config)) \
    X(OccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070, NONE, NONE, \
      (int *num_clusters, CUfunction fn, const acu_CUlaunchConfig *config), \
      (num_clusters, fn, config)) \
    X(LaunchKernel, cuLaunchKernel, 4000, NONE, NONE, \
      (CUfunction fn, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, \
       void **params, void **extra), \
      (fn, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params, \
       extra)) \
    X(LaunchKernelEx, cuLaunchKernelEx, 11060, NONE, NONE, \
      (const acu_CUlaunchConfig *config, CUfunction fn, void **params, void **extra), \
      (config, fn, params, extra)) \
    X(LaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, NONE, NONE, \
      (CUfunction fn, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, \
       void **params), \
      (fn, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, params))

/* Graphs. */
#define ACU_DRIVER_CALLS_GRAPH(X) \
    X(GraphCreate, cuGraphCreate, 10000, CREATE, GRAPH, \
      (CUgraph *graph, unsigned flags), (graph, flags)) \
    X(GraphDestroy, cuGraphDestroy, 10000, DESTROY, GRAPH, \
      (CUgraph graph), (graph)) \
    X(GraphClone, cuGraphClone, 10000, CREATE, GRAPH, \
      (CUgraph *clone, CUgraph original), (clone, original)) \
    X(GraphAddKernelNode, cuGraphAddKernelNode, 10000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params), \
      (node, graph, dependencies, num_dependencies, params)) \
    X(GraphAddKernelNode_v2, cuGraphAddKernelNode_v2, 12000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params), \
      (node, graph, dependencies, num_dependencies, params)) \
    X(GraphKernelNodeSetParams, cuGraphKernelNodeSetParams, 10000, NONE, NONE, \
      (CUgraphNode node, const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params), (node, params)) \
    X(GraphKernelNodeSetParams_v2, cuGraphKernelNodeSetParams_v2, 12000, NONE, NONE, \
      (CUgraphNode node, const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params), (node, params)) \
    X(GraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute, 11000, NONE, NONE, \
      (CUgraphNode node, unsigned attribute, const acu_CUlaunchAttributeValue *value), \
      (node, attribute, value)) \
    X(GraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, 11000, NONE, NONE, \
      (CUgraphNode node, unsigned attribute, acu_CUlaunchAttributeValue *value), \
      (node, attribute, value)) \
    X(GraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, const acu_CUDA_MEMCPY3D *params, CUcontext ctx), \
      (node, graph, dependencies, num_dependencies, params, ctx)) \
    X(GraphAddMemsetNode, cuGraphAddMemsetNode, 10000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, const acu_CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx), \
      (node, graph, dependencies, num_dependencies, params, ctx)) \
    X(GraphAddHostNode, cuGraphAddHostNode, 10000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, const acu_CUDA_HOST_NODE_PARAMS *params), \
      (node, graph, dependencies, num_dependencies, params)) \
    X(GraphAddEmptyNode, cuGraphAddEmptyNode, 10000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies), \
      (node, graph, dependencies, num_dependencies)) \
    X(GraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, CUgraph child_graph), \
      (node, graph, dependencies, num_dependencies, child_graph)) \
    X(GraphAddEventRecordNode, cuGraphAddEventRecordNode, 11010, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, CUevent event), \
      (node, graph, dependencies, num_dependencies, event)) \
    X(GraphAddEventWaitNode, cuGraphAddEventWaitNode, 11010, NONE, NONE, \
      (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, \
       size_t num_dependencies, CUevent event), \
      (node, graph, dependencies, num_dependencies, event)) \
    X(GraphAddDependencies, cuGraphAddDependencies, 10000, NONE, NONE, \
      (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t num_dependencies), \
      (graph, from, to, num_dependencies)) \
    X(GraphGetNodes, cuGraphGetNodes, 10000, NONE, NONE, \
      (CUgraph graph, CUgraphNode *nodes, size_t *num_nodes), (graph, nodes, num_nodes)) \
    X(GraphGetRootNodes, cuGraphGetRootNodes, 10000, NONE, NONE, \
      (CUgraph graph, CUgraphNode *root_nodes, size_t *num_root_nodes), \
      (graph, root_nodes, num_root_nodes)) \
    X(GraphGetEdges, cuGraphGetEdges, 10000, NONE, NONE, \
      (CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *num_edges), \
      (graph, from, to, num_edges)) \
    X(GraphNodeGetType, cuGraphNodeGetType, 10000, NONE, NONE, \
      (CUgraphNode node, unsigned *type), (node, type)) \
    X(GraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, CREATE, EXEC, \
      (CUgraphExec *exec, CUgraph graph, unsigned long long flags), (exec, graph, flags)) \
    X(GraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000, CREATE, EXEC, \
      (CUgraphExec *exec, CUgraph graph, acu_CUDA_GRAPH_INSTANTIATE_PARAMS *params), \
      (exec, graph, params)) \
    X(GraphExecDestroy, cuGraphExecDestroy, 10000, DESTROY, EXEC, \
      (CUgraphExec exec), (exec)) \
    X(GraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, const acu_CUDA_KERNEL_NODE_PARAMS_v1 *params), \
      (exec, node, params)) \
    X(GraphExecKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v2, 12000, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, const acu_CUDA_KERNEL_NODE_PARAMS_v2 *params), \
      (exec, node, params)) \
    X(GraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, const acu_CUDA_MEMCPY3D *params, CUcontext ctx), \
      (exec, node, params, ctx)) \
    X(GraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, const acu_CUDA_MEMSET_NODE_PARAMS *params, \
       CUcontext ctx), \
      (exec, node, params, ctx)) \
    X(GraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, const acu_CUDA_HOST_NODE_PARAMS *params), \
      (exec, node, params)) \
    X(GraphExecUpdate, cuGraphExecUpdate, 10020, NONE, NONE, \
      (CUgraphExec exec, CUgraph graph, CUgraphNode *error_node, unsigned *result), \
      (exec, graph, error_node, result)) \
    X(GraphExecUpdate_v2, cuGraphExecUpdate_v2, 12000, NONE, NONE, \
      (CUgraphExec exec, CUgraph graph, acu_CUgraphExecUpdateResultInfo *info), \
      (exec, graph, info)) \
    X(GraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, unsigned is_enabled), (exec, node, is_enabled)) \
    X(GraphUpload, cuGraphUpload, 11010, NONE, NONE, \
      (CUgraphExec graph, CUstream stream), (graph, stream)) \
    X(GraphLaunch, cuGraphLaunch, 10000, NONE, NONE, \
      (CUgraphExec graph, CUstream stream), (graph, stream))

/* Calls that were added after version 0.2, whatever their subject: a program has the numbers of
 * calls and their places in the table in its own code, so a new one goes behind all that there
 * are. */
#define ACU_DRIVER_CALLS_ADDED(X) \
    X(GraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, 11010, NONE, NONE, \
      (CUgraphExec exec, CUgraphNode node, CUgraph child_graph), (exec, node, child_graph))

/* Every call. */
#define ACU_DRIVER_CALLS(X) \
    ACU_DRIVER_CALLS_BASE(X) \
    ACU_DRIVER_CALLS_DEVICE(X) \
    ACU_DRIVER_CALLS_CONTEXT(X) \
    ACU_DRIVER_CALLS_STREAM(X) \
    ACU_DRIVER_CALLS_CAPTURE(X) \
    ACU_DRIVER_CALLS_EVENT(X) \
    ACU_DRIVER_CALLS_MEMORY(X) \
    ACU_DRIVER_CALLS_POOL(X) \
    ACU_DRIVER_CALLS_VIRTUAL(X) \
    ACU_DRIVER_CALLS_EXTERNAL(X) \
    ACU_DRIVER_CALLS_COPY(X) \
    ACU_DRIVER_CALLS_SET(X) \
    ACU_DRIVER_CALLS_MODULE(X) \
    ACU_DRIVER_CALLS_FUNCTION(X) \
    ACU_DRIVER_CALLS_GRAPH(X) \
    ACU_DRIVER_CALLS_ADDED(X)

/*
 * Older symbols with the same signature, used if the one in the list above is missing, or newer
 * than allowed: X(name, symbol, since). Before 11.7 the stream memory operations answer
 * CUDA_ERROR_NOT_SUPPORTED unless the driver was loaded with them switched on: ask for
 * CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1 first.
 */
#define ACU_DRIVER_OLDER_SYMBOLS(X) \
    X(StreamWaitValue32, cuStreamWaitValue32, 8000) \
    X(StreamWaitValue64, cuStreamWaitValue64, 9000) \
    X(StreamWriteValue32, cuStreamWriteValue32, 8000) \
    X(StreamWriteValue64, cuStreamWriteValue64, 9000)

#endif
