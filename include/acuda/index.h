/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations that take elements by index.
 *
 * They follow the rules of ops.h. Data may be of any dtype and have any strides; indices are i32 or
 * i64, of any strides. A negative index counts from the end: -1 is the last. An index that is still
 * out of range is defined: what is read there is 0 (all bits). Results do not go over operands
 * (SHARED). Negative dimensions count from the end. Errors, of the submit: DTYPE, SHAPE, SHARED,
 * INVALID, and those of launches.
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

ACU_END
#endif
