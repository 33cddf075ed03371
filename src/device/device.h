/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The internals of devices and streams.
 *
 * A stream's timeline: every submission that is put on the stream ends in a signal. A signal is a
 * number that counts up from 1, with an event recorded behind the work, or a write of the number by
 * the device itself. Signals complete in order, so a single number says what is done. Ordering
 * another stream's work behind a signal takes one cuStreamWaitEvent, or nothing if the signal is
 * complete or an earlier wait implies it.
 */
#ifndef ACUI_DEVICE_DEVICE_H
#define ACUI_DEVICE_DEVICE_H

#include "base/epochs.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/object.h"

#include <acuda/device.h>
#include <acuda/stream.h>
#include <pthread.h>

#define ACUI_MAX_DEVICES 64 /* in a process */
#define ACUI_VENDORS 16     /* room for libraries, of which there are fewer */
#define ACUI_MAX_STREAMS 64 /* in a device's pool */
#define ACUI_STREAMS 4      /* if the program does not say */
#define ACUI_PRIORITIES 16  /* that streams may have */
#define ACUI_HOLDERS 16     /* counters of threads in the driver: ... */
#define ACUI_OWN_HOLDERS 8  /* ... one for each of the first threads; the others share the rest */
#define ACUI_MEMORIES 4     /* kinds of memory for which a device has a pool */
#define ACUI_FIRST_SIGNALS 32 /* initial room of a stream's timeline; a power of two */

struct acu_pool;    /* memory layer */
struct acui_engine; /* engine/device.h */
struct acu_module;

/* Streams for branches: taken while a submission is issued, whether idle or not. */
#define ACUI_SIDE_STREAMS 16

/* Priorities that are told apart where work waits. CUDA's devices have 6; if there are ever more,
 * the least urgent ones count as one. */
#define ACUI_URGENCIES 8

/*
 * A bound on work in flight, which the engine enforces: at most `limit` places are taken (0: no
 * bound), and tasks that find none wait in a list. A stream's gate counts what is in the driver's
 * queue for the stream: that queue holds a thousand entries or so, and enqueuing blocks when it is
 * full.
 */
typedef struct acui_gate {
    uint32_t limit;
    _Atomic(uint32_t) used, waiting;
    struct acui_task *first; /* of those that wait, the most urgent ones first; the engine's lock */
    struct acui_task *last[ACUI_URGENCIES]; /* of each urgency; NULL: none of it waits */
} acui_gate;
/* Where a thread can wait in the driver: blocked.c. */
typedef struct acui_post {
    acu_stream *stream; /* NULL: not created yet; so is the event */
    CUevent event;
    bool taken;
} acui_post;
#define ACUI_POSTS 32

/* What was submitted to a stream and is neither on it yet nor over. Changed under the engine's
 * order lock, with release stores; acquire loads for threads that only look. */
typedef struct acui_backlog {
    _Atomic(uint32_t) handed; /* to a runtime thread that has not planned it; any thread */
    _Atomic(uint32_t) tasks[2]; /* by epochs */
    acui_epochs epochs;
} acui_backlog;

/* A place stands for two entries in the driver's queue for a stream, which is what most tasks need:
 * a launch and a signal. Leaves room for the task that is admitted last. */
#define ACUI_STREAM_PLACES 300

/* What layers above keep with a device, in the order in which it goes with the device. */
typedef enum acui_drop {
    ACUI_DROP_ENGINE, /* first: its graphs hold handles, and what kernels and memory they need */
    ACUI_DROP_POOLS,
    ACUI_DROP_FAMILIES,
    ACUI_DROP_HANDLES,
    ACUI_DROPS
} acui_drop;

/*
 * Layers above keep things of their own with a device, or with a stream. These are in the groups
 * that are named for the layer. This layer makes room for them, zeroed, and calls `drop`, where
 * that is set, when the device goes, with the device entered, or lost. What a group means and how
 * it is guarded is the business of its layer; the few places where this layer looks into one are
 * named there.
 */
