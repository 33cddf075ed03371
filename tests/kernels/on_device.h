/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Running one kernel on device 0 through the driver table, for the tests of this folder: they test
 * what kernels are made of, so nothing of acuda but the table stands between them and the device.
 * Every function asserts that it worked.
 */
#ifndef ACUDA_TESTS_KERNELS_ON_DEVICE_H
#define ACUDA_TESTS_KERNELS_ON_DEVICE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <acuda/driver.h>

typedef struct on_device {
    const acu_driver_table *cu;
    CUcontext context;
    CUmodule module;
} on_device;

static on_device dev;

static inline void must(unsigned result, const char *what)
{
    if (result != 0)
        fail_msg("%s: %s", what, acu_driver_result_name(result));
}
#define MUST(call) must(dev.cu->call, #call)

/* Open the driver and load `ptx`. The caller wraps this as its group setup. */
static inline int on_device_setup(const char *ptx)
{
    acu_driver_options options = {.size = sizeof options, .allow_software = true};
    CUdevice device;
    acu_status status = acu_driver_open(&options, &dev.cu);
    if (status == ACU_ERR_NO_DRIVER)
        exit(77); /* skipped: no GPU, and built without the software device */
    if (status != ACU_OK)
        return -1;
    if (dev.cu->DeviceGet(&device, 0) != 0 ||
        dev.cu->DevicePrimaryCtxRetain(&dev.context, device) != 0 ||
        dev.cu->CtxSetCurrent(dev.context) != 0)
        return -1;
    unsigned result = dev.cu->ModuleLoadData(&dev.module, ptx);
    if (result != 0)
        print_error("loading the module: %s\n", acu_driver_result_name(result));
    return result == 0 ? 0 : -1;
}

static inline int on_device_teardown(void **state)
{
    CUdevice device;
    (void)state;
    if (dev.cu->ModuleUnload(dev.module) != 0 || dev.cu->CtxGetDevice(&device) != 0)
        return -1;
    return dev.cu->DevicePrimaryCtxRelease(device) == 0 ? 0 : -1;
}

/* Device memory with a copy of `bytes` from `host`, or zeros where that is NULL. */
static inline CUdeviceptr to_device(const void *host, size_t bytes)
{
    CUdeviceptr memory = 0;
    MUST(MemAlloc(&memory, bytes));
    if (host)
        MUST(MemcpyHtoD(memory, host, bytes));
    else
        MUST(MemsetD8(memory, 0, bytes));
    return memory;
}

/* Copy back into `host`, where not NULL, and free. */
static inline void from_device(void *host, CUdeviceptr memory, size_t bytes)
{
    if (host)
        MUST(MemcpyDtoH(host, memory, bytes));
    MUST(MemFree(memory));
}

/* `params`: pointers to the kernel's parameters, in order. Waits. */
static inline void launch_3d(const char *name, const unsigned grid[3], const unsigned block[3],
                             unsigned shared, void **params)
{
    CUfunction kernel = NULL;
    must(dev.cu->ModuleGetFunction(&kernel, dev.module, name), name);
    must(dev.cu->LaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                              shared, NULL, params, NULL),
         name);
    must(dev.cu->CtxSynchronize(), name);
}

static inline void launch(const char *name, unsigned grid, unsigned block, unsigned shared,
                          void **params)
{
    launch_3d(name, (unsigned[3]){grid, 1, 1}, (unsigned[3]){block, 1, 1}, shared, params);
}

#endif
