/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The entry points that this driver implements: those of acuda's list, and more that other programs
 * call. The declarations, the table of symbols, cuGetProcAddress and the stand-in's exports are all
 * made from these lists.
 */
#ifndef SOFTCUDA_DRIVER_CALLS_H
#define SOFTCUDA_DRIVER_CALLS_H

#include <acuda/driver_calls.h>

typedef void (*sd_stream_callback)(CUstream stream, unsigned result, void *user_data);

/* What a program asks of a context at its creation since CUDA 12.5; other kinds are not
 * supported. */
typedef struct sd_context_params {
    void *exec_affinity_params;
    int exec_affinity_count;
    void *cig_params;
} sd_context_params;

/* What an edge of a graph is more than an order; here all of it is 0. */
typedef struct sd_edge_data {
    unsigned char from_port, to_port, type, reserved[5];
} sd_edge_data;

/* X(symbol, since, (parameters), (arguments)) */
/* clang-format off */
#define SD_MORE_CALLS(X) \
    X(cuDeviceGetUuid, 9020, (acu_CUuuid *uuid, CUdevice device), (uuid, device)) \
    X(cuDeviceComputeCapability, 2000, \
      (int *major, int *minor, CUdevice device), (major, minor, device)) \
    X(cuDeviceGetExecAffinitySupport, 11040, \
      (int *value, unsigned type, CUdevice device), (value, type, device)) \
    X(cuDevicePrimaryCtxRelease, 7000, (CUdevice device), (device)) \
    X(cuDevicePrimaryCtxSetFlags, 7000, (CUdevice device, unsigned flags), (device, flags)) \
    X(cuDevicePrimaryCtxReset, 7000, (CUdevice device), (device)) \
    X(cuCtxCreate_v3, 11040, \
      (CUcontext *ctx, void *affinity, int affinities, unsigned flags, CUdevice device), \
      (ctx, affinity, affinities, flags, device)) \
    X(cuCtxCreate_v4, 12050, \
      (CUcontext *ctx, sd_context_params *params, unsigned flags, CUdevice device), \
      (ctx, params, flags, device)) \
    X(cuMemcpyBatchAsync_v2, 13000, \
      (CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, \
       acu_CUmemcpyAttributes_v1 *attributes, size_t *first, size_t attribute_count, \
       CUstream stream), \
      (dsts, srcs, sizes, count, attributes, first, attribute_count, stream)) \
    X(cuMemAdvise_v2, 12020, \
      (CUdeviceptr ptr, size_t count, unsigned advice, acu_CUmemLocation location), \
      (ptr, count, advice, location)) \
    X(cuMemPrefetchAsync_v2, 12020, \
      (CUdeviceptr ptr, size_t count, acu_CUmemLocation location, unsigned flags, \
       CUstream stream), \
      (ptr, count, location, flags, stream)) \
    X(cuStreamGetCaptureInfo_v3, 12030, \
      (CUstream stream, unsigned *status, uint64_t *id, CUgraph *graph, \
       const CUgraphNode **dependencies, const sd_edge_data **edges, size_t *num_dependencies), \
      (stream, status, id, graph, dependencies, edges, num_dependencies)) \
    X(cuGraphAddDependencies_v2, 12030, \
      (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, \
       const sd_edge_data *edges, size_t num_dependencies), \
      (graph, from, to, edges, num_dependencies)) \
    X(cuGraphGetEdges_v2, 12030, \
      (CUgraph graph, CUgraphNode *from, CUgraphNode *to, sd_edge_data *edges, \
       size_t *num_edges), \
      (graph, from, to, edges, num_edges)) \
    X(cuCtxSetFlags, 12010, (unsigned flags), (flags)) \
    X(cuCtxGetId, 12000, (CUcontext ctx, unsigned long long *id), (ctx, id)) \
    X(cuCtxGetDevice_v2, 13000, (CUdevice *device, CUcontext ctx), (device, ctx)) \
    X(cuCtxSynchronize_v2, 13000, (CUcontext ctx), (ctx)) \
    X(cuCtxGetSharedMemConfig, 4020, (unsigned *config), (config)) \
    X(cuCtxSetSharedMemConfig, 4020, (unsigned config), (config)) \
    X(cuCtxResetPersistingL2Cache, 11000, (void), ()) \
    X(cuStreamGetId, 12000, (CUstream stream, unsigned long long *id), (stream, id)) \
    X(cuStreamGetDevice, 12080, (CUstream stream, CUdevice *device), (stream, device)) \
    X(cuStreamGetCtx_v2, 12050, \
      (CUstream stream, CUcontext *ctx, void **green), (stream, ctx, green)) \
    X(cuStreamAddCallback, 5000, \
      (CUstream stream, sd_stream_callback callback, void *user_data, unsigned flags), \
      (stream, callback, user_data, flags)) \
    X(cuLaunchHostFunc_v2, 13010, \
      (CUstream stream, CUhostFn fn, void *user_data, unsigned sync_mode), \
      (stream, fn, user_data, sync_mode)) \
    X(cuStreamCopyAttributes, 11000, (CUstream dst, CUstream src), (dst, src)) \
    X(cuEventElapsedTime_v2, 12080, \
      (float *milliseconds, CUevent start, CUevent end), (milliseconds, start, end)) \
    X(cuMemcpy2DUnaligned_v2, 3020, (const acu_CUDA_MEMCPY2D *copy), (copy)) \
    X(cuMemcpy3DPeer, 4000, (const acu_CUDA_MEMCPY3D_PEER *copy), (copy)) \
    X(cuMemsetD2D8_v2, 3020, \
      (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height), \
      (dst, pitch, value, width, height)) \
    X(cuMemsetD2D16_v2, 3020, \
      (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height), \
      (dst, pitch, value, width, height)) \
    X(cuMemsetD2D32_v2, 3020, \
      (CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height), \
      (dst, pitch, value, width, height)) \
    X(cuPointerSetAttribute, 6000, \
      (const void *value, unsigned attribute, CUdeviceptr ptr), (value, attribute, ptr)) \
    X(cuFuncSetSharedMemConfig, 4020, (CUfunction fn, unsigned config), (fn, config)) \
    X(cuLibraryGetKernelCount, 12040, (unsigned *count, CUlibrary library), (count, library)) \
    X(cuLibraryEnumerateKernels, 12040, \
      (CUkernel *kernels, unsigned num_kernels, CUlibrary library), \
      (kernels, num_kernels, library)) \
    X(cuKernelGetName, 12030, (const char **name, CUkernel kernel), (name, kernel)) \
    X(cuKernelGetLibrary, 12050, (CUlibrary *library, CUkernel kernel), (library, kernel)) \
    X(cuKernelGetAttribute, 12000, \
      (int *value, unsigned attribute, CUkernel kernel, CUdevice device), \
      (value, attribute, kernel, device)) \
    X(cuKernelSetAttribute, 12000, \
      (unsigned attribute, int value, CUkernel kernel, CUdevice device), \
      (attribute, value, kernel, device)) \
    X(cuKernelSetCacheConfig, 12000, \
      (CUkernel kernel, unsigned config, CUdevice device), (kernel, config, device)) \
    X(cuGetExportTable, 3000, (const void **table, const acu_CUuuid *id), (table, id))

/* clang-format on */

/* All of acuda's list. */
#define SD_ACUDA_CALLS(X) ACU_DRIVER_CALLS(X)

/* sd_x implements entry point x; programs get its front, sdf_x: see front.c. */
#define SD_DECLARE_ACUDA(name, symbol, since, effect, kind, parameters, arguments) \
    unsigned sd_##symbol parameters; \
    unsigned sdf_##symbol parameters;
#define SD_DECLARE_MORE(symbol, since, parameters, arguments) \
    unsigned sd_##symbol parameters; \
    unsigned sdf_##symbol parameters;
SD_ACUDA_CALLS(SD_DECLARE_ACUDA)
SD_MORE_CALLS(SD_DECLARE_MORE)
#undef SD_DECLARE_ACUDA
#undef SD_DECLARE_MORE

/* Answers CUDA_ERROR_NOT_SUPPORTED, whatever its arguments. */
unsigned sd_not_supported(void);

#endif
