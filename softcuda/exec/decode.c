/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One function, from PTX to code that runs: instructions are decoded block by block in the order of
 * cfg.c, then registers get their places, then jumps their targets. The first thing that is not
 * supported refuses the function.
 */
#include "exec/decode.h"

#include <stdlib.h>
#include <string.h>

#include "exec/ops.h"

/* ---- instructions ---------------------------------------------------------------------------- */

/* Refuses the instruction if nobody has understood one of its modifiers: it may change the
 * meaning. */
static void check_modifiers(sx_decoder *d)
{
    for (unsigned n = 0; n < d->inst->mod_count && !d->failed; n++)
        if (!(d->consumed >> n & 1))
            sx_refuse_inst(d);
}

/*
 * The instruction's guard. An instruction that sets two predicates sets one after the other: if the
 * guard is one of them, the second goes by what the guard was before.
 */
static uint32_t guard_of(sx_decoder *d)
{
    const ptx_inst *inst = d->inst;
    if (inst->guard == PTX_NO_INDEX)
        return SX_NO_OPERAND;
    const uint32_t guard = SX_REG_OPERAND(inst->guard);
    const ptx_operand *to = inst->operand_count ? &inst->operands[0] : NULL;
    for (unsigned n = 0; to && to->kind == PTX_OPERAND_PAIR && n < 2; n++) {
        if (to->items[n].kind != PTX_OPERAND_REG || to->items[n].reg != inst->guard)
            continue;
        sx_insn *i = sx_emit_plain(d, "mov_pred");
        i->o[0] = sx_temp(d, 1);
        i->o[1] = guard;
        i->results = 1;
        return i->o[0];
    }
    return guard;
}

static void decode_form(sx_decoder *d)
{
    d->guard = d->in_branch_around ? SX_NO_OPERAND : guard_of(d);
    if (d->inst->op == PTX_OP_UNKNOWN) {
        sx_refuse(d, "the software device knows no such instruction");
        return;
    }
    if (!sx_decode_int(d) && !sx_decode_float(d) && !sx_decode_bits(d) && !sx_decode_compare(d) &&
        !sx_decode_move(d) && !sx_decode_cvt(d) && !sx_decode_memory(d) && !sx_decode_async(d) &&
        !sx_decode_warp(d) && !sx_decode_matrix(d) && !sx_decode_control(d))
        sx_refuse_inst(d);
    check_modifiers(d);
}

/* Lanes whose guard does not hold jump to the next block; the others execute the instruction and
 * follow. */
static void decode_around(sx_decoder *d)
{
    const uint32_t next = d->cfg.blocks[d->block].fall;
    if (next == PTX_NO_INDEX) {
        sx_refuse_inst(d);
        return;
    }
    sx_insn *i = sx_emit_plain(d, "bra_if");
    i->imm = next;
    i->guard = SX_REG_OPERAND(d->inst->guard);
    i->negated = !d->inst->guard_negated;
    if (d->cfg.blocks[next].order <= d->cfg.blocks[d->block].order) {
        i->fn = sx_op_bra_if_back;
        i->cost = d->cfg.blocks[next].cost;
    }
    d->in_branch_around = true;
    decode_form(d);
    d->in_branch_around = false;
    if (d->inst->op != PTX_OP_RET && d->inst->op != PTX_OP_TRAP && d->inst->op != PTX_OP_BRX)
        sx_emit_jump(d, next);
}

static bool is_terminator(const sx_decoder *d, const ptx_inst *inst)
{
    return inst->op == PTX_OP_BRA || inst->op == PTX_OP_BRX || sx_needs_branch_around(d->fn, inst);
}

