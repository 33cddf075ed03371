/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting for what others compute. A plan is over when its nodes are. But none of them may touch
 * what the plan yields: a tensor that is passed on as it came, an op that another submission
 * planned, an `after` that has no work of its own to order. Then the plan gets a node without work,
 * AWAIT, that is over, or fails, with all of that.
 *
 * While the plan grows it notes in `passes_on` that it got such a thing; without that note nothing
 * is looked for.
 */
#ifndef ACUI_OP_AWAIT_H
#define ACUI_OP_AWAIT_H

#include "op/import.h"

/*
 * The end of a child, or of the plan: await the values (NULL: none) that no node touches, and the
 * ops that were imported in it. A node is made only if there is such a value, or if one of these
 * ops is not touched. Messages name `op`; `fallback` is the device where nothing else says one.
 * NO_MEMORY.
 */
acu_status acui_plan_await(acui_plan *plan, const acu_op *op, acu_device *fallback,
                           const acui_values *values);
/* A node that only comes behind what is in front. NO_MEMORY. */
acu_status acui_plan_await_front(acui_plan *plan, const acu_op *op, acu_device *fallback);

#endif
