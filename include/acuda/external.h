/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that another API, another process or another library of this process made, as acuda's
 * buffers; and acuda's memory for others. Memory is handed over as a file descriptor: CUDA's own,
 * Vulkan's (VK_KHR_external_memory_fd), or a dma-buf, if the driver takes these.
 *
 *     acu_external_options from = {.size = sizeof from, .kind = ACU_EXTERNAL_OPAQUE_FD,
 *                                  .fd = fd, .bytes = allocation_bytes};
 *     acu_external_import(device, &from, &external);
 *     acu_external_buffer(external, image_offset, image_bytes, &image);
 *     acu_external_release(external);          // its buffers hold it
 *
 * To reach another process, a descriptor is sent over a socket (SCM_RIGHTS) or inherited by a
 * program that is started; a mere child of fork can not use CUDA once its parent does.
 *
 * acuda orders what acuda itself does with such a buffer. It does not see what others do with the
 * memory: wait for the future before you tell them to go on, and import, or submit, only when they
 * are done. Within a process, importing the same memory a second time gives other buffers, whose
 * work is not ordered with that of the first ones.
 */
#ifndef ACUDA_EXTERNAL_H
#define ACUDA_EXTERNAL_H

#include <acuda/memory.h>

ACU_BEGIN

typedef struct acu_external acu_external;

/* What kind of descriptor it is. */
typedef enum acu_external_kind {
    ACU_EXTERNAL_CUDA,      /* from acu_buffer_export or cuMemExportToShareableHandle */
    ACU_EXTERNAL_OPAQUE_FD, /* from vkGetMemoryFdKHR,
                             * VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT */
    ACU_EXTERNAL_DMA_BUF    /* a dma-buf; drivers of CUDA 13 and newer, on some systems */
} acu_external_kind;

typedef struct acu_external_options {
    size_t size; /* sizeof(acu_external_options) */
    acu_external_kind kind;
    int fd;         /* remains yours, to be closed whenever you like: acuda works on a duplicate */
    size_t bytes;   /* size of the whole allocation, as its maker requested it: the allocationSize
                     * of VkMemoryAllocateInfo, the bytes of the exported buffer */
    bool dedicated; /* made with VkMemoryDedicatedAllocateInfo */
    bool read_only; /* operations that would write it are refused */
} acu_external_options;

/*
 * Import the memory and give all of it an address on the device. Not for a hot path. On failure
 * nothing is kept.
 * Driver: cuImportExternalMemory, cuExternalMemoryGetMappedBuffer; for CUDA's own memory
 * cuDeviceGetAttribute, cuMemImportFromShareableHandle, cuMemGetAllocationGranularity,
 * cuMemAddressReserve, cuMemMap, cuMemSetAccess.
 * Errors: INVALID (no bytes, a descriptor that is not open), DRIVER (a descriptor of another kind,
 * or of fewer bytes; the message has the driver's error), NOT_SUPPORTED (the driver, or the device,
 * has no such memory), DEVICE_MEMORY, NO_MEMORY, DEVICE_LOST.
 */
ACU_API acu_status acu_external_import(acu_device *device, const acu_external_options *options,
                                       acu_external **external);

/*
 * A buffer over `bytes` bytes of the import, from `offset` on; 0 bytes: all the rest. Its kind is
 * ACU_MEMORY_FOREIGN. One import can give any number of buffers. The buffer holds the import, as do
 * its tensors and work in flight with them: the memory is given back after the last use of the last
 * one. If a buffer over the same range exists, it is returned again; ranges that overlap in any
 * other way are refused, because operations on the two would not be ordered: make tensors, and
 * views of them, over one buffer instead. Any offset is accepted here, but a tensor's elements must
 * be aligned. No driver call; any thread.
 * Errors: INVALID (outside the memory; the message has the numbers), BUSY (overlaps a living
 * buffer), NO_MEMORY.
 */
ACU_API acu_status acu_external_buffer(acu_external *external, size_t offset, size_t bytes,
                                       acu_buffer **buffer);

ACU_API size_t acu_external_bytes(const acu_external *external);
ACU_API acu_device *acu_external_device(const acu_external *external); /* borrowed */
ACU_API acu_external *acu_external_retain(acu_external *external);
/*
 * Release a reference. The last one, of the import or of a buffer over it, gives the memory back.
 * Driver: cuMemUnmap, cuMemAddressFree, cuMemRelease for CUDA's own memory; cuMemFree,
 * cuDestroyExternalMemory for others'. cuMemFree waits for the device to finish its work: where
 * that matters, hold on to the import, and release it last, on a thread that may wait.
 */
ACU_API void acu_external_release(acu_external *external);

/*
 * Device memory that can be handed to other processes: a separate allocation in steps of 2 MiB,
 * outside the pools, for long-lived data. Contents are undefined. Only this device accesses it
 * directly, not kernels of a device with peer access. Its kind is ACU_MEMORY_FOREIGN.
 * Driver: cuDeviceGetAttribute, cuMemGetAllocationGranularity, cuMemCreate, cuMemAddressReserve,
 * cuMemMap, cuMemSetAccess.
 * Errors: NOT_SUPPORTED (the driver or the device has no such memory), DEVICE_MEMORY, NO_MEMORY,
 * INVALID (0 bytes).
 */
ACU_API acu_status acu_buffer_create_exportable(acu_device *device, size_t bytes,
                                                acu_buffer **buffer);

/*
 * A new descriptor of such a buffer's memory, for the caller to close. The memory lives as long as
 * anybody has it. May be called any number of times, from any thread. Imported memory can not be
 * exported again, because the driver refuses it (CUDA 13.0): pass on a duplicate of the descriptor
 * that it came from.
 * Driver: cuMemExportToShareableHandle.
 * Errors: INVALID (another kind of buffer; one that was imported), DRIVER, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_buffer_export(acu_buffer *buffer, int *fd);

ACU_END
#endif
