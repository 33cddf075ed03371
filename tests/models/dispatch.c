/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A device's queue: src/engine/issue/dispatch.c itself. Threads add tasks while the device's thread
 * has the queue open, which issues some and goes; others drain it. Each task is issued, once;
 * nothing stays in the queue; nothing is there while a function of the program's may run; and a
 * thread that drains finds everything issued that was there before, with what came behind it.
 */
#include "explore.h"

#include <string.h>

#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"
#include "engine/completion/complete.h"
#include "engine/issue/dispatch.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

#undef ACUI_LOCAL
#define ACUI_LOCAL /* explore_local */

/* Who waits for consumers sleeps until there are fewer. */
static void lowered(const volatile void *at);
#undef atomic_fetch_sub_explicit
#define atomic_fetch_sub_explicit(p, n, order)                                                     \
    (explore_point(), explore_settle(), __extension__({                                            \
         (void)(order);                                                                            \
         *(p) -= (n);                                                                              \
         lowered(p);                                                                               \
     }))

#ifndef DISPATCH_FILE
#define DISPATCH_FILE "../../src/engine/issue/dispatch.c"
#endif
#include DISPATCH_FILE

enum { TASKS = 4 };

static acui_engine engine;
static acu_device device = {.engine = &engine};
static acu_stream stream;
static acui_submission submissions[TASKS];
static acui_task tasks[TASKS], behind[TASKS]; /* what comes behind each */
static acui_point points[2 * TASKS];
static int issued[TASKS], dropped[TASKS], ran[TASKS];
static bool some_follow, calls_back, plain; /* `plain`: what comes behind calls nothing of the
                                             * program */
static bool large; /* ... and may be queued in its turn */
static bool short_ones; /* ... or goes in a batch */
static bool in_time; /* the first task was still queued when it was given up */
static _Atomic(uint32_t) told; /* set by the thread that added the first one */
static acui_dispatch *queue;

/* ---- waiting for consumers ---- */

static _Atomic(uint32_t) fewer;

static void lowered(const volatile void *at)
{
    if (at != &engine.queue.consumers)
        return;
    fewer++;
    explore_unpark(&fewer);
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

static int index_of(const acui_task *task)
{
    return (int)(task - tasks);
}

static bool comes_behind(const acui_task *task)
{
    return task >= behind && task < behind + TASKS;
}

unsigned acui_batch_most(const acu_device *of, uint64_t signature)
{
    (void)of;
    return signature == 3 ? 1 : ACUI_BATCH_MOST;
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
        if (all[i]->signature != all[0]->signature || (count > 1 && all[i]->way != ACUI_WAY_BATCH))
            explore_fail("tasks are in one batch that may not be");
        if (some_follow) {
            behind[k].next_listed = freed;
            freed = &behind[k];
        }
    }
    return freed;
}

acui_task *acui_join_tasks(acui_task *first, acui_task *then)
{
    acui_task **end = &first;
    while (*end)
        end = &(*end)->next_listed;
    *end = then;
    return first;
}

/* What came behind, and tasks that were given up. */
void acui_run_tasks(acui_task *ready)
{
    for (acui_task *next; ready; ready = next) {
        next = ready->next_listed;
        explore_point();
        if (innermost && queue->count)
            explore_fail("functions of the program's may run, and something is queued");
        if (comes_behind(ready) && large && acui_dispatch_add(ready))
            continue;
        if (comes_behind(ready))
            ran[ready - behind]++;
        else if (dropped[index_of(ready)]++ || issued[index_of(ready)])
            explore_fail("task %d is dropped, and was issued", index_of(ready));
        if (calls_back)
            acui_dispatch_drain(&device, ACU_FOREVER);
    }
}

acui_task *acui_run_plain(acui_task **ready, uint32_t most)
{
    acui_task *rest = NULL;
    for (acui_task *task; *ready && most > 0; most--) {
        task = *ready;
        *ready = task->next_listed;
        task->next_listed = NULL;
        explore_point();
        if (plain && comes_behind(task) && !(short_ones && acui_dispatch_follow(task)))
            ran[task - behind]++;
        else if (!plain || !comes_behind(task))
            rest = acui_join_tasks(task, rest);
    }
    return rest;
}

acu_stream *acui_policy_pick(acu_policy *policy)
{
    (void)policy;
    return &stream;
}

void acui_order_lock(acui_homes homes) { (void)homes; }
void acui_order_unlock(acui_homes homes) { (void)homes; }
bool acui_batch_may_be_queued(const acui_task *task) { return task->way != ACUI_WAY_DIRECT; }
bool acui_batch_may_be_batched(acui_task *task) { return task->way == ACUI_WAY_BATCH; }
bool acui_dispatch_is_ahead(acu_device *of) { return of; }
void acui_dispatch_found(acui_dispatch *of, acu_device *on, bool ahead)
{
    (void)of, (void)on, (void)ahead;
}
uint64_t acui_now(void) { return 0; }
uint32_t acui_streak_now(void) { return 0; }
void acui_streak_issued(uint64_t now) { (void)now; }

/* ---- the cases ---- */

