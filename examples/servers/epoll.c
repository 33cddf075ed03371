/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The service in a hand-written epoll loop. */
#include "net.h"

#include <acuda/adapters/epoll.h>

#include <stdlib.h>
#include <unistd.h>

enum { EVENTS = 64 };

typedef struct server {
    int epoll, listener, signals;
    service *service;
    acu_epoll *gpu;
    bool running;
} server;

typedef struct connection {
    server *server;
    session *session;
    int fd;
    uint32_t events; /* that epoll watches for */
} connection;

static void watch(const server *s, int operation, int fd, uint32_t events, void *data)
{
    struct epoll_event event = {.events = events, .data = {.ptr = data}};
    (void)epoll_ctl(s->epoll, operation, fd, &event);
}

static void hang_up(connection *c)
{
    close(c->fd);
    session_close(c->session);
    free(c);
}

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
    uint32_t events = (session_wants_input(c->session) ? (uint32_t)EPOLLIN : 0) |
                      (unsent ? (uint32_t)EPOLLOUT : 0);
    if (events != c->events)
        watch(c->server, EPOLL_CTL_MOD, c->fd, events, c);
    c->events = events;
}

static void accept_all(server *s)
{
    for (int fd; (fd = net_accept(s->listener)) >= 0;) {
        connection *c = malloc(sizeof *c);
        if (!c) {
            close(fd);
            return;
        }
        *c = (connection){.server = s, .fd = fd, .events = EPOLLIN};
        c->session = session_open(s->service, c);
        watch(s, EPOLL_CTL_ADD, fd, EPOLLIN, c);
    }
}

/* A signal came: accept no more clients, and no more requests from those connected. */
static void drain(server *s)
{
    net_take_signal(s->signals);
    if (s->listener >= 0)
        close(s->listener);
    s->listener = -1;
    service_drain(s->service);
}

static void idle(void *user)
{
    ((server *)user)->running = false;
}

static void serve(server *s)
{
    struct epoll_event events[EVENTS];
    while (s->running) {
        bool signalled = false;
        int count = acu_epoll_wait(s->gpu, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            void *what = events[i].data.ptr;
            if (what == &s->signals)
                signalled = true; /* handled later: it may close clients that are in this list */
            else if (what == &s->listener)
                accept_all(s);
            else if (events[i].events & (EPOLLERR | EPOLLHUP))
                hang_up(what);
            else
                attend(what);
        }
        if (signalled)
            drain(s);
    }
}

int main(int argc, char **argv)
{
    net_options options = net_parse(argc, argv);
    server s = {.running = true, .signals = net_signals(), .epoll = epoll_create1(EPOLL_CLOEXEC)};
    s.service = service_open((service_events){attend, idle, &s});
    acu_loop_options loop = {.size = sizeof loop,
                             .fn = service_completed,
                             .user = ACU_USER(s.service),
                             .busy_poll = options.busy_poll};
    if (acu_epoll_start(s.epoll, (epoll_data_t){.ptr = &s.gpu}, service_queue(s.service), &loop,
                        &s.gpu) != ACU_OK)
        return 1;
    s.listener = net_listen(&options);
    watch(&s, EPOLL_CTL_ADD, s.listener, EPOLLIN, &s.listener);
    watch(&s, EPOLL_CTL_ADD, s.signals, EPOLLIN, &s.signals);
    serve(&s);
    acu_epoll_stop(s.gpu);
    close(s.epoll);
    close(s.signals);
    return service_close(s.service);
}
