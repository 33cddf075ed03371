/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading a whole regular file into memory. Used for modules, so a file of more than 4 GiB is
 * refused. */
#include "kernel/file.h"

#include "base/alloc.h"
#include "base/descriptor.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST ((off_t)1 << 32) /* no module is that large */

static acu_status fail_io(const char *path, const char *what, int error)
{
    char buffer[128];
    return acui_fail(ACU_ERR_IO, "%s %s: %s", what, path, strerror_r(error, buffer, sizeof buffer));
}

static acu_status read_all(int file, const char *path, char *data, size_t *bytes)
{
    size_t have = 0;
    while (have < *bytes) {
        ssize_t n = read(file, data + have, *bytes - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_io(path, "reading", errno);
        if (n == 0)
            break; /* the file became shorter meanwhile */
        have += (size_t)n;
    }
    data[have] = '\0';
    *bytes = have;
    return ACU_OK;
}

static acu_status read_open(int file, const char *path, bool own, char **data, size_t *bytes)
{
    struct stat info;
    if (fstat(file, &info))
        return fail_io(path, "reading", errno);
    if (own && info.st_uid != geteuid() && info.st_uid != 0)
        return acui_fail(ACU_ERR_IO, "%s is a file of user %u", path, (unsigned)info.st_uid);
    if (own && (info.st_mode & (S_IWGRP | S_IWOTH)))
        return acui_fail(ACU_ERR_IO, "others can write to %s", path);
    if (!S_ISREG(info.st_mode))
        return acui_fail(ACU_ERR_IO, "%s is no file", path);
    if (info.st_size > LARGEST)
        return acui_fail(ACU_ERR_IO, "%s has %lld bytes: that is no module", path,
                         (long long)info.st_size);
    *bytes = (size_t)info.st_size;
    char *memory = acui_alloc(*bytes + 1);
    if (!memory)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the %zu bytes of %s", *bytes, path);
    acu_status st = read_all(file, path, memory, bytes);
    if (st == ACU_OK)
        *data = memory;
    else
        acui_free(memory);
    return st;
}

static acu_status read_file(const char *path, bool own, char **data, size_t *bytes)
{
    int kept = errno; /* the library leaves errno as it was */
    /* O_NONBLOCK: not to wait for somebody to write to a FIFO, which is refused. */
    int file = acui_open(path, O_RDONLY | O_NONBLOCK);
    acu_status st = file < 0 ? fail_io(path, "opening", errno)
                             : read_open(file, path, own, data, bytes);
    if (file >= 0)
        close(file);
    errno = kept;
    return st;
}

acu_status acui_file_read(const char *path, char **data, size_t *bytes)
{
    return read_file(path, false, data, bytes);
}

acu_status acui_file_read_own(const char *path, char **data, size_t *bytes)
{
    return read_file(path, true, data, bytes);
}
