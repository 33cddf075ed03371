/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks kept for reuse. */
#include "memory/blocks.h"

#include "base/alloc.h"
#include "base/error.h"

#define SMALLEST ((size_t)4096)
#define KINDS 2

struct acui_blocks {
    acui_block *kept[KINDS]; /* newest first */
    size_t bytes[KINDS];
};

/* Four sizes in each doubling, so that released blocks fit later requests. */
size_t acui_block_size(size_t bytes)
{
    if (bytes <= SMALLEST)
        return SMALLEST;
    size_t step = SMALLEST / 4;
    while (step * 8 < bytes && step < SIZE_MAX / 16)
        step *= 2;
    size_t size = (bytes + step - 1) / step * step;
    return size < bytes ? bytes : size; /* near SIZE_MAX the sum wraps */
}

/* ---- the driver's part ------------------------------------------------------------------------ */

static acu_status allocate_pinned(acu_device *device, acui_block *block)
{
    ACUI_TRY(ACUI_DEV(device, MemHostAlloc, &block->host, block->bytes,
                      ACU_CU_MEMHOSTALLOC_PORTABLE | ACU_CU_MEMHOSTALLOC_DEVICEMAP));
    acu_status st = ACUI_DEV(device, MemHostGetDevicePointer, &block->address, block->host, 0);
    if (st != ACU_OK && !acui_device_lost(device))
        device->cu->MemFreeHost(block->host);
    return st;
}

static acu_status allocate(acu_device *device, acui_block *block)
{
    if (block->kind == ACUI_BLOCK_PINNED)
        return allocate_pinned(device, block);
    return ACUI_DEV(device, MemAlloc, &block->address, block->bytes);
}

/* The device is entered, or lost: then the block goes with its context. */
static void free_block(acu_device *device, acui_block *block)
{
    if (!acui_device_lost(device)) {
        if (block->kind == ACUI_BLOCK_PINNED)
            device->cu->MemFreeHost(block->host);
        else
            device->cu->MemFree(block->address);
    }
    acui_free(block);
}

/* ---- what is kept; device->lock ---------------------------------------------------------------- */

static acui_block *take(acu_device *device, acui_block_kind kind, size_t bytes)
{
    pthread_mutex_lock(&device->lock);
    acui_block **link = &device->blocks->kept[kind];
    while (*link && (*link)->bytes != bytes)
        link = &(*link)->next;
    acui_block *block = *link;
    if (block) {
        *link = block->next;
        device->blocks->bytes[kind] -= block->bytes;
    }
    pthread_mutex_unlock(&device->lock);
    return block;
}

/* Takes the oldest blocks out until at most `limit` bytes are kept; gives them as a list. */
static acui_block *take_excess(acu_device *device, acui_block_kind kind, size_t limit)
{
    pthread_mutex_lock(&device->lock);
    size_t sum = 0;
    acui_block **link = &device->blocks->kept[kind];
    while (*link && sum + (*link)->bytes <= limit) {
        sum += (*link)->bytes;
        link = &(*link)->next;
    }
    acui_block *excess = *link;
    *link = NULL;
    device->blocks->bytes[kind] = sum;
    pthread_mutex_unlock(&device->lock);
    return excess;
}

/* The device is entered, or lost. */
static void trim(acu_device *device, acui_block_kind kind, size_t limit)
{
    acui_block *excess = take_excess(device, kind, limit);
    while (excess) {
        acui_block *block = excess;
        excess = block->next;
        free_block(device, block);
    }
}

static void drop_blocks(acu_device *device)
{
    for (int kind = 0; kind < KINDS; kind++)
        trim(device, (acui_block_kind)kind, 0);
    acui_free(device->blocks);
    device->blocks = NULL;
}

static acu_status need_blocks(acu_device *device)
{
    pthread_mutex_lock(&device->lock);
    if (!device->blocks) {
        device->blocks = ACUI_NEW(struct acui_blocks);
        device->drop_blocks = device->blocks ? drop_blocks : NULL;
    }
    bool there = device->blocks != NULL;
    pthread_mutex_unlock(&device->lock);
    return there ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory for a list of blocks");
}

/* ---- getting and putting back ------------------------------------------------------------------ */

static acu_status new_block(acu_device *device, acui_block_kind kind, size_t bytes,
                            acui_block **block)
{
    acui_block *b = ACUI_NEW(acui_block);
    if (!b)
        return acui_fail(ACU_ERR_NO_MEMORY, "no memory for a block");
    *b = (acui_block){.kind = kind, .bytes = bytes};
    acui_entered entered;
    acu_status st = acui_enter(device, &entered);
    if (st == ACU_OK) {
        trim(device, kind, ACUI_BLOCKS_KEPT);
        st = allocate(device, b);
        if (st == ACU_ERR_DEVICE_MEMORY) { /* what is kept in other sizes may be what lacks */
            trim(device, kind, 0);
            st = allocate(device, b);
        }
        acui_leave(&entered);
    }
    if (st == ACU_OK)
        *block = b;
    else
        acui_free(b);
    return st;
}

acu_status acui_block_get(acu_device *device, acui_block_kind kind, size_t bytes,
                          acui_block **block)
{
    ACUI_TRY(acui_device_check(device));
    ACUI_TRY(need_blocks(device));
    size_t size = acui_block_size(bytes);
    *block = take(device, kind, size);
    return *block ? ACU_OK : new_block(device, kind, size, block);
}

void acui_block_put(acu_device *device, acui_block *block)
{
    pthread_mutex_lock(&device->lock);
    block->next = device->blocks->kept[block->kind];
    device->blocks->kept[block->kind] = block;
    device->blocks->bytes[block->kind] += block->bytes;
    pthread_mutex_unlock(&device->lock);
}
