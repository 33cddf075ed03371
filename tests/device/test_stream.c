/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Streams, events and policies, as the program uses them. */
#include <stdatomic.h>

#include "base/callback.h"
#include "device/device.h"
#include "support/one_device.h"

static acu_stream *new_stream(void)
{
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    return stream;
}

static acu_event *new_event(bool timing)
{
    acu_event *event = NULL;
    assert_works(acu_event_create(device, timing, &event));
    return event;
}

static void a_stream_is_busy_until_its_work_is_done(void **state)
{
    (void)state;
    acu_stream *stream = new_stream();
    assert_ptr_equal(acu_stream_device(stream), device);
    assert_non_null(acu_stream_raw(stream));
    assert_int_equal(acu_stream_poll(stream), ACU_OK);
    test_gate_close(device, acu_stream_raw(stream));
    assert_int_equal(acu_stream_poll(stream), ACU_NOT_READY);
    assert_int_equal(acu_stream_wait(stream, 0), ACU_TIMEOUT);
    assert_int_equal(acu_stream_wait(stream, ACU_MS(3)), ACU_TIMEOUT);
    test_gate_open();
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    assert_int_equal(acu_stream_poll(stream), ACU_OK);
    acu_stream_release(stream);
}

static void priorities_are_the_devices(void **state)
{
    (void)state;
    const acu_device_info *info = acu_device_info_of(device);
    acu_stream *stream = NULL;
    for (int p = info->greatest_priority; p <= info->least_priority; p++) {
        assert_works(acu_stream_create(device, p, &stream));
        assert_int_equal(acu_stream_priority(stream), p);
        acu_stream_release(stream);
    }
    stream = NULL;
    assert_fails(acu_stream_create(device, info->least_priority + 1, &stream), ACU_ERR_INVALID,
                 "priority");
    assert_fails(acu_stream_create(device, info->greatest_priority - 1, &stream), ACU_ERR_INVALID,
                 "priority");
    assert_null(stream);
}

static void a_forked_stream_starts_behind(void **state)
{
    (void)state;
    acu_stream *stream = new_stream(), *forked = NULL;
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_stream_fork(stream, &forked));
    assert_int_equal(acu_stream_poll(forked), ACU_NOT_READY);
    acu_stream *other = new_stream();
    assert_int_equal(acu_stream_poll(other), ACU_OK);
    test_gate_open();
    assert_works(acu_stream_wait(forked, ACU_FOREVER));
    assert_int_equal(acu_stream_poll(stream), ACU_OK);
    acu_stream_release(other);
    acu_stream_release(forked);
    acu_stream_release(stream);
}

static void order_goes_across_devices(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_stream *a = NULL, *b = NULL;
    assert_works(acu_stream_create(devices[0], 0, &a));
    assert_works(acu_stream_create(devices[1], 0, &b));
    test_gate_close(devices[0], acu_stream_raw(a));
    assert_works(acu_stream_order_after(b, a));
    assert_works(acu_stream_order_after(b, b));
    assert_int_equal(acu_stream_poll(b), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_stream_wait(b, ACU_FOREVER));
    assert_int_equal(acu_stream_poll(a), ACU_OK);
    acu_stream_release(a);
    acu_stream_release(b);
    test_close(devices[0]);
    test_close(devices[1]);
}

static void a_wrapped_stream_is_never_destroyed(void **state)
{
    (void)state;
    CUstream raw = NULL;
    test_enter(device);
    assert_int_equal(acu_driver()->StreamCreate(&raw, ACU_CU_STREAM_NON_BLOCKING), 0);
    test_leave(device);
    acu_stream *stream = NULL;
    assert_works(acu_stream_wrap(device, raw, &stream));
    assert_ptr_equal(acu_stream_raw(stream), raw);
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    acu_stream_release(stream);
    test_enter(device);
    assert_int_equal(acu_driver()->StreamQuery(raw), 0);
    assert_int_equal(acu_driver()->StreamDestroy(raw), 0);
    test_leave(device);
    assert_works(acu_stream_wrap(device, NULL, &stream)); /* the legacy default stream */
    assert_ptr_equal(acu_stream_raw(stream), ACU_CU_STREAM_LEGACY);
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    acu_stream_release(stream);
}

