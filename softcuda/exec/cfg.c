/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The control flow of one function: blocks, dominators, loops, and the order in which blocks are
 * laid out. Divergent lanes meet again because the group at the lowest address runs first. So the
 * order is topological (ignoring back edges), and every loop is one piece of it: whatever the order
 * in the text, no block comes before one that may still lead to it.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/decode.h"

#define NONE PTX_NO_INDEX

void sx_cfg_free(sx_cfg *cfg)
{
    free(cfg->blocks);
    free(cfg->edges);
    free(cfg->pred_edges);
    free(cfg->pred_start);
    free(cfg->block_of);
    free(cfg->rpo);
    free(cfg->layout);
    *cfg = (sx_cfg){0};
}

/* ---- blocks and edges ------------------------------------------------------------------------ */

static bool ends_block(const ptx_function *fn, const ptx_inst *inst)
{
    if (sx_needs_branch_around(fn, inst))
        return true;
    switch (inst->op) {
    case PTX_OP_BRA:
    case PTX_OP_BRX:
        return true;
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
        return inst->guard == NONE;
    default:
        return false;
    }
}

static bool runs_on(const ptx_inst *inst)
{
    switch (inst->op) {
    case PTX_OP_BRA:
    case PTX_OP_BRX:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
        return inst->guard != NONE;
    default:
        return true;
    }
}

static bool find_blocks(sx_cfg *cfg, const ptx_function *fn)
{
    const uint32_t n = fn->inst_count;
    uint8_t *leader = calloc(n + 1, 1);
    cfg->block_of = malloc((n + 1) * sizeof *cfg->block_of);
    if (!leader || !cfg->block_of) {
        free(leader);
        return false;
    }
    leader[0] = 1;
    for (uint32_t l = 0; l < fn->label_count; l++)
        leader[fn->labels[l].target] = 1;
    for (uint32_t i = 0; i < n; i++)
        if (ends_block(fn, &fn->insts[i]))
            leader[i + 1] = 1;
    for (uint32_t i = 0; i < n; i++)
        cfg->count += leader[i];
    cfg->blocks = calloc(cfg->count, sizeof *cfg->blocks);
    if (cfg->blocks) {
        uint32_t b = NONE;
        for (uint32_t i = 0; i < n; i++) {
            if (leader[i])
                cfg->blocks[++b].first = i;
            cfg->blocks[b].end = i + 1;
            cfg->block_of[i] = b;
        }
    }
    free(leader);
    return cfg->blocks != NULL;
}

static bool add_edge(sx_cfg *cfg, sx_cfg_block *from, uint32_t to)
{
    if (cfg->edge_count == cfg->edge_room) {
        uint32_t room = cfg->edge_room ? 2 * cfg->edge_room : 64;
        uint32_t *edges = realloc(cfg->edges, room * sizeof *edges);
        if (!edges)
            return false;
        cfg->edges = edges;
        cfg->edge_room = room;
    }
    cfg->edges[cfg->edge_count++] = to;
    from->succs++;
    cfg->blocks[to].preds++;
    return true;
}

static bool branch_edges(sx_cfg *cfg, sx_cfg_block *b, const ptx_inst *last)
{
    bool good = true;
    for (uint32_t n = 0; n < last->operand_count && good; n++) {
        const ptx_operand *op = &last->operands[n];
        if (op->kind == PTX_OPERAND_LABEL)
            good = add_edge(cfg, b, cfg->block_of[op->target]);
        for (uint32_t k = 0; op->kind == PTX_OPERAND_TARGETS && k < op->targets->count && good; k++)
            if (op->targets->labels)
                good = add_edge(cfg, b, cfg->block_of[op->targets->labels[k]]);
    }
    return good;
}

