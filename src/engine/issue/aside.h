/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is put aside for a device: for aside.c, and the thread that attends to it, issuer.c. */
#ifndef ACUI_ENGINE_ASIDE_H
#define ACUI_ENGINE_ASIDE_H

#include "base/lock.h"
#include "engine/issue/together.h"

enum { ACUI_MOST_ASIDE = 64 }; /* tasks at most, for an issuer */

/* With what choosing needs: the task itself is in another core's cache. */
typedef struct acui_waiting_task {
    acui_task *task;
    acu_stream *stream;
    uint64_t form;  /* of which others may go with it; 0: it goes alone */
    uint64_t place; /* among all that ever were put there */
    bool urgent;    /* it gains nothing by others that come */
    bool burst;     /* whoever put it there has more to do */
} acui_waiting_task;

typedef struct acui_aside {
    _Alignas(64) acui_lock lock; /* a leaf */
    /* These are written under the lock, and read as hints without it. */
    _Atomic(uint32_t) count;  /* release: less of them, and the threads that took them are seen */
    _Atomic(bool) attended;   /* the issuer takes what comes */
    /* How many threads issue what they took: those that began before the last turn, and after.
     * Release: what they have issued. */
    _Atomic(uint32_t) taking[2];
    _Atomic(uint32_t) urgent; /* so many of them gain nothing by others that come */
    const acu_device *of;    /* of all tasks; only to be compared */
    acui_waiting_task kept[ACUI_MOST_ASIDE]; /* oldest first */
    uint64_t put;            /* how many ever were */
    acu_stream *stream;            /* for those to come: of the first of them, or the issuer's */
    unsigned on_stream;            /* how many had it */
    unsigned side;  /* of those that begin now */
    uint64_t turns;

    /* Of the runtime thread that holds the device: */
    uint64_t since, flushed_at; /* when the first was put there, and others were issued; ns */
    uint64_t full_at;           /* when it last had as many as go together */
    struct acui_lot { acu_stream *stream; uint64_t number; } issued[2]; /* the last lots' marks */
    unsigned lots;

    /* issuer.c: */
    acu_device *device; /* that it was called for: retained; NULL: it was not; lock */
    uint64_t rests;     /* until then it is not to be called; lock */
    _Atomic(uint32_t) called; /* a word to sleep on */
    _Atomic(bool) ended;
    bool running; /* start lock */
    pthread_t thread;
} acui_aside;

acui_aside *acui_aside_of(const acu_device *device);
acui_aside *acui_aside_at(unsigned ordinal);

/* From now on others may put tasks there, for the caller issues them. */
void acui_aside_attend(acui_aside *aside, acu_stream *stream);
/* No more: what they have put there is issued. */
void acui_aside_desert(acui_aside *aside);
/* Issue the oldest, and those of its form. Gives how many, those counted twice whose threads have
 * more to do meanwhile; 0: there is nothing. */
size_t acui_aside_turn(acui_aside *aside);
/* How many are there, if all of them may be joined by more; else 0. */
uint32_t acui_aside_may_grow(const acui_aside *aside);

#endif