static void a_stream_of_another_context_is_not_wrapped(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_stream *other = NULL, *stream = NULL;
    assert_works(acu_stream_create(devices[1], 0, &other));
    assert_fails(acu_stream_wrap(devices[0], acu_stream_raw(other), &stream), ACU_ERR_DEVICE,
                 "device 0");
    assert_null(stream);
    acu_stream_release(other);
    test_close(devices[0]);
    test_close(devices[1]);
}

static void a_captured_stream_is_left_alone(void **state)
{
    (void)state;
    const acu_driver_table *cu = acu_driver();
    acu_stream *stream = new_stream(), *other = new_stream();
    acu_event *event = new_event(false);
    assert_works(acu_event_record(event, other));
    test_enter(device);
    unsigned begun = cu->StreamBeginCapture(acu_stream_raw(stream),
                                            ACU_CU_STREAM_CAPTURE_MODE_GLOBAL);
    test_leave(device);
    if (begun == ACU_CUDA_SUCCESS) {
        assert_fails(acu_stream_poll(stream), ACU_ERR_CAPTURE,
                     "acu_stream_poll: |capturing this stream");
        assert_fails(acu_stream_order_after(stream, other), ACU_ERR_CAPTURE,
                     "acu_stream_order_after: |capturing");
        assert_fails(acu_stream_order_after(other, stream), ACU_ERR_CAPTURE, "capturing");
        acu_stream *forked;
        assert_fails(acu_stream_fork(stream, &forked), ACU_ERR_CAPTURE, "acu_stream_fork: ");
        assert_fails(acu_stream_order_after_event(stream, event), ACU_ERR_CAPTURE,
                     "acu_stream_order_after_event: |capturing");
        assert_fails(acu_event_record(event, stream), ACU_ERR_CAPTURE,
                     "acu_event_record: |capturing");
        /* Other work goes on meanwhile, and does not break the capture. */
        assert_works(acu_stream_order_after(other, other));
        acu_stream *third = new_stream();
        assert_works(acu_stream_order_after(third, other));
        assert_works(acu_stream_wait(third, ACU_FOREVER));
        acu_stream_release(third);
        CUgraph graph = NULL;
        test_enter(device);
        assert_int_equal(cu->StreamEndCapture(acu_stream_raw(stream), &graph), ACU_CUDA_SUCCESS);
        assert_int_equal(cu->GraphDestroy(graph), ACU_CUDA_SUCCESS);
        test_leave(device);
    }
    acu_event_release(event);
    acu_stream_release(other);
    acu_stream_release(stream);
}

static void events_mark_the_end_of_what_was_there(void **state)
{
    (void)state;
    acu_stream *stream = new_stream(), *other = new_stream();
    acu_event *event = new_event(false);
    assert_int_equal(acu_event_poll(event), ACU_OK); /* nothing recorded */
    assert_fails(acu_stream_order_after_event(other, event), ACU_ERR_INVALID,
                 "nothing was recorded");
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_event_record(event, stream));
    assert_works(acu_stream_order_after_event(other, event));
    assert_int_equal(acu_event_poll(event), ACU_NOT_READY);
    assert_int_equal(acu_event_wait(event, ACU_MS(2)), ACU_TIMEOUT);
    assert_int_equal(acu_stream_poll(other), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_event_wait(event, ACU_FOREVER));
    assert_works(acu_stream_wait(other, ACU_FOREVER));
    assert_non_null(acu_event_raw(event));
    acu_event_release(event);
    acu_stream_release(stream);
    acu_stream_release(other);
}

