/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in kernels. A device holds the modules of its families and releases them when it ends. So
 * these modules do not hold the device; their kernels do.
 */
#include "kernel/families.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "kernel/source.h"

#include <string.h>

/* Packed (base/unpack.h). */
#define ACU_X(name)                                                                                \
    extern const unsigned char acui_##name##_ptx[];                                                \
    extern const unsigned acui_##name##_ptx_bytes;
ACUI_FAMILIES(ACU_X)
#undef ACU_X

static const struct {
    const char *name;
    const unsigned char *packed;
    const unsigned *bytes;
} families[] = {
#define ACU_X(name) {ACUI_FAMILY_PREFIX #name, acui_##name##_ptx, &acui_##name##_ptx_bytes},
    ACUI_FAMILIES(ACU_X)
#undef ACU_X
    {NULL, NULL, NULL},
};

enum { COUNT = sizeof families / sizeof *families - 1 };

struct acui_families {
    acu_module *modules[COUNT + 1]; /* the device has a reference to each; NULL: not wanted yet */
};

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER; /* held while a family of any device
                                                               * begins to load */

bool acui_is_family_name(const char *name)
{
    return name && strncmp(name, ACUI_FAMILY_PREFIX, sizeof ACUI_FAMILY_PREFIX - 1) == 0;
}

static acu_status not_found(const char *name)
{
    char list[256];
    acui_text words = acui_text_start(list, sizeof list);
    acui_nearest nearest = acui_nearest_to(name);
    for (int i = 0; i < COUNT; i++) {
        acui_text_add(&words, "%s%s", i ? ", " : "", families[i].name);
        acui_nearest_look(&nearest, families[i].name);
    }
    return acui_fail(ACU_ERR_NOT_FOUND,
                     "there are no built-in kernels \"%.80s\"%s%s%s; there are: %s", name,
                     nearest.found ? " (did you mean " : "",
                     nearest.found ? nearest.found : "", nearest.found ? "?)" : "",
                     COUNT ? list : "none");
}

static void drop(acu_device *device)
{
    for (int i = 0; i < COUNT; i++)
        acu_module_release(device->kernel.families->modules[i]);
    acui_free(device->kernel.families);
}

/* `beginning` is held. A family whose load failed is tried again. */
static acu_status find_or_begin(acu_device *device, int index, acu_module **module)
{
    if (!device->kernel.families) {
        device->kernel.families = ACUI_NEW(struct acui_families);
        if (!device->kernel.families)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the built-in kernels");
        device->drop[ACUI_DROP_FAMILIES] = drop;
    }
    acu_module **known = &device->kernel.families->modules[index];
    if (!*known || acui_module_state(*known) == ACUI_LOAD_FAILED) {
        const acu_module_source source = {.name = families[index].name,
                                          .image = families[index].packed,
                                          .bytes = *families[index].bytes};
        acu_module *begun = NULL;
        ACUI_TRY(acui_device_check(device));
        ACUI_TRY(acui_load_begin(device, &source, true, NULL, &begun));
        acu_module_release(*known);
        *known = begun;
    }
    *module = acu_module_retain(*known);
    return ACU_OK;
}

acu_status acui_family_find(acu_device *device, const char *name, acu_module **module)
{
    int place = 0;
    while (place < COUNT && strcmp(families[place].name, name) != 0)
        place++;
    if (place == COUNT)
        return not_found(name);
    pthread_mutex_lock(&beginning);
    acu_status st = find_or_begin(device, place, module);
    pthread_mutex_unlock(&beginning);
    return st;
}
