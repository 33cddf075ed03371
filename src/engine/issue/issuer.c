/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Issuers: a thread for a device where planning and issuing are better done by two. */
#include "engine/issue/aside.h"

#include "base/clock.h"
#include "base/park.h"
#include "base/threads.h"

#include <sched.h>
#include <stdio.h>

#define REST ACU_MS(10) /* after it was of no use */
#define GAP ACU_US(5)   /* nobody is about to put one there */
#ifndef ACUI_ISSUER_LOOKS
#define ACUI_ISSUER_LOOKS 32 /* between two at the clock; a model looks less often */
#endif

enum {
    LEAST_CORES = 3, /* with less it would only take one from those who plan */
    TRIAL = 64,      /* so many lots tell whether it is of use: */
    WORTH = 3,       /* half as many tasks in two of them */
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

/* While the device has enough to do, what is there waits for more of its form, as long as such
 * keep coming. */
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
            return; /* others took some, or it is urgent by now */
        if (more > count)
            came = now;
        count = more;
    }
}

static bool is_held(void)
{
    return atomic_load_explicit(&acui_issuer_held, memory_order_relaxed);
}

/* Until there is nothing to do any more. False: it was of no use, as tasks came one by one. */
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
        /* A runtime thread it helps at any rate: that one goes on planning. */
        if (2 * tasks < WORTH * lots && !a->device->runtime_thread && !acui_together_is_timeless())
            return false;
        lots = tasks = 0;
    }
    return true;
}

static _Atomic(int) present; /* relaxed: a guess */

static void attend(acui_aside *a)
{
    acui_lock_take(&a->lock);
    acu_device *device = a->device; /* it was called for that, and holds it until it goes */
    acui_lock_give(&a->lock);
    acui_entered entered;
    bool useful = true;
    if (!device)
        return; /* called twice */
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
        /* Acquire: whom it was called by has said for what. */
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

/* The device is retained for it; false: it was called before, or is to rest. Start lock held, as
 * for the next two: who ends it finds no device that somebody is still about to take back. */
static bool claim(acui_aside *a, acu_device *device)
{
    acui_lock_take(&a->lock);
    bool free = !a->device && acui_now() >= a->rests;
    if (free)
        a->device = acu_device_retain(device);
    acui_lock_give(&a->lock);
    return free;
}

/* It is not called for any device any more. */
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
        return; /* who ends it waits for it, and this may be another one: it goes without */
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

/* One more than are there already. */
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
