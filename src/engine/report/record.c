/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording what becomes of a submission that is to be explained: see record.h. Called when its
 * tasks are made, entered and issued. */
#include "engine/report/record.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "op/import.h"

#include <stdio.h>
#include <string.h>

enum {
    ROOM = 1504, /* bytes of a record with its first pieces: a size that the cache keeps */
    FEW = 8      /* parts that are found without a table */
};

/* Submissions with a record that are not over, and the number of the last part. Relaxed. */
static _Atomic(uint32_t) flying;
static _Atomic(uint64_t) last_part;

acui_record *acui_record_new(const acu_submit_options *options)
{
    /* Not zeroed as a whole: what is taken of the arena is written at once. */
    acui_record *record = acui_alloc_raw(ROOM);
    if (!record) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to explain a submission");
        return NULL;
    }
    *record = (acui_record){.asked = options->explain};
    if (record->asked)
        pthread_mutex_init(&record->lock, NULL);
    const size_t used = (sizeof *record + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    acui_arena_begin(&record->arena, (char *)record + used, ROOM - used);
    record->end = &record->parts;
    record->children_end = &record->children;
    record->thread = acui_thread_id();
    record->flying = atomic_fetch_add_explicit(&flying, 1, memory_order_relaxed) + 1;
    record->composed = acui_now();
    return record;
}

void acui_record_free(acui_record *record)
{
    if (!record)
        return;
    if (!record->over) /* its submission was refused */
        atomic_fetch_sub_explicit(&flying, 1, memory_order_relaxed);
    acui_arena_clear(&record->arena);
    if (record->asked)
        pthread_mutex_destroy(&record->lock);
    acui_free(record);
}

static const char *copy(acui_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *own = acui_arena_get(arena, bytes);
    return own ? memcpy(own, text, bytes) : "?";
}

/* ---- parts; lock held ---- */

static void record_edges(acui_arena *arena, acui_node_record *entry, const acui_node *node,
                         uint32_t first)
{
    entry->before = ACUI_ARENA_ARRAY(arena, uint32_t, node->before_count);
    for (uint32_t i = 0; entry->before && i < node->before_count; i++)
        entry->before[entry->before_count++] = acui_node_before(node)[i]->index - first;
}

static void record_nodes(acui_arena *arena, acui_task_record *part, const acui_task *task)
{
    part->nodes = ACUI_ARENA_ARRAY(arena, acui_node_record, task->count);
    for (uint32_t i = 0; part->nodes && i < task->count; i++) {
        const acui_node *node = task->nodes[i];
        acui_node_record *entry = &part->nodes[part->node_count++];
        *entry = (acui_node_record){.kind = node->kind,
                                    .name = copy(arena, node->name),
                                    .site = node->site,
                                    .first = !part->host && acui_is_prologue(node),
                                    .position = node->position};
        if (!entry->first && node->before_count)
            record_edges(arena, entry, node, task->first->index);
    }
}

static const char *kind_of(const acui_task *task, uint32_t from)
{
    static const char *const kinds[] = {
#define ACU_X(id, name, counted) name,
        ACUI_NODES(ACU_X)
#undef ACU_X
    };
    for (uint32_t i = from; i < task->count; i++)
        if (task->nodes[i]->kind != task->nodes[from]->kind)
            return "several";
    return kinds[task->nodes[from]->kind];
}

static void record_subject(acui_arena *arena, acui_task_record *part, const acui_task *task)
{
    uint32_t at = 0;
    while (!part->host && at + 1 < task->count && acui_is_prologue(task->nodes[at]))
        at++;
    part->name = part->kind = "nothing";
    if (at >= task->count)
        return;
    part->name = copy(arena, task->nodes[at]->name);
    part->kind = kind_of(task, at);
    part->site = task->nodes[at]->site;
    part->more = (uint32_t)task->count - at - 1;
}

