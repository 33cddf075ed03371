/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Threads that wait in the driver, one stream each: for work that takes long, nobody knows how
 * long. Started when first needed, a few at most; where all are taken, who waits naps instead.
 */
#include "base/clock.h"
#include "base/threads.h"
#include "engine/done.h"
#include "engine/flight.h"

typedef struct helper {
    pthread_t thread;
    pthread_cond_t wake;
    acu_stream *stream; /* retained, with its device; NULL: it has nothing to do */
    uint64_t number;
    bool running;
} helper;

static struct { /* under the flight lock */
    helper list[ACUI_POSTS];
    bool prepared, stop;
} all;

/* Nobody asks for another such thread before this one has looked: not even who looked too early,
 * and finds the work still there when this thread has already come back. */
static void wait_for(acu_stream *stream, uint64_t number)
{
    bool waited = acui_stream_block(stream, number);
    acui_flight_lock();
    uint64_t shortly_before = acui_now() - ACUI_LATE;
    if (waited && stream->looked_at < shortly_before) /* as if somebody had looked then */
        stream->looked_at = shortly_before;
    acui_flight_unlock();
    acui_harvest(stream);
    acui_flight_lock();
    if (stream->waited_for == number) /* else another thread waits for what came behind */
        stream->waited_for = 0;
    acui_flight_unlock();
    /* Who sleeps because of this thread looks for itself now. */
    acui_done_announce();
    acui_flight_wake();
}

static void *run(void *context)
{
    helper *h = context;
    acui_flight_lock();
    while (!all.stop || h->stream) {
        if (!h->stream) {
            acui_flight_wait(&h->wake);
            continue;
        }
        acu_stream *stream = h->stream;
        acui_flight_unlock();
        wait_for(stream, h->number);
        acui_flight_let_go(&stream, 1);
        acui_flight_lock();
        h->stream = NULL;
    }
    acui_flight_unlock();
    return NULL;
}

static helper *find_free(void)
{
    for (int i = 0; i < ACUI_POSTS; i++) {
        helper *h = &all.list[i];
        if (h->stream)
            continue;
        if (!all.prepared) {
            for (int k = 0; k < ACUI_POSTS; k++)
                acui_cond_init(&all.list[k].wake);
            all.prepared = true;
        }
        if (!h->running)
            h->running = acui_thread_start_with(&h->thread, "acuda-blocked", run, h);
        return h->running ? h : NULL;
    }
    return NULL;
}

bool acui_blocked_ask(acu_stream *stream, uint64_t number)
{
    helper *h = all.stop ? NULL : find_free();
    if (!h)
        return false;
    acu_device_retain(stream->device);
    h->stream = acu_stream_retain(stream);
    h->number = number;
    stream->waited_for = number;
    pthread_cond_signal(&h->wake);
    return true;
}

void acui_blocked_stop(void)
{
    acui_flight_lock();
    all.stop = true;
    for (int i = 0; i < ACUI_POSTS; i++)
        if (all.list[i].running)
            pthread_cond_signal(&all.list[i].wake);
    acui_flight_unlock();
    for (int i = 0; i < ACUI_POSTS; i++)
        if (all.list[i].running)
            pthread_join(all.list[i].thread, NULL);
    acui_flight_lock();
    for (int i = 0; i < ACUI_POSTS; i++)
        all.list[i].running = false;
    all.stop = false;
    acui_flight_unlock();
}
