/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Events: recording, waiting, asking, and times. An event's mark is that of its latest record;
 * whoever waits takes a copy of the mark, so that a later record does not matter.
 */
#include "driver/capture.h"
#include "driver/pool.h"

#include <stdlib.h>
#include <time.h>

static void destroy(sd_object *object)
{
    sd_event *event = (sd_event *)object;
    sd_context *context = object->context;
    sd_mark_drop(&event->mark);
    sd_captured_forget(&event->captured);
    pthread_mutex_destroy(&event->lock);
    free(event);
    sd_object_put(&context->object);
}

static void leave(sd_event **event)
{
    if (*event)
        sd_object_put(&(*event)->object);
}
#define AUTO_EVENT __attribute__((cleanup(leave))) sd_event *

/* The event of a handle, with a reference; refused if its context has faulted. */
static unsigned find(CUevent handle, sd_event **event)
{
    *event = sd_object_get(SD_KIND_EVENT, handle);
    if (!*event)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    return sd_context_state((*event)->object.context);
}

unsigned sd_cuEventCreate(CUevent *handle, unsigned flags)
{
    SD_CURRENT(context);
    unsigned known = ACU_CU_EVENT_BLOCKING_SYNC | ACU_CU_EVENT_DISABLE_TIMING;
    if (!handle || flags & ~(known | ACU_CU_EVENT_INTERPROCESS))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (flags & ACU_CU_EVENT_INTERPROCESS)
        return flags & ACU_CU_EVENT_DISABLE_TIMING ? ACU_CUDA_ERROR_NOT_SUPPORTED
                                                   : ACU_CUDA_ERROR_INVALID_VALUE;
    sd_event *event = calloc(1, sizeof *event);
    if (!event)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    event->flags = flags;
    pthread_mutex_init(&event->lock, NULL);
    if (!sd_object_publish(&event->object, SD_KIND_EVENT, destroy)) {
        free(event);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    sd_context_adopt(context, &event->object);
    *handle = event->object.handle;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuEventDestroy_v2(CUevent handle)
{
    SD_ANYWHERE(context);
    AUTO_EVENT event = NULL;
    unsigned result = find(handle, &event);
    if (result)
        return result;
    return sd_context_release(&event->object) ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
}

/* ---- recording ---- */

typedef struct record_work {
    sd_work work;
    sd_event *event; /* held */
} record_work;

static unsigned run_record(sd_stream *stream, sd_work *work)
{
    sd_event *event = ((record_work *)work)->event;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&event->lock);
    /* A later record has its own work and its own time. */
    if (event->mark.stream == stream && event->mark.at == work->at)
        event->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    pthread_mutex_unlock(&event->lock);
    return ACU_CUDA_SUCCESS;
}

static void drop_record(sd_work *work)
{
    sd_object_put(&((record_work *)work)->event->object);
}

static const sd_work_kind record_kind = {
    .name = "event record", .run = run_record, .drop = drop_record, .always = true};

static unsigned push_record(sd_event *event, sd_stream *stream, sd_mark *mark)
{
    record_work *record = calloc(1, sizeof *record);
    if (!record)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    record->work.kind = &record_kind;
    record->event = event;
    sd_object_hold(&event->object);
    return sd_stream_push_at(stream, &record->work, mark);
}

/*
 * Whether an event without timing can be recorded as a mark, with no work. Otherwise work must be
 * issued, because only work waits: on the legacy stream for the blocking streams, and on those for
 * the legacy stream.
 */
static bool is_by_itself(const sd_stream *stream)
{
    return stream->flags & ACU_CU_STREAM_NON_BLOCKING ||
           (!stream->legacy && sd_stream_idle(stream->object.context->legacy));
}

unsigned sd_event_record(sd_event *event, sd_stream *stream)
{
    if (event->object.context != stream->object.context)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    if (sd_capturing(stream))
        return sd_capture_record(stream, event);
    sd_mark mark = {0};
    unsigned result = ACU_CUDA_SUCCESS;
    /* The work reads the event's mark under this lock: it will find the new one. */
    pthread_mutex_lock(&event->lock);
    sd_mark before = event->mark;
    if (event->flags & ACU_CU_EVENT_DISABLE_TIMING && is_by_itself(stream))
        mark = sd_stream_mark(stream);
    else
        result = push_record(event, stream, &mark);
    if (!result) {
        event->mark = mark;
        event->recorded = true;
        event->time_ns = 0;
        sd_captured_forget(&event->captured);
    }
    pthread_mutex_unlock(&event->lock);
    if (!result)
        sd_mark_drop(&before);
    return result;
}

unsigned sd_cuEventRecordWithFlags(CUevent handle, CUstream on, unsigned flags)
{
    SD_STREAM(stream, on);
    AUTO_EVENT event = NULL;
    unsigned result = find(handle, &event);
    if (!result && flags & ~(unsigned)ACU_CU_EVENT_RECORD_EXTERNAL)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!result && flags)
        return sd_capture_node(stream, event, ACU_CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    return result ? result : sd_event_record(event, stream);
}

unsigned sd_cuEventRecord(CUevent handle, CUstream on)
{
    return sd_cuEventRecordWithFlags(handle, on, ACU_CU_EVENT_RECORD_DEFAULT);
}

/* ---- looking and waiting ---- */

static bool is_captured(sd_event *event)
{
    pthread_mutex_lock(&event->lock);
    bool captured = event->captured.capture != NULL;
    pthread_mutex_unlock(&event->lock);
    return captured;
}

static bool is_recorded(sd_event *event)
{
    pthread_mutex_lock(&event->lock);
    bool recorded = event->recorded;
    pthread_mutex_unlock(&event->lock);
    return recorded;
}

/* A copy of the event's mark, with a reference. */
static sd_mark mark_of(sd_event *event)
{
    pthread_mutex_lock(&event->lock);
    sd_mark mark = event->mark;
    if (mark.stream)
        sd_object_hold(&mark.stream->object);
    pthread_mutex_unlock(&event->lock);
    return mark;
}

unsigned sd_event_wait_node(sd_event *event, sd_stream *stream)
{
    sd_mark mark = mark_of(event);
    /* What is reached already, or comes earlier on the same stream, needs no wait. */
    if (mark.stream == stream || sd_mark_done(&mark)) {
        sd_mark_drop(&mark);
        return ACU_CUDA_SUCCESS;
    }
    return sd_stream_push_wait(stream, mark);
}

static unsigned wait_for(sd_event *event, sd_stream *stream)
{
    if (is_captured(event) || (sd_capturing(stream) && is_recorded(event)))
        return sd_capture_wait(stream, event);
    return sd_event_wait_node(event, stream);
}

unsigned sd_cuStreamWaitEvent(CUstream on, CUevent handle, unsigned flags)
{
    SD_STREAM(stream, on);
    AUTO_EVENT event = NULL;
    if (flags & ~(unsigned)ACU_CU_EVENT_WAIT_EXTERNAL)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = find(handle, &event);
    if (result)
        return sd_capture_told(stream, result);
    return flags ? sd_capture_node(stream, event, ACU_CU_GRAPH_NODE_TYPE_WAIT_EVENT)
                 : wait_for(event, stream);
}

/* An event to be queried or waited for. If it stands for something in a capture, that capture is
 * lost. */
static unsigned find_reached(CUevent handle, sd_event **event)
{
    unsigned result = find(handle, event);
    if (!result)
        result = sd_capture_ask(*event, true);
    return result ? result : sd_capture_unsafe();
}

unsigned sd_cuEventQuery(CUevent handle)
{
    SD_ANYWHERE(context);
    AUTO_EVENT event = NULL;
    unsigned result = find_reached(handle, &event);
    if (result)
        return result;
    pthread_mutex_lock(&event->lock);
    bool done = sd_mark_seen(&event->mark);
    pthread_mutex_unlock(&event->lock);
    /* A fault also ends work: look for one again after the mark. */
    unsigned fault = sd_context_state(event->object.context);
    return fault ? fault : done ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_NOT_READY;
}

unsigned sd_cuEventSynchronize(CUevent handle)
{
    SD_ANYWHERE(context);
    AUTO_EVENT event = NULL;
    unsigned result = find_reached(handle, &event);
    if (result)
        return result;
    sd_mark mark = mark_of(event);
    sd_mark_wait(&mark);
    sd_mark_drop(&mark);
    sd_pools_settle(event->object.context->device);
    return sd_context_state(event->object.context);
}

/* ---- times ---- */

static bool is_usable(sd_event *event)
{
    return !(event->flags & ACU_CU_EVENT_DISABLE_TIMING) && is_recorded(event);
}

static unsigned find_timed(CUevent handle, sd_event **event)
{
    unsigned result = find(handle, event);
    if (!result)
        result = sd_capture_ask(*event, false);
    return result || is_usable(*event) ? result : ACU_CUDA_ERROR_INVALID_HANDLE;
}

/* When the event was reached. */
static unsigned time_of(sd_event *event, uint64_t *time_ns)
{
    pthread_mutex_lock(&event->lock);
    bool done = sd_mark_seen(&event->mark);
    *time_ns = event->time_ns;
    pthread_mutex_unlock(&event->lock);
    return done ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_NOT_READY;
}

unsigned sd_cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    SD_ANYWHERE(context);
    AUTO_EVENT first = NULL;
    AUTO_EVENT second = NULL;
    uint64_t from = 0, to = 0;
    if (!milliseconds)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = find_timed(start, &first);
    if (!result)
        result = find_timed(end, &second);
    if (!result && first->object.context != second->object.context)
        result = ACU_CUDA_ERROR_INVALID_HANDLE;
    if (!result)
        result = time_of(first, &from);
    unsigned other = result && result != ACU_CUDA_ERROR_NOT_READY ? result : ACU_CUDA_SUCCESS;
    if (!other && second)
        other = time_of(second, &to);
    result = other ? other : result;
    if (!result)
        *milliseconds = (float)((double)(int64_t)(to - from) / 1e6);
    return result;
}

unsigned sd_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    return sd_cuEventElapsedTime(milliseconds, start, end);
}
