/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Order: tasks take their place behind everything that touched the same data. acui_enter_nodes does
 * this whenever a plan has nodes to be entered, on the thread that plans.
 *
 * All accesses that are entered at once are registered under one holding of the order locks, so
 * they come wholly before or wholly after those of other threads. `pending` then counts the
 * predecessors that the task has to wait for on the host: until they are on the device, or, for
 * host work and conditional tasks, until they are over. Whoever brings it to zero runs the task.
 */
#include "engine/order/order.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rare.h"
#include "engine/future.h"
#include "engine/report/record.h"
#include "op/after.h"

#include <string.h>

/* ---- which locks it takes ---- */

/* The home of a submission with these tasks: that of its first task. */
static acui_homes home_of(const acui_submission *s, const acui_task *tasks)
{
    return s->home ? s->home : acui_home_of(tasks->device);
}

static acui_homes homes_of_child(const acui_child *child)
{
    return atomic_load_explicit(&child->homes, memory_order_relaxed);
}

/* Of what was put in front of a node. Its own submission's tasks are among the plan's. */
static acui_homes homes_in_front(const acui_after *after)
{
    acui_homes homes = 0;
    for (; after; after = after->outer) {
        for (size_t i = 0; i < after->point_count; i++)
            homes |= after->points[i]->home;
        if (after->child)
            homes |= homes_of_child(after->child);
    }
    return homes;
}

/* Of the ops that an AWAIT stands for, or whose values it awaits. */
static acui_homes homes_of_imports(const acui_node *node)
{
    acui_homes homes = 0;
    for (const acui_imported *b = node->u.await.imported; b != node->u.await.since; b = b->next)
        homes |= homes_of_child(b->child);
    for (const acui_imported *b = node->u.await.here; b; b = b->next_here)
        homes |= homes_of_child(b->child);
    return homes;
}

static acui_homes homes_of_node(const acui_node *node)
{
    acui_homes homes = acui_home_of(node->device);
    for (uint32_t i = 0; i < node->access_count; i++)
        homes |= atomic_load_explicit(&node->accesses[i].use->buffer->accesses.homes,
                                      memory_order_relaxed);
    if (node->kind == ACUI_NODE_AWAIT)
        homes |= homes_of_imports(node);
    if (node->kind == ACUI_NODE_FOREIGN && node->u.call.behind)
        homes |= node->u.call.behind->home;
    if (node->kind != ACUI_NODE_LAUNCH)
        return homes;
    const acui_launch_more *more = node->u.launch.more;
    if (more && more->behind)
        homes |= more->behind->home;
    return acui_launch_is_late(node) ? homes | node->u.launch.kernel->module->point->home : homes;
}

static acui_homes homes_for(const acui_submission *s, const acui_task *tasks)
{
    acui_homes homes = atomic_load_explicit(&s->plan.homes, memory_order_relaxed) |
                       home_of(s, tasks);
    const acui_after *after = NULL;
    for (; tasks; tasks = tasks->next)
        for (size_t i = 0; i < tasks->count; i++) {
            const acui_node *node = tasks->nodes[i];
            homes |= homes_of_node(node);
            if (node->frame->after != after)
                homes |= homes_in_front(after = node->frame->after);
        }
    return homes;
}

acui_homes acui_lock_to_enter(const acui_submission *s, const acui_task *tasks)
{
    acui_homes homes = homes_for(s, tasks);
    for (;;) {
        acui_order_lock(homes);
        acui_homes now = homes_for(s, tasks); /* others may have used the buffers meanwhile */
        if ((now & ~homes) == 0)
            return homes;
        acui_order_unlock(homes);
        homes = now;
    }
}

/* ---- entering: these locks held ---- */

static acui_dependency *find_before(acui_task *task, const acui_point *point)
{
    uint32_t i = point->entered_at;
    return i < task->dependency_count && task->dependencies[i].point == point
               ? &task->dependencies[i]
               : NULL;
}

