/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that poses as cuSPARSE for the software device: products with CSR, in double. */
#include "../vendor/fake.h"

enum { SUCCESS, NOT_INITIALIZED, INVALID_VALUE = 3, EXECUTION_FAILED = 6 };
enum { SCRATCH = 512 };

static fake_driver fake;

fake_driver *fake_driver_of(void)
{
    return &fake;
}

typedef struct context {
    void *stream;
    _Atomic(bool) busy;
} context;

typedef struct sparse {
    int64_t rows, cols, count;
    void *offsets, *columns, *values;
    int index, type;
    bool coo; /* the offsets are the rows of elements */
} sparse;

typedef struct dense {
    int64_t rows, cols, ld;
    void *at;
    int type;
} dense;

int cusparseGetProperty(int which, int *value);
int cusparseCreate(context **handle);
int cusparseDestroy(context *handle);
int cusparseSetStream(context *handle, void *stream);
int cusparseCreateCsr(sparse **a, int64_t rows, int64_t cols, int64_t count, void *offsets,
                      void *columns, void *values, int offset_type, int column_type, int base,
                      int type);
int cusparseCreateCoo(sparse **a, int64_t rows, int64_t cols, int64_t count, void *row,
                      void *columns, void *values, int index_type, int base, int type);
int cusparseDestroySpMat(sparse *a);
int cusparseCreateDnVec(dense **x, int64_t n, void *at, int type);
int cusparseDestroyDnVec(dense *x);
int cusparseCreateDnMat(dense **x, int64_t rows, int64_t cols, int64_t ld, void *at, int type,
                        int order);
int cusparseDestroyDnMat(dense *x);
int cusparseSpMV_bufferSize(context *h, int op, const void *alpha, sparse *a, dense *x,
                            const void *beta, dense *y, int compute, int algorithm, size_t *bytes);
int cusparseSpMV(context *h, int op, const void *alpha, sparse *a, dense *x, const void *beta,
                 dense *y, int compute, int algorithm, void *memory);
int cusparseSpMM_bufferSize(context *h, int op_a, int op_b, const void *alpha, sparse *a, dense *x,
                            const void *beta, dense *y, int compute, int algorithm, size_t *bytes);
int cusparseSpMM(context *h, int op_a, int op_b, const void *alpha, sparse *a, dense *x,
                 const void *beta, dense *y, int compute, int algorithm, void *memory);

int cusparseGetProperty(int which, int *value)
{
    static const int version[] = {12, 4, 1};
    if (which < 0 || which > 2)
        return INVALID_VALUE;
    *value = version[which];
    return SUCCESS;
}

int cusparseCreate(context **handle)
{
    if (atomic_load(&fake.fail_create))
        return atomic_load(&fake.fail_create);
    *handle = calloc(1, sizeof **handle);
    atomic_fetch_add(&fake.created, 1);
    return *handle ? SUCCESS : NOT_INITIALIZED;
}

int cusparseDestroy(context *handle)
{
    free(handle);
    atomic_fetch_add(&fake.destroyed, 1);
    return SUCCESS;
}

int cusparseSetStream(context *handle, void *stream)
{
    handle->stream = stream;
    return SUCCESS;
}

/* Descriptions count as created, so that a leak shows. */
static void *keep(const void *from, size_t bytes)
{
    void *made = malloc(bytes);
    if (made)
        memcpy(made, from, bytes);
    atomic_fetch_add(&fake.created, made != NULL);
    return made;
}

static int drop(void *made)
{
    free(made);
    atomic_fetch_add(&fake.destroyed, 1);
    return SUCCESS;
}

int cusparseCreateCsr(sparse **a, int64_t rows, int64_t cols, int64_t count, void *offsets,
                      void *columns, void *values, int offset_type, int column_type, int base,
                      int type)
{
    sparse s = {rows, cols, count, offsets, columns, values, offset_type, type, false};
    if (offset_type != column_type || base != 0 || offset_type < 2)
        return INVALID_VALUE;
    *a = keep(&s, sizeof s);
    return SUCCESS;
}

int cusparseCreateCoo(sparse **a, int64_t rows, int64_t cols, int64_t count, void *row,
                      void *columns, void *values, int index_type, int base, int type)
{
    sparse s = {rows, cols, count, row, columns, values, index_type, type, true};
    if (base != 0 || index_type < 2)
        return INVALID_VALUE;
    *a = keep(&s, sizeof s);
    return SUCCESS;
}

int cusparseDestroySpMat(sparse *a)
{
    return drop(a);
}

int cusparseCreateDnVec(dense **x, int64_t n, void *at, int type)
{
    dense d = {n, 1, 1, at, type};
    *x = keep(&d, sizeof d);
    return SUCCESS;
}

