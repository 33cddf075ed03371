/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The inside of modules and kernels. Both exist before they are loaded: most of their fields may be
 * read only once their `state` says LOADED.
 */
#ifndef ACUI_KERNEL_KERNEL_H
#define ACUI_KERNEL_KERNEL_H

#include "kernel/bytes.h"
#include "memory/access.h"

#include <acuda/kernel.h>

/* What is known of one parameter. */
typedef struct acui_param {
    uint32_t bytes; /* 0: not known (only for a declared parameter of a kernel about which neither
                     * PTX nor driver tells) */
    char type; /* from PTX: 'f' float, 'i' integer or bits (pointers too), 's' struct, 0 unknown */
    enum acui_want { /* as declared (acu_kernel_declare) */
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
    _Atomic(size_t) shared_allowed; /* dynamic shared memory that was opted into; 0: what every
                                     * kernel may have */
    _Atomic(uint64_t) held; /* limits.c: the last answer how many blocks a multiprocessor holds */
} acui_function;

typedef enum acui_load_state { ACUI_LOADING, ACUI_LOADED, ACUI_LOAD_FAILED } acui_load_state;

/* The fields below `state` belong to the loading thread until the state changes; then they are
 * fixed. */
struct acu_module {
    acui_object object;
    acu_device *device; /* retained, except by a built-in module */
    bool built_in;      /* the device holds the module, and its kernels hold the device */
    bool foreign;       /* wrapped: not ours to unload */
    acu_user user;      /* of a foreign module */
    char *name;         /* NULL: it can not be found by name */
    acui_point *point;  /* pending while it is LOADING: launches of its kernels wait there */
    pthread_mutex_t lock;      /* a leaf; for changes of state, and: */
    struct acu_kernel *waiting; /* handles that were made while it is LOADING; not retained */
    struct acui_global *globals; /* variables that are buffers at the moment; under the lock */
    _Atomic(uint32_t) global_count; /* how many; relaxed: whoever must launch behind one has seen
                                     * it */
    struct acu_module *next;   /* links kernel.modules; the device's lock */
    _Atomic(int) state; /* acui_load_state; release store, acquire load */
    char *said;         /* FAILED: what the compiler or the driver said about it; may be NULL */
    acui_fault *fault;  /* why it FAILED; NULL also if there was no memory */
    CUmodule raw;
    acu_code *code; /* if it was CUDA C++, even if that failed; else NULL */
    acui_function *functions;
    size_t function_count;
    acui_bytes constants; /* names of __constant__ variables, from the PTX (bytes.h) */
    bool some_refused;    /* kernels may be there that the driver can not run: ask it */
    bool functions_known; /* else (a cubin with an older driver) each is resolved when asked for */
};

static inline acui_load_state acui_module_state(const acu_module *module)
{
    return (acui_load_state)atomic_load_explicit(&module->state, memory_order_acquire);
}

/* A handle. What it knows of the parameters is replaced as a whole by acu_kernel_declare. The
 * fields below `state` must not be read while that is LOADING. */
struct acu_kernel {
    acui_object object;
    acu_module *module; /* retained */
    pthread_mutex_t lock;
    struct acui_declared *declared; /* everything that was ever declared, freed with the kernel;
                                     * under the lock */
    _Atomic(struct acui_declared *) early; /* the last one, while LOADING; release and acquire */
    struct acu_kernel *next_waiting; /* links module->waiting, while it waits there; the module's
                                      * lock */
    bool waits, waited;   /* `waits` under that lock; `waited` is fixed when the kernel is made */
    _Atomic(int) state; /* acui_load_state; release store, acquire load */
    acui_fault *fault;  /* why it FAILED; NULL also if there was no memory */
    CUfunction raw;
    acu_kernel_info info;
    _Atomic(acui_param *) params; /* stored with release, loaded with acquire; NULL: not known */
    acui_function *function; /* the module's; for a function that was resolved late, the kernel's
                              * own */
    bool own_function;
    char name[];
};

static inline acui_load_state acui_kernel_state(const acu_kernel *kernel)
{
    return (acui_load_state)atomic_load_explicit(&kernel->state, memory_order_acquire);
}

/* One .entry function of PTX text. */
typedef struct acui_ptx_entry {
    const char *name; /* points into the text */
    size_t length;
    acui_param *params; /* the caller's, from acui_alloc; NULL: there are none */
    size_t count;
    bool understood; /* false: its parameters could not be read */
} acui_ptx_entry;

/*
 * The next .entry from *at on, which moves behind it; false at the end of the text. Understands
 * comments, strings, alignment, arrays and .ptr attributes. *st: ACU_OK or NO_MEMORY.
 */
bool acui_ptx_next(const char *ptx, size_t bytes, size_t *at, acui_ptx_entry *entry,
                   acu_status *st);

/* Fill in the facts of a function whose `name` and `raw` are set. The driver tells the parameters,
 * if it can and `params` is NULL, and their sizes also if PTX told the rest. The caller has entered
 * the device. */
acu_status acui_function_read(acu_device *device, acui_function *function);

/* The module's code is loaded: find its functions. `ptx` is its text, NULL for a cubin. The caller
 * has entered the device. */
acu_status acui_functions_find(acu_module *module, const char *ptx, size_t bytes);
void acui_functions_free(acu_module *module);
/* "a, b, c", for messages. */
const char *acui_functions_words(const acu_module *module, char *text, size_t bytes);

/*
 * Replace zeros in `config` (block: 256 threads or the kernel's maximum) and check it against the
 * limits of kernel and device. Opts into more shared memory where needed (one driver call, once;
 * enters the device). Errors: LIMIT, naming the number and the limit.
 */
acu_status acui_kernel_config(acu_kernel *kernel, acu_config *config);
/* The same checks, without a driver call. */
acu_status acui_kernel_config_check(const acu_kernel *kernel, acu_config *config);
/* Only the part about dynamic shared memory, opting in included: so that whoever asks how many
 * blocks a device holds gets the answer for a launch. */
acu_status acui_kernel_allow_shared(acu_kernel *kernel, size_t dynamic);
/* The launch needs another call than cuLaunchKernel, and can not be in a graph. */
static inline bool acui_config_is_special(const acu_config *config)
{
    return config->cooperative || config->programmatic || config->cluster[0];
}
/* Only the checks that the device's limits allow, for a kernel that is being loaded. */
acu_status acui_kernel_config_early(const acu_kernel *kernel, acu_config *config);

/* ---- module.c ---- */
/* A module that is LOADING and has its name; the caller must call acui_module_end. BUSY, INVALID,
 * NO_MEMORY. */
acu_status acui_module_new(acu_device *device, const char *name, bool built_in,
                           acu_module **module);
/* The load has ended, with the thread's record if it failed: binds the kernels; then whoever waits
 * goes on. */
void acui_module_end(acu_module *module, acu_status status);
/* acui_module_end for a caller that loads it itself: on success the module becomes *result, else it
 * is released. Returns the status. */
acu_status acui_module_finish(acu_module *module, acu_status status, acu_module **result);

/* ---- kernel.c ---- */
/* Bind the handle to its function or, unless `failed` is NULL, to the failure of that module. */
void acui_kernel_bind(acu_kernel *kernel, const acu_module *failed);
/* Release `count` references at once. */
void acui_kernel_release_some(acu_kernel *kernel, uint32_t count);

/* ---- globals.c ---- */
typedef struct acui_global_use {
    acu_buffer *buffer; /* retained */
    bool constant;
} acui_global_use;
/* The variables of the module that are buffers now, at most `room`; returns how many. */
size_t acui_globals_take(acu_module *module, acui_global_use *uses, size_t room);
static inline size_t acui_globals_count(const acu_module *module)
{
    return atomic_load_explicit(&module->global_count, memory_order_relaxed);
}
/* Note the constants of PTX text; false: no memory. */
bool acui_globals_read(acu_module *module, const char *ptx);

/* ---- registry.c: the names of modules ---- */
/* A name that is taken: BUSY. The module is not retained. */
acu_status acui_module_enter(acu_module *module);
void acui_module_leave(acu_module *module);

#endif
