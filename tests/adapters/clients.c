/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The example servers, as their clients see them. Each is started as a program, on the device under
 * test, used by several clients, some of which misbehave, and ended. Its answers must be right, and
 * it must end without an error. It checks by itself that no handles are left over; descriptors are
 * counted here.
 *
 * usage: clients SERVER-PROGRAM
 */
#include "support/support.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 4096, LONG_ROUNDS = 20000, MOST_NUMBERS = 256 };

static const char *program;

static struct {
    pid_t pid;
    int port;
    int output;
    size_t descriptors; /* before the first client */
} server;

typedef struct client {
    int fd;
    char bytes[1 << 16]; /* received and not read yet */
    size_t begin, filled;
} client;

/* ---- the server ---- */

static size_t count_descriptors(void)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)server.pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void become_server(int output, const char *busy_poll)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!test_on_gpu())
        setenv("ACUDA_DRIVER", "software", 1);
    else
        unsetenv("ACUDA_DRIVER");
    dup2(output, STDOUT_FILENO);
    execl(program, program, "0", busy_poll, (char *)NULL);
    _exit(126);
}

static void start_server(const char *busy_poll)
{
    int ends[2];
    char line[128] = "";
    (void)test_options(0); /* ends the test where this build has no device for it */
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    server.pid = fork();
    assert_true(server.pid >= 0);
    if (server.pid == 0)
        become_server(ends[1], busy_poll);
    close(ends[1]);
    server.output = ends[0];
    for (size_t n = 0; n + 1 < sizeof line && !strchr(line, '\n'); n++)
        if (read(ends[0], &line[n], 1) != 1)
            fail_msg("%s did not start", program);
    assert_int_equal(sscanf(line, "listening on 127.0.0.1:%d", &server.port), 1);
    server.descriptors = count_descriptors();
}

static void tell_server_to_end(void)
{
    assert_int_equal(kill(server.pid, SIGTERM), 0);
}

/* It ends by itself, and nothing is left over. */
static void await_server(void)
{
    int status = -1;
    assert_int_equal(waitpid(server.pid, &status, 0), server.pid);
    close(server.output);
    if (WIFSIGNALED(status))
        fail_msg("signal %d ended %s", WTERMSIG(status), program);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void end_server(void)
{
    while (count_descriptors() != server.descriptors) /* the server notices that clients are gone */
        poll(NULL, 0, 1);
    tell_server_to_end();
    await_server();
}

/* ---- clients ---- */

static int try_to_connect(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)server.port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static client *join(void)
{
    client *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->fd = try_to_connect();
    assert_true(c->fd >= 0);
    return c;
}

static void leave(client *c)
{
    close(c->fd);
    free(c);
}

/* The client disappears without notice: nobody receives its answers. */
static void vanish(client *c)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    leave(c);
}

static void say_bytes(client *c, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = send(c->fd, bytes, count, MSG_NOSIGNAL);
        assert_true(n > 0);
        bytes += n;
        count -= (size_t)n;
    }
}

static void say(client *c, const char *text)
{
    say_bytes(c, text, strlen(text));
}

/* Receives more from the server; false at the end of its output. */
static bool receive(client *c)
{
    memmove(c->bytes, c->bytes + c->begin, c->filled - c->begin);
    c->filled -= c->begin;
    c->begin = 0;
    assert_true(c->filled < sizeof c->bytes);
    ssize_t n = recv(c->fd, c->bytes + c->filled, sizeof c->bytes - c->filled, 0);
    assert_true(n >= 0);
    c->filled += (size_t)n;
    return n > 0;
}

/* The next line, without its end, valid until the next call; NULL: there is no more. */
static const char *hear(client *c)
{
    char *end;
    while (!(end = memchr(c->bytes + c->begin, '\n', c->filled - c->begin)))
        if (!receive(c)) {
            assert_int_equal(c->begin, c->filled);
            return NULL;
        }
    char *line = c->bytes + c->begin;
    *end = '\0';
    c->begin = (size_t)(end - c->bytes) + 1;
    return line;
}

/* ---- requests ---- */

static uint32_t number_of(uint32_t seed, int i)
{
    return seed * 2654435761u + (uint32_t)i * 40503u;
}

static uint32_t stretch(uint32_t x, uint32_t rounds)
{
    for (uint32_t round = 0; round < rounds; round++)
        x = (x ^ x >> 15) * 0x2c1b3c6du + round;
    return x;
}

