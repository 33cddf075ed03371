/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Resetting a device. It is refused without a promise. Objects that were made before are refused
 * from then on, never reach the driver, and can be released; everything works with the new handle;
 * and if the driver does not heal the device, the status says so. Tests that lose the device for
 * good are processes of their own.
 */
#include "support/support.h"

#include "device/device.h"

#include <acuda/adapters/dlpack.h>
#include <acuda/debug.h>
#include <acuda/graph.h>

#include <pthread.h>
#include <stdatomic.h>

extern const char test_reset_ptx[];

#define LIMIT ACU_SECONDS(60) /* what takes longer hangs */

static const acu_reset_options promised = {.size = sizeof promised,
                                           .nothing_else_in_this_process_uses_the_device = true};

#define count_op(kernel, x, stop)                                                                  \
    acu_launch((kernel), ACU_GRID_BLOCK(1, 1, 1, 1, 1, 1), acu_inout(x), acu_i32(stop))

/* Driver objects stay counted: the old context took them along. */
static void leaves_nothing(void)
{
    char text[1024];
    if (acu_debug_live_report(text, sizeof text))
        fail_msg("handles are left:\n%s", text);
    assert_int_equal(acu_debug_live_blocks(), 0);
}

static acu_tensor *zero(acu_device *device)
{
    acu_tensor *tensor = NULL;
    assert_works(acu_sync(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &tensor));
    return tensor;
}

static void computes(acu_device *device)
{
    acu_kernel *kernel = test_kernel(device, test_reset_ptx, "count");
    acu_tensor *x = zero(device);
    int32_t value = 0;
    for (int i = 0; i < 3; i++)
        assert_works(acu_submit(NULL, count_op(kernel, x, 0), NULL, NULL));
    assert_works(acu_read_sync(x, &value, sizeof value));
    assert_int_equal(value, 3);
    acu_tensor_release(x);
    acu_kernel_release(kernel);
}

static acu_device *reset(acu_device *device)
{
    acu_device *fresh = NULL;
    assert_works(acu_device_reset(device, &promised, &fresh));
    assert_non_null(fresh);
    assert_ptr_not_equal(fresh, device);
    return fresh;
}

/* ---- refused ---- */

static _Atomic(int) callback_status;
static acu_device *callback_device;

static void reset_in_callback(void *user, acu_future *future, acu_status status)
{
    (void)user, (void)future, (void)status;
    acu_device *fresh = NULL;
    atomic_store(&callback_status, acu_device_reset(callback_device, &promised, &fresh));
}

static void only_with_the_promise(void **state)
{
    (void)state;
    acu_device *device = test_open(), *fresh = NULL;
    acu_reset_options not_promised = {.size = sizeof not_promised};
    assert_fails(acu_device_reset(device, NULL, &fresh), ACU_ERR_SHARED,
                 "device 0|other libraries");
    assert_fails(acu_device_reset(device, &not_promised, &fresh), ACU_ERR_SHARED,
                 "nothing_else_in_this_process_uses_the_device");
    assert_fails(acu_device_reset(NULL, &promised, &fresh), ACU_ERR_INVALID, "device is NULL");
    assert_fails(acu_device_reset(device, &promised, NULL), ACU_ERR_INVALID, "nowhere");
    callback_device = device;
    acu_future *future;
    assert_works(acu_submit(device, acu_zeros(ACU_I32, ACU_SHAPE(1)), NULL, &future));
    assert_works(
        acu_future_when_complete(future, NULL, 0, reset_in_callback, ACU_USER(NULL, NULL)));
    acu_future_release(future);
    assert_int_equal(acu_device_status(device, NULL), ACU_OK);
    computes(device);
    test_close(device);
    assert_int_equal(atomic_load(&callback_status), ACU_ERR_IN_CALLBACK);
    assert_null(fresh);
    test_leaks_none();
}

/* ---- one of everything ---- */

typedef struct things {
    acu_buffer *buffer, *pinned, *wrapped;
    acu_tensor *tensor, *host;
    acu_module *module;
    acu_kernel *kernel;
    acu_stream *stream;
    acu_event *event;
    acu_policy *policy;
    acu_pool *pool;
    acu_graph *graph;
    acu_future *future;
    acu_op *op;
} things;

