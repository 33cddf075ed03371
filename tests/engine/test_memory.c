/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory of submissions: the temporaries of queued submissions share it; memory in use is never
 * handed out; and if there is none, a submission waits for it, but no thread does.
 */
#include "support/one_device.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

enum { KIB = 1024, MIB = 1024 * KIB };

static acu_pool_statistics stats_of(acu_pool *pool)
{
    acu_pool_statistics stats = {.size = sizeof stats};
    assert_works(acu_pool_stats(pool, &stats));
    return stats;
}

static acu_pool *pool_of(size_t limit)
{
    acu_pool_options options = {.size = sizeof options, .limit = limit};
    acu_pool *pool = NULL;
    assert_works(acu_pool_create(device, &options, &pool));
    return pool;
}

static acu_future *submit(acu_op *op, acu_stream *stream, acu_pool *pool)
{
    acu_submit_options options = {.size = sizeof options, .stream = stream, .pool = pool};
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, &options, &future));
    return future;
}

static acu_stream *new_stream(void)
{
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    return stream;
}

static void expect_all(acu_tensor *tensor, size_t bytes, unsigned char want)
{
    unsigned char *got = malloc(bytes);
    assert_works(acu_read_sync(tensor, got, bytes));
    for (size_t i = 0; i < bytes; i++)
        if (got[i] != want)
            fail_msg("byte %zu of %zu is %d, not %d", i, bytes, got[i], want);
    free(got);
}

/* ---- temporaries ---- */

/* Each submission has two large temporaries, and none is complete. */
static void queued_submissions_share_their_temporaries(void **state)
{
    (void)state;
    enum { SUBMISSIONS = 50 }; /* all fit into the driver's queue */
    acu_pool *pool = pool_of(0);
    acu_stream *stream = new_stream();
    acu_tensor *sink = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(MIB), &sink));
    test_gate_close(device, acu_stream_raw(stream));
    for (int i = 0; i < SUBMISSIONS; i++) {
        acu_op *twice = acu_dup(acu_full(ACU_SHAPE(MIB), acu_u8((uint8_t)i)));
        acu_future_release(submit(acu_copy(sink, twice), stream, pool));
    }
    acu_pool_statistics stats = stats_of(pool);
    /* The thread that makes executable graphs holds the memory of one or two submissions for a
     * while. */
    assert_true(stats.misses >= 2 && stats.misses <= 12);
    assert_int_equal(stats.hits + stats.misses, 2 * SUBMISSIONS);
    assert_int_equal(stats.held_high, stats.misses * MIB);
    test_gate_open();
    expect_all(sink, MIB, SUBMISSIONS - 1);
    acu_tensor_release(sink);
    acu_stream_release(stream);
    acu_pool_release(pool);
}

static acu_status note(void *user, const acu_val *values, size_t count)
{
    atomic_fetch_add((_Atomic(int) *)user, count == 1 && *(uint8_t *)acu_tensor_host(
                                                     values[0].tensor) == 3);
    return ACU_OK;
}

/* The same over all streams, and with host work, which uses page-locked memory for longer. */
static void on_all_streams(void **state)
{
    (void)state;
    enum { SUBMISSIONS = 100 };
    static _Atomic(int) right;
    acu_pool *pool = pool_of(0);
    atomic_store(&right, 0);
    for (int i = 0; i < SUBMISSIONS; i++) {
        acu_op *host = acu_to_host(acu_dup(acu_full(ACU_SHAPE(64 * KIB), acu_u8(3))));
        acu_op *op = acu_op_host(note, ACU_USER(&right), ACU_ARGS(acu_inout(host)), ACU_SITE);
        acu_future_release(submit(op, NULL, pool));
    }
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&right), SUBMISSIONS);
    assert_true(stats_of(pool).held_high <= 24 * 64 * KIB); /* two for each stream, or so */
    acu_pool_release(pool);
}

/* ---- where there is none ---- */

static acu_status nothing(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_OK;
}

/* A submission on a stream that is held up, which keeps its memory until it is over. The caller
 * holds the memory too, and releases it then. */
