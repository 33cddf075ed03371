/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is on the devices: for each device the streams with tasks, and on each the tasks in order of
 * their signals, under the device's lock. The list holds a reference to each of its streams, and to
 * that stream's device. */
#include "base/clock.h"
#include "base/done.h"
#include "engine/flight/flight.h"
#include "engine/future.h"
#include "engine/upward.h"

/* All devices' threads read these, and they seldom change: so they have a line of the cache for
 * themselves. */
static struct {
    /* As acu_stream has it, for any stream that is empty. seq_cst, and looked at under the device's
     * lock: see acui_flight_call_any. */
    _Alignas(64) _Atomic(bool) called;
    _Atomic(uint32_t) turn; /* where a look at all goes on; relaxed: a hint */
} shared;

_Atomic(uint32_t) acui_flight_short;

void acui_flight_lock(acui_flight *flight)
{
    acui_lock_take(&flight->lock);
}

void acui_flight_unlock(acui_flight *flight)
{
    acui_lock_give(&flight->lock);
}

bool acui_flight_is_any(void)
{
    bool any = false;
    for ACUI_EACH_ENGINE (engine) {
        acui_flight *flight = &engine->flight;
        acui_flight_lock(flight);
        any |= flight->active != NULL;
        acui_flight_unlock(flight);
    }
    return any;
}

/* ---- tasks ---- */

static void note_wanted(acu_stream *stream, uint64_t now)
{
    stream->engine.wanted = stream->engine.last_task->number;
    acui_due_wake(acui_due_at(stream, now));
}

bool acui_flight_is_told(const acui_task *task)
{
    /* seq_cst, against acui_flight_want_future, which stores `told` and then looks where the
     * future's work is: one of the two sees the other. */
    const acu_future *future = task->submission->future;
    return future && atomic_load(&future->told);
}

static void set_first(acu_stream *stream, acui_task *task)
{
    stream->engine.first_task = task;
    atomic_store_explicit(&stream->engine.first, task ? task->number : 0, memory_order_relaxed);
}

static void append(acu_stream *stream, acui_task *task, uint64_t now)
{
    task->flight.issued_at = now;
    task->next_listed = NULL;
    atomic_store_explicit(&task->submission->last_number, task->number, memory_order_relaxed);
    if (stream->engine.last_task)
        stream->engine.last_task->next_listed = task;
    else
        set_first(stream, task);
    stream->engine.last_task = task;
}

/* Put the stream into the list. Lock held. */
static void list_stream(acui_flight *flight, acu_stream *stream, uint64_t now)
{
    if (!flight->used) {
        flight->used = true;
        flight->gap = ACUI_SHORT_GAP;
    }
    stream->engine.active = true;
    acui_looked(stream, now);
    acu_stream_retain(stream);
    acu_device_retain(stream->device); /* a pooled stream does not hold it */
    stream->engine.next_active = flight->active;
    flight->active = stream;
    acui_due_wake(now + ACUI_IDLE);
    acui_reactor_call(); /* it may have been ended since the submission began */
}

/* Whether somebody is to be told that something came onto the stream, which is empty. Lock held. */
static bool take_call(acu_stream *stream)
{
    bool called = stream->engine.called;
    stream->engine.called = false;
    if (atomic_load(&shared.called))
        called |= atomic_exchange(&shared.called, false);
    return called;
}

void acui_flight_add(acu_stream *stream, acui_task *const *tasks, size_t count, uint64_t armed)
{
    acui_flight *flight = acui_flight_of(stream->device);
    bool wanted = false, called = false;
    uint64_t now = armed ? armed : acui_now(), number = tasks[0]->number;
    acui_streak_issued(now);
    acui_flight_lock(flight);
    if (!stream->engine.first_task)
        called = take_call(stream);
    for (size_t i = 0; i < count; i++) {
        append(stream, tasks[i], now);
        if (armed && tasks[i]->prompt)
            atomic_store_explicit(&tasks[i]->submission->future->flagged, true,
                                  memory_order_release);
        wanted |= tasks[i]->order.awaited || acui_flight_is_told(tasks[i]);
    }
    if (!stream->engine.active)
        list_stream(flight, stream, now);
    if (armed)
        stream->engine.armed = number;
    if (wanted) {
        note_wanted(stream, now);
        acui_due_added(flight, now);
    }
    acui_flight_unlock(flight);
    if (called)
        acui_done_announce();
}

/* What comes to a device whose lock the thread takes when it looks once more is found then, or sees
 * this. */
void acui_flight_call_any(void)
{
    atomic_store(&shared.called, true);
}

