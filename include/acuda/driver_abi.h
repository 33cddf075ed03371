/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The part of CUDA's driver ABI that acuda uses, declared by acuda itself: handles, values,
 * structs.
 *
 * Handles keep CUDA's names, as typedefs identical to CUDA's: a program may include cuda.h too,
 * before or after, and pass its handles unchanged. Everything else has CUDA's name with a prefix:
 * ACU_CUDA_ERROR_NOT_READY, acu_CUDA_MEMCPY2D. CUDA's enums are `unsigned` here.
 *
 * Each value and each struct field is listed once. The declarations, the names in messages, and the
 * test that compares all of it with an installed cuda.h are generated from these lists.
 */
#ifndef ACUDA_DRIVER_ABI_H
#define ACUDA_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- handles ---- */

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUarray_st *CUarray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUextMemory_st *CUexternalMemory;
typedef unsigned long long CUmemGenericAllocationHandle;

/* Called by the driver on a thread of its own, in stream order. It may not call CUDA. */
typedef void (*CUhostFn)(void *user_data);
/* Dynamic shared memory, in bytes, that a block of this many threads needs. */
typedef size_t (*CUoccupancyB2DSize)(int block_size);

/* The two streams that exist without being created. */
#define ACU_CU_STREAM_LEGACY ((CUstream)0x1)
#define ACU_CU_STREAM_PER_THREAD ((CUstream)0x2)

/* Locations that are not devices: the host, and no device at all. */
#define ACU_CU_DEVICE_CPU ((CUdevice)-1)
#define ACU_CU_DEVICE_INVALID ((CUdevice)-2)

/* Markers in the `extra` argument of a launch: the parameters come as one packed buffer. */
#define ACU_CU_LAUNCH_PARAM_END ((void *)0x0)
#define ACU_CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x1)
#define ACU_CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x2)

/* ---- values: X(CUDA's name, value) ---- */

/* Results of driver calls: all that CUDA 13.0 has. */
#define ACU_ABI_RESULTS(X) \
    X(CUDA_SUCCESS, 0) \
    X(CUDA_ERROR_INVALID_VALUE, 1) \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2) \
    X(CUDA_ERROR_NOT_INITIALIZED, 3) \
    X(CUDA_ERROR_DEINITIALIZED, 4) \
    X(CUDA_ERROR_PROFILER_DISABLED, 5) \
    X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6) \
    X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7) \
    X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8) \
    X(CUDA_ERROR_STUB_LIBRARY, 34) \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36) \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46) \
    X(CUDA_ERROR_NO_DEVICE, 100) \
    X(CUDA_ERROR_INVALID_DEVICE, 101) \
    X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102) \
    X(CUDA_ERROR_INVALID_IMAGE, 200) \
    X(CUDA_ERROR_INVALID_CONTEXT, 201) \
    X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202) \
    X(CUDA_ERROR_MAP_FAILED, 205) \
    X(CUDA_ERROR_UNMAP_FAILED, 206) \
    X(CUDA_ERROR_ARRAY_IS_MAPPED, 207) \
    X(CUDA_ERROR_ALREADY_MAPPED, 208) \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209) \
    X(CUDA_ERROR_ALREADY_ACQUIRED, 210) \
    X(CUDA_ERROR_NOT_MAPPED, 211) \
    X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212) \
    X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213) \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214) \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215) \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216) \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217) \
    X(CUDA_ERROR_INVALID_PTX, 218) \
    X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219) \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220) \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221) \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222) \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223) \
    X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224) \
    X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225) \
    X(CUDA_ERROR_CONTAINED, 226) \
    X(CUDA_ERROR_INVALID_SOURCE, 300) \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301) \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302) \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303) \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304) \
    X(CUDA_ERROR_INVALID_HANDLE, 400) \
    X(CUDA_ERROR_ILLEGAL_STATE, 401) \
    X(CUDA_ERROR_LOSSY_QUERY, 402) \
    X(CUDA_ERROR_NOT_FOUND, 500) \
    X(CUDA_ERROR_NOT_READY, 600) \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700) \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701) \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702) \
    X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703) \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704) \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705) \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708) \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709) \
    X(CUDA_ERROR_ASSERT, 710) \
    X(CUDA_ERROR_TOO_MANY_PEERS, 711) \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713) \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714) \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715) \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716) \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717) \
    X(CUDA_ERROR_INVALID_PC, 718) \
    X(CUDA_ERROR_LAUNCH_FAILED, 719) \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720) \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721) \
    X(CUDA_ERROR_NOT_PERMITTED, 800) \
    X(CUDA_ERROR_NOT_SUPPORTED, 801) \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802) \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803) \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804) \
    X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805) \
    X(CUDA_ERROR_MPS_RPC_FAILURE, 806) \
    X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807) \
    X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808) \
    X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809) \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810) \
    X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811) \
    X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812) \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900) \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901) \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902) \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903) \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904) \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905) \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906) \
    X(CUDA_ERROR_CAPTURED_EVENT, 907) \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908) \
    X(CUDA_ERROR_TIMEOUT, 909) \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910) \
    X(CUDA_ERROR_EXTERNAL_DEVICE, 911) \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912) \
    X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913) \
    X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914) \
    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915) \
    X(CUDA_ERROR_KEY_ROTATION, 916) \
    X(CUDA_ERROR_UNKNOWN, 999)

