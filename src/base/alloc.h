/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The only way acuda gets memory for itself: counted, and able to fail on demand (acuda/debug.h).
 *
 * Small blocks are kept for reuse (cache.h), so that work that repeats takes nothing from the heap.
 */
#ifndef ACUI_BASE_ALLOC_H
#define ACUI_BASE_ALLOC_H

#include <stddef.h>

/* All return NULL when memory is out, or when a test asked for it; zeroed where not grown. Any
 * thread may free what another one allocated. */
void *acui_alloc(size_t bytes);
void *acui_alloc_raw(size_t bytes); /* not zeroed: for what is written at once */
void *acui_grow(void *memory, size_t old_bytes, size_t new_bytes);
/* What is new is not zeroed. */
void *acui_grow_raw(void *memory, size_t old_bytes, size_t new_bytes);
void acui_free(void *memory); /* NULL is fine */

/* The same for memory that keeps its contents until some hundred others were freed: what a released
 * handle points to. It counts as freed. */
void acui_free_late(void *memory);

#define ACUI_NEW(type) ((type *)acui_alloc(sizeof(type)))
#define ACUI_NEW_ARRAY(type, n) ((type *)acui_alloc((n) * sizeof(type)))

#endif
