/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Meeting by a file. */
#include "comm/meet.h"

#include "base/error.h"
#include "base/nap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static acu_status failed(const char *what, const char *path, int code)
{
    return acui_fail(ACU_ERR_IO, "the file by which processes meet could not be %s: %.200s: %s",
                     what, path, strerror(code));
}

static bool write_all(int file, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(file, data, bytes);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            data += n;
            bytes -= (size_t)n;
        }
    }
    return true;
}

/* By a link, which fails if the file is there: nobody would know whose it is. */
acu_status acui_meet_write(const char *path, const void *data, size_t bytes)
{
    char new[PATH_MAX];
    if (snprintf(new, sizeof new, "%s.%ld.new", path, (long)getpid()) >= (int)sizeof new)
        return failed("written", path, ENAMETOOLONG);
    int file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return failed("written", path, errno);
    bool wrote = write_all(file, data, bytes);
    int code = wrote ? 0 : errno;
    if (close(file) != 0 && code == 0)
        code = errno;
    if (code == 0 && link(new, path) != 0)
        code = errno;
    unlink(new);
    if (code == EEXIST)
        return acui_fail(ACU_ERR_IO, "the file by which processes meet is there already, left "
                         "by a program that failed or in use by another: %.200s", path);
    return code == 0 ? ACU_OK : failed("written", path, code);
}

/* 1: it is read; 0: it is not there; -1: errno says. */
static int try_read(const char *path, char *data, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? 0 : -1;
    size_t have = 0;
    ssize_t n = 1;
    while (have < bytes && n != 0) {
        n = read(file, data + have, bytes - have);
        if (n < 0 && errno != EINTR)
            break;
        have += n > 0 ? (size_t)n : 0;
    }
    int code = errno;
    close(file);
    errno = n < 0 ? code : EINVAL;
    return have == bytes ? 1 : -1;
}

acu_status acui_meet_read(const char *path, void *data, size_t bytes, uint64_t timeout)
{
    acui_nap nap = acui_nap_start(timeout);
    int done;
    while ((done = try_read(path, data, bytes)) == 0)
        if (!acui_nap_again(&nap))
            return acui_fail(ACU_ERR_DEADLINE, "making a communicator took too long: rank 0 has "
                             "not written the file by which processes meet: %.200s", path);
    return done > 0 ? ACU_OK : failed("read", path, errno);
}

void acui_meet_end(const char *path)
{
    unlink(path);
}
