/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names and texts of results, and the sentence about the last fault. */
#include "driver/errors.h"

#include "driver/calls.h"
#include "driver/softcuda.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 640

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[TEXT_BYTES]; /* the process's, under the lock */

/* Each thread's copy, freed with the thread. Not thread-local storage, because a library that is
 * loaded by dlopen has little of that. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

static void make_key(void)
{
    have_key = pthread_key_create(&key, free) == 0;
}

static char *copy_of_thread(void)
{
    pthread_once(&once, make_key);
    char *copy = have_key ? pthread_getspecific(key) : NULL;
    if (have_key && !copy) {
        copy = malloc(TEXT_BYTES);
        if (copy && pthread_setspecific(key, copy) != 0) {
            free(copy);
            copy = NULL;
        }
    }
    return copy;
}

void sd_error_say(const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    memcpy(last, text, sizeof last);
    pthread_mutex_unlock(&lock);
}

const char *softcuda_last_error_text(void)
{
    char *copy = copy_of_thread();
    if (!copy)
        return "";
    pthread_mutex_lock(&lock);
    memcpy(copy, last, TEXT_BYTES);
    pthread_mutex_unlock(&lock);
    return copy;
}

static const char *name_of(unsigned result)
{
    switch (result) {
#define NAME(name, value) \
    case value: \
        return #name;
        ACU_ABI_RESULTS(NAME)
#undef NAME
    default:
        return NULL;
    }
}

unsigned sd_cuGetErrorName(unsigned result, const char **text)
{
    if (!text)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *text = name_of(result);
    return *text ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}

/* Words for the results that this driver gives; others are described by their name. */
static const struct {
    unsigned result;
    const char *words;
} texts[] = {
    {ACU_CUDA_SUCCESS, "no error"},
    {ACU_CUDA_ERROR_INVALID_VALUE, "invalid argument"},
    {ACU_CUDA_ERROR_OUT_OF_MEMORY, "out of memory"},
    {ACU_CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called in this process"},
    {ACU_CUDA_ERROR_NO_DEVICE, "no CUDA device was found"},
    {ACU_CUDA_ERROR_INVALID_DEVICE, "no such device"},
    {ACU_CUDA_ERROR_INVALID_IMAGE, "the module's image is not valid"},
    {ACU_CUDA_ERROR_INVALID_CONTEXT, "no context is current, or it is not valid"},
    {ACU_CUDA_ERROR_NO_BINARY_FOR_GPU, "the module has no PTX that this device can execute"},
    {ACU_CUDA_ERROR_UNSUPPORTED_LIMIT, "the limit is not supported"},
    {ACU_CUDA_ERROR_INVALID_PTX, "the PTX is not valid, or not supported by this device"},
    {ACU_CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported"},
    {ACU_CUDA_ERROR_FILE_NOT_FOUND, "file not found"},
    {ACU_CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
    {ACU_CUDA_ERROR_NOT_FOUND, "no such symbol"},
    {ACU_CUDA_ERROR_NOT_READY, "not finished yet"},
    {ACU_CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
    {ACU_CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"},
    {ACU_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"},
    {ACU_CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"},
    {ACU_CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context is destroyed"},
    {ACU_CUDA_ERROR_ASSERT, "a device-side assertion failed"},
    {ACU_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the host memory is already registered"},
    {ACU_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the host memory is not registered"},
    {ACU_CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"},
    {ACU_CUDA_ERROR_MISALIGNED_ADDRESS, "a misaligned address was accessed"},
    {ACU_CUDA_ERROR_INVALID_ADDRESS_SPACE, "an operation on the wrong address space"},
    {ACU_CUDA_ERROR_INVALID_PC, "an invalid program counter"},
    {ACU_CUDA_ERROR_LAUNCH_FAILED, "a kernel failed (trap)"},
    {ACU_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks for a cooperative launch"},
    {ACU_CUDA_ERROR_NOT_PERMITTED, "not permitted, as inside a host function"},
    {ACU_CUDA_ERROR_NOT_SUPPORTED, "not supported by this device"},
    {ACU_CUDA_ERROR_UNKNOWN, "unknown error"},
};

unsigned sd_cuGetErrorString(unsigned result, const char **text)
{
    if (!text)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *text = name_of(result);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].result == result)
            *text = texts[i].words;
    return *text ? ACU_CUDA_SUCCESS : ACU_CUDA_ERROR_INVALID_VALUE;
}
