/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses and memory apart: reserving, making, mapping, opening and undoing
 * it, and memory of others. */
#include "softcuda/driver_test.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t step; /* the granularity */

static acu_CUmemAllocationProp prop_of(unsigned handle_types)
{
    return (acu_CUmemAllocationProp){
        .type = ACU_CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = handle_types,
        .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
}

static const acu_CUmemAccessDesc all_access = {
    .location = {.type = ACU_CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    .flags = ACU_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static CUmemGenericAllocationHandle make(const acu_driver_table *cu, unsigned handle_types)
{
    acu_CUmemAllocationProp prop = prop_of(handle_types);
    CUmemGenericAllocationHandle memory = 0;
    OK(cu->MemGetAllocationGranularity(&step, &prop, ACU_CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cu->MemCreate(&memory, step, &prop, 0));
    return memory;
}

/* Two pieces of memory one behind the other, and one of them at two places. */
static void memory_is_mapped(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmemGenericAllocationHandle a = make(cu, 0), b = make(cu, 0);
    CUdeviceptr at = 0, base = 0;
    size_t bytes = 0;
    OK(cu->MemAddressReserve(&at, 3 * step, 0, 0, 0));
    assert_int_equal(at % step, 0);
    OK(cu->MemMap(at, step, 0, a, 0));
    OK(cu->MemMap(at + step, step, 0, b, 0));
    OK(cu->MemMap(at + 2 * step, step, 0, a, 0));
    OK(cu->MemSetAccess(at, 3 * step, &all_access, 1));
    OK(cu->MemsetD32(at + step - 8, 7, 4)); /* across the seam */
    OK(cu->MemsetD32(at, 5, 1));
    uint32_t got[4] = {0};
    OK(cu->MemcpyDtoH(got, at + 3 * step - 8, 8));
    assert_true(got[0] == 7 && got[1] == 7);
    OK(cu->MemcpyDtoH(got, at + 2 * step, 4));
    assert_int_equal(got[0], 5);
    OK(cu->MemGetAddressRange(&base, &bytes, at + step + 1));
    assert_true(at + step - base < bytes);
    OK(cu->MemRelease(a)); /* what is mapped stays */
    OK(cu->MemcpyDtoH(got, at + 2 * step, 4));
    assert_int_equal(got[0], 5);
    OK(cu->MemUnmap(at, 3 * step));
    OK(cu->MemMap(at, step, 0, b, 0));
    OK(cu->MemSetAccess(at, step, &all_access, 1));
    OK(cu->MemcpyDtoH(got, at, 8));
    assert_true(got[0] == 7 && got[1] == 7);
    OK(cu->MemUnmap(at, step));
    OK(cu->MemRelease(b));
    OK(cu->MemAddressFree(at, 3 * step));
    close_driver(cu);
}

static void what_is_wrong_with_a_mapping(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    CUmemGenericAllocationHandle a = make(cu, 0), none = 0;
    acu_CUmemAllocationProp prop = prop_of(0);
    CUdeviceptr at = 0, nothing = 0;
    size_t before, after, total;
    int fd = -1;
    IS(cu->MemCreate(&none, step + 1, &prop, 0), ERROR_INVALID_VALUE);
    IS(cu->MemCreate(&none, step << 20, &prop, 0), ERROR_OUT_OF_MEMORY);
    prop.location.id = 99;
    IS(cu->MemCreate(&none, step, &prop, 0), ERROR_INVALID_DEVICE);
    IS(cu->MemAddressReserve(&nothing, step - 1, 0, 0, 0), ERROR_INVALID_VALUE);
    IS(cu->MemAddressReserve(&nothing, step, 3, 0, 0), ERROR_INVALID_VALUE);
    OK(cu->MemAddressReserve(&at, 2 * step, 4 * step, 0, 0));
    assert_int_equal(at % (4 * step), 0);
    IS(cu->MemsetD8(at, 1, 1), ERROR_INVALID_VALUE); /* nothing is there */
    IS(cu->MemMap(at, 2 * step, 0, a, 0), ERROR_INVALID_VALUE);
    IS(cu->MemMap(at + 1, step, 0, a, 0), ERROR_INVALID_VALUE);
    IS(cu->MemMap(at + 2 * step, step, 0, a, 0), ERROR_INVALID_VALUE);
    IS(cu->MemMap(at, step, 0, 1, 0), ERROR_INVALID_VALUE);
    IS(cu->MemSetAccess(at, step, &all_access, 1), ERROR_INVALID_VALUE);
    OK(cu->MemMap(at, step, 0, a, 0));
    IS(cu->MemMap(at, step, 0, a, 0), ERROR_INVALID_VALUE);
    IS(cu->MemSetAccess(at, 2 * step, &all_access, 1), ERROR_INVALID_VALUE);
    IS(cu->MemFree(at), ERROR_INVALID_VALUE);
    IS(cu->MemAddressFree(at, 2 * step), ERROR_INVALID_VALUE);
    IS(cu->MemUnmap(at, 2 * step), ERROR_INVALID_VALUE);
    IS(cu->MemExportToShareableHandle(&fd, a, ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
       ERROR_INVALID_VALUE); /* it was not asked for */
    OK(cu->MemGetInfo(&before, &total));
    OK(cu->MemRelease(a));
    IS(cu->MemRelease(a), ERROR_INVALID_VALUE);
    OK(cu->MemUnmap(at, step));
    OK(cu->MemGetInfo(&after, &total));
    assert_int_equal(after - before, step);
    OK(cu->MemAddressFree(at, 2 * step));
    IS(cu->MemAddressFree(at, 2 * step), ERROR_INVALID_VALUE);
    close_driver(cu);
}

/* As the driver of CUDA 13.0 has it. */
static void what_was_imported_is_not_exported(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    unsigned type = ACU_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle a = make(cu, type), again = 0;
    int fd = -1, none = -1;
    if (cu->MemExportToShareableHandle(&fd, a, type, 0) == ACU_CUDA_SUCCESS) { /* else not here */
        OK(cu->MemImportFromShareableHandle(&again, (void *)(intptr_t)fd, type));
        IS(cu->MemExportToShareableHandle(&none, again, type, 0), ERROR_INVALID_VALUE);
        OK(cu->MemRelease(again));
        close(fd);
    }
    OK(cu->MemRelease(a));
    close_driver(cu);
}

static void files_stand_for_memory_of_others(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    int file = memfd_create("theirs", 0);
    assert_int_equal(ftruncate(file, 8192), 0);
    acu_CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {
        .type = ACU_CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .handle = {.fd = file}, .size = 8193};
    acu_CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 5000, .size = 100};
    CUexternalMemory memory = NULL;
    CUdeviceptr at = 0, other = 0;
    unsigned char got = 0;
    IS(cu->ImportExternalMemory(&memory, &desc), ERROR_INVALID_VALUE);
    desc.size = 8192;
    desc.type = ACU_CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD;
    IS(cu->ImportExternalMemory(&memory, &desc), ERROR_NOT_SUPPORTED);
    desc.type = ACU_CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    OK(cu->ImportExternalMemory(&memory, &desc));
    OK(cu->ExternalMemoryGetMappedBuffer(&at, memory, &part));
    OK(cu->MemsetD8(at, 9, 100));
    IS(cu->MemsetD8(at, 9, 101), ERROR_INVALID_VALUE);
    OK(cu->CtxSynchronize());
    assert_int_equal(pread(file, &got, 1, 5099), 1); /* the driver's, but still open */
    assert_int_equal(got, 9);
    part.offset = 0;
    OK(cu->ExternalMemoryGetMappedBuffer(&other, memory, &part));
    part.offset = 8100;
    IS(cu->ExternalMemoryGetMappedBuffer(&other, memory, &part), ERROR_INVALID_VALUE);
    OK(cu->DestroyExternalMemory(memory));
    IS(cu->DestroyExternalMemory(memory), ERROR_INVALID_HANDLE);
    assert_int_equal(close(file), -1);
    OK(cu->MemsetD8(at, 8, 100)); /* mapped buffers go by themselves */
    IS(cu->MemFree(at + 1), ERROR_INVALID_VALUE);
    OK(cu->MemFree(at));
    OK(cu->MemFree(other));
    IS(cu->MemFree(at), ERROR_INVALID_VALUE);
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_mapped),
        cmocka_unit_test(what_is_wrong_with_a_mapping),
        cmocka_unit_test(what_was_imported_is_not_exported),
        cmocka_unit_test(files_stand_for_memory_of_others),
    };
    return RUN_TESTS(tests);
}
