/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Order follows data: operations that touch the same bytes run in the order of submission, whatever
 * streams, devices, threads and host calls are involved; operations that share no data are not held
 * up. The steps do not commute, so the results show their order. test_random.c has random programs.
 */
#include "support/support.h"

#include "base/cache.h"

#include "device/device.h"
#include "memory/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

extern const char test_order_ptx[];

enum { N = 96, STREAMS = 3 };
#define VECTOR ACU_SHAPE(N)
#define ALL acu_for_num_elems(N)

typedef struct bench {
    acu_device *device;
    acu_kernel *step;
    acu_stream *streams[STREAMS];
} bench;

static bench open_bench(void)
{
    bench b = {.device = test_open()};
    b.step = test_kernel(b.device, test_order_ptx, "step");
    for (int i = 0; i < STREAMS; i++)
        assert_works(acu_stream_create(b.device, 0, &b.streams[i]));
    return b;
}

static void close_bench(bench *b)
{
    for (int i = 0; i < STREAMS; i++)
        acu_stream_release(b->streams[i]);
    acu_kernel_release(b->step);
    test_close(b->device);
    test_leaks_none();
}

static void on_stream(const bench *b, int stream, acu_op *op, acu_future **future)
{
    acu_submit_options options = {.size = sizeof options, .stream = b->streams[stream]};
    assert_works(acu_submit(b->device, op, &options, future));
}

static acu_tensor *vector(const bench *b, uint32_t value)
{
    acu_tensor *x;
    assert_works(acu_sync(b->device, acu_full(VECTOR, acu_u32(value)), &x));
    return x;
}

static acu_op *step(const bench *b, acu_tensor *z, acu_tensor *x, uint32_t c)
{
    return acu_launch(b->step, ALL, acu_inout(z), acu_in(x), acu_u32(c), acu_u32(N));
}

static void holds(acu_tensor *tensor, uint32_t want)
{
    uint32_t x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want);
}

/* ---- the three hazards, with the first of the two held up ---- */

static void read_after_write(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 1), *z = vector(&b, 0);
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    on_stream(&b, 0, acu_fill(x, acu_u32(5)), NULL);
    on_stream(&b, 1, step(&b, z, x, 0), NULL);
    test_gate_open();
    holds(z, 5);
    acu_tensor_release(x);
    acu_tensor_release(z);
    close_bench(&b);
}

static void write_after_read(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 1), *z = vector(&b, 0);
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    on_stream(&b, 0, step(&b, z, x, 0), NULL);
    on_stream(&b, 1, acu_fill(x, acu_u32(5)), NULL);
    test_gate_open();
    holds(z, 1);
    holds(x, 5);
    acu_tensor_release(x);
    acu_tensor_release(z);
    close_bench(&b);
}

static void write_after_write(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 1);
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    on_stream(&b, 0, acu_fill(x, acu_u32(4)), NULL);
    on_stream(&b, 1, acu_fill(x, acu_u32(5)), NULL);
    test_gate_open();
    holds(x, 5);
    acu_tensor_release(x);
    close_bench(&b);
}

static void many_readers_then_a_writer(void **state)
{
    (void)state;
    bench b = open_bench();
    enum { READERS = 40 };
    acu_tensor *x = vector(&b, 2);
    acu_future *readers[READERS];
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    for (int i = 0; i < READERS; i++)
        on_stream(&b, i % STREAMS, acu_dup(x), &readers[i]);
    on_stream(&b, 1, acu_fill(x, acu_u32(9)), NULL);
    /* Readers do not hold each other up. */
    assert_works(acu_future_wait(readers[1], ACU_FOREVER));
    assert_int_equal(acu_future_poll(readers[0]), ACU_NOT_READY);
    test_gate_open();
    for (int i = 0; i < READERS; i++) {
        holds(acu_future_tensor(readers[i], 0), 2);
        acu_future_release(readers[i]);
    }
    holds(x, 9);
    acu_tensor_release(x);
    close_bench(&b);
}