/* Device attributes (cuDeviceGetAttribute), but for those of textures and surfaces. */
#define ACU_ABI_DEVICE_ATTRIBUTES(X) \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1) \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 2) \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 3) \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 4) \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 5) \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 6) \
    X(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 7) \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8) \
    X(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 9) \
    X(CU_DEVICE_ATTRIBUTE_WARP_SIZE, 10) \
    X(CU_DEVICE_ATTRIBUTE_MAX_PITCH, 11) \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 12) \
    X(CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 13) \
    X(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 14) \
    X(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 15) \
    X(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) \
    X(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 17) \
    X(CU_DEVICE_ATTRIBUTE_INTEGRATED, 18) \
    X(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 19) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 20) \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 31) \
    X(CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 32) \
    X(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 33) \
    X(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 34) \
    X(CU_DEVICE_ATTRIBUTE_TCC_DRIVER, 35) \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36) \
    X(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37) \
    X(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38) \
    X(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 39) \
    X(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 40) \
    X(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 41) \
    X(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 50) \
    X(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 51) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) \
    X(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 78) \
    X(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 79) \
    X(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 80) \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81) \
    X(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 82) \
    X(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 83) \
    X(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD, 84) \
    X(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID, 85) \
    X(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 86) \
    X(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 88) \
    X(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 89) \
    X(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 90) \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 91) \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 92) \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 93) \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 94) \
    X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 95) \
    X(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 96) \
    X(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97) \
    X(CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 98) \
    X(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 99) \
    X(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100) \
    X(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 101) \
    X(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 102) \
    X(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 103) \
    X(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 106) \
    X(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 107) \
    X(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 108) \
    X(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 109) \
    X(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, 110) \
    X(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 113) \
    X(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115) \
    X(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 116) \
    X(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, 117) \
    X(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 118) \
    X(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 119) \
    X(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 120) \
    X(CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED, 121) \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 122) \
    X(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 123) \
    X(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 125) \
    X(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 126) \
    X(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 128) \
    X(CU_DEVICE_ATTRIBUTE_NUMA_CONFIG, 130) \
    X(CU_DEVICE_ATTRIBUTE_NUMA_ID, 131) \
    X(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 134) \
    X(CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID, 139) \
    X(CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID, 140) \
    X(CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 141) \
    X(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED, 142) \
    X(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED, 143) \
    X(CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, 144) \
    X(CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 145) \
    X(CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED, 147)

/* What two devices can do with each other. */
#define ACU_ABI_P2P_ATTRIBUTES(X) \
    X(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 1) \
    X(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 2) \
    X(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 3) \
    X(CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 4)

/* Compute modes of a device. */
#define ACU_ABI_COMPUTE_MODES(X) \
    X(CU_COMPUTEMODE_DEFAULT, 0) \
    X(CU_COMPUTEMODE_PROHIBITED, 2) \
    X(CU_COMPUTEMODE_EXCLUSIVE_PROCESS, 3)

/* Context flags. */
#define ACU_ABI_CONTEXT_FLAGS(X) \
    X(CU_CTX_SCHED_AUTO, 0) \
    X(CU_CTX_SCHED_SPIN, 1) \
    X(CU_CTX_SCHED_YIELD, 2) \
    X(CU_CTX_SCHED_BLOCKING_SYNC, 4) \
    X(CU_CTX_BLOCKING_SYNC, 4) \
    X(CU_CTX_SCHED_MASK, 7) \
    X(CU_CTX_MAP_HOST, 8) \
    X(CU_CTX_LMEM_RESIZE_TO_MAX, 16) \
    X(CU_CTX_SYNC_MEMOPS, 128) \
    X(CU_CTX_FLAGS_MASK, 255)

/* Context limits. */
#define ACU_ABI_LIMITS(X) \
    X(CU_LIMIT_STACK_SIZE, 0) \
    X(CU_LIMIT_PRINTF_FIFO_SIZE, 1) \
    X(CU_LIMIT_MALLOC_HEAP_SIZE, 2) \
    X(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 3) \
    X(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 4) \
    X(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 5) \
    X(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 6)

/* Preferred split of the L1 cache. */
#define ACU_ABI_FUNCTION_CACHES(X) \
    X(CU_FUNC_CACHE_PREFER_NONE, 0) \
    X(CU_FUNC_CACHE_PREFER_SHARED, 1) \
    X(CU_FUNC_CACHE_PREFER_L1, 2) \
    X(CU_FUNC_CACHE_PREFER_EQUAL, 3)

