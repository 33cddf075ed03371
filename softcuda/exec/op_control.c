/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Branches, calls, exits, and the guard around any other instruction.
 */
#include "exec/lanes.h"
#include "exec/ops.h"

/* Lanes of the running group whose guard holds. */
SX_INLINE uint32_t guard_lanes(const sx_insn *i, const sx_warp *w)
{
    uint32_t p = sx_pred(w, i->guard);
    return w->mask & (i->negated ? ~p : p);
}

SX_EXTERN_HANDLER(guarded)
{
    const uint32_t mask = w->mask;
    const uint32_t lanes = guard_lanes(i, w);
    if (lanes == mask)
        return i->inner(i, w);
    if (!lanes)
        return i + 1;
    const bool full = w->full;
    w->mask = lanes;
    w->full = false;
    const sx_insn *next = i->inner(i, w);
    w->mask = mask;
    w->full = full;
    return next;
}

SX_EXTERN_HANDLER(nop)
{
    (void)w;
    return i + 1;
}

/* The end of a block that falls through to the next one, at whose start others may wait. */
SX_EXTERN_HANDLER(join)
{
    return i + 1 >= w->wait_pc ? sx_group_arrive(w, i + 1) : i + 1;
}

SX_INLINE const sx_insn *jump(sx_warp *w, const sx_insn *target)
{
    return target >= w->wait_pc ? sx_group_arrive(w, target) : target;
}

SX_EXTERN_HANDLER(bra)
{
    return jump(w, i->target);
}

SX_EXTERN_HANDLER(bra_back)
{
    w->fuel -= i->cost;
    if (w->fuel < 0)
        return sx_group_back_edge(w, i->target, i->cost);
    return jump(w, i->target);
}

SX_EXTERN_HANDLER(bra_if)
{
    const uint32_t taken = guard_lanes(i, w);
    if (!taken)
        return i + 1;
    if (taken == w->mask)
        return jump(w, i->target);
    return sx_group_split(w, taken, i->target, i + 1);
}

SX_EXTERN_HANDLER(bra_if_back)
{
    const uint32_t taken = guard_lanes(i, w);
    if (!taken)
        return i + 1;
    w->fuel -= i->cost;
    if (taken != w->mask) {
        if (w->fuel >= 0)
            return sx_group_split(w, taken, i->target, i + 1);
        sx_group_park(w, i + 1, w->mask & ~taken, SX_RUNNABLE, 0);
        sx_set_mask(w, taken);
    }
    if (w->fuel < 0)
        return sx_group_back_edge(w, i->target, i->cost);
    return jump(w, i->target);
}

/* o[0]: index into the targets */
SX_EXTERN_HANDLER(brx)
{
    const sx_switch *s = i->info;
    const u32 *index = SX_REG(u32, 0);
    SX_EACH_ACTIVE
    {
        if (index[l] >= s->count)
            return sx_fault(w, i, l, 715, "branch target %u of %u", index[l], s->count);
        sx_group_park(w, s->targets[index[l]], sx_bit[l], SX_RUNNABLE, 0);
    }
    w->fuel -= SX_COST_LOOP;
    if (w->fuel < 0) {
        w->fuel = SX_FUEL;
        if (atomic_load_explicit(&w->block->work->failed, memory_order_relaxed)) {
            w->event = SX_EVENT_ERROR;
            return NULL;
        }
    }
    return sx_group_next(w);
}

SX_EXTERN_HANDLER(exit)
{
    (void)i;
    sx_lanes_exit(w, w->mask);
    return sx_group_next(w);
}

SX_EXTERN_HANDLER(exit_if)
{
    const uint32_t lanes = guard_lanes(i, w);
    if (!lanes)
        return i + 1;
    const uint32_t rest = w->mask & ~lanes;
    sx_lanes_exit(w, lanes);
    if (!rest)
        return sx_group_next(w);
    sx_set_mask(w, rest);
    return i + 1;
}

SX_EXTERN_HANDLER(trap)
{
    return sx_fault(w, i, (unsigned)__builtin_ctz(w->mask), 719, "trap");
}

