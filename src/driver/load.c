/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding a driver library, and its entry points by their exact names. */
#include "driver/load.h"

#include "base/trust.h"
#include "driver/names.h"
#include "driver/table.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if ACUDA_WITH_SOFTCUDA
#include "driver/softcuda.h"

static void *built_in_symbol(const char *symbol)
{
    return softcuda_symbol(symbol);
}

static const char *built_in_detail(void)
{
    return softcuda_last_error_text();
}
#else
static void *built_in_symbol(const char *symbol)
{
    (void)symbol;
    return NULL;
}

static const char *built_in_detail(void)
{
    return "";
}
#endif

static void *find(const acui_library *library, const char *symbol)
{
    return library->handle ? dlsym(library->handle, symbol) : built_in_symbol(symbol);
}

/*
 * Whether dlopen failed because `name` itself does not exist, rather than because it is damaged or
 * needs something that is missing. The loader tells this only in its message: "<name>: ...:
 * <ENOENT's text>".
 */
static bool is_absent(const char *name, const char *error)
{
    char start[PATH_MAX];
    int n = snprintf(start, sizeof start, "%s:", name);
    return n > 0 && (size_t)n < sizeof start && strstr(error, start) &&
           strstr(error, strerror(ENOENT));
}

static void find_path(acui_library *library)
{
    struct link_map *map = NULL;
    library->path[0] = '\0';
    if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name)
        return;
    char *real = realpath(map->l_name, NULL);
    snprintf(library->path, sizeof library->path, "%s", real ? real : map->l_name);
    free(real);
}

static acui_load load_file(acui_library *library, const char *name, acui_text *why)
{
    dlerror();
    library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        const char *error = dlerror();
        error = error ? error : "the loader gives no reason";
        acui_text_add(why, "%s", error);
        return is_absent(name, error) ? ACUI_ABSENT : ACUI_BROKEN;
    }
    find_path(library);
    /* acuda's own stand-in for the library is recognised by a symbol that no other driver has. */
    library->software = dlsym(library->handle, "softcuda_symbol") != NULL;
    return ACUI_LOADED;
}

/* Without these three nothing can be said about a driver, not even what is wrong with it. */
static bool is_driver(const acui_library *library, acui_text *why)
{
    static const acu_driver_call needed[] = {ACU_CALL_Init, ACU_CALL_DriverGetVersion,
                                             ACU_CALL_DeviceGetCount};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        const char *symbol = acui_calls[needed[i]].symbol;
        if (!find(library, symbol)) {
            acui_text_add(why, "%s is not a CUDA driver: it has no %s", library->path, symbol);
            return false;
        }
    }
    return true;
}

acui_load acui_library_load(acui_library *library, acui_origin origin, const char *path,
                            acui_text *why)
{
    *library = (acui_library){.origin = origin};
    if (origin == ACUI_BUILT_IN) {
        library->software = true;
        if (!built_in_symbol("cuInit")) {
            acui_text_add(why, "the software device is not part of this build of acuda");
            return ACUI_ABSENT;
        }
        return ACUI_LOADED;
    }
    char distrust[ACUI_DISTRUST];
    if (origin == ACUI_PATH && !acui_is_trusted(path, distrust)) {
        acui_text_add(why, "%s is not loaded, because others could change it: %s", path, distrust);
        return ACUI_BROKEN;
    }
    acui_load loaded = load_file(library, origin == ACUI_PATH ? path : ACUI_SYSTEM_LIBRARY, why);
    if (loaded == ACUI_LOADED && !is_driver(library, why)) {
        dlclose(library->handle);
        library->handle = NULL;
        return ACUI_BROKEN;
    }
    return loaded;
}

/* Stores a pointer to a function of any type, as dlsym returned it. */
static void set_entry(acu_driver_call call, void *function)
{
    memcpy((char *)&acui_raw + acui_calls[call].offset, &function, sizeof function);
}

static void *older_entry(const acui_library *library, acu_driver_call call, int version)
{
    for (size_t i = 0; i < acui_older_count; i++) {
        const acui_older *older = &acui_older_symbols[i];
        if (older->call == call && older->since <= version)
            return find(library, older->symbol);
    }
    return NULL;
}

int acui_library_resolve(const acui_library *library, int version)
{
    int found = 0;
    for (int i = 0; i < ACU_CALL_COUNT; i++) {
        acu_driver_call call = (acu_driver_call)i;
        void *entry = NULL;
        if (acui_calls[i].since <= version)
            entry = find(library, acui_calls[i].symbol);
        if (!entry)
            entry = older_entry(library, call, version);
        set_entry(call, entry);
        found += entry != NULL;
    }
    return found;
}

const char *acui_library_detail(const acui_library *library)
{
    if (library->origin == ACUI_BUILT_IN)
        return built_in_detail();
    if (!library->software)
        return "";
    const char *(*detail)(void) = NULL;
    void *found = dlsym(library->handle, "softcuda_last_error_text");
    memcpy(&detail, &found, sizeof detail);
    return detail ? detail() : "";
}
