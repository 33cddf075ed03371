/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Levels 1 to 3 of the library that poses as cuBLAS (fake_cublas.c), in double, by the book. */
#include "../vendor/fake.h"
#include "fake_cublas.h"

enum { OK, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct call {
    int type, m, n, k, step[3];
    int op, side, fill, unit;
    double alpha, beta;
    void *at[3];
} call;

static void *stream_of(const void *handle)
{
    return fake_cublas_stream(handle);
}

static double scalar(int type, const void *at)
{
    return fake_get(type == FAKE_R_64F ? FAKE_R_64F : FAKE_R_32F, at, 0);
}

static int enqueue(const void *handle, void (*run)(fake_driver *, const void *), const call *c,
                   bool right)
{
    int status = atomic_load(&fake.fail_call);
    if (status)
        return status;
    if (!right || !fake_cublas_workspace(handle)) {
        atomic_fetch_add(&fake.refused, 1);
        return INVALID_VALUE;
    }
    return fake_enqueue(stream_of(handle), run, c, sizeof *c, EXECUTION_FAILED);
}

/* The memory of operand i: a vector of n, or a matrix of `columns` columns of `rows`. */
static char *vector(fake_driver *d, const call *c, int i, int n)
{
    return fake_memory(d, c->at[i], (uint64_t)((long long)(n - 1) * c->step[i] + 1) *
                                        fake_size(c->type));
}

static char *matrix(fake_driver *d, const call *c, int i, int rows, int columns)
{
    return fake_memory(d, c->at[i], (uint64_t)((long long)(columns - 1) * c->step[i] + rows) *
                                        fake_size(c->type));
}

/* ---- level 1 ---- */

static void run_axpy(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->n), *y = vector(d, c, 1, c->n);
    for (long long i = 0; x && y && i < c->n; i++)
        fake_put(c->type, y, i * c->step[1],
                 c->alpha * fake_get(c->type, x, i * c->step[0]) +
                     fake_get(c->type, y, i * c->step[1]));
}

static void run_scal(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->n);
    for (long long i = 0; x && i < c->n; i++)
        fake_put(c->type, x, i * c->step[0], c->alpha * fake_get(c->type, x, i * c->step[0]));
}

static double sum_of(const call *c, const char *x, const char *y)
{
    double sum = 0;
    for (long long i = 0; x && y && i < c->n; i++)
        sum += fake_get(c->type, x, i * c->step[0]) * fake_get(c->type, y, i * c->step[1]);
    return sum;
}

static void run_dot(fake_driver *d, const void *data)
{
    const call *c = data;
    char *to = vector(d, c, 2, 1);
    if (to)
        fake_put(c->type, to, 0, sum_of(c, vector(d, c, 0, c->n), vector(d, c, 1, c->n)));
}

static void run_nrm2(fake_driver *d, const void *data)
{
    const call *c = data;
    const char *x = vector(d, c, 0, c->n);
    char *to = vector(d, c, 2, 1);
    if (to)
        fake_put(c->type, to, 0, sqrt(sum_of(c, x, x)));
}

int cublasAxpyEx(void *h, int n, const void *alpha, int alpha_type, const void *x, int x_type,
                 int x_step, void *y, int y_type, int y_step, int sums);
int cublasScalEx(void *h, int n, const void *alpha, int alpha_type, void *x, int x_type,
                 int x_step, int sums);
int cublasDotEx(void *h, int n, const void *x, int x_type, int x_step, const void *y, int y_type,
                int y_step, void *result, int result_type, int sums);
int cublasNrm2Ex(void *h, int n, const void *x, int x_type, int x_step, void *result,
                 int result_type, int sums);

int cublasAxpyEx(void *h, int n, const void *alpha, int alpha_type, const void *x, int x_type,
                 int x_step, void *y, int y_type, int y_step, int sums)
{
    call c = {.type = x_type, .n = n, .step = {x_step, y_step},
              .alpha = scalar(alpha_type, alpha), .at = {(void *)(uintptr_t)x, y}};
    return enqueue(h, run_axpy, &c, y_type == x_type && sums == alpha_type && x_step > 0);
}

