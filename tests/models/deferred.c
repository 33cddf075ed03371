/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Deferred tasks: src/engine/issue/deferred.c itself. Threads add tasks to the list while an issuer
 * has it open, and so does a runtime thread that owns it. Each task is issued, once; nothing stays
 * in the list; and a thread that drains it finds everything issued that was there before, with what
 * came behind it.
 */
#define EXPLORE_LOCKS
#include "explore.h"

#include <string.h>

#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"
#include "engine/completion/complete.h"
#include "engine/issue/deferred.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

#undef ACUI_LOCAL
#define ACUI_LOCAL /* explore_local */

static void give_lock(void *lock);
#define acui_lock_take(lock) ((void)explore_lock(lock))
#define acui_lock_give(lock) give_lock(lock)

#ifndef DEFERRED_FILE
#define DEFERRED_FILE "../../src/engine/issue/deferred.c"
#endif
#include DEFERRED_FILE

enum { TASKS = 4 };

static acu_device device;
static acu_stream stream;
static acui_submission submissions[TASKS];
static acui_task tasks[TASKS], behind[TASKS]; /* what comes behind each */
static int issued[TASKS], dropped[TASKS], ran[TASKS];
static bool some_follow, calls_back, plain; /* `plain`: what comes behind calls nothing of the
                                             * program */
static bool large; /* ... and may be deferred in its turn */
static bool in_time; /* the first task was still deferred when it was given up */
static _Atomic(uint32_t) told; /* set by the thread that added the first one */
static acui_deferred *list;

/* ---- waiting, until a thread is done with what it took ---- */

static _Atomic(uint32_t) fewer;
static uint32_t were;

