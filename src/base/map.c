/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hash table with open addressing. */
#include "base/map.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <stdint.h>

enum { FIRST = 16 };

/* The entry of the key, or a free one for it. */
static acui_map_entry *place_of(const acui_map *map, const void *key)
{
    size_t i = (size_t)acui_hash_with(0, (uint64_t)(uintptr_t)key);
    while (map->entries[i & (map->room - 1)].key && map->entries[i & (map->room - 1)].key != key)
        i++;
    return &map->entries[i & (map->room - 1)];
}

void *acui_map_find(const acui_map *map, const void *key)
{
    return map->count ? place_of(map, key)->value : NULL;
}

static bool grow(acui_map *map)
{
    acui_map larger = {.room = map->room ? 2 * map->room : FIRST};
    larger.entries = ACUI_NEW_ARRAY(acui_map_entry, larger.room);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->entries[i].key)
            *place_of(&larger, map->entries[i].key) = map->entries[i];
    acui_free(map->entries);
    map->entries = larger.entries;
    map->room = larger.room;
    return true;
}

bool acui_map_put(acui_map *map, const void *key, void *value)
{
    if (2 * (map->count + 1) > map->room && !grow(map))
        return false;
    *place_of(map, key) = (acui_map_entry){.key = key, .value = value};
    map->count++;
    return true;
}

void acui_map_clear(acui_map *map)
{
    acui_free(map->entries);
    *map = (acui_map){.entries = NULL};
}
