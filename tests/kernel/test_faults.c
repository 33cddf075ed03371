/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every driver call and every allocation that devices, memory and kernels make is made to fail in
 * turn: once, or from there on. Nothing hangs, every failure is reported with a message, and
 * nothing is left over except driver objects whose destruction was made to fail.
 */
#include "support/support.h"

#include "device/device.h"
#include "kernel/kernel.h"
#include "kernel/kernels_ptx.h"
#include "memory/memory.h"

#include <stdio.h>

static int wraps_released;

static void count_release(void *user)
{
    (void)user;
    wraps_released++;
}

/* A failed step says why, and leaves its result alone. */
static bool step(acu_status st)
{
    if (st < 0) {
        assert_int_equal(acu_last_error()->status, st);
        assert_true(acu_last_error()->message[0] || acu_last_error()->driver_call);
    }
    return st == ACU_OK;
}

static void use_streams(acu_device *device)
{
    acu_stream *stream = NULL, *forked = NULL;
    acu_event *start = NULL, *end = NULL;
    acu_policy *policy = NULL;
    float ms = 0;
    if (step(acu_stream_create(device, 0, &stream))) {
        if (step(acu_stream_fork(stream, &forked)))
            step(acu_stream_order_after(stream, forked));
        step(acu_event_create(device, true, &start));
        step(acu_event_create(device, true, &end));
        if (start && end && step(acu_event_record(start, stream)) &&
            step(acu_event_record(end, stream))) {
            step(acu_stream_order_after_event(stream, end));
            if (step(acu_event_wait(end, ACU_SECONDS(30))))
                step(acu_event_elapsed_ms(start, end, &ms));
        }
        step(acu_stream_poll(stream));
        step(acu_stream_wait(stream, ACU_SECONDS(30)));
        acu_stream *wrapped = NULL;
        step(acu_stream_wrap(device, acu_stream_raw(stream), &wrapped));
        acu_stream_release(wrapped);
    }
    step(acu_policy_round_robin(device, 2, &policy));
    acu_policy_release(policy);
    acu_event_release(start);
    acu_event_release(end);
    acu_stream_release(forked);
    acu_stream_release(stream);
}

static void use_timeline(acu_device *device)
{
    acu_stream *a = device->policy->streams[0], *b = device->policy->streams[1];
    acui_entered entered;
    uint64_t number = 0;
    if (!step(acui_enter(device, &entered)))
        return;
    acui_lock_take(&a->issue);
    bool marked = step(acui_stream_signal(a, ACUI_REPORT_NEVER, &number, NULL));
    acui_lock_give(&a->issue);
    if (marked) {
        acui_lock_take(&b->issue);
        step(acui_stream_after(b, a, number));
        acui_lock_give(&b->issue);
    }
    acui_leave(&entered);
    while (marked && !acui_stream_passed(a, number))
        if (!step(acui_stream_harvest(a, NULL)))
            break;
}

static void use_memory(acu_device *device)
{
    static char memory[8192];
    acu_buffer *buffer = NULL;
    acu_tensor *tensor = NULL, *view = NULL;
    step(acu_buffer_create(device, 1000, &buffer));
    if (buffer && step(acu_tensor_create(buffer, 0, ACU_F32, ACU_SHAPE(10, 25), &tensor)))
        step(acu_tensor_reshape(tensor, ACU_SHAPE(250), &view));
    acu_buffer_release(buffer);
    acu_tensor_release(tensor);
    acu_tensor_release(view);
    tensor = NULL;
    step(acu_tensor_alloc_pinned(device, ACU_U8, ACU_SHAPE(5000), &tensor));
    acu_tensor_release(tensor);
    wraps_released = 0;
    buffer = NULL;
    step(acu_buffer_wrap_host(device, memory, sizeof memory, (acu_user){NULL, count_release},
                              &buffer));
    acu_buffer_release(buffer);
    assert_int_equal(wraps_released, 1);
    size_t left = 0;
    step(acu_device_memory(device, &left, NULL));
}

static void use_kernels(acu_device *device)
{
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    if (!step(acu_module_load(device, ACU_PTX("m", kernels_ptx), &module)))
        return;
    if (step(acu_kernel_find(device, "m", "shared", &kernel))) {
        step(acu_kernel_declare(kernel, "out u32"));
        acu_config c = {.grid = {1}, .shared = acu_device_info_of(device)->max_shared};
        if (acu_device_info_of(device)->max_shared_optin > c.shared)
            step(acui_kernel_config(kernel, &c));
    }
    acu_kernel_release(kernel);
    acu_module_release(module);
}

