/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that is given to the driver, and what the driver says about it. */
#include "kernel/image.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/trace.h"
#include "kernel/binary.h"

#include <stdio.h>
#include <string.h>

#define LOG_BYTES ((size_t)64 << 10)

/* ---- what kind of image ---------------------------------------------------------------------- */

/* Errors: PTX (it is no image, or incomplete). */
static acu_status find_kind(acui_image *code)
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

/* Adds the driver's log to the record, joined to one line. */
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
    /* The software device's own message has said it already. */
    bool said = length == 0 || strstr(detail, log);
    acui_text message = acui_text_start(error->message, sizeof error->message);
    acui_text_add(&message, "%s", what);
    if (!said)
        acui_text_add(&message, ": %s", log);
    else if (detail[0])
        acui_text_add(&message, "%s%s", detail[0] == ':' ? "" : ": ", detail);
}

/* The driver says only that there is no code for this device; say what code there is. */
static void add_architecture(const acu_device *device, const acui_image *code)
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

static acu_status load(acu_module *module, const acui_image *code)
{
    char *log = acui_alloc_raw(LOG_BYTES);
    if (!log)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    log[0] = '\0';
    unsigned options[] = {ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES};
    acu_status st = ACUI_DEV(module->device, ModuleLoadDataEx, &module->raw, code->data, 2, options,
                             values);
    log[LOG_BYTES - 1] = '\0';
    if (st != ACU_OK) {
        module->raw = NULL;
        acui_error_keep_log(log);
        add_log(code->what, log);
        if (st == ACU_ERR_PTX)
            add_architecture(module->device, code);
    }
    acui_free(log);
    return st;
}

static acu_status load_entered(acu_module *module, const acui_image *code)
{
    ACUI_TRY(load(module, code));
    if (code->ptx && !acui_globals_read(module, code->data))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the variables of a module");
    return acui_functions_find(module, code->ptx ? code->data : NULL, code->bytes);
}

/* PTX must end in a NUL: where it does not, a copy is loaded. */
static acu_status load_text(acu_module *module, const acui_image *code)
{
    acui_image ended = *code;
    char *text = acui_alloc_raw(code->bytes + 1);
    if (!text)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to load a module");
    memcpy(text, code->data, code->bytes);
    text[code->bytes] = '\0';
    ended.data = text;
    acu_status st = load_entered(module, &ended);
    acui_free(text);
    return st;
}

/* A module without a name is told by its kernels. */
static void trace(const acu_module *module, const acui_image *code, uint64_t from)
{
    const char *name = module->name ? module->name : code->what;
    size_t count = module->name ? 0 : module->function_count;
    if (count)
        name = module->functions[0].name;
    if (count > 1)
        acui_trace_slice(from, "load", "%.60s and %zu more", name, count - 1);
    else
        acui_trace_slice(from, "load", "%s", name);
}

acu_status acui_image_load(acu_module *module, acui_image *code)
{
    ACUI_TRY(find_kind(code));
    acui_entered entered;
    uint64_t from = acui_trace_from();
    ACUI_TRY(acui_enter(module->device, &entered));
    acu_status st = code->ptx && !code->ends ? load_text(module, code) : load_entered(module, code);
    acui_leave(&entered);
    trace(module, code, from);
    return st;
}
