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
 * Await the values (NULL: none) that no node touches, and the ops imported after `since` for which
 * nobody is known to wait yet. A node is made only if there is such a value, or if one of these ops
 * is not touched; with `order` in any case, and then the node also comes behind what is in front.
 * Messages name `op`; `fallback` is the device where nothing else says one. NO_MEMORY.
 */
acu_status acui_plan_await(acui_plan *plan, const acu_op *op, acu_device *fallback,
                           const acui_imported *since, const acui_values *values, bool order);
/* The ops imported since then need no waiter of their own: an alternative, whose turn comes behind
 * them, waits for them. */
void acui_plan_waiters_known(acui_plan *plan, const acui_imported *since);
/* They are in front of what is planned, and nothing else. But those that are planned there, from
 * node `first` on, are a part of the whole, which fails with them. */
void acui_plan_only_order(acui_plan *plan, const acui_imported *since, uint32_t first);

#endif
