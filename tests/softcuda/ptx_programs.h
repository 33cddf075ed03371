/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Random programs in PTX: made of a seed, written down as text, and run here by a model, a warp's
 * lanes together. All that one computes is defined: lanes that act together are named by masks
 * which the program itself computes, memory that threads share is read behind barriers.
 */
#ifndef TESTS_SOFTCUDA_PTX_PROGRAMS_H
#define TESTS_SOFTCUDA_PTX_PROGRAMS_H

#include "softcuda/ptx_ops.h"

static const char classes[] = "psrdfghbxy"; /* without what is computed in */
enum { CLASSES = 10, REGS = 6, LANES = 32, FUNCTIONS = 3, DEPTH_MAX = 4 };
enum { IN_WORDS = 512, TABLE_BYTES = 256, LOCAL_BYTES = 64, RED_WORDS = 16 };
enum { OWN_INTEGERS = 8, OWN_WORDS = 14 }; /* the others are one of each type of float */
enum { THREADS_MAX = 128, BLOCKS_MAX = 2, OUT_WORDS = CLASSES * REGS };
enum { IN_ALL = IN_WORDS + OUT_WORDS }; /* a thread's registers begin as words in a row */

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t chance;

static uint64_t random_bits(void)
{
    uint64_t z = chance += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)((random_bits() >> 32) * n >> 32);
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

