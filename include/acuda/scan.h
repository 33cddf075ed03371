/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: running sums, products, maxima and minima along a dimension.
 *
 * They follow the rules of ops.h. The result has the operand's shape; element i of it is what
 * elements 0 .. i of the operand give together. Floating point is accumulated in double and rounded
 * once for each element, integers in 64 bits, in an order that follows from the shape: every run
 * and every device gives the same bits.
 *
 *   acu_cumsum, acu_cumprod   f16, bf16, f32 and f64 stay what they are; integers and bool become
 *                             i64, unsigned ones u64, and wrap around
 *   acu_cummax, acu_cummin    numbers and bool, of the same dtype; from the first NaN on, NaN
 *
 * A result may go over its operand. Negative dimensions count from the end. Errors, of the submit:
 * DTYPE, SHAPE, SHARED, INVALID, and those of launches.
 */
#ifndef ACUDA_SCAN_H
#define ACUDA_SCAN_H

#include <acuda/ops.h>

ACU_BEGIN

typedef enum acu_scan_kind {
    ACU_SCAN_SUM,
    ACU_SCAN_PROD,
    ACU_SCAN_MAX,
    ACU_SCAN_MIN
} acu_scan_kind;
ACU_API acu_op *acu_op_scan(acu_scan_kind kind, acu_op *x, int dimension, acu_site site);
#define ACUI_SCAN_BY(id, x, dimension) \
    acu_op_scan(ACU_SCAN_##id, ACU_OPERAND(x), (dimension), ACU_SITE)
#define acu_cumsum(x, dimension) ACUI_SCAN_BY(SUM, x, dimension)
#define acu_cumprod(x, dimension) ACUI_SCAN_BY(PROD, x, dimension)
#define acu_cummax(x, dimension) ACUI_SCAN_BY(MAX, x, dimension)
#define acu_cummin(x, dimension) ACUI_SCAN_BY(MIN, x, dimension)

ACU_END
#endif
