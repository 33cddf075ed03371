/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Levels 1 to 3 of the library that poses as cuBLAS (fake_cublas.c), in complex double, by the
 * book. */
#include "../vendor/fake.h"
#include "fake_cublas.h"

#include <complex.h>

enum { OK, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };
enum { C_32F = 4, C_64F = 5 };

typedef double complex number;

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct call {
    int type, result, m, n, k, step[3];
    int op, side, fill, unit;
    bool conjugated;
    number alpha, beta;
    void *at[3];
} call;

/* ---- numbers ---- */

static int part_of(int type)
{
    return type == C_32F ? FAKE_R_32F : type == C_64F ? FAKE_R_64F : type;
}

static bool is_whole(int type)
{
    return type == C_32F || type == C_64F;
}

static number get(int type, const char *base, long long i)
{
    int part = part_of(type);
    if (!is_whole(type))
        return fake_get(part, base, i);
    return fake_get(part, base, 2 * i) + I * fake_get(part, base, 2 * i + 1);
}

static void put(int type, char *base, long long i, number value)
{
    int part = part_of(type);
    if (!is_whole(type)) {
        fake_put(part, base, i, creal(value));
        return;
    }
    fake_put(part, base, 2 * i, creal(value));
    fake_put(part, base, 2 * i + 1, cimag(value));
}

static size_t size_of(int type)
{
    return fake_size(part_of(type)) * (is_whole(type) ? 2 : 1);
}

/* The real library reads a complex number at once, and crashes if it is not aligned. */
static number scalar(int type, const void *at)
{
    if (is_whole(type) && (uintptr_t)at % (type == C_64F ? 16 : 8) != 0)
        abort();
    bool wide = part_of(type) == FAKE_R_64F;
    if (is_whole(type))
        return get(type, at, 0);
    return fake_get(wide ? FAKE_R_64F : FAKE_R_32F, at, 0);
}

/* ---- calls ---- */

static int enqueue(const void *handle, void (*run)(fake_driver *, const void *), const call *c,
                   bool right)
{
    int status = atomic_load(&fake.fail_call);
    if (status)
        return status;
    atomic_store(&fake.workspace, fake_cublas_workspace(handle));
    if (!right || !fake_cublas_workspace(handle)) {
        atomic_fetch_add(&fake.refused, 1);
        return INVALID_VALUE;
    }
    return fake_enqueue(fake_cublas_stream(handle), run, c, sizeof *c, EXECUTION_FAILED);
}

/* The memory of operand i: a vector of n, or a matrix of `columns` columns of `rows`. */
static char *vector(fake_driver *d, const call *c, int i, int n)
{
    return fake_memory(d, c->at[i], (uint64_t)((long long)(n - 1) * c->step[i] + 1) *
                                        size_of(c->type));
}

static char *matrix(fake_driver *d, const call *c, int i, int rows, int columns)
{
    return fake_memory(d, c->at[i], (uint64_t)((long long)(columns - 1) * c->step[i] + rows) *
                                        size_of(c->type));
}

static number element(const call *c, int i, const char *x, int row, int column)
{
    return get(c->type, x, (long long)column * c->step[i] + row);
}

static number number_of(const call *c, int i, const char *x, int k)
{
    return get(c->type, x, (long long)k * c->step[i]);
}

/* to = alpha sum + beta to */
static void store(const call *c, char *to, long long at, number sum)
{
    put(c->type, to, at, c->alpha * sum + (c->beta != 0 ? c->beta * get(c->type, to, at) : 0));
}

/* ---- level 1 ---- */

static void run_axpy(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->n), *y = vector(d, c, 1, c->n);
    for (int i = 0; x && y && i < c->n; i++)
        put(c->type, y, (long long)i * c->step[1],
            c->alpha * number_of(c, 0, x, i) + number_of(c, 1, y, i));
}

static void run_scal(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->n);
    for (int i = 0; x && i < c->n; i++)
        put(c->type, x, (long long)i * c->step[0], c->alpha * number_of(c, 0, x, i));
}

