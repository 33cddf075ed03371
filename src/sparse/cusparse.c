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
       int compute, int algorithm, void *memory))

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
/* The algorithms for CSR that give the same bits every time. */
enum { MV_CSR_2 = 3, MM_CSR_2 = 6 };

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

static acu_status by_vector(acui_vendor_work *work, const acui_csr *csr, sparse a)
{
    vector x = NULL, y = NULL;
    numbers n;
    size_t bytes = 0;
    void *memory = NULL;
    int type = type_of(csr->dtype);
    set_numbers(&n, csr->dtype);
    acu_status st = said("cusparseCreateDnVec", cusparse.create_vector(&x, csr->cols,
                                                                      acui_vendor_at(work, 4),
                                                                      type));
    if (st == ACU_OK)
        st = said("cusparseCreateDnVec",
                  cusparse.create_vector(&y, csr->rows, acui_vendor_at(work, 0), type));
    if (st == ACU_OK)
        st = said("cusparseSpMV_bufferSize",
                  cusparse.mv_bytes(work->handle, 0, n.one, a, x, n.zero, y, n.compute, MV_CSR_2,
                                    &bytes));
    if (st == ACU_OK)
        st = acui_vendor_scratch(work, bytes, &memory);
    if (st == ACU_OK)
        st = said("cusparseSpMV", cusparse.mv(work->handle, 0, n.one, a, x, n.zero, y, n.compute,
                                              MV_CSR_2, memory));
    if (y)
        cusparse.destroy_vector(y);
    if (x)
        cusparse.destroy_vector(x);
    return st;
}

static acu_status by_matrix(acui_vendor_work *work, const acui_csr *csr, sparse a)
{
    dense x = NULL, y = NULL;
    numbers n;
    size_t bytes = 0;
    void *memory = NULL;
    int type = type_of(csr->dtype);
    set_numbers(&n, csr->dtype);
    acu_status st =
        said("cusparseCreateDnMat", cusparse.create_dense(&x, csr->cols, csr->width, csr->width,
                                                          acui_vendor_at(work, 4), type, BY_ROWS));
    if (st == ACU_OK)
        st = said("cusparseCreateDnMat",
                  cusparse.create_dense(&y, csr->rows, csr->width, csr->width,
                                        acui_vendor_at(work, 0), type, BY_ROWS));
    if (st == ACU_OK)
        st = said("cusparseSpMM_bufferSize",
                  cusparse.mm_bytes(work->handle, 0, 0, n.one, a, x, n.zero, y, n.compute,
                                    MM_CSR_2, &bytes));
    if (st == ACU_OK)
        st = acui_vendor_scratch(work, bytes, &memory);
    if (st == ACU_OK)
        st = said("cusparseSpMM", cusparse.mm(work->handle, 0, 0, n.one, a, x, n.zero, y,
                                              n.compute, MM_CSR_2, memory));
    if (y)
        cusparse.destroy_dense(y);
    if (x)
        cusparse.destroy_dense(x);
    return st;
}

/* The descriptions are the host's, and read during the calls only. */
acu_status acui_csr_multiply(acui_vendor_work *work)
{
    const acui_csr *csr = work->data;
    sparse a;
    int index = csr->wide_indices ? INDEX_64 : INDEX_32;
    ACUI_TRY(said("cusparseSetStream", cusparse.set_stream(work->handle, work->stream)));
    ACUI_TRY(said("cusparseCreateCsr",
                  cusparse.create_csr(&a, csr->rows, csr->cols, csr->count, acui_vendor_at(work, 1),
                                      acui_vendor_at(work, 2), acui_vendor_at(work, 3), index,
                                      index, 0, type_of(csr->dtype))));
    acu_status st = csr->matrix ? by_matrix(work, csr, a) : by_vector(work, csr, a);
    cusparse.destroy_csr(a);
    return st;
}
