/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Device memory of buffers: from the device's pool in stream order, or in blocks without a pool. */
#include "memory/allocate.h"

#include "base/error.h"
#include "driver/result.h"
#include "memory/blocks.h"

#include <stdio.h>

/* Out of device memory, in numbers; the driver's call and code stay in the record. */
static acu_status say_how_much(acu_device *device, acu_status status, size_t bytes)
{
    if (status != ACU_ERR_DEVICE_MEMORY)
        return status;
    acu_error error = *acui_error();
    size_t left = 0, total = 0;
    if (acu_device_memory(device, &left, &total) == ACU_OK)
        snprintf(error.message, sizeof error.message,
                 "asked for %zu bytes on device %d (%s); of its %zu bytes %zu are free", bytes,
                 device->info.ordinal, device->info.name, total, left);
    else
        snprintf(error.message, sizeof error.message, "asked for %zu bytes on device %d", bytes,
                 device->info.ordinal);
    return acui_error_restore(&error);
}

/* Page-locked memory is the host's. */
static acu_status say_how_much_pinned(acu_status status, size_t bytes)
{
    if (status != ACU_ERR_DEVICE_MEMORY)
        return status;
    acu_error *error = acui_error();
    error->status = ACU_ERR_NO_MEMORY;
    snprintf(error->message, sizeof error->message,
             "asked for %zu bytes of page-locked host memory", bytes);
    return error->status;
}

/* Let allocations wait, on the device, for memory that other streams are still to free. */
static void allow_waiting(acu_device *device, int allow)
{
    device->cu->MemPoolSetAttribute(device->pool,
                                    ACU_CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &allow);
}

static acu_status allocate_from_pool(acu_buffer *buffer, acu_stream *stream)
{
    acu_device *device = buffer->device;
    CUdeviceptr address = 0;
    unsigned result =
        device->cu->MemAllocFromPoolAsync(&address, buffer->bytes, device->pool, stream->raw);
    if (result == ACU_CUDA_ERROR_OUT_OF_MEMORY) {
        allow_waiting(device, 1);
        result =
            device->cu->MemAllocFromPoolAsync(&address, buffer->bytes, device->pool, stream->raw);
        allow_waiting(device, 0);
    }
    acu_status st = acui_device_result(device, "MemAllocFromPoolAsync", result);
    if (st != ACU_OK)
        return say_how_much(device, st, buffer->bytes);
    buffer->stream = acu_stream_retain(stream->foreign ? device->alloc : stream);
    /* Release: who reads the address may use the rest of the buffer. */
    atomic_store_explicit(&buffer->address, address, memory_order_release);
    return ACU_OK;
}

static acu_status allocate_block(acu_buffer *buffer, acui_block_kind kind)
{
    acui_block *block;
    acu_status st = acui_block_get(buffer->device, kind, buffer->bytes, &block);
    if (st != ACU_OK)
        return kind == ACUI_BLOCK_PINNED ? say_how_much_pinned(st, buffer->bytes)
                                         : say_how_much(buffer->device, st, buffer->bytes);
    buffer->block = block;
    buffer->host = block->host;
    atomic_store_explicit(&buffer->address, block->address, memory_order_release);
    return ACU_OK;
}

acu_status acui_buffer_allocate(acu_buffer *buffer, acu_stream *stream)
{
    if (buffer->device->pool)
        return allocate_from_pool(buffer, stream);
    return allocate_block(buffer, ACUI_BLOCK_DEVICE);
}

/* The allocation is work on the stream like any other: what uses the memory comes behind it. */
static acu_status enter_allocation(acu_buffer *buffer, acu_stream *stream)
{
    acui_point *point = acui_point_new();
    if (!point)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a buffer");
    acu_status st = acui_stream_mark(stream, &point->number);
    if (st == ACU_OK) {
        acui_order_lock();
        point->stream = acu_stream_retain(stream);
        point->state = ACUI_POINT_ISSUED;
        point->allocation = true;
        if (acui_accesses_reserve(&buffer->accesses, 1)) /* it is empty: fits without memory */
            acui_accesses_enter(&buffer->accesses, buffer->bytes, point,
                                acui_extent_range(0, buffer->bytes), ACU_WRITE, NULL, NULL);
        acui_order_unlock();
    }
    acui_point_release(point);
    return st;
}

acu_status acui_buffer_allocate_now(acu_buffer *buffer)
{
    acu_device *device = buffer->device;
    if (!device->pool)
        return allocate_block(buffer, ACUI_BLOCK_DEVICE);
    acui_entered entered;
    ACUI_TRY(acui_enter(device, &entered));
    pthread_mutex_lock(&device->alloc->issue);
    acu_status st = allocate_from_pool(buffer, device->alloc);
    if (st == ACU_OK)
        st = enter_allocation(buffer, device->alloc);
    pthread_mutex_unlock(&device->alloc->issue);
    acui_leave(&entered);
    return st;
}

acu_status acui_buffer_allocate_pinned(acu_buffer *buffer)
{
    return allocate_block(buffer, ACUI_BLOCK_PINNED);
}

void acui_buffer_free_memory(acu_buffer *buffer)
{
    acu_device *device = buffer->device;
    if (buffer->block) {
        acui_block_put(device, buffer->block);
    } else if (buffer->stream) {
        acui_entered entered;
        CUdeviceptr address = atomic_load_explicit(&buffer->address, memory_order_relaxed);
        if (acui_enter_to_free(device, &entered)) /* nothing in flight uses it */
            device->cu->MemFreeAsync(address, buffer->stream->raw);
        acui_leave(&entered);
        acu_stream_release(buffer->stream);
    }
}