/* The block that a block falls through to comes last among its successors. */
static bool find_edges(sx_cfg *cfg, const ptx_function *fn)
{
    bool good = true;
    for (uint32_t n = 0; n < cfg->count && good; n++) {
        sx_cfg_block *b = &cfg->blocks[n];
        const ptx_inst *last = &fn->insts[b->end - 1];
        b->succ = cfg->edge_count;
        b->fall = NONE;
        if (last->op == PTX_OP_BRA || last->op == PTX_OP_BRX)
            good = branch_edges(cfg, b, last);
        if (n + 1 < cfg->count && runs_on(last)) {
            b->fall = n + 1;
            good = good && add_edge(cfg, b, n + 1);
        }
        if (b->fall != NONE && sx_needs_branch_around(fn, last))
            cfg->blocks[b->fall].preds++; /* lanes come along both edges */
    }
    return good;
}

static bool find_preds(sx_cfg *cfg)
{
    cfg->pred_start = calloc(cfg->count + 1, sizeof *cfg->pred_start);
    cfg->pred_edges = malloc((cfg->edge_count + 1) * sizeof *cfg->pred_edges);
    if (!cfg->pred_start || !cfg->pred_edges)
        return false;
    for (uint32_t e = 0; e < cfg->edge_count; e++)
        cfg->pred_start[cfg->edges[e]]++;
    uint32_t at = 0;
    for (uint32_t n = 0; n <= cfg->count; n++) {
        uint32_t here = n < cfg->count ? cfg->pred_start[n] : 0;
        cfg->pred_start[n] = at + here; /* the end; filling walks down to the start */
        at += here;
    }
    for (uint32_t n = 0; n < cfg->count; n++) {
        const sx_cfg_block *b = &cfg->blocks[n];
        for (uint32_t k = 0; k < b->succs; k++)
            cfg->pred_edges[--cfg->pred_start[cfg->edges[b->succ + k]]] = n;
    }
    return true;
}

/* ---- plain order, dominators, loops ---------------------------------------------------------- */

static bool find_rpo(sx_cfg *cfg)
{
    cfg->rpo = malloc(cfg->count * sizeof *cfg->rpo);
    uint32_t *stack = malloc(cfg->count * sizeof *stack);
    uint32_t *next = calloc(cfg->count, sizeof *next);
    if (cfg->rpo && stack && next) {
        uint32_t depth = 0, left = cfg->count;
        for (uint32_t n = 0; n < cfg->count; n++)
            cfg->blocks[n].rpo = NONE;
        stack[depth++] = 0;
        cfg->blocks[0].rpo = 0; /* seen; gets its number when it is finished */
        while (depth) {
            const sx_cfg_block *b = &cfg->blocks[stack[depth - 1]];
            if (next[stack[depth - 1]] < b->succs) {
                uint32_t to = cfg->edges[b->succ + next[stack[depth - 1]]++];
                if (cfg->blocks[to].rpo == NONE) {
                    cfg->blocks[to].rpo = 0;
                    stack[depth++] = to;
                }
            } else {
                cfg->rpo[--left] = stack[--depth];
            }
        }
        cfg->rpo_count = cfg->count - left;
        memmove(cfg->rpo, cfg->rpo + left, cfg->rpo_count * sizeof *cfg->rpo);
        for (uint32_t n = 0; n < cfg->rpo_count; n++)
            cfg->blocks[cfg->rpo[n]].rpo = n;
    }
    free(stack);
    free(next);
    return cfg->rpo && cfg->rpo_count;
}

static uint32_t common_dominator(const sx_cfg *cfg, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (cfg->blocks[a].rpo > cfg->blocks[b].rpo)
            a = cfg->blocks[a].idom;
        while (cfg->blocks[b].rpo > cfg->blocks[a].rpo)
            b = cfg->blocks[b].idom;
    }
    return a;
}

