/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules by name: a list in the device, under the device's lock. It does not hold the modules; a
 * module leaves it when it goes.
 */
#include "base/error.h"
#include "base/nearest.h"
#include "kernel/families.h"

#include <stdio.h>
#include <string.h>

/* The module of that name, retained. A module that is being destroyed does not count: its name is
 * free. The device's lock is held. */
static acu_module *find_retained(acu_device *device, const char *name)
{
    for (acu_module *m = device->kernel.modules; m; m = m->next)
        if (strcmp(m->name, name) == 0 && acui_object_try_retain(m))
            return m;
    return NULL;
}

static acu_status busy(const acu_device *device, const char *name)
{
    return acui_fail(ACU_ERR_BUSY,
                     "device %d has a module that was loaded as \"%s\" already: take its kernels "
                     "with acu_kernel_find, or choose another name",
                     device->info.ordinal, name);
}

acu_status acui_module_enter(acu_module *module)
{
    acu_device *device = module->device;
    const char *name = module->name;
    if (!name)
        return ACU_OK;
    if (acui_is_family_name(name))
        return acui_fail(ACU_ERR_INVALID,
                         "a module named \"%s\": names that begin with " ACUI_FAMILY_PREFIX
                         " are those of built-in kernels", name);
    pthread_mutex_lock(&device->lock);
    acu_module *other = find_retained(device, module->name);
    if (!other) {
        acui_object_list(module);
        module->next = device->kernel.modules;
        device->kernel.modules = module;
    }
    pthread_mutex_unlock(&device->lock);
    acu_module_release(other);
    return other ? busy(device, module->name) : ACU_OK;
}

void acui_module_leave(acu_module *module)
{
    pthread_mutex_lock(&module->device->lock);
    for (acu_module **link = &module->device->kernel.modules; *link; link = &(*link)->next)
        if (*link == module) {
            *link = module->next;
            break;
        }
    pthread_mutex_unlock(&module->device->lock);
}

/* With the device's lock. */
static void find_meant(const acu_device *device, const char *name, char text[80])
{
    acui_nearest nearest = acui_nearest_to(name);
    for (const acu_module *m = device->kernel.modules; m; m = m->next)
        if (m->name)
            acui_nearest_look(&nearest, m->name);
    if (nearest.found)
        snprintf(text, 80, " (did you mean %.60s?)", nearest.found);
}

static acu_status find_module(acu_device *device, const char *name, acu_module **module)
{
    if (acui_is_family_name(name))
        return acui_family_find(device, name, module);
    char meant[80] = "";
    pthread_mutex_lock(&device->lock);
    *module = find_retained(device, name);
    if (!*module)
        find_meant(device, name, meant);
    pthread_mutex_unlock(&device->lock);
    if (!*module)
        return acui_fail(ACU_ERR_NOT_FOUND, "no module was loaded as \"%.200s\" on device %d%s",
                         name, device->info.ordinal, meant);
    return ACU_OK;
}

acu_status acu_kernel_find(acu_device *device, const char *module, const char *kernel_name,
                           acu_kernel **kernel)
{
    ACUI_CHECK(device, DEVICE);
    if (!module || !kernel_name)
        return acui_fail(ACU_ERR_INVALID, "acu_kernel_find: the name of the %s is NULL",
                         module ? "kernel" : "module");
    acu_module *found = NULL;
    ACUI_TRY(find_module(device, module, &found));
    acu_status st = acu_kernel_get(found, kernel_name, kernel);
    acu_module_release(found);
    return st;
}