/* Stream flags. */
#define ACU_ABI_STREAM_FLAGS(X) \
    X(CU_STREAM_DEFAULT, 0) \
    X(CU_STREAM_NON_BLOCKING, 1)

/* Capture modes: who else is restricted while a stream is captured. */
#define ACU_ABI_CAPTURE_MODES(X) \
    X(CU_STREAM_CAPTURE_MODE_GLOBAL, 0) \
    X(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) \
    X(CU_STREAM_CAPTURE_MODE_RELAXED, 2)

/* Whether a stream is being captured. */
#define ACU_ABI_CAPTURE_STATES(X) \
    X(CU_STREAM_CAPTURE_STATUS_NONE, 0) \
    X(CU_STREAM_CAPTURE_STATUS_ACTIVE, 1) \
    X(CU_STREAM_CAPTURE_STATUS_INVALIDATED, 2)

/* Comparisons of cuStreamWaitValue. */
#define ACU_ABI_WAIT_VALUE_FLAGS(X) \
    X(CU_STREAM_WAIT_VALUE_GEQ, 0) \
    X(CU_STREAM_WAIT_VALUE_EQ, 1) \
    X(CU_STREAM_WAIT_VALUE_AND, 2) \
    X(CU_STREAM_WAIT_VALUE_NOR, 3) \
    X(CU_STREAM_WAIT_VALUE_FLUSH, 1073741824)

/* Flags of cuStreamWriteValue. */
#define ACU_ABI_WRITE_VALUE_FLAGS(X) \
    X(CU_STREAM_WRITE_VALUE_DEFAULT, 0) \
    X(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, 1)

/* Event flags. */
#define ACU_ABI_EVENT_FLAGS(X) \
    X(CU_EVENT_DEFAULT, 0) \
    X(CU_EVENT_BLOCKING_SYNC, 1) \
    X(CU_EVENT_DISABLE_TIMING, 2) \
    X(CU_EVENT_INTERPROCESS, 4)

/* Flags of cuEventRecordWithFlags. */
#define ACU_ABI_EVENT_RECORD_FLAGS(X) \
    X(CU_EVENT_RECORD_DEFAULT, 0) \
    X(CU_EVENT_RECORD_EXTERNAL, 1)

/* Flags of cuStreamWaitEvent. */
#define ACU_ABI_EVENT_WAIT_FLAGS(X) \
    X(CU_EVENT_WAIT_DEFAULT, 0) \
    X(CU_EVENT_WAIT_EXTERNAL, 1)

/* Memory types, in copies and of pointers. */
#define ACU_ABI_MEMORY_TYPES(X) \
    X(CU_MEMORYTYPE_HOST, 1) \
    X(CU_MEMORYTYPE_DEVICE, 2) \
    X(CU_MEMORYTYPE_ARRAY, 3) \
    X(CU_MEMORYTYPE_UNIFIED, 4)

/* Who may use managed memory. */
#define ACU_ABI_ATTACH_FLAGS(X) \
    X(CU_MEM_ATTACH_GLOBAL, 1) \
    X(CU_MEM_ATTACH_HOST, 2) \
    X(CU_MEM_ATTACH_SINGLE, 4)

/* Advice on managed memory. */
#define ACU_ABI_ADVICE(X) \
    X(CU_MEM_ADVISE_SET_READ_MOSTLY, 1) \
    X(CU_MEM_ADVISE_UNSET_READ_MOSTLY, 2) \
    X(CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 3) \
    X(CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 4) \
    X(CU_MEM_ADVISE_SET_ACCESSED_BY, 5) \
    X(CU_MEM_ADVISE_UNSET_ACCESSED_BY, 6)

/* Pointer attributes (cuPointerGetAttribute). */
#define ACU_ABI_POINTER_ATTRIBUTES(X) \
    X(CU_POINTER_ATTRIBUTE_CONTEXT, 1) \
    X(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 3) \
    X(CU_POINTER_ATTRIBUTE_HOST_POINTER, 4) \
    X(CU_POINTER_ATTRIBUTE_P2P_TOKENS, 5) \
    X(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 6) \
    X(CU_POINTER_ATTRIBUTE_BUFFER_ID, 7) \
    X(CU_POINTER_ATTRIBUTE_IS_MANAGED, 8) \
    X(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9) \
    X(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 10) \
    X(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 11) \
    X(CU_POINTER_ATTRIBUTE_RANGE_SIZE, 12) \
    X(CU_POINTER_ATTRIBUTE_MAPPED, 13) \
    X(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, 14) \
    X(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 15) \
    X(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, 16) \
    X(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 17) \
    X(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, 18) \
    X(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, 19) \
    X(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, 20) \
    X(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, 21)

