/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Futures: polling, waiting and callbacks; values before completion; failures, which are passed on
 * along the data and end when it is overwritten; dropping at any time.
 */
#include "support/support.h"

#include "base/clock.h"
#include "engine/completion/complete.h"
#include "base/done.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>

enum { N = 64 };
#define VECTOR ACU_SHAPE(N)

/* A device, and a stream of the program's that can be held up. */
typedef struct bench {
    acu_device *device;
    acu_stream *stream;
    acu_submit_options held;
} bench;

static bench open_bench(void)
{
    bench b = {.device = test_open()};
    assert_works(acu_stream_create(b.device, 0, &b.stream));
    b.held = (acu_submit_options){.size = sizeof b.held, .stream = b.stream};
    return b;
}

static void close_bench(bench *b)
{
    acu_stream_release(b->stream);
    test_close(b->device);
    test_leaks_none();
}

static void hold(const bench *b)
{
    test_gate_close(b->device, acu_stream_raw(b->stream));
}

static acu_op *constant(int32_t value)
{
    return acu_full(VECTOR, acu_i32(value));
}

/* On the stream that can be held up. */
static acu_future *submit_held(const bench *b, acu_op *op)
{
    acu_future *future = NULL;
    assert_works(acu_submit(b->device, op, &b->held, &future));
    return future;
}

static acu_future *submit(const bench *b, acu_op *op)
{
    acu_future *future = NULL;
    assert_works(acu_submit(b->device, op, NULL, &future));
    return future;
}

static void holds(acu_tensor *tensor, int32_t want)
{
    int32_t x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want);
}

/* ---- looking and waiting ---- */

static void poll_and_wait(void **state)
{
    (void)state;
    bench b = open_bench();
    hold(&b);
    acu_future *future = submit_held(&b, constant(1));
    acu_error error = {0};
    assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
    assert_int_equal(acu_future_error(future, &error), ACU_NOT_READY);
    assert_int_equal(acu_future_wait(future, 0), ACU_TIMEOUT);
    assert_int_equal(acu_future_wait(future, ACU_US(300)), ACU_TIMEOUT);
    assert_int_equal(acu_wait_all(&future, 1, ACU_US(1)), ACU_TIMEOUT);
    assert_int_equal(acu_wait_any(&future, 1, ACU_US(1), NULL), ACU_TIMEOUT);
    assert_int_equal(acu_device_wait(b.device, ACU_US(1)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_wait(future, 0)); /* as often as one likes */
    assert_works(acu_future_poll(future));
    assert_int_equal(acu_future_error(future, &error), ACU_OK);
    assert_int_equal(error.status, 0);
    acu_future_release(future);

    future = submit(&b, constant(2));
    while (acu_future_poll(future) == ACU_NOT_READY) { /* polling alone gets there */
    }
    assert_works(acu_future_poll(future));
    acu_future_release(future);
    close_bench(&b);
}

static void any_and_all(void **state)
{
    (void)state;
    bench b = open_bench();
    hold(&b);
    acu_future *futures[3] = {submit_held(&b, constant(0)), submit(&b, constant(1)),
                              submit_held(&b, constant(2))};
    size_t index = 99;
    assert_works(acu_wait_any(futures, 3, ACU_FOREVER, &index));
    assert_int_equal(index, 1);
    assert_int_equal(acu_wait_all(futures, 3, ACU_US(10)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_wait_all(futures, 3, ACU_FOREVER));
    assert_works(acu_wait_any(futures, 3, 0, &index));
    assert_int_equal(index, 0); /* the first in the list */
    for (int i = 0; i < 3; i++)
        acu_future_release(futures[i]);
    assert_fails(acu_wait_all(NULL, 0, 0), ACU_ERR_INVALID, "no futures");
    assert_fails(acu_wait_any(NULL, 0, 0, NULL), ACU_ERR_INVALID, "no futures");
    close_bench(&b);
}

static acu_status fail_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_IO;
}

/* The record is that of the failure whose status is returned, although other futures are looked at
 * after it. */
static void all_tell_of_the_first_failure(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x;
    assert_works(acu_sync(b.device, constant(1), &x));
    acu_future *futures[4];
    for (int i = 0; i < 4; i++) {
        acu_op *op = i % 2 ? acu_host(fail_host, NULL, acu_u8(0)) : acu_dup(x);
        futures[i] = submit(&b, acu_op_named(op, i == 1 ? "early" : "late"));
    }
    assert_int_equal(acu_wait_all(futures, 4, ACU_FOREVER), ACU_ERR_CALLBACK);
    assert_string_equal(acu_last_error()->op, "early");
    for (int i = 0; i < 4; i++)
        acu_future_release(futures[i]);
    acu_tensor_release(x);
    close_bench(&b);
}

static acu_status fail_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_ERR_IO;
}

