/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What acu_kernel_declare leaves in a kernel. */
#ifndef ACUI_KERNEL_DECLARED_H
#define ACUI_KERNEL_DECLARED_H

#include "kernel/kernel.h"

/* A set of parameters that was declared. Launches on other threads may still read an older one, so
 * all of them stay until the kernel is freed. */
typedef struct acui_declared {
    struct acui_declared *older;
    char *text; /* the signature, if declared before the kernel was loaded */
    size_t count;
    acui_param params[];
} acui_declared;

void acui_declared_free(acu_kernel *kernel);
/* The kernel's facts are known now: check them against what was declared before. Its lock is held.
 * Errors: those of acu_kernel_declare. */
acu_status acui_declared_check(acu_kernel *kernel);

#endif
