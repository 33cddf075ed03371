/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs that end at any moment: with devices open, with work and callbacks in flight, from any
 * thread, after a fault. Each is a process of its own, which must end at once, with its own exit
 * status, and print nothing.
 */
#include "support/support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <acuda/queue.h>

extern const char test_exit_ptx[];
extern char **environ;

enum { HANGS_S = 60, STATUS = 5, MANY = 200 };

/* ---- the programs: no test framework there ---- */

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != ACU_OK) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error()->message);                         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

typedef struct bed {
    acu_device *device;
    acu_kernel *busy;
    acu_tensor *x;
} bed;

static bed open_bed(bool runtime_thread)
{
    bed b;
    acu_module *module;
    acu_open_options options = test_options(0);
    options.runtime_thread = runtime_thread;
    MUST(acu_open(&options, &b.device));
    MUST(acu_module_load(b.device, ACU_PTX(NULL, test_exit_ptx), &module));
    MUST(acu_kernel_get(module, "busy", &b.busy));
    MUST(acu_sync(b.device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &b.x));
    return b;
}

static acu_op *busy(const bed *b, int turns, int stop)
{
    return acu_launch(b->busy, ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(b->x), acu_i32(turns),
                      acu_i32(stop));
}

static void submit_many(const bed *b)
{
    for (int i = 0; i < MANY; i++)
        MUST(acu_submit(b->device, busy(b, 1000, 0), NULL, NULL));
}

static void end_idle(void)
{
    open_bed(false);
    exit(STATUS);
}

static void end_in_flight(void)
{
    bed b = open_bed(false);
    submit_many(&b);
    exit(STATUS);
}

static void end_handed_over(void)
{
    bed b = open_bed(true);
    submit_many(&b);
    exit(STATUS);
}

static void note(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    sched_yield();
}

static void end_with_callbacks(void)
{
    bed b = open_bed(false);
    acu_queue *queue;
    MUST(acu_queue_create(NULL, &queue));
    acu_submit_options options = {.size = sizeof options, .queue = queue};
    for (int i = 0; i < MANY; i++) {
        acu_future *future;
        MUST(acu_submit(b.device, busy(&b, 1000, 0), &options, &future));
        MUST(acu_future_when_complete(future, NULL, 0, note, ACU_USER(NULL, NULL)));
    }
    exit(STATUS);
}

static void exit_in_callback(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    exit(STATUS);
}

static void end_in_a_callback(void)
{
    bed b = open_bed(false);
    acu_future *future;
    submit_many(&b);
    MUST(acu_submit(b.device, busy(&b, 1000, 0), NULL, &future));
    MUST(acu_future_when_complete(future, NULL, 0, exit_in_callback, ACU_USER(NULL, NULL)));
    for (;;)
        pause();
}

static void *exit_here(void *unused)
{
    (void)unused;
    exit(STATUS);
}

/* Goes on until the process ends, whatever the calls return then. */
static void *go_on(void *context)
{
    const bed *b = context;
    for (;;) {
        acu_future *future = NULL;
        acu_submit(b->device, busy(b, 1000, 0), NULL, &future);
        acu_future_wait(future, ACU_FOREVER);
        acu_future_release(future);
    }
    return NULL;
}

static void end_on_another_thread(void)
{
    bed b = open_bed(false);
    pthread_t thread;
    submit_many(&b);
    if (pthread_create(&thread, NULL, exit_here, NULL) != 0)
        _exit(1);
    go_on(&b);
}

static void end_under_other_threads(void)
{
    static bed b;
    pthread_t threads[3];
    b = open_bed(false);
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, go_on, &b) != 0)
            _exit(1);
    for (int i = 0; i < MANY; i++)
        MUST(acu_sync(b.device, busy(&b, 100, 0), NULL));
    exit(STATUS);
}

static acu_status sleep_long(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    for (;;)
        pause();
    return ACU_OK;
}

