/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Faults of kernels: every call of their context answers them, and so does, as was seen on an H100
 * (driver 580.159), every other context of the device in that process, an older or a newer one,
 * also when theirs is gone. Each of these tests is a process of its own.
 */
#include "softcuda/driver_test.h"

#include "driver/context.h"
#include "driver/softcuda.h"

#include <sched.h>

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

/* The context is destroyed, and the device is lost all the same. */
static void close_lab(lab *l, unsigned error)
{
    const acu_driver_table *cu = l->cu;
    CUdeviceptr at;
    CUcontext context;
    OK(cu->CtxDestroy(l->context));
    assert_int_equal(cu->MemAlloc(&at, 4), error); /* in the primary context, which is current */
    assert_int_equal(cu->CtxSynchronize(), error);
    assert_int_equal(cu->CtxCreate(&context, 0, 0), error);
    (void)cu->DevicePrimaryCtxRelease(0);
}

static void an_illegal_address_is_final(void **state)
{
    (void)state;
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    OK(launch_store(l.cu, l.module, l.stream, 0x1000, 1));
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    is_lost(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
    if (SOFTWARE) {
        const char *text = softcuda_last_error_text();
        assert_non_null(strstr(text, "store"));
        assert_non_null(strstr(text, "0x1000"));
    }
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* On a GPU it may never end, so only the software device is asked. */
static void a_graph_is_uploaded_before_it_is_launched(void **state)
{
    (void)state;
    software_only();
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    gate g;
    OK(l.cu->GraphCreate(&graph, 0));
    OK(l.cu->GraphAddEmptyNode(&node, graph, NULL, 0));
    OK(l.cu->GraphInstantiateWithFlags(&exec, graph, 0));
    OK(l.cu->GraphUpload(exec, l.stream)); /* on its own stream */
    OK(l.cu->GraphLaunch(exec, l.stream));
    gate_close(l.cu, &g, l.stream);
    OK(l.cu->GraphUpload(exec, l.stream)); /* on another, which waits for that */
    OK(l.cu->EventRecord(l.event, l.stream));
    OK(l.cu->StreamWaitEvent(l.other, l.event, 0));
    OK(l.cu->GraphLaunch(exec, l.other));
    gate_open(&g);
    OK(l.cu->StreamSynchronize(l.other));
    gate_close(l.cu, &g, l.stream);
    OK(l.cu->GraphUpload(exec, l.stream)); /* on another */
    OK(l.cu->GraphLaunch(exec, l.other));
    IS(l.cu->StreamSynchronize(l.other), ERROR_LAUNCH_FAILED);
    assert_non_null(strstr(softcuda_last_error_text(), "upload"));
    gate_open(&g);
    close_lab(&l, ACU_CUDA_ERROR_LAUNCH_FAILED);
}

static void a_trap_is_final(void **state)
{
    (void)state;
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    OK(l.cu->LaunchKernel(test_kernel(l.cu, l.module, "trap_now"), 1, 1, 1, 1, 1, 1, 0, l.stream,
                          NULL, NULL));
    unsigned result = l.cu->StreamSynchronize(l.stream);
    /* A GPU says "launch failed" or "illegal instruction", as its generation has it. */
    assert_true(result == ACU_CUDA_ERROR_LAUNCH_FAILED ||
                (!SOFTWARE && result == ACU_CUDA_ERROR_ILLEGAL_INSTRUCTION));
    is_lost(&l, result);
    if (SOFTWARE) /* what a trap leaves of a GPU was not measured */
        close_lab(&l, result);
}

static void one_past_the_end_is_found(void **state)
{
    (void)state;
    software_only(); /* a GPU looks at pages only */
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    CUdeviceptr small;
    OK(l.cu->MemAlloc(&small, 20));
    OK(l.cu->MemsetD8Async(small, 0, 20, l.stream));
    OK(launch_add_one(l.cu, l.module, l.stream, small, 5));
    OK(l.cu->StreamSynchronize(l.stream));
    OK(launch_store(l.cu, l.module, l.stream, small + 20, 1));
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void pageable_memory_is_no_memory_of_kernels(void **state)
{
    (void)state;
    software_only(); /* some systems let GPUs at it */
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    unsigned own = 3;
    OK(launch_store(l.cu, l.module, l.stream, (CUdeviceptr)(uintptr_t)&own, 1));
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(own, 3);
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* A kernel that would never end, and a stream that waits for ever, end with the fault. */
static void a_fault_ends_what_runs(void **state)
{
    (void)state;
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    OK(l.cu->MemsetD32(l.at, 0, 4));
    OK(l.cu->StreamSynchronize(NULL));
    OK(launch_spin(l.cu, l.module, l.stream, l.at));
    if (SOFTWARE)
        OK(l.cu->StreamWaitValue32(NULL, l.at + 4, 1, ACU_CU_STREAM_WAIT_VALUE_EQ));
    OK(launch_store(l.cu, l.module, l.other, 0x2000, 1));
    IS(l.cu->StreamSynchronize(l.other), ERROR_ILLEGAL_ADDRESS);
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Once a call answers the fault, the program may free what was used: so nothing runs any more. */
static void nothing_runs_once_it_is_told(void **state)
{
    (void)state;
    software_only();
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    sd_context *context = NULL;
    OK(sd_enter_current(&context));
    OK(l.cu->MemsetD32(l.at, 0, 4));
    OK(l.cu->StreamSynchronize(NULL));
    OK(launch_spin(l.cu, l.module, l.stream, l.at));
    while (atomic_load(&context->running) == 0)
        sched_yield();
    OK(launch_store(l.cu, l.module, l.other, 0x1000, 1));
    while (l.cu->StreamQuery(l.other) != ACU_CUDA_ERROR_ILLEGAL_ADDRESS)
        sched_yield();
    assert_int_equal(atomic_load(&context->running), 0);
    sd_context_leave(&context);
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* A kernel that another one's fault has stopped ends with an error, too. All
 * calls answer the first. */
static void a_stopped_kernel_is_no_second_fault(void **state)
{
    (void)state;
    software_only();
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    sd_context *context = NULL;
    OK(sd_enter_current(&context));
    sd_context_fault(context, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
    sd_context_fault(context, ACU_CUDA_ERROR_LAUNCH_FAILED);
    sd_context_leave(&context);
    is_lost(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* A fault is held up while it marks contexts one by one: the program sees it in all contexts or in
 * none, never in one and not in another. */
static void a_fault_is_everybodys_at_once(void **state)
{
    (void)state;
    software_only();
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUcontext other;
    CUdeviceptr at;
    OK(cu->CtxCreate(&other, 0, 0));
    OK(cu->CtxSetCurrent(l.context));
    pthread_mutex_lock(&sd.contexts_lock);
    OK(launch_store(cu, l.module, l.stream, 0x1000, 1));
    for (int i = 0; i < 10000 && cu->StreamQuery(l.stream) != ACU_CUDA_ERROR_ILLEGAL_ADDRESS; i++)
        sched_yield();
    unsigned one = cu->StreamQuery(l.stream);
    OK(cu->CtxSetCurrent(other));
    unsigned two = cu->StreamQuery(NULL);
    pthread_mutex_unlock(&sd.contexts_lock);
    assert_true(one != ACU_CUDA_ERROR_ILLEGAL_ADDRESS || two == one);
    OK(cu->CtxSetCurrent(l.context));
    IS(cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    OK(cu->CtxSetCurrent(other));
    IS(cu->MemAlloc(&at, 4), ERROR_ILLEGAL_ADDRESS);
    OK(cu->CtxDestroy(other));
    OK(cu->CtxDestroy(l.context));
    (void)cu->DevicePrimaryCtxRelease(0);
}

static void count_up(void *argument)
{
    ++*(int *)argument;
}

static void host_functions_behind_a_fault_do_not_run(void **state)
{
    (void)state;
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    int calls = 0;
    OK(launch_store(l.cu, l.module, l.stream, 0x1000, 1));
    /* The call itself may be refused already. */
    (void)l.cu->LaunchHostFunc(l.stream, count_up, &calls);
    IS(l.cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    if (SOFTWARE)
        assert_int_equal(calls, 0);
    close_lab(&l, ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Work in another context of the device ends as well. */
static void contexts_of_a_device_fall_together(void **state)
{
    (void)state;
    software_only(); /* on a GPU, only later calls were measured */
    if (!in_own_process(__func__))
        return;
    lab l = open_lab();
    const acu_driver_table *cu = l.cu;
    CUcontext other;
    CUstream stream;
    CUdeviceptr flag;
    OK(cu->CtxCreate(&other, 0, 0));
    CUmodule module = test_module(cu);
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&flag, 4));
    OK(cu->MemsetD32(flag, 0, 1));
    OK(cu->StreamSynchronize(NULL));
    OK(launch_spin(cu, module, stream, flag));
    OK(cu->CtxSetCurrent(l.context));
    OK(launch_store(cu, l.module, l.stream, 0x1000, 1));
    IS(cu->StreamSynchronize(l.stream), ERROR_ILLEGAL_ADDRESS);
    OK(cu->CtxSetCurrent(other));
    IS(cu->StreamSynchronize(stream), ERROR_ILLEGAL_ADDRESS);
    IS(cu->MemAlloc(&flag, 4), ERROR_ILLEGAL_ADDRESS);
    OK(cu->CtxDestroy(other));
    OK(cu->CtxDestroy(l.context));
    (void)cu->DevicePrimaryCtxRelease(0);
}

/* Neither does a new primary context help, unless the software device was asked for that. */
static void try_reset(unsigned error)
{
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUdeviceptr at;
    CUcontext again;
    OK(launch_store(cu, module, NULL, 0x1000, 1));
    IS(cu->CtxSynchronize(), ERROR_ILLEGAL_ADDRESS);
    IS(cu->MemAlloc(&at, 4), ERROR_ILLEGAL_ADDRESS);
    OK(cu->DevicePrimaryCtxReset(0));
    IS(cu->MemAlloc(&at, 4), ERROR_CONTEXT_IS_DESTROYED);
    assert_int_equal(cu->DevicePrimaryCtxRetain(&again, 0), error);
    if (error)
        return;
    OK(cu->CtxSetCurrent(again));
    OK(cu->MemAlloc(&at, 4));
    OK(cu->MemFree(at));
    OK(cu->DevicePrimaryCtxRelease(0));
    close_driver(cu);
}

static void a_reset_does_not_heal(void **state)
{
    (void)state;
    software_only(); /* not measured on a GPU */
    if (in_own_process(__func__))
        try_reset(ACU_CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void healing_can_be_asked_for(void **state)
{
    (void)state;
    software_only();
    if (!in_own_process(__func__))
        return;
    setenv("SOFTCUDA_HEAL", "1", 1);
    try_reset(ACU_CUDA_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_illegal_address_is_final),
        cmocka_unit_test(a_graph_is_uploaded_before_it_is_launched),
        cmocka_unit_test(a_trap_is_final),
        cmocka_unit_test(one_past_the_end_is_found),
        cmocka_unit_test(pageable_memory_is_no_memory_of_kernels),
        cmocka_unit_test(a_fault_ends_what_runs),
        cmocka_unit_test(nothing_runs_once_it_is_told),
        cmocka_unit_test(a_stopped_kernel_is_no_second_fault),
        cmocka_unit_test(a_fault_is_everybodys_at_once),
        cmocka_unit_test(host_functions_behind_a_fault_do_not_run),
        cmocka_unit_test(contexts_of_a_device_fall_together),
        cmocka_unit_test(a_reset_does_not_heal),
        cmocka_unit_test(healing_can_be_asked_for),
    };
    return RUN_TESTS(tests);
}
