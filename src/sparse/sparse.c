/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sparse matrices as operations: shapes, checked before cuSPARSE is called. */
#include "sparse/cusparse.h"

#include "base/error.h"
#include "ops/ops.h"

#include <acuda/sparse.h>

#include <string.h>

enum { CSR_MATMUL, COO_MATMUL, CSR_SDDMM, CSR_DENSE };

static const struct kind {
    const char *name;
    acui_vendor_fn fn;
    size_t count;
    const char *operands[4];
} kinds[] = {
    {"csr_matmul", acui_sparse_multiply, 4, {"offsets", "columns", "values", "x"}},
    {"coo_matmul", acui_sparse_multiply, 4, {"rows", "columns", "values", "x"}},
    {"csr_sddmm", acui_sparse_sddmm, 4, {"offsets", "columns", "a", "b"}},
    {"csr_to_dense", acui_sparse_to_dense, 3, {"offsets", "columns", "values"}},
};

typedef struct request {
    int kind;
    int64_t rows, cols; /* rows: of COO only */
} request;

static acu_op *refuse(const acu_planning *p, acu_status status, size_t i, const char *why)
{
    char words[ACUI_OPS_WORDS];
    const struct kind *k = &kinds[((const request *)p->data)->kind];
    return acu_op_fail(status, k->name, p->site, "%s: %s (%s) %s", k->name, k->operands[i],
                       acui_value_words(&p->values[i], words), why);
}

static bool computes(acu_dtype dtype, bool matrix)
{
    return dtype == ACU_F32 || dtype == ACU_F64 ||
           (matrix && (dtype == ACU_F16 || dtype == ACU_BF16));
}

static acu_op *check_each(const acu_planning *p, int kind)
{
    for (size_t i = 0; i < kinds[kind].count; i++) {
        const acu_tensor *t = p->values[i].kind == ACU_TENSOR ? p->values[i].tensor : NULL;
        bool matrix = kind == CSR_SDDMM && i > 1, either = kind <= COO_MATMUL && i == 3;
        if (!t)
            return refuse(p, ACU_ERR_INVALID, i, "must be a tensor");
        int rank = acu_tensor_shape(t).rank;
        if (rank != (matrix ? 2 : 1) && !(either && rank == 2))
            return refuse(p, ACU_ERR_SHAPE, i, matrix   ? "must be a matrix"
                                               : either ? "must be a vector or a matrix"
                                                        : "must be a vector");
        if (!acu_tensor_dense(t))
            return refuse(p, ACU_ERR_INVALID, i, "must be dense (acu_dup makes a dense copy)");
    }
    return NULL;
}

/* What indices of i32 can not count, cuSPARSE would read as something else. */
static acu_op *check_counts(const acu_planning *p, const acui_sparse *s)
{
    const int64_t counts[] = {s->count, s->rows, s->cols};
    for (int i = 0; i < 3 && !s->wide_indices; i++)
        if (counts[i] > INT32_MAX)
            return refuse(p, ACU_ERR_LIMIT, 1, "are too narrow for a matrix of 2^31 elements, rows "
                          "or columns and more, which takes indices of i64");
    return NULL;
}

/* The places of elements: value 0 and value 1. */
static acu_op *check_places(const acu_planning *p, const request *r, acui_sparse *s)
{
    const acu_tensor *first = p->values[0].tensor, *columns = p->values[1].tensor;
    acu_dtype index = acu_tensor_dtype(first);
    bool coo = r->kind == COO_MATMUL;
    if ((index != ACU_I32 && index != ACU_I64) || acu_tensor_dtype(columns) != index)
        return refuse(p, ACU_ERR_DTYPE, 1, coo ? "and the rows must both be i32 or both i64"
                                               : "and the offsets must both be i32 or both i64");
    s->wide_indices = index == ACU_I64;
    s->coo = coo;
    s->cols = r->cols;
    s->count = acu_tensor_shape(columns).dim[0];
    s->rows = coo ? r->rows : acu_tensor_shape(first).dim[0] - 1;
    if (coo && acu_tensor_shape(first).dim[0] != s->count)
        return refuse(p, ACU_ERR_SHAPE, 0, "must be as many as the columns");
    if (coo && s->rows < 1)
        return refuse(p, ACU_ERR_INVALID, 0, "are of a matrix without rows");
    if (s->rows < 1)
        return refuse(p, ACU_ERR_SHAPE, 0, "must have one element more than the matrix has rows");
    return NULL;
}

static acu_op *check_values(const acu_planning *p, acui_sparse *s)
{
    s->dtype = acu_tensor_dtype(p->values[2].tensor);
    if (!computes(s->dtype, s->matrix))
        return refuse(p, ACU_ERR_DTYPE, 2, "must be f32 or f64, or for a matrix f16 or bf16");
    if (acu_tensor_shape(p->values[2].tensor).dim[0] != s->count)
        return refuse(p, ACU_ERR_SHAPE, 1, "must be as many as the values");
    return s->cols >= 1 ? NULL : refuse(p, ACU_ERR_INVALID, 1, "are of a matrix without any");
}

static acu_op *check_product(const acu_planning *p, acui_sparse *s)
{
    acu_shape shape = acu_tensor_shape(p->values[3].tensor);
    s->matrix = shape.rank == 2;
    s->width = s->matrix ? shape.dim[1] : 1;
    acu_op *failed = check_values(p, s);
    if (failed)
        return failed;
    if (acu_tensor_dtype(p->values[3].tensor) != s->dtype)
        return refuse(p, ACU_ERR_DTYPE, 3, "must have the dtype of the values");
    if (s->cols != shape.dim[0])
        return refuse(p, ACU_ERR_SHAPE, 3, "must have as many rows as the matrix has columns");
    return NULL;
}

