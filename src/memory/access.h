/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Who touches a buffer, and which of its bytes: the data behind "order follows data".
 *
 * A point stands for one piece of submitted work, which is not yet on the device, on a stream
 * behind a signal, or over. A buffer lists the points that read or write parts of it. What a new
 * point is ordered behind follows from that list: a write is ordered behind everything that
 * overlaps it, a read behind overlapping writes. All accesses of one submission are entered under
 * one holding of the order locks, so no two submissions interleave.
 *
 * Each device has an order lock. It guards the lists of the buffers, the points and the tasks that
 * are the device's: their home. A thread takes the locks of all homes that it needs at once, in the
 * order of the devices' ordinals. Almost always that is one, so threads that use different devices
 * do not meet. A list of accesses knows whose points are in it, so whoever wants to look at these
 * knows which locks to take (acui_accesses_lock).
 */
#ifndef ACUI_MEMORY_ACCESS_H
#define ACUI_MEMORY_ACCESS_H

#include "device/device.h"
#include "memory/extent_index.h"

#include <acuda/op.h>

/* A set of homes: a bit for each device, by its ordinal. */
typedef uint64_t acui_homes;
#define ACUI_ALL_HOMES UINT64_MAX
static inline acui_homes acui_home_of(const acu_device *device)
{
    return UINT64_C(1) << device->info.ordinal;
}

typedef enum acui_point_state {
    ACUI_POINT_PENDING, /* ordered, but not on the device yet */
    ACUI_POINT_ISSUED,  /* on `stream`, complete once its signal `number` is */
    ACUI_POINT_OVER     /* complete, or failed with `fault` */
} acui_point_state;

/* A failure that several futures may have to report; reference-counted. Whatever has one has
 * failed. */
typedef struct acui_fault {
    _Atomic(uint32_t) refs;
    acu_error error;
} acui_fault;
acui_fault *acui_fault_no_memory(void); /* one that says so; needs none itself */
acui_fault *acui_fault_new(const acu_error *error); /* without memory, that one */
acui_fault *acui_fault_retain(acui_fault *fault); /* NULL stays NULL */
void acui_fault_release(acui_fault *fault);
static inline acu_status acui_fault_status(const acui_fault *fault) /* NULL: ACU_OK */
{
    return fault ? fault->error.status : ACU_OK;
}

/* Bytes of a buffer, in a list. The buffer is only compared. */
typedef struct acui_piece {
    struct acui_piece *next;
    const acu_buffer *buffer;
    acui_extent extent;
    const struct acui_point *point; /* for the engine: the point that left the bytes so, and why
                                     * they matter */
    bool reads, through;
} acui_piece;

typedef struct acui_point {
    _Atomic(uint32_t) refs;
    uint32_t entries;       /* in lists of accesses; all of them together hold one reference */
    acui_homes home;        /* one; fixed */
    acui_point_state state; /* this, what follows, and `entries`: the order lock of its home */
    uint32_t entered_at;    /* for the engine: its place among what the last task comes behind */
    acu_stream *stream;     /* ISSUED: kept alive by the issuer of the work; retained for an
                             * `allocation` */
    uint64_t number;
    bool allocation;        /* ISSUED, but not by the engine: the memory was just allocated. Nobody
                             * needs to wait for that on the host, and nobody reports its end */
    bool load;              /* PENDING until a thread of the loader has finished with a module,
                             * whose kernels exist only then, */
    bool growth;            /* ... or with memory: whatever touches that memory needs the outcome */
    const char *file;       /* where the program wrote its first operation; may be NULL */
    int line;
    bool conditional;       /* it may be passed over: then what it was to write stays as it was */
    acui_fault *fault;      /* it failed: what it was to write is not valid; */
    acui_piece *spoiled;    /* ... only these bytes of it, because it was passed over. NULL: all */
    void *followers;        /* for the engine: tasks that wait for a change of state, */
    uint64_t owner;         /* ... and the number of the submission that it is a part of; 0: none */
    struct acui_point *next_dead;
    /* For the engine: it takes little time, and so does what it comes behind. Written before it is
     * ISSUED, without the lock, so apart from flags that others read meanwhile. */
    bool brief;
} acui_point;

acui_point *acui_point_new(const acu_device *home);
acui_point *acui_point_retain(acui_point *point);
/* Whether the point has failed with regard to these bytes, which it was to write. Order lock of its
 * home, as for all that follows. */
bool acui_point_spoils(const acui_point *point, const acu_buffer *buffer,
                       const acui_extent *extent);
/* The point is passed over: if `before`, a failed point that comes before it, left any of these
 * bytes bad, they stay bad. False: no memory. Order lock held. */
bool acui_point_spoil(acui_point *point, const acui_point *before, const acui_piece *piece);
void acui_point_spoil_all(acui_point *point); /* empties the list */
/* May be called with the order lock held: the last reference is then cleaned up by
 * acui_order_unlock, because that may end a stream. */
