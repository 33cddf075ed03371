/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When it pays to look at each stream, and how long the reactor may sleep. Called by flight.c, the
 * reactor and threads that wait; flight lock held, if nothing else is said. */
#include "base/clock.h"
#include "base/park.h"
#include "engine/completion/flight.h"
#include "engine/issue/issue.h"
#include "engine/issue/memory.h"

#define ARMED 16 /* streams whose flags the reactor watches, at most */

static struct { /* under the flight lock */
    bool alone;          /* it may use one core only */
    bool sleeping;       /* the reactor sleeps */
    uint64_t until;      /* until then */
    uint64_t called;     /* when the reactor was to look, though awake; since acui_due_begin */
    uint64_t over_at;    /* when the last task was over that somebody wanted to be told of */
    uint64_t gap;        /* between that and the next one, on average; at most 2 ACUI_SHORT_GAP */
    uint64_t length;     /* of these, on average; never over 2 ACUI_LONG */
    uint64_t expected;   /* until then something short may come at any moment */
} due = {.called = ACU_FOREVER, .gap = ACUI_SHORT_GAP};

/* What the reactor watches without the lock. The streams stay: only the reactor lets go of them. */
static struct {
    acu_stream *list[ARMED];
    size_t count;
} armed;

/* How often the reactor was woken; wraps around. It sleeps on this. */
static _Atomic(uint32_t) calls;

/* How often work came that somebody is to be told of. Relaxed: a hint to stop pausing. */
static _Atomic(uint64_t) changes;

/* How late a thread wakes up that sleeps until some time, in ns: three times out of four less.
 * Relaxed: of two changes at the same time, one may be lost. */
static _Atomic(uint64_t) wake_up;

void acui_flight_one_core(bool alone)
{
    due.alone = alone;
}

/* ---- sleeping ---- */

void acui_flight_woke(uint64_t late)
{
    uint64_t old = atomic_load_explicit(&wake_up, memory_order_relaxed);
    uint64_t step = ACU_US(1) / 2 + old / 64;
    if (late < old)
        old = old > step ? old - step : 0;
    else if (late > old)
        old = old + 3 * step < ACUI_WAKE_MOST ? old + 3 * step : ACUI_WAKE_MOST;
    atomic_store_explicit(&wake_up, old, memory_order_relaxed);
}

void acui_flight_sleep(uint64_t time)
{
    if (due.called < time) /* it was called between acui_flight_due, which found `time`, and now */
        time = due.called;
    due.sleeping = true;
    due.until = time;
    uint64_t begin = acui_now();
    /* Relaxed, here and in acui_due_wake: changed under the lock only. */
    uint32_t seen = atomic_load_explicit(&calls, memory_order_relaxed);
    acui_flight_unlock();
    acui_park(&calls, seen, time);
    acui_flight_lock();
    due.sleeping = false;
    uint64_t now = acui_now();
    if (begin < time && time <= now)
        acui_flight_woke(now - time);
}

void acui_due_wake(uint64_t time)
{
    if (!due.sleeping) {
        due.called = time < due.called ? time : due.called;
        return;
    }
    if (due.until <= time)
        return;
    due.sleeping = false; /* once is enough */
    atomic_store_explicit(&calls, atomic_load_explicit(&calls, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    acui_unpark(&calls);
}

void acui_flight_wake(void)
{
    acui_flight_lock();
    acui_due_wake(0);
    acui_flight_unlock();
}

void acui_flight_full(void)
{
    acui_flight_lock();
    acui_due_wake(acui_now() + ACUI_LOOK_GAP);
    acui_flight_unlock();
}

void acui_flight_expect(void)
{
    acui_flight_lock();
    if (due.length < ACUI_LONG) {
        due.expected = acui_now() + ACUI_SHORT_GAP;
        acui_due_wake(0);
    }
    acui_flight_unlock();
}

uint64_t acui_flight_expected(void)
{
    return due.alone ? 0 : due.expected;
}

uint64_t acui_flight_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_relaxed);
}

