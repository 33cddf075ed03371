/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sockets and signals, as the servers need them. Failures end the program, with a message. */
#ifndef NET_H
#define NET_H

#include "service.h"

/* The server's arguments: [PORT [BUSY-POLL-MICROSECONDS]] */
typedef struct net_options {
    int port; /* on 127.0.0.1; 0: any free port */
    uint64_t busy_poll;
} net_options;
net_options net_parse(int argc, char **argv);

/* A non-blocking listening socket; prints the address that it listens on. */
int net_listen(const net_options *options);
/* The socket of the next client, non-blocking too; -1: there is none. */
int net_accept(int listener);
/*
 * For servers that call accept themselves, when no descriptor is left (EMFILE): tells the next
 * client, by hanging up on it. Otherwise the loop would find that client waiting again and again,
 * and never sleep. False: there is no client, or nothing can be done.
 */
bool net_turn_away(int listener);

/*
 * SIGINT and SIGTERM as a descriptor to read. Call it before other threads exist, so that they
 * inherit the blocked signals. CUDA's threads, unlike acuda's, would otherwise take them, and a
 * signal that comes when the loop no longer listens would kill the process while it shuts down.
 */
int net_signals(void);
void net_take_signal(int signals);

/* Move what can be moved without blocking between a socket and its session. Of input that never
 * ends only a part is taken: the loop finds the rest in its next turn. False: the client is
 * gone. */
bool net_receive(int fd, session *s);
bool net_send(int fd, session *s);

#endif
