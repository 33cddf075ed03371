/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Scripts of faults: each fault happens at its place and nowhere else; calls fail at once, work
 * items take their context along; and a senseless script is refused with a message.
 */
#include "softcuda/programs.h"

#include "driver/faults.h"
#include "driver/fault_script.h"
#include "driver/softcuda.h"

#include <acuda/acuda.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define SCRIPTED(name, script) \
    assert_true(passes(name, (const char *[]){"SOFTCUDA_FAULTS=" script, "SOFTCUDA_DEVICES=2"}, 2))

/* ---- calls ---- */

static void program_allocates(void **state)
{
    PROGRAM(state);
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at[4];
    IS(cu->MemAlloc(&at[0], 64), ERROR_OUT_OF_MEMORY);
    OK(cu->MemAlloc(&at[0], 64));
    OK(cu->MemAllocAsync(&at[1], 64, NULL));
    IS(cu->MemAllocAsync(&at[2], 64, NULL), ERROR_OUT_OF_MEMORY);
    IS(cu->MemAllocAsync(&at[2], 64, NULL), ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(softcuda_last_error_text(), "MemAllocAsync #2+ = out-of-memory"));
    OK(cu->CtxSynchronize());
    OK(cu->MemFree(at[0]));
    OK(cu->MemFree(at[1]));
    close_driver(cu);
}

static void calls_fail_where_it_says(void **state)
{
    TEST(state);
    SCRIPTED("program_allocates",
             " MemAllocAsync #2+ = out-of-memory ;; cuMemAlloc#1=CUDA_ERROR_OUT_OF_MEMORY\n");
    assert_false(passes("program_allocates", NULL, 0));
}

/* ---- works ---- */

/* From the third launch on, nothing is added to `at`; the calls succeed. */
static void program_launches(void **state)
{
    PROGRAM(state);
    const acu_driver_table *cu = open_driver();
    CUmodule module = test_module(cu);
    CUdeviceptr at;
    CUstream stream;
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 256));
    OK(cu->MemsetD32(at, 0, 64));
    OK(cu->CtxSynchronize());
    OK(launch_add_one(cu, module, stream, at, 64));
    OK(cu->StreamSynchronize(stream));
    assert_int_equal(word_at(cu, at), 1);
    OK(launch_add_one(cu, module, stream, at, 64));
    OK(cu->StreamSynchronize(stream));
    OK(launch_add_one(cu, module, stream, at, 64)); /* the third */
    IS(cu->StreamSynchronize(stream), ERROR_ILLEGAL_ADDRESS);
    IS(cu->MemAlloc(&at, 256), ERROR_ILLEGAL_ADDRESS);
    assert_non_null(strstr(softcuda_last_error_text(), "=illegal-address: launch add_one<<<"));
    (void)cu->DevicePrimaryCtxRelease(0);
}

static void works_fail_late(void **state)
{
    TEST(state);
    SCRIPTED("program_launches", "LaunchKernel#3=illegal-address");
    SCRIPTED("program_launches", "kernel:add_one#3=illegal-address; kernel:store=trap");
    SCRIPTED("program_launches", "launch#3=illegal-address");
    SCRIPTED("program_launches", "device:0#5=illegal-address");
    assert_false(passes("program_launches", NULL, 0));
}

/* A host function, a copy, stream-ordered memory, a call that issues no work. */
static void program_of_other_works(void **state)
{
    PROGRAM(state);
    const acu_driver_table *cu = open_driver();
    CUdeviceptr at;
    CUevent event;
    CUstream stream;
    const char *what = getenv("TEST_WHAT");
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->EventCreate(&event, ACU_CU_EVENT_DISABLE_TIMING));
    OK(cu->MemAllocAsync(&at, 256, stream));
    if (strcmp(what, "host") == 0)
        OK(cu->LaunchHostFunc(stream, nothing_to_do, NULL));
    if (strcmp(what, "fill") == 0)
        OK(cu->MemsetD8Async(at, 0, 256, stream));
    if (strcmp(what, "copy") == 0)
        OK(cu->MemcpyDtoDAsync(at, at + 128, 128, stream));
    if (strcmp(what, "record") == 0)
        OK(cu->EventRecord(event, stream));
    if (strcmp(what, "graph") == 0) {
        CUgraph graph;
        CUgraphExec exec;
        OK(cu->StreamBeginCapture(stream, ACU_CU_STREAM_CAPTURE_MODE_RELAXED));
        OK(cu->MemsetD8Async(at, 0, 256, stream));
        OK(cu->StreamEndCapture(stream, &graph));
        OK(cu->GraphInstantiateWithFlags(&exec, graph, 0));
        OK(cu->GraphLaunch(exec, stream));
    }
    IS(cu->StreamSynchronize(stream), ERROR_ECC_UNCORRECTABLE);
    (void)cu->DevicePrimaryCtxRelease(0);
}