/* Memory pool attributes. */
#define ACU_ABI_POOL_ATTRIBUTES(X) \
    X(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1) \
    X(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, 2) \
    X(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 3) \
    X(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 4) \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 5) \
    X(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 6) \
    X(CU_MEMPOOL_ATTR_USED_MEM_CURRENT, 7) \
    X(CU_MEMPOOL_ATTR_USED_MEM_HIGH, 8)

/* What a pool holds. */
#define ACU_ABI_ALLOCATION_TYPES(X) \
    X(CU_MEM_ALLOCATION_TYPE_INVALID, 0) \
    X(CU_MEM_ALLOCATION_TYPE_PINNED, 1) \
    X(CU_MEM_ALLOCATION_TYPE_MANAGED, 2)

/* Where memory lives. */
#define ACU_ABI_LOCATION_TYPES(X) \
    X(CU_MEM_LOCATION_TYPE_INVALID, 0) \
    X(CU_MEM_LOCATION_TYPE_DEVICE, 1) \
    X(CU_MEM_LOCATION_TYPE_HOST, 2) \
    X(CU_MEM_LOCATION_TYPE_HOST_NUMA, 3) \
    X(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 4)

/* When a copy of a batch reads its source. */
#define ACU_ABI_SOURCE_ORDERS(X) \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_INVALID, 0) \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 1) \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, 2) \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_ANY, 3)

/* How memory is shared between processes. */
#define ACU_ABI_HANDLE_TYPES(X) \
    X(CU_MEM_HANDLE_TYPE_NONE, 0) \
    X(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1) \
    X(CU_MEM_HANDLE_TYPE_FABRIC, 8)

/* Which granularity of sizes and addresses is asked for. */
#define ACU_ABI_GRANULARITIES(X) \
    X(CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0) \
    X(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, 1)

/* The kind of handle to another API's memory, and whether that memory is for one resource only. */
#define ACU_ABI_EXTERNAL_MEMORY(X) \
    X(CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 1) \
    X(CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, 9) \
    X(CUDA_EXTERNAL_MEMORY_DEDICATED, 1)

/* Access rights to a pool, or to mapped memory. */
#define ACU_ABI_ACCESS_FLAGS(X) \
    X(CU_MEM_ACCESS_FLAGS_PROT_NONE, 0) \
    X(CU_MEM_ACCESS_FLAGS_PROT_READ, 1) \
    X(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 3)

/* Function attributes. */
#define ACU_ABI_FUNCTION_ATTRIBUTES(X) \
    X(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0) \
    X(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1) \
    X(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 2) \
    X(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3) \
    X(CU_FUNC_ATTRIBUTE_NUM_REGS, 4) \
    X(CU_FUNC_ATTRIBUTE_PTX_VERSION, 5) \
    X(CU_FUNC_ATTRIBUTE_BINARY_VERSION, 6) \
    X(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, 7) \
    X(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8) \
    X(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 9) \
    X(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 10) \
    X(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 11) \
    X(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 12) \
    X(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 13) \
    X(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14) \
    X(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 15)

/* Preferred carve-out of shared memory, in percent. */
#define ACU_ABI_CARVEOUTS(X) \
    X(CU_SHAREDMEM_CARVEOUT_DEFAULT, -1) \
    X(CU_SHAREDMEM_CARVEOUT_MAX_SHARED, 100) \
    X(CU_SHAREDMEM_CARVEOUT_MAX_L1, 0)

/* Flags of the occupancy calls. */
#define ACU_ABI_OCCUPANCY_FLAGS(X) \
    X(CU_OCCUPANCY_DEFAULT, 0) \
    X(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE, 1)

/* Options of module loading and linking. */
#define ACU_ABI_JIT_OPTIONS(X) \
    X(CU_JIT_MAX_REGISTERS, 0) \
    X(CU_JIT_THREADS_PER_BLOCK, 1) \
    X(CU_JIT_WALL_TIME, 2) \
    X(CU_JIT_INFO_LOG_BUFFER, 3) \
    X(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, 4) \
    X(CU_JIT_ERROR_LOG_BUFFER, 5) \
    X(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6) \
    X(CU_JIT_OPTIMIZATION_LEVEL, 7) \
    X(CU_JIT_TARGET_FROM_CUCONTEXT, 8) \
    X(CU_JIT_TARGET, 9) \
    X(CU_JIT_FALLBACK_STRATEGY, 10) \
    X(CU_JIT_GENERATE_DEBUG_INFO, 11) \
    X(CU_JIT_LOG_VERBOSE, 12) \
    X(CU_JIT_GENERATE_LINE_INFO, 13) \
    X(CU_JIT_CACHE_MODE, 14) \
    X(CU_JIT_FAST_COMPILE, 16) \
    X(CU_JIT_GLOBAL_SYMBOL_NAMES, 17) \
    X(CU_JIT_GLOBAL_SYMBOL_ADDRESSES, 18) \
    X(CU_JIT_GLOBAL_SYMBOL_COUNT, 19)

