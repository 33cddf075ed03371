/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For the tests of the software driver: a driver with a current context (a GPU's, where there is
 * one), gates that hold a stream back for as long as a test wants, and a few kernels.
 */
#ifndef TESTS_SOFTCUDA_DRIVER_TEST_H
#define TESTS_SOFTCUDA_DRIVER_TEST_H

#include "driver/open.h"

#include <fcntl.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#define OK(call) assert_int_equal((call), ACU_CUDA_SUCCESS)
#define IS(call, error) assert_int_equal((call), ACU_CUDA_##error)
#define SOFTWARE (acu_driver_info_of()->software)

/* ---- processes ---- */

/* The name of the one test that this process was started for; NULL: it is to run all. */
static inline const char *own_case(void)
{
    return getenv("ACUDA_TEST_CASE");
}

/* For tests whose subject is the software device itself. */
static inline void software_only(void)
{
    if (own_case())
        return; /* the process that started this one has checked */
    const acu_driver_table *cu = open_driver();
    bool software = SOFTWARE;
    close_driver(cu);
    if (!software)
        skip();
}

/*
 * A kernel's fault costs the process its device, so a test that makes one begins with
 *     if (!in_own_process(__func__))
 *         return;
 * which starts this program again for that test alone, and goes on in there.
 */
