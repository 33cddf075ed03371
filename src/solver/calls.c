/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuSOLVER as a library of vendor/: its symbols, its statuses, its handles; and its calls. */
#include "base/alloc.h"
#include "base/error.h"
#include "solver/cusolver.h"
#include "vendor/cublas.h"

typedef struct raw_handle *raw_handle;
typedef struct raw_params *raw_params;

#define BYTES size_t *device_bytes, size_t *host_bytes
#define MEMORY void *memory, size_t device_bytes, void *host, size_t host_bytes, int *info

/* The same for f32 and f64. */
#define WIDTHS(X, name, narrow, wide, symbol, parameters)                                          \
    X(s##name, narrow symbol, parameters) X(d##name, wide symbol, parameters)

/* X(field, symbol, parameters) */
#define CALLS(X)                                                                                   \
    X(property, "cusolverGetProperty", (int which, int *value))                                    \
    X(create, "cusolverDnCreate", (raw_handle *))                                                  \
    X(destroy, "cusolverDnDestroy", (raw_handle))                                                  \
    X(set_stream, "cusolverDnSetStream", (raw_handle, CUstream))                                   \
    X(create_params, "cusolverDnCreateParams", (raw_params *))                                     \
    X(destroy_params, "cusolverDnDestroyParams", (raw_params))                                     \
    X(potrf_bytes, "cusolverDnXpotrf_bufferSize",                                                  \
      (raw_handle, raw_params, int fill, int64_t n, int type, const void *a, int64_t lda,          \
       int compute, BYTES))                                                                        \
    X(potrf, "cusolverDnXpotrf",                                                                   \
      (raw_handle, raw_params, int fill, int64_t n, int type, void *a, int64_t lda, int compute,   \
       MEMORY))                                                                                    \
    X(potrs, "cusolverDnXpotrs",                                                                   \
      (raw_handle, raw_params, int fill, int64_t n, int64_t columns, int type, const void *a,      \
       int64_t lda, int b_type, void *b, int64_t ldb, int *info))                                  \
    X(getrf_bytes, "cusolverDnXgetrf_bufferSize",                                                  \
      (raw_handle, raw_params, int64_t m, int64_t n, int type, const void *a, int64_t lda,         \
       int compute, BYTES))                                                                        \
    X(getrf, "cusolverDnXgetrf",                                                                   \
      (raw_handle, raw_params, int64_t m, int64_t n, int type, void *a, int64_t lda,               \
       int64_t *pivots, int compute, MEMORY))                                                      \
    X(getrs, "cusolverDnXgetrs",                                                                   \
      (raw_handle, raw_params, int op, int64_t n, int64_t columns, int type, const void *a,        \
       int64_t lda, const int64_t *pivots, int b_type, void *b, int64_t ldb, int *info))           \
    X(geqrf_bytes, "cusolverDnXgeqrf_bufferSize",                                                  \
      (raw_handle, raw_params, int64_t m, int64_t n, int type, const void *a, int64_t lda,         \
       int tau_type, const void *tau, int compute, BYTES))                                         \
    X(geqrf, "cusolverDnXgeqrf",                                                                   \
      (raw_handle, raw_params, int64_t m, int64_t n, int type, void *a, int64_t lda, int tau_type, \
       void *tau, int compute, MEMORY))                                                            \
    WIDTHS(X, orgqr_bytes, "cusolverDnS", "cusolverDnD", "orgqr_bufferSize",                       \
      (raw_handle, int m, int n, int k, const void *a, int lda, const void *tau, int *elements))   \
    WIDTHS(X, orgqr, "cusolverDnS", "cusolverDnD", "orgqr",                                        \
      (raw_handle, int m, int n, int k, void *a, int lda, const void *tau, void *memory,           \
       int elements, int *info))                                                                   \
    X(gesvd_bytes, "cusolverDnXgesvd_bufferSize",                                                  \
      (raw_handle, raw_params, signed char u_job, signed char v_job, int64_t m, int64_t n,         \
       int type, const void *a, int64_t lda, int s_type, const void *s, int u_type, const void *u, \
       int64_t ldu, int v_type, const void *v, int64_t ldv, int compute, BYTES))                   \
    X(gesvd, "cusolverDnXgesvd",                                                                   \
      (raw_handle, raw_params, signed char u_job, signed char v_job, int64_t m, int64_t n,         \
       int type, void *a, int64_t lda, int s_type, void *s, int u_type, void *u, int64_t ldu,      \
       int v_type, void *v, int64_t ldv, int compute, MEMORY))                                     \
    X(syevd_bytes, "cusolverDnXsyevd_bufferSize",                                                  \
      (raw_handle, raw_params, int job, int fill, int64_t n, int type, const void *a, int64_t lda, \
       int w_type, const void *w, int compute, BYTES))                                             \
    X(syevd, "cusolverDnXsyevd",                                                                   \
      (raw_handle, raw_params, int job, int fill, int64_t n, int type, void *a, int64_t lda,       \
       int w_type, void *w, int compute, MEMORY))                                                  \
    WIDTHS(X, potrf_batched, "cusolverDnS", "cusolverDnD", "potrfBatched",                         \
      (raw_handle, int fill, int n, void **a, int lda, int *info, int batches))

static struct {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
} cusolver;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, parameters) {symbol, &cusolver.field},
    CALLS(ACU_X)
