/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Whether a launch's arguments are what its kernel takes. That is checked when the launch is
 * planned or, where the kernel is still being loaded, just before it is issued: then against a note
 * of what was given, since the values are gone.
 */
#include "op/launch.h"

#include "base/error.h"
#include "base/rare.h"
#include "kernel/declared.h"
#include "op/grid.h"
#include "op/inside.h"

#include <stdio.h>

enum { WORDS = 160 };

/* What the checks need to know of one argument. */
typedef struct acui_given {
    acu_value_kind kind;
    acu_access access;
    acu_dtype dtype;
    uint32_t bytes;
    bool list;            /* a list of tensors: the parameter may have room for more */
    const acu_val *value; /* NULL: it is gone, and described here: */
    const char *words;
} acui_given;

/* ---- in words ---- */

static const char *value_words(const acui_given *given, const acu_val *value, char *text)
{
    char words[96];
    size_t room = WORDS;
    uint32_t bytes = given->bytes;
    if (value->kind == ACU_SCALAR)
        snprintf(text, room, "a scalar of %s", acu_dtype_name(value->dtype));
    else if (given->list)
        snprintf(text, room, "a list of %u tensors", bytes / 8 - 1);
    else if (value->kind == ACU_NONE)
        snprintf(text, room, "a struct");
    else
        snprintf(text, room, "a %s %s", value->kind == ACU_PARTITION ? "partition of" : "tensor",
                 acui_tensor_words(value->tensor, words));
    return text;
}

static const char *given_words(const acui_given *given, char words[WORDS])
{
    return given->value ? value_words(given, given->value, words) : given->words;
}

/* ---- one argument ---- */

/* Checks against what the program declared of the parameter (acu_kernel_declare). */
static acu_status check_declared(const acu_kernel *kernel, size_t index, const acui_param *param,
                                 const acui_given *given)
{
    static const char *const wants[] = {"anything", "a scalar", "a tensor to read",
                                        "a tensor to write", "a tensor to read and write",
                                        "a partition"};
    bool tensor = given->kind == ACU_TENSOR;
    bool fits = true;
    switch (param->want) {
    case ACUI_WANT_ANY:
        return ACU_OK;
    case ACUI_WANT_SCALAR:
        if (param->dtype == ACU_C128 && given->kind == ACU_NONE && !given->list)
            return ACU_OK; /* acu_c128 makes a struct of it */
        fits = given->kind == ACU_SCALAR;
        break;
    case ACUI_WANT_IN:
        fits = tensor && given->access == ACU_READ;
        break;
    case ACUI_WANT_OUT:
        fits = tensor && given->access != ACU_READ;
        break;
    case ACUI_WANT_INOUT:
        fits = tensor && given->access == ACU_UPDATE;
        break;
    case ACUI_WANT_TILE:
        fits = given->kind == ACU_PARTITION;
        break;
    }
    char words[WORDS];
    if (!fits)
        return acui_fail(ACU_ERR_ARGUMENTS, "argument %zu of %s must be %s, and is %s%s", index,
                         kernel->name, wants[param->want], given_words(given, words),
                         tensor ? (given->access == ACU_READ    ? " (acu_in)"
                                   : given->access == ACU_WRITE ? " (acu_out)"
                                                                : " (acu_inout)")
                                : "");
    if (param->dtype != ACU_NO_DTYPE && given->dtype != param->dtype)
        return acui_fail(ACU_ERR_DTYPE, "argument %zu of %s must be of %s, and is %s", index,
                         kernel->name, acu_dtype_name(param->dtype), given_words(given, words));
    return ACU_OK;
}

static acu_status check_param(const acu_kernel *kernel, size_t index, const acui_param *param,
                              const acui_given *given)
{
    char words[WORDS];
    ACUI_TRY(check_declared(kernel, index, param, given));
    bool fits = given->list ? given->bytes <= param->bytes && param->bytes % 8 == 0
                            : given->bytes == param->bytes;
    if (param->bytes && !fits) /* 0: declared, its size unknown */
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "argument %zu of %s is %s, %u bytes; the kernel's parameter has %u", index,
                         kernel->name, given_words(given, words), given->bytes, param->bytes);
    if (param->type == 'f' && (given->kind == ACU_TENSOR ||
                               (given->kind == ACU_SCALAR &&
                                acu_dtype_kind_of(given->dtype) != ACU_KIND_FLOAT)))
        return acui_fail(ACU_ERR_DTYPE,
                         "argument %zu of %s is %s; the kernel's parameter is "
                         "floating point",
                         index, kernel->name, given_words(given, words));
    return ACU_OK;
}

