/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Asynchronous copies and mbarriers. A copy is done at once, so groups of copies are always
 * complete, and what a copy would tell an mbarrier when it ends is told at once, too.
 */
#include <string.h>

#include "exec/access.h"
#include "exec/decode.h"
#include "exec/op_misc.h"

static bool is_shared(ptx_space space)
{
    return space == PTX_SPACE_SHARED || space == PTX_SPACE_SHARED_CTA ||
           space == PTX_SPACE_SHARED_CLUSTER;
}

/* ---- mbarriers ------------------------------------------------------------------------------- */

/* An operation on the mbarrier at operand n, which the caller completes. */
static sx_insn *on_barrier(sx_decoder *d, const char *name, unsigned n, uint32_t result)
{
    const sx_address a = sx_memory(d, sx_operand(d, n), d->inst->space, 8);
    if (a.is_param || (a.aux & SX_WHERE_MASK) == SX_WHERE_FRAME)
        sx_refuse(d, "an mbarrier is in shared memory");
    sx_insn *i = sx_emit2(d, name, result, a.operand, SX_NO_OPERAND);
    i->results = result != SX_NO_OPERAND;
    i->imm = a.imm;
    i->aux = a.aux;
    return i;
}

/* arrive, arrive_drop: {state,} [a] {, count, or bytes with .expect_tx} */
static void arrive(sx_decoder *d, bool drops)
{
    const bool expects = sx_has(d, PTX_MOD_EXPECT_TX), stays = sx_has(d, PTX_MOD_NOCOMPLETE);
    const unsigned at = sx_operand(d, 0)->kind == PTX_OPERAND_MEMORY ? 0 : 1;
    const bool more = d->inst->operand_count > at + 1;
    const bool wanted = at && sx_operand(d, 0)->kind != PTX_OPERAND_SINK;
    sx_result r = {.operand = SX_NO_OPERAND, .reg = SX_NO_OPERAND};
    if (expects != more && expects) {
        sx_refuse_inst(d);
        return;
    }
    const uint32_t number = more ? sx_use_n(d, at + 1, PTX_U32) : sx_constant(d, 1, 32);
    if (wanted)
        r = sx_define(d, sx_operand(d, 0), PTX_B64);
    sx_insn *i = on_barrier(d, "mbarrier_arrive", at, r.operand);
    i->o[2] = number;
    i->aux |= (drops ? SX_MBARRIER_DROP : 0u) | (stays ? SX_MBARRIER_STAYS : 0u) |
              (expects ? SX_MBARRIER_BYTES : 0u);
    sx_finish(d, &r);
}

/* test_wait, try_wait: p, [a], state or parity {, how long to wait}. No wait is as good as any. */
static void test(sx_decoder *d)
{
    const bool parity = sx_has(d, PTX_MOD_PARITY);
    const uint32_t state = sx_use_n(d, 2, parity ? PTX_U32 : PTX_B64);
    sx_insn *i = on_barrier(d, parity ? "mbarrier_test_parity" : "mbarrier_test", 1,
                            sx_define_pred(d, sx_operand(d, 0)));
    i->o[2] = state;
}

