/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensors: dtype, shape and strides over a buffer. */
#include "memory/memory.h"

#include "base/error.h"
#include "base/rare.h"

#include <stdio.h>

/* ---- layout ---------------------------------------------------------------------------------- */

void acui_dense_strides(acu_shape shape, int64_t *strides)
{
    int64_t stride = 1;
    for (int d = shape.rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= shape.dim[d] ? shape.dim[d] : 1;
    }
}

/* The stride of a dimension with one element is never used, and may be anything. */
static bool is_dense(acu_shape shape, const int64_t *strides)
{
    int64_t dense[ACU_MAX_RANK];
    acui_dense_strides(shape, dense);
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] != 1 && strides[d] != dense[d])
            return false;
    return true;
}

/* Bytes from the start of the first element to the end of the last, of a tensor that is not empty;
 * 0 if the number does not fit. */
static uint64_t span(acu_dtype dtype, acu_shape shape, const int64_t *strides)
{
    int64_t last = 0, bytes = 0;
    for (int d = 0; d < shape.rank; d++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape.dim[d] - 1, strides[d], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return 0;
    }
    if (__builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, (int64_t)acu_dtype_bytes(dtype), &bytes))
        return 0;
    return (uint64_t)bytes;
}

/* The dimensions with more than one element, smallest stride first; returns how many. */
static int by_stride(const acu_tensor *t, int *order)
{
    int count = 0;
    for (int d = 0; d < t->shape.rank; d++) {
        if (t->shape.dim[d] == 1)
            continue;
        int i = count++;
        for (; i > 0 && t->strides[order[i - 1]] > t->strides[d]; i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    return count;
}

/* The distance that the elements cover along a dimension. */
static int64_t reach(const acu_tensor *t, int d)
{
    return (t->shape.dim[d] - 1) * t->strides[d];
}

/*
 * Whether two elements may share memory. They do not if, starting from the smallest stride, each
 * stride is larger than everything that the smaller ones cover together. That holds for everything
 * that slicing, permuting and reshaping make of a dense tensor.
 */
static bool may_repeat(const acu_tensor *t, const int *order, int count)
{
    int64_t reached = 0;
    for (int i = 0; i < count; i++) {
        if (t->strides[order[i]] <= reached)
            return true;
        reached += reach(t, order[i]);
    }
    return false;
}

static int64_t common_stride(const acu_tensor *t, const int *order, int count)
{
    int64_t common = 0;
    for (int i = 0; i < count; i++)
        for (int64_t stride = t->strides[order[i]]; stride;) {
            int64_t rest = common % stride;
            common = stride;
            stride = rest;
        }
    return common;
}

/*
 * Finds windows that contain all elements (extent.h): the width is what the smallest strides cover
 * without gaps, and the pitch is the common divisor of the others. Strides that do not fit widen
 * the window.
 */
static void find_windows(acu_tensor *t, const int *order, int count)
{
    int64_t width = 1, pitch = 0, size = (int64_t)acu_dtype_bytes(t->dtype);
    t->exact = true;
    while (count && t->strides[*order] <= width) {
        width += reach(t, *order++);
        count--;
    }
    while (count && (pitch = common_stride(t, order, count)) <= width) {
        width += reach(t, *order++);
        count--;
        t->exact = false;
    }
    for (int i = 0; i < count; i++)
        t->exact &= t->strides[order[i]] ==
                    (i ? t->strides[order[i - 1]] * t->shape.dim[order[i - 1]] : pitch);
    if (count && pitch <= UINT32_MAX / size) {
        t->pitch = (uint32_t)(pitch * size);
        t->width = (uint32_t)(width * size);
    } else {
        t->exact &= !count;
    }
}

static void find_gaps(acu_tensor *t)
{
    int order[ACU_MAX_RANK];
    t->dense = t->exact = t->empty || is_dense(t->shape, t->strides);
    if (t->dense)
        return;
    int count = by_stride(t, order);
    t->repeats = may_repeat(t, order, count);
    find_windows(t, order, count);
}

/* ---- making ---------------------------------------------------------------------------------- */

/*
 * An empty tensor has a place too, so that it has an address and an order behind what made it: one
 * byte, wherever it was cut out of, or the buffer's first where that is the end of the buffer.
 */
static void place_empty(acu_tensor *t)
{
    t->empty = true;
    t->span = 1;
    if (t->offset >= t->buffer->bytes)
        t->offset = 0;
}

acu_status acui_tensor_new(acu_buffer *buffer, size_t offset, acu_dtype dtype, acu_shape shape,
                           const int64_t *strides, acu_tensor **tensor)
{
    acu_tensor *t = acui_object_new(ACU_OBJECT_TENSOR, sizeof *t);
    if (!t)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a tensor");
    t->buffer = acu_buffer_retain(buffer);
    /* Relaxed: only the owning thread asks for sole ownership. */
    atomic_fetch_add_explicit(&buffer->tensors, 1, memory_order_relaxed);
    t->offset = offset;
    t->dtype = dtype;
    t->element_bytes = (uint8_t)acu_dtype_bytes(dtype);
    t->shape = shape;
    for (int d = 0; d < shape.rank; d++)
        t->strides[d] = strides[d];
    if (acu_shape_elements(shape) == 0)
        place_empty(t);
    else
        t->span = span(dtype, shape, strides);
    find_gaps(t);
    *tensor = t;
    return ACU_OK;
}

acu_status acui_tensor_again(const acu_tensor *tensor, acu_tensor **again)
{
    return acui_tensor_new(tensor->buffer, tensor->offset, tensor->dtype, tensor->shape,
                           tensor->strides, again);
}

/* The elements must lie in the buffer, aligned. */
static acu_status check_place(const acu_buffer *buffer, size_t offset, acu_dtype dtype,
                              acu_shape shape, const int64_t *strides)
{
    char words[96];
    for (int d = 0; d < shape.rank; d++)
        if (strides[d] < 0)
            return acui_fail(ACU_ERR_SHAPE, "the stride of dimension %d is %lld: strides are not "
                                            "negative",
                             d, (long long)strides[d]);
    uint64_t address = acui_buffer_base(buffer);
    if ((address + offset) % acu_dtype_bytes(dtype))
        return acui_fail(
            ACU_ERR_INVALID,
            "a tensor of %s can not start at byte %zu of a buffer at 0x%llx: elements of "
            "%zu bytes are aligned to their size",
            acu_dtype_name(dtype), offset, (unsigned long long)address, acu_dtype_bytes(dtype));
    bool empty = acu_shape_elements(shape) == 0;
    uint64_t bytes = empty ? 0 : span(dtype, shape, strides);
    if (bytes == 0 && !empty)
        return acui_fail(ACU_ERR_LIMIT, "a tensor of %s %s with these strides spans more bytes "
                                        "than 64 bits count",
                         acu_dtype_name(dtype), acui_shape_words(shape, words));
    if (offset > buffer->bytes || bytes > buffer->bytes - offset)
        return acui_fail(
            ACU_ERR_LIMIT,
            "a tensor of %s %s, %llu bytes from byte %zu on, does not fit into a buffer "
            "of %zu bytes",
            acu_dtype_name(dtype), acui_shape_words(shape, words), (unsigned long long)bytes,
            offset, buffer->bytes);
    return ACU_OK;
}

acu_status acu_tensor_create_strided(acu_buffer *buffer, size_t offset, acu_dtype dtype,
                                     acu_shape shape, const int64_t *strides, acu_tensor **tensor)
{
    ACUI_CHECK(buffer, BUFFER);
    if (!tensor || !strides)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_create_strided: %s",
                         tensor ? "the strides are NULL" : "nowhere to put the tensor");
    ACUI_TRY(acui_shape_check(shape, dtype, NULL));
    ACUI_TRY(check_place(buffer, offset, dtype, shape, strides));
    return acui_tensor_new(buffer, offset, dtype, shape, strides, tensor);
}

acu_status acu_tensor_create(acu_buffer *buffer, size_t offset, acu_dtype dtype, acu_shape shape,
                             acu_tensor **tensor)
{
    ACUI_CHECK(buffer, BUFFER);
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_create: nowhere to put the tensor");
    ACUI_TRY(acui_shape_check(shape, dtype, NULL));
    int64_t strides[ACU_MAX_RANK];
    acui_dense_strides(shape, strides);
    ACUI_TRY(check_place(buffer, offset, dtype, shape, strides));
    return acui_tensor_new(buffer, offset, dtype, shape, strides, tensor);
}

/* A dense tensor over the whole of a new buffer from `make`; the tensor is its only holder. */
static acu_status tensor_over(acu_status (*make)(acu_device *, size_t, acu_buffer **),
                              acu_device *device, acu_dtype dtype, acu_shape shape,
                              acu_tensor **tensor)
{
    size_t bytes = 0;
    ACUI_TRY(acui_shape_check(shape, dtype, &bytes));
    acu_buffer *buffer = NULL;
    ACUI_TRY(make(device, bytes ? bytes : acu_dtype_bytes(dtype), &buffer));
    int64_t strides[ACU_MAX_RANK];
    acui_dense_strides(shape, strides);
    acu_status st = acui_tensor_new(buffer, 0, dtype, shape, strides, tensor);
    acu_buffer_release(buffer);
    return st;
}

acu_status acui_tensor_planned(acu_device *device, acu_dtype dtype, acu_shape shape,
                               acu_tensor **tensor)
{
    return tensor_over(acui_buffer_planned, device, dtype, shape, tensor);
}

acu_status acu_tensor_alloc(acu_device *device, acu_dtype dtype, acu_shape shape,
                            acu_tensor **tensor)
{
    ACUI_CHECK(device, DEVICE);
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_alloc: nowhere to put the tensor");
    return tensor_over(acu_buffer_create, device, dtype, shape, tensor);
}

acu_status acu_tensor_alloc_pinned(acu_device *device, acu_dtype dtype, acu_shape shape,
                                   acu_tensor **tensor)
{
    ACUI_CHECK(device, DEVICE);
    if (!tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_tensor_alloc_pinned: nowhere to put the tensor");
    return tensor_over(acu_buffer_create_pinned, device, dtype, shape, tensor);
}

/* ---- ownership ------------------------------------------------------------------------------- */

bool acui_tensor_sole(const acu_tensor *tensor)
{
    const acu_buffer *buffer = tensor->buffer;
    uint32_t tensors = atomic_load_explicit(&buffer->tensors, memory_order_acquire);
    uint32_t lent = atomic_load_explicit(&buffer->lent, memory_order_acquire);
    return acui_object_refs(tensor) == 1 && tensors <= lent + 1;
}

acu_tensor *acu_tensor_retain(acu_tensor *tensor)
{
    if (acui_object_is(tensor, ACU_OBJECT_TENSOR))
        acui_object_retain(tensor);
    return tensor;
}

void acu_tensor_release(acu_tensor *tensor)
{
    if (!acui_object_is(tensor, ACU_OBJECT_TENSOR) || !acui_object_drop(tensor))
        return;
    acu_buffer *buffer = tensor->buffer;
    /* Release: what was done through this tensor happens before another tensor becomes sole
     * owner. */
    atomic_fetch_sub_explicit(&buffer->tensors, 1, memory_order_release);
    acui_object_free(tensor);
    acu_buffer_release(buffer);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool is_tensor(const acu_tensor *tensor)
{
    return acui_object_is(tensor, ACU_OBJECT_TENSOR);
}

acu_dtype acu_tensor_dtype(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? tensor->dtype : ACU_NO_DTYPE;
}

acu_shape acu_tensor_shape(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? tensor->shape : (acu_shape){0};
}

const int64_t *acu_tensor_strides(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? tensor->strides : NULL;
}

int64_t acu_tensor_elements(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? acu_shape_elements(tensor->shape) : 0;
}

size_t acu_tensor_bytes(const acu_tensor *tensor)
{
    if (!is_tensor(tensor))
        return 0;
    return (size_t)acu_shape_elements(tensor->shape) * acu_dtype_bytes(tensor->dtype);
}

bool acu_tensor_dense(const acu_tensor *tensor)
{
    return is_tensor(tensor) && tensor->dense;
}

bool acu_tensor_writable(const acu_tensor *tensor)
{
    return is_tensor(tensor) && !tensor->repeats && !tensor->buffer->read_only;
}

ACUI_RARE acu_status acui_tensor_refuse_write(const acu_tensor *tensor)
{
    char words[96];
    if (tensor->repeats)
        return acui_fail(ACU_ERR_SHARED,
                         "%s has elements that may share memory (its strides repeat some, as "
                         "acu_broadcast_to does), and can not be written",
                         acui_tensor_words(tensor, words));
    return acui_fail(ACU_ERR_SHARED, "%s is in memory that was lent for reading only",
                     acui_tensor_words(tensor, words));
}

acu_buffer *acu_tensor_buffer(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? tensor->buffer : NULL;
}

size_t acu_tensor_offset(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? tensor->offset : 0;
}

acu_device *acu_tensor_device(const acu_tensor *tensor)
{
    return is_tensor(tensor) ? tensor->buffer->device : NULL;
}

void *acu_tensor_host(const acu_tensor *tensor)
{
    char *host = is_tensor(tensor) ? acu_buffer_host(tensor->buffer) : NULL;
    return host ? host + tensor->offset : NULL;
}

CUdeviceptr acu_tensor_address(const acu_tensor *tensor)
{
    CUdeviceptr address = is_tensor(tensor) ? acu_buffer_address(tensor->buffer) : 0;
    return address ? address + tensor->offset : 0;
}

const char *acui_tensor_words(const acu_tensor *tensor, char *text)
{
    char shape[96];
    snprintf(text, 96, "%s %s", acu_dtype_name(tensor->dtype),
             acui_shape_words(tensor->shape, shape));
    return text;
}
