/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The grid of a launch, from its partitions: as many blocks as tiles where one is whole; as the
 * launch says, or as many, where they are prefixes; as many as they ask for where all are mapped.
 */
#include "base/error.h"
#include "op/grid.h"

#include <string.h>

#define BLOCKS 8 /* for each multiprocessor, where a mapped partition does not say how many */

/* Rounded up. Most tiles are a power of two; most numbers fit 32 bits, in which processors divide
 * faster. */
static inline int64_t tiles_of(int64_t extent, int64_t tile)
{
    if ((tile & (tile - 1)) == 0)
        return ((extent - 1) >> __builtin_ctzll((unsigned long long)tile)) + 1;
    if ((extent | tile) <= UINT32_MAX)
        return ((uint32_t)extent - 1u) / (uint32_t)tile + 1u;
    return (extent - 1) / tile + 1;
}

/* Tiles as a grid: x counts the last dimension. */
static inline acu_status tile_grid(const acu_val *value, unsigned grid[3])
{
    const acu_shape *shape = &value->tensor->shape;
    grid[0] = grid[1] = grid[2] = 1;
    for (int d = 0; d < shape->rank; d++) {
        int64_t tiles = tiles_of(shape->dim[d], value->tile.dim[d]);
        if (tiles > INT32_MAX)
            return acui_fail(ACU_ERR_LIMIT, "a partition into %lld tiles in one dimension",
                             (long long)tiles);
        grid[shape->rank - 1 - d] = (unsigned)tiles;
    }
    return ACU_OK;
}

/* Blocks of a mapped partition: no more than it has tiles. */
static unsigned mapped_blocks(const acu_kernel *kernel, const acu_val *value,
                              const unsigned tiles[3])
{
    uint64_t all = (uint64_t)tiles[0] * tiles[1], most = value->blocks;
    if (most == 0)
        most = BLOCKS * (uint64_t)kernel->module->device->info.multiprocessors;
    all = all > UINT32_MAX ? all : all * tiles[2];
    return (unsigned)(all < most ? all : most);
}

/* The first partition of a mode gives the grid, where there is none yet; of mapped ones the
 * largest. *giver: who fits for that. */
static acu_status take_grid(const acu_op *op, const acu_val *values, acu_partition_mode mode,
                            unsigned grid[3], const acu_val **giver)
{
    bool given = grid[0] != 0;
    for (size_t i = 0; i < op->u.call.arg_count && !given; i++) {
        unsigned tiles[3];
        if (values[i].kind != ACU_PARTITION || values[i].mode != mode)
            continue;
        ACUI_TRY(tile_grid(&values[i], tiles));
        if (mode != ACU_MAPPED) {
            memcpy(grid, tiles, sizeof tiles);
            *giver = &values[i];
            return ACU_OK;
        }
        unsigned blocks = mapped_blocks(op->u.call.kernel, &values[i], tiles);
        grid[0] = blocks > grid[0] ? blocks : grid[0];
    }
    return ACU_OK;
}

static acu_status check_grid(const acu_op *op, size_t place, const acu_val *value,
                             const unsigned grid[3])
{
    unsigned tiles[3];
    const char *name = op->u.call.kernel->name;
    ACUI_TRY(tile_grid(value, tiles));
    bool fits = true, prefix = value->mode == ACU_PREFIX;
    for (int i = 0; i < 3; i++)
        fits &= value->mode == ACU_MAPPED || grid[i] == tiles[i] || (prefix && grid[i] < tiles[i]);
    if (fits)
        return ACU_OK;
    return acui_fail(
        ACU_ERR_SHAPE,
        "argument %zu of %s is a partition of %ux%ux%u tiles%s, but the grid is %ux%ux%u "
        "by the launch or an earlier partition",
        place, name, tiles[0], tiles[1], tiles[2],
        prefix ? ", of which a prefix may be launched" : "", grid[0], grid[1], grid[2]);
}

static __attribute__((noinline)) acu_status find_grid(const acu_op *op, const acu_val *values,
                                                      acu_config *config)
{
    unsigned *grid = config->grid;
    const acu_val *giver = NULL;
    for (int mode = 0; mode <= ACU_MAPPED && grid[0] == 0; mode++)
        ACUI_TRY(take_grid(op, values, (acu_partition_mode)mode, grid, &giver));
    if (grid[0] == 0)
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

/* Tiles along the dimension that the grid counts `axis` for; 0: too many. */
static inline unsigned tiles_along(const acu_val *value, int axis)
{
    const acu_shape *shape = &value->tensor->shape;
    int d = shape->rank - 1 - axis;
    if (d < 0)
        return 1;
    int64_t tiles = tiles_of(shape->dim[d], value->tile.dim[d]);
    return tiles > INT32_MAX ? 0 : (unsigned)tiles;
}

acu_status acui_launch_grid(const acu_op *op, const acu_val *values, acu_config *config)
{
    unsigned x = config->grid[0], y = config->grid[1], z = config->grid[2];
    y = y ? y : 1;
    z = z ? z : 1;
    bool alike = true; /* and whole, as most are */
    for (size_t i = 0; i < op->u.call.arg_count && alike; i++) {
        if (values[i].kind != ACU_PARTITION)
            continue;
        unsigned tx = tiles_along(&values[i], 0), ty = tiles_along(&values[i], 1);
        unsigned tz = tiles_along(&values[i], 2);
        y = x ? y : ty;
        z = x ? z : tz;
        x = x ? x : tx;
        alike = values[i].mode == ACU_WHOLE && x == tx && y == ty && z == tz;
    }
    if (!alike || !x || !y || !z)
        return find_grid(op, values, config);
    config->grid[0] = x;
    config->grid[1] = y;
    config->grid[2] = z;
    return ACU_OK;
}

/* `tiles`: along it, by the grid that was checked against it; where it is whole. */
static inline void fill_dimension(const acu_val *value, int d, unsigned tiles, acu_tile_param *p)
{
    const acu_tensor *t = value->tensor;
    p->shape[d] = t->shape.dim[d];
    p->stride[d] = t->strides[d];
    p->tile[d] = value->tile.dim[d];
    p->tiles[d] = value->mode == ACU_WHOLE ? tiles : (unsigned)tiles_of(p->shape[d], p->tile[d]);
}

void acui_tile_fill(const acu_val *value, const unsigned grid[3], acu_tile_param *p)
{
    static const unsigned flags[] = {
        [ACU_WHOLE] = 0, [ACU_PREFIX] = ACU_TILE_PREFIX, [ACU_MAPPED] = ACU_TILE_MAPPED};
    const acu_tensor *t = value->tensor;
    int rank = t->shape.rank;
    p->rank = (unsigned)rank;
    p->element_bytes = (unsigned)acu_dtype_bytes(t->dtype);
    p->flags = flags[value->mode];
    for (int d = 0; d < rank; d++)
        fill_dimension(value, d, grid[rank - 1 - d], p);
    for (int d = rank; d < ACU_TILE_MAX_RANK; d++)
        p->shape[d] = p->tile[d] = p->tiles[d] = 1;
}
