/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Batches: small tasks that are ready may be deferred for a moment, and those of one form are then
 * issued as one executable graph under one mark. On an H100, sixteen kernels launched this way take
 * the driver 1.9 us each; one by one, 4.8 us.
 *
 * Each stays a submission of its own, with its own outcome; but all of a batch are seen to be over
 * only when the last of them is. So tasks are batched only if they are known to be short, if they
 * wait for nothing on the device, and if their submissions left the choice of a stream to acuda.
 *
 *   batch.c     which tasks may be batched, and how many of a form: as many as are over within
 *               ACUI_BATCH_TIME, by what is known of how long one takes; when an issuer would help
 *   deferred.c  the list of deferred tasks that each device has, and how it is issued
 *   issuer.c    the thread that issues it, while that is worth a thread
 *
 * The states of a device's list of deferred tasks:
 *
 *                        a runtime thread comes, goes
 *               CLOSED <------------------------------> OWNED
 *                 ^          acui_deferred_own            ^
 *   an issuer     |                                       |    acui_deferred_open,
 *   comes, goes   |                                       |    acui_deferred_close
 *                 v                                       v
 *                OPEN <-------------------------------> OPEN and owned
 *
 *   state    who may defer a task               who must issue it
 *   CLOSED   nobody: what is ready is issued    -
 *            at once, by the thread at hand
 *   OWNED    the runtime thread; only tasks     the runtime thread: it flushes, see below
 *            that may be batched
 *   OPEN     any thread: tasks that may be      the issuer. A thread that makes the list full
 *            batched. One that submits          (ACUI_DEFERRED_MOST tasks, or ACUI_BATCH_MOST
 *            continuously: also others, which   that gain nothing by waiting) issues one batch
 *            go alone (large ones, and those    itself
 *            that come behind something)
 *
 * A runtime thread flushes when its ring is empty, but waits up to ACUI_BATCH_DELAY for more while
 * its last two batches are still on the device. With more in the ring it goes on planning: then it
 * issues a batch when there are ACUI_BATCH_MOST, and flushes before a callback of the program's, a
 * wait for its turn, and a task that goes alone, and after more than ACUI_BATCH_MOST submissions
 * that added nothing. The first task after a pause is not deferred.
 *
 * An issuer is called, if there is a core for it (acui_issuer_ask), when threads keep finding each
 * other issuing on the device, when one submits continuously without having to wait, or when a
 * runtime thread fills its list twice within 200 us. It goes to sleep when nothing has come for
 * acui_issuer_patience; when 64 batches had less than 1.5 tasks on average, and then it rests for
 * 10 ms (tasks of a thread that submits continuously count twice, and a device with a runtime
 * thread is excepted); when the device is lost; and at the last close. While the device has enough
 * to do and tasks keep coming, it lets them gather for up to ACUI_BATCH_DELAY.
 *
 * What holds at any time:
 *   - A task is deferred only while somebody must issue it. Whoever closes the list, or ceases to
 *     own it, issues what is there.
 *   - A task stays deferred no longer than it takes to issue what was ready before it, plus
 *     ACUI_BATCH_DELAY; on a runtime thread, no longer than it takes to plan at most
 *     ACUI_BATCH_MOST submissions for each task that is added. Nobody waits for the device in
 *     between, and the issuer closes the list before it runs anything that may call the program.
 *   - No task of a batch comes behind another one of it: a task that comes behind anything that is
 *     not over goes alone.
 *   - A task that was given up while it was deferred is not issued.
 *   - Apart from what comes behind its data, only a thread that names a stream waits for what is
 *     deferred, since that stream may be looked at from outside (acui_deferred_drain).
 */
#ifndef ACUI_ENGINE_BATCH_H
#define ACUI_ENGINE_BATCH_H

#include "engine/engine.h"

enum {
    ACUI_BATCH_MOST = 32, /* tasks at most. A power of two, as is how many are issued at once: so a
                           * form has few graphs. With 16, four threads reached 0.70 instead of 0.77
                           * of the rate at which they launch by hand (H100) */
    ACUI_BATCH_NODES = 8, /* in each task: larger ones gain little */
};
#define ACUI_BATCH_TIME ACU_US(100) /* how long all tasks of a batch may take on the device */
#define ACUI_BATCH_DELAY ACU_US(20) /* how much later one of them may be issued */