static void give_lock(void *lock)
{
    explore_unlock(lock);
    uint32_t are = lists[0].unfinished[0] + lists[0].unfinished[1];
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

_Atomic(bool) acui_batch_timeless;

static int index_of(const acui_task *task)
{
    return (int)(task - tasks);
}

static bool comes_behind(const acui_task *task)
{
    return task >= behind && task < behind + TASKS;
}

unsigned acui_batch_most(const acu_device *of, uint64_t form)
{
    (void)of;
    return form == 3 ? 1 : ACUI_BATCH_MOST;
}

/* Takes a while; then what came behind a task can go. */
acui_task *acui_issue_all(acui_task *const *all, size_t count)
{
    acui_task *freed = NULL;
    explore_point();
    for (size_t i = 0; i < count; i++) {
        if (comes_behind(all[i])) {
            ran[all[i] - behind]++;
            continue;
        }
        int k = index_of(all[i]);
        if (issued[k]++ || dropped[k])
            explore_fail("task %d is issued twice", k);
        if (all[i]->form != all[0]->form || (count > 1 && !all[i]->batchable))
            explore_fail("tasks are in one batch that may not be");
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

static bool in_issue; /* the issuer is running what came behind */

/* What came behind, and tasks that were given up. */
void acui_run_tasks(acui_task *ready)
{
    if (ready && in_issue && list->count)
        explore_fail("functions of the program's may run, and something is deferred");
    for (acui_task *next; ready; ready = next) {
        next = ready->next_ready;
        explore_point();
        if (comes_behind(ready) && large && acui_defer(ready))
            continue;
        if (comes_behind(ready))
            ran[ready - behind]++;
        else if (dropped[index_of(ready)]++ || issued[index_of(ready)])
            explore_fail("task %d is dropped, and was issued", index_of(ready));
        if (calls_back)
            acui_deferred_drain(&device, ACU_FOREVER);
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

void acui_streak_issued(uint64_t now) { (void)now; }

bool acui_issuer_would_help(const acui_task *task)
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

void acui_order_lock(acui_homes homes) { (void)homes; }
void acui_order_unlock(acui_homes homes) { (void)homes; }
void acui_issuer_ask(acu_device *of) { (void)of; }
uint64_t acui_now(void) { return 0; }

/* ---- the cases ---- */

static void start(void)
{
    list = &lists[0];
    memset((void *)lists, 0, sizeof *lists);
    memset((void *)submissions, 0, sizeof submissions);
    memset(tasks, 0, sizeof tasks);
    memset(issued, 0, sizeof issued);
    memset(dropped, 0, sizeof dropped);
    memset(ran, 0, sizeof ran);
    some_follow = calls_back = plain = large = in_issue = in_time = false;
    told = fewer = were = 0;
    list->device = &device;
    for (int i = 0; i < TASKS; i++) /* of two forms */
        tasks[i] = (acui_task){.device = &device, .stream = &stream, .deferrable = true,
                               .batchable = true, .form = 1 + (uint64_t)(i == 1),
                               .submission = &submissions[i]};
}

static void start_with_followers(void) { start(), some_follow = true; }
static void start_with_large(void)
{
    start();
    some_follow = plain = true;
    tasks[0].batchable = tasks[2].batchable = false;
}

static void start_with_large_behind(void)
{
    start();
    some_follow = large = true;
    for (int i = 0; i < TASKS; i++)
        behind[i] = (acui_task){.device = &device, .stream = &stream, .deferrable = true,
                                .submission = &submissions[i]};
}

static void start_calling_back(void) { start(), some_follow = calls_back = true; }

static void add_task(int i)
{
    if (!acui_defer(&tasks[i]))
        acui_run_tasks(acui_issue_all(&(acui_task *){&tasks[i]}, 1));
}

static void add_three(void) { add_task(0), add_task(1), add_task(2); }
static void add_one(void) { add_task(3); }

static void serve(void)
{
    in_issue = true;
    acui_deferred_issue(list);
    in_issue = false;
}

static void serve_for_two(void)
{
    acui_deferred_open(list, &stream);
    serve();
    serve();
    acui_deferred_close(list);
}

static void serve_for_one(void)
{
    acui_deferred_open(list, &stream);
    serve();
    acui_deferred_close(list);
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
    if (list->count || list->unfinished[0] || list->unfinished[1])
        explore_fail("%u are left, %u and %u are unfinished", (unsigned)list->count,
                     (unsigned)list->unfinished[0], (unsigned)list->unfinished[1]);
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

/* ---- threads that drain ---- */

static void add_two_and_drain(void)
{
    add_task(0);
    add_task(1);
    acui_deferred_drain(&device, ACU_FOREVER);
    has_gone(0);
    has_gone(1);
}

static void add_two(void) { add_task(2), add_task(3); }

static void add_and_tell(void)
{
    add_task(0);
    atomic_store_explicit(&told, 1, memory_order_release);
    add_task(1);
}

static void hear_and_drain(void)
{
    if (!atomic_load_explicit(&told, memory_order_acquire))
        return;
    acui_deferred_drain(&device, ACU_FOREVER);
    has_gone(0);
}

/* ---- given up ---- */

static void add_two_first(void) { add_task(0), add_task(1); }
static void give_up(void)
{
    atomic_store_explicit(&submissions[0].given_up, true, memory_order_release);
    acui_lock_take(&list->lock);
    for (uint32_t i = 0; i < list->count; i++)
        in_time |= list->tasks[i].task == &tasks[0];
    acui_lock_give(&list->lock);
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
    acui_deferred_own(&device);
    for (int i = 0; i < 2; i++) {
        add_task(i);
        while (i == 1 && acui_deferred_must_flush())
            acui_deferred_flush();
    }
    acui_deferred_own(NULL);
}

static void add_two_others(void) { add_task(2), add_task(3); }

int main(int argc, char **argv)
{
    static const explore_model models[] = {
        {.name = "added and taken", .start = start, .threads = {serve_for_two, add_three, add_one},
         .check = all_have_gone, .interruptions = 2, .delays = 1},
        {.name = "drained", .start = start,
         .threads = {serve_for_one, add_two_and_drain, add_two}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
        {.name = "drained by who was told", .start = start_with_followers,
         .threads = {serve_for_one, add_and_tell, hear_and_drain, hear_and_drain},
         .check = two_have_gone, .interruptions = 2, .delays = 0},
        {.name = "drained by what came behind", .start = start_calling_back,
         .threads = {serve_for_one, add_two_first, hear_and_drain},
         .check = two_have_gone, .interruptions = 2, .delays = 0},
        {.name = "large ones", .start = start_with_large,
         .threads = {serve_for_two, add_three, add_one}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
        {.name = "large ones, drained", .start = start_with_large,
         .threads = {serve_for_one, add_two_and_drain, add_two}, .check = all_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "large ones behind, drained", .start = start_with_large_behind,
         .threads = {serve_for_one, add_and_tell, hear_and_drain}, .check = two_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "given up", .start = start,
         .threads = {serve_for_one, add_two_first, give_up}, .check = is_not_issued,
         .interruptions = 2, .delays = 1},
        {.name = "a runtime thread", .start = start,
         .threads = {serve_for_one, run_thread, add_two_others}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
    };
    explore_local(&owned, sizeof owned);
    explore_local(&taken_unfinished, sizeof taken_unfinished);
    explore_local(&innermost, sizeof innermost);
    explore_local(&in_issue, sizeof in_issue);
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