/* A call that succeeds leaves the record unchanged, even if it notices failures of others. */
static void success_leaves_the_record(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x;
    assert_works(acu_sync(b.device, constant(1), &x));
    acu_future *failed = submit(&b, acu_foreign(fail_foreign, NULL, acu_out(x))), *reader = NULL;
    assert_int_equal(acu_future_wait(failed, ACU_FOREVER), ACU_ERR_CALLBACK);
    assert_fails(acu_wait_all(NULL, 0, 0), ACU_ERR_INVALID, "no futures");
    assert_works(acu_submit(b.device, acu_dup(x), NULL, &reader)); /* fails on its way */
    assert_int_equal(acu_last_error()->status, ACU_ERR_INVALID);
    assert_int_equal(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_int_equal(acu_last_error()->status, ACU_ERR_DEPENDENCY);
    acu_future_release(failed);
    acu_future_release(reader);
    acu_tensor_release(x);
    close_bench(&b);
}

/* How often this thread has gone to sleep: between two sleeps it looks. */
static long sleeps(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
    return usage.ru_nvcsw;
}

/* Long enough for some hundred looks, if a thread takes one each millisecond. */
#define HELD ACU_MS(400)
enum { FEW = 60 };

/* All of these wait for `future`, which is a member of the group. */
static void wait_in_all_ways(acu_future *future, acu_group *group, acu_future *finish)
{
    acu_future *taken;
    size_t index;
    long before = sleeps();
    assert_int_equal(acu_future_wait(future, HELD), ACU_TIMEOUT);
    assert_in_range(sleeps() - before, 1, FEW);
    before = sleeps();
    assert_int_equal(acu_wait_all(&future, 1, HELD), ACU_TIMEOUT);
    assert_in_range(sleeps() - before, 1, FEW);
    before = sleeps();
    assert_int_equal(acu_wait_any(&future, 1, HELD, &index), ACU_TIMEOUT);
    assert_in_range(sleeps() - before, 1, FEW);
    before = sleeps();
    assert_int_equal(acu_group_wait(group, HELD), ACU_TIMEOUT);
    assert_in_range(sleeps() - before, 1, FEW);
    before = sleeps();
    assert_int_equal(acu_group_wait_any(group, HELD, &taken), ACU_TIMEOUT);
    assert_in_range(sleeps() - before, 1, FEW);
    before = sleeps();
    assert_int_equal(acu_future_wait(finish, HELD), ACU_TIMEOUT);
    assert_in_range(sleeps() - before, 1, FEW);
}

static void waiting_for_what_is_held_back(bool runtime_thread)
{
    acu_open_options open = test_options(0);
    acu_group_options options = {.size = sizeof options, .collect = true};
    acu_device *device;
    acu_group *group;
    acu_future *future, *finish, *taken;
    acu_tensor *x;
    open.runtime_thread = runtime_thread;
    assert_works(acu_open(&open, &device));
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, VECTOR, &x));
    memset(acu_tensor_host(x), 0, N * sizeof(int32_t));
    assert_works(acu_group_create(&options, &group));
    test_host_gate_close();
    acu_op *gate = runtime_thread
                       ? acu_then(acu_value(x), test_plan_behind_host_gate, NULL)
                       : acu_host(test_pass_host_gate, NULL, acu_inout(x));
    acu_future *first = test_submit(device, gate);
    test_host_gate_await();
    assert_works(acu_group_submit(group, device, acu_to_device(device, x), NULL, &future));
    assert_works(acu_group_finish(group, &finish));
    wait_in_all_ways(future, group, finish);
    test_host_gate_open();
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_wait(finish, ACU_FOREVER));
    assert_works(acu_group_take(group, &taken));
    holds(acu_future_tensor(future, 0), 0);
    acu_future_release(taken);
    acu_future_release(finish);
    acu_future_release(future);
    acu_future_release(first);
    acu_group_release(group);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static void what_is_held_back_is_left_alone(void **state)
{
    (void)state;
    waiting_for_what_is_held_back(false);
}

static void what_is_not_planned_is_left_alone(void **state)
{
    (void)state;
    waiting_for_what_is_held_back(true);
}

/* It would have all threads write one word, whichever devices they use. */
static void completions_are_announced_to_sleepers_only(void **state)
{
    (void)state;
    bench b = open_bench();
    uint32_t before = acui_done_count();
    for (int i = 0; i < 3; i++) {
        acu_future *future = test_submit(b.device, acu_full(VECTOR, acu_i32(i)));
        while (acu_future_poll(future) == ACU_NOT_READY)
            sched_yield();
        acu_future_release(future);
    }
    assert_int_equal(acui_done_count(), before);
    close_bench(&b);
    test_leaks_none();
}

/* acui_done_count when the worker came to the next host work; and that it came there. */
static _Atomic(uint32_t) told;
static _Atomic(bool) came;

static acu_status note_told(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    told = acui_done_count();
    came = true;
    return ACU_OK;
}

/* Nothing but that could wake a thread up that sleeps until `busy` is over: of the host work nobody
 * wants to know, and the copy does not end before `busy`. */
