/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Faults of kernels: they stay with their context, in every call. On the software device they end with
 * it. On an H100 (driver 580.159) they do not: after an illegal address in a context of its own, and
 * the destruction of that context, the primary context of the device answers the error as well. So a
 * GPU gets one fault, and only up to that point; acuda itself never counts on healing.
 */
#include "softcuda/driver_test.h"

#include "driver/softcuda.h"

typedef struct lab {
    const acu_driver_table *cu;
    CUcontext context;
    CUmodule module;
    CUfunction store;
    CUstream stream, other;
    CUevent event;
    CUdeviceptr at;
} lab;

/* A context of its own, to be lost. */
static lab open_lab(void)
{
    static int labs;
    open_driver();
    if (!SOFTWARE && labs++ > 0)
        skip();
    lab l = {.cu = open_driver()};
    OK(l.cu->CtxCreate(&l.context, 0, 0));
    l.module = test_module(l.cu);
    l.store = test_kernel(l.cu, l.module, "store");
    OK(l.cu->StreamCreate(&l.stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(l.cu->StreamCreate(&l.other, ACU_CU_STREAM_NON_BLOCKING));
    OK(l.cu->EventCreate(&l.event, 0));
    OK(l.cu->MemAlloc(&l.at, 4096));
    return l;
}

/* What every call of a lost context answers. */
static void is_lost(const lab *l, unsigned error)
{
    const acu_driver_table *cu = l->cu;
    CUdeviceptr at;
    CUstream stream;
    CUevent event;
    CUmodule module;
    unsigned word;
    assert_int_equal(cu->StreamQuery(l->stream), error);
    assert_int_equal(cu->StreamQuery(l->other), error);
    assert_int_equal(cu->StreamSynchronize(l->other), error);
    assert_int_equal(cu->StreamSynchronize(NULL), error);
    assert_int_equal(cu->CtxSynchronize(), error);
    assert_int_equal(cu->EventQuery(l->event), error);
    assert_int_equal(cu->EventSynchronize(l->event), error);
    assert_int_equal(cu->EventRecord(l->event, l->stream), error);
    assert_int_equal(cu->StreamWaitEvent(l->other, l->event, 0), error);
    assert_int_equal(cu->MemAlloc(&at, 16), error);
    assert_int_equal(cu->MemAllocAsync(&at, 16, l->other), error);
    assert_int_equal(cu->MemcpyDtoH(&word, l->at, 4), error);
    assert_int_equal(cu->MemsetD32Async(l->at, 0, 1, l->other), error);
    assert_int_equal(cu->StreamCreate(&stream, 0), error);
    assert_int_equal(cu->EventCreate(&event, 0), error);
    assert_int_equal(cu->ModuleLoadData(&module, test_ptx), error);
    void *params[] = {(void *)(uintptr_t)&l->at, &word};
    assert_int_equal(cu->LaunchKernel(l->store, 1, 1, 1, 1, 1, 1, 0, l->other, params, NULL),
                     error);
}

/* The context goes, and the device is as before. */
static void close_lab(lab *l)
{
    const acu_driver_table *cu = l->cu;
    if (!SOFTWARE)
        return; /* the process has lost its device */
    OK(cu->CtxDestroy(l->context));
    CUdeviceptr at;
    OK(cu->MemAlloc(&at, 4)); /* in the primary context, which is current again */
    CUmodule module = test_module(cu);
    OK(launch_store(cu, module, NULL, at, 77));
    assert_int_equal(word_at(cu, at), 77);
    OK(cu->ModuleUnload(module));
    OK(cu->MemFree(at));
    close_driver(cu);
}

static void an_illegal_address_is_final(void **state)
{
    (void)state;
    lab l = open_lab();
    OK(launch_store(l.cu, l.module, l.stream, 0x1000, 1));
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    is_lost(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
    if (SOFTWARE) {
        const char *text = softcuda_last_error_text();
        assert_non_null(strstr(text, "store"));
        assert_non_null(strstr(text, "0x1000"));
    }
    close_lab(&l);
}

static void a_trap_is_final(void **state)
{
    (void)state;
    lab l = open_lab();
    OK(l.cu->LaunchKernel(test_kernel(l.cu, l.module, "trap_now"), 1, 1, 1, 1, 1, 1, 0, l.stream,
                          NULL, NULL));
    unsigned result = l.cu->StreamSynchronize(l.stream);
    /* A GPU says "launch failed" or "illegal instruction", as its generation has it. */
    assert_true(result == ACU_CUDA_ERROR_LAUNCH_FAILED ||
                (!SOFTWARE && result == ACU_CUDA_ERROR_ILLEGAL_INSTRUCTION));
    is_lost(&l, result);
    close_lab(&l);
}

static void one_past_the_end_is_found(void **state)
{
    (void)state;
    lab l = open_lab();
    if (SOFTWARE) { /* a GPU looks at pages only */
        CUdeviceptr small;
        OK(l.cu->MemAlloc(&small, 20));
        OK(launch_add_one(l.cu, l.module, l.stream, small, 5));
        OK(l.cu->StreamSynchronize(l.stream));
        OK(launch_store(l.cu, l.module, l.stream, small + 20, 1));
        IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    }
    close_lab(&l);
}

static void pageable_memory_is_no_memory_of_kernels(void **state)
{
    (void)state;
    lab l = open_lab();
    if (SOFTWARE) { /* some systems let GPUs at it */
        unsigned own = 3;
        OK(launch_store(l.cu, l.module, l.stream, (CUdeviceptr)(uintptr_t)&own, 1));
        IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
        assert_int_equal(own, 3);
    }
    close_lab(&l);
}

/* A kernel that would never end, and a stream that waits for ever, end with the fault. */
static void a_fault_ends_what_runs(void **state)
{
    (void)state;
    lab l = open_lab();
    OK(l.cu->MemsetD32(l.at, 0, 4));
    OK(l.cu->StreamSynchronize(NULL));
    OK(launch_spin(l.cu, l.module, l.stream, l.at));
    if (SOFTWARE)
        OK(l.cu->StreamWaitValue32(NULL, l.at + 4, 1, ACU_CU_STREAM_WAIT_VALUE_EQ));
    OK(launch_store(l.cu, l.module, l.other, 0x2000, 1));
    IS(l.cu->StreamSynchronize(l.other), ERROR_ILLEGAL_ADDRESS);
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    close_lab(&l);
}

static void count_up(void *argument)
{
    ++*(int *)argument;
}

static void host_functions_behind_a_fault_do_not_run(void **state)
{
    (void)state;
    lab l = open_lab();
    int calls = 0;
    OK(launch_store(l.cu, l.module, l.stream, 0x1000, 1));
    /* The call itself may be refused already. */
    (void)l.cu->LaunchHostFunc(l.stream, count_up, &calls);
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    if (SOFTWARE)
        assert_int_equal(calls, 0);
    close_lab(&l);
}

/* The device's primary context can be reset, by whoever is alone with it. */
static void a_reset_heals(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    CUmodule module = test_module(cu);
    CUdeviceptr at;
    OK(launch_store(cu, module, NULL, 0x1000, 1));
    IS(cu->CtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    IS(cu->MemAlloc(&at, 4), ERROR_ILLEGAL_ADDRESS);
    OK(cu->DevicePrimaryCtxReset(0));
    IS(cu->MemAlloc(&at, 4), ERROR_CONTEXT_IS_DESTROYED);
    CUcontext again;
    OK(cu->DevicePrimaryCtxRetain(&again, 0));
    OK(cu->CtxSetCurrent(again));
    OK(cu->MemAlloc(&at, 4));
    OK(cu->MemFree(at));
    OK(cu->DevicePrimaryCtxRelease(0));
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_illegal_address_is_final),
        cmocka_unit_test(a_trap_is_final),
        cmocka_unit_test(one_past_the_end_is_found),
        cmocka_unit_test(pageable_memory_is_no_memory_of_kernels),
        cmocka_unit_test(a_fault_ends_what_runs),
        cmocka_unit_test(host_functions_behind_a_fault_do_not_run),
        cmocka_unit_test(a_reset_heals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
