/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Marks on streams: made, complete in order, waited for by other streams, even if driver calls
 * fail. */
#include "base/clock.h"
#include "device/device.h"
#include "support/one_device.h"

#include <pthread.h>

static acu_stream *stream, *other;

static int setup(void **state)
{
    device_setup(state);
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_stream_create(device, 0, &other));
    return 0;
}

static int teardown(void **state)
{
    test_gate_open();
    acu_stream_release(stream);
    acu_stream_release(other);
    return device_teardown(state);
}

static uint64_t mark(void)
{
    acui_entered entered;
    uint64_t number = 0;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&stream->issue);
    acu_status st = acui_stream_signal(stream, ACUI_REPORT_NEVER, &number, NULL);
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    assert_works(st);
    return number;
}

static acu_status after(uint64_t number)
{
    acui_entered entered;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&other->issue);
    acu_status st = acui_stream_after(other, stream, number);
    acui_lock_give(&other->issue);
    acui_leave(&entered);
    return st;
}

static void fail_call(acu_driver_call call, bool always)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = call, .nth = 1, .from_then_on = always};
    assert_works(acu_driver_fail(&fault));
}

/* Harvest until the mark is complete. */
static void await(uint64_t number)
{
    while (!acui_stream_passed(stream, number))
        assert_works(acui_stream_harvest(stream, NULL));
}

static void marks_count_from_one_and_complete(void **state)
{
    (void)state;
    size_t left = 9;
    assert_works(acui_stream_harvest(stream, &left));
    assert_int_equal(left, 0);
    assert_int_equal(mark(), 1);
    assert_int_equal(mark(), 2);
    await(2);
    assert_false(acui_stream_passed(stream, 3));
}

static void what_is_held_up_is_left(void **state)
{
    (void)state;
    mark();
    await(1);
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t number = 0;
    for (int i = 0; i < 100; i++)
        number = mark();
    size_t left = 0;
    assert_works(acui_stream_harvest(stream, &left));
    assert_int_equal(left, 100);
    assert_false(acui_stream_passed(stream, 2));
    test_gate_open();
    await(number);
    assert_works(acui_stream_harvest(stream, &left));
    assert_int_equal(left, 0);
}

static void other_streams_wait_for_marks(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t first = mark(), second = mark();
    assert_works(after(second));
    acu_driver_count_calls(true);
    assert_works(after(second)); /* implied by the wait before */
    assert_works(after(first));
    assert_int_equal(acu_driver_calls(ACU_CALL_StreamWaitEvent), 0);
    acu_driver_count_calls(false);
    assert_int_equal(acu_stream_poll(other), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_stream_wait(other, ACU_FOREVER));
    await(second);
    assert_works(after(second));
}

static void events_are_reused(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++)
        await(mark());
    acu_driver_count_calls(true);
    for (int i = 0; i < 50; i++)
        await(mark());
    assert_int_equal(acu_driver_calls(ACU_CALL_EventCreate), 0);
    acu_driver_count_calls(false);
}

static void harvesting_many_takes_few_queries(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    for (int i = 0; i < 64; i++)
        mark();
    test_gate_open();
    test_quiet(device);
    acu_driver_count_calls(true);
    await(64);
    assert_true(acu_driver_calls(ACU_CALL_EventQuery) <= 10);
    acu_driver_count_calls(false);
}

/* Whether the device keeps up with them or not. */
static void making_marks_takes_few_queries(void **state)
{
    (void)state;
    acu_driver_count_calls(true);
    for (int i = 0; i < 640; i++)
        mark();
    assert_true(acu_driver_calls(ACU_CALL_EventQuery) <= 640 / (ACUI_FIRST_SIGNALS / 2));
    acu_driver_count_calls(false);
    await(640);
}

/* ---- without the driver's or the host's help ------------------------------------------------- */

static void a_mark_without_an_event_completes_too(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    fail_call(ACU_CALL_EventRecord, true);
    uint64_t number = mark();
    assert_fails(after(number), ACU_ERR_DRIVER, "cuEventRecord");
    acu_driver_fail_clear();
    size_t left = 0;
    assert_works(acui_stream_harvest(stream, &left));
    assert_int_equal(left, 1);
    assert_works(after(number)); /* it gets one now */
    assert_int_equal(acu_stream_poll(other), ACU_NOT_READY);
    test_gate_open();
    await(number);
    assert_works(acu_stream_wait(other, ACU_FOREVER));
}

/* A mark that the device itself reports needs an event only if work comes behind it, or if somebody
 * may capture the stream. */
static void a_mark_that_the_device_tells_of_gets_an_event_late(void **state)
{
    (void)state;
    acu_stream *own = device->policy->streams[0];
    acui_entered entered;
    for (int shown = 0; shown < 2; shown++) {
        uint64_t number = 0, armed = 0;
        assert_works(acui_enter(device, &entered));
        acui_lock_take(&own->issue);
        acu_driver_count_calls(true);
        assert_works(acui_stream_signal(own, ACUI_REPORT_ALWAYS, &number, &armed));
        assert_int_equal(acu_driver_calls(ACU_CALL_EventRecord), armed && !shown ? 0 : 1);
        acui_lock_give(&own->issue);
        acui_lock_take(&other->issue);
        assert_works(acui_stream_after(other, own, number));
        acui_lock_give(&other->issue);
        acu_driver_count_calls(false);
        acui_lock_take(&own->issue);
        assert_works(acui_stream_signal(own, ACUI_REPORT_ALWAYS, &number, &armed));
        acui_lock_give(&own->issue);
        acui_leave(&entered);
        acu_stream_raw(own);
        for (size_t i = 0; i < own->signal_count; i++)
            assert_non_null(own->signals[(own->signal_first + i) & (own->signal_room - 1)].event);
        while (!acui_stream_passed(own, number))
            assert_works(acui_stream_harvest(own, NULL));
        assert_works(acu_stream_wait(other, ACU_FOREVER));
    }
}

