/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A built-in operation: products and sums over named dimensions, as far as acu_matmul does them.
 */
#ifndef ACUDA_EINSUM_H
#define ACUDA_EINSUM_H

#include <acuda/ops.h>

ACU_BEGIN

/*
 * acu_einsum("bij,bjk->bik", a, b): a letter names a dimension, and dimensions of one name have
 * the same extent. What has no place in the result is multiplied and summed up; of two operands
 * it is in both. Letters occur once in each operand and in the result, which is written out;
 * spaces do not count. At most six letters in each, and 63 bytes of text.
 *
 *   "ij,jk->ik"  product of matrices        "i,i->"      dot product, [1]
 *   "i,j->ij"    outer product              "bi,ij->bj"  a matrix and a batch of vectors
 *   "ij->ji"     transposition              "ijk->j"     sum over i and k
 *
 * Two operands are multiplied by acu_matmul, with its dtypes, sums and cuBLAS. Letters of a kind
 * that are neighbours in memory cost nothing, others a copy of the operand or the result. One
 * operand is summed up by acu_sum, so integers become 64 bits wide. Nothing is conjugated.
 *
 * Errors, of the submit: INVALID (the text, with the place), DTYPE, SHAPE, SHARED, and
 * acu_matmul's.
 */
#define acu_einsum(text, ...)                                                                      \
    acu_op_einsum((text), ACUI_TERMS(ACUI_EACH_TERM(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_einsum(const char *text, acu_op *const *operands, size_t count,
                              acu_site site);
/* The products of all pairs of elements of two vectors: [m] and [n] give [m, n]. */
#define acu_outer(a, b) acu_einsum("i,j->ij", a, b)

ACU_END

#ifdef __cplusplus /* for the macros above: in C++ a list is one argument */
static inline acu_op *acu_op_einsum(const char *text, acui_list<acu_op *> operands, acu_site site)
{
    return acu_op_einsum(text, operands.items, operands.count, site);
}
#endif
#endif
