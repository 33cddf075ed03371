/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A device's thread that issues what is in its queue (dispatch.h), and the rule that says when it
 * is woken. It is started when it is woken for the first time. It retains the device until it
 * sleeps again. start_lock is held to wake, start or end one; a thread that wakes never waits for
 * it.
 */
#include "engine/issue/dispatch.h"

#include "base/clock.h"
#include "base/park.h"
#include "base/threads.h"

#include <sched.h>
#include <stdio.h>

#ifndef ACUI_DISPATCH_LOOKS
#define ACUI_DISPATCH_LOOKS 32 /* looks between two readings of the clock; a model has fewer */
#endif

enum {
    LEAST_CORES = 3, /* with fewer, it would only take one from the threads that plan */
    BUSY = 8,        /* tasks in flight: with more, the device has enough to do */
    STREAK = 16,     /* with more, the thread will submit the next one at once */
};

_Atomic(uint64_t) acui_dispatch_patience = ACU_US(100);
_Atomic(bool) acui_dispatch_paused;
_Atomic(int) acui_dispatch_cores;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(int) present; /* threads that are awake; relaxed: a guess */

bool acui_dispatch_is_ahead(acu_device *device)
{
    return acui_streak_now() > STREAK || acui_in_flight(device) > BUSY || acui_batch_is_timeless();
}

/* ---- at work ---- */

static bool is_wanted(const acui_dispatch *queue)
{
    return !atomic_load_explicit(&queue->ended, memory_order_relaxed) &&
           !acui_device_lost(queue->device);
}

static bool is_paused(void)
{
    return atomic_load_explicit(&acui_dispatch_paused, memory_order_relaxed);
}

/* Whether something comes before its patience ends. */
static bool look_out(const acui_dispatch *queue)
{
    uint64_t start = acui_now();
    do {
        for (int i = 0; i < ACUI_DISPATCH_LOOKS; i++) {
            acui_spin_pause();
            if (atomic_load_explicit(&queue->count, memory_order_relaxed))
                return true;
        }
    } while (is_wanted(queue) &&
             acui_now() - start < atomic_load_explicit(&acui_dispatch_patience,
                                                       memory_order_relaxed));
    return false;
}

/* Until nothing comes any more. */
static void serve(acui_dispatch *queue)
{
    bool more = true;
    while (more && is_wanted(queue)) {
        if (is_paused() || !acui_dispatch_issue(queue))
            more = look_out(queue);
    }
}

static void serve_device(acui_dispatch *queue)
{
    acui_lock_take(&queue->lock);
    acu_device *device = queue->device; /* retained by who woke it, until this thread sleeps */
    acui_lock_give(&queue->lock);
    acui_entered entered;
    if (!device)
        return; /* woken twice: the first time served both */
    if (acui_enter(device, &entered) == ACU_OK) {
        atomic_fetch_add_explicit(&present, 1, memory_order_relaxed);
        acui_dispatch_open(queue, acui_policy_pick(device->policy));
        serve(queue);
        acui_dispatch_close(queue);
        atomic_fetch_sub_explicit(&present, 1, memory_order_relaxed);
        acui_leave(&entered);
    }
    acui_lock_take(&queue->lock);
    queue->device = NULL;
    acui_lock_give(&queue->lock);
    acu_device_release(device);
}

static void *run(void *of_device)
{
    acui_dispatch *queue = of_device;
    while (!atomic_load_explicit(&queue->ended, memory_order_relaxed)) {
        /* Acquire, from rouse: that thread has said for which device. */
        if (atomic_exchange_explicit(&queue->woken, 0, memory_order_acquire)) {
            if (!atomic_load_explicit(&queue->ended, memory_order_relaxed))
                serve_device(queue);
        } else {
            acui_park(&queue->woken, 0, ACU_FOREVER);
        }
    }
    return NULL;
}

/* ---- waking ---- */

