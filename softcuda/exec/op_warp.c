/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the lanes of a warp do together: shuffles, votes, matches, reductions.
 */
#include "exec/lanes.h"
#include "exec/ops.h"

/*
 * Lanes that run together may name different members: tiles of a warp do. Those that name the same
 * are a team, and each team acts by itself.
 */
#define EACH_TEAM(masks) \
    for (uint32_t left = w->mask, team, members; \
         left && (members = (masks)[__builtin_ctz(left)], \
                 team = same_members(masks, members, left), left &= ~team, true);)

SX_INLINE uint32_t same_members(const u32 *masks, uint32_t members, uint32_t lanes)
{
    uint32_t same = 0;
    SX_EACH_LANE
    {
        same |= masks[l] == members ? sx_bit[l] : 0;
    }
    return same & lanes;
}

/* The lanes in `lanes` that wait for no lane outside of `here`. */
SX_INLINE uint32_t complete_lanes(const sx_warp *w, const u32 *masks, uint32_t lanes, uint32_t here)
{
    uint32_t complete = 0;
    for (unsigned l = 0; l < SX_LANES; l++)
        complete |= masks[l] & w->live & ~here ? 0 : sx_bit[l];
    return complete & lanes;
}

/*
 * The lanes that the member masks name must all be here. They wait for each other, except for lanes
 * that have exited or can not come; teams that are complete go on. False: no team goes on now.
 */
SX_NO_TSAN bool sx_converged(const sx_insn *i, sx_warp *w, uint32_t operand)
{
    if (w->full && !w->forced)
        return true; /* no lane is elsewhere */
    const u32 *masks = SX_OPERAND(w, operand);
    uint32_t complete = w->forced ? w->mask : complete_lanes(w, masks, w->mask, w->mask);
    w->forced = false;
    if (!complete)
        return false;
    if (complete != w->mask) {
        sx_group_park(w, i, w->mask & ~complete, SX_AT_SYNC, 0);
        sx_set_mask(w, complete);
    }
    return true;
}

#define CONVERGE(operand) \
    do { \
        if (!sx_converged(i, w, operand)) \
            return sx_group_wait_sync(w, i); \
    } while (0)

/* A value that is the same for all lanes of a team. */
SX_INLINE void broadcast(const sx_insn *i, sx_warp *w, uint32_t team, uint32_t value)
{
    u32 *d = SX_REG(u32, 0);
    SX_EACH_LANE
    {
        d[l] = team & sx_bit[l] ? value : d[l];
    }
}

/* ---- shuffles: o[0] d, o[1] p or none, o[2] a, o[3] b, o[4] c, o[5] member mask -------------- */

/* From which lane the value comes, and whether that is inside of the segment. */
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
    CONVERGE(i->o[5]);
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

/* The member masks of a vote; without .sync, the lanes that are here. */
SX_INLINE const u32 *vote_members(const sx_insn *i, const sx_warp *w, u32 *all)
{
    if (i->o[2] != SX_NO_OPERAND)
        return SX_REG(u32, 2);
    for (unsigned l = 0; l < SX_LANES; l++)
        all[l] = SX_ALL_LANES;
    return all;
}

SX_INLINE uint32_t vote_lanes(const sx_insn *i, const sx_warp *w)
{
    return sx_pred(w, i->o[1]) ^ (i->imm ? SX_ALL_LANES : 0);
}

#define VOTE(name, value) \
    SX_EXTERN_HANDLER(name) \
    { \
        if (i->o[2] != SX_NO_OPERAND) \
            CONVERGE(i->o[2]); \
        u32 all[SX_LANES]; \
        const u32 *masks = vote_members(i, w, all); \
        const uint32_t lanes = vote_lanes(i, w); \
        EACH_TEAM(masks) \
        { \
            members &= w->mask; \
            const uint32_t p = lanes & members; \
            sx_pred_set(w, i->o[0], (value) ? SX_ALL_LANES : 0, team); \
        } \
        return i + 1; \
    }

VOTE(vote_all, p == members)
VOTE(vote_any, p != 0)
VOTE(vote_uni, p == 0 || p == members)

SX_EXTERN_HANDLER(vote_ballot)
{
    if (i->o[2] != SX_NO_OPERAND)
        CONVERGE(i->o[2]);
    u32 all[SX_LANES];
    u32 masks[SX_LANES]; /* the result may be the register that they are in */
    __builtin_memcpy(masks, vote_members(i, w, all), sizeof masks);
    const uint32_t lanes = vote_lanes(i, w);
    EACH_TEAM(masks)
    broadcast(i, w, team, lanes & members & w->mask);
    return i + 1;
}

/* ---- match: o[0] d, o[1] p or none, o[2] a, o[3] member mask --------------------------------- */