static uint64_t tell(acu_stream *own, acu_stream *behind, uint64_t after_that)
{
    acui_entered entered;
    uint64_t number = 0, armed = 0;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&own->issue);
    if (behind)
        assert_works(acui_stream_after(own, behind, after_that));
    assert_works(acui_stream_signal(own, ACUI_REPORT_ALWAYS, &number, &armed));
    acui_lock_give(&own->issue);
    acui_leave(&entered);
    return armed ? number : 0;
}

/* If the device itself reports marks, the driver is asked only whether something is wrong, which
 * concerns the whole context. */
static void one_question_is_for_all_streams(void **state)
{
    (void)state;
    acu_stream *first = device->policy->streams[0], *second = device->policy->streams[1];
    test_gate_close(device, acu_stream_raw(first));
    uint64_t a = tell(first, NULL, 0), b = a ? tell(second, first, a) : 0;
    if (b) {
        atomic_store(&device->asked_at, 0);
        assert_false(acui_stream_is_quiet(second, b, acui_now()));
        assert_works(acui_stream_harvest(first, NULL));
        uint64_t asked = atomic_load(&device->asked_at);
        assert_true(acui_stream_is_quiet(first, a, asked));
        assert_true(acui_stream_is_quiet(second, b, asked));
        assert_false(acui_stream_is_quiet(second, b, asked + ACUI_ASK));
    }
    test_gate_open();
    while (b && !acui_stream_passed(second, b))
        assert_works(acui_stream_harvest(second, NULL));
    test_quiet(device);
}

static void without_new_events_marks_are_made(void **state)
{
    (void)state;
    fail_call(ACU_CALL_EventCreate, true);
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t number = 0;
    for (int i = 0; i < 40; i++)
        number = mark();
    test_gate_open();
    await(number);
}

static void without_memory_marks_are_made(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    acu_debug_fail_alloc(1, true);
    uint64_t number = 0;
    for (int i = 0; i < 100; i++)
        number = mark();
    assert_int_equal(number, 100);
    acu_debug_fail_alloc(0, false);
    assert_works(after(50));
    assert_int_equal(acu_stream_poll(other), ACU_NOT_READY);
    assert_false(acui_stream_passed(stream, 50));
    test_gate_open();
    await(number);
    assert_works(acu_stream_wait(other, ACU_FOREVER));
}

static void a_query_that_fails_is_made_up_for(void **state)
{
    (void)state;
    uint64_t number = mark();
    fail_call(ACU_CALL_EventQuery, true);
    await(number);
    acu_driver_fail_clear();
    number = mark();
    fail_call(ACU_CALL_ANY, false);
    await(number);
    assert_int_equal(acu_device_status(device, NULL), ACU_OK);
}

static void a_wait_that_fails_is_reported(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t number = mark();
    fail_call(ACU_CALL_StreamWaitEvent, false);
    assert_fails(after(number), ACU_ERR_DRIVER, "cuStreamWaitEvent|CUDA_ERROR_UNKNOWN|device 0");
    assert_works(after(number)); /* it was not taken for complete */
    assert_int_equal(acu_stream_poll(other), ACU_NOT_READY);
    test_gate_open();
    await(number);
    assert_works(acu_stream_wait(other, ACU_FOREVER));
}

/* ---- several threads ------------------------------------------------------------------------- */

static void *harvest_all(void *user)
{
    uint64_t *last = user;
    while (!acui_stream_passed(stream, *last))
        if (acui_stream_harvest(stream, NULL) != ACU_OK)
            break;
    return NULL;
}

static void threads_mark_and_harvest(void **state)
{
    (void)state;
    enum { THREADS = 3, MARKS = 200 };
    pthread_t threads[THREADS];
    uint64_t last = MARKS;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, harvest_all, &last), 0);
    for (int i = 0; i < MARKS; i++)
        assert_works(after(mark()));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_true(acui_stream_passed(stream, MARKS));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(marks_count_from_one_and_complete),
        TEST(what_is_held_up_is_left),
        TEST(other_streams_wait_for_marks),
        TEST(events_are_reused),
        TEST(harvesting_many_takes_few_queries),
        TEST(making_marks_takes_few_queries),
        TEST(a_mark_without_an_event_completes_too),
        TEST(a_mark_that_the_device_tells_of_gets_an_event_late),
        TEST(one_question_is_for_all_streams),
        TEST(without_new_events_marks_are_made),
        TEST(without_memory_marks_are_made),
        TEST(a_query_that_fails_is_made_up_for),
        TEST(a_wait_that_fails_is_reported),
        TEST(threads_mark_and_harvest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
