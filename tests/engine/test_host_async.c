/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Host work that ends later than its function returns: what reads its data waits for the end,
 * whoever ends it and when; its failures tell why; giving the submission up leaves the data in use.
 */
#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { N = 16 };
#define VECTOR ACU_SHAPE(N)

static acu_device *device;
static _Atomic(acu_promise *) begun;
static acu_tensor *_Atomic given;
static _Atomic(int) releases;

static int open_device(void **state)
{
    (void)state;
    device = test_open();
    atomic_store(&begun, NULL);
    atomic_store(&releases, 0);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    test_close(device);
    test_leaks_none();
    return 0;
}

static acu_tensor *pinned(void)
{
    acu_tensor *tensor;
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, VECTOR, &tensor));
    memset(acu_tensor_host(tensor), 0, N * sizeof(int32_t));
    return tensor;
}

static void holds(acu_tensor *tensor, int32_t want)
{
    int32_t x[N];
    assert_works(acu_read_sync(tensor, x, sizeof x));
    for (int i = 0; i < N; i++)
        assert_int_equal(x[i], want);
}

static void count_release(void *user)
{
    (void)user;
    atomic_fetch_add(&releases, 1);
}

/* Leaves the promise to the test. */
static acu_status begin(void *user, acu_promise *done, const acu_val *values, size_t count)
{
    (void)user;
    if (count)
        atomic_store(&given, values[0].tensor);
    atomic_store(&begun, done);
    return ACU_OK;
}

static acu_promise *await_begun(void)
{
    acu_promise *done;
    while (!(done = atomic_load(&begun)))
        sched_yield();
    atomic_store(&begun, NULL);
    return done;
}

static acu_op *later(acu_arg x)
{
    return acu_op_host_async(begin, ACU_USER(NULL, count_release), ACU_ARGS(x), ACU_SITE);
}

static void write_all(int32_t value)
{
    int32_t *x = acu_tensor_host(atomic_load(&given));
    for (int i = 0; i < N; i++)
        x[i] = value;
}

/* ---- the end ---- */

static void readers_wait_for_the_end(void **state)
{
    (void)state;
    acu_tensor *host = pinned(), *copy;
    acu_future *work = test_submit(device, later(acu_out(host)));
    acu_future *read = test_submit(device, acu_dup(acu_to_device(device, acu_value(host))));
    acu_promise *done = await_begun();
    assert_int_equal(acu_future_poll(work), ACU_NOT_READY);
    assert_int_equal(acu_future_poll(read), ACU_NOT_READY);
    assert_false(acu_promise_given_up(done));
    write_all(7);
    assert_works(acu_promise_end(done, ACU_OK, NULL));
    assert_works(acu_future_wait(work, ACU_FOREVER));
    assert_works(acu_future_wait(read, ACU_FOREVER));
    copy = acu_future_tensor(read, 0);
    holds(copy, 7);
    assert_int_equal(atomic_load(&releases), 1);
    acu_tensor_release(copy);
    acu_tensor_release(host);
    acu_future_release(work);
    acu_future_release(read);
}

static void *end_it(void *done)
{
    assert_works(acu_promise_end(done, ACU_OK, NULL));
    return NULL;
}

/* Ends the promise before it returns: itself, or on another thread that is done by then. */
static acu_status end_inside(void *user, acu_promise *done, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    pthread_t thread;
    if (!user)
        end_it(done);
    else if (pthread_create(&thread, NULL, end_it, done) || pthread_join(thread, NULL))
        return ACU_ERR_NO_MEMORY;
    return ACU_OK;
}

static void it_may_end_before_the_function_returns(void **state)
{
    (void)state;
    int other;
    assert_works(acu_sync(device, acu_host_async(end_inside, NULL), NULL));
    assert_works(acu_sync(device, acu_host_async(end_inside, &other), NULL));
}

