/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pools: where buffers get their memory.
 *
 * Each device has a pool of device memory and two of page-locked host memory, which are used where
 * nothing else is said. A pool keeps what was released and hands it out again without entering the
 * driver, at once, also while work that used it is still in flight: to work that comes behind that
 * work in any case (on the same stream), else once that is over. So a thousand queued submissions
 * with temporaries need the memory of a few.
 *
 * A block is at most an eighth larger than what was asked for, or 511 bytes, and is never cut up:
 * what the cache holds in sizes that nobody asks for goes back to the driver when memory is short,
 * and the driver can put any of it together anew.
 *
 * Memory is short where the driver has none, or the pool's limit is reached. Then, in this order:
 *   - what is cached in other sizes goes back to the driver;
 *   - the work gets memory that other streams still use, and waits for those, on the device;
 *   - a submission is put off, while anything is in flight on the device whose end may free some,
 *     and is tried again whenever something completes; who submits never waits. (acu_buffer_create
 *     and its like do not wait either, and fail instead.) What others hold on the device while they
 *     wait for another device only, with nothing in flight on this one, is not waited for.
 *   - It fails with DEVICE_MEMORY, in numbers.
 * What asks for more than the device has, or the pool may hold, fails at once, and the driver is
 * not asked: it would take all the memory that there is, which other processes may want, before it
 * refuses.
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
                           * not what acu_to_host had to add */
    size_t limit;         /* bytes that it may hold, in use and cached, as whole blocks (above);
                           * 0: no limit */
    size_t keep;          /* bytes that it may cache while the device is idle; 0: the usual */
} acu_pool_options;

/*
 * `keep`: device memory that is cached beyond goes back to the driver when nothing is in flight on
 * the device; the usual is all. ACU_KEEP_NONE keeps nothing, which lets the software device see
 * each use after a release. Page-locked memory, and device memory where the driver has no pools,
 * can only be given back by calls that may wait for the device: there it is done by the next
 * allocation that has to ask the driver, which is slow anyway, or after it by a thread of acuda's
 * where that must not wait (acu_to_host); the usual is 256 MiB.
 *
 * While the device works, a pool of device memory holds at most twice what was in use at one time
 * lately (in the last 4096 to 8192 requests, or since the cache has served all), and 256 MiB: so a
 * program of ever new sizes does not collect a block of each. A request that goes beyond, for which
 * the cache had nothing, has a thread of acuda's give back to the driver what was not used for
 * longest, soon after it; no submission does that or waits for it. A program whose sizes repeat has
 * all from the cache, and keeps it. ACU_KEEP_ALL: no such bound.
 */
#define ACU_KEEP_NONE ACUI_CAST(size_t, 1)
#define ACU_KEEP_ALL SIZE_MAX

/*
 * A pool of the program's own, with memory that nothing else uses: to bound what a part of the
 * program takes, or to tell what it uses. Peers of the device (acu_device_open_peer) have access.
 * It goes when it was released and all its buffers are gone; page-locked memory that it had then
 * becomes the device's own pool's, as freeing it may wait. Driver: cuMemPoolCreate.
 * Errors: INVALID, NO_MEMORY, DRIVER.
 */
ACU_API acu_status acu_pool_create(acu_device *device, const acu_pool_options *options,
                                   acu_pool **pool);
ACU_API acu_pool *acu_pool_retain(acu_pool *pool);
ACU_API void acu_pool_release(acu_pool *pool); /* never blocks */

/* The device's own, borrowed: valid as long as the device. NULL (with the
 * record) for lack of memory. */
ACU_API acu_pool *acu_device_pool(acu_device *device);
ACU_API acu_pool *acu_device_pinned_pool(acu_device *device, bool write_combined);

ACU_API acu_device *acu_pool_device(const acu_pool *pool); /* borrowed */
ACU_API acu_memory_kind acu_pool_kind(const acu_pool *pool);

/* Other bounds from now on, as in acu_pool_options. Nothing is given back by this. The own pools of
 * a device that acu_device_reset made have the usual ones. Driver: cuMemPoolSetAttribute. */
ACU_API acu_status acu_pool_set_limits(acu_pool *pool, size_t limit, size_t keep);

/* Memory of the pool, as by acu_buffer_create and acu_buffer_create_pinned. */
ACU_API acu_status acu_buffer_create_from(acu_pool *pool, size_t bytes, acu_buffer **buffer);
ACU_API acu_status acu_tensor_alloc_from(acu_pool *pool, acu_dtype dtype, acu_shape shape,
                                         acu_tensor **tensor);

/*
 * What `x` allocates comes from the pool: new tensors on its device, or, from a pinned pool, those
 * that acu_to_host makes. Around another one the inner one counts. `x` must not allocate on another
 * device than the pool's: it is refused (DEVICE). acu_submit_options.pool does it for a submission.
 */
#define acu_with_pool(pool, x) acu_op_with_pool((pool), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_with_pool(acu_pool *pool, acu_op *x, acu_site site);

/*
 * Give cached memory back until at most `keep` bytes are cached, as far as no work in flight uses
 * it; to the driver, and from there to the system (what the driver has not done with at once, by
 * the next call). Never waits for work, but may take the driver some milliseconds; for page-locked
 * memory, and without pools of the driver's, its calls (cuMemFreeHost, cuMemFree) wait until the
 * device is idle. `*freed` (may be NULL): how many bytes. Driver: cuMemFreeAsync, cuMemPoolTrimTo,
 * cuMemFreeHost.
 */
ACU_API acu_status acu_pool_trim(acu_pool *pool, size_t keep, size_t *freed);

/* Bytes count whole blocks. High-water marks are since the pool was made,
 * or since the last reset. */
typedef struct acu_pool_stats {
    size_t size;          /* sizeof(acu_pool_stats), set by the caller */
    size_t limit, keep;   /* as set; SIZE_MAX where there is none */
    size_t in_use;        /* bytes of buffers */
    size_t cached;        /* bytes that are free, ... */
    size_t in_flight;     /* ... and of these, such as work in flight still uses */
    size_t held;          /* from the driver: in_use + cached */
    size_t in_use_high, held_high;
    size_t blocks_in_use, blocks_cached;
    size_t largest;       /* the largest block that is cached */
    double fragmentation; /* 0 to 1: share of what is cached that is not in the largest block */
    uint64_t hits;        /* requests that were served from the cache */
    uint64_t misses;      /* ... and by the driver */
    uint64_t waits;       /* ... and by memory that a stream had to wait for, on the device */
    uint64_t retries;     /* times that memory was short */
    uint64_t put_off;     /* submissions that were put off until there was memory */
    uint64_t failures;    /* requests that failed for lack of memory */
    uint64_t trimmed;     /* bytes given back to the driver */
    size_t reserved, reserved_high; /* what the driver's pool has taken; 0 where it has none */
    size_t bound;         /* what it holds at most while the device works, soon after it was more
                           * (see `keep` above); SIZE_MAX where there is none */
} acu_pool_stats;

/* Driver: cuEventQuery, for in_flight; cuMemPoolGetAttribute, for reserved. */
ACU_API acu_status acu_pool_get_stats(acu_pool *pool, acu_pool_stats *stats);
/* High-water marks start anew from what is now. */
ACU_API acu_status acu_pool_reset_high(acu_pool *pool);

ACU_END
#endif
