/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Integer arithmetic: add to sad, products, quotients, carries. Floating-point forms of the same
 * opcodes are left to decode_float.c.
 */
#include "exec/decode.h"
#include "exec/op_misc.h"

static ptx_type type_of(const sx_decoder *d)
{
    return d->inst->type_count ? (ptx_type)d->inst->types[0] : PTX_TYPE_NONE;
}

/* The type of products of `type`: twice as wide. */
static ptx_type wide_of(ptx_type type)
{
    switch (type) {
    case PTX_U16:
        return PTX_U32;
    case PTX_S16:
        return PTX_S32;
    case PTX_U32:
        return PTX_U64;
    case PTX_S32:
        return PTX_S64;
    default:
        return PTX_B128;
    }
}

/* One operation on `sources` operands of the instruction's type. */
static sx_insn *simple(sx_decoder *d, const char *name, unsigned sources)
{
    const ptx_type t = type_of(d);
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t s[3] = {SX_NO_OPERAND, SX_NO_OPERAND, SX_NO_OPERAND};
    for (unsigned n = 0; n < sources; n++)
        s[n] = sx_use_n(d, n + 1, t);
    sx_insn *i = sx_emit3(d, name, r.operand, s[0], s[1], s[2]);
    sx_finish(d, &r);
    return i;
}

static void simple_named(sx_decoder *d, const char *front, const char *back, unsigned sources)
{
    char name[SX_NAME];
    sx_join_name(name, front, back, "");
    simple(d, name, sources);
}

static uint32_t carry_flag(sx_decoder *d)
{
    if (d->carry == PTX_NO_INDEX) {
        d->carry = sx_temp(d, 1) >> 2;
        d->regs[d->carry].pinned = true;
    }
    return SX_REG_OPERAND(d->carry);
}

static void with_carry(sx_decoder *d, unsigned flags)
{
    const ptx_type t = type_of(d);
    if (sx_has(d, PTX_MOD_CC))
        flags |= SX_CARRY_OUT;
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t);
    uint32_t flag = carry_flag(d);
    sx_insn *i =
        sx_emit3(d, sx_container(t) == 64 ? "carry_add_64" : "carry_add_32", r.operand, a, b, flag);
    i->aux = flags;
    sx_finish(d, &r);
}

static void add_or_sub(sx_decoder *d, bool subtract)
{
    const ptx_type t = type_of(d);
    for (unsigned n = 0; n < d->inst->mod_count; n++)
        if (d->inst->mods[n] == PTX_MOD_CC) {
            with_carry(d, subtract ? SX_CARRY_SUB : 0);
            return;
        }
    const char *front = subtract ? "sub_" : "add_";
    if (sx_has(d, PTX_MOD_SAT))
        simple_named(d, subtract ? "sub_sat_" : "add_sat_", sx_sign_name(t), 2);
    else if (t == PTX_U16X2 || t == PTX_S16X2)
        simple_named(d, front, "16x2", 2);
    else
        simple_named(d, front, sx_bits_name(t), 2);
}

/* ---- products -------------------------------------------------------------------------------- */

enum part { PART_LO, PART_HI, PART_WIDE };

static enum part part_of(sx_decoder *d)
{
    if (sx_has(d, PTX_MOD_HI))
        return PART_HI;
    if (sx_has(d, PTX_MOD_WIDE))
        return PART_WIDE;
    sx_ignore(d, PTX_MOD_LO);
    return PART_LO;
}

static void mul_or_mad(sx_decoder *d, bool adds)
{
    static const char *const fronts[2][3] = {{"mul_lo_", "mul_hi_", "mul_wide_"},
                                             {"mad_lo_", "mad_hi_", "mad_wide_"}};
    const ptx_type t = type_of(d);
    const enum part part = part_of(d);
    const ptx_type out = part == PART_WIDE ? wide_of(t) : t;
    char name[SX_NAME];
    const bool sat = adds && part == PART_HI && sx_has(d, PTX_MOD_SAT);
    sx_join_name(name, fronts[adds][part], sat ? "sat_" : "",
                 part == PART_LO ? sx_bits_name(t) : sx_sign_name(t));
    sx_result r = sx_define(d, sx_operand(d, 0), out);
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t);
    uint32_t c = adds ? sx_use_n(d, 3, out) : SX_NO_OPERAND;
    sx_emit3(d, name, r.operand, a, b, c);
    sx_finish(d, &r);
}

static void mad_with_carry(sx_decoder *d, unsigned flags)
{
    const ptx_type t = type_of(d);
    const enum part part = part_of(d);
    if (sx_has(d, PTX_MOD_CC))
        flags |= SX_CARRY_OUT;
    if (part == PART_HI)
        flags |= SX_CARRY_HI;
    if (part == PART_WIDE)
        sx_refuse_inst(d);
    if (ptx_type_is_signed(t))
        flags |= SX_CARRY_SIGNED;
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t), c = sx_use_n(d, 3, t);
    uint32_t flag = carry_flag(d);
    sx_insn *i =
        sx_emit3(d, sx_container(t) == 64 ? "carry_mad_64" : "carry_mad_32", r.operand, a, b, c);
    i->o[4] = flag;
    i->aux = flags;
    sx_finish(d, &r);
}

