/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which nodes of a plan belong to ops that others use too, and who still uses them (sharing.h). */
#include "op/sharing.h"

#include "base/alloc.h"
#include "base/error.h"
#include "op/part.h"

bool acui_sharing_in(const acui_sharing *sharing, const acui_plan *plan)
{
    return atomic_load_explicit(&sharing->plan, memory_order_relaxed) == plan;
}

acu_status acui_sharing_begin(acui_plan *plan, acu_op *op)
{
    acui_sharing *sharing = ACUI_NEW(acui_sharing);
    if (!sharing)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
    atomic_store_explicit(&sharing->refs, 2, memory_order_relaxed); /* one of the plan and one of
                                                                     * the op */
    atomic_store_explicit(&sharing->plan, plan, memory_order_relaxed);
    sharing->begin = plan->count;
    sharing->parent = plan->now.sharing;
    sharing->part = sharing->within = plan->now.part;
    sharing->next = plan->sharings;
    plan->sharings = plan->now.sharing = op->rest->sharing = sharing;
    return ACU_OK;
}

void acui_sharing_end(acui_plan *plan, const acu_op *op)
{
    plan->now.sharing = op->rest->sharing->parent;
    op->rest->sharing->end = plan->count;
}

acu_op *acui_sharing_hold(acu_op *op)
{
    if (op->state == ACUI_OP_PLANNING) { /* planned for several users, by this thread */
        op->rest->sharing->op = op;
        op->rest->sharing->own++;
    }
    return acui_object_retain(op);
}

/* The innermost part around a part of the plan, itself included, that tries something or stands in
 * for something; NULL: none. */
static const acui_part *choice_around(const acui_part *part)
{
    while (part && part->kind != ACUI_PART_TRY && part->kind != ACUI_PART_ELSE)
        part = part->parent;
    return part;
}

/* Whether the users planned now need no note of the op, which is in the same plan: what they do
 * fails with it, or their turn comes behind it. They need one if other users catch its failure, and
 * these ones have an alternative too or get no data that would tell; in an alternative even before
 * there are other users, who may come. */
static bool is_told(const acui_plan *plan, const acui_sharing *sharing, bool untouched)
{
    const acui_part *common = acui_part_around(sharing->inside, plan->now.part);
    const acui_part *choice = choice_around(plan->now.part);
    bool stands_in = choice && choice->kind == ACUI_PART_ELSE;
    if (!acui_part_is_caught(sharing->inside, common))
        return !untouched || !stands_in;
    bool inside = choice && common && choice->depth <= common->depth; /* no choice of their own */
    return inside || !choice || stands_in ? !untouched : false;
}

acu_status acui_sharing_import(acui_plan *plan, const acu_op *op, bool untouched, bool part)
{
    acui_sharing *sharing = op->rest->sharing;
    if (sharing && acui_sharing_in(sharing, plan))
        sharing->within = acui_part_around(sharing->within, plan->now.part);
    if (!sharing || (acui_sharing_in(sharing, plan) && is_told(plan, sharing, untouched)))
        return ACU_OK;
    acui_imported *imported = ACUI_ARENA_NEW(&plan->arena, acui_imported);
    if (!imported)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan %s", acui_op_name(op));
    /* Relaxed: the op holds it while this happens. */
    atomic_fetch_add_explicit(&sharing->refs, 1, memory_order_relaxed);
    imported->sharing = sharing;
    imported->count = (uint32_t)op->rest->values.count;
    imported->untouched = untouched;
    imported->waiter_known = part;
    imported->next = plan->imported;
    plan->imported = imported;
    plan->passes_on = true;
    return ACU_OK;
}

void acui_sharing_dropped(acui_plan *plan, const acui_imported *since, size_t count, bool tensor)
{
    acui_imported *b = plan->imported;
    if (b != since && tensor && b->next == since && b->count == count)
        return;
    for (; b != since; b = b->next)
        b->untouched = true;
}

void acui_sharing_release(acui_sharing *sharing)
{
    /* Release: whoever finds that nobody is left sees what the holder entered. Acquire: for the
     * free. */
    if (!sharing || atomic_fetch_sub_explicit(&sharing->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (sharing->points) {
        acui_shared_point *shared = sharing->points;
        sharing->points = shared->next;
        acui_point_release(shared->point);
        acui_free(shared);
    }
    acui_free(sharing);
}

void acui_sharing_look(acui_plan *plan)
{
    /* If the references of this list and of the op's nodes are all there are, nobody has the op or
     * can get it. */
    for (const acu_op *op = plan->unpublished; op; op = op->rest->next_unpublished) {
        acui_sharing *sharing = op->rest->sharing;
        bool alone = acui_object_refs(op) == 1 + sharing->own;
        atomic_store_explicit(&sharing->alone, alone, memory_order_relaxed);
        if (alone && sharing->inside && !sharing->begun)
            sharing->inside->within = sharing->within;
    }
    for (acui_sharing *sharing = plan->now.sharing; sharing; sharing = sharing->parent)
        sharing->begun = true;
}

void acui_sharing_close(acui_plan *plan)
{
    for (acui_sharing *s = plan->sharings; s; s = s->next)
        atomic_store_explicit(&s->alone, true, memory_order_relaxed);
}

acui_sharing *acui_sharing_of(const acui_node *node)
{
    acui_sharing *sharing = node->frame->sharing;
    while (sharing && acui_sharing_is_alone(sharing))
        sharing = sharing->parent;
    return sharing;
}

/* Whether somebody besides the plan, which has the nodes, holds it. The op is looked at first:
 * whoever lets go of the op already counts as having its values. */
static bool is_held(const acui_sharing *sharing)
{
    bool own = sharing->own && acui_object_refs(sharing->op) == sharing->own;
    return atomic_load_explicit(&sharing->refs, memory_order_acquire) > (own ? 2 : 1);
}

bool acui_sharing_held(const acui_sharing *sharing)
{
    for (; sharing; sharing = sharing->parent)
        if (!acui_sharing_is_alone(sharing) && is_held(sharing))
            return true;
    return false;
}

void acui_sharing_return(acui_plan *plan)
{
    for (const acui_imported *b = plan->imported; b; b = b->next)
        acui_sharing_release(b->sharing);
    plan->imported = NULL;
}

void acui_sharing_clear(acui_plan *plan)
{
    acui_sharing_return(plan);
    while (plan->sharings) {
        acui_sharing *sharing = plan->sharings;
        plan->sharings = sharing->next;
        atomic_store_explicit(&sharing->plan, NULL, memory_order_relaxed);
        acui_sharing_release(sharing);
    }
}