static void run_dot(fake_driver *d, const void *data)
{
    const call *c = data;
    number sum = 0;
    char *to = vector(d, c, 2, 1), *x = vector(d, c, 0, c->n), *y = vector(d, c, 1, c->n);
    for (int i = 0; x && y && i < c->n; i++) {
        number of = number_of(c, 0, x, i);
        sum += (c->conjugated ? conj(of) : of) * number_of(c, 1, y, i);
    }
    if (to)
        put(c->type, to, 0, sum);
}

/* op: the root of the sum of squares; else the sum of sizes */
static void run_norm(fake_driver *d, const void *data)
{
    const call *c = data;
    double sum = 0;
    const char *x = vector(d, c, 0, c->n);
    char *to = fake_memory(d, c->at[2], size_of(c->result));
    for (int i = 0; x && i < c->n; i++) {
        number of = number_of(c, 0, x, i);
        double size = fabs(creal(of)) + fabs(cimag(of));
        sum += c->op ? creal(of * conj(of)) : size;
    }
    if (to)
        put(c->result, to, 0, c->op ? sqrt(sum) : sum);
}

#define DOT_ARGUMENTS                                                                              \
    void *h, int n, const void *x, int x_type, int x_step, const void *y, int y_type, int y_step,  \
        void *result, int result_type, int sums
#define NORM_ARGUMENTS                                                                             \
    void *h, int n, const void *x, int x_type, int x_step, void *result, int result_type, int sums

int cublasAxpyEx(void *h, int n, const void *alpha, int alpha_type, const void *x, int x_type,
                 int x_step, void *y, int y_type, int y_step, int sums);
int cublasScalEx(void *h, int n, const void *alpha, int alpha_type, void *x, int x_type,
                 int x_step, int sums);
int cublasDotEx(DOT_ARGUMENTS);
int cublasNrm2Ex(NORM_ARGUMENTS);

int cublasAxpyEx(void *h, int n, const void *alpha, int alpha_type, const void *x, int x_type,
                 int x_step, void *y, int y_type, int y_step, int sums)
{
    call c = {.type = x_type, .n = n, .step = {x_step, y_step},
              .alpha = scalar(alpha_type, alpha), .at = {(void *)(uintptr_t)x, y}};
    return enqueue(h, run_axpy, &c, y_type == x_type && sums == alpha_type && x_step > 0 &&
                                        is_whole(sums) == is_whole(x_type));
}

int cublasScalEx(void *h, int n, const void *alpha, int alpha_type, void *x, int x_type,
                 int x_step, int sums)
{
    call c = {.type = x_type, .n = n, .step = {x_step}, .alpha = scalar(alpha_type, alpha),
              .at = {x}};
    return enqueue(h, run_scal, &c, sums == alpha_type);
}

static int dot(DOT_ARGUMENTS, bool conjugated)
{
    call c = {.type = x_type, .n = n, .step = {x_step, y_step, 1}, .conjugated = conjugated,
              .at = {(void *)(uintptr_t)x, (void *)(uintptr_t)y, result}};
    return enqueue(h, run_dot, &c,
                   y_type == x_type && result_type == x_type &&
                       is_whole(sums) == is_whole(x_type) && fake_cublas_pointers(h) == 1);
}

int cublasDotEx(DOT_ARGUMENTS)
{
    return dot(h, n, x, x_type, x_step, y, y_type, y_step, result, result_type, sums, false);
}

static int norm(NORM_ARGUMENTS, int root)
{
    call c = {.type = x_type, .result = result_type, .n = n, .op = root, .step = {x_step, 1, 1},
              .at = {(void *)(uintptr_t)x, NULL, result}};
    return enqueue(h, run_norm, &c, result_type == part_of(x_type) && !is_whole(sums) &&
                                        fake_cublas_pointers(h) == 1);
}

int cublasNrm2Ex(NORM_ARGUMENTS)
{
    return norm(h, n, x, x_type, x_step, result, result_type, sums, 1);
}

/* ---- level 2 ---- */