static acu_future *hold(acu_pool *pool, acu_stream *stream, size_t bytes, acu_tensor **held)
{
    test_gate_close(device, acu_stream_raw(stream));
    acu_op *x = acu_full(ACU_SHAPE((int64_t)bytes), acu_u8(1));
    acu_future *future = submit(acu_op_foreign(nothing, ACU_USER(NULL), ACU_ARGS(acu_inout(x)),
                                               ACU_SITE), stream, pool);
    assert_works(acu_future_take(future, 0, held));
    return future;
}

static void let_go(void *user, acu_future *future, acu_status status)
{
    (void)future, (void)status;
    acu_tensor_release(user);
}

static void a_submission_waits_for_memory(void **state)
{
    (void)state;
    enum { WAITING = 5 };
    acu_pool *pool = pool_of(MIB);
    acu_stream *busy = new_stream(), *other = new_stream();
    acu_tensor *held = NULL;
    acu_future *first = hold(pool, busy, 800 * KIB, &held), *next[WAITING];
    for (int i = 0; i < WAITING; i++)
        next[i] = submit(acu_full(ACU_SHAPE((600 + 50 * i) * KIB), acu_u8((uint8_t)i)), other,
                         pool);
    assert_int_equal(stats_of(pool).put_off, WAITING);
    assert_int_equal(stats_of(pool).failures, 0); /* so far */
    for (int i = 0; i < WAITING; i++)
        assert_int_equal(acu_future_poll(next[i]), ACU_NOT_READY);
    /* A submission that needs no memory of the pool goes on. */
    assert_works(acu_sync_on(other, acu_zeros(ACU_U8, ACU_SHAPE(KIB)), NULL));
    acu_tensor_release(held); /* the work still has it */
    for (int i = 0; i + 1 < WAITING; i++) { /* each that ends lets the next one in */
        acu_tensor *made = NULL;
        assert_works(acu_future_take(next[i], 0, &made));
        assert_works(acu_future_when_complete(next[i], NULL, 0, let_go, ACU_USER(made)));
    }
    test_gate_open();
    int served = 0; /* the first in line; or the second, while another thread is trying the first */
    for (int i = 0; i < WAITING; i++) {
        acu_status status = acu_future_wait(next[i], ACU_FOREVER);
        /* Its last holder may release the memory too late: then nothing is going any more, and it
         * fails. */
        if (status != ACU_OK)
            assert_int_equal(status, ACU_ERR_DEVICE_MEMORY);
        served += status == ACU_OK;
    }
    assert_true(served > 0);
    assert_int_equal(stats_of(pool).put_off, WAITING); /* however often they were tried again */
    assert_int_equal(stats_of(pool).failures, WAITING - served);
    for (int i = 0; i < WAITING; i++)
        acu_future_release(next[i]);
    acu_future_release(first);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_true(stats_of(pool).held_high <= MIB);
    acu_stream_release(busy);
    acu_stream_release(other);
    acu_pool_release(pool);
}

static void it_fails_in_numbers_when_nothing_can_free_any(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_tensor *mine = NULL;
    assert_works(acu_tensor_alloc_from(pool, ACU_U8, ACU_SHAPE(768 * KIB), &mine));
    acu_future *future = submit(acu_zeros(ACU_U8, ACU_SHAPE(400 * KIB)), NULL, pool);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY);
    acu_error error;
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEVICE_MEMORY);
    assert_non_null(strstr(error.message, "asked for 409600 bytes on device 0"));
    assert_non_null(strstr(error.message, "786432 in use and 0 cached, of at most 1048576"));
    assert_string_equal(error.op, "zeros");
    assert_int_equal(stats_of(pool).failures, 1);
    acu_future_release(future);
    /* So does a request that can never be met, at once. */
    acu_stream *busy = new_stream();
    acu_tensor *held = NULL;
    acu_future *first = hold(acu_device_pool(device), busy, KIB, &held);
    future = submit(acu_zeros(ACU_U8, ACU_SHAPE(2 * MIB)), NULL, pool);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY);
    acu_future_release(future);
    test_gate_open();
    assert_works(acu_future_wait(first, ACU_FOREVER));
    acu_future_release(first);
    acu_tensor_release(held);
    acu_tensor_release(mine);
    acu_stream_release(busy);
    acu_pool_release(pool);
}

