/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Who touches a buffer, and what of it: the memory behind "order follows data".
 *
 * A point stands for one piece of submitted work: not yet on the device, on a stream behind a
 * mark, or over. A buffer lists the points that read or write parts of it; what a new point is
 * ordered behind follows from that list: a write behind everything that overlaps it, a read
 * behind overlapping writes. All of one submission's accesses are entered while the order lock is
 * held, so no two submissions interleave.
 */
#ifndef ACUI_MEMORY_ACCESS_H
#define ACUI_MEMORY_ACCESS_H

#include "device/device.h"

#include <acuda/op.h>

typedef enum acui_point_state {
    ACUI_POINT_PENDING, /* ordered, but not on the device yet */
    ACUI_POINT_ISSUED,  /* on `stream`, complete once its mark `number` is */
    ACUI_POINT_OVER     /* complete, or failed: `fault` */
} acui_point_state;

/* A failure that several may have to report; counted. */
typedef struct acui_fault {
    _Atomic(uint32_t) refs;
    acu_error error;
} acui_fault;
acui_fault *acui_fault_new(const acu_error *error); /* NULL: no memory; see acui_fault_retain(NULL) */
acui_fault *acui_fault_retain(acui_fault *fault);
void acui_fault_release(acui_fault *fault);

typedef struct acui_point {
    _Atomic(uint32_t) refs;
    acui_point_state state; /* this and the following: the order lock */
    acu_stream *stream;     /* ISSUED: retained */
    uint64_t number;
    bool failed;            /* what it was to write is not valid */
    acui_fault *fault;      /* why; NULL also where there was no memory to say it */
    void *followers;        /* the engine's: who waits for a change of state */
} acui_point;

acui_point *acui_point_new(void);
acui_point *acui_point_retain(acui_point *point);
void acui_point_release(acui_point *point);

/* The one lock over all points and accesses. A leaf but for nothing: no driver call, no callback,
 * no other lock under it. */
void acui_order_lock(void);
void acui_order_unlock(void);

typedef struct acui_access {
    acui_point *point; /* retained */
    uint64_t begin, end; /* bytes of the buffer */
    bool write;
} acui_access;

typedef struct acui_accesses {
    acui_access *list;
    size_t count, room;
    acui_access few[2]; /* used before anything is allocated */
} acui_accesses;

/* Make room for `more` entries, so that entering them can not fail. Order lock held. */
bool acui_accesses_reserve(acui_accesses *accesses, size_t more);

/*
 * Enter an access of `point`; calls `behind` for each point that it comes after. `data` is true
 * where the access reads what that point wrote (so that point's failure is its own). An entry that
 * the new one covers is dropped. Room was reserved. Order lock held.
 */
typedef void (*acui_behind_fn)(void *context, acui_point *before, bool data);
void acui_accesses_enter(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                         uint64_t begin, uint64_t end, acu_access access, acui_behind_fn behind,
                         void *context);
/* Drop all entries, when the buffer goes. */
void acui_accesses_clear(acui_accesses *accesses);

#endif
