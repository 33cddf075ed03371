/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuSPARSE as a library of vendor/: its symbols, its statuses, its handles; and its products. */
#include "sparse/cusparse.h"

#include "base/error.h"

typedef struct context *handle;
typedef struct sparse *sparse;
typedef struct vector *vector;
typedef struct dense *dense;

/* X(field, symbol, parameters) */
#define CALLS(X)                                                                                   \
    X(property, "cusparseGetProperty", (int which, int *value))                                    \
    X(create, "cusparseCreate", (handle *))                                                        \
    X(destroy, "cusparseDestroy", (handle))                                                        \
    X(set_stream, "cusparseSetStream", (handle, CUstream))                                         \
    X(create_csr, "cusparseCreateCsr",                                                             \
      (sparse *, int64_t rows, int64_t cols, int64_t count, void *offsets, void *columns,          \
       void *values, int offset_type, int column_type, int base, int type))                        \
    X(create_coo, "cusparseCreateCoo",                                                             \
      (sparse *, int64_t rows, int64_t cols, int64_t count, void *row, void *column, void *values, \
       int index_type, int base, int type))                                                        \
    X(destroy_csr, "cusparseDestroySpMat", (sparse))                                               \
    X(create_vector, "cusparseCreateDnVec", (vector *, int64_t n, void *at, int type))             \
    X(destroy_vector, "cusparseDestroyDnVec", (vector))                                            \
    X(create_dense, "cusparseCreateDnMat",                                                         \
      (dense *, int64_t rows, int64_t cols, int64_t ld, void *at, int type, int order))            \
    X(destroy_dense, "cusparseDestroyDnMat", (dense))                                              \
    X(mv_bytes, "cusparseSpMV_bufferSize",                                                         \
      (handle, int op, const void *alpha, sparse, vector, const void *beta, vector, int compute,   \
       int algorithm, size_t *))                                                                   \
    X(mv, "cusparseSpMV",                                                                          \
      (handle, int op, const void *alpha, sparse, vector, const void *beta, vector, int compute,   \
       int algorithm, void *memory))                                                               \
    X(mm_bytes, "cusparseSpMM_bufferSize",                                                         \
      (handle, int op_a, int op_b, const void *alpha, sparse, dense, const void *beta, dense,      \
       int compute, int algorithm, size_t *))                                                      \
    X(mm, "cusparseSpMM",                                                                          \
      (handle, int op_a, int op_b, const void *alpha, sparse, dense, const void *beta, dense,      \
       int compute, int algorithm, void *memory))                                                  \
    X(sddmm_bytes, "cusparseSDDMM_bufferSize",                                                     \
      (handle, int op_a, int op_b, const void *alpha, dense, dense, const void *beta, sparse,      \
       int compute, int algorithm, size_t *))                                                      \
    X(sddmm, "cusparseSDDMM",                                                                      \
      (handle, int op_a, int op_b, const void *alpha, dense, dense, const void *beta, sparse,      \
       int compute, int algorithm, void *memory))                                                  \
    X(to_dense_bytes, "cusparseSparseToDense_bufferSize",                                          \
      (handle, sparse, dense, int algorithm, size_t *))                                            \
    X(to_dense, "cusparseSparseToDense", (handle, sparse, dense, int algorithm, void *memory))

static struct {
#define ACU_X(field, symbol, parameters) int(*field) parameters;
    CALLS(ACU_X)
#undef ACU_X
} cusparse;

static const acui_symbol symbols[] = {
#define ACU_X(field, symbol, parameters) {symbol, &cusparse.field},
    CALLS(ACU_X)
#undef ACU_X
};