#undef ACU_X
};

static const acui_vendor_status statuses[] = {
    {1, ACU_ERR_DRIVER, "CUSOLVER_STATUS_NOT_INITIALIZED", "the library could not be initialized"},
    {2, ACU_ERR_DEVICE_MEMORY, "CUSOLVER_STATUS_ALLOC_FAILED",
     "no memory for what the library keeps itself"},
    {3, ACU_ERR_DRIVER, "CUSOLVER_STATUS_INVALID_VALUE", "an argument that it does not take"},
    {4, ACU_ERR_NOT_SUPPORTED, "CUSOLVER_STATUS_ARCH_MISMATCH",
     "the device is none that it supports"},
    {5, ACU_ERR_DRIVER, "CUSOLVER_STATUS_MAPPING_ERROR",
     "memory of the device could not be reached"},
    {6, ACU_ERR_DRIVER, "CUSOLVER_STATUS_EXECUTION_FAILED", "the device failed to execute it"},
    {7, ACU_ERR_DRIVER, "CUSOLVER_STATUS_INTERNAL_ERROR", "an operation inside the library failed"},
    {8, ACU_ERR_NOT_SUPPORTED, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
     "it does not support this kind of matrix"},
    {9, ACU_ERR_NOT_SUPPORTED, "CUSOLVER_STATUS_NOT_SUPPORTED", "it does not support this"},
    {31, ACU_ERR_DRIVER, "CUSOLVER_STATUS_INVALID_WORKSPACE", "temporary memory that is too small"},
};

static acu_status said(const char *call, int status)
{
    return acui_library_fail(&acui_library_CUSOLVER, call, status);
}

/* ---- handles --------------------------------------------------------------------------------- */

typedef struct handle {
    raw_handle raw;
    raw_params params;
} handle;

static void end(void *made)
{
    handle *h = made;
    if (h->params)
        cusolver.destroy_params(h->params);
    if (h->raw) {
        cusolver.set_stream(h->raw, NULL); /* the handle's last stream is gone */
        cusolver.destroy(h->raw);
    }
    acui_free(h);
}

static acu_status make(acu_device *device, const void *key, bool first, void **made)
{
    (void)device, (void)key, (void)first;
    handle *h = ACUI_NEW(handle);
    if (!h)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a handle of cuSOLVER");
    acu_status st = said("cusolverDnCreate", cusolver.create(&h->raw));
    if (st == ACU_OK)
        st = said("cusolverDnCreateParams", cusolver.create_params(&h->params));
    if (st != ACU_OK)
        end(h);
    else
        *made = h;
    return st;
}

