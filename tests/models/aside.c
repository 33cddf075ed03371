/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What is put aside: src/engine/issue/aside.c itself. Threads put tasks there while an issuer
 * attends to it, and so does a runtime thread. Each task is issued, once; nothing stays there; and
 * a thread that settles finds everything issued that was there before, with what came behind it.
 */
#define EXPLORE_LOCKS
#include "explore.h"

#include <string.h>

#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"
#include "engine/issue/aside.h"

#undef ACUI_LOCAL
#define ACUI_LOCAL /* explore_local */

static void give_lock(void *lock);
#define acui_lock_take(lock) ((void)explore_lock(lock))
#define acui_lock_give(lock) give_lock(lock)

#ifndef ASIDE_FILE
#define ASIDE_FILE "../../src/engine/issue/aside.c"
#endif
#include ASIDE_FILE

enum { TASKS = 4 };

static acu_device device;
static acu_stream stream;
static acui_submission submissions[TASKS];
static acui_task tasks[TASKS], behind[TASKS]; /* what comes behind each */
static int issued[TASKS], dropped[TASKS], ran[TASKS];
static bool some_follow, calls_back, plain; /* `plain`: what comes behind calls nothing of the
                                             * program */
static bool large; /* ... and may be put aside in its turn */
static bool in_time; /* the first task was still aside when it was given up */
static _Atomic(uint32_t) told; /* set by the thread that put the first one there */
static acui_aside *aside;

/* ---- waiting, until a thread is done with what it took ---- */

static _Atomic(uint32_t) fewer;
static uint32_t were;

static void give_lock(void *lock)
{
    explore_unlock(lock);
    uint32_t are = asides[0].taking[0] + asides[0].taking[1];
    if (are < were) {
        fewer++;
        explore_unpark(&fewer);
    }
    were = are;
}

acui_nap acui_nap_start(uint64_t timeout)
{
    (void)timeout; /* never over */
    return (acui_nap){.start = fewer};
}

bool acui_nap_again(acui_nap *nap)
{
    explore_park(&fewer, (uint32_t)nap->start);
    nap->start = fewer;
    return true;
}

/* ---- what it uses ---- */

_Atomic(bool) acui_together_timeless;

static int index_of(const acui_task *task)
{
    return (int)(task - tasks);
}

static bool comes_behind(const acui_task *task)
{
    return task >= behind && task < behind + TASKS;
}

unsigned acui_together_most(uint64_t form)
{
    return form == 3 ? 1 : ACUI_TOGETHER;
}

/* Takes a while; then what came behind a task can go. */
acui_task *acui_issue_all(acui_task *const *list, size_t count)
{
    acui_task *freed = NULL;
    explore_point();
    for (size_t i = 0; i < count; i++) {
        if (comes_behind(list[i])) {
            ran[list[i] - behind]++;
            continue;
        }
        int k = index_of(list[i]);
        if (issued[k]++ || dropped[k])
            explore_fail("task %d is issued twice", k);
        if (list[i]->form != list[0]->form || (count > 1 && !list[i]->together))
            explore_fail("tasks go together that may not");
        if (some_follow) {
            behind[k].next_ready = freed;
            freed = &behind[k];
        }
    }
    return freed;
}

acui_task *acui_join_tasks(acui_task *first, acui_task *then)
{
    acui_task **end = &first;
    while (*end)
        end = &(*end)->next_ready;
    *end = then;
    return first;
}

static bool in_turn; /* the issuer is running what came behind */

/* What came behind, and tasks that were given up. */
void acui_run_tasks(acui_task *ready)
{
    if (ready && in_turn && aside->count)
        explore_fail("functions of the program's may run, and something is aside");
    for (acui_task *next; ready; ready = next) {
        next = ready->next_ready;
        explore_point();
        if (comes_behind(ready) && large && acui_together_put(ready))
            continue;
        if (comes_behind(ready))
            ran[ready - behind]++;
        else if (dropped[index_of(ready)]++ || issued[index_of(ready)])
            explore_fail("task %d is dropped, and was issued", index_of(ready));
        if (calls_back)
            acui_together_settle(&device, ACU_FOREVER);
    }
}

acui_task *acui_run_plain(acui_task **ready, uint32_t most)
{
    acui_task *rest = NULL;
    for (acui_task *task; *ready && most > 0; most--) {
        task = *ready;
        *ready = task->next_ready;
        task->next_ready = NULL;
        explore_point();
        if (plain && comes_behind(task))
            ran[task - behind]++;
        else
            rest = acui_join_tasks(task, rest);
    }
    return rest;
}

void acui_together_issued(uint64_t now) { (void)now; }

bool acui_together_in_burst(const acui_task *task)
{
    (void)task;
    return true;
}

acu_stream *acui_policy_pick(acu_policy *policy)
{
    (void)policy;
    return &stream;
}

uint64_t acui_stream_last(acu_stream *of)
{
    (void)of;
    return 0;
}

bool acui_stream_reached(acu_stream *of, uint64_t number)
{
    (void)of, (void)number;
    return true;
}

void acui_order_lock(void) {}
void acui_order_unlock(void) {}
void acui_issuer_ask(acu_device *of) { (void)of; }
uint64_t acui_now(void) { return 0; }

/* ---- the cases ---- */

