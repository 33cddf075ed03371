/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Captures of the program are left alone: nothing that acuda asks, waits for or does meanwhile ends
 * a capture or gets into it. Marks without events are the hard case, since there acuda would have
 * to ask the stream itself, or record an event on it.
 */
#include "device/device.h"
#include "support/one_device.h"

#include <pthread.h>

static acu_stream *stream, *other;
static CUstream captured; /* the raw stream that is being captured */

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

/* ---- helpers ---- */

static void begin_capture(CUstream raw, unsigned mode)
{
    test_enter(device);
    assert_int_equal(acu_driver()->StreamBeginCapture(raw, mode), 0);
    test_leave(device);
    captured = raw;
}

/* The capture is intact, and nothing got into it. */
static void end_capture(void)
{
    CUgraph graph = NULL;
    size_t nodes = 1;
    test_enter(device);
    assert_int_equal(acu_driver()->StreamEndCapture(captured, &graph), 0);
    assert_int_equal(acu_driver()->GraphGetNodes(graph, NULL, &nodes), 0);
    assert_int_equal(nodes, 0);
    assert_int_equal(acu_driver()->GraphDestroy(graph), 0);
    test_leave(device);
}

static bool is_capturing(acu_stream *one)
{
    unsigned state = 0;
    test_enter(device);
    assert_int_equal(acu_driver()->StreamIsCapturing(acu_stream_raw(one), &state), 0);
    test_leave(device);
    return state != ACU_CU_STREAM_CAPTURE_STATUS_NONE;
}

static void fail_call(acu_driver_call call)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = call, .nth = 1, .from_then_on = true};
    assert_works(acu_driver_fail(&fault));
}

static uint64_t mark(acu_stream *on)
{
    acui_entered entered;
    uint64_t number = 0;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&on->issue);
    acu_status st = acui_stream_signal(on, ACUI_REPORT_NEVER, &number, NULL);
    acui_lock_give(&on->issue);
    acui_leave(&entered);
    assert_works(st);
    return number;
}

static uint64_t mark_without_event(void)
{
    fail_call(ACU_CALL_EventRecord);
    uint64_t number = mark(stream);
    acu_driver_fail_clear();
    return number;
}

static acu_status after(acu_stream *on, uint64_t number)
{
    acui_entered entered;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&on->issue);
    acu_status st = acui_stream_after(on, stream, number);
    acui_lock_give(&on->issue);
    acui_leave(&entered);
    return st;
}

static void await(acu_stream *on, uint64_t number)
{
    while (!acui_stream_passed(on, number))
        assert_works(acui_stream_harvest(on, NULL));
}

/* ---- marks without events ---- */

