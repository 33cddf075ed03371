/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Copies and fills of any layout, by kernels that walk over it (kernels/copy.cu). A copy whose
 * sides are contiguous in different dimensions is a transpose, through shared memory; all others
 * are walks over the largest units that the addresses, strides and runs allow.
 */
#include "base/error.h"
#include "op/copy.h"
#include "op/copy_kernels.h"
#include "op/launch.h"

#include <stdio.h>
#include <string.h>

enum {
    THREADS = 256,
    EACH = 4,              /* units that a thread copies at a time */
    MOST_BLOCKS = 8192,    /* enough for any GPU; with more units than threads, the blocks loop */
    TURN_LEAST = 8         /* size of both dimensions from which a transpose through shared memory
                            * pays */
};

/* ---- units ---- */

/* The bits of the address that matter for alignment: memory that is not allocated yet will be
 * aligned to more than 16 bytes. */
static uint64_t place_of(const acu_tensor *tensor)
{
    return atomic_load_explicit(&tensor->buffer->address, memory_order_acquire) + tensor->offset;
}

/* The largest unit, up to 16 bytes, in which everything can be copied. */
static unsigned unit_of(const acui_layout *l, uint64_t places)
{
    uint64_t all = places | l->run | 16;
    for (int d = 0; d < l->rank; d++)
        all |= (uint64_t)l->dst[d] | (uint64_t)l->src[d];
    return (unsigned)(all & -all);
}

/* ---- dividing by multiplying: exact for numbers below 2^31 ---- */

static void set_magic(acui_walk *walk, int d)
{
    uint64_t divisor = walk->dim[d];
    unsigned shift = 0;
    while ((UINT64_C(1) << shift) < divisor)
        shift++;
    walk->shift[d] = shift;
    walk->magic[d] =
        (unsigned)((UINT64_C(1) << 32) * ((UINT64_C(1) << shift) - divisor) / divisor + 1);
}

/* ---- walks ---- */

static void push(acui_walk *walk, uint64_t dim, int64_t to, int64_t from)
{
    unsigned d = walk->rank++;
    walk->dim[d] = dim;
    walk->to[d] = to;
    walk->from[d] = from;
}

static void make_walk(const acui_layout *l, unsigned unit, acui_walk *walk)
{
    _Static_assert(ACUI_WALK_RANK > ACU_MAX_RANK, "room for a run's units");
    *walk = (acui_walk){.units = l->bytes / unit};
    if (l->run > unit)
        push(walk, l->run / unit, unit, unit);
    for (int d = l->rank - 1; d >= 0; d--)
        push(walk, l->dim[d], l->dst[d], l->src[d]);
    walk->narrow = walk->units < UINT64_C(1) << 31;
    for (unsigned d = 0; d < walk->rank && walk->narrow; d++)
        set_magic(walk, (int)d);
}

static unsigned blocks_for(uint64_t units, uint64_t each)
{
    uint64_t blocks = (units + each - 1) / each;
    return blocks < MOST_BLOCKS ? (unsigned)blocks : MOST_BLOCKS;
}

static acui_node *add_kernel(acui_plan *plan, const acu_op *op, acu_device *device,
                             const char *kind, unsigned unit, acu_config config,
                             const void *params, uint32_t bytes)
{
    char name[32];
    acu_kernel *kernel;
    snprintf(name, sizeof name, "%s_%u", kind, unit);
    if (acu_kernel_find(device, ACUI_COPY_FAMILY, name, &kernel) != ACU_OK)
        return NULL;
    acui_node *node = acui_plan_launch(plan, op, kernel, config, 2, bytes);
    if (node)
        memcpy(acui_launch_data(node), params, bytes);
    return node;
}

/* The parameter struct starts with the addresses of both sides. */
static acu_status add_sides(acui_plan *plan, acui_node *node, acu_tensor *dst, acu_tensor *src)
{
    if (!node)
        return acui_error()->status;
    ACUI_TRY(acui_node_add_access(plan, node, dst, ACU_WRITE));
    ACUI_TRY(acui_node_add_access(plan, node, src, ACU_READ));
    ACUI_TRY(acui_launch_address(plan, node, 0, dst->buffer, dst->offset));
    return acui_launch_address(plan, node, 8, src->buffer, src->offset);
}

/* ---- transposes ---- */

/* The dimension in which a side is contiguous; -1: there is none. */
static int contiguous(const acui_layout *l, const int64_t *stride)
{
    for (int d = 0; d < l->rank; d++)
        if (stride[d] == (int64_t)l->run)
            return d;
    return -1;
}

