/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tasks that are put aside, for another thread to issue: small ones of one form as one. acui_issue
 * puts them here; the issuer, a runtime thread, or a thread that finds too many takes them, a lot
 * at a time.
 *
 * A taker counts in `taking` from before its lot leaves the list until the lot is issued and what
 * came behind it has run. acui_together_settle, for threads that name a stream, issues what it
 * finds and waits for these counts, up to a second: then everything that was here before is on its
 * stream. It does not wait for functions of the program's that a taker has come to, beyond AWAY. */
#include "engine/issue/aside.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/local.h"
#include "base/nap.h"

#define PRESSED ACU_US(200) /* two full lots within this: a runtime thread has more to do than it
                             * can */
#define AWAY ACU_US(200)    /* a function of the program's that takes longer is not waited for */

enum {
    ON_STREAM = 32, /* tasks that go to one stream of an issuer's; then it takes the next */
    SOME = 8,       /* followers that are run before the next lot is taken */
    MOST = 64,      /* followers that are run in one turn */
};

/* Never freed, like the rings of runtime threads. */
static acui_aside asides[ACUI_MAX_DEVICES];

static ACUI_LOCAL acu_device *held; /* by this thread, if it is a runtime thread; NULL: none */
_Atomic(uint64_t) acui_together_settles = ACU_MS(1000);

static ACUI_LOCAL struct begun *innermost; /* what this thread has begun */
static ACUI_LOCAL uint32_t taken;   /* lots that this thread is issuing, or running followers of */

acui_aside *acui_aside_at(unsigned ordinal)
{
    return &asides[ordinal];
}

acui_aside *acui_aside_of(const acu_device *device)
{
    return &asides[device->info.ordinal];
}

static uint32_t count_of(const acui_aside *a)
{
    return atomic_load_explicit(&a->count, memory_order_relaxed);
}

static void set_count(acui_aside *a, size_t count)
{
    atomic_store_explicit(&a->count, (uint32_t)count, memory_order_release);
}

/* Acquire, from set_taking: a thread that sees this fall, without the lock, sees everything that
 * the takers which are no longer counted have issued. */
static uint32_t taking(const acui_aside *a, unsigned side)
{
    return atomic_load_explicit(&a->taking[side], memory_order_acquire);
}

/* Release, to taking(). Lock held. */
static void set_taking(acui_aside *a, unsigned side, uint32_t count)
{
    atomic_store_explicit(&a->taking[side], count, memory_order_release);
}

static uint32_t urgent_of(const acui_aside *a)
{
    return atomic_load_explicit(&a->urgent, memory_order_relaxed);
}

static bool is_attended(const acui_aside *a)
{
    return atomic_load_explicit(&a->attended, memory_order_relaxed);
}

/* ---- taking ---- */

#define ALL UINT64_MAX /* no limit: whenever it was put there */

typedef struct lot {
    acui_task *tasks[ACUI_TOGETHER];
    size_t count;
    size_t worth; /* like `count`, but a task counts twice if its thread has more to do */
} lot;

/* Lots that a thread has begun, on each side. From the first lot on, this is in the thread's
 * list. */
typedef struct begun {
    struct begun *outer;
    acui_aside *aside;
    uint32_t on[2];
    uint32_t away; /* functions of the program's, nested, that the thread is in */
} begun;

static bool go_together(const acui_waiting_task *a, const acui_waiting_task *b)
{
    return a->form == b->form && a->stream == b->stream;
}

/* Take the oldest task, and others of its form, as many as may go together. Lock held. */
static void take_form(acui_aside *a, lot *l)
{
    size_t count = count_of(a), same = 0, kept = 0;
    const acui_waiting_task first = a->kept[0];
    size_t most = first.form ? acui_together_most(first.form) : 1;
    uint32_t urgent = 0;
    for (size_t i = 0; i < count; i++)
        same += go_together(&a->kept[i], &first);
    while (most > same)
        most /= 2;
    l->count = l->worth = 0;
    for (size_t i = 0; i < count; i++) {
        if (l->count < most && go_together(&a->kept[i], &first)) {
            l->tasks[l->count++] = a->kept[i].task;
            l->worth += 1 + a->kept[i].burst;
        } else {
            urgent += a->kept[i].urgent;
            a->kept[kept++] = a->kept[i];
        }
    }
    atomic_store_explicit(&a->urgent, urgent, memory_order_relaxed);
    set_count(a, kept);
}