int cublasScalEx(void *h, int n, const void *alpha, int alpha_type, void *x, int x_type,
                 int x_step, int sums)
{
    call c = {.type = x_type, .n = n, .step = {x_step}, .alpha = scalar(alpha_type, alpha),
              .at = {x}};
    return enqueue(h, run_scal, &c, sums == alpha_type);
}

int cublasDotEx(void *h, int n, const void *x, int x_type, int x_step, const void *y, int y_type,
                int y_step, void *result, int result_type, int sums)
{
    (void)sums;
    call c = {.type = x_type, .n = n, .step = {x_step, y_step, 1},
              .at = {(void *)(uintptr_t)x, (void *)(uintptr_t)y, result}};
    return enqueue(h, run_dot, &c,
                   y_type == x_type && result_type == x_type && fake_cublas_pointers(h) == 1);
}

int cublasNrm2Ex(void *h, int n, const void *x, int x_type, int x_step, void *result,
                 int result_type, int sums)
{
    (void)sums;
    call c = {.type = x_type, .n = n, .step = {x_step, x_step, 1},
              .at = {(void *)(uintptr_t)x, (void *)(uintptr_t)x, result}};
    return enqueue(h, run_nrm2, &c, result_type == x_type && fake_cublas_pointers(h) == 1);
}

/* ---- level 2 ---- */

static double element(const call *c, int i, const char *x, int row, int column)
{
    return fake_get(c->type, x, (long long)column * c->step[i] + row);
}

static void run_gemv(fake_driver *d, const void *data)
{
    const call *c = data;
    int outs = c->op ? c->n : c->m, ins = c->op ? c->m : c->n;
    char *a = matrix(d, c, 0, c->m, c->n), *x = vector(d, c, 1, ins), *y = vector(d, c, 2, outs);
    for (int i = 0; a && x && y && i < outs; i++) {
        double sum = 0;
        long long at = (long long)i * c->step[2];
        for (int k = 0; k < ins; k++)
            sum += (c->op ? element(c, 0, a, k, i) : element(c, 0, a, i, k)) *
                   fake_get(c->type, x, (long long)k * c->step[1]);
        fake_put(c->type, y, at,
                 c->alpha * sum + (c->beta != 0 ? c->beta * fake_get(c->type, y, at) : 0));
    }
}

static void run_ger(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->m), *y = vector(d, c, 1, c->n), *a = matrix(d, c, 2, c->m, c->n);
    for (int j = 0; a && x && y && j < c->n; j++)
        for (int i = 0; i < c->m; i++)
            fake_put(c->type, a, (long long)j * c->step[2] + i,
                     element(c, 2, a, i, j) +
                         c->alpha * fake_get(c->type, x, (long long)i * c->step[0]) *
                             fake_get(c->type, y, (long long)j * c->step[1]));
}

/* ---- level 3 ---- */

static void run_syrk(fake_driver *d, const void *data)
{
    const call *c = data;
    char *a = c->op ? matrix(d, c, 0, c->k, c->n) : matrix(d, c, 0, c->n, c->k);
    char *to = matrix(d, c, 1, c->n, c->n);
    for (int j = 0; a && to && j < c->n; j++)
        for (int i = c->fill ? 0 : j; i < (c->fill ? j + 1 : c->n); i++) {
            double sum = 0, had = c->beta != 0 ? c->beta * element(c, 1, to, i, j) : 0;
            for (int k = 0; k < c->k; k++)
                sum += c->op ? element(c, 0, a, k, i) * element(c, 0, a, k, j)
                             : element(c, 0, a, i, k) * element(c, 0, a, j, k);
            fake_put(c->type, to, (long long)j * c->step[1] + i, c->alpha * sum + had);
        }
}

/* Solve t x = b for one vector, where t is a or, `turned`, a transposed. x[i] is at i * step. */
static void solve(const call *c, const char *a, bool turned, int order, char *b, long long first,
                  long long step)
{
    bool lower = (c->fill == 0) != turned;
    for (int at = 0; at < order; at++) {
        int i = lower ? at : order - 1 - at;
        double sum = c->alpha * fake_get(c->type, b, first + i * step);
        for (int done = 0; done < at; done++) {
            int k = lower ? done : order - 1 - done;
            sum -= (turned ? element(c, 0, a, k, i) : element(c, 0, a, i, k)) *
                   fake_get(c->type, b, first + k * step);
        }
        fake_put(c->type, b, first + i * step, c->unit ? sum : sum / element(c, 0, a, i, i));
    }
}

