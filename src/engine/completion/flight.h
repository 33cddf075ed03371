/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What is on the devices, and when it pays to look at it.
 *
 *   flight.c    streams with tasks, and which of them somebody wants to be told of
 *   due.c       when the next look at a stream pays, and how long the reactor may sleep
 *   lengths.c   how long tasks of a form take, learned from those that were
 *   between.c   between which bounds these lie, if they vary
 *   blocked.c   who waits in the driver for work of unknown length
 *
 * Short work is looked at without pause. Work that takes long and was seen before is left alone
 * until just before it should end: by as much as threads wake up late here, and as its length
 * varies. What takes another time each time, but not a very different one, is looked at from time
 * to time from the shortest on. For the rest a thread sleeps in the driver: that is some 100 us
 * late, but costs nothing meanwhile.
 */
#ifndef ACUI_ENGINE_FLIGHT_H
#define ACUI_ENGINE_FLIGHT_H

#include "engine/engine.h"

/* ---- flight.c ---- */
void acui_flight_lock(void); /* a leaf */
void acui_flight_unlock(void);

/* The tasks are the last on their stream, and their mark is made. `armed`: when the device was told
 * to write that; 0: it was not. */
void acui_flight_add(acu_stream *stream, acui_task *const *tasks, size_t count, uint64_t armed);
bool acui_flight_is_told(const acui_task *task); /* its future has somebody to tell */
/* The first mark of a task's, if a harvest may find something now; 0: nothing. `now`: the time, or
 * 0. No lock. */
uint64_t acui_flight_news(acu_stream *stream, uint64_t now);
/* Take the tasks up to stream->done off the stream; `all`: all, for the device is lost. */
acui_task *acui_flight_passed(acu_stream *stream, bool all, uint64_t now);
/* Somebody wants to be told soon when that is over which is on the stream now. */
void acui_flight_want(acu_stream *stream);
void acui_flight_want_all(void); /* on all streams: host work may wait for any of it */
void acui_flight_want_future(acu_future *future); /* with notices, or about to have one */
/* Call `look` with the first task of each of the device's streams that is not known to be complete,
 * the flight lock being held. */
void acui_flight_heads(const acu_device *device, void (*look)(const acui_task *, void *),
                       void *context);
/* Where the submission's end is. */
typedef struct acui_end {
    uint64_t number; /* its mark */
    bool last;       /* the last of the stream's, ... */
    uint64_t issued_at; /* ... which was made then */
} acui_end;

/* The stream that the submission is on, if it is on one only, and something of it is there. */
acu_stream *acui_flight_end_of(const acui_submission *submission, acui_end *end);
acu_stream *acui_flight_first(void); /* of those in flight, or NULL; lock held */

/* For the reactor, lock held: up to `most` streams that are due, retained, with their devices, and
 * in *next when the first of the others will be. */
size_t acui_flight_due(acu_stream **streams, size_t most, uint64_t now, uint64_t *next);
void acui_flight_let_go(acu_stream *const *streams, size_t count); /* lock not held */
void acui_flight_drop_idle(void);                                  /* lock not held */

/* ---- due.c ---- */
/*
 * When to look at the stream's first task again: now or before, at some time, or ACU_FOREVER: it is
 * seen to that waiters are woken. Work of unknown length that has been running for less than `spin`
 * is worth looking at now. Lock held; `now` is the time.
 */
uint64_t acui_flight_next_look(acu_stream *stream, uint64_t now, uint64_t spin);
/* The same for who waits: takes the lock; 0 if nothing is on the stream. `alone`: nobody can call
 * him back, so where a thread would wait in the driver, he may do it himself: ACUI_BLOCK. */
uint64_t acui_flight_wait_for(acu_stream *stream, uint64_t now, uint64_t spin, bool alone);
#define ACUI_BLOCK (ACU_FOREVER - 1)
uint64_t acui_flight_wait_for_any(uint64_t now, uint64_t spin); /* of all streams, the first */
/* A thread was to wake up at a certain time, and woke up `late` ns after it. Any thread. */
void acui_flight_woke(uint64_t late);
/* The process has one core: looking without pause would keep the others from it. Lock held. */
void acui_flight_one_core(bool alone);

/* The reactor sleeps until `time`, or something changes that makes its next look sooner. Lock held,
 * given up meanwhile. */
void acui_flight_sleep(uint64_t time);
void acui_flight_wake(void);   /* the reactor, if it sleeps; lock not held */
void acui_flight_expect(void); /* something short is about to be submitted: it had better wake up */
void acui_flight_full(void);   /* work waits for room: look soon */
/* Until when short work is likely to follow, so that not to sleep is cheaper. Lock held. */
uint64_t acui_flight_expected(void);
uint64_t acui_flight_changes(void); /* how often work came that somebody is to be told of */
bool acui_flight_is_written(void);  /* by a device, since the last acui_flight_due; the reactor's */

/* When the stream was last looked at; no lock. */
static inline uint64_t acui_looked_at(const acu_stream *stream)
{
    return atomic_load_explicit(&stream->looked_at, memory_order_relaxed);
}
static inline void acui_looked(acu_stream *stream, uint64_t now)
{
    atomic_store_explicit(&stream->looked_at, now, memory_order_relaxed);
}

