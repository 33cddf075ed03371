/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ops that compose others and have no work of their own: zip, unzip, nth, share, own, on. They pass
 * on, pick or relabel the values of their inputs and append no nodes, except that a zip of copies
 * joins small ones (copy_many.c).
 */
#include "base/error.h"
#include "op/copy.h"
#include "op/op.h"
#include "op/child.h"

/* ---- zip ---- */

static acu_status plan_zip(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    size_t base = values->count;
    acui_node *last = plan->last;
    bool copies = op->input_count > 1;
    for (size_t i = 0; i < op->input_count; i++) {
        acu_op *x = acui_op_take_input(op, i);
        copies = copies && x->class == &acui_class_COPY;
        ACUI_TRY(acui_plan_op(plan, x, fallback, values));
        if (values->unwanted && !plan->passes_on) /* else the values are still needed to find what
                                                   * to await */
            acui_plan_discard(plan, values, base);
    }
    return copies ? acui_plan_join_copies(plan, op, last) : ACU_OK;
}

const acui_op_class acui_class_ZIP = {.name = "zip", .plan = plan_zip};

acu_op *acu_op_zip(acu_op *const *ops, size_t count, acu_site site)
{
    if (count && !ops) {
        acui_fail(ACU_ERR_INVALID, "zip got NULL where a list of %zu ops should be", count);
        return acui_op_failed(&acui_class_ZIP, site);
    }
    acu_op *op = acui_op_new(&acui_class_ZIP, count, site);
    for (size_t i = 0; i < count; i++) {
        acu_op *input = acui_op_take(ops[i], &acui_class_ZIP, site);
        if (acui_op_is_oom(op))
            acui_op_put(input);
        else
            op->inputs[i] = input;
    }
    return op;
}

/* ---- unzip: each part takes its value out of the op that all parts share ---- */

static acu_status plan_part(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acu_op *whole = op->inputs[0];
    size_t parts = op->part_count, index = op->u.index;
    ACUI_TRY(acui_plan_into_op(plan, whole, fallback));
    if (whole->rest->values.count != parts)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "unzip into %zu parts, but the op (%s) yields %zu values", parts,
                         acui_op_name(whole), whole->rest->values.count);
    acu_val *kept = &whole->rest->values.list[index];
    /* Only parts hold the op: nobody else has this part's value, so it moves. */
    if (atomic_load_explicit(&whole->handles, memory_order_relaxed) == 0 && !whole->used_whole) {
        acu_val value = *kept;
        *kept = (acu_val){.kind = ACU_NONE};
        return acui_values_push(values, value);
    }
    acu_val copy = *kept;
    acui_object_retain(copy.tensor);
    if (copy.form == ACU_OWNED)
        copy.form = ACU_SHARED;
    return acui_values_push(values, copy);
}

const acui_op_class acui_class_PART = {.name = "unzip", .plan = plan_part};

void acu_op_unzip(acu_op *x, acu_op **parts, size_t count, acu_site site)
{
    acu_op *whole = acui_op_take(x, &acui_class_PART, site);
    bool oom = acui_op_is_oom(whole);
    if (!oom) {
        /* If the program keeps a handle, it may use the op whole as well. */
        whole->used_whole |= atomic_load_explicit(&whole->handles, memory_order_relaxed) > 0 ||
                             acui_object_refs(whole) > 1;
    }
    for (size_t i = 0; parts && i < count; i++) {
        parts[i] = acui_op_new(&acui_class_PART, 1, site);
        if (oom || acui_op_is_oom(parts[i]))
            continue;
        parts[i]->inputs[0] = acui_object_retain(whole);
        parts[i]->u.index = i;
        parts[i]->part_count = count;
    }
    if (oom)
        for (size_t i = 0; parts && i < count; i++) {
            acu_op_release(parts[i]);
            parts[i] = whole;
        }
    acui_op_put(whole);
}

/* ---- nth ---- */

acu_status acui_nth_of(acui_values *values, size_t base, size_t index, acu_val *value)
{
    size_t count = values->count - base, at = index == ACU_LAST ? count - 1 : index;
    if (count == 0 || at >= count)
        return acui_fail(ACU_ERR_ARGUMENTS,
                         "there is no value %zu: the op yields %zu, counted from 0",
                         index == ACU_LAST ? 0 : index, count);
    *value = values->list[base + at];
    values->list[base + at].kind = ACU_NONE;
    return ACU_OK;
}

static acu_status plan_nth(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    size_t base = values->count;
    acu_val value;
    ACUI_TRY(acui_plan_looked_at(plan, acui_op_take_input(op, 0), fallback, values));
    ACUI_TRY(acui_nth_of(values, base, op->u.index, &value));
    acui_plan_discard(plan, values, base);
    return acui_values_push(values, value);
}

const acui_op_class acui_class_NTH = {.name = "nth", .plan = plan_nth, .passes = 1};

acu_op *acu_op_nth(acu_op *x, size_t index, acu_site site)
{
    acu_op *op = acui_op_unary(&acui_class_NTH, x, site);
    if (!acui_op_is_oom(op))
        op->u.index = index;
    return op;
}

/* ---- share and own ---- */

static acu_status plan_share(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    size_t i = values->count;
    ACUI_TRY(acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values));
    for (; i < values->count; i++)
        values->list[i].form = ACU_SHARED;
    return ACU_OK;
}

acu_status acui_own_values(acu_val *values, size_t count)
{
    char words[96];
    for (size_t i = 0; i < count; i++) {
        if (values[i].tensor && !acui_tensor_sole(values[i].tensor))
            return acui_fail(ACU_ERR_SHARED,
                             "value %zu (%s) can not be owned: another handle, view or use of it "
                             "is left; release those first",
                             i, acui_tensor_words(values[i].tensor, words));
        values[i].form = ACU_OWNED;
    }
    return ACU_OK;
}

static acu_status plan_own(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    size_t base = values->count;
    ACUI_TRY(acui_plan_looked_at(plan, acui_op_take_input(op, 0), fallback, values));
    acui_plan_release_discarded(plan);
    return acui_own_values(values->list + base, values->count - base);
}

const acui_op_class acui_class_SHARE = {.name = "share", .plan = plan_share, .passes = 1};
const acui_op_class acui_class_OWN = {.name = "own", .plan = plan_own, .passes = 1};

acu_op *acu_op_share(acu_op *x, acu_site site)
{
    return acui_op_unary(&acui_class_SHARE, x, site);
}

acu_op *acu_op_own(acu_op *x, acu_site site)
{
    return acui_op_unary(&acui_class_OWN, x, site);
}

/* ---- on ---- */

static acu_status plan_on(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    (void)fallback;
    return acui_plan_op(plan, acui_op_take_input(op, 0), op->u.device, values);
}

static void destroy_on(acu_op *op)
{
    acu_device_release(op->u.device);
}

const acui_op_class acui_class_ON = {
    .name = "on", .plan = plan_on, .destroy = destroy_on, .passes = 1};

acu_op *acu_op_on(acu_device *device, acu_op *x, acu_site site)
{
    if (acui_object_check(device, ACU_OBJECT_DEVICE, "acu_on") != ACU_OK) {
        acu_op_release(x);
        return acui_op_failed(&acui_class_ON, site);
    }
    acu_op *op = acui_op_unary(&acui_class_ON, x, site);
    if (!acui_op_is_oom(op))
        op->u.device = acu_device_retain(device);
    return op;
}