static void start(void)
{
    aside = &asides[0];
    memset((void *)asides, 0, sizeof *asides);
    memset((void *)submissions, 0, sizeof submissions);
    memset(tasks, 0, sizeof tasks);
    memset(issued, 0, sizeof issued);
    memset(dropped, 0, sizeof dropped);
    memset(ran, 0, sizeof ran);
    some_follow = calls_back = plain = large = in_turn = in_time = false;
    told = fewer = were = 0;
    aside->device = &device;
    for (int i = 0; i < TASKS; i++) /* of two forms */
        tasks[i] = (acui_task){.device = &device, .stream = &stream, .aside = true,
                               .together = true, .form = 1 + (uint64_t)(i == 1),
                               .submission = &submissions[i]};
}

static void start_with_followers(void) { start(), some_follow = true; }
static void start_with_large(void)
{
    start();
    some_follow = plain = true;
    tasks[0].together = tasks[2].together = false;
}

static void start_with_large_behind(void)
{
    start();
    some_follow = large = true;
    for (int i = 0; i < TASKS; i++)
        behind[i] = (acui_task){.device = &device, .stream = &stream, .aside = true,
                                .submission = &submissions[i]};
}

static void start_calling_back(void) { start(), some_follow = calls_back = true; }

static void put(int i)
{
    if (!acui_together_put(&tasks[i]))
        acui_run_tasks(acui_issue_all(&(acui_task *){&tasks[i]}, 1));
}

static void put_three(void) { put(0), put(1), put(2); }
static void put_one(void) { put(3); }

static void turn(void)
{
    in_turn = true;
    acui_aside_turn(aside);
    in_turn = false;
}

static void attend_for_two(void)
{
    acui_aside_attend(aside, &stream);
    turn();
    turn();
    acui_aside_desert(aside);
}

static void attend_for_one(void)
{
    acui_aside_attend(aside, &stream);
    turn();
    acui_aside_desert(aside);
}

static void has_gone(int i)
{
    if (issued[i] + dropped[i] != 1)
        explore_fail("task %d was issued %d times, and dropped %d", i, issued[i], dropped[i]);
    if (issued[i] && ran[i] != some_follow)
        explore_fail("what came behind task %d did not go", i);
}

static void nothing_is_left(void)
{
    if (aside->count || aside->taking[0] || aside->taking[1])
        explore_fail("%u are left, %u and %u are being taken", (unsigned)aside->count,
                     (unsigned)aside->taking[0], (unsigned)aside->taking[1]);
}

static void all_have_gone(void)
{
    for (int i = 0; i < TASKS; i++)
        has_gone(i);
    nothing_is_left();
}

static void two_have_gone(void)
{
    has_gone(0);
    has_gone(1);
    nothing_is_left();
}

/* ---- threads that settle ---- */

static void put_two_and_settle(void)
{
    put(0);
    put(1);
    acui_together_settle(&device, ACU_FOREVER);
    has_gone(0);
    has_gone(1);
}

static void put_two(void) { put(2), put(3); }

static void put_and_tell(void)
{
    put(0);
    atomic_store_explicit(&told, 1, memory_order_release);
    put(1);
}

static void hear_and_settle(void)
{
    if (!atomic_load_explicit(&told, memory_order_acquire))
        return;
    acui_together_settle(&device, ACU_FOREVER);
    has_gone(0);
}

/* ---- given up ---- */

static void put_one_and_another(void) { put(0), put(1); }
static void give_up(void)
{
    atomic_store_explicit(&submissions[0].given_up, true, memory_order_release);
    acui_lock_take(&aside->lock);
    for (uint32_t i = 0; i < aside->count; i++)
        in_time |= aside->kept[i].task == &tasks[0];
    acui_lock_give(&aside->lock);
}

static void is_not_issued(void)
{
    two_have_gone();
    if (in_time && issued[0])
        explore_fail("it was given up, and issued later");
}

/* ---- a runtime thread ---- */

static void run_thread(void)
{
    acui_together_hold(&device);
    for (int i = 0; i < 2; i++) {
        put(i);
        while (i == 1 && acui_together_left())
            acui_together_flush();
    }
    acui_together_hold(NULL);
}

static void put_two_others(void) { put(2), put(3); }

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "put and taken", .start = start, .threads = {attend_for_two, put_three, put_one},
         .check = all_have_gone, .interruptions = 2, .delays = 1},
        {.name = "settled", .start = start,
         .threads = {attend_for_one, put_two_and_settle, put_two}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
        {.name = "settled by who was told", .start = start_with_followers,
         .threads = {attend_for_one, put_and_tell, hear_and_settle, hear_and_settle},
         .check = two_have_gone, .interruptions = 2, .delays = 0},
        {.name = "settled by what came behind", .start = start_calling_back,
         .threads = {attend_for_one, put_one_and_another, hear_and_settle},
         .check = two_have_gone, .interruptions = 2, .delays = 0},
        {.name = "large ones", .start = start_with_large,
         .threads = {attend_for_two, put_three, put_one}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
        {.name = "large ones, settled", .start = start_with_large,
         .threads = {attend_for_one, put_two_and_settle, put_two}, .check = all_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "large ones behind, settled", .start = start_with_large_behind,
         .threads = {attend_for_one, put_and_tell, hear_and_settle}, .check = two_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "given up", .start = start,
         .threads = {attend_for_one, put_one_and_another, give_up}, .check = is_not_issued,
         .interruptions = 2, .delays = 1},
        {.name = "a runtime thread", .start = start,
         .threads = {attend_for_one, run_thread, put_two_others}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
    };
    explore_local(&held, sizeof held);
    explore_local(&taken, sizeof taken);
    explore_local(&innermost, sizeof innermost);
    explore_local(&in_turn, sizeof in_turn);
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
