/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations of neural networks: normalisation, cross entropy, rotary embedding.
 *
 * They follow the rules of ops.h; for f16, bf16, f32 and f64, of any strides. Sums are formed in
 * double, at most four neighbours in float (but f64), in an order that follows from the shape and
 * from how operands and the result lie in memory (rows of whole vectors that are dense and aligned
 * are read once). Errors, of the submit: DTYPE, SHAPE, SHARED, INVALID, and those of launches.
 */
#ifndef ACUDA_LAYERS_H
#define ACUDA_LAYERS_H

#include <acuda/ops.h>

ACU_BEGIN

/*
 * Along the last dimension, of n elements: (x - mean) / sqrt(variance + epsilon) weight + bias,
 * and x / sqrt(mean of squares + epsilon) weight. Weight and bias are tensors [n] of x's dtype,
 * or numbers: acu_layer_norm(x, 1, 0, 1e-5). The variance is that of all n (no correction).
 * Computed in float (f64: double) and rounded once. A result may go over x. One launch, which
 * reads rows of up to 8,192 elements (f64: 4,096) once; and a short one for each number.
 */
#define acu_layer_norm(x, weight, bias, epsilon)                                                   \
    acu_op_layer_norm(ACU_OPERAND(x), ACU_TERM(weight), ACU_TERM(bias), (epsilon), ACU_SITE)
#define acu_rms_norm(x, weight, epsilon)                                                           \
    acu_op_rms_norm(ACU_OPERAND(x), ACU_TERM(weight), (epsilon), ACU_SITE)
ACU_API acu_op *acu_op_layer_norm(acu_op *x, acu_op *weight, acu_op *bias, double epsilon,
                                  acu_site site);
ACU_API acu_op *acu_op_rms_norm(acu_op *x, acu_op *weight, double epsilon, acu_site site);

/*
 * Batch normalisation with known statistics, for inference: of x [batch, channels, ...], with
 * mean, variance, weight and bias [channels]: (x - mean) / sqrt(variance + epsilon) weight +
 * bias. A scale and a shift are made of the four, rounded to their dtype, and one pass applies
 * them (acu_fma).
 */
#define acu_batch_norm(x, mean, variance, weight, bias, epsilon)                                   \
    acu_op_batch_norm(ACU_OPERAND(x), ACU_OPERAND(mean), ACU_OPERAND(variance),                    \
                      ACU_OPERAND(weight), ACU_OPERAND(bias), (epsilon), ACU_SITE)
ACU_API acu_op *acu_op_batch_norm(acu_op *x, acu_op *mean, acu_op *variance, acu_op *weight,
                                  acu_op *bias, double epsilon, acu_site site);

/* The loss of each row: of logits [batch, classes] and targets [batch], i32 or i64, it is minus
 * the logarithm of the softmax at the target, [batch]; acu_mean of that is the usual loss. The
 * target of a row that does not count is out of range (acu_gather): its loss is 0. */
#define acu_cross_entropy(logits, targets)                                                         \
    acu_op_cross_entropy(ACU_OPERAND(logits), ACU_OPERAND(targets), ACU_SITE)
ACU_API acu_op *acu_op_cross_entropy(acu_op *logits, acu_op *targets, acu_site site);

/* Rotary position embedding: the first and second half of the last dimension of x [..., positions,
 * 2 n] are rotated against each other, element by element, by angles whose cosines and sines are
 * given, [positions, n] (or what broadcasts to that): a cos - b sin, and b cos + a sin. */
#define acu_rotary(x, cosines, sines)                                                              \
    acu_op_rotary(ACU_OPERAND(x), ACU_OPERAND(cosines), ACU_OPERAND(sines), ACU_SITE)
ACU_API acu_op *acu_op_rotary(acu_op *x, acu_op *cosines, acu_op *sines, acu_site site);

ACU_END
#endif
