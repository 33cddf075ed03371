/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Deferred tasks, which another thread issues, or this one later: small ones of one form as a
 * batch, others as batches of one. acui_issue adds them to the device's list; the issuer, a runtime
 * thread, or a thread that finds the list full takes them, a batch at a time.
 *
 * A batch counts as unfinished from before it leaves the list until it is issued and what came
 * behind it has run. acui_deferred_drain, for threads that name a stream, issues what it finds and
 * waits for these counts, up to a second: then everything that was here before is on its stream. It
 * does not wait for functions of the program's that come up meanwhile, beyond USER_CODE. */
#include "engine/issue/deferred.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"
#include "engine/issue/issue.h"
#include "engine/order/order.h"

#define PRESSED ACU_US(200)   /* the list full twice within this: a runtime thread has more to do
                               * than it can */
#define USER_CODE ACU_US(200) /* a function of the program's that takes longer is not waited for */

enum {
    ON_STREAM = 32, /* tasks that go to one stream of an issuer's; then it takes the next */
    SOME = 8,       /* followers that are run before the next batch is taken */
    MOST = 64,      /* followers that are run before the issuer looks up */
};

/* Never freed, like the rings of runtime threads. */
static acui_deferred lists[ACUI_MAX_DEVICES];

static ACUI_LOCAL acu_device *owned; /* by this thread, if it is a runtime thread; NULL: none */
_Atomic(uint64_t) acui_deferred_drain_most = ACU_MS(1000);

static ACUI_LOCAL struct taker *innermost;   /* what this thread has taken and not finished */
static ACUI_LOCAL uint32_t taken_unfinished; /* how many batches that are */

acui_deferred *acui_deferred_at(unsigned ordinal)
{
    return &lists[ordinal];
}

acui_deferred *acui_deferred_of(const acu_device *device)
{
    return &lists[device->info.ordinal];
}

static uint32_t count_of(const acui_deferred *list)
{
    return atomic_load_explicit(&list->count, memory_order_relaxed);
}

static void set_count(acui_deferred *list, size_t count)
{
    atomic_store_explicit(&list->count, (uint32_t)count, memory_order_release);
}

/* Acquire, from set_unfinished: a thread that sees this fall, without the lock, sees everything
 * that was issued with the batches which are no longer counted. */
static uint32_t unfinished(const acui_deferred *list, unsigned side)
{
    return atomic_load_explicit(&list->unfinished[side], memory_order_acquire);
}

/* Release, to unfinished(). Lock held. */
static void set_unfinished(acui_deferred *list, unsigned side, uint32_t count)
{
    atomic_store_explicit(&list->unfinished[side], count, memory_order_release);
}

static uint32_t immediate_of(const acui_deferred *list)
{
    return atomic_load_explicit(&list->immediate, memory_order_relaxed);
}

static bool is_open(const acui_deferred *list)
{
    return atomic_load_explicit(&list->open, memory_order_relaxed);
}

/* ---- taking ---- */

#define ALL UINT64_MAX /* no limit: whenever it was added */

typedef struct batch {
    acui_task *tasks[ACUI_BATCH_MOST];
    size_t count;
    size_t worth; /* like `count`, but a task counts twice if its thread has more to do */
} batch;

/* A thread that takes batches, with those that it has not finished, by their sides. From the first
 * batch on, this is in the thread's list. */
typedef struct taker {
    struct taker *outer;
    acui_deferred *list;
    uint32_t on[2];
    uint32_t user_code; /* functions of the program, nested, that the thread is in */
} taker;

static bool may_be_one_batch(const acui_deferred_task *a, const acui_deferred_task *b)
{
    return a->form == b->form && a->stream == b->stream;
}

/* Take the oldest task, and others of its form, as many as may be batched. Lock held. */
static void take_form(acui_deferred *list, batch *b)
{
    size_t count = count_of(list), same = 0, kept = 0;
    const acui_deferred_task first = list->tasks[0];
    size_t most = first.form ? acui_batch_most(first.task->device, first.form) : 1;
    uint32_t immediate = 0;
    for (size_t i = 0; i < count; i++)
        same += may_be_one_batch(&list->tasks[i], &first);
    while (most > same)
        most /= 2;
    b->count = b->worth = 0;
    for (size_t i = 0; i < count; i++) {
        if (b->count < most && may_be_one_batch(&list->tasks[i], &first)) {
            b->tasks[b->count++] = list->tasks[i].task;
            b->worth += 1 + list->tasks[i].thread_busy;
        } else {
            immediate += list->tasks[i].immediate;
            list->tasks[kept++] = list->tasks[i];
        }
    }
    atomic_store_explicit(&list->immediate, immediate, memory_order_relaxed);
    set_count(list, kept);
}

