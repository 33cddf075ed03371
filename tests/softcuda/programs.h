/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs that a test runs in processes of their own, since the environment at the driver's start
 * decides what they see. They are cases of the same test program, which do nothing when it is run
 * as a whole; a program passes or fails, as a case does.
 */
#ifndef TESTS_SOFTCUDA_PROGRAMS_H
#define TESTS_SOFTCUDA_PROGRAMS_H

#include "softcuda/driver_test.h"

/* The first line of a program, and of a test. */
#define PROGRAM(state) \
    (void)(state); \
    if (!own_case()) \
    return
#define TEST(state) \
    (void)(state); \
    if (own_case()) \
        return; \
    software_only()

/* Run a program in an environment of so many settings, "NAME=VALUE" each; whether it passed. */
static inline bool passes(const char *name, const char *const *settings, size_t count)
{
    char self[] = "/proc/self/exe", which[128];
    char *arguments[] = {self, NULL}, *environment[8] = {which};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    snprintf(which, sizeof which, "ACUDA_TEST_CASE=%s", name);
    assert_true(count < 7);
    for (size_t i = 0; i < count; i++)
        environment[i + 1] = (char *)(uintptr_t)settings[i];
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(posix_spawn(&child, self, &actions, NULL, arguments, environment), 0);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

#endif
