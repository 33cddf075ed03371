/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies. Of pageable memory, with one helper thread, eight, and the default number, beside the
 * driver's copy of pageable memory, which blocks, and its copy of pinned memory. Many small ones at
 * once, beside single calls and the driver's batch call. Rows beside cuMemcpy2DAsync; transposes
 * and fills beside plain copies and fills. And between devices.
 */
#include "harness/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 64, PIECE = 4096, GAP = 3 * 4096 };

typedef struct subject {
    bench *b;
    CUstream stream;
    size_t bytes;
    unsigned char *memory; /* pageable, touched */
    acu_tensor *pageable, *pinned, *device;
    CUdeviceptr raw; /* device memory of the same size */
    bool up;
    /* many small ones */
    acu_tensor *froms[PIECES], *tos[PIECES];
    CUdeviceptr from[PIECES], to[PIECES];
    size_t sizes[PIECES];
} subject;

/* ---- what is checked: the ends and some bytes between ---- */

static unsigned char value_of(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 12) * 7 + 1);
}

static void fill(unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = value_of(i);
}

static void check(const unsigned char *memory, size_t bytes, const char *what)
{
    for (size_t i = 0; i < bytes; i += i % 4099 == 0 ? 1 : 997)
        if (memory[i] != value_of(i))
            bench_wrong("%s: byte %zu of %zu is %u", what, i, bytes, memory[i]);
}

/* ---- one large copy ---- */

static double large_acuda(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, s->up ? acu_copy(s->device, s->pageable)
                                      : acu_copy(s->pageable, s->device), NULL));
    return bench_now_us() - start;
}