/* Values at the edges of every type, and others. */
static uint64_t random_value(void)
{
    static const uint64_t wide[] = {
        0,
        1,
        UINT64_MAX,
        UINT64_C(1) << 63,
        INT64_MAX,
        UINT64_C(0x3ff0000000000000),
        UINT64_C(0xbff8000000000000),
        UINT64_C(0x7ff0000000000000),
        UINT64_C(0x7ff8000000000001),
        UINT64_C(0x000fffffffffffff),
        UINT64_C(0x43e0000000000000),
        UINT64_C(0xc1e0000000200000),
        UINT64_C(0x3810000000000000),
        UINT64_C(0x47efffffe0000000),
        UINT64_C(0x47efffffefffffff),
        UINT64_C(0x40efffffffffffff),
    };
    static const uint32_t words[] = {
        0,          1,          UINT32_MAX, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000,
        0x7f800000, 0xff800000, 0x7fc00000, 0x00800000, 0x807fffff, 0x00000001, 0x4f000000,
        0xcf000001, 0x477fe000, 0x477ff000, 0x33800000, 0x3effffff, 0x40200000, 0xc0600000,
    };
    static const uint16_t halves[] = {
        0,      1,      0xffff, 0x8000, 0x7fff, 0x3c00, 0xbc01, 0x7c00, 0xfc00, 0x7e00,
        0x0400, 0x83ff, 0x7bff, 0x3f80, 0xbf81, 0x7f80, 0x0080, 0x807f, 0x7f7f, 0x4248,
    };
#define ONE_OF(list) ((list)[below(sizeof(list) / sizeof *(list))])
    uint64_t v = random_bits();
    switch (below(8)) {
    case 0:
        return ONE_OF(wide);
    case 1:
        return (uint64_t)ONE_OF(words) << 32 | ONE_OF(words);
    case 2:
        v = 0;
        for (int n = 0; n < 4; n++)
            v = v << 16 | ONE_OF(halves);
        return v;
    case 3: /* floats that are near to each other */
        return (v & UINT64_C(0x800fffff807fffff)) | UINT64_C(0x3fe000003f000000) |
               (uint64_t)below(4) << 52 | (uint64_t)below(4) << 23;
    case 4:
        return v >> below(64);
    case 5:
        return (uint64_t)((int64_t)v >> below(64));
    default:
        return v;
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

typedef enum node_kind {
    DO,       /* an op */
    BRANCH,   /* on a predicate: child, other */
    LOOP,     /* as often as two bits of a register say: child; may be left on a predicate */
    SWITCH,   /* two bits of a register: child and its three siblings' lists */
    CALL,     /* number: of the function; second: or form, by address, as a predicate says */
    LOAD,     /* from memory that nobody writes, or the thread's own */
    STORE,    /* to the thread's local memory */
    ATOMIC,   /* on the thread's own words, or its place in shared memory */
    REDUCE,   /* on words of all threads */
    EXCHANGE, /* through shared memory, at the top only */
    BARRIER,  /* of the block with a reduction, at the top only */
    WARP,     /* lanes together */
    LEAVE,    /* the threads for which a predicate holds go to the end, at the top only */
} node_kind;

typedef struct node {
    node_kind kind;
    const op *op;
    uint8_t to[4], from[OP_SOURCES]; /* numbers of registers */
    bool is_value[OP_SOURCES];
    uint64_t values[OP_SOURCES];
    int guard; /* number of the predicate, -1: none */
    bool negated, second;
    uint32_t form, number;
    char class; /* of what is moved */
    struct node *child[4], *next;
} node;

enum { NODES_MAX = 4000 };
static node nodes[NODES_MAX];
static uint32_t node_count;

/* A piece of a program that goes wherever it likes, but for no more than so many pieces. */
enum { PIECES_MAX = 24, STEPS_MAX = 60 };
typedef enum ending { GO_ON, JUMP, JUMP_IF, JUMP_IF_ELSE, JUMP_TO_ONE_OF } ending;

typedef struct piece {
    node *body;
    ending ending;
    uint8_t to[4], reg; /* predicate, or whose two bits say which */
    bool negated;
} piece;

typedef struct program {
    uint32_t threads, blocks;
    node *body, *functions[FUNCTIONS];
    piece pieces[PIECES_MAX]; /* behind the body; the one behind the last is the end */
    uint32_t piece_count;
    uint64_t in[IN_ALL];
    uint8_t table[TABLE_BYTES];
} program;

static node *new_node(node_kind kind)
{
    node *n = &nodes[node_count++];
    if (node_count >= NODES_MAX)
        abort();
    *n = (node){.kind = kind, .guard = -1};
    for (int k = 0; k < OP_SOURCES; k++)
        n->from[k] = (uint8_t)below(REGS);
    for (int k = 0; k < 4; k++) /* results of one instruction are different registers */
        n->to[k] = (uint8_t)((k ? n->to[k - 1] + 1u : below(REGS)) % REGS);
    if (one_in(4))
        n->guard = (int)below(REGS), n->negated = one_in(2);
    return n;
}

/*
 * What the compiler in NVIDIA's driver 580 makes wrong, for an sm_90 and at every level, is left
 * out, as far as it was seen. Of an instruction that it makes several of, a guard covers only some:
 * a value that should stay as it was is converted, cut or replaced.
 */
static bool is_guarded_badly(const op *o)
{
    return o->value == video || o->value == float_test || o->value == compare_to_value;
}

/* Of a number in the program only the low byte is looked at. */
static bool takes_byte(const op *o, int source)
{
    if (o->value == int_shl || o->value == int_shr)
        return source == 1;
    return o->sources[source] == 'r' &&
           (o->value == bits_extract || (o->value == bits_insert && source > 1));
}

static node *make_do(void)
{
    node *n = new_node(DO);
    const uint32_t f = below(family_count);
    n->op = &ops[family_start[f] + below(family_start[f + 1] - family_start[f])];
    const int count = (int)strlen(n->op->sources);
    if (is_guarded_badly(n->op))
        n->guard = -1;
    if (count > 1 && one_in(4)) {
        const int k = 1 + (int)below((uint32_t)count - 1);
        if (strchr("srdfg", n->op->sources[k]) && !n->op->packed && n->op->value != video) {
            n->is_value[k] = true;
            n->values[k] = low_bits(random_value(), class_bits(n->op->sources[k]));
            if (takes_byte(n->op, k))
                n->values[k] &= 0xff;
        }
    }
    return n;
}

/* The forms of memory accesses: what is in memory, which registers take it. */
typedef struct access {
    const char *type;
    int bytes;
    char kind;           /* 's': extended by its sign */
    const char *classes; /* of the registers */
} access;

static const access accesses[] = {
    {"u8", 1, 'u', "srd"},   {"s8", 1, 's', "srd"},  {"b8", 1, 'u', "s"},   {"u16", 2, 'u', "srd"},
    {"s16", 2, 's', "rd"},   {"b16", 2, 'u', "shb"}, {"u32", 4, 'u', "rd"}, {"s32", 4, 's', "rd"},
    {"b32", 4, 'u', "rfxy"}, {"f32", 4, 'u', "f"},   {"u64", 8, 'u', "d"},  {"s64", 8, 's', "d"},
    {"b64", 8, 'u', "dg"},   {"f64", 8, 'u', "g"},
};
enum { ACCESSES = sizeof accesses / sizeof *accesses };

typedef enum where { FROM_GLOBAL, FROM_TABLE, FROM_LOCAL, FROM_LOCAL_GENERIC, WHERES } where;

/* second: by an offset; number: how many; form: of the access; values[0] where; values[1] hint */
static node *make_load(void)
{
    node *n = new_node(LOAD);
    n->form = below(ACCESSES);
    const char *fit = accesses[n->form].classes;
    n->class = fit[below((uint32_t)strlen(fit))];
    n->values[0] = below(WHERES);
    n->values[1] = below(4);
    n->number = 1u << below(3);
    while (n->number * (uint32_t)accesses[n->form].bytes > 16)
        n->number /= 2;
    n->second = one_in(2);
    return n;
}

static node *make_store(void)
{
    node *n = new_node(STORE);
    do
        n->form = below(ACCESSES);
    while (!strpbrk(accesses[n->form].classes, "srd") || accesses[n->form].kind == 's');
    const char *fit = strpbrk(accesses[n->form].classes, "srd");
    n->class = *fit;
    n->values[0] = FROM_LOCAL + below(2);
    n->number = 1u << below(3);
    while (n->number * (uint32_t)accesses[n->form].bytes > 16)
        n->number /= 2;
    return n;
}

/* What atom and red do, and the types that they do it to. */
enum { A_ADD, A_MIN, A_MAX, A_AND, A_OR, A_XOR, A_EXCH, A_CAS, A_INC, A_DEC };
static const struct {
    const char *name;
    int kind;
    const number *type;
} atomics[] = {
    {"add.u32", A_ADD, &U32},
    {"add.s32", A_ADD, &S32},
    {"add.u64", A_ADD, &U64},
    {"min.s32", A_MIN, &S32},
    {"min.u32", A_MIN, &U32},
    {"min.s64", A_MIN, &S64},
    {"min.u64", A_MIN, &U64},
    {"max.s32", A_MAX, &S32},
    {"max.u32", A_MAX, &U32},
    {"max.s64", A_MAX, &S64},
    {"max.u64", A_MAX, &U64},
    {"and.b32", A_AND, &U32},
    {"and.b64", A_AND, &U64},
    {"or.b32", A_OR, &U32},
    {"or.b64", A_OR, &U64},
    {"xor.b32", A_XOR, &U32},
    {"xor.b64", A_XOR, &U64},
    {"exch.b32", A_EXCH, &U32},
    {"exch.b64", A_EXCH, &U64},
    {"cas.b32", A_CAS, &U32},
    {"cas.b64", A_CAS, &U64},
    {"cas.b16", A_CAS, &U16},
    {"inc.u32", A_INC, &U32},
    {"dec.u32", A_DEC, &U32},
    {"add.f32", A_ADD, &F32},
    {"add.f64", A_ADD, &F64},
    {"add.noftz.f16", A_ADD, &F16},
    {"add.noftz.bf16", A_ADD, &BF16},
    {"add.noftz.f16x2", A_ADD, &F16X2},
    {"add.noftz.bf16x2", A_ADD, &BF16X2},
};
/* Of the words of all threads: the one operation that is done to each. */
static const uint8_t word_atomics[] = {0, 2, 3, 5, 7, 9, 11, 12, 13, 14, 15, 16};
enum { ATOMICS = sizeof atomics / sizeof *atomics, WORD_ATOMICS = sizeof word_atomics };
enum { FLOAT_ATOMICS = ATOMICS - 6 };

static uint64_t float_sum(const number *t, uint64_t a, uint64_t b)
{
    const bool pair = t == &F16X2 || t == &BF16X2;
    const op sum = {.type = t == &F16X2    ? &F16
                            : t == &BF16X2 ? &BF16
                                           : t,
                    .sources = {t->reg, t->reg, 0},
                    .results = {t->reg, 0},
                    .value = float_arithmetic,
                    .kind = ADD,
                    .ftz = t == &F32, /* in global memory */
                    .packed = pair};
    uint64_t out[OP_RESULTS];
    op_compute(&sum, (uint64_t[OP_SOURCES]){a, b}, out);
    return out[0];
}

static uint64_t atomic_value(uint32_t form, uint64_t old, uint64_t b, uint64_t c)
{
    const number *t = atomics[form].type;
    if (t->kind == 'f')
        return float_sum(t, old, b);
    const s128 x = integer_of(t, old), y = integer_of(t, b);
    switch (atomics[form].kind) {
    case A_ADD:
        return low_bits((uint64_t)(x + y), t->bits);
    case A_MIN:
        return low_bits((uint64_t)(x < y ? x : y), t->bits);
    case A_MAX:
        return low_bits((uint64_t)(x > y ? x : y), t->bits);
    case A_AND:
        return old & b;
    case A_OR:
        return old | b;
    case A_XOR:
        return old ^ b;
    case A_EXCH:
        return b;
    case A_CAS:
        return x == y ? c : old;
    case A_INC:
        return x >= y ? 0 : old + 1;
    default:
        return x == 0 || x > y ? b : old - 1;
    }
}

/* number: which of the own words; values[0]: 0 global, 1 shared, 2 by a generic address */
static node *make_atomic(bool top)
{
    node *n = new_node(ATOMIC);
    n->form = below(ATOMICS);
    n->number = below(OWN_INTEGERS);
    n->values[0] = top ? below(3) : 0;
    if (n->form >= FLOAT_ATOMICS) {
        n->number = OWN_INTEGERS + n->form - FLOAT_ATOMICS;
        n->values[0] = 0;
    }
    return n;
}

static node *make_reduce(void)
{
    node *n = new_node(REDUCE);
    n->number = below(WORD_ATOMICS);
    n->form = word_atomics[n->number];
    return n;
}

static node *make_exchange(void)
{
    node *n = new_node(EXCHANGE);
    do
        n->form = below(ACCESSES);
    while (!strpbrk(accesses[n->form].classes, "srd"));
    n->class = *strpbrk(accesses[n->form].classes, "srd");
    n->values[0] = below(3); /* addresses: of 32 bits, of 64, generic */
    n->guard = -1;
    return n;
}

enum {
    W_SHFL = 0,      /* up, down, bfly, idx */
    W_VOTE = 4,      /* all, any, uni, ballot */
    W_MATCH_ANY = 8, /* of 32 and of 64 bits */
    W_MATCH_ALL = 10,
    W_REDUX = 12, /* add, min and max by sign, and, or, xor */
    W_SYNC = 20,
    W_FORMS
};

static node *make_warp(void)
{
    node *n = new_node(WARP);
    n->form = below(W_FORMS);
    n->values[0] = one_in(2) ? 31 : random_bits() & 0x1f1f; /* shfl: segments and bounds */
    n->guard = -1;
    return n;
}

/* Of the block, or, seldom, threads leave. */
static node *make_barrier(void)
{
    node *n = new_node(one_in(4) ? LEAVE : BARRIER);
    n->form = below(3);
    n->negated = one_in(2);
    n->guard = -1;
    return n;
}

static node *make_list(uint32_t length, int depth, int function);

/* function: -1 in the kernel */
static node *make_nested(int depth, int function)
{
    static const node_kind kinds[] = {BRANCH, BRANCH, LOOP, SWITCH, CALL};
    node *n = new_node(kinds[below(5)]);
    n->guard = -1;
    n->negated = one_in(2);
    n->second = one_in(2);
    if (n->kind == CALL) {
        const uint32_t first = (uint32_t)(function + 1), count = FUNCTIONS - first;
        if (!count)
            return make_do();
        n->number = first + below(count);
        n->form = first + below(count);
        return n;
    }
    const int lists = n->kind == SWITCH ? 4 : n->kind == BRANCH && n->second ? 2 : 1;
    for (int k = 0; k < lists; k++)
        n->child[k] = make_list(1 + below(6), depth + 1, function);
    return n;
}

static node *make_one(int depth, int function)
{
    const bool top = depth == 0 && function < 0;
    switch (below(20)) {
    case 0:
    case 1:
        return depth < DEPTH_MAX ? make_nested(depth, function) : make_do();
    case 2:
    case 3:
        return make_load();
    case 4:
        return make_store();
    case 5:
        return function < 0 ? make_atomic(top) : make_do();
    case 6:
        return function < 0 ? make_reduce() : make_do();
    case 7:
    case 8:
        return make_warp();
    case 9:
        return top ? make_exchange() : make_do();
    case 10:
        return top ? make_barrier() : make_do();
    default:
        return make_do();
    }
}

static node *make_list(uint32_t length, int depth, int function)
{
    node *first = NULL, **end = &first;
    while (length--) {
        *end = make_one(depth, function);
        end = &(*end)->next;
    }
    return first;
}

/* Without what lanes do together, as nobody knows who would be there. */
static node *make_alone(uint32_t length)
{
    node *first = NULL, **end = &first;
    while (length--) {
        const uint32_t what = below(12);
        *end = what == 0   ? make_load()
               : what == 1 ? make_store()
               : what == 2 ? make_atomic(true)
               : what == 3 ? make_reduce()
                           : make_do();
        end = &(*end)->next;
    }
    return first;
}

static void make_pieces(program *p)
{
    p->piece_count = 4 + below(PIECES_MAX - 3);
    for (uint32_t n = 0; n < p->piece_count; n++) {
        piece *it = &p->pieces[n];
        it->body = make_alone(below(6));
        it->ending = (ending)below(5);
        it->reg = (uint8_t)below(REGS);
        it->negated = one_in(2);
        for (int k = 0; k < 4; k++)
            it->to[k] = (uint8_t)below(p->piece_count + 1);
    }
}

static void make_program(program *p, uint64_t seed, uint32_t length)
{
    static const uint32_t sizes[] = {32, 64, 96, 128, 40, 77, 1, 33};
    make_ops();
    chance = seed * UINT64_C(0xd1342543de82ef95) + 1;
    node_count = 0;
    p->threads = sizes[below(8)];
    p->blocks = 1 + below(BLOCKS_MAX);
    for (int n = 0; n < IN_ALL; n++)
        p->in[n] = random_value();
    for (int n = 0; n < TABLE_BYTES; n++)
        p->table[n] = (uint8_t)random_bits();
    for (int n = 0; n < FUNCTIONS; n++)
        p->functions[n] = make_list(4 + below(12), 1, n);
    p->piece_count = 0;
    if (one_in(3)) {
        make_pieces(p);
        length /= 4;
    }
    p->body = make_list(length, 0, -1);
}

#endif
