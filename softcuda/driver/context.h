/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Contexts, each thread's stack of current contexts, and what each entry point does first. A
 * context owns its streams, events, modules and allocations.
 */
#ifndef SOFTCUDA_DRIVER_CONTEXT_H
#define SOFTCUDA_DRIVER_CONTEXT_H

#include "driver/calls.h"
#include "driver/device.h"

#include "exec/space.h"

struct sd_stream;

/* The ranges that a context's kernels may touch, at some version. */
typedef struct sd_snapshot {
    _Atomic unsigned references;
    uint64_t version; /* of sd.space_version */
    size_t count;
    sx_region regions[];
} sd_snapshot;

typedef struct sd_context {
    sd_object object;
    sd_device *device;
    struct sd_context *device_next; /* device->contexts, under sd.contexts_lock */
    bool primary;
    _Atomic unsigned flags;
    unsigned api_version;
    uint64_t id;

    /* What calls answer is sd_context_state. Both are written under sd.contexts_lock. */
    _Atomic int fault; /* of this context alone */
    _Atomic int stop;  /* not 0: running kernels see it and stop, and nothing begins any more */
    _Atomic unsigned running; /* works that the device runs now */

    pthread_mutex_t lock;      /* guards what follows; taken before any stream's lock */
    sd_object *children;       /* objects with live handles */
    struct sd_stream *streams; /* every stream that is not freed, whether it has a handle or not */
    struct sd_stream *legacy;  /* held by its handle's reference */
    unsigned peers;            /* bit n: peer access to device n is enabled; access.c's lock */
    size_t limits[8];
    unsigned cache_config;
    sd_snapshot *snapshot;
} sd_context;

/* ---- entering the driver ---- */

/* Refused before cuInit, in a forked child, and inside of host functions. */
unsigned sd_enter(void);

/* sd_enter, and the calling thread's current context with a reference; refused once that has
 * faulted. */
unsigned sd_enter_current(sd_context **context);

static inline void sd_context_leave(sd_context **context)
{
    if (*context)
        sd_object_put(&(*context)->object);
}

/* The first line of an entry point: checks, and declares `name`, the current context. */
#define SD_CURRENT(name) \
    __attribute__((cleanup(sd_context_leave))) sd_context *name = NULL; \
    do { \
        unsigned entered_ = sd_enter_current(&name); \
        if (entered_) \
            return entered_; \
    } while (0)

/* The same for calls that need no context: `name` is the current one, or NULL. */
unsigned sd_enter_anywhere(sd_context **context);
#define SD_ANYWHERE(name) \
    __attribute__((cleanup(sd_context_leave), unused)) sd_context *name = NULL; \
    do { \
        unsigned entered_ = sd_enter_anywhere(&name); \
        if (entered_) \
            return entered_; \
    } while (0)

#define SD_ENTER() \
    do { \
        unsigned entered_ = sd_enter(); \
        if (entered_) \
            return entered_; \
    } while (0)

/* Says whether a host function is running on this thread. */
void sd_thread_in_host_function(bool inside);

/* The calling thread's own stream in `context`, made at first use; with a reference. */
unsigned sd_thread_stream(sd_context *context, struct sd_stream **stream);
bool sd_thread_init(void);

/* The stack of current contexts: push a handle; pop one if it is on top. */
unsigned sd_thread_push(void *handle);
void sd_thread_forget(const void *handle);

/* ---- contexts ---- */

unsigned sd_context_create(sd_device *device, unsigned flags, bool primary, sd_context **context);

/* Let all work finish, then end every object of the context and free its memory. */
void sd_context_destroy(sd_context *context);

/* Wait until everything issued so far is done. */
void sd_context_drain(sd_context *context);

/* A work of the context that touches memory is about to run on the device. False: the context is
 * lost, and calls say so by now. Else the work is followed by sd_context_end. */
bool sd_context_begin(sd_context *context);
void sd_context_end(sd_context *context);

/* A kernel faulted: all contexts of the process are lost at once, and what runs stops. Once a call
 * answers that, nothing runs any more: so the program may free what that used. The first fault
 * wins; does nothing if the context is lost already. Not between begin and end. */
void sd_context_fault(sd_context *context, unsigned result);
/* The device is lost, with all its contexts, whatever SOFTCUDA_HEAL says; other devices are not. */
void sd_device_fault(sd_device *device, unsigned result);

/* The CUresult that each call answers: 0 while all is well, and after a fault always the same. */
static inline unsigned sd_device_state(sd_device *device)
{
    int own = atomic_load_explicit(&device->fault, memory_order_acquire);
    return (unsigned)(own ? own : atomic_load_explicit(&sd.fault, memory_order_acquire));
}
static inline unsigned sd_context_state(sd_context *context)
{
    int own = atomic_load_explicit(&context->fault, memory_order_acquire);
    return own ? (unsigned)own : sd_device_state(context->device);
}

/* Make `object` a child: it holds the context, and its handle dies with it. */
void sd_context_adopt(sd_context *context, sd_object *object);
/* End the handle of a child, giving back the handle's reference. False: somebody else did. */
bool sd_context_release(sd_object *object);

/* The ranges that kernels may touch now, with a reference; NULL: out of memory. */
sd_snapshot *sd_context_space(sd_context *context);
void sd_snapshot_put(sd_snapshot *snapshot);

#endif
