/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the adapters for event loops have in common. An adapter attaches a completion queue
 * (queue.h) to a loop: completions then arrive in the loop's thread, in batches, alongside the
 * program's sockets and timers. There is one adapter for each of
 *
 *   epoll.h     epoll, in a loop of the program's own
 *   uring.h     io_uring, through liburing
 *   uv.h        libuv
 *   libevent.h  libevent
 *   glib.h      GLib's main contexts, and so those of GTK, Qt and others
 *
 * Adapters are code in headers: only a program that includes one needs that library; acuda itself
 * does not. All have these two functions:
 *
 *   acu_X_start    attaches a queue to a loop, and gives an adapter; NULL after an error. Never
 *                  blocks. Errors: INVALID (options of another size, the queue is NULL, no place
 *                  for the adapter), BAD_HANDLE (not a queue), NO_MEMORY, BUSY (this queue's
 *                  descriptor is in the loop already), LIMIT (the loop refused it for another
 *                  reason). The status is all that it tells: the thread's record (acu_last_error)
 *                  stays as it was
 *   acu_X_stop     detaches it, at any time, even with work pending or inside the adapter's own
 *                  callbacks; NULL is fine. Nothing is delivered afterwards. Completions still to
 *                  come go to the queue: another adapter can be started on it, the program can take
 *                  them by hand, or they go with the queue. Never blocks
 *
 * and, if the loop's own functions do not suffice, acu_X_wait and acu_X_deliver; with libevent, and
 * only for busy-poll, acu_libevent_submitted.
 *
 * What is delivered, and where:
 *   - completions put on the queue with a tag (acu_submit_options.queue, acu_future_when_complete)
 *     go to `fn` of the options, many at a time;
 *   - callbacks put on the queue (acu_future_when_complete with a function) are called.
 * One wake-up of the loop delivers up to ACU_LOOP_BATCH of both together; if there are more, the
 * loop gets its turn in between. `fn` and callbacks may submit, cancel, stop the adapter, and do
 * anything that the loop allows. They should not wait, because everything else in the loop waits
 * for them.
 *
 * Threads: start, stop, wait and deliver belong to the loop's thread. Any thread may submit to the
 * queue. The queue is retained until the adapter has stopped. Others may take from it too: a
 * completion goes to whoever comes first.
 */
#ifndef ACUDA_ADAPTERS_LOOP_H
#define ACUDA_ADAPTERS_LOOP_H

#include <acuda/queue.h>

#include <stdlib.h>

ACU_BEGIN

#define ACU_LOOP_BATCH 64

/*
 * Receives a batch of completions, oldest first; `count` is 1 to ACU_LOOP_BATCH. Their futures are
 * lent: they are released when `fn` returns, and acu_future_retain keeps one.
 */
typedef void (*acu_loop_fn)(void *user, const acu_completion *done, size_t count);

typedef struct acu_loop_options {
    size_t size;    /* sizeof(acu_loop_options) */
    acu_loop_fn fn; /* NULL: there are only callbacks, and completions with a tag are dropped */
    acu_user user;  /* for fn; its release is called when the adapter ends, after the last call of
                     * fn, or when starting it fails (except if `size` is not set: then nothing in
                     * the options is looked at) */
    /*
     * How long, in nanoseconds, the loop polls its other sources and the queue in turn instead of
     * sleeping. The time begins at a submission or a completion, and polling lasts only while
     * anything is pending on the queue. 0: sleep at once. Polling saves the time that waking up
     * takes, some 5 to 10 us, and costs up to a core. Leave it at 0 on a machine with one core.
     */
    uint64_t busy_poll;
} acu_loop_options;

/* ---- internal ------------------------------------------------------------------------------- */

/* The part of an adapter that is independent of the loop. */
typedef struct acui_loop {
    acu_queue *queue; /* retained */
    acu_loop_fn fn;
    acu_user user;
    uint64_t busy_poll;
    uint64_t until; /* when polling ends, on the clock of acu_now */
    size_t pending; /* on the queue at the last look */
    unsigned inside; /* adapter functions on the stack, which still need it */
    bool stopped;
} acui_loop;

static inline void acui_loop_drop_user(acu_user user)
{
    if (user.release)
        user.release(user.data);
}

/* A new adapter of `bytes` that begins with an acui_loop; `options` may be NULL. */
static inline acu_status acui_loop_new(size_t bytes, acu_queue *queue,
                                       const acu_loop_options *options, bool valid, void **adapter)
{
    acu_status status = ACU_OK;
    acui_loop *loop = NULL;
    if (!queue || !valid || (options && options->size != sizeof *options))
        status = ACU_ERR_INVALID;
    else if (acu_queue_fd(queue) < 0)
        status = ACU_ERR_BAD_HANDLE;
    else if (!(loop = ACUI_CAST(acui_loop *, calloc(1, bytes))))
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

/* Releases what the adapter holds, but not its memory. */
static inline void acui_loop_end(acui_loop *loop)
{
    acu_queue_release(loop->queue);
    acui_loop_drop_user(loop->user);
}

/* Between these two calls the adapter may be stopped, and stays valid. If it was stopped, the
 * second one ends it and frees its memory. */
static inline void acui_loop_enter(acui_loop *loop)
{
    loop->inside++;
}

static inline void acui_loop_leave(acui_loop *loop)
{
    if (--loop->inside > 0 || !loop->stopped)
        return;
    acui_loop_end(loop);
    free(loop);
}

/* Also when a callback stops the adapter: what is left stays on the queue. */
static inline void acui_loop_stop(acui_loop *loop)
{
    loop->stopped = true;
    acu_queue_break(loop->queue);
}

/* Deliver what there is, one batch at most, looking at the device if the queue is empty. Returns
 * false if there was nothing. The adapter is entered. */
static inline bool acui_loop_deliver(acui_loop *loop)
{
    acu_completion done[ACU_LOOP_BATCH];
    size_t count = 0;
    if (loop->stopped)
        return false;
    /* Does not wait; unlike acu_queue_take it tells whether callbacks were called. */
    acu_status status = acu_queue_wait(loop->queue, done, ACU_LOOP_BATCH, &count, 0);
    if (status == ACU_ERR_IN_CALLBACK) { /* the loop runs inside one of acuda's callbacks */
        (void)acu_queue_take(loop->queue, done, ACU_LOOP_BATCH, &count);
        status = count ? ACU_OK : ACU_TIMEOUT;
    }
    /* If a callback stopped the adapter meanwhile, these go back on the queue; they are dropped
     * where there is no memory for that. */
    if (loop->stopped)
        (void)acu_queue_put_back(loop->queue, done, count);
    else if (loop->fn && count)
        loop->fn(loop->user.data, done, count);
    for (size_t i = 0; i < count; i++)
        acu_future_release(done[i].future);
    if (status == ACU_OK)
        loop->until = 0; /* the time begins anew */
    return status == ACU_OK;
}

/* Whether the loop should look again instead of sleeping. */
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
