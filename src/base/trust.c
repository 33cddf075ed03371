/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walking along a path as the kernel does, link by link, and looking at each part. */
#include "base/trust.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40
#define UNMAPPED 65534 /* the owner of what a user namespace has no user for */

typedef struct walk {
    char done[PATH_MAX]; /* no links in it; "" is the root */
    char rest[PATH_MAX];
    unsigned links;
    char *why;
} walk;

static bool in_user_namespace(void)
{
    unsigned long inside, outside, count = 0;
    char line[128];
    int map = acui_open("/proc/self/uid_map", O_RDONLY);
    if (map < 0)
        return false;
    ssize_t length = read(map, line, sizeof line - 1);
    close(map);
    line[length > 0 ? length : 0] = '\0';
    return sscanf(line, "%lu %lu %lu", &inside, &outside, &count) == 3 && count < UINT_MAX;
}

static bool is_safe(const walk *w, const struct stat *info)
{
    const char *name = w->done[0] ? w->done : "/";
    bool sticky = S_ISDIR(info->st_mode) && (info->st_mode & S_ISVTX);
    gid_t group = info->st_gid;
    if (info->st_uid != 0 && info->st_uid != geteuid() &&
        !(info->st_uid == UNMAPPED && in_user_namespace())) {
        snprintf(w->why, ACUI_DISTRUST, "%.150s belongs to user %u", name, (unsigned)info->st_uid);
        return false;
    }
    if (S_ISLNK(info->st_mode) || sticky)
        return true;
    if (info->st_mode & S_IWOTH) {
        snprintf(w->why, ACUI_DISTRUST, "everybody can write to %.150s", name);
        return false;
    }
    bool private = group == 0 || (group == getegid() && group == geteuid());
    if ((info->st_mode & S_IWGRP) && !private) {
        snprintf(w->why, ACUI_DISTRUST, "group %u can write to %.150s", (unsigned)group, name);
        return false;
    }
    return true;
}

/* Takes the next part of the rest into `done`. false: the rest is empty. */
static bool take_part(walk *w, size_t *before)
{
    const char *part = w->rest + strspn(w->rest, "/");
    size_t length = strcspn(part, "/");
    *before = strlen(w->done);
    if (length == 0)
        return false;
    if (length == 2 && memcmp(part, "..", 2) == 0) {
        char *slash = strrchr(w->done, '/');
        if (slash)
            *slash = '\0';
    } else if (length != 1 || *part != '.') {
        if (*before + length + 2 > sizeof w->done)
            return false;
        w->done[*before] = '/';
        memcpy(w->done + *before + 1, part, length);
        w->done[*before + 1 + length] = '\0';
    }
    memmove(w->rest, part + length, strlen(part + length) + 1);
    return true;
}

/* `done` is a link: what it leads to is walked next. false: there is no end of links. */
static bool follow(walk *w, size_t before)
{
    char target[PATH_MAX];
    ssize_t length = readlink(w->done, target, sizeof target - 1);
    if (length < 0 || ++w->links > LINKS_MAX ||
        (size_t)length + strlen(w->rest) + 2 > sizeof w->rest)
        return false;
    target[length] = '\0';
    memmove(w->rest + length + 1, w->rest, strlen(w->rest) + 1);
    w->rest[length] = '/';
    memcpy(w->rest, target, (size_t)length);
    w->done[target[0] == '/' ? 0 : before] = '\0';
    return true;
}

static bool is_safe_way(walk *w)
{
    struct stat info;
    size_t before;
    if (lstat("/", &info) != 0 || !is_safe(w, &info))
        return false;
    while (take_part(w, &before)) {
        if (lstat(w->done[0] ? w->done : "/", &info) != 0)
            return errno == ENOENT || errno == ENOTDIR || errno == EACCES; /* not usable anyway */
        if (!is_safe(w, &info))
            return false;
        if (S_ISLNK(info.st_mode) && !follow(w, before))
            return true; /* nor is this */
    }
    return true;
}

bool acui_is_trusted(const char *path, char why[ACUI_DISTRUST])
{
    walk w = {.why = why};
    int kept = errno;
    snprintf(why, ACUI_DISTRUST, "it can not be looked at");
    bool known = path[0] == '/' || (getcwd(w.rest, sizeof w.rest) && w.rest[0] == '/');
    size_t used = strlen(w.rest);
    bool safe = known && strlen(path) + used + 2 <= sizeof w.rest;
    if (safe) {
        w.rest[used] = '/';
        memcpy(w.rest + used + 1, path, strlen(path) + 1);
        safe = is_safe_way(&w);
    }
    errno = kept;
    return safe;
}
