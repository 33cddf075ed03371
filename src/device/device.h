/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Inside of devices and streams.
 *
 * A stream's timeline: every submission that was put on it ends in a mark, a number that counts up
 * from 1 and an event recorded behind the work. Marks complete in order, so one number says what
 * is done. Ordering work of another stream behind a mark is one cuStreamWaitEvent, or nothing if
 * the mark is complete or an earlier wait implies it.
 */
#ifndef ACUI_DEVICE_DEVICE_H
#define ACUI_DEVICE_DEVICE_H

#include "base/object.h"

#include <acuda/device.h>
#include <acuda/stream.h>
#include <pthread.h>

#define ACUI_MAX_STREAMS 64 /* of a device's pool */

struct acui_modules; /* kernel layer: modules found by name */

struct acu_device {
    acui_object object;
    const acu_driver_table *cu;
    CUdevice raw;
    CUcontext context;
    acu_device_info info;
    CUmemoryPool pool; /* acuda's own, release threshold raised; NULL: no pools on this device */
    acu_policy *policy; /* round robin over the pool of streams */

    pthread_mutex_t lock;     /* events, lost_error, modules, peers */
    CUevent *events;          /* free events without timing */
    size_t event_count, event_room;
    struct acui_modules *modules;
    uint32_t peers; /* bit per ordinal that this device may access directly */

    _Atomic(bool) lost;
    acu_error lost_error; /* written once, under lock, before `lost` is set */
    _Atomic(uint32_t) in_flight; /* submissions; the engine counts */
};

struct acu_stream {
    acui_object object;
    acu_device *device; /* retained, but by streams of the device's own pool */
    CUstream raw;
    int priority;
    bool foreign; /* wrapped: not ours to destroy */
    bool pooled;  /* of the device's policy: lives as long as the device */
    uint64_t id;  /* never reused in the process */

    /* Held while a submission is put on the stream, so that a mark covers all of it. */
    pthread_mutex_t issue;

    pthread_mutex_t lock; /* the timeline; a leaf: held across cuEventRecord/Query/WaitEvent only */
    uint64_t issued;      /* last mark */
    _Atomic(uint64_t) done; /* last complete mark; release store, acquire load */
    struct acui_mark *marks; /* ring of marks not yet complete: number and event */
    size_t mark_first, mark_count, mark_room;
    struct acui_seen { uint64_t stream, mark; } seen[16]; /* waits made; a small cache by id */
    struct acu_stream *next_active; /* reactor's list; its lock */
    bool active;
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
 * Make the device's context current on this thread, remembering what was; and back. Between the
 * two, the thread's stream-capture mode is relaxed, so that no call here can break a capture of
 * the program's. Calls nest. Fails with the driver's error, or DEVICE_LOST.
 */
typedef struct acui_entered {
    const acu_driver_table *cu;
    CUcontext before;
    bool switched, relaxed;
    unsigned mode;
} acui_entered;
acu_status acui_enter(acu_device *device, acui_entered *entered);
/* The same also for a lost device: for cleaning up what may still be cleaned. */
acu_status acui_enter_any(acu_device *device, acui_entered *entered);
void acui_leave(acui_entered *entered);

/* A driver call failed with `result`: if the device is gone with it, mark it lost (first error is
 * kept). Returns the status for the call, with the thread's record set. */
acu_status acui_device_result(acu_device *device, const char *call, unsigned result);
#define ACUI_DEV(device, function, ...)                                                            \
    acui_device_result((device), #function, (device)->cu->function(__VA_ARGS__))

/* The device of the process that is open under `ordinal`, not retained; NULL if none. */
acu_device *acui_device_find(int ordinal);

/* Called by acu_close before it gives its reference up: waits until nothing is in flight on
 * `device`; and after the last close of the process: ends the engine's threads. Set once. */
typedef struct acui_close_hooks {
    acu_status (*drain)(acu_device *device); /* DEVICE_LOST, WOULD_WAIT or OK */
    void (*stop)(void);
} acui_close_hooks;
void acui_set_close_hooks(const acui_close_hooks *hooks);

/* --- events of the device, without timing, reused --- */
acu_status acui_event_get(acu_device *device, CUevent *event);
void acui_event_put(acu_device *device, CUevent event); /* only when all waits on it are enqueued */

/* --- timeline (stream.c, timeline.c) --- */

typedef struct acui_mark {
    uint64_t number;
    CUevent event;
    uint64_t at; /* acui_now() when it was recorded: how long it has been running */
} acui_mark;

/* Put a mark behind everything on the stream now; gives its number. Caller holds `issue` and has
 * entered the device. On failure nothing is marked, and the device may be lost. */
acu_status acui_stream_mark(acu_stream *stream, uint64_t *number);
/* What `stream` gets from now on starts after `other`'s mark `number`. Caller holds stream's issue. */
acu_status acui_stream_after(acu_stream *stream, acu_stream *other, uint64_t number);
/* Ask the driver; advances stream->done as far as marks are complete, reusing their events.
 * ACU_OK, or the device's error (lost: every mark counts as over, none as done well). Any thread,
 * any context. `*left` (may be NULL): marks still not complete; `*oldest`: `at` of the first. */
acu_status acui_stream_harvest(acu_stream *stream, size_t *left, uint64_t *oldest);
static inline bool acui_stream_passed(acu_stream *stream, uint64_t number)
{
    return atomic_load_explicit(&stream->done, memory_order_acquire) >= number;
}

/* --- policies --- */
struct acu_policy {
    acui_object object;
    acu_device *device; /* retained, but by the device's own policy */
    bool own;           /* the device's own */
    _Atomic(uint32_t) turn;
    uint32_t count;
    acu_stream *streams[]; /* retained */
};
/* The next stream, borrowed from the policy. */
acu_stream *acui_policy_pick(acu_policy *policy);

#endif
