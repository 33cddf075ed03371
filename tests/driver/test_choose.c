/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which driver a process gets, and what it says about it. A process chooses once, so each case is a
 * process of its own: this program started again, with libraries that pose as libcuda.so.1 (built
 * from fake/fake_driver.c) where the loader looks first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <acuda/debug.h>
#include <acuda/driver.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the child: opens as told, and prints what came of it ------------------------------------ */

static void print_outcome(acu_status st)
{
    const acu_error *error = acu_last_error();
    printf("status: %s\n", acu_status_name(st));
    if (st < 0)
        printf("message: %s\ncall: %s\nresult: %s\n", error->message,
               error->driver_call ? error->driver_call : "-",
               error->driver_name ? error->driver_name : "-");
    char text[8192];
    size_t length = acu_driver_describe(text, sizeof text);
    printf("%s", text);
    if (length >= sizeof text)
        printf("description was cut\n");
    const acu_driver_info *info = acu_driver_info_of();
    if (info)
        printf("info: software %d version %d max %d devices %d\n", info->software, info->version,
               info->max_version, info->devices);
}

static void print_entries(void)
{
    const acu_driver_table *cu = acu_driver();
    if (!cu)
        return;
    printf("has cuFuncGetParamInfo: %d\n", acu_driver_has(ACU_CALL_FuncGetParamInfo));
    printf("has cuStreamCreate: %d\n", acu_driver_has(ACU_CALL_StreamCreate));
    if (!acu_driver_has(ACU_CALL_FuncGetParamInfo)) {
        size_t offset, size;
        printf("cuFuncGetParamInfo: %u\n", cu->FuncGetParamInfo(NULL, 0, &offset, &size));
    }
    if (!acu_driver_has(ACU_CALL_StreamCreate)) {
        CUstream stream;
        printf("cuStreamCreate: %u\n", cu->StreamCreate(&stream, 0));
        printf("cuStreamWriteValue32: %u\n", cu->StreamWriteValue32(NULL, 0, 0, 0));
    }
}

static int child_again(const char *request)
{
    acu_driver_options again = {.size = sizeof again, .request = request};
    const acu_driver_table *table = NULL;
    acu_status st = acu_driver_open(&again, &table);
    printf("again %s: %s\n", request ? request : "anything", acu_status_name(st));
    if (st < 0)
        printf("again message: %s\n", acu_last_error()->message);
    else if (table != acu_driver())
        printf("another table\n");
    return 0;
}

static void *open_in_thread(void *options)
{
    const acu_driver_table *table = NULL;
    return acu_driver_open(options, &table) == ACU_OK ? (void *)(uintptr_t)table : NULL;
}

static void child_threads(acu_driver_options *options)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    acu_driver_count_calls(true);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, open_in_thread, options);
    bool same = true;
    for (int i = 0; i < THREADS; i++) {
        void *table;
        pthread_join(threads[i], &table);
        same = same && table && table == (const void *)acu_driver();
    }
    printf("threads: %s, started %d times\n", same ? "one table" : "several tables",
           (int)acu_driver_calls(ACU_CALL_Init));
}

static void child_fork(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        acu_status st = acu_driver_open(NULL, NULL);
        _exit(st == ACU_ERR_FORKED ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    printf("fork: %s\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "refused" : "not refused");
}

/* A start that fails once leaves nothing behind: the next one works. */
static void child_retry(acu_driver_options *options, const char *call)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = acu_driver_call_find(call)};
    acu_driver_fail(&fault);
    acu_status st = acu_driver_open(options, NULL);
    printf("failing %s: %s %s\n", call, acu_status_name(st), acu_last_error()->driver_call);
    printf("table after failure: %s\n", acu_driver() ? "there" : "none");
    acu_driver_fail_clear();
}

