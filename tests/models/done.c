/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sleeping until something completes: src/base/done.c itself. Nobody sleeps through
 * it.
 */
#include "explore.h"

#ifndef DONE_FILE
#define DONE_FILE "../../src/base/done.c"
#endif
#include DONE_FILE

void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline)
{
    (void)deadline; /* none here */
    explore_park(word, seen);
}

void acui_unpark(_Atomic(uint32_t) *word)
{
    explore_unpark(word);
}

static _Atomic(bool) complete[2]; /* what the threads wait for */

static void start(void)
{
    complete[0] = complete[1] = false;
    completions = 0;
    sleepers = 0;
}

static void finish(int which)
{
    atomic_store_explicit(&complete[which], true, memory_order_release);
    acui_done_announce();
}

static void finish_one(void) { finish(0); }
static void finish_other(void) { finish(1); }

static int count_complete(void)
{
    return atomic_load_explicit(&complete[0], memory_order_acquire) +
           atomic_load_explicit(&complete[1], memory_order_acquire);
}

/* As waiting threads do. */
static void wait_for(int want)
{
    for (bool there = false; !there;) {
        acui_done_begin();
        uint32_t seen = acui_done_count();
        there = count_complete() >= want;
        if (!there)
            acui_done_sleep(seen, UINT64_MAX);
        acui_done_end();
    }
}

static void wait_for_one(void) { wait_for(1); }
static void wait_for_two(void) { wait_for(2); }

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "one waits", .start = start, .threads = {finish_one, wait_for_one},
         .interruptions = 6, .delays = 2},
        {.name = "two wait", .start = start,
         .threads = {finish_one, finish_other, wait_for_one, wait_for_two}, .interruptions = 2,
         .delays = 1},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
