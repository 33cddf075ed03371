/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The AWAIT node, which waits for what the plan itself does not do (await.h). It touches, as a
 * reader, each value of the plan that no other node touches, and stands for the imported ops that
 * nothing else in the plan waits for.
 */
#include "op/await.h"

#include "base/error.h"
#include "op/op.h"

/* A plan with alternatives may never enter what one of them, or a refused op, touches: then every
 * value counts as open. */
static bool is_open(const acui_plan *plan, const acu_val *value)
{
    return (value->kind == ACU_TENSOR || value->kind == ACU_PARTITION) &&
           (plan->splits || !acui_plan_covers(plan, value->tensor));
}

static size_t count_open(const acui_plan *plan, const acui_values *values, acu_device **device)
{
    size_t count = 0;
    for (size_t i = 0; values && i < values->count; i++)
        if (is_open(plan, &values->list[i])) {
            count++;
            *device = values->list[i].tensor->buffer->device;
        }
    return count;
}

static acu_status add_open(acui_plan *plan, acui_node *node, const acui_values *values)
{
    for (size_t i = 0; values && i < values->count; i++)
        if (is_open(plan, &values->list[i]))
            ACUI_TRY(acui_node_add_access(plan, node, values->list[i].tensor, ACU_READ));
    return ACU_OK;
}

static acu_device *device_of(const acui_plan *plan, acu_device *fallback)
{
    return plan->last ? plan->last->device : fallback ? fallback : acu_device_default();
}

acu_status acui_plan_await(acui_plan *plan, const acu_op *op, acu_device *fallback,
                           const acui_values *values)
{
    if ((!plan->passes_on && !plan->here) || plan->for_replay)
        return ACU_OK;
    if (!plan->passes_on)
        values = NULL;
    acu_device *device = device_of(plan, fallback);
    size_t count = count_open(plan, values, &device);
    if (!device || (!count && !acui_import_is_open(plan)))
        return ACU_OK; /* without an open device there is nothing to wait for */
    acui_node *node = acui_plan_node(plan, ACUI_NODE_AWAIT, op, device, count);
    if (!node)
        return ACU_ERR_NO_MEMORY;
    node->u.await.here = plan->here;
    if (count) {
        node->u.await.imported = plan->imported;
        node->u.await.since = plan->now.child ? plan->now.child->since : NULL;
    }
    return add_open(plan, node, values);
}

acu_status acui_plan_await_front(acui_plan *plan, const acu_op *op, acu_device *fallback)
{
    acu_device *device = device_of(plan, fallback);
    bool needed = device && !plan->for_replay;
    return !needed || acui_plan_node(plan, ACUI_NODE_AWAIT, op, device, 0) ? ACU_OK
                                                                           : ACU_ERR_NO_MEMORY;
}
