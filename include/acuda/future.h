/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running operations, and learning that they are complete.
 *
 * Submissions that touch the same data run in the order in which they were submitted, whatever
 * streams, devices and threads are involved. Submissions that share no data run side by side.
 *
 * A submission is given up when it is cancelled or its timeout passes: its future completes at
 * once, and what the device has already begun runs to its end, unseen.
 */
#ifndef ACUDA_FUTURE_H
#define ACUDA_FUTURE_H

#include <acuda/op.h>

ACU_BEGIN

typedef struct acu_future acu_future;
typedef struct acu_queue acu_queue;

typedef struct acu_submit_options {
    size_t size;        /* sizeof(acu_submit_options) */
    acu_policy *policy; /* chooses the stream; NULL: the device's round robin */
    acu_stream *stream; /* or: this stream, for the work of its device. CAPTURE while the program is
                         * capturing this stream, or the one that the policy chooses */
    int priority;       /* if neither is given: priority of the device's own streams, as in
                         * acu_stream_create; 0: the default one */
    const char *name;   /* for messages; copied, of which at most 47 bytes are kept */
    uint64_t timeout;   /* nanoseconds from now, after which it is given up; 0: none */
    acu_queue *queue;   /* where its completion is delivered, with `tag` as its number (queue.h);
                         * NULL: nowhere */
    uint64_t tag;
    bool explain;       /* keep a record for acu_explain (explain.h) */
    bool warm;          /* make executable graphs for it at once, without waiting until it comes
                         * again (graph_cache.h) */
    bool refuse_when_full; /* fail with FULL while max_in_flight (device.h) is reached:
                            * below */
    acu_pool *pool; /* where its new tensors come from, as with acu_with_pool; NULL: the device's
                     * own pool */
} acu_submit_options;

/*
 * Submit `op`.
 *
 * device   where those parts of the op run that name no device themselves; NULL: see below
 * op       consumed, except after FULL. NULL, or an op that carries an error, is refused
 * options  a stream, a timeout, a queue, ...; NULL: all defaults
 * future   receives the future, to be released by the caller; NULL: nobody will ask
 *
 * `device` places those parts of the op that name no device themselves: the ones that make tensors
 * from nothing (acu_ones, ...). Parts with tensors or a kernel run where these are, whatever
 * `device` is. NULL means the device of the options' policy or stream, else the process's default
 * device. The devices of other parts of the op do not count, with one exception: operands made
 * inside a launch are made on its kernel's device. So with several devices name one, here or with
 * acu_on.
 *
 * Never blocks, except while another thread is planning an op that both use, for as long as that
 * takes, callbacks included. Returns an error, and no future, if the op can not be run as it is
 * (bad constructor, wrong launch, ...): then nothing of it was enqueued, unless a `then` had
 * submitted something by itself, or another thread was using one of its ops at the same time.
 * Anything that goes wrong later completes the future with an error. device.h says what is
 * different for a device that was opened with a runtime thread.
 *
 * With `refuse_when_full`, the result is FULL while the bound of the device is reached: of
 * `device`, else the policy's or the stream's, else the default one. (Work for other devices waits
 * there.) FULL is the one refusal after which the op is still the program's: nothing was planned
 * and no callback has run. Release it, or try again when something has completed:
 *   while ((st = acu_submit(device, op, &options, &future)) == ACU_ERR_FULL)
 *       acu_future_wait(an_earlier_one, ACU_FOREVER);
 * (A submission that was given up is complete, but keeps its place until the device is done with
 * it. If all of them were given up, only acu_device_wait is left to wait with.)
 *
 * With a `timeout`, a submission that is not complete by then is given up as by acu_future_cancel,
 * but with DEADLINE. (If `queue` has got that completion already when the call would return an
 * error, FULL for instance, the call succeeds instead; nothing of it was enqueued then.)
 * Driver: what the op's parts enqueue (cuLaunchKernel, cuMemcpy*Async, cuMemset*Async);
 * cuMemAllocFromPoolAsync if the pool has no memory (pool.h); cuStreamWaitEvent for data of other
 * streams; one cuEventRecord, or instead one cuStreamWriteValue64 if nothing else is on the stream
 * and a queue or a callback is to be notified (both if the program has the stream's raw handle).
 */
