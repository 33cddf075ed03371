/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What comes before what inside a task: which of its nodes wrote what a node reads, or used what it
 * overwrites. What a `then` put in order is in order too. Nodes without a path between them are
 * branches, and may run side by side.
 *
 * Runs on the thread that plans, with no lock held.
 */
#include "engine/engine.h"
#include "op/after.h"

#include <string.h>

/* ---- one edge ---- */

static bool add_edge(acui_arena *arena, acui_node *node, acui_node *before)
{
    if (before == node || before->marked == node)
        return true;
    uint32_t n = node->before_count;
    if ((n & (n - 1)) == 0) { /* full: 0, 1, 2, 4, ... */
        acui_node **grown = ACUI_ARENA_ARRAY(arena, acui_node *, n ? 2 * (size_t)n : 1);
        if (!grown)
            return false;
        if (n)
            memcpy(grown, node->before, n * sizeof *grown);
        node->before = grown;
    }
    before->marked = node;
    node->before[node->before_count++] = before;
    if (!before->follower)
        before->follower = node;
    return true;
}

/* Drops edges that a longer way implies, where that is seen at once: what comes right before
 * something that comes right before the node. */
static void drop_implied(acui_node *node)
{
    if (node->before_count < 2)
        return;
    for (uint32_t i = 0; i < node->before_count; i++)
        for (uint32_t k = 0; k < node->before[i]->before_count; k++)
            if (node->before[i]->before[k]->marked == node)
                node->before[i]->before[k]->marked = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->before_count; i++)
        if (node->before[i]->marked == node)
            node->before[kept++] = node->before[i];
    node->before_count = kept;
}

/* ---- data ---- */

static bool push(acui_arena *arena, acui_range **list, uint32_t *count, uint32_t *room,
                 acui_range range)
{
    if (*count == *room) {
        uint32_t more = *room ? 2 * *room : 2;
        acui_range *grown = ACUI_ARENA_ARRAY(arena, acui_range, more);
        if (!grown)
            return false;
        if (*count)
            memcpy(grown, *list, *count * sizeof *grown);
        *list = grown;
        *room = more;
    }
    (*list)[(*count)++] = range;
    return true;
}

static bool behind(acui_arena *arena, acui_node *node, const acui_range *list, uint32_t count,
                   const acui_touch *touch)
{
    for (uint32_t i = 0; i < count; i++)
        if (acui_extents_overlap(&list[i].extent, &touch->extent) &&
            !add_edge(arena, node, list[i].node))
            return false;
    return true;
}

/* What the write covers is forgotten: who comes later comes behind the write. */
static uint32_t without(acui_range *list, uint32_t count, const acui_touch *touch)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!acui_extent_covers(&touch->extent, &list[i].extent))
            list[kept++] = list[i];
    return kept;
}

static bool find_before(acui_arena *arena, acui_node *node, const acui_touch *touch)
{
    acui_use *use = touch->use;
    if (use->task != node->task) {
        use->task = node->task;
        use->write_count = use->read_count = 0;
    }
    return behind(arena, node, use->writes, use->write_count, touch) &&
           (touch->access == ACU_READ ||
            behind(arena, node, use->reads, use->read_count, touch));
}

/* A reader that comes behind the last one anyway stands for it, if it reads as much. */
static bool add_read(acui_arena *arena, acui_use *use, acui_range range)
{
    acui_range *last = use->read_count ? &use->reads[use->read_count - 1] : NULL;
    if (last && acui_extent_covers(&range.extent, &last->extent) &&
        (last->node == range.node || last->node->marked == range.node)) {
        *last = range;
        return true;
    }
    return push(arena, &use->reads, &use->read_count, &use->read_room, range);
}

/* All edges of the node are known. */
static bool add_touch(acui_arena *arena, acui_node *node, const acui_touch *touch)
{
    acui_use *use = touch->use;
    acui_range range = {.extent = touch->extent, .node = node};
    if (touch->access == ACU_READ)
        return add_read(arena, use, range);
    use->write_count = without(use->writes, use->write_count, touch);
    use->read_count = without(use->reads, use->read_count, touch);
    return push(arena, &use->writes, &use->write_count, &use->write_room, range);
}

static bool add_data(acui_arena *arena, acui_node *node)
{
    for (uint32_t k = 0; k < node->touch_count; k++)
        if (!find_before(arena, node, &node->touches[k]))
            return false;
    for (uint32_t k = 0; k < node->touch_count; k++)
        if (!add_touch(arena, node, &node->touches[k]))
            return false;
    return true;
}

/* ---- explicit order ---- */

/* Behind all nodes of the task in [begin, end): those of them that no other of them follows. */
static bool add_range(acui_arena *arena, const acui_task *task, acui_node *node, uint32_t begin,
                      uint32_t end)
{
    uint32_t first = task->first->index;
    for (uint32_t i = begin < first ? first : begin; i < end; i++) {
        acui_node *before = task->nodes[i - first];
        if (acui_is_prologue(before) || (before->follower && before->follower->index < end))
            continue;
        if (!add_edge(arena, node, before))
            return false;
    }
    return true;
}

static bool add_explicit(acui_arena *arena, const acui_task *task, acui_node *node)
{
    for (const acui_after *after = node->after; after; after = after->outer)
        if (!add_range(arena, task, node, after->begin, after->end))
            return false;
    return true;
}

/* ---- all ---- */

/* Side by side is not wanted: each behind the one before. */
static bool add_serial(acui_arena *arena, const acui_task *task, acui_node *node, uint32_t i)
{
    while (i-- > 0)
        if (!acui_is_prologue(task->nodes[i]))
            return add_edge(arena, node, task->nodes[i]);
    return true;
}

bool acui_find_edges(acui_task *task)
{
    acui_arena *arena = &task->submission->plan.arena;
    for (uint32_t i = 0; i < task->count; i++) {
        acui_node *node = task->nodes[i];
        if (acui_is_prologue(node))
            continue;
        if (task->submission->serial) {
            if (!add_serial(arena, task, node, i))
                return false;
            continue;
        }
        if (!add_data(arena, node))
            return false;
        if (!add_explicit(arena, task, node))
            return false;
        drop_implied(node);
    }
    return true;
}
