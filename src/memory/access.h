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
#include "memory/extent.h"

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
acui_fault *acui_fault_new(const acu_error *error); /* NULL: no memory; see
                                                     * acui_fault_retain(NULL) */
acui_fault *acui_fault_retain(acui_fault *fault);
void acui_fault_release(acui_fault *fault);

/* Bytes of a buffer, which is only compared; in a list. */
typedef struct acui_piece {
    struct acui_piece *next;
    const acu_buffer *buffer;
    acui_extent extent;
    const struct acui_point *point; /* the engine's: who left them so, and why they matter */
    bool reads, through;
} acui_piece;

typedef struct acui_point {
    _Atomic(uint32_t) refs;
    uint32_t entries;       /* of accesses; while there are some, these hold one reference */
    acui_point_state state; /* this and the following: the order lock */
    acu_stream *stream;     /* ISSUED: held by whoever issued it, and of an allocation retained */
    uint64_t number;
    bool allocation;        /* ISSUED, not by the engine: the memory was just made, which nobody
                             * needs to wait for on the host, and nobody says when it is over */
    bool load;              /* PENDING until a thread of the loader's is done: with a module, whose
                             * kernels are about to be there, */
    bool growth;            /* ... or with memory: who touches that needs the outcome */
    const char *file;       /* where the program wrote the first operation of it; may be NULL */
    int line;
    bool conditional;       /* it may be passed over: then what it was to write stays as it was */
    bool failed;            /* what it was to write is not valid; */
    acui_piece *spoiled;    /* ... of it only this, as it was passed over. NULL: all */
    acui_fault *fault;      /* why; NULL also where there was no memory to say it */
    void *followers;        /* the engine's: who waits for a change of state */
    uint32_t entered_at;    /* ... and its place among what the last task comes behind */
    struct acui_point *next_dead;
} acui_point;

acui_point *acui_point_new(void);
acui_point *acui_point_retain(acui_point *point);
/* Whether the point has failed, as far as these bytes of what it was to write go. Order lock. */
bool acui_point_spoils(const acui_point *point, const acu_buffer *buffer,
                       const acui_extent *extent);
/* The point is passed over: what a point before it, which failed, left bad of these bytes stays so.
 * False: no memory. Order lock held. */
bool acui_point_spoil(acui_point *point, const acui_point *before, const acui_piece *piece);
void acui_point_spoil_all(acui_point *point); /* nothing is listed */
/* Also with the order lock held: a last reference is then cleaned up by acui_order_unlock, because
 * that may end a stream. */
void acui_point_release(acui_point *point);

/* The one lock over all points and accesses. A leaf but for nothing: no driver call, no callback,
 * no other lock under it, but that of the record of a submission that is to be explained. */
void acui_order_lock(void);
void acui_order_unlock(void);

/* A load has ended, and what it was to bring is there, or never will be: who
 * waits at its point goes on. */
void acui_load_over(acui_point *point);
/* The engine's: tasks that wait at a point which is over (order lock held), and running them. */
typedef struct acui_load_hooks {
    struct acui_task *(*followers)(acui_point *point);
    void (*run)(struct acui_task *tasks);
} acui_load_hooks;
void acui_set_load_hooks(const acui_load_hooks *hooks);

typedef struct acui_access {
    acui_point *point;  /* held by its entries */
    acui_extent extent; /* bytes of the buffer */
    bool write;
} acui_access;

/*
 * What a newer write overlaps is cut out of older entries: each byte is in one write at most, and
 * in the reads since; and in the allocation, while that is not complete. Where one of the two has
 * windows (extent.h), only entries go that it covers: others stay whole, so that more may be
 * ordered behind them than needs to be, but nothing less. A point that is entered here must not be
 * OVER before all is that it came behind, also if it fails without having run: who comes later
 * knows of those through it only.
 *
 * What is over and went well is forgotten. A write that failed stays, so that readers of these
 * bytes learn of it, until an ACU_WRITE overwrites them.
 *
 * A write for which there was no room, and which will fail therefore, needs none to be noted: as of
 * the whole buffer, until that is overwritten.
 */
typedef struct acui_accesses {
    acui_access *list; /* first all writes, then all reads */
    size_t count, writes, room;
    acui_point *lost; /* held like an entry's; NULL: none */
    acui_access few[4]; /* used before anything is allocated */
} acui_accesses;

/* Make room for one entry more, so that entering it can not fail. Order lock held. */
bool acui_accesses_reserve(acui_accesses *accesses);

/*
 * Enter an access of `point`; calls `behind` for each point that it comes after, possibly more than
 * once, with the bytes for which that one stands. `data` is true where the access reads what that
 * point wrote (so that point's failure is its own). False: there is no room, nor memory for it, and
 * nothing is entered. Order lock held.
 */
typedef void (*acui_behind_fn)(void *context, acui_point *before, const acui_extent *extent,
                               bool data);
bool acui_accesses_enter(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                         acui_extent extent, acu_access access, acui_behind_fn behind,
                         void *context);
/* An access that is on its stream already, and comes behind nobody: so nothing older goes for it.
 * Who comes later comes behind it. False: as above. Order lock held. */
bool acui_accesses_add(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                       acui_extent extent, acu_access access);
/* The point was to write some of the buffer, has no entry that says so, and fails without having
 * run. Order lock held. */
void acui_accesses_lose(acui_accesses *accesses, acui_point *point);
/* At most so many points does an access come after. Order lock held. */
static inline size_t acui_accesses_before(const acui_accesses *accesses, acu_access access)
{
    return (access == ACU_READ ? accesses->writes : accesses->count) + (accesses->lost != NULL);
}
/* The same calls, and nothing is entered. Order lock held. */
void acui_accesses_look(const acui_accesses *accesses, acui_extent extent, acu_access access,
                        acui_behind_fn behind, void *context);
/* Drop all entries, when the buffer goes. */
void acui_accesses_clear(acui_accesses *accesses);

#endif
