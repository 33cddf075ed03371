/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sockets and signals. */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READS = 16 }; /* from a client in one turn of the loop, so that others get theirs */

static int spare = -1; /* a descriptor kept in reserve for net_turn_away */

static void must(bool right, const char *what)
{
    if (right)
        return;
    perror(what);
    exit(1);
}

net_options net_parse(int argc, char **argv)
{
    net_options options = {0, 0};
    if (argc > 1)
        options.port = atoi(argv[1]);
    if (argc > 2)
        options.busy_poll = ACU_US(strtoull(argv[2], NULL, 10));
    return options;
}

int net_listen(const net_options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)options->port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    const int yes = 1;
    signal(SIGPIPE, SIG_IGN); /* writing to a client that is gone must not end the process */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    must(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0, "setsockopt");
    /* An answer is sent at once, not when the client has acknowledged the one before, which takes
     * it 40 ms if it has nothing to say. Accepted connections have it from here. */
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "setsockopt");
    must(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    must(listen(fd, SOMAXCONN) == 0, "listen");
    must(getsockname(fd, (struct sockaddr *)&address, &size) == 0, "getsockname");
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

bool net_turn_away(int listener)
{
    close(spare);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

int net_accept(int listener)
{
    int fd;
    do
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EMFILE || errno == ENFILE) && net_turn_away(listener));
    return fd;
}

int net_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    must(sigprocmask(SIG_BLOCK, &set, NULL) == 0, "sigprocmask");
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    must(fd >= 0, "signalfd");
    return fd;
}

void net_take_signal(int signals)
{
    struct signalfd_siginfo which;
    while (read(signals, &which, sizeof which) == sizeof which)
        continue;
}

/* After a call that failed: is there merely nothing to do now? */
static bool later(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

bool net_receive(int fd, session *s)
{
    for (int i = 0; i < READS && session_wants_input(s); i++) {
        size_t room;
        char *input = session_input(s, &room);
        ssize_t count = read(fd, input, room);
        if (count < 0)
            return later();
        if (count == 0)
            session_end_input(s);
        else
            session_received(s, (size_t)count);
    }
    return true;
}

bool net_send(int fd, session *s)
{
    for (;;) {
        size_t count;
        const char *output = session_output(s, &count);
        if (count == 0)
            return true;
        ssize_t sent = write(fd, output, count);
        if (sent < 0)
            return later();
        session_sent(s, (size_t)sent);
    }
}
