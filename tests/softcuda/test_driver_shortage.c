/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Asking for most of the memory that there is, and for more. A GPU's driver takes all of it before
 * it refuses (for 330 ms, of an H200), and other processes get none meanwhile: so this test is run
 * by itself.
 */
#include "softcuda/driver_test.h"

static void memory_ends(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at = 7;
    size_t before, after, total;
    OK(cu->MemGetInfo(&before, &total));
    IS(cu->MemAlloc(&at, total + 1), ERROR_OUT_OF_MEMORY);
    IS(cu->MemAlloc(&at, SIZE_MAX), ERROR_OUT_OF_MEMORY);
    OK(cu->MemGetInfo(&after, &total));
    assert_true(!SOFTWARE || before == after); /* other processes use memory of a GPU, too */
    OK(cu->MemAlloc(&at, 1 << 20)); /* the device still works */
    OK(cu->MemFree(at));
    close_driver(cu);
}

static void pools_end(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at;
    size_t left, total;
    OK(cu->MemGetInfo(&left, &total));
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    IS(cu->MemAllocAsync(&at, 2 * total, stream), ERROR_OUT_OF_MEMORY);
    IS(cu->MemAllocAsync(&at, SIZE_MAX / 2, stream), ERROR_OUT_OF_MEMORY);
    OK(cu->MemAllocAsync(&at, 1 << 20, stream));
    OK(cu->MemFreeAsync(at, stream));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

/* More than there is, one after the other, on streams of which one waits for nothing. */
static void freed_memory_serves_other_streams(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream a, b;
    CUdeviceptr at = 0;
    size_t free_bytes, total;
    OK(cu->StreamCreate(&a, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->StreamCreate(&b, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemGetInfo(&free_bytes, &total));
    size_t most = free_bytes / 8 * 5;
    for (unsigned i = 0; i < 6; i++) {
        CUstream stream = i % 2 ? b : a;
        OK(cu->MemAllocAsync(&at, most, stream));
        OK(cu->MemsetD32Async(at, i, 16, stream));
        OK(cu->MemFreeAsync(at, stream));
    }
    OK(cu->StreamSynchronize(a));
    OK(cu->StreamSynchronize(b));
    /* A plain allocation may have it as well. */
    OK(cu->MemAlloc(&at, most));
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(a));
    OK(cu->StreamDestroy(b));
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_ends),
        cmocka_unit_test(pools_end),
        cmocka_unit_test(freed_memory_serves_other_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
