/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations that take elements by index, and put them by index.
 *
 * They follow the rules of ops.h. Data may be of any dtype and have any strides; indices are i32 or
 * i64, of any strides. A negative index counts from the end: -1 is the last. An index that is still
 * out of range is defined: what is read there is 0 (all bits), and what would be written there is
 * not. Results do not go over operands (SHARED), except where the comment says so. Negative
 * dimensions count from the end. Errors, of the submit: DTYPE, SHAPE, SHARED, INVALID, and those
 * of launches.
 */
#ifndef ACUDA_INDEX_H
#define ACUDA_INDEX_H

#include <acuda/ops.h>

ACU_BEGIN

/*
 * Each element of the result comes from the same place of x, but for the one dimension, where the
 * index says which: of x [5, 4] and an index [2, 4], acu_gather(x, 0, index) is the [2, 4] of
 * elements x[index[i][j]][j]. x and index have equally many dimensions; the others broadcast.
 */
#define acu_gather(x, dimension, index)                                                            \
    acu_op_gather(ACU_OPERAND(x), (dimension), ACU_OPERAND(index), ACU_SITE)
#define acu_take_along(x, dimension, index) acu_gather(x, dimension, index) /* NumPy's name */
ACU_API acu_op *acu_op_gather(acu_op *x, int dimension, acu_op *index, acu_site site);

/* Whole rows, columns, ...: of x [5, 4] and an index [3], acu_index_select(x, 0, index) is the
 * [3, 4] of rows x[index[i]]. The index has one dimension. */
#define acu_index_select(x, dimension, index)                                                      \
    acu_op_index_select(ACU_OPERAND(x), (dimension), ACU_OPERAND(index), ACU_SITE)
ACU_API acu_op *acu_op_index_select(acu_op *x, int dimension, acu_op *index, acu_site site);

/*
 * x, with elements of `source` put in by index, as a new tensor; acu_into(x, acu_scatter(x, ...))
 * changes x itself. In acu_scatter, source [2, 4] and an index [2, 4] put source[i][j] to row
 * index[i][j] and column j of x [5, 4] along dimension 0: the inverse of acu_gather; the source
 * broadcasts to the index, and the index to x's other dimensions. In acu_index_put, an index [3]
 * puts the rows of source [3, 4] to rows of x: the inverse of acu_index_select.
 *
 * If several elements go to one place, the same bits result on every device:
 *   ACU_SCATTER_SET  the last of them, in row-major order, stays
 *   ACU_SCATTER_ADD  their sum with what x has, in double or 64-bit integers, rounded once; in an
 *                    order that follows from the index alone
 *   ACU_SCATTER_MIN, ACU_SCATTER_MAX   the least or greatest of them and what x has; NaN if any is
 * The indices are sorted for that, with the limits of sort.h. SET is for all dtypes, the others for
 * numbers and bool (of which ADD is "or"), and ADD for c64 and c128.
 */
typedef enum acu_scatter_kind {
    ACU_SCATTER_SET,
    ACU_SCATTER_ADD,
    ACU_SCATTER_MIN,
    ACU_SCATTER_MAX
} acu_scatter_kind;
#define acu_scatter(kind, x, dimension, index, source)                                             \
    acu_op_scatter((kind), ACU_OPERAND(x), (dimension), ACU_OPERAND(index), ACU_OPERAND(source),   \
                   ACU_SITE)
#define acu_index_put(kind, x, dimension, index, source)                                           \
    acu_op_index_put((kind), ACU_OPERAND(x), (dimension), ACU_OPERAND(index), ACU_OPERAND(source), \
                     ACU_SITE)
ACU_API acu_op *acu_op_scatter(acu_scatter_kind kind, acu_op *x, int dimension, acu_op *index,
                               acu_op *source, acu_site site);
ACU_API acu_op *acu_op_index_put(acu_scatter_kind kind, acu_op *x, int dimension, acu_op *index,
                                 acu_op *source, acu_site site);

ACU_END
#endif
