/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Places for registers. PTX has as many registers as it likes, and each takes 64 to 256 bytes of a
 * warp's frame. Registers whose lives do not overlap share a place, so that a frame stays in the
 * first-level cache. A life is the stretch of code, in layout order, from the first place where the
 * value may be needed later to the last. Loops are one piece of that order, and data flow over the
 * blocks says what lives around them.
 *
 * Diverged lanes are no danger: a lane touches only its own column, in its own order. A result
 * under a guard keeps the other lanes' old values, so it uses the register as well.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/decode.h"
#include "exec/matrix.h"
#include "exec/ops.h"

typedef struct lives {
    uint32_t words;                  /* in a set of registers */
    uint64_t *gen, *kill, *in, *out; /* by block in layout order */
    uint32_t *start, *end; /* by register, in half steps: 2 * instruction, + 1 for results */
} lives;

typedef void (*visitor)(void *context, uint32_t reg, bool is_result);

static void visit(uint32_t operand, bool is_result, visitor see, void *context)
{
    if (operand != SX_NO_OPERAND && (operand & 3) == SX_BASE_REGS)
        see(context, operand >> 2, is_result);
}

/* Registers that an instruction has no room for in itself. */
static sx_call_info *lists_of(const sx_insn *i)
{
    if (i->fn == sx_op_mma)
        return ((const sx_product *)i->info)->lists;
    /* ours until the module is loaded */
    return i->fn == sx_op_call ? (sx_call_info *)(uintptr_t)i->info : NULL;
}

/* Sources first, then results. */
static void visit_insn(const sx_decoder *d, size_t at, visitor see, void *context)
{
    const sx_insn *i = &d->insns[at];
    const bool soft = d->soft[at] || i->guard != SX_NO_OPERAND;
    visit(i->guard, false, see, context);
    for (unsigned n = 0; n < SX_OPERANDS; n++)
        if (n >= i->results || soft)
            visit(i->o[n], false, see, context);
    const sx_call_info *call = lists_of(i);
    const uint32_t count = call ? call->arg_count + call->return_count : 0;
    for (uint32_t n = 0; n < count; n++)
        if (call->places[n].is_reg && (n < call->arg_count || soft))
            visit(call->places[n].at, false, see, context);
    for (unsigned n = 0; n < i->results; n++)
        visit(i->o[n], true, see, context);
    for (uint32_t n = call ? call->arg_count : 0; n < count; n++)
        if (call->places[n].is_reg)
            visit(call->places[n].at, true, see, context);
}

/* ---- data flow ------------------------------------------------------------------------------- */

typedef struct block_sets {
    uint64_t *gen, *kill;
} block_sets;

static void see_local(void *context, uint32_t reg, bool is_result)
{
    block_sets *s = context;
    const uint64_t bit = UINT64_C(1) << (reg & 63);
    if (is_result)
        s->kill[reg / 64] |= bit;
    else if (!(s->kill[reg / 64] & bit))
        s->gen[reg / 64] |= bit;
}

static void flow(const sx_decoder *d, lives *v)
{
    const sx_cfg *cfg = &d->cfg;
    const uint32_t words = v->words;
    for (uint32_t n = 0; n < cfg->layout_count; n++) {
        const sx_cfg_block *b = &cfg->blocks[cfg->layout[n]];
        block_sets s = {v->gen + (size_t)n * words, v->kill + (size_t)n * words};
        for (uint32_t i = b->start; i < b->stop; i++)
            visit_insn(d, i, see_local, &s);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = cfg->layout_count; n-- > 0;) {
            const sx_cfg_block *b = &cfg->blocks[cfg->layout[n]];
            uint64_t *out = v->out + (size_t)n * words, *in = v->in + (size_t)n * words;
            const uint64_t *gen = v->gen + (size_t)n * words, *kill = v->kill + (size_t)n * words;
            for (uint32_t k = 0; k < b->succs; k++) {
                const uint32_t to = cfg->blocks[cfg->edges[b->succ + k]].order;
                for (uint32_t w = 0; w < words; w++)
                    out[w] |= v->in[(size_t)to * words + w];
            }
            for (uint32_t w = 0; w < words; w++) {
                const uint64_t live = gen[w] | (out[w] & ~kill[w]);
                changed |= live != in[w];
                in[w] = live;
            }
        }
    }
}

/* ---- lives ----------------------------------------------------------------------------------- */

typedef struct stretch {
    lives *v;
    uint32_t at; /* instruction */
} stretch;

static void extend(lives *v, uint32_t reg, uint32_t at)
{
    if (at < v->start[reg])
        v->start[reg] = at;
    if (v->end[reg] == UINT32_MAX || at > v->end[reg])
        v->end[reg] = at;
}

static void see_stretch(void *context, uint32_t reg, bool is_result)
{
    stretch *s = context;
    extend(s->v, reg, 2 * s->at + (is_result ? 1 : 0));
}

static void extend_set(lives *v, const uint64_t *set, uint32_t at)
{
    for (uint32_t w = 0; w < v->words; w++)
        for (uint64_t left = set[w]; left; left &= left - 1)
            extend(v, w * 64 + (uint32_t)__builtin_ctzll(left), at);
}