/* The program knows neither acuda's own kernels nor the order of their arguments. */
static const char *argument_words(const acu_op *op, size_t index, char text[WORDS])
{
    const acu_kernel *kernel = op->u.call.kernel;
    if (kernel->module->built_in)
        snprintf(text, WORDS, "an operand of %s", acui_op_name(op));
    else
        snprintf(text, WORDS, "argument %zu of %s", index, kernel->name);
    return text;
}

static acu_status check_reachable(const acu_op *op, size_t index, const acu_tensor *tensor)
{
    const acu_kernel *kernel = op->u.call.kernel;
    const acu_device *own = kernel->module->device, *device = tensor->buffer->device;
    char words[96], at[WORDS];
    if (tensor->buffer->kind == ACU_MEMORY_PAGEABLE)
        return acui_fail(ACU_ERR_INVALID,
                         "%s (%s) is in pageable memory, which devices do not "
                         "touch; copy it there with acu_to_device",
                         argument_words(op, index, at), acui_tensor_words(tensor, words));
    if (device == own || tensor->buffer->kind == ACU_MEMORY_PINNED)
        return ACU_OK;
    if (tensor->buffer->kind == ACU_MEMORY_MANAGED && own->info.managed_memory)
        return acui_device_check(device);
    if (device->info.ordinal < 64 && (own->peers >> device->info.ordinal & 1u))
        return ACU_OK;
    ACUI_TRY(acui_device_check(tensor->buffer->device)); /* two devices have one ordinal after a
                                                          * reset */
    ACUI_TRY(acui_device_check(kernel->module->device));
    return acui_fail(ACU_ERR_DEVICE,
                     "%s (%s) is on device %d, the kernel on device %d; copy it there with "
                     "acu_to_device, or allow direct access with acu_device_open_peer",
                     argument_words(op, index, at), acui_tensor_words(tensor, words),
                     device->info.ordinal, own->info.ordinal);
}

static acui_given given_of(const acu_val *value, const acu_arg *arg)
{
    return (acui_given){.kind = value->kind,
                        .access = acui_arg_access_of(arg),
                        .dtype = value->tensor ? value->tensor->dtype : value->dtype,
                        .bytes = acui_launch_bytes(value, arg),
                        .list = arg->kind == ACU_ARG_LIST,
                        .value = value};
}

static inline bool fits_plainly(const acui_param *param, const acu_val *value,
                                const acu_device *device)
{
    if (value->kind == ACU_SCALAR)
        return acui_takes_scalar(param, value->dtype);
    if (value->kind == ACU_TENSOR)
        return acui_takes_tensor(param, value->tensor, device);
    return value->kind == ACU_PARTITION && param->want == ACUI_WANT_ANY &&
           param->bytes == sizeof(acu_tile_param) && acui_is_near(value->tensor, device);
}

static acu_status check_all_reachable(const acu_op *op, size_t i, const acu_val *value,
                                      const acu_arg *arg)
{
    if (value->tensor)
        return check_reachable(op, i, value->tensor);
    for (size_t k = 0, n = acui_inside_count(arg); k < n; k++)
        ACUI_TRY(check_reachable(op, i, acui_inside_of(arg)->fields[k].tensor));
    return ACU_OK;
}

static ACUI_APART acu_status check_arg(const acu_op *op, const acu_val *values, size_t i,
                                       const acui_param *param)
{
    const acu_kernel *kernel = op->u.call.kernel;
    const acu_val *value = &values[i];
    const acu_arg *arg = &op->u.call.args[i];
    ACUI_TRY(check_all_reachable(op, i, value, arg));
    if (!param)
        return ACU_OK;
    acui_given given = given_of(value, arg);
    return check_param(kernel, i, param, &given);
}

/* ---- all of them ---- */

static acu_status check_count(const acu_kernel *kernel, size_t wanted, size_t count)
{
    if (count == wanted)
        return ACU_OK;
    return acui_fail(ACU_ERR_ARGUMENTS, "%s takes %zu argument%s, and got %zu", kernel->name,
                     wanted, wanted == 1 ? "" : "s", count);
}

/* Checks the arguments of a kernel whose parameters are not known. */
static acu_status check_unknown(const acu_op *op, const acu_val *values, acui_tiling *tiling)
{
    for (size_t i = 0; i < op->u.call.arg_count; i++) {
        ACUI_TRY(check_arg(op, values, i, NULL));
        if (values[i].kind == ACU_PARTITION)
            acui_tiling_meet(tiling, &values[i]);
    }
    return ACU_OK;
}