static void disjoint_slices_do_not_wait(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 0), *low, *high, *across;
    assert_works(acu_tensor_slice(x, (int64_t[]){0}, (int64_t[]){48}, &low));
    assert_works(acu_tensor_slice(x, (int64_t[]){48}, (int64_t[]){N}, &high));
    assert_works(acu_tensor_slice(x, (int64_t[]){40}, (int64_t[]){56}, &across));
    acu_future *apart, *both;
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    on_stream(&b, 0, acu_fill(low, acu_u32(1)), NULL);
    on_stream(&b, 1, acu_fill(high, acu_u32(2)), &apart);
    assert_works(acu_future_wait(apart, ACU_FOREVER)); /* while the gate is closed */
    on_stream(&b, 2, acu_fill(across, acu_u32(3)), &both);
    assert_int_equal(acu_future_wait(both, ACU_US(200)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_future_wait(both, ACU_FOREVER));
    uint32_t all[N];
    assert_works(acu_read_sync(x, all, sizeof all));
    for (int i = 0; i < N; i++)
        assert_int_equal(all[i], i < 40 ? 1 : i < 56 ? 3 : 2);
    acu_future_release(apart);
    acu_future_release(both);
    acu_tensor_release(low);
    acu_tensor_release(high);
    acu_tensor_release(across);
    acu_tensor_release(x);
    close_bench(&b);
}

enum { ROWS = 8, COLUMNS = 12 };

static acu_tensor *columns(acu_tensor *x, int64_t from, int64_t to)
{
    acu_tensor *view;
    assert_works(acu_tensor_slice(x, (int64_t[]){0, from}, (int64_t[]){ROWS, to}, &view));
    return view;
}

