/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code in the forms that the driver takes: PTX, a cubin, a fat binary. */
#ifndef ACUI_KERNEL_IMAGE_H
#define ACUI_KERNEL_IMAGE_H

#include "kernel/kernel.h"

typedef struct acui_image {
    const void *data;
    size_t bytes;
    bool ends;        /* a NUL follows it */
    const char *what; /* its name or file, for messages */
    bool ptx;         /* set by acui_image_load, which then does not count a NUL at the end */
} acui_image;

/* Give the image to the driver, and find its functions. Blocks. Errors: PTX (it is no image, or
 * incomplete; or the driver refuses it), the driver's. */
acu_status acui_image_load(acu_module *module, acui_image *code);

#endif
