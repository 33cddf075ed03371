/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies of pageable memory: by helper threads, in order with other work; given up and dropped; the
 * memory is released once, after its last use.
 */
#include "support/support.h"

#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { MOST = 3 << 20 };

static unsigned char from[MOST + 8], to[MOST + 8];
static _Atomic(int) releases;

static void count_release(void *data)
{
    assert_ptr_equal(data, &releases);
    atomic_fetch_add(&releases, 1);
}

static acu_device *begin(void)
{
    atomic_store(&releases, 0);
    memset(to, 0xEE, sizeof to);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + (i >> 8) * 3 + (i >> 16));
    return test_open();
}

static void done(acu_device *device)
{
    assert_works(acu_staging_set(NULL));
    test_close(device);
    test_leaks_none();
}

static acu_tensor *pageable(acu_device *device, void *memory, size_t bytes)
{
    acu_buffer *buffer;
    acu_tensor *tensor;
    assert_works(acu_buffer_wrap_pageable(device, memory, bytes,
                                          ACU_USER(&releases, count_release), &buffer));
    assert_int_equal(acu_buffer_kind(buffer), ACU_MEMORY_PAGEABLE);
    assert_ptr_equal(acu_buffer_host(buffer), memory);
    assert_int_equal(acu_buffer_address(buffer), 0);
    assert_works(acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE((int64_t)bytes), &tensor));
    acu_buffer_release(buffer);
    return tensor;
}

static acu_tensor *on_device(acu_device *device, size_t bytes)
{
    acu_tensor *tensor;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE((int64_t)bytes), &tensor));
    return tensor;
}

static void there_and_back(acu_device *device, size_t bytes, size_t offset)
{
    memset(to, 0xEE, sizeof to);
    acu_tensor *in = pageable(device, from + offset, bytes);
    acu_tensor *out = pageable(device, to + offset, bytes);
    acu_tensor *x = on_device(device, bytes);
    assert_works(acu_submit(device, acu_copy(x, in), NULL, NULL));
    assert_works(acu_sync(device, acu_copy(out, x), NULL));
    assert_memory_equal(to + offset, from + offset, bytes);
    assert_int_equal(to[offset + bytes], 0xEE);
    acu_tensor_release(in);
    acu_tensor_release(out);
    acu_tensor_release(x);
}

static void sizes_and_numbers_of_threads(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 63, 4096, 65537, (1 << 20) + 3, MOST};
    const acu_staging_options options[] = {
        {.size = sizeof *options},
        {.size = sizeof *options, .threads = 1, .chunk_bytes = 64 << 10, .chunks = 2},
        {.size = sizeof *options, .threads = 3, .chunk_bytes = 4096, .chunks = 8},
    };
    acu_device *device = begin();
    int copies = 0;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        assert_works(acu_staging_set(&options[o]));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, copies += 2)
            there_and_back(device, sizes[i], i % 3);
    }
    done(device);
    assert_int_equal(atomic_load(&releases), copies);
}

/* After each change of the options, rings are used from their first slot on, so that the missing
 * slots are the last ones. */
static void less_memory_after_a_change(void **state)
{
    enum { CHUNK = 64 << 10, SLOTS = 3 };
    (void)state;
    acu_device *device = begin();
    acu_staging_options options = {
        .size = sizeof options, .threads = 1, .chunk_bytes = CHUNK, .chunks = SLOTS};
    assert_works(acu_staging_set(&options));
    acu_tensor *x = on_device(device, CHUNK), *in = pageable(device, from, CHUNK);
    assert_works(acu_sync(device, acu_copy(x, in), NULL));
    acu_tensor_release(x);
    acu_tensor_release(in);
    for (unsigned lacks = SLOTS; lacks > 1; lacks--) {
        options.chunk_bytes /= 2;
        assert_works(acu_staging_set(&options));
        acu_driver_fault fault = {.size = sizeof fault,
                                  .call = ACU_CALL_MemHostAlloc,
                                  .nth = lacks,
                                  .from_then_on = true,
                                  .result = ACU_CUDA_ERROR_OUT_OF_MEMORY};
        assert_works(acu_driver_fail(&fault));
        there_and_back(device, 8 * CHUNK, 1);
        acu_driver_fail_clear();
        assert_true(acu_driver_fault_hits() > 0);
    }
    done(device);
}

