/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Trace: how much slower the demo (examples/mlp) and a server (examples/servers/epoll) are while a
 * trace is on, as the users of these programs see it.
 *
 * Of each there are two processes, one of them with ACUDA_TRACE, that work in turn for a tenth of a
 * second or so. The demo works while its lines are read, one for each epoch: otherwise it waits
 * for room in the pipe. The server works while requests are sent. Which cores and memory a process
 * got matters as much as a trace does, so there are several such couples, one after the other. Each
 * figure is the median of the ratios of neighbours. "Processor time" is that of all threads of
 * these processes, also of the thread that writes the trace.
 *
 * The programs are those of the same build: <this program's folder>/../examples. The demo's digits
 * are looked for in the working folder too (examples/data/digits.csv).
 */
#include "harness/harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUPLES = 5, TURNS = 5, PAIRS = COUPLES * TURNS, CLIENTS = 8, IN_FLIGHT = 16 };
enum { LINES = 200 }; /* of the demo: more than there is room for in a pipe and in stdio's buffer */
static const double GOAL = 1.03, SLICE_US = 1e5;

extern char **environ;

typedef struct program {
    pid_t pid;
    FILE *out;
} program;

static char folder[2048]; /* of the build */
static char trace_path[64];

/* `path` is in the build. Ends the bench if there is no such program. */
static program start(const char *path, bool traced, const char *const *arguments)
{
    char full[2304];
    int ends[2];
    program p = {0};
    posix_spawn_file_actions_t actions;
    snprintf(full, sizeof full, "%s/%s", folder, path);
    if (pipe2(ends, O_CLOEXEC) != 0)
        bench_die("there is no pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    if (traced)
        setenv("ACUDA_TRACE", trace_path, 1);
    else
        unsetenv("ACUDA_TRACE");
    int error = posix_spawn(&p.pid, full, &actions, NULL, (char *const *)(uintptr_t)arguments,
                            environ);
    if (error)
        bench_die("%s: %s", full, strerror(error));
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    p.out = fdopen(ends[0], "r");
    return p;
}

/* Its last line that fits the format; ends the bench if there is none. */
static double read_number(program *p, const char *format)
{
    char line[512];
    double value = NAN;
    while (isnan(value) && fgets(line, sizeof line, p->out))
        (void)sscanf(line, format, &value);
    if (isnan(value))
        bench_die("a program did not say: %s", format);
    return value;
}

/* Waits for its end. */
static void finish(program *p)
{
    char line[512];
    int status;
    while (fgets(line, sizeof line, p->out)) /* it must not wait for room in the pipe */
        ;
    fclose(p->out);
    if (waitpid(p->pid, &status, 0) != p->pid || status != 0)
        bench_die("a program failed: %#x", (unsigned)status);
}

/* Ends it, wherever it is. */
static void end(program *p)
{
    kill(p->pid, SIGKILL);
    waitpid(p->pid, NULL, 0);
    fclose(p->out);
}

/* Of its processor time. */
static clockid_t clock_of(const program *p)
{
    clockid_t clock;
    if (clock_getcpuclockid(p->pid, &clock) != 0)
        bench_die("there is no clock of another process's processor time");
    return clock;
}

static double cpu_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double median(double *values, int count)
{
    return bench_percentile(values, count, 50);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

typedef struct cost {
    double us, cpu_us;
} cost;

typedef struct figures {
    double time[PAIRS], cpu[PAIRS], plain[PAIRS]; /* ratios, ratios, us */
    int count;
} figures;

/* Both worked: [1] with a trace. */
static void note(figures *f, const cost of[2])
{
    f->time[f->count] = of[1].us / of[0].us;
    f->cpu[f->count] = of[1].cpu_us / of[0].cpu_us;
    f->plain[f->count++] = of[0].us;
}

static void row(bench *b, const char *what, const char *unit, double *values, int count,
                double goal)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    bench_at_most(b, what, unit, median(values, count), goal);
}

static void report(bench *b, const char *title, const char *what, figures *f)
{
    bench_title(b, title);
    row(b, "time", "x", f->time, f->count, b->quick ? NAN : GOAL);
    row(b, "processor time", "x", f->cpu, f->count, NAN);
    row(b, what, "us", f->plain, f->count, NAN);
}

/* ---- the demo ---- */

typedef struct demo {
    program program;
    clockid_t clock;
} demo;

static demo start_demo(bool traced)
{
    const char *const arguments[] = {"mlp", "examples/data/digits.csv", "100000000", NULL};
    demo d = {.program = start("examples/mlp", traced, arguments)};
    (void)fcntl(fileno(d.program.out), F_SETPIPE_SZ, 4096); /* so it waits soon */
    d.clock = clock_of(&d.program);
    return d;
}

static void read_epochs(demo *d, int epochs)
{
    for (int i = 0; i < epochs; i++)
        (void)read_number(&d->program, "epoch %lf");
}

/* Of one epoch. Before those that count, the other one runs into its full pipe. */
static cost learn(demo *d, int epochs)
{
    read_epochs(d, epochs < LINES / 2 ? epochs : LINES);
    double begin = bench_now_us(), before = cpu_us(d->clock);
    read_epochs(d, epochs);
    return (cost){.us = (bench_now_us() - begin) / epochs,
                  .cpu_us = (cpu_us(d->clock) - before) / epochs};
}

/* Two demos in turn: which is the first changes, and the first turn is to warm up. */
static void measure_couple(figures *f, int turns, int epochs)
{
    demo demos[2] = {start_demo(false), start_demo(true)};
    for (int i = -1; i < turns; i++) {
        cost of[2];
        for (int k = 0; k < 2; k++)
            of[(i + k) & 1] = learn(&demos[(i + k) & 1], epochs);
        if (i >= 0)
            note(f, of);
    }
    for (int i = 0; i < 2; i++)
        end(&demos[i].program);
}

static void measure_demo(bench *b)
{
    static figures f;
    bool software = acu_device_info_of(b->device)->software;
    int couples = bench_count(b, software ? 1 : COUPLES, 1), turns = bench_count(b, TURNS, 1);
    for (int i = 0; i < couples; i++)
        measure_couple(&f, turns, b->quick ? 2 : software ? LINES / 2 : LINES);
    report(b, "the demo, traced", "time of an epoch without a trace", &f);
}

/* ---- the server ---- */

typedef struct server {
    program program;
    clockid_t clock;
    int clients[CLIENTS];
} server;

static int connect_to(int port)
{
    const int yes = 1;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        bench_die("the server can not be reached");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

static server start_server(bool traced)
{
    server s = {.program = start("examples/servers/epoll", traced,
                                 (const char *const[]){"epoll", "0", NULL})};
    int port = (int)read_number(&s.program, "listening on 127.0.0.1:%lf");
    for (int i = 0; i < CLIENTS; i++)
        s.clients[i] = connect_to(port);
    s.clock = clock_of(&s.program);
    return s;
}

static void send_all(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n <= 0)
            bench_die("the server does not read");
        bytes += n;
        count -= (size_t)n;
    }
}