acui_library acui_library_CUSOLVER = {
    .find = {.words = "cuSOLVER",
             .stem = "libcusolver.so",
             .names = {"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"}},
    .id = ACU_VENDOR_CUSOLVER,
    .oldest = 11,
    .with_12 = 12, /* 11 came with CUDA 11 and 12 */
    .with_13 = 12,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .statuses = statuses,
    .status_count = sizeof statuses / sizeof *statuses,
    .property = &cusolver.property,
    .make = make,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- calls ----------------------------------------------------------------------------------- */

#define AT(i) acui_vendor_at(work, (i))
enum { A, INFO, THIRD, FOURTH, FIFTH };

/* What a call is made with. */
typedef struct room {
    raw_handle raw;
    raw_params params;
    void *memory, *host;
    size_t bytes, host_bytes;
} room;

static acu_status begin(acui_vendor_work *work, room *r)
{
    const handle *h = work->handle;
    *r = (room){.raw = h->raw, .params = h->params};
    return said("cusolverDnSetStream", cusolver.set_stream(h->raw, work->stream));
}

static acu_status get_memory(acui_vendor_work *work, room *r)
{
    ACUI_TRY(acui_vendor_scratch(work, r->bytes, &r->memory));
    return acui_vendor_host_scratch(work, r->host_bytes, &r->host);
}

acu_status acui_potrf(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    room r;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(said("cusolverDnXpotrf_bufferSize",
                  cusolver.potrf_bytes(r.raw, r.params, s->fill, s->rows, s->type, AT(A), s->rows,
                                       s->type, &r.bytes, &r.host_bytes)));
    ACUI_TRY(get_memory(work, &r));
    return said("cusolverDnXpotrf",
                cusolver.potrf(r.raw, r.params, s->fill, s->rows, s->type, AT(A), s->rows, s->type,
                               r.memory, r.bytes, r.host, r.host_bytes, AT(INFO)));
}

/* `info` of the second step says only which argument was wrong, and goes nowhere. */
static acu_status no_info(acui_vendor_work *work, int **info)
{
    void *memory;
    acu_status st = acui_vendor_scratch(work, sizeof(int), &memory);
    *info = memory;
    return st;
}

acu_status acui_potrs(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    const handle *h = work->handle;
    int *info;
    ACUI_TRY(acui_potrf(work));
    ACUI_TRY(no_info(work, &info));
    return said("cusolverDnXpotrs",
                cusolver.potrs(h->raw, h->params, s->fill, s->rows, s->others, s->type, AT(A),
                               s->rows, s->type, AT(THIRD), s->rows, info));
}

static acu_status getrf(acui_vendor_work *work, int64_t *pivots)
{
    const acui_solver *s = work->data;
    room r;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(said("cusolverDnXgetrf_bufferSize",
                  cusolver.getrf_bytes(r.raw, r.params, s->rows, s->columns, s->type, AT(A),
                                       s->rows, s->type, &r.bytes, &r.host_bytes)));
    ACUI_TRY(get_memory(work, &r));
    return said("cusolverDnXgetrf",
                cusolver.getrf(r.raw, r.params, s->rows, s->columns, s->type, AT(A), s->rows,
                               pivots, s->type, r.memory, r.bytes, r.host, r.host_bytes, AT(INFO)));
}

acu_status acui_getrf(acui_vendor_work *work)
{
    return getrf(work, AT(THIRD));
}

acu_status acui_getrs(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    const handle *h = work->handle;
    void *pivots;
    int *info;
    ACUI_TRY(acui_vendor_scratch(work, (size_t)s->rows * sizeof(int64_t), &pivots));
    ACUI_TRY(getrf(work, pivots));
    ACUI_TRY(no_info(work, &info));
    return said("cusolverDnXgetrs",
                cusolver.getrs(h->raw, h->params, ACUI_CUBLAS_OP_T, s->rows, s->others, s->type,
                               AT(A), s->rows, pivots, s->type, AT(THIRD), s->rows, info));
}

acu_status acui_geqrf(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    room r;
    int *info;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(said("cusolverDnXgeqrf_bufferSize",
                  cusolver.geqrf_bytes(r.raw, r.params, s->rows, s->columns, s->type, AT(A),
                                       s->rows, s->type, AT(1), s->type, &r.bytes,
                                       &r.host_bytes)));
    ACUI_TRY(get_memory(work, &r));
    ACUI_TRY(no_info(work, &info));
    return said("cusolverDnXgeqrf",
                cusolver.geqrf(r.raw, r.params, s->rows, s->columns, s->type, AT(A), s->rows,
                               s->type, AT(1), s->type, r.memory, r.bytes, r.host, r.host_bytes,
                               info));
}

acu_status acui_orgqr(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    bool wide = s->type == ACUI_CUDA_R_64F;
    int m = (int)s->rows, k = (int)s->others, elements = 0, *info;
    room r;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(said(wide ? "cusolverDnDorgqr_bufferSize" : "cusolverDnSorgqr_bufferSize",
                  (wide ? cusolver.dorgqr_bytes : cusolver.sorgqr_bytes)(r.raw, m, k, k, AT(A), m,
                                                                         AT(1), &elements)));
    r.bytes = (size_t)elements * (wide ? 8 : 4);
    ACUI_TRY(get_memory(work, &r));
    ACUI_TRY(no_info(work, &info));
    return said(wide ? "cusolverDnDorgqr" : "cusolverDnSorgqr",
                (wide ? cusolver.dorgqr : cusolver.sorgqr)(r.raw, m, k, k, AT(A), m, AT(1),
                                                           r.memory, elements, info));
}

acu_status acui_gesvd(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    int64_t m = s->rows, n = s->columns;
    int type = s->type;
    room r;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(said("cusolverDnXgesvd_bufferSize",
                  cusolver.gesvd_bytes(r.raw, r.params, 'S', 'S', m, n, type, AT(A), m, type,
                                       AT(THIRD), type, AT(FOURTH), m, type, AT(FIFTH), n, type,
                                       &r.bytes, &r.host_bytes)));
    ACUI_TRY(get_memory(work, &r));
    return said("cusolverDnXgesvd",
                cusolver.gesvd(r.raw, r.params, 'S', 'S', m, n, type, AT(A), m, type, AT(THIRD),
                               type, AT(FOURTH), m, type, AT(FIFTH), n, type, r.memory, r.bytes,
                               r.host, r.host_bytes, AT(INFO)));
}

acu_status acui_syevd(acui_vendor_work *work)
{
    enum { WITH_VECTORS = 1 };
    const acui_solver *s = work->data;
    int64_t n = s->rows;
    int type = s->type;
    room r;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(said("cusolverDnXsyevd_bufferSize",
                  cusolver.syevd_bytes(r.raw, r.params, WITH_VECTORS, s->fill, n, type, AT(A), n,
                                       type, AT(THIRD), type, &r.bytes, &r.host_bytes)));
    ACUI_TRY(get_memory(work, &r));
    return said("cusolverDnXsyevd",
                cusolver.syevd(r.raw, r.params, WITH_VECTORS, s->fill, n, type, AT(A), n, type,
                               AT(THIRD), type, r.memory, r.bytes, r.host, r.host_bytes,
                               AT(INFO)));
}

/* ---- batches --------------------------------------------------------------------------------- */

/* A list on the device of where the matrices of value i begin; NULL where that fails. */
static acu_status list(acui_vendor_work *work, size_t i, int64_t elements, void ***where)
{
    const acui_solver *s = work->data;
    size_t bytes = (size_t)elements * (s->type == ACUI_CUDA_R_64F ? 8 : 4);
    CUdeviceptr *at = ACUI_NEW_ARRAY(CUdeviceptr, (size_t)s->batches);
    void *memory = NULL;
    *where = NULL;
    if (!at)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a list of %lld matrices",
                         (long long)s->batches);
    for (int64_t k = 0; k < s->batches; k++)
        at[k] = (uintptr_t)AT(i) + (uint64_t)k * bytes;
    acu_status st = acui_vendor_upload(work, at, (size_t)s->batches * sizeof *at, &memory);
    acui_free(at);
    *where = memory;
    return st;
}

