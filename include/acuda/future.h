/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running operations, and learning that they are done.
 *
 * A submission runs in the order in which it was submitted relative to everything that touches the
 * same data, whatever streams, devices and threads are involved, and side by side with the rest.
 */
#ifndef ACUDA_FUTURE_H
#define ACUDA_FUTURE_H

#include <acuda/op.h>

ACU_BEGIN

typedef struct acu_future acu_future;
typedef struct acu_queue acu_queue;

typedef struct acu_submit_options {
    size_t size;        /* sizeof(acu_submit_options) */
    acu_policy *policy; /* chooses the stream; NULL: the device's own round robin */
    acu_stream *stream; /* or a certain stream for the work of its device; CAPTURE while the program
                         * is capturing it */
    int priority;       /* where neither is given: of the device's own streams, as in
                         * acu_stream_create; 0: the usual */
    const char *name;   /* for messages; copied, at most 47 bytes kept */
    uint64_t deadline;  /* nanoseconds from now; 0: none */
    acu_queue *queue;   /* where its completion goes (queue.h), and with which number; NULL: none */
    uint64_t tag;
    bool explain;       /* keep a record for acu_explain (explain.h) */
    bool warm;          /* make executable graphs for it without waiting until
                         * it comes again (graphs.h) */
    bool refuse_when_full; /* WOULD_BLOCK while max_in_flight (device.h) is reached: below */
    acu_pool *pool; /* where its new tensors come from, as by
                     * acu_with_pool; NULL: the device's own */
} acu_submit_options;

/*
 * Submit `op` (consumed) and give its future; `future` may be NULL where nobody will ask.
 * `device` places the parts of the op that name no device themselves: those that make tensors of
 * nothing (acu_ones, ...). What has tensors or a kernel runs where these are, whatever `device` is.
 * NULL: the device of the options' policy or stream, else the process's default; not that of other
 * parts, but for the kernel of a launch, whose own operands are made on its device. So with several
 * devices name one, here or by acu_on.
 *
 * Never blocks, but while another thread plans an op that both use, for what that takes, callbacks
 * included. Returns an error, and no future, if the op can not be run as it is (bad
 * constructor, wrong launch, ...): then nothing of it was enqueued, unless a `then` had submitted
 * by itself. What goes wrong later completes the future with an error. For a device that was opened
 * with a runtime thread, device.h says what is different.
 *
 * With `refuse_when_full`, WOULD_BLOCK while the bound of the device is reached: of `device`, else
 * the policy's or the stream's, else the default one. (What is for other devices waits there.)
 * Nothing was planned then, and no callback has run; the op is consumed all the same. To try again
 * make another, or keep one, once something has completed:
 *   while ((st = acu_submit(device, acu_op_retain(op), &options, &future)) == ACU_ERR_WOULD_BLOCK)
 *       acu_future_wait(an_earlier_one, ACU_FOREVER);
 *   acu_op_release(op);
 * (What was given up is complete, but has its place until the device is done with it. Where all
 * were, nothing is left to wait for but acu_device_wait.)
 *
 * With a `deadline`, a submission that is not complete by then is given up, as acu_future_cancel
 * does it, but with DEADLINE: the device finishes what it has, behind the program's back.
 * Driver: what the op's parts enqueue (cuLaunchKernel, cuMemcpy*Async, cuMemset*Async),
 * cuMemAllocFromPoolAsync where the pool has no memory (pool.h); cuStreamWaitEvent for data of
 * other streams; one cuEventRecord, or one cuStreamWriteValue64 instead where nothing else is on
 * the stream and a queue or a callback is to be told (both if the program has its handle).
 */
ACU_API acu_status acu_submit(acu_device *device, acu_op *op, const acu_submit_options *options,
                              acu_future **future);

/* Submit and wait here; the first value, where it is a tensor and `tensor` is not NULL, is given
 * to the caller (where it is none, or there is no value, *tensor is NULL). Blocks.
 * Errors: submit's, the submission's own, WOULD_WAIT inside a callback.
 * Driver: as acu_submit, with cuStreamWriteValue64 behind all work that is on one stream only; and
 * as acu_future_wait, but where that is so, this thread itself blocks in cuEventSynchronize: one
 * thread wakes up, not two. */
ACU_API acu_status acu_sync(acu_device *device, acu_op *op, acu_tensor **tensor);
/* The same on a certain stream. */
ACU_API acu_status acu_sync_on(acu_stream *stream, acu_op *op, acu_tensor **tensor);

