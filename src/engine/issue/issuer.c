/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Issuers: a thread for a device, where planning and issuing are better done by two. When called,
 * it opens the device's list of deferred tasks (deferred.c) and issues them; it retains the device
 * until it closes the list again and goes to sleep. start_lock is held to call, start or end one; a
 * thread that calls never waits for it. */
#include "engine/issue/deferred.h"

#include "base/clock.h"
#include "base/park.h"
#include "base/threads.h"

#include <sched.h>
#include <stdio.h>

#define REST ACU_MS(10) /* how long it is not called after it was of no use */
#define GAP ACU_US(5)   /* without a new task: nobody is about to add one */
#ifndef ACUI_ISSUER_LOOKS
#define ACUI_ISSUER_LOOKS 32 /* looks between two readings of the clock; a model has fewer */
#endif

enum {
    LEAST_CORES = 3, /* with fewer, it would only take one from the threads that plan */
    TRIAL = 64,      /* batches after which it is judged: it is of use if they have */
    WORTH = 3,       /* WORTH / 2 tasks or more, on average */
};

_Atomic(uint64_t) acui_issuer_patience = ACU_US(100);
_Atomic(bool) acui_issuer_paused;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- at work ---- */

static bool is_wanted(const acui_deferred *list)
{
    return !atomic_load_explicit(&list->ended, memory_order_relaxed) &&
           !acui_device_lost(list->device);
}

/* Whether something comes before its patience ends. */
static bool look_out(const acui_deferred *list)
{
    uint64_t start = acui_now();
    do {
        for (int i = 0; i < ACUI_ISSUER_LOOKS; i++) {
            if (atomic_load_explicit(&list->count, memory_order_relaxed))
                return true;
            acui_spin_pause();
        }
    } while (is_wanted(list) && acui_now() - start < atomic_load_explicit(&acui_issuer_patience,
                                                                          memory_order_relaxed));
    return false;
}

/* While the device has enough to do, what is there waits for more of its form, as long as more keep
 * coming. */
static void let_grow(const acui_deferred *list)
{
    uint32_t count = acui_deferred_joinable(list), more;
    if (!count || acui_batch_is_timeless())
        return;
    uint64_t start = acui_now(), came = start, now = start;
    while (now < came + GAP && now < start + ACUI_BATCH_DELAY && is_wanted(list) &&
           acui_batch_device_is_busy(list->device, count)) {
        for (int i = 0; i < ACUI_ISSUER_LOOKS; i++)
            acui_spin_pause();
        more = acui_deferred_joinable(list);
        now = acui_now();
        if (more < count)
            return; /* others took some, or one need not wait by now */
        if (more > count)
            came = now;
        count = more;
    }
}

static bool is_paused(void)
{
    return atomic_load_explicit(&acui_issuer_paused, memory_order_relaxed);
}

/* Until there is nothing left to do. False: it was of no use, since tasks came one by one. */
static bool serve(acui_deferred *list)
{
    size_t batches = 0, tasks = 0, count;
    while (is_wanted(list)) {
        let_grow(list);
        count = is_paused() ? 0 : acui_deferred_issue(list);
        if (!count && !look_out(list))
            break;
        tasks += count;
        batches += count > 0;
        if (batches < TRIAL)
            continue;
        /* A runtime thread is helped at any rate: it goes on planning. */
        if (2 * tasks < WORTH * batches && !list->device->runtime_thread &&
            !acui_batch_is_timeless())
            return false;
        batches = tasks = 0;
    }
    return true;
}

static _Atomic(int) present; /* issuers at work; relaxed: a guess */

static void serve_device(acui_deferred *list)
{
    acui_lock_take(&list->lock);
    acu_device *device = list->device; /* retained by the call, until this thread goes */
    acui_lock_give(&list->lock);
    acui_entered entered;
    bool useful = true;
    if (!device)
        return; /* called twice: the first time served both */
    if (acui_enter(device, &entered) == ACU_OK) {
        atomic_fetch_add_explicit(&present, 1, memory_order_relaxed);
        acui_deferred_open(list, acui_policy_pick(device->policy));
        useful = serve(list);
        acui_deferred_close(list);
        atomic_fetch_sub_explicit(&present, 1, memory_order_relaxed);
        acui_leave(&entered);
    }
    acui_lock_take(&list->lock);
    list->device = NULL;
    list->rests_until = useful ? 0 : acui_now() + REST;
    acui_lock_give(&list->lock);
    acu_device_release(device);
}