/* One access of a task that is being entered. */
typedef struct entering {
    acui_task *task;
    const acui_node_access *what; /* NULL: an order without data */
    bool reads;   /* it reads what it comes behind */
    bool through; /* its task is conditional, and leaves the bytes as they were if it is passed
                   * over: so its write is entered as an update */
} entering;

/* Note which of the point's bytes the access is about. Called if one of the two tasks may be passed
 * over. */
static ACUI_APART void add_piece(const entering *access, acui_dependency *before,
                                 const acui_extent *extent)
{
    acui_piece *piece = ACUI_ARENA_NEW(&access->task->submission->plan.arena, acui_piece);
    if (!piece) {
        before->vague = true;
        return;
    }
    piece->point = before->point;
    piece->buffer = access->what->use->buffer;
    piece->extent = acui_extent_common(extent, &access->what->extent);
    piece->reads = access->reads;
    piece->through = access->through;
    piece->next = access->task->pieces;
    access->task->pieces = piece;
}

/* There is room: see room_before. */
static void add_before(void *context, acui_point *point, const acui_extent *extent, bool data)
{
    const entering *access = context;
    acui_task *task = access->task;
    if (point == task->point)
        return;
    acui_dependency *before = find_before(task, point);
    if (!before) {
        point->entered_at = (uint32_t)task->dependency_count;
        before = &task->dependencies[task->dependency_count++];
        before->point = acui_point_retain(point);
        before->task = task;
        task->homes |= point->home;
    }
    before->data |= data && (access->reads || point->growth);
    before->wished |= !access->what;
    if (data && (access->through || point->conditional))
        add_piece(access, before, extent);
}

static bool room_before(acui_task *task, size_t more)
{
    if (task->dependency_count + more <= task->dependency_room)
        return true;
    /* What is outgrown stays in the arena, and most tasks come behind a few others. */
    size_t room = task->dependency_room ? 2 * task->dependency_room : 3;
    while (room < task->dependency_count + more)
        room *= 2;
    acui_dependency *grown = ACUI_ARENA_ARRAY(&task->submission->plan.arena, acui_dependency, room);
    if (!grown)
        return false;
    if (task->dependency_count)
        memcpy(grown, task->dependencies, task->dependency_count * sizeof *grown);
    task->dependencies = grown;
    task->dependency_room = room;
    return true;
}

static bool enter_point(acui_task *task, acui_point *point)
{
    if (!room_before(task, 1))
        return false;
    add_before(&(entering){.task = task}, point, NULL, false);
    return true;
}

/* Whether nothing need be entered behind the task, because of another that comes behind it and
 * before `end`. */
static bool is_implied(const acui_task *task, uint32_t end)
{
    return task->followed && task->followed < end;
}

/* Past `first`, which is implied, and those after it that are. Remembers where that led, since
 * ranges that begin at the same node often come one after the other, each a little longer. */
static acui_task *pass_implied(const acui_task *task, acui_task *first, uint32_t end)
{
    uint32_t until = 0;
    acui_task *t = first;
    while (t && t != task && t->first->index < end && is_implied(t, end)) {
        bool known = t->implied.next && t->implied.end <= end;
        uint32_t followed = known ? t->implied.end : t->followed + 1;
        until = followed > until ? followed : until;
        t = known ? t->implied.next : t->next;
    }
    first->implied.next = t;
    first->implied.end = until;
    return t;
}

/* Behind all other tasks of the submission with nodes in [begin, end). */
static bool enter_range(acui_task *task, uint32_t begin, uint32_t end)
{
    acui_task *t = acui_find_task(task->submission, begin), *next;
    for (; t && t->first->index < end; t = next) {
        next = t->next;
        if (t == task)
            continue;
        if (is_implied(t, end)) {
            next = pass_implied(task, t, end);
            continue;
        }
        if (!enter_point(task, t->point))
            return false;
        if (!t->followed)
            t->followed = task->first->index;
    }
    return true;
}

static bool enter_shared(void *task, acui_point *point, bool caught)
{
    (void)caught;
    return enter_point(task, point);
}