/* ---- batch.c: which ---- */
/* The task is laid out, and about to get a stream: decide whether it may be deferred, and whether
 * it may be batched. Returns the stream of others that are deferred, if it may go with them; else
 * NULL. */
acu_stream *acui_batch_stream(acui_task *task);
/* Whether enough tasks are in flight, besides the `deferred` ones, for one more to wait a
 * moment. */
bool acui_batch_device_is_busy(acu_device *device, uint32_t deferred);
/* How many of the form may be batched; 1: it is not known to be short. */
unsigned acui_batch_most(const acu_device *device, uint64_t form);
/* The tasks from `first` on, before `end`, were found over at `now`; the first was not over at
 * `looked`. Flight lock held. */
void acui_batch_learn(const acui_task *first, const acui_task *end, uint64_t looked, uint64_t now);
/* For tests: nothing is learned, and nothing depends on how long things take. */
extern _Atomic(bool) acui_batch_timeless;
static inline bool acui_batch_is_timeless(void)
{
    return atomic_load_explicit(&acui_batch_timeless, memory_order_relaxed);
}

/* ---- batch.c: when an issuer would help ---- */
/* A thread submits continuously if it has issued a streak of tasks, without having to wait. */
void acui_streak_issued(uint64_t now); /* this thread has issued a task */
void acui_streak_end(void);            /* this thread found nothing to be over */
/* Whether this thread had better plan the next task, if another one issues this: there are many
 * tasks before it, or the thread submits continuously. */
bool acui_issuer_would_help(const acui_task *task);
/* The task is about to be issued alone. Counts how often an issuer would have helped, and asks for
 * one if that is often; `contended`: another thread is issuing on the device. */
void acui_issuer_consider(const acui_task *task, bool contended);

/* ---- deferred.c ---- */
/* The task is ready: defer it, if it may be deferred. Others may be issued by this. */
bool acui_defer(acui_task *task);
/* The stream for tasks that are to be deferred on the device; NULL: any. */
acu_stream *acui_deferred_stream(const acu_device *device);
bool acui_deferred_accepts(const acu_device *device); /* whether this thread may add to the list */
/* Wait until all that is deferred on the device is issued, with what came behind it; helps to
 * issue. Does not wait for other threads if this is called from what this thread itself issues, nor
 * for long functions of the program's that they are in. Waits for `timeout` at most, and for at
 * most a second. */
void acui_deferred_drain(acu_device *device, uint64_t timeout);
extern _Atomic(uint64_t) acui_deferred_drain_most; /* that second; for tests */
/* Around functions of the program's that a thread may come to while it issues. Calls nest. */
void acui_user_code_begin(void);
void acui_user_code_end(void);
/* For runtime threads: this one owns the device's list from now on; NULL: none. */
void acui_deferred_own(acu_device *device);
/* Whether something is deferred that this thread has to issue itself. */
bool acui_deferred_must_flush(void);
/* This thread has dealt with one more submission: whether that has waited for long enough, since
 * the last few added nothing. */
bool acui_deferred_waits_in_vain(void);
/* Whether that had better wait for more, as the device is busy with others. */
bool acui_deferred_may_wait(void);
/* Issue it now, since this thread may be busy for a while. Does nothing on other threads. */
void acui_deferred_flush(void);

/* ---- issuer.c ---- */
/* It would be of use for the device: call it, if there is a core for it. Never waits. */
void acui_issuer_ask(acu_device *device);
bool acui_issuer_may_come(void); /* there are enough cores for one */
/* For tests: how many cores count as there, even if timeless; 0: as many as are. */
extern _Atomic(int) acui_issuer_cores;
void acui_issuer_call(acu_device *device); /* the same, without regard to cores */
void acui_issuer_stop(void);               /* joins them; nothing is deferred any more */
bool acui_issuer_busy(void);               /* some thread exists */
extern _Atomic(uint64_t) acui_issuer_patience; /* how long it looks for work before it goes; for
                                                * tests */
extern _Atomic(bool) acui_issuer_paused; /* for tests: it takes nothing of what is deferred */

#endif
