/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Partitions: a tensor as disjoint tiles for a kernel to write. Whoever partitions is the only
 * writer: the tensor is borrowed, or the partition has the only handle.
 */
#include "base/error.h"
#include "base/rare.h"
#include "op/grid.h"
#include "op/op.h"

#include <string.h>

/* Whether the tile has the tensor's rank and no empty dimension; then `grid` is the number of
 * tiles, the fastest dimension first. */
static inline bool count_tiles(const acu_tensor *tensor, const acu_shape *tile, unsigned grid[3])
{
    int rank = tensor->shape.rank;
    if (rank == 0 || rank > ACU_TILE_MAX_RANK || tile->rank != rank)
        return false;
    grid[1] = grid[2] = 1;
    for (int d = 0; d < rank; d++) {
        if (tile->dim[d] < 1)
            return false;
        grid[rank - 1 - d] = acui_tiles(tensor->shape.dim[d], tile->dim[d]);
    }
    if (tensor->empty) { /* no tiles */
        grid[0] = 0;
        grid[1] = grid[2] = 1;
    }
    return true;
}

static acu_status refuse_tile(const acu_tensor *tensor, const acu_shape *tile)
{
    char words[96], tile_words[96];
    acui_tensor_words(tensor, words);
    if (tensor->shape.rank == 0)
        return acui_fail(ACU_ERR_SHAPE, "%s has no dimension to be partitioned along", words);
    if (tensor->shape.rank > ACU_TILE_MAX_RANK)
        return acui_fail(ACU_ERR_SHAPE, "%s has more than %d dimensions, the most that a partition "
                         "has", words, ACU_TILE_MAX_RANK);
    return acui_fail(ACU_ERR_SHAPE, "tiles of %s for %s: a tile has as many dimensions as the "
                     "tensor, each at least 1", acui_shape_words(*tile, tile_words), words);
}

/* For a value that is not borrowed: the partition needs the only handle. */
static acu_status check_sole(const acu_val *value)
{
    char words[96];
    if (value->form == ACU_SHARED)
        return acui_fail(ACU_ERR_SHARED, "%s is shared, for reading only, and can not be "
                         "partitioned; take sole ownership with acu_own, or partition a copy "
                         "(acu_dup)", acui_tensor_words(value->tensor, words));
    if (!acui_tensor_sole(value->tensor))
        return acui_fail(ACU_ERR_SHARED, "an owned partition needs the only handle of %s, but "
                         "another handle or view is left; release it, or pass the tensor itself "
                         "for a borrowed partition", acui_tensor_words(value->tensor, words));
    return ACU_OK;
}

static inline acu_status check_exclusive(const acu_val *value)
{
    ACUI_TRY(acui_tensor_check_write(value->tensor));
    return value->form == ACU_BORROWED ? ACU_OK : check_sole(value);
}

acu_status acui_partition_value(const acu_op *op, acu_val *value)
{
    if (value->kind != ACU_TENSOR)
        return acui_fail(ACU_ERR_INVALID, "%s can not be partitioned, only a tensor",
                         acui_val_words(value));
    unsigned grid[3];
    if (!count_tiles(value->tensor, &op->u.value.tile, grid))
        return refuse_tile(value->tensor, &op->u.value.tile);
    ACUI_TRY(check_exclusive(value));
    value->kind = ACU_PARTITION;
    value->tile = op->u.value.tile;
    value->mode = op->u.value.mode;
    value->blocks = op->u.value.blocks;
    memcpy(value->grid, grid, sizeof grid);
    return ACU_OK;
}

static acu_status plan_partition(acui_plan *plan, acu_op *op, acu_device *fallback,
                                 acui_values *values)
{
    acu_val value = op->u.value;
    plan->passes_on = true;
    if (op->input_count)
        ACUI_TRY(acui_plan_input(plan, op, fallback, &value));
    op->u.value.tensor = NULL; /* the op's reference moves to the value: an op is planned once */
    if (value.form == ACU_OWNED)
        acui_plan_release_discarded(plan);
    acu_status status = acui_partition_value(op, &value);
    if (status == ACU_OK)
        return acui_values_push(values, value);
    acui_val_drop(&value);
    return status;
}