ACU_API acu_status acu_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                              acu_future **future);

/* Submit and wait here: for programs that have nothing else to do meanwhile.
 *
 * device, op  as in acu_submit; the op is consumed, except after FULL
 * tensor      receives the op's first value, which then belongs to the caller; NULL if that is no
 *             tensor, or there is none. NULL: not wanted
 *
 * Blocks.
 * Errors: submit's, the submission's own, IN_CALLBACK inside a callback.
 * Driver: as acu_submit, with cuStreamWriteValue64 after all work that is on one stream only; and
 * as acu_future_wait, except that in this case the calling thread itself blocks in
 * cuEventSynchronize: one thread wakes up, not two. */
ACU_API acu_status acu_sync(acu_device *device, acu_op *op, acu_tensor **tensor);
/* The same on the given stream. */
ACU_API acu_status acu_sync_on(acu_stream *stream, acu_op *op, acu_tensor **tensor);

/*
 * An op that is `x`, ordered after all work of the future's submission, whether they share data or
 * not. The future may be complete, given up or failed: work that it has begun comes first, and
 * nothing more is implied. A submission that was only scheduled is started when the op is
 * submitted. Errors, of the submit: BUSY (another thread is planning that submission at this
 * moment; or it was started only after the op was handed over to a runtime thread; or the future is
 * that of a module's load, or of acu_group_finish).
 */
#define acu_after_future(x, future) acu_op_after_future(ACU_OPERAND(x), (future), ACU_SITE)
ACU_API acu_op *acu_op_after_future(acu_op *x, acu_future *future, acu_site site);

/*
 * Let `policy` choose the stream now, but submit only when acu_future_start is called, or when the
 * future is first polled, waited for, asked for values, or given a callback, a queue or a group.
 * For programs that prepare work in one order and start it in another. Errors that the submit
 * returns complete the future. Errors: CALLBACK (of the policy's function), NO_MEMORY, INVALID;
 * when starting: IN_CALLBACK in a foreign call or a policy's function.
 */
ACU_API acu_status acu_schedule(acu_policy *policy, acu_op *op, acu_future **future);
ACU_API acu_status acu_future_start(acu_future *future);

/* ACU_OK: complete. ACU_NOT_READY: not yet. Otherwise the error it failed with. Never blocks.
 * Driver: at most one cuEventQuery per stream that the submission used; where the device itself
 * signals completion, only every 20 us, and perhaps a cuStreamQuery. */
ACU_API acu_status acu_future_poll(acu_future *future);

/*
 * Block until complete, at most `timeout` nanoseconds (ACU_FOREVER: without limit). Returns ACU_OK,
 * ACU_TIMEOUT (the submission goes on, and can be waited for again), the submission's error, or
 * IN_CALLBACK inside a callback. Spins for some tens of microseconds, then sleeps; if earlier work
 * has shown how long such work takes, until just before its end.
 * Driver: cuEventQuery; perhaps one cuStreamWriteValue64 after the work. For long work of unknown
 * length one of acuda's threads records an event after it, or on a stream ordered after it, and
 * blocks in cuEventSynchronize. That thread then wakes this one, which a cancellation can wake as
 * well; acu_sync, which nobody can cancel, does without it.
 */
ACU_API acu_status acu_future_wait(acu_future *future, uint64_t timeout);
/* Wait until all are complete, even after a failure. Returns the status of the first in the list
 * that failed. An empty list is INVALID, here and below. */
ACU_API acu_status acu_wait_all(acu_future *const *futures, size_t count, uint64_t timeout);
/* Wait until one is complete: gives its index in *index (of several, the first in the list) and
 * returns its status. */
ACU_API acu_status acu_wait_any(acu_future *const *futures, size_t count, uint64_t timeout,
                                size_t *index);

