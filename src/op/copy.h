/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies in a plan: which way each goes. */
#ifndef ACUI_OP_COPY_H
#define ACUI_OP_COPY_H

#include "op/op.h"

static inline bool acui_on_device(const acu_tensor *tensor)
{
    return tensor->buffer->host == NULL;
}

/* Append nodes that copy between tensors of equal dtype and shape, wherever they are. The caller
 * has checked that `dst` may be written, and that the two share no bytes, except for a copy of a
 * tensor onto itself: that appends nothing. */
acu_status acui_plan_copy(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src);

/* Check that the copy can be done at all: forms, dtypes, shapes, overlap. */
acu_status acui_check_copy(const acu_val *dst, const acu_val *src);
/* Each element would go to its own place: there is nothing to do. */
bool acui_copy_is_idle(const acu_tensor *dst, const acu_tensor *src);

/* Copy by a kernel on `device`, which reaches both sides; `layout` is that of both, sorted. */
acu_status acui_plan_walk(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                          acu_tensor *src, const acui_layout *layout);

/* Append nodes that write an element's bits to all elements of a tensor on a device. */
acu_status acui_plan_fill(acui_plan *plan, const acu_op *op, acu_tensor *tensor,
                          acui_scalar scalar);

/* Among the nodes behind `last` (NULL: among all), join neighbouring small copies that do not touch
 * one another's data into one launch of a kernel. */
acu_status acui_plan_join_copies(acui_plan *plan, const acu_op *op, acui_node *last);

#define ACUI_COPY_FAMILY "acuda.copy"

#endif
