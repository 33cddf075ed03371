/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which nodes of a plan belong to ops that others use too, and who still uses them (sharing.h). */
#include "op/sharing.h"

#include "base/alloc.h"
#include "base/error.h"
#include "op/part.h"

#include <string.h>

bool acui_sharing_in(const acui_sharing *sharing, const acui_plan *plan)
{
    return atomic_load_explicit(&sharing->plan, memory_order_relaxed) == plan;
}

static uint32_t context_bytes(const acui_context *context)
{
    uint32_t bytes = 0;
    for (; context; context = context->outer)
        bytes += (uint32_t)strlen(context->text) + 2; /* ": " */
    return bytes;
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
    sharing->around = context_bytes(plan->now.context);
    sharing->parent = plan->now.sharing;
    sharing->part = sharing->within = plan->now.part;
    sharing->since = plan->imported;
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
        acui_sharing *sharing = op->rest->sharing;
        if (atomic_load_explicit(&sharing->own, memory_order_relaxed) == 0)
            sharing->op = op;
        /* Release, to is_held, which another thread may ask if some of it is entered already. */
        atomic_fetch_add_explicit(&sharing->own, 1, memory_order_release);
    }
    return acui_object_retain(op);
}

/* ---- what a plan got of ops that were planned before ---- */

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

/* `values`: what it yields; NULL: not known. */
static acu_status import(acui_plan *plan, acui_sharing *sharing, const acui_values *values,
                         bool part)
{
    bool mine = acui_sharing_in(sharing, plan);
    bool told = mine && !plan->now.part && !sharing->inside;
    if (told && !plan->now.sharing)
        return ACU_OK; /* nobody needs to be told of it */
    acui_imported *imported = ACUI_ARENA_NEW(&plan->arena, acui_imported);
    if (!imported || (values && values->count && !mine && !keep_values(plan, imported, values)))
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan an op with several users");
    /* Relaxed: the op, or the one that it is part of, holds it while this happens. */
    atomic_fetch_add_explicit(&sharing->refs, 1, memory_order_relaxed);
    imported->sharing = sharing;
    if (mine && acui_part_finally(plan->now.part))
        sharing->kept = true;
    imported->mine = mine;
    imported->told = told;
    imported->waiter_known = part || told;
    imported->last = plan->last;
    imported->context = plan->now.context;
    imported->around = sharing->around;
    imported->number = number_after(plan->imported);
    imported->next = plan->imported;
    plan->imported = imported;
    plan->passes_on |= !told;
    return ACU_OK;
}

acu_status acui_sharing_import(acui_plan *plan, const acu_op *op, bool part)
{
    acui_sharing *sharing = op->rest->sharing;
    if (!sharing)
        return ACU_OK;
    if (acui_sharing_in(sharing, plan))
        sharing->within = acui_part_around(sharing->within, plan->now.part);
    ACUI_TRY(import(plan, sharing, &op->rest->values, part));
    for (const acui_inner *inner = sharing->inner; inner; inner = inner->next)
        ACUI_TRY(import(plan, inner->sharing, NULL, part));
    return ACU_OK;
}

/* Whether a node behind `last`, in this part, touches all of the value. */
static bool is_touched(const acui_plan *plan, const acui_node *last, const acui_part *part,
                       const acui_imported_value *value)
{
    const acui_node *node = last ? last->next : plan->first;
    for (; node; node = node->next)
        for (uint32_t i = 0; i < node->touch_count && node->frame->part == part; i++)
            if (node->touches[i].use->buffer == value->buffer &&
                acui_extent_covers(&node->touches[i].extent, &value->extent))
                return true;
    return false;
}

bool acui_sharing_is_touched(const acui_plan *plan, const acui_imported *imported,
                             const acui_part *part)
{
    for (uint32_t i = 0; i < imported->count; i++)
        if (!is_touched(plan, imported->last, part, &imported->values[i]))
            return false;
    return imported->count > 0;
}

/* Whether all of the op is over, and none of it failed: then nobody needs to wait for it. */
static bool is_done(const acui_sharing *sharing)
{
    bool done = acui_sharing_in(sharing, NULL); /* its plan is gone: so all is over */
    acui_homes homes = acui_order_lock_all_of(&sharing->homes);
    for (const acui_shared_point *p = homes ? sharing->points : NULL; p && done; p = p->next)
        done = !p->point->failed;
    acui_order_unlock(homes);
    return done;
}

static acu_status add_inner(acui_sharing *sharing, acui_sharing *other)
{
    const acui_inner *known = sharing->inner;
    while (known && known->sharing != other)
        known = known->next;
    if (known || is_done(other))
        return ACU_OK;
    acui_inner *inner = ACUI_NEW(acui_inner);
    if (!inner)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan an op with several users");
    atomic_fetch_add_explicit(&other->refs, 1, memory_order_relaxed); /* the note holds it */
    inner->sharing = other;
    inner->next = sharing->inner;
    sharing->inner = inner;
    return ACU_OK;
}

static bool is_within(const acui_sharing *sharing, const acui_sharing *outer)
{
    while (sharing && sharing != outer)
        sharing = sharing->parent;
    return sharing;
}