static void start(void)
{
    queue = &engine.queue;
    memset((void *)queue, 0, sizeof *queue);
    memset((void *)submissions, 0, sizeof submissions);
    memset(tasks, 0, sizeof tasks);
    memset(issued, 0, sizeof issued);
    memset(dropped, 0, sizeof dropped);
    memset(ran, 0, sizeof ran);
    some_follow = calls_back = plain = large = short_ones = in_time = false;
    told = fewer = 0;
    for (int i = 0; i < TASKS; i++) /* of two signatures */
        tasks[i] = (acui_task){.device = &device,
                               .stream = &stream,
                               .way = ACUI_WAY_BATCH,
                               .signature = 1 + (uint64_t)(i == 1),
                               .point = &points[i],
                               .submission = &submissions[i]};
}

static void start_with_followers(void) { start(), some_follow = true; }
static void start_with_large(void)
{
    start();
    some_follow = plain = true;
    tasks[0].way = tasks[2].way = ACUI_WAY_QUEUE;
}

static void start_with_large_behind(void)
{
    start();
    some_follow = large = true;
    for (int i = 0; i < TASKS; i++)
        behind[i] = (acui_task){.device = &device, .stream = &stream, .way = ACUI_WAY_QUEUE,
                                .submission = &submissions[i]};
}

/* What comes behind the second one has another signature. */
static void start_with_short_behind(void)
{
    start();
    some_follow = plain = short_ones = true;
    for (int i = 0; i < TASKS; i++)
        behind[i] = (acui_task){.device = &device, .stream = &stream, .way = ACUI_WAY_BATCH,
                                .signature = tasks[i].signature, .point = &points[TASKS + i],
                                .submission = &submissions[i]};
}

static void start_calling_back(void) { start(), some_follow = calls_back = true; }

static void add_task(int i)
{
    if (!acui_dispatch_add(&tasks[i]))
        acui_run_tasks(acui_issue_all(&(acui_task *){&tasks[i]}, 1));
}

static void add_three(void) { add_task(0), add_task(1), add_task(2); }
static void add_one(void) { add_task(3); }

static void serve_for_two(void)
{
    acui_dispatch_open(queue, &stream);
    acui_dispatch_issue(queue);
    acui_dispatch_issue(queue);
    acui_dispatch_close(queue);
}

static void serve_for_one(void)
{
    acui_dispatch_open(queue, &stream);
    acui_dispatch_issue(queue);
    acui_dispatch_close(queue);
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
    if (queue->count || queue->consumers || queue->drains || queue->open || queue->barred ||
        queue->begun != queue->taken)
        explore_fail("%u are left", (unsigned)queue->count);
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
    acui_dispatch_drain(&device, ACU_FOREVER);
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
    acui_dispatch_drain(&device, ACU_FOREVER);
    has_gone(0);
}

static void add_and_drain_while_open(void)
{
    acui_dispatch_open(queue, &stream);
    add_task(0);
    acui_dispatch_drain(&device, ACU_FOREVER);
    has_gone(0);
    acui_dispatch_close(queue);
}

static void add_second(void) { add_task(1); }

/* ---- given up ---- */

static bool is_in(const acui_batch *batch, const acui_task *task)
{
    bool is = false;
    for (uint32_t i = 0; i < batch->count; i++)
        is |= batch->tasks[i] == task;
    return is;
}

static void add_two_first(void) { add_task(0), add_task(1); }
static void give_up(void)
{
    static acui_fault why;
    atomic_store_explicit(&submissions[0].given_up, &why, memory_order_release);
    acui_lock_take(&queue->lock);
    for (uint64_t i = queue->taken; i < queue->begun; i++)
        in_time |= is_in(&queue->batches[i % ACUI_DISPATCH_BATCHES], &tasks[0]);
    acui_lock_give(&queue->lock);
}

static void is_not_issued(void)
{
    two_have_gone();
    if (in_time && issued[0])
        explore_fail("it was given up, and issued later");
}

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
        {.name = "added while functions run", .start = start_with_followers,
         .threads = {add_and_drain_while_open, add_second}, .check = two_have_gone,
         .interruptions = 2, .delays = 1},
        {.name = "large ones", .start = start_with_large,
         .threads = {serve_for_two, add_three, add_one}, .check = all_have_gone,
         .interruptions = 2, .delays = 1},
        {.name = "large ones, drained", .start = start_with_large,
         .threads = {serve_for_one, add_two_and_drain, add_two}, .check = all_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "large ones behind, drained", .start = start_with_large_behind,
         .threads = {serve_for_one, add_and_tell, hear_and_drain}, .check = two_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "short ones behind", .start = start_with_short_behind,
         .threads = {serve_for_one, add_two_and_drain, add_two}, .check = all_have_gone,
         .interruptions = 2, .delays = 0},
        {.name = "given up", .start = start,
         .threads = {serve_for_one, add_two_first, give_up}, .check = is_not_issued,
         .interruptions = 2, .delays = 1},
    };
    explore_local(&innermost, sizeof innermost);
    return explore_all(models, sizeof models / sizeof *models, argc, argv);
}