/* The bytes of the columns lie between one another. */
static void disjoint_columns_do_not_wait(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_kernel *paint = test_kernel(b.device, test_order_ptx, "paint");
    acu_tensor *x;
    assert_works(acu_sync(b.device, acu_full(ACU_SHAPE(ROWS, COLUMNS), acu_u32(0)), &x));
    acu_tensor *parts[] = {columns(x, 0, 5), columns(x, 5, COLUMNS), columns(x, 4, 6)};
    acu_future *done[3];
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    for (int i = 0; i < 3; i++) {
        acu_op *tiles = acu_partition(parts[i], ACU_SHAPE(3, 2));
        on_stream(&b, i, acu_launch(paint, ACU_BLOCK(32), acu_out(tiles), acu_u32((uint32_t)i + 1)),
                  &done[i]);
    }
    assert_works(acu_future_wait(done[1], ACU_FOREVER)); /* while the gate is closed */
    assert_int_equal(acu_future_wait(done[2], ACU_US(200)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_future_wait(done[2], ACU_FOREVER));
    uint32_t all[ROWS][COLUMNS];
    assert_works(acu_read_sync(x, all, sizeof all));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            assert_int_equal(all[r][c], c < 4 ? 1 : c < 6 ? 3 : 2);
    for (int i = 0; i < 3; i++) {
        acu_future_release(done[i]);
        acu_tensor_release(parts[i]);
    }
    acu_tensor_release(x);
    acu_kernel_release(paint);
    close_bench(&b);
}

/* The first write is given up before it is issued: the next writer still comes behind the
 * allocation of the memory. */
static void failed_writes_keep_the_order(void **state)
{
    (void)state;
    bench b = open_bench();
    if (!acu_device_info_of(b.device)->memory_pools) {
        close_bench(&b);
        skip();
    }
    acu_tensor *x;
    acu_future *failed, *next;
    test_threads_rest();
    test_gate_close(b.device, b.device->alloc->raw);
    assert_works(acu_tensor_alloc(b.device, ACU_U32, VECTOR, &x));
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_StreamWaitEvent, .nth = 1};
    assert_works(acu_driver_fail(&fault));
    on_stream(&b, 0, acu_fill(x, acu_u32(4)), &failed);
    assert_int_not_equal(acu_future_wait(failed, ACU_FOREVER), ACU_OK);
    acu_driver_fail_clear();
    on_stream(&b, 1, acu_fill(x, acu_u32(5)), &next);
    assert_int_equal(acu_future_wait(next, ACU_US(500)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_future_wait(next, ACU_FOREVER));
    holds(x, 5);
    acu_future_release(failed);
    acu_future_release(next);
    acu_tensor_release(x);
    close_bench(&b);
}

/* What comes behind a write that fails comes behind everything that the write was behind. */
static void failed_writes_pass_on_what_they_were_behind(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 1), *bad = vector(&b, 2);
    acu_future *failed, *next;
    acu_use *use;
    assert_works(acu_use_begin(b.streams[2], &use, acu_out(bad)));
    assert_works(acu_use_end(use, ACU_ERR_IO, NULL));
    test_gate_close(b.device, acu_stream_raw(b.streams[0]));
    on_stream(&b, 0, acu_fill(x, acu_u32(3)), NULL);
    on_stream(&b, 1, acu_copy(x, bad), &failed);
    on_stream(&b, 1, acu_fill(x, acu_u32(5)), &next);
    acu_status early = acu_future_wait(next, ACU_US(500));
    test_gate_open();
    assert_int_equal(early, ACU_TIMEOUT);
    assert_works(acu_future_wait(next, ACU_FOREVER));
    assert_int_equal(acu_future_wait(failed, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    holds(x, 5);
    acu_future_release(failed);
    acu_future_release(next);
    acu_tensor_release(bad);
    acu_tensor_release(x);
    close_bench(&b);
}

/* ---- host work between device work ---- */

static acu_status host_step(void *user, const acu_val *values, size_t count)
{
    uint32_t *x = acu_tensor_host(values[0].tensor);
    (void)count;
    for (int i = 0; i < N; i++)
        x[i] = 3 * x[i] + (uint32_t)(uintptr_t)user;
    return ACU_OK;
}

static void host_work_in_between(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 1), *pinned;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, VECTOR, &pinned));
    uint32_t want = 1;
    for (uint32_t i = 0; i < 60; i++) {
        int stream = (int)i % STREAMS;
        if (i % 20 == 0)
            test_gate_close(b.device, acu_stream_raw(b.streams[stream]));
        on_stream(&b, stream, acu_copy(pinned, x), NULL);
        void *c = (void *)(uintptr_t)i;
        assert_works(acu_submit(b.device, acu_host(host_step, c, acu_inout(pinned)), NULL, NULL));
        on_stream(&b, (stream + 1) % STREAMS, acu_copy(x, pinned), NULL);
        on_stream(&b, (stream + 2) % STREAMS, step(&b, x, x, 1), NULL);
        want = 4 * (3 * want + i) + 1; /* 3 x + x + 1: both arguments are x */
        if (i % 20 == 19)
            test_gate_open();
    }
    holds(x, want);
    acu_tensor_release(x);
    acu_tensor_release(pinned);
    close_bench(&b);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 100 };

/* Each submission swaps x and y by way of a third tensor: if two of them interleaved, one value
 * would be lost. */
typedef struct swapping {
    const bench *b;
    acu_tensor *x, *y;
    bool reversed;
    int failures;
} swapping;

static void *swap(void *user)
{
    swapping *s = user;
    for (int i = 0; i < ROUNDS; i++) {
        acu_tensor *x = s->reversed ? s->y : s->x, *y = s->reversed ? s->x : s->y;
        acu_op *keep = acu_op_retain(acu_dup(x));
        acu_op *op = acu_zip(acu_share(keep), acu_copy(x, y), acu_copy(y, keep));
        s->failures += acu_submit(s->b->device, op, NULL, NULL) != ACU_OK;
    }
    return NULL;
}

