/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory: what is allocated, what a pointer is, and copies and fills of every shape. */
#include "softcuda/driver_test.h"

#include <sys/mman.h>
#include <unistd.h>

#define WORDS ((size_t)1 << 18) /* a copy of 1 MiB: more than what is staged */

static void allocations_are_freed_once(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at, base;
    size_t bytes, before, after, total;
    OK(cu->MemAlloc(&at, 1000));
    assert_int_equal(at % 256, 0);
    OK(cu->MemGetAddressRange(&base, &bytes, at + 999));
    assert_true(base == at);
    assert_int_equal(bytes, 1000);
    OK(cu->MemFree(at));
    IS(cu->MemFree(at), ERROR_INVALID_VALUE);
    OK(cu->MemFree(0));
    IS(cu->MemAlloc(&at, 0), ERROR_INVALID_VALUE);
    OK(cu->MemGetInfo(&before, &total));
    OK(cu->MemAlloc(&at, 8 << 20));
    OK(cu->MemGetInfo(&after, &total));
    assert_true(!SOFTWARE || before - after >= 8 << 20); /* a GPU allocates in larger pieces */
    IS(cu->MemFree(at + 256), ERROR_INVALID_VALUE);
    OK(cu->MemFree(at));
    OK(cu->MemGetInfo(&after, &total));
    assert_true(!SOFTWARE || before == after); /* other processes use memory of a GPU, too */
    size_t pitch = 0;
    OK(cu->MemAllocPitch(&at, &pitch, 100, 10, 4));
    assert_true(pitch >= 100 && pitch % 32 == 0);
    OK(cu->MemFree(at));
    IS(cu->MemAllocPitch(&at, &pitch, 100, 10, 3), ERROR_INVALID_VALUE);
    close_driver(cu);
}

