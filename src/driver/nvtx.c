/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * NVTX by two interfaces. A profiler's library gets tables of locations, into which it writes its
 * functions (the interface of NVTX 3 between programs and tools). An NVTX library of CUDA 12 and
 * older exports the functions as symbols.
 */
#include "driver/nvtx.h"

#include "base/trust.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*any_function)(void);

/* The modules that a tool may ask for: name, and number of functions including the unused slot
 * 0. */
#define NVTX_MODULES(X) X(CORE, 16) X(CUDA, 9) X(OPENCL, 15) X(CUDART, 7) X(CORE2, 16) X(SYNC, 7)

enum { MODULE_INVALID, MODULE_CORE, MODULE_CUDA, MODULE_OPENCL, MODULE_CUDART, MODULE_CORE2,
       MODULE_SYNC, MODULES };
enum { CORE_RANGE_PUSH = 9, CORE_RANGE_POP = 11, CUDA_NAME_STREAM = 5 }; /* the "A" variants */
enum { TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { LONGEST = 16 };

_Atomic(bool) acui_nvtx_on;

static any_function functions[MODULES][LONGEST];          /* NULL: the tool is not interested */
static any_function *places[MODULES][LONGEST + 1];        /* their addresses, which tools get */

static int (*range_push)(const char *);
static int (*range_pop)(void);
static void (*name_stream)(void *, const char *);

/* ---- what a tool asks for ---- */

static int module_table(int module, any_function ***table, unsigned *size)
{
    static const unsigned sizes[MODULES] = {
#define ACU_X(name, n) [MODULE_##name] = n,
        NVTX_MODULES(ACU_X)
#undef ACU_X
    };
    if (module <= MODULE_INVALID || module >= MODULES)
        return 0;
    for (unsigned i = 1; i < sizes[module]; i++)
        places[module][i] = &functions[module][i];
    if (table)
        *table = places[module];
    if (size)
        *size = sizes[module];
    return 1;
}

static void tool_version(uint32_t version)
{
    (void)version;
}

static const void *export_table(uint32_t id)
{
    static const struct {
        size_t size;
        int (*module_table)(int, any_function ***, unsigned *);
    } callbacks = {sizeof callbacks, module_table};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set)(uint32_t);
    } version = {sizeof version, 3, 0, tool_version};
    return id == TABLE_CALLBACKS ? (const void *)&callbacks
           : id == TABLE_VERSION ? (const void *)&version
                                 : NULL;
}

/* ---- loading ---- */

/* A symbol as a function pointer, for which C has no cast. */
static any_function symbol(void *library, const char *name)
{
    void *data = dlsym(library, name);
    any_function function;
    memcpy(&function, &data, sizeof function);
    return function;
}

static bool load_tool(const char *path)
{
    void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    if (!library)
        return false;
    int (*begin)(const void *(*)(uint32_t)) =
        (int (*)(const void *(*)(uint32_t)))symbol(library, "InitializeInjectionNvtx2");
    if (!begin || !begin(export_table)) {
        dlclose(library);
        return false;
    }
    range_push = (int (*)(const char *))functions[MODULE_CORE][CORE_RANGE_PUSH];
    range_pop = (int (*)(void))functions[MODULE_CORE][CORE_RANGE_POP];
    name_stream = (void (*)(void *, const char *))functions[MODULE_CUDA][CUDA_NAME_STREAM];
    return true;
}

static bool load_library(const char *path)
{
    char why[ACUI_DISTRUST];
    if (strchr(path, '/') && !acui_is_trusted(path, why))
        return false;
    void *library = dlopen(path, RTLD_LAZY);
    if (!library)
        return false;
    range_push = (int (*)(const char *))symbol(library, "nvtxRangePushA");
    range_pop = (int (*)(void))symbol(library, "nvtxRangePop");
    name_stream = (void (*)(void *, const char *))symbol(library, "nvtxNameCuStreamA");
    return range_push && range_pop;
}

static void load_once(void)
{
    const char *asked = secure_getenv("ACUDA_NVTX");
    if (asked && strcmp(asked, "0") == 0)
        return;
    bool on = load_tool(secure_getenv("NVTX_INJECTION64_PATH"));
    if (!on && asked && *asked)
        on = load_library(strcmp(asked, "1") == 0 ? "libnvToolsExt.so.1" : asked);
    if (!range_push || !range_pop)
        range_push = NULL; /* push and pop are of use only together */
    atomic_store_explicit(&acui_nvtx_on, on, memory_order_release);
}

void acui_nvtx_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
}

/* ---- telling ---- */

void acui_nvtx_push_named(const char *name)
{
    if (range_push)
        range_push(name);
}

void acui_nvtx_push_counted(const char *name, size_t count)
{
    char text[96];
    if (count > 1)
        snprintf(text, sizeof text, "%s and %zu more", name, count - 1);
    acui_nvtx_push_named(count > 1 ? text : name);
}

void acui_nvtx_pop_named(void)
{
    if (range_push)
        range_pop();
}

void acui_nvtx_stream_named(CUstream stream, const char *name)
{
    if (name_stream)
        name_stream(stream, name);
}