static void what_comes_beside_long_work_is_announced(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x, *y;
    uint64_t start = 0;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_I32, VECTOR, &x));
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_I32, VECTOR, &y));
    memset(acu_tensor_host(x), 0, N * sizeof(int32_t));
    test_gate_close(b.device, acu_stream_raw(b.stream));
    acu_future *busy;
    assert_works(acu_submit(b.device, acu_full(VECTOR, acu_i32(7)), &b.held, &busy));
    test_host_gate_close();
    acu_op *host = acu_host(test_pass_host_gate, NULL, acu_inout(x));
    assert_works(acu_submit(b.device, host, NULL, NULL));
    test_host_gate_await();
    acu_future *held =
        test_submit(b.device, acu_copy(acu_future_tensor(busy, 0), x));
    assert_works(acu_submit(b.device, acu_host(note_told, NULL, acu_inout(y)), NULL, NULL));
    came = false;
    acui_done_begin();
    uint32_t seen = acui_done_count();
    assert_true(acui_next_of_futures(NULL, acui_now(), 0, &start) > acui_now());
    test_host_gate_open();
    while (!came)
        sched_yield();
    assert_int_not_equal(told, seen);
    acui_done_end();
    test_gate_open();
    assert_works(acu_future_wait(held, ACU_FOREVER));
    acu_future_release(held);
    acu_future_release(busy);
    acu_tensor_release(x);
    acu_tensor_release(y);
    close_bench(&b);
    test_leaks_none();
}

/* ---- values ---- */

