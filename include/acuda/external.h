/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that another API, another process or another library of this one made, as buffers of
 * acuda; and memory of acuda's for others. It is handed over as a file descriptor: memory of CUDA's
 * own, Vulkan's (VK_KHR_external_memory_fd), or a dma-buf where the driver takes these.
 *
 *     acu_external_options from = {.size = sizeof from, .kind = ACU_EXTERNAL_OPAQUE_FD,
 *                                  .fd = fd, .bytes = allocation_bytes};
 *     acu_external_import(device, &from, &external);
 *     acu_external_buffer(external, image_offset, image_bytes, &image);
 *     acu_external_release(external);          // its buffers hold it
 *
 * A descriptor goes to another process over a socket (SCM_RIGHTS), or as one that a program which
 * is started inherits; a child of fork itself can not use CUDA once its parent does.
 *
 * acuda orders what is done with such a buffer in acuda. What others do with the memory it does not
 * see: wait for the future before you tell them to go on, and import, or submit, once they are
 * done. Within a process, memory that is imported a second time is other buffers, of whose order
 * the first ones know nothing.
 */
#ifndef ACUDA_EXTERNAL_H
#define ACUDA_EXTERNAL_H

#include <acuda/memory.h>

ACU_BEGIN

typedef struct acu_external acu_external;

/* What the descriptor is. */
typedef enum acu_external_kind {
    ACU_EXTERNAL_CUDA,      /* acu_buffer_export's, or cuMemExportToShareableHandle's */
    ACU_EXTERNAL_OPAQUE_FD, /* vkGetMemoryFdKHR's, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT */
    ACU_EXTERNAL_DMA_BUF    /* a dma-buf; drivers of CUDA 13 and newer, on some systems */
} acu_external_kind;

typedef struct acu_external_options {
    size_t size; /* sizeof(acu_external_options) */
    acu_external_kind kind;
    int fd;         /* stays yours, to be closed whenever you like: acuda works on a duplicate */
    size_t bytes;   /* of the whole allocation, as its maker asked for: VkMemoryAllocateInfo's
                     * allocationSize, the bytes of the exported buffer */
    bool dedicated; /* made with VkMemoryDedicatedAllocateInfo */
    bool read_only; /* operations that would write it are refused */
} acu_external_options;

/*
 * Import the memory and give all of it an address on the device. Not for a hot path. On
 * failure nothing is kept.
 * Driver: cuImportExternalMemory, cuExternalMemoryGetMappedBuffer; for CUDA's own memory
 * cuMemImportFromShareableHandle, cuMemGetAllocationGranularity, cuMemAddressReserve, cuMemMap,
 * cuMemSetAccess.
 * Errors: INVALID (no bytes, a descriptor that is not open), DRIVER (not such a descriptor, or of
 * less bytes: the message says with what the driver refused it), NOT_SUPPORTED (the driver, or the
 * device, has no such memory), DEVICE_MEMORY, NO_MEMORY, DEVICE_LOST.
 */
ACU_API acu_status acu_external_import(acu_device *device, const acu_external_options *options,
                                       acu_external **external);

/*
 * A buffer over so many bytes of it, from `offset` on; 0 bytes: all the rest. Its kind is
 * ACU_MEMORY_FOREIGN. It holds the import, as do its tensors and work in flight with them: the
 * memory is given back after the last use of the last one. Any number of buffers can be had of one
 * import. Of a range that is a buffer now the same one is given once more; ranges that overlap
 * otherwise are refused, because operations on the two would not be ordered: make tensors, and
 * views of them, over one buffer. Any offset will do here, a tensor's elements want to be aligned.
 * No driver call; any thread.
 * Errors: INVALID (outside of the memory, in numbers), BUSY (overlaps a living buffer), NO_MEMORY.
 */
ACU_API acu_status acu_external_buffer(acu_external *external, size_t offset, size_t bytes,
                                       acu_buffer **buffer);

ACU_API size_t acu_external_bytes(const acu_external *external);
ACU_API acu_device *acu_external_device(const acu_external *external); /* borrowed */
ACU_API acu_external *acu_external_retain(acu_external *external);
/*
 * Whoever lets go last, this or a buffer's release, gives the memory back. Driver: cuMemUnmap,
 * cuMemAddressFree, cuMemRelease for CUDA's own; cuMemFree, cuDestroyExternalMemory for
 * that of others: cuMemFree waits for the device to finish what it has, so hold on to the import
 * where that matters, and release it last, on a thread that may wait.
 */
ACU_API void acu_external_release(acu_external *external);

/*
 * Device memory that can be handed to other processes, of its own, in steps of 2 MiB, outside of
 * the pools: for what lives long. Contents are undefined. Only this device reaches it directly: not
 * kernels of a device with peer access. Its kind is ACU_MEMORY_FOREIGN.
 * Driver: cuMemGetAllocationGranularity, cuMemCreate, cuMemAddressReserve, cuMemMap,
 * cuMemSetAccess.
 * Errors: NOT_SUPPORTED (the driver or the device has no such memory), DEVICE_MEMORY, NO_MEMORY,
 * INVALID (0 bytes).
 */
ACU_API acu_status acu_buffer_create_exportable(acu_device *device, size_t bytes,
                                                acu_buffer **buffer);

/*
 * A new descriptor of such a buffer's memory; yours to close. The memory lives on while anybody has
 * it. Any number of times, any thread. What was imported is not exported again, which the driver
 * refuses (CUDA 13.0): hand on a duplicate of the descriptor that it came by.
 * Driver: cuMemExportToShareableHandle.
 * Errors: INVALID (another buffer; one that was imported), DRIVER, DEVICE_LOST, STALE.
 */
ACU_API acu_status acu_buffer_export(acu_buffer *buffer, int *fd);

ACU_END
#endif
