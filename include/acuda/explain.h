/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What acuda made of a program's work, for people who wonder why something waits or is slow.
 *
 *   acu_submit_options options = {.size = sizeof options, .explain = true};
 *   acu_submit(device, op, &options, &future);
 *   char text[4096];
 *   acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL);
 *
 * A submission made with `explain` keeps a record: the parts that it became, the stream of each
 * part, what each part waited for and why, and which parts were served by an executable graph of
 * the cache, or why not. Other submissions keep no record, and pay nothing.
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
 * Write what is known of the submission so far into `text`: at most `bytes`, including the
 * terminating 0; the rest is cut off. *needed (`needed` may be NULL) is the size of all of it;
 * `text` may be NULL if `bytes` is 0. Any thread, at any time, also after completion; parts that
 * were not issued yet say so. Does not block, no driver calls. Returns NOT_READY while it is not
 * planned (its runtime thread has not come to it, or it is only scheduled). Errors: INVALID
 * (submitted without `explain`).
 */
ACU_API acu_status acu_explain(acu_future *future, acu_explain_form form, char *text, size_t bytes,
                               size_t *needed);

/*
 * The same for an op that was not submitted yet: what it is composed of, as the program wrote it.
 * The op is not consumed. Parts that were submitted elsewhere, by this thread or another, are shown
 * as planned, or as being planned, without what they are composed of. Any thread may call this that
 * has its own reference to the op; meanwhile, threads that submit ops with several users wait.
 * Errors: INVALID, NO_MEMORY.
 */
ACU_API acu_status acu_explain_op(acu_op *op, acu_explain_form form, char *text, size_t bytes,
                                  size_t *needed);

ACU_END
#endif
