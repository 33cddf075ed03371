/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: running sums, products, maxima and minima along a dimension; and scans by a
 * binary operation of the program's own.
 *
 * They follow the rules of ops.h. The result has the operand's shape; element i of it is what
 * elements 0 .. i of the operand give together. Floating point is accumulated in double and rounded
 * once for each element, integers in 64 bits, in an order that follows from the shape: every run
 * and every device gives the same bits.
 *
 *   acu_cumsum, acu_cumprod   f16, bf16, f32 and f64 stay what they are; integers and bool become
 *                             i64, unsigned ones u64, and wrap around; c64 and c128 too
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

/*
 * A scan by an expression (acu_expression_create, ops.h) of two operands that are called a and b:
 * what is to the left, and to the right. It must be associative, need not be commutative, and the
 * identity is a number that changes nothing on either side.
 *
 *   acu_expression_create("a != 0 && b == 0 ? a : b", &last);      the last that is not 0
 *   acu_op *y = acu_scan_by(last, x, -1, 0);                       0 5 0 0 7 gives 0 5 5 5 7
 *
 * Element i of acu_scan_by combines the identity and elements 0 .. i; that of
 * acu_scan_by_exclusive, 0 .. i - 1. Of numbers of any kind, computed as acu_fused does, and
 * rounded or cut once for each element, in an order that follows from the shape: every run on a
 * device gives the same bits. The result has x's dtype. Functions are those of acu_fused, with its
 * exceptions to equal bits on every device. One launch, or two for few long rows. Further errors:
 * ARGUMENTS (not of a and b), those of acu_compile.
 */
#define acu_scan_by(operation, x, dimension, identity)                                             \
    acu_op_scan_by((operation), ACU_OPERAND(x), (dimension), ACU_TERM(identity), false, ACU_SITE)
#define acu_scan_by_exclusive(operation, x, dimension, identity)                                   \
    acu_op_scan_by((operation), ACU_OPERAND(x), (dimension), ACU_TERM(identity), true, ACU_SITE)
ACU_API acu_op *acu_op_scan_by(acu_expression *operation, acu_op *x, int dimension,
                               acu_op *identity, bool exclusive, acu_site site);

ACU_END
#endif
