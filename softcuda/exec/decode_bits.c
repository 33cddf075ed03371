/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Logic, shifts, bit fields, permutations, and packed video instructions.
 */
#include "exec/decode.h"
#include "exec/op_misc.h"

static ptx_type type_of(const sx_decoder *d)
{
    return d->inst->type_count ? (ptx_type)d->inst->types[0] : PTX_TYPE_NONE;
}

/* Result and sources with a type each; NONE ends the list. */
static sx_insn *typed(sx_decoder *d, const char *front, const char *back, ptx_type result,
                      ptx_type a, ptx_type b, ptx_type c)
{
    char name[SX_NAME];
    sx_join_name(name, front, back, "");
    const ptx_type types[3] = {a, b, c};
    sx_result r = sx_define(d, sx_operand(d, 0), result);
    uint32_t s[3] = {SX_NO_OPERAND, SX_NO_OPERAND, SX_NO_OPERAND};
    for (unsigned n = 0; n < 3 && types[n] != PTX_TYPE_NONE; n++)
        s[n] = sx_use_n(d, n + 1, types[n]);
    sx_insn *i = sx_emit3(d, name, r.operand, s[0], s[1], s[2]);
    sx_finish(d, &r);
    return i;
}

static void logic(sx_decoder *d, const char *front, unsigned sources)
{
    const ptx_type t = type_of(d);
    char name[SX_NAME];
    if (t != PTX_PRED) {
        typed(d, front, sx_bits_name(t), t, t, sources > 1 ? t : PTX_TYPE_NONE, PTX_TYPE_NONE);
        return;
    }
    uint32_t a = sx_use_pred(d, sx_operand(d, 1));
    uint32_t b = sources > 1 ? sx_use_pred(d, sx_operand(d, 2)) : SX_NO_OPERAND;
    sx_join_name(name, front, "pred", "");
    sx_emit2(d, name, sx_define_pred(d, sx_operand(d, 0)), a, b);
}

static void prmt(sx_decoder *d)
{
    static const ptx_mod modes[] = {PTX_MOD_F4E, PTX_MOD_B4E, PTX_MOD_RC8,
                                    PTX_MOD_ECL, PTX_MOD_ECR, PTX_MOD_RC16};
    for (unsigned n = 0; n < 6; n++)
        if (sx_has(d, modes[n])) {
            typed(d, "prmt_mode_32", "", PTX_B32, PTX_B32, PTX_B32, PTX_B32)->aux = n;
            return;
        }
    typed(d, "prmt_32", "", PTX_B32, PTX_B32, PTX_B32, PTX_B32);
}

static void funnel_shift(sx_decoder *d)
{
    const bool left = sx_has(d, PTX_MOD_L);
    sx_ignore(d, PTX_MOD_R);
    const bool wrap = sx_has(d, PTX_MOD_WRAP);
    sx_ignore(d, PTX_MOD_CLAMP);
    typed(d, left ? "shf_l_" : "shf_r_", wrap ? "wrap_32" : "clamp_32", PTX_B32, PTX_B32, PTX_B32,
          PTX_U32);
}

static void bfi(sx_decoder *d)
{
    const ptx_type t = type_of(d);
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t);
    uint32_t pos = sx_use_n(d, 3, PTX_U32), len = sx_use_n(d, 4, PTX_U32);
    char name[SX_NAME];
    sx_join_name(name, "bfi_", sx_bits_name(t), "");
    sx_emit3(d, name, r.operand, a, b, pos)->o[4] = len;
    sx_finish(d, &r);
}

static void lop3(sx_decoder *d)
{
    const ptx_operand *table = sx_operand(d, 4);
    if (table->kind != PTX_OPERAND_INTEGER || sx_operand(d, 0)->kind == PTX_OPERAND_PAIR) {
        sx_refuse_inst(d);
        return;
    }
    typed(d, "lop3_32", "", PTX_B32, PTX_B32, PTX_B32, PTX_B32)->aux =
        (uint32_t)table->value & 0xff;
}

/* Whether bits past the end wrap around: bmsk and szext. */
static unsigned wraps(sx_decoder *d)
{
    sx_ignore(d, PTX_MOD_CLAMP);
    return sx_has(d, PTX_MOD_WRAP);
}

/* ---- packed video instructions: without selectors, masks or scalar forms --------------------- */

static int video_op(sx_decoder *d, bool *halves)
{
    const ptx_op op = d->inst->op;
    *halves = op == PTX_OP_VADD2 || op == PTX_OP_VSUB2 || op == PTX_OP_VAVRG2 ||
              op == PTX_OP_VABSDIFF2 || op == PTX_OP_VMIN2 || op == PTX_OP_VMAX2 ||
              op == PTX_OP_VSET2;
    switch (op) {
    case PTX_OP_VADD2:
    case PTX_OP_VADD4:
        return SX_VIDEO_ADD;
    case PTX_OP_VSUB2:
    case PTX_OP_VSUB4:
        return SX_VIDEO_SUB;
    case PTX_OP_VAVRG2:
    case PTX_OP_VAVRG4:
        return SX_VIDEO_AVRG;
    case PTX_OP_VABSDIFF2:
    case PTX_OP_VABSDIFF4:
        return SX_VIDEO_ABSDIFF;
    case PTX_OP_VMIN2:
    case PTX_OP_VMIN4:
        return SX_VIDEO_MIN;
    case PTX_OP_VMAX2:
    case PTX_OP_VMAX4:
        return SX_VIDEO_MAX;
    case PTX_OP_VSET2:
    case PTX_OP_VSET4: {
        static const ptx_mod compares[] = {PTX_MOD_EQ, PTX_MOD_NE, PTX_MOD_LT,
                                           PTX_MOD_LE, PTX_MOD_GT, PTX_MOD_GE};
        for (int n = 0; n < 6; n++)
            if (sx_has(d, compares[n]))
                return SX_VIDEO_EQ + n;
        return -1;
    }
    default:
        return -1;
    }
}