static void run_gemv(fake_driver *d, const void *data)
{
    const call *c = data;
    int outs = c->op ? c->n : c->m, ins = c->op ? c->m : c->n;
    char *a = matrix(d, c, 0, c->m, c->n), *x = vector(d, c, 1, ins), *y = vector(d, c, 2, outs);
    for (int i = 0; a && x && y && i < outs; i++) {
        number sum = 0;
        for (int k = 0; k < ins; k++)
            sum += (c->op ? element(c, 0, a, k, i) : element(c, 0, a, i, k)) *
                   number_of(c, 1, x, k);
        store(c, y, (long long)i * c->step[2], sum);
    }
}

/* Of a symmetric matrix, from the half that counts. */
static number symmetric(const call *c, const char *a, int i, int j)
{
    bool there = c->fill ? i <= j : i >= j;
    return there ? element(c, 0, a, i, j) : element(c, 0, a, j, i);
}

static void run_symv(fake_driver *d, const void *data)
{
    const call *c = data;
    char *a = matrix(d, c, 0, c->n, c->n), *x = vector(d, c, 1, c->n), *y = vector(d, c, 2, c->n);
    for (int i = 0; a && x && y && i < c->n; i++) {
        number sum = 0;
        for (int k = 0; k < c->n; k++)
            sum += symmetric(c, a, i, k) * number_of(c, 1, x, k);
        store(c, y, (long long)i * c->step[2], sum);
    }
}

static void run_ger(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->m), *y = vector(d, c, 1, c->n), *a = matrix(d, c, 2, c->m, c->n);
    for (int j = 0; a && x && y && j < c->n; j++)
        for (int i = 0; i < c->m; i++)
            put(c->type, a, (long long)j * c->step[2] + i,
                element(c, 2, a, i, j) + c->alpha * number_of(c, 0, x, i) * number_of(c, 1, y, j));
}

static void run_syr(fake_driver *d, const void *data)
{
    const call *c = data;
    char *x = vector(d, c, 0, c->n), *a = matrix(d, c, 1, c->n, c->n);
    for (int j = 0; a && x && j < c->n; j++)
        for (int i = c->fill ? 0 : j; i < (c->fill ? j + 1 : c->n); i++)
            put(c->type, a, (long long)j * c->step[1] + i,
                element(c, 1, a, i, j) + c->alpha * number_of(c, 0, x, i) * number_of(c, 0, x, j));
}

/* ---- level 3 ---- */

/* a times itself, or itself conjugated, or (with b) both ways. */
static number rank_k(const call *c, const char *a, const char *b, int i, int j)
{
    number sum = 0;
    for (int k = 0; k < c->k; k++) {
        number p = c->op ? element(c, 0, a, k, i) : element(c, 0, a, i, k);
        number q = c->op ? element(c, 0, a, k, j) : element(c, 0, a, j, k);
        if (b)
            sum += p * (c->op ? element(c, 1, b, k, j) : element(c, 1, b, j, k)) +
                   q * (c->op ? element(c, 1, b, k, i) : element(c, 1, b, i, k));
        else if (c->conjugated)
            sum += c->op ? conj(p) * q : p * conj(q);
        else
            sum += p * q;
    }
    return sum;
}

/* The result is operand 2; operand 1 is there if `unit` says so. */
static void run_rank_k(fake_driver *d, const void *data)
{
    const call *c = data;
    int rows = c->op ? c->k : c->n, columns = c->op ? c->n : c->k;
    char *a = matrix(d, c, 0, rows, columns), *b = c->unit ? matrix(d, c, 1, rows, columns) : NULL;
    char *to = matrix(d, c, 2, c->n, c->n);
    for (int j = 0; a && to && j < c->n; j++)
        for (int i = c->fill ? 0 : j; i < (c->fill ? j + 1 : c->n); i++)
            store(c, to, (long long)j * c->step[2] + i, rank_k(c, a, b, i, j));
}

static void run_symm(fake_driver *d, const void *data)
{
    const call *c = data;
    int order = c->side ? c->n : c->m;
    char *a = matrix(d, c, 0, order, order), *b = matrix(d, c, 1, c->m, c->n);
    char *to = matrix(d, c, 2, c->m, c->n);
    for (int i = 0; a && b && to && i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            number sum = 0;
            for (int k = 0; k < order; k++)
                sum += c->side ? element(c, 1, b, i, k) * symmetric(c, a, k, j)
                               : symmetric(c, a, i, k) * element(c, 1, b, k, j);
            store(c, to, (long long)j * c->step[2] + i, sum);
        }
}

