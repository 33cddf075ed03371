/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether what an argument writes belongs to it alone: it is not shared, and neither another
 * argument nor another tensor in the same one writes it. */
#include "base/error.h"
#include "op/inside.h"

static const char *access_words(acu_access access)
{
    return access == ACU_READ ? "acu_in" : access == ACU_WRITE ? "acu_out" : "acu_inout";
}

static bool same_memory(const acu_tensor *a, const acu_tensor *b)
{
    return a->buffer == b->buffer && acui_tensors_overlap(a, b);
}

/* Whether one of the first `count` tensors inside the argument is written in the same memory; if
 * so, which one. */
static bool writes_inside(const acu_arg *arg, size_t count, const acu_tensor *tensor, size_t *which)
{
    const acui_inside *inside = acui_inside_of(arg);
    for (size_t k = 0; k < count; k++)
        if (inside->fields[k].access & ACU_WRITE && same_memory(inside->fields[k].tensor, tensor)) {
            *which = k;
            return true;
        }
    return false;
}

/* The tensor is written by argument `index`: whether one before that writes it already. */
static acu_status check_earlier(const acu_op *op, const acu_val *values, size_t index,
                                const acu_tensor *tensor)
{
    for (size_t i = 0; i < index; i++) {
        const acu_arg *other = &op->u.call.args[i];
        size_t which;
        if (!(other->access & ACU_WRITE))
            continue;
        if ((values[i].tensor && same_memory(values[i].tensor, tensor)) ||
            writes_inside(other, acui_inside_count(other), tensor, &which))
            return acui_fail(ACU_ERR_SHARED, "arguments %zu and %zu write the same memory", i,
                             index);
    }
    return ACU_OK;
}

static acu_status check_inside(const acu_op *op, const acu_val *values, size_t index)
{
    const acu_arg *arg = &op->u.call.args[index];
    const acui_inside *inside = acui_inside_of(arg);
    for (size_t i = 0; i < inside->count; i++) {
        size_t k;
        if (!(inside->fields[i].access & ACU_WRITE))
            continue;
        if (writes_inside(arg, i, inside->fields[i].tensor, &k))
            return acui_fail(ACU_ERR_SHARED, "%s %zu and %zu of argument %zu%s",
                             arg->kind == ACU_ARG_LIST ? "tensors" : "fields", k, i, index,
                             arg->kind == ACU_ARG_LIST
                                 ? ", a list to be written, are in the same memory"
                                 : " write the same memory");
        ACUI_TRY(check_earlier(op, values, index, inside->fields[i].tensor));
    }
    return ACU_OK;
}

acu_status acui_check_writes(const acu_op *op, const acu_val *values, size_t index)
{
    const acu_val *value = &values[index];
    const acu_arg *arg = &op->u.call.args[index];
    if (acui_inside_of(arg))
        return check_inside(op, values, index);
    if (!(arg->access & ACU_WRITE) || (value->kind != ACU_TENSOR && value->kind != ACU_PARTITION))
        return ACU_OK;
    if (value->form == ACU_SHARED)
        return acui_fail(ACU_ERR_SHARED,
                         "argument %zu (%s) is shared, for reading only; take sole ownership with "
                         "acu_own, or write to a copy (acu_dup)",
                         index, access_words(acui_arg_access_of(arg)));
    return check_earlier(op, values, index, value->tensor);
}
