/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Partitions in a launch: the grid that follows from them, and how the kernel sees them. */
#ifndef ACUI_OP_GRID_H
#define ACUI_OP_GRID_H

#include "op/op.h"

#include <acuda/tile.h>

/* Complete the grid of `config` from the partitions among the values, one for each argument of the
 * launch. Errors: SHAPE (they do not agree with it, or each other), LIMIT
 * (no grid, too many tiles). */
acu_status acui_launch_grid(const acu_op *op, const acu_val *values, acu_config *config);

/* The parameter for a partition, but for its address, in a launch of this grid, which was checked
 * against it; *param is zeroed. */
void acui_tile_fill(const acu_val *value, const unsigned grid[3], acu_tile_param *param);

#endif
