/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels: handles on functions of modules. */
#include "base/alloc.h"
#include "base/error.h"
#include "kernel/declared.h"

#include <string.h>

/* ---- finding the function ----------------------------------------------------------------------- */

static acui_function *find_function(acu_module *module, const char *name)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, name) == 0)
            return &module->functions[i];
    return NULL;
}

static acu_status not_found(const acu_module *module, const char *name)
{
    char names[256];
    if (!module->functions_known)
        return acui_fail(ACU_ERR_NOT_FOUND, "module %s has no kernel \"%s\"",
                         module->name ? module->name : "(without a name)", name);
    return acui_fail(ACU_ERR_NOT_FOUND, "module %s has no kernel \"%s\"; its kernels: %s",
                     module->name ? module->name : "(without a name)", name,
                     acui_functions_words(module, names, sizeof names));
}

/* A module whose functions the driver does not list: ask for this one. */
static acu_status resolve(acu_module *module, const char *name, acui_function *function)
{
    acu_device *device = module->device;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    unsigned result = device->cu->ModuleGetFunction(&function->raw, module->raw, name);
    acu_status st = result == ACU_CUDA_ERROR_NOT_FOUND
                        ? not_found(module, name)
                        : acui_device_result(device, "ModuleGetFunction", result);
    if (st == ACU_OK)
        st = acui_function_read(device, function);
    acui_leave(&entered);
    return st;
}

/* ---- handles ----------------------------------------------------------------------------------- */

static void kernel_free(acu_kernel *kernel)
{
    acu_module *module = kernel->module;
    acui_declared_free(kernel);
    if (kernel->own_function) {
        acui_free(kernel->function->params);
        acui_free(kernel->function);
    }
    pthread_mutex_destroy(&kernel->lock);
    acui_object_free(kernel);
    acu_device *device = module->built_in ? module->device : NULL;
    acu_module_release(module);
    acu_device_release(device);
}

static acu_status kernel_new(acu_module *module, const char *name, acu_kernel **kernel)
{
    size_t length = strlen(name);
    acu_kernel *k = acui_object_new(ACU_OBJECT_KERNEL, sizeof *k + length + 1);
    if (!k)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a kernel");
    memcpy(k->name, name, length);
    pthread_mutex_init(&k->lock, NULL);
    k->module = acu_module_retain(module);
    if (module->built_in)
        acu_device_retain(module->device);
    *kernel = k;
    return ACU_OK;
}

static acu_status bind_function(acu_kernel *k)
{
    k->function = find_function(k->module, k->name);
    if (!k->function && k->module->functions_known)
        return not_found(k->module, k->name);
    if (!k->function) {
        k->function = ACUI_NEW(acui_function);
        if (!k->function)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a kernel");
        k->own_function = true;
        ACUI_TRY(resolve(k->module, k->name, k->function));
    }
    k->raw = k->function->raw;
    k->info = k->function->info;
    k->info.name = k->name;
    atomic_store_explicit(&k->params, k->function->params, memory_order_release);
    return ACU_OK;
}

acu_status acu_kernel_get(acu_module *module, const char *name, acu_kernel **kernel)
{
    ACUI_CHECK(module, MODULE);
    if (!name || !kernel)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_get: %s",
                         name ? "nowhere to put the kernel" : "the name is NULL");
    acu_kernel *k = NULL;
    ACUI_TRY(kernel_new(module, name, &k));
    acu_status st = bind_function(k);
    if (st == ACU_OK)
        *kernel = k;
    else
        kernel_free(k);
    return st;
}

acu_kernel *acu_kernel_retain(acu_kernel *kernel)
{
    if (acui_object_is(kernel, ACU_OBJECT_KERNEL))
        acui_object_retain(kernel);
    return kernel;
}

void acu_kernel_release(acu_kernel *kernel)
{
    if (acui_object_is(kernel, ACU_OBJECT_KERNEL) && acui_object_drop(kernel))
        kernel_free(kernel);
}

/* ---- facts ------------------------------------------------------------------------------------- */

const acu_kernel_info *acu_kernel_info_of(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? &kernel->info : NULL;
}

size_t acu_kernel_param_bytes(const acu_kernel *kernel, size_t index)
{
    if (!acui_object_is(kernel, ACU_OBJECT_KERNEL) || !kernel->info.params_known ||
        index >= kernel->info.param_count)
        return 0;
    return atomic_load_explicit(&kernel->params, memory_order_acquire)[index].bytes;
}

acu_device *acu_kernel_device(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? kernel->module->device : NULL;
}

CUfunction acu_kernel_raw(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? kernel->raw : NULL;
}