/* `params`: the kernel's parameters; NULL where they are not known. */
static inline acu_status check_all(const acu_op *op, const acu_val *values,
                                   const acui_param *params, size_t wanted, acui_tiling *tiling)
{
    const acu_kernel *kernel = op->u.call.kernel;
    const acu_device *device = kernel->module->device;
    size_t count = op->u.call.arg_count;
    if (!params)
        return check_unknown(op, values, tiling);
    ACUI_TRY(check_count(kernel, wanted, count));
    const acu_val *value = values, *end = values + count;
    for (const acui_param *param = params; value < end; param++, value++) {
        if (!fits_plainly(param, value, device))
            ACUI_TRY(check_arg(op, values, (size_t)(value - values), param));
        if (value->kind == ACU_PARTITION)
            acui_tiling_meet(tiling, value);
    }
    return ACU_OK;
}

uint32_t acui_launch_room(acu_kernel *kernel, size_t index)
{
    const acui_param *params = acui_launch_params(kernel);
    return params && index < kernel->info.param_count ? params[index].bytes : 0;
}

/* What the program declared of a kernel that is being loaded; NULL: nothing. */
static const acui_param *declared_of(acu_kernel *kernel, size_t *count)
{
    /* Acquire: pairs with the release that publishes the declaration. */
    const acui_declared *early = atomic_load_explicit(&kernel->early, memory_order_acquire);
    *count = early ? early->count : 0;
    return early ? early->params : NULL;
}

acu_status acui_launch_check(const acu_op *op, const acu_val *values, acu_config *config,
                             bool *early)
{
    acui_tiling tiling = {.first = NULL};
    acu_kernel *kernel = op->u.call.kernel;
    acui_load_state state = acui_kernel_state(kernel);
    *early = state == ACUI_LOADING;
    if (state == ACUI_LOAD_FAILED)
        return acu_kernel_poll(kernel);
    /* The kernel's info is written when it is loaded, perhaps at this moment: it may be read only
     * if the state says that it is loaded. */
    size_t wanted = *early ? 0 : kernel->info.param_count;
    const acui_param *params = *early ? declared_of(kernel, &wanted) : acui_launch_params(kernel);
    ACUI_TRY(check_all(op, values, params, wanted, &tiling));
    return acui_launch_grid(op, values, &tiling, config);
}

static acu_status note(acui_plan *plan, acui_node *node, const acui_given *given)
{
    acui_launch_more *more = acui_launch_more_of(plan, node);
    if (!more)
        return ACU_ERR_NO_MEMORY;
    more->given = given;
    return ACU_OK;
}

acu_status acui_launch_note(acui_plan *plan, acui_node *node, const acu_op *op,
                            const acu_val *values)
{
    size_t count = op->u.call.arg_count;
    acui_given *given = ACUI_ARENA_ARRAY(&plan->arena, acui_given, count + 1);
    for (size_t i = 0; given && i < count; i++) {
        char *words = acui_arena_get(&plan->arena, WORDS);
        if (!words)
            return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the arguments of a launch");
        given[i] = given_of(&values[i], &op->u.call.args[i]);
        given[i].words = value_words(&given[i], &values[i], words);
        given[i].value = NULL;
    }
    if (!given)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the arguments of a launch");
    return note(plan, node, given);
}

acu_status acui_launch_note_struct(acui_plan *plan, acui_node *node)
{
    acui_given *given = ACUI_ARENA_NEW(&plan->arena, acui_given);
    if (!given)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for the arguments of a launch");
    *given = (acui_given){.kind = ACU_NONE, .bytes = node->u.launch.bytes, .words = "a struct"};
    return note(plan, node, given);
}

acu_status acui_launch_bind(acui_node *node)
{
    acu_kernel *kernel = node->u.launch.kernel;
    const acui_given *given = node->u.launch.more->given;
    ACUI_TRY(acu_kernel_poll(kernel));
    const acui_param *params = acui_launch_params(kernel);
    if (params)
        ACUI_TRY(check_count(kernel, kernel->info.param_count, node->u.launch.count));
    for (uint32_t i = 0; params && i < node->u.launch.count; i++)
        ACUI_TRY(check_param(kernel, i, &params[i], &given[i]));
    acu_config config = acui_launch_config(node);
    ACUI_TRY(acui_kernel_config(kernel, &config));
    ACUI_TRY(acui_launch_set_config(NULL, node, &config)); /* the rare extras stay */
    node->u.launch.more->given = NULL;
    return ACU_OK;
}
