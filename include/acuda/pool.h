/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pools: where buffers get their memory.
 *
 * Each device has one pool of device memory and two of page-locked host memory, which are used
 * unless another pool is named. A pool keeps released memory and hands it out again without
 * entering the driver. It does so at once, even while work that used the memory is in flight: to
 * work that comes after that work in any case (on the same stream), and to other work once that is
 * over. So a thousand queued submissions with temporaries need the memory of a few.
 *
 * Temporaries of one submission, or of a graph (acu_graph_load), share memory too: what an op makes
 * gets the memory of an earlier temporary that nothing needs any more, if the work that writes it
 * comes behind all that used the earlier one in any case. So a chain of n operations takes two
 * tensors, not n. Branches stay side by side, each with memory of its own; but a kernel that writes
 * a tensor of 16 MiB or more may be put behind other kernels, to have the memory of a tensor that
 * large. A submission still gets all its memory at once, when it is issued; if it has parts for
 * several devices, or work of the host in between, each part does, and shares within itself. What
 * takes no part: values that are kept, or that a function of the program's sees (acu_foreign);
 * tensors whose first writer does not overwrite all of them; results of programmatic launches; and
 * submissions that make less than 64 KiB.
 *
 * A block is larger than the request by at most an eighth, or 511 bytes, and is never split. Cached
 * memory in sizes that nobody asks for goes back to the driver when memory is short, and the driver
 * can combine it anew.
 *
 * Memory is short if the driver has none, or the pool's limit is reached. Then, in this order:
 *   - memory cached in other sizes goes back to the driver;
 *   - the work gets memory that other streams still use, and waits for those, on the device;
 *   - the submission is put off while anything is in flight on the device whose end may free
 *     memory, and tried again whenever something completes. The submitting thread never waits.
 *     (acu_buffer_create and similar functions do not wait either; they fail.) Memory held by work
 *     that waits only for another device, with nothing in flight on this one, is not waited for;
 *   - the submission fails with DEVICE_MEMORY; the message gives the numbers.
 * A request for more than the device has, or the pool may hold, fails at once without asking the
 * driver, which would take all available memory before it refuses; other processes may want that
 * memory.
 */
#ifndef ACUDA_POOL_H
#define ACUDA_POOL_H

#include <acuda/memory.h>
#include <acuda/op.h>
#include <acuda/tensor.h>

ACU_BEGIN

/* Zero-initialise, set `size`, change what you need. */
typedef struct acu_pool_options {
    size_t size;          /* sizeof(acu_pool_options) */
    acu_memory_kind kind; /* ACU_MEMORY_DEVICE or ACU_MEMORY_PINNED */
    bool write_combined;  /* pinned: faster for the device to read, very slow for the host to read;
                           * not for memory that acu_to_host had to add */
    size_t limit;         /* bytes that the pool may hold, in use and cached, counted in whole
                           * blocks (above); 0: no limit */
    size_t keep;          /* bytes that the pool may cache while the device is idle; 0: the
                           * default */
} acu_pool_options;

/*
 * `keep`, while the device is idle: device memory cached beyond it goes back to the driver as soon
 * as nothing is in flight on the device. By default all is kept. ACU_KEEP_NONE keeps nothing. On
 * the software device its blocks are also no larger than the request, and temporaries do not share
 * memory, so that every access behind the end of a buffer is detected, and every use of memory that
 * was released before the device was last idle.
 *
 * Page-locked memory, and device memory if the driver has no pools, can only be given back by calls
 * that may wait for the device. So there it happens late: in the next allocation that must ask the
 * driver, which is slow anyway; or, if that one must not wait (acu_to_host), after it, on one of
 * acuda's threads. The default is 256 MiB.
 *
 * While the device works, a pool of device memory holds at most twice the recent peak of use, plus
 * 256 MiB, so that a program whose sizes are always new does not collect a block of each. (Recent:
 * over the last 4096 to 8192 requests, or since the cache has served all of them. A program whose
 * sizes repeat is served from the cache, and keeps it.) If a request to the driver exceeds this
 * bound, one of acuda's threads soon gives back what was unused for longest; no submission does
 * that or waits for it. ACU_KEEP_ALL: no such bound.
 */
#define ACU_KEEP_NONE ACUI_CAST(size_t, 1)
#define ACU_KEEP_ALL SIZE_MAX

/*
 * A pool of the program's own, with memory that nothing else uses: to bound what a part of the
 * program takes, or to measure what it uses. Peers of the device (acu_device_open_peer) have
 * access. The pool goes when it is released and all its buffers are gone; its page-locked memory is
 * then given to the device's own pool, because freeing it may wait. Driver: cuMemPoolCreate,
 * cuMemPoolSetAttribute, cuMemPoolSetAccess for peers. Errors: INVALID, NO_MEMORY, DRIVER.
 */
