/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of a plan: how they nest while it is planned, and what that means for failures (part.h). */
#include "op/part.h"

#include "base/error.h"

acui_part *acui_part_begin(acui_plan *plan, acui_part_kind kind)
{
    acui_part *part = ACUI_ARENA_NEW(&plan->arena, acui_part);
    if (!part) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory to plan a part of an op");
        return NULL;
    }
    part->kind = kind;
    part->parent = plan->now.part;
    part->depth = part->parent ? part->parent->depth + 1 : 0;
    part->alternative = kind == ACUI_PART_ELSE || (part->parent && part->parent->alternative);
    part->shared = kind == ACUI_PART_SHARED || (part->parent && part->parent->shared);
    part->next = plan->parts;
    plan->parts = plan->now.part = part;
    return part;
}

void acui_part_end(acui_plan *plan, const acui_part *part)
{
    plan->now.part = part->parent;
}

/* Under order locks, because some of the part may be in flight already, where a `then` submitted
 * by itself. */
void acui_part_refuse(acui_plan *plan, acui_part *part)
{
    acui_fault *fault = acui_fault_new(acui_error());
    acui_homes homes = acui_order_lock_all_of(&plan->homes);
    plan->refused = part->refused = true;
    if (!part->failed) {
        part->failed = true;
        part->fault = acui_fault_retain(fault);
    }
    acui_order_unlock(homes);
    acui_fault_release(fault);
}

void acui_parts_clear(acui_plan *plan)
{
    for (acui_part *part = plan->parts; part; part = part->next)
        acui_fault_release(part->fault);
    plan->parts = plan->now.part = NULL;
}

const acui_part *acui_part_around(const acui_part *a, const acui_part *b)
{
    while (a && b && a != b)
        if (a->depth >= b->depth)
            a = a->parent;
        else
            b = b->parent;
    return a && b ? a : NULL;
}

bool acui_part_is_refused(const acui_plan *plan, const acui_part *part)
{
    if (!plan->refused)
        return false;
    acui_part_walk walk = {.shared = false};
    for (; part; part = part->parent)
        if (!acui_part_walk_to(&walk, part) && part->refused)
            return true;
    return false;
}

bool acui_part_is_caught(const acui_part *part, const acui_part *outer)
{
    acui_part_walk walk = {.shared = false}; /* by the rule of acui_parts_note */
    for (; part != outer; part = part->parent) {
        bool shared = acui_part_walk_to(&walk, part);
        if (part->kind == ACUI_PART_TRY || (part->kind == ACUI_PART_ELSE && shared))
            return true;
    }
    return false;
}

bool acui_part_is_conditional(const acui_part *part)
{
    if (!part || !part->shared)
        return part && part->alternative; /* parts may nest deeply */
    acui_part_walk walk = {.shared = false};
    for (; part; part = part->parent)
        if (!acui_part_walk_to(&walk, part) && part->kind == ACUI_PART_ELSE)
            return true;
    return false;
}

bool acui_part_is_undecided(const acui_part *part)
{
    acui_part_walk walk = {.shared = false};
    for (; part; part = part->parent)
        if (!acui_part_walk_to(&walk, part) && part->kind == ACUI_PART_ELSE && !part->begun)
            return true;
    return false;
}

bool acui_part_is_spared(const acui_part *part)
{
    acui_part_walk walk = {.shared = false};
    for (; part; part = part->parent)
        if (!acui_part_walk_to(&walk, part) && part->kind == ACUI_PART_ELSE &&
            (part->declined || !part->tried->failed))
            return true;
    return false;
}
