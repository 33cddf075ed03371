/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks of memory, filled from the start. */
#include "base/arena.h"

#include "base/alloc.h"

#define CHUNK 1488 /* with its header, exactly a size that the cache keeps */

struct acui_chunk {
    struct acui_chunk *next;
    alignas(max_align_t) char data[];
};

void acui_arena_begin(acui_arena *arena, void *memory, size_t bytes)
{
    arena->chunks = NULL;
    arena->free = memory;
    arena->room = bytes;
}

bool acui_arena_grow(acui_arena *arena, size_t bytes)
{
    size_t room = bytes > CHUNK ? bytes : CHUNK;
    struct acui_chunk *chunk = acui_alloc(sizeof *chunk + room);
    if (!chunk)
        return false;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->free = chunk->data;
    arena->room = room;
    return true;
}

void acui_arena_clear(acui_arena *arena)
{
    while (arena->chunks) {
        struct acui_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        acui_free(chunk);
    }
    arena->free = NULL;
    arena->room = 0;
}