/* The error names the operation that the program called, not a part of it. */
static void the_operation_without_memory_is_named(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_op *x = acu_zeros(ACU_F32, ACU_SHAPE(200 * KIB / 4));
    acu_future *future = submit(acu_add(acu_broadcast_to(x, ACU_SHAPE(10, 200 * KIB / 4)), 1), NULL,
                                pool);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY);
    acu_error error;
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEVICE_MEMORY);
    assert_string_equal(error.op, "add");
    acu_future_release(future);
    acu_pool_release(pool);
}

/* The first in line gets memory of one pool in the end, but never of the other: then those behind
 * it have their turn. Nothing else is in flight by then that could call them. */
static void those_behind_one_that_fails_for_another_pool_have_their_turn(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB), *full = pool_of(MIB);
    acu_stream *busy = new_stream();
    acu_tensor *held = NULL, *mine = NULL;
    assert_works(acu_tensor_alloc_from(full, ACU_U8, ACU_SHAPE(800 * KIB), &mine));
    acu_future *first = hold(pool, busy, 800 * KIB, &held);
    acu_op *two = acu_zip(acu_zeros(ACU_U8, ACU_SHAPE(600 * KIB)),
                          acu_with_pool(full, acu_zeros(ACU_U8, ACU_SHAPE(600 * KIB))));
    acu_future *fails = submit(two, NULL, pool);
    acu_future *behind = submit(acu_full(ACU_SHAPE(700 * KIB), acu_u8(7)), NULL, pool);
    assert_int_equal(stats_of(pool).put_off, 2);
    acu_tensor_release(held);
    test_gate_open();
    assert_works(acu_future_wait(first, ACU_FOREVER));
    assert_int_equal(acu_future_wait(fails, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY);
    assert_works(acu_future_wait(behind, ACU_FOREVER));
    expect_all(acu_future_tensor(behind, 0), 700 * KIB, 7);
    acu_future_release(first);
    acu_future_release(fails);
    acu_future_release(behind);
    acu_tensor_release(mine);
    acu_stream_release(busy);
    acu_pool_release(pool);
    acu_pool_release(full);
}

static void a_submission_that_waits_may_be_cancelled(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_stream *busy = new_stream();
    acu_tensor *held = NULL;
    acu_future *first = hold(pool, busy, 800 * KIB, &held);
    acu_future *next = submit(acu_dup(acu_zeros(ACU_U8, ACU_SHAPE(600 * KIB))), NULL, pool);
    acu_future *gone = submit(acu_zeros(ACU_U8, ACU_SHAPE(600 * KIB)), NULL, pool);
    acu_future_release(gone);
    /* For a request that can never be met, the message says so, and not that others wait. */
    gone = submit(acu_zeros(ACU_U8, ACU_SHAPE(2 * MIB)), NULL, pool);
    assert_fails(acu_future_wait(gone, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY,
                 "asked for 2097152 bytes");
    acu_future_release(gone);
    assert_int_equal(acu_future_poll(next), ACU_NOT_READY);
    acu_future_cancel(next);
    assert_int_equal(acu_future_poll(next), ACU_ERR_CANCELLED);
    acu_future_release(next);
    acu_tensor_release(held);
    test_gate_open();
    assert_works(acu_future_wait(first, ACU_FOREVER));
    acu_future_release(first);
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(stats_of(pool).in_use, 0);
    acu_stream_release(busy);
    acu_pool_release(pool);
}

/* The cached memory is still used by another stream: the device waits for it, not the host. */
static void a_stream_waits_for_memory_of_another(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_stream *busy = new_stream(), *other = new_stream();
    acu_tensor *sink = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(700 * KIB), &sink));
    test_gate_close(device, acu_stream_raw(busy));
    acu_op *copy = acu_copy(sink, acu_full(ACU_SHAPE(700 * KIB), acu_u8(5)));
    acu_future_release(submit(copy, busy, pool));
    acu_future *future = submit(acu_full(ACU_SHAPE(700 * KIB), acu_u8(6)), other, pool);
    acu_pool_statistics stats = stats_of(pool);
    assert_int_equal(stats.waits, 1);
    assert_int_equal(stats.put_off, 0);
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    expect_all(acu_future_tensor(future, 0), 700 * KIB, 6);
    expect_all(sink, 700 * KIB, 5);
    acu_future_release(future);
    acu_tensor_release(sink);
    acu_stream_release(busy);
    acu_stream_release(other);
    acu_pool_release(pool);
}

