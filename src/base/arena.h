/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is given back all at once: what belongs to one submission. Not thread-safe. */
#ifndef ACUI_BASE_ARENA_H
#define ACUI_BASE_ARENA_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct acui_arena {
    struct acui_chunk *chunks; /* newest first */
    char *free;                /* of the newest, or of the caller's memory; zeroed */
    size_t room;
} acui_arena;

/* Begin in memory of the caller's, zeroed, aligned for any type, which is not the arena's to
 * free. */
void acui_arena_begin(acui_arena *arena, void *memory, size_t bytes);
bool acui_arena_grow(acui_arena *arena, size_t bytes); /* room for so many; false: no memory */
/* Zeroed, aligned for any type; NULL when memory is out. Freed by acui_arena_clear. */
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
