/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening libraries of the toolkit. */
#include "driver/vendor.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
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
    memcpy(field, &address, sizeof address); /* C has no cast from an object's address to a
                                              * function's */
    return address != NULL;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Opens the newest library that matches the pattern. */
static bool open_matching(const acui_vendor *vendor, const char *pattern)
{
    glob_t found;
    bool open = false;
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !open;)
        open = !strstr(found.gl_pathv[i], ".alt.") && vendor->open(found.gl_pathv[i]);
    globfree(&found);
    return open;
}

static bool open_in(const acui_vendor *vendor, const char *folder)
{
    static const char *const libs[] = {"lib64", "lib", "lib/x86_64-linux-gnu",
                                       "targets/x86_64-linux/lib"};
    char pattern[PATH_MAX];
    for (size_t i = 0; folder && i < sizeof libs / sizeof *libs; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s/%s*", folder, libs[i], vendor->stem);
        if (open_matching(vendor, pattern))
            return true;
    }
    return false;
}

bool acui_vendor_find(const acui_vendor *vendor, const char *asked, char *looked, size_t bytes)
{
    static const char *const folders[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"};
    if (asked) {
        snprintf(looked, bytes, "%.100s (it is no %s that can be opened)", asked, vendor->words);
        return vendor->open(asked);
    }
    snprintf(looked, bytes, "%s, in CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda",
             vendor->stem);
    for (size_t i = 0; vendor->names[i]; i++)
        if (vendor->open(vendor->names[i]))
            return true;
    if (open_in(vendor, secure_getenv("CUDA_HOME")) || open_in(vendor, secure_getenv("CUDA_PATH")))
        return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (open_in(vendor, folders[i]))
            return true;
    return false;
}
