/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening libraries of the toolkit. */
#include "driver/vendor.h"

#include "base/trust.h"

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

void *acui_vendor_open_global(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
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
    char why[ACUI_DISTRUST];
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = found.gl_pathc; i-- > 0 && !open;)
        open = !strstr(found.gl_pathv[i], ".alt.") && acui_is_trusted(found.gl_pathv[i], why) &&
               vendor->open(vendor, found.gl_pathv[i]);
    globfree(&found);
    return open;
}

typedef struct loaded {
    const char *stem;
    char path[PATH_MAX]; /* "": none */
} loaded;

static int note_loaded(struct dl_phdr_info *info, size_t bytes, void *user)
{
    (void)bytes;
    loaded *l = user;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    if (!name || strncmp(name + 1, l->stem, strlen(l->stem)) != 0)
        return 0;
    snprintf(l->path, sizeof l->path, "%s", info->dlpi_name);
    return 1;
}

/* The one that the process has already. It is opened after the walk, during which the dynamic
 * linker holds a lock. */
static bool open_loaded(const acui_vendor *vendor)
{
    loaded l = {.stem = vendor->stem};
    dl_iterate_phdr(note_loaded, &l);
    return l.path[0] && vendor->open(vendor, l.path);
}

static bool open_in(const acui_vendor *vendor, const char *folder, const char *const *inside)
{
    char pattern[PATH_MAX];
    for (; folder && *inside; inside++) {
        int n = snprintf(pattern, sizeof pattern, "%s/%s/%s*", folder, *inside, vendor->stem);
        if (n < (int)sizeof pattern && open_matching(vendor, pattern))
            return true;
    }
    return false;
}

/* In a folder that the environment names. */
static bool open_named(const acui_vendor *vendor, const char *variable, const char *const *inside)
{
    const char *folder = secure_getenv(variable);
    return folder && *folder && open_in(vendor, folder, inside);
}

bool acui_vendor_find(const acui_vendor *vendor, const char *asked, char *looked, size_t bytes)
{
    static const char *const folders[] = {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"};
    static const char *const toolkit[] = {"lib64", "lib", "lib/x86_64-linux-gnu",
                                          "targets/x86_64-linux/lib", NULL};
    static const char *const python[] = {"lib*/python3*/site-packages/nvidia/*/lib",
                                         "lib*/python3*/site-packages/onnxruntime/capi", "lib",
                                         "targets/x86_64-linux/lib", NULL};
    char why[ACUI_DISTRUST];
    if (asked && strchr(asked, '/') && !acui_is_trusted(asked, why)) {
        snprintf(looked, bytes, "%.100s (which is not used, because others could change it: %s)",
                 asked, why);
        return false;
    }
    if (asked) {
        snprintf(looked, bytes, "%.100s (it is no %s that can be opened)", asked, vendor->words);
        return vendor->open(vendor, asked);
    }
    snprintf(looked, bytes,
             "%s, in VIRTUAL_ENV, CONDA_PREFIX, CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda "
             "and the system's folders", vendor->stem);
    if (open_loaded(vendor) || open_named(vendor, "VIRTUAL_ENV", python) ||
        open_named(vendor, "CONDA_PREFIX", python) || open_named(vendor, "CUDA_HOME", toolkit) ||
        open_named(vendor, "CUDA_PATH", toolkit))
        return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (open_in(vendor, folders[i], toolkit))
            return true;
    for (size_t i = 0; vendor->names[i]; i++)
        if (vendor->open(vendor, vendor->names[i]))
            return true;
    return false;
}
