/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For the tests of the table: a driver, a GPU's or the software device, with a current context. */
#ifndef TESTS_DRIVER_OPEN_H
#define TESTS_DRIVER_OPEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <acuda/debug.h>
#include <acuda/driver.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The table; device 0's primary context is retained and current on this thread. */
static inline const acu_driver_table *open_driver(void)
{
    acu_driver_options options = {.size = sizeof options, .allow_software = true};
    const acu_driver_table *cu = NULL;
    acu_status st = acu_driver_open(&options, &cu);
    if (st == ACU_ERR_NO_DRIVER) {
        printf("%s\n", acu_last_error()->message);
        skip();
    }
    if (st != ACU_OK)
        fail_msg("%s: %s", acu_status_name(st), acu_last_error()->message);
    CUcontext context;
    assert_int_equal(cu->DevicePrimaryCtxRetain(&context, 0), ACU_CUDA_SUCCESS);
    assert_int_equal(cu->CtxSetCurrent(context), ACU_CUDA_SUCCESS);
    return cu;
}

static inline void close_driver(const acu_driver_table *cu)
{
    assert_int_equal(cu->DevicePrimaryCtxRelease(0), ACU_CUDA_SUCCESS);
}

/* A kernel that any driver of any supported age loads. */
static const char nothing_ptx[] = ".version 6.3\n"
                                  ".target sm_75\n"
                                  ".address_size 64\n"
                                  ".visible .entry nothing()\n"
                                  "{\n"
                                  "    ret;\n"
                                  "}\n";

#endif