/* Of the threads that sleep, only few may work on the next copy: one of those is woken. */
static void fewer_threads_after_a_change(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_staging_options options = {
        .size = sizeof options, .threads = 6, .chunk_bytes = 4096, .chunks = 2};
    assert_works(acu_staging_set(&options));
    there_and_back(device, 64 << 10, 0);
    options.threads = 1;
    assert_works(acu_staging_set(&options));
    for (int i = 0; i < 6; i++) {
        test_threads_rest();
        there_and_back(device, 100, 1);
    }
    done(device);
}

static void options_are_checked(void **state)
{
    (void)state;
    acu_staging_options options = {.size = sizeof options}, now = options;
    assert_works(acu_staging_get(&now));
    assert_in_range(now.threads, 1, 8);
    assert_int_equal(now.chunk_bytes, 2 << 20);
    options.threads = 65;
    assert_fails(acu_staging_set(&options), ACU_ERR_INVALID, "65 threads|64");
    options.threads = 2;
    options.chunk_bytes = 5000;
    assert_fails(acu_staging_set(&options), ACU_ERR_INVALID, "5000 bytes|4096");
    options.chunk_bytes = 8192;
    options.chunks = 9;
    assert_fails(acu_staging_set(&options), ACU_ERR_INVALID, "9 chunks");
    options.chunks = 4;
    assert_works(acu_staging_set(&options));
    assert_works(acu_staging_get(&now));
    assert_int_equal(now.threads, 2);
    assert_int_equal(now.chunk_bytes, 8192);
    assert_int_equal(now.chunks, 4);
    assert_works(acu_staging_set(NULL));
}

/* A program built with a version whose struct ended sooner. */
static void an_older_struct_is_written_to_its_end(void **state)
{
    (void)state;
    acu_staging_options now = {.size = offsetof(acu_staging_options, chunk_bytes)};
    now.chunk_bytes = 17;
    now.chunks = 19;
    assert_works(acu_staging_get(&now));
    assert_int_equal(now.size, offsetof(acu_staging_options, chunk_bytes));
    assert_in_range(now.threads, 1, 8);
    assert_int_equal(now.chunk_bytes, 17);
    assert_int_equal(now.chunks, 19);
    now.size = 0;
    assert_fails(acu_staging_get(&now), ACU_ERR_INVALID, "acu_staging_get|size");
    assert_fails(acu_staging_get(NULL), ACU_ERR_INVALID, "acu_staging_get");
}

/* Between fills on the device, and host work on the memory itself. */
static acu_status add_one(void *user, const acu_val *values, size_t count)
{
    unsigned char *x = acu_tensor_host(values[0].tensor);
    (void)user, (void)count;
    for (int64_t i = 0; i < acu_tensor_elements(values[0].tensor); i++)
        x[i]++;
    return ACU_OK;
}

static void in_order_with_the_rest(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *out = pageable(device, to, 100000), *x = on_device(device, 100000);
    acu_tensor *y = on_device(device, 100000);
    for (int turn = 0; turn < 5; turn++) {
        acu_arg value = acu_u8((uint8_t)(10 * turn));
        assert_works(acu_submit(device, acu_fill(x, value), NULL, NULL));
        assert_works(acu_submit(device, acu_copy(out, x), NULL, NULL));
        assert_works(acu_submit(device, acu_fill(x, acu_u8(255)), NULL, NULL));
        assert_works(acu_submit(device, acu_host(add_one, NULL, acu_inout(out)), NULL, NULL));
        assert_works(acu_submit(device, acu_copy(y, out), NULL, NULL));
        assert_works(acu_read_sync(y, to + 200000, 100000));
        for (int i = 0; i < 100000; i++)
            assert_int_equal(to[200000 + i], 10 * turn + 1);
    }
    acu_tensor_release(out);
    acu_tensor_release(x);
    acu_tensor_release(y);
    done(device);
}

