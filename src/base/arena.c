/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks of memory, filled from the start. */
#include "base/arena.h"

#include "base/alloc.h"

#include <stdalign.h>
#include <string.h>

#define CHUNK 1616 /* with its header a block that is kept for reuse */

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

void *acui_arena_get(acui_arena *arena, size_t bytes)
{
    bytes = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (bytes > arena->room) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;
        struct acui_chunk *chunk = acui_alloc_raw(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->free = chunk->data;
        arena->room = room;
    }
    void *memory = arena->free;
    arena->free += bytes;
    arena->room -= bytes;
    return memset(memory, 0, bytes);
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
