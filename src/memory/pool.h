/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The internals of pools: blocks of memory, kept for reuse.
 *
 *   size.h     sizes of blocks, and the bins that they are kept in
 *   cache.c    taking and putting back: no driver call, a short lock
 *   source.c   where blocks come from and go to: the driver
 *   slab.c     page-locked memory: many small blocks are cut from one allocation
 *   growth.c   ... allocated by a thread of the loader, for submissions, which must not wait
 *   get.c      a block for a request, by whatever means
 *   trim.c     giving memory back
 *   bound.c    ... what is cached beyond the most that a pool holds while the device works
 *   pool.c     creating pools, the device's own pools, the public interface
 *
 * A block that is put back carries fences, the signals behind which it may be reused, and is handed
 * out to work that comes behind them. Nothing waits for a block as long as the driver has memory:
 * that would order submissions that share nothing. If the driver has none, waiting on the device is
 * better than failing.
 */
#ifndef ACUI_MEMORY_POOL_H
#define ACUI_MEMORY_POOL_H

#include "device/loader.h"
#include "memory/fences.h"
#include "memory/memory.h"
#include "memory/size.h"

#include <acuda/pool.h>

#define ACUI_PINNED_KEEP ((size_t)256 << 20) /* cached memory that only slow calls can give back */

typedef struct acui_slab acui_slab;

typedef struct acui_block {
    size_t bytes; /* at least as many as requested */
    CUdeviceptr address;
    void *host; /* of page-locked memory */
    acui_slab *slab; /* the slab that it is part of, for all page-locked memory; NULL: an allocation
                      * of its own */
    struct acui_block *next, *previous; /* in its bin: a ring, except for the `next` of the last
                                         * one */
    uint64_t put_at; /* the count of requests at that time */
    size_t bin;
    acui_fences fences; /* while it is in use: those with which it was handed out */
} acui_block;

struct acui_slab {
    acui_slab *next; /* while it is being given back */
    void *host;
    CUdeviceptr address;
    size_t bytes;           /* of all its blocks */
    bool registered;        /* mapped here and registered, not allocated by the driver */
    struct acui_growth *growth; /* not NULL: the outcome of its page-locking is not known to all
                                 * yet; this and the rest: pool->lock */
    bool dead;              /* page-locking failed: `count` and `blocks` are only those that were
                             * handed out */
    uint32_t count, cached; /* of its blocks */
    uint64_t looked_at;     /* the value of its pool's `trims` when it was last looked at; 0:
                             * never */
    acui_block blocks[];
};

struct acu_pool {
    acui_object object;
    acu_device *device; /* retained, except by the device's own pools, whose references are the
                         * device's */
    bool own;
    bool slow;           /* giving memory back may wait for the device */
    bool write_combined;
    acu_memory_kind kind;
    CUmemoryPool raw;    /* NULL: not of a driver's pool */
    acu_pool *next;      /* of the device's pools; device->lock */

    acui_lock lock; /* a leaf; guards what follows */
    size_t limit, keep;   /* SIZE_MAX: no limit */
    size_t in_use, cached, in_use_high, held_high; /* in_use_high: see acui_pool_note_high */
    size_t held; /* what counts for the limit: also what is on its way from or to the driver */
    size_t lately, before; /* the most in use in this window of requests, and in the previous one */
    uint64_t window;       /* where it began, in the count of all requests */
    bool bounded;          /* whether there is a bound while the device works (bound.c) */
    _Atomic(bool) exact;   /* see acui_pool_block_size; relaxed, since either size will do */
    bool trimming;         /* `trim` is queued or running */
    acui_job trim;
    size_t blocks_in_use, blocks_cached;
    uint64_t hits, misses, waits, retries, put_off, failures, trimmed;
    acui_block *stuck;    /* given up, because nobody can tell whether they are free; freed at the
                           * end */
    struct acui_growth *growing;
    uint64_t trims; /* counts passes through the bins */
    acui_block *bins[ACUI_BINS];
};

/* The number that stands for nothing is 1, which exact blocks are not always more than. */
static inline size_t acui_pool_keeps(const acu_pool *pool)
{
    return pool->keep == ACU_KEEP_NONE ? 0 : pool->keep;
}

static inline bool acui_pool_is_exact(const acu_pool *pool)
{
    return atomic_load_explicit(&pool->exact, memory_order_relaxed);
}

/* The size of a block for `bytes`. A pool that keeps nothing, on the software device, is there to
 * find faults: its blocks have no room behind what was asked for, in which a kernel could write
 * without being noticed. */
static inline size_t acui_pool_block_size(const acu_pool *pool, size_t bytes)
{
    return acui_pool_is_exact(pool) ? bytes : acui_block_size(bytes);
}

/* ---- cache.c ---- */
/* A cached block that `stream` may use at once (its issue lock is held), or that anybody may
 * (NULL); NULL if there is none. */
