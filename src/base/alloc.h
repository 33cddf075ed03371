/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The only way acuda gets heap memory: counted, and able to fail on demand (acuda/debug.h).
 */
#ifndef ACUI_BASE_ALLOC_H
#define ACUI_BASE_ALLOC_H

#include <stddef.h>

/* All return NULL when memory is out, or when a test asked for it; zeroed where not grown. */
void *acui_alloc(size_t bytes);
void *acui_grow(void *memory, size_t old_bytes, size_t new_bytes);
void acui_free(void *memory); /* NULL is fine */

/* Freeing in two steps: it counts as freed from the first one on. */
void acui_set_aside(void *memory);
void acui_free_aside(void *memory); /* NULL is fine */

#define ACUI_NEW(type) ((type *)acui_alloc(sizeof(type)))
#define ACUI_NEW_ARRAY(type, n) ((type *)acui_alloc((n) * sizeof(type)))

#endif
