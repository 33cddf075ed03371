/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hash table from short byte strings to pointers. Keys are not copied: they must outlive it. */
#ifndef SOFTCUDA_PTX_TABLE_H
#define SOFTCUDA_PTX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/arena.h"

typedef struct ptx_entry {
    const void *key;
    size_t length;
    uint32_t hash;
    void *value; /* NULL: counts as absent */
} ptx_entry;

/* All zero is an empty table. */
typedef struct ptx_table {
    ptx_entry *entries;
    size_t capacity; /* power of two */
    size_t used;
} ptx_table;

/* The entry of `key`, or NULL. */
ptx_entry *ptx_table_find(const ptx_table *table, const void *key, size_t length);

/* The entry of `key`, created with a NULL value if it is absent; NULL: out of memory. Valid until
 * the next insertion. */
ptx_entry *ptx_table_insert(ptx_table *table, ptx_arena *arena, const void *key, size_t length);

#endif
