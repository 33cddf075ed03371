/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A lost device: the first fault is kept, everything is refused, nothing of its context reaches the
 * driver again. The fault is an injected result: the context underneath is sound, so the test can
 * see which calls are still made. (Driver objects stay counted: their context takes them along.)
 */
#include "support/support.h"

#include "device/device.h"
#include "memory/memory.h"

#include <acuda/adapters/dlpack.h>

static void lose(acu_device *device)
{
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_StreamQuery,
                              .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    assert_works(acu_driver_fail(&fault));
    assert_fails(acu_stream_poll(stream), ACU_ERR_DEVICE_LOST,
                 "CUDA_ERROR_ILLEGAL_ADDRESS|device 0");
    acu_driver_fail_clear();
    acu_stream_release(stream);
}

static void refuses_everything_with_the_first_fault(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = NULL;
    acu_event *event = NULL;
    acu_buffer *buffer = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_event_create(device, false, &event));
    lose(device);

    acu_error error = {.status = ACU_OK};
    assert_int_equal(acu_device_status(device, &error), ACU_ERR_DEVICE_LOST);
    assert_int_equal(error.driver_result, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(error.device, 0);
#define REFUSED(call) assert_fails((call), ACU_ERR_DEVICE_LOST, "ILLEGAL_ADDRESS")
    acu_stream *new_stream = NULL;
    acu_event *new_event = NULL;
    acu_policy *policy = NULL;
    acu_module *module = NULL;
    acu_driver_count_calls(true);
    REFUSED(acu_stream_create(device, 0, &new_stream));
    REFUSED(acu_event_create(device, false, &new_event));
    REFUSED(acu_policy_round_robin(device, 1, &policy));
    REFUSED(acu_event_record(event, stream));
    REFUSED(acu_event_poll(event));
    REFUSED(acu_stream_poll(stream));
    REFUSED(acu_stream_wait(stream, ACU_FOREVER));
    REFUSED(acu_stream_order_after(stream, stream->device->alloc));
    REFUSED(acu_buffer_create(device, 16, &buffer));
    REFUSED(acu_buffer_create_pinned(device, 16, &buffer));
    REFUSED(acu_device_memory(device, NULL, NULL));
    REFUSED(acu_module_load(device, ACU_PTX(NULL, ".version 6.3"), &module));
    acu_device *again = NULL;
    acu_open_options options = test_options(0);
    REFUSED(acu_open(&options, &again));
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 0);

    acu_event_release(event);
    acu_stream_release(stream);
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 0);
    test_close(device);
    assert_int_equal(acu_driver_calls(ACU_CALL_ANY), 1);
    assert_int_equal(acu_driver_calls(ACU_CALL_DevicePrimaryCtxRelease), 1);
    acu_driver_count_calls(false);
    assert_int_equal(acu_debug_live_report(NULL, 0), 0);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void marks_of_a_lost_device_end_without_success(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = NULL, *other = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    assert_works(acu_stream_create(device, 0, &other));
    acui_entered entered;
    uint64_t number = 0;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&stream->issue);
    assert_works(acui_stream_signal(stream, ACUI_REPORT_NEVER, &number, NULL));
    acui_lock_give(&stream->issue);
    lose(device);
    size_t left = 9;
    assert_int_equal(acui_stream_harvest(stream, &left), ACU_ERR_DEVICE_LOST);
    assert_int_equal(left, 0);
    assert_false(acui_stream_passed(stream, number));
    acui_lock_take(&other->issue);
    assert_int_equal(acui_stream_after(other, stream, number), ACU_ERR_DEVICE_LOST);
    assert_int_equal(acui_stream_signal(other, ACUI_REPORT_NEVER, &number, NULL),
                     ACU_ERR_DEVICE_LOST);
    acui_lock_give(&other->issue);
    acui_leave(&entered);
    acu_stream_release(stream);
    acu_stream_release(other);
    test_close(device);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void what_can_not_be_looked_at_for_good_is_lost(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = device->alloc;
    acui_entered entered;
    uint64_t number = 0;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&stream->issue);
    assert_works(acui_stream_signal(stream, ACUI_REPORT_NEVER, &number, NULL));
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ANY, .from_then_on = true};
    assert_works(acu_driver_fail(&fault));
    int looks = 0;
    while (acui_stream_harvest(stream, NULL) == ACU_OK)
        assert_true(++looks < 100);
    acu_driver_fail_clear();
    assert_true(looks > 1 && looks < 8); /* the eighth is the last */
    acu_error error;
    assert_int_equal(acu_device_status(device, &error), ACU_ERR_DEVICE_LOST);
    assert_non_null(strstr(error.message, "can not tell what is complete"));
    test_close(device);
}

