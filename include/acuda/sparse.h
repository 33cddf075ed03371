/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sparse matrices by cuSPARSE: products and conversions, as operations among others.
 *
 *   acu_op *y = acu_csr_matmul(offsets, columns, values, 1000, x);      y = a x
 *
 * A sparse matrix of `rows` rows and `cols` columns is three dense vectors (compressed rows, CSR):
 * offsets [rows + 1], where each row begins in the other two; columns [count], of each element,
 * counted from 0; values [count]. Offsets and columns are both i32 or both i64, and are not
 * checked: offsets that do not grow, or columns that are not below `cols`, read memory of others.
 * 2^31 elements, rows or columns, and more, take i64 (else LIMIT).
 * In coordinates (COO), the first vector is instead the row of each element [count], ascending.
 *
 * cuSPARSE must be found (vendor.h), but for conversions: else NOT_FOUND. Temporary memory comes
 * from the device's pool. The same operands give the same bits in every run. In graphs, cached
 * and explicit, the calls are captured.
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
 * Errors: SHAPE, DTYPE, LIMIT, INVALID (a tensor that is not dense), DEVICE, NOT_FOUND; of the
 * future: DRIVER, NOT_SUPPORTED, DEVICE_MEMORY, with cuSPARSE's name for the status: more than
 * 2^31 - 128 elements take cuSPARSE 12.8 (CUDA 13.3). Does not block. Driver: what cuSPARSE calls.
 */
