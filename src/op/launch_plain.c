/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Launches as most are: of a loaded kernel with known parameters, on a grid that was given, with
 * arguments that are scalars and tensors, of which it writes one. Then there is nothing to be
 * found out about the arguments as a whole, so each of them is looked at once, checked and written
 * at once. Planning a launch takes half as long in this way, and is most of what composing work
 * costs. Whatever is not plain, or not right, is left to plan_launch (launch.c), which also knows
 * how to say what is wrong.
 */
#include "op/launch.h"

/* ---- whether a launch is plain ---- */

/* The tensor of an argument; NULL: it has none, or that is not known yet. `input`: where the next
 * op among the arguments is; moves past it. */
static inline const acu_tensor *tensor_of(const acu_arg *arg, acu_op *const **input)
{
    if (arg->kind == ACU_ARG_TENSOR)
        return arg->u.tensor;
    if (arg->kind != ACU_ARG_OP)
        return NULL;
    const acu_op *op = *(*input)++;
    bool yields = op->class == &acui_class_VALUE && acui_op_is_sole(op) &&
                  op->u.value.kind == ACU_TENSOR &&
                  (op->u.value.form != ACU_SHARED || arg->access == ACU_READ);
    return yields ? op->u.value.tensor : NULL;
}

/* Nothing is changed. *tensors: how many arguments are tensors. */
static inline bool takes_all(const acu_op *op, const acui_param *param, size_t *tensors)
{
    const acu_device *device = op->u.call.kernel->module->device;
    const acu_arg *arg = op->u.call.args, *end = arg + op->u.call.arg_count;
    acu_op *const *input = op->inputs;
    bool writes = false;
    *tensors = 0;
    for (; arg < end; arg++, param++) {
        if (arg->kind == ACU_ARG_SCALAR) {
            if (!acui_takes_scalar(param, acui_arg_dtype_of(arg)))
                return false;
            continue;
        }
        const acu_tensor *tensor = tensor_of(arg, &input);
        if (!tensor || !acui_takes_tensor(param, tensor, device))
            return false;
        if (arg->access & ACU_WRITE && writes)
            return false; /* two might write the same memory */
        writes |= arg->access & ACU_WRITE;
        ++*tensors;
    }
    return true;
}

static inline bool is_plain(const acu_op *op, size_t *tensors)
{
    acu_kernel *kernel = op->u.call.kernel;
    /* The kernel's info may be read only if the state says that it is loaded. */
    if (acui_kernel_state(kernel) != ACUI_LOADED || !op->u.call.config.grid[0] ||
        op->u.call.instead || acui_globals_count(kernel->module))
        return false;
    const acui_param *params = acui_launch_params(kernel);
    return params && kernel->info.param_count == op->u.call.arg_count &&
           takes_all(op, params, tensors);
}

/* ---- planning it ---- */

/* The tensor of the op, which tensor_of found to yield one; the op is freed. */
static inline acu_tensor *take_tensor(acu_op *op, acu_form *form)
{
    acu_tensor *tensor = op->u.value.tensor;
    *form = op->u.value.form;
    acui_object_free_known(op, ACU_OBJECT_OP); /* it held nothing else */
    return tensor;
}

static inline acu_status add_tensor(acui_plan *plan, acui_node *node, char *data, size_t at,
                                    const acu_arg *arg)
{
    const acu_tensor *tensor = arg->u.tensor;
    ACUI_TRY(acui_node_add_access(plan, node, tensor, acui_arg_access_of(arg)));
    return acui_launch_address_in(plan, node, data, at, tensor->buffer, tensor->offset);
}

/* The argument's value, which takes its tensor: a value has more fields, for other kinds. */
static inline void yield(acu_val *value, acu_arg *arg, acu_form form)
{
    value->kind = ACU_TENSOR;
    value->form = form;
    value->tensor = arg->u.tensor;
    if (arg->kind == ACU_ARG_SCALAR) {
        value->kind = ACU_SCALAR;
        value->tensor = NULL;
        value->dtype = acui_arg_dtype_of(arg);
        value->bits = arg->u.bits;
    }
    arg->kind = ACU_ARG_NONE;
}

/* The tensors stay in the op, unless somebody wants the values: there is room for these. */
static acu_status add_args(acui_plan *plan, acui_node *node, acu_op *op, acui_values *values)
{
    char *data = acui_launch_data(node);
    acu_arg *arg = op->u.call.args, *end = arg + op->u.call.arg_count;
    acu_op **input = op->inputs;
    for (size_t at = 0; arg < end; arg++, at += 8) {
        acu_form form = ACU_BORROWED;
        if (arg->kind == ACU_ARG_OP) {
            arg->u.tensor = take_tensor(*input, &form);
            arg->kind = ACU_ARG_TENSOR;
            *input++ = NULL;
        }
        if (arg->kind == ACU_ARG_SCALAR)
            memcpy(data + at, &arg->u.bits, 8); /* CUDA hosts are little-endian */
        else
            ACUI_TRY(add_tensor(plan, node, data, at, arg));
        if (!values->unwanted)
            yield(&values->list[values->count++], arg, form);
    }
    return ACU_OK;
}

static acu_status plan_plain(acui_plan *plan, acu_op *op, size_t tensors, acui_values *values)
{
    acu_config *config = &op->u.call.config; /* completed in place: an op is planned once */
    size_t count = op->u.call.arg_count;
    ACUI_TRY(acui_launch_configure(plan, op->u.call.kernel, config));
    while (!values->unwanted && values->room - values->count < count)
        if (!acui_values_grow(values))
            return ACU_ERR_NO_MEMORY;
    acui_node *node =
        acui_plan_launch_of(plan, op, config, tensors, 8 * (uint32_t)count, 0);
    return node ? add_args(plan, node, op, values) : ACU_ERR_NO_MEMORY;
}

bool acui_plan_plainly(acui_plan *plan, acu_op *op, acui_values *values, acu_status *status)
{
    size_t tensors;
    if (!is_plain(op, &tensors))
        return false;
    *status = plan_plain(plan, op, tensors, values);
    return true;
}