/* Take a batch if the oldest task was added before place `end`; it may include tasks of that form
 * that came later. False: no task is that old. */
static bool take(acui_deferred *list, uint64_t end, batch *b, taker *mine)
{
    b->count = 0;
    acui_lock_take(&list->lock);
    if (count_of(list) && list->tasks[0].place < end) {
        set_unfinished(list, list->side, unfinished(list, list->side) + 1);
        mine->on[list->side]++;
        taken_unfinished++;
        if (!mine->list) {
            mine->list = list;
            mine->outer = innermost;
            innermost = mine;
        }
        take_form(list, b);
    }
    acui_lock_give(&list->lock);
    return b->count > 0;
}

/* All that was taken is issued, and what came behind has run. */
static void finish(acui_deferred *list, const taker *mine)
{
    taken_unfinished -= mine->on[0] + mine->on[1];
    if (mine->list)
        innermost = mine->outer;
    acui_lock_take(&list->lock);
    for (unsigned side = 0; side < 2; side++)
        set_unfinished(list, side, unfinished(list, side) - mine->on[side]);
    acui_lock_give(&list->lock);
}

/* Relaxed: a thread that drains may see it late. */
void acui_user_code_begin(void)
{
    for (taker *t = innermost; t; t = t->outer)
        if (t->user_code++ == 0)
            atomic_fetch_add_explicit(&t->list->in_user_code, t->on[0] + t->on[1],
                                      memory_order_relaxed);
}

void acui_user_code_end(void)
{
    for (taker *t = innermost; t; t = t->outer)
        if (--t->user_code == 0)
            atomic_fetch_sub_explicit(&t->list->in_user_code, t->on[0] + t->on[1],
                                      memory_order_relaxed);
}

/* ---- issuing ---- */

/* Take those out that were given up meanwhile. They must not be issued; they are returned to be
 * run, where they fail. */
static acui_task *drop_given_up(batch *b)
{
    acui_task *dropped = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        acui_task *task = b->tasks[i];
        if (!acui_gave_up(task->submission)) {
            b->tasks[kept++] = task;
            continue;
        }
        task->sound = task->deferrable = task->batchable = false;
        task->next_ready = dropped;
        dropped = task;
    }
    b->count = kept;
    return dropped;
}

/* Note the batch's mark. Only for a runtime thread, which has the device entered, and so keeps its
 * streams. */
static void note_mark(acui_deferred *list, acu_stream *stream)
{
    list->last_marks[list->batches++ % 2] =
        (struct acui_batch_mark){.stream = stream, .number = acui_stream_last(stream)};
}

/* Issue the batch. Returns tasks to be run. */
static acui_task *issue(acui_deferred *list, batch *b)
{
    size_t whole = b->count;
    acu_stream *stream = b->tasks[0]->stream;
    bool stays = b->tasks[0]->device == owned; /* then so does the stream */
    acui_task *others = drop_given_up(b);
    if (b->count == whole)
        others = acui_issue_all(b->tasks, whole);
    /* If some were dropped, one by one: hardly any form has a graph for such a number. */
    for (size_t i = 0; i < b->count && b->count < whole; i++)
        others = acui_join_tasks(acui_issue_all(&b->tasks[i], 1), others);
    if (stays)
        note_mark(list, stream);
    return others;
}

static bool issue_one_batch(acui_deferred *list, uint64_t end)
{
    batch b;
    taker mine = {.on = {0}};
    if (!take(list, end, &b, &mine))
        return false;
    bool was = acui_error_aside();
    acui_run_tasks(issue(list, &b));
    acui_error_back(was);
    finish(list, &mine);
    return true;
}

/* ---- the issuer ---- */

void acui_deferred_open(acui_deferred *list, acu_stream *stream)
{
    acui_lock_take(&list->lock);
    if (stream) {
        list->stream = stream;
        list->on_stream = 0;
    }
    atomic_store_explicit(&list->open, true, memory_order_relaxed);
    acui_lock_give(&list->lock);
}

/* Stop others from adding tasks, and issue what they have added; returns tasks to be run. */
static acui_task *close_list(acui_deferred *list, taker *mine)
{
    batch b;
    acui_task *others = NULL;
    acui_lock_take(&list->lock);
    atomic_store_explicit(&list->open, false, memory_order_relaxed);
    uint64_t end = list->added; /* a runtime thread may add more, for itself */
    acui_lock_give(&list->lock);
    while (take(list, end, &b, mine))
        others = acui_join_tasks(issue(list, &b), others);
    return others;
}

