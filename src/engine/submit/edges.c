/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Edges: what comes before what inside a task. A node gets an edge from each earlier node that
 * wrote what it reads, or used what it overwrites, and from those that a `then` put in front of it.
 * Nodes without a path between them are branches, and may run side by side.
 *
 * Called for each task by acui_make_tasks (tasks.c), on the thread that plans, with no lock held.
 */
#include "base/rare.h"
#include "engine/submit/submit.h"
#include "op/after.h"

#include <string.h>

enum { WIDE = 64 }; /* more nodes in front of another are many */

/* What is noted about a node while edges are looked for. */
typedef struct visit {
    const acui_node *by;       /* the node being looked at, once it has an edge from this one */
    const acui_node *follower; /* the first that has an edge from it */
    uint32_t next;  /* the nodes from this one up to that index need no edge to whatever comes
                     * behind all of them, since others follow these; 0: not known */
    uint32_t until; /* ... and those come before this index */
} visit;

typedef struct finding {
    const acui_task *task;
    acui_arena *lasting, *transient;
    visit *visits;  /* one for each node of the task, in order */
    uint32_t first; /* index of the first node */
    const acui_node *last; /* the node that was looked at before; NULL: none */
    bool chained;          /* so far, each has an edge from the one before */
    const acui_after *wide; /* the last range with many nodes that others come behind; NULL: none */
    acui_node *behind_wide; /* the first node that comes behind all of it */
} finding;

static inline visit *visit_of(const finding *f, const acui_node *node)
{
    return &f->visits[node->index - f->first];
}

/* ---- one edge ---- */

/* One edge more: the first is stored in the node itself. */
ACUI_RARE static bool put_more(acui_arena *lasting, acui_node *node, acui_node *before)
{
    uint32_t n = node->before_count;
    if ((n & (n - 1)) == 0) { /* full: 1, 2, 4, ... */
        acui_node **grown = ACUI_ARENA_ARRAY(lasting, acui_node *, 2 * (size_t)n);
        if (!grown)
            return false;
        memcpy(grown, acui_node_before(node), n * sizeof *grown);
        node->before.more = grown;
    }
    node->before.more[n] = before;
    node->before_count++;
    return true;
}

bool acui_put_edge(acui_task *task, acui_node *node, acui_node *before)
{
    for (uint32_t i = 0; i < node->before_count; i++)
        if (acui_node_before(node)[i] == before)
            return true;
    if (node->before_count > 0)
        return put_more(&task->submission->plan.arena, node, before);
    node->before.one = before;
    node->before_count = 1;
    return true;
}

static inline bool add_edge(const finding *f, acui_node *node, acui_node *before)
{
    visit *m = visit_of(f, before);
    if (before == node || m->by == node)
        return true;
    m->by = node;
    if (!m->follower)
        m->follower = node;
    if (node->before_count > 0)
        return put_more(f->lasting, node, before);
    node->before.one = before;
    node->before_count = 1;
    return true;
}

/* Drop edges that a longer path implies, where that shows at once: edges from a node that also
 * comes right before another predecessor. */
static void drop_implied(const finding *f, acui_node *node)
{
    if (node->before_count < 2)
        return;
    acui_node **list = node->before.more;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->before_count; i++)
        for (uint32_t k = 0; list[i]->before_count <= WIDE && k < list[i]->before_count; k++) {
            visit *m = visit_of(f, acui_node_before(list[i])[k]);
            if (m->by == node)
                m->by = NULL;
        }
    for (uint32_t i = 0; i < node->before_count; i++)
        if (visit_of(f, list[i])->by == node)
            list[kept++] = list[i];
    node->before_count = kept;
    if (kept == 1)
        node->before.one = list[0];
}

/* ---- data ---- */

/* A long list gets an index: so a task with very many nodes takes no longer for each of them. The
 * `item` of a node is whether it is a write. */
static bool grow_index(acui_arena *arena, acui_history *h, uint32_t room)
{
    acui_index_node *nodes = ACUI_ARENA_ARRAY(arena, acui_index_node, room + 1);
    acui_extent_index *index = h->index ? h->index : ACUI_ARENA_NEW(arena, acui_extent_index);
    if (!nodes || !index)
        return false;
    acui_index_move(index, nodes, room + 1);
    for (uint32_t i = 0; !h->index && i < h->count; i++)
        acui_index_insert(index, &h->list[i].extent, i < h->writes, i < h->writes);
    h->index = index;
    return true;
}

