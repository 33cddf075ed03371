/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What every family of the decoder needs: refusing, modifiers, constants, operands, and emitting.
 * After a failure everything goes on harmlessly, and the first reason is kept.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/decode.h"
#include "exec/op_round.h"
#include "exec/ops.h"
#include "exec/scalar_float.h"

/* ---- failing: the first reason stays --------------------------------------------------------- */

static void refuse(sx_decoder *d, bool valid, const char *format, va_list list)
{
    if (d->failed)
        return;
    d->failed = true;
    d->valid = valid;
    d->error->code = SX_INVALID_PTX;
    d->error->line = d->inst ? d->inst->line : 0;
    size_t at = 0, size = sizeof d->error->text;
    if (d->inst)
        at = (size_t)snprintf(d->error->text, size, "PTX line %u, %s in %s: ", d->inst->line,
                              d->inst->name, d->fn->name);
    if (at < size)
        vsnprintf(d->error->text + at, size - at, format, list);
}

void sx_refuse(sx_decoder *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    refuse(d, false, format, list);
    va_end(list);
}

void sx_not_executed(sx_decoder *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    refuse(d, true, format, list);
    va_end(list);
}

void sx_refuse_inst(sx_decoder *d)
{
    sx_not_executed(
        d, "the software device does not execute %s; keep kernels that need it for a GPU",
        d->inst->name);
}

void sx_no_memory(sx_decoder *d)
{
    if (d->failed)
        return;
    d->failed = true;
    d->valid = false;
    d->error->code = SX_OUT_OF_MEMORY;
    d->error->line = 0;
    snprintf(d->error->text, sizeof d->error->text, "no memory to load the module");
}

/* ---- modifiers ------------------------------------------------------------------------------- */

bool sx_has(sx_decoder *d, ptx_mod mod)
{
    bool found = false;
    for (unsigned n = 0; n < d->inst->mod_count; n++) {
        if (d->inst->mods[n] == mod) {
            d->consumed |= UINT32_C(1) << n;
            found = true;
        }
    }
    return found;
}

void sx_ignore(sx_decoder *d, ptx_mod mod)
{
    (void)sx_has(d, mod);
}

unsigned sx_rounding(sx_decoder *d)
{
    if (sx_has(d, PTX_MOD_RZ))
        return SX_RZ;
    if (sx_has(d, PTX_MOD_RM))
        return SX_RM;
    if (sx_has(d, PTX_MOD_RP))
        return SX_RP;
    sx_ignore(d, PTX_MOD_RN);
    return SX_RN;
}

/* ---- names ----------------------------------------------------------------------------------- */

unsigned sx_container(ptx_type type)
{
    unsigned bits = ptx_type_bits(type);
    if (type == PTX_PRED)
        return 1;
    return bits <= 16 ? 16 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
}

const char *sx_bits_name(ptx_type type)
{
    switch (sx_container(type)) {
    case 16:
        return "16";
    case 32:
        return "32";
    case 64:
        return "64";
    default:
        return "none";
    }
}

const char *sx_sign_name(ptx_type type)
{
    bool is_signed = ptx_type_is_signed(type);
    switch (ptx_type_bits(type)) {
    case 8:
        return is_signed ? "s8" : "u8";
    case 16:
        return is_signed ? "s16" : "u16";
    case 32:
        return is_signed ? "s32" : "u32";
    case 64:
        return is_signed ? "s64" : "u64";
    default:
        return "none";
    }
}

void sx_join_name(char name[SX_NAME], const char *a, const char *b, const char *c)
{
    size_t at = 0;
    const char *parts[] = {a, b, c};
    for (unsigned n = 0; n < 3; n++)
        for (const char *s = parts[n]; *s && at < SX_NAME - 1; s++)
            name[at++] = *s;
    name[at] = '\0';
}

/* ---- constants ------------------------------------------------------------------------------- */

static bool grow_slots(sx_constants *k)
{
    size_t count = k->slot_count ? 2 * k->slot_count : 256;
    struct sx_constant_slot *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t n = 0; n < k->slot_count; n++) {
        if (!k->slots[n].bits)
            continue;
        size_t at = (size_t)((k->slots[n].value * UINT64_C(0x9e3779b97f4a7c15)) >> 20) % count;
        while (slots[at].bits)
            at = (at + 1) % count;
        slots[at] = k->slots[n];
    }
    free(k->slots);
    k->slots = slots;
    k->slot_count = count;
    return true;
}

static void fill_lanes(char *to, uint64_t value, unsigned bits)
{
    if (bits == 1) {
        uint32_t mask = value ? SX_ALL_LANES : 0;
        memcpy(to, &mask, sizeof mask);
        return;
    }
    for (unsigned l = 0; l < SX_LANES; l++) { /* the low bytes come first on every supported CPU */
        uint16_t v16 = (uint16_t)value;
        uint32_t v32 = (uint32_t)value;
        const void *from = bits == 16 ? (void *)&v16 : bits == 32 ? (void *)&v32 : (void *)&value;
        memcpy(to + (size_t)l * bits / 8, from, bits / 8);
    }
}