/* Waits for so many lines; each must be the answer to "1 1 2 3". */
static void read_answers(int fd, int count)
{
    static const char right[] = "739982445 1479964890 2219947335\n";
    char bytes[4096];
    size_t at = 0;
    while (count) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0)
            bench_die("the server does not answer");
        for (ssize_t i = 0; i < n; i++) {
            count -= bytes[i] == '\n';
            if (bytes[i] != right[at])
                bench_wrong("the server's answer is wrong: byte %zu is %c", at, bytes[i]);
            at = right[at + 1] ? at + 1 : 0;
        }
    }
}

static void ask(const server *s, int client, int requests)
{
    static const char request[] = "1 1 2 3\n";
    char bytes[IN_FLIGHT * sizeof request] = "";
    for (int i = 0; i < requests; i++)
        memcpy(bytes + (size_t)i * (sizeof request - 1), request, sizeof request - 1);
    send_all(s->clients[client], bytes, (size_t)requests * (sizeof request - 1));
}

/* For a while, `clients` with so many requests each in flight. Of one request. */
static cost load(const server *s, int clients, int requests, double us)
{
    double begin = bench_now_us(), before = cpu_us(s->clock), end;
    long answered = 0;
    for (int c = 0; c < clients; c++)
        ask(s, c, requests);
    do {
        for (int c = 0; c < clients; c++, answered += requests) {
            read_answers(s->clients[c], requests);
            ask(s, c, requests);
        }
        end = bench_now_us();
    } while (end - begin < us);
    cost total = {.us = end - begin, .cpu_us = cpu_us(s->clock) - before};
    for (int c = 0; c < clients; c++)
        read_answers(s->clients[c], requests);
    return (cost){.us = total.us / (double)answered, .cpu_us = total.cpu_us / (double)answered};
}

static void measure_load(figures *f, const server servers[2], int turns, int clients, int requests,
                         double us)
{
    for (int i = -1; i < turns; i++) {
        cost of[2];
        for (int k = 0; k < 2; k++)
            of[(i + k) & 1] = load(&servers[(i + k) & 1], clients, requests, us);
        if (i >= 0)
            note(f, of);
    }
}

static void stop_server(server *s)
{
    for (int i = 0; i < CLIENTS; i++)
        close(s->clients[i]);
    kill(s->program.pid, SIGTERM);
    finish(&s->program);
}

static void measure_server(bench *b)
{
    static figures one, many;
    int couples = bench_count(b, COUPLES, 1), turns = bench_count(b, TURNS, 1);
    for (int c = 0; c < couples; c++) {
        server servers[2] = {start_server(false), start_server(true)};
        measure_load(&one, servers, turns, 1, 1, b->quick ? 0 : SLICE_US);
        measure_load(&many, servers, turns, CLIENTS, IN_FLIGHT, b->quick ? 0 : SLICE_US);
        for (int i = 0; i < 2; i++)
            stop_server(&servers[i]);
    }
    report(b, "the server, traced: one client, a request at a time",
           "time of a request without a trace", &one);
    report(b, "the server, traced: 8 clients with 16 requests each in flight",
           "time of a request without a trace", &many);
}

int main(int argc, char **argv)
{
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    for (int up = 0; up < 2; up++)
        *(strrchr(folder, '/') ? strrchr(folder, '/') : folder) = 0;
    snprintf(trace_path, sizeof trace_path, "/tmp/acuda-bench-trace-%ld", (long)getpid());
    unsetenv("ACUDA_TRACE"); /* of this process, which opens a device too */
    setenv("SOFTCUDA_DEVICES", "1", 0); /* more replicas learn in more epochs */
    bench b = bench_open_host("trace", argc, argv);
    measure_demo(&b);
    measure_server(&b);
    unlink(trace_path);
    return bench_close(&b);
}
