/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Shuffles, votes, barriers, fences: what threads do together.
 */
#include <stdio.h>

#include "exec/decode.h"

static uint32_t member_mask(sx_decoder *d, unsigned n)
{
    /* without .sync: the lanes that are here */
    return sx_has(d, PTX_MOD_SYNC) ? sx_use_n(d, n, PTX_B32) : sx_constant(d, 0, 32);
}

/* d or d|p */
static uint32_t split_pair(sx_decoder *d, const ptx_operand *to, sx_result *r, ptx_type t)
{
    const bool two = to->kind == PTX_OPERAND_PAIR;
    *r = sx_define(d, two ? &to->items[0] : to, t);
    return two && to->items[1].kind != PTX_OPERAND_SINK ? sx_define_pred(d, &to->items[1])
                                                        : SX_NO_OPERAND;
}

static void shfl(sx_decoder *d)
{
    const char *name = sx_has(d, PTX_MOD_UP)     ? "shfl_up"
                       : sx_has(d, PTX_MOD_DOWN) ? "shfl_down"
                       : sx_has(d, PTX_MOD_BFLY) ? "shfl_bfly"
                                                 : "shfl_idx";
    sx_ignore(d, PTX_MOD_IDX);
    uint32_t a = sx_use_n(d, 1, PTX_B32), b = sx_use_n(d, 2, PTX_B32), c = sx_use_n(d, 3, PTX_B32);
    uint32_t members = member_mask(d, 4);
    sx_result r;
    uint32_t p = split_pair(d, sx_operand(d, 0), &r, PTX_B32);
    sx_insn *i = sx_emit3(d, name, r.operand, p, a, b);
    i->o[4] = c;
    i->o[5] = members;
    i->results = 2;
    sx_finish(d, &r);
}

static void vote(sx_decoder *d)
{
    const char *name = sx_has(d, PTX_MOD_ALL)   ? "vote_all"
                       : sx_has(d, PTX_MOD_ANY) ? "vote_any"
                       : sx_has(d, PTX_MOD_UNI) ? "vote_uni"
                                                : "vote_ballot";
    const bool ballot = sx_has(d, PTX_MOD_BALLOT);
    uint32_t a = sx_use_pred(d, sx_operand(d, 1));
    uint32_t members = sx_has(d, PTX_MOD_SYNC) ? sx_use_n(d, 2, PTX_B32) : SX_NO_OPERAND;
    if (ballot) {
        sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
        sx_emit2(d, name, r.operand, a, members);
        sx_finish(d, &r);
    } else {
        sx_emit2(d, name, sx_define_pred(d, sx_operand(d, 0)), a, members);
    }
}

static void match(sx_decoder *d)
{
    const ptx_type t = d->inst->type_count ? (ptx_type)d->inst->types[0] : PTX_B32;
    char name[SX_NAME];
    const bool all = sx_has(d, PTX_MOD_ALL);
    sx_ignore(d, PTX_MOD_ANY);
    uint32_t a = sx_use_n(d, 1, t), members = member_mask(d, 2);
    sx_result r;
    uint32_t p = split_pair(d, sx_operand(d, 0), &r, PTX_B32);
    sx_join_name(name, all ? "match_all_" : "match_any_", sx_bits_name(t), "");
    sx_emit3(d, name, r.operand, p, a, members)->results = 2;
    sx_finish(d, &r);
}

static void redux(sx_decoder *d)
{
    const ptx_type t = d->inst->type_count ? (ptx_type)d->inst->types[0] : PTX_B32;
    char name[SX_NAME];
    const char *op = sx_has(d, PTX_MOD_ADD)   ? "add"
                     : sx_has(d, PTX_MOD_MIN) ? "min_"
                     : sx_has(d, PTX_MOD_MAX) ? "max_"
                     : sx_has(d, PTX_MOD_AND) ? "and"
                     : sx_has(d, PTX_MOD_OR)  ? "or"
                     : sx_has(d, PTX_MOD_XOR) ? "xor"
                                              : "none";
    const bool by_sign = op[0] == 'm';
    if (ptx_type_is_float(t)) {
        sx_refuse_inst(d);
        return;
    }
    sx_join_name(name, "redux_", op, by_sign ? sx_sign_name(t) : "");
    uint32_t a = sx_use_n(d, 1, PTX_B32), members = member_mask(d, 2);
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
    sx_emit2(d, name, r.operand, a, members);
    sx_finish(d, &r);
}

static void elect(sx_decoder *d)
{
    const ptx_operand *to = sx_operand(d, 0);
    if (to->kind != PTX_OPERAND_PAIR) {
        sx_refuse_inst(d);
        return;
    }
    uint32_t members = member_mask(d, 1);
    sx_result r = sx_define(d, &to->items[0], PTX_B32);
    uint32_t p = sx_define_pred(d, &to->items[1]);
    sx_emit2(d, "elect", r.operand, p, members)->results = 2;
    sx_finish(d, &r);
}