static bool make_turn(const acui_layout *l, unsigned unit, acui_turn *turn)
{
    int a = contiguous(l, l->dst), b = contiguous(l, l->src);
    if (l->run != unit || a < 0 || b < 0 || a == b || l->dim[a] < TURN_LEAST ||
        l->dim[b] < TURN_LEAST)
        return false;
    *turn = (acui_turn){.across = l->dim[a],
                        .down = l->dim[b],
                        .to_down = l->dst[b],
                        .from_across = l->src[a]};
    turn->tiles = (turn->across + ACUI_TURN_TILE - 1) / ACUI_TURN_TILE *
                  ((turn->down + ACUI_TURN_TILE - 1) / ACUI_TURN_TILE);
    for (int d = l->rank - 1; d >= 0; d--) {
        if (d == a || d == b)
            continue;
        turn->tiles *= l->dim[d];
        turn->dim[turn->rank] = l->dim[d];
        turn->to[turn->rank] = l->dst[d];
        turn->from[turn->rank++] = l->src[d];
    }
    return true;
}

/* ---- in plans ---- */

acu_status acui_plan_walk(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                          acu_tensor *src, const acui_layout *layout)
{
    unsigned unit = unit_of(layout, place_of(dst) | place_of(src));
    acui_turn turn;
    acui_walk walk;
    acui_node *node;
    if (make_turn(layout, unit, &turn)) {
        acu_config config = {.grid = {blocks_for(turn.tiles, 1), 1, 1},
                             .block = {ACUI_TURN_TILE, ACUI_TURN_ROWS, 1}};
        node = add_kernel(plan, op, device, "copy_turn", unit, config, &turn, sizeof turn);
        return add_sides(plan, node, dst, src);
    }
    make_walk(layout, unit, &walk);
    acu_config config = {.grid = {blocks_for(walk.units, THREADS * EACH), 1, 1},
                         .block = {THREADS, 1, 1}};
    node = add_kernel(plan, op, device, "copy_walk", unit, config, &walk, sizeof walk);
    return add_sides(plan, node, dst, src);
}

/* ---- fills ---- */

/* The element's bytes, repeated to fill 16. */
static void repeat(acui_scalar scalar, size_t element, unsigned long long value[2])
{
    uint64_t bits = scalar.bits;
    for (size_t have = element; have < 8; have *= 2)
        bits = (bits & ((UINT64_C(1) << 8 * have) - 1)) | bits << 8 * have;
    value[0] = bits;
    value[1] = element == 16 ? scalar.imaginary : bits;
}

static acu_status plan_memset(acui_plan *plan, const acu_op *op, acu_tensor *tensor,
                              size_t element, uint64_t bits)
{
    acui_node *node = acui_plan_node(plan, ACUI_NODE_FILL, op, tensor->buffer->device, 1);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.fill.buffer = tensor->buffer;
    node->u.fill.offset = tensor->offset;
    node->u.fill.elements = acu_tensor_bytes(tensor) / element;
    node->u.fill.element_bytes = element;
    node->u.fill.bits = bits;
    return acui_node_add_access(plan, node, tensor, ACU_WRITE);
}

acu_status acui_plan_fill(acui_plan *plan, const acu_op *op, acu_tensor *tensor,
                          acui_scalar scalar)
{
    if (tensor->empty)
        return ACU_OK;
    acui_layout layout = acui_layout_of(tensor, tensor);
    size_t element = layout.element;
    acui_layout_sort(&layout);
    if (element == 16 && scalar.bits == scalar.imaginary)
        element = 8;
    if (element == 8 && (uint32_t)scalar.bits == (uint32_t)(scalar.bits >> 32))
        element = 4;
    if (layout.rank == 0 && element <= 4) /* the driver's memset is as fast */
        return plan_memset(plan, op, tensor, element, scalar.bits);
    acui_walk walk;
    unsigned unit = unit_of(&layout, place_of(tensor));
    make_walk(&layout, unit, &walk);
    repeat(scalar, layout.element, walk.value);
    acu_config config = {.grid = {blocks_for(walk.units, THREADS * EACH), 1, 1},
                         .block = {THREADS, 1, 1}};
    acui_node *node = add_kernel(plan, op, tensor->buffer->device, "fill_walk", unit, config, &walk,
                                 sizeof walk);
    if (!node)
        return acui_error()->status;
    ACUI_TRY(acui_node_add_access(plan, node, tensor, ACU_WRITE));
    return acui_launch_address(plan, node, 0, tensor->buffer, tensor->offset);
}
