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
 * part, what each part waited for and why, the children that parts belong to (what acu_or_else
 * tries, its alternative, what acu_finally runs, ops that others use too) and what became of these,
 * which parts were served by an executable graph of the cache, or why not, and when all that
 * happened. Each of its parts gets two timing events (cuEventRecord, cuEventElapsedTime), so that
 * it takes some microseconds longer. Other submissions keep no record, and pay nothing. (While a
 * trace is on, all keep one, for the trace only: trace.h.)
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

/* When things happened, in nanoseconds of acu_now; 0: never, or it is not known. */
typedef struct acu_times {
    size_t size;       /* sizeof(acu_times), set by the caller */
    uint64_t composed; /* planning began: the call of acu_submit, or the runtime thread's turn */
    uint64_t planned;  /* it was in order with everything else; parts may be issued by then */
    uint64_t issued;   /* the first part was on its stream, or begun on the host */
    uint64_t began;    /* the device began with the first part that was timed, */
    uint64_t ended;    /* ... and was done with the last of them */
    uint64_t over;     /* its end was noticed, and its future resolved */
    uint64_t device;   /* the device's time in all parts together, by its own clock: parts that ran
                        * side by side count for each; 0: none was timed */
    uint32_t parts, timed; /* how many there are, and how many of them were timed: not host work,
                            * nor those that were issued as one with others */
} acu_times;

/*
 * The times of a submission that was made with `explain`. `began` and `ended` are as good as the
 * host's clock is known to the device's, to some microseconds; `device` is exact. Any thread; does
 * not block, no driver calls. Returns NOT_READY while it is in flight. Errors: INVALID (submitted
 * without `explain`).
 */
ACU_API acu_status acu_future_times(acu_future *future, acu_times *times);

/*
 * acu_sync, and how long it took: the device time of an op in one call.
 *
 *   acu_times times = {.size = sizeof times};
 *   acu_sync_timed(device, op, NULL, &times);
 *   printf("%.1f us on the device\n", (double)times.device / 1e3);
 *
 * Memory is made before the clock runs; the first run of a kernel may include its loading. `times`
 * is written if the submission succeeded. Blocks. Errors: acu_sync's.
 */
ACU_API acu_status acu_sync_timed(acu_device *device, acu_op *op, acu_tensor **tensor,
                                  acu_times *times);

/*
 * acu_explain for an op that was not submitted yet: what it is composed of, as the program wrote
 * it. The op is not consumed. Parts that were submitted elsewhere, by this thread or another, are
 * shown as planned, or as being planned, without what they are composed of. Any thread may call
 * this that has its own reference to the op; meanwhile, threads that submit ops with several users
 * wait.
 * Errors: INVALID, NO_MEMORY.
 */
ACU_API acu_status acu_explain_op(acu_op *op, acu_explain_form form, char *text, size_t bytes,
                                  size_t *needed);

ACU_END
#endif