int cusparseDestroyDnVec(dense *x)
{
    return drop(x);
}

int cusparseCreateDnMat(dense **x, int64_t rows, int64_t cols, int64_t ld, void *at, int type,
                        int order)
{
    dense d = {rows, cols, ld, at, type};
    if (order != 2 || ld < cols) /* by rows only */
        return INVALID_VALUE;
    *x = keep(&d, sizeof d);
    return SUCCESS;
}

int cusparseDestroyDnMat(dense *x)
{
    return drop(x);
}

typedef struct product {
    sparse a;
    dense x, y;
    void *memory;
} product;

static int64_t index_at(const product *p, const char *at, int64_t i)
{
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, at + (p->a.index == 3 ? 8 : 4) * i, sizeof narrow);
    if (p->a.index != 3)
        return narrow;
    memcpy(&wide, at + 8 * i, sizeof wide);
    return wide;
}

/* The row of element i. */
static int64_t row_of(const product *p, const char *first, int64_t i)
{
    int64_t row = 0;
    if (p->a.coo)
        return index_at(p, first, i);
    while (index_at(p, first, row + 1) <= i)
        row++;
    return row;
}

typedef struct places {
    char *first, *columns, *values, *x, *y;
} places;

static bool find(fake_driver *d, const product *p, places *at)
{
    uint64_t index = p->a.index == 3 ? 8 : 4, size = fake_size(p->a.type);
    uint64_t firsts = (uint64_t)(p->a.coo ? p->a.count : p->a.rows + 1);
    at->first = fake_memory(d, p->a.offsets, firsts * index);
    at->columns = fake_memory(d, p->a.columns, (uint64_t)p->a.count * index);
    at->values = fake_memory(d, p->a.values, (uint64_t)p->a.count * size);
    at->x = fake_memory(d, p->x.at, (uint64_t)(p->x.rows * p->x.ld) * size);
    at->y = fake_memory(d, p->y.at, (uint64_t)(p->y.rows * p->y.ld) * size);
    return at->first && at->columns && at->values && at->x && at->y &&
           fake_memory(d, p->memory, SCRATCH);
}

static void run(fake_driver *d, const void *data)
{
    const product *p = data;
    places at;
    if (!find(d, p, &at))
        return;
    double *sums = calloc((size_t)(p->y.rows * p->x.cols), sizeof *sums);
    for (int64_t i = 0; i < p->a.count; i++)
        for (int64_t column = 0; column < p->x.cols; column++)
            sums[row_of(p, at.first, i) * p->x.cols + column] +=
                fake_get(p->a.type, at.values, i) *
                fake_get(p->a.type, at.x, index_at(p, at.columns, i) * p->x.ld + column);
    for (int64_t row = 0; row < p->y.rows; row++)
        for (int64_t column = 0; column < p->x.cols; column++)
            fake_put(p->a.type, at.y, row * p->y.ld + column, sums[row * p->x.cols + column]);
    free(sums);
}

/* The values of a become those of x y at its places. */
static void run_sampled(fake_driver *d, const void *data)
{
    const product *p = data;
    places at;
    for (int64_t i = 0; find(d, p, &at) && i < p->a.count; i++) {
        double sum = 0;
        int64_t row = row_of(p, at.first, i), column = index_at(p, at.columns, i);
        for (int64_t k = 0; k < p->x.cols; k++)
            sum += fake_get(p->a.type, at.x, row * p->x.ld + k) *
                   fake_get(p->a.type, at.y, k * p->y.ld + column);
        fake_put(p->a.type, at.values, i, sum);
    }
}

static void run_dense(fake_driver *d, const void *data)
{
    const product *p = data;
    places at;
    if (!find(d, p, &at))
        return;
    memset(at.y, 0, (size_t)(p->y.rows * p->y.ld) * fake_size(p->a.type));
    for (int64_t i = 0; i < p->a.count; i++)
        fake_put(p->a.type, at.y, row_of(p, at.first, i) * p->y.ld + index_at(p, at.columns, i),
                 fake_get(p->a.type, at.values, i));
}

static int enqueue(context *h, void (*what)(fake_driver *, const void *), const product *p,
                   bool right)
{
    if (atomic_load(&fake.fail_call))
        return atomic_load(&fake.fail_call);
    if (atomic_exchange(&h->busy, true))
        atomic_fetch_add(&fake.overlaps, 1);
    atomic_fetch_add(&fake.refused, !right);
    int status = right ? fake_enqueue(h->stream, what, p, sizeof *p, EXECUTION_FAILED)
                       : INVALID_VALUE;
    atomic_store(&h->busy, false);
    return status;
}

