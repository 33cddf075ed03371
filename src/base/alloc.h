/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The only way acuda gets memory for itself: counted, and able to fail on demand (acuda/debug.h).
 *
 * Small blocks are kept for reuse (cache.h), so that work that repeats takes nothing from the heap.
 */
#ifndef ACUI_BASE_ALLOC_H
#define ACUI_BASE_ALLOC_H

#include "base/cache.h"

#include <stdatomic.h>
#include <stdbool.h>

/* All return NULL when memory is out, or when a test asked for it; zeroed where not grown. Any
 * thread may free what another one allocated. */
void *acui_alloc(size_t bytes);
void *acui_alloc_raw(size_t bytes); /* not zeroed: for what is written at once */
void *acui_grow(void *memory, size_t old_bytes, size_t new_bytes);
/* What is new is not zeroed. */
void *acui_grow_raw(void *memory, size_t old_bytes, size_t new_bytes);
void acui_free(void *memory); /* NULL is fine */

/* The same for memory that keeps its contents until some tens of others of its size were freed so:
 * what a released handle points to. It counts as freed. */
void acui_free_late(void *memory);

void *acui_alloc_object(size_t bytes, unsigned counted); /* not zeroed, and counted (cache.h) */
extern _Atomic(bool) acui_alloc_watched;                 /* a test counts calls */
/* The same from memory that is at hand; NULL: it has to be looked for. */
static inline void *acui_alloc_at_hand(size_t bytes, unsigned counted)
{
    bool watched = atomic_load_explicit(&acui_alloc_watched, memory_order_relaxed);
    return watched ? NULL : acui_cache_get_aside(bytes, counted);
}

#define ACUI_NEW(type) ((type *)acui_alloc(sizeof(type)))
#define ACUI_NEW_ARRAY(type, n) ((type *)acui_alloc((n) * sizeof(type)))

#endif
