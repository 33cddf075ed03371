/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations that only change the places of elements: what each says about the dimensions of its
 * result, and how that becomes a launch of kernels/arrange.cu.
 */
#ifndef ACUI_OPS_ARRANGE_MOVE_H
#define ACUI_OPS_ARRANGE_MOVE_H

#include "ops/ops.h"

#include "ops/arrange/params.h"

#include <acuda/arrange.h>

/* One dimension of a box of the result: its extent, strides in bytes, and where its elements come
 * from (acui_move_mode). */
typedef struct acui_axis {
    int64_t extent, to, from;
    int64_t offset, source; /* the offset is not below -period, if there is one */
    int mode;
} acui_axis;

typedef struct acui_box {
    acui_axis axis[ACUI_RANK];
    int rank;
    int64_t to_base, from_base;    /* bytes before the first element */
    size_t to_offset, from_offset; /* of the tensors in their buffers, for their alignment */
} acui_box;

/* What all boxes of an operation share. */
typedef struct acui_arranging {
    const char *name;
    size_t element; /* bytes */
    uint64_t fill[2]; /* the bits of an element; the second word: of c128 */
    int triangle;   /* acui_triangle */
    int64_t diagonal;
} acui_arranging;

/* After how many places the source of `n` places repeats (acui_move_mode); 0: it does not. */
int64_t acui_period(int mode, int64_t n);

/* A box that is all of the result, of `shape` (dense unless it goes to `out`), and whose dimensions
 * are the last of those of the source. */
void acui_box_init(acui_box *box, const acu_tensor *out, acu_dtype dtype, acu_shape shape,
                   const acu_tensor *source);
/* Fill at most ACUI_MOVES boxes from the operands first, first + 1, ... in one launch. Consumes
 * `out`, and yields it. */
acu_op *acui_arrange(acu_planning *p, const acui_arranging *a, acu_op *out, acui_box *boxes,
                     size_t first, size_t count);

#endif