/* Whether users of the op, which is planned now, need to know of the import themselves: no node of
 * the op waits for it, or some of the op catches its failure where this use does not. */
static bool is_open(const acui_plan *plan, const acui_sharing *sharing, const acui_imported *b)
{
    const acui_part *part = sharing->inside ? sharing->inside : sharing->part;
    const acui_part *inside = b->sharing->inside;
    if (b->mine && is_within(b->sharing, sharing) && !(inside && acui_part_is_caught(inside, part)))
        return false;
    return (b->told || !b->waiter_known) && !acui_sharing_is_touched(plan, b, part);
}

acu_status acui_sharing_list_inner(acui_plan *plan, const acu_op *op)
{
    acui_sharing *sharing = op->rest->sharing;
    for (const acui_imported *b = plan->imported; b != sharing->since; b = b->next)
        if (is_open(plan, sharing, b)) {
            b->sharing->kept |= b->mine;
            ACUI_TRY(add_inner(sharing, b->sharing));
        }
    return ACU_OK;
}

/* Drop a reference; if it was the last one, put the sharing in front of the list. */
static void put(acui_sharing *sharing, acui_sharing **dead)
{
    /* Release: whoever finds that nobody is left sees what the holder entered. Acquire: for the
     * free. */
    if (!sharing || atomic_fetch_sub_explicit(&sharing->refs, 1, memory_order_acq_rel) != 1)
        return;
    sharing->next = *dead; /* no plan has it any more */
    *dead = sharing;
}

static void put_inner(acui_inner *inner, acui_sharing **dead)
{
    while (inner) {
        acui_inner *next = inner->next;
        put(inner->sharing, dead);
        acui_free(inner);
        inner = next;
    }
}

/* These may be the last to hold others, and so on, any number of times. */
static void free_all(acui_sharing *dead)
{
    while (dead) {
        acui_sharing *sharing = dead;
        dead = sharing->next;
        put_inner(sharing->inner, &dead);
        while (sharing->points) {
            acui_shared_point *shared = sharing->points;
            sharing->points = shared->next;
            acui_point_release(shared->point);
            acui_free(shared);
        }
        acui_free(sharing);
    }
}

void acui_sharing_release(acui_sharing *sharing)
{
    acui_sharing *dead = NULL;
    put(sharing, &dead);
    free_all(dead);
}

/* Some of an op becomes tasks before all of it is planned: what it uses of ops planned before may
 * turn out to be `inner`, and these become tasks now. */
static void keep_inner(const acui_plan *plan, acui_sharing *outermost)
{
    for (const acui_imported *b = plan->imported; b != outermost->since; b = b->next)
        b->sharing->kept |= b->mine;
}

static void note_begun(acui_plan *plan)
{
    for (acui_sharing *sharing = plan->now.sharing; sharing; sharing = sharing->parent) {
        sharing->begun = true;
        if (!sharing->parent)
            keep_inner(plan, sharing);
    }
}

void acui_sharing_look(acui_plan *plan)
{
    note_begun(plan);
    /* If the references of this list and of the op's nodes are all there are, nobody has the op or
     * can get it. */
    for (const acu_op *op = plan->unpublished; op; op = op->rest->next_unpublished) {
        acui_sharing *sharing = op->rest->sharing;
        uint32_t own = atomic_load_explicit(&sharing->own, memory_order_relaxed);
        bool alone = acui_object_refs(op) == 1 + own && !sharing->kept;
        atomic_store_explicit(&sharing->alone, alone, memory_order_relaxed);
        if (alone && sharing->inside && !sharing->begun)
            sharing->inside->within = sharing->within;
    }
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
    uint32_t nodes = atomic_load_explicit(&sharing->own, memory_order_acquire);
    bool own = nodes && acui_object_refs(sharing->op) == nodes;
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
    for (const acui_imported *b = plan->imported; b; b = b->next) {
        for (uint32_t i = 0; i < b->count; i++)
            acu_buffer_release(b->values[i].buffer);
        acui_sharing_release(b->sharing);
    }
    plan->imported = NULL;
}

/* Take those that nobody needs to wait for out of the list. Share lock held. */
static acui_inner *take_done(acui_sharing *sharing)
{
    acui_inner *done = NULL, **link = &sharing->inner;
    while (*link) {
        acui_inner *inner = *link;
        if (!is_done(inner->sharing)) {
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
static void drop_done(acui_plan *plan)
{
    acui_sharing *dead = NULL;
    for (acui_sharing *sharing = plan->sharings; sharing; sharing = sharing->next) {
        if (!sharing->inner)
            continue; /* others only read it */
        acui_share_lock();
        acui_inner *done = take_done(sharing);
        acui_share_unlock();
        put_inner(done, &dead);
    }
    free_all(dead);
}

void acui_sharing_clear(acui_plan *plan)
{
    acui_sharing_return(plan);
    drop_done(plan);
    while (plan->sharings) {
        acui_sharing *sharing = plan->sharings;
        plan->sharings = sharing->next;
        atomic_store_explicit(&sharing->plan, NULL, memory_order_relaxed);
        acui_sharing_release(sharing);
    }
}
