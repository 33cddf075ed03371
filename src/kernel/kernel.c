/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Kernels: handles on functions of modules. A handle may be made while its module is being loaded;
 * it is bound to its function when the load ends.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/nearest.h"
#include "kernel/declared.h"

#include <stdio.h>
#include <string.h>

/* ---- finding the function -------------------------------------------------------------------- */

static acui_function *find_function(acu_module *module, const char *name)
{
    const char *made = module->code ? acu_code_name(module->code, name) : NULL; /* a C++
                                                                                 * expression */
    if (made)
        name = made;
    for (size_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, name) == 0)
            return &module->functions[i];
    return NULL;
}

/* Whether C++ has made `name` of this kernel's name: "_Z5scalePf", "_ZN4mine5scaleEPf". */
static bool is_mangled(const char *function, const char *name)
{
    char part[80];
    int n = snprintf(part, sizeof part, "%zu%s", strlen(name), name);
    return strncmp(function, "_Z", 2) == 0 && n > 0 && (size_t)n < sizeof part &&
           strstr(function, part);
}

/* What the program may have meant. */
static void hint(const acu_module *module, const char *name, char text[128])
{
    acui_nearest nearest = acui_nearest_to(name);
    text[0] = '\0';
    for (size_t i = 0; i < module->function_count; i++) {
        const char *function = module->functions[i].name;
        if (is_mangled(function, name)) {
            snprintf(text, 128, " (C++ calls it %.40s: declare it extern \"C\", or ask for it by "
                                "an expression)",
                     function);
            return;
        }
        acui_nearest_look(&nearest, function);
    }
    if (module->code && (strchr(name, '<') || module->function_count == 0))
        snprintf(text, 128, " (acu_compile_options.expressions says what is made of templates)");
    else if (nearest.found)
        snprintf(text, 128, " (did you mean %.80s?)", nearest.found);
}

static acu_status not_found(const acu_module *module, const char *name)
{
    char names[200], meant[128];
    if (!module->functions_known)
        return acui_fail(ACU_ERR_NOT_FOUND,
                         "module %.60s has no kernel \"%.100s\" (one of C++ has it under another "
                         "name, unless it is declared extern \"C\")",
                         module->name ? module->name : "(without a name)", name);
    hint(module, name, meant);
    return acui_fail(ACU_ERR_NOT_FOUND, "module %.60s has no kernel \"%.100s\"%s; its kernels: %s",
                     module->name ? module->name : "(without a name)", name, meant,
                     acui_functions_words(module, names, sizeof names));
}

/* Asks for one function of a module whose functions the driver does not list. */
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

/* ---- handles --------------------------------------------------------------------------------- */

static void leave_waiting(acu_kernel *kernel)
{
    acu_module *module = kernel->module;
    if (!kernel->waited)
        return;
    pthread_mutex_lock(&module->lock);
    for (acu_kernel **link = &module->waiting; kernel->waits && *link;
         link = &(*link)->next_waiting)
        if (*link == kernel) {
            *link = kernel->next_waiting;
            break;
        }
    pthread_mutex_unlock(&module->lock);
}

static void kernel_free(acu_kernel *kernel)
{
    acu_module *module = kernel->module;
    leave_waiting(kernel);
    acui_declared_free(kernel);
    if (kernel->own_function) {
        acui_free(kernel->function->params);
        acui_free(kernel->function);
    }
    acui_fault_release(kernel->fault);
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

static acu_status find(acu_kernel *k)
{
    k->function = find_function(k->module, k->name);
    /* Why a kernel was refused only the driver can say. */
    if (!k->function && k->module->functions_known && !k->module->some_refused)
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

void acui_kernel_bind(acu_kernel *k, const acu_module *failed)
{
    acu_status st = failed ? acui_error_restore(&failed->fault->error) : find(k);
    pthread_mutex_lock(&k->lock);
    if (st == ACU_OK)
        st = acui_declared_check(k);
    if (st != ACU_OK)
        k->fault = acui_fault_new(acui_error());
    /* Release: whoever sees the state sees what was found out. */
    atomic_store_explicit(&k->state, st == ACU_OK ? ACUI_LOADED : ACUI_LOAD_FAILED,
                          memory_order_release);
    pthread_mutex_unlock(&k->lock);
}

/* If the module is still being loaded, the handle joins its list to be bound. */
static bool wait_to_be_bound(acu_kernel *k)
{
    acu_module *module = k->module;
    if (acui_module_state(module) != ACUI_LOADING)
        return false;
    pthread_mutex_lock(&module->lock);
    k->waited = k->waits = acui_module_state(module) == ACUI_LOADING;
    if (k->waits) {
        acui_object_list(k);
        k->next_waiting = module->waiting;
        module->waiting = k;
    }
    bool waits = k->waits;
    pthread_mutex_unlock(&module->lock);
    return waits;
}

acu_status acu_kernel_get(acu_module *module, const char *name, acu_kernel **kernel)
{
    ACUI_CHECK(module, MODULE);
    if (!name || !kernel)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_get: %s",
                         name ? "nowhere to put the kernel" : "the name is NULL");
    acu_kernel *k = NULL;
    ACUI_TRY(kernel_new(module, name, &k));
    acu_status st = ACU_OK;
    if (!wait_to_be_bound(k)) {
        acui_kernel_bind(k, acui_module_state(module) == ACUI_LOADED ? NULL : module);
        st = acu_kernel_poll(k);
    }
    if (st == ACU_OK)
        *kernel = k;
    else
        kernel_free(k);
    return st;
}

acu_status acu_kernel_poll(acu_kernel *kernel)
{
    ACUI_CHECK(kernel, KERNEL);
    switch (acui_kernel_state(kernel)) {
    case ACUI_LOADED:
        return ACU_OK;
    case ACUI_LOADING:
        return ACU_NOT_READY;
    default:
        return acui_error_restore(&kernel->fault->error);
    }
}

acu_status acu_kernel_wait(acu_kernel *kernel, uint64_t timeout)
{
    ACUI_CHECK(kernel, KERNEL);
    if (acui_kernel_state(kernel) == ACUI_LOADING) {
        acu_status st = acu_module_wait(kernel->module, timeout);
        if (st == ACU_TIMEOUT || st == ACU_ERR_IN_CALLBACK)
            return st;
    }
    return acu_kernel_poll(kernel);
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

void acui_kernel_release_some(acu_kernel *kernel, uint32_t count)
{
    if (acui_object_is(kernel, ACU_OBJECT_KERNEL) && acui_object_drop_some(kernel, count))
        kernel_free(kernel);
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Whether the kernel's facts are known. */
static bool is_bound(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) && acui_kernel_state(kernel) == ACUI_LOADED;
}

const acu_kernel_info *acu_kernel_info_of(const acu_kernel *kernel)
{
    return is_bound(kernel) ? &kernel->info : NULL;
}

size_t acu_kernel_param_bytes(const acu_kernel *kernel, size_t index)
{
    if (!is_bound(kernel) || !kernel->info.params_known || index >= kernel->info.param_count)
        return 0;
    return atomic_load_explicit(&kernel->params, memory_order_acquire)[index].bytes;
}

acu_device *acu_kernel_device(const acu_kernel *kernel)
{
    return acui_object_is(kernel, ACU_OBJECT_KERNEL) ? kernel->module->device : NULL;
}

CUfunction acu_kernel_raw(const acu_kernel *kernel)
{
    return is_bound(kernel) ? kernel->raw : NULL;
}