static void each_kind_of_work_fails(void **state)
{
    TEST(state);
    const char *cases[][2] = {
        {"TEST_WHAT=host", "SOFTCUDA_FAULTS=host-function=ecc"},
        {"TEST_WHAT=fill", "SOFTCUDA_FAULTS=fill=ecc"},
        {"TEST_WHAT=fill", "SOFTCUDA_FAULTS=work#2=ecc-uncorrectable"},
        {"TEST_WHAT=fill", "SOFTCUDA_FAULTS=MemsetD8Async=ecc"},
        {"TEST_WHAT=copy", "SOFTCUDA_FAULTS=copy#*=ecc"},
        {"TEST_WHAT=record", "SOFTCUDA_FAULTS=EventRecord=ecc"},
        {"TEST_WHAT=nothing", "SOFTCUDA_FAULTS=allocation=ecc"},
        {"TEST_WHAT=graph", "SOFTCUDA_FAULTS=fill=ecc"},
        {"TEST_WHAT=graph", "SOFTCUDA_FAULTS=GraphLaunch=ecc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!passes("program_of_other_works", cases[i], 2))
            fail_msg("%s", cases[i][1]);
        assert_false(passes("program_of_other_works", cases[i], 1));
    }
}

/* ---- devices ---- */

static void program_with_two_devices(void **state)
{
    PROGRAM(state);
    const acu_driver_table *cu = open_driver();
    CUcontext second, another;
    CUdeviceptr at;
    OK(cu->CtxCreate(&second, 0, 1));
    OK(cu->MemAlloc(&at, 16));
    OK(cu->MemsetD8Async(at, 0, 16, NULL));
    IS(cu->StreamSynchronize(NULL), ERROR_UNKNOWN);
    OK(cu->CtxDestroy(second));
    IS(cu->CtxCreate(&another, 0, 1), ERROR_UNKNOWN); /* whatever SOFTCUDA_HEAL says */
    OK(cu->MemAlloc(&at, 16));                        /* device 0 still works */
    OK(cu->MemFree(at));
    close_driver(cu);
}

/* Says 1 at p, and goes on until something is at p + 4. */
#define SAYS_AND_SPINS \
    TEST_HEAD ".visible .entry says_and_spins(.param .u64 p)\n{\n" \
              "    .reg .pred %p<2>;\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<3>;\n" \
              "    ld.param.u64 %rd1, [p];\n    cvta.to.global.u64 %rd2, %rd1;\n" \
              "    mov.b32 %r1, 1;\n    st.volatile.global.u32 [%rd2], %r1;\n" \
              "AGAIN:\n    ld.volatile.global.u32 %r2, [%rd2+4];\n" \
              "    setp.eq.u32 %p1, %r2, 0;\n    @%p1 bra AGAIN;\n    ret;\n}\n"

/* Work that runs on the device ends with it. That is no kernel fault, which would take all devices
 * along. */
static void program_with_a_kernel_that_runs(void **state)
{
    PROGRAM(state);
    const acu_driver_table *cu = open_driver();
    CUcontext second;
    CUmodule module;
    CUstream stream;
    CUdeviceptr at;
    _Atomic unsigned *word;
    OK(cu->CtxCreate(&second, 0, 1));
    OK(cu->ModuleLoadData(&module, SAYS_AND_SPINS));
    OK(cu->StreamCreate(&stream, ACU_CU_STREAM_NON_BLOCKING));
    OK(cu->MemAlloc(&at, 16));
    OK(cu->MemHostAlloc((void **)(uintptr_t)&word, 8, 0));
    memset((void *)(uintptr_t)word, 0, 8);
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)word;
    void *params[] = {&p};
    OK(cu->LaunchKernel(test_kernel(cu, module, "says_and_spins"), 1, 1, 1, 1, 1, 1, 0, stream,
                        params, NULL));
    while (!atomic_load(word))
        sched_yield();
    OK(cu->MemsetD8Async(at, 0, 16, NULL));
    IS(cu->StreamSynchronize(NULL), ERROR_UNKNOWN);
    OK(cu->CtxDestroy(second)); /* waits for the kernel */
    OK(cu->MemAlloc(&at, 16));
    OK(cu->MemFree(at));
    close_driver(cu);
}

static void a_device_is_lost_alone(void **state)
{
    TEST(state);
    SCRIPTED("program_with_a_kernel_that_runs", "device:1#2=lost");
    const char *settings[] = {"SOFTCUDA_DEVICES=2", "SOFTCUDA_FAULTS=device:1=lost",
                              "SOFTCUDA_HEAL=1"};
    assert_true(passes("program_with_two_devices", settings, 2));
    assert_true(passes("program_with_two_devices", settings, 3));
}

