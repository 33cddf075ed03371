/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which processes use a GPU: those that have its file in /dev open. It takes no library of the
 * vendor's; the files of other users' processes are shown to root only. */
#include "users.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* N of /dev/nvidiaN, by what the kernel's module says of the device at that place; -1: it is not
 * known, as of the software device. */
static int minor_of(const char *root, const char *pci)
{
    char path[700], line[256];
    int minor = -1;
    snprintf(path, sizeof path, "%.500s/proc/driver/nvidia/gpus/%.64s/information", root, pci);
    FILE *file = fopen(path, "re");
    while (file && minor < 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "Device Minor: %d", &minor);
    if (file)
        fclose(file);
    return minor;
}

static bool has_open(const char *root, const char *pid, const char *wanted)
{
    char path[800], target[64];
    bool found = false;
    snprintf(path, sizeof path, "%.500s/proc/%.20s/fd", root, pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%.500s/proc/%.20s/fd/%.20s", root, pid, entry->d_name);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        found = strcmp(target, wanted) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

static struct json_object *process(const char *root, const char *pid)
{
    char path[700], name[64] = "";
    struct json_object *o = json_object_new_object();
    snprintf(path, sizeof path, "%.500s/proc/%.20s/comm", root, pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(name, sizeof name, file))
        name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
    json_object_object_add(o, "pid", json_object_new_int64(atoll(pid)));
    json_object_object_add(o, "name", json_object_new_string(name));
    return o;
}

struct json_object *cli_users_of(const char *root, const char *pci)
{
    char path[700], wanted[64];
    int minor = minor_of(root, pci);
    struct json_object *users = json_object_new_array();
    snprintf(path, sizeof path, "%.500s/proc", root);
    snprintf(wanted, sizeof wanted, "/dev/nvidia%d", minor);
    DIR *folder = minor >= 0 ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0]) && atoll(entry->d_name) != getpid() &&
            has_open(root, entry->d_name, wanted))
            json_object_array_add(users, process(root, entry->d_name));
    if (folder)
        closedir(folder);
    return users;
}