/* What flight.c tells it and asks it; lock held. */
#define ACUI_IDLE ACU_MS(100) /* after that a stream with nothing on it is let go */
/* When the reactor is to look at the stream; it leaves those alone that others look at. */
uint64_t acui_due_at(acu_stream *stream, uint64_t now);
void acui_due_wake(uint64_t time);       /* the reactor, if it sleeps for longer */
void acui_due_changed(acu_stream *stream); /* the same, for what is to be done about the stream */
void acui_due_begin(void);               /* the reactor goes through all streams now, ... */
void acui_due_watch(acu_stream *stream); /* ... and until the next time watches this one's flag */
void acui_due_added(uint64_t now);       /* a task that somebody is to be told of */
/* Tasks are over, from the stream's first to the one with the number `last`. */
void acui_due_over(acu_stream *stream, const acui_task *first, uint64_t last, uint64_t now);
/* The stream's first task alone is over: how long it took is known as well as the time of the last
 * look. */
void acui_due_learn(acu_stream *stream, acui_task *task, uint64_t now);

/* ---- lengths.c; flight lock held ---- */
enum { ACUI_LENGTHS = 4 };
#define ACUI_LONG ACU_US(150) /* shorter work is not worth the reactor's going to sleep */
#define ACUI_LEARNED ACU_US(40) /* shorter work is looked at without pause, whatever its form */
#define ACUI_LATE ACU_US(80)    /* what a thread that waits in the driver takes to wake up, about */
#define ACUI_SPIN_LEAST ACU_US(6)
#define ACUI_SPIN_MOST ACU_US(50)

uint64_t acui_form_of(const acui_task *task); /* what its length depends on, as far as it shows */
/* Of lengths: that it will be one of them. */
typedef enum acui_trust {
    ACUI_UNSURE,
    ACUI_DOUBTED, /* each time of late, but once nobody looked until it was long over */
    ACUI_SURE,    /* each time of late */
} acui_trust;

typedef struct acui_length {
    uint64_t ns, spread; /* what it varies by, on average */
} acui_length;

/* Lengths that tasks of the form take, shortest first; 0: not known, or never the same. */
size_t acui_lengths_find(uint64_t form, acui_length lengths[ACUI_LENGTHS], acui_trust *trust);
/* When to look again at one of the form that was last looked at when it had run for `looked`: as
 * the time since its begin. Its lengths differ, but lie between bounds; 0: no bounds are known, or
 * it is beyond them, or it is `foreseen` and that is to be tried. `lead`: how late threads wake. */
uint64_t acui_lengths_between(uint64_t form, bool foreseen, uint64_t looked, uint64_t lead);
/* When to look at what should take `ns`, but may be much shorter this time: at the first part of it
 * that is more than `age`; `ns` itself, where none is. */
static inline uint64_t acui_look_before(uint64_t ns, uint64_t age)
{
    for (int part = 3; part > 0; part--)
        if (ns >> part > age)
            return ns >> part;
    return ns;
}
/* For how long to look without pause for one of the form: of such as take so little, whether or not
 * it is foreseen, that a sleep in the driver would take longer; else 0. */
uint64_t acui_lengths_short(uint64_t form);
/* A task took `ns`, or up to `slack` less: nobody looked meanwhile. It was to be looked at from
 * `late` ns ago on; 0: no such look was planned. */
void acui_lengths_learn(uint64_t form, uint64_t ns, uint64_t slack, uint64_t late);
/* How long to look without pause for work of unknown length, now that such work was waited for, and
 * `spin` so far: less while that does not help. `blocked`: it ended with a sleep, until a thread in
 * the driver woke up, so that the work took ACUI_LATE less. */
uint64_t acui_spin_after(uint64_t spin, uint64_t waited, bool blocked);

/* ---- between.c; flight lock held ---- */
typedef struct acui_between {
    uint64_t low, high; /* ns; high is 0: nothing was seen */
    uint8_t score;      /* how often what was seen lay between them, of late */
    uint8_t doubt;      /* so many times, it may be much less */
    bool missed;        /* the last one was over when it was looked at */
} acui_between;

/* A task took `ns`, or up to `slack` less; it was `foreseen`, and so not looked at before. */
void acui_between_learn(acui_between *between, uint64_t ns, uint64_t slack, bool foreseen);
/* As above. */
uint64_t acui_between_next(const acui_between *between, uint64_t looked, uint64_t lead);

/* ---- blocked.c ---- */
/* Have a thread wait for the stream's mark, look and wake all who sleep; false: none is free.
 * Flight lock held; a mark is waited for by one at a time. */
bool acui_blocked_ask(acu_stream *stream, uint64_t number);
/* The same on this thread, which nobody can call back; false: it could not wait there. */
bool acui_blocked_wait(acu_stream *stream, uint64_t number);
void acui_blocked_stop(void); /* joins them */
bool acui_blocked_busy(void); /* some are there */

#endif
