/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names and texts of results, and the sentence about the last fault. */
#include "driver/errors.h"

#include "driver/calls.h"
#include "driver/error_texts.h"
#include "driver/softcuda.h"
#include "driver/trace.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 640

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[TEXT_BYTES]; /* the process's, under the lock */
static FILE *report;          /* where sentences go, too; under the lock; never closed */

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
    if (report && strcmp(last, text) != 0) /* a program may try the same again and again */
        fprintf(report, "softcuda: %s\n", text);
    memcpy(last, text, sizeof last);
    pthread_mutex_unlock(&lock);
}

bool sd_report_open(char *why, size_t bytes)
{
    const char *name = secure_getenv("SOFTCUDA_REPORT");
    if (!name || !*name)
        return true;
    pthread_mutex_lock(&lock);
    if (!report && strcmp(name, "stderr") == 0)
        report = stderr;
    else if (!report)
        report = sd_file_open("SOFTCUDA_REPORT", name, why, bytes);
    const bool open = report != NULL;
    pthread_mutex_unlock(&lock);
    return open;
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

static const struct {
    unsigned result;
    const char *words;
} texts[] = {
#define TEXT(result, words) {ACU_##result, words},
    SD_ERROR_TEXTS(TEXT)
#undef TEXT
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
