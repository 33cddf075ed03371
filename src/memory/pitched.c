/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images: rows at a pitch. */
#include "base/error.h"
#include "memory/memory.h"

/* A multiple of what textures and vector loads need, and of the share of a DRAM page that a row
 * usually has. */
#define PITCH ((size_t)512)

static acu_status check_image(acu_shape shape, acu_dtype dtype, size_t *row)
{
    char words[96];
    size_t bytes;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    if (acu_shape_elements(shape) == 0)
        return acui_fail(ACU_ERR_SHAPE, "an image of %s has no pixels",
                         acui_shape_words(shape, words));
    if (shape.rank != 2 && shape.rank != 3)
        return acui_fail(ACU_ERR_SHAPE, "an image is [height, width] or [height, width, channels], "
                         "not %s", acui_shape_words(shape, words));
    *row = bytes / (size_t)shape.dim[0];
    if (*row > SIZE_MAX / 2 - PITCH || (*row + PITCH) > (SIZE_MAX / 2) / (size_t)shape.dim[0])
        return acui_fail(ACU_ERR_SHAPE, "an image of %s has more bytes than 64 bits count",
                         acui_shape_words(shape, words));
    return ACU_OK;
}

acu_status acu_tensor_alloc_pitched(acu_device *device, acu_dtype dtype, acu_shape shape,
                                    acu_tensor **tensor)
{
    ACUI_CHECK(device, DEVICE);
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_alloc_pitched: nowhere to put the tensor");
    size_t row = 0, size = acu_dtype_bytes(dtype);
    ACUI_TRY(check_image(shape, dtype, &row));
    size_t pitch = (row + PITCH - 1) / PITCH * PITCH;
    acu_buffer *buffer;
    ACUI_TRY(acu_buffer_create(device, pitch * (size_t)shape.dim[0], &buffer));
    int64_t strides[ACU_MAX_RANK];
    acui_dense_strides(shape, strides);
    strides[0] = (int64_t)(pitch / size);
    acu_status status = acui_tensor_new(buffer, 0, dtype, shape, strides, tensor);
    acu_buffer_release(buffer);
    return status;
}

size_t acu_tensor_pitch(const acu_tensor *tensor)
{
    if (!acui_object_is(tensor, ACU_OBJECT_TENSOR))
        return 0;
    const acu_shape *shape = &tensor->shape;
    if (shape->rank != 2 && shape->rank != 3)
        return 0;
    int64_t dense = 1;
    for (int d = shape->rank - 1; d > 0; d--) {
        if (shape->dim[d] != 1 && tensor->strides[d] != dense)
            return 0;
        dense *= shape->dim[d];
    }
    int64_t row = shape->dim[0] == 1 ? dense : tensor->strides[0];
    return row < dense ? 0 : (size_t)row * acu_dtype_bytes(tensor->dtype);
}
