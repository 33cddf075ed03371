/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Inside of devices and streams.
 *
 * A stream's timeline: every submission that was put on it ends in a mark, a number that counts up
 * from 1, and an event recorded behind the work, or the number that the device itself writes. Marks
 * complete in order, so one number says what is done. Ordering work of another stream behind a mark
 * is one cuStreamWaitEvent, or nothing if the mark is complete or an earlier wait implies it.
 */
#ifndef ACUI_DEVICE_DEVICE_H
#define ACUI_DEVICE_DEVICE_H

#include "base/lock.h"
#include "base/object.h"

#include <acuda/device.h>
#include <acuda/stream.h>
#include <pthread.h>

#define ACUI_MAX_DEVICES 64 /* of a process */
#define ACUI_MAX_STREAMS 64 /* of a device's pool */
#define ACUI_STREAMS 4      /* where the program does not say */
#define ACUI_PRIORITIES 16  /* that streams may have */
#define ACUI_HOLDERS 16     /* counters of who is in the driver: ... */
#define ACUI_OWN_HOLDERS 8  /* ... one for each of the first threads; others share the rest */
#define ACUI_MEMORIES 4     /* kinds of memory that a device has a pool of */
#define ACUI_FIRST_MARKS 32 /* room of a stream's timeline at first; a power of two */

struct acu_pool;    /* memory layer */
struct acui_graphs; /* engine: executable graphs kept for reuse */
struct acu_module;

/* Streams for branches: taken while a submission is issued, idle or not. */
#define ACUI_SIDE_STREAMS 16

/*
 * A bound on work in flight, which the engine keeps: at most `limit` places are taken (0: no
 * bound), and tasks that find none wait in a list. A stream's counts what lies in the driver's
 * queue for it; that holds a thousand entries or so, and enqueuing blocks when it is full.
 */
typedef struct acui_gate {
    uint32_t limit;
    _Atomic(uint32_t) used, waiting;
    struct acui_task *first; /* waiting; the engine's lock */
} acui_gate;
/* Where a thread may wait in the driver: blocked.c. */
typedef struct acui_post {
    acu_stream *stream; /* NULL: not made yet, as the event */
    CUevent event;
    bool taken;
} acui_post;
#define ACUI_POSTS 32

/*
 * What was submitted to a stream and is not on it yet, nor over. Tasks are counted on two sides:
 * new ones on `side`, which changes when there are none on the other. So all that were there at
 * some time are on the stream, or over, once two more turns were taken. Changed under the engine's
 * order lock; release stores, acquire loads for who only looks.
 */
typedef struct acui_backlog {
    _Atomic(uint32_t) handed; /* to a runtime thread, which has not planned them. Any thread */
    _Atomic(uint32_t) tasks[2];
    unsigned side;
    uint64_t turns;
} acui_backlog;

/* Of two entries each in the driver's queue for a stream, as most tasks have: a launch and a mark.
 * Leaves room for the task that is let in last. */
#define ACUI_STREAM_PLACES 300

struct acu_device {
    acui_object object;
    const acu_driver_table *cu;
    CUdevice raw;
    CUcontext context;
    acu_device_info info;
    CUmemoryPool pool; /* the driver's, behind the device's own pool; NULL: it has none */
    acu_policy *policy; /* round robin over the pool of streams, of priority 0 */
    /* The same for other priorities, from the greatest on; made when first asked for. Release
     * store, acquire load. */
    _Atomic(acu_policy *) urgent[ACUI_PRIORITIES];
    acu_stream *alloc;  /* for allocations that belong to no submission: never has other work */
    size_t opens;       /* acu_open minus acu_close; the lock of the table of devices */

