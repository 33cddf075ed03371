/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A bump allocator over zeroed blocks. */
#include "ptx/arena.h"

#include <stdalign.h>
#include <stdlib.h>

enum { ARENA_BLOCK = 64 * 1024 };

/* Bounds the memory that a hostile text of modest size can make us allocate. */
static const size_t arena_limit = (size_t)2 << 30;

struct ptx_arena_block {
    ptx_arena_block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

static ptx_arena_block *block_new(ptx_arena *arena, size_t size)
{
    if (size > arena_limit - arena->total)
        return NULL;
    ptx_arena_block *block = calloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    arena->total += size;
    block->size = size;
    return block;
}

void *ptx_arena_alloc(ptx_arena *arena, size_t bytes)
{
    const size_t align = alignof(max_align_t);
    if (bytes > arena_limit)
        return NULL;
    bytes = (bytes + align - 1) / align * align;

    ptx_arena_block *block = arena->blocks;
    if (!block || bytes > block->size - block->used) {
        /* A large piece gets a block of its own, behind the newest one, which may have room
         * left. */
        const size_t size = bytes > ARENA_BLOCK / 4 ? bytes : ARENA_BLOCK;
        block = block_new(arena, size);
        if (!block)
            return NULL;
        if (size == bytes && arena->blocks) {
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
    }
    void *piece = block->bytes + block->used;
    block->used += bytes;
    return piece;
}

void ptx_arena_free(ptx_arena *arena)
{
    ptx_arena_block *block = arena->blocks;
    while (block) {
        ptx_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
    arena->total = 0;
}