static void pointers_are_known(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUdeviceptr device, start = 0;
    void *pinned;
    unsigned type = 0;
    int ordinal = -1;
    size_t size = 0;
    char own[64];
    OK(cu->MemAlloc(&device, 100));
    OK(cu->MemHostAlloc(&pinned, 100, 0));
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)pinned;
    OK(cu->PointerGetAttribute(&type, ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 50));
    assert_int_equal(type, ACU_CU_MEMORYTYPE_DEVICE);
    OK(cu->PointerGetAttribute(&type, ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host + 50));
    assert_int_equal(type, ACU_CU_MEMORYTYPE_HOST);
    OK(cu->PointerGetAttribute(&ordinal, ACU_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
    assert_int_equal(ordinal, 0);
    OK(cu->PointerGetAttribute(&start, ACU_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 50));
    assert_true(start == device);
    OK(cu->PointerGetAttribute(&size, ACU_CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 50));
    assert_int_equal(size, 100);
    CUdeviceptr pageable = (CUdeviceptr)(uintptr_t)own;
    IS(cu->PointerGetAttribute(&type, ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pageable),
       ERROR_INVALID_VALUE);
    unsigned which[] = {ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                        ACU_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *into[] = {&type, &ordinal};
    type = 77;
    OK(cu->PointerGetAttributes(2, which, into, pageable));
    assert_int_equal(type, 0);
    assert_true(ordinal < 0);
    OK(cu->MemFree(device));
    IS(cu->PointerGetAttribute(&type, ACU_CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device),
       ERROR_INVALID_VALUE);
    OK(cu->MemFreeHost(pinned));
    IS(cu->MemFreeHost(pinned), ERROR_INVALID_VALUE);
    close_driver(cu);
}

static void kernels_reach_pinned_and_registered_memory(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    unsigned *pinned = NULL, *mapped = NULL;
    CUdeviceptr at;
    OK(cu->MemHostAlloc((void **)&pinned, 4096, ACU_CU_MEMHOSTALLOC_PORTABLE));
    OK(cu->MemHostGetDevicePointer(&at, pinned, 0));
    pinned[0] = pinned[1023] = 41;
    OK(launch_add_one(cu, module, NULL, at, 1024));
    OK(cu->StreamSynchronize(NULL));
    assert_int_equal(pinned[0], 42);
    assert_int_equal(pinned[1023], 42);
    assert_int_not_equal(cu->MemHostUnregister(pinned), ACU_CUDA_SUCCESS);
    if (SOFTWARE)
        IS(cu->MemHostUnregister(pinned), ERROR_INVALID_VALUE);
    OK(cu->MemFreeHost(pinned));

    mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
    OK(cu->MemHostRegister(mapped, 8192, ACU_CU_MEMHOSTREGISTER_DEVICEMAP));
    IS(cu->MemHostRegister(mapped, 8192, 0), ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    IS(cu->MemHostRegister(mapped + 1024, 4096, 0), ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    assert_int_not_equal(cu->MemHostUnregister(mapped + 1), ACU_CUDA_SUCCESS);
    if (SOFTWARE) /* as was seen with driver 590.48 */
        IS(cu->MemHostUnregister(mapped + 1), ERROR_INVALID_VALUE);
    OK(cu->MemHostGetDevicePointer(&at, mapped, 0));
    OK(launch_add_one(cu, module, NULL, at, 2048));
    OK(cu->StreamSynchronize(NULL));
    assert_int_equal(mapped[2047], 1);
    OK(cu->MemHostUnregister(mapped));
    IS(cu->MemHostUnregister(mapped), ERROR_HOST_MEMORY_NOT_REGISTERED);
    munmap((char *)mapped + 4096, 4096);
    if (SOFTWARE) /* not all of it is there; a driver may map something there itself */
        IS(cu->MemHostRegister(mapped, 8192, 0), ERROR_INVALID_VALUE);
    OK(cu->MemHostRegister(mapped, 4096, 0));
    OK(cu->MemHostUnregister(mapped));
    munmap(mapped, 4096);
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void device_memory_is_out_of_reach(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    CUdeviceptr at;
    OK(cu->MemAlloc(&at, 4096));
    /* Mapped without any right: write() is asked to read there, and the system refuses. */
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], (const void *)(uintptr_t)at, 1), -1);
    close(fds[0]);
    close(fds[1]);
    OK(cu->MemFree(at));
    close_driver(cu);
}

static void assert_unwritten(const acu_driver_table *cu, CUdeviceptr at, size_t bytes)
{
    unsigned char *got = malloc(bytes);
    OK(cu->MemcpyDtoH(got, at, bytes));
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(got[i], 0xff);
    free(got);
}

/* Memory that was not written does not look as if it were: it holds neither 0 nor earlier
 * contents. */
static void fresh_memory_holds_nothing(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    enum { LARGE = 3 << 20, END = 64 << 10 };
    CUdeviceptr at;
    unsigned char *pinned;
    for (int again = 0; again < 2; again++) {
        OK(cu->MemAlloc(&at, 1000));
        assert_unwritten(cu, at, 1000);
        OK(cu->MemsetD8(at, 0, 1000));
        OK(cu->MemFree(at));
        OK(cu->MemAllocAsync(&at, LARGE, NULL));
        assert_unwritten(cu, at, END);
        assert_unwritten(cu, at + LARGE - END, END);
        OK(cu->MemsetD8(at, 0, LARGE));
        OK(cu->MemFreeAsync(at, NULL));
        OK(cu->MemHostAlloc((void **)&pinned, 100, 0));
        for (int i = 0; i < 100; i++)
            assert_int_equal(pinned[i], 0xff);
        memset(pinned, 0, 100);
        OK(cu->MemFreeHost(pinned));
    }
    close_driver(cu);
}

/* A small pageable source may be changed as soon as the call returns; a pinned one may not. */
static void sources_are_taken_when_they_should_be(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at;
    unsigned pageable = 1, *pinned;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 8));
    OK(cu->MemHostAlloc((void **)&pinned, 8, 0));
    *pinned = 1;
    gate g;
    gate_close(cu, &g, stream);
    gate_await(&g);
    OK(cu->MemcpyHtoDAsync(at, &pageable, 4, stream));
    OK(cu->MemcpyHtoDAsync(at + 4, pinned, 4, stream));
    IS(cu->StreamQuery(stream), ERROR_NOT_READY);
    pageable = 2;
    *pinned = 2;
    gate_open(&g);
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(word_at(cu, at), 1);
    assert_int_equal(word_at(cu, at + 4), 2);
    OK(cu->MemFreeHost(pinned));
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

static void large_copies_arrive(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr a, b;
    unsigned *from = malloc(4 * WORDS), *to = calloc(WORDS, 4), *pinned;
    assert_non_null(from);
    assert_non_null(to);
    for (size_t i = 0; i < WORDS; i++)
        from[i] = (unsigned)(i * 2654435761u);
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&a, 4 * WORDS));
    OK(cu->MemAlloc(&b, 4 * WORDS));
    OK(cu->MemHostAlloc((void **)&pinned, 4 * WORDS, 0));
    OK(cu->MemcpyHtoDAsync(a, from, 4 * WORDS, stream));
    OK(cu->MemcpyDtoDAsync(b, a, 4 * WORDS, stream));
    OK(cu->MemcpyDtoHAsync(to, b, 4 * WORDS, stream)); /* pageable: the call returns when the copy
                                                        * is complete */
    OK(cu->StreamSynchronize(stream));
    assert_memory_equal(from, to, 4 * WORDS);
    OK(cu->MemcpyDtoHAsync(pinned, b, 4 * WORDS, stream));
    OK(cu->StreamSynchronize(stream));
    assert_memory_equal(from, pinned, 4 * WORDS);
    memset(to, 0, 4 * WORDS);
    OK(cu->MemcpyHtoD(a, pinned, 4 * WORDS));
    OK(cu->Memcpy((CUdeviceptr)(uintptr_t)to, a, 4 * WORDS)); /* by unified addresses */
    assert_memory_equal(from, to, 4 * WORDS);
    OK(cu->MemFreeHost(pinned));
    OK(cu->MemFree(a));
    OK(cu->MemFree(b));
    OK(cu->StreamDestroy(stream));
    free(from);
    free(to);
    close_driver(cu);
}

