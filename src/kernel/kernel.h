/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inside of modules and kernels. */
#ifndef ACUI_KERNEL_KERNEL_H
#define ACUI_KERNEL_KERNEL_H

#include "device/device.h"

#include <acuda/kernel.h>

/* What is known of one parameter. */
typedef struct acui_param {
    uint32_t bytes; /* 0: not known (only where declared, of a kernel that nobody tells about) */
    char type; /* from PTX: 'f' float, 'i' integer or bits (pointers too), 's' struct, 0 unknown */
    enum acui_want { /* from acu_kernel_declare */
        ACUI_WANT_ANY, ACUI_WANT_SCALAR, ACUI_WANT_IN, ACUI_WANT_OUT, ACUI_WANT_INOUT, ACUI_WANT_TILE
    } want;
    acu_dtype dtype; /* declared; ACU_NO_DTYPE: any */
} acui_param;

/* A function of a module, resolved when the module is loaded; shared by its kernel handles. */
typedef struct acui_function {
    char *name;
    CUfunction raw;
    acu_kernel_info info; /* its name is the one above */
    acui_param *params;
    _Atomic(size_t) shared_allowed; /* dynamic shared memory opted into; 0: what it has anyway */
} acui_function;

struct acu_module {
    acui_object object;
    acu_device *device; /* retained, but by a built-in one */
    bool built_in;      /* the device holds it, and its kernels hold the device */
    CUmodule raw;
    char *name; /* NULL: not found by name */
    acui_function *functions;
    size_t function_count;
    bool functions_known;    /* else (a cubin, an older driver) they are resolved when asked for */
    struct acu_module *next; /* of device->modules; the device's lock */
};

/* What a handle knows of the parameters; replaced as a whole by acu_kernel_declare. */
struct acu_kernel {
    acui_object object;
    acu_module *module; /* retained */
    CUfunction raw;
    acu_kernel_info info;
    _Atomic(acui_param *) params; /* release store, acquire load; NULL: not known */
    struct acui_declared *declared; /* all that ever stood there, freed with the kernel; its lock */
    pthread_mutex_t lock;
    acui_function *function; /* of the module; of a function resolved late: the kernel's own */
    bool own_function;
    char name[];
};

/* One .entry function of PTX text. */
typedef struct acui_ptx_entry {
    const char *name; /* in the text */
    size_t length;
    acui_param *params; /* the caller's, from acui_alloc; NULL if there are none */
    size_t count;
    bool understood; /* false: the parameters could not be read */
} acui_ptx_entry;

/*
 * The next .entry from *at on, which moves behind it; false at the end of the text. Understands
 * comments, strings, alignment, arrays and .ptr attributes. *st: ACU_OK or NO_MEMORY.
 */
bool acui_ptx_next(const char *ptx, size_t bytes, size_t *at, acui_ptx_entry *entry, acu_status *st);

/* Parameters of `.entry name` in PTX text; ACU_OK, NOT_FOUND, or NO_MEMORY. *params is the
 * caller's, from acui_alloc; NULL with a count of 0. */
acu_status acui_ptx_params(const char *ptx, size_t bytes, const char *name, acui_param **params,
                           size_t *count);

/* Fill in the facts of a function whose `name` and `raw` are set; parameters from the driver where
 * it tells and `params` is NULL, their sizes also where PTX told the rest. The device is entered. */
acu_status acui_function_read(acu_device *device, acui_function *function);

/* The module's code is there: find its functions. `ptx`: its text, NULL for a cubin. The device is
 * entered. */
acu_status acui_functions_find(acu_module *module, const char *ptx, size_t bytes);
void acui_functions_free(acu_module *module);
/* "a, b, c", for messages. */
const char *acui_functions_words(const acu_module *module, char *text, size_t bytes);

/*
 * Fill zeros of `config` (256 threads or the kernel's maximum) and check it against the kernel's
 * and the device's limits; opts into more shared memory where needed (one driver call, once; the
 * device is entered here). Errors: LIMIT, naming the number and the limit.
 */
acu_status acui_kernel_config(acu_kernel *kernel, acu_config *config);

/* Load a module of built-in kernels, which the device is to hold. Blocks. */
acu_status acui_module_load_family(acu_device *device, const char *name, const char *ptx,
                                   acu_module **module);

/* The names of modules (registry.c). Taking one fails with BUSY; the module is not retained. */
acu_status acui_module_name_free(acu_device *device, const char *name);
acu_status acui_module_enter(acu_module *module);
void acui_module_leave(acu_module *module);

#endif
