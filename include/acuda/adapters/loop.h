/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the adapters for event loops share. An adapter attaches a completion queue (queue.h) to a
 * loop: completions then arrive in the loop's thread, in batches, beside the program's sockets and
 * timers. There is one for each of
 *
 *   epoll.h     epoll, in a loop of the program's own
 *   uring.h     io_uring, by liburing
 *   uv.h        libuv
 *   libevent.h  libevent
 *   glib.h      GLib's main contexts, and so GTK's, Qt's and others
 *
 * They are code in headers: only a program that includes one needs that library, acuda itself
 * does not. All have the same shape:
 *
 *   acu_X_start    attaches a queue to a loop, and gives an adapter. Never blocks. Errors: INVALID
 *                  (options of another size, nowhere to put the adapter), BAD_HANDLE (no queue),
 *                  NO_MEMORY, BUSY (the loop has this queue's descriptor already), LIMIT (the loop
 *                  refused it otherwise)
 *   acu_X_stop     detaches it, at any time, also with work pending and in the adapter's own
 *                  callbacks; NULL is fine. Nothing is delivered after that. What is still to come
 *                  goes on to the queue: another adapter can be started on it, or the program can
 *                  take it by hand, or it goes with the queue. Never blocks
 *
 * and where the loop's own functions do not do it all, acu_X_wait and acu_X_deliver.
 *
 * What is delivered, and to whom:
 *   - what was put on the queue with a tag (acu_submit_options.queue, acu_future_notify): to `fn`
 *     of the options, many at a time;
 *   - callbacks that were put on it (acu_future_call): they are called.
 * One wake-up of the loop delivers up to ACU_LOOP_BATCH of both; if there are more, the loop has
 * its turn in between. `fn` and callbacks may submit, cancel, stop the adapter, and do what the
 * loop allows; they should not wait, because everything else in the loop waits behind them.
 *
 * Threads: start, stop, wait and deliver belong to the loop's thread. Submitting to the queue is
 * allowed in all. The queue is retained until the adapter has stopped. Others may take from it too:
 * a completion goes to whoever is first.
 */
#ifndef ACUDA_ADAPTERS_LOOP_H
#define ACUDA_ADAPTERS_LOOP_H

#include <acuda/queue.h>

#include <stdlib.h>

ACU_BEGIN

#define ACU_LOOP_BATCH 64

/*
 * A batch of completions, oldest first; `count` is 1 to ACU_LOOP_BATCH. Their futures are lent:
 * they are released when `fn` returns, and acu_future_retain keeps one.
 */
typedef void (*acu_loop_fn)(void *user, const acu_completion *done, size_t count);

typedef struct acu_loop_options {
    size_t size;    /* sizeof(acu_loop_options) */
    acu_loop_fn fn; /* NULL: there are callbacks only; completions with a tag are dropped */
    acu_user user;  /* for fn; its release is called after the last call of fn, with the adapter's
                     * end, or when starting it fails (but where `size` is not set: nothing of the
                     * options is looked at then) */
    /*
     * Nanoseconds for which the loop looks without pause, at its other sources and at the queue in
     * turn, instead of sleeping: from a submission, or a completion, on, while anything is pending
     * on the queue. 0: it sleeps at once. It saves the time that waking up takes, some 5 to 10 us,
     * and costs up to a core. On a machine with one core it is better left at 0.
     */
    uint64_t busy_poll;
} acu_loop_options;

/* ---- internal ------------------------------------------------------------------------------- */

/* The part of an adapter that knows no loop. */
typedef struct acui_loop {
    acu_queue *queue; /* retained */
    acu_loop_fn fn;
    acu_user user;
    uint64_t busy_poll;
    uint64_t until; /* of acu_now: when looking without pause ends */
    size_t pending; /* on the queue, when it was last looked */
    unsigned inside; /* functions of the adapter on the stack, which still need it */
    bool stopped;
} acui_loop;

