/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reading and writing files as operations: for each piece a host operation that ends later
 * (acu_host_async), and, for device memory, a copy from or to one of a few pinned buffers. The
 * order of all these follows from the buffers.
 */
#include "base/descriptor.h"
#include "base/error.h"
#include "base/fork.h"
#include "engine/host/host.h"
#include "memory/memory.h"
#include "memory/pool.h"

#include <acuda/file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct acu_file {
    acui_object object;
    int descriptor;
    bool writable;
    char path[];
};

static const char *const names[] = {"file_read", "file_write"};

/* ---- handles --------------------------------------------------------------------------------- */

static acu_status fail_io(const char *path, const char *what, int error)
{
    char words[64];
    return acui_fail(ACU_ERR_IO, "%s %.200s: %s", what, path,
                     strerror_r(error, words, sizeof words));
}

static acu_status opened(const char *path, acu_file_mode mode, int descriptor, acu_file **file)
{
    size_t bytes = strlen(path) + 1;
    if (lseek(descriptor, 0, SEEK_CUR) < 0)
        return fail_io(path, "finding offsets in", errno);
    acu_file *f = acui_object_new(ACU_OBJECT_FILE, sizeof *f + bytes);
    if (!f)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a file's handle");
    f->descriptor = descriptor;
    f->writable = mode != ACU_FILE_READ;
    memcpy(f->path, path, bytes);
    *file = f;
    return ACU_OK;
}

acu_status acu_file_open(const char *path, acu_file_mode mode, acu_file **file)
{
    static const int flags[] = {[ACU_FILE_READ] = O_RDONLY,
                                [ACU_FILE_WRITE] = O_RDWR | O_CREAT,
                                [ACU_FILE_CREATE] = O_RDWR | O_CREAT | O_TRUNC};
    ACUI_REFUSE_FORK();
    if (!path || !file)
        return acui_fail(ACU_ERR_INVALID, "acu_file_open got NULL for the %s",
                         path ? "result" : "path");
    if ((unsigned)mode > ACU_FILE_CREATE)
        return acui_fail(ACU_ERR_INVALID, "acu_file_open: %d is no acu_file_mode", (int)mode);
    *file = NULL;
    int kept = errno; /* the library leaves errno as it was */
    /* O_NONBLOCK: not to wait for the other end of a pipe, which is refused. */
    int descriptor = acui_descriptor(open(path, flags[mode] | O_NONBLOCK | O_CLOEXEC, 0666));
    acu_status st = descriptor < 0 ? fail_io(path, "opening", errno)
                                   : opened(path, mode, descriptor, file);
    if (st != ACU_OK && descriptor >= 0)
        close(descriptor);
    errno = kept;
    return st;
}

acu_status acu_file_size(acu_file *file, uint64_t *bytes)
{
    struct stat now;
    ACUI_TRY(acui_object_check(file, ACU_OBJECT_FILE, __func__));
    if (!bytes)
        return acui_fail(ACU_ERR_INVALID, "acu_file_size got NULL for the result");
    int kept = errno;
    acu_status st = ACU_OK;
    if (fstat(file->descriptor, &now) != 0)
        st = fail_io(file->path, "looking at", errno);
    else
        *bytes = (uint64_t)now.st_size;
    errno = kept;
    return st;
}

acu_file *acu_file_retain(acu_file *file)
{
    if (acui_object_is(file, ACU_OBJECT_FILE))
        acui_object_retain(file);
    return file;
}

void acu_file_release(acu_file *file)
{
    if (!acui_object_is(file, ACU_OBJECT_FILE) || !acui_object_drop(file))
        return;
    int kept = errno;
    close(file->descriptor);
    errno = kept;
    acui_object_free(file);
}

static void release_file(void *file)
{
    acu_file_release(file);
}

/* ---- one piece ------------------------------------------------------------------------------- */

typedef struct piece {
    acui_aside job;
    acu_file *file; /* retained */
    uint64_t offset;
    size_t bytes;
    bool write;
} piece;

