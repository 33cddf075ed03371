/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adapter for libuv. */
#include <acuda/adapters/uv.h>

#include "adapters/battery.h"

static uv_loop_t loop;
static uv_poll_t watched;

static const char *open_loop(void)
{
    int result = uv_loop_init(&loop);
    return result ? uv_strerror(result) : NULL;
}

static void close_loop(void)
{
    assert_int_equal(uv_loop_close(&loop), 0); /* no handle is left in it */
}

static acu_status start(acu_queue *queue, const acu_loop_options *options, void **adapter)
{
    acu_uv *a = NULL;
    acu_status status = acu_uv_start(&loop, queue, options, adapter ? &a : NULL);
    if (status != ACU_OK)
        return status;
    acu_uv *second = a;
    assert_int_equal(acu_uv_start(&loop, queue, NULL, &second), ACU_ERR_BUSY);
    assert_null(second);
    *adapter = a;
    return ACU_OK;
}

static void stop(void *adapter)
{
    acu_uv_stop(adapter);
}

static void readable(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)events;
    assert_int_equal(status, 0);
    battery_readable();
}

static void watch(int fd)
{
    assert_int_equal(uv_poll_init(&loop, &watched, fd), 0);
    assert_int_equal(uv_poll_start(&watched, UV_READABLE, readable), 0);
}

static void unwatch(void)
{
    uv_close((uv_handle_t *)&watched, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void turn(void *adapter, bool block)
{
    (void)adapter;
    uv_run(&loop, block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

int main(void)
{
    static const loop_kind kind = {.name = "libuv",
                                   .open = open_loop,
                                   .close = close_loop,
                                   .start = start,
                                   .stop = stop,
                                   .watch = watch,
                                   .unwatch = unwatch,
                                   .turn = turn};
    return battery_run(&kind);
}