static void values_before_completion(void **state)
{
    (void)state;
    bench b = open_bench();
    hold(&b);
    acu_future *first = submit_held(&b, acu_zip(constant(3), acu_scalar(acu_u8(200))));
    assert_int_equal(acu_future_values(first), 2);
    acu_tensor *x = acu_future_tensor(first, 0);
    assert_non_null(x);
    assert_int_equal(acu_tensor_dtype(x), ACU_I32);
    acu_dtype dtype;
    uint64_t bits;
    assert_works(acu_future_scalar(first, 1, &dtype, &bits));
    assert_int_equal(bits, 200);
    assert_fails(acu_future_scalar(first, 1, NULL, &bits), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_future_scalar(first, 1, &dtype, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_future_take(first, 0, NULL), ACU_ERR_INVALID, "nowhere");
    acu_future *second = submit(&b, acu_dup(x)); /* ordered behind, on another stream */
    assert_int_equal(acu_future_poll(second), ACU_NOT_READY);
    acu_tensor *mine, *none;
    assert_works(acu_future_take(first, 0, &mine));
    assert_ptr_equal(mine, x);
    assert_fails(acu_future_take(first, 0, &none), ACU_ERR_NOT_FOUND, "taken before");
    assert_fails(acu_future_take(first, 1, &none), ACU_ERR_INVALID, "scalar");
    assert_fails(acu_future_take(first, 2, &none), ACU_ERR_NOT_FOUND, "yields 2");
    assert_null(acu_future_tensor(first, 0));
    assert_null(acu_future_tensor(first, 5));
    assert_fails(acu_future_scalar(second, 0, &dtype, &bits), ACU_ERR_INVALID, "tensor");
    test_gate_open();
    holds(acu_future_tensor(second, 0), 3);
    acu_future_release(first);
    holds(mine, 3); /* outlives its future */
    acu_future_release(second);
    acu_tensor_release(mine);
    close_bench(&b);
}

static acu_status do_nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* A struct has a place among the values, but it can neither be looked at nor taken. */
static void a_struct_is_no_value(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_arg args[] = {acu_arg_struct(&(int){5}, sizeof(int)), acu_i32(7)};
    acu_future *future =
        test_submit(device, acu_op_host(do_nothing, ACU_USER(NULL), args, 2, ACU_SITE));
    acu_tensor *none;
    acu_dtype dtype;
    uint64_t bits;
    assert_int_equal(acu_future_values(future), 2);
    assert_fails(acu_future_take(future, 0, &none), ACU_ERR_NOT_FOUND,
                 "value 0 of the submission is neither");
    assert_fails(acu_future_scalar(future, 0, &dtype, &bits), ACU_ERR_NOT_FOUND, "value 0");
    assert_null(acu_future_tensor(future, 0));
    assert_works(acu_future_scalar(future, 1, &dtype, &bits));
    assert_int_equal(bits, 7);
    acu_future_release(future);
    test_close(device);
    test_leaks_none();
}

/* acu_sync gives the first value if it is a tensor; it is no failure if there is none. */
static void a_sync_without_a_tensor(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *none = (acu_tensor *)&none;
    assert_works(acu_sync(device, acu_scalar(acu_i32(1)), &none));
    assert_null(none);
    none = (acu_tensor *)&none;
    assert_works(acu_sync(device, acu_op_zip(NULL, 0, ACU_SITE), &none));
    assert_null(none);
    test_close(device);
    test_leaks_none();
}

static acu_status own(const bench *b, acu_tensor **x)
{
    acu_future *future = NULL;
    acu_status status = acu_submit(b->device, acu_own(acu_give(*x)), NULL, &future);
    *x = NULL;
    if (status == ACU_OK)
        assert_works(acu_future_take(future, 0, x));
    acu_future_release(future);
    return status;
}

static void nothing(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
}

/* Work in flight keeps memory, not handles: the handles of a future's values go with the last
 * handle of the future. */
static void a_dropped_future_shares_nothing(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x;
    assert_works(acu_sync(b.device, constant(1), &x));
    hold(&b);
    acu_future *future = submit_held(&b, acu_fill(x, acu_i32(2)));
    acu_future_retain(future);
    acu_future_release(future);
    assert_fails(own(&b, &x), ACU_ERR_SHARED, "can not be owned"); /* the future lends it still */
    assert_works(acu_future_take(future, 0, &x));
    acu_future_release(future);
    acu_future_release(submit_held(&b, acu_fill(x, acu_i32(3))));
    assert_works(own(&b, &x));
    future = submit_held(&b, acu_fill(x, acu_i32(4)));
    assert_works(acu_future_when_complete(future, NULL, 0, nothing, ACU_USER(NULL)));
    acu_future_release(future);
    assert_fails(own(&b, &x), ACU_ERR_SHARED, ""); /* the callback may ask for it */
    test_gate_open();
    close_bench(&b);
}

/* ---- being called ---- */

typedef struct log {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int order[8], count, released;
    acu_status status;
    pthread_t thread;
    bool complete;
    bench *b;
    acu_future *inner;
} call_log;

typedef struct entry {
    call_log *log;
    int number;
} entry;

static void note(void *user, acu_future *future, acu_status status)
{
    entry *e = user;
    pthread_mutex_lock(&e->log->lock);
    e->log->order[e->log->count++] = e->number;
    e->log->status = status;
    e->log->thread = pthread_self();
    e->log->complete = acu_future_poll(future) == status;
    pthread_cond_broadcast(&e->log->changed);
    pthread_mutex_unlock(&e->log->lock);
}

static void note_release(void *user)
{
    entry *e = user;
    pthread_mutex_lock(&e->log->lock);
    e->log->released++;
    pthread_cond_broadcast(&e->log->changed);
    pthread_mutex_unlock(&e->log->lock);
}

static void await_released(call_log *log, int count)
{
    pthread_mutex_lock(&log->lock);
    while (log->released < count)
        pthread_cond_wait(&log->changed, &log->lock);
    pthread_mutex_unlock(&log->lock);
}

static void callbacks_come_once_in_order(void **state)
{
    (void)state;
    bench b = open_bench();
    call_log log = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    entry entries[5];
    hold(&b);
    acu_future *future = submit_held(&b, constant(1));
    for (int i = 0; i < 4; i++) {
        entries[i] = (entry){.log = &log, .number = i};
        assert_works(
            acu_future_when_complete(future, NULL, 0, note, ACU_USER(&entries[i], note_release)));
    }
    pthread_mutex_lock(&log.lock);
    assert_int_equal(log.count, 0); /* not before it is complete */
    pthread_mutex_unlock(&log.lock);
    test_gate_open(); /* nobody waits: acuda looks by itself */
    await_released(&log, 4);
    entries[4] = (entry){.log = &log, .number = 4};
    assert_works(
        acu_future_when_complete(future, NULL, 0, note, ACU_USER(&entries[4], note_release)));
    await_released(&log, 5); /* complete already: called as well */
    assert_int_equal(log.count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(log.order[i], i);
    assert_int_equal(log.status, ACU_OK);
    assert_true(log.complete);
    assert_false(pthread_equal(log.thread, pthread_self()));
    acu_future_release(future);
    assert_fails(acu_future_when_complete(NULL, NULL, 0, note, ACU_USER(&entries[4], note_release)),
                 ACU_ERR_INVALID, "future is NULL");
    assert_int_equal(log.released, 6);
    close_bench(&b);
}

static void submit_more(void *user, acu_future *future, acu_status status)
{
    (void)status;
    entry *e = user;
    acu_op *op = acu_copy(acu_empty(ACU_I32, VECTOR), acu_future_tensor(future, 0));
    e->log->status = acu_submit(e->log->b->device, acu_first(op), NULL, &e->log->inner);
}

static void callbacks_may_submit(void **state)
{
    (void)state;
    bench b = open_bench();
    call_log log = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER,
                    .b = &b};
    entry e = {.log = &log};
    acu_future *future = submit(&b, constant(12));
    assert_works(
        acu_future_when_complete(future, NULL, 0, submit_more, ACU_USER(&e, note_release)));
    await_released(&log, 1);
    assert_int_equal(log.status, ACU_OK);
    holds(acu_future_tensor(log.inner, 0), 12);
    acu_future_release(log.inner);
    acu_future_release(future);
    close_bench(&b);
}

typedef struct slow_call {
    _Atomic(bool) begun, may_end;
    bool ended, released; /* not atomic: a thread that waited for the device sees them */
} slow_call;

static void call_slowly(void *user, acu_future *future, acu_status status)
{
    slow_call *call = user;
    (void)future, (void)status;
    atomic_store(&call->begun, true);
    while (!atomic_load(&call->may_end))
        sched_yield();
    call->ended = true;
}

static void note_slow_release(void *user)
{
    ((slow_call *)user)->released = true;
}

static void waiting_for_the_device_waits_for_callbacks(void **state)
{
    (void)state;
    bench b = open_bench();
    slow_call call = {.ended = false};
    acu_future *future = submit(&b, constant(1));
    assert_works(
        acu_future_when_complete(future, NULL, 0, call_slowly, ACU_USER(&call, note_slow_release)));
    while (!atomic_load(&call.begun))
        sched_yield();
    assert_works(acu_future_wait(future, ACU_FOREVER)); /* it is complete */
    assert_int_equal(acu_device_wait(b.device, 0), ACU_TIMEOUT);
    atomic_store(&call.may_end, true);
    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    assert_true(call.ended && call.released);
    acu_future_release(future);
    close_bench(&b);
}

typedef struct relay {
    acu_device *device;
    _Atomic(bool) stop;
    _Atomic(int) runs;
} relay;

/* Submits the next piece before it ends: something is in flight at any time. */
static acu_status pass_on(void *user, const acu_val *values, size_t count)
{
    relay *r = user;
    (void)values, (void)count;
    atomic_fetch_add(&r->runs, 1);
    acu_op *next = acu_op_host(pass_on, ACU_USER(r), NULL, 0, ACU_SITE);
    return atomic_load(&r->stop) ? acu_op_release(next), ACU_OK
                                 : acu_submit(r->device, next, NULL, NULL);
}

static void waiting_for_the_device_is_not_for_what_comes_later(void **state)
{
    (void)state;
    bench b = open_bench();
    relay r = {.device = b.device};
    acu_op *first = acu_op_host(pass_on, ACU_USER(&r), NULL, 0, ACU_SITE);
    assert_works(acu_submit(b.device, first, NULL, NULL));
    for (int i = 0; i < 20; i++) {
        acu_future *future = submit(&b, constant(i));
        int runs = atomic_load(&r.runs);
        assert_works(acu_device_wait(b.device, ACU_SECONDS(60)));
        assert_works(acu_future_error(future, NULL));
        while (atomic_load(&r.runs) == runs)
            sched_yield();
        acu_future_release(future);
    }
    atomic_store(&r.stop, true);
    close_bench(&b);
}

/* ---- scheduling ---- */

static acu_op *count_call(void *user, acu_val *values, size_t count)
{
    (void)count;
    ++*(int *)user;
    return acu_take(&values[0]);
}

static acu_op *count_released(void *user, acu_val *values, size_t count)
{
    (void)count;
    ((entry *)user)->log->count++;
    return acu_take(&values[0]);
}

static void scheduled_runs_when_it_is_started(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_policy *policy;
    assert_works(acu_policy_single(b.device, b.stream, &policy));
    int calls = 0, here = 0;
    for (int way = 0; way < 5; way++) {
        call_log log = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
        entry e = {.log = &log};
        acu_future *future;
        assert_works(acu_schedule(policy, acu_then(constant(way), count_call, &calls), &future));
        assert_int_equal(calls, way); /* not yet */
        acu_error error;
        assert_int_equal(acu_future_error(future, &error), ACU_NOT_READY);
        assert_int_equal(calls, way); /* that does not start it */
        if (way == 0)
            assert_works(acu_future_start(future));
        else if (way == 1)
            (void)acu_future_poll(future);
        else if (way == 2)
            (void)acu_future_wait(future, 0);
        else if (way == 3)
            assert_works(
                acu_future_when_complete(future, NULL, 0, note, ACU_USER(&e, note_release)));
        else
            assert_non_null(acu_future_tensor(future, 0));
        assert_int_equal(calls, way + 1);
        assert_works(acu_future_start(future)); /* once is enough */
        holds(acu_future_tensor(future, 0), way);
        assert_works(acu_future_wait(future, ACU_FOREVER));
        if (way == 3)
            await_released(&log, 1);
        assert_int_equal(calls, way + 1);
        acu_future_release(future);
    }
    acu_future *dropped, *bad;
    assert_works(acu_schedule(policy, acu_then(constant(0), count_call, &here), &dropped));
    acu_future_release(dropped);
    assert_int_equal(here, 0); /* never runs */
    call_log log = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    entry e = {.log = &log};
    acu_op *never = acu_then(constant(0), count_released, &e, note_release);
    assert_works(acu_schedule(policy, never, &dropped));
    assert_int_equal(log.released, 0);
    acu_future_release(dropped);
    assert_int_equal(log.released, 1); /* but what it held is released */
    assert_works(acu_schedule(policy, acu_reshape(constant(0), ACU_SHAPE(3)), &bad));
    assert_int_equal(acu_future_wait(bad, ACU_FOREVER), ACU_ERR_SHAPE);
    acu_future_release(bad);
    assert_fails(acu_schedule(policy, constant(0), NULL), ACU_ERR_INVALID, "without a future");
    acu_policy_release(policy);
    close_bench(&b);
}

/* ---- failures ---- */

static acu_status count_host(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    atomic_fetch_add((_Atomic(int) *)user, 1);
    return ACU_OK;
}

static void fails_with(acu_future *future, acu_status want, const char *op, int line,
                       const char *word)
{
    acu_error error = {0};
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), want);
    assert_int_equal(acu_future_error(future, &error), want);
    assert_int_equal(error.status, want);
    if (op)
        assert_string_equal(error.op, op);
    assert_non_null(strstr(error.file, "test_future.c"));
    if (line)
        assert_int_equal(error.line, line);
    assert_non_null(strstr(error.message, word));
    acu_future_release(future);
}

