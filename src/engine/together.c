/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small tasks that are put aside, and issued as one. */
#include "engine/together.h"

#include "base/clock.h"
#include "base/local.h"
#include "engine/flight.h"

#define LIMIT ACU_US(100) /* what all that go together may take */
#define HOLD ACU_US(20)   /* what one of them may be issued too late */

static ACUI_LOCAL acui_together *aside;

void acui_together_use(acui_together *together)
{
    aside = together;
}


/* ---- how many of a form ---- */

/*
 * What one of a form takes when the device is busy with such, as far as it shows: at most the time
 * since the device was last seen to end anything, shared out among those that were found over; at
 * least that until one looked before. Between these it rises slowly, in case that was luck.
 *
 * Each form in the one place that its hash says: its hash, but for the lowest bits, which say how
 * long, in units. Relaxed: guesses.
 */
enum { PLACES = 512, UNIT = 16, TIME_BITS = 0xFFFF, RISE = 32 };
static _Atomic(uint64_t) known[PLACES];

static _Atomic(uint64_t) *place_of(uint64_t form)
{
    return &known[(form >> 20) % PLACES];
}

/* In units; 0: not known. */
static uint64_t time_of(uint64_t form)
{
    uint64_t word = atomic_load_explicit(place_of(form), memory_order_relaxed);
    return (word ^ form) & ~(uint64_t)TIME_BITS ? 0 : word & TIME_BITS;
}

unsigned acui_together_most(uint64_t form)
{
    uint64_t time = time_of(form);
    unsigned n = ACUI_TOGETHER;
    while (n > 1 && (!time || n * time * UNIT > LIMIT))
        n /= 2;
    return n;
}

static void learn(uint64_t form, uint64_t least, uint64_t most)
{
    uint64_t was = time_of(form), now = was + was / RISE + 1;
    if (!was || now > most / UNIT)
        now = most / UNIT + 1;
    if (now < least / UNIT)
        now = least / UNIT;
    if (now > TIME_BITS)
        now = TIME_BITS;
    if (now != was)
        atomic_store_explicit(place_of(form), (form & ~(uint64_t)TIME_BITS) | now,
                              memory_order_relaxed);
}

void acui_together_learn(const acui_task *first, const acui_task *end, uint64_t looked,
                         uint64_t now)
{
    uint64_t over_at = first->device->over_at;
    uint64_t start = first->issued_at > over_at ? first->issued_at : over_at;
    uint64_t least = looked > start ? looked - start : 0;
    while (first != end) {
        unsigned count = 0;
        const acui_task *task = first;
        for (; task != end && task->form == first->form; task = task->next_on_stream)
            count++;
        if (first->form)
            learn(first->form, least / count, (now - start) / count);
        least = 0; /* when these began is not known */
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

/* Put aside as the first; whether nothing was for a while, so that the device had better begin. */
static bool begin(void)
{
    aside->since = acui_now();
    return aside->since > aside->flushed_at + LIMIT;
}

bool acui_together_put(acui_task *task, acui_task **others)
{
    if (!aside || !task->together || (aside->count && aside->stream != task->stream) ||
        comes_behind_any(task))
        return false;
    bool now = aside->count == 0 && begin();
    aside->stream = task->stream;
    aside->tasks[aside->count++] = task;
    now |= aside->count == ACUI_TOGETHER;
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
        acu_stream *stream = some[0]->stream;
        bool stays = some[0]->device == aside->device; /* and so do its streams */
        others = acui_join_tasks(others, acui_issue_all(some, n));
        if (stays)
            aside->issued[aside->lots++ % 2] = (struct acui_lot){
                .stream = stream, .number = acui_stream_last(stream)};
    }
    aside->flushed_at = acui_now();
    return others;
}

bool acui_together_may_grow(void)
{
    for (size_t i = 0; i < 2; i++)
        if (!aside->issued[i].stream ||
            acui_stream_reached(aside->issued[i].stream, aside->issued[i].number))
            return false;
    return acui_now() < aside->since + HOLD;
}

void acui_together_hold(acu_device *device)
{
    if (!aside)
        return;
    acui_together_pause();
    aside->device = device;
    aside->issued[0].stream = aside->issued[1].stream = NULL;
}

void acui_together_pause(void)
{
    while (aside && aside->count)
        acui_run_tasks(acui_together_flush());
}
