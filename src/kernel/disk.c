/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Compiled code, and what libraries chose, on disk: one file for each request, named by its hash,
 * which contains the request itself and a checksum. Files appear by being renamed, so that other
 * processes see only whole ones. What a crash leaves behind has another name, and is removed once
 * it is old. Nothing here fails: without the disk the source is compiled.
 */
#include "base/alloc.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/trust.h"
#include "kernel/file.h"
#include "kernel/request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x3145444F43554341) /* "ACUCODE1" */
#define SUFFIX ".acucode"
#define BEGUN "begun-" /* the beginning of names of files that are being written */
#define OLD 3600       /* seconds, after which nobody writes them any more */

typedef struct head {
    uint64_t magic, key_bytes, code_bytes;
    acui_hash sum; /* of the key and the code, which follow */
} head;

static struct {
    pthread_mutex_t lock;
    char folder[PATH_MAX]; /* "" means: none */
    bool chosen;           /* by the program; else ACUDA_CACHE_DIR is read at first use */
    uint64_t limit;
    uint64_t since; /* bytes written since the folder was last scanned; ~0: never */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = (uint64_t)256 << 20, .since = UINT64_MAX};

/* Whoever can write to the folder, or to one on the way, could put code there that is run. What is
 * no folder fails by itself. */
static bool is_folder_trusted(const char *folder, char why[ACUI_DISTRUST])
{
    struct stat info;
    return acui_is_trusted(folder, why) || stat(folder, &info) != 0 || !S_ISDIR(info.st_mode);
}

static acu_status check_folder(const char *folder)
{
    char why[ACUI_DISTRUST];
    if (is_folder_trusted(folder, why))
        return ACU_OK;
    return acui_fail(ACU_ERR_IO, "compiled code is not kept in %s: %s", folder, why);
}

acu_status acui_disk_set(const char *folder, uint64_t limit)
{
    if (folder)
        ACUI_TRY(check_folder(folder));
    if (folder && strlen(folder) >= sizeof disk.folder - 64)
        return acui_fail(ACU_ERR_INVALID,
                         "acu_compile_configure: the path of the cache is too long");
    pthread_mutex_lock(&disk.lock);
    disk.chosen = true;
    disk.limit = limit;
    disk.since = UINT64_MAX;
    snprintf(disk.folder, sizeof disk.folder, "%s", folder ? folder : "");
    pthread_mutex_unlock(&disk.lock);
    return ACU_OK;
}

/* Gets the folder for the files; false: there is none. */
static bool folder_of(char folder[PATH_MAX])
{
    pthread_mutex_lock(&disk.lock);
    if (!disk.chosen) {
        const char *asked = secure_getenv("ACUDA_CACHE_DIR");
        if (asked && strlen(asked) < sizeof disk.folder - 64)
            snprintf(disk.folder, sizeof disk.folder, "%s", asked);
        disk.chosen = true;
    }
    memcpy(folder, disk.folder, sizeof disk.folder);
    pthread_mutex_unlock(&disk.lock);
    return folder[0] != '\0';
}

static bool path_of(const acui_bytes *key, char folder[PATH_MAX], char path[PATH_MAX + 64])
{
    char why[ACUI_DISTRUST];
    if (!folder_of(folder))
        return false;
    if (!is_folder_trusted(folder, why)) {
        ACUI_COMPILE_COUNT(disk_errors);
        ACUI_LOG(ACU_LOG_WARNING, "cache", -1, "compiled code is not kept in %s: %s", folder, why);
        return false;
    }
    acui_hash hash = acui_bytes_hash(key->data, key->count);
    snprintf(path, PATH_MAX + 64, "%s/%016llx%016llx" SUFFIX, folder,
             (unsigned long long)hash.word[0], (unsigned long long)hash.word[1]);
    return true;
}

/* ---- reading ---- */