/* Take a lot if the oldest task was put there before place `end`; it may include tasks of that form
 * that came later. False: no task is that old. */
static bool take(acui_aside *a, uint64_t end, lot *l, begun *mine)
{
    l->count = 0;
    acui_lock_take(&a->lock);
    if (count_of(a) && a->kept[0].place < end) {
        set_taking(a, a->side, taking(a, a->side) + 1);
        mine->on[a->side]++;
        taken++;
        if (!mine->aside) {
            mine->aside = a;
            mine->outer = innermost;
            innermost = mine;
        }
        take_form(a, l);
    }
    acui_lock_give(&a->lock);
    return l->count > 0;
}

static void done(acui_aside *a, const begun *mine)
{
    taken -= mine->on[0] + mine->on[1];
    if (mine->aside)
        innermost = mine->outer;
    acui_lock_take(&a->lock);
    for (unsigned side = 0; side < 2; side++)
        set_taking(a, side, taking(a, side) - mine->on[side]);
    acui_lock_give(&a->lock);
}

/* Relaxed: a thread that settles may see it late. */
void acui_together_away(void)
{
    for (begun *b = innermost; b; b = b->outer)
        if (b->away++ == 0)
            atomic_fetch_add_explicit(&b->aside->away, b->on[0] + b->on[1], memory_order_relaxed);
}

void acui_together_back(void)
{
    for (begun *b = innermost; b; b = b->outer)
        if (--b->away == 0)
            atomic_fetch_sub_explicit(&b->aside->away, b->on[0] + b->on[1], memory_order_relaxed);
}

/* ---- issuing ---- */

/* Take those out that were given up meanwhile. They must not be issued; they are returned to be
 * run, where they fail. */
static acui_task *drop_given_up(lot *l)
{
    acui_task *dropped = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++) {
        acui_task *task = l->tasks[i];
        if (!acui_gave_up(task->submission)) {
            l->tasks[kept++] = task;
            continue;
        }
        task->sound = task->aside = task->together = false;
        task->next_ready = dropped;
        dropped = task;
    }
    l->count = kept;
    return dropped;
}

/* Note the lot's mark. Only for a runtime thread, which holds the device and so its streams. */
static void note_lot(acui_aside *a, acu_stream *stream)
{
    a->issued[a->lots++ % 2] =
        (struct acui_lot){.stream = stream, .number = acui_stream_last(stream)};
}

/* Issue the lot. Returns tasks to be run. */
static acui_task *issue(acui_aside *a, lot *l)
{
    size_t whole = l->count;
    acu_stream *stream = l->tasks[0]->stream;
    bool stays = l->tasks[0]->device == held; /* then so does the stream */
    acui_task *others = drop_given_up(l);
    if (l->count == whole)
        others = acui_issue_all(l->tasks, whole);
    /* If some were dropped, one by one: hardly any form has a graph for such a number. */
    for (size_t i = 0; i < l->count && l->count < whole; i++)
        others = acui_join_tasks(acui_issue_all(&l->tasks[i], 1), others);
    if (stays)
        note_lot(a, stream);
    return others;
}

static bool issue_some(acui_aside *a, uint64_t end)
{
    lot l;
    begun mine = {.on = {0}};
    if (!take(a, end, &l, &mine))
        return false;
    bool was = acui_error_aside();
    acui_run_tasks(issue(a, &l));
    acui_error_back(was);
    done(a, &mine);
    return true;
}

/* ---- the issuer ---- */

void acui_aside_attend(acui_aside *a, acu_stream *stream)
{
    acui_lock_take(&a->lock);
    if (stream) {
        a->stream = stream;
        a->on_stream = 0;
    }
    atomic_store_explicit(&a->attended, true, memory_order_relaxed);
    acui_lock_give(&a->lock);
}

/* Stop others from putting tasks there, and issue what they have put; returns tasks to be run. */
static acui_task *desert(acui_aside *a, begun *mine)
{
    lot l;
    acui_task *others = NULL;
    acui_lock_take(&a->lock);
    atomic_store_explicit(&a->attended, false, memory_order_relaxed);
    uint64_t end = a->put; /* a runtime thread may put more, for itself */
    acui_lock_give(&a->lock);
    while (take(a, end, &l, mine))
        others = acui_join_tasks(issue(a, &l), others);
    return others;
}

