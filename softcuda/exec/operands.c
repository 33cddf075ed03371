/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operands of PTX instructions: sources of any kind as registers of one width, results, addresses.
 */
#include <stdio.h>

#include "exec/decode.h"
#include "exec/ops.h"

const ptx_operand *sx_operand(sx_decoder *d, unsigned n)
{
    static const ptx_operand sink = {.kind = PTX_OPERAND_SINK};
    if (n < d->inst->operand_count)
        return &d->inst->operands[n];
    sx_refuse(d, "operand %u is missing", n + 1);
    return &sink;
}

static unsigned reg_bits(const sx_decoder *d, uint32_t operand)
{
    return d->regs[operand >> 2].bits;
}

void sx_widen(sx_decoder *d, uint32_t r, unsigned to_bits, uint32_t a, unsigned from_bits,
              bool is_signed)
{
    static const char *const moves[] = {[1] = "mov_16", [2] = "mov_32", [4] = "mov_64"};
    char name[SX_NAME];
    if (to_bits == from_bits) {
        sx_emit1(d, moves[to_bits / 16], r, a);
        return;
    }
    /* narrowing is the same for both signs */
    const char sign = is_signed && to_bits > from_bits ? 's' : 'u';
    snprintf(name, sizeof name, "cvt_%u_%c%u", to_bits, sign, from_bits);
    sx_emit1(d, name, r, a);
}

bool sx_is_kernel_param(const sx_decoder *d, const ptx_var *var)
{
    if (!d->fn->is_kernel || var->space != PTX_SPACE_PARAM)
        return false;
    for (uint32_t n = 0; n < d->fn->param_count; n++)
        if (d->fn->params[n] == var)
            return true;
    return false;
}

uint64_t sx_function_address(const ptx_function *f)
{
    return SX_CODE_WINDOW + 16 * ((uint64_t)f->index + 1);
}

/* The address in the variable's own space; a kernel's .param is generic. */
uint32_t sx_address_of(sx_decoder *d, const ptx_var *var, int64_t offset)
{
    const uint64_t at = var->offset + (uint64_t)offset;
    sx_insn *i;
    switch (var->space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
        return sx_constant(d, d->module->var_address[var->index] + (uint64_t)offset, 64);
    case PTX_SPACE_SHARED:
        if (!var->dynamic)
            return sx_constant(d, at, 64);
        i = sx_emit1(d, "dynamic_shared", sx_temp(d, 64), SX_NO_OPERAND);
        i->imm = offset;
        return i->o[0];
    case PTX_SPACE_LOCAL:
        i = sx_emit1(d, "frame_address", sx_temp(d, 64), SX_NO_OPERAND);
        i->imm = (int64_t)(d->code->local_offset + at);
        return i->o[0];
    case PTX_SPACE_PARAM:
        if (sx_is_kernel_param(d, var))
            return sx_constant(d, SX_PARAM_WINDOW + at, 64);
        /* a .func's parameter lies on the stack: its address is one of .local, not a generic one */
        i = sx_emit1(d, "frame_address", sx_temp(d, 64), SX_NO_OPERAND);
        i->imm = (int64_t)at;
        return i->o[0];
    default:
        sx_not_executed(d,
                        "the software device does not execute accesses to %s, which is in .%s",
                        var->name, ptx_space_name(var->space));
        return sx_constant(d, 0, 64);
    }
}

/* A special register, in a register of its own type. */
static uint32_t use_special(sx_decoder *d, const ptx_operand *op, unsigned *bits)
{
    const ptx_type type = op->special == PTX_SPECIAL_ENVREG || op->special == PTX_SPECIAL_PM
                              ? PTX_B32
                              : ptx_special_type(op->special);
    *bits = sx_container(type);
    if (op->special >= PTX_SPECIAL_TID_X && op->special <= PTX_SPECIAL_TID_Z)
        return (uint32_t)(op->special - PTX_SPECIAL_TID_X) * SX_LANES * 4 | SX_BASE_TID;
    if (type == PTX_PRED) /* %is_explicit_cluster: no */
        return sx_constant(d, 0, 1);
    sx_insn *i =
        sx_emit1(d, *bits == 64 ? "special_64" : "special_32", sx_temp(d, *bits), SX_NO_OPERAND);
    i->aux = op->special;
    i->imm = (int64_t)op->value; /* the number of an %envreg or %pm */
    return i->o[0];
}

