/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The service in a GLib main loop. */
#include "net.h"

#include <acuda/adapters/glib.h>

#include <glib-unix.h>
#include <unistd.h>

typedef struct server {
    GMainLoop *loop;
    GSource *listening;
    int listener, signals;
    service *service;
    acu_glib *gpu;
} server;

typedef struct connection {
    session *session;
    int fd;
    GIOCondition condition; /* that `source` watches for */
    GSource *source;
} connection;

static GSource *watch(int fd, GIOCondition condition, GUnixFDSourceFunc fn, void *user)
{
    GSource *source = g_unix_fd_source_new(fd, condition);
    g_source_set_callback(source, G_SOURCE_FUNC(fn), user, NULL);
    (void)g_source_attach(source, NULL);
    return source;
}

static void unwatch(GSource *source)
{
    g_source_destroy(source);
    g_source_unref(source);
}

static void hang_up(connection *c)
{
    unwatch(c->source);
    close(c->fd);
    session_close(c->session);
    g_free(c);
}

static gboolean ready(gint fd, GIOCondition condition, gpointer user);

/* Move what can be moved, and watch for what comes next. */
static void attend(void *user)
{
    connection *c = user;
    size_t unsent = 0;
    if (!net_receive(c->fd, c->session) || !net_send(c->fd, c->session) ||
        session_over(c->session)) {
        hang_up(c);
        return;
    }
    (void)session_output(c->session, &unsent);
    GIOCondition condition =
        (session_wants_input(c->session) ? G_IO_IN : 0) | (unsent ? G_IO_OUT : 0);
    if (condition != c->condition) {
        unwatch(c->source);
        c->source = watch(c->fd, condition, ready, c);
        c->condition = condition;
    }
}

static gboolean ready(gint fd, GIOCondition condition, gpointer user)
{
    (void)fd;
    if (condition & (G_IO_ERR | G_IO_HUP))
        hang_up(user);
    else
        attend(user);
    return G_SOURCE_CONTINUE; /* if it still exists */
}

static gboolean accept_all(gint listener, GIOCondition condition, gpointer user)
{
    server *s = user;
    (void)condition;
    for (int fd; (fd = net_accept(listener)) >= 0;) {
        connection *c = g_new0(connection, 1);
        c->fd = fd;
        c->condition = G_IO_IN;
        c->session = session_open(s->service, c);
        c->source = watch(fd, G_IO_IN, ready, c);
    }
    return G_SOURCE_CONTINUE;
}

/* A signal came: accept no more clients, and no more requests from those connected. */
static gboolean drain(int signals, GIOCondition condition, gpointer user)
{
    server *s = user;
    (void)condition;
    net_take_signal(signals);
    if (s->listening) {
        unwatch(s->listening);
        close(s->listener);
    }
    s->listening = NULL;
    service_drain(s->service);
    return G_SOURCE_CONTINUE;
}

static void idle(void *user)
{
    g_main_loop_quit(((server *)user)->loop);
}

int main(int argc, char **argv)
{
    net_options options = net_parse(argc, argv);
    server s = {.loop = g_main_loop_new(NULL, FALSE), .signals = net_signals()};
    s.service = service_open((service_events){attend, idle, &s});
    acu_loop_options loop = {.size = sizeof loop,
                             .fn = service_completed,
                             .user = ACU_USER(s.service),
                             .busy_poll = options.busy_poll};
    if (acu_glib_start(NULL, service_queue(s.service), &loop, &s.gpu) != ACU_OK)
        return 1;
    GSource *signalled = watch(s.signals, G_IO_IN, drain, &s);
    s.listener = net_listen(&options);
    s.listening = watch(s.listener, G_IO_IN, accept_all, &s);
    g_main_loop_run(s.loop);
    acu_glib_stop(s.gpu);
    unwatch(signalled);
    g_main_loop_unref(s.loop);
    close(s.signals);
    return service_close(s.service);
}
