/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the other steps call of the first ones: from an op to tasks. */
#ifndef ACUI_ENGINE_SUBMIT_H
#define ACUI_ENGINE_SUBMIT_H

#include "engine/engine.h"

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
acu_device *acui_submit_place(acu_device *device, const acu_submit_options *options,
                              acu_stream *stream);
acui_submission *acui_submission_new(const acu_submit_options *options, acu_stream *stream,
                                     acu_future *future);
/* Enter what this thread has planned of a submission so far: it comes before what a callback does
 * now. If that fails, it never runs, and the submission fails when it has been planned. */
void acui_flush_planning(void);
/* acu_submit, which leaves the op to the program after FULL, with what is known about the future:
 * `how`, ORed. `function` is what the program called. */
enum {
    ACUI_UNWANTED = 1, /* nobody will ask it for values */
    ACUI_WAITED = 2    /* this thread waits for it at once */
};
acu_status acui_submit_public(acu_device *device, acu_op *op, const acu_submit_options *given,
                              unsigned how, const char *function, acu_future **future);

/* ---- tasks.c ---- */
/* The plan's new nodes as tasks, laid out, not yet part of the submission. */
acu_status acui_make_tasks(acui_submission *submission, acui_task **tasks);
void acui_drop_tasks(acui_task *tasks); /* a list that was never entered */

/* ---- edges.c, runs.c: false for lack of memory ---- */
bool acui_find_edges(acui_task *task);
bool acui_cut_runs(acui_task *task);
/* Whether a graph can hold the node. A cached graph, which is set again and again, can hold fewer
 * kinds: runs.c. */
bool acui_fits_graph(const acui_node *node);

#endif