static void between_host_memories(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *in = pageable(device, from, 300001), *out = pageable(device, to, 300001), *pinned;
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(300001), &pinned));
    assert_works(acu_submit(device, acu_copy(pinned, in), NULL, NULL));
    assert_works(acu_sync(device, acu_copy(out, pinned), NULL));
    assert_memory_equal(to, from, 300001);
    acu_tensor_release(in);
    acu_tensor_release(out);
    acu_tensor_release(pinned);
    done(device);
}

/* ---- given up, and dropped: behind work that waits until the gate opens ---- */

typedef struct gated {
    acu_device *device;
    acu_stream *stream;
    acu_tensor *x, *out;
    acu_process_statistics before;
} gated;

static gated gated_open(void)
{
    gated g = {.device = begin()};
    assert_works(acu_stream_create(g.device, 0, &g.stream));
    g.x = on_device(g.device, MOST);
    g.out = pageable(g.device, to, MOST);
    acu_submit_options options = {.size = sizeof options, .stream = g.stream};
    test_gate_close(g.device, acu_stream_raw(g.stream));
    assert_works(acu_submit(g.device, acu_fill(g.x, acu_u8(5)), &options, NULL));
    g.before.size = sizeof g.before;
    acu_process_stats(&g.before);
    return g;
}

static uint64_t skipped(const gated *g)
{
    acu_process_statistics now = {.size = sizeof now};
    acu_process_stats(&now);
    return now.staged_skipped - g->before.staged_skipped;
}

static void gated_done(gated *g)
{
    acu_tensor_release(g->x);
    acu_stream_release(g->stream);
    done(g->device);
    assert_int_equal(atomic_load(&releases), 1);
}

static void all_are(unsigned char value)
{
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(to[i], value);
}

static void cancelled_before_it_begins(void **state)
{
    (void)state;
    gated g = gated_open();
    acu_future *future, *reader;
    assert_works(acu_submit(g.device, acu_copy(g.out, g.x), NULL, &future));
    assert_works(acu_submit(g.device, acu_host(add_one, NULL, acu_inout(g.out)), NULL, &reader));
    assert_works(acu_future_cancel(future));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CANCELLED);
    acu_tensor_release(g.out);
    assert_int_equal(atomic_load(&releases), 0);
    test_gate_open();
    assert_int_equal(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    acu_future_release(future);
    acu_future_release(reader);
    all_are(0xEE);
    gated_done(&g);
}

static void nobody_wants_it(void **state)
{
    (void)state;
    gated g = gated_open();
    acu_future *future;
    assert_works(acu_submit(g.device, acu_copy(g.out, g.x), NULL, &future));
    acu_tensor_release(g.out);
    acu_future_release(future);
    assert_int_equal(atomic_load(&releases), 0);
    test_gate_open();
    assert_works(acu_device_wait(g.device, ACU_FOREVER));
    all_are(0xEE);
    assert_int_equal(skipped(&g), 1);
    gated_done(&g);
}

static void somebody_holds_the_memory(void **state)
{
    (void)state;
    gated g = gated_open();
    acu_future *future;
    assert_works(acu_submit(g.device, acu_copy(g.out, g.x), NULL, &future));
    acu_future_release(future);
    test_gate_open();
    assert_works(acu_device_wait(g.device, ACU_FOREVER));
    all_are(5);
    assert_int_equal(skipped(&g), 0);
    acu_tensor_release(g.out);
    gated_done(&g);
}

static void there_was_no_future(void **state)
{
    (void)state;
    gated g = gated_open();
    assert_works(acu_submit(g.device, acu_copy(g.out, g.x), NULL, NULL));
    acu_tensor_release(g.out);
    test_gate_open();
    assert_works(acu_device_wait(g.device, ACU_FOREVER));
    all_are(5);
    assert_int_equal(skipped(&g), 0);
    gated_done(&g);
}

