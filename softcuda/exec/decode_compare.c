/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Comparisons and selections: setp, set, selp, slct.
 */
#include "exec/decode.h"

/* PTX's word and the operation's word; the unsigned words for the same comparisons follow. */
static const struct {
    ptx_mod mod;
    const char *name;
} compares[] = {
    {PTX_MOD_EQ, "eq_"},   {PTX_MOD_NE, "ne_"},     {PTX_MOD_LT, "lt_"},   {PTX_MOD_LE, "le_"},
    {PTX_MOD_GT, "gt_"},   {PTX_MOD_GE, "ge_"},     {PTX_MOD_LO, "lt_"},   {PTX_MOD_LS, "le_"},
    {PTX_MOD_HI, "gt_"},   {PTX_MOD_HS, "ge_"},     {PTX_MOD_EQU, "equ_"}, {PTX_MOD_NEU, "neu_"},
    {PTX_MOD_LTU, "ltu_"}, {PTX_MOD_LEU, "leu_"},   {PTX_MOD_GTU, "gtu_"}, {PTX_MOD_GEU, "geu_"},
    {PTX_MOD_NUM, "num_"}, {PTX_MOD_ISNAN, "nan_"},
};

static const char *compare_name(sx_decoder *d)
{
    for (size_t n = 0; n < sizeof compares / sizeof *compares; n++)
        if (sx_has(d, compares[n].mod))
            return compares[n].name;
    sx_refuse_inst(d);
    return "eq_";
}

/* A half as f32, where every comparison is exact. */
static uint32_t widen_half(sx_decoder *d, uint32_t a, ptx_type t, bool ftz)
{
    const bool brain = t == PTX_BF16;
    if (ftz)
        a = sx_emit1(d, brain ? "ftz_bf16" : "ftz_f16", sx_temp(d, 16), a)->o[0];
    return sx_emit1(d, brain ? "cvt_f32_bf16" : "cvt_f32_f16", sx_temp(d, 32), a)->o[0];
}

/* p = a compared with b, both registers of type t */
static void compare(sx_decoder *d, const char *cmp, uint32_t p, ptx_type t, uint32_t a, uint32_t b,
                    bool ftz)
{
    char name[SX_NAME];
    const char *type = sx_sign_name(t);
    if (t == PTX_F16 || t == PTX_BF16) {
        a = widen_half(d, a, t, ftz);
        b = widen_half(d, b, t, ftz);
        type = "f32";
    } else if (t == PTX_F32) {
        type = ftz ? "ftz_f32" : "f32";
    } else if (t == PTX_F64) {
        type = "f64";
    } else if ((cmp[0] == 'e' || cmp[0] == 'n') && cmp[2] == '_') {
        type = sx_bits_name(t);
    }
    sx_join_name(name, "setp_", cmp, type);
    sx_emit2(d, name, p, a, b);
}

/* Combines with a third operand: p = r op c and, where wanted, q = !r op c. */
static void combine(sx_decoder *d, uint32_t p, uint32_t q, uint32_t r, uint32_t c)
{
    const char *op = sx_has(d, PTX_MOD_AND)   ? "and_pred"
                     : sx_has(d, PTX_MOD_OR)  ? "or_pred"
                     : sx_has(d, PTX_MOD_XOR) ? "xor_pred"
                                              : NULL;
    if (!op) {
        if (p != r)
            sx_emit1(d, "mov_pred", p, r);
        if (q != SX_NO_OPERAND)
            sx_emit1(d, "not_pred", q, r);
        return;
    }
    sx_emit2(d, op, p, r, c);
    if (q != SX_NO_OPERAND)
        sx_emit2(d, op, q, r, c)->aux = 1;
}

static bool has_combination(const sx_decoder *d)
{
    return ptx_inst_has(d->inst, PTX_MOD_AND) || ptx_inst_has(d->inst, PTX_MOD_OR) ||
           ptx_inst_has(d->inst, PTX_MOD_XOR);
}

/* The third operand. With two results it may be the first of these, so it is kept. */
static uint32_t third_operand(sx_decoder *d, bool two)
{
    if (!has_combination(d))
        return SX_NO_OPERAND;
    const uint32_t c = sx_use_pred(d, sx_operand(d, 3));
    return two ? sx_emit1(d, "mov_pred", sx_temp(d, 1), c)->o[0] : c;
}

/* One half of a pair as a 16-bit register. */
static uint32_t half_of(sx_decoder *d, uint32_t a, bool high)
{
    return sx_emit1(d, high ? "high_32_16" : "low_32_16", sx_temp(d, 16), a)->o[0];
}