static void *run(void *of_device)
{
    acui_deferred *list = of_device;
    while (!atomic_load_explicit(&list->ended, memory_order_relaxed)) {
        /* Acquire, from wake: the caller has said for which device. */
        if (atomic_exchange_explicit(&list->called, 0, memory_order_acquire)) {
            if (!atomic_load_explicit(&list->ended, memory_order_relaxed))
                serve_device(list);
        } else {
            acui_park(&list->called, 0, ACU_FOREVER);
        }
    }
    return NULL;
}

/* ---- calling ---- */

static void wake(acui_deferred *list)
{
    atomic_store_explicit(&list->called, 1, memory_order_release);
    acui_unpark(&list->called);
}

/* Retain the device for the issuer. False: it was called before, or is to rest. Start lock held,
 * as for the next two: a thread that ends it finds no device that another one is about to take
 * back. */
static bool claim(acui_deferred *list, acu_device *device)
{
    acui_lock_take(&list->lock);
    bool free = !list->device && acui_now() >= list->rests_until;
    if (free)
        list->device = acu_device_retain(device);
    acui_lock_give(&list->lock);
    return free;
}

/* It is no longer called for any device. */
static void forget(acui_deferred *list)
{
    acui_lock_take(&list->lock);
    acu_device *device = list->device;
    list->device = NULL;
    acui_lock_give(&list->lock);
    acu_device_release(device);
}

static bool start(acui_deferred *list, unsigned ordinal)
{
    char name[16];
    snprintf(name, sizeof name, "acuda-issue-%u", ordinal % 100);
    if (!list->running) {
        atomic_store_explicit(&list->ended, false, memory_order_relaxed);
        list->running = acui_thread_start_with(&list->thread, name, run, list);
    }
    if (list->running)
        wake(list);
    return list->running;
}

void acui_issuer_call(acu_device *device)
{
    acui_deferred *list = acui_deferred_of(device);
    if (atomic_load_explicit(&list->open, memory_order_relaxed))
        return;
    if (pthread_mutex_trylock(&start_lock) != 0)
        return; /* held while issuers are joined, and this may be one of them: go without */
    if (claim(list, device) && !start(list, (unsigned)device->info.ordinal))
        forget(list);
    pthread_mutex_unlock(&start_lock);
}

_Atomic(int) acui_issuer_cores;

static int pretended_cores(void)
{
    return atomic_load_explicit(&acui_issuer_cores, memory_order_relaxed);
}

static int count_cores(void)
{
    static _Atomic(int) cores; /* relaxed: always the same */
    int n = pretended_cores();
    if (n == 0)
        n = atomic_load_explicit(&cores, memory_order_relaxed);
    if (n == 0) {
        cpu_set_t set;
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : LEAST_CORES;
        atomic_store_explicit(&cores, n, memory_order_relaxed);
    }
    return n;
}

bool acui_issuer_may_come(void)
{
    return count_cores() >= LEAST_CORES && (pretended_cores() || !acui_batch_is_timeless());
}

/* Whether there is a core for one more than are at work. */
static bool may_one_more(void)
{
    return acui_issuer_may_come() &&
           count_cores() >= LEAST_CORES + atomic_load_explicit(&present, memory_order_relaxed);
}

void acui_issuer_ask(acu_device *device)
{
    if (may_one_more())
        acui_issuer_call(device);
}

/* ---- ending ---- */

bool acui_issuer_busy(void)
{
    bool any = false;
    pthread_mutex_lock(&start_lock);
    for (unsigned i = 0; i < ACUI_MAX_DEVICES; i++)
        any |= acui_deferred_at(i)->running;
    pthread_mutex_unlock(&start_lock);
    return any;
}

void acui_issuer_stop(void)
{
    pthread_mutex_lock(&start_lock);
    for (unsigned i = 0; i < ACUI_MAX_DEVICES; i++) {
        acui_deferred *list = acui_deferred_at(i);
        if (!list->running)
            continue;
        atomic_store_explicit(&list->ended, true, memory_order_relaxed);
        wake(list);
        pthread_join(list->thread, NULL);
        list->running = false;
        forget(list);
    }
    pthread_mutex_unlock(&start_lock);
}
