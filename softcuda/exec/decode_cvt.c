/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cvt: conversion between every pair of types, as a chain of exact steps with one rounding among
 * them.
 */
#include <stdio.h>

#include "exec/decode.h"
#include "exec/op_round.h"
#include "exec/scalar_float.h"

/* What the modifiers say. */
typedef struct how {
    unsigned mode;     /* sx_round */
    const char *whole; /* the operation that rounds to a whole number ("rint" ..), or NULL */
    bool sat, ftz, relu, finite;
} how;

static how read_how(sx_decoder *d)
{
    how h = {0};
    h.whole = sx_has(d, PTX_MOD_RNI)   ? "rint"
              : sx_has(d, PTX_MOD_RZI) ? "trunc"
              : sx_has(d, PTX_MOD_RMI) ? "floor"
              : sx_has(d, PTX_MOD_RPI) ? "ceil"
                                       : NULL;
    h.mode = sx_has(d, PTX_MOD_RNA) ? SX_RNA : sx_rounding(d);
    h.sat = sx_has(d, PTX_MOD_SAT);
    h.ftz = sx_has(d, PTX_MOD_FTZ);
    h.relu = sx_has(d, PTX_MOD_RELU);
    h.finite = sx_has(d, PTX_MOD_SATFINITE);
    return h;
}

static bool is_int(ptx_type t)
{
    return !ptx_type_is_float(t) && t != PTX_PRED && sx_container(t) <= 64;
}

static uint32_t step(sx_decoder *d, const char *name, unsigned bits, uint32_t a)
{
    return sx_emit1(d, name, sx_temp(d, bits), a)->o[0];
}

/* ---- from integers --------------------------------------------------------------------------- */

/* The operand's value in a register of at least 16 bits: bytes are extended. */
static uint32_t int_source(sx_decoder *d, const ptx_operand *op, ptx_type t)
{
    uint32_t a = sx_use(d, op, t);
    if (ptx_type_bits(t) == 8)
        a = step(d, ptx_type_is_signed(t) ? "cvt_16_s8" : "cvt_16_u8", 16, a);
    return a;
}

static uint32_t widened(sx_decoder *d, uint32_t a, unsigned from, unsigned to, bool is_signed)
{
    if (from == to)
        return a;
    uint32_t r = sx_temp(d, to);
    sx_widen(d, r, to, a, from, is_signed);
    return r;
}

/* Clamps a 64-bit value to what `to` can hold. */
static uint32_t clamp(sx_decoder *d, uint32_t a, ptx_type to, bool from_signed)
{
    const bool to_signed = ptx_type_is_signed(to);
    const unsigned bits = ptx_type_bits(to) - (to_signed ? 1 : 0);
    const uint32_t r = sx_temp(d, 64);
    if (from_signed) {
        if (bits == 63)
            return a;
        if (bits == 64)
            sx_emit1(d, "clamp_s64_u63", r, a);
        else
            sx_emit1(d, to_signed ? "clamp_s64_s" : "clamp_s64_u", r, a)->aux = bits;
    } else {
        if (bits == 64)
            return a;
        if (bits == 63)
            sx_emit1(d, "clamp_u64_s63", r, a);
        else
            sx_emit1(d, "clamp_u64_u", r, a)->aux = bits;
    }
    return r;
}

static void int_to_int(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    const bool from_signed = ptx_type_is_signed(from);
    unsigned bits = sx_container(from);
    uint32_t a = int_source(d, sx_operand(d, 1), from);
    if (h->sat) {
        a = clamp(d, widened(d, a, bits, 64, from_signed), to, from_signed);
        bits = 64;
    }
    sx_result r = sx_define(d, sx_operand(d, 0), to);
    sx_widen(d, r.operand, sx_container(to), a, bits, from_signed);
    if (ptx_type_bits(to) == 8)
        sx_emit1(d, ptx_type_is_signed(to) ? "cvt_16_s8" : "cvt_16_u8", r.operand, r.operand);
    sx_finish(d, &r);
}

static void finish_float(sx_decoder *d, sx_result *r, ptx_type to, const how *h);

static void int_to_float(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    char name[SX_NAME];
    const bool is_signed = ptx_type_is_signed(from);
    unsigned bits = sx_container(from);
    uint32_t a = int_source(d, sx_operand(d, 1), from);
    if (bits == 16) {
        a = widened(d, a, 16, 32, is_signed);
        bits = 32;
    }
    sx_result r = sx_define(d, sx_operand(d, 0), to);
    if (to == PTX_F32 || to == PTX_F64) {
        const bool exact = h->mode == SX_RN || (to == PTX_F64 && bits == 32);
        snprintf(name, sizeof name, "%scvt_f%u_%c%u", exact ? "" : "round_", ptx_type_bits(to),
                 is_signed ? 's' : 'u', bits);
        sx_emit1(d, name, r.operand, a)->aux = exact ? 0 : h->mode;
    } else if (to == PTX_F16 || to == PTX_BF16) {
        if (bits == 64) /* what f64 would round away is kept in a bit below all that matter */
            a = step(d, is_signed ? "sticky_s64" : "sticky_u64", 64, a);
        snprintf(name, sizeof name, "cvt_f64_%c%u", is_signed ? 's' : 'u', bits);
        a = step(d, name, 64, a);
        sx_emit1(d, to == PTX_F16 ? "cvt_f16_f64" : "cvt_bf16_f64", r.operand, a)->aux = h->mode;
    } else {
        sx_refuse_inst(d);
    }
    finish_float(d, &r, to, h);
}

