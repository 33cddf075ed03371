/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A device's queue of batches of tasks that are ready, and the thread that issues them.
 *
 * A ready task is issued at once, by the thread at hand. But while a program submits ahead of the
 * device, planning the next submission matters more than issuing this one: then the device's thread
 * issues, and whoever submits only plans and puts into the queue what has become ready. What has
 * gathered there by the time the thread looks is issued in batches (batch.h). A program submits
 * ahead if there are many tasks in flight, or if the thread has submitted many without having to
 * wait for any (acui_streak_now): the device may well keep up with these, and yet be kept from
 * more by what it takes to issue them one by one.
 *
 *   dispatch.c         the queue: adding to it, issuing what is there, and draining it
 *   dispatch_thread.c  the device's thread, and the rule that says when it is woken
 *
 * The queue is in one of three states:
 *
 *   CLOSED   The thread sleeps, and the queue is empty, or about to be: every task is issued at
 *            once. The thread is woken once ACUI_DISPATCH_WAKE tasks that could have been queued
 *            were submitted ahead, not counting half as many as were not; if there is a core for
 *            it.
 *   OPEN     The thread is there. What may go in a batch is queued, and other tasks that may be
 *            queued if they are submitted ahead; whoever finds the queue full issues a batch first.
 *            It is full sooner while several threads add to it: one alone can not issue for many.
 *            The thread sleeps again when nothing has come for acui_dispatch_patience.
 *   BARRED   Open, but some thread that issues what was there is about to run tasks that may call
 *            functions of the program's, which may take any time. It has issued everything first,
 *            and until it is back nothing is added: every task is issued at once.
 *
 * A thread that issues what is in the queue is its consumer: mostly the device's thread, but also
 * one that drains the queue, or has found it full. A consumer takes the oldest batch, issues it,
 * and runs what comes behind. What this makes ready it issues too, as batches where that can be
 * (acui_dispatch_follow), and never puts into the queue.
 *
 * What holds at any time:
 *   - What is queued is issued: the thread does not sleep before the queue is closed and empty.
 *   - A task stays queued no longer than it takes to issue what was ready before it. Nobody waits
 *     for more, for the device, or for the program.
 *   - A task that was given up while it was queued is not issued.
 *   - Apart from what comes behind its data, only a thread that names a stream waits for what is
 *     queued, since that stream may be looked at from outside (acui_dispatch_drain). It issues what
 *     it finds, and waits until everybody who was a consumer has finished; meanwhile nobody else
 *     becomes one. Then everything that was there before is on its stream, and so is what came
 *     behind. It does not wait for a function of the program's for longer than 200 us.
 */
#ifndef ACUI_ENGINE_DISPATCH_H
#define ACUI_ENGINE_DISPATCH_H

#include "engine/issue/batch.h"

enum { ACUI_DISPATCH_WAKE = 32 }; /* tasks that were submitted ahead: then the thread is woken */

static inline acui_dispatch *acui_dispatch_of(const acu_device *device)
{
    return &device->engine->queue;
}

/* ---- for tasks ---- */
/* The task is laid out, and about to get a stream: decide whether it may be queued, and issued in a
 * batch, and let the thread be woken if it should. Returns the stream of others that are queued, if
 * it may go with them; else NULL. */
acu_stream *acui_dispatch_prepare(acui_task *task);
/* The task is ready: put it into its device's queue. False: it is to be issued at once. */
bool acui_dispatch_add(acui_task *task);
/* A consumer runs this task, which comes behind what it issued. True: it is issued with others
 * soon; else it is to be issued at once. */
bool acui_dispatch_follow(acui_task *task);
/* Issue all that is queued on the device now, or wait until others have, with what came behind it.
 * Does not wait for other threads if this is called from what this thread itself issues, nor for
 * long functions of the program's that they are in; for `timeout` at most, and at most a second. */
void acui_dispatch_drain(acu_device *device, uint64_t timeout);
extern _Atomic(uint64_t) acui_dispatch_drain_most; /* that second; for tests */
/* Around functions of the program's that a thread may come to while it issues. Calls nest. */
void acui_user_code_begin(void);
void acui_user_code_end(void);

/* ---- for the thread ---- */
/* Tasks may be added from now on, since the caller issues them; those that may go in a batch get
 * this stream. */
void acui_dispatch_open(acui_dispatch *queue, acu_stream *stream);
/* No longer: what is there is issued. */
void acui_dispatch_close(acui_dispatch *queue);
/* Issue the oldest batch, and what comes behind. False: there was none, or somebody drains it. */
bool acui_dispatch_issue(acui_dispatch *queue);

/* ---- dispatch_thread.c ---- */
/* Whether this thread submits ahead of the device. */
bool acui_dispatch_is_ahead(acu_device *device);
/* A task that may be queued was submitted ahead; or one was not. Wakes the thread, if that pays. */
void acui_dispatch_found(acui_dispatch *queue, acu_device *device, bool ahead);
void acui_dispatch_wake(acu_device *device); /* in any case. Never waits */
void acui_dispatch_stop(void);               /* joins the threads: nothing is queued any more */
bool acui_dispatch_busy(void);               /* some thread exists */
/* For tests: how long a thread looks for work before it sleeps; how many cores count as there, even
 * if timeless (0: as many as are); that threads take nothing of what is queued. */
extern _Atomic(uint64_t) acui_dispatch_patience;
extern _Atomic(int) acui_dispatch_cores;
extern _Atomic(bool) acui_dispatch_paused;

#endif
