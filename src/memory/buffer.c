/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Buffers: making, wrapping and freeing storage. */
#include "base/error.h"
#include "driver/result.h"
#include "memory/blocks.h"
#include "memory/memory.h"

static acu_buffer *new_buffer(acu_device *device, acu_memory_kind kind, size_t bytes)
{
    acu_buffer *buffer = acui_object_new(ACU_OBJECT_BUFFER, sizeof *buffer);
    if (!buffer) {
        acui_fail(ACU_ERR_NO_MEMORY, "no memory for a buffer");
        return NULL;
    }
    buffer->device = acu_device_retain(device);
    buffer->kind = kind;
    buffer->bytes = bytes;
    return buffer;
}

static void set_address(acu_buffer *buffer, CUdeviceptr address)
{
    /* Release: who sees the address may use the memory behind it. */
    atomic_store_explicit(&buffer->address, address, memory_order_release);
}

static CUdeviceptr get_address(const acu_buffer *buffer)
{
    return atomic_load_explicit(&buffer->address, memory_order_acquire);
}

/* ---- device memory ---- */

acu_status acui_buffer_planned(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    *buffer = new_buffer(device, ACU_MEMORY_DEVICE, bytes);
    return *buffer ? ACU_OK : ACU_ERR_NO_MEMORY;
}

/* Says in numbers what was asked and what there is. */
static acu_status out_of_memory(acu_device *device, acu_driver_call call, unsigned result,
                                size_t bytes)
{
    size_t free_bytes = 0, total = 0;
    if (device->cu->MemGetInfo(&free_bytes, &total) != ACU_CUDA_SUCCESS)
        return acui_fail_driver(call, result, "allocating %zu bytes of device memory", bytes);
    return acui_fail_driver(call, result,
                            "allocating %zu bytes of device memory, with %zu of %zu bytes free",
                            bytes, free_bytes, total);
}

static acu_status allocation_result(acu_device *device, acu_driver_call call, unsigned result,
                                    size_t bytes)
{
    if (result == ACU_CUDA_SUCCESS)
        return ACU_OK;
    if (result == ACU_CUDA_ERROR_OUT_OF_MEMORY)
        return out_of_memory(device, call, result, bytes);
    acu_status status =
        acui_fail_driver(call, result, "allocating %zu bytes of device memory", bytes);
    if (acu_status_scope(status) == ACU_SCOPE_DEVICE)
        acui_device_lose(device);
    return status;
}

acu_status acui_buffer_allocate(acu_buffer *buffer, acu_stream *stream)
{
    acu_device *device = buffer->device;
    CUdeviceptr address = 0;
    unsigned result;
    if (device->pool) {
        result = device->cu->MemAllocFromPoolAsync(&address, buffer->bytes, device->pool,
                                                   stream->raw);
        ACUI_TRY(allocation_result(device, ACU_CALL_MemAllocFromPoolAsync, result, buffer->bytes));
        buffer->stream = acu_stream_retain(stream);
    } else {
        result = device->cu->MemAlloc(&address, buffer->bytes);
        ACUI_TRY(allocation_result(device, ACU_CALL_MemAlloc, result, buffer->bytes));
    }
    set_address(buffer, address);
    return ACU_OK;
}

/* Allocate on the stream that has no other work, so that looking for its end is no wait. */
static acu_status allocate_now(acu_buffer *buffer)
{
    acu_device *device = buffer->device;
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    pthread_mutex_lock(&device->alloc->issue);
    acu_status status = acui_buffer_allocate(buffer, device->alloc);
    if (status == ACU_OK && device->pool)
        status = ACUI_DEV(device, StreamSynchronize, device->alloc->raw);
    pthread_mutex_unlock(&device->alloc->issue);
    acui_leave(&entered);
    return status;
}

static acu_status check_new(acu_device *device, size_t bytes, acu_buffer **buffer,
                            const char *function)
{
    ACUI_TRY(acui_object_check(device, ACU_OBJECT_DEVICE, function));
    if (!buffer)
        return acui_fail(ACU_ERR_INVALID, "%s: nowhere to put the buffer", function);
    if (bytes == 0)
        return acui_fail(ACU_ERR_INVALID, "%s: a buffer of 0 bytes", function);
    return acui_device_check(device);
}

acu_status acu_buffer_create(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_new(device, bytes, buffer, __func__));
    acu_buffer *made;
    ACUI_TRY(acui_buffer_planned(device, bytes, &made));
    acu_status status = allocate_now(made);
    if (status != ACU_OK) {
        acu_error record = *acui_error();
        acu_buffer_release(made);
        return acui_error_restore(&record);
    }
    *buffer = made;
    return ACU_OK;
}

/* ---- host memory ---- */

acu_status acu_buffer_create_pinned(acu_device *device, size_t bytes, acu_buffer **buffer)
{
    ACUI_TRY(check_new(device, bytes, buffer, __func__));
    acu_buffer *made = new_buffer(device, ACU_MEMORY_PINNED, bytes);
    if (!made)
        return ACU_ERR_NO_MEMORY;
    acui_entered entered;
    CUdeviceptr address = 0;
    acu_status status = acui_enter(device, &entered);
    if (status == ACU_OK) {
        status = acui_block_get(device, bytes, &made->host, &address);
        acui_leave(&entered);
    }
    if (status != ACU_OK) {
        acu_buffer_release(made);
        return status;
    }
    set_address(made, address);
    *buffer = made;
    return ACU_OK;
}

