/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches: a kernel with its arguments, checked before anything is enqueued (launch_check.c). */
#include "base/error.h"
#include "op/arg.h"
#include "op/launch.h"

#include <string.h>

/* ---- the grid ---- */

/* Tiles of a partition, as a grid: x counts the last dimension. */
static acu_status partition_grid(const acu_val *value, unsigned grid[3])
{
    const acu_shape *shape = &value->tensor->shape;
    grid[0] = grid[1] = grid[2] = 1;
    for (int d = 0; d < shape->rank; d++) {
        int64_t tiles = (shape->dim[d] + value->tile.dim[d] - 1) / value->tile.dim[d];
        if (tiles > INT32_MAX)
            return acui_fail(ACU_ERR_LIMIT, "a partition into %lld tiles in one dimension",
                             (long long)tiles);
        grid[shape->rank - 1 - d] = (unsigned)tiles;
    }
    return ACU_OK;
}

static acu_status infer_grid(const acu_op *op, const acu_val *values, acu_config *config)
{
    const acu_kernel *kernel = op->u.call.kernel;
    for (size_t i = 0; i < op->u.call.arg_count; i++) {
        unsigned grid[3];
        if (values[i].kind != ACU_PARTITION)
            continue;
        ACUI_TRY(partition_grid(&values[i], grid));
        if (config->grid[0] == 0)
            memcpy(config->grid, grid, sizeof grid);
        unsigned y = config->grid[1] ? config->grid[1] : 1, z = config->grid[2] ? config->grid[2] : 1;
        if (config->grid[0] != grid[0] || y != grid[1] || z != grid[2])
            return acui_fail(ACU_ERR_SHAPE, "argument %zu of %s is a partition of %ux%ux%u tiles, "
                             "but the grid is %ux%ux%u by the launch or an earlier partition", i,
                             kernel->name, grid[0], grid[1], grid[2], config->grid[0], y, z);
    }
    if (config->grid[0] == 0)
        return acui_fail(ACU_ERR_LIMIT, "the launch of %s has no grid: give one (acu_for_num_elems, "
                         "ACU_GRID_BLOCK), or a partition to take it from", kernel->name);
    return ACU_OK;
}

/* ---- the node ---- */

static acu_tile_param tile_param(const acu_val *value)
{
    const acu_tensor *t = value->tensor;
    acu_tile_param p = {.rank = (unsigned)t->shape.rank,
                        .element_bytes = (unsigned)acu_dtype_bytes(t->dtype)};
    for (int d = 0; d < ACU_TILE_MAX_RANK; d++) {
        bool used = d < t->shape.rank;
        p.shape[d] = used ? t->shape.dim[d] : 1;
        p.stride[d] = used ? t->strides[d] : 0;
        p.tile[d] = used ? value->tile.dim[d] : 1;
        p.tiles[d] = (unsigned)((p.shape[d] + p.tile[d] - 1) / p.tile[d]);
    }
    return p;
}

acu_status acui_launch_address(acui_plan *plan, acui_node *node, size_t at, acu_buffer *buffer,
                               size_t offset)
{
    /* Acquire: pairs with the release in which the allocation is published. */
    CUdeviceptr address = atomic_load_explicit(&buffer->address, memory_order_acquire);
    if (address) {
        address += offset;
        memcpy(node->u.launch.data + at, &address, sizeof address);
        return ACU_OK;
    }
    acui_late *late = ACUI_ARENA_NEW(&plan->arena, acui_late);
    if (!late)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a launch");
    *late = (acui_late){
        .next = node->u.launch.late, .buffer = buffer, .offset = offset, .at = at};
    node->u.launch.late = late;
    return ACU_OK;
}

acui_node *acui_plan_launch(acui_plan *plan, const acu_op *op, acu_kernel *kernel,
                            acu_config config, size_t touches, uint32_t bytes)
{
    void *memory = NULL;
    acui_node *node = acui_plan_node_with(plan, ACUI_NODE_LAUNCH, op, kernel->module->device,
                                          touches, sizeof(void *) + bytes, &memory);
    if (!node) {
        acu_kernel_release(kernel);
        return NULL;
    }
    node->u.launch.kernel = kernel;
    node->u.launch.config = config;
    node->u.launch.pointers = memory;
    node->u.launch.data = (char *)(node->u.launch.pointers + 1);
    node->u.launch.pointers[0] = node->u.launch.data;
    node->u.launch.count = 1;
    node->u.launch.bytes = bytes;
    if (acui_kernel_state(kernel) != ACUI_LOADED &&
        acui_launch_note_struct(plan, node) != ACU_OK)
        return NULL; /* the plan has the kernel */
    return node;
}