static void mbarrier(sx_decoder *d)
{
    sx_ignore_hints(d);
    (void)sx_is_strong(d);
    if (sx_has(d, PTX_MOD_INIT)) {
        const uint32_t count = sx_use_n(d, 1, PTX_U32);
        on_barrier(d, "mbarrier_init", 0, SX_NO_OPERAND)->o[2] = count;
    } else if (sx_has(d, PTX_MOD_INVAL)) {
        on_barrier(d, "mbarrier_init", 0, SX_NO_OPERAND)->o[2] = sx_constant(d, 0, 32);
    } else if (sx_has(d, PTX_MOD_ARRIVE)) {
        arrive(d, false);
    } else if (sx_has(d, PTX_MOD_ARRIVE_DROP)) {
        arrive(d, true);
    } else if (sx_has(d, PTX_MOD_TEST_WAIT) || sx_has(d, PTX_MOD_TRY_WAIT)) {
        test(d);
    } else if (sx_has(d, PTX_MOD_EXPECT_TX)) {
        const uint32_t bytes = sx_use_n(d, 1, PTX_U32);
        on_barrier(d, "mbarrier_expect", 0, SX_NO_OPERAND)->o[2] = bytes;
    } else if (sx_has(d, PTX_MOD_COMPLETE_TX)) {
        const uint32_t bytes = sx_use_n(d, 1, PTX_U32);
        on_barrier(d, "mbarrier_complete", 0, SX_NO_OPERAND)->o[2] = bytes;
    } else if (sx_has(d, PTX_MOD_PENDING_COUNT)) {
        const uint32_t state = sx_use_n(d, 1, PTX_B64);
        sx_result r = sx_define(d, sx_operand(d, 0), PTX_U32);
        sx_emit1(d, "mbarrier_pending", r.operand, state);
        sx_finish(d, &r);
    } else {
        sx_refuse_inst(d);
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* cp.async.mbarrier.arrive: without .noinc the mbarrier first expects one arrival more, so that
 * nothing changes. */
static void copies_arrive(sx_decoder *d)
{
    const bool counts = sx_has(d, PTX_MOD_NOINC);
    sx_ignore(d, PTX_MOD_MBARRIER);
    sx_ignore(d, PTX_MOD_ARRIVE);
    if (counts)
        on_barrier(d, "mbarrier_arrive", 0, SX_NO_OPERAND)->o[2] = sx_constant(d, 1, 32);
    else
        sx_emit(d, "nop");
}

/* cp.async.bulk between global and shared memory: [to], [from], bytes {, [mbarrier]} */
static void copy_bulk(sx_decoder *d)
{
    const ptx_space to = d->inst->space, from = d->inst->space2;
    const bool tells = sx_has(d, PTX_MOD_COMPLETE_BYTES);
    sx_ignore_hints(d);
    sx_ignore(d, PTX_MOD_BULK_GROUP);
    if (!(tells ? is_shared(to) : to == PTX_SPACE_GLOBAL) ||
        !(from == PTX_SPACE_GLOBAL ? tells : is_shared(from)) || d->inst->operand_count < 3) {
        sx_refuse_inst(d); /* tensors, reductions, prefetches */
        return;
    }
    const uint32_t size = sx_use_n(d, 2, PTX_U32);
    const uint32_t dst = sx_whole_address(d, sx_operand(d, 0), to, 16);
    const uint32_t src = sx_whole_address(d, sx_operand(d, 1), from, 16);
    sx_insn *i = sx_emit3(d, "copy_bulk", dst, src, size, SX_NO_OPERAND);
    i->results = 0;
    i->aux = is_shared(to) ? SX_BULK_TO_SHARED : SX_BULK_FROM_SHARED;
    if (tells) {
        i = on_barrier(d, "mbarrier_complete", 3, SX_NO_OPERAND);
        i->o[2] = size;
        /* its space is that of the destination */
        i->aux = (i->aux & ~(uint32_t)SX_WHERE_MASK) | SX_WHERE_SHARED;
    }
}

/* What may follow the size: how much to read, or a predicate to read nothing; a cache policy. */
static uint32_t bytes_to_read(sx_decoder *d, uint64_t size)
{
    const unsigned policy = strstr(d->inst->name, "L2::cache_hint") ? 1 : 0;
    if (d->inst->operand_count <= 3 + policy)
        return SX_NO_OPERAND;
    const ptx_operand *op = sx_operand(d, 3);
    if (op->kind != PTX_OPERAND_REG || d->regs[op->reg].bits != 1)
        return sx_use(d, op, PTX_U32);
    const uint32_t r = sx_temp(d, 32), none = sx_constant(d, 0, 32);
    sx_emit3(d, "selp_32", r, none, sx_constant(d, size, 32), sx_use_pred(d, op));
    return r;
}

static void copy_async(sx_decoder *d)
{
    const ptx_operand *size = sx_operand(d, 2);
    const bool plain = is_shared(d->inst->space) && d->inst->space2 == PTX_SPACE_GLOBAL &&
                       size->kind == PTX_OPERAND_INTEGER &&
                       (size->value == 4 || size->value == 8 || size->value == 16);
    if (!plain) {
        sx_refuse_inst(d);
        return;
    }
    sx_ignore_hints(d);
    const unsigned bytes = (unsigned)size->value;
    const uint32_t take = bytes_to_read(d, bytes);
    const uint32_t dst = sx_whole_address(d, sx_operand(d, 0), d->inst->space, bytes);
    const uint32_t src = sx_whole_address(d, sx_operand(d, 1), d->inst->space2, bytes);
    sx_insn *i = sx_emit3(d, "copy_async", dst, src, take, SX_NO_OPERAND);
    i->results = 0;
    i->aux = bytes;
}

bool sx_decode_async(sx_decoder *d)
{
    if (d->inst->op == PTX_OP_MBARRIER) {
        mbarrier(d);
        return true;
    }
    if (d->inst->op != PTX_OP_CP)
        return false;
    sx_ignore(d, PTX_MOD_ASYNC);
    const bool bulk = sx_has(d, PTX_MOD_BULK);
    const bool is_group = sx_has(d, PTX_MOD_COMMIT_GROUP) || sx_has(d, PTX_MOD_WAIT_GROUP) ||
                          sx_has(d, PTX_MOD_WAIT_ALL);
    if (is_group) {
        sx_ignore(d, PTX_MOD_READ);
        sx_emit(d, "nop");
    } else if (sx_has(d, PTX_MOD_MBARRIER)) {
        copies_arrive(d);
    } else if (bulk) {
        copy_bulk(d);
    } else {
        copy_async(d);
    }
    return true;
}
