/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What acuda made of a program's work: for people who wonder why something waits, or is slow.
 *
 *   acu_submit_options options = {.size = sizeof options, .explain = true};
 *   acu_submit(device, op, &options, &future);
 *   char text[4096];
 *   acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL);
 *
 * A submission that was submitted with `explain` keeps a record of the parts that it became, the
 * stream that each was put on, what each waited for and why, and which parts an executable graph of
 * the cache served or why not. Others keep none, and cost nothing.
 */
#ifndef ACUDA_EXPLAIN_H
#define ACUDA_EXPLAIN_H

#include <acuda/future.h>

ACU_BEGIN

typedef enum acu_explain_form {
    ACU_EXPLAIN_TEXT, /* lines for people; their wording may change */
    ACU_EXPLAIN_DOT   /* a directed graph for Graphviz */
} acu_explain_form;

/*
 * Write what is known of the submission so far into `text`, at most `bytes` with the 0 at the end;
 * what does not fit is cut off. *needed (may be NULL) is what all of it takes; `text` may be NULL
 * if `bytes` is 0. Any thread, at any time, also after completion: parts that were not issued yet
 * say so. Does not block, no driver calls. Errors: INVALID (it was submitted without `explain`),
 * NOT_READY (a runtime thread has not planned it yet, or it is only scheduled).
 */
ACU_API acu_status acu_explain(acu_future *future, acu_explain_form form, char *text, size_t bytes,
                               size_t *needed);

/*
 * The same for an op that was not submitted yet: what it is composed of, as the program wrote it.
 * The op is not consumed. Of parts that were submitted otherwise, by this thread or another, it
 * says that they are planned, or just being planned, and not what they were composed of. Any thread
 * that has a reference of its own to the op; threads that submit ops with several users wait
 * meanwhile.
 * Errors: INVALID, NO_MEMORY.
 */
ACU_API acu_status acu_explain_op(acu_op *op, acu_explain_form form, char *text, size_t bytes,
                                  size_t *needed);

ACU_END
#endif
