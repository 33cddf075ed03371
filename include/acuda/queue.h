/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Completion queues: a program learns of many submissions in batches, on its own threads, with a
 * file descriptor for its event loop.
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
 * A future that exists already is put on a queue with acu_future_when_complete (future.h), on any
 * number of queues, and may have callbacks as well. Each time gives one completion there, exactly
 * once, even if the submission fails, is cancelled or its device is lost. A thread that waits for
 * the future itself may learn of its end a moment before the completion is on the queue. Any number
 * of threads may submit to a queue and take from it.
 */
#ifndef ACUDA_QUEUE_H
#define ACUDA_QUEUE_H

#include <acuda/future.h>

ACU_BEGIN

typedef struct acu_queue_options {
    size_t size;        /* sizeof(acu_queue_options) */
    uint64_t busy_poll; /* nanoseconds for which acu_queue_wait looks without pause before it
                         * sleeps; costs a core for that long, and saves some 10 us each time */
} acu_queue_options;

typedef struct acu_completion {
    uint64_t tag;       /* the number that the program gave */
    acu_status status;  /* the submission's outcome */
    acu_future *future; /* for values and errors; belongs to the receiver, who releases it */
    uint64_t reserved;  /* 0 */
} acu_completion;

/* Never blocks. System: eventfd. Errors: NO_MEMORY, LIMIT (no more descriptors). */
ACU_API acu_status acu_queue_create(const acu_queue_options *options, acu_queue **queue);

/* Releasing the last reference closes the descriptor at once, and drops what is on the queue or
 * still to come to it: the submissions go on, and nobody is notified. If that happens inside the
 * queue's own take, that call still takes what is there. Never blocks; NULL is fine. */
ACU_API acu_queue *acu_queue_retain(acu_queue *queue);
ACU_API void acu_queue_release(acu_queue *queue);

/*
 * Take completions, oldest first, and call callbacks.
 *
 * list   where the completions go; each has a future, which the caller releases
 * room   how many there is place for: at most as many completions and callbacks together
 * count  receives the number of completions, which may be 0
 *
 * The call looks by itself at what the device has finished, so a program
 * that calls it in a loop of its own needs no descriptor: it looks at one busy stream after the
 * other until there is something to take or some 4 us have passed; the next take goes on with the
 * other streams. Never blocks. Callbacks and releases of user data that run inside may drop the
 * last reference to the queue. A call in a callback takes what comes next, and the call around it
 * what comes after that.
 * Returns ACU_OK even if there are none (*count is 0). Fewer than `room` does not mean that there
 * are no more; the descriptor tells, which is why it must be waited for level-triggered. Driver:
 * cuEventQuery, one or two per stream that it looks at. Errors: INVALID (no room).
 */
ACU_API acu_status acu_queue_take(acu_queue *queue, acu_completion *list, size_t room,
                                  size_t *count);

/* The same, but blocks until there is a completion or a callback was called, at most `timeout`
 * nanoseconds. Also returns ACU_TIMEOUT, and IN_CALLBACK in a callback. */
ACU_API acu_status acu_queue_wait(acu_queue *queue, acu_completion *list, size_t room,
                                  size_t *count, uint64_t timeout);

/*
 * For a function of the program that runs inside acu_queue_take or acu_queue_wait of this queue (a
 * callback, a release): makes these calls return when that function does, with the completions that
 * they have so far. Anything else stays on the queue. Applies to all such calls that this thread is
 * in; does nothing elsewhere.
 */
ACU_API void acu_queue_break(acu_queue *queue);

/*
 * Put completions that were taken back on the queue, ahead of the rest and in this order, to be
 * taken again. The caller keeps its handles of their futures. Never blocks. Errors: INVALID (a
 * future that is not complete), NO_MEMORY; then none was put back.
 */
ACU_API acu_status acu_queue_put_back(acu_queue *queue, const acu_completion *list, size_t count);

/*
 * A descriptor that is readable while there is something to take, for poll, epoll, io_uring and the
 * like: level-triggered. It belongs to the queue: do not read or close it. It is written once for
 * everything that arrives until the program has taken the last completion, so a loop pays one
 * wake-up for a batch. A program that waits on it need not call anything else: one of acuda's
 * threads looks at the device meanwhile.
 */
ACU_API int acu_queue_fd(const acu_queue *queue);

/* The number of completions and callbacks that are on the queue, or still to come to it. */
ACU_API size_t acu_queue_pending(const acu_queue *queue);

ACU_END
#endif
