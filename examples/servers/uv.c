/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The service in a libuv loop. */
#include "net.h"

#include <acuda/adapters/uv.h>

#include <stdlib.h>
#include <unistd.h>

typedef struct server {
    uv_loop_t loop;
    uv_tcp_t listener;
    uv_poll_t signalled;
    int signals;
    service *service;
    acu_uv *gpu;
} server;

typedef struct connection {
    uv_tcp_t tcp;
    uv_write_t write;
    session *session;
    bool writing, reading, closing;
    size_t sent; /* bytes of the current write */
} connection;

/* libuv's last callback for the connection: it no longer uses the session's memory. */
static void closed(uv_handle_t *handle)
{
    connection *c = handle->data;
    session_close(c->session);
    free(c);
}

static void hang_up(connection *c)
{
    if (!c->closing)
        uv_close((uv_handle_t *)&c->tcp, closed);
    c->closing = true;
}

static void give_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    size_t room;
    connection *c = handle->data;
    (void)suggested;
    char *input = session_input(c->session, &room);
    *buffer = uv_buf_init(input, (unsigned)room);
}

static void attend(void *user);

static void received(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    connection *c = stream->data;
    (void)buffer;
    if (count == UV_EOF)
        session_end_input(c->session);
    else if (count < 0)
        hang_up(c);
    else
        session_received(c->session, (size_t)count);
    attend(c);
}

static void written(uv_write_t *write, int status)
{
    connection *c = write->data;
    c->writing = false;
    if (status < 0)
        hang_up(c);
    else
        session_sent(c->session, c->sent);
    attend(c);
}

static void start_writing(connection *c)
{
    const char *output = session_output(c->session, &c->sent);
    if (c->sent == 0)
        return;
    uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)output, (unsigned)c->sent);
    c->write.data = c;
    c->writing = uv_write(&c->write, (uv_stream_t *)&c->tcp, &buffer, 1, written) == 0;
    if (!c->writing)
        hang_up(c);
}

/* Write what there is, and read if there is room. */
static void attend(void *user)
{
    connection *c = user;
    if (!c->closing && !c->writing)
        start_writing(c);
    if (!c->closing && session_over(c->session))
        hang_up(c);
    if (c->closing)
        return;
    bool read = session_wants_input(c->session);
    if (read && !c->reading)
        (void)uv_read_start((uv_stream_t *)&c->tcp, give_room, received);
    else if (!read && c->reading)
        (void)uv_read_stop((uv_stream_t *)&c->tcp);
    c->reading = read;
}

static void accept_one(uv_stream_t *listener, int status)
{
    server *s = listener->data;
    connection *c = status < 0 ? NULL : calloc(1, sizeof *c);
    if (!c)
        return;
    (void)uv_tcp_init(&s->loop, &c->tcp);
    c->tcp.data = c;
    c->session = session_open(s->service, c);
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0)
        hang_up(c);
    attend(c);
}

/* A signal came: accept no more clients, and no more requests from those connected. */
static void drain(uv_poll_t *signalled, int status, int events)
{
    server *s = signalled->data;
    (void)status, (void)events;
    net_take_signal(s->signals);
    if (!uv_is_closing((uv_handle_t *)&s->listener))
        uv_close((uv_handle_t *)&s->listener, NULL);
    service_drain(s->service);
}

/* The loop ends with its last handle. */
static void idle(void *user)
{
    server *s = user;
    acu_uv_stop(s->gpu);
    uv_close((uv_handle_t *)&s->signalled, NULL);
}

static void listen_for_signals(server *s)
{
    (void)uv_poll_init(&s->loop, &s->signalled, s->signals);
    s->signalled.data = s;
    (void)uv_poll_start(&s->signalled, UV_READABLE, drain);
}

int main(int argc, char **argv)
{
    net_options options = net_parse(argc, argv);
    server s = {.signals = net_signals()};
    s.service = service_open((service_events){attend, idle, &s});
    acu_loop_options loop = {.size = sizeof loop,
                             .fn = service_completed,
                             .user = ACU_USER(s.service),
                             .busy_poll = options.busy_poll};
    if (uv_loop_init(&s.loop) != 0 ||
        acu_uv_start(&s.loop, service_queue(s.service), &loop, &s.gpu) != ACU_OK)
        return 1;
    listen_for_signals(&s);
    (void)uv_tcp_init(&s.loop, &s.listener);
    s.listener.data = &s;
    if (uv_tcp_open(&s.listener, net_listen(&options)) != 0 ||
        uv_listen((uv_stream_t *)&s.listener, 128, accept_one) != 0)
        return 1;
    uv_run(&s.loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&s.loop) != 0)
        return 1;
    close(s.signals);
    return service_close(s.service);
}
