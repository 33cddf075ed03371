/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What is on the devices, and when it pays to look at it. The rules, with all numbers and an
 * example, are in timing.h. Each device has a list of its streams with tasks, and a lock for it: so
 * threads that use different devices do not meet here, but for the reactor's sleep.
 *
 *   flight.c    streams with tasks, and which of them somebody wants to be told of
 *   due.c       when the next look at a stream pays, and how long the reactor may sleep
 *   lengths.c   how long tasks of a signature take, learned from earlier ones
 *   pace.c      how many of a signature may be issued as one, learned likewise
 *   signature.c      the signature of a task
 *   blocked.c   threads that wait in the driver for work of unknown length
 *
 * Short work is looked at without pause. Work that takes long, and of whose signature lengths are
 * known that agree, is left alone until just before it should end: by as much as threads wake up
 * late here. For all other work a thread sleeps in the driver: that is some 100 us late, but costs
 * nothing meanwhile.
 */
#ifndef ACUI_ENGINE_FLIGHT_H
#define ACUI_ENGINE_FLIGHT_H

#include "engine/flight/timing.h"
#include "engine/engine.h"
#include "engine/device.h"

/* ---- flight.c ---- */
static inline acui_flight *acui_flight_of(const acu_device *device)
{
    return &device->engine->flight;
}
void acui_flight_lock(acui_flight *flight);
void acui_flight_unlock(acui_flight *flight);

/* The tasks are now the last on their stream, and their signal is made. `armed`: when the device
 * was told to write it; 0: it was not. */
void acui_flight_add(acu_stream *stream, acui_task *const *tasks, size_t count, uint64_t armed);
bool acui_flight_is_told(const acui_task *task); /* its future has somebody to tell */
/* The signal of the stream's first task, if a harvest may find something now; 0: it finds nothing.
 * `now`: the time, or 0. No lock. */
uint64_t acui_flight_news(acu_stream *stream, uint64_t now);
/* Take the tasks up to stream->done off the stream; `all`: all of them, as the device is lost. */
acui_task *acui_flight_passed(acu_stream *stream, bool all, uint64_t now);
/* A thread is about to sleep, but looks again when something comes onto any stream that is empty:
 * have that announced (done.h), once. It looks once more after this call. */
void acui_flight_call_any(void);
/* How many tasks wait for memory (issue/memory.c), and so for the end of what is on the devices. */
extern _Atomic(uint32_t) acui_flight_short;
static inline bool acui_memory_is_short(void)
{
    return atomic_load_explicit(&acui_flight_short, memory_order_seq_cst) > 0;
}
/* Somebody wants to be told soon when everything is over that is on the streams now: all of them,
 * since host work may wait for any; or those of a future that has notices, or soon will. */
void acui_flight_want_all(void);
void acui_flight_want_future(acu_future *future);
/* Call `look`, under the flight lock, with the first task of each of the device's streams that is
 * not known to be complete; and then `end`. */
void acui_flight_heads(const acu_device *device, void (*look)(const acui_task *, void *),
                       void (*end)(void *), void *context);
/* Where the submission ends on its stream. */
typedef struct acui_end {
    uint64_t number; /* its signal */
    bool last;       /* it is the stream's last, ... */
    uint64_t issued_at; /* ... which was made then */
} acui_end;

/* The stream that the submission is on, if it is on one only and something of it is still there. */
acu_stream *acui_flight_end_of(const acui_submission *submission, acui_end *end);
void acui_look_everywhere(void); /* harvest all streams with tasks, on this thread */
/* The same, one stream after the other, until *found, or for some microseconds. Goes on where the
 * last such call ended. */
void acui_look_for(const _Atomic(bool) *found);
bool acui_flight_is_any(void); /* whether some stream is in a list; takes the locks */

/* For the reactor: up to `most` streams that are due, retained with their devices, and in *next
 * when the first of the others will be due. Takes the locks, as the next two. */
size_t acui_flight_due(acu_stream **streams, size_t most, uint64_t now, uint64_t *next);
void acui_flight_let_go(acu_stream *const *streams, size_t count);
void acui_flight_drop_idle(void);

/* ---- due.c ---- */
/*
 * When to look at the stream's first task again: `now` or before; a later time; or ACU_FOREVER, if
 * a thread in the driver will wake those that wait. Work of unknown length is worth looking at now
 * while it has been running for less than `spin`. The device's lock held; `now` is the time.
 */
uint64_t acui_flight_next_look(acu_stream *stream, uint64_t now, uint64_t spin);
/* The same for a thread that waits: takes the lock; 0 if nothing is on the stream, and then it is
 * announced when something comes. `may_block`: nobody can call the thread back, so it may wait in
 * the driver itself where another one would: ACUI_BLOCK. */
uint64_t acui_flight_wait_for(acu_stream *stream, uint64_t now, uint64_t spin, bool may_block);
#define ACUI_BLOCK (ACU_FOREVER - 1)
/* The earliest of all streams. `call`: if that is no reason to look at once, the thread is about to
 * sleep: acui_flight_call_any. */
uint64_t acui_flight_wait_for_any(uint64_t now, uint64_t spin, bool call);
/* A thread was to wake up at some time, and did so `late` ns after it. Any thread. */
void acui_flight_woke(uint64_t late);
/* The process has one core: looking without pause would keep the others from working. */
void acui_flight_one_core(bool yes);

