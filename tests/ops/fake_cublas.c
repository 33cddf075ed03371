/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A library that poses as cuBLAS for the software device: it computes products on the host, in
 * stream order, in double. It is stricter than the real one: it notices handles and workspaces that
 * are used twice at the same time, and memory that is not allocated when a product runs.
 */
#include "fake_cublas.h"

#include "../vendor/fake.h"

#include <complex.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { OK, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13, NOT_SUPPORTED = 15 };
enum { R_32F, R_64F, R_16F, C_32F = 4, C_64F, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_TF32 = 77 };

static fake_cublas fake = {.gate = PTHREAD_MUTEX_INITIALIZER};

typedef struct context {
    struct context *next;
    void *stream;
    uint64_t workspace;
    size_t workspace_bytes;
    int math, pointers;
    _Atomic(bool) busy;
} context;

/* All handles that exist: those of a lost device stay. */
static context *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

fake_cublas *fake_cublas_of(void);
fake_cublas *fake_cublas_of(void)
{
    return &fake;
}

/* ---- handles --------------------------------------------------------------------------------- */

int cublasGetProperty(int which, int *value);
int cublasCreate_v2(context **handle);
int cublasDestroy_v2(context *c);
int cublasSetStream_v2(context *c, void *stream);
int cublasSetWorkspace_v2(context *c, void *memory, size_t bytes);
int cublasSetMathMode(context *c, int mode);
int cublasSetPointerMode_v2(context *c, int mode);

int cublasGetProperty(int which, int *value)
{
    static const int version[] = {12, 3, 4};
    const char *major = getenv("FAKE_CUBLAS_MAJOR");
    if (which < 0 || which > 2)
        return INVALID_VALUE;
    *value = which == 0 && major ? atoi(major) : version[which];
    return OK;
}

/* Tests of blas/ set only what all these libraries have. */
static void share_driver(const fake_driver *other)
{
    if (fake.launch)
        return;
    fake.host = other->host;
    fake.valid = other->valid;
    fake.captured = other->captured;
    fake.launch = other->launch;
}

int cublasCreate_v2(context **handle)
{
    pthread_mutex_lock(&lock);
    share_driver(fake_driver_of());
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&fake.gate);
    pthread_mutex_unlock(&fake.gate);
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    context *c = calloc(1, sizeof *c);
    if (!c)
        return ALLOC_FAILED;
    c->pointers = -1;
    pthread_mutex_lock(&lock);
    c->next = all;
    all = c;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&fake.created, 1);
    *handle = c;
    return OK;
}

int cublasDestroy_v2(context *c)
{
    pthread_mutex_lock(&lock);
    context **link = &all;
    while (*link && *link != c)
        link = &(*link)->next;
    bool known = *link != NULL;
    if (known)
        *link = c->next;
    pthread_mutex_unlock(&lock);
    if (!known)
        return INVALID_VALUE;
    free(c);
    atomic_fetch_add(&fake.destroyed, 1);
    return OK;
}

static void enter(context *c)
{
    if (atomic_exchange(&c->busy, true))
        atomic_fetch_add(&fake.overlaps, 1);
    if (atomic_load(&fake.slow))
        sched_yield();
}

static void leave(context *c)
{
    atomic_store(&c->busy, false);
}

int cublasSetStream_v2(context *c, void *stream)
{
    enter(c);
    c->stream = stream;
    c->workspace = 0; /* the library's own again */
    leave(c);
    return OK;
}

int cublasSetWorkspace_v2(context *c, void *memory, size_t bytes)
{
    enter(c);
    c->workspace = (uintptr_t)memory;
    c->workspace_bytes = bytes;
    leave(c);
    return (uintptr_t)memory % 256 == 0 ? OK : INVALID_VALUE;
}

int cublasSetMathMode(context *c, int mode)
{
    c->math = mode;
    return OK;
}

int cublasSetPointerMode_v2(context *c, int mode)
{
    c->pointers = mode;
    return OK;
}

void *fake_cublas_stream(const void *handle)
{
    return ((const context *)handle)->stream;
}

int fake_cublas_pointers(const void *handle)
{
    return ((const context *)handle)->pointers;
}

