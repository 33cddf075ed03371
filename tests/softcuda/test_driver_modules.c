/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules and launches: what is loaded and what is refused, how parameters get to kernels. */
#include "softcuda/driver_test.h"

#include "driver/module.h"
#include "driver/softcuda.h"

static void modules_load_with_a_log(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = NULL;
    char log[512] = "untouched";
    unsigned options[] = {ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    IS(cu->ModuleLoadDataEx(&module, TEST_HEAD ".visible .entry f()\n{\n    bogus.u32 1;\n}\n", 2,
                            options, values),
       ERROR_INVALID_PTX);
    assert_non_null(strstr(log, "bogus"));
    assert_int_equal((uintptr_t)values[1] > 0, 1);
    values[1] = (void *)(uintptr_t)sizeof log;
    OK(cu->ModuleLoadDataEx(&module, test_ptx, 2, options, values));
    OK(cu->ModuleUnload(module));
    IS(cu->ModuleLoadData(&module, NULL), ERROR_INVALID_VALUE);
    IS(cu->ModuleLoad(&module, "/no/such/file.ptx"), ERROR_FILE_NOT_FOUND);
    close_driver(cu);
}

static void machine_code_is_refused(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!SOFTWARE) {
        close_driver(cu);
        skip();
    }
    CUmodule module;
    const unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    const unsigned char fatbin[64] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
    IS(cu->ModuleLoadData(&module, cubin), ERROR_NO_BINARY_FOR_GPU);
    IS(cu->ModuleLoadFatBinary(&module, fatbin), ERROR_NO_BINARY_FOR_GPU);
    IS(cu->ModuleLoadData(&module, ""), ERROR_INVALID_IMAGE);
    close_driver(cu);
}

