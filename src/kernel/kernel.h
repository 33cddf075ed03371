/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Inside of modules and kernels. */
#ifndef ACUI_KERNEL_KERNEL_H
#define ACUI_KERNEL_KERNEL_H

#include "kernel/bytes.h"
#include "memory/access.h"

#include <acuda/kernel.h>

/* What is known of one parameter. */
typedef struct acui_param {
    uint32_t bytes; /* 0: not known (only where declared, of a kernel that nobody tells about) */
    char type; /* from PTX: 'f' float, 'i' integer or bits (pointers too), 's' struct, 0 unknown */
    enum acui_want { /* from acu_kernel_declare */
        ACUI_WANT_ANY,
        ACUI_WANT_SCALAR,
        ACUI_WANT_IN,
        ACUI_WANT_OUT,
        ACUI_WANT_INOUT,
        ACUI_WANT_TILE
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
    _Atomic(uint64_t) held; /* limits.c: the last answer about blocks that a multiprocessor holds */
} acui_function;

typedef enum acui_load_state { ACUI_LOADING, ACUI_LOADED, ACUI_LOAD_FAILED } acui_load_state;

/* What is below `state` is the loading thread's, until that changes; then it is fixed. */
struct acu_module {
    acui_object object;
    acu_device *device; /* retained, but by a built-in one */
    bool built_in;      /* the device holds it, and its kernels hold the device */
    bool foreign;       /* not ours to unload */
    acu_user user;      /* of a foreign one */
    char *name;         /* NULL: not found by name */
    acui_point *point;  /* pending while it is LOADING: launches of its kernels wait there */
    pthread_mutex_t lock;      /* a leaf: changes of state, and: */
    struct acu_kernel *waiting; /* handles that were made while it was LOADING; not retained */
    struct acui_global *globals; /* variables that are buffers at the moment; the lock */
    _Atomic(uint32_t) global_count; /* of them; relaxed: who launches behind one knows of it */
    struct acu_module *next;   /* of device->modules; the device's lock */
    _Atomic(int) state; /* acui_load_state; release store, acquire load */
    acui_fault *fault;  /* why it FAILED; NULL also for lack of memory */
    CUmodule raw;
    acu_code *code; /* of CUDA C++, also if it failed; else NULL */
    acui_function *functions;
    size_t function_count;
    acui_bytes constants; /* names of __constant__ variables, as PTX tells them (bytes.h) */
    bool functions_known; /* else (a cubin, an older driver) they are resolved when asked for */
};

static inline acui_load_state acui_module_state(const acu_module *module)
{
    return (acui_load_state)atomic_load_explicit(&module->state, memory_order_acquire);
}

/* What a handle knows of the parameters; replaced as a whole by acu_kernel_declare. What is below
 * `state` is not there while that is LOADING. */
struct acu_kernel {
    acui_object object;
    acu_module *module; /* retained */
    pthread_mutex_t lock;
    struct acui_declared *declared; /* all that ever were, freed with the kernel; the lock */
    _Atomic(struct acui_declared *) early; /* the last one, while LOADING; release, acquire */
    struct acu_kernel *next_waiting; /* of module->waiting, while it waits there; its lock */
    bool waits, waited;   /* the first under that lock, the second fixed when it was made */
    _Atomic(int) state; /* acui_load_state; release store, acquire load */
    acui_fault *fault;  /* why it FAILED; NULL also for lack of memory */
    CUfunction raw;
    acu_kernel_info info;
    _Atomic(acui_param *) params; /* release store, acquire load; NULL: not known */
    acui_function *function; /* of the module; of a function resolved late: the kernel's own */
    bool own_function;
    char name[];
};

static inline acui_load_state acui_kernel_state(const acu_kernel *kernel)
{
    return (acui_load_state)atomic_load_explicit(&kernel->state, memory_order_acquire);
}

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
bool acui_ptx_next(const char *ptx, size_t bytes, size_t *at, acui_ptx_entry *entry,
                   acu_status *st);

/* Parameters of `.entry name` in PTX text; ACU_OK, NOT_FOUND, or NO_MEMORY. *params is the
 * caller's, from acui_alloc; NULL with a count of 0. */
acu_status acui_ptx_params(const char *ptx, size_t bytes, const char *name, acui_param **params,
                           size_t *count);

/* Fill in the facts of a function whose `name` and `raw` are set; parameters from the driver where
 * it tells and `params` is NULL, their sizes also where PTX told the
 * rest. The device is entered. */
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
/* The same checks, without a driver call. */
acu_status acui_kernel_config_check(const acu_kernel *kernel, acu_config *config);
/* As much of it as dynamic shared memory is about: so that who asks what a device holds is told of
 * what a launch would be. */
acu_status acui_kernel_allow_shared(acu_kernel *kernel, size_t dynamic);
/* It needs another call than cuLaunchKernel, and is in no graph. */
static inline bool acui_config_is_special(const acu_config *config)
{
    return config->cooperative || config->programmatic || config->cluster[0];
}
/* As much of it as the device alone tells, for a kernel that is being loaded. */
acu_status acui_kernel_config_early(const acu_kernel *kernel, acu_config *config);

/* ---- module.c ---- */
/* A module that is LOADING, and has its name; acui_module_end is due. BUSY, INVALID, NO_MEMORY. */
acu_status acui_module_new(acu_device *device, const char *name, bool built_in,
                           acu_module **module);
/* The load has ended, with the thread's record: kernels are bound, and who waits goes on. */
void acui_module_end(acu_module *module, acu_status status);
/* The same for who loaded it here: after success it is *result, else it is released. The status. */
acu_status acui_module_finish(acu_module *module, acu_status status, acu_module **result);
/* Give the record of a load that failed; NULL: there was no memory for it. */
acu_status acui_load_failure(const acui_fault *fault);
/* Bind the handle to its function; to the failure of `failed`, if that is not NULL. */
void acui_kernel_bind(acu_kernel *kernel, const acu_module *failed);

/* Give back so many references at once. */
void acui_kernel_release_some(acu_kernel *kernel, uint32_t count);

/* ---- globals.c ---- */
typedef struct acui_global_use {
    acu_buffer *buffer; /* retained */
    bool constant;
} acui_global_use;
/* Variables of the module that are buffers now, at most `room`. */
size_t acui_globals_take(acu_module *module, acui_global_use *uses, size_t room);
static inline size_t acui_globals_count(const acu_module *module)
{
    return atomic_load_explicit(&module->global_count, memory_order_relaxed);
}
/* Note the constants of PTX text; false for lack of memory. */
bool acui_globals_read(acu_module *module, const char *ptx);

/* The names of modules (registry.c). Taking one fails with BUSY; the module is not retained. */
acu_status acui_module_enter(acu_module *module);
void acui_module_leave(acu_module *module);

#endif
