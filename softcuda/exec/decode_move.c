/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Moves, packing and unpacking, and conversions of addresses.
 */
#include "exec/decode.h"

/* {a, b} or {a, b, c, d} into one register of type t */
static void pack(sx_decoder *d, const ptx_operand *to, const ptx_operand *from, ptx_type t)
{
    const unsigned bits = sx_container(t);
    sx_result r = sx_define(d, to, t);
    if (from->count == 2 && bits == 32) {
        uint32_t a = sx_use(d, &from->items[0], PTX_B16), b = sx_use(d, &from->items[1], PTX_B16);
        sx_emit2(d, "pack_16_32", r.operand, a, b);
    } else if (from->count == 2 && bits == 64) {
        uint32_t a = sx_use(d, &from->items[0], PTX_B32), b = sx_use(d, &from->items[1], PTX_B32);
        sx_emit2(d, "pack_32_64", r.operand, a, b);
    } else if (from->count == 4 && bits == 64) {
        uint32_t half[2];
        for (unsigned n = 0; n < 2; n++) {
            uint32_t a = sx_use(d, &from->items[2 * n], PTX_B16);
            uint32_t b = sx_use(d, &from->items[2 * n + 1], PTX_B16);
            half[n] = sx_emit2(d, "pack_16_32", sx_temp(d, 32), a, b)->o[0];
        }
        sx_emit2(d, "pack_32_64", r.operand, half[0], half[1]);
    } else {
        sx_refuse_inst(d); /* bytes, 128 bits */
    }
    sx_finish(d, &r);
}

static void unpack(sx_decoder *d, const ptx_operand *to, const ptx_operand *from, ptx_type t)
{
    const unsigned bits = sx_container(t);
    if (!((to->count == 2 && bits >= 32) || (to->count == 4 && bits == 64)) || bits > 64) {
        sx_refuse_inst(d);
        return;
    }
    uint32_t a = sx_use(d, from, t);
    for (unsigned n = 0; n < to->count; n++) { /* parts are narrower than the source, so none can be
                                                * the source itself */
        if (to->items[n].kind == PTX_OPERAND_SINK)
            continue;
        const ptx_type part = to->count == 4 || bits == 32 ? PTX_B16 : PTX_B32;
        sx_result r = sx_define(d, &to->items[n], part);
        if (to->count == 4)
            sx_emit1(d, "quarter_64_16", r.operand, a)->aux = 16 * n;
        else if (bits == 64)
            sx_emit1(d, n ? "high_64_32" : "low_64_32", r.operand, a);
        else
            sx_emit1(d, n ? "high_32_16" : "low_32_16", r.operand, a);
        sx_finish(d, &r);
    }
}

static void mov(sx_decoder *d)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    const ptx_operand *to = sx_operand(d, 0), *from = sx_operand(d, 1);
    char name[SX_NAME];
    if (t == PTX_PRED) {
        uint32_t p = sx_use_pred(d, from);
        sx_emit1(d, "mov_pred", sx_define_pred(d, to), p);
        return;
    }
    if (from->kind == PTX_OPERAND_VECTOR) {
        pack(d, to, from, t);
        return;
    }
    if (to->kind == PTX_OPERAND_VECTOR) {
        unpack(d, to, from, t);
        return;
    }
    sx_result r = sx_define(d, to, t);
    uint32_t a = sx_use(d, from, t);
    sx_join_name(name, "mov_", sx_bits_name(t), "");
    sx_emit1(d, name, r.operand, a);
    sx_finish(d, &r);
}

static uint64_t window_of(ptx_space space)
{
    switch (space) {
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
    case PTX_SPACE_SHARED_CLUSTER:
        return SX_SHARED_WINDOW;
    case PTX_SPACE_LOCAL:
        return SX_LOCAL_WINDOW;
    default:
        return 0; /* global, const and param addresses are generic */
    }
}

static void cvta(sx_decoder *d)
{
    const bool to_space = sx_has(d, PTX_MOD_TO);
    uint64_t shift = window_of(d->inst->space);
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_U64);
    uint32_t a = sx_use_n(d, 1, PTX_U64);
    if (d->inst->types[0] != PTX_U64) {
        sx_refuse(d, "the software device has 64-bit addresses only");
        return;
    }
    if (shift)
        sx_emit2(d, "add_64", r.operand, a, sx_constant(d, to_space ? 0 - shift : shift, 64));
    else
        sx_emit1(d, "mov_64", r.operand, a);
    sx_finish(d, &r);
}

static void isspacep(sx_decoder *d)
{
    ptx_space space = d->inst->space;
    if (space == PTX_SPACE_SHARED_CTA || space == PTX_SPACE_SHARED_CLUSTER)
        space = PTX_SPACE_SHARED;
    if (space == PTX_SPACE_PARAM_ENTRY)
        space = PTX_SPACE_PARAM;
    uint32_t a = sx_use_n(d, 1, PTX_U64);
    sx_emit1(d, "isspacep", sx_define_pred(d, sx_operand(d, 0)), a)->aux = space;
}

bool sx_decode_move(sx_decoder *d)
{
    switch (d->inst->op) {
    case PTX_OP_MOV:
        if (!d->inst->type_count)
            return false;
        mov(d);
        break;
    case PTX_OP_CVTA:
        cvta(d);
        break;
    case PTX_OP_ISSPACEP:
        isspacep(d);
        break;
    default:
        return false;
    }
    return true;
}
