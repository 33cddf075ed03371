/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules and libraries that somebody else loaded, wrapped as modules. They are not unloaded here;
 * the user data is released with the module.
 */
#include "base/callback.h"
#include "base/error.h"
#include "kernel/kernel.h"

static acu_status check(acu_device *device, const void *raw, acu_module **module,
                        const char *function)
{
    ACUI_TRY(acui_object_check(device, ACU_OBJECT_DEVICE, function));
    if (!raw || !module)
        return acui_fail(ACU_ERR_INVALID, "%s: %s", function,
                         raw ? "nowhere to put the module" : "what is to be wrapped is NULL");
    return acui_device_check(device);
}

static acu_status take(acu_module *module, CUmodule raw, CUlibrary library)
{
    acu_device *device = module->device;
    module->foreign = true;
    module->raw = raw;
    if (!raw)
        ACUI_TRY(ACUI_DEV(device, LibraryGetModule, &module->raw, library));
    return acui_functions_find(module, NULL, 0);
}

static acu_status wrap(acu_device *device, const char *name, CUmodule raw, CUlibrary library,
                       acu_module **module)
{
    acu_module *m = NULL;
    acui_entered entered;
    ACUI_TRY(acui_module_new(device, name, false, &m));
    acu_status st = acui_enter(device, &entered);
    if (st == ACU_OK) {
        st = take(m, raw, library);
        acui_leave(&entered);
    }
    return acui_module_finish(m, st, module);
}

/* Hands the user data to the module, or releases it after a failure. */
static acu_status finish(acu_status st, acu_user user, acu_module *const *module)
{
    if (st == ACU_OK)
        (*module)->user = user;
    else
        acui_user_release(user);
    return st;
}

acu_status acu_module_wrap_load(acu_device *device, const char *name, CUmodule raw, acu_user user,
                                acu_module **module)
{
    acu_status st = check(device, raw, module, __func__);
    if (st == ACU_OK)
        st = wrap(device, name, raw, NULL, module);
    return finish(st, user, module);
}

acu_status acu_library_wrap_load(acu_device *device, const char *name, CUlibrary library,
                                 acu_user user, acu_module **module)
{
    acu_status st = check(device, library, module, __func__);
    if (st == ACU_OK && !acu_driver_has(ACU_CALL_LibraryGetModule))
        st = acui_fail(ACU_ERR_NOT_SUPPORTED,
                       "acu_library_wrap_load: the driver is older than CUDA "
                       "12.0, and has no libraries");
    if (st == ACU_OK)
        st = wrap(device, name, NULL, library, module);
    return finish(st, user, module);
}