static void bad_copies_are_refused(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at;
    char host[300] = {0};
    OK(cu->MemAlloc(&at, 256));
    IS(cu->MemcpyHtoD(at, host, 257), ERROR_INVALID_VALUE);
    IS(cu->MemcpyDtoH(host, at + 1, 256), ERROR_INVALID_VALUE);
    IS(cu->MemsetD8(at + 200, 0, 57), ERROR_INVALID_VALUE);
    IS(cu->MemsetD32(at + 1, 0, 1), ERROR_INVALID_VALUE);
    OK(cu->MemcpyHtoD(at, host, 0));
    OK(cu->MemcpyHtoD(at, host, 256));
    OK(cu->MemFree(at));
    IS(cu->MemcpyHtoD(at, host, 1), ERROR_INVALID_VALUE);
    IS(cu->MemcpyDtoHAsync(host, at, 1, NULL), ERROR_INVALID_VALUE);
    close_driver(cu);
}

/* 3 rows of 8 bytes out of a picture of 16 bytes a row, to another place of another one. */
static void rows_are_copied(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at;
    unsigned char from[16 * 8], to[32 * 8], back[32 * 8];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)i;
    memset(to, 0xee, sizeof to);
    OK(cu->MemAlloc(&at, sizeof to));
    OK(cu->MemsetD8(at, 0xee, sizeof to));
    acu_CUDA_MEMCPY2D copy = {
        .srcXInBytes = 4,
        .srcY = 2,
        .srcMemoryType = ACU_CU_MEMORYTYPE_HOST,
        .srcHost = from,
        .srcPitch = 16,
        .dstXInBytes = 10,
        .dstY = 1,
        .dstDevice = at,
        .dstPitch = 32,
        .dstMemoryType = ACU_CU_MEMORYTYPE_DEVICE,
        .WidthInBytes = 8,
        .Height = 3,
    };
    OK(cu->Memcpy2D(&copy));
    for (size_t y = 0; y < 3; y++)
        memcpy(to + (1 + y) * 32 + 10, from + (2 + y) * 16 + 4, 8);
    OK(cu->MemcpyDtoH(back, at, sizeof back));
    assert_memory_equal(back, to, sizeof to);
    copy.dstPitch = 8; /* narrower than what is copied into it */
    IS(cu->Memcpy2D(&copy), ERROR_INVALID_VALUE);
    OK(cu->MemsetD2D8Async(at + 4, 32, 0x11, 6, 4, NULL));
    OK(cu->MemcpyDtoH(back, at, sizeof back));
    for (size_t y = 0; y < 4; y++)
        memset(to + y * 32 + 4, 0x11, 6);
    assert_memory_equal(back, to, sizeof to);
    OK(cu->MemFree(at));
    close_driver(cu);
}

