/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory: allocating and freeing, warm, beside cuMemAllocAsync and cuMemFreeAsync with a raised
 * release threshold; freeing memory that work in flight on another stream uses; page-locked memory;
 * and how much of the device's memory queued submissions with temporaries take, and one with many.
 */
#include "harness/harness.h"
#include "harness/raw.h"

#include <acuda/debug.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KIB = 1024, MIB = 1024 * KIB, TIMES = 64, MOST_BURST = 32 };

typedef struct subject {
    bench *b;
    size_t bytes;
    int burst;
    CUstream stream, other;
    acu_stream *busy;
} subject;

/* ---- allocate and free ---- */

static double pair_acuda(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < TIMES; i++) {
        acu_buffer *buffer;
        MUST(acu_buffer_create(s->b->device, s->bytes, &buffer));
        acu_buffer_release(buffer);
    }
    return (bench_now_us() - start) / TIMES;
}

static double pair_raw(void *user)
{
    subject *s = user;
    const acu_driver_table *cu = s->b->cu;
    double start = bench_now_us();
    for (int i = 0; i < TIMES; i++) {
        CUdeviceptr address;
        MUST_CU(cu->MemAllocAsync(&address, s->bytes, s->stream));
        MUST_CU(cu->MemFreeAsync(address, s->stream));
    }
    double us = (bench_now_us() - start) / TIMES;
    MUST_CU(cu->StreamSynchronize(s->stream));
    return us;
}

/* ---- several at a time ---- */

static double burst_acuda(void *user)
{
    subject *s = user;
    acu_buffer *buffers[MOST_BURST];
    double start = bench_now_us();
    for (int i = 0; i < s->burst; i++)
        MUST(acu_buffer_create(s->b->device, s->bytes, &buffers[i]));
    for (int i = 0; i < s->burst; i++)
        acu_buffer_release(buffers[i]);
    return (bench_now_us() - start) / s->burst;
}

static double burst_raw(void *user)
{
    subject *s = user;
    const acu_driver_table *cu = s->b->cu;
    CUdeviceptr addresses[MOST_BURST];
    double start = bench_now_us();
    for (int i = 0; i < s->burst; i++)
        MUST_CU(cu->MemAllocAsync(&addresses[i], s->bytes, s->stream));
    for (int i = 0; i < s->burst; i++)
        MUST_CU(cu->MemFreeAsync(addresses[i], s->stream));
    double us = (bench_now_us() - start) / s->burst;
    MUST_CU(cu->StreamSynchronize(s->stream));
    return us;
}

/* ---- freed while another stream uses it; the use itself is not timed ---- */

static double other_acuda(void *user)
{
    subject *s = user;
    acu_submit_options options = {.size = sizeof options, .stream = s->busy};
    double us = 0;
    for (int i = 0; i < s->burst; i++) {
        acu_buffer *buffer;
        acu_tensor *tensor;
        double start = bench_now_us();
        MUST(acu_buffer_create(s->b->device, s->bytes, &buffer));
        us += bench_now_us() - start;
        MUST(acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE((int64_t)s->bytes), &tensor));
        MUST(acu_submit(s->b->device, acu_fill(tensor, acu_u8(1)), &options, NULL));
        acu_tensor_release(tensor);
        start = bench_now_us();
        acu_buffer_release(buffer);
        us += bench_now_us() - start;
    }
    MUST(acu_device_wait(s->b->device, ACU_FOREVER));
    return us / s->burst;
}

/* `ordered`: the time includes the calls that order the streams. */
static double other_raw_either(subject *s, bool ordered)
{
    const acu_driver_table *cu = s->b->cu;
    CUevent event;
    double us = 0;
    MUST_CU(cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < s->burst; i++) {
        CUdeviceptr address;
        double start = bench_now_us();
        MUST_CU(cu->MemAllocAsync(&address, s->bytes, s->stream));
        double allocated = bench_now_us();
        MUST_CU(cu->EventRecord(event, s->stream));
        MUST_CU(cu->StreamWaitEvent(s->other, event, ACU_CU_EVENT_WAIT_DEFAULT));
        double behind = bench_now_us();
        MUST_CU(cu->MemsetD8Async(address, 1, s->bytes, s->other));
        double used = bench_now_us();
        MUST_CU(cu->MemFreeAsync(address, s->other));
        us += bench_now_us() - used + (ordered ? behind : allocated) - start;
    }
    MUST_CU(cu->StreamSynchronize(s->other));
    MUST_CU(cu->StreamSynchronize(s->stream));
    MUST_CU(cu->EventDestroy(event));
    return us / s->burst;
}

