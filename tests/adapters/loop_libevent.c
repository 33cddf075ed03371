/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adapter for libevent. */
#include <acuda/adapters/libevent.h>

#include "adapters/battery.h"

static struct event_base *base;
static struct event *watched, *last;

static const char *open_loop(void)
{
    base = event_base_new();
    return base && event_base_priority_init(base, 3) == 0 ? NULL : "event_base_new fails";
}

static void close_loop(void)
{
    event_base_free(base);
}

static acu_status start(acu_queue *queue, const acu_loop_options *options, void **adapter)
{
    return acu_libevent_start(base, queue, options, (acu_libevent **)adapter);
}

static void stop(void *adapter)
{
    acu_libevent_stop(adapter);
}

static void submitted(void *adapter)
{
    acu_libevent_submitted(adapter);
}

static void readable(evutil_socket_t fd, short what, void *user)
{
    (void)fd, (void)what, (void)user;
    battery_readable();
}

static void watch(int fd)
{
    watched = event_new(base, fd, EV_READ | EV_PERSIST, readable, NULL);
    assert_non_null(watched);
    assert_int_equal(event_add(watched, NULL), 0);
}

static void unwatch(void)
{
    event_free(watched);
}

static void spare(evutil_socket_t fd, short what, void *user)
{
    static const struct timeval at_once = {0, 0};
    (void)fd, (void)what, (void)user;
    battery_idle();
    assert_int_equal(event_add(last, &at_once), 0);
}

static void idle(bool on)
{
    if (!on) {
        event_free(last);
        return;
    }
    last = event_new(base, -1, 0, spare, NULL);
    assert_non_null(last);
    assert_int_equal(event_priority_set(last, 2), 0);
    event_active(last, 0, 0);
}

static void turn(void *adapter, bool block)
{
    (void)adapter;
    assert_int_not_equal(event_base_loop(base, block ? EVLOOP_ONCE : EVLOOP_NONBLOCK), -1);
}

int main(void)
{
    static const loop_kind kind = {.name = "libevent",
                                   .open = open_loop,
                                   .close = close_loop,
                                   .start = start,
                                   .stop = stop,
                                   .submitted = submitted,
                                   .watch = watch,
                                   .unwatch = unwatch,
                                   .idle = idle,
                                   .turn = turn};
    int result = battery_run(&kind);
    libevent_global_shutdown();
    return result;
}