bool acui_partition_take(acu_op *op, acu_val *value)
{
    const acu_val *own = &op->u.value;
    if (op->class != &acui_class_PARTITION || !own->grid[0] || !acui_op_is_sole(op) ||
        check_exclusive(own) != ACU_OK)
        return false;
    *value = *own;
    value->kind = ACU_PARTITION;
    acui_object_free_known(op, ACU_OBJECT_OP); /* it held only the tensor */
    return true;
}

static void destroy_partition(acu_op *op)
{
    acu_tensor_release(op->u.value.tensor);
}

const acui_op_class acui_class_PARTITION = {
    .name = "partition", .plan = plan_partition, .destroy = destroy_partition, .passes = 1};

/* Whether the op only yields a tensor and nobody else has it: it becomes the partition itself,
 * which is one op less to plan. */
static bool is_plain_value(const acu_op *x)
{
    return x->class == &acui_class_VALUE && x->u.value.kind == ACU_TENSOR && !x->named &&
           acui_object_refs(x) == 1;
}

/* Sets the tiles, and the grid if the tensor is known already and the tiles fit it; else grid[0] is
 * 0. */
static inline void set_tiles(acu_op *op, const acu_shape *tile, acu_partition_mode mode,
                             unsigned blocks)
{
    acu_val *value = &op->u.value;
    value->tile = *tile;
    value->mode = mode;
    value->blocks = blocks;
    if (value->kind != ACU_TENSOR || !count_tiles(value->tensor, tile, value->grid))
        value->grid[0] = 0;
}

acu_op *acu_op_partition(acu_op *x, acu_shape tile, acu_partition_mode mode, unsigned blocks,
                         acu_site site)
{
    const acui_op_class *class = &acui_class_PARTITION;
    acu_op *op = acui_op_take(x, class, site);
    if ((unsigned)mode > ACU_MAPPED) {
        acui_op_put(op);
        acui_fail(ACU_ERR_INVALID,
                  "%d is no way to partition (ACU_WHOLE, ACU_PREFIX or ACU_MAPPED)", (int)mode);
        return acui_op_failed(class, site);
    }
    if (is_plain_value(op)) {
        acui_op_become(op, class, site);
    } else {
        op = acui_op_over(class, op, site);
        if (acui_op_is_oom(op))
            return op;
        op->u.value = (acu_val){.kind = ACU_NONE};
    }
    set_tiles(op, &tile, mode, blocks);
    return op;
}

/* The general way, over a value op; that says what is wrong. */
static ACUI_RARE acu_op *partition_value(acu_tensor *tensor, const acu_shape *tile,
                                         acu_partition_mode mode, unsigned blocks, acu_site site)
{
    if (acui_object_check(tensor, ACU_OBJECT_TENSOR, "acu_partition") != ACU_OK)
        return acui_op_failed(&acui_class_PARTITION, site);
    return acu_op_partition(acu_op_value(tensor, site), *tile, mode, blocks, site);
}

acu_op *acu_op_partition_tensor(acu_tensor *tensor, acu_shape tile, acu_partition_mode mode,
                                unsigned blocks, acu_site site)
{
    acu_op *op;
    if (!acui_object_is(tensor, ACU_OBJECT_TENSOR) || (unsigned)mode > ACU_MAPPED ||
        !(op = acui_op_at_hand()))
        return partition_value(tensor, &tile, mode, blocks, site);
    acui_object_retain(tensor); /* before writing to the op: else this atomic would wait for those
                                 * stores */
    acui_op_begin(op, &acui_class_PARTITION, site);
    op->u.value.kind = ACU_TENSOR;
    op->u.value.form = ACU_BORROWED;
    op->u.value.tensor = tensor;
    set_tiles(op, &tile, mode, blocks);
    return op;
}

static acu_status plan_unpartition(acui_plan *plan, acu_op *op, acu_device *fallback,
                                   acui_values *values)
{
    size_t i = values->count;
    ACUI_TRY(acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values));
    for (; i < values->count; i++)
        if (values->list[i].kind == ACU_PARTITION)
            values->list[i].kind = ACU_TENSOR;
    return ACU_OK;
}

const acui_op_class acui_class_UNPARTITION = {
    .name = "unpartition", .plan = plan_unpartition, .passes = 1};

acu_op *acu_op_unpartition(acu_op *x, acu_site site)
{
    return acui_op_unary(&acui_class_UNPARTITION, x, site);
}