/* ---- what was allocated for nothing ---- */

/* The device is idle, and so is all cached memory: all of it can be given back. */
static void expect_idle(acu_pool *pool)
{
    assert_works(acu_device_wait(device, ACU_FOREVER));
    test_quiet(device);
    acu_pool_statistics stats = stats_of(pool);
    assert_int_equal(stats.in_use, 0);
    assert_int_equal(stats.in_flight, 0);
    size_t freed = 0;
    assert_works(acu_pool_trim(pool, 0, &freed));
    assert_int_equal(freed, stats.cached);
    assert_int_equal(stats_of(pool).held, 0);
}

/* The first half of the memory that it needs was available, and was allocated on its stream. */
static void what_fails_leaves_its_memory_to_others(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_stream *stream = new_stream();
    acu_submit_options options = {.size = sizeof options, .stream = stream, .pool = pool};
    for (int i = 0; i < 2; i++) {
        acu_op *half = acu_zeros(ACU_U8, ACU_SHAPE(600 * KIB));
        acu_op *both = acu_zip(half, acu_zeros(ACU_U8, ACU_SHAPE((601 + i) * KIB)));
        acu_future *future = NULL;
        assert_works(acu_submit(device, both, &options, &future));
        assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_MEMORY);
        acu_future_release(future);
        acu_tensor *tensor = NULL; /* of another size, and in the order of another stream */
        assert_works(acu_tensor_alloc_from(pool, ACU_U8, ACU_SHAPE(900 * KIB), &tensor));
        acu_tensor_release(tensor);
        if (i == 0)
            expect_idle(pool);
    }
    acu_stream_release(stream);
    acu_pool_release(pool);
}

/* It has its memory, but the driver refuses to order it behind its predecessor. */
static void so_does_what_the_driver_refuses(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(0);
    acu_stream *busy = new_stream(), *other = new_stream();
    acu_tensor *shared = NULL;
    assert_works(acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(KIB), &shared));
    assert_works(acu_sync_on(busy, acu_copy(shared, acu_zeros(ACU_U8, ACU_SHAPE(KIB))), NULL));
    test_gate_close(device, acu_stream_raw(busy));
    acu_future_release(submit(acu_copy(shared, acu_full(ACU_SHAPE(KIB), acu_u8(1))), busy, NULL));
    acu_driver_fault fault = {
        .size = sizeof fault, .call = ACU_CALL_StreamWaitEvent, .nth = 1, .result = 1};
    assert_works(acu_driver_fail(&fault));
    acu_future *future = submit(acu_dup(shared), other, pool);
    bool hit = acu_driver_fault_hits() > 0;
    acu_driver_fail_clear();
    test_gate_open();
    assert_true(hit);
    assert_int_not_equal(acu_future_wait(future, ACU_FOREVER), ACU_OK);
    acu_future_release(future);
    expect_idle(pool);
    acu_tensor_release(shared);
    acu_stream_release(busy);
    acu_stream_release(other);
    acu_pool_release(pool);
}

static void so_does_what_the_host_has_no_memory_for(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(0);
    acu_tensor *tensor = NULL;
    for (uint64_t n = 1; !tensor; n++) {
        acu_debug_fail_alloc(n, false);
        acu_status status = acu_tensor_alloc_from(pool, ACU_U8, ACU_SHAPE(MIB), &tensor);
        acu_debug_fail_alloc(0, false);
        if (status != ACU_OK)
            expect_idle(pool);
    }
    acu_tensor_release(tensor);
    acu_pool_release(pool);
}

/* ---- from several threads ---- */

static sem_t inside, go_on;

/* A task that has its memory, and is on its way to the device. */
static acu_status stop_here(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    sem_post(&inside);
    while (sem_wait(&go_on) != 0) {
    }
    return ACU_OK;
}

