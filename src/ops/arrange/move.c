/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Boxes of a result, and the launches that fill them. Dimensions are merged where they can be.
 */
#include "ops/arrange/move.h"

#include <stdio.h>

enum { LONG = INT32_MAX / 4 }; /* elements along a dimension, for which a kernel takes 64 bits */

void acui_box_init(acui_box *box, const acu_tensor *out, acu_dtype dtype, acu_shape shape,
                   const acu_tensor *source)
{
    const int64_t bytes = (int64_t)acu_dtype_bytes(dtype);
    acu_shape of = acu_tensor_shape(source);
    int64_t dense = bytes;
    *box = (acui_box){.rank = shape.rank, .from_offset = acu_tensor_offset(source)};
    if (out)
        box->to_offset = acu_tensor_offset(out);
    for (int d = shape.rank - 1; d >= 0; d--) {
        acui_axis *axis = &box->axis[d];
        int place = d - (shape.rank - of.rank);
        axis->extent = shape.dim[d];
        axis->to = out ? acu_tensor_strides(out)[d] * bytes : dense;
        axis->from = place < 0 ? 0 : acu_tensor_strides(source)[place] * bytes;
        axis->source = place < 0 ? 1 : of.dim[place];
        dense *= shape.dim[d];
    }
}

/* ---- fewer dimensions ------------------------------------------------------------------------ */

/* Leaves out dimensions of one element, and joins neighbours that are one in both tensors. */
static void merge(acui_box *box)
{
    int rank = 0;
    for (int d = 0; d < box->rank; d++) {
        acui_axis axis = box->axis[d], *last = rank > 0 ? &box->axis[rank - 1] : NULL;
        bool plain = axis.mode == ACUI_MOVE_PLAIN;
        if (axis.extent == 1 && plain)
            continue;
        if (last && plain && last->mode == ACUI_MOVE_PLAIN && last->to == axis.to * axis.extent &&
            last->from == axis.from * axis.extent) {
            axis.extent *= last->extent;
            rank--;
        }
        box->axis[rank++] = axis;
    }
    if (rank == 0)
        box->axis[rank++] = (acui_axis){.extent = 1, .to = 1, .from = 1};
    box->rank = rank;
}

/* Makes two dimensions of the last one, where that has too many elements for 31 bits. */
static void split(acui_box *box)
{
    acui_axis *last = &box->axis[box->rank - 1];
    int64_t inner = (int64_t)1 << 20;
    if (last->mode != ACUI_MOVE_PLAIN || last->extent < LONG || box->rank == ACUI_RANK)
        return;
    while (last->extent % inner != 0)
        inner /= 2;
    if (inner < 1024)
        return;
    last[1] = *last;
    last[1].extent = inner;
    last->extent /= inner;
    last->to *= inner;
    last->from *= inner;
    box->rank++;
}

int64_t acui_period(int mode, int64_t n)
{
    switch (mode) {
    case ACUI_MOVE_DIVIDE:
    case ACUI_MOVE_WRAP:
        return n;
    case ACUI_MOVE_REFLECT:
        return 2 * n - 2;
    case ACUI_MOVE_SYMMETRIC:
        return 2 * n;
    default:
        return 0;
    }
}

static void describe_axis(acui_move *move, int d, const acui_axis *axis)
{
    acui_index by;
    move->to[d] = axis->to;
    move->from[d] = axis->from;
    move->offset[d] = axis->offset;
    move->source[d] = axis->mode == ACUI_MOVE_PLAIN ? axis->extent : axis->source;
    move->period[d] = acui_period(axis->mode, axis->source);
    move->mode[d] = axis->mode;
    int64_t period = move->period[d] ? move->period[d] : 1;
    acui_index_make(&by, 1, &period);
    move->magic[d] = by.magic[0];
    move->shift[d] = by.shift[0];
    /* The largest number on the way: a place and the offset, which is a period at most. */
    bool fits = axis->extent < LONG && -axis->offset < LONG && move->source[d] < LONG &&
                period < LONG;
    move->wide = move->wide || !fits;
}

/* Short rows have few threads each; long ones are cut so that there are blocks enough. */
static int64_t cut(acui_move *move, int64_t extent, int64_t rows, int64_t element)
{
    const int64_t count = move->wide ? 1 : 16 / element, enough = (int64_t)1 << 20;
    /* Those at the ends may be parts of one; the last segment takes the one too many. */
    const int64_t vectors = extent / count + 2, whole = acui_parts(extent, count);
    move->extent = extent;
    move->group = 1;
    while (move->group < ACUI_BLOCK && move->group * ACUI_MOVE_VECTORS < vectors)
        move->group *= 2;
    move->turns = vectors > enough / rows ? 4 : 1;
    return acui_parts(whole, (int64_t)move->turns * move->group * ACUI_MOVE_VECTORS);
}

static void describe(acui_move *move, const acui_box *box, int64_t element)
{
    const int last = box->rank - 1;
    int64_t dims[ACUI_RANK], rows = 1;
    for (int d = 0; d <= last; d++) {
        describe_axis(move, d, &box->axis[d]);
        dims[d] = box->axis[d].extent;
        rows *= d < last ? dims[d] : 1;
    }
    if (rows == 0 || dims[last] == 0) { /* nothing to move */
        move->group = 1;
        return;
    }
    move->to_base = box->to_base;
    move->from_base = box->from_base;
    dims[last] = cut(move, dims[last], rows, element);
    move->segments = rows * dims[last];
    acui_index_make(&move->index, box->rank, dims);
}

/* ---- the launch ------------------------------------------------------------------------------ */

static uint64_t repeated(uint64_t bits, size_t bytes)
{
    for (; bytes < 8; bytes *= 2)
        bits = (bits & (((uint64_t)1 << 8 * bytes) - 1)) * (1 + ((uint64_t)1 << 8 * bytes));
    return bits;
}

acu_op *acui_arrange(acu_planning *p, const acui_arranging *a, acu_op *out, acui_box *boxes,
                     size_t first, size_t count)
{
    acui_moves params = {.count = (int)count,
                         .triangle = a->triangle,
                         .diagonal = a->diagonal,
                         .fill = {repeated(a->fill[0], a->element)}};
    params.fill[1] = a->element == 16 ? a->fill[1] : params.fill[0];
    acu_arg args[ACUI_MOVES + 2] = {acu_arg_op(out, first == 0 ? ACU_WRITE : ACU_UPDATE)};
    int64_t blocks = 0;
    char kernel[16];
    for (size_t i = 0; i < ACUI_MOVES; i++) {
        acui_move *move = &params.move[i];
        args[1 + i] = acu_u64(0);
        if (i >= count)
            continue;
        if (!a->triangle) {
            merge(&boxes[i]);
            split(&boxes[i]);
        }
        describe(move, &boxes[i], (int64_t)a->element);
        int64_t own = acui_blocks(move->segments, ACUI_BLOCK / move->group);
        blocks = own > blocks ? own : blocks;
        args[1 + i] = acu_arg_op(acu_op_take(&p->values[first + i], p->site), ACU_READ);
    }
    args[1 + ACUI_MOVES] = acu_arg_struct(&params, sizeof params);
    snprintf(kernel, sizeof kernel, "arrange_%d", (int)a->element);
    return acui_run(p, a->name, "acuda.arrange", kernel, blocks * (int64_t)count, args,
                    ACUI_MOVES + 2);
}