/* Behind what was put in front of the task, data or not. */
static bool enter_explicit(acui_task *task, const acui_after *after)
{
    for (; after; after = after->outer) {
        if (after->end > after->begin && !enter_range(task, after->begin, after->end))
            return false;
        for (size_t i = 0; i < after->point_count; i++)
            if (!enter_point(task, after->points[i]))
                return false;
        if (after->child && !acui_child_each_point(after->child, enter_shared, task))
            return false;
    }
    return true;
}

/* Whether an access that the task has entered already covers this one: it is of the same bytes,
 * and this one only reads, or that access writes. */
static bool is_entered(const acui_task *task, const acui_node_access *access)
{
    const acui_history *history = access->use->history;
    return history->entered == task && acui_extent_covers(&history->extent, &access->extent) &&
           (history->access != ACU_READ || access->mode == ACU_READ);
}

static bool enter_access(acui_task *task, const acui_node_access *access)
{
    acui_use *use = access->use;
    acui_accesses *accesses = &use->buffer->accesses;
    if (is_entered(task, access))
        return true;
    if (task->on_stream)
        return acui_accesses_add(accesses, use->buffer->bytes, task->point, access->extent,
                                 access->mode);
    entering entry = {.task = task,
                      .what = access,
                      .reads = access->mode != ACU_WRITE,
                      .through = task->point->conditional && access->mode != ACU_READ};
    acu_access as = entry.through ? ACU_UPDATE : access->mode;
    size_t most = acui_accesses_count(accesses, &access->extent, as);
    if (most && !room_before(task, most))
        return false;
    if (!acui_accesses_enter(accesses, use->buffer->bytes, task->point, access->extent, as,
                             add_before, &entry))
        return false;
    use->history->entered = task;
    use->history->extent = access->extent;
    use->history->access = access->mode;
    return true;
}

/* ---- AWAIT: it comes behind others, and nothing comes behind it ---- */

/* The submission waits for its own points anyway. */
static void add_others(void *context, acui_point *point, const acui_extent *extent, bool data)
{
    const entering *access = context;
    if (point->owner != access->task->point->owner)
        add_before(context, point, extent, data);
}

static bool enter_values(acui_task *task, const acui_node *node)
{
    for (uint32_t i = 0; i < node->access_count; i++) {
        const acui_node_access *access = &node->accesses[i];
        entering entry = {.task = task, .what = access, .reads = true};
        const acui_accesses *accesses = &access->use->buffer->accesses;
        size_t most = acui_accesses_count(accesses, &access->extent, ACU_READ);
        if (most && !room_before(task, most))
            return false;
        acui_accesses_look(accesses, access->extent, ACU_READ, add_others, &entry);
    }
    return true;
}

/* The point, which the task comes behind, is part of an imported op. */
static void note_op(acui_dependency *before, const acui_imported *imported, bool caught)
{
    before->imported = imported;
    before->of_outcome |= !caught;
}

typedef struct awaiting {
    acui_task *task;
    const acui_imported *imported;
} awaiting;

/* Behind all of an op that another submission planned. */
static bool enter_op(void *context, acui_point *point, bool caught)
{
    const awaiting *a = context;
    if (!enter_point(a->task, point))
        return false;
    note_op(find_before(a->task, point), a->imported, caught);
    return true;
}

/* Who reads a value of such an op fails as the op did, whether this task or another one stands for
 * the op as a whole. */
static bool note_value(void *context, acui_point *point, bool caught)
{
    const awaiting *a = context;
    acui_dependency *before = find_before(a->task, point);
    if (before)
        note_op(before, a->imported, caught);
    return true;
}

/* Behind all of an op of this submission, and fail with it, unless something in it catches that. */
static bool enter_own_op(acui_task *task, const acui_imported *imported)
{
    const acui_child *child = imported->child;
    if (child->joined) /* what stands around this use fails with it anyway */
        return enter_range(task, child->begin, child->end);
    acui_task *t = acui_find_task(task->submission, child->begin);
    for (; t && t->first->index < child->end; t = t->next) {
        if (t->first->index < child->begin)
            continue; /* no task of a child has nodes outside of it */
        if (!enter_point(task, t->point))
            return false;
        note_op(find_before(task, t->point), imported,
                acui_child_is_caught(t->child, child->parent));
    }
    return true;
}

