/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording what becomes of a submission that is to be explained: see story.h. Called when its
 * tasks are made, entered and issued. */
#include "engine/report/story.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 1504 }; /* bytes of a record with its first pieces: a size that the cache keeps */

/* Submissions with a record that are not over, and the number of the last part. Relaxed. */
static _Atomic(uint32_t) flying;
static _Atomic(uint64_t) last_part;

acui_story *acui_story_new(const acu_submit_options *options)
{
    /* Not zeroed as a whole: the thread that writes traces has freed it, on another core, so each
     * line that is touched comes from there. What is taken of the arena is written at once. */
    acui_story *story = acui_alloc_raw(ROOM);
    if (!story) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to explain a submission");
        return NULL;
    }
    *story = (acui_story){.count = 0};
    pthread_mutex_init(&story->lock, NULL);
    const size_t used = (sizeof *story + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    acui_arena_begin(&story->arena, (char *)story + used, ROOM - used);
    story->end = &story->parts;
    atomic_store_explicit(&story->refs, 1, memory_order_relaxed);
    story->asked = options->explain;
    story->thread = acui_thread_id();
    story->flying = atomic_fetch_add_explicit(&flying, 1, memory_order_relaxed) + 1;
    if (options->name)
        acui_text_copy(story->name, sizeof story->name, options->name);
    story->composed = acui_now();
    return story;
}

void acui_story_put(acui_story *story)
{
    if (!story || !acui_refs_drop(&story->refs))
        return;
    if (!story->over) /* its submission was refused */
        atomic_fetch_sub_explicit(&flying, 1, memory_order_relaxed);
    acui_arena_clear(&story->arena);
    pthread_mutex_destroy(&story->lock);
    acui_free(story);
}

static const char *copy(acui_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *own = acui_arena_get(arena, bytes);
    return own ? memcpy(own, text, bytes) : "?";
}

/* ---- parts; lock held ---- */

static void tell_edges(acui_arena *arena, acui_told_node *told, const acui_node *node)
{
    told->before = ACUI_ARENA_ARRAY(arena, uint32_t, node->before_count);
    for (uint32_t i = 0; told->before && i < node->before_count; i++)
        told->before[told->before_count++] = acui_node_before(node)[i]->place;
}

static void tell_node(acui_arena *arena, acui_told_part *part, const acui_node *node)
{
    acui_told_node *told = ACUI_ARENA_NEW(arena, acui_told_node);
    if (!told)
        return;
    *told = (acui_told_node){.kind = node->kind,
                             .name = copy(arena, node->name),
                             .site = node->site,
                             .first = !part->host && acui_is_prologue(node),
                             .place = node->place};
    if (!told->first && node->before_count)
        tell_edges(arena, told, node);
    *part->nodes_end = told;
    part->nodes_end = &told->next;
}

static void tell_run(acui_arena *arena, acui_told_part *part, const acui_run *run)
{
    acui_told_run *told = ACUI_ARENA_NEW(arena, acui_told_run);
    if (!told)
        return;
    *told = (acui_told_run){.from = run->nodes[0]->place, .count = run->count};
    *part->runs_end = told;
    part->runs_end = &told->next;
}

static void tell_part(acui_story *story, acui_task *task)
{
    acui_told_part *part = ACUI_ARENA_NEW(&story->arena, acui_told_part);
    if (!part)
        return;
    *part = (acui_told_part){.number = ++story->count,
                             .point = task->point,
                             .device = task->device->info.ordinal,
                             .host = !task->stream,
                             .id = 1 + atomic_fetch_add_explicit(&last_part, 1,
                                                                 memory_order_relaxed),
                             .nodes_end = &part->nodes,
                             .runs_end = &part->runs};
    for (size_t i = 0; i < task->count; i++)
        tell_node(&story->arena, part, task->nodes[i]);
    for (const acui_run *run = task->runs; run; run = run->next)
        tell_run(&story->arena, part, run);
    *story->end = part;
    story->end = &part->next;
    task->told = part;
}

void acui_story_tasks(acui_submission *submission, acui_task *tasks)
{
    acui_story *story = submission->story;
    if (!story)
        return;
    pthread_mutex_lock(&story->lock);
    for (; tasks; tasks = tasks->next)
        tell_part(story, tasks);
    pthread_mutex_unlock(&story->lock);
}

/* ---- what the parts come behind ---- */

static const acui_told_part *find_part(const acui_story *story, const acui_point *point)
{
    const acui_told_part *part = story->parts;
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
        const acui_launch_more *more =
            node->kind == ACUI_NODE_LAUNCH ? node->u.launch.more : NULL;
        if (call || (more && more->behind == point)) {
            snprintf(text, sizeof text, "the library that %.80s calls", node->name);
            return copy(arena, text);
        }
    }
    return NULL;
}