/* Solve t x = b for one vector, or multiply it, where t is a or, `turned`, a transposed. x[i] is at
 * i * step. Elements are taken in the order in which what is read is not overwritten yet. */
static void triangular(const call *c, const char *a, bool turned, bool solve, int order, char *b,
                       long long first, long long step)
{
    bool up = ((c->fill == 0) != turned) == solve;
    for (int at = 0; at < order; at++) {
        int i = up ? at : order - 1 - at;
        number own = get(c->type, b, first + i * step) * c->alpha;
        number diagonal = c->unit ? 1 : element(c, 0, a, i, i);
        number sum = solve ? own : own * diagonal;
        for (int k = 0; k < order; k++) {
            bool there = (c->fill == 0) != turned ? k < i : k > i;
            if (!there)
                continue;
            number factor = turned ? element(c, 0, a, k, i) : element(c, 0, a, i, k);
            number other = get(c->type, b, first + k * step);
            sum += solve ? -factor * other : factor * other * c->alpha;
        }
        put(c->type, b, first + i * step, solve ? sum / diagonal : sum);
    }
}

static void each_triangular(fake_driver *d, const call *c, bool solve)
{
    int order = c->side ? c->n : c->m;
    char *a = matrix(d, c, 0, order, order), *b = matrix(d, c, 1, c->m, c->n);
    for (int i = 0; a && b && i < (c->side ? c->m : c->n); i++)
        triangular(c, a, (c->op != 0) != (c->side != 0), solve, order, b,
                   c->side ? i : (long long)i * c->step[1], c->side ? c->step[1] : 1);
}

static void run_trsm(fake_driver *d, const void *data)
{
    each_triangular(d, data, true);
}

static void run_trmm(fake_driver *d, const void *data)
{
    each_triangular(d, data, false);
}

static void each_vector(fake_driver *d, const call *c, bool solve)
{
    char *a = matrix(d, c, 0, c->n, c->n), *x = vector(d, c, 1, c->n);
    if (a && x)
        triangular(c, a, c->op != 0, solve, c->n, x, 0, c->step[1]);
}

static void run_trsv(fake_driver *d, const void *data)
{
    each_vector(d, data, true);
}

static void run_trmv(fake_driver *d, const void *data)
{
    each_vector(d, data, false);
}

/* ---- products of different shapes ---- */

typedef struct one {
    int op_a, op_b, m, n, k, lda, ldb, ldc;
    double alpha, beta;
} one;

typedef struct group {
    int type, count;
    const void *a, *b, *c; /* lists on the device */
    one each[];
} group;

static char *at_of(fake_driver *d, const void *list, int count, int i, int64_t elements, int type)
{
    const char *on_host = fake_memory(d, list, (uint64_t)count * sizeof(void *));
    const void *at = NULL;
    if (on_host)
        memcpy(&at, on_host + (size_t)i * sizeof at, sizeof at);
    if (size_of(type) == 2 && (uintptr_t)at % 16) /* which would lose a device */
        atomic_fetch_add(&d->refused, 1);
    return fake_memory(d, at, (uint64_t)elements * size_of(type));
}

static void multiply_one(fake_driver *d, const group *g, int which)
{
    const one *o = &g->each[which];
    int64_t columns_a = o->op_a ? o->m : o->k, columns_b = o->op_b ? o->k : o->n;
    int64_t rows_a = o->op_a ? o->k : o->m, rows_b = o->op_b ? o->n : o->k;
    char *a = at_of(d, g->a, g->count, which, (columns_a - 1) * o->lda + rows_a, g->type);
    char *b = at_of(d, g->b, g->count, which, (columns_b - 1) * o->ldb + rows_b, g->type);
    char *c = at_of(d, g->c, g->count, which, (int64_t)(o->n - 1) * o->ldc + o->m, g->type);
    for (int i = 0; a && b && c && i < o->m; i++)
        for (int j = 0; j < o->n; j++) {
            double sum = 0;
            int64_t at = (int64_t)j * o->ldc + i;
            for (int64_t k = 0; k < o->k; k++)
                sum += fake_get(g->type, a, o->op_a ? i * (int64_t)o->lda + k : k * o->lda + i) *
                       fake_get(g->type, b, o->op_b ? k * o->ldb + j : j * (int64_t)o->ldb + k);
            sum *= o->alpha;
            fake_put(g->type, c, at, o->beta != 0 ? sum + o->beta * fake_get(g->type, c, at) : sum);
        }
}