static void submissions_of_threads_do_not_interleave(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x = vector(&b, 111), *y = vector(&b, 222);
    pthread_t threads[THREADS];
    swapping s[THREADS];
    for (int i = 0; i < THREADS; i++) {
        s[i] = (swapping){.b = &b, .x = x, .y = y, .reversed = i % 2};
        assert_int_equal(pthread_create(&threads[i], NULL, swap, &s[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(s[i].failures, 0);
    }
    holds(x, 111); /* swapped an even number of times */
    holds(y, 222);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_bench(&b);
}

/* ---- some allocation fails ---- */

enum { PARTS = 12, PART = N / PARTS, MOST = 60 };

typedef struct crowd {
    acu_tensor *x, *parts[PARTS];
    acu_future *held[PARTS];
} crowd;

/* Writes of `count` parts of x wait for the gate: so the list of accesses has as many entries. */
static crowd crowd_of(const bench *b, acu_tensor *host, int count)
{
    crowd c = {.x = vector(b, 1)};
    for (int64_t i = 0; i < PARTS; i++) {
        int64_t start = i * PART, end = start + PART;
        assert_works(acu_tensor_slice(c.x, &start, &end, &c.parts[i]));
    }
    test_host_gate_close();
    assert_works(acu_submit(b->device, acu_host(test_pass_host_gate, NULL, acu_inout(host)), NULL,
                            NULL));
    for (int i = 0; i < count; i++)
        assert_works(acu_submit(b->device, acu_copy(c.parts[i], host), NULL, &c.held[i]));
    return c;
}

static void drop_crowd(crowd *c)
{
    for (int i = 0; i < PARTS; i++) {
        acu_future_release(c->held[i]);
        acu_tensor_release(c->parts[i]);
    }
    acu_tensor_release(c->x);
}

/* A write behind that many, with the n-th allocation failing. False: there were fewer
 * allocations. */
static bool write_without_memory(const bench *b, acu_tensor *host, int count, uint64_t nth,
                                 int *lost)
{
    crowd c = crowd_of(b, host, count);
    acu_tensor *part = c.parts[count];
    uint32_t got[PART];
    acu_future *future = NULL;
    acu_debug_fail_alloc(nth, false);
    acu_status status = acu_submit(b->device, acu_fill(part, acu_u32(7)), NULL, &future);
    bool failed = acu_debug_alloc_count() >= nth;
    acu_debug_fail_alloc(0, false);
    test_host_gate_open();
    if (status == ACU_OK && acu_future_wait(future, ACU_FOREVER) == ACU_ERR_NO_MEMORY) {
        assert_fails(acu_read_sync(part, got, sizeof got), ACU_ERR_DEPENDENCY, "memory");
        assert_works(acu_sync(b->device, acu_fill(c.x, acu_u32(8)), NULL));
        assert_works(acu_read_sync(part, got, sizeof got));
        assert_int_equal(got[0], 8);
        ++*lost;
    } else {
        assert_works(acu_read_sync(part, got, sizeof got));
        assert_int_equal(got[0], status == ACU_OK ? 7 : 1);
    }
    acu_future_release(future);
    drop_crowd(&c);
    return failed;
}

/* The submission succeeded, but its work did not run: readers of its data fail as always. */
static void what_had_no_memory_to_be_in_order_is_not_computed(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *host;
    int lost = 0;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, ACU_SHAPE(PART), &host));
    for (int count = 0; count < PARTS; count++) {
        uint64_t nth = 1;
        while (nth < MOST && write_without_memory(&b, host, count, nth, &lost))
            nth++;
        assert_true(nth < MOST);
    }
    assert_true(lost > 0);
    acu_tensor_release(host);
    close_bench(&b);
}

/* ---- waiting copies of host memory ---- */

typedef struct waiting_copy {
    acu_tensor *tensor;
    const uint32_t *from; /* NULL: reads */
    uint32_t to[N];
} waiting_copy;

static void *copy_and_wait(void *context)
{
    waiting_copy *c = context;
    acu_status status = c->from ? acu_write_sync(c->tensor, c->from, N * sizeof *c->from)
                                : acu_read_sync(c->tensor, c->to, sizeof c->to);
    return status == ACU_OK ? c : NULL;
}

static uint64_t submitted(void)
{
    acu_process_statistics counters = {.size = sizeof counters};
    acu_process_stats(&counters);
    return counters.submissions;
}

/* Hangs if waiting copies need the thread that runs host work. */
static void waiting_copies_hold_no_host_work_up_nor_wait_for_it(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, VECTOR, &host));
    test_host_gate_close();
    acu_future *held = test_submit(b.device, acu_host(test_pass_host_gate, NULL, acu_u32(0)));
    test_host_gate_await();
    uint32_t sent[N], got[N];
    for (uint32_t i = 0; i < N; i++)
        sent[i] = i * i;
    assert_works(acu_write_sync(host, sent, sizeof sent));
    assert_works(acu_read_sync(host, got, sizeof got));
    assert_memory_equal(got, sent, sizeof sent);
    assert_int_equal(acu_future_poll(held), ACU_NOT_READY);
    test_host_gate_open();
    assert_works(acu_future_wait(held, ACU_FOREVER));
    acu_future_release(held);
    acu_tensor_release(host);
    close_bench(&b);
}

