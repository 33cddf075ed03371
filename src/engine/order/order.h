/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When a task's turn comes, and what a failure means. */
#ifndef ACUI_ENGINE_ORDER_H
#define ACUI_ENGINE_ORDER_H

#include "base/local.h"
#include "engine/engine.h"

#include <acuda/use.h>

/* ---- submission.c ---- */
void acui_submission_put(acui_submission *submission);
/* Take a count of `open`, unless the submission is complete: then false. Its tasks stay until it is
 * let go. In cancel.c. */
bool acui_submission_hold(acui_submission *submission);
void acui_submission_let_go(acui_submission *submission);
/* The submission that this thread is planning, a `then` of which may submit another; NULL: none. */
extern ACUI_LOCAL acui_submission *acui_planned_now;
/* Whether this thread is planning the submission. If so, that stays open, and keeps its streams,
 * until it is done. */
static inline bool acui_is_planning(const acui_submission *submission)
{
    return acui_planned_now == submission;
}

/* ---- order.c ---- */
/* Make tasks of the plan's new nodes, enter them, and run those that are ready. */
acu_status acui_enter_nodes(acui_plan *plan);
/* Enter the plan's only node, which the program issues itself; unless it would have to wait on the
 * host (NOT_READY), or reads what was not computed (DEPENDENCY). */
acu_status acui_enter_ready(acui_submission *submission, acui_task **task);
/* The same for a node whose work is already on its stream, and comes behind nothing: what is
 * entered later comes behind it. */
acu_status acui_enter_placed(acui_submission *submission, acui_task **task);
/* Link the task to the predecessors that it must wait for on the host, until they are issued or,
 * with `over`, until they are over. The task's order locks held, as for the next two. */
void acui_link_before(acui_task *task, bool over);
/* The predecessor that makes the task fail: what it reads was not computed, what it stands for
 * failed, or memory that it needs is not there. NULL: none. */
const acui_before *acui_behind_failure(const acui_task *task);

/* ---- find.c ---- */
/* The first of its tasks that has this node or a later one; NULL: none. By the thread that plans,
 * order lock of its home held. */
acui_task *acui_find_task(acui_submission *submission, uint32_t node);

/* ---- ready.c ---- */
/* The point has changed its state; `over`: it is over, not just issued. Returns the followers that
 * this frees, as a list. The point's order lock held. */
acui_task *acui_free_followers(acui_point *point, bool over);
/* Append one list (by next_ready) to the other. */
acui_task *acui_join_tasks(acui_task *first, acui_task *then);
/* Run tasks whose turn has come, and whatever becomes ready by this. */
void acui_run_tasks(acui_task *ready);
/* Run up to `most` of the tasks, and of those that become ready by this, but only tasks that call
 * no function of the program's: the others are returned. What is left stays in the list. */
acui_task *acui_run_plain(acui_task **ready, uint32_t most);
/* The task will not be issued: it is over, failed, as soon as everything before it is over. */
acui_task *acui_retire(acui_task *task);
/* The task has failed with the fault, which is taken: note it; also for its part and its
 * submission, if it is their first. */
void acui_task_fail(acui_task *task, acui_fault *fault);
acui_fault *acui_fault_of_node(const acui_node *node);
/* The fault of a task that reads what was not written, because of `cause`; in the thread's record
 * as well. */
acui_fault *acui_dependency_fault(const acui_task *task, const acui_fault *cause);
/* Put what the program says around the node (its acui_context) into the record. */
void acui_add_context(acu_error *error, const acui_node *node);

/* ---- parts.c; order lock of the submission's home held ---- */
/* Something in the part failed (`fault` may be NULL for lack of memory): note which parts around
 * it, or the submission, fail with it. */
void acui_parts_note(acui_submission *submission, acui_part *part, acui_fault *fault);
/* Whether a failure elsewhere, or that the submission was given up, keeps the task from starting,
 * unless another submission wants it. *why: the reason (borrowed; NULL also for lack of memory). If
 * so, this is noted, and the caller makes the task fail. Locks of acui_task_lock_to_stop held. */
bool acui_parts_stop(acui_task *task, acui_fault **why);
void acui_parts_begin(const acui_task *task); /* the alternative that it decides on runs; takes the
                                              * locks */

/* ---- use.c ---- */
/* acu_use_begin and acu_use_begin_wait, for a call of the program's to `function`. */
acu_status acui_use_begin(acu_stream *stream, const acu_arg *args, size_t count, acu_site site,
                          const char *function, acu_use **use);
acu_status acui_use_begin_wait(acu_stream *stream, const acu_arg *args, size_t count,
                               acu_site site, uint64_t timeout, const char *function,
                               acu_use **use);
/* What others have put on the stream so far uses a tensor, as the argument says. What is submitted
 * on the tensor from now on comes behind that, and its memory is not used for anything else before.
 * What was submitted earlier stays where it is, on the device or not, so this call is never too
 * early. Errors: those of acu_use_begin, but for NOT_READY and DEPENDENCY. */
acu_status acui_stream_used(acu_stream *stream, const acu_arg *arg, acu_site site,
                            const char *function);

/* ---- cancel.c ---- */
void acui_give_up(acui_submission *submission, acui_fault *fault); /* once; it may be NULL */
/* A thread plans the taken op only later: note where it comes from, for a record of what happens
 * until then. `name` is the submission's; NULL: none. No other thread knows the future yet. */
void acui_future_note(acu_future *future, acu_op *op, const char *name);
/* Put that into the record, unless it says already where in the program it comes from. By the
 * thread that plans the submission. */
void acui_future_sign(const acu_future *future, acu_error *error);
/* Give the future up with `status` and a record of `message`, unless it is done. */
void acui_future_end(acu_future *future, acu_status status, const char *message);
/*
 * Whether some thread is giving a future up and has not told everybody yet, or holds a submission.
 * Such a thread may be the last to deal with something that has ended on the device, so a thread
 * that waits until nothing is in flight waits for it too. A thread that sees an effect of what it
 * did gets true here until it is done.
 */
bool acui_beside(void);
/* This thread is doing something of the kind. */
void acui_beside_begin(void);
void acui_beside_end(void);
/* Whether some of it is neither on the device nor begun on the host, and so never will be if it is
 * given up. */
bool acui_future_is_held_up(acu_future *future);
/* The submission is on its way: its future is RUNNING, unless it was given up meanwhile. */
void acui_submission_started(acui_submission *submission, acu_future *future);
/* Whether the task, of a submission that failed or was given up, also computes what others want:
 * part of an op that is not this submission's alone. Locks of acui_task_lock_to_stop held. */
bool acui_task_wanted(acui_task *task);
/* Take the order locks that are needed to find out: the task's, or all, if others share some of its
 * submission; returns the homes. */
acui_homes acui_task_lock_to_stop(const acui_task *task);
/* Whether the reader decides what follows from the task's failure, or is in the alternative that
 * the task decides on. */
bool acui_task_decides(const acui_task *reader, const acui_task *task);

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
