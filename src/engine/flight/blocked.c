/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting in the driver: for work that takes long, nobody knows how long. Nothing can call a thread
 * back from there. So if a thread may have to come back sooner, one of acuda's (a helper) waits
 * instead. These are started when first needed, a few at most; if all are taken, the thread that
 * wants to wait naps.
 *
 * For each signal at most one thread waits (stream->waited_for). Threads that sleep until it
 * announces set stream->relied.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/park.h"
#include "base/threads.h"
#include "engine/upward.h"
#include "base/done.h"
#include "engine/flight/flight.h"

#define HELPERS 8

typedef struct helper {
    pthread_t thread;
    bool running;    /* the lock */
    uint64_t number; /* the signal; written before: */
    /* What it waits for; retained, with its device; NULL: nothing to do. Set under the lock, and
     * cleared by the helper itself. Release store; the helper loads it without the lock, with
     * acquire. */
    _Atomic(acu_stream *) stream;
    _Atomic(uint32_t) calls; /* how often it was called, to work or to stop; it sleeps on this */
} helper;

static struct {
    acui_lock lock; /* a leaf, taken with a device's lock held */
    helper list[HELPERS];
    uint64_t again; /* nobody is asked before this time: one could not wait; the lock */
    _Atomic(bool) stop; /* stored under the lock; release store, acquire load */
} all;

/* Whether somebody sleeps until this thread announces; then no longer. The device's lock held. */
static bool was_relied_on(acu_stream *stream)
{
    bool relied = stream->engine.relied;
    stream->engine.relied = false;
    return relied;
}

/* `h`: the helper that waits, or NULL; free again once it has looked. */
static bool wait_for(acu_stream *stream, uint64_t number, helper *h)
{
    acui_flight *flight = acui_flight_of(stream->device);
    bool waited = acui_stream_block(stream, number);
    uint64_t now = acui_now(), shortly_before = now - ACUI_LATE;
    if (h && !waited) {
        acui_lock_take(&all.lock);
        all.again = now + ACUI_BLOCK_AGAIN;
        acui_lock_give(&all.lock);
    }
    acui_flight_lock(flight);
    /* As if somebody had looked just before the end. */
    if (waited && acui_looked_at(stream) < shortly_before)
        acui_looked(stream, shortly_before);
    bool relied = was_relied_on(stream);
    acui_flight_unlock(flight);
    if (relied) /* they take a while to wake up, and look for themselves */
        acui_done_announce();
    acui_harvest(stream, 0);
    acui_flight_lock(flight);
    /* No other thread is asked to wait for the signal before this one has looked: not even by one
     * that looked too early, and still finds the work there when this thread has come back
     * already. */
    if (stream->engine.waited_for == number) /* else another thread waits for what came behind */
        stream->engine.waited_for = 0;
    if (h)
        atomic_store_explicit(&h->stream, NULL, memory_order_release);
    relied = was_relied_on(stream); /* they looked before it was over, and sleep again */
    acui_due_changed(stream);
    acui_flight_unlock(flight);
    if (relied)
        acui_done_announce();
    return waited;
}

bool acui_blocked_wait(acu_stream *stream, uint64_t number)
{
    bool was = acui_error_aside();
    acui_flight *flight = acui_flight_of(stream->device);
    acui_flight_lock(flight);
    stream->engine.waited_for = number;
    acui_flight_unlock(flight);
    bool waited = wait_for(stream, number, NULL);
    acui_error_back(was);
    return waited;
}

static void *run(void *context)
{
    helper *h = context;
    for (;;) {
        uint32_t calls = atomic_load_explicit(&h->calls, memory_order_acquire);
        /* In this order: nobody asks once it is to stop, so it sees all that it was asked. */
        bool stop = atomic_load_explicit(&all.stop, memory_order_acquire);
        acu_stream *stream = atomic_load_explicit(&h->stream, memory_order_acquire);
        if (stream) {
            wait_for(stream, h->number, h);
            acui_flight_let_go(&stream, 1);
        } else if (stop) {
            return NULL;
        } else {
            acui_park(&h->calls, calls, ACU_FOREVER);
        }
    }
}

static void call(helper *h)
{
    atomic_fetch_add_explicit(&h->calls, 1, memory_order_release);
    acui_unpark(&h->calls);
}

/* One that waits for nothing, and that nobody else asks. The lock held. */
static helper *find_free(void)
{
    if (atomic_load_explicit(&all.stop, memory_order_relaxed) || acui_now() < all.again)
        return NULL;
    for (int i = 0; i < HELPERS; i++) {
        helper *h = &all.list[i];
        /* Acquire: it has read the number of the last one by then. */
        if (atomic_load_explicit(&h->stream, memory_order_acquire))
            continue;
        if (!h->running)
            h->running = acui_thread_start_with(&h->thread, "acuda-blocked", run, h);
        return h->running ? h : NULL;
    }
    return NULL;
}

bool acui_blocked_ask(acu_stream *stream, uint64_t number)
{
    acui_lock_take(&all.lock);
    helper *h = find_free();
    if (h) {
        acu_device_retain(stream->device);
        h->number = number;
        atomic_store_explicit(&h->stream, acu_stream_retain(stream), memory_order_release);
        stream->engine.waited_for = number;
        call(h);
    }
    acui_lock_give(&all.lock);
    return h != NULL;
}

bool acui_blocked_busy(void)
{
    bool busy = false;
    acui_lock_take(&all.lock);
    for (int i = 0; i < HELPERS; i++)
        busy |= all.list[i].running;
    acui_lock_give(&all.lock);
    return busy;
}

void acui_blocked_stop(void)
{
    acui_lock_take(&all.lock);
    atomic_store_explicit(&all.stop, true, memory_order_release);
    acui_lock_give(&all.lock);
    for (int i = 0; i < HELPERS; i++) { /* nobody starts any meanwhile */
        if (!all.list[i].running)
            continue;
        call(&all.list[i]);
        pthread_join(all.list[i].thread, NULL);
    }
    acui_lock_take(&all.lock);
    for (int i = 0; i < HELPERS; i++)
        all.list[i].running = false;
    atomic_store_explicit(&all.stop, false, memory_order_release);
    acui_lock_give(&all.lock);
}