/* Kinds of input to the linker. */
#define ACU_ABI_JIT_INPUTS(X) \
    X(CU_JIT_INPUT_CUBIN, 0) \
    X(CU_JIT_INPUT_PTX, 1) \
    X(CU_JIT_INPUT_FATBINARY, 2) \
    X(CU_JIT_INPUT_OBJECT, 3) \
    X(CU_JIT_INPUT_LIBRARY, 4)

/* Options of cuLibraryLoadData. */
#define ACU_ABI_LIBRARY_OPTIONS(X) \
    X(CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE, 0) \
    X(CU_LIBRARY_BINARY_IS_PRESERVED, 1)

/* When kernels of a module are loaded. */
#define ACU_ABI_LOADING_MODES(X) \
    X(CU_MODULE_EAGER_LOADING, 1) \
    X(CU_MODULE_LAZY_LOADING, 2)

/* Whether a function is loaded. */
#define ACU_ABI_LOADING_STATES(X) \
    X(CU_FUNCTION_LOADING_STATE_UNLOADED, 0) \
    X(CU_FUNCTION_LOADING_STATE_LOADED, 1)

/* Launch attributes. */
#define ACU_ABI_LAUNCH_ATTRIBUTES(X) \
    X(CU_LAUNCH_ATTRIBUTE_IGNORE, 0) \
    X(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, 1) \
    X(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 2) \
    X(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, 3) \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 4) \
    X(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 5) \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6) \
    X(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 7) \
    X(CU_LAUNCH_ATTRIBUTE_PRIORITY, 8) \
    X(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, 9) \
    X(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 10) \
    X(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, 11) \
    X(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 12) \
    X(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 14)

/* Graph node types. */
#define ACU_ABI_NODE_TYPES(X) \
    X(CU_GRAPH_NODE_TYPE_KERNEL, 0) \
    X(CU_GRAPH_NODE_TYPE_MEMCPY, 1) \
    X(CU_GRAPH_NODE_TYPE_MEMSET, 2) \
    X(CU_GRAPH_NODE_TYPE_HOST, 3) \
    X(CU_GRAPH_NODE_TYPE_GRAPH, 4) \
    X(CU_GRAPH_NODE_TYPE_EMPTY, 5) \
    X(CU_GRAPH_NODE_TYPE_WAIT_EVENT, 6) \
    X(CU_GRAPH_NODE_TYPE_EVENT_RECORD, 7) \
    X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, 8) \
    X(CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, 9) \
    X(CU_GRAPH_NODE_TYPE_MEM_ALLOC, 10) \
    X(CU_GRAPH_NODE_TYPE_MEM_FREE, 11) \
    X(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, 12) \
    X(CU_GRAPH_NODE_TYPE_CONDITIONAL, 13)

/* Flags of graph instantiation. */
#define ACU_ABI_INSTANTIATE_FLAGS(X) \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, 1) \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, 2) \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, 4) \
    X(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, 8)

/* Results of graph instantiation. */
#define ACU_ABI_INSTANTIATE_RESULTS(X) \
    X(CUDA_GRAPH_INSTANTIATE_SUCCESS, 0) \
    X(CUDA_GRAPH_INSTANTIATE_ERROR, 1) \
    X(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, 2) \
    X(CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, 3) \
    X(CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, 4) \
    X(CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, 5)

/* Results of updating an executable graph. */
#define ACU_ABI_UPDATE_RESULTS(X) \
    X(CU_GRAPH_EXEC_UPDATE_SUCCESS, 0) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR, 1) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 2) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 3) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED, 4) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, 5) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, 6) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, 7) \
    X(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, 8)

/* Flags of cuGetProcAddress. */
#define ACU_ABI_PROC_FLAGS(X) \
    X(CU_GET_PROC_ADDRESS_DEFAULT, 0) \
    X(CU_GET_PROC_ADDRESS_LEGACY_STREAM, 1) \
    X(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, 2)

/* Results of cuGetProcAddress_v2. */
#define ACU_ABI_PROC_RESULTS(X) \
    X(CU_GET_PROC_ADDRESS_SUCCESS, 0) \
    X(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, 1) \
    X(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, 2)

/* Values that CUDA defines as macros: host memory flags, launch parameter markers. */
#define ACU_ABI_MACROS(X) \
    X(CU_MEMHOSTALLOC_PORTABLE, 1) \
    X(CU_MEMHOSTALLOC_DEVICEMAP, 2) \
    X(CU_MEMHOSTALLOC_WRITECOMBINED, 4) \
    X(CU_MEMHOSTREGISTER_PORTABLE, 1) \
    X(CU_MEMHOSTREGISTER_DEVICEMAP, 2) \
    X(CU_MEMHOSTREGISTER_IOMEMORY, 4) \
    X(CU_MEMHOSTREGISTER_READ_ONLY, 8) \
    X(CU_LAUNCH_PARAM_END_AS_INT, 0) \
    X(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, 1) \
    X(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, 2) \
    X(CU_IPC_HANDLE_SIZE, 64)