static void run_group(fake_driver *d, const void *data)
{
    const group *g = data;
    for (int i = 0; i < g->count; i++)
        multiply_one(d, g, i);
}

#define GROUP_ARGUMENTS                                                                            \
    void *h, const int *op_a, const int *op_b, const int *m, const int *n, const int *k,           \
        const void *alphas, const void *const *a, int a_type, const int *lda,                      \
        const void *const *b, int b_type, const int *ldb, const void *betas, void *const *c,       \
        int c_type, const int *ldc, int groups, const int *sizes, int compute
int cublasGemmGroupedBatchedEx(GROUP_ARGUMENTS);

int cublasGemmGroupedBatchedEx(GROUP_ARGUMENTS)
{
    enum { NOT_SUPPORTED = 15 };
    int status = atomic_load(&fake.fail_call), of = a_type == FAKE_R_64F ? a_type : FAKE_R_32F;
    if (status || atomic_load(&fake.less))
        return status ? status : NOT_SUPPORTED;
    size_t bytes = sizeof(group) + (size_t)groups * sizeof(one);
    group *g = calloc(1, bytes);
    *g = (group){.type = a_type, .count = groups, .a = a, .b = b, .c = c};
    bool right = b_type == a_type && c_type == a_type && fake_cublas_workspace(h) && compute > 0;
    for (int i = 0; i < groups; i++) {
        g->each[i] = (one){op_a[i], op_b[i], m[i], n[i], k[i], lda[i], ldb[i], ldc[i],
                           fake_get(of, alphas, i), fake_get(of, betas, i)};
        right &= sizes[i] == 1 && lda[i] >= (op_a[i] ? k[i] : m[i]) && ldc[i] >= m[i];
    }
    atomic_fetch_add(&fake.refused, !right);
    status = right ? fake_enqueue(fake_cublas_stream(h), run_group, g, bytes, EXECUTION_FAILED)
                   : INVALID_VALUE;
    free(g);
    return status;
}

/* ---- all types ---- */

#define AT(x) (void *)(uintptr_t)(x)
#define FUNCTION(name, parameters)                                                                 \
    int name parameters;                                                                           \
    int name parameters

#define VECTORS(letter, type_)                                                                     \
    FUNCTION(cublas##letter##gemv_v2, (void *h, int op, int m, int n, const void *alpha,           \
                                       const void *a, int lda, const void *x, int x_step,          \
                                       const void *beta, void *y, int y_step))                     \
    {                                                                                              \
        call c = {.type = type_, .op = op, .m = m, .n = n, .step = {lda, x_step, y_step},          \
                  .alpha = scalar(type_, alpha), .beta = scalar(type_, beta),                      \
                  .at = {AT(a), AT(x), y}};                                                        \
        return enqueue(h, run_gemv, &c, lda >= m && x_step > 0 && y_step > 0);                     \
    }                                                                                              \
    FUNCTION(cublas##letter##symv_v2, (void *h, int fill, int n, const void *alpha, const void *a, \
                                       int lda, const void *x, int x_step, const void *beta,       \
                                       void *y, int y_step))                                       \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .n = n, .step = {lda, x_step, y_step},              \
                  .alpha = scalar(type_, alpha), .beta = scalar(type_, beta),                      \
                  .at = {AT(a), AT(x), y}};                                                        \
        return enqueue(h, run_symv, &c, lda >= n);                                                 \
    }                                                                                              \
    FUNCTION(cublas##letter##trmv_v2, (void *h, int fill, int op, int unit, int n, const void *a,  \
                                       int lda, void *x, int x_step))                              \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .op = op, .unit = unit, .n = n,                     \
                  .step = {lda, x_step}, .alpha = 1, .at = {AT(a), x}};                            \
        return enqueue(h, run_trmv, &c, lda >= n);                                                 \
    }                                                                                              \
    FUNCTION(cublas##letter##trsv_v2, (void *h, int fill, int op, int unit, int n, const void *a,  \
                                       int lda, void *x, int x_step))                              \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .op = op, .unit = unit, .n = n,                     \
                  .step = {lda, x_step}, .alpha = 1, .at = {AT(a), x}};                            \
        return enqueue(h, run_trsv, &c, lda >= n);                                                 \
    }                                                                                              \
    FUNCTION(cublas##letter##syr_v2, (void *h, int fill, int n, const void *alpha, const void *x,  \
                                      int x_step, void *a, int lda))                               \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .n = n, .step = {x_step, lda},                      \
                  .alpha = scalar(type_, alpha), .at = {AT(x), a}};                                \
        return enqueue(h, run_syr, &c, lda >= n);                                                  \
    }

