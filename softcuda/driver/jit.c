/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The options of loading a module, of which only the logs mean something here; and the linker,
 * which is not there because it would make machine code.
 */
#include "driver/module.h"
#include "driver/softcuda.h"

#include <stdio.h>
#include <string.h>

static void **value_of(const sd_jit *jit, unsigned option)
{
    for (unsigned i = 0; i < jit->count; i++)
        if (jit->options[i] == option)
            return &jit->values[i];
    return NULL;
}

/* Writes `text` to a log; its size option then says how much was written. */
static void fill_log(const sd_jit *jit, unsigned buffer, unsigned size, const char *text)
{
    void **log = value_of(jit, buffer);
    void **bytes = value_of(jit, size);
    if (!bytes)
        return;
    size_t room = (size_t)(uint32_t)(uintptr_t)*bytes; /* an unsigned number, passed as a pointer */
    size_t length = strlen(text);
    if (log && *log && room) {
        size_t take = length < room - 1 ? length : room - 1;
        memcpy(*log, text, take);
        ((char *)*log)[take] = '\0';
        length = take;
    }
    *bytes = (void *)(uintptr_t)length;
}

void sd_jit_report(const sd_jit *jit, unsigned result)
{
    if (!jit->count)
        return;
    fill_log(jit, ACU_CU_JIT_INFO_LOG_BUFFER, ACU_CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, "");
    fill_log(jit, ACU_CU_JIT_ERROR_LOG_BUFFER, ACU_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
             result ? softcuda_last_error_text() : "");
    void **time = value_of(jit, ACU_CU_JIT_WALL_TIME);
    if (time) {
        float taken = 0; /* no time that could pass for a GPU's */
        memcpy(time, &taken, sizeof taken);
    }
}

unsigned sd_cuLinkCreate_v2(unsigned count, unsigned *options, void **values, CUlinkState *state)
{
    SD_CURRENT(context);
    (void)count;
    (void)options;
    (void)values;
    return state ? ACU_CUDA_ERROR_NOT_SUPPORTED : ACU_CUDA_ERROR_INVALID_VALUE;
}

/* No link can be in progress, so no handle of one is valid. */

unsigned sd_cuLinkAddData_v2(CUlinkState state, unsigned type, void *data, size_t size,
                             const char *name, unsigned count, unsigned *options, void **values)
{
    SD_CURRENT(context);
    (void)state;
    (void)type;
    (void)data;
    (void)size;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    return ACU_CUDA_ERROR_INVALID_HANDLE;
}

unsigned sd_cuLinkAddFile_v2(CUlinkState state, unsigned type, const char *path, unsigned count,
                             unsigned *options, void **values)
{
    return sd_cuLinkAddData_v2(state, type, NULL, 0, path, count, options, values);
}

unsigned sd_cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    SD_CURRENT(context);
    (void)state;
    (void)cubin;
    (void)size;
    return ACU_CUDA_ERROR_INVALID_HANDLE;
}

unsigned sd_cuLinkDestroy(CUlinkState state)
{
    return sd_cuLinkComplete(state, NULL, NULL);
}
