/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Divergence. The lanes of a warp that share a place in the program are a group; one group runs,
 * the others wait in w->groups. Code is laid out so that a lower address is an earlier place (every
 * loop in one piece, before what follows it). So the group that is furthest behind runs first, and
 * meets the others where their ways join. Inside of calls, the places of the calls are compared
 * first.
 *
 * A group that has spun for a while gets a higher turn and lets the others go first. Otherwise
 * lanes that wait for other lanes of their own warp would wait for ever.
 */
#include "exec/lanes.h"

/* Whether place a is behind place b: compared in the innermost frame that both share. */
static bool is_behind(const sx_insn *a, const sx_frame *fa, const sx_insn *b, const sx_frame *fb)
{
    const uint32_t depth_a = fa->depth, depth_b = fb->depth;
    for (; fa->depth > fb->depth; fa = fa->parent)
        a = fa->call;
    for (; fb->depth > fa->depth; fb = fb->parent)
        b = fb->call;
    for (; fa != fb; fa = fa->parent, fb = fb->parent) {
        a = fa->call;
        b = fb->call;
    }
    return a != b ? a < b : depth_a > depth_b;
}

static bool goes_before(const sx_group *a, const sx_group *b)
{
    return a->turn != b->turn ? a->turn < b->turn : is_behind(a->pc, a->frame, b->pc, b->frame);
}

void sx_group_park(sx_warp *w, const sx_insn *pc, uint32_t mask, unsigned state, unsigned barrier)
{
    if (state == SX_RUNNABLE && pc < w->wait_pc)
        w->wait_pc = pc;
    for (uint32_t n = 0; n < w->group_count; n++) {
        sx_group *g = &w->groups[n];
        if (g->pc == pc && g->frame == w->frame && g->state == state && g->barrier == barrier) {
            g->mask |= mask;
            g->turn = g->turn < w->turn ? g->turn : w->turn;
            return;
        }
    }
    w->groups[w->group_count++] = (sx_group){
        .pc = pc,
        .frame = w->frame,
        .mask = mask,
        .turn = w->turn,
        .state = (uint8_t)state,
        .barrier = (uint8_t)barrier,
    };
}

/* The lowest place in the running group's frame at which others wait for it. */
static void find_wait_pc(sx_warp *w, const sx_insn *pc)
{
    w->wait_pc = SX_NO_WAIT;
    for (uint32_t n = 0; n < w->group_count; n++) {
        const sx_group *g = &w->groups[n];
        if (g->state == SX_RUNNABLE && g->frame == w->frame && g->pc < w->wait_pc &&
            (g->turn <= w->turn || g->pc > pc))
            w->wait_pc = g->pc;
    }
}

static void take(sx_warp *w, uint32_t n)
{
    w->groups[n] = w->groups[--w->group_count];
}

/* Makes group n the running one, together with all that wait at the same place. */
static const sx_insn *resume(sx_warp *w, uint32_t n)
{
    const sx_group g = w->groups[n];
    take(w, n);
    w->frame = g.frame;
    w->base[SX_BASE_REGS] = g.frame->regs;
    w->turn = g.turn;
    uint32_t mask = g.mask;
    for (n = 0; n < w->group_count;) {
        const sx_group *other = &w->groups[n];
        if (other->pc == g.pc && other->frame == g.frame && other->state == g.state &&
            other->state != SX_AT_BARRIER) {
            mask |= other->mask;
            take(w, n);
        } else {
            n++;
        }
    }
    sx_set_mask(w, mask);
    find_wait_pc(w, g.pc);
    return g.pc;
}

/* Chooses the group that runs next; NULL with an event if none can. */
const sx_insn *sx_group_next(sx_warp *w)
{
    uint32_t best = UINT32_MAX, waiting = UINT32_MAX;
    for (uint32_t n = 0; n < w->group_count; n++) {
        const sx_group *g = &w->groups[n];
        if (g->state == SX_RUNNABLE && (best == UINT32_MAX || goes_before(g, &w->groups[best])))
            best = n;
        if (g->state == SX_AT_SYNC &&
            (waiting == UINT32_MAX || goes_before(g, &w->groups[waiting])))
            waiting = n;
    }
    if (best != UINT32_MAX)
        return resume(w, best);
    if (waiting != UINT32_MAX) {
        /* The lanes that it waits for will not come: a GPU goes on with those that are there. */
        w->forced = true;
        return resume(w, waiting);
    }
    w->event = w->live ? SX_EVENT_BLOCKED : SX_EVENT_DONE;
    return NULL;
}