static void many_are_under_way_at_once(void **state)
{
    (void)state;
    enum { MANY = 8 };
    acu_promise *done[MANY];
    acu_future *work[MANY];
    for (int i = 0; i < MANY; i++) {
        work[i] = test_submit(device, acu_host_async(begin, NULL));
        done[i] = await_begun();
    }
    for (int i = MANY; i-- > 0;) {
        assert_int_equal(acu_future_poll(work[i]), ACU_NOT_READY);
        assert_works(acu_promise_end(done[i], ACU_OK, NULL));
        assert_works(acu_future_wait(work[i], ACU_FOREVER));
        acu_future_release(work[i]);
    }
}

/* ---- failures ---- */

static void a_failed_end_fails_what_reads(void **state)
{
    (void)state;
    acu_tensor *host = pinned();
    acu_future *work = test_submit(device, later(acu_out(host)));
    acu_future *read = test_submit(device, acu_to_device(device, acu_value(host)));
    acu_promise *done = await_begun();
    assert_works(acu_promise_end(done, ACU_ERR_NOT_FOUND, "no file %d", 9));
    acu_error error;
    assert_int_equal(acu_future_wait(work, ACU_FOREVER), ACU_ERR_CALLBACK);
    acu_future_error(work, &error);
    assert_int_equal(error.cause, ACU_ERR_NOT_FOUND);
    assert_non_null(strstr(error.message, "no file 9"));
    assert_int_equal(acu_future_wait(read, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_works(acu_sync(device, acu_copy(host, acu_full(VECTOR, acu_i32(3))), NULL));
    holds(host, 3); /* healed */
    acu_tensor_release(host);
    acu_future_release(work);
    acu_future_release(read);
}

/* acu_into has the sum written where it reads: that does not heal what was not computed. */
static void who_overwrites_what_it_reads_fails(void **state)
{
    (void)state;
    int32_t x[N];
    acu_tensor *host = pinned(), *sum;
    assert_works(acu_sync(device, acu_full(VECTOR, acu_i32(1)), &sum));
    acu_future *work = test_submit(device, acu_copy(sum, later(acu_out(host))));
    acu_future *read = test_submit(device, acu_into(sum, acu_add(sum, acu_scalar(acu_i32(1)))));
    assert_works(acu_promise_end(await_begun(), ACU_ERR_NOT_FOUND, "no file"));
    assert_int_equal(acu_future_wait(read, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_fails(acu_read_sync(sum, x, sizeof x), ACU_ERR_DEPENDENCY, "no file");
    acu_tensor_release(host);
    acu_tensor_release(sum);
    acu_future_release(work);
    acu_future_release(read);
}

static acu_status refuse(void *user, acu_promise *done, const acu_val *values, size_t count)
{
    (void)values, (void)count;
    if (user) /* against the rules, but not fatal */
        acu_promise_end(done, ACU_OK, NULL);
    return ACU_ERR_NOT_SUPPORTED;
}

static void a_function_that_fails_ends_the_op(void **state)
{
    (void)state;
    int ended;
    assert_fails(acu_sync(device, acu_host_async(refuse, NULL), NULL), ACU_ERR_CALLBACK,
                 "acu_host_async");
    assert_fails(acu_sync(device, acu_host_async(refuse, &ended), NULL), ACU_ERR_CALLBACK,
                 "acu_host_async");
}

static void what_it_reads_failed(void **state)
{
    (void)state;
    acu_tensor *host = pinned();
    acu_future *work = test_submit(device, later(acu_out(host)));
    acu_future *next = test_submit(device, later(acu_inout(host)));
    assert_works(acu_promise_end(await_begun(), ACU_ERR_DRIVER, NULL));
    assert_int_equal(acu_future_wait(next, ACU_FOREVER), ACU_ERR_DEPENDENCY);
    assert_int_equal(acu_future_wait(work, ACU_FOREVER), ACU_ERR_CALLBACK);
    assert_null(atomic_load(&begun)); /* never called */
    acu_tensor_release(host);
    acu_future_release(work);
    acu_future_release(next);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    assert_fails(acu_promise_end(NULL, ACU_OK, NULL), ACU_ERR_INVALID, "acu_promise_end");
    assert_false(acu_promise_given_up(NULL));
    assert_fails(acu_sync(device, acu_host_async(NULL, NULL), NULL), ACU_ERR_INVALID, "NULL");
    acu_tensor *x;
    assert_works(acu_sync(device, acu_full(VECTOR, acu_i32(1)), &x));
    assert_fails(acu_sync(device, acu_host_async(begin, NULL, acu_in(x)), NULL), ACU_ERR_INVALID,
                 "device memory");
    acu_tensor_release(x);
    acu_future *work = test_submit(device, acu_host_async(begin, NULL));
    acu_promise *done = await_begun();
    assert_works(acu_promise_end(done, ACU_OK, NULL));
    assert_works(acu_future_wait(work, ACU_FOREVER));
    acu_future_release(work);
    assert_fails(acu_promise_end(done, ACU_OK, NULL), ACU_ERR_BAD_HANDLE, "promise");
}

/* ---- giving up ---- */

static void cancelling_leaves_the_data_in_use(void **state)
{
    (void)state;
    acu_tensor *host = pinned();
    acu_future *work = test_submit(device, later(acu_inout(host)));
    acu_promise *done = await_begun();
    assert_works(acu_future_cancel(work));
    assert_int_equal(acu_future_wait(work, ACU_FOREVER), ACU_ERR_CANCELLED);
    assert_true(acu_promise_given_up(done));
    acu_future *read = test_submit(device, acu_copy(host, acu_full(VECTOR, acu_i32(5))));
    assert_int_equal(acu_future_poll(read), ACU_NOT_READY);
    write_all(1); /* the memory is still there */
    assert_works(acu_promise_end(done, ACU_OK, NULL));
    assert_works(acu_future_wait(read, ACU_FOREVER));
    holds(host, 5);
    acu_tensor_release(host);
    acu_future_release(work);
    acu_future_release(read);
}

static void a_deadline_is_told_to_who_asks(void **state)
{
    (void)state;
    acu_future *work;
    acu_submit_options options = {.size = sizeof options, .timeout = 1000000};
    assert_works(acu_submit(device, acu_host_async(begin, NULL), &options, &work));
    assert_int_equal(acu_future_wait(work, ACU_FOREVER), ACU_ERR_DEADLINE);
    acu_future_release(work);
    assert_works(acu_sync(device, acu_host_async(end_inside, NULL), NULL)); /* one by one */
    acu_promise *done = atomic_load(&begun);
    if (!done) /* it was too late before it began */
        return;
    assert_true(acu_promise_given_up(done));
    assert_works(acu_promise_end(done, ACU_OK, NULL));
}

static void *wait_for_device(void *over)
{
    assert_works(acu_device_wait(device, ACU_FOREVER));
    atomic_store((_Atomic(bool) *)over, true);
    return NULL;
}

static void the_device_is_busy_until_the_end(void **state)
{
    (void)state;
    _Atomic(bool) over = false;
    pthread_t thread;
    acu_future_release(test_submit(device, acu_host_async(begin, NULL))); /* dropped */
    acu_promise *done = await_begun();
    assert_int_equal(pthread_create(&thread, NULL, wait_for_device, &over), 0);
    for (int i = 0; i < 100; i++)
        sched_yield();
    assert_false(atomic_load(&over));
    assert_works(acu_promise_end(done, ACU_OK, NULL));
    pthread_join(thread, NULL);
    assert_true(atomic_load(&over));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_wait_for_the_end),
        TEST(it_may_end_before_the_function_returns),
        TEST(many_are_under_way_at_once),
        TEST(a_failed_end_fails_what_reads),
        TEST(who_overwrites_what_it_reads_fails),
        TEST(a_function_that_fails_ends_the_op),
        TEST(what_it_reads_failed),
        TEST(bad_calls_are_refused),
        TEST(cancelling_leaves_the_data_in_use),
        TEST(a_deadline_is_told_to_who_asks),
        TEST(the_device_is_busy_until_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