/* The product of two dense matrices, at the places of the sparse one. */
static acu_op *check_sampled(const acu_planning *p, acui_sparse *s)
{
    acu_shape a = acu_tensor_shape(p->values[2].tensor), b = acu_tensor_shape(p->values[3].tensor);
    s->dtype = acu_tensor_dtype(p->values[2].tensor);
    s->cols = b.dim[1];
    s->width = a.dim[1];
    if (s->dtype != ACU_F32 && s->dtype != ACU_F64)
        return refuse(p, ACU_ERR_DTYPE, 2, "must be f32 or f64");
    if (acu_tensor_dtype(p->values[3].tensor) != s->dtype)
        return refuse(p, ACU_ERR_DTYPE, 3, "must have the dtype of a");
    if (a.dim[0] != s->rows)
        return refuse(p, ACU_ERR_SHAPE, 2, "must have as many rows as the sparse matrix");
    return b.dim[0] == s->width
               ? NULL
               : refuse(p, ACU_ERR_SHAPE, 3, "must have as many rows as a has columns");
}

static acu_op *check(const acu_planning *p, const request *r, acui_sparse *s)
{
    acu_op *failed = check_each(p, r->kind);
    if (!failed)
        failed = check_places(p, r, s);
    if (!failed)
        failed = r->kind == CSR_SDDMM   ? check_sampled(p, s)
                 : r->kind == CSR_DENSE ? check_values(p, s)
                                        : check_product(p, s);
    if (!failed)
        failed = check_counts(p, s);
    if (failed)
        return failed;
    const char *name = kinds[r->kind].name;
    if (p->out.tensor && !acu_tensor_dense(p->out.tensor))
        return acu_op_fail(ACU_ERR_INVALID, name, p->site, "%s: its result must go to a dense "
                           "tensor", name);
    for (size_t i = 0; p->out.tensor && i < kinds[r->kind].count; i++)
        if (acu_tensor_buffer(p->out.tensor) == acu_tensor_buffer(p->values[i].tensor) &&
            acui_same_place(p->out.tensor, p->values[i].tensor))
            return refuse(p, ACU_ERR_SHARED, i, "would be overwritten before it is read");
    return NULL;
}

static acu_shape result_of(int kind, const acui_sparse *s)
{
    if (kind == CSR_SDDMM)
        return ACU_SHAPE(s->count);
    if (kind == CSR_DENSE)
        return ACU_SHAPE(s->rows, s->cols);
    return s->matrix ? ACU_SHAPE(s->rows, s->width) : ACU_SHAPE(s->rows);
}

static acu_op *plan(acu_planning *p)
{
    request r;
    acui_sparse s;
    acu_arg args[5];
    memset(&s, 0, sizeof s);
    memcpy(&r, p->data, sizeof r);
    acu_op *failed = acui_refuse_empty(p, kinds[r.kind].name);
    if (!failed)
        failed = check(p, &r, &s);
    if (failed)
        return failed;
    const struct kind *k = &kinds[r.kind];
    args[0] = acu_arg_op(acui_result(p, k->name, s.dtype, result_of(r.kind, &s)), ACU_WRITE);
    for (size_t i = 0; i < k->count; i++)
        args[i + 1] = acu_arg_op(acu_op_take(&p->values[i], p->site), ACU_READ);
    acui_vendor_call call = {.library = &acui_library_CUSPARSE,
                             .name = k->name,
                             .fn = k->fn,
                             .repeats = ACUI_REPEATED,
                             .data = &s,
                             .bytes = sizeof s};
    return acu_op_nth(acui_vendor_op(&call, args, k->count + 1, p->site), 0, p->site);
}

static acu_op *make(request r, acu_op *const *operands, acu_site site)
{
    const struct kind *k = &kinds[r.kind];
    acu_custom custom = {.name = k->name, .fn = plan, .data = &r, .bytes = sizeof r};
    return acu_op_custom(custom, operands, k->count, site);
}

acu_op *acu_op_csr_matmul(acu_op *offsets, acu_op *columns, acu_op *values, int64_t cols,
                          acu_op *x, acu_site site)
{
    return make((request){.kind = CSR_MATMUL, .cols = cols},
                (acu_op *const[]){offsets, columns, values, x}, site);
}

acu_op *acu_op_coo_matmul(acu_op *rows, acu_op *columns, acu_op *values, int64_t row_count,
                          int64_t cols, acu_op *x, acu_site site)
{
    return make((request){.kind = COO_MATMUL, .rows = row_count, .cols = cols},
                (acu_op *const[]){rows, columns, values, x}, site);
}

acu_op *acu_op_csr_sddmm(acu_op *offsets, acu_op *columns, acu_op *a, acu_op *b, acu_site site)
{
    return make((request){.kind = CSR_SDDMM}, (acu_op *const[]){offsets, columns, a, b}, site);
}

acu_op *acu_op_csr_to_dense(acu_op *offsets, acu_op *columns, acu_op *values, int64_t cols,
                            acu_site site)
{
    return make((request){.kind = CSR_DENSE, .cols = cols},
                (acu_op *const[]){offsets, columns, values}, site);
}
