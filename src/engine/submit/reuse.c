/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that temporaries of a task have one after the other. A task gets all its memory at once
 * (issue/memory.h), so without this a chain of n operations takes n times the memory of one.
 *
 * The nodes are walked in the order of the plan. A buffer comes free at the last node that touches
 * it, and a later node that begins another one may give it that memory. The ALLOC of that one then
 * says whose memory its buffer takes over (`from`). The last buffer in such a row gets memory from
 * the pool, as much as the largest of them needs, and has the block; the others have only its
 * address.
 *
 * What must hold, of a buffer that comes free:
 *   - the task makes it, and only nodes of the task touch it;
 *   - nobody else has it or can get it: no value, no op, no function of the program's;
 *   - its first node overwrites all of it, so that nobody finds in it what was there before;
 * of the one that takes over:
 *   - the task makes it, and its first node overwrites all of it, and is not in the prologue, nor a
 *     programmatic launch, which may write before its predecessors are over;
 *   - if it is kept, the memory is no larger than what it would have got: it is not back soon;
 * and of both: that node comes behind all that touch the earlier buffer, in any case. So nothing is
 * ordered that would run side by side, except for buffers of LARGE bytes: kernels that write or
 * read so much fill a device, so little is lost if one waits for another. There the node gets an
 * edge.
 *
 * What comes behind what is known of the last WINDOW nodes, and of all before a certain one. Pools
 * that are to find faults (acui_pool_is_exact) take no part: reads of what was never written, or
 * behind the end of a buffer, would not be noticed.
 */
#include "engine/issue/memory.h"
#include "engine/submit/submit.h"
#include "memory/pool.h"
#include "op/import.h"

enum { FEWEST = 6, FREE = 32, WINDOW = 64 };
static const size_t WORTH = (size_t)64 << 10; /* less memory is not worth the time */
static const size_t LARGE = (size_t)16 << 20;

/* Of a node, by its position. */
typedef struct step {
    uint64_t behind; /* it comes behind these of the WINDOW before it: a bit for each, the nearest
                      * first */
    uint32_t all;    /* ... and behind all before this position */
} step;

/* A buffer that the task makes. */
typedef struct acui_made {
    const acui_task *task;
    acui_node *alloc;
    acui_use *use;
    uint32_t accesses; /* of nodes of the task */
    uint32_t left;     /* how many of these are still to come */
    bool begun;
    bool whole;        /* its first node overwrites all of it */
    bool fixed;        /* it neither takes memory over nor comes free */
    bool plain;        /* only launches and fills touch it */
    /* Which nodes touched it, and no other of them is behind them: the last, those in the WINDOW
     * before that, and perhaps some before position `lost`. */
    uint32_t last, lost;
    uint64_t others;
} acui_made;

typedef struct walk {
    acui_task *task;
    step *steps;
    acui_made *made;
    uint32_t count, made_count, free_count;
    acui_made *free[FREE]; /* the longest free first */
} walk;

static uint64_t shifted(uint64_t bits, uint32_t by)
{
    return by < WINDOW ? bits << by : 0;
}

/* The bit of the node that is `by` before. */
static uint64_t bit(uint32_t by)
{
    return by <= WINDOW ? UINT64_C(1) << (by - 1) : 0;
}

/* ---- what comes behind what ---- */

static void find_behind(const walk *w, const acui_node *node)
{
    step *s = &w->steps[node->position];
    for (uint32_t i = 0; i < node->before_count; i++) {
        uint32_t at = acui_node_before(node)[i]->position, by = node->position - at;
        const step *before = &w->steps[at];
        uint32_t all = before->all == at ? at + 1 : before->all;
        s->behind |= shifted(before->behind, by) | bit(by);
        s->all = all > s->all ? all : s->all;
    }
    while (s->all < node->position && s->behind & bit(node->position - s->all))
        s->all++;
}

/* Whether the node is known to come behind all that touched the buffer. */
static bool is_behind(const walk *w, const acui_node *node, const acui_made *made)
{
    const step *s = &w->steps[node->position];
    uint32_t by = node->position - made->last;
    uint64_t others = shifted(made->others, by);
    if (made->last < s->all)
        return true;
    bool known = by <= WINDOW && made->lost <= s->all && others >> (by % WINDOW) == made->others;
    return known && !((others | bit(by)) & ~s->behind);
}

static bool is_plain(const acui_node *node)
{
    return node->kind == ACUI_NODE_LAUNCH || node->kind == ACUI_NODE_FILL;
}

