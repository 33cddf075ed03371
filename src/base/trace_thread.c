/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads in the trace: their numbers, and their names, which the system forgets when they end, and
 * that is often before the trace's thread writes what they did. */
#include "base/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAMES = 64, NAME = 16 /* of the system */ };

/* Of the threads that came last: a ring. */
static struct {
    pthread_mutex_t lock; /* a leaf */
    struct {
        pid_t thread;
        char name[NAME];
    } list[NAMES];
    size_t count;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(pid_t thread)
{
    char name[NAME] = "";
    (void)prctl(PR_GET_NAME, name);
    pthread_mutex_lock(&names.lock);
    size_t place = names.count++ % NAMES;
    names.list[place].thread = thread;
    memcpy(names.list[place].name, name, NAME);
    pthread_mutex_unlock(&names.lock);
}

pid_t acui_thread_id(void)
{
    static _Thread_local pid_t id; /* a system call for each submission would be felt */
    if (!id) {
        id = (pid_t)syscall(SYS_gettid);
        note(id);
    }
    return id;
}

/* The name that an ended thread had when it first had something to tell. Numbers are used again:
 * the newest one counts. */
static void recall(pid_t thread, char *name)
{
    pthread_mutex_lock(&names.lock);
    for (size_t back = 1; back <= NAMES && back <= names.count; back++) {
        size_t place = (names.count - back) % NAMES;
        if (names.list[place].thread != thread)
            continue;
        memcpy(name, names.list[place].name, NAME);
        break;
    }
    pthread_mutex_unlock(&names.lock);
}

void acui_trace_read_line(const char *path, char *line, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, room - 1) : 0;
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
}

void acui_trace_thread_name(pid_t thread, char *name, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", (long)thread);
    acui_trace_read_line(path, name, room);
    if (!name[0] && room >= NAME)
        recall(thread, name);
}
