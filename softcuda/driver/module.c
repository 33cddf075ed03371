/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Modules: PTX text, possibly from a fat binary, is given to the executor; all other images are
 * refused, with a sentence. A module belongs to one context.
 */
#include "driver/module.h"

#include "driver/capture.h"
#include "driver/errors.h"
#include "driver/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- images ---- */

#define MAGIC_ELF 0x464c457fu /* cubin */
#define MAGIC_FATBIN 0xba55ed50u
#define MAGIC_WRAPPER 0x466243b1u /* what points to a fat binary in a program */

static unsigned text_of_ptx(const char *text, size_t length, size_t *text_length)
{
    *text_length = length == SIZE_MAX ? strlen(text) : strnlen(text, length);
    if (memmem(text, *text_length, ".version", 8))
        return ACU_CUDA_SUCCESS;
    sd_error_say("the module is %s: PTX text was expected, which begins with .version",
                 *text_length ? "no PTX" : "empty");
    return ACU_CUDA_ERROR_INVALID_IMAGE;
}

unsigned sd_image_text(const void *image, size_t length, const char **text, size_t *text_length,
                       char **owned)
{
    uint32_t magic = 0;
    *text = image;
    *owned = NULL;
    /* A text that ends early is not read past its end. */
    for (unsigned i = 0; i < 4 && i < length && (i == 0 || (*text)[i - 1]); i++)
        magic |= (uint32_t)(unsigned char)(*text)[i] << 8 * i;
    if (magic == MAGIC_WRAPPER && length == SIZE_MAX) { /* inside of a compiled program: its length
                                                         * is not known */
        uint32_t version = (unsigned char)(*text)[4];
        for (unsigned i = 5; i < 8 && (*text)[i - 1]; i++)
            version |= (uint32_t)(unsigned char)(*text)[i] << 8 * (i - 4);
        if (version != 1 && version != 2)
            return text_of_ptx(*text, length, text_length);
        memcpy(&image, *text + 8, sizeof image);
        memcpy(&magic, image, sizeof magic);
    }
    if (magic == MAGIC_FATBIN) {
        unsigned result = sd_fatbin_text(image, length, owned, text_length);
        *text = *owned;
        return result;
    }
    if (magic != MAGIC_ELF && magic != MAGIC_WRAPPER)
        return text_of_ptx(*text, length, text_length);
    sd_error_say("the module is a cubin, which holds machine code for a GPU: the software device "
                 "executes PTX text only; compile to PTX");
    return ACU_CUDA_ERROR_NO_BINARY_FOR_GPU;
}

/* Whether devices of this capability run PTX for that target: a suffix binds it to one capability
 * (a), or to those of one family (f). */
bool sd_target_fits(unsigned target, char suffix, unsigned sm)
{
    if (suffix == 'a')
        return target == sm;
    return target <= sm && (suffix != 'f' || target / 10 == sm / 10);
}

/* Unloads code for newer or other GPUs than the device, as a GPU's driver refuses it. */
static unsigned check_target(sx_module **code)
{
    char suffix;
    const unsigned target = sx_module_target(*code, &suffix), sm = sd.devices[0].sm;
    if (sd_target_fits(target, suffix, sm))
        return ACU_CUDA_SUCCESS;
    sd_error_say("the PTX is for sm_%u%.1s, and the device is an sm_%u: compile for that, or set "
                 "SOFTCUDA_SM=%u",
                 target, &suffix, sm, target);
    sx_module_unload(*code);
    *code = NULL;
    return ACU_CUDA_ERROR_INVALID_PTX;
}

unsigned sd_image_parse(const void *image, size_t length, const sx_allocator *allocator,
                        sx_module **code)
{
    const char *text;
    char *owned;
    unsigned result = sd_image_text(image, length, &text, &length, &owned);
    if (result)
        return result;
    sx_error error = {0};
    result = sx_module_load(text, length, allocator, code, &error);
    if (result)
        sd_error_say("%s", error.text);
    else
        result = check_target(code);
    free(owned);
    return result;
}