void acui_deferred_close(acui_deferred *list)
{
    taker mine = {.on = {0}};
    acui_run_tasks(close_list(list, &mine));
    finish(list, &mine);
}

uint32_t acui_deferred_joinable(const acui_deferred *list)
{
    uint32_t count = count_of(list);
    return count < ACUI_BATCH_MOST && !immediate_of(list) ? count : 0;
}

size_t acui_deferred_issue(acui_deferred *list)
{
    batch b;
    taker mine = {.on = {0}};
    if (!take(list, ALL, &b, &mine))
        return 0;
    size_t worth = b.worth;
    acui_task *ready = issue(list, &b), *others = NULL;
    for (uint32_t n = 0; ready && !others && n < MOST; n += SOME) {
        others = acui_run_plain(&ready, SOME);
        if (ready && take(list, ALL, &b, &mine)) {
            worth += b.worth;
            ready = acui_join_tasks(ready, issue(list, &b));
        }
    }
    /* Some of `others` may call functions of the program's; and followers may have no end, while
     * somebody goes on submitting them. So nothing is deferred meanwhile. */
    others = acui_join_tasks(others, ready);
    if (others) {
        others = acui_join_tasks(close_list(list, &mine), others);
        acui_run_tasks(others);
        acui_deferred_open(list, NULL);
    }
    finish(list, &mine);
    return worth;
}

/* ---- adding ---- */

static bool comes_behind_any(const acui_task *task)
{
    bool any = false;
    if (task->before_count == 0)
        return false;
    acui_order_lock(task->homes);
    for (size_t i = 0; i < task->before_count && !any; i++)
        any = task->before[i].point->state != ACUI_POINT_OVER;
    acui_order_unlock(task->homes);
    return any;
}

/* Whether nothing was there for a while: then the device had better begin with this one. */
static bool ends_pause(acui_deferred *list)
{
    if (count_of(list))
        return false;
    list->since = acui_now();
    return list->since > list->flushed_at + ACUI_BATCH_TIME && !acui_batch_is_timeless();
}

/* Tasks to come get another stream now and then, so that they do not all wait for each other. */
static void note_stream(acui_deferred *list, const acui_task *task, bool open)
{
    if (!open && count_of(list) == 0) {
        list->stream = task->stream;
        list->on_stream = 0;
    } else if (++list->on_stream >= (open ? ON_STREAM : ACUI_BATCH_MOST)) {
        list->stream = acui_policy_pick(task->device->policy);
        list->on_stream = 0;
    }
}

/* Whether the thread that adds one more had better issue some. What goes alone gets no faster by
 * this: two threads are then in the driver, each on its stream. */
static bool is_full(const acui_deferred *list, size_t count)
{
    size_t most = is_open(list) ? ACUI_DEFERRED_MOST : ACUI_BATCH_MOST;
    return count >= most || immediate_of(list) >= ACUI_BATCH_MOST;
}

/* Add the task. Returns how many there are then; 0: it can not be added. */
static size_t add(acui_deferred *list, acui_task *task, bool joins, bool own)
{
    bool busy = acui_issuer_would_help(task);
    acui_lock_take(&list->lock);
    size_t count = count_of(list);
    bool open = is_open(list) && list->device == task->device;
    bool may = (own || open) && count < ACUI_DEFERRED_MOST &&
               (!count || list->of == task->device);
    if (may) {
        if (joins)
            note_stream(list, task, open);
        list->of = task->device;
        list->tasks[count++] = (acui_deferred_task){.task = task,
                                                    .stream = task->stream,
                                                    .form = joins ? task->form : 0,
                                                    .place = list->added++,
                                                    .immediate = !joins || task->prompt,
                                                    .thread_busy = busy};
        if (!joins || task->prompt)
            atomic_store_explicit(&list->immediate, immediate_of(list) + 1, memory_order_relaxed);
        set_count(list, count);
    }
    acui_lock_give(&list->lock);
    if (may && busy) /* counts as issued by this thread */
        acui_streak_issued(acui_now());
    return may ? count : 0;
}

/* There are as many as go into a batch, and nobody took them: the runtime thread could do with
 * help. */
static void note_full(acui_deferred *list)
{
    uint64_t now = acui_now();
    if (now < list->full_at + PRESSED)
        acui_issuer_ask(owned);
    list->full_at = now;
}