#define COMPLEX(letter, norm_, type_, part_)                                                       \
    FUNCTION(cublas##letter##axpy_v2, (void *h, int n, const void *alpha, const void *x,           \
                                       int x_step, void *y, int y_step))                           \
    {                                                                                              \
        return cublasAxpyEx(h, n, alpha, type_, x, type_, x_step, y, type_, y_step, type_);        \
    }                                                                                              \
    FUNCTION(cublas##letter##scal_v2, (void *h, int n, const void *alpha, void *x, int x_step))    \
    {                                                                                              \
        return cublasScalEx(h, n, alpha, type_, x, type_, x_step, type_);                          \
    }                                                                                              \
    FUNCTION(cublas##letter##dotu_v2, (void *h, int n, const void *x, int x_step, const void *y,   \
                                       int y_step, void *result))                                  \
    {                                                                                              \
        return dot(h, n, x, type_, x_step, y, type_, y_step, result, type_, type_, false);         \
    }                                                                                              \
    FUNCTION(cublas##letter##dotc_v2, (void *h, int n, const void *x, int x_step, const void *y,   \
                                       int y_step, void *result))                                  \
    {                                                                                              \
        return dot(h, n, x, type_, x_step, y, type_, y_step, result, type_, type_, true);          \
    }                                                                                              \
    FUNCTION(norm_, (void *h, int n, const void *x, int x_step, void *result))                     \
    {                                                                                              \
        return norm(h, n, x, type_, x_step, result, part_, part_, 1);                              \
    }

#define SIZES(name, type_, result_)                                                                \
    FUNCTION(name, (void *h, int n, const void *x, int x_step, void *result))                      \
    {                                                                                              \
        return norm(h, n, x, type_, x_step, result, result_, result_, 0);                          \
    }

#define OUTER(name, type_)                                                                         \
    FUNCTION(name, (void *h, int m, int n, const void *alpha, const void *x, int x_step,           \
                    const void *y, int y_step, void *a, int lda))                                  \
    {                                                                                              \
        call c = {.type = type_, .m = m, .n = n, .step = {x_step, y_step, lda},                    \
                  .alpha = scalar(type_, alpha), .at = {AT(x), AT(y), a}};                         \
        return enqueue(h, run_ger, &c, lda >= m);                                                  \
    }

/* `numbers`: the type of alpha and beta. */
#define RANK_K(name, type_, numbers, conjugated_)                                                  \
    FUNCTION(name, (void *h, int fill, int op, int n, int k, const void *alpha, const void *a,     \
                    int lda, const void *beta, void *to, int ldc))                                 \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .op = op, .n = n, .k = k, .step = {lda, 0, ldc},    \
                  .conjugated = conjugated_, .alpha = scalar(numbers, alpha),                      \
                  .beta = scalar(numbers, beta), .at = {AT(a), NULL, to}};                         \
        return enqueue(h, run_rank_k, &c, lda >= (op ? k : n) && ldc >= n &&                       \
                                              (op == 2) == (conjugated_ && op != 0));              \
    }

