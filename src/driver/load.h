/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where entry points come from: a shared library, or the software device that is built in. */
#ifndef ACUI_DRIVER_LOAD_H
#define ACUI_DRIVER_LOAD_H

#include "base/text.h"

#include <acuda/driver.h>

#define ACUI_SYSTEM_LIBRARY "libcuda.so.1"

typedef enum acui_origin {
    ACUI_SYSTEM,  /* ACUI_SYSTEM_LIBRARY, found by the loader */
    ACUI_PATH,    /* a library that was named */
    ACUI_BUILT_IN /* the software device */
} acui_origin;

typedef struct acui_library {
    acui_origin origin;
    void *handle;    /* of dlopen; never closed once it held a driver: drivers keep threads */
    char path[4096]; /* real path of the library; "" for the software device */
    bool software;
} acui_library;

typedef enum acui_load {
    ACUI_LOADED,
    ACUI_ABSENT, /* there is no such library (or the software device is not part of this build) */
    ACUI_BROKEN  /* it is there, but can not be loaded, or is no CUDA driver */
} acui_load;

/* Load from `origin`; `path` for ACUI_PATH. What went wrong is added to `why`. */
acui_load acui_library_load(acui_library *library, acui_origin origin, const char *path,
                            acui_text *why);

/* Fill acui_raw with the entry points whose `since` is at most `version`, and NULL else; returns
 * how many were found. */
int acui_library_resolve(const acui_library *library, int version);

/* What the software device, where it is built in, has to say about its last fault or refused
 * module; "" for any other driver. Valid until the thread asks again. */
const char *acui_library_detail(const acui_library *library);

#endif