static int looks_until_lost(acu_stream *stream, int most)
{
    acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ANY, .from_then_on = true};
    int looks = 0;
    assert_works(acu_driver_fail(&fault));
    while (looks < most && acui_stream_harvest(stream, NULL) == ACU_OK)
        looks++;
    acu_driver_fail_clear();
    return looks;
}

/* One that works starts the count anew. */
static void only_looks_in_a_row_count(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = device->alloc;
    acui_entered entered;
    uint64_t number = 0;
    test_gate_close(device, acu_stream_raw(stream));
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&stream->issue);
    assert_works(acui_stream_signal(stream, ACUI_REPORT_NEVER, &number, NULL));
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(looks_until_lost(stream, 4), 4);
        assert_works(acui_stream_harvest(stream, NULL));
    }
    test_gate_open();
    assert_works(acu_device_status(device, NULL));
    test_close(device);
}

/* Whether or not streams are ordered with those of other devices. */
static void its_memory_is_not_for_others(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_tensor *tensor = NULL;
    struct DLManagedTensorVersioned *managed = NULL;
    assert_works(acu_tensor_alloc(device, ACU_F32, ACU_SHAPE(4), &tensor));
    lose(device);
    REFUSED(acu_dlpack_export(tensor, ACU_DLPACK_NO_STREAM, 0, &managed));
    REFUSED(acu_dlpack_export(tensor, 1, 0, &managed));
    REFUSED(acu_dlpack_export_wait(tensor, ACU_DLPACK_NO_STREAM, 0, ACU_FOREVER, &managed));
    acu_tensor_release(tensor);
    test_close(device);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static void a_new_open_heals_once_all_is_released(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_buffer *buffer = NULL;
    assert_works(acu_buffer_create(device, 64, &buffer));
    lose(device);
    test_close(device);
    acu_buffer_release(buffer);
    device = test_open();
    assert_int_equal(acu_device_status(device, NULL), ACU_OK);
    assert_works(acu_buffer_create(device, 64, &buffer));
    acu_buffer_release(buffer);
    test_close(device);
}

/* Nobody can tell what a lost device may still write, nor when. */
static void what_it_may_still_write_stays(void **state)
{
    (void)state;
    acu_device *device = test_open();
    acu_stream *stream = acui_policy_pick(device->policy);
    acui_entered entered;
    uint64_t number;
    assert_works(acui_enter(device, &entered));
    acui_lock_take(&stream->issue);
    assert_works(acui_stream_signal(stream, ACUI_REPORT_NEVER, &number, NULL));
    acui_lock_give(&stream->issue);
    acui_leave(&entered);
    bool prompt = acui_stream_prompt(stream, stream->issued);
    _Atomic(uint64_t) *flags = device->flags;
    assert_works(acu_stream_wait(stream, ACU_FOREVER));
    lose(device);
    test_close(device);
    if (!prompt)
        skip(); /* the device can not write flags */
    atomic_store_explicit(flags, number, memory_order_relaxed);
    assert_int_equal(atomic_load_explicit(flags, memory_order_relaxed), number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_everything_with_the_first_fault),
        cmocka_unit_test(marks_of_a_lost_device_end_without_success),
        cmocka_unit_test(what_can_not_be_looked_at_for_good_is_lost),
        cmocka_unit_test(only_looks_in_a_row_count),
        cmocka_unit_test(its_memory_is_not_for_others),
        cmocka_unit_test(a_new_open_heals_once_all_is_released),
        cmocka_unit_test(what_it_may_still_write_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
