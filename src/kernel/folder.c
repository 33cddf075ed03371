/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Temporary folders, and programs that run in them. */
#include "kernel/folder.h"

#include "base/descriptor.h"
#include "base/error.h"
#include "base/object.h"
#include "base/trust.h"
#include "kernel/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BEGIN "acuda-" /* the beginning of the folders' names; six letters follow */
#define OLD 60         /* seconds: a folder that nobody has locked by then was left */

extern char **environ;

static acu_status fail_here(const char *what, const char *path, int error)
{
    char words[128];
    return acui_fail(ACU_ERR_IO, "%s %s: %s (TMPDIR can name another folder for temporary files)",
                     what, path, strerror_r(error, words, sizeof words));
}

/* ---- leftovers ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    nftw(path, remove_one, 1, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Opens and locks a folder of this user's. -1: it is none, or somebody uses it. */
static int lock_folder(const char *path)
{
    struct stat info;
    int folder = acui_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (folder < 0)
        return -1;
    if (fstat(folder, &info) == 0 && info.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0)
        return folder;
    close(folder);
    return -1;
}

/* Removes the folder if nobody has it locked. A new one is not locked yet for a moment. */
static void remove_if_left(const char *path)
{
    struct stat info;
    int folder = lock_folder(path);
    if (folder < 0)
        return;
    bool old = fstat(folder, &info) == 0 && info.st_mtime + OLD < time(NULL);
    if (old)
        remove_all(path);
    close(folder);
}

static void remove_leftovers(const char *where)
{
    DIR *dir = acui_open_folder(where);
    struct dirent *d;
    char path[PATH_MAX];
    while (dir && (d = readdir(dir))) {
        if (strncmp(d->d_name, BEGIN, strlen(BEGIN)) != 0 ||
            strlen(d->d_name) != strlen(BEGIN) + 6)
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", where, d->d_name);
        if (n > 0 && (size_t)n < sizeof path)
            remove_if_left(path);
    }
    if (dir)
        closedir(dir);
}

/* ---- making and removing ---- */

/* Whether this process makes its first folder there. */
static bool is_first_use(const char *where)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char last[PATH_MAX];
    pthread_mutex_lock(&lock);
    bool first = strcmp(last, where) != 0;
    snprintf(last, sizeof last, "%s", where);
    pthread_mutex_unlock(&lock);
    return first;
}

static acu_status make(acui_folder *folder, const char *where)
{
    char why[ACUI_DISTRUST];
    if (!acui_is_trusted(where, why))
        return acui_fail(ACU_ERR_IO,
                         "no temporary folder for a compiler is made in %s: %s, and could change "
                         "what is run (TMPDIR can name another folder)",
                         where, why);
    snprintf(folder->path, sizeof folder->path, "%s/" BEGIN "XXXXXX", where);
    if (!mkdtemp(folder->path))
        return fail_here("making", folder->path, errno);
    folder->spare = lock_folder(folder->path);
    if (folder->spare >= 0)
        return ACU_OK;
    acu_status st = fail_here("opening", folder->path, errno);
    rmdir(folder->path);
    return st;
}

acu_status acui_folder_make(acui_folder *folder)
{
    const char *where = secure_getenv("TMPDIR");
    int kept = errno;
    if (!where || !*where || strlen(where) > sizeof folder->path / 2)
        where = "/tmp";
    if (is_first_use(where))
        remove_leftovers(where);
    acu_status st = make(folder, where);
    errno = kept;
    return st;
}

void acui_folder_remove(acui_folder *folder)
{
    int kept = errno;
    close(folder->spare);
    remove_all(folder->path);
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
    int file = acui_open_new(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
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

acu_status acui_folder_check(acui_folder *folder)
{
    static const char block[4096];
    return acui_folder_write(folder, "room", block, sizeof block);
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
