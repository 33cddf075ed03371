/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The service of all example servers; each differs only in how bytes come and go.
 *
 * A client sends lines, each of which is a request: the number of rounds, and the numbers that are
 * to be mixed that often
 *
 *     1000 17 4 2026
 *
 * and gets a line for each, in the same order: the mixed numbers, or "error" and the reason. It may
 * send many requests before it reads. If it ends its side of the connection, the service still
 * answers what it asked for; if it is gone, its work is cancelled.
 *
 * Every request is one submission. Its completion arrives through a queue, which the server
 * attaches to its loop with an adapter. Nothing here blocks, and all of it runs in the loop's
 * thread.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include <acuda/acuda.h>

typedef struct service service;
typedef struct session session; /* one client */

/* How the service calls its server. */
typedef struct service_events {
    /* Something completed: there is output, or room for input again, or the session is over. */
    void (*changed)(void *connection);
    /* After service_drain: the last session is closed and all work has ended. */
    void (*idle)(void *server);
    void *server;
} service_events;

service *service_open(service_events events);
acu_queue *service_queue(service *s);
/* For the adapter: an acu_loop_fn, with the service as its user data. */
void service_completed(void *user, const acu_completion *done, size_t count);
/* Take no more requests: a session is over once it has its answers. On a second call, sessions are
 * over at once. */
void service_drain(service *s);
/* Returns 0, or 1 if something is left over that should not be; prints what. */
int service_close(service *s);

session *session_open(service *s, void *connection);
/* Where the next bytes from the client go, and how many fit: none while much is pending. The bytes
 * may arrive at any time until session_received, or until the session ends. */
char *session_input(session *s, size_t *room);
void session_received(session *s, size_t count);
void session_end_input(session *s);
bool session_wants_input(const session *s);
/* What is to be sent next; it stays in place until session_sent has reported all of it. */
const char *session_output(session *s, size_t *count);
void session_sent(session *s, size_t count);
/* Everything was answered and sent, and no more will be asked: the connection can be closed. */
bool session_over(const session *s);
/* The connection is closed. Requests without an answer are cancelled. */
void session_close(session *s);

#endif