static void record_run(acui_arena *arena, acui_task_record *part, const acui_run *run)
{
    acui_run_record *entry = ACUI_ARENA_NEW(arena, acui_run_record);
    if (!entry)
        return;
    *entry = (acui_run_record){.from = run->nodes[0]->position, .count = run->count};
    *part->runs_end = entry;
    part->runs_end = &entry->next;
}

static uint32_t slot_of(const acui_record *record, const acui_point *point)
{
    uint32_t slot = (uint32_t)acui_hash_with(0, (uint64_t)(uintptr_t)point) & (record->room - 1);
    while (record->table[slot] && record->table[slot]->point != point)
        slot = (slot + 1) & (record->room - 1);
    return slot;
}

/* Room in the table for one part more: at most half of it is full. False: no memory. */
static bool grow_table(acui_record *record)
{
    if (record->count < FEW || 2 * (uint32_t)record->count < record->room)
        return true;
    uint32_t room = record->room ? 2 * record->room : 4 * FEW;
    acui_task_record **table = ACUI_ARENA_ARRAY(&record->arena, acui_task_record *, room);
    if (!table)
        return false;
    memset(table, 0, room * sizeof *table); /* see acui_record_new */
    record->table = table;
    record->room = room;
    for (acui_task_record *part = record->parts; part; part = part->next)
        record->table[slot_of(record, part->point)] = part;
    return true;
}

static acui_child *around(const acui_child *child)
{
    acui_child *outer = child->parent;
    while (outer && outer->joined)
        outer = outer->parent;
    return outer;
}

/* Record the child, and those around it, unless they are there; returns its number. */
static int record_child(acui_record *record, acui_child *child)
{
    acui_child_record *list = NULL, **end = NULL;
    for (acui_child *c = child; c && !c->number; c = around(c)) {
        acui_child_record *entry = ACUI_ARENA_NEW(&record->arena, acui_child_record);
        if (!entry)
            return 0; /* those inside of it are left out */
        *entry = (acui_child_record){
            .next = list, .child = c, .kind = c->kind, .name = c->name, .site = c->site};
        end = end ? end : &entry->next;
        list = entry;
    }
    for (acui_child_record *entry = list; entry; entry = entry->next) {
        const acui_child *outer = around(entry->child);
        entry->parent = outer ? outer->number : 0;
        entry->number = entry->child->number = ++record->child_count;
    }
    if (list) {
        *record->children_end = list;
        record->children_end = end;
    }
    return child ? child->number : 0;
}

static void record_awaited(acui_arena *arena, acui_task_record *part, const acui_task *task)
{
    const acui_node *node = task->first;
    if (node->kind != ACUI_NODE_AWAIT)
        return;
    for (const acui_imported *b = node->u.await.here; b; b = b->next_here) {
        acui_awaited_record *entry = b->awaited ? ACUI_ARENA_NEW(arena, acui_awaited_record) : NULL;
        if (!entry)
            continue;
        *entry = (acui_awaited_record){.next = part->awaited,
                                       .name = b->child->name,
                                       .site = b->child->site,
                                       .own = acui_child_in(b->child, &task->submission->plan)};
        part->awaited = entry;
    }
}

static void record_part(acui_record *record, acui_task *task)
{
    if (!grow_table(record))
        return;
    acui_task_record *part = ACUI_ARENA_NEW(&record->arena, acui_task_record);
    if (!part)
        return;
    *part =
        (acui_task_record){.number = ++record->count,
                           .point = task->point,
                           .device = task->device->info.ordinal,
                           .host = !task->stream,
                           .id = 1 + atomic_fetch_add_explicit(&last_part, 1, memory_order_relaxed),
                           .runs_end = &part->runs};
    record_subject(&record->arena, part, task);
    if (record->asked) {
        record_nodes(&record->arena, part, task);
        record_awaited(&record->arena, part, task);
        part->child = record_child(record, task->child);
    }
    for (const acui_run *run = task->runs; run; run = record->asked ? run->next : NULL)
        record_run(&record->arena, part, run);
    *record->end = part;
    record->end = &part->next;
    if (record->room)
        record->table[slot_of(record, part->point)] = part;
    task->record = part;
}