/*
 * Tell somebody when the future is complete; if it is already, at once. In one of three ways:
 *
 *   acu_future_when_complete(f, NULL, 0, fn, ACU_USER(p))            a call on acuda's own thread
 *   acu_future_when_complete(f, queue, 0, fn, ACU_USER(p))           a call in the program's loop
 *   acu_future_when_complete(f, queue, tag, NULL, ACU_USER(NULL))    a completion on the queue
 *
 * future  Any future; one that was only scheduled is started. Any number may be told of one, each
 *         exactly once, whether it succeeds, fails or is cancelled.
 * queue   NULL: `fn` runs on one of acuda's threads, as soon as that gets to it. Otherwise the
 *         completion goes to this queue (queue.h), and with `fn` that is called inside
 *         acu_queue_take or acu_queue_wait of the queue, on the thread that takes: for programs
 *         whose callbacks must run in their own loop (acuda/adapters/ attaches a queue to one).
 * tag     The number of the completion, as in acu_submit_options. Not used with `fn`.
 * fn      Called once with the status; NULL: the queue gets a completion. May submit, and take from
 *         the queue, but not wait, and should be short, because other callbacks wait for it.
 * user    For `fn`; `user.release` is called after it, or when the queue goes first. Without `fn`
 *         there is none.
 *
 * Threads that poll the future, or wait for it or for its group, may continue before `fn` has run.
 * What `fn` uses is free once `user.release` is called, or, without a queue, once acu_device_wait
 * or acu_close has returned; these wait for callbacks too.
 * Never blocks. Errors: INVALID (neither a queue nor a function, or user data without a function),
 * NO_MEMORY; then `user.release` has been called, and `fn` will not be.
 */
typedef void (*acu_future_fn)(void *user, acu_future *future, acu_status status);
ACU_API acu_status acu_future_when_complete(acu_future *future, acu_queue *queue, uint64_t tag,
                                            acu_future_fn fn, acu_user user);

/*
 * The values that the op yields, known as soon as submit returns. A tensor can be used in further
 * ops at once; they are ordered after this submission. Its contents are valid when the future is
 * complete, whoever computes them: a submission that passes on what another one computes (acu_value
 * of a tensor that is being written, an op that was submitted before, or a part of one) is not
 * complete before that one. If that one fails, so does this one: with DEPENDENCY, or, if it uses
 * the other's op as a whole, with the op's own error. A submission that passes on a tensor that
 * nothing is about to write is complete at once.
 *
 * On a device with a runtime thread, values are known once that thread has planned the submission.
 * Until then these functions wait for it, without entering the driver, for as long as the thread
 * takes for the submissions ahead (mostly some microseconds); in callbacks they are refused until
 * then (IN_CALLBACK). They also wait while another thread starts a submission that was scheduled.
 * acu_future_planned never waits: ACU_OK if the values are known, ACU_NOT_READY if not yet. If
 * planning failed there are no values, and asking for one returns that error.
 *
 * acu_future_tensor lends value `index` (valid as long as the future); NULL if there is none.
 * acu_future_take gives it to the caller, once; the future no longer has it. Errors: NOT_FOUND
 * (there is no such value, it was taken, or it stands for a struct or a list), INVALID (a scalar
 * asked for as a tensor, or a tensor as a scalar).
 */
ACU_API acu_status acu_future_planned(acu_future *future);
ACU_API size_t acu_future_values(acu_future *future);
ACU_API acu_tensor *acu_future_tensor(acu_future *future, size_t index);
ACU_API acu_status acu_future_take(acu_future *future, size_t index, acu_tensor **tensor);
ACU_API acu_status acu_future_scalar(acu_future *future, size_t index, acu_dtype *dtype,
                                     uint64_t *bits);

/*
 * Load a module without blocking. The driver compiles on acuda's threads, a few loads at a time,
 * alongside submitted work. The future completes when the module is loaded, or with the error that
 * acu_module_load would have returned. It can be polled, waited for and given callbacks like any
 * other; it yields no values. What `source` points to is copied. A module that nobody takes goes
 * with the future. A load that is cancelled before its turn fails with CANCELLED. acu_device_wait
 * and acu_close wait for loads too. Errors: INVALID (not exactly one source), BUSY (the name is in
 * use), NO_MEMORY, FULL (1024 loads are waiting).
 */
