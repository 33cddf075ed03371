/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A task's way onto its device. */
#ifndef ACUI_ENGINE_ISSUE_H
#define ACUI_ENGINE_ISSUE_H

#include "engine/order/order.h"

/* ---- backlog.c (completion/); order lock held ---- */
/* The task is on its stream, or over. */
static inline void acui_backlog_drop(acui_task *task)
{
    if (!task->order.backlog)
        return;
    _Atomic(uint32_t) *tasks = &task->stream->engine.backlog.tasks[task->order.backlog - 1];
    task->order.backlog = 0;
    atomic_store_explicit(tasks, atomic_load_explicit(tasks, memory_order_relaxed) - 1,
                          memory_order_release);
}

/* ---- admit.c ---- */
/* Whether the ready task may be issued now. If not, it was left waiting, and *others are tasks to
 * run instead, perhaps itself. */
bool acui_admit(acui_task *task, acui_task **others);
void acui_charge(acui_task *task); /* it is on its stream: count what it put there */
acui_task *acui_leave_gates(acui_task *task); /* it is over; returns the tasks that this lets in */
acui_task *acui_step_out(acui_task *task); /* it has to be admitted again; the same */
/* FULL if the device (NULL: the default one) has reached its bound, counting `more`
 * submissions that are handed over. `look`: not before this thread has looked at what is in flight;
 * otherwise the reactor is to look. */
acu_status acui_check_room(acu_device *device, uint64_t more, bool look);

/* ---- lanes.c ---- */
/* Issue the run over several streams; *streams: how many, for the record. False: there were none,
 * and nothing was done. On failure *failed is the node, and the thread's record is set. The device
 * is entered, the stream's issue lock held. */
bool acui_issue_lanes(const acui_run *run, acu_stream *stream, uint32_t *streams,
                      acui_node **failed);

/* ---- issue.c, enqueue.c ---- */
/* Put the task on its stream or into its device's queue, or retire it; returns the tasks that this
 * frees. */
acui_task *acui_issue(acui_task *task);
/* Issue now: several tasks of one signature for one stream that wait for nothing on the device; or
 * one task alone. */
acui_task *acui_issue_all(acui_task *const *tasks, size_t count);
acu_status acui_enqueue(acui_node *node, acu_stream *stream);
/* Call the function of a FOREIGN node, for this stream. */
acu_status acui_call_foreign(const acui_node *node, CUstream stream);
/* What the configuration says beyond grid, block and shared memory, as the driver wants it. Returns
 * the number of entries. */
#define ACUI_LAUNCH_ATTRIBUTES 3
unsigned acui_launch_attributes(const acu_config *config,
                                acu_CUlaunchAttribute list[ACUI_LAUNCH_ATTRIBUTES]);
/* Fill in addresses that were not known at planning. Fails if the memory was never allocated. */
acu_status acui_resolve_addresses(acui_node *node);
/* For a task whose work the program puts on the stream itself. acui_issue_waits makes the stream
 * wait for what comes before (fails as acui_stream_after does, or with CAPTURE); acui_issue_end
 * puts the signal behind the work, and returns the tasks that this frees. */
acu_status acui_issue_waits(acui_task *task);
acui_task *acui_issue_end(acui_task *task);
bool acui_issuing(void); /* this thread is in a foreign call, and holds a stream's issue lock */
void acui_issue_later(acui_task *ready); /* this thread runs them once that call has returned */
const acui_task *acui_task_issuing(void); /* that this thread is putting on a stream */

/* ---- blame.c ---- */
/* The device is about to be marked lost: add the operation to blame to the thread's record. Takes
 * no lock but the flight lock. */
void acui_blame(acu_device *device);
const acui_node *acui_blamed_node(const acui_task *task); /* the first that can do harm; else the
                                                          * first */
/* On a device that issues one by one: enqueue the node, and wait until it is done. Blocks. */
acu_status acui_enqueue_serially(acui_node *node, acu_stream *stream);
/* All that is on the stream has a signal: note that it is complete, since nobody can ask once
 * something later has failed. */
void acui_finish_serially(acu_stream *stream);

#endif
