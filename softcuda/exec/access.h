/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How an instruction's 32 addresses become host memory. Most accesses of a warp are runs of
 * neighbours, or one address for all, by halves of 16 lanes (tiles are 16 wide). Those are checked
 * once per run; everything else goes lane by lane.
 */
#ifndef SOFTCUDA_EXEC_ACCESS_H
#define SOFTCUDA_EXEC_ACCESS_H

#include "exec/lanes.h"

/* sx_insn.aux of a memory instruction: where it goes, and how wide its address register is. */
enum sx_where {
    SX_WHERE_GENERIC,
    SX_WHERE_GLOBAL, /* and .const */
    SX_WHERE_SHARED,
    SX_WHERE_LOCAL,
    SX_WHERE_FRAME, /* imm is the offset in this activation's local frame, no address operand */
    SX_WHERE_MASK = 0xf,
    SX_ADDRESS_32 = 0x10,
    /*
     * The decoder knows which loads and stores of a block use the same address register for
     * elements of one size. The first of them remembers, in one of the warp's patterns, what it
     * found out about the 32 addresses, and the others need not look again. Only a group of all
     * lanes remembers or looks, and no other group can run in between.
     */
    SX_REMEMBERS = 0x20,
    SX_KNOWS = 0x40,
    SX_PATTERN_SHIFT = 8,
};

/* Lane l of half h is at at[h] + (l & 15) * step[h] where affine, else at w->pointers[l]. */
typedef struct sx_access {
    char *at[2];
    uint64_t step[2];
    bool affine;
} sx_access;

/*
 * Fills w->pointers for the lanes that run. False: an address was bad, and the launch has failed.
 * `bytes` is the whole access of one lane, a power of two, and also its required alignment.
 */
bool sx_resolve_lanes(sx_warp *w, const sx_insn *i, uint32_t operand, unsigned bytes,
                      unsigned kind);

/* Where all of the bytes are valid; sets w->region. */
SX_INLINE char *sx_valid_at(sx_warp *w, uint64_t address, uint64_t bytes)
{
    const sx_region *r = w->region;
    uint64_t offset = address - r->base;
    if (offset < r->bytes && bytes <= r->bytes - offset) {
        if (!r->valid)
            return r->host + offset;
        /* While this runs, the driver changes entries only of memory that no correct program
         * uses. */
        uint64_t in = offset & (SX_GRANULE - 1);
        if (in + bytes <= __atomic_load_n(&r->valid[offset >> SX_GRANULE_SHIFT], __ATOMIC_RELAXED))
            return r->host + offset;
    }
    return sx_global_slow(w, address, bytes);
}

/* The host address of [address, address + bytes) in global memory; NULL if not all may be accessed:
 * some are not valid, or, where that is looked for, hold nothing yet that could be read. */
SX_INLINE char *sx_global_at(sx_warp *w, uint64_t address, uint64_t bytes, unsigned kind)
{
    char *p = sx_valid_at(w, address, bytes);
    return p && w->region->unwritten && !sx_is_written(w->region, p, bytes, kind) ? NULL : p;
}

SX_INLINE char *sx_shared_at(const sx_block *b, uint64_t offset, uint64_t bytes)
{
    if (offset < b->shared_bytes && bytes <= b->shared_bytes - offset)
        return b->shared + offset;
    const uint64_t in = offset - SX_RESERVED_SHARED;
    return in < SX_RESERVED_BYTES && bytes <= SX_RESERVED_BYTES - in ? b->reserved + in : NULL;
}

#endif
