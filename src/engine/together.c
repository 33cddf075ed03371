/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small tasks that are put aside, and issued as one. */
#include "engine/together.h"

#include "base/clock.h"
#include "base/local.h"
#include "engine/flight.h"

#define LIMIT ACU_US(100) /* what one of them may be told too late, at most */

static ACUI_LOCAL acui_together *aside;

void acui_together_use(acui_together *together)
{
    aside = together;
}


/* ---- how many of a form ---- */

/* Each form in the one place that its hash says: its hash, but for the lowest bits, which say how
 * many. Relaxed: guesses. */
enum { PLACES = 512, COUNT_BITS = 0xFF };
static _Atomic(uint64_t) known[PLACES];

static _Atomic(uint64_t) *place_of(uint64_t form)
{
    return &known[(form >> 20) % PLACES];
}

unsigned acui_together_most(uint64_t form)
{
    uint64_t word = atomic_load_explicit(place_of(form), memory_order_relaxed);
    return (word ^ form) & ~(uint64_t)COUNT_BITS ? 0 : (unsigned)(word & COUNT_BITS);
}

static void learn(uint64_t form, unsigned count, uint64_t least, uint64_t most)
{
    unsigned was = acui_together_most(form), now = was;
    if (most <= LIMIT && count >= was)
        now = count < ACUI_TOGETHER ? 2 * count : count;
    else if (least > LIMIT)
        now = count / 2;
    if (now != was)
        atomic_store_explicit(place_of(form), (form & ~(uint64_t)COUNT_BITS) | now,
                              memory_order_relaxed);
}

/* What ended with one mark is of one form. Behind the first nobody knows when it began, but not
 * before it was issued. */
void acui_together_learn(const acui_task *first, const acui_task *end, uint64_t start,
                         uint64_t looked, uint64_t now)
{
    uint64_t least = looked > start ? looked - start : 0;
    while (first != end) {
        unsigned count = 0;
        const acui_task *task = first;
        for (; task != end && task->number == first->number; task = task->next_on_stream)
            count++;
        if (first->form)
            learn(first->form, count, least, now - start);
        if (task != end)
            start = task->issued_at;
        least = 0;
        first = task;
    }
}

/* ---- which ---- */

/* The submission asked for nothing that could not be kept so. */
static bool is_plain(const acui_submission *s)
{
    return !s->stream && !s->policy && !s->priority && !s->story && !s->warm && !s->serial &&
           !s->outer && !s->shares && s->planned && !s->entered;
}

static bool allocates_only(const acui_task *task)
{
    for (size_t i = 0; i < task->count; i++)
        if (task->nodes[i]->kind == ACUI_NODE_UPLOAD)
            return false;
    return true;
}

static bool fits(const acui_task *task)
{
    const acui_run *run = task->runs;
    if (!run || run->next || !run->graph || run->count > ACUI_TOGETHER_NODES || task->next)
        return false;
    const acu_device *device = task->device;
    return !task->part && !task->binds && device->policy->count > 1 && !device->one_by_one &&
           is_plain(task->submission) &&
           (task->body_count == task->count || allocates_only(task));
}

acu_stream *acui_together_stream(acui_task *task)
{
    if (!aside || !fits(task))
        return NULL;
    task->form = acui_form_of(task);
    task->together = acui_together_most(task->form) > 1;
    bool joins = task->together && aside->count && aside->tasks[0]->device == task->device;
    return joins ? aside->stream : NULL;
}

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

/* Nothing but what is put aside: the device had better begin. Relaxed: a guess. */
static bool is_idle(const acu_device *device)
{
    return atomic_load_explicit(&device->in_flight, memory_order_relaxed) <= aside->count;
}

bool acui_together_put(acui_task *task, acui_task **others)
{
    if (!aside || !task->together || (aside->count && aside->stream != task->stream) ||
        comes_behind_any(task))
        return false;
    aside->stream = task->stream;
    aside->tasks[aside->count++] = task;
    bool now = aside->count == ACUI_TOGETHER || is_idle(task->device);
    *others = now ? acui_together_flush() : NULL;
    return true;
}

/* ---- issuing ---- */

/* Tasks of the first one's form, as many as may go together, from the list; how many. */
static size_t take_form(acui_task **list, size_t *count, acui_task **taken)
{
    uint64_t form = list[0]->form;
    size_t most = acui_together_most(form), n = 0, kept = 0, same = 0;
    for (size_t i = 0; i < *count; i++)
        same += list[i]->form == form;
    while (most > same)
        most /= 2;
    for (size_t i = 0; i < *count; i++) {
        if (list[i]->form == form && (n < most || n == 0))
            taken[n++] = list[i];
        else
            list[kept++] = list[i];
    }
    *count = kept;
    return n;
}

/* Those that were given up meanwhile are not to be issued: they are asked again. */
static acui_task *drop_given_up(acui_task **list, size_t *count)
{
    acui_task *dropped = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        acui_task *task = list[i];
        if (!acui_gave_up(task->submission)) {
            list[kept++] = task;
            continue;
        }
        task->sound = task->together = false;
        task->next_ready = dropped;
        dropped = task;
    }
    *count = kept;
    return dropped;
}

acui_task *acui_together_flush(void)
{
    if (!aside || aside->count == 0)
        return NULL;
    acui_task *list[ACUI_TOGETHER], *some[ACUI_TOGETHER];
    size_t count = aside->count;
    for (size_t i = 0; i < count; i++)
        list[i] = aside->tasks[i];
    aside->count = 0;
    acui_task *others = drop_given_up(list, &count);
    while (count) {
        size_t n = take_form(list, &count, some);
        others = acui_join_tasks(others, acui_issue_all(some, n));
    }
    return others;
}

void acui_together_pause(void)
{
    while (aside && aside->count)
        acui_run_tasks(acui_together_flush());
}
