/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What describe.c, which walks over an op that is not submitted, and infer.c, which knows what each
 * kind of op yields, offer each other.
 */
#ifndef ACUI_OP_DESCRIBE_H
#define ACUI_OP_DESCRIBE_H

#include "op/op.h"

typedef struct acui_infer acui_infer;

/* What `op` would yield on `fallback`; the op stays as it is. Appends to `values`; tensors among
 * the values are stand-ins, over buffers that never get memory. */
acu_status acui_infer_op(acui_infer *infer, acu_op *op, acu_device *fallback, acui_values *values);
/* acui_infer_op for an op that must yield one value. */
acu_status acui_infer_one(acui_infer *infer, acu_op *op, acu_device *fallback, const char *what,
                          acu_val *value);
/* The value of a part of an op that was unzipped. */
acu_status acui_infer_part(acui_infer *infer, const acu_op *part, acu_device *fallback,
                           acui_values *values);
/* Replaces the value's tensor by a stand-in. */
acu_status acui_infer_tensor(acui_infer *infer, acu_val *value);
/* Whether something was found that is not known before the op is submitted. */
bool acui_infer_is_unknown(const acui_infer *infer);
/* Where new memory of the kind comes from; *NULL: from the device's own pool. */
acu_pool **acui_infer_pool(acui_infer *infer, acu_memory_kind kind);
/* Appends a copy of the value with a stand-in for its tensor. */
acu_status acui_infer_stand_in(acui_infer *infer, const acu_val *value, acui_values *values);

/* How a kind of op is inferred; `fallback` and `values` as above. NULL: only a submission finds
 * out. */
typedef acu_status (*acui_infer_fn)(acui_infer *infer, acu_op *op, acu_device *fallback,
                                    acui_values *values);
acui_infer_fn acui_infer_of(const acui_op_class *class);

#endif
