/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations whose result's length the data decides: elements, or their places, that are
 * selected; and counts of elements in bins.
 *
 * They follow the rules of ops.h. An op whose length the data decides yields two values, a tensor
 * of the greatest length that is possible and, as i64 [1], how many of its first elements count;
 * behind them are zeros. Both can be used in the next op at once, like all values, without
 * waiting:
 *
 *     acu_op *found[2];
 *     acu_unzip(acu_masked_select(x, mask), found, 2);
 *     acu_op *mean = acu_div(acu_sum(found[0], ACU_ALL), acu_convert(found[1], ACU_F32));
 *
 * acu_counted_wait gives the exact tensor to programs that wait. Numbers and bool, of any strides.
 * Errors, of the submit: DTYPE, SHAPE, SHARED, INVALID, and those of launches.
 */
#ifndef ACUDA_SELECT_H
#define ACUDA_SELECT_H

#include <acuda/ops.h>

ACU_BEGIN

/* The elements of x where `mask`, of bool, is true, in row-major order; both broadcast. Of x [3, 4]
 * yields [12] and a count. */
#define acu_masked_select(x, mask)                                                                 \
    acu_op_masked_select(ACU_OPERAND(x), ACU_OPERAND(mask), ACU_SITE)
ACU_API acu_op *acu_op_masked_select(acu_op *x, acu_op *mask, acu_site site);
/* The places of the elements that are not 0 (NaN is not), as i64, one row for each: of x [3, 4]
 * yields [12, 2] and a count of rows. */
#define acu_nonzero(x) acu_op_nonzero(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_nonzero(acu_op *x, acu_site site);
/* The different elements in ascending order, in one dimension: of x [3, 4] yields [12] and a count.
 * -0 and 0 are one, and so are all NaNs, which come last. Sorts: see sort.h for its limits. How
 * often each of the different elements u occurs is how far its places in the sorted ones are apart
 * (sort.h): acu_sub(acu_searchsorted(sorted, u, true), acu_searchsorted(sorted, u, false)). */
#define acu_unique(x) acu_op_unique(ACU_OPERAND(x), ACU_SITE)
ACU_API acu_op *acu_op_unique(acu_op *x, acu_site site);

/*
 * Submit such an op to the device, wait, and give the tensor that has exactly the elements that
 * count, a view of the first value (an empty one if there are none); and their number. Either may
 * be NULL. Blocks; like acu_sync, it fails with IN_CALLBACK in a callback. Errors: those of
 * acu_sync; ARGUMENTS (the op does not yield a tensor and a count).
 */
ACU_API acu_status acu_counted_wait(acu_device *device, acu_op *op, acu_tensor **tensor,
                                    int64_t *count);

/* How often each number from 0 to count - 1 is in x, of integers or bool: i64 [count]. Other
 * numbers are not counted. */
#define acu_bincount(x, count) acu_op_bincount(ACU_OPERAND(x), (count), ACU_SITE)
ACU_API acu_op *acu_op_bincount(acu_op *x, int64_t count, acu_site site);
/*
 * How many elements of x lie in each bin: i64 [n]. `edges` are n + 1 values in ascending order,
 * in one dimension and of x's dtype. Bin i has edges[i] <= element < edges[i + 1]; the last one
 * also its upper edge. Elements outside, and NaN, are not counted. If the edges are not in order,
 * counts are of any bins. acu_histogram_even has `bins` even bins from low to high; x is floating
 * point, and edges are those of acu_linspace.
 */
#define acu_histogram_by(x, edges)                                                                 \
    acu_op_histogram_by(ACU_OPERAND(x), ACU_OPERAND(edges), ACU_SITE)
#define acu_histogram_even(x, bins, low, high)                                                     \
    acu_op_histogram_even(ACU_OPERAND(x), (bins), (low), (high), ACU_SITE)
ACU_API acu_op *acu_op_histogram_by(acu_op *x, acu_op *edges, acu_site site);
ACU_API acu_op *acu_op_histogram_even(acu_op *x, int64_t bins, double low, double high,
                                      acu_site site);

ACU_END
#endif
