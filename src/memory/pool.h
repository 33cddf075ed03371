/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Inside of pools: blocks of memory, kept for reuse.
 *
 *   size.h     sizes of blocks, and the bins that they are kept in
 *   cache.c    taking and putting: no driver call, a short lock
 *   source.c   where blocks come from and go to: the driver
 *   slab.c     page-locked memory: small blocks are cut, many from one allocation
 *   growth.c   ... had by a thread of the loader's, for submissions, which must not wait
 *   get.c      a block for a request, whatever that takes
 *   trim.c     giving back
 *   bound.c    ... what is cached beyond what a pool holds at most, while it works
 *   pool.c     making pools, the device's own, the public interface
 *
 * A block that is put back carries fences, the marks behind which it may be reused, and is handed
 * out to who comes behind them. Nobody waits for a block while the driver has memory: that would
 * order submissions that share nothing. Where it has none, waiting on the
 * device is better than failing.
 */
#ifndef ACUI_MEMORY_POOL_H
#define ACUI_MEMORY_POOL_H

#include "device/loader.h"
#include "memory/fences.h"
#include "memory/memory.h"
#include "memory/size.h"

#include <acuda/pool.h>

#define ACUI_PINNED_KEEP ((size_t)256 << 20) /* of what is given back by slow calls */

typedef struct acui_slab acui_slab;

typedef struct acui_block {
    size_t bytes; /* at least what was asked for */
    CUdeviceptr address;
    void *host; /* of page-locked memory */
    acui_slab *slab; /* that it is a part of: all page-locked memory; NULL:
                      * an allocation of its own */
    struct acui_block *next, *previous; /* in its bin: a ring but for the last one's `next` */
    uint64_t put_at; /* the count of requests then */
    size_t bin;
    acui_fences fences; /* while it is in use: those that it was given out with */
} acui_block;

struct acui_slab {
    acui_slab *next; /* while it is given back */
    void *host;
    CUdeviceptr address;
    size_t bytes;           /* of its blocks */
    bool registered;        /* mapped here and registered, not made by the driver */
    struct acui_growth *growth; /* not NULL: what becomes of its page-locking is not known to
                                 * all yet; this and the rest: pool->lock */
    bool dead;              /* nor ever will be: its blocks are those that were given out */
    uint32_t count, cached; /* of its blocks */
    uint64_t looked_at;     /* the last of its pool's `trims` that did; 0: none */
    acui_block blocks[];
};

struct acu_pool {
    acui_object object;
    acu_device *device; /* retained, but by its own pools, whose references are the device's */
    bool own;
    bool slow;           /* giving memory back may wait for the device */
    bool write_combined;
    acu_memory_kind kind;
    CUmemoryPool raw;    /* NULL: of none */
    acu_pool *next;      /* of the device; device->lock */

    acui_lock lock; /* a leaf; all that follows */
    size_t limit, keep;   /* SIZE_MAX: none */
    size_t in_use, cached, held, in_use_high, held_high; /* in_use_high: acui_pool_note_high */
    size_t lately, before; /* the most in use in this window of requests, and in the one before */
    uint64_t window;       /* when it began: of all requests */
    bool bounded;          /* what it holds while the device works (bound.c) */
    bool trimming;         /* `trim` is on its way */
    acui_job trim;
    size_t blocks_in_use, blocks_cached;
    uint64_t hits, misses, waits, retries, put_off, failures, trimmed;
    acui_block *stuck;    /* given up: whether they are free can not be told; freed at the end */
    struct acui_growth *growing;
    uint64_t trims; /* counts goes through the bins */
    acui_block *bins[ACUI_BINS];
};

/* ---- cache.c ---- */
/* A cached block that `stream` may use at once (its issue lock is held), or anybody (NULL); NULL if
 * there is none. */
acui_block *acui_pool_take(acu_pool *pool, size_t bytes, acu_stream *stream);
/* One that work in flight still uses, and whose fences the stream may wait for. */
acui_block *acui_pool_take_busy(acu_pool *pool, size_t bytes);
/* Back into the cache, with its fences. Never blocks, never fails. */
void acui_pool_put(acu_pool *pool, acui_block *block);
/* Whether the block may be used again can not be told: it goes when the pool does. */
void acui_pool_put_stuck(acu_pool *pool, acui_block *block);
void acui_pool_count_put_off(acu_pool *pool);
/* A request that nobody tries again: who waits for memory has not failed. */
void acui_pool_count_failed(acu_pool *pool);
/* With pool->lock: the block is given out, or comes back; out of its bin, and into it. */
void acui_pool_count_out(acu_pool *pool, const acui_block *block);
void acui_pool_count_in(acu_pool *pool, const acui_block *block);
void acui_pool_unlink(acu_pool *pool, acui_block *block);
void acui_pool_link(acu_pool *pool, acui_block *block);