ACU_API acu_status acu_module_load_async(acu_device *device, const acu_module_source *source,
                                         acu_future **future);
/*
 * The module, even before it is loaded (kernel.h says what can be done with it then). From then on
 * it belongs to the caller. Never blocks. Errors: the load's own, NOT_FOUND (the future is not of a
 * load, or the module was taken before).
 */
ACU_API acu_status acu_future_module(acu_future *future, acu_module **module);

/* How the future failed: the status that it failed with, and the record in *error (`error` may be
 * NULL): status; the op's name, file and line; driver call and code; message. Returns ACU_NOT_READY
 * while it runs, and ACU_OK if it succeeded; *error is untouched then. Unlike acu_future_poll it
 * does not look at the device (acuda's threads do, somewhat later), nor start a submission that was
 * only scheduled. */
ACU_API acu_status acu_future_error(acu_future *future, acu_error *error);

/*
 * Give the submission up. The future completes at once with CANCELLED, unless it is complete
 * already; callbacks, queues and waiting threads are notified as usual. Work that has not been
 * issued yet never will be, and host work that has not begun never begins; a submission that was
 * only scheduled is not even planned. (One that was handed over is, in its turn, so that readers of
 * what it was to write learn of it; its `then` and `map` run.) Work on the device runs to its end,
 * unseen; until then it keeps the memory, kernels and user data it uses.
 *
 * Whatever reads a result that was not computed fails with DEPENDENCY, until that result is
 * overwritten. If others use an op of this submission too (another submission, or the program,
 * which still holds the op), the work of that op is done all the same.
 *
 * May be called from any thread, also in callbacks; never blocks; no driver call. Errors: a bad
 * handle. Cancelling twice, or what is complete, is ACU_OK.
 */
ACU_API acu_status acu_future_cancel(acu_future *future);

ACU_API acu_future *acu_future_retain(acu_future *future);
/* Drop the future, at any time, also while another thread waits for it with this handle: that
 * thread goes on waiting. The submission runs on, and owns what it needs. Values that nobody
 * took go with the last handle, even while it runs (a callback that was added still finds them). A
 * submission that was scheduled and never started never runs. Never blocks; NULL is fine. */
ACU_API void acu_future_release(acu_future *future);

/*
 * Copies between a tensor and plain host memory that wait: acu_read_sync copies out of the tensor,
 * acu_write_sync into it. They are ordered with everything submitted on the tensor before and
 * after. The tensor may have any layout; in `memory` its elements lie one after the other and take
 * `bytes`. For a tensor in host memory, the calling thread copies by itself when its turn has come.
 * Blocks; on return the host memory is free for use, even after an error. Errors: SHAPE (`bytes` is
 * not the size of the tensor's elements), INVALID, SHARED (the tensor is read-only), IN_CALLBACK in
 * a callback, and those of the copy.
 */
ACU_API acu_status acu_read_sync(const acu_tensor *tensor, void *memory, size_t bytes);
ACU_API acu_status acu_write_sync(acu_tensor *tensor, const void *memory, size_t bytes);

/* Totals of the process since it started. A submission is counted once it is planned, so not if it
 * is refused, or was scheduled and given up before it started. It is done when the device and acuda
 * have finished with it. It counts as failed if its future fails, even if it was
 * given up and its work was finished. Operations are kernels, copies, fills, foreign and host
 * calls; allocations are not counted. */
typedef struct acu_process_statistics {
    size_t size; /* sizeof(acu_process_statistics), set by the caller */
    uint64_t submissions, submissions_done, submissions_failed;
    uint64_t operations, operations_done;
    /* Copies of pageable memory that were begun, the bytes that they moved, and how many of the
     * copies stopped because nobody wanted the rest (staging.h). */
    uint64_t staged_copies, staged_bytes, staged_skipped;
} acu_process_statistics;
ACU_API acu_status acu_process_stats(acu_process_statistics *stats);

ACU_END
#endif
