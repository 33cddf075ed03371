/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations: random numbers of common distributions.
 *
 * They are made of acu_rand, acu_randn and acu_randint (ops.h): element i, in row-major order,
 * depends on number offset + i of the sequence of `seed` and on the parameters, so it is the same
 * on every device, parts can be made separately, and the sequence continues at offset + elements.
 * As there, the offset may be a tensor, so that each replay of a graph draws new numbers.
 * f32, f64, f16 and bf16 where there is a dtype. Errors, of the submit: DTYPE, SHAPE, INVALID (a
 * parameter that is out of range), and those of launches.
 */
#ifndef ACUDA_DISTRIBUTIONS_H
#define ACUDA_DISTRIBUTIONS_H

#include <acuda/ops.h>

ACU_BEGIN

/* Uniform from low to high: low + (high - low) u, rounded once, which may give high. */
#define acu_uniform(dtype, shape, low, high, seed, offset)                                         \
    acu_op_uniform((dtype), (shape), (low), (high), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_uniform(acu_dtype dtype, acu_shape shape, double low, double high,
                               uint64_t seed, acu_op *offset, acu_site site);
/* Normal, and e to the power of such numbers. The deviation is 0 or more. */
#define acu_normal(dtype, shape, mean, deviation, seed, offset)                                    \
    acu_op_normal((dtype), (shape), (mean), (deviation), (seed), ACU_TERM(offset), ACU_SITE)
#define acu_lognormal(dtype, shape, mean, deviation, seed, offset)                                 \
    acu_op_lognormal((dtype), (shape), (mean), (deviation), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_normal(acu_dtype dtype, acu_shape shape, double mean, double deviation,
                              uint64_t seed, acu_op *offset, acu_site site);
ACU_API acu_op *acu_op_lognormal(acu_dtype dtype, acu_shape shape, double mean, double deviation,
                                 uint64_t seed, acu_op *offset, acu_site site);
/* Exponential: -log(1 - u) / rate. */
#define acu_exponential(dtype, shape, rate, seed, offset)                                          \
    acu_op_exponential((dtype), (shape), (rate), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_exponential(acu_dtype dtype, acu_shape shape, double rate, uint64_t seed,
                                   acu_op *offset, acu_site site);
/* bool: true with a probability from 0 to 1, which counts in steps of 2^-53. */
#define acu_bernoulli(shape, probability, seed, offset)                                            \
    acu_op_bernoulli((shape), (probability), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_bernoulli(acu_shape shape, double probability, uint64_t seed, acu_op *offset,
                                 acu_site site);
/* i64: how many events of a rate from 0 to 10,000 happen. By inversion of the distribution, which
 * the host tabulates in double. */
#define acu_poisson(shape, rate, seed, offset)                                                     \
    acu_op_poisson((shape), (rate), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_poisson(acu_shape shape, double rate, uint64_t seed, acu_op *offset,
                               acu_site site);
/* i64: places in `weights`, one dimension of n elements that are not negative, each drawn (with
 * replacement) with a probability proportional to its weight. If all are 0 or one is NaN or
 * infinite, any places. acu_multinomial draws `draws` of them and counts: i64 [n]. */
#define acu_categorical(weights, shape, seed, offset)                                              \
    acu_op_categorical(ACU_OPERAND(weights), (shape), (seed), ACU_TERM(offset), ACU_SITE)
#define acu_multinomial(weights, draws, seed, offset)                                              \
    acu_op_multinomial(ACU_OPERAND(weights), (draws), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_categorical(acu_op *weights, acu_shape shape, uint64_t seed, acu_op *offset,
                                   acu_site site);
ACU_API acu_op *acu_op_multinomial(acu_op *weights, int64_t draws, uint64_t seed, acu_op *offset,
                                   acu_site site);
/* i64 [n]: 0 .. n - 1 in random order, that of n random 64-bit numbers (which are equal, and then
 * stay in order, with a probability of n^2 / 2^64). n is at most 2^31 - 1. To shuffle rows, use
 * acu_index_select. */
#define acu_permutation(n, seed, offset)                                                           \
    acu_op_permutation((n), (seed), ACU_TERM(offset), ACU_SITE)
ACU_API acu_op *acu_op_permutation(int64_t n, uint64_t seed, acu_op *offset, acu_site site);

ACU_END
#endif
