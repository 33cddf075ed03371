/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Streams and events: what runs side by side, what waits for what, and which calls return at
 * once. */
#include "softcuda/driver_test.h"

#include <pthread.h>

/* A GPU has few queues for its streams (8, as it comes): more streams hold each other up. */
#define STREAMS_SOFTWARE 100
#define STREAMS_GPU 4

static void launches_return_before_they_run(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUstream stream;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 4));
    OK(cu->MemsetD32(at, 0, 1));
    OK(cu->StreamSynchronize(NULL));
    gate g;
    gate_close(cu, &g, stream);
    for (int i = 0; i < 200; i++)
        OK(launch_add_one(cu, module, stream, at, 1));
    IS(cu->StreamQuery(stream), ERROR_NOT_READY);
    assert_int_equal(word_at(cu, at), 0); /* the legacy stream does not wait for this one */
    gate_open(&g);
    OK(cu->StreamSynchronize(stream));
    OK(cu->StreamQuery(stream));
    assert_int_equal(word_at(cu, at), 200);
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

/* With timing or without, an event that is recorded on a blocking stream comes behind the legacy
 * stream. */
static void events_of_blocking_streams_wait_for_the_legacy_stream(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    static const unsigned flags[] = {ACU_CU_EVENT_DISABLE_TIMING, ACU_CU_EVENT_DEFAULT};
    CUstream blocking;
    CUevent events[2];
    OK(cu->StreamCreate(&blocking, ACU_CU_STREAM_DEFAULT));
    gate g;
    gate_close(cu, &g, NULL);
    for (int i = 0; i < 2; i++) {
        OK(cu->EventCreate(&events[i], flags[i]));
        OK(cu->EventRecord(events[i], blocking));
        IS(cu->EventQuery(events[i]), ERROR_NOT_READY);
    }
    gate_open(&g);
    for (int i = 0; i < 2; i++) {
        OK(cu->EventSynchronize(events[i]));
        OK(cu->EventDestroy(events[i]));
    }
    OK(cu->StreamDestroy(blocking));
    close_driver(cu);
}