static void elapsed_time_needs_timing_and_two_records(void **state)
{
    (void)state;
    acu_stream *stream = new_stream();
    acu_event *start = new_event(true), *end = new_event(true), *plain = new_event(false);
    float ms = -1;
    assert_fails(acu_event_elapsed_ms(start, plain, &ms), ACU_ERR_INVALID, "end event|timing");
    assert_fails(acu_event_elapsed_ms(start, end, &ms), ACU_ERR_INVALID, "start event|recorded");
    assert_works(acu_event_record(start, stream));
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_event_record(end, stream));
    assert_int_equal(acu_event_elapsed_ms(start, end, &ms), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_event_wait(end, ACU_FOREVER));
    assert_works(acu_event_elapsed_ms(start, end, &ms));
    assert_true(ms >= 0);
    assert_fails(acu_event_elapsed_ms(start, end, NULL), ACU_ERR_INVALID, "nowhere");
    acu_event_release(plain);
    acu_event_release(end);
    acu_event_release(start);
    acu_stream_release(stream);
}

static void an_event_belongs_to_its_device(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_stream *stream = NULL;
    acu_event *event = NULL;
    assert_works(acu_stream_create(devices[0], 0, &stream));
    assert_works(acu_event_create(devices[1], false, &event));
    assert_fails(acu_event_record(event, stream), ACU_ERR_DEVICE, "device 1|device 0");
    acu_event_release(event);
    acu_stream_release(stream);
    test_close(devices[0]);
    test_close(devices[1]);
}

static void policies_choose_in_turn_or_always_one(void **state)
{
    (void)state;
    acu_policy *policy = NULL;
    assert_works(acu_policy_round_robin(device, 3, &policy));
    assert_ptr_equal(acu_policy_device(policy), device);
    acu_stream *first = acui_policy_pick(policy), *second = acui_policy_pick(policy);
    acu_stream *third = acui_policy_pick(policy);
    assert_true(first != second && second != third && third != first);
    assert_ptr_equal(acui_policy_pick(policy), first);
    acu_policy_release(acu_policy_retain(policy));
    acu_policy_release(policy);

    assert_works(acu_policy_round_robin(device, 0, &policy));
    assert_int_equal(policy->count, 4);
    acu_policy_release(policy);
    policy = NULL;
    assert_fails(acu_policy_round_robin(device, 65, &policy), ACU_ERR_INVALID, "65|64");

    acu_stream *stream = new_stream();
    assert_works(acu_policy_single(device, stream, &policy));
    acu_stream_release(stream);
    assert_ptr_equal(acui_policy_pick(policy), stream);
    assert_ptr_equal(acui_policy_pick(policy), stream);
    acu_policy_release(policy);
    assert_works(acu_policy_single(device, NULL, &policy));
    assert_ptr_equal(acui_policy_pick(policy), acui_policy_pick(policy));
    acu_policy_release(policy);
}

static _Atomic(int) released;

static void count_release(void *data)
{
    (void)data;
    atomic_fetch_add(&released, 1);
}

static size_t choose_last(void *user, const acu_policy_stream *streams, size_t count)
{
    *(size_t *)user = count;
    return streams[0].load == 0 && count > 0 ? count - 1 : count;
}

static void policies_of_all_kinds(void **state)
{
    (void)state;
    acu_policy *policy = NULL;
    acu_stream *streams[2] = {new_stream(), new_stream()};
    acu_policy_options options = {.size = sizeof options, .given = streams, .given_count = 2};
    assert_works(acu_policy_create(device, &options, &policy));
    assert_ptr_equal(acui_policy_pick(policy), streams[0]);
    assert_ptr_equal(acui_policy_pick(policy), streams[1]);
    acu_policy_release(policy);

    options.order = ACU_LEAST_LOADED;
    assert_works(acu_policy_create(device, &options, &policy));
    assert_ptr_not_equal(acui_policy_pick(policy), acui_policy_pick(policy)); /* idle: in turn */
    atomic_store(&streams[0]->engine.gate.used, 2);
    atomic_store(&streams[1]->engine.gate.waiting, 1);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(acui_policy_pick(policy), streams[1]);
    atomic_store(&streams[1]->engine.gate.waiting, 3);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(acui_policy_pick(policy), streams[0]);
    atomic_store(&streams[0]->engine.gate.used, 0);
    atomic_store(&streams[1]->engine.gate.waiting, 0);
    acu_policy_release(policy);
    acu_stream_release(streams[0]);
    acu_stream_release(streams[1]);

    options = (acu_policy_options){.size = sizeof options, .priority = -1, .streams = 2};
    assert_works(acu_policy_create(device, &options, &policy));
    assert_int_equal(acu_stream_priority(acui_policy_pick(policy)), -1);
    acu_policy_release(policy);
    assert_works(acu_policy_create(device, NULL, &policy));
    assert_int_equal(policy->count, 4);
    acu_policy_release(policy);
}

