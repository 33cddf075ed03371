/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules. They exist before they are loaded: meanwhile handles on their kernels can be made, and
 * launches of these wait behind the module's point. When the load ends, first the kernels are
 * bound, then the point is over.
 */
#include "base/alloc.h"
#include "base/callback.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "kernel/kernel.h"
#include "device/loader.h"

#include <string.h>

/* ---- making ---------------------------------------------------------------------------------- */

static void module_free(acu_module *module)
{
    acui_functions_free(module);
    acui_bytes_free(&module->constants);
    acu_code_release(module->code);
    acui_point_release(module->point);
    acui_fault_release(module->fault);
    pthread_mutex_destroy(&module->lock);
    acui_free(module->name);
    acui_free(module->said);
    acui_object_free(module);
}

static bool keep_name(acu_module *module, const char *name)
{
    if (!name)
        return true;
    size_t bytes = strlen(name) + 1;
    module->name = acui_alloc_raw(bytes);
    if (module->name)
        memcpy(module->name, name, bytes);
    return module->name != NULL;
}

acu_status acui_module_new(acu_device *device, const char *name, bool built_in,
                           acu_module **module)
{
    acu_module *m = acui_object_new(ACU_OBJECT_MODULE, sizeof *m);
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a module");
    pthread_mutex_init(&m->lock, NULL);
    m->device = device;
    m->built_in = built_in;
    m->point = acui_point_new(m->device);
    acu_status st = ACU_OK;
    if (m->point)
        m->point->load = true; /* set before anybody can find the module */
    if (!m->point || !keep_name(m, name))
        st = acui_fail(ACU_ERR_NO_MEMORY, "no memory for a module");
    else if (!built_in)
        st = acui_module_enter(m);
    if (st != ACU_OK) {
        module_free(m);
        return st;
    }
    if (!built_in)
        acu_device_retain(device);
    *module = m;
    return ACU_OK;
}

/* ---- the end of a load ----------------------------------------------------------------------- */

/* Binds the handles that were made meanwhile, one by one; a handle that is being destroyed removes
 * itself. Then the module changes its state, so that later handles bind themselves. */
static void bind_waiting(acu_module *module, acui_load_state state)
{
    pthread_mutex_lock(&module->lock);
    while (module->waiting) {
        acu_kernel *kernel = module->waiting;
        bool lives = acui_object_try_retain(kernel);
        module->waiting = kernel->next_waiting;
        kernel->waits = false;
        if (!lives)
            continue;
        pthread_mutex_unlock(&module->lock);
        acui_kernel_bind(kernel, state == ACUI_LOADED ? NULL : module);
        acu_kernel_release(kernel);
        pthread_mutex_lock(&module->lock);
    }
    /* Release: whoever sees the state sees what was loaded. */
    atomic_store_explicit(&module->state, state, memory_order_release);
    pthread_mutex_unlock(&module->lock);
}

void acui_module_end(acu_module *module, acu_status status)
{
    acu_error record = *acui_error();
    if (status != ACU_OK) {
        const char *log = acu_last_log();
        module->fault = acui_fault_new(&record);
        module->said = *log ? acui_alloc_raw(strlen(log) + 1) : NULL;
        if (module->said)
            strcpy(module->said, log);
        acui_log_record(ACU_LOG_WARNING, "module", &record);
        acui_module_leave(module); /* frees its name */
    } else {
        ACUI_LOG(ACU_LOG_DEBUG, "module", module->device->info.ordinal, "%s is loaded",
                 module->name ? module->name : "a module without a name");
    }
    bind_waiting(module, status == ACU_OK ? ACUI_LOADED : ACUI_LOAD_FAILED);
    acui_load_over(module->point);
    acui_error_restore(&record);
}

acu_status acui_module_finish(acu_module *module, acu_status status, acu_module **result)
{
    acui_module_end(module, status);
    if (status == ACU_OK) {
        *result = module;
        return ACU_OK;
    }
    acu_error record = *acui_error();
    acu_module_release(module);
    return acui_error_restore(&record);
}

/* ---- asking and waiting ---------------------------------------------------------------------- */

acu_status acu_module_poll(acu_module *module)
{
    ACUI_CHECK(module, MODULE);
    switch (acui_module_state(module)) {
    case ACUI_LOADED:
        return ACU_OK;
    case ACUI_LOADING:
        return ACU_NOT_READY;
    default:
        acui_error_keep_log(module->said);
        return acui_error_restore(&module->fault->error);
    }
}

static bool is_over(void *module)
{
    return acui_module_state(module) != ACUI_LOADING;
}

acu_status acu_module_wait(acu_module *module, uint64_t timeout)
{
    ACUI_CHECK(module, MODULE);
    if (is_over(module))
        return acu_module_poll(module);
    ACUI_TRY(acui_refuse_wait(__func__));
    if (!acui_loader_wait_until(is_over, module, acui_deadline(timeout)))
        return ACU_TIMEOUT;
    return acu_module_poll(module);
}

const char *acu_module_log(acu_module *module)
{
    if (!acui_object_is(module, ACU_OBJECT_MODULE) || !is_over(module))
        return NULL;
    if (module->said)
        return module->said;
    return module->code ? acu_code_log(module->code) : "";
}

/* ---- life ------------------------------------------------------------------------------------ */

acu_module *acu_module_retain(acu_module *module)
{
    if (acui_object_is(module, ACU_OBJECT_MODULE))
        acui_object_retain(module);
    return module;
}

void acu_module_release(acu_module *module)
{
    if (!acui_object_is(module, ACU_OBJECT_MODULE) || !acui_object_drop(module))
        return;
    acu_device *device = module->device;
    bool built_in = module->built_in;
    acu_user user = module->user;
    acui_module_leave(module);
    if (device->kernel.forget)
        device->kernel.forget(device, module);
    if (module->raw && !module->foreign) {
        acui_entered entered;
        if (acui_enter_to_free(device, &entered))
            device->cu->ModuleUnload(module->raw);
        acui_leave(&entered);
    }
    module_free(module);
    acui_user_release(user);
    if (!built_in)
        acu_device_release(device);
}