/* Two kernels, each of which waits for the other's stream: they end only if both run. */
static void streams_run_side_by_side(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUstream a, b;
    CUdeviceptr flags;
    OK(cu->StreamCreate(&a, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&b, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&flags, 8));
    OK(cu->MemsetD32(flags, 0, 2));
    OK(cu->StreamSynchronize(NULL));
    OK(launch_spin(cu, module, a, flags));
    OK(launch_store(cu, module, a, flags + 4, 7));
    OK(launch_store(cu, module, b, flags, 1));
    OK(launch_spin(cu, module, b, flags + 4));
    OK(cu->StreamSynchronize(b));
    OK(cu->StreamSynchronize(a));
    assert_int_equal(word_at(cu, flags + 4), 7);
    OK(cu->MemFree(flags));
    OK(cu->StreamDestroy(a));
    OK(cu->StreamDestroy(b));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

/* Several streams wait for one event; another stream is not affected. */
static void waiting_streams_hold_nobody_up(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUstream first, other, streams[STREAMS_SOFTWARE];
    unsigned count = SOFTWARE ? STREAMS_SOFTWARE : STREAMS_GPU;
    CUevent event;
    CUdeviceptr at;
    OK(cu->StreamCreate(&first, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&other, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING));
    OK(cu->MemAlloc(&at, 4 * (count + 1)));
    OK(cu->MemsetD32(at, 0, count + 1));
    OK(cu->StreamSynchronize(NULL));
    gate g;
    gate_close(cu, &g, first);
    OK(cu->EventRecord(event, first));
    for (unsigned i = 0; i < count; i++) {
        OK(cu->StreamCreate(&streams[i], ACU_CU_STREAM_NON_BLOCKING));
        OK(cu->StreamWaitEvent(streams[i], event, 0));
        OK(launch_add_one(cu, module, streams[i], at + 4 * i, 1));
    }
    OK(launch_add_one(cu, module, other, at + 4 * count, 1));
    OK(cu->StreamSynchronize(other));
    for (unsigned i = 0; i < count; i++)
        IS(cu->StreamQuery(streams[i]), ERROR_NOT_READY);
    gate_open(&g);
    for (unsigned i = 0; i < count; i++) {
        OK(cu->StreamSynchronize(streams[i]));
        assert_int_equal(word_at(cu, at + 4 * i), 1);
        OK(cu->StreamDestroy(streams[i]));
    }
    OK(cu->MemFree(at));
    OK(cu->EventDestroy(event));
    OK(cu->StreamDestroy(first));
    OK(cu->StreamDestroy(other));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void a_wait_means_the_record_before_it(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream a, b, c;
    CUevent event;
    OK(cu->StreamCreate(&a, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&b, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&c, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->EventCreate(&event, 0));
    OK(cu->StreamWaitEvent(b, event, 0)); /* never recorded: nothing to wait for */
    OK(cu->StreamSynchronize(b));
    OK(cu->EventQuery(event));
    OK(cu->EventSynchronize(event));
    OK(cu->EventRecord(event, a));
    OK(cu->StreamWaitEvent(b, event, 0));
    OK(cu->StreamSynchronize(b));
    gate g;
    gate_close(cu, &g, a);
    OK(cu->EventRecord(event, a));
    OK(cu->StreamWaitEvent(c, event, 0));
    IS(cu->EventQuery(event), ERROR_NOT_READY);
    OK(cu->EventRecord(event, b)); /* again, elsewhere: c still waits for the record on a */
    OK(cu->EventSynchronize(event));
    IS(cu->StreamQuery(c), ERROR_NOT_READY);
    gate_open(&g);
    OK(cu->StreamSynchronize(c));
    OK(cu->StreamSynchronize(a));
    OK(cu->EventDestroy(event));
    OK(cu->StreamDestroy(a));
    OK(cu->StreamDestroy(b));
    OK(cu->StreamDestroy(c));
    close_driver(cu);
}

static void events_tell_time(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUevent first, second, untimed;
    float ms = -1;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->EventCreate(&first, 0));
    OK(cu->EventCreate(&second, 0));
    OK(cu->EventCreate(&untimed, ACU_CU_EVENT_DISABLE_TIMING));
    IS(cu->EventElapsedTime(&ms, first, second), ERROR_INVALID_HANDLE); /* not recorded */
    OK(cu->EventRecord(first, stream));
    gate g;
    gate_close(cu, &g, stream);
    OK(cu->EventRecord(second, stream));
    OK(cu->EventRecord(untimed, stream));
    OK(cu->EventSynchronize(first));
    IS(cu->EventElapsedTime(&ms, first, second), ERROR_NOT_READY);
    gate_open(&g);
    OK(cu->EventSynchronize(second));
    OK(cu->EventElapsedTime(&ms, first, second));
    assert_true(ms >= 0);
    OK(cu->EventSynchronize(untimed));
    IS(cu->EventElapsedTime(&ms, first, untimed), ERROR_INVALID_HANDLE);
    OK(cu->EventDestroy(first));
    OK(cu->EventDestroy(second));
    OK(cu->EventDestroy(untimed));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

/* The legacy stream waits for blocking streams, and they for it; non-blocking ones are not
 * affected. */
static void the_legacy_stream_orders_blocking_ones(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream blocking, later, free_one;
    OK(cu->StreamCreate(&blocking, ACU_CU_STREAM_DEFAULT));
    OK(cu->StreamCreate(&later, ACU_CU_STREAM_DEFAULT));
    OK(cu->StreamCreate(&free_one, ACU_CU_STREAM_NON_BLOCKING));
    CUevent on_legacy, on_later, on_free;
    OK(cu->EventCreate(&on_legacy, ACU_CU_EVENT_DISABLE_TIMING));
    OK(cu->EventCreate(&on_later, ACU_CU_EVENT_DISABLE_TIMING));
    OK(cu->EventCreate(&on_free, ACU_CU_EVENT_DISABLE_TIMING));
    CUdeviceptr at;
    OK(cu->MemAlloc(&at, 12));
    OK(cu->CtxSynchronize());
    gate g;
    gate_close(cu, &g, blocking);
    OK(cu->MemsetD32Async(at, 1, 1, NULL));
    OK(cu->EventRecord(on_legacy, NULL));
    OK(cu->MemsetD32Async(at + 4, 1, 1, later));
    OK(cu->EventRecord(on_later, later));
    OK(cu->MemsetD32Async(at + 8, 1, 1, free_one));
    OK(cu->EventRecord(on_free, free_one));
    OK(cu->EventSynchronize(on_free));
    IS(cu->EventQuery(on_legacy), ERROR_NOT_READY);
    IS(cu->EventQuery(on_later), ERROR_NOT_READY);
    IS(cu->StreamQuery(ACU_CU_STREAM_LEGACY), ERROR_NOT_READY);
    gate_open(&g);
    OK(cu->StreamSynchronize(NULL));
    OK(cu->EventQuery(on_legacy));
    OK(cu->EventSynchronize(on_later));
    OK(cu->MemFree(at));
    OK(cu->EventDestroy(on_legacy));
    OK(cu->EventDestroy(on_later));
    OK(cu->EventDestroy(on_free));
    OK(cu->StreamDestroy(blocking));
    OK(cu->StreamDestroy(later));
    OK(cu->StreamDestroy(free_one));
    close_driver(cu);
}

static void *on_own_stream(void *argument)
{
    const acu_driver_table *cu = argument;
    CUcontext context;
    OK(cu->DevicePrimaryCtxRetain(&context, 0));
    OK(cu->CtxSetCurrent(context));
    CUdeviceptr at;
    OK(cu->MemAlloc(&at, 4));
    OK(cu->MemsetD32Async(at, 9, 1, ACU_CU_STREAM_PER_THREAD));
    OK(cu->StreamSynchronize(ACU_CU_STREAM_PER_THREAD));
    assert_int_equal(word_at(cu, at), 9);
    OK(cu->MemFree(at));
    OK(cu->CtxSetCurrent(NULL));
    OK(cu->DevicePrimaryCtxRelease(0));
    return NULL;
}

static void threads_have_streams_of_their_own(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, on_own_stream, (void *)(uintptr_t)cu),
                         0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    close_driver(cu);
}

/* The handle is dead at once, and the work is done all the same. */
static void a_busy_stream_can_be_destroyed(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUevent event;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING));
    OK(cu->MemAlloc(&at, 4));
    gate g;
    gate_close(cu, &g, stream);
    OK(cu->MemsetD32Async(at, 5, 1, stream));
    OK(cu->EventRecord(event, stream));
    OK(cu->StreamDestroy(stream));
    if (SOFTWARE)
        IS(cu->StreamQuery(stream), ERROR_INVALID_HANDLE);
    IS(cu->EventQuery(event), ERROR_NOT_READY);
    gate_open(&g);
    OK(cu->EventSynchronize(event));
    assert_int_equal(word_at(cu, at), 5);
    OK(cu->MemFree(at));
    OK(cu->EventDestroy(event));
    close_driver(cu);
}

