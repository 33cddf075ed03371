/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the built-in operations share: words, numbers, results, layouts, launches. */
#ifndef ACUI_OPS_OPS_H
#define ACUI_OPS_OPS_H

#include "ops/params.h"

#include <acuda/ops.h>

#define ACUI_OPS_WORDS 128

/* "f32 [2, 3]"; `text` has ACUI_OPS_WORDS bytes. */
const char *acui_words(acu_dtype dtype, acu_shape shape, char *text);
const char *acui_value_words(const acu_val *value, char *text);

/* Which kernels compute with it: 'f', 'd', 'i', 'l' (kernels/elements.cuh); 0: none. */
char acui_class_of(acu_dtype dtype);

/* The bits that a kernel of the class gets for a scalar, as a number of `dtype`. Fails, with words
 * in *why, where it can not be one. */
bool acui_scalar_bits(const acu_val *scalar, acu_dtype dtype, uint64_t *bits, char *why);
/* The same as it is stored in memory: rounded to the nearest, ties to even. */
bool acui_stored_bits(const acu_val *scalar, acu_dtype dtype, uint64_t *bits, char *why);
/* A scalar of any kind as a double, which holds it but for integers beyond 2^53. */
double acui_scalar_number(const acu_val *scalar);

/* NumPy's rule: *shape becomes what it and `with` broadcast to; false if they do not. */
bool acui_broadcast(acu_shape *shape, acu_shape with);

/* Strides of each operand over `shape` (0: broadcast), with dimensions put together where all of
 * them allow it. tensors[0] is the result's; NULL: dense (where it is the first), or a scalar. */
void acui_layout(acui_index *index, acui_operand *at, acu_shape shape,
                 const acu_tensor *const *tensors, int count);
/* All have but one dimension, without gaps. */
bool acui_is_linear(const acui_index *index, const acui_operand *at, int count);
/* The same index without operands: for kernels that have their own strides. */
void acui_index_make(acui_index *index, int rank, const int64_t *dims);

/* The op that yields the place of the result: that of acu_into, checked, or a new tensor. */
acu_op *acui_result(acu_planning *p, const char *name, acu_dtype dtype, acu_shape shape);
/* Whether the result named by acu_into lies over operand `i` other than element on element. */
bool acui_overlaps(const acu_tensor *out, const acu_tensor *in);
bool acui_same_place(const acu_tensor *a, const acu_tensor *b);

/* Launch `kernel` of a family; blocks of ACUI_BLOCK threads. Consumes the ops among the arguments,
 * and yields them. */
acu_op *acui_launch(acu_planning *p, const char *name, const char *family, const char *kernel,
                    int64_t blocks, const acu_arg *args, size_t count);
/* The same with blocks of as many `threads`. */
acu_op *acui_launch_of(acu_planning *p, const char *name, const char *family, const char *kernel,
                       int64_t blocks, int threads, const acu_arg *args, size_t count);
/* As acui_launch; yields the first of them only. */
acu_op *acui_run(acu_planning *p, const char *name, const char *family, const char *kernel,
                 int64_t blocks, const acu_arg *args, size_t count);
/* How many parts of as many as `each` n has; of any n. */
static inline int64_t acui_parts(int64_t n, int64_t each)
{
    return n / each + (n % each != 0);
}
/* Blocks for `elements` where each takes `each` of them in a turn. */
int64_t acui_blocks(int64_t elements, int64_t each);

#endif
