/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the lanes of a warp do together: shuffles, votes, matches, reductions.
 */
#include "exec/lanes.h"
#include "exec/ops.h"

/*
 * The lanes that the member mask names must all be here. They wait for each other, except for
 * lanes that have exited or cannot come.
 */
#define CONVERGE(members) \
    do { \
        if (((members)&w->live & ~w->mask) && !w->forced) \
            return sx_group_wait_sync(w, i); \
        w->forced = false; \
    } while (0)

SX_INLINE uint32_t first_of(const sx_warp *w, uint32_t operand)
{
    return ((const u32 *)SX_OPERAND(w, operand))[__builtin_ctz(w->mask)];
}

/* A value that is the same for all lanes of the group. */
SX_INLINE void broadcast(const sx_insn *i, sx_warp *w, uint32_t value)
{
    u32 *d = SX_REG(u32, 0);
    const uint32_t m = w->mask;
    SX_EACH_LANE
    {
        d[l] = m & sx_bit[l] ? value : d[l];
    }
}

/* ---- shuffles: o[0] d, o[1] p or none, o[2] a, o[3] b, o[4] c, o[5] member mask -------------- */

/* From which lane, and whether that lies inside the segment. */
SX_INLINE uint32_t shuffle_from(uint32_t lane, uint32_t b, uint32_t c, unsigned mode, bool *inside)
{
    uint32_t segment = (c >> 8) & 31, clamp = c & 31;
    uint32_t last = (lane & segment) | (clamp & ~segment);
    uint32_t from;
    b &= 31;
    switch (mode) {
    case PTX_MOD_UP:
        from = lane - b;
        *inside = (int32_t)from >= (int32_t)last;
        break;
    case PTX_MOD_DOWN:
        from = lane + b;
        *inside = from <= last;
        break;
    case PTX_MOD_BFLY:
        from = lane ^ b;
        *inside = from <= last;
        break;
    default:
        from = (lane & segment) | (b & ~segment);
        *inside = from <= last;
        break;
    }
    return *inside ? from : lane;
}

SX_INLINE const sx_insn *shuffle(const sx_insn *i, sx_warp *w, unsigned mode)
{
    CONVERGE(first_of(w, i->o[5]));
    u32 *d = SX_REG(u32, 0);
    const u32 *a = SX_REG(u32, 2), *b = SX_REG(u32, 3), *c = SX_REG(u32, 4);
    u32 value[SX_LANES];
    uint32_t p = 0;
    const uint32_t m = w->mask;
    for (unsigned l = 0; l < SX_LANES; l++) {
        bool inside;
        value[l] = a[shuffle_from(l, b[l], c[l], mode, &inside) & 31];
        p |= inside ? sx_bit[l] : 0;
    }
    SX_EACH_LANE
    {
        d[l] = m & sx_bit[l] ? value[l] : d[l];
    }
    if (i->o[1] != SX_NO_OPERAND)
        sx_pred_set(w, i->o[1], p, m);
    return i + 1;
}

SX_EXTERN_HANDLER(shfl_up)
{
    return shuffle(i, w, PTX_MOD_UP);
}

SX_EXTERN_HANDLER(shfl_down)
{
    return shuffle(i, w, PTX_MOD_DOWN);
}

SX_EXTERN_HANDLER(shfl_bfly)
{
    return shuffle(i, w, PTX_MOD_BFLY);
}

SX_EXTERN_HANDLER(shfl_idx)
{
    return shuffle(i, w, PTX_MOD_IDX);
}

/* ---- votes: o[0] d, o[1] p, o[2] member mask or none; negated: of !p ------------------------- */

SX_INLINE uint32_t vote(const sx_insn *i, const sx_warp *w, uint32_t *members)
{
    uint32_t p = sx_pred(w, i->o[1]) ^ (i->imm ? SX_ALL_LANES : 0);
    *members = w->mask;
    if (i->o[2] != SX_NO_OPERAND)
        *members &= first_of(w, i->o[2]);
    return p & *members;
}

#define VOTE(name, value) \
    SX_EXTERN_HANDLER(name) \
    { \
        if (i->o[2] != SX_NO_OPERAND) \
            CONVERGE(first_of(w, i->o[2])); \
        uint32_t members; \
        const uint32_t p = vote(i, w, &members); \
        sx_pred_set(w, i->o[0], (value) ? SX_ALL_LANES : 0, w->mask); \
        return i + 1; \
    }

VOTE(vote_all, p == members)
VOTE(vote_any, p != 0)
VOTE(vote_uni, p == 0 || p == members)

SX_EXTERN_HANDLER(vote_ballot)
{
    if (i->o[2] != SX_NO_OPERAND)
        CONVERGE(first_of(w, i->o[2]));
    uint32_t members;
    broadcast(i, w, vote(i, w, &members));
    return i + 1;
}