uint32_t sx_constant(sx_decoder *d, uint64_t value, unsigned bits)
{
    sx_constants *k = &d->constants;
    if (bits < 64)
        value &= (UINT64_C(1) << bits) - 1;
    if (2 * (k->slot_used + 1) > k->slot_count && !grow_slots(k)) {
        sx_no_memory(d);
        return SX_BASE_CONST;
    }
    size_t at = (size_t)((value * UINT64_C(0x9e3779b97f4a7c15)) >> 20) % k->slot_count;
    for (; k->slots[at].bits; at = (at + 1) % k->slot_count)
        if (k->slots[at].value == value && k->slots[at].bits == bits)
            return k->slots[at].offset | SX_BASE_CONST;
    const size_t bytes = bits == 1 ? 64 : (size_t)bits * SX_LANES / 8;
    if (k->used + bytes > k->room) {
        size_t room = k->room ? 2 * k->room : 16384;
        char *grown = realloc(k->bytes, room);
        if (!grown) {
            sx_no_memory(d);
            return SX_BASE_CONST;
        }
        k->bytes = grown;
        k->room = room;
    }
    fill_lanes(k->bytes + k->used, value, bits);
    k->slots[at] = (struct sx_constant_slot){value, (uint32_t)k->used, (uint8_t)bits};
    k->slot_used++;
    k->used += bytes;
    return k->slots[at].offset | SX_BASE_CONST;
}

/* ---- emitting -------------------------------------------------------------------------------- */

static bool make_room(sx_decoder *d)
{
    if (d->count < d->room)
        return true;
    size_t room = d->room ? 2 * d->room : 256;
    sx_insn *insns = realloc(d->insns, room * sizeof *insns);
    if (insns)
        d->insns = insns;
    uint8_t *soft = realloc(d->soft, room);
    if (soft)
        d->soft = soft;
    if (!insns || !soft)
        return false;
    d->room = room;
    return true;
}

sx_insn *sx_emit_plain(sx_decoder *d, const char *name)
{
    unsigned op = sx_op_find(name);
    if (op == SX_OP_COUNT) {
        sx_refuse_inst(d);
        return &d->refused;
    }
    if (!make_room(d)) {
        sx_no_memory(d);
        return &d->refused;
    }
    sx_insn *i = &d->insns[d->count];
    d->soft[d->count++] = d->in_branch_around;
    *i = (sx_insn){.fn = sx_op_handler(op), .guard = SX_NO_OPERAND};
    for (unsigned n = 0; n < SX_OPERANDS; n++)
        i->o[n] = SX_NO_OPERAND;
    i->source = d->inst ? (uint32_t)(d->inst - d->fn->insts) : 0;
    return i;
}

sx_insn *sx_emit(sx_decoder *d, const char *name)
{
    sx_insn *i = sx_emit_plain(d, name);
    if (d->inst && d->guard != SX_NO_OPERAND && !d->in_branch_around) {
        i->inner = i->fn;
        i->fn = sx_op_guarded;
        i->guard = d->guard;
        i->negated = d->inst->guard_negated;
    }
    return i;
}

sx_insn *sx_emit3(sx_decoder *d, const char *name, uint32_t r, uint32_t a, uint32_t b, uint32_t c)
{
    sx_insn *i = sx_emit(d, name);
    i->o[0] = r;
    i->o[1] = a;
    i->o[2] = b;
    i->o[3] = c;
    i->results = 1;
    return i;
}

sx_insn *sx_emit2(sx_decoder *d, const char *name, uint32_t r, uint32_t a, uint32_t b)
{
    return sx_emit3(d, name, r, a, b, SX_NO_OPERAND);
}

sx_insn *sx_emit1(sx_decoder *d, const char *name, uint32_t r, uint32_t a)
{
    return sx_emit3(d, name, r, a, SX_NO_OPERAND, SX_NO_OPERAND);
}

uint32_t sx_temp(sx_decoder *d, unsigned bits)
{
    if (d->reg_count == d->reg_room) {
        uint32_t room = d->reg_room ? 2 * d->reg_room : 256;
        sx_vreg *regs = realloc(d->regs, room * sizeof *regs);
        if (!regs) {
            sx_no_memory(d);
            return SX_REG_OPERAND(0);
        }
        d->regs = regs;
        d->reg_room = room;
    }
    d->regs[d->reg_count] = (sx_vreg){.bits = (uint8_t)bits};
    return SX_REG_OPERAND(d->reg_count++);
}
