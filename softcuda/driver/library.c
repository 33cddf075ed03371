/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Libraries: the text of a module, which is loaded into each context when something of it is first
 * needed there. A library's kernels are names; only a function of one belongs to a context.
 */
#include "driver/module.h"

#include "driver/errors.h"

#include <stdlib.h>
#include <string.h>

struct library;

typedef struct kernel {
    sd_object object;
    struct library *library; /* held */
    const sx_kernel *code;   /* in the library's own module, for names and parameters */
} kernel;

typedef struct loaded {
    struct loaded *next;
    void *context, *module; /* handles */
} loaded;

typedef struct library {
    sd_object object;
    char *text;
    size_t length;
    sx_module *code; /* belongs to no context: never launched */
    kernel *kernels; /* one for each of its kernels */
    size_t kernel_count;
    pthread_mutex_t lock; /* guards what follows */
    loaded *loaded;
} library;

/* ---- memory for the variables of a module that is never launched ---- */

static uint64_t alloc_host(void *owner, size_t bytes, size_t align)
{
    (void)owner;
    void *memory = NULL;
    return posix_memalign(&memory, align < 16 ? 16 : align, bytes) ? 0
                                                                   : (uint64_t)(uintptr_t)memory;
}

static void free_host(void *owner, uint64_t address)
{
    (void)owner;
    free((void *)(uintptr_t)address);
}

static char *host_pointer(void *owner, uint64_t address)
{
    (void)owner;
    return (char *)(uintptr_t)address;
}

/* ---- life ---- */

/* A kernel is in its library's array, which is freed when the last kernel was released. */
static void end_kernel(sd_object *object)
{
    sd_object_put(&((kernel *)object)->library->object);
}

static void destroy(sd_object *object)
{
    library *lib = (library *)object;
    if (lib->code)
        sx_module_unload(lib->code);
    while (lib->loaded) {
        loaded *gone = lib->loaded;
        lib->loaded = gone->next;
        free(gone);
    }
    pthread_mutex_destroy(&lib->lock);
    free(lib->kernels);
    free(lib->text);
    free(lib);
}

static void end_kernels(library *lib)
{
    for (size_t i = 0; i < lib->kernel_count; i++)
        if (lib->kernels[i].object.handle && sd_object_retire(&lib->kernels[i].object))
            sd_object_put(&lib->kernels[i].object);
}

static unsigned fill(library *lib, const void *image, size_t length)
{
    sx_allocator allocator = {lib, alloc_host, free_host, host_pointer};
    const char *text;
    unsigned result = sd_image_text(image, length, &text, &length, &lib->text);
    if (result)
        return result;
    lib->length = length;
    if (!lib->text)
        lib->text = strndup(text, length);
    if (!lib->text)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    result = sd_image_parse(lib->text, length, &allocator, &lib->code);
    if (result)
        return result;
    size_t count = sx_module_kernel_count(lib->code);
    lib->kernels = calloc(count ? count : 1, sizeof *lib->kernels);
    if (!lib->kernels)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < count; i++, lib->kernel_count++) {
        kernel *k = &lib->kernels[i];
        k->library = lib;
        k->code = sx_module_kernel_at(lib->code, i);
        if (!sd_object_publish(&k->object, SD_KIND_KERNEL, end_kernel))
            return ACU_CUDA_ERROR_OUT_OF_MEMORY;
        sd_object_hold(&lib->object);
    }
    return ACU_CUDA_SUCCESS;
}

