/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Asynchronous copies, which are done at once, and mbarriers: 64 bits in shared memory that count
 * who has yet to arrive. A block's warps share one thread, so nothing here needs to be atomic.
 */
#include <string.h>

#include "exec/access.h"
#include "exec/op_misc.h"
#include "exec/ops.h"

/* ---- copies ---------------------------------------------------------------------------------- */

/* cp.async: o[0] shared address, o[1] global address, o[2] bytes to read or none; aux bytes */
SX_EXTERN_HANDLER(copy_async)
{
    const u64 *dst = SX_REG(u64, 0), *src = SX_REG(u64, 1);
    const u32 *size = i->o[2] != SX_NO_OPERAND ? SX_REG(u32, 2) : NULL;
    const unsigned bytes = i->aux;
    SX_EACH_ACTIVE
    {
        const unsigned take = size && size[l] < bytes ? size[l] : bytes;
        char *d = sx_shared_at(w->block, dst[l], bytes);
        if (!d || dst[l] % bytes)
            return sx_fault_access(w, i, l, dst[l], bytes, SX_WRITE);
        w->pointers[l] = d;
        memset(d, 0, bytes);
        if (!take)
            continue;
        const char *s = src[l] % bytes ? NULL : sx_global_at(w, src[l], take, SX_READ);
        if (!s)
            return sx_fault_access(w, i, l, src[l], take, SX_READ);
        memcpy(d, s, take);
    }
    return !w->block->marks || sx_races_none(w, i, bytes, SX_WRITE) ? i + 1 : NULL;
}

static char *bulk_end(sx_warp *w, bool shared, uint64_t address, uint64_t bytes, unsigned kind)
{
    if (address % 16)
        return NULL;
    return shared ? sx_shared_at(w->block, address, bytes)
                  : sx_global_at(w, address, bytes, kind);
}

/* cp.async.bulk: o[0] to, o[1] from, o[2] bytes; aux sx_bulk */
SX_EXTERN_HANDLER(copy_bulk)
{
    const u64 *dst = SX_REG(u64, 0), *src = SX_REG(u64, 1);
    const u32 *size = SX_REG(u32, 2);
    SX_EACH_ACTIVE
    {
        const uint32_t bytes = size[l];
        if (!bytes)
            continue;
        if (bytes % 16)
            return sx_fault(w, i, l, 715, "a bulk copy of %u bytes, which is no multiple of 16",
                            bytes);
        char *to = bulk_end(w, i->aux & SX_BULK_TO_SHARED, dst[l], bytes, SX_WRITE);
        if (!to)
            return sx_fault_access(w, i, l, dst[l], dst[l] % 16 ? 16 : bytes, SX_WRITE);
        const char *from = bulk_end(w, i->aux & SX_BULK_FROM_SHARED, src[l], bytes, SX_READ);
        if (!from)
            return sx_fault_access(w, i, l, src[l], src[l] % 16 ? 16 : bytes, SX_READ);
        memmove(to, from, bytes);
    }
    return i + 1;
}

/* ---- mbarriers ------------------------------------------------------------------------------- */

/*
 * Bits 0 to 19: arrivals that a phase expects; 20 to 39: those that this one still waits for; 40 to
 * 60: bytes that it still waits for, modulo 2^21 (a copy may be complete before anybody expects
 * it); 61: set, which neither zeros nor memory that was never written look like together with 62,
 * clear; 63: the phase's parity.
 */
#define COUNT_BITS 20
#define COUNT_MAX ((UINT64_C(1) << COUNT_BITS) - 1)
#define BYTES_SHIFT 40
#define BYTES_MASK ((UINT64_C(1) << 21) - 1)
#define VALID (UINT64_C(1) << 61)
#define VALID_MASK (UINT64_C(3) << 61)
#define PARITY_SHIFT 63

typedef struct mbarrier {
    uint64_t expected, pending, bytes, parity;
} mbarrier;

static mbarrier open_barrier(uint64_t v)
{
    return (mbarrier){v & COUNT_MAX, v >> COUNT_BITS & COUNT_MAX, v >> BYTES_SHIFT & BYTES_MASK,
                      v >> PARITY_SHIFT};
}

static uint64_t closed(const mbarrier *m)
{
    return m->expected | m->pending << COUNT_BITS | (m->bytes & BYTES_MASK) << BYTES_SHIFT | VALID |
           m->parity << PARITY_SHIFT;
}

/* Ends the phase if nobody and nothing is waited for any more. */
static void advance(mbarrier *m)
{
    if (m->pending || m->bytes)
        return;
    m->pending = m->expected;
    m->parity ^= 1;
}