static int memory[1024];
static int unwrapped;

static void note_unwrapped(void *data)
{
    (void)data;
    unwrapped++;
}

static void make(acu_device *device, things *t)
{
    assert_works(acu_buffer_create(device, 64, &t->buffer));
    assert_works(acu_buffer_create_pinned(device, 64, &t->pinned));
    assert_works(acu_buffer_wrap_host(device, memory, sizeof memory,
                                      ACU_USER(NULL, note_unwrapped), &t->wrapped));
    assert_works(acu_tensor_alloc_pinned(device, ACU_I32, ACU_SHAPE(1), &t->host));
    t->tensor = zero(device);
    t->module = test_load_ptx(device, "mine", test_reset_ptx);
    assert_works(acu_kernel_get(t->module, "count", &t->kernel));
    assert_works(acu_stream_create(device, 0, &t->stream));
    assert_works(acu_event_create(device, false, &t->event));
    assert_works(acu_event_record(t->event, t->stream));
    assert_works(acu_policy_round_robin(device, 2, &t->policy));
    assert_works(acu_pool_create(device, NULL, &t->pool));
    assert_works(acu_graph_load(device, count_op(t->kernel, t->tensor, 0), NULL, &t->graph));
    assert_works(acu_submit(device, acu_replay(t->graph), NULL, &t->future));
    for (int i = 0; i < 3; i++)
        assert_works(acu_sync(device, acu_copy(t->tensor, t->host), NULL));
    t->op = acu_dup(t->tensor);
}

static void is_stale(acu_device *old, const things *t, acu_device *fresh)
{
    acu_buffer *buffer;
    acu_stream *stream;
    acu_event *event;
    acu_policy *policy;
    acu_module *module;
    acu_graph *graph;
    acu_tensor *tensor;
    acu_device *again;
    struct DLManagedTensorVersioned *managed;
    acu_error error;
    int32_t value;
    size_t bytes;
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = t->stream};
    acu_submit_options by_policy = {.size = sizeof by_policy, .policy = t->policy};
#define STALE(call) assert_fails((call), ACU_ERR_STALE, "device 0 was reset")
    assert_int_equal(acu_device_status(old, &error), ACU_ERR_STALE);
    assert_int_equal(error.status, ACU_ERR_STALE);
    assert_int_equal(error.device, 0);
    STALE(acu_device_memory(old, &bytes, &bytes));
    STALE(acu_buffer_create(old, 64, &buffer));
    STALE(acu_buffer_create_pinned(old, 64, &buffer));
    STALE(acu_tensor_alloc(old, ACU_I32, ACU_SHAPE(1), &tensor));
    STALE(acu_stream_create(old, 0, &stream));
    STALE(acu_stream_fork(t->stream, &stream));
    STALE(acu_stream_poll(t->stream));
    STALE(acu_stream_wait(t->stream, ACU_FOREVER));
    STALE(acu_stream_order_after_event(t->stream, t->event));
    STALE(acu_event_create(old, false, &event));
    STALE(acu_event_record(t->event, t->stream));
    STALE(acu_event_poll(t->event));
    STALE(acu_event_wait(t->event, ACU_FOREVER));
    STALE(acu_policy_round_robin(old, 1, &policy));
    STALE(acu_policy_single(fresh, t->stream, &policy));
    STALE(acu_buffer_create_from(t->pool, 64, &buffer));
    STALE(acu_pool_trim(t->pool, 0, &bytes));
    STALE(acu_module_load(old, ACU_PTX(NULL, test_reset_ptx), &module));
    STALE(acu_graph_load(NULL, count_op(t->kernel, t->tensor, 0), NULL, &graph));
    STALE(acu_submit(NULL, acu_replay(t->graph), NULL, NULL));
    STALE(acu_submit(old, acu_zeros(ACU_I32, ACU_SHAPE(1)), NULL, NULL));
    STALE(acu_submit(NULL, acu_op_retain(t->op), NULL, NULL));
    STALE(acu_submit(NULL, acu_zeros(ACU_I32, ACU_SHAPE(1)), &on_stream, NULL));
    STALE(acu_submit(NULL, acu_zeros(ACU_I32, ACU_SHAPE(1)), &by_policy, NULL));
    STALE(acu_read_sync(t->tensor, &value, sizeof value));
    STALE(acu_write_sync(t->tensor, &value, sizeof value));
    STALE(acu_sync(fresh, acu_copy(t->host, t->tensor), NULL));
    STALE(acu_sync(fresh, acu_to_device(fresh, t->tensor), NULL));
    STALE(acu_dlpack_export(t->host, ACU_DLPACK_NO_STREAM, 0, &managed));
    STALE(acu_dlpack_export(t->tensor, ACU_DLPACK_NO_STREAM, 0, &managed));
    STALE(acu_device_open_peer(fresh, old));
    STALE(acu_device_reset(old, &promised, &again));
    assert_null(acu_buffer_host(t->pinned));
    assert_null(acu_tensor_host(t->host));
    assert_int_equal(acu_buffer_address(t->buffer), 0);
    assert_ptr_equal(acu_buffer_host(t->wrapped), memory);
    assert_int_equal(acu_future_wait(t->future, 0), ACU_OK); /* work that was complete stays so */
}