    pthread_mutex_t lock; /* a leaf: events, lost_error, modules, blocks */
    CUevent *events;      /* free events without timing; room for all that exist */
    size_t event_count, event_room, event_total;
    struct acu_module *modules; /* kernel layer: those found by name; not retained */
    struct acui_families *families; /* kernel layer: built-in ones, which the device holds */
    void (*drop_families)(acu_device *device); /* the device is entered, or lost */
    /* ops: cuBLAS, made at first use; release store, acquire load. Dropped likewise. */
    _Atomic(struct acui_cublas *) cublas;
    void (*drop_cublas)(acu_device *device);
    bool cublas_stale; /* it was used before a reset, and knows that context; fixed */
    /* Bit per ordinal whose device is granting access to its memory, or did: `peers` follows, or it
     * failed. New pools there are for this device too; relaxed, see acui_device_note_peer. */
    _Atomic(uint64_t) granted;
    _Atomic(uint64_t) peers; /* bit per ordinal whose memory this device may access; relaxed */
    _Atomic(uint64_t) not_peers; /* ... that was asked for, and can not be accessed; relaxed */
    /* Its own pools, made at first use: release store, acquire load; and all, user's included. The
     * functions are the memory layer's; the device is entered, or (dropping) lost. */
    _Atomic(struct acu_pool *) memory[ACUI_MEMORIES];
    struct acu_pool *pools; /* the lock */
    void (*drop_pools)(acu_device *device);
    /* This device's, to the peer. */
    acu_status (*grant_pools)(acu_device *device, acu_device *peer);
    _Atomic(bool) trims; /* some pool keeps only a part when the device is idle; release store,
                           * acquire load */
    void (*idle)(acu_device *device); /* set before `trims`: gives the rest back */

    pthread_mutex_t giving; /* while memory of pools is on its way back to the driver; taken under
                             * a stream's issue lock */
    _Atomic(uint64_t) given; /* how often some went there; written under that lock */

    struct acui_rings *rings; /* engine: pinned memory for copies of pageable memory; the same */
    void (*drop_rings)(acu_device *device);

    /* Made at first use, and freed with the device by `drop_graphs`. A module that goes is
     * forgotten there first. */
    _Atomic(struct acui_graphs *) graphs;
    void (*drop_graphs)(acu_device *device);
    void (*forget_module)(acu_device *device, const struct acu_module *module);

    _Atomic(uint64_t) *flags; /* flags.c: host memory that streams write; the lock */
    CUdeviceptr flags_at;
    uint32_t flag_count;
    bool no_flags;

    acu_stream *side[ACUI_SIDE_STREAMS]; /* free ones; the lock */
    size_t side_count, side_made;

    acui_post posts[ACUI_POSTS]; /* the lock */

    bool runtime_thread; /* as opened; fixed */
    bool one_by_one;       /* as opened; fixed: */
    pthread_mutex_t alone; /* while one operation runs; taken under a stream's issue lock */
    bool running;          /* which; the lock */
    acu_site running_site;
    char running_op[ACU_ERROR_OP];

    _Atomic(bool) lost;
    acu_error lost_error; /* written once, under lock, before `lost` is set */
    /* Reset (reset.c): refuses what is not issued yet; its context is gone, and another device has
     * its place; acuda's own retain of the primary context was given back. */
    _Atomic(bool) refusing, stale;
    bool given_back;
    struct acui_holder { /* threads between acui_hold and acui_unhold; a line of the cache each */
        _Atomic(uint32_t) count;
        _Atomic(uint32_t) getting; /* the engine's: tasks that may have memory, and are not counted
                                    * as going yet */
        bool own; /* of one thread */
        char apart[55];
    } holders[ACUI_HOLDERS];
    /* Tasks of submissions, which the engine counts: ACUI_ENTERED for each, and ACUI_GOING for each
     * that was issued, or begun on the host. `started` is changed under the order lock only. */
    _Atomic(uint64_t) started, ended;
    /* The engine's, relaxed: the thread that is just issuing; how often such met of late, or had
     * much to submit. */
    _Atomic(const void *) issuer;
    _Atomic(uint32_t) meetings;
    uint64_t over_at;            /* when a task was last found over, in ns; the engine's flight
                                  * lock */
    /* When the driver was last asked about a mark that the device tells of, or took such a one, in
     * ns: what is wrong with the context it says then, whatever the stream. Relaxed. */
    _Atomic(uint64_t) asked_at;
    acui_gate gate;
};

#define ACUI_ENTERED UINT64_C(1)
#define ACUI_GOING (UINT64_C(1) << 32)
/* The difference of two such sums is one, however often they went round: both numbers in one word.
 * First what ended, so that neither is too small. seq_cst, with who waits until there are less. */
static inline uint64_t acui_work_on(acu_device *device)
{
    uint64_t ended = atomic_load_explicit(&device->ended, memory_order_seq_cst);
    return atomic_load_explicit(&device->started, memory_order_seq_cst) - ended;
}