unsigned sd_file_read(const char *path, char **text, size_t *length)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return ACU_CUDA_ERROR_FILE_NOT_FOUND;
    unsigned result = ACU_CUDA_ERROR_OPERATING_SYSTEM;
    char *read = NULL;
    long size = 0;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 &&
        fseek(file, 0, SEEK_SET) == 0) {
        read = malloc((size_t)size + 1);
        result = read ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (read && fread(read, 1, (size_t)size, file) != (size_t)size)
        result = ACU_CUDA_ERROR_OPERATING_SYSTEM;
    fclose(file);
    if (result) {
        free(read);
        return result;
    }
    read[size] = '\0';
    *text = read;
    *length = (size_t)size;
    return ACU_CUDA_SUCCESS;
}

/* ---- memory for the module's variables ---- */

static uint64_t alloc_variable(void *owner, size_t bytes, size_t align)
{
    (void)align; /* blocks begin at multiples of 512, more than PTX can ask for */
    uint64_t address = 0;
    if (!sd_memory_alloc(owner, bytes, &address))
        sd_memory_written(address, 0, bytes); /* zeros, or what the module says */
    return address;
}

static void free_variable(void *owner, uint64_t address)
{
    sd_memory_free(((sd_context *)owner)->device, address);
}

static char *variable_pointer(void *owner, uint64_t address)
{
    return sd_device_pointer(((sd_context *)owner)->device, address);
}

/* ---- life ---- */

static void destroy(sd_object *object)
{
    sd_module *module = (sd_module *)object;
    sd_context *context = object->context;
    sx_module_unload(module->code);
    pthread_mutex_destroy(&module->lock);
    free(module->functions);
    free(module);
    sd_object_put(&context->object);
}