bool acui_defer(acui_task *task)
{
    if (!task->deferrable || taken_unfinished) /* what this thread frees while it issues a batch
                                                * goes along with that: a thread that drains must
                                                * not find it here again */
        return false;
    acui_deferred *list = acui_deferred_of(task->device);
    bool own = owned == task->device && task->batchable, alone = own && !is_open(list);
    if (!own && !is_open(list))
        return false;
    bool joins = task->batchable && !comes_behind_any(task);
    if (!joins && (alone || !acui_issuer_would_help(task)))
        return false;
    if (alone && ends_pause(list)) {
        acui_run_tasks(acui_issue_all(&task, 1));
        list->flushed_at = acui_now();
        return true;
    }
    size_t count = add(list, task, joins, own && joins);
    if (own)
        list->without = 0;
    if (count >= ACUI_BATCH_MOST && alone)
        note_full(list);
    if (is_full(list, count))
        issue_one_batch(list, ALL);
    return count > 0;
}

bool acui_deferred_accepts(const acu_device *device)
{
    return owned == device || is_open(acui_deferred_of(device));
}

acu_stream *acui_deferred_stream(const acu_device *device)
{
    acui_deferred *list = acui_deferred_of(device);
    acui_lock_take(&list->lock);
    bool known = is_open(list) ? list->device == device : count_of(list) && list->of == device;
    acu_stream *stream = known ? list->stream : NULL;
    acui_lock_give(&list->lock);
    return stream;
}

/* ---- of runtime threads ---- */

bool acui_deferred_must_flush(void)
{
    return owned && count_of(acui_deferred_of(owned)) && !is_open(acui_deferred_of(owned));
}

bool acui_deferred_waits_in_vain(void)
{
    return acui_deferred_must_flush() && ++acui_deferred_of(owned)->without > ACUI_BATCH_MOST;
}

void acui_deferred_flush(void)
{
    if (!acui_deferred_must_flush())
        return;
    acui_deferred *list = acui_deferred_of(owned);
    while (acui_deferred_must_flush() && issue_one_batch(list, ALL))
        continue;
    list->flushed_at = acui_now();
}

bool acui_deferred_may_wait(void)
{
    acui_deferred *list = acui_deferred_of(owned);
    for (size_t i = 0; i < 2; i++)
        if (!list->last_marks[i].stream ||
            acui_stream_reached(list->last_marks[i].stream, list->last_marks[i].number))
            return false;
    return acui_now() < list->since + ACUI_BATCH_DELAY;
}

void acui_deferred_own(acu_device *device)
{
    acui_deferred_flush();
    owned = device;
    if (device) {
        acui_deferred *list = acui_deferred_of(device);
        list->last_marks[0].stream = list->last_marks[1].stream = NULL;
    }
}

/* ---- draining ---- */

/* Change sides while nothing is unfinished on the side that gets no new batches. Whether `flips` is
 * reached: two flips after any moment, all batches of that moment are finished. */
static bool is_drained(acui_deferred *list, uint64_t flips)
{
    acui_lock_take(&list->lock);
    for (; list->flips < flips && unfinished(list, !list->side) == 0; list->flips++)
        list->side = !list->side;
    bool drained = list->flips >= flips;
    acui_lock_give(&list->lock);
    return drained;
}

/* Acquire, from set_count: a thread that sees the list empty also sees the counts of the batches
 * that were taken from it. */
static bool is_idle(const acui_deferred *list)
{
    return atomic_load_explicit(&list->count, memory_order_acquire) == 0 && !unfinished(list, 0) &&
           !unfinished(list, 1);
}

/* Whether the threads of all unfinished batches are in functions of the program's, and have been
 * for a while: those may take as long as they like. *since: when that began; 0: at the last look it
 * was not so. */
static bool all_in_user_code(const acui_deferred *list, uint64_t *since)
{
    uint32_t in_user_code = atomic_load_explicit(&list->in_user_code, memory_order_relaxed);
    if (in_user_code < unfinished(list, 0) + unfinished(list, 1)) {
        *since = 0;
        return false;
    }
    uint64_t now = acui_now();
    if (*since == 0)
        *since = now;
    return now - *since > USER_CODE;
}

void acui_deferred_drain(acu_device *device, uint64_t timeout)
{
    acui_deferred *list = acui_deferred_of(device);
    if (is_idle(list))
        return;
    acui_lock_take(&list->lock);
    uint64_t end = list->added;
    acui_lock_give(&list->lock);
    while (issue_one_batch(list, end))
        continue;
    if (taken_unfinished) /* in a callback of what this thread issues: it would wait for itself */
        return;
    acui_lock_take(&list->lock);
    uint64_t flips = list->flips + 2;
    acui_lock_give(&list->lock);
    uint64_t since = 0;
    uint64_t most = atomic_load_explicit(&acui_deferred_drain_most, memory_order_relaxed);
    acui_nap nap = acui_nap_start(timeout < most ? timeout : most);
    while (!is_drained(list, flips) && !all_in_user_code(list, &since) && acui_nap_again(&nap))
        continue;
}