static void rouse(acui_dispatch *queue)
{
    atomic_store_explicit(&queue->woken, 1, memory_order_release);
    acui_unpark(&queue->woken);
}

/* Retain the device for the thread. False: it is awake already. Start lock held, as for the next
 * two: a thread that ends it finds no device that another one is about to take back. */
static bool claim(acui_dispatch *queue, acu_device *device)
{
    acui_lock_take(&queue->lock);
    bool free = !queue->device;
    if (free)
        queue->device = acu_device_retain(device);
    acui_lock_give(&queue->lock);
    return free;
}

/* It was not woken for any device. */
static void forget(acui_dispatch *queue)
{
    acui_lock_take(&queue->lock);
    acu_device *device = queue->device;
    queue->device = NULL;
    acui_lock_give(&queue->lock);
    acu_device_release(device);
}

static bool start(acui_dispatch *queue, unsigned ordinal)
{
    char name[16];
    snprintf(name, sizeof name, "acuda-issue-%u", ordinal % 100);
    if (!queue->running) {
        atomic_store_explicit(&queue->ended, false, memory_order_relaxed);
        queue->running = acui_thread_start_with(&queue->thread, name, run, queue);
    }
    if (queue->running)
        rouse(queue);
    return queue->running;
}

void acui_dispatch_wake(acu_device *device)
{
    acui_dispatch *queue = acui_dispatch_of(device);
    if (atomic_load_explicit(&queue->open, memory_order_relaxed))
        return;
    if (pthread_mutex_trylock(&start_lock) != 0)
        return; /* held while threads are joined, and this may be one of them: go without */
    if (claim(queue, device) && !start(queue, (unsigned)device->info.ordinal))
        forget(queue);
    pthread_mutex_unlock(&start_lock);
}

static int count_cores(void)
{
    static _Atomic(int) cores; /* relaxed: always the same */
    int n = atomic_load_explicit(&cores, memory_order_relaxed);
    if (n == 0) {
        cpu_set_t set;
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : LEAST_CORES;
        atomic_store_explicit(&cores, n, memory_order_relaxed);
    }
    return n;
}

/* Whether there is a core for one more than are awake. */
static bool may_one_more(void)
{
    int pretended = atomic_load_explicit(&acui_dispatch_cores, memory_order_relaxed);
    if (!pretended && acui_batch_is_timeless())
        return false;
    return (pretended ? pretended : count_cores()) >=
           LEAST_CORES + atomic_load_explicit(&present, memory_order_relaxed);
}

void acui_dispatch_found(acui_dispatch *queue, acu_device *device, bool ahead)
{
    uint32_t was = atomic_load_explicit(&queue->ahead, memory_order_relaxed);
    uint32_t now = ahead ? was + 2 : was ? was - 1 : 0;
    if (now == was || atomic_load_explicit(&queue->open, memory_order_relaxed))
        return;
    if (now >= 2 * ACUI_DISPATCH_WAKE) {
        now = 0;
        if (may_one_more())
            acui_dispatch_wake(device);
    }
    atomic_store_explicit(&queue->ahead, now, memory_order_relaxed);
}

/* ---- ending ---- */

bool acui_dispatch_busy(void)
{
    bool any = false;
    pthread_mutex_lock(&start_lock);
    for ACUI_EACH_ENGINE (engine)
        any |= engine->queue.running;
    pthread_mutex_unlock(&start_lock);
    return any;
}

void acui_dispatch_stop(void)
{
    pthread_mutex_lock(&start_lock);
    for ACUI_EACH_ENGINE (engine) {
        acui_dispatch *queue = &engine->queue;
        if (!queue->running)
            continue;
        atomic_store_explicit(&queue->ended, true, memory_order_relaxed);
        rouse(queue);
        pthread_join(queue->thread, NULL);
        queue->running = false;
        forget(queue);
    }
    pthread_mutex_unlock(&start_lock);
}
