/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all examples share: opening a device, and stopping with a message on errors. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <acuda/acuda.h>

#include <stdio.h>
#include <stdlib.h>

/* A program that can recover would look at the status; the examples stop, and say why. */
static inline void check(acu_status status)
{
    char text[1024];
    if (status == ACU_OK)
        return;
    acu_error_describe(acu_last_error(), text, sizeof text);
    fprintf(stderr, "%s\n", text);
    exit(1);
}

/* The first GPU, or a software device if there is none. */
static inline acu_device *open_device(void)
{
    acu_device *device;
    acu_open_options options = {.size = sizeof options, .allow_software = true};
    check(acu_open(&options, &device));
    return device;
}

/* PTX that was compiled with the example. */
static inline acu_module *load_module(acu_device *device, const char *ptx)
{
    acu_module *module;
    check(acu_module_load(device, ACU_PTX(NULL, ptx), &module));
    return module;
}

static inline acu_kernel *get_kernel(acu_module *module, const char *name)
{
    acu_kernel *kernel;
    check(acu_kernel_get(module, name, &kernel));
    return kernel;
}

/* The only kernel of a module. */
static inline acu_kernel *load_kernel(acu_device *device, const char *ptx, const char *name)
{
    acu_module *module = load_module(device, ptx);
    acu_kernel *kernel = get_kernel(module, name);
    acu_module_release(module); /* the kernel keeps it */
    return kernel;
}

#endif
