/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is put aside for a device, between aside.c and the thread that attends to it (issuer.c). */
#ifndef ACUI_ENGINE_ASIDE_H
#define ACUI_ENGINE_ASIDE_H

#include "base/lock.h"
#include "engine/issue/together.h"

enum { ACUI_MOST_ASIDE = 64 }; /* tasks at most, for an issuer */

/* A task that is aside, and what choosing needs of it: the task itself is in another core's
 * cache. */
typedef struct acui_waiting_task {
    acui_task *task;
    acu_stream *stream;
    uint64_t form;  /* others of this form may go with it; 0: it goes alone */
    uint64_t place; /* its number among all that ever were put there */
    bool urgent;    /* it gains nothing by waiting for others */
    bool burst;     /* the thread that put it there has more to do */
} acui_waiting_task;

typedef struct acui_aside {
    _Alignas(64) acui_lock lock; /* a leaf */
    /* Written under the lock, and read as hints without it: */
    _Atomic(uint32_t) count;  /* release: a thread that sees it fall sees the takers in `taking` */
    _Atomic(bool) attended;   /* an issuer takes what comes */
    /* Takers: threads that issue what they took, or run what came behind it. Each counts on the
     * side that `side` was when it began. Release: a thread that sees a count fall sees what they
     * have issued. */
    _Atomic(uint32_t) taking[2];
    _Atomic(uint32_t) away;   /* of what `taking` counts: the taker is in a function of the
                             * program's. Relaxed */
    _Atomic(uint32_t) urgent; /* how many would gain nothing by waiting for others */
    const acu_device *of;    /* the device of all tasks; only compared */
    acui_waiting_task kept[ACUI_MOST_ASIDE]; /* oldest first */
    uint64_t put;            /* how many ever were put there */
    acu_stream *stream;            /* for tasks to come: that of the first, or the issuer's */
    unsigned on_stream;            /* how many got it */
    unsigned side;  /* on which takers that begin now are counted */
    uint64_t turns;

    /* Of the runtime thread that holds the device: */
    uint64_t since, flushed_at; /* when the first was put there; when others were issued; ns */
    uint64_t full_at;           /* when it last had as many as go together */
    /* The marks of the last two lots. */
    struct acui_lot { acu_stream *stream; uint64_t number; } issued[2];
    unsigned lots;

    /* issuer.c: */
    acu_device *device; /* that it was called for: retained; NULL: it was not called; lock */
    uint64_t rests;     /* until then it is not to be called; lock */
    _Atomic(uint32_t) called; /* 1: it was called. The thread sleeps on this */
    _Atomic(bool) ended;
    bool running; /* start lock */
    pthread_t thread;
} acui_aside;

acui_aside *acui_aside_of(const acu_device *device);
acui_aside *acui_aside_at(unsigned ordinal);

/* From now on others may put tasks there, since the caller issues them, on this stream (NULL: as
 * before). */
void acui_aside_attend(acui_aside *aside, acu_stream *stream);
/* No longer: what they have put there is issued. */
void acui_aside_desert(acui_aside *aside);
/* Issue the oldest and others of its form, and run what comes behind. Returns how many were issued,
 * counting those twice whose threads have more to do; 0: there was nothing. */
size_t acui_aside_turn(acui_aside *aside);
/* How many are there, if more may join all of them; else 0. */
uint32_t acui_aside_may_grow(const acui_aside *aside);

#endif