static bool enter_await(acui_task *task, const acui_node *node)
{
    bool memory = enter_values(task, node);
    const acui_plan *plan = &task->submission->plan;
    const acui_imported *since = node->u.await.since;
    const acui_imported *values_of = task->dependency_count ? node->u.await.imported : since;
    for (const acui_imported *b = values_of; b != since; b = b->next) /* ops inside of others too */
        if (!acui_child_in(b->child, plan))
            acui_child_each_point(b->child, note_value, &(awaiting){task, b});
    for (const acui_imported *b = node->u.await.here; b && memory; b = b->next_here)
        if (b->awaited)
            memory = acui_child_in(b->child, plan)
                         ? enter_own_op(task, b)
                         : acui_child_each_point(b->child, enter_op, &(awaiting){task, b});
    return memory;
}

/* ---- all of a task ---- */

/* Those that read, or the others. */
static bool enter_accesses(acui_task *task, const acui_node *node, bool reads)
{
    for (uint32_t i = 0; i < node->access_count; i++)
        if ((node->accesses[i].mode != ACU_WRITE) == reads &&
            !enter_access(task, &node->accesses[i]))
            return false;
    return true;
}

/* A replay's are in the order of the graph's nodes: it does not read what it has written itself. */
static bool enter_in_order(acui_task *task, const acui_node *node)
{
    for (uint32_t i = 0; i < node->access_count; i++)
        if (!enter_access(task, &node->accesses[i]))
            return false;
    return true;
}

/* What it reads comes first: a node may overwrite it, too, and who wrote that is forgotten then. */
static bool enter_node(acui_task *task, const acui_node *node)
{
    if (node->kind == ACUI_NODE_AWAIT)
        return enter_await(task, node);
    if (node->kind == ACUI_NODE_REPLAY)
        return enter_in_order(task, node);
    if (!enter_accesses(task, node, true) || !enter_accesses(task, node, false))
        return false;
    if (node->kind == ACUI_NODE_FOREIGN && node->u.call.behind)
        return enter_point(task, node->u.call.behind);
    if (node->kind != ACUI_NODE_LAUNCH)
        return true;
    const acui_launch_more *more = node->u.launch.more;
    if (more && more->behind && !enter_point(task, more->behind))
        return false;
    return !acui_launch_is_late(node) || enter_point(task, node->u.launch.kernel->module->point);
}

/* Of what the task was to write, from that node on nothing is entered: readers must learn of it. */
static bool lose_writes(acui_task *task, size_t from)
{
    for (size_t i = from; i < task->count; i++) {
        const acui_node *node = task->nodes[i];
        for (uint32_t k = 0; k < node->access_count; k++)
            if (node->accesses[k].mode != ACU_READ && !is_entered(task, &node->accesses[k]))
                acui_accesses_lose(&node->accesses[k].use->buffer->accesses, task->point);
    }
    return false;
}

/* On failure the task is entered as far as it got: it keeps its place, and fails there. */
static bool enter_task(acui_task *task)
{
    const acui_after *entered = NULL;
    task->homes = task->point->home | task->submission->home;
    bool accesses = !acui_child_refused(&task->submission->plan, task->child);
    for (size_t i = 0; i < task->count; i++) {
        const acui_node *node = task->nodes[i];
        if (accesses && !enter_node(task, node))
            return lose_writes(task, i);
        if (node->frame->after != entered) {
            entered = node->frame->after;
            if (!enter_explicit(task, entered))
                return accesses && lose_writes(task, i);
        }
    }
    return true;
}

void acui_link_before(acui_task *task, bool over)
{
    for (size_t i = 0; i < task->dependency_count; i++) {
        acui_dependency *before = &task->dependencies[i];
        acui_point_state state = before->point->state;
        if (state == ACUI_POINT_OVER || before->point->allocation ||
            (state == ACUI_POINT_ISSUED && !over))
            continue;
        before->over = over;
        before->next = before->point->followers;
        before->point->followers = before;
        /* Relaxed: nobody changes it meanwhile, as that takes the lock of one of these points. */
        atomic_store_explicit(&task->order.pending, acui_task_pending(task) + 1,
                              memory_order_relaxed);
    }
}

