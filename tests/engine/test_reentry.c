/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The library is called from functions of the program that it calls: foreign calls that look at
 * futures, callbacks that release their queue or open a device, a `then` that is refused after it
 * has submitted.
 */
#include "support/support.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { N = 64, TURNS = 20, LOOKS = 2000 };
#define VECTOR ACU_SHAPE(N)

static acu_future *submit(acu_device *device, acu_op *op, acu_stream *stream)
{
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    acu_future *future = NULL;
    assert_works(acu_submit(device, op, &options, &future));
    return future;
}

static acu_tensor *vector(acu_device *device)
{
    acu_tensor *x;
    assert_works(acu_sync(device, acu_full(VECTOR, acu_i32(0)), &x));
    return x;
}

static void ends_well(acu_future *future)
{
    assert_works(acu_future_wait(future, ACU_FOREVER));
    acu_future_release(future);
}

/* ---- foreign calls ---- */

static acu_status fail_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)user, (void)stream, (void)values, (void)count;
    return ACU_ERR_IO;
}

/* Looks until it finds that the work that was tried on its own stream is over, so that the
 * alternative would go to that stream. */
static acu_status look_often(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    acu_status status = ACU_NOT_READY;
    test_gate_open();
    for (int i = 0; i < LOOKS && status == ACU_NOT_READY; i++)
        status = acu_future_poll(user);
    return ACU_OK;
}

static void looking_in_a_foreign_call(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream;
    acu_tensor *x = vector(device), *y = vector(device);
    assert_works(acu_stream_create(device, 0, &stream));
    for (int i = 0; i < TURNS; i++) {
        test_gate_close(device, acu_stream_raw(stream));
        acu_op *tried = acu_or_else(acu_foreign(fail_foreign, NULL, acu_inout(x)),
                                    acu_fill(x, acu_i32(i)));
        acu_future *seen = submit(device, tried, stream);
        ends_well(submit(device, acu_foreign(look_often, seen, acu_inout(y)), stream));
        ends_well(seen);
        int32_t back[N];
        assert_works(acu_read_sync(x, back, sizeof back));
        assert_int_equal(back[N - 1], i);
    }
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_stream_release(stream);
    test_close(device);
    test_leaks_none();
}

/* A scheduled future, and the status of starting it where nothing may be submitted. */
typedef struct scheduled {
    acu_future *future;
    acu_queue *queue;
    acu_status poll, start, notify, call;
    int released;
} scheduled;

static void never(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    fail();
}

static void count_release(void *user)
{
    ((scheduled *)user)->released++;
}

static void start_it(scheduled *s)
{
    s->poll = acu_future_poll(s->future);
    s->start = acu_future_start(s->future);
    s->notify = acu_future_when_complete(s->future, s->queue, 1, NULL, ACU_USER(NULL));
    s->call = acu_future_when_complete(s->future, NULL, 0, never, ACU_USER(s, count_release));
}

static acu_status start_in_foreign(void *user, CUstream stream, const acu_val *values, size_t count)
{
    (void)stream, (void)values, (void)count;
    start_it(user);
    return ACU_OK;
}

static size_t start_in_policy(void *user, const acu_policy_stream *streams, size_t count)
{
    (void)streams, (void)count;
    start_it(user);
    return 0;
}

static void was_left_alone(const scheduled *s)
{
    assert_int_equal(s->poll, ACU_ERR_IN_CALLBACK);
    assert_int_equal(s->start, ACU_ERR_IN_CALLBACK);
    assert_int_equal(s->notify, ACU_ERR_IN_CALLBACK);
    assert_int_equal(s->call, ACU_ERR_IN_CALLBACK);
    assert_int_equal(s->released, 1);
    assert_int_equal(acu_queue_pending(s->queue), 0);
}

