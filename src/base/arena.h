/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that is given back all at once: what belongs to one submission. Not thread-safe. */
#ifndef ACUI_BASE_ARENA_H
#define ACUI_BASE_ARENA_H

#include <stddef.h>

typedef struct acui_arena {
    struct acui_chunk *chunks; /* newest first */
    char *free;                /* of the newest, or of the caller's memory */
    size_t room;
} acui_arena;

/* Begin in memory of the caller's, aligned for any type, which is not the arena's to free. */
void acui_arena_begin(acui_arena *arena, void *memory, size_t bytes);
/* Zeroed, aligned for any type; NULL when memory is out. Freed by acui_arena_clear. */
void *acui_arena_get(acui_arena *arena, size_t bytes);
void acui_arena_clear(acui_arena *arena);

#define ACUI_ARENA_NEW(arena, type) ((type *)acui_arena_get((arena), sizeof(type)))
#define ACUI_ARENA_ARRAY(arena, type, n) ((type *)acui_arena_get((arena), (n) * sizeof(type)))

#endif
