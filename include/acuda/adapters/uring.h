/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A completion queue in an io_uring loop of the program's own, through liburing 2.3 or newer.
 * loop.h says what holds for all adapters.
 *
 *   acu_uring *gpu;
 *   acu_loop_options options = {.size = sizeof options, .fn = completed, .user = ACU_USER(server)};
 *   acu_uring_start(&ring, GPU, queue, &options, &gpu);    GPU: a number, as its user data
 *   while (running) {
 *       acu_uring_wait(gpu, NULL);                         instead of io_uring_submit_and_wait
 *       unsigned head, count = 0;
 *       struct io_uring_cqe *cqe;
 *       io_uring_for_each_cqe(&ring, head, cqe) {
 *           count++;
 *           if (cqe->user_data == GPU)
 *               acu_uring_deliver(gpu);
 *           else
 *               ...                                        the program's own
 *       }
 *       io_uring_cq_advance(&ring, count);
 *   }
 *   acu_uring_stop(gpu);
 *
 * The adapter keeps one poll request for the queue's descriptor in the ring. Each delivery prepares
 * it again, and it goes to the kernel with the program's next submission: no system call of its
 * own.
 */
#ifndef ACUDA_ADAPTERS_URING_H
#define ACUDA_ADAPTERS_URING_H

#include <acuda/adapters/loop.h>

#include <liburing.h>
#include <poll.h>

ACU_BEGIN

typedef struct acu_uring {
    acui_loop loop;
    struct io_uring *ring;
    uint64_t data;
    bool armed; /* its poll request is in the ring, or on its way there */
} acu_uring;

/* Room for one more request; if there is none, prepared requests are submitted first. NULL: there
 * is still none. With a kernel thread that takes requests (IORING_SETUP_SQPOLL) this may take time,
 * and the wait for it may end spuriously. */
static inline struct io_uring_sqe *acui_uring_sqe(struct io_uring *ring)
{
    struct io_uring_sqe *sqe;
    while (!(sqe = io_uring_get_sqe(ring)) && io_uring_submit(ring) >= 0 &&
           io_uring_sqring_wait(ring) >= 0)
        continue;
    return sqe;
}

/* A new poll request each time, not one for many events: it looks at the descriptor when it is set
 * up, so that completions left in the queue are not forgotten. */
static inline bool acui_uring_arm(acu_uring *a)
{
    if (a->armed || a->loop.stopped)
        return true;
    struct io_uring_sqe *sqe = acui_uring_sqe(a->ring);
    if (!sqe)
        return false; /* acu_uring_wait and acu_uring_deliver try again */
    io_uring_prep_poll_add(sqe, acu_queue_fd(a->loop.queue), POLLIN);
    io_uring_sqe_set_data64(sqe, a->data);
    a->armed = true;
    return true;
}

/* `data` is the user data of the adapter's own completions in the ring; no others may have it. */
static inline acu_status acu_uring_start(struct io_uring *ring, uint64_t data, acu_queue *queue,
                                         const acu_loop_options *options, acu_uring **adapter)
{
    if (adapter)
        *adapter = NULL;
    void *memory = NULL;
    acu_status status =
        acui_loop_new(sizeof(acu_uring), queue, options, ring && adapter, &memory);
    if (status != ACU_OK)
        return status;
    acu_uring *a = ACUI_CAST(acu_uring *, memory);
    a->ring = ring;
    a->data = data;
    if (!acui_uring_arm(a)) {
        acui_loop_end(&a->loop);
        free(a);
        return ACU_ERR_LIMIT;
    }
    *adapter = a;
    return ACU_OK;
}

/* One or two completions with the adapter's data may still come out of the ring: ignore them. Until
 * they have come, another adapter in this ring needs other data, or it would count them as its own
 * and prepare an extra poll request for each. The ring must still exist; ending the ring also ends
 * the poll request. */
static inline void acu_uring_stop(acu_uring *a)
{
    if (!a || a->loop.stopped)
        return;
    acui_loop_enter(&a->loop);
    struct io_uring_sqe *sqe = a->armed ? acui_uring_sqe(a->ring) : NULL;
    if (sqe) {
        io_uring_prep_poll_remove(sqe, a->data);
        io_uring_sqe_set_data64(sqe, a->data);
        (void)io_uring_submit(a->ring);
    }
    acui_loop_stop(&a->loop);
    acui_loop_leave(&a->loop);
}

/* Call this once for each completion with the adapter's data. Never blocks. */
static inline void acu_uring_deliver(acu_uring *a)
{
    acui_loop_enter(&a->loop);
    a->armed = false;
    (void)acui_loop_deliver(&a->loop);
    (void)acui_uring_arm(a);
    acui_loop_leave(&a->loop);
}

/* The part of acu_uring_wait in which the loop does not sleep: 0 if there is something to do, or
 * was; 1 if it is time to sleep; or an error. */
static inline int acui_uring_look(acu_uring *a)
{
    while (acui_loop_is_busy(&a->loop)) {
        int result = io_uring_submit_and_get_events(a->ring);
        if (result < 0)
            return result;
        if (io_uring_cq_ready(a->ring) || acui_loop_deliver(&a->loop))
            return 0;
    }
    return a->loop.stopped ? 0 : 1;
}

/*
 * Submit prepared requests, and block until the ring has a completion, of the program or of the
 * adapter: io_uring_submit_and_wait, with busy-poll if the options say so. While it polls, it
 * delivers completions of the queue itself and then returns, even if the ring has none. `timeout`
 * (NULL: none) is how long it sleeps at most. Returns 0, or liburing's error: -ETIME, -EINTR and
 * others.
 */
static inline int acu_uring_wait(acu_uring *a, struct __kernel_timespec *timeout)
{
    struct io_uring_cqe *first;
    acui_loop_enter(&a->loop);
    (void)acui_uring_arm(a);
    int result = acui_uring_look(a);
    if (result == 1)
        result = timeout ? io_uring_submit_and_wait_timeout(a->ring, &first, 1, timeout, NULL)
                         : io_uring_submit_and_wait(a->ring, 1);
    acui_loop_leave(&a->loop);
    return result < 0 ? result : 0;
}

ACU_END
#endif
