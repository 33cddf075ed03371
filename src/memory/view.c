/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Views: other tensors over the same storage. */
#include "base/error.h"
#include "memory/tensor.h"

acu_status acu_tensor_slice(acu_tensor *tensor, const int64_t *start, const int64_t *end,
                            acu_tensor **view)
{
    ACUI_CHECK(tensor, TENSOR);
    if (!start || !end || !view)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_slice: %s is NULL",
                         !start ? "start" : !end ? "end" : "the place for the view");
    acu_shape shape = {.rank = tensor->shape.rank};
    size_t size = acu_dtype_bytes(tensor->dtype), offset = tensor->offset;
    for (int d = 0; d < shape.rank; d++) {
        if (start[d] < 0 || start[d] >= end[d] || end[d] > tensor->shape.dim[d])
            return acui_fail(ACU_ERR_SHAPE,
                             "a slice from %lld to %lld of dimension %d, which has %lld elements",
                             (long long)start[d], (long long)end[d], d,
                             (long long)tensor->shape.dim[d]);
        shape.dim[d] = end[d] - start[d];
        offset += (size_t)(start[d] * tensor->strides[d]) * size;
    }
    return acui_tensor_new(tensor->buffer, offset, tensor->dtype, shape, tensor->strides, view);
}

acu_status acu_tensor_reshape(acu_tensor *tensor, acu_shape shape, acu_tensor **view)
{
    ACUI_CHECK(tensor, TENSOR);
    if (!view)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_reshape: nowhere to put the view");
    ACUI_TRY(acui_shape_check(shape, tensor->dtype, NULL));
    char from[96], to[96];
    if (acu_shape_elements(shape) != acu_shape_elements(tensor->shape))
        return acui_fail(ACU_ERR_SHAPE, "%s has %lld elements, %s has %lld",
                         acui_shape_words(tensor->shape, from),
                         (long long)acu_shape_elements(tensor->shape), acui_shape_words(shape, to),
                         (long long)acu_shape_elements(shape));
    if (!tensor->dense)
        return acui_fail(ACU_ERR_SHAPE,
                         "%s lies in memory with gaps, and can not be seen as %s: copy it first "
                         "(acu_dup)",
                         acui_tensor_words(tensor, from), acui_shape_words(shape, to));
    int64_t strides[ACU_MAX_RANK];
    acui_dense_strides(shape, strides);
    return acui_tensor_new(tensor->buffer, tensor->offset, tensor->dtype, shape, strides, view);
}
