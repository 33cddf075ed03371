/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Taking the place of a main thread that has ended, as far as signals go. */
#include "base/signals.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME "acuda-signals"

static pthread_key_t key;
static bool have_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Whether a thread has ended already, or is one of these. The main thread stays in the list as a
 * zombie. The line is "id (name) state ...". */
static bool is_over(const char *id)
{
    char path[64], line[128] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", id);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const char *state = strrchr(line, ')');
    return !read || strstr(line, "(" NAME ")") ||
           (state && (strncmp(state, ") Z", 3) == 0 || strncmp(state, ") X", 3) == 0));
}

/* true if it can not be seen. */
static bool others_are_left(void)
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return true;
    bool left = false;
    struct dirent *d;
    while (!left && (d = readdir(tasks)))
        left = d->d_name[0] != '.' && !is_over(d->d_name);
    closedir(tasks);
    return left;
}

/* Nobody can be told when the last other thread ends, so it looks once a second. */
static void *take_signals(void *unused)
{
    pthread_setname_np(pthread_self(), NAME);
    while (others_are_left())
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return unused;
}

/* The new thread inherits the mask of this one, which is about to end. */
static void main_thread_ends(void *unused)
{
    pthread_t thread;
    (void)unused;
    if (pthread_create(&thread, NULL, take_signals, NULL) == 0)
        pthread_detach(thread);
}

static void prepare(void)
{
    have_key = pthread_key_create(&key, main_thread_ends) == 0;
}

void acui_signals_watch(void)
{
    if (gettid() != getpid())
        return;
    pthread_once(&once, prepare);
    if (have_key)
        pthread_setspecific(key, &key);
}
