/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Giving a buffer's memory to the program. */
#include "base/error.h"
#include "memory/memory.h"
#include "memory/pool.h"

static acu_status check_sole(acu_buffer *buffer)
{
    if (buffer->kind != ACU_MEMORY_DEVICE || !buffer->block)
        return acui_fail(ACU_ERR_INVALID, "acu_buffer_detach: only device memory that acuda "
                                          "allocated, and is there, can be given away");
    if (acui_object_refs(buffer) > 1)
        return acui_fail(ACU_ERR_SHARED, "acu_buffer_detach: tensors, handles or work in flight "
                                         "have the buffer too");
    return acui_device_check(buffer->device);
}

/* Whether work in flight uses the memory, as far as anybody has looked. */
static bool is_busy(acu_buffer *buffer)
{
    bool busy = false;
    const acui_accesses *accesses = &buffer->accesses;
    acui_homes homes = acui_accesses_lock(accesses);
    for (size_t i = 0; i < accesses->count; i++) {
        const acui_point *point = accesses->list[i].point;
        busy |= point->state == ACUI_POINT_PENDING ||
                (point->state == ACUI_POINT_ISSUED &&
                 !acui_stream_passed(point->stream, point->number));
    }
    acui_order_unlock(homes);
    return busy || !acui_fences_allow(&buffer->block->fences, buffer->device, NULL);
}

acu_status acu_buffer_detach(acu_buffer *buffer, CUdeviceptr *address)
{
    ACUI_CHECK(buffer, BUFFER);
    if (!address)
        return acui_fail(ACU_ERR_INVALID, "acu_buffer_detach: nowhere to put the address");
    ACUI_TRY(check_sole(buffer));
    acui_stream_harvest(buffer->device->alloc, NULL); /* the allocation may be complete without
                                                       * anybody having looked */
    if (is_busy(buffer))
        return acui_fail(ACU_ERR_BUSY,
                         "acu_buffer_detach: work in flight uses the memory: wait for it first; "
                         "or it is just being allocated: try again");
    acui_block *block = buffer->block;
    acu_pool *pool = acui_buffer_pool(buffer);
    *address = block->address;
    buffer->block = NULL;
    acui_memory_returns(); /* the caller will free it some time */
    acui_source_leaked(pool, block);
    acu_buffer_release(buffer);
    return ACU_OK;
}