static void mul24_or_mad24(sx_decoder *d, bool adds)
{
    char name[SX_NAME];
    const bool high = part_of(d) == PART_HI;
    const bool sat = adds && high && sx_has(d, PTX_MOD_SAT);
    sx_join_name(name, adds ? "mad24_" : "mul24_", high ? sat ? "hi_sat_" : "hi_" : "lo_",
                 sx_sign_name(type_of(d)));
    simple(d, name, adds ? 3 : 2);
}

/* d = c + |a - b| */
static void sad(sx_decoder *d)
{
    const ptx_type t = type_of(d);
    char name[SX_NAME];
    sx_join_name(name, "sad_", sx_sign_name(t), "");
    uint32_t difference = sx_temp(d, sx_container(t));
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t);
    sx_emit2(d, name, difference, a, b);
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t c = sx_use_n(d, 3, t);
    sx_join_name(name, "add_", sx_bits_name(t), "");
    sx_emit2(d, name, r.operand, difference, c);
    sx_finish(d, &r);
}

static void min_or_max(sx_decoder *d, const char *front)
{
    const ptx_type t = type_of(d);
    const bool pair = t == PTX_U16X2 || t == PTX_S16X2;
    const bool relu = sx_has(d, PTX_MOD_RELU);
    if (d->inst->operand_count != 3)
        sx_refuse_inst(d);
    simple_named(d, front, pair ? t == PTX_U16X2 ? "u16x2" : "s16x2" : sx_sign_name(t), 2);
    if (relu) {
        sx_result r = sx_define(d, sx_operand(d, 0), t);
        sx_emit1(d, pair ? "relu_s16x2" : "relu_s32", r.operand, r.operand);
    }
}

static void dot(sx_decoder *d, bool two)
{
    const bool sa = ptx_type_is_signed((ptx_type)d->inst->types[0]);
    const bool sb = d->inst->type_count > 1 && ptx_type_is_signed((ptx_type)d->inst->types[1]);
    static const char *const names[2][2] = {{"dp4a_uu", "dp4a_us"}, {"dp4a_su", "dp4a_ss"}};
    if (!two) {
        simple(d, names[sa][sb], 3);
        return;
    }
    const bool high = sx_has(d, PTX_MOD_HI);
    sx_ignore(d, PTX_MOD_LO);
    simple(d, high ? "dp2a_hi" : "dp2a_lo", 3)->aux = (sa ? 1u : 0u) | (sb ? 2u : 0u);
}

/* Division, sign, order, dot products: no carries. */
static bool other_arithmetic(sx_decoder *d, ptx_type t)
{
    switch (d->inst->op) {
    case PTX_OP_DIV:
        simple_named(d, "div_", sx_sign_name(t), 2);
        break;
    case PTX_OP_REM:
        simple_named(d, "rem_", sx_sign_name(t), 2);
        break;
    case PTX_OP_ABS:
        simple_named(d, "abs_", sx_sign_name(t), 1);
        break;
    case PTX_OP_NEG:
        simple_named(d, "neg_", sx_bits_name(t), 1);
        break;
    case PTX_OP_MIN:
        min_or_max(d, "min_");
        break;
    case PTX_OP_MAX:
        min_or_max(d, "max_");
        break;
    case PTX_OP_DP4A:
        dot(d, false);
        break;
    case PTX_OP_DP2A:
        dot(d, true);
        break;
    default:
        return false;
    }
    return true;
}

bool sx_decode_int(sx_decoder *d)
{
    const ptx_type t = type_of(d);
    if (ptx_type_is_float(t))
        return false;
    switch (d->inst->op) {
    case PTX_OP_ADD:
        add_or_sub(d, false);
        break;
    case PTX_OP_SUB:
        add_or_sub(d, true);
        break;
    case PTX_OP_ADDC:
        with_carry(d, SX_CARRY_IN);
        break;
    case PTX_OP_SUBC:
        with_carry(d, SX_CARRY_IN | SX_CARRY_SUB);
        break;
    case PTX_OP_MUL:
        mul_or_mad(d, false);
        break;
    case PTX_OP_MAD:
        if (ptx_inst_has(d->inst, PTX_MOD_CC))
            mad_with_carry(d, 0);
        else
            mul_or_mad(d, true);
        break;
    case PTX_OP_MADC:
        mad_with_carry(d, SX_CARRY_IN);
        break;
    case PTX_OP_MUL24:
        mul24_or_mad24(d, false);
        break;
    case PTX_OP_MAD24:
        mul24_or_mad24(d, true);
        break;
    case PTX_OP_SAD:
        sad(d);
        break;
    default:
        return other_arithmetic(d, t);
    }
    return true;
}
