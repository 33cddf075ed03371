/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The end of acuda's threads. While the last close ends them, callbacks of the reactor's last turn
 * and other threads still begin work; it is finished before the close returns, and the next session
 * starts afresh.
 */
#include "support/support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { N = 64, BYTES = 4 << 20 };
#define VECTOR ACU_SHAPE(N)

/* ---- in the last turn ---- */

typedef struct last_turn {
    acu_device *device;
    void (*what)(struct last_turn *turn, acu_future *future);
    _Atomic(int) host_ran, called;
} last_turn;

static void count_call(void *user, acu_future *future, acu_status status)
{
    last_turn *turn = user;
    (void)future;
    assert_int_equal(status, ACU_OK);
    atomic_fetch_add(&turn->called, 1);
}

static void run_last(void *user, acu_future *future, acu_status status)
{
    last_turn *turn = user;
    turn->what(turn, future);
    count_call(turn, future, status);
}

/* A session whose last callback does what `turn` says, and adds another callback. */
static void close_with(last_turn *turn)
{
    turn->device = test_open();
    acu_future *future = test_submit(turn->device, acu_full(VECTOR, acu_i32(1)));
    test_call_last(future, run_last, turn);
    acu_future_release(future);
    test_close(turn->device);
    assert_int_equal(atomic_load(&turn->called), 2);
    test_leaks_none();
}

static void call_in_next_session(void)
{
    last_turn next = {.called = 0};
    acu_device *device = test_open();
    acu_future *future = test_submit(device, acu_full(VECTOR, acu_i32(1)));
    assert_works(acu_future_when_complete(future, NULL, 0, count_call, ACU_USER(&next)));
    while (!atomic_load(&next.called)) /* only the reactor looks */
        sched_yield();
    acu_future_release(future);
    test_close(device);
    test_leaks_none();
}

static void add_callback(last_turn *turn, acu_future *future)
{
    assert_works(acu_future_when_complete(future, NULL, 0, count_call, ACU_USER(turn)));
}

static void the_next_session_has_its_own_reactor(void **state)
{
    (void)state;
    last_turn turn = {.what = add_callback};
    close_with(&turn);
    call_in_next_session();
}

static void submit_called(last_turn *turn, acu_op *op)
{
    acu_future *future = test_submit(turn->device, op);
    assert_works(acu_future_when_complete(future, NULL, 0, count_call, ACU_USER(turn)));
    acu_future_release(future);
}

static void submit_kernel(last_turn *turn, acu_future *future)
{
    (void)future;
    submit_called(turn, acu_full(VECTOR, acu_i32(2)));
}

static void device_work_of_the_last_turn_is_finished(void **state)
{
    (void)state;
    last_turn turn = {.what = submit_kernel};
    close_with(&turn);
    call_in_next_session();
}

/* Ends when all other threads wait: the one that closes waits for this function. */
static acu_status rest(void *user, const acu_val *values, size_t count)
{
    last_turn *turn = user;
    (void)values, (void)count;
    test_threads_rest();
    atomic_fetch_add(&turn->host_ran, 1);
    return ACU_OK;
}

static void submit_host(last_turn *turn, acu_future *future)
{
    (void)future;
    submit_called(turn, acu_op_host(rest, ACU_USER(turn), ACU_ARGS(acu_i32(1)), ACU_SITE));
}

static void host_work_of_the_last_turn_is_finished(void **state)
{
    (void)state;
    last_turn turn = {.what = submit_host};
    close_with(&turn);
    assert_int_equal(atomic_load(&turn.host_ran), 1);
    call_in_next_session();
}

static void submit_copy(last_turn *turn, acu_future *future)
{
    static char memory[BYTES];
    acu_buffer *buffer;
    acu_tensor *x;
    (void)future;
    assert_works(acu_buffer_wrap_pageable(turn->device, memory, BYTES, ACU_USER(NULL), &buffer));
    assert_works(acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE(BYTES), &x));
    acu_buffer_release(buffer);
    submit_called(turn, acu_copy(acu_empty(ACU_U8, ACU_SHAPE(BYTES)), x));
    acu_tensor_release(x);
}

static void a_copy_of_the_last_turn_is_finished(void **state)
{
    (void)state;
    last_turn turn = {.what = submit_copy};
    close_with(&turn);
    call_in_next_session();
}

/* ---- while another thread gives up ---- */

static void *cancel(void *future)
{
    assert_works(acu_future_cancel(future));
    return NULL;
}

static void count_given_up(void *user, acu_future *future, acu_status status)
{
    (void)future;
    assert_int_equal(status, ACU_ERR_CANCELLED);
    atomic_fetch_add((_Atomic(int) *)user, 1);
}

/* A queue on which nobody can put anything until the pipe's other end is read. */
static acu_queue *stuck_queue(int *other_end)
{
    static const char page[4096];
    acu_queue *queue;
    int ends[2];
    assert_works(acu_queue_create(NULL, &queue));
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], page, sizeof page) > 0)
        continue;
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
    assert_int_equal(dup2(ends[1], acu_queue_fd(queue)), acu_queue_fd(queue));
    close(ends[1]);
    *other_end = ends[0];
    return queue;
}

