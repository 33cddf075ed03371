/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The grid of a launch that names none, from its partitions. A whole partition gives one block for
 * each tile; so does a prefix, but the launch may ask for fewer; if all partitions are mapped, the
 * grid is the most blocks that any of them asks for. A grid that the launch does name is checked
 * against them.
 */
#include "base/error.h"
#include "op/grid.h"

#include <string.h>

#define BLOCKS 8 /* per multiprocessor, where a mapped partition does not say how many */

static acu_status check_tiles(const acu_val *value)
{
    const acu_shape *shape = &value->tensor->shape;
    for (int d = 0; d < shape->rank && !value->tensor->empty; d++) {
        int64_t tile = value->tile.dim[d];
        if (value->grid[shape->rank - 1 - d] == 0)
            return acui_fail(ACU_ERR_LIMIT, "a partition into %lld tiles in one dimension",
                             (long long)((shape->dim[d] - 1) / tile + 1));
    }
    return ACU_OK;
}

/* Blocks of a mapped partition: no more than it has tiles. */
static unsigned mapped_blocks(const acu_kernel *kernel, const acu_val *value)
{
    const unsigned *tiles = value->grid;
    uint64_t all = (uint64_t)tiles[0] * tiles[1], most = value->blocks;
    if (most == 0)
        most = BLOCKS * (uint64_t)kernel->module->device->info.multiprocessors;
    all = all > UINT32_MAX ? all : all * tiles[2];
    return (unsigned)(all < most ? all : most);
}

/* Takes the grid, where there is none yet, from the first partition of the mode; for mapped ones it
 * is the largest. *giver: the partition that therefore needs no check. */
static acu_status take_grid(const acu_op *op, const acu_val *values, acu_partition_mode mode,
                            unsigned grid[3], const acu_val **giver)
{
    bool given = grid[0] != 0;
    for (size_t i = 0; i < op->u.call.arg_count && !given; i++) {
        if (values[i].kind != ACU_PARTITION || values[i].mode != mode)
            continue;
        ACUI_TRY(check_tiles(&values[i]));
        if (mode != ACU_MAPPED) {
            memcpy(grid, values[i].grid, sizeof values[i].grid);
            *giver = &values[i];
            return ACU_OK;
        }
        unsigned blocks = mapped_blocks(op->u.call.kernel, &values[i]);
        grid[1] = grid[2] = 1;
        grid[0] = blocks > grid[0] ? blocks : grid[0];
    }
    return ACU_OK;
}

static acu_status check_grid(const acu_op *op, size_t index, const acu_val *value,
                             const unsigned grid[3])
{
    const unsigned *tiles = value->grid;
    const char *name = op->u.call.kernel->name;
    ACUI_TRY(check_tiles(value));
    bool fits = true, prefix = value->mode == ACU_PREFIX;
    if (value->tensor->empty && grid[0] == 0)
        return ACU_OK;
    for (int i = 0; i < 3; i++)
        fits &= value->mode == ACU_MAPPED || grid[i] == tiles[i] || (prefix && grid[i] < tiles[i]);
    if (fits)
        return ACU_OK;
    return acui_fail(
        ACU_ERR_SHAPE,
        "argument %zu of %s is a partition of %ux%ux%u tiles%s, but the grid is %ux%ux%u "
        "by the launch or an earlier partition",
        index, name, tiles[0], tiles[1], tiles[2],
        prefix ? ", of which a prefix may be launched" : "", grid[0], grid[1], grid[2]);
}

acu_status acui_launch_find_grid(const acu_op *op, const acu_val *values, acu_config *config)
{
    unsigned *grid = config->grid;
    const acu_val *giver = NULL;
    for (int mode = 0; mode <= ACU_MAPPED && !acui_grid_is_given(grid); mode++)
        ACUI_TRY(take_grid(op, values, (acu_partition_mode)mode, grid, &giver));
    if (!acui_grid_is_given(grid) && op->u.call.arg_count == 0)
        grid[0] = 1; /* a launch without arguments has nothing to take one from */
    if (!acui_grid_is_given(grid))
        return acui_fail(ACU_ERR_LIMIT,
                         "the launch of %s has no grid: give one (acu_for_num_elems, "
                         "ACU_GRID_BLOCK), or a partition to take it from",
                         op->u.call.kernel->name);
    for (int i = 1; i < 3; i++)
        grid[i] = grid[i] ? grid[i] : 1;
    for (size_t i = 0; i < op->u.call.arg_count; i++)
        if (values[i].kind == ACU_PARTITION && &values[i] != giver)
            ACUI_TRY(check_grid(op, i, &values[i], grid));
    return ACU_OK;
}
