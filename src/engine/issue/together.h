/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Together: small tasks that are ready may be put aside for a moment, and those of one form issued
 * as one executable graph under one mark. On an H100 sixteen kernels launched so take the driver
 * 1.9 us each, one by one 4.8.
 *
 * Each stays a submission of its own, with its own outcome; but all are told to be over when the
 * last of them is. So only such tasks go together as are known to be short, that wait for nothing
 * on the device, and whose submissions left the choice of a stream to acuda.
 *
 *   together.c  which tasks may go together, and how many of a form: as many as are over within
 *               LIMIT, as far as it is known how long one takes
 *   aside.c     what is put aside for each device, and its way from there
 *   issuer.c    the thread that takes it from there while it is worth one
 *
 * Who puts tasks aside: a runtime thread, while there is more in its ring; it issues them itself
 * once there is not, or they are sixteen. And any thread while the device's issuer attends to what
 * is there. That one is called when several threads meet at issuing, when one submits on and on
 * without having to wait, or when a runtime thread has more to do than it can: they plan, and it
 * issues, as many together as came meanwhile. It waits for more only while they keep coming and
 * the device has enough to do, and goes to sleep when there is nothing to do.
 *
 * Who submits on and on leaves other tasks to the issuer too, large ones and such as come behind
 * something: these go alone, and the next one is planned while the driver is busy with them.
 *
 * Nothing is aside for longer than others take to be issued; what waits for it, beside the data's
 * order, is who names a stream: it may be looked at from outside (acui_together_settle).
 */
#ifndef ACUI_ENGINE_TOGETHER_H
#define ACUI_ENGINE_TOGETHER_H

#include "engine/engine.h"

enum {
    ACUI_TOGETHER = 16, /* tasks at most; a power of two, as is how many are issued at once: so a
                         * form has few graphs */
    ACUI_TOGETHER_NODES = 8, /* in each: larger ones gain little */
};
#define ACUI_TOGETHER_LIMIT ACU_US(100) /* what all that go together may take */
#define ACUI_TOGETHER_HOLD ACU_US(20)   /* what one of them may be issued too late */

/* ---- together.c ---- */
/* Laid out, and about to get a stream: that of others that are aside, if it may go with them; else
 * NULL. */
acu_stream *acui_together_stream(acui_task *task);
/* So many are in flight, not counting those that are aside, that one more can wait a moment. */
bool acui_together_has_enough(acu_device *device, uint32_t aside);
/* It is behind so many others, or this thread has so many to issue, that it had better plan the
 * next instead: if another thread issues it. */
bool acui_together_in_burst(const acui_task *task);
void acui_together_issued(uint64_t now); /* this thread has issued one */
void acui_together_waits(void);          /* this thread found nothing to be over */
/* About to be issued alone; `met`: while another thread is issuing on its device. */
void acui_together_begin(const acui_task *task, bool met);
/* How many of the form may go together; 1: it is not known to be short. */
unsigned acui_together_most(uint64_t form);
/* Tasks from `first` on, before `end`, are over by `now`; the first was not at `looked`. Flight
 * lock held. */
void acui_together_learn(const acui_task *first, const acui_task *end, uint64_t looked,
                         uint64_t now);
/* For tests: nothing is learned, nor done otherwise because of the time that something takes. */
extern _Atomic(bool) acui_together_timeless;
static inline bool acui_together_is_timeless(void)
{
    return atomic_load_explicit(&acui_together_timeless, memory_order_relaxed);
}

/* ---- aside.c ---- */
/* Ready: put aside, if it may be. Others may be issued by this. */
bool acui_together_put(acui_task *task);
/* The stream for tasks that are to be put aside for the device; NULL: any. */
acu_stream *acui_together_lane(const acu_device *device);
bool acui_together_collects(const acu_device *device); /* this thread may put tasks aside for it */
/* All that is aside for the device is issued, and what came behind it. Waits for other threads that
 * are at that, unless this one is called by what itself issues. */
void acui_together_settle(acu_device *device);
/* Of runtime threads: this one has the device from now on, NULL: none; */
void acui_together_hold(acu_device *device);
/* ... whether something is aside that it has to issue itself; */
bool acui_together_left(void);
/* ... that had better wait for more: the device is busy with others; */
bool acui_together_may_grow(void);
/* ... issue it now, for the thread may be busy for a while. Does nothing on other threads. */
void acui_together_flush(void);

/* ---- issuer.c ---- */
/* It would be of use for the device. Never waits. */
void acui_issuer_ask(acu_device *device);
bool acui_issuer_may_come(void); /* there is a core for it; else nobody is called by that */
/* For tests: so many are taken to be there, also where it is timeless; 0: as many as are. */
extern _Atomic(int) acui_issuer_cores;
void acui_issuer_call(acu_device *device); /* the same, whether or not there is a core for it */
void acui_issuer_stop(void);               /* joins them; nothing is aside any more */
bool acui_issuer_busy(void);               /* one runs */
extern _Atomic(uint64_t) acui_issuer_patience; /* how long it attends to nothing; for tests */
extern _Atomic(bool) acui_issuer_held; /* for tests: it takes nothing of what is aside */

#endif