/* All of the above. */
#define ACU_ABI_VALUES(X) \
    ACU_ABI_RESULTS(X) \
    ACU_ABI_DEVICE_ATTRIBUTES(X) \
    ACU_ABI_P2P_ATTRIBUTES(X) \
    ACU_ABI_COMPUTE_MODES(X) \
    ACU_ABI_CONTEXT_FLAGS(X) \
    ACU_ABI_LIMITS(X) \
    ACU_ABI_FUNCTION_CACHES(X) \
    ACU_ABI_STREAM_FLAGS(X) \
    ACU_ABI_CAPTURE_MODES(X) \
    ACU_ABI_CAPTURE_STATES(X) \
    ACU_ABI_WAIT_VALUE_FLAGS(X) \
    ACU_ABI_WRITE_VALUE_FLAGS(X) \
    ACU_ABI_EVENT_FLAGS(X) \
    ACU_ABI_EVENT_RECORD_FLAGS(X) \
    ACU_ABI_EVENT_WAIT_FLAGS(X) \
    ACU_ABI_MEMORY_TYPES(X) \
    ACU_ABI_ATTACH_FLAGS(X) \
    ACU_ABI_ADVICE(X) \
    ACU_ABI_POINTER_ATTRIBUTES(X) \
    ACU_ABI_POOL_ATTRIBUTES(X) \
    ACU_ABI_ALLOCATION_TYPES(X) \
    ACU_ABI_LOCATION_TYPES(X) ACU_ABI_SOURCE_ORDERS(X) \
    ACU_ABI_HANDLE_TYPES(X) \
    ACU_ABI_GRANULARITIES(X) \
    ACU_ABI_EXTERNAL_MEMORY(X) \
    ACU_ABI_ACCESS_FLAGS(X) \
    ACU_ABI_FUNCTION_ATTRIBUTES(X) \
    ACU_ABI_CARVEOUTS(X) \
    ACU_ABI_OCCUPANCY_FLAGS(X) \
    ACU_ABI_JIT_OPTIONS(X) \
    ACU_ABI_JIT_INPUTS(X) \
    ACU_ABI_LIBRARY_OPTIONS(X) \
    ACU_ABI_LOADING_MODES(X) \
    ACU_ABI_LOADING_STATES(X) \
    ACU_ABI_LAUNCH_ATTRIBUTES(X) \
    ACU_ABI_NODE_TYPES(X) \
    ACU_ABI_INSTANTIATE_FLAGS(X) \
    ACU_ABI_INSTANTIATE_RESULTS(X) \
    ACU_ABI_UPDATE_RESULTS(X) \
    ACU_ABI_PROC_FLAGS(X) \
    ACU_ABI_PROC_RESULTS(X) \
    ACU_ABI_MACROS(X)

enum {
#define ACU_ABI_ENUMERATE(name, value) ACU_##name = (value),
    ACU_ABI_VALUES(ACU_ABI_ENUMERATE)
#undef ACU_ABI_ENUMERATE
};

/* ---- structs: ACU_ABI_<CUDA's name>(F, S) lists the fields as F(S, type, name) ---- */

/* Identity of a device. */
#define ACU_ABI_CUuuid(F, S) \
    F(S, char, bytes[16])

/* Where memory lives: ACU_CU_MEM_LOCATION_TYPE_x, and the ordinal of the device. */
#define ACU_ABI_CUmemLocation(F, S) \
    F(S, unsigned, type) \
    F(S, int, id)

/* Who may access a pool, and how: ACU_CU_MEM_ACCESS_FLAGS_x. */
#define ACU_ABI_CUmemAccessDesc(F, S) \
    F(S, acu_CUmemLocation, location) \
    F(S, unsigned, flags)

/* How the copies of a batch are done: ACU_CU_MEMCPY_SRC_ACCESS_ORDER_x; the locations matter for
 * managed memory only. */
#define ACU_ABI_CUmemcpyAttributes_v1(F, S) \
    F(S, unsigned, srcAccessOrder) \
    F(S, acu_CUmemLocation, srcLocHint) \
    F(S, acu_CUmemLocation, dstLocHint) \
    F(S, unsigned, flags)

/* A pool to be created. Unused fields must be zero. */
#define ACU_ABI_CUmemPoolProps(F, S) \
    F(S, unsigned, allocType) \
    F(S, unsigned, handleTypes) \
    F(S, acu_CUmemLocation, location) \
    F(S, void *, win32SecurityAttributes) \
    F(S, size_t, maxSize) \
    F(S, unsigned short, usage) \
    F(S, unsigned char, reserved[54])

/* What the memory of an allocation without an address is used for; zero unless it needs compression
 * or the like. */
typedef struct acu_CUmemAllocFlags {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
} acu_CUmemAllocFlags;