static void no_calls(void)
{
    for (int call = 0; call < ACU_CALL_COUNT; call++)
        if (acu_driver_calls((acu_driver_call)call))
            fail_msg("%s was called", acu_driver_call_name((acu_driver_call)call));
    acu_driver_count_calls(false);
}

/* An old kernel, tensor or pool beside a new one: the ordinals are the same. An old stream or
 * policy is not passed over. */
static void does_not_mix(const things *t, acu_device *fresh)
{
    acu_submit_options from_pool = {.size = sizeof from_pool, .pool = t->pool};
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = t->stream};
    acu_submit_options by_policy = {.size = sizeof by_policy, .policy = t->policy};
    acu_kernel *kernel = test_kernel(fresh, test_reset_ptx, "count");
    acu_tensor *x = zero(fresh);
    STALE(acu_submit(NULL, count_op(kernel, t->tensor, 0), NULL, NULL));
    STALE(acu_submit(NULL, count_op(t->kernel, x, 0), NULL, NULL));
    STALE(acu_submit(NULL, acu_copy(x, t->tensor), NULL, NULL));
    STALE(acu_submit(fresh, acu_dup(x), &from_pool, NULL));
    STALE(acu_submit(fresh, acu_dup(x), &on_stream, NULL));
    STALE(acu_submit(fresh, acu_dup(x), &by_policy, NULL));
    STALE(acu_submit(fresh, acu_with_pool(t->pool, acu_dup(x)), NULL, NULL));
    acu_tensor_release(x);
    acu_kernel_release(kernel);
}

static void release(things *t)
{
    acu_buffer_release(t->buffer);
    acu_buffer_release(t->pinned);
    acu_buffer_release(t->wrapped);
    acu_tensor_release(t->tensor);
    acu_tensor_release(t->host);
    acu_module_release(t->module);
    acu_kernel_release(t->kernel);
    acu_stream_release(t->stream);
    acu_event_release(t->event);
    acu_policy_release(t->policy);
    acu_pool_release(t->pool);
    acu_graph_release(t->graph);
    acu_future_release(t->future);
    acu_op_release(t->op);
}

static void what_was_made_before_never_reaches_the_driver(void **state)
{
    (void)state;
    acu_device *old = test_open();
    things t;
    make(old, &t);
    unwrapped = 0;
    acu_device *fresh = reset(old);
    acu_driver_count_calls(true);
    is_stale(old, &t, fresh);
    release(&t);
    test_close(old);
    no_calls();
    assert_int_equal(unwrapped, 1);
    computes(fresh);
    test_close(fresh);
    leaves_nothing();
}

