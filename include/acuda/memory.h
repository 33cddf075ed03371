/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers: reference-counted storage. A tensor (tensor.h) gives a buffer a dtype and a shape; most
 * programs meet buffers only where host memory enters and leaves.
 */
#ifndef ACUDA_MEMORY_H
#define ACUDA_MEMORY_H

#include <acuda/device.h>

ACU_BEGIN

typedef struct acu_buffer acu_buffer;
typedef struct acu_pool acu_pool; /* pool.h */

typedef enum acu_memory_kind {
    ACU_MEMORY_DEVICE, /* device memory */
    ACU_MEMORY_PINNED, /* page-locked host memory made by acuda */
    ACU_MEMORY_HOST,   /* the program's own host memory, wrapped and page-locked */
    ACU_MEMORY_PAGEABLE, /* the same, but not page-locked: devices never touch it */
    ACU_MEMORY_FOREIGN, /* device memory that belongs to others, wrapped, or can be shared with them
                         * (external.h) */
    ACU_MEMORY_MANAGED /* memory of the host and all devices: managed.h */
} acu_memory_kind;

/*
 * Allocate device memory from the device's pool (pool.h), immediately. Contents are undefined.
 * Memory in the pool's cache is had without a driver call, except cuEventQuery to find out whether
 * the work that used it is over. For short-lived data, ops such as acu_zeros are the better choice:
 * they allocate in stream order, and may reuse memory that work in flight still uses. Never waits
 * for memory.
 * Driver, if the cache has none: cuMemAllocFromPoolAsync and cuEventRecord on a stream of the
 * device, or cuMemAlloc where it has no pools.
 * Errors: DEVICE_MEMORY (with the bytes asked for, in use, cached and free), NO_MEMORY, INVALID (0
 * bytes).
 */
ACU_API acu_status acu_buffer_create(acu_device *device, size_t bytes, acu_buffer **buffer);

/*
 * Page-locked host memory, for the host to access and for asynchronous copies by all devices of the
 * process. It comes from the device's pinned pool (pool.h), which keeps up to 256 MiB of released
 * memory. If the pool has some, there is no driver call; if not, this is slow (milliseconds for
 * many MiB). The host may touch the memory only while no work in flight does: wait for the future
 * first.
 * Driver: cuMemHostAlloc, cuMemHostGetDevicePointer. Errors: NO_MEMORY, INVALID (0 bytes), DRIVER,
 * DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_buffer_create_pinned(acu_device *device, size_t bytes, acu_buffer **buffer);

/*
 * Wrapping memory, in three ways. acuda orders work by buffer and bytes: two buffers that wrap the
 * same memory, or overlapping parts of it, are two different memories to it, and work on one is not
 * ordered with work on the other. So wrap the whole range once, and take tensors and slices of
 * that. Where the same memory does come in twice, order the work explicitly (acu_after_future,
 * acu_after).
 */

/*
 * Wrap host memory of the program for asynchronous copies. (For kernels, it is memory of `device`.)
 * This call page-locks it; after the last use it is unlocked, and then `user.release` is called
 * once with `user.data`. If the call fails, it calls the release before it returns. Memory that is
 * page-locked already, in a single registration that covers all of it, stays as it is; whoever
 * locked it must not unlock it before the release.
 * Driver: cuMemHostRegister (0.15 ms for a MiB), cuMemHostGetDevicePointer; later
 * cuMemHostUnregister.
 * Errors: INVALID, NO_MEMORY, BUSY (the memory overlaps, but does not equal, a range that is
 * wrapped already, or only a part of it was page-locked by somebody else), DRIVER, DEVICE_LOST,
 * STALE.
 */
ACU_API acu_status acu_buffer_wrap_host(acu_device *device, void *memory, size_t bytes,
                                        acu_user user, acu_buffer **buffer);

/*
 * The same without page-locking, which costs more than many copies: for memory that is copied
 * seldom, or is not worth locking. No driver call. Devices never see this memory: helper threads
 * copy it through acuda's pinned memory (staging.h), so copies are asynchronous too. It can not be
 * a kernel argument. `device` is the one whose operations will use it.
 */
ACU_API acu_status acu_buffer_wrap_pageable(acu_device *device, void *memory, size_t bytes,
                                            acu_user user, acu_buffer **buffer);

/* Wrap device memory that another library owns; the release is called, as above, after its last
 * use in acuda. No driver call, so it is not checked that this many bytes are allocated there.
 * Errors: INVALID (NULL, 0 bytes, or beyond the end of the address space), NO_MEMORY,
 * DEVICE_LOST, STALE. */
ACU_API acu_status acu_buffer_wrap_device(acu_device *device, CUdeviceptr memory, size_t bytes,
                                          acu_user user, acu_buffer **buffer);

/*
 * Give a buffer's memory to the program. The buffer is released, and the program frees the memory,
 * with cuMemFree or cuMemFreeAsync. Works for device memory that acuda allocated and nothing else
 * holds; otherwise the buffer is unchanged. Driver: cuEventQuery. Errors: INVALID (other memory),
 * SHARED (other handles, tensors), BUSY (work in flight, or it is just being allocated: try again),
 * DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_buffer_detach(acu_buffer *buffer, CUdeviceptr *address);

ACU_API size_t acu_buffer_bytes(const acu_buffer *buffer);
ACU_API acu_memory_kind acu_buffer_kind(const acu_buffer *buffer);
ACU_API acu_device *acu_buffer_device(const acu_buffer *buffer); /* borrowed */
/* The host address of pinned or wrapped host memory; NULL for device memory. */
ACU_API void *acu_buffer_host(const acu_buffer *buffer);
/* The device address. 0 while the op that will allocate it has not been issued, or while memory for
 * acu_to_host is not page-locked yet. */
ACU_API CUdeviceptr acu_buffer_address(const acu_buffer *buffer);
ACU_API acu_buffer *acu_buffer_retain(acu_buffer *buffer);
/* Never blocks, makes no driver call. The memory can be reused by work that is ordered after the
 * work in flight that uses it; wrapped memory is released once that work is over. */
ACU_API void acu_buffer_release(acu_buffer *buffer);

ACU_END
#endif