static void touch(const walk *w, const acui_node *node, acui_made *made)
{
    const step *s = &w->steps[node->position];
    uint32_t by = node->position - made->last;
    made->plain &= is_plain(node);
    if (made->begun && by > 0) {
        uint64_t others = shifted(made->others, by);
        if (by > WINDOW || others >> (by % WINDOW) != made->others)
            made->lost = made->last + 1;
        made->others = (others | bit(by)) & ~s->behind;
    }
    if (made->lost <= s->all)
        made->lost = 0;
    made->begun = true;
    made->last = node->position;
}

/* ---- what may be free ---- */

/* Somebody has it besides the plan and the calls that it is lent to. */
static bool is_kept(const acui_made *made)
{
    acu_buffer *buffer = made->use->buffer;
    uint32_t lent = atomic_load_explicit(&buffer->lent, memory_order_relaxed);
    return acui_object_refs(buffer) > 1 + lent;
}

static void come_free(walk *w, acui_made *made)
{
    if (made->fixed || !made->whole || made->accesses != made->use->accesses || is_kept(made))
        return;
    if (w->free_count == FREE) {
        for (uint32_t i = 1; i < FREE; i++)
            w->free[i - 1] = w->free[i];
        w->free_count--;
    }
    w->free[w->free_count++] = made;
}

/* ---- taking over ---- */

/* Whether the node overwrites all of the buffer, and reads none of it. */
static bool overwrites(const acui_node *node, const acui_made *made)
{
    acui_extent all = acui_extent_range(0, made->use->buffer->bytes);
    bool whole = false;
    for (uint32_t i = 0; i < node->access_count; i++) {
        const acui_node_access *access = &node->accesses[i];
        if (access->use != made->use)
            continue;
        if (access->mode != ACU_WRITE)
            return false;
        whole |= acui_extent_covers(&access->extent, &all);
    }
    return whole;
}

static bool is_programmatic(const acui_node *node)
{
    return node->kind == ACUI_NODE_LAUNCH && node->u.launch.more &&
           node->u.launch.more->config.programmatic;
}

/* Whether the memory is one for the buffer; `most`: no more bytes than that. With sizes that differ
 * much, another one could make better use of it. */
static bool fits(const acui_made *made, const acui_made *free, size_t most)
{
    const acu_buffer *a = made->use->buffer, *b = free->use->buffer;
    size_t want = made->alloc->u.alloc.bytes, bytes = free->alloc->u.alloc.bytes;
    return a->pool == b->pool && a->kind == b->kind && bytes <= most && bytes / 4 <= want &&
           want / 4 <= bytes;
}

/* The smallest that is large enough, else the largest, which is then to be larger. */
static bool is_better(const acui_made *made, const acui_made *free, const acui_made *than)
{
    size_t want = made->alloc->u.alloc.bytes, bytes = free->alloc->u.alloc.bytes;
    if (!than)
        return true;
    size_t other = than->alloc->u.alloc.bytes;
    return bytes >= want ? other < want || bytes <= other : other < want && bytes >= other;
}

/* Whether the node may be put behind all that touched the buffer. */
static bool may_wait(const acui_node *node, const acui_made *made, const acui_made *free)
{
    return made->alloc->u.alloc.bytes >= LARGE && free->alloc->u.alloc.bytes >= LARGE &&
           is_plain(node) && free->plain && !free->lost;
}

static acui_made *choose(const walk *w, const acui_node *node, const acui_made *made)
{
    size_t bytes = made->alloc->u.alloc.bytes;
    size_t most = SIZE_MAX;
    if (is_kept(made))
        most = acui_pool_block_size(acui_buffer_pool(made->use->buffer), bytes);
    acui_made *best = NULL, *waits = NULL;
    for (uint32_t i = 0; i < w->free_count; i++) {
        acui_made *free = w->free[i];
        if (!fits(made, free, most))
            continue;
        if (is_behind(w, node, free))
            best = is_better(made, free, best) ? free : best;
        else if (!waits && may_wait(node, made, free))
            waits = free;
    }
    return best ? best : waits;
}

/* Behind those that touched the buffer. */
static bool put_behind(const walk *w, acui_node *node, const acui_made *made)
{
    const step *s = &w->steps[node->position];
    for (uint32_t by = 0; by <= WINDOW && by <= made->last; by++) {
        uint32_t at = made->last - by;
        bool touched = by == 0 || made->others & bit(by);
        bool known = at < s->all || s->behind & bit(node->position - at);
        if (touched && !known && !acui_put_edge(w->task, node, w->task->body[at]))
            return false;
    }
    find_behind(w, node);
    return true;
}

