/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How outcomes arrive: by poll, wait, callback; late, early, or never asked for; and how a failure
 * goes along the data to whoever reads it, until the data is overwritten.
 */
#include "support/support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { N = 64 };

/* ---- helpers ---- */

/* Host work that waits for the test to go on: what comes behind it is held up as well. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
} gate;

static gate the_gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static acu_status pass_gate(void *user, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    pthread_mutex_lock(&the_gate.lock);
    while (!the_gate.open)
        pthread_cond_wait(&the_gate.changed, &the_gate.lock);
    pthread_mutex_unlock(&the_gate.lock);
    return user ? *(acu_status *)user : ACU_OK;
}

static void set_gate(bool open)
{
    pthread_mutex_lock(&the_gate.lock);
    the_gate.open = open;
    pthread_cond_broadcast(&the_gate.changed);
    pthread_mutex_unlock(&the_gate.lock);
}

static acu_tensor *pinned(acu_device *device)
{
    acu_tensor *tensor;
    assert_works(acu_tensor_alloc_pinned(device, ACU_F32, ACU_SHAPE(N), &tensor));
    return tensor;
}

/* A submission that writes `host` and is not over before the gate opens. */
static acu_future *held(acu_device *device, acu_tensor *host, acu_status *outcome)
{
    acu_future *future;
    acu_op *op = acu_op_named(acu_host(pass_gate, outcome, acu_inout(host)), "gate");
    assert_works(acu_submit(device, op, NULL, &future));
    return future;
}

/* ---- waiting ---- */

static void waits_end_in_time(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *other = pinned(device);
    set_gate(false);
    acu_future *f[2] = {held(device, host, NULL), NULL};
    assert_works(acu_submit(device, acu_zeros(ACU_F32, ACU_SHAPE(N)), NULL, &f[1]));
    assert_int_equal(acu_future_poll(f[0]), ACU_NOT_READY);
    assert_int_equal(acu_future_wait(f[0], 0), ACU_TIMEOUT);
    assert_int_equal(acu_future_wait(f[0], ACU_US(300)), ACU_TIMEOUT);
    assert_int_equal(acu_wait_all(f, 2, ACU_US(300)), ACU_TIMEOUT);
    size_t index = 9;
    assert_int_equal(acu_wait_any(f, 2, ACU_FOREVER, &index), ACU_OK);
    assert_int_equal(index, 1);
    acu_error error;
    assert_int_equal(acu_future_error(f[0], &error), ACU_NOT_READY);
    set_gate(true);
    assert_works(acu_wait_all(f, 2, ACU_FOREVER));
    assert_works(acu_future_poll(f[0]));
    assert_int_equal(acu_future_error(f[0], &error), ACU_OK);
    acu_future_release(f[0]);
    acu_future_release(f[1]);
    acu_tensor_release(host);
    acu_tensor_release(other);
    test_close(device);
    test_leaks_none();
}

/* ---- callbacks ---- */

typedef struct calls {
    _Atomic(int) made, released;
    acu_status status;
    pthread_t thread;
    acu_device *device;
    acu_future *inner;
} calls;

static void called(void *user, acu_future *future, acu_status status)
{
    calls *c = user;
    c->status = status;
    c->thread = pthread_self();
    assert_non_null(future);
    if (c->device && !c->inner) /* a callback may submit */
        acu_submit(c->device, acu_ones(ACU_F32, ACU_SHAPE(N)), NULL, &c->inner);
    atomic_fetch_add(&c->made, 1);
}

static void released(void *user)
{
    atomic_fetch_add(&((calls *)user)->released, 1);
}

static void callbacks_come_once(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device);
    calls early = {.device = device}, late = {.status = ACU_TIMEOUT};
    set_gate(false);
    acu_future *future = held(device, host, NULL);
    assert_works(acu_future_on_complete(future, called, ACU_USER(&early, released)));
    assert_int_equal(atomic_load(&early.made), 0);
    set_gate(true);
    assert_works(acu_future_wait(future, ACU_FOREVER));
    assert_works(acu_future_on_complete(future, called, ACU_USER(&late, released)));
    acu_future_release(future);
    acu_tensor_release(host);
    test_close(device); /* ends the thread that calls */
    assert_int_equal(atomic_load(&early.made), 1);
    assert_int_equal(atomic_load(&early.released), 1);
    assert_int_equal(atomic_load(&late.made), 1);
    assert_int_equal(atomic_load(&late.released), 1);
    assert_int_equal(early.status, ACU_OK);
    assert_int_equal(late.status, ACU_OK);
    assert_false(pthread_equal(early.thread, pthread_self()));
    acu_future_release(early.inner);
    test_leaks_none();
}

/* ---- dropping and scheduling ---- */

static void futures_are_dropped_at_any_time(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *x;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(N)), &x));
    set_gate(false);
    acu_future_release(held(device, host, NULL));
    assert_works(acu_submit(device, acu_copy(x, host), NULL, NULL)); /* behind it, and kept alive */
    acu_tensor_release(host);
    set_gate(true);
    float out[N];
    assert_works(acu_read_sync(x, out, sizeof out));
    acu_tensor_release(x);
    test_close(device);
    test_leaks_none();
}

static acu_op *count_then(void *user, acu_val *values, size_t count)
{
    (void)count;
    ++*(int *)user;
    return acu_take(&values[0]);
}