/* ---- source.c; the device is entered; the driver's errors ---- */
/* A new block of exactly `size` bytes, in the order of the stream (its issue lock is held; NULL for
 * page-locked memory). Counted as held before: LIMIT is DEVICE_MEMORY without a driver's call. */
acu_status acui_source_get(acu_pool *pool, size_t size, acu_stream *stream, acui_block **block);
/* Give memory back that nothing uses any more, and the block with it; in the order of the stream,
 * where that counts. A lost device takes its memory along. Without pool->lock; the block is in none
 * of its lists, and no more counted as cached. */
void acui_source_free(acu_pool *pool, acui_block *block, acu_stream *stream);
/* The same in the order of the stream, behind the block's fences.
 * NOT_READY: that can not be done. */
acu_status acui_source_free_after(acu_pool *pool, acui_block *block, acu_stream *stream);
bool acui_source_reserve(acu_pool *pool, size_t size); /* count as held, if the limit allows it */
void acui_source_unreserve(acu_pool *pool, size_t size);
void acui_source_leaked(acu_pool *pool, acui_block *block); /* the program has its memory now */
void acui_source_freed(acu_pool *pool, size_t size); /* no more held */
void acui_source_count_new(acu_pool *pool, const acui_block *block); /* it is given out */

/* ---- slab.c ---- */
/* How many blocks of the size are cut from one allocation. */
uint32_t acui_slab_count(size_t size);
/* With no memory yet; NULL (record set): no memory for the list of its blocks. */
acui_slab *acui_slab_new(size_t size, uint32_t count);
/* Its memory is there: blocks from `used` on into the cache, the others
 * are given out. pool->lock. */
void acui_slab_cut(acu_pool *pool, acui_slab *slab, uint32_t used);
/* As acui_source_get. Blocks: page-locks. */
acu_status acui_slab_get(acu_pool *pool, size_t size, acui_block **block);
/* Address space for a slab, and page-locking that. The latter blocks, the device is entered. */
acu_status acui_slab_map(acui_slab *slab);
acu_status acui_slab_register(acu_pool *pool, acui_slab *slab);
/* What acui_slab_map gave, and the slab itself. */
void acui_slab_unmap(acui_slab *slab);
/* As acui_source_free, of slabs in a list by `next`, which are no more counted as held; may wait
 * for the device. How much it was. */
size_t acui_slabs_free(acu_pool *pool, acui_slab *slabs);

/* ---- growth.c ---- */
/*
 * Memory for a buffer of page-locked memory for which the cache has none: it has its place and its
 * host address at once, and its memory is page-locked by a thread of the loader's. Then it gets the
 * device's address; what touches it comes behind that, by a point in the list of its accesses.
 * Never blocks.
 */
acu_status acui_growth_begin(acu_pool *pool, acu_buffer *buffer);
/* Until that is over, however it ends; the driver's error. Blocks. */
acu_status acui_growth_await(acu_buffer *buffer);
/* The buffer's growth failed, and it goes. */
void acui_growth_drop_block(acu_pool *pool, acui_block *block);

/* ---- get.c ---- */
/* The request failed with the thread's record, for lack of memory: that, in numbers. */
acu_status acui_pool_say_short(acu_pool *pool, size_t bytes);
/* As acui_pool_take, where something may be complete that nobody has asked the driver about. */
acui_block *acui_pool_take_complete(acu_pool *pool, size_t bytes, acu_stream *stream);
/* Asks about all work that what is cached waits for: what is complete counts as idle after that.
 * Nobody else may look at a stream on which memory was allocated, and nothing else done. */
void acui_pool_look(acu_pool *pool);
/* A block for `bytes` that `stream` may use; NULL, for page-locked memory: the host. The device is
 * entered, the stream's issue lock held. Errors: DEVICE_MEMORY, or NO_MEMORY for the host's, in
 * numbers; the driver's. */
