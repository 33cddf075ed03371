/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Locks: src/base/lock.c itself. One thread has a lock at a time, and none sleeps while it is
 * free. */
#define EXPLORE_LOCKS
#include "explore.h"

#ifndef LOCK_FILE
#define LOCK_FILE "../../src/base/lock.c"
#endif
#include LOCK_FILE

void acui_park(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline)
{
    (void)deadline; /* none here */
    explore_park(word, seen);
}

void acui_unpark_one(_Atomic(uint32_t) *word)
{
    explore_unpark_one(word);
}

static acui_lock lock;
static unsigned inside, turns;

static void start(void)
{
    lock.word = ACUI_LOCK_FREE;
    inside = turns = 0;
}

static void take_and_give(void)
{
    acui_lock_take(&lock);
    if (inside++)
        explore_fail("two have it");
    turns++;
    explore_point();
    inside--;
    acui_lock_give(&lock);
}

static void twice(void)
{
    take_and_give();
    take_and_give();
}

static void tried(void)
{
    if (!acui_lock_try(&lock))
        return;
    if (inside)
        explore_fail("it was had when it was tried");
    acui_lock_give(&lock);
}

static void is_free(void)
{
    if (turns < 3 || lock.word != ACUI_LOCK_FREE)
        explore_fail("%u turns, and it is left as %u", turns, (unsigned)lock.word);
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "two", .start = start, .threads = {twice, twice}, .check = is_free,
         .interruptions = 5, .delays = 2},
        {.name = "three", .start = start, .threads = {take_and_give, take_and_give, take_and_give},
         .check = is_free, .interruptions = 3, .delays = 1},
        {.name = "two, and one who tries", .start = start, .threads = {twice, take_and_give, tried},
         .check = is_free, .interruptions = 3, .delays = 1},
    };
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
