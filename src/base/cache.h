/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Blocks of memory in a few sizes, kept for reuse: by the thread that freed them, and beyond some
 * tens of KiB by all. A block may be freed by another thread than took it.
 *
 * Under the address and the thread sanitizer every block comes from the heap and goes back there,
 * so that these see each use after a free.
 */
#ifndef ACUI_BASE_CACHE_H
#define ACUI_BASE_CACHE_H

#include "base/local.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* At least `bytes`, not zeroed, aligned for any type; NULL when the heap is out of memory. */
void *acui_cache_get(size_t bytes);
size_t acui_cache_room(const void *memory); /* how many bytes the block has */
void acui_cache_put(void *memory);
/* The same, but the block keeps its contents and is not reused before some hundred others. */
void acui_cache_put_late(void *memory);
/* The same for an object: one less of its kind, which is counted there. */
void acui_cache_put_object(void *memory, unsigned counted);
/* What is kept by this thread and by all goes back to the heap; other threads' when they end. */
void acui_cache_flush(void);

/* Counts of this process, added up over all threads; each thread counts in a cell of its own. */
typedef enum acui_count {
    ACUI_COUNT_ALLOCATIONS, /* calls for memory */
    ACUI_COUNT_RETURNS,     /* of these, such as got no new block, and blocks freed */
    ACUI_COUNT_SUBMISSIONS, /* acu_counters */
    ACUI_COUNT_DONE,
    ACUI_COUNT_FAILED,
    ACUI_COUNT_OPERATIONS,
    ACUI_COUNT_OPERATIONS_DONE,
    ACUI_COUNT_STAGED,
    ACUI_COUNT_STAGED_BYTES,
    ACUI_COUNT_STAGED_SKIPPED,
    ACUI_COUNT_OBJECTS,     /* by kind from here on: made less freed */
    ACUI_COUNTS = ACUI_COUNT_OBJECTS + 24
} acui_count;
/* This thread's cells; NULL before its first count. */
extern ACUI_LOCAL _Atomic(int64_t) *acui_counts;
void acui_count_first(unsigned count, int64_t n);
static inline void acui_count_add(unsigned count, int64_t n)
{
    _Atomic(int64_t) *cell = acui_counts ? &acui_counts[count] : NULL;
    if (cell) /* only this thread writes it */
        atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                              memory_order_relaxed);
    else
        acui_count_first(count, n);
}
int64_t acui_count_sum(unsigned count);

#endif
