/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Collectives by NCCL among real processes, which meet by a file: random programs (programs.h),
 * processes that die, are stopped or never come, and checked mode. This program starts itself once
 * for each process, with a GPU each; with two GPUs for each (ACUDA_TEST_DEVICES) where there are
 * enough. On the software device, whose NCCL is of one process only, one process has all ranks.
 *
 *   ACUDA_COMM_SEED   the first program (1)
 *   ACUDA_COMM_SEEDS  how many of each kind (1)
 */
#include "comm/player.h"
#include "comm/model.h"
#include "vendor/with_library.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "comm/libfake_nccl.so"

static int processes, each; /* how many, and devices of each */
static int rank, total;     /* in one of them: of its first device, and how many there are */

/* ---- what a process is doing, should it hang ------------------------------------------------- */

static _Atomic(const char *) doing = "starting";

/* A thread's way to where it is: to be seen by the names of functions. */
static void tell_stack(int signal)
{
    void *frames[24];
    (void)signal;
    backtrace_symbols_fd(frames, backtrace(frames, 24), 2);
}

/* One after the other: the names are of the kernel, and the stacks of glibc. */
static void tell_threads(void)
{
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *one; threads && (one = readdir(threads));) {
        int thread = atoi(one->d_name);
        char path[64], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
        FILE *file = fopen(path, "r");
        if (!file)
            continue;
        if (fgets(name, sizeof name, file))
            fprintf(stderr, "  thread %s", name);
        fclose(file);
        if (thread != gettid() && syscall(SYS_tgkill, getpid(), thread, SIGUSR2) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    if (threads)
        closedir(threads);
}

/* Says it now and then; nothing depends on it. */
static void *watch(void *unused)
{
    for (unsigned seconds = 20;; seconds += 20) {
        sleep(20);
        fprintf(stderr, "rank %d of %d, after %u s: %s\n", rank, total, seconds,
                atomic_load(&doing));
        if (seconds == 20)
            tell_threads();
    }
    return unused;
}

static void begin_watch(void)
{
    pthread_t thread;
    struct sigaction handler = {.sa_handler = tell_stack, .sa_flags = SA_RESTART};
    backtrace((void *[1]){NULL}, 1); /* loads what it needs */
    sigaction(SIGUSR2, &handler, NULL);
    assert_int_equal(pthread_create(&thread, NULL, watch, NULL), 0);
    pthread_detach(thread);
}

/* ---- a process ------------------------------------------------------------------------------- */

static acu_device *mine[RANKS];
static const char *meeting;

static void open_devices(void)
{
    each = (int)number_in("ACUDA_TEST_EACH", 1);
    int process = (int)number_in("ACUDA_RANK", 0);
    total = (int)number_in("ACUDA_RANKS", 1) * each;
    rank = process * each;
    meeting = getenv("ACUDA_TEST_MEETING");
    if (!test_on_gpu())
        with_fake(ACU_VENDOR_NCCL, LIBRARY);
    for (int i = 0; i < each; i++) {
        acu_open_options options = test_options(rank + i);
        assert_works(acu_open(&options, &mine[i]));
    }
}

static void close_devices(void)
{
    for (int i = 0; i < each; i++)
        test_close(mine[i]);
    test_leaks_none();
}

static acu_comm *open_with(bool checked, uint64_t timeout)
{
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_NCCL, .devices = mine,
                                .device_count = (size_t)each, .checked = checked,
                                .rank = rank / each, .ranks = total / each, .file = meeting,
                                .timeout = timeout};
    assert_works(acu_comm_open(&options, &comm));
    assert_int_equal(acu_comm_ranks(comm), total);
    return comm;
}

/* An all-reduce of ones, of `n` elements by this process. */
static acu_op *adding(acu_comm *comm, acu_tensor **x, int n)
{
    acu_op *ops[RANKS];
    acu_collective add = {.kind = ACU_ALL_REDUCE, .reduction = ACU_REDUCE_SUM};
    for (int i = 0; i < each; i++) {
        assert_works(acu_sync(mine[i], acu_ones(ACU_I32, ACU_SHAPE(n)), &x[i]));
        ops[i] = acu_value(x[i]);
    }
    return acu_op_collective(comm, &add, NULL, ops, (size_t)each, ACU_SITE);
}

static void release_all(acu_tensor **x)
{
    for (int i = 0; i < each; i++)
        acu_tensor_release(x[i]);
}

static void add_up(acu_comm *comm, int want)
{
    acu_tensor *x[RANKS];
    assert_works(acu_sync(mine[0], adding(comm, x, 1), NULL));
    for (int i = 0; i < each; i++)
        holds(x[i], &want);
    release_all(x);
}

/* ---- random programs ------------------------------------------------------------------------- */

