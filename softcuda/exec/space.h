/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The address space that kernels see: the contract between the software driver's memory manager
 * (softcuda/driver), which fills it in, and the executor (softcuda/exec), which checks every access
 * against it.
 *
 * A device address is never a host address that the program could follow by accident. Device memory
 * is two ranges of equal size: one without any permission, at the device addresses, and one
 * readable and writable, the alias, which has the content. The executor turns an address into a
 * host pointer by one addition, after one look at the region's table of valid bytes.
 */
#ifndef SOFTCUDA_EXEC_SPACE_H
#define SOFTCUDA_EXEC_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocations start on multiples of a granule; a granule belongs to one allocation at most. */
#define SX_GRANULE_SHIFT 8
#define SX_GRANULE ((uint64_t)1 << SX_GRANULE_SHIFT)

/* The content of memory that nobody wrote since it was allocated, or since a block began: bytes
 * that are NaN in every floating-point format, so that whoever reads them notices. */
#define SX_UNWRITTEN 0xff

#define SX_IS_UNWRITTEN 1 /* in sx_region.unwritten */

/* One contiguous range of addresses. Regions of one space do not overlap. */
typedef struct sx_region {
    uint64_t base;  /* first address, a multiple of the granule */
    uint64_t bytes; /* length of the range, allocated or not */
    char *host;     /* where `base` can be read and written by the executor */

    /*
     * For each granule, how many of its bytes are valid, counted from its start (0 to 256): so ends
     * of allocations are exact to the byte. Read without a lock while kernels run: an entry changes
     * only in stream order, or by a free that is the program's error. NULL: the whole range is
     * valid (registered host memory).
     */
    const uint16_t *valid;

    /*
     * Non-NULL: a byte for each byte of the range, which is not 0 where nothing was written since
     * it was allocated. A read of such a byte is a fault; a write clears it.
     */
    unsigned char *unwritten;
} sx_region;

/* What one launch may touch: the device's own memory first, then peers and pinned host memory. */
typedef struct sx_space {
    const sx_region *regions;
    size_t count;
} sx_space;

/* The host pointer of [address, address + bytes), or NULL if any of the bytes is not valid. */
static inline char *sx_space_at(const sx_space *space, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < space->count; i++) {
        const sx_region *r = &space->regions[i];
        uint64_t offset = address - r->base;
        if (offset >= r->bytes || bytes > r->bytes - offset)
            continue;
        if (!r->valid)
            return r->host + offset;
        uint64_t at = offset, left = bytes;
        while (left > 0) {
            uint64_t in = at & (SX_GRANULE - 1);
            uint64_t take = SX_GRANULE - in < left ? SX_GRANULE - in : left;
            if (in + take > r->valid[at >> SX_GRANULE_SHIFT])
                return NULL;
            at += take;
            left -= take;
        }
        return r->host + offset;
    }
    return NULL;
}

#endif
