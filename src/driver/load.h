/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where entry points come from: a shared library, or the built-in software device. */
#ifndef ACUI_DRIVER_LOAD_H
#define ACUI_DRIVER_LOAD_H

#include "base/text.h"

#include <acuda/driver.h>

#define ACUI_SYSTEM_LIBRARY "libcuda.so.1"

typedef enum acui_origin {
    ACUI_SYSTEM,  /* ACUI_SYSTEM_LIBRARY, found by the loader */
    ACUI_PATH,    /* a library given by path */
    ACUI_BUILT_IN /* the software device */
} acui_origin;

typedef struct acui_library {
    acui_origin origin;
    void *handle;    /* from dlopen; never closed once it held a driver: drivers keep threads */
    char path[4096]; /* the library's real path; "" for the software device */
    bool software;
} acui_library;

typedef enum acui_load {
    ACUI_LOADED,
    ACUI_ABSENT, /* there is no such library, or this build does not include the software device */
    ACUI_BROKEN  /* it exists, but can not be loaded or is not a CUDA driver */
} acui_load;

/* Load from `origin`, with `path` for ACUI_PATH. What went wrong is appended to `why`. */
acui_load acui_library_load(acui_library *library, acui_origin origin, const char *path,
                            acui_text *why);

/* Fill acui_raw with the entry points whose `since` is at most `version`, and with NULL otherwise;
 * returns how many were found. */
int acui_library_resolve(const acui_library *library, int version);

/* What the software device, if this is the built-in one, has to say about its last fault or refused
 * module; "" for any other driver. Valid until the thread asks again. */
const char *acui_library_detail(const acui_library *library);

#endif
