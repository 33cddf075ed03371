/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Streams: how they are made and found, and how work gets into them. Work belongs to the stream
 * from sd_stream_push on, also on failure; its place is given under the stream's lock.
 */
#include "driver/capture.h"
#include "driver/faults.h"
#include "driver/schedule.h"

#include <stdlib.h>

/* ---- marks ---- */

bool sd_mark_done(const sd_mark *mark)
{
    /* Acquire: whoever sees the work done sees what it wrote. */
    return !mark->stream ||
           atomic_load_explicit(&mark->stream->done, memory_order_acquire) >= mark->at;
}

bool sd_mark_seen(const sd_mark *mark)
{
    if (!sd_seeded() || !mark->stream)
        return sd_mark_done(mark);
    return atomic_load_explicit(&mark->stream->seen, memory_order_acquire) >= mark->at;
}

void sd_mark_drop(sd_mark *mark)
{
    if (mark->stream)
        sd_object_put(&mark->stream->object);
    *mark = (sd_mark){0};
}

void sd_mark_wait(const sd_mark *mark)
{
    sd_stream *stream = mark->stream;
    if (sd_seeded() && stream) {
        sd_schedule_wait(mark);
        return;
    }
    for (unsigned left = sd_spins(); left > 0 && !sd_mark_done(mark); left--)
        sd_spin_once();
    if (sd_mark_done(mark))
        return;
    pthread_mutex_lock(&stream->lock);
    stream->sleepers++;
    while (!sd_mark_done(mark))
        pthread_cond_wait(&stream->moved, &stream->lock);
    stream->sleepers--;
    pthread_mutex_unlock(&stream->lock);
}

sd_mark sd_stream_mark(sd_stream *stream)
{
    sd_object_hold(&stream->object);
    return (sd_mark){stream, atomic_load_explicit(&stream->issued, memory_order_acquire)};
}

bool sd_stream_idle(const sd_stream *stream)
{
    uint64_t issued = atomic_load_explicit(&stream->issued, memory_order_acquire);
    return atomic_load_explicit(&stream->done, memory_order_acquire) >= issued;
}

bool sd_stream_seen_idle(const sd_stream *stream)
{
    if (!sd_seeded())
        return sd_stream_idle(stream);
    uint64_t issued = atomic_load_explicit(&stream->issued, memory_order_acquire);
    return atomic_load_explicit(&stream->seen, memory_order_acquire) >= issued;
}

/* ---- life ---- */

static void destroy(sd_object *object)
{
    sd_stream *stream = (sd_stream *)object;
    sd_context *context = object->context;
    pthread_mutex_lock(&context->lock);
    if (stream->context_next)
        stream->context_next->context_previous = stream->context_previous;
    if (stream->context_previous)
        stream->context_previous->context_next = stream->context_next;
    else
        context->streams = stream->context_next;
    pthread_mutex_unlock(&context->lock);
    sd_captured_forget(&stream->captured);
    pthread_mutex_destroy(&stream->lock);
    pthread_cond_destroy(&stream->moved);
    free(stream);
    sd_object_put(&context->object);
}

static _Atomic uint64_t numbers; /* the number of streams so far */

static unsigned create(sd_context *context, unsigned flags, int priority, bool legacy,
                       sd_stream **made)
{
    sd_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    stream->flags = flags;
    stream->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    stream->legacy = legacy;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->moved, NULL);
    if (!sd_object_publish(&stream->object, SD_KIND_STREAM, destroy)) {
        free(stream);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&context->lock);
    /* Under the lock: ids fall along the list. */
    stream->id = atomic_fetch_add_explicit(&sd.next_id, 1, memory_order_relaxed);
    stream->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
    stream->context_next = context->streams;
    if (stream->context_next)
        stream->context_next->context_previous = stream;
    context->streams = stream;
    pthread_mutex_unlock(&context->lock);
    sd_context_adopt(context, &stream->object);
    *made = stream;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_stream_create(sd_context *context, unsigned flags, int priority, sd_stream **stream)
{
    return create(context, flags, priority, false, stream);
}

unsigned sd_stream_create_legacy(sd_context *context)
{
    return create(context, ACU_CU_STREAM_DEFAULT, 0, true, &context->legacy);
}

