/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between tensors and views of them. */
#ifndef ACUI_MEMORY_TENSOR_H
#define ACUI_MEMORY_TENSOR_H

#include "memory/memory.h"

/* Row-major strides without gaps, for a valid shape. */
void acui_dense_strides(acu_shape shape, int64_t *strides);

#endif