/* A request of `count` numbers that follow from the seed, as a line; its length. */
static size_t write_request(char *line, uint32_t rounds, uint32_t seed, int count)
{
    size_t n = (size_t)sprintf(line, "%u", rounds);
    for (int i = 0; i < count; i++)
        n += (size_t)sprintf(line + n, " %u", number_of(seed, i));
    line[n++] = '\n';
    line[n] = '\0';
    return n;
}

static void ask(client *c, uint32_t rounds, uint32_t seed, int count)
{
    char line[LINE];
    say_bytes(c, line, write_request(line, rounds, seed, count));
}

static void check_answer(const char *line, uint32_t rounds, uint32_t seed, int count)
{
    assert_non_null(line);
    for (int i = 0; i < count; i++) {
        char *end;
        uint32_t want = stretch(number_of(seed, i), rounds);
        unsigned long got = strtoul(line, &end, 10);
        if (end == line || got != want)
            fail_msg("number %d of request %u is not %u: %s", i, seed, want, line);
        line = end;
    }
    assert_string_equal(line, "");
}

static void hear_answer(client *c, uint32_t rounds, uint32_t seed, int count)
{
    check_answer(hear(c), rounds, seed, count);
}

/* ---- tests ---- */

static void answers_one_client(void **state)
{
    (void)state;
    start_server("0");
    client *c = join();
    for (uint32_t i = 0; i < 5; i++) {
        ask(c, i, i, 1 + (int)i * 60);
        hear_answer(c, i, i, 1 + (int)i * 60);
    }
    leave(c);
    end_server();
}

/* More requests at once than the server has in work at a time; answers come in the same order. */
static void answers_requests_in_order(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static char text[MANY * 64];
    size_t n = 0;
    start_server("0");
    client *c = join();
    for (uint32_t i = 0; i < MANY; i++)
        n += write_request(text + n, i % 7 == 0 ? 500 : i % 3, i, 1 + (int)i % 3);
    say_bytes(c, text, n);
    for (uint32_t i = 0; i < MANY; i++)
        hear_answer(c, i % 7 == 0 ? 500 : i % 3, i, 1 + (int)i % 3);
    leave(c);
    end_server();
}

static void serve_crowd(const char *busy_poll)
{
    enum { CLIENTS = 16, EACH = 8 };
    client *crowd[CLIENTS];
    start_server(busy_poll);
    for (uint32_t i = 0; i < CLIENTS; i++)
        crowd[i] = join();
    for (uint32_t k = 0; k < EACH; k++)
        for (uint32_t i = 0; i < CLIENTS; i++)
            ask(crowd[i], i == 0 ? LONG_ROUNDS / 10 : k, i * 100 + k, 40);
    for (uint32_t i = CLIENTS; i-- > 0;)
        for (uint32_t k = 0; k < EACH; k++)
            hear_answer(crowd[i], i == 0 ? LONG_ROUNDS / 10 : k, i * 100 + k, 40);
    for (uint32_t i = 0; i < CLIENTS; i++)
        leave(crowd[i]);
    end_server();
}

static void answers_many_clients(void **state)
{
    (void)state;
    serve_crowd("0");
}

static void answers_many_clients_looking_without_pause(void **state)
{
    (void)state;
    serve_crowd("1000");
}

static void must_refuse(client *c, const char *words)
{
    const char *line = hear(c);
    assert_non_null(line);
    if (strncmp(line, "error ", 6) != 0 || !strstr(line, words))
        fail_msg("not an error about \"%s\": %s", words, line);
}

static void refuses_what_is_no_request(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "\n", "hello\n", "5\n", "x 1\n", "1 2 x\n", "1 2x\n", "-1 2\n", "1 -2\n", "1 4294967296\n",
        "10000001 1\n", "99999999999999999999999 1\n", "1 1.5\n", " \n", "\r\n"};
    start_server("0");
    client *c = join(), *other = join();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        say(c, wrong[i]);
        must_refuse(c, "a request is: ROUNDS");
        ask(c, 3, (uint32_t)i, 2); /* and goes on */
        hear_answer(c, 3, (uint32_t)i, 2);
    }
    say_bytes(c, "1 2\0 3\n\xff\xfe\n", 10);
    must_refuse(c, "a request is");
    must_refuse(c, "a request is");
    ask(c, 1, 1, MOST_NUMBERS);
    hear_answer(c, 1, 1, MOST_NUMBERS);
    ask(c, 1, 1, MOST_NUMBERS + 1);
    must_refuse(c, "at most 256");
    for (int i = 0; i < 1000; i++) /* one line */
        say(c, "1234567890");
    say(c, "\n 2 7 \r\n");
    must_refuse(c, "too long");
    assert_int_equal(strtoul(hear(c), NULL, 10), stretch(7, 2));
    ask(other, 3, 3, 3);
    hear_answer(other, 3, 3, 3);
    leave(c);
    leave(other);
    end_server();
}

