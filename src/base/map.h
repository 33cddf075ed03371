/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Maps addresses to values. A zeroed map is empty, and has no memory. */
#ifndef ACUI_BASE_MAP_H
#define ACUI_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct acui_map_entry {
    const void *key; /* NULL: free */
    void *value;
} acui_map_entry;

typedef struct acui_map {
    acui_map_entry *entries;
    size_t count, room; /* room is a power of two, at least twice the count */
} acui_map;

void *acui_map_find(const acui_map *map, const void *key); /* NULL: no value */
/* For a key that has no value yet. False: no memory, and the map is unchanged. */
bool acui_map_put(acui_map *map, const void *key, void *value);
void acui_map_clear(acui_map *map);

#endif
