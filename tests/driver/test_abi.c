/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * acuda's declarations of the driver ABI against an installed cuda.h: every value, every struct's
 * size and fields, every signature, from the lists that the declarations are made of. All of it is
 * checked by the compiler. What that cuda.h is too old to have is left out (abi_missing.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <acuda/driver.h>

#ifdef ACUDA_HAVE_CUDA_H
#define __CUDA_API_VERSION_INTERNAL 1 /* cuda.h declares older forms of calls as well */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <cuda.h>
#pragma GCC diagnostic pop
/* Of cudaProfiler.h, which is not everywhere. */
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
#include "abi_missing.h"
#if CUDA_VERSION < 12040 /* what is named here was part of `reserved` */
#undef ACU_ABI_CUmemPoolProps
#define ACU_ABI_CUmemPoolProps(F, S) \
    F(S, unsigned, allocType) \
    F(S, unsigned, handleTypes) \
    F(S, acu_CUmemLocation, location) \
    F(S, void *, win32SecurityAttributes)
#endif
#if CUDA_VERSION < 12000 /* these names meant the older form of the calls, now "_V1" */
#define CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS \
    CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V2
#define CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR \
    CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V2
#define CU_CTX_FLAGS_MASK ACU_CU_CTX_FLAGS_MASK /* there were fewer flags */
#endif
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#ifdef ACUDA_HAVE_CUDA_H

#define SAME_VALUE(name, value) \
    _Static_assert((long long)(name) == (long long)ACU_##name, "value of " #name);
ACU_ABI_VALUES(SAME_VALUE)

#define SAME_FIELD(S, type, field) \
    _Static_assert(offsetof(S, field) == offsetof(acu_##S, field), "offset of " #S "." #field);
#define SAME_STRUCT(S) \
    _Static_assert(sizeof(S) == sizeof(acu_##S), "size of " #S); \
    _Static_assert(_Alignof(S) == _Alignof(acu_##S), "alignment of " #S); \
    ACU_ABI_##S(SAME_FIELD, S)
ACU_ABI_STRUCTS(SAME_STRUCT)

#if CUDA_VERSION >= 12000
_Static_assert(sizeof(CUlaunchAttributeValue) == sizeof(acu_CUlaunchAttributeValue), "union");
_Static_assert(offsetof(CUlaunchAttributeValue, programmaticEvent.triggerAtBlockStart) ==
                   offsetof(acu_CUlaunchAttributeValue, programmaticEvent.triggerAtBlockStart),
               "programmaticEvent");
#endif

/*
 * In here acuda's structs are CUDA's, so that signatures which name them must be the same; an
 * initializer of an incompatible type is an error.
 */
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-local-typedefs"
#pragma GCC diagnostic ignored "-Wpedantic"
static int count_signatures(void)
{
    int count = 0;
#define AS_CUDAS(S) typedef S acu_##S;
    ACU_ABI_STRUCTS(AS_CUDAS)
    typedef CUkernelNodeAttrValue acu_CUlaunchAttributeValue; /* a larger one since 12.0 */
#define SAME_SIGNATURE(name, symbol, since, effect, kind, params, args) \
    { \
        unsigned(*function) params = symbol; \
        count += sizeof function != 0; \
    }
    ACU_DRIVER_CALLS(SAME_SIGNATURE)
    return count;
}

static void agrees_with_cuda_h(void **state)
{
    (void)state;
    assert_int_equal(count_signatures(), ACU_CALL_COUNT);
    printf("compared with cuda.h of CUDA %d.%d\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
}
#else
static void agrees_with_cuda_h(void **state)
{
    (void)state;
    skip(); /* no cuda.h on this machine */
}
#endif

/* A toolkit's stub library exports what a driver of its version does. */
static void symbols_are_exported(void **state)
{
    (void)state;
#if defined(ACUDA_CUDA_STUB) && defined(ACUDA_HAVE_CUDA_H)
    void *stub = dlopen(ACUDA_CUDA_STUB, RTLD_LAZY | RTLD_LOCAL);
    if (!stub)
        skip();
    for (int i = 0; i < ACU_CALL_COUNT; i++) {
        acu_driver_call call = (acu_driver_call)i;
        if (acu_driver_call_since(call) > CUDA_VERSION)
            continue;
        if (!dlsym(stub, acu_driver_call_name(call)))
            fail_msg("%s is not exported", acu_driver_call_name(call));
    }
    dlclose(stub);
#else
    skip();
#endif
}

static void entries_are_found_by_name(void **state)
{
    (void)state;
    for (int i = 0; i < ACU_CALL_COUNT; i++) {
        acu_driver_call call = (acu_driver_call)i;
        const char *symbol = acu_driver_call_name(call);
        assert_int_equal(acu_driver_call_find(symbol), call);
        assert_int_equal(strncmp(symbol, "cu", 2), 0);
        assert_true(acu_driver_call_since(call) >= 2000 && acu_driver_call_since(call) < 14000);
    }
    assert_int_equal(acu_driver_call_find("MemAlloc"), ACU_CALL_MemAlloc);
    assert_int_equal(acu_driver_call_find("cuMemAlloc_v2"), ACU_CALL_MemAlloc);
    assert_int_equal(acu_driver_call_find("cuMemAlloc"), ACU_CALL_ANY);
    assert_string_equal(acu_driver_call_name(ACU_CALL_COUNT), "?");
    assert_string_equal(acu_driver_call_name(ACU_CALL_ANY), "?");
    assert_int_equal(acu_driver_call_since(ACU_CALL_FuncGetParamInfo), 12040);
}

static void results_have_names(void **state)
{
    (void)state;
    assert_string_equal(acu_driver_result_name(0), "CUDA_SUCCESS");
    assert_string_equal(acu_driver_result_name(700), "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_string_equal(acu_driver_result_name(12345), "CUDA_ERROR_?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_cuda_h),
        cmocka_unit_test(symbols_are_exported),
        cmocka_unit_test(entries_are_found_by_name),
        cmocka_unit_test(results_have_names),
    };
    return cmocka_run_group_tests_name("driver.abi", tests, NULL, NULL);
}
