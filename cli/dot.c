/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A graph goes to a file, or through dot: see dot.h. */
#include "dot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef void (*put_fn)(void *context, FILE *to);

static int say(const char *what, int error)
{
    fprintf(stderr, "acuda: %s: %s\n", what, strerror(error));
    return CLI_FAILED;
}

static int write_text(const char *path, put_fn put, void *context)
{
    FILE *to = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!to)
        return say(path, errno);
    put(context, to);
    bool failed = ferror(to);
    failed |= (to == stdout ? fflush(to) : fclose(to)) != 0;
    return failed ? say(path, errno) : CLI_OK;
}

/* Starts dot, which reads what is written to *graph, and writes the file. The error, or 0. */
static int start_dot(const char *path, int *graph, pid_t *pid)
{
    char *const words[] = {(char[]){"dot"}, (char[]){"-Tsvg"}, (char[]){"-o"},
                           (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    int error = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (error)
        close(ends[1]);
    *graph = ends[1];
    return error;
}

static int draw(const char *path, put_fn put, void *context)
{
    int graph = -1, status;
    pid_t pid;
    int error = start_dot(path, &graph, &pid);
    if (error) {
        fprintf(stderr, "acuda: the program dot, which draws plans, can not be started (%s): "
                        "apt-get install graphviz, or name a file that ends in .dot\n",
                strerror(error));
        return CLI_FAILED;
    }
    signal(SIGPIPE, SIG_IGN); /* dot may end before it has read all; its status says so */
    FILE *to = fdopen(graph, "w");
    if (to) {
        put(context, to);
        fclose(to);
    } else {
        close(graph);
    }
    if (waitpid(pid, &status, 0) == pid && status == 0 && to)
        return CLI_OK;
    fprintf(stderr, "acuda: %s was not drawn: dot failed\n", path);
    return CLI_FAILED;
}

int dot_write(const char *path, put_fn put, void *context)
{
    const char *ending = strrchr(path, '.');
    return ending && strcmp(ending, ".svg") == 0 ? draw(path, put, context)
                                                 : write_text(path, put, context);
}
