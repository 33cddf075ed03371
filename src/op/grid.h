/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Partitions in a launch: the grid that follows from them, and how the kernel sees them. */
#ifndef ACUI_OP_GRID_H
#define ACUI_OP_GRID_H

#include "op/op.h"

#include <acuda/tile.h>

/* Tiles along an extent, rounded up; 0: more than a grid can have. Most tiles are a power of two,
 * and most numbers fit 32 bits, in which processors divide faster. */
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

/* Complete the grid of `config` from the partitions among the values, one for each argument of the
 * launch. Errors: SHAPE (they do not agree with it, or each other), LIMIT
 * (no grid, too many tiles). */
acu_status acui_launch_grid(const acu_op *op, const acu_val *values, acu_config *config);

/* The parameter for a partition, but for its address; *param is zeroed. */
static inline void acui_tile_fill(const acu_val *value, acu_tile_param *param)
{
    const acu_tensor *t = value->tensor;
    int rank = t->shape.rank;
    param->rank = (unsigned)rank;
    param->element_bytes = (unsigned)acu_dtype_bytes(t->dtype);
    if (value->mode != ACU_WHOLE)
        param->flags = value->mode == ACU_PREFIX ? ACU_TILE_PREFIX : ACU_TILE_MAPPED;
    for (int d = 0; d < rank; d++) {
        param->shape[d] = t->shape.dim[d];
        param->stride[d] = t->strides[d];
        param->tile[d] = value->tile.dim[d];
        param->tiles[d] = value->grid[rank - 1 - d];
    }
    for (int d = rank; d < ACU_TILE_MAX_RANK; d++)
        param->shape[d] = param->tile[d] = param->tiles[d] = 1;
}

#endif
