/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Deadlines of submissions: a heap of the futures that have one, the earliest first. The reactor
 * sleeps no longer than until that one, and gives up those that are too late; so does a thread that
 * polls one.
 *
 * The lock is a leaf. A future is in the heap, which holds a reference to it, from before it is
 * submitted until it is done.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/completion/complete.h"
#include "engine/flight/flight.h"
#include "engine/order/order.h"

#include <stdio.h>

static struct {
    pthread_mutex_t lock;
    acu_future **list; /* the heap: at i the earliest of i, 2i+1, 2i+2 and all below */
    size_t count, room;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The earliest deadline, or ACU_FOREVER. Stored under the lock. seq_cst, against the reactor, which
 * loads it before it sleeps: it sees an earlier deadline, or the thread that added that one wakes
 * it. */
static _Atomic(uint64_t) next = ACU_FOREVER;

/* ---- the heap; lock held ---- */

static uint64_t at(size_t i)
{
    return heap.list[i]->deadline.at;
}

static void put(size_t i, acu_future *future)
{
    heap.list[i] = future;
    future->deadline.index = i + 1;
}

static void sift_up(size_t i, acu_future *future)
{
    while (i > 0 && future->deadline.at < at((i - 1) / 2)) {
        put(i, heap.list[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(i, future);
}

static void sift_down(size_t i, acu_future *future)
{
    for (size_t child; (child = 2 * i + 1) < heap.count; i = child) {
        if (child + 1 < heap.count && at(child + 1) < at(child))
            child++;
        if (future->deadline.at <= at(child))
            break;
        put(i, heap.list[child]);
    }
    put(i, future);
}

static void note_next(void)
{
    atomic_store_explicit(&next, heap.count ? at(0) : ACU_FOREVER,
                          memory_order_seq_cst);
}

static bool make_room(void)
{
    if (heap.count < heap.room)
        return true;
    size_t room = heap.room ? 2 * heap.room : 64;
    acu_future **list = acui_grow(heap.list, heap.room * sizeof *list, room * sizeof *list);
    if (!list)
        return false;
    heap.list = list;
    heap.room = room;
    return true;
}

static void take_out(acu_future *future)
{
    size_t i = future->deadline.index - 1;
    future->deadline.index = 0;
    acu_future *last = heap.list[--heap.count];
    if (last != future) {
        sift_down(i, last);
        sift_up(last->deadline.index - 1, last);
    }
    note_next();
}

/* ---- for futures ---- */

acu_status acui_deadline_set(acu_future *future, uint64_t timeout)
{
    future->deadline.at = acui_deadline(timeout);
    future->deadline.after = timeout;
    if (future->deadline.at == ACU_FOREVER)
        return ACU_OK;
    pthread_mutex_lock(&heap.lock);
    bool room = make_room(), first = false;
    if (room) {
        sift_up(heap.count++, acui_future_keep(future));
        first = heap.list[0] == future;
        note_next();
    }
    pthread_mutex_unlock(&heap.lock);
    if (!room) {
        future->deadline.at = ACU_FOREVER;
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a deadline");
    }
    if (first)
        acui_flight_wake();
    return ACU_OK;
}

void acui_deadline_drop(acu_future *future)
{
    if (!future || future->deadline.at == ACU_FOREVER)
        return;
    pthread_mutex_lock(&heap.lock);
    bool there = future->deadline.index != 0;
    if (there)
        take_out(future);
    pthread_mutex_unlock(&heap.lock);
    if (there)
        acui_future_put(future);
}

void acui_deadline_check(acu_future *future)
{
    if (future->deadline.at == ACU_FOREVER || acui_now() < future->deadline.at)
        return;
    double after = (double)future->deadline.after;
    bool brief = after < 1e6, held_up = acui_future_is_held_up(future);
    char text[128];
    snprintf(text, sizeof text, "its deadline, %g %s after the submit, passed %s",
             brief ? after : after / 1e6, brief ? "ns" : "ms",
             held_up ? "before all of it had begun" : "while it ran");
    acui_future_end(future, ACU_ERR_DEADLINE, text);
}

/* ---- for the reactor ---- */

uint64_t acui_deadlines_next(void)
{
    return atomic_load_explicit(&next, memory_order_seq_cst);
}

static acu_future *take_late(uint64_t now)
{
    pthread_mutex_lock(&heap.lock);
    acu_future *future = heap.count && at(0) <= now ? heap.list[0] : NULL;
    if (future)
        take_out(future); /* the heap's reference is the caller's now */
    pthread_mutex_unlock(&heap.lock);
    return future;
}

void acui_deadlines_pass(void)
{
    if (acui_deadlines_next() == ACU_FOREVER)
        return;
    uint64_t now = acui_now();
    acu_future *late;
    while ((late = take_late(now))) {
        acu_future_poll(late); /* this sees it if it was in time after all; else gives it up */
        acui_future_put(late);
    }
}

void acui_deadlines_end(void)
{
    pthread_mutex_lock(&heap.lock);
    acu_future **list = heap.count ? NULL : heap.list;
    if (list) {
        heap.list = NULL;
        heap.room = 0;
    }
    pthread_mutex_unlock(&heap.lock);
    acui_free(list);
}
