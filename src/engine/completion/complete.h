/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The end of tasks and submissions: who notices it, and who waits for it. */
#ifndef ACUI_ENGINE_COMPLETE_H
#define ACUI_ENGINE_COMPLETE_H

#include "engine/future.h"

/* ---- complete.c ---- */
/* The task is over; returns the tasks that this frees. */
acui_task *acui_task_over(acui_task *task);
/* Look at what the stream has finished, and complete it. The caller holds the stream and its
 * device. `now`: the time, or a little before; 0: the clock is read. */
void acui_harvest(acu_stream *stream, uint64_t now);
/* Complete the future, unless it is done already; returns its state before. */
acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault);
/* The same because it is cancelled or too late: what is not issued yet never will be. */
void acui_resolve_given_up(acu_future *future, acu_status status, acui_fault *fault);
void acui_submission_close(acui_submission *submission); /* give one count of `open` back */

/* ---- reactor.c ---- */
acu_status acui_reactor_start(void); /* if it is not running */
/* Start the thread, unless it runs, because something was just put in one of its lists: that thread
 * goes through it, or whoever ends the thread does. Flight lock held. If no thread can be started,
 * the entry waits for a thread that looks by itself. */
void acui_reactor_call(void);
void acui_reactor_notify(acui_notice *notices); /* call them, on its thread */
/* Wait until the notices that it has got so far were called and released; false: not by the
 * deadline. Blocks, so never in a callback. Does not wait if no thread can be started to call
 * them. */
bool acui_reactor_settle(uint64_t deadline);
/* Deliver the notice, which is taken, when the future is complete, or now if it is. Perhaps starts
 * it. */
void acui_future_add(acu_future *future, acui_notice *notice);
void acui_look_everywhere(void); /* harvest all streams with tasks, on this thread: flight.c */
/* The same, one stream after the other, until *found, or for some microseconds. Goes on where the
 * last such call ended. */
void acui_look_for(const _Atomic(bool) *found);

/* ---- wait.c ---- */
/* Call `look` again and again until it returns anything but NOT_READY, or the timeout is over
 * (TIMEOUT). `now`: the time, or a little before; 0: not known. */
typedef acu_status (*acui_look_fn)(void *context, uint64_t now);
/* When to look again: `now` or earlier for at once; a later time; ACU_FOREVER if a completion wakes
 * the waiter; ACUI_BLOCK (flight.h) if this call has waited in the driver. Work of unknown length
 * is worth looking at now while it has been running for less than `spin`. *start is when the wait
 * began; it is set to `now` while the device does not have the work yet. */
typedef uint64_t (*acui_next_fn)(void *context, uint64_t now, uint64_t spin, uint64_t *start);
acu_status acui_wait_until(acui_look_fn look, acui_next_fn next, void *context, uint64_t timeout);
/* For waits on futures, wherever they are. */
uint64_t acui_next_of_futures(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* The same for waits on what nobody announces. */
uint64_t acui_next_of_any(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* Wait until nothing is in flight on the device and callbacks of what was have returned. Blocks. */
acu_status acui_wait_idle(acu_device *device, uint64_t timeout);
/* The same for what is in flight there now: others may go on submitting. */
acu_status acui_wait_passed(acu_device *device, uint64_t timeout);

#endif
