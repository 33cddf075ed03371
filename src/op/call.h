/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Foreign calls of acuda's own. */
#ifndef ACUI_OP_CALL_H
#define ACUI_OP_CALL_H

#include "op/op.h"

/* A node that calls op->u.call.foreign, which leaves a record where it fails; the op's arguments
 * were planned to `values`. */
acu_status acui_plan_foreign(acui_plan *plan, acu_op *op, acu_device *device,
                             const acu_val *values);

#endif