/* A box of 4 x 2 x 2 bytes within one of 8 x 4 x 3. */
static void boxes_are_copied(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at;
    unsigned char from[8 * 4 * 3], box[4 * 2 * 2], *back;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i + 1);
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, sizeof from));
    OK(cu->MemHostAlloc((void **)&back, sizeof box, 0));
    OK(cu->MemcpyHtoD(at, from, sizeof from));
    OK(cu->StreamSynchronize(NULL)); /* from pageable memory it may only be on its way */
    acu_CUDA_MEMCPY3D copy = {
        .srcXInBytes = 2,
        .srcY = 1,
        .srcZ = 1,
        .srcMemoryType = ACU_CU_MEMORYTYPE_DEVICE,
        .srcDevice = at,
        .srcPitch = 8,
        .srcHeight = 4,
        .dstMemoryType = ACU_CU_MEMORYTYPE_HOST,
        .dstHost = back,
        .dstPitch = 4,
        .dstHeight = 2,
        .WidthInBytes = 4,
        .Height = 2,
        .Depth = 2,
    };
    OK(cu->Memcpy3DAsync(&copy, stream));
    OK(cu->StreamSynchronize(stream));
    for (size_t z = 0; z < 2; z++)
        for (size_t y = 0; y < 2; y++)
            memcpy(box + z * 8 + y * 4, from + (z + 1) * 32 + (y + 1) * 8 + 2, 4);
    assert_memory_equal(back, box, sizeof box);
    OK(cu->MemFreeHost(back));
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

