/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuFFT as a library of vendor/: its symbols, its statuses, its plans. */
#include "fft/cufft.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* X(field, symbol, parameters) */
#define CALLS(X)                                                                                   \
    X(property, "cufftGetProperty", (int which, int *value))                                       \
    X(create, "cufftCreate", (int *plan))                                                          \
    X(destroy, "cufftDestroy", (int plan))                                                         \
    X(set_allocation, "cufftSetAutoAllocation", (int plan, int on))                                \
    X(make, "cufftXtMakePlanMany",                                                                 \
      (int plan, int rank, long long *n, long long *in_embed, long long in_stride,                 \
       long long in_distance, int in_type, long long *out_embed, long long out_stride,             \
       long long out_distance, int out_type, long long batch, size_t *bytes, int type))            \
    X(set_stream, "cufftSetStream", (int plan, CUstream stream))                                   \
    X(set_area, "cufftSetWorkArea", (int plan, void *memory))                                      \
    X(run, "cufftXtExec", (int plan, void *from, void *to, int sign))

static struct {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
} cufft;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, parameters) {symbol, &cufft.field},
    CALLS(ACU_X)
#undef ACU_X
};

static const acui_vendor_status statuses[] = {
    {1, ACU_ERR_DRIVER, "CUFFT_INVALID_PLAN", "a plan that it does not know"},
    {2, ACU_ERR_DEVICE_MEMORY, "CUFFT_ALLOC_FAILED", "no memory for what the library keeps itself"},
    {3, ACU_ERR_DRIVER, "CUFFT_INVALID_TYPE", "a type that it does not know"},
    {4, ACU_ERR_DRIVER, "CUFFT_INVALID_VALUE", "an argument that it does not take"},
    {5, ACU_ERR_DRIVER, "CUFFT_INTERNAL_ERROR", "an operation inside the library failed"},
    {6, ACU_ERR_DRIVER, "CUFFT_EXEC_FAILED", "the device failed to execute it"},
    {7, ACU_ERR_DRIVER, "CUFFT_SETUP_FAILED", "the library could not be initialized"},
    {8, ACU_ERR_NOT_SUPPORTED, "CUFFT_INVALID_SIZE", "a size that it does not take"},
    {9, ACU_ERR_DRIVER, "CUFFT_UNALIGNED_DATA", "memory that is not aligned"},
    {0xB, ACU_ERR_DRIVER, "CUFFT_INVALID_DEVICE", "another device than the plan's"},
    {0xD, ACU_ERR_DEVICE_MEMORY, "CUFFT_NO_WORKSPACE", "no temporary memory"},
    {0xE, ACU_ERR_NOT_SUPPORTED, "CUFFT_NOT_IMPLEMENTED", "it does not have this"},
    {0x10, ACU_ERR_NOT_SUPPORTED, "CUFFT_NOT_SUPPORTED", "it does not support this"},
    {0x11, ACU_ERR_NOT_FOUND, "CUFFT_MISSING_DEPENDENCY",
     "a library that it needs is not here (nvJitLink or NVRTC)"},
    {0x12, ACU_ERR_DRIVER, "CUFFT_NVRTC_FAILURE", "NVRTC failed"},
    {0x13, ACU_ERR_DRIVER, "CUFFT_NVJITLINK_FAILURE", "nvJitLink failed"},
};

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct plan {
    int raw;
    size_t bytes; /* of temporary memory */
} plan;

static acu_status said(const char *call, int status)
{
    return acui_library_fail(&acui_library_CUFFT, call, status);
}

/* Elements along the last dimension, as they are in memory. */
static long long last_of(const acui_fft_key *key, int type, int other)
{
    bool complex = type >= ACUI_C_32F, other_complex = other >= ACUI_C_32F;
    long long n = key->n[key->rank - 1];
    return complex && !other_complex ? n / 2 + 1 : n;
}

static long long distance_of(const acui_fft_key *key, long long last)
{
    for (int i = 0; i + 1 < key->rank; i++)
        last *= key->n[i];
    return last;
}

static acu_status plan_raw(plan *p, const acui_fft_key *key)
{
    long long n[3], from[3], to[3];
    int complex = key->from >= ACUI_C_32F ? key->from : key->to;
    for (int i = 0; i < key->rank; i++)
        n[i] = from[i] = to[i] = key->n[i];
    from[key->rank - 1] = last_of(key, key->from, key->to);
    to[key->rank - 1] = last_of(key, key->to, key->from);
    ACUI_TRY(said("cufftSetAutoAllocation", cufft.set_allocation(p->raw, 0)));
    return said("cufftXtMakePlanMany",
                cufft.make(p->raw, key->rank, n, from, 1, distance_of(key, from[key->rank - 1]),
                           key->from, to, 1, distance_of(key, to[key->rank - 1]), key->to,
                           key->batch, &p->bytes, complex));
}

static void end(void *made)
{
    plan *p = made;
    cufft.destroy(p->raw);
    acui_free(p);
}

static acu_status make(acu_device *device, const void *key, bool first, void **made)
{
    (void)device, (void)first;
    acui_fft_key k;
    memcpy(&k, key, sizeof k);
    plan *p = ACUI_NEW(plan);
    if (!p)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a plan of cuFFT");
    acu_status st = said("cufftCreate", cufft.create(&p->raw));
    if (st != ACU_OK) {
        acui_free(p);
        return st;
    }
    st = plan_raw(p, &k);
    if (st != ACU_OK)
        end(p);
    else
        *made = p;
    return st;
}

acui_library acui_library_CUFFT = {
    .find = {.words = "cuFFT",
             .stem = "libcufft.so",
             .names = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10", "libcufft.so"}},
    .id = ACU_VENDOR_CUFFT,
    .oldest = 10,
    .with_12 = 11,
    .with_13 = 12,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .statuses = statuses,
    .status_count = sizeof statuses / sizeof *statuses,
    .property = &cufft.property,
    .keyed = true,
    .make = make,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- one transform --------------------------------------------------------------------------- */

acu_status acui_fft_run(acui_vendor_work *work)
{
    const plan *p = work->handle;
    const acui_fft *fft = work->data;
    void *memory;
    ACUI_TRY(acui_vendor_scratch(work, p->bytes, &memory));
    ACUI_TRY(said("cufftSetStream", cufft.set_stream(p->raw, work->stream)));
    if (memory)
        ACUI_TRY(said("cufftSetWorkArea", cufft.set_area(p->raw, memory)));
    return said("cufftXtExec", cufft.run(p->raw, acui_vendor_at(work, 1), acui_vendor_at(work, 0),
                                         fft->sign));
}
