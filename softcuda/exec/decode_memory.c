/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loads, stores, atomics, hints.
 */
#include <stdio.h>

#include "exec/access.h"
#include "exec/decode.h"
#include "exec/ops.h"

static unsigned where_of(ptx_space space)
{
    switch (space) {
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
        return SX_WHERE_GLOBAL;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
    case PTX_SPACE_SHARED_CLUSTER:
        return SX_WHERE_SHARED;
    case PTX_SPACE_LOCAL:
        return SX_WHERE_LOCAL;
    default:
        return SX_WHERE_GENERIC; /* a kernel's .param addresses are generic */
    }
}

/* Where an address in a register goes to: in a .func, those of .param are on the stack. */
static unsigned where_of_register(const sx_decoder *d, ptx_space space)
{
    const bool own = space == PTX_SPACE_PARAM_FUNC || space == PTX_SPACE_PARAM;
    return own && !d->fn->is_kernel ? SX_WHERE_LOCAL : where_of(space);
}

/* Accesses to frames are not checked while a kernel runs: what a name and a constant reach is known
 * here. */
static void check_frame(sx_decoder *d, const ptx_var *var, int64_t offset, unsigned bytes)
{
    const uint64_t align = bytes > 16 ? 16 : bytes;
    if (offset < 0 || (uint64_t)offset + bytes > var->bytes)
        sx_refuse(d, "%s has %llu bytes, and offset %lld is not among them", var->name,
                  (unsigned long long)var->bytes, (long long)offset);
    else if ((var->offset + (uint64_t)offset) & (align - 1))
        sx_refuse(d, "offset %lld in %s is not aligned for %u bytes", (long long)offset, var->name,
                  bytes);
}

/* A variable by its name: the variable's own space counts. */
static sx_address var_address(sx_decoder *d, const ptx_var *var, int64_t offset, unsigned bytes)
{
    sx_address a = {.operand = SX_NO_OPERAND, .aux = SX_WHERE_FRAME};
    if (sx_is_kernel_param(d, var)) {
        a.is_param = true;
        a.imm = (int64_t)var->offset + offset;
        return a;
    }
    if (var->space == PTX_SPACE_PARAM || var->space == PTX_SPACE_LOCAL) {
        const uint64_t base = var->space == PTX_SPACE_LOCAL ? d->code->local_offset : 0;
        a.imm = (int64_t)(base + var->offset) + offset;
        check_frame(d, var, offset, bytes);
        return a;
    }
    a.operand = sx_address_of(d, var, offset);
    a.aux = where_of(var->space);
    return a;
}

sx_address sx_memory(sx_decoder *d, const ptx_operand *op, ptx_space space, unsigned bytes)
{
    sx_address a = {
        .operand = SX_NO_OPERAND, .imm = op->offset, .aux = where_of_register(d, space)};
    if (op->kind != PTX_OPERAND_MEMORY || op->count) {
        sx_refuse_inst(d);
        return a;
    }
    switch (op->base) {
    case PTX_OPERAND_VAR:
        return var_address(d, op->var, op->offset, bytes);
    case PTX_OPERAND_REG:
        a.operand = SX_REG_OPERAND(op->reg);
        if (d->regs[op->reg].bits == 32)
            a.aux |= SX_ADDRESS_32;
        else if (d->regs[op->reg].bits != 64)
            sx_refuse(d, "an address has 32 or 64 bits");
        break;
    default:
        a.operand = sx_constant(d, (uint64_t)op->offset, 64);
        a.imm = 0;
        break;
    }
    return a;
}

/* Where this instruction's [op] is. */
static sx_address address_of(sx_decoder *d, const ptx_operand *op, unsigned bytes)
{
    return sx_memory(d, op, d->inst->space, bytes);
}

uint32_t sx_whole_address(sx_decoder *d, const ptx_operand *op, ptx_space space, unsigned bytes)
{
    const sx_address a = sx_memory(d, op, space, bytes);
    uint32_t at = a.operand;
    if (at == SX_NO_OPERAND) {
        sx_refuse_inst(d);
        return sx_constant(d, 0, 64);
    }
    if (a.aux & SX_ADDRESS_32)
        at = sx_emit1(d, "cvt_64_u32", sx_temp(d, 64), at)->o[0];
    if (a.imm)
        at = sx_emit2(d, "add_64", sx_temp(d, 64), at, sx_constant(d, (uint64_t)a.imm, 64))->o[0];
    return at;
}

