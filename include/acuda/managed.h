/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Managed memory: one address for the host and all devices, and the driver moves the pages to where
 * they are touched. For data that both sides touch here and there; what is copied as a whole is
 * faster in device memory with acu_copy.
 *
 * Only where host and device may touch it at the same time (acu_device_info.managed_memory):
 * elsewhere the host must not touch it while anything runs on the device. Ops order what they do
 * with it as with any other memory; the host may touch it while no work in flight does, and
 * acu_host as its arguments say.
 */
#ifndef ACUDA_MANAGED_H
#define ACUDA_MANAGED_H

#include <acuda/pool.h>

ACU_BEGIN

/*
 * From a pool of the device's (acu_device_managed_pool), which keeps up to 256 MiB of what was
 * released. acu_buffer_host and acu_tensor_host give its address. More than the device has free is
 * refused: it would be shifted to and fro, which can bring a GPU to a stop.
 * Driver, if the cache has none: cuMemGetInfo, cuMemAllocManaged, which may take a while.
 * Errors: NOT_SUPPORTED (the device has none), DEVICE_MEMORY, NO_MEMORY, INVALID.
 */
ACU_API acu_status acu_buffer_create_managed(acu_device *device, size_t bytes, acu_buffer **buffer);
ACU_API acu_status acu_tensor_alloc_managed(acu_device *device, acu_dtype dtype, acu_shape shape,
                                            acu_tensor **tensor);
/* Borrowed; NULL, with the record, where there is no managed memory. Not for acu_with_pool. */
ACU_API acu_pool *acu_device_managed_pool(acu_device *device);

/*
 * Move x's pages to a device, or to the host (NULL), in turn with the rest: before they are needed
 * there. Reads x, as far as order goes; yields x. Refused (INVALID) for other memory than managed.
 * Driver: cuMemPrefetchAsync.
 */
#define acu_prefetch(x, device) acu_op_prefetch(ACU_OPERAND(x), (device), ACU_SITE)
ACU_API acu_op *acu_op_prefetch(acu_op *x, acu_device *device, acu_site site);

/* What the program is going to do with the memory; taken back by acu_unadvise. */
typedef enum acu_advice {
    ACU_ADVICE_READ_MOSTLY,    /* copies of the pages wherever they are read */
    ACU_ADVICE_PREFERRED_HOME, /* they stay on the device, or on the host, and
                                * are reached from elsewhere */
    ACU_ADVICE_ACCESSED_BY     /* the device, or host, keeps its way to them wherever they are */
} acu_advice;

/* The same about a device, or the host (NULL), as an op, yields x. Driver: cuMemAdvise. */
#define acu_advise(x, advice, device)                                                              \
    acu_op_advise(ACU_OPERAND(x), (advice), false, (device), ACU_SITE)
#define acu_unadvise(x, advice, device)                                                            \
    acu_op_advise(ACU_OPERAND(x), (advice), true, (device), ACU_SITE)
ACU_API acu_op *acu_op_advise(acu_op *x, acu_advice advice, bool not_any_more, acu_device *device,
                              acu_site site);

ACU_END
#endif