void acui_record_tasks(acui_submission *submission, acui_task *tasks)
{
    acui_record *record = submission->record;
    if (!record)
        return;
    acui_record_lock(record);
    for (; tasks; tasks = tasks->next)
        record_part(record, tasks);
    acui_record_unlock(record);
}

/* ---- what the parts come behind ---- */

/* The part of that point; NULL: it is of another submission, or there was no memory. */
static const acui_task_record *find_part(const acui_record *record, const acui_point *point)
{
    if (point->owner != record->number)
        return NULL;
    if (record->room)
        return record->table[slot_of(record, point)];
    const acui_task_record *part = record->parts;
    while (part && part->point != point)
        part = part->next;
    return part;
}

/* What is loaded when that point is over, for one of the task's operations. */
static const char *loaded(acui_arena *arena, const acui_task *task, const acui_point *point)
{
    char text[160];
    for (size_t i = 0; i < task->count; i++) {
        const acui_node *node = task->nodes[i];
        if (node->kind == ACUI_NODE_LAUNCH && node->u.launch.kernel &&
            node->u.launch.kernel->module->point == point) {
            const acu_kernel *kernel = node->u.launch.kernel;
            const char *module = kernel->module->name;
            snprintf(text, sizeof text, "kernel %.80s%s%.60s", kernel->name,
                     module ? " of module " : "", module ? module : "");
            return copy(arena, text);
        }
        bool call = node->kind == ACUI_NODE_FOREIGN && node->u.call.behind == point;
        const acui_launch_more *more = node->kind == ACUI_NODE_LAUNCH ? node->u.launch.more : NULL;
        if (call || (more && more->behind == point)) {
            snprintf(text, sizeof text, "the library that %.80s calls", node->name);
            return copy(arena, text);
        }
    }
    return NULL;
}

static void record_wait(acui_record *record, const acui_task *task, acui_wait_record *entry,
                        const acui_dependency *before)
{
    const acui_point *point = before->point;
    *entry = (acui_wait_record){.point = point,
                                .part = find_part(record, point),
                                .file = point->file,
                                .line = point->line,
                                .owner = point->owner,
                                .data = before->data,
                                .wished = before->wished,
                                .memory = point->allocation || point->growth,
                                .load = point->load,
                                .how = task->stream ? ACUI_HOW_OPEN : ACUI_HOW_HOST};
    if (point->load) {
        entry->how = ACUI_HOW_HOST;
        entry->loaded = loaded(&record->arena, task, point);
    }
    if (point->state == ACUI_POINT_OVER)
        entry->how = ACUI_HOW_OVER;
}

void acui_record_waits(acui_task *tasks)
{
    acui_record *record = tasks ? tasks->submission->record : NULL;
    if (!record)
        return;
    uint64_t now = acui_now();
    acui_record_lock(record);
    record->number = tasks->point->owner;
    for (acui_task *task = tasks; task; task = task->next) {
        acui_task_record *part = task->record;
        if (!part)
            continue;
        part->entered = now;
        part->waits = ACUI_ARENA_ARRAY(&record->arena, acui_wait_record, task->dependency_count);
        for (size_t i = 0; part->waits && i < task->dependency_count; i++)
            record_wait(record, task, &part->waits[part->wait_count++], &task->dependencies[i]);
    }
    acui_record_unlock(record);
}

/* They are looked for in their order, but for a few at a time that come again. */
static acui_wait_record *find_wait(acui_task_record *part, const acui_point *point)
{
    const uint32_t back = 64;
    uint32_t at = part->wait_at > back ? part->wait_at - back : 0;
    for (uint32_t n = 0; n < part->wait_count; n++, at = at + 1 < part->wait_count ? at + 1 : 0)
        if (part->waits[at].point == point) {
            part->wait_at = at;
            return &part->waits[at];
        }
    return NULL;
}