void sx_ignore_hints(sx_decoder *d)
{
    static const ptx_mod hints[] = {
        PTX_MOD_CA,          PTX_MOD_CG,         PTX_MOD_CS,           PTX_MOD_LU,
        PTX_MOD_WB,          PTX_MOD_WT,         PTX_MOD_NC,           PTX_MOD_WEAK,
        PTX_MOD_CTA,         PTX_MOD_CLUSTER,    PTX_MOD_GPU,          PTX_MOD_SYS,
        PTX_MOD_GL,          PTX_MOD_L1,         PTX_MOD_L2,           PTX_MOD_CACHE_HINT,
        PTX_MOD_EVICT_FIRST, PTX_MOD_EVICT_LAST, PTX_MOD_EVICT_NORMAL, PTX_MOD_UNIFIED,
        PTX_MOD_V2,          PTX_MOD_V4,
    };
    for (size_t n = 0; n < sizeof hints / sizeof *hints; n++)
        sx_ignore(d, hints[n]);
}

bool sx_is_strong(sx_decoder *d)
{
    static const ptx_mod strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                     PTX_MOD_RELEASE,  PTX_MOD_MMIO,    PTX_MOD_CV,
                                     PTX_MOD_SC};
    bool found = false;
    for (size_t n = 0; n < sizeof strong / sizeof *strong; n++)
        found |= sx_has(d, strong[n]);
    return found;
}

/* How an element is stored in memory: "u8" "s8" "16" "32" "64". */
static const char *element_name(sx_decoder *d, ptx_type t, bool load)
{
    switch (ptx_type_bits(t)) {
    case 8:
        return load && ptx_type_is_signed(t) ? "s8" : "u8";
    case 16:
    case 32:
    case 64:
        return sx_bits_name(t);
    default:
        sx_refuse_inst(d);
        return "32";
    }
}

static const ptx_operand *element(const ptx_operand *op, unsigned n)
{
    return op->kind == PTX_OPERAND_VECTOR && n < op->count ? &op->items[n] : op;
}

/* Whether a vector of registers has as many elements as the instruction says. */
static bool fits(sx_decoder *d, const ptx_operand *op, unsigned count)
{
    if (count <= 4 && (op->kind == PTX_OPERAND_VECTOR ? op->count == count : count == 1))
        return true;
    sx_refuse_inst(d);
    return false;
}

static void load_param(sx_decoder *d, const sx_address *a, const ptx_operand *to, ptx_type t,
                       unsigned count)
{
    char name[SX_NAME];
    const unsigned bytes = ptx_type_bytes(t);
    sx_join_name(name, "ld_param_", element_name(d, t, true), "");
    if (a->imm < 0 || (uint64_t)a->imm + (uint64_t)bytes * count > d->fn->param_block) {
        sx_refuse(d, "the kernel has %llu bytes of parameters, and offset %lld is not among them",
                  (unsigned long long)d->fn->param_block, (long long)a->imm);
        return;
    }
    for (unsigned n = 0; n < count; n++) {
        sx_result r = sx_define(d, element(to, n), t);
        sx_emit1(d, name, r.operand, SX_NO_OPERAND)->imm = a->imm + (int64_t)(n * bytes);
        sx_finish(d, &r);
    }
}

/* ---- addresses that have been looked at ------------------------------------------------------ */

void sx_forget_addresses(sx_decoder *d)
{
    for (unsigned n = 0; n < SX_PATTERNS; n++)
        d->known[n].operand = SX_NO_OPERAND;
    d->known_until = d->count;
}

/* Forgets registers that were written since, and all of them after a call. */
static void forget_written(sx_decoder *d)
{
    for (; d->known_until < d->count; d->known_until++) {
        const sx_insn *i = &d->insns[d->known_until];
        for (unsigned n = 0; n < SX_PATTERNS; n++)
            for (unsigned k = 0; k < i->results; k++)
                if (i->o[k] == d->known[n].operand)
                    d->known[n].operand = SX_NO_OPERAND;
        if (i->fn == sx_op_call) {
            const size_t until = d->known_until;
            sx_forget_addresses(d);
            d->known_until = until;
        }
    }
}