static void measure(const sx_decoder *d, lives *v)
{
    const sx_cfg *cfg = &d->cfg;
    for (uint32_t reg = 0; reg < d->reg_count; reg++) {
        const bool pinned = d->regs[reg].pinned;
        v->start[reg] = pinned ? 0 : UINT32_MAX;
        v->end[reg] = pinned ? (uint32_t)(2 * d->count) : UINT32_MAX;
    }
    for (uint32_t n = 0; n < cfg->layout_count; n++) {
        const sx_cfg_block *b = &cfg->blocks[cfg->layout[n]];
        extend_set(v, v->in + (size_t)n * v->words, 2 * b->start);
        for (uint32_t i = b->start; i < b->stop; i++) {
            stretch s = {v, i};
            visit_insn(d, i, see_stretch, &s);
        }
        extend_set(v, v->out + (size_t)n * v->words, 2 * b->stop - 1);
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

static unsigned size_class(unsigned bits)
{
    return bits == 1    ? SX_SLOT_PRED
           : bits == 16 ? SX_SLOT_16
           : bits == 32 ? SX_SLOT_32
                        : SX_SLOT_64;
}

typedef struct places {
    uint32_t *begins, *ends; /* registers by step: heads of lists */
    uint32_t *next_begin, *next_end;
    uint32_t *free_places[SX_SLOT_CLASSES];
    uint32_t free_count[SX_SLOT_CLASSES];
    uint32_t *slots; /* all places */
    uint32_t slot_count;
    uint32_t used;
} places;

static uint32_t take_place(places *p, unsigned class)
{
    if (p->free_count[class])
        return p->free_places[class][--p->free_count[class]];
    const uint32_t at = p->used;
    p->used += class == SX_SLOT_PRED ? 64 : 32u << class;
    p->slots[p->slot_count++] = at | class;
    for (uint32_t n = 15; n > 0 && class == SX_SLOT_PRED; n--) { /* sixteen in a cache line */
        p->free_places[class][p->free_count[class]++] = at + 4 * n;
        p->slots[p->slot_count++] = (at + 4 * n) | class;
    }
    return at;
}

static void assign(sx_decoder *d, const lives *v, places *p)
{
    const uint32_t steps = (uint32_t)(2 * d->count + 1);
    for (uint32_t n = 0; n < steps; n++)
        p->begins[n] = p->ends[n] = PTX_NO_INDEX;
    for (uint32_t reg = 0; reg < d->reg_count; reg++) {
        if (v->start[reg] == UINT32_MAX)
            continue;
        p->next_begin[reg] = p->begins[v->start[reg]];
        p->begins[v->start[reg]] = reg;
        p->next_end[reg] = p->ends[v->end[reg]];
        p->ends[v->end[reg]] = reg;
    }
    for (uint32_t n = 0; n < steps; n++) {
        for (uint32_t reg = n ? p->ends[n - 1] : PTX_NO_INDEX; reg != PTX_NO_INDEX;
             reg = p->next_end[reg]) {
            const unsigned class = size_class(d->regs[reg].bits);
            p->free_places[class][p->free_count[class]++] = d->regs[reg].place;
        }
        for (uint32_t reg = p->begins[n]; reg != PTX_NO_INDEX; reg = p->next_begin[reg])
            d->regs[reg].place = take_place(p, size_class(d->regs[reg].bits));
    }
    d->code->frame_bytes = (p->used + 63) & ~63u;
}

static void rewrite(const sx_decoder *d, uint32_t *operand)
{
    if (*operand != SX_NO_OPERAND && (*operand & 3) == SX_BASE_REGS)
        *operand = d->regs[*operand >> 2].place | SX_BASE_REGS;
}

static void rewrite_all(sx_decoder *d)
{
    for (size_t at = 0; at < d->count; at++) {
        sx_insn *i = &d->insns[at];
        rewrite(d, &i->guard);
        for (unsigned n = 0; n < SX_OPERANDS; n++)
            rewrite(d, &i->o[n]);
        sx_call_info *info = lists_of(i);
        for (uint32_t n = 0; info && n < info->arg_count + info->return_count; n++)
            if (info->places[n].is_reg)
                rewrite(d, &info->places[n].at);
    }
}

static void keep_slots(sx_decoder *d, const places *p)
{
    uint32_t *slots = sx_own(d->module, p->slot_count * sizeof *slots);
    if (!slots) {
        sx_no_memory(d);
        return;
    }
    for (uint32_t n = 0; n < p->slot_count; n++)
        slots[n] = p->slots[n];
    d->code->slots = slots;
    d->code->slot_count = p->slot_count;
}

bool sx_place_registers(sx_decoder *d)
{
    const size_t words = (d->reg_count + 63) / 64, blocks = d->cfg.layout_count;
    const size_t steps = 2 * d->count + 1, regs = d->reg_count + 1;
    lives v = {.words = (uint32_t)words};
    places p = {0};
    uint64_t *sets = calloc(4 * words * blocks + 1, sizeof *sets);
    uint32_t *numbers = malloc((9 * regs + 2 * steps + 5 * 16) * sizeof *numbers);
    if (sets && numbers) {
        v.gen = sets;
        v.kill = v.gen + words * blocks;
        v.in = v.kill + words * blocks;
        v.out = v.in + words * blocks;
        v.start = numbers;
        v.end = v.start + regs;
        p.next_begin = v.end + regs;
        p.next_end = p.next_begin + regs;
        for (unsigned c = 0; c < SX_SLOT_CLASSES; c++)
            p.free_places[c] = p.next_end + regs + c * (regs + 16);
        p.slots = p.free_places[SX_SLOT_64] + regs + 16;
        p.begins = p.slots + regs + 16;
        p.ends = p.begins + steps;
        flow(d, &v);
        measure(d, &v);
        assign(d, &v, &p);
        rewrite_all(d);
        keep_slots(d, &p);
    } else {
        sx_no_memory(d);
    }
    free(sets);
    free(numbers);
    return !d->failed;
}
