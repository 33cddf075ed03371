/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules as futures: the loader (device/loader.h) resolves the future when the load has ended. */
#include "base/error.h"
#include "engine/completion/complete.h"
#include "kernel/source.h"

static bool given_up(void *future)
{
    const acu_future *f = future;
    return atomic_load_explicit(&f->state, memory_order_acquire) == ACUI_FUTURE_DONE;
}

static void ended(void *future, acu_status status, acui_fault *fault)
{
    acui_resolve(future, status, fault);
    acui_future_put(future);
}

static acu_status begin(acu_device *device, const acu_module_source *source, acu_future *future)
{
    const acui_load_watch watch = {
        .given_up = given_up, .ended = ended, .context = acui_future_keep(future)};
    acu_module *module = NULL;
    acu_status status = acui_load_begin(device, source, false, &watch, &module);
    if (status == ACU_OK)
        acui_future_give_module(future, module);
    else
        acui_future_put(future);
    return status;
}

acu_status acu_module_load_async(acu_device *device, const acu_module_source *given,
                                 acu_future **future)
{
    acu_module_source source;
    acu_compile_options compile;
    ACUI_TRY(acui_source_read(&source, &compile, device, given, false, __func__));
    if (!future) {
        acui_source_drop(&source);
        return acui_fail(ACU_ERR_INVALID, "acu_module_load_async: nobody could take the module "
                                          "without a future");
    }
    acu_future *f = NULL;
    acu_status status = acui_reactor_start();
    if (status == ACU_OK)
        status = acui_future_new(&f);
    if (status != ACU_OK)
        acui_source_drop(&source);
    else
        status = begin(device, &source, f);
    if (status == ACU_OK)
        *future = f;
    else
        acu_future_release(f);
    return status;
}

/* A module whose load failed is not given out: the future says why it failed. */
acu_status acu_future_module(acu_future *future, acu_module **module)
{
    ACUI_CHECK(future, FUTURE);
    if (!module)
        return acui_fail(ACU_ERR_INVALID, "acu_future_module: nowhere to put the module");
    acu_status status = acui_future_outcome(future);
    if (status != ACU_OK && status != ACU_NOT_READY)
        return status;
    acui_lock_take(&future->lock);
    acu_module *m = future->module;
    future->module = NULL;
    acui_lock_give(&future->lock);
    if (!m)
        return acui_fail(ACU_ERR_NOT_FOUND, "this future has no module, or it was taken before");
    *module = m;
    return ACU_OK;
}
