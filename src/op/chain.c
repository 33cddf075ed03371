/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chains of launches, planned from the first one on: see chain.h. */
#include "op/chain.h"

#include "base/error.h"

/* Plans the launch that `x` takes its value from; from then on `x` is an op that yields that
 * value. */
static acu_status plan_operand(acui_plan *plan, acu_op *x)
{
    acui_values *stack = &plan->scratch;
    size_t base = stack->count, index = x->u.index;
    acu_op *before = x->inputs[0];
    x->inputs[0] = NULL;
    acu_val value;
    acu_status status = acui_plan_op(plan, before, NULL, stack); /* a kernel brings its own
                                                                  * device */
    if (status == ACU_OK)
        status = acui_nth_of(stack, base, index, &value);
    acui_plan_discard(plan, stack, base);
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
        x->next_dead = first; /* free to use: x is not being destroyed */
        first = x;
    }
    while (first) {
        acu_op *x = first;
        first = x->next_dead;
        ACUI_TRY(plan_operand(plan, x));
    }
    return ACU_OK;
}
