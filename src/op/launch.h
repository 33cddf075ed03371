/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Checks of launches, with the words in which they are refused; launches of built-in kernels. */
#ifndef ACUI_OP_LAUNCH_H
#define ACUI_OP_LAUNCH_H

#include "op/arg.h"

#include <acuda/tile.h>
#include <string.h>

/* What an argument takes among the parameters; a list, at least. */
static inline uint32_t acui_launch_bytes(const acu_val *value, const acu_arg *arg)
{
    if (arg->kind == ACUI_ARG_LIST)
        return 8 + 8 * arg->bytes; /* acu_list: a count and pointers */
    switch (value->kind) {
    case ACU_SCALAR:
        return (uint32_t)acu_dtype_bytes(value->dtype);
    case ACU_TENSOR:
        return 8;
    case ACU_PARTITION:
        return sizeof(acu_tile_param);
    default:
        return arg->bytes;
    }
}

/* What the kernel's parameter at `place` has; 0 where that is not known. */
uint32_t acui_launch_room(acu_kernel *kernel, size_t place);

/* The values that were planned for the op's arguments, and the grid that follows. `*early`: the
 * kernel is being loaded, and what is not known yet was not looked at: it takes a note, for
 * acui_launch_bind. Errors: ARGUMENTS, DTYPE, DEVICE, SHAPE; those of the load, if that failed. */
acu_status acui_launch_check(const acu_op *op, const acu_val *values, acu_config *config,
                             bool *early);
acu_status acui_launch_note(acui_plan *plan, acui_node *node, const acu_op *op,
                            const acu_val *values);
/* The same for a launch whose only parameter is a struct of the node's bytes. */
acu_status acui_launch_note_struct(acui_plan *plan, acui_node *node);

/* A launch with one parameter, a struct of `bytes` (a multiple of 8), to be filled in at
 * acui_launch_data. Takes the kernel, on failure too. NULL: no memory (record set). */
acui_node *acui_plan_launch(acui_plan *plan, const acu_op *op, acu_kernel *kernel,
                            acu_config config, size_t touches, uint32_t bytes);

/* What the launch seldom has besides, empty at first. NULL: no memory (record set). */
acui_launch_more *acui_launch_more_of(acui_plan *plan, acui_node *node);

/* How it is launched; `config` is complete. NO_MEMORY. */
acu_status acui_launch_set_special(acui_plan *plan, acui_node *node, const acu_config *config);
static inline acu_status acui_launch_set_config(acui_plan *plan, acui_node *node,
                                                const acu_config *config)
{
    acui_dims *d = &node->u.launch.dims;
    d->shared = (unsigned)config->shared; /* checked against what there is */
    memcpy(d->grid, config->grid, sizeof d->grid);
    memcpy(d->block, config->block, sizeof d->block);
    return acui_config_is_special(config) ? acui_launch_set_special(plan, node, config) : ACU_OK;
}

/* Where its parameters are in its data, if they are `placed`. */
static inline uint32_t *acui_launch_places(const acui_node *node)
{
    return (uint32_t *)(uintptr_t)(node + 1);
}

/* All parameters, each at a multiple of 8. */
static inline char *acui_launch_data(const acui_node *node)
{
    char *behind = (char *)(uintptr_t)(node + 1);
    return node->u.launch.placed ? behind + ((node->u.launch.count * sizeof(uint32_t) + 7) & ~7u)
                                 : behind;
}

/* The parameter at `place`, in the data; and in memory. */
static inline uint32_t acui_launch_at(const acui_node *node, uint32_t place)
{
    return node->u.launch.placed ? acui_launch_places(node)[place] : 8 * place;
}

static inline void *acui_launch_param(const acui_node *node, uint32_t place)
{
    return acui_launch_data(node) + acui_launch_at(node, place);
}

/* The same, as soon as the buffer has memory. */
acu_status acui_launch_address_late(acui_plan *plan, acui_node *node, size_t at,
                                    acu_buffer *buffer, size_t offset);
/* The address of a byte of the buffer, now or as soon as its memory is there, at `at` of the
 * parameters; these are the node's `data`. */
static inline acu_status acui_launch_address_in(acui_plan *plan, acui_node *node, char *data,
                                                size_t at, acu_buffer *buffer, size_t offset)
{
    /* Acquire: pairs with the release in which the allocation is published. */
    CUdeviceptr address = atomic_load_explicit(&buffer->address, memory_order_acquire);
    if (!address)
        return acui_launch_address_late(plan, node, at, buffer, offset);
    address += offset;
    memcpy(data + at, &address, sizeof address);
    return ACU_OK;
}

static inline acu_status acui_launch_address(acui_plan *plan, acui_node *node, size_t at,
                                             acu_buffer *buffer, size_t offset)
{
    return acui_launch_address_in(plan, node, acui_launch_data(node), at, buffer, offset);
}

#endif
