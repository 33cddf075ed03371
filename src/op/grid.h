/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Partitions in a launch: the grid that follows from them, and the parameter that the kernel
 * gets. */
#ifndef ACUI_OP_GRID_H
#define ACUI_OP_GRID_H

#include "op/op.h"

#include <acuda/tile.h>
#include <string.h>

/* 0 in x beside others is a grid too, of no blocks: an empty partition's, and what
 * acu_for_num_elems gives for no elements. */
static inline bool acui_grid_is_given(const unsigned grid[3])
{
    return grid[0] || grid[1] || grid[2];
}

/* Whether the launch, whose grid is complete, has no blocks: it is checked, and nothing happens. */
static inline bool acui_launches_nothing(const acu_config *config)
{
    return config->grid[0] == 0;
}

/* Tiles along an extent, rounded up; 0: more than a grid can have. Fast for the common cases: a
 * tile that is a power of two needs no division, and numbers of 32 bits divide faster. */
static inline unsigned acui_tiles(int64_t extent, int64_t tile)
{
    int64_t tiles;
    if ((tile & (tile - 1)) == 0)
        tiles = ((extent - 1) >> __builtin_ctzll((unsigned long long)tile)) + 1;
    else if ((extent | tile) <= UINT32_MAX)
        tiles = ((uint32_t)extent - 1u) / (uint32_t)tile + 1u;
    else
        tiles = (extent - 1) / tile + 1;
    return tiles > INT32_MAX ? 0 : (unsigned)tiles;
}

/* Summary of a launch's partitions, built one by one. */
typedef struct acui_tiling {
    const acu_val *first; /* NULL: there are none */
    bool mixed;           /* they differ in their tiles, or some are not whole */
} acui_tiling;

static inline void acui_tiling_meet(acui_tiling *tiling, const acu_val *value)
{
    const acu_val *first = tiling->first ? tiling->first : value;
    tiling->first = first;
    if (value->mode != ACU_WHOLE || memcmp(value->grid, first->grid, sizeof first->grid) != 0)
        tiling->mixed = true;
}

/* Complete the grid of `config` from the partitions among the values, of which there is one for
 * each argument of the launch. Errors: SHAPE (the partitions disagree with the grid or each other),
 * LIMIT (no grid, too many tiles). */
acu_status acui_launch_find_grid(const acu_op *op, const acu_val *values, acu_config *config);
static inline acu_status acui_launch_grid(const acu_op *op, const acu_val *values,
                                          const acui_tiling *tiling, acu_config *config)
{
    const acu_val *first = tiling->first;
    if (!first && config->grid[0])
        return ACU_OK;
    if (!first || tiling->mixed || acui_grid_is_given(config->grid) || !first->grid[0] ||
        !first->grid[1] || !first->grid[2])
        return acui_launch_find_grid(op, values, config);
    memcpy(config->grid, first->grid, sizeof first->grid);
    return ACU_OK;
}

static inline void acui_tile_unused(acu_tile_param *param, unsigned d)
{
    param->shape[d] = param->tile[d] = 1;
    param->stride[d] = 0;
}

/* Fills the parameter for a partition, all but its address; *param is zeroed. */
static inline void acui_tile_fill(const acu_val *value, acu_tile_param *param)
{
    const acu_tensor *t = value->tensor;
    unsigned rank = (unsigned)t->shape.rank;
    param->rank = rank;
    param->element_bytes = t->element_bytes;
    if (value->mode != ACU_WHOLE)
        param->flags = value->mode == ACU_PREFIX ? ACU_TILE_PREFIX : ACU_TILE_MAPPED;
    memcpy(param->shape, t->shape.dim, sizeof param->shape);
    memcpy(param->stride, t->strides, sizeof param->stride);
    memcpy(param->tile, value->tile.dim, sizeof param->tile);
    memcpy(param->tiles, value->grid, sizeof param->tiles); /* grid is in reverse order, padded with
                                                             * 1: */
    param->tiles[0] = value->grid[rank - 1];
    param->tiles[rank - 1] = value->grid[0];
    if (rank < 3)
        acui_tile_unused(param, 2);
    if (rank < 2)
        acui_tile_unused(param, 1);
}

#endif
