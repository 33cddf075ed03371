/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sockets and signals, as the servers need them. Failures end the program, with words. */
#ifndef NET_H
#define NET_H

#include "service.h"

/* What a server was told: [PORT [BUSY-POLL-MICROSECONDS]] */
typedef struct net_options {
    int port; /* of 127.0.0.1; 0: any that is free */
    uint64_t busy_poll;
} net_options;
net_options net_parse(int argc, char **argv);

/* A listening socket that does not block; prints where it listens. */
int net_listen(const net_options *options);
/* The next client's, which does not block either; -1: there is none. */
int net_accept(int listener);
/*
 * For who accepts by himself, when no descriptor is left (EMFILE): the next client is told, by
 * being hung up on. Else it would be found waiting again and again, and the loop never sleep.
 * False: there is none, or it is not to be helped.
 */
bool net_turn_away(int listener);

/*
 * SIGINT and SIGTERM as a descriptor to read. To be called before there are other threads, which
 * have these signals blocked from then on: CUDA's, unlike acuda's, would take them, and one that
 * comes when the loop listens no more would kill the process while it ends.
 */
int net_signals(void);
void net_take_signal(int signals);

/* Move what can be moved without blocking between a socket and its session; of input that never
 * ends, some: the loop finds the rest in its next turn. False: the client is gone. */
bool net_receive(int fd, session *s);
bool net_send(int fd, session *s);

#endif
