/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries of the toolkit, which are neither needed to build nor linked: opened when they are
 * first wanted, never closed once they are right. */
#ifndef ACUI_DRIVER_VENDOR_H
#define ACUI_DRIVER_VENDOR_H

#include <acuda/base.h>

/* One of them, and how it is found. */
typedef struct acui_vendor {
    const char *words;     /* "NVRTC" */
    const char *stem;      /* "libnvrtc.so": its files begin so */
    const char *names[6];  /* as the system may find it, the preferred one first; ends with NULL */
    bool (*open)(const char *name); /* open this one and keep it, if it is right */
} acui_vendor;

/*
 * `asked`, if that is not NULL, and no other; else where the system finds one of the names, then in
 * CUDA_HOME, CUDA_PATH, /usr/local/cuda*, /opt/cuda, the newest first. Says
 * in `looked` where. Blocks.
 */
bool acui_vendor_find(const acui_vendor *vendor, const char *asked, char *looked, size_t bytes);

/* By name or path; NULL: there is none, or it can not be opened. Blocks. */
void *acui_vendor_open(const char *name);
void acui_vendor_close(void *library); /* one that is not right after all */
/* Where it is: its file, without links; "" if nobody knows. */
void acui_vendor_path(void *library, char *path, size_t bytes);
/* The symbol into the pointer to a function at `field`; false: it has none. */
bool acui_vendor_symbol(void *library, const char *symbol, void *field);

#endif
