/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running streams. A worker takes a stream's work one by one until none is left, it has to wait, or
 * others should have a turn. A stream has one schedule: at any time it is in nobody's hands
 * (nothing to do), in a queue of workers, run by one thread, or parked at what it waits for.
 */
#include "driver/faults.h"
#include "driver/schedule.h"
#include "driver/stream.h"
#include "driver/trace.h"

#include <stdlib.h>

/* After this many works in a row a stream goes to the end of a crowded queue. */
#define TURN 32

static sd_workers *home(sd_stream *stream)
{
    return &stream->object.context->device->workers;
}

bool sd_stream_park(sd_stream *stream, const sd_mark *mark)
{
    sd_stream *other = mark->stream;
    pthread_mutex_lock(&other->lock);
    bool wait = atomic_load_explicit(&other->done, memory_order_acquire) < mark->at;
    if (wait) {
        stream->parked_at = mark->at;
        stream->parked_next = other->parked;
        other->parked = stream;
    }
    pthread_mutex_unlock(&other->lock);
    return wait;
}

/* Takes out the parked streams that need not wait any longer. The lock is held. */
static sd_stream *unpark(sd_stream *stream, uint64_t done)
{
    sd_stream *free_now = NULL;
    sd_stream **at = &stream->parked;
    while (*at) {
        sd_stream *waiter = *at;
        if (waiter->parked_at > done) {
            at = &waiter->parked_next;
            continue;
        }
        *at = waiter->parked_next;
        waiter->parked_next = free_now;
        free_now = waiter;
    }
    return free_now;
}

static void queue_all(sd_stream *waiter)
{
    while (waiter) {
        sd_stream *next = waiter->parked_next;
        waiter->parked_next = NULL;
        sd_workers_queue(home(waiter), waiter);
        waiter = next;
    }
}

/*
 * `work`, the head, is finished: takes it out and wakes whoever waits. Returns the new head;
 * without one the schedule ends here. The work's memory is the caller's.
 */
static sd_work *complete(sd_stream *stream, sd_work *work)
{
    if (work->kind->drop)
        work->kind->drop(work);
    pthread_mutex_lock(&stream->lock);
    stream->head = work->next;
    if (!stream->head) {
        stream->tail = NULL;
        stream->scheduled = false;
    }
    sd_work *next = stream->head;
    /* Release: whoever reads `done` without the lock sees everything that the work did. */
    atomic_store_explicit(&stream->done, work->at, memory_order_release);
    sd_stream *waiters = stream->parked ? unpark(stream, work->at) : NULL;
    if (stream->sleepers)
        pthread_cond_broadcast(&stream->moved);
    pthread_mutex_unlock(&stream->lock);
    queue_all(waiters);
    return next;
}

/* Whether the head can run now, on this worker; if not, the schedule was passed on. */
static bool may_run(sd_stream *stream, sd_work *work, sd_workers *by)
{
    if (work->after.stream) {
        if (!sd_mark_done(&work->after) && sd_stream_park(stream, &work->after))
            return false;
        sd_mark_drop(&work->after);
    }
    bool well = !sd_context_state(stream->object.context);
    /* A seeded run asked before. */
    if (work->kind->ready && well && !sd_seeded() && !work->kind->ready(work)) {
        sd_poller_add(stream);
        return false;
    }
    sd_workers *wanted = work->kind->on_host && well ? &sd.host_workers : home(stream);
    if (wanted == by)
        return true;
    sd_workers_hand(wanted, stream);
    return false;
}

static unsigned run_on_device(sd_stream *stream, sd_work *work)
{
    sd_context *context = stream->object.context;
    if (!sd_context_begin(context))
        return ACU_CUDA_SUCCESS;
    unsigned result = work->kind->run(stream, work);
    sd_context_end(context);
    return result;
}

static void run(sd_stream *stream, sd_work *work)
{
    sd_context *context = stream->object.context;
    const sd_fault *fault = sd_faults_on() ? sd_faults_meet(stream, work) : NULL;
    if (fault && !sd_context_state(context))
        sd_faults_strike(fault, stream, work);
    if (!work->kind->run)
        return;
    unsigned result = ACU_CUDA_SUCCESS;
    if (work->kind->always || (work->kind->on_host && !sd_context_state(context)))
        result = work->kind->run(stream, work);
    else if (!work->kind->on_host)
        result = run_on_device(stream, work);
    if (result)
        sd_context_fault(context, result);
}

/* In a seeded run: runs one work, and gives the schedule back. */
static void advance_one(sd_stream *stream, sd_work *work, sd_workers *by)
{
    uint64_t turn = stream->turn;
    if (!may_run(stream, work, by))
        return;
    run(stream, work);
    sd_object_hold(&stream->object);
    work->after = (sd_mark){stream, work->at};
    sd_work *next = complete(stream, work);
    if (next)
        sd_schedule_add(stream);
    sd_schedule_ended(work, turn);
    if (!next)
        sd_object_put(&stream->object); /* the schedule's reference */
}

void sd_stream_advance(sd_stream *stream, sd_workers *by)
{
    pthread_mutex_lock(&stream->lock);
    sd_work *work = stream->head;
    pthread_mutex_unlock(&stream->lock);
    if (sd_seeded()) {
        advance_one(stream, work, by);
        return;
    }
    for (unsigned done = 0; work; done++) {
        if (done >= TURN && done % TURN == 0 && sd_workers_crowded(by)) {
            sd_workers_queue(home(stream), stream);
            return;
        }
        if (!may_run(stream, work, by))
            return;
        sd_trace_step(stream, work);
        run(stream, work);
        sd_work *over = work;
        work = complete(stream, work);
        free(over);
    }
    sd_object_put(&stream->object); /* the schedule's reference */
}

void sd_stream_resume(sd_stream *stream)
{
    sd_workers_queue(home(stream), stream);
}
