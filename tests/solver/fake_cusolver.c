/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that poses as cuSOLVER for the software device, on lapack.c. It writes to its temporary
 * memory on both sides while the work is done, so that memory which is gone by then shows. */
#include "../vendor/fake.h"
#include "lapack.h"

enum { SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 3, EXECUTION_FAILED = 6 };
enum { SCRATCH = 256, HOST_SCRATCH = 96, ELEMENTS = 32 };

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct context {
    void *stream;
    _Atomic(bool) busy;
} context;

typedef enum what { POTRF, POTRS, GETRF, GETRS, GEQRF, ORGQR, GESVD, SYEVD } what;

typedef struct call {
    what what;
    int type, m, n, k, batches;
    bool upper;
    void *a, *b, *s, *u, *v;
    void **list;
    int64_t *pivots;
    int *info;
    void *memory, *host;
    size_t bytes;
} call;

#define BYTES size_t *device_bytes, size_t *host_bytes
#define MEMORY void *memory, size_t device_bytes, void *host, size_t host_bytes, int *info

int cusolverGetProperty(int which, int *value);
int cusolverDnCreate(context **handle);
int cusolverDnDestroy(context *handle);
int cusolverDnSetStream(context *handle, void *stream);
int cusolverDnCreateParams(void **params);
int cusolverDnDestroyParams(void *params);
int cusolverDnXpotrf_bufferSize(context *h, void *p, int fill, int64_t n, int type, const void *a,
                                int64_t lda, int compute, BYTES);
int cusolverDnXpotrf(context *h, void *p, int fill, int64_t n, int type, void *a, int64_t lda,
                     int compute, MEMORY);
int cusolverDnXpotrs(context *h, void *p, int fill, int64_t n, int64_t columns, int type,
                     const void *a, int64_t lda, int b_type, void *b, int64_t ldb, int *info);
int cusolverDnXgetrf_bufferSize(context *h, void *p, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int compute, BYTES);
int cusolverDnXgetrf(context *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, int compute, MEMORY);
int cusolverDnXgetrs(context *h, void *p, int op, int64_t n, int64_t columns, int type,
                     const void *a, int64_t lda, const int64_t *pivots, int b_type, void *b,
                     int64_t ldb, int *info);
int cusolverDnXgeqrf_bufferSize(context *h, void *p, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int tau_type, const void *tau, int compute, BYTES);
int cusolverDnXgeqrf(context *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int tau_type, void *tau, int compute, MEMORY);
int cusolverDnXgesvd_bufferSize(context *h, void *p, signed char u_job, signed char v_job,
                                int64_t m, int64_t n, int type, const void *a, int64_t lda,
                                int s_type, const void *s, int u_type, const void *u, int64_t ldu,
                                int v_type, const void *v, int64_t ldv, int compute, BYTES);
int cusolverDnXgesvd(context *h, void *p, signed char u_job, signed char v_job, int64_t m,
                     int64_t n, int type, void *a, int64_t lda, int s_type, void *s, int u_type,
                     void *u, int64_t ldu, int v_type, void *v, int64_t ldv, int compute, MEMORY);
int cusolverDnXsyevd_bufferSize(context *h, void *p, int job, int fill, int64_t n, int type,
                                const void *a, int64_t lda, int w_type, const void *w, int compute,
                                BYTES);
int cusolverDnXsyevd(context *h, void *p, int job, int fill, int64_t n, int type, void *a,
                     int64_t lda, int w_type, void *w, int compute, MEMORY);
#define EITHER(X) X(S, FAKE_R_32F) X(D, FAKE_R_64F)
#define DECLARE(letter, type)                                                                      \
    int cusolverDn##letter##orgqr_bufferSize(context *h, int m, int n, int k, const void *a,       \
                                             int lda, const void *tau, int *elements);             \
    int cusolverDn##letter##orgqr(context *h, int m, int n, int k, void *a, int lda,               \
                                  const void *tau, void *memory, int elements, int *info);         \
    int cusolverDn##letter##potrfBatched(context *h, int fill, int n, void **a, int lda,           \
                                         int *info, int batches);
EITHER(DECLARE)

int cusolverGetProperty(int which, int *value)
{
    static const int version[] = {12, 0, 4};
    if (which < 0 || which > 2)
        return INVALID_VALUE;
    *value = version[which];
    return SUCCESS;
}

int cusolverDnCreate(context **handle)
{
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    *handle = calloc(1, sizeof **handle);
    atomic_fetch_add(&fake.created, 1);
    return *handle ? SUCCESS : NOT_INITIALIZED;
}

