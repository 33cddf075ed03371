/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adapter for epoll: by its own wait, and by the program's epoll_wait. */
#include <acuda/adapters/epoll.h>

#include "adapters/battery.h"

#include <unistd.h>

static int epoll = -1, watched = -1;
static bool own_wait; /* the program's */
static char gpu, other; /* their addresses are the events' data */

static const char *open_loop(void)
{
    epoll = epoll_create1(EPOLL_CLOEXEC);
    return epoll < 0 ? "epoll_create1 fails" : NULL;
}

static void close_loop(void)
{
    close(epoll);
}

static acu_status start(acu_queue *queue, const acu_loop_options *options, void **adapter)
{
    acu_epoll *a = NULL;
    acu_status status = acu_epoll_start(epoll, (epoll_data_t){.ptr = &gpu}, queue, options,
                                        adapter ? &a : NULL);
    if (status != ACU_OK)
        return status;
    acu_epoll *second = a;
    assert_int_equal(acu_epoll_start(epoll, (epoll_data_t){.ptr = &gpu}, queue, NULL, &second),
                     ACU_ERR_BUSY);
    assert_null(second);
    *adapter = a;
    return ACU_OK;
}

static void stop(void *adapter)
{
    acu_epoll_stop(adapter);
}

static void watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &other}};
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
    watched = fd;
}

static void unwatch(void)
{
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_DEL, watched, NULL), 0);
}

static void turn(void *adapter, bool block)
{
    struct epoll_event events[8];
    int timeout = block ? -1 : 0, count;
    if (adapter && !own_wait)
        count = acu_epoll_wait(adapter, events, 8, timeout);
    else
        count = epoll_wait(epoll, events, 8, timeout);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == &other) {
            battery_readable();
        } else {
            assert_ptr_equal(events[i].data.ptr, &gpu);
            assert_true(adapter && own_wait);
            acu_epoll_deliver(adapter);
        }
    }
}

int main(void)
{
    loop_kind kind = {.name = "epoll",
                      .open = open_loop,
                      .close = close_loop,
                      .start = start,
                      .stop = stop,
                      .watch = watch,
                      .unwatch = unwatch,
                      .turn = turn};
    int failed = battery_run(&kind);
    kind.name = "epoll, the program's own wait";
    kind.own_wait = own_wait = true;
    return failed + battery_run(&kind);
}