static void failures_pass_along_the_data(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x, *pinned, *other;
    assert_works(acu_sync(b.device, constant(1), &x));
    assert_works(acu_sync(b.device, constant(2), &other));
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_I32, VECTOR, &pinned));
    for (int way = 0; way < 2; way++) {
        acu_arg bad_arg = way ? acu_inout(x) : acu_out(pinned);
        acu_site site = ACU_SITE;
        acu_op *bad = way ? acu_op_foreign(fail_foreign, ACU_USER(NULL), &bad_arg, 1, site)
                          : acu_op_host(fail_host, ACU_USER(NULL), &bad_arg, 1, site);
        acu_future *failed = submit(&b, acu_op_named(bad, "step one"));
        acu_tensor *target = way ? x : pinned;
        acu_future *reader = submit(&b, acu_dup(target)), *third;
        third = submit(&b, acu_dup(acu_future_tensor(reader, 0)));
        acu_future *apart = submit(&b, acu_dup(other)); /* shares nothing with them */
        fails_with(failed, ACU_ERR_CALLBACK, "step one", site.line, "ACU_ERR_IO");
        fails_with(reader, ACU_ERR_DEPENDENCY, "dup", 0, "step one");
        fails_with(third, ACU_ERR_DEPENDENCY, "dup", 0, "step one");
        assert_works(acu_future_wait(apart, ACU_FOREVER));
        acu_future_release(apart);
        /* Also long after, until it is overwritten: a part does not heal the rest. */
        fails_with(submit(&b, acu_dup(target)), ACU_ERR_DEPENDENCY, NULL, 0, "step one");
        acu_tensor *half;
        assert_works(acu_tensor_slice(target, (int64_t[]){0}, (int64_t[]){N / 2}, &half));
        assert_works(acu_sync(b.device, acu_copy(half, acu_full(ACU_SHAPE(N / 2), acu_i32(7))),
                              NULL));
        assert_works(acu_sync(b.device, acu_dup(half), NULL));
        fails_with(submit(&b, acu_dup(target)), ACU_ERR_DEPENDENCY, NULL, 0, "step one");
        assert_works(acu_sync(b.device, acu_copy(target, other), NULL)); /* readable again */
        holds(target, 2);
        acu_tensor_release(half);
    }
    /* Host work behind a failure is not called. */
    _Atomic(int) calls = 0;
    acu_future_release(submit(&b, acu_host(fail_host, NULL, acu_inout(pinned))));
    fails_with(submit(&b, acu_host(count_host, (void *)&calls, acu_in(pinned))),
               ACU_ERR_DEPENDENCY, "host", 0, "not computed");
    assert_int_equal(atomic_load(&calls), 0);
    assert_works(acu_sync(b.device, acu_host(count_host, (void *)&calls, acu_out(pinned)), NULL));
    assert_int_equal(atomic_load(&calls), 1);
    acu_tensor_release(x);
    acu_tensor_release(pinned);
    acu_tensor_release(other);
    close_bench(&b);
}