void acui_story_waits(acui_task *tasks)
{
    acui_story *story = tasks ? tasks->submission->story : NULL;
    if (!story)
        return;
    uint64_t now = acui_now();
    pthread_mutex_lock(&story->lock);
    story->number = tasks->point->owner;
    for (acui_task *task = tasks; task; task = task->next) {
        if (task->told)
            task->told->entered = now;
        for (size_t i = task->told ? task->before_count : 0; i-- > 0;) {
            const acui_before *before = &task->before[i];
            const acui_point *point = before->point;
            acui_told_wait *told = ACUI_ARENA_NEW(&story->arena, acui_told_wait);
            if (!told)
                continue;
            *told = (acui_told_wait){.next = task->told->waits,
                                     .point = point,
                                     .part = find_part(story, point),
                                     .file = point->file,
                                     .line = point->line,
                                     .owner = point->owner,
                                     .data = before->data,
                                     .wished = before->wished,
                                     .memory = point->allocation || point->growth,
                                     .load = point->load,
                                     .how = task->stream ? ACUI_HOW_OPEN : ACUI_HOW_HOST};
            if (point->load) {
                told->how = ACUI_HOW_HOST;
                told->loaded = loaded(&story->arena, task, point);
            }
            if (point->state == ACUI_POINT_OVER)
                told->how = ACUI_HOW_OVER;
            task->told->waits = told;
        }
    }
    pthread_mutex_unlock(&story->lock);
}

void acui_story_wait(const acui_task *task, const acui_point *point, uint64_t stream, acui_how how)
{
    if (!task->told)
        return;
    acui_story *story = task->submission->story;
    pthread_mutex_lock(&story->lock);
    for (acui_told_wait *told = task->told->waits; told; told = told->next)
        if (told->point == point) {
            told->how = how;
            told->stream = stream;
        }
    pthread_mutex_unlock(&story->lock);
}

/* ---- how the parts went to the device ---- */

void acui_story_run(const acui_task *task, const acui_run *run, const acui_told_run *how)
{
    if (!task->told)
        return;
    acui_story *story = task->submission->story;
    pthread_mutex_lock(&story->lock);
    for (acui_told_run *told = task->told->runs; told; told = told->next)
        if (told->from == run->nodes[0]->place) {
            told->issued = true;
            told->hit = how->hit;
            told->why = how->why;
            told->set = how->set;
            told->streams = how->streams;
        }
    pthread_mutex_unlock(&story->lock);
}

void acui_story_issue(const acui_task *task)
{
    if (!task->told)
        return;
    acui_story *story = task->submission->story;
    pthread_mutex_lock(&story->lock);
    task->told->issuer = acui_thread_id();
    task->told->issue = acui_now();
    pthread_mutex_unlock(&story->lock);
}

void acui_story_issued(const acui_task *task, size_t count)
{
    if (!task->told)
        return;
    acui_story *story = task->submission->story;
    pthread_mutex_lock(&story->lock);
    task->told->issued = acui_now();
    task->told->together = count;
    if (task->stream) {
        task->told->stream = task->stream->id;
        task->told->mark = task->number;
    }
    pthread_mutex_unlock(&story->lock);
}

/* ---- the end ---- */

void acui_story_task_over(const acui_task *task)
{
    if (!task->told)
        return;
    acui_story *story = task->submission->story;
    uint64_t now = acui_now();
    acui_ran ran = acui_timing_read(task, now);
    pthread_mutex_lock(&story->lock);
    task->told->over = now;
    task->told->began = ran.began;
    task->told->ended = ran.ended;
    pthread_mutex_unlock(&story->lock);
}

void acui_story_planned(const acui_submission *submission)
{
    acui_story *story = submission->story;
    if (!story)
        return;
    pthread_mutex_lock(&story->lock);
    story->planned = acui_now();
    pthread_mutex_unlock(&story->lock);
}

void acui_story_over(const acui_submission *submission)
{
    acui_story *story = submission->story;
    if (!story)
        return;
    pthread_mutex_lock(&story->lock);
    story->over = acui_now();
    story->status = submission->order.failed ? submission->order.status
                    : acui_gave_up(submission) ? ACU_ERR_CANCELLED : ACU_OK;
    story->flying_then = atomic_fetch_sub_explicit(&flying, 1, memory_order_relaxed) - 1;
    pthread_mutex_unlock(&story->lock);
    acui_trace_story(story);
}
