/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An issuer's thread: src/engine/issue/issuer.c itself. When it is called it comes, unless it is
 * being ended; else it sleeps; and it holds the device that it was called for until it goes.
 */
#include "one_thread.h"

#include <string.h>

#include "engine/issue/deferred.h"

#ifndef ISSUER_FILE
#define ISSUER_FILE "../../src/engine/issue/issuer.c"
#endif
#include ISSUER_FILE

/* ---- what it uses ---- */

static acui_deferred lists[ACUI_MAX_DEVICES];
static acu_device device;
static int refs; /* acuda's references to the device */
static bool entered;
static _Atomic(uint32_t) served;   /* how often the thread came */
static _Atomic(uint32_t) released; /* how often the device was released */
_Atomic(bool) acui_batch_timeless;

acui_deferred *acui_deferred_of(const acu_device *of)
{
    (void)of;
    return &lists[0];
}

acui_deferred *acui_deferred_at(unsigned ordinal)
{
    return &lists[ordinal];
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
        explore_fail("the device is released while the issuer is there");
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

void acui_deferred_open(acui_deferred *list, acu_stream *stream)
{
    (void)stream;
    atomic_store_explicit(&list->open, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&served, 1, memory_order_relaxed);
    explore_unpark(&served);
}

void acui_deferred_close(acui_deferred *list)
{
    atomic_store_explicit(&list->open, false, memory_order_relaxed);
}

size_t acui_deferred_issue(acui_deferred *list)
{
    if (list->device != &device || refs < 1)
        explore_fail("the device has gone while the issuer is there");
    return 0;
}

uint32_t acui_deferred_joinable(const acui_deferred *list)
{
    (void)list;
    return 0;
}

bool acui_batch_device_is_busy(acu_device *of, uint32_t deferred)
{
    (void)of, (void)deferred;
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
    memset((void *)lists, 0, sizeof lists);
    memset((void *)&device, 0, sizeof device);
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

static void is_called(void)
{
    callers++;
    explore_unpark(&callers);
}

static void call(void)
{
    acui_issuer_call(&device);
    is_called();
}

/* It comes each time that it is called. */
static void call_and_await(void)
{
    for (uint32_t i = 1; i <= 2; i++) {
        acui_issuer_call(&device);
        await(&served, i);
        await(&released, i); /* it goes to sleep */
    }
    is_called();
}

static void end(void)
{
    acui_issuer_stop();
    if (acui_issuer_busy())
        explore_fail("it was ended, and runs");
    model_thread_over();
}

static void end_last(void)
{
    await(&callers, all_callers);
    end();
}

static void call_and_end(void)
{
    call();
    end_last();
}

/* The next call starts another thread. */
static void call_and_end_twice(void)
{
    acui_issuer_call(&device);
    await(&released, 1);
    acui_issuer_stop();
    call_and_end();
}

static void nothing_is_left(void)
{
    if (refs || lists[0].device || lists[0].open)
        explore_fail("it has %d devices, and is called for one: %d", refs,
                     lists[0].device != NULL);
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "one calls", .start = start_one, .threads = {model_thread, call_and_await, end_last},
         .check = nothing_is_left, .interruptions = 2, .delays = 1},
        {.name = "two call", .start = start_two, .threads = {model_thread, call, call_and_end},
         .check = nothing_is_left, .interruptions = 2, .delays = 1},
        {.name = "two call while it is ended", .start = start_two,
         .threads = {model_thread, call, call_and_end_twice}, .check = nothing_is_left,
         .interruptions = 2, .delays = 0},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
