/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From addresses to what was noted for them. Zeroed it is empty, and has no memory. */
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
    size_t count, room; /* room: a power of two, at least twice the count */
} acui_map;

void *acui_map_find(const acui_map *map, const void *key); /* NULL: nothing */
/* For a key that has nothing. False: no memory, and nothing is noted. */
bool acui_map_put(acui_map *map, const void *key, void *value);
void acui_map_clear(acui_map *map);

#endif
