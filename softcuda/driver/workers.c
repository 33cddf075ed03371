/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Worker threads. One starts when there is work and none is idle, up to a limit; it ends after some
 * idle time. They are detached and own nothing: a process may exit at any moment.
 */
#include "driver/workers.h"

#include "driver/schedule.h"
#include "driver/stream.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

#define IDLE_SECONDS 5
#define STACK_BYTES ((size_t)1 << 20)
#define SPINS 500

bool sd_thread_start(void *(*run)(void *), void *argument)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    bool started = pthread_create(&thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* The next stream to run, by priority. The lock is held, and something is queued. */
static sd_stream *take(sd_workers *workers)
{
    for (int p = SD_PRIORITIES; p-- > 0;) {
        sd_stream *stream = workers->first[p];
        if (!stream)
            continue;
        workers->first[p] = stream->queue_next;
        if (!workers->first[p])
            workers->last[p] = NULL;
        stream->queue_next = NULL;
        atomic_fetch_sub_explicit(&workers->queued, 1, memory_order_relaxed);
        return stream;
    }
    return NULL;
}

static unsigned queued(sd_workers *workers)
{
    return atomic_load_explicit(&workers->queued, memory_order_relaxed);
}

unsigned sd_spins(void)
{
    return sd.devices[0].sm_count > 1 ? SPINS : 0;
}

/* Looks for work for a moment: the next one often comes at once. One thread at a time does this. */
static void spin(sd_workers *workers)
{
    if (workers->spinning)
        return;
    workers->spinning++;
    pthread_mutex_unlock(&workers->lock);
    for (unsigned left = sd_spins(); left > 0 && !queued(workers); left--)
        sd_spin_once();
    pthread_mutex_lock(&workers->lock);
    workers->spinning--;
}

/* Waits for a stream to run; NULL: this thread has been idle for long, and must end. */
static sd_stream *wait_for_stream(sd_workers *workers)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    sd_stream *stream = take(workers);
    if (!stream) {
        spin(workers);
        stream = take(workers);
    }
    for (; !stream; stream = take(workers)) {
        workers->idle++;
        int late = pthread_cond_timedwait(&workers->wake, &workers->lock, &until);
        workers->idle--;
        if (late && !queued(workers) && workers->threads > 1) {
            workers->threads--;
            return NULL;
        }
        if (late)
            until.tv_sec += 3600;
    }
    return stream;
}

static void *work(void *argument)
{
    sd_workers *workers = argument;
    pthread_setname_np(pthread_self(), "softcuda"); /* not the name of the thread that started it */
    for (;;) {
        pthread_mutex_lock(&workers->lock);
        sd_stream *stream = wait_for_stream(workers);
        pthread_mutex_unlock(&workers->lock);
        if (!stream)
            return NULL;
        sd_stream_advance(stream, workers);
    }
}

bool sd_workers_init(sd_workers *workers, unsigned limit)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes))
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool made = pthread_mutex_init(&workers->lock, NULL) == 0 &&
                pthread_cond_init(&workers->wake, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    workers->limit = limit;
    return made;
}

/* Starts a thread. The lock is held. */
static bool add_thread(sd_workers *workers)
{
    if (!sd_thread_start(work, workers))
        return false;
    workers->threads++;
    return true;
}

bool sd_workers_start(sd_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    bool running = workers->threads > 0 || add_thread(workers);
    pthread_mutex_unlock(&workers->lock);
    return running;
}

void sd_workers_queue(sd_workers *workers, sd_stream *stream)
{
    if (sd_seeded())
        sd_schedule_add(stream);
    else
        sd_workers_hand(workers, stream);
}

void sd_workers_hand(sd_workers *workers, sd_stream *stream)
{
    int p = -stream->priority;
    pthread_mutex_lock(&workers->lock);
    if (workers->last[p])
        workers->last[p]->queue_next = stream;
    else
        workers->first[p] = stream;
    workers->last[p] = stream;
    unsigned waiting = 1 + atomic_fetch_add_explicit(&workers->queued, 1, memory_order_relaxed);
    /* A thread that spins looks once more with the lock before it sleeps, so it needs no
     * wake-up. */
    bool wake = waiting > workers->spinning && workers->idle > 0;
    /* Without a new thread the stream waits for a busy one: slower, but correct. */
    if (workers->idle + workers->spinning < waiting && workers->threads < workers->limit)
        add_thread(workers);
    pthread_mutex_unlock(&workers->lock);
    if (wake)
        pthread_cond_signal(&workers->wake);
}

bool sd_workers_crowded(sd_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    bool crowded = queued(workers) > workers->idle && workers->threads >= workers->limit;
    pthread_mutex_unlock(&workers->lock);
    return crowded;
}