static void the_new_device_takes_its_place(void **state)
{
    (void)state;
    acu_open_options options = test_options(0);
    options.streams = 3;
    acu_device *old = NULL, *again = NULL;
    things t;
    assert_works(acu_open(&options, &old));
    make(old, &t);
    assert_fails(acu_sync(old, NULL, NULL), ACU_ERR_INVALID, "NULL where an op should be");
    acu_device *fresh = reset(old);
    assert_non_null(strstr(acu_last_error()->message, "NULL where an op should be"));
    does_not_mix(&t, fresh);
    assert_ptr_equal(acu_device_default(), fresh);
    assert_int_equal(acu_device_status(fresh, NULL), ACU_OK);
    assert_works(acu_open(&options, &again));
    assert_ptr_equal(again, fresh);
    test_close(again);
    assert_int_equal(fresh->policy->count, 3);
    computes(fresh);
    release(&t);
    test_close(old);
    computes(fresh);
    test_close(fresh);
    leaves_nothing();
}

static void the_new_device_may_go_first(void **state)
{
    (void)state;
    acu_device *old = test_open(), *fresh = reset(old);
    acu_tensor *x = zero(fresh);
    test_close(fresh);
    acu_tensor_release(x);
    test_close(old);
    fresh = test_open();
    computes(fresh);
    test_close(fresh);
    leaves_nothing();
}

static void again_and_again(void **state)
{
    (void)state;
    acu_device *devices[4] = {test_open()}, *wrong = NULL;
    for (int i = 1; i < 4; i++) {
        devices[i] = reset(devices[i - 1]);
        computes(devices[i]);
    }
    STALE(acu_device_reset(devices[1], &promised, &wrong));
    for (int i = 0; i < 3; i++)
        test_close(devices[i]);
    acu_device_retain(devices[3]);
    test_close(devices[3]);
    assert_fails(acu_device_reset(devices[3], &promised, &wrong), ACU_ERR_INVALID, "not open");
    acu_device_release(devices[3]);
    leaves_nothing();
}

static void wrapped_memory_can_be_wrapped_anew(void **state)
{
    (void)state;
    acu_device *old = test_open();
    acu_buffer *before, *after;
    acu_tensor *x;
    unwrapped = 0;
    assert_works(acu_buffer_wrap_host(old, memory, sizeof memory, ACU_USER(NULL, note_unwrapped),
                                      &before));
    acu_device *fresh = reset(old);
    assert_works(acu_buffer_wrap_host(fresh, memory, sizeof memory, ACU_USER(NULL, note_unwrapped),
                                      &after));
    assert_works(acu_tensor_create(after, 0, ACU_I32, ACU_SHAPE(1024), &x));
    acu_buffer_release(before);
    assert_int_equal(unwrapped, 1);
    memory[1023] = 5;
    acu_tensor *copy = NULL;
    assert_works(acu_sync(fresh, acu_to_device(fresh, x), &copy));
    int back[1024];
    assert_works(acu_read_sync(copy, back, sizeof back));
    assert_int_equal(back[1023], 5);
    acu_tensor_release(copy);
    acu_tensor_release(x);
    acu_buffer_release(after);
    assert_int_equal(unwrapped, 2);
    test_close(old);
    test_close(fresh);
    leaves_nothing();
}

/* ---- while work is under way ---- */

static _Atomic(bool) may_go;

static acu_status wait_for_go(void *user, const acu_val *values, size_t count)
{
    (void)user, (void)values, (void)count;
    while (!atomic_load(&may_go))
        sched_yield();
    return ACU_OK;
}

static void *reset_there(void *device)
{
    return reset(device);
}

