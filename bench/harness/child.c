/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A process that measures for this one: the same program, with other arguments, whose first line of
 * output is read. Uses nothing of acuda, because bench/start measures what acuda adds.
 */
#include "child.h"

#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool start(const char *const *arguments, const int ends[2], pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int error = posix_spawn(child, "/proc/self/exe", &actions, NULL,
                            (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0;
}

bool bench_child(const char *const *arguments, char *line, size_t bytes)
{
    int ends[2], status;
    pid_t child;
    if (pipe(ends) != 0)
        return false;
    bool runs = start(arguments, ends, &child);
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    bool said = runs && out && fgets(line, (int)bytes, out);
    if (out)
        fclose(out);
    else
        close(ends[0]);
    return runs && waitpid(child, &status, 0) == child && status == 0 && said;
}