static void *submit_slowly(void *pool)
{
    acu_op *x = acu_full(ACU_SHAPE(800 * KIB), acu_u8(1));
    acu_op *op = acu_op_foreign(stop_here, ACU_USER(NULL), ACU_ARGS(acu_inout(x)), ACU_SITE);
    acu_submit_options options = {.size = sizeof options, .pool = pool};
    return acu_submit(device, op, &options, NULL) == ACU_OK ? pool : NULL;
}

static void work_that_is_being_issued_is_waited_for(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_stream *other = new_stream();
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, submit_slowly, pool), 0);
    while (sem_wait(&inside) != 0) {
    }
    acu_future *next = submit(acu_full(ACU_SHAPE(900 * KIB), acu_u8(2)), other, pool);
    acu_status early = acu_future_poll(next);
    sem_post(&go_on);
    void *worked = NULL;
    pthread_join(thread, &worked);
    assert_ptr_equal(worked, pool);
    assert_int_equal(early, ACU_NOT_READY);
    assert_works(acu_future_wait(next, ACU_FOREVER));
    acu_future_release(next);
    sem_destroy(&inside);
    sem_destroy(&go_on);
    acu_stream_release(other);
    acu_pool_release(pool);
}

static acu_status touch(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* The memory that the submission holds was got by its first part, which is over, as is the host's.
 * Its last part needs no memory, and is on its way to the device. */
static void a_last_part_that_is_being_issued_is_waited_for(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(MIB);
    acu_tensor *host = NULL;
    acu_future *first = NULL;
    assert_works(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(KIB), &host));
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    acu_op *x = acu_full(ACU_SHAPE(800 * KIB), acu_u8(1));
    acu_op *out = acu_copy(host, acu_slice(acu_op_retain(x), ACU_SHAPE(0), ACU_SHAPE(KIB)));
    acu_op *work = acu_op_host(touch, ACU_USER(NULL), ACU_ARGS(acu_inout(host)), ACU_SITE);
    acu_op *last = acu_op_foreign(stop_here, ACU_USER(NULL), ACU_ARGS(acu_inout(host), acu_in(x)),
                                  ACU_SITE);
    first = submit(acu_zip(acu_first(out), work, acu_first(last)), NULL, pool);
    while (sem_wait(&inside) != 0) {
    }
    acu_future *next = submit(acu_full(ACU_SHAPE(900 * KIB), acu_u8(2)), NULL, pool);
    acu_status early = acu_future_poll(next);
    sem_post(&go_on);
    assert_int_equal(early, ACU_NOT_READY);
    assert_works(acu_future_wait(first, ACU_FOREVER));
    assert_works(acu_future_wait(next, ACU_FOREVER));
    expect_all(acu_future_tensor(next, 0), 900 * KIB, 2);
    acu_future_release(first);
    acu_future_release(next);
    sem_destroy(&inside);
    sem_destroy(&go_on);
    acu_tensor_release(host);
    acu_pool_release(pool);
}

typedef struct asker {
    pthread_t thread;
    acu_pool *pool;
    acu_tensor *sink;
    int64_t bytes;   /* of each of two temporaries */
    acu_status want; /* of each submission */
    int others;
} asker;

static void *ask(void *context)
{
    asker *a = context;
    for (int i = 0; i < 100; i++) {
        acu_op *twice = acu_dup(acu_full(ACU_SHAPE(a->bytes), acu_u8(1)));
        acu_op *x = acu_first(acu_copy(a->sink, twice)); /* the other tensor is kept by nobody */
        acu_submit_options options = {.size = sizeof options, .pool = a->pool};
        acu_future *future = NULL;
        acu_status status = acu_submit(device, x, &options, &future);
        if (status == ACU_OK)
            status = acu_future_wait(future, ACU_FOREVER);
        acu_future_release(future);
        a->others += status != a->want;
    }
    return NULL;
}

/* All of them together need more memory than there is, but one after the other has enough. Some ask
 * for more than there ever is, and fail, whoever waits for whom. */
