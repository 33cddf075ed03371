/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules: code given to the driver. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/binary.h"
#include "kernel/file.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#define LOG_BYTES 8192

/* Code to load. PTX text ends in a NUL, which does not count. */
typedef struct image {
    const void *data;
    size_t bytes;
    bool ptx;
    const char *what; /* for messages: its name or file */
} image;

/* ---- what kind of image ---------------------------------------------------------------------- */

static acu_status look_at(image *code)
{
    if (acui_is_binary(code->data, code->bytes))
        return acui_binary_check(code->data, code->bytes, code->what);
    while (code->bytes && !((const char *)code->data)[code->bytes - 1])
        code->bytes--;
    if (code->bytes == 0)
        return acui_fail(ACU_ERR_PTX, "%s is empty", code->what);
    if (memchr(code->data, 0, code->bytes))
        return acui_fail(ACU_ERR_PTX, "%s is neither PTX text nor a cubin", code->what);
    code->ptx = true;
    return ACU_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Add the driver's log to the record: its first lines, in one. */
static void add_log(const char *what, char *log)
{
    acu_error *error = acui_error();
    char detail[sizeof error->message];
    memcpy(detail, error->message, sizeof detail);
    size_t length = strlen(log);
    while (length && (log[length - 1] == '\n' || log[length - 1] == ' '))
        log[--length] = '\0';
    for (char *c = log; (c = strchr(c, '\n'));)
        *c = ' ';
    /* The software device has said it already. */
    bool said = length == 0 || strstr(detail, log);
    acui_text message = acui_text_start(error->message, sizeof error->message);
    acui_text_add(&message, "%s", what);
    if (!said)
        acui_text_add(&message, ": %s", log);
    else if (detail[0])
        acui_text_add(&message, "%s%s", detail[0] == ':' ? "" : ": ", detail);
}

/* The driver says that there is no code for this device, not what there is. */
static void add_architecture(const acu_device *device, const image *code)
{
    const acu_device_info *info = &device->info;
    unsigned sm = code->ptx ? 0 : acui_binary_sm(code->data);
    int major = (int)sm / 10, minor = (int)sm % 10;
    if (sm == 0 || info->software ||
        (major == info->compute_major && minor <= info->compute_minor))
        return;
    acu_error *error = acui_error();
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length,
             ": it is for sm_%u, and %s is sm_%d%d", sm, info->name, info->compute_major,
             info->compute_minor);
}

static acu_status load(acu_module *module, const image *code)
{
    char *log = acui_alloc(LOG_BYTES);
    if (!log)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    unsigned options[] = {ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES};
    acu_status st = ACUI_DEV(module->device, ModuleLoadDataEx, &module->raw, code->data, 2, options,
                             values);
    log[LOG_BYTES - 1] = '\0';
    if (st != ACU_OK) {
        module->raw = NULL;
        add_log(code->what, log);
        if (st == ACU_ERR_PTX)
            add_architecture(module->device, code);
    }
    acui_free(log);
    return st;
}

static acu_status load_entered(acu_module *module, const image *code)
{
    ACUI_TRY(load(module, code));
    ACUI_TRY(acui_functions_find(module, code->ptx ? code->data : NULL, code->bytes));
    return module->built_in ? ACU_OK : acui_module_enter(module);
}

static acu_status module_new(acu_device *device, const char *name, bool built_in,
                             acu_module **module)
{
    acu_module *m = acui_object_new(ACU_OBJECT_MODULE, sizeof *m);
    if (m && name) {
        m->name = acui_alloc(strlen(name) + 1);
        if (m->name) {
            memcpy(m->name, name, strlen(name));
        } else {
            acui_object_free(m);
            m = NULL;
        }
    }
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a module");
    m->device = built_in ? device : acu_device_retain(device);
    m->built_in = built_in;
    *module = m;
    return ACU_OK;
}

static acu_status load_code(acu_device *device, const char *name, const image *code, bool built_in,
                            acu_module **module)
{
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    acu_module *m = NULL;
    acu_status st = module_new(device, name, built_in, &m);
    if (st == ACU_OK)
        st = load_entered(m, code);
    acui_leave(&entered);
    if (st == ACU_OK)
        *module = m;
    else
        acu_module_release(m);
    return st;
}

static acu_status load_image(acu_device *device, const char *name, const image *code,
                             acu_module **module)
{
    ACUI_TRY(acui_module_name_free(device, name));
    return load_code(device, name, code, false, module);
}

acu_status acui_module_load_family(acu_device *device, const char *name, const char *ptx,
                                   acu_module **module)
{
    image code = {.data = ptx, .bytes = strlen(ptx), .ptx = true, .what = name};
    return load_code(device, name, &code, true, module);
}

/* Checks that all forms of loading begin with. */
static acu_status check_request(acu_device *device, const void *source, acu_module **module,
                                const char *function)
{
    acu_status st = acui_object_check(device, ACU_OBJECT_DEVICE, function);
    if (st != ACU_OK)
        return st;
    if (!module)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the module", function);
    if (!source)
        return acui_fail(ACU_ERR_INVALID, "%s: there is no code: NULL", function);
    return ACU_OK;
}

acu_status acu_module_load_ptx(acu_device *device, const char *name, const char *ptx,
                               acu_module **module)
{
    ACUI_TRY(check_request(device, ptx, module, __func__));
    image code = {.data = ptx, .bytes = strlen(ptx), .what = name ? name : "PTX"};
    ACUI_TRY(look_at(&code));
    return load_image(device, name, &code, module);
}

acu_status acu_module_load_image(acu_device *device, const char *name, const void *data,
                                 size_t bytes, acu_module **module)
{
    ACUI_TRY(check_request(device, data, module, __func__));
    image code = {.data = data, .bytes = bytes, .what = name ? name : "the image"};
    ACUI_TRY(look_at(&code));
    if (!code.ptx)
        return load_image(device, name, &code, module);
    char *text = acui_alloc(code.bytes + 1); /* with the NUL that it may lack */
    if (!text)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    memcpy(text, data, code.bytes);
    code.data = text;
    acu_status st = load_image(device, name, &code, module);
    acui_free(text);
    return st;
}

acu_status acu_module_load_file(acu_device *device, const char *name, const char *path,
                                acu_module **module)
{
    ACUI_TRY(check_request(device, path, module, __func__));
    char *data;
    size_t bytes;
    ACUI_TRY(acui_file_read(path, &data, &bytes));
    image code = {.data = data, .bytes = bytes, .what = path};
    acu_status st = look_at(&code);
    if (st == ACU_OK)
        st = load_image(device, name, &code, module);
    acui_free(data);
    return st;
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
    acui_module_leave(module);
    if (atomic_load_explicit(&device->graphs, memory_order_acquire))
        device->forget_module(device, module);
    if (module->raw) {
        acui_entered entered;
        if (acui_enter_to_free(device, &entered))
            device->cu->ModuleUnload(module->raw);
        acui_leave(&entered);
    }
    acui_functions_free(module);
    acui_free(module->name);
    acui_object_free(module);
    if (!built_in)
        acu_device_release(device);
}