static void find_dominators(sx_cfg *cfg)
{
    for (uint32_t n = 0; n < cfg->count; n++)
        cfg->blocks[n].idom = NONE;
    cfg->blocks[cfg->rpo[0]].idom = cfg->rpo[0];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 1; n < cfg->rpo_count; n++) {
            const uint32_t b = cfg->rpo[n];
            uint32_t idom = NONE;
            for (uint32_t p = cfg->pred_start[b]; p < cfg->pred_start[b + 1]; p++) {
                const uint32_t from = cfg->pred_edges[p];
                if (cfg->blocks[from].idom != NONE)
                    idom = idom == NONE ? from : common_dominator(cfg, from, idom);
            }
            if (idom != cfg->blocks[b].idom) {
                cfg->blocks[b].idom = idom;
                changed = true;
            }
        }
    }
}

static bool dominates(const sx_cfg *cfg, uint32_t a, uint32_t b)
{
    while (cfg->blocks[b].rpo > cfg->blocks[a].rpo)
        b = cfg->blocks[b].idom;
    return a == b;
}

static uint32_t loop_of(const sx_cfg *cfg, uint32_t b)
{
    return cfg->blocks[b].is_header ? b : cfg->blocks[b].loop;
}

static bool inside(const sx_cfg *cfg, uint32_t b, uint32_t header)
{
    for (uint32_t l = loop_of(cfg, b); l != NONE; l = cfg->blocks[l].loop)
        if (l == header)
            return true;
    return false;
}

/* Assigns the blocks of the loop at `header` to it; inner loops were found before. */
static void fill_loop(sx_cfg *cfg, uint32_t header, uint32_t *work)
{
    uint32_t depth = 0;
    for (uint32_t p = cfg->pred_start[header]; p < cfg->pred_start[header + 1]; p++) {
        const uint32_t from = cfg->pred_edges[p];
        if (cfg->blocks[from].rpo != NONE && dominates(cfg, header, from))
            work[depth++] = from;
    }
    while (depth) {
        const uint32_t b = work[--depth];
        uint32_t outer = loop_of(cfg, b);
        while (outer != NONE && cfg->blocks[outer].loop != NONE)
            outer = cfg->blocks[outer].loop;
        uint32_t member = outer == NONE ? b : outer;
        if (member == header)
            continue;
        cfg->blocks[member].loop = header;
        for (uint32_t p = cfg->pred_start[member]; p < cfg->pred_start[member + 1]; p++)
            if (cfg->blocks[cfg->pred_edges[p]].rpo != NONE)
                work[depth++] = cfg->pred_edges[p];
    }
}

static bool find_loops(sx_cfg *cfg)
{
    /* every block is added once, and brings its edges */
    uint32_t *work = malloc((2 * (size_t)cfg->edge_count + 1) * sizeof *work);
    if (!work)
        return false;
    for (uint32_t n = 0; n < cfg->count; n++)
        cfg->blocks[n].loop = NONE;
    for (uint32_t n = cfg->rpo_count; n-- > 0;) {
        const uint32_t b = cfg->rpo[n];
        for (uint32_t p = cfg->pred_start[b]; p < cfg->pred_start[b + 1]; p++) {
            const uint32_t from = cfg->pred_edges[p];
            if (cfg->blocks[from].rpo != NONE && dominates(cfg, b, from))
                cfg->blocks[b].is_header = true;
        }
        if (cfg->blocks[b].is_header)
            fill_loop(cfg, b, work);
    }
    free(work);
    return true;
}

/* ---- layout ---------------------------------------------------------------------------------- */

/* Takes the ready block that was added last and is in the same loop as block `last`, or else in the
 * next loop around it. */
static uint32_t take_ready(const sx_cfg *cfg, uint32_t *ready, uint32_t *count, uint32_t last)
{
    uint32_t loop = last == NONE ? NONE : loop_of(cfg, last);
    for (;;) {
        for (uint32_t n = *count; n-- > 0;) {
            const uint32_t b = ready[n];
            if (loop != NONE && !inside(cfg, b, loop))
                continue;
            memmove(&ready[n], &ready[n + 1], (*count - n - 1) * sizeof *ready);
            --*count;
            return b;
        }
        if (loop == NONE)
            return NONE;
        loop = cfg->blocks[loop].loop;
    }
}

