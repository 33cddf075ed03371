/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening libraries of the toolkit. */
#include "driver/vendor.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *acui_vendor_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void acui_vendor_close(void *library)
{
    dlclose(library);
}

void acui_vendor_path(void *library, char *path, size_t bytes)
{
    struct link_map *map = NULL;
    path[0] = '\0';
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name)
        return;
    char *real = realpath(map->l_name, NULL);
    snprintf(path, bytes, "%s", real ? real : map->l_name);
    free(real);
}

bool acui_vendor_symbol(void *library, const char *symbol, void *field)
{
    void *address = dlsym(library, symbol);
    memcpy(field, &address, sizeof address); /* C has no cast from an object's address to a function's */
    return address != NULL;
}
