/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loading a module from its source, on this thread or on the loader's. In both cases the module
 * exists first (acui_module_new), and acui_module_end or acui_module_finish ends its load, whatever
 * came of it.
 */
#include "kernel/source.h"

#include "base/alloc.h"
#include "base/callback.h"
#include "base/error.h"
#include "base/unpack.h"
#include "base/options.h"
#include "kernel/file.h"
#include "kernel/image.h"
#include "device/loader.h"
#include "kernel/request.h"

#include <stdio.h>
#include <string.h>

/* ---- what the program says ------------------------------------------------------------------- */

static acu_status check_source(acu_module_source *source, acu_compile_options *compile,
                               acu_device *device, bool waits, const char *function)
{
    ACUI_TRY(acui_object_check(device, ACU_OBJECT_DEVICE, function));
    bool foreign = source->module || source->library;
    int given = !!source->ptx + !!source->image + !!source->path + !!source->cuda +
                !!source->module + !!source->library;
    if (given != 1)
        return acui_fail(ACU_ERR_INVALID,
                         "%s: give exactly one of ptx, image, path, cuda, module and library%s",
                         function, given == 0 ? "; all are NULL" : "");
    if (!foreign && (source->user.data || source->user.release))
        return acui_fail(ACU_ERR_INVALID,
                         "%s: user data is for a module or library that is wrapped", function);
    if (source->library && !acu_driver_has(ACU_CALL_LibraryGetModule))
        return acui_fail(ACU_ERR_NOT_SUPPORTED,
                         "%s: the driver is older than CUDA 12.0, and has no libraries", function);
    if (source->cuda) {
        ACUI_TRY(acui_compile_options_read(compile, source->compile, waits, function));
        source->compile = compile;
    }
    return acui_device_check(device);
}

void acui_source_drop(const acu_module_source *source)
{
    acu_error record = *acui_error(); /* the release must not change what the caller sees */
    acui_user_release(source->user);
    acui_error_restore(&record);
}

acu_status acui_source_read(acu_module_source *source, acu_compile_options *compile,
                            acu_device *device, const acu_module_source *given, bool waits,
                            const char *function)
{
    acu_status st = acui_options_read(source, sizeof *source, given, function);
    if (st == ACU_OK)
        st = check_source(source, compile, device, waits, function);
    if (st != ACU_OK)
        acui_source_drop(source);
    return st;
}

static const char *words_of(const acu_module_source *source)
{
    if (source->path)
        return source->path;
    if (source->name)
        return source->name;
    return source->ptx                          ? "PTX"
           : source->cuda                       ? "source.cu"
           : source->module || source->library ? "what is wrapped"
                                                : "the image";
}

/* ---- getting the code, and loading it -------------------------------------------------------- */

static acu_status load_file(acu_module *module, const acu_module_source *source)
{
    char *data;
    size_t bytes;
    ACUI_TRY(acui_file_read(source->path, &data, &bytes));
    acui_image code = {.data = data, .bytes = bytes, .ends = true, .what = source->path};
    acu_status st = acui_image_load(module, &code);
    acui_free(data);
    return st;
}

/* Compiles and loads CUDA C++; the options were checked before. */
static acu_status load_cuda(acu_module *module, const acu_module_source *source)
{
    static const acu_compile_options none;
    const acu_compile_options *options = source->compile ? source->compile : &none;
    acui_request request;
    acu_status st = acui_request_begin(&request, module->device, words_of(source), source->cuda,
                                       options);
    if (st == ACU_OK)
        st = acui_compile(&request, &module->code);
    acui_request_end(&request);
    if (module->code && options->log && options->log_bytes)
        snprintf(options->log, options->log_bytes, "%s", module->code->log);
    if (st != ACU_OK && module->code)
        acui_error_keep_log(module->code->log);
    ACUI_TRY(st);
    acui_image code = {.data = module->code->ptx,
                       .bytes = module->code->ptx_length,
                       .ends = true,
                       .what = words_of(source)};
    return acui_image_load(module, &code);
}

/* The library's own kernels, which are packed. */
static acu_status load_built_in(acu_module *module, const acu_module_source *source)
{
    size_t bytes = acui_packed_size(source->image, source->bytes);
    char *text = acui_alloc_raw(bytes + 1);
    if (!text)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to unpack %s", words_of(source));
    text[bytes] = '\0';
    acu_status st = ACU_OK;
    if (!acui_unpack(source->image, source->bytes, text, bytes))
        st = acui_fail(ACU_ERR_INVALID, "%s is damaged: it can not be unpacked", words_of(source));
    acui_image code = {.data = text, .bytes = bytes, .ends = true, .what = words_of(source)};
    if (st == ACU_OK)
        st = acui_image_load(module, &code);
    acui_free(text);
    return st;
}

/* Wraps what somebody else loaded; it is not unloaded here. */
static acu_status wrap(acu_module *module, const acu_module_source *source)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(module->device, &entered));
    acu_status st = ACU_OK;
    module->foreign = true;
    module->raw = source->module;
    if (source->library)
        st = ACUI_DEV(module->device, LibraryGetModule, &module->raw, source->library);
    if (st == ACU_OK)
        st = acui_functions_find(module, NULL, 0);
    acui_leave(&entered);
    return st;
}

