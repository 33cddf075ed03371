/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A device's queue of ready tasks (dispatch.h). */
#include "engine/issue/dispatch.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

#include <string.h>

#define USER_CODE ACU_US(200) /* a function of the program's that takes longer is not waited for */

enum {
    ON_STREAM = 32, /* tasks that go to one stream in batches; then the next one is taken */
    SOME = 32,   /* followers that are run before the next batch is taken */
    MOST = 256,  /* followers that are run before the consumer looks up */
};

_Atomic(uint64_t) acui_dispatch_drain_most = ACU_MS(1000);

/* A thread that issues what is in a queue. */
typedef struct consumer {
    struct consumer *outer;
    acui_dispatch *queue;
    uint32_t user_code; /* functions of the program, nested, that the thread is in */
    acui_batch behind;  /* what came behind, to be issued next */
} consumer;

static ACUI_LOCAL consumer *innermost; /* that this thread is; NULL: none */

static uint32_t count_of(const acui_dispatch *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_relaxed);
}

static void set_count(acui_dispatch *queue, size_t count)
{
    atomic_store_explicit(&queue->count, (uint32_t)count, memory_order_release);
}

static acui_batch *batch_at(acui_dispatch *queue, uint64_t number)
{
    return &queue->batches[number % ACUI_DISPATCH_BATCHES];
}

static bool is_whole(const acui_batch *batch)
{
    return batch->count == batch->most;
}

static bool is_open(const acui_dispatch *queue)
{
    return atomic_load_explicit(&queue->open, memory_order_relaxed);
}

/* ---- adding ---- */

static ACUI_LOCAL char me; /* its address stands for the thread */

acu_stream *acui_dispatch_prepare(acui_task *task)
{
    acui_dispatch *queue = acui_dispatch_of(task->device);
    bool ahead = acui_dispatch_is_ahead(task->device);
    if ((ahead || is_open(queue)) && acui_batch_may_be_queued(task))
        task->way = acui_batch_may_be_batched(task) ? ACUI_WAY_BATCH
                    : ahead                         ? ACUI_WAY_QUEUE
                                                    : ACUI_WAY_DIRECT;
    bool queueable = task->way != ACUI_WAY_DIRECT;
    if (queueable || !ahead)
        acui_dispatch_found(queue, task->device, queueable);
    if (task->way != ACUI_WAY_BATCH)
        return NULL;
    return atomic_load_explicit(&queue->stream, memory_order_relaxed);
}

/* Whether the task, which is ready, may go in a batch: all that it comes behind is over, or did so
 * too. Such wait for each other, and take little time. */
static bool is_brief(const acui_task *task)
{
    bool brief = task->way == ACUI_WAY_BATCH;
    if (!brief || task->dependency_count == 0)
        return brief;
    acui_order_lock(task->homes);
    for (size_t i = 0; i < task->dependency_count && brief; i++) {
        const acui_point *point = task->dependencies[i].point;
        brief = point->state == ACUI_POINT_OVER || point->brief;
    }
    acui_order_unlock(task->homes);
    return brief;
}

/* Lock held, as for the next five: for those that may go in a batch. */
static void set_stream(acui_dispatch *queue, acu_stream *stream)
{
    atomic_store_explicit(&queue->stream, stream, memory_order_relaxed);
    queue->on_stream = 0;
}

static bool is_full(const acui_dispatch *queue)
{
    return count_of(queue) >= (queue->shared ? ACUI_DISPATCH_SHARED : ACUI_DISPATCH_MOST) ||
           queue->begun - queue->taken == ACUI_DISPATCH_BATCHES;
}

/* Tasks to come get another stream now and then, so that they do not all wait for each other. */
static void note_stream(acui_dispatch *queue, const acui_task *task)
{
    if (++queue->on_stream >= ON_STREAM)
        set_stream(queue, acui_policy_pick(task->device->policy));
}

/* The batch that the task joins: the newest of its signature, if there is room; or a new one. */
static acui_batch *batch_for(acui_dispatch *queue, const acui_task *task, uint64_t signature)
{
    for (uint64_t i = queue->begun; signature && i > queue->taken; i--) {
        acui_batch *batch = batch_at(queue, i - 1);
        if (batch->signature == signature && batch->stream == task->stream && !is_whole(batch))
            return batch;
    }
    acui_batch *batch = batch_at(queue, queue->begun++);
    batch->signature = signature;
    batch->stream = task->stream;
    batch->most = signature ? acui_batch_most(task->device, signature) : 1;
    batch->count = 0;
    return batch;
}

/* This thread adds a task. */
static void note_adder(acui_dispatch *queue)
{
    if (queue->adder && queue->adder != &me)
        queue->shared = ACUI_DISPATCH_MOST;
    else if (queue->shared)
        queue->shared--;
    queue->adder = &me;
}

