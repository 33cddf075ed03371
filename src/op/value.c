/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Values: what ops yield, lists of them, and ops that yield what they are given. A value of a
 * tensor holds one reference, which moves with it.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "op/arg.h"

#include <string.h>

void acui_val_drop(acu_val *value)
{
    if (value->kind == ACU_TENSOR || value->kind == ACU_PARTITION)
        acu_tensor_release(value->tensor);
    *value = (acu_val){.kind = ACU_NONE};
}

const char *acui_val_words(const acu_val *value)
{
    static const char *const words[] = {[ACU_NONE] = "nothing",
                                        [ACU_TENSOR] = "a tensor",
                                        [ACU_PARTITION] = "a partition",
                                        [ACU_SCALAR] = "a scalar"};
    return words[value->kind];
}

/* Sizes of a list, enough for one launch and then for many. They fill the blocks that memory comes
 * in (base/cache.c), and so does the last of them, if the list is doubled, that is still kept for
 * reuse: it is enough for a hundred launches. */
enum { FEW = 7, MANY = 19 };
_Static_assert(FEW * sizeof(acu_val) <= 752 && MANY * sizeof(acu_val) <= 2032 &&
                   32 * MANY * sizeof(acu_val) <= 65520, "see base/cache.c");

bool acui_values_grow(acui_values *values)
{
    size_t room = values->room == 0 ? FEW : values->room < MANY ? MANY : 2 * values->room;
    size_t bytes = values->count * sizeof *values->list;
    acu_val *old = values->lent ? NULL : values->list;
    acu_val *list = acui_grow_raw(old, bytes, room * sizeof *list);
    if (!list) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for the values of an op");
        return false;
    }
    if (values->lent)
        memcpy(list, values->list, bytes);
    values->list = list;
    values->room = room;
    values->lent = false;
    return true;
}

acu_status acui_values_push(acui_values *values, acu_val value)
{
    acu_val *slot = acui_values_add(values);
    if (slot)
        *slot = value;
    else
        acui_val_drop(&value);
    return slot ? ACU_OK : ACU_ERR_NO_MEMORY;
}

void acui_values_cut(acui_values *values, size_t count)
{
    while (values->count > count) {
        acu_val *value = &values->list[--values->count];
        if (value->kind == ACU_TENSOR || value->kind == ACU_PARTITION)
            acu_tensor_release(value->tensor);
    }
}

void acui_values_clear(acui_values *values)
{
    acui_values_cut(values, 0);
    if (!values->lent)
        acui_free(values->list);
    *values = (acui_values){0};
}

static acu_status plan_value(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    (void)fallback;
    plan->passes_on = true;
    acu_val value = op->u.value;
    op->u.value = (acu_val){.kind = ACU_NONE};
    return acui_values_push(values, value);
}

bool acui_value_take(acu_op *op, acu_val *value)
{
    if (op->class != &acui_class_VALUE || !acui_op_is_sole(op))
        return false;
    *value = op->u.value;
    acui_object_free_known(op, ACU_OBJECT_OP); /* it held nothing else */
    return true;
}

static void destroy_value(acu_op *op)
{
    acui_val_drop(&op->u.value);
}

const acui_op_class acui_class_VALUE = {
    .name = "value", .plan = plan_value, .destroy = destroy_value};

/* An op that yields the value, which it takes, on failure too. */
static acu_op *value_op(acu_val value, acu_site site)
{
    acu_op *op = acui_op_new(&acui_class_VALUE, 0, site);
    if (acui_op_is_oom(op))
        acui_val_drop(&value);
    else
        op->u.value = value;
    return op;
}

/* Whoever was given a tensor to read gets an op that writing ops would take as well: only the
 * macros know more. */
acu_op *acu_op_value(const acu_tensor *tensor, acu_site site)
{
    if (acui_object_check(tensor, ACU_OBJECT_TENSOR, "acu_value") != ACU_OK)
        return acui_op_failed(&acui_class_VALUE, site);
    acu_tensor *kept = acu_tensor_retain((acu_tensor *)(uintptr_t)tensor);
    acu_val value = {.kind = ACU_TENSOR, .form = ACU_BORROWED, .tensor = kept};
    return value_op(value, site);
}

acu_op *acu_op_give(acu_tensor *tensor, acu_site site)
{
    if (acui_object_check(tensor, ACU_OBJECT_TENSOR, "acu_give") != ACU_OK)
        return acui_op_failed(&acui_class_VALUE, site);
    return value_op((acu_val){.kind = ACU_TENSOR, .form = ACU_OWNED, .tensor = tensor}, site);
}

acu_op *acu_op_take(acu_val *value, acu_site site)
{
    if (!value || value->kind == ACU_NONE) {
        acui_fail(ACU_ERR_CONSUMED, "acu_take: this value was taken before, or never was one");
        return acui_op_failed(&acui_class_VALUE, site);
    }
    acu_val taken = *value;
    *value = (acu_val){.kind = ACU_NONE};
    return value_op(taken, site);
}

void acu_val_set_tensor(acu_val *value, acu_tensor *tensor)
{
    if (value)
        acui_val_drop(value);
    if (value && acui_object_is(tensor, ACU_OBJECT_TENSOR))
        *value = (acu_val){.kind = ACU_TENSOR, .form = ACU_OWNED, .tensor = tensor};
}

static acu_val scalar_value(const acu_arg *scalar)
{
    acui_scalar of = acui_arg_scalar_of(scalar);
    return (acu_val){.kind = ACU_SCALAR,
                     .dtype = acui_arg_dtype_of(scalar),
                     .bits = of.bits,
                     .imaginary = of.imaginary};
}

void acu_val_set_scalar(acu_val *value, acu_arg scalar)
{
    if (value)
        acui_val_drop(value);
    acu_dtype dtype = acui_arg_dtype_of(&scalar);
    if (value && scalar.kind == ACU_ARG_SCALAR && acu_dtype_bytes(dtype) &&
        (dtype != ACU_C128 || scalar.u.memory))
        *value = scalar_value(&scalar);
}

acu_op *acu_op_scalar(acu_arg scalar, acu_site site)
{
    if (acui_arg_check_scalar(&scalar, "acu_scalar") != ACU_OK)
        return acui_op_failed(&acui_class_VALUE, site);
    return value_op(scalar_value(&scalar), site);
}

/* ---- tensors lent to callbacks of ops in flight ---------------------------------------------- */

acu_status acui_lend(const acu_val *value, acu_val *lent)
{
    *lent = *value;
    if (!value->tensor)
        return ACU_OK;
    lent->tensor = NULL;
    /* Counted as a tensor, so that its release balances, and as lent, so that it does not count for
     * sole ownership. */
    atomic_fetch_add_explicit(&value->tensor->buffer->lent, 1, memory_order_relaxed);
    acu_status status = acui_tensor_again(value->tensor, &lent->tensor);
    if (status != ACU_OK)
        atomic_fetch_sub_explicit(&value->tensor->buffer->lent, 1, memory_order_relaxed);
    return status;
}

void acui_unlend(acu_val *lent)
{
    if (!lent->tensor)
        return;
    atomic_fetch_sub_explicit(&lent->tensor->buffer->lent, 1, memory_order_relaxed);
    acui_val_drop(lent);
}