static void clients_may_go_while_their_work_runs(void **state)
{
    (void)state;
    start_server("0");
    client *stays = join();
    for (uint32_t round = 0; round < 5; round++) {
        client *a = join(), *b = join(), *c = join();
        ask(a, LONG_ROUNDS, round, 64);
        ask(a, LONG_ROUNDS, round + 1, 64);
        ask(a, 1, 1, 1);
        ask(b, LONG_ROUNDS, round, 64);
        say(b, "3 17 ");
        ask(c, 1, round, 1);
        ask(c, LONG_ROUNDS, round, 64);
        hear_answer(c, 1, round, 1); /* so the next request was read as well, or soon will be */
        vanish(a);
        leave(b);
        vanish(c);
        ask(stays, round, round, 10);
        hear_answer(stays, round, round, 10);
    }
    leave(stays);
    end_server();
}

static void half_closed_clients_get_their_answers(void **state)
{
    (void)state;
    start_server("0");
    client *c = join();
    for (uint32_t i = 0; i < 50; i++)
        ask(c, 50 - i, i, 5);
    say(c, "2 7"); /* the last line needs no end */
    assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
    for (uint32_t i = 0; i < 50; i++)
        hear_answer(c, 50 - i, i, 5);
    assert_int_equal(strtoul(hear(c), NULL, 10), stretch(7, 2));
    assert_null(hear(c));
    leave(c);
    end_server();
}

/* Sends much more than a session takes at a time, and then ends its side. */
static void half_closed_clients_may_have_asked_for_much(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static char text[MANY * 32];
    size_t n = 0;
    start_server("0");
    client *c = join();
    for (uint32_t i = 0; i < MANY; i++)
        n += write_request(text + n, 1, i, 1);
    say_bytes(c, text, n);
    assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
    for (uint32_t i = 0; i < MANY; i++)
        hear_answer(c, 1, i, 1);
    assert_null(hear(c));
    leave(c);
    end_server();
}

static size_t lowest_free_descriptor(void)
{
    char path[64], link[8];
    for (size_t fd = 0;; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%zu", (int)server.pid, fd);
        if (readlink(path, link, sizeof link) < 0)
            return fd;
    }
}

/* The server has nothing to do, for a while. */
static void await_sleep(void)
{
    for (int still = 0; still < 30; still++) {
        if (!test_threads_sleep(server.pid))
            still = 0;
        poll(NULL, 0, 1);
    }
}

/* The server hangs up on such clients, and sleeps. (It may accept one: io_uring looks at the limit
 * when it begins to wait.) */
static void clients_for_whom_no_descriptor_is_left(void **state)
{
    (void)state;
    enum { CLIENTS = 3 };
    client *clients[CLIENTS];
    struct rlimit limit, none;
    start_server("0");
    client *early = join();
    ask(early, 1, 1, 1);
    hear_answer(early, 1, 1, 1);
    assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, NULL, &limit), 0);
    none = (struct rlimit){lowest_free_descriptor(), limit.rlim_max};
    assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, &none, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = join();
    assert_null(hear(clients[CLIENTS - 1]));
    await_sleep();
    assert_int_equal(prlimit(server.pid, RLIMIT_NOFILE, &limit, NULL), 0);
    client *late = join();
    ask(late, 2, 2, 2);
    hear_answer(late, 2, 2, 2);
    ask(early, 3, 3, 3);
    hear_answer(early, 3, 3, 3);
    for (int i = 0; i < CLIENTS; i++)
        leave(clients[i]);
    leave(early);
    leave(late);
    end_server();
}

/* The client sends until its socket takes no more, and only then reads: the server must not buffer
 * without bound. */
static void clients_may_listen_late(void **state)
{
    (void)state;
    enum { REQUESTS = 1500 };
    char line[LINE];
    uint32_t asked = 0, heard = 0;
    size_t left = 0, length = 0;
    start_server("0");
    client *c = join();
    while (heard < REQUESTS) {
        struct pollfd fd = {.fd = c->fd, .events = POLLOUT};
        if (left == 0 && asked < REQUESTS)
            left = length = write_request(line, 1, asked++, MOST_NUMBERS);
        if (left > 0 && poll(&fd, 1, 0) == 1) {
            ssize_t n = send(c->fd, line + length - left, left, MSG_DONTWAIT | MSG_NOSIGNAL);
            assert_true(n > 0 || errno == EAGAIN);
            left -= n > 0 ? (size_t)n : 0;
        } else {
            hear_answer(c, 1, heard++, MOST_NUMBERS);
        }
    }
    leave(c);
    end_server();
}

