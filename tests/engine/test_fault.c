/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Kernels that destroy their context: every future of the device completes, in time, and says what
 * was lost and which operation is suspected; everything later is refused; closing works; another
 * device goes on. A process can not get a lost context back, so each case is a process of its own:
 * this program, started again with the case's name.
 */
#include "support/support.h"

#include <acuda/debug.h>
#include <acuda/pool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

extern const char test_fault_ptx[];

#define LIMIT ACU_SECONDS(60) /* what takes longer hangs */

static _Atomic(int) callbacks, releases;

static void note_lost(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future;
    if (status == ACU_ERR_DEVICE_LOST)
        atomic_fetch_add(&callbacks, 1);
}

static void count_release(void *data)
{
    (void)data;
    atomic_fetch_add(&releases, 1);
}

/* A macro, so that the line is the test's. */
#define launch(kernel, x) acu_launch((kernel), ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(x))

static void is_lost(acu_future *future, const char *op, int line)
{
    acu_error error = {0};
    assert_int_equal(acu_future_wait(future, LIMIT), ACU_ERR_DEVICE_LOST);
    assert_int_equal(acu_future_error(future, &error), ACU_ERR_DEVICE_LOST);
    assert_int_equal(error.status, ACU_ERR_DEVICE_LOST);
    assert_int_equal(error.device, 0);
    assert_true(error.driver_result != 0);
    assert_true(error.message[0] != ':'); /* each part of that text may be missing */
    if (op) {
        assert_string_equal(error.op, op);
        assert_non_null(strstr(error.file, "test_fault.c"));
        assert_int_equal(error.line, line);
    }
}

/* A submission before the fault, the fault, and others behind it, on several streams. */
static void lose(acu_device *device, const char *name)
{
    acu_kernel *bad = test_kernel(device, test_fault_ptx, name);
    acu_kernel *well = test_kernel(device, test_fault_ptx, "well");
    acu_tensor *x, *y, *unrelated;
    assert_works(acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x));
    assert_works(acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &unrelated));
    acu_future *before, *fault, *behind[8], *dropped;
    assert_works(acu_submit(device, launch(well, unrelated), NULL, &before));
    assert_works(acu_future_wait(before, LIMIT));
    acu_stream *stream;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_submit_options options = {.size = sizeof options, .stream = stream};
    test_gate_close(device, acu_stream_raw(stream)); /* all of it is submitted before the fault */
    int line = __LINE__ + 1;
    acu_op *op = launch(bad, x);
    assert_works(acu_submit(device, op, &options, &fault));
    for (int i = 0; i < 8; i++)
        assert_works(acu_submit(device, acu_first(acu_copy(acu_empty(ACU_I32, ACU_SHAPE(1)), x)),
                                NULL, &behind[i]));
    y = acu_tensor_retain(acu_future_tensor(behind[7], 0));
    assert_works(acu_submit(device, launch(well, x), NULL, &dropped));
    assert_works(
        acu_future_when_complete(fault, NULL, 0, note_lost, ACU_USER(NULL, count_release)));
    assert_works(
        acu_future_when_complete(behind[0], NULL, 0, note_lost, ACU_USER(NULL, count_release)));
    acu_future_release(dropped);
    test_gate_open();

    is_lost(fault, name, line);
    for (int i = 0; i < 8; i++) {
        is_lost(behind[i], NULL, 0);
        acu_future_release(behind[i]);
    }
    assert_int_equal(acu_future_wait(before, LIMIT), ACU_OK); /* what was complete stays so */
    acu_future_release(before);
    acu_future_release(fault);

    acu_error error;
    assert_int_equal(acu_device_status(device, &error), ACU_ERR_DEVICE_LOST);
    assert_fails(acu_submit(device, launch(well, unrelated), NULL, NULL), ACU_ERR_DEVICE_LOST, "");
    assert_fails(acu_sync(device, acu_zeros(ACU_F32, ACU_SHAPE(1)), NULL), ACU_ERR_DEVICE_LOST, "");
    int32_t value;
    assert_fails(acu_read_sync(x, &value, sizeof value), ACU_ERR_DEVICE_LOST, "");
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_tensor_release(unrelated);
    acu_stream_release(stream);
    acu_kernel_release(bad);
    acu_kernel_release(well);
}

static void close_lost(acu_device *device)
{
    acu_status status = acu_close(device);
    assert_true(status == ACU_OK || status == ACU_ERR_DEVICE_LOST);
}