/* Work on the device succeeds; work that still waits for the host is not issued. */
static void work_in_flight_is_waited_for(void **state)
{
    (void)state;
    acu_device *old = test_open();
    acu_kernel *kernel = test_kernel(old, test_reset_ptx, "count");
    acu_tensor *x = zero(old), *y = zero(old);
    acu_stream *stream;
    acu_future *running, *pending;
    assert_works(acu_stream_create(old, 0, &stream));
    acu_submit_options on_stream = {.size = sizeof on_stream, .stream = stream};
    atomic_store(&may_go, false);
    test_gate_close(old, acu_stream_raw(stream));
    assert_works(acu_submit(NULL, count_op(kernel, x, 0), &on_stream, &running));
    acu_op *ops[] = {acu_op_host(wait_for_go, ACU_USER(NULL, NULL),
                                 ACU_ARGS(acu_inout(acu_to_host(y))), ACU_SITE),
                     NULL};
    ops[1] = acu_copy(y, acu_to_device(old, ops[0]));
    assert_works(acu_submit(NULL, ops[1], NULL, &pending));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, reset_there, old), 0);
    while (!atomic_load(&old->refusing))
        sched_yield();
    assert_int_equal(acu_future_poll(running), ACU_NOT_READY);
    atomic_store(&may_go, true);
    assert_int_equal(acu_future_wait(pending, LIMIT), ACU_ERR_STALE);
    test_gate_open();
    assert_works(acu_future_wait(running, LIMIT));
    void *fresh = NULL;
    pthread_join(thread, &fresh);
    acu_error error;
    assert_int_equal(acu_future_error(pending, &error), ACU_ERR_STALE);
    assert_non_null(strstr(error.message, "reset"));
    computes(fresh);
    acu_future_release(running);
    acu_future_release(pending);
    acu_tensor_release(x);
    acu_tensor_release(y);
    acu_kernel_release(kernel);
    acu_stream_release(stream);
    test_close(old);
    test_close(fresh);
    leaves_nothing();
}

enum { THREADS = 4 };

typedef struct user {
    pthread_t thread;
    acu_device *device;
    acu_kernel *kernel;
    _Atomic(bool) begun;
} user;

/* Goes on until a call answers that the device is gone. */
static void *use(void *context)
{
    user *u = context;
    acu_tensor *x = NULL;
    acu_status status = acu_sync(u->device, acu_zeros(ACU_I32, ACU_SHAPE(1)), &x);
    while (status == ACU_OK) {
        acu_future *future = NULL;
        status = acu_submit(NULL, count_op(u->kernel, x, 0), NULL, &future);
        atomic_store(&u->begun, true);
        if (status == ACU_OK)
            status = acu_future_wait(future, LIMIT);
        acu_future_release(future);
        int32_t value;
        if (status == ACU_OK)
            status = acu_read_sync(x, &value, sizeof value);
    }
    acu_tensor_release(x);
    return (void *)(intptr_t)status;
}