acu_status acui_pool_get(acu_pool *pool, size_t bytes, acu_stream *stream, acui_block **block);
/* No release of memory could ever make room for so much. */
bool acui_pool_never(acu_pool *pool, size_t bytes);

/* ---- bound.c ---- */
/* With pool->lock: what it is to hold at most; SIZE_MAX: no bound. */
size_t acui_pool_bound(const acu_pool *pool);
void acui_pool_note_high(acu_pool *pool); /* in_use_high is right then */
/* The driver gave something: whether that is too much now, and acui_pool_trim_soon is due. */
bool acui_pool_exceeds(acu_pool *pool);
/* Without it. Gives back on a thread of the loader's; never blocks, never fails. */
void acui_pool_trim_soon(acu_pool *pool);

/* ---- trim.c; the device is entered, or lost ---- */
/*
 * Around taking blocks out of a cache and giving them to the driver: in between nobody would find
 * their memory, so who lacks some comes behind that (each of the following does so). He tries again
 * where `given` is another number than before he tried. Not for pools that are slow: giving back
 * may wait for the device there, which no submission does. `freed`: how much it was.
 */
void acui_pool_give_begin(acu_pool *pool);
void acui_pool_give_end(acu_pool *pool, size_t freed);
static inline uint64_t acui_pool_given(const acu_pool *pool)
{
    /* Acquire: who sees that it was given finds it at the driver. */
    return atomic_load_explicit(&pool->device->given, memory_order_acquire);
}
/* Take slabs out that nothing uses, until at most `keep` bytes are cached: no more counted as held.
 * The device need not be entered. */
acui_slab *acui_pool_take_slabs(acu_pool *pool, size_t keep);
void acui_pool_put_slabs(acu_pool *pool, acui_slab *slabs); /* undoes that */
/* Give back what nothing uses until at most `keep` bytes are cached; how much that was. What the
 * stream gets next can have it; NULL: the device's stream for allocations. */
size_t acui_pool_shrink(acu_pool *pool, size_t keep, acu_stream *stream);
/* The same, and from the driver's pool to the system. */
size_t acui_pool_trim(acu_pool *pool, size_t keep, acu_stream *stream);
void acui_pool_trim_excess(acu_pool *pool); /* what is more than its `keep` */
/* All of it, also such as is in use by work in flight, on the stream behind that. */
size_t acui_pool_trim_after(acu_pool *pool, acu_stream *stream);
/* The same for all pools of device memory of the device. */
size_t acui_pools_trim(acu_device *device, acu_stream *stream);
/*
 * The pool is about to end: nothing of it is in use. What work in flight still uses, and what can
 * only be freed by calls that may wait, becomes the `heir`'s; NULL: no work
 * is in flight on the device.
 */
void acui_pool_drain(acu_pool *pool, acu_pool *heir);

/* ---- pool.c ---- */
acu_status acui_check_managed(const acu_device *device); /* NOT_SUPPORTED: it has no such memory */
void acui_pool_set_keep(acu_pool *pool, size_t keep); /* as in acu_pool_options; pool->lock */
/* Its `keep` was set: so that somebody looks, and the driver's pool does not keep more. */
void acui_pool_note_keep(acu_pool *pool);
/* The device's own of a kind; NULL (record set): no memory. */
acu_pool *acui_pool_make_own(acu_device *device, acu_memory_kind kind, bool write_combined);
static inline size_t acui_pool_place(acu_memory_kind kind, bool write_combined)
{
    return kind == ACU_MEMORY_DEVICE ? 0 : kind == ACU_MEMORY_MANAGED ? 3 : write_combined ? 2 : 1;
}
static inline acu_pool *acui_pool_of(acu_device *device, acu_memory_kind kind, bool write_combined)
{
    acu_pool *pool = atomic_load_explicit(&device->memory[acui_pool_place(kind, write_combined)],
                                          memory_order_acquire);
    return pool ? pool : acui_pool_make_own(device, kind, write_combined);
}
/* Where the buffer's memory comes from, borrowed; NULL (record set): no memory. */
static inline acu_pool *acui_buffer_pool(const acu_buffer *buffer)
{
    return buffer->pool ? buffer->pool : acui_pool_of(buffer->device, buffer->kind, false);
}
/* The next of the device's pools, retained, NULL: there is none; the first for NULL. Releases the
 * one that is given: until then it stays in the list, so that none behind it is passed over. */
acu_pool *acui_pool_next(acu_device *device, acu_pool *pool);

#endif