#define acu_csr_matmul(offsets, columns, values, cols, x)                                          \
    acu_op_csr_matmul(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_OPERAND(values), (cols),     \
                      ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_csr_matmul(acu_op *offsets, acu_op *columns, acu_op *values, int64_t cols,
                                  acu_op *x, acu_site site);

/* The same of a matrix in coordinates, of `row_count` rows. */
#define acu_coo_matmul(rows, columns, values, row_count, cols, x)                                  \
    acu_op_coo_matmul(ACU_OPERAND(rows), ACU_OPERAND(columns), ACU_OPERAND(values), (row_count),   \
                      (cols), ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_coo_matmul(acu_op *rows, acu_op *columns, acu_op *values,
                                  int64_t row_count, int64_t cols, acu_op *x, acu_site site);

/* The product of two dense matrices where the sparse one has elements (SDDMM): values [count] of
 * a b, a [rows, k], b [k, cols], at the places of offsets and columns. f32, f64; else as above. */
#define acu_csr_sddmm(offsets, columns, a, b)                                                      \
    acu_op_csr_sddmm(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_OPERAND(a), ACU_OPERAND(b),   \
                     ACU_SITE)
ACU_API acu_op *acu_op_csr_sddmm(acu_op *offsets, acu_op *columns, acu_op *a, acu_op *b,
                                 acu_site site);

/* The dense matrix [rows, cols], with zeros where the sparse one has no element. f32 and f64. */
#define acu_csr_to_dense(offsets, columns, values, cols)                                           \
    acu_op_csr_to_dense(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_OPERAND(values), (cols),   \
                        ACU_SITE)
ACU_API acu_op *acu_op_csr_to_dense(acu_op *offsets, acu_op *columns, acu_op *values, int64_t cols,
                                    acu_site site);

/* ---- other forms ---------------------------------------------------------------------------- */

/*
 * Made of acuda's own operations, so these need no cuSPARSE; of any strides and any dtype of
 * numbers, with the same bits in every run. Results are new tensors; where there is one, acu_into
 * says where it goes. Errors: SHAPE, DTYPE, LIMIT, INVALID (sizes), and those of the operations
 * that they are made of. None blocks.
 */

/* From compressed rows to coordinates: the row of each element, of the dtype of the indices;
 * columns and values stay as they are. And back: the offsets [row_count + 1] of ascending rows. */
#define acu_csr_to_rows(offsets, columns)                                                          \
    acu_op_csr_to_rows(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_SITE)
#define acu_coo_to_offsets(rows, row_count)                                                        \
    acu_op_coo_to_offsets(ACU_OPERAND(rows), (row_count), ACU_SITE)
ACU_API acu_op *acu_op_csr_to_rows(acu_op *offsets, acu_op *columns, acu_site site);
ACU_API acu_op *acu_op_coo_to_offsets(acu_op *rows, int64_t row_count, acu_site site);

/* Yields rows, columns and values in ascending order of rows and, within a row, of columns; those
 * of one place in the order that they had. `cols`: of the matrix; rows times cols is below 2^63. */
#define acu_coo_sort(rows, columns, values, cols)                                                  \
    acu_op_coo_sort(ACU_OPERAND(rows), ACU_OPERAND(columns), ACU_OPERAND(values), (cols), ACU_SITE)
ACU_API acu_op *acu_op_coo_sort(acu_op *rows, acu_op *columns, acu_op *values, int64_t cols,
                                acu_site site);

/* The dense matrix [row_count, cols]; elements of one place are added. In any order. */
#define acu_coo_to_dense(rows, columns, values, row_count, cols)                                   \
    acu_op_coo_to_dense(ACU_OPERAND(rows), ACU_OPERAND(columns), ACU_OPERAND(values), (row_count), \
                        (cols), ACU_SITE)
ACU_API acu_op *acu_op_coo_to_dense(acu_op *rows, acu_op *columns, acu_op *values,
                                    int64_t row_count, int64_t cols, acu_site site);

/* Yields offsets and columns, of i64, and values of the elements of x that are not 0. Columns and
 * values are `count`: how many these are, or more; what is more belongs to no row, and what is too
 * many for it is left out, though the offsets count it. */
#define acu_dense_to_csr(x, count) acu_op_dense_to_csr(ACU_OPERAND(x), (count), ACU_SITE)
ACU_API acu_op *acu_op_dense_to_csr(acu_op *x, int64_t count, acu_site site);

/*
 * Matrices in blocks (BSR): offsets [n + 1] and columns [count] as above, of blocks instead of
 * elements, and the blocks [count, size, size]; the matrix has n * size rows and `cols` columns, of
 * elements, a multiple of `size`. The dense matrix; and the product with x [cols] or [cols, m], by
 * acu_matmul for the blocks (cuBLAS, where it is) and cuSPARSE for their sums, which needs it, as
 * acu_csr_matmul does: f32 and f64, for matrices f16 and bf16, in which each block's product is
 * rounded. It takes temporary memory of count * size * m elements.
 */
#define acu_bsr_to_dense(offsets, columns, blocks, cols)                                           \
    acu_op_bsr_to_dense(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_OPERAND(blocks), (cols),   \
                        ACU_SITE)
#define acu_bsr_matmul(offsets, columns, blocks, cols, x)                                          \
    acu_op_bsr_matmul(ACU_OPERAND(offsets), ACU_OPERAND(columns), ACU_OPERAND(blocks), (cols),     \
                      ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_bsr_to_dense(acu_op *offsets, acu_op *columns, acu_op *blocks, int64_t cols,
                                    acu_site site);
ACU_API acu_op *acu_op_bsr_matmul(acu_op *offsets, acu_op *columns, acu_op *blocks, int64_t cols,
                                  acu_op *x, acu_site site);

/* Yields offsets and columns, of i64, and the blocks of x that have an element that is not 0, of
 * `block_size` rows and columns, of which x has multiples. `count` of them, as acu_dense_to_csr has
 * it. Of a matrix in compressed rows, by way of acu_csr_to_dense. */
#define acu_dense_to_bsr(x, block_size, count)                                                     \
    acu_op_dense_to_bsr(ACU_OPERAND(x), (block_size), (count), ACU_SITE)
ACU_API acu_op *acu_op_dense_to_bsr(acu_op *x, int64_t block_size, int64_t count, acu_site site);

ACU_END
#endif
