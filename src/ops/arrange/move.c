/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Boxes of a result, and the launches that fill them. Dimensions are merged where they can be, and
 * neighbouring elements are moved together, up to 16 bytes, where both sides allow it.
 */
#include "ops/arrange/move.h"

#include <stdio.h>

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

/* ---- fewer dimensions, larger units ---------------------------------------------------------- */

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

static bool divides(int64_t unit, int64_t n)
{
    return n % unit == 0;
}

/* Whether elements can be moved in units of so many bytes. */
static bool fits(const acui_box *box, int64_t element, int64_t unit)
{
    const acui_axis *last = &box->axis[box->rank - 1];
    bool moves = last->mode == ACUI_MOVE_WRAP || last->mode == ACUI_MOVE_FILL;
    if (last->to != element || last->from != element || !divides(unit, last->extent * element) ||
        (last->mode != ACUI_MOVE_PLAIN && !moves))
        return false;
    if (moves && !(divides(unit, last->offset * element) && divides(unit, last->source * element)))
        return false;
    for (int d = 0; d < box->rank - 1; d++)
        if (!divides(unit, box->axis[d].to) || !divides(unit, box->axis[d].from))
            return false;
    return divides(unit, box->to_base + (int64_t)box->to_offset) &&
           divides(unit, box->from_base + (int64_t)box->from_offset);
}

static int64_t unit_of(const acui_arranging *a, acui_box *boxes, size_t count)
{
    const int64_t element = (int64_t)a->element;
    int64_t unit = a->triangle ? element : 16;
    for (size_t i = 0; i < count && !a->triangle; i++) {
        merge(&boxes[i]);
        while (unit > element && !fits(&boxes[i], element, unit))
            unit /= 2;
    }
    return unit;
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

/* Dimension d of a move, `each` elements of which are a unit. */
static void describe_axis(acui_move *move, int d, const acui_axis *axis, int64_t each)
{
    acui_index by;
    move->to[d] = axis->to * each;
    move->from[d] = axis->from * each;
    move->offset[d] = axis->offset / each;
    move->source[d] = axis->source / (axis->mode == ACUI_MOVE_PLAIN ? 1 : each);
    move->period[d] = acui_period(axis->mode, move->source[d]);
    move->mode[d] = axis->mode;
    int64_t period = move->period[d] ? move->period[d] : 1;
    acui_index_make(&by, 1, &period);
    move->magic[d] = by.magic[0];
    move->shift[d] = by.shift[0];
    /* The largest number on the way: a place and the offset, which is a period at most. */
    bool fits = axis->extent < INT32_MAX / 4 && -move->offset[d] < INT32_MAX / 4 &&
                move->source[d] < INT32_MAX / 4 && period < INT32_MAX / 4;
    move->wide = move->wide || !(fits || axis->mode == ACUI_MOVE_PLAIN);
}

static void describe(acui_move *move, const acui_box *box, int64_t element, int64_t unit)
{
    int64_t dims[ACUI_RANK];
    move->units = 1;
    for (int d = 0; d < box->rank; d++) {
        int64_t each = d == box->rank - 1 ? unit / element : 1;
        describe_axis(move, d, &box->axis[d], each);
        dims[d] = box->axis[d].extent / each;
        move->units *= dims[d];
    }
    move->to_base = box->to_base;
    move->from_base = box->from_base;
    acui_index_make(&move->index, box->rank, dims);
    move->wide = move->wide || move->index.wide;
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
                         .fill = repeated(a->fill, a->element)};
    acu_arg args[ACUI_MOVES + 2] = {acu_arg_op(out, first == 0 ? ACU_WRITE : ACU_UPDATE)};
    int64_t most = 1, unit = unit_of(a, boxes, count);
    char kernel[16];
    for (size_t i = 0; i < ACUI_MOVES; i++) {
        args[1 + i] = acu_u64(0);
        if (i >= count)
            continue;
        describe(&params.move[i], &boxes[i], (int64_t)a->element, unit);
        most = params.move[i].units > most ? params.move[i].units : most;
        args[1 + i] = acu_arg_op(acu_op_take(&p->values[first + i], p->site), ACU_READ);
    }
    args[1 + ACUI_MOVES] = acu_arg_struct(&params, sizeof params);
    snprintf(kernel, sizeof kernel, "arrange_%d", (int)unit);
    int64_t blocks = acui_blocks(most, ACUI_UNROLL * ACUI_BLOCK) * (int64_t)count;
    return acui_run(p, a->name, "acuda.arrange", kernel, blocks, args, ACUI_MOVES + 2);
}