static void scenario(void)
{
    acu_open_options options = test_options(0);
    acu_device *device = NULL;
    if (!step(acu_open(&options, &device)))
        return;
    use_streams(device);
    use_timeline(device);
    use_memory(device);
    use_kernels(device);
    assert_int_equal(acu_close(device), ACU_OK);
}

/* ---- driver calls ---------------------------------------------------------------------------- */

static int64_t live[ACU_DRIVER_KIND_NONE], spared[ACU_DRIVER_KIND_NONE];

static void remember_objects(void)
{
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++) {
        live[kind] = acu_driver_live((acu_driver_kind)kind);
        spared[kind] = acu_driver_spared((acu_driver_kind)kind);
    }
}

static void check_objects(const char *call, uint64_t nth, bool always)
{
    char text[1024];
    if (acu_debug_live_report(text, sizeof text) || acu_debug_live_blocks())
        fail_msg("%s, number %llu%s: %zu blocks and handles are left:\n%s", call,
                 (unsigned long long)nth, always ? " and on" : "", acu_debug_live_blocks(), text);
    for (int kind = 0; kind < ACU_DRIVER_KIND_NONE; kind++) {
        int64_t left = acu_driver_live((acu_driver_kind)kind) - live[kind];
        int64_t excused = acu_driver_spared((acu_driver_kind)kind) - spared[kind];
        if (left < 0 || left > excused) {
            acu_driver_live_report(text, sizeof text);
            fail_msg("%s, number %llu%s: of kind %d %lld are left, %lld destructions failed:\n%s",
                     call, (unsigned long long)nth, always ? " and on" : "", kind, (long long)left,
                     (long long)excused, text);
        }
    }
}

static void fail_call(acu_driver_call call, uint64_t nth, bool always)
{
    remember_objects();
    acu_driver_fault fault = {
        .size = sizeof fault, .call = call, .nth = nth, .from_then_on = always};
    assert_int_equal(acu_driver_fail(&fault), ACU_OK);
    scenario();
    acu_driver_fail_clear();
    check_objects(acu_driver_call_name(call), nth, always);
}

/* Retains the context for all runs: making it anew each time takes long on a GPU. */
static int hold_context(void **state)
{
    (void)state;
    scenario(); /* the driver is started */
    test_leaks_none();
    CUcontext context = NULL;
    return (int)acu_driver()->DevicePrimaryCtxRetain(&context, 0);
}

static int let_context_go(void **state)
{
    (void)state;
    return (int)acu_driver()->DevicePrimaryCtxRelease(0);
}

static void every_driver_call_may_fail(void **state)
{
    (void)state;
    static uint64_t counts[ACU_CALL_COUNT];
    acu_driver_count_calls(true);
    scenario();
    for (int call = 0; call < ACU_CALL_COUNT; call++)
        counts[call] = acu_driver_calls((acu_driver_call)call);
    acu_driver_count_calls(false);
    int kinds = 0;
    for (int call = 0; call < ACU_CALL_COUNT; call++) {
        kinds += counts[call] > 0;
        for (uint64_t nth = 1; nth <= counts[call]; nth++) {
            /* Of a call that is made many times, the first ones are tried, and some of the later
             * ones. */
            if (nth > 24 && nth % 7 && nth != counts[call])
                continue;
            fail_call((acu_driver_call)call, nth, false);
            fail_call((acu_driver_call)call, nth, true);
        }
    }
    assert_true(kinds > 30);
    remember_objects();
    scenario();
    check_objects("none", 0, false);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    scenario();
    remember_objects();
    acu_debug_fail_alloc(0, false);
    scenario();
    uint64_t count = acu_debug_alloc_count();
    assert_true(count > 30);
    for (uint64_t nth = 1; nth <= count; nth++)
        for (int always = 0; always < 2; always++) {
            acu_debug_fail_alloc(nth, always);
            scenario();
            acu_debug_fail_alloc(0, false);
            check_objects("allocation", nth, always);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_driver_call_may_fail),
    };
    return cmocka_run_group_tests(tests, hold_context, let_context_go);
}