static double large_raw(subject *s, void *host)
{
    const acu_driver_table *cu = s->b->cu;
    double start = bench_now_us();
    if (s->up)
        MUST_CU(cu->MemcpyHtoDAsync(s->raw, host, s->bytes, s->stream));
    else
        MUST_CU(cu->MemcpyDtoHAsync(host, s->raw, s->bytes, s->stream));
    MUST_CU(cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

static double large_pinned(void *user)
{
    subject *s = user;
    return large_raw(s, acu_tensor_host(s->pinned));
}

static double large_driver(void *user)
{
    subject *s = user;
    return large_raw(s, s->memory);
}

static void set_threads(unsigned threads, size_t chunk, unsigned chunks)
{
    acu_staging_options options = {.size = sizeof options, .threads = threads, .chunk_bytes = chunk,
                                   .chunks = chunks};
    MUST(acu_staging_set(&options));
}

/* Goals: times of acuda over those of pinned memory and of the driver's pageable copy. */
static void large_row(subject *s, unsigned threads, bool up, double pinned, double driver)
{
    char what[100];
    acu_staging_options now = {.size = sizeof now};
    set_threads(threads, 0, 0);
    MUST(acu_staging_get(&now));
    s->up = up;
    snprintf(what, sizeof what, "%s pageable memory, %u threads%s", up ? "from" : "to", now.threads,
             threads ? "" : " (default)");
    bench_row row = {.what = what,
                     .samples = 40,
                     .warm = 4,
                     .sides = {{"acuda", large_acuda, s, 0, 0},
                               {"pinned, by the driver", large_pinned, s, pinned, 0},
                               {"pageable, by the driver", large_driver, s, driver, 0}}};
    bench_compare(s->b, &row);
}

static double rate(subject *s, int samples)
{
    double times[16];
    for (int i = 0; i < samples; i++)
        times[i] = large_acuda(s);
    return (double)s->bytes / bench_percentile(times, samples, 50) * 1e-3;
}

static void sizes_table(subject *s)
{
    const unsigned threads[] = {1, 2, 4, 8, 16};
    const size_t chunks[] = {512 << 10, 1 << 20, 2 << 20, 4 << 20};
    char what[100];
    for (int up = 1; up >= 0; up--)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
            for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
                set_threads(threads[t], chunks[c], 0);
                s->up = up;
                rate(s, 1);
                snprintf(what, sizeof what, "%s pageable, %u threads, chunks of %zu KiB",
                         up ? "from" : "to", threads[t], chunks[c] >> 10);
                bench_at_least(s->b, what, "GB/s", rate(s, bench_count(s->b, 5, 1)), NAN);
            }
    set_threads(0, 0, 0);
}

static void check_large(subject *s)
{
    fill(s->memory, s->bytes);
    s->up = true;
    large_acuda(s);
    memset(s->memory, 0, s->bytes);
    s->up = false;
    large_acuda(s);
    check(s->memory, s->bytes, "pageable memory");
}

static void large(subject *s)
{
    acu_buffer *buffer;
    acu_shape shape = ACU_SHAPE((int64_t)s->bytes);
    s->memory = malloc(s->bytes);
    if (!s->memory)
        bench_die("no memory");
    memset(s->memory, 1, s->bytes);
    MUST(acu_buffer_wrap_pageable(s->b->device, s->memory, s->bytes, ACU_USER(s->memory, free),
                                  &buffer));
    MUST(acu_tensor_create(buffer, 0, ACU_U8, shape, &s->pageable));
    acu_buffer_release(buffer);
    MUST(acu_tensor_alloc_pinned(s->b->device, ACU_U8, shape, &s->pinned));
    memset(acu_tensor_host(s->pinned), 1, s->bytes);
    MUST(acu_tensor_alloc(s->b->device, ACU_U8, shape, &s->device));
    bench_enter(s->b);
    MUST_CU(s->b->cu->MemAlloc(&s->raw, s->bytes));
    bench_leave(s->b);
    check_large(s);
    large_row(s, 8, true, 1 / 0.70, 0);
    large_row(s, 8, false, 1 / 0.70, 0);
    large_row(s, 0, true, 0, 0.5);
    large_row(s, 0, false, 0, 0.5);
    large_row(s, 1, true, 0, 1.0);
    large_row(s, 1, false, 0, 0);
    sizes_table(s);
    check_large(s);
    bench_enter(s->b);
    MUST_CU(s->b->cu->MemFree(s->raw));
    bench_leave(s->b);
    acu_tensor_release(s->pageable);
    acu_tensor_release(s->pinned);
    acu_tensor_release(s->device);
}

/* ---- many small ones ---- */

static double many_acuda(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    MUST(acu_sync(s->b->device, acu_copy_many(s->tos, s->froms, PIECES), NULL));
    return bench_now_us() - start;
}

static double many_singles(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < PIECES; i++)
        MUST_CU(s->b->cu->MemcpyAsync(s->to[i], s->from[i], PIECE, s->stream));
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

static double many_batch(void *user)
{
    subject *s = user;
    acu_CUmemcpyAttributes_v1 attributes = {.srcAccessOrder =
                                                ACU_CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t first = 0, failed;
    double start = bench_now_us();
    MUST_CU(s->b->cu->MemcpyBatchAsync(s->to, s->from, s->sizes, PIECES, &attributes, &first, 1,
                                       &failed, s->stream));
    MUST_CU(s->b->cu->StreamSynchronize(s->stream));
    return bench_now_us() - start;
}

/* The same as single copies of acuda's in one submission. */
static double many_zipped(void *user)
{
    subject *s = user;
    acu_op *ops[PIECES];
    double start = bench_now_us();
    for (int i = 0; i < PIECES; i++)
        ops[i] = acu_copy(s->tos[i], s->froms[i]);
    MUST(acu_sync(s->b->device, acu_op_zip(ops, PIECES, ACU_SITE), NULL));
    return bench_now_us() - start;
}

static void slice(acu_tensor *whole, acu_tensor **parts, CUdeviceptr *addresses, int step)
{
    for (int i = 0; i < PIECES; i++) {
        int64_t begin = (int64_t)(i * step % PIECES) * GAP, end = begin + PIECE;
        MUST(acu_tensor_slice(whole, &begin, &end, &parts[i]));
        addresses[i] = acu_tensor_address(parts[i]);
    }
}

static void many_row(subject *s, const char *what, acu_tensor *to, acu_tensor *from, double goal)
{
    slice(from, s->froms, s->from, 29);
    slice(to, s->tos, s->to, 1);
    for (int i = 0; i < PIECES; i++)
        s->sizes[i] = PIECE;
    bench_row row = {.what = what,
                     .samples = 1000,
                     .sides = {{"acuda, acu_copy_many", many_acuda, s, 0, 0},
                               {"64 calls", many_singles, s, goal, 0}}};
    if (acu_driver_has(ACU_CALL_MemcpyBatchAsync))
        row.sides[2] = (bench_side){"cuMemcpyBatchAsync", many_batch, s, 0, 0};
    bench_compare(s->b, &row);
    row.what = "the same, zipped";
    row.sides[0] = (bench_side){"acuda, acu_zip", many_zipped, s, 0, 0};
    row.sides[1].p50_goal = 0;
    bench_compare(s->b, &row);
    for (int i = 0; i < PIECES; i++) {
        acu_tensor_release(s->froms[i]);
        acu_tensor_release(s->tos[i]);
    }
}

static void check_many(const unsigned char *memory)
{
    for (int i = 0; i < PIECES; i++)
        for (int k = 0; k < PIECE; k++)
            if (memory[i * GAP + k] != value_of((size_t)(i * 29 % PIECES) * GAP + (size_t)k))
                bench_wrong("small copies: byte %d of the copy %d", k, i);
}

static void many(subject *s)
{
    acu_shape shape = ACU_SHAPE(PIECES * GAP);
    acu_tensor *host, *back, *x, *y;
    MUST(acu_tensor_alloc_pinned(s->b->device, ACU_U8, shape, &host));
    MUST(acu_tensor_alloc_pinned(s->b->device, ACU_U8, shape, &back));
    MUST(acu_tensor_alloc(s->b->device, ACU_U8, shape, &x));
    MUST(acu_tensor_alloc(s->b->device, ACU_U8, shape, &y));
    fill(acu_tensor_host(host), PIECES * GAP);
    many_row(s, "64 copies of 4 KiB, pinned to device", x, host, 0.30);
    MUST(acu_sync(s->b->device, acu_copy(back, x), NULL));
    check_many(acu_tensor_host(back));
    MUST(acu_sync(s->b->device, acu_copy(x, host), NULL));
    many_row(s, "64 copies of 4 KiB, device to pinned", back, x, 0);
    check_many(acu_tensor_host(back));
    many_row(s, "64 copies of 4 KiB, device to device", y, x, 0);
    MUST(acu_sync(s->b->device, acu_copy(back, y), NULL));
    check_many(acu_tensor_host(back));
    acu_tensor_release(host);
    acu_tensor_release(back);
    acu_tensor_release(x);
    acu_tensor_release(y);
}

/* ---- rows, transposes, fills ---- */

typedef struct rows {
    bench *b;
    CUstream stream;
    acu_tensor *to, *from;   /* NULL: a fill of `to` */
    acu_CUDA_MEMCPY2D raw;   /* the same by the driver; its width 0: a
                              * plain copy of as many bytes */
    CUdeviceptr plain_to, plain_from;
    size_t bytes;
} rows;

static double rows_acuda(void *user)
{
    rows *r = user;
    double start = bench_now_us();
    MUST(acu_sync(r->b->device, r->from ? acu_copy(r->to, r->from)
                                        : acu_fill(r->to, acu_f64(1.5)), NULL));
    return bench_now_us() - start;
}

static double rows_2d(void *user)
{
    rows *r = user;
    double start = bench_now_us();
    MUST_CU(r->b->cu->Memcpy2DAsync(&r->raw, r->stream));
    MUST_CU(r->b->cu->StreamSynchronize(r->stream));
    return bench_now_us() - start;
}

static double rows_plain(void *user)
{
    rows *r = user;
    double start = bench_now_us();
    if (r->from)
        MUST_CU(r->b->cu->MemcpyDtoDAsync(r->plain_to, r->plain_from, r->bytes, r->stream));
    else
        MUST_CU(r->b->cu->MemsetD32Async(r->plain_to, 7, r->bytes / 4, r->stream));
    MUST_CU(r->b->cu->StreamSynchronize(r->stream));
    return bench_now_us() - start;
}

static void describe_side(const acu_tensor *t, size_t pitch, unsigned *type, CUdeviceptr *device,
                          void **host, size_t *out)
{
    *host = acu_tensor_host(t);
    *type = *host ? ACU_CU_MEMORYTYPE_HOST : ACU_CU_MEMORYTYPE_DEVICE;
    *device = *host ? 0 : acu_tensor_address(t);
    *out = pitch;
}

/* What kernels read must have been written. */
static void write_all(acu_tensor *x)
{
    const size_t bytes = acu_tensor_bytes(x);
    void *memory = calloc(bytes, 1);
    if (!memory)
        bench_wrong("no memory for %zu bytes", bytes);
    MUST(acu_write_sync(x, memory, bytes));
    free(memory);
}

/* `height` rows of `width` bytes from one pitch to another; `from_host`: from host memory. */
static void rows_row(subject *s, const char *what, size_t width, size_t height, size_t to_pitch,
                     size_t from_pitch, bool from_host, double goal)
{
    rows r = {.b = s->b, .stream = s->stream, .bytes = width * height};
    acu_tensor *to, *from;
    acu_shape all_to = ACU_SHAPE((int64_t)height, (int64_t)to_pitch);
    acu_shape all_from = ACU_SHAPE((int64_t)height, (int64_t)from_pitch);
    const int64_t begin[] = {0, 0}, end[] = {(int64_t)height, (int64_t)width};
    void *host;
    MUST(acu_tensor_alloc(s->b->device, ACU_U8, all_to, &to));
    MUST((from_host ? acu_tensor_alloc_pinned : acu_tensor_alloc)(s->b->device, ACU_U8, all_from,
                                                                  &from));
    if (!from_host)
        write_all(from);
    MUST(acu_tensor_slice(to, begin, end, &r.to));
    MUST(acu_tensor_slice(from, begin, end, &r.from));
    r.raw.WidthInBytes = width;
    r.raw.Height = height;
    describe_side(r.to, to_pitch, &r.raw.dstMemoryType, &r.raw.dstDevice, &host, &r.raw.dstPitch);
    describe_side(r.from, from_pitch, &r.raw.srcMemoryType, &r.raw.srcDevice, &host,
                  &r.raw.srcPitch);
    r.raw.srcHost = host;
    bench_row row = {.what = what,
                     .samples = 60,
                     .warm = 8,
                     .sides = {{"acuda", rows_acuda, &r, 0, 0},
                               {"cuMemcpy2DAsync", rows_2d, &r, goal, 0}}};
    bench_compare(s->b, &row);
    acu_tensor_release(r.to);
    acu_tensor_release(r.from);
    acu_tensor_release(to);
    acu_tensor_release(from);
}

/* Beside the driver's copy, or fill, of as many bytes that lie together. */
static void plain_row(subject *s, const char *what, acu_tensor *to, acu_tensor *from)
{
    rows r = {.b = s->b, .stream = s->stream, .to = to, .from = from};
    r.bytes = acu_tensor_bytes(to);
    bench_enter(s->b);
    MUST_CU(s->b->cu->MemAlloc(&r.plain_to, r.bytes));
    MUST_CU(s->b->cu->MemAlloc(&r.plain_from, r.bytes));
    bench_leave(s->b);
    bench_row row = {.what = what,
                     .samples = 60,
                     .warm = 8,
                     .sides = {{"acuda", rows_acuda, &r, 0, 0},
                               {from ? "cuMemcpyDtoDAsync" : "cuMemsetD32Async", rows_plain, &r, 0,
                                0}}};
    bench_compare(s->b, &row);
    bench_enter(s->b);
    MUST_CU(s->b->cu->MemFree(r.plain_to));
    MUST_CU(s->b->cu->MemFree(r.plain_from));
    bench_leave(s->b);
}

static void transposes(subject *s)
{
    int64_t n = bench_count(s->b, 8192, 96);
    const acu_dtype dtypes[] = {ACU_U8, ACU_F16, ACU_F32, ACU_F64};
    const int64_t turned[] = {1, n}, gaps[] = {2 * n, 2};
    char what[80];
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        acu_tensor *to, *from, *view;
        MUST(acu_tensor_alloc(s->b->device, dtypes[i], ACU_SHAPE(n, n), &to));
        MUST(acu_tensor_alloc(s->b->device, dtypes[i], ACU_SHAPE(n, 2 * n), &from));
        write_all(from);
        MUST(acu_tensor_create_strided(acu_tensor_buffer(from), 0, dtypes[i], ACU_SHAPE(n, n),
                                       turned, &view));
        snprintf(what, sizeof what, "transpose of %lld x %lld %s", (long long)n, (long long)n,
                 acu_dtype_name(dtypes[i]));
        plain_row(s, what, to, view);
        acu_tensor_release(view);
        MUST(acu_tensor_create_strided(acu_tensor_buffer(from), 0, dtypes[i], ACU_SHAPE(n, n), gaps,
                                       &view));
        snprintf(what, sizeof what, "every other element of %lld x %lld %s", (long long)n,
                 (long long)(2 * n), acu_dtype_name(dtypes[i]));
        plain_row(s, what, to, view);
        if (dtypes[i] == ACU_F64)
            plain_row(s, "fill of f64", to, NULL);
        acu_tensor_release(view);
        acu_tensor_release(to);
        acu_tensor_release(from);
    }
}

static void layouts(subject *s)
{
    size_t many = (size_t)bench_count(s->b, 1 << 20, 64), some = many / 64;
    bench_title(s->b, "rows, and other layouts");
    rows_row(s, "device, rows of 16 KiB", 16384, some, 32768, 32768, false, 1.1);
    rows_row(s, "device, rows of 3000 bytes", 3000, some, 3072, 3000, false, 1.1);
    rows_row(s, "device, rows of 500 bytes", 500, 8 * some, 512, 500, false, 1.1);
    rows_row(s, "device, rows of 64 bytes", 64, many, 256, 64, false, 1.1);
    rows_row(s, "device, rows of 4 bytes", 4, many, 64, 4, false, 1.1);
    rows_row(s, "pinned to device, rows of 3000 bytes", 3000, some, 3072, 3000, true, 1.1);
    rows_row(s, "pinned to device, rows of 128 bytes", 128, many / 8, 256, 128, true, 1.1);
    rows_row(s, "pinned to device, rows of 32 bytes", 32, many / 8, 256, 32, true, 1.1);
    rows_row(s, "pinned to device, rows of 4 bytes", 4, many / 8, 64, 4, true, 1.1);
    transposes(s);
}

/* ---- between devices, where there are two ---- */

typedef struct pair {
    subject *s;
    acu_device *other;
    acu_tensor *to, *from;
    CUdeviceptr raw_to, raw_from;
    size_t bytes;
} pair;

static double pair_acuda(void *user)
{
    pair *p = user;
    double start = bench_now_us();
    MUST(acu_sync(p->s->b->device, acu_copy(p->to, p->from), NULL));
    return bench_now_us() - start;
}

static double pair_raw(void *user)
{
    pair *p = user;
    bench *b = p->s->b;
    double start = bench_now_us();
    MUST_CU(b->cu->MemcpyPeerAsync(p->raw_to, acu_device_context(b->device), p->raw_from,
                                   acu_device_context(p->other), p->bytes, p->s->stream));
    MUST_CU(b->cu->StreamSynchronize(p->s->stream));
    return bench_now_us() - start;
}

/* How long the driver's call takes: shows whether it does the copy before it returns. */
static double pair_call(void *user)
{
    pair *p = user;
    bench *b = p->s->b;
    double start = bench_now_us();
    MUST_CU(b->cu->MemcpyPeerAsync(p->raw_to, acu_device_context(b->device), p->raw_from,
                                   acu_device_context(p->other), p->bytes, p->s->stream));
    double us = bench_now_us() - start;
    MUST_CU(b->cu->StreamSynchronize(p->s->stream));
    return us;
}

static void pair_rows(subject *s, acu_device *other, const char *state)
{
    const size_t sizes[] = {4096, 1 << 20, 256 << 20};
    char what[100];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        pair p = {.s = s, .other = other, .bytes = s->b->quick ? sizes[i] >> 8 : sizes[i]};
        acu_shape shape = ACU_SHAPE((int64_t)p.bytes);
        MUST(acu_tensor_alloc(s->b->device, ACU_U8, shape, &p.to));
        MUST(acu_tensor_alloc(other, ACU_U8, shape, &p.from));
        MUST(acu_device_wait(s->b->device, ACU_FOREVER));
        p.raw_to = acu_tensor_address(p.to); /* the same memory: the sides take turns */
        p.raw_from = acu_tensor_address(p.from);
        snprintf(what, sizeof what, "%zu KiB between devices, %s", p.bytes >> 10, state);
        bench_row row = {.what = what,
                         .samples = 60,
                         .warm = 8,
                         .sides = {{"acuda", pair_acuda, &p, 0, 0},
                                   {"cuMemcpyPeerAsync", pair_raw, &p, 1.15, 0},
                                   {"... its call alone", pair_call, &p, 0, 0}}};
        bench_compare(s->b, &row);
        acu_tensor_release(p.to);
        acu_tensor_release(p.from);
    }
}

static void between_devices(subject *s)
{
    acu_open_options options = {
        .size = sizeof options, .ordinal = 1, .allow_software = s->b->quick};
    acu_device *other;
    int count = 0;
    MUST(acu_device_count_load(&options, &count));
    if (count < 2)
        return;
    MUST(acu_open(&options, &other));
    bench_title(s->b, "between two devices");
    pair_rows(s, other, "access never asked for");
    if (acu_device_open_peer(s->b->device, other) == ACU_OK)
        pair_rows(s, other, "with access");
    else
        pair_rows(s, other, "access refused");
    MUST(acu_close(other));
}

int main(int argc, char **argv)
{
    bench b = bench_open("copies", argc, argv, NULL);
    subject s = {.b = &b, .bytes = (size_t)bench_count(&b, 256 << 20, 1 << 20)};
    bench_enter(&b);
    MUST_CU(b.cu->StreamCreate(&s.stream, ACU_CU_STREAM_NON_BLOCKING));
    bench_leave(&b);
    bench_title(&b, "many small copies");
    many(&s);
    bench_title(&b, b.quick ? "1 MiB" : "256 MiB");
    large(&s);
    layouts(&s);
    between_devices(&s);
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    return bench_close(&b);
}
