/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Completion queues: src/engine/completion/queue.c itself. Completions come from two threads, and
 * are taken by a loop that sleeps until the descriptor can be read, as epoll would have it, or by
 * acu_queue_wait. Each comes once; no thread sleeps while there is one; the descriptor is written
 * once for a batch.
 */
#include "explore.h"

#include "base/clock.h"
#include "base/local.h"
#include "engine/completion/complete.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- the descriptor: a counter, and threads that sleep until it is not zero ---- */

static _Atomic(uint32_t) counter;
static int writes;

static long write_counter(void)
{
    explore_point();
    if (counter != 0)
        explore_fail("the descriptor is written, and can be read already");
    counter = 1;
    writes++;
    explore_unpark(&counter);
    return 8;
}

static long read_counter(void)
{
    explore_point();
    if (counter == 0)
        return -1;
    counter = 0;
    return 8;
}

#define eventfd(value, flags) ((void)(flags), 5)
#define write(fd, from, bytes) write_counter()
#define read(fd, to, bytes) ((void)(to), read_counter())
#define close(fd) ((void)(fd))

/* Those of base/clock.h, by the explorer. There are no deadlines here. */
#define acui_cond_init(condition) ((void)(condition))
#define acui_cond_wait_until(condition, mutex, deadline)                                           \
    ((void)(deadline), explore_wait((condition), (mutex)) == 0)

#define acui_reactor_start() ACU_OK /* nothing is on a device */

#undef ACUI_LOCAL
#define ACUI_LOCAL /* explore_local */

#ifndef QUEUE_FILE
#define QUEUE_FILE "../../src/engine/completion/queue.c"
#endif
#include QUEUE_FILE

/* ---- the cases ---- */

enum { MOST = 4 };
static acu_queue *queue;
static acui_notice *notices[MOST];
static acu_future *future; /* of all; complete */
static bool got[MOST];
static int gots, takes;
static bool in_order; /* only one thread takes */

static void fill(int count)
{
    memset(got, 0, sizeof got);
    counter = 0;
    gots = takes = writes = 0;
    if (queue)
        acu_queue_release(queue);
    queue = NULL;
    if (acu_queue_create(NULL, &queue) != ACU_OK)
        explore_fail("there is no queue");
    for (int i = 0; i < count; i++) {
        notices[i] = ACUI_NEW(acui_notice);
        notices[i]->queue = acui_object_retain(queue);
        notices[i]->future = acu_future_retain(future);
        notices[i]->tag = (uint64_t)i;
    }
}

static bool broke; /* the only thread that takes was told to, and has not returned since */

static void break_off(void *user, acu_future *of, acu_status status)
{
    (void)user, (void)of, (void)status;
    gots++;
    broke = in_order;
    acu_queue_break(queue);
}

static void be_called(void *user, acu_future *of, acu_status status)
{
    (void)user, (void)of, (void)status;
    if (broke)
        explore_fail("a callback comes after the one that has ended the take");
    gots++;
}

static void start_to_break(bool one_takes)
{
    fill(one_takes ? 3 : 4);
    in_order = one_takes;
    broke = false;
    notices[0]->fn = break_off;
    notices[1]->fn = be_called;
}

static void start_breaking(void) { start_to_break(true); }
static void start_breaking_two(void) { start_to_break(false); }
static void start_three(void) { fill(3), in_order = true; }
static void start_for_two(void) { fill(3), in_order = false; }
static void push_two(void) { acui_queue_push(notices[0]), acui_queue_push(notices[1]); }
static void push_one(void) { acui_queue_push(notices[2]); }

static void note(const acu_completion *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (got[list[i].tag])
            explore_fail("completion %d came twice", (int)list[i].tag);
        got[list[i].tag] = true;
        acu_future_release(list[i].future);
        if (in_order && list[i].tag == 1 && !got[0])
            explore_fail("completions of one thread came in another order");
        gots++;
    }
    takes++;
    broke = false;
}

/* Wait until the descriptor can be read, and take up to `room`; until all have come. */
static void loop(size_t room, int all)
{
    acu_completion list[MOST];
    size_t count;
    while (gots < all) {
        explore_park(&counter, 0);
        acu_queue_take(queue, list, room, &count);
        note(list, count);
    }
}

