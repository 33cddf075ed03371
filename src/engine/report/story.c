/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording what becomes of a submission that is to be explained: see story.h. Called when its
 * tasks are made, entered and issued. */
#include "engine/report/story.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

acui_story *acui_story_new(void)
{
    acui_story *story = ACUI_NEW(acui_story);
    if (!story) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to explain a submission");
        return NULL;
    }
    pthread_mutex_init(&story->lock, NULL);
    acui_arena_begin(&story->arena, NULL, 0);
    story->end = &story->parts;
    return story;
}

void acui_story_free(acui_story *story)
{
    if (!story)
        return;
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
    told->from = run->nodes[0]->place;
    told->count = run->count;
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

void acui_story_waits(acui_task *tasks)
{
    acui_story *story = tasks ? tasks->submission->story : NULL;
    if (!story)
        return;
    pthread_mutex_lock(&story->lock);
    for (acui_task *task = tasks; task; task = task->next)
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
                                     .data = before->data,
                                     .wished = before->wished,
                                     .memory = point->allocation || point->growth,
                                     .load = point->load,
                                     .how = task->stream ? ACUI_HOW_OPEN : ACUI_HOW_HOST};
            if (point->load)
                told->how = ACUI_HOW_HOST;
            if (point->state == ACUI_POINT_OVER)
                told->how = ACUI_HOW_OVER;
            task->told->waits = told;
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

void acui_story_issued(const acui_task *task)
{
    if (!task->told)
        return;
    acui_story *story = task->submission->story;
    pthread_mutex_lock(&story->lock);
    task->told->issued = true;
    if (task->stream) {
        task->told->stream = task->stream->id;
        task->told->mark = task->number;
    }
    pthread_mutex_unlock(&story->lock);
}
