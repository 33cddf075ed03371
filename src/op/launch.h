/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What planning a launch needs from several places: checks of arguments (launch_check.c), nodes
 * that launch built-in kernels, and where a node keeps its parameters.
 */
#ifndef ACUI_OP_LAUNCH_H
#define ACUI_OP_LAUNCH_H

#include "op/arg.h"

#include <acuda/tile.h>
#include <string.h>

/* Bytes that an argument takes among the parameters; a list at least, which has a count and then
 * addresses. */
static inline uint32_t acui_launch_bytes(const acu_val *value, const acu_arg *arg)
{
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

/* The parameters of a loaded kernel; NULL: not known. */
static inline const acui_param *acui_launch_params(acu_kernel *kernel)
{
    static const acui_param none; /* a kernel that has none has no array of them either */
    if (!kernel->info.params_known)
        return NULL;
    const acui_param *params = atomic_load_explicit(&kernel->params, memory_order_acquire);
    return params ? params : &none;
}

/* The common case, decided quickly: of the parameter nothing was declared, and it takes the scalar,
 * or the tensor, which is on the kernel's own device. False: perhaps it does. */
static inline bool acui_takes_scalar(const acui_param *param, acu_dtype dtype)
{
    return param->want == ACUI_WANT_ANY && param->bytes == acu_dtype_bytes(dtype) &&
           (param->type != 'f' || acu_dtype_kind_of(dtype) == ACU_KIND_FLOAT);
}

static inline bool acui_is_near(const acu_tensor *tensor, const acu_device *device)
{
    const acu_buffer *buffer = tensor->buffer;
    return buffer->device == device && buffer->kind != ACU_MEMORY_PAGEABLE;
}

static inline bool acui_takes_tensor(const acui_param *param, const acu_tensor *tensor,
                                     const acu_device *device)
{
    return param->want == ACUI_WANT_ANY && param->bytes == 8 && param->type != 'f' &&
           acui_is_near(tensor, device);
}

/* Bytes of the kernel's parameter `index`; 0 where that is not known. */
uint32_t acui_launch_room(acu_kernel *kernel, size_t index);

/* Check the values that were planned for the op's arguments, and find the grid that follows.
 * `*early`: the kernel is being loaded, and what is not known yet was not checked: the launch needs
 * a note, for acui_launch_bind. Errors: ARGUMENTS, DTYPE, DEVICE, SHAPE; those of the load, if that
 * failed. */
acu_status acui_launch_check(const acu_op *op, const acu_val *values, acu_config *config,
                             bool *early);
acu_status acui_launch_note(acui_plan *plan, acui_node *node, const acu_op *op,
                            const acu_val *values);
/* acui_launch_note for a launch whose only parameter is a struct, of the node's bytes. */
acu_status acui_launch_note_struct(acui_plan *plan, acui_node *node);

/* Plan a launch that is plain: launch_plain.c. False: it is not, and nothing was done. */
bool acui_plan_plainly(acui_plan *plan, acu_op *op, acui_values *values, acu_status *status);

/* Append the node of the op, which is a launch, with room for `bytes` of parameters (their number
 * is that of the arguments) and `more` behind them. NULL: no memory (record set). */
acui_node *acui_plan_launch_of(acui_plan *plan, acu_op *op, const acu_config *config,
                               size_t accesses, uint32_t bytes, size_t more);
/* acui_kernel_config, unless the launch before shows that the configuration is right. */
acu_status acui_launch_configure(const acui_plan *plan, acu_kernel *kernel, acu_config *config);

/* Append a launch with one parameter, a struct of `bytes` (a multiple of 8), to be filled in at
 * acui_launch_data. Takes the kernel, on failure too. NULL: no memory (record set). */
acui_node *acui_plan_launch(acui_plan *plan, const acu_op *op, acu_kernel *kernel,
                            acu_config config, size_t accesses, uint32_t bytes);

/* The node's rare extras, empty at first. NULL: no memory (record set). */
acui_launch_more *acui_launch_more_of(acui_plan *plan, acui_node *node);

/* Set how the node is launched; `config` is complete. NO_MEMORY. */
acu_status acui_launch_set_special(acui_plan *plan, acui_node *node, const acu_config *config);
static inline acu_status acui_launch_set_config(acui_plan *plan, acui_node *node,
                                                const acu_config *config)
{
    acui_dims *d = &node->u.launch.dims;
    d->shared = (unsigned)config->shared; /* it fits: checked against the device's limit */
    memcpy(d->grid, config->grid, sizeof d->grid);
    memcpy(d->block, config->block, sizeof d->block);
    return acui_config_is_special(config) ? acui_launch_set_special(plan, node, config) : ACU_OK;
}

/* The offsets of the node's parameters in its data, if they are `placed`. */
static inline uint32_t *acui_launch_offsets(const acui_node *node)
{
    return (uint32_t *)(uintptr_t)(node + 1);
}

/* All parameters, each at an offset that is a multiple of 8. */
static inline char *acui_launch_data(const acui_node *node)
{
    char *behind = (char *)(uintptr_t)(node + 1);
    return node->u.launch.offsets ? behind + ((node->u.launch.count * sizeof(uint32_t) + 7) & ~7u)
                                  : behind;
}

/* The parameter `index`: its offset in the data; and its address. */
static inline uint32_t acui_launch_at(const acui_node *node, uint32_t index)
{
    return node->u.launch.offsets ? acui_launch_offsets(node)[index] : 8 * index;
}

static inline void *acui_launch_param(const acui_node *node, uint32_t index)
{
    return acui_launch_data(node) + acui_launch_at(node, index);
}

/* acui_launch_address_in for a buffer that has no memory yet: notes the address, to be filled in
 * when the node is issued. */
acu_status acui_launch_address_late(acui_plan *plan, acui_node *node, size_t at,
                                    acu_buffer *buffer, size_t offset);
/* Writes the address of a byte of the buffer to offset `at` of the parameters, now, or as soon as
 * the buffer has memory. `data` is the node's data. */
static inline acu_status acui_launch_address_in(acui_plan *plan, acui_node *node, char *data,
                                                size_t at, acu_buffer *buffer, size_t offset)
{
    /* Acquire: pairs with the release that publishes the allocation. */
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
