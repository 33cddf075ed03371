/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library that poses as a profiler's (NVTX_INJECTION64_PATH) and, built with FAKE_LIBRARY, as
 * CUDA's libnvToolsExt.so.1 instead. Writes down what it is told.
 */
#include "fake_nvtx.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

fake_nvtx_log fake_nvtx;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int depth;

fake_nvtx_log *fake_nvtx_read(void);
fake_nvtx_log *fake_nvtx_read(void)
{
    return &fake_nvtx;
}

static void note(char what, const char *name)
{
    pthread_mutex_lock(&lock);
    if (fake_nvtx.count < FAKE_NVTX_CALLS) {
        fake_nvtx.calls[fake_nvtx.count].what = what;
        snprintf(fake_nvtx.calls[fake_nvtx.count].name, FAKE_NVTX_NAME, "%s", name);
        fake_nvtx.count++;
    }
    fake_nvtx.unmatched += depth < 0;
    pthread_mutex_unlock(&lock);
}

int nvtxRangePushA(const char *name);
int nvtxRangePushA(const char *name)
{
    depth++;
    note('(', name);
    return depth - 1;
}

int nvtxRangePop(void);
int nvtxRangePop(void)
{
    depth--;
    note(')', "");
    return depth;
}

void nvtxNameCuStreamA(void *stream, const char *name);
void nvtxNameCuStreamA(void *stream, const char *name)
{
    note('s', stream ? name : "no stream");
}

#ifndef FAKE_LIBRARY
typedef void (*any_function)(void);

typedef struct callbacks {
    size_t size;
    int (*table)(int module, any_function ***functions, unsigned *count);
} callbacks;

typedef struct version {
    size_t size;
    uint32_t version, reserved;
    void (*set)(uint32_t);
} version;

int InitializeInjectionNvtx2(const void *(*tables)(uint32_t));
int InitializeInjectionNvtx2(const void *(*tables)(uint32_t))
{
    const callbacks *c = tables(1);
    const version *v = tables(3);
    any_function **core, **cuda, **other;
    unsigned cores, cudas, others;
    if (!c || c->size != sizeof *c || !v || v->version != 3 || tables(7))
        return 0;
    v->set(3);
    if (!c->table(1, &core, &cores) || cores != 16 || !c->table(2, &cuda, &cudas) || cudas != 9)
        return 0;
    for (int module = 3; module <= 6; module++) /* a tool writes into all that it knows */
        if (!c->table(module, &other, &others) || !other[1] || !other[others - 1] || other[others])
            return 0;
    if (c->table(0, &other, &others) || c->table(7, &other, &others))
        return 0;
    *core[9] = (any_function)nvtxRangePushA;
    *core[11] = (any_function)nvtxRangePop;
    *cuda[5] = (any_function)nvtxNameCuStreamA;
    fake_nvtx.attached = 1;
    return 1;
}
#endif