/* The reactor sleeps until `time`, or until something makes its next look due sooner. */
void acui_flight_sleep(uint64_t time);
void acui_flight_wake(void);   /* the reactor, if it sleeps */
/* Short work is about to be submitted to the device (NULL: to some one): the reactor had better be
 * awake. */
void acui_flight_expect(const acu_device *device);
void acui_flight_full(void);   /* work waits for room: look soon */
/* Until when short work is likely to follow, so that staying awake is cheaper. */
uint64_t acui_flight_expected(void);
uint64_t acui_flight_changes(void); /* how often work came that somebody is to be told of */
bool acui_flight_is_written(void);  /* by a device, to a flag that it watches; the reactor's */

/* When the stream was last looked at; no lock. */
static inline uint64_t acui_looked_at(const acu_stream *stream)
{
    return atomic_load_explicit(&stream->engine.looked_at, memory_order_relaxed);
}
static inline void acui_looked(acu_stream *stream, uint64_t now)
{
    atomic_store_explicit(&stream->engine.looked_at, now, memory_order_relaxed);
}

/* What flight.c tells due.c, and asks of it; the device's lock held, but for acui_due_wake and
 * acui_due_begin. */
/* When the reactor is to look at the stream; later if others look at it. */
uint64_t acui_due_at(acu_stream *stream, uint64_t now);
void acui_due_wake(uint64_t time);       /* the reactor, if it sleeps for longer */
void acui_due_changed(acu_stream *stream); /* the same, as something changed for this stream */
void acui_due_begin(void);               /* the reactor now goes through all streams, ... */
void acui_due_watch(acu_stream *stream); /* ... and watches this one's flag until the next time */
void acui_due_added(acui_flight *flight, uint64_t now); /* a task came that somebody is to be told
                                                         * of */
/* Tasks are over, from the stream's first to the last with the signal `last`. */
void acui_due_over(acu_stream *stream, const acui_task *first, uint64_t last, uint64_t now);
/* The stream's first task alone is over: how long it took is known as well as the time of the last
 * look. */
void acui_due_learn(acu_stream *stream, acui_task *task, uint64_t now);

/* ---- lengths.c; the device's lock held, but for acui_spin_after ---- */
/* What a task of the signature that was last looked at when it had run for `looked` is expected to
 * take, in ns; 0: that is not known. `doubt`, if it is known: it may end sooner. */
uint64_t acui_lengths_next(const acui_flight *flight, uint64_t signature, uint64_t looked,
                           bool *doubt);
/* For how long to look without pause at a task of the signature, foreseen or not: if such take so
 * little that a sleep in the driver would take longer; else 0. */
uint64_t acui_lengths_short(const acui_flight *flight, uint64_t signature);
/* A task took `ns`, or up to `slack` less, as nobody looked in between. A look was planned `late`
 * ns ago; 0: none was. */
void acui_lengths_learn(acui_flight *flight, uint64_t signature, uint64_t ns, uint64_t slack,
                        uint64_t late);
/* How long to look without pause at work of unknown length, now that some was waited for, and
 * `spin` is what it was so far: less while that does not help. `blocked`: the wait ended with a
 * sleep until a thread in the driver woke up, so the work took ACUI_LATE less. */
uint64_t acui_spin_after(uint64_t spin, uint64_t waited, bool blocked);

/* ---- pace.c ---- */
#define ACUI_BATCH_TIME ACU_US(100) /* how long all of these may take on the device */
/* How many of the signature may be batched; 1: it is not known to be short. */
unsigned acui_batch_most(const acu_device *device, uint64_t signature);
/* The tasks from `first` on, before `end`, were found over at `now`; the first was not over at
 * `looked`. Flight lock held. */
void acui_batch_learn(const acui_task *first, const acui_task *end, uint64_t looked, uint64_t now);
/* For tests: nothing is learned, nothing depends on how long things take, and every thread submits
 * ahead (acui_dispatch_is_ahead). */
extern _Atomic(bool) acui_batch_timeless;
static inline bool acui_batch_is_timeless(void)
{
    return atomic_load_explicit(&acui_batch_timeless, memory_order_relaxed);
}

/* How many tasks this thread has issued, or queued, one soon after the other and without having to
 * wait: whatever it looked at was over. So it submits faster than the device's work is waited for,
 * and there is more to come. */
uint32_t acui_streak_now(void);
void acui_streak_issued(uint64_t now); /* one more */
void acui_streak_end(void);            /* this thread found nothing to be over */

/* ---- signature.c ---- */
uint64_t
acui_task_signature(const acui_task *task); /* what its length depends on, as far as it shows */

/* ---- blocked.c ---- */
/* Have a thread wait for the stream's signal, then look and wake all that sleep; false: none is
 * free. The device's lock held; only one at a time is asked to wait for a signal. */
bool acui_blocked_ask(acu_stream *stream, uint64_t number);
/* The same on this thread, which nobody can call back; false: it could not wait there. */
bool acui_blocked_wait(acu_stream *stream, uint64_t number);
void acui_blocked_stop(void); /* joins them */
bool acui_blocked_busy(void); /* some exist */

#endif
