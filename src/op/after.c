/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Order that data does not imply: the list of what comes before the nodes that a plan gets now, and
 * the op `after`, which names such an order. after.h has the rules.
 */
#include "op/after.h"

#include "base/error.h"
#include "op/await.h"
#include "op/op.h"

struct acui_front_op {
    struct acui_front_op *next;
    const acui_child *child;
};

static acu_status no_memory(void)
{
    return acui_fail(ACU_ERR_NO_MEMORY, "no memory to order the parts of an op");
}

acui_front acui_front_start(acui_plan *plan)
{
    acui_front front = {.before = plan->now.after,
                        .ops_before = plan->front_ops,
                        .first = plan->count};
    plan->open_fronts++;
    return front;
}

acu_status acui_front_note(acui_plan *plan, const acui_child *child)
{
    if (!plan->open_fronts || !child)
        return ACU_OK;
    struct acui_front_op *op = ACUI_ARENA_NEW(&plan->arena, struct acui_front_op);
    if (!op)
        return no_memory();
    op->child = child;
    op->next = plan->front_ops;
    plan->front_ops = op;
    return ACU_OK;
}

static bool push(acui_plan *plan, acui_after entry)
{
    acui_after *after = ACUI_ARENA_NEW(&plan->arena, acui_after);
    if (!after)
        return false;
    *after = entry;
    after->outer = plan->now.after;
    after->range = acui_after_range(after->outer);
    plan->now.after = after;
    return true;
}

/* What this plan planned between start and done is among the new nodes already; only ops that were
 * planned earlier need an entry. */
static bool push_op(acui_plan *plan, const acui_child *child, uint32_t first)
{
    if (!acui_child_in(child, plan))
        return push(plan, (acui_after){.child = child});
    return child->begin >= first ||
           push(plan, (acui_after){.begin = child->begin, .end = child->end});
}

acu_status acui_front_done(acui_plan *plan, acui_front *front)
{
    bool memory = true;
    front->ops = plan->front_ops;
    front->behind = plan->count;
    if (plan->count > front->first) { /* the new nodes imply what came before until now */
        plan->now.after = NULL;
        memory = push(plan, (acui_after){.begin = front->first, .end = plan->count});
    }
    for (const struct acui_front_op *op = plan->front_ops; op != front->ops_before && memory;
         op = op->next)
        memory = push_op(plan, op->child, front->first);
    plan->open_fronts--;
    return memory ? ACU_OK : no_memory();
}

bool acui_front_is_elsewhere(const acui_plan *plan)
{
    const acui_after *after = plan->now.after;
    while (after && !after->child && !after->point_count)
        after = after->outer;
    return after;
}

void acui_front_restore(acui_plan *plan, const acui_front *front)
{
    plan->now.after = front->before;
    if (plan->count == front->behind)
        return;
    /* Some node comes behind the ops of this front: a front around it need not have them again. */
    struct acui_front_op **link = &plan->front_ops;
    while (*link != front->ops)
        link = &(*link)->next;
    *link = front->ops_before;
}

acui_point **acui_front_points(acui_plan *plan, size_t count)
{
    acui_after *after = ACUI_ARENA_NEW(&plan->arena, acui_after);
    acui_point **points = after ? ACUI_ARENA_ARRAY(&plan->arena, acui_point *, count) : NULL;
    if (!points) {
        no_memory();
        return NULL;
    }
    after->points = points;
    after->point_count = count;
    after->outer = plan->now.after;
    after->range = acui_after_range(after->outer);
    after->next_points = plan->points;
    plan->now.after = plan->points = after;
    return points;
}

void acui_front_clear(acui_plan *plan)
{
    for (const acui_after *after = plan->points; after; after = after->next_points)
        for (size_t i = 0; i < after->point_count; i++)
            acui_point_release(after->points[i]);
    plan->points = NULL;
    plan->now.after = NULL;
}

/* ---- after ---- */

/* Plans input 1 for its order alone; its values are dropped. */
static acu_status plan_before(acui_plan *plan, acu_op *op, acu_device *fallback, acui_front *front)
{
    acui_values unused = {.unwanted = true};
    const acui_imported *before = plan->here;
    *front = acui_front_start(plan);
    acu_status status = acui_plan_op(plan, acui_op_take_input(op, 1), fallback, &unused);
    acui_values_clear(&unused);
    acui_import_only_order(plan, before, front->first);
    acu_status done = acui_front_done(plan, front);
    return status == ACU_OK ? done : status;
}

static acu_status plan_after(acui_plan *plan, acu_op *op, acu_device *fallback, acui_values *values)
{
    acui_front front;
    acu_status status = plan_before(plan, op, fallback, &front);
    uint32_t count = plan->count;
    if (status == ACU_OK)
        status = acui_plan_op(plan, acui_op_take_input(op, 0), fallback, values);
    if (status == ACU_OK && plan->count == count && acui_front_is_elsewhere(plan))
        status = acui_plan_await_front(plan, op, fallback);
    acui_front_restore(plan, &front);
    return status;
}

const acui_op_class acui_class_AFTER = {.name = "after", .plan = plan_after, .passes = 1};

acu_op *acu_op_after(acu_op *x, acu_op *before, acu_site site)
{
    return acui_op_binary(&acui_class_AFTER, x, before, site);
}
