/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries of the toolkit, which acuda neither needs to build nor links. They are opened when
 * first wanted, and not closed again once they turn out to be usable. */
#ifndef ACUI_DRIVER_VENDOR_H
#define ACUI_DRIVER_VENDOR_H

#include <acuda/base.h>

/* One such library, and how to find it. */
typedef struct acui_vendor acui_vendor;
struct acui_vendor {
    const char *words;     /* "NVRTC" */
    const char *stem;      /* "libnvrtc.so": how its file names begin */
    const char *names[6];  /* names by which the system may find it, best first; ends with NULL */
    /* Open this one and keep it, if it is usable. */
    bool (*open)(const acui_vendor *vendor, const char *name);
};

/*
 * Tries only `asked`, if that is not NULL. Otherwise tries, the newest first: what the process has
 * loaded already; the packages of pip in VIRTUAL_ENV and CONDA_PREFIX, and the latter's own
 * folders; CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda; and the names, wherever the system
 * finds them. By path it opens nothing that others can change (base/trust.h); nor does the
 * environment count in a program that runs with somebody else's privileges. Writes to `looked`
 * where it looked. Blocks.
 */
bool acui_vendor_find(const acui_vendor *vendor, const char *asked, char *looked, size_t bytes);

/* By name or path; NULL: there is none, or it can not be opened. Blocks. */
void *acui_vendor_open(const char *name);
/* The same, for a library that loads others which need its symbols; NULL: what the process has. */
void *acui_vendor_open_global(const char *name);
void acui_vendor_close(void *library); /* for one that is not usable after all */
/* The path of its file, with links resolved; "" if unknown. */
void acui_vendor_path(void *library, char *path, size_t bytes);
/* Store the symbol's address in the function pointer at `field`; false: there is no such symbol. */
bool acui_vendor_symbol(void *library, const char *symbol, void *field);

#endif
