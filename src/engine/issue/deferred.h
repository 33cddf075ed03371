/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A device's list of deferred tasks, as deferred.c and the thread that issues them (issuer.c) share
 * it. What its states mean: batch.h. */
#ifndef ACUI_ENGINE_DEFERRED_H
#define ACUI_ENGINE_DEFERRED_H

#include "base/lock.h"
#include "engine/issue/batch.h"

enum { ACUI_DEFERRED_MOST = 64 }; /* tasks at most, while the list is open */

/* A deferred task, and what choosing needs of it: the task itself is in another core's cache. */
typedef struct acui_deferred_task {
    acui_task *task;
    acu_stream *stream;
    uint64_t form;    /* others of this form may go with it; 0: it goes alone */
    uint64_t place;   /* its number among all that ever were added */
    bool immediate;   /* it gains nothing by waiting for others */
    bool thread_busy; /* the thread that added it has more to do */
} acui_deferred_task;

typedef struct acui_deferred {
    _Alignas(64) acui_lock lock; /* a leaf */
    /* Written under the lock, and read as hints without it: */
    _Atomic(uint32_t) count; /* release: a thread that sees it fall sees the batches in
                              * `unfinished` */
    _Atomic(bool) open;      /* any thread may add, since an issuer takes what comes */
    /* Batches that were taken and are not finished: issued, with what came behind run. Each counts
     * on the side that `side` was when it was taken. Release: a thread that sees a count fall sees
     * what was issued. */
    _Atomic(uint32_t) unfinished[2];
    _Atomic(uint32_t) in_user_code; /* of these: their threads are in a function of the program's.
                                     * Relaxed */
    _Atomic(uint32_t) immediate;    /* how many tasks would gain nothing by waiting for others */
    const acu_device *of;           /* the device of all tasks; only compared */
    acui_deferred_task tasks[ACUI_DEFERRED_MOST]; /* oldest first */
    uint64_t added;      /* how many ever were added */
    acu_stream *stream;  /* for tasks to come: that of the first, or the issuer's */
    unsigned on_stream;  /* how many got it */
    unsigned side;       /* on which batches that are taken now are counted */
    uint64_t flips;      /* how often that changed */

    /* Of the runtime thread that owns the list: */
    uint64_t since, flushed_at; /* when the first was added; when others were issued; ns */
    uint64_t full_at;           /* when it last had as many as go into a batch */
    unsigned without;           /* submissions since it last added one */
    struct acui_batch_mark { acu_stream *stream; uint64_t number; } last_marks[2]; /* of batches */
    unsigned batches; /* how many it has issued */

    /* issuer.c: */
    acu_device *device; /* that it was called for: retained; NULL: it was not called; lock */
    uint64_t rests_until; /* before that it is not to be called; lock */
    _Atomic(uint32_t) called; /* 1: it was called. The thread sleeps on this */
    _Atomic(bool) ended;
    bool running; /* start lock */
    pthread_t thread;
} acui_deferred;

acui_deferred *acui_deferred_of(const acu_device *device);
acui_deferred *acui_deferred_at(unsigned ordinal);

/* From now on others may add tasks, since the caller issues them, on this stream (NULL: as
 * before). */
void acui_deferred_open(acui_deferred *list, acu_stream *stream);
/* No longer: what they have added is issued. */
void acui_deferred_close(acui_deferred *list);
/* Issue the oldest and others of its form, and run what comes behind. Returns how many were issued,
 * counting those twice whose threads have more to do; 0: there was nothing. */
size_t acui_deferred_issue(acui_deferred *list);
/* How many are there, if more may join all of them; else 0. */
uint32_t acui_deferred_joinable(const acui_deferred *list);

#endif
