/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counted allocation, with failures on demand. */
#include "base/alloc.h"

#include "base/cache.h"
#include "base/rare.h"

#include <acuda/debug.h>
#include <stdatomic.h>
#include <string.h>

/* All relaxed: these are counters, and nothing is published through them. While a test watches, the
 * calls of all threads are counted in one place, so that there is an n-th call. */
_Atomic(bool) acui_alloc_watched;
static _Atomic(uint64_t) watched_calls;
static _Atomic(uint64_t) fail_at; /* 0: never */
static _Atomic(bool) fail_on;     /* from fail_at on, all calls fail */
static _Atomic(int64_t) calls_before; /* the count at the last acu_debug_fail_alloc */

ACUI_RARE static bool fails_now(void)
{
    uint64_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
    uint64_t n = atomic_fetch_add_explicit(&watched_calls, 1, memory_order_relaxed) + 1;
    return n == at || (n > at && atomic_load_explicit(&fail_on, memory_order_relaxed));
}

static inline bool should_fail(void)
{
    return atomic_load_explicit(&acui_alloc_watched, memory_order_relaxed) && fails_now();
}

/* Counts a request that got no new block. */
static void *count_without(void *memory)
{
    acui_count_add(ACUI_COUNT_ALLOCATIONS, 1);
    acui_count_add(ACUI_COUNT_RETURNS, 1);
    return memory;
}

void *acui_alloc_raw(size_t bytes)
{
    return should_fail() ? count_without(NULL) : acui_cache_get(bytes);
}

void *acui_alloc_object(size_t bytes, unsigned counted)
{
    return should_fail() ? count_without(NULL) : acui_cache_get_object(bytes, counted);
}

void *acui_alloc(size_t bytes)
{
    void *memory = acui_alloc_raw(bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *acui_grow_raw(void *memory, size_t old_bytes, size_t new_bytes)
{
    if (!memory)
        return acui_alloc_raw(new_bytes);
    if (should_fail())
        return count_without(NULL);
    if (new_bytes <= acui_cache_room(memory))
        return count_without(memory);
    char *grown = acui_cache_get(new_bytes);
    if (!grown)
        return NULL;
    memcpy(grown, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    acui_cache_put(memory);
    return grown;
}

void *acui_grow(void *memory, size_t old_bytes, size_t new_bytes)
{
    if (!memory)
        old_bytes = 0;
    char *grown = acui_grow_raw(memory, old_bytes, new_bytes);
    if (grown && new_bytes > old_bytes)
        memset(grown + old_bytes, 0, new_bytes - old_bytes);
    return grown;
}

void acui_free(void *memory)
{
    if (memory)
        acui_cache_put(memory);
}

void acui_free_late(void *memory)
{
    acui_cache_put_late(memory);
}

void acu_debug_fail_alloc(uint64_t nth, bool from_then_on)
{
    atomic_store_explicit(&acui_alloc_watched, false, memory_order_relaxed);
    atomic_store_explicit(&fail_on, from_then_on, memory_order_relaxed);
    atomic_store_explicit(&watched_calls, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_at, nth, memory_order_relaxed);
    atomic_store_explicit(&calls_before, acui_count_sum(ACUI_COUNT_ALLOCATIONS),
                          memory_order_relaxed);
    atomic_store_explicit(&acui_alloc_watched, nth > 0, memory_order_relaxed);
}

uint64_t acu_debug_alloc_count(void)
{
    int64_t before = atomic_load_explicit(&calls_before, memory_order_relaxed);
    return (uint64_t)(acui_count_sum(ACUI_COUNT_ALLOCATIONS) - before);
}

size_t acu_debug_live_blocks(void)
{
    int64_t blocks =
        acui_count_sum(ACUI_COUNT_ALLOCATIONS) - acui_count_sum(ACUI_COUNT_RETURNS);
    return blocks > 0 ? (size_t)blocks : 0;
}
