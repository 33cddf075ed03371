/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several devices: copies between them, and who may touch whose memory. */
#include "softcuda/driver_test.h"

typedef struct pair {
    const acu_driver_table *cu;
    CUcontext context[2]; /* of devices 0 and 1; the first is current */
    CUmodule module[2];
    CUstream stream[2];
    CUdeviceptr at[2]; /* 4096 bytes on each */
} pair;

static void close_pair(pair *p)
{
    for (int i = 1; i >= 0; i--)
        OK(p->cu->CtxDestroy(p->context[i]));
    close_driver(p->cu);
}

static void on(const pair *p, int device)
{
    OK(p->cu->CtxSetCurrent(p->context[device]));
}

static pair open_pair(void)
{
    pair p = {.cu = open_driver()};
    int count = 0;
    OK(p.cu->DeviceGetCount(&count));
    if (count < 2) {
        close_driver(p.cu);
        skip();
    }
    for (int i = 0; i < 2; i++) {
        CUcontext popped;
        OK(p.cu->CtxCreate(&p.context[i], 0, i));
        p.module[i] = test_module(p.cu);
        OK(p.cu->StreamCreate(&p.stream[i], ACU_CU_STREAM_NON_BLOCKING));
        OK(p.cu->MemAlloc(&p.at[i], 4096));
        OK(p.cu->MemsetD32(p.at[i], (unsigned)i + 10, 1024));
        OK(p.cu->StreamSynchronize(NULL));
        OK(p.cu->CtxPopCurrent(&popped));
    }
    on(&p, 0);
    return p;
}

static void copies_need_no_access(void **state)
{
    (void)state;
    pair p = open_pair();
    const acu_driver_table *cu = p.cu;
    OK(cu->MemcpyPeerAsync(p.at[0], p.context[0], p.at[1], p.context[1], 4096, p.stream[0]));
    OK(cu->StreamSynchronize(p.stream[0]));
    assert_int_equal(word_at(cu, p.at[0] + 4092), 11);
    IS(cu->MemcpyPeer(p.at[0], p.context[0], p.at[1], p.context[1], 4097), ERROR_INVALID_VALUE);
    unsigned type = 0;
    int ordinal = -1;
    OK(cu->PointerGetAttribute(&type, ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p.at[1]));
    OK(cu->PointerGetAttribute(&ordinal, ACU_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p.at[1]));
    assert_int_equal(ordinal, 1);
    /* Memory of the host has one too, of the context that it was page-locked for. */
    void *pinned;
    on(&p, 1);
    OK(cu->MemHostAlloc(&pinned, 64, 0));
    on(&p, 0);
    OK(cu->PointerGetAttribute(&ordinal, ACU_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                               (CUdeviceptr)(uintptr_t)pinned));
    assert_int_equal(ordinal, 1);
    on(&p, 1);
    OK(cu->MemFreeHost(pinned));
    on(&p, 0);
    close_pair(&p);
}

static void events_order_devices(void **state)
{
    (void)state;
    pair p = open_pair();
    const acu_driver_table *cu = p.cu;
    CUevent event;
    OK(cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING));
    gate g;
    gate_close(cu, &g, p.stream[0]);
    OK(cu->MemsetD32Async(p.at[0], 99, 1024, p.stream[0]));
    OK(cu->EventRecord(event, p.stream[0]));
    on(&p, 1);
    OK(cu->StreamWaitEvent(p.stream[1], event, 0));
    OK(cu->MemcpyPeerAsync(p.at[1], p.context[1], p.at[0], p.context[0], 4096, p.stream[1]));
    IS(cu->StreamQuery(p.stream[1]), ERROR_NOT_READY);
    gate_open(&g);
    OK(cu->StreamSynchronize(p.stream[1]));
    assert_int_equal(word_at(cu, p.at[1]), 99);
    IS(cu->EventRecord(event, p.stream[1]), ERROR_INVALID_HANDLE); /* it belongs to the other
                                                                    * context */
    on(&p, 0);
    OK(cu->EventDestroy(event));
    close_pair(&p);
}