static void a_failed_submission_names_the_first(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_future *futures[2] = {submit(&b, constant(0)), NULL};
    acu_op *bad = acu_host(fail_host, NULL, acu_inout(acu_to_host(constant(1))));
    futures[1] = submit(&b, acu_to_device(b.device, acu_first(bad)));
    assert_int_equal(acu_wait_all(futures, 2, ACU_FOREVER), ACU_ERR_CALLBACK);
    size_t index = 9;
    acu_future *reversed[2] = {futures[1], futures[0]};
    assert_int_equal(acu_wait_any(reversed, 2, ACU_FOREVER, &index), ACU_ERR_CALLBACK);
    assert_int_equal(index, 0);
    fails_with(futures[1], ACU_ERR_CALLBACK, "host", 0, "acu_host");
    acu_future_release(futures[0]);
    close_bench(&b);
}

/* ---- dropping and closing ---- */

static void dropped_at_any_time(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *x;
    assert_works(acu_sync(b.device, constant(0), &x));
    hold(&b);
    for (int i = 0; i < 50; i++) { /* what was submitted runs on */
        acu_future *future = submit_held(&b, acu_fill(x, acu_i32(i)));
        if (i % 3 == 0)
            assert_int_equal(acu_future_poll(future), ACU_NOT_READY);
        acu_future_release(acu_future_retain(future));
        acu_future_release(future);
        assert_works(acu_submit(b.device, acu_dup(x), i % 2 ? &b.held : NULL, NULL));
    }
    acu_future_release(NULL);
    test_gate_open();
    holds(x, 49);
    acu_tensor_release(x);
    close_bench(&b);
}