static void piece_free(void *user)
{
    piece *p = user;
    acu_file_release(p->file);
    acui_free(p);
}

static ssize_t transfer_some(const piece *p, char *memory, size_t from)
{
    char *at = memory + from;
    off_t offset = (off_t)(p->offset + from);
    return p->write ? pwrite(p->file->descriptor, at, p->bytes - from, offset)
                    : pread(p->file->descriptor, at, p->bytes - from, offset);
}

static acu_status transfer(acui_aside *job, const acu_val *values)
{
    const piece *p = (piece *)job; /* its first member */
    char *memory = acu_tensor_host(values[0].tensor);
    size_t done = 0;
    char words[64];
    while (done < p->bytes) {
        ssize_t n = transfer_some(p, memory, done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return acui_fail(ACU_ERR_IO, "%s: %zu of %zu bytes at offset %llu of %.160s: %s",
                             names[p->write], done, p->bytes, (unsigned long long)p->offset,
                             p->file->path,
                             n == 0 ? "the file ends there"
                                    : strerror_r(errno, words, sizeof words));
    }
    return ACU_OK;
}

/* ---- planning -------------------------------------------------------------------------------- */

enum { RING = 4, SMALLEST = 1 << 20, LARGEST = 16 << 20 };

typedef struct request {
    acu_file *file; /* the op's user data, too */
    uint64_t offset;
    bool write;
} request;

typedef struct planned {
    const acu_planning *p;
    request r;
    const acu_tensor *x;
    size_t bytes, each;
    acu_tensor *ring[RING]; /* NULL: x is in host memory */
} planned;

static acu_op *refuse(const acu_planning *p, const request *r, const char *why)
{
    return acu_op_fail(ACU_ERR_INVALID, names[r->write], p->site, "%s: %s", names[r->write], why);
}

static acu_op *check(const acu_planning *p, const request *r)
{
    const acu_tensor *t = p->values[0].kind == ACU_TENSOR ? p->values[0].tensor : NULL;
    if (!t)
        return refuse(p, r, "it takes a tensor");
    if (!t->dense)
        return refuse(p, r, "the tensor must be dense (acu_dup makes a dense copy)");
    if (r->write && !r->file->writable)
        return refuse(p, r, "the file is open for reading only");
    if (r->offset > INT64_MAX - acu_tensor_bytes(t))
        return refuse(p, r, "offsets are below 2^63");
    return NULL;
}

static size_t piece_bytes(size_t bytes)
{
    size_t each = (bytes / 8 + 4095) / 4096 * 4096;
    each = each < SMALLEST ? SMALLEST : each > LARGEST ? LARGEST : each;
    return each < bytes ? each : bytes;
}

static acu_status make_ring(planned *x)
{
    acu_device *device = x->x->buffer->device;
    size_t pieces = (x->bytes + x->each - 1) / x->each;
    acu_pool *pool = acui_pool_of(device, ACU_MEMORY_PINNED, false);
    for (size_t i = 0; pool && i < RING && i < pieces; i++) {
        acu_buffer *buffer;
        ACUI_TRY(acui_buffer_soon(pool, x->each, &buffer));
        acu_status st = acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE((int64_t)x->each),
                                          &x->ring[i]);
        acu_buffer_release(buffer);
        ACUI_TRY(st);
    }
    return pool ? ACU_OK : ACU_ERR_NO_MEMORY;
}

static acu_op *part_of(const planned *x, const acu_tensor *of, size_t from, size_t bytes)
{
    acu_site site = x->p->site;
    acu_op *op = acu_op_value(of, site);
    if (of == x->x)
        op = acu_op_reinterpret(acu_op_flatten(op, site), ACU_U8, site);
    return acu_op_slice(op, ACU_SHAPE((int64_t)from), ACU_SHAPE((int64_t)(from + bytes)),
                        ACU_NO_STEP, site);
}

