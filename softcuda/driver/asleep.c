/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the system tells about the threads of the process. */
#include "driver/asleep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The state of a thread: R runs or would like to, D waits for a disk or a page; 0: unknown. */
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
    /* "12 (name) S ...", where the name may hold anything. */
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

bool sd_threads_sleep(void)
{
    int error = errno;
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
    errno = error;
    return sleep;
}
