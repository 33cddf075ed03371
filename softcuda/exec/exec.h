/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The executor: runs PTX kernels on the CPU. This is all that the software driver calls of the
 * interpreter and the PTX front end.
 */
#ifndef SOFTCUDA_EXEC_EXEC_H
#define SOFTCUDA_EXEC_EXEC_H

#include "exec/space.h"

/* Why something failed, in the driver's own numbers (CUDA_ERROR_*) and in words. */
typedef struct sx_error {
    unsigned code;  /* CUresult: 218 invalid PTX, 700 illegal address, 716 misaligned, 715 illegal
                       instruction, 719 launch failure (trap), 1 invalid value, 2 out of memory */
    unsigned line;  /* line of the PTX text, 0 where none applies */
    char text[480]; /* one sentence that names kernel, PTX line, block, thread and address */
} sx_error;

typedef struct sx_module sx_module; /* loaded PTX; immutable, so threads share it */
typedef struct sx_kernel sx_kernel; /* one .entry; lives as long as its module */

/* Memory for the module's .global and .const variables comes from the driver. */
typedef struct sx_allocator {
    void *owner;
    uint64_t (*alloc)(void *owner, size_t bytes, size_t align); /* device address; 0: no memory */
    void (*free)(void *owner, uint64_t address);
    char *(*host)(void *owner,
                  uint64_t address); /* returns where the executor can write initial values */
} sx_allocator;

/*
 * Parse, check and decode `ptx`, `length` bytes that need not end in NUL. What is not valid PTX is
 * refused here, with its line. A kernel that the executor can not run is left out: see
 * sx_module_refusal. Returns 0 or a CUresult, the one in *error.
 */
unsigned sx_module_load(const char *ptx, size_t length, const sx_allocator *allocator,
                        sx_module **module, sx_error *error);
void sx_module_unload(sx_module *module);

const sx_kernel *sx_module_kernel(const sx_module *module, const char *name);
size_t sx_module_kernel_count(const sx_module *module);
const sx_kernel *sx_module_kernel_at(const sx_module *module, size_t index);
/* Why the module's kernel of that name can not run; NULL: it can, or there is none. */
const sx_error *sx_module_refusal(const sx_module *module, const char *name);
/* The number of .target, 90 for sm_90a, and its letter or 0. */
unsigned sx_module_target(const sx_module *module, char *suffix);
bool sx_module_global(const sx_module *module, const char *name, uint64_t *address, size_t *bytes);

const char *sx_kernel_name(const sx_kernel *kernel);

typedef struct sx_param {
    uint32_t offset, bytes; /* place in the parameter block, as cuFuncGetParamInfo tells */
} sx_param;

typedef struct sx_kernel_info {
    size_t param_count;
    const sx_param *params;
    size_t param_bytes;   /* size of the parameter block */
    size_t static_shared; /* bytes of .shared variables */
    size_t local;         /* bytes of .local memory per thread */
    size_t constant;      /* bytes of .const variables of the module */
    unsigned registers;   /* virtual registers, at most 255 reported */
    unsigned max_threads; /* from .maxntid / .reqntid, else 1024 */
    unsigned required[3]; /* .reqntid, zeros where absent */
    unsigned ptx_version; /* 75 for 7.5 */
    unsigned target;      /* 75 for sm_75 */
} sx_kernel_info;
const sx_kernel_info *sx_kernel_info_of(const sx_kernel *kernel);

typedef struct sx_launch {
    const sx_kernel *kernel;
    unsigned grid[3], block[3];
    size_t dynamic_shared;
    const void *params; /* the parameter block, info.param_bytes long */
    sx_space space;
    unsigned sm_count;
    const _Atomic(int) *stop; /* may be NULL; if it becomes non-zero, running blocks give up soon
                               * (719) */
    bool cooperative; /* blocks may wait for the whole grid, and get CUDA's grid workspace */
    bool races;       /* look for races in shared memory (719) */
} sx_launch;

/*
 * Run one launch to its end on the executor's worker threads, and return its outcome. Blocks of
 * launches that different threads make run side by side, and share the workers fairly.
 */
unsigned sx_run(const sx_launch *launch, sx_error *error);

#endif