size_t fake_cublas_workspace(const void *handle)
{
    const context *c = handle;
    return c->workspace ? c->workspace_bytes : 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t size_of(int type)
{
    return type == C_64F ? 16 : type == R_64F || type == C_32F ? 8 : type == R_32F ? 4 : 2;
}

/* A 16-bit format: the bits of its fraction are given, and the bias of its exponent. */
static double small_at(uint16_t bits, int fraction, int bias)
{
    int exponent = (bits & 0x7fff) >> fraction, rest = bits & ((1 << fraction) - 1);
    double size = exponent ? ldexp(rest + (1 << fraction), exponent - bias - fraction)
                           : ldexp(rest, 1 - bias - fraction);
    return bits >> 15 ? -size : size;
}

static uint16_t small_of(double value, int fraction, int bias)
{
    int exponent;
    frexp(value, &exponent); /* in [1/2, 1) */
    int e = value == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double units = nearbyint(ldexp(fabs(value), fraction - e));
    uint32_t bits = (uint32_t)units + ((uint32_t)(e + bias - 1) << fraction);
    return (uint16_t)(bits | (signbit(value) ? 0x8000u : 0u));
}

static double real_at(int type, const char *at)
{
    uint16_t bits;
    double wide;
    float value;
    switch (type) {
    case R_64F:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case R_32F:
        memcpy(&value, at, sizeof value);
        return (double)value;
    default:
        memcpy(&bits, at, sizeof bits);
        return type == R_16F ? small_at(bits, 10, 15) : small_at(bits, 7, 127);
    }
}

static void put_real(int type, char *at, double wide)
{
    float value = (float)wide;
    uint16_t bits = type == R_16F ? small_of(wide, 10, 15) : small_of(wide, 7, 127);
    if (type == R_64F)
        memcpy(at, &wide, sizeof wide);
    else if (type == R_32F)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &bits, sizeof bits);
}

static int part_of(int type)
{
    return type == C_32F ? R_32F : type == C_64F ? R_64F : type;
}

static double _Complex number_at(int type, const char *at)
{
    int part = part_of(type);
    double parts[2] = {real_at(part, at), part == type ? 0 : real_at(part, at + size_of(part))};
    double _Complex z; /* clang 14 has no CMPLX */
    memcpy(&z, parts, sizeof z);
    return z;
}