/* Reads or writes `memory`, an op that yields host memory. */
static acu_op *transferred(const planned *x, acu_op *memory, size_t from, size_t bytes)
{
    acu_site site = x->p->site;
    const char *name = names[x->r.write];
    acu_arg arg = acu_arg_op(memory, x->r.write ? ACU_READ : ACU_WRITE);
    piece *p = ACUI_NEW(piece);
    if (!p) {
        acu_op_release(memory);
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", name);
        return acu_op_fail(ACU_ERR_NO_MEMORY, name, site, NULL);
    }
    p->job.name = name;
    p->job.run = transfer;
    p->file = acu_file_retain(x->r.file);
    p->offset = x->r.offset + from;
    p->bytes = bytes;
    p->write = x->r.write;
    acu_user user = {p, piece_free};
    return acu_op_named(acu_op_host_async(acui_aside_begin, user, &arg, 1, site), name);
}

static acu_op *plan_piece(const planned *x, size_t i)
{
    acu_site site = x->p->site;
    size_t from = i * x->each, rest = x->bytes - from, bytes = rest < x->each ? rest : x->each;
    acu_op *here = part_of(x, x->x, from, bytes);
    if (!x->ring[0])
        return transferred(x, here, from, bytes);
    acu_op *between = part_of(x, x->ring[i % RING], 0, bytes);
    if (x->r.write)
        return transferred(x, acu_op_nth(acu_op_copy(between, here, site), 0, site), from, bytes);
    return acu_op_copy(here, acu_op_nth(transferred(x, between, from, bytes), 0, site), site);
}

static acu_op *plan_pieces(const planned *x)
{
    size_t count = (x->bytes + x->each - 1) / x->each;
    acu_op **all = ACUI_NEW_ARRAY(acu_op *, count);
    if (!all) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for %s", names[x->r.write]);
        return acu_op_fail(ACU_ERR_NO_MEMORY, names[x->r.write], x->p->site, NULL);
    }
    for (size_t i = 0; i < count; i++)
        all[i] = plan_piece(x, i);
    acu_op *whole = acu_op_zip(all, count, x->p->site);
    acui_free(all);
    return whole;
}

static acu_op *plan(acu_planning *p)
{
    planned x = {.p = p, .x = p->values[0].tensor};
    memcpy(&x.r, p->data, sizeof x.r);
    acu_op *failed = check(p, &x.r);
    if (failed)
        return failed;
    x.bytes = acu_tensor_bytes(x.x);
    if (x.bytes == 0)
        return acu_op_take(&p->values[0], p->site);
    x.each = piece_bytes(x.bytes);
    bool on_host = x.x->buffer->host || x.x->buffer->kind == ACU_MEMORY_MANAGED;
    acu_status st = on_host ? ACU_OK : make_ring(&x);
    acu_op *done = st == ACU_OK ? plan_pieces(&x)
                                : acu_op_fail(st, names[x.r.write], p->site, NULL);
    if (st == ACU_OK)
        done = acu_op_after(acu_op_take(&p->values[0], p->site), done, p->site);
    for (int i = 0; i < RING; i++)
        acu_tensor_release(x.ring[i]);
    return done;
}

static acu_op *make(acu_file *file, uint64_t offset, bool write, acu_op *x, acu_site site)
{
    request r;
    if (acui_object_check(file, ACU_OBJECT_FILE, write ? "acu_file_write" : "acu_file_read") !=
        ACU_OK) {
        acu_op_release(x);
        return acu_op_fail(acu_last_error()->status, names[write], site, NULL);
    }
    memset(&r, 0, sizeof r);
    r.file = file;
    r.offset = offset;
    r.write = write;
    acu_custom custom = {.name = names[write],
                         .fn = plan,
                         .data = &r,
                         .bytes = sizeof r,
                         .user = {acu_file_retain(file), release_file}};
    return acu_op_custom(custom, &x, 1, site);
}

acu_op *acu_op_file_read(acu_file *file, uint64_t offset, acu_op *x, acu_site site)
{
    return make(file, offset, false, x, site);
}

acu_op *acu_op_file_write(acu_file *file, uint64_t offset, acu_op *x, acu_site site)
{
    return make(file, offset, true, x, site);
}