static double other_raw(void *user)
{
    return other_raw_either(user, false);
}

static double other_raw_ordered(void *user)
{
    return other_raw_either(user, true);
}

/* ---- page-locked ---- */

static double pinned_acuda(void *user)
{
    subject *s = user;
    double start = bench_now_us();
    for (int i = 0; i < TIMES; i++) {
        acu_buffer *buffer;
        MUST(acu_buffer_create_pinned(s->b->device, s->bytes, &buffer));
        acu_buffer_release(buffer);
    }
    return (bench_now_us() - start) / TIMES;
}

static double pinned_raw(void *user)
{
    subject *s = user;
    const acu_driver_table *cu = s->b->cu;
    void *memory;
    double start = bench_now_us();
    MUST_CU(cu->MemHostAlloc(&memory, s->bytes, ACU_CU_MEMHOSTALLOC_PORTABLE));
    MUST_CU(cu->MemFreeHost(memory));
    return bench_now_us() - start;
}

/* ---- rows ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return bench_percentile(values, count, 50);
}

static const struct { size_t bytes; const char *text; } sizes[] = {
    {4 * KIB, "4 KiB"}, {64 * KIB, "64 KiB"}, {MIB, "1 MiB"}, {64 * MIB, "64 MiB"}};

/* Driver calls of `sample`, which is warm. */
static void count_calls(subject *s, const char *what, bench_sample_fn sample)
{
    sample(s);
    bench_settle(s->b); /* acuda's threads sleep */
    acu_driver_count_calls(true);
    sample(s);
    double calls = (double)acu_driver_calls(ACU_CALL_ANY);
    acu_driver_count_calls(false);
    bench_at_most(s->b, what, "calls", calls, 0);
}

static void device_rows(subject *s)
{
    char what[100];
    size_t count = s->b->quick ? 3 : 4;
    bench_title(s->b, "device memory, warm");
    for (size_t i = 0; i < count; i++) {
        s->bytes = sizes[i].bytes;
        s->burst = bench_count(s->b, MOST_BURST, 2);
        snprintf(what, sizeof what, "allocate and free %s", sizes[i].text);
        bench_compare(s->b, &(bench_row){.what = what,
                                         .samples = 400,
                                         .warm = 10,
                                         .sides = {{"acuda", pair_acuda, s, 0, 0},
                                                   {"cuMemAllocAsync", pair_raw, s, 0.30, 0}}});
        snprintf(what, sizeof what, "the same, %d at a time", s->burst);
        bench_compare(s->b, &(bench_row){.what = what,
                                         .samples = 400,
                                         .warm = 10,
                                         .sides = {{"acuda", burst_acuda, s, 0, 0},
                                                   {"cuMemAllocAsync", burst_raw, s, 0.30, 0}}});
        snprintf(what, sizeof what, "driver calls of %d times %s", TIMES, sizes[i].text);
        count_calls(s, what, pair_acuda);
    }
    bench_title(s->b, "the same, freed while another stream uses it");
    for (size_t i = 0; i < count; i++) {
        s->bytes = sizes[i].bytes;
        s->burst = bench_count(s->b, MOST_BURST / 2, 2);
        snprintf(what, sizeof what, "allocate and free %s", sizes[i].text);
        bench_compare(s->b,
                      &(bench_row){.what = what,
                                   .samples = 200,
                                   .warm = 10,
                                   .sides = {{"acuda", other_acuda, s, 0, 0},
                                             {"cuMemAllocAsync", other_raw, s, 0.50, 0},
                                             {"with the event", other_raw_ordered, s, 0, 0}}});
    }
}