ACU_API acu_status acu_pool_create(acu_device *device, const acu_pool_options *options,
                                   acu_pool **pool);
ACU_API acu_pool *acu_pool_retain(acu_pool *pool);
ACU_API void acu_pool_release(acu_pool *pool); /* never blocks */

/* The device's own pool, borrowed: valid as long as the device. NULL (with the error record set)
 * for lack of memory. */
ACU_API acu_pool *acu_device_pool(acu_device *device);
ACU_API acu_pool *acu_device_pinned_pool(acu_device *device, bool write_combined);

ACU_API acu_device *acu_pool_device(const acu_pool *pool); /* borrowed */
ACU_API acu_memory_kind acu_pool_kind(const acu_pool *pool);

/* Change the bounds from now on, as in acu_pool_options. This gives nothing back. The pools of a
 * device that acu_device_reset made start with the defaults. Driver: cuMemPoolSetAttribute. */
ACU_API acu_status acu_pool_set_limits(acu_pool *pool, size_t limit, size_t keep);

/* Like acu_buffer_create, acu_buffer_create_pinned and acu_tensor_alloc, with memory of the
 * pool. */
ACU_API acu_status acu_buffer_create_from(acu_pool *pool, size_t bytes, acu_buffer **buffer);
ACU_API acu_status acu_tensor_alloc_from(acu_pool *pool, acu_dtype dtype, acu_shape shape,
                                         acu_tensor **tensor);

/*
 * What `x` allocates comes from the pool: new tensors on the pool's device, or, for a pinned pool,
 * the tensors that acu_to_host makes. Where such ops are nested, the inner one counts. `x` must not
 * allocate on another device than the pool's, or it is refused (DEVICE). acu_submit_options.pool
 * does the same for a submission.
 */
#define acu_with_pool(pool, x) acu_op_with_pool((pool), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_with_pool(acu_pool *pool, acu_op *x, acu_site site);

/*
 * Give cached memory back until at most `keep` bytes are cached, except for memory that work in
 * flight uses: to the driver, and from there to the system (what the driver has not finished with
 * by then, at the next call). Never waits for work, but may take the driver some milliseconds. For
 * page-locked memory, or if the driver has no pools, its calls (cuMemFreeHost, cuMemFree) wait
 * until the device is idle. *freed (`freed` may be NULL) is the number of bytes. Driver:
 * cuEventQuery, cuMemFreeAsync, cuMemPoolTrimTo, cuMemFreeHost.
 */
ACU_API acu_status acu_pool_trim(acu_pool *pool, size_t keep, size_t *freed);

/* Bytes count whole blocks. High-water marks count from the pool's creation, or the last reset of
 * them. */
typedef struct acu_pool_statistics {
    size_t size;          /* sizeof(acu_pool_statistics), set by the caller */
    size_t limit, keep;   /* as set; SIZE_MAX: none */
    size_t in_use;        /* bytes in buffers */
    size_t cached;        /* bytes that are free */
    size_t in_flight;     /* bytes of `cached` that work in flight still uses */
    size_t held;          /* bytes from the driver: in_use + cached */
    size_t in_use_high, held_high;
    size_t blocks_in_use, blocks_cached;
    size_t largest;       /* the largest block that is cached */
    double fragmentation; /* 0 to 1: the share of `cached` that is not in the largest cached
                           * block */
    uint64_t hits;        /* requests that were served from the cache */
    uint64_t misses;      /* requests that the driver served */
    uint64_t waits;       /* requests served with memory that a stream had to wait for, on the
                           * device */
    uint64_t retries;     /* times that memory was short */
    uint64_t put_off;     /* submissions put off until there was memory */
    uint64_t failures;    /* requests that failed for lack of memory */
    uint64_t trimmed;     /* bytes given back to the driver */
    size_t reserved, reserved_high; /* what the driver's pool holds; 0 where it has none */
    size_t bound;         /* the most that it holds while the device works, soon after exceeding it
                           * (see `keep` above); SIZE_MAX: no bound */
} acu_pool_statistics;

/* Driver: cuEventQuery, for in_flight; cuMemPoolGetAttribute, for reserved. */
ACU_API acu_status acu_pool_stats(acu_pool *pool, acu_pool_statistics *stats);
/* The high-water marks restart from the current values. Driver: cuMemPoolSetAttribute. */
ACU_API acu_status acu_pool_reset_high(acu_pool *pool);

ACU_END
#endif