struct acu_device {
    acui_object object;
    const acu_driver_table *cu;
    CUdevice raw;
    CUcontext context;
    acu_device_info info;
    CUmemoryPool pool; /* the driver's pool behind the device's own pool; NULL: it has none */
    acu_policy *policy; /* round robin over the pool of streams, with priority 0 */
    /* The same for other priorities, from the greatest on; created when first asked for. Release
     * store, acquire load. */
    _Atomic(acu_policy *) urgent[ACUI_PRIORITIES];
    acu_stream *alloc;  /* for allocations that belong to no submission: never has other work */
    size_t opens;       /* acu_open minus acu_close; guarded by the lock of the table of devices */

    /* By acui_drop. Each set when the first of its kind is made, and read when nobody else has the
     * device. */
    void (*drop[ACUI_DROPS])(acu_device *device);

    pthread_mutex_t lock; /* a leaf: events, lost_error, and what is said to be guarded by it */
    CUevent *events;      /* free events without timing; room for all that exist */
    size_t event_count, event_room, event_total;

    struct {
        struct acu_module *modules; /* that can be found by name; not retained; guarded by the
                                     * lock */
        struct acui_families *families; /* built-in ones, which the device holds */
        /* A module that is about to go is forgotten there first; fixed; may be NULL. */
        void (*forget)(acu_device *device, const struct acu_module *module);
    } kernel;

    struct { /* by acu_vendor: vendor/handles.h */
        _Atomic(struct acui_handles *) handles[ACUI_VENDORS]; /* release store, acquire load */
        _Atomic(uint32_t) used; /* bits: these libraries know the context */
        uint32_t stale; /* bits: they were used before a reset, and know the old context; fixed.
                         * This layer sets it: open.c */
    } vendor;

    /* A bit for each ordinal whose device has granted this one access to its memory, or is doing
     * so; `peers` follows, or it failed. New pools there grant access to this device too. Relaxed:
     * see acui_device_note_peer. */
    _Atomic(uint64_t) granted;
    _Atomic(uint64_t) peers; /* bit per ordinal whose memory this device may access; relaxed */
    _Atomic(uint64_t) not_peers; /* ... that was asked for, and can not be accessed; relaxed */

    struct {
        /* The device's own pools, created at first use: release store, acquire load; and a list of
         * all pools, the program's included. */
        _Atomic(struct acu_pool *) own[ACUI_MEMORIES];
        struct acu_pool *pools; /* guarded by the lock */
        /* Grants the peer access to this device's pools. The device is entered. */
        acu_status (*grant_pools)(acu_device *device, acu_device *peer);
        _Atomic(bool) trims; /* some pool keeps only a part of its memory when the device is idle;
                              * release store, acquire load */
        void (*idle)(acu_device *device); /* set before `trims`: gives the rest back */
        pthread_mutex_t giving; /* held while memory of pools is on its way back to the driver;
                                 * taken under a stream's issue lock. This layer inits it */
        _Atomic(uint64_t) given; /* how often some was given back; written under that lock */
    } memory;

    _Atomic(uint64_t) *flags; /* flags.c: host memory that streams write; guarded by the lock */
    CUdeviceptr flags_at;
    uint32_t flag_count;
    bool no_flags;

    acu_stream *side[ACUI_SIDE_STREAMS]; /* free ones; guarded by the lock */
    size_t side_count, side_made;

    acui_post posts[ACUI_POSTS]; /* guarded by the lock */

    bool runtime_thread; /* as opened; fixed */
    bool one_by_one;       /* as opened; fixed: */
    pthread_mutex_t one_at_a_time; /* held while one operation runs; taken under a stream's issue
                                    * lock */
    bool running;          /* ... and which one that is; guarded by the lock */
    acu_site running_site;
    char running_op[ACU_ERROR_OP];

    /* Each record is written once, under the lock, before its flag is set: what was reported, with
     * the operation to blame if that was known; and the same once it was found later. */
    _Atomic(bool) lost, blamed;
    acu_error lost_error, blamed_error;
    /* Reset (reset.c). `refusing`: work that is not issued yet is refused. `stale`: the context is
     * gone, and another device has its place. `given_back`: acuda's own reference to the primary
     * context was released. */
    _Atomic(bool) refusing, stale;
    bool given_back;
    struct acui_holder { /* threads between acui_hold and acui_unhold; a cache line each */
        _Atomic(uint32_t) count;
        _Atomic(uint32_t) getting; /* the engine's: tasks that may have memory, and are not
                                    * counted as going yet */
        bool own; /* used by one thread only */
        char apart[55];
    } holders[ACUI_HOLDERS];