static void ending_drains(void **state)
{
    (void)state;
    char text[3 * LINE];
    start_server("0");
    client *c = join(), *silent = join();
    ask(silent, 1, 1, 1);
    hear_answer(silent, 1, 1, 1); /* so the client was accepted */
    size_t n = write_request(text, 1, 1, 1);
    for (uint32_t i = 2; i < 5; i++)
        n += write_request(text + n, LONG_ROUNDS, i, 64);
    memcpy(text + n, "3 1", 3); /* not a whole line: the server does not wait for the rest */
    say_bytes(c, text, n + 3);
    hear_answer(c, 1, 1, 1); /* requests that came with this one are in work */
    tell_server_to_end();
    for (uint32_t i = 2; i < 5; i++)
        hear_answer(c, LONG_ROUNDS, i, 64);
    assert_null(hear(c));
    assert_null(hear(silent));
    await_server();
    assert_int_equal(try_to_connect(), -1);
    leave(c);
    leave(silent);
}

/* A client that never reads keeps the server from ending, until a second signal comes. */
static void ending_twice_does_not_wait(void **state)
{
    (void)state;
    char line[LINE];
    size_t n = write_request(line, 0, 1, MOST_NUMBERS);
    start_server("0");
    client *c = join();
    for (int at = 0, still = 0; still < 30; still++) { /* until no buffer takes more */
        ssize_t sent = send(c->fd, line + at, n - (size_t)at, MSG_DONTWAIT | MSG_NOSIGNAL);
        at = sent > 0 ? (at + (int)sent) % (int)n : at;
        if (sent > 0 || !test_threads_sleep(server.pid))
            still = 0;
        else
            poll(NULL, 0, 1);
    }
    tell_server_to_end();
    for (int fd; (fd = try_to_connect()) >= 0; poll(NULL, 0, 1)) /* until the signal has taken
                                                                  * effect */
        close(fd);
    tell_server_to_end();
    await_server();
    leave(c);
}

/* Does this thread of the server leave SIGTERM to others? */
static bool blocks_the_signal(const char *thread)
{
    char path[300], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)server.pid, thread);
    FILE *file = fopen(path, "r");
    if (!file)
        return true; /* it has ended meanwhile */
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
            break;
    fclose(file);
    return blocked >> (SIGTERM - 1) & 1;
}

/* Whichever library started the thread: otherwise a signal at the very end would kill the
 * process. */
static void no_thread_takes_the_signal(void **state)
{
    (void)state;
    char path[64];
    start_server("0");
    client *c = join();
    ask(c, 16, 1, 3);
    hear_answer(c, 16, 1, 3);
    snprintf(path, sizeof path, "/proc/%d/task", (int)server.pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *thread; (thread = readdir(folder));)
        if (thread->d_name[0] != '.')
            assert_true(blocks_the_signal(thread->d_name));
    closedir(folder);
    leave(c);
    end_server();
}

/* A signal does not kill the server even at its very end, when it no longer reads signals. */
static void ending_often_ends_well(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        start_server("0");
        for (int k = 0; k < 30; k++)
            tell_server_to_end();
        await_server();
    }
}

static bool io_uring_is_forbidden(void)
{
    char parameters[256] = {0};
    long fd = syscall(SYS_io_uring_setup, 1, parameters);
    if (fd >= 0)
        close((int)fd);
    return fd < 0 && (errno == EPERM || errno == ENOSYS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_one_client),
        cmocka_unit_test(answers_requests_in_order),
        cmocka_unit_test(answers_many_clients),
        cmocka_unit_test(answers_many_clients_looking_without_pause),
        cmocka_unit_test(refuses_what_is_no_request),
        cmocka_unit_test(clients_may_go_while_their_work_runs),
        cmocka_unit_test(half_closed_clients_get_their_answers),
        cmocka_unit_test(half_closed_clients_may_have_asked_for_much),
        cmocka_unit_test(clients_for_whom_no_descriptor_is_left),
        cmocka_unit_test(clients_may_listen_late),
        cmocka_unit_test(ending_drains),
        cmocka_unit_test(ending_twice_does_not_wait),
        cmocka_unit_test(no_thread_takes_the_signal),
        cmocka_unit_test(ending_often_ends_well),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: clients SERVER-PROGRAM\n");
        return 2;
    }
    program = argv[1];
    if (strstr(program, "uring") && io_uring_is_forbidden()) {
        printf("skipped: the system refuses io_uring: %s\n", strerror(errno));
        return 77;
    }
    return cmocka_run_group_tests_name(program, tests, NULL, NULL);
}