static void names_are_found(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUfunction function;
    CUdeviceptr at;
    size_t bytes;
    IS(cu->ModuleGetFunction(&function, module, "nothing_of_that_name"), ERROR_NOT_FOUND);
    IS(cu->ModuleGetGlobal(&at, &bytes, module, "nothing_of_that_name"), ERROR_NOT_FOUND);
    OK(cu->ModuleGetGlobal(&at, &bytes, module, "counter"));
    assert_int_equal(bytes, 4);
    assert_int_equal(word_at(cu, at), 5); /* its initial value */
    OK(cu->MemsetD32(at, 6, 1));
    assert_int_equal(word_at(cu, at), 6);
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void functions_tell_about_themselves(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUfunction function = test_kernel(cu, module, "copy_words");
    int value = 0;
    OK(cu->FuncGetAttribute(&value, ACU_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    assert_int_equal(value, 1024);
    OK(cu->FuncGetAttribute(&value, ACU_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 0);
    if (acu_driver_has(ACU_CALL_FuncGetParamInfo)) {
        size_t offset = 99, size = 99;
        OK(cu->FuncGetParamInfo(function, 1, &offset, &size));
        assert_int_equal(offset, 8);
        assert_int_equal(size, 8);
        OK(cu->FuncGetParamInfo(function, 2, &offset, &size));
        assert_int_equal(offset, 16);
        assert_int_equal(size, 4);
        IS(cu->FuncGetParamInfo(function, 3, &offset, &size), ERROR_INVALID_VALUE);
    }
    if (acu_driver_has(ACU_CALL_FuncGetName)) {
        const char *name = NULL;
        OK(cu->FuncGetName(&name, function));
        assert_string_equal(name, "copy_words");
    }
    CUmodule of = NULL;
    OK(cu->FuncGetModule(&of, function));
    assert_ptr_equal(of, module);
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

/* A list of none may be asked for, also of a module without functions, but it has to be
 * somewhere. */
static void functions_are_listed(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!acu_driver_has(ACU_CALL_ModuleEnumerateFunctions)) {
        close_driver(cu);
        skip();
    }
    CUmodule modules[2];
    unsigned count = 99;
    OK(cu->ModuleLoadData(&modules[0], TEST_HEAD ".visible .global .u32 counter;\n"));
    modules[1] = test_module(cu);
    OK(cu->ModuleGetFunctionCount(&count, modules[0]));
    assert_int_equal(count, 0);
    for (int i = 0; i < 2; i++) {
        CUfunction list[2] = {NULL, NULL};
        OK(cu->ModuleEnumerateFunctions(list, 1, modules[i]));
        assert_int_equal(list[0] != NULL, i);
        assert_null(list[1]);
        OK(cu->ModuleEnumerateFunctions(list, 0, modules[i]));
        IS(cu->ModuleEnumerateFunctions(NULL, 0, modules[i]), ERROR_INVALID_VALUE);
        IS(cu->ModuleEnumerateFunctions(NULL, 1, modules[i]), ERROR_INVALID_VALUE);
        OK(cu->ModuleUnload(modules[i]));
    }
    close_driver(cu);
}

static void parameters_are_copied_at_the_call(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUfunction store = test_kernel(cu, module, "store");
    CUstream stream;
    CUdeviceptr at;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 8));
    gate g;
    gate_close(cu, &g, stream);
    unsigned value = 1;
    CUdeviceptr to = at;
    void *params[] = {&to, &value};
    OK(cu->LaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    /* The same as one packed buffer. */
    struct {
        CUdeviceptr to;
        unsigned value;
    } packed = {at + 4, 2};
    size_t bytes = 12;
    void *extra[] = {ACU_CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, ACU_CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, ACU_CU_LAUNCH_PARAM_END};
    OK(cu->LaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
    to = 0;
    value = 99;
    memset(&packed, 0, sizeof packed);
    gate_open(&g);
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(word_at(cu, at), 1);
    assert_int_equal(word_at(cu, at + 4), 2);
    OK(cu->MemFree(at));
    OK(cu->StreamDestroy(stream));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void wrong_launches_are_refused(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUfunction store = test_kernel(cu, module, "store");
    CUfunction bounded = test_kernel(cu, module, "bounded");
    CUdeviceptr at = 0;
    unsigned value = 0;
    void *params[] = {&at, &value};
    IS(cu->LaunchKernel(store, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), ERROR_INVALID_VALUE);
    IS(cu->LaunchKernel(store, 1, 1, 1, 0, 1, 1, 0, NULL, params, NULL), ERROR_INVALID_VALUE);
    IS(cu->LaunchKernel(store, 1, 70000, 1, 1, 1, 1, 0, NULL, params, NULL), ERROR_INVALID_VALUE);
    IS(cu->LaunchKernel(store, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL), ERROR_INVALID_VALUE);
    IS(cu->LaunchKernel(store, 1, 1, 1, 64, 32, 1, 0, NULL, params, NULL), ERROR_INVALID_VALUE);
    IS(cu->LaunchKernel(store, 1, 1, 1, 1, 1, 65, 0, NULL, params, NULL), ERROR_INVALID_VALUE);
    IS(cu->LaunchKernel(store, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL), ERROR_INVALID_VALUE);
    assert_int_not_equal(cu->LaunchKernel(bounded, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL), 0);
    if (SOFTWARE)
        IS(cu->LaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), ERROR_INVALID_VALUE);
    OK(cu->LaunchKernel(bounded, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    OK(cu->StreamSynchronize(NULL)); /* none of it was launched */
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void shared_memory_has_to_be_asked_for(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUfunction f = test_kernel(cu, module, "bounded");
    CUdeviceptr at = 0;
    void *params[] = {&at};
    int most = 0;
    OK(cu->DeviceGetAttribute(&most, ACU_CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    OK(cu->LaunchKernel(f, 1, 1, 1, 1, 1, 1, 48 << 10, NULL, params, NULL));
    IS(cu->LaunchKernel(f, 1, 1, 1, 1, 1, 1, (unsigned)most, NULL, params, NULL),
       ERROR_INVALID_VALUE);
    OK(cu->FuncSetAttribute(f, ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
    OK(cu->LaunchKernel(f, 1, 1, 1, 1, 1, 1, (unsigned)most, NULL, params, NULL));
    IS(cu->FuncSetAttribute(f, ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1),
       ERROR_INVALID_VALUE);
    OK(cu->StreamSynchronize(NULL));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void occupancy_is_plausible(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUfunction f = test_kernel(cu, module, "bounded");
    int blocks = 0, fewer = 0, grid = 0, block = 0;
    OK(cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 64, 0));
    assert_true(blocks >= 1);
    OK(cu->OccupancyMaxActiveBlocksPerMultiprocessor(&fewer, f, 64, 40 << 10));
    assert_true(fewer >= 1 && fewer <= blocks);
    OK(cu->OccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    assert_true(block > 0 && block <= 64 && grid >= 1);
    IS(cu->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0), ERROR_INVALID_VALUE);
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void launches_take_attributes(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!acu_driver_has(ACU_CALL_LaunchKernelEx)) {
        close_driver(cu);
        skip();
    }
    CUmodule module = test_module(cu);
    CUdeviceptr at;
    unsigned value = 8;
    OK(cu->MemAlloc(&at, 4));
    void *params[] = {&at, &value};
    acu_CUlaunchAttribute attribute = {.id = ACU_CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    attribute.value.cooperative = 1;
    acu_CUlaunchConfig config = {.gridDimX = 1,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 1,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .attrs = &attribute,
                                 .numAttrs = 1};
    CUfunction store = test_kernel(cu, module, "store");
    OK(cu->LaunchKernelEx(&config, store, params, NULL));
    assert_int_equal(word_at(cu, at), 8);
    config.gridDimX = 1 << 20; /* more blocks than can be there at once */
    IS(cu->LaunchKernelEx(&config, store, params, NULL), ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cu->MemFree(at));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void cooperative_grids_meet(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    CUmodule module;
    CUdeviceptr at;
    int fit = 0, processors = 0;
    OK(cu->ModuleLoadData(&module, TEST_MEETING));
    CUfunction meet = test_kernel(cu, module, "meet");
    OK(cu->OccupancyMaxActiveBlocksPerMultiprocessor(&fit, meet, 32, 0));
    OK(cu->DeviceGetAttribute(&processors, ACU_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    unsigned most = (unsigned)(fit * processors);
    OK(cu->MemAlloc(&at, 8));
    OK(cu->MemsetD32(at, 0, 2));
    void *params[] = {&at};
    IS(cu->LaunchCooperativeKernel(meet, most + 1, 1, 1, 32, 1, 1, 0, NULL, params),
       ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    OK(cu->LaunchCooperativeKernel(meet, most, 1, 1, 1, 1, 1, 0, NULL, params));
    assert_int_equal(word_at(cu, at), most);
    assert_int_equal(word_at(cu, at + 4), most);
    OK(cu->MemFree(at));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

static void libraries_work_in_each_context(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    if (!acu_driver_has(ACU_CALL_LibraryLoadData)) {
        close_driver(cu);
        skip();
    }
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUdeviceptr at;
    unsigned value = 4;
    OK(cu->LibraryLoadData(&library, test_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cu->LibraryGetKernel(&kernel, library, "store"));
    IS(cu->LibraryGetKernel(&kernel, library, "nothing_of_that_name"), ERROR_NOT_FOUND);
    OK(cu->KernelGetFunction(&function, kernel));
    OK(cu->MemAlloc(&at, 4));
    void *params[] = {&at, &value};
    OK(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(word_at(cu, at), 4);
    value = 5;
    /* A kernel may stand for its function. */
    OK(cu->LaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    assert_int_equal(word_at(cu, at), 5);
    OK(cu->MemFree(at));
    OK(cu->LibraryUnload(library));
    close_driver(cu);
}

/* PTX for a newer GPU than the device, or for another one alone, is refused; by a GPU too, whose
 * capability decides what is newer. */
static void newer_targets_are_refused(void **state)
{
    (void)state;
    const acu_driver_table *cu = open_driver();
    static const struct {
        unsigned target;
        char suffix;
        unsigned sm;
        bool fits;
    } known[] = {
        {80, 0, 80, true},    {75, 0, 80, true},    {86, 0, 80, false},   {90, 'a', 90, true},
        {90, 'a', 100, false}, {90, 'a', 80, false}, {100, 'f', 103, true}, {100, 'f', 110, false},
        {120, 'f', 121, true}, {103, 'f', 100, false},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(sd_target_fits(known[i].target, known[i].suffix, known[i].sm),
                         known[i].fits);
    int major, minor;
    OK(cu->DeviceGetAttribute(&major, ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    OK(cu->DeviceGetAttribute(&minor, ACU_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    const unsigned sm = (unsigned)(10 * major + minor);
    CUmodule module;
    if (sm < 120)
        IS(cu->ModuleLoadData(&module, ".version 8.7\n.target sm_120\n.address_size 64\n"
                                       ".visible .entry k() { ret; }\n"),
           ERROR_INVALID_PTX);
    if (sm > 90)
        IS(cu->ModuleLoadData(&module, ".version 8.0\n.target sm_90a\n.address_size 64\n"
                                       ".visible .entry k() { ret; }\n"),
           ERROR_INVALID_PTX);
    close_driver(cu);
}

/* A kernel that can not run here is refused when it is asked for, and the others run. */
static void kernels_are_refused_alone(void **state)
{
    (void)state;
    software_only();
    const acu_driver_table *cu = open_driver();
    static const char text[] =
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry bad()\n{\n"
        "    .reg .b32 %r<3>;\n    tex.1d.v4.s32.s32 {%r1, %r1, %r1, %r1}, [0, {%r2}];\n    ret;\n"
        "}\n.visible .entry good()\n{\n    ret;\n}\n";
    CUmodule module;
    CUfunction function;
    CUlibrary library;
    CUkernel kernel;
    unsigned count;
    OK(cu->ModuleLoadData(&module, text));
    IS(cu->ModuleGetFunction(&function, module, "bad"), ERROR_INVALID_PTX);
    assert_string_equal(softcuda_last_error_text(),
                        "PTX line 7, tex.1d.v4.s32.s32 in bad: the software device does not "
                        "execute tex.1d.v4.s32.s32; keep kernels that need it for a GPU");
    OK(cu->ModuleGetFunction(&function, module, "good"));
    OK(cu->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cu->ModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 1);
    OK(cu->ModuleEnumerateFunctions(&function, 1, module));
    OK(cu->LibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    IS(cu->LibraryGetKernel(&kernel, library, "bad"), ERROR_INVALID_PTX);
    OK(cu->LibraryGetKernel(&kernel, library, "good"));
    OK(cu->LaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cu->CtxSynchronize());
    OK(cu->LibraryUnload(library));
    OK(cu->ModuleUnload(module));
    close_driver(cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_load_with_a_log),
        cmocka_unit_test(machine_code_is_refused),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(functions_tell_about_themselves),
        cmocka_unit_test(functions_are_listed),
        cmocka_unit_test(parameters_are_copied_at_the_call),
        cmocka_unit_test(wrong_launches_are_refused),
        cmocka_unit_test(shared_memory_has_to_be_asked_for),
        cmocka_unit_test(occupancy_is_plausible),
        cmocka_unit_test(launches_take_attributes),
        cmocka_unit_test(cooperative_grids_meet),
        cmocka_unit_test(libraries_work_in_each_context),
        cmocka_unit_test(newer_targets_are_refused),
        cmocka_unit_test(kernels_are_refused_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