static void requests_that_can_be_met_are(void **state)
{
    (void)state;
    enum { ASKERS = 6 };
    acu_pool *pool = pool_of(128 * KIB);
    asker askers[ASKERS];
    for (int i = 0; i < ASKERS; i++) {
        bool fits = i % 3 < 2;
        askers[i] = (asker){.pool = pool,
                            .bytes = fits ? 64 * KIB : 96 * KIB,
                            .want = fits ? ACU_OK : ACU_ERR_DEVICE_MEMORY};
        assert_works(
            acu_tensor_alloc(device, ACU_U8, ACU_SHAPE(askers[i].bytes), &askers[i].sink));
    }
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        acu_tensor_release(askers[i].sink);
    }
    for (int i = 0; i < ASKERS; i++)
        assert_int_equal(askers[i].others, 0);
    assert_works(acu_graph_cache_wait(device)); /* the thread that makes graphs holds memory */
    expect_idle(pool);
    acu_pool_release(pool);
}

static _Atomic(bool) enough;

static void *trim_on(void *pool)
{
    while (!atomic_load(&enough))
        if (acu_pool_trim(pool, 0, NULL) != ACU_OK)
            return NULL;
    return pool;
}

/* While memory is on its way from the cache back to the driver, neither of the two can provide it.
 * A submission that needs it then waits until it is given back, and does not fail. */
static void memory_on_its_way_back_is_waited_for(void **state)
{
    (void)state;
    enum { PARTS = 24 };
    acu_pool *pool = pool_of(PARTS * 4 * KIB);
    pthread_t thread;
    int failed = 0;
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, trim_on, pool), 0);
    for (int i = 0; i < 300; i++) {
        acu_op *parts[PARTS];
        for (int k = 0; k < PARTS; k++)
            parts[k] = acu_full(ACU_SHAPE(4 * KIB), acu_u8(1));
        acu_submit_options options = {.size = sizeof options, .pool = pool};
        acu_future *future = NULL;
        acu_op *all = acu_op_zip(parts, PARTS, ACU_SITE);
        failed += acu_submit(device, all, &options, &future) != ACU_OK;
        failed += acu_future_wait(future, ACU_FOREVER) != ACU_OK;
        acu_future_release(future);
    }
    atomic_store(&enough, true);
    void *worked = NULL;
    pthread_join(thread, &worked);
    assert_ptr_equal(worked, pool);
    assert_int_equal(failed, 0);
    assert_works(acu_graph_cache_wait(device)); /* the thread that makes graphs holds memory */
    acu_pool_release(pool);
}

/* ---- random use, by several threads ---- */

enum { THREADS = 4, ROUNDS = 150, LIVE = 6 };

typedef struct life {
    acu_future *future;
    acu_tensor *tensor, *host;
    size_t bytes;
    unsigned char tag;
} life;

typedef struct user {
    pthread_t thread;
    test_random random;
    acu_pool *pool;
    acu_stream *stream; /* its own */
    life lives[LIVE];
    int wrong, lacking;
} user;

static void end_life(user *u, life *l)
{
    acu_status status = l->future ? acu_future_wait(l->future, ACU_FOREVER) : ACU_OK;
    if (l->future && status == ACU_OK) {
        const unsigned char *host = acu_tensor_host(acu_future_tensor(l->future, 1));
        for (size_t i = 0; i < l->bytes; i++)
            u->wrong += host[i] != l->tag;
    } else if (l->future) {
        u->lacking += status == ACU_ERR_DEVICE_MEMORY;
        u->wrong += status != ACU_ERR_DEVICE_MEMORY && status != ACU_ERR_CANCELLED;
    }
    acu_future_release(l->future);
    acu_tensor_release(l->tensor);
    *l = (life){.bytes = 0};
}

/* A tensor made with a tag of its own, copied into temporaries, and read back at the end. */
static void begin_life(user *u, life *l)
{
    size_t bytes = (size_t)1 << (9 + test_below(&u->random, 9));
    l->bytes = bytes + test_below(&u->random, bytes);
    l->tag = (unsigned char)test_next(&u->random);
    acu_submit_options options = {.size = sizeof options, .pool = u->pool};
    if (test_below(&u->random, 3) == 0)
        options.stream = u->stream;
    acu_op *x = acu_full(ACU_SHAPE((int64_t)l->bytes), acu_u8(l->tag)), *parts[2];
    acu_unzip(acu_copy(acu_empty(ACU_U8, ACU_SHAPE((int64_t)l->bytes)), x), parts, 2);
    acu_op *back = acu_to_host(acu_dup(parts[0]));
    u->wrong += acu_submit(device, acu_zip(parts[1], back), &options, &l->future) != ACU_OK;
    if (test_below(&u->random, 2) && acu_future_take(l->future, 0, &l->tensor) != ACU_OK)
        u->wrong++;
}

