/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launches: a kernel with its arguments, checked (launch_check.c) before anything is enqueued. The
 * node holds a copy of all parameters; addresses of memory that is not allocated yet are filled in
 * when it is issued. Most launches are planned in a shorter way: launch_plain.c.
 */
#include "base/error.h"
#include "op/arg.h"
#include "op/chain.h"
#include "op/grid.h"
#include "op/inside.h"
#include "op/instead.h"
#include "op/launch.h"

#include <string.h>

/* ---- the node ---- */

acu_status acui_launch_address_late(acui_plan *plan, acui_node *node, size_t at,
                                    acu_buffer *buffer, size_t offset)
{
    acui_late *late = ACUI_ARENA_NEW(&plan->arena, acui_late);
    if (!late)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a launch");
    *late = (acui_late){
        .next = node->u.launch.late, .buffer = buffer, .offset = offset, .at = at};
    node->u.launch.late = late;
    return ACU_OK;
}

acui_launch_more *acui_launch_more_of(acui_plan *plan, acui_node *node)
{
    if (!node->u.launch.more)
        node->u.launch.more = ACUI_ARENA_NEW(&plan->arena, acui_launch_more);
    if (!node->u.launch.more)
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a launch");
    return node->u.launch.more;
}

acu_status acui_launch_set_special(acui_plan *plan, acui_node *node, const acu_config *config)
{
    acui_launch_more *more = acui_launch_more_of(plan, node);
    if (!more)
        return ACU_ERR_NO_MEMORY;
    more->config = *config;
    return ACU_OK;
}

acui_node *acui_plan_launch(acui_plan *plan, const acu_op *op, acu_kernel *kernel,
                            acu_config config, size_t accesses, uint32_t bytes)
{
    acui_node *node = acui_plan_node_with(plan, ACUI_NODE_LAUNCH, op, kernel->module->device,
                                          accesses, bytes, NULL);
    if (!node || !acui_plan_hold_kernel(plan, kernel)) {
        acu_kernel_release(kernel);
        return NULL;
    }
    node->u.launch.kernel = kernel;
    node->u.launch.count = 1;
    node->u.launch.bytes = bytes;
    if (acui_launch_set_config(plan, node, &config) != ACU_OK)
        return NULL; /* the plan holds the kernel, */
    if (acui_kernel_state(kernel) != ACUI_LOADED &&
        acui_launch_note_struct(plan, node) != ACU_OK)
        return NULL; /* ... and here */
    return node;
}

static acu_status add_tensor(acui_plan *plan, acui_node *node, char *data, size_t at,
                             const acu_tensor *tensor, acu_access access)
{
    ACUI_TRY(acui_node_add_access(plan, node, tensor, access));
    return acui_launch_address_in(plan, node, data, at, tensor->buffer, tensor->offset);
}

/* A list (laid out as acu_list in device.cuh; the rest stays zero), or a struct with tensors in
 * it. */
static acu_status add_inside(acui_plan *plan, acui_node *node, char *data, size_t at,
                             const acui_inside *inside)
{
    memcpy(data + at, inside->memory, inside->bytes);
    for (size_t i = 0; i < inside->count; i++) {
        const acu_field *field = &inside->fields[i];
        ACUI_TRY(add_tensor(plan, node, data, at + field->offset, field->tensor, field->access));
    }
    return ACU_OK;
}

static inline acu_status add_partition(acui_plan *plan, acui_node *node, char *data, size_t at,
                                       const acu_val *value, const acu_arg *arg)
{
    acui_tile_fill(value, (acu_tile_param *)(void *)(data + at));
    return add_tensor(plan, node, data, at, value->tensor, acui_access_of(value, arg));
}

/* What argument i, a struct or list, takes in the parameters. A list may have fewer tensors than
 * its parameter has room for; that room is not known while the kernel is being loaded. */
static uint32_t padded_bytes(const acu_op *op, acu_kernel *kernel, size_t i, bool early)
{
    const acu_arg *arg = &op->u.call.args[i];
    const acu_val none = {.kind = ACU_NONE};
    uint32_t bytes = acui_launch_bytes(&none, arg), room = 0;
    if (arg->kind == ACU_ARG_LIST)
        room = early ? ACUI_STRUCT_MAX : acui_launch_room(kernel, i);
    return ((room > bytes ? room : bytes) + 7u) & ~7u;
}

