/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Branches, calls, returns, exits.
 */
#include <string.h>

#include "exec/decode.h"

/*
 * Instructions that hand the warp over (or may wait for other lanes) can not run under the guard's
 * wrapper: lanes whose guard does not hold jump over them instead.
 */
bool sx_needs_branch_around(const ptx_function *fn, const ptx_inst *inst)
{
    if (inst->guard == PTX_NO_INDEX)
        return false;
    switch (inst->op) {
    case PTX_OP_RET:
        return !fn->is_kernel;
    case PTX_OP_CALL:
    case PTX_OP_TRAP:
    case PTX_OP_BRKPT:
    case PTX_OP_BRX:
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
    case PTX_OP_SHFL:
    case PTX_OP_VOTE:
    case PTX_OP_MATCH:
    case PTX_OP_REDUX:
    case PTX_OP_ELECT:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_MMA:
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
    case PTX_OP_MOVMATRIX:
        return true;
    default:
        return false;
    }
}

static bool is_back(const sx_decoder *d, uint32_t target)
{
    return d->cfg.blocks[target].order <= d->cfg.blocks[d->block].order;
}

/* A jump to a block, which sx_decode_function resolves: imm is the block's number until then. */
static sx_insn *jump(sx_decoder *d, uint32_t target, bool conditional)
{
    const bool back = is_back(d, target);
    sx_insn *i = sx_emit_plain(d, conditional ? back ? "bra_if_back" : "bra_if"
                                  : back      ? "bra_back"
                                              : "bra");
    i->imm = target;
    i->cost = d->cfg.blocks[target].cost;
    return i;
}

static bool comes_next(const sx_decoder *d, uint32_t target)
{
    const sx_cfg *cfg = &d->cfg;
    const uint32_t at = cfg->blocks[d->block].order + 1;
    return at < cfg->layout_count && cfg->layout[at] == target;
}

void sx_emit_jump(sx_decoder *d, uint32_t target)
{
    if (!comes_next(d, target)) {
        jump(d, target, false);
        return;
    }
    /* Others may wait at the start of the next block. */
    if (d->cfg.blocks[target].preds > 1)
        sx_emit_plain(d, "join");
}

static uint32_t label_block(sx_decoder *d, const ptx_operand *op)
{
    if (op->kind == PTX_OPERAND_LABEL && op->target < d->fn->inst_count)
        return d->cfg.block_of[op->target];
    sx_refuse(d, "a label is expected");
    return 0;
}

static void guard(sx_insn *i, const sx_decoder *d, bool inverted)
{
    i->guard = SX_REG_OPERAND(d->inst->guard);
    i->negated = d->inst->guard_negated != inverted;
}

static void bra(sx_decoder *d)
{
    sx_ignore(d, PTX_MOD_UNI);
    const uint32_t target = label_block(d, sx_operand(d, 0));
    const uint32_t fall = d->cfg.blocks[d->block].fall;
    if (d->inst->guard == PTX_NO_INDEX) {
        sx_emit_jump(d, target);
        return;
    }
    if (comes_next(d, target) && fall != PTX_NO_INDEX && fall != target) {
        guard(jump(d, fall, true), d, true);
        sx_emit_jump(d, target);
        return;
    }
    guard(jump(d, target, true), d, false);
    if (fall != PTX_NO_INDEX)
        sx_emit_jump(d, fall);
}

static void brx(sx_decoder *d)
{
    sx_ignore(d, PTX_MOD_IDX);
    sx_ignore(d, PTX_MOD_UNI);
    const ptx_operand *list = sx_operand(d, 1);
    if (list->kind != PTX_OPERAND_TARGETS || !list->targets->count) {
        sx_refuse_inst(d);
        return;
    }
    const uint32_t count = list->targets->count;
    sx_switch *s = sx_own(d->module, sizeof *s + count * sizeof *s->targets);
    if (!s) {
        sx_no_memory(d);
        return;
    }
    s->count = count;
    uint32_t index = sx_use_n(d, 0, PTX_U32);
    sx_insn *i = sx_emit_plain(d, "brx");
    i->o[0] = index;
    i->info = s;
}