static void the_programs_own_policy(void **state)
{
    (void)state;
    acu_policy *policy = NULL;
    size_t seen = 0;
    atomic_store(&released, 0);
    acu_policy_options options = {.size = sizeof options,
                                  .choose = choose_last,
                                  .user = ACU_USER(&seen, count_release),
                                  .streams = 3};
    assert_works(acu_policy_create(device, &options, &policy));
    assert_ptr_equal(acui_policy_pick(policy), policy->streams[2]);
    assert_int_equal(seen, 3);
    atomic_store(&policy->streams[0]->engine.gate.used, 1);
    assert_null(acui_policy_pick(policy));
    assert_int_equal(acu_last_error()->status, ACU_ERR_CALLBACK);
    atomic_store(&policy->streams[0]->engine.gate.used, 0);
    acu_policy_release(policy);
    assert_int_equal(atomic_load(&released), 1);
    options.streams = 65;
    assert_fails(acu_policy_create(device, &options, &policy), ACU_ERR_INVALID, "65|64");
    assert_int_equal(atomic_load(&released), 2);
}

static void wrong_policies_are_told(void **state)
{
    (void)state;
    acu_policy *policy = NULL;
    acu_stream *stream = new_stream();
    acu_policy_options options = {.size = sizeof options, .given = &stream};
    assert_fails(acu_policy_create(device, &options, &policy), ACU_ERR_INVALID, "number");
    options = (acu_policy_options){
        .size = sizeof options, .given = &stream, .given_count = 1, .priority = -1};
    assert_fails(acu_policy_create(device, &options, &policy), ACU_ERR_INVALID, "priority");
    options = (acu_policy_options){.size = sizeof options, .priority = 99};
    assert_fails(acu_policy_create(device, &options, &policy), ACU_ERR_INVALID, "priority 99");
    options = (acu_policy_options){.size = sizeof options, .order = (acu_policy_order)7};
    assert_fails(acu_policy_create(device, &options, &policy), ACU_ERR_INVALID, "order 7");
    assert_fails(acu_policy_create(device, NULL, NULL), ACU_ERR_INVALID, "nowhere");
    acu_stream_release(stream);
}

static void a_policy_keeps_to_its_device(void **state)
{
    (void)state;
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_stream *stream = NULL;
    acu_policy *policy = NULL;
    assert_works(acu_stream_create(devices[1], 0, &stream));
    assert_fails(acu_policy_single(devices[0], stream, &policy), ACU_ERR_DEVICE, "device 1");
    acu_stream_release(stream);
    test_close(devices[0]);
    test_close(devices[1]);
}

static void own_streams_and_policies_hold_the_device(void **state)
{
    (void)state;
    acu_device *again = test_open();
    uint32_t before = acui_object_refs(again);
    acu_policy *own = acu_policy_retain(again->policy);
    acu_stream *stream = acu_stream_retain(acui_policy_pick(own));
    assert_int_equal(acui_object_refs(again), before + 2);
    test_close(again);
    acu_stream_release(stream);
    acu_policy_release(own);
}

