/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An endpoint for Prometheus: answers HTTP requests on 127.0.0.1 with acuda's counters. With a port
 * as its argument it does so until it is stopped:
 *   metrics 9400 & curl http://127.0.0.1:9400/metrics
 * Without one it asks itself once, and prints some of the answer.
 */
#include "example.h"

#include <acuda/metrics.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void stop(const char *what)
{
    perror(what);
    exit(1);
}

/* A socket that listens on the port, or, for 0, on a free one, which *port becomes. */
static int listen_on(unsigned short *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 8) != 0 || getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        stop("listening");
    *port = ntohs(address.sin_port);
    return fd;
}

static void send_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = send(fd, text, bytes, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the client has gone */
        text += n;
        bytes -= (size_t)n;
    }
}

/* One request, whatever it asks for, and one answer. */
static void answer(int listening)
{
    char request[2048], header[256], *text = NULL;
    size_t needed = 0, room;
    int fd = accept(listening, NULL, NULL);
    if (fd < 0 || recv(fd, request, sizeof request, 0) <= 0) {
        close(fd);
        return;
    }
    do { /* it may have grown since it was measured */
        room = needed;
        if (room && !(text = realloc(text, room)))
            stop("memory");
        check(acu_metrics(text, room, &needed));
    } while (needed > room);
    int n = snprintf(header, sizeof header,
                     "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; "
                     "version=1.0.0; charset=utf-8\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n",
                     needed - 1);
    send_all(fd, header, (size_t)n);
    send_all(fd, text, needed - 1);
    free(text);
    close(fd);
}

static void *answer_once(void *listening)
{
    answer(*(int *)listening);
    return NULL;
}

/* What a client reads from the port. The caller frees it. */
static char *ask(unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    size_t used = 0;
    char *reply = calloc(1, 65536);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!reply || fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        stop("connecting");
    send_all(fd, request, sizeof request - 1);
    for (ssize_t n; (n = recv(fd, reply + used, 65535 - used, 0)) > 0;)
        used += (size_t)n;
    close(fd);
    return reply;
}

int main(int count, char **words)
{
    acu_device *device = open_device();
    unsigned short port = count > 1 ? (unsigned short)atoi(words[1]) : 0;
    int listening = listen_on(&port);
    acu_tensor *x;
    check(acu_sync(device, acu_ones(ACU_F32, ACU_SHAPE(1000)), &x)); /* something to count */
    while (count > 1)
        answer(listening);
    pthread_t server;
    if (pthread_create(&server, NULL, answer_once, &listening) != 0)
        stop("a thread");
    char *reply = ask(port);
    pthread_join(server, NULL);
    const char *line = strstr(reply, "acuda_submissions_total");
    bool whole = line && strstr(reply, "\n# EOF\n") &&
                 strstr(reply, "acuda_device_up{device=\"0\"} 1");
    if (whole)
        printf("%.*s\n", (int)strcspn(line, "\n"), line);
    free(reply);
    close(listening);
    acu_tensor_release(x);
    check(acu_close(device));
    return whole ? 0 : 1;
}
