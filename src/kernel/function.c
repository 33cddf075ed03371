/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The functions of a module: found and read when it is loaded, so that no launch loads code. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "driver/result.h"
#include "kernel/code.h"
#include "kernel/kernel.h"

#include <string.h>

#define MOST_PARAMS 4096 /* as many as there are bytes of parameters */

/* ---- facts of one function ------------------------------------------------------------------- */

static acu_status read_attributes(acu_device *device, acui_function *function)
{
    acu_kernel_info *info = &function->info;
    int threads = 0, shared = 0, local = 0;
    const struct {
        unsigned attribute;
        int *value;
    } facts[] = {
        {ACU_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads},
        {ACU_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {ACU_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {ACU_CU_FUNC_ATTRIBUTE_NUM_REGS, &info->registers},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        ACUI_TRY(ACUI_DEV(device, FuncGetAttribute, facts[i].value, facts[i].attribute,
                          function->raw));
    info->size = sizeof *info;
    info->max_threads = (unsigned)threads;
    info->static_shared = (size_t)shared;
    info->local_bytes = (size_t)local;
    return ACU_OK;
}

/* The PTX says how many parameters there are and of what type; the driver says how large it made
 * them. */
static acu_status read_sizes(acu_device *device, acui_function *function)
{
    for (size_t i = 0; i < function->info.param_count; i++) {
        size_t offset = 0, bytes = 0;
        ACUI_TRY(ACUI_DEV(device, FuncGetParamInfo, function->raw, i, &offset, &bytes));
        function->params[i].bytes = (uint32_t)bytes;
    }
    return ACU_OK;
}

/* From the driver alone, which answers INVALID_VALUE after the last parameter. */
static acu_status read_params(acu_device *device, acui_function *function)
{
    uint32_t *sizes = ACUI_NEW_ARRAY(uint32_t, MOST_PARAMS);
    if (!sizes)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a kernel");
    size_t count = 0, offset = 0, bytes = 0;
    unsigned result = ACU_CUDA_SUCCESS;
    while (count < MOST_PARAMS) {
        result = device->cu->FuncGetParamInfo(function->raw, count, &offset, &bytes);
        if (result != ACU_CUDA_SUCCESS)
            break;
        sizes[count++] = (uint32_t)bytes;
    }
    acu_status st = result == ACU_CUDA_ERROR_INVALID_VALUE
                        ? ACU_OK
                        : acui_device_result(device, "FuncGetParamInfo", result);
    if (st == ACU_OK && count) {
        function->params = ACUI_NEW_ARRAY(acui_param, count);
        for (size_t i = 0; function->params && i < count; i++)
            function->params[i].bytes = sizes[i];
        if (!function->params)
            st = acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a kernel");
    }
    acui_free(sizes);
    function->info.params_known = st == ACU_OK;
    function->info.param_count = st == ACU_OK ? count : 0;
    return st;
}

acu_status acui_function_read(acu_device *device, acui_function *function)
{
    function->info.name = function->name;
    if (acu_driver_has(ACU_CALL_FuncLoad))
        ACUI_TRY(ACUI_DEV(device, FuncLoad, function->raw));
    ACUI_TRY(read_attributes(device, function));
    if (!acu_driver_has(ACU_CALL_FuncGetParamInfo))
        return ACU_OK;
    return function->info.params_known ? read_sizes(device, function)
                                       : read_params(device, function);
}

/* ---- all functions of a module --------------------------------------------------------------- */

static acui_function *add_function(acu_module *module, const char *name, size_t length)
{
    size_t old = module->function_count;
    acui_function *grown = acui_grow(module->functions, old * sizeof *grown,
                                     (old + 1) * sizeof *grown);
    char *copy = grown ? acui_alloc(length + 1) : NULL;
    if (grown)
        module->functions = grown;
    if (!copy) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for the kernels of a module");
        return NULL;
    }
    memcpy(copy, name, length);
    grown[old].name = copy;
    module->function_count++;
    return &grown[old];
}

static void drop_last_function(acu_module *module)
{
    acui_function *last = &module->functions[--module->function_count];
    acui_free(last->name);
    acui_free(last->params);
}

static bool is_known(const acu_module *module, const char *name, size_t length)
{
    for (size_t i = 0; i < module->function_count; i++)
        if (strncmp(module->functions[i].name, name, length) == 0 &&
            !module->functions[i].name[length])
            return true;
    return false;
}

static acu_status find_by_text(acu_module *module, const char *ptx, size_t bytes)
{
    acu_device *device = module->device;
    acui_ptx_entry entry;
    acu_status st;
    for (size_t at = 0; acui_ptx_next(ptx, bytes, &at, &entry, &st);) {
        if (st != ACU_OK)
            return st;
        if (is_known(module, entry.name, entry.length)) { /* declared before, as clang does */
            acui_free(entry.params);
            continue;
        }
        acui_function *f = add_function(module, entry.name, entry.length);
        if (!f) {
            acui_free(entry.params);
            return ACU_ERR_NO_MEMORY;
        }
        f->params = entry.params;
        f->info.params_known = entry.understood;
        f->info.param_count = entry.count;
        const unsigned result = device->cu->ModuleGetFunction(&f->raw, module->raw, f->name);
        if (result == ACU_CUDA_ERROR_INVALID_PTX) { /* the other kernels can still run */
            drop_last_function(module);
            module->some_refused = true;
            continue;
        }
        ACUI_TRY(acui_device_result(device, "ModuleGetFunction", result));
        ACUI_TRY(acui_function_read(device, f));
    }
    module->functions_known = true;
    return ACU_OK;
}

static acu_status find_by_driver(acu_module *module)
{
    acu_device *device = module->device;
    if (!acu_driver_has(ACU_CALL_ModuleGetFunctionCount) ||
        !acu_driver_has(ACU_CALL_ModuleEnumerateFunctions) || !acu_driver_has(ACU_CALL_FuncGetName))
        return ACU_OK;
    unsigned count = 0;
    ACUI_TRY(ACUI_DEV(device, ModuleGetFunctionCount, &count, module->raw));
    CUfunction *all = ACUI_NEW_ARRAY(CUfunction, count);
    if (!all)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the kernels of a module");
    acu_status st = ACUI_DEV(device, ModuleEnumerateFunctions, all, count, module->raw);
    for (unsigned i = 0; st == ACU_OK && i < count; i++) {
        const char *name = NULL;
        st = ACUI_DEV(device, FuncGetName, &name, all[i]);
        acui_function *f = st == ACU_OK ? add_function(module, name, strlen(name)) : NULL;
        if (st == ACU_OK && !f)
            st = ACU_ERR_NO_MEMORY;
        if (st == ACU_OK) {
            f->raw = all[i];
            st = acui_function_read(device, f);
        }
    }
    acui_free(all);
    module->functions_known = st == ACU_OK;
    module->some_refused = acu_driver_info_of()->software; /* the driver does not list those */
    return st;
}

acu_status acui_functions_find(acu_module *module, const char *ptx, size_t bytes)
{
    return ptx ? find_by_text(module, ptx, bytes) : find_by_driver(module);
}

void acui_functions_free(acu_module *module)
{
    for (size_t i = 0; i < module->function_count; i++) {
        acui_free(module->functions[i].name);
        acui_free(module->functions[i].params);
    }
    acui_free(module->functions);
    module->functions = NULL;
    module->function_count = 0;
}

/* The name by which the program asked for a C++ kernel, else the kernel's own name. */
static const char *expression_of(const acu_module *module, const char *name)
{
    const char *expression = module->code ? acui_code_expression(module->code, name) : NULL;
    return expression ? expression : name;
}

const char *acui_functions_words(const acu_module *module, char *text, size_t bytes)
{
    acui_text words = acui_text_start(text, bytes);
    for (size_t i = 0; i < module->function_count; i++)
        acui_text_add(&words, "%s%s", i ? ", " : "",
                      expression_of(module, module->functions[i].name));
    if (module->function_count == 0)
        acui_text_add(&words, "none");
    return text;
}
