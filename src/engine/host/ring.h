/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pinned memory that copies of pageable memory go through: for each helper thread and device a ring
 * of slots, and a stream that moves them. A ring is used by its helper alone, so it needs no lock.
 */
#ifndef ACUI_ENGINE_RING_H
#define ACUI_ENGINE_RING_H

#include "device/device.h"

enum { ACUI_HELPERS = 64, ACUI_SLOTS = 8 }; /* at most */

typedef struct acui_slot {
    char *host;          /* NULL: not made yet */
    acu_stream *stream;  /* on which the last thing is that a device does with it, */
    uint64_t number;     /* ... and the mark behind that; 0: nothing */
    uint64_t begin, end; /* bytes of the copy that are in it */
} acui_slot;

typedef struct acui_ring {
    acu_stream *stream;
    uint64_t slot_bytes;
    uint32_t count, first, used; /* slots; those in use follow one another */
    acui_slot slots[ACUI_SLOTS];
} acui_ring;

/* The helper's ring on the device, for up to `slots` of `bytes`; nothing is in
 * use. The device is entered. */
acu_status acui_ring_get(acu_device *device, unsigned helper, uint64_t bytes, uint32_t slots,
                         acui_ring **ring);
/* What devices do with the slot is over. Sleeps in between. DEVICE_LOST. */
acu_status acui_slot_wait(const acui_slot *slot);
/* All of it. */
acu_status acui_ring_drain(acui_ring *ring);
static inline bool acui_ring_is_full(const acui_ring *ring)
{
    return ring->used == ring->count;
}
/* One that is free becomes the last that is used; made if it is not there (cuMemHostAlloc). The
 * device is entered. NULL in *slot: no memory, but those in use will be free.
 * NO_MEMORY where none is. */
acu_status acui_ring_take(acui_ring *ring, acui_slot **slot);
static inline acui_slot *acui_ring_oldest(acui_ring *ring)
{
    return ring->used ? &ring->slots[ring->first] : NULL;
}
void acui_ring_free_oldest(acui_ring *ring);

#endif
