/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * For libFuzzer (tools/nightly fuzz): any bytes as PTX text, or, behind a first byte of 0xff, as
 * what a fat binary is read from. Whatever they are, they are refused or load. Kernels are not run:
 * they could run for ever.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/module.h"
#include "exec/exec.h"

#define LARGEST ((size_t)64 << 20) /* of variables: memory is not what is looked for */

static uint64_t alloc_host(void *owner, size_t bytes, size_t align)
{
    (void)owner;
    void *memory = NULL;
    if (bytes > LARGEST || posix_memalign(&memory, align < 16 ? 16 : align, bytes))
        return 0;
    return (uint64_t)(uintptr_t)memory;
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

static void load(const char *text, size_t length)
{
    const sx_allocator allocator = {NULL, alloc_host, free_host, host_pointer};
    sx_module *module = NULL;
    sx_error error;
    if (sx_module_load(text, length, &allocator, &module, &error)) {
        if (!error.text[0])
            abort(); /* refused without a word */
        return;
    }
    for (size_t n = 0; n < sx_module_kernel_count(module); n++) {
        const sx_kernel *kernel = sx_module_kernel_at(module, n);
        if (sx_kernel_info_of(kernel)->max_threads > 1024 ||
            sx_module_refusal(module, sx_kernel_name(kernel)))
            abort();
    }
    sx_module_unload(module);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0 || data[0] != 0xff) {
        load((const char *)data, size);
        return 0;
    }
    char *copy = malloc(size); /* of just that size, so that reading on is noticed */
    const char *text;
    char *owned = NULL;
    size_t length;
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    if (size > 1 && sd_image_text(copy, size - 1, &text, &length, &owned) == 0)
        load(text, length);
    free(owned);
    free(copy);
    return 0;
}
