/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies in a plan: which way each goes. */
#ifndef ACUI_OP_COPY_H
#define ACUI_OP_COPY_H

#include "op/op.h"

static inline bool acui_on_device(const acu_tensor *tensor)
{
    return tensor->buffer->host == NULL;
}

/* A copy between tensors of equal dtype and shape that share no byte, on the device (or from or to
 * it). */
acu_status acui_plan_copy(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                          acu_tensor *src);

#endif
