/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chains of launches, planned from the first on. */
#include "op/chain.h"

#include "base/error.h"

/* What `x` takes its value of is planned; `x` yields that value now. */
static acu_status settle(acui_plan *plan, acu_op *x)
{
    acui_values *stack = &plan->scratch;
    size_t base = stack->count, index = x->u.index;
    acu_op *before = x->inputs[0];
    x->inputs[0] = NULL;
    acu_val value;
    acu_status status = acui_plan_op(plan, before, NULL, stack); /* a kernel's device is its own */
    if (status == ACU_OK)
        status = acui_nth_of(stack, base, index, &value);
    acui_plan_leave(plan, stack, base);
    if (status != ACU_OK)
        return acui_op_sign(x, status);
    x->class = &acui_class_VALUE;
    x->u.value = value;
    return ACU_OK;
}

acu_status acui_chain_plan(acui_plan *plan, acu_op *launch)
{
    acu_op *first = NULL;
    for (acu_op *x; (x = acui_chain_operand(launch)); launch = x->inputs[0]) {
        x->next_dead = first; /* it is not dead, and has no other use for this */
        first = x;
    }
    while (first) {
        acu_op *x = first;
        first = x->next_dead;
        ACUI_TRY(settle(plan, x));
    }
    return ACU_OK;
}