static bool video(sx_decoder *d)
{
    bool halves;
    const int op = video_op(d, &halves);
    if (op < 0)
        return false;
    const ptx_inst *inst = d->inst;
    const bool is_set = op >= SX_VIDEO_EQ;
    const unsigned first = is_set ? 0 : 1; /* vset has no type of its result */
    if (inst->type_count < first + 2) {
        sx_refuse_inst(d);
        return true;
    }
    uint32_t aux = (uint32_t)op | (halves ? SX_VIDEO_HALVES : 0u);
    aux |= ptx_type_is_signed((ptx_type)inst->types[first]) ? SX_VIDEO_SIGNED_A : 0u;
    aux |= ptx_type_is_signed((ptx_type)inst->types[first + 1]) ? SX_VIDEO_SIGNED_B : 0u;
    if (!is_set)
        aux |= ptx_type_is_signed((ptx_type)inst->types[0]) ? SX_VIDEO_SIGNED_D : 0u;
    aux |= sx_has(d, PTX_MOD_SAT) ? SX_VIDEO_SAT : 0u;
    aux |= sx_has(d, PTX_MOD_ADD) ? SX_VIDEO_SUM : 0u;
    typed(d, "video", "", PTX_B32, PTX_B32, PTX_B32, PTX_B32)->aux = aux;
    return true;
}

/* Fields, masks and permutations; the rest is video arithmetic. */
static bool fields(sx_decoder *d, ptx_type t)
{
    switch (d->inst->op) {
    case PTX_OP_BFIND: {
        const bool amount = sx_has(d, PTX_MOD_SHIFTAMT);
        typed(d, "bfind_", sx_sign_name(t), PTX_U32, t, PTX_TYPE_NONE, PTX_TYPE_NONE)->aux = amount;
        break;
    }
    case PTX_OP_BFE:
        typed(d, "bfe_", sx_sign_name(t), t, t, PTX_U32, PTX_U32);
        break;
    case PTX_OP_BFI:
        bfi(d);
        break;
    case PTX_OP_BMSK:
        typed(d, "bmsk_32", "", PTX_U32, PTX_U32, PTX_U32, PTX_TYPE_NONE)->aux = wraps(d);
        break;
    case PTX_OP_SZEXT:
        typed(d, "szext_", sx_sign_name(t), t, t, PTX_U32, PTX_TYPE_NONE)->aux = wraps(d);
        break;
    case PTX_OP_FNS:
        typed(d, "fns_32", "", PTX_U32, PTX_U32, PTX_U32, PTX_S32);
        break;
    case PTX_OP_PRMT:
        prmt(d);
        break;
    case PTX_OP_LOP3:
        lop3(d);
        break;
    default:
        return video(d);
    }
    return true;
}

bool sx_decode_bits(sx_decoder *d)
{
    const ptx_type t = type_of(d);
    switch (d->inst->op) {
    case PTX_OP_AND:
        logic(d, "and_", 2);
        break;
    case PTX_OP_OR:
        logic(d, "or_", 2);
        break;
    case PTX_OP_XOR:
        logic(d, "xor_", 2);
        break;
    case PTX_OP_NOT:
        logic(d, "not_", 1);
        break;
    case PTX_OP_CNOT:
        typed(d, "cnot_", sx_bits_name(t), t, t, PTX_TYPE_NONE, PTX_TYPE_NONE);
        break;
    case PTX_OP_SHL:
        typed(d, "shl_", sx_bits_name(t), t, t, PTX_U32, PTX_TYPE_NONE);
        break;
    case PTX_OP_SHR:
        typed(d, "shr_", sx_sign_name(t), t, t, PTX_U32, PTX_TYPE_NONE);
        break;
    case PTX_OP_SHF:
        funnel_shift(d);
        break;
    case PTX_OP_POPC:
        typed(d, "popc_", sx_bits_name(t), PTX_U32, t, PTX_TYPE_NONE, PTX_TYPE_NONE);
        break;
    case PTX_OP_CLZ:
        typed(d, "clz_", sx_bits_name(t), PTX_U32, t, PTX_TYPE_NONE, PTX_TYPE_NONE);
        break;
    case PTX_OP_BREV:
        typed(d, "brev_", sx_bits_name(t), t, t, PTX_TYPE_NONE, PTX_TYPE_NONE);
        break;
    default:
        return fields(d, t);
    }
    return true;
}
