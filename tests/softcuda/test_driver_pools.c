/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stream-ordered memory: in order, reused, accounted for. */
#include "softcuda/driver_test.h"

#define MIB ((size_t)1 << 20)

static const acu_CUmemPoolProps props = {
    .allocType = ACU_CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};

static uint64_t attribute(const acu_driver_table *cu, CUmemoryPool pool, unsigned which)
{
    uint64_t value = 0;
    OK(cu->MemPoolGetAttribute(pool, which, &value));
    return value;
}

static void memory_follows_the_stream(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUstream stream;
    CUdeviceptr kept;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&kept, 4));
    gate g;
    gate_close(cu, &g, stream);
    /* All of it is issued before any of it runs. */
    for (unsigned i = 0; i < 20; i++) {
        CUdeviceptr at;
        OK(cu->MemAllocAsync(&at, 64 * MIB, stream));
        OK(cu->MemsetD32Async(at, i, 64, stream));
        OK(launch_add_one(cu, module, stream, at, 64));
        OK(launch_copy(cu, module, stream, kept, at, 1));
        OK(cu->MemFreeAsync(at, stream));
    }
    gate_open(&g);
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(word_at(cu, kept), 20);
    OK(cu->MemFree(kept));
    OK(cu->StreamDestroy(stream));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

/* Memory that a context allocated goes with it; memory from a pool is the device's, and stays. */
static void memory_of_a_pool_outlives_the_context(void **state)
{
    (void)state;
    software_only();
    const acu_driver_table *cu = open_driver();
    CUcontext own;
    CUstream stream;
    CUdeviceptr pooled, plain;
    unsigned value;
    OK(cu->CtxCreate(&own, 0, 0));
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&plain, 64));
    OK(cu->MemAllocAsync(&pooled, 64, stream));
    OK(cu->MemsetD32Async(pooled, 7, 16, stream));
    OK(cu->StreamSynchronize(stream));
    OK(cu->CtxDestroy(own));
    IS(cu->MemcpyDtoH(&value, plain, sizeof value), ERROR_INVALID_VALUE);
    assert_int_equal(word_at(cu, pooled), 7);
    OK(cu->MemFree(pooled));
    IS(cu->MemFree(pooled), ERROR_INVALID_VALUE);
    close_driver(cu);
}

