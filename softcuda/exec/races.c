/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Races in shared memory: two warps touch the same byte, one of them writing, and nothing in
 * between orders them. Warps take turns here in an order that hides that; on a GPU they do not.
 *
 * Each byte of a block has a mark that says which warp wrote it last, which read it, and in which
 * epoch. An epoch ends with every barrier, fence and access with an order. For barriers of only
 * some of the threads that is more than they promise: so some races are missed, but none is
 * reported where there is none. Lanes of one warp are not distinguished: they run in step here.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/lanes.h"

#define WARP 0x3fu     /* its number + 1 */
#define ATOMIC 0x40u   /* written by atomic operations only */
#define SEVERAL 0x80u  /* by several warps */
#define EPOCH_SHIFT 8

struct sx_mark {
    uint32_t written, read; /* epoch, flags, warp; 0: never */
};

bool sx_races_fit(sx_block *b, bool wanted)
{
    b->marks = NULL;
    if (!wanted || !b->shared_bytes)
        return true;
    if (b->marks_room < b->shared_bytes) {
        free(b->marks_store);
        b->marks_store = calloc(b->shared_bytes, sizeof *b->marks_store);
        b->marks_room = b->marks_store ? b->shared_bytes : 0;
        b->epoch = 0;
    }
    b->marks = b->marks_store;
    return b->marks != NULL;
}

void sx_races_next_epoch(sx_block *b)
{
    if (!b->marks || ++b->epoch < UINT32_C(1) << (32 - EPOCH_SHIFT))
        return;
    memset(b->marks, 0, b->marks_room * sizeof *b->marks);
    b->epoch = 1;
}

/* Atomic operations, and accesses that acquire or release, order others. */
static bool has_order(const sx_warp *w, const sx_insn *i)
{
    const ptx_inst *inst = &w->frame->code->ptx->insts[i->source];
    for (unsigned n = 0; n < inst->mod_count; n++)
        if (inst->mods[n] == PTX_MOD_ACQUIRE || inst->mods[n] == PTX_MOD_RELEASE ||
            inst->mods[n] == PTX_MOD_ACQ_REL)
            return true;
    return false;
}

/* Whether a mark is of this epoch, and of a warp other than `me`. */
static bool is_others(const sx_block *b, uint32_t mark, uint32_t me)
{
    return mark >> EPOCH_SHIFT == b->epoch && ((mark & SEVERAL) || (mark & WARP) != me);
}

/* The mark of one byte that conflicts with this access; 0: none. */
static uint32_t conflict(const sx_block *b, const struct sx_mark *m, uint32_t me, unsigned kind)
{
    if (is_others(b, m->written, me) && !(kind == SX_ATOMIC && (m->written & ATOMIC)))
        return m->written;
    return kind != SX_READ && is_others(b, m->read, me) ? m->read : 0;
}

static void leave_mark(const sx_block *b, struct sx_mark *m, uint32_t me, unsigned kind)
{
    const uint32_t now = b->epoch << EPOCH_SHIFT | me;
    uint32_t *mark = kind == SX_READ ? &m->read : &m->written;
    if (*mark >> EPOCH_SHIFT != b->epoch)
        *mark = now | (kind == SX_ATOMIC ? ATOMIC : 0);
    else if ((*mark & WARP) != me)
        *mark |= SEVERAL; /* reads, or atomic operations */
    else if (kind == SX_WRITE)
        *mark &= ~ATOMIC;
}

static bool lane_is_alone(sx_warp *w, const sx_insn *i, unsigned lane, unsigned bytes,
                          unsigned kind)
{
    static const char *const words[] = {"read", "write", "atomic access"};
    sx_block *b = w->block;
    const size_t at = (size_t)((char *)w->pointers[lane] - b->shared);
    const uint32_t me = w->index + 1;
    for (unsigned k = 0; k < bytes; k++) {
        struct sx_mark *m = &b->marks[at + k];
        const uint32_t other = conflict(b, m, me, kind);
        if (other) {
            sx_fault(w, i, lane, 719,
                     "race: %s of %u bytes of shared memory at 0x%zx, which warp %u %s%s, with no "
                     "barrier in between",
                     words[kind], bytes, at, (other & WARP) - 1,
                     other == m->written ? "has written" : "has read",
                     other & SEVERAL ? ", and others" : "");
            return false;
        }
        leave_mark(b, m, me, kind);
    }
    return true;
}

bool sx_races_none(sx_warp *w, const sx_insn *i, unsigned bytes, unsigned kind)
{
    const sx_block *b = w->block;
    if (kind == SX_ATOMIC && has_order(w, i))
        sx_races_next_epoch(w->block);
    SX_EACH_ACTIVE
    {
        const uintptr_t at = (uintptr_t)w->pointers[l] - (uintptr_t)b->shared;
        if (at < b->shared_bytes && !lane_is_alone(w, i, l, bytes, kind))
            return false;
    }
    return true;
}