acu_status acui_potrf_batched(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    bool wide = s->type == ACUI_CUDA_R_64F;
    int n = (int)s->rows;
    void **a;
    room r;
    ACUI_TRY(begin(work, &r));
    ACUI_TRY(list(work, A, s->rows * s->rows, &a));
    return said(wide ? "cusolverDnDpotrfBatched" : "cusolverDnSpotrfBatched",
                (wide ? cusolver.dpotrf_batched : cusolver.spotrf_batched)(
                    r.raw, s->fill, n, a, n, AT(INFO), (int)s->batches));
}

static acu_status getrf_batched(acui_vendor_work *work, void **a, int *pivots)
{
    const acui_solver *s = work->data;
    bool wide = s->type == ACUI_CUDA_R_64F;
    int n = (int)s->rows;
    ACUI_TRY(acui_cublas_fail("cublasSetStream",
                              acui_cublas.set_stream(work->handle, work->stream)));
    return acui_cublas_fail(wide ? "cublasDgetrfBatched" : "cublasSgetrfBatched",
                            (wide ? acui_cublas.dgetrf_batched : acui_cublas.sgetrf_batched)(
                                work->handle, n, a, n, pivots, AT(INFO), (int)s->batches));
}

acu_status acui_getrf_batched(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    void **a;
    ACUI_TRY(list(work, A, s->rows * s->rows, &a));
    return getrf_batched(work, a, AT(THIRD));
}

acu_status acui_getrs_batched(acui_vendor_work *work)
{
    const acui_solver *s = work->data;
    bool wide = s->type == ACUI_CUDA_R_64F;
    int n = (int)s->rows, wrong = 0;
    void **a, **b, *pivots;
    ACUI_TRY(list(work, A, s->rows * s->rows, &a));
    ACUI_TRY(list(work, THIRD, s->rows * s->others, &b));
    ACUI_TRY(acui_vendor_scratch(work, (size_t)(s->rows * s->batches) * sizeof(int), &pivots));
    ACUI_TRY(getrf_batched(work, a, pivots));
    return acui_cublas_fail(wide ? "cublasDgetrsBatched" : "cublasSgetrsBatched",
                            (wide ? acui_cublas.dgetrs_batched : acui_cublas.sgetrs_batched)(
                                work->handle, ACUI_CUBLAS_OP_T, n, (int)s->others,
                                (const void *const *)a, n, pivots, b, n, &wrong,
                                (int)s->batches));
}