static const acui_vendor_status statuses[] = {
    {1, ACU_ERR_DRIVER, "CUSPARSE_STATUS_NOT_INITIALIZED", "the library could not be initialized"},
    {2, ACU_ERR_DEVICE_MEMORY, "CUSPARSE_STATUS_ALLOC_FAILED",
     "no memory for what the library keeps itself"},
    {3, ACU_ERR_DRIVER, "CUSPARSE_STATUS_INVALID_VALUE", "an argument that it does not take"},
    {4, ACU_ERR_NOT_SUPPORTED, "CUSPARSE_STATUS_ARCH_MISMATCH",
     "the device is none that it supports"},
    {5, ACU_ERR_DRIVER, "CUSPARSE_STATUS_MAPPING_ERROR",
     "memory of the device could not be reached"},
    {6, ACU_ERR_DRIVER, "CUSPARSE_STATUS_EXECUTION_FAILED", "the device failed to execute it"},
    {7, ACU_ERR_DRIVER, "CUSPARSE_STATUS_INTERNAL_ERROR", "an operation inside the library failed"},
    {8, ACU_ERR_NOT_SUPPORTED, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
     "it does not support this kind of matrix"},
    {10, ACU_ERR_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED", "it does not support this"},
    {11, ACU_ERR_DEVICE_MEMORY, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
     "not enough memory of the device"},
};

static acu_status said(const char *call, int status)
{
    return acui_library_fail(&acui_library_CUSPARSE, call, status);
}

static acu_status make(acu_device *device, const void *key, bool first, void **made)
{
    (void)device, (void)key, (void)first;
    handle h = NULL;
    acu_status st = said("cusparseCreate", cusparse.create(&h));
    *made = h;
    return st;
}

static void end(void *made)
{
    cusparse.set_stream(made, NULL); /* the handle's last stream is gone */
    cusparse.destroy(made);
}

acui_library acui_library_CUSPARSE = {
    .find = {.words = "cuSPARSE",
             .stem = "libcusparse.so",
             .names = {"libcusparse.so.12", "libcusparse.so.11", "libcusparse.so"}},
    .id = ACU_VENDOR_CUSPARSE,
    .oldest = 11,
    .with_12 = 12,
    .with_13 = 13, /* 12 came with CUDA 12 and 13 */
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .statuses = statuses,
    .status_count = sizeof statuses / sizeof *statuses,
    .property = &cusparse.property,
    .make = make,
    .end = end,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- products -------------------------------------------------------------------------------- */

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, INDEX_32 = 2, INDEX_64 = 3, BY_ROWS = 2 };
/* The algorithms that give the same bits every time; SDDMM and SparseToDense have only one. */
enum { MV_CSR_2 = 3, MV_COO_2 = 4, MM_CSR_2 = 6, MM_COO_2 = 2, THE_ONE = 0 };

static int type_of(acu_dtype dtype)
{
    return dtype == ACU_F64 ? R_64F : dtype == ACU_F16 ? R_16F : dtype == ACU_BF16 ? R_16BF : R_32F;
}

/* What a product takes besides its operands. */
typedef struct numbers {
    double wide[2];
    float narrow[2];
    const void *one, *zero;
    int compute;
} numbers;

static void set_numbers(numbers *n, acu_dtype dtype)
{
    *n = (numbers){.wide = {1, 0}, .narrow = {1, 0}};
    n->one = dtype == ACU_F64 ? (const void *)&n->wide[0] : &n->narrow[0];
    n->zero = dtype == ACU_F64 ? (const void *)&n->wide[1] : &n->narrow[1];
    n->compute = dtype == ACU_F64 ? R_64F : R_32F;
}

static acu_status by_vector(acui_vendor_work *work, const acui_sparse *s, sparse a)
{
    vector x = NULL, y = NULL;
    numbers n;
    size_t bytes = 0;
    void *memory = NULL;
    int type = type_of(s->dtype), algorithm = s->coo ? MV_COO_2 : MV_CSR_2;
    set_numbers(&n, s->dtype);
    acu_status st = said("cusparseCreateDnVec", cusparse.create_vector(&x, s->cols,
                                                                      acui_vendor_at(work, 4),
                                                                      type));
    if (st == ACU_OK)
        st = said("cusparseCreateDnVec",
                  cusparse.create_vector(&y, s->rows, acui_vendor_at(work, 0), type));
    if (st == ACU_OK)
        st = said("cusparseSpMV_bufferSize",
                  cusparse.mv_bytes(work->handle, 0, n.one, a, x, n.zero, y, n.compute, algorithm,
                                    &bytes));
    if (st == ACU_OK)
        st = acui_vendor_scratch(work, bytes, &memory);
    if (st == ACU_OK)
        st = said("cusparseSpMV", cusparse.mv(work->handle, 0, n.one, a, x, n.zero, y, n.compute,
                                              algorithm, memory));
    if (y)
        cusparse.destroy_vector(y);
    if (x)
        cusparse.destroy_vector(x);
    return st;
}

static acu_status by_matrix(acui_vendor_work *work, const acui_sparse *s, sparse a)
{
    dense x = NULL, y = NULL;
    numbers n;
    size_t bytes = 0;
    void *memory = NULL;
    int type = type_of(s->dtype), algorithm = s->coo ? MM_COO_2 : MM_CSR_2;
    set_numbers(&n, s->dtype);
    acu_status st =
        said("cusparseCreateDnMat", cusparse.create_dense(&x, s->cols, s->width, s->width,
                                                          acui_vendor_at(work, 4), type, BY_ROWS));
    if (st == ACU_OK)
        st = said("cusparseCreateDnMat",
                  cusparse.create_dense(&y, s->rows, s->width, s->width,
                                        acui_vendor_at(work, 0), type, BY_ROWS));
    if (st == ACU_OK)
        st = said("cusparseSpMM_bufferSize",
                  cusparse.mm_bytes(work->handle, 0, 0, n.one, a, x, n.zero, y, n.compute,
                                    algorithm, &bytes));
    if (st == ACU_OK)
        st = acui_vendor_scratch(work, bytes, &memory);
    if (st == ACU_OK)
        st = said("cusparseSpMM", cusparse.mm(work->handle, 0, 0, n.one, a, x, n.zero, y,
                                              n.compute, algorithm, memory));
    if (y)
        cusparse.destroy_dense(y);
    if (x)
        cusparse.destroy_dense(x);
    return st;
}

/* The descriptions are the host's, and read during the calls only. `values`: which value has the
 * elements. */
static acu_status describe(acui_vendor_work *work, size_t values, sparse *a)
{
    const acui_sparse *s = work->data;
    int index = s->wide_indices ? INDEX_64 : INDEX_32, type = type_of(s->dtype);
    void *first = acui_vendor_at(work, 1), *columns = acui_vendor_at(work, 2);
    void *at = acui_vendor_at(work, values);
    ACUI_TRY(said("cusparseSetStream", cusparse.set_stream(work->handle, work->stream)));
    if (s->coo)
        return said("cusparseCreateCoo", cusparse.create_coo(a, s->rows, s->cols, s->count, first,
                                                             columns, at, index, 0, type));
    return said("cusparseCreateCsr", cusparse.create_csr(a, s->rows, s->cols, s->count, first,
                                                         columns, at, index, index, 0, type));
}

/* Of more elements than older versions multiply, they answer only that something inside failed. */
static acu_status name_limit(const acui_sparse *s, acu_status st)
{
    if (st != ACU_ERR_DRIVER || s->count <= INT32_MAX - 127 ||
        acui_library_CUSPARSE.version >= 120800)
        return st;
    const acu_error record = *acui_error();
    return acui_fail(ACU_ERR_NOT_SUPPORTED, "%.300s; before version 12.8 (CUDA 13.3) cuSPARSE "
                     "multiplies no matrix of more than 2^31 - 128 elements", record.message);
}

acu_status acui_sparse_multiply(acui_vendor_work *work)
{
    const acui_sparse *s = work->data;
    sparse a;
    ACUI_TRY(describe(work, 3, &a));
    acu_status st = s->matrix ? by_matrix(work, s, a) : by_vector(work, s, a);
    cusparse.destroy_csr(a);
    return name_limit(s, st);
}

static acu_status make_dense(acui_vendor_work *work, size_t value, int64_t rows, int64_t cols,
                             dense *x)
{
    const acui_sparse *s = work->data;
    return said("cusparseCreateDnMat",
                cusparse.create_dense(x, rows, cols, cols, acui_vendor_at(work, value),
                                      type_of(s->dtype), BY_ROWS));
}

static acu_status sampled(acui_vendor_work *work, sparse c, dense a, dense b)
{
    const acui_sparse *s = work->data;
    numbers n;
    size_t bytes = 0;
    void *memory;
    set_numbers(&n, s->dtype);
    ACUI_TRY(said("cusparseSDDMM_bufferSize",
                  cusparse.sddmm_bytes(work->handle, 0, 0, n.one, a, b, n.zero, c, n.compute,
                                       THE_ONE, &bytes)));
    ACUI_TRY(acui_vendor_scratch(work, bytes, &memory));
    return said("cusparseSDDMM", cusparse.sddmm(work->handle, 0, 0, n.one, a, b, n.zero, c,
                                                n.compute, THE_ONE, memory));
}

acu_status acui_sparse_sddmm(acui_vendor_work *work)
{
    const acui_sparse *s = work->data;
    sparse c;
    dense a = NULL, b = NULL;
    ACUI_TRY(describe(work, 0, &c));
    acu_status st = make_dense(work, 3, s->rows, s->width, &a);
    if (st == ACU_OK)
        st = make_dense(work, 4, s->width, s->cols, &b);
    if (st == ACU_OK)
        st = sampled(work, c, a, b);
    if (b)
        cusparse.destroy_dense(b);
    if (a)
        cusparse.destroy_dense(a);
    cusparse.destroy_csr(c);
    return st;
}

acu_status acui_sparse_to_dense(acui_vendor_work *work)
{
    const acui_sparse *s = work->data;
    sparse a;
    dense x = NULL;
    size_t bytes = 0;
    void *memory = NULL;
    ACUI_TRY(describe(work, 3, &a));
    acu_status st = make_dense(work, 0, s->rows, s->cols, &x);
    if (st == ACU_OK)
        st = said("cusparseSparseToDense_bufferSize",
                  cusparse.to_dense_bytes(work->handle, a, x, THE_ONE, &bytes));
    if (st == ACU_OK)
        st = acui_vendor_scratch(work, bytes, &memory);
    if (st == ACU_OK)
        st = said("cusparseSparseToDense",
                  cusparse.to_dense(work->handle, a, x, THE_ONE, memory));
    if (x)
        cusparse.destroy_dense(x);
    cusparse.destroy_csr(a);
    return st;
}