static void somebody_reads_it(void **state)
{
    (void)state;
    gated g = gated_open();
    acu_future *future;
    acu_op *read = acu_host(add_one, NULL, acu_inout(acu_first(acu_copy(g.out, g.x))));
    assert_works(acu_submit(g.device, read, NULL, &future));
    acu_tensor_release(g.out);
    acu_future_release(future);
    test_gate_open();
    assert_works(acu_device_wait(g.device, ACU_FOREVER));
    all_are(6);
    assert_int_equal(skipped(&g), 0);
    gated_done(&g);
}

/* ---- threads that copy, cancel and drop at random ---- */

enum { CREW = 3, TURNS = 40, ROOM = 200000 };

typedef struct worker {
    pthread_t thread;
    acu_device *device;
    test_random random;
    unsigned char *memory; /* ROOM bytes in, ROOM bytes out */
    int wrong;
} worker;

/* Copies down into its own memory, and sometimes gives the copy up or drops it: what is complete is
 * right. */
static void turn_of(worker *w, acu_tensor *x, unsigned char value)
{
    size_t bytes = 1 + test_below(&w->random, ROOM);
    uint64_t choice = test_below(&w->random, 6);
    unsigned char *out = w->memory + ROOM;
    acu_tensor *in = pageable(w->device, w->memory, bytes), *back = pageable(w->device, out, bytes);
    acu_tensor *part;
    acu_submit_options options = {.size = sizeof options};
    acu_future *future;
    memset(w->memory, value, bytes);
    options.timeout = choice == 4 ? 1 + test_below(&w->random, ACU_US(200)) : 0;
    if (acu_tensor_slice(x, (int64_t[]){0}, (int64_t[]){(int64_t)bytes}, &part) != ACU_OK)
        abort();
    acu_op *op = acu_copy(back, acu_first(acu_copy(part, in)));
    if (acu_submit(w->device, op, &options, &future) != ACU_OK)
        abort();
    acu_tensor_release(part);
    acu_tensor_release(in);
    acu_tensor_release(back);
    if (choice == 5)
        acu_future_cancel(future);
    acu_status status = choice < 2 ? ACU_NOT_READY : acu_future_wait(future, ACU_FOREVER);
    for (size_t i = 0; i < bytes && status == ACU_OK; i++)
        w->wrong += out[i] != value;
    w->wrong += status != ACU_OK && choice != 4 && choice != 5 && choice >= 2;
    acu_future_release(future);
    acu_device_wait(w->device, ACU_FOREVER); /* the memory is its own again */
}

static void *work(void *context)
{
    worker *w = context;
    acu_tensor *x;
    if (acu_tensor_alloc(w->device, ACU_U8, ACU_SHAPE(ROOM), &x) != ACU_OK)
        abort();
    for (int i = 0; i < TURNS; i++)
        turn_of(w, x, (unsigned char)(i + 1));
    acu_tensor_release(x);
    return NULL;
}

static void threads_that_change_their_minds(void **state)
{
    (void)state;
    acu_device *device = begin();
    worker crew[CREW];
    acu_staging_options options = {
        .size = sizeof options, .threads = 3, .chunk_bytes = 16 << 10, .chunks = 2};
    assert_works(acu_staging_set(&options));
    for (int i = 0; i < CREW; i++) {
        crew[i] = (worker){.device = device, .random = {.state = (uint64_t)i + 1}};
        crew[i].memory = malloc(2 * ROOM);
        assert_int_equal(pthread_create(&crew[i].thread, NULL, work, &crew[i]), 0);
    }
    for (int i = 0; i < CREW; i++) {
        pthread_join(crew[i].thread, NULL);
        assert_int_equal(crew[i].wrong, 0);
        free(crew[i].memory);
    }
    done(device);
    assert_int_equal(atomic_load(&releases), 2 * CREW * TURNS);
}

/* ---- told and refused ---- */