static void pools_keep_accounts(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmemoryPool pool;
    CUstream stream;
    CUdeviceptr a, b;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemPoolCreate(&pool, &props));
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
    uint64_t keep = UINT64_MAX;
    OK(cu->MemPoolSetAttribute(pool, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cu->MemAllocFromPoolAsync(&a, 10 * MIB, pool, stream));
    OK(cu->MemAllocFromPoolAsync(&b, 20 * MIB, pool, stream));
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 30 * MIB);
    OK(cu->MemFreeAsync(a, stream));
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 20 * MIB);
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_USED_MEM_HIGH), 30 * MIB);
    uint64_t reserved = attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    assert_true(reserved >= 30 * MIB);
    OK(cu->MemFreeAsync(b, stream));
    OK(cu->StreamSynchronize(stream));
    /* The pool keeps it, as the threshold says, until it is trimmed. */
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), reserved);
    OK(cu->MemPoolTrimTo(pool, 0));
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    uint64_t zero = 0;
    OK(cu->MemPoolSetAttribute(pool, ACU_CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    OK(cu->MemPoolSetAttribute(pool, ACU_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &zero));
    OK(cu->MemAllocFromPoolAsync(&a, MIB, pool, stream));
    OK(cu->MemFreeAsync(a, stream));
    OK(cu->StreamSynchronize(stream)); /* with threshold 0 this gives all of it back */
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    OK(cu->MemPoolDestroy(pool));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

/*
 * An allocation waits for frees that are under way, however much of them has ended already. A GPU's
 * driver may answer that memory is short instead (one of CUDA 13.0 did on an H200); what was freed
 * is there after the stream has been waited for and the pool trimmed.
 */
static void pending_frees_are_waited_for(void **state)
{
    (void)state;
    enum { BLOCKS = 32 };
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at[BLOCKS], large;
    CUmemoryPool pool;
    size_t unused, total;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->DeviceGetMemPool(&pool, 0));
    OK(cu->MemGetInfo(&unused, &total));
    const size_t block = unused / BLOCKS / MIB * MIB - MIB;
    for (int round = 0; round < (SOFTWARE ? 20 : 2); round++) {
        for (int i = 0; i < BLOCKS; i++)
            OK(cu->MemAllocAsync(&at[i], block, stream));
        for (int i = 1; i < BLOCKS; i += 2)
            OK(cu->MemFreeAsync(at[i], stream));
        unsigned result = cu->MemAlloc(&large, block * (BLOCKS / 2) / 4 * 3);
        if (!SOFTWARE && result == ACU_CUDA_ERROR_OUT_OF_MEMORY) {
            OK(cu->StreamSynchronize(stream));
            OK(cu->MemPoolTrimTo(pool, 0));
            result = cu->MemAlloc(&large, block * (BLOCKS / 2) / 4 * 3);
        }
        OK(result);
        OK(cu->MemFree(large));
        for (int i = 0; i < BLOCKS; i += 2)
            OK(cu->MemFreeAsync(at[i], stream));
        OK(cu->StreamSynchronize(stream));
    }
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

static void bad_frees_are_refused(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAllocAsync(&at, 4096, stream));
    IS(cu->MemFreeAsync(at + 512, stream), ERROR_INVALID_VALUE);
    OK(cu->MemFreeAsync(at, stream));
    IS(cu->MemFreeAsync(at, stream), ERROR_INVALID_VALUE);
    OK(cu->StreamSynchronize(stream));
    IS(cu->MemFree(at), ERROR_INVALID_VALUE);
    OK(cu->MemAllocAsync(&at, 4096, stream));
    OK(cu->MemFree(at)); /* without a stream: waits */
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

static void devices_have_a_current_pool(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmemoryPool standard, pool, now;
    CUstream stream;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->DeviceGetDefaultMemPool(&standard, 0));
    OK(cu->DeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, standard);
    OK(cu->MemPoolCreate(&pool, &props));
    OK(cu->DeviceSetMemPool(0, pool));
    OK(cu->MemAllocAsync(&at, MIB, stream));
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(attribute(cu, pool, ACU_CU_MEMPOOL_ATTR_USED_MEM_CURRENT), MIB);
    CUmemoryPool of = NULL;
    OK(cu->PointerGetAttribute(&of, ACU_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    assert_ptr_equal(of, pool);
    OK(cu->DeviceSetMemPool(0, standard));
    OK(cu->MemPoolDestroy(pool)); /* its allocation lives on */
    OK(cu->MemsetD32Async(at, 3, 1, stream));
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(word_at(cu, at), 3);
    OK(cu->MemFreeAsync(at, stream));
    OK(cu->StreamSynchronize(stream));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

/* Only on the software device: on a GPU this may read anything or fault. */
static void use_after_a_free_in_order_is_found(void **state)
{
    (void)state;
    software_only();
    if (!in_own_process(__func__))
        return;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUstream stream;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAllocAsync(&at, 4096, stream));
    OK(cu->MemFreeAsync(at, stream));
    OK(launch_store(cu, module, stream, at, 1));
    IS(cu->StreamSynchronize(stream), ERROR_ILLEGAL_ADDRESS);
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_follows_the_stream),
        cmocka_unit_test(memory_of_a_pool_outlives_the_context),
        cmocka_unit_test(pools_keep_accounts),
        cmocka_unit_test(bad_frees_are_refused),
        cmocka_unit_test(pending_frees_are_waited_for),
        cmocka_unit_test(devices_have_a_current_pool),
        cmocka_unit_test(use_after_a_free_in_order_is_found),
    };
    return RUN_TESTS(tests);
}
