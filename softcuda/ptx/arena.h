/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory of one module: allocated piece by piece, freed at once. Not to be shared by threads. */
#ifndef SOFTCUDA_PTX_ARENA_H
#define SOFTCUDA_PTX_ARENA_H

#include <stddef.h>

typedef struct ptx_arena_block ptx_arena_block;

typedef struct ptx_arena {
    ptx_arena_block *blocks; /* newest first; pieces are cut from the newest */
    size_t total;            /* bytes that were asked of the system so far */
} ptx_arena;

/* Zeroed bytes, aligned for anything; NULL when there is no memory or the module is too large. */
void *ptx_arena_alloc(ptx_arena *arena, size_t bytes);
void ptx_arena_free(ptx_arena *arena);

#endif
