/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers: counted storage. A tensor (tensor.h) gives a buffer dtype and shape; most programs meet
 * buffers only where host memory enters and leaves.
 */
#ifndef ACUDA_MEMORY_H
#define ACUDA_MEMORY_H

#include <acuda/device.h>

ACU_BEGIN

typedef struct acu_buffer acu_buffer;
typedef struct acu_pool acu_pool; /* pool.h */

typedef enum acu_memory_kind {
    ACU_MEMORY_DEVICE, /* device memory */
    ACU_MEMORY_PINNED, /* page-locked host memory of acuda's */
    ACU_MEMORY_HOST,   /* the program's own host memory, wrapped and page-locked */
    ACU_MEMORY_PAGEABLE, /* the same, not page-locked: devices never touch it */
    ACU_MEMORY_FOREIGN, /* device memory that belongs to somebody else,
                         * wrapped, or can (external.h) */
    ACU_MEMORY_MANAGED /* of the host and all devices: managed.h */
} acu_memory_kind;

/*
 * Device memory of the device's pool (pool.h), now. Contents are undefined. What is in the pool's
 * cache is had without a driver call. Ops such as acu_zeros allocate in stream order, may use what
 * work in flight still does, and are the better choice for short-lived data.
 * Driver, if the cache has none: cuMemAllocFromPoolAsync and cuEventRecord on a stream of the
 * device, or cuMemAlloc where it has no pools. Never waits for memory.
 * Errors: DEVICE_MEMORY (with what was asked, is in use, cached and free),
 * NO_MEMORY, INVALID (0 bytes).
 */
ACU_API acu_status acu_buffer_create(acu_device *device, size_t bytes, acu_buffer **buffer);

/*
 * Page-locked host memory, readable by the host and copied to and from asynchronously, by all
 * devices of the process. From the device's pinned pool (pool.h), which keeps up to 256 MiB of what
 * was released: then there is no driver call, else it is slow (milliseconds for many MiB). Driver:
 * cuMemHostAlloc. The host may touch it only while no work in flight does:
 * wait for the future first.
 * Errors: NO_MEMORY, INVALID (0 bytes), DRIVER, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_buffer_create_pinned(acu_device *device, size_t bytes, acu_buffer **buffer);

/*
 * Wrapping memory, in three ways. Order follows data by buffer and bytes: two buffers that wrap the
 * same memory, or overlapping parts of it, are two memories to acuda, and their work is not ordered
 * with each other. So wrap the whole once, and take tensors and slices of that; where the same
 * memory comes in twice, order the work by name (acu_after_future, acu_after).
 */

/*
 * Host memory of the program's for asynchronous copies. It is page-locked by this call and
 * unlocked after the last use; `user.release` is called once with `user.data` after that. If the
 * call fails, the release is called too before it returns. Memory that is page-locked already, all
 * of it at once, is left to who locked it, who must not unlock it before that.
 * Errors: INVALID, NO_MEMORY, BUSY (it overlaps a range that is wrapped and is not the same, or
 * only a part of it was page-locked by somebody else), DRIVER, DEVICE_LOST, STALE.
 * Driver: cuMemHostRegister (0.15 ms for a MiB), later cuMemHostUnregister.
 */
ACU_API acu_status acu_buffer_wrap_host(acu_device *device, void *memory, size_t bytes,
                                        acu_user user, acu_buffer **buffer);

/*
 * The same without page-locking, which costs more than many copies: for memory that is copied
 * seldom, or is not worth locking. No driver call. Devices never see it: copies from and to it go
 * through pinned memory of acuda's, filled and emptied by helper threads (staging.h), so they are
 * asynchronous too. It can not be an argument of a kernel. The device is the one whose operations
 * will use it.
 */
ACU_API acu_status acu_buffer_wrap_pageable(acu_device *device, void *memory, size_t bytes,
                                            acu_user user, acu_buffer **buffer);

/* Device memory that another library owns; released as above after its last use in acuda. No driver
 * call: whether so many bytes are allocated there is not asked. Errors: INVALID (NULL, 0 bytes, or
 * more than there are addresses), NO_MEMORY, DEVICE_LOST, STALE. */
ACU_API acu_status acu_buffer_wrap_device(acu_device *device, CUdeviceptr memory, size_t bytes,
                                          acu_user user, acu_buffer **buffer);

/*
 * Give the memory of a buffer to the program: the buffer is released, and its memory is the
 * program's to free, by cuMemFree or cuMemFreeAsync. For memory of acuda's on the device that
 * nothing else has; else it stays as it is. Errors: INVALID (other memory), SHARED (other handles,
 * tensors), BUSY (work in flight, or it is just being allocated: try again), DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_buffer_leak(acu_buffer *buffer, CUdeviceptr *address);

ACU_API size_t acu_buffer_bytes(const acu_buffer *buffer);
ACU_API acu_memory_kind acu_buffer_kind(const acu_buffer *buffer);
ACU_API acu_device *acu_buffer_device(const acu_buffer *buffer); /* borrowed */
/* The host's address of pinned or wrapped host memory, NULL for device memory. */
ACU_API void *acu_buffer_host(const acu_buffer *buffer);
/* The device's address; 0 while an op that will allocate it has not been issued, or the memory that
 * acu_to_host gave it is not page-locked yet. */
ACU_API CUdeviceptr acu_buffer_address(const acu_buffer *buffer);
ACU_API acu_buffer *acu_buffer_retain(acu_buffer *buffer);
/* Never blocks, makes no driver call. The memory is free for what comes behind the work in flight
 * that uses it; wrapped memory is released once that is over. */
ACU_API void acu_buffer_release(acu_buffer *buffer);

ACU_END
#endif
