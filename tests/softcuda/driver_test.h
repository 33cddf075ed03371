/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For the tests of the software driver: a driver with a current context (a GPU's, where there is
 * one), gates that hold a stream back for as long as a test wants, and a few kernels.
 */
#ifndef TESTS_SOFTCUDA_DRIVER_TEST_H
#define TESTS_SOFTCUDA_DRIVER_TEST_H

#include "driver/open.h"

#include <semaphore.h>
#include <stdlib.h>

#define OK(call) assert_int_equal((call), ACU_CUDA_SUCCESS)
#define IS(call, error) assert_int_equal((call), ACU_CUDA_##error)
#define SOFTWARE (acu_driver_info_of()->software)

/* ---- gates ---- */

/* A stream that runs into it waits until gate_open; unlike a kernel, also on a GPU. */
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
    "    .reg .pred %p<2>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<5>;\n" TEST_INDEX(
        "add_one_n") "    ld.param.u64 %rd1, [add_one_p];\n    cvta.to.global.u64 %rd2, %rd1;\n"
                     "    mul.wide.u32 %rd3, %r4, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
                     "    ld.global.u32 %r6, [%rd4];\n    add.s32 %r7, %r6, 1;\n    st.global.u32 [%rd4], %r7;\n"
                     "DONE:\n    ret;\n}\n"
                     /* Copies n words. */
                     ".visible .entry copy_words(.param .u64 copy_d, .param .u64 copy_s, .param .u32 copy_n)\n{\n"
                     "    .reg .pred %p<2>;\n    .reg .b32 %r<7>;\n    .reg .b64 %rd<8>;\n" TEST_INDEX(
                         "copy_n") "    ld.param.u64 %rd1, [copy_d];\n    ld.param.u64 %rd2, [copy_s];\n"
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
    /* A GPU's driver loads a kernel when it is first launched, and waits for the context then: for
     * ever, if a stream of it is held up by the test. So all are loaded here. */
    static const char *const names[] = {"store", "add_one", "copy_words", "spin_until", "trap_now", "bounded"};
    CUmodule module = NULL;
    CUfunction kernel;
    OK(cu->ModuleLoadData(&module, test_ptx));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        OK(cu->ModuleGetFunction(&kernel, module, names[i]));
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
