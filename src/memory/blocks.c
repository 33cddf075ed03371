/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Free blocks by powers of two. A free block holds the link to the next one in its own memory. */
#include "memory/blocks.h"

#include "base/alloc.h"
#include "base/error.h"
#include "driver/result.h"

#define LEAST_SHIFT 12              /* 4 KiB */
#define MOST_SHIFT 26               /* 64 MiB; larger ones go straight back */
#define CLASSES (MOST_SHIFT - LEAST_SHIFT + 1)
#define KEPT ((size_t)256 << 20)    /* bytes kept free at most */

typedef struct block {
    struct block *next;
} block;

struct acui_blocks {
    block *free[CLASSES];
    size_t bytes;
};

/* The class of a size, or CLASSES; its bytes in *bytes. */
static unsigned class_of(size_t wanted, size_t *bytes)
{
    for (unsigned c = 0; c < CLASSES; c++)
        if (wanted <= (size_t)1 << (LEAST_SHIFT + c)) {
            *bytes = (size_t)1 << (LEAST_SHIFT + c);
            return c;
        }
    *bytes = wanted;
    return CLASSES;
}

static void drop_blocks(acu_device *device)
{
    struct acui_blocks *blocks = device->blocks;
    for (unsigned c = 0; c < CLASSES; c++)
        while (blocks->free[c]) {
            block *b = blocks->free[c];
            blocks->free[c] = b->next;
            if (!acui_device_lost(device))
                device->cu->MemFreeHost(b);
        }
    acui_free(blocks);
    device->blocks = NULL;
}

static block *pop(acu_device *device, unsigned class, size_t bytes)
{
    block *b = NULL;
    pthread_mutex_lock(&device->lock);
    if (device->blocks && class < CLASSES) {
        b = device->blocks->free[class];
        if (b) {
            device->blocks->free[class] = b->next;
            device->blocks->bytes -= bytes;
        }
    }
    pthread_mutex_unlock(&device->lock);
    return b;
}

acu_status acui_block_get(acu_device *device, size_t wanted, void **memory, CUdeviceptr *address)
{
    size_t bytes;
    unsigned class = class_of(wanted, &bytes);
    void *b = pop(device, class, bytes);
    acu_status status = ACU_OK;
    if (!b)
        status = ACUI_CU(device->cu, MemHostAlloc,
                         (&b, bytes, ACU_CU_MEMHOSTALLOC_PORTABLE | ACU_CU_MEMHOSTALLOC_DEVICEMAP),
                         "allocating %zu bytes of pinned host memory", bytes);
    if (status != ACU_OK)
        return status;
    status = ACUI_CU(device->cu, MemHostGetDevicePointer, (address, b, 0),
                     "the device's address of pinned host memory");
    if (status != ACU_OK) {
        acui_block_put(device, b, wanted);
        return status;
    }
    *memory = b;
    return ACU_OK;
}

void acui_block_put(acu_device *device, void *memory, size_t used)
{
    size_t bytes;
    unsigned class = class_of(used, &bytes);
    bool kept = false;
    pthread_mutex_lock(&device->lock);
    if (!device->blocks && class < CLASSES) {
        device->blocks = ACUI_NEW(struct acui_blocks);
        device->drop_blocks = drop_blocks;
    }
    if (device->blocks && class < CLASSES && device->blocks->bytes + bytes <= KEPT) {
        block *b = memory;
        b->next = device->blocks->free[class];
        device->blocks->free[class] = b;
        device->blocks->bytes += bytes;
        kept = true;
    }
    pthread_mutex_unlock(&device->lock);
    acui_entered entered;
    if (!kept) {
        if (acui_enter_to_free(device, &entered))
            device->cu->MemFreeHost(memory);
        acui_leave(&entered);
    }
}
