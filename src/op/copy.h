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

/* Whether it can be done at all: dtypes, shapes, overlap. */
acu_status acui_check_copy(const acu_val *dst, const acu_val *src);
/* Each element goes to its own place: there is nothing to do. */
bool acui_copy_is_idle(const acu_tensor *dst, const acu_tensor *src);
/* acui_plan_copy on the device that fits. */
acu_status acui_plan_copy_there(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src);

#define ACUI_COPY_FAMILY "acuda.copy"

#endif