/* What the next load or store adds to its aux for remembering addresses. */
static uint32_t pattern_of(sx_decoder *d, const sx_address *a, uint32_t bytes)
{
    if (d->inst->guard != PTX_NO_INDEX || a->operand == SX_NO_OPERAND ||
        (a->operand & 3) != SX_BASE_REGS || (a->aux & SX_WHERE_MASK) >= SX_WHERE_LOCAL)
        return 0;
    forget_written(d);
    for (uint32_t n = 0; n < SX_PATTERNS; n++)
        if (d->known[n].operand == a->operand && d->known[n].bytes == bytes)
            return SX_KNOWS | n << SX_PATTERN_SHIFT;
    const uint32_t n = d->known_next++ % SX_PATTERNS;
    d->known[n].operand = a->operand;
    d->known[n].bytes = bytes;
    return SX_REMEMBERS | n << SX_PATTERN_SHIFT;
}

static void load(sx_decoder *d)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    const unsigned count = d->inst->vector;
    const ptx_operand *to = sx_operand(d, 0);
    char name[SX_NAME];
    sx_result results[4];
    sx_ignore_hints(d);
    const bool strong = sx_is_strong(d);
    if (!fits(d, to, count))
        return;
    const sx_address a = address_of(d, sx_operand(d, 1), ptx_type_bytes(t) * count);
    if (a.is_param) {
        load_param(d, &a, to, t, count);
        return;
    }
    for (unsigned n = 0; n < count; n++)
        results[n] = sx_define(d, element(to, n), t);
    snprintf(name, sizeof name, "%s_%s_v%u", strong ? "ld_strong" : "ld", element_name(d, t, true),
             count);
    const uint32_t pattern = strong ? 0 : pattern_of(d, &a, ptx_type_bytes(t) * count);
    sx_insn *i = sx_emit(d, name);
    for (unsigned n = 0; n < count; n++)
        i->o[n] = results[n].operand;
    i->o[count] = a.operand;
    i->results = (uint8_t)count;
    i->imm = a.imm;
    i->aux = a.aux | pattern;
    for (unsigned n = 0; n < count; n++)
        sx_finish(d, &results[n]);
}

static void store(sx_decoder *d)
{
    const ptx_type t = (ptx_type)d->inst->types[0];
    const unsigned count = d->inst->vector;
    const ptx_operand *from = sx_operand(d, 1);
    char name[SX_NAME];
    uint32_t values[4];
    sx_ignore_hints(d);
    const bool strong = sx_is_strong(d);
    if (!fits(d, from, count))
        return;
    const sx_address a = address_of(d, sx_operand(d, 0), ptx_type_bytes(t) * count);
    if (a.is_param)
        sx_refuse(d, "a kernel's parameters cannot be written");
    for (unsigned n = 0; n < count; n++)
        values[n] = sx_use(d, element(from, n), t);
    snprintf(name, sizeof name, "%s_%s_v%u", strong ? "st_strong" : "st", element_name(d, t, false),
             count);
    const uint32_t pattern = strong ? 0 : pattern_of(d, &a, ptx_type_bytes(t) * count);
    sx_insn *i = sx_emit(d, name);
    i->o[0] = a.operand;
    for (unsigned n = 0; n < count; n++)
        i->o[n + 1] = values[n];
    i->imm = a.imm;
    i->aux = a.aux | pattern;
}

/* ---- atomics --------------------------------------------------------------------------------- */

static const char *atom_type(ptx_type t, ptx_mod op)
{
    switch (t) {
    case PTX_F32:
    case PTX_F64:
    case PTX_F16:
    case PTX_F16X2:
    case PTX_BF16:
    case PTX_BF16X2:
        return ptx_type_name(t);
    default:
        break;
    }
    const bool by_sign =
        op == PTX_MOD_MIN || op == PTX_MOD_MAX || op == PTX_MOD_INC || op == PTX_MOD_DEC;
    return by_sign ? sx_sign_name(t) : sx_bits_name(t);
}