static void pinned_rows(subject *s)
{
    char what[100];
    double values[200];
    size_t count = s->b->quick ? 3 : 4;
    bench_title(s->b, "page-locked memory, warm");
    for (size_t i = 0; i < count; i++) {
        s->bytes = sizes[i].bytes;
        pinned_acuda(s);
        int n = bench_count(s->b, 200, 3);
        for (int k = 0; k < n; k++)
            values[k] = pinned_acuda(s);
        snprintf(what, sizeof what, "allocate and free %s", sizes[i].text);
        bench_at_most(s->b, what, "us", median(values, n), s->b->quick ? NAN : 0.15);
        snprintf(what, sizeof what, "driver calls of %d times %s", TIMES, sizes[i].text);
        count_calls(s, what, pinned_acuda);
    }
    s->bytes = MIB;
    bench_compare(s->b, &(bench_row){.what = "allocate and free 1 MiB, beside the driver's",
                                     .samples = 200,
                                     .warm = 10,
                                     .sides = {{"acuda", pinned_acuda, s, 0, 0},
                                               {"cuMemHostAlloc", pinned_raw, s, 0.30, 0}}});
}

/* Submissions on the device's streams, each with two temporaries, as many
 * as are queued at a time. */
static void queued_row(subject *s)
{
    acu_pool *pool;
    acu_pool_statistics stats = {.size = sizeof stats};
    acu_pool_options made = {.size = sizeof made};
    size_t bytes = s->b->quick ? 64 * KIB : 64 * MIB;
    int count = bench_count(s->b, 200, 20);
    MUST(acu_pool_create(s->b->device, &made, &pool));
    acu_submit_options options = {.size = sizeof options, .pool = pool};
    for (int i = 0; i < count; i++) {
        acu_op *op = acu_dup(acu_full(ACU_SHAPE((int64_t)bytes), acu_u8(1)));
        MUST(acu_submit(s->b->device, op, &options, NULL));
    }
    MUST(acu_device_wait(s->b->device, ACU_FOREVER));
    MUST(acu_pool_stats(pool, &stats));
    bench_title(s->b, "200 queued submissions, each with two temporaries of 64 MiB");
    bench_at_most(s->b, "blocks of 64 MiB held, high-water mark", "blocks",
                  (double)stats.held_high / (double)bytes, s->b->quick ? NAN : 24);
    acu_pool_release(pool);
}

/* One submission of 100 operations, each on the result of the one before. */
static void chain_row(subject *s)
{
    acu_pool *pool;
    acu_pool_statistics stats = {.size = sizeof stats};
    acu_pool_options made = {.size = sizeof made, .keep = ACU_KEEP_ALL};
    size_t bytes = s->b->quick ? 64 * KIB : 64 * MIB;
    MUST(acu_pool_create(s->b->device, &made, &pool));
    acu_submit_options options = {.size = sizeof options, .pool = pool};
    acu_op *op = acu_full(ACU_SHAPE((int64_t)bytes), acu_u8(1));
    for (int i = 1; i < 100; i++)
        op = acu_add(op, acu_u8(1));
    MUST(acu_submit(s->b->device, op, &options, NULL));
    MUST(acu_device_wait(s->b->device, ACU_FOREVER));
    MUST(acu_pool_stats(pool, &stats));
    bench_title(s->b, "one submission, a chain of 100 operations on 64 MiB");
    bench_at_most(s->b, "blocks of 64 MiB in use, high-water mark", "blocks",
                  (double)stats.in_use_high / (double)bytes, 2);
    acu_pool_release(pool);
}

/* The twin's pool keeps what is freed, too. */
static void raise_threshold(const bench *b)
{
    CUmemoryPool pool;
    uint64_t keep = UINT64_MAX;
    MUST_CU(b->cu->DeviceGetDefaultMemPool(&pool, acu_device_raw(b->device)));
    MUST_CU(b->cu->MemPoolSetAttribute(pool, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
}

int main(int argc, char **argv)
{
    bench b = bench_open("memory", argc, argv, NULL);
    subject s = {.b = &b};
    if (!acu_device_info_of(b.device)->memory_pools)
        bench_die("the device has no memory pools");
    MUST(acu_stream_create(b.device, 0, &s.busy));
    bench_enter(&b);
    s.stream = raw_stream(&b);
    s.other = raw_stream(&b);
    raise_threshold(&b);
    bench_leave(&b);
    device_rows(&s);
    pinned_rows(&s);
    queued_row(&s);
    chain_row(&s);
    bench_enter(&b);
    MUST_CU(b.cu->StreamDestroy(s.stream));
    MUST_CU(b.cu->StreamDestroy(s.other));
    bench_leave(&b);
    acu_stream_release(s.busy);
    return bench_close(&b);
}