/* The running group arrives at pc; others of its frame may wait there or before. */
const sx_insn *sx_group_arrive(sx_warp *w, const sx_insn *pc)
{
    if (!w->group_count) {
        w->wait_pc = SX_NO_WAIT;
        return pc;
    }
    sx_group_park(w, pc, w->mask, SX_RUNNABLE, 0);
    return sx_group_next(w);
}

const sx_insn *sx_group_split(sx_warp *w, uint32_t taken, const sx_insn *target,
                              const sx_insn *fall)
{
    uint32_t rest = w->mask & ~taken;
    const sx_insn *low = target < fall ? target : fall;
    const sx_insn *high = target < fall ? fall : target;
    if (low >= w->wait_pc) {
        sx_group_park(w, high, target < fall ? rest : taken, SX_RUNNABLE, 0);
        sx_group_park(w, low, target < fall ? taken : rest, SX_RUNNABLE, 0);
        return sx_group_next(w);
    }
    sx_group_park(w, high, target < fall ? rest : taken, SX_RUNNABLE, 0);
    sx_set_mask(w, target < fall ? taken : rest);
    return low;
}

/* Groups that wait at the same instruction, in another activation of its function, join ours. */
static void gather_frames(sx_warp *w, const sx_insn *pc)
{
    for (uint32_t n = 0; n < w->group_count; n++)
        if (w->groups[n].state == SX_AT_SYNC && w->groups[n].pc == pc &&
            w->groups[n].frame != w->frame)
            (void)sx_frame_merge(w, w->frame, w->groups[n].frame);
}

/*
 * A .sync instruction needs lanes that are elsewhere. Those that wait at the same place join;
 * otherwise the group waits, unless there is nobody left who could come.
 */
const sx_insn *sx_group_wait_sync(sx_warp *w, const sx_insn *pc)
{
    uint32_t here = w->mask;
    gather_frames(w, pc);
    for (uint32_t n = 0; n < w->group_count;) {
        const sx_group *g = &w->groups[n];
        if (g->state == SX_AT_SYNC && g->pc == pc && g->frame == w->frame) {
            here |= g->mask;
            take(w, n);
        } else {
            n++;
        }
    }
    w->base[SX_BASE_REGS] = w->frame->regs;
    if (here != w->mask) {
        sx_set_mask(w, here); /* more lanes are here: try again */
        find_wait_pc(w, pc);
        return pc;
    }
    sx_group_park(w, pc, w->mask, SX_AT_SYNC, 0);
    return sx_group_next(w);
}

/* A backward branch has used up the warp's fuel: looks at the world, and lets others go on. */
const sx_insn *sx_group_back_edge(sx_warp *w, const sx_insn *target, unsigned cost)
{
    sx_work *work = w->block->work;
    const _Atomic(int) *stop = work->launch->stop;
    w->fuel = SX_FUEL;
    /* relaxed: only a hint to give up; the outcome is published by the pool's lock */
    if (atomic_load_explicit(&work->failed, memory_order_relaxed)) {
        w->event = SX_EVENT_ERROR;
        return NULL;
    }
    if (stop && atomic_load_explicit(stop, memory_order_relaxed)) {
        sx_fault_block(w->block, 719, "the launch was stopped from outside");
        w->event = SX_EVENT_ERROR;
        return NULL;
    }
    if (cost <= SX_COST_LOOP)
        return target >= w->wait_pc ? sx_group_arrive(w, target) : target;
    w->turn = ++w->last_turn;
    sx_group_park(w, target, w->mask, SX_RUNNABLE, 0);
    w->event = SX_EVENT_YIELD;
    return NULL;
}

/* The lanes end. The caller takes care of w->mask. */
void sx_lanes_exit(sx_warp *w, uint32_t lanes)
{
    w->live &= ~lanes;
    for (sx_frame *f = w->frame; f;) {
        sx_frame *parent = f->parent;
        sx_frame_leave(w, f, lanes);
        f = parent;
    }
    w->block->live_threads -= (uint32_t)__builtin_popcount(lanes);
    sx_barrier_exit(w->block, w);
}
