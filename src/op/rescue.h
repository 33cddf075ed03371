/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the engine and the inference of values ask about or_else. */
#ifndef ACUI_OP_RESCUE_H
#define ACUI_OP_RESCUE_H

#include "op/op.h"

/* Whether the program wants the alternative of this op after `fault`. Calls the program's
 * function. */
bool acui_rescue_wanted(const acu_op *op, const acui_fault *fault);
/* Check that the other values can take the place of the first. Errors: ARGUMENTS, DTYPE, SHAPE,
 * NOT_SUPPORTED. */
acu_status acui_rescue_check(const acui_values *first, const acui_values *other);

#endif
