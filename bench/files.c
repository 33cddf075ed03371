/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Files to device memory and back, beside what `dd` does (a thread that reads a file into
 * page-locked memory, or writes from there, 16 MiB at a time) and beside that with copies, through
 * two buffers, by hand. The file is in TMPDIR, and in the system's cache.
 */
#include "harness/harness.h"

#include <acuda/file.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EACH = 16 << 20, BUFFERS = 2 };

typedef struct subject {
    bench *b;
    char path[256];
    size_t bytes;
    int descriptor;
    acu_file *file;
    acu_tensor *x;      /* on the device */
    acu_tensor *buffer[BUFFERS]; /* the twins', page-locked */
    CUstream stream;
    CUevent free[BUFFERS]; /* a copy from or to it is over */
} subject;

static double sample_read(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_file_read(s->file, 0, s->x), NULL));
    return bench_now_us() - start;
}

static double sample_write(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_file_write(s->file, 0, s->x), NULL));
    return bench_now_us() - start;
}

static void transfer(const subject *s, bool write, void *memory, size_t from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write ? pwrite(s->descriptor, (char *)memory + done, bytes - done,
                                   (off_t)(from + done))
                          : pread(s->descriptor, (char *)memory + done, bytes - done,
                                  (off_t)(from + done));
        if (n <= 0)
            bench_die("%s: can not be %s", s->path, write ? "written" : "read");
        done += (size_t)n;
    }
}

static double dd(subject *s, bool write)
{
    double start = bench_now_us();
    for (size_t from = 0; from < s->bytes; from += EACH) {
        size_t rest = s->bytes - from;
        transfer(s, write, acu_tensor_host(s->buffer[0]), from, rest < EACH ? rest : EACH);
    }
    return bench_now_us() - start;
}

static double sample_dd_read(void *user)
{
    return dd(user, false);
}

static double sample_dd_write(void *user)
{
    return dd(user, true);
}

/* Reads one piece while the one before is copied. */
static double sample_by_hand(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (size_t from = 0, i = 0; from < s->bytes; from += EACH, i = (i + 1) % BUFFERS) {
        size_t rest = s->bytes - from, bytes = rest < EACH ? rest : EACH;
        void *memory = acu_tensor_host(s->buffer[i]);
        MUST_CU(s->b->cu->EventSynchronize(s->free[i]));
        transfer(s, false, memory, from, bytes);
        MUST_CU(s->b->cu->MemcpyHtoDAsync(acu_tensor_address(s->x) + from, memory, bytes,
                                          s->stream));
        MUST_CU(s->b->cu->EventRecord(s->free[i], s->stream));
    }
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void make_file(subject *s)
{
    const char *folder = getenv("TMPDIR");
    snprintf(s->path, sizeof s->path, "%s/acuda-bench-XXXXXX", folder ? folder : "/tmp");
    s->descriptor = mkstemp(s->path);
    if (s->descriptor < 0)
        bench_die("%s can not be made", s->path);
    uint32_t *numbers = acu_tensor_host(s->buffer[0]);
    for (size_t from = 0; from < s->bytes; from += EACH) {
        size_t rest = s->bytes - from, bytes = rest < EACH ? rest : EACH;
        for (size_t i = 0; i < bytes / 4; i++)
            numbers[i] = (uint32_t)(from / 4 + i) * 2654435761u;
        transfer(s, true, numbers, from, bytes);
    }
    MUST(acu_file_open(s->path, ACU_FILE_WRITE, &s->file));
    unlink(s->path);
}

/* What was read is what is in the file. */
static void check(subject *s)
{
    acu_tensor *all;
    MUST(acu_sync(s->b->device, acu_to_host(s->x), &all));
    const uint32_t *numbers = acu_tensor_host(all);
    for (size_t i = 0; i < s->bytes / 4; i++)
        if (numbers[i] != (uint32_t)i * 2654435761u)
            bench_wrong("number %zu of the file is %u", i, numbers[i]);
    acu_tensor_release(all);
}

int main(int argc, char **argv)
{
    bench b = bench_open("files", argc, argv, NULL);
    subject s = {.b = &b, .bytes = b.quick ? (20 << 20) + 4096 : (size_t)1 << 30};
    char what[80];
    MUST(acu_tensor_alloc(b.device, ACU_U8, ACU_SHAPE((int64_t)s.bytes), &s.x));
    for (int i = 0; i < BUFFERS; i++)
        MUST(acu_tensor_alloc_pinned(b.device, ACU_U8, ACU_SHAPE(EACH), &s.buffer[i]));
    make_file(&s);
    (void)sample_read(&s); /* the pinned buffers are there; the twins need the tensor's address */
    check(&s);
    bench_enter(&b);
    MUST_CU(b.cu->StreamCreate(&s.stream, 1));
    for (int i = 0; i < BUFFERS; i++)
        MUST_CU(b.cu->EventCreate(&s.free[i], 2));
    bench_leave(&b);
    snprintf(what, sizeof what, "read %zu MiB into device memory", s.bytes >> 20);
    const bench_row in = {
        .what = what, .samples = bench_count(&b, 20, 2), .warm = 1,
        .sides = {{"acuda", sample_read, &s, 0, 0},
                  {"dd into pinned", sample_dd_read, &s, 1 / 0.9, 0},
                  {"by hand, with copies", sample_by_hand, &s, 0, 0}}};
    bench_compare(&b, &in);
    check(&s);
    snprintf(what, sizeof what, "write %zu MiB from device memory", s.bytes >> 20);
    const bench_row out = {.what = what, .samples = in.samples, .warm = 1,
                           .sides = {{"acuda", sample_write, &s, 0, 0},
                                     {"dd from pinned", sample_dd_write, &s, 1 / 0.9, 0}}};
    bench_compare(&b, &out);
    bench_enter(&b);
    for (int i = 0; i < BUFFERS; i++)
        MUST_CU(b.cu->EventDestroy(s.free[i]));
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    for (int i = 0; i < BUFFERS; i++)
        acu_tensor_release(s.buffer[i]);
    close(s.descriptor);
    acu_file_release(s.file);
    acu_tensor_release(s.x);
    return bench_close(&b);
}