/* The copy waits at a gate on another thread when `behind` is submitted. */
static void before_what_is_behind(const bench *b, waiting_copy *copy, acu_op *behind)
{
    pthread_t thread;
    void *worked;
    acu_future *done;
    test_host_gate_close();
    acu_op *gate = acu_host(test_pass_host_gate, NULL, acu_inout(copy->tensor));
    assert_works(acu_submit(b->device, gate, NULL, NULL));
    test_host_gate_await();
    uint64_t before = submitted();
    assert_int_equal(pthread_create(&thread, NULL, copy_and_wait, copy), 0);
    while (submitted() == before)
        sched_yield();
    assert_works(acu_submit(b->device, behind, NULL, &done));
    test_host_gate_open();
    assert_works(acu_future_wait(done, ACU_FOREVER));
    acu_future_release(done);
    pthread_join(thread, &worked);
    assert_ptr_equal(worked, copy);
}

static void waiting_copies_of_host_memory(void **state)
{
    (void)state;
    enum { TIMES = 8 };
    bench b = open_bench();
    acu_tensor *host, *x = vector(&b, 2);
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_U32, VECTOR, &host));
    uint32_t ones[N], threes[N];
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        threes[i] = 3;
    }
    for (int i = 0; i < TIMES; i++) {
        waiting_copy read = {.tensor = host}, write = {.tensor = host, .from = threes};
        assert_works(acu_write_sync(host, ones, sizeof ones));
        before_what_is_behind(&b, &read, acu_copy(host, x));
        assert_memory_equal(read.to, ones, sizeof ones);
        acu_tensor *y = vector(&b, 0);
        before_what_is_behind(&b, &write, acu_copy(y, host));
        holds(y, 3);
        acu_tensor_release(y);
    }
    acu_tensor_release(host);
    acu_tensor_release(x);
    close_bench(&b);
}

/* Once work has run in new memory, that is known to exist: nothing is ordered behind its allocation
 * any more. */
static void new_memory_is_waited_for_once(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x;
    assert_works(acu_tensor_alloc(b.device, ACU_U32, VECTOR, &x));
    const acui_accesses *accesses = &x->buffer->accesses;
    assert_int_equal(accesses->count, 1); /* of the allocation */
    for (int i = 0; i < 2; i++)
        assert_works(acu_sync(b.device, acu_fill(x, acu_u32(5)), NULL));
    assert_int_equal(accesses->count, 1); /* of the second fill */
    assert_int_equal(accesses->writes, 1);
    assert_false(accesses->list[0].point->allocation);
    holds(x, 5);
    acu_tensor_release(x);
    close_bench(&b);
}

/* No event can be recorded behind the first one. Work on another stream needs that event and fails;
 * work on the same stream does not. */
static void an_end_that_can_not_be_recorded_fails_other_streams(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventRecord,
                              .from_then_on = true, .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
    static const int streams[3] = {0, 1, 0};
    acu_future *futures[3];
    assert_works(acu_sync(b.device, acu_zeros(ACU_U32, VECTOR), &x));
    test_gate_close(b.device, b.streams[0]->raw); /* nobody may capture it */
    assert_works(acu_driver_fail(&fault));
    for (uint32_t i = 0; i < 3; i++) {
        acu_submit_options options = {.size = sizeof options, .stream = b.streams[streams[i]]};
        assert_works(acu_submit(b.device, acu_fill(x, acu_u32(i + 1)), &options, &futures[i]));
    }
    acu_driver_fail_clear();
    test_gate_open();
    assert_works(acu_future_wait(futures[0], ACU_FOREVER));
    assert_fails(acu_future_wait(futures[1], ACU_FOREVER), ACU_ERR_DEVICE_MEMORY, "");
    assert_string_equal(acu_last_error()->driver_call, "cuEventRecord");
    assert_works(acu_future_wait(futures[2], ACU_FOREVER));
    holds(x, 3);
    for (int i = 0; i < 3; i++)
        acu_future_release(futures[i]);
    acu_tensor_release(x);
    close_bench(&b);
}

