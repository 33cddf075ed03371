/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Deadlines of submissions: one that is too late completes with DEADLINE, however the program
 * waits; work that was not issued by then never is; a submission that is in time is not affected.
 */
#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { N = 16, MANY = 100 };
#define VECTOR ACU_SHAPE(N)

/* A device and a stream of its own that is held up. */
typedef struct bench {
    acu_device *device;
    acu_stream *stream;
} bench;

static bench open_held(void)
{
    bench b = {.device = test_open()};
    assert_works(acu_stream_create(b.device, 0, &b.stream));
    test_gate_close(b.device, acu_stream_raw(b.stream));
    return b;
}

static void close_bench(bench *b)
{
    acu_stream_release(b->stream);
    test_close(b->device);
    test_leaks_none();
}

static acu_op *constant(int32_t value)
{
    return acu_full(VECTOR, acu_i32(value));
}

static acu_future *submit_until(const bench *b, acu_op *op, uint64_t timeout)
{
    acu_submit_options options = {
        .size = sizeof options, .stream = b->stream, .name = "request", .timeout = timeout};
    acu_future *future = NULL;
    assert_works(acu_submit(b->device, op, &options, &future));
    return future;
}

/* Whether the message has the words. */
static bool is_late(acu_future *future, const char *words)
{
    acu_error error = {0};
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEADLINE);
    assert_int_equal(error.status, ACU_ERR_DEADLINE);
    assert_non_null(strstr(error.message, "deadline"));
    return strstr(error.message, words) != NULL;
}

/* Its deadline passes when it is on the device, and not before, which may take a busy machine
 * milliseconds. */
static acu_future *late_on_device(const bench *b)
{
    acu_future *future = NULL;
    bool ran = false;
    for (uint64_t ms = 1; ms <= 4096 && !ran; ms *= 8) {
        acu_future_release(future);
        future = submit_until(b, acu_with_context(constant(1), "reply"), ACU_MS(ms));
        assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEADLINE);
        ran = is_late(future, " ms after the submit, passed while it ran");
    }
    assert_true(ran);
    return future;
}

static void waiting_ends_at_the_deadline(void **state)
{
    (void)state;
    bench b = open_held();
    acu_future *future = late_on_device(&b);
    assert_string_equal(acu_last_error()->op, "request");
    assert_string_equal(acu_last_error()->context, "reply");
    assert_non_null(strstr(acu_last_error()->file, "test_deadline.c"));
    /* The device finishes behind it. */
    acu_future *after = submit_until(&b, acu_dup(acu_future_tensor(future, 0)), 0);
    test_gate_open();
    assert_works(acu_future_wait(after, ACU_FOREVER));
    int32_t x[N];
    assert_works(acu_read_sync(acu_future_tensor(after, 0), x, sizeof x));
    assert_int_equal(x[N - 1], 1);
    assert_int_equal(acu_future_poll(future), ACU_ERR_DEADLINE);
    acu_future_release(after);
    acu_future_release(future);
    close_bench(&b);
}

static void polling_sees_it(void **state)
{
    (void)state;
    bench b = open_held();
    acu_future *future = submit_until(&b, constant(1), 1);
    assert_int_equal(acu_future_poll(future), ACU_ERR_DEADLINE); /* the deadline of a nanosecond is
                                                                  * over */
    test_gate_open();
    acu_future_release(future);
    close_bench(&b);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int told, late;

static void note(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future;
    pthread_mutex_lock(&lock);
    told++;
    late += status == ACU_ERR_DEADLINE;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Nobody looks at it, and nothing else happens: acuda's own thread must wake up for it. */
static void callbacks_come_by_themselves(void **state)
{
    (void)state;
    bench b = open_held();
    acu_future *futures[MANY];
    test_random random = {7};
    told = late = 0;
    for (int i = 0; i < MANY; i++) { /* in any order */
        futures[i] = submit_until(&b, constant(i), ACU_US(1 + test_below(&random, 20000)));
        assert_works(acu_future_when_complete(futures[i], NULL, 0, note, ACU_USER(NULL)));
    }
    acu_future *patient = submit_until(&b, constant(0), ACU_SECONDS(1000));
    pthread_mutex_lock(&lock);
    while (told < MANY)
        pthread_cond_wait(&changed, &lock);
    assert_int_equal(late, MANY);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < MANY; i++) {
        is_late(futures[i], "");
        acu_future_release(futures[i]);
    }
    assert_int_equal(acu_future_poll(patient), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_future_wait(patient, ACU_FOREVER));
    acu_future_release(patient);
    close_bench(&b);
}

static _Atomic(int) runs;

static acu_status count_run(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    atomic_fetch_add(&runs, 1);
    return ACU_OK;
}

static acu_status wait_for_callback(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    pthread_mutex_lock(&lock);
    while (!told)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return ACU_OK;
}

/* The work is behind host work, so it is not issued before that is over, which is after the
 * deadline. */
static void what_is_not_issued_by_then_never_is(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host;
    told = late = 0;
    atomic_store(&runs, 0);
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, VECTOR, &host));
    acu_future *gate, *future;
    assert_works(acu_submit(device, acu_host(wait_for_callback, NULL, acu_inout(host)), NULL,
                            &gate));
    acu_submit_options options = {.size = sizeof options, .timeout = ACU_MS(1)};
    acu_op *op = acu_op_foreign(count_run, ACU_USER(NULL), ACU_ARGS(acu_in(host)), ACU_SITE);
    assert_works(acu_submit(device, op, &options, &future));
    assert_works(acu_future_when_complete(future, NULL, 0, note, ACU_USER(NULL)));
    assert_works(acu_future_wait(gate, ACU_FOREVER));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 0);
    assert_true(is_late(
        future, "its deadline, 1 ms after the submit, passed before all of it had begun"));
    acu_future_release(gate);
    acu_future_release(future);
    /* Without a future there is nobody to tell, but the submission is given up as well. */
    op = acu_op_foreign(count_run, ACU_USER(NULL), ACU_ARGS(acu_in(host)), ACU_SITE);
    told = 0;
    assert_works(acu_submit(device, acu_host(wait_for_callback, NULL, acu_inout(host)), NULL,
                            &gate));
    options.timeout = 1;
    assert_works(acu_submit(device, op, &options, NULL));
    acu_op *empty = acu_empty(ACU_I32, VECTOR);
    options.timeout = ACU_MS(1);
    acu_op *last = acu_copy(empty, host);
    assert_works(acu_submit(device, last, &options, &future));
    assert_works(acu_future_when_complete(future, NULL, 0, note, ACU_USER(NULL)));
    assert_works(acu_future_wait(gate, ACU_FOREVER));
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(atomic_load(&runs), 0);
    acu_future_release(gate);
    acu_future_release(future);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
}

