/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors and their views. */
#include "base/error.h"
#include "memory/memory.h"

#include <stdio.h>
#include <string.h>

static void dense_strides(acu_shape shape, int64_t *strides)
{
    int64_t next = 1;
    for (int d = shape.rank - 1; d >= 0; d--) {
        strides[d] = next;
        next *= shape.dim[d];
    }
}

static bool is_dense(acu_shape shape, const int64_t *strides)
{
    int64_t next = 1;
    for (int d = shape.rank - 1; d >= 0; d--) {
        if (shape.dim[d] != 1 && strides[d] != next)
            return false;
        next *= shape.dim[d];
    }
    return true;
}

/* One past the last element, counted from the first; -1 where it is no valid layout. */
static int64_t extent(acu_shape shape, const int64_t *strides)
{
    int64_t last = 0, step;
    for (int d = 0; d < shape.rank; d++)
        if (strides[d] < 0 || __builtin_mul_overflow(shape.dim[d] - 1, strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            return -1;
    return last == INT64_MAX ? -1 : last + 1;
}

/* All is checked; takes nothing but a reference to the buffer. */
static acu_status make(acu_buffer *buffer, size_t offset, acu_dtype dtype, acu_shape shape,
                       const int64_t *strides, acu_tensor **tensor)
{
    acu_tensor *t = acui_object_new(ACU_OBJECT_TENSOR, sizeof *t);
    if (!t)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a tensor");
    t->buffer = acu_buffer_retain(buffer);
    atomic_fetch_add_explicit(&buffer->tensors, 1, memory_order_relaxed);
    t->offset = offset;
    t->dtype = dtype;
    t->shape = shape;
    for (int d = shape.rank; d < ACU_MAX_RANK; d++)
        t->shape.dim[d] = 0;
    memcpy(t->strides, strides, (size_t)shape.rank * sizeof *strides);
    t->dense = is_dense(shape, strides);
    *tensor = t;
    return ACU_OK;
}

acu_status acu_tensor_create_strided(acu_buffer *buffer, size_t offset, acu_dtype dtype,
                                     acu_shape shape, const int64_t *strides, acu_tensor **tensor)
{
    ACUI_CHECK(buffer, BUFFER);
    if (!tensor || !strides)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_create_strided: strides or result is NULL");
    ACUI_TRY(acui_shape_check(shape, dtype, NULL));
    char words[96];
    size_t element = acu_dtype_bytes(dtype);
    if (offset % element)
        return acui_fail(ACU_ERR_INVALID, "offset %zu is no multiple of %zu, the size of %s", offset,
                         element, acu_dtype_name(dtype));
    int64_t elements = extent(shape, strides);
    size_t bytes;
    if (elements < 0 || __builtin_mul_overflow((size_t)elements, element, &bytes))
        return acui_fail(ACU_ERR_SHAPE, "the strides of %s are negative or too large",
                         acui_shape_words(shape, words));
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return acui_fail(ACU_ERR_LIMIT, "%s %s needs %zu bytes from %zu on, the buffer has %zu",
                         acu_dtype_name(dtype), acui_shape_words(shape, words), bytes, offset,
                         buffer->bytes);
    return make(buffer, offset, dtype, shape, strides, tensor);
}

acu_status acu_tensor_create(acu_buffer *buffer, size_t offset, acu_dtype dtype, acu_shape shape,
                             acu_tensor **tensor)
{
    int64_t strides[ACU_MAX_RANK] = {0};
    ACUI_TRY(acui_shape_check(shape, dtype, NULL));
    dense_strides(shape, strides);
    return acu_tensor_create_strided(buffer, offset, dtype, shape, strides, tensor);
}

/* A dense tensor over a buffer whose reference it takes, on failure too. */
static acu_status over(acu_buffer *buffer, acu_dtype dtype, acu_shape shape, acu_tensor **tensor)
{
    acu_status status = acu_tensor_create(buffer, 0, dtype, shape, tensor);
    acu_buffer_release(buffer);
    return status;
}

acu_status acui_tensor_planned(acu_device *device, acu_dtype dtype, acu_shape shape,
                               acu_tensor **tensor)
{
    size_t bytes;
    acu_buffer *buffer;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    ACUI_TRY(acui_buffer_planned(device, bytes, &buffer));
    return over(buffer, dtype, shape, tensor);
}

acu_status acu_tensor_alloc(acu_device *device, acu_dtype dtype, acu_shape shape,
                            acu_tensor **tensor)
{
    size_t bytes;
    acu_buffer *buffer;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    ACUI_TRY(acu_buffer_create(device, bytes, &buffer));
    return over(buffer, dtype, shape, tensor);
}

acu_status acu_tensor_alloc_pinned(acu_device *device, acu_dtype dtype, acu_shape shape,
                                   acu_tensor **tensor)
{
    size_t bytes;
    acu_buffer *buffer;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    ACUI_TRY(acu_buffer_create_pinned(device, bytes, &buffer));
    return over(buffer, dtype, shape, tensor);
}

acu_status acu_tensor_slice(acu_tensor *tensor, const int64_t *start, const int64_t *end,
                            acu_tensor **view)
{
    ACUI_CHECK(tensor, TENSOR);
    if (!start || !end || !view)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_slice: start, end or result is NULL");
    acu_shape shape = tensor->shape;
    int64_t first = 0;
    char words[96];
    for (int d = 0; d < shape.rank; d++) {
        if (start[d] < 0 || end[d] > shape.dim[d] || start[d] >= end[d])
            return acui_fail(ACU_ERR_SHAPE, "elements %lld to %lld of dimension %d of %s",
                             (long long)start[d], (long long)end[d], d,
                             acui_tensor_words(tensor, words));
        shape.dim[d] = end[d] - start[d];
        first += start[d] * tensor->strides[d];
    }
    size_t offset = tensor->offset + (size_t)first * acu_dtype_bytes(tensor->dtype);
    return make(tensor->buffer, offset, tensor->dtype, shape, tensor->strides, view);
}

acu_status acu_tensor_reshape(acu_tensor *tensor, acu_shape shape, acu_tensor **view)
{
    ACUI_CHECK(tensor, TENSOR);
    if (!view)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_reshape: nowhere to put the view");
    char words[96], wanted[96];
    acui_tensor_words(tensor, words);
    if (!tensor->dense)
        return acui_fail(ACU_ERR_SHAPE, "%s has gaps and can not be reshaped", words);
    if (acu_shape_elements(shape) != acu_tensor_elements(tensor))
        return acui_fail(ACU_ERR_SHAPE, "%s can not be reshaped to %s: other number of elements",
                         words, acui_shape_words(shape, wanted));
    int64_t strides[ACU_MAX_RANK] = {0};
    dense_strides(shape, strides);
    return make(tensor->buffer, tensor->offset, tensor->dtype, shape, strides, view);
}

/* ---- looking ---- */

void acui_tensor_range(const acu_tensor *tensor, uint64_t *begin, uint64_t *end)
{
    *begin = tensor->offset;
    *end = tensor->offset +
           (uint64_t)extent(tensor->shape, tensor->strides) * acu_dtype_bytes(tensor->dtype);
}

bool acui_tensor_sole(const acu_tensor *tensor)
{
    const acu_buffer *buffer = tensor->buffer;
    uint32_t lent = atomic_load_explicit(&buffer->lent, memory_order_acquire);
    return acui_object_refs(tensor) == 1 &&
           atomic_load_explicit(&buffer->tensors, memory_order_acquire) == 1 + lent;
}

const char *acui_tensor_words(const acu_tensor *tensor, char *text)
{
    int at = snprintf(text, 96, "%s ", acu_dtype_name(tensor->dtype));
    char shape[96];
    snprintf(text + at, 96 - (size_t)at, "%.*s", 95 - at, acui_shape_words(tensor->shape, shape));
    return text;
}

static bool live(const acu_tensor *tensor)
{
    return acui_object_is(tensor, ACU_OBJECT_TENSOR);
}

acu_dtype acu_tensor_dtype(const acu_tensor *tensor)
{
    return live(tensor) ? tensor->dtype : ACU_NO_DTYPE;
}

acu_shape acu_tensor_shape(const acu_tensor *tensor)
{
    return live(tensor) ? tensor->shape : (acu_shape){0};
}

const int64_t *acu_tensor_strides(const acu_tensor *tensor)
{
    return live(tensor) ? tensor->strides : NULL;
}

int64_t acu_tensor_elements(const acu_tensor *tensor)
{
    return live(tensor) ? acu_shape_elements(tensor->shape) : 0;
}

size_t acu_tensor_bytes(const acu_tensor *tensor)
{
    return (size_t)acu_tensor_elements(tensor) * acu_dtype_bytes(acu_tensor_dtype(tensor));
}

bool acu_tensor_dense(const acu_tensor *tensor)
{
    return live(tensor) && tensor->dense;
}

acu_buffer *acu_tensor_buffer(const acu_tensor *tensor)
{
    return live(tensor) ? tensor->buffer : NULL;
}

acu_device *acu_tensor_device(const acu_tensor *tensor)
{
    return live(tensor) ? tensor->buffer->device : NULL;
}

void *acu_tensor_host(const acu_tensor *tensor)
{
    return live(tensor) && tensor->buffer->host ? (char *)tensor->buffer->host + tensor->offset
                                                : NULL;
}

CUdeviceptr acu_tensor_address(const acu_tensor *tensor)
{
    CUdeviceptr address = live(tensor) ? acu_buffer_address(tensor->buffer) : 0;
    return address ? address + tensor->offset : 0;
}

acu_tensor *acu_tensor_retain(acu_tensor *tensor)
{
    return acui_object_retain(tensor);
}

void acu_tensor_release(acu_tensor *tensor)
{
    if (!live(tensor) || !acui_object_drop(tensor))
        return;
    acu_buffer *buffer = tensor->buffer;
    atomic_fetch_sub_explicit(&buffer->tensors, 1, memory_order_release);
    acui_object_free(tensor);
    acu_buffer_release(buffer);
}