static void atomic_access(sx_decoder *d, bool result)
{
    static const struct {
        ptx_mod mod;
        const char *name;
    } ops[] = {
        {PTX_MOD_ADD, "atom_add_"}, {PTX_MOD_MIN, "atom_min_"}, {PTX_MOD_MAX, "atom_max_"},
        {PTX_MOD_AND, "atom_and_"}, {PTX_MOD_OR, "atom_or_"},   {PTX_MOD_XOR, "atom_xor_"},
        {PTX_MOD_INC, "atom_inc_"}, {PTX_MOD_DEC, "atom_dec_"}, {PTX_MOD_EXCH, "atom_exch_"},
        {PTX_MOD_CAS, "atom_cas_"},
    };
    const ptx_type t = (ptx_type)d->inst->types[0];
    const unsigned first = result ? 1 : 0;
    char name[SX_NAME] = "none";
    bool is_cas = false;
    sx_ignore_hints(d);
    (void)sx_is_strong(d);
    sx_ignore(d, PTX_MOD_ACQ_REL);
    sx_ignore(d, PTX_MOD_NOFTZ);
    for (size_t n = 0; n < sizeof ops / sizeof *ops; n++)
        if (sx_has(d, ops[n].mod)) {
            sx_join_name(name, ops[n].name, atom_type(t, ops[n].mod), "");
            is_cas = ops[n].mod == PTX_MOD_CAS;
        }
    const unsigned count = d->inst->vector;
    const ptx_operand *to = result ? sx_operand(d, 0) : NULL, *from = sx_operand(d, first + 1);
    if (d->inst->type_count != 1 || (count > 1 && (is_cas || !fits(d, from, count)))) {
        sx_refuse_inst(d);
        return;
    }
    const sx_address a = address_of(d, sx_operand(d, first), ptx_type_bytes(t) * count);
    if (a.is_param)
        sx_refuse(d, "a kernel's parameters cannot be written");
    const uint32_t c = is_cas ? sx_use_n(d, first + 2, t) : SX_NO_OPERAND;
    uint32_t values[4], old[4];
    for (unsigned n = 0; n < count; n++) {
        values[n] = sx_use(d, element(from, n), t);
        old[n] = SX_NO_OPERAND;
    }
    for (unsigned n = 0; n < count; n++) { /* each element by itself, as PTX has it */
        sx_result r = {.operand = SX_NO_OPERAND, .reg = SX_NO_OPERAND};
        const ptx_operand *one = to ? element(to, n) : NULL;
        if (one && one->kind != PTX_OPERAND_SINK && count > 1) /* may be one of the operands */
            r.operand = old[n] = sx_temp(d, sx_container(t));
        else if (one && one->kind != PTX_OPERAND_SINK)
            r = sx_define(d, one, t);
        sx_insn *i = sx_emit3(d, name, r.operand, a.operand, values[n], c);
        i->imm = a.imm + (int64_t)(n * ptx_type_bytes(t));
        i->aux = a.aux;
        sx_finish(d, &r);
    }
    for (unsigned n = 0; n < count; n++) {
        if (old[n] == SX_NO_OPERAND)
            continue;
        sx_result r = sx_define(d, element(to, n), t);
        sx_join_name(name, "mov_", sx_bits_name(t), "");
        sx_emit1(d, name, r.operand, old[n]);
        sx_finish(d, &r);
    }
}

/* Instructions with such a policy ignore it, so that any number is one. */
static void create_policy(sx_decoder *d)
{
    sx_ignore_hints(d);
    sx_ignore(d, PTX_MOD_FRACTIONAL);
    sx_ignore(d, PTX_MOD_RANGE);
    const sx_result r = sx_define(d, sx_operand(d, 0), PTX_B64);
    sx_emit1(d, "mov_64", r.operand, sx_constant(d, 0, 64));
    sx_finish(d, &r);
}

bool sx_decode_memory(sx_decoder *d)
{
    const bool typed = d->inst->type_count > 0;
    switch (d->inst->op) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        if (!typed)
            return false;
        load(d);
        break;
    case PTX_OP_ST:
        if (!typed)
            return false;
        store(d);
        break;
    case PTX_OP_ATOM:
    case PTX_OP_RED:
        if (!typed)
            return false;
        atomic_access(d, d->inst->op == PTX_OP_ATOM);
        break;
    case PTX_OP_CREATEPOLICY:
        create_policy(d);
        break;
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_DISCARD:
        sx_ignore_hints(d);
        sx_emit(d, "nop");
        break;
    default:
        return false;
    }
    return true;
}
