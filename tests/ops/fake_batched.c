/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LU in batches, of the library that poses as cuBLAS (fake_cublas.c). */
#include "../solver/lapack.h"
#include "../vendor/fake.h"
#include "fake_cublas.h"

enum { INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

typedef struct call {
    int type, n, columns, batches;
    void *a, *b, *pivots, *info;
} call;

/* Matrix i of a list on the device, in double; *at is where it lies. */
static double *take(fake_driver *d, const call *c, const void *list, int i, int n, void **at)
{
    char *from = fake_memory(d, list, (uint64_t)c->batches * 8);
    double *to = calloc((size_t)n, sizeof *to);
    *at = NULL;
    if (from)
        memcpy(at, from + 8 * i, sizeof *at);
    from = fake_memory(d, *at, (uint64_t)n * fake_size(c->type));
    for (int k = 0; from && k < n; k++)
        to[k] = fake_get(c->type, from, k);
    return to;
}

static void give(fake_driver *d, const call *c, void *at, double *from, int n)
{
    char *to = fake_memory(d, at, (uint64_t)n * fake_size(c->type));
    for (int k = 0; to && k < n; k++)
        fake_put(c->type, to, k, from[k]);
    free(from);
}

static void run_factor(fake_driver *d, const void *data)
{
    const call *c = data;
    char *pivots = fake_memory(d, c->pivots, (uint64_t)(c->batches * c->n) * sizeof(int));
    char *info = fake_memory(d, c->info, (uint64_t)c->batches * sizeof(int));
    for (int i = 0; pivots && info && i < c->batches; i++) {
        void *at;
        double *a = take(d, c, c->a, i, c->n * c->n, &at);
        int *made = calloc((size_t)c->n, sizeof *made);
        int result = lapack_getrf(a, c->n, c->n, made);
        memcpy(info + (size_t)i * sizeof(int), &result, sizeof result);
        memcpy(pivots + (size_t)(i * c->n) * sizeof(int), made, (size_t)c->n * sizeof(int));
        free(made);
        give(d, c, at, a, c->n * c->n);
    }
}

static void run_solve(fake_driver *d, const void *data)
{
    const call *c = data;
    char *pivots = fake_memory(d, c->pivots, (uint64_t)(c->batches * c->n) * sizeof(int));
    for (int i = 0; pivots && i < c->batches; i++) {
        void *at, *to;
        double *a = take(d, c, c->a, i, c->n * c->n, &at);
        double *b = take(d, c, c->b, i, c->n * c->columns, &to);
        int *made = calloc((size_t)c->n, sizeof *made);
        memcpy(made, pivots + (size_t)(i * c->n) * sizeof(int), (size_t)c->n * sizeof(int));
        lapack_getrs_transposed(a, c->n, made, b, c->columns);
        free(made);
        free(a);
        give(d, c, to, b, c->n * c->columns);
    }
}

static int enqueue(const void *handle, void (*run)(fake_driver *, const void *), const call *c,
                   bool right)
{
    fake_driver *d = fake_driver_of();
    int status = atomic_load(&d->fail_call);
    if (status)
        return status;
    atomic_fetch_add(&d->refused, !right);
    return right ? fake_enqueue(fake_cublas_stream(handle), run, c, sizeof *c, EXECUTION_FAILED)
                 : INVALID_VALUE;
}

#define WIDTH(letter, type_)                                                                       \
    int cublas##letter##getrfBatched(void *h, int n, void *const *a, int lda, int *pivots,         \
                                     int *info, int batches);                                      \
    int cublas##letter##getrfBatched(void *h, int n, void *const *a, int lda, int *pivots,         \
                                     int *info, int batches)                                       \
    {                                                                                              \
        call c = {.type = type_, .n = n, .batches = batches, .a = (void *)(uintptr_t)a,            \
                  .pivots = pivots, .info = info};                                                 \
        return enqueue(h, run_factor, &c, lda == n && n > 0 && batches > 0);                       \
    }                                                                                              \
    int cublas##letter##getrsBatched(void *h, int op, int n, int columns, const void *const *a,    \
                                     int lda, const int *pivots, void *const *b, int ldb,          \
                                     int *info, int batches);                                      \
    int cublas##letter##getrsBatched(void *h, int op, int n, int columns, const void *const *a,    \
                                     int lda, const int *pivots, void *const *b, int ldb,          \
                                     int *info, int batches)                                       \
    {                                                                                              \
        call c = {.type = type_, .n = n, .columns = columns, .batches = batches,                   \
                  .a = (void *)(uintptr_t)a, .b = (void *)(uintptr_t)b,                            \
                  .pivots = (void *)(uintptr_t)pivots};                                            \
        *info = 0; /* the host's */                                                                \
        return enqueue(h, run_solve, &c, op == 1 && lda == n && ldb == n && columns > 0);          \
    }

WIDTH(S, FAKE_R_32F)
WIDTH(D, FAKE_R_64F)