int cusolverDnDestroy(context *handle)
{
    free(handle);
    atomic_fetch_add(&fake.destroyed, 1);
    return SUCCESS;
}

int cusolverDnSetStream(context *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

int cusolverDnCreateParams(void **params)
{
    *params = malloc(1);
    atomic_fetch_add(&fake.created, 1);
    return SUCCESS;
}

int cusolverDnDestroyParams(void *params)
{
    free(params);
    atomic_fetch_add(&fake.destroyed, 1);
    return SUCCESS;
}

/* ---- on the stream ---- */

/* The matrix in double. */
static double *take(fake_driver *d, const call *c, const void *at, int n)
{
    char *from = fake_memory(d, at, (uint64_t)n * fake_size(c->type));
    double *to = calloc((size_t)n + 1, sizeof *to);
    for (int i = 0; from && i < n; i++)
        to[i] = fake_get(c->type, from, i);
    return to;
}

static void give(fake_driver *d, const call *c, void *at, double *from, int n)
{
    char *to = fake_memory(d, at, (uint64_t)n * fake_size(c->type));
    for (int i = 0; to && i < n; i++)
        fake_put(c->type, to, i, from[i]);
    free(from);
}

static void put_info(fake_driver *d, int *at, int info)
{
    char *to = fake_memory(d, at, sizeof info);
    if (to)
        memcpy(to, &info, sizeof info);
}

static int solve(fake_driver *d, const call *c, const double *a)
{
    double *b = take(d, c, c->b, c->n * c->k);
    if (c->what == POTRS) {
        lapack_potrs(a, c->n, c->upper, b, c->k);
    } else {
        int *pivots = calloc((size_t)c->n, sizeof *pivots);
        char *from = fake_memory(d, c->pivots, (uint64_t)c->n * 8);
        for (int i = 0; from && i < c->n; i++) {
            int64_t wide;
            memcpy(&wide, from + 8 * i, sizeof wide);
            pivots[i] = wide >= 1 && wide <= c->n ? (int)wide : 1;
        }
        lapack_getrs_transposed(a, c->n, pivots, b, c->k);
        free(pivots);
    }
    give(d, c, c->b, b, c->n * c->k);
    return 0;
}

static int factor_lu(fake_driver *d, const call *c, double *a)
{
    int least = c->m < c->n ? c->m : c->n;
    int *pivots = calloc((size_t)least, sizeof *pivots);
    int info = lapack_getrf(a, c->m, c->n, pivots);
    char *to = fake_memory(d, c->pivots, (uint64_t)least * 8);
    for (int i = 0; to && i < least; i++) {
        int64_t wide = pivots[i];
        memcpy(to + 8 * i, &wide, sizeof wide);
    }
    free(pivots);
    return info;
}

static int factor_qr(fake_driver *d, const call *c, double *a)
{
    int least = c->what == ORGQR ? c->n : c->m < c->n ? c->m : c->n;
    double *tau = take(d, c, c->s, least);
    if (c->what == ORGQR)
        lapack_orgqr(a, c->m, c->n, tau);
    else
        lapack_geqrf(a, c->m, c->n, tau);
    give(d, c, c->s, tau, least);
    return 0;
}

static int decompose(fake_driver *d, const call *c, double *a)
{
    double *s = calloc((size_t)c->n, sizeof *s);
    int info;
    if (c->what == SYEVD) {
        info = lapack_syevd(a, c->n, c->upper, s);
    } else {
        double *u = calloc((size_t)(c->m * c->n), sizeof *u);
        double *v = calloc((size_t)(c->n * c->n), sizeof *v);
        info = lapack_gesvd(a, c->m, c->n, s, u, v);
        give(d, c, c->u, u, c->m * c->n);
        give(d, c, c->v, v, c->n * c->n);
    }
    give(d, c, c->s, s, c->n);
    return info;
}

static int do_one(fake_driver *d, const call *c, double *a)
{
    switch (c->what) {
    case POTRF:
        return lapack_potrf(a, c->n, c->upper);
    case POTRS:
    case GETRS:
        return solve(d, c, a);
    case GETRF:
        return factor_lu(d, c, a);
    case GEQRF:
    case ORGQR:
        return factor_qr(d, c, a);
    case GESVD:
    case SYEVD:
        break;
    }
    return decompose(d, c, a);
}

static void run(fake_driver *d, const void *data)
{
    const call *c = data;
    char *memory = c->bytes ? fake_memory(d, c->memory, c->bytes) : NULL;
    char *list = c->list ? fake_memory(d, c->list, (uint64_t)c->batches * 8) : NULL;
    if (memory)
        memset(memory, 0x5a, c->bytes);
    if (c->host)
        memset(c->host, 0x5a, HOST_SCRATCH);
    for (int i = 0; i < c->batches; i++) {
        void *at = c->a;
        if (list)
            memcpy(&at, list + 8 * i, sizeof at);
        double *a = take(d, c, at, c->m * c->n);
        put_info(d, c->info + i, do_one(d, c, a));
        give(d, c, at, a, c->m * c->n);
    }
}

static int enqueue(context *h, const call *c, bool right)
{
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    if (atomic_exchange(&h->busy, true))
        atomic_fetch_add(&fake.overlaps, 1);
    right &= c->m > 0 && c->n > 0 && (c->type == FAKE_R_32F || c->type == FAKE_R_64F);
    atomic_fetch_add(&fake.refused, !right);
    int status = right ? fake_enqueue(h->stream, run, c, sizeof *c, EXECUTION_FAILED)
                       : INVALID_VALUE;
    atomic_store(&h->busy, false);
    return status;
}

static int bytes(size_t *device_bytes, size_t *host_bytes)
{
    *device_bytes = SCRATCH;
    *host_bytes = HOST_SCRATCH;
    return SUCCESS;
}

static bool has_room(size_t device_bytes, const void *host, size_t host_bytes)
{
    return device_bytes == SCRATCH && host && host_bytes == HOST_SCRATCH;
}

/* ---- the calls ---- */

int cusolverDnXpotrf_bufferSize(context *h, void *p, int fill, int64_t n, int type, const void *a,
                                int64_t lda, int compute, BYTES)
{
    (void)h, (void)p, (void)fill, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return bytes(device_bytes, host_bytes);
}

int cusolverDnXpotrf(context *h, void *p, int fill, int64_t n, int type, void *a, int64_t lda,
                     int compute, MEMORY)
{
    call c = {.what = POTRF, .type = type, .m = (int)n, .n = (int)n, .batches = 1, .upper = fill,
              .a = a, .info = info, .memory = memory, .bytes = device_bytes, .host = host};
    return enqueue(h, &c, p && lda == n && compute == type &&
                              has_room(device_bytes, host, host_bytes));
}

int cusolverDnXpotrs(context *h, void *p, int fill, int64_t n, int64_t columns, int type,
                     const void *a, int64_t lda, int b_type, void *b, int64_t ldb, int *info)
{
    call c = {.what = POTRS, .type = type, .m = (int)n, .n = (int)n, .k = (int)columns,
              .batches = 1, .upper = fill, .a = (void *)(uintptr_t)a, .b = b, .info = info};
    return enqueue(h, &c, p && lda == n && ldb == n && b_type == type && columns > 0);
}

int cusolverDnXgetrf_bufferSize(context *h, void *p, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int compute, BYTES)
{
    (void)h, (void)p, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)compute;
    return bytes(device_bytes, host_bytes);
}