/* Tasks; when there are none, what they held is released. */
static inline uint32_t acui_in_flight(acu_device *device)
{
    return (uint32_t)acui_work_on(device);
}

/*
 * Streams of a device's own (`pooled`) live as long as the device, and retaining one retains the
 * device instead: use acu_stream_retain and acu_stream_release for streams, acu_policy_retain and
 * acu_policy_release for policies, never the functions of object.h.
 */
struct acu_stream {
    acui_object object;
    acu_device *device; /* retained, but by pooled streams */
    CUstream raw;
    int priority;
    bool foreign; /* wrapped: not ours to destroy */
    bool pooled;  /* of the device: its policy's, or its stream for allocations */
    bool of_thread;       /* CUDA's per-thread default one, which is another one for each thread: */
    uint64_t thread;      /* ... of this thread, by its number */
    _Atomic(bool) shown; /* the program, or a library, was given `raw`. Set before it was, under
                          * `lock`; release, acquire for who gives it, else relaxed */
    uint64_t id;  /* never reused in the process */
    _Atomic(uint32_t) watchers; /* who still looks at `done` and the tag; and one while it lives */

    /* Held while a submission is put on the stream, so that a mark covers all of it. */
    acui_lock issue;

    acui_lock lock; /* the timeline; a leaf: held across cuEventRecord/Query/WaitEvent only */
    uint64_t issued;      /* last mark */
    uint64_t owed;        /* a mark that is to be made, as something was fenced with it */
    _Atomic(uint64_t) done; /* last complete mark; release store, acquire load */
    struct acui_mark *marks; /* ring of marks not yet complete, in order */
    size_t mark_first, mark_count, mark_room; /* room is a power of two */
    /* What the device has written of `issued`, for those who wait without pause (flags.c). */
    _Atomic(_Atomic(uint64_t) *) flag; /* NULL: none yet; release, acquire */
    CUdeviceptr flag_at;
    uint64_t flagged;        /* the last number that it was told to write */
    _Atomic(uint64_t) untold;   /* the last mark that it was not told to write before the mark's
                                 * event; relaxed, as is: */
    _Atomic(bool) no_flag;   /* it can not */
    CUevent spare[4]; /* events of complete marks, for the next ones */
    unsigned spare_count;
    unsigned blind; /* queries that failed in a row without a known reason */
    /* Waits made: the highest mark of another stream, by its id; a small cache. Lock: issue. */
    struct acui_seen { uint64_t stream, mark; } seen[16];

    /* The engine's, under its flight lock: tasks on the stream in the order of their marks, and
     * whether the reactor looks after it. */
    struct acui_task *first_task, *last_task;
    _Atomic(uint64_t) first; /* the mark of the first, 0: none; relaxed, for those who only look */
    _Atomic(uint64_t) looked_at; /* when it was last looked at, in ns; relaxed, also without it */
    struct acu_stream *next_active;
    acui_gate gate;
    acui_backlog backlog;
    bool active;
    bool relied;         /* somebody sleeps until a thread that waits in the driver says so */
    uint64_t wanted;     /* marks up to this one somebody wants to be told of */
    uint64_t waited_for; /* ... and up to this one a thread waits for in the driver */
    uint64_t over_at;            /* when a task was found over; ns */
    uint64_t tended;             /* until then somebody else looks */
    uint64_t planned;            /* the look before an end that was foreseen */
    uint64_t armed;              /* the mark that the device writes into the stream's flag */
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
 * While a thread holds a device, nobody resets its context. acui_enter does it; by itself it is for
 * handles of another device than the one that is entered. False, and nothing to give back, if the
 * device is lost. Never blocks.
 */
struct acui_holder *acui_holder_of_thread(acu_device *device);
/* Of the calling thread; from 1 on. No other has it when this one has ended, unlike what
 * pthread_self says. */
uint64_t acui_thread_number(void);
static inline bool acui_hold(acu_device *device, struct acui_holder **holder)
{
    struct acui_holder *h = acui_holder_of_thread(device);
    /* seq_cst, both: either this sees that the device is lost, or who resets it sees the count. */
    atomic_fetch_add_explicit(&h->count, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&device->lost, memory_order_seq_cst)) {
        atomic_fetch_sub_explicit(&h->count, 1, memory_order_release);
        h = NULL;
    }
    *holder = h;
    return h != NULL;
}
/* Release: the driver calls made meanwhile are over for who resets. NULL is fine. */
static inline void acui_unhold(struct acui_holder *holder)
{
    if (holder && holder->own) /* nobody else changes it */
        atomic_store_explicit(&holder->count,
                              atomic_load_explicit(&holder->count, memory_order_relaxed) - 1,
                              memory_order_release);
    else if (holder)
        atomic_fetch_sub_explicit(&holder->count, 1, memory_order_release);
}

