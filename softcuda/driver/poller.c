/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Streams that wait for a value in memory, which anybody may write in any way: one thread looks,
 * often at first and then less so. The thread ends when no stream waits.
 */
#include "driver/stream.h"

#include <time.h>

#define NAP_SHORTEST 20000L  /* ns */
#define NAP_LONGEST 1000000L /* ns */

static struct {
    pthread_mutex_t lock;
    sd_stream *waiting; /* by parked_next */
    bool running;
    bool added; /* some were added since the thread last looked */
} poller = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes out the streams that may go on: their value is there, or their context is lost. */
static sd_stream *take_ready(void)
{
    sd_stream *free_now = NULL;
    sd_stream **at = &poller.waiting;
    while (*at) {
        sd_stream *stream = *at;
        pthread_mutex_lock(&stream->lock);
        sd_work *work = stream->head;
        pthread_mutex_unlock(&stream->lock);
        if (!work->kind->ready(work) && !sd_context_state(stream->object.context)) {
            at = &stream->parked_next;
            continue;
        }
        *at = stream->parked_next;
        stream->parked_next = free_now;
        free_now = stream;
    }
    return free_now;
}

static void *poll(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "softcuda"); /* not the name of the thread that started it */
    long nap = NAP_SHORTEST;
    for (;;) {
        pthread_mutex_lock(&poller.lock);
        sd_stream *ready = take_ready();
        bool fresh = poller.added;
        poller.added = false;
        if (!poller.waiting)
            poller.running = false;
        bool go_on = poller.running;
        pthread_mutex_unlock(&poller.lock);
        nap = fresh || ready ? NAP_SHORTEST : nap * 5 / 4;
        if (nap > NAP_LONGEST)
            nap = NAP_LONGEST;
        while (ready) {
            sd_stream *next = ready->parked_next;
            ready->parked_next = NULL;
            sd_stream_resume(ready);
            ready = next;
        }
        if (!go_on)
            return NULL;
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
    }
}

void sd_poller_add(sd_stream *stream)
{
    pthread_mutex_lock(&poller.lock);
    stream->parked_next = poller.waiting;
    poller.waiting = stream;
    poller.added = true;
    bool start = !poller.running;
    poller.running = true;
    if (start && !sd_thread_start(poll, NULL)) {
        /* There is no thread to look: back to a worker, which will come here again. */
        poller.running = false;
        poller.waiting = stream->parked_next;
        stream->parked_next = NULL;
        pthread_mutex_unlock(&poller.lock);
        sd_stream_resume(stream);
        return;
    }
    pthread_mutex_unlock(&poller.lock);
}
