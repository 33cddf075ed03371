/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Names for profilers: what a profiler is told, by each interface, and that nothing is told if
 * there is none. The way is chosen once in a process, so each case is a process of its own.
 */
#include "support/support.h"

#include "fake_nvtx.h"

#include <dlfcn.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The folder of this program, and a file in it. */
static void beside(char *path, const char *file)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    assert_true(snprintf(path, PATH_MAX, "%s/%s", self, file) < PATH_MAX);
}

/* ---- in the child ---- */

static acu_status on_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static const fake_nvtx_log *read_log(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    void *symbol = dlsym(library, "fake_nvtx_read");
    const fake_nvtx_log *(*read)(void);
    memcpy(&read, &symbol, sizeof read);
    return read();
}

static int find(const fake_nvtx_log *log, char what, const char *name)
{
    for (int i = 0; i < log->count; i++)
        if (log->calls[i].what == what && strstr(log->calls[i].name, name))
            return i;
    return -1;
}

static void submit_named(acu_device *device)
{
    acu_submit_options options = {.size = sizeof options, .name = "one frame"};
    acu_op *op = acu_op_named(acu_full(ACU_SHAPE(64), acu_f32(1)), "background");
    acu_op *host = acu_op_named(acu_op_host(on_host, ACU_USER(NULL),
                                            ACU_ARGS(acu_in(acu_to_host(op))), ACU_SITE), "look");
    acu_future *future = NULL;
    assert_works(acu_submit(device, host, &options, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

static void is_told(void **state)
{
    (void)state;
    acu_device *device = test_open();
    submit_named(device);
    test_close(device);
    test_leaks_none();
    const fake_nvtx_log *log = read_log(getenv("FAKE_NVTX"));
    assert_non_null(log);
    assert_true(find(log, 's', "acuda 0.") >= 0);
    int frame = find(log, '(', "one frame"), fill = find(log, '(', "background");
    assert_true(frame >= 0 && fill > frame);
    assert_true(find(log, '(', "look") > fill);
    int depth = 0;
    for (int i = 0; i < log->count; i++)
        depth += log->calls[i].what == '(' ? 1 : log->calls[i].what == ')' ? -1 : 0;
    assert_int_equal(depth, 0);
    assert_int_equal(log->unmatched, 0);
}

static void is_told_nothing(void **state)
{
    (void)state;
    acu_device *device = test_open();
    submit_named(device);
    test_close(device);
    test_leaks_none();
    assert_null(read_log(getenv("FAKE_NVTX"))); /* it was not even loaded */
}

/* ---- in the parent ---- */

/* This program again, as `role`, with the fake library in the variables given. */
static void runs(const char *role, const char *library, const char *injection, const char *acuda)
{
    char path[PATH_MAX], value[PATH_MAX];
    beside(path, library);
    assert_int_equal(access(path, R_OK), 0);
    setenv("NVTX_ROLE", role, 1);
    setenv("FAKE_NVTX", path, 1);
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("ACUDA_NVTX");
    if (injection)
        setenv("NVTX_INJECTION64_PATH", *injection ? injection : path, 1);
    snprintf(value, sizeof value, "%s", acuda && !*acuda ? path : acuda ? acuda : "");
    if (acuda)
        setenv("ACUDA_NVTX", value, 1);
    char *argv[] = {(char *)(uintptr_t)"test_nvtx", NULL};
    pid_t pid;
    int status = 0, output = memfd_create("output", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, output, 1), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, output, 2), 0);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    char text[4096];
    ssize_t n = status ? pread(output, text, sizeof text - 1, 0) : 0;
    close(output);
    if (n > 0) /* otherwise its tests are not counted */
        print_error("%.*s", (int)n, text);
    unsetenv("NVTX_ROLE");
    unsetenv("NVTX_INJECTION64_PATH");
    unsetenv("ACUDA_NVTX");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* there is no device */
    assert_int_equal(status, 0);
}

static void a_profiler_asks(void **state)
{
    (void)state;
    runs("told", "libfake_nvtx_tool.so", "", NULL);
    runs("told", "libfake_nvtx_tool.so", "", "1");
}

static void the_user_asks(void **state)
{
    (void)state;
    runs("told", "libfake_nvtx_library.so", NULL, "");
    runs("told", "libfake_nvtx_library.so", "/nowhere/tool.so", ""); /* no such profiler */
}

static void nobody_asks(void **state)
{
    (void)state;
    runs("nothing", "libfake_nvtx_tool.so", NULL, NULL);
    runs("nothing", "libfake_nvtx_tool.so", "", "0"); /* the user says no */
    runs("nothing", "libfake_nvtx_library.so", NULL, "1"); /* not where the loader looks */
    runs("nothing", "libfake_nvtx_library.so", NULL, "/nowhere/libnvToolsExt.so.1");
}

int main(void)
{
    const char *role = getenv("NVTX_ROLE");
    const struct CMUnitTest told[] = {cmocka_unit_test(is_told)};
    const struct CMUnitTest nothing[] = {cmocka_unit_test(is_told_nothing)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_profiler_asks),
                                       cmocka_unit_test(the_user_asks),
                                       cmocka_unit_test(nobody_asks)};
    if (role && strcmp(role, "told") == 0)
        return cmocka_run_group_tests(told, NULL, NULL);
    if (role)
        return cmocka_run_group_tests(nothing, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
