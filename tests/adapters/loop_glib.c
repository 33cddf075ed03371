/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The adapter for GLib, in a context of the test's own. */
#include <acuda/adapters/glib.h>

#include "adapters/battery.h"

#include <glib-unix.h>

static GMainContext *context;
static GSource *watched, *last;

static const char *open_loop(void)
{
    context = g_main_context_new();
    return NULL;
}

static void close_loop(void)
{
    g_main_context_unref(context);
}

static acu_status start(acu_queue *queue, const acu_loop_options *options, void **adapter)
{
    acu_glib *a = NULL;
    acu_status status = acu_glib_start(context, queue, options, adapter ? &a : NULL);
    if (status == ACU_OK) {
        assert_int_equal(g_source_get_priority(acu_glib_source(a)), G_PRIORITY_DEFAULT);
        *adapter = a;
    }
    return status;
}

static void stop(void *adapter)
{
    acu_glib_stop(adapter);
}

static gboolean readable(gint fd, GIOCondition condition, gpointer user)
{
    (void)fd, (void)condition, (void)user;
    battery_readable();
    return G_SOURCE_CONTINUE;
}

static void watch(int fd)
{
    watched = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(watched, G_SOURCE_FUNC(readable), NULL, NULL);
    (void)g_source_attach(watched, context);
}

static void unwatch(void)
{
    g_source_destroy(watched);
    g_source_unref(watched);
}

static gboolean spare(gpointer user)
{
    (void)user;
    battery_idle();
    return G_SOURCE_CONTINUE;
}

static void idle(bool on)
{
    if (on) {
        last = g_idle_source_new();
        g_source_set_callback(last, spare, NULL, NULL);
        (void)g_source_attach(last, context);
    } else {
        g_source_destroy(last);
        g_source_unref(last);
    }
}

static void turn(void *adapter, bool block)
{
    (void)adapter;
    (void)g_main_context_iteration(context, block);
}

int main(void)
{
    static const loop_kind kind = {.name = "GLib",
                                   .open = open_loop,
                                   .close = close_loop,
                                   .start = start,
                                   .stop = stop,
                                   .watch = watch,
                                   .unwatch = unwatch,
                                   .idle = idle,
                                   .turn = turn};
    return battery_run(&kind);
}