static acu_status load_source(acu_module *module, const acu_module_source *source, bool ends)
{
    acui_error_keep_log(NULL);
    if (module->built_in)
        return load_built_in(module, source);
    if (source->module || source->library)
        return wrap(module, source);
    if (source->cuda)
        return load_cuda(module, source);
    if (source->path)
        return load_file(module, source);
    acui_image code = {.data = source->image, .bytes = source->bytes, .ends = ends};
    code.what = words_of(source);
    if (source->ptx) {
        code.data = source->ptx;
        code.bytes = strlen(source->ptx);
        code.ends = true;
    }
    return acui_image_load(module, &code);
}

/* ---- here ------------------------------------------------------------------------------------ */

/* From here on the module has the source's user data, and releases it when it goes. */
static acu_status new_module(acu_device *device, const acu_module_source *source, bool built_in,
                             acu_module **module)
{
    acu_status st = acui_module_new(device, source->name, built_in, module);
    if (st == ACU_OK)
        (*module)->user = source->user;
    else
        acui_source_drop(source);
    return st;
}

acu_status acu_module_load(acu_device *device, const acu_module_source *given, acu_module **module)
{
    acu_module_source source;
    acu_compile_options compile;
    ACUI_TRY(acui_source_read(&source, &compile, device, given, true, __func__));
    if (!module) {
        acui_source_drop(&source);
        return acui_fail(ACU_ERR_INVALID, "acu_module_load: nowhere to put the module");
    }
    acu_module *m = NULL;
    ACUI_TRY(new_module(device, &source, false, &m));
    return acui_module_finish(m, load_source(m, &source, false), module);
}

/* ---- on another thread ----------------------------------------------------------------------- */

typedef struct load {
    acui_job job;
    acu_module *module; /* retained */
    acu_module_source source;
    char *path, *code;  /* copies; NULL if not given */
    acu_compile_options compile; /* what they point to is in the arena: */
    acui_arena arena;
    acui_load_watch watch;
} load;

static void load_free(load *l)
{
    acu_device *device = l->job.device;
    acu_module_release(l->module);
    acui_free(l->path);
    acui_free(l->code);
    acui_arena_clear(&l->arena);
    acui_free(l);
    acu_device_release(device);
}

static acu_status run_load(const load *l)
{
    if (l->watch.given_up && l->watch.given_up(l->watch.context))
        return acui_fail(ACU_ERR_CANCELLED, "the load of %s was given up before it began",
                         words_of(&l->source));
    ACUI_TRY(acui_device_check(l->job.device));
    return load_source(l->module, &l->source, l->code != NULL);
}

static void run(acui_job *job)
{
    load *l = (load *)job; /* the job is its first member */
    acu_status st = run_load(l);
    acui_module_end(l->module, st);
    if (l->watch.ended)
        l->watch.ended(l->watch.context, st, l->module->fault);
    load_free(l);
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

/* Copies the source; its name is the module's copy. */
static bool copy_source(load *l, const acu_module_source *source)
{
    const char *text = source->ptx ? source->ptx : source->cuda;
    const void *code = text ? text : source->image;
    size_t bytes = text ? strlen(text) : source->bytes;
    if (source->cuda && !acui_compile_options_copy(&l->arena, source->compile, &l->compile))
        return false;
    if (!copy(&l->path, source->path, source->path ? strlen(source->path) : 0) ||
        !copy(&l->code, code, bytes))
        return false;
    l->source = (acu_module_source){.name = l->module->name, .path = l->path, .bytes = bytes,
                                    .module = source->module, .library = source->library};
    if (source->ptx)
        l->source.ptx = l->code;
    else if (source->cuda) {
        l->source.cuda = l->code;
        l->source.compile = &l->compile;
    } else
        l->source.image = l->code;
    return true;
}

static acu_status load_new(acu_module *module, const acu_module_source *source,
                           const acui_load_watch *watch, load **out)
{
    load *l = ACUI_NEW(load);
    if (!l)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    l->job.run = run;
    l->job.device = acu_device_retain(module->device);
    l->module = acu_module_retain(module);
    if (watch)
        l->watch = *watch;
    l->source = *source;
    acui_arena_begin(&l->arena, NULL, 0);
    if (!module->built_in && !copy_source(l, source)) {
        load_free(l);
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    }
    *out = l;
    return ACU_OK;
}

acu_status acui_load_begin(acu_device *device, const acu_module_source *source, bool built_in,
                           const acui_load_watch *watch, acu_module **module)
{
    acu_module *m = NULL;
    load *l = NULL;
    ACUI_TRY(new_module(device, source, built_in, &m));
    acu_status st = load_new(m, source, watch, &l);
    if (st == ACU_OK) {
        st = acui_loader_give(&l->job);
        if (st != ACU_OK)
            load_free(l);
    }
    if (st != ACU_OK) {
        acui_module_end(m, st); /* others may have found it by its name */
        acu_error record = *acui_error();
        acu_module_release(m);
        return acui_error_restore(&record);
    }
    *module = m;
    return ACU_OK;
}
