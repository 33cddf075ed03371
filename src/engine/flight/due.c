/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When it pays to look at each stream, and how long the reactor may sleep. Called by flight.c, the
 * reactor and threads that wait; the lock of the stream's device held, if nothing else is said. */
#include "base/clock.h"
#include "base/park.h"
#include "engine/flight/flight.h"
#include "engine/upward.h"

#define ARMED 16 /* streams whose flags the reactor watches, at most */

/* The reactor's sleep. All devices' threads read this, and change it only if they call the reactor
 * sooner than it would look. */
static struct {
    /* When it will look at the latest. Since acui_due_begin, after which it looks at the state of
     * every stream; so what was changed before that call need not be in here. */
    _Alignas(64) _Atomic(uint64_t) until;
    _Atomic(bool) sleeping; /* it sleeps, and nobody has woken it; seq_cst, like `until`: the
                             * reactor sets this and then reads that, others set that and then
                             * read this */
    _Atomic(bool) one_core; /* it may use one core only; relaxed */
} due = {.until = ACU_FOREVER};

/* What the reactor watches without the lock. The streams stay: only the reactor lets go of them. */
static struct {
    acu_stream *list[ARMED];
    size_t count;
} armed;

/* How often the reactor was woken; wraps around. It sleeps on this. */
static _Atomic(uint32_t) calls;

/* How late a thread wakes up that sleeps until some time, in ns: three times out of four less.
 * Relaxed: of two changes at the same time, one may be lost. */
static _Atomic(uint64_t) wake_up;

void acui_flight_one_core(bool yes)
{
    atomic_store_explicit(&due.one_core, yes, memory_order_relaxed);
}

