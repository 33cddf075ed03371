/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Chains: launches each of which takes, as its first operand, a value of the launch before it
 * (`acu_launch(k, c, acu_inout(acu_first(before)))`). They are planned from the first one on, in
 * the order in which they run, instead of from within each other: so the stack stays flat, however
 * many there are. Nested planning is also slower: in a hundred levels of calls the processor
 * mispredicts each return, which on an H100's host made a chain of a hundred 20 us slower than the
 * same launches in a row.
 */
#ifndef ACUI_OP_CHAIN_H
#define ACUI_OP_CHAIN_H

#include "op/op.h"

/* The launch's first operand, if it is a value of another launch and nobody else has it; else
 * NULL. */
static inline acu_op *acui_chain_operand(const acu_op *launch)
{
    acu_op *x = launch->input_count ? launch->inputs[0] : NULL;
    if (!x || x->class != &acui_class_NTH || !acui_op_is_sole(x))
        return NULL;
    const acu_op *before = x->inputs[0];
    return before->class == &acui_class_LAUNCH && acui_op_is_sole(before) ? x : NULL;
}

/* Plan all that comes before `launch` in its chain, if it is in one. From then on each op that
 * stood for a value of the launch before it yields that value. */
acu_status acui_chain_plan(acui_plan *plan, acu_op *launch);

#endif