void acui_aside_desert(acui_aside *a)
{
    begun mine = {.on = {0}};
    acui_run_tasks(desert(a, &mine));
    done(a, &mine);
}

uint32_t acui_aside_may_grow(const acui_aside *a)
{
    uint32_t count = count_of(a);
    return count < ACUI_TOGETHER && !urgent_of(a) ? count : 0;
}

size_t acui_aside_turn(acui_aside *a)
{
    lot l;
    begun mine = {.on = {0}};
    if (!take(a, ALL, &l, &mine))
        return 0;
    size_t worth = l.worth;
    acui_task *ready = issue(a, &l), *others = NULL;
    for (uint32_t n = 0; ready && !others && n < MOST; n += SOME) {
        others = acui_run_plain(&ready, SOME);
        if (ready && take(a, ALL, &l, &mine)) {
            worth += l.worth;
            ready = acui_join_tasks(ready, issue(a, &l));
        }
    }
    /* Some of `others` may call functions of the program's; and followers may have no end, while
     * somebody goes on submitting them. So nothing is aside meanwhile. */
    others = acui_join_tasks(others, ready);
    if (others) {
        others = acui_join_tasks(desert(a, &mine), others);
        acui_run_tasks(others);
        acui_aside_attend(a, NULL);
    }
    done(a, &mine);
    return worth;
}

/* ---- putting aside ---- */

static bool comes_behind_any(const acui_task *task)
{
    bool any = false;
    if (task->before_count == 0)
        return false;
    acui_order_lock();
    for (size_t i = 0; i < task->before_count && !any; i++)
        any = task->before[i].point->state != ACUI_POINT_OVER;
    acui_order_unlock();
    return any;
}

/* Whether nothing was there for a while: then the device had better begin with this one. */
static bool begins(acui_aside *a)
{
    if (count_of(a))
        return false;
    a->since = acui_now();
    return a->since > a->flushed_at + ACUI_TOGETHER_LIMIT && !acui_together_is_timeless();
}

/* Tasks to come get another stream now and then, so that they do not all wait for each other. */
static void note_stream(acui_aside *a, const acui_task *task, bool attended)
{
    if (!attended && count_of(a) == 0) {
        a->stream = task->stream;
        a->on_stream = 0;
    } else if (++a->on_stream >= (attended ? ON_STREAM : ACUI_TOGETHER)) {
        a->stream = acui_policy_pick(task->device->policy);
        a->on_stream = 0;
    }
}

/* Whether the thread that puts one more there had better issue some. What goes alone gets no faster
 * by this: two threads are then in the driver, each on its stream. */
static bool is_full(const acui_aside *a, size_t count)
{
    size_t most = is_attended(a) ? ACUI_MOST_ASIDE : ACUI_TOGETHER;
    return count >= most || urgent_of(a) >= ACUI_TOGETHER;
}

/* Put the task there. Returns how many there are then; 0: it can not be put there. */
static size_t add(acui_aside *a, acui_task *task, bool joins, bool own)
{
    bool burst = acui_together_in_burst(task);
    acui_lock_take(&a->lock);
    size_t count = count_of(a);
    bool attended = is_attended(a) && a->device == task->device;
    bool may = (own || attended) && count < ACUI_MOST_ASIDE && (!count || a->of == task->device);
    if (may) {
        if (joins)
            note_stream(a, task, attended);
        a->of = task->device;
        a->kept[count++] = (acui_waiting_task){.task = task,
                                               .stream = task->stream,
                                               .form = joins ? task->form : 0,
                                               .place = a->put++,
                                               .urgent = !joins || task->prompt,
                                               .burst = burst};
        if (!joins || task->prompt)
            atomic_store_explicit(&a->urgent, urgent_of(a) + 1, memory_order_relaxed);
        set_count(a, count);
    }
    acui_lock_give(&a->lock);
    if (may && burst) /* counts as issued by this thread */
        acui_together_issued(acui_now());
    return may ? count : 0;
}

/* There are as many as go together, and nobody took them: the runtime thread could do with help. */
static void note_full(acui_aside *a)
{
    uint64_t now = acui_now();
    if (now < a->full_at + PRESSED)
        acui_issuer_ask(held);
    a->full_at = now;
}