static void peer_access_lets_kernels_in(void **state)
{
    (void)state;
    pair p = open_pair();
    const acu_driver_table *cu = p.cu;
    int can = 0;
    OK(cu->DeviceCanAccessPeer(&can, 0, 1));
    if (can) {
        OK(cu->CtxEnablePeerAccess(p.context[1], 0));
        IS(cu->CtxEnablePeerAccess(p.context[1], 0), ERROR_PEER_ACCESS_ALREADY_ENABLED);
        OK(launch_copy(cu, p.module[0], p.stream[0], p.at[0], p.at[1], 1024));
        OK(cu->StreamSynchronize(p.stream[0]));
        assert_int_equal(word_at(cu, p.at[0] + 4092), 11);
        /* Memory that is allocated later is accessible as well. */
        CUdeviceptr later;
        on(&p, 1);
        OK(cu->MemAlloc(&later, 4));
        OK(cu->MemsetD32(later, 55, 1));
        OK(cu->StreamSynchronize(NULL));
        on(&p, 0);
        OK(launch_copy(cu, p.module[0], p.stream[0], p.at[0], later, 1));
        OK(cu->StreamSynchronize(p.stream[0]));
        assert_int_equal(word_at(cu, p.at[0]), 55);
        OK(cu->CtxDisablePeerAccess(p.context[1]));
        IS(cu->CtxDisablePeerAccess(p.context[1]), ERROR_PEER_ACCESS_NOT_ENABLED);
    }
    unsigned oneself = cu->CtxEnablePeerAccess(p.context[0], 0);
    assert_int_equal(oneself, SOFTWARE ? ACU_CUDA_ERROR_INVALID_CONTEXT : oneself);
    assert_int_not_equal(oneself, 0);
    close_pair(&p);
}

/* A fault takes the other devices of the process along. */
static void without_access_a_kernel_faults(void **state)
{
    (void)state;
    if (!in_own_process(__func__))
        return;
    pair p = open_pair();
    const acu_driver_table *cu = p.cu;
    OK(launch_copy(cu, p.module[0], p.stream[0], p.at[0], p.at[1], 1));
    IS(cu->StreamSynchronize(p.stream[0]), ERROR_ILLEGAL_ADDRESS);
    OK(cu->CtxSetCurrent(p.context[1]));
    IS(cu->StreamSynchronize(p.stream[1]), ERROR_ILLEGAL_ADDRESS);
}

/* Peer access does not cover pools; access to the pool does. */
static void pools_are_opened_one_by_one(void **state)
{
    (void)state;
    if (!in_own_process(__func__))
        return;
    pair p = open_pair();
    const acu_driver_table *cu = p.cu;
    int can = 0;
    OK(cu->DeviceCanAccessPeer(&can, 0, 1));
    if (!can) {
        close_pair(&p);
        skip();
    }
    acu_CUmemPoolProps props = {.allocType = ACU_CU_MEM_ALLOCATION_TYPE_PINNED};
    props.location.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = 1;
    CUmemoryPool pool;
    CUdeviceptr pooled;
    on(&p, 1);
    OK(cu->MemPoolCreate(&pool, &props));
    OK(cu->MemAllocFromPoolAsync(&pooled, 4096, pool, p.stream[1]));
    OK(cu->MemsetD32Async(pooled, 66, 1024, p.stream[1]));
    OK(cu->StreamSynchronize(p.stream[1]));
    on(&p, 0);
    acu_CUmemAccessDesc desc = {.flags = ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    desc.location.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = 0;
    unsigned flags = 99;
    OK(cu->MemPoolGetAccess(&flags, pool, &desc.location));
    assert_int_equal(flags, ACU_CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cu->MemPoolSetAccess(pool, &desc, 1));
    OK(cu->MemPoolGetAccess(&flags, pool, &desc.location));
    assert_int_equal(flags, ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(launch_copy(cu, p.module[0], p.stream[0], p.at[0], pooled, 1024));
    OK(cu->StreamSynchronize(p.stream[0]));
    assert_int_equal(word_at(cu, p.at[0] + 4092), 66);
    if (SOFTWARE) {
        OK(cu->CtxEnablePeerAccess(p.context[1], 0));
        desc.flags = ACU_CU_MEM_ACCESS_FLAGS_PROT_NONE;
        OK(cu->MemPoolSetAccess(pool, &desc, 1));
        OK(launch_copy(cu, p.module[0], p.stream[0], p.at[0], pooled, 1));
        IS(cu->StreamSynchronize(p.stream[0]), ERROR_ILLEGAL_ADDRESS);
        close_pair(&p);
        return; /* all devices are lost */
    }
    on(&p, 1);
    OK(cu->MemFree(pooled));
    OK(cu->MemPoolDestroy(pool));
    close_pair(&p);
}

int main(void)
{
    setenv("SOFTCUDA_DEVICES", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_need_no_access),
        cmocka_unit_test(events_order_devices),
        cmocka_unit_test(peer_access_lets_kernels_in),
        cmocka_unit_test(without_access_a_kernel_faults),
        cmocka_unit_test(pools_are_opened_one_by_one),
    };
    return RUN_TESTS(tests);
}
