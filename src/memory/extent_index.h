/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An index over the extents in a list: finds those that overlap a given one without looking at all
 * of them. Lists of accesses and of ranges use it once they are long.
 *
 * Writes and reads are apart, as a read only comes behind writes.
 *
 * It is two treaps, ordered by where the extents begin; each node knows the furthest end below it.
 * The owner of the list gives it memory, so that it can be in an arena, and says when an item of
 * the list moves. Not synchronized.
 */
#ifndef ACUI_MEMORY_EXTENT_INDEX_H
#define ACUI_MEMORY_EXTENT_INDEX_H

#include "memory/extent.h"

#include <stddef.h>

/* How many items a list has before it is worth indexing. */
#define ACUI_INDEX_FROM 64

typedef struct acui_index_node {
    uint64_t begin, end;
    uint64_t furthest; /* the largest `end` of this node and those below it */
    uint32_t left, right;
    uint32_t item; /* place in the list */
    uint32_t next; /* of the nodes found, or of those that are free */
} acui_index_node;

/* Nodes are named by their numbers; 0: none. */
typedef struct acui_extent_index {
    acui_index_node *nodes; /* [0] is not used */
    uint32_t used, room;    /* nodes up to `used` have been taken before */
    uint32_t root[2];       /* of reads, and of writes */
    uint32_t free;
} acui_extent_index;

/* Whether the next insertion needs a larger array of nodes: see acui_index_move. */
static inline bool acui_index_is_full(const acui_extent_index *index)
{
    return !index->free && index->used + 1 >= index->room;
}

/* From now on the nodes are in `nodes`, with `room` for more of them than before. Returns the old
 * array, for the owner to free; NULL: there was none. */
acui_index_node *acui_index_move(acui_extent_index *index, acui_index_node *nodes, uint32_t room);

/* Returns the new node's number. It must not be full. */
uint32_t acui_index_insert(acui_extent_index *index, const acui_extent *extent, bool write,
                           uint32_t item);
void acui_index_remove(acui_extent_index *index, uint32_t node, bool write);
/* The first node found whose range overlaps that of the extent (windows are not looked at), which
 * leads to the others by `next`; of writes, and of reads if these are asked for. Valid until the
 * next call; a node of the list may be removed once its `next` was read, and others be inserted.
 * 0: none. */
uint32_t acui_index_find(acui_extent_index *index, const acui_extent *extent, bool reads);

#endif
