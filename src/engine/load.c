/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loading modules on the thread for jobs: the driver compiles there, and nobody waits. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "engine/runtime.h"

#include <string.h>

typedef struct load {
    acui_job job;
    acu_device *device; /* retained */
    char *name;         /* these are copies; NULL where not given */
    char *path;
    char *code;
    size_t bytes;
} load;

static void load_free(acui_job *job)
{
    load *l = (load *)job; /* its first member */
    acui_free(l->name);
    acui_free(l->path);
    acui_free(l->code);
    acu_device_release(l->device);
    acui_free(l);
}

static acu_status load_run(acui_job *job, acu_future *future)
{
    const load *l = (const load *)job;
    acu_module *module = NULL;
    ACUI_TRY(acui_device_check(l->device));
    if (l->path)
        ACUI_TRY(acu_module_load_file(l->device, l->name, l->path, &module));
    else
        ACUI_TRY(acu_module_load_image(l->device, l->name, l->code, l->bytes, &module));
    acui_future_give_module(future, module);
    return ACU_OK;
}

static bool copy(char **to, const void *from, size_t bytes)
{
    if (!from)
        return true;
    *to = acui_alloc_raw(bytes + 1);
    if (!*to)
        return false;
    memcpy(*to, from, bytes);
    (*to)[bytes] = '\0';
    return true;
}

static bool copy_text(char **to, const char *from)
{
    return copy(to, from, from ? strlen(from) : 0);
}

static acu_status load_new(acu_device *device, const acu_module_source *source, load **out)
{
    load *l = ACUI_NEW(load);
    if (!l)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    l->job = (acui_job){.run = load_run, .free = load_free};
    l->device = acu_device_retain(device);
    const void *code = source->ptx ? source->ptx : source->image;
    l->bytes = source->ptx ? strlen(source->ptx) : source->bytes;
    if (!copy_text(&l->name, source->name) || !copy_text(&l->path, source->path) ||
        !copy(&l->code, code, l->bytes)) {
        load_free(&l->job);
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    }
    *out = l;
    return ACU_OK;
}

static acu_status check(acu_device *device, const acu_module_source *given,
                        acu_module_source *source, acu_future *const *future, const char *function)
{
    ACUI_TRY(acui_options_read(source, sizeof *source, given, function));
    ACUI_TRY(acui_object_check(device, ACU_OBJECT_DEVICE, function));
    if (!future)
        return acui_fail(ACU_ERR_INVALID, "%s: nobody could take the module without a future",
                         function);
    if (!!source->ptx + !!source->image + !!source->path != 1)
        return acui_fail(ACU_ERR_INVALID, "%s: give one of ptx, image and path", function);
    return acui_device_check(device);
}

acu_status acu_module_load_async(acu_device *device, const acu_module_source *given,
                                 acu_future **future)
{
    acu_module_source source;
    ACUI_TRY(check(device, given, &source, future, __func__));
    load *l = NULL;
    ACUI_TRY(load_new(device, &source, &l));
    acu_future *f = NULL;
    acu_status status = acui_future_new(&f);
    if (status == ACU_OK)
        status = acui_runtime_job(&l->job, f);
    if (status == ACU_OK) {
        *future = f;
    } else {
        acu_future_release(f);
        load_free(&l->job);
    }
    return status;
}

acu_status acu_future_module(acu_future *future, acu_module **module)
{
    ACUI_CHECK(future, FUTURE);
    acu_status status = acu_future_poll(future);
    if (status != ACU_OK)
        return status;
    pthread_mutex_lock(&future->lock);
    acu_module *m = future->module;
    future->module = NULL;
    pthread_mutex_unlock(&future->lock);
    if (!m)
        return acui_fail(ACU_ERR_NOT_FOUND, "this future has no module, or it was taken before");
    *module = m;
    return ACU_OK;
}
