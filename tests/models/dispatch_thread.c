/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A device's thread: src/engine/issue/dispatch_thread.c itself. When it is woken it comes, unless
 * it is being ended; else it sleeps; and it holds the device that it was woken for until it sleeps.
 */
#include "one_thread.h"

#include <string.h>

#include "engine/issue/dispatch.h"

#ifndef DISPATCH_THREAD_FILE
#define DISPATCH_THREAD_FILE "../../src/engine/issue/dispatch_thread.c"
#endif
#include DISPATCH_THREAD_FILE

/* ---- what it uses ---- */

acui_engine acui_all_engines[ACUI_ENGINES];
static acui_dispatch *const own = &acui_all_engines[0].queue;
static acu_device device;
static int refs; /* acuda's references to the device */
static bool entered;
static _Atomic(uint32_t) served;   /* how often the thread came */
static _Atomic(uint32_t) released; /* how often the device was released */
_Atomic(bool) acui_batch_timeless;
uint32_t acui_streak_now(void) { return 0; }

acui_engine *acui_engines_end(void)
{
    return acui_all_engines + 1;
}

acu_device *acu_device_retain(acu_device *of)
{
    refs++;
    return of;
}

void acu_device_release(acu_device *of)
{
    explore_point();
    if (of && --refs < 0)
        explore_fail("the device is released too often");
    if (of && entered && refs == 0)
        explore_fail("the device is released while the thread is there");
    released++;
    explore_unpark(&released);
}

acu_status acui_enter(acu_device *of, acui_entered *e)
{
    (void)e;
    if (!of || refs < 1)
        explore_fail("it serves no device");
    entered = true;
    return ACU_OK;
}

void acui_leave(acui_entered *e)
{
    (void)e;
    entered = false;
}

void acui_dispatch_open(acui_dispatch *queue, acu_stream *stream)
{
    (void)stream;
    atomic_store_explicit(&queue->open, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&served, 1, memory_order_relaxed);
    explore_unpark(&served);
}

void acui_dispatch_close(acui_dispatch *queue)
{
    atomic_store_explicit(&queue->open, 0, memory_order_relaxed);
}

bool acui_dispatch_issue(acui_dispatch *queue)
{
    if (queue->device != &device || refs < 1)
        explore_fail("the device has gone while the thread is there");
    return false;
}

acu_stream *acui_policy_pick(acu_policy *policy)
{
    (void)policy;
    return NULL;
}

uint64_t acui_now(void)
{
    static uint64_t now;
    return now += ACU_MS(1); /* it loses its patience at once */
}

void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline)
{
    (void)deadline; /* none here */
    explore_park(word, seen);
}

void acui_unpark(_Atomic(uint32_t) *word)
{
    explore_unpark(word);
}

/* ---- the cases ---- */

static _Atomic(uint32_t) callers;
static uint32_t all_callers;

static void start_with(uint32_t count)
{
    memset((void *)own, 0, sizeof *own);
    memset((void *)&device, 0, sizeof device);
    device.engine = &acui_all_engines[0];
    refs = 0;
    entered = false;
    served = released = model_starts = model_ends = callers = 0;
    all_callers = count;
}

static void start_one(void) { start_with(1); }
static void start_two(void) { start_with(2); }

static void await(_Atomic(uint32_t) *word, uint32_t count)
{
    uint32_t seen;
    while ((seen = *word) < count)
        explore_park(word, seen);
}

static void was_woken(void)
{
    callers++;
    explore_unpark(&callers);
}

static void wake_it(void)
{
    acui_dispatch_wake(&device);
    was_woken();
}

/* It comes each time that it is woken. */
static void wake_and_await(void)
{
    for (uint32_t i = 1; i <= 2; i++) {
        acui_dispatch_wake(&device);
        await(&served, i);
        await(&released, i); /* it goes to sleep */
    }
    was_woken();
}

static void end(void)
{
    acui_dispatch_stop();
    if (acui_dispatch_busy())
        explore_fail("it was ended, and runs");
    model_thread_over();
}

static void end_last(void)
{
    await(&callers, all_callers);
    end();
}

static void wake_and_end(void)
{
    wake_it();
    end_last();
}

/* The next wake-up starts another thread. */
static void wake_and_end_twice(void)
{
    acui_dispatch_wake(&device);
    await(&released, 1);
    acui_dispatch_stop();
    wake_and_end();
}

static void nothing_is_left(void)
{
    if (refs || own->device || own->open)
        explore_fail("it has %d devices, and was woken for one: %d", refs,
                     own->device != NULL);
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "one wakes it", .start = start_one,
         .threads = {model_thread, wake_and_await, end_last},
         .check = nothing_is_left, .interruptions = 2, .delays = 1},
        {.name = "two wake it", .start = start_two,
         .threads = {model_thread, wake_it, wake_and_end},
         .check = nothing_is_left, .interruptions = 2, .delays = 1},
        {.name = "two wake it while it is ended", .start = start_two,
         .threads = {model_thread, wake_it, wake_and_end_twice}, .check = nothing_is_left,
         .interruptions = 2, .delays = 0},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
