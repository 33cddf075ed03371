/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the other steps call of the first ones: from an op to tasks. */
#ifndef ACUI_ENGINE_SUBMIT_H
#define ACUI_ENGINE_SUBMIT_H

#include "engine/upward.h"

#include <acuda/use.h>

/* ---- submit.c ---- */
/* Plan and submit a taken op. With `future`, its values and outcome go there; on failure the caller
 * still owns the future, and nothing refers to it. The op is gone, except after FULL, which is
 * found before anything looks at the op: then it is still the caller's, taken. */
acu_status acui_submit_here(acu_device *device, acu_op *op, const acu_submit_options *options,
                            acu_stream *stream, acu_future *future);
/* The same, or hand it over to a runtime thread (runtime.h). Then it has not failed yet, but may
 * still fail: the future says so. */
acu_status acui_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                       acu_stream *stream, acu_future *future);
/* The device that the caller has named, by itself, by a policy or by a stream. NULL: the op's
 * tensors and kernels decide, or else it is the default device. */
acu_device *acui_submit_device(acu_device *device, const acu_submit_options *options,
                               acu_stream *stream);
acui_submission *acui_submission_new(const acu_submit_options *options, acu_stream *stream,
                                     acu_future *future);
/* Enter what this thread has planned of a submission so far: it comes before what a callback does
 * now. If that fails, it never runs, and the submission fails when it has been planned. */
void acui_flush_planning(void);
/* ---- sync.c ---- */
/* acu_sync for an op of acuda's own (engine/host/host.h). Blocks. */
acu_status acui_sync_own(acu_op *op, acui_own_work *own, const char *function);

/* ---- enter.c ---- */
/* Make tasks of the plan's new nodes, enter them, and run those that are ready. */
acu_status acui_enter_nodes(acui_plan *plan);
/* Enter the plan's only node, which the program issues itself; unless it would have to wait on the
 * host (NOT_READY), or reads what was not computed (DEPENDENCY). */
acu_status acui_enter_ready(acui_submission *submission, acui_task **task);
/* The same for a node whose work is already on its stream, and comes behind nothing: what is
 * entered later comes behind it. */
acu_status acui_enter_on_stream(acui_submission *submission, acui_task **task);

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

/* ---- tasks.c ---- */
/* The plan's new nodes as tasks, laid out, not yet part of the submission. */
acu_status acui_make_tasks(acui_submission *submission, acui_task **tasks);
void acui_drop_tasks(acui_task *tasks); /* a list that was never entered */

/* ---- edges.c, reuse.c, runs.c: false for lack of memory ---- */
bool acui_find_edges(acui_task *task);
/* Put the node right behind another one. */
bool acui_put_edge(acui_task *task, acui_node *node, acui_node *before);
/* Which temporaries of the task have the memory of others, once these are done with. */
bool acui_reuse_memory(acui_task *task);
bool acui_cut_runs(acui_task *task);

/* ---- standalone.c ---- */
/* Plan a taken op. If *submission is set, on failure too, it is the caller's, to be ended by
 * acui_submission_close. A `then` that waits for what another thread plans is refused: nothing here
 * is ever entered. */
acu_status acui_standalone_plan(acu_device *device, acu_op *op, const acu_submit_options *options,
                                acui_submission **submission, acui_values *values);
/* Make its nodes one task, with edges and runs: all on one device, without host work. */
acu_status acui_standalone_lay_out(acui_submission *submission, acui_task **task);

#endif
