/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The model: a program of ptx_programs.h run by the book, a statement after the other. */
#ifndef TESTS_SOFTCUDA_PTX_RUN_H
#define TESTS_SOFTCUDA_PTX_RUN_H

#include "softcuda/ptx_programs.h"

typedef struct frame {
    uint64_t reg[128][REGS]; /* by class */
    uint8_t local[LOCAL_BYTES];
} frame;

typedef struct model {
    const program *p;
    uint64_t *out, *own, *red;
    uint64_t places[THREADS_MAX];
    bool gone[THREADS_MAX];
    uint32_t block;
} model;

typedef struct warp {
    model *m;
    uint32_t first; /* thread of lane 0, in its block */
} warp;

#define EACH_LANE(l, mask) \
    for (uint32_t l = 0; l < LANES; l++) \
        if ((mask) >> l & 1)

static uint64_t *reg_at(frame *f, char class, int n)
{
    return &f->reg[(int)class][n];
}

static void set_reg(frame *f, char class, int n, uint64_t v)
{
    f->reg[(int)class][n] = low_bits(v, class_bits(class));
}

static bool guard_holds(frame *f, const node *n)
{
    return n->guard < 0 || (*reg_at(f, 'p', n->guard) & 1) != n->negated;
}

static void run_do(frame *f, const node *n)
{
    const op *o = n->op;
    uint64_t in[OP_SOURCES] = {0}, out[OP_RESULTS];
    if (!guard_holds(f, n))
        return;
    for (int k = 0; o->sources[k]; k++)
        in[k] = n->is_value[k] ? n->values[k] : *reg_at(f, o->sources[k], n->from[k]);
    op_compute(o, in, out);
    for (int k = 0; o->results[k]; k++)
        set_reg(f, o->results[k], n->to[k], out[k]);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t element(const access *a, const uint8_t *from)
{
    uint64_t v = 0;
    memcpy(&v, from, (size_t)a->bytes);
    return a->kind == 's' ? (uint64_t)sign_extended(v, 8 * a->bytes) : v;
}

static void run_load(warp *w, frame *f, const node *n)
{
    const access *a = &accesses[n->form];
    const uint8_t *from[] = {(const uint8_t *)w->m->p->in, w->m->p->table, f->local, f->local};
    static const uint32_t sizes[] = {IN_WORDS * 8, TABLE_BYTES, LOCAL_BYTES, LOCAL_BYTES};
    const uint32_t moved = (uint32_t)a->bytes * n->number;
    const uint8_t *at = from[n->values[0]];
    at += (*reg_at(f, 'r', n->from[4]) & (sizes[n->values[0]] / moved - 1)) * moved;
    if (!guard_holds(f, n))
        return;
    for (uint32_t k = 0; k < n->number; k++)
        set_reg(f, n->class, n->to[k], element(a, at + k * (uint32_t)a->bytes));
}

static void run_store(frame *f, const node *n)
{
    const size_t bytes = (size_t)accesses[n->form].bytes, moved = bytes * n->number;
    uint8_t *at = f->local + (*reg_at(f, 'r', n->from[4]) & (LOCAL_BYTES / moved - 1)) * moved;
    if (!guard_holds(f, n))
        return;
    for (uint32_t k = 0; k < n->number; k++)
        memcpy(at + k * bytes, reg_at(f, n->class, n->from[k]), bytes);
}

static void change(uint32_t form, uint64_t *word, uint64_t b, uint64_t c)
{
    const int bits = atomics[form].type->bits;
    const uint64_t old = low_bits(*word, bits), now = atomic_value(form, old, b, c);
    *word = bits == 64 ? now : (*word & ~low_bits(UINT64_MAX, bits)) | now;
}

static void run_atomic(warp *w, frame *f, const node *n, uint32_t thread)
{
    const char class = atomics[n->form].type->reg;
    model *m = w->m;
    uint64_t *word = n->values[0]
                         ? &m->places[thread]
                         : &m->own[(m->block * m->p->threads + thread) * OWN_WORDS + n->number];
    if (!guard_holds(f, n))
        return;
    const uint64_t old = *word;
    change(n->form, word, *reg_at(f, class, n->from[0]), *reg_at(f, class, n->from[1]));
    set_reg(f, class, n->to[0], old);
}

static void run_reduce(warp *w, frame *f, const node *n)
{
    if (guard_holds(f, n))
        change(n->form, &w->m->red[n->number], *reg_at(f, atomics[n->form].type->reg, n->from[0]),
               0);
}

/* ---- lanes together -------------------------------------------------------------------------- */

static void run_shuffle(frame *f, const node *n, uint32_t mask)
{
    uint64_t values[LANES];
    const int bounds = (int)(n->values[0] & 31), segment = (int)(n->values[0] >> 8 & 31);
    EACH_LANE(l, mask)
    values[l] = *reg_at(&f[l], 'r', n->from[0]);
    EACH_LANE(l, mask)
    {
        const int lane = (int)l, b = (int)(*reg_at(&f[l], 'r', n->from[1]) & 31);
        const int most = (lane & segment) | (bounds & ~segment & 31);
        const int from = n->form == 0   ? lane - b
                         : n->form == 1 ? lane + b
                         : n->form == 2 ? lane ^ b
                                        : (lane & segment) | (b & ~segment & 31);
        const bool in = n->form == 0 ? from >= most : from <= most;
        const int at = in ? from : lane;
        const bool here = mask >> ((uint32_t)from & 31) & 1;
        set_reg(&f[l], 'r', n->to[0], in && !here ? 7 : values[at]);
        set_reg(&f[l], 'p', n->to[1], in);
    }
}

static void run_vote(frame *f, const node *n, uint32_t mask)
{
    uint32_t votes = 0;
    EACH_LANE(l, mask)
    votes |= (uint32_t)((*reg_at(&f[l], 'p', n->from[0]) & 1) != n->negated) << l;
    const bool is[] = {votes == mask, votes != 0, votes == 0 || votes == mask};
    EACH_LANE(l, mask)
    {
        if (n->form < W_VOTE + 3)
            set_reg(&f[l], 'p', n->to[0], is[n->form - W_VOTE]);
        else
            set_reg(&f[l], 'r', n->to[0], votes);
    }
}

static void run_match(frame *f, const node *n, uint32_t mask)
{
    uint64_t values[LANES];
    bool all = true;
    EACH_LANE(l, mask)
    values[l] = *reg_at(&f[l], n->form & 1 ? 'd' : 'r', n->from[0]) & 3;
    EACH_LANE(l, mask)
    {
        uint32_t same = 0;
        EACH_LANE(k, mask)
        same |= (uint32_t)(values[k] == values[l]) << k;
        all = all && same == mask;
        if (n->form < W_MATCH_ALL)
            set_reg(&f[l], 'r', n->to[0], same);
    }
    if (n->form >= W_MATCH_ALL)
        EACH_LANE(l, mask)
        {
            set_reg(&f[l], 'r', n->to[0], all ? mask : 0);
            set_reg(&f[l], 'p', n->to[1], all);
        }
}

static void run_redux(frame *f, const node *n, uint32_t mask)
{
    uint32_t r = 0;
    bool begun = false;
    EACH_LANE(l, mask)
    {
        const uint32_t v = (uint32_t)*reg_at(&f[l], 'r', n->from[0]);
        const int32_t s = (int32_t)v, t = (int32_t)r;
        const uint32_t next[] = {r + v,         s < t ? v : r, s > t ? v : r, v < r ? v : r,
                                 v > r ? v : r, r & v,         r | v,         r ^ v};
        r = begun ? next[n->form - W_REDUX] : v;
        begun = true;
    }
    EACH_LANE(l, mask)
    set_reg(&f[l], 'r', n->to[0], r);
}

/* ---- control --------------------------------------------------------------------------------- */

static void run_list(warp *w, frame *f, const node *n, uint32_t mask);

static void run_loop(warp *w, frame *f, const node *n, uint32_t mask)
{
    uint64_t counts[LANES];
    EACH_LANE(l, mask)
    counts[l] = *reg_at(&f[l], 'r', n->from[0]) & 3;
    for (;;) {
        EACH_LANE(l, mask)
        if (!counts[l]--)
            mask &= ~(1u << l);
        if (!mask)
            return;
        run_list(w, f, n->child[0], mask);
        if (!n->second)
            continue;
        EACH_LANE(l, mask)
        {
            if ((*reg_at(&f[l], 'p', n->from[1]) & 1) != n->negated)
                mask &= ~(1u << l);
            else
                set_reg(&f[l], 'r', n->to[0], *reg_at(&f[l], 'r', n->from[2]) + 1);
        }
    }
}

static void run_ways(warp *w, frame *f, const node *n, uint32_t mask)
{
    uint32_t masks[4] = {0};
    EACH_LANE(l, mask)
    {
        const uint64_t p = (*reg_at(&f[l], 'p', n->from[0]) & 1) == n->negated;
        masks[n->kind == BRANCH ? p : *reg_at(&f[l], 'r', n->from[0]) & 3] |= 1u << l;
    }
    for (int k = 0; k < 4; k++)
        if (masks[k] && n->child[k])
            run_list(w, f, n->child[k], masks[k]);
}

static void begin_register(frame *f, int n, uint64_t v)
{
    set_reg(f, classes[n / REGS], n % REGS, v);
}

static void run_callee(warp *w, frame *f, const node *n, uint32_t mask, uint32_t which)
{
    frame *callee = calloc(LANES, sizeof *callee);
    EACH_LANE(l, mask)
    {
        const uint64_t v = *reg_at(&f[l], 'r', n->from[0]) ^ *reg_at(&f[l], 'd', n->from[1]);
        for (int k = 0; k < CLASSES * REGS; k++)
            begin_register(&callee[l], k, v ^ (uint64_t)k * UINT64_C(0x0101010101010101));
        set_reg(&callee[l], 'f', 0, *reg_at(&f[l], 'f', n->from[2]));
        set_reg(&callee[l], 'h', 0, *reg_at(&f[l], 'h', n->from[3]));
    }
    run_list(w, callee, w->m->p->functions[which], mask);
    EACH_LANE(l, mask)
    for (int k = 0; k < 4; k++)
        set_reg(&f[l], "rdfs"[k], n -> to[k], *reg_at(&callee[l], "rdfs"[k], 0));
    free(callee);
}

static void run_call(warp *w, frame *f, const node *n, uint32_t mask)
{
    uint32_t first = 0;
    EACH_LANE(l, mask)
    first |= (uint32_t)(!n->second || (*reg_at(&f[l], 'p', n->from[4]) & 1)) << l;
    run_callee(w, f, n, first, n->number);
    run_callee(w, f, n, mask & ~first, n->form);
}

static void run_together(frame *f, const node *n, uint32_t mask)
{
    if (n->form < W_VOTE)
        run_shuffle(f, n, mask);
    else if (n->form < W_MATCH_ANY)
        run_vote(f, n, mask);
    else if (n->form < W_REDUX)
        run_match(f, n, mask);
    else if (n->form < W_SYNC)
        run_redux(f, n, mask);
}

static void run_plain(warp *w, frame *f, const node *n, uint32_t lane)
{
    if (n->kind == DO)
        run_do(f, n);
    else if (n->kind == LOAD)
        run_load(w, f, n);
    else if (n->kind == STORE)
        run_store(f, n);
    else if (n->kind == ATOMIC)
        run_atomic(w, f, n, w->first + lane);
    else
        run_reduce(w, f, n);
}

static void run_one(warp *w, frame *f, const node *n, uint32_t mask)
{
    switch (n->kind) {
    case BRANCH:
    case SWITCH:
        run_ways(w, f, n, mask);
        return;
    case LOOP:
        run_loop(w, f, n, mask);
        return;
    case CALL:
        run_call(w, f, n, mask);
        return;
    case WARP:
        run_together(f, n, mask);
        return;
    default:
        break;
    }
    EACH_LANE(l, mask)
    run_plain(w, &f[l], n, l);
}

static void run_list(warp *w, frame *f, const node *n, uint32_t mask)
{
    for (; n; n = n->next)
        run_one(w, f, n, mask);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

#define EACH_THREAD(m, t) \
    for (uint32_t t = 0; t < (m)->p->threads; t++) \
        if (!(m)->gone[t])

static void run_exchange(model *m, frame *f, const node *n)
{
    const access *a = &accesses[n->form];
    EACH_THREAD(m, t)
    memcpy(&m->places[t], reg_at(&f[t], n->class, n->from[0]), (size_t)a->bytes);
    EACH_THREAD(m, t)
    {
        const uint64_t at = *reg_at(&f[t], 'r', n->from[1]) % m->p->threads;
        set_reg(&f[t], n->class, n->to[0], element(a, (const uint8_t *)&m->places[at]));
    }
}

static void run_barrier(model *m, frame *f, const node *n)
{
    uint32_t count = 0, all = 0;
    EACH_THREAD(m, t)
    {
        all++;
        count += (*reg_at(&f[t], 'p', n->from[0]) & 1) != n->negated;
    }
    const uint64_t results[] = {count, count == all, count != 0};
    EACH_THREAD(m, t)
    set_reg(&f[t], n->form ? 'p' : 'r', n->to[0], results[n->form]);
}

static void run_leave(model *m, frame *f, const node *n)
{
    EACH_THREAD(m, t)
    if ((*reg_at(&f[t], 'p', n->from[0]) & 1) != n->negated)
        m->gone[t] = true;
}

static void run_in_warps(model *m, frame *f, const node *n)
{
    for (uint32_t t = 0; t < m->p->threads; t += LANES) {
        uint32_t mask = 0;
        warp w = {m, t};
        for (uint32_t l = 0; l < LANES && t + l < m->p->threads; l++)
            mask |= (uint32_t)!m->gone[t + l] << l;
        run_one(&w, &f[t], n, mask);
    }
}

/* Each thread by itself. */
static void run_pieces(model *m, frame *f, uint32_t thread)
{
    const program *p = m->p;
    warp w = {m, thread};
    uint32_t at = 0;
    for (int steps = STEPS_MAX; p->piece_count && at < p->piece_count && --steps;) {
        const piece *it = &p->pieces[at];
        for (const node *n = it->body; n; n = n->next)
            run_plain(&w, f, n, 0);
        const bool holds = (*reg_at(f, 'p', it->reg) & 1) != it->negated;
        const uint32_t way = *reg_at(f, 'r', it->reg) & 3;
        switch (it->ending) {
        case GO_ON:
            at++;
            break;
        case JUMP:
            at = it->to[1];
            break;
        case JUMP_IF:
            at = holds ? it->to[0] : at + 1;
            break;
        case JUMP_IF_ELSE:
            at = it->to[!holds];
            break;
        default:
            at = it->to[way];
            break;
        }
    }
}

/* A register as it is written out: of NaN there is one. */
static uint64_t shown(char class, uint64_t v)
{
    static const struct {
        char class;
        const number *type;
    } kinds[] = {{'f', &F32}, {'g', &F64}, {'h', &F16}, {'b', &BF16}};
    for (size_t k = 0; k < 4; k++)
        if (kinds[k].class == class)
            return bits_of(kinds[k].type, value_of(kinds[k].type, v));
    const number *half = class == 'x' ? &F16 : class == 'y' ? &BF16 : NULL;
    if (half)
        return bits_of(half, value_of(half, v & 0xffff)) | bits_of(half, value_of(half, v >> 16))
                                                               << 16;
    return v;
}

static void run_block(model *m)
{
    static frame f[THREADS_MAX + LANES];
    const uint32_t threads = m->p->threads, begin = m->block * threads;
    memset(f, 0, sizeof f);
    memset(m->places, 0, sizeof m->places);
    memset(m->gone, 0, sizeof m->gone);
    for (uint32_t t = 0; t < threads; t++)
        for (int n = 0; n < OUT_WORDS; n++)
            begin_register(&f[t], n, m->p->in[((begin + t) * 13 & (IN_WORDS - 1)) + (uint32_t)n]);
    for (const node *n = m->p->body; n; n = n->next) {
        if (n->kind == EXCHANGE)
            run_exchange(m, f, n);
        else if (n->kind == BARRIER)
            run_barrier(m, f, n);
        else if (n->kind == LEAVE)
            run_leave(m, f, n);
        else
            run_in_warps(m, f, n);
    }
    EACH_THREAD(m, t)
    run_pieces(m, &f[t], t);
    for (uint32_t t = 0; t < threads; t++)
        for (int n = 0; n < OUT_WORDS; n++)
            m->out[(begin + t) * OUT_WORDS + (uint32_t)n] =
                shown(classes[n / REGS], *reg_at(&f[t], classes[n / REGS], n % REGS));
}

#endif