static inline bool in_own_process(const char *name)
{
    if (own_case())
        return true;
    extern char **environ;
    char self[] = "/proc/self/exe";
    char *arguments[] = {self, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    assert_int_equal(setenv("ACUDA_TEST_CASE", name, 1), 0);
    posix_spawn_file_actions_init(&actions);
    /* Its summary does not belong to this test; failures are printed on the other stream. */
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&child, self, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    unsetenv("ACUDA_TEST_CASE");
    assert_int_equal(failed, 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s in a process of its own: wait status %#x", name, (unsigned)status);
    return false;
}

#define RUN_TESTS(tests) \
    (cmocka_set_test_filter(own_case()), cmocka_run_group_tests(tests, NULL, NULL))

/* ---- gates ---- */

static inline void nothing_to_do(void *unused)
{
    (void)unused;
}

/*
 * A driver may prepare for a kind of call when it is first made, and may wait for the whole context
 * to do so: for ever, while a test holds a stream up. So such calls are made here first.
 */
static inline void gate_prepare(const acu_driver_table *cu, CUstream stream)
{
    CUdeviceptr at;
    OK(cu->MemAlloc(&at, 64));
    OK(cu->MemsetD8Async(at, 0, 64, stream));
    OK(cu->MemsetD16Async(at, 0, 32, stream));
    OK(cu->MemsetD32Async(at, 0, 16, stream));
    OK(cu->MemcpyDtoDAsync(at, at + 32, 32, stream));
    OK(cu->LaunchHostFunc(stream, nothing_to_do, NULL));
    OK(cu->StreamSynchronize(stream));
    OK(cu->MemFree(at));
}

/*
 * A stream that runs into it waits until gate_open. Nothing promises that other streams of a GPU
 * make progress meanwhile: a test may rely on a few streams at most, which share no hardware queue.
 */
typedef struct gate {
    sem_t entered, open;
} gate;

static inline void gate_wait_open(void *argument)
{
    gate *g = argument;
    sem_post(&g->entered);
    while (sem_wait(&g->open)) {
    }
}

static inline void gate_close(const acu_driver_table *cu, gate *g, CUstream stream)
{
    sem_init(&g->entered, 0, 0);
    sem_init(&g->open, 0, 0);
    gate_prepare(cu, stream);
    OK(cu->LaunchHostFunc(stream, gate_wait_open, g));
}

/* Wait until the stream has come to the gate. */
static inline void gate_await(gate *g)
{
    while (sem_wait(&g->entered)) {
    }
}

static inline void gate_open(gate *g)
{
    sem_post(&g->open);
}

/* ---- kernels ---- */

#define TEST_HEAD ".version 6.3\n.target sm_60\n.address_size 64\n"

/* Each block adds 1 to the first word and waits until all have; then to the second, where it finds
 * the grid's workspace, which CUDA's own grid barrier needs. */
#define TEST_MEETING \
    TEST_HEAD ".visible .entry meet(.param .u64 meet_p)\n{\n" \
              "    .reg .pred %p<3>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<3>;\n" \
              "    ld.param.u64 %rd1, [meet_p];\n    cvta.to.global.u64 %rd2, %rd1;\n" \
              "    mov.u32 %r1, %nctaid.x;\n    atom.global.add.u32 %r2, [%rd2], 1;\n" \
              "AGAIN:\n    ld.volatile.global.u32 %r3, [%rd2];\n" \
              "    setp.lt.u32 %p1, %r3, %r1;\n    @%p1 bra AGAIN;\n" \
              "    mov.b32 %r4, %envreg1;\n    mov.b32 %r5, %envreg2;\n" \
              "    or.b32 %r6, %r4, %r5;\n    setp.eq.u32 %p2, %r6, 0;\n    @%p2 bra DONE;\n" \
              "    atom.global.add.u32 %r7, [%rd2+4], 1;\nDONE:\n    ret;\n}\n"

/* i = the thread's number; %p1: not below n, which is the last parameter. */
#define TEST_INDEX(n) \
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n" \
    "    mad.lo.s32 %r4, %r1, %r2, %r3;\n    ld.param.u32 %r5, [" n "];\n" \
    "    setp.ge.u32 %p1, %r4, %r5;\n    @%p1 bra DONE;\n"

static const char test_ptx[] = TEST_HEAD
    /* The value is stored by each thread of the launch. */
    ".visible .entry store(.param .u64 store_p, .param .u32 store_v)\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [store_p];\n    ld.param.u32 %r1, [store_v];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n    st.global.u32 [%rd2], %r1;\n    ret;\n}\n"
    /* Adds 1 to n words. */
    ".visible .entry add_one(.param .u64 add_one_p, .param .u32 add_one_n)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<5>;\n"
    TEST_INDEX("add_one_n")
    "    ld.param.u64 %rd1, [add_one_p];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mul.wide.u32 %rd3, %r4, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
    "    ld.global.u32 %r6, [%rd4];\n    add.s32 %r7, %r6, 1;\n    st.global.u32 [%rd4], %r7;\n"
    "DONE:\n    ret;\n}\n"
    /* Copies n words. */
    ".visible .entry copy_words(.param .u64 copy_d, .param .u64 copy_s, .param .u32 copy_n)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<7>;\n    .reg .b64 %rd<8>;\n"
    TEST_INDEX("copy_n")
    "    ld.param.u64 %rd1, [copy_d];\n    ld.param.u64 %rd2, [copy_s];\n"
    "    cvta.to.global.u64 %rd3, %rd1;\n    cvta.to.global.u64 %rd4, %rd2;\n"
    "    mul.wide.u32 %rd5, %r4, 4;\n    add.s64 %rd6, %rd3, %rd5;\n    add.s64 %rd7, %rd4, %rd5;\n"
    "    ld.global.u32 %r6, [%rd7];\n    st.global.u32 [%rd6], %r6;\n"
    "DONE:\n    ret;\n}\n"
    /* Waits until a word is not 0. */
    ".visible .entry spin_until(.param .u64 spin_p)\n{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<2>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [spin_p];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "AGAIN:\n    ld.volatile.global.u32 %r1, [%rd2];\n    setp.eq.u32 %p1, %r1, 0;\n"
    "    @%p1 bra AGAIN;\n    ret;\n}\n"
    ".visible .entry trap_now()\n{\n    trap;\n    ret;\n}\n"
    ".visible .entry bounded(.param .u64 bounded_p)\n.maxntid 64, 1, 1\n{\n    ret;\n}\n"
    ".visible .global .align 4 .u32 counter = 5;\n";

static inline CUfunction test_kernel(const acu_driver_table *cu, CUmodule module, const char *name)
{
    CUfunction function = NULL;
    OK(cu->ModuleGetFunction(&function, module, name));
    return function;
}

static inline CUmodule test_module(const acu_driver_table *cu)
{
    /* A GPU's driver may load a kernel when it is first launched, and wait for the context then:
     * for ever, if a stream of it is held up by the test. So all are loaded here. */
    static const char *const names[] = {"store",      "add_one",  "copy_words",
                                        "spin_until", "trap_now", "bounded"};
    CUmodule module = NULL;
    int registers;
    OK(cu->ModuleLoadData(&module, test_ptx));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CUfunction kernel = test_kernel(cu, module, names[i]);
        OK(cu->FuncGetAttribute(&registers, ACU_CU_FUNC_ATTRIBUTE_NUM_REGS, kernel));
        if (acu_driver_has(ACU_CALL_FuncLoad))
            OK(cu->FuncLoad(kernel));
    }
    return module;
}

/* Launches with one block of one thread, or as many as n needs. */

static inline unsigned launch_store(const acu_driver_table *cu, CUmodule module, CUstream stream,
                                    CUdeviceptr at, unsigned value)
{
    void *params[] = {&at, &value};
    return cu->LaunchKernel(test_kernel(cu, module, "store"), 1, 1, 1, 1, 1, 1, 0, stream, params,
                            NULL);
}

static inline unsigned launch_add_one(const acu_driver_table *cu, CUmodule module, CUstream stream,
                                      CUdeviceptr at, unsigned n)
{
    void *params[] = {&at, &n};
    return cu->LaunchKernel(test_kernel(cu, module, "add_one"), (n + 63) / 64, 1, 1, 64, 1, 1, 0,
                            stream, params, NULL);
}

static inline unsigned launch_copy(const acu_driver_table *cu, CUmodule module, CUstream stream,
                                   CUdeviceptr dst, CUdeviceptr src, unsigned n)
{
    void *params[] = {&dst, &src, &n};
    return cu->LaunchKernel(test_kernel(cu, module, "copy_words"), (n + 63) / 64, 1, 1, 64, 1, 1, 0,
                            stream, params, NULL);
}

static inline unsigned launch_spin(const acu_driver_table *cu, CUmodule module, CUstream stream,
                                   CUdeviceptr flag)
{
    void *params[] = {&flag};
    return cu->LaunchKernel(test_kernel(cu, module, "spin_until"), 1, 1, 1, 1, 1, 1, 0, stream,
                            params, NULL);
}

/* The word at a device address. */
static inline unsigned word_at(const acu_driver_table *cu, CUdeviceptr at)
{
    unsigned value = 0;
    OK(cu->MemcpyDtoH(&value, at, sizeof value));
    return value;
}

#endif