static inline void acui_loop_drop_user(acu_user user)
{
    if (user.release)
        user.release(user.data);
}

/* An adapter of `bytes` that begins with an acui_loop; `options` may be NULL. */
static inline acu_status acui_loop_new(size_t bytes, acu_queue *queue,
                                       const acu_loop_options *options, bool valid, void **adapter)
{
    acu_status status = ACU_OK;
    acui_loop *loop = NULL;
    if (!valid || (options && options->size != sizeof *options))
        status = ACU_ERR_INVALID;
    else if (acu_queue_fd(queue) < 0)
        status = ACU_ERR_BAD_HANDLE;
    else if (!(loop = (acui_loop *)calloc(1, bytes)))
        status = ACU_ERR_NO_MEMORY;
    if (status != ACU_OK) {
        if (options && options->size == sizeof *options)
            acui_loop_drop_user(options->user);
        return status;
    }
    loop->queue = acu_queue_retain(queue);
    if (options) {
        loop->fn = options->fn;
        loop->user = options->user;
        loop->busy_poll = options->busy_poll;
    }
    *adapter = loop;
    return ACU_OK;
}

/* What the adapter holds; its memory is its own affair. */
static inline void acui_loop_end(acui_loop *loop)
{
    acu_queue_release(loop->queue);
    acui_loop_drop_user(loop->user);
}

/* Between these two the adapter may be stopped and stays valid. After the second it is gone if it
 * was, and free_it says that its memory goes with it. */
static inline void acui_loop_enter(acui_loop *loop)
{
    loop->inside++;
}

static inline void acui_loop_leave(acui_loop *loop, bool free_it)
{
    if (--loop->inside > 0 || !loop->stopped || !free_it)
        return;
    acui_loop_end(loop);
    free(loop);
}

/* Also where a callback stops the adapter: the others stay on the queue. */
static inline void acui_loop_stop(acui_loop *loop)
{
    loop->stopped = true;
    acu_queue_break(loop->queue);
}

/* A callback stopped the adapter while completions were taken: they go back, to be taken again. One
 * for which there is no memory is dropped. */
static inline void acui_loop_put_back(acui_loop *loop, const acu_completion *done, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)acu_future_notify(done[i].future, loop->queue, done[i].tag);
}

/* Deliver what there is, one batch at most, looking at the device if the queue is empty. False if
 * there was nothing. The adapter is entered. */
static inline bool acui_loop_deliver(acui_loop *loop)
{
    acu_completion done[ACU_LOOP_BATCH];
    size_t count = 0;
    if (loop->stopped)
        return false;
    /* Waits no time; unlike acu_queue_take it says whether callbacks were called. */
    acu_status status = acu_queue_wait(loop->queue, done, ACU_LOOP_BATCH, &count, 0);
    if (status == ACU_ERR_WOULD_WAIT) { /* the loop runs inside a callback of acuda's */
        (void)acu_queue_take(loop->queue, done, ACU_LOOP_BATCH, &count);
        status = count ? ACU_OK : ACU_TIMEOUT;
    }
    if (loop->stopped)
        acui_loop_put_back(loop, done, count);
    else if (loop->fn && count)
        loop->fn(loop->user.data, done, count);
    for (size_t i = 0; i < count; i++)
        acu_future_release(done[i].future);
    if (status == ACU_OK)
        loop->until = 0; /* counts from now on again */
    return status == ACU_OK;
}

/* Should the loop look again instead of sleeping? */
static inline bool acui_loop_is_busy(acui_loop *loop)
{
    if (loop->busy_poll == 0 || loop->stopped)
        return false;
    size_t pending = acu_queue_pending(loop->queue);
    uint64_t now = acu_now();
    if (pending != loop->pending || loop->until == 0)
        loop->until = loop->busy_poll > ACU_FOREVER - now ? ACU_FOREVER : now + loop->busy_poll;
    loop->pending = pending;
    return pending > 0 && now < loop->until;
}

ACU_END
#endif
