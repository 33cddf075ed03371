/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adapter for io_uring, on a ring so small that it is full now and then. */
#include <acuda/adapters/uring.h>

#include "adapters/battery.h"

#include <string.h>

enum { ENTRIES = 2, NO_DATA = 0, GPU = 1, OTHER = 2 };

static struct io_uring ring;
static int watched = -1;
static bool own_wait; /* the program's */
static unsigned flags;
static unsigned stops;

static const char *open_loop(void)
{
    struct io_uring_params parameters = {.flags = flags, .sq_thread_idle = 1}; /* ms */
    int result = io_uring_queue_init_params(ENTRIES, &ring, &parameters);
    return result < 0 ? strerror(-result) : NULL; /* containers may forbid it: EPERM */
}

static void close_loop(void)
{
    io_uring_queue_exit(&ring);
}

/* A request that completes at once, and takes room in the ring until it is submitted. */
static void fill_ring(void)
{
    for (struct io_uring_sqe *sqe; (sqe = io_uring_get_sqe(&ring));) {
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, NO_DATA);
    }
}

static acu_status start(acu_queue *queue, const acu_loop_options *options, void **adapter)
{
    fill_ring();
    return acu_uring_start(&ring, GPU, queue, options, (acu_uring **)adapter);
}

static void stop(void *adapter)
{
    if (adapter)
        fill_ring();
    stops++;
    acu_uring_stop(adapter);
}

static struct io_uring_sqe *place(void)
{
    struct io_uring_sqe *sqe;
    while (!(sqe = io_uring_get_sqe(&ring)))
        assert_true(io_uring_submit(&ring) >= 0 && io_uring_sqring_wait(&ring) >= 0);
    return sqe;
}

static void prepare_watch(void)
{
    struct io_uring_sqe *sqe = place();
    io_uring_prep_poll_add(sqe, watched, POLLIN);
    io_uring_sqe_set_data64(sqe, OTHER);
}

static void watch(int fd)
{
    watched = fd;
    prepare_watch();
}

static void unwatch(void)
{
    struct io_uring_sqe *sqe = place();
    io_uring_prep_poll_remove(sqe, OTHER);
    io_uring_sqe_set_data64(sqe, NO_DATA);
    assert_true(io_uring_submit(&ring) >= 0);
    watched = -1;
}

static void turn(void *adapter, bool block)
{
    struct io_uring_cqe *cqe;
    unsigned before = stops;
    if (adapter && block && !own_wait)
        assert_int_equal(acu_uring_wait(adapter, NULL), 0);
    else if (block)
        assert_true(io_uring_submit_and_wait(&ring, 1) >= 0);
    else
        assert_true(io_uring_submit_and_get_events(&ring) >= 0);
    while (io_uring_peek_cqe(&ring, &cqe) == 0) {
        uint64_t data = io_uring_cqe_get_data64(cqe);
        bool gone = cqe->res < 0;
        io_uring_cqe_seen(&ring, cqe);
        if (data == GPU && adapter && stops == before) { /* else it was stopped in this turn */
            acu_uring_deliver(adapter);
            return;
        }
        if (data == OTHER && !gone && watched >= 0) {
            battery_readable();
            prepare_watch();
        }
    }
}

int main(void)
{
    loop_kind kind = {.name = "io_uring",
                      .open = open_loop,
                      .close = close_loop,
                      .start = start,
                      .stop = stop,
                      .watch = watch,
                      .unwatch = unwatch,
                      .turn = turn};
    int failed = battery_run(&kind);
    kind.name = "io_uring, the program's own wait";
    kind.own_wait = own_wait = true;
    failed += battery_run(&kind);
    kind.name = "io_uring, a thread of the kernel's takes requests";
    kind.own_wait = own_wait = false;
    flags = IORING_SETUP_SQPOLL;
    failed += battery_run(&kind);
    kind.name = "io_uring, completions come when they are asked for";
    flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    return failed + battery_run(&kind);
}
