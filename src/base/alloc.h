/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The only way in which acuda allocates host memory for itself. Allocations are counted and can be
 * made to fail (acuda/debug.h).
 *
 * Small blocks are kept for reuse (cache.h), so work that repeats takes nothing from the heap.
 */
#ifndef ACUI_BASE_ALLOC_H
#define ACUI_BASE_ALLOC_H

#include "base/cache.h"

#include <stdatomic.h>
#include <stdbool.h>

/* All return NULL if there is no memory, or if a test asked for a failure. Memory is zeroed unless
 * the comment says otherwise. Any thread may free what another one allocated. */
void *acui_alloc(size_t bytes);
void *acui_alloc_raw(size_t bytes); /* not zeroed: for memory that is written at once */
void *acui_grow(void *memory, size_t old_bytes, size_t new_bytes);
/* The part that is added is not zeroed. */
void *acui_grow_raw(void *memory, size_t old_bytes, size_t new_bytes);
void acui_free(void *memory); /* NULL is fine */

/* The same for the memory of a released handle: it keeps its contents until some tens of other
 * blocks of its size have been freed in this way. It counts as freed. */
void acui_free_late(void *memory);

void *acui_alloc_object(size_t bytes, unsigned counted); /* not zeroed, and counted (cache.h) */
extern _Atomic(bool) acui_alloc_watched;                 /* a test counts calls */
/* The same, from memory that this thread has at hand. NULL: acui_alloc_object has to look for
 * some. */
static inline void *acui_alloc_at_hand(size_t bytes, unsigned counted)
{
    bool watched = atomic_load_explicit(&acui_alloc_watched, memory_order_relaxed);
    return watched ? NULL : acui_cache_get_aside(bytes, counted);
}

#define ACUI_NEW(type) ((type *)acui_alloc(sizeof(type)))
#define ACUI_NEW_ARRAY(type, n) ((type *)acui_alloc((n) * sizeof(type)))

#endif