acui_block *acui_pool_take(acu_pool *pool, size_t bytes, acu_stream *stream);
/* A cached block that work in flight still uses, and for whose fences the stream may wait. */
acui_block *acui_pool_take_busy(acu_pool *pool, size_t bytes);
/* Put the block into the cache, with its fences. Never blocks, never fails. */
void acui_pool_put(acu_pool *pool, acui_block *block);
/* Nobody can tell whether the block may be reused: it is kept until the pool ends. */
void acui_pool_put_stuck(acu_pool *pool, acui_block *block);
void acui_pool_count_put_off(acu_pool *pool);
/* Counts a failed request that nobody tries again: one that waits for memory has not failed. */
void acui_pool_count_failed(acu_pool *pool);
/* With pool->lock: count a block that is handed out or comes back; take it out of its bin and put
 * it in. */
void acui_pool_count_out(acu_pool *pool, const acui_block *block);
void acui_pool_count_in(acu_pool *pool, const acui_block *block);
void acui_pool_unlink(acu_pool *pool, acui_block *block);
void acui_pool_link(acu_pool *pool, acui_block *block);

/* ---- source.c; the device is entered; the driver's errors ---- */
/* A new block of exactly `size` bytes, in the order of the stream (its issue lock is held; NULL for
 * page-locked memory). It is counted as held beforehand; if the pool's limit forbids that, fails
 * with DEVICE_MEMORY without a driver call. */
acu_status acui_source_get(acu_pool *pool, size_t size, acu_stream *stream, acui_block **block);
/* Give back memory that nothing uses any more, and free the block; in the order of the stream,
 * where that matters. The memory of a lost device is gone with it. Called without pool->lock; the
 * block is in none of the pool's lists, and no longer counted as cached. */
void acui_source_free(acu_pool *pool, acui_block *block, acu_stream *stream);
/* The same in the order of the stream, behind the block's fences. NOT_READY: that is not
 * possible. */
acu_status acui_source_free_after(acu_pool *pool, acui_block *block, acu_stream *stream);
bool acui_source_reserve(acu_pool *pool, size_t size); /* count as held, if the limit allows it */
void acui_source_unreserve(acu_pool *pool, size_t size);
void acui_source_leaked(acu_pool *pool, acui_block *block); /* the program owns its memory now */
void acui_source_count_new(acu_pool *pool, const acui_block *block); /* it is handed out */

/* ---- slab.c ---- */
/* How many blocks of the size are cut from one allocation. */
uint32_t acui_slab_count(size_t size);
/* A slab without memory; NULL (record set): no memory for the list of its blocks. */
acui_slab *acui_slab_new(size_t size, uint32_t count);
/* Its memory exists: blocks from `used` on go into the cache, the others are handed out.
 * pool->lock. */
void acui_slab_cut(acu_pool *pool, acui_slab *slab, uint32_t used);
/* As acui_source_get. Blocks, because it page-locks. */
acu_status acui_slab_get(acu_pool *pool, size_t size, acui_block **block);
/* Take address space for a slab, and page-lock it. The latter blocks, with the device entered. */
acu_status acui_slab_map(acui_slab *slab);
acu_status acui_slab_register(acu_pool *pool, acui_slab *slab);
/* Free what acui_slab_map gave, and the slab itself. */
void acui_slab_unmap(acui_slab *slab);
/* As acui_source_free, for a list of slabs linked by `next` that are no longer counted as held; may
 * wait for the device. Returns the number of bytes. */
size_t acui_slabs_free(acu_pool *pool, acui_slab *slabs);

/* ---- growth.c ---- */
/*
 * Memory for a buffer of page-locked memory for which the cache has none. The buffer gets its place
 * and its host address at once, and a thread of the loader page-locks the memory. Then the buffer
 * gets its device address. Whatever touches it is ordered behind that, by a point in the buffer's
 * list of accesses. Never blocks.
 */
acu_status acui_growth_begin(acu_pool *pool, acu_buffer *buffer);
/* Wait until that is over, whatever the outcome; returns the driver's error. Blocks. */
acu_status acui_growth_await(acu_buffer *buffer);
/* The buffer's growth failed, and the buffer is being destroyed. */
void acui_growth_drop_block(acu_pool *pool, acui_block *block);

/* ---- get.c ---- */
/* The request failed for lack of memory, with the thread's record: fails with that, adding the
 * numbers. */
acu_status acui_pool_say_short(acu_pool *pool, size_t bytes);
/* As acui_pool_take, if work may be complete about which nobody has asked the driver. */
acui_block *acui_pool_take_complete(acu_pool *pool, size_t bytes, acu_stream *stream);
/* Asks the driver about all work for which cached blocks wait; blocks whose work is complete count
 * as idle after that. (It may be that nobody else looks at a stream on which memory was allocated
 * and nothing else was done.) */
void acui_pool_look(acu_pool *pool);
/* A block for `bytes` that `stream` may use; NULL, for page-locked memory: the host. The device is
 * entered, and the stream's issue lock held. Errors: DEVICE_MEMORY, or NO_MEMORY for the host's,
 * with the numbers; the driver's. */
acu_status acui_pool_get(acu_pool *pool, size_t bytes, acu_stream *stream, acui_block **block);
/* Whether no release of memory could ever make room for that much. */
bool acui_pool_never(acu_pool *pool, size_t bytes);