static acui_hash sum_of(const char *key, size_t key_bytes, const char *code, size_t code_bytes)
{
    acui_hash both[2] = {acui_bytes_hash(key, key_bytes), acui_bytes_hash(code, code_bytes)};
    return acui_bytes_hash(both, sizeof both);
}

/* Whether the file is whole. */
static bool is_whole(const char *data, size_t bytes, head *h)
{
    if (bytes < sizeof *h)
        return false;
    memcpy(h, data, sizeof *h);
    size_t rest = bytes - sizeof *h;
    if (h->magic != MAGIC || h->key_bytes > rest || h->code_bytes != rest - h->key_bytes)
        return false;
    const char *key = data + sizeof *h;
    acui_hash sum = sum_of(key, h->key_bytes, key + h->key_bytes, h->code_bytes);
    return memcmp(&sum, &h->sum, sizeof sum) == 0;
}

/* False: the file is damaged, or another request's. */
static bool find_in(const acui_bytes *key, const char *data, size_t bytes, acui_bytes *found)
{
    head h;
    if (!is_whole(data, bytes, &h) || h.key_bytes != key->count ||
        memcmp(data + sizeof h, key->data, h.key_bytes) != 0)
        return false;
    acui_bytes_put(found, data + sizeof h + h.key_bytes, h.code_bytes);
    return true;
}

/* The file is of no use. */
static void drop_file(const char *path)
{
    unlink(path);
    ACUI_COMPILE_COUNT(dropped);
}

bool acui_disk_get(const acui_bytes *key, acui_bytes *found)
{
    char folder[PATH_MAX], path[PATH_MAX + 64], *data;
    size_t bytes;
    int kept = errno;
    acu_error before = *acui_error();
    *found = (acui_bytes){0};
    bool there = path_of(key, folder, path) && acui_file_read_own(path, &data, &bytes) == ACU_OK;
    if (there) {
        there = find_in(key, data, bytes, found);
        acui_free(data);
        if (there)
            utimensat(AT_FDCWD, path, NULL, 0); /* it was used: the least recently used files are
                                                 * removed first */
        else
            drop_file(path);
    }
    acui_error_restore(&before);
    errno = kept;
    return there && !found->failed;
}

void acui_disk_drop(const acui_bytes *key)
{
    char folder[PATH_MAX], path[PATH_MAX + 64];
    int kept = errno;
    if (path_of(key, folder, path))
        drop_file(path);
    errno = kept;
}

acu_code *acui_disk_read(const acui_request *r)
{
    acui_bytes found;
    acu_error before = *acui_error();
    acu_status st = ACU_OK;
    if (!acui_disk_get(&r->key, &found)) {
        acui_bytes_free(&found);
        return NULL;
    }
    acu_code *code = acui_code_new(&found, &st);
    if (!code && st == ACU_OK)
        acui_disk_drop(&r->key);
    acui_error_restore(&before);
    return code;
}

/* ---- the bound ---- */

typedef struct found {
    char name[64];
    time_t used;
    uint64_t bytes;
} found;

static int compare_age(const void *a, const void *b)
{
    time_t x = ((const found *)a)->used, y = ((const found *)b)->used;
    return (x > y) - (x < y);
}

/* Whether the file is one of ours, judging by its name; all others are left alone. *begun: it is
 * not finished. */
static bool is_ours(const char *name, bool *begun)
{
    size_t length = strlen(name), suffix = sizeof SUFFIX - 1;
    *begun = strncmp(name, BEGUN, sizeof BEGUN - 1) == 0;
    return length < 64 && length > suffix && strcmp(name + length - suffix, SUFFIX) == 0;
}