static void run_trsm(fake_driver *d, const void *data)
{
    const call *c = data;
    int order = c->side ? c->n : c->m;
    char *a = matrix(d, c, 0, order, order), *b = matrix(d, c, 1, c->m, c->n);
    for (int i = 0; a && b && i < (c->side ? c->m : c->n); i++)
        solve(c, a, c->op != c->side, order, b, c->side ? i : (long long)i * c->step[1],
              c->side ? c->step[1] : 1);
}

/* ---- both widths ---- */

#define WIDTH(letter, type_)                                                                       \
    int cublas##letter##gemv_v2(void *h, int op, int m, int n, const void *alpha, const void *a,   \
                                int lda, const void *x, int x_step, const void *beta, void *y,     \
                                int y_step);                                                       \
    int cublas##letter##gemv_v2(void *h, int op, int m, int n, const void *alpha, const void *a,   \
                                int lda, const void *x, int x_step, const void *beta, void *y,     \
                                int y_step)                                                        \
    {                                                                                              \
        call c = {.type = type_, .op = op, .m = m, .n = n, .step = {lda, x_step, y_step},          \
                  .alpha = scalar(type_, alpha), .beta = scalar(type_, beta),                      \
                  .at = {(void *)(uintptr_t)a, (void *)(uintptr_t)x, y}};                          \
        return enqueue(h, run_gemv, &c, lda >= m && x_step > 0 && y_step > 0);                     \
    }                                                                                              \
    int cublas##letter##ger_v2(void *h, int m, int n, const void *alpha, const void *x,            \
                               int x_step, const void *y, int y_step, void *a, int lda);           \
    int cublas##letter##ger_v2(void *h, int m, int n, const void *alpha, const void *x,            \
                               int x_step, const void *y, int y_step, void *a, int lda)            \
    {                                                                                              \
        call c = {.type = type_, .m = m, .n = n, .step = {x_step, y_step, lda},                    \
                  .alpha = scalar(type_, alpha),                                                   \
                  .at = {(void *)(uintptr_t)x, (void *)(uintptr_t)y, a}};                          \
        return enqueue(h, run_ger, &c, lda >= m);                                                  \
    }                                                                                              \
    int cublas##letter##syrk_v2(void *h, int fill, int op, int n, int k, const void *alpha,        \
                                const void *a, int lda, const void *beta, void *to, int ldc);      \
    int cublas##letter##syrk_v2(void *h, int fill, int op, int n, int k, const void *alpha,        \
                                const void *a, int lda, const void *beta, void *to, int ldc)       \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .op = op, .n = n, .k = k, .step = {lda, ldc},       \
                  .alpha = scalar(type_, alpha), .beta = scalar(type_, beta),                      \
                  .at = {(void *)(uintptr_t)a, to}};                                               \
        return enqueue(h, run_syrk, &c, lda >= (op ? k : n) && ldc >= n);                          \
    }                                                                                              \
    int cublas##letter##trsm_v2(void *h, int side, int fill, int op, int unit, int m, int n,       \
                                const void *alpha, const void *a, int lda, void *b, int ldb);      \
    int cublas##letter##trsm_v2(void *h, int side, int fill, int op, int unit, int m, int n,       \
                                const void *alpha, const void *a, int lda, void *b, int ldb)       \
    {                                                                                              \
        call c = {.type = type_, .side = side, .fill = fill, .op = op, .unit = unit, .m = m,       \
                  .n = n, .step = {lda, ldb}, .alpha = scalar(type_, alpha),                       \
                  .at = {(void *)(uintptr_t)a, b}};                                                \
        return enqueue(h, run_trsm, &c, lda >= (side ? n : m) && ldb >= m);                        \
    }

WIDTH(S, FAKE_R_32F)
WIDTH(D, FAKE_R_64F)
