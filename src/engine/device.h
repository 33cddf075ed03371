/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the engine keeps of a device. It is made when the device is opened, and torn down when the
 * device goes (submit/open.c). What devices had before is used again, and never freed: so a thread
 * that goes through all of them needs no lock for that, and finds nothing in those that are free.
 *
 * Whatever a submission changes on its way is here, in what it touches (buffers, streams), or
 * belongs to the thread: so submissions to different devices do not meet. The order lock of a
 * device is a layer below (memory/access.h), and a runtime thread's ring in submit/runtime.c. What
 * all devices share is written only where a submission asks for more:
 *   - to be told of: when the reactor looks next (flight/due.c), if that is sooner
 *   - by a thread that sleeps: that it does (base/done.h)
 *   - to wait for room or memory: the lists of those that wait (issue/admit.c, issue/memory.c)
 *   - host work, copies of pageable memory, a new graph: the lists of the threads that do it
 *     (host/, issue/build.c)
 *   - to be explained, cancelled, in time: counts of records, the list of deadlines
 *   - an op with several users: a lock for those (op/child.c, op/plan_op.c)
 *   - by threads that wait: how long to spin, and how long a thread takes to wake up, which they
 *     learn from each other (completion/wait.c, flight/due.c)
 */
#ifndef ACUI_ENGINE_DEVICE_H
#define ACUI_ENGINE_DEVICE_H

#include "device/device.h"

/* How long one thing after the other took: for each signature, its last few lengths
 * (flight/lengths.c). */
enum { ACUI_LENGTHS = 8, ACUI_LENGTH_SETS = 128, ACUI_LENGTH_PLACES = 4 /* in each set */ };
typedef struct acui_length {
    uint64_t ns;
    bool rough; /* nobody saw sharply when it ended */
} acui_length;
typedef struct acui_lengths {
    uint64_t signature;
    uint64_t learned; /* the count of all that was learned, when it was last about this signature */
    acui_length known[ACUI_LENGTHS]; /* a ring */
    size_t count, next;
    uint8_t doubt; /* for how many tasks more an end may come sooner than is known */
} acui_lengths;

/* What is on the device (flight/flight.h). */
typedef struct acui_flight {
    _Alignas(64) acui_lock lock; /* a leaf, but for the reactor's lock, and that of helpers
                                  * (blocked.c); of all that follows, if nothing else is said */
    acu_stream *active; /* streams that have tasks, or had some a while ago; each retained */
    acu_stream *next;   /* where the next look goes on; NULL: at the first */
    uint64_t over_at;   /* when the last task was over that somebody wanted to be told of */
    uint64_t gap;       /* between that and the next one, on average; at most 2 ACUI_SHORT_GAP */
    uint64_t ended_at;  /* when a task was last found over, in ns */
    bool used;          /* it ever had a stream; the rest is set then */
    /* The reactor polls these. Written under the lock, or as a hint without; relaxed. */
    _Alignas(64) _Atomic(uint64_t) changes; /* how often work came that somebody is to be told of */
    _Atomic(uint64_t) expected; /* until then something short may come at any moment */
    _Atomic(uint64_t) length;   /* of what somebody wanted to be told of, on average; never over 2
                                 * ACUI_LONG */
    _Alignas(64) acui_lengths lengths[ACUI_LENGTH_SETS][ACUI_LENGTH_PLACES];
    uint64_t learned; /* how often */
} acui_flight;

/* A queue of ready tasks (issue/dispatch.h). */
enum {
    /* Tasks that are issued as one, at most. A power of two, as is how many are issued at once: so
     * a signature has few graphs. With 16, four threads reached 0.70 instead of 0.77 of the rate at
     * which they launch by hand (H100). */
    ACUI_BATCH_MOST = 32,
    ACUI_DISPATCH_MOST = 64,    /* tasks in a queue: with so many it is full, */
    ACUI_DISPATCH_SHARED = 16,  /* ... or with so many, if several threads add to it. On an H200,
                                 * eight threads had 0.7 of the rate of launches by hand with 64,
                                 * and 1.1 with 16; in bench/flight one thread lost a third of its
                                 * rate with 16 */
    ACUI_DISPATCH_BATCHES = 32, /* ... or with so many batches */
};