static void play_a_program(void **state)
{
    (void)state;
    static program p;
    static player x;
    acu_comm *left;
    open_devices();
    uint64_t number = number_in("ACUDA_TEST_PROGRAM", 2);
    limit = ACU_MS(1500);
    deal_program(&p, number, total, each == 1, number % 2 && total > each ? TROUBLES - 1 : 0);
    x.p = &p;
    x.first = rank;
    x.here = each;
    x.file = meeting;
    memcpy(x.devices, mine, sizeof mine);
    if (rank == 0)
        say(&p);
    open_comm(&x, ACU_COMM_NCCL, x.file, rank / each, total / each);
    play(&x);
    if (x.gone)
        kill(getpid(), SIGKILL);
    x.comm->timeout = ACU_FOREVER;
    assert_works(acu_comm_shrink(x.comm, &p.troubled, p.trouble >= GONE_TOLD, &left));
    assert_works(acu_comm_close(x.comm, ACU_SECONDS(5)));
    x.comm = left;
    go_on(&x);
    close_devices();
}

static void match_a_serial_model(void **state)
{
    (void)state;
    open_devices();
    acu_comm *comm = open_with(true, 0);
    ranks = total;
    first = rank;
    here = (size_t)each;
    memcpy(devices, mine, sizeof mine);
    random_programs(comm, 10);
    assert_works(acu_comm_close(comm, ACU_FOREVER));
    close_devices();
}

/* ---- trouble --------------------------------------------------------------------------------- */

/* The others learn that the last process is lost, and which ranks it had; and go on. */
static void go_on_without_the_last(acu_comm *comm, const char *words)
{
    acu_tensor *x[RANKS];
    int lost[RANKS];
    acu_comm *left;
    comm->timeout = ACU_MS(1500);
    doing = "an all-reduce without the last process";
    acu_status status = acu_sync(mine[0], adding(comm, x, 1), NULL);
    print_message("rank %d: %s\n", rank, acu_last_error()->message);
    if (status != ACU_ERR_DRIVER)
        assert_fails(status, ACU_ERR_DEADLINE, words);
    size_t count = acu_comm_lost(comm, lost, RANKS);
    assert_int_equal(count, each);
    assert_int_equal(lost[0], total - each);
    release_all(x);
    comm->timeout = ACU_FOREVER;
    doing = "making a communicator of those left";
    assert_works(acu_comm_shrink(comm, lost, count, &left));
    doing = "an all-reduce of those left";
    add_up(left, total - each);
    doing = "closing that of those left";
    assert_works(acu_comm_close(left, ACU_FOREVER));
    doing = "closing that with the last process";
    print_message("rank %d went on without %zu\n", rank, count);
    if (acu_comm_close(comm, ACU_SECONDS(5)) != ACU_ERR_DEADLINE) {
        close_devices();
        return;
    }
    /* NCCL's abort can take for as long as the other process is there, stopped. */
    print_message("rank %d: %s\n", rank, acu_last_error()->message);
    fflush(stdout);
    _exit(0);
}

static void lose_one(void **state)
{
    (void)state;
    open_devices();
    acu_comm *comm = open_with(false, 0);
    add_up(comm, total);
    if (rank == total - each && total > each)
        kill(getpid(), SIGKILL);
    if (total > each)
        go_on_without_the_last(comm, "lost: rank");
    else
        assert_works(acu_comm_close(comm, ACU_FOREVER));
}

static void stop_one(void **state)
{
    (void)state;
    open_devices();
    acu_comm *comm = open_with(false, 0);
    add_up(comm, total);
    if (rank == total - each && total > each)
        kill(getpid(), SIGSTOP); /* until it is killed */
    if (total > each)
        go_on_without_the_last(comm, "lost: rank");
    else
        assert_works(acu_comm_close(comm, ACU_FOREVER));
}

/* The last one is not started. */
static void wait_for_one(void **state)
{
    (void)state;
    open_devices();
    acu_comm *comm;
    acu_comm_options options = {.size = sizeof options, .backend = ACU_COMM_NCCL, .devices = mine,
                                .device_count = (size_t)each, .rank = rank / each,
                                .ranks = total / each + 1, .file = meeting,
                                .timeout = test_on_gpu() ? ACU_SECONDS(3) : ACU_MS(50)};
    assert_fails(acu_comm_open(&options, &comm), ACU_ERR_DEADLINE, "too long|missing");
    fflush(stdout);
    _exit(0); /* what NCCL has begun is left */
}

/* Process 1 has another count. */
static void disagree(void **state)
{
    (void)state;
    open_devices();
    acu_comm *comm = open_with(true, ACU_SECONDS(20));
    acu_tensor *x[RANKS];
    acu_op *op = adding(comm, x, rank == each ? 2 : 1);
    if (total == each)
        assert_works(acu_sync(mine[0], op, NULL));
    else
        assert_fails(acu_sync(mine[0], op, NULL), ACU_ERR_INVALID,
                     "disagree: rank|count 2|rank 0 of count 1");
    release_all(x);
    assert_works(acu_comm_close(comm, ACU_FOREVER));
    close_devices();
}