    struct acui_engine *engine; /* made with the device; fixed; NULL: that failed */
    uint32_t max_in_flight;     /* as opened; fixed; 0: no bound */
    struct {
        /* Tasks of submissions: ACUI_ENTERED for each, and ACUI_GOING for each that was issued, or
         * begun on the host. `started` is changed under the order lock only. What ended is counted
         * in the epoch in which it was entered. See acui_work_on. */
        _Atomic(uint64_t) started, ended[2];
    } work;

    /* When the driver was last asked about a signal that the device itself reports, or accepted
     * such a signal, in ns. Both times it would have reported what is wrong with the context,
     * whatever the stream. Relaxed. */
    _Atomic(uint64_t) asked_at;
};

#define ACUI_ENTERED UINT64_C(1)
#define ACUI_GOING (UINT64_C(1) << 32)
/* Returns both counts in one word: the difference of two such sums is one too, however often they
 * wrapped around. `ended` is read first, so that neither count is too small. seq_cst, paired with
 * threads that wait until there are fewer. */
static inline uint64_t acui_work_on(acu_device *device)
{
    uint64_t ended = atomic_load_explicit(&device->work.ended[0], memory_order_seq_cst) +
                     atomic_load_explicit(&device->work.ended[1], memory_order_seq_cst);
    return atomic_load_explicit(&device->work.started, memory_order_seq_cst) - ended;
}

/* The number of tasks; when there are none, what they held has been released. */
static inline uint32_t acui_in_flight(acu_device *device)
{
    return (uint32_t)acui_work_on(device);
}

/*
 * A device's own streams (`pooled`) live as long as the device, and retaining one retains the
 * device instead. So use acu_stream_retain and acu_stream_release for streams, and
 * acu_policy_retain and acu_policy_release for policies, never the functions of object.h.
 */
struct acu_stream {
    acui_object object;
    acu_device *device; /* retained, except by pooled streams */
    CUstream raw;
    int priority;
    bool foreign; /* wrapped: not acuda's to destroy */
    bool pooled;  /* the device's own; lives as long as the device */
    bool of_thread;       /* CUDA's per-thread default stream, which is a different one for each
                           * thread: */
    uint64_t thread;      /* ... the one of this thread, by its number */
    _Atomic(bool) shown; /* the program, or a library, has `raw`. Set before it gets it, under
                          * `lock`; release, and acquire for whoever hands it out, else relaxed */
    uint64_t id;  /* never reused in the process */
    _Atomic(uint32_t) watchers; /* how many still look at `done` and the tag, plus one while the
                                 * stream lives */

    /* Held while a submission is put on the stream, so that a signal covers all of it. */
    acui_lock issue;

    acui_lock lock; /* the timeline; a leaf: held across cuEventRecord/Query/WaitEvent only */
    uint64_t issued;      /* last signal */
    uint64_t owed;        /* a signal that must be made, because something was fenced with it */
    _Atomic(uint64_t) done; /* last complete signal; release store, acquire load */
    struct acui_signal *signals; /* ring of signals not yet complete, in order */
    size_t signal_first, signal_count, signal_room; /* room is a power of two */
    /* The part of `issued` that the device has written, for threads that poll (flags.c). */
    _Atomic(_Atomic(uint64_t) *) flag; /* NULL: none yet; release, acquire */
    CUdeviceptr flag_at;
    uint64_t flagged;        /* the last number that the device was told to write */
    _Atomic(uint64_t) untold;   /* the last signal that the device was not told to write before the
                                 * signal's event; relaxed, as is: */
    _Atomic(bool) no_flag;   /* the device can not write it */
    CUevent spare[4]; /* events of complete signals, for the next ones */
    unsigned spare_count;
    unsigned blind; /* consecutive queries that failed without a known reason */
    /* Waits that were enqueued: the highest signal of another stream, by its id; a small cache.
     * Lock: issue. */
    struct acui_seen {
        uint64_t stream, number;
    } seen[16];

