/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The end of tasks and submissions: who notices it, and who waits for it. */
#ifndef ACUI_ENGINE_COMPLETE_H
#define ACUI_ENGINE_COMPLETE_H

#include "engine/future.h"
#include "engine/upward.h"

/* ---- complete.c ---- */
void acui_submission_close(acui_submission *submission); /* give one count of `open` back */

/* ---- future.c ---- */
/* Complete the future, unless it is done already; returns its state before. */
acui_future_state acui_resolve(acu_future *future, acu_status status, acui_fault *fault);
/* The same because it is cancelled or too late: what is not issued yet never will be. */
void acui_resolve_given_up(acu_future *future, acu_status status, acui_fault *fault);
/* Deliver the notice, which is taken, when the future is complete, or now if it is. Perhaps starts
 * it. */
void acui_future_add(acu_future *future, acui_notice *notice);
acu_status acui_future_new(acu_future **future); /* with one handle */
acu_future *acui_future_keep(acu_future *future); /* a reference of the engine's: no handle */
void acui_future_put(acu_future *future);         /* may be NULL */
/* The started future's status, or NOT_READY, as far as it is known; gives it up first if it is too
 * late. */
acu_status acui_future_outcome(acu_future *future);
/* This thread waits for the future at once (ACUI_WAITED); NULL: no longer for any. */
void acui_future_await(const acu_future *future);
/* acu_future_poll, with `now` as for acui_harvest. */
acu_status acui_future_look(acu_future *future, uint64_t now);

/* ---- values.c ---- */
/* Take the values, in the form in which a future keeps them. NO_MEMORY: they stay as they were. */
acu_status acui_results_make(acui_values *values, acui_results *results);
void acui_results_clear(acui_results *results);
/* What the submission, or the load, yields; taken. With results, the future becomes RUNNING. */
void acui_future_give_results(acu_future *future, acui_results *results);
void acui_future_give_module(acu_future *future, acu_module *module);

/* ---- reactor.c ---- */
void acui_reactor_notify(acui_notice *notices); /* call them, on its thread */
/* Wait until the notices that it has got so far were called and released; false: not by the
 * deadline. Blocks, so never in a callback. Does not wait if no thread can be started to call
 * them. */
bool acui_reactor_settle(uint64_t deadline);

/* ---- late.c ---- */
/* Calls of `fn` (an acu_foreign of acuda's own) that are on the device and not over. */
/* Call `look` with the user data of each, and whether nobody wants its submission any more. Locks
 * are held: it does nothing but note. */
typedef void (*acui_late_look_fn)(void *user, bool unwanted, void *context);
void acui_late_look(const acu_device *device, acu_foreign_fn fn, acui_late_look_fn look,
                    void *context);
/* Those of which `which` says so fail as the record says, to which the line and name of each is
 * added; and so does everything that reads what they were to write, on the device already or not.
 * To be called before the device goes on to that. */
typedef bool (*acui_late_which_fn)(void *user, const void *context);
void acui_late_fail(const acu_device *device, acu_foreign_fn fn, acui_late_which_fn which,
                    const void *context, const acu_error *record);

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
/* Wait for a future that the program has no handle of: nobody can cancel it. `own`: do that work
 * when its turn comes; may be NULL. */
acu_status acui_wait_blocking(acu_future *future, acui_own_work *own);
/* For waits on futures, wherever they are. */
uint64_t acui_next_of_futures(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* The same for waits on what nobody announces. */
uint64_t acui_next_of_any(void *context, uint64_t now, uint64_t spin, uint64_t *start);
/* Wait until nothing is in flight on the device and callbacks of what was have returned. Blocks. */
acu_status acui_wait_idle(acu_device *device, uint64_t timeout);
/* The same for what is in flight there now: others may go on submitting. */
acu_status acui_wait_passed(acu_device *device, uint64_t timeout);

/* ---- backlog.c ---- */
/* Wait until everything that was submitted to the stream so far is on it, or over: TIMEOUT, or the
 * device's error. No lock is held. Blocks. */
acu_status acui_backlog_settle(acu_stream *stream, uint64_t timeout);

/* ---- cancel.c ---- */
/* Take a count of `open`, unless the submission is complete: then false. Its tasks stay until it is
 * let go. */
bool acui_submission_hold(acui_submission *submission);
void acui_submission_let_go(acui_submission *submission);
void acui_give_up(acui_submission *submission, acui_fault *fault); /* once; it may be NULL */
/* A thread plans the taken op only later: note where it comes from, for a record of what happens
 * until then. `name` is the submission's; NULL: none. No other thread knows the future yet. */
void acui_future_note(acu_future *future, acu_op *op, const char *name);
/* Put that into the record, unless it says already where in the program it comes from. By the
 * thread that plans the submission. */
void acui_future_sign(const acu_future *future, acu_error *error);
/* Give the future up with `status` and a record of `message`, unless it is done. */
void acui_future_end(acu_future *future, acu_status status, const char *message);
/* Whether some of it is neither on the device nor begun on the host, and so never will be if it is
 * given up. */
bool acui_future_is_held_up(acu_future *future);
/* The submission is on its way: its future is RUNNING, unless it was given up meanwhile. */
void acui_submission_started(acui_submission *submission, acu_future *future);

/* ---- deadline.c ---- */
/* Give the future up after `timeout` ns at the latest. To be called before it is submitted, and
 * only for a future's first and only submission. NO_MEMORY. */
acu_status acui_deadline_set(acu_future *future, uint64_t timeout);
void acui_deadline_drop(acu_future *future); /* it is done, or will not be submitted; may be NULL */
void acui_deadline_check(acu_future *future); /* give it up if it is too late */
uint64_t acui_deadlines_next(void); /* the earliest; ACU_FOREVER: none */
void acui_deadlines_pass(void); /* give up those that are too late */
void acui_deadlines_end(void);

#endif