static bool lay_out(sx_cfg *cfg)
{
    uint32_t *ready = malloc(cfg->count * sizeof *ready);
    cfg->layout = malloc(cfg->count * sizeof *cfg->layout);
    if (!ready || !cfg->layout) {
        free(ready);
        return false;
    }
    for (uint32_t n = 0; n < cfg->count; n++)
        cfg->blocks[n].order = NONE;
    for (uint32_t n = 0; n < cfg->rpo_count; n++) {
        const sx_cfg_block *b = &cfg->blocks[cfg->rpo[n]];
        for (uint32_t k = 0; k < b->succs; k++) {
            sx_cfg_block *to = &cfg->blocks[cfg->edges[b->succ + k]];
            to->waiting += to->rpo > b->rpo;
        }
    }
    uint32_t count = 0, last = NONE, behind = 0;
    ready[count++] = cfg->rpo[0];
    while (cfg->layout_count < cfg->rpo_count) {
        last = take_ready(cfg, ready, &count, last);
        while (last == NONE || cfg->blocks[last].order != NONE)
            last = cfg->rpo[behind++]; /* can not happen in a graph without stray edges */
        sx_cfg_block *b = &cfg->blocks[last];
        b->order = cfg->layout_count;
        cfg->layout[cfg->layout_count++] = last;
        for (uint32_t k = 0; k < b->succs; k++) {
            const uint32_t to = cfg->edges[b->succ + k];
            if (cfg->blocks[to].rpo > b->rpo && --cfg->blocks[to].waiting == 0)
                ready[count++] = to;
        }
    }
    free(ready);
    return true;
}

/* ---- loops that wait for somebody ------------------------------------------------------------ */

/* What a turn of a loop with this instruction costs: see sx_group_back_edge. */
static uint16_t cost_of(const ptx_inst *inst)
{
    static const ptx_mod strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
                                     PTX_MOD_MMIO, PTX_MOD_CV};
    switch (inst->op) {
    case PTX_OP_CALL:
        return SX_COST_CALL;
    case PTX_OP_NANOSLEEP:
    case PTX_OP_MBARRIER:
        return SX_COST_SPIN;
    case PTX_OP_ATOM:
        return ptx_inst_has(inst, PTX_MOD_CAS) || ptx_inst_has(inst, PTX_MOD_EXCH) ||
                       ptx_inst_has(inst, PTX_MOD_OR) || ptx_inst_has(inst, PTX_MOD_ADD)
                   ? SX_COST_SPIN
                   : SX_COST_LOOP;
    case PTX_OP_LD:
        for (size_t n = 0; n < sizeof strong / sizeof *strong; n++)
            if (ptx_inst_has(inst, strong[n]))
                return SX_COST_SPIN;
        return SX_COST_LOOP;
    default:
        return SX_COST_LOOP;
    }
}

static void find_costs(sx_cfg *cfg, const ptx_function *fn)
{
    for (uint32_t n = 0; n < cfg->count; n++)
        cfg->blocks[n].cost = SX_COST_LOOP;
    for (uint32_t n = 0; n < cfg->count; n++) {
        const uint32_t header = cfg->blocks[n].rpo == NONE ? NONE : loop_of(cfg, n);
        for (uint32_t i = cfg->blocks[n].first; header != NONE && i < cfg->blocks[n].end; i++) {
            uint16_t cost = cost_of(&fn->insts[i]);
            if (cost > cfg->blocks[header].cost)
                cfg->blocks[header].cost = cost;
        }
    }
}

bool sx_cfg_build(sx_decoder *d)
{
    sx_cfg *cfg = &d->cfg;
    if (!find_blocks(cfg, d->fn) || !find_edges(cfg, d->fn) || !find_preds(cfg) || !find_rpo(cfg)) {
        sx_no_memory(d);
        return false;
    }
    find_dominators(cfg);
    if (!find_loops(cfg) || !lay_out(cfg)) {
        sx_no_memory(d);
        return false;
    }
    find_costs(cfg, d->fn);
    return true;
}
