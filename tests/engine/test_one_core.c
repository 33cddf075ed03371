/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A process that is pinned to one core, where a thread that polls keeps the work from its core.
 * Every way of waiting ends all the same, even with busy-poll, and when several threads wait at
 * once. (On a machine with one core, all tests show this.)
 */
#include "support/support.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { N = 256, MANY = 40, WAITERS = 4 };

static acu_op *work(void)
{
    acu_op *x = acu_dup(acu_full(ACU_SHAPE(N), acu_u32(7)));
    return acu_dup(x);
}

static acu_future *submit(acu_device *device, acu_queue *queue, uint64_t tag)
{
    acu_future *future = NULL;
    acu_submit_options options = {.size = sizeof options, .queue = queue, .tag = tag};
    assert_works(acu_submit(device, work(), &options, &future));
    return future;
}

static void finish(acu_device *device)
{
    test_close(device);
    test_leaks_none();
}

/* ---- waiting ---- */

static void waits_end(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_future *futures[MANY];
    size_t index = MANY;
    for (int i = 0; i < MANY; i++) { /* one after the other, each too short to sleep for */
        acu_future *future = submit(device, NULL, 0);
        assert_works(acu_future_wait(future, ACU_FOREVER));
        acu_future_release(future);
    }
    for (int i = 0; i < MANY; i++)
        futures[i] = submit(device, NULL, 0);
    assert_works(acu_wait_any(futures, MANY, ACU_FOREVER, &index));
    assert_true(index < MANY);
    assert_works(acu_wait_all(futures, MANY, ACU_FOREVER));
    for (int i = 0; i < MANY; i++)
        acu_future_release(futures[i]);
    finish(device);
}

static void polls_end(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_future *future = submit(device, NULL, 0);
    while (acu_future_poll(future) == ACU_NOT_READY)
        continue;
    assert_works(acu_future_poll(future));
    acu_future_release(future);
    finish(device);
}

static void *wait_often(void *user)
{
    for (int i = 0; i < MANY; i++)
        if (acu_sync(user, work(), NULL) != ACU_OK)
            return NULL;
    return user;
}

static void threads_wait_side_by_side(void **state)
{
    (void)state;
    acu_device *device = test_open();
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_often, device), 0);
    for (int i = 0; i < WAITERS; i++) {
        void *done = NULL;
        pthread_join(threads[i], &done);
        assert_non_null(done);
    }
    finish(device);
}

/* ---- being told ---- */

static _Atomic(int) told;

static void tell(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future;
    atomic_fetch_add(&told, status == ACU_OK);
}

static void callbacks_come(void **state)
{
    (void)state;
    acu_device *device = test_open();
    atomic_store(&told, 0);
    for (int i = 0; i < MANY; i++) {
        acu_future *future = submit(device, NULL, 0);
        assert_works(acu_future_when_complete(future, NULL, 0, tell, ACU_USER(NULL)));
        acu_future_release(future);
    }
    while (atomic_load(&told) < MANY)
        sched_yield();
    finish(device);
}

static size_t count_in(acu_queue *queue, uint64_t timeout)
{
    acu_completion done[8];
    size_t count = 0;
    acu_status status = acu_queue_wait(queue, done, 8, &count, timeout);
    assert_true(status == ACU_OK || status == ACU_TIMEOUT);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(done[i].status, ACU_OK);
        acu_future_release(done[i].future);
    }
    return count;
}

static void queues_fill(uint64_t busy_poll, bool asleep, uint64_t timeout)
{
    acu_device *device = test_open();
    acu_queue_options options = {.size = sizeof options, .busy_poll = busy_poll};
    acu_queue *queue;
    assert_works(acu_queue_create(&options, &queue));
    for (int i = 0; i < MANY; i++)
        acu_future_release(submit(device, queue, 0));
    for (size_t taken = 0; taken < MANY;) {
        struct pollfd fd = {.fd = acu_queue_fd(queue), .events = POLLIN};
        if (asleep)
            assert_int_equal(poll(&fd, 1, -1), 1);
        taken += count_in(queue, timeout);
    }
    acu_queue_release(queue);
    finish(device);
}

static void descriptors_can_be_read(void **state)
{
    (void)state;
    queues_fill(0, true, 0);
}

static void queues_can_be_waited_for(void **state)
{
    (void)state;
    queues_fill(0, false, ACU_FOREVER);
    queues_fill(ACU_MS(1), false, ACU_FOREVER);
}

static void queues_can_be_looked_at_without_pause(void **state)
{
    (void)state;
    queues_fill(0, false, 0);
}

/* ---- other threads of acuda's ---- */

static acu_status add_one(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)count;
    *(uint32_t *)acu_tensor_host(values[0].tensor) += 1;
    return ACU_OK;
}

static void host_work_goes_on(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *host;
    assert_works(acu_tensor_alloc_pinned(device, ACU_U32, ACU_SHAPE(1), &host));
    *(uint32_t *)acu_tensor_host(host) = 0;
    for (int i = 0; i < MANY; i++) {
        acu_op *there = acu_to_device(device, host);
        assert_works(acu_submit(device, acu_copy(host, there), NULL, NULL));
        assert_works(acu_submit(device, acu_host(add_one, NULL, acu_inout(host)), NULL, NULL));
    }
    assert_works(acu_device_wait(device, ACU_FOREVER));
    assert_int_equal(*(uint32_t *)acu_tensor_host(host), MANY);
    acu_tensor_release(host);
    finish(device);
}

static void runtime_threads_go_on(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.runtime_thread = true;
    acu_device *device;
    assert_works(acu_open(&options, &device));
    for (int i = 0; i < MANY; i++) {
        acu_future *future = submit(device, NULL, 0);
        uint32_t x[N];
        assert_works(acu_read_sync(acu_future_tensor(future, 0), x, sizeof x));
        assert_int_equal(x[N - 1], 7);
        acu_future_release(future);
    }
    finish(device);
}

static void pin_to_one_core(void)
{
    cpu_set_t all, one;
    size_t core = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0); /* later threads have it too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_end),
        cmocka_unit_test(polls_end),
        cmocka_unit_test(threads_wait_side_by_side),
        cmocka_unit_test(callbacks_come),
        cmocka_unit_test(descriptors_can_be_read),
        cmocka_unit_test(queues_can_be_waited_for),
        cmocka_unit_test(queues_can_be_looked_at_without_pause),
        cmocka_unit_test(host_work_goes_on),
        cmocka_unit_test(runtime_threads_go_on),
    };
    pin_to_one_core();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