/* The node is the first that touches the buffer. False: no memory. */
static bool begin(walk *w, acui_node *node, acui_made *made)
{
    made->whole = overwrites(node, made);
    if (made->fixed || !made->whole || is_programmatic(node))
        return true;
    acui_made *earlier = choose(w, node, made);
    if (!earlier)
        return true;
    if (!is_behind(w, node, earlier) && !put_behind(w, node, earlier))
        return false;
    uint32_t i = 0;
    while (w->free[i] != earlier)
        i++;
    for (w->free_count--; i < w->free_count; i++)
        w->free[i] = w->free[i + 1];
    made->alloc->u.alloc.from = earlier->alloc;
    earlier->alloc->u.alloc.passed_on = true;
    if (made->alloc->u.alloc.bytes < earlier->alloc->u.alloc.bytes)
        made->alloc->u.alloc.bytes = earlier->alloc->u.alloc.bytes;
    return true;
}

/* ---- all of a task ---- */

static inline acui_made *made_of(const walk *w, const acui_node_access *access)
{
    acui_made *made = access->use->history->made;
    return made && made->task == w->task ? made : NULL;
}

static bool visit(walk *w, acui_node *node)
{
    const acui_node_access *end = node->accesses + node->access_count;
    acui_made *made;
    find_behind(w, node);
    for (const acui_node_access *access = node->accesses; access < end; access++)
        if ((made = made_of(w, access))) {
            if (!made->begun && !begin(w, node, made))
                return false;
            touch(w, node, made);
        }
    for (const acui_node_access *access = node->accesses; access < end; access++)
        if ((made = made_of(w, access)) && --made->left == 0)
            come_free(w, made);
    return true;
}

/* An ALLOC. Another one of the buffer may come before it, in what this one is an alternative to. */
static void note_made(walk *w, acui_node *node)
{
    acui_use *use = node->accesses->use;
    const acu_pool *pool = acui_buffer_pool(use->buffer);
    if (use->first != node->accesses || !pool || acui_pool_is_exact(pool))
        return;
    acui_made *made = &w->made[w->made_count++];
    *made = (acui_made){.task = w->task, .alloc = node, .use = use, .plain = true};
    use->history->made = made;
}

/* A call of the program's may keep the tensors that it is lent. */
static bool may_keep(const acui_node *node)
{
    return node->kind == ACUI_NODE_FOREIGN && !node->u.call.op->u.call.own;
}

static void count_accesses(walk *w)
{
    for (size_t i = 0; i < w->task->count; i++) {
        acui_node *node = w->task->nodes[i];
        bool first = acui_is_prologue(node);
        if (node->kind == ACUI_NODE_ALLOC)
            note_made(w, node);
        if (!first) {
            node->position = w->count;
            w->task->body[w->count++] = node;
        }
        for (uint32_t k = 0; k < node->access_count; k++) {
            acui_made *made = made_of(w, &node->accesses[k]);
            if (!made)
                continue;
            made->accesses++;
            made->left += !first;
            made->fixed |= node->kind == ACUI_NODE_UPLOAD || may_keep(node);
        }
    }
}

/* How many buffers the task makes; 0: too few bytes in all. */
static uint32_t count_made(const acui_task *task)
{
    size_t bytes = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < task->count; i++)
        if (task->nodes[i]->kind == ACUI_NODE_ALLOC) {
            size_t more = task->nodes[i]->u.alloc.bytes;
            bytes = bytes + more < bytes ? SIZE_MAX : bytes + more;
            count++;
        }
    return bytes < WORTH ? 0 : count;
}

/* What is held for planning only. */
static void let_go(acui_submission *s)
{
    acui_plan_release_unreachable(&s->plan);
    if (s->plan.for_replay || s->planning.stage == ACUI_PLANNED)
        acui_import_entered(&s->plan);
}

bool acui_reuse_memory(acui_task *task)
{
    acui_arena *arena = &task->submission->plan.transient;
    uint32_t count = acui_task_makes(task) && task->count >= FEWEST ? count_made(task) : 0;
    if (count < 2)
        return true;
    walk w = {.task = task};
    w.made = ACUI_ARENA_ARRAY(arena, acui_made, count);
    w.steps = ACUI_ARENA_ARRAY(arena, step, task->count);
    if (!w.made || !w.steps)
        return false;
    let_go(task->submission);
    count_accesses(&w);
    for (uint32_t i = 0; i < w.count; i++)
        if (!visit(&w, task->body[i]))
            return false;
    return true;
}