/* Where the lanes' mbarriers are, in w->pointers. False: a fault. */
static bool find_barriers(sx_warp *w, const sx_insn *i, bool begins)
{
    sx_block *b = w->block;
    if (!begins) /* orders what was done before, and what comes after */
        sx_races_next_epoch(b);
    if (!sx_resolve_lanes(w, i, i->o[1], 8, SX_ATOMIC) ||
        (b->marks && !sx_races_none(w, i, 8, begins ? SX_WRITE : SX_ATOMIC)))
        return false;
    SX_EACH_ACTIVE
    {
        if ((uintptr_t)w->pointers[l] - (uintptr_t)b->shared >= b->shared_bytes) {
            sx_fault(w, i, l, 717, "an mbarrier that is not in shared memory");
            return false;
        }
        if (!begins && (*(u64 *)w->pointers[l] & VALID_MASK) != VALID) {
            sx_fault(w, i, l, 719, "no mbarrier has been initialized here");
            return false;
        }
    }
    return true;
}

/* o[1] address, o[2] arrivals that each phase expects; 0: no mbarrier is here any more */
SX_EXTERN_HANDLER(mbarrier_init)
{
    const u32 *count = SX_REG(u32, 2);
    if (!find_barriers(w, i, true))
        return NULL;
    SX_EACH_ACTIVE
    {
        const mbarrier m = {.expected = count[l], .pending = count[l]};
        if (count[l] > COUNT_MAX)
            return sx_fault(w, i, l, 719, "an mbarrier cannot expect %u arrivals", count[l]);
        *(u64 *)w->pointers[l] = count[l] ? closed(&m) : 0;
    }
    return i + 1;
}

/* o[0] state or none, o[1] address, o[2] number; aux sx_mbarrier. The state is what the mbarrier
 * was. */
SX_EXTERN_HANDLER(mbarrier_arrive)
{
    const u32 *number = SX_REG(u32, 2);
    u64 *state = i->o[0] != SX_NO_OPERAND ? SX_REG(u64, 0) : NULL;
    if (!find_barriers(w, i, false))
        return NULL;
    SX_EACH_ACTIVE
    {
        u64 *at = w->pointers[l];
        const uint64_t old = *at;
        const uint32_t count = i->aux & SX_MBARRIER_BYTES ? 1 : number[l];
        mbarrier m = open_barrier(old);
        if (count > m.pending || count == 0)
            return sx_fault(w, i, l, 719,
                            "%u arrive at an mbarrier that waits for %u more in this phase", count,
                            (unsigned)m.pending);
        if (i->aux & SX_MBARRIER_BYTES)
            m.bytes = (m.bytes + number[l]) & BYTES_MASK;
        m.pending -= count;
        if (i->aux & SX_MBARRIER_DROP)
            m.expected -= count;
        if (!(i->aux & SX_MBARRIER_STAYS))
            advance(&m);
        *at = closed(&m);
        if (state)
            state[l] = old;
    }
    return i + 1;
}

#define BYTES(name, op, may_end) \
    SX_EXTERN_HANDLER(name) \
    { \
        const u32 *number = SX_REG(u32, 2); \
        if (!find_barriers(w, i, false)) \
            return NULL; \
        SX_EACH_ACTIVE \
        { \
            mbarrier m = open_barrier(*(u64 *)w->pointers[l]); \
            m.bytes = (m.bytes op number[l]) & BYTES_MASK; \
            if (may_end) \
                advance(&m); \
            *(u64 *)w->pointers[l] = closed(&m); \
        } \
        return i + 1; \
    }
/* o[1] address, o[2] bytes */
BYTES(mbarrier_expect, +, false)
BYTES(mbarrier_complete, -, true)

/* o[0] p: whether the phase is over in which the state o[2] was taken, or whose parity is o[2] */
#define TEST(name, T, parity_of) \
    SX_EXTERN_HANDLER(name) \
    { \
        const T *phase = SX_REG(T, 2); \
        uint32_t over = 0; \
        if (!find_barriers(w, i, false)) \
            return NULL; \
        SX_EACH_ACTIVE \
        { \
            const uint64_t now = *(u64 *)w->pointers[l] >> PARITY_SHIFT; \
            over |= now != (parity_of) ? sx_bit[l] : 0; \
        } \
        sx_pred_set(w, i->o[0], over, w->mask); \
        return i + 1; \
    }
TEST(mbarrier_test, u64, phase[l] >> PARITY_SHIFT)
TEST(mbarrier_test_parity, u32, phase[l] & 1)

/* o[0] arrivals that the phase of the state o[1] still waited for */
SX_EXTERN_HANDLER(mbarrier_pending)
{
    u32 *d = SX_REG(u32, 0);
    const u64 *state = SX_REG(u64, 1);
    SX_EACH_ACTIVE
    {
        d[l] = (uint32_t)open_barrier(state[l]).pending;
    }
    return i + 1;
}