static void want_on(acu_stream *stream)
{
    acui_flight *flight = acui_flight_of(stream->device);
    acui_flight_lock(flight);
    if (stream->engine.first_task)
        note_wanted(stream, acui_now());
    acui_flight_unlock(flight);
}

void acui_flight_want_all(void)
{
    for ACUI_EACH_ENGINE (engine) {
        acui_flight *flight = &engine->flight;
        acui_flight_lock(flight);
        uint64_t now = acui_now();
        for (acu_stream *stream = flight->active; stream; stream = stream->engine.next_active)
            if (stream->engine.first_task)
                note_wanted(stream, now);
        acui_flight_unlock(flight);
    }
}

void acui_flight_want_future(acu_future *future)
{
    atomic_store(&future->told, true);
    if (atomic_load(&future->state) != ACUI_FUTURE_RUNNING)
        return;
    const acui_submission *s = future->submission;
    for (size_t i = 0; i < s->lane_count; i++)
        want_on(s->lanes[i].stream);
}

acui_task *acui_flight_passed(acu_stream *stream, bool all, uint64_t now)
{
    acui_flight *flight = acui_flight_of(stream->device);
    uint64_t last = 0;
    acui_flight_lock(flight);
    acui_task *first = stream->engine.first_task, **end = &stream->engine.first_task;
    while (*end && (all || acui_stream_passed(stream, (*end)->number))) {
        last = (*end)->number;
        end = &(*end)->next_listed;
    }
    if (end == &stream->engine.first_task) {
        first = NULL;
    } else {
        if (end == &first->next_listed && !all)
            acui_due_learn(stream, first, now);
        if (first->signature && !all)
            acui_batch_learn(first, *end, acui_looked_at(stream), now);
        acui_due_over(stream, first, last, now);
        acui_task *rest = *end;
        *end = NULL; /* ends the list that is given away */
        set_first(stream, rest);
        if (!rest)
            stream->engine.last_task = NULL;
        stream->engine.over_at = now;
        flight->ended_at = now;
    }
    acui_looked(stream, now);
    acui_flight_unlock(flight);
    return first;
}

acu_stream *acui_flight_end_of(const acui_submission *submission, acui_end *end)
{
    if (submission->lane_count != 1)
        return NULL;
    acu_stream *stream = submission->lanes[0].stream;
    acui_flight *flight = acui_flight_of(stream->device);
    acui_flight_lock(flight);
    const acui_task *last = stream->engine.last_task;
    uint64_t number = atomic_load_explicit(&submission->last_number, memory_order_relaxed);
    bool there = last && number && !acui_stream_passed(stream, number);
    if (there)
        *end = (acui_end){
            .number = number, .last = last->number == number, .issued_at = last->flight.issued_at};
    acui_flight_unlock(flight);
    return there ? stream : NULL;
}

void acui_flight_heads(const acu_device *device, void (*look)(const acui_task *, void *),
                       void (*end)(void *), void *context)
{
    acui_flight *flight = acui_flight_of(device);
    acui_flight_lock(flight);
    for (acu_stream *stream = flight->active; stream; stream = stream->engine.next_active) {
        const acui_task *task = stream->device == device ? stream->engine.first_task : NULL;
        while (task && acui_stream_reached(stream, task->number))
            task = task->next_listed;
        if (task)
            look(task, context);
    }
    end(context);
    acui_flight_unlock(flight);
}

/* ---- streams ---- */

static void retain(acu_stream *stream)
{
    acu_device_retain(stream->device);
    acu_stream_retain(stream);
}

void acui_flight_let_go(acu_stream *const *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        acu_device *device = streams[i]->device;
        acu_stream_release(streams[i]);
        acu_device_release(device);
    }
}

/* Take the stream off the list, whose references move on. */
static void unlink_at(acui_flight *flight, acu_stream **link)
{
    acu_stream *stream = *link;
    *link = stream->engine.next_active;
    stream->engine.active = false;
    if (flight->next == stream)
        flight->next = stream->engine.next_active;
}

/* Of one device, after the first `n`; how many there are then. Lock held. */
static size_t add_due(acui_flight *flight, acu_stream **streams, size_t n, size_t most,
                      uint64_t now, uint64_t *next)
{
    for (acu_stream **link = &flight->active; *link;) {
        acu_stream *stream = *link;
        uint64_t due = acui_due_at(stream, now);
        acui_due_watch(stream);
        if (due > now || n == most) {
            *next = due < *next ? due : *next;
        } else {
            streams[n++] = stream;
            if (!stream->engine.first_task) { /* the list's references move on */
                unlink_at(flight, link);
                continue;
            }
            retain(stream);
        }
        link = &stream->engine.next_active;
    }
    return n;
}

