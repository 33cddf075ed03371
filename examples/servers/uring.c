/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The service in a hand-written io_uring loop. The kernel reads and writes a session's memory while
 * an operation is under way, so a connection ends only when none is.
 */
#include "net.h"

#include <acuda/adapters/uring.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ENTRIES = 256 };
#define GPU UINT64_C(1) /* the adapter's user data; any other is the address of an operation */

typedef enum kind { ACCEPT, LISTEN, SIGNAL, RECEIVE, SEND } kind;

typedef struct operation {
    kind kind;
    struct connection *connection;
    bool under_way;
} operation;

typedef struct server {
    struct io_uring ring;
    operation accept, listen, signal;
    int listener, signals;
    service *service;
    acu_uring *gpu;
    bool running;
} server;

typedef struct connection {
    server *server;
    session *session;
    int fd;
    operation receive, send;
    bool closing;
} connection;

/* A place in the ring; if it is full, submitting makes room. */
static struct io_uring_sqe *place(server *s)
{
    struct io_uring_sqe *sqe;
    while (!(sqe = io_uring_get_sqe(&s->ring)))
        (void)io_uring_submit(&s->ring);
    return sqe;
}

/* Called when the entry is prepared. */
static void start(struct io_uring_sqe *sqe, operation *o)
{
    io_uring_sqe_set_data64(sqe, (uintptr_t)o);
    o->under_way = true;
}

static void accept_next(server *s)
{
    struct io_uring_sqe *sqe = place(s);
    io_uring_prep_accept(sqe, s->listener, NULL, NULL, SOCK_CLOEXEC);
    start(sqe, &s->accept);
}

/* No descriptor is left. An accept would fail at once, whether or not a client waits. */
static void listen_for_client(server *s)
{
    while (net_turn_away(s->listener))
        continue;
    struct io_uring_sqe *sqe = place(s);
    io_uring_prep_poll_add(sqe, s->listener, POLLIN);
    start(sqe, &s->listen);
}

static void listen_for_signal(server *s)
{
    struct io_uring_sqe *sqe = place(s);
    io_uring_prep_poll_add(sqe, s->signals, POLLIN);
    start(sqe, &s->signal);
}

static void start_receiving(connection *c)
{
    size_t room;
    char *input = session_input(c->session, &room);
    struct io_uring_sqe *sqe = place(c->server);
    io_uring_prep_recv(sqe, c->fd, input, room, 0);
    start(sqe, &c->receive);
}

static void start_sending(connection *c)
{
    size_t count;
    const char *output = session_output(c->session, &count);
    if (count == 0)
        return;
    struct io_uring_sqe *sqe = place(c->server);
    io_uring_prep_send(sqe, c->fd, output, count, MSG_NOSIGNAL);
    start(sqe, &c->send);
}

/* Operations that are under way then end, too. */
static void hang_up(connection *c)
{
    if (!c->closing)
        (void)shutdown(c->fd, SHUT_RDWR);
    c->closing = true;
}

/* Start what can be started. */
static void attend(void *user)
{
    connection *c = user;
    if (!c->closing && !c->send.under_way)
        start_sending(c);
    if (session_over(c->session))
        hang_up(c);
    if (!c->closing && !c->receive.under_way && session_wants_input(c->session))
        start_receiving(c);
    if (c->closing && !c->receive.under_way && !c->send.under_way) {
        close(c->fd);
        session_close(c->session);
        free(c);
    }
}

static void accepted(server *s, int fd)
{
    connection *c = fd < 0 ? NULL : malloc(sizeof *c);
    if (c) {
        *c = (connection){.server = s, .fd = fd, .receive = {.kind = RECEIVE, .connection = c},
                          .send = {.kind = SEND, .connection = c}};
        c->session = session_open(s->service, c);
        attend(c);
    } else if (fd >= 0) {
        close(fd);
    }
    if (s->listener < 0)
        return;
    if (fd == -EMFILE || fd == -ENFILE)
        listen_for_client(s);
    else
        accept_next(s);
}

/* A signal came: accept no more clients, and no more requests from those connected. */
static void drain(server *s)
{
    net_take_signal(s->signals);
    listen_for_signal(s);
    if (s->listener >= 0) {
        (void)shutdown(s->listener, SHUT_RDWR); /* ends the accept that is under way */
        close(s->listener);
    }
    s->listener = -1;
    service_drain(s->service);
}

static void idle(void *user)
{
    ((server *)user)->running = false;
}

static void received(connection *c, int count)
{
    if (count < 0)
        hang_up(c);
    else if (count == 0)
        session_end_input(c->session);
    else
        session_received(c->session, (size_t)count);
    attend(c);
}

static void sent(connection *c, int count)
{
    if (count < 0)
        hang_up(c);
    else
        session_sent(c->session, (size_t)count);
    attend(c);
}

static void listened(server *s)
{
    if (s->listener >= 0)
        accept_next(s);
}

static void ended(server *s, operation *o, int result)
{
    o->under_way = false;
    switch (o->kind) {
    case ACCEPT: accepted(s, result); break;
    case LISTEN: listened(s); break;
    case SIGNAL: drain(s); break;
    case RECEIVE: received(o->connection, result); break;
    case SEND: sent(o->connection, result); break;
    }
}

static void serve(server *s)
{
    while (s->running) {
        unsigned head, count = 0;
        struct io_uring_cqe *cqe;
        (void)acu_uring_wait(s->gpu, NULL);
        io_uring_for_each_cqe(&s->ring, head, cqe) {
            count++;
            if (cqe->user_data == GPU)
                acu_uring_deliver(s->gpu);
            else
                ended(s, (operation *)(uintptr_t)cqe->user_data, cqe->res);
        }
        io_uring_cq_advance(&s->ring, count);
    }
}

int main(int argc, char **argv)
{
    net_options options = net_parse(argc, argv);
    server s = {.running = true,
                .accept = {.kind = ACCEPT},
                .listen = {.kind = LISTEN},
                .signal = {.kind = SIGNAL}};
    s.signals = net_signals();
    int result = io_uring_queue_init(ENTRIES, &s.ring, 0);
    if (result < 0) {
        fprintf(stderr, "io_uring is not available: %s\n", strerror(-result));
        return 1;
    }
    s.service = service_open((service_events){attend, idle, &s});
    acu_loop_options loop = {.size = sizeof loop,
                             .fn = service_completed,
                             .user = ACU_USER(s.service),
                             .busy_poll = options.busy_poll};
    if (acu_uring_start(&s.ring, GPU, service_queue(s.service), &loop, &s.gpu) != ACU_OK)
        return 1;
    s.listener = net_listen(&options);
    accept_next(&s);
    listen_for_signal(&s);
    serve(&s);
    acu_uring_stop(s.gpu);
    io_uring_queue_exit(&s.ring);
    close(s.signals);
    return service_close(s.service);
}
