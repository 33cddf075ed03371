/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* New tensors inside plans. */
#ifndef ACUI_OP_MAKE_H
#define ACUI_OP_MAKE_H

#include "op/op.h"

/* A new owned device tensor and the node that allocates it; the caller's reference. */
acu_status acui_plan_tensor(acui_plan *plan, const acu_op *op, acu_device *device, acu_dtype dtype,
                            acu_shape shape, acu_tensor **tensor);
#endif
