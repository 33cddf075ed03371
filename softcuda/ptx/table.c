/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Open addressing with linear probing; entries are never removed, only their values set to NULL. */
#include "ptx/table.h"

#include <string.h>

static uint32_t hash_bytes(const void *key, size_t length)
{
    const unsigned char *bytes = key;
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static ptx_entry *probe(const ptx_table *table, const void *key, size_t length, uint32_t hash)
{
    size_t at = hash & (table->capacity - 1);
    for (;;) {
        ptx_entry *entry = &table->entries[at];
        if (!entry->key)
            return entry;
        if (entry->hash == hash && entry->length == length && memcmp(entry->key, key, length) == 0)
            return entry;
        at = (at + 1) & (table->capacity - 1);
    }
}

static bool grow(ptx_table *table, ptx_arena *arena)
{
    ptx_table bigger = {.capacity = table->capacity ? table->capacity * 2 : 64};
    bigger.entries = ptx_arena_alloc(arena, bigger.capacity * sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < table->capacity; i++) {
        const ptx_entry *old = &table->entries[i];
        if (old->key)
            *probe(&bigger, old->key, old->length, old->hash) = *old;
    }
    bigger.used = table->used;
    *table = bigger;
    return true;
}

ptx_entry *ptx_table_find(const ptx_table *table, const void *key, size_t length)
{
    if (table->capacity == 0)
        return NULL;
    ptx_entry *entry = probe(table, key, length, hash_bytes(key, length));
    return entry->key && entry->value ? entry : NULL;
}

ptx_entry *ptx_table_insert(ptx_table *table, ptx_arena *arena, const void *key, size_t length)
{
    if ((table->used + 1) * 4 > table->capacity * 3 && !grow(table, arena))
        return NULL;
    const uint32_t hash = hash_bytes(key, length);
    ptx_entry *entry = probe(table, key, length, hash);
    if (!entry->key) {
        entry->key = key;
        entry->length = length;
        entry->hash = hash;
        table->used++;
    }
    return entry;
}