/* ---- by another thread than the one that waits ---- */

static void *wait_for_one(void *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    return NULL;
}

static void *wait_for_all(void *future)
{
    acu_future *list[] = {future};
    assert_works(acu_wait_all(list, 1, ACU_FOREVER));
    return NULL;
}

static void *wait_for_any(void *future)
{
    acu_future *list[] = {future};
    assert_works(acu_wait_any(list, 1, ACU_FOREVER, NULL));
    return NULL;
}

static void *wait_for_group(void *group)
{
    assert_works(acu_group_wait(group, ACU_FOREVER));
    return NULL;
}

/* Start the thread, and return once it holds the object, which it does until it has waited. */
static pthread_t start_waiting(void *(*wait)(void *), void *object)
{
    uint32_t before = acui_object_refs(object);
    pthread_t thread;
    pthread_create(&thread, NULL, wait, object);
    while (acui_object_refs(object) == before)
        sched_yield();
    return thread;
}

static void dropped_while_another_thread_waits(void **state)
{
    (void)state;
    static void *(*const waits[])(void *) = {wait_for_one, wait_for_all, wait_for_any};
    bench b = open_bench();
    for (int i = 0; i < 3; i++) {
        hold(&b);
        acu_future *future = submit_held(&b, constant(i));
        pthread_t thread = start_waiting(waits[i], future);
        acu_future_release(future);
        test_gate_open();
        pthread_join(thread, NULL);
    }
    acu_group *group;
    assert_works(acu_group_create(NULL, &group));
    hold(&b);
    assert_works(acu_group_submit(group, b.device, constant(3), &b.held, NULL));
    pthread_t thread = start_waiting(wait_for_group, group);
    acu_group_release(group);
    test_gate_open();
    pthread_join(thread, NULL);
    close_bench(&b);
}

static void closing_with_work_in_flight(void **state)
{
    (void)state;
    acu_device *device = test_open();
    _Atomic(int) calls = 0;
    acu_tensor *pinned;
    acu_future *last;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, VECTOR, &pinned));
    for (int i = 0; i < 100; i++) {
        assert_works(acu_submit(device, acu_copy(pinned, constant(i)), NULL, NULL));
        acu_op *host = acu_host(count_host, (void *)&calls, acu_inout(pinned));
        assert_works(acu_submit(device, host, NULL, i == 99 ? &last : NULL));
    }
    acu_tensor_release(pinned);
    test_close(device);
    assert_int_equal(atomic_load(&calls), 100);
    assert_works(acu_future_poll(last)); /* a future outlives its device */
    assert_int_equal(((int32_t *)acu_tensor_host(acu_future_tensor(last, 0)))[0], 99);
    acu_future_release(last);
    test_leaks_none();
}

static acu_status pass_gate(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    while (!atomic_load((_Atomic(bool) *)user))
        sched_yield();
    return ACU_OK;
}

/* A submission that waits behind host work also holds the memory that it uses. */
static void memory_outlives_its_handles(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_tensor *pinned, *x;
    _Atomic(bool) gate = false;
    assert_works(acu_tensor_alloc_pinned(b.device, ACU_I32, VECTOR, &pinned));
    assert_works(acu_sync(b.device, constant(0), &x));
    for (int i = 0; i < N; i++)
        ((int32_t *)acu_tensor_host(pinned))[i] = 8;
    acu_op *held = acu_host(pass_gate, (void *)&gate, acu_inout(pinned));
    assert_works(acu_submit(b.device, held, NULL, NULL));
    assert_works(acu_submit(b.device, acu_copy(x, pinned), NULL, NULL));
    acu_tensor_release(pinned);
    atomic_store(&gate, true);
    holds(x, 8);
    acu_tensor_release(x);
    close_bench(&b);
}

/* ---- starting ---- */

typedef struct start {
    acu_future *future;
    _Atomic(bool) planning, asked;
} start;

static acu_op *plan_slowly(void *user, acu_val *values, size_t count)
{
    start *s = user;
    (void)count;
    atomic_store(&s->planning, true);
    while (!atomic_load(&s->asked))
        sched_yield();
    for (int i = 0; i < 1000; i++) /* while the other thread asks */
        sched_yield();
    return acu_take(&values[0]);
}