bool acui_flight_is_written(void)
{
    for (size_t i = 0; i < armed.count; i++)
        if (acui_stream_flag_passed(armed.list[i]))
            return true;
    return false;
}

/* ---- when to look; lock held ---- */

/* Relaxed: the number is looked at again and again. */
static bool is_full(const acui_gate *gate)
{
    return atomic_load_explicit(&gate->waiting, memory_order_relaxed) > 0;
}

static bool is_wanted(const acu_stream *stream)
{
    const acui_task *first = stream->engine.first_task;
    return first && (first->number <= stream->engine.wanted || is_full(&stream->engine.gate) ||
                     is_full(&stream->device->engine.gate) || acui_memory_is_short());
}

static bool is_armed(const acu_stream *stream)
{
    return stream->engine.first_task && stream->engine.first_task->number <= stream->engine.armed;
}

static uint64_t start_of(const acu_stream *stream)
{
    uint64_t issued = stream->engine.first_task->flight.issued_at;
    return issued > stream->engine.over_at ? issued : stream->engine.over_at;
}

/* How long the stream's first task had run when it was last looked at. */
static uint64_t looked_after(const acu_stream *stream, uint64_t start)
{
    uint64_t seen = acui_looked_at(stream);
    return seen > start ? seen - start : 0;
}

/* When to wake up so as to be there, mostly, when the stream's first task is expected to end; 0:
 * that is not known. */
static uint64_t next_end(const acu_stream *stream, uint64_t start, bool *doubt)
{
    acui_task *task = stream->engine.first_task;
    if (!task->form)
        task->form = acui_form_of(task);
    uint64_t lead = atomic_load_explicit(&wake_up, memory_order_relaxed) + ACUI_LEAD;
    uint64_t ns = acui_lengths_next(task->form, looked_after(stream, start), doubt);
    return !ns ? 0 : ns > lead ? start + ns - lead : start;
}

/* Have a thread wait in the driver for the stream's first task, which then wakes those that sleep.
 * False: none is free. */
static bool have_helper(acu_stream *stream)
{
    uint64_t number = stream->engine.first_task->number;
    bool waits = stream->engine.waited_for == number || acui_blocked_ask(stream, number);
    stream->engine.relied |= waits;
    return waits;
}

/* Who asks again without having looked hears the same: so the reactor, which asks when it wakes up,
 * finds that the look is due. */
static uint64_t next_look(acu_stream *stream, uint64_t now, uint64_t spin, bool alone)
{
    acui_task *task = stream->engine.first_task;
    if (!task)
        return ACU_FOREVER;
    bool doubt = false;
    uint64_t start = start_of(stream), end = next_end(stream, start, &doubt);
    uint64_t age = now > start ? now - start : 0, looked = looked_after(stream, start);
    if (end > now) {
        stream->engine.planned = end;
        if (doubt)
            have_helper(stream);
    }
    if (end)
        return end < start + looked + ACUI_FAULT_GAP ? end : start + looked + ACUI_FAULT_GAP;
    if (age < spin || age < acui_lengths_short(task->form))
        return now;
    if (alone)
        return ACUI_BLOCK;
    if (have_helper(stream))
        return ACU_FOREVER;
    uint64_t nap = looked / ACUI_NAP_PART;
    nap = nap < ACUI_NAP_LEAST ? ACUI_NAP_LEAST : nap;
    return start + looked + (nap < ACUI_NAP_MOST ? nap : ACUI_NAP_MOST);
}

uint64_t acui_flight_next_look(acu_stream *stream, uint64_t now, uint64_t spin)
{
    return next_look(stream, now, spin, false);
}