/* An allocation without an address (cuMemCreate). Unused fields must be zero. */
#define ACU_ABI_CUmemAllocationProp(F, S) \
    F(S, unsigned, type) \
    F(S, unsigned, requestedHandleTypes) \
    F(S, acu_CUmemLocation, location) \
    F(S, void *, win32HandleMetaData) \
    F(S, acu_CUmemAllocFlags, allocFlags)

/* Memory of another API; `type` says which member is used. */
typedef union acu_CUexternalMemoryHandle {
    int fd;
    struct {
        void *handle;
        const void *name;
    } win32;
    const void *nvSciBufObject;
} acu_CUexternalMemoryHandle;

#define ACU_ABI_CUDA_EXTERNAL_MEMORY_HANDLE_DESC(F, S) \
    F(S, unsigned, type) \
    F(S, acu_CUexternalMemoryHandle, handle) \
    F(S, unsigned long long, size) \
    F(S, unsigned, flags) \
    F(S, unsigned, reserved[16])

/* The part of that memory that gets an address. */
#define ACU_ABI_CUDA_EXTERNAL_MEMORY_BUFFER_DESC(F, S) \
    F(S, unsigned long long, offset) \
    F(S, unsigned long long, size) \
    F(S, unsigned, flags) \
    F(S, unsigned, reserved[16])

/* A copy of rows. Pitches and widths in bytes. */
#define ACU_ABI_CUDA_MEMCPY2D(F, S) \
    F(S, size_t, srcXInBytes) \
    F(S, size_t, srcY) \
    F(S, unsigned, srcMemoryType) \
    F(S, const void *, srcHost) \
    F(S, CUdeviceptr, srcDevice) \
    F(S, CUarray, srcArray) \
    F(S, size_t, srcPitch) \
    F(S, size_t, dstXInBytes) \
    F(S, size_t, dstY) \
    F(S, unsigned, dstMemoryType) \
    F(S, void *, dstHost) \
    F(S, CUdeviceptr, dstDevice) \
    F(S, CUarray, dstArray) \
    F(S, size_t, dstPitch) \
    F(S, size_t, WidthInBytes) \
    F(S, size_t, Height)

/* A copy of slices of rows. Pitches and widths in bytes, heights in rows. */
#define ACU_ABI_CUDA_MEMCPY3D(F, S) \
    F(S, size_t, srcXInBytes) \
    F(S, size_t, srcY) \
    F(S, size_t, srcZ) \
    F(S, size_t, srcLOD) \
    F(S, unsigned, srcMemoryType) \
    F(S, const void *, srcHost) \
    F(S, CUdeviceptr, srcDevice) \
    F(S, CUarray, srcArray) \
    F(S, void *, reserved0) \
    F(S, size_t, srcPitch) \
    F(S, size_t, srcHeight) \
    F(S, size_t, dstXInBytes) \
    F(S, size_t, dstY) \
    F(S, size_t, dstZ) \
    F(S, size_t, dstLOD) \
    F(S, unsigned, dstMemoryType) \
    F(S, void *, dstHost) \
    F(S, CUdeviceptr, dstDevice) \
    F(S, CUarray, dstArray) \
    F(S, void *, reserved1) \
    F(S, size_t, dstPitch) \
    F(S, size_t, dstHeight) \
    F(S, size_t, WidthInBytes) \
    F(S, size_t, Height) \
    F(S, size_t, Depth)

/* A 3D copy between two contexts. */
#define ACU_ABI_CUDA_MEMCPY3D_PEER(F, S) \
    F(S, size_t, srcXInBytes) \
    F(S, size_t, srcY) \
    F(S, size_t, srcZ) \
    F(S, size_t, srcLOD) \
    F(S, unsigned, srcMemoryType) \
    F(S, const void *, srcHost) \
    F(S, CUdeviceptr, srcDevice) \
    F(S, CUarray, srcArray) \
    F(S, CUcontext, srcContext) \
    F(S, size_t, srcPitch) \
    F(S, size_t, srcHeight) \
    F(S, size_t, dstXInBytes) \
    F(S, size_t, dstY) \
    F(S, size_t, dstZ) \
    F(S, size_t, dstLOD) \
    F(S, unsigned, dstMemoryType) \
    F(S, void *, dstHost) \
    F(S, CUdeviceptr, dstDevice) \
    F(S, CUarray, dstArray) \
    F(S, CUcontext, dstContext) \
    F(S, size_t, dstPitch) \
    F(S, size_t, dstHeight) \
    F(S, size_t, WidthInBytes) \
    F(S, size_t, Height) \
    F(S, size_t, Depth)

/* A kernel node. */
#define ACU_ABI_CUDA_KERNEL_NODE_PARAMS_v1(F, S) \
    F(S, CUfunction, func) \
    F(S, unsigned, gridDimX) \
    F(S, unsigned, gridDimY) \
    F(S, unsigned, gridDimZ) \
    F(S, unsigned, blockDimX) \
    F(S, unsigned, blockDimY) \
    F(S, unsigned, blockDimZ) \
    F(S, unsigned, sharedMemBytes) \
    F(S, void **, kernelParams) \
    F(S, void **, extra)