#define MATRICES(letter, type_)                                                                    \
    FUNCTION(cublas##letter##syr2k_v2, (void *h, int fill, int op, int n, int k,                   \
                                        const void *alpha, const void *a, int lda, const void *b,  \
                                        int ldb, const void *beta, void *to, int ldc))             \
    {                                                                                              \
        call c = {.type = type_, .fill = fill, .op = op, .n = n, .k = k, .step = {lda, ldb, ldc},  \
                  .unit = 1, .alpha = scalar(type_, alpha), .beta = scalar(type_, beta),           \
                  .at = {AT(a), AT(b), to}};                                                       \
        return enqueue(h, run_rank_k, &c, lda >= (op ? k : n) && ldb >= (op ? k : n));             \
    }                                                                                              \
    FUNCTION(cublas##letter##symm_v2, (void *h, int side, int fill, int m, int n,                  \
                                       const void *alpha, const void *a, int lda, const void *b,   \
                                       int ldb, const void *beta, void *to, int ldc))              \
    {                                                                                              \
        call c = {.type = type_, .side = side, .fill = fill, .m = m, .n = n,                       \
                  .step = {lda, ldb, ldc}, .alpha = scalar(type_, alpha),                          \
                  .beta = scalar(type_, beta), .at = {AT(a), AT(b), to}};                          \
        return enqueue(h, run_symm, &c, lda >= (side ? n : m) && ldb >= m && ldc >= m);            \
    }                                                                                              \
    FUNCTION(cublas##letter##trmm_v2, (void *h, int side, int fill, int op, int unit, int m,       \
                                       int n, const void *alpha, const void *a, int lda,           \
                                       const void *b, int ldb, void *to, int ldc))                 \
    {                                                                                              \
        call c = {.type = type_, .side = side, .fill = fill, .op = op, .unit = unit, .m = m,       \
                  .n = n, .step = {lda, ldb}, .alpha = scalar(type_, alpha), .at = {AT(a), to}};   \
        return enqueue(h, run_trmm, &c, lda >= (side ? n : m) && b == to && ldb == ldc);           \
    }                                                                                              \
    FUNCTION(cublas##letter##trsm_v2, (void *h, int side, int fill, int op, int unit, int m,       \
                                       int n, const void *alpha, const void *a, int lda, void *b,  \
                                       int ldb))                                                   \
    {                                                                                              \
        call c = {.type = type_, .side = side, .fill = fill, .op = op, .unit = unit, .m = m,       \
                  .n = n, .step = {lda, ldb}, .alpha = scalar(type_, alpha), .at = {AT(a), b}};    \
        return enqueue(h, run_trsm, &c, lda >= (side ? n : m) && ldb >= m);                        \
    }

VECTORS(S, FAKE_R_32F)
VECTORS(D, FAKE_R_64F)
VECTORS(C, C_32F)
VECTORS(Z, C_64F)
COMPLEX(C, cublasScnrm2_v2, C_32F, FAKE_R_32F)
COMPLEX(Z, cublasDznrm2_v2, C_64F, FAKE_R_64F)
SIZES(cublasSasum_v2, FAKE_R_32F, FAKE_R_32F)
SIZES(cublasDasum_v2, FAKE_R_64F, FAKE_R_64F)
SIZES(cublasScasum_v2, C_32F, FAKE_R_32F)
SIZES(cublasDzasum_v2, C_64F, FAKE_R_64F)
OUTER(cublasSger_v2, FAKE_R_32F)
OUTER(cublasDger_v2, FAKE_R_64F)
OUTER(cublasCgeru_v2, C_32F)
OUTER(cublasZgeru_v2, C_64F)
RANK_K(cublasSsyrk_v2, FAKE_R_32F, FAKE_R_32F, false)
RANK_K(cublasDsyrk_v2, FAKE_R_64F, FAKE_R_64F, false)
RANK_K(cublasCsyrk_v2, C_32F, C_32F, false)
RANK_K(cublasZsyrk_v2, C_64F, C_64F, false)
RANK_K(cublasCherk_v2, C_32F, FAKE_R_32F, true)
RANK_K(cublasZherk_v2, C_64F, FAKE_R_64F, true)
MATRICES(S, FAKE_R_32F)
MATRICES(D, FAKE_R_64F)
MATRICES(C, C_32F)
MATRICES(Z, C_64F)
