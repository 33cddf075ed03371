/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random programs of collectives and other ops, and a serial model of them: each rank has a few
 * tensors of 32-bit integers, one of them on the host, which a chain of steps works on. All ranks
 * make the same program from the same seed, and so know what all of them have at the end.
 */
#ifndef ACUDA_TESTS_COMM_PROGRAMS_H
#define ACUDA_TESTS_COMM_PROGRAMS_H

#include <acuda/comm.h>
#include <stdint.h>
#include <string.h>

enum { RANKS = 4, TENSORS = 4, HOST = 3, N = 24, STEPS = 14 };

typedef enum action { SCALE, ADD, COPY, COLLECTIVE, MESSAGE } action;

/* What is done by one rank, or by all. */
typedef struct step {
    action what;
    int on;   /* the rank; -1: all. Of a message, who sends */
    int a, b; /* tensors: b is written, a is read */
    int32_t factor, plus;
    /* Of collectives and messages; offsets, and elements of a part. */
    acu_collective collective;
    int from, to, part, stride;
    bool in_place, scaled; /* scaled: what it works on is scaled first, in the same op */
    bool has_in[RANKS], has_out[RANKS], whole_in, whole_out;
} step;

/* What goes wrong, once: the step of that rank is cancelled, has hardly any time, or fails; or the
 * rank is gone from then on, and the others are told, or not. */
typedef enum trouble { NONE, CANCEL, DEADLINE, FAIL, GONE_TOLD, GONE, TROUBLES } trouble;

typedef struct contents {
    int32_t of[RANKS][TENSORS][N];
} contents;

typedef struct program {
    uint64_t number, seed;
    int ranks;
    bool messages; /* there may be some */
    trouble trouble;
    int troubled, when, later; /* the rank; the step; how many steps later it is cancelled */
    uint64_t time;             /* of a deadline, in nanoseconds */
    step steps[STEPS];
    contents before, after;
} program;

static uint32_t program_random(program *p, uint32_t n)
{
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->seed >> 33) % n;
}

/* ---- the model ------------------------------------------------------------------------------- */

static int32_t scaled(const step *s, int rank, int32_t x)
{
    return (int32_t)((uint32_t)x * (uint32_t)s->factor + (uint32_t)(s->plus + rank));
}

static int32_t reduce_both(acu_reduction how, int32_t a, int32_t b)
{
    return how == ACU_REDUCE_SUM    ? (int32_t)((uint32_t)a + (uint32_t)b)
           : how == ACU_REDUCE_PROD ? (int32_t)((uint32_t)a * (uint32_t)b)
           : how == ACU_REDUCE_MIN  ? (a < b ? a : b)
                                    : (a > b ? a : b);
}

/* Element i of what rank r gives. */
static int32_t given_by(const step *s, const contents *before, int r, int i)
{
    return s->has_in[r] ? before->of[r][s->a][s->from + i * s->stride]
                        : before->of[r][s->b][s->to + i * s->stride];
}

static int32_t reduced_of(const step *s, const contents *before, int ranks, int i)
{
    int32_t x = given_by(s, before, 0, i);
    for (int r = 1; r < ranks; r++)
        x = reduce_both(s->collective.reduction, x, given_by(s, before, r, i));
    return x;
}

/* Element i of the part of rank r gets x. */
static void store(const step *s, contents *x, int r, int i, int32_t value)
{
    x->of[r][s->b][s->to + i * s->stride] = value;
}

static void collect(const step *s, const contents *before, contents *after, int ranks, int r, int i)
{
    int n = s->part, root = s->collective.rank;
    switch (s->collective.kind) {
    case ACU_ALL_REDUCE:
    case ACU_REDUCE:
        store(s, after, r, i, reduced_of(s, before, ranks, i));
        break;
    case ACU_BROADCAST:
        store(s, after, r, i, given_by(s, before, root, i));
        break;
    case ACU_ALL_GATHER:
    case ACU_GATHER: /* in place, a part is where it belongs */
        for (int j = 0; j < ranks; j++)
            store(s, after, r, j * n + i, given_by(s, before, j, (s->has_in[j] ? 0 : j * n) + i));
        break;
    case ACU_REDUCE_SCATTER:
        store(s, after, r, (s->in_place ? r * n : 0) + i, reduced_of(s, before, ranks, r * n + i));
        break;
    case ACU_ALL_TO_ALL:
        for (int j = 0; j < ranks; j++)
            store(s, after, r, j * n + i, given_by(s, before, j, r * n + i));
        break;
    default: /* scatter */
        store(s, after, r, i, given_by(s, before, root, r * n + i));
    }
}

static bool takes_part(const step *s, int r)
{
    return s->on < 0 || s->on == r;
}

static void run_step(const step *s, contents *x, int ranks)
{
    contents before;
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < N && takes_part(s, r); i++)
            if (s->what == SCALE || s->scaled)
                x->of[r][s->b][i] = scaled(s, r, x->of[r][s->b][i]);
    before = *x;
    for (int r = 0; r < ranks; r++)
        for (int i = 0; i < N && takes_part(s, r); i++) {
            if (s->what == ADD)
                x->of[r][s->b][i] = (int32_t)((uint32_t)before.of[r][s->b][i] +
                                          (uint32_t)before.of[r][s->a][i]);
            if (s->what == COPY)
                x->of[r][s->b][i] = before.of[r][s->a][i];
            if (s->what == COLLECTIVE && i < s->part && s->has_out[r])
                collect(s, &before, x, ranks, r, i);
        }
    for (int i = 0; i < s->part && s->what == MESSAGE; i++)
        store(s, x, s->collective.rank, i, before.of[s->on][s->a][s->from + i * s->stride]);
}

