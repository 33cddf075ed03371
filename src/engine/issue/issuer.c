/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Issuers: a thread for a device, where planning and issuing are better done by two. When called,
 * it attends to what is put aside for the device (aside.c), which it retains until it goes; then it
 * sleeps. start_lock is held to call, start or end one; a thread that calls never waits for it. */
#include "engine/issue/aside.h"

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
    TRIAL = 64,      /* lots after which it is judged: it is of use if they have */
    WORTH = 3,       /* WORTH / 2 tasks or more, on average */
};

_Atomic(uint64_t) acui_issuer_patience = ACU_US(100);
_Atomic(bool) acui_issuer_held;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- at work ---- */

static bool is_wanted(const acui_aside *a)
{
    return !atomic_load_explicit(&a->ended, memory_order_relaxed) && !acui_device_lost(a->device);
}

/* Whether something comes before its patience ends. */
static bool look_out(const acui_aside *a)
{
    uint64_t start = acui_now();
    do {
        for (int i = 0; i < ACUI_ISSUER_LOOKS; i++) {
            if (atomic_load_explicit(&a->count, memory_order_relaxed))
                return true;
            acui_spin_pause();
        }
    } while (is_wanted(a) && acui_now() - start < atomic_load_explicit(&acui_issuer_patience,
                                                                       memory_order_relaxed));
    return false;
}

/* While the device has enough to do, what is there waits for more of its form, as long as more keep
 * coming. */
static void let_grow(const acui_aside *a)
{
    uint32_t count = acui_aside_may_grow(a), more;
    if (!count || acui_together_is_timeless())
        return;
    uint64_t start = acui_now(), came = start, now = start;
    while (now < came + GAP && now < start + ACUI_TOGETHER_HOLD && is_wanted(a) &&
           acui_together_has_enough(a->device, count)) {
        for (int i = 0; i < ACUI_ISSUER_LOOKS; i++)
            acui_spin_pause();
        more = acui_aside_may_grow(a);
        now = acui_now();
        if (more < count)
            return; /* others took some, or one is urgent by now */
        if (more > count)
            came = now;
        count = more;
    }
}

static bool is_held(void)
{
    return atomic_load_explicit(&acui_issuer_held, memory_order_relaxed);
}

/* Until there is nothing left to do. False: it was of no use, since tasks came one by one. */
static bool serve(acui_aside *a)
{
    size_t lots = 0, tasks = 0, count;
    while (is_wanted(a)) {
        let_grow(a);
        count = is_held() ? 0 : acui_aside_turn(a);
        if (!count && !look_out(a))
            break;
        tasks += count;
        lots += count > 0;
        if (lots < TRIAL)
            continue;
        /* A runtime thread is helped at any rate: it goes on planning. */
        if (2 * tasks < WORTH * lots && !a->device->runtime_thread && !acui_together_is_timeless())
            return false;
        lots = tasks = 0;
    }
    return true;
}

static _Atomic(int) present; /* issuers at work; relaxed: a guess */

static void attend(acui_aside *a)
{
    acui_lock_take(&a->lock);
    acu_device *device = a->device; /* retained by the call, until this thread goes */
    acui_lock_give(&a->lock);
    acui_entered entered;
    bool useful = true;
    if (!device)
        return; /* called twice: the first time served both */
    if (acui_enter(device, &entered) == ACU_OK) {
        atomic_fetch_add_explicit(&present, 1, memory_order_relaxed);
        acui_aside_attend(a, acui_policy_pick(device->policy));
        useful = serve(a);
        acui_aside_desert(a);
        atomic_fetch_sub_explicit(&present, 1, memory_order_relaxed);
        acui_leave(&entered);
    }
    acui_lock_take(&a->lock);
    a->device = NULL;
    a->rests = useful ? 0 : acui_now() + REST;
    acui_lock_give(&a->lock);
    acu_device_release(device);
}

static void *run(void *aside)
{
    acui_aside *a = aside;
    while (!atomic_load_explicit(&a->ended, memory_order_relaxed)) {
        /* Acquire, from wake: the caller has said for which device. */
        if (atomic_exchange_explicit(&a->called, 0, memory_order_acquire)) {
            if (!atomic_load_explicit(&a->ended, memory_order_relaxed))
                attend(a);
        } else {
            acui_park(&a->called, 0, ACU_FOREVER);
        }
    }
    return NULL;
}

/* ---- calling ---- */

static void wake(acui_aside *a)
{
    atomic_store_explicit(&a->called, 1, memory_order_release);
    acui_unpark(&a->called);
}

/* Retain the device for the issuer. False: it was called before, or is to rest. Start lock held,
 * as for the next two: a thread that ends it finds no device that another one is about to take
 * back. */
static bool claim(acui_aside *a, acu_device *device)
{
    acui_lock_take(&a->lock);
    bool free = !a->device && acui_now() >= a->rests;
    if (free)
        a->device = acu_device_retain(device);
    acui_lock_give(&a->lock);
    return free;
}

/* It is no longer called for any device. */
static void forget(acui_aside *a)
{
    acui_lock_take(&a->lock);
    acu_device *device = a->device;
    a->device = NULL;
    acui_lock_give(&a->lock);
    acu_device_release(device);
}

static bool start(acui_aside *a, unsigned ordinal)
{
    char name[16];
    snprintf(name, sizeof name, "acuda-issue-%u", ordinal % 100);
    if (!a->running) {
        atomic_store_explicit(&a->ended, false, memory_order_relaxed);
        a->running = acui_thread_start_with(&a->thread, name, run, a);
    }
    if (a->running)
        wake(a);
    return a->running;
}

void acui_issuer_call(acu_device *device)
{
    acui_aside *a = acui_aside_of(device);
    if (atomic_load_explicit(&a->attended, memory_order_relaxed))
        return;
    if (pthread_mutex_trylock(&start_lock) != 0)
        return; /* held while issuers are joined, and this may be one of them: go without */
    if (claim(a, device) && !start(a, (unsigned)device->info.ordinal))
        forget(a);
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
    return count_cores() >= LEAST_CORES && (pretended_cores() || !acui_together_is_timeless());
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
        any |= acui_aside_at(i)->running;
    pthread_mutex_unlock(&start_lock);
    return any;
}

void acui_issuer_stop(void)
{
    pthread_mutex_lock(&start_lock);
    for (unsigned i = 0; i < ACUI_MAX_DEVICES; i++) {
        acui_aside *a = acui_aside_at(i);
        if (!a->running)
            continue;
        atomic_store_explicit(&a->ended, true, memory_order_relaxed);
        wake(a);
        pthread_join(a->thread, NULL);
        a->running = false;
        forget(a);
    }
    pthread_mutex_unlock(&start_lock);
}
