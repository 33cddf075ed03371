/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Together: small tasks that are ready may be put aside for a moment, and those of one form are
 * issued as one executable graph under one mark. On an H100, sixteen kernels launched this way take
 * the driver 1.9 us each; one by one, 4.8 us.
 *
 * Each stays a submission of its own, with its own outcome; but all are seen to be over only when
 * the last of them is. So tasks go together only if they are known to be short, if they wait for
 * nothing on the device, and if their submissions left the choice of a stream to acuda.
 *
 *   together.c  which tasks may go together, and how many of a form: as many as are over within
 *               LIMIT, by what is known of how long one takes
 *   aside.c     what is put aside for each device, and how it is issued
 *   issuer.c    the thread that issues it, while that is worth a thread
 *
 * A runtime thread puts tasks aside while there is more in its ring; it issues them itself once
 * there is nothing more, or they are ACUI_TOGETHER. Any thread does so while the device's issuer
 * attends to what is there. The issuer is called when several threads meet at issuing, when one
 * submits on and on without having to wait, or when a runtime thread has more to do than it can.
 * Then these plan, and the issuer issues together what came meanwhile. It waits for more only while
 * they keep coming and the device has enough to do, and goes to sleep when there is nothing to do.
 *
 * A thread that submits on and on leaves other tasks to the issuer too: large ones, and those that
 * come behind something. These go alone; the next one is planned while the driver is busy with
 * them.
 *
 * Nothing is aside for longer than it takes to issue others. Apart from what comes behind its data,
 * only a thread that names a stream waits for it, as that stream may be looked at from outside
 * (acui_together_settle).
 */
#ifndef ACUI_ENGINE_TOGETHER_H
#define ACUI_ENGINE_TOGETHER_H

#include "engine/engine.h"

enum {
    ACUI_TOGETHER = 32, /* tasks at most. A power of two, as is how many are issued at once: so a
                         * form has few graphs. With 16, four threads reached 0.70 instead of 0.77
                         * of the rate at which they launch by hand (H100) */
    ACUI_TOGETHER_NODES = 8, /* in each task: larger ones gain little */
};
#define ACUI_TOGETHER_LIMIT ACU_US(100) /* how long all tasks that go together may take */
#define ACUI_TOGETHER_HOLD ACU_US(20)   /* how much later one of them may be issued */

/* ---- together.c ---- */
/* The task is laid out, and about to get a stream: decide whether it may be put aside. Returns the
 * stream of others that are aside, if it may go with them; else NULL. */
acu_stream *acui_together_stream(acui_task *task);
/* Whether enough tasks are in flight, besides `aside` ones, for one more to wait a moment. */
bool acui_together_has_enough(acu_device *device, uint32_t aside);
/* Whether this thread had better plan the next task, if another one issues this: there are many
 * tasks before it, or the thread has issued many in a row. */
bool acui_together_in_burst(const acui_task *task);
void acui_together_issued(uint64_t now); /* this thread has issued a task */
void acui_together_waits(void);          /* this thread found nothing to be over */
/* The task is about to be issued alone; `met`: while another thread issues on its device. */
void acui_together_begin(const acui_task *task, bool met);
/* How many of the form may go together; 1: it is not known to be short. */
unsigned acui_together_most(uint64_t form);
/* The tasks from `first` on, before `end`, were found over at `now`; the first was not over at
 * `looked`. Flight lock held. */
void acui_together_learn(const acui_task *first, const acui_task *end, uint64_t looked,
                         uint64_t now);
/* For tests: nothing is learned, and nothing depends on how long things take. */
extern _Atomic(bool) acui_together_timeless;
static inline bool acui_together_is_timeless(void)
{
    return atomic_load_explicit(&acui_together_timeless, memory_order_relaxed);
}

/* ---- aside.c ---- */
/* The task is ready: put it aside, if it may be. Others may be issued by this. */
bool acui_together_put(acui_task *task);
/* The stream for tasks that are to be put aside for the device; NULL: any. */
acu_stream *acui_together_lane(const acu_device *device);
bool acui_together_collects(const acu_device *device); /* whether this thread may */
/* Wait until all that is aside for the device is issued, with what came behind it; helps to issue.
 * Does not wait for other threads if this is called from what this thread itself issues, nor for
 * long functions of the program's that they are in. Waits for `timeout` at most, and for at most a
 * second. */
void acui_together_settle(acu_device *device, uint64_t timeout);
extern _Atomic(uint64_t) acui_together_settles; /* that second; for tests */
/* Around functions of the program's that a thread may come to while it issues. Calls nest. */
void acui_together_away(void);
void acui_together_back(void);
/* For runtime threads: this one holds the device from now on; NULL: none. */
void acui_together_hold(acu_device *device);
/* Whether something is aside that this thread has to issue itself. */
bool acui_together_left(void);
/* Whether that had better wait for more, as the device is busy with others. */
bool acui_together_may_grow(void);
/* Issue it now, since this thread may be busy for a while. Does nothing on other threads. */
void acui_together_flush(void);

/* ---- issuer.c ---- */
/* It would be of use for the device: call it, if there is a core for it. Never waits. */
void acui_issuer_ask(acu_device *device);
bool acui_issuer_may_come(void); /* there are enough cores for one */
/* For tests: how many cores count as there, even if timeless; 0: as many as are. */
extern _Atomic(int) acui_issuer_cores;
void acui_issuer_call(acu_device *device); /* the same, without regard to cores */
void acui_issuer_stop(void);               /* joins them; nothing is aside any more */
bool acui_issuer_busy(void);               /* some thread exists */
extern _Atomic(uint64_t) acui_issuer_patience; /* how long it looks for work before it goes; for
                                                * tests */
extern _Atomic(bool) acui_issuer_held; /* for tests: it takes nothing of what is aside */

#endif