/* ---- making one ------------------------------------------------------------------------------ */

static bool is_one_of(acu_collective_kind kind, acu_collective_kind a, acu_collective_kind b,
                      acu_collective_kind c)
{
    return kind == a || kind == b || kind == c;
}

/* Which ranks have what (comm.h). */
static void deal_operands(step *s, int ranks)
{
    acu_collective_kind kind = s->collective.kind;
    bool only_root = kind == ACU_GATHER || kind == ACU_REDUCE;
    s->in_place |= kind == ACU_BROADCAST;
    s->whole_in = is_one_of(kind, ACU_REDUCE_SCATTER, ACU_ALL_TO_ALL, ACU_SCATTER);
    s->whole_out = is_one_of(kind, ACU_ALL_GATHER, ACU_ALL_TO_ALL, ACU_GATHER) ||
                   (s->in_place && kind == ACU_REDUCE_SCATTER);
    for (int r = 0; r < ranks; r++) {
        bool is_root = r == s->collective.rank;
        s->has_out[r] = !only_root || is_root;
        s->has_in[r] = !s->in_place || (only_root && !is_root);
        if (kind == ACU_SCATTER) { /* in place: the root's part stays where it is */
            s->has_in[r] = is_root;
            s->has_out[r] = !is_root || !s->in_place;
        }
    }
}

static void deal_places(program *p, step *s)
{
    acu_collective_kind kind = s->collective.kind;
    bool whole = s->whole_in || s->whole_out, device = s->a != HOST && s->b != HOST;
    int most = N / (whole ? p->ranks : 1);
    s->stride = !whole && device && program_random(p, 3) == 0 ? 2 : 1;
    s->part = 1 + (int)program_random(p, (uint32_t)(most / s->stride));
    int in = s->whole_in ? p->ranks * s->part : s->part;
    int out = s->whole_out ? p->ranks * s->part : s->part;
    s->from = (int)program_random(p, (uint32_t)(N - in * s->stride + 1));
    s->to = (int)program_random(p, (uint32_t)(N - out * s->stride + 1));
    s->scaled = kind == ACU_ALL_REDUCE && s->in_place && s->b != HOST && program_random(p, 2) == 0;
}

static void deal_step(program *p, step *s)
{
    static const acu_reduction hows[] = {ACU_REDUCE_SUM, ACU_REDUCE_PROD, ACU_REDUCE_MIN,
                                         ACU_REDUCE_MAX};
    memset(s, 0, sizeof *s);
    uint32_t dice = program_random(p, 10);
    s->what = dice < 2 ? SCALE : dice < 3 ? ADD : dice < 4 ? COPY : COLLECTIVE;
    if (dice == 9 && p->messages)
        s->what = MESSAGE;
    int one = (int)program_random(p, (uint32_t)p->ranks);
    s->on = s->what != COLLECTIVE && program_random(p, 2) ? one : -1;
    s->a = (int)program_random(p, s->what == ADD ? HOST : TENSORS);
    s->b = (s->a + 1 + (int)program_random(p, (s->what == ADD ? HOST : TENSORS) - 1)) %
           (s->what == ADD ? HOST : TENSORS);
    s->factor = 1 + 2 * (int32_t)program_random(p, 3);
    s->plus = (int32_t)program_random(p, 9);
    s->collective.reduction = hows[program_random(p, 4)];
    s->collective.rank = (int)program_random(p, (uint32_t)p->ranks);
    s->collective.kind = (acu_collective_kind)program_random(p, ACU_SCATTER + 1);
    s->in_place = program_random(p, 2);
    if (s->what == MESSAGE) {
        int further = 1 + (int)program_random(p, (uint32_t)p->ranks - 1);
        s->on = (s->collective.rank + further) % p->ranks;
        s->collective.kind = ACU_SEND;
        s->in_place = false;
    }
    if (s->what == COLLECTIVE)
        deal_operands(s, p->ranks);
    if (s->what == COLLECTIVE || s->what == MESSAGE)
        deal_places(p, s);
}

/* `troubled`: something goes wrong, one of the first `troubles` kinds after NONE. */
static void deal_program(program *p, uint64_t seed, int ranks, bool messages, int troubles)
{
    *p = (program){.number = seed, .seed = seed * 2654435761u + (uint64_t)ranks, .ranks = ranks};
    p->messages = messages && ranks > 1;
    for (int r = 0; r < ranks; r++)
        for (int t = 0; t < TENSORS; t++)
            for (int i = 0; i < N; i++)
                p->before.of[r][t][i] = (int32_t)program_random(p, 1000);
    for (int k = 0; k < STEPS; k++)
        deal_step(p, &p->steps[k]);
    p->trouble = troubles ? (trouble)(1 + program_random(p, (uint32_t)troubles)) : NONE;
    p->troubled = (int)program_random(p, (uint32_t)ranks);
    p->when = (int)program_random(p, STEPS);
    p->later = (int)program_random(p, 3);
    p->time = 1 + program_random(p, 300000);
    p->after = p->before;
    for (int k = 0; k < STEPS; k++)
        run_step(&p->steps[k], &p->after, ranks);
}

#endif
