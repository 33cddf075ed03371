/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rings of pinned memory: see ring.h. */
#include "engine/host/ring.h"
#include "engine/host/staging.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"

#include <time.h>

/* One for each helper; its pages are made only when that first works for the device. */
struct acui_rings {
    acui_ring rings[ACUI_HELPERS];
};

static void free_memory(acu_device *device, acui_ring *ring)
{
    for (int i = 0; i < ACUI_SLOTS; i++) {
        if (ring->slots[i].host && !acui_device_lost(device))
            device->cu->MemFreeHost(ring->slots[i].host);
        ring->slots[i] = (acui_slot){.host = NULL};
    }
}

void acui_rings_drop(acu_device *device)
{
    for (int i = 0; device->engine->rings && i < ACUI_HELPERS; i++) {
        acui_ring *ring = &device->engine->rings->rings[i];
        free_memory(device, ring);
        if (ring->stream)
            acui_stream_destroy(ring->stream);
    }
    acui_free(device->engine->rings);
    device->engine->rings = NULL;
}

static acu_status need_rings(acu_device *device)
{
    pthread_mutex_lock(&device->lock);
    if (!device->engine->rings)
        device->engine->rings = ACUI_NEW(struct acui_rings);
    bool there = device->engine->rings != NULL;
    pthread_mutex_unlock(&device->lock);
    return there ? ACU_OK : acui_fail(ACU_ERR_NO_MEMORY, "no memory for copies of pageable memory");
}

static acu_status make_slot(acui_ring *ring, acui_slot *slot)
{
    void *memory;
    acu_status status = ACUI_DEV(ring->stream->device, MemHostAlloc, &memory, ring->slot_bytes,
                                 ACU_CU_MEMHOSTALLOC_PORTABLE);
    if (status == ACU_OK)
        slot->host = memory;
    if (status != ACU_ERR_DEVICE_MEMORY) /* else it is the host's: page-locked memory is */
        return status;
    return acui_fail(ACU_ERR_NO_MEMORY, "no page-locked memory (%llu bytes) for copies of pageable "
                     "memory", (unsigned long long)ring->slot_bytes);
}

acu_status acui_ring_get(acu_device *device, unsigned helper, uint64_t bytes, uint32_t slots,
                         acui_ring **ring)
{
    ACUI_TRY(need_rings(device));
    acui_ring *r = &device->engine->rings->rings[helper];
    if (!r->stream)
        ACUI_TRY(acui_stream_open(device, 0, true, &r->stream));
    if (r->slot_bytes != bytes || r->count > slots)
        free_memory(device, r);
    r->slot_bytes = bytes;
    r->count = slots;
    r->first = 0; /* slots that were made first are used first; those that lack are behind */
    *ring = r;
    return ACU_OK;
}

/* A short sleep, then longer ones: moving a slot takes some ten microseconds. */
static void nap(unsigned turn)
{
    struct timespec pause = {.tv_nsec = turn < 8 ? 2000 : turn < 64 ? 10000 : 100000};
    nanosleep(&pause, NULL);
}

acu_status acui_slot_wait(const acui_slot *slot)
{
    for (unsigned turn = 0; slot->number && !acui_stream_passed(slot->stream, slot->number);
         turn++) {
        if (turn)
            nap(turn);
        ACUI_TRY(acui_stream_harvest(slot->stream, NULL));
    }
    return ACU_OK;
}

acu_status acui_ring_drain(acui_ring *ring)
{
    acu_status status = ACU_OK;
    for (acui_slot *slot; (slot = acui_ring_oldest(ring)); acui_ring_free_oldest(ring)) {
        acu_status waited = acui_slot_wait(slot);
        status = status == ACU_OK ? waited : status;
    }
    return status;
}

acu_status acui_ring_take(acui_ring *ring, acui_slot **taken)
{
    uint32_t place = (ring->first + ring->used) % ring->count;
    acui_slot *slot = &ring->slots[place];
    acu_status status = slot->host ? ACU_OK : make_slot(ring, slot);
    *taken = NULL;
    if (status != ACU_OK && ring->used > 0) { /* it has to do with fewer: the slots before this
                                               * one */
        ring->count = place;
        return ACU_OK;
    }
    if (status != ACU_OK)
        return status;
    ring->used++;
    slot->number = 0;
    *taken = slot;
    return ACU_OK;
}

void acui_ring_free_oldest(acui_ring *ring)
{
    ring->slots[ring->first].number = 0;
    ring->first = (ring->first + 1) % ring->count;
    ring->used--;
}