static void put(acui_dispatch *queue, acui_task *task, bool joins)
{
    note_adder(queue);
    task->point->brief = joins;
    acui_batch *batch = batch_for(queue, task, joins ? task->signature : 0);
    batch->tasks[batch->count++] = task;
    if (joins)
        note_stream(queue, task);
    queue->added++;
    set_count(queue, count_of(queue) + 1);
}

bool acui_dispatch_add(acui_task *task)
{
    acui_dispatch *queue = acui_dispatch_of(task->device);
    /* What a consumer makes ready goes along: a thread that drains must not find it here again. */
    if (task->way == ACUI_WAY_DIRECT || task->prompt || innermost || !is_open(queue))
        return false;
    bool joins = is_brief(task);
    bool may, full;
    do {
        acui_lock_take(&queue->lock);
        may = is_open(queue) && queue->barred == 0;
        full = is_full(queue);
        if (may && !full)
            put(queue, task, joins);
        acui_lock_give(&queue->lock);
    } while (may && full && acui_dispatch_issue(queue));
    if (!may || full)
        return false;
    if (acui_streak_now())
        acui_streak_issued(acui_now()); /* as if this thread had issued it */
    return true;
}

/* ---- consumers ---- */

static void consumer_begin(acui_dispatch *queue, consumer *c)
{
    /* seq_cst, as in acui_dispatch_issue and acui_dispatch_drain: see there. */
    atomic_fetch_add_explicit(&queue->consumers, 1, memory_order_seq_cst);
    c->outer = innermost;
    c->queue = queue;
    c->user_code = 0;
    c->behind.count = 0;
    innermost = c;
}

/* Release: a thread that sees the lower count sees what was issued. */
static void consumer_end(acui_dispatch *queue, consumer *c)
{
    innermost = c->outer;
    atomic_fetch_sub_explicit(&queue->consumers, 1, memory_order_release);
}

/* Relaxed: a thread that drains may see it late. */
void acui_user_code_begin(void)
{
    for (consumer *c = innermost; c; c = c->outer)
        if (c->user_code++ == 0)
            atomic_fetch_add_explicit(&c->queue->in_user_code, 1, memory_order_relaxed);
}

void acui_user_code_end(void)
{
    for (consumer *c = innermost; c; c = c->outer)
        if (--c->user_code == 0)
            atomic_fetch_sub_explicit(&c->queue->in_user_code, 1, memory_order_relaxed);
}

#define ALL UINT64_MAX /* whenever it was begun */

/* As many of `count` as there may be a graph for: a power of two. */
static uint32_t piece_of(uint32_t count)
{
    uint32_t n = ACUI_BATCH_MOST;
    while (n > count)
        n /= 2;
    return n;
}

/* Take the oldest batch, if its number is less than `end`. What would take another launch stays, so
 * that more can join it; but not if there is an end to come to. */
static bool take(acui_dispatch *queue, uint64_t end, acui_batch *b)
{
    b->count = 0;
    acui_lock_take(&queue->lock);
    if (queue->taken < queue->begun && queue->taken < end) {
        acui_batch *oldest = batch_at(queue, queue->taken);
        b->count = end == ALL ? piece_of(oldest->count) : oldest->count;
        oldest->count -= b->count;
        memcpy(b->tasks, oldest->tasks, b->count * sizeof *b->tasks);
        memmove(oldest->tasks, &oldest->tasks[b->count], oldest->count * sizeof *b->tasks);
        if (oldest->count == 0)
            queue->taken++;
        set_count(queue, count_of(queue) - b->count);
    }
    acui_lock_give(&queue->lock);
    return b->count > 0;
}

/* Take those out that were given up meanwhile. They must not be issued; they are returned to be
 * run, where they fail. */
static acui_task *drop_given_up(acui_batch *b)
{
    acui_task *dropped = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        acui_task *task = b->tasks[i];
        if (!acui_gave_up(task->submission)) {
            b->tasks[kept++] = task;
            continue;
        }
        task->sound = false;
        task->way = ACUI_WAY_DIRECT;
        task->next_listed = dropped;
        dropped = task;
    }
    b->count = kept;
    return dropped;
}

/* Issue the batch. Returns tasks to be run. */
static acui_task *issue(acui_batch *b)
{
    acui_task *others = drop_given_up(b);
    for (uint32_t i = 0, n; i < b->count; i += n) {
        n = piece_of(b->count - i);
        others = acui_join_tasks(acui_issue_all(&b->tasks[i], n), others);
    }
    return others;
}

bool acui_dispatch_follow(acui_task *task)
{
    acui_batch *b = &innermost->behind;
    if (innermost->queue != acui_dispatch_of(task->device) || !is_brief(task))
        return false;
    if (b->count == 0) {
        b->signature = task->signature;
        b->stream = task->stream;
        b->most = acui_batch_most(task->device, task->signature);
    }
    if (b->signature != task->signature || b->stream != task->stream || is_whole(b))
        return false;
    task->point->brief = true;
    b->tasks[b->count++] = task;
    return true;
}

static acui_task *issue_behind(consumer *c)
{
    acui_task *ready = issue(&c->behind);
    c->behind.count = 0;
    return ready;
}

