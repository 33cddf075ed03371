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

static uint16_t number_after(const acui_imported *before)
{
    if (!before)
        return 1;
    return before->number == 0 || before->number == UINT16_MAX ? 0 : (uint16_t)(before->number + 1);
}

static bool is_within(const acui_child *child, const acui_child *outer)
{
    while (child && child != outer)
        child = child->parent;
    return child;
}

/* Whether the child is for others because of a user in the same plan: one that others use too, or a
 * finally, which runs in any case; if it is not in there. */
static bool is_kept(const acui_child *user, const acui_child *child)
{
    return user && ((user->shared && !is_within(child, user->shared)) ||
                    (user->last && !is_within(child, user->last)));
}

acu_status acui_import(acui_plan *plan, const acu_op *op, bool part)
{
    acui_child *child = op->rest->child, *now = plan->now.child;
    if (!child)
        return ACU_OK;
    bool mine = acui_child_in(child, plan);
    bool told = mine && acui_child_is_plain(now) && child->plain;
    if (mine)
        child->within = acui_child_around(child->within, now);
    if (told && !now)
        return ACU_OK; /* nobody needs to be told of it */
    acui_imported *imported = ACUI_ARENA_NEW(&plan->arena, acui_imported);
    const acui_values *values = mine && !told ? NULL : &op->rest->values;
    if (!imported || (values && values->count && !keep_values(plan, imported, values)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan an op with several users");
    acui_child_retain(child); /* the op, or the one that it is part of, has it while this happens */
    acui_usage_begin(plan, &imported->usage, child);
    imported->child = child;
    imported->user = now ? now->shared : NULL;
    if (mine)
        child->kept |= is_kept(now, child);
    imported->mine = mine;
    imported->told = told;
    imported->waiter_known = part || told;
    imported->last = plan->last;
    imported->context = plan->now.context;
    imported->number = number_after(plan->imported);
    imported->next = plan->imported;
    plan->imported = imported;
    plan->passes_on |= !told;
    return ACU_OK;
}

/* What is in no or_else or finally stops and fails as one. */
static const acui_child *domain_of(const acui_child *child)
{
    return acui_child_is_plain(child) ? NULL : child;
}

/* Whether a node behind `last`, in this domain, touches all of the value. */
static bool is_touched(const acui_plan *plan, const acui_node *last, const acui_child *domain,
                       const acui_imported_value *value)
{
    const acui_node *node = last ? last->next : plan->first;
    for (; node; node = node->next)
        for (uint32_t i = 0; i < node->access_count; i++)
            if (node->accesses[i].use->buffer == value->buffer &&
                domain_of(node->frame->child) == domain &&
                acui_extent_covers(&node->accesses[i].extent, &value->extent))
                return true;
    return false;
}

/* Whether nodes of the plan, where it plans now, touch all values of the imported op: then order,
 * and the failure of whoever reads them, follow from the data. */
static bool is_all_touched(const acui_plan *plan, const acui_imported *b)
{
    const acui_child *domain = domain_of(plan->now.child);
    for (uint32_t i = 0; i < b->count; i++)
        if (!is_touched(plan, b->last, domain, &b->values[i]))
            return false;
    return b->count > 0;
}

bool acui_import_is_open(const acui_plan *plan, const acui_imported *b)
{
    const acui_child *now = plan->now.child;
    if (b->told && (!now || now->kind != ACUI_CHILD_SHARED || is_within(b->child, now)))
        return false;
    return (b->told || !b->waiter_known) && !is_all_touched(plan, b);
}

/* Past those of ops with several users, each of which has its own AWAIT. */
static acui_imported *skip(acui_imported *b, const acui_child *user, const acui_imported *since)
{
    while (b != since && b->user != user)
        b = b->user->since;
    return b;
}

acui_imported *acui_import_first(const acui_plan *plan, const acui_imported *since)
{
    const acui_child *now = plan->now.child;
    return skip(plan->imported, now ? now->shared : NULL, since);
}

acui_imported *acui_import_next(const acui_imported *b, const acui_imported *since)
{
    return skip(b->next, b->user, since);
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
    plan->imported = NULL;
}