    struct { /* flight lock, unless something else is said */
        struct acui_task *first_task, *last_task; /* on the stream, in the order of their signals */
        _Atomic(uint64_t) first; /* the signal of the first task, 0: none; relaxed without the
                                  * lock */
        _Atomic(uint64_t) looked_at; /* when it was last looked at, in ns; relaxed, also without
                                      * it */
        struct acu_stream *next_active;
        acui_gate gate; /* this layer sets its limit, and policies look how full it is */
        acui_backlog backlog; /* order lock; this layer looks at it: acui_stream_is_held */
        bool active;          /* it is in the list of those that the reactor looks after */
        bool called;          /* it is empty; a thread is to be told when something comes */
        bool relied;          /* a thread sleeps until one that waits in the driver wakes it */
        uint64_t wanted;      /* somebody wants to be told of signals up to this one */
        uint64_t waited_for;  /* ... and a thread waits in the driver for those up to this one */
        uint64_t over_at;     /* when a task was last found over; ns */
        uint64_t tended;      /* until then somebody else looks */
        uint64_t planned;     /* the look before a predicted end */
        uint64_t armed;       /* the signal that the device writes into the stream's flag */
    } engine;
};

struct acu_event {
    acui_object object;
    acu_device *device;
    CUevent raw;
    bool timing;
    _Atomic(bool) recorded;
};

/* --- context --- */

/*
 * While a thread holds a device, nobody resets its context. acui_enter does this; on its own it is
 * for handles of a device other than the one that is entered. False, with nothing to give back, if
 * the device is lost. Never blocks.
 */
struct acui_holder *acui_holder_of_thread(acu_device *device);
/* The number of the calling thread, from 1 on. Unlike the result of pthread_self, it is not reused
 * when the thread has ended. */
uint64_t acui_thread_number(void);
static inline bool acui_hold(acu_device *device, struct acui_holder **holder)
{
    struct acui_holder *h = acui_holder_of_thread(device);
    /* seq_cst, both: either this thread sees that the device is lost, or the one that resets it
     * sees the count. */
    atomic_fetch_add_explicit(&h->count, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&device->lost, memory_order_seq_cst)) {
        atomic_fetch_sub_explicit(&h->count, 1, memory_order_release);
        h = NULL;
    }
    *holder = h;
    return h != NULL;
}
/* Release: a thread that resets the device sees that the driver calls made meanwhile are over. NULL
 * is fine. */
static inline void acui_unhold(struct acui_holder *holder)
{
    if (holder && holder->own) /* no other thread changes it */
        atomic_store_explicit(&holder->count,
                              atomic_load_explicit(&holder->count, memory_order_relaxed) - 1,
                              memory_order_release);
    else if (holder)
        atomic_fetch_sub_explicit(&holder->count, 1, memory_order_release);
}

/*
 * Make the device's context current on this thread, and remember the previous one; leaving restores
 * it. In between, the thread's stream-capture mode is relaxed, so that no call here can break a
 * capture of the program's. Calls nest. Fails with the driver's error, or DEVICE_LOST.
 */
typedef struct acui_entered {
    const acu_driver_table *cu;
    struct acui_holder *holder;
    CUcontext before;
    bool switched, relaxed;
    unsigned mode;
} acui_entered;
acu_status acui_enter(acu_device *device, acui_entered *entered);
/* For giving things back: does as much as possible, whatever fails. False for a lost device, of
 * whose context nothing may reach the driver any more. acui_leave has to be called in both
 * cases. */
bool acui_enter_to_free(acu_device *device, acui_entered *entered);
void acui_leave(acui_entered *entered);

/* The driver's call (by the name of its field, "LaunchKernel") returned `result`: if that means the
 * device is gone, mark it lost (the first error is kept). Returns the status for the call, and sets
 * the thread's record if that is a failure. */