static void exit_thread(sx_decoder *d)
{
    if (d->inst->guard == PTX_NO_INDEX)
        sx_emit_plain(d, "exit");
    else
        guard(sx_emit_plain(d, "exit_if"), d, false);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static unsigned builtin_of(const ptx_function *f)
{
    static const struct {
        const char *name;
        unsigned builtin;
    } known[] = {
        {"vprintf", SX_BUILTIN_VPRINTF},
        {"__assertfail", SX_BUILTIN_ASSERTFAIL},
        {"malloc", SX_BUILTIN_MALLOC},
        {"free", SX_BUILTIN_FREE},
    };
    for (size_t n = 0; n < sizeof known / sizeof *known; n++)
        if (strcmp(f->name, known[n].name) == 0)
            return known[n].builtin;
    return SX_BUILTIN_NONE;
}

/* The place where the caller has an argument or wants a result. */
static sx_place place_of(sx_decoder *d, const ptx_operand *op, const ptx_var *formal)
{
    sx_place place = {.at = SX_NO_OPERAND};
    switch (op->kind) {
    case PTX_OPERAND_VAR:
        place.at = (uint32_t)op->var->offset;
        place.bytes = (uint32_t)op->var->bytes;
        if (op->var->space != PTX_SPACE_PARAM || sx_is_kernel_param(d, op->var))
            sx_refuse(d, "%s cannot be handed to a function", op->var->name);
        break;
    case PTX_OPERAND_REG:
        place.is_reg = true;
        place.at = SX_REG_OPERAND(op->reg);
        place.bytes = d->regs[op->reg].bits / 8u;
        if (!place.bytes)
            sx_refuse(d, "a predicate cannot be handed to a function");
        break;
    case PTX_OPERAND_SINK:
        break;
    default:
        place.is_reg = true;
        place.at = sx_use(d, op, formal ? formal->type : PTX_B64);
        place.bytes = sx_container(formal ? formal->type : PTX_B64) / 8u;
        break;
    }
    return place;
}

static const ptx_function *signature(const ptx_call *call)
{
    if (call->callee)
        return call->callee;
    if (!call->targets)
        return NULL;
    return call->targets->prototype ? call->targets->prototype
           : call->targets->count   ? call->targets->functions[0]
                                    : NULL;
}

static void call(sx_decoder *d)
{
    const ptx_call *c = d->inst->call;
    sx_ignore(d, PTX_MOD_UNI);
    const ptx_function *f = signature(c);
    unsigned builtin = SX_BUILTIN_NONE;
    if (c->callee && !c->callee->is_defined) {
        builtin = builtin_of(c->callee);
        if (!builtin) {
            sx_not_executed(d, "the function %s is called but not defined in the module",
                            c->callee->name);
            return;
        }
    }
    if (f && (f->param_count != c->arg_count || f->return_count != c->return_count)) {
        sx_refuse(d, "%s takes %u arguments and returns %u values", f->name, f->param_count,
                  f->return_count);
        return;
    }
    sx_call_info *info =
        sx_own(d->module, sizeof *info + (c->arg_count + c->return_count) * sizeof *info->places);
    if (!info) {
        sx_no_memory(d);
        return;
    }
    uint32_t address = c->callee ? SX_NO_OPERAND : sx_use_n(d, 0, PTX_U64);
    info->callee = c->callee && !builtin ? &d->module->codes[c->callee->index] : NULL;
    info->builtin = builtin;
    info->arg_count = c->arg_count;
    info->return_count = c->return_count;
    for (uint32_t n = 0; n < c->arg_count; n++)
        info->places[n] = place_of(d, &c->args[n], f ? f->params[n] : NULL);
    for (uint32_t n = 0; n < c->return_count; n++)
        info->places[c->arg_count + n] = place_of(d, &c->returns[n], NULL);
    sx_insn *i = sx_emit_plain(d, "call");
    i->o[0] = address;
    i->info = info;
}

bool sx_decode_control(sx_decoder *d)
{
    switch (d->inst->op) {
    case PTX_OP_BRA:
        bra(d);
        break;
    case PTX_OP_BRX:
        brx(d);
        break;
    case PTX_OP_EXIT:
        exit_thread(d);
        break;
    case PTX_OP_RET:
        sx_ignore(d, PTX_MOD_UNI);
        if (d->fn->is_kernel)
            exit_thread(d);
        else
            sx_emit_plain(d, "ret");
        break;
    case PTX_OP_TRAP:
        sx_emit_plain(d, "trap");
        break;
    case PTX_OP_BRKPT:
        sx_emit_plain(d, "brkpt");
        break;
    case PTX_OP_CALL:
        call(d);
        break;
    default:
        return false;
    }
    return true;
}