/* ---- from floats ----------------------------------------------------------------------------- */

/* The operand as f32 or f64, exactly; *t becomes that type. */
static uint32_t float_source(sx_decoder *d, const ptx_operand *op, ptx_type *t, bool ftz)
{
    uint32_t a = sx_use(d, op, *t);
    switch (*t) {
    case PTX_F16:
        a = step(d, "cvt_f32_f16", 32, a);
        break;
    case PTX_BF16:
        a = step(d, "cvt_f32_bf16", 32, a);
        break;
    case PTX_F32:
        return ftz ? step(d, "ftz_f32", 32, a) : a;
    case PTX_F64:
        return a;
    default:
        sx_refuse_inst(d);
        break;
    }
    *t = PTX_F32;
    return a;
}

static uint32_t to_whole(sx_decoder *d, uint32_t a, ptx_type t, const char *whole)
{
    char name[SX_NAME];
    sx_join_name(name, whole, t == PTX_F64 ? "_f64" : "_f32", "");
    return step(d, name, sx_container(t), a);
}

static void float_to_int(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    char name[SX_NAME];
    uint32_t a = float_source(d, sx_operand(d, 1), &from, h->ftz);
    if (h->whole && h->whole[0] != 't') /* the conversion truncates anyway */
        a = to_whole(d, a, from, h->whole);
    sx_result r = sx_define(d, sx_operand(d, 0), to);
    sx_join_name(name, "cvt_", sx_sign_name(to), from == PTX_F64 ? "_f64" : "_f32");
    sx_emit1(d, name, r.operand, a);
    sx_finish(d, &r);
}

/* Rounds f32 or f64 `a` to `to`. */
static void narrow(sx_decoder *d, uint32_t r, ptx_type to, uint32_t a, ptx_type from, unsigned mode)
{
    const char *wide = NULL;
    switch (to) {
    case PTX_F64:
        sx_emit1(d, from == PTX_F64 ? "mov_64" : "cvt_f64_f32", r, a);
        return;
    case PTX_F32:
        if (from == PTX_F32)
            sx_emit1(d, "mov_32", r, a);
        else if (mode == SX_RN)
            sx_emit1(d, "cvt_f32_f64", r, a);
        else
            sx_emit1(d, "round_cvt_f32_f64", r, a)->aux = mode;
        return;
    case PTX_F16:
        wide = "cvt_f16_f64";
        break;
    case PTX_BF16:
        wide = "cvt_bf16_f64";
        break;
    case PTX_TF32:
        wide = "cvt_tf32_f64";
        break;
    default:
        sx_refuse_inst(d);
        return;
    }
    if (from == PTX_F32 && mode == SX_RN && to != PTX_TF32) {
        sx_emit1(d, to == PTX_F16 ? "cvt_f16_f32" : "cvt_bf16_f32", r, a);
        return;
    }
    if (from == PTX_F32)
        a = step(d, "cvt_f64_f32", 64, a);
    sx_emit1(d, wide, r, a)->aux = mode;
}

static const char *float_name(ptx_type t)
{
    return t == PTX_F64 ? "f64" : t == PTX_F16 ? "f16" : t == PTX_BF16 ? "bf16" : "f32";
}

static void after(sx_decoder *d, const char *what, ptx_type t, uint32_t r)
{
    char name[SX_NAME];
    sx_join_name(name, what, float_name(t), "");
    sx_emit1(d, name, r, r);
}

static void finish_float(sx_decoder *d, sx_result *r, ptx_type to, const how *h)
{
    if (h->ftz && to == PTX_F32)
        after(d, "ftz_", to, r->operand);
    if (h->finite)
        after(d, "finite_", to, r->operand);
    if (h->relu)
        after(d, "relu_", to, r->operand);
    if (h->sat)
        after(d, "sat_", to, r->operand);
    sx_finish(d, r);
}