static void *start_it(void *user)
{
    acu_future_start(((start *)user)->future);
    return NULL;
}

/* A thread that asks for the values of a future that another thread is starting waits until they
 * are known. */
static void values_while_another_thread_starts(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_policy *policy;
    start s = {.planning = false};
    pthread_t thread;
    acu_tensor *x = NULL;
    assert_works(acu_policy_round_robin(b.device, 1, &policy));
    assert_works(acu_schedule(policy, acu_then(constant(3), plan_slowly, &s), &s.future));
    assert_int_equal(pthread_create(&thread, NULL, start_it, &s), 0);
    while (!atomic_load(&s.planning))
        sched_yield();
    assert_int_equal(acu_future_planned(s.future), ACU_NOT_READY);
    atomic_store(&s.asked, true);
    assert_works(acu_future_take(s.future, 0, &x));
    assert_int_equal(pthread_join(thread, NULL), 0);
    holds(x, 3);
    acu_tensor_release(x);
    acu_future_release(s.future);
    acu_policy_release(policy);
    close_bench(&b);
}

/* ---- counters ---- */

static void counters(void **state)
{
    (void)state;
    bench b = open_bench();
    acu_process_statistics before = {.size = sizeof before}, after = {.size = sizeof after};
    acu_process_stats(&before);
    assert_int_equal(before.submissions, before.submissions_done);
    assert_int_equal(before.operations, before.operations_done);
    acu_future *future = submit(&b, acu_dup(constant(1))); /* a fill and a copy */
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
    acu_op *bad = acu_foreign(fail_foreign, NULL, acu_inout(constant(1)));
    future = submit(&b, bad);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK);
    acu_future_release(future);
    assert_fails(acu_submit(b.device, acu_reshape(constant(1), ACU_SHAPE(1)), NULL, NULL),
                 ACU_ERR_SHAPE, "");
    hold(&b);
    future = submit_held(&b, acu_dup(constant(1)));
    assert_works(acu_future_cancel(future)); /* the device does it all the same */
    acu_future_release(future);
    test_gate_open();
    assert_works(acu_device_wait(b.device, ACU_FOREVER));
    acu_process_stats(&after);
    assert_int_equal(after.submissions - before.submissions, 3);
    assert_int_equal(after.submissions_done - before.submissions_done, 3);
    assert_int_equal(after.submissions_failed - before.submissions_failed, 2);
    assert_int_equal(after.operations - before.operations, 6);
    assert_int_equal(after.operations_done, after.operations);
    close_bench(&b);
}

/* The end of its work can not be marked any more: nobody will see that. */
static void counters_of_a_lost_device(void **state)
{
    (void)state;
    acu_process_statistics counts = {.size = sizeof counts};
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventRecord,
                              .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    acu_device *device = test_open();
    acu_tensor *x;
    assert_works(acu_sync(device, constant(1), &x));
    assert_works(acu_driver_fail(&fault));
    acu_future *future = test_submit(device, acu_fill(x, acu_i32(2)));
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_LOST);
    acu_driver_fail_clear();
    acu_future_release(future);
    acu_tensor_release(x);
    test_close(device);
    acu_process_stats(&counts);
    assert_int_equal(counts.submissions, counts.submissions_done);
    assert_int_equal(counts.operations, counts.operations_done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poll_and_wait),
        cmocka_unit_test(what_is_held_back_is_left_alone),
        cmocka_unit_test(what_is_not_planned_is_left_alone),
        cmocka_unit_test(completions_are_announced_to_sleepers_only),
        cmocka_unit_test(what_comes_beside_long_work_is_announced),
        cmocka_unit_test(any_and_all),
        cmocka_unit_test(all_tell_of_the_first_failure),
        cmocka_unit_test(success_leaves_the_record),
        cmocka_unit_test(values_before_completion),
        cmocka_unit_test(a_struct_is_no_value),
        cmocka_unit_test(a_sync_without_a_tensor),
        cmocka_unit_test(a_dropped_future_shares_nothing),
        cmocka_unit_test(callbacks_come_once_in_order),
        cmocka_unit_test(callbacks_may_submit),
        cmocka_unit_test(waiting_for_the_device_waits_for_callbacks),
        cmocka_unit_test(waiting_for_the_device_is_not_for_what_comes_later),
        cmocka_unit_test(scheduled_runs_when_it_is_started),
        cmocka_unit_test(failures_pass_along_the_data),
        cmocka_unit_test(a_failed_submission_names_the_first),
        cmocka_unit_test(dropped_at_any_time),
        cmocka_unit_test(dropped_while_another_thread_waits),
        cmocka_unit_test(memory_outlives_its_handles),
        cmocka_unit_test(closing_with_work_in_flight),
        cmocka_unit_test(values_while_another_thread_starts),
        cmocka_unit_test(counters),
        cmocka_unit_test(counters_of_a_lost_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