/* Work that is ordered behind such a mark would become a part of the capture. */
static void nothing_comes_behind_a_mark_without_an_event(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t number = mark_without_event();
    begin_capture(acu_stream_raw(stream), ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_fails(after(other, number), ACU_ERR_CAPTURE, "captur");
    assert_false(is_capturing(other));
    end_capture();
    assert_works(after(other, number));
    test_gate_open();
    await(stream, number);
}

/* Nor does a thread wait for it in the driver. */
static void nobody_blocks_behind_a_mark_without_an_event(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t number = mark_without_event();
    begin_capture(acu_stream_raw(stream), ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_false(acui_stream_block(stream, number));
    for (int i = 0; i < ACUI_POSTS; i++)
        assert_false(device->posts[i].stream && is_capturing(device->posts[i].stream));
    end_capture();
    test_gate_open();
    await(stream, number);
}

/* Nobody could learn, before the capture ends, that such a mark is complete: so a stream that may
 * be captured gets an event although the driver has refused one. */
static void one_failure_leaves_no_mark_without_an_event(void **state)
{
    (void)state;
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_EventRecord, .nth = 1};
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_driver_fail(&fault));
    uint64_t number = mark(stream);
    acu_driver_fail_clear();
    begin_capture(acu_stream_raw(stream), ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_works(after(other, number));
    test_gate_open();
    await(stream, number);
    end_capture();
}

/* Such a mark is complete when a later one with an event is: nothing else needs to be asked. */
static void a_mark_without_an_event_is_over_with_a_later_one(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t first = mark_without_event(), second = mark(stream);
    begin_capture(acu_stream_raw(stream), ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    for (int i = 0; i < 20; i++)
        assert_works(acui_stream_harvest(stream, NULL));
    assert_false(acui_stream_passed(stream, first));
    test_gate_open();
    await(stream, first);
    await(stream, second);
    end_capture();
}

/* The same on a stream that is never idle. */
static void work_behind_does_not_hide_a_mark_without_an_event(void **state)
{
    (void)state;
    CUstream raw = acu_stream_raw(stream);
    uint64_t first = mark_without_event(), second = mark(stream);
    test_gate_close(device, raw);
    await(stream, first);
    await(stream, second);
}

/* If the driver can not say whether the stream is being captured, it is not asked whether the
 * stream is idle. */
static void what_may_be_captured_is_not_asked(void **state)
{
    (void)state;
    test_gate_close(device, acu_stream_raw(stream));
    uint64_t number = mark_without_event();
    begin_capture(acu_stream_raw(stream), ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    fail_call(ACU_CALL_StreamIsCapturing);
    assert_works(acui_stream_harvest(stream, NULL));
    assert_int_equal(acu_driver_fault_hits(), 1);
    acu_driver_fail_clear();
    end_capture();
    test_gate_open();
    await(stream, number);
}

/* ---- flags ---- */

/* A stream of acuda's of which the program has the handle, as in a foreign call. */
static void a_flag_is_not_written_into_a_capture(void **state)
{
    (void)state;
    acu_stream *own = device->policy->streams[0];
    test_gate_close(device, acu_stream_raw(own));
    uint64_t number = mark(own);
    begin_capture(acu_stream_raw(own), ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_false(acui_stream_prompt(own, number));
    end_capture();
    acui_stream_prompt(own, number);
    test_gate_open();
    await(own, number);
}

/* ---- all the rest ---- */

/* A blocking stream that is captured can not wait for it. */
static void the_legacy_stream_is_told_from_what_is_captured(void **state)
{
    (void)state;
    CUstream blocking;
    acu_stream *legacy;
    acu_submit_options options = {.size = sizeof options};
    assert_works(acu_stream_wrap(device, NULL, &legacy));
    options.stream = legacy;
    test_enter(device);
    assert_int_equal(acu_driver()->StreamCreate(&blocking, 0), 0);
    test_leave(device);
    begin_capture(blocking, ACU_CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_fails(acu_submit(device, acu_ones(ACU_F32, ACU_SHAPE(4)), &options, NULL),
                 ACU_ERR_CAPTURE, "capturing a stream that waits|legacy");
    assert_fails(acu_stream_poll(legacy), ACU_ERR_CAPTURE, "legacy");
    end_capture();
    test_enter(device);
    assert_int_equal(acu_driver()->StreamDestroy(blocking), 0);
    test_leave(device);
    acu_stream_release(legacy);
}

/* The stream is a blocking one: nothing may go to the legacy stream of its context meanwhile. */
static void opening_a_peer_ends_no_capture(void **state)
{
    (void)state;
    const acu_driver_table *cu = acu_driver();
    acu_device *peers[2];
    CUstream blocking;
    test_open_n(peers, 2); /* the first is `device` */
    for (int i = 0; i < 2; i++) {
        test_enter(device);
        assert_int_equal(cu->StreamCreate(&blocking, 0), 0);
        test_leave(device);
        begin_capture(blocking, ACU_CU_STREAM_CAPTURE_MODE_GLOBAL);
        acu_status st = acu_device_open_peer(peers[i], peers[1 - i]);
        assert_true(st == ACU_OK || st == ACU_ERR_NOT_SUPPORTED); /* by the machine */
        end_capture();
        test_enter(device);
        assert_int_equal(cu->StreamDestroy(blocking), 0);
        test_leave(device);
    }
    test_close(peers[0]);
    test_close(peers[1]);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nothing_comes_behind_a_mark_without_an_event),
        TEST(nobody_blocks_behind_a_mark_without_an_event),
        TEST(one_failure_leaves_no_mark_without_an_event),
        TEST(a_mark_without_an_event_is_over_with_a_later_one),
        TEST(work_behind_does_not_hide_a_mark_without_an_event),
        TEST(what_may_be_captured_is_not_asked),
        TEST(a_flag_is_not_written_into_a_capture),
        TEST(the_legacy_stream_is_told_from_what_is_captured),
        TEST(opening_a_peer_ends_no_capture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
