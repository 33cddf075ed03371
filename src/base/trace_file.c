/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The trace's files. A file is a sequence of packets, so it can be cut anywhere between two; each
 * begins with all that is needed to read it. A file that is full is put aside under another
 * name. */
#include "base/error.h"
#include "base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With the process's number for "%p". False: it is too long. */
static bool expand(char *out, size_t room, const char *path)
{
    size_t used = 0;
    for (const char *c = path; *c; c++) {
        bool number = c[0] == '%' && c[1] == 'p';
        int n = number ? snprintf(out + used, room - used, "%ld", (long)getpid())
                       : snprintf(out + used, room - used, "%c", *c);
        if (n < 0 || (size_t)n >= room - used)
            return false;
        used += (size_t)n;
        c += number;
    }
    return used > 0;
}

static bool open_file(acui_trace_out *out)
{
    out->fd = open(out->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    if (out->fd < 0)
        return false;
    out->file_bytes = 0;
    memset(out->known, 0, sizeof out->known);
    acui_trace_head(out);
    return true;
}

static void name_of(const acui_trace_out *out, unsigned number, char *name, size_t room)
{
    snprintf(name, room, number ? "%s.%u" : "%s", out->path, number);
}

/* Delete what is left of an earlier trace that was put aside. */
static void delete_older(const acui_trace_out *out)
{
    char name[ACUI_TRACE_PATH + 16];
    for (unsigned i = 1; i < out->files; i++) {
        name_of(out, i, name, sizeof name);
        if (unlink(name) != 0)
            return;
    }
}

acu_status acui_trace_open(acui_trace_out *out, const char *path, const char *asked_by)
{
    char reason[64];
    if (!expand(out->path, sizeof out->path, path))
        return acui_fail(ACU_ERR_INVALID, "%s: the path of the trace is %s", asked_by,
                         path[0] ? "too long" : "empty");
    if (!open_file(out))
        return acui_fail(ACU_ERR_IO, "%s: the trace can not be written to %s: %s", asked_by,
                         out->path, strerror_r(errno, reason, sizeof reason));
    delete_older(out);
    return ACU_OK;
}

/* path.1 becomes path.2, and so on; path becomes path.1. */
static void put_aside(acui_trace_out *out)
{
    char from[ACUI_TRACE_PATH + 16], to[ACUI_TRACE_PATH + 16];
    for (unsigned i = out->files - 1; i > 0; i--) {
        name_of(out, i - 1, from, sizeof from);
        name_of(out, i, to, sizeof to);
        rename(from, to); /* it fails for those that do not exist yet */
    }
}

static void begin_next(acui_trace_out *out)
{
    close(out->fd);
    put_aside(out);
    if (!open_file(out)) {
        out->failure = errno;
        return;
    }
    out->rotated++;
}

void acui_trace_write(acui_trace_out *out)
{
    acui_pb *pb = &out->pb;
    for (size_t done = 0; done < pb->used && !out->failure && !pb->failed;) {
        ssize_t n = write(out->fd, pb->data + done, pb->used - done);
        if (n > 0) {
            done += (size_t)n;
            out->bytes += (uint64_t)n;
            out->file_bytes += (uint64_t)n;
        } else if (n < 0 && errno != EINTR) {
            out->failure = errno;
        }
    }
    out->lacked |= pb->failed; /* such a packet is left out with all that is encoded with it */
    pb->used = 0;
    pb->failed = false;
    if (!out->failure && out->file_bytes >= out->max_bytes)
        begin_next(out);
}

void acui_trace_close(acui_trace_out *out)
{
    if (out->fd >= 0 && close(out->fd) != 0 && !out->failure)
        out->failure = errno;
    out->fd = -1;
    acui_pb_free(&out->pb);
}