unsigned sd_stream_find(sd_context *context, CUstream handle, sd_stream **stream)
{
    *stream = NULL;
    if (!handle || handle == ACU_CU_STREAM_LEGACY) {
        sd_object_hold(&context->legacy->object);
        *stream = context->legacy;
        return ACU_CUDA_SUCCESS;
    }
    if (handle == ACU_CU_STREAM_PER_THREAD)
        return sd_thread_stream(context, stream);
    sd_stream *found = sd_object_get(SD_KIND_STREAM, handle);
    if (!found)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    unsigned fault = sd_context_state(found->object.context);
    if (fault) {
        sd_object_put(&found->object);
        return fault;
    }
    *stream = found;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_stream_enter(CUstream handle, sd_use use, sd_context **context, sd_stream **stream)
{
    const bool created =
        handle && handle != ACU_CU_STREAM_LEGACY && handle != ACU_CU_STREAM_PER_THREAD;
    unsigned result = sd_enter_current(context);
    if (result && !(created && result == ACU_CUDA_ERROR_INVALID_CONTEXT))
        return result;
    result = sd_stream_find(*context, handle, stream);
    if (result)
        return result;
    if (!*context) {
        *context = (*stream)->object.context;
        sd_object_hold(&(*context)->object);
    }
    return sd_capture_check(*stream, use);
}

/* ---- issuing ---- */

static const sd_work_kind wait_kind = {.name = "wait", .always = true};

void sd_work_discard(sd_work *work)
{
    while (work) {
        sd_work *next = work->next;
        if (work->kind->drop)
            work->kind->drop(work);
        sd_mark_drop(&work->after);
        free(work);
        work = next;
    }
}

/* Puts a wait for `mark` in front of *chain; takes over the reference in any case. */
static bool prepend_wait(sd_work **chain, sd_mark mark)
{
    sd_work *wait = calloc(1, sizeof *wait);
    if (!wait) {
        sd_mark_drop(&mark);
        return false;
    }
    wait->kind = &wait_kind;
    wait->after = mark;
    wait->next = *chain;
    *chain = wait;
    return true;
}

static bool wait_first(sd_work **chain, sd_work *work, sd_mark mark)
{
    if (!work->after.stream) {
        work->after = mark;
        return true;
    }
    return prepend_wait(chain, mark);
}

/* Makes the chain wait for the other blocking streams that have work; with context->lock. */
static unsigned wait_for_blocking(sd_stream *legacy, sd_work **chain, sd_work *work)
{
    for (sd_stream *s = legacy->object.context->streams; s; s = s->context_next) {
        if (s == legacy || s->flags & ACU_CU_STREAM_NON_BLOCKING)
            continue;
        if (sd_capturing(s))
            return sd_capture_refuse(s, ACU_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        if (sd_stream_idle(s) || !sd_object_try_hold(&s->object))
            continue;
        sd_mark mark = {s, atomic_load_explicit(&s->issued, memory_order_acquire)};
        if (!wait_first(chain, work, mark))
            return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    return ACU_CUDA_SUCCESS;
}

/*
 * The rules of the legacy default stream. What is looked at here was issued before this work gets
 * its place; so of two pushes only the later can wait for the other, and there are no cycles.
 */
static unsigned order_by_legacy_rules(sd_stream *stream, sd_work **chain, sd_work *work)
{
    sd_context *context = stream->object.context;
    if (stream->flags & ACU_CU_STREAM_NON_BLOCKING)
        return ACU_CUDA_SUCCESS;
    if (!stream->legacy)
        return sd_stream_idle(context->legacy) ||
                       wait_first(chain, work, sd_stream_mark(context->legacy))
                   ? ACU_CUDA_SUCCESS
                   : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&context->lock);
    unsigned result = wait_for_blocking(stream, chain, work);
    pthread_mutex_unlock(&context->lock);
    return result;
}

/* Appends a chain; returns the place of its last work. */
static uint64_t append(sd_stream *stream, sd_work *chain)
{
    pthread_mutex_lock(&stream->lock);
    uint64_t at = atomic_load_explicit(&stream->issued, memory_order_relaxed);
    if (stream->tail)
        stream->tail->next = chain;
    else
        stream->head = chain;
    for (; chain; chain = chain->next) {
        chain->at = ++at;
        stream->tail = chain;
    }
    /* Release: pairs with the reads without the lock in sd_stream_mark and sd_stream_idle. */
    atomic_store_explicit(&stream->issued, at, memory_order_release);
    bool start = !stream->scheduled;
    stream->scheduled = true;
    pthread_mutex_unlock(&stream->lock);
    if (start) {
        sd_object_hold(&stream->object); /* the schedule's reference */
        sd_workers_queue(&stream->object.context->device->workers, stream);
    }
    return at;
}

static unsigned push(sd_stream *stream, sd_work *work, uint64_t *at)
{
    work->next = NULL;
    if (sd_faults_on())
        sd_faults_mark(work);
    sd_work *chain = work;
    unsigned result = order_by_legacy_rules(stream, &chain, work);
    if (result) {
        sd_work_discard(chain);
        return result;
    }
    *at = append(stream, chain);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_stream_push(sd_stream *stream, sd_work *work)
{
    uint64_t at;
    if (sd_capturing(stream))
        return sd_capture_push(stream, work);
    return push(stream, work, &at);
}

unsigned sd_stream_push_at(sd_stream *stream, sd_work *work, sd_mark *mark)
{
    uint64_t at;
    *mark = (sd_mark){0};
    if (sd_capturing(stream)) {
        /* The caller wants a place on the stream, and captured work has none. */
        sd_work_discard(work);
        return sd_capture_refuse(stream, ACU_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    unsigned result = push(stream, work, &at);
    if (result)
        return result;
    sd_object_hold(&stream->object);
    *mark = (sd_mark){stream, at};
    return ACU_CUDA_SUCCESS;
}

unsigned sd_stream_push_wait(sd_stream *stream, sd_mark mark)
{
    sd_work *chain = NULL;
    if (!prepend_wait(&chain, mark))
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    return sd_stream_push(stream, chain);
}