static void put_number(int type, char *at, double _Complex z)
{
    int part = part_of(type);
    put_real(part, at, creal(z));
    if (part != type)
        put_real(part, at + size_of(part), cimag(z));
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct operand {
    uint64_t address;
    char *host; /* the same there */
    int op, rows, columns; /* as it lies in memory */
    int ld;
    long long stride;
} operand;

typedef struct product {
    operand a, b, c;
    int m, n, k, batches, type;
    double _Complex alpha, beta;
    uint64_t workspace;
    struct product *next; /* of those that graphs run again and again */
    bool captured;
} product;

static product *captured;

static char *place(const operand *x, int type, int batch, int row, int column)
{
    long long at = batch * x->stride + (x->op ? (long long)row * x->ld + column
                                              : (long long)column * x->ld + row);
    return x->host + at * (long long)size_of(type);
}

static double _Complex element(const operand *x, int type, int batch, int row, int column)
{
    return number_at(type, place(x, type, batch, row, column));
}

static bool all_valid(const operand *x, int type, int batches)
{
    for (int b = 0; b < batches; b++)
        for (int c = 0; c < x->columns; c++)
            if (!fake.valid(x->address +
                                (uint64_t)(b * x->stride + (long long)c * x->ld) * size_of(type),
                            (uint64_t)x->rows * size_of(type)))
                return false;
    return true;
}

static void multiply(product *p)
{
    p->a.host = fake.host(p->a.address);
    p->b.host = fake.host(p->b.address);
    p->c.host = fake.host(p->c.address);
    for (int b = 0; b < p->batches; b++)
        for (int column = 0; column < p->n; column++)
            for (int row = 0; row < p->m; row++) {
                double _Complex sum = 0;
                for (int k = 0; k < p->k; k++)
                    sum += element(&p->a, p->type, b, row, k) *
                           element(&p->b, p->type, b, k, column);
                char *to = place(&p->c, p->type, b, row, column);
                double _Complex had = p->beta != 0 ? p->beta * number_at(p->type, to) : 0;
                put_number(p->type, to, p->alpha * sum + had);
            }
}

/* On the stream. The workspace is this product's from the beginning to the end. */
static void run(void *user)
{
    product *p = user;
    uint64_t mark = (uint64_t)(uintptr_t)p, seen = 0;
    bool valid = fake.valid(p->workspace, 65536) && all_valid(&p->a, p->type, p->batches) &&
                 all_valid(&p->b, p->type, p->batches) && all_valid(&p->c, p->type, p->batches);
    if (valid) {
        memcpy(fake.host(p->workspace), &mark, sizeof mark);
        multiply(p);
        memcpy(&seen, fake.host(p->workspace), sizeof seen);
        atomic_fetch_add(&fake.trampled, seen != mark);
    }
    atomic_fetch_add(&fake.refused, !valid);
    atomic_fetch_add(&fake.done, 1);
    if (!p->captured)
        free(p);
}

static bool is_right(const product *p, const context *c, int compute, int algorithm)
{
    int wanted = part_of(p->type) == R_64F ? COMPUTE_64F : COMPUTE_32F;
    bool types = compute == wanted || (compute == COMPUTE_TF32 && p->type == R_32F);
    return types && algorithm == -1 && c->pointers == 0 && c->workspace && p->m > 0 && p->n > 0 &&
           p->k > 0 && p->batches > 0 && p->a.ld >= p->a.rows && p->b.ld >= p->b.rows &&
           p->c.ld >= p->m;
}

static void note(const product *p, const context *c, int compute)
{
    atomic_store(&fake.compute, compute);
    atomic_store(&fake.type, p->type);
    atomic_store(&fake.batches, p->batches);
    atomic_store(&fake.math, c->math);
    atomic_store(&fake.workspace, c->workspace);
    atomic_store(&fake.workspace_bytes, c->workspace_bytes);
}

static int submit(context *c, product *p, int compute, int algorithm)
{
    enter(c);
    product *kept = malloc(sizeof *kept);
    int status = atomic_load(&fake.fail_gemm);
    bool right = is_right(p, c, compute, algorithm);
    atomic_fetch_add(&fake.refused, !right);
    note(p, c, compute);
    if (!right)
        status = INVALID_VALUE;
    if (kept && status == OK) {
        *kept = *p;
        kept->workspace = c->workspace;
        kept->captured = fake.captured(c->stream);
        if (kept->captured) {
            pthread_mutex_lock(&lock);
            kept->next = captured;
            captured = kept;
            pthread_mutex_unlock(&lock);
        }
        if (fake.launch(c->stream, run, kept) == 0 || kept->captured)
            kept = NULL; /* the stream's */
        else
            status = EXECUTION_FAILED;
    }
    free(kept);
    leave(c);
    return status;
}

static operand operand_of(const void *memory, int op, int rows, int columns, int ld,
                          long long stride)
{
    return (operand){.address = (uintptr_t)memory, .op = op, .rows = op ? columns : rows,
                     .columns = op ? rows : columns, .ld = ld, .stride = stride};
}

static double _Complex scalar_at(int type, const void *at)
{
    bool wide = type == R_64F || type == C_64F || type == C_32F;
    return number_at(wide ? type : R_32F, at);
}

int cublasGemmStridedBatchedEx(context *handle, int op_a, int op_b, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_stride, const void *b, int b_type, int ldb,
                               long long b_stride, const void *beta, void *c, int c_type, int ldc,
                               long long c_stride, int batches, int compute, int algorithm);
int cublasGemmEx(context *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);

int cublasGemmStridedBatchedEx(context *handle, int op_a, int op_b, int m, int n, int k,
                               const void *alpha, const void *a, int a_type, int lda,
                               long long a_stride, const void *b, int b_type, int ldb,
                               long long b_stride, const void *beta, void *c, int c_type, int ldc,
                               long long c_stride, int batches, int compute, int algorithm)
{
    product p = {.a = operand_of(a, op_a, m, k, lda, a_stride),
                 .b = operand_of(b, op_b, k, n, ldb, b_stride),
                 .c = operand_of(c, 0, m, n, ldc, c_stride),
                 .m = m, .n = n, .k = k, .batches = batches, .type = a_type,
                 .alpha = scalar_at(c_type, alpha), .beta = scalar_at(c_type, beta)};
    if (b_type != a_type || c_type != a_type)
        return NOT_SUPPORTED;
    atomic_fetch_add(batches > 1 ? &fake.batched_calls : &fake.calls, 1);
    return submit(handle, &p, compute, algorithm);
}

int cublasGemmEx(context *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b,
                                      b_type, ldb, 0, beta, c, c_type, ldc, 0, 1, compute,
                                      algorithm);
}
