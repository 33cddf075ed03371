/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is freed all at once: everything that belongs to one submission. Not thread-safe. */
#ifndef ACUI_BASE_ARENA_H
#define ACUI_BASE_ARENA_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct acui_arena {
    struct acui_chunk *chunks; /* newest first */
    char *free;                /* in the newest chunk, or in the caller's memory; zeroed */
    size_t room;
} acui_arena;

/* Start in the caller's memory, which is zeroed, aligned for any type, and not freed by the
 * arena. */
void acui_arena_begin(acui_arena *arena, void *memory, size_t bytes);
bool acui_arena_grow(acui_arena *arena, size_t bytes); /* make room for `bytes`; false: no memory */
/* Zeroed, aligned for any type; NULL if there is no memory. Freed by acui_arena_clear. */
static inline void *acui_arena_get(acui_arena *arena, size_t bytes)
{
    const size_t unit = alignof(max_align_t);
    bytes = (bytes + unit - 1) & ~(unit - 1);
    if (bytes > arena->room && !acui_arena_grow(arena, bytes))
        return NULL;
    void *memory = arena->free;
    arena->free += bytes;
    arena->room -= bytes;
    return memory;
}
void acui_arena_clear(acui_arena *arena);

#define ACUI_ARENA_NEW(arena, type) ((type *)acui_arena_get((arena), sizeof(type)))
#define ACUI_ARENA_ARRAY(arena, type, n) ((type *)acui_arena_get((arena), (n) * sizeof(type)))

#endif
