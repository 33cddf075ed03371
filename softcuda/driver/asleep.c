/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the system tells about the process's threads (/proc/self/task, clocks of processor time). */
#include "driver/asleep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A thread that was woken has run for longer than this, in ns. */
#define RAN 500

/* The state of a thread: R runs or wants to, D waits for a disk or a page; 0: unknown. */
static char state_of(int tasks, const char *thread)
{
    char path[64], text[512];
    if (strlen(thread) + sizeof "/stat" > sizeof path)
        return 0;
    strcpy(path, thread);
    strcat(path, "/stat");
    int file = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    /* The text is "12 (name) S ...", and the name may contain anything. */
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

static int64_t time_of(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Bounds for the processor time that the other threads have had. */
typedef struct had {
    int64_t least, most;
} had;

static had read_time_of_others(void)
{
    int64_t before = time_of(CLOCK_THREAD_CPUTIME_ID), all = time_of(CLOCK_PROCESS_CPUTIME_ID);
    return (had){.least = all - time_of(CLOCK_THREAD_CPUTIME_ID), .most = all - before};
}

/* Takes the tightest of several readings: an interrupt in between makes one vague. */
static had time_of_others(void)
{
    had best = read_time_of_others();
    for (int i = 0; i < 3; i++) {
        had next = read_time_of_others();
        if (next.most - next.least < best.most - best.least)
            best = next;
    }
    return best;
}

static bool each_sleeps(void)
{
    DIR *tasks = opendir("/proc/self/task");
    long own = syscall(SYS_gettid);
    bool sleep = true;
    for (const struct dirent *entry; tasks && sleep && (entry = readdir(tasks));) {
        if (entry->d_name[0] == '.' || strtol(entry->d_name, NULL, 10) == own)
            continue;
        char state = state_of(dirfd(tasks), entry->d_name);
        sleep = state != 'R' && state != 'D';
    }
    if (tasks)
        closedir(tasks);
    return sleep;
}

/* Threads are looked at one after the other. One that sleeps now may have woken another that was
 * asleep when it was looked at; but then that one has run, or is seen awake the second time. */
bool sd_threads_sleep(void)
{
    int error = errno;
    had before = time_of_others();
    bool sleep = each_sleeps() && each_sleeps() && time_of_others().least - before.most < RAN;
    errno = error;
    return sleep;
}
