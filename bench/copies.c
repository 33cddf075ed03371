/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies: of pageable memory, with one helper thread, eight and the default number of them, beside the
 * driver's copy of pageable memory, which blocks, and its copy of pinned memory; many small ones at
 * once beside single calls and the driver's batch call.
 */
#include "harness/harness.h"

#include <acuda/staging.h>
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
    acu_staging_options now;
    set_threads(threads, 0, 0);
    acu_staging_get(&now);
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
    const size_t chunks[] = {128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20};
    char what[100];
    for (int up = 1; up >= 0; up--)
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
            for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
                set_threads(threads[t], chunks[c], 0);
                s->up = up;
                rate(s, 1);
                snprintf(what, sizeof what, "%s pageable, %u threads, chunks of %zu KiB",
                         up ? "from" : "to", threads[t], chunks[c] >> 10);
                bench_at_least(s->b, what, "GB/s", rate(s, bench_count(s->b, 5, 1)), 0);
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
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    bench_leave(&b);
    return bench_close(&b);
}
