/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The service in a libevent loop, with buffered sockets. */
#include "net.h"

#include <acuda/adapters/libevent.h>

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct server {
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *signalled;
    int signals;
    service *service;
    acu_libevent *gpu;
} server;

typedef struct connection {
    server *server;
    session *session;
    struct bufferevent *socket;
    size_t unsent; /* bytes that libevent still holds, all or in part */
    bool ended;    /* nothing more will come than libevent already has */
} connection;

static void hang_up(connection *c)
{
    bufferevent_free(c->socket);
    session_close(c->session);
    free(c);
}

static void receive(connection *c)
{
    size_t room, count = 1;
    while (count > 0 && session_wants_input(c->session)) {
        char *input = session_input(c->session, &room);
        count = bufferevent_read(c->socket, input, room);
        session_received(c->session, count);
    }
    if (c->ended && evbuffer_get_length(bufferevent_get_input(c->socket)) == 0)
        session_end_input(c->session);
}

/* libevent copies it, and reports when all of it was sent. */
static void hand_over(connection *c)
{
    const char *output = session_output(c->session, &c->unsent);
    if (c->unsent > 0)
        (void)bufferevent_write(c->socket, output, c->unsent);
}

static void attend(void *user)
{
    connection *c = user;
    receive(c);
    if (c->unsent == 0)
        hand_over(c);
    acu_libevent_submitted(c->server->gpu);
    if (session_over(c->session))
        hang_up(c);
    else if (session_wants_input(c->session) && !c->ended)
        (void)bufferevent_enable(c->socket, EV_READ);
    else
        (void)bufferevent_disable(c->socket, EV_READ);
}

static void readable(struct bufferevent *socket, void *user)
{
    (void)socket;
    attend(user);
}

static void written(struct bufferevent *socket, void *user)
{
    connection *c = user;
    (void)socket;
    session_sent(c->session, c->unsent);
    c->unsent = 0;
    attend(c);
}

static void happened(struct bufferevent *socket, short what, void *user)
{
    connection *c = user;
    (void)socket;
    if (!(what & BEV_EVENT_EOF)) {
        hang_up(c);
        return;
    }
    c->ended = true; /* input for which the session has no room now, it takes later */
    attend(c);
}

static void accept_failed(struct evconnlistener *listener, void *user)
{
    (void)user;
    int error = EVUTIL_SOCKET_ERROR();
    if (error == EMFILE || error == ENFILE)
        (void)net_turn_away(evconnlistener_get_fd(listener));
}

static void accept_one(struct evconnlistener *listener, evutil_socket_t fd,
                       struct sockaddr *address, int bytes, void *user)
{
    server *s = user;
    connection *c = calloc(1, sizeof *c);
    (void)listener, (void)address, (void)bytes;
    if (!c || !(c->socket = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE))) {
        evutil_closesocket(fd);
        free(c);
        return;
    }
    c->server = s;
    c->session = session_open(s->service, c);
    bufferevent_setcb(c->socket, readable, written, happened, c);
    (void)bufferevent_enable(c->socket, EV_READ | EV_WRITE);
}

/* A signal came: accept no more clients, and no more requests from those connected. */
static void drain(evutil_socket_t signals, short what, void *user)
{
    server *s = user;
    (void)what;
    net_take_signal(signals);
    if (s->listener)
        evconnlistener_free(s->listener);
    s->listener = NULL;
    service_drain(s->service);
}

static void idle(void *user)
{
    (void)event_base_loopbreak(((server *)user)->base);
}

static bool open_all(server *s, const net_options *options)
{
    acu_loop_options loop = {.size = sizeof loop,
                             .fn = service_completed,
                             .user = ACU_USER(s->service),
                             .busy_poll = options->busy_poll};
    s->base = event_base_new();
    if (!s->base ||
        acu_libevent_start(s->base, service_queue(s->service), &loop, &s->gpu) != ACU_OK)
        return false;
    s->signalled = event_new(s->base, s->signals, EV_READ | EV_PERSIST, drain, s);
    if (!s->signalled || event_add(s->signalled, NULL) != 0)
        return false;
    s->listener = evconnlistener_new(s->base, accept_one, s, LEV_OPT_CLOSE_ON_FREE, 0,
                                     net_listen(options));
    if (s->listener)
        evconnlistener_set_error_cb(s->listener, accept_failed);
    return s->listener != NULL;
}

int main(int argc, char **argv)
{
    net_options options = net_parse(argc, argv);
    server s = {.signals = net_signals()};
    s.service = service_open((service_events){attend, idle, &s});
    if (!open_all(&s, &options))
        return 1;
    (void)event_base_dispatch(s.base);
    acu_libevent_stop(s.gpu);
    event_free(s.signalled);
    event_base_free(s.base);
    close(s.signals);
    libevent_global_shutdown();
    return service_close(s.service);
}