static void bar(acui_dispatch *queue, int by)
{
    acui_lock_take(&queue->lock);
    queue->barred += by;
    acui_lock_give(&queue->lock);
}

/* Issue what is there, let nothing be added meanwhile, and run these. */
static void run_barred(acui_dispatch *queue, acui_task *ready)
{
    acui_batch b;
    bar(queue, 1);
    while (take(queue, ALL, &b))
        ready = acui_join_tasks(issue(&b), ready);
    acui_run_tasks(ready);
    bar(queue, -1);
}

/* Issue the oldest batch, if its number is less than `end`, and run what comes behind. The
 * thread is a consumer. */
static bool consume(acui_dispatch *queue, uint64_t end)
{
    acui_batch b;
    if (!take(queue, end, &b))
        return false;
    bool was = acui_error_aside();
    acui_task *ready = issue(&b), *others = NULL;
    for (uint32_t n = 0; ready && !others && n < MOST; n += SOME) {
        others = acui_run_plain(&ready, SOME);
        ready = acui_join_tasks(issue_behind(innermost), ready);
        if (ready && take(queue, ALL, &b))
            ready = acui_join_tasks(ready, issue(&b));
    }
    /* Some of `others` may call functions of the program's; and followers may have no end, while
     * somebody goes on submitting them. */
    others = acui_join_tasks(others, ready);
    if (others)
        run_barred(queue, others);
    acui_error_back(was);
    return true;
}

static void consume_until(acui_dispatch *queue, uint64_t end)
{
    while (consume(queue, end))
        continue;
}

bool acui_dispatch_issue(acui_dispatch *queue)
{
    consumer c;
    bool any = false;
    if (!count_of(queue))
        return false;
    consumer_begin(queue, &c);
    /* seq_cst: this thread raises `consumers` and then loads `drains`; one that drains raises
     * `drains` and then loads `consumers`. One of the two sees the other. */
    if (atomic_load_explicit(&queue->drains, memory_order_seq_cst) == 0)
        any = consume(queue, ALL);
    consumer_end(queue, &c);
    return any;
}

void acui_dispatch_open(acui_dispatch *queue, acu_stream *stream)
{
    acui_lock_take(&queue->lock);
    set_stream(queue, stream);
    queue->adder = NULL;
    queue->shared = 0;
    atomic_store_explicit(&queue->open, 1, memory_order_relaxed);
    acui_lock_give(&queue->lock);
}

void acui_dispatch_close(acui_dispatch *queue)
{
    consumer c;
    acui_lock_take(&queue->lock);
    atomic_store_explicit(&queue->open, 0, memory_order_relaxed);
    set_stream(queue, NULL);
    acui_lock_give(&queue->lock);
    consumer_begin(queue, &c);
    consume_until(queue, ALL);
    consumer_end(queue, &c);
}

/* ---- draining ---- */

/* seq_cst: see acui_dispatch_issue. Acquire, from consumer_end: whoever is no longer counted has
 * issued what it took. */
static uint32_t count_consumers(const acui_dispatch *queue)
{
    return atomic_load_explicit(&queue->consumers, memory_order_seq_cst);
}

/* Acquire, from set_count: a thread that sees the queue empty also sees who took what was there. */
static bool is_idle(const acui_dispatch *queue)
{
    return atomic_load_explicit(&queue->count, memory_order_acquire) == 0 &&
           count_consumers(queue) == 0;
}

/* Whether all consumers are in functions of the program's, and have been for a while: those may
 * take as long as they like. *since: when that began; 0: at the last look it was not so. */
static bool all_in_user_code(const acui_dispatch *queue, uint64_t *since)
{
    uint32_t in_user_code = atomic_load_explicit(&queue->in_user_code, memory_order_relaxed);
    if (in_user_code < count_consumers(queue)) {
        *since = 0;
        return false;
    }
    uint64_t now = acui_now();
    if (*since == 0)
        *since = now;
    return now - *since > USER_CODE;
}

void acui_dispatch_drain(acu_device *device, uint64_t timeout)
{
    consumer c;
    acui_dispatch *queue = acui_dispatch_of(device);
    if (is_idle(queue))
        return;
    acui_lock_take(&queue->lock);
    uint64_t end = queue->begun;
    acui_lock_give(&queue->lock);
    atomic_fetch_add_explicit(&queue->drains, 1, memory_order_seq_cst);
    consumer_begin(queue, &c);
    consume_until(queue, end);
    consumer_end(queue, &c);
    uint64_t since = 0;
    uint64_t most = atomic_load_explicit(&acui_dispatch_drain_most, memory_order_relaxed);
    acui_nap nap = acui_nap_start(timeout < most ? timeout : most);
    /* In a callback of what this thread issues, it would wait for itself. */
    while (!innermost && count_consumers(queue) > 0 && !all_in_user_code(queue, &since) &&
           acui_nap_again(&nap))
        continue;
    atomic_fetch_sub_explicit(&queue->drains, 1, memory_order_relaxed);
}