static void streams_know_what_they_are(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUcontext current, owner;
    unsigned flags = 99;
    int priority = 99, least, greatest;
    OK(cu->CtxGetStreamPriorityRange(&least, &greatest));
    OK(cu->StreamCreateWithPriority(&stream, ACU_CU_STREAM_NON_BLOCKING, greatest - 10));
    OK(cu->StreamGetFlags(stream, &flags));
    assert_int_equal(flags, ACU_CU_STREAM_NON_BLOCKING);
    OK(cu->StreamGetPriority(stream, &priority));
    assert_int_equal(priority, greatest); /* what is out of range is brought into it */
    OK(cu->CtxGetCurrent(&current));
    OK(cu->StreamGetCtx(stream, &owner));
    assert_ptr_equal(owner, current);
    OK(cu->StreamDestroy(stream));
    IS(cu->StreamCreate(&stream, 64), ERROR_INVALID_VALUE);
    IS(cu->StreamDestroy(NULL), ERROR_INVALID_HANDLE);
    unsigned status = 99;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamIsCapturing(stream, &status));
    assert_int_equal(status, ACU_CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

typedef struct inside {
    const acu_driver_table *cu;
    unsigned alloc, sync;
} inside;

static void calls_the_driver(void *argument)
{
    inside *in = argument;
    CUdeviceptr at;
    in->alloc = in->cu->MemAlloc(&at, 16);
    in->sync = in->cu->CtxSynchronize();
}

static void host_functions_may_not_call_the_driver(void **state)
{
    (void)state;
    software_only(); /* a GPU's driver may refuse, or not, or wait for itself */
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    inside in = {.cu = cu};
    OK(cu->LaunchHostFunc(stream, calls_the_driver, &in));
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(in.alloc, ACU_CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(in.sync, ACU_CUDA_ERROR_NOT_PERMITTED);
    IS(cu->LaunchHostFunc(stream, NULL, NULL), ERROR_INVALID_VALUE);
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

/* A stream waits for a number that another one writes. */
static void values_are_written_and_awaited(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int able = 0;
    OK(cu->DeviceGetAttribute(&able, ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    if (!able) {
        close_driver(cu);
        skip();
    }
    CUstream waits, writes;
    CUdeviceptr at;
    OK(cu->StreamCreate(&waits, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&writes, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 16));
    OK(cu->MemsetD32(at, 0, 4));
    OK(cu->StreamSynchronize(NULL));
    OK(cu->StreamWaitValue32(waits, at, 3, ACU_CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu->StreamWriteValue64(waits, at + 8, UINT64_C(0x100000002), 0));
    IS(cu->StreamQuery(waits), ERROR_NOT_READY);
    OK(cu->StreamWriteValue32(writes, at, 2, 0));
    OK(cu->StreamSynchronize(writes));
    IS(cu->StreamQuery(waits), ERROR_NOT_READY);
    OK(cu->StreamWriteValue32(writes, at, 4, 0));
    OK(cu->StreamWaitValue64(writes, at + 8, UINT64_C(0x100000002), ACU_CU_STREAM_WAIT_VALUE_EQ));
    OK(cu->StreamSynchronize(writes));
    OK(cu->StreamSynchronize(waits));
    assert_int_equal(word_at(cu, at + 8), 2);
    assert_int_equal(word_at(cu, at + 12), 1);
    IS(cu->StreamWriteValue32(writes, at + 1, 1, 0), ERROR_INVALID_VALUE);
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(waits));
    OK(cu->StreamDestroy(writes));
    close_driver(cu);
}

/* "At least" goes around: half of all numbers are ahead of each. "Nor" ends at the word's end. */
static void waits_compare_as_documented(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int able = 0, nor = 0;
    OK(cu->DeviceGetAttribute(&able, ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    OK(cu->DeviceGetAttribute(&nor, ACU_CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    if (!able || !nor) {
        close_driver(cu);
        skip();
    }
    CUstream stream, writer;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&writer, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 8));
    OK(cu->MemsetD32(at, 5, 2));
    OK(cu->StreamSynchronize(NULL));
    OK(cu->StreamWaitValue32(stream, at, 0xFFFFFFF0u, ACU_CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu->StreamSynchronize(stream));
    OK(cu->StreamWaitValue32(stream, at, 0xFFFFFFFAu, ACU_CU_STREAM_WAIT_VALUE_NOR));
    for (int i = 0; i < 100; i++) { /* others have time to run */
        OK(cu->MemsetD32Async(at + 4, 1, 1, NULL));
        OK(cu->StreamSynchronize(NULL));
        IS(cu->StreamQuery(stream), ERROR_NOT_READY);
    }
    OK(cu->StreamWriteValue32(writer, at, 1, 0));
    OK(cu->StreamSynchronize(stream));
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    OK(cu->StreamDestroy(writer));
    close_driver(cu);
}

/* An event's time is that of its last record, though an earlier one may come later. */
static void the_last_record_sets_the_time(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream late, stream;
    CUevent first, second;
    float ms = -1, again = -1;
    OK(cu->StreamCreate(&late, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->EventCreate(&first, 0));
    OK(cu->EventCreate(&second, 0));
    gate g;
    gate_close(cu, &g, late);
    OK(cu->EventRecord(first, late));
    OK(cu->EventRecord(first, stream));
    OK(cu->EventRecord(second, stream));
    OK(cu->StreamSynchronize(stream));
    OK(cu->EventElapsedTime(&ms, first, second));
    assert_true(ms >= 0);
    gate_open(&g);
    OK(cu->StreamSynchronize(late));
    OK(cu->EventElapsedTime(&again, first, second));
    assert_true(again == ms);
    OK(cu->EventDestroy(first));
    OK(cu->EventDestroy(second));
    OK(cu->StreamDestroy(late));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_return_before_they_run),
        cmocka_unit_test(events_of_blocking_streams_wait_for_the_legacy_stream),
        cmocka_unit_test(streams_run_side_by_side),
        cmocka_unit_test(waiting_streams_hold_nobody_up),
        cmocka_unit_test(a_wait_means_the_record_before_it),
        cmocka_unit_test(events_tell_time),
        cmocka_unit_test(the_legacy_stream_orders_blocking_ones),
        cmocka_unit_test(threads_have_streams_of_their_own),
        cmocka_unit_test(a_busy_stream_can_be_destroyed),
        cmocka_unit_test(streams_know_what_they_are),
        cmocka_unit_test(host_functions_may_not_call_the_driver),
        cmocka_unit_test(values_are_written_and_awaited),
        cmocka_unit_test(waits_compare_as_documented),
        cmocka_unit_test(the_last_record_sets_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