/*
 * An op that is `x`, behind all work of the future's submission, whether they share data or not.
 * The future may be complete, given up or fail: what it has begun comes before, and that is all.
 * One that was only scheduled is started when the op is submitted. Errors, of the submit: BUSY (the
 * submission is being planned by another thread at that moment; the future is of a module's load).
 */
#define acu_after_future(x, future) acu_op_after_future(ACU_OPERAND(x), (future), ACU_SITE)
ACU_API acu_op *acu_op_after_future(acu_op *x, acu_future *future, acu_site site);

/*
 * Choose the stream by `policy` now, but submit only with acu_future_start, or when the future is
 * first polled, waited for, asked for values, or given a callback, a queue or a group: for programs
 * that prepare work in one order and start it in another. What the submit refuses completes the
 * future. Errors: CALLBACK (of the policy's function), NO_MEMORY, INVALID; of starting: WOULD_WAIT
 * in a foreign call or a policy's function.
 */
ACU_API acu_status acu_schedule(acu_policy *policy, acu_op *op, acu_future **future);
ACU_API acu_status acu_future_start(acu_future *future);

/* ACU_OK: complete. ACU_NOT_READY: not yet. Else how it failed. Never blocks. Driver: at most one
 * cuEventQuery per stream that the submission used; every 20 us, and maybe a cuStreamQuery, where
 * the device itself tells. */
ACU_API acu_status acu_future_poll(acu_future *future);

/*
 * Block until complete, at most `timeout` nanoseconds (ACU_FOREVER). ACU_OK, ACU_TIMEOUT (it goes
 * on, and can be waited for again), the submission's error, or WOULD_WAIT inside a callback of
 * acuda's. Spins for some tens of microseconds, then sleeps: until just before the end where the
 * length of such work is known from before. Driver: cuEventQuery; perhaps one cuStreamWriteValue64
 * behind the work; for long work of unknown length a thread of acuda's records an event
 * behind it, or on a stream that comes behind it, and blocks in cuEventSynchronize. That thread
 * then wakes this one, which a cancellation can wake as well; acu_sync, which nobody can cancel,
 * does without.
 */
ACU_API acu_status acu_future_wait(acu_future *future, uint64_t timeout);
/* Until all are complete. The first failed one's status in list order; all are waited for. For none
 * INVALID, as below. */
ACU_API acu_status acu_wait_all(acu_future *const *futures, size_t count, uint64_t timeout);
/* Until one is complete: its place in *index (the first in list order), and its status. */
ACU_API acu_status acu_wait_any(acu_future *const *futures, size_t count, uint64_t timeout,
                                size_t *index);

/*
 * Call `fn` once when the future completes, with its status, on a thread of acuda's own; at once
 * after that if it is complete already; then `user.release`. `fn` may submit, not wait, and should
 * be short: others wait behind it. Any number of callbacks may be added.
 * Who polls the future, or waits for it or for its group, may go on before that: what `fn` uses is
 * free once `user.release` is called, or once acu_device_wait or acu_close has returned, which wait
 * for callbacks too.
 * Errors: NO_MEMORY (then `user.release` has been called, and fn will not be).
 */
typedef void (*acu_future_fn)(void *user, acu_future *future, acu_status status);
ACU_API acu_status acu_future_on_complete(acu_future *future, acu_future_fn fn, acu_user user);

/*
 * The values that the op yields, known as soon as submit returns: a tensor can be used in further
 * ops at once, which are ordered behind. Its contents are there when the future is complete,
 * whoever computes them: a submission that passes on what another one does (acu_value of a tensor
 * that is being written, an op that was submitted before, a part of one) is over no earlier. Where
 * that fails, so does this one: with DEPENDENCY, or, of an op that it has as a whole, as that did.
 * Of a tensor that nothing is about to write it is complete at once.
 * On a device with a runtime thread, values are known when that thread has planned the submission:
 * these functions wait for that, without entering the driver, for as long as the thread takes for
 * what is ahead (mostly some microseconds), and are refused in callbacks until then (WOULD_WAIT).
 * So do they while another thread starts a submission that was scheduled.
 * acu_future_planned never waits: ACU_OK if the values are known, ACU_NOT_READY if not yet. If
 * planning failed there are none, and asking for one gives that error.
 * acu_future_tensor lends value `index` (valid as long as the future); NULL if there is none.
 * acu_future_take gives it to the caller, once; the future no longer has it. Errors: NOT_FOUND
 * (there is none, it was taken, or is a struct's or list's place), INVALID (a scalar is no tensor,
 * and the other way).
 */