static void waiting_is_refused_in_callbacks(void **state)
{
    (void)state;
    acu_stream *stream = new_stream();
    acu_event *event = new_event(false);
    acui_callback_enter();
    assert_fails(acu_stream_wait(stream, 0), ACU_ERR_IN_CALLBACK, "acu_stream_wait");
    assert_fails(acu_event_wait(event, 0), ACU_ERR_IN_CALLBACK, "acu_event_wait");
    assert_int_equal(acu_stream_poll(stream), ACU_OK);
    acui_callback_leave();
    acu_event_release(event);
    acu_stream_release(stream);
}

static void wrong_handles_are_told(void **state)
{
    (void)state;
    acu_stream *stream = new_stream();
    acu_event *event = new_event(false);
    assert_fails(acu_stream_poll((acu_stream *)event), ACU_ERR_INVALID, "wants a stream, got an event");
    assert_fails(acu_stream_poll(NULL), ACU_ERR_INVALID, "stream is NULL");
    assert_fails(acu_event_record(event, NULL), ACU_ERR_INVALID, "acu_event_record|stream is NULL");
    assert_fails(acu_stream_order_after(NULL, stream), ACU_ERR_INVALID, "the stream is NULL");
    assert_fails(acu_stream_order_after(stream, NULL), ACU_ERR_INVALID, "the other stream is NULL");
    float ms = 0;
    assert_fails(acu_event_elapsed_ms(NULL, event, &ms), ACU_ERR_INVALID, "the start event is NULL");
    assert_fails(acu_event_elapsed_ms(event, NULL, &ms), ACU_ERR_INVALID, "the end event is NULL");
    assert_fails(acu_stream_create(device, 0, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_stream_fork(stream, NULL), ACU_ERR_INVALID, "nowhere");
    assert_fails(acu_event_create(device, false, NULL), ACU_ERR_INVALID, "nowhere");
    acu_event_release(event);
    acu_stream_release(stream);
    assert_fails(acu_stream_poll(stream), ACU_ERR_BAD_HANDLE, "stream was released already");
    assert_fails(acu_event_poll(event), ACU_ERR_BAD_HANDLE, "event was released already");
    assert_null(acu_stream_raw(stream));
    assert_null(acu_event_raw(event));
    acu_stream_release(NULL);
    acu_event_release(NULL);
    acu_policy_release(NULL);
}

static void a_stream_released_while_busy_finishes(void **state)
{
    (void)state;
    acu_stream *stream = new_stream(), *other = new_stream();
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acu_stream_order_after(other, stream));
    acu_stream_release(stream);
    assert_int_equal(acu_stream_poll(other), ACU_NOT_READY);
    test_gate_open();
    assert_works(acu_stream_wait(other, ACU_FOREVER));
    acu_stream_release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(a_stream_is_busy_until_its_work_is_done),
        DEVICE_TEST(priorities_are_the_devices),
        DEVICE_TEST(a_forked_stream_starts_behind),
        DEVICE_TEST(order_goes_across_devices),
        DEVICE_TEST(a_wrapped_stream_is_never_destroyed),
        DEVICE_TEST(a_stream_of_another_context_is_not_wrapped),
        DEVICE_TEST(a_captured_stream_is_left_alone),
        DEVICE_TEST(events_mark_the_end_of_what_was_there),
        DEVICE_TEST(elapsed_time_needs_timing_and_two_records),
        DEVICE_TEST(an_event_belongs_to_its_device),
        DEVICE_TEST(policies_choose_in_turn_or_always_one),
        DEVICE_TEST(policies_of_all_kinds),
        DEVICE_TEST(the_programs_own_policy),
        DEVICE_TEST(wrong_policies_are_told),
        DEVICE_TEST(a_policy_keeps_to_its_device),
        DEVICE_TEST(own_streams_and_policies_hold_the_device),
        DEVICE_TEST(waiting_is_refused_in_callbacks),
        DEVICE_TEST(wrong_handles_are_told),
        DEVICE_TEST(a_stream_released_while_busy_finishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
