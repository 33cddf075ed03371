/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Modules: loading code, and finding it by name. */
#include "base/alloc.h"
#include "base/error.h"
#include "driver/result.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#define LOG_BYTES 2048

static acu_module *new_module(acu_device *device, const char *name, const void *image, size_t bytes)
{
    acu_module *m = acui_object_new(ACU_OBJECT_MODULE, sizeof *m);
    if (!m)
        return NULL;
    m->device = acu_device_retain(device);
    bool text = !acui_is_elf(image, bytes);
    if (text)
        m->ptx = acui_alloc(bytes + 1); /* ends in NUL, as the driver wants it */
    if (name)
        m->name = acui_alloc(strlen(name) + 1);
    if ((text && !m->ptx) || (name && !m->name)) {
        acu_module_release(m);
        return NULL;
    }
    if (text) {
        memcpy(m->ptx, image, bytes);
        m->ptx_bytes = bytes;
    }
    if (name)
        memcpy(m->name, name, strlen(name) + 1);
    return m;
}

/* The driver refused the code: what it says of it, cut to the record's size. */
static acu_status refused(unsigned result, const char *log)
{
    acu_status status = log[0] ? acui_fail_driver(ACU_CALL_ModuleLoadDataEx, result, "%s", log)
                               : acui_fail_driver(ACU_CALL_ModuleLoadDataEx, result,
                                                  "the driver does not say more");
    return status;
}

static acu_status load(acu_module *m, const void *image)
{
    char log[LOG_BYTES] = "";
    unsigned options[] = {ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    acui_entered entered;
    ACUI_TRY(acui_enter(m->device, &entered));
    unsigned result = m->device->cu->ModuleLoadDataEx(&m->raw, image, 2, options, values);
    acui_leave(&entered);
    if (result == ACU_CUDA_SUCCESS)
        return ACU_OK;
    m->raw = NULL;
    acu_status status = refused(result, log);
    if (acu_status_scope(status) == ACU_SCOPE_DEVICE) {
        acui_error()->device = m->device->info.ordinal;
        acui_device_lose(m->device);
    }
    return status;
}

/* ---- by name: the device's list, under its lock; a module leaves it when it goes ---- */

static acu_module *find_named(acu_device *device, const char *name)
{
    for (acu_module *m = device->modules; m; m = m->next)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

static acu_status enlist(acu_module *m)
{
    acu_device *device = m->device;
    pthread_mutex_lock(&device->lock);
    bool taken = find_named(device, m->name) != NULL;
    if (!taken) {
        m->next = device->modules;
        device->modules = m;
        m->listed = true;
    }
    pthread_mutex_unlock(&device->lock);
    if (taken)
        return acui_fail(ACU_ERR_BUSY, "device %d has a module named \"%s\" already",
                         device->info.ordinal, m->name);
    return ACU_OK;
}

static void delist(acu_module *m)
{
    pthread_mutex_lock(&m->device->lock);
    acu_module **link = &m->device->modules;
    while (*link && *link != m)
        link = &(*link)->next;
    if (*link)
        *link = m->next;
    pthread_mutex_unlock(&m->device->lock);
}

acu_status acu_kernel_find(acu_device *device, const char *module, const char *kernel_name,
                           acu_kernel **kernel)
{
    ACUI_CHECK(device, DEVICE);
    if (!module || !kernel_name)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_find: a name is NULL");
    pthread_mutex_lock(&device->lock);
    acu_module *m = find_named(device, module);
    if (m && !acui_object_try_retain(m))
        m = NULL; /* on its way out */
    pthread_mutex_unlock(&device->lock);
    if (!m)
        return acui_fail(ACU_ERR_NOT_FOUND, "device %d has no module named \"%s\"",
                         device->info.ordinal, module);
    acu_status status = acu_kernel_get(m, kernel_name, kernel);
    acu_module_release(m);
    return status;
}

/* ---- loading ---- */

bool acui_is_elf(const void *image, size_t bytes)
{
    return bytes >= 4 && memcmp(image, "\177ELF", 4) == 0;
}

acu_status acu_module_load_image(acu_device *device, const char *name, const void *image,
                                 size_t bytes, acu_module **module)
{
    ACUI_CHECK(device, DEVICE);
    if (!image || bytes == 0 || !module)
        return acui_fail(ACU_ERR_INVALID, "loading a module: the code or the result is NULL");
    ACUI_TRY(acui_device_check(device));
    acu_module *m = new_module(device, name, image, bytes);
    if (!m)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a module");
    acu_status status = load(m, m->ptx ? m->ptx : image);
    if (status == ACU_OK && name)
        status = enlist(m);
    if (status != ACU_OK) {
        acu_error record = *acui_error();
        acu_module_release(m);
        return acui_error_restore(&record);
    }
    *module = m;
    return ACU_OK;
}

acu_status acu_module_load_ptx(acu_device *device, const char *name, const char *ptx,
                               acu_module **module)
{
    if (!ptx)
        return acui_fail(ACU_ERR_INVALID, "acu_module_load_ptx: the text is NULL");
    return acu_module_load_image(device, name, ptx, strlen(ptx), module);
}

static acu_status read_file(const char *path, char **data, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return acui_fail(ACU_ERR_IO, "%s can not be opened", path);
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    rewind(file);
    char *read = size > 0 ? acui_alloc((size_t)size) : NULL;
    acu_status status = ACU_OK;
    if (size <= 0)
        status = acui_fail(ACU_ERR_IO, "%s is empty, or no file to read", path);
    else if (!read)
        status = acui_fail(ACU_ERR_NO_MEMORY, "no memory to read %s", path);
    else if (fread(read, 1, (size_t)size, file) != (size_t)size)
        status = acui_fail(ACU_ERR_IO, "%s could not be read to its end", path);
    fclose(file);
    if (status != ACU_OK) {
        acui_free(read);
        return status;
    }
    *data = read;
    *bytes = (size_t)size;
    return ACU_OK;
}

acu_status acu_module_load_file(acu_device *device, const char *name, const char *path,
                                acu_module **module)
{
    char *data;
    size_t bytes;
    ACUI_CHECK(device, DEVICE);
    if (!path)
        return acui_fail(ACU_ERR_INVALID, "acu_module_load_file: the path is NULL");
    ACUI_TRY(read_file(path, &data, &bytes));
    acu_status status = acu_module_load_image(device, name, data, bytes, module);
    acui_free(data);
    return status;
}

acu_module *acu_module_retain(acu_module *module)
{
    return acui_object_retain(module);
}

void acu_module_release(acu_module *module)
{
    if (!acui_object_is(module, ACU_OBJECT_MODULE) || !acui_object_drop(module))
        return;
    if (module->listed)
        delist(module);
    acui_entered entered;
    if (module->raw) {
        if (acui_enter_to_free(module->device, &entered))
            module->device->cu->ModuleUnload(module->raw);
        acui_leave(&entered);
    }
    acui_free(module->name);
    acui_free(module->ptx);
    acu_device *device = module->device;
    acui_object_free(module);
    acu_device_release(device);
}
