/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Built-in operations that put elements in other places: joining, padding, repeating, rotating.
 *
 * They follow the rules of ops.h and take all dtypes, since they move bits and never look at them.
 * Operands may have any strides; results are new dense tensors, or what acu_into names, which is
 * none of the operands and shares no bytes with them (SHARED). (acu_tril and acu_triu may write
 * over their operand.) Dimensions are numbered from 0; negative ones count from the end. Where
 * layouts allow it, elements move 16 bytes at a time.
 *
 * Cutting is done by views, which move nothing: acu_slice and acu_select (op.h), acu_split (here).
 *
 * Errors, of the submit: DTYPE, SHAPE, SHARED, INVALID, LIMIT, ARGUMENTS, and those of launches.
 */
#ifndef ACUDA_ARRANGE_H
#define ACUDA_ARRANGE_H

#include <acuda/ops.h>

ACU_BEGIN

/*
 * Join tensors of one dtype along an existing dimension, in which they may differ; all other
 * extents are equal. acu_concat(0, a, b): [2, 3] and [5, 3] give [7, 3]. One to eight in the macro;
 * the function takes any number, at least one. A launch joins four.
 */
#define acu_concat(dimension, ...)                                                                 \
    acu_op_concat((dimension), ACUI_TERMS(ACUI_EACH_TERM(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_concat(int dimension, acu_op *const *parts, size_t count, acu_site site);
/* Join tensors of one dtype and shape along a new dimension: two of [2, 3] give [2, 2, 3] along 0,
 * [2, 3, 2] along -1. The rank of the result is at most ACU_MAX_RANK. */
#define acu_stack(dimension, ...)                                                                  \
    acu_op_stack((dimension), ACUI_TERMS(ACUI_EACH_TERM(__VA_ARGS__)), ACU_SITE)
ACU_API acu_op *acu_op_stack(int dimension, acu_op *const *parts, size_t count, acu_site site);

/*
 * Cut a tensor along a dimension into `count` views, parts[0 .. count-1], each of which must be
 * used or released. `sizes` are their extents, which add up to that of x; NULL: all are equal
 * (SHAPE if the extent is no multiple of count). Nothing is copied: [6, 4] along 0 into 3 gives
 * views [2, 4].
 */
#define acu_split(x, dimension, parts, count)                                                      \
    acu_op_split(ACU_OPERAND(x), (dimension), NULL, (parts), (count), ACU_SITE)
#define acu_split_at(x, dimension, sizes, parts, count)                                            \
    acu_op_split(ACU_OPERAND(x), (dimension), (sizes), (parts), (count), ACU_SITE)
ACU_API void acu_op_split(acu_op *x, int dimension, const int64_t *sizes, acu_op **parts,
                          size_t count, acu_site site);

/*
 * Add before[d] elements in front of dimension d and after[d] behind it (0 or more, for each
 * dimension of x): acu_pad(x, ACU_SHAPE(1, 0), ACU_SHAPE(2, 3), 0.5), [4, 4] gives [7, 7].
 * acu_pad writes a number, which x's dtype must hold as in ops.h (of dtypes that nothing computes
 * with, such as f8e5m2: a scalar of that dtype, or 0). acu_pad_by continues the tensor:
 *   EDGE       a a | a b c | c c     the nearest element
 *   REFLECT    c b | a b c | b a     mirrored at the outermost elements
 *   SYMMETRIC  b a | a b c | c b     mirrored at the edges
 *   WRAP       b c | a b c | a b     from the other end
 * The last three go on back and forth, or round and round, as far as needed. Only a number can be
 * put around a dimension of no elements.
 */
typedef enum acu_pad_mode {
    ACU_PAD_EDGE,
    ACU_PAD_REFLECT,
    ACU_PAD_SYMMETRIC,
    ACU_PAD_WRAP
} acu_pad_mode;
#define acu_pad(x, before, after, number)                                                          \
    acu_op_pad(ACU_OPERAND(x), (before), (after), ACU_TERM(number), ACU_SITE)
#define acu_pad_by(mode, x, before, after)                                                         \
    acu_op_pad_by((mode), ACU_OPERAND(x), (before), (after), ACU_SITE)
ACU_API acu_op *acu_op_pad(acu_op *x, acu_shape before, acu_shape after, acu_op *number,
                           acu_site site);
ACU_API acu_op *acu_op_pad_by(acu_pad_mode mode, acu_op *x, acu_shape before, acu_shape after,
                              acu_site site);

/* The whole tensor, so many times along each dimension: a b becomes a b a b. x counts as having
 * dimensions of 1 in front if `times` has more, and the other way round. */
#define acu_tile(x, times) acu_op_tile(ACU_OPERAND(x), (times), ACU_SITE)
ACU_API acu_op *acu_op_tile(acu_op *x, acu_shape times, acu_site site);
/* Each element so many times along a dimension: a b becomes a a b b. */
#define acu_repeat(x, dimension, times)                                                            \
    acu_op_repeat(ACU_OPERAND(x), (dimension), (times), ACU_SITE)
ACU_API acu_op *acu_op_repeat(acu_op *x, int dimension, int64_t times, acu_site site);

/* Rotate along a dimension: element i goes to place i + shift, and what leaves at one end comes in
 * at the other. `shift` may be negative, and larger than the extent. */
#define acu_roll(x, dimension, shift) acu_op_roll(ACU_OPERAND(x), (dimension), (shift), ACU_SITE)
ACU_API acu_op *acu_op_roll(acu_op *x, int dimension, int64_t shift, acu_site site);
/* Reverse the order along dimensions: acu_flip(x, ACU_DIMS(-1)), or ACU_ALL. */
#define acu_flip(x, dims) acu_op_flip(ACU_OPERAND(x), (dims), ACU_SITE)
ACU_API acu_op *acu_op_flip(acu_op *x, acu_dims dims, acu_site site);

/* The lower or upper triangle of each matrix of the last two dimensions, and zeros elsewhere: what
 * stays has column - row <= diagonal (tril), >= diagonal (triu). A result may go over x. Not for
 * f8e8m0fnu, which has no zero. */
#define acu_tril(x, diagonal) acu_op_triangle(ACU_OPERAND(x), false, (diagonal), ACU_SITE)
#define acu_triu(x, diagonal) acu_op_triangle(ACU_OPERAND(x), true, (diagonal), ACU_SITE)
ACU_API acu_op *acu_op_triangle(acu_op *x, bool upper, int64_t diagonal, acu_site site);

ACU_END

#ifdef __cplusplus /* for the macros above: in C++ a list is one argument */
static inline acu_op *acu_op_concat(int dimension, acui_list<acu_op *> parts, acu_site site)
{
    return acu_op_concat(dimension, parts.items, parts.count, site);
}
static inline acu_op *acu_op_stack(int dimension, acui_list<acu_op *> parts, acu_site site)
{
    return acu_op_stack(dimension, parts.items, parts.count, site);
}
#endif
#endif
