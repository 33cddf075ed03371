/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Foreign calls that acuda itself puts into a plan: ops whose work is a driver call for which there
 * is no kind of node (managed.c).
 */
#ifndef ACUI_OP_CALL_H
#define ACUI_OP_CALL_H

#include "op/op.h"

/* A node that calls op->u.call.foreign, which sets a record where it fails; `values` are the op's
 * planned arguments. */
acu_status acui_plan_foreign(acui_plan *plan, acu_op *op, acu_device *device,
                             const acu_val *values);

#endif
