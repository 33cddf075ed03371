/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kernels: a function of a module, with what is known of its parameters and limits. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/result.h"
#include "kernel/kernel.h"

#include <string.h>

static acu_status attribute(acu_kernel *k, unsigned which, int *value)
{
    return ACUI_DEV(k->module->device, FuncGetAttribute, value, which, k->raw);
}

static acu_status read_attributes(acu_kernel *k)
{
    int threads, shared, local, registers;
    ACUI_TRY(attribute(k, ACU_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads));
    ACUI_TRY(attribute(k, ACU_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared));
    ACUI_TRY(attribute(k, ACU_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local));
    ACUI_TRY(attribute(k, ACU_CU_FUNC_ATTRIBUTE_NUM_REGS, &registers));
    k->info.max_threads = (unsigned)threads;
    k->info.static_shared = (size_t)shared;
    k->info.local_bytes = (size_t)local;
    k->info.registers = registers;
    return ACU_OK;
}

/* From the driver: sizes, for code whose text is not known. */
static acu_status driver_params(acu_kernel *k)
{
    const acu_driver_table *cu = k->module->device->cu;
    size_t offset, bytes, n = 0;
    while (cu->FuncGetParamInfo(k->raw, n, &offset, &bytes) == ACU_CUDA_SUCCESS)
        n++;
    k->params = n ? ACUI_NEW_ARRAY(acui_param, n) : NULL;
    if (n && !k->params)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a kernel's parameters");
    for (size_t i = 0; i < n; i++) {
        ACUI_TRY(ACUI_DEV(k->module->device, FuncGetParamInfo, k->raw, i, &offset, &bytes));
        k->params[i].bytes = (uint32_t)bytes;
    }
    k->info.param_count = n;
    k->info.params_known = true;
    return ACU_OK;
}

static acu_status read_params(acu_kernel *k)
{
    const acu_module *m = k->module;
    if (!m->ptx)
        return acu_driver_has(ACU_CALL_FuncGetParamInfo) ? driver_params(k) : ACU_OK;
    ACUI_TRY(acui_ptx_params(m->ptx, m->ptx_bytes, k->name, &k->params, &k->info.param_count));
    k->info.params_known = true;
    return ACU_OK;
}

static acu_status not_found(const acu_module *m, const char *name)
{
    char names[256] = "";
    if (m->ptx)
        acui_ptx_entries(m->ptx, m->ptx_bytes, names, sizeof names);
    if (names[0])
        return acui_fail(ACU_ERR_NOT_FOUND, "the module has no kernel \"%s\"; it has %s (C++ names "
                         "are mangled without extern \"C\")", name, names);
    return acui_fail(ACU_ERR_NOT_FOUND, "the module has no kernel \"%s\"", name);
}

static acu_status resolve(acu_kernel *k)
{
    acu_device *device = k->module->device;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    unsigned result = device->cu->ModuleGetFunction(&k->raw, k->module->raw, k->name);
    acu_status status = ACU_OK;
    if (result == ACU_CUDA_ERROR_NOT_FOUND)
        status = not_found(k->module, k->name);
    else if (result != ACU_CUDA_SUCCESS)
        status = acui_device_result(device, "ModuleGetFunction", result);
    if (status == ACU_OK)
        status = read_attributes(k);
    if (status == ACU_OK)
        status = read_params(k);
    acui_leave(&entered);
    return status;
}

acu_status acu_kernel_get(acu_module *module, const char *name, acu_kernel **kernel)
{
    ACUI_CHECK(module, MODULE);
    if (!name || !kernel)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_get: the name or the result is NULL");
    ACUI_TRY(acui_device_check(module->device));
    size_t bytes = strlen(name) + 1;
    acu_kernel *k = acui_object_new(ACU_OBJECT_KERNEL, sizeof *k + bytes);
    if (!k)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a kernel");
    memcpy(k->name, name, bytes);
    k->info.name = k->name;
    k->module = acu_module_retain(module);
    acu_status status = resolve(k);
    if (status != ACU_OK) {
        acu_error record = *acui_error();
        acu_kernel_release(k);
        return acui_error_restore(&record);
    }
    *kernel = k;
    return ACU_OK;
}

acu_kernel *acu_kernel_retain(acu_kernel *kernel)
{
    return acui_object_retain(kernel);
}

void acu_kernel_release(acu_kernel *kernel)
{
    if (!acui_object_is(kernel, ACU_OBJECT_KERNEL) || !acui_object_drop(kernel))
        return;
    acu_module *module = kernel->module;
    acui_free(kernel->params);
    acui_object_free(kernel);
    acu_module_release(module);
}

const acu_kernel_info *acu_kernel_info_of(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? &kernel->info : NULL;
}

size_t acu_kernel_param_bytes(const acu_kernel *kernel, size_t index)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) && index < kernel->info.param_count
               ? kernel->params[index].bytes
               : 0;
}

acu_device *acu_kernel_device(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? kernel->module->device : NULL;
}

CUfunction acu_kernel_raw(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? kernel->raw : NULL;
}
