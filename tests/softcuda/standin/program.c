/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program as somebody else might write it: linked with -lcuda. It uses only the declarations of
 * acuda, because there may be no cuda.h. It adds 1 to a thousand numbers.
 */
#include "softcuda/standin/kernel.h"

#include <acuda/driver_calls.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(name, symbol, since, effect, kind, parameters, arguments) \
    extern unsigned symbol parameters;
ACU_DRIVER_CALLS(DECLARE)
extern unsigned cuGetExportTable(const void **table, const acu_CUuuid *id);
extern unsigned cuLibraryEnumerateKernels(CUkernel *kernels, unsigned count, CUlibrary library);

#define COUNT 1000u

static void check(unsigned result, const char *what)
{
    const char *name = "?";
    if (result == ACU_CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}
#define CHECK(call) check(call, #call)

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

static void add_on_device(void)
{
    unsigned numbers[COUNT], count = COUNT;
    for (unsigned i = 0; i < COUNT; i++)
        numbers[i] = i;
    CUmodule module;
    CUfunction add_one;
    CUstream stream;
    CUdeviceptr at;
    CHECK(cuModuleLoadData(&module, kernel_ptx));
    CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
    CHECK(cuStreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc_v2(&at, sizeof numbers));
    CHECK(cuMemcpyHtoDAsync_v2(at, numbers, sizeof numbers, stream));
    void *params[] = {&at, &count};
    CHECK(cuLaunchKernel(add_one, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, stream, params, NULL));
    CHECK(cuMemcpyDtoHAsync_v2(numbers, at, sizeof numbers, stream));
    CHECK(cuStreamSynchronize(stream));
    for (unsigned i = 0; i < COUNT; i++)
        EXPECT(numbers[i] == i + 1);
    CHECK(cuMemFree_v2(at));
    CHECK(cuStreamDestroy_v2(stream));
    CHECK(cuModuleUnload(module));
}

/* A list of none may be asked for, but it has to be somewhere. */
static void list_kernels(void)
{
    CUlibrary library;
    CUkernel list[2] = {NULL, NULL};
    CHECK(cuLibraryLoadData(&library, kernel_ptx, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryEnumerateKernels(list, 0, library));
    EXPECT(!list[0]);
    CHECK(cuLibraryEnumerateKernels(list, 2, library));
    EXPECT(list[0] && !list[1]);
    EXPECT(cuLibraryEnumerateKernels(NULL, 0, library) == ACU_CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLibraryUnload(library));
}

/* The calls by which a loader makes sure that it has a driver. */
static void look_around(void)
{
    void *found = NULL;
    unsigned status = 99;
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status));
    EXPECT(found && status == ACU_CU_GET_PROC_ADDRESS_SUCCESS);
    CHECK(cuGetProcAddress_v2("cuMemAllocAsync", &found, 11000, 0, &status));
    EXPECT(!found && status == ACU_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK(cuGetProcAddress_v2("cuNoSuchThing", &found, 12000, 0, &status));
    EXPECT(!found && status == ACU_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    acu_CUuuid id = {{1, 2, 3}};
    const void *table = &id;
    EXPECT(cuGetExportTable(&table, &id) != ACU_CUDA_SUCCESS && !table);
}

/* What goes wrong when the program is asked for it by name: each ends the program. */

static void fail_in_kernel(void)
{
    CUmodule module;
    CUfunction add_one;
    CUdeviceptr at = 0;
    unsigned count = 1;
    void *params[] = {&at, &count};
    CHECK(cuModuleLoadData(&module, kernel_ptx));
    CHECK(cuModuleGetFunction(&add_one, module, "add_one"));
    CHECK(cuLaunchKernel(add_one, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(cuCtxSynchronize());
}

static void ask_for_refused_kernel(void)
{
    CUmodule module;
    CUfunction kernel;
    CHECK(cuModuleLoadData(&module,
                           ".version 6.3\n.target sm_60\n.address_size 64\n"
                           ".visible .entry k()\n{\n    .reg .b32 %r<3>;\n"
                           "    tex.1d.v4.s32.s32 {%r1, %r1, %r1, %r1}, [0, {%r2}];\n}\n"));
    CHECK(cuModuleGetFunction(&kernel, module, "k"));
}

/* As the CUDA run-time library does, before it calls anything else. */
static void ask_for_table(void)
{
    const void *table;
    const acu_CUuuid id = {{0}};
    CHECK(cuGetExportTable(&table, &id));
}

static void fail_as_asked(const char *word)
{
    if (strcmp(word, "fault") == 0)
        fail_in_kernel();
    if (strcmp(word, "refused") == 0)
        ask_for_refused_kernel();
}

int main(int count, char **words)
{
    CUdevice device;
    CUcontext context;
    char name[64];
    int version = 0;
    if (count > 1 && strcmp(words[1], "table") == 0)
        ask_for_table();
    CHECK(cuInit(0));
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    if (count > 1)
        fail_as_asked(words[1]);
    look_around();
    add_on_device();
    list_kernels();
    CHECK(cuCtxDestroy_v2(context));
    printf("%s, CUDA %d.%d: right\n", name, version / 1000, version % 1000 / 10);
    if (count > 1 && strcmp(words[1], "pthread_exit") == 0)
        pthread_exit(NULL);
    return 0;
}