static void scheduled_work_starts_when_asked(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_policy *policy;
    acu_future *future;
    int runs = 0;
    assert_works(acu_policy_round_robin(device, 2, &policy));
    acu_op *op = acu_then(acu_ones(ACU_F32, ACU_SHAPE(N)), count_then, &runs);
    assert_works(acu_schedule(policy, op, &future));
    assert_int_equal(runs, 0);
    assert_works(acu_future_start(future));
    assert_works(acu_future_start(future));
    assert_int_equal(runs, 1);
    float out[N];
    assert_works(acu_read_sync(acu_future_tensor(future, 0), out, sizeof out));
    assert_true(out[N - 1] == 1.0f);
    acu_future_release(future);
    calls never = {.status = ACU_OK};
    op = acu_then(acu_ones(ACU_F32, ACU_SHAPE(N)), count_then, &runs);
    op = acu_then(op, count_then, &never, released);
    assert_works(acu_schedule(policy, op, &future));
    acu_future_release(future); /* never ran; its user data is released */
    assert_int_equal(runs, 1);
    assert_int_equal(atomic_load(&never.released), 1);
    acu_policy_release(policy);
    test_close(device);
    test_leaks_none();
}

/* ---- values ---- */

static void values_are_known_before_they_are_computed(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *taken;
    set_gate(false);
    acu_future *future = held(device, host, NULL), *next;
    assert_int_equal(acu_future_values(future), 1);
    assert_ptr_equal(acu_future_tensor(future, 0), host);
    assert_works(acu_submit(device, acu_to_device(device, acu_future_tensor(future, 0)), NULL, &next));
    assert_int_equal(acu_future_poll(next), ACU_NOT_READY);
    assert_works(acu_future_take(next, 0, &taken));
    assert_fails(acu_future_take(next, 0, &taken), ACU_ERR_NOT_FOUND, "taken before");
    assert_fails(acu_future_take(next, 1, &taken), ACU_ERR_NOT_FOUND, "value 1|yields 1");
    set_gate(true);
    assert_works(acu_future_wait(next, ACU_FOREVER));
    acu_dtype dtype;
    uint64_t bits;
    acu_future_release(next);
    assert_works(acu_submit(device, acu_scalar(acu_i32(-5)), NULL, &next));
    assert_works(acu_future_scalar(next, 0, &dtype, &bits));
    assert_int_equal(dtype, ACU_I32);
    assert_int_equal((int32_t)bits, -5);
    acu_future_release(next);
    acu_future_release(future);
    acu_tensor_release(taken);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
}

/* ---- failures go along the data ---- */

static void readers_of_failed_data_fail(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host = pinned(device), *x;
    acu_status wrong = ACU_ERR_INVALID;
    assert_works(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(N)), &x));
    set_gate(false);
    acu_future *failing = held(device, host, &wrong), *reader, *second, *apart;
    assert_works(acu_submit(device, acu_copy(x, host), NULL, &reader));
    assert_works(acu_submit(device, acu_dup(x), NULL, &second));
    assert_works(acu_submit(device, acu_ones(ACU_F32, ACU_SHAPE(N)), NULL, &apart));
    set_gate(true);
    assert_int_equal(acu_future_wait(failing, ACU_FOREVER), ACU_ERR_CALLBACK);
    acu_error error;
    assert_int_equal(acu_future_error(failing, &error), ACU_ERR_CALLBACK);
    assert_string_equal(error.op, "gate");
    assert_non_null(strstr(error.file, "test_outcome.c"));
    assert_non_null(strstr(error.message, "ACU_ERR_INVALID"));
    assert_int_equal(acu_future_wait(reader, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_int_equal(acu_future_error(reader, &error), ACU_ERR_DEPENDENCY);
    assert_string_equal(error.op, "copy");
    assert_non_null(strstr(error.message, "gate"));
    assert_int_equal(acu_future_wait(second, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_works(acu_future_wait(apart, ACU_FOREVER));
    acu_future_release(failing);
    acu_future_release(reader);
    acu_future_release(second);
    acu_future_release(apart);
    /* Overwriting all of it heals it. */
    assert_fails(acu_sync(device, acu_dup(x), NULL), ACU_ERR_DEPENDENCY, "gate");
    assert_works(acu_sync(device, acu_fill(x, acu_f32(2)), NULL));
    float out[N];
    assert_works(acu_read_sync(x, out, sizeof out));
    assert_true(out[0] == 2.0f && out[N - 1] == 2.0f);
    acu_tensor_release(x);
    acu_tensor_release(host);
    test_close(device);
    test_leaks_none();
}

static void closing_waits_for_what_is_in_flight(void **state)
{
    (void)state;
    acu_counters before, after;
    acu_counters_read(&before);
    acu_device *device = test_open();
    for (int i = 0; i < 50; i++)
        assert_works(acu_submit(device, acu_dup(acu_ones(ACU_F32, ACU_SHAPE(1000))), NULL, NULL));
    test_close(device);
    acu_counters_read(&after);
    assert_int_equal(after.submissions - before.submissions, 50);
    assert_int_equal(after.submissions_done - before.submissions_done, 50);
    assert_int_equal(after.operations - before.operations, 100);
    assert_int_equal(after.operations_done - before.operations_done, 100);
    assert_int_equal(after.submissions_failed - before.submissions_failed, 0);
    test_leaks_none();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_end_in_time),
        cmocka_unit_test(callbacks_come_once),
        cmocka_unit_test(futures_are_dropped_at_any_time),
        cmocka_unit_test(scheduled_work_starts_when_asked),
        cmocka_unit_test(values_are_known_before_they_are_computed),
        cmocka_unit_test(readers_of_failed_data_fail),
        cmocka_unit_test(closing_waits_for_what_is_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
