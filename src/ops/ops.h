/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the built-in operations share: words for messages, numbers, results, layouts, launches. */
#ifndef ACUI_OPS_OPS_H
#define ACUI_OPS_OPS_H

#include "memory/dtype.h"
#include "ops/params.h"

#include <acuda/ops.h>

#define ACUI_OPS_WORDS 128

/* For example "f32 [2, 3]"; `text` has ACUI_OPS_WORDS bytes. */
const char *acui_words(acu_dtype dtype, acu_shape shape, char *text);
const char *acui_value_words(const acu_val *value, char *text);

/* The class of kernels that compute with the dtype: 'f', 'd', 'i', 'l' (kernels/elements.cuh); 0:
 * none, or those of complex numbers (kernels/complex.cuh), which only some operations have. */
char acui_class_of(acu_dtype dtype);

/* The scalar as a complex number: the bits of two doubles. False: it can not be computed with. */
bool acui_scalar_parts(const acu_val *scalar, uint64_t parts[2], char *why);

/* The bits that a kernel of the dtype's class gets for the scalar, as a number of `dtype`. False:
 * it can not be one; *why says so. */
bool acui_scalar_bits(const acu_val *scalar, acu_dtype dtype, uint64_t *bits, char *why);
/* The bits as they are stored in memory: rounded to the nearest, ties to even. Of c128, two
 * words. */
bool acui_stored_bits(const acu_val *scalar, acu_dtype dtype, uint64_t bits[2], char *why);

/* NumPy's rule: *shape becomes what it and `with` broadcast to; false: they do not. */
bool acui_broadcast(acu_shape *shape, acu_shape with);

/* Strides of each operand over `shape` (0: broadcast). Neighbouring dimensions are merged where all
 * operands allow it. tensors[0] is the result's; NULL stands for a dense result or, further on, for
 * a scalar. */
void acui_layout(acui_index *index, acui_operand *at, acu_shape shape,
                 const acu_tensor *const *tensors, int count);
/* Whether there is only one dimension, and no operand has gaps. */
bool acui_is_linear(const acui_index *index, const acui_operand *at, int count);
/* Make the index alone, for kernels that have their own strides. */
void acui_index_make(acui_index *index, int rank, const int64_t *dims);

/* Make rows along `dimension` of tensors of `shape`; NULL: a dense one. */
void acui_lines_init(acui_lines *rows, acu_shape shape, int dimension,
                    const acu_tensor *const *tensors, int count);
/* Dimension `dimension`, which may count from the end, of `rank`; -1: there is none. */
int acui_dimension(int dimension, int rank);
/* The refusal of a dimension that operand 0 does not have. */
acu_op *acui_no_dimension(acu_planning *p, const char *name, int dimension);
/* The operand, if it is a tensor; else NULL and *failed. */
const acu_tensor *acui_tensor_operand(acu_planning *p, const char *name, size_t i, acu_op **failed);
/* The same, of a dtype that numbers or bool have (acui_class_of). */
const acu_tensor *acui_number_operand(acu_planning *p, const char *name, size_t i, acu_op **failed);
/* The refusal of operands that have no elements, for operations by libraries that take none; NULL:
 * all have some. */
acu_op *acui_refuse_empty(acu_planning *p, const char *name);
/* acui_result, for operations that read places other than the one that they write: it refuses the
 * operands themselves too. */
acu_op *acui_result_apart(acu_planning *p, const char *name, acu_dtype dtype, acu_shape shape);

/* For operations that are made of others: x, put where acu_into wants the result. */
acu_op *acui_into(acu_planning *p, acu_op *x);
/* The same of a view, whose elements are copied there. */
acu_op *acui_view_into(acu_planning *p, acu_op *view);

/* The op that yields where the result goes: the checked tensor of acu_into, or a new one. */
acu_op *acui_result(acu_planning *p, const char *name, acu_dtype dtype, acu_shape shape);
/* Whether the result named by acu_into overlaps an operand other than element on element. */
bool acui_overlaps(const acu_tensor *out, const acu_tensor *in);
bool acui_same_place(const acu_tensor *a, const acu_tensor *b);

/* Launch `kernel` of a family, in blocks of ACUI_BLOCK threads. Consumes the ops among the
 * arguments, and yields what the launch yields. */
acu_op *acui_launch(acu_planning *p, const char *name, const char *family, const char *kernel,
                    int64_t blocks, const acu_arg *args, size_t count);
/* acui_launch with blocks of `threads` threads. */
acu_op *acui_launch_of(acu_planning *p, const char *name, const char *family, const char *kernel,
                       int64_t blocks, int threads, const acu_arg *args, size_t count);
/* With any grid, block and dynamic shared memory. */
acu_op *acui_launch_as(acu_planning *p, const char *name, const char *family, const char *kernel,
                       acu_config config, const acu_arg *args, size_t count);
/* As acui_launch, but yields the first value only. */
acu_op *acui_run(acu_planning *p, const char *name, const char *family, const char *kernel,
                 int64_t blocks, const acu_arg *args, size_t count);
/* How many parts of `each` elements n has, rounded up; for any n. */
static inline int64_t acui_parts(int64_t n, int64_t each)
{
    return n / each + (n % each != 0);
}
/* Blocks for `elements`, where a block takes `each` of them in a turn. */
int64_t acui_blocks(int64_t elements, int64_t each);

#endif
