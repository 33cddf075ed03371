/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Asking for more memory than there is. A GPU's driver may take all of it before it refuses (for
 * 330 ms, of an H200), and other processes get none meanwhile: so this test is run by itself.
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
    assert_true(!SOFTWARE || before == after); /* of a GPU others take memory, too */
    OK(cu->MemAlloc(&at, 1 << 20)); /* that was no harm */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_ends),
        cmocka_unit_test(pools_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