static acu_status register_host(acu_buffer *buffer, void *memory)
{
    const acu_driver_table *cu = buffer->device->cu;
    CUdeviceptr address = 0;
    acui_entered entered;
    ACUI_TRY(acui_enter(buffer->device, &entered));
    acu_status status =
        ACUI_CU(cu, MemHostRegister,
                (memory, buffer->bytes,
                 ACU_CU_MEMHOSTREGISTER_PORTABLE | ACU_CU_MEMHOSTREGISTER_DEVICEMAP),
                "page-locking %zu bytes of the program's memory", buffer->bytes);
    buffer->registered = status == ACU_OK;
    if (status == ACU_OK) {
        buffer->host = memory;
        status = ACUI_CU(cu, MemHostGetDevicePointer, (&address, memory, 0),
                         "the device's address of the program's memory");
    }
    acui_leave(&entered);
    set_address(buffer, address);
    return status;
}

/* Common part of wrapping: the user's release is due from here on, also when this fails. */
static acu_status wrap(acu_device *device, acu_memory_kind kind, bool has_memory, size_t bytes,
                       acu_user user, acu_buffer **buffer, acu_buffer **made,
                       const char *function)
{
    acu_status status = check_new(device, bytes, buffer, function);
    if (status == ACU_OK && !has_memory)
        status = acui_fail(ACU_ERR_INVALID, "%s: the memory is NULL", function);
    if (status == ACU_OK) {
        *made = new_buffer(device, kind, bytes);
        status = *made ? ACU_OK : ACU_ERR_NO_MEMORY;
    }
    if (status == ACU_OK)
        (*made)->user = user;
    else if (user.release)
        user.release(user.data);
    return status;
}

acu_status acu_buffer_wrap_host(acu_device *device, void *memory, size_t bytes, acu_user user,
                                acu_buffer **buffer)
{
    acu_buffer *made;
    ACUI_TRY(wrap(device, ACU_MEMORY_HOST, memory != NULL, bytes, user, buffer, &made, __func__));
    acu_status status = register_host(made, memory);
    if (status != ACU_OK) {
        acu_buffer_release(made);
        return status;
    }
    *buffer = made;
    return ACU_OK;
}

acu_status acu_buffer_wrap_device(acu_device *device, CUdeviceptr memory, size_t bytes,
                                  acu_user user, acu_buffer **buffer)
{
    acu_buffer *made;
    ACUI_TRY(wrap(device, ACU_MEMORY_FOREIGN, memory != 0, bytes, user, buffer, &made, __func__));
    set_address(made, memory);
    *buffer = made;
    return ACU_OK;
}

/* ---- freeing: nothing in flight uses the memory any more ---- */

static void free_device_memory(acu_buffer *buffer)
{
    acui_entered entered;
    CUdeviceptr address = get_address(buffer);
    if (!address)
        return;
    if (acui_enter_to_free(buffer->device, &entered)) {
        if (buffer->stream)
            buffer->device->cu->MemFreeAsync(address, buffer->stream->raw);
        else
            buffer->device->cu->MemFree(address);
    }
    acui_leave(&entered);
}

static void free_registration(acu_buffer *buffer)
{
    acui_entered entered;
    if (acui_enter_to_free(buffer->device, &entered))
        buffer->device->cu->MemHostUnregister(buffer->host);
    acui_leave(&entered);
}

void acu_buffer_release(acu_buffer *buffer)
{
    if (!acui_object_is(buffer, ACU_OBJECT_BUFFER) || !acui_object_drop(buffer))
        return;
    if (buffer->kind == ACU_MEMORY_DEVICE)
        free_device_memory(buffer);
    else if (buffer->kind == ACU_MEMORY_PINNED && buffer->host)
        acui_block_put(buffer->device, buffer->host, buffer->bytes);
    else if (buffer->registered)
        free_registration(buffer);
    acui_accesses_clear(&buffer->accesses);
    acu_stream_release(buffer->stream);
    acu_device *device = buffer->device;
    acu_user user = buffer->user;
    acui_object_free(buffer);
    acu_device_release(device);
    if (user.release)
        user.release(user.data);
}

/* ---- looking ---- */

acu_buffer *acu_buffer_retain(acu_buffer *buffer)
{
    return acui_object_retain(buffer);
}

size_t acu_buffer_bytes(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->bytes : 0;
}

acu_memory_kind acu_buffer_kind(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->kind : ACU_MEMORY_DEVICE;
}

acu_device *acu_buffer_device(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->device : NULL;
}

void *acu_buffer_host(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? buffer->host : NULL;
}

CUdeviceptr acu_buffer_address(const acu_buffer *buffer)
{
    return acui_object_is(buffer, ACU_OBJECT_BUFFER) ? get_address(buffer) : 0;
}
