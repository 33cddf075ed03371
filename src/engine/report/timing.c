/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * When a part ran on its device: a timing event before its work and one behind it. CUDA tells the
 * time between two events, so each device has an anchor: an event for which the host's time is
 * known. That time is at first a guess, the time at which the part of the event was issued, and
 * becomes better with each part: none begins before it is issued, or ends after its end was seen.
 *
 * Whatever fails here leaves a part without times, and has no other consequence.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "engine/report/record.h"

enum { SPARE = 64 };
#define RENEW_MS 1000.0f /* CUDA gives a float: beyond this the anchor moves on, to stay exact */

typedef struct acui_timer {
    pthread_mutex_t lock; /* of all of it; a leaf */
    CUevent spare[SPARE];
    size_t spare_count;
    CUevent anchor;   /* NULL: none yet */
    uint64_t anchored; /* its time */
} acui_timer;

void acui_timer_drop(acu_device *device)
{
    acui_timer *timer = atomic_exchange_explicit(&device->engine->timer, NULL,
                                                 memory_order_acquire);
    bool lost = atomic_load_explicit(&device->lost, memory_order_acquire);
    if (!timer)
        return;
    for (size_t i = 0; i < timer->spare_count && !lost; i++)
        device->cu->EventDestroy(timer->spare[i]);
    if (timer->anchor && !lost)
        device->cu->EventDestroy(timer->anchor);
    pthread_mutex_destroy(&timer->lock);
    acui_free(timer);
}

static acui_timer *timer_of(acu_device *device)
{
    acui_timer *none = NULL;
    acui_timer *timer = atomic_load_explicit(&device->engine->timer, memory_order_acquire);
    if (timer)
        return timer;
    acui_timer *made = ACUI_NEW(acui_timer);
    if (!made)
        return NULL;
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong_explicit(&device->engine->timer, &none, made,
                                                memory_order_acq_rel, memory_order_acquire))
        return made;
    pthread_mutex_destroy(&made->lock);
    acui_free(made);
    return none;
}

static CUevent get_event(acu_device *device, acui_timer *timer)
{
    CUevent event = NULL;
    pthread_mutex_lock(&timer->lock);
    if (timer->spare_count)
        event = timer->spare[--timer->spare_count];
    pthread_mutex_unlock(&timer->lock);
    if (!event && device->cu->EventCreate(&event, ACU_CU_EVENT_DEFAULT) != ACU_CUDA_SUCCESS)
        return NULL;
    return event;
}

/* Lock held. With the device lost, the driver has freed it. */
static void put_event(acu_device *device, acui_timer *timer, CUevent event, bool lost)
{
    if (event && !lost && timer->spare_count < SPARE)
        timer->spare[timer->spare_count++] = event;
    else if (event && !lost)
        device->cu->EventDestroy(event);
}

/* Record a new event on the task's stream, or the one that it had when it could not be issued as
 * one with others. NULL: it could not be done. */
static CUevent record(const acui_task *task, CUevent had)
{
    acu_device *device = task->device;
    acui_timer *timer = timer_of(device);
    CUevent event = had ? had : timer ? get_event(device, timer) : NULL;
    if (!event || device->cu->EventRecord(event, task->stream->raw) == ACU_CUDA_SUCCESS)
        return event;
    pthread_mutex_lock(&timer->lock);
    put_event(device, timer, event, false);
    pthread_mutex_unlock(&timer->lock);
    return NULL;
}

void acui_timing_begin(const acui_task *task)
{
    acui_task_record *part = task->record;
    if (!part)
        return;
    bool asked = task->submission->record->asked;
    part->spared = !part->begin && !asked && !acui_trace_timed(part->issue);
    if (!part->spared)
        part->begin = record(task, part->begin);
}

void acui_timing_end(const acui_task *task)
{
    acui_task_record *part = task->record;
    if (part && part->begin)
        part->end = record(task, part->end);
}

static bool elapsed(acu_device *device, float *ms, CUevent from, CUevent to)
{
    return device->cu->EventElapsedTime(ms, from, to) == ACU_CUDA_SUCCESS;
}

static uint64_t later(uint64_t time, float ms)
{
    return time + (uint64_t)(int64_t)((double)ms * 1e6);
}

/* The anchor's time must have been a bit later or earlier: what is known of this part says so. */
static void adjust(acui_timer *timer, acui_ran *ran, uint64_t issue, uint64_t over)
{
    uint64_t length = ran->ended - ran->began;
    if (ran->began < issue) {
        timer->anchored += issue - ran->began;
        *ran = (acui_ran){.began = issue, .ended = issue + length};
    }
    if (ran->ended > over) {
        timer->anchored -= ran->ended - over;
        *ran = (acui_ran){.began = over - length > issue ? over - length : issue, .ended = over};
    }
}

/* Timer locked. An event that becomes the anchor is taken out of the part. */
static acui_ran read_times(acu_device *device, acui_timer *timer, acui_task_record *part,
                           uint64_t over)
{
    float since = 0, length;
    if (!elapsed(device, &length, part->begin, part->end))
        return (acui_ran){0};
    if (!timer->anchor) {
        timer->anchor = part->begin;
        timer->anchored = part->issue;
        part->begin = NULL;
    } else if (!elapsed(device, &since, timer->anchor, part->begin)) {
        return (acui_ran){0};
    }
    acui_ran ran = {.began = later(timer->anchored, since)};
    ran.ended = later(ran.began, length);
    adjust(timer, &ran, part->issue, over);
    if (since > RENEW_MS) {
        put_event(device, timer, timer->anchor, false);
        timer->anchor = part->end;
        timer->anchored = ran.ended;
        part->end = NULL;
    }
    return ran;
}

acui_ran acui_timing_read(const acui_task *task, uint64_t over)
{
    acui_task_record *part = task->record; /* its events are the issuer's, and now this thread's */
    acu_device *device = task->device;
    acui_entered entered;
    acui_ran ran = {0};
    if (!part->begin && !part->end)
        return ran;
    acui_timer *timer = atomic_load_explicit(&device->engine->timer, memory_order_acquire);
    bool works = acui_enter_to_free(device, &entered);
    pthread_mutex_lock(&timer->lock);
    if (works && part->begin && part->end && part->issue)
        ran = read_times(device, timer, part, over);
    put_event(device, timer, part->begin, !works);
    put_event(device, timer, part->end, !works);
    pthread_mutex_unlock(&timer->lock);
    acui_leave(&entered);
    part->begin = part->end = NULL;
    return ran;
}