int cusolverDnXgetrf(context *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int64_t *pivots, int compute, MEMORY)
{
    call c = {.what = GETRF, .type = type, .m = (int)m, .n = (int)n, .batches = 1, .a = a,
              .pivots = pivots, .info = info, .memory = memory, .bytes = device_bytes,
              .host = host};
    return enqueue(h, &c, p && lda == m && compute == type &&
                              has_room(device_bytes, host, host_bytes));
}

int cusolverDnXgetrs(context *h, void *p, int op, int64_t n, int64_t columns, int type,
                     const void *a, int64_t lda, const int64_t *pivots, int b_type, void *b,
                     int64_t ldb, int *info)
{
    call c = {.what = GETRS, .type = type, .m = (int)n, .n = (int)n, .k = (int)columns,
              .batches = 1, .a = (void *)(uintptr_t)a, .b = b,
              .pivots = (int64_t *)(uintptr_t)pivots, .info = info};
    return enqueue(h, &c, p && op == 1 && lda == n && ldb == n && b_type == type && columns > 0);
}

int cusolverDnXgeqrf_bufferSize(context *h, void *p, int64_t m, int64_t n, int type, const void *a,
                                int64_t lda, int tau_type, const void *tau, int compute, BYTES)
{
    (void)h, (void)p, (void)m, (void)n, (void)type, (void)a, (void)lda, (void)tau_type;
    (void)tau, (void)compute;
    return bytes(device_bytes, host_bytes);
}

int cusolverDnXgeqrf(context *h, void *p, int64_t m, int64_t n, int type, void *a, int64_t lda,
                     int tau_type, void *tau, int compute, MEMORY)
{
    call c = {.what = GEQRF, .type = type, .m = (int)m, .n = (int)n, .batches = 1, .a = a,
              .s = tau, .info = info, .memory = memory, .bytes = device_bytes, .host = host};
    return enqueue(h, &c, p && lda == m && tau_type == type && compute == type &&
                              has_room(device_bytes, host, host_bytes));
}

