/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Barriers of a block. Threads arrive one by one (a divergent warp in several groups); a barrier
 * without a count is complete when every thread that has not exited has arrived.
 */
#include "exec/lanes.h"
#include "exec/ops.h"

/* With a count, a whole warp counts as 32, however many of its threads still live. */
static uint32_t counted(const sx_block *b, const sx_barrier *barrier)
{
    uint32_t sum = 0;
    for (uint32_t n = 0; n < b->warp_count; n++) {
        uint32_t lanes = barrier->lanes[n];
        sum += lanes && lanes == b->warps[n].live ? SX_LANES : (uint32_t)__builtin_popcount(lanes);
    }
    return sum;
}

static bool is_complete(const sx_block *b, const sx_barrier *barrier)
{
    if (barrier->expected)
        return counted(b, barrier) >= barrier->expected;
    return barrier->arrived == b->live_threads;
}

/* Writes the result of bar.red to the lanes of one group. */
static void give_result(sx_warp *w, const sx_group *g, const sx_barrier *barrier)
{
    const sx_insn *i = g->pc;
    if (i->results == 0)
        return;
    char *regs = w->base[SX_BASE_REGS];
    w->base[SX_BASE_REGS] = g->frame->regs;
    switch (i->aux) {
    case PTX_MOD_POPC: {
        u32 *d = SX_REG(u32, 0);
        for (unsigned l = 0; l < SX_LANES; l++)
            d[l] = g->mask & sx_bit[l] ? barrier->sum : d[l];
        break;
    }
    case PTX_MOD_AND:
        sx_pred_set(w, i->o[0], barrier->sum == barrier->arrived ? SX_ALL_LANES : 0, g->mask);
        break;
    default:
        sx_pred_set(w, i->o[0], barrier->sum ? SX_ALL_LANES : 0, g->mask);
        break;
    }
    w->base[SX_BASE_REGS] = regs;
}

static void release(sx_block *b, unsigned id)
{
    sx_barrier *barrier = &b->barriers[id];
    for (uint32_t n = 0; n < b->warp_count; n++) {
        sx_warp *w = &b->warps[n];
        if (!barrier->lanes[n])
            continue;
        for (uint32_t k = 0; k < w->group_count; k++) {
            sx_group *g = &w->groups[k];
            if (g->state != SX_AT_BARRIER || g->barrier != id)
                continue;
            give_result(w, g, barrier);
            g->pc++;
            g->state = SX_RUNNABLE;
            g->barrier = 0;
            g->turn = 0; /* a group that has spun before is level with the others again */
            if (w->event == SX_EVENT_BLOCKED)
                w->event = SX_EVENT_NONE;
        }
    }
    *barrier = (sx_barrier){0};
    sx_races_next_epoch(b);
    b->barriers_used &= ~(UINT32_C(1) << id);
}

/* Threads have exited: barriers may now be complete. */
void sx_barrier_exit(sx_block *b, sx_warp *w)
{
    (void)w;
    for (uint32_t used = b->barriers_used; used; used &= used - 1) {
        unsigned id = (unsigned)__builtin_ctz(used);
        if (is_complete(b, &b->barriers[id]))
            release(b, id);
    }
}

/* The operand's value in the first lane, or the constant in the instruction. */
static uint32_t first_value(const sx_warp *w, uint32_t operand)
{
    return ((const u32 *)SX_OPERAND(w, operand))[__builtin_ctz(w->mask)];
}

/* o[1] barrier, o[2] thread count or none, o[3] predicate of .red or none; negated: of it */
static const sx_insn *arrive(const sx_insn *i, sx_warp *w, bool waits)
{
    sx_block *b = w->block;
    uint32_t id = first_value(w, i->o[1]);
    if (id >= SX_BARRIERS)
        return sx_fault(w, i, (unsigned)__builtin_ctz(w->mask), 715,
                        "barrier %u does not exist (there are %d)", id, SX_BARRIERS);
    sx_barrier *barrier = &b->barriers[id];
    if (i->o[2] != SX_NO_OPERAND)
        barrier->expected = first_value(w, i->o[2]);
    uint32_t lanes = w->mask & ~barrier->lanes[w->index];
    barrier->lanes[w->index] |= lanes;
    barrier->arrived += (uint32_t)__builtin_popcount(lanes);
    b->barriers_used |= UINT32_C(1) << id;
    if (i->o[3] != SX_NO_OPERAND) {
        uint32_t p = sx_pred(w, i->o[3]) ^ (i->imm ? SX_ALL_LANES : 0);
        barrier->sum += (uint32_t)__builtin_popcount(p & w->mask);
    }
    if (waits)
        sx_group_park(w, i, w->mask, SX_AT_BARRIER, id);
    if (is_complete(b, barrier))
        release(b, id);
    return waits ? sx_group_next(w) : i + 1;
}

SX_EXTERN_HANDLER(bar_sync)
{
    /* Makes earlier writes visible to other warps: a block's warps share a thread, but .global is
     * shared between blocks. */
    atomic_thread_fence(memory_order_seq_cst);
    return arrive(i, w, true);
}

SX_EXTERN_HANDLER(bar_arrive)
{
    atomic_thread_fence(memory_order_seq_cst);
    return arrive(i, w, false);
}
