/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code as the driver takes it: PTX, a cubin, a fat binary. */
#ifndef ACUI_KERNEL_IMAGE_H
#define ACUI_KERNEL_IMAGE_H

#include "kernel/kernel.h"

typedef struct acui_image {
    const void *data;
    size_t bytes;
    bool ends;        /* a NUL stands behind it */
    const char *what; /* for messages: its name or file */
    bool ptx;         /* acui_image_look finds that; a NUL at its end does not count then */
} acui_image;

/* Errors: PTX (it is no image, or not all of one). */
acu_status acui_image_look(acui_image *code);
/* Give it to the driver, and find its functions. Blocks. */
acu_status acui_image_load(acu_module *module, acui_image *code);

#endif