/* Where the driver has the call at all: CUDA 12.8. */
static void batches_are_copied(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!acu_driver_has(ACU_CALL_MemcpyBatchAsync)) {
        close_driver(cu);
        skip();
    }
    enum { COPIES = 5, EACH = 100 };
    CUdeviceptr at, dsts[COPIES], srcs[COPIES];
    size_t sizes[COPIES], first[2] = {0, 3}, failed = 0;
    acu_CUmemcpyAttributes_v1 attributes[2] = {
        {.srcAccessOrder = ACU_CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
        {.srcAccessOrder = ACU_CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
    unsigned char *host, got[COPIES * EACH];
    CUstream stream;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, COPIES * EACH));
    OK(cu->MemHostAlloc((void **)&host, COPIES * EACH, 0));
    for (size_t i = 0; i < COPIES; i++) {
        memset(host + i * EACH, (int)i + 1, EACH);
        srcs[i] = (CUdeviceptr)(uintptr_t)(host + i * EACH);
        dsts[i] = at + (COPIES - 1 - i) * EACH;
        sizes[i] = EACH - i;
    }
    OK(cu->MemsetD8Async(at, 9, COPIES * EACH, stream));
    OK(cu->MemcpyBatchAsync(dsts, srcs, sizes, COPIES, attributes, first, 2, &failed, stream));
    OK(cu->StreamSynchronize(stream));
    OK(cu->MemcpyDtoH(got, at, sizeof got));
    for (size_t i = 0; i < COPIES; i++)
        for (size_t k = 0; k < EACH; k++)
            assert_int_equal(got[(COPIES - 1 - i) * EACH + k], k < sizes[i] ? i + 1 : 9);
    assert_int_not_equal(cu->MemcpyBatchAsync(dsts, srcs, sizes, COPIES, attributes, first, 2,
                                              &failed, NULL), ACU_CUDA_SUCCESS);
    first[0] = 1; /* the first copy would have no attributes */
    IS(cu->MemcpyBatchAsync(dsts, srcs, sizes, COPIES, attributes, first, 2, &failed, stream),
       ERROR_INVALID_VALUE);
    OK(cu->StreamSynchronize(stream));
    OK(cu->MemFreeHost(host));
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

static void fills_have_three_widths(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at;
    unsigned char bytes[16];
    const unsigned char wanted[16] = {0xab, 0xab, 0xab, 0xab, 0x34, 0x12, 0x34, 0x12,
                                      0x44, 0x33, 0x22, 0x11, 0x44, 0x33, 0x22, 0x11};
    OK(cu->MemAlloc(&at, 16));
    OK(cu->MemsetD8Async(at, 0xab, 4, NULL));
    OK(cu->MemsetD16Async(at + 4, 0x1234, 2, NULL));
    OK(cu->MemsetD32Async(at + 8, 0x11223344, 2, NULL));
    OK(cu->MemcpyDtoH(bytes, at, 16));
    assert_memory_equal(bytes, wanted, 16);
    OK(cu->MemFree(at));
    close_driver(cu);
}

/* A fill of what the host can see is over when the call returns. */
static void fills_of_host_memory_are_over(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    for (unsigned k = 0; k < 200; k++) {
        const unsigned kind = k % 4;
        CUdeviceptr at;
        void *host = NULL;
        if (kind == 0) {
            OK(cu->MemAllocManaged(&at, 64, ACU_CU_MEM_ATTACH_GLOBAL));
        } else {
            OK(cu->MemHostAlloc(&host, 64, ACU_CU_MEMHOSTALLOC_DEVICEMAP));
            OK(cu->MemHostGetDevicePointer(&at, host, 0));
        }
        volatile unsigned char *seen = host ? host : (void *)(uintptr_t)at;
        for (unsigned i = 0; i < 64; i++)
            seen[i] = 1;
        if (kind == 0)
            OK(cu->MemsetD8(at, 0xab, 64));
        else if (kind == 1)
            OK(cu->MemsetD16(at, 0xabab, 32));
        else
            OK(cu->MemsetD32(at, 0xabababab, 16));
        for (unsigned i = 0; i < 64; i++)
            assert_int_equal(seen[i], 0xab);
        OK(kind ? cu->MemFreeHost(host) : cu->MemFree(at));
    }
    close_driver(cu);
}

/* What runs over the end of an allocation finds a gap, and no neighbour; large ones are whole pages
 * of 4,096 bytes apart. */
static void allocations_have_gaps(void **state)
{
    (void)state;
    software_only();
    enum { COUNT = 64 };
    const acu_driver_table *cu = open_driver();
    CUstream stream;
    CUdeviceptr at[COUNT];
    size_t bytes[COUNT];
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            bytes[i] = (size_t)1 << (i + round) % 17;
            if (i % 2)
                OK(cu->MemAlloc(&at[i], bytes[i]));
            else
                OK(cu->MemAllocAsync(&at[i], bytes[i], stream));
            assert_int_equal(at[i] % (bytes[i] < 4096 ? 512 : 4096), 0);
        }
        for (size_t i = 0; i < COUNT; i++)
            for (size_t k = 0; k < COUNT; k++)
                assert_true(at[k] <= at[i] || at[k] - at[i] >= bytes[i] + 512);
        for (size_t i = 0; i < COUNT; i++)
            OK(i % 4 == 0 ? cu->MemFreeAsync(at[i], stream) : cu->MemFree(at[i]));
        OK(cu->StreamSynchronize(stream));
    }
    OK(cu->StreamDestroy(stream));
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_freed_once),
        cmocka_unit_test(pointers_are_known),
        cmocka_unit_test(kernels_reach_pinned_and_registered_memory),
        cmocka_unit_test(device_memory_is_out_of_reach),
        cmocka_unit_test(fresh_memory_holds_nothing),
        cmocka_unit_test(sources_are_taken_when_they_should_be),
        cmocka_unit_test(large_copies_arrive),
        cmocka_unit_test(bad_copies_are_refused),
        cmocka_unit_test(rows_are_copied),
        cmocka_unit_test(boxes_are_copied),
        cmocka_unit_test(batches_are_copied),
        cmocka_unit_test(fills_have_three_widths),
        cmocka_unit_test(fills_of_host_memory_are_over),
        cmocka_unit_test(allocations_have_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
