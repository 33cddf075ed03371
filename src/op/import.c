/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a plan notes of ops that were planned before, which it uses (import.h). */
#include "op/import.h"

#include "base/alloc.h"
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

/* Whether a finally around the user runs the child in any case, though it is not in there. */
static bool is_for_last(acui_child *user, acui_child *child)
{
    return user && user->last && acui_child_around(user->last, child) != user->last;
}

/* `values`: what it yields; NULL: not known. */
static acu_status import(acui_plan *plan, acui_child *child, const acui_values *values, bool part)
{
    bool mine = acui_child_in(child, plan);
    bool told = mine && acui_child_is_plain(plan->now.child) && child->plain;
    if (told && !plan->now.child)
        return ACU_OK; /* nobody needs to be told of it */
    acui_imported *imported = ACUI_ARENA_NEW(&plan->arena, acui_imported);
    if (!imported || (values && values->count && !mine && !keep_values(plan, imported, values)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan an op with several users");
    acui_child_retain(child); /* the op, or the one that it is part of, has it while this happens */
    acui_usage_begin(plan, &imported->usage, child);
    imported->child = child;
    if (mine)
        child->kept |= is_for_last(plan->now.child, child);
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

acu_status acui_import(acui_plan *plan, const acu_op *op, bool part)
{
    acui_child *child = op->rest->child;
    if (!child)
        return ACU_OK;
    if (acui_child_in(child, plan))
        child->within = acui_child_around(child->within, plan->now.child);
    ACUI_TRY(import(plan, child, &op->rest->values, part));
    for (const acui_inner *inner = child->inner; inner; inner = inner->next)
        ACUI_TRY(import(plan, inner->child, NULL, part));
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
        for (uint32_t i = 0; i < node->touch_count; i++)
            if (node->touches[i].use->buffer == value->buffer &&
                domain_of(node->frame->child) == domain &&
                acui_extent_covers(&node->touches[i].extent, &value->extent))
                return true;
    return false;
}

bool acui_import_is_touched(const acui_plan *plan, const acui_imported *imported,
                            const acui_child *child)
{
    for (uint32_t i = 0; i < imported->count; i++)
        if (!is_touched(plan, imported->last, domain_of(child), &imported->values[i]))
            return false;
    return imported->count > 0;
}

/* ---- what an op consists of, too ---- */

/* Whether all of the op is over, and none of it failed: then nobody needs to wait for it. */
static bool is_done(const acui_child *child)
{
    bool done = acui_child_in(child, NULL); /* its plan is gone: so all is over */
    acui_homes homes = acui_order_lock_all_of(&child->homes);
    for (const acui_shared_point *p = homes ? child->points : NULL; p && done; p = p->next)
        done = !p->point->failed;
    acui_order_unlock(homes);
    return done;
}

static acu_status add_inner(acui_child *child, acui_child *other)
{
    const acui_inner *known = child->inner;
    while (known && known->child != other)
        known = known->next;
    if (known || is_done(other))
        return ACU_OK;
    acui_inner *inner = ACUI_NEW(acui_inner);
    if (!inner)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan an op with several users");
    acui_child_retain(other);
    *inner = (acui_inner){.next = child->inner, .child = other};
    child->inner = inner;
    return ACU_OK;
}

static bool is_within(const acui_child *child, const acui_child *outer)
{
    while (child && child != outer)
        child = child->parent;
    return child;
}

/* Whether users of the op, which is planned now, need to know of the import themselves: no node of
 * the op waits for it, or some of the op catches its failure where this use does not. */
static bool is_open(const acui_plan *plan, const acui_child *child, const acui_imported *b)
{
    if (b->mine && is_within(b->child, child) && !acui_child_is_caught(b->child, child))
        return false;
    return (b->told || !b->waiter_known) && !acui_import_is_touched(plan, b, child);
}

acu_status acui_import_list_inner(acui_plan *plan, acui_child *child)
{
    for (const acui_imported *b = plan->imported; b != child->since; b = b->next)
        if (is_open(plan, child, b)) {
            b->child->kept |= b->mine;
            ACUI_TRY(add_inner(child, b->child));
        }
    return ACU_OK;
}

/* ---- the end ---- */

void acui_import_entered(acui_plan *plan)
{
    for (acui_imported *b = plan->imported; b; b = b->next)
        while (b->count > 0)
            acu_buffer_release(b->values[--b->count].buffer);
}

/* Take those that nobody needs to wait for out of the list. Share lock held. */
static acui_inner *take_done(acui_child *child)
{
    acui_inner *done = NULL, **link = &child->inner;
    while (*link) {
        acui_inner *inner = *link;
        if (!is_done(inner->child)) {
            link = &inner->next;
            continue;
        }
        *link = inner->next;
        inner->next = done;
        done = inner;
    }
    return done;
}

/* The plan is over, and mostly so is what its ops consist of. That is let go, because the op may
 * itself be a part of another one, and that of the next, without end. */
static void drop_done(acui_child *child)
{
    if (!child->inner)
        return; /* others only read it */
    acui_share_lock();
    acui_inner *done = take_done(child);
    acui_share_unlock();
    while (done) {
        acui_inner *inner = done;
        done = inner->next;
        acui_child_release(inner->child);
        acui_free(inner);
    }
}

void acui_import_clear(acui_plan *plan, acui_child *children)
{
    acui_import_entered(plan);
    for (; children; children = children->next)
        drop_done(children);
    for (const acui_imported *b = plan->imported; b; b = b->next)
        acui_child_release(b->child);
    plan->imported = NULL;
}
