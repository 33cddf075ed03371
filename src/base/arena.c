/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks of zeroed memory, filled from the start. */
#include "base/arena.h"

#include "base/alloc.h"

#include <stdalign.h>

#define CHUNK 2048 /* holds a composition of some ten ops */

struct acui_chunk {
    struct acui_chunk *next;
    alignas(max_align_t) char data[];
};

void *acui_arena_get(acui_arena *arena, size_t bytes)
{
    bytes = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (bytes > arena->room - arena->used) {
        size_t room = bytes > CHUNK ? bytes : CHUNK;
        struct acui_chunk *chunk = acui_alloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->room = room;
        arena->used = 0;
    }
    void *memory = arena->chunks->data + arena->used;
    arena->used += bytes;
    return memory;
}

void acui_arena_clear(acui_arena *arena)
{
    while (arena->chunks) {
        struct acui_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        acui_free(chunk);
    }
    arena->used = arena->room = 0;
}
