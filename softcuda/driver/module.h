/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules, their functions, and libraries, which are modules of no particular context. An image is
 * parsed and checked when it is loaded: what is not valid is refused then, and a kernel that can
 * not be executed is refused when it is asked for.
 */
#ifndef SOFTCUDA_DRIVER_MODULE_H
#define SOFTCUDA_DRIVER_MODULE_H

#include "driver/context.h"

#include "exec/exec.h"

struct sd_function;

typedef struct sd_module {
    sd_object object;
    sx_module *code;
    pthread_mutex_t lock;           /* guards what follows */
    struct sd_function **functions; /* one for each kernel; made when first asked for */
} sd_module;

typedef struct sd_function {
    sd_object object;
    sd_module *module; /* held */
    const sx_kernel *kernel;
    const sx_kernel_info *info;
    _Atomic int max_dynamic; /* bytes of dynamic shared memory that a launch may ask for */
    _Atomic int carveout;
    _Atomic int not_portable; /* clusters may have sizes that not every device supports */
} sd_function;

/* Load the image into a context. `length` is SIZE_MAX for text that ends in NUL. A CUresult. */
unsigned sd_module_load(sd_context *context, const void *image, size_t length, sd_module **module);
/* Read a whole file into memory that the caller frees, with a NUL behind it. */
unsigned sd_file_read(const char *path, char **text, size_t *length);

/* Get the image's PTX. Returns 0, or why the image can not be loaded. The caller frees *owned,
 * which may be NULL. */
unsigned sd_image_text(const void *image, size_t length, const char **text, size_t *text_length,
                       char **owned);
/* The same for a fat binary. With `length` SIZE_MAX the size in its own header counts. The caller
 * frees *text. */
unsigned sd_fatbin_text(const void *image, size_t length, char **text, size_t *text_length);
/* Whether devices of compute capability `sm` run PTX for sm_TARGET, with suffix 'a', 'f' or 0. */
bool sd_target_fits(unsigned target, char suffix, unsigned sm);
/* Parse for this driver's devices; on failure the sentence says what was wrong. */
unsigned sd_image_parse(const void *image, size_t length, const sx_allocator *allocator,
                        sx_module **code);

/* Why the code has no kernel of that name: a CUresult, and the sentence where it can not run. */
unsigned sd_kernel_missing(const sx_module *code, const char *name);

/* End the handles of the module and of its functions. False: somebody else did. */
bool sd_module_release(sd_module *module);

/* The function for a kernel of the module, with a reference. A CUresult. */
unsigned sd_module_function(sd_module *module, const sx_kernel *kernel, sd_function **function);

/*
 * The function of a handle, with a reference: either a function, or a library's kernel, which means
 * its function in the current context.
 */
unsigned sd_function_find(sd_context *context, CUfunction handle, sd_function **function);
static inline void sd_function_leave(sd_function **function)
{
    if (*function)
        sd_object_put(&(*function)->object);
}

/* Declare `context`, as `ENTER` does, and `name`, the function of `handle`. */
#define SD_FUNCTION_BY(ENTER, name, handle) \
    ENTER(context); \
    __attribute__((cleanup(sd_function_leave))) sd_function *name = NULL; \
    do { \
        unsigned found_ = sd_function_find(context, handle, &name); \
        if (found_) \
            return found_; \
    } while (0)
/* With the current context, or NULL; with the current context, which there must be. */
#define SD_FUNCTION(name, handle) SD_FUNCTION_BY(SD_ANYWHERE, name, handle)
#define SD_FUNCTION_HERE(name, handle) SD_FUNCTION_BY(SD_CURRENT, name, handle)

/* A library's kernel as a function in the context, with a reference. */
unsigned sd_kernel_function(sd_context *context, CUkernel handle, sd_function **function);

/* Facts about functions, for calls that take functions and calls that take kernels. */
unsigned sd_function_attribute(const sd_function *function, unsigned attribute, int *value);
unsigned sd_function_set_attribute(sd_function *function, unsigned attribute, int value);
unsigned sd_kernel_param(const sx_kernel_info *info, size_t index, size_t *offset, size_t *size);

/* Blocks of the function that fit on one multiprocessor. */
unsigned sd_function_blocks(const sd_function *function, unsigned threads, size_t dynamic);

/* The options of a load, including the caller's logs. */
typedef struct sd_jit {
    unsigned count;
    const unsigned *options;
    void **values;
} sd_jit;
/* After loading, fill the caller's logs with what there is to say. */
void sd_jit_report(const sd_jit *jit, unsigned result);

#endif