/* Enters what the arguments touch, and writes their bytes into the parameters. */
static acu_status add_params(acui_plan *plan, acui_node *node, const acu_op *op,
                             const acu_val *value, bool early)
{
    const acu_arg *arg = op->u.call.args;
    char *data = acui_launch_data(node);
    uint32_t *offsets = node->u.launch.offsets ? acui_launch_offsets(node) : NULL, at = 0;
    for (uint32_t i = 0; i < node->u.launch.count; i++, value++, arg++) {
        uint32_t bytes = 8;
        if (offsets)
            offsets[i] = at;
        if (value->kind == ACU_TENSOR) {
            ACUI_TRY(add_tensor(plan, node, data, at, value->tensor, acui_arg_access_of(arg)));
        } else if (value->kind == ACU_SCALAR) { /* CUDA hosts are little-endian */
            memcpy(data + at, &value->bits, sizeof value->bits);
        } else if (value->kind == ACU_PARTITION) {
            ACUI_TRY(add_partition(plan, node, data, at, value, arg));
            bytes = sizeof(acu_tile_param);
        } else {
            bytes = padded_bytes(op, node->u.launch.kernel, i, early);
            if (acui_inside_of(arg))
                ACUI_TRY(add_inside(plan, node, data, at, acui_inside_of(arg)));
            else
                memcpy(data + at, arg->u.memory, arg->bytes);
        }
        at += bytes;
    }
    return ACU_OK;
}

/* Nobody knows which of its module's variables a kernel uses: so it touches all that the program
 * has as buffers. */
static acu_status add_globals(acui_plan *plan, acui_node *node, size_t room)
{
    acui_global_use *uses = ACUI_ARENA_ARRAY(&plan->arena, acui_global_use, room);
    if (!uses)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the parameters of a launch");
    size_t count = acui_globals_take(node->u.launch.kernel->module, uses, room);
    acu_status st = ACU_OK;
    for (size_t i = 0; i < count; i++) {
        if (st == ACU_OK)
            st = acui_node_add_bytes(plan, node, uses[i].buffer,
                                     acui_extent_range(0, acu_buffer_bytes(uses[i].buffer)),
                                     uses[i].constant ? ACU_READ : ACU_UPDATE);
        acu_buffer_release(uses[i].buffer);
    }
    return st;
}

typedef struct measured {
    size_t tensors;
    uint32_t bytes; /* bytes of all parameters */
    bool early;     /* the kernel is being loaded */
} measured;

/* Measures the launch from the counts; only structs and lists are looked at. */
static void measure(const acu_op *op, const acu_val *values, const acui_args_count *counts,
                    measured *m)
{
    uint32_t partitions = counts->of[ACU_PARTITION], others = counts->of[ACU_NONE];
    m->tensors = counts->of[ACU_TENSOR] + partitions;
    m->bytes = 8 * (counts->of[ACU_TENSOR] + counts->of[ACU_SCALAR]) +
               (uint32_t)sizeof(acu_tile_param) * partitions;
    for (size_t i = 0; others; i++) {
        if (values[i].kind != ACU_NONE)
            continue;
        m->bytes += padded_bytes(op, op->u.call.kernel, i, m->early);
        m->tensors += acui_inside_count(&op->u.call.args[i]);
        others--;
    }
}

acui_node *acui_plan_launch_of(acui_plan *plan, acu_op *op, const acu_config *config,
                               size_t accesses, uint32_t bytes, size_t more)
{
    acu_kernel *kernel = op->u.call.kernel;
    acui_node *node = acui_plan_node_with(plan, ACUI_NODE_LAUNCH, op, kernel->module->device,
                                          accesses, bytes + more, NULL);
    if (!node || !acui_plan_hold_kernel(plan, kernel))
        return NULL;
    node->u.launch.kernel = kernel;
    op->u.call.kernel = NULL; /* the op's reference is the plan's now: an op is planned once */
    node->u.launch.count = (uint32_t)op->u.call.arg_count;
    node->u.launch.bytes = bytes;
    if (!op->named) /* messages name the kernel */
        node->name = kernel->name;
    return acui_launch_set_config(plan, node, config) == ACU_OK ? node : NULL;
}