/* Reads once both the thread that closes and the one that cancels wait. */
static void *read_late(void *other_end)
{
    static char all[1 << 20];
    test_threads_rest();
    assert_true(read(*(int *)other_end, all, sizeof all) > 0);
    return NULL;
}

/* The future is complete and nothing is in flight, but the thread that cancels has not told
 * everybody yet. */
static void the_last_close_waits_for_a_thread_that_cancels(void **state)
{
    (void)state;
    static _Atomic(int) called;
    static int other_end;
    pthread_t canceller, reader;
    acu_device *device = test_open();
    acu_stream *stream;
    acu_queue *queue = stuck_queue(&other_end);
    acu_future *future = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    test_gate_close(device, acu_stream_raw(stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    assert_works(acu_submit(device, acu_full(VECTOR, acu_i32(1)), &options, &future));
    assert_works(acu_future_when_complete(future, queue, 0, NULL, ACU_USER(NULL)));
    assert_works(
        acu_future_when_complete(future, NULL, 0, count_given_up, ACU_USER((void *)&called)));
    assert_int_equal(pthread_create(&canceller, NULL, cancel, future), 0);
    while (acu_future_error(future, NULL) == ACU_NOT_READY)
        sched_yield();
    test_gate_open();
    acu_stream_release(stream);
    assert_int_equal(pthread_create(&reader, NULL, read_late, &other_end), 0);
    test_close(device);
    assert_int_equal(atomic_load(&called), 1);
    pthread_join(reader, NULL);
    pthread_join(canceller, NULL);
    acu_future_release(future);
    acu_queue_release(queue);
    close(other_end);
    test_leaks_none();
}

/* ---- while others go on ---- */

enum { ROUNDS = 30, EACH = 30, SUBMITTERS = 3 };

typedef struct others {
    acu_device *device; /* retained: it lives on when it is closed */
    acu_tensor *memory; /* pageable */
    _Atomic(int) submitted, called;
} others;

static void count_any(void *user, acu_future *future, acu_status status)
{
    others *o = user;
    (void)future, (void)status;
    atomic_fetch_add(&o->called, 1);
}

static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

static acu_op *some_op(const others *o, int kind)
{
    switch (kind) {
    case 0:
        return acu_full(VECTOR, acu_i32(1));
    case 1:
        return acu_op_host(do_nothing, ACU_USER(NULL), ACU_ARGS(acu_i32(1)), ACU_SITE);
    case 2:
        return acu_copy(acu_empty(ACU_U8, VECTOR), o->memory);
    default: /* both, one behind the other */
        return acu_host(do_nothing, NULL, acu_inout(acu_to_host(acu_full(VECTOR, acu_i32(1)))));
    }
}

static void *submit_on(void *user)
{
    others *o = user;
    for (int i = 0; i < EACH; i++) {
        acu_submit_options options = {.size = sizeof options, .timeout = i % 5 ? 0 : ACU_MS(1)};
        acu_future *future = NULL;
        assert_works(acu_submit(o->device, some_op(o, i % 4), &options, &future));
        atomic_fetch_add(&o->submitted, 1);
        assert_works(acu_future_when_complete(future, NULL, 0, count_any, ACU_USER(o)));
        if (i % 3 == 0)
            assert_works(acu_future_cancel(future));
        acu_future_release(future);
    }
    return NULL;
}

/* Although no thread of the program looks, all submissions complete and their callbacks are called,
 * whether they come before the close, after it, or while it ends the threads. Threads that are
 * started again are ended by the next close. */
static void closing_while_others_submit(void **state)
{
    (void)state;
    static char memory[N];
    pthread_t threads[SUBMITTERS];
    for (int round = 0; round < ROUNDS; round++) {
        others o = {.device = acu_device_retain(test_open())};
        acu_buffer *buffer;
        assert_works(acu_buffer_wrap_pageable(o.device, memory, N, ACU_USER(NULL), &buffer));
        assert_works(acu_tensor_create(buffer, 0, ACU_U8, VECTOR, &o.memory));
        acu_buffer_release(buffer);
        for (int i = 0; i < SUBMITTERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, submit_on, &o), 0);
        while (atomic_load(&o.submitted) < round * SUBMITTERS * EACH / ROUNDS)
            sched_yield();
        test_close(o.device);
        for (int i = 0; i < SUBMITTERS; i++)
            pthread_join(threads[i], NULL);
        while (atomic_load(&o.called) < SUBMITTERS * EACH)
            sched_yield();
        acu_tensor_release(o.memory);
        test_close(test_open());
        acu_device_release(o.device);
        assert_int_equal(atomic_load(&o.called), SUBMITTERS * EACH);
        test_leaks_none();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_session_has_its_own_reactor),
        cmocka_unit_test(device_work_of_the_last_turn_is_finished),
        cmocka_unit_test(host_work_of_the_last_turn_is_finished),
        cmocka_unit_test(a_copy_of_the_last_turn_is_finished),
        cmocka_unit_test(the_last_close_waits_for_a_thread_that_cancels),
        cmocka_unit_test(closing_while_others_submit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