static unsigned create(CUlibrary *handle, const void *image, size_t length, const sd_jit *jit)
{
    SD_ENTER();
    if (!handle || !image || (jit->count && (!jit->options || !jit->values)))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    library *lib = calloc(1, sizeof *lib);
    if (!lib)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&lib->lock, NULL);
    if (!sd_object_publish(&lib->object, SD_KIND_LIBRARY, destroy)) {
        destroy(&lib->object);
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    unsigned result = fill(lib, image, length);
    sd_jit_report(jit, result);
    if (result) {
        end_kernels(lib);
        sd_object_retire(&lib->object);
        sd_object_put(&lib->object);
        return result;
    }
    *handle = lib->object.handle;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuLibraryLoadData(CUlibrary *handle, const void *image, unsigned *jit_options,
                              void **jit_values, unsigned jit_count, unsigned *options,
                              void **values, unsigned count)
{
    (void)options;
    (void)values;
    (void)count;
    return create(handle, image, SIZE_MAX, &(sd_jit){jit_count, jit_options, jit_values});
}

unsigned sd_cuLibraryLoadFromFile(CUlibrary *handle, const char *path, unsigned *jit_options,
                                  void **jit_values, unsigned jit_count, unsigned *options,
                                  void **values, unsigned count)
{
    SD_ENTER();
    (void)options;
    (void)values;
    (void)count;
    char *text;
    size_t length;
    unsigned result = path ? sd_file_read(path, &text, &length) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    result = create(handle, text, length, &(sd_jit){jit_count, jit_options, jit_values});
    free(text);
    return result;
}

/* ---- looking up ---- */

static void leave(library **lib)
{
    if (*lib)
        sd_object_put(&(*lib)->object);
}

/* Declare `name`, the library of `handle`. */
#define SD_LIBRARY(name, handle) \
    SD_ENTER(); \
    __attribute__((cleanup(leave))) library *name = sd_object_get(SD_KIND_LIBRARY, handle); \
    if (!name) \
    return ACU_CUDA_ERROR_INVALID_HANDLE

/* The library of a kernel, with a reference, which keeps *found too. */
static unsigned find_kernel(CUkernel handle, kernel **found, library **lib)
{
    kernel *k = sd_object_get(SD_KIND_KERNEL, handle);
    if (!k)
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    sd_object_hold(&k->library->object);
    *lib = k->library;
    *found = k;
    sd_object_put(&k->object);
    return ACU_CUDA_SUCCESS;
}

/* The module in the context, loaded if necessary, with a reference. With lib->lock. */
static unsigned module_in(library *lib, sd_context *context, sd_module **module)
{
    for (loaded *l = lib->loaded; l; l = l->next)
        if (l->context == context->object.handle) {
            *module = sd_object_get(SD_KIND_MODULE, l->module);
            return *module ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
        }
    loaded *entry = malloc(sizeof *entry);
    if (!entry)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    unsigned result = sd_module_load(context, lib->text, lib->length, module);
    if (result) {
        free(entry);
        return result;
    }
    *entry = (loaded){lib->loaded, context->object.handle, (*module)->object.handle};
    lib->loaded = entry;
    sd_object_hold(&(*module)->object);
    return ACU_CUDA_SUCCESS;
}

static unsigned get_module(library *lib, sd_context *context, sd_module **module)
{
    pthread_mutex_lock(&lib->lock);
    unsigned result = module_in(lib, context, module);
    pthread_mutex_unlock(&lib->lock);
    return result;
}

unsigned sd_kernel_function(sd_context *context, CUkernel handle, sd_function **function)
{
    kernel *k;
    __attribute__((cleanup(leave))) library *lib = NULL;
    unsigned result = find_kernel(handle, &k, &lib);
    sd_module *module;
    if (!result)
        result = get_module(lib, context, &module);
    if (result)
        return result;
    result = sd_module_function(module, sx_module_kernel(module->code, sx_kernel_name(k->code)),
                                function);
    sd_object_put(&module->object);
    return result;
}

/* ---- entry points ---- */

unsigned sd_cuLibraryUnload(CUlibrary handle)
{
    SD_LIBRARY(lib, handle);
    if (!sd_object_retire(&lib->object))
        return ACU_CUDA_ERROR_INVALID_HANDLE;
    end_kernels(lib);
    pthread_mutex_lock(&lib->lock);
    for (loaded *l = lib->loaded; l; l = l->next) {
        sd_module *module = sd_object_get(SD_KIND_MODULE, l->module);
        if (!module)
            continue;
        sd_module_release(module);
        sd_object_put(&module->object);
    }
    pthread_mutex_unlock(&lib->lock);
    sd_object_put(&lib->object);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuLibraryGetKernel(CUkernel *handle, CUlibrary from, const char *name)
{
    SD_LIBRARY(lib, from);
    if (!handle || !name)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    const sx_kernel *code = sx_module_kernel(lib->code, name);
    for (size_t i = 0; code && i < lib->kernel_count; i++)
        if (lib->kernels[i].code == code) {
            *handle = lib->kernels[i].object.handle;
            return ACU_CUDA_SUCCESS;
        }
    return sd_kernel_missing(lib->code, name);
}

unsigned sd_cuLibraryGetKernelCount(unsigned *count, CUlibrary from)
{
    SD_LIBRARY(lib, from);
    if (!count)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *count = (unsigned)lib->kernel_count;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuLibraryEnumerateKernels(CUkernel *handles, unsigned count, CUlibrary from)
{
    SD_LIBRARY(lib, from);
    if (!handles)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && i < lib->kernel_count; i++)
        handles[i] = lib->kernels[i].object.handle;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuLibraryGetModule(CUmodule *handle, CUlibrary from)
{
    SD_CURRENT(context);
    SD_LIBRARY(lib, from);
    if (!handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_module *module;
    unsigned result = get_module(lib, context, &module);
    if (result)
        return result;
    *handle = module->object.handle;
    sd_object_put(&module->object);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary from,
                               const char *name)
{
    CUmodule module = NULL;
    unsigned result = sd_cuLibraryGetModule(&module, from);
    return result ? result : sd_cuModuleGetGlobal_v2(address, bytes, module, name);
}

unsigned sd_cuKernelGetFunction(CUfunction *handle, CUkernel from)
{
    SD_CURRENT(context);
    sd_function *function;
    unsigned result =
        handle ? sd_kernel_function(context, from, &function) : ACU_CUDA_ERROR_INVALID_VALUE;
    if (result)
        return result;
    *handle = function->object.handle;
    sd_object_put(&function->object);
    return ACU_CUDA_SUCCESS;
}

/* Declare `k`, the kernel of `handle`; it stays for this call. */
#define SD_KERNEL(k, handle) \
    SD_ENTER(); \
    kernel *k; \
    __attribute__((cleanup(leave))) library *k##_library = NULL; \
    do { \
        unsigned found_ = find_kernel(handle, &k, &k##_library); \
        if (found_) \
            return found_; \
    } while (0)

/* Of all that is asked about kernels, a GPU's driver wants a context for this. */
unsigned sd_cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *size)
{
    SD_CURRENT(context);
    SD_KERNEL(k, handle);
    return sd_kernel_param(sx_kernel_info_of(k->code), index, offset, size);
}

unsigned sd_cuKernelGetName(const char **name, CUkernel handle)
{
    if (!name || !handle)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    SD_KERNEL(k, handle);
    *name = sx_kernel_name(k->code);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuKernelGetLibrary(CUlibrary *from, CUkernel handle)
{
    SD_KERNEL(k, handle);
    if (!from)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *from = k->library->object.handle;
    return ACU_CUDA_SUCCESS;
}

/* Attributes of a kernel are those of its function in the current context. */

unsigned sd_cuKernelGetAttribute(int *value, unsigned attribute, CUkernel handle, CUdevice device)
{
    SD_CURRENT(context);
    __attribute__((cleanup(sd_function_leave))) sd_function *function = NULL;
    if (!value || context->device->ordinal != device)
        return value ? ACU_CUDA_ERROR_INVALID_DEVICE : ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned result = sd_kernel_function(context, handle, &function);
    return result ? result : sd_function_attribute(function, attribute, value);
}

unsigned sd_cuKernelSetAttribute(unsigned attribute, int value, CUkernel handle, CUdevice device)
{
    SD_CURRENT(context);
    __attribute__((cleanup(sd_function_leave))) sd_function *function = NULL;
    if (context->device->ordinal != device)
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    unsigned result = sd_kernel_function(context, handle, &function);
    return result ? result : sd_function_set_attribute(function, attribute, value);
}

unsigned sd_cuKernelSetCacheConfig(CUkernel handle, unsigned config, CUdevice device)
{
    SD_KERNEL(k, handle);
    if (!sd_device_at(device))
        return ACU_CUDA_ERROR_INVALID_DEVICE;
    return config > ACU_CU_FUNC_CACHE_PREFER_EQUAL ? ACU_CUDA_ERROR_INVALID_VALUE
                                                   : ACU_CUDA_SUCCESS;
}