uint64_t acui_flight_wait_for(acu_stream *stream, uint64_t now, uint64_t spin, bool alone)
{
    acui_flight_lock();
    bool empty = !stream->engine.first_task;
    uint64_t next = empty ? 0 : next_look(stream, now, spin, alone);
    stream->engine.called |= empty;
    if (next < ACUI_BLOCK && next > stream->engine.tended)
        stream->engine.tended = next; /* the waiting thread looks then: the reactor need not */
    acui_flight_unlock();
    return next;
}

uint64_t acui_flight_wait_for_any(uint64_t now, uint64_t spin, bool call)
{
    uint64_t first = 0;
    acui_flight_lock();
    for (acu_stream *stream = acui_flight_first(); stream; stream = stream->engine.next_active) {
        uint64_t next = stream->engine.first_task ? acui_flight_next_look(stream, now, spin) : 0;
        first = first == 0 || (next && next < first) ? next : first;
    }
    if (call && (first ? first >= now + ACUI_PAUSE : spin == 0))
        acui_flight_call_any();
    acui_flight_unlock();
    return first;
}

uint64_t acui_due_at(acu_stream *stream, uint64_t now)
{
    if (!stream->engine.first_task)
        return acui_looked_at(stream) + ACUI_IDLE;
    if (!is_wanted(stream)) {
        if (stream->engine.waited_for >= stream->engine.first_task->number)
            return ACU_FOREVER; /* the thread in the driver says when that changes */
        if (stream->engine.tended > acui_looked_at(stream))
            return stream->engine.tended + ACUI_TENDED;
        uint64_t issued = stream->engine.first_task->flight.issued_at;
        return (issued > acui_looked_at(stream) ? issued : acui_looked_at(stream)) + ACUI_LAZY;
    }
    if (is_armed(stream) && acui_stream_flag_passed(stream))
        return now;
    uint64_t next = acui_flight_next_look(stream, now, ACUI_SPIN_REACTOR);
    uint64_t gap = acui_looked_at(stream) + (due.alone ? ACUI_NAP_LEAST : ACUI_LOOK_GAP);
    return next > gap ? next : gap;
}

void acui_due_changed(acu_stream *stream)
{
    acui_due_wake(acui_due_at(stream, acui_now()));
}

void acui_due_begin(void)
{
    due.called = ACU_FOREVER;
    armed.count = 0;
}

void acui_due_watch(acu_stream *stream)
{
    if (is_armed(stream) && armed.count < ARMED)
        armed.list[armed.count++] = stream;
}

/* ---- what came, and what is over; lock held ---- */

static uint64_t average(uint64_t old, uint64_t new, uint64_t most)
{
    return (3 * old + (new < most ? new : most)) / 4;
}

void acui_due_added(uint64_t now)
{
    if (due.over_at)
        due.gap = average(due.gap, now - due.over_at, 2 * ACUI_SHORT_GAP);
    due.over_at = 0;
    atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
}

void acui_due_over(acu_stream *stream, const acui_task *first, uint64_t last, uint64_t now)
{
    bool told = first->number <= stream->engine.wanted;
    if (told) {
        uint64_t start = start_of(stream);
        due.length = average(due.length, now > start ? now - start : 0, 2 * ACUI_LONG);
    }
    if (!told || last < stream->engine.wanted)
        return; /* more of these are to come */
    due.over_at = now;
    if (due.gap < ACUI_SHORT_GAP && due.length < ACUI_LONG)
        due.expected = now + ACUI_SHORT_GAP;
}

void acui_due_learn(acu_stream *stream, acui_task *task, uint64_t now)
{
    uint64_t start = start_of(stream);
    uint64_t looked = acui_looked_at(stream), since = looked > start ? looked : start;
    bool asked = task->form; /* somebody asked what to expect */
    if (now < since || (now < start + ACUI_LEARNED && !asked))
        return;
    if (!task->form)
        task->form = acui_form_of(task);
    uint64_t planned = stream->engine.planned;
    uint64_t late = planned > start && planned <= now ? now - planned + 1 : 0;
    acui_lengths_learn(task->form, now - start, now - since, late);
}