/* Driver objects stay counted: the lost context takes them along. */
static void leaves_nothing(void)
{
    char text[1024];
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("handles are left:\n%s", text);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void case_stray(void **state)
{
    (void)state;
    acu_device *device = test_open();
    lose(device, "stray");
    close_lost(device);
    leaves_nothing();
    assert_int_equal(atomic_load(&callbacks), 2); /* the last close ends the thread that calls */
    assert_int_equal(atomic_load(&releases), 2);
}

static void case_stop(void **state)
{
    (void)state;
    acu_device *device = test_open();
    lose(device, "stop");
    close_lost(device);
    leaves_nothing();
    assert_int_equal(atomic_load(&callbacks), 2);
    assert_int_equal(atomic_load(&releases), 2);
}

/* A fault takes the other devices of the process along: they find out when they are used. */
static void case_other(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_tensor *far;
    acu_kernel *well = test_kernel(devices[1], test_fault_ptx, "well");
    assert_works(acu_sync(devices[1], acu_zeros(ACU_I32, ACU_SHAPE(1)), &far));
    lose(devices[0], "stray");
    assert_int_equal(acu_sync(devices[1], launch(well, far), NULL), ACU_ERR_DEVICE_LOST);
    assert_int_equal(acu_device_status(devices[1], NULL), ACU_ERR_DEVICE_LOST);
    acu_tensor_release(far);
    acu_kernel_release(well);
    close_lost(devices[1]);
    close_lost(devices[0]);
    leaves_nothing();
}

static void *submit_as_first_call(void *user)
{
    acu_tensor *x = user;
    acu_future *future = NULL;
    acu_status status = acu_submit(NULL, acu_fill(x, acu_i32(1)), NULL, &future);
    assert_int_equal(status, ACU_ERR_DEVICE_LOST);
    assert_int_equal(acu_last_error()->status, ACU_ERR_DEVICE_LOST);
    return future;
}

/* A thread that has not failed before learns of the loss from its submit. */
static void case_thread(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *x;
    pthread_t thread;
    void *future;
    assert_works(acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x));
    lose(device, "stop");
    assert_int_equal(pthread_create(&thread, NULL, submit_as_first_call, x), 0);
    pthread_join(thread, &future);
    assert_null(future);
    acu_tensor_release(x);
    close_lost(device);
    leaves_nothing();
}

/* No thread waits or looks, so the close has to. */
static void case_close(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *bad = test_kernel(device, test_fault_ptx, "stop");
    acu_tensor *x;
    acu_future *future;
    assert_works(acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x));
    assert_works(acu_submit(device, launch(bad, x), NULL, NULL));
    acu_status status = acu_submit(device, launch(bad, x), NULL, &future);
    acu_tensor_release(x);
    acu_kernel_release(bad);
    close_lost(device);
    if (status == ACU_OK) { /* a future outlives its device */
        status = acu_future_poll(future);
        /* It was lost with the device; or it was submitted just after the work that makes its data
         * was. */
        assert_true(status == ACU_ERR_DEVICE_LOST || status == ACU_ERR_DEPENDENCY);
        acu_future_release(future);
    }
    leaves_nothing();
}

/* A kernel writes element 3: where there is one, and just behind a tensor whose block, of a pool
 * that keeps nothing, has no room for it. */
static void case_end(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_kernel *behind = test_kernel(device, test_fault_ptx, "behind");
    acu_pool_statistics stats = {.size = sizeof stats};
    acu_tensor *large, *x;
    assert_works(acu_pool_set_limits(acu_device_pool(device), 0, ACU_KEEP_NONE));
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(1003), &large));
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(3), &x));
    assert_works(acu_pool_stats(acu_device_pool(device), &stats));
    assert_int_equal(stats.in_use, 1006 * 4);
    acu_tensor_release(large);
    assert_works(acu_tensor_alloc(device, ACU_I32, ACU_SHAPE(1001), &large));
    assert_works(acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), NULL));
    assert_works(acu_sync(device, launch(behind, large), NULL));
    assert_int_equal(acu_sync(device, launch(behind, x), NULL), ACU_ERR_DEVICE_LOST);
    assert_non_null(strstr(acu_last_error()->message, "just past the end of an allocation"));
    acu_tensor_release(large);
    acu_tensor_release(x);
    acu_kernel_release(behind);
    close_lost(device);
    leaves_nothing();
}

static const test_case cases[] = {{"stray", case_stray},
             {"end", case_end},
             {"stop", case_stop},
             {"other", case_other},
             {"thread", case_thread},
             {"close", case_close}};
enum { CASES = sizeof cases / sizeof *cases };

static void stray_addresses(void **state)
{
    (void)state;
    test_in_process("stray");
}

static void one_element_too_many(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("end");
}

static void traps(void **state)
{
    (void)state;
    test_in_process("stop");
}

static void another_device_goes_on(void **state)
{
    (void)state;
    test_software_only();
    test_in_process("other");
}

static void other_threads_learn_of_it(void **state)
{
    (void)state;
    test_in_process("thread");
}

static void closing_with_a_fault_in_flight(void **state)
{
    (void)state;
    test_in_process("close");
}

int main(int count, char **arguments)
{
    if (count > 1)
        return test_run_case(cases, CASES, arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stray_addresses),
        cmocka_unit_test(one_element_too_many),
        cmocka_unit_test(traps),
        cmocka_unit_test(another_device_goes_on),
        cmocka_unit_test(other_threads_learn_of_it),
        cmocka_unit_test(closing_with_a_fault_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
