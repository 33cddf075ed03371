/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions: kernels of a module, and what can be asked about them. */
#include "driver/module.h"

#include <stdlib.h>

/* ---- life ---- */

static void destroy(sd_object *object)
{
    sd_function *function = (sd_function *)object;
    sd_context *context = object->context;
    sd_object_put(&function->module->object);
    free(function);
    sd_object_put(&context->object);
}

/* With module->lock. */
static sd_function *make(sd_module *module, const sx_kernel *kernel)
{
    sd_function *function = calloc(1, sizeof *function);
    if (!function)
        return NULL;
    function->module = module;
    function->kernel = kernel;
    function->info = sx_kernel_info_of(kernel);
    sd_limits limits = sd_device_limits(module->object.context->device);
    size_t fixed = function->info->static_shared;
    atomic_init(&function->max_dynamic,
                fixed < limits.shared_static ? (int)(limits.shared_static - fixed) : 0);
    atomic_init(&function->carveout, ACU_CU_SHAREDMEM_CARVEOUT_DEFAULT);
    if (!sd_object_publish(&function->object, SD_KIND_FUNCTION, destroy)) {
        free(function);
        return NULL;
    }
    sd_object_hold(&module->object);
    sd_context_adopt(module->object.context, &function->object);
    return function;
}

unsigned sd_module_function(sd_module *module, const sx_kernel *kernel, sd_function **found)
{
    size_t i = 0;
    while (sx_module_kernel_at(module->code, i) != kernel)
        i++;
    pthread_mutex_lock(&module->lock);
    sd_function *function = module->functions[i];
    if (!function)
        function = module->functions[i] = make(module, kernel);
    if (function)
        sd_object_hold(&function->object);
    pthread_mutex_unlock(&module->lock);
    *found = function;
    return function ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
}

unsigned sd_function_find(sd_context *context, CUfunction handle, sd_function **function)
{
    *function = sd_object_get(SD_KIND_FUNCTION, handle);
    if (!*function && (!context || sd_kernel_function(context, (CUkernel)(void *)handle, function)))
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    return sd_context_state((*function)->object.context);
}

/* ---- attributes ---- */

unsigned sd_function_attribute(const sd_function *function, unsigned attribute, int *value)
{
    const sx_kernel_info *info = function->info;
    switch (attribute) {
    case ACU_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)info->max_threads;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)info->static_shared;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)info->constant;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)info->local;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)info->registers;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_PTX_VERSION: /* the target, as the documentation says */
        *value = (int)info->target;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)function->object.context->device->sm;
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = atomic_load_explicit(&function->max_dynamic, memory_order_relaxed);
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = atomic_load_explicit(&function->carveout, memory_order_relaxed);
        return ACU_CUDA_SUCCESS;
    case ACU_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = atomic_load_explicit(&function->not_portable, memory_order_relaxed);
        return ACU_CUDA_SUCCESS;
    default:
        *value = 0; /* the remaining ones are about caching and clusters */
        return attribute <= ACU_CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
                   ? ACU_CUDA_SUCCESS
                   : ACU_CUDA_ERROR_INVALID_VALUE;
    }
}

unsigned sd_function_set_attribute(sd_function *function, unsigned attribute, int value)
{
    if (attribute == ACU_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100)
            return ACU_CUDA_ERROR_INVALID_VALUE;
        atomic_store_explicit(&function->carveout, value, memory_order_relaxed);
        return ACU_CUDA_SUCCESS;
    }
    if (attribute == ACU_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        atomic_store_explicit(&function->not_portable, value != 0, memory_order_relaxed);
        return ACU_CUDA_SUCCESS; /* a cluster is always one block */
    }
    if (attribute != ACU_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return attribute > ACU_CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT &&
                       attribute <= ACU_CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
                   ? ACU_CUDA_ERROR_NOT_SUPPORTED
                   : ACU_CUDA_ERROR_INVALID_VALUE;
    sd_limits limits = sd_device_limits(function->object.context->device);
    if (value < 0 || (size_t)value + function->info->static_shared > limits.shared_optin)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    atomic_store_explicit(&function->max_dynamic, value, memory_order_relaxed);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuFuncGetAttribute(int *value, unsigned attribute, CUfunction handle)
{
    SD_FUNCTION(function, handle);
    return value ? sd_function_attribute(function, attribute, value) : ACU_CUDA_ERROR_INVALID_VALUE;
}

unsigned sd_cuFuncSetAttribute(CUfunction handle, unsigned attribute, int value)
{
    SD_FUNCTION(function, handle);
    return sd_function_set_attribute(function, attribute, value);
}

/* Preferences that have no effect here. */

unsigned sd_cuFuncSetCacheConfig(CUfunction handle, unsigned config)
{
    SD_FUNCTION(function, handle);
    return config > ACU_CU_FUNC_CACHE_PREFER_EQUAL ? ACU_CUDA_ERROR_INVALID_VALUE
                                                   : ACU_CUDA_SUCCESS;
}

unsigned sd_cuFuncSetSharedMemConfig(CUfunction handle, unsigned config)
{
    SD_FUNCTION(function, handle);
    return config > 2 ? ACU_CUDA_ERROR_INVALID_VALUE : ACU_CUDA_SUCCESS;
}

/* ---- names, parameters, modules ---- */

unsigned sd_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    SD_FUNCTION(function, handle);
    if (!module)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *module = function->module->object.handle;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuFuncGetName(const char **name, CUfunction handle)
{
    if (!name || !handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_FUNCTION(function, handle);
    *name = sx_kernel_name(function->kernel);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_kernel_param(const sx_kernel_info *info, size_t index, size_t *offset, size_t *size)
{
    if (!offset || index >= info->param_count)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *offset = info->params[index].offset;
    if (size)
        *size = info->params[index].bytes;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    SD_FUNCTION(function, handle);
    return sd_kernel_param(function->info, index, offset, size);
}

unsigned sd_cuFuncLoad(CUfunction handle)
{
    SD_FUNCTION(function, handle);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuFuncIsLoaded(unsigned *state, CUfunction handle)
{
    SD_FUNCTION(function, handle);
    if (!state)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *state = ACU_CU_FUNCTION_LOADING_STATE_LOADED;
    return ACU_CUDA_SUCCESS;
}