static void a_submission_in_time_is_not_affected(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_submit_options options = {.size = sizeof options, .timeout = ACU_SECONDS(1000)};
    for (int i = 0; i < MANY; i++) {
        acu_future *future;
        assert_works(acu_submit(device, constant(i), &options, &future));
        assert_works(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
    }
    options.timeout = ACU_FOREVER;
    assert_works(acu_submit(device, constant(1), &options, NULL));
    test_close(device); /* does not wait for deadlines */
    test_leaks_none();
}

/* ---- too late before it is planned: one thread still submits it, another one has received it
 * ---- */

typedef struct receiver {
    acu_queue *queue;
    bool keeps; /* first lets the planning go on, and waits for the value */
} receiver;

static void *receive(void *context)
{
    receiver *r = context;
    acu_completion done;
    acu_tensor *value = NULL;
    size_t count = 0;
    if (acu_queue_wait(r->queue, &done, 1, &count, ACU_FOREVER) == ACU_OK && r->keeps) {
        test_host_gate_open();
        while (acu_future_values(done.future) == 0)
            sched_yield();
        if (acu_future_take(done.future, 0, &value) != ACU_OK)
            count = 0;
        acu_tensor_release(value);
    }
    bool ended = count == 1 && done.status == ACU_ERR_DEADLINE;
    if (count == 1)
        acu_future_release(done.future);
    test_host_gate_open();
    return ended ? r : NULL;
}

static void one_that_is_late_at_once_is_received(void **state)
{
    (void)state;
    acu_device *device = test_open();
    receiver r = {.keeps = false};
    for (int i = 0; i < 2; i++, r.keeps = true) {
        assert_works(acu_queue_create(NULL, &r.queue));
        acu_submit_options options = {.size = sizeof options, .queue = r.queue, .timeout = 1};
        pthread_t thread;
        void *received = NULL;
        test_host_gate_close();
        assert_int_equal(pthread_create(&thread, NULL, receive, &r), 0);
        assert_works(acu_submit(device, acu_then(constant(1), test_plan_behind_host_gate, NULL),
                                &options, NULL));
        assert_int_equal(pthread_join(thread, &received), 0);
        assert_non_null(received);
        acu_queue_release(r.queue);
    }
    test_close(device);
    test_leaks_none();
}

/* Whatever the order in which they were given, and although others are far away. */
static void the_next_is_seen_in_time(void **state)
{
    (void)state;
    enum { GIVEN = 4 };
    static const uint64_t deadlines[GIVEN] = {ACU_MS(20), ACU_SECONDS(3600), ACU_MS(40),
                                              ACU_SECONDS(7200)};
    static const acu_status outcomes[GIVEN] = {ACU_ERR_DEADLINE, ACU_ERR_DEADLINE, ACU_OK, ACU_OK};
    bench b = open_held();
    acu_queue *queue = NULL;
    acu_completion done;
    size_t count;
    assert_works(acu_queue_create(NULL, &queue));
    acu_submit_options options = {.size = sizeof options, .stream = b.stream, .queue = queue};
    for (int i = 0; i < GIVEN; i++) {
        options.timeout = deadlines[i];
        assert_works(acu_submit(b.device, constant(i), &options, NULL));
    }
    for (int i = 0; i < GIVEN; i++) {
        if (i == 2)
            test_gate_open();
        acu_status status = acu_queue_wait(queue, &done, 1, &count, ACU_SECONDS(30));
        if (status != ACU_OK && i < 2)
            test_gate_open();
        assert_works(status);
        assert_int_equal(done.status, outcomes[i]);
        acu_future_release(done.future);
    }
    acu_queue_release(queue);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_ends_at_the_deadline),
        cmocka_unit_test(polling_sees_it),
        cmocka_unit_test(callbacks_come_by_themselves),
        cmocka_unit_test(what_is_not_issued_by_then_never_is),
        cmocka_unit_test(a_submission_in_time_is_not_affected),
        cmocka_unit_test(one_that_is_late_at_once_is_received),
        cmocka_unit_test(the_next_is_seen_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
