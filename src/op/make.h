/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* New tensors inside plans. */
#ifndef ACUI_OP_MAKE_H
#define ACUI_OP_MAKE_H

#include "op/op.h"

/* A new owned device tensor and the node that allocates it; the caller's reference. */
acu_status acui_plan_tensor(acui_plan *plan, const acu_op *op, acu_device *device, acu_dtype dtype,
                            acu_shape shape, acu_tensor **tensor);
/* The buffer, which has no memory yet (NULL: one to be made), is to get it from the pool; NULL:
 * nothing is said. DEVICE: the pool is of another one. */
acu_status acui_plan_pool(acu_pool *pool, acu_device *device, acu_buffer *buffer);
/* A new pinned tensor, from where the plan says. */
acu_status acui_plan_host_tensor(const acui_plan *plan, acu_device *device, acu_dtype dtype,
                                 acu_shape shape, acu_tensor **tensor);

#endif