#define MATCH_ANY(name, T) \
    SX_EXTERN_HANDLER(name) \
    { \
        CONVERGE(i->o[3]); \
        u32 *d = SX_REG(u32, 0); \
        const T *a = SX_REG(T, 2); \
        const u32 *masks = SX_REG(u32, 3); \
        u32 value[SX_LANES]; \
        SX_EACH_ACTIVE \
        { \
            uint32_t same = 0; \
            for (unsigned k = 0; k < SX_LANES; k++) \
                same |= a[k] == a[l] ? sx_bit[k] : 0; \
            value[l] = same & masks[l] & w->mask; \
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
        CONVERGE(i->o[3]); \
        T a[SX_LANES]; /* results may be registers that are read here */ \
        u32 masks[SX_LANES]; \
        __builtin_memcpy(a, SX_REG(T, 2), sizeof a); \
        __builtin_memcpy(masks, SX_REG(u32, 3), sizeof masks); \
        EACH_TEAM(masks) \
        { \
            const T one = a[__builtin_ctz(team)]; \
            uint32_t same = 0; \
            SX_EACH_ACTIVE \
            { \
                same |= a[l] == one ? sx_bit[l] : 0; \
            } \
            members &= w->mask; \
            const bool all = (same & members) == members; \
            broadcast(i, w, team, all ? members : 0); \
            if (i->o[1] != SX_NO_OPERAND) \
                sx_pred_set(w, i->o[1], all ? SX_ALL_LANES : 0, team); \
        } \
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
        CONVERGE(i->o[2]); \
        T a[SX_LANES]; /* the result may be a register that is read here */ \
        u32 masks[SX_LANES]; \
        __builtin_memcpy(a, SX_REG(T, 1), sizeof a); \
        __builtin_memcpy(masks, SX_REG(u32, 2), sizeof masks); \
        EACH_TEAM(masks) \
        { \
            (void)members; \
            T x = a[__builtin_ctz(team)]; \
            for (uint32_t more = team & (team - 1); more; more &= more - 1) { \
                const T y = a[__builtin_ctz(more)]; \
                x = (T)(expr); \
            } \
            broadcast(i, w, team, (uint32_t)x); \
        } \
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
    broadcast(i, w, w->mask, w->mask);
    return i + 1;
}

/* o[0] d or none, o[1] p, o[2] member mask: the lowest lane is elected */
SX_EXTERN_HANDLER(elect)
{
    CONVERGE(i->o[2]);
    u32 masks[SX_LANES]; /* the result may be the register that they are in */
    __builtin_memcpy(masks, SX_REG(u32, 2), sizeof masks);
    EACH_TEAM(masks)
    {
        const uint32_t here = members & w->mask ? members & w->mask : team;
        const unsigned leader = (unsigned)__builtin_ctz(here);
        if (i->o[0] != SX_NO_OPERAND)
            broadcast(i, w, team, leader);
        sx_pred_set(w, i->o[1], sx_bit[leader], team);
    }
    return i + 1;
}

/* ---- bar.warp.sync: o[0] member mask --------------------------------------------------------- */

SX_INLINE bool is_at_warp_sync(const sx_group *g)
{
    return g->state == SX_AT_SYNC && g->pc->fn == sx_op_warp_sync;
}

/* The member masks of lanes that wait in another frame, or at another instruction. */
SX_INLINE const u32 *waiting_masks(const sx_warp *w, const sx_group *g)
{
    const uint32_t operand = g->pc->o[0];
    char *base = (operand & 3) == SX_BASE_REGS ? g->frame->regs : w->base[operand & 3];
    return (const u32 *)(void *)(base + (operand & ~UINT32_C(3)));
}

/* Releases lanes at a bar.warp.sync that wait for no other lane any more. */
static SX_NO_TSAN void release_waiting(sx_warp *w, uint32_t here)
{
    for (uint32_t n = 0, count = w->group_count; n < count; n++) {
        sx_group *g = &w->groups[n];
        if (!is_at_warp_sync(g))
            continue;
        const uint32_t free = complete_lanes(w, waiting_masks(w, g), g->mask, here);
        if (free == g->mask) {
            g->state = SX_RUNNABLE;
            g->pc++;
        } else if (free) {
            g->mask &= ~free;
            w->groups[w->group_count] = *g;
            g = &w->groups[w->group_count++];
            g->mask = free;
            g->state = SX_RUNNABLE;
            g->pc++;
        }
    }
}

/* Lanes may wait for each other at different bar.warp.sync instructions: all lanes that have
 * arrived count. */
SX_EXTERN_HANDLER(warp_sync)
{
    uint32_t here = w->mask;
    for (uint32_t n = 0; n < w->group_count; n++)
        here |= is_at_warp_sync(&w->groups[n]) ? w->groups[n].mask : 0;
    const uint32_t free = w->forced ? w->mask : complete_lanes(w, SX_REG(u32, 0), w->mask, here);
    w->forced = false;
    if (!w->group_count && free == w->mask)
        return i + 1;
    release_waiting(w, here);
    if (!free)
        return sx_group_wait_sync(w, i);
    if (free != w->mask) {
        sx_group_park(w, i, w->mask & ~free, SX_AT_SYNC, 0);
        sx_set_mask(w, free);
    }
    return sx_group_arrive(w, i + 1);
}
