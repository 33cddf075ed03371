/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Products with sparse matrices as operations: shapes, checked before cuSPARSE is called. */
#include "sparse/cusparse.h"

#include "base/error.h"
#include "ops/ops.h"

#include <acuda/sparse.h>

#include <string.h>

static const char name[] = "csr_matmul";
static const char *const operands[] = {"offsets", "columns", "values", "x"};

static acu_op *refuse(const acu_planning *p, acu_status status, size_t i, const char *why)
{
    char words[ACUI_OPS_WORDS];
    return acu_op_fail(status, name, p->site, "%s: %s (%s) %s", name, operands[i],
                       acui_value_words(&p->values[i], words), why);
}

static bool is_dense(const acu_tensor *t)
{
    acu_shape shape = acu_tensor_shape(t);
    int64_t stride = 1;
    for (int i = shape.rank - 1; i >= 0; i--) {
        if (shape.dim[i] != 1 && acu_tensor_strides(t)[i] != stride)
            return false;
        stride *= shape.dim[i];
    }
    return true;
}

static acu_op *check_each(const acu_planning *p)
{
    for (size_t i = 0; i < 4; i++) {
        const acu_tensor *t = p->values[i].kind == ACU_TENSOR ? p->values[i].tensor : NULL;
        if (!t)
            return refuse(p, ACU_ERR_INVALID, i, "must be a tensor");
        int rank = acu_tensor_shape(t).rank;
        if (rank != 1 && !(i == 3 && rank == 2))
            return refuse(p, ACU_ERR_SHAPE, i, i == 3 ? "must be a vector or a matrix"
                                                      : "must be a vector");
        if (!is_dense(t))
            return refuse(p, ACU_ERR_INVALID, i, "must be dense (acu_dup makes a dense copy)");
    }
    return NULL;
}

static bool computes(acu_dtype dtype, bool matrix)
{
    return dtype == ACU_F32 || dtype == ACU_F64 ||
           (matrix && (dtype == ACU_F16 || dtype == ACU_BF16));
}

static acu_op *check(const acu_planning *p, int64_t cols, acui_csr *csr)
{
    acu_op *failed = check_each(p);
    if (failed)
        return failed;
    const acu_tensor *offsets = p->values[0].tensor, *columns = p->values[1].tensor;
    const acu_tensor *values = p->values[2].tensor, *x = p->values[3].tensor;
    acu_shape shape = acu_tensor_shape(x);
    acu_dtype index = acu_tensor_dtype(offsets);
    if ((index != ACU_I32 && index != ACU_I64) || acu_tensor_dtype(columns) != index)
        return refuse(p, ACU_ERR_DTYPE, 1, "and the offsets must both be i32 or both i64");
    csr->matrix = shape.rank == 2;
    csr->dtype = acu_tensor_dtype(values);
    if (!computes(csr->dtype, csr->matrix))
        return refuse(p, ACU_ERR_DTYPE, 2, "must be f32 or f64, or for a matrix f16 or bf16");
    if (acu_tensor_dtype(x) != csr->dtype)
        return refuse(p, ACU_ERR_DTYPE, 3, "must have the dtype of the values");
    csr->rows = acu_tensor_shape(offsets).dim[0] - 1;
    csr->cols = cols;
    csr->count = acu_tensor_shape(values).dim[0];
    csr->width = csr->matrix ? shape.dim[1] : 1;
    csr->wide_indices = index == ACU_I64;
    if (csr->rows < 1)
        return refuse(p, ACU_ERR_SHAPE, 0, "must have one element more than the matrix has rows");
    if (acu_tensor_shape(columns).dim[0] != csr->count)
        return refuse(p, ACU_ERR_SHAPE, 1, "must be as many as the values");
    if (cols != shape.dim[0])
        return refuse(p, ACU_ERR_SHAPE, 3, "must have as many rows as the matrix has columns");
    if (p->out.tensor && !is_dense(p->out.tensor))
        return acu_op_fail(ACU_ERR_INVALID, name, p->site, "%s: its result must go to a dense "
                           "tensor", name);
    return NULL;
}

static acu_op *plan(acu_planning *p)
{
    int64_t cols;
    acui_csr csr;
    acu_arg args[5];
    memset(&csr, 0, sizeof csr);
    memcpy(&cols, p->data, sizeof cols);
    acu_op *failed = check(p, cols, &csr);
    if (failed)
        return failed;
    acu_shape shape = csr.matrix ? ACU_SHAPE(csr.rows, csr.width) : ACU_SHAPE(csr.rows);
    for (size_t i = 0; p->out.tensor && i < 4; i++)
        if (acu_tensor_buffer(p->out.tensor) == acu_tensor_buffer(p->values[i].tensor) &&
            acui_same_place(p->out.tensor, p->values[i].tensor))
            return refuse(p, ACU_ERR_SHARED, i, "would be overwritten before it is read");
    args[0] = acu_arg_op(acui_result(p, name, csr.dtype, shape), ACU_WRITE);
    for (size_t i = 0; i < 4; i++)
        args[i + 1] = acu_arg_op(acu_op_take(&p->values[i], p->site), ACU_READ);
    acui_vendor_call call = {.library = &acui_library_CUSPARSE,
                             .name = name,
                             .fn = acui_csr_multiply,
                             .data = &csr,
                             .bytes = sizeof csr};
    return acu_op_nth(acui_vendor_op(&call, args, 5, p->site), 0, p->site);
}

acu_op *acu_op_csr_matmul(acu_op *offsets, acu_op *columns, acu_op *values, int64_t cols,
                          acu_op *x, acu_site site)
{
    acu_custom custom = {.name = name, .fn = plan, .data = &cols, .bytes = sizeof cols};
    return acu_op_custom(custom, (acu_op *const[]){offsets, columns, values, x}, 4, site);
}
