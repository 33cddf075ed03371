/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Addresses, one by one: the exact checks behind the fast paths of lanes_memory.h.
 */
#include "exec/access.h"

#include <string.h>

/* For another region than the last one, or a range over several granules. Remembers the region. */
SX_NO_TSAN char *sx_global_slow(sx_warp *w, uint64_t address, uint64_t bytes)
{
    const sx_space *space = &w->block->launch->space;
    for (size_t n = 0; n < space->count; n++) {
        const sx_region *r = &space->regions[n];
        const uint64_t offset = address - r->base;
        if (offset >= r->bytes || bytes > r->bytes - offset)
            continue;
        for (uint64_t at = offset, left = r->valid ? bytes : 0; left;) {
            const uint64_t in = at & (SX_GRANULE - 1);
            const uint64_t take = SX_GRANULE - in < left ? SX_GRANULE - in : left;
            if (in + take > __atomic_load_n(&r->valid[at >> SX_GRANULE_SHIFT], __ATOMIC_RELAXED))
                return NULL;
            at += take;
            left -= take;
        }
        w->region = r;
        return r->host + offset;
    }
    return NULL;
}

/* Several threads may clear the same bytes, as kernels may write them. */
SX_NO_TSAN bool sx_is_written(const sx_region *r, const char *at, uint64_t bytes, unsigned kind)
{
    unsigned char *unwritten = r->unwritten + (at - r->host);
    if (kind != SX_WRITE)
        return !memchr(unwritten, SX_IS_UNWRITTEN, bytes);
    memset(unwritten, 0, bytes);
    return true;
}

/* The host address of a generic address in one lane; NULL if the lane may not access it. */
SX_NO_TSAN char *sx_generic_at(sx_warp *w, unsigned lane, uint64_t address, uint64_t bytes,
                               unsigned kind)
{
    if (address - SX_LOCAL_WINDOW >= SX_WINDOWS * SX_WINDOW_BYTES)
        return sx_global_at(w, address, bytes, kind);
    const sx_block *b = w->block;
    const uint64_t offset = address & (SX_WINDOW_BYTES - 1);
    switch (address & ~(SX_WINDOW_BYTES - 1)) {
    case SX_SHARED_WINDOW:
        return sx_shared_at(b, offset, bytes);
    case SX_LOCAL_WINDOW:
        if (offset >= b->local_bytes || bytes > b->local_bytes - offset)
            return NULL;
        return sx_local_at(w, lane, offset);
    case SX_WORKSPACE_WINDOW:
        if (!b->launch->cooperative || offset >= sizeof b->work->workspace ||
            bytes > sizeof b->work->workspace - offset)
            return NULL;
        return (char *)b->work->workspace + offset;
    case SX_PARAM_WINDOW:
        if (kind != SX_READ || offset >= b->work->code->ptx->param_block ||
            bytes > b->work->code->ptx->param_block - offset)
            return NULL;
        return (char *)(uintptr_t)b->launch->params + offset;
    default:
        return NULL;
    }
}

SX_INLINE char *lane_at(sx_warp *w, unsigned where, unsigned lane, uint64_t address, uint64_t bytes,
                        unsigned kind)
{
    switch (where) {
    case SX_WHERE_GLOBAL:
        return sx_global_at(w, address, bytes, kind);
    case SX_WHERE_SHARED:
        return sx_shared_at(w->block, address, bytes);
    case SX_WHERE_LOCAL:
        if (address >= w->block->local_bytes || bytes > w->block->local_bytes - address)
            return NULL;
        return sx_local_at(w, lane, address);
    default:
        return sx_generic_at(w, lane, address, bytes, kind);
    }
}

SX_NO_TSAN bool sx_resolve_lanes(sx_warp *w, const sx_insn *i, uint32_t operand, unsigned bytes,
                                 unsigned kind)
{
    const unsigned where = i->aux & SX_WHERE_MASK;
    if (where == SX_WHERE_FRAME) {
        const uint64_t at = w->frame->local_base + (uint64_t)i->imm;
        SX_EACH_ACTIVE
        {
            w->pointers[l] = sx_local_at(w, l, at);
        }
        return true;
    }
    const bool narrow = i->aux & SX_ADDRESS_32;
    const u64 *wide_lanes = SX_OPERAND(w, operand);
    const u32 *narrow_lanes = SX_OPERAND(w, operand);
    SX_EACH_ACTIVE
    {
        const uint64_t address = (narrow ? narrow_lanes[l] : wide_lanes[l]) + (uint64_t)i->imm;
        char *p = address & (bytes - 1) ? NULL : lane_at(w, where, l, address, bytes, kind);
        if (!p) {
            sx_fault_access(w, i, l, address, bytes, kind);
            return false;
        }
        w->pointers[l] = p;
    }
    return true;
}
