/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * DLPack import: others' tensors as acuda's.
 *
 * The last use of a tensor may end anywhere, including on a thread of acuda's, where a deleter that
 * wants an interpreter's lock would hold up everything. So the end of the last use only puts the
 * struct on a list, and a thread of the program empties that list.
 */
#include "adapters/dlpack.h"

#include "base/alloc.h"
#include "base/error.h"
#include "engine/submit/submit.h"

typedef struct imported {
    struct DLManagedTensorVersioned *managed;
    struct imported *next;
} imported;

/* ---- deleters -------------------------------------------------------------------------------- */

static _Atomic(imported *) over; /* a stack: any thread pushes, one takes it whole */

static void put_aside(void *data)
{
    imported *i = data;
    i->next = atomic_load_explicit(&over, memory_order_relaxed);
    /* Release: whoever takes it sees its contents. */
    while (!atomic_compare_exchange_weak_explicit(&over, &i->next, i, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

size_t acu_dlpack_drain(void)
{
    size_t count = 0;
    if (!atomic_load_explicit(&over, memory_order_relaxed) || acui_forked())
        return 0;
    imported *list = atomic_exchange_explicit(&over, NULL, memory_order_acquire);
    while (list) {
        imported *i = list;
        list = i->next;
        acu_dlpack_release(i->managed);
        acui_free(i);
        count++;
    }
    return count;
}

/* ---- the tensor ------------------------------------------------------------------------------ */

static acu_status check_shape(const acui_dl_tensor *from, acu_dtype dtype, acu_shape *shape,
                              int64_t *strides)
{
    if (from->rank < 0 || from->rank > ACU_MAX_RANK || (from->rank > 0 && !from->shape))
        return acui_fail(ACU_ERR_SHAPE, "a DLPack tensor of %d dimensions%s; there are at most %d",
                         from->rank, from->shape ? "" : " without a shape", ACU_MAX_RANK);
    shape->rank = from->rank;
    for (int d = 0; d < from->rank; d++)
        shape->dim[d] = from->shape[d];
    ACUI_TRY(acui_shape_check(*shape, dtype, NULL));
    int64_t dense = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        strides[d] = from->strides ? from->strides[d] : dense;
        if (strides[d] < 0 && shape->dim[d] > 1)
            return acui_fail(ACU_ERR_SHAPE,
                             "dimension %d of a DLPack tensor has a stride of %lld: strides "
                             "are not negative; copy it on the other side first",
                             d, (long long)strides[d]);
        strides[d] = shape->dim[d] > 1 ? strides[d] : dense;
        dense *= shape->dim[d] ? shape->dim[d] : 1;
    }
    return ACU_OK;
}

/* Counts the bytes from the first element's first byte to the last element's last. */
static acu_status count_bytes(acu_shape shape, const int64_t *strides, acu_dtype dtype,
                              size_t *bytes)
{
    int64_t last = 0, reach, all;
    for (int d = 0; d < shape.rank; d++)
        if (__builtin_mul_overflow(shape.dim[d] - 1, strides[d], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return acui_fail(ACU_ERR_SHAPE,
                             "a DLPack tensor that reaches further than 64 bits count");
    if (__builtin_add_overflow(last, 1, &last) ||
        __builtin_mul_overflow(last, (int64_t)acu_dtype_bytes(dtype), &all))
        return acui_fail(ACU_ERR_SHAPE, "a DLPack tensor that reaches further than 64 bits count");
    *bytes = (size_t)all;
    return ACU_OK;
}

static acu_status refuse_device(const acu_device *device, const acui_dl_tensor *from)
{
    return acui_fail(
        ACU_ERR_DEVICE,
        "the DLPack tensor is in memory of device type %d, number %d; acuda's device is %s %d",
        from->device.type, from->device.id,
        device->info.software ? "a software device, number" : "CUDA's number",
        device->info.ordinal);
}

static bool is_on(const acu_device *device, const acui_dl_tensor *from)
{
    bool software = from->device.type == ACUI_DL_EXTENSION;
    bool gpu = from->device.type == ACUI_DL_CUDA || from->device.type == ACUI_DL_CUDA_MANAGED;
    return from->device.id == device->info.ordinal && (device->info.software ? software : gpu);
}

static acu_status wrap(acu_device *device, const acui_dl_tensor *from, size_t bytes,
                       acu_buffer **buffer)
{
    char *data = (char *)from->data + from->byte_offset;
    acu_user none = {.data = NULL};
    switch (from->device.type) {
    case ACUI_DL_CPU:
        return acu_buffer_wrap_pageable(device, data, bytes, none, buffer);
    case ACUI_DL_CUDA_HOST:
        return acu_buffer_wrap_host(device, data, bytes, none, buffer);
    case ACUI_DL_CUDA:
    case ACUI_DL_CUDA_MANAGED:
        if (!is_on(device, from))
            return refuse_device(device, from);
        return acu_buffer_wrap_device(device, (CUdeviceptr)data, bytes, none, buffer);
    case ACUI_DL_EXTENSION:
        if (!is_on(device, from))
            return refuse_device(device, from);
        return acu_buffer_wrap_device(device, (CUdeviceptr)data, bytes, none, buffer);
    default:
        return acui_fail(
            ACU_ERR_NOT_SUPPORTED,
            "a DLPack tensor in memory of device type %d, number %d: of host (1, 3), CUDA (2) "
            "and managed memory (13) acuda knows",
            from->device.type, from->device.id);
    }
}

/* Orders acuda's work on the memory behind what is on the stream now. */
static acu_status order(acu_device *device, acu_buffer *buffer, size_t bytes, intptr_t number)
{
    acu_stream *stream;
    ACUI_TRY(acui_dl_stream(device, number, "acu_dlpack_import", &stream));
    if (!stream)
        return ACU_OK;
    acu_tensor *all = NULL;
    acu_status status = acu_tensor_create(buffer, 0, ACU_U8, ACU_SHAPE((int64_t)bytes), &all);
    acu_arg arg = acu_arg_tensor(all, ACU_WRITE);
    if (status == ACU_OK)
        status = acui_stream_used(stream, &arg, ACU_SITE, "acu_dlpack_import");
    acu_tensor_release(all);
    acu_stream_release(stream);
    return status;
}

/* An empty tensor, whose address may be NULL, gets memory of acuda's; the struct is over at
 * once. */
static acu_status import_empty(acu_device *device, const acui_dl_tensor *from, acu_dtype dtype,
                               acu_shape shape, imported *i, acu_tensor **tensor)
{
    static _Alignas(16) char nothing[16]; /* never read or written */
    acu_buffer *buffer = NULL;
    acui_dl_tensor somewhere = *from;
    somewhere.data = nothing;
    somewhere.byte_offset = 0;
    bool host = from->device.type == ACUI_DL_CPU || from->device.type == ACUI_DL_CUDA_HOST;
    if (host)
        somewhere.device.type = ACUI_DL_CPU;
    acu_status status = host || !is_on(device, from)
                            ? wrap(device, &somewhere, acu_dtype_bytes(dtype), &buffer)
                            : acu_buffer_create(device, acu_dtype_bytes(dtype), &buffer);
    if (status == ACU_OK)
        status = acu_tensor_create(buffer, 0, dtype, shape, tensor);
    acu_buffer_release(buffer);
    if (status == ACU_OK)
        put_aside(i);
    return status;
}

static acu_status import(acu_device *device, struct DLManagedTensorVersioned *managed,
                         intptr_t stream, imported *i, acu_tensor **tensor)
{
    const acui_dl_tensor *from = &managed->tensor;
    acu_dtype dtype = acui_dl_dtype(from, managed->flags);
    if (dtype == ACU_NO_DTYPE)
        return acui_fail(ACU_ERR_DTYPE,
                         "DLPack's element type %u of %u bits in %u lanes%s is none of acuda's",
                         from->dtype.code, from->dtype.bits, from->dtype.lanes,
                         managed->flags & ACUI_DL_PADDED ? ", padded to bytes," : "");
    acu_shape shape;
    int64_t strides[ACU_MAX_RANK];
    size_t bytes = 0;
    acu_buffer *buffer = NULL;
    ACUI_TRY(check_shape(from, dtype, &shape, strides));
    if (acu_shape_elements(shape) == 0)
        return import_empty(device, from, dtype, shape, i, tensor);
    ACUI_TRY(count_bytes(shape, strides, dtype, &bytes));
    ACUI_TRY(wrap(device, from, bytes, &buffer));
    acu_status status = acu_tensor_create_strided(buffer, 0, dtype, shape, strides, tensor);
    if (status == ACU_OK)
        status = order(device, buffer, bytes, stream);
    if (status == ACU_OK) { /* nobody else can have the buffer yet */
        buffer->read_only = managed->flags & ACUI_DL_READ_ONLY;
        buffer->user = (acu_user){.data = i, .release = put_aside};
    } else {
        acu_tensor_release(*tensor);
    }
    acu_buffer_release(buffer);
    return status;
}

acu_status acu_dlpack_import(acu_device *device, struct DLManagedTensorVersioned *managed,
                             intptr_t stream, acu_tensor **tensor)
{
    acu_dlpack_drain();
    ACUI_CHECK(device, DEVICE);
    if (!managed || !tensor)
        return acui_fail(ACU_ERR_INVALID, "acu_dlpack_import: %s is NULL",
                         managed ? "the place for the tensor" : "the DLPack tensor");
    ACUI_TRY(acui_dl_check(managed));
    imported *i = ACUI_NEW(imported);
    if (!i)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a DLPack tensor");
    i->managed = managed;
    acu_tensor *made = NULL;
    acu_status status = import(device, managed, stream, i, &made);
    if (status == ACU_OK)
        *tensor = made;
    else
        acui_free(i);
    return status;
}