static uint32_t to_width(sx_decoder *d, uint32_t operand, unsigned have, unsigned want)
{
    if (have == want)
        return operand;
    if (have < 16 || want < 16 || have > 64 || want > 64) {
        sx_refuse_inst(d);
        return operand;
    }
    uint32_t r = sx_temp(d, want);
    sx_widen(d, r, want, operand, have, false);
    return r;
}

uint32_t sx_use(sx_decoder *d, const ptx_operand *op, ptx_type type)
{
    const unsigned want = sx_container(type);
    unsigned have = want;
    uint32_t r;
    if (want == 128) {
        sx_refuse_inst(d);
        return sx_constant(d, 0, 64);
    }
    switch (op->kind) {
    case PTX_OPERAND_REG:
        if (op->selector != PTX_MOD_OTHER) {
            sx_refuse_inst(d);
            return SX_REG_OPERAND(op->reg);
        }
        r = SX_REG_OPERAND(op->reg);
        have = reg_bits(d, r);
        break;
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_FLOAT:
        return sx_constant(d, ptx_constant_bits(op, type), want);
    case PTX_OPERAND_SPECIAL:
        r = use_special(d, op, &have);
        break;
    case PTX_OPERAND_VAR:
        r = sx_address_of(d, op->var, op->offset);
        have = 64;
        break;
    case PTX_OPERAND_FUNCTION:
        r = sx_constant(d, sx_function_address(op->function), 64);
        have = 64;
        break;
    default:
        sx_refuse_inst(d);
        return sx_constant(d, 0, want);
    }
    return to_width(d, r, have, want);
}

uint32_t sx_use_n(sx_decoder *d, unsigned n, ptx_type type)
{
    return sx_use(d, sx_operand(d, n), type);
}

uint32_t sx_use_pred(sx_decoder *d, const ptx_operand *op)
{
    uint32_t r;
    if (op->kind == PTX_OPERAND_INTEGER)
        return sx_constant(d, op->value != 0, 1);
    if (op->kind == PTX_OPERAND_SPECIAL) {
        unsigned bits;
        return use_special(d, op, &bits);
    }
    if (op->kind != PTX_OPERAND_REG || reg_bits(d, SX_REG_OPERAND(op->reg)) != 1) {
        sx_refuse(d, "a predicate is expected");
        return sx_constant(d, 0, 1);
    }
    r = SX_REG_OPERAND(op->reg);
    if (!op->negated)
        return r;
    return sx_emit1(d, "not_pred", sx_temp(d, 1), r)->o[0];
}

sx_result sx_define(sx_decoder *d, const ptx_operand *op, ptx_type type)
{
    const unsigned want = sx_container(type);
    sx_result r = {.reg = SX_NO_OPERAND, .type = type};
    if (want == 128 || (op->kind != PTX_OPERAND_REG && op->kind != PTX_OPERAND_SINK)) {
        sx_refuse_inst(d);
        r.operand = sx_temp(d, 64);
        return r;
    }
    if (op->kind == PTX_OPERAND_SINK) {
        r.operand = sx_temp(d, want);
        return r;
    }
    r.operand = SX_REG_OPERAND(op->reg);
    const unsigned have = reg_bits(d, r.operand);
    if (have == want)
        return r;
    if (have < want || want == 1) {
        sx_refuse(d, "the register is narrower than the value");
        return r;
    }
    r.reg = r.operand;
    r.operand = sx_temp(d, want);
    return r;
}

void sx_finish(sx_decoder *d, const sx_result *r)
{
    if (r->reg != SX_NO_OPERAND)
        sx_widen(d, r->reg, reg_bits(d, r->reg), r->operand, sx_container(r->type),
                 ptx_type_is_signed(r->type));
}

uint32_t sx_define_pred(sx_decoder *d, const ptx_operand *op)
{
    if (op->kind == PTX_OPERAND_SINK)
        return sx_temp(d, 1);
    if (op->kind != PTX_OPERAND_REG || reg_bits(d, SX_REG_OPERAND(op->reg)) != 1) {
        sx_refuse(d, "a predicate register is expected");
        return sx_temp(d, 1);
    }
    return SX_REG_OPERAND(op->reg);
}