/* Tasks in a queue that are issued as one: they have one signature and one stream. What choosing
 * needs of them is here, since the tasks themselves are in the caches of other cores. */
typedef struct acui_batch {
    uint64_t signature; /* 0: one task, which is issued on its own */
    acu_stream *stream;
    uint32_t count, most; /* most: how many may be issued as one */
    struct acui_task *tasks[ACUI_BATCH_MOST];
} acui_batch;

typedef struct acui_dispatch {
    _Alignas(64) acui_lock lock; /* a leaf */
    /* Written under the lock, and read without it too: */
    _Atomic(uint32_t) count; /* release, acquire: a thread that sees it fall sees who consumes */
    _Atomic(uint32_t) open;  /* relaxed: a hint, without the lock */
    int barred; /* threads that run what may take long */
    uint64_t added;          /* how many tasks were ever added */
    uint64_t begun, taken;   /* how many batches ever were, and how many of them are taken */
    const void *adder;       /* the thread that added the last task; only compared */
    uint32_t shared;         /* not 0: another one added some of the last ACUI_DISPATCH_MOST */
    _Atomic(acu_stream *) stream; /* for those that may go in a batch: one of the device's own, so
                                   * it stays; NULL while it is closed; relaxed without the lock */
    unsigned on_stream;      /* how many got it */
    acui_batch batches[ACUI_DISPATCH_BATCHES]; /* a ring, by their numbers */

    _Alignas(64) _Atomic(uint32_t) consumers;
    _Atomic(uint32_t) in_user_code; /* of these: in a function of the program's; relaxed */
    _Atomic(uint32_t) drains;       /* threads that drain it */

    /* dispatch_thread.c: */
    _Alignas(64) _Atomic(uint32_t) ahead; /* twice how many tasks were; relaxed: a guess */
    acu_device *device;     /* that the thread was woken for: retained; NULL: it sleeps; lock */
    _Atomic(uint32_t) woken; /* 1: it was woken. The thread sleeps on this */
    _Atomic(bool) ended;
    bool running; /* the thread exists; start lock */
    pthread_t thread;
} acui_dispatch;

/* How long one task of a signature takes while the device is busy with such (flight/pace.c). */
enum { ACUI_PACE_SETS = 64, ACUI_PACE_PLACES = 8 /* in each set: a line of the cache */ };
typedef _Atomic(uint64_t) acui_paces[ACUI_PACE_SETS][ACUI_PACE_PLACES];

typedef struct acui_engine {
    /* Executable graphs (issue/graphs.h) and timing events (report/timing.c), created at first use:
     * release store, acquire load. */
    _Atomic(struct acui_graphs *) graphs;
    _Atomic(struct acui_timer *) timer;
    struct acui_rings *rings; /* host/ring.c: pinned memory for copies of pageable memory; guarded
                               * by the device's lock */
    acui_gate gate; /* issue/admit.c; its limit is the device's max_in_flight */
    /* Tasks that were entered, by epochs; what ended is counted in the epoch in which it was
     * entered (acu_device.work). Order lock. */
    uint32_t entered[2];
    acui_epochs epochs;
    acui_flight flight;
    acui_dispatch queue;
    _Alignas(64) acui_paces paces; /* written with the flight lock held; relaxed: guesses */

    /* submit/open.c; under its lock: */
    int ordinal; /* of the device that has it, or had it last */
    bool taken;  /* some device has it */
} acui_engine;

enum { ACUI_ENGINES = 2 * ACUI_MAX_DEVICES }; /* a device that was reset may live on for a while */
extern acui_engine acui_all_engines[ACUI_ENGINES];
acui_engine *acui_engines_end(void); /* behind the last one that any device ever had */
#define ACUI_EACH_ENGINE(e)                                                                        \
    (acui_engine *e = acui_all_engines, *end_ = acui_engines_end(); e < end_; e++)

#endif