static void end_with_host_work(void)
{
    bed b = open_bed(false);
    MUST(acu_submit(b.device,
                    acu_op_host(sleep_long, ACU_USER(NULL, NULL),
                                ACU_ARGS(acu_inout(acu_to_host(b.x))), ACU_SITE),
                    NULL, NULL));
    exit(STATUS);
}

static void end_after_a_fault(void)
{
    bed b = open_bed(false);
    acu_future *future;
    MUST(acu_submit(b.device, busy(&b, 1, 1), NULL, &future));
    if (acu_future_wait(future, ACU_FOREVER) != ACU_ERR_DEVICE_LOST)
        _exit(1);
    exit(STATUS);
}

static void end_during_a_fault(void)
{
    bed b = open_bed(false);
    MUST(acu_submit(b.device, busy(&b, 1, 1), NULL, NULL));
    exit(STATUS);
}

/* An exit handler that the program registered before anything else runs after those of the
 * driver. */
static acu_future *late;

static void ask_late(void)
{
    acu_future_poll(late);
    acu_future_cancel(late);
    acu_future_release(late);
    acu_tensor *x = NULL;
    acu_sync(NULL, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x);
    acu_tensor_release(x);
}

static void end_with_a_late_handler(void)
{
    if (atexit(ask_late) != 0)
        _exit(1);
    bed b = open_bed(false);
    submit_many(&b);
    MUST(acu_submit(b.device, busy(&b, 1000, 0), NULL, &late));
    exit(STATUS);
}

static void close_in_handler(void)
{
    acu_device *device = acu_device_default();
    if (device)
        acu_close(device);
}

static void end_closing_in_a_handler(void)
{
    if (atexit(close_in_handler) != 0)
        _exit(1);
    bed b = open_bed(false);
    submit_many(&b);
    exit(STATUS);
}

static void end_in_a_child(void)
{
    bed b = open_bed(false);
    int status = -1;
    submit_many(&b);
    pid_t child = fork();
    if (child == 0)
        exit(STATUS);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        _exit(1);
    MUST(acu_device_wait(b.device, ACU_FOREVER));
    exit(WEXITSTATUS(status));
}

/* The main thread ends, the process does not: the parent ends that by SIGTERM. */
static void end_by_signal(void)
{
    bed b = open_bed(false);
    submit_many(&b);
    pthread_exit(NULL);
}

static void end_by_signal_closed(void)
{
    bed b = open_bed(false);
    acu_tensor_release(b.x);
    acu_kernel_release(b.busy);
    MUST(acu_close(b.device));
    pthread_exit(NULL);
}

/* The shared library, unloaded under its threads. */
static void end_after_dlclose(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    if (length <= 0)
        _exit(1);
    path[length] = '\0';
    for (int i = 0; i < 3; i++) /* tests/engine/test_exit */
        *strrchr(path, '/') = '\0';
    strcat(path, "/lib/libacuda.so.0");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        _exit(1);
    acu_status (*open_device)(const acu_open_options *, acu_device **);
    acu_status (*submit)(acu_device *, acu_op *, const acu_submit_options *, acu_future **);
    acu_op *(*zeros)(acu_dtype, acu_shape, acu_site);
    *(void **)&open_device = dlsym(library, "acu_open");
    *(void **)&submit = dlsym(library, "acu_submit");
    *(void **)&zeros = dlsym(library, "acu_op_zeros");
    acu_open_options options = test_options(0);
    acu_device *device;
    if (open_device(&options, &device) != ACU_OK)
        _exit(1);
    for (int i = 0; i < MANY; i++)
        if (submit(device, zeros(ACU_I32, ACU_SHAPE(1000), (acu_site){0}), NULL, NULL) != ACU_OK)
            _exit(1);
    dlclose(library);
    exit(STATUS);
}

/* ---- in the parent ---- */