void acui_record_wait(const acui_task *task, const acui_point *point, uint64_t stream, acui_how how)
{
    if (!task->record)
        return;
    acui_record *record = task->submission->record;
    acui_record_lock(record);
    acui_wait_record *entry = find_wait(task->record, point);
    if (entry) {
        entry->how = how;
        entry->stream = stream;
    }
    acui_record_unlock(record);
}

/* ---- how the parts went to the device ---- */

/* They are looked for in their order. */
static acui_run_record *find_run(acui_task_record *part, uint32_t from)
{
    acui_run_record *run = part->run_at;
    while (run && run->from != from)
        run = run->next;
    for (run = run ? run : part->runs; run && run->from != from;)
        run = run->next;
    return part->run_at = run;
}

void acui_record_run(const acui_task *task, const acui_run *run, const acui_run_record *how)
{
    if (!task->record)
        return;
    acui_record *record = task->submission->record;
    acui_record_lock(record);
    acui_run_record *entry = find_run(task->record, run->nodes[0]->position);
    if (entry) {
        entry->issued = true;
        entry->hit = how->hit;
        entry->why = how->why;
        entry->set = how->set;
        entry->streams = how->streams;
    }
    acui_record_unlock(record);
}

void acui_record_issue(const acui_task *task)
{
    if (!task->record)
        return;
    acui_record *record = task->submission->record;
    acui_record_lock(record);
    task->record->issuer = acui_thread_id();
    task->record->issue = acui_now();
    acui_record_unlock(record);
}

void acui_record_issued(const acui_task *task, size_t count)
{
    if (!task->record)
        return;
    acui_record *record = task->submission->record;
    acui_record_lock(record);
    task->record->issued = acui_now();
    task->record->together = count;
    if (task->stream) {
        task->record->stream = task->stream->id;
        task->record->signal = task->number;
    }
    acui_record_unlock(record);
}

/* ---- the end ---- */

void acui_record_task_over(const acui_task *task)
{
    if (!task->record)
        return;
    acui_record *record = task->submission->record;
    uint64_t now = acui_now();
    acui_ran ran = acui_timing_read(task, now);
    acui_record_lock(record);
    task->record->over = now;
    task->record->began = ran.began;
    task->record->ended = ran.ended;
    acui_record_unlock(record);
}

void acui_record_planned(const acui_submission *submission)
{
    acui_record *record = submission->record;
    if (!record)
        return;
    acui_record_lock(record);
    record->planned = acui_now();
    acui_record_unlock(record);
}

void acui_record_children(const acui_submission *submission)
{
    acui_record *record = submission->record;
    if (!record)
        return;
    acui_record_lock(record);
    for (acui_child_record *entry = record->children; entry; entry = entry->next) {
        entry->failed = entry->child->fault;
        entry->turn = acui_child_turn(entry->child);
        entry->child = NULL;
    }
    acui_record_unlock(record);
}

void acui_record_over(const acui_submission *submission)
{
    acui_record *record = submission->record;
    if (!record)
        return;
    acui_record_lock(record);
    for (const acui_task_record *part = record->parts; part && !record->asked; part = part->next)
        record->over = part->over > record->over ? part->over : record->over;
    if (!record->over) /* a clock that is read for each submission is felt */
        record->over = acui_now();
    record->status = submission->order.fault ? submission->order.fault->error.status
                     : acui_gave_up(submission) ? ACU_ERR_CANCELLED
                                                : ACU_OK;
    record->flying_then = atomic_fetch_sub_explicit(&flying, 1, memory_order_relaxed) - 1;
    acui_record_unlock(record);
    acui_trace_submission(submission);
}