bool acui_together_put(acui_task *task)
{
    if (!task->aside || taken) /* what this thread frees while it issues a lot goes along with that:
                                * a thread that settles must not find it here again */
        return false;
    acui_aside *a = acui_aside_of(task->device);
    bool own = held == task->device && task->together, alone = own && !is_attended(a);
    if (!own && !is_attended(a))
        return false;
    bool joins = task->together && !comes_behind_any(task);
    if (!joins && (alone || !acui_together_in_burst(task)))
        return false;
    if (alone && begins(a)) {
        acui_run_tasks(acui_issue_all(&task, 1));
        a->flushed_at = acui_now();
        return true;
    }
    size_t count = add(a, task, joins, own && joins);
    if (count >= ACUI_TOGETHER && alone)
        note_full(a);
    if (is_full(a, count))
        issue_some(a, ALL);
    return count > 0;
}

bool acui_together_collects(const acu_device *device)
{
    return held == device || is_attended(acui_aside_of(device));
}

acu_stream *acui_together_lane(const acu_device *device)
{
    acui_aside *a = acui_aside_of(device);
    acui_lock_take(&a->lock);
    bool known = is_attended(a) ? a->device == device : count_of(a) && a->of == device;
    acu_stream *stream = known ? a->stream : NULL;
    acui_lock_give(&a->lock);
    return stream;
}

/* ---- of runtime threads ---- */

bool acui_together_left(void)
{
    return held && count_of(acui_aside_of(held)) && !is_attended(acui_aside_of(held));
}

void acui_together_flush(void)
{
    if (!acui_together_left())
        return;
    acui_aside *a = acui_aside_of(held);
    while (acui_together_left() && issue_some(a, ALL))
        continue;
    a->flushed_at = acui_now();
}

bool acui_together_may_grow(void)
{
    acui_aside *a = acui_aside_of(held);
    for (size_t i = 0; i < 2; i++)
        if (!a->issued[i].stream || acui_stream_reached(a->issued[i].stream, a->issued[i].number))
            return false;
    return acui_now() < a->since + ACUI_TOGETHER_HOLD;
}

void acui_together_hold(acu_device *device)
{
    acui_together_flush();
    held = device;
    if (device)
        acui_aside_of(device)->issued[0].stream = acui_aside_of(device)->issued[1].stream = NULL;
}

/* ---- waiting ---- */

/* Change sides while no taker counts on the side that gets no new ones; each change is a turn.
 * Whether `turn` is reached: two turns after any moment, all takers of that moment are done. */
static bool is_settled(acui_aside *a, uint64_t turn)
{
    acui_lock_take(&a->lock);
    for (; a->turns < turn && taking(a, !a->side) == 0; a->turns++)
        a->side = !a->side;
    bool settled = a->turns >= turn;
    acui_lock_give(&a->lock);
    return settled;
}

/* Acquire, from set_count: a thread that sees the list empty also sees the counts of the takers. */
static bool is_idle(const acui_aside *a)
{
    return atomic_load_explicit(&a->count, memory_order_acquire) == 0 && !taking(a, 0) &&
           !taking(a, 1);
}

/* Whether all takers are in functions of the program's, and have been for a while: those may take
 * as long as they like. *since: when that began; 0: at the last look it was not so. */
static bool are_away(const acui_aside *a, uint64_t *since)
{
    if (atomic_load_explicit(&a->away, memory_order_relaxed) < taking(a, 0) + taking(a, 1)) {
        *since = 0;
        return false;
    }
    uint64_t now = acui_now();
    if (*since == 0)
        *since = now;
    return now - *since > AWAY;
}

void acui_together_settle(acu_device *device, uint64_t timeout)
{
    acui_aside *a = acui_aside_of(device);
    if (is_idle(a))
        return;
    acui_lock_take(&a->lock);
    uint64_t end = a->put;
    acui_lock_give(&a->lock);
    while (issue_some(a, end))
        continue;
    if (taken) /* in a callback of what this thread issues: it would wait for itself */
        return;
    acui_lock_take(&a->lock);
    uint64_t turn = a->turns + 2;
    acui_lock_give(&a->lock);
    uint64_t since = 0;
    uint64_t most = atomic_load_explicit(&acui_together_settles, memory_order_relaxed);
    acui_nap nap = acui_nap_start(timeout < most ? timeout : most);
    while (!is_settled(a, turn) && !are_away(a, &since) && acui_nap_again(&nap))
        continue;
}