static void other_threads_are_told(bool runtime_thread)
{
    acu_open_options options = test_options(0);
    options.runtime_thread = runtime_thread;
    user users[THREADS];
    acu_device *old = NULL;
    assert_works(acu_open(&options, &old));
    acu_kernel *kernel = test_kernel(old, test_reset_ptx, "count");
    for (int i = 0; i < THREADS; i++) {
        users[i] = (user){.device = old, .kernel = kernel};
        assert_int_equal(pthread_create(&users[i].thread, NULL, use, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        while (!atomic_load(&users[i].begun))
            sched_yield();
    acu_device *fresh = reset(old);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(users[i].thread, &status);
        assert_int_equal((intptr_t)status, ACU_ERR_STALE);
    }
    assert_int_equal(fresh->runtime_thread, runtime_thread);
    computes(fresh);
    acu_kernel_release(kernel);
    test_close(old);
    test_close(fresh);
    leaves_nothing();
}

static void threads_that_use_it_are_told(void **state)
{
    (void)state;
    other_threads_are_told(false);
}

static void threads_that_hand_over_are_told(void **state)
{
    (void)state;
    other_threads_are_told(true);
}

/* Its record says so, whoever was to plan it. */
static void what_was_only_scheduled_says_where_it_is_from(void **state)
{
    (void)state;
    for (int runtime_thread = 0; runtime_thread < 2; runtime_thread++) {
        acu_open_options options = test_options(0);
        options.runtime_thread = runtime_thread;
        acu_device *old = NULL;
        acu_policy *policy;
        acu_future *future;
        acu_error error;
        assert_works(acu_open(&options, &old));
        assert_works(acu_policy_single(old, NULL, &policy));
        acu_tensor *x = zero(old);
        acu_op *op = acu_op_named(acu_fill(x, acu_i32(1)), "my fill");
        assert_works(acu_schedule(policy, op, &future));
        acu_device *fresh = reset(old);
        assert_works(acu_future_start(future));
        assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_STALE);
        assert_int_equal(acu_future_error(future, &error), ACU_ERR_STALE);
        assert_string_equal(error.op, "my fill");
        assert_non_null(error.file);
        acu_future_release(future);
        acu_tensor_release(x);
        acu_policy_release(policy);
        test_close(old);
        test_close(fresh);
        leaves_nothing();
    }
}

/* ---- several devices ---- */

static void direct_access_goes_with_the_context(void **state)
{
    (void)state;
    test_software_only();
    acu_device *devices[2];
    test_open_n(devices, 2);
    acu_tensor *far = zero(devices[1]), *near = zero(devices[0]);
    acu_kernel *kernel = test_kernel(devices[0], test_reset_ptx, "count");
    assert_works(acu_device_open_peer(devices[0], devices[1]));
    assert_works(acu_sync(NULL, count_op(kernel, far, 0), NULL));
    acu_device *fresh = reset(devices[1]);
    assert_ptr_equal(acu_device_default(), devices[0]); /* still */
    assert_fails(acu_sync(NULL, count_op(kernel, far, 0), NULL), ACU_ERR_STALE, "device 1");
    assert_fails(acu_sync(NULL, acu_copy(near, far), NULL), ACU_ERR_STALE, "device 1");
    acu_tensor_release(far);
    far = zero(fresh);
    assert_fails(acu_sync(NULL, count_op(kernel, far, 0), NULL), ACU_ERR_DEVICE, "device 1");
    assert_works(acu_device_open_peer(devices[0], fresh));
    assert_works(acu_sync(NULL, count_op(kernel, far, 0), NULL));
    assert_works(acu_sync(NULL, acu_copy(near, far), NULL));
    int32_t value;
    assert_works(acu_read_sync(near, &value, sizeof value));
    assert_int_equal(value, 1);
    acu_tensor_release(far);
    acu_tensor_release(near);
    acu_kernel_release(kernel);
    test_close(devices[0]);
    test_close(devices[1]);
    test_close(fresh);
    leaves_nothing();
}

/* ---- after a fault ---- */

static void lose(acu_device *device)
{
    acu_stream *stream = NULL;
    assert_works(acu_stream_create(device, 0, &stream));
    acu_driver_fault fault = {.size = sizeof fault,
                              .call = ACU_CALL_StreamQuery,
                              .result = ACU_CUDA_ERROR_ILLEGAL_ADDRESS};
    assert_works(acu_driver_fail(&fault));
    assert_int_equal(acu_stream_poll(stream), ACU_ERR_DEVICE_LOST);
    acu_driver_fail_clear();
    acu_stream_release(stream);
}

/* An injected fault; the context itself is sound. */
static void what_the_driver_heals_works_again(void **state)
{
    (void)state;
    acu_device *old = test_open();
    lose(old);
    acu_device *fresh = reset(old);
    computes(fresh);
    assert_fails(acu_submit(old, acu_zeros(ACU_I32, ACU_SHAPE(1)), NULL, NULL), ACU_ERR_STALE, "");
    test_close(old);
    test_close(fresh);
    leaves_nothing();
}

/* Each driver call of a reset is made to fail in turn: the reset answers that the device is not
 * healed, or works all the same. If not healed, the device stays lost, and the reset can be tried
 * again. */
static void what_does_not_heal_is_said(void **state)
{
    (void)state;
    uint64_t calls = 1;
    int failed = 0;
    for (uint64_t nth = 0; nth <= calls; nth += nth < 4 || !test_on_gpu() ? 1 : 4) {
        acu_device *old = test_open(), *fresh = NULL;
        acu_driver_fault fault = {.size = sizeof fault, .call = ACU_CALL_ANY, .nth = nth};
        lose(old);
        acu_driver_count_calls(true);
        if (nth)
            assert_works(acu_driver_fail(&fault));
        acu_status status = acu_device_reset(old, &promised, &fresh);
        acu_driver_fail_clear();
        if (nth == 0)
            calls = acu_driver_calls(ACU_CALL_ANY);
        acu_driver_count_calls(false);
        if (status != ACU_OK) {
            failed++;
            assert_int_equal(status, ACU_ERR_NOT_HEALED);
            assert_int_equal(acu_last_error()->status, ACU_ERR_NOT_HEALED);
            assert_non_null(strstr(acu_last_error()->message, "only another process"));
            assert_non_null(acu_last_error()->driver_call);
            assert_int_equal(acu_device_status(old, NULL), ACU_ERR_DEVICE_LOST);
            assert_null(fresh);
            fresh = reset(old);
        }
        computes(fresh);
        test_close(old);
        test_close(fresh);
        leaves_nothing();
    }
    assert_true(failed > 5);
}

static void without_memory_it_can_be_tried_again(void **state)
{
    (void)state;
    acu_status status = ACU_ERR_NO_MEMORY;
    for (uint64_t nth = 1; status == ACU_ERR_NO_MEMORY;
         nth += test_on_gpu() ? 7 : 1) { /* a context takes a third of a second there */
        acu_device *old = test_open(), *fresh = NULL;
        acu_debug_fail_alloc(nth, true);
        status = acu_device_reset(old, &promised, &fresh);
        acu_debug_fail_alloc(0, false);
        if (status == ACU_ERR_NO_MEMORY) {
            assert_int_equal(acu_device_status(old, NULL), ACU_ERR_STALE);
            fresh = reset(old);
        }
        computes(fresh);
        test_close(old);
        test_close(fresh);
        leaves_nothing();
        assert_true(nth < 1000);
    }
    assert_int_equal(status, ACU_OK);
}

/* A real fault, not an injected one. No driver so far heals such a fault. */
static void case_stop(void **state)
{
    (void)state;
    acu_device *devices[2] = {test_open(), NULL}, *fresh = NULL, *again = NULL;
    acu_kernel *kernel = test_kernel(devices[0], test_reset_ptx, "count");
    acu_tensor *x = zero(devices[0]);
    acu_open_options options = test_options(1), first = test_options(0);
    int count = 0;
    assert_works(acu_device_count_load(&first, &count));
    if (count > 1)
        assert_works(acu_open(&options, &devices[1]));
    assert_int_equal(acu_sync(NULL, count_op(kernel, x, 1), NULL), ACU_ERR_DEVICE_LOST);
    acu_status status = acu_device_reset(devices[0], &promised, &fresh);
    assert_int_equal(status, ACU_ERR_NOT_HEALED);
    assert_int_equal(acu_device_status(devices[0], NULL), ACU_ERR_DEVICE_LOST);
    assert_int_equal(acu_open(&first, &again), ACU_ERR_DEVICE_LOST);
    acu_tensor_release(x);
    acu_kernel_release(kernel);
    if (devices[1]) { /* the fault took it along */
        assert_int_equal(acu_sync(devices[1], acu_zeros(ACU_U32, ACU_SHAPE(4)), NULL),
                         ACU_ERR_DEVICE_LOST);
        (void)acu_close(devices[1]);
    }
    status = acu_close(devices[0]);
    assert_true(status == ACU_OK || status == ACU_ERR_DEVICE_LOST);
    leaves_nothing();
}

static void after_a_trap(void **state)
{
    (void)state;
    test_in_process("stop");
}

int main(int count, char **arguments)
{
    static const test_case cases[] = {{"stop", case_stop}};
    if (count > 1)
        return test_run_case(cases, 1, arguments[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_with_the_promise),
        cmocka_unit_test(what_was_made_before_never_reaches_the_driver),
        cmocka_unit_test(the_new_device_takes_its_place),
        cmocka_unit_test(the_new_device_may_go_first),
        cmocka_unit_test(again_and_again),
        cmocka_unit_test(wrapped_memory_can_be_wrapped_anew),
        cmocka_unit_test(work_in_flight_is_waited_for),
        cmocka_unit_test(threads_that_use_it_are_told),
        cmocka_unit_test(threads_that_hand_over_are_told),
        cmocka_unit_test(what_was_only_scheduled_says_where_it_is_from),
        cmocka_unit_test(direct_access_goes_with_the_context),
        cmocka_unit_test(what_the_driver_heals_works_again),
        cmocka_unit_test(what_does_not_heal_is_said),
        cmocka_unit_test(without_memory_it_can_be_tried_again),
        cmocka_unit_test(after_a_trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
