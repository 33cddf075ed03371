/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operation: attention, without the matrix of scores in memory (as in FlashAttention).
 *
 *   acu_attention_options causal = {.size = sizeof causal, .causal = true};
 *   acu_op *y = acu_attention(q, k, v, &causal);
 *
 * It follows the rules of ops.h. Errors, of the submit: DTYPE, SHAPE, INVALID, SHARED,
 * NOT_SUPPORTED (options of a newer version), and those of launches.
 */
#ifndef ACUDA_ATTENTION_H
#define ACUDA_ATTENTION_H

#include <acuda/ops.h>

ACU_BEGIN

typedef struct acu_attention_options {
    size_t size;  /* sizeof(acu_attention_options) */
    double scale; /* of the scores, above 0; 0: 1 / sqrt(width) */
    bool causal;  /* the last query sees all keys, each query before it one key less */
} acu_attention_options;

/*
 * softmax(scale q k^T) v, for q [batch, heads, queries, width], and k and v [batch, groups, keys,
 * width], where heads is a multiple of groups: neighbouring heads share keys and values (grouped
 * heads; 1 group is multi-query attention). The result is like q. All are of one dtype, f16, bf16
 * or f32, and of any strides; any number of queries and keys; a width of 1 to 256. A query that
 * sees no key, because `causal` leaves none, gives zeros. Values that are not finite make NaN of
 * queries that see them, and with tensor cores of others as well.
 *
 * Scores, sums and the softmax are in float, rounded once. f16 and bf16 of a width up to 128 use
 * tensor cores on GPUs of compute capability 8.0 and newer: there the weights are rounded to the
 * dtype before the product with v, and exponentials are approximate (2 ulp of f32), so bits differ
 * from the other kernel's, which gives the same ones on every device. One launch either way,
 * without temporary memory. Dense tensors with a width of 64 or 128 that begin at a multiple of 16
 * bytes are the fast ones. Libraries that use what is special to one generation of GPUs (cuDNN,
 * FlashAttention) are faster; use them where attention is most of the time.
 */
#define acu_attention(q, k, v, options)                                                            \
    acu_op_attention(ACU_OPERAND(q), ACU_OPERAND(k), ACU_OPERAND(v), (options), ACU_SITE)
ACU_API acu_op *acu_op_attention(acu_op *q, acu_op *k, acu_op *v,
                                 const acu_attention_options *options, acu_site site);

ACU_END
#endif
