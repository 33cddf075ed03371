/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Temporary folders, and programs that run in them. */
#include "kernel/folder.h"

#include "base/error.h"
#include "base/object.h"
#include "kernel/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static acu_status fail_here(const char *what, const char *path, int error)
{
    char words[128];
    return acui_fail(ACU_ERR_IO, "%s %s: %s (TMPDIR can name another folder for temporary files)",
                     what, path, strerror_r(error, words, sizeof words));
}

acu_status acui_folder_make(acui_folder *folder)
{
    const char *where = secure_getenv("TMPDIR");
    int kept = errno;
    if (!where || !*where || strlen(where) > sizeof folder->path / 2)
        where = "/tmp";
    snprintf(folder->path, sizeof folder->path, "%s/acuda-XXXXXX", where);
    acu_status st = ACU_OK;
    if (!mkdtemp(folder->path))
        st = fail_here("making", folder->path, errno);
    if (st == ACU_OK) {
        folder->spare = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder->spare < 0) {
            st = fail_here("opening", folder->path, errno);
            rmdir(folder->path);
        }
    }
    errno = kept;
    return st;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    remove(path);
    return 0;
}

void acui_folder_remove(acui_folder *folder)
{
    int kept = errno;
    close(folder->spare);
    nftw(folder->path, remove_one, 1, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    errno = kept;
}

static bool path_in(const acui_folder *folder, const char *name, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
    return n > 0 && n < PATH_MAX;
}

static acu_status write_at(char *path, size_t inside, const void *data, size_t bytes)
{
    for (char *c = path + inside; (c = strchr(c, '/')); c++) {
        *c = '\0';
        mkdir(path, 0700); /* or it exists already */
        *c = '/';
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return fail_here("making", path, errno);
    acu_status st = ACU_OK;
    for (const char *at = data; bytes && st == ACU_OK;) {
        ssize_t n = write(file, at, bytes);
        if (n < 0 && errno != EINTR)
            st = fail_here("writing", path, errno);
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    if (close(file) != 0 && st == ACU_OK)
        st = fail_here("writing", path, errno);
    return st;
}

acu_status acui_folder_write(acui_folder *folder, const char *name, const void *data, size_t bytes)
{
    char path[PATH_MAX];
    int kept = errno;
    if (!path_in(folder, name, path))
        return acui_fail(ACU_ERR_IO, "the path of %s is too long", name);
    acu_status st = write_at(path, strlen(folder->path) + 1, data, bytes);
    errno = kept;
    return st;
}

acu_status acui_folder_read(acui_folder *folder, const char *name, char **data, size_t *bytes)
{
    char path[PATH_MAX];
    if (!path_in(folder, name, path))
        return acui_fail(ACU_ERR_IO, "the path of %s is too long", name);
    return acui_file_read(path, data, bytes);
}

/* ---- running ---- */

/* Starts the child with no signal blocked or ignored, unlike our own threads, and with none of our
 * files open. */
static int start(pid_t *child, const char *const *args, const char *output)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC,
                                                 0600);
    if (!error)
        error = posix_spawn_file_actions_adddup2(&files, 1, 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(&files, 3);
#endif
    if (!error)
        error = posix_spawn(child, args[0], &files, &attributes, (char *const *)(uintptr_t)args,
                            environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Waits for the child. -1: somebody else reaped it (a program may wait for any child, or ignore
 * SIGCHLD). */
static int end_of(pid_t child)
{
    int status;
    pid_t got;
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    return got == child ? status : -1;
}

acu_status acui_folder_run(acui_folder *folder, const char *const *args, const char *output)
{
    char path[PATH_MAX], words[128];
    pid_t child;
    int kept = errno;
    if (!path_in(folder, output, path))
        return acui_fail(ACU_ERR_IO, "the path of %s is too long", output);
    int error = start(&child, args, path);
    int status = error ? 0 : end_of(child);
    errno = kept;
    if (error)
        return acui_fail(ACU_ERR_IO, "running %s: %s", args[0],
                         strerror_r(error, words, sizeof words));
    if (status > 0)
        return acui_fail(ACU_ERR_COMPILE, "%s ended with %s %d", args[0],
                         WIFSIGNALED(status) ? "signal" : "status",
                         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return ACU_OK;
}