void acui_point_release(acui_point *point);

/* Takes the locks of all these homes. Under them there are no driver calls, no callbacks and no
 * other locks, except the lock of the record of a submission that is to be explained. */
void acui_order_lock(acui_homes homes);
void acui_order_unlock(acui_homes homes);
/* The same for a set that may grow until the locks are taken; returns the set that is locked. */
acui_homes acui_order_lock_all_of(const _Atomic(acui_homes) *homes);

/* A load has ended, and what it was to provide exists, or never will. Whatever waits at its point
 * goes on. */
void acui_load_over(acui_point *point);
/* Set by the engine, for good: takes the tasks that wait at a point that is over (order lock held),
 * and runs them. */
typedef struct acui_load_hooks {
    struct acui_task *(*followers)(acui_point *point);
    void (*run)(struct acui_task *tasks);
} acui_load_hooks;
void acui_set_load_hooks(const acui_load_hooks *hooks);

typedef struct acui_access {
    acui_point *point;  /* retained by its entries together */
    acui_extent extent; /* bytes of the buffer */
    bool write;
    uint32_t node;      /* in the index, if there is one */
} acui_access;

/*
 * What a newer write overlaps is cut out of older entries. So each byte is in at most one write and
 * in the reads since then; and in the entry of the allocation, as long as that is not complete. If
 * one of the two extents has windows (extent.h), an older entry goes only if the write covers all
 * of it, and stays whole otherwise: accesses may then be ordered behind more than they need to be,
 * but never behind less. A point that is entered here must not be OVER before everything is over
 * that it came behind, even if it fails without having run, because later accesses know of those
 * only through this point.
 *
 * Accesses that are over and succeeded are forgotten. A write that failed stays, so that readers of
 * its bytes learn of it, until an ACU_WRITE overwrites them.
 *
 * A write for which there was no room, and which therefore will fail, can be noted without any, as
 * a write of the whole buffer (`lost`), until that is overwritten.
 */
typedef struct acui_accesses {
    acui_homes home; /* the buffer's; fixed */
    _Atomic(acui_homes) homes; /* that, and those of all points in the list, perhaps of more.
                                * Changed with all of these locked; relaxed, also without */
    acui_access *list; /* first all writes, then all reads */
    size_t count, writes, room;
    acui_extent_index *index; /* of a long list; NULL: it is looked through */
    acui_point *lost; /* retained like an entry's point; NULL: none */
    acui_access few[4]; /* used before any memory is allocated */
} acui_accesses;

/* Take the locks of the list and of all points in it; returns the homes, for acui_order_unlock. */
static inline acui_homes acui_accesses_lock(const acui_accesses *accesses)
{
    return acui_order_lock_all_of(&accesses->homes);
}
/* Make room for one more entry, so that entering it can not fail. Order locks held, here and
 * below: those of acui_accesses_lock, and that of `point`. */
bool acui_accesses_reserve(acui_accesses *accesses);

/*
 * Enter an access of `point`. Calls `behind` for each point that the access comes after, possibly
 * more than once, with the bytes for which that point stands. `data` is true if the access reads
 * what that point wrote, so that the point's failure is its own. False: there is no room, and no
 * memory to make some, and nothing is entered. Order lock held.
 */
typedef void (*acui_behind_fn)(void *context, acui_point *before, const acui_extent *extent,
                               bool data);
bool acui_accesses_enter(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                         acui_extent extent, acu_access access, acui_behind_fn behind,
                         void *context);
/* For an access whose work is on its stream already and is ordered behind nothing; no older entry
 * is removed for it. Later accesses are ordered behind it. False: as above. Order lock held. */
bool acui_accesses_add(acui_accesses *accesses, uint64_t buffer_bytes, acui_point *point,
                       acui_extent extent, acu_access access);
/* The point was to write some of the buffer, has no entry that says so, and fails without having
 * run. Order lock held. */
void acui_accesses_lose(acui_accesses *accesses, acui_point *point);
/* How many points the access comes after, perhaps counting some more than once, if that is more
 * than a few; else at most that many. For making room before it is entered. Order lock held. */
size_t acui_accesses_count(const acui_accesses *accesses, const acui_extent *extent,
                           acu_access access);
/* Calls `behind` as acui_accesses_enter does, but enters nothing. Order lock held. */
void acui_accesses_look(const acui_accesses *accesses, acui_extent extent, acu_access access,
                        acui_behind_fn behind, void *context);
/* Remove all entries, when the buffer is destroyed. */
void acui_accesses_clear(acui_accesses *accesses);

/* A number that was not there before in the process; never 0. Called with the locks of these homes
 * held. */
uint64_t acui_order_turn(acui_homes homes);
/* Whether this thread holds the locks of all of these. */
bool acui_order_holds(acui_homes homes);

#endif
