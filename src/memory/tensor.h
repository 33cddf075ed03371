/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Between tensors and views of them. */
#ifndef ACUI_MEMORY_TENSOR_H
#define ACUI_MEMORY_TENSOR_H

#include "memory/memory.h"

/* Row-major without gaps; a valid shape. */
void acui_dense_strides(acu_shape shape, int64_t *strides);

/* A tensor whose elements are known to lie in the buffer. */
acu_status acui_tensor_new(acu_buffer *buffer, size_t offset, acu_dtype dtype, acu_shape shape,
                           const int64_t *strides, acu_tensor **tensor);

#endif