/* ---- bound.c ---- */
/* With pool->lock: the most that it should hold; SIZE_MAX: no bound. */
size_t acui_pool_bound(const acu_pool *pool);
void acui_pool_note_high(acu_pool *pool); /* brings in_use_high up to date */
/* What it holds of the driver's: without what other threads' requests have reserved, which may yet
 * fail, and without blocks whose memory was never made. Its lock is held, as for the next one. */
static inline size_t acui_pool_holds(const acu_pool *pool)
{
    size_t blocks = pool->in_use + pool->cached;
    return blocks < pool->held ? blocks : pool->held;
}

/* Brings held_high up to date, whenever blocks were added. */
static inline void acui_pool_note_held(acu_pool *pool)
{
    size_t holds = acui_pool_holds(pool);
    if (holds > pool->held_high)
        pool->held_high = holds;
}
/* The driver allocated something: whether the pool now holds too much, and acui_pool_trim_soon has
 * to be called. */
bool acui_pool_exceeds(acu_pool *pool);
/* Without pool->lock. Gives memory back on a thread of the loader; never blocks, never fails. */
void acui_pool_trim_soon(acu_pool *pool);

/* ---- trim.c; the device is entered, or lost ---- */
/*
 * Called around taking blocks out of a cache and giving them to the driver (each of the following
 * functions does so). In between, nobody would find their memory, so a request that lacks memory
 * waits until that is done, and tries again if acui_pool_given has changed since before its
 * attempt. Not for slow pools, where giving back may wait for the device, which no submission does.
 * `freed`: how many bytes were given back.
 */
void acui_pool_give_begin(acu_pool *pool);
void acui_pool_give_end(acu_pool *pool, size_t freed);
static inline uint64_t acui_pool_given(const acu_pool *pool)
{
    /* Acquire: a thread that sees that memory was given back finds it in the driver. */
    return atomic_load_explicit(&pool->device->memory.given, memory_order_acquire);
}
/* Take out slabs that nothing uses, until at most `keep` bytes are cached; they are no longer
 * counted as held. The device need not be entered. */
acui_slab *acui_pool_take_slabs(acu_pool *pool, size_t keep);
void acui_pool_put_slabs(acu_pool *pool, acui_slab *slabs); /* undoes that */
/* Give back what nothing uses, until at most `keep` bytes are cached; returns how many bytes that
 * was. Allocations on the stream can have them from then on; NULL: the device's stream for
 * allocations. */
size_t acui_pool_shrink(acu_pool *pool, size_t keep, acu_stream *stream);
/* The same, and then from the driver's pool to the system. */
size_t acui_pool_trim(acu_pool *pool, size_t keep, acu_stream *stream);
void acui_pool_trim_excess(acu_pool *pool); /* what is cached beyond its `keep` */
/* Give back all of it, including blocks that work in flight still uses, on the stream and behind
 * that work. */
size_t acui_pool_trim_after(acu_pool *pool, acu_stream *stream);
/* acui_pool_trim for all pools of device memory of the device. */
size_t acui_pools_trim(acu_device *device, acu_stream *stream);
/*
 * The pool is about to end, and none of it is in use. What work in flight still uses, and what can
 * only be freed by calls that may wait, goes to the `heir`; NULL: no work is in flight on the
 * device.
 */
void acui_pool_drain(acu_pool *pool, acu_pool *heir);

/* ---- pool.c ---- */
acu_status acui_check_managed(const acu_device *device); /* NOT_SUPPORTED: it has no managed
                                                          * memory */
void acui_pool_set_keep(acu_pool *pool, size_t keep); /* as in acu_pool_options; pool->lock */
/* Its `keep` was set: makes sure that somebody looks, and that the driver's pool does not keep
 * more. */
void acui_pool_note_keep(acu_pool *pool);
/* The device's own pool of a kind; NULL (record set): no memory. */
acu_pool *acui_pool_make_own(acu_device *device, acu_memory_kind kind, bool write_combined);
static inline size_t acui_pool_index(acu_memory_kind kind, bool write_combined)
{
    return kind == ACU_MEMORY_DEVICE ? 0 : kind == ACU_MEMORY_MANAGED ? 3 : write_combined ? 2 : 1;
}
static inline acu_pool *acui_pool_of(acu_device *device, acu_memory_kind kind, bool write_combined)
{
    size_t place = acui_pool_index(kind, write_combined);
    acu_pool *pool = atomic_load_explicit(&device->memory.own[place], memory_order_acquire);
    return pool ? pool : acui_pool_make_own(device, kind, write_combined);
}
/* The pool of the buffer's memory, borrowed; NULL (record set): no memory. */
static inline acu_pool *acui_buffer_pool(const acu_buffer *buffer)
{
    return buffer->pool ? buffer->pool : acui_pool_of(buffer->device, buffer->kind, false);
}
/* The next of the device's pools, retained; NULL: there is none. The first for NULL. Releases the
 * given pool, which stays in the list until then, so that none behind it is skipped. */
acu_pool *acui_pool_next(acu_device *device, acu_pool *pool);

#endif