/* Lists all finished files; removes what a crash left behind. */
static size_t list_files(DIR *dir, found **files, uint64_t *total)
{
    size_t count = 0;
    struct dirent *d;
    while ((d = readdir(dir))) {
        struct stat info;
        bool begun;
        if (!is_ours(d->d_name, &begun) || fstatat(dirfd(dir), d->d_name, &info, 0) != 0)
            continue;
        if (begun) {
            if (info.st_mtime + OLD < time(NULL))
                unlinkat(dirfd(dir), d->d_name, 0);
            continue;
        }
        found *grown = acui_grow(*files, count * sizeof *grown, (count + 1) * sizeof *grown);
        if (!grown)
            break;
        *files = grown;
        grown[count] = (found){.used = info.st_mtime, .bytes = (uint64_t)info.st_size};
        snprintf(grown[count++].name, sizeof grown->name, "%s", d->d_name);
        *total += (uint64_t)info.st_size;
    }
    return count;
}

/* Removes files down to nine tenths of the limit, so that the next write does not cause this
 * again. */
static void trim(const char *folder, uint64_t limit)
{
    DIR *dir = acui_open_folder(folder);
    found *files = NULL;
    uint64_t total = 0;
    size_t count = dir ? list_files(dir, &files, &total) : 0;
    if (total > limit) {
        qsort(files, count, sizeof *files, compare_age);
        for (size_t i = 0; i < count && total > limit - limit / 10; i++) {
            unlinkat(dirfd(dir), files[i].name, 0);
            total -= files[i].bytes;
        }
    }
    acui_free(files);
    if (dir)
        closedir(dir);
}

/* Scanning the folder is slow: it is done only when enough was written that the limit may be
 * exceeded. */
static void note_written(const char *folder, uint64_t bytes)
{
    pthread_mutex_lock(&disk.lock);
    uint64_t limit = disk.limit;
    bool look = disk.since == UINT64_MAX || bytes > limit / 16 || disk.since + bytes > limit / 16;
    disk.since = look ? 0 : disk.since + bytes;
    pthread_mutex_unlock(&disk.lock);
    if (look)
        trim(folder, limit);
}

/* ---- writing ---- */

static bool write_all(int file, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = write(file, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_file(int file, const acui_bytes *key, const void *data, size_t bytes)
{
    head h = {.magic = MAGIC, .key_bytes = key->count, .code_bytes = bytes};
    h.sum = sum_of(key->data, key->count, data, bytes);
    bool written = write_all(file, &h, sizeof h) && write_all(file, key->data, key->count) &&
                   write_all(file, data, bytes);
    return close(file) == 0 && written;
}

void acui_disk_put(const char *what, const acui_bytes *key, const void *data, size_t bytes)
{
    static _Atomic(unsigned) number;
    char folder[PATH_MAX], path[PATH_MAX + 64], begun[PATH_MAX + 64], reason[64];
    int kept = errno;
    if (!path_of(key, folder, path))
        return;
    mkdir(folder, 0700); /* or it exists already */
    snprintf(begun, sizeof begun, "%s/" BEGUN "%ld-%u" SUFFIX, folder, (long)getpid(),
             atomic_fetch_add_explicit(&number, 1, memory_order_relaxed));
    unlink(begun); /* left by a process with the same id that crashed */
    int file = acui_open_new(begun, O_WRONLY | O_CREAT | O_EXCL);
    bool written = file >= 0 && write_file(file, key, data, bytes) && rename(begun, path) == 0;
    if (written) {
        ACUI_COMPILE_COUNT(written);
        note_written(folder, sizeof(head) + key->count + bytes);
        ACUI_LOG(ACU_LOG_DEBUG, "cache", -1, "%s was written to %s", what, path);
    } else {
        ACUI_COMPILE_COUNT(disk_errors);
        ACUI_LOG(ACU_LOG_WARNING, "cache", -1, "%s could not be written to %s: %s", what, folder,
                 strerror_r(errno, reason, sizeof reason));
        if (file >= 0)
            unlink(begun);
    }
    errno = kept;
}

void acui_disk_write(const acui_request *r, const acu_code *code)
{
    acui_disk_put(r->what, &r->key, code->bytes.data, code->bytes.count);
}
