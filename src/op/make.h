/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* New tensors inside plans, and the pools that their memory comes from. */
#ifndef ACUI_OP_MAKE_H
#define ACUI_OP_MAKE_H

#include "op/op.h"

/* A new owned device tensor, and the node that allocates it. The reference is the caller's. */
acu_status acui_plan_tensor(acui_plan *plan, const acu_op *op, acu_device *device, acu_dtype dtype,
                            acu_shape shape, acu_tensor **tensor);
/* Have the buffer, which has no memory yet, take it from the pool. A NULL buffer is still to be
 * made: then the pool is only checked. A NULL pool changes nothing. DEVICE: the pool is of another
 * device. */
acu_status acui_plan_pool(acu_pool *pool, acu_device *device, acu_buffer *buffer);
/* A new pinned tensor, from the plan's pool for pinned memory, else from the device's own. */
acu_status acui_plan_host_tensor(const acui_plan *plan, acu_device *device, acu_dtype dtype,
                                 acu_shape shape, acu_tensor **tensor);

#endif