static bool has_one_core(void)
{
    return atomic_load_explicit(&due.one_core, memory_order_relaxed);
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

/* Lower `until` to the time; false: it is no later than that. */
static bool lower(uint64_t time)
{
    uint64_t until = atomic_load(&due.until);
    while (time < until)
        if (atomic_compare_exchange_weak(&due.until, &until, time))
            return true;
    return false;
}

void acui_flight_sleep(uint64_t time)
{
    uint64_t begin = acui_now();
    /* Relaxed: it is raised after `sleeping` is found true, which is stored after this. */
    uint32_t seen = atomic_load_explicit(&calls, memory_order_relaxed);
    atomic_store(&due.sleeping, true);
    if (!lower(time)) /* it was called since acui_flight_due, which found `time` */
        time = atomic_load(&due.until);
    acui_park(&calls, seen, time);
    atomic_store(&due.sleeping, false);
    uint64_t now = acui_now();
    if (begin < time && time <= now)
        acui_flight_woke(now - time);
}

void acui_due_wake(uint64_t time)
{
    if (!lower(time) || !atomic_load(&due.sleeping) || !atomic_exchange(&due.sleeping, false))
        return; /* once is enough */
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    acui_unpark(&calls);
}

void acui_flight_wake(void)
{
    acui_due_wake(0);
}

void acui_flight_full(void)
{
    acui_due_wake(acui_now() + ACUI_LOOK_GAP);
}

void acui_flight_expect(const acu_device *device)
{
    /* The default device mostly was opened first. */
    acui_flight *flight = device ? acui_flight_of(device) : &acui_all_engines[0].flight;
    if (atomic_load_explicit(&flight->length, memory_order_relaxed) >= ACUI_LONG)
        return;
    atomic_store_explicit(&flight->expected, acui_now() + ACUI_SHORT_GAP, memory_order_relaxed);
    acui_due_wake(0);
}

uint64_t acui_flight_expected(void)
{
    uint64_t last = 0;
    if (has_one_core())
        return 0;
    for ACUI_EACH_ENGINE (engine) {
        uint64_t expected = atomic_load_explicit(&engine->flight.expected, memory_order_relaxed);
        last = expected > last ? expected : last;
    }
    return last;
}

uint64_t acui_flight_changes(void)
{
    uint64_t changes = 0;
    for ACUI_EACH_ENGINE (engine)
        changes += atomic_load_explicit(&engine->flight.changes, memory_order_relaxed);
    return changes;
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
                     is_full(&stream->device->engine->gate) || acui_memory_is_short());
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
    if (!task->signature)
        task->signature = acui_task_signature(task);
    uint64_t lead = atomic_load_explicit(&wake_up, memory_order_relaxed) + ACUI_LEAD;
    uint64_t ns = acui_lengths_next(acui_flight_of(stream->device), task->signature,
                                    looked_after(stream, start), doubt);
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
static uint64_t next_look(acu_stream *stream, uint64_t now, uint64_t spin, bool may_block)
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
    if (age < spin || age < acui_lengths_short(acui_flight_of(stream->device), task->signature))
        return now;
    if (may_block)
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

uint64_t acui_flight_wait_for(acu_stream *stream, uint64_t now, uint64_t spin, bool may_block)
{
    acui_flight *flight = acui_flight_of(stream->device);
    acui_flight_lock(flight);
    bool empty = !stream->engine.first_task;
    uint64_t next = empty ? 0 : next_look(stream, now, spin, may_block);
    stream->engine.called |= empty;
    if (next < ACUI_BLOCK && next > stream->engine.tended)
        stream->engine.tended = next; /* the waiting thread looks then: the reactor need not */
    acui_flight_unlock(flight);
    return next;
}

/* The earliest of all streams; 0: there is nothing on any. */
static uint64_t earliest(uint64_t now, uint64_t spin)
{
    uint64_t first = 0;
    for ACUI_EACH_ENGINE (engine) {
        acui_flight *flight = &engine->flight;
        acui_flight_lock(flight);
        for (acu_stream *stream = flight->active; stream; stream = stream->engine.next_active) {
            uint64_t next = stream->engine.first_task ? acui_flight_next_look(stream, now, spin)
                                                      : 0;
            first = first == 0 || (next && next < first) ? next : first;
        }
        acui_flight_unlock(flight);
    }
    return first;
}

uint64_t acui_flight_wait_for_any(uint64_t now, uint64_t spin, bool call)
{
    uint64_t first = earliest(now, spin);
    if (!call || (first ? first < now + ACUI_PAUSE : spin != 0))
        return first;
    acui_flight_call_any();
    return earliest(now, spin);
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
    uint64_t gap = acui_looked_at(stream) + (has_one_core() ? ACUI_NAP_LEAST : ACUI_LOOK_GAP);
    return next > gap ? next : gap;
}

void acui_due_changed(acu_stream *stream)
{
    acui_due_wake(acui_due_at(stream, acui_now()));
}

void acui_due_begin(void)
{
    atomic_store(&due.until, ACU_FOREVER);
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

void acui_due_added(acui_flight *flight, uint64_t now)
{
    if (flight->over_at)
        flight->gap = average(flight->gap, now - flight->over_at, 2 * ACUI_SHORT_GAP);
    flight->over_at = 0;
    atomic_fetch_add_explicit(&flight->changes, 1, memory_order_relaxed);
}

void acui_due_over(acu_stream *stream, const acui_task *first, uint64_t last, uint64_t now)
{
    acui_flight *flight = acui_flight_of(stream->device);
    if (first->number > stream->engine.wanted)
        return;
    uint64_t start = start_of(stream);
    uint64_t length = average(atomic_load_explicit(&flight->length, memory_order_relaxed),
                              now > start ? now - start : 0, 2 * ACUI_LONG);
    atomic_store_explicit(&flight->length, length, memory_order_relaxed);
    if (last < stream->engine.wanted)
        return; /* more of these are to come */
    flight->over_at = now;
    if (flight->gap < ACUI_SHORT_GAP && length < ACUI_LONG)
        atomic_store_explicit(&flight->expected, now + ACUI_SHORT_GAP, memory_order_relaxed);
}

void acui_due_learn(acu_stream *stream, acui_task *task, uint64_t now)
{
    uint64_t start = start_of(stream);
    uint64_t looked = acui_looked_at(stream), since = looked > start ? looked : start;
    bool asked = task->signature; /* somebody asked what to expect */
    if (now < since || (now < start + ACUI_LEARNED && !asked))
        return;
    if (!task->signature)
        task->signature = acui_task_signature(task);
    uint64_t planned = stream->engine.planned;
    uint64_t late = planned > start && planned <= now ? now - planned + 1 : 0;
    acui_lengths_learn(acui_flight_of(stream->device), task->signature, now - start, now - since,
                       late);
}