static const struct role {
    const char *name;
    void (*run)(void **state);
    bool last_is_gone; /* the last process is to be killed, or ends so */
    bool last_is_left_out;
} roles[] = {
    {"program", play_a_program, false, false},     {"model", match_a_serial_model, false, false},
    {"lose", lose_one, true, false},               {"stop", stop_one, true, false},
    {"wait", wait_for_one, false, true},           {"disagree", disagree, false, false},
};

static int run_role(const char *name)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, name) == 0) {
            const struct CMUnitTest tests[] = {{roles[i].name, roles[i].run, NULL, NULL, NULL}};
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    return 2;
}

/* ---- all of them ----------------------------------------------------------------------------- */

extern char **environ;

static void set_number(const char *variable, int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    setenv(variable, text, 1);
}

static pid_t start(const char *role, int process)
{
    char self[] = "/proc/self/exe", *arguments[] = {self, NULL};
    pid_t pid;
    setenv("ACUDA_TEST_ROLE", role, 1);
    set_number("ACUDA_RANK", process);
    set_number("ACUDA_RANKS", processes);
    set_number("ACUDA_TEST_EACH", each);
    assert_int_equal(posix_spawn(&pid, self, NULL, NULL, arguments, environ), 0);
    return pid;
}

/* Exit status 0, or killed, which is right where `gone` says so. */
static bool ended_well(pid_t pid, bool gone)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    bool well = gone ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0;
    if (!well)
        print_message("a process ended with %d\n", status);
    return well;
}

static void run(const char *role, int gone)
{
    char folder[] = "/tmp/acuda-processes-XXXXXX", file[64], command[64];
    pid_t pids[RANKS];
    bool well = true;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/meet", folder);
    setenv("ACUDA_TEST_MEETING", file, 1);
    int most = processes;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, role) == 0 && processes > 1) {
            gone = roles[i].last_is_gone ? processes - 1 : gone;
            processes -= roles[i].last_is_left_out;
        }
    for (int i = 0; i < processes; i++)
        pids[i] = start(role, i);
    for (int i = 0; i < processes; i++)
        well &= i == gone || ended_well(pids[i], false);
    if (gone >= 0) {
        kill(pids[gone], SIGKILL); /* it may be stopped */
        well &= ended_well(pids[gone], true);
    }
    processes = most;
    snprintf(command, sizeof command, "rm -r %s", folder); /* what a killed one left, too */
    assert_int_equal(system(command), 0);
    assert_true(well);
}

/* The software device's NCCL is of one process. */
static void begin(void)
{
    int count = RANKS;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    if (test_on_gpu())
        assert_works(acu_device_count_load(&options, &count));
    else
        with_fake(ACU_VENDOR_NCCL, LIBRARY);
    count = count > RANKS ? RANKS : count;
    each = test_on_gpu() ? (int)number_in("ACUDA_TEST_DEVICES", 1) : count;
    processes = count / each;
    if (count < 2)
        skip();
}

static void programs_by_real_processes(void **state)
{
    (void)state;
    static program p;
    begin();
    uint64_t from = number_in("ACUDA_COMM_SEED", 1), seeds = number_in("ACUDA_COMM_SEEDS", 1);
    int all = processes * each;
    for (uint64_t n = 2 * from; n < 2 * (from + seeds); n++) {
        set_number("ACUDA_TEST_PROGRAM", (int)n);
        deal_program(&p, n, all, each == 1, n % 2 && processes > 1 ? TROUBLES - 1 : 0);
        run("program", p.trouble >= GONE_TOLD ? p.troubled / each : -1);
    }
}

static void checked_collectives_match_a_serial_model(void **state)
{
    (void)state;
    begin();
    run("model", -1);
}

static void one_that_dies_is_named(void **state)
{
    (void)state;
    begin();
    run("lose", -1);
}

static void one_that_is_stopped_is_named(void **state)
{
    (void)state;
    begin();
    run("stop", -1);
}

static void one_that_never_comes_is_not_waited_for(void **state)
{
    (void)state;
    begin();
    run("wait", -1);
}

static void those_that_disagree_are_named(void **state)
{
    (void)state;
    begin();
    run("disagree", -1);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const char *role = getenv("ACUDA_TEST_ROLE");
    if (role) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        begin_watch();
        return run_role(role);
    }
    const struct CMUnitTest tests[] = {
        TEST(programs_by_real_processes),
        TEST(checked_collectives_match_a_serial_model),
        TEST(one_that_dies_is_named),
        TEST(one_that_is_stopped_is_named),
        TEST(one_that_never_comes_is_not_waited_for),
        TEST(those_that_disagree_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