static acu_status add_launch(acui_plan *plan, acu_op *op, const acu_val *values,
                             const acu_config *config, const measured *m)
{
    const acu_module *module = op->u.call.kernel->module;
    size_t count = op->u.call.arg_count, globals = acui_globals_count(module);
    acu_buffer *scratch = NULL;
    bool instead = op->u.call.instead != NULL;
    if (instead)
        ACUI_TRY(acui_plan_scratch(plan, op, module->device, &scratch));
    bool offsets = m->bytes != 8 * count;
    size_t more = offsets ? (count * sizeof(uint32_t) + 7) & ~(size_t)7 : 0;
    acui_node *node = acui_plan_launch_of(plan, op, config, m->tensors + globals + instead,
                                          m->bytes, 8 * instead + more);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.launch.offsets = offsets;
    ACUI_TRY(add_params(plan, node, op, values, m->early));
    if (globals)
        ACUI_TRY(add_globals(plan, node, globals));
    if (instead)
        ACUI_TRY(acui_plan_instead(plan, node, op, scratch));
    return m->early ? acui_launch_note(plan, node, op, values) : ACU_OK;
}

/* Whether the launch before is of the same kernel and size, and so was found to be right already;
 * only for configurations that have nothing but a size, as most do. */
static inline bool is_as_before(const acui_plan *plan, const acu_kernel *kernel,
                                const acu_config *config)
{
    const acui_node *last = plan->last;
    if (!last || last->kind != ACUI_NODE_LAUNCH || last->u.launch.kernel != kernel ||
        last->u.launch.more || acui_config_is_special(config))
        return false;
    const acui_dims *d = &last->u.launch.dims;
    return memcmp(d->grid, config->grid, sizeof d->grid) == 0 &&
           memcmp(d->block, config->block, sizeof d->block) == 0 && d->shared == config->shared;
}

acu_status acui_launch_configure(const acui_plan *plan, acu_kernel *kernel, acu_config *config)
{
    return is_as_before(plan, kernel, config) ? ACU_OK : acui_kernel_config(kernel, config);
}

/* Any launch: first the values of all arguments, then what follows from them together. */
static acu_status plan_in_full(acui_plan *plan, acu_op *op, acui_values *values)
{
    acu_kernel *kernel = op->u.call.kernel;
    acu_config config = op->u.call.config;
    size_t base = values->count;
    acui_args_count counts;
    measured m;
    ACUI_TRY(acui_plan_args(plan, op, kernel->module->device, values, &counts));
    const acu_val *list = values->list + base;
    ACUI_TRY(acui_launch_check(op, list, &config, &m.early));
    if (!acui_launches_nothing(&config)) {
        ACUI_TRY(m.early ? acui_kernel_config_early(kernel, &config)
                         : acui_launch_configure(plan, kernel, &config));
        measure(op, list, &counts, &m);
        ACUI_TRY(add_launch(plan, op, list, &config, &m));
    }
    if (!counts.of[ACU_NONE])
        op->u.call.arg_count = op->input_count = 0; /* the values took everything from the
                                                     * arguments */
    return ACU_OK;
}

static acu_status plan_launch(acui_plan *plan, acu_op *op, acu_device *fallback,
                              acui_values *values)
{
    (void)fallback; /* a kernel's device is its own */
    acu_status status;
    if (acui_chain_operand(op))
        ACUI_TRY(acui_chain_plan(plan, op));
    return acui_plan_plainly(plan, op, values, &status) ? status : plan_in_full(plan, op, values);
}

static void destroy_launch(acu_op *op)
{
    if (op->u.call.kernel)
        acu_kernel_release(op->u.call.kernel);
    acui_args_release(op);
}

const acui_op_class acui_class_LAUNCH = {
    .name = "launch", .plan = plan_launch, .destroy = destroy_launch};

acu_op *acu_op_launch(acu_kernel *kernel, const acu_config *config, const acu_arg *args,
                      size_t count, acu_site site)
{
    acu_op *op = acui_op_with_args(&acui_class_LAUNCH, args, count, site);
    if (op->class != &acui_class_LAUNCH)
        return op;
    if (acui_object_check(kernel, ACU_OBJECT_KERNEL, "acu_launch") != ACU_OK) {
        acu_op *failed = acui_op_failed(&acui_class_LAUNCH, site);
        acui_op_put(op);
        return failed;
    }
    op->u.call.kernel = acui_object_retain(kernel);
    op->u.call.config = config ? *config : ACU_AUTO;
    return op;
}