/* Whether the task fails because this point did. A point that was passed over fails only those that
 * read bytes which it has left bad, and fails no op. */
static bool fails_by(const acui_dependency *before)
{
    const acui_point *point = before->point;
    if (!point->fault || !point->spoiled)
        return point->fault && (before->data || before->of_outcome);
    const acui_piece *piece = before->task->pieces;
    while (piece && !(piece->reads && piece->point == point &&
                      acui_point_spoils(point, piece->buffer, &piece->extent)))
        piece = piece->next;
    return piece || before->vague;
}

const acui_dependency *acui_behind_failure(const acui_task *task)
{
    const acui_dependency *found = NULL;
    for (size_t i = 0; i < task->dependency_count; i++) {
        const acui_dependency *before = &task->dependencies[i];
        if (!fails_by(before))
            continue;
        if (before->of_outcome)
            return before;
        if (!found || found->point->growth)
            found = before;
    }
    return found;
}

/* ---- points of shared ops, for tasks that come behind them without sharing data ---- */

bool acui_prepare_shared(acui_task *tasks)
{
    for (acui_task *task = tasks; task; task = task->next)
        if (acui_child_for_others(task->child) && !(task->shared = ACUI_NEW(acui_shared_point)))
            return false;
    return true;
}

void acui_drop_shared(acui_task *tasks)
{
    for (acui_task *task = tasks; task; task = task->next)
        acui_free(task->shared);
}

/* Before its first tasks are entered, nobody else knows the submission, or closes it. */
static void count_open(acui_submission *s, const acui_task *tasks)
{
    uint32_t more = 0;
    for (; tasks; tasks = tasks->next)
        more++;
    if (s->first_task)
        atomic_fetch_add_explicit(&s->open, more, memory_order_relaxed);
    else
        acui_refs_add_sole(&s->open, more);
}

/* `more` are homes of the submission from now on. */
static void note_homes(acui_submission *s, acui_homes more)
{
    acui_homes homes = atomic_load_explicit(&s->plan.homes, memory_order_relaxed);
    if (more & ~homes) /* only the thread that plans changes it */
        atomic_store_explicit(&s->plan.homes, homes | more, memory_order_relaxed);
}

static void note_flag(_Atomic(bool) *flag, bool set)
{
    if (set)
        atomic_store_explicit(flag, true, memory_order_relaxed);
}

acui_task *acui_enter_tasks(acui_submission *s, acui_task *tasks)
{
    acui_task *ready = NULL, **tail = &ready;
    bool last = s->planning.stage == ACUI_PLANNED;
    bool waited = last && s->lane_count == 1 && s->future && s->future->how.waited;
    count_open(s, tasks);
    s->home = home_of(s, tasks);
    uint64_t owner = s->first_task ? s->first_task->point->owner : acui_order_turn(s->home);
    if (s->last_task)
        s->last_task->next = tasks;
    else
        s->first_task = tasks;
    for (acui_task *task = tasks; task; task = task->next) {
        s->last_task = task;
        task->point->owner = owner;
        task->prompt = waited && !task->next;
        s->order.to_issue += task->stream != NULL;
        if (task->stream)
            acui_backlog_add(task);
        s->order.hosts |= task->stream == NULL;
        note_flag(&s->order.makes, acui_task_makes(task));
        acui_count_entered(task);
        if (!enter_task(task))
            task->order.fault = acui_fault_no_memory();
        note_homes(s, task->homes);
        if (task->shared)
            acui_child_add_point(task->child, task->point, task->shared);
        acui_link_before(task, !task->stream || task->point->conditional);
        if (acui_task_pending(task) == 0) {
            task->sound = acui_child_is_plain(task->child) && !task->order.fault &&
                          !s->order.fault && !acui_gave_up(s) && !acui_behind_failure(task);
            *tail = task;
            tail = &task->next_listed;
        }
    }
    return ready;
}
