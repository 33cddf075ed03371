/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Entry points by name: by exact name, for programs that resolve symbols, or by base name and
 * version, for cuGetProcAddress. What is given out are fronts (front.c), except for calls that are
 * not supported.
 */
#include "driver/symbols.h"
#include "driver/calls.h"
#include "driver/context.h"
#include "driver/errors.h"
#include "driver/softcuda.h"

#include <string.h>

/* The CUDA version whose driver this one resembles. */
#define DRIVER_VERSION 13000

typedef void (*function)(void);

typedef struct symbol {
    const char *name;
    function call;
    int since;
} symbol;

static const symbol symbols[] = {
#define ACUDA(name, symbol, since, effect, kind, parameters, arguments) \
    {#symbol, (function)sdf_##symbol, since},
#define MORE(symbol, since, parameters, arguments) {#symbol, (function)sdf_##symbol, since},
#define OTHER(symbol, implementation, since) {#symbol, (function)sdf_##implementation, since},
#define REST(symbol, since) {#symbol, (function)sd_not_supported, since},
    SD_ACUDA_CALLS(ACUDA) SD_MORE_CALLS(MORE) SD_OTHER_NAMES(OTHER) SD_NOT_SUPPORTED(REST)
#undef ACUDA
#undef MORE
#undef OTHER
#undef REST
};

#define SYMBOLS (sizeof symbols / sizeof symbols[0])

/* ISO C has no conversion from a function to a void pointer; POSIX guarantees it. */
static void *as_pointer(function call)
{
    void *pointer;
    memcpy(&pointer, &call, sizeof pointer);
    return pointer;
}

unsigned sd_not_supported(void)
{
    return ACU_CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- by exact name ---- */

#define BUCKETS 2048u

static uint16_t buckets[BUCKETS]; /* index + 1 of a symbol, 0: empty; linear probing */
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static unsigned bucket_of(const char *name)
{
    unsigned hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % BUCKETS;
}

static void fill(void)
{
    for (unsigned i = 0; i < SYMBOLS; i++) {
        unsigned b = bucket_of(symbols[i].name);
        while (buckets[b])
            b = (b + 1) % BUCKETS;
        buckets[b] = (uint16_t)(i + 1);
    }
}

static const symbol *find(const char *name)
{
    pthread_once(&filled, fill);
    for (unsigned b = bucket_of(name); buckets[b]; b = (b + 1) % BUCKETS)
        if (strcmp(symbols[buckets[b] - 1].name, name) == 0)
            return &symbols[buckets[b] - 1];
    return NULL;
}

void *softcuda_symbol(const char *name)
{
    const symbol *found = name ? find(name) : NULL;
    return found ? as_pointer(found->call) : NULL;
}

/* ---- by base name and version ---- */

bool sd_is_form_of(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0)
        return false;
    const char *suffix = name + length;
    return !*suffix || (suffix[0] == '_' && suffix[1] == 'v' && suffix[2] >= '2' &&
                        suffix[2] <= '9' && !suffix[3]);
}

/* Forms whose symbol has another name than the one that programs ask for: since a version, CUDA's
 * header maps one to the other. */
static const struct {
    const char *base, *symbol;
    int since;
} renamed[] = {{"cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000}};

static const symbol *renamed_form(const char *base, int version)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(base, renamed[i].base) == 0 && version >= renamed[i].since)
            return find(renamed[i].symbol);
    return NULL;
}

/*
 * The newest form that exists in the version. One that is not supported counts too, and says so
 * when it is called: an older form in its place would take the caller's arguments for others.
 */
static const symbol *newest(const char *base, int version, unsigned *status)
{
    const symbol *best = NULL, *other = renamed_form(base, version);
    bool newer = false;
    for (size_t i = 0; i < SYMBOLS; i++) {
        const symbol *s = &symbols[i];
        if (!sd_is_form_of(s->name, base))
            continue;
        newer = newer || s->since > version;
        if (s->since <= version && (!best || s->since > best->since))
            best = s;
    }
    best = other ? other : best;
    *status = best    ? ACU_CU_GET_PROC_ADDRESS_SUCCESS
              : newer ? ACU_CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                      : ACU_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return best;
}

unsigned sd_cuGetProcAddress_v2(const char *base, void **pointer, int version, uint64_t flags,
                                unsigned *symbol_status)
{
    if (!base || !pointer || version <= 0 || version > DRIVER_VERSION ||
        flags > (ACU_CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                 ACU_CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
        return ACU_CUDA_ERROR_INVALID_VALUE;
    unsigned status;
    const symbol *found = newest(base, version, &status);
    *pointer = found ? as_pointer(found->call) : NULL;
    if (symbol_status)
        *symbol_status = status;
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuGetProcAddress(const char *base, void **pointer, int version, uint64_t flags)
{
    unsigned result = sd_cuGetProcAddress_v2(base, pointer, version, flags, NULL);
    return !result && !*pointer ? ACU_CUDA_ERROR_NOT_FOUND : result;
}

/* ---- what else needs no context ---- */

unsigned sd_cuDriverGetVersion(int *version)
{
    if (!version)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *version = DRIVER_VERSION;
    return ACU_CUDA_SUCCESS;
}

/*
 * The tables behind this are undocumented and change with each release, and one of them exists to
 * tell NVIDIA's driver from others. There are none here. So the CUDA run-time library, which needs
 * them, fails in an orderly way, and programs that only look go on without them.
 */
unsigned sd_cuGetExportTable(const void **table, const acu_CUuuid *id)
{
    if (!table || !id)
        return ACU_CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    char why[512]; /* asked before cuInit; that will say what is wrong with the setting */
    (void)sd_report_open(why, sizeof why);
    sd_error_say("the program asks for tables that NVIDIA does not document (cuGetExportTable), as "
                 "the CUDA run-time library does (\"named symbol not found\"): programs of that "
                 "library do not run on the software device, those of the driver API do");
    return ACU_CUDA_ERROR_NOT_FOUND;
}

unsigned sd_cuProfilerStart(void)
{
    SD_CURRENT(context);
    return ACU_CUDA_SUCCESS;
}

unsigned sd_cuProfilerStop(void)
{
    SD_CURRENT(context);
    return ACU_CUDA_SUCCESS;
}