/* ---- barriers of a block --------------------------------------------------------------------- */

/* bar.red: d, a {, b}, {!}c */
static void reduce_barrier(sx_decoder *d)
{
    const ptx_mod op = sx_has(d, PTX_MOD_POPC)  ? PTX_MOD_POPC
                       : sx_has(d, PTX_MOD_AND) ? PTX_MOD_AND
                                                : PTX_MOD_OR;
    sx_ignore(d, PTX_MOD_OR);
    const unsigned count = d->inst->operand_count;
    if (count != 3 && count != 4) {
        sx_refuse_inst(d);
        return;
    }
    uint32_t id = sx_use_n(d, 1, PTX_U32);
    uint32_t threads = count == 4 ? sx_use_n(d, 2, PTX_U32) : SX_NO_OPERAND;
    uint32_t p = sx_use_pred(d, sx_operand(d, count - 1));
    sx_result r = {.reg = SX_NO_OPERAND};
    if (op == PTX_MOD_POPC)
        r = sx_define(d, sx_operand(d, 0), PTX_U32);
    else
        r.operand = sx_define_pred(d, sx_operand(d, 0));
    sx_emit3(d, "bar_sync", r.operand, id, threads, p)->aux = op;
    sx_finish(d, &r);
}

static void barrier(sx_decoder *d)
{
    sx_ignore(d, PTX_MOD_CTA);
    sx_ignore(d, PTX_MOD_ALIGNED);
    const bool arrives = sx_has(d, PTX_MOD_ARRIVE);
    const bool reduces = sx_has(d, PTX_MOD_RED);
    const bool warp = sx_has(d, PTX_MOD_WARP);
    sx_ignore(d, PTX_MOD_SYNC);
    if (reduces) {
        reduce_barrier(d);
        return;
    }
    const unsigned count = d->inst->operand_count;
    sx_insn *i;
    if (warp) {
        uint32_t members = sx_use_n(d, 0, PTX_B32);
        i = sx_emit3(d, "warp_sync", members, SX_NO_OPERAND, SX_NO_OPERAND, SX_NO_OPERAND);
    } else {
        uint32_t id = count > 0 ? sx_use_n(d, 0, PTX_U32) : sx_constant(d, 0, 32);
        uint32_t threads = count > 1 ? sx_use_n(d, 1, PTX_U32) : SX_NO_OPERAND;
        i = sx_emit3(d, arrives ? "bar_arrive" : "bar_sync", SX_NO_OPERAND, id, threads,
                     SX_NO_OPERAND);
    }
    i->results = 0;
}

static void fence(sx_decoder *d)
{
    /* every kind of fence is the strongest one here */
    for (unsigned n = 0; n < d->inst->mod_count; n++)
        if (d->inst->mods[n] != PTX_MOD_OTHER)
            sx_ignore(d, (ptx_mod)d->inst->mods[n]);
    sx_emit(d, "fence");
}

static void nanosleep(sx_decoder *d)
{
    const uint32_t nanoseconds = sx_use_n(d, 0, PTX_U32);
    sx_emit(d, "nanosleep")->o[0] = nanoseconds;
}

static void activemask(sx_decoder *d)
{
    sx_result r = sx_define(d, sx_operand(d, 0), PTX_B32);
    sx_emit1(d, "activemask", r.operand, SX_NO_OPERAND);
    sx_finish(d, &r);
}

bool sx_decode_warp(sx_decoder *d)
{
    switch (d->inst->op) {
    case PTX_OP_SHFL:
        shfl(d);
        break;
    case PTX_OP_VOTE:
        vote(d);
        break;
    case PTX_OP_MATCH:
        match(d);
        break;
    case PTX_OP_REDUX:
        redux(d);
        break;
    case PTX_OP_ELECT:
        elect(d);
        break;
    case PTX_OP_ACTIVEMASK:
        activemask(d);
        break;
    case PTX_OP_BAR:
    case PTX_OP_BARRIER:
        barrier(d);
        break;
    case PTX_OP_MEMBAR:
    case PTX_OP_FENCE:
        fence(d);
        break;
    case PTX_OP_NANOSLEEP:
        nanosleep(d);
        break;
    case PTX_OP_GRIDDEPCONTROL:
        sx_ignore(d, PTX_MOD_LAUNCH_DEPENDENTS);
        sx_ignore(d, PTX_MOD_WAIT);
        sx_emit(d, "nop"); /* launches here never overlap their predecessors */
        break;
    case PTX_OP_PMEVENT:
        sx_emit(d, "nop");
        break;
    default:
        return false;
    }
    return true;
}
