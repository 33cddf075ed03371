/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: variance, standard deviation, log-sum-exp; sums by key and of segments; and
 * a number read from an op in one call.
 *
 * They follow the rules of ops.h. Errors, of the submit: DTYPE, SHAPE, SHARED, INVALID, and those
 * of launches.
 */
#ifndef ACUDA_STATISTICS_H
#define ACUDA_STATISTICS_H

#include <acuda/index.h>
#include <acuda/ops.h>

ACU_BEGIN

/*
 * The mean square of the deviations from the mean, over dimensions as in acu_sum, and its square
 * root: sum of squares / (n - correction), where n is the number of elements that are reduced; the
 * correction is 0 (NumPy's default) or 1 (PyTorch's), or any number. For f16, bf16, f32 and f64,
 * computed in float at least. If n does not exceed the correction: NaN or infinity, as the division
 * gives it.
 */
#define acu_var(x, dims, correction)                                                               \
    acu_op_var(ACU_OPERAND(x), (dims), (correction), false, ACU_SITE)
#define acu_std(x, dims, correction)                                                               \
    acu_op_var(ACU_OPERAND(x), (dims), (correction), true, ACU_SITE)
ACU_API acu_op *acu_op_var(acu_op *x, acu_dims dims, double correction, bool root, acu_site site);

/* log(sum(exp(x))) over dimensions, without overflow. Minus infinity where all are that, or there
 * are none; NaN if any is. For floating point. */
#define acu_logsumexp(x, dims) acu_op_logsumexp(ACU_OPERAND(x), (dims), ACU_SITE)
ACU_API acu_op *acu_op_logsumexp(acu_op *x, acu_dims dims, acu_site site);

/*
 * Reduce by key: element i of the result, [count], is the sum (least, greatest) of the values whose
 * key is i. Keys, i32 or i64, have the values' shape; others than 0 .. count - 1 (or -count .. -1,
 * which count from the end) are left out. Where no key is i: 0 for sums, else the dtype's greatest
 * (least) number, or infinity. `kind` is ACU_SCATTER_ADD, _MIN or _MAX (index.h). The order in
 * which values are joined follows from the shape. More than 4,096 keys are sorted first, which
 * takes much longer.
 */
#define acu_reduce_by_key(kind, values, keys, count)                                               \
    acu_op_reduce_by_key((kind), ACU_OPERAND(values), ACU_OPERAND(keys), (count), ACU_SITE)
ACU_API acu_op *acu_op_reduce_by_key(acu_scatter_kind kind, acu_op *values, acu_op *keys,
                                     int64_t count, acu_site site);

/*
 * The same of segments: element i of the result, [m - 1], is of values[offsets[i]] to
 * values[offsets[i + 1] - 1]. Offsets, i32 or i64 and [m], do not decrease; values, [n], before the
 * first and from the last on are left out. An empty segment gives what a key without values does.
 */
#define acu_reduce_segments(kind, values, offsets)                                                 \
    acu_op_reduce_segments((kind), ACU_OPERAND(values), ACU_OPERAND(offsets), ACU_SITE)
ACU_API acu_op *acu_op_reduce_segments(acu_scatter_kind kind, acu_op *values, acu_op *offsets,
                                       acu_site site);

/*
 * Submit the op to the device, wait, and give its first value, a tensor of one element, as a
 * number: acu_read_f64_wait(device, acu_mean(x, ACU_ALL), &mean). Any dtype that acu_convert
 * takes, which converts. The op is consumed in any case. Block; like acu_sync, they fail with
 * IN_CALLBACK in a callback. Errors: those of acu_sync; SHAPE (it has more elements).
 */
#define acu_read_f64_wait(device, x, number)                                                       \
    acu_op_read_f64_wait((device), ACU_OPERAND(x), (number), ACU_SITE)
#define acu_read_i64_wait(device, x, number)                                                       \
    acu_op_read_i64_wait((device), ACU_OPERAND(x), (number), ACU_SITE)
ACU_API acu_status acu_op_read_f64_wait(acu_device *device, acu_op *x, double *number,
                                        acu_site site);
ACU_API acu_status acu_op_read_i64_wait(acu_device *device, acu_op *x, int64_t *number,
                                        acu_site site);

ACU_END
#endif
