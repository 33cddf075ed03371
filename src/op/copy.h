/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies in a plan: which way each goes. */
#ifndef ACUI_OP_COPY_H
#define ACUI_OP_COPY_H

#include "op/op.h"

static inline bool acui_on_device(const acu_tensor *tensor)
{
    return tensor->buffer->host == NULL;
}

/* Nodes that copy between tensors of equal dtype and shape, wherever they are, whose writing is
 * allowed and that share no bytes, but for a copy onto itself: that is nothing. */
acu_status acui_plan_copy(acui_plan *plan, const acu_op *op, acu_tensor *dst, acu_tensor *src);

/* Whether it can be done at all: forms, dtypes, shapes, overlap. */
acu_status acui_check_copy(const acu_val *dst, const acu_val *src);
/* Each element goes to its own place: there is nothing to do. */
bool acui_copy_is_idle(const acu_tensor *dst, const acu_tensor *src);

/* By a kernel on the device, which reaches both sides; `layout` is theirs, sorted. */
acu_status acui_plan_walk(acui_plan *plan, const acu_op *op, acu_device *device, acu_tensor *dst,
                          acu_tensor *src, const acui_layout *layout);

/* Nodes that write an element's bits to all elements of a tensor on a device. */
acu_status acui_plan_fill(acui_plan *plan, const acu_op *op, acu_tensor *tensor, uint64_t bits);

/* Of the nodes behind `last` (NULL: all), small copies that are side by side become one launch of a
 * kernel, where they do not touch one another's data. */
acu_status acui_plan_join_copies(acui_plan *plan, const acu_op *op, acui_node *last);

#define ACUI_COPY_FAMILY "acuda.copy"

#endif