ACUI_RARE static bool grow(acui_arena *arena, acui_history *h)
{
    uint32_t room = h->room > 1 ? 2 * h->room : 8; /* a second one means several */
    acui_range *grown = ACUI_ARENA_ARRAY(arena, acui_range, room);
    if (!grown)
        return false;
    memcpy(grown, h->list, h->count * sizeof *grown);
    h->list = grown;
    h->room = room;
    return h->count < ACUI_INDEX_FROM || grow_index(arena, h, room);
}

static bool push_indexed(const finding *f, acui_history *h, const acui_node_access *access,
                         acui_node *node)
{
    if (acui_index_is_full(h->index) && !grow(f->transient, h))
        return false;
    bool write = access->mode != ACU_READ;
    uint32_t at = acui_index_insert(h->index, &access->extent, write, write);
    h->list[at - 1] = (acui_range){.extent = access->extent, .node = node};
    h->count = h->index->used;
    return true;
}

static inline bool push(const finding *f, acui_history *h, const acui_node_access *access,
                        acui_node *node)
{
    if (!h->index && h->count == h->room && !grow(f->transient, h))
        return false;
    if (h->index)
        return push_indexed(f, h, access, node);
    uint32_t at = h->count++;
    if (access->mode != ACU_READ) { /* takes the first read's place; that one moves to the end */
        if (at > h->writes)
            h->list[at] = h->list[h->writes];
        at = h->writes++;
    }
    h->list[at] = (acui_range){.extent = access->extent, .node = node};
    return true;
}

/* What the task has done with the buffer of the access so far. */
static inline acui_history *history_of(const finding *f, const acui_node_access *access)
{
    acui_history *h = access->use->history;
    if (h->task == f->task)
        return h;
    h->task = f->task;
    h->count = h->writes = 0;
    h->index = NULL;
    if (!h->list) {
        h->list = &h->first;
        h->room = 1;
    }
    return h;
}

/* The same as below, of a long list. A read forgets nothing. */
static bool go_behind(const finding *f, acui_node *node, const acui_node_access *access)
{
    acui_history *h = history_of(f, access);
    bool write = access->mode != ACU_READ;
    for (uint32_t at = acui_index_find(h->index, &access->extent, write), next; at; at = next) {
        const acui_range *range = &h->list[at - 1];
        next = h->index->nodes[at].next;
        if (acui_extents_overlap(&access->extent, &range->extent) &&
            !add_edge(f, node, range->node))
            return false;
        if (write && acui_extent_covers(&access->extent, &range->extent))
            acui_index_remove(h->index, at, h->index->nodes[at].item);
    }
    return true;
}

/* Ranges that the write covers are forgotten: what comes later comes behind the write. */
static inline bool add_write(const finding *f, acui_node *node, const acui_node_access *access)
{
    acui_history *h = history_of(f, access);
    uint32_t kept = 0, writes = 0;
    if (h->index)
        return go_behind(f, node, access) && push(f, h, access, node);
    for (uint32_t i = 0; i < h->count; i++) {
        const acui_range *range = &h->list[i];
        bool covered = acui_extent_covers(&access->extent, &range->extent);
        if ((covered || acui_extents_overlap(&access->extent, &range->extent)) &&
            !add_edge(f, node, range->node))
            return false;
        if (covered)
            continue;
        writes += i < h->writes;
        h->list[kept++] = *range;
    }
    h->count = kept;
    h->writes = writes;
    return push(f, h, access, node);
}

/* Whether `node` comes behind `other`, as far as it shows at once. */
static inline bool is_behind(const finding *f, const acui_node *node, const acui_node *other)
{
    return other == node || visit_of(f, other)->by == node ||
           (f->chained && visit_of(f, f->last)->by == node);
}

/* A reader that comes behind the last recorded one anyway stands for it, if it reads as much. */
static inline bool stands_for_last(const finding *f, const acui_history *h, const acui_node *node,
                                   const acui_extent *extent)
{
    const acui_range *last = &h->list[h->count - 1];
    return acui_extent_covers(extent, &last->extent) && is_behind(f, node, last->node);
}