static int multiply(context *h, const sparse *a, const dense *x, const dense *y, bool right,
                    void *memory)
{
    product p = {*a, *x, *y, memory};
    return enqueue(h, run, &p, right && a->type == x->type && a->type == y->type &&
                                   x->rows == a->cols && y->rows == a->rows);
}

static bool are_one_and_zero(const sparse *a, const void *alpha, const void *beta)
{
    int type = a->type == FAKE_R_64F ? FAKE_R_64F : FAKE_R_32F;
    return fake_get(type, alpha, 0) == 1 && fake_get(type, beta, 0) == 0;
}

int cusparseSpMV_bufferSize(context *h, int op, const void *alpha, sparse *a, dense *x,
                            const void *beta, dense *y, int compute, int algorithm, size_t *bytes)
{
    (void)h, (void)op, (void)alpha, (void)x, (void)beta, (void)y, (void)compute;
    *bytes = SCRATCH;
    return algorithm == (a->coo ? 4 : 3) ? SUCCESS : INVALID_VALUE;
}

int cusparseSpMV(context *h, int op, const void *alpha, sparse *a, dense *x, const void *beta,
                 dense *y, int compute, int algorithm, void *memory)
{
    (void)compute;
    bool right = op == 0 && algorithm == (a->coo ? 4 : 3) && are_one_and_zero(a, alpha, beta);
    return multiply(h, a, x, y, right && x->cols == 1, memory);
}

int cusparseSpMM_bufferSize(context *h, int op_a, int op_b, const void *alpha, sparse *a, dense *x,
                            const void *beta, dense *y, int compute, int algorithm, size_t *bytes)
{
    (void)h, (void)op_a, (void)op_b, (void)alpha, (void)x, (void)beta, (void)y;
    (void)compute;
    *bytes = SCRATCH;
    return algorithm == (a->coo ? 2 : 6) ? SUCCESS : INVALID_VALUE;
}

int cusparseSpMM(context *h, int op_a, int op_b, const void *alpha, sparse *a, dense *x,
                 const void *beta, dense *y, int compute, int algorithm, void *memory)
{
    (void)compute;
    bool right = op_a == 0 && op_b == 0 && algorithm == (a->coo ? 2 : 6) &&
                 are_one_and_zero(a, alpha, beta);
    return multiply(h, a, x, y, right, memory);
}

int cusparseSDDMM_bufferSize(context *h, int op_a, int op_b, const void *alpha, dense *a, dense *b,
                             const void *beta, sparse *c, int compute, int algorithm,
                             size_t *bytes);
int cusparseSDDMM(context *h, int op_a, int op_b, const void *alpha, dense *a, dense *b,
                  const void *beta, sparse *c, int compute, int algorithm, void *memory);
int cusparseSparseToDense_bufferSize(context *h, sparse *a, dense *x, int algorithm, size_t *bytes);
int cusparseSparseToDense(context *h, sparse *a, dense *x, int algorithm, void *memory);

int cusparseSDDMM_bufferSize(context *h, int op_a, int op_b, const void *alpha, dense *a, dense *b,
                             const void *beta, sparse *c, int compute, int algorithm, size_t *bytes)
{
    (void)h, (void)op_a, (void)op_b, (void)alpha, (void)a, (void)b, (void)beta, (void)c;
    (void)compute;
    *bytes = SCRATCH;
    return algorithm == 0 ? SUCCESS : INVALID_VALUE;
}

int cusparseSDDMM(context *h, int op_a, int op_b, const void *alpha, dense *a, dense *b,
                  const void *beta, sparse *c, int compute, int algorithm, void *memory)
{
    (void)compute;
    product p = {*c, *a, *b, memory};
    bool right = op_a == 0 && op_b == 0 && algorithm == 0 && are_one_and_zero(c, alpha, beta);
    return enqueue(h, run_sampled, &p, right && !c->coo && a->rows == c->rows &&
                                           b->cols == c->cols && a->cols == b->rows &&
                                           a->type == c->type && b->type == c->type);
}

int cusparseSparseToDense_bufferSize(context *h, sparse *a, dense *x, int algorithm, size_t *bytes)
{
    (void)h, (void)a, (void)x;
    *bytes = SCRATCH;
    return algorithm == 0 ? SUCCESS : INVALID_VALUE;
}

int cusparseSparseToDense(context *h, sparse *a, dense *x, int algorithm, void *memory)
{
    product p = {*a, *x, *x, memory};
    return enqueue(h, run_dense, &p, algorithm == 0 && x->rows == a->rows && x->cols == a->cols &&
                                         x->type == a->type);
}
