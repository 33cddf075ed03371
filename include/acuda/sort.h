/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: sorting along a dimension, and what is made of sorted elements.
 *
 * They follow the rules of ops.h and take numbers and bool, of any strides. All are stable: equal
 * elements stay in their order, so results are the same on every device. In floating point, -0 and
 * 0 are equal, and NaN is greater than every number: last when ascending, first when descending.
 * At most 2^31 - 1 elements (LIMIT). Negative dimensions count from the end. Results do not go over
 * operands (SHARED).
 *
 * Rows of at most 2,048 elements take one launch. Longer ones are sorted by one byte of the
 * elements after the other, each of which reads and writes them once. acu_sort takes temporary
 * memory of 8 bytes for each element (of elements of 8 bytes: 16), acu_argsort of 8 more, and a
 * little more. Errors, of the submit: DTYPE, SHAPE, SHARED, INVALID, LIMIT, and
 * those of launches.
 */
#ifndef ACUDA_SORT_H
#define ACUDA_SORT_H

#include <acuda/ops.h>

ACU_BEGIN

typedef enum acu_sort_order { ACU_ASCENDING, ACU_DESCENDING } acu_sort_order;

/* The elements in order; and, as i64, the places that they had: the smallest one's first. */
#define acu_sort(x, dimension, order) acu_op_sort(ACU_OPERAND(x), (dimension), (order), ACU_SITE)
#define acu_argsort(x, dimension, order)                                                           \
    acu_op_argsort(ACU_OPERAND(x), (dimension), (order), ACU_SITE)
ACU_API acu_op *acu_op_sort(acu_op *x, int dimension, acu_sort_order order, acu_site site);
ACU_API acu_op *acu_op_argsort(acu_op *x, int dimension, acu_sort_order order, acu_site site);

/* The elements of `values`, which has the shape of `keys` and any dtype, in the order of the keys.
 * To sort several by one key, use acu_argsort once and acu_gather (index.h) for each. */
#define acu_sort_by(keys, values, dimension, order)                                                \
    acu_op_sort_by(ACU_OPERAND(keys), ACU_OPERAND(values), (dimension), (order), ACU_SITE)
ACU_API acu_op *acu_op_sort_by(acu_op *keys, acu_op *values, int dimension, acu_sort_order order,
                               acu_site site);

/* Segments of any lengths, each sorted by itself: segment i of x, [n], is x[offsets[i]] to
 * x[offsets[i + 1] - 1]. Offsets, i32 or i64 and [m], do not decrease; what lies before the first,
 * and from the last on, is a segment too. acu_argsort_segments gives places in x. Sorts twice. For
 * segments of one length, acu_sort of [m, length] is the faster way. */
#define acu_sort_segments(x, offsets, order)                                                       \
    acu_op_sort_segments(ACU_OPERAND(x), ACU_OPERAND(offsets), (order), ACU_SITE)
#define acu_argsort_segments(x, offsets, order)                                                    \
    acu_op_argsort_segments(ACU_OPERAND(x), ACU_OPERAND(offsets), (order), ACU_SITE)
ACU_API acu_op *acu_op_sort_segments(acu_op *x, acu_op *offsets, acu_sort_order order,
                                     acu_site site);
ACU_API acu_op *acu_op_argsort_segments(acu_op *x, acu_op *offsets, acu_sort_order order,
                                        acu_site site);

/* The first `count` of the sorted elements along a dimension: the smallest if ascending, the
 * largest if descending. Yields two values, these elements and, as i64, their places in x:
 * [3, 1000] with count 5 along -1 gives [3, 5] and [3, 5]. SHAPE if there are not so many. At most
 * a quarter of a last dimension of more than 4,096 is found without sorting all of it. */
#define acu_topk(x, count, dimension, order)                                                       \
    acu_op_topk(ACU_OPERAND(x), (count), (dimension), (order), ACU_SITE)
ACU_API acu_op *acu_op_topk(acu_op *x, int64_t count, int dimension, acu_sort_order order,
                            acu_site site);

/*
 * The q-th quantile along a dimension, for f16, bf16, f32 and f64; that dimension keeps an extent
 * of 1. With n elements it is at place q (n - 1) of the sorted ones, interpolated between the two
 * neighbours (NumPy's "linear"): a (1 - fraction) + b fraction, in float (f64: double), which does
 * not overflow, and gives infinity between two of the same sign. q is from 0 to 1. The median is
 * the quantile of 0.5. NaN if any element is NaN; refused of no elements.
 */
#define acu_quantile(x, q, dimension) acu_op_quantile(ACU_OPERAND(x), (q), (dimension), ACU_SITE)
#define acu_median(x, dimension) acu_op_quantile(ACU_OPERAND(x), 0.5, (dimension), ACU_SITE)
ACU_API acu_op *acu_op_quantile(acu_op *x, double q, int dimension, acu_site site);

/*
 * Where values belong in sorted ones, as i64 of the values' shape: the first place before which
 * all elements are less (`right`: less or equal), from 0 to n. `sorted` has one dimension of n
 * elements, in ascending order; both have the same dtype. If it is not sorted, any place.
 */
#define acu_searchsorted(sorted, values, right)                                                    \
    acu_op_searchsorted(ACU_OPERAND(sorted), ACU_OPERAND(values), (right), ACU_SITE)
ACU_API acu_op *acu_op_searchsorted(acu_op *sorted, acu_op *values, bool right, acu_site site);

ACU_END
#endif
