/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Products with sparse matrices by cuSPARSE, as operations among others.
 *
 *   acu_op *y = acu_csr_matmul(offsets, columns, values, 1000, x);      y = a x
 *
 * A sparse matrix of `rows` rows and `cols` columns is three dense vectors (compressed rows, CSR):
 * offsets [rows + 1], where each row begins in the other two; columns [count], of each element,
 * counted from 0; values [count]. Offsets and columns are both i32 or both i64, and are not
 * checked: offsets that do not grow, or columns that are not below `cols`, read memory of others.
 *
 * cuSPARSE must be found (vendor.h): else NOT_FOUND. Temporary memory comes from the device's pool.
 * The same operands give the same bits in every run. In explicit graphs the calls are captured.
 */
#ifndef ACUDA_SPARSE_H
#define ACUDA_SPARSE_H

#include <acuda/op.h>
#include <acuda/vendor.h>

ACU_BEGIN

/*
 * The product with a dense vector or matrix: x [cols] gives [rows], x [cols, n] gives [rows, n].
 * All operands are dense (acu_dup makes a dense copy), and are tensors or ops that yield them.
 * values and x have one dtype: f32 or f64, for matrices also f16 and bf16, summed in f32. The
 * result is new, or goes where acu_into says, which is dense too.
 *
 * Errors: SHAPE, DTYPE, INVALID (a tensor that is not dense), DEVICE, NOT_FOUND; of the future:
 * DRIVER, NOT_SUPPORTED, DEVICE_MEMORY, with cuSPARSE's name for the status. Does not block.
 * Driver: what cuSPARSE calls.
 */
#define acu_csr_matmul(offsets, columns, values, cols, x)                                          \
    acu_op_csr_matmul(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_OPERAND(values), (cols),     \
                      ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_csr_matmul(acu_op *offsets, acu_op *columns, acu_op *values, int64_t cols,
                                  acu_op *x, acu_site site);

ACU_END
#endif