static void loop_one_by_one(void) { loop(1, 3); }
static void loop_batches(void) { loop(MOST, 3); }

static void wait_for_all(void)
{
    acu_completion list[MOST];
    size_t count;
    while (gots < 3) {
        acu_queue_wait(queue, list, MOST, &count, ACU_FOREVER);
        note(list, count);
    }
}

/* Two threads take: one waits; the other takes once, and may find nothing. */
static void take_once(void)
{
    acu_completion list[MOST];
    size_t count;
    acu_queue_take(queue, list, 1, &count);
    note(list, count);
}

/* The waiting thread is woken by what this one puts back. */
static void take_and_put_back(void)
{
    acu_completion list[MOST];
    size_t count;
    acu_queue_take(queue, list, MOST, &count);
    if (count-- == 0)
        return;
    note(list, count);
    if (acu_queue_put_back(queue, &list[count], 1) != ACU_OK)
        explore_fail("it is not put back");
    acu_future_release(list[count].future);
}

/* The waiting thread is woken by what this one leaves; or by a fourth, if this one had the last. */
static void take_and_end(void)
{
    acu_completion list[MOST];
    size_t count;
    acu_queue_take(queue, list, MOST, &count);
    note(list, count);
    if (gots == 3) {
        acui_queue_push(notices[3]);
        notices[3] = NULL;
    }
}

static void give_the_fourth(void)
{
    if (notices[3])
        acui_queue_push(notices[3]);
}

static void wait_for_rest(void)
{
    acu_completion list[MOST];
    size_t count;
    while (gots < 2) { /* the third may be the other thread's */
        acu_queue_wait(queue, list, MOST, &count, ACU_FOREVER);
        note(list, count);
    }
}

static void all_came(void)
{
    if (gots != 3 || counter != 0)
        explore_fail("%d of 3 came, the descriptor holds %d", gots, (int)counter);
    if (writes > takes + 1)
        explore_fail("%d wake-ups for %d batches", writes, takes);
}

static void all_came_in_the_end(void)
{
    if (gots != 3 || counter != 0)
        explore_fail("%d of 3 came, the descriptor holds %d", gots, (int)counter);
}

/* One thread looks for itself, and leaves something; the other sleeps until the descriptor can be
 * read. */
static void loop_for_rest(void) { loop(MOST, 2); }

static void no_more_than_all(void)
{
    if (gots < 2 || (counter != 0) != (gots < 3))
        explore_fail("%d of 3 came, the descriptor holds %d", gots, (int)counter);
}

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "a loop, one by one", .start = start_three,
         .threads = {push_two, push_one, loop_one_by_one}, .check = all_came, .interruptions = 3},
        {.name = "a loop, in batches", .start = start_three,
         .threads = {push_two, push_one, loop_batches}, .check = all_came, .interruptions = 3},
        {.name = "waiting", .start = start_three, .threads = {push_two, push_one, wait_for_all},
         .check = all_came, .interruptions = 2},
        {.name = "two that take", .start = start_for_two,
         .threads = {push_two, push_one, take_once, wait_for_rest}, .check = no_more_than_all,
         .interruptions = 2},
        {.name = "one looks, one sleeps", .start = start_for_two,
         .threads = {push_two, push_one, take_once, loop_for_rest}, .check = no_more_than_all,
         .interruptions = 2},
        {.name = "one puts back, one waits", .start = start_for_two,
         .threads = {push_two, push_one, take_and_put_back, wait_for_all},
         .check = all_came_in_the_end, .interruptions = 2},
        {.name = "one breaks off", .start = start_breaking,
         .threads = {push_two, push_one, loop_batches}, .check = all_came, .interruptions = 3},
        {.name = "one breaks off, one waits", .start = start_breaking_two,
         .threads = {push_two, push_one, take_and_end, wait_for_all}, .check = give_the_fourth,
         .interruptions = 2},
    };
    explore_local(&innermost, sizeof innermost);
    if (acui_future_new(&future) != ACU_OK)
        return 1;
    future->state = ACUI_FUTURE_DONE;
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
