/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When a task's turn comes, and what a failure means. */
#ifndef ACUI_ENGINE_ORDER_H
#define ACUI_ENGINE_ORDER_H

#include "base/local.h"
#include "engine/upward.h"

/* ---- submission.c ---- */
void acui_submission_put(acui_submission *submission);
/*
 * Whether some thread is giving a future up and has not told everybody yet, or holds a submission.
 * Such a thread may be the last to deal with something that has ended on the device, so a thread
 * that waits until nothing is in flight waits for it too. A thread that sees an effect of what it
 * did gets true here until it is done.
 */
bool acui_completing(void);
/* This thread is doing something of the kind. */
void acui_completing_begin(void);
void acui_completing_end(void);
/* The submission that this thread is planning, a `then` of which may submit another; NULL: none. */
extern ACUI_LOCAL acui_submission *acui_planned_now;
/* Whether this thread is planning the submission. If so, that stays open, and keeps its streams,
 * until it is done. */
static inline bool acui_is_planning(const acui_submission *submission)
{
    return acui_planned_now == submission;
}

/* ---- order.c ---- */
/* Take the locks of all that these tasks may come behind; returns the homes. */
acui_homes acui_lock_to_enter(const acui_submission *submission, const acui_task *tasks);
/* Memory for the points of shared ops, before order locks are taken. False: there is none. */
bool acui_prepare_shared(acui_task *tasks);
void acui_drop_shared(acui_task *tasks);
/* Enter the tasks of a submission in order; returns those that are ready. These locks held. */
acui_task *acui_enter_tasks(acui_submission *submission, acui_task *tasks);
/* Link the task to the predecessors that it must wait for on the host, until they are issued or,
 * with `over`, until they are over. The task's order locks held, as for the next two. */
void acui_link_before(acui_task *task, bool over);
/* The predecessor that makes the task fail: what it reads was not computed, what it stands for
 * failed, or memory that it needs is not there. NULL: none. */
const acui_dependency *acui_behind_failure(const acui_task *task);

/* ---- what is counted of a task that is entered; order lock held ---- */
/* The task, which goes to a stream, is being entered. Uses do not count: their work is put on the
 * stream by the program itself. */
static inline void acui_backlog_add(acui_task *task)
{
    acui_backlog *backlog = &task->stream->engine.backlog;
    if (task->first->kind == ACUI_NODE_USE)
        return;
    _Atomic(uint32_t) *tasks = &backlog->tasks[backlog->epochs.now];
    task->order.backlog = (uint8_t)(backlog->epochs.now + 1);
    atomic_store_explicit(tasks, atomic_load_explicit(tasks, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* Count a task of the device as entered, or as going (issue/memory.h). Order lock held. */
static inline void acui_count_started(acu_device *device, uint64_t what)
{
    uint64_t now = atomic_load_explicit(&device->work.started, memory_order_relaxed);
    atomic_store_explicit(&device->work.started, now + what, memory_order_relaxed);
}

static inline void acui_count_entered(acui_task *task)
{
    acu_device *device = task->device;
    task->gates.epoch = (uint8_t)device->engine->epochs.now;
    device->engine->entered[device->engine->epochs.now]++;
    acui_count_started(device, ACUI_ENTERED);
}

/* ---- find.c ---- */
/* The first of its tasks that has this node or a later one; NULL: none. By the thread that plans,
 * order lock of its home held. */
acui_task *acui_find_task(acui_submission *submission, uint32_t node);

/* ---- fail.c ---- */
/* The point has changed its state; `over`: it is over, not just issued. Returns the followers that
 * this frees, as a list. The point's order lock held. */
acui_task *acui_free_followers(acui_point *point, bool over);
/* Append one list (by next_listed) to the other. */
acui_task *acui_join_tasks(acui_task *first, acui_task *then);
/* Whether the task must fail before it starts, because of its data or its submission; if so, it
 * fails. */
bool acui_task_fails_already(acui_task *task);
/* Whether the task is part of an alternative that does not run. What was tried is over. */
bool acui_task_is_spared(acui_task *task);
/* The task will not be issued: it is over, failed, as soon as everything before it is over. */
acui_task *acui_retire(acui_task *task);
/* The task has failed with the fault, which is taken: note it; also for its child and its
 * submission, if it is their first. */
void acui_task_fail(acui_task *task, acui_fault *fault);
void acui_task_note(acui_task *task, acui_fault *fault); /* the same with its order locks held; the
                                                          * fault stays the caller's */
acui_fault *acui_fault_of_node(const acui_node *node);
/* The fault of a task that reads what was not written, because of `cause`; in the thread's record
 * as well. */
acui_fault *acui_dependency_fault(const acui_task *task, const acui_fault *cause);
/* Put what the program says around the node (its acui_context) into the record. */
void acui_add_context(acu_error *error, const acui_node *node);

/* For these two, the order lock of the submission's home is held. */
/* Something in the child failed (`fault` may be NULL for lack of memory): note which of those
 * around it, or whether the submission, fail with it. */
void acui_children_note(acui_submission *submission, acui_child *child, acui_fault *fault);
/* Whether a failure elsewhere, or that the submission was given up, keeps the task from starting.
 * If others use what it is part of, the submission's end does not. *why: the reason (borrowed; NULL
 * also for lack of memory). If so, this is noted, and the caller makes the task fail. */
bool acui_task_is_stopped(acui_task *task, acui_fault **why);
void acui_turn_comes(const acui_task *task); /* the alternative that it decides on runs; takes the
                                              * locks */

/* A failure of what the device has already. */
/* The task, which is on the device and not over there, fails with the fault (borrowed). All order
 * locks held. */
void acui_fail_late(acui_task *task, acui_fault *fault);
/* The task is on the device now, or over: if what it reads failed there meanwhile, so does it,
 * unless it has failed before; whether it has now. Its order locks held. */
bool acui_note_late(acui_task *task);

#endif
