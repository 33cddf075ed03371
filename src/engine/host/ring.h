/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pinned memory that copies of pageable memory go through: for each helper thread and device, a
 * ring of slots, and a stream that moves them. Only that helper uses a ring, so it needs no lock.
 */
#ifndef ACUI_ENGINE_RING_H
#define ACUI_ENGINE_RING_H

#include "engine/device.h"

enum { ACUI_HELPERS = 64, ACUI_SLOTS = 8 }; /* at most */

typedef struct acui_slot {
    char *host;          /* NULL: not made yet */
    acu_stream *stream;  /* where a device uses it last */
    uint64_t number;     /* the signal behind that; 0: no device uses it */
    uint64_t begin, end; /* bytes of the copy that are in it */
} acui_slot;

typedef struct acui_ring {
    acu_stream *stream;
    uint64_t slot_bytes;
    uint32_t count, first, used; /* how many slots; those in use follow one another */
    acui_slot slots[ACUI_SLOTS];
} acui_ring;

/* The helper's ring on the device, with up to `slots` slots of `bytes`; none is in use. The device
 * is entered. */
acu_status acui_ring_get(acu_device *device, unsigned helper, uint64_t bytes, uint32_t slots,
                         acui_ring **ring);
/* Wait until devices are done with the slot. Sleeps in between. DEVICE_LOST. */
acu_status acui_slot_wait(const acui_slot *slot);
/* The same for all slots; then none is in use. */
acu_status acui_ring_drain(acui_ring *ring);
static inline bool acui_ring_is_full(const acui_ring *ring)
{
    return ring->used == ring->count;
}
/* A free slot becomes the last one in use; it is made if it is not there (cuMemHostAlloc). The
 * device is entered. NULL in *slot: no memory for it, but slots in use will become free. NO_MEMORY
 * if none is. */
acu_status acui_ring_take(acui_ring *ring, acui_slot **slot);
static inline acui_slot *acui_ring_oldest(acui_ring *ring)
{
    return ring->used ? &ring->slots[ring->first] : NULL;
}
void acui_ring_free_oldest(acui_ring *ring);

#endif