int cusolverDnXgesvd_bufferSize(context *h, void *p, signed char u_job, signed char v_job,
                                int64_t m, int64_t n, int type, const void *a, int64_t lda,
                                int s_type, const void *s, int u_type, const void *u, int64_t ldu,
                                int v_type, const void *v, int64_t ldv, int compute, BYTES)
{
    (void)h, (void)p, (void)u_job, (void)v_job, (void)type, (void)a, (void)lda;
    (void)s_type, (void)s, (void)u_type, (void)u, (void)ldu, (void)v_type, (void)v, (void)ldv;
    (void)compute;
    return m >= n ? bytes(device_bytes, host_bytes) : INVALID_VALUE;
}

int cusolverDnXgesvd(context *h, void *p, signed char u_job, signed char v_job, int64_t m,
                     int64_t n, int type, void *a, int64_t lda, int s_type, void *s, int u_type,
                     void *u, int64_t ldu, int v_type, void *v, int64_t ldv, int compute, MEMORY)
{
    call c = {.what = GESVD, .type = type, .m = (int)m, .n = (int)n, .batches = 1, .a = a, .s = s,
              .u = u, .v = v, .info = info, .memory = memory, .bytes = device_bytes, .host = host};
    bool types = s_type == type && u_type == type && v_type == type && compute == type;
    return enqueue(h, &c, p && types && u_job == 'S' && v_job == 'S' && m >= n && lda == m &&
                              ldu == m && ldv == n && has_room(device_bytes, host, host_bytes));
}

int cusolverDnXsyevd_bufferSize(context *h, void *p, int job, int fill, int64_t n, int type,
                                const void *a, int64_t lda, int w_type, const void *w, int compute,
                                BYTES)
{
    (void)h, (void)p, (void)job, (void)fill, (void)n, (void)type, (void)a, (void)lda;
    (void)w_type, (void)w, (void)compute;
    return bytes(device_bytes, host_bytes);
}

int cusolverDnXsyevd(context *h, void *p, int job, int fill, int64_t n, int type, void *a,
                     int64_t lda, int w_type, void *w, int compute, MEMORY)
{
    call c = {.what = SYEVD, .type = type, .m = (int)n, .n = (int)n, .batches = 1, .upper = fill,
              .a = a, .s = w, .info = info, .memory = memory, .bytes = device_bytes, .host = host};
    return enqueue(h, &c, p && job == 1 && lda == n && w_type == type && compute == type &&
                              has_room(device_bytes, host, host_bytes));
}

static int orgqr(context *h, int type, int m, int k, void *a, int lda, const void *tau,
                 void *memory, int elements, int *info)
{
    call c = {.what = ORGQR, .type = type, .m = m, .n = k, .batches = 1, .a = a,
              .s = (void *)(uintptr_t)tau, .info = info, .memory = memory,
              .bytes = (size_t)elements * fake_size(type)};
    return enqueue(h, &c, lda == m && m >= k && elements == ELEMENTS);
}

static int potrf_batched(context *h, int type, int fill, int n, void **a, int lda, int *info,
                         int batches)
{
    call c = {.what = POTRF, .type = type, .m = n, .n = n, .batches = batches, .upper = fill,
              .list = a, .info = info};
    return enqueue(h, &c, lda == n && batches > 0);
}

#define DEFINE(letter, type)                                                                       \
    int cusolverDn##letter##orgqr_bufferSize(context *h, int m, int n, int k, const void *a,       \
                                             int lda, const void *tau, int *elements)              \
    {                                                                                              \
        (void)h, (void)m, (void)a, (void)lda, (void)tau;                                           \
        *elements = ELEMENTS;                                                                      \
        return n == k ? SUCCESS : INVALID_VALUE;                                                   \
    }                                                                                              \
    int cusolverDn##letter##orgqr(context *h, int m, int n, int k, void *a, int lda,               \
                                  const void *tau, void *memory, int elements, int *info)          \
    {                                                                                              \
        return n == k ? orgqr(h, type, m, k, a, lda, tau, memory, elements, info) : INVALID_VALUE; \
    }                                                                                              \
    int cusolverDn##letter##potrfBatched(context *h, int fill, int n, void **a, int lda,           \
                                         int *info, int batches)                                   \
    {                                                                                              \
        return potrf_batched(h, type, fill, n, a, lda, info, batches);                             \
    }
EITHER(DEFINE)
