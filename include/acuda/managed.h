/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Managed memory: one address for the host and all devices; the driver moves pages to where they
 * are touched. For data that both sides touch sparsely. Data that is copied as a whole is faster in
 * device memory, with acu_copy.
 *
 * Available only if host and device may touch it at the same time (acu_device_info.managed_memory):
 * on other systems the host must not touch it while anything runs on the device. Ops order their
 * work on it as with any other memory. The host may touch it while no work in flight does, and
 * acu_host as its arguments say.
 */
#ifndef ACUDA_MANAGED_H
#define ACUDA_MANAGED_H

#include <acuda/pool.h>

ACU_BEGIN

/*
 * Allocated from the device's pool of managed memory (acu_device_managed_pool), which keeps up to
 * 256 MiB of released memory. acu_buffer_host and acu_tensor_host give the address. A request for
 * more than the device has free is refused: its pages would move to and fro, which can bring a GPU
 * to a standstill.
 * Driver, if the cache has none: cuMemGetInfo, cuMemAllocManaged, which may take a while.
 * Errors: NOT_SUPPORTED (the device has none), DEVICE_MEMORY, NO_MEMORY, INVALID.
 */
ACU_API acu_status acu_buffer_create_managed(acu_device *device, size_t bytes, acu_buffer **buffer);
ACU_API acu_status acu_tensor_alloc_managed(acu_device *device, acu_dtype dtype, acu_shape shape,
                                            acu_tensor **tensor);
/* Borrowed; NULL, with the error record set, if there is no managed memory. Not usable with
 * acu_with_pool. */
ACU_API acu_pool *acu_device_managed_pool(acu_device *device);

/*
 * Move x's pages to a device, or to the host (`device` NULL), ahead of their use there, in order
 * with other work. For that order it counts as reading x; yields x. Other memory than managed is
 * refused (INVALID).
 * Driver: cuMemPrefetchAsync.
 */
#define acu_prefetch(x, device) acu_op_prefetch(ACU_OPERAND(x), (device), ACU_SITE)
ACU_API acu_op *acu_op_prefetch(acu_op *x, acu_device *device, acu_site site);

/* How the program is going to use the memory; acu_unadvise takes it back. */
typedef enum acu_advice {
    ACU_ADVICE_READ_MOSTLY,    /* pages are copied to wherever they are read */
    ACU_ADVICE_PREFERRED_HOME, /* pages stay on the device, or the host, and are accessed from
                                * elsewhere */
    ACU_ADVICE_ACCESSED_BY     /* the device, or the host, keeps its mapping of the pages wherever
                                * they are */
} acu_advice;

/* An op that gives such advice about a device, or the host (`device` NULL), or takes it back;
 * yields x. Driver: cuMemAdvise. */
#define acu_advise(x, advice, device)                                                              \
    acu_op_advise(ACU_OPERAND(x), (advice), false, (device), ACU_SITE)
#define acu_unadvise(x, advice, device)                                                            \
    acu_op_advise(ACU_OPERAND(x), (advice), true, (device), ACU_SITE)
ACU_API acu_op *acu_op_advise(acu_op *x, acu_advice advice, bool not_any_more, acu_device *device,
                              acu_site site);

ACU_END
#endif
