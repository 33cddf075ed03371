/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What others ask of or_else. */
#ifndef ACUI_OP_RESCUE_H
#define ACUI_OP_RESCUE_H

#include "op/op.h"

/* Whether the program wants the alternative of this op, `fault` having happened. Calls the
 * program's function. */
bool acui_rescue_wanted(const acu_op *op, const acui_fault *fault);
/* Whether the other values can take the place of the first: ARGUMENTS, DTYPE, SHAPE,
 * NOT_SUPPORTED. */
acu_status acui_rescue_check(const acui_values *first, const acui_values *other);

#endif
