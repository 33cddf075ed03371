/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inside of modules and kernels. */
#ifndef ACUI_KERNEL_KERNEL_H
#define ACUI_KERNEL_KERNEL_H

#include "device/device.h"

#include <acuda/kernel.h>

/* What is known of one parameter. */
typedef struct acui_param {
    uint32_t bytes;
    char type;    /* from PTX: 'f' float, 'i' integer or bits (pointers too), 's' struct, 0 unknown */
    enum acui_want { /* from acu_kernel_declare */
        ACUI_WANT_ANY, ACUI_WANT_SCALAR, ACUI_WANT_IN, ACUI_WANT_OUT, ACUI_WANT_INOUT, ACUI_WANT_TILE
    } want;
    acu_dtype dtype; /* declared; ACU_NO_DTYPE: any */
} acui_param;

struct acu_module {
    acui_object object;
    acu_device *device; /* retained */
    CUmodule raw;
    char *name;         /* NULL: not found by name */
    bool listed;        /* in the device's list of named modules, through: */
    acu_module *next;   /* the device's lock */
    char *ptx;          /* text kept for parameters and names; NULL for a cubin */
    size_t ptx_bytes;
};

struct acu_kernel {
    acui_object object;
    acu_module *module; /* retained */
    CUfunction raw;
    acu_kernel_info info;
    acui_param *params;
    size_t param_bytes;   /* of the whole parameter block, where known */
    _Atomic(size_t) shared_allowed; /* dynamic shared memory opted into so far */
    char name[];
};

bool acui_is_elf(const void *image, size_t bytes); /* a cubin, no text */

/* Parameters of `.entry name` in PTX text; ACU_OK, NOT_FOUND, or NO_MEMORY. *params is the
 * caller's, from acui_alloc. Understands comments, alignment, arrays and .ptr attributes. */
acu_status acui_ptx_params(const char *ptx, size_t bytes, const char *name, acui_param **params,
                           size_t *count);
/* Names of the .entry functions, separated by ", ", for messages. */
void acui_ptx_entries(const char *ptx, size_t bytes, char *text, size_t room);

/*
 * Fill zeros of `config` (256 threads or the kernel's maximum) and check it against the kernel's
 * and the device's limits; opts into more shared memory where needed (one driver call, once; the
 * device is entered here). Errors: LIMIT, naming the number and the limit.
 */
acu_status acui_kernel_config(acu_kernel *kernel, acu_config *config);

#endif