SX_EXTERN_HANDLER(brkpt)
{
    return sx_fault(w, i, (unsigned)__builtin_ctz(w->mask), 719,
                    "a breakpoint, and no debugger is there");
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Copies one argument or result between two frames, for the lanes that run. */
static SX_NO_TSAN void copy_place(sx_warp *w, const sx_frame *to, const sx_place *dst,
                                  const sx_frame *from, const sx_place *src)
{
    uint32_t bytes = dst->bytes < src->bytes ? dst->bytes : src->bytes;
    if (dst->at == SX_NO_OPERAND || src->at == SX_NO_OPERAND)
        return;
    SX_EACH_ACTIVE
    {
        char *d = dst->is_reg ? to->regs + (dst->at & ~3u) + (size_t)l * dst->bytes
                              : sx_local_at(w, l, to->local_base + dst->at);
        const char *base = (src->at & 3) == SX_BASE_CONST ? w->base[SX_BASE_CONST] : from->regs;
        const char *s = src->is_reg ? base + (src->at & ~3u) + (size_t)l * src->bytes
                                    : sx_local_at(w, l, from->local_base + src->at);
        __builtin_memcpy(d, s, bytes);
    }
}

static const sx_insn *enter(const sx_insn *i, sx_warp *w, const sx_code *callee)
{
    const sx_call_info *info = i->info;
    sx_frame *caller = w->frame;
    if (!callee->insns) /* called through a pointer, else its callers would have been refused */
        return sx_fault(w, i, (unsigned)__builtin_ctz(w->mask), 715, "call of %s: %s",
                        callee->ptx->name, callee->refusal->text);
    sx_frame *frame = sx_frame_enter(w, callee, i);
    if (!frame)
        return sx_fault(w, i, (unsigned)__builtin_ctz(w->mask), 700,
                        "stack overflow: the call of %s needs more than the %u bytes of stack",
                        callee->ptx->name, w->block->local_bytes);
    for (uint32_t n = 0; n < info->arg_count && n < callee->ptx->param_count; n++)
        copy_place(w, frame, &callee->params[n], caller, &info->places[n]);
    w->frame = frame;
    w->base[SX_BASE_REGS] = frame->regs;
    w->wait_pc = SX_NO_WAIT;
    return callee->insns;
}

/* Lanes may call different functions: those that call the first lane's function go, the others wait
 * here. */
static const sx_insn *call_indirect(const sx_insn *i, sx_warp *w)
{
    const u64 *address = SX_REG(u64, 0);
    const unsigned first = (unsigned)__builtin_ctz(w->mask);
    uint32_t same = 0;
    SX_EACH_ACTIVE
    {
        same |= address[l] == address[first] ? sx_bit[l] : 0;
    }
    const sx_code *callee = sx_code_at(w->block->work->module, address[first]);
    if (!callee)
        return sx_fault(w, i, first, 718, "call of 0x%llx, which is not a function",
                        (unsigned long long)address[first]);
    if (same != w->mask) {
        sx_group_park(w, i, w->mask & ~same, SX_RUNNABLE, 0);
        sx_set_mask(w, same);
    }
    return enter(i, w, callee);
}

SX_EXTERN_HANDLER(call)
{
    const sx_call_info *info = i->info;
    w->fuel -= 1;
    if (w->fuel < 0) {
        w->fuel = SX_FUEL;
        if (atomic_load_explicit(&w->block->work->failed, memory_order_relaxed)) {
            w->event = SX_EVENT_ERROR;
            return NULL;
        }
    }
    if (info->builtin)
        return sx_builtin_call(i, w, info);
    return info->callee ? enter(i, w, info->callee) : call_indirect(i, w);
}

SX_EXTERN_HANDLER(ret)
{
    (void)i;
    sx_frame *frame = w->frame;
    sx_frame *caller = frame->parent;
    const sx_insn *call = frame->call;
    const sx_call_info *info = call->info;
    const sx_code *code = frame->code;
    for (uint32_t n = 0; n < info->return_count && n < code->ptx->return_count; n++)
        copy_place(w, caller, &info->places[info->arg_count + n], frame, &code->returns[n]);
    w->frame = caller;
    w->base[SX_BASE_REGS] = caller->regs;
    sx_frame_leave(w, frame, w->mask);
    return sx_group_arrive(w, call + 1);
}

/* ---- time and order -------------------------------------------------------------------------- */

SX_EXTERN_HANDLER(fence)
{
    sx_races_next_epoch(w->block);
    atomic_thread_fence(memory_order_seq_cst);
    return i + 1;
}

/* PTX: no sleep is longer than this. */
#define SLEEP_MOST 1000000

/*
 * o[0]: nanoseconds. The warp sleeps for as long as the longest of its lanes wants; meanwhile other
 * warps and blocks have their turn.
 */
SX_EXTERN_HANDLER(nanosleep)
{
    const u32 *wanted = SX_REG(u32, 0);
    uint32_t longest = 0;
    SX_EACH_ACTIVE
    {
        longest = wanted[l] > longest ? wanted[l] : longest;
    }
    if (!longest && w->group_count == 0 && w->block->live_warps == 1)
        return i + 1;
    w->wake = longest ? sx_now() + (longest < SLEEP_MOST ? longest : SLEEP_MOST) : 0;
    w->turn = ++w->last_turn;
    sx_group_park(w, i + 1, w->mask, SX_RUNNABLE, 0);
    w->event = SX_EVENT_YIELD;
    return NULL;
}