/* Uses it again, perhaps on another stream, and releases the result at once. */
static void use_life(user *u, life *l)
{
    acu_submit_options options = {.size = sizeof options, .pool = u->pool};
    if (l->tensor && test_below(&u->random, 2))
        u->wrong += acu_submit(device, acu_dup(acu_dup(l->tensor)), &options, NULL) != ACU_OK;
    if (test_below(&u->random, 8) == 0 && l->future)
        acu_future_cancel(l->future);
}

static void *run_user(void *context)
{
    user *u = context;
    for (int i = 0; i < ROUNDS; i++) {
        life *l = &u->lives[test_below(&u->random, LIVE)];
        if (l->future)
            use_life(u, l);
        end_life(u, l);
        begin_life(u, l);
    }
    for (int i = 0; i < LIVE; i++)
        end_life(u, &u->lives[i]);
    return NULL;
}

static void run_users(acu_pool *pool, uint64_t seed)
{
    static user users[THREADS];
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){
            .random = {seed * 100 + (uint64_t)i}, .pool = pool, .stream = new_stream()};
        assert_int_equal(pthread_create(&users[i].thread, NULL, run_user, &users[i]), 0);
    }
    int lacking = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        acu_stream_release(users[i].stream);
        assert_int_equal(users[i].wrong, 0);
        lacking += users[i].lacking;
    }
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_works(acu_graph_cache_wait(device)); /* the thread that makes graphs holds memory */
    acu_pool_statistics s = stats_of(pool);
    print_message("%llu hits, %llu misses, %llu waits, %llu put off, %d failed for lack of memory; "
                  "high water %zu KiB in use, %zu KiB held; fragmentation %.2f\n",
                  (unsigned long long)s.hits, (unsigned long long)s.misses,
                  (unsigned long long)s.waits, (unsigned long long)s.put_off, lacking,
                  s.in_use_high / KIB, s.held_high / KIB, s.fragmentation);
    assert_int_equal(s.in_use, 0);
    assert_int_equal(s.held, s.cached);
    assert_true(s.in_use_high <= s.held_high);
    if (s.limit != SIZE_MAX)
        assert_true(s.held_high <= s.limit);
    else
        assert_int_equal(lacking, 0);
}

static void memory_in_use_is_never_handed_out(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(0);
    run_users(pool, 1);
    acu_pool_release(pool);
}

static void nor_where_it_is_short(void **state)
{
    (void)state;
    acu_pool *pool = pool_of(3 * MIB);
    run_users(pool, 2);
    acu_pool_release(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(queued_submissions_share_their_temporaries),
        DEVICE_TEST(on_all_streams),
        DEVICE_TEST(a_submission_waits_for_memory),
        DEVICE_TEST(it_fails_in_numbers_when_nothing_can_free_any),
        DEVICE_TEST(those_behind_one_that_fails_for_another_pool_have_their_turn),
        DEVICE_TEST(a_submission_that_waits_may_be_cancelled),
        DEVICE_TEST(the_operation_without_memory_is_named),
        DEVICE_TEST(a_stream_waits_for_memory_of_another),
        DEVICE_TEST(what_fails_leaves_its_memory_to_others),
        DEVICE_TEST(so_does_what_the_driver_refuses),
        DEVICE_TEST(so_does_what_the_host_has_no_memory_for),
        DEVICE_TEST(work_that_is_being_issued_is_waited_for),
        DEVICE_TEST(a_last_part_that_is_being_issued_is_waited_for),
        DEVICE_TEST(requests_that_can_be_met_are),
        DEVICE_TEST(memory_on_its_way_back_is_waited_for),
        DEVICE_TEST(memory_in_use_is_never_handed_out),
        DEVICE_TEST(nor_where_it_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
