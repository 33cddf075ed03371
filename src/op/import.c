/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a plan notes of ops that were planned before, which it uses (import.h). */
#include "op/import.h"

#include "base/error.h"

/* ---- uses ---- */

/* Keep the extents of what the op yields. False: no memory. Share lock held. */
static bool keep_values(acui_plan *plan, acui_imported *imported, const acui_values *values)
{
    imported->values = ACUI_ARENA_ARRAY(&plan->arena, acui_imported_value, values->count);
    if (!imported->values)
        return false;
    for (size_t i = 0; i < values->count; i++) {
        const acu_tensor *tensor = values->list[i].tensor;
        if (tensor)
            imported->values[imported->count++] = (acui_imported_value){
                .buffer = acui_object_retain(tensor->buffer),
                .extent = acui_tensor_extent(tensor)};
    }
    return true;
}

/* Whether what the plan plans now, and what is around that up to an or_else or a finally, fails
 * with what is in the child. An alternative does not fail with what runs whether or not it does. */
static bool fails_with(const acui_child *now, const acui_child *child)
{
    if (now && now->kind == ACUI_CHILD_ELSE)
        return child == now;
    return acui_child_domain(child) == acui_child_domain(now);
}

acu_status acui_import(acui_plan *plan, const acu_op *op, bool part)
{
    acui_child *child = op->rest->child, *now = plan->now.child;
    if (!child)
        return ACU_OK;
    bool mine = acui_child_in(child, plan), same = mine && fails_with(now, child);
    while (mine && !acui_child_is_within(now, child->within))
        child->within = child->within->parent;
    if (same && acui_child_is_within(child, now))
        return ACU_OK; /* as a part of what is planned now, it is over before that, too */
    acui_imported *imported = ACUI_ARENA_NEW(&plan->arena, acui_imported);
    const acui_values *values = same || !mine ? &op->rest->values : NULL;
    if (!imported || (values && values->count && !keep_values(plan, imported, values)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan an op with several users");
    acui_child_retain(child); /* the op, or the one that it is part of, has it while this happens */
    if (!mine || !acui_child_is_within(child, acui_child_user(now)))
        acui_usage_begin(plan, &imported->usage, child);
    imported->child = child;
    imported->awaited = !part || same;
    imported->last = plan->last;
    imported->context = plan->now.context;
    imported->next = plan->imported;
    plan->imported = imported;
    imported->next_here = plan->here;
    plan->here = imported;
    plan->passes_on |= !same;
    return ACU_OK;
}

/* So many nodes are looked at for each import, on the average; an AWAIT costs less than more. */
enum { LOOKS = 64 };

/* Whether a node behind `last`, with which what the plan plans now fails, touches all of the
 * value. Not if there are no `looks` left. */
static bool is_touched(const acui_plan *plan, const acui_node *last,
                       const acui_imported_value *value, size_t *looks)
{
    const acui_child *now = plan->now.child;
    const acui_node *node = last ? last->next : plan->first;
    for (; node && *looks > 0; node = node->next, --*looks)
        for (uint32_t i = 0; i < node->access_count; i++)
            if (node->accesses[i].use->buffer == value->buffer &&
                fails_with(now, node->frame->child) &&
                acui_extent_covers(&node->accesses[i].extent, &value->extent))
                return true;
    return false;
}

/* Whether nodes of the plan, where it plans now, touch all values of the imported op: then order,
 * and the failure of whoever reads them, follow from the data. */
static bool is_all_touched(const acui_plan *plan, const acui_imported *b, size_t *looks)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (!is_touched(plan, b->last, &b->values[i], looks))
            return false;
    return b->count > 0;
}

bool acui_import_is_open(const acui_plan *plan)
{
    size_t looks = 16 * (size_t)LOOKS;
    const acui_imported *b = plan->here;
    for (; b && (!b->awaited || is_all_touched(plan, b, &looks)); b = b->next_here)
        looks += LOOKS;
    return b;
}

void acui_import_only_order(const acui_plan *plan, const acui_imported *before, uint32_t first)
{
    for (acui_imported *b = plan->here; b != before; b = b->next_here)
        b->awaited &= acui_child_in(b->child, plan) && b->child->begin >= first;
}

/* ---- the end ---- */

void acui_import_entered(acui_plan *plan)
{
    for (acui_imported *b = plan->imported; b; b = b->next)
        while (b->count > 0)
            acu_buffer_release(b->values[--b->count].buffer);
}

void acui_import_clear(acui_plan *plan)
{
    acui_import_entered(plan);
    for (const acui_imported *b = plan->imported; b; b = b->next)
        acui_child_release(b->child);
    plan->imported = plan->here = NULL;
}