static void decode_block(sx_decoder *d, uint32_t number)
{
    sx_cfg_block *b = &d->cfg.blocks[number];
    d->block = number;
    b->start = (uint32_t)d->count;
    sx_forget_addresses(d);
    bool jumped = false;
    for (uint32_t n = b->first; n < b->end && !d->failed; n++) {
        d->inst = &d->fn->insts[n];
        d->consumed = 0;
        if (sx_needs_branch_around(d->fn, d->inst))
            decode_around(d);
        else
            decode_form(d);
        jumped = is_terminator(d, d->inst);
    }
    if (!jumped && b->fall != PTX_NO_INDEX)
        sx_emit_jump(d, b->fall);
    if (d->count == b->start)
        sx_emit_plain(d, "nop"); /* every block needs an address of its own */
    b->stop = (uint32_t)d->count;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void declare_registers(sx_decoder *d)
{
    const ptx_function *fn = d->fn;
    d->reg_count = 0;
    for (uint32_t n = 0; n < fn->reg_count && !d->failed; n++)
        sx_temp(d, sx_container((ptx_type)fn->reg_types[n]));
    const ptx_var *const *lists[] = {fn->params, fn->returns};
    const uint32_t counts[] = {fn->is_kernel ? 0 : fn->param_count, fn->return_count};
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t n = 0; n < counts[k] && !d->failed; n++)
            if (lists[k][n]->space == PTX_SPACE_REG)
                d->regs[lists[k][n]->reg].pinned = true; /* written and read from outside */
}

static const sx_place *places_of(sx_decoder *d, const ptx_var *const *vars, uint32_t count)
{
    sx_place *places = sx_own(d->module, (count + 1) * sizeof *places);
    if (!places) {
        sx_no_memory(d);
        return NULL;
    }
    for (uint32_t n = 0; n < count; n++) {
        places[n].is_reg = vars[n]->space == PTX_SPACE_REG;
        places[n].at = places[n].is_reg ? d->regs[vars[n]->reg].place : (uint32_t)vars[n]->offset;
        places[n].bytes =
            places[n].is_reg ? d->regs[vars[n]->reg].bits / 8u : (uint32_t)vars[n]->bytes;
    }
    return places;
}

static void resolve_branches(const sx_decoder *d, sx_insn *insns)
{
    for (size_t n = 0; n < d->count; n++) {
        sx_insn *i = &insns[n];
        if (i->fn == sx_op_bra || i->fn == sx_op_bra_back || i->fn == sx_op_bra_if ||
            i->fn == sx_op_bra_if_back)
            i->target = &insns[d->cfg.blocks[i->imm].start];
        if (i->fn != sx_op_brx)
            continue;
        const ptx_targets *list = d->fn->insts[i->source].operands[1].targets;
        sx_switch *s = (sx_switch *)(uintptr_t)i->info; /* made by the decoder, not yet shared */
        for (uint32_t k = 0; k < s->count; k++)
            s->targets[k] = &insns[d->cfg.blocks[d->cfg.block_of[list->labels[k]]].start];
    }
}

static void finish(sx_decoder *d)
{
    sx_code *code = d->code;
    sx_insn *insns = sx_own(d->module, d->count * sizeof *insns);
    if (!insns) {
        sx_no_memory(d);
        return;
    }
    memcpy(insns, d->insns, d->count * sizeof *insns);
    resolve_branches(d, insns);
    code->insns = insns;
    code->count = d->count;
    if (!d->fn->is_kernel) {
        code->params = places_of(d, d->fn->params, d->fn->param_count);
        code->returns = places_of(d, d->fn->returns, d->fn->return_count);
    }
}

void sx_decode_function(sx_decoder *d, const ptx_function *fn)
{
    d->fn = fn;
    d->code = &d->module->codes[fn->index];
    d->count = 0;
    d->inst = NULL;
    d->carry = PTX_NO_INDEX;
    d->in_branch_around = false;
    const uint64_t align = fn->local_align > 16 ? fn->local_align : 16;
    const uint64_t local_offset = (fn->param_frame + align - 1) & ~(align - 1);
    if (local_offset + fn->local_bytes > (1u << 24)) {
        sx_not_executed(d, "%s needs %llu bytes of local memory for each thread", fn->name,
                  (unsigned long long)(local_offset + fn->local_bytes));
        return;
    }
    d->code->local_offset = (uint32_t)local_offset;
    d->code->local_bytes = (uint32_t)((local_offset + fn->local_bytes + 15) & ~UINT64_C(15));
    declare_registers(d);
    if (!d->failed && sx_cfg_build(d)) {
        for (uint32_t n = 0; n < d->cfg.layout_count && !d->failed; n++)
            decode_block(d, d->cfg.layout[n]);
        if (!d->failed && sx_place_registers(d))
            finish(d);
    }
    sx_cfg_free(&d->cfg);
}