unsigned sd_module_load(sd_context *context, const void *image, size_t length, sd_module **made)
{
    sd_module *module = calloc(1, sizeof *module);
    if (!module)
        return ACU_CUDA_ERROR_OUT_OF_MEMORY;
    sx_allocator allocator = {context, alloc_variable, free_variable, variable_pointer};
    unsigned result = sd_image_parse(image, length, &allocator, &module->code);
    if (!result) {
        size_t count = sx_module_kernel_count(module->code);
        module->functions = calloc(count ? count : 1, sizeof *module->functions);
        pthread_mutex_init(&module->lock, NULL);
        if (!module->functions || !sd_object_publish(&module->object, SD_KIND_MODULE, destroy)) {
            sx_module_unload(module->code);
            free(module->functions);
            result = ACU_CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    if (result) {
        free(module);
        return result;
    }
    sd_context_adopt(context, &module->object);
    *made = module;
    return ACU_CUDA_SUCCESS;
}

bool sd_module_release(sd_module *module)
{
    size_t count = sx_module_kernel_count(module->code);
    sd_object_hold(&module->object);
    bool released = sd_context_release(&module->object);
    for (size_t i = 0; released && i < count; i++) {
        pthread_mutex_lock(&module->lock);
        sd_function *function = module->functions[i];
        module->functions[i] = NULL;
        if (function && !sd_object_try_hold(&function->object))
            function = NULL;
        pthread_mutex_unlock(&module->lock);
        if (!function)
            continue;
        sd_context_release(&function->object);
        sd_object_put(&function->object);
    }
    sd_object_put(&module->object);
    return released;
}

unsigned sd_kernel_missing(const sx_module *code, const char *name)
{
    const sx_error *refusal = sx_module_refusal(code, name);
    if (!refusal)
        return ACU_CUDA_ERROR_NOT_FOUND;
    sd_error_say("%s", refusal->text);
    return refusal->code;
}

/* ---- entry points ---- */

static void leave(sd_module **module)
{
    if (*module)
        sd_object_put(&(*module)->object);
}

static unsigned find(CUmodule handle, sd_module **module)
{
    *module = sd_object_get(SD_KIND_MODULE, handle);
    return *module ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
}

/* Declare `name`, the module of `handle`. */
#define SD_MODULE(name, handle) \
    SD_ANYWHERE(context); \
    __attribute__((cleanup(leave))) sd_module *name = NULL; \
    do { \
        unsigned found_ = find(handle, &name); \
        if (found_) \
            return found_; \
    } while (0)

static unsigned load(CUmodule *handle, const void *image, size_t length, const sd_jit *jit)
{
    SD_CURRENT(context);
    if (!handle || !image || (jit->count && (!jit->options || !jit->values)))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    sd_module *module;
    unsigned result = sd_module_load(context, image, length, &module);
    sd_jit_report(jit, result);
    if (!result)
        *handle = module->object.handle;
    return result;
}

unsigned sd_cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned count,
                               unsigned *options, void **values)
{
    return load(handle, image, SIZE_MAX, &(sd_jit){count, options, values});
}

unsigned sd_cuModuleLoadData(CUmodule *handle, const void *image)
{
    return load(handle, image, SIZE_MAX, &(sd_jit){0});
}

unsigned sd_cuModuleLoadFatBinary(CUmodule *handle, const void *image)
{
    return load(handle, image, SIZE_MAX, &(sd_jit){0});
}

unsigned sd_cuModuleLoad(CUmodule *handle, const char *path)
{
    SD_ENTER();
    if (!handle || !path)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    char *text;
    size_t length;
    unsigned result = sd_file_read(path, &text, &length);
    if (result)
        return result;
    result = load(handle, text, length, &(sd_jit){0});
    free(text);
    return result;
}

unsigned sd_cuModuleUnload(CUmodule handle)
{
    SD_MODULE(module, handle);
    SD_SAFE();
    return sd_module_release(module) ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_HANDLE;
}

unsigned sd_cuModuleGetFunction(CUfunction *handle, CUmodule from, const char *name)
{
    SD_MODULE(module, from);
    if (!handle || !name)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    const sx_kernel *kernel = sx_module_kernel(module->code, name);
    sd_function *function;
    unsigned result = kernel ? sd_module_function(module, kernel, &function)
                             : sd_kernel_missing(module->code, name);
    if (result)
        return result;
    *handle = function->object.handle;
    sd_object_put(&function->object);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule from,
                                 const char *name)
{
    SD_MODULE(module, from);
    uint64_t found;
    size_t size;
    if (!name)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    if (!sx_module_global(module->code, name, &found, &size)) /* a kernel's name counts too */
        return sx_module_kernel(module->code, name) || sx_module_refusal(module->code, name)
                   ? ACU_CUDA_ERROR_INVALID_VALUE
                   : ACU_CUDA_ERROR_NOT_FOUND;
    if (address)
        *address = found;
    if (bytes)
        *bytes = size;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuModuleGetLoadingMode(unsigned *mode)
{
    SD_ENTER();
    if (!mode)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *mode = ACU_CU_MODULE_EAGER_LOADING;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuModuleGetFunctionCount(unsigned *count, CUmodule from)
{
    SD_MODULE(module, from);
    if (!count)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *count = (unsigned)sx_module_kernel_count(module->code);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuModuleEnumerateFunctions(CUfunction *handles, unsigned count, CUmodule from)
{
    SD_MODULE(module, from);
    if (!handles)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    size_t kernels = sx_module_kernel_count(module->code);
    for (size_t i = 0; i < count && i < kernels; i++) {
        sd_function *function;
        unsigned result =
            sd_module_function(module, sx_module_kernel_at(module->code, i), &function);
        if (result)
            return result;
        handles[i] = function->object.handle;
        sd_object_put(&function->object);
    }
    return ACU_CUDA_SUCCESS;
}