ACU_API acu_status acu_future_planned(acu_future *future);
ACU_API size_t acu_future_values(acu_future *future);
ACU_API acu_tensor *acu_future_tensor(acu_future *future, size_t index);
ACU_API acu_status acu_future_take(acu_future *future, size_t index, acu_tensor **tensor);
ACU_API acu_status acu_future_scalar(acu_future *future, size_t index, acu_dtype *dtype,
                                     uint64_t *bits);

/*
 * Load a module without blocking: the driver compiles on a thread of acuda's own, a few loads at a
 * time, beside what is submitted. The future completes when the module is loaded, or with what
 * acu_module_load would have returned, and is looked at, waited for and called back like any other;
 * it yields no values. What `source` points to is copied. A module that nobody takes goes with the
 * future. One that is cancelled before its turn fails with CANCELLED. acu_device_wait and acu_close
 * wait for loads too. Errors: INVALID (not one source), BUSY (the name), NO_MEMORY, WOULD_BLOCK
 * (1024 loads are waiting).
 */
ACU_API acu_status acu_module_load_async(acu_device *device, const acu_module_source *source,
                                         acu_future **future);
/*
 * The module, also before it is loaded (kernel.h says what can be done with it then); it is the
 * caller's from then on. Never blocks. Errors: the load's own, NOT_FOUND
 * (no load, or taken before).
 */
ACU_API acu_status acu_future_module(acu_future *future, acu_module **module);

/* Returns how it failed, as acu_future_poll does, with the record in *error (may be NULL): status,
 * op's name, file and line, driver call and code, message. ACU_NOT_READY while it runs, ACU_OK if
 * it succeeded: *error is untouched then. */
ACU_API acu_status acu_future_error(acu_future *future, acu_error *error);

/*
 * Give the submission up. The future completes at once with CANCELLED, unless it was complete
 * before; callbacks, queues and waiting threads are told as ever. What has not gone to the device
 * yet never will, nor will host work that has not begun; a submission that was only scheduled, or
 * handed over and not planned, is not planned either. What is on the device runs to its end,
 * unseen; memory, kernels and user data stay owned until then.
 *
 * Who reads what was not computed fails with DEPENDENCY, until it is overwritten. Work of an op
 * that others use as well, in another submission or because they hold the op, is done all the same.
 *
 * Any thread, also in callbacks; never blocks; no driver call. Errors: a bad handle; cancelling
 * what is complete, or twice, is ACU_OK.
 */
ACU_API acu_status acu_future_cancel(acu_future *future);

ACU_API acu_future *acu_future_retain(acu_future *future);
/* Drop it at any time: what was submitted runs on, and owns what it needs. Values that nobody took
 * go with the last handle, also while it runs (a callback that was added still finds them). One
 * that was scheduled and never started never runs. Never blocks; NULL is fine. */
ACU_API void acu_future_release(acu_future *future);

/*
 * Waiting copies between a tensor and plain host memory, in order with what is submitted on the
 * tensor, before as after, which may have any layout; in `memory` its elements lie one after the
 * other, and take `bytes`. acu_read_sync copies out of the tensor. To and from one in host memory
 * this thread itself copies, when its turn has come. Blocks; the host memory is free to use on
 * return, also after an error. Errors: SHAPE (`bytes` is not what the tensor's elements take),
 * INVALID, SHARED (it is for reading), WOULD_WAIT in a callback, and those of the copy.
 */
ACU_API acu_status acu_read_sync(acu_tensor *tensor, void *memory, size_t bytes);
ACU_API acu_status acu_write_sync(acu_tensor *tensor, const void *memory, size_t bytes);

/* Totals of the process since its start. A submission is done when the device and acuda are done
 * with it, and counts as failed if its future does: also where it was given up, and its work was
 * finished. Operations are kernels, copies, fills, foreign and host calls; allocations are not
 * counted. */
typedef struct acu_counters {
    uint64_t submissions, submissions_done, submissions_failed;
    uint64_t operations, operations_done;
    /* Copies of pageable memory that were begun, the bytes that they moved, and those of them that
     * stopped because nobody wanted the rest (staging.h). */
    uint64_t staged_copies, staged_bytes, staged_skipped;
} acu_counters;
ACU_API void acu_counters_read(acu_counters *counters);

ACU_END
#endif