/* ---- memory that will never be there ---- */

static acu_op *keep_and_refuse(void *user, acu_val *values, size_t count)
{
    (void)count;
    *(acu_tensor **)user = acu_tensor_retain(values[0].tensor);
    return NULL;
}

static void users_of_what_a_refused_submission_was_to_make_fail(void **state)
{
    (void)state;
    bench b = open_bench();
    static uint32_t memory[N];
    acu_tensor *none = NULL, *x = vector(&b, 7), *host;
    acu_buffer *buffer;
    assert_works(
        acu_buffer_wrap_pageable(b.device, memory, sizeof memory, ACU_USER(NULL), &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_U32, VECTOR, &host));
    acu_op *op = acu_then(acu_zeros(ACU_U32, VECTOR), keep_and_refuse, &none);
    assert_fails(acu_sync(b.device, op, NULL), ACU_ERR_CALLBACK, "");
    acu_op *users[] = {acu_fill(none, acu_u32(1)), acu_copy(none, x), step(&b, none, x, 1),
                       acu_copy(none, host)};
    for (size_t i = 0; i < sizeof users / sizeof *users; i++)
        assert_fails(acu_sync(b.device, users[i], NULL), ACU_ERR_DEPENDENCY, "never allocated");
    acu_tensor_release(none);
    acu_tensor_release(host);
    acu_tensor_release(x);
    acu_buffer_release(buffer);
    close_bench(&b);
}

/* ---- memory ---- */

/* What a submission of a hundred kernels asks for is kept for the next one. (What is not is taken
 * from the heap each time.) */
static void a_hundred_kernels_ask_for_nothing_large(void **state)
{
    (void)state;
    enum { KERNELS = 100 };
    bench b = open_bench();
    acu_tensor *z = vector(&b, 0), *x = vector(&b, 1);
    int64_t before = 0;
    for (int turn = 0; turn < 3; turn++) {
        acu_op *steps[KERNELS];
        acu_future *future;
        if (turn == 1) /* whatever is made once was made by the first */
            before = acui_count_sum(ACUI_COUNT_LARGE);
        for (uint32_t i = 0; i < KERNELS; i++)
            steps[i] = step(&b, z, x, i);
        assert_works(acu_submit(b.device, acu_op_zip(steps, KERNELS, ACU_SITE), NULL, &future));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
    }
    assert_int_equal(acui_count_sum(ACUI_COUNT_LARGE), before);
    acu_tensor_release(z);
    acu_tensor_release(x);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_after_write),
        cmocka_unit_test(write_after_read),
        cmocka_unit_test(write_after_write),
        cmocka_unit_test(many_readers_then_a_writer),
        cmocka_unit_test(disjoint_slices_do_not_wait),
        cmocka_unit_test(disjoint_columns_do_not_wait),
        cmocka_unit_test(failed_writes_keep_the_order),
        cmocka_unit_test(failed_writes_pass_on_what_they_were_behind),
        cmocka_unit_test(host_work_in_between),
        cmocka_unit_test(submissions_of_threads_do_not_interleave),
        cmocka_unit_test(what_had_no_memory_to_be_in_order_is_not_computed),
        cmocka_unit_test(waiting_copies_of_host_memory),
        cmocka_unit_test(waiting_copies_hold_no_host_work_up_nor_wait_for_it),
        cmocka_unit_test(new_memory_is_waited_for_once),
        cmocka_unit_test(an_end_that_can_not_be_recorded_fails_other_streams),
        cmocka_unit_test(users_of_what_a_refused_submission_was_to_make_fail),
        cmocka_unit_test(a_hundred_kernels_ask_for_nothing_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
