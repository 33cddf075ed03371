/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counted allocation with failures on demand. */
#include "base/alloc.h"

#include <acuda/debug.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Relaxed everywhere: these are counters; nothing is published through them. */
static _Atomic(uint64_t) calls;    /* since the last acu_debug_fail_alloc */
static _Atomic(uint64_t) fail_at;  /* 0: never */
static _Atomic(bool) fail_on;      /* from fail_at on */
static _Atomic(size_t) blocks;

static bool should_fail(void)
{
    uint64_t at = atomic_load_explicit(&fail_at, memory_order_relaxed);
    uint64_t n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
    if (at == 0)
        return false;
    return n == at || (n > at && atomic_load_explicit(&fail_on, memory_order_relaxed));
}

void *acui_alloc(size_t bytes)
{
    if (should_fail())
        return NULL;
    void *memory = calloc(1, bytes ? bytes : 1);
    if (memory)
        atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    return memory;
}

void *acui_grow(void *memory, size_t old_bytes, size_t new_bytes)
{
    if (!memory)
        return acui_alloc(new_bytes);
    if (should_fail())
        return NULL;
    char *grown = realloc(memory, new_bytes);
    if (grown && new_bytes > old_bytes)
        memset(grown + old_bytes, 0, new_bytes - old_bytes);
    return grown;
}

void acui_free(void *memory)
{
    if (!memory)
        return;
    free(memory);
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
}

void acui_set_aside(void *memory)
{
    (void)memory;
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
}

void acui_free_aside(void *memory)
{
    free(memory);
}

void acu_debug_fail_alloc(uint64_t nth, bool from_then_on)
{
    atomic_store_explicit(&fail_at, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_on, from_then_on, memory_order_relaxed);
    atomic_store_explicit(&calls, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_at, nth, memory_order_relaxed);
}

uint64_t acu_debug_alloc_count(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

size_t acu_debug_live_blocks(void)
{
    return atomic_load_explicit(&blocks, memory_order_relaxed);
}
