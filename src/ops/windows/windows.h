/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What operations with a window share. */
#ifndef ACUI_OPS_WINDOWS_H
#define ACUI_OPS_WINDOWS_H

#include "ops/ops.h"

#include "ops/windows/params.h"

#include <acuda/convolution.h>

/* Operand 0: floating point, [batch, channels, length] or [batch, channels, height, width]. NULL:
 * it is not; *failed says so. */
const acu_tensor *acui_window_operand(acu_planning *p, const char *name, acu_op **failed);
/* The options with their defaults, for windows of `rank` dimensions; NULL, or what is wrong. */
acu_op *acui_window_options(const char *name, const acu_window_options *given,
                            acu_window_options *o, acu_site site);
/* Fills in the window over operand 0, and the shape of what it gives, without its channels. NULL,
 * or the refusal. */
acu_op *acui_window_over(acu_planning *p, const char *name, acui_window *w,
                         const acu_window_options *o, const int64_t *window, acu_shape *shape);
/* Strides of four dimensions; of a dense tensor of `shape` if there is none. */
void acui_window_strides(long long stride[4], const acu_tensor *tensor, acu_shape shape);
/* The index over the four dimensions of a result. */
void acui_window_index(acui_index *index, acu_shape shape);

#endif