/* Words: request=R, allow, max=N, twice=R, threads, fork, retry=CALL */
static int child(int argc, char **argv)
{
    acu_driver_options options = {.size = sizeof options};
    const char *twice[4];
    int twices = 0;
    bool threads = false, forks = false;
    const char *retry = NULL;
    for (int i = 0; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        value = value ? value + 1 : "";
        if (strncmp(argv[i], "request=", 8) == 0)
            options.request = value;
        else if (strcmp(argv[i], "allow") == 0)
            options.allow_software = true;
        else if (strncmp(argv[i], "max=", 4) == 0)
            options.max_version = atoi(value);
        else if (strncmp(argv[i], "twice=", 6) == 0 && twices < 4)
            twice[twices++] = value;
        else if (strncmp(argv[i], "retry=", 6) == 0)
            retry = value;
        threads = threads || strcmp(argv[i], "threads") == 0;
        forks = forks || strcmp(argv[i], "fork") == 0;
    }
    if (retry)
        child_retry(&options, retry);
    if (threads)
        child_threads(&options);
    print_outcome(acu_driver_open(&options, NULL));
    print_entries();
    for (int i = 0; i < twices; i++)
        child_again(*twice[i] ? twice[i] : NULL);
    if (forks)
        child_fork();
    return 0;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static char output[16384];

/* The path of the fake `name`, in the folder "fake" beside this program. */
static const char *fake(const char *name, const char *file)
{
    static char path[PATH_MAX];
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    assert_true(snprintf(path, sizeof path, "%s/fake/%s%s", self, name, file) < PATH_MAX);
    return path;
}

extern char **environ;

/* The environment without acuda's variables, with LD_LIBRARY_PATH and `extra` ("A=b", or NULL). */
static char **make_environment(const char *library_path, const char *const *extra)
{
    static char *list[512];
    static char search[2 * PATH_MAX];
    size_t count = 0;
    for (char **e = environ; *e && count < 480; e++)
        if (strncmp(*e, "ACUDA_", 6) != 0 &&
            (!library_path || strncmp(*e, "LD_LIBRARY_PATH=", 16) != 0))
            list[count++] = *e;
    if (library_path) {
        const char *old = getenv("LD_LIBRARY_PATH");
        snprintf(search, sizeof search, "LD_LIBRARY_PATH=%s%s%s", library_path, old ? ":" : "",
                 old ? old : "");
        list[count++] = search;
    }
    for (; extra && *extra; extra++)
        list[count++] = (char *)(uintptr_t)*extra;
    list[count] = NULL;
    return list;
}

static void read_all(int fd)
{
    size_t length = 0;
    for (;;) {
        ssize_t n = read(fd, output + length, sizeof output - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    output[length] = '\0';
}

/* Run the child with a fake (NULL: the machine's own libraries); its output is in `output`. */
static void run(const char *fake_name, const char *const *env, const char *const *words)
{
    char *argv[16] = {(char *)(uintptr_t) "test_choose", (char *)(uintptr_t) "child"};
    for (int i = 0; words[i]; i++)
        argv[i + 2] = (char *)(uintptr_t)words[i];
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    posix_spawn_file_actions_addclose(&actions, fds[1]);
    pid_t pid;
    int rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv,
                         make_environment(fake_name ? fake(fake_name, "") : NULL, env));
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    assert_int_equal(rc, 0);
    read_all(fds[0]);
    close(fds[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %x and said:\n%s", (unsigned)status, output);
}

#define RUN(fake_name, env, ...) run((fake_name), (env), (const char *const[]){__VA_ARGS__, NULL})
#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void says(const char *words)
{
    if (!strstr(output, words))
        fail_msg("expected \"%s\" in:\n%s", words, output);
}

static void says_not(const char *words)
{
    if (strstr(output, words))
        fail_msg("did not expect \"%s\" in:\n%s", words, output);
}

/* Cases about a missing libcuda.so.1 need a machine without one. */
static void need_no_driver(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        dlclose(handle);
        skip();
    }
}

static void need_software(void)
{
#if !ACUDA_WITH_SOFTCUDA
    skip();
#endif
}

/* ---- a GPU, or what poses as one ------------------------------------------------------------- */

static void a_gpu_is_chosen(void **state)
{
    (void)state;
    RUN("working", NULL, "-");
    says("status: ACU_OK\n");
    says("/fake/working/libcuda.so.1\n");
    says("version: CUDA 12.3, 2 devices\n");
    says("why: a GPU is there, and nothing else was asked for\n");
    says("info: software 0 version 12030 max 0 devices 2\n");
    says_not("description was cut");
    RUN("working", ENV("ACUDA_ALLOW_SOFTWARE=1"), "allow");
    says("/fake/working/libcuda.so.1\n"); /* allowing is not asking for it */
}

static void missing_calls_are_named_and_refused(void **state)
{
    (void)state;
    RUN("working", NULL, "-");
    says("newer than this driver: ");
    says("missing, although drivers of this version have them: cuGetErrorName");
    says("has cuFuncGetParamInfo: 0\n"); /* exported, but newer than the driver says it is */
    says("cuFuncGetParamInfo: 801\n");
    says("has cuStreamCreate: 0\n");
    says("cuStreamCreate: 801\n");
    says("cuStreamWriteValue32: 32\n"); /* the older symbol stands in */
    says("without cuMemAllocFromPoolAsync: device memory is allocated by waiting calls");
}

static void a_limit_hides_what_is_newer(void **state)
{
    (void)state;
    RUN("working", ENV("ACUDA_DRIVER_MAX=11.4"), "-");
    says("info: software 0 version 12030 max 11040");
    says("limit: nothing newer than CUDA 11.4 is used\n");
    says("hidden by the limit: ");
    says("cuStreamWriteValue32: 32\n");
    RUN("working", ENV("ACUDA_DRIVER_MAX=12010"), "max=11040");
    says("max 11040");
    RUN("working", ENV("ACUDA_DRIVER_MAX=11040"), "max=12010");
    says("max 11040");
    RUN("working", ENV("ACUDA_DRIVER_MAX=11.2"), "-");
    says("status: ACU_ERR_INVALID\n");
    says("ACUDA_DRIVER_MAX is no CUDA version to limit the driver to");
    RUN("working", ENV("ACUDA_DRIVER_MAX=twelve"), "-");
    says("status: ACU_ERR_INVALID\n");
    RUN("working", ENV("ACUDA_DRIVER_MAX=11.+4"), "-");
    says("status: ACU_ERR_INVALID\n");
    RUN("working", ENV("ACUDA_DRIVER_MAX= 12.1"), "-");
    says("status: ACU_ERR_INVALID\n");
    RUN("working", NULL, "max=7");
    says("status: ACU_ERR_INVALID\n");
}

/* The stand-in is taken for the system's driver, as its user wants, but not for a GPU. */
static void the_stand_in_is_told_from_a_gpu(void **state)
{
    (void)state;
    need_software();
    RUN("../../../lib/softcuda", NULL, "-");
    says("status: ACU_OK\n");
    says("driver: software CUDA device in /");
    says("lib/softcuda/libcuda.so");
    says("why: it stands where the system's driver is looked for, and nothing else was asked for");
    says("info: software 1 ");
    says("has cuStreamCreate: 1\n");
}

/* ---- no GPU ---------------------------------------------------------------------------------- */

static void without_a_library_software_must_be_allowed(void **state)
{
    (void)state;
    need_no_driver();
    RUN(NULL, NULL, "-");
    says("status: ACU_ERR_NO_DRIVER\n");
    says("libcuda.so.1");
    says("ACUDA_ALLOW_SOFTWARE=1");
    says("driver: none chosen: ");
    RUN(NULL, ENV("ACUDA_ALLOW_SOFTWARE=0"), "-");
    says("status: ACU_ERR_NO_DRIVER\n");
    RUN(NULL, ENV("ACUDA_ALLOW_SOFTWARE=no"), "-"); /* "no" is not a yes */
    says("status: ACU_ERR_INVALID\n");
    says("ACUDA_ALLOW_SOFTWARE is \"no\": 1 allows");
    RUN(NULL, ENV("ACUDA_ALLOW_SOFTWARE=01"), "-"); /* nor is this */
    says("status: ACU_ERR_INVALID\n");
    need_software();
    RUN(NULL, NULL, "allow");
    says("status: ACU_OK\n");
    says("driver: software CUDA device, built in\n");
    says("libcuda.so.1: ");
    says("and the program allows it\n");
    RUN(NULL, ENV("ACUDA_ALLOW_SOFTWARE=1"), "-");
    says("and ACUDA_ALLOW_SOFTWARE allows it\n");
}

static void without_a_device_software_must_be_allowed(void **state)
{
    (void)state;
    const char *const fakes[] = {"no_device", "count_zero"};
    for (int i = 0; i < 2; i++) {
        RUN(fakes[i], NULL, "-");
        says("status: ACU_ERR_NO_DRIVER\n");
        says("libcuda.so.1 finds no device");
        says("allow_software");
    }
    need_software();
    for (int i = 0; i < 2; i++) {
        RUN(fakes[i], NULL, "allow");
        says("status: ACU_OK\n");
        says("driver: software CUDA device, built in\n");
        says("libcuda.so.1 finds no device), and the program allows it\n");
    }
}

/* ---- drivers that are there, and fail -------------------------------------------------------- */

static void a_driver_that_fails_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *fake, *status, *words, *call, *result;
    } cases[] = {
        {"init_fails", "ACU_ERR_DRIVER", "libcuda.so.1 is there, but does not start", "cuInit",
         "CUDA_ERROR_UNKNOWN"},
        {"stub", "ACU_ERR_DRIVER", "a toolkit's stub", "cuInit", "CUDA_ERROR_STUB_LIBRARY"},
        {"not_a_driver", "ACU_ERR_DRIVER", "is not a CUDA driver: it has no cuInit", "-", "-"},
        {"damaged", "ACU_ERR_DRIVER", "can not be loaded: ", "-", "-"},
        {"needs_gone", "ACU_ERR_DRIVER", "libacuda_fake_gone.so", "-", "-"},
        {"old", "ACU_ERR_NOT_SUPPORTED", "is a driver for CUDA 11.2; acuda needs one for CUDA 11.4",
         "-", "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* It is never a reason to fall back, whoever allows the software device. */
        RUN(cases[i].fake, ENV("ACUDA_ALLOW_SOFTWARE=1"), "allow");
        char line[128];
        snprintf(line, sizeof line, "status: %s\n", cases[i].status);
        says(line);
        says(cases[i].words);
        snprintf(line, sizeof line, "call: %s\nresult: %s\n", cases[i].call, cases[i].result);
        says(line);
        says("driver: none chosen: ");
    }
}

static void a_failed_start_can_be_repeated(void **state)
{
    (void)state;
    static const char *const calls[] = {"cuDriverGetVersion", "cuInit", "cuDeviceGetCount"};
    for (int i = 0; i < 3; i++) {
        char word[64], line[128];
        snprintf(word, sizeof word, "retry=%s", calls[i]);
        RUN("working", NULL, word);
        snprintf(line, sizeof line, "failing %s: ACU_ERR_DRIVER %s\n", calls[i], calls[i]);
        says(line);
        says("table after failure: none\n");
        says("status: ACU_OK\n");
    }
}

/* ---- explicit requests ----------------------------------------------------------------------- */

static void requests_are_obeyed_or_fail(void **state)
{
    (void)state;
    char request[PATH_MAX + 32];
    snprintf(request, sizeof request, "ACUDA_DRIVER=%s", fake("working", "/libcuda.so.1"));
    RUN("init_fails", ENV(request), "-");
    says("status: ACU_OK\n");
    says("/fake/working/libcuda.so.1\n");
    says("why: ACUDA_DRIVER asks for it\n");
    snprintf(request, sizeof request, "request=%s", fake("working", "/libcuda.so.1"));
    RUN("init_fails", ENV("ACUDA_DRIVER=gpu"), request); /* the program before its user */
    says("why: the program asks for it\n");
    RUN("no_device", ENV("ACUDA_ALLOW_SOFTWARE=1"), "request=gpu", "allow");
    says("status: ACU_ERR_NO_DRIVER\n");
    says("the program asks for a GPU, which is not available: ");
    RUN(NULL, ENV("ACUDA_DRIVER=/nowhere/libcuda.so.1"), "allow");
    says("status: ACU_ERR_NO_DRIVER\n");
    says("/nowhere/libcuda.so.1");
    RUN("working", ENV("ACUDA_DRIVER=nvidia"), "allow");
    says("status: ACU_ERR_INVALID\n");
    says("ACUDA_DRIVER asks for the driver \"nvidia\": say gpu, software, or the path");
    says("driver: none chosen: "); /* and why */
    need_software();
    RUN("working", ENV("ACUDA_DRIVER=software"), "-");
    says("driver: software CUDA device, built in\n");
    RUN("working", NULL, "request=software");
    says("info: software 1 ");
}

static void a_process_has_one_driver(void **state)
{
    (void)state;
    char same[PATH_MAX + 32];
    snprintf(same, sizeof same, "twice=%s", fake("working", "/../working/libcuda.so.1"));
    char request[PATH_MAX + 32];
    snprintf(request, sizeof request, "request=%s", fake("working", "/libcuda.so.1"));
    RUN(NULL, NULL, request, same, "twice=", "twice=software", "twice=gpu");
    says("working/libcuda.so.1: ACU_OK\n");
    says("again anything: ACU_OK\n");
    says("again software: ACU_ERR_BUSY\n");
    says("(the program asks for it); it can not change to the software device: a process has one");
    says("again gpu: ACU_ERR_BUSY\n");
    says_not("another table");
}

static void threads_share_one_start(void **state)
{
    (void)state;
    RUN("working", NULL, "threads");
    says("threads: one table, started 1 times\n");
}

static void a_forked_child_is_refused(void **state)
{
    (void)state;
    RUN("working", NULL, "fork");
    says("fork: refused\n");
}

/* ---- in this process, which chooses nothing -------------------------------------------------- */

static void before_a_choice(void **state)
{
    (void)state;
    char text[256];
    assert_null(acu_driver());
    assert_null(acu_driver_info_of());
    assert_false(acu_driver_has(ACU_CALL_Init));
    acu_driver_describe(text, sizeof text);
    assert_string_equal(text, "driver: none chosen yet\n");
    assert_int_equal(acu_driver_describe(text, 8), strlen("driver: none chosen yet\n"));
    assert_string_equal(text, "driver:");
    assert_int_equal(acu_driver_describe(NULL, 0), strlen("driver: none chosen yet\n"));
    acu_driver_options sizeless = {.allow_software = true};
    assert_int_equal(acu_driver_open(&sizeless, NULL), ACU_ERR_INVALID);
    assert_non_null(strstr(acu_last_error()->message, "set the options' size"));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return child(argc - 2, argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_a_choice),
        cmocka_unit_test(a_gpu_is_chosen),
        cmocka_unit_test(missing_calls_are_named_and_refused),
        cmocka_unit_test(a_limit_hides_what_is_newer),
        cmocka_unit_test(the_stand_in_is_told_from_a_gpu),
        cmocka_unit_test(without_a_library_software_must_be_allowed),
        cmocka_unit_test(without_a_device_software_must_be_allowed),
        cmocka_unit_test(a_driver_that_fails_is_an_error),
        cmocka_unit_test(a_failed_start_can_be_repeated),
        cmocka_unit_test(requests_are_obeyed_or_fail),
        cmocka_unit_test(a_process_has_one_driver),
        cmocka_unit_test(threads_share_one_start),
        cmocka_unit_test(a_forked_child_is_refused),
    };
    return cmocka_run_group_tests_name("driver.choose", tests, NULL, NULL);
}