size_t acui_flight_due(acu_stream **streams, size_t most, uint64_t now, uint64_t *next)
{
    size_t n = 0;
    *next = ACU_FOREVER;
    acui_due_begin();
    for ACUI_EACH_ENGINE (engine) {
        acui_flight *flight = &engine->flight;
        acui_flight_lock(flight);
        n = add_due(flight, streams, n, most, now, next);
        acui_flight_unlock(flight);
    }
    return n;
}

/* Take one stream off the list that has nothing on it; NULL: there is none. */
static acu_stream *take_idle(acui_flight *flight)
{
    acui_flight_lock(flight);
    acu_stream **link = &flight->active;
    while (*link && (*link)->engine.first_task)
        link = &(*link)->engine.next_active;
    acu_stream *stream = *link;
    if (stream)
        unlink_at(flight, link);
    acui_flight_unlock(flight);
    return stream;
}

void acui_flight_drop_idle(void)
{
    for ACUI_EACH_ENGINE (engine) {
        acui_flight *flight = &engine->flight;
        acu_stream *stream;
        while ((stream = take_idle(flight)))
            acui_flight_let_go(&stream, 1);
    }
}

uint64_t acui_flight_news(acu_stream *stream, uint64_t now)
{
    uint64_t first = atomic_load_explicit(&stream->engine.first, memory_order_relaxed);
    if (!first || acui_stream_reached(stream, first))
        return first;
    now = now ? now : acui_now();
    if (!acui_stream_is_quiet(stream, first, now))
        return first;
    acui_looked(stream, now);
    return 0;
}

/* The device's next stream, from where the last one was found, that may have news and was not
 * looked at since `start`; retained. All streams get their turn, whoever looks. */
static acu_stream *take_next_of(acui_flight *flight, uint64_t start)
{
    acu_stream *found = NULL;
    acui_flight_lock(flight);
    acu_stream *first = flight->next ? flight->next : flight->active, *stream = first;
    while (stream && !found) {
        if (acui_looked_at(stream) < start && acui_flight_news(stream, start))
            found = stream;
        stream = stream->engine.next_active ? stream->engine.next_active : flight->active;
        if (stream == first)
            break;
    }
    flight->next = stream;
    if (found)
        retain(found);
    acui_flight_unlock(flight);
    return found;
}

/* The same of all devices, from the one on where the last one was found. */
static acu_stream *take_next(uint64_t start)
{
    uint32_t count = (uint32_t)(acui_engines_end() - acui_all_engines);
    uint32_t turn = atomic_load_explicit(&shared.turn, memory_order_relaxed);
    acu_stream *found = NULL;
    for (uint32_t i = turn; i < turn + count && !found; i++) {
        found = take_next_of(&acui_all_engines[i % count].flight, start);
        if (found && i % count != turn)
            atomic_store_explicit(&shared.turn, i % count, memory_order_relaxed);
    }
    return found;
}

void acui_look_for(const _Atomic(bool) *found)
{
    uint64_t start = acui_now(), now = start, last = 0; /* how long the last one took */
    acu_stream *stream;
    /* Relaxed: a hint; what was found is read under a lock. */
    while (!atomic_load_explicit(found, memory_order_relaxed) &&
           now - start + last < ACUI_LOOK_MOST && (stream = take_next(start))) {
        acui_harvest(stream, now);
        acui_flight_let_go(&stream, 1);
        uint64_t then = acui_now();
        last = then - now;
        now = then;
    }
}

static void look_at_device(acui_flight *flight)
{
    enum { BATCH = 64 };
    acu_stream *batch[BATCH];
    size_t skip = 0, n;
    do {
        n = 0;
        acui_flight_lock(flight);
        acu_stream *stream = flight->active;
        for (size_t i = 0; i < skip && stream; i++)
            stream = stream->engine.next_active;
        for (; stream && n < BATCH; stream = stream->engine.next_active, skip++)
            if (stream->engine.first_task) {
                retain(stream);
                batch[n++] = stream;
            }
        acui_flight_unlock(flight);
        for (size_t i = 0; i < n; i++)
            acui_harvest(batch[i], 0);
        acui_flight_let_go(batch, n);
    } while (n == BATCH);
}

void acui_look_everywhere(void)
{
    for ACUI_EACH_ENGINE (engine)
        look_at_device(&engine->flight);
}