static acu_status fill_param(acui_plan *plan, acui_node *node, size_t at, const acu_val *value,
                             const acu_arg *arg)
{
    char *data = node->u.launch.data + at;
    if (value->kind == ACU_SCALAR) {
        memcpy(data, &value->bits, sizeof value->bits); /* little-endian hosts, as CUDA's are */
        return ACU_OK;
    }
    if (value->kind == ACU_NONE) {
        memcpy(data, arg->u.memory, arg->bytes);
        return ACU_OK;
    }
    if (value->kind == ACU_PARTITION) {
        acu_tile_param tile = tile_param(value);
        memcpy(data, &tile, sizeof tile);
    }
    return acui_launch_address(plan, node, at, value->tensor->buffer, value->tensor->offset);
}

static uint32_t padded(uint32_t bytes)
{
    return (bytes + 7u) & ~7u;
}

static acu_status fill_params(acui_plan *plan, acui_node *node, const acu_op *op,
                              const acu_val *values)
{
    size_t at = 0;
    for (size_t i = 0; i < op->u.call.arg_count; i++) {
        node->u.launch.pointers[i] = node->u.launch.data + at;
        ACUI_TRY(fill_param(plan, node, at, &values[i], &op->u.call.args[i]));
        at += padded(acui_launch_bytes(&values[i], &op->u.call.args[i]));
    }
    return ACU_OK;
}

static acu_status add_launch(acui_plan *plan, acu_op *op, const acu_val *values, acu_config config,
                             bool early)
{
    acu_kernel *kernel = op->u.call.kernel;
    size_t count = op->u.call.arg_count, tensors = 0;
    uint32_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += padded(acui_launch_bytes(&values[i], &op->u.call.args[i]));
        tensors += values[i].tensor != NULL;
    }
    void *memory = NULL;
    acui_node *node = acui_plan_node_with(plan, ACUI_NODE_LAUNCH, op, kernel->module->device,
                                          tensors, count * sizeof(void *) + bytes, &memory);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.launch.kernel = kernel; /* the op's reference moves on: it is planned once */
    op->u.call.kernel = NULL;
    node->u.launch.config = config;
    node->u.launch.pointers = memory;
    node->u.launch.data = (char *)(node->u.launch.pointers + count);
    node->u.launch.count = (uint32_t)count;
    node->u.launch.bytes = bytes;
    if (!op->name[0]) /* messages say which kernel */
        node->name = kernel->name;
    ACUI_TRY(acui_touch_args(plan, node, op, values));
    if (early)
        ACUI_TRY(acui_launch_note(plan, node, op, values));
    return fill_params(plan, node, op, values);
}

static acu_status plan_launch(acui_plan *plan, acu_op *op, acu_device *place, acui_values *values)
{
    (void)place; /* a kernel's device is its own */
    acu_kernel *kernel = op->u.call.kernel;
    acu_config config = op->u.call.config;
    size_t base = values->count;
    ACUI_TRY(acui_plan_args(plan, op, kernel->module->device, values));
    const acu_val *list = values->list + base;
    acui_load_state state = acui_kernel_state(kernel);
    bool early = state == ACUI_LOADING;
    if (state == ACUI_LOAD_FAILED)
        return acu_kernel_poll(kernel);
    ACUI_TRY(early ? acui_launch_check_early(op, list) : acui_launch_check(op, list));
    ACUI_TRY(infer_grid(op, list, &config));
    ACUI_TRY(early ? acui_kernel_config_early(kernel, &config)
                   : acui_kernel_config(kernel, &config));
    return add_launch(plan, op, list, config, early);
}

static void destroy_launch(acu_op *op)
{
    if (op->u.call.kernel)
        acu_kernel_release(op->u.call.kernel);
    acui_args_destroy(op);
}

const acui_op_class acui_class_LAUNCH = {
    .name = "launch", .plan = plan_launch, .destroy = destroy_launch};

acu_op *acu_op_launch(acu_kernel *kernel, acu_config config, const acu_arg *args, size_t count,
                      acu_site site)
{
    acu_op *op = acui_op_with_args(&acui_class_LAUNCH, args, count, site);
    if (op->class != &acui_class_LAUNCH)
        return op;
    if (acui_object_check(kernel, ACU_OBJECT_KERNEL, "acu_launch") != ACU_OK) {
        acu_op *failed = acui_op_failed(&acui_class_LAUNCH, site);
        acui_op_put(op);
        return failed;
    }
    op->u.call.kernel = acu_kernel_retain(kernel);
    op->u.call.config = config;
    return op;
}