static void it_is_told(void **state)
{
    (void)state;
    char text[2000];
    acu_device *device = begin();
    acu_process_statistics before = {.size = sizeof before}, now = {.size = sizeof now};
    acu_process_stats(&before);
    acu_tensor *in = pageable(device, from, 70000);
    acu_submit_options options = {.size = sizeof options, .explain = true};
    acu_future *future;
    assert_works(acu_submit(device, acu_to_device(device, in), &options, &future));
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_explain(future, ACU_EXPLAIN_TEXT, text, sizeof text, NULL));
    assert_non_null(strstr(text, "pageable"));
    assert_non_null(strstr(text, "staged copy to_device"));
    acu_process_stats(&now);
    assert_int_equal(now.staged_copies - before.staged_copies, 1);
    assert_int_equal(now.staged_bytes - before.staged_bytes, 70000);
    acu_future_release(future);
    acu_tensor_release(in);
    done(device);
}

/* ---- a chunk fails when it is on the stream already, and then the context can not be made current
 * ---- */

static _Thread_local enum { BEFORE, FAILED, REFUSED } copying; /* of a helper */
static _Atomic(int) marks; /* that the helper made then */

static unsigned copy_and_fail(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    assert_int_equal(acu_driver()->MemcpyHtoDAsync(dst, src, bytes, stream), ACU_CUDA_SUCCESS);
    copying = FAILED;
    return ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

static unsigned refuse_once(CUcontext context)
{
    if (copying != FAILED)
        return acu_driver()->CtxPushCurrent(context);
    copying = REFUSED;
    return ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

static unsigned count_mark(CUevent event, CUstream stream)
{
    atomic_fetch_add(&marks, copying == REFUSED);
    return acu_driver()->EventRecord(event, stream);
}

/* The helper waits for what is on the stream: that reads memory which the next copy gets, and
 * writes memory which others may write once this copy is over. */
static void nothing_of_a_copy_that_failed_is_left(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_tensor *in = pageable(device, from, 4096), *x = on_device(device, 4096);
    static acu_driver_table table; /* used by the device until its end */
    table = *device->cu;
    table.MemcpyHtoDAsync = copy_and_fail;
    table.CtxPushCurrent = refuse_once;
    table.EventRecord = count_mark;
    atomic_store(&marks, 0);
    device->cu = &table;
    assert_fails(acu_sync(device, acu_copy(x, in), NULL), ACU_ERR_DEVICE_MEMORY,
                 "cuMemcpyHtoDAsync");
    assert_int_equal(atomic_load(&marks), 1);
    acu_tensor_release(in);
    acu_tensor_release(x);
    done(device);
}

static void wrong_use_is_refused(void **state)
{
    (void)state;
    acu_device *device = begin();
    acu_buffer *buffer = NULL;
    acu_user user = ACU_USER(&releases, count_release);
    assert_fails(acu_buffer_wrap_pageable(device, NULL, 5, user, &buffer), ACU_ERR_INVALID,
                 "acu_buffer_wrap_pageable|NULL");
    assert_fails(acu_buffer_wrap_pageable(device, to, 0, user, &buffer), ACU_ERR_INVALID,
                 "0 bytes");
    assert_int_equal(atomic_load(&releases), 2); /* also where it fails */
    acu_tensor *x = pageable(device, to, 100);
    acu_op *same = acu_copy(x, x);
    (void)same;
    assert_works(acu_sync(device, same, NULL)); /* itself: nothing to do */
    acu_tensor_release(x);
    done(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_numbers_of_threads),
        cmocka_unit_test(less_memory_after_a_change),
        cmocka_unit_test(fewer_threads_after_a_change),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(an_older_struct_is_written_to_its_end),
        cmocka_unit_test(in_order_with_the_rest),
        cmocka_unit_test(between_host_memories),
        cmocka_unit_test(cancelled_before_it_begins),
        cmocka_unit_test(nobody_wants_it),
        cmocka_unit_test(somebody_holds_the_memory),
        cmocka_unit_test(there_was_no_future),
        cmocka_unit_test(somebody_reads_it),
        cmocka_unit_test(threads_that_change_their_minds),
        cmocka_unit_test(it_is_told),
        cmocka_unit_test(nothing_of_a_copy_that_failed_is_left),
        cmocka_unit_test(wrong_use_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
