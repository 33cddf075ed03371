/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Waiting for what others compute. A plan is over with its nodes; but what it yields may be touched
 * by none of them: a tensor that is passed on as it came, an op that another submission planned, an
 * order behind something with nothing to be ordered. Then the plan gets a node without work, AWAIT,
 * that is over, or fails, with all of that.
 *
 * The plan notes while it grows that it got such a thing (`passes`): else nothing is looked for.
 */
#ifndef ACUI_OP_AWAIT_H
#define ACUI_OP_AWAIT_H

#include "op/sharing.h"

/*
 * Await those of the values (NULL: none) that no node touches, and the ops borrowed after `since`
 * of which it is not known yet who awaits them: if there is such a value, or one of these is
 * loose. `order`: in any case, and what is in front too. `op` is named in messages; `place`: a
 * device, where nothing else says one. NO_MEMORY.
 */
acu_status acui_plan_await(acui_plan *plan, const acu_op *op, acu_device *place,
                           const acui_borrowed *since, const acui_values *values, bool order);
/* Nobody needs to wait for the ops borrowed since then: it is an alternative's turn to, or they are
 * in front of what is planned. */
void acui_plan_settle_borrowed(acui_plan *plan, const acui_borrowed *since);

#endif