static void float_to_float(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    /* An H100 flushes nothing on the way to f16, whatever PTX says of .ftz. It shows where a
     * subnormal rounds to the smallest f16. */
    uint32_t a = float_source(d, sx_operand(d, 1), &from, h->ftz && to != PTX_F16);
    if (h->whole)
        a = to_whole(d, a, from, h->whole);
    sx_result r = sx_define(d, sx_operand(d, 0), to);
    narrow(d, r.operand, to, a, from, h->mode);
    finish_float(d, &r, to, h);
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the upper half */
static void pair_of_floats(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    const ptx_type half = to == PTX_F16X2 ? PTX_F16 : PTX_BF16;
    uint32_t halves[2];
    if (from != PTX_F32 || d->inst->operand_count != 3) {
        sx_refuse_inst(d);
        return;
    }
    for (unsigned n = 0; n < 2; n++) {
        uint32_t a = sx_use_n(d, n + 1, PTX_F32);
        sx_result part = {.operand = sx_temp(d, 16), .reg = SX_NO_OPERAND, .type = half};
        narrow(d, part.operand, half, a, PTX_F32, h->mode);
        finish_float(d, &part, half, h);
        halves[n] = part.operand;
    }
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
    sx_emit2(d, "pack_16_32", r.operand, halves[1], halves[0]);
    sx_finish(d, &r);
}

/* ---- pairs of eight bits: e4m3x2 and e5m2x2 -------------------------------------------------- */

static bool is_pair_of_eight(ptx_type t)
{
    return t == PTX_E4M3X2 || t == PTX_E5M2X2;
}

/* cvt.rn.satfinite.e4m3x2.f32 d, a, b (a becomes the upper byte), or .f16x2 d, a */
static void to_pair_of_eight(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    const bool halves = from == PTX_F16X2;
    uint32_t bytes[2];
    if ((!halves && from != PTX_F32) || d->inst->operand_count != (halves ? 2 : 3) || !h->finite) {
        sx_refuse_inst(d);
        return;
    }
    for (unsigned n = 0; n < 2; n++) {
        uint32_t a = sx_use_n(d, halves ? 1 : 2 - n, halves ? PTX_B32 : PTX_F32);
        if (halves)
            a = step(d, "cvt_f32_f16", 32, step(d, n ? "high_32_16" : "low_32_16", 16, a));
        if (h->relu)
            a = step(d, "relu_f32", 32, a);
        a = step(d, "cvt_f64_f32", 64, a);
        bytes[n] = step(d, to == PTX_E4M3X2 ? "cvt_e4m3_f64" : "cvt_e5m2_f64", 16, a);
    }
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_B16);
    sx_emit2(d, "pack_8_16", r.operand, bytes[0], bytes[1]);
    sx_finish(d, &r);
}

/* cvt.rn.f16x2.e4m3x2 d, a */
static void from_pair_of_eight(sx_decoder *d, ptx_type to, ptx_type from, const how *h)
{
    uint32_t halves[2];
    if (to != PTX_F16X2 || d->inst->operand_count != 2) {
        sx_refuse_inst(d);
        return;
    }
    const char *name = from == PTX_E4M3X2 ? "cvt_f16_e4m3" : "cvt_f16_e5m2";
    const uint32_t a = sx_use_n(d, 1, PTX_B16);
    for (unsigned n = 0; n < 2; n++) {
        halves[n] = sx_temp(d, 16);
        sx_emit1(d, name, halves[n], a)->aux = 8 * n;
        if (h->relu)
            after(d, "relu_", PTX_F16, halves[n]);
    }
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
    sx_emit2(d, "pack_16_32", r.operand, halves[0], halves[1]);
    sx_finish(d, &r);
}

/* cvt.pack.sat.u8.s32.b32 d, a, b, c */
static void pack(sx_decoder *d)
{
    const ptx_type to = (ptx_type)d->inst->types[0];
    const unsigned bits = ptx_type_bits(to);
    if (bits != 8 && bits != 16) {
        sx_refuse_inst(d);
        return;
    }
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
    uint32_t a = sx_use_n(d, 1, PTX_S32), b = sx_use_n(d, 2, PTX_S32);
    uint32_t c = d->inst->operand_count > 3 ? sx_use_n(d, 3, PTX_B32) : SX_NO_OPERAND;
    sx_emit3(d, "cvt_pack", r.operand, a, b, c)->aux =
        bits | (ptx_type_is_signed(to) ? 0x100u : 0u);
    sx_finish(d, &r);
}

bool sx_decode_cvt(sx_decoder *d)
{
    if (d->inst->op != PTX_OP_CVT || d->inst->type_count < 2)
        return false;
    const ptx_type to = (ptx_type)d->inst->types[0], from = (ptx_type)d->inst->types[1];
    const how h = read_how(d);
    sx_ignore(d, PTX_MOD_PACK);
    if (d->inst->type_count == 3 || (d->inst->operand_count == 3 && is_int(to)))
        pack(d);
    else if (is_pair_of_eight(to))
        to_pair_of_eight(d, to, from, &h);
    else if (is_pair_of_eight(from))
        from_pair_of_eight(d, to, from, &h);
    else if (to == PTX_F16X2 || to == PTX_BF16X2)
        pair_of_floats(d, to, from, &h);
    else if (d->inst->operand_count != 2)
        sx_refuse_inst(d);
    else if (is_int(to) && is_int(from))
        int_to_int(d, to, from, &h);
    else if (is_int(to))
        float_to_int(d, to, from, &h);
    else if (is_int(from))
        int_to_float(d, to, from, &h);
    else
        float_to_float(d, to, from, &h);
    return true;
}