/* A kernel node since 12.0: `func`, or else `kern` with `ctx`. */
#define ACU_ABI_CUDA_KERNEL_NODE_PARAMS_v2(F, S) \
    F(S, CUfunction, func) \
    F(S, unsigned, gridDimX) \
    F(S, unsigned, gridDimY) \
    F(S, unsigned, gridDimZ) \
    F(S, unsigned, blockDimX) \
    F(S, unsigned, blockDimY) \
    F(S, unsigned, blockDimZ) \
    F(S, unsigned, sharedMemBytes) \
    F(S, void **, kernelParams) \
    F(S, void **, extra) \
    F(S, CUkernel, kern) \
    F(S, CUcontext, ctx)

/* A fill node: `width` counts elements of 1, 2 or 4 bytes. */
#define ACU_ABI_CUDA_MEMSET_NODE_PARAMS(F, S) \
    F(S, CUdeviceptr, dst) \
    F(S, size_t, pitch) \
    F(S, unsigned, value) \
    F(S, unsigned, elementSize) \
    F(S, size_t, width) \
    F(S, size_t, height)

/* A host function node. */
#define ACU_ABI_CUDA_HOST_NODE_PARAMS(F, S) \
    F(S, CUhostFn, fn) \
    F(S, void *, userData)

/* Instantiation since 12.0. */
#define ACU_ABI_CUDA_GRAPH_INSTANTIATE_PARAMS(F, S) \
    F(S, uint64_t, flags) \
    F(S, CUstream, hUploadStream) \
    F(S, CUgraphNode, hErrNode_out) \
    F(S, unsigned, result_out)

/* Why an executable graph could not be updated, since 12.0. */
#define ACU_ABI_CUgraphExecUpdateResultInfo(F, S) \
    F(S, unsigned, result) \
    F(S, CUgraphNode, errorNode) \
    F(S, CUgraphNode, errorFromNode)

/* Value of a launch attribute; `id` of acu_CUlaunchAttribute says which member is used. */
typedef union acu_CUlaunchAttributeValue {
    char pad[64];
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    struct {
        CUevent event;
        int flags;
        int triggerAtBlockStart;
    } programmaticEvent;
    int priority;
    unsigned memSyncDomain;
} acu_CUlaunchAttributeValue;

/* One launch attribute (11.8). */
#define ACU_ABI_CUlaunchAttribute(F, S) \
    F(S, unsigned, id) \
    F(S, char, pad[4]) \
    F(S, acu_CUlaunchAttributeValue, value)

/* A launch with attributes (11.8). */
#define ACU_ABI_CUlaunchConfig(F, S) \
    F(S, unsigned, gridDimX) \
    F(S, unsigned, gridDimY) \
    F(S, unsigned, gridDimZ) \
    F(S, unsigned, blockDimX) \
    F(S, unsigned, blockDimY) \
    F(S, unsigned, blockDimZ) \
    F(S, unsigned, sharedMemBytes) \
    F(S, CUstream, hStream) \
    F(S, acu_CUlaunchAttribute *, attrs) \
    F(S, unsigned, numAttrs)

/* Every struct with a list of fields, each after the structs that it contains. */
#define ACU_ABI_STRUCTS(X) \
    X(CUuuid) \
    X(CUmemLocation) \
    X(CUmemAccessDesc) \
    X(CUmemPoolProps) \
    X(CUmemcpyAttributes_v1) \
    X(CUmemAllocationProp) \
    X(CUDA_EXTERNAL_MEMORY_HANDLE_DESC) \
    X(CUDA_EXTERNAL_MEMORY_BUFFER_DESC) \
    X(CUDA_MEMCPY2D) \
    X(CUDA_MEMCPY3D) \
    X(CUDA_MEMCPY3D_PEER) \
    X(CUDA_KERNEL_NODE_PARAMS_v1) \
    X(CUDA_KERNEL_NODE_PARAMS_v2) \
    X(CUDA_MEMSET_NODE_PARAMS) \
    X(CUDA_HOST_NODE_PARAMS) \
    X(CUDA_GRAPH_INSTANTIATE_PARAMS) \
    X(CUgraphExecUpdateResultInfo) \
    X(CUlaunchAttribute) \
    X(CUlaunchConfig)

#define ACU_ABI_DECLARE_FIELD(S, type, field) type field;
#define ACU_ABI_DECLARE(S) \
    typedef struct acu_##S { \
        ACU_ABI_##S(ACU_ABI_DECLARE_FIELD, S) \
    } acu_##S;
ACU_ABI_STRUCTS(ACU_ABI_DECLARE)
#undef ACU_ABI_DECLARE
#undef ACU_ABI_DECLARE_FIELD

#endif
