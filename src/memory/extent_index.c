/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A treap over extents: see extent_index.h. */
#include "memory/extent_index.h"

#include <string.h>

/* A node's priority is a fixed mixture of its number: what matters is only that it has nothing to
 * do with the order in which extents are inserted. */
static inline uint32_t priority(uint32_t node)
{
    uint32_t x = node * 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x85EBCA77u;
    return x ^ x >> 13;
}

/* Nodes with equal begins are ordered by their numbers, so that each can be found again. */
static inline bool comes_before(const acui_index_node *nodes, uint32_t a, uint32_t b)
{
    return nodes[a].begin != nodes[b].begin ? nodes[a].begin < nodes[b].begin : a < b;
}

static void update(acui_index_node *nodes, uint32_t at)
{
    acui_index_node *n = &nodes[at];
    n->furthest = n->end;
    if (n->left && nodes[n->left].furthest > n->furthest)
        n->furthest = nodes[n->left].furthest;
    if (n->right && nodes[n->right].furthest > n->furthest)
        n->furthest = nodes[n->right].furthest;
}

/* Divide the tree into what comes before `by` and the rest. */
static void split(acui_index_node *nodes, uint32_t tree, uint32_t by, uint32_t *left,
                  uint32_t *right)
{
    if (!tree) {
        *left = *right = 0;
    } else if (comes_before(nodes, tree, by)) {
        split(nodes, nodes[tree].right, by, &nodes[tree].right, right);
        *left = tree;
        update(nodes, tree);
    } else {
        split(nodes, nodes[tree].left, by, left, &nodes[tree].left);
        *right = tree;
        update(nodes, tree);
    }
}

/* All of `left` comes before all of `right`. */
static uint32_t merge(acui_index_node *nodes, uint32_t left, uint32_t right)
{
    if (!left || !right)
        return left ? left : right;
    bool over = priority(left) > priority(right);
    if (over)
        nodes[left].right = merge(nodes, nodes[left].right, right);
    else
        nodes[right].left = merge(nodes, left, nodes[right].left);
    update(nodes, over ? left : right);
    return over ? left : right;
}

static uint32_t put(acui_index_node *nodes, uint32_t tree, uint32_t node)
{
    if (!tree || priority(node) > priority(tree)) {
        split(nodes, tree, node, &nodes[node].left, &nodes[node].right);
        update(nodes, node);
        return node;
    }
    uint32_t *side = comes_before(nodes, node, tree) ? &nodes[tree].left : &nodes[tree].right;
    *side = put(nodes, *side, node);
    update(nodes, tree);
    return tree;
}

static uint32_t take(acui_index_node *nodes, uint32_t tree, uint32_t node)
{
    if (tree == node)
        return merge(nodes, nodes[node].left, nodes[node].right);
    uint32_t *side = comes_before(nodes, node, tree) ? &nodes[tree].left : &nodes[tree].right;
    *side = take(nodes, *side, node);
    update(nodes, tree);
    return tree;
}

acui_index_node *acui_index_move(acui_extent_index *index, acui_index_node *nodes, uint32_t room)
{
    acui_index_node *old = index->nodes;
    if (old)
        memcpy(nodes, old, (index->used + 1) * sizeof *nodes);
    index->nodes = nodes;
    index->room = room;
    return old;
}

uint32_t acui_index_insert(acui_extent_index *index, const acui_extent *extent, bool write,
                           uint32_t item)
{
    uint32_t node = index->free;
    if (node)
        index->free = index->nodes[node].next;
    else
        node = ++index->used;
    index->nodes[node] =
        (acui_index_node){.begin = extent->begin, .end = extent->end, .item = item};
    index->root[write] = put(index->nodes, index->root[write], node);
    return node;
}

void acui_index_remove(acui_extent_index *index, uint32_t node, bool write)
{
    index->root[write] = take(index->nodes, index->root[write], node);
    index->nodes[node].next = index->free;
    index->free = node;
}

/* Puts what it finds in front of `found`. */
static uint32_t find(acui_index_node *nodes, uint32_t tree, const acui_extent *extent,
                     uint32_t found)
{
    while (tree && nodes[tree].furthest > extent->begin) {
        acui_index_node *n = &nodes[tree];
        found = find(nodes, n->left, extent, found);
        if (n->begin >= extent->end)
            break; /* and all on the right begin later */
        if (n->end > extent->begin) {
            n->next = found;
            found = tree;
        }
        tree = n->right;
    }
    return found;
}

uint32_t acui_index_find(acui_extent_index *index, const acui_extent *extent, bool reads)
{
    uint32_t found = reads ? find(index->nodes, index->root[false], extent, 0) : 0;
    return find(index->nodes, index->root[true], extent, found);
}