acu_status acui_device_failed(acu_device *device, const char *call, unsigned result);
static inline acu_status acui_device_result(acu_device *device, const char *call, unsigned result)
{
    return result == 0 ? ACU_OK : acui_device_failed(device, call, result);
}
#define ACUI_DEV(device, function, ...)                                                            \
    acui_device_result((device), #function, (device)->cu->function(__VA_ARGS__))

/* Mark the device lost with the thread's error record, if it is not lost yet. The engine's function
 * adds to the record what was running, if that can be told. */
void acui_device_lose(acu_device *device);
/* The device is lost: if its record names nothing to blame yet, the engine looks once more. Leaves
 * the thread's record alone. */
void acui_device_blame(acu_device *device);
typedef void (*acui_blame_fn)(acu_device *device);
void acui_set_blame(acui_blame_fn function);
static inline bool acui_device_lost(const acu_device *device)
{
    return atomic_load_explicit(&device->lost, memory_order_acquire);
}
/* ACU_OK, or fails with the device's record of the first fault, or with STALE. */
acu_status acui_device_check(const acu_device *device);

/* Defined by the engine. The first makes device->engine, before anything else
 * of the device; it fails with NO_MEMORY. The other one gives it back, when all else is gone
 * (ACUI_DROP_ENGINE comes first, for what needs the context). */
acu_status acui_engine_open(acu_device *device);
void acui_engine_close(acu_device *device);

/* The device that lives under `ordinal` in this process, open or not, retained; NULL if there is
 * none. */
acu_device *acui_device_find(int ordinal);

/* acu_close calls these: `drain` before it gives up its reference, to wait until nothing is in
 * flight on `device`, and `stop` after the last close of the process, to end the engine's threads.
 * Set once. */
typedef struct acui_close_hooks {
    acu_status (*drain)(acu_device *device); /* DEVICE_LOST, IN_CALLBACK or ACU_OK */
    void (*stop)(void);
    /* acu_device_wait; NULL: it polls acui_in_flight. */
    acu_status (*wait)(acu_device *device, uint64_t timeout);
    /* Waits until everything submitted to the stream so far is on it, or over. */
    acu_status (*settle)(acu_stream *stream, uint64_t timeout);
} acui_close_hooks;
void acui_set_close_hooks(const acui_close_hooks *hooks);
/* Hooks that are in effect until then, for threads that work below the engine. */
void acui_set_first_close_hooks(const acui_close_hooks *hooks);

/* Whether some device of the process has a runtime thread. */
bool acui_any_runtime_thread(void);

/* A pool of the driver's that keeps what is freed, and shares it with nobody. The device is
 * entered. */
acu_status acui_driver_pool(acu_device *device, CUmemoryPool *pool);
/* Let `device` access memory of the pool, which belongs to the peer. The peer is entered. */
acu_status acui_grant_pool(acu_device *device, acu_device *peer, CUmemoryPool pool);

/* --- events of the device, without timing, reused; any context --- */
acu_status acui_event_get(acu_device *device, CUevent *event);
void acui_event_put(acu_device *device, CUevent event); /* only once all waits on it are enqueued */

/* --- streams --- */

/* A stream of the device; a pooled one does not retain it. */
acu_status acui_stream_open(acu_device *device, int priority, bool pooled, acu_stream **stream);
/* Frees a stream that nothing refers to any more; for pooled streams, when their device ends. */
void acui_stream_destroy(acu_stream *stream);
/*
 * For code that must know whether a signal is complete, but must not keep the stream alive: the
 * stream's memory stays, with a tag that says whether it lives, and all its signals are complete
 * once it does not.
 */
void acui_stream_watch(acu_stream *stream);
void acui_stream_unwatch(acu_stream *stream);
/*
 * Streams besides the one on which work is issued, for branches of it: up to `wanted` of the
 * device's own, on which nobody else issues until they are given back. They may still be busy with
 * earlier work. Returns how many there are. The device is entered.
 */
size_t acui_side_take(acu_device *device, acu_stream **streams, size_t wanted);
void acui_side_give(acu_device *device, acu_stream *const *streams, size_t count);

/* Whether something that was submitted to the stream is neither on it yet nor over. */
static inline bool acui_stream_is_held(const acu_stream *stream)
{
    const acui_backlog *backlog = &stream->engine.backlog;
    /* Planned work counts as a task before it stops counting as handed over. */
    return atomic_load_explicit(&backlog->handed, memory_order_acquire) ||
           atomic_load_explicit(&backlog->tasks[0], memory_order_acquire) ||
           atomic_load_explicit(&backlog->tasks[1], memory_order_acquire);
}
/* BUSY if so: nobody can tell yet where the stream's end is. */
acu_status acui_stream_check_held(const acu_stream *stream, const char *function);

/* The handle, to be given to others than acuda. */
CUstream acui_stream_show(acu_stream *stream);

/* Whether the stream's handle means this stream on the calling thread. If not: INVALID, naming the
 * `function` that got it. */
acu_status acui_stream_check_thread(const acu_stream *stream, const char *function);
/* Whether it does so on every thread, since any of them may issue acuda's work. The same. */
acu_status acui_stream_check_any(const acu_stream *stream, const char *function);

/* CAPTURE if the program is capturing the stream: what acuda puts there would become part of the
 * capture, or break it. Only code that has the stream's handle can capture it. The device is
 * entered. */
acu_status acui_stream_not_capturing(acu_stream *stream);
/* The same without an error record: returns the driver's result if it can not tell. */
unsigned acui_stream_ask_captured(const acu_stream *stream, bool *captured);
/* CAPTURE in that case, else ACU_OK, whatever goes wrong. Enters the device if the program has the
 * handle. */
acu_status acui_stream_check_capture(acu_stream *stream);
/* If a call of the program's to the function fails with CAPTURE, its record names the function.
 * Returns `status`. */
static inline acu_status acui_capture_in(acu_status status, const char *function)
{
    return status == ACU_ERR_CAPTURE ? acui_error_by(status, function) : status;
}

/* --- timeline --- */

typedef struct acui_signal {
    uint64_t number;
    /* NULL if the device itself reports the signal, or if no event could be recorded: then the
     * signal is complete when the stream is idle. */
    CUevent event;
} acui_signal;

/* The time between two queries about signals that the device itself reports, in ns. */
#define ACUI_ASK ACU_US(20)

/* Somebody else is about to get the stream's handle, and may capture the stream. Asking about the
 * stream itself would then break the capture, so all its signals get events. Only after that does
 * the stream count as shown. Any thread, any context. */
void acui_stream_expose(acu_stream *stream);

/* Whether the device itself is to report that a signal is complete (acui_stream_prompt). */
typedef enum acui_report {
    ACUI_REPORT_NEVER,
    ACUI_REPORT_IF_FIRST, /* if it is the only one on its stream */
    ACUI_REPORT_ALWAYS,
} acui_report;

/*
 * Put a signal behind everything that is on the stream now; returns its number, and when the device
 * was told to report its completion (`armed`, may be NULL; 0: it was not). The caller holds `issue`
 * and has entered the device. Once work is on a stream there must be a way to learn of its end, so
 * this makes do without an event, and without memory, if there is none: it fails only if the device
 * is lost.
 */
acu_status acui_stream_signal(acu_stream *stream, acui_report report, uint64_t *number,
                              uint64_t *armed);
/* For a per-thread default stream, called by its own thread, under the same conditions. If the
 * driver gave no event for the last signal, waits for the signal here, because other threads could
 * not ask about it, and this one may be gone by then. */
void acui_stream_own_end(acu_stream *stream, uint64_t number);
/*
 * The number of the next signal, for memory that is fenced with it before it is made. It must be
 * made: a caller that may release the issue lock without having put work on the stream calls
 * acui_stream_make_owed, which does nothing if the signal was made meanwhile. Both under the same
 * conditions.
 */
uint64_t acui_stream_owe(acu_stream *stream);
void acui_stream_make_owed(acu_stream *stream);
/*
 * Work that `stream` gets from now on starts after signal `number` of `other`. The caller holds
 * `issue` of `stream` and has entered its device. If the other's device is lost, nothing of it runs
 * any more: fails with DEVICE_LOST and that device's record, which matters only to readers of what
 * that work wrote.
 */
acu_status acui_stream_after(acu_stream *stream, acu_stream *other, uint64_t number);
/* Whether an earlier wait of the stream for the other one was for that signal or a later one. Lock:
 * issue. */
bool acui_stream_implied(acu_stream *stream, const acu_stream *other, uint64_t number);
/*
 * Ask the driver; advances stream->done as far as signals are complete, and reuses their events.
 * ACU_OK, or the device's error (lost: signals that were not complete never will be, and `done`
 * stays where it is). If a query fails without a known reason, asks whether the stream is idle
 * instead, and later harvests try again; if everything keeps failing, nobody can tell what is
 * complete, and the device counts as lost. Any thread, any context. `*left` (may be NULL): signals
 * still not complete.
 */
acu_status acui_stream_harvest(acu_stream *stream, size_t *left);
/* The same without a lock, as far as the device itself has written; false: not as far as `number`,
 * or the device is lost. Events stay where they are until the next signal. */
bool acui_stream_catch_up(acu_stream *stream, uint64_t number);
/* The signal is known to be complete without a look, because something that came behind it is. */
void acui_stream_passes(acu_stream *stream, uint64_t number);
uint64_t acui_stream_last(acu_stream *stream); /* the last signal so far */
/* Whether the signal is harvested, or the device has written that it is complete. No lock. */
bool acui_stream_reached(acu_stream *stream, uint64_t number);
/* For the first signal that is not known to be complete: whether a harvest would find nothing now,
 * because the device itself reports the signal and has not, and the driver was asked just now. No
 * lock. */
bool acui_stream_is_quiet(acu_stream *stream, uint64_t number, uint64_t now);
/*
 * Somebody is going to poll for the signal: let the device write it into host memory, if it is the
 * stream's last one. True if the device will write it, or a later one: then acui_stream_flag_passed
 * tells, without the driver, when there is something to harvest. This is one more piece of work on
 * the stream, behind the signal (cuStreamWriteValue64). If the program has the stream's handle, it
 * is not done while the stream is captured or somebody issues on it. Any thread, any context.
 */
bool acui_stream_prompt(acu_stream *stream, uint64_t number);
/* The same for that number; false: impossible. The caller holds stream->lock and has entered the
 * device. */
bool acui_stream_tell(acu_stream *stream, uint64_t number);
/*
 * Block until the signal is complete, unless something fails: the caller looks, as it does not know
 * why this returned. Driver: cuEventRecord and cuEventSynchronize; before these, if something else
 * may be behind the signal, cuStreamWaitEvent on a stream of its own.
 */
bool acui_stream_block(acu_stream *stream, uint64_t number);
void acui_posts_free(acu_device *device, bool works);

/* Whether the device has written a signal that is not harvested yet. Only after acui_stream_prompt
 * returned true. */
bool acui_stream_flag_passed(const acu_stream *stream);
/* Nothing is in flight on the stream, but the device may still write its flag, which comes behind
 * the last event, and whose memory goes next: waits for that. The device is entered. */
void acui_stream_await_flag(acu_stream *stream);
void acui_flags_free(acu_device *device, bool works);

static inline bool acui_stream_passed(acu_stream *stream, uint64_t number)
{
    return atomic_load_explicit(&stream->done, memory_order_acquire) >= number;
}

/* --- policies --- */
struct acu_policy {
    acui_object object;
    acu_device *device; /* retained, except by the device's own policies */
    bool own;           /* the device's own: its streams are pooled */
    acu_policy_order order;
    acu_policy_fn choose; /* NULL: by `order` */
    acu_user user;
    _Atomic(uint32_t) turn;
    uint32_t count;
    acu_stream *streams[]; /* retained */
};
/* Round robin over new streams. `own`: the device's own, which lives as long as the device. */
acu_status acui_policy_open(acu_device *device, unsigned streams, int priority, bool own,
                            acu_policy **policy);
/* The device's own policy of another priority. INVALID if there is no such priority. */
acu_status acui_policy_of_priority(acu_device *device, int priority, acu_policy **policy);
void acui_policy_destroy(acu_policy *policy);
/* The next stream, borrowed from the policy. No lock is held, because the program may choose. NULL
 * (CALLBACK, with the record) if it chose none. */
acu_stream *acui_policy_pick(acu_policy *policy);
bool acui_policy_asking(void); /* this thread is in a policy's function, and a plan is half cut */

#endif