/* ---- acuda's side: every kind of fault reaches a future as a lost device ---- */

static void program_of_acuda(void **state)
{
    PROGRAM(state);
    acu_driver_options driver = {.size = sizeof driver, .request = "software"};
    acu_open_options options = {.size = sizeof options, .driver = &driver};
    acu_device *device;
    acu_future *future;
    assert_int_equal(acu_open(&options, &device), ACU_OK);
    assert_int_equal(acu_submit(device, acu_ones(ACU_F32, ACU_SHAPE(64)), NULL, &future), ACU_OK);
    assert_int_equal(acu_future_wait(future, ACU_FOREVER), ACU_ERR_DEVICE_LOST);
    assert_int_equal(acu_device_status(device, NULL), ACU_ERR_DEVICE_LOST);
    acu_future_release(future);
    (void)acu_close(device);
}

static void every_fault_reaches_futures(void **state)
{
    TEST(state);
    software_only();
#define ONE(result) #result,
    static const char *const results[] = {SD_LATE_FAULTS(ONE)};
#undef ONE
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        char setting[128];
        snprintf(setting, sizeof setting, "SOFTCUDA_FAULTS=fill=%s", strstr(results[i], "CUDA_"));
        const char *settings[] = {setting};
        if (!passes("program_of_acuda", settings, 1))
            fail_msg("%s", setting);
    }
}

/* ---- scripts ---- */

static void senseless_scripts_are_refused(void **state)
{
    TEST(state);
    const char *cases[][2] = {
        {"LaunchKernel#3", "PLACE=RESULT"},
        {"LaunchKernle=trap", "no call cuLaunchKernle"},
        {"MemAlloc=out-of-mind", "\"out-of-mind\" is no result"},
        {"MemAlloc=success", "\"success\" is no result"},
        {"copy#0=ecc", "\"#0\" is no place"},
        {"copy#99999999999999999999=ecc", "\"#99999999999999999999\" is no place"},
        {"copy#x=ecc", "\"#x\" is no place"},
        {"copy#3-=ecc", "\"#3-\" is no place"},
        {"copy=out-of-memory", "a work does not fail with out-of-memory"},
        {"device:one=lost", "\"one\" is no device"},
        {"device:16=lost", "\"16\" is no device"},
        {"kernel:=trap", "which kernel"},
        {"copy=ecc; =ecc", "\"=ecc\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char why[512] = "";
        sd_fault *faults = NULL;
        assert_false(sd_script_read(cases[i][0], &faults, why, sizeof why));
        assert_null(faults);
        if (!strstr(why, cases[i][1]) || strncmp(why, "SOFTCUDA_FAULTS: ", 17) != 0)
            fail_msg("%s: %s", cases[i][0], why);
    }
}

/* An alias has its own meaning, even if CUDA has a result of that name. */
static void aliases_are_late_faults(void **state)
{
    TEST(state);
#define ALIAS(name, value) \
    { \
        char why[256]; \
        sd_fault *fault = NULL; \
        assert_true(sd_script_read("copy=" name, &fault, why, sizeof why)); \
        assert_int_equal(fault->result, value); \
        assert_true(fault->late); \
        free(fault); \
    }
    SD_FAULT_ALIASES(ALIAS)
#undef ALIAS
}

static void program_with_a_bad_script(void **state)
{
    PROGRAM(state);
    acu_driver_options options = {.size = sizeof options, .request = "software"};
    const acu_driver_table *cu = NULL;
    assert_int_not_equal(acu_driver_open(&options, &cu), ACU_OK);
    assert_non_null(strstr(acu_last_error()->message, "SOFTCUDA_FAULTS: \"copy=cold\""));
}

static void a_bad_script_stops_the_driver(void **state)
{
    TEST(state);
    SCRIPTED("program_with_a_bad_script", "copy=cold");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_allocates),
        cmocka_unit_test(program_launches),
        cmocka_unit_test(program_of_other_works),
        cmocka_unit_test(program_with_two_devices),
        cmocka_unit_test(program_with_a_kernel_that_runs),
        cmocka_unit_test(program_of_acuda),
        cmocka_unit_test(program_with_a_bad_script),
        cmocka_unit_test(calls_fail_where_it_says),
        cmocka_unit_test(works_fail_late),
        cmocka_unit_test(each_kind_of_work_fails),
        cmocka_unit_test(a_device_is_lost_alone),
        cmocka_unit_test(every_fault_reaches_futures),
        cmocka_unit_test(senseless_scripts_are_refused),
        cmocka_unit_test(aliases_are_late_faults),
        cmocka_unit_test(a_bad_script_stops_the_driver),
    };
    return RUN_TESTS(tests);
}
