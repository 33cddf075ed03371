/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Completion queues: where a program learns of many submissions at once, in its own threads, in
 * batches; with a file descriptor for its event loop.
 *
 *   acu_queue *queue;
 *   acu_queue_create(NULL, &queue);
 *   acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = 7};
 *   acu_submit(device, op, &options, NULL);
 *   ... poll, epoll_wait or the like says that acu_queue_fd(queue) can be read ...
 *   acu_completion done[64];
 *   size_t count;
 *   acu_queue_take(queue, done, 64, &count);      done[0].tag is 7
 *
 * A future may be on any number of queues, and have callbacks besides. Each place on a queue gives
 * one completion, exactly once, also if the submission fails, is cancelled or its device is lost.
 * Who waits for the future as well may see its end a moment before the queue has it.
 * Any number of threads may submit to a queue and take from it.
 */
#ifndef ACUDA_QUEUE_H
#define ACUDA_QUEUE_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_queue_options {
    size_t size;        /* sizeof(acu_queue_options) */
    uint64_t busy_poll; /* nanoseconds that acu_queue_wait looks without pause before it sleeps; it
                         * costs a core for that long, and saves some 10 us each time */
} acu_queue_options;

typedef struct acu_completion {
    uint64_t tag;       /* what the program gave */
    acu_status status;  /* the submission's outcome */
    acu_future *future; /* for values and errors; the receiver's, to be released */
} acu_completion;

/* Never blocks. System: eventfd. Errors: NO_MEMORY, LIMIT (no descriptor left). */
ACU_API acu_status acu_queue_create(const acu_queue_options *options, acu_queue **queue);

/* With the last reference the descriptor is closed, at once, and what is on the queue, or still to
 * come to it, is dropped: the submissions go on, and nobody is told. Inside of its own take, that
 * one still takes what is there. Never blocks; NULL is fine. */
ACU_API acu_queue *acu_queue_retain(acu_queue *queue);
ACU_API void acu_queue_release(acu_queue *queue);

/*
 * Put the future on the queue: when it is complete, or at once if it is. The same as `queue` and
 * `tag` in the options of a submission, for a future that is there already; starts one that was
 * only scheduled. Never blocks. Errors: NO_MEMORY.
 */
ACU_API acu_status acu_future_notify(acu_future *future, acu_queue *queue, uint64_t tag);
/*
 * A callback that runs in acu_queue_take or acu_queue_wait of this queue, on the thread that calls
 * it: for programs whose callbacks must run in their own loop (acuda/adapters/ has what attaches a
 * queue to one). It may submit, not wait, and may take from the queue. `user.release` is called
 * after it, or when the queue goes before. Errors: NO_MEMORY (then the release has been called).
 */
ACU_API acu_status acu_future_call(acu_future *future, acu_queue *queue, acu_future_fn fn,
                                   acu_user user);

/*
 * Take completions, oldest first, and call callbacks: at most `room` of both together; *count are
 * completions. Looks at what the device has finished by itself, so a program that calls it in a
 * loop of its own needs no descriptor: at one busy stream after the other, until something is there
 * or some 4 us are over; the next take goes on with the others. Never blocks. Functions of the
 * program's that run inside (callbacks, releases of user data) may drop the last reference to the
 * queue. Driver: cuEventQuery, one or two per stream that it looks at. ACU_OK also where there are
 * none (*count is 0). Fewer than `room` does not mean that there are no more: the descriptor says
 * so, which is why it is to be waited for level-triggered. Errors: INVALID (no room).
 */
ACU_API acu_status acu_queue_take(acu_queue *queue, acu_completion *list, size_t room,
                                  size_t *count);

/* The same, but blocks until there is one or a callback was called, at most `timeout` nanoseconds.
 * ACU_TIMEOUT, WOULD_WAIT in a callback of acuda's. */
ACU_API acu_status acu_queue_wait(acu_queue *queue, acu_completion *list, size_t room,
                                  size_t *count, uint64_t timeout);

/*
 * In a function of the program's that runs inside of acu_queue_take or acu_queue_wait of this queue
 * (a callback, a release): these return when it does, with the completions that they have so far.
 * What else they took off the queue goes back, ahead of the rest. Counts for all such calls that
 * this thread is in; does nothing elsewhere.
 */
ACU_API void acu_queue_break(acu_queue *queue);

/*
 * A descriptor that can be read while there is something to take, for poll, epoll, io_uring and the
 * like: level-triggered. It is the queue's: do not read it, nor close it. It is written once for
 * all that comes before the program has taken the last: a loop pays one wake-up for a batch. A
 * program that waits so need not call anything else: a thread of acuda's looks at the device
 * meanwhile.
 */
ACU_API int acu_queue_fd(const acu_queue *queue);

/* How many completions and callbacks are on the queue, or still to come to it. */
ACU_API size_t acu_queue_pending(const acu_queue *queue);

ACU_END
#endif