static inline bool read_behind(const finding *f, acui_node *node, const acui_node_access *access)
{
    const acui_history *h = history_of(f, access);
    if (h->index)
        return go_behind(f, node, access);
    for (uint32_t i = 0; i < h->writes; i++)
        if (acui_extents_overlap(&h->list[i].extent, &access->extent) &&
            !add_edge(f, node, h->list[i].node))
            return false;
    return true;
}

/* To be called when all edges that follow from data are known. */
static inline bool add_read(const finding *f, acui_node *node, const acui_node_access *access)
{
    acui_history *h = access->use->history;
    if (!h->index && h->count > h->writes && stands_for_last(f, h, node, &access->extent))
        h->count--;
    return push(f, h, access, node);
}

static bool add_data(const finding *f, acui_node *node)
{
    const acui_node_access *end = node->accesses + node->access_count;
    for (const acui_node_access *access = node->accesses; access < end; access++)
        if (access->mode == ACU_READ ? !read_behind(f, node, access) : !add_write(f, node, access))
            return false;
    for (const acui_node_access *access = node->accesses; access < end; access++)
        if (access->mode == ACU_READ && !add_read(f, node, access))
            return false;
    return true;
}

/* ---- explicit order ---- */

/* Past node i and those after it that another one before `end` follows, or that nothing need come
 * behind. Remembers where that led, since ranges that begin at the same node often come one after
 * the other, each a little longer. */
static uint32_t pass_followed(const finding *f, uint32_t i, uint32_t end)
{
    visit *start = &f->visits[i - f->first];
    uint32_t until = 0;
    while (i < end) {
        const visit *m = &f->visits[i - f->first];
        bool known = m->next > i && m->until <= end;
        bool prologue = acui_is_prologue(f->task->nodes[i - f->first]);
        uint32_t followed = known         ? m->until
                            : prologue    ? 0
                            : m->follower ? m->follower->index + 1
                                          : end + 1;
        if (followed > end)
            break;
        until = followed > until ? followed : until;
        i = known ? m->next : i + 1;
    }
    start->next = i;
    start->until = until;
    return i;
}

/* Put the node behind all of the range that is in the task, that is, behind those that none of the
 * others follows. If these are many, only the first node is put behind them, and others behind that
 * one: else many behind many were as many edges as the product of both. */
static bool add_range(finding *f, acui_node *node, const acui_after *range)
{
    if (range == f->wide)
        return add_edge(f, node, f->behind_wide);
    uint32_t i = range->begin < f->first ? f->first : range->begin, count = 0;
    for (; i < range->end && (i = pass_followed(f, i, range->end)) < range->end; i++, count++)
        if (!add_edge(f, node, f->task->nodes[i - f->first]))
            return false;
    if (count > WIDE) {
        f->wide = range;
        f->behind_wide = node;
    }
    return true;
}

static bool add_explicit(finding *f, acui_node *node)
{
    const acui_after *range = acui_after_range(node->frame->after);
    for (; range; range = range->range)
        if (!add_range(f, node, range))
            return false;
    return true;
}

/* ---- all ---- */

/* No branches are wanted: each node goes behind the one before. */
static bool add_serial(const finding *f, acui_node *node, uint32_t i)
{
    while (i-- > 0)
        if (!acui_is_prologue(f->task->nodes[i]))
            return add_edge(f, node, f->task->nodes[i]);
    return true;
}

bool acui_find_edges(acui_task *task)
{
    acui_plan *plan = &task->submission->plan;
    if (task->count == 1)
        return true; /* no edges; later tasks start with an empty history */
    finding f = {.task = task,
                 .lasting = &plan->arena,
                 .transient = &plan->transient,
                 .first = task->first->index};
    f.visits = ACUI_ARENA_ARRAY(f.transient, visit, task->count);
    if (!f.visits)
        return false;
    for (uint32_t i = 0; i < task->count; i++) {
        acui_node *node = task->nodes[i];
        if (acui_is_prologue(node))
            continue;
        if (task->submission->planning.serial) {
            if (!add_serial(&f, node, i))
                return false;
            continue;
        }
        if (!add_data(&f, node))
            return false;
        if (!add_explicit(&f, node))
            return false;
        f.chained = !f.last || (f.chained && visit_of(&f, f.last)->by == node);
        f.last = node;
        drop_implied(&f, node);
    }
    return true;
}