static void setp(sx_decoder *d)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    const ptx_operand *to = sx_operand(d, 0);
    const bool two = to->kind == PTX_OPERAND_PAIR;
    const char *cmp = compare_name(d);
    const bool ftz = sx_has(d, PTX_MOD_FTZ);
    const bool packed = t == PTX_F16X2 || t == PTX_BF16X2;
    uint32_t p = sx_define_pred(d, two ? &to->items[0] : to);
    uint32_t q = two ? sx_define_pred(d, &to->items[1]) : SX_NO_OPERAND;
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t);
    const uint32_t c = third_operand(d, two);
    uint32_t r = two || c != SX_NO_OPERAND ? sx_temp(d, 1) : p;
    if (!packed) {
        compare(d, cmp, r, t, a, b, ftz);
        combine(d, p, q, r, c);
        return;
    }
    const ptx_type half = t == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    uint32_t s = sx_temp(d, 1);
    compare(d, cmp, r, half, half_of(d, a, false), half_of(d, b, false), ftz);
    compare(d, cmp, s, half, half_of(d, a, true), half_of(d, b, true), ftz);
    combine(d, p, SX_NO_OPERAND, r, c);
    if (two)
        combine(d, q, SX_NO_OPERAND, s, c);
}

/* What `set` writes for true. */
static uint64_t truth(ptx_type t)
{
    switch (t) {
    case PTX_F32:
        return 0x3f800000;
    case PTX_F64:
        return UINT64_C(0x3ff0000000000000);
    case PTX_F16:
    case PTX_F16X2:
        return 0x3c00;
    case PTX_BF16:
    case PTX_BF16X2:
        return 0x3f80;
    default:
        return UINT64_MAX;
    }
}

static uint32_t select(sx_decoder *d, uint32_t p, ptx_type t, unsigned bits)
{
    uint32_t r = sx_temp(d, bits);
    sx_emit3(d,
             bits == 16   ? "selp_16"
             : bits == 32 ? "selp_32"
                          : "selp_64",
             r, sx_constant(d, truth(t), bits), sx_constant(d, 0, bits), p);
    return r;
}

static void set(sx_decoder *d)
{
    const ptx_type to = (ptx_type)d->inst->types[0];
    const ptx_type from = d->inst->type_count > 1 ? (ptx_type)d->inst->types[1] : to;
    const char *cmp = compare_name(d);
    const bool ftz = sx_has(d, PTX_MOD_FTZ);
    const uint32_t c = third_operand(d, false);
    uint32_t a = sx_use_n(d, 1, from), b = sx_use_n(d, 2, from);
    sx_result r = sx_define(d, sx_operand(d, 0), to);
    uint32_t p = sx_temp(d, 1);
    if (from != PTX_F16X2 && from != PTX_BF16X2) {
        compare(d, cmp, p, from, a, b, ftz);
        combine(d, p, SX_NO_OPERAND, p, c);
        const unsigned bits = sx_container(to);
        sx_widen(d, r.operand, bits, select(d, p, to, bits), bits, false);
    } else {
        const ptx_type half = from == PTX_F16X2 ? PTX_F16 : PTX_BF16;
        uint32_t q = sx_temp(d, 1);
        compare(d, cmp, p, half, half_of(d, a, false), half_of(d, b, false), ftz);
        compare(d, cmp, q, half, half_of(d, a, true), half_of(d, b, true), ftz);
        combine(d, p, SX_NO_OPERAND, p, c);
        combine(d, q, SX_NO_OPERAND, q, c);
        uint32_t low = select(d, p, to, 16), high = select(d, q, to, 16);
        sx_emit2(d, "pack_16_32", r.operand, low, high);
    }
    sx_finish(d, &r);
}

static void selp(sx_decoder *d)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    char name[SX_NAME];
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t);
    uint32_t p = sx_use_pred(d, sx_operand(d, 3));
    sx_join_name(name, "selp_", sx_bits_name(t), "");
    sx_emit3(d, name, r.operand, a, b, p);
    sx_finish(d, &r);
}

static void slct(sx_decoder *d)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    const ptx_type by = d->inst->type_count > 1 ? (ptx_type)d->inst->types[1] : PTX_S32;
    const bool ftz = sx_has(d, PTX_MOD_FTZ);
    char name[SX_NAME];
    sx_result r = sx_define(d, sx_operand(d, 0), t);
    uint32_t a = sx_use_n(d, 1, t), b = sx_use_n(d, 2, t), c = sx_use_n(d, 3, by);
    sx_join_name(name, ftz ? "slct_ftz_" : "slct_", by == PTX_F32 ? "f32_" : "s32_",
                 sx_bits_name(t));
    sx_emit3(d, name, r.operand, a, b, c);
    sx_finish(d, &r);
}

bool sx_decode_compare(sx_decoder *d)
{
    if (!d->inst->type_count)
        return false;
    switch (d->inst->op) {
    case PTX_OP_SETP:
        setp(d);
        break;
    case PTX_OP_SET:
        set(d);
        break;
    case PTX_OP_SELP:
        selp(d);
        break;
    case PTX_OP_SLCT:
        slct(d);
        break;
    default:
        return false;
    }
    return true;
}