/*
 * Make the device's context current on this thread, remembering what was; and back. Between the
 * two, the thread's stream-capture mode is relaxed, so that no call here can break a capture of
 * the program's. Calls nest. Fails with the driver's error, or DEVICE_LOST.
 */
typedef struct acui_entered {
    const acu_driver_table *cu;
    struct acui_holder *holder;
    CUcontext before;
    bool switched, relaxed;
    unsigned mode;
} acui_entered;
acu_status acui_enter(acu_device *device, acui_entered *entered);
/* For giving back: as far as it can be done, whatever fails. False for a lost device: then nothing
 * of its context may reach the driver any more. acui_leave is due in both cases. */
bool acui_enter_to_free(acu_device *device, acui_entered *entered);
void acui_leave(acui_entered *entered);

/* The driver's call (by its field's name, "LaunchKernel") answered `result`: if the device is gone
 * with it, mark it lost (first error is kept). Returns the status for the call, with the thread's
 * record set if it is a failure. */
acu_status acui_device_failed(acu_device *device, const char *call, unsigned result);
static inline acu_status acui_device_result(acu_device *device, const char *call, unsigned result)
{
    return result == 0 ? ACU_OK : acui_device_failed(device, call, result);
}
#define ACUI_DEV(device, function, ...)                                                            \
    acui_device_result((device), #function, (device)->cu->function(__VA_ARGS__))

/* Mark the device lost with the thread's error record, if it is not lost yet. What was running is
 * added to the record, if somebody can say so: the engine's function. */
void acui_device_lose(acu_device *device);
typedef void (*acui_suspect_fn)(acu_device *device);
void acui_set_suspect(acui_suspect_fn function);
static inline bool acui_device_lost(const acu_device *device)
{
    return atomic_load_explicit(&device->lost, memory_order_acquire);
}
/* ACU_OK, or fails with the first fault's record, or STALE. */
acu_status acui_device_check(const acu_device *device);

/* The device of the process that lives under `ordinal`, open or not, retained; NULL if none. */
acu_device *acui_device_find(int ordinal);

/* Called by acu_close before it gives its reference up: waits until nothing is in flight on
 * `device`; and after the last close of the process: ends the engine's threads. Set once. */
typedef struct acui_close_hooks {
    acu_status (*drain)(acu_device *device); /* DEVICE_LOST, WOULD_WAIT or OK */
    void (*stop)(void);
    /* acu_device_wait; NULL: it looks at acui_in_flight again and again. */
    acu_status (*wait)(acu_device *device, uint64_t timeout);
    /* Waits until all that was submitted to the stream so far is on it, or over. */
    acu_status (*settle)(acu_stream *stream, uint64_t timeout);
} acui_close_hooks;
void acui_set_close_hooks(const acui_close_hooks *hooks);
/* Such as count until then: of threads that work below the engine. */
void acui_set_first_close_hooks(const acui_close_hooks *hooks);

/* Some device of the process has a runtime thread. */
bool acui_any_runtime_thread(void);

/* A pool of the driver's, which keeps what is freed, and shares it with
 * nobody. The device is entered. */
acu_status acui_driver_pool(acu_device *device, CUmemoryPool *pool);
/* Let `device` use memory of the pool, which is the peer's. The peer is entered. */
acu_status acui_grant_pool(acu_device *device, acu_device *peer, CUmemoryPool pool);

/* --- events of the device, without timing, reused; any context --- */
acu_status acui_event_get(acu_device *device, CUevent *event);
void acui_event_put(acu_device *device, CUevent event); /* only when all waits on it are enqueued */

/* --- streams --- */

/* A stream of the device; a pooled one does not retain it. */
acu_status acui_stream_open(acu_device *device, int priority, bool pooled, acu_stream **stream);
/* Frees a stream that nothing refers to any more; pooled ones at the end of their device. */
void acui_stream_destroy(acu_stream *stream);
/*
 * For who must know whether a mark is complete, and must not keep the stream alive: its memory
 * stays, with a tag that says whether it lives, and all its marks are complete once it does not.
 */
void acui_stream_watch(acu_stream *stream);
void acui_stream_unwatch(acu_stream *stream);
/*
 * Streams besides the one that work is issued on, for branches of it: up to `wanted` of the
 * device's own, which nobody else issues on until they are given back. They may still be busy with
 * what was issued there before. Gives how many there are. The device is entered.
 */
size_t acui_side_take(acu_device *device, acu_stream **streams, size_t wanted);
void acui_side_give(acu_device *device, acu_stream *const *streams, size_t count);

/* Something that was submitted to it is not on it yet, nor over. */
static inline bool acui_stream_is_held(const acu_stream *stream)
{
    const acui_backlog *backlog = &stream->backlog;
    /* What is planned counts as a task before it is no longer handed over. */
    return atomic_load_explicit(&backlog->handed, memory_order_acquire) ||
           atomic_load_explicit(&backlog->tasks[0], memory_order_acquire) ||
           atomic_load_explicit(&backlog->tasks[1], memory_order_acquire);
}
/* WOULD_WAIT if so: where its end is can not be said yet. */
acu_status acui_stream_check_held(const acu_stream *stream, const char *function);

/* The handle, for others than acuda. */
CUstream acui_stream_show(acu_stream *stream);

/* The stream's handle means that stream on this thread. INVALID, saying which `function` got it. */
acu_status acui_stream_check_thread(const acu_stream *stream, const char *function);
/* It does so on every thread, as any may issue acuda's work. The same. */
acu_status acui_stream_check_any(const acu_stream *stream, const char *function);

/* CAPTURE if the program is capturing the stream: what acuda puts there would become a part of the
 * capture, or break it. Nobody can, who does not have its handle. The device is entered. */
acu_status acui_stream_not_capturing(acu_stream *stream);
/* The same without an error record: what the driver answers if it can not say. */
unsigned acui_stream_ask_captured(const acu_stream *stream, bool *captured);
/* CAPTURE in that case, else ACU_OK, whatever goes wrong. Enters the device if the program has the
 * handle. */
acu_status acui_stream_check_capture(acu_stream *stream);

/* --- timeline --- */

typedef struct acui_mark {
    uint64_t number;
    /* NULL if the device itself tells of it, or none could be recorded: complete when the stream is
     * idle. */
    CUevent event;
} acui_mark;

/* Between two questions to the driver about marks that the device itself tells of, in ns. */
#define ACUI_ASK ACU_US(20)

/* Somebody else is about to get the stream's handle, and may capture it: then asking about the
 * stream itself would break that, so all its marks have events. Nobody counts as having the handle
 * before that. Any thread, any context. */
void acui_stream_expose(acu_stream *stream);

/* Whether the device itself is to say that a mark is complete (acui_stream_prompt). */
typedef enum acui_tell {
    ACUI_TELL_NOBODY,
    ACUI_TELL_IF_ALONE, /* on its stream */
    ACUI_TELL,
} acui_tell;

/*
 * Put a mark behind everything on the stream now; gives its number, and when the device was told to
 * say that it is complete (`told`, may be NULL; 0: it does not). Caller holds `issue` and has
 * entered the device. Once work is on a stream there must be a way to learn its end, so this does
 * without an event, and without memory, where there is none: it fails only if the device is lost.
 */
acu_status acui_stream_mark(acu_stream *stream, acui_tell tell, uint64_t *number, uint64_t *told);
/* Of a per-thread default stream, by its thread, as above: if the driver gave no event for the last
 * mark, it is waited for here, as other threads could not ask, and this one may be gone by then. */
void acui_stream_own_end(acu_stream *stream, uint64_t number);
/*
 * The mark to come, for who has something fenced with it. It must come: who may give the issue lock
 * up without one behind work makes what is owed; nothing, if it was made since. Caller as above.
 */
uint64_t acui_stream_owe(acu_stream *stream);
void acui_stream_make_owed(acu_stream *stream);
/*
 * What `stream` gets from now on starts after `other`'s mark `number`. Caller holds stream's issue
 * and has entered its device. If the other's device is lost, nothing of it runs any more: fails
 * with DEVICE_LOST and that device's record, which matters only to who reads what it wrote.
 */
acu_status acui_stream_after(acu_stream *stream, acu_stream *other, uint64_t number);
/* An earlier wait of the stream for the other one was for that mark or a later one. Lock: issue. */
bool acui_stream_implied(acu_stream *stream, const acu_stream *other, uint64_t number);
/*
 * Ask the driver; advances stream->done as far as marks are complete, reusing their events. ACU_OK,
 * or the device's error (lost: what was not complete never will be, and `done` stays where it is).
 * A query that fails without a known reason is made up for by asking whether the stream is idle,
 * and tried again by the next harvests; if all goes on failing, nobody can tell what is complete,
 * and the device counts as lost. Any thread, any context. `*left` (may be NULL): marks still not
 * complete.
 */
acu_status acui_stream_harvest(acu_stream *stream, size_t *left);
/* The same without a lock, as far as the device itself has written; false: not to `number`, or the
 * device is lost. The events stay where they are until the next mark. */
bool acui_stream_catch_up(acu_stream *stream, uint64_t number);
/* What is known without a look: the mark is complete, as something is that came behind it. */
void acui_stream_passes(acu_stream *stream, uint64_t number);
uint64_t acui_stream_last(acu_stream *stream); /* the last mark so far */
/* The mark is harvested, or the device has written that it is complete. No lock. */
bool acui_stream_reached(acu_stream *stream, uint64_t number);
/* The mark is the first that is not known to be complete: a harvest would find nothing now, as the
 * device itself tells of it and has not, and the driver was asked just now. No lock. */
bool acui_stream_is_quiet(acu_stream *stream, uint64_t number, uint64_t now);
/*
 * Somebody is going to look for the mark without pause: let the device write it into host memory,
 * if it is the stream's last. True if it will, or will write a later one: then
 * acui_stream_flag_passed tells, without the driver, when there is something to harvest. One more
 * piece of work on the stream, behind the mark (cuStreamWriteValue64): not while the program
 * captures it, or somebody issues on one whose handle the program has. Any thread, any context.
 */
bool acui_stream_prompt(acu_stream *stream, uint64_t number);
/* The same with that number; false: it can not. Caller holds stream->lock and has entered the
 * device. */
bool acui_stream_tell(acu_stream *stream, uint64_t number);
/*
 * Block until the mark is complete, if nothing fails: not knowing why, the caller looks. Driver:
 * cuEventRecord and cuEventSynchronize; before these, where something else may be behind the mark,
 * cuStreamWaitEvent, on a stream of its own.
 */
bool acui_stream_block(acu_stream *stream, uint64_t number);
void acui_posts_free(acu_device *device, bool works);

/* The device has written a mark that is not harvested yet. Only after
 * acui_stream_prompt said true. */
bool acui_stream_flag_passed(const acu_stream *stream);
void acui_flags_free(acu_device *device, bool works);

static inline bool acui_stream_passed(acu_stream *stream, uint64_t number)
{
    return atomic_load_explicit(&stream->done, memory_order_acquire) >= number;
}

/* --- policies --- */
struct acu_policy {
    acui_object object;
    acu_device *device; /* retained, but by the device's own policy */
    bool own;           /* the device's own: its streams are pooled */
    acu_policy_order order;
    acu_policy_fn choose; /* NULL: by `order` */
    acu_user user;
    _Atomic(uint32_t) turn;
    uint32_t count;
    acu_stream *streams[]; /* retained */
};
/* Round robin over new streams. `own`: the device's, which lives as long as it. */
acu_status acui_policy_open(acu_device *device, unsigned streams, int priority, bool own,
                            acu_policy **policy);
/* The device's own one of another priority. INVALID where there is no such. */
acu_status acui_policy_of_priority(acu_device *device, int priority, acu_policy **policy);
void acui_policy_destroy(acu_policy *policy);
/* The next stream, borrowed from the policy. No lock is held: it may be the program that chooses.
 * NULL (CALLBACK, with the record) if that chose none. */
acu_stream *acui_policy_pick(acu_policy *policy);
bool acui_policy_asking(void); /* this thread is in a policy's function: a plan is half cut */

#endif