static void nothing_is_started_where_nothing_is_submitted(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_policy *usual, *asks;
    scheduled s = {.released = 0};
    acu_tensor *x = vector(device);
    assert_works(acu_queue_create(NULL, &s.queue));
    assert_works(acu_policy_round_robin(device, 1, &usual));
    acu_policy_options options = {.size = sizeof options,
                                  .choose = start_in_policy,
                                  .user = ACU_USER(&s)};
    assert_works(acu_policy_create(device, &options, &asks));
    for (int way = 0; way < 2; way++) {
        s.released = 0;
        assert_works(acu_schedule(usual, acu_fill(x, acu_i32(way)), &s.future));
        acu_submit_options submit_options = {.size = sizeof submit_options,
                                             .policy = way ? asks : usual};
        acu_op *op = way ? acu_zeros(ACU_F32, VECTOR)
                         : acu_foreign(start_in_foreign, &s, acu_out(acu_empty(ACU_F32, VECTOR)));
        acu_future *future;
        assert_works(acu_submit(device, op, &submit_options, &future));
        ends_well(future);
        was_left_alone(&s);
        ends_well(s.future); /* it can still be started */
    }
    acu_policy_release(usual);
    acu_policy_release(asks);
    acu_queue_release(s.queue);
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

/* ---- callbacks ---- */

enum { CALLS = 80 }; /* more than are taken at a time */

typedef struct calls {
    acu_queue *queue;
    int called, released;
    int other; /* a descriptor that may get the number that the queue's had */
} calls;

static void release_queue(void *user, acu_future *future, acu_status status)
{
    calls *c = user;
    (void)future, (void)status;
    if (c->called++)
        return;
    acu_queue_release(c->queue);
    c->other = eventfd(7, EFD_NONBLOCK);
}

static void count_call_release(void *user)
{
    ((calls *)user)->released++;
}

static void a_callback_may_release_its_queue(void **state)
{
    (void)state;
    acu_device *device = test_open();
    calls c = {.called = 0};
    acu_completion list[CALLS];
    size_t count;
    uint64_t value = 0;
    assert_works(acu_queue_create(NULL, &c.queue));
    acu_future *future = submit(device, acu_zeros(ACU_F32, VECTOR), NULL);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    for (int i = 0; i < CALLS; i++)
        assert_works(acu_future_when_complete(future, c.queue, 0, release_queue,
                                              ACU_USER(&c, count_call_release)));
    assert_works(acu_queue_take(c.queue, list, CALLS, &count));
    assert_int_equal(count, 0);
    assert_int_equal(c.called, CALLS);
    assert_int_equal(c.released, CALLS);
    assert_int_equal(read(c.other, &value, sizeof value), sizeof value); /* nobody else did */
    assert_int_equal(value, 7);
    close(c.other);
    acu_future_release(future);
    test_close(device);
    test_leaks_none();
}

typedef struct ending {
    acu_device *device;
    _Atomic(int) seen;
    acu_status wait, sync;
} ending;

/* Released by work that the device still counts as in flight: waiting for the device here would
 * never end. */
static void wait_in_release(void *user)
{
    ending *e = user;
    e->wait = acu_device_wait(e->device, ACU_MS(1));
    e->sync = acu_sync(e->device, acu_zeros(ACU_F32, VECTOR), NULL);
    atomic_fetch_add(&e->seen, 1);
}

static acu_status nothing(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_OK;
}

/* A failure inside a release does not change the record of the call that caused the release. */
static void a_release_leaves_the_record(void **state)
{
    (void)state;
    ending e = {.device = test_open()};
    acu_op *x = acu_op_host(nothing, ACU_USER(&e, wait_in_release), ACU_ARGS(acu_u8(0)), ACU_SITE);
    acu_op *op = acu_op_then(x, NULL, ACU_USER(&e, wait_in_release), ACU_SITE);
    assert_int_equal(atomic_load(&e.seen), 2);
    assert_fails(acu_sync(e.device, op, NULL), ACU_ERR_INVALID, "NULL where a function should be");
    assert_fails(acu_future_when_complete(NULL, NULL, 0, never, ACU_USER(&e, wait_in_release)),
                 ACU_ERR_INVALID, "the future is NULL");
    test_close(e.device);
    test_leaks_none();
}

static void a_release_may_not_wait(void **state)
{
    (void)state;
    static char memory[256];
    ending e = {.device = test_open()};
    acu_buffer *buffer;
    acu_op *op = acu_op_host(nothing, ACU_USER(&e, wait_in_release), ACU_ARGS(acu_u8(0)), ACU_SITE);
    assert_works(acu_sync(e.device, op, NULL));
    assert_int_equal(e.wait, ACU_ERR_IN_CALLBACK);
    assert_int_equal(e.sync, ACU_ERR_IN_CALLBACK);
    assert_works(acu_buffer_wrap_pageable(e.device, memory, sizeof memory,
                                          ACU_USER(&e, wait_in_release), &buffer));
    e.wait = e.sync = ACU_OK;
    acu_buffer_release(buffer);
    assert_int_equal(e.wait, ACU_ERR_IN_CALLBACK);
    assert_int_equal(e.sync, ACU_ERR_IN_CALLBACK);
    assert_int_equal(atomic_load(&e.seen), 2);
    test_close(e.device);
    test_leaks_none();
}

typedef struct opening {
    _Atomic(bool) over;
    acu_status status;
} opening;

static void open_late(void *user, acu_future *future, acu_status status)
{
    opening *o = user;
    (void)future, (void)status;
    acu_open_options options = test_options(0);
    acu_device *device = NULL;
    o->status = acu_open(&options, &device);
    acu_device_release(device);
    atomic_store(&o->over, true);
}

static void a_callback_may_open_during_the_last_close(void **state)
{
    (void)state;
    acu_device *device = test_open();
    opening o = {.status = ACU_OK};
    acu_future *future = submit(device, acu_zeros(ACU_F32, VECTOR), NULL);
    test_call_last(future, open_late, &o);
    acu_future_release(future);
    assert_works(acu_close(device));
    assert_true(atomic_load(&o.over));
    assert_int_equal(o.status, ACU_ERR_IN_CALLBACK);
    test_leaks_none();
}

/* ---- a submission that is refused after a part of it was submitted ---- */

typedef struct refusal {
    acu_device *device;
    _Atomic(bool) gate;
} refusal;

static acu_status pass_gate(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    while (!atomic_load((_Atomic(bool) *)user))
        sched_yield();
    return ACU_OK;
}

/* What is planned so far comes before this submission; the worker thread issues it once the gate is
 * open. */
static acu_op *submit_and_fail(void *user, acu_val *values, size_t count)
{
    refusal *r = user;
    (void)values, (void)count;
    assert_works(acu_submit(r->device, acu_zeros(ACU_F32, VECTOR), NULL, NULL));
    atomic_store(&r->gate, true);
    return NULL;
}

/* ---- a failure while the rest is planned: for thread sanitizer ---- */

typedef struct failing {
    acu_device *device;
    acu_tensor *x;
    acu_op *next;
    _Atomic(bool) told; /* relaxed: so that nothing orders the two threads */
} failing;

static acu_status fail_host(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    return ACU_ERR_IO;
}

static void note_failure(void *user, acu_future *future, acu_status status)
{
    (void)future;
    atomic_store_explicit(&((failing *)user)->told, status != ACU_OK, memory_order_relaxed);
}

/* This submits what is planned so far, which fails. */
static acu_op *submit_and_await_failure(void *user, acu_val *values, size_t count)
{
    (void)values, (void)count;
    failing *f = user;
    acu_future *reader = submit(f->device, acu_host(fail_host, NULL, acu_in(f->x)), NULL);
    assert_works(acu_future_when_complete(reader, NULL, 0, note_failure, ACU_USER(f)));
    acu_future_release(reader);
    while (!atomic_load_explicit(&f->told, memory_order_relaxed))
        sched_yield();
    return f->next;
}

static void failing_while_it_is_planned(void **state)
{
    (void)state;
    failing f = {.device = test_open()};
    assert_works(acu_tensor_alloc_pinned(f.device, ACU_I32, VECTOR, &f.x));
    for (int i = 0; i < TURNS; i++) {
        atomic_store(&f.told, false);
        f.next = acu_host(fail_host, NULL, acu_in(f.x));
        acu_op *first = acu_op_host(fail_host, ACU_USER(NULL), NULL, 0, ACU_SITE);
        acu_op *second = acu_host(fail_host, NULL, acu_out(f.x));
        acu_op *op = acu_then(acu_after(second, first), submit_and_await_failure, &f);
        acu_future *future = submit(f.device, op, NULL);
        assert_fails(acu_future_wait(future, ACU_FOREVER), ACU_ERR_CALLBACK, "ACU_ERR_IO");
        acu_future_release(future);
    }
    acu_tensor_release(f.x);
    test_close(f.device);
    test_leaks_none();
}

static void refused_while_it_is_issued(void **state)
{
    (void)state;
    refusal r = {.device = test_open()};
    acu_tensor *x = vector(r.device), *pinned;
    acu_queue *queue;
    assert_works(acu_queue_create(NULL, &queue));
    assert_works(acu_tensor_alloc_pinned(r.device, ACU_I32, VECTOR, &pinned));
    for (int i = 0; i < TURNS; i++) {
        acu_submit_options options = {.size = sizeof options, .queue = queue};
        acu_future *future = NULL;
        atomic_store(&r.gate, false);
        acu_op *held = acu_host(pass_gate, (void *)&r.gate, acu_inout(pinned));
        assert_works(acu_submit(r.device, held, NULL, NULL));
        acu_op *op = acu_then(acu_copy(x, pinned), submit_and_fail, &r);
        assert_fails(acu_submit(r.device, op, &options, &future), ACU_ERR_CALLBACK, "no op");
        assert_int_equal(acu_queue_pending(queue), 0);
    }
    acu_tensor_release(pinned);
    acu_tensor_release(x);
    acu_queue_release(queue);
    test_close(r.device);
    test_leaks_none();
}

/* ---- a `then` that submits, and some allocation fails ---- */

enum { MOST = 200 };

typedef struct inner {
    acu_tensor *x;
    uint64_t nth; /* allocation that fails */
    acu_status status;
    bool failed; /* there was one */
} inner;

static acu_op *submit_with_little_memory(void *user, acu_val *values, size_t count)
{
    inner *i = user;
    (void)count;
    acu_debug_fail_alloc(i->nth, false);
    i->status = acu_submit(NULL, acu_fill(i->x, acu_i32(2)), NULL, NULL);
    i->failed = acu_debug_alloc_count() >= i->nth;
    acu_debug_fail_alloc(0, false);
    return acu_take(&values[0]);
}

/* What was planned so far comes before the work that the `then` submits, or the submission is
 * refused. */
static void what_can_not_be_in_order_is_refused(void **state)
{
    (void)state;
    acu_device *device = test_open();
    inner i = {.x = vector(device), .failed = true};
    int refused = 0;
    for (i.nth = 1; i.failed && i.nth < MOST; i.nth++) {
        int32_t got[N] = {0};
        assert_works(acu_write_sync(i.x, got, sizeof got));
        acu_op *op = acu_then(acu_fill(i.x, acu_i32(1)), submit_with_little_memory, &i);
        acu_status outer = acu_sync(device, op, NULL);
        if (outer != ACU_OK)
            assert_fails(outer, ACU_ERR_NO_MEMORY, "no memory");
        if (i.status != ACU_OK)
            assert_int_equal(i.status, ACU_ERR_NO_MEMORY);
        assert_works(acu_read_sync(i.x, got, sizeof got));
        assert_int_equal(got[N - 1], i.status == ACU_OK ? 2 : outer == ACU_OK ? 1 : 0);
        refused += outer != ACU_OK;
    }
    assert_false(i.failed);
    assert_true(refused > 0);
    acu_tensor_release(i.x);
    test_close(device);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looking_in_a_foreign_call),
        cmocka_unit_test(nothing_is_started_where_nothing_is_submitted),
        cmocka_unit_test(a_callback_may_release_its_queue),
        cmocka_unit_test(a_release_may_not_wait),
        cmocka_unit_test(a_release_leaves_the_record),
        cmocka_unit_test(a_callback_may_open_during_the_last_close),
        cmocka_unit_test(failing_while_it_is_planned),
        cmocka_unit_test(refused_while_it_is_issued),
        cmocka_unit_test(what_can_not_be_in_order_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