/* ---- match: o[0] d, o[1] p or none, o[2] a, o[3] member mask --------------------------------- */

#define MATCH_ANY(name, T) \
    SX_EXTERN_HANDLER(name) \
    { \
        const uint32_t members = first_of(w, i->o[3]); \
        CONVERGE(members); \
        u32 *d = SX_REG(u32, 0); \
        const T *a = SX_REG(T, 2); \
        u32 value[SX_LANES]; \
        SX_EACH_ACTIVE \
        { \
            uint32_t same = 0; \
            for (unsigned k = 0; k < SX_LANES; k++) \
                same |= a[k] == a[l] ? sx_bit[k] : 0; \
            value[l] = same & members & w->mask; \
        } \
        SX_EACH_ACTIVE \
        { \
            d[l] = value[l]; \
        } \
        return i + 1; \
    }

#define MATCH_ALL(name, T) \
    SX_EXTERN_HANDLER(name) \
    { \
        const uint32_t members = first_of(w, i->o[3]); \
        CONVERGE(members); \
        const T *a = SX_REG(T, 2); \
        const T one = a[__builtin_ctz(w->mask)]; \
        uint32_t same = 0; \
        SX_EACH_ACTIVE \
        { \
            same |= a[l] == one ? sx_bit[l] : 0; \
        } \
        const bool all = (same & members) == (w->mask & members); \
        broadcast(i, w, all ? members & w->mask : 0); \
        if (i->o[1] != SX_NO_OPERAND) \
            sx_pred_set(w, i->o[1], all ? SX_ALL_LANES : 0, w->mask); \
        return i + 1; \
    }

MATCH_ANY(match_any_32, u32)
MATCH_ANY(match_any_64, u64)
MATCH_ALL(match_all_32, u32)
MATCH_ALL(match_all_64, u64)

/* ---- redux: o[0] d, o[1] a, o[2] member mask ------------------------------------------------- */

#define REDUX(name, T, expr) \
    SX_EXTERN_HANDLER(name) \
    { \
        const uint32_t members = first_of(w, i->o[2]); \
        CONVERGE(members); \
        const T *a = SX_REG(T, 1); \
        T x = a[__builtin_ctz(w->mask)]; \
        bool begun = false; \
        SX_EACH_ACTIVE \
        { \
            const T y = a[l]; \
            x = begun ? (T)(expr) : y; \
            begun = true; \
        } \
        broadcast(i, w, (uint32_t)x); \
        return i + 1; \
    }

REDUX(redux_add, u32, x + y)
REDUX(redux_min_u32, u32, x < y ? x : y)
REDUX(redux_min_s32, s32, x < y ? x : y)
REDUX(redux_max_u32, u32, x > y ? x : y)
REDUX(redux_max_s32, s32, x > y ? x : y)
REDUX(redux_and, u32, x &y)
REDUX(redux_or, u32, x | y)
REDUX(redux_xor, u32, x ^ y)

/* ---- who is here ----------------------------------------------------------------------------- */

SX_EXTERN_HANDLER(activemask)
{
    broadcast(i, w, w->mask);
    return i + 1;
}

/* o[0] d or none, o[1] p, o[2] member mask: the lowest lane is elected */
SX_EXTERN_HANDLER(elect)
{
    const uint32_t members = first_of(w, i->o[2]);
    CONVERGE(members);
    const uint32_t here = members & w->mask ? members & w->mask : w->mask;
    const unsigned leader = (unsigned)__builtin_ctz(here);
    if (i->o[0] != SX_NO_OPERAND)
        broadcast(i, w, leader);
    sx_pred_set(w, i->o[1], sx_bit[leader], w->mask);
    return i + 1;
}

/*
 * o[0] member mask. Lanes may wait for each other at different bar.warp.sync: all those that have
 * come count.
 */
SX_EXTERN_HANDLER(warp_sync)
{
    uint32_t missing = first_of(w, i->o[0]) & w->live & ~w->mask;
    for (uint32_t n = 0; n < w->group_count; n++)
        if (w->groups[n].state == SX_AT_SYNC && w->groups[n].pc->fn == sx_op_warp_sync)
            missing &= ~w->groups[n].mask;
    if (missing && !w->forced)
        return sx_group_wait_sync(w, i);
    w->forced = false;
    if (!w->group_count)
        return i + 1;
    for (uint32_t n = 0; n < w->group_count; n++) {
        sx_group *g = &w->groups[n];
        if (g->state == SX_AT_SYNC && g->pc->fn == sx_op_warp_sync) {
            g->state = SX_RUNNABLE;
            g->pc++;
        }
    }
    return sx_group_arrive(w, i + 1);
}
