/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices and contexts: attributes, the stack of current contexts, destruction, invalid handles. */
#include "softcuda/driver_test.h"

#include <pthread.h>

static void devices_are_described(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    int count = 0, value = 0;
    OK(cu->DeviceGetCount(&count));
    assert_true(count >= 1);
    CUdevice device;
    IS(cu->DeviceGet(&device, count), ERROR_INVALID_DEVICE);
    IS(cu->DeviceGet(&device, -1), ERROR_INVALID_DEVICE);
    acu_CUuuid uuids[16];
    for (int i = 0; i < count && i < 16; i++) {
        OK(cu->DeviceGetUuid(&uuids[i], i));
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(uuids[i].bytes, uuids[j].bytes, 16);
        char name[64] = "", bus[32] = "";
        OK(cu->DeviceGetName(name, sizeof name, i));
        assert_true(strlen(name) > 0);
        OK(cu->DeviceGetPCIBusId(bus, sizeof bus, i));
        OK(cu->DeviceGetByPCIBusId(&device, bus));
        assert_int_equal(device, i);
    }
    OK(cu->DeviceGetAttribute(&value, ACU_CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    assert_int_equal(value, 32);
    OK(cu->DeviceGetAttribute(&value, ACU_CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0));
    assert_int_equal(value, 1024);
    OK(cu->DeviceGetAttribute(&value, ACU_CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
    assert_int_equal(value, 1);
    IS(cu->DeviceGetAttribute(&value, 100000, 0), ERROR_INVALID_VALUE);
    IS(cu->DeviceGetAttribute(NULL, ACU_CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), ERROR_INVALID_VALUE);
    size_t bytes = 0;
    OK(cu->DeviceTotalMem(&bytes, 0));
    assert_true(bytes > 0);
    close_driver(cu);
}

static void contexts_stack(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUcontext primary, own, seen;
    OK(cu->CtxGetCurrent(&primary));
    OK(cu->CtxCreate(&own, 0, 0));
    OK(cu->CtxGetCurrent(&seen));
    assert_ptr_equal(seen, own);
    OK(cu->CtxPushCurrent(primary));
    OK(cu->CtxPopCurrent(&seen));
    assert_ptr_equal(seen, primary);
    OK(cu->CtxGetCurrent(&seen));
    assert_ptr_equal(seen, own);
    CUdevice device = -1;
    OK(cu->CtxGetDevice(&device));
    assert_int_equal(device, 0);
    OK(cu->CtxDestroy(own)); /* takes itself off the stack */
    OK(cu->CtxGetCurrent(&seen));
    assert_ptr_equal(seen, primary);
    OK(cu->CtxSetCurrent(NULL));
    close_driver(cu);
}

static void *without_context(void *argument)
{
    const acu_driver_table *cu = argument;
    CUdeviceptr at;
    CUstream stream;
    CUdevice device;
    CUcontext current = (CUcontext)(uintptr_t)1;
    IS(cu->MemAlloc(&at, 16), ERROR_INVALID_CONTEXT);
    IS(cu->StreamCreate(&stream, 0), ERROR_INVALID_CONTEXT);
    IS(cu->CtxSynchronize(), ERROR_INVALID_CONTEXT);
    IS(cu->CtxGetDevice(&device), ERROR_INVALID_CONTEXT);
    IS(cu->CtxPopCurrent(&current), ERROR_INVALID_CONTEXT);
    OK(cu->CtxGetCurrent(&current));
    assert_null(current);
    return NULL;
}

static void no_context_no_call(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, without_context, (void *)(uintptr_t)cu), 0);
    pthread_join(thread, NULL);
    close_driver(cu);
}

static void primary_contexts_are_counted(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUcontext first, second;
    unsigned flags;
    int active;
    OK(cu->DevicePrimaryCtxRetain(&first, 0));
    OK(cu->DevicePrimaryCtxRetain(&second, 0));
    assert_ptr_equal(first, second);
    OK(cu->DevicePrimaryCtxRelease(0));
    OK(cu->DevicePrimaryCtxRelease(0));
    OK(cu->DevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    OK(cu->DevicePrimaryCtxRelease(0)); /* the one of open_driver */
    OK(cu->DevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    IS(cu->DevicePrimaryCtxRelease(0), ERROR_INVALID_CONTEXT);
    IS(cu->DevicePrimaryCtxRetain(&first, 1000), ERROR_INVALID_DEVICE);
    OK(cu->CtxSetCurrent(NULL));
}

/* Each call that takes a handle, with this value for it. */
static void refuse(const acu_driver_table *cu, uintptr_t value)
{
    CUstream stream = (CUstream)value;
    CUevent event = (CUevent)value;
    CUmodule module = (CUmodule)value;
    CUfunction function = (CUfunction)value;
    CUmemoryPool pool = (CUmemoryPool)value;
    CUcontext current;
    OK(cu->CtxGetCurrent(&current));
    assert_int_not_equal(cu->StreamQuery(stream), 0);
    assert_int_not_equal(cu->StreamSynchronize(stream), 0);
    assert_int_not_equal(cu->StreamDestroy(stream), 0);
    assert_int_not_equal(cu->EventQuery(event), 0);
    assert_int_not_equal(cu->EventRecord(event, NULL), 0);
    assert_int_not_equal(cu->EventDestroy(event), 0);
    assert_int_not_equal(cu->StreamWaitEvent(NULL, event, 0), 0);
    assert_int_not_equal(cu->ModuleUnload(module), 0);
    assert_int_not_equal(cu->ModuleGetFunction(&function, module, "store"), 0);
    function = (CUfunction)value;
    assert_int_not_equal(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
    assert_int_not_equal(cu->MemPoolDestroy(pool), 0);
    assert_int_not_equal(cu->MemPoolTrimTo(pool, 0), 0);
    assert_int_not_equal(cu->CtxDestroy((CUcontext)value), 0);
    assert_int_not_equal(cu->CtxPushCurrent((CUcontext)value), 0);
    assert_int_not_equal(cu->LibraryUnload((CUlibrary)value), 0);
}

/* Only the software device does this: a GPU's driver follows such pointers. */
static void handles_of_nothing_are_refused(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    CUstream stream;
    CUevent event;
    CUmodule module = test_module(cu);
    CUfunction function = test_kernel(cu, module, "store");
    OK(cu->StreamCreate(&stream, 0));
    OK(cu->EventCreate(&event, 0));
    const uintptr_t values[] = {3, 0x1234, 0x7fff12345678, UINTPTR_MAX, (uintptr_t)&stream};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        refuse(cu, values[i]);
    OK(cu->StreamDestroy(stream));
    OK(cu->EventDestroy(event));
    OK(cu->ModuleUnload(module));
    refuse(cu, (uintptr_t)stream);
    refuse(cu, (uintptr_t)event);
    refuse(cu, (uintptr_t)module);
    refuse(cu, (uintptr_t)function); /* went with its module */
    /* The slot of a dead handle is used again, under another handle. */
    CUevent next;
    OK(cu->EventCreate(&next, 0));
    assert_ptr_not_equal(next, event);
    IS(cu->EventQuery(event), ERROR_INVALID_HANDLE);
    OK(cu->EventQuery(next));
    OK(cu->EventDestroy(next));
    close_driver(cu);
}

static void a_context_takes_its_objects_along(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    size_t before, after, total;
    OK(cu->MemGetInfo(&before, &total));
    CUcontext own;
    CUstream stream;
    CUevent event;
    CUdeviceptr at, pooled, none;
    OK(cu->CtxCreate(&own, 0, 0));
    OK(cu->StreamCreate(&stream, 0));
    OK(cu->EventCreate(&event, 0));
    OK(cu->MemAlloc(&at, 1 << 20));
    OK(cu->MemAllocAsync(&pooled, 1 << 20, stream));
    CUmodule module = test_module(cu);
    OK(launch_store(cu, module, stream, pooled, 1));
    OK(cu->EventRecord(event, stream));
    OK(cu->CtxPushCurrent(own)); /* twice on the stack: below, a destroyed one stays behind */
    OK(cu->CtxDestroy(own));
    IS(cu->MemAlloc(&none, 16), ERROR_CONTEXT_IS_DESTROYED);
    OK(cu->CtxPopCurrent(&own));
    IS(cu->StreamQuery(stream), ERROR_INVALID_HANDLE);
    IS(cu->EventQuery(event), ERROR_INVALID_HANDLE);
    IS(cu->ModuleUnload(module), ERROR_INVALID_HANDLE);
    IS(cu->MemFree(at), ERROR_INVALID_VALUE);
    OK(cu->MemFree(pooled)); /* the device's, not the context's */
    OK(cu->StreamSynchronize(NULL));
    OK(cu->MemGetInfo(&after, &total));
    assert_int_equal(before, after);
    close_driver(cu);
}

static void limits_are_kept(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    size_t value = 0;
    int least = 1, greatest = 1;
    unsigned version = 0;
    CUcontext current;
    OK(cu->CtxSetLimit(ACU_CU_LIMIT_STACK_SIZE, 4096));
    OK(cu->CtxGetLimit(&value, ACU_CU_LIMIT_STACK_SIZE));
    assert_true(value >= 4096);
    assert_int_not_equal(cu->CtxGetLimit(&value, 1000), 0);
    OK(cu->CtxGetStreamPriorityRange(&least, &greatest));
    assert_int_equal(least, 0);
    assert_true(greatest <= 0);
    OK(cu->CtxGetCurrent(&current));
    OK(cu->CtxGetApiVersion(current, &version));
    assert_true(version >= 3020);
    close_driver(cu);
}

static void errors_have_names(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    const char *text = NULL;
#define CHECK(name, value) \
    if (SOFTWARE) { \
        OK(cu->GetErrorName(value, &text)); \
        assert_string_equal(text, #name); \
        OK(cu->GetErrorString(value, &text)); \
        assert_true(strlen(text) > 0); \
    }
    ACU_ABI_RESULTS(CHECK)
#undef CHECK
    OK(cu->GetErrorName(ACU_CUDA_ERROR_NOT_READY, &text));
    assert_string_equal(text, "CUDA_ERROR_NOT_READY");
    IS(cu->GetErrorName(54321, &text), ERROR_INVALID_VALUE);
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_described),
        cmocka_unit_test(contexts_stack),
        cmocka_unit_test(no_context_no_call),
        cmocka_unit_test(primary_contexts_are_counted),
        cmocka_unit_test(handles_of_nothing_are_refused),
        cmocka_unit_test(a_context_takes_its_objects_along),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(errors_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