static void child_options(char **environment, size_t room)
{
    size_t n = 0;
    for (char **e = environ; *e && n + 2 < room; e++)
        if (strncmp(*e, "ASAN_OPTIONS=", 13) != 0)
            environment[n++] = *e;
    environment[n++] = "ASAN_OPTIONS=detect_leaks=0"; /* open devices at exit are the subject */
    environment[n] = NULL;
}

/* Its output on both streams can be read from *output. */
static pid_t spawn(const char *name, int *output)
{
    int ends[2];
    pid_t child;
    char *environment[512], *arguments[] = {"test_exit", (char *)(uintptr_t)name, NULL};
    posix_spawn_file_actions_t actions;
    child_options(environment, 512);
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    assert_int_equal(
        posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environment), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = ends[0];
    return child;
}

/* Its output goes to `words`, as far as there is room. */
static pid_t start(const char *name, char *words, size_t room)
{
    int output;
    pid_t child = spawn(name, &output);
    size_t used = 0;
    ssize_t n;
    while (used + 1 < room && (n = read(output, words + used, room - 1 - used)) > 0)
        used += (size_t)n;
    words[used] = '\0';
    close(output);
    return child;
}

/* Waits until the process's main thread is over. */
static void main_thread_over(pid_t child)
{
    char path[64], line[256], *state = NULL;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)child);
    do {
        sched_yield();
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(line, sizeof line, file));
        fclose(file);
        state = strrchr(line, ')');
        assert_non_null(state);
    } while (state[2] != 'Z');
}

/* SIGTERM ends a process whose main thread is over. (Where nothing is left of the driver's threads
 * either, it may have ended by itself before.) */
static void ends_by_signal(const char *name)
{
    int output, status = -1;
    pid_t child = spawn(name, &output);
    main_thread_over(child);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(output);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) &&
        !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        fail_msg("%s: wait status %#x", name, (unsigned)status);
}

static void programs_end_by_signal(void **state)
{
    (void)state;
    ends_by_signal("end_by_signal");
}

static void programs_end_by_signal_closed(void **state)
{
    (void)state;
    ends_by_signal("end_by_signal_closed");
}

static void ends_well(const char *name)
{
    char words[4096];
    int status = -1;
    pid_t child = start(name, words, sizeof words);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != STATUS || words[0])
        fail_msg("%s: wait status %#x%s; it says: %s", name, (unsigned)status,
                 WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (it hangs)" : "", words);
}

#define PROGRAMS(X)                                                                                \
    X(end_idle)                                                                                    \
    X(end_in_flight)                                                                               \
    X(end_handed_over)                                                                             \
    X(end_with_callbacks)                                                                          \
    X(end_in_a_callback)                                                                           \
    X(end_on_another_thread)                                                                       \
    X(end_under_other_threads)                                                                     \
    X(end_with_host_work)                                                                          \
    X(end_after_a_fault)                                                                           \
    X(end_during_a_fault)                                                                          \
    X(end_with_a_late_handler)                                                                     \
    X(end_closing_in_a_handler)                                                                    \
    X(end_in_a_child)                                                                              \
    X(end_after_dlclose)

#define TEST(name)                                                                                 \
    static void programs_##name(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        ends_well(#name);                                                                          \
    }
PROGRAMS(TEST)
#undef TEST

int main(int count, char **arguments)
{
    if (count > 1) {
        alarm(HANGS_S);
#define RUN(name)                                                                                  \
    if (strcmp(arguments[1], #name) == 0)                                                          \
        name();
        PROGRAMS(RUN)
        RUN(end_by_signal)
        RUN(end_by_signal_closed)
        return 1;
    }
#define TEST(name) cmocka_unit_test(programs_##name),
    const struct CMUnitTest tests[] = {PROGRAMS(TEST)
                                           cmocka_unit_test(programs_end_by_signal),
                                       cmocka_unit_test(programs_end_by_signal_closed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
