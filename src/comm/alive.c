/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which processes are still there, by a file of each. */
#include "comm/alive.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* How often it is told; and how often in a row nothing new must be seen. */
#define INTERVAL ACU_MS(100)
enum { LOOKS = 3 };

typedef struct word {
    uint64_t tag; /* of the communicator: the file may be of an earlier one */
    uint64_t called, beat, busy;
} word;

struct acui_alive {
    char path[PATH_MAX]; /* without the number of the process */
    int own, processes;
    int file; /* the own one, locked */
    word told;
    uint64_t told_at;
    struct other {
        _Atomic(bool) lost;
        uint64_t beat;
    } others[];
};

static const char *path_of(const acui_alive *a, int process, char path[PATH_MAX + 16])
{
    snprintf(path, PATH_MAX + 16, "%s.%d", a->path, process);
    return path;
}

static bool write_word(const acui_alive *a)
{
    word told = a->told; /* gcc's address sanitizer takes &a->told for its first member */
    return pwrite(a->file, &told, sizeof told, 0) == sizeof told;
}

/* False: it has ended. Who can not be asked is there. */
static bool read_word(const acui_alive *a, int process, word *w)
{
    char path[PATH_MAX + 16];
    *w = (word){.called = UINT64_MAX};
    int file = open(path_of(a, process, path), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno != ENOENT;
    bool there = flock(file, LOCK_SH | LOCK_NB) != 0;
    word read;
    if (pread(file, &read, sizeof read, 0) == sizeof read) {
        there &= read.tag == a->told.tag;
        *w = read;
    }
    close(file);
    return there;
}

static uint64_t tag_of(const unsigned char *id, size_t bytes)
{
    uint64_t tag = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < bytes; i++)
        tag = (tag ^ id[i]) * UINT64_C(1099511628211);
    return tag;
}

acu_status acui_alive_begin(const char *file, const void *id, size_t bytes, int own, int processes,
                            acui_alive **made)
{
    char path[PATH_MAX + 16];
    acui_alive *a = acui_alloc(sizeof *a + (size_t)processes * sizeof *a->others);
    if (!a)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a communicator");
    snprintf(a->path, sizeof a->path, "%s", file);
    a->own = own;
    a->processes = processes;
    a->told.tag = tag_of(id, bytes);
    a->file = open(path_of(a, own, path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->file >= 0 && flock(a->file, LOCK_EX | LOCK_NB) == 0 && write_word(a)) {
        *made = a;
        return ACU_OK;
    }
    int code = errno;
    if (a->file >= 0)
        close(a->file);
    acui_free(a);
    return acui_fail(ACU_ERR_IO, "a file beside that by which processes meet could not be written "
                     "and locked: %.200s: %s", path, strerror(code));
}

void acui_alive_end(acui_alive *a)
{
    char path[PATH_MAX + 16];
    if (!a)
        return;
    for (int p = 0; p < a->processes; p++)
        if (p == a->own || a->others[p].lost)
            unlink(path_of(a, p, path));
    close(a->file);
    acui_free(a);
}

void acui_alive_tell(acui_alive *a, uint64_t called, bool busy)
{
    uint64_t now = acui_now();
    if (!a)
        return;
    bool is_news = busy != a->told.busy || (busy ? now >= a->told_at + INTERVAL
                                                 : called != a->told.called);
    if (!is_news)
        return;
    a->told_at = now;
    a->told.called = called;
    a->told.busy = busy;
    a->told.beat++;
    write_word(a); /* if that fails the others may take it for lost, should something be late */
}

/* ---- who is lost ----------------------------------------------------------------------------- */

static bool has_ended(acui_alive *a)
{
    bool any = false;
    word w;
    for (int p = 0; p < a->processes; p++) {
        a->others[p].lost = p != a->own && !read_word(a, p, &w);
        any |= a->others[p].lost;
    }
    return any;
}

static bool has_not_come(acui_alive *a, uint64_t number)
{
    bool any = false;
    word w;
    for (int p = 0; p < a->processes && number != UINT64_MAX; p++) {
        a->others[p].lost = p != a->own && (!read_word(a, p, &w) || w.called <= number);
        any |= a->others[p].lost;
    }
    return any;
}

/* Says to be busy, and then nothing. */
static bool is_silent(acui_alive *a)
{
    const struct timespec interval = {.tv_nsec = (long)INTERVAL};
    bool any = false;
    word w;
    for (int p = 0; p < a->processes; p++) {
        a->others[p].lost = p != a->own && read_word(a, p, &w) && w.busy;
        a->others[p].beat = w.beat;
    }
    for (int look = 0; look < LOOKS; look++) { /* meanwhile, the others may look for this one */
        nanosleep(&interval, NULL);
        acui_alive_tell(a, a->told.called, a->told.busy);
    }
    for (int p = 0; p < a->processes; p++) {
        if (a->others[p].lost)
            a->others[p].lost = !read_word(a, p, &w) || w.beat == a->others[p].beat;
        any |= a->others[p].lost;
    }
    return any;
}

bool acui_alive_find(acui_alive *a, uint64_t number)
{
    return a && (has_ended(a) || has_not_come(a, number) || is_silent(a));
}

bool acui_alive_lost(const acui_alive *a, int process)
{
    return a && a->others[process].lost;
}

const char *acui_alive_file(const acui_alive *a)
{
    return a ? a->path : NULL;
}
